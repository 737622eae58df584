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

}  // namespace arrayx::cuda
