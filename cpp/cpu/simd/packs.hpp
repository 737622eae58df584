// Packs: two registers of integers as one of integers half as wide, and the order in which that
// leaves them. Included by the kernel sources only, once per instruction set.
#pragma once

#include "vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

#if defined(__AVX2__)

// They take their numbers by turns from the parts of 16 bytes of two registers.
#if defined(__AVX512BW__)

using Register = __m512i;
ARRAYX_HD Register and_all(Register x, u32 mask) {
  return _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(mask)));
}
ARRAYX_HD Register pack_words(Register a, Register b) {
  return _mm512_packus_epi32(a, b);
}
ARRAYX_HD Register pack_bytes(Register a, Register b) {
  return _mm512_packus_epi16(a, b);
}
// From the order of one pack, and of two.
ARRAYX_HD Register in_order_of_one(Register x) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
}
ARRAYX_HD Register in_order_of_two(Register x) {
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x);
}

#else

using Register = __m256i;
ARRAYX_HD Register and_all(Register x, u32 mask) {
  return _mm256_and_si256(x, _mm256_set1_epi32(static_cast<int>(mask)));
}
ARRAYX_HD Register pack_words(Register a, Register b) {
  return _mm256_packus_epi32(a, b);
}
ARRAYX_HD Register pack_bytes(Register a, Register b) {
  return _mm256_packus_epi16(a, b);
}
// From the order of one pack, of two, and of three.
ARRAYX_HD Register in_order_of_one(Register x) {
  return _mm256_permute4x64_epi64(x, 0xd8);
}
ARRAYX_HD Register in_order_of_two(Register x) {
  return _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
ARRAYX_HD Register in_order_of_three(Register x) {
  const __m128i pairs = _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  return _mm256_shuffle_epi8(in_order_of_one(x), _mm256_broadcastsi128_si256(pairs));
}

#endif
#elif defined(__SSE2__)

using Register = __m128i;

#endif

// Of numbers that fit, signed: conditions, 0 or -1, among them.
#if defined(__SSE2__) && !defined(__AVX512BW__)
ARRAYX_HD Register pack_signed_words(Register a, Register b) {
#if defined(__AVX2__)
  return _mm256_packs_epi32(a, b);
#else
  return _mm_packs_epi32(a, b);
#endif
}
ARRAYX_HD Register pack_signed_bytes(Register a, Register b) {
#if defined(__AVX2__)
  return _mm256_packs_epi16(a, b);
#else
  return _mm_packs_epi16(a, b);
#endif
}
#endif

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
