// pow and hypot of real operands. pow is e^(y log x) with log x in double-double to 2^-67, so that
// the largest exponent, |y log x| = 745, adds about a tenth of an ulp to the rounding.
#pragma once

#include "logarithm.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// log(x), its low part within some ulps of the high one, for positive x that is normal where
// `ordinary` says so and may be subnormal elsewhere.
template <class V>
ARRAYX_HD DoubleWord<V> log_double_word(V x, mask_t<V> ordinary) {
  const V one = constant<V>(1);
  const Decomposition<V> d = decompose_any(x, ordinary);
  // s = f / (m + 1) to twice the working precision by one reciprocal; f is exact.
  const V f = d.m - one;
  const V divisor = d.m + one;
  const V divisor_low = d.m - (divisor - one);
  const V reciprocal = one / divisor;
  const V s = f * reciprocal;
  const DoubleWord<V> product = two_prod(s, divisor);
  const V remainder = mul_add(-s, divisor_low, (f - product.hi) - product.lo);
  const V s_low = remainder * reciprocal;
  // log m = 2s + s z (2/3 + z q(z)), z = s^2; the error of q relative to 2s is 2^-73.
  const DoubleWord<V> square = two_square(s);
  const V z = square.hi;
  const V z_low = mul_add(s + s, s_low, square.lo);
  const V q = estrin(
      z, {0x1.9999999999998p-2, 0x1.2492492492b72p-2, 0x1.c71c71c5fabd6p-3, 0x1.745d17ff84c00p-3,
          0x1.3b136ea9188e3p-3, 0x1.111f1a0c44906p-3, 0x1.de6e8c0f273ebp-4, 0x1.e94f32f698861p-4});
  const DoubleWord<V> zq = two_prod(z, q);
  DoubleWord<V> series = fast_two_sum(constant<V>(0x1.5555555555555p-1), zq.hi);
  series.lo = series.lo + (mul_add(z_low, q, zq.lo) + constant<V>(0x1.5555555555555p-55));
  // s z series, whose terms of second order in the low parts are below the last bit.
  const DoubleWord<V> cube = two_prod(s, z);
  const V cube_low = cube.lo + mul_add(s, z_low, s_low * z);
  const DoubleWord<V> tail = two_prod(cube.hi, series.hi);
  const V tail_low = mul_add(cube.hi, series.lo, mul_add(cube_low, series.hi, tail.lo));
  const DoubleWord<V> log_m = fast_two_sum(s + s, tail.hi);
  const V log_m_low = log_m.lo + (tail_low + (s_low + s_low));
  const DoubleWord<V> head =
      fast_two_sum(d.k * constant<V>(exp_constants_t<V>::ln2_high), log_m.hi);
  const V low = mul_add(d.k, constant<V>(exp_constants_t<V>::ln2_low), log_m_low);
  return {head.hi, head.lo + low};
}

// x^y from |x|^y: the sign, and the special cases of C's Annex F and of the array API standard that
// the logarithm does not yield by itself.
template <class V>
ARRAYX_HD V pow_specials(V x, V y, V result) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V infinity = constant<V>(limits<f64>::infinity);
  const V magnitude = fabs(x);
  result = select(magnitude == zero, select(y < zero, infinity, zero), result);
  result = select(magnitude == infinity, select(y < zero, zero, infinity), result);
  const V half = y * constant<V>(0.5);
  const mask_t<V> integral = rint(y) == y;
  // An infinite y counts as even.
  const mask_t<V> odd = integral & (rint(half) != half);
  const mask_t<V> root_of_negative = (x < zero) & is_finite(x) & is_finite(y) & !integral;
  result = select(root_of_negative, constant<V>(limits<f64>::nan), result);
  result = select(sign_bit(x) & odd, -result, result);
  result = select(is_nan(x) | is_nan(y), x + y, result);
  const mask_t<V> is_one = (x == one) | (y == zero) | ((magnitude == one) & is_inf(y));
  return select(is_one, one, result);
}

// In float64 to 2^-30, for float32 operands: 2^(y log2 x) without a low part. The polynomials are
// those of log and exp to 2^-37 and 2^-34, scaled to base 2.
// A function object, since NVRTC takes no lambda without an execution space.
struct PowNarrow {
  template <class V>
  ARRAYX_HD V operator()(V x, V y) const {
    const mask_t<V> ordinary = is_positive_normal(x) & is_finite(y);
    const V one = constant<V>(1);
    const Decomposition<V> d = decompose(fabs(x));
    const V s = (d.m - one) / (d.m + one);
    const V z = s * s;
    const V series = estrin(z, {0x1.555554fda8631p-1 * log2_e, 0x1.999a7a7be30b1p-2 * log2_e,
                                0x1.2438da997014bp-2 * log2_e, 0x1.e2f6025239ec8p-3 * log2_e});
    const V log2_x = mul_add(s * z, series, mul_add(s, constant<V>(2 * log2_e), d.k));
    V t = y * log2_x;
    const mask_t<V> extreme = !(fabs(t) < constant<V>(1000));
    if (any(extreme)) t = clamp(t, 1000);
    const V shifter = constant<V>(exp_constants_t<V>::shifter);
    const V shifted = t + shifter;
    const V r = t - (shifted - shifter);
    constexpr f64 c2 = ln2 * ln2, c3 = ln2 * c2, c4 = ln2 * c3;
    constexpr f64 c5 = ln2 * c4, c6 = ln2 * c5, c7 = ln2 * c6;
    const V tail = estrin(
        r, {0x1.00000042e2c16p-1 * c2, 0x1.5555559793740p-3 * c3, 0x1.5554806b0913fp-5 * c4,
            0x1.11107d8bee59fp-7 * c5, 0x1.6d9671de731d0p-10 * c6, 0x1.a1b734bfdcc84p-13 * c7});
    const V power = mul_add(r * r, tail, mul_add(r, constant<V>(ln2), one));
    const V result = power * power_of_two(shifted);
    return all(ordinary) ? result : pow_specials(x, y, result);
  }
};

// Squares of float32 are exact in float64, so the sum is symmetric however it is fused.
struct HypotNarrow {
  template <class V>
  ARRAYX_HD V operator()(V x, V y) const {
    return sqrt(mul_add(x, x, y * y));
  }
};

}  // namespace detail

template <class V>
ARRAYX_HD V pow(V x, V y) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return map_wide(detail::PowNarrow{}, x, y);
  } else {
    const V magnitude = fabs(x);
    const mask_t<V> normal = detail::is_positive_normal(magnitude);
    const DoubleWord<V> log_x = detail::log_double_word(magnitude, normal);
    // No exponent beyond 2^70 gives anything but 0, 1 or infinity, and split() takes none so large.
    const V exponent = has_fma ? y : detail::clamp(y, 0x1p70);
    const DoubleWord<V> product = two_prod(exponent, log_x.hi);
    V t = product.hi;
    V t_low = mul_add(exponent, log_x.lo, product.lo);
    const mask_t<V> extreme = detail::exp_is_extreme(t);
    if (any(extreme)) {
      const mask_t<V> beyond = fabs(t) > constant<V>(800);
      t = detail::clamp(t, 800);
      t_low = select(beyond, constant<V>(0), t_low);
    }
    const V result = detail::assemble(detail::exp_parts_precise(t, t_low), extreme);
    const mask_t<V> ordinary = normal & !sign_bit(x) & is_finite(y);
    return all(ordinary) ? result : detail::pow_specials(x, y, result);
  }
}

template <class V>
ARRAYX_HD V hypot(V x, V y) {
  const V infinity = constant<V>(limits<scalar_t<V>>::infinity);
  V result;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    result = map_wide(detail::HypotNarrow{}, x, y);
  } else {
    const V a0 = fabs(x), b0 = fabs(y);
    V a = select(a0 > b0, a0, b0), b = select(a0 > b0, b0, a0);
    // Outside this range a square or its rounding error would overflow or lose bits.
    const mask_t<V> far = !((a < constant<V>(0x1p510)) & (b > constant<V>(0x1p-450)));
    V scale = constant<V>(1), unscale = constant<V>(1);
    if (any(far)) {
      const mask_t<V> big = far & (a > constant<V>(0x1p500));
      const mask_t<V> tiny = far & (a < constant<V>(0x1p-400));
      scale = select(big, constant<V>(0x1p-600), select(tiny, constant<V>(0x1p600), scale));
      unscale = select(big, constant<V>(0x1p600), select(tiny, constant<V>(0x1p-600), unscale));
      a = a * scale;
      b = b * scale;
    }
    const DoubleWord<V> a2 = two_square(a), b2 = two_square(b);
    const DoubleWord<V> sum = fast_two_sum(a2.hi, b2.hi);
    result = value(sqrt(DoubleWord<V>{sum.hi, sum.lo + (a2.lo + b2.lo)})) * unscale;
  }
  result = select(is_nan(x) | is_nan(y), x + y, result);
  return select(is_inf(x) | is_inf(y), infinity, result);
}

}  // namespace math
ARRAYX_OPS_END
