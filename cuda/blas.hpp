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

  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*gemm)(Handle, int, int, std::int64_t, std::int64_t, std::int64_t, const void*, const void*,
              cudaDataType_t, std::int64_t, long long, const void*, cudaDataType_t, std::int64_t,
              long long, const void*, void*, cudaDataType_t, std::int64_t, long long, std::int64_t,
              int, int) = nullptr;
  int (*getrf[4])(Handle, int n, void* const* a, int lda, int* pivots, int* infos, int count) = {};
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
