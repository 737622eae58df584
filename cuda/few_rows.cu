// See few_rows.hpp. A block has some columns of the matrix side by side and a unit of its rows,
// which its threads take by turns; the last block of a tile to finish joins the units. The order in
// which products are added depends on the sizes alone.
#include "few_rows.hpp"

#include "dots.hpp"
#include "last_part.cuh"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

constexpr int packs_across = 32, threads_along = block_threads / packs_across;
constexpr int loads_in_flight = 8;
constexpr int rows_at_once = 512;  // whose factors are in shared memory
constexpr int unit_multiple = threads_along * loads_in_flight;
constexpr std::int64_t wanted_blocks = 256;

// Where it is faster than cuBLAS on an H100: where the matrix has few rows, joining takes as long
// as reading.
bool pays(const FewRows& p, int size) {
  constexpr std::int64_t least_bytes = 4 << 20, least_columns = 1024, least_rows = 512;
  const bool enough = p.n >= least_columns && p.k >= least_rows && p.n * p.k >= least_bytes / size;
  if (p.count < 2 || p.count > 8 || !enough) return false;
  return size == 4 || p.count <= 4 || p.n <= 8 * p.k;
}

struct FewRowsLoop : FewRows {
  i64 per_unit;
  Divisor tiles;
  u32 units;
  char* partial;  // where there are several units: their sums, [unit][vector][column]
};

__device__ u32 units_done[wanted_blocks];  // of each tile

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

template <class T>
const void* kernel_for(std::int64_t count) {
  return count <= 2   ? reinterpret_cast<const void*>(&few_rows<T, 2>)
         : count <= 4 ? reinterpret_cast<const void*>(&few_rows<T, 4>)
                      : reinterpret_cast<const void*>(&few_rows<T, 8>);
}

}  // namespace

bool multiply_few_rows(DType dtype, const FewRows& p) {
  if (dtype != DType::float32 && dtype != DType::float64) return false;
  const int size = itemsize(dtype), lanes = pack_bytes / size;
  if (!pays(p, size) || p.n % lanes != 0 || p.row % lanes != 0 ||
      !is_aligned_to(p.matrix, pack_bytes)) {
    return false;
  }
  const std::int64_t tiles = (p.n - 1) / (packs_across * lanes) + 1;
  if (tiles > most_counted) return false;
  FewRowsLoop loop{};
  static_cast<FewRows&>(loop) = p;
  const std::int64_t wanted = (wanted_blocks - 1) / tiles + 1;
  loop.per_unit = ((p.k - 1) / wanted / unit_multiple + 1) * unit_multiple;
  const std::int64_t units = (p.k - 1) / loop.per_unit + 1;
  loop.tiles = Divisor(static_cast<u32>(tiles));
  loop.units = static_cast<u32>(units);
  std::optional<Scratch> partial;
  if (units > 1) {
    partial.emplace(static_cast<std::size_t>(units * p.count * p.n * size));
    loop.partial = partial->as<char>();
  }
  void* arguments[] = {&loop};
  launch(dtype == DType::float32 ? kernel_for<f32>(p.count) : kernel_for<f64>(p.count),
         static_cast<unsigned>(tiles * units), arguments, 0, "matmul");
  return true;
}

}  // namespace arrayx::cuda
