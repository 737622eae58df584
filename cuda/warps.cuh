// Values that the threads of a warp hand each other: of any size, in words of 32 bits.
#pragma once

#include <cstring>

#include "../cpp/ops/config.hpp"

namespace arrayx::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned whole_warp = 0xffffffff;

// f on each word of x.
template <class A, class F>
__device__ __forceinline__ A map_words(A x, F&& f) {
  unsigned words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &x, sizeof x);
#pragma unroll
  for (unsigned& word : words) word = f(word);
  memcpy(&x, words, sizeof x);
  return x;
}
template <class A>
__device__ __forceinline__ A from_lane(A x, int lane) {
  return map_words(x, [=](unsigned word) { return __shfl_sync(whole_warp, word, lane); });
}

// The sum of x over the lanes up to the thread's own.
template <class T>
__device__ __forceinline__ T sum_of_lanes_upto(T x, int lane) {
#pragma unroll
  for (int d = 1; d < warp_size; d *= 2) {
    const T other = __shfl_up_sync(whole_warp, x, d);
    if (lane >= d) x += other;
  }
  return x;
}

}  // namespace arrayx::cuda
