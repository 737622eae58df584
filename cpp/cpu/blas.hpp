// OpenBLAS and its LAPACK, opened on first use from beside the extension module (so that importing
// arrayx does not pay for it). 64-bit integers throughout.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace arrayx::cpu {

using blas_int = std::int64_t;
enum BlasOrder : int { row_major = 101 };
enum BlasTranspose : int { no_transpose = 111, transpose = 112 };
enum BlasTriangle : int { upper = 121 };

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
  template <class Scale>
  using Syrk = void (*)(int order, int triangle, int transpose, blas_int n, blas_int k, Scale alpha,
                        const void* a, blas_int lda, Scale beta, void* c, blas_int ldc);
  Gemm<float> sgemm;
  Gemm<double> dgemm;
  Gemm<const void*> cgemm, zgemm;
  Gemv<float> sgemv;
  Gemv<double> dgemv;
  Gemv<const void*> cgemv, zgemv;
  Syrk<float> ssyrk;
  Syrk<double> dsyrk;
  Syrk<const void*> csyrk, zsyrk;
  int (*get_threads)();
  void (*set_threads)(int);
};

// RuntimeError when the library or one of its functions is missing.
const Blas& blas();
// Any other function of the library by its Fortran (with the underscore) or CBLAS name, without
// prefix and suffix.
void* blas_symbol(const char* name);

template <class T>
struct real_part_of {
  using type = T;
};
template <class R>
struct real_part_of<std::complex<R>> {
  using type = R;
};

// The routines of LAPACK that cpp/cpu/linalg.cpp uses. Arguments go by address, matrices are
// column-major, and each character argument has a hidden length at the end.
template <class T>
struct Lapack {
  using R = typename real_part_of<T>::type;
  static constexpr bool complex = !std::is_same_v<T, R>;
  using Int = const blas_int*;
  using Text = const char*;
  template <class... Args>
  using Routine = void (*)(Args...);

  // Null for real T: the LU and Cholesky factors of real matrices are factors.hpp's.
  Routine<Int, Int, T*, Int, blas_int*, blas_int*> getrf{};
  Routine<Text, Int, Int, const T*, Int, const blas_int*, T*, Int, blas_int*, std::size_t> getrs{};
  Routine<Int, T*, Int, const blas_int*, T*, Int, blas_int*> getri{};
  Routine<Text, Int, T*, Int, blas_int*, std::size_t> potrf{};

  Routine<Int, Int, T*, Int, T*, T*, Int, blas_int*> gelqf;
  Routine<Int, Int, Int, T*, Int, const T*, T*, Int, blas_int*> unglq;  // orglq
  std::conditional_t<
      complex,
      Routine<Text, Text, Int, T*, Int, R*, T*, Int, R*, Int, blas_int*, Int, blas_int*,
              std::size_t, std::size_t>,
      Routine<Text, Text, Int, T*, Int, R*, T*, Int, blas_int*, Int, blas_int*, std::size_t,
              std::size_t>>
      heevd;  // syevd
  // Those of a real matrix, for complex T too.
  Routine<Text, Int, R*, Int, blas_int*, blas_int*, R*, blas_int*, std::size_t> gebal;
  Routine<R*, R*, R*, R*, R*, R*, R*, R*, R*, R*> lanv2;
  Routine<Text, Text, const void*, Int, const R*, Int, R*, Int, R*, Int, Int, blas_int*, R*,
          blas_int*, std::size_t, std::size_t>
      trevc;
  Routine<Int, R*, R*, blas_int*> sterf;
  Routine<Text, Int, R*, R*, R*, Int, R*, Int, blas_int*, Int, blas_int*, std::size_t> stedc;
  Routine<Int, R*, R*, R*, blas_int*> lasq1;
  Routine<Text, Text, Int, R*, R*, R*, Int, R*, Int, R*, blas_int*, R*, blas_int*, blas_int*,
          std::size_t, std::size_t>
      bdsdc;
  std::conditional_t<complex,
                     Routine<Text, Text, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, R*, blas_int*,
                             std::size_t, std::size_t>,
                     Routine<Text, Text, Int, T*, Int, R*, R*, T*, Int, T*, Int, T*, Int, blas_int*,
                             std::size_t, std::size_t>>
      geev;
  std::conditional_t<complex,
                     Routine<Text, Int, Int, T*, Int, R*, T*, Int, T*, Int, T*, Int, R*, blas_int*,
                             blas_int*, std::size_t>,
                     Routine<Text, Int, Int, T*, Int, R*, T*, Int, T*, Int, T*, Int, blas_int*,
                             blas_int*, std::size_t>>
      gesdd;
};

// For float, double and their complex numbers.
template <class T>
const Lapack<T>& lapack();

// While one exists OpenBLAS starts no threads: loops that call it from several threads of their own
// hold one, since its pool would serve them one at a time. The limit is the whole process's.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

}  // namespace arrayx::cpu
