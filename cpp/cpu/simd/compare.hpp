// Many conditions at once: the bits of a word where vectors are compared into such bits, elsewhere
// the bytes of a vector. Included by the kernel sources only, once per instruction set.
#pragma once

#include "packs.hpp"
#include "stream.hpp"

#include "../../ops/elementwise.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

#if defined(__AVX512BW__)

struct Predicate {
  bool known = false;
  int of_integers = 0, of_floats = 0;
};
template <class F>
inline constexpr Predicate predicate;
template <>
inline constexpr Predicate predicate<ops::Equal>{true, _MM_CMPINT_EQ, _CMP_EQ_OQ};
template <>
inline constexpr Predicate predicate<ops::NotEqual>{true, _MM_CMPINT_NE, _CMP_NEQ_UQ};
template <>
inline constexpr Predicate predicate<ops::Less>{true, _MM_CMPINT_LT, _CMP_LT_OQ};
template <>
inline constexpr Predicate predicate<ops::LessEqual>{true, _MM_CMPINT_LE, _CMP_LE_OQ};
template <>
inline constexpr Predicate predicate<ops::Greater>{true, _MM_CMPINT_NLE, _CMP_GT_OQ};
template <>
inline constexpr Predicate predicate<ops::GreaterEqual>{true, _MM_CMPINT_NLT, _CMP_GE_OQ};

// Whether compared_bits() takes vectors of T.
template <class F, class T>
inline constexpr bool compares_into_bits =
    predicate<F>.known &&
    (!ops::is_float_v<T> || ops::same_type_v<T, f32> || ops::same_type_v<T, f64>);

template <class F, class T, int N>
ARRAYX_HD u64 compared_bits(ops::Vec<T, N> x, ops::Vec<T, N> y) {
  constexpr int p = predicate<F>.of_integers, q = predicate<F>.of_floats;
  if constexpr (ops::same_type_v<T, f64>) {
    return _mm512_cmp_pd_mask(__builtin_bit_cast(__m512d, x.v), __builtin_bit_cast(__m512d, y.v),
                              q);
  } else if constexpr (ops::same_type_v<T, f32>) {
    return _mm512_cmp_ps_mask(__builtin_bit_cast(__m512, x.v), __builtin_bit_cast(__m512, y.v), q);
  } else {
    const __m512i a = __builtin_bit_cast(__m512i, x.v), b = __builtin_bit_cast(__m512i, y.v);
    constexpr bool is_signed = ops::is_signed_v<T>;
    if constexpr (sizeof(T) == 8) {
      return is_signed ? _mm512_cmp_epi64_mask(a, b, p) : _mm512_cmp_epu64_mask(a, b, p);
    } else if constexpr (sizeof(T) == 4) {
      return is_signed ? _mm512_cmp_epi32_mask(a, b, p) : _mm512_cmp_epu32_mask(a, b, p);
    } else if constexpr (sizeof(T) == 2) {
      return is_signed ? _mm512_cmp_epi16_mask(a, b, p) : _mm512_cmp_epu16_mask(a, b, p);
    } else {
      return is_signed ? _mm512_cmp_epi8_mask(a, b, p) : _mm512_cmp_epu8_mask(a, b, p);
    }
  }
}

// As bytes of 0 and 1.
template <bool Stream>
ARRAYX_HD void put_bits(u64 bits, char* out) {
  using V = ops::Vec<u8, 64>;
  put<Stream>(V(__builtin_bit_cast(typename V::native, _mm512_maskz_set1_epi8(bits, 1))), out);
}

#else

template <class F, class T>
inline constexpr bool compares_into_bits = false;
template <class F, class V>
u64 compared_bits(V, V);
template <bool Stream>
void put_bits(u64, char*);

#endif

// Whether put_bytes() takes vectors of conditions.
template <class V>
inline constexpr bool packs_into_bytes = false;

#if defined(__SSE2__) && !defined(__AVX512BW__)

template <int B, int N>
inline constexpr bool packs_into_bytes<ops::Mask<B, N>> = B * N == ops::vector_bytes;

// The bytes of B vectors of words of B bytes that are 0 or -1, a tree of packs. Those of 32 bytes
// pack each half for itself.
template <int B, bool Root = true, int N>
ARRAYX_HD Register packed(const ops::Mask<N, ops::vector_bytes / N>* words) {
  if constexpr (B == 1) {
    return __builtin_bit_cast(Register, words->v);
  } else {
    const Register a = packed<B / 2, false>(words), b = packed<B / 2, false>(words + B / 2);
    return Root ? pack_signed_bytes(a, b) : pack_signed_words(a, b);
  }
}

// The conditions of B vectors as bytes of 0 and 1.
template <bool Stream, int B, int N>
ARRAYX_HD void put_bytes(const ops::Mask<B, N>* conditions, char* out) {
  Register bytes = packed<B>(conditions);
#if defined(__AVX2__)
  if constexpr (B == 2) bytes = in_order_of_one(bytes);
  if constexpr (B == 4) bytes = in_order_of_two(bytes);
  if constexpr (B == 8) bytes = in_order_of_three(bytes);
#endif
  using V = ops::Vec<u8, ops::vector_bytes>;
  put<Stream>(V(__builtin_bit_cast(typename V::native, bytes)) & V(u8{1}), out);
}

#else

template <bool Stream, class V>
void put_bytes(const V*, char*);

#endif

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
