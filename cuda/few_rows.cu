// See few_rows.hpp. A block has some columns of the matrix and a unit of its rows; the last block
// of a tile of columns to finish joins the units. Of rows whose elements stand side by side threads
// have some columns each and take the rows by turns; of columns whose elements do, a warp goes
// along some. The order in which products are added depends on the sizes alone.
#include "few_rows.hpp"

#include <bit>
#include <type_traits>

#include "copies_in_flight.cuh"
#include "dots.hpp"
#include "last_part.cuh"
#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

constexpr int packs_across = 32, threads_along = block_threads / packs_across;
constexpr int loads_in_flight = 8;
constexpr int rows_at_once = 512;  // whose factors are in shared memory
constexpr int unit_multiple = threads_along * loads_in_flight;
constexpr std::int64_t wanted_blocks = 256;

// Of long columns. What they are cut for is an H100 on any GPU: the order of sums depends on it.
constexpr int multiprocessors = 132;
constexpr int warps = block_threads / warp_size;
constexpr int columns_of_warp = 4, columns_of_block = warps * columns_of_warp;
constexpr int factor_bytes = 16 << 10;  // of a buffer in shared memory
// Blocks of a multiprocessor that the compiler leaves registers for.
constexpr int blocks_at_once(int count, int size) {
  return count * size <= 16 ? 3 : 2;
}

// Where it is faster than cuBLAS on an H100: where the matrix has few rows, joining takes as long
// as reading.
bool rows_pay(const FewRows& p, int size) {
  constexpr std::int64_t least_bytes = 4 << 20, least_columns = 1024, least_rows = 512;
  const bool enough = p.n >= least_columns && p.k >= least_rows && p.n * p.k >= least_bytes / size;
  if (p.count < 2 || p.count > 8 || !enough) return false;
  return size == 4 || p.count <= 4 || p.n <= 8 * p.k;
}

// The same of long columns: with fewer, or shorter ones, warps have little to do.
bool columns_pay(const FewRows& p, int size) {
  constexpr std::int64_t least_bytes = 1 << 17, least_columns = 64, least_rows = 128;
  const bool enough = p.n >= least_columns && p.k >= least_rows && p.n * p.k >= least_bytes / size;
  return p.count >= 2 && p.count <= 8 && enough;
}

struct FewRowsLoop : FewRows {
  i64 per_unit;
  Divisor tiles;
  u32 units;
  char* partial;  // where there are several units: their sums, [unit][vector][column]
};

__device__ u32 units_done[8 * multiprocessors];  // of each tile that has several

// M: at least as many as there are vectors.
template <class T, int M>
__global__ void __launch_bounds__(block_threads, 2)
    few_rows(const __grid_constant__ FewRowsLoop p) {
  wait_for_earlier();
  constexpr int lanes = pack_bytes / sizeof(T);
  using P = Pack<T, lanes>;
  __shared__ __align__(16) unsigned char shared[rows_at_once * M * sizeof(T)];
  static_assert(sizeof shared >= M * threads_along / 2 * packs_across * pack_bytes);
  T* const factors = reinterpret_cast<T*>(shared);  // [row][vector]
  const u32 unit = p.tiles.divide(blockIdx.x), tile = blockIdx.x - unit * p.tiles.divisor;
  const int x = threadIdx.x % packs_across, y = threadIdx.x / packs_across;
  const int count = static_cast<int>(p.count);
  const i64 column = (i64(tile) * packs_across + x) * lanes;
  const bool exists = column < p.n;
  const i64 begin = unit * p.per_unit, end = min(p.k, begin + p.per_unit);
  const T* const vectors = reinterpret_cast<const T*>(p.vectors);
  T sum[M][lanes] = {};
  const auto add = [&](const P& b, int l) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
      const T a = factors[l * M + m];
#pragma unroll
      for (int v = 0; v < lanes; ++v) sum[m][v] = with_product(sum[m][v], a, b.v[v]);
    }
  };
  for (i64 first = begin; first < end; first += rows_at_once) {
    const int rows = static_cast<int>(min(end - first, i64(rows_at_once)));
    __syncthreads();
    for (int i = threadIdx.x; i < rows * M; i += block_threads) {
      const int m = i / rows, l = i - m * rows;
      factors[l * M + m] = m < count ? vectors[m * p.vector_step + (first + l) * p.vector_k] : T(0);
    }
    __syncthreads();
    if (!exists) continue;
    const T* from = reinterpret_cast<const T*>(p.matrix) + (first + y) * p.row + column;
    const i64 step = threads_along * p.row;
    int l = y;
    for (; l + (loads_in_flight - 1) * threads_along < rows; l += unit_multiple) {
      P b[loads_in_flight];
#pragma unroll
      for (int i = 0; i < loads_in_flight; ++i) {
        b[i] = *reinterpret_cast<const P*>(from + i * step);
      }
#pragma unroll
      for (int i = 0; i < loads_in_flight; ++i) add(b[i], l + i * threads_along);
      from += loads_in_flight * step;
    }
    for (; l < rows; l += threads_along, from += step) {
      add(*reinterpret_cast<const P*>(from), l);
    }
  }
  __syncthreads();
  // The threads with the same columns join what they have, halves at a time.
  P* const sums = reinterpret_cast<P*>(shared);
  const auto place = [&](int m, int along) {
    return (m * (threads_along / 2) + along) * packs_across + x;
  };
  for (int d = threads_along / 2; d > 0; d /= 2) {
    if (y >= d && y < 2 * d) {
#pragma unroll
      for (int m = 0; m < M; ++m) {
        P s;
#pragma unroll
        for (int v = 0; v < lanes; ++v) s.v[v] = sum[m][v];
        sums[place(m, y - d)] = s;
      }
    }
    __syncthreads();
    if (y < d) {
#pragma unroll
      for (int m = 0; m < M; ++m) {
        const P s = sums[place(m, y)];
#pragma unroll
        for (int v = 0; v < lanes; ++v) sum[m][v] = sum[m][v] + s.v[v];
      }
    }
    __syncthreads();
  }
  const auto store = [&](int m, const T(&s)[lanes]) {
    T* const to = reinterpret_cast<T*>(p.out) + m * p.out_step + column * p.out_column;
#pragma unroll
    for (int v = 0; v < lanes; ++v) to[v * p.out_column] = s[v];
  };
  const auto partial = [&](u32 which, int m) {
    return reinterpret_cast<P*>(reinterpret_cast<T*>(p.partial) + (i64(which) * count + m) * p.n +
                                column);
  };
  if (y == 0 && exists) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
      if (m >= count) break;
      if (p.units == 1) {
        store(m, sum[m]);
        continue;
      }
      P s;
#pragma unroll
      for (int v = 0; v < lanes; ++v) s.v[v] = sum[m][v];
      *partial(unit, m) = s;
    }
  }
  if (p.units == 1 || !is_last_part(units_done[tile], p.units) || !exists) return;
  for (int m = y; m < count; m += threads_along) {
    T total[lanes] = {};
#pragma unroll 4
    for (u32 u = 0; u < p.units; ++u) {
      const P s = *partial(u, m);
#pragma unroll
      for (int v = 0; v < lanes; ++v) total[v] = total[v] + s.v[v];
    }
    store(m, total);
  }
}

// Of N values in each lane, N a power of two, those at i = the lane's number modulo N, summed up
// over the lanes.
template <int N, class T>
__device__ __forceinline__ T sums_of_lanes(T* x, int lane) {
  if constexpr (N > 1) {
    const bool upper = lane & (N / 2);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const T kept = upper ? x[i + N / 2] : x[i], given = upper ? x[i] : x[i + N / 2];
      x[i] = kept + from_lane(given, lane ^ (N / 2));
    }
    return sums_of_lanes<N / 2>(x, lane);
  }
  return x[0];
}

// The same of a matrix whose columns are long and contiguous.
template <class T, int M>
__global__ void __launch_bounds__(block_threads, blocks_at_once(M, sizeof(T)))
    few_rows_by_columns(const __grid_constant__ FewRowsLoop p) {
  wait_for_earlier();
  constexpr int lanes = pack_bytes / sizeof(T), mine = columns_of_warp;
  constexpr int round = warp_size * lanes, at_once = factor_bytes / (M * sizeof(T));
  static_assert(at_once % (2 * round) == 0);
  using P = Pack<T, lanes>;
  // Of two chunks, one of which is on its way; vectors begin in different banks.
  __shared__ __align__(16) T factors[2][M][at_once + lanes];
  const u32 unit = p.tiles.divide(blockIdx.x), tile = blockIdx.x - unit * p.tiles.divisor;
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const int count = static_cast<int>(p.count);
  const i64 column = i64(tile) * columns_of_block + warp * mine;
  const i64 begin = unit * p.per_unit, end = min(p.k, begin + p.per_unit);
  const T* from[mine];
#pragma unroll
  for (int c = 0; c < mine; ++c) {
    from[c] = reinterpret_cast<const T*>(p.matrix) + min(column + c, p.n - 1) * p.column;
  }
  P ahead[2][mine];  // two rounds of packs
  const auto load = [&](P(&b)[mine], i64 l) {
    if (l >= end) return;
#pragma unroll
    for (int c = 0; c < mine; ++c) b[c] = *reinterpret_cast<const P*>(from[c] + l);
  };
  const T* const vectors = reinterpret_cast<const T*>(p.vectors);
  const bool by_vectors = p.vector_k <= p.vector_step;
  const auto stage = [&](T(&to)[M][at_once + lanes], i64 first) {
    const int rows = static_cast<int>(min(end - first, i64(at_once)));
#pragma unroll 4
    for (int i = threadIdx.x; i < at_once * M; i += block_threads) {
      const int m = by_vectors ? i / at_once : i % M, k = by_vectors ? i % at_once : i / M;
      if (m >= count || k >= rows) continue;
      copy_in_flight(&to[m][k], vectors + m * p.vector_step + (first + k) * p.vector_k);
    }
  };
  T sum[M * mine] = {};  // those of vectors that are not there are not stored
  const auto add = [&](const P(&b)[mine], const T(&a)[M][at_once + lanes], int k) {
#pragma unroll
    for (int m = 0; m < M; ++m) {
      const P x = *reinterpret_cast<const P*>(&a[m][k]);
#pragma unroll
      for (int c = 0; c < mine; ++c) {
        T& s = sum[m * mine + c];
#pragma unroll
        for (int v = 0; v < lanes; ++v) s = with_product(s, x.v[v], b[c].v[v]);
      }
    }
  };
  i64 l = begin + lane * lanes;
  load(ahead[0], l);
  load(ahead[1], l + round);
  stage(factors[0], begin);
  int chunk = 0;
  for (i64 first = begin; first < end; first += at_once, chunk ^= 1) {
    await_copies();
    __syncthreads();
    if (first + at_once < end) stage(factors[chunk ^ 1], first + at_once);
    for (const i64 stop = min(end, first + at_once); l < stop; l += 2 * round) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const i64 at = l + r * round;
        if (at >= stop) break;
        add(ahead[r], factors[chunk], static_cast<int>(at - first));
        load(ahead[r], at + 2 * round);
      }
    }
  }
  T result = sums_of_lanes<M * mine>(sum, lane);
#pragma unroll
  for (int d = M * mine; d < warp_size; d *= 2) result = result + from_lane(result, lane ^ d);
  const auto store = [&](int m, i64 i, T s) {
    reinterpret_cast<T*>(p.out)[m * p.out_step + i * p.out_column] = s;
  };
  const int m = lane / mine;
  const i64 i = column + lane % mine;
  T* const partial = reinterpret_cast<T*>(p.partial);
  if (m < count && i < p.n) {
    if (p.units == 1) {
      store(m, i, result);
    } else {
      partial[(i64(unit) * count + m) * p.n + i] = result;
    }
  }
  if (p.units == 1 || !is_last_part(units_done[tile], p.units)) return;
  for (int x = threadIdx.x; x < count * columns_of_block; x += block_threads) {
    const int m = x / columns_of_block;
    const i64 i = i64(tile) * columns_of_block + x % columns_of_block;
    if (i >= p.n) continue;
    T total{};
#pragma unroll 16
    for (u32 u = 0; u < p.units; ++u) total = total + partial[(i64(u) * count + m) * p.n + i];
    store(m, i, total);
  }
}

// For the least M that is enough.
template <class T>
const void* kernel_for(std::int64_t count, bool by_columns) {
  const auto kernel = [&](auto most) {
    constexpr int M = decltype(most)::value;
    return by_columns ? reinterpret_cast<const void*>(&few_rows_by_columns<T, M>)
                      : reinterpret_cast<const void*>(&few_rows<T, M>);
  };
  return count <= 2   ? kernel(std::integral_constant<int, 2>{})
         : count <= 4 ? kernel(std::integral_constant<int, 4>{})
                      : kernel(std::integral_constant<int, 8>{});
}

// Rows of a unit where columns are long: of the least time where multiprocessors have equally many
// blocks, each of which takes as long as its rows and what it begins and ends with.
std::int64_t rows_of_unit(std::int64_t tiles, std::int64_t k, std::int64_t multiple,
                          std::int64_t at_once) {
  constexpr std::int64_t most_units = 192, rows_to_begin = 256;
  std::int64_t best = 0, least = 0;
  for (std::int64_t units = 1; units <= most_units && tiles * units <= 4 * at_once; ++units) {
    const std::int64_t rows = ((k - 1) / units / multiple + 1) * multiple;
    const std::int64_t blocks = tiles * ((k - 1) / rows + 1);
    const std::int64_t time = ((blocks - 1) / at_once + 1) * (rows + rows_to_begin);
    if (best == 0 || time < least) best = rows, least = time;
  }
  return best != 0 ? best : k;
}

}  // namespace

bool multiply_few_rows(DType dtype, const FewRows& p) {
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  const int size = itemsize(dtype), lanes = pack_bytes / size;
  const bool by_columns = p.column != 1;
  if (by_columns ? p.row != 1 || !columns_pay(p, size) : !rows_pay(p, size)) return false;
  const std::int64_t length = by_columns ? p.k : p.n, step = by_columns ? p.column : p.row;
  if (length % lanes != 0 || step % lanes != 0 || !is_aligned_to(p.matrix, pack_bytes)) {
    return false;
  }
  const std::int64_t across = by_columns ? columns_of_block : packs_across * lanes;
  const std::int64_t tiles = (p.n - 1) / across + 1;
  if (tiles > most_counted) return false;
  FewRowsLoop loop{};
  static_cast<FewRows&>(loop) = p;
  if (by_columns) {
    const int most = std::bit_ceil(static_cast<unsigned>(p.count));
    loop.per_unit =
        rows_of_unit(tiles, p.k, warp_size * lanes, multiprocessors * blocks_at_once(most, size));
  } else {
    const std::int64_t wanted = (wanted_blocks - 1) / tiles + 1;
    loop.per_unit = ((p.k - 1) / wanted / unit_multiple + 1) * unit_multiple;
  }
  const std::int64_t units = (p.k - 1) / loop.per_unit + 1;
  loop.tiles = Divisor(static_cast<u32>(tiles));
  loop.units = static_cast<u32>(units);
  std::optional<Scratch> partial;
  if (units > 1) {
    partial.emplace(static_cast<std::size_t>(units * p.count * p.n * size));
    loop.partial = partial->as<char>();
  }
  void* arguments[] = {&loop};
  launch(dtype == DType::float32 ? kernel_for<f32>(p.count, by_columns)
                                 : kernel_for<f64>(p.count, by_columns),
         static_cast<unsigned>(tiles * units), arguments, 0, "matmul");
  return true;
}

}  // namespace arrayx::cuda
