// The kernels of reductions. What is combined with what depends on the number n of elements alone:
//   element k of n goes to chunk k / 2048 and in it to lane k % 128; a lane combines its elements
//   in order; lanes are combined with their neighbours (0 with 1, 2 with 3, then 0 with 2 …), and
//   so are the chunks.
// So an aligned run of 2^j chunks is a subtree that any warp may do. The kernels are two ways of
// walking that tree: rows (a warp reads along the reduced dimension) and columns (threads side by
// side read along a kept one).
#pragma once

#include <type_traits>

#include "../../cpp/ops/reductions.hpp"
#include "../../cpp/ops/table.hpp"
#include "reduce_loop.cuh"

namespace arrayx::cuda {
namespace {

constexpr unsigned every_lane = 0xffffffff;

// f on each 32-bit word of x.
template <class A, class F>
__device__ __forceinline__ A map_words(A x, F f) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &x, sizeof x);
#pragma unroll
  for (u32& word : words) word = f(word);
  memcpy(&x, words, sizeof x);
  return x;
}
template <class A>
__device__ __forceinline__ A lane_above(A x, int distance) {
  return map_words(x, [=](u32 w) { return __shfl_down_sync(every_lane, w, distance); });
}
template <class A>
__device__ __forceinline__ A from_lane_zero(A x) {
  return map_words(x, [](u32 w) { return __shfl_sync(every_lane, w, 0); });
}

// ---- rows ---------------------------------------------------------------------------------------

// V elements at p, of which those at positions below `left` exist; with V > 1 p is aligned.
template <class M, int V>
__device__ __forceinline__ Pack<M, V> load_first(const char* p, int left) {
  Pack<M, V> x;
  if (left >= V) return *reinterpret_cast<const Pack<M, V>*>(p);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (v < left) x.v[v] = reinterpret_cast<const M*>(p)[v];
  }
  return x;
}

// A unit, a warp's or (of short rows) a part of a warp's work, is some chunks of one output.
// V: elements of a load; with V = 1 the reduced dimensions may have any strides.
template <class R, int V>
__global__ void __launch_bounds__(block_threads) rows(const __grid_constant__ ReduceLoop loop) {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int sets = reduce_lanes / (32 * V);             // of lanes, one behind the other
  constexpr int batch = sets >= 4 ? 4 : sets == 2 ? 4 : 8;  // rounds whose loads are in flight
  const int threads = 1 << loop.width_log2, thread = threadIdx.x % threads;
  const u64 unit_of_all = (u64(blockIdx.x) * block_threads + threadIdx.x) >> loop.width_log2;
  const u32 all_units = loop.outputs * loop.units.divisor;
  const bool exists = unit_of_all < all_units;
  const u32 at = exists ? static_cast<u32>(unit_of_all) : all_units - 1;
  const u32 output = loop.units.divide(at), unit = at - output * loop.units.divisor;
  const ReducePlace place = locate_output(loop, output);
  const char* const in = loop.in + place.in;
  const A center = R::load_center(loop.center, place.center);

  constexpr i64 chunk = reduce_chunk;
  const i64 begin = unit * (loop.chunks_per_unit * chunk);
  const i64 end = min(loop.n, begin + loop.chunks_per_unit * chunk);
  A kept{};
  int chunks = 0;
  const i64 stride = V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0];
  for (i64 first = begin; first < end; first += chunk, ++chunks) {
    const int left = static_cast<int>(min(end - first, chunk));  // elements of this chunk
    const int live = min(left, reduce_lanes);
    const int rounds = (left + reduce_lanes - 1) / reduce_lanes;
    const char* const from = in + first * stride;
    A acc[sets][V];
    // `together` rounds, whose loads are in flight at the same time; with `whole` none is cut off,
    // with `apart` the reduced dimensions do not merge.
    const auto take = [&](int round, auto together, auto whole, auto apart) {
      Pack<M, V> x[together][sets];
#pragma unroll
      for (int b = 0; b < together; ++b) {
#pragma unroll
        for (int s = 0; s < sets; ++s) {
          const int k = ((round + b) * sets + s) * (32 * V) + thread * V;
          if (!whole && k >= left) continue;
          if constexpr (apart) {
            const i64 place = locate_in_group(loop, static_cast<u32>(first + k));
            x[b][s].v[0] = *reinterpret_cast<const M*>(in + place);
          } else if constexpr (V > 1 && !whole) {
            x[b][s] = load_first<M, V>(from + k * int(sizeof(M)), left - k);
          } else {
            x[b][s] = *reinterpret_cast<const Pack<M, V>*>(from + k * stride);
          }
        }
      }
#pragma unroll
      for (int b = 0; b < together; ++b) {
#pragma unroll
        for (int s = 0; s < sets; ++s) {
          const int k = ((round + b) * sets + s) * (32 * V) + thread * V;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if (!whole && k + v >= left) continue;
            const A y = R::map(x[b][s].v[v], center, first + k + v);
            if (b == 0 && round == 0) {
              acc[s][v] = y;
            } else {
              acc[s][v] = R::combine(acc[s][v], y);
            }
          }
        }
      }
    };
    using Yes = std::true_type;
    using No = std::false_type;
    using One = std::integral_constant<int, 1>;
    using Batch = std::integral_constant<int, batch>;
    bool merged = true;
    if constexpr (V == 1) {
      merged = loop.group_dims == 1;
      if (!merged) {
        for (int round = 0; round < rounds; ++round) take(round, One{}, No{}, Yes{});
      }
    }
    if (merged) {
      int round = 0;
      for (; (round + batch) * reduce_lanes <= left; round += batch) {
        take(round, Batch{}, Yes{}, No{});
      }
      if (rounds - round > 1) {
        take(round, Batch{}, No{}, No{});
      } else if (round < rounds) {
        take(round, One{}, No{}, No{});
      }
    }
    // Lane (s * 32 + thread) * V + v.
#pragma unroll
    for (int s = 0; s < sets; ++s) {
      const int lane = (s * 32 + thread) * V;
#pragma unroll
      for (int d = 1; d < V; d *= 2) {
#pragma unroll
        for (int v = 0; v + d < V; v += 2 * d) {
          if (lane + v + d < live) acc[s][v] = R::combine(acc[s][v], acc[s][v + d]);
        }
      }
      for (int d = 1; d < threads; d *= 2) {
        const A other = lane_above(acc[s][0], d);
        if (thread % (2 * d) == 0 && thread + d < threads && lane + d * V < live) {
          acc[s][0] = R::combine(acc[s][0], other);
        }
      }
    }
#pragma unroll
    for (int d = 1; d < sets; d *= 2) {
#pragma unroll
      for (int s = 0; s + d < sets; s += 2 * d) {
        if ((s + d) * 32 * V < live) acc[s][0] = R::combine(acc[s][0], acc[s + d][0]);
      }
    }
    if (loop.chunks_per_unit == 1) {
      kept = acc[0][0];
    } else {  // the chunk's number is the thread that keeps its result
      const A result = from_lane_zero(acc[0][0]);
      if (thread == chunks) kept = result;
    }
  }
  if (loop.chunks_per_unit > 1) {
    for (int d = 1; d < 32; d *= 2) {
      const A other = lane_above(kept, d);
      if (thread % (2 * d) == 0 && thread + d < chunks) kept = R::combine(kept, other);
    }
  }
  if (thread == 0 && exists) {
    R::store(loop, loop.out + place.out + unit * loop.unit_stride, kept);
  }
}

// ---- columns ------------------------------------------------------------------------------------

// L: lanes of a thread, next to each other; a block's threadIdx.y has the others of a chunk. A
// thread has V columns, next to each other.
template <class R, int L>
__global__ void __launch_bounds__(block_threads) columns(const __grid_constant__ ReduceLoop loop) {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int V = R::columns;
  extern __shared__ __align__(16) unsigned char shared[];
  A* const results = reinterpret_cast<A*>(shared);  // [y][x * V + v]
  const int x = threadIdx.x, y = threadIdx.y, width = blockDim.x * V;
  const u32 tile_of_all = blockIdx.x;
  const u32 rest = loop.tiles.divide(tile_of_all), tile = tile_of_all - rest * loop.tiles.divisor;
  const u32 outer = loop.units.divide(rest), unit = rest - outer * loop.units.divisor;
  const u32 column = tile * width + x * V, size = loop.kept[0].size.divisor;
  const ReducePlace place = locate_output(loop, outer * size + min(column, size - 1));
  const char* const in = loop.in + place.in;
  const i64 stride = loop.kept[0].stride[0];
  A center[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (column + v < size) {
      center[v] = R::load_center(loop.center, place.center + v * loop.kept[0].stride[1]);
    }
  }
  constexpr i64 chunk = reduce_chunk;
  const i64 first = unit * chunk;
  const int left = static_cast<int>(min(loop.n - first, chunk));
  const int live = min(left, reduce_lanes);
  const bool merged = loop.group_dims == 1;
  const i64 step = loop.group[0].stride[0];
  const char* const from = in + (merged ? first * step : 0);
  A acc[L][V];
  // The lanes of this thread in one round; with `whole` every element exists and columns are packs,
  // with `apart` the reduced dimensions do not merge.
  const auto take = [&](int round, auto whole, auto apart) {
    Pack<M, V> items[L];
    const int begin = round * reduce_lanes + y * L;
#pragma unroll
    for (int i = 0; i < L; ++i) {
      const int k = begin + i;
      if (!whole && k >= left) continue;
      const char* p = from + k * step;
      if constexpr (apart) p = from + locate_in_group(loop, static_cast<u32>(first + k));
      if (whole || V == 1 || loop.vector) {
        items[i] = *reinterpret_cast<const Pack<M, V>*>(p);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (column + v < size) items[i].v[v] = *reinterpret_cast<const M*>(p + v * stride);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < L; ++i) {
      if (!whole && begin + i >= left) continue;
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const A value = R::map(items[i].v[v], center[v], first + begin + i);
        if (round == 0) {
          acc[i][v] = value;
        } else {
          acc[i][v] = R::combine(acc[i][v], value);
        }
      }
    }
  };
  using Yes = std::true_type;
  using No = std::false_type;
  if (column < size) {
    const bool packs = V == 1 || loop.vector;
    for (int round = 0; round * reduce_lanes + y * L < left; ++round) {
      if (!merged) {
        take(round, No{}, Yes{});
      } else if (packs && (round + 1) * reduce_lanes <= left) {
        take(round, Yes{}, No{});
      } else {
        take(round, No{}, No{});
      }
    }
  }
#pragma unroll
  for (int d = 1; d < L; d *= 2) {
#pragma unroll
    for (int i = 0; i + d < L; i += 2 * d) {
      if (y * L + i + d < live) {
#pragma unroll
        for (int v = 0; v < V; ++v) acc[i][v] = R::combine(acc[i][v], acc[i + d][v]);
      }
    }
  }
  for (int d = 1; d < blockDim.y; d *= 2) {
    if (y % (2 * d) == d) {
#pragma unroll
      for (int v = 0; v < V; ++v) results[y * width + x * V + v] = acc[0][v];
    }
    __syncthreads();
    if (y % (2 * d) == 0 && (y + d) * L < live && y + d < blockDim.y) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        acc[0][v] = R::combine(acc[0][v], results[(y + d) * width + x * V + v]);
      }
    }
  }
  if (y != 0) return;
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (column + v >= size) continue;
    R::store(loop, loop.out + place.out + v * loop.kept[0].stride[2] + unit * loop.unit_stride,
             acc[0][v]);
  }
}

// ---- the second stage ---------------------------------------------------------------------------

// A block joins up to merged_at_once partial results of an output, which has in[output][0 … n),
// four in each thread.
template <class R>
__global__ void merge(const __grid_constant__ ReduceLoop loop) {
  using A = typename R::accumulator;
  __shared__ __align__(16) unsigned char shared[32 * sizeof(A)];
  A* const results = reinterpret_cast<A*>(shared);
  const u32 output = loop.units.divide(blockIdx.x);
  const u32 unit = blockIdx.x - output * loop.units.divisor;
  const i64 begin = i64(unit) * merged_at_once;
  const int n = static_cast<int>(min(loop.n - begin, i64(merged_at_once)));
  const int thread = threadIdx.x, first = thread * 4;
  const A* const in = reinterpret_cast<const A*>(loop.in) + output * loop.n + begin;
  A x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (first + i < n) x[i] = in[first + i];
  }
  if (first + 1 < n) x[0] = R::combine(x[0], x[1]);
  if (first + 3 < n) x[2] = R::combine(x[2], x[3]);
  if (first + 2 < n) x[0] = R::combine(x[0], x[2]);
  const int lane = thread % 32, warp = thread / 32;
  for (int d = 1; d < 32; d *= 2) {
    const A other = lane_above(x[0], d);
    if (lane % (2 * d) == 0 && first + 4 * d < n) x[0] = R::combine(x[0], other);
  }
  if (lane == 0) results[warp] = x[0];
  __syncthreads();
  if (warp != 0) return;
  const int warps = (n + 127) / 128;
  if (lane < warps) x[0] = results[lane];
  for (int d = 1; d < 32; d *= 2) {
    const A other = lane_above(x[0], d);
    if (lane % (2 * d) == 0 && lane + d < warps) x[0] = R::combine(x[0], other);
  }
  if (lane == 0) {
    R::store(loop, loop.out + locate_output(loop, output).out + unit * loop.unit_stride, x[0]);
  }
}

// ---- reductions as the kernels see them ---------------------------------------------------------

template <class T, class A>
struct Reducer {
  using input = T;
  using accumulator = A;
  static constexpr int bytes = sizeof(memory_t<T>);
  static constexpr int lanes = bytes >= 4 ? pack_bytes / bytes : 4;
  // Of a thread: four or eight bytes.
  static constexpr int columns = sizeof(A) > 8 || bytes >= 8 ? 1 : bytes == 4 ? 2 : 4;

  static __device__ __forceinline__ A load_center(const char*, i64) { return A{}; }
  static __device__ __forceinline__ void store(const ReduceLoop&, char* out, A x) {
    *reinterpret_cast<A*>(out) = x;
  }
};

// Of elements as they are.
template <class Op, class T, class A>
struct Plain : Reducer<T, A> {
  static __device__ __forceinline__ A map(memory_t<T> x, A, i64) { return converted<A, T>(x); }
  static __device__ __forceinline__ A combine(A a, A b) { return Op::combine(a, b); }
};

// Of the condition that an element is not zero.
template <class Op, class T, class A>
struct Conditional : Reducer<T, A> {
  static __device__ __forceinline__ A map(memory_t<T> x, A, i64) {
    return A(converted<Boolean, T>(x));
  }
  static __device__ __forceinline__ A combine(A a, A b) { return A(Op::combine(a, b)); }
};

template <class T, class A>
struct Deviations : Reducer<T, A> {
  static __device__ __forceinline__ A load_center(const char* center, i64 offset) {
    return *reinterpret_cast<const A*>(center + offset);
  }
  static __device__ __forceinline__ A map(memory_t<T> x, A center, i64) {
    return ops::SumSquaredDeviations::map(converted<A, T>(x), center);
  }
  static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
};

// The position of the first extreme; partial results carry its value.
template <class V>
struct Position {
  i64 index;
  V value;
};
template <class Op, class T, class V>
struct Extreme : Reducer<T, Position<V>> {
  using A = Position<V>;
  static __device__ __forceinline__ A map(memory_t<T> x, A, i64 k) {
    return {k, converted<V, T>(x)};
  }
  static __device__ __forceinline__ A combine(A a, A b) {
    const bool takes_b =
        Op::better(b.value, a.value) || (!Op::better(a.value, b.value) && b.index < a.index);
    return takes_b ? b : a;
  }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    if (loop.is_final) {
      *reinterpret_cast<i64*>(out) = x.index;
    } else {
      *reinterpret_cast<A*>(out) = x;
    }
  }
};

template <class R>
ReduceKernels reduce_kernels() {
  ReduceKernels k;
  k.rows = reinterpret_cast<const void*>(&rows<R, R::lanes>);
  k.rows_any = reinterpret_cast<const void*>(&rows<R, 1>);
  k.columns[0] = reinterpret_cast<const void*>(&columns<R, 16>);
  k.columns[1] = reinterpret_cast<const void*>(&columns<R, 4>);
  k.columns[2] = reinterpret_cast<const void*>(&columns<R, 1>);
  k.merge = reinterpret_cast<const void*>(&merge<R>);
  k.lanes = R::lanes;
  k.columns_per_thread = R::columns;
  k.accumulator_bytes = sizeof(typename R::accumulator);
  return k;
}

}  // namespace
}  // namespace arrayx::cuda
