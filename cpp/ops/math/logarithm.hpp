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

// x = 2^k m, for positive normal x.
template <class V>
struct Decomposition {
  V k, m;
  uint_t<V> biased_k;  // k + bias, the exponent field of 2^k
  int_t<V> part;       // of log_table.hpp, in the lowest four bits
};
template <class V>
ARRAYX_HD Decomposition<V> decompose(V x) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr int bits = limits<T>::mantissa_bits, bias = limits<T>::exponent_bias;
  constexpr u one = u(bias) << bits;
  // The middle of the tenth of sixteen parts is 1.
  constexpr u lowest = one - (u(19) << (bits - 5));
  const U t = bit_cast<U>(x) + splat<U>(u(one - lowest));
  const U biased_k = t >> bits;
  // A whole number below 2^bits under the exponent of 2^bits is that number plus 2^bits.
  const U under_exponent = biased_k | splat<U>(u(u(bias + bits) << bits));
  const V k = bit_cast<V>(under_exponent) - constant<V>(f64(u64(1) << bits) + bias);
  const V m = bit_cast<V>((t & splat<U>(u((u(1) << bits) - 1))) + splat<U>(lowest));
  return {k, m, biased_k, bit_cast<int_t<V>>(t >> (bits - 4))};
}

// The same where x may be subnormal too; anything not positive gives garbage.
template <class V>
ARRAYX_HD Decomposition<V> decompose_any(V x, mask_t<V> ordinary) {
  V excess = constant<V>(0);
  if (!all(ordinary)) {
    const mask_t<V> subnormal = x < constant<V>(limits<scalar_t<V>>::min_normal);
    x = select(subnormal, x * constant<V>(0x1p54), x);
    excess = select(subnormal, constant<V>(54), excess);
  }
  const Decomposition<V> d = decompose(x);
  return {d.k - excess, d.m, d.biased_k, d.part};
}

// (2 atanh(s) - 2s) / s^3 in z = s^2, |s| <= 3 - sqrt(8); the error relative to 2s is 2^-59 in
// float64, 2^-30 in float32.
template <class V>
ARRAYX_HD V atanh_tail(V z) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return horner(z, {0x1.55557a2191883p-1, 0x1.995ebd0543c76p-2, 0x1.31e2b24ec03a4p-2});
  } else {
    return estrin(
        z, {0x1.5555555555592p-1, 0x1.999999997fe06p-2, 0x1.24924941ed71ep-2, 0x1.c71c520c0138ap-3,
            0x1.74663e6c407eep-3, 0x1.39a1c611b2250p-3, 0x1.2f04fab4239c9p-3});
  }
}

// log(1 + r) - r for |r| <= 0.0342; with r it is good to 2^-60, in float32 to 2^-30.
template <class V>
ARRAYX_HD V log1p_tail(V r) {
  V p;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    p = horner(r, {-0.5, 0x1.5554e4fd65d94p-2, -0x1.002799c7aa647p-2, 0x1.9ebe4927150aap-3});
  } else {
    p = mul_add(estrin(r, {0x1.55555555554e7p-2, -0x1.fffffffffc558p-3, 0x1.9999999bb538ap-3,
                           -0x1.555555a219a7ep-3, 0x1.2492302c762c5p-3, -0x1.fffc2c72d3838p-4,
                           0x1.c8049eaf58fb0p-4, -0x1.a1823317a0e40p-4}),
                r, constant<V>(-0.5));
  }
  return (r * r) * p;
}

// m = (1 + r) / c, and -log c in two parts, of which the high one leaves room for an exponent.
template <class V>
struct LogReduction {
  V r, high, low, inverse;
};
template <LogBase Base, class V>
ARRAYX_HD LogReduction<V> reduce_log(V m, int_t<V> part) {
  static constexpr LogTable<scalar_t<V>> table = log_table<scalar_t<V>, Base>();
  const V c = lookup(table.inverse, part);
  V r;
  if constexpr (has_fma) {
    r = mul_add(m, c, constant<V>(-1));
  } else {
    const DoubleWord<V> s = split(m);  // short enough for exact products
    r = (s.hi * c - constant<V>(1)) + s.lo * c;
  }
  return {r, lookup(table.high, part), lookup(table.low, part), c};
}

// k ln2 + p rounded once, |k ln2| >= |p| or k = 0.
template <class V>
ARRAYX_HD V add_exponent(V k, DoubleWord<V> p) {
  const DoubleWord<V> head = fast_two_sum(k * constant<V>(exp_constants_t<V>::ln2_high), p.hi);
  return head.hi + (head.lo + mul_add(k, constant<V>(exp_constants_t<V>::ln2_low), p.lo));
}

// k ln2 + a.high + low + log(1 + r), rounded once. The first two are exact as one number, zero or
// larger than r.
template <class V>
ARRAYX_HD V add_logs(V k, LogReduction<V> a, V r, V low) {
  using C = exp_constants_t<V>;
  const DoubleWord<V> head = fast_two_sum(mul_add(k, constant<V>(C::ln2_high), a.high), r);
  low = mul_add(k, constant<V>(C::ln2_low), low);
  return head.hi + (head.lo + (low + log1p_tail(r)));
}

// log((hi + lo) 2^extra), |lo| at most some ulps of hi, hi positive and normal; elsewhere
// garbage.
template <class V>
ARRAYX_HD V log_of_sum(V hi, V lo, V extra) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  const Decomposition<V> d = decompose(hi);
  // 2^(1 - k): unlike 2^-k it has an exponent field for every k, and no lo is lost to it.
  const U field = splat<U>(scalar_t<U>(2 * limits<T>::exponent_bias + 1)) - d.biased_k;
  const V scale = bit_cast<V>(field << limits<T>::mantissa_bits);
  const LogReduction<V> a = reduce_log<LogBase::e>(d.m, d.part);
  // Where r is less than lo, that is far from 1, and errors of r do not count.
  const DoubleWord<V> r = fast_two_sum(a.r, ((lo * scale) * constant<V>(0.5)) * a.inverse);
  return add_logs(d.k + extra, a, r.hi, a.low + r.lo);
}

// The logarithm of 2^k m in a base.
template <LogBase Base, class V>
ARRAYX_HD V log_in_base(V k, V m, int_t<V> part) {
  const LogReduction<V> a = reduce_log<Base>(m, part);
  if constexpr (Base == LogBase::e) {
    return add_logs(k, a, a.r, a.low);
  } else {
    constexpr bool single = same_type_v<scalar_t<V>, f32>, binary = Base == LogBase::two;
    constexpr f64 log2_e = single ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
    constexpr f64 log2_e_rest = single ? 0x1.4ae0c0p-26 : 0x1.777d0ffda0d24p-56;
    constexpr f64 log10_e = single ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2;
    constexpr f64 log10_e_rest = single ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57;
    // As ln2_high and ln2_low.
    constexpr f64 log10_2_high = single ? 0x1.344p-2 : 0x1.34413509f7800p-2;
    constexpr f64 log10_2_low = single ? 0x1.3509f8p-18 : 0x1.fef311f12b358p-46;
    const V factor = constant<V>(binary ? log2_e : log10_e);
    const V rest = constant<V>(binary ? log2_e_rest : log10_e_rest);
    V high, low = a.low;
    if constexpr (binary) {
      high = k + a.high;
    } else {
      high = mul_add(k, constant<V>(log10_2_high), a.high);
      low = mul_add(k, constant<V>(log10_2_low), low);
    }
    const DoubleWord<V> p = two_prod(a.r, factor);
    const DoubleWord<V> head = fast_two_sum(high, p.hi);
    low = mul_add(log1p_tail(a.r), factor, mul_add(a.r, rest, low + p.lo));
    return head.hi + (head.lo + low);
  }
}

// Of any x. A branch of its own, so that the one of ordinary operands stays short; inline, since a
// call makes GCC load the constants anew for every vector (13 % of log in float64).
template <LogBase Base, class V>
ARRAYX_HD V log_of_any(V x) {
  const V subnormal_scale = constant<V>(0x1p54), zero = constant<V>(0);
  const mask_t<V> subnormal = x < constant<V>(limits<scalar_t<V>>::min_normal);
  const Decomposition<V> d = decompose(select(subnormal, x * subnormal_scale, x));
  const V k = d.k - select(subnormal, constant<V>(54), zero);
  V result = log_in_base<Base>(k, d.m, d.part);
  const V infinity = constant<V>(limits<f64>::infinity);
  result = select(x == infinity, infinity, result);
  result = select(x == zero, -infinity, result);
  result = select(x < zero, constant<V>(limits<f64>::nan), result);
  return select(is_nan(x), x, result);
}

template <LogBase Base, class V>
ARRAYX_HD V logarithm(V x) {
  if (!all(is_positive_normal(x))) return log_of_any<Base>(x);
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
ARRAYX_HD V log1p_specials(V x, V result) {
  const V infinity = constant<V>(limits<f64>::infinity);
  const V minus_one = constant<V>(-1);
  result = select(x == infinity, infinity, result);
  result = select(x == minus_one, -infinity, result);
  result = select(x < minus_one, constant<V>(limits<f64>::nan), result);
  return select(is_nan(x), x, result);
}
}  // namespace detail

template <class V>
ARRAYX_HD V log1p(V x) {
  const mask_t<V> ordinary = (x > constant<V>(-1)) & (x < constant<V>(limits<f64>::infinity));
  const DoubleWord<V> u = two_sum(constant<V>(1), x);
  V result = detail::log_of_sum(u.hi, u.lo, constant<V>(0));
  if (!all(ordinary)) result = detail::log1p_specials(x, result);
  return copysign(result, x);
}

// log(e^x + e^y) = max + log1p(e^-|x - y|). Its error is measured in ulps of max(|result|, 1):
// where the result crosses zero its two terms cancel.
template <class V>
ARRAYX_HD V logaddexp(V x, V y) {
  const V larger = select(x > y, x, y);
  // Equal infinities differ by nothing; beyond 60 the smaller does not matter.
  const V zero = constant<V>(0);
  const V difference = select(x == y, zero, fabs(x - y));
  const mask_t<V> counts = difference < constant<V>(60);
  const detail::ExpParts<V> p = detail::exp_parts(select(counts, -difference, zero), zero);
  const V scale = select(counts, p.scale(), zero);
  const DoubleWord<V> e = fast_two_sum(p.hi * scale, p.lo * scale);
  const DoubleWord<V> u = fast_two_sum(constant<V>(1), e.hi);
  const V sum = larger + detail::log_of_sum(u.hi, u.lo + e.lo, zero);
  return select(is_nan(x) | is_nan(y), x + y, sum);
}

}  // namespace math
ARRAYX_OPS_END
