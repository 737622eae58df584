// Kernels of where and clip.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_ternary(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_CUDA_FILL(name, F, accepts, 3, any, false)
  ARRAYX_OPS_TERNARY(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
