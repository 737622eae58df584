// log, log1p, log2, log10 and logaddexp of real operands, and the parts the inverse hyperbolic
// functions and pow are made of. x = 2^k m with m in [sqrt(1/2), sqrt(2)); log m comes from the
// series of 2 atanh(s), s = f / (2 + f), f = m - 1 (fdlibm's scheme), whose leading terms
// f - f^2/2 keep their rounding error.
#pragma once

#include "exponential.hpp"

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
};
template <class V>
ARRAYX_HD Decomposition<V> decompose(V x) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  using u = scalar_t<U>;
  constexpr int bits = limits<T>::mantissa_bits, bias = limits<T>::exponent_bias;
  constexpr u one = u(bias) << bits;
  constexpr u sqrt_half = u(sizeof(T) == 8 ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u);
  const U t = bit_cast<U>(x) + splat<U>(u(one - sqrt_half));
  const U biased_k = t >> bits;
  // A whole number below 2^bits under the exponent of 2^bits is that number plus 2^bits.
  const U under_exponent = biased_k | splat<U>(u(u(bias + bits) << bits));
  const V k = bit_cast<V>(under_exponent) - constant<V>(f64(u64(1) << bits) + bias);
  const V m = bit_cast<V>((t & splat<U>(u((u(1) << bits) - 1))) + splat<U>(sqrt_half));
  return {k, m, biased_k};
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
  return {d.k - excess, d.m, d.biased_k};
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

// log(1 + f) for f in [sqrt(1/2) - 1, sqrt(2) - 1], in two parts, |lo| < |hi| / 16; their sum is
// good to about a sixteenth of a unit in the last place of the result.
template <class V>
ARRAYX_HD DoubleWord<V> log1p_parts(V f) {
  const V s = f / (constant<V>(2) + f);
  const V z = s * s;
  const DoubleWord<V> square = two_square(f);
  const V minus_half = constant<V>(-0.5);
  const V half_square = square.hi * constant<V>(0.5);
  const V hi = f - half_square;
  const V lo = mul_add(minus_half, square.lo, (f - hi) - half_square);
  return {hi, mul_add(s, mul_add(z, atanh_tail(z), half_square), lo)};
}

// k ln2 + p rounded once, |k ln2| >= |p| or k = 0.
template <class V>
ARRAYX_HD V add_exponent(V k, DoubleWord<V> p) {
  const DoubleWord<V> head = fast_two_sum(k * constant<V>(exp_constants_t<V>::ln2_high), p.hi);
  return head.hi + (head.lo + mul_add(k, constant<V>(exp_constants_t<V>::ln2_low), p.lo));
}

// The values of a logarithm at zero, negative numbers, infinity and NaN.
template <class V>
ARRAYX_HD V log_specials(V x, V result) {
  const V infinity = constant<V>(limits<f64>::infinity);
  const V zero = constant<V>(0);
  result = select(x == infinity, infinity, result);
  result = select(x == zero, -infinity, result);
  result = select(x < zero, constant<V>(limits<f64>::nan), result);
  return select(is_nan(x), x, result);
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
  const DoubleWord<V> f = two_sum(d.m - constant<V>(1), (lo * scale) * constant<V>(0.5));
  DoubleWord<V> p = log1p_parts(f.hi);
  // log(1 + f + e) = log(1 + f) + e / (1 + f), to the first order of both.
  p.lo = p.lo + mul_add(-f.lo, f.hi, f.lo);
  return add_exponent(d.k + extra, p);
}

// The leading parts of log m times a constant c.
template <class V>
ARRAYX_HD DoubleWord<V> times_constant(DoubleWord<V> p, f64 c_hi, f64 c_lo) {
  const DoubleWord<V> product = two_prod(p.hi, constant<V>(c_hi));
  const V lo = mul_add(p.hi, constant<V>(c_lo), product.lo);
  return {product.hi, mul_add(p.lo, constant<V>(c_hi), lo)};
}

}  // namespace detail

template <class V>
ARRAYX_HD V log(V x) {
  const mask_t<V> ordinary = detail::is_positive_normal(x);
  const detail::Decomposition<V> d = detail::decompose_any(x, ordinary);
  const V result = detail::add_exponent(d.k, detail::log1p_parts(d.m - constant<V>(1)));
  return all(ordinary) ? result : detail::log_specials(x, result);
}

template <class V>
ARRAYX_HD V log2(V x) {
  constexpr bool single = same_type_v<scalar_t<V>, f32>;
  constexpr f64 log2_e = single ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
  constexpr f64 log2_e_rest = single ? 0x1.4ae0c0p-26 : 0x1.777d0ffda0d24p-56;
  const mask_t<V> ordinary = detail::is_positive_normal(x);
  const detail::Decomposition<V> d = detail::decompose_any(x, ordinary);
  const DoubleWord<V> p =
      detail::times_constant(detail::log1p_parts(d.m - constant<V>(1)), log2_e, log2_e_rest);
  const DoubleWord<V> head = fast_two_sum(d.k, p.hi);
  const V result = head.hi + (head.lo + p.lo);
  return all(ordinary) ? result : detail::log_specials(x, result);
}

template <class V>
ARRAYX_HD V log10(V x) {
  constexpr bool single = same_type_v<scalar_t<V>, f32>;
  constexpr f64 log10_e = single ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2;
  constexpr f64 log10_e_rest = single ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57;
  // As ln2_high and ln2_low.
  constexpr f64 log10_2_high = single ? 0x1.344p-2 : 0x1.34413509f7800p-2;
  constexpr f64 log10_2_low = single ? 0x1.3509f8p-18 : 0x1.fef311f12b358p-46;
  const mask_t<V> ordinary = detail::is_positive_normal(x);
  const detail::Decomposition<V> d = detail::decompose_any(x, ordinary);
  const DoubleWord<V> p =
      detail::times_constant(detail::log1p_parts(d.m - constant<V>(1)), log10_e, log10_e_rest);
  const DoubleWord<V> head = fast_two_sum(d.k * constant<V>(log10_2_high), p.hi);
  const V result = head.hi + (head.lo + mul_add(d.k, constant<V>(log10_2_low), p.lo));
  return all(ordinary) ? result : detail::log_specials(x, result);
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
