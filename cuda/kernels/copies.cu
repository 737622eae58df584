// Kernels of copies.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

namespace {

template <class T>
using CopyOf = Operation<Copy<memory_t<T>>, 1, T, T, T, false, true>;

}  // namespace

void fill_copies(KernelTable& table) {
#define ARRAYX_ROW(name, T) table.copy[static_cast<int>(DType::name)] = kernels_of<CopyOf<T>>();
  ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
