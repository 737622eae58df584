// cuBLAS, opened on its first use, and its handles.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <mutex>
#include <vector>

namespace arrayx::cuda {

// Its declarations that are used here; the numbers are those of cublas_api.h. Functions are null
// where there is no cuBLAS. Those of four dtypes stand in the order float32 … complex128.
struct Cublas {
  using Handle = void*;
  static constexpr int op_none = 0, op_transpose = 1;
  static constexpr int sums_as_computed = 16;  // a math mode: halves are not added up as halves
  static constexpr int left = 0, lower = 0, upper = 1, any_diagonal = 0, unit_diagonal = 1;

  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*set_math_mode)(Handle, int) = nullptr;
  int (*gemm)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*,
              cudaDataType_t, std::int64_t, long long, const void*, cudaDataType_t, std::int64_t,
              long long, const void*, void*, cudaDataType_t, std::int64_t, long long, std::int64_t,
              int, int) = nullptr;
  int (*gemv[4])(Handle, int operation, std::int64_t m, std::int64_t n, const void* alpha,
                 const void* a, std::int64_t lda, const void* x, std::int64_t x_step,
                 const void* beta, void* y, std::int64_t y_step) = {};
  int (*getrf[4])(Handle, int n, void* const* a, int lda, int* pivots, int* infos, int count) = {};
  int (*trsm[4])(Handle, int side, int fill, int operation, int diagonal, std::int64_t m,
                 std::int64_t n, const void* alpha, const void* a, std::int64_t lda, void* b,
                 std::int64_t ldb) = {};
  int (*getrs[4])(Handle, int operation, int n, int sides, const void* const* a, int lda,
                  const int* pivots, void* const* b, int ldb, int* host_info, int count) = {};

  Cublas();
  // Of the current device.
  Handle handle();

 private:
  std::vector<Handle> handles_;
  std::mutex mutex_;
};
Cublas& cublas();

}  // namespace arrayx::cuda
