// The kernels of reductions. What is combined with what depends on the number n of elements alone:
//   element k of n goes to chunk k / 2048 and in it to lane k % 128; a lane combines its elements
//   in order; lanes are combined with their neighbours (0 with 1, 2 with 3, then 0 with 2 …), and
//   so are the chunks.
// So an aligned run of 2^j chunks is a subtree that any warp may do. The kernels are ways of
// walking that tree: rows (a warp reads along the reduced dimension), narrow rows (some threads
// read a row that is no longer than a chunk), short rows (the same, and several rows are in
// flight), staged rows (which have an element or none in each lane, and come through shared
// memory, a row to a thread), staged chunks (of several dimensions, which come through shared
// memory in the order in which they lie in memory), columns (threads side by side read along a kept
// dimension), whole columns (each of them has an output, or some have one together) and flat
// columns (rows of a few, read as one run of packs with what stands between them). Reductions to
// which the order does not matter have kernels of their own, in reduce_unordered.cuh. Where several
// blocks have a part of an output, the last one to finish joins their results.
#pragma once

#include <cuda_pipeline.h>

#include <type_traits>

#include "../../cpp/ops/reductions.hpp"
#include "../../cpp/ops/table.hpp"
#include "../copies_in_flight.cuh"
#include "../last_part.cuh"
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

// What kernels' loops are told as constants.
using Yes = std::true_type;
using No = std::false_type;
using One = std::integral_constant<int, 1>;

// ---- what threads do ----------------------------------------------------------------------------

// What a group of threads does: an output or, with `whole_block`, a part of the block's unit of it.
struct RowTask {
  u32 output, unit = 0;
  bool exists = true;

  __device__ __forceinline__ RowTask(const ReduceLoop& loop, int group, int groups)
      : output(blockIdx.x) {
    if (loop.whole_block) {
      output = loop.units.divide(blockIdx.x);
      unit = blockIdx.x - output * loop.units.divisor;
    } else {
      output = blockIdx.x * groups + group;
      exists = output < loop.outputs;
      output = min(output, loop.outputs - 1);
    }
  }
};
// A block's tile: `width` columns side by side, of which a thread has some from `column` on, in a
// unit of their elements.
struct ColumnTask {
  u32 tile, outer, unit, column, size;

  __device__ __forceinline__ ColumnTask(const ReduceLoop& loop, int columns, int width)
      : size(loop.columns) {
    const u32 rest = loop.tiles.divide(blockIdx.x);
    tile = blockIdx.x - rest * loop.tiles.divisor;
    outer = loop.units.divide(rest);
    unit = rest - outer * loop.units.divisor;
    column = tile * width + threadIdx.x * columns;
  }
  __device__ __forceinline__ u32 output() const { return outer * size + min(column, size - 1); }
};

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

// Of two threads d apart, which pass each other something: what one has joined with what it gets,
// in the order of the threads, or what the lower one has unless there are both.
template <class R>
__device__ __forceinline__ typename R::accumulator meet(typename R::accumulator mine,
                                                        typename R::accumulator passed, int d,
                                                        bool upper, bool both) {
  const auto other = from_lane(passed, (threadIdx.x ^ d) % warp_size);
  const auto low = upper ? other : mine, high = upper ? mine : other;
  return both ? R::combine(low, high) : low;
}

__device__ u32 parts_done[most_joined];  // of each output or tile

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

// The same over elements at(First) … at(First + n - 1), n <= N, of which few are there at a time.
template <class R, int First, int N, class At>
__device__ __forceinline__ typename R::accumulator tree_of(int n, At&& at) {
  if constexpr (N == 1) {
    return at(First);
  } else {
    auto x = tree_of<R, First, N / 2>(n, at);
    if (N / 2 < n) x = R::combine(x, tree_of<R, First + N / 2, N / 2>(n - N / 2, at));
    return x;
  }
}

// The partial results of `width` outputs from `first` on. A thread takes a run of up to joined_run
// of them, a subtree; `results` has room for join_results.
template <class R>
__device__ void join_parts(const ReduceLoop& loop, u32 first, int width,
                           typename R::accumulator* results) {
  using A = typename R::accumulator;
  constexpr int together = 8;
  static_assert(joined_run == together << (join_levels - 1));
  const int thread = threadIdx.y * blockDim.x + threadIdx.x;
  const int threads = min(blockDim.x * blockDim.y, block_threads);
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
      const char* p =
          loop.partial + (first + column) * loop.output_stride + mine * run * loop.unit_stride;
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
      R::store(loop, loop.out + locate_output(loop, first + column).out, x[0]);
    }
    __syncthreads();
  }
}
template <class R>
__device__ __forceinline__ void join_parts(const ReduceLoop& loop, u32 first, int width) {
  using A = typename R::accumulator;
  __shared__ __align__(16) unsigned char shared[join_results * sizeof(A)];
  join_parts<R>(loop, first, width, reinterpret_cast<A*>(shared));
}

// Stores the result of one of the outputs from `first` on, which lies at `place`.
template <class R>
__device__ __forceinline__ void store_part(const ReduceLoop& loop, u32 first,
                                           const ReducePlace& place, int v, u32 unit,
                                           typename R::accumulator x) {
  if (loop.partial == nullptr) {
    R::store(loop, loop.out + place.out + v * loop.kept[0].stride[2], x);
  } else {
    *reinterpret_cast<typename R::accumulator*>(loop.partial + (first + v) * loop.output_stride +
                                                unit * loop.unit_stride) = x;
  }
}

// Joins the results of the groups of threads of a block, of which `live` have one at their first
// thread, and stores that of the block; `results` has room for one of every group.
template <class R>
__device__ __forceinline__ void finish_block(const ReduceLoop& loop, const RowTask& task,
                                             const ReducePlace& place, typename R::accumulator x,
                                             typename R::accumulator* results, int live) {
  const int thread = threadIdx.x, groups = blockDim.x >> loop.width_log2;
  __syncthreads();
  if (thread % (1 << loop.width_log2) == 0) results[thread >> loop.width_log2] = x;
  __syncthreads();
  if (thread < 32) {
    if (thread < groups) x = results[thread];
    x = combine_threads<R>(x, thread, groups, live);
    if (thread == 0) store_part<R>(loop, task.output, place, 0, task.unit, x);
  }
  if (loop.partial != nullptr && is_last_part(parts_done[task.output], loop.units.divisor)) {
    join_parts<R>(loop, task.output, 1);
  }
}

// Joins a tile's columns when every unit of it is stored.
template <class R>
__device__ __forceinline__ void finish_tile(const ReduceLoop& loop, const ColumnTask& task,
                                            int width) {
  if (loop.partial == nullptr) return;
  u32& done = parts_done[task.outer * loop.tiles.divisor + task.tile];
  if (!is_last_part(done, loop.units.divisor)) return;
  const u32 column = task.tile * width;
  join_parts<R>(loop, task.outer * task.size + column,
                static_cast<int>(min(task.size - column, u32(width))));
}

// ---- rows ---------------------------------------------------------------------------------------

// Of V elements at p those at the places [low, high), and zeros.
template <class M, int V>
__device__ __forceinline__ Pack<M, V> load_some(const char* p, int low, int high) {
  Pack<M, V> x{};
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (v >= low && v < high) x.v[v] = reinterpret_cast<const M*>(p)[v];
  }
  return x;
}
// V elements at p, of which those at places below `left` exist; with V > 1 p is aligned.
template <class M, int V>
__device__ __forceinline__ Pack<M, V> load_first(const char* p, int left) {
  return left >= V ? *reinterpret_cast<const Pack<M, V>*>(p) : load_some<M, V>(p, 0, left);
}

// The tree over `live` lanes, of which thread t of a group has x[s] for those from (s * T + t) * V
// on; threads < T only where one set is enough for them. Of two threads each passes half of the
// sets to the other, as long as they have several.
template <class R, int V, int T, int N>
__device__ __forceinline__ typename R::accumulator combine_sets(typename R::accumulator (&x)[N],
                                                                int thread, int threads, int live) {
  int first = 0;  // of the thread's sets
#pragma unroll
  for (int level = 0; level < 5; ++level) {
    const int d = 1 << level, have = N >> level;
    if (d >= T || d >= threads) break;
    const bool upper = (thread & d) != 0;
    const int right = ((thread & -2 * d) | d) * V;
    if (have > 1) {
      first += upper ? have / 2 : 0;
#pragma unroll
      for (int s = 0; s < have / 2; ++s) {
        const bool both = (first + s) * (T * V) + right < live;
        const auto low = x[s], high = x[s + have / 2];
        x[s] = meet<R>(upper ? high : low, upper ? low : high, d, upper, both);
      }
    } else {
      x[0] = meet<R>(x[0], x[0], d, upper, first * (T * V) + right < live);
    }
  }
  // Sets side by side, first those of one thread.
  constexpr int kept = N > T ? N / T : 1;
#pragma unroll
  for (int s = 1; s < kept; s *= 2) {
#pragma unroll
    for (int i = 0; i + s < kept; i += 2 * s) {
      if ((first + i + s) * (T * V) < live) x[i] = R::combine(x[i], x[i + s]);
    }
  }
#pragma unroll
  for (int d = (N > T ? T : N) / 2, sets = kept; d > 0; d /= 2, sets *= 2) {
    const bool upper = (thread & d) != 0;
    const int right = (first & -2 * sets) + sets;
    x[0] = meet<R>(x[0], x[0], d, upper, right * (T * V) < live);
  }
  return x[0];
}

// Those with which fewer loads on their way let more blocks run; of float16 registers would not
// suffice.
template <class R>
inline constexpr bool wide_accumulators = sizeof(typename R::accumulator) == 4 * R::bytes;
// Whether twice as many threads are faster along rows that are not short: they read longer pieces
// of a row at a time. Of float64, which takes longer to be joined, they are not. Moments of float32
// leave so few registers that more threads have more loads on their way: rows of 1024 take 0.97 of
// the time on an H100.
template <class R>
inline constexpr bool has_wider_narrow_rows =
    R::bytes == 4 && (sizeof(typename R::accumulator) == 4 || wide_accumulators<R>);

// Blocks that registers have to suffice for. Of float32 three at a time instead of two: on an H100
// extremes of rows of 113 to 300 elements took 0.88 to 0.94 of the time.
template <class R, int T>
inline constexpr int narrow_row_blocks = T == warp_size                                     ? 4
                                         : wide_accumulators<R> || has_wider_narrow_rows<R> ? 3
                                                                                            : 1;

// How many bytes a thread of T has on their way along rows that begin anywhere.
template <class R, int V>
inline constexpr int bytes_of_shifted = V == 1                 ? (R::bytes < 8 ? 64 : 16 * R::bytes)
                                        : wide_accumulators<R> ? 64
                                                               : 128;

// What T threads of a warp make of n elements from `in` on, a chunk at most; of other warps'
// threads n may differ. With V > 1 they may begin anywhere: packs are aligned, so what stands at
// place p of them is in lane p - low, and goes there at the end. Lanes without an element have the
// identity. `is_long`: most often there is a chunk.
template <class R, int V, int T, bool is_long>
__device__ __forceinline__ typename R::accumulator reduce_shifted(const char* in, i64 stride, int n,
                                                                  typename R::Center center,
                                                                  int thread) {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int sets = reduce_lanes / (T * V);
  constexpr int item = sizeof(M), round_bytes = sets * V * item;
  constexpr int in_flight = bytes_of_shifted<R, V>;
  constexpr int batch = round_bytes >= in_flight ? 1 : in_flight / round_bytes;
  int low = 0;
  if constexpr (V > 1) low = static_cast<int>(reinterpret_cast<u64>(in) % pack_bytes / item);
  const bool shifted = V > 1 && __any_sync(whole_warp, low != 0);
  in -= low * stride;
  const int end = low + n;
  A acc[sets][V];
#pragma unroll
  for (int s = 0; s < sets; ++s) {
#pragma unroll
    for (int v = 0; v < V; ++v) acc[s][v] = R::identity();
  }
  // Some rounds, whose loads are in flight at the same time; with `whole` all packs are there, and
  // with `is_first` the first one may begin before the first element.
  const auto take = [&](int round, auto together, auto whole, auto is_first) {
    Pack<M, V> x[together][sets];
#pragma unroll
    for (int b = 0; b < together; ++b) {
#pragma unroll
      for (int s = 0; s < sets; ++s) {
        const int k = (round + b) * reduce_lanes + s * (T * V) + thread * V;
        const char* const p = in + k * stride;
        if (whole || (k >= low && k + V <= end)) {
          x[b][s] = *reinterpret_cast<const Pack<M, V>*>(p);
        } else if (k + V > low && k < end) {
          x[b][s] = load_some<M, V>(p, low - k, end - k);
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
          const bool exists =
              whole ? !is_first || b > 0 || s > 0 || k + v >= low : k + v >= low && k + v < end;
          if (exists) acc[s][v] = R::combine(acc[s][v], R::map(x[b][s].v[v], center));
        }
      }
    }
  };
  using Batch = std::integral_constant<int, batch>;
  int round = 0;
  if constexpr (is_long) {
    if (shifted && batch * reduce_lanes <= n) {
      take(0, Batch{}, Yes{}, Yes{});
      round = batch;
    }
  }
  for (; round * reduce_lanes < n + (shifted ? V - 1 : 0); round += batch) {
    if ((round > 0 || !shifted) && (round + batch) * reduce_lanes <= n) {
      take(round, Batch{}, Yes{}, No{});
    } else if (is_long && end - round * reduce_lanes <= reduce_lanes) {
      take(round, One{}, No{}, No{});
    } else {
      take(round, Batch{}, No{}, No{});
    }
  }
  if (shifted) {
    const int next = (threadIdx.x & ~(T - 1) & (warp_size - 1)) | ((thread + 1) % T);
#pragma unroll
    for (int step = 1; step < V; step *= 2) {
      const bool moves = (low & step) != 0;
      A passed[sets][V];
#pragma unroll
      for (int s = 0; s < sets; ++s) {
#pragma unroll
        for (int v = 0; v < step; ++v) {
          passed[s][v] = from_lane(thread == 0 ? acc[(s + 1) % sets][v] : acc[s][v], next);
        }
      }
#pragma unroll
      for (int s = 0; s < sets; ++s) {
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const A moved = v + step < V ? acc[s][(v + step) % V] : passed[s][(v + step) % V];
          acc[s][v] = moves ? moved : acc[s][v];
        }
      }
    }
  }
  A lane[sets];
#pragma unroll
  for (int s = 0; s < sets; ++s) {
    combine_neighbours<R>(acc[s], V);
    lane[s] = acc[s][0];
  }
  return combine_sets<R, V, T>(lane, thread, T, reduce_lanes);
}

// Up to T threads of a row do a whole output or, with `whole_block`, each group of T a unit of the
// block's output: some chunks. V: elements of a load; with V = 1 the reduced dimensions may have
// any strides. `shifted`: T threads, of rows of packs that begin anywhere.
template <class R, int V, int T, bool shifted = false>
__global__ void __launch_bounds__(block_threads, R::bytes >= 16 ? 1 : 2)
    rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int sets = reduce_lanes / (T * V);  // of lanes, one behind the other
  // Rounds whose loads are in flight: a thread's 128 bytes, or 64 where they are many small ones.
  // Of eight bytes a thread has registers for more: on an H200 sums of 64Mi float64 take 126 µs of
  // 131 so, of 100 rows of 512Ki 99 of 107.
  constexpr int item = sizeof(M), round_bytes = sets * V * item;
  constexpr int in_flight = V == 1                           ? (item < 8 ? 64 : 16 * item)
                            : item == 8 && sizeof(A) == item ? 256
                                                             : 128;
  constexpr int batch = round_bytes >= in_flight ? 1 : in_flight / round_bytes;
  constexpr int levels = 24, most_groups = block_threads / T;
  __shared__ __align__(16) unsigned char shared[levels * most_groups * sizeof(A)];
  A* const results = reinterpret_cast<A*>(shared);
  const int threads = 1 << loop.width_log2, thread = threadIdx.x % threads;
  const int group = threadIdx.x >> loop.width_log2, groups = blockDim.x >> loop.width_log2;
  const RowTask task(loop, group, groups);
  const i64 begin = loop.whole_block ? (i64(task.unit) * groups + group) * loop.per_unit : 0;
  const bool exists = task.exists && begin < loop.n;
  const ReducePlace place = locate_output(loop, task.output);
  const char* const in = loop.in + place.in;
  const auto center = R::load_center(loop, loop.center + place.center);

  constexpr i64 chunk = reduce_chunk;
  const i64 end = exists ? min(loop.n, begin + loop.per_unit) : begin;
  const i64 stride = V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0];
  A kept{};
  int chunks = 0, turns = 0;  // since the last time that `threads` of them were joined
  Subtrees<R> trees{results + group, most_groups};
  // A chunk, of which `left` elements exist, or none.
  const auto reduce_aligned = [&](i64 first, int left) {
    A acc[sets][V];
    const int live = min(left, reduce_lanes);
    const int rounds = left > 0 ? (left + reduce_lanes - 1) / reduce_lanes : 0;
    const char* const from = in + first * stride;
    // `together` rounds, whose loads are in flight at the same time; with `whole` none is cut off,
    // with `apart` the reduced dimensions do not merge, of which there are two if several rounds
    // are read together.
    const auto take = [&](int round, auto together, auto whole, auto apart) {
      Pack<M, V> x[together][sets];
#pragma unroll
      for (int b = 0; b < together; ++b) {
#pragma unroll
        for (int s = 0; s < sets; ++s) {
          const int k = (round + b) * reduce_lanes + s * (T * V) + thread * V;
          if (!whole && k >= left) continue;
          if constexpr (apart && together > 1) {
            const auto at = static_cast<u32>(first + k), row = loop.group[0].size.divide(at);
            const u32 column = at - row * loop.group[0].size.divisor;
            x[b][s].v[0] = *reinterpret_cast<const M*>(in + row * loop.group[1].stride[0] +
                                                       column * loop.group[0].stride[0]);
          } else if constexpr (apart) {
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
    using Batch = std::integral_constant<int, batch>;
    // Of two dimensions that do not merge.
    constexpr int apart_rounds = batch > 1 ? batch : 2;
    using ApartBatch = std::integral_constant<int, apart_rounds>;
    bool merged = true;
    if constexpr (V == 1) {
      merged = loop.group_dims == 1;
      if (!merged) {
        int round = 0;
        if (loop.group_dims == 2) {
          for (; (round + apart_rounds) * reduce_lanes <= left; round += apart_rounds) {
            take(round, ApartBatch{}, Yes{}, Yes{});
          }
        }
        for (; round < rounds; ++round) take(round, One{}, No{}, Yes{});
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
    A lane[sets];
#pragma unroll
    for (int s = 0; s < sets; ++s) {
      combine_neighbours<R>(acc[s], live - (s * T + thread) * V);
      lane[s] = acc[s][0];
    }
    return combine_sets<R, V, T>(lane, thread, threads, live);
  };
  // The warp's threads go on together, also where their rows end at different places.
  for (i64 first = begin; __any_sync(whole_warp, first < end); first += chunk) {
    const int left = static_cast<int>(min(end - first, chunk));
    A joined;
    if constexpr (shifted) {
      joined =
          reduce_shifted<R, V, T, true>(in + first * stride, stride, max(left, 0), center, thread);
    } else {
      joined = reduce_aligned(first, left);
    }
    if (loop.per_unit <= chunk) {
      kept = joined;
      break;
    }
    // The chunk's number is the thread that keeps its result.
    const A result = from_first(joined, threads);
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
  const i64 block_begin = i64(task.unit) * groups * loop.per_unit;
  const i64 live = (loop.n - block_begin - 1) / loop.per_unit + 1;
  finish_block<R>(loop, task, place, kept, results, static_cast<int>(min(live, i64(groups))));
}

// T threads to a row of up to a chunk.
template <class R, int V, int T>
__global__ void __launch_bounds__(block_threads, narrow_row_blocks<R, T>)
    narrow_rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  const int thread = threadIdx.x % T;
  const u32 given = blockIdx.x * (block_threads / T) + threadIdx.x / T;
  const u32 output = min(given, loop.outputs - 1);
  const ReducePlace place = locate_output(loop, output);
  const auto center = R::load_center(loop, loop.center + place.center);
  const i64 stride = V > 1 ? i64(R::bytes) : loop.group[0].stride[0];
  const auto result = reduce_shifted<R, V, T, false>(loop.in + place.in, stride,
                                                     static_cast<int>(loop.n), center, thread);
  if (thread == 0 && given < loop.outputs) R::store(loop, loop.out + place.out, result);
}

// ---- staged chunks ------------------------------------------------------------------------------

// Copies rows of a group's outermost dimension, the first of which lies at `in`, into shared
// memory: `count` elements from the one at `lead` on, and perhaps others of those rows. Threads go
// from line to line, each at one place of the dimension along which elements are closest.
template <class M>
__device__ __forceinline__ void copy_box(const ReduceLoop& loop, const char* in, u32 rows, u32 lead,
                                         u32 count, M* box) {
  const int outer = loop.group_dims - 1, along = loop.line_dim;
  const u32 row = loop.box_row.divisor;
  const u32 length = along == outer ? rows : loop.group[along].size.divisor;
  const u32 lines = along == outer ? row : row / length * rows;
  const u32 first = threadIdx.x / length, together = max(blockDim.x / length, 1);
  if (first >= together) return;
  // Where the dimensions of a line's number begin in the box, those inside `along` first.
  u32 box_step = 1;
  for (int d = 0; d < along && d < outer; ++d) box_step *= loop.group[d].size.divisor;
  if (along == outer) box_step = loop.box_step;
  for (u32 place = threadIdx.x - first * length; place < length; place += blockDim.x) {
    const char* const from = in + place * loop.group[along].stride[0];
    M* const to = box + place * box_step;
    u32 line = first, end = lines;
    if (along == outer) {  // lines are counted as the elements of a row
      if (place == 0 && lead > line) line += (lead - line + together - 1) / together * together;
      end = min(end, lead + count - place * row);
    }
    if (outer == 1) {
      const LoopDim& other = loop.group[1 - along];
      const u32 other_step = along == outer ? 1 : loop.box_step;
      const char* p = from + line * other.stride[0];
      M* q = to + line * other_step;
      const i64 step = together * other.stride[0];
      for (; line < end; line += together, p += step, q += together * other_step) {
        copy_in_flight(q, reinterpret_cast<const M*>(p));
      }
      continue;
    }
    for (; line < end; line += together) {
      i64 offset = 0;
      u32 at = 0, rest = line, inner = 1;
      for (int d = 0; d < outer; ++d) {
        const LoopDim& dim = loop.group[d];
        if (d != along) {
          const u32 next = dim.size.divide(rest), index = rest - next * dim.size.divisor;
          offset += index * dim.stride[0];
          at += index * inner;
          rest = next;
        }
        inner *= dim.size.divisor;
      }
      if (along != outer) {
        offset += rest * loop.group[outer].stride[0];
        at += rest * loop.box_step;
      }
      copy_in_flight(to + at, reinterpret_cast<const M*>(from + offset));
    }
  }
}

// The last block's part of the work, which takes more registers than all else.
template <class R>
__device__ __noinline__ void join_output(const ReduceLoop& loop, u32 output,
                                         typename R::accumulator* results) {
  join_parts<R>(loop, output, 1, results);
}

// `box_of_chunks` in cuda/reduce.cu says what more of them are for.
template <class R>
inline constexpr int most_chunk_threads =
    R::bytes == 8 && sizeof(typename R::accumulator) == 8 ? 3 * staged_chunk_threads / 2
                                                          : staged_chunk_threads;

// A block has an output or a unit of it, some chunks at a time, which it reads as they lie in
// memory and adds up in their order. A thread has one lane, a warp a part of a chunk.
template <class R>
__global__ void __launch_bounds__(
    most_chunk_threads<R>,
    resident_blocks_of(most_chunk_threads<R>,
                       R::bytes == 4 && sizeof(typename R::accumulator) <= 8 ? 3 : 2))
    staged_chunks(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int parts = reduce_lanes / warp_size, levels = 24, batch = 8;
  static_assert(staged_chunk_bytes / sizeof(M) / reduce_chunk * parts <= warp_size);
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ __align__(16) unsigned char joined[(warp_size + levels) * sizeof(A)];
  M* const box = reinterpret_cast<M*>(shared);
  A* const results = reinterpret_cast<A*>(joined);
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size,
            warps = blockDim.x / warp_size;
  const RowTask task(loop, 0, 1);
  const ReducePlace place = locate_output(loop, task.output);
  const auto center = R::load_center(loop, loop.center + place.center);
  const u32 between = loop.box_step - loop.box_row.divisor;
  const i64 begin = task.unit * loop.per_unit, end = min(loop.n, begin + loop.per_unit);
  Subtrees<R> trees{results + warp_size, 1};
  A rest{};
  bool has_rest = false;
  for (i64 first = begin; first < end; first += loop.tile_items) {
    const int count = static_cast<int>(min(end - first, i64(loop.tile_items)));
    const u32 from = loop.box_row.divide(static_cast<u32>(first)),
              upto = loop.box_row.divide(static_cast<u32>(first) + count - 1) + 1,
              lead = static_cast<u32>(first) - from * loop.box_row.divisor;
    copy_box(loop, loop.in + place.in + from * loop.group[loop.group_dims - 1].stride[0],
             upto - from, lead, count, box);
    await_copies();
    __syncthreads();
    const int live = count / reduce_chunk * parts +
                     (min(count % reduce_chunk, reduce_lanes) + warp_size - 1) / warp_size;
    for (int part = warp; part < live; part += warps) {
      const int chunk = part / parts * reduce_chunk, first_lane = part % parts * warp_size;
      const int left = min(count - chunk, reduce_chunk), mine = first_lane + lane;
      A acc{};
      // With `apart` there is something between rows.
      const auto reduce = [&](auto apart) {
        const u32 k = lead + chunk + mine;
        const M* const at = box + k;
        const auto element = [&](int round) {
          if constexpr (apart) {
            return at[round * reduce_lanes +
                      loop.box_row.divide(k + round * reduce_lanes) * between];
          } else {
            return at[round * reduce_lanes];
          }
        };
        if (left == reduce_chunk) {
#pragma unroll
          for (int round = 0; round < reduce_rounds; round += batch) {
            M x[batch];
#pragma unroll
            for (int b = 0; b < batch; ++b) x[b] = element(round + b);
#pragma unroll
            for (int b = 0; b < batch; ++b) {
              const A y = R::map(x[b], center);
              acc = round + b == 0 ? y : R::combine(acc, y);
            }
          }
        } else {
          for (int round = 0; round * reduce_lanes + mine < left; ++round) {
            const A y = R::map(element(round), center);
            acc = round == 0 ? y : R::combine(acc, y);
          }
        }
      };
      if (between == 0) {
        reduce(No{});
      } else {
        reduce(Yes{});
      }
      acc = combine_threads<R>(acc, lane, warp_size, min(left, reduce_lanes) - first_lane);
      if (lane == 0) results[part] = acc;
    }
    __syncthreads();
    if (warp == 0) {
      const A x = combine_threads<R>(results[min(lane, live - 1)], lane, warp_size, live);
      if (lane == 0) {
        has_rest = count < loop.tile_items;
        if (has_rest) {
          rest = x;
        } else {
          trees.push(x);
        }
      }
    }
  }
  if (threadIdx.x == 0) {
    store_part<R>(loop, task.output, place, 0, task.unit, trees.total(has_rest, rest));
  }
  if (loop.partial != nullptr && is_last_part(parts_done[task.output], loop.units.divisor)) {
    join_output<R>(loop, task.output, reinterpret_cast<A*>(shared));
  }
}

// ---- short rows ---------------------------------------------------------------------------------

// A group of threads has several rows, each of up to a pack (or element) for a thread.
struct ShortRows {
  static constexpr int rows = short_rows_at_once;
  int threads, thread, groups;
  u32 first;  // of the group's rows

  __device__ __forceinline__ explicit ShortRows(const ReduceLoop& loop)
      : threads(1 << loop.width_log2),
        thread(threadIdx.x % threads),
        groups(short_row_threads >> loop.width_log2),
        first(blockIdx.x * (groups * rows) + (threadIdx.x >> loop.width_log2)) {}
  __device__ __forceinline__ u32 output(int r) const { return first + r * groups; }

  // Joins what the threads have of each row and stores it; the first `live` of them have something.
  // Of two threads each passes half of the rows to the other, as long as they have several.
  template <class R>
  __device__ __forceinline__ void finish(const ReduceLoop& loop, typename R::accumulator (&x)[rows],
                                         int live) const {
    int begin = 0, have = rows;
#pragma unroll
    for (int level = 0; level < 5; ++level) {
      const int d = 1 << level, most = max(rows >> level, 1);
      if (d >= threads) break;
      const bool upper = (thread & d) != 0, both = ((thread & -2 * d) | d) < live;
      if (most > 1) {
        have = most / 2;
        begin += upper ? have : 0;
      }
#pragma unroll
      for (int r = 0; r < (most > 1 ? most / 2 : 1); ++r) {
        const auto low = x[r], high = x[most > 1 ? r + most / 2 : r];
        x[r] = meet<R>(upper ? high : low, upper ? low : high, d, upper, both);
      }
    }
    if (thread >= rows) return;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      if (r >= have || output(begin + r) >= loop.outputs) return;
      R::store(loop, loop.out + locate_output(loop, output(begin + r)).out, x[r]);
    }
  }
};

template <class R, int V>
__global__ void __launch_bounds__(short_row_threads)
    short_rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  const ShortRows task(loop);
  const int n = static_cast<int>(loop.n), left = n - task.thread * V;
  const i64 offset = task.thread * V * (V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0]);
  Pack<M, V> x[task.rows];
  typename R::Center center[task.rows];
#pragma unroll
  for (int r = 0; r < task.rows; ++r) {
    if (task.output(r) >= loop.outputs) break;
    const ReducePlace place = locate_output(loop, task.output(r));
    if (left > 0) x[r] = load_first<M, V>(loop.in + place.in + offset, left);
    center[r] = R::load_center(loop, loop.center + place.center);
  }
  const int live = (n + V - 1) / V;
  if constexpr (R::about_mean) {
    using Sums = typename R::Sums;
#pragma unroll
    for (int r = 0; r < task.rows; ++r) {
      typename Sums::accumulator y[V];
#pragma unroll
      for (int v = 0; v < V; ++v) y[v] = Sums::map(x[r].v[v], {});
      combine_neighbours<Sums>(y, left);
      const auto sum = combine_threads<Sums>(y[0], task.thread, task.threads, live);
      center[r] = from_first(Sums::mean(sum, n), task.threads);
    }
  }
  A result[task.rows];
#pragma unroll
  for (int r = 0; r < task.rows; ++r) {
    A y[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v < left) y[v] = R::map(x[r].v[v], center[r]);
    }
    combine_neighbours<R>(y, left);
    result[r] = y[0];
  }
  task.finish<R>(loop, result, live);
}

// ---- staged rows --------------------------------------------------------------------------------

// A row in shared memory, of up to reduce_lanes elements, as one thread reduces it: in the tree's
// order. E: elements that are read together, to which rows are aligned.
template <class R>
struct OrderedRow {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  using Center = typename R::Center;

  // Of so many elements a thread needs room for that many results.
  static constexpr int levels(int n) { return staged_row_levels(n); }

  // N: at least n, or staged_run.
  template <class Q, int N, int E>
  static __device__ __forceinline__ typename Q::accumulator join(const M* row, int n,
                                                                 typename Q::Center center,
                                                                 A* scratch) {
    using B = typename Q::accumulator;
    static_assert(sizeof(A) % sizeof(B) == 0);
    constexpr int stride = staged_row_threads * int(sizeof(A) / sizeof(B));
    Subtrees<Q> trees{reinterpret_cast<B*>(scratch), stride};
    for (int k = 0;; k += N) {
      const int left = n - k;
      Pack<M, E> x[N / E];
#pragma unroll
      for (int i = 0; i < N; i += E) {
        if (i < left) x[i / E] = *reinterpret_cast<const Pack<M, E>*>(row + k + i);
      }
      const auto at = [&](int i) { return Q::map(x[i / E].v[i % E], center); };
      const auto y = left >= N ? tree_of<Q, 0, N>(N, at) : tree_of<Q, 0, N>(left, at);
      if (N < staged_run) return y;
      if (left <= N) return trees.total(true, y);
      trees.push(y);
    }
  }
  template <int N, int E>
  static __device__ __forceinline__ A reduce(const M* row, int n, Center center, A* scratch) {
    if constexpr (R::about_mean) {
      using Sums = typename R::Sums;
      center = Sums::mean(join<Sums, N, E>(row, n, {}, scratch), n);
    }
    return join<R, N, E>(row, n, center, scratch);
  }
  // each(f) reduces all rows by f.
  template <int E, class Each>
  static __device__ __forceinline__ void reduce_all(const ReduceLoop& loop, int n, A* scratch,
                                                    Each&& each) {
    const auto by = [&](auto most) {
      constexpr int N = most;
      each([&](const M* row, const char* center) {
        return reduce<N, (E < N ? E : N)>(row, n, R::load_center(loop, center), scratch);
      });
    };
    if (n <= 2) {
      by(std::integral_constant<int, 2>{});
    } else if (n <= 4) {
      by(std::integral_constant<int, 4>{});
    } else if (n <= 8) {
      by(std::integral_constant<int, 8>{});
    } else {
      by(std::integral_constant<int, staged_run>{});
    }
  }
};

// Rows the same distance apart, which is little more than their length: a block reads all from its
// first to its last one in packs, on which its threads do not wait one by one, and a thread has one
// of them after the other.
template <class R, class Row>
__global__ void __launch_bounds__(staged_row_threads)
    staged_rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  extern __shared__ __align__(16) unsigned char shared[];
  const int thread = threadIdx.x, n = static_cast<int>(loop.n);
  const int step = static_cast<int>(loop.kept[0].stride[0]), tile_step = loop.tile_step;
  const u32 first = blockIdx.x * loop.block_rows;
  const int rows = static_cast<int>(min(loop.outputs - first, loop.block_rows));
  const char* begin = loop.in + i64(first) * step;
  const int lead = static_cast<int>(reinterpret_cast<u64>(begin) % pack_bytes);
  begin -= lead;
  A* const scratch = reinterpret_cast<A*>(shared) + thread;
  unsigned char* const tile = shared + Row::levels(n) * staged_row_threads * sizeof(A);
  const int packs = (lead + (rows - 1) * step + n * int(sizeof(M)) - 1) / pack_bytes + 1;
  for (int pack = thread; pack < packs; pack += staged_row_threads) {
    const int gap =
        tile_step == step ? 0 : (tile_step - step) * static_cast<int>(loop.row_packs.divide(pack));
    __pipeline_memcpy_async(tile + pack * pack_bytes + gap, begin + pack * pack_bytes, pack_bytes);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const i64 center_step = loop.kept[0].stride[1], out_step = loop.kept[0].stride[2];
  // Centers that are the rows' first elements are here.
  const bool leads = loop.center == loop.in && center_step == step;
  const auto each = [&](auto&& reduce) {
    for (int r = thread; r < rows; r += staged_row_threads) {
      const unsigned char* const row = tile + lead + r * tile_step;
      const char* const center =
          leads ? reinterpret_cast<const char*>(row) : loop.center + i64(first + r) * center_step;
      const A x = reduce(reinterpret_cast<const M*>(row), center);
      R::store(loop, loop.out + i64(first + r) * out_step, x);
    }
  };
  // Small items by words where several threads meet in a bank, which would cost more otherwise.
  constexpr int word = sizeof(M) < 4 ? 4 / sizeof(M) : 1;
  if (word > 1 && lead % 4 == 0 && tile_step % pack_bytes == 0) {
    Row::template reduce_all<word>(loop, n, scratch, each);
  } else {
    Row::template reduce_all<1>(loop, n, scratch, each);
  }
}

// ---- columns ------------------------------------------------------------------------------------

// V elements side by side that begin anywhere in aligned packs of as many: a thread reads the pack
// that has the first one, and the others come from the next thread or, with `is_last`, from the
// next pack.
template <class M, int V>
struct ShiftedPack {
  static constexpr int size = sizeof(M), bytes = V * size, words = bytes / 4;
  static constexpr int more = (bytes - size + 3) / 4;  // words of the next pack
  u32 w[words + more];
  int skipped;  // bytes of the pack before the first element

  // `exist`: how many of the elements from p on do; none or less beyond the last one.
  __device__ __forceinline__ void load(const char* p, int exist, bool is_last) {
    skipped = static_cast<int>(reinterpret_cast<u64>(p) % bytes);
    const char* const from = p - skipped;
    const int end = skipped + exist * size;
    if (end > 0) {
      const auto x = *reinterpret_cast<const Pack<u32, words>*>(from);
#pragma unroll
      for (int i = 0; i < words; ++i) w[i] = x.v[i];
    }
    if (is_last && end > bytes) {
      const auto x = *reinterpret_cast<const Pack<u32, more>*>(from + bytes);
#pragma unroll
      for (int i = 0; i < more; ++i) w[words + i] = x.v[i];
    }
  }
  // Of all threads of the warp.
  __device__ __forceinline__ Pack<M, V> shifted(bool is_last) const {
    u32 all[words + more];
#pragma unroll
    for (int i = 0; i < words; ++i) all[i] = w[i];
#pragma unroll
    for (int i = 0; i < more; ++i) {
      const u32 next = lane_above(w[i], 1);
      all[words + i] = is_last ? w[words + i] : next;
    }
    if (words > 1 && skipped >= 4) {
#pragma unroll
      for (int i = 0; i + 1 < words + more; ++i) all[i] = all[i + 1];
    }
    u32 x[words];
#pragma unroll
    for (int i = 0; i < words; ++i) {
      x[i] = size < 4 ? __funnelshift_r(all[i], all[i + 1], 8 * (skipped % 4)) : all[i];
    }
    Pack<M, V> result;
    memcpy(&result, x, sizeof result);
    return result;
  }
};
template <class M, int V, bool shifted>
using PackOf = typename std::conditional_t<shifted, std::type_identity<ShiftedPack<M, V>>,
                                           std::type_identity<Pack<M, V>>>::type;

// V outputs side by side, of threads that have whole ones.
template <class R, int V>
struct WholeColumns {
  ReducePlace place;
  typename R::Center center[V];

  __device__ __forceinline__ WholeColumns(const ReduceLoop& loop, u32 output)
      : place(locate_output(loop, output)) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      center[v] = R::load_center(loop, loop.center + place.center + v * loop.kept[0].stride[1]);
    }
  }
  __device__ __forceinline__ void store(const ReduceLoop& loop, int v,
                                        typename R::accumulator x) const {
    R::store(loop, loop.out + place.out + v * loop.kept[0].stride[2], x);
  }
  // All of them, at once where they lie so.
  __device__ __forceinline__ void store_all(const ReduceLoop& loop,
                                            const typename R::accumulator (&x)[V]) const {
    if constexpr (V > 1 && R::result_bytes > 0) {
      constexpr int bytes = V * R::result_bytes, piece = bytes < pack_bytes ? bytes : pack_bytes;
      char* const out = loop.out + place.out;
      if (loop.kept[0].stride[2] == R::result_bytes && reinterpret_cast<u64>(out) % piece == 0) {
        alignas(pack_bytes) char results[bytes];
#pragma unroll
        for (int v = 0; v < V; ++v) R::store(loop, results + v * R::result_bytes, x[v]);
#pragma unroll
        for (int i = 0; i < bytes; i += piece) {
          using Piece = Pack<u8, piece>;
          *reinterpret_cast<Piece*>(out + i) = *reinterpret_cast<const Piece*>(results + i);
        }
        return;
      }
    }
#pragma unroll
    for (int v = 0; v < V; ++v) store(loop, v, x[v]);
  }
};

// For how many blocks registers have to suffice, measured on an H100, as are the numbers of lanes
// and loads.
template <class R, int V>
constexpr int whole_column_blocks() {
  if (V > 1) return 5;
  if (R::bytes == 8) return 1;
  return sizeof(typename R::accumulator) > 4 ? 9 : 10;
}

// A thread has V outputs whose lanes have one element or none.
template <class R, int V>
__global__ void __launch_bounds__(whole_column_threads,
                                  resident_blocks_of(whole_column_threads,
                                                     whole_column_blocks<R, V>()))
    short_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int together = 16, levels = 4;
  static_assert(reduce_lanes <= together << (levels - 1));
  __shared__ __align__(16) unsigned char shared[levels * V * whole_column_threads * sizeof(A)];
  const u32 output = (blockIdx.x * whole_column_threads + threadIdx.x) * V;
  if (output >= loop.outputs) return;
  const WholeColumns<R, V> task(loop, output);
  const i64 step = loop.group[0].stride[0];
  const int n = static_cast<int>(loop.n);
  Subtrees<R> trees[V];  // of so many lanes
#pragma unroll
  for (int v = 0; v < V; ++v) {
    trees[v].at = reinterpret_cast<A*>(shared) + v * whole_column_threads + threadIdx.x;
    trees[v].stride = V * whole_column_threads;
  }
  for (int first = 0; first < n; first += together) {
    const char* const p = loop.in + task.place.in + first * step;
    const int left = n - first;
    Pack<M, V> x[together];
#pragma unroll
    for (int i = 0; i < together; ++i) {
      if (i < left) x[i] = *reinterpret_cast<const Pack<M, V>*>(p + i * step);
    }
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const auto at = [&](int i) { return R::map(x[i].v[v], task.center[v]); };
      const A y = left >= together ? tree_of<R, 0, together>(together, at)
                                   : tree_of<R, 0, together>(left, at);
      if (left > together) {
        trees[v].push(y);
      } else {
        task.store(loop, v, trees[v].total(true, y));
      }
    }
  }
}

// A thread has V outputs of so few elements that registers hold what is read and joined.
template <class R, int V>
__global__ void __launch_bounds__(whole_column_threads)
    few_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  const u32 output = (blockIdx.x * whole_column_threads + threadIdx.x) * V;
  if (output >= loop.outputs) return;
  const WholeColumns<R, V> task(loop, output);
  const i64 step = loop.group[0].stride[0];
  const int n = static_cast<int>(loop.n);
  const char* const p = loop.in + task.place.in;
  Pack<M, V> x[few_elements];
#pragma unroll
  for (int i = 0; i < few_elements; ++i) {
    if (i < n) x[i] = *reinterpret_cast<const Pack<M, V>*>(p + i * step);
  }
  typename R::accumulator y[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    y[v] = tree_of<R, 0, few_elements>(n, [&](int i) { return R::map(x[i].v[v], task.center[v]); });
  }
  task.store_all(loop, y);
}

// A thread has V outputs whose lanes have elements each. It goes through the lanes, some at a time,
// and through the elements of each; the next ones are loaded while those before are added up.
template <class R, int V>
__global__ void __launch_bounds__(whole_column_threads,
                                  resident_blocks_of(whole_column_threads,
                                                     whole_column_blocks<R, V>()))
    whole_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  // Lanes at a time, and how many loads of so many are on their way.
  constexpr int lanes = V > 1 ? 8 : 4;
  constexpr int loads = lanes == 8 ? 2 : 3;
  constexpr int levels = 6;
  static_assert(reduce_lanes <= lanes << (levels - 1));
  __shared__ __align__(16) unsigned char shared[levels * V * whole_column_threads * sizeof(A)];
  const u32 output = (blockIdx.x * whole_column_threads + threadIdx.x) * V;
  if (output >= loop.outputs) return;
  const WholeColumns<R, V> task(loop, output);
  const char* const in = loop.in + task.place.in;
  const i64 step = loop.group[0].stride[0];
  const int n = static_cast<int>(loop.n);
  Subtrees<R> trees[V];  // of so many lanes
#pragma unroll
  for (int v = 0; v < V; ++v) {
    trees[v].at = reinterpret_cast<A*>(shared) + v * whole_column_threads + threadIdx.x;
    trees[v].stride = V * whole_column_threads;
  }
  // Elements k … of lanes first …; k >= n where there are none.
  struct Step {
    int first = 0, k = 0;
    __device__ __forceinline__ void advance(int n) {
      k += reduce_lanes;
      if (k < n) return;
      first += lanes;
      k = first < reduce_lanes ? first : n;
    }
  } now, later;
  Pack<M, V> x[loads][lanes];
  const auto load = [&](Pack<M, V>(&x)[lanes]) {
    const char* p = in + later.k * step;
    if (later.k + lanes <= n) {
#pragma unroll
      for (int i = 0; i < lanes; ++i) x[i] = *reinterpret_cast<const Pack<M, V>*>(p + i * step);
    } else {
#pragma unroll
      for (int i = 0; i < lanes; ++i) {
        if (later.k + i < n) x[i] = *reinterpret_cast<const Pack<M, V>*>(p + i * step);
      }
    }
    later.advance(n);
  };
#pragma unroll
  for (int i = 0; i + 1 < loads; ++i) load(x[i]);
  A acc[V][lanes];
  while (now.k < n) {
    load(x[loads - 1]);
    const bool fresh = now.k == now.first;
    const int left = n - now.k;
#pragma unroll
    for (int i = 0; i < lanes; ++i) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const A value = R::map(x[0][i].v[v], task.center[v]);
        if (fresh) {
          acc[v][i] = value;
        } else if (i < left) {
          acc[v][i] = R::combine(acc[v][i], value);
        }
      }
    }
    const int run = now.first;
    now.advance(n);
    if (now.first != run) {  // that was the last of these lanes
#pragma unroll
      for (int v = 0; v < V; ++v) {
        combine_neighbours<R>(acc[v], lanes);
        trees[v].push(acc[v][0]);
      }
    }
#pragma unroll
    for (int b = 0; b + 1 < loads; ++b) {
#pragma unroll
      for (int i = 0; i < lanes; ++i) x[b][i] = x[b + 1][i];
    }
  }
#pragma unroll
  for (int v = 0; v < V; ++v) task.store(loop, v, trees[v].total(false, A{}));
}

// The same for elements of four bytes or more that are no packs, for halves that are, and for fewer
// outputs: elements are copied to shared memory, each by the thread that takes it, several turns
// ahead. The threads with the same threadIdx.x have parts of an output's
// lanes, so that there are more of them, blocks end earlier and the last ones keep fewer
// multiprocessors waiting. What is copied has words: of halves a thread has two outputs.
template <class R>
inline constexpr int staged_width = R::bytes == 2 && sizeof(typename R::accumulator) == 4 ? 2 : 1;

template <class R>
__global__ void __launch_bounds__(whole_column_threads, R::bytes >= 8 ? 6 : 8)
    staged_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using A = typename R::accumulator;
  constexpr int V = staged_width<R>;
  using M = Pack<memory_t<typename R::input>, V>;
  constexpr int lanes = sizeof(A) == 4 ? 8 : 4, turns = sizeof(M) == 4 && lanes == 4 ? 4 : 3;
  constexpr int part = reduce_lanes / staged_column_parts, levels = lanes == 8 ? 3 : 4;
  static_assert(part <= lanes << (levels - 1));
  constexpr int width = whole_column_threads / staged_column_parts;
  __shared__ __align__(16) unsigned char shared[levels * V * whole_column_threads * sizeof(A)];
  __shared__ __align__(16) unsigned char ring[turns * lanes * whole_column_threads * sizeof(M)];
  const int y = threadIdx.y, thread = y * width + threadIdx.x;
  const u32 output = (blockIdx.x * width + threadIdx.x) * V;
  if (output >= loop.outputs) return;
  const WholeColumns<R, V> task(loop, output);
  const i64 step = loop.group[0].stride[0];
  const int n = static_cast<int>(loop.n), end = (y + 1) * part;
  Subtrees<R> trees[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    trees[v].at = reinterpret_cast<A*>(shared) + v * whole_column_threads + thread;
    trees[v].stride = V * whole_column_threads;
  }
  constexpr int turn = lanes * whole_column_threads;
  M* const slots = reinterpret_cast<M*>(ring) + thread;
  const auto next = [slots](M* slot) {
    return slot == slots + (turns - 1) * turn ? slots : slot + turn;
  };
  // The elements that are copied next, `later` … of lanes later_first …, which begin at lanes_from.
  int later_first = y * part, later = later_first;
  const char* lanes_from = loop.in + task.place.in + later * step;
  const char* from = lanes_from;
  M* to = slots;
  const auto copy = [&] {
    const char* p = from;
    if (later + lanes <= n) {
#pragma unroll
      for (int i = 0; i < lanes; ++i, p += step) {
        __pipeline_memcpy_async(to + i * whole_column_threads, p, sizeof(M));
      }
    } else if (later < n) {
#pragma unroll
      for (int i = 0; i < lanes; ++i, p += step) {
        if (later + i < n) __pipeline_memcpy_async(to + i * whole_column_threads, p, sizeof(M));
      }
    }
    __pipeline_commit();
    to = next(to);
    later += reduce_lanes;
    from += reduce_lanes * step;
    if (later >= n) {
      later_first += lanes;
      lanes_from += lanes * step;
      from = lanes_from;
      later = later_first < end ? later_first : n;
    }
  };
#pragma unroll
  for (int i = 0; i + 1 < turns; ++i) copy();
  M* at = slots;
#pragma unroll 1
  for (int first = y * part; first < end; first += lanes) {
    A acc[V][lanes];
    const auto take = [&](auto fresh, int left) {
      copy();
      __pipeline_wait_prior(turns - 1);
#pragma unroll
      for (int i = 0; i < lanes; ++i) {
        const M x = at[i * whole_column_threads];
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const A value = R::map(x.v[v], task.center[v]);
          if (fresh) {
            acc[v][i] = value;
          } else if (i < left) {
            acc[v][i] = R::combine(acc[v][i], value);
          }
        }
      }
      at = next(at);
    };
    take(std::true_type{}, lanes);
    int k = first + reduce_lanes;
#pragma unroll 1
    for (; k + lanes <= n; k += reduce_lanes) take(std::false_type{}, lanes);
    if (k < n) take(std::false_type{}, n - k);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      combine_neighbours<R>(acc[v], lanes);
      trees[v].push(acc[v][0]);
    }
  }
  A total[V];
#pragma unroll
  for (int v = 0; v < V; ++v) total[v] = trees[v].total(false, A{});
#pragma unroll
  for (int d = 1; d < staged_column_parts; d *= 2) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (y % (2 * d) == d) *trees[v].at = total[v];
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (y % (2 * d) == 0) total[v] = R::combine(total[v], trees[v].at[d * width]);
    }
  }
  if (y == 0) task.store_all(loop, total);
}

// L: lanes of a thread, next to each other; a block's threadIdx.y has the others of a chunk. A
// thread has V columns, next to each other; `shifted`: which begin anywhere, in blocks of whole
// warps.
template <class R, int L, bool shifted = false>
__global__ void __launch_bounds__(block_threads,
                                  L == 4 && R::bytes == 4 && sizeof(typename R::accumulator) == 4
                                      ? 4
                                      : 2) columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int V = R::columns;
  extern __shared__ __align__(16) unsigned char shared[];
  // Where elements of a chunk lie, if the reduced dimensions do not merge.
  i64* const offsets = reinterpret_cast<i64*>(shared);
  const bool merged = loop.group_dims == 1;
  // [y][x * V + v], then the trees'.
  A* const results = reinterpret_cast<A*>(shared + (merged ? 0 : reduce_chunk * sizeof(i64)));
  const int x = threadIdx.x, y = threadIdx.y, width = blockDim.x * V;
  const ColumnTask task(loop, V, width);
  const u32 column = task.column, size = task.size, output = task.output();
  const ReducePlace place = locate_output(loop, output);
  const i64 stride = loop.kept[0].stride[0];
  // The place of a column beyond the last one is that of the last one.
  const char* const in = loop.in + place.in + (column - min(column, size - 1)) * stride;
  const int exist = static_cast<int>(min(size, column + V)) - static_cast<int>(column);
  const bool is_last = x + 1 == blockDim.x || x % warp_size == warp_size - 1;
  typename R::Center center[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    if (column + v < size) {
      center[v] = R::load_center(loop, loop.center + place.center + v * loop.kept[0].stride[1]);
    }
  }
  constexpr i64 chunk = reduce_chunk;
  const i64 begin = task.unit * loop.per_unit, end = min(loop.n, begin + loop.per_unit);
  const i64 step = loop.group[0].stride[0];
  A acc[L][V];
  u32 chunks = 0;
  for (i64 first = begin;; first += chunk) {
    const int left = static_cast<int>(min(end - first, chunk));
    const int live = min(left, reduce_lanes);
    const char* const from = in + (merged ? first * step : 0);
    if (!merged) {
      for (int k = y * blockDim.x + x; k < left; k += blockDim.x * blockDim.y) {
        offsets[k] = locate_in_group(loop, static_cast<u32>(first + k));
      }
      __syncthreads();
    }
    // The lanes of this thread in one round; with `whole` every element exists and columns are
    // packs, with `apart` the reduced dimensions do not merge.
    using Item = PackOf<M, V, shifted>;
    const auto load = [&](Item(&items)[L], int round, auto whole, auto apart) {
      const int begin = round * reduce_lanes + y * L;
#pragma unroll
      for (int i = 0; i < L; ++i) {
        const int k = begin + i;
        if (!whole && k >= left) continue;
        const char* const p = from + (apart ? offsets[k] : k * step);
        if constexpr (shifted) {
          items[i].load(p, exist, is_last);
        } else if (whole || V == 1 || loop.vector) {
          items[i] = *reinterpret_cast<const Pack<M, V>*>(p);
        } else {
#pragma unroll
          for (int v = 0; v < V; ++v) {
            if (column + v < size) items[i].v[v] = *reinterpret_cast<const M*>(p + v * stride);
          }
        }
      }
    };
    const auto add = [&](const Item(&items)[L], int round, auto whole) {
#pragma unroll
      for (int i = 0; i < L; ++i) {
        Pack<M, V> item;
        if constexpr (shifted) {
          item = items[i].shifted(is_last);
        } else {
          item = items[i];
        }
        if (!whole && round * reduce_lanes + y * L + i >= left) continue;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const A value = R::map(item.v[v], center[v]);
          if (round == 0) {
            acc[i][v] = value;
          } else {
            acc[i][v] = R::combine(acc[i][v], value);
          }
        }
      }
    };
    const auto take = [&](int round, auto whole, auto apart) {
      Item items[L];
      load(items, round, whole, apart);
      add(items, round, whole);
    };
    static_assert(reduce_rounds % 2 == 0);
    if (shifted || column < size) {
      const bool packs = shifted || V == 1 || loop.vector;
      // A round is loaded while the one before is added up, where registers suffice for both.
      constexpr bool ahead = sizeof(Item) <= pack_bytes;
      if (ahead && packs && left == chunk) {
        const auto take_all = [&](auto apart) {
          Item even[L], odd[L];
          load(even, 0, Yes{}, apart);
#pragma unroll 1
          for (int round = 0; round < reduce_rounds; round += 2) {
            load(odd, round + 1, Yes{}, apart);
            add(even, round, Yes{});
            if (round + 2 < reduce_rounds) load(even, round + 2, Yes{}, apart);
            add(odd, round + 1, Yes{});
          }
        };
        if (merged) {
          take_all(No{});
        } else {
          take_all(Yes{});
        }
      } else {
        for (int round = 0; round * reduce_lanes + (shifted ? 0 : y * L) < left; ++round) {
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
      store_part<R>(loop, output, place, v, task.unit, acc[0][v]);
    }
  }
  finish_tile<R>(loop, task, width);
}

// Threads of a block at most that reads rows of a few columns as one run, a pack of a round for
// each. Those of float16, of which a pack has many, would spill if registers had to suffice for
// more.
template <class R>
inline constexpr int flat_threads = R::bytes == 2 ? 512 : 768;
// … and for how many registers have to suffice: where a thread's accumulators have no more bytes
// than a pack, for two blocks of 512. On an H200 sums of rows of 5 float64 take 0.94 of the time
// so, those of 12, which were read column by column, 0.78.
template <class R>
inline constexpr int flat_bound =
    sizeof(typename R::accumulator) <= 8 && R::lanes * sizeof(typename R::accumulator) <= pack_bytes
        ? 1024
        : flat_threads<R>;

// Rows of a few columns as one run of packs, with what stands between them and in the first one's
// pack. Of each 128 of them, a round, a thread has a pack: elements of some lanes and columns, the
// same in every round.
template <class R>
__global__ void __launch_bounds__(flat_bound<R>)
    flat_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  constexpr int V = R::lanes, batch = reduce_rounds / 2;
  extern __shared__ __align__(16) unsigned char shared[];
  A* const results = reinterpret_cast<A*>(shared);  // [lane][place in a row], then the trees'
  const ColumnTask task(loop, 0, 0);
  const int size = static_cast<int>(task.size), wide = loop.row_items, lead = loop.row_lead;
  const int round_items = reduce_lanes * wide;
  const int thread = threadIdx.x, lane = thread % warp_size, mine = thread * V;
  const ReducePlace place = locate_output(loop, task.output());
  typename R::Center center[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    // Another column's, where none is wanted.
    const i64 column = min(max((mine + v) % wide - lead, 0), size - 1);
    center[v] = R::load_center(loop, loop.center + place.center + column * loop.kept[0].stride[1]);
  }
  constexpr i64 chunk = reduce_chunk;
  const i64 begin = task.unit * loop.per_unit, end = min(loop.n, begin + loop.per_unit);
  u32 chunks = 0;
  for (i64 first = begin; first < end; first += chunk, ++chunks) {
    const int rows = static_cast<int>(min(end - first, chunk));
    const int live = min(rows, reduce_lanes), left = (rows - 1) * wide + lead + size - mine;
    // Nothing may stand behind the last row.
    const int whole_rows = rows - (wide > size && first + rows == loop.n);
    const M* const from =
        reinterpret_cast<const M*>(loop.in + place.in) + first * wide + mine - lead;
    A acc[V];
    // Some rounds, whose loads are in flight at the same time; with `whole` none is cut off.
    const auto take = [&](int round, auto whole) {
      Pack<M, V> x[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int k = (round + b) * round_items;
        if (whole) {
          x[b] = *reinterpret_cast<const Pack<M, V>*>(from + k);
        } else if (k < left) {
          x[b] = load_first<M, V>(reinterpret_cast<const char*>(from + k), left - k);
        }
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        const int k = (round + b) * round_items;
#pragma unroll
        for (int v = 0; v < V; ++v) {
          if (!whole && k + v >= left) continue;
          const A value = R::map(x[b].v[v], center[v]);
          acc[v] = round + b == 0 ? value : R::combine(acc[v], value);
        }
      }
    };
    if (mine < round_items) {
      for (int round = 0; round * reduce_lanes < rows; round += batch) {
        if ((round + batch) * reduce_lanes <= whole_rows) {
          take(round, std::true_type{});
        } else {
          take(round, std::false_type{});
        }
      }
#pragma unroll
      for (int v = 0; v < V; ++v) results[mine + v] = acc[v];
    }
    __syncthreads();
    constexpr int each = reduce_lanes / warp_size;  // lanes of a thread
    for (int column = thread / warp_size; column < size; column += blockDim.x / warp_size) {
      A x[each];
#pragma unroll
      for (int i = 0; i < each; ++i) x[i] = results[(lane * each + i) * wide + lead + column];
      combine_neighbours<R>(x, live - lane * each);
      x[0] = combine_threads<R>(x[0], lane, warp_size, (live - 1) / each + 1);
      if (lane > 0) continue;
      const bool is_last = first + chunk >= end;
      if (chunks > 0 || !is_last) {
        Subtrees<R> trees{results + round_items + column, size, chunks};
        trees.push(x[0]);
        if (is_last) x[0] = trees.total(false, A{});
      }
      if (is_last) store_part<R>(loop, task.output(), place, column, task.unit, x[0]);
    }
    __syncthreads();
  }
  finish_tile<R>(loop, task, size);
}

// ---- reductions as the kernels see them ---------------------------------------------------------

// An element as the accumulator sees it. Of float16 by the device's instruction, as the function of
// ops takes a dozen.
template <class A, class T>
__device__ __forceinline__ A read_as(memory_t<T> x) {
  if constexpr (ops::same_type_v<T, f16> && ops::is_float_v<A>) {
    f32 value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(x.bits));
    return value;
  } else {
    return converted<A, T>(x);
  }
}

template <class T, class A>
struct Reducer {
  using input = T;
  using accumulator = A;
  static constexpr bool has_identity = true;  // that changes no bit
  static constexpr bool about_mean = false;   // see ReduceKernels
  static constexpr int bytes = sizeof(memory_t<T>);
  static constexpr int lanes = pack_bytes / bytes;
  static constexpr int result_bytes = sizeof(A);  // zero where the call tells

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
  // Squares of finite numbers may overflow, and the square of their sum does then.
  constexpr f64 infinity = ops::greatest_value<f64>();
  if (x.im == infinity && ops::fabs(x.re) < infinity) squares = infinity;
  if (wanted.dtype == DType::float32) {
    squares *= wanted.factor;
    *reinterpret_cast<f32*>(out) = static_cast<f32>(wanted.root ? sqrt(squares) : squares);
  } else {
    squares /= wanted.divisor;
    *reinterpret_cast<f64*>(out) = wanted.root ? sqrt(squares) : squares;
  }
}

// A sum by a number: for complex ones part by part, since their division would turn infinities into
// NaN.
template <class A>
__device__ __forceinline__ A quotient(A sum, f64 divisor) {
  if constexpr (ops::is_complex_v<A>) {
    return {quotient(sum.re, divisor), quotient(sum.im, divisor)};
  } else if constexpr (ops::is_float_v<A>) {
    return sum / static_cast<A>(divisor);
  } else {
    return sum;
  }
}

// Of elements as they are.
template <class Op, class T, class A>
struct Plain : Reducer<T, A> {
  // The product of 1 and a complex infinity has a NaN.
  static constexpr bool has_identity = !(ops::same_type_v<Op, ops::Prod> && ops::is_complex_v<A>);
  // Of a thread that has several lanes of each: four or eight bytes.
  static constexpr int columns = sizeof(A) > 8 || Plain::bytes >= 8 ? 1 : 8 / Plain::bytes;

  struct Center {};
  static __device__ __forceinline__ Center load_center(const ReduceLoop&, const char*) {
    return {};
  }
  static __device__ __forceinline__ A map(memory_t<T> x, Center) { return read_as<A, T>(x); }
  static __device__ __forceinline__ A combine(A a, A b) { return Op::combine(a, b); }
  static __device__ __forceinline__ A identity() { return Op::template identity<A>(); }
  // The sum of nothing but -0.0 is +0.0, as that of nothing is.
  static __device__ __forceinline__ A mean(A sum, f64 n) { return quotient(sum + A{}, n); }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    if constexpr (ops::same_type_v<Op, ops::Sum> && ops::same_type_v<T, Complex<f64>>) {
      if (loop.deviation.inverse_n != 0) return store_moments(loop, out, x + A{});
    }
    if constexpr (ops::same_type_v<Op, ops::Sum>) x = mean(x, loop.deviation.divisor);
    *reinterpret_cast<A*>(out) = x;
  }
};

// (sum of d, sum of d * d) as the parts of a complex number, d the deviations from a center.
template <class T>
struct Moments : Reducer<T, Complex<f64>> {
  using A = Complex<f64>;
  static constexpr int columns = 1;
  static constexpr int result_bytes = 0;

  // As memory has it: a conversion would wait for one row's center before the next row is asked
  // for.
  using Center = memory_t<T>;
  static __device__ __forceinline__ Center load_center(const ReduceLoop&, const char* at) {
    return *reinterpret_cast<const Center*>(at);
  }
  static __device__ __forceinline__ A map(memory_t<T> x, Center center) {
    const f64 d = read_as<f64, T>(x) - read_as<f64, T>(center);
    return {d, d * d};
  }
  static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
  static __device__ __forceinline__ A identity() { return ops::Sum::identity<A>(); }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    store_moments(loop, out, x);
  }
};

// The same about the mean of the elements, as a sum of them and a quotient find it.
struct MomentsAboutMean : Moments<f64> {
  using Sums = Plain<ops::Sum, f64, f64>;
  static constexpr bool about_mean = true;
  static __device__ __forceinline__ f64 load_center(const ReduceLoop&, const char*) { return 0; }
};

// A sum of squares, and those of the same numbers by 2^-600 and by 2^600, of which one neither
// overflows nor loses digits (Blue's algorithm, ACM TOMS 4, 1978, takes what is needed of each).
struct ScaledSquares {
  f64 squares, of_large, of_small;
};
__device__ __forceinline__ ScaledSquares operator+(ScaledSquares a, ScaledSquares b) {
  return {a.squares + b.squares, a.of_large + b.of_large, a.of_small + b.of_small};
}
__device__ __forceinline__ f64 root(ScaledSquares x) {
  if (x.squares > 0x1p-900 && x.squares < ops::greatest_value<f64>()) return sqrt(x.squares);
  return x.squares <= 0x1p-900 ? sqrt(x.of_small) * 0x1p-600 : sqrt(x.of_large) * 0x1p600;
}
template <class A>
__device__ __forceinline__ A square(A x) {
  return x * x;
}

// Norms: sums of magnitudes, or the roots of sums of squares. A is wider than T, or has the squares
// in three scales.
template <class T, class A>
struct Norms : Reducer<T, A> {
  static constexpr bool scaled = ops::same_type_v<A, ScaledSquares>;
  static constexpr int columns = sizeof(A) > 8 ? 1 : 8 / Norms::bytes;
  static constexpr int result_bytes = 0;

  using Center = bool;  // whether squares are wanted
  static __device__ __forceinline__ bool load_center(const ReduceLoop& loop, const char*) {
    return loop.deviation.root;
  }
  static __device__ __forceinline__ A map(memory_t<T> item, bool squares) {
    if constexpr (scaled) {
      const f64 x = read_as<f64, T>(item);
      if (!squares) return {ops::fabs(x), 0.0, 0.0};
      return {square(x), square(x * 0x1p-600), square(x * 0x1p600)};
    } else {
      const A x = read_as<A, T>(item);
      return squares ? square(x) : ops::fabs(x);
    }
  }
  static __device__ __forceinline__ A combine(A a, A b) { return a + b; }
  static __device__ __forceinline__ A identity() { return A{}; }
  static __device__ __forceinline__ void store(const ReduceLoop& loop, char* out, A x) {
    f64 result;
    if constexpr (scaled) {
      result = loop.deviation.root ? root(x) : x.squares;
    } else {
      result = loop.deviation.root ? sqrt(f64(x)) : f64(x);
    }
    if (loop.deviation.dtype == DType::float32) {
      *reinterpret_cast<f32*>(out) = static_cast<f32>(result);
    } else {
      *reinterpret_cast<f64*>(out) = result;
    }
  }
};

template <class R>
ReduceKernels reduce_kernels() {
  ReduceKernels k;
  constexpr int width = R::lanes > 4 ? reduce_lanes / R::lanes : 32;
  constexpr int narrow = sizeof(typename R::accumulator) < 8 ? 8 : 16;
  k.rows = reinterpret_cast<const void*>(&rows<R, R::lanes, width>);
  k.rows_any = reinterpret_cast<const void*>(&rows<R, 1, 32>);
  if constexpr (R::has_identity) {
    k.narrow_rows[0] = reinterpret_cast<const void*>(&narrow_rows<R, R::lanes, narrow>);
    if constexpr (has_wider_narrow_rows<R>) {
      k.narrow_rows[1] = reinterpret_cast<const void*>(&narrow_rows<R, R::lanes, 2 * narrow>);
    }
    k.narrow_rows_any = reinterpret_cast<const void*>(&narrow_rows<R, 1, narrow>);
    // Of larger items single ones are as fast.
    if constexpr (R::bytes <= 4 && sizeof(typename R::accumulator) == 4) {
      k.shifted_rows = reinterpret_cast<const void*>(&rows<R, R::lanes, width, true>);
    }
    k.narrow_width = narrow;
  }
  if constexpr (R::bytes <= 8) {
    k.staged_rows = reinterpret_cast<const void*>(&staged_rows<R, OrderedRow<R>>);
  }
  // What is copied has words.
  if constexpr (R::bytes >= 4) {
    k.staged_chunks = reinterpret_cast<const void*>(&staged_chunks<R>);
    k.most_chunk_threads = most_chunk_threads<R>;
  }
  k.short_rows = reinterpret_cast<const void*>(&short_rows<R, R::lanes>);
  k.short_rows_any = reinterpret_cast<const void*>(&short_rows<R, 1>);
  k.columns[0] = reinterpret_cast<const void*>(&columns<R, 8>);
  k.columns[1] = reinterpret_cast<const void*>(&columns<R, 4>);
  k.columns[2] = reinterpret_cast<const void*>(&columns<R, 1>);
  if constexpr (R::columns > 1) {
    k.shifted_columns = reinterpret_cast<const void*>(&columns<R, 8, true>);
  }
  // Of wider ones registers would not suffice.
  if constexpr (sizeof(typename R::accumulator) <= 4 * R::bytes) {
    k.flat_columns = reinterpret_cast<const void*>(&flat_columns<R>);
    k.flat_threads = flat_threads<R>;
  }
  constexpr int few = R::lanes < 4 ? R::lanes : 4;
  k.few_columns[0] = reinterpret_cast<const void*>(&few_columns<R, 1>);
  k.few_columns[1] = reinterpret_cast<const void*>(&few_columns<R, few>);
  k.few_width = few;
  constexpr int whole = sizeof(typename R::accumulator) == 4 ? 2 : 1;
  k.short_columns[0] = reinterpret_cast<const void*>(&short_columns<R, 1>);
  k.short_columns[1] = reinterpret_cast<const void*>(&short_columns<R, whole>);
  // Of packs of words threads have enough loads in flight without.
  if constexpr (R::bytes >= 4) {
    k.whole_columns[0] = reinterpret_cast<const void*>(&staged_columns<R>);
    k.whole_parts[0] = staged_column_parts;
  } else {
    k.whole_columns[0] = reinterpret_cast<const void*>(&whole_columns<R, 1>);
  }
  if constexpr (R::bytes * staged_width<R> >= 4) {
    k.staged_columns = reinterpret_cast<const void*>(&staged_columns<R>);
    k.staged_width = staged_width<R>;
  }
  if constexpr (staged_width<R> > 1) {
    k.whole_columns[1] = k.staged_columns;
    k.whole_parts[1] = staged_column_parts;
  } else if constexpr (whole > 1) {
    k.whole_columns[1] = reinterpret_cast<const void*>(&whole_columns<R, whole>);
  } else {
    k.whole_columns[1] = k.whole_columns[0];
    k.whole_parts[1] = k.whole_parts[0];
  }
  k.whole_width = whole;
  k.lanes = R::lanes;
  k.columns_per_thread = R::columns;
  k.accumulator_bytes = sizeof(typename R::accumulator);
  return k;
}

inline ReduceKernels moments_about_mean() {
  using R = MomentsAboutMean;
  ReduceKernels k;
  k.short_rows = reinterpret_cast<const void*>(&short_rows<R, R::lanes>);
  k.short_rows_any = reinterpret_cast<const void*>(&short_rows<R, 1>);
  k.staged_rows = reinterpret_cast<const void*>(&staged_rows<R, OrderedRow<R>>);
  k.about_mean = true;
  k.lanes = R::lanes;
  k.columns_per_thread = R::columns;
  k.accumulator_bytes = sizeof(typename R::accumulator);
  return k;
}

}  // namespace
}  // namespace arrayx::cuda
