// Kernels of operations on one operand whose arithmetic is a few instructions.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_unary(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_CUDA_FILL(name, F, accepts, 1, any, false)
  ARRAYX_OPS_UNARY_SIMPLE(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
