// Copies into shared memory that a thread does not wait for.
#pragma once

#include "../cpp/ops/config.hpp"

namespace arrayx::cuda {

// An element into shared memory, in words that it is aligned to. The thread goes on meanwhile, and
// needs no register for it; await_copies() waits for all that the thread asked for. Turing waits at
// once.
template <class T>
__device__ __forceinline__ void copy_in_flight(T* to, const T* from) {
#if __CUDA_ARCH__ < 800
  *to = *from;
#else
  constexpr int word = sizeof(T) < 8 ? sizeof(T) : 8;
  const auto shared = static_cast<u32>(__cvta_generic_to_shared(to));
#pragma unroll
  for (int at = 0; at < int(sizeof(T)); at += word) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared + at),
                 "l"(reinterpret_cast<const char*>(from) + at), "n"(word)
                 : "memory");
  }
#endif
}
__device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace arrayx::cuda
