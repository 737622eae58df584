// The kernels of reductions. What is combined with what depends on the number n of elements alone:
//   element k of n goes to chunk k / 2048 and in it to lane k % 128; a lane combines its elements
//   in order; lanes are combined with their neighbours (0 with 1, 2 with 3, then 0 with 2 …), and
//   so are the chunks.
// So an aligned run of 2^j chunks is a subtree that any warp may do. The kernels are ways of
// walking that tree: rows (a warp reads along the reduced dimension), short rows (some threads read
// a row, and several rows are in flight) and columns (threads side by side read along a kept
// dimension). Reductions to which the order does not matter have kernels of their own, in
// reduce_unordered.cuh. Where several blocks have a part of an output, the last one to finish joins
// their results.
#pragma once

#include <type_traits>

#include "../../cpp/ops/reductions.hpp"
#include "../../cpp/ops/table.hpp"
#include "../warps.cuh"
#include "reduce_loop.cuh"

namespace arrayx::cuda {
namespace {

template <class A>
__device__ __forceinline__ A lane_above(A x, int distance) {
  return map_words(x, [=](u32 w) { return __shfl_down_sync(whole_warp, w, distance); });
}
// From the first of so many threads, a power of two.
template <class A>
__device__ __forceinline__ A from_first(A x, int threads) {
  return map_words(x, [=](u32 w) { return __shfl_sync(whole_warp, w, 0, threads); });
}

// ---- parts of an output that meet ---------------------------------------------------------------

// Results of runs of equal length, neighbours combined as soon as there are two; `at` has room for
// a result on every level, `stride` apart.
template <class R>
struct Subtrees {
  using A = typename R::accumulator;
  A* at;
  int stride;
  u32 count = 0;

  __device__ __forceinline__ void push(A x) {
    int level = 0;
    for (; count >> level & 1; ++level) x = R::combine(at[level * stride], x);
    at[level * stride] = x;
    ++count;
  }
  // All of them, and `rest`, the result of a shorter run, if there is one.
  __device__ __forceinline__ A total(bool has_rest, A rest) const {
    for (int level = 0; count >> level != 0; ++level) {
      if ((count >> level & 1) == 0) continue;
      rest = has_rest ? R::combine(at[level * stride], rest) : at[level * stride];
      has_rest = true;
    }
    return rest;
  }
};

// The tree over the first elements of 2^width_log2 threads, of which `live` have one.
template <class R>
__device__ __forceinline__ typename R::accumulator combine_threads(typename R::accumulator x,
                                                                   int thread, int threads,
                                                                   int live) {
  for (int d = 1; d < threads; d *= 2) {
    const auto other = lane_above(x, d);
    if (thread % (2 * d) == 0 && thread + d < live) x = R::combine(x, other);
  }
  return x;
}

// How many parts of each output or tile are done; zero between launches, which are in order.
__device__ u32 parts_done[most_joined];

// Whether this block is the last one of the `parts` of an output or tile; if so, it sees what the
// others have stored.
__device__ __forceinline__ bool is_last_part(u32 which, u32 parts) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    last = atomicInc(&parts_done[which], parts - 1) == parts - 1;
  }
  __syncthreads();
  if (last) __threadfence();
  return last;
}

// The tree over x[0 … n), n <= N.
template <class R, int N>
__device__ __forceinline__ void combine_neighbours(typename R::accumulator (&x)[N], int n) {
#pragma unroll
  for (int d = 1; d < N; d *= 2) {
#pragma unroll
    for (int i = 0; i + d < N; i += 2 * d) {
      if (i + d < n) x[i] = R::combine(x[i], x[i + d]);
    }
  }
}

// The partial results of `width` outputs side by side, of which the first lies at `place`. A thread
// takes a run of up to joined_run of them, a subtree.
template <class R>
__device__ void join_parts(const ReduceLoop& loop, const ReducePlace& place, int width) {
  using A = typename R::accumulator;
  constexpr int together = 4, levels = 4;
  static_assert(joined_run == together << (levels - 1));
  __shared__ __align__(16) unsigned char shared[levels * block_threads * sizeof(A)];
  A* const results = reinterpret_cast<A*>(shared);
  const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  const int parts = static_cast<int>(loop.units.divisor);
  int wide = 1;
  while (wide < width && wide < threads) wide *= 2;
  const int runs = threads / wide;
  int run = 1;
  while (run * runs < parts) run *= 2;
  const int mine = thread / wide;
  for (int column = thread % wide; column - thread % wide < width; column += wide) {
    const bool exists = column < width && mine * run < parts && mine < runs;
    A x[together];
    if (exists) {
      const int n = min(run, parts - mine * run);
      const char* p = loop.partial + place.partial + column * loop.kept[0].stride[3] +
                      mine * run * loop.unit_stride;
      Subtrees<R> trees{results + thread, block_threads};
      for (int i = 0; i < n; i += together) {
#pragma unroll
        for (int j = 0; j < together; ++j) {
          if (i + j < n) x[j] = *reinterpret_cast<const A*>(p + (i + j) * loop.unit_stride);
        }
        combine_neighbours<R>(x, n - i);
        if (n - i >= together) trees.push(x[0]);
      }
      x[0] = trees.total(n % together != 0, x[0]);
      results[thread] = x[0];
    }
    for (int d = 1; d < runs && d * run < parts; d *= 2) {
      __syncthreads();
      if (mine % (2 * d) == 0 && exists && (mine + d) * run < parts) {
        x[0] = R::combine(x[0], results[thread + d * wide]);
        results[thread] = x[0];
      }
    }
    if (exists && mine == 0) {
      R::store(loop, loop.out + place.out + column * loop.kept[0].stride[2], x[0]);
    }
    __syncthreads();
  }
}

// Stores the result of one of the columns from `place` on.
template <class R>
__device__ __forceinline__ void store_part(const ReduceLoop& loop, const ReducePlace& place, int v,
                                           u32 unit, typename R::accumulator x) {
  if (loop.partial == nullptr) {
    R::store(loop, loop.out + place.out + v * loop.kept[0].stride[2], x);
  } else {
    *reinterpret_cast<typename R::accumulator*>(
        loop.partial + place.partial + v * loop.kept[0].stride[3] + unit * loop.unit_stride) = x;
  }
}

// Joins the results of the groups of threads of a block, of which `live` have one at their first
// thread, and stores that of the block; `results` has room for one of every group.
template <class R>
__device__ __forceinline__ void finish_block(const ReduceLoop& loop, u32 output, u32 unit,
                                             const ReducePlace& place, typename R::accumulator x,
                                             typename R::accumulator* results, int live) {
  const int thread = threadIdx.x, groups = blockDim.x >> loop.width_log2;
  __syncthreads();
  if (thread % (1 << loop.width_log2) == 0) results[thread >> loop.width_log2] = x;
  __syncthreads();
  if (thread < 32) {
    if (thread < groups) x = results[thread];
    x = combine_threads<R>(x, thread, groups, live);
    if (thread == 0) store_part<R>(loop, place, 0, unit, x);
  }
  if (loop.partial != nullptr && is_last_part(output, loop.units.divisor)) {
    join_parts<R>(loop, place, 1);
  }
}

// Joins a tile's columns when every unit of it is stored.
template <class R>
__device__ __forceinline__ void finish_tile(const ReduceLoop& loop, u32 outer, u32 tile,
                                            int width) {
  if (loop.partial == nullptr) return;
  if (!is_last_part(outer * loop.tiles.divisor + tile, loop.units.divisor)) return;
  const u32 size = loop.kept[0].size.divisor, column = tile * width;
  const ReducePlace place = locate_output(loop, outer * size + column);
  join_parts<R>(loop, place, static_cast<int>(min(size - column, u32(width))));
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

// Up to T threads of a row do a whole output or, with `whole_block`, each group of T a unit of the
// block's output: some chunks. V: elements of a load; with V = 1 the reduced dimensions may have
// any strides.
template <class R, int V, int T>
__global__ void __launch_bounds__(block_threads,
                                  sizeof(typename R::accumulator) == 4 && V < 8 ? 3 : 1)
    rows(const __grid_constant__ ReduceLoop loop) {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int sets = reduce_lanes / (T * V);  // of lanes, one behind the other
  // Rounds whose loads are in flight: a thread's 128 bytes, or 64 where they are many small ones.
  constexpr int item = sizeof(M), round_bytes = sets * V * item;
  constexpr int in_flight = V == 1 ? (item < 8 ? 64 : 16 * item) : 128;
  constexpr int batch = round_bytes >= in_flight ? 1 : in_flight / round_bytes;
  constexpr int levels = 24, most_groups = block_threads / T;
  __shared__ __align__(16) unsigned char shared[levels * most_groups * sizeof(A)];
  A* const results = reinterpret_cast<A*>(shared);
  const int threads = 1 << loop.width_log2, thread = threadIdx.x % threads;
  const int group = threadIdx.x >> loop.width_log2, groups = blockDim.x >> loop.width_log2;
  u32 output = blockIdx.x, unit = 0;
  i64 begin = 0;
  bool exists = true;
  if (loop.whole_block) {
    output = loop.units.divide(blockIdx.x);
    unit = blockIdx.x - output * loop.units.divisor;
    begin = (i64(unit) * groups + group) * loop.per_unit;
    exists = begin < loop.n;
  } else {
    output = blockIdx.x * groups + group;
    exists = output < loop.outputs;
    output = min(output, loop.outputs - 1);
  }
  const ReducePlace place = locate_output(loop, output);
  const char* const in = loop.in + place.in;
  const A center = R::load_center(loop.center, place.center);

  constexpr i64 chunk = reduce_chunk;
  const i64 end = exists ? min(loop.n, begin + loop.per_unit) : begin;
  const i64 stride = V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0];
  A kept{};
  int chunks = 0, turns = 0;  // since the last time that `threads` of them were joined
  Subtrees<R> trees{results + group, most_groups};
  A acc[sets][V];
  // The warp's threads go on together, also where their rows end at different places.
  for (i64 first = begin; __any_sync(whole_warp, first < end); first += chunk) {
    const int left = static_cast<int>(min(end - first, chunk));  // elements of this chunk, or none
    const int live = min(left, reduce_lanes);
    const int rounds = left > 0 ? (left + reduce_lanes - 1) / reduce_lanes : 0;
    const char* const from = in + first * stride;
    // `together` rounds, whose loads are in flight at the same time; with `whole` none is cut off,
    // with `apart` the reduced dimensions do not merge.
    const auto take = [&](int round, auto together, auto whole, auto apart) {
      Pack<M, V> x[together][sets];
#pragma unroll
      for (int b = 0; b < together; ++b) {
#pragma unroll
        for (int s = 0; s < sets; ++s) {
          const int k = (round + b) * reduce_lanes + s * (T * V) + thread * V;
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
          const int k = (round + b) * reduce_lanes + s * (T * V) + thread * V;
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if (!whole && k + v >= left) continue;
            const A y = R::map(x[b][s].v[v], center);
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
    // Lane (s * T + thread) * V + v.
#pragma unroll
    for (int s = 0; s < sets; ++s) {
      const int lane = (s * T + thread) * V;
      combine_neighbours<R>(acc[s], live - lane);
      acc[s][0] = combine_threads<R>(acc[s][0], thread, threads,
                                     min(threads, (live - s * T * V + V - 1) / V));
    }
#pragma unroll
    for (int d = 1; d < sets; d *= 2) {
#pragma unroll
      for (int s = 0; s + d < sets; s += 2 * d) {
        if ((s + d) * T * V < live) acc[s][0] = R::combine(acc[s][0], acc[s + d][0]);
      }
    }
    if (loop.per_unit <= chunk) {
      kept = acc[0][0];
      break;
    }
    // The chunk's number is the thread that keeps its result.
    const A result = from_first(acc[0][0], threads);
    if (left > 0) {
      if (thread == chunks) kept = result;
      ++chunks;
    }
    if (++turns == threads) {
      turns = 0;
      const A run = combine_threads<R>(kept, thread, threads, chunks);
      if (chunks == threads) {
        if (thread == 0) trees.push(run);
        chunks = 0;
      }
    }
  }
  if (loop.per_unit > chunk) {
    kept = combine_threads<R>(kept, thread, threads, chunks);
    if (thread == 0) kept = trees.total(chunks > 0, kept);
  }
  if (!loop.whole_block) {
    if (thread == 0 && exists) R::store(loop, loop.out + place.out, kept);
    return;
  }
  const i64 block_begin = i64(unit) * groups * loop.per_unit;
  const i64 live = (loop.n - block_begin - 1) / loop.per_unit + 1;
  finish_block<R>(loop, output, unit, place, kept, results,
                  static_cast<int>(min(live, i64(groups))));
}

// ---- short rows ---------------------------------------------------------------------------------

// A row has up to a pack (or element) for each of 2^width_log2 threads, and no more than one round.
template <class R, int V>
__global__ void __launch_bounds__(short_row_threads)
    short_rows(const __grid_constant__ ReduceLoop loop) {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int rows = short_rows_at_once;
  const int threads = 1 << loop.width_log2, thread = threadIdx.x % threads;
  const int groups = short_row_threads >> loop.width_log2;
  const u32 first = blockIdx.x * (groups * rows) + (threadIdx.x >> loop.width_log2);
  const int n = static_cast<int>(loop.n), left = n - thread * V;
  const i64 offset = thread * V * (V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0]);
  ReducePlace place[rows];
  Pack<M, V> x[rows];
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const u32 output = first + r * groups;
    if (output >= loop.outputs) break;
    place[r] = locate_output(loop, output);
    if (left > 0) x[r] = load_first<M, V>(loop.in + place[r].in + offset, left);
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const bool exists = first + r * groups < loop.outputs;
    A y[V];
    const A center = exists ? R::load_center(loop.center, place[r].center) : A{};
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v < left) y[v] = R::map(x[r].v[v], center);
    }
    combine_neighbours<R>(y, left);
    y[0] = combine_threads<R>(y[0], thread, threads, (n + V - 1) / V);
    if (thread == 0 && exists) R::store(loop, loop.out + place[r].out, y[0]);
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
  A* const results = reinterpret_cast<A*>(shared);  // [y][x * V + v], then the trees'
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
  const i64 begin = unit * loop.per_unit, end = min(loop.n, begin + loop.per_unit);
  const bool merged = loop.group_dims == 1;
  const i64 step = loop.group[0].stride[0];
  A acc[L][V];
  u32 chunks = 0;
  for (i64 first = begin;; first += chunk) {
    const int left = static_cast<int>(min(end - first, chunk));
    const int live = min(left, reduce_lanes);
    const char* const from = in + (merged ? first * step : 0);
    // The lanes of this thread in one round; with `whole` every element exists and columns are
    // packs, with `apart` the reduced dimensions do not merge.
    const auto load = [&](Pack<M, V>(&items)[L], int round, auto whole, auto apart) {
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
    };
    const auto add = [&](const Pack<M, V>(&items)[L], int round, auto whole) {
#pragma unroll
      for (int i = 0; i < L; ++i) {
        if (!whole && round * reduce_lanes + y * L + i >= left) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const A value = R::map(items[i].v[v], center[v]);
          if (round == 0) {
            acc[i][v] = value;
          } else {
            acc[i][v] = R::combine(acc[i][v], value);
          }
        }
      }
    };
    const auto take = [&](int round, auto whole, auto apart) {
      Pack<M, V> items[L];
      load(items, round, whole, apart);
      add(items, round, whole);
    };
    using Yes = std::true_type;
    using No = std::false_type;
    // A round is loaded while the one before is added up, if registers have room for both.
    constexpr bool ahead = L * V * sizeof(M) <= 128;
    static_assert(reduce_rounds % 2 == 0);
    if (column < size) {
      const bool packs = V == 1 || loop.vector;
      if (ahead && merged && packs && left == chunk) {
        Pack<M, V> even[L], odd[L];
        load(even, 0, Yes{}, No{});
#pragma unroll 1
        for (int round = 0; round < reduce_rounds; round += 2) {
          load(odd, round + 1, Yes{}, No{});
          add(even, round, Yes{});
          if (round + 2 < reduce_rounds) load(even, round + 2, Yes{}, No{});
          add(odd, round + 1, Yes{});
        }
      } else {
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
    if (first + chunk >= end && chunks == 0) break;
    if (y == 0) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        Subtrees<R> trees{results + blockDim.y * width + x * V + v, width, chunks};
        trees.push(acc[0][v]);
        if (first + chunk >= end)
          acc[0][v] = Subtrees<R>{trees.at, width, chunks + 1}.total(false, A{});
      }
    }
    ++chunks;
    if (first + chunk >= end) break;
    __syncthreads();
  }
  if (y == 0) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (column + v >= size) continue;
      store_part<R>(loop, place, v, unit, acc[0][v]);
    }
  }
  finish_tile<R>(loop, outer, tile, width);
}

// ---- reductions as the kernels see them ---------------------------------------------------------

template <class T, class A>
struct Reducer {
  using input = T;
  using accumulator = A;
  static constexpr int bytes = sizeof(memory_t<T>);
  static constexpr int lanes = pack_bytes / bytes;

  static __device__ __forceinline__ A load_center(const char*, i64) { return A{}; }
  static __device__ __forceinline__ void store(const ReduceLoop&, char* out, A x) {
    *reinterpret_cast<A*>(out) = x;
  }
};

// The moments, or what is made of them.
__device__ __forceinline__ void store_moments(const ReduceLoop& loop, char* out, Complex<f64> x) {
  const Deviation& wanted = loop.deviation;
  if (wanted.inverse_n == 0) {
    *reinterpret_cast<Complex<f64>*>(out) = x;
    return;
  }
  f64 squares = x.im - x.re * (x.re * wanted.inverse_n);
  if (squares < 0) squares = 0;
  if (wanted.dtype == DType::float32) {
    squares *= wanted.factor;
    *reinterpret_cast<f32*>(out) = static_cast<f32>(wanted.root ? sqrt(squares) : squares);
  } else {
    squares /= wanted.divisor;
    *reinterpret_cast<f64*>(out) = wanted.root ? sqrt(squares) : squares;
  }
}

// Of elements as they are.
template <class Op, class T, class A>
struct Plain : Reducer<T, A> {
  // Of a thread that has several lanes of each: four or eight bytes.
  static constexpr int columns = sizeof(A) > 8 || Plain::bytes >= 8 ? 1 : Plain::bytes == 4 ? 2 : 4;

  static __device__ __forceinline__ A map(memory_t<T> x, A) { return converted<A, T>(x); }
  static __device__ __forceinline__ A combine(A a, A b) { return Op::combine(a, b); }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    // The sum of nothing but -0.0 is +0.0, as that of nothing is.
    if constexpr (ops::same_type_v<Op, ops::Sum>) x = x + A{};
    if constexpr (ops::same_type_v<Op, ops::Sum> && ops::same_type_v<T, Complex<f64>>) {
      store_moments(loop, out, x);
    } else {
      *reinterpret_cast<A*>(out) = x;
    }
  }
};

template <class T, class A>
struct Deviations : Reducer<T, A> {
  static constexpr int columns = Deviations::bytes >= 8 ? 1 : Deviations::bytes == 4 ? 2 : 4;

  static __device__ __forceinline__ A load_center(const char* center, i64 offset) {
    return *reinterpret_cast<const A*>(center + offset);
  }
  static __device__ __forceinline__ A map(memory_t<T> x, A center) {
    return ops::SumSquaredDeviations::map(converted<A, T>(x), center);
  }
  static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
};

// (sum of d, sum of d * d) as the parts of a complex number, d the deviations from a center.
template <class T>
struct Moments : Reducer<T, Complex<f64>> {
  using A = Complex<f64>;
  static constexpr int columns = 1;

  static __device__ __forceinline__ A load_center(const char* center, i64 offset) {
    return {converted<f64, T>(*reinterpret_cast<const memory_t<T>*>(center + offset)), 0.0};
  }
  static __device__ __forceinline__ A map(memory_t<T> x, A center) {
    const f64 d = converted<f64, T>(x) - center.re;
    return {d, d * d};
  }
  static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    store_moments(loop, out, x);
  }
};

template <class R>
ReduceKernels reduce_kernels() {
  ReduceKernels k;
  constexpr int width = R::lanes > 4 ? reduce_lanes / R::lanes : 32;
  constexpr int narrow = sizeof(typename R::accumulator) < 8 ? 8 : 16;
  k.rows = reinterpret_cast<const void*>(&rows<R, R::lanes, width>);
  k.rows_any = reinterpret_cast<const void*>(&rows<R, 1, 32>);
  k.narrow_rows = reinterpret_cast<const void*>(&rows<R, R::lanes, narrow>);
  k.narrow_rows_any = reinterpret_cast<const void*>(&rows<R, 1, narrow>);
  k.narrow_width = narrow;
  k.short_rows = reinterpret_cast<const void*>(&short_rows<R, R::lanes>);
  k.short_rows_any = reinterpret_cast<const void*>(&short_rows<R, 1>);
  k.columns[0] = reinterpret_cast<const void*>(&columns<R, 16>);
  k.columns[1] = reinterpret_cast<const void*>(&columns<R, 4>);
  k.columns[2] = reinterpret_cast<const void*>(&columns<R, 1>);
  k.lanes = R::lanes;
  k.columns_per_thread = R::columns;
  k.accumulator_bytes = sizeof(typename R::accumulator);
  return k;
}

}  // namespace
}  // namespace arrayx::cuda
