// Kernels of mathematical functions of complex numbers.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_complex_math(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_CUDA_FILL(name, F, accepts, 1, complex, true)
  ARRAYX_OPS_UNARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_CUDA_FILL(name, F, accepts, 2, complex, true)
  ARRAYX_OPS_BINARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
