// Kernels of mathematical functions of real numbers, and powers of integers.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_real_math(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) \
  ARRAYX_CUDA_FILL(name, F, accepts, 1, integer | real, true)
  ARRAYX_OPS_UNARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) \
  ARRAYX_CUDA_FILL(name, F, accepts, 2, integer | real, true)
  ARRAYX_OPS_BINARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
