// Sums and products with their rounding errors, and the unevaluated pair hi + lo they live in.
// Algorithms after Dekker (1971), Knuth, and Joldes, Muller, Popescu (ACM TOMS 44, 2017). Valid
// where no intermediate overflows and no error term falls below the smallest subnormal.
#pragma once

#include "../lanes.hpp"

ARRAYX_OPS_BEGIN
namespace math {

using ops::select;
using ops::sqrt;

// The value hi + lo, |lo| at most half an ulp of hi unless a function says otherwise.
template <class V>
struct DoubleWord {
  V hi, lo;
};

// A scalar constant in every lane, written as the literal it is.
template <class V>
ARRAYX_HD V constant(f64 x) {
  return splat<V>(scalar_t<V>(x));
}

// a + b exactly, for any a and b.
template <class V>
ARRAYX_HD DoubleWord<V> two_sum(V a, V b) {
  const V s = a + b;
  const V b_part = s - a;
  const V a_part = s - b_part;
  return {s, (a - a_part) + (b - b_part)};
}

// a + b exactly, if |a| >= |b| or a is zero.
template <class V>
ARRAYX_HD DoubleWord<V> fast_two_sum(V a, V b) {
  const V s = a + b;
  return {s, b - (s - a)};
}

// x as the sum of two numbers of half the bits. By rounding the bits of x, not by Dekker's
// multiplication, which overflows for large x.
template <class V>
ARRAYX_HD DoubleWord<V> split(V x) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr int low_bits = limits<scalar_t<V>>::mantissa_bits / 2 + 1;
  const U rounded = bit_cast<U>(x) + splat<U>(u(u(1) << (low_bits - 1)));
  const V hi = bit_cast<V>(rounded & splat<U>(u(~u(0) << low_bits)));
  return {hi, x - hi};
}

// a * b, rounded: nvcc, unless told -fmad=false, would fuse a plain product with a later sum, and
// the error term taken from the rounded product would then be counted twice.
template <class V>
ARRAYX_HD V rounded_product(V a, V b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(V) == 8) {
    return __dmul_rn(a, b);
  } else {
    return __fmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

// a * b exactly.
template <class V>
ARRAYX_HD DoubleWord<V> two_prod(V a, V b) {
  const V p = rounded_product(a, b);
  if constexpr (has_fma) {
    return {p, mul_add(a, b, -p)};
  } else {
    const DoubleWord<V> x = split(a), y = split(b);
    return {p, ((x.hi * y.hi - p) + x.hi * y.lo + x.lo * y.hi) + x.lo * y.lo};
  }
}

// a * a exactly.
template <class V>
ARRAYX_HD DoubleWord<V> two_square(V a) {
  const V p = rounded_product(a, a);
  if constexpr (has_fma) {
    return {p, mul_add(a, a, -p)};
  } else {
    const DoubleWord<V> x = split(a);
    const V cross = x.hi * x.lo;
    return {p, ((x.hi * x.hi - p) + (cross + cross)) + x.lo * x.lo};
  }
}

// a - b * c exactly, where that is a number: b close to a / c.
template <class V>
ARRAYX_HD V exact_rest(V a, V b, V c) {
  if constexpr (has_fma) {
    return neg_mul_add(b, c, a);
  } else {
    const DoubleWord<V> p = two_prod(b, c);
    return (a - p.hi) - p.lo;
  }
}

template <class V>
ARRAYX_HD V value(DoubleWord<V> x) {
  return x.hi + x.lo;
}

template <class V>
ARRAYX_HD DoubleWord<V> operator-(DoubleWord<V> x) {
  return {-x.hi, -x.lo};
}

// For a scalar the select of every type serves.
template <class V>
  requires(lane_traits<V>::lanes > 1)
ARRAYX_HD DoubleWord<V> select(mask_t<V> m, DoubleWord<V> a, DoubleWord<V> b) {
  return {ops::select(m, a.hi, b.hi), ops::select(m, a.lo, b.lo)};
}

// Relative error at most 2 units of 2^-2p, p the bits of the significand.
template <class V>
ARRAYX_HD DoubleWord<V> operator+(DoubleWord<V> x, V y) {
  const DoubleWord<V> s = two_sum(x.hi, y);
  return fast_two_sum(s.hi, x.lo + s.lo);
}

// Relative error about 3 units of 2^-2p, whatever the signs.
template <class V>
ARRAYX_HD DoubleWord<V> operator+(DoubleWord<V> x, DoubleWord<V> y) {
  const DoubleWord<V> s = two_sum(x.hi, y.hi);
  const DoubleWord<V> t = two_sum(x.lo, y.lo);
  const DoubleWord<V> v = fast_two_sum(s.hi, s.lo + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}

// The same with fewer steps; for |x| >= |y| and no cancellation between x.hi and y.hi.
template <class V>
ARRAYX_HD DoubleWord<V> fast_add(DoubleWord<V> x, DoubleWord<V> y) {
  const DoubleWord<V> s = fast_two_sum(x.hi, y.hi);
  return fast_two_sum(s.hi, s.lo + (x.lo + y.lo));
}

template <class V>
ARRAYX_HD DoubleWord<V> operator*(DoubleWord<V> x, V y) {
  const DoubleWord<V> p = two_prod(x.hi, y);
  return fast_two_sum(p.hi, mul_add(x.lo, y, p.lo));
}

template <class V>
ARRAYX_HD DoubleWord<V> operator*(DoubleWord<V> x, DoubleWord<V> y) {
  const DoubleWord<V> p = two_prod(x.hi, y.hi);
  return fast_two_sum(p.hi, p.lo + mul_add(x.hi, y.lo, x.lo * y.hi));
}

// x / y by one quotient and the correction from its exact remainder.
template <class V>
ARRAYX_HD DoubleWord<V> operator/(DoubleWord<V> x, DoubleWord<V> y) {
  const V q = x.hi / y.hi;
  const V remainder = exact_rest(x.hi, q, y.hi);
  return fast_two_sum(q, (remainder + (x.lo - q * y.lo)) / y.hi);
}

// a + b * c, if |a| is at least about twice |b * c| or a is zero.
template <class V>
ARRAYX_HD DoubleWord<V> add_product(V a, V b, V c) {
  if constexpr (has_fma) {
    const V sum = mul_add(b, c, a);
    return {sum, mul_add(b, c, a - sum)};
  } else {
    const DoubleWord<V> product = two_prod(b, c), sum = fast_two_sum(a, product.hi);
    return {sum.hi, sum.lo + product.lo};
  }
}

// a - b * c under the same condition.
template <class V>
ARRAYX_HD DoubleWord<V> subtract_product(V a, V b, V c) {
  if constexpr (has_fma) {
    const V difference = neg_mul_add(b, c, a);
    return {difference, neg_mul_add(b, c, a - difference)};
  } else {
    return add_product(a, -b, c);
  }
}

// 1 / x for a positive x, up to an eighth of it; exact for a power of two, finite for zero. Enough
// for what a square root lacks.
template <class V>
ARRAYX_HD V rough_reciprocal(V x) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr u twice_one = u(2 * limits<T>::exponent_bias) << limits<T>::mantissa_bits;
  return bit_cast<V>(splat<U>(twice_one) - bit_cast<U>(x));
}

// The square root of x >= 0; x.hi zero gives zero.
template <class V>
ARRAYX_HD DoubleWord<V> sqrt(DoubleWord<V> x) {
  const V zero = constant<V>(0);
  const V r = ops::sqrt(x.hi);
  const V remainder = exact_rest(x.hi, r, r) + x.lo;
  const V correction = remainder / (r + r);
  return fast_two_sum(r, ops::select(r > zero, correction, zero));
}

// c[I] + c[I + 1] x + c[I + 2] x^2 + ... by Horner's rule; the coefficients become immediates.
template <int I = 0, class V, int N>
ARRAYX_HD V horner(V x, const f64 (&c)[N]) {
  if constexpr (I == N - 1) {
    return constant<V>(c[I]);
  } else {
    return mul_add(horner<I + 1>(x, c), x, constant<V>(c[I]));
  }
}

namespace detail {
// The sum of the Count terms from c[First] on, over x^First; powers are x, x^2, x^4, x^8.
template <int First, int Count, class V, int N>
ARRAYX_HD V estrin_terms(const V (&powers)[4], const f64 (&c)[N]) {
  if constexpr (Count == 1) {
    return constant<V>(c[First]);
  } else {
    constexpr int level = Count > 8 ? 3 : Count > 4 ? 2 : Count > 2 ? 1 : 0;
    constexpr int half = 1 << level;
    return mul_add(estrin_terms<First + half, Count - half>(powers, c), powers[level],
                   estrin_terms<First, half>(powers, c));
  }
}
}  // namespace detail

// The same polynomial as horner, of at most 16 terms, by Estrin's scheme: a few more operations in
// a shorter chain. The longer functions are bound by latency: only two or three of their
// iterations fit the reorder buffer.
template <class V, int N>
ARRAYX_HD V estrin(V x, const f64 (&c)[N]) {
  static_assert(N <= 16);
  const V x2 = x * x;
  const V x4 = x2 * x2;
  const V powers[4] = {x, x2, x4, x4 * x4};
  return detail::estrin_terms<0, N>(powers, c);
}

}  // namespace math
ARRAYX_OPS_END
