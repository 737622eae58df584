// pow and hypot of real operands. pow is e^(y log x) with log x in two parts to 2^-64 (2^-35 in
// float32), so that the largest exponent, |y log x| = 745, adds about a quarter of an ulp to the
// rounding.
#pragma once

#include "logarithm.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// log(2^k m) in two parts.
template <class V>
ARRAYX_HD DoubleWord<V> log_double_word(Decomposition<V> d) {
  constexpr LogFactor log_2 = log_of_two<scalar_t<V>, LogBase::e>();
  const LogReduction<V> a = reduce_log<LogBase::e>(d.m, d.part);
  const V minus_half = constant<V>(-0.5);
  const DoubleWord<V> head = fast_two_sum(mul_add(d.k, constant<V>(log_2.high), a.high), a.r);
  const DoubleWord<V> square = two_prod(a.r, a.r * minus_half);  // -r^2/2
  const DoubleWord<V> sum = fast_two_sum(head.hi, square.hi);
  V low = mul_add(d.k, constant<V>(log_2.low), a.low) + square.lo;
  // log(1 + r) - r + r^2/2 by the powers of r and -r^2/2, to 2^-67 (2^-36) of log x.
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    low = mul_add(square.hi * a.r,
                  estrin(a.r, {-2 * 0x1.5555510744a41p-2, 2 * 0x1.ffff43712fa02p-3,
                               -2 * 0x1.9a03f760d661dp-3, 2 * 0x1.590650db86c89p-3}),
                  low);
  } else {
    const V q =
        estrin(a.r, {2 * 0x1.ffffffffffed2p-3, -2 * 0x1.9999999995325p-3, 2 * 0x1.55555557bed28p-3,
                     -2 * 0x1.249249779a35dp-3, 2 * 0x1.ffffcc7a659a4p-4, -2 * 0x1.c71898986ae81p-4,
                     2 * 0x1.9a79320719653p-4, -2 * 0x1.7be7a98e3c3a7p-4});
    // The rounding errors of r^3/3 count where r is largest beside log x. `third` is 2^-54 less
    // than a third of itself.
    const V third = constant<V>(-2 * 0x1.5555555555555p-2);
    const DoubleWord<V> cube = two_prod(square.hi, a.r);
    const V cube_low = mul_add(cube.hi, constant<V>(0x1p-54), mul_add(square.lo, a.r, cube.lo));
    low = mul_add(cube_low, third, low);
    low = mul_add(cube.hi, mul_add(q, a.r, third), low);
  }
  return fast_two_sum(sum.hi, low + (head.lo + sum.lo));
}
// Of x, normal where `ordinary` says so; elsewhere it may be subnormal.
template <class V>
ARRAYX_HD DoubleWord<V> log_double_word(V x, mask_t<V> ordinary) {
  return log_double_word(decompose_any(x, ordinary));
}

// y log x in two parts, where it is moderate. No y beyond 2^70 gives anything but 0, 1 or infinity,
// and split() takes none so large.
template <class V>
ARRAYX_HD DoubleWord<V> exponent_of_pow(DoubleWord<V> log_x, V y) {
  if constexpr (!has_fma) y = clamp(y, 0x1p70);
  const DoubleWord<V> product = two_prod(y, log_x.hi);
  return {product.hi, mul_add(y, log_x.lo, product.lo)};
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

// Of any operands. A branch of its own, as in log_of_any.
template <class V>
ARRAYX_HD V pow_of_any(V x, V y) {
  const V magnitude = fabs(x);
  const DoubleWord<V> log_x = log_double_word(magnitude, is_positive_normal(magnitude));
  DoubleWord<V> t = exponent_of_pow(log_x, y);
  const mask_t<V> extreme = exp_is_extreme(t.hi);
  const f64 bound = exp_constants_t<V>::saturated;
  t.lo = select(fabs(t.hi) > constant<V>(bound), constant<V>(0), t.lo);
  ExpSteps<V> s = exp_steps(clamp(t.hi, bound));
  s.correction = s.correction + t.lo;
  return pow_specials(x, y, select(extreme, exp_of_extreme(s), exp_of(s)));
}

// In float64 to 2^-30, for float32 operands where there is no fused multiply-add to make two parts
// cheap: 2^(y log2 x). The polynomials are those of 2 atanh((m - 1) / (m + 1)) and exp to 2^-37 and
// 2^-34, scaled to base 2.
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

// Whether x^y is a square, a cube, a reciprocal or a square root in any lane. Most of the time one
// comparison tells, since at most the first digit of these exponents' fractions is not zero.
template <class V>
ARRAYX_HD bool any_short_power(V y) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr u digits = (u(1) << (limits<scalar_t<V>>::mantissa_bits - 1)) - 1;
  return any_without(bit_cast<U>(y), splat<U>(digits)) &&
         any((y == constant<V>(2)) | (y == constant<V>(3)) | (y == constant<V>(-1)) |
             (y == constant<V>(0.5)));
}
// In float64, for float32 operands where there is no fused multiply-add.
struct CubeNarrow {
  template <class V>
  ARRAYX_HD V operator()(V x) const {
    return x * x * x;
  }
};
// x^3 in two parts, if they are ordinary.
template <class V>
ARRAYX_HD DoubleWord<V> cube_in_parts(V x) {
  const DoubleWord<V> square = two_square(x), cube = two_prod(square.hi, x);
  return {cube.hi, mul_add(square.lo, x, cube.lo)};
}
struct PowerOfThree {
  template <class V>
  ARRAYX_HD V operator()(V x) const {
    if constexpr (same_type_v<scalar_t<V>, f32> && !has_fma) {
      return map_wide(CubeNarrow{}, x);
    } else {
      constexpr bool narrow = same_type_v<scalar_t<V>, f32>;
      constexpr f64 least = narrow ? 0x1p-90 : 0x1p-900;
      const DoubleWord<V> cube = cube_in_parts(x);
      const V magnitude = fabs(cube.hi);
      if (all_within(magnitude, constant<V>(least), constant<V>(narrow ? 0x1p126 : 0x1p1022))) {
        return value(cube);
      }
      // The lower part of what is infinite is not a number; that of tiny numbers may have lost its
      // digits, and the sum of its zero and -0.0 would be +0.0.
      const V r = select(is_finite(cube.lo), value(cube), cube.hi);
      const DoubleWord<V> larger = cube_in_parts(x * constant<V>(narrow ? 0x1p40 : 0x1p128));
      const V tiny = value(larger) * constant<V>(narrow ? 0x1p-120 : 0x1p-384);
      return select(magnitude < constant<V>(least), copysign(tiny, x), r);
    }
  }
};
// x^(1/2): the square root, but of -0.0 and -infinity positive.
struct PowerOfHalf {
  template <class V>
  ARRAYX_HD V operator()(V x) const {
    const V infinity = constant<V>(limits<f64>::infinity);
    return sqrt_alone(select(x == -infinity, infinity, x)) + constant<V>(0);
  }
};
// Short powers are computed as what they are, to half an ulp; elsewhere the result.
template <class V>
ARRAYX_HD V with_short_powers(V x, V y, V result) {
  const V one = constant<V>(1);
  const mask_t<V> cube = y == constant<V>(3), inverse = y == -one, root = y == constant<V>(0.5);
  V r = select(y == constant<V>(2), x * x, result);
  if (any(cube)) r = select(cube, PowerOfThree{}(x), r);
  if (any(inverse)) r = select(inverse, one / x, r);
  if (any(root)) r = select(root, PowerOfHalf{}(x), r);
  return r;
}

}  // namespace detail

template <class V>
ARRAYX_HD V pow(V x, V y) {
  if constexpr (same_type_v<scalar_t<V>, f32> && !has_fma) {
    const V r = map_wide(detail::PowNarrow{}, x, y);
    return detail::any_short_power(y) ? detail::with_short_powers(x, y, r) : r;
  } else {
    if constexpr (lane_traits<V>::lanes == 1) {
      if (detail::any_short_power(y)) return detail::with_short_powers(x, y, x);
    }
    // Before any branch of vectors, so that the constants stay in registers.
    const DoubleWord<V> log_x = detail::log_double_word(detail::decompose(x));
    const DoubleWord<V> t = detail::exponent_of_pow(log_x, y);
    // A product that is NaN is extreme too: no infinite y and no NaN is ordinary.
    if (!(detail::exp_all_ordinary(t.hi) & all_positive_normal(x)) || detail::any_short_power(y)) {
      return detail::with_short_powers(x, y, detail::pow_of_any(x, y));
    }
    detail::ExpSteps<V> s = detail::exp_steps(t.hi);
    s.correction = s.correction + t.lo;
    return detail::exp_of(s);
  }
}

namespace detail {

// Where squares and their rounding errors stay in range: below `most`, above `least`; larger values
// than `big` and smaller ones than `tiny` are scaled.
template <class T>
struct hypot_constants;
template <>
struct hypot_constants<f64> {
  static constexpr f64 most = 0x1p510, least = 0x1p-450, big = 0x1p500, tiny = 0x1p-400;
  static constexpr f64 down = 0x1p-600, up = 0x1p600;
  static constexpr i64 half_inverse = 0x7FCE623822FC16E6;
};
template <>
struct hypot_constants<f32> {
  static constexpr f64 most = 0x1p62, least = 0x1p-45, big = 0x1p60, tiny = 0x1p-40;
  static constexpr f64 down = 0x1p-70, up = 0x1p100;
  static constexpr i32 half_inverse = 0x7E7311C3;
};

// 1 / (2 x) to 6 bits for x >= 0; finite where x is zero. The difference of the bits negates the
// exponent and is within an eighth; then a step of Newton's.
template <class V>
ARRAYX_HD V rough_half_inverse(V x) {
  using I = int_t<V>;
  constexpr scalar_t<I> bits = hypot_constants<scalar_t<V>>::half_inverse;
  const V h = bit_cast<V>(splat<I>(bits) - bit_cast<I>(x));
  return mul_add(h, mul_add(x + x, -h, constant<V>(1)), h);
}

}  // namespace detail

template <class V>
ARRAYX_HD V hypot(V x, V y) {
  const V infinity = constant<V>(limits<scalar_t<V>>::infinity);
  V result;
  if constexpr (same_type_v<scalar_t<V>, f32> && !has_fma) {
    result = map_wide(detail::HypotNarrow{}, x, y);
  } else {
    using C = detail::hypot_constants<scalar_t<V>>;
    const V a0 = fabs(x), b0 = fabs(y);
    V a = at_least(a0, b0), b = at_most(b0, a0);  // one of them is NaN where one of those is
    const V most = constant<V>(C::most), least = constant<V>(C::least);
    const bool any_far = !(all_less(a, most) & all_less(least, b));  // or infinite or NaN
    V scale = constant<V>(1), unscale = constant<V>(1);
    if (any_far) {
      const mask_t<V> far = !((a < most) & (b > least));
      const mask_t<V> big = far & (a > constant<V>(C::big));
      const mask_t<V> tiny = far & (a < constant<V>(C::tiny));
      scale = select(big, constant<V>(C::down), select(tiny, constant<V>(C::up), scale));
      unscale =
          select(big, constant<V>(1 / C::down), select(tiny, constant<V>(1 / C::up), unscale));
      a = a * scale;
      b = b * scale;
    }
    const DoubleWord<V> a2 = two_square(a), b2 = two_square(b);
    const DoubleWord<V> sum = fast_two_sum(a2.hi, b2.hi);
    // What the root leaves is an ulp of it at most: a few bits of the quotient are enough.
    const V root = sqrt(sum.hi);
    const V rest = exact_rest(sum.hi, root, root) + (sum.lo + (a2.lo + b2.lo));
    result = mul_add(rest, detail::rough_half_inverse(root), root);
    if (!any_far) return result;
    result = result * unscale;
  }
  result = select(is_nan(x) | is_nan(y), x + y, result);
  return select(is_inf(x) | is_inf(y), infinity, result);
}

}  // namespace math
ARRAYX_OPS_END
