// exp, exp2 and expm1 of real operands, and the parts they and their relatives are made of.
// x = n ln2 + r with |r| <= ln2/2; e^r is a polynomial whose leading 1 + r keeps its rounding
// error. Coefficients: Remez, in 50 digits. The same code serves float32 with its own constants.
#pragma once

#include "double_word.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// What range reduction needs, per element type. Adding `shifter` to a whole number n leaves n +
// bias, the exponent field of 2^n, in the low bits. ln2_high is so short that its product with an
// exponent is exact; ln2_low is the rest. Where |x| < ordinary, 2^n and the result are normal;
// beyond `saturated` the result is 0 or infinity.
template <class T>
struct exp_constants;
template <>
struct exp_constants<f64> {
  static constexpr f64 shifter = 0x1.8p52 + 1023;
  static constexpr f64 ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
  static constexpr f64 reduce_high = ln2_high, reduce_low = ln2_low;
  static constexpr f64 ordinary = 708, saturated = 750;
};
template <>
struct exp_constants<f32> {
  static constexpr f64 shifter = 0x1.8p23 + 127;
  static constexpr f64 ln2_high = 0x1.62e4p-1, ln2_low = 0x1.7f7d1cp-20;
  // With a fused multiply-add the product need not be exact by itself, only the reduced argument,
  // and the correction stays tiny.
  static constexpr f64 reduce_high = has_fma ? 0x1.62e430p-1 : ln2_high;
  static constexpr f64 reduce_low = has_fma ? -0x1.05c610p-29 : ln2_low;
  static constexpr f64 ordinary = 87, saturated = 110;
};
template <class V>
using exp_constants_t = exp_constants<scalar_t<V>>;

inline constexpr f64 log2_e = 0x1.71547652b82fep+0;
inline constexpr f64 ln2 = 0x1.62e42fefa39efp-1;

// 2^n from shifted = n + shifter, for a normal 2^n.
template <class V>
ARRAYX_HD V power_of_two(V shifted) {
  return bit_cast<V>(bit_cast<uint_t<V>>(shifted) << limits<scalar_t<V>>::mantissa_bits);
}

// y 2^n rounded once, for |n| < 2 bias: y is scaled in two steps whose first is exact.
template <class V>
ARRAYX_HD V scale_in_two_steps(V y, V n) {
  const V shifter = constant<V>(exp_constants_t<V>::shifter);
  const V half = mul_add(n, constant<V>(0.5), shifter);
  const V rest = (n - (half - shifter)) + shifter;
  return (y * power_of_two(half)) * power_of_two(rest);
}

// e^x = 2^n (hi + lo), hi + lo in [0.7, 1.42] with an error of at most a quarter of its ulp.
template <class V>
struct ExpParts {
  V n, shifted, hi, lo;

  ARRAYX_HD V scale() const { return power_of_two(shifted); }
};

// (e^r - 1 - r) / r^2 on |r| <= ln2/2; the error relative to e^r is 2^-58, 2^-34 in float32.
template <class V>
ARRAYX_HD V exp_tail(V r) {
  // Even and odd terms apart: half the chain, at no cost since the caller has r^2 too.
  const V z = r * r;
  V even, odd;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    even = horner(z, {0x1.00000042e2c16p-1, 0x1.5554806b0913fp-5, 0x1.6d9671de731d0p-10});
    odd = horner(z, {0x1.5555559793740p-3, 0x1.11107d8bee59fp-7, 0x1.a1b734bfdcc84p-13});
  } else {
    even = horner(z, {0x1.000000000000bp-1, 0x1.5555555550046p-5, 0x1.6c16c185a28fdp-10,
                      0x1.a01996a0aa033p-16, 0x1.28b03d17889bfp-22});
    odd = horner(z, {0x1.5555555555561p-3, 0x1.111111110d606p-7, 0x1.a01a01baf18c5p-13,
                     0x1.71dddfae90282p-19, 0x1.af85aeb4016f6p-26});
  }
  return mul_add(odd, r, even);
}

// x = n ln2 + r + correction, r exact, the correction at most 2^-33 (in float32 2^-22, or 2^-12
// without a fused multiply-add).
template <class V>
struct ExpReduction {
  V n, shifted, r, correction;
};
template <class V>
ARRAYX_HD ExpReduction<V> reduce_exp(V x, V x_low) {
  const V shifter = constant<V>(exp_constants_t<V>::shifter);
  const V shifted = mul_add(x, constant<V>(log2_e), shifter);
  const V n = shifted - shifter;
  return {n, shifted, mul_add(n, constant<V>(-exp_constants_t<V>::reduce_high), x),
          mul_add(n, constant<V>(-exp_constants_t<V>::reduce_low), x_low)};
}

// e^(x + x_low) for |x| at most `saturated`.
template <class V>
ARRAYX_HD ExpParts<V> exp_parts(V x, V x_low) {
  const ExpReduction<V> a = reduce_exp(x, x_low);
  const V r = a.r + a.correction;
  const DoubleWord<V> one_plus_r = fast_two_sum(constant<V>(1), a.r);
  const V lo = one_plus_r.lo + mul_add(r * r, exp_tail(r), a.correction);
  return {a.n, a.shifted, one_plus_r.hi, lo};
}

// exp_parts to about 2^-60, 2^-30 in float32: r^2/2 too keeps its rounding error. For expm1 and
// tanh, where the 1 cancels, and pow, which has other errors to bear.
template <class V>
ARRAYX_HD ExpParts<V> exp_parts_precise(V x, V x_low) {
  const ExpReduction<V> a = reduce_exp(x, x_low);
  const V r = a.r + a.correction;
  const V half = constant<V>(0.5);
  const DoubleWord<V> square = two_square(a.r);
  const DoubleWord<V> one_plus_r = fast_two_sum(constant<V>(1), a.r);
  const DoubleWord<V> head = fast_two_sum(one_plus_r.hi, square.hi * half);
  // (e^r - 1 - r - r^2/2) / r^3; the error relative to e^r is 2^-64 and 2^-33.
  V p;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    p = horner(r, {0x1.555555854f07cp-3, 0x1.5554e627c7b24p-5, 0x1.1110939284223p-7,
                   0x1.6d4ed88a457bdp-10, 0x1.a19d2573dec1fp-13});
  } else {
    p = estrin(
        r, {0x1.555555555555bp-3, 0x1.555555555555ap-5, 0x1.111111110ec00p-7, 0x1.6c16c16c14157p-10,
            0x1.a01a01b3a2430p-13, 0x1.a01a01b1fc565p-16, 0x1.71ddefc95df31p-19,
            0x1.27e4c2c4f26e2p-22, 0x1.af6c7a0f8c83fp-26, 0x1.1f99b8a301159p-29});
  }
  const V correction = mul_add(a.correction, a.r, mul_add(half, square.lo, a.correction));
  const V lo = (one_plus_r.lo + head.lo) + mul_add((r * r) * r, p, correction);
  return {a.n, a.shifted, head.hi, lo};
}

// 2^n y for parts whose result may overflow or be subnormal.
template <class V>
ARRAYX_HD V assemble(ExpParts<V> p, mask_t<V> extreme) {
  const V y = p.hi + p.lo;
  V result = y * p.scale();
  if (any(extreme)) result = select(extreme, scale_in_two_steps(y, p.n), result);
  return result;
}

// x kept within [-bound, bound]; NaN stays.
template <class V>
ARRAYX_HD V clamp(V x, f64 bound) {
  const V limit = constant<V>(bound);
  x = select(x > limit, limit, x);
  return select(x < -limit, -limit, x);
}

// Outside the ordinary range, NaN included: overflow, gradual underflow and their neighbours.
template <class V>
ARRAYX_HD mask_t<V> exp_is_extreme(V x) {
  return !(fabs(x) < constant<V>(exp_constants_t<V>::ordinary));
}

}  // namespace detail

template <class V>
ARRAYX_HD V exp(V x) {
  const mask_t<V> extreme = detail::exp_is_extreme(x);
  if (any(extreme)) x = detail::clamp(x, detail::exp_constants_t<V>::saturated);
  return detail::assemble(detail::exp_parts(x, constant<V>(0)), extreme);
}

template <class V>
ARRAYX_HD V exp2(V x) {
  constexpr bool single = same_type_v<scalar_t<V>, f32>;
  constexpr f64 ln2_rounded = single ? 0x1.62e430p-1 : detail::ln2;
  constexpr f64 ln2_rest = single ? -0x1.05c610p-29 : 0x1.abc9e3b39803fp-56;
  const mask_t<V> extreme = !(fabs(x) < constant<V>(single ? 125 : 1021));
  if (any(extreme)) x = detail::clamp(x, single ? 160 : 1100);
  const V shifter = constant<V>(detail::exp_constants_t<V>::shifter);
  const V shifted = x + shifter;
  const V n = shifted - shifter;
  const V fraction = x - n;
  const DoubleWord<V> r = two_prod(fraction, constant<V>(ln2_rounded));
  const V r_low = mul_add(fraction, constant<V>(ln2_rest), r.lo);
  const DoubleWord<V> one_plus_r = fast_two_sum(constant<V>(1), r.hi);
  const V lo = one_plus_r.lo + mul_add(r.hi * r.hi, detail::exp_tail(r.hi), r_low);
  return detail::assemble(detail::ExpParts<V>{n, shifted, one_plus_r.hi, lo}, extreme);
}

template <class V>
ARRAYX_HD V expm1(V x) {
  using limit = detail::exp_constants_t<V>;
  const mask_t<V> extreme = detail::exp_is_extreme(x);
  // Below -40 the result is -1.
  const V low = constant<V>(-40);
  V y = select(x < low, low, x);
  if (any(extreme)) y = detail::clamp(y, limit::saturated);
  const detail::ExpParts<V> p = detail::exp_parts_precise(y, constant<V>(0));
  const V scale = p.scale();
  const DoubleWord<V> head = two_sum(p.hi * scale, constant<V>(-1));
  V result = head.hi + mul_add(p.lo, scale, head.lo);
  if (any(extreme)) {
    const mask_t<V> large = extreme & !(x < constant<V>(0));
    result = select(large, detail::scale_in_two_steps(p.hi + p.lo, p.n), result);
  }
  return copysign(result, x);
}

}  // namespace math
ARRAYX_OPS_END
