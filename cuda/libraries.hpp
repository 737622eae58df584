// NVIDIA's libraries (cuBLAS, cuFFT, cuSOLVER), which are opened on their first use: arrayx runs
// without them, more slowly.
#pragma once

#include <dlfcn.h>
#include <library_types.h>

#include <initializer_list>

#include "../cpp/array/dtype.hpp"

namespace arrayx::cuda {

// A library by its file name, after those that it needs itself; null when it is not installed. It
// is looked for where the loader looks, in NVIDIA's wheels beside this package, and in the toolkit.
void* open_library(const char* file, std::initializer_list<const char*> needed = {});

// Points `function` to a function of a library; false when it has none of that name.
template <class F>
bool find(void* library, const char* name, F*& function) {
  function = library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
  return function != nullptr;
}

// What these libraries call a floating dtype.
inline cudaDataType_t data_type(DType d) {
  switch (d) {
    case DType::float16:
      return CUDA_R_16F;
    case DType::float32:
      return CUDA_R_32F;
    case DType::float64:
      return CUDA_R_64F;
    case DType::complex64:
      return CUDA_C_32F;
    default:
      return CUDA_C_64F;
  }
}

}  // namespace arrayx::cuda
