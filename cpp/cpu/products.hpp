// A product of row-major real matrices that is a step of something larger.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "blas.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

// c = alpha a b + beta c, where a, or what it is the transpose of, is m × k and b is k × n. In
// blocks for our own threads, of rows or else of columns: OpenBLAS's are slower to start for as
// small products, and must be limited to one (OneBlasThread).
template <class T>
void multiply(BlasTranspose transposed, std::int64_t m, std::int64_t n, std::int64_t k, T alpha,
              const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T beta, T* c,
              std::int64_t c_stride) {
  constexpr std::int64_t block = 128, size = sizeof(T);
  const Blas& f = blas();
  const bool by_rows = m > block;
  const std::int64_t next_a = transposed == transpose ? 1 : a_stride;
  parallel_for(((by_rows ? m : n) + block - 1) / block, m * n * k * size / 8, [&](std::int64_t i) {
    const std::int64_t row = by_rows ? i * block : 0, column = by_rows ? 0 : i * block;
    const std::int64_t rows = by_rows ? std::min(block, m - row) : m;
    const std::int64_t columns = by_rows ? n : std::min(block, n - column);
    const auto gemm = [&](auto function) {
      function(row_major, transposed, no_transpose, rows, columns, k, alpha, a + row * next_a,
               a_stride, b + column, b_stride, beta, c + row * c_stride + column, c_stride);
    };
    if constexpr (std::is_same_v<T, float>) {
      gemm(f.sgemm);
    } else {
      gemm(f.dgemm);
    }
  });
}

}  // namespace arrayx::cpu
