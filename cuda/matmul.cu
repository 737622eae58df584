// Matrix products: cuBLAS, opened on first use, for floating dtypes; a tiled kernel of our own for
// integers and small matrices, and for all where there is no cuBLAS.
#include "blas.hpp"
#include "libraries.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// ---- our own kernel -----------------------------------------------------------------------------

constexpr int tile_side = 64, tile_depth = 16, per_thread = 4;

struct Product {
  const char *a, *b;
  char* out;
  i64 m, n, k;
  i64 a_row, a_column, b_row, b_column, out_row;  // strides in elements
  i64 a_batch, b_batch, out_batch;
};

// out[m, n] = a[m, k] @ b[k, n]; a block has a tile of 64 by 64, a thread 4 by 4 of it.
template <class T>
__global__ void __launch_bounds__(block_threads) multiply_tiles(const __grid_constant__ Product p) {
  __shared__ T a_tile[tile_depth][tile_side + 1], b_tile[tile_depth][tile_side + 1];
  const T* const a = reinterpret_cast<const T*>(p.a) + blockIdx.z * p.a_batch;
  const T* const b = reinterpret_cast<const T*>(p.b) + blockIdx.z * p.b_batch;
  T* const out = reinterpret_cast<T*>(p.out) + blockIdx.z * p.out_batch;
  const i64 row0 = i64(blockIdx.y) * tile_side, column0 = i64(blockIdx.x) * tile_side;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  T sum[per_thread][per_thread] = {};
  for (i64 k0 = 0; k0 < p.k; k0 += tile_depth) {
    for (int i = threadIdx.x; i < tile_side * tile_depth; i += block_threads) {
      const int ak = i % tile_depth, ar = i / tile_depth;
      const int bc = i % tile_side, bk = i / tile_side;
      a_tile[ak][ar] = row0 + ar < p.m && k0 + ak < p.k
                           ? a[(row0 + ar) * p.a_row + (k0 + ak) * p.a_column]
                           : T{};
      b_tile[bk][bc] = k0 + bk < p.k && column0 + bc < p.n
                           ? b[(k0 + bk) * p.b_row + (column0 + bc) * p.b_column]
                           : T{};
    }
    __syncthreads();
    // Zeros beyond k would make NaN of infinities.
    const int depth = static_cast<int>(min(i64(tile_depth), p.k - k0));
    for (int k = 0; k < depth; ++k) {
      T u[per_thread], v[per_thread];
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
        u[i] = a_tile[k][y + 16 * i];
        v[i] = b_tile[k][x + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
#pragma unroll
        for (int j = 0; j < per_thread; ++j) {
          if constexpr (ops::is_complex_v<T>) {
            sum[i][j] = sum[i][j] + T{u[i].re * v[j].re - u[i].im * v[j].im,
                                      u[i].re * v[j].im + u[i].im * v[j].re};
          } else if constexpr (sizeof(T) < 4) {
            sum[i][j] = T(u32(sum[i][j]) + u32(u[i]) * u32(v[j]));
          } else {
            sum[i][j] = sum[i][j] + u[i] * v[j];
          }
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < per_thread; ++i) {
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const i64 row = row0 + y + 16 * i, column = column0 + x + 16 * j;
      if (row < p.m && column < p.n) out[row * p.out_row + column] = sum[i][j];
    }
  }
}

const void* tiled_kernel(DType d) {
  switch (d) {
    case DType::int8:
    case DType::uint8:
      return reinterpret_cast<const void*>(&multiply_tiles<u8>);
    case DType::int16:
    case DType::uint16:
      return reinterpret_cast<const void*>(&multiply_tiles<u16>);
    case DType::int32:
    case DType::uint32:
      return reinterpret_cast<const void*>(&multiply_tiles<u32>);
    case DType::int64:
    case DType::uint64:
      return reinterpret_cast<const void*>(&multiply_tiles<u64>);
    case DType::float32:
      return reinterpret_cast<const void*>(&multiply_tiles<f32>);
    case DType::float64:
      return reinterpret_cast<const void*>(&multiply_tiles<f64>);
    case DType::complex64:
      return reinterpret_cast<const void*>(&multiply_tiles<Complex<f32>>);
    case DType::complex128:
      return reinterpret_cast<const void*>(&multiply_tiles<Complex<f64>>);
    default:
      raise(ErrorKind::not_implemented, "a matrix product of ", d, " has no kernel");
  }
}

void multiply_tiled(DType d, Product p, std::int64_t batches) {
  constexpr std::int64_t most_batches = 65535;  // of a grid
  const std::int64_t columns = (p.n - 1) / tile_side + 1, rows = (p.m - 1) / tile_side + 1;
  constexpr std::int64_t most_rows = 65535;
  const int size = itemsize(d);
  for (std::int64_t row = 0; row < rows; row += most_rows) {
    for (std::int64_t batch = 0; batch < batches; batch += most_batches) {
      Product part = p;
      part.a += (batch * p.a_batch + row * tile_side * p.a_row) * size;
      part.b += batch * p.b_batch * size;
      part.out += (batch * p.out_batch + row * tile_side * p.out_row) * size;
      part.m -= row * tile_side;
      const dim3 grid(static_cast<unsigned>(columns),
                      static_cast<unsigned>(std::min(most_rows, rows - row)),
                      static_cast<unsigned>(std::min(most_batches, batches - batch)));
      void* arguments[] = {&part};
      check(cudaLaunchKernel(tiled_kernel(d), grid, dim3(block_threads), arguments, 0, stream()),
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
  const bool by_cublas =
      is_floating(out.dtype) && std::max({p.m, p.n, p.k}) > small && cublas().gemm != nullptr;
  const auto prepare = [&](Operand& x, Array& holder, std::int64_t rows, std::int64_t columns) {
    const std::int64_t row = x.layout->strides[n - 2], column = x.layout->strides[n - 1];
    if (has_aligned_elements(x) && (!by_cublas || is_blas_matrix(rows, columns, row, column))) {
      return;
    }
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
    if (by_cublas) {
      multiply_cublas(out.dtype, p, inner);
    } else {
      multiply_tiled(out.dtype, p, inner);
    }
  }
}

}  // namespace arrayx::cuda
