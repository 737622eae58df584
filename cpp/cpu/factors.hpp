// LU and Cholesky factors of a row-major real matrix and what is solved by them, each by halves:
// most of the work is then in products. (Toledo, "Locality of reference in LU decomposition with
// partial pivoting", 1997.) OpenBLAS's own LU factors take twice as long, for its triangular
// solutions do, and its Cholesky factors hundreds of times as long where other programs keep the
// cores busy: its threads wait for each other at every step. Callers hold a OneBlasThread.
#pragma once

#include <algorithm>
#include <type_traits>

#include "blas.hpp"
#include "kernels.hpp"
#include "kernels/small_matrices.hpp"
#include "parallel.hpp"
#include "products.hpp"

namespace arrayx::cpu {

template <class T>
struct RowMajorFactors {
  // Items of a cache line: rows are of whole ones, and halves.
  static constexpr std::int64_t size = sizeof(T), line = 64 / size;
  // Triangles of no more rows are solved by a kernel.
  static constexpr std::int64_t leaf = 32;

  // An odd number of lines, so that the elements of a column are not all in one set of a cache.
  static std::int64_t stride_for(std::int64_t columns) {
    return ((columns + line - 1) / line | 1) * line;
  }

  T* a;  // of n rows, filled up with zeros
  std::int64_t n, stride;
  std::int64_t* pivots;  // for each row the one, from there on, that it is exchanged with
  const SmallMatrixKernels& kernel =
      *cpu::kernels().small_matrices[std::is_same_v<T, float> ? 0 : 1];

  RowMajorFactors(T* matrix, std::int64_t rows, std::int64_t leading,
                  std::int64_t* exchanges = nullptr)
      : a(matrix), n(rows), stride(leading), pivots(exchanges) {}

  // a becomes L, whose diagonal of ones is left out, and U.
  void factor_lu() {
    if (n > 0) factor_lu(0, n);
  }
  bool singular() const {
    for (std::int64_t j = 0; j < n; ++j) {
      if (a[j * (stride + 1)] == 0) return true;
    }
    return false;
  }
  void exchange_rows(T* b, std::int64_t b_stride) const {
    for (std::int64_t j = 0; j < n; ++j) {
      if (pivots[j] == j) continue;
      std::swap_ranges(b + j * b_stride, b + (j + 1) * b_stride, b + pivots[j] * b_stride);
    }
  }

  // The x of L x = b, or of U x = b, where b has so many columns.
  void solve(bool upper, T* b, std::int64_t b_stride, std::int64_t columns) const {
    solve(upper, 0, n, b, b_stride, columns, false);
  }
  // That of L U x = b for one contiguous column.
  void solve_one(T* b) const {
    kernel.substitute_one(a, stride, n, false, b);
    kernel.substitute_one(a, stride, n, true, b);
  }
  // The inverse of L for the identity b.
  void invert_lower(T* b, std::int64_t b_stride) const { solve(false, 0, n, b, b_stride, n, true); }

  // The upper triangle of a symmetric matrix becomes the U of transpose(U) U; what is below it is
  // lost. False where the matrix is not positive definite.
  bool factor_cholesky() { return factor_cholesky(0, n); }

 private:
  // Columns start … end - 1, from row `start` on.
  void factor_lu(std::int64_t start, std::int64_t end) {
    if (end - start <= line) {
      kernel.eliminate_columns(a + start * stride, n - start, stride, start, end - start,
                               pivots + start);
      for (std::int64_t j = start; j < end; ++j) pivots[j] += start;
      return;
    }
    const std::int64_t middle = half(start, end, line);
    factor_lu(start, middle);
    T* const right = a + start * stride + middle;
    solve(false, start, middle, right, stride, end - middle, false);
    subtract(middle, n, start, middle, right, stride, a + middle * stride + middle, stride,
             end - middle);
    factor_lu(middle, end);
  }

  static std::int64_t half(std::int64_t start, std::int64_t end, std::int64_t unit) {
    return start + ((end - start) / 2 + unit - 1) / unit * unit;
  }

  // b starts at row `start` of the whole; `triangular` says that it is lower, as the result is.
  void solve(bool upper, std::int64_t start, std::int64_t end, T* b, std::int64_t b_stride,
             std::int64_t columns, bool triangular) const {
    if (end - start <= leaf) {
      substitute(start, end, upper ? Triangle::upper : Triangle::unit_lower, b, b_stride,
                 triangular ? end : columns);
      return;
    }
    const std::int64_t middle = half(start, end, leaf);
    T* const below = b + (middle - start) * b_stride;
    if (upper) {
      solve(true, middle, end, below, b_stride, columns, false);
      subtract(start, middle, middle, end, below, b_stride, b, b_stride, columns);
      solve(true, start, middle, b, b_stride, columns, false);
    } else {
      solve(false, start, middle, b, b_stride, columns, triangular);
      subtract(middle, end, start, middle, b, b_stride, below, b_stride,
               triangular ? middle : columns);
      solve(false, middle, end, below, b_stride, columns, triangular);
    }
  }

  // By the triangle of so few rows.
  void substitute(std::int64_t start, std::int64_t end, Triangle triangle, T* b,
                  std::int64_t b_stride, std::int64_t columns) const {
    const std::int64_t chunk = 8 * line, rows = end - start;
    parallel_for(
        (columns + chunk - 1) / chunk, rows * rows * columns * size / 8, [&](std::int64_t i) {
          const std::int64_t width = std::min(chunk, columns - i * chunk);
          kernel.substitute(a + start * (stride + 1), stride, rows, triangle, b + i * chunk,
                            b_stride, (width + kernel.lanes - 1) / kernel.lanes * kernel.lanes);
        });
  }

  // c -= a[top … bottom - 1, left … right - 1] b
  void subtract(std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right,
                const T* b, std::int64_t b_stride, T* c, std::int64_t c_stride,
                std::int64_t columns) const {
    const std::int64_t rows = bottom - top, inner = right - left;
    if (rows <= 0) return;
    const T* const x = a + top * stride + left;
    if (inner <= 2 * line && columns <= 2 * line) {
      T negative[2 * line][2 * line];
      for (std::int64_t i = 0; i < inner; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) negative[i][j] = -b[i * b_stride + j];
      }
      constexpr DType dtype = std::is_same_v<T, float> ? DType::float32 : DType::float64;
      kernels().matmul[static_cast<int>(dtype)]({x, stride, 1, 0, negative, 2 * line, 1, 0, nullptr,
                                                 c, c_stride, 0, rows, columns, inner, 1, true,
                                                 false});
      return;
    }
    multiply<T>(no_transpose, rows, columns, inner, T(-1), x, stride, b, b_stride, T(1), c,
                c_stride);
  }

  // Rows start … end - 1 of U, with all of their columns.
  bool factor_cholesky(std::int64_t start, std::int64_t end) {
    if (end - start <= leaf) {
      T* const block = a + start * (stride + 1);
      if (!kernel.cholesky_one(block, end - start, stride)) return false;
      substitute(start, end, Triangle::turned_upper, block + (end - start), stride, n - end);
      return true;
    }
    const std::int64_t middle = half(start, end, leaf);
    if (!factor_cholesky(start, middle)) return false;
    subtract_square(start, middle, end);
    return factor_cholesky(middle, end);
  }

  // Rows middle … end - 1 of what is symmetric, from the diagonal on, less transpose(x) x of the
  // rows x from `start` on: in square tiles, as large as leaves some for each thread.
  void subtract_square(std::int64_t start, std::int64_t middle, std::int64_t end) const {
    const std::int64_t side = std::clamp<std::int64_t>((end - middle) / 4 / 64 * 64, 64, 256);
    const std::int64_t bands = (end - middle + side - 1) / side, inner = middle - start;
    const std::int64_t across = (n - middle + side - 1) / side;
    const std::int64_t count = bands * across - bands * (bands - 1) / 2;
    const T* const x = a + start * stride;
    parallel_for(count, (end - middle) * (n - (middle + end) / 2) * inner * size / 8,
                 [&](std::int64_t i) {
                   std::int64_t band = 0;
                   for (; i >= across - band; ++band) i -= across - band;
                   const std::int64_t row = middle + band * side, column = row + i * side;
                   const std::int64_t rows = std::min(side, end - row);
                   const std::int64_t columns = std::min(side, n - column);
                   T* const to = a + row * stride + column;
                   // Of the smallest squares OpenBLAS has the whole sooner than a triangle.
                   if (row == column && rows == columns && rows > 64) {
                     const Blas& f = blas();
                     const auto syrk = [&](auto function) {
                       function(row_major, upper, transpose, rows, inner, T(-1), x + row, stride,
                                T(1), to, stride);
                     };
                     if constexpr (std::is_same_v<T, float>) {
                       syrk(f.ssyrk);
                     } else {
                       syrk(f.dsyrk);
                     }
                   } else {
                     multiply<T>(transpose, rows, columns, inner, T(-1), x + row, stride,
                                 x + column, stride, T(1), to, stride);
                   }
                 });
  }
};

}  // namespace arrayx::cpu
