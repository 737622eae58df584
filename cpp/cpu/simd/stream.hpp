// Stores past the caches. Included by the kernel sources only, once per instruction set.
#pragma once

#include "vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

// Whole vectors to places aligned to their size.
template <class V>
ARRAYX_HD void stream_vector(V x, char* out) {
#if defined(__x86_64__)
  if constexpr (sizeof(V) == 4) {
    _mm_stream_si32(reinterpret_cast<int*>(out), __builtin_bit_cast(int, x.v));
    return;
  }
  if constexpr (sizeof(V) == 8) {
    _mm_stream_si64(reinterpret_cast<long long*>(out), __builtin_bit_cast(long long, x.v));
    return;
  }
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out), __builtin_bit_cast(__m128i, x.v));
    return;
  }
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), __builtin_bit_cast(__m256i, x.v));
    return;
  }
#endif
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out), __builtin_bit_cast(__m512i, x.v));
    return;
  }
#endif
#endif
  x.store(out);
}
template <bool Stream, class V>
ARRAYX_HD void put(V x, char* out) {
  if constexpr (Stream) {
    stream_vector(x, out);
  } else {
    x.store(out);
  }
}

// What stands before it in the source is read and written first.
ARRAYX_HD void keep_order() {
  asm volatile("" ::: "memory");
}

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
