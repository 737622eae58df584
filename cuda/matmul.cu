// Matrix products: cuBLAS, opened on first use, for floating dtypes; a tiled kernel of our own for
// integers and small matrices, and for all where there is no cuBLAS. Of the smallest ones, and of
// two vectors, each element is a sum of dots.hpp.
#include <algorithm>
#include <vector>

#include "blas.hpp"
#include "dots.hpp"
#include "libraries.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// ---- our own kernel -----------------------------------------------------------------------------

struct Product {
  const char *a, *b;
  char* out;
  i64 m, n, k;
  i64 a_row, a_column, b_row, b_column, out_row;  // strides in elements
  i64 a_batch, b_batch, out_batch;
};

// How many elements along k one instruction multiplies and adds: they stand in one word.
template <class T>
constexpr int in_a_word = sizeof(T) == 1 ? 4 : 1;

template <class T, class W>
__device__ __forceinline__ W sum_and_product(W sum, W x, W y) {
  if constexpr (in_a_word<T> == 4) {
    return __dp4a(x, y, sum);
  } else if constexpr (ops::is_complex_v<W>) {
    return sum + W{x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  } else {
    return sum + x * y;
  }
}

// Blocks of a multiprocessor that the compiler is to leave registers for, or 0 for its own choice:
// each was the fastest on an H100.
template <class T, int Rows>
constexpr int least_blocks = Rows == 8       ? 2
                             : sizeof(T) > 4 ? 1
                                             : 0;

// out[m, n] = a[m, k] @ b[k, n]; a block has a tile of 16 Rows by 16 Columns, a thread Rows by
// Columns of it. Of two tiles in shared memory one is read while the other is filled. Sums are in
// the order of k, whatever the tile.
template <class T, int Rows, int Columns>
__global__ void __launch_bounds__(block_threads, least_blocks<T, Rows>)
    multiply_tiles(const __grid_constant__ Product p) {
  using W = sum_t<T>;
  constexpr int rows = 16 * Rows, columns = 16 * Columns;
  constexpr int depth = Rows * sizeof(W) > 16 ? 8 : 16;
  // Elements that one load from shared memory brings.
  constexpr int widest = 16 / int(sizeof(W));
  constexpr int a_pack = Rows < widest ? Rows : widest,
                b_pack = Columns < widest ? Columns : widest;
  constexpr int a_loads = rows * depth / block_threads, b_loads = columns * depth / block_threads;
  using APack = Pack<W, a_pack>;
  using BPack = Pack<W, b_pack>;
  __shared__ __align__(16) W a_tile[2][depth][rows + a_pack], b_tile[2][depth][columns + b_pack];
  const T* const a = reinterpret_cast<const T*>(p.a) + blockIdx.z * p.a_batch;
  const T* const b = reinterpret_cast<const T*>(p.b) + blockIdx.z * p.b_batch;
  T* const out = reinterpret_cast<T*>(p.out) + blockIdx.z * p.out_batch;
  const i64 row0 = i64(blockIdx.y) * rows, column0 = i64(blockIdx.x) * columns;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  // Neighbouring threads read neighbours in memory.
  const bool a_along_k = p.a_column <= p.a_row, b_along_k = p.b_row < p.b_column;
  const auto a_line = [&](int i) { return a_along_k ? i / depth : i % rows; };
  const auto a_depth = [&](int i) { return a_along_k ? i % depth : i / rows; };
  const auto b_line = [&](int i) { return b_along_k ? i / depth : i % columns; };
  const auto b_depth = [&](int i) { return b_along_k ? i % depth : i / columns; };
  W a_next[a_loads], b_next[b_loads];
  // The word of a line that begins at k.
  const auto word = [&](const T* line, bool is_there, i64 step, i64 k) {
    if constexpr (in_a_word<T> == 1) {
      return is_there && k < p.k ? W(line[k * step]) : W{};
    } else {
      W w = 0;
#pragma unroll
      for (int e = 0; e < in_a_word<T>; ++e) {
        if (is_there && k + e < p.k) w |= W(line[(k + e) * step]) << 8 * e;
      }
      return w;
    }
  };
  const auto fetch = [&](i64 k0) {
#pragma unroll
    for (int j = 0; j < a_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      const i64 row = row0 + a_line(i);
      a_next[j] = word(a + row * p.a_row, row < p.m, p.a_column, k0 + a_depth(i) * in_a_word<T>);
    }
#pragma unroll
    for (int j = 0; j < b_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      const i64 column = column0 + b_line(i);
      b_next[j] =
          word(b + column * p.b_column, column < p.n, p.b_row, k0 + b_depth(i) * in_a_word<T>);
    }
  };
  const auto keep = [&](int tile) {
#pragma unroll
    for (int j = 0; j < a_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      a_tile[tile][a_depth(i)][a_line(i)] = a_next[j];
    }
#pragma unroll
    for (int j = 0; j < b_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      b_tile[tile][b_depth(i)][b_line(i)] = b_next[j];
    }
  };
  W sum[Rows][Columns] = {};
  fetch(0);
  keep(0);
  int tile = 0;
  constexpr int along_k = depth * in_a_word<T>;
  for (i64 k0 = 0; k0 < p.k; k0 += along_k, tile ^= 1) {
    __syncthreads();
    const bool more = k0 + along_k < p.k;
    if (more) fetch(k0 + along_k);
    // What is beyond k are zeros on both sides, which change no sum.
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      APack u[Rows / a_pack];
      BPack v[Columns / b_pack];
#pragma unroll
      for (int i = 0; i < Rows / a_pack; ++i) {
        u[i] = *reinterpret_cast<const APack*>(&a_tile[tile][k][(y + 16 * i) * a_pack]);
      }
#pragma unroll
      for (int j = 0; j < Columns / b_pack; ++j) {
        v[j] = *reinterpret_cast<const BPack*>(&b_tile[tile][k][(x + 16 * j) * b_pack]);
      }
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
          sum[i][j] = sum_and_product<T>(sum[i][j], u[i / a_pack].v[i % a_pack],
                                         v[j / b_pack].v[j % b_pack]);
        }
      }
    }
    if (more) keep(tile ^ 1);
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    const i64 row = row0 + (y + i / a_pack * 16) * a_pack + i % a_pack;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const i64 column = column0 + (x + j / b_pack * 16) * b_pack + j % b_pack;
      if (row < p.m && column < p.n) out[row * p.out_row + column] = T(sum[i][j]);
    }
  }
}

// A kernel and the tile that its blocks have.
struct Tiling {
  int rows, columns;
  const void* kernel;
};

template <class T, int Rows, int Columns>
Tiling tiling() {
  return {16 * Rows, 16 * Columns,
          reinterpret_cast<const void*>(&multiply_tiles<T, Rows, Columns>)};
}

// That which takes the least time when multiprocessors have equally many tiles: a tile takes as
// long as its products and, a quarter of that at a side of 128, as what is read for them.
template <class T>
Tiling best_tiling(const Product& p, std::int64_t batches) {
  std::vector<Tiling> all = {tiling<T, 4, 4>(), tiling<T, 4, 2>(), tiling<T, 2, 2>()};
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) all.push_back(tiling<T, 8, 8>());
  const auto time = [&](const Tiling& t) {
    const std::int64_t tiles = ((p.m - 1) / t.rows + 1) * ((p.n - 1) / t.columns + 1) * batches;
    const std::int64_t rounds = (tiles - 1) / properties().multiprocessors + 1;
    return static_cast<double>(rounds) * (t.rows * t.columns + 16 * (t.rows + t.columns));
  };
  return *std::min_element(all.begin(), all.end(),
                           [&](const Tiling& a, const Tiling& b) { return time(a) < time(b); });
}

Tiling best_tiling(DType d, const Product& p, std::int64_t batches) {
  switch (d) {
    case DType::int8:
    case DType::uint8:
      return best_tiling<u8>(p, batches);
    case DType::int16:
    case DType::uint16:
      return best_tiling<u16>(p, batches);
    case DType::int32:
    case DType::uint32:
      return best_tiling<u32>(p, batches);
    case DType::int64:
    case DType::uint64:
      return best_tiling<u64>(p, batches);
    case DType::float32:
      return best_tiling<f32>(p, batches);
    case DType::float64:
      return best_tiling<f64>(p, batches);
    case DType::complex64:
      return best_tiling<Complex<f32>>(p, batches);
    case DType::complex128:
      return best_tiling<Complex<f64>>(p, batches);
    default:
      raise(ErrorKind::not_implemented, "a matrix product of ", d, " has no kernel");
  }
}

void multiply_tiled(DType d, Product p, std::int64_t batches) {
  constexpr std::int64_t most_batches = 65535, most_rows = 65535;  // of a grid
  const Tiling tile = best_tiling(d, p, batches);
  const std::int64_t columns = (p.n - 1) / tile.columns + 1, rows = (p.m - 1) / tile.rows + 1;
  const int size = itemsize(d);
  for (std::int64_t row = 0; row < rows; row += most_rows) {
    for (std::int64_t batch = 0; batch < batches; batch += most_batches) {
      Product part = p;
      part.a += (batch * p.a_batch + row * tile.rows * p.a_row) * size;
      part.b += batch * p.b_batch * size;
      part.out += (batch * p.out_batch + row * tile.rows * p.out_row) * size;
      part.m -= row * tile.rows;
      const dim3 grid(static_cast<unsigned>(columns),
                      static_cast<unsigned>(std::min(most_rows, rows - row)),
                      static_cast<unsigned>(std::min(most_batches, batches - batch)));
      void* arguments[] = {&part};
      check(cudaLaunchKernel(tile.kernel, grid, dim3(block_threads), arguments, 0, stream()),
            "matmul");
    }
  }
}

// ---- cuBLAS -------------------------------------------------------------------------------------

// The numbers are those of cublas_api.h.
constexpr int compute_32f = 68, compute_64f = 70, algo_default = -1;

// A row-major matrix as cuBLAS may read it: rows or columns are contiguous.
bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                    std::int64_t column_step) {
  return (column_step == 1 && row_step >= std::max<std::int64_t>(columns, 1)) ||
         (row_step == 1 && column_step >= std::max<std::int64_t>(rows, 1));
}

void multiply_cublas(DType d, const Product& p, std::int64_t batches) {
  Cublas& library = cublas();
  const cudaDataType_t type = data_type(d);
  const bool single = real_dtype(d) == DType::float32;
  alignas(16) double one[2] = {1, 0}, zero[2] = {0, 0};
  alignas(16) float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  // cuBLAS is column-major: out' = b' a'.
  const bool a_rows = p.a_column == 1 && p.a_row >= p.k, b_rows = p.b_column == 1 && p.b_row >= p.n;
  const int status = library.gemm(
      library.handle(), b_rows ? Cublas::op_none : Cublas::op_transpose,
      a_rows ? Cublas::op_none : Cublas::op_transpose, p.n, p.m, p.k,
      single ? static_cast<const void*>(one_f) : one, p.b, type, b_rows ? p.b_row : p.b_column,
      p.b_batch, p.a, type, a_rows ? p.a_row : p.a_column, p.a_batch,
      single ? static_cast<const void*>(zero_f) : zero, p.out, type, p.out_row, p.out_batch,
      batches, single ? compute_32f : compute_64f, algo_default);
  if (status != 0) raise(ErrorKind::runtime, "matmul: cuBLAS failed with status ", status);
}

// A matrix times a vector, whichever stands first.
void multiply_vector(DType d, const Product& p) {
  Cublas& library = cublas();
  // Where a is the vector, the matrix is b's transpose.
  const bool first = p.n == 1;
  const char* const matrix = first ? p.a : p.b;
  const char* const vector = first ? p.b : p.a;
  const i64 row = first ? p.a_row : p.b_column, column = first ? p.a_column : p.b_row;
  const i64 rows = first ? p.m : p.n, step = first ? p.b_row : p.a_column;
  // cuBLAS is column-major: rows are the columns of a transpose.
  const bool by_rows = column == 1 && row >= p.k;
  alignas(16) double one[2] = {1, 0}, zero[2] = {0, 0};
  alignas(16) float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  const bool single = real_dtype(d) == DType::float32;
  const int status = library.gemv[static_cast<int>(d) - static_cast<int>(DType::float32)](
      library.handle(), by_rows ? Cublas::op_transpose : Cublas::op_none, by_rows ? p.k : rows,
      by_rows ? rows : p.k, single ? static_cast<const void*>(one_f) : one, matrix,
      by_rows ? row : column, vector, step, single ? static_cast<const void*>(zero_f) : zero, p.out,
      1);
  if (status != 0) raise(ErrorKind::runtime, "matmul: cuBLAS failed with status ", status);
}

Array contiguous_copy(const Operand& a) {
  Array packed = scratch_array(a.dtype, a.layout->shape);
  copy(a, packed);
  return packed;
}

}  // namespace

void matmul(const Operand& a, const Operand& b, const Operand& out) {
  if (out.layout->size == 0) return;
  if (compute_dtype(out.dtype) != out.dtype || !has_aligned_elements(out)) {
    const DType wide = compute_dtype(out.dtype);
    const Array result = scratch_array(wide, out.layout->shape);
    Array left = scratch_array(wide, a.layout->shape), right = scratch_array(wide, b.layout->shape);
    copy(a, left);
    copy(b, right);
    matmul(left, right, result);
    return copy(result, out);
  }
  const int n = out.layout->ndim();
  Product p;
  p.m = out.layout->shape[n - 2];
  p.n = out.layout->shape[n - 1];
  p.k = a.layout->shape[n - 1];
  if (p.k == 0) return copy(Element::of(std::int8_t{0}), out);
  Array a_copy, b_copy;
  Operand left = a, right = b;
  // cuBLAS rounds by the layout; small products have the same bits in all of them.
  constexpr std::int64_t small = 24;
  const bool as_dots = std::max({p.m, p.n, p.k}) <= most_in_order || (p.m == 1 && p.n == 1);
  const bool by_cublas = !as_dots && is_floating(out.dtype) && std::max({p.m, p.n, p.k}) > small &&
                         cublas().gemm != nullptr;
  const bool by_vector = by_cublas && std::min(p.m, p.n) == 1 && out.layout->size == p.m * p.n &&
                         cublas().gemv[0] != nullptr;
  const auto prepare = [&](Operand& x, Array& holder, std::int64_t rows, std::int64_t columns) {
    const std::int64_t row = x.layout->strides[n - 2], column = x.layout->strides[n - 1];
    const auto is_readable = [&] {
      if (by_vector && rows == 1 && columns == 1) return row > 0 && column > 0;
      if (by_vector && rows == 1 && columns == p.k) return column > 0;
      if (by_vector && columns == 1 && rows == p.k) return row > 0;
      return !by_cublas || is_blas_matrix(rows, columns, row, column);
    };
    if (has_aligned_elements(x) && is_readable()) return;
    holder = contiguous_copy(x);
    x = holder;
  };
  prepare(left, a_copy, p.m, p.k);
  prepare(right, b_copy, p.k, p.n);
  p.a_row = left.layout->strides[n - 2];
  p.a_column = left.layout->strides[n - 1];
  p.b_row = right.layout->strides[n - 2];
  p.b_column = right.layout->strides[n - 1];
  p.out_row = p.n;
  if (as_dots) {
    Dots d{left.data, right.data, out.data, out.layout->shape, {}, p.k, p.a_column, p.b_row};
    d.strides[0] = left.layout->strides;
    d.strides[0][n - 1] = 0;
    d.strides[1] = right.layout->strides;
    d.strides[1][n - 2] = 0;
    d.strides[2] = out.layout->strides;
    return dots(out.dtype, d);
  }
  // The batch in one dimension, and a loop over what does not merge.
  const Dims batch(out.layout->shape.begin(), out.layout->shape.end() - 2);
  const auto batch_strides = [&](const Operand& x) {
    return Dims(x.layout->strides.begin(), x.layout->strides.end() - 2);
  };
  const Dims a_strides = batch_strides(left), b_strides = batch_strides(right);
  const Dims out_strides = batch_strides(out);
  const Dims* strides[3] = {&a_strides, &b_strides, &out_strides};
  const Plan plan = make_plan(batch, strides, 3);
  const int size = itemsize(out.dtype), last = plan.ndim() - 1;
  p.a_batch = plan.stride[0][last];
  p.b_batch = plan.stride[1][last];
  p.out_batch = plan.stride[2][last];
  const std::int64_t inner = plan.size[last], outer = plan.count() / inner;
  for (std::int64_t i = 0; i < outer; ++i) {
    std::int64_t place[3] = {plan.base[0], plan.base[1], plan.base[2]};
    std::int64_t rest = i;
    for (int d = last - 1; d >= 0; --d) {
      for (int k = 0; k < 3; ++k) place[k] += rest % plan.size[d] * plan.stride[k][d];
      rest /= plan.size[d];
    }
    p.a = left.data + place[0] * size;
    p.b = right.data + place[1] * size;
    p.out = out.data + place[2] * size;
    if (by_vector) {
      multiply_vector(out.dtype, p);
    } else if (by_cublas) {
      multiply_cublas(out.dtype, p, inner);
    } else {
      multiply_tiled(out.dtype, p, inner);
    }
  }
}

}  // namespace arrayx::cuda
