// Kernels of simple operations on two integers or two bools.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

void fill_binary_integer(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) \
  ARRAYX_CUDA_FILL(name, F, accepts, 2, boolean | integer, false)
  ARRAYX_OPS_BINARY_SIMPLE(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
