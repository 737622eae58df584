// sinh, cosh, tanh and their inverses, from the parts of exponential.hpp and logarithm.hpp.
#pragma once

#include "logarithm.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// e^x = 2^n plus and e^-x = 2^-n minus, with the even and the odd part of one polynomial.
template <class V>
struct ExpPair {
  V n, shifted;
  DoubleWord<V> plus, minus;
};
template <class V>
ARRAYX_HD ExpPair<V> exp_pair(V x) {
  const ExpReduction<V> a = reduce_exp(x, constant<V>(0));
  const V r = a.r + a.correction;
  const V z = r * r;
  // (cosh r - 1) / r^2 and (sinh r - r) / r^3 in r^2. Their errors in e^r are 2^-58 and 2^-62 in
  // float64, 2^-34 and 2^-37 in float32.
  V even, odd;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    even = horner(z, {0x1.00000043eae70p-1, 0x1.55547ee926f41p-5, 0x1.6d977a973cff7p-10});
    odd = horner(z, {0x1.5555557380bf8p-3, 0x1.1110b1cfc6618p-7, 0x1.a16fddccadbd2p-13});
  } else {
    even = horner(z, {0x1.000000000000cp-1, 0x1.555555554ffa2p-5, 0x1.6c16c185be6a5p-10,
                      0x1.a019966269023p-16, 0x1.28b06e56e21c1p-22});
    odd = horner(z, {0x1.5555555555559p-3, 0x1.111111110f6b4p-7, 0x1.a01a01afe29e2p-13,
                     0x1.71ddf85a9eeecp-19, 0x1.af5eb1d236c1ap-26});
  }
  odd = mul_add(z * r, odd, a.correction);
  DoubleWord<V> plus = fast_two_sum(constant<V>(1), a.r);
  DoubleWord<V> minus = fast_two_sum(constant<V>(1), -a.r);
  plus.lo = plus.lo + mul_add(even, z, odd);
  minus.lo = minus.lo + mul_add(even, z, -odd);
  return {a.n, a.shifted, plus, minus};
}

// (e^x + sign e^-x) / 2 for x >= 0.
template <class V>
ARRAYX_HD V half_exp_sum(V x, f64 sign) {
  // In the extreme range e^-x does not count, and e^x / 2 may still be finite where e^x is not.
  const mask_t<V> extreme = exp_is_extreme(x);
  if (any(extreme)) x = clamp(x, exp_constants_t<V>::saturated);
  const ExpPair<V> p = exp_pair(x);
  const V scale = power_of_two(p.shifted) * constant<V>(0.5);
  const V shifter = constant<V>(exp_constants_t<V>::shifter);
  const V inverse_scale = power_of_two((shifter - constant<V>(1)) - p.n) * constant<V>(sign);
  const DoubleWord<V> head = two_sum(p.plus.hi * scale, p.minus.hi * inverse_scale);
  V result = head.hi + (head.lo + mul_add(p.plus.lo, scale, p.minus.lo * inverse_scale));
  if (any(extreme)) {
    const V large = scale_in_two_steps(p.plus.hi + p.plus.lo, p.n - constant<V>(1));
    result = select(extreme, large, result);
  }
  return result;
}

// sqrt(a^2 + c), c = 1 or -1, to about twice the working precision.
template <class V>
ARRAYX_HD DoubleWord<V> sqrt_of_square(V a, V c) {
  const DoubleWord<V> square = two_square(a);
  const DoubleWord<V> sum = two_sum(square.hi, c);
  const V low = sum.lo + square.lo;
  // Where a^2 - 1 cancels, its low part is no longer small beside it.
  const DoubleWord<V> radicand = fast_two_sum(sum.hi, low);
  const V root = ops::sqrt(radicand.hi);
  const V remainder = exact_rest(radicand.hi, root, root) + radicand.lo;
  const V correction = remainder / (root + root);
  return {root, select(root > constant<V>(0), correction, root)};
}

// Where x itself is the result: the next term, at most a third of x^2, is under a sixteenth of an
// ulp.
template <class V>
ARRAYX_HD mask_t<V> is_tiny(V magnitude) {
  return magnitude < constant<V>(sizeof(scalar_t<V>) == 8 ? 0x1p-28 : 0x1p-14);
}

}  // namespace detail

template <class V>
ARRAYX_HD V sinh(V x) {
  const V magnitude = fabs(x);
  // Tiny numbers apart: halving a subnormal would lose its last bit.
  const V result = detail::half_exp_sum(magnitude, -1);
  return copysign(select(detail::is_tiny(magnitude), magnitude, result), x);
}

template <class V>
ARRAYX_HD V cosh(V x) {
  return detail::half_exp_sum(fabs(x), 1);
}

template <class V>
ARRAYX_HD V tanh(V x) {
  // tanh(a + h) = T + v (1 - T^2) / (1 + T v) with T = tanh a = (S - 1) / (S + 1), S = e^2a from
  // the table of exponentials and v = tanh h, |h| <= ln2/64: the division does not wait for h, and
  // the chain of dependent operations is half as long as through e^2x - 1. From 20 on the result
  // rounds to 1.
  const V limit = constant<V>(20), one = constant<V>(1);
  V a = fabs(x);
  a = select(a > limit, limit, a);
  const detail::ExpSteps<V> s = detail::exp_steps<2>(a);
  const V scaled = s.scaled_power();
  // S + 1 is exact up to 2^mantissa_bits; beyond only T's distance from 1 is inexact.
  const V two = constant<V>(2);
  const V d = scaled + one, n = d - two;
  const V reciprocal = one / d;
  const V t = n * reciprocal;
  const V t_square = t * t;
  const V rest = exact_rest(n, t, d) + ((d - n) - two);
  const V h = s.r + s.correction;
  const V square = h * h;
  // tanh h - s.r, and z / (1 + z) for z = T v, |z| <= ln2/64.
  V tail, fraction;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    tail = mul_add(h * square, constant<V>(-1. / 3), s.correction);
    const V z = t * (s.r + tail);
    fraction = z * mul_add(z, constant<V>(-0x1.fff8p-1), one);
  } else {
    tail = mul_add(h * square, horner(square, {-1. / 3, 2. / 15, -17. / 315, 62. / 2835}),
                   s.correction);
    const V z = t * (s.r + tail);
    fraction = z * estrin(z, {1, -1, 1, -1, 1, -1, 1});
  }
  const V v = s.r + tail;
  // (1 - T^2) / (1 + T v) - 1
  const V excess = mul_add(t_square - one, fraction, -t_square);
  const DoubleWord<V> sum = fast_two_sum(t, s.r);
  const V low = mul_add(v, excess, mul_add(rest, reciprocal, sum.lo + tail));
  return copysign(sum.hi + low, x);
}

template <class V>
ARRAYX_HD V asinh(V x) {
  // log(|x| + sqrt(x^2 + 1)); beyond 2^28 that is log(2 |x|).
  const V zero = constant<V>(0), one = constant<V>(1);
  const V magnitude = fabs(x);
  const mask_t<V> large = magnitude > constant<V>(0x1p28);
  const V a = select(large, one, magnitude);
  const DoubleWord<V> root = detail::sqrt_of_square(a, one);
  const DoubleWord<V> u = fast_two_sum(root.hi, a);
  V result = detail::log_of_sum(select(large, magnitude, u.hi), select(large, zero, u.lo + root.lo),
                                select(large, one, zero));
  result = select(detail::is_tiny(magnitude) | !is_finite(x), magnitude, result);
  return copysign(result, x);
}

template <class V>
ARRAYX_HD V acosh(V x) {
  // log(x + sqrt(x^2 - 1)); beyond 2^28 that is log(2x).
  const V zero = constant<V>(0), one = constant<V>(1);
  const mask_t<V> large = x > constant<V>(0x1p28);
  const V a = select(large, one, x);
  const DoubleWord<V> root = detail::sqrt_of_square(a, -one);
  const DoubleWord<V> u = fast_two_sum(a, root.hi);
  const V result = detail::log_of_sum(select(large, x, u.hi), select(large, zero, u.lo + root.lo),
                                      select(large, one, zero));
  const V outside = select(x < one, constant<V>(limits<f64>::nan), x);
  return select((x >= one) & is_finite(x), result, outside);
}

template <class V>
ARRAYX_HD V atanh(V x) {
  // log((1 + |x|) / (1 - |x|)) / 2. The quotient is never formed: with 1 - |x| = 2^-k d and
  // 1 + |x| = 2^(j - k) n it is 2^j n / d, whose s is (n - d) / (n + d).
  using T = scalar_t<V>;
  using U = uint_t<V>;
  const V one = constant<V>(1), zero = constant<V>(0), half = constant<V>(0.5);
  const V magnitude = fabs(x);
  const V a = select(magnitude < one, magnitude, zero);
  const DoubleWord<V> below = fast_two_sum(one, -a), above = fast_two_sum(one, a);
  const detail::Decomposition<V> d = detail::decompose(below.hi);
  const U field = splat<U>(scalar_t<U>(2 * limits<T>::exponent_bias)) - d.biased_k;
  const V scale = bit_cast<V>(field << limits<T>::mantissa_bits);
  const V below_low = below.lo * scale;
  const mask_t<V> halve = above.hi > d.m * constant<V>(0x1.6a09e667f3bcdp+0);
  const V factor = select(halve, half, one);
  const V k = select(halve, one, zero) - d.k;
  const V above_high = above.hi * factor, above_low = above.lo * factor;
  const DoubleWord<V> difference = two_sum(above_high, -d.m), sum = two_sum(above_high, d.m);
  const DoubleWord<V> numerator =
      fast_two_sum(difference.hi, difference.lo + (above_low - below_low));
  const V denominator_low = sum.lo + (above_low + below_low);
  const V reciprocal = one / sum.hi;
  const V s = numerator.hi * reciprocal;
  const V remainder =
      exact_rest(numerator.hi, s, sum.hi) + mul_add(-s, denominator_low, numerator.lo);
  const V z = s * s;
  const V low = mul_add(s * z, detail::atanh_tail(z) * half, remainder * reciprocal);
  V result = detail::add_exponent(k * half, DoubleWord<V>{s, low});
  const V infinity = constant<V>(limits<f64>::infinity);
  const V outside = select(magnitude > one, constant<V>(limits<f64>::nan), magnitude);
  result = select(magnitude < one, result, select(magnitude == one, infinity, outside));
  result = select(detail::is_tiny(magnitude), magnitude, result);
  return copysign(result, x);
}

}  // namespace math
ARRAYX_OPS_END
