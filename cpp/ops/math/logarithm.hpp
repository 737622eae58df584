// log, log1p, log2, log10 and logaddexp of real operands, and the parts the inverse hyperbolic
// functions and pow are made of. x = 2^k m; log m comes from a table of sixteen parts of m's range
// and a short series (see log_table.hpp), the leading terms with their rounding error.
#pragma once

#include "exponential.hpp"
#include "log_table.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// Neither zero, subnormal, negative, infinite nor NaN.
template <class V>
ARRAYX_HD mask_t<V> is_positive_normal(V x) {
  using limit = limits<scalar_t<V>>;
  return (x >= constant<V>(limit::min_normal)) & (x < constant<V>(limit::infinity));
}

// What k is counted in below: a float32 has it as the exponent field converted, not shifted.
template <class T>
inline constexpr f64 k_unit = same_type_v<T, f32> ? 0x1p-23 : 1;

// x = 2^k m, for positive normal x.
template <class V>
struct Decomposition {
  V k, m;              // k in units of k_unit
  uint_t<V> exponent;  // k in the place of the exponent field
  int_t<V> part;       // of log_table.hpp, in the lowest four bits
};
template <class V>
ARRAYX_HD Decomposition<V> decompose(V x) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr int bits = limits<T>::mantissa_bits, bias = limits<T>::exponent_bias;
  constexpr u one = u(bias) << bits, field = u(~u(0) << bits);
  // The middle of the tenth of sixteen parts is 1.
  constexpr u lowest = one - (u(19) << (bits - 5));
  const U t = bit_cast<U>(x) - splat<U>(lowest);
  const U exponent = t & splat<U>(field);
  V k;
  if constexpr (same_type_v<T, f32>) {
    k = convert<V>(bit_cast<int_t<V>>(exponent));
  } else {
    // A whole number below 2^bits under the exponent of 2^bits is that number plus 2^bits.
    const U biased_k = (bit_cast<U>(x) + splat<U>(one - lowest)) >> bits;
    const U under_exponent = biased_k | splat<U>(u(u(bias + bits) << bits));
    k = bit_cast<V>(under_exponent) - constant<V>(f64(u64(1) << bits) + bias);
  }
  const V m = bit_cast<V>(bit_cast<U>(x) - exponent);
  return {k, m, exponent, bit_cast<int_t<V>>(t >> (bits - 4))};
}

// The same where x may be subnormal too; anything not positive gives garbage.
template <class V>
ARRAYX_HD Decomposition<V> decompose_any(V x, mask_t<V> ordinary) {
  V excess = constant<V>(0);
  if (!all(ordinary)) {
    const mask_t<V> subnormal = x < constant<V>(limits<scalar_t<V>>::min_normal);
    x = select(subnormal, x * constant<V>(0x1p54), x);
    excess = select(subnormal, constant<V>(54 / k_unit<scalar_t<V>>), excess);
  }
  const Decomposition<V> d = decompose(x);
  return {d.k - excess, d.m, d.exponent, d.part};
}

// The logarithms of 2, times the unit of exponents, and of e in a base, in two parts; the high one
// of the first so short that its product with an exponent is exact.
struct LogFactor {
  f64 high, low;
};
template <class T, LogBase Base>
constexpr LogFactor log_of_two() {
  constexpr bool single = same_type_v<T, f32>;
  if constexpr (Base == LogBase::e) {
    return {exp_constants<T>::ln2_high * k_unit<T>, exp_constants<T>::ln2_low * k_unit<T>};
  } else if constexpr (Base == LogBase::two) {
    return {k_unit<T>, 0};
  } else {
    if constexpr (single) return {0x1.344p-2 * k_unit<T>, 0x1.3509f8p-18 * k_unit<T>};
    return {0x1.34413509f7800p-2, 0x1.fef311f12b358p-46};
  }
}
template <class T, LogBase Base>
constexpr LogFactor log_factor() {
  constexpr bool single = same_type_v<T, f32>;
  if constexpr (Base == LogBase::e) {
    return {1, 0};
  } else if constexpr (Base == LogBase::two) {
    if constexpr (single) return {0x1.715476p+0, 0x1.4ae0c0p-26};
    return {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56};
  } else {
    if constexpr (single) return {0x1.bcb7b2p-2, -0x1.5b235ep-27};
    return {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57};
  }
}

// (log(1 + r) - r) / r^2 in a base, for |r| <= 0.0342; with r the logarithm is good to 2^-60, in
// float32 to 2^-30.
template <LogBase Base, class V>
ARRAYX_HD V log1p_tail(V r) {
  constexpr f64 e = log_factor<f64, Base>().high;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return horner(r, {-0.5 * e, 0x1.5554e4fd65d94p-2 * e, -0x1.002799c7aa647p-2 * e,
                      0x1.9ebe4927150aap-3 * e});
  } else {
    return mul_add(
        estrin(r, {ARRAYX_F64(0x1.55555555554e7p-2 * e), -ARRAYX_F64(0x1.fffffffffc558p-3 * e),
                   ARRAYX_F64(0x1.9999999bb538ap-3 * e), -ARRAYX_F64(0x1.555555a219a7ep-3 * e),
                   ARRAYX_F64(0x1.2492302c762c5p-3 * e), -ARRAYX_F64(0x1.fffc2c72d3838p-4 * e),
                   ARRAYX_F64(0x1.c8049eaf58fb0p-4 * e), -ARRAYX_F64(0x1.a1823317a0e40p-4 * e)}),
        r, constant<V>(-0.5 * e));
  }
}

// m = (1 + r) / c, and -log c in two parts, of which the high one leaves room for an exponent.
template <class V>
struct LogReduction {
  V r, high, low, inverse;
};
template <LogBase Base, class V>
ARRAYX_HD LogReduction<V> look_up_log(int_t<V> part) {
  static constexpr LogTable<scalar_t<V>> table = log_table<scalar_t<V>, Base>();
  return {constant<V>(0), lookup(table.high, part), lookup(table.low, part),
          lookup(table.inverse, part)};
}
template <LogBase Base, class V>
ARRAYX_HD LogReduction<V> reduce_log(V m, int_t<V> part) {
  LogReduction<V> a = look_up_log<Base, V>(part);
  if constexpr (has_fma) {
    a.r = mul_add(m, a.inverse, constant<V>(-1));
  } else {
    const DoubleWord<V> s = split(m);  // short enough for exact products
    a.r = (s.hi * a.inverse - constant<V>(1)) + s.lo * a.inverse;
  }
  return a;
}

// k log 2 + a.high + a.low + log(1 + a.r) in a base, rounded once. The first two are exact as one
// number, zero or larger than log(1 + a.r). `r` is a.r, or with what that lacks, which a.low has.
template <LogBase Base, class V>
ARRAYX_HD V sum_of_logs(V k, LogReduction<V> a, V r) {
  using T = scalar_t<V>;
  constexpr LogFactor log_2 = log_of_two<T, Base>(), factor = log_factor<T, Base>();
  const V high = log_2.high == 1 ? k + a.high : mul_add(k, constant<V>(log_2.high), a.high);
  V low = a.low;
  if constexpr (Base != LogBase::two) low = mul_add(k, constant<V>(log_2.low), low);
  const V tail = log1p_tail<Base>(r);
  if constexpr (Base == LogBase::e) {
    const DoubleWord<V> head = fast_two_sum(high, a.r);
    return head.hi + (head.lo + mul_add(r * r, tail, low));
  } else {
    const V log_e = constant<V>(factor.high);
    low = mul_add(r, mul_add(r, tail, constant<V>(factor.low)), low);
    // The second term of a float32 is rounded once for itself; where it is about as large as the
    // sum, the sum is exact.
    if constexpr (has_fma && same_type_v<T, f32>) return high + mul_add(a.r, log_e, low);
    const DoubleWord<V> head = add_product(high, a.r, log_e);
    return head.hi + (head.lo + low);
  }
}

// c / 2^k for the c of a part.
template <class V>
ARRAYX_HD V scaled_inverse(V c, uint_t<V> exponent) {
  return bit_cast<V>(bit_cast<uint_t<V>>(c) - exponent);
}

// log((hi + lo) 2^extra), extra in units of k_unit, |lo| at most some ulps of hi, hi positive,
// between 2^-100 and 2^100 (2^-1000 and 2^1000); elsewhere garbage.
template <class V>
ARRAYX_HD V log_of_sum(V hi, V lo, V extra) {
  const Decomposition<V> d = decompose(hi);
  LogReduction<V> a = reduce_log<LogBase::e>(d.m, d.part);
  const V r_low = lo * scaled_inverse(a.inverse, d.exponent);
  a.low = a.low + r_low;
  return sum_of_logs<LogBase::e>(d.k + extra, a, a.r + r_low);
}

// The logarithm of 2^k m in a base.
template <LogBase Base, class V>
ARRAYX_HD V log_in_base(V k, V m, int_t<V> part) {
  const LogReduction<V> a = reduce_log<Base>(m, part);
  return sum_of_logs<Base>(k, a, a.r);
}

// Of any x. A branch of its own, so that the one of ordinary operands stays short; inline, since a
// call makes GCC load the constants anew for every vector (13 % of log in float64).
template <LogBase Base, class V>
ARRAYX_HD V log_of_any(V x) {
  const V subnormal_scale = constant<V>(0x1p54), zero = constant<V>(0);
  const mask_t<V> subnormal = x < constant<V>(limits<scalar_t<V>>::min_normal);
  const Decomposition<V> d = decompose(select(subnormal, x * subnormal_scale, x));
  const V k = d.k - select(subnormal, constant<V>(54 / k_unit<scalar_t<V>>), zero);
  V result = log_in_base<Base>(k, d.m, d.part);
  const V infinity = constant<V>(limits<f64>::infinity);
  result = select(x == infinity, infinity, result);
  result = select(x == zero, -infinity, result);
  result = select(x < zero, constant<V>(limits<f64>::nan), result);
  return select(is_nan(x), x, result);
}

template <LogBase Base, class V>
ARRAYX_HD V logarithm(V x) {
  if (!all_positive_normal(x)) return log_of_any<Base>(x);
  const Decomposition<V> d = decompose(x);
  return log_in_base<Base>(d.k, d.m, d.part);
}

}  // namespace detail

template <class V>
ARRAYX_HD V log(V x) {
  return detail::logarithm<detail::LogBase::e>(x);
}

template <class V>
ARRAYX_HD V log2(V x) {
  return detail::logarithm<detail::LogBase::two>(x);
}

template <class V>
ARRAYX_HD V log10(V x) {
  return detail::logarithm<detail::LogBase::ten>(x);
}

namespace detail {

template <class V>
ARRAYX_HD V log1p_of_any(V x, V result) {
  result = select(x < constant<V>(0x1p100), result, log_of_any<LogBase::e>(x));
  result = select(x == constant<V>(-1), constant<V>(-limits<f64>::infinity), result);
  result = select(x < constant<V>(-1), constant<V>(limits<f64>::nan), result);
  return select(is_nan(x), x, result);
}
}  // namespace detail

template <class V>
ARRAYX_HD V log1p(V x) {
  // What the sum lacks is exact up to 1 / epsilon, beyond of no account.
  const V one = constant<V>(1), u = one + x;
  V result = detail::log_of_sum(u, x - (u - one), constant<V>(0));
  const V lowest = constant<V>(limits<scalar_t<V>>::epsilon / 2 - 1);
  if (!all_within(x, lowest, constant<V>(0x1p100))) result = detail::log1p_of_any(x, result);
  return copysign(result, x);
}

// log(e^x + e^y) = max + log1p(e^-|x - y|). Its error is measured in ulps of max(|result|, 1):
// where the result crosses zero its two terms cancel.
template <class V>
ARRAYX_HD V logaddexp(V x, V y) {
  const V larger = select(x > y, x, y);
  // Equal infinities differ by nothing; beyond a limit the smaller is subnormal, or
  // nearly so, even beside zero.
  const V zero = constant<V>(0);
  const V difference = select(x == y, zero, fabs(x - y));
  const mask_t<V> counts = difference < constant<V>(same_type_v<scalar_t<V>, f32> ? 87.3 : 708.3);
  const detail::ExpParts<V> p = detail::exp_parts(select(counts, -difference, zero), zero);
  const V scale = select(counts, p.scale(), zero);
  const DoubleWord<V> e = fast_two_sum(p.hi * scale, p.lo * scale);
  const DoubleWord<V> u = fast_two_sum(constant<V>(1), e.hi);
  const V sum = larger + detail::log_of_sum(u.hi, u.lo + e.lo, zero);
  return select(is_nan(x) | is_nan(y), x + y, sum);
}

}  // namespace math
ARRAYX_OPS_END
