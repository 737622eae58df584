// Matrix products: OpenBLAS for the floating dtypes, transposed views by its flags; a blocked
// kernel of our own for integers. A stack of small products is spread over the threads.
#include <algorithm>
#include <cstring>

#include "blas.hpp"
#include "block_loop.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

// A matrix as BLAS takes it: rows `leading` apart, possibly transposed.
struct Matrix {
  const char* data;
  std::int64_t leading;
  bool transposed;
};

// Whether a rows × columns matrix with these strides (in items) needs no packing.
bool blas_ready(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                std::int64_t column_stride, Matrix& out) {
  const std::int64_t by_rows = rows == 1 ? columns : row_stride;
  const std::int64_t by_columns = columns == 1 ? rows : column_stride;
  if ((column_stride == 1 || columns == 1) && by_rows >= std::max<std::int64_t>(columns, 1)) {
    out.leading = by_rows;
    out.transposed = false;
    return true;
  }
  if ((row_stride == 1 || rows == 1) && by_columns >= std::max<std::int64_t>(rows, 1)) {
    out.leading = by_columns;
    out.transposed = true;
    return true;
  }
  return false;
}

template <class Scale>
void product(Blas::Gemm<Scale> gemm, Blas::Gemv<Scale> gemv, Scale one, Scale zero, const Matrix& a,
             const Matrix& b, char* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  const int ta = a.transposed ? transpose : no_transpose;
  const int tb = b.transposed ? transpose : no_transpose;
  if (n == 1) {
    // b is a column: k items, apart by its leading dimension unless it lies along one row.
    gemv(row_major, ta, a.transposed ? k : m, a.transposed ? m : k, one, a.data, a.leading, b.data,
         b.transposed ? 1 : b.leading, zero, c, 1);
  } else if (m == 1) {
    gemv(row_major, b.transposed ? no_transpose : transpose, b.transposed ? n : k,
         b.transposed ? k : n, one, b.data, b.leading, a.data, a.transposed ? a.leading : 1, zero,
         c, 1);
  } else {
    gemm(row_major, ta, tb, m, n, k, one, a.data, a.leading, b.data, b.leading, zero, c, n);
  }
}

void blas_product(DType dtype, const Matrix& a, const Matrix& b, char* c, std::int64_t m,
                  std::int64_t n, std::int64_t k) {
  static constexpr double one64[2] = {1, 0}, zero64[2] = {0, 0};
  static constexpr float one32[2] = {1, 0}, zero32[2] = {0, 0};
  const Blas& f = blas();
  switch (dtype) {
    case DType::float32:
      return product(f.sgemm, f.sgemv, 1.0F, 0.0F, a, b, c, m, n, k);
    case DType::float64:
      return product(f.dgemm, f.dgemv, 1.0, 0.0, a, b, c, m, n, k);
    case DType::complex64:
      return product<const void*>(f.cgemm, f.cgemv, one32, zero32, a, b, c, m, n, k);
    default:
      return product<const void*>(f.zgemm, f.zgemv, one64, zero64, a, b, c, m, n, k);
  }
}

// Integers: blocks of b that stay in the L2 cache, rows of a in turn.
void integer_product(DType dtype, const Matrix& a, const Matrix& b, char* c, std::int64_t n,
                     std::int64_t k, std::int64_t row_from, std::int64_t row_to) {
  const IntegerMatmulKernel kernel = kernels().matmul[static_cast<int>(dtype)];
  const int size = itemsize(dtype);
  std::memset(c + row_from * n * size, 0, (row_to - row_from) * n * size);
  constexpr std::int64_t k_block = 256, n_block = 256;
  for (std::int64_t k0 = 0; k0 < k; k0 += k_block) {
    for (std::int64_t n0 = 0; n0 < n; n0 += n_block) {
      kernel(a.data + (row_from * a.leading + k0) * size, a.leading,
             b.data + (k0 * b.leading + n0) * size, b.leading, c + (row_from * n + n0) * size, n,
             row_to - row_from, std::min(n_block, n - n0), std::min(k_block, k - k0));
    }
  }
}

// The operand's matrices packed row-major into fresh memory; batch dimensions of stride zero stay
// so.
Array packed(const Operand& x) {
  const Layout& in = *x.layout;
  const int n = in.ndim();
  Dims shape = in.shape;
  for (int d = 0; d < n - 2; ++d) {
    if (in.strides[d] == 0) shape[d] = 1;
  }
  Array out;
  out.dtype = x.dtype;
  out.layout = Layout::contiguous(shape);
  out.storage = allocate(checked_bytes(out.size(), itemsize(x.dtype)));
  Layout source = in;
  source.shape = shape;
  source.size = out.size();
  Operand from = x;
  from.layout = &source;
  copy(from, out);
  out.layout = broadcast_to(out.layout, in.shape);
  return out;
}

}  // namespace

void matmul(const Operand& a_in, const Operand& b_in, const Operand& out) {
  const Layout& result = *out.layout;
  const int nd = result.ndim(), size = itemsize(out.dtype);
  const std::int64_t m = result.shape[nd - 2], n = result.shape[nd - 1];
  const std::int64_t k = a_in.layout->shape[nd - 1];
  if (result.size == 0) return;
  const std::int64_t batches = result.size / (m * n);
  const auto batch_offset = [&](const Layout& l, std::int64_t batch) {
    std::int64_t offset = 0;
    for (int d = nd - 3; d >= 0; --d) {
      offset += batch % result.shape[d] * l.strides[d];
      batch /= result.shape[d];
    }
    return offset * size;
  };
  if (k == 0) {
    for (std::int64_t i = 0; i < batches; ++i) {
      std::memset(out.data + batch_offset(result, i), 0, m * n * size);
    }
    return;
  }
  const bool integers = is_integer(out.dtype);
  Array a_copy, b_copy;
  Operand a = a_in, b = b_in;
  Matrix am{}, bm{};
  const auto prepare = [&](Operand& x, Array& held, Matrix& matrix, std::int64_t rows,
                           std::int64_t columns) {
    const Layout& l = *x.layout;
    if (blas_ready(rows, columns, l.strides[nd - 2], l.strides[nd - 1], matrix) &&
        !(integers && matrix.transposed)) {
      return;
    }
    held = packed(x);
    x = Operand(held);
    blas_ready(rows, columns, columns, 1, matrix);
  };
  prepare(a, a_copy, am, m, k);
  prepare(b, b_copy, bm, k, n);
  const auto at = [&](const Operand& x, Matrix matrix, std::int64_t batch) {
    matrix.data = x.data + batch_offset(*x.layout, batch);
    return matrix;
  };
  if (integers) {
    // Rows of all products in chunks for the threads.
    constexpr std::int64_t rows_per_chunk = 32;
    const std::int64_t chunks = (m + rows_per_chunk - 1) / rows_per_chunk;
    parallel_for(
        batches * chunks, batches * m * n * std::max<std::int64_t>(k / 2, 1), [&](std::int64_t c) {
          const std::int64_t i = c / chunks, row = c % chunks * rows_per_chunk;
          integer_product(out.dtype, at(a, am, i), at(b, bm, i), out.data + batch_offset(result, i),
                          n, k, row, std::min(m, row + rows_per_chunk));
        });
    return;
  }
  const auto one = [&](std::int64_t i) {
    blas_product(out.dtype, at(a, am, i), at(b, bm, i), out.data + batch_offset(result, i), m, n,
                 k);
  };
  // OpenBLAS runs products of up to 2^18 multiplications on one thread: those are spread over ours.
  if (batches > 1 && m * n * k <= (1 << 18)) {
    const std::int64_t group = std::max<std::int64_t>(1, 4096 / (m * n * k));
    parallel_for((batches + group - 1) / group, batches * m * n * k * 2, [&](std::int64_t g) {
      for (std::int64_t i = g * group; i < std::min(batches, (g + 1) * group); ++i) one(i);
    });
  } else {
    for (std::int64_t i = 0; i < batches; ++i) one(i);
  }
}

}  // namespace arrayx::cpu
