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

// e^a / 2 and e^-a / 2 for numbers a near i ln2/16 of which both are all but exact, to 2^-32 of
// them (2^-62 in float64), and i ln2/16 - a.
template <class T>
struct HalfExpTable;
template <>
struct HalfExpTable<f32> {
  f32 power[16] = {0x1p-1,        0x1.0b557p-1,  0x1.172c68p-1, 0x1.2385eap-1,
                   0x1.306fe6p-1, 0x1.3deb32p-1, 0x1.4bfc2ep-1, 0x1.5ab0ccp-1,
                   0x1.69f532p-1, 0x1.7a10f2p-1, 0x1.8ad01cp-1, 0x1.9c480ep-1,
                   0x1.ae89f2p-1, 0x1.c199p-1,   0x1.d58058p-1, 0x1.ea4b24p-1};
  f32 inverse[16] = {0x1p-1,        0x1.ea4b24p-2, 0x1.d5800ep-2, 0x1.c19c6cp-2,
                     0x1.ae89f2p-2, 0x1.9c480ep-2, 0x1.8ad01cp-2, 0x1.7a10f2p-2,
                     0x1.6a1e9cp-2, 0x1.5ab0ccp-2, 0x1.4bfc2ep-2, 0x1.3deb32p-2,
                     0x1.306fe6p-2, 0x1.238822p-2, 0x1.172c3cp-2, 0x1.0b557p-2};
  f32 rest[16] = {0,
                  0x1.5d805179bd94ap-20,
                  -0x1.a28dba40657a6p-17,
                  0x1.86afa13ffa23fp-16,
                  -0x1.209d7883bfd0cp-22,
                  -0x1.4a8b5adb494c6p-17,
                  0x1.27964f16f2936p-16,
                  -0x1.cdc5b371066fap-19,
                  0x1.d48be58aad40cp-13,
                  0x1.cdc63011066fap-19,
                  -0x1.2796c99af2934p-16,
                  0x1.4a8a6e1f494c9p-17,
                  0x1.20a1cb03bfd0ep-22,
                  0x1.b0635e9c4fe4fp-18,
                  0x1.51da7cdc86c74p-17,
                  -0x1.5d7eef79bd949p-20};
};
template <>
struct HalfExpTable<f64> {
  f64 power[16] = {0x1p-1,
                   0x1.0b5d18500b79bp-1,
                   0x1.1723cc7175399p-1,
                   0x1.238af5651fa2ep-1,
                   0x1.306e823d3c771p-1,
                   0x1.3de58ceb3f96ep-1,
                   0x1.4bfdbfeeea5d6p-1,
                   0x1.5aad7e1ea120dp-1,
                   0x1.6a02def9d8f98p-1,
                   0x1.7a1631344062dp-1,
                   0x1.8acba07f13023p-1,
                   0x1.9c4407dd53e3p-1,
                   0x1.ae8b45a1f1567p-1,
                   0x1.c19e86d25f23ep-1,
                   0x1.d5844c9e9754fp-1,
                   0x1.ea51faa36ca6p-1};
  f64 inverse[16] = {0x1p-1,
                     0x1.ea3d192a09e05p-2,
                     0x1.d58e884747523p-2,
                     0x1.c194a46f4c095p-2,
                     0x1.ae8be92181d74p-2,
                     0x1.9c4f6020e119cp-2,
                     0x1.8ace3e01d8597p-2,
                     0x1.7a148c77a86aep-2,
                     0x1.6a10edf8fed53p-2,
                     0x1.5aabfc55c3dd4p-2,
                     0x1.4bfff2f023cf6p-2,
                     0x1.3dee4c62ff33dp-2,
                     0x1.306ef5d8b8bap-2,
                     0x1.23848ca3367eep-2,
                     0x1.1729e1e5e12d4p-2,
                     0x1.0b51b5833311fp-2};
  f64 rest[16] = {0,
                  -0x1.cfd05956cee44p-14,
                  0x1.c4df5f0907107p-14,
                  -0x1.73a7a343a3795p-15,
                  0x1.26a6a4e6a8d33p-16,
                  0x1.f3335c47df965p-15,
                  -0x1.cb25d5c985844p-21,
                  0x1.1b72d2bb86d8ap-15,
                  0x1.3e1bff95dc56ep-14,
                  -0x1.a9e38581ef29bp-15,
                  0x1.c07a79750d64ap-16,
                  0x1.927701a2a3a57p-15,
                  -0x1.8adf154b96d1cp-17,
                  -0x1.5cbd79e08bba8p-15,
                  -0x1.7f3455e8b97d7p-16,
                  -0x1.d3f1f4b0b559dp-15};
};

enum class Hyperbolic { sine, cosine };

// Of x >= 0, by the addition theorem: x = a + n ln2 + r, e^(x - r) / 2 and e^(r - x) / 2 come from
// the table.
template <Hyperbolic Function, class V>
ARRAYX_HD V half_exp_sum(V x) {
  using C = exp_constants_t<V>;
  static constexpr HalfExpTable<scalar_t<V>> table{};
  using U = uint_t<V>;
  constexpr bool single = same_type_v<scalar_t<V>, f32>;
  // Beyond it e^-x does not count, and e^x / 2 may still be finite where e^x is not.
  const V bound = constant<V>(single ? 80 : 700);
  const bool ordinary = all_less(x, bound);
  const V y = ordinary ? x : at_most(x, constant<V>(C::saturated));
  const V shifter = constant<V>(C::step_shifter);
  const V shifted = mul_add(y, constant<V>(16 * log2_e), shifter);
  const V steps = shifted - shifter;
  const int_t<V> index = bit_cast<int_t<V>>(shifted);
  const U exponent = exponent_of_steps<V>(bit_cast<U>(shifted));
  const V r = mul_add(steps, constant<V>(-C::step_high), y);
  const V correction = mul_add(steps, constant<V>(-C::step_low), lookup(table.rest, index));
  const V half_power = lookup(table.power, index);
  const V grown = bit_cast<V>(bit_cast<U>(half_power) + exponent);
  const V shrunk = bit_cast<V>(bit_cast<U>(lookup(table.inverse, index)) - exponent);
  // sinh(r + correction) - r and cosh(r + correction) - 1.
  const V sum = r + correction, square = sum * sum;
  V sine, cosine;
  if constexpr (single) {
    sine = mul_add(sum * square, constant<V>(0x1.55565cc6de7e2p-3), correction);
    cosine = square * constant<V>(0x1.0001494e1bdc3p-1);
  } else {
    sine =
        mul_add(sum * square,
                horner(square, {0x1.5555555555556p-3, 0x1.11111110e0a7dp-7, 0x1.a01b0d4015739p-13}),
                correction);
    cosine = square *
             horner(square, {0x1.0000000000001p-1, 0x1.55555554e8688p-5, 0x1.6c17ee8026c19p-10});
  }
  const DoubleWord<V> even = fast_two_sum(grown, shrunk);
  const V difference = grown - shrunk;
  V result;
  if constexpr (Function == Hyperbolic::cosine) {
    const V low = mul_add(difference, r + sine, mul_add(even.hi, cosine, even.lo));
    result = even.hi + low;
  } else {
    // The leading product is as large as the sum can be.
    const V difference_low = (grown - difference) - shrunk;
    V low = mul_add(even.lo, r, difference_low);
    low = mul_add(even.hi, sine, mul_add(difference, cosine, low));
    const DoubleWord<V> head = add_product(difference, even.hi, r);
    result = head.hi + (head.lo + low);
  }
  if (!ordinary) {
    const V large = scale_in_two_steps(mul_add(half_power, (r + sine) + cosine, half_power),
                                       floor(steps * constant<V>(0.0625)));
    result = select(x < bound, result, large);
  }
  return result;
}

// a^2 + b in two parts, for a >= 0 and b = 1 or 2 a. Its low part need not be right where the sum
// is beyond 2^mantissa_bits.
template <class V>
ARRAYX_HD DoubleWord<V> square_plus(V a, V b) {
  if constexpr (has_fma) {
    const V sum = mul_add(a, a, b);
    return {sum, mul_add(a, a, b - sum)};
  } else {
    const DoubleWord<V> square = two_square(a), sum = two_sum(square.hi, b);
    return fast_two_sum(sum.hi, sum.lo + square.lo);
  }
}

// The square root, to an eighth of an ulp.
template <class V>
ARRAYX_HD DoubleWord<V> rough_sqrt(DoubleWord<V> x) {
  const V root = ops::sqrt(x.hi);
  const V remainder = exact_rest(x.hi, root, root) + x.lo;
  return {root, (remainder * constant<V>(0.5)) * rough_reciprocal(root)};
}

// Of sixteen polynomials, one to each part of a range, whose coefficients are looked up, the one in
// d, the distance from the middle of its part: with AVX-512 a coefficient of all parts is a
// register and a lookup one instruction.
template <int I = 0, class V, class T, int N>
ARRAYX_HD V piecewise(V d, int_t<V> part, const T (&c)[N][16]) {
  if constexpr (I == N - 1) {
    return lookup(c[I], part);
  } else {
    return mul_add(piecewise<I + 1>(d, part, c), d, lookup(c[I], part));
  }
}

// tanh in parts of 19/32, up to where the result has long been 1: numbers m near the middles whose
// tanh is all but exact, and the polynomial q of tanh(m + d) = tanh m + d q(d), in the first part
// d + d q(d).
struct TanhTable {
  f32 middle[16], high[16], q[7][16];
};
inline constexpr TanhTable tanh_table = {
    {0, 0x1.2fdbb6p-1, 0x1.2fef86p0, 0x1.c7f15p0, 0x1.2ffbcap1, 0x1.7c00cep1, 0x1.c7f6acp1,
     0x1.0a0338p2, 0x1.30016p2, 0x1.55ffcap2, 0x1.7bf27ep2, 0x1.a21ca6p2, 0x1.c79ab8p2,
     0x1.ec3fa6p2, 0x1.0a2b24p3, 0x1.154246p3},
    {0, 0x1.109548p-1, 0x1.a8d188p-1, 0x1.e3bd88p-1, 0x1.f736e4p-1, 0x1.fd4e28p-1, 0x1.ff2d18p-1,
     0x1.ffbfb4p-1, 0x1.ffec62p-1, 0x1.fffa04p-1, 0x1.fffe2cp-1, 0x1.ffff72p-1, 0x1.ffffd4p-1,
     0x1.fffff2p-1, 0x1.fffffcp-1, 0x1.fffffep-1},
    {{0, 0x1.6ee138p-1, 0x1.3f0942p-2, 0x1.b7ad12p-4, 0x1.16ba02p-5, 0x1.5803a2p-7, 0x1.a5792p-9,
      0x1.011fdap-10, 0x1.39da06p-12, 0x1.7efdcap-14, 0x1.d3ff34p-16, 0x1.1bffep-17, 0x1.5fffecp-19,
      0x1.bfffecp-21, 0x1.fffffap-23, 0x1.ffffe8p-24},
     {0, -0x1.86a544p-2, -0x1.08b64ap-2, -0x1.9f686cp-4, -0x1.11f18ep-5, -0x1.56342p-7,
      -0x1.a4cb94p-9, -0x1.00ff9ap-10, -0x1.39d1e8p-12, -0x1.7efcp-14, -0x1.d40198p-16,
      -0x1.1c028cp-17, -0x1.5ffe5cp-19, -0x1.bffa88p-21, -0x1.fffe9ap-23, -0x1.ffea56p-24},
     {-0x1.55549p-2, -0x1.24e7p-5, 0x1.c52be4p-4, 0x1.ebd79ap-5, 0x1.60ab1cp-6, 0x1.c3768cp-8,
      0x1.17a03ep-9, 0x1.5653fcp-11, 0x1.a24824p-13, 0x1.fe95ap-15, 0x1.37fc4p-16, 0x1.7aa8e4p-18,
      0x1.d5547cp-20, 0x1.2aa7cp-21, 0x1.55559ap-23, 0x1.54e1p-24},
     {-0x1.935996p-14, 0x1.2b6f5ap-3, -0x1.6fc226p-8, -0x1.77a072p-6, -0x1.4805ccp-7,
      -0x1.b9e49cp-9, -0x1.15cbccp-10, -0x1.559faep-12, -0x1.a02a1ap-14, -0x1.fd31b2p-16,
      -0x1.36fdf2p-17, -0x1.7939fap-19, -0x1.d5fe7ap-21, -0x1.2c05fcp-22, -0x1.55a352p-24,
      -0x1.5c4b3cp-25},
     {0x1.135ad2p-3, -0x1.98c0f6p-5, -0x1.9ebeacp-6, 0x1.0810cp-8, 0x1.c01bbcp-9, 0x1.524ff8p-10,
      0x1.b6ebbcp-12, 0x1.104146p-13, 0x1.4df5d4p-15, 0x1.9848acp-17, 0x1.f2e7ep-19, 0x1.2f29c8p-20,
      0x1.77cfdp-22, 0x1.e3ae22p-24, 0x1.10d876p-25, 0x1.9191cp-26},
     {-0x1.77f39ap-8, -0x1.f9519ep-6, 0x1.12ae98p-6, 0x1.c2676p-10, -0x1.875892p-11,
      -0x1.9d0fc4p-12, -0x1.2057bp-13, -0x1.6ca5a8p-15, -0x1.18485cp-16, -0x1.394d1cp-18,
      -0x1.8a3a66p-20, -0x1.ed6996p-22, -0x1.cfe97ep-24, -0x1.cc0362p-26, -0x1.5c5388p-27,
      -0x1.a4cc2ap-26},
     {-0x1.596936p-5, 0x1.d9392cp-6, -0x1.cd5a22p-9, -0x1.cfd526p-10, 0x1.7460f6p-17,
      0x1.7f98d8p-14, 0x1.2d3a7ep-15, 0x1.968e24p-17, 0x1.009f1p-18, 0x1.36c23p-20, 0x1.8d5ea2p-22,
      0x1.a64e9p-24, 0x1.faacb8p-26, -0x1.92c3e6p-28, 0x1.c66d6cp-29, 0x1.2c87a8p-26}}};
template <class V>
ARRAYX_HD V tanh_by_parts(V magnitude) {
  static constexpr TanhTable table = tanh_table;
  const V shifter = constant<V>(0x1.8p23);
  const V shifted = mul_add(magnitude, constant<V>(32. / 19), shifter);
  const int_t<V> part = bit_cast<int_t<V>>(shifted);
  const V d = magnitude - lookup(table.middle, part);
  const V start = select(shifted == shifter, d, lookup(table.high, part));
  const V q = piecewise(d, part, table.q);
  if constexpr (has_fma) {
    return mul_add(d, q, start);
  } else {
    return value(add_product(start, d, q));
  }
}

// log(2 magnitude) from 2^28 on, below log(u.hi + u.lo), and x where it is infinite or NaN.
template <class V>
ARRAYX_HD V log_of_large(V x, V magnitude, DoubleWord<V> u) {
  const V zero = constant<V>(0);
  const mask_t<V> large = magnitude >= constant<V>(0x1p28);
  // 2^-40 keeps it in the range of log_of_sum.
  const V result =
      log_of_sum(select(large, magnitude * constant<V>(0x1p-40), u.hi), select(large, zero, u.lo),
                 select(large, constant<V>(41 / k_unit<scalar_t<V>>), zero));
  return select(magnitude < constant<V>(limits<f64>::infinity), result, x);
}

// 1 + x = 2^k (1 + r) / c for an x of (-1, 1).
template <class V>
struct OnePlusReduction {
  V k, r, high, low;
};
template <class V>
ARRAYX_HD OnePlusReduction<V> reduce_one_plus(V x) {
  const V one = constant<V>(1);
  const Decomposition<V> d = decompose(one + x);
  const LogReduction<V> a = look_up_log<LogBase::e, V>(d.part);
  const V scaled = scaled_inverse(a.inverse, d.exponent), rest = scaled - one;
  V r;
  if constexpr (has_fma) {
    r = mul_add(x, scaled, rest);
  } else {
    const DoubleWord<V> s = split(x);  // short enough for exact products
    r = (s.hi * scaled + rest) + s.lo * scaled;
  }
  return {d.k, r, a.high, a.low};
}

}  // namespace detail

template <class V>
ARRAYX_HD V sinh(V x) {
  return with_sign(detail::half_exp_sum<detail::Hyperbolic::sine>(fabs(x)), x);
}

template <class V>
ARRAYX_HD V cosh(V x) {
  return detail::half_exp_sum<detail::Hyperbolic::cosine>(fabs(x));
}

template <class V>
ARRAYX_HD V tanh(V x) {
  const V limit = constant<V>(same_type_v<scalar_t<V>, f32> ? 9.125 : 20), one = constant<V>(1);
  // From there on the result rounds to 1.
  const V a = at_most(fabs(x), limit);
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return with_sign(detail::tanh_by_parts(a), x);
  } else {
    // tanh(a + h) = T + v (1 - T^2) / (1 + T v) with T = tanh a = (S - 1) / (S + 1), S = e^2a from
    // the table of exponentials and v = tanh h, |h| <= ln2/64: the division does not wait for h,
    // and the chain of dependent operations is half as long as through e^2x - 1.
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
    const V tail = mul_add(h * square, horner(square, {-1. / 3, 2. / 15, -17. / 315, 62. / 2835}),
                           s.correction);
    const V z = t * (s.r + tail);
    const V fraction = z * estrin(z, {1, -1, 1, -1, 1, -1, 1});
    const V v = s.r + tail;
    // (1 - T^2) / (1 + T v) - 1
    const V excess = mul_add(t_square - one, fraction, -t_square);
    const DoubleWord<V> sum = fast_two_sum(t, s.r);
    const V low = mul_add(v, excess, mul_add(rest, reciprocal, sum.lo + tail));
    return copysign(sum.hi + low, x);
  }
}

template <class V>
ARRAYX_HD V asinh(V x) {
  // log(|x| + sqrt(x^2 + 1)); beyond 2^28 that is log(2 |x|).
  const V zero = constant<V>(0), one = constant<V>(1), bound = constant<V>(0x1p28);
  const V magnitude = fabs(x);
  const V a = at_most(magnitude, bound);
  const DoubleWord<V> root = detail::rough_sqrt(detail::square_plus(a, one));
  DoubleWord<V> u = fast_two_sum(root.hi, a);
  u.lo = u.lo + root.lo;
  V result;
  if (all_less(magnitude, bound)) {
    result = detail::log_of_sum(u.hi, u.lo, zero);
  } else {
    result = detail::log_of_large(x, magnitude, u);
  }
  return copysign(result, x);
}

template <class V>
ARRAYX_HD V acosh(V x) {
  // log(x + sqrt(x^2 - 1)); beyond 2^28 that is log(2x).
  const V one = constant<V>(1), bound = constant<V>(0x1p28);
  const V a = at_most(x, bound);
  const V b = a - one;  // a^2 - 1 without cancellation: b^2 + 2 b
  const DoubleWord<V> root = detail::rough_sqrt(detail::square_plus(b, b + b));
  DoubleWord<V> u = fast_two_sum(a, root.hi);
  u.lo = u.lo + root.lo;
  if (all_within(x, one, bound)) return detail::log_of_sum(u.hi, u.lo, constant<V>(0));
  return select(x < one, constant<V>(limits<f64>::nan), detail::log_of_large(x, x, u));
}

template <class V>
ARRAYX_HD V atanh(V x) {
  // (log(1 + |x|) - log(1 - |x|)) / 2, added up by their parts: near 0 nothing else is exact.
  using detail::LogBase;
  const V one = constant<V>(1), half = constant<V>(0.5), magnitude = fabs(x);
  const detail::OnePlusReduction<V> p = detail::reduce_one_plus(magnitude);
  const detail::OnePlusReduction<V> q = detail::reduce_one_plus(-magnitude);
  constexpr detail::LogFactor log_2 = detail::log_of_two<scalar_t<V>, LogBase::e>();
  const V k = p.k - q.k;
  const V high = mul_add(k, constant<V>(log_2.high), p.high - q.high);
  V low = mul_add(k, constant<V>(log_2.low), p.low - q.low);
  low = mul_add(p.r * p.r, detail::log1p_tail<LogBase::e>(p.r), low);
  low = mul_add(-(q.r * q.r), detail::log1p_tail<LogBase::e>(q.r), low);
  const DoubleWord<V> head = fast_two_sum(high, p.r);
  V result;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    result = head.hi + (head.lo + (low - q.r));
  } else {
    const DoubleWord<V> sum = fast_two_sum(head.hi, -q.r);
    result = sum.hi + (sum.lo + (head.lo + low));
  }
  result = result * half;
  if (!all_less(magnitude, one)) {
    const V outside = select(magnitude == one, constant<V>(limits<f64>::infinity),
                             select(is_nan(x), x, constant<V>(limits<f64>::nan)));
    result = select(magnitude < one, result, outside);
  }
  return with_sign(result, x);
}

}  // namespace math
ARRAYX_OPS_END
