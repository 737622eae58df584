// Lanes that a mask chooses, put in front of a vector in their order. Included by the kernel
// sources only, once per instruction set.
#pragma once

#include <array>
#include <cstdint>

#include "vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

#if defined(__AVX2__)
// For each mask of `lanes` bits, one for `part` words, the numbers of the words of its set bits,
// one after the other, as bytes.
template <unsigned lanes, unsigned part = 8 / lanes>
inline constexpr auto set_words = [] {
  std::array<std::uint64_t, 1U << lanes> words{};
  for (unsigned mask = 0; mask < words.size(); ++mask) {
    unsigned shift = 0;
    for (unsigned word = 0; word < lanes * part; ++word) {
      if ((mask >> word / part & 1) == 0) continue;
      words[mask] |= std::uint64_t{word} << shift;
      shift += 8;
    }
  }
  return words;
}();

// Vectors of 4- and 8-byte lanes are whole registers, those of narrower ones have eight lanes.
template <class T, int N>
ARRAYX_HD Vec<T, N> in_front(unsigned mask, Vec<T, N> x) {
  using native = typename Vec<T, N>::native;
  if constexpr (sizeof(T) <= 2) {
    static_assert(N == 8);
    __m128i from = _mm_cvtsi64_si128(static_cast<long long>(set_words<8>[mask]));
    if constexpr (sizeof(T) == 1) {
      const __m128i v = _mm_cvtsi64_si128(__builtin_bit_cast(long long, x.v));
      return Vec<T, N>(__builtin_bit_cast(native, _mm_cvtsi128_si64(_mm_shuffle_epi8(v, from))));
    } else {  // each as a pair of bytes
      from = _mm_unpacklo_epi8(from, from);
      from = _mm_add_epi8(_mm_add_epi8(from, from), _mm_set1_epi16(0x0100));
      return Vec<T, N>(
          __builtin_bit_cast(native, _mm_shuffle_epi8(__builtin_bit_cast(__m128i, x.v), from)));
    }
  } else {
#if defined(__AVX512F__)
    const __m512i v = __builtin_bit_cast(__m512i, x.v);
    return Vec<T, N>(__builtin_bit_cast(
        native, sizeof(T) == 8 ? _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), v)
                               : _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), v)));
#else
    const __m128i from = _mm_cvtsi64_si128(static_cast<long long>(set_words<N>[mask]));
    const __m256i v = __builtin_bit_cast(__m256i, x.v);
    return Vec<T, N>(
        __builtin_bit_cast(native, _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(from))));
#endif
  }
}
#endif

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
