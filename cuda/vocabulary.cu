// Compiles the vocabulary for the device: one kernel for every operation and dtype that the table
// allows, a thread to an element. What it proves is that cpp/ops is CUDA C++.
#include "../cpp/ops/elementwise.hpp"
#include "../cpp/ops/table.hpp"

namespace arrayx::cuda {

template <class F, class T, class R>
__global__ void unary(const T* a, R* out, i64 n) {
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = F{}(a[i]);
}
template <class F, class T, class R>
__global__ void binary(const T* a, const T* b, R* out, i64 n) {
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = F{}(a[i], b[i]);
}

// Kernels are instantiated by naming them; the array keeps them from being dropped.
using Address = const void*;

template <class F, class T>
Address unary_address() {
  using R = decltype(F{}(T{}));
  return reinterpret_cast<Address>(&unary<F, T, R>);
}
template <class F, class T>
Address binary_address() {
  using R = decltype(F{}(T{}, T{}));
  return reinterpret_cast<Address>(&binary<F, T, R>);
}

template <class T, unsigned Kind>
void collect(Address*& out) {
#define ARRAYX_ROW(name, F, accepts, result)                                    \
  {                                                                             \
    using namespace kinds;                                                      \
    if constexpr (((accepts) & Kind) != 0) *out++ = unary_address<ops::F, T>(); \
  }
  ARRAYX_OPS_UNARY(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result)                                     \
  {                                                                              \
    using namespace kinds;                                                       \
    if constexpr (((accepts) & Kind) != 0) *out++ = binary_address<ops::F, T>(); \
  }
  ARRAYX_OPS_BINARY(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda

// The number of kernels, whose addresses are written to `out` (room for 1024).
extern "C" __attribute__((visibility("default"))) int arrayx_cuda_vocabulary(const void** out) {
  using namespace arrayx;
  const void** end = out;
  cuda::collect<i32, kinds::integer>(end);
  cuda::collect<u64, kinds::integer>(end);
  cuda::collect<f32, kinds::real>(end);
  cuda::collect<f64, kinds::real>(end);
  cuda::collect<ops::Complex<f32>, kinds::complex>(end);
  cuda::collect<ops::Complex<f64>, kinds::complex>(end);
  return static_cast<int>(end - out);
}
