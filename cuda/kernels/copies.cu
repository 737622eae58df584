// Kernels of copies.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

namespace {

template <class T>
using CopyOf = Operation<Copy<memory_t<T>>, 1, T, T, T, false, true>;

// Integers of one or two bytes are converted alike, signed or not.
template <class T>
ElementwiseKernels copy_kernels() {
  using Converted = std::conditional_t<sizeof(T) < 4, ops::without_sign_t<T>, T>;
  return kernels_of<CopyOf<ops::bits_of_t<memory_t<T>>>, CopyOf<Converted>>();
}

}  // namespace

void fill_copies(KernelTable& table) {
#define ARRAYX_ROW(name, T) table.copy[static_cast<int>(DType::name)] = copy_kernels<T>();
  ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
