// OpenBLAS, opened on first use from beside the extension module (so that importing arrayx does not
// pay for it). 64-bit integers throughout.
#pragma once

#include <cstdint>

namespace arrayx::cpu {

using blas_int = std::int64_t;
enum BlasOrder : int { row_major = 101 };
enum BlasTranspose : int { no_transpose = 111, transpose = 112 };

struct Blas {
  // alpha and beta are values for real types and pointers to pairs for complex ones.
  template <class Scale>
  using Gemm = void (*)(int order, int transpose_a, int transpose_b, blas_int m, blas_int n,
                        blas_int k, Scale alpha, const void* a, blas_int lda, const void* b,
                        blas_int ldb, Scale beta, void* c, blas_int ldc);
  template <class Scale>
  using Gemv = void (*)(int order, int transpose, blas_int m, blas_int n, Scale alpha,
                        const void* a, blas_int lda, const void* x, blas_int incx, Scale beta,
                        void* y, blas_int incy);
  Gemm<float> sgemm;
  Gemm<double> dgemm;
  Gemm<const void*> cgemm, zgemm;
  Gemv<float> sgemv;
  Gemv<double> dgemv;
  Gemv<const void*> cgemv, zgemv;
};

// RuntimeError when the library or one of its functions is missing.
const Blas& blas();
// Any other function of the library by its Fortran or CBLAS name without prefix and suffix.
void* blas_symbol(const char* name);

}  // namespace arrayx::cpu
