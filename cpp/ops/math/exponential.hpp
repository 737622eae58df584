// exp and expm1 of real operands, and the parts they and their relatives are made of.
// x = n ln2 + i ln2/16 + r: 2^(i/16) comes from a table, e^r from a short polynomial whose leading
// r keeps its rounding error. Coefficients: Remez, in 50 digits. The same code serves float32 with
// its own constants.
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
  // Of steps of ln2/16: their shifter leaves the number of steps in the low bits.
  static constexpr f64 step_shifter = 0x1.8p52;
  static constexpr f64 step_high = 0x1.62e42fefap-5, step_low = 0x1.cf79abc9e3b3ap-44;
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
  static constexpr f64 step_shifter = 0x1.8p23;
  static constexpr f64 step_high = has_fma ? 0x1.62e43p-5 : 0x1.62ep-5;
  static constexpr f64 step_low = has_fma ? -0x1.05c61p-33 : 0x1.0bfbe8p-19;
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

// 2^(i/16), a bit shorter than a T so that 2^n 2^(i/16) +- 1 is exact (n >= 0), and what its
// logarithm lacks of i ln2/16. `stepped` has the bits of the power less those that the number of
// steps adds to its significand where it is moved to the place of the exponent.
template <class T>
struct ExpTable {
  T power[16], rest[16], stepped[16];
};
inline constexpr ExpTable<f64> exp_table_f64 = {
    {0x1p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0,
     0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0, 0x1.6a09e667f3bcdp+0,
     0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f09p+0, 0x1.ae89f995ad3adp+0,
     0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0},
    {0x0p+0, 0x1.79aa65d837b6cp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a894p-54,
     0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6dp-55, 0x1.690cebb7aafbp-56, 0x1.063e1e21c5409p-54,
     -0x1.3b3efbf5e2229p-54, -0x1.b32dcb94da51dp-56, 0x1.db72fc1f0eab4p-55, 0x1.1affc2b91ce27p-56,
     0x1.c1a7792cb3387p-55, 0x1.36eae30af0cb3p-56, 0x1.4a385a63d07a7p-56, -0x1.ff7128fd391f1p-55},
    {}};
template <class T, int Multiple>
constexpr ExpTable<T> exp_table() {
  using u = typename ints_of_width<sizeof(T)>::u;
  ExpTable<T> r{};
  for (int i = 0; i < 16; ++i) {
    const f64 wide = exp_table_f64.power[i];
    r.power[i] = (T(wide) + T(2)) - T(2);
    const f64 lost = (wide - f64(r.power[i])) / f64(r.power[i]);
    const u steps = u(i) << (limits<T>::mantissa_bits - 4);
    r.stepped[i] = __builtin_bit_cast(T, u(__builtin_bit_cast(u, r.power[i]) - steps));
    r.rest[i] = T((exp_table_f64.rest[i] + (lost - 0.5 * lost * lost)) / Multiple);
  }
  return r;
}

// The whole part of a number of sixteenths in the place of the exponent field.
template <class V>
ARRAYX_HD uint_t<V> exponent_of_steps(uint_t<V> steps) {
  using u = scalar_t<uint_t<V>>;
  constexpr int bits = limits<scalar_t<V>>::mantissa_bits;
  return (steps << (bits - 4)) & splat<uint_t<V>>(u(~u(0) << bits));
}

// e^x = 2^n power e^(r + correction): r is exact and at most ln2/32, the correction is some ulps of
// it (2^-8 in float32 without a fused multiply-add).
template <class V>
struct ExpSteps {
  V steps;         // 16 n + i
  uint_t<V> bits;  // steps in the lowest bits
  V power;         // 2^(i/16)
  V stepped;       // of the table
  V r, correction;

  ARRAYX_HD V n() const { return floor(steps * constant<V>(0.0625)); }
  // 2^n power, for a normal result.
  ARRAYX_HD V scaled_power() const {
    return bit_cast<V>(bit_cast<uint_t<V>>(stepped) +
                       (bits << (limits<scalar_t<V>>::mantissa_bits - 4)));
  }
};
// Of e^(Multiple x), |Multiple x| at most `saturated`; r and correction are those of x itself.
template <int Multiple = 1, class V>
ARRAYX_HD ExpSteps<V> exp_steps(V x) {
  using C = exp_constants_t<V>;
  static constexpr ExpTable<scalar_t<V>> table = exp_table<scalar_t<V>, Multiple>();
  const V shifter = constant<V>(C::step_shifter);
  const V shifted = mul_add(x, constant<V>(16 * Multiple * log2_e), shifter);
  const V steps = shifted - shifter;
  const int_t<V> index = bit_cast<int_t<V>>(shifted);
  const V rest = lookup(table.rest, index);
  return {steps,
          bit_cast<uint_t<V>>(shifted),
          lookup(table.power, index),
          lookup(table.stepped, index),
          mul_add(steps, constant<V>(-C::step_high / Multiple), x),
          mul_add(steps, constant<V>(-C::step_low / Multiple), rest)};
}

// (e^r - 1 - r) / r^2 on |r| <= ln2/32; the error relative to r is 2^-60, 2^-31 in float32.
template <class V>
ARRAYX_HD V exp_tail(V r) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return horner(r, {0x1.fffffffdd3476p-2, 0x1.5557088471387p-3, 0x1.5557443d4dcb9p-5});
  } else {
    return horner(r, {0x1.0000000000003p-1, 0x1.5555555555559p-3, 0x1.55555554acf9dp-5,
                      0x1.111111108f362p-7, 0x1.6c181f942d5ddp-10, 0x1.a01b895b5dbfdp-13});
  }
}
// e^(r + correction) - 1, rounded.
template <class V>
ARRAYX_HD V expm1_of_rest(ExpSteps<V> s) {
  const V r = s.r + s.correction;
  return mul_add(r * r, exp_tail(r), r);
}

// e^(x + x_low) = 2^n (hi + lo), hi in [1, 2) and lo at most hi / 45, with an error of 2^-58 (2^-29
// in float32).
template <class V>
struct ExpParts {
  V n, shifted, hi, lo;

  ARRAYX_HD V scale() const { return power_of_two(shifted); }
};
template <class V>
ARRAYX_HD ExpParts<V> exp_parts(V x, V x_low) {
  ExpSteps<V> s = exp_steps(x);
  s.correction = s.correction + x_low;
  const V n = s.n();
  return {n, n + constant<V>(exp_constants_t<V>::shifter), s.power, s.power * expm1_of_rest(s)};
}

// e^x for an ordinary x, and for one whose result may overflow or be subnormal.
template <class V>
ARRAYX_HD V exp_of(ExpSteps<V> s) {
  const V scaled = s.scaled_power();
  return mul_add(scaled, expm1_of_rest(s), scaled);
}
template <class V>
ARRAYX_HD V exp_of_extreme(ExpSteps<V> s) {
  return scale_in_two_steps(mul_add(s.power, expm1_of_rest(s), s.power), s.n());
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

template <class V>
ARRAYX_HD bool exp_all_ordinary(V x) {
  return all_less(fabs(x), constant<V>(exp_constants_t<V>::ordinary));
}

}  // namespace detail

template <class V>
ARRAYX_HD V exp(V x) {
  using namespace detail;
  if (exp_all_ordinary(x)) return exp_of(exp_steps(x));
  const ExpSteps<V> s = exp_steps(clamp(x, exp_constants_t<V>::saturated));
  return select(exp_is_extreme(x), exp_of_extreme(s), exp_of(s));
}

template <class V>
ARRAYX_HD V expm1(V x) {
  using namespace detail;
  const V minus_one = constant<V>(-1);
  // Up to it 2^n power - 1 is exact where n is not negative.
  const V bound = constant<V>(same_type_v<scalar_t<V>, f32> ? 15 : 35);
  const bool ordinary = all_less(fabs(x), bound);
  // Far below 0 the result is -1.
  V y = x;
  if (!ordinary)
    y = clamp(select(x < constant<V>(-40), constant<V>(-40), x), exp_constants_t<V>::saturated);
  const ExpSteps<V> s = exp_steps(y);
  const V scaled = s.scaled_power();
  // 2^n power - 1, and to it what e^r adds: zero or larger than the rest, of which the leading
  // product with r keeps its rounding error.
  const DoubleWord<V> head =
      ordinary ? fast_two_sum(minus_one, scaled) : two_sum(scaled, minus_one);
  const V r = s.r + s.correction;
  const V tail = mul_add(r * r, exp_tail(r), s.correction);
  const DoubleWord<V> sum = add_product(head.hi, scaled, s.r);
  V result = sum.hi + (sum.lo + mul_add(scaled, tail, head.lo));
  if (!ordinary) {
    const mask_t<V> large = exp_is_extreme(x) & !(x < constant<V>(0));
    result = select(large, exp_of_extreme(s), result);
  }
  return copysign(result, x);
}

}  // namespace math
ARRAYX_OPS_END
