// Kernels of simple operations on two real or complex numbers.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_binary_floating(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_CUDA_FILL(name, F, accepts, 2, floating, false)
  ARRAYX_OPS_BINARY_SIMPLE(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
