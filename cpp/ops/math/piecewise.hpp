// Functions by sixteen polynomials, one to each of as many parts of the range, whose coefficients
// are looked up: with AVX-512 a coefficient of all parts is a register or two, and a lookup one
// instruction. Coefficients: interpolation at Chebyshev's nodes, in 60 digits.
#pragma once

#include "double_word.hpp"

ARRAYX_OPS_BEGIN
namespace math::detail {

// x = n width + rest, n the nearest whole number, for |n| < 2^20: n in the lowest bits of `part`.
// The width is so short that the rest is exact.
template <class V>
struct Part {
  V n, rest;
  int_t<V> part;
};
template <class V>
ARRAYX_HD Part<V> nearest_part(V x, f64 width) {
  const V shifter = constant<V>(same_type_v<scalar_t<V>, f32> ? 0x1.8p23 : 0x1.8p52);
  const V shifted = mul_add(x, constant<V>(1 / width), shifter);
  const V n = shifted - shifter;
  return {n, mul_add(n, constant<V>(-width), x), bit_cast<int_t<V>>(shifted)};
}

// The polynomial in d, the distance from the middle of a part.
template <int I = 0, class V, class T, int N>
ARRAYX_HD V piecewise(V d, int_t<V> part, const T (&c)[N][16]) {
  if constexpr (I == N - 1) {
    return lookup(c[I], part);
  } else {
    return mul_add(piecewise<I + 1>(d, part, c), d, lookup(c[I], part));
  }
}

}  // namespace math::detail
ARRAYX_OPS_END
