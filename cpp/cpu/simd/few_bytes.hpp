// The first bytes of a register, in memory that has no more, where no masks are of bytes: by pieces
// that overlap, since a copy of a length that the compiler does not know is a call.
#pragma once

#include "../../ops/lanes.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

ARRAYX_OPS_BEGIN

template <int bytes>
struct piece {
  typedef u8 type __attribute__((vector_size(bytes)));
};
template <int bytes>
  requires(bytes <= 8)
struct piece<bytes> {
  using type = typename ints_of_width<bytes>::u;
};
template <int bytes>
ARRAYX_HD auto load_piece(const char* p) {
  typename piece<bytes>::type x;
  __builtin_memcpy(&x, p, bytes);
  return x;
}

// A word whose first n bytes, n ≤ 8, are those at p and the others zero.
ARRAYX_HD u64 load_few(const char* p, int n) {
  if (n >= 4) return load_piece<4>(p) | u64{load_piece<4>(p + n - 4)} << 8 * (n - 4);
  if (n >= 2) return load_piece<2>(p) | u64{load_piece<2>(p + n - 2)} << 8 * (n - 2);
  return n == 1 ? u64{static_cast<u8>(*p)} : 0;
}

// The same of two words, n ≤ 16.
ARRAYX_HD auto load_few_of_16(const char* p, int n) {
  typedef u64 words __attribute__((vector_size(16)));
  if (n < 8) return words{load_few(p, n), 0};
  const int half = 4 * (16 - n);  // up to 32 bits, twice
  return words{load_piece<8>(p), load_piece<8>(p + n - 8) >> half >> half};
}
#if defined(__AVX2__)
// And of four, n ≤ 32.
ARRAYX_HD __m256i load_few_of_32(const char* p, int n) {
  if (n < 16) return _mm256_zextsi128_si256(__m128i(load_few_of_16(p, n)));
  // Bytes by which the last 16 are moved down; those that are negative give zero.
  static constexpr signed char places[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                             11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1,
                                             -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  const auto first = load_piece<16>(p), last = load_piece<16>(p + n - 16);
  const auto from = load_piece<16>(reinterpret_cast<const char*>(places) + 32 - n);
  return _mm256_set_m128i(_mm_shuffle_epi8(__m128i(last), __m128i(from)), __m128i(first));
}
#endif

// to[0 … n) = from[0 … n), whole items of so many bytes, n ≤ 2 * bytes.
template <int bytes, int item>
ARRAYX_HD void copy_few(const char* from, char* to, int n) {
  if (n >= bytes) {
    const auto first = load_piece<bytes>(from), last = load_piece<bytes>(from + n - bytes);
    __builtin_memcpy(to, &first, bytes);
    __builtin_memcpy(to + n - bytes, &last, bytes);
  } else if constexpr (bytes > item && bytes > 2) {
    copy_few<bytes / 2, item>(from, to, n);
  } else if constexpr (item == 1) {
    if (n == 1) *to = *from;
  }
}

ARRAYX_OPS_END
