// sin, cos, tan, sincos, asin, acos, atan, atan2 of float32 and float64, below one ulp over the
// whole domain. A low part goes through argument reduction and the final sum. The polynomials are
// minimax (Remez) in relative error.
#pragma once

#include "../lanes.hpp"
#include "double_word.hpp"

ARRAYX_OPS_BEGIN
namespace math {

// An angle modulo pi/2: x = quadrant * pi/2 + hi + lo, |hi| <= pi/4 but for rounding. Only the two
// lowest bits of quadrant have a meaning.
template <class V>
struct ReducedAngle {
  V hi, lo;
  int_t<V> quadrant;
};

namespace detail {

// Per element type: pi/2 and atan(1/2) in two parts; half_pi_rest continues half_pi. half_pi is
// rounded down: with a positive low part the reduction of -0 stays -0.
// Adding `shifter` leaves a small integer in the low bits of the sum, rounded to nearest.
// Up to |x| = reduction_limit the reduction of Cody and Waite is exact. 1 / d is a normal number
// for divisors d beyond far_below and short of far_above; others are scaled by a power of two.
template <class T>
struct trig_constants;
template <>
struct trig_constants<f64> {
  static constexpr f64 half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  static constexpr f64 half_pi_rest = -0x1.f1976b7ed8fbcp-110;
  static constexpr f64 atan_half = 0x1.dac670561bb4fp-2, atan_half_low = 0x1.a2b7f222f65e2p-56;
  static constexpr f64 shifter = 0x1.8p+52, reduction_limit = 0x1.921fb54p+19;
  static constexpr f64 far_below = 0x1p-900, large = 0x1p+500, far_above = 0x1p+1000;
  static constexpr f64 scale_up = 0x1p+200, scale_down = 0x1p-200;
};
template <>
struct trig_constants<f32> {
  static constexpr f64 half_pi = 0x1.921fb4p+0, half_pi_low = 0x1.4442d2p-24;
  static constexpr f64 half_pi_rest = -0x1.ee59dap-50;
  static constexpr f64 atan_half = 0x1.dac67p-2, atan_half_low = 0x1.586ed4p-28;
  static constexpr f64 shifter = 0x1.8p+23, reduction_limit = 0x1p+15;
  static constexpr f64 far_below = 0x1p-90, large = 0x1p+60, far_above = 0x1p+100;
  static constexpr f64 scale_up = 0x1p+60, scale_down = 0x1p-30;
};
template <class V>
using trig_constants_t = trig_constants<scalar_t<V>>;

inline constexpr f64 two_over_pi = 0x1.45f306dc9c883p-1;
inline constexpr f64 half_pi_hi = trig_constants<f64>::half_pi;
inline constexpr f64 half_pi_lo = trig_constants<f64>::half_pi_low;
inline constexpr f64 pi_hi = 2 * half_pi_hi, pi_lo = 2 * half_pi_lo;

// For |x| <= reduction_limit. A float64 comes to a multiple of pi/2 no closer than 2^-60 there, a
// float32 than 2^-30, so pi/2 is taken to 160 and 73 bits. With a fused multiply-add x - n*half_pi
// is exact, being below 1 and a multiple of the last bit of half_pi / 2; without, the pieces of
// pi/2 have 33 bits and n * piece is exact (float32 has too few bits for that and is widened
// instead).
template <class V>
ARRAYX_HD ReducedAngle<V> reduce_small(V x) {
  using I = int_t<V>;
  using C = trig_constants_t<V>;
  const V shift = constant<V>(C::shifter);
  const V shifted = x * constant<V>(two_over_pi) + shift;
  const V n = shifted - shift;
  const I quadrant = bit_cast<I>(shifted);
  if constexpr (has_fma) {
    const V head = mul_add(n, constant<V>(-C::half_pi), x);
    const DoubleWord<V> w = two_prod(n, constant<V>(-C::half_pi_low));
    const DoubleWord<V> r = two_sum(head, w.hi);
    return {r.hi, mul_add(n, constant<V>(-C::half_pi_rest), r.lo + w.lo), quadrant};
  } else {
    const V head = x - n * constant<V>(0x1.921fb544p+0);
    const DoubleWord<V> r = two_sum(head, n * constant<V>(-0x1.0b4611a6p-34));
    const DoubleWord<V> s = two_sum(r.hi, n * constant<V>(-0x1.3198a2ep-69));
    return {s.hi, (r.lo + s.lo) - n * constant<V>(0x1.b839a252049c1p-104), quadrant};
  }
}

// For finite |x| >= 2^0: the product of the significand with those 256 bits of 2/pi that decide the
// quadrant and the fraction (Payne and Hanek, 1983). The fraction of a double has at most 62
// leading zeros, so at least 120 bits of it are right.
ARRAYX_HD_NOINLINE ReducedAngle<f64> reduce_large(f64 x) {
  // 2/pi after 64 zero bits.
  static constexpr u32 bits[43] = {0,
                                   0,
                                   0xa2f9836eu,
                                   0x4e441529u,
                                   0xfc2757d1u,
                                   0xf534ddc0u,
                                   0xdb629599u,
                                   0x3c439041u,
                                   0xfe5163abu,
                                   0xdebbc561u,
                                   0xb7246e3au,
                                   0x424dd2e0u,
                                   0x06492eeau,
                                   0x09d1921cu,
                                   0xfe1deb1cu,
                                   0xb129a73eu,
                                   0xe88235f5u,
                                   0x2ebb4484u,
                                   0xe99c7026u,
                                   0xb45f7e41u,
                                   0x3991d639u,
                                   0x835339f4u,
                                   0x9c845f8bu,
                                   0xbdf9283bu,
                                   0x1ff897ffu,
                                   0xde05980fu,
                                   0xef2f118bu,
                                   0x5a0a6d1fu,
                                   0x6d367ecfu,
                                   0x27cb09b7u,
                                   0x4f463f66u,
                                   0x9e5fea2du,
                                   0x7527bac7u,
                                   0xebe5f17bu,
                                   0x3d0739f7u,
                                   0x8a5292eau,
                                   0x6bfb5fb1u,
                                   0x1f8d5d08u,
                                   0x56033046u,
                                   0xfc7b6babu,
                                   0xf0cfbc20u,
                                   0x9af4361du,
                                   0};
  const u64 image = bit_cast<u64>(x);
  const u64 m = (image & 0xfffffffffffffu) | 0x10000000000000u;
  const int exponent = int((image >> 52) & 0x7ff) - 1075;
  // The first bit whose product with the significand weighs less than 4.
  const int start = 64 + exponent - 2;
  const int word = start >> 5, offset = start & 31;
  const u64 m_low = m & 0xffffffffu, m_high = m >> 32;
  // product[0] is the most significant of eight words; what overflows it is a multiple of 4.
  u32 product[8];
  u64 carry = 0, previous = 0;
  for (int i = 7; i >= 0; --i) {
    const u64 pair = (u64(bits[word + i]) << 32) | bits[word + i + 1];
    const u64 w = (pair << offset) >> 32;
    const u64 low = w * m_low;
    // previous * m_high has the weight of this word.
    const u64 sum = (low & 0xffffffffu) + (previous & 0xffffffffu) + carry;
    product[i] = u32(sum);
    carry = (sum >> 32) + (low >> 32) + (previous >> 32);
    previous = w * m_high;
  }
  u64 top = (u64(product[0]) << 32) | product[1];
  u64 middle = (u64(product[2]) << 32) | product[3];
  u64 bottom = (u64(product[4]) << 32) | product[5];
  i64 quadrant = i64(top >> 62);
  top = (top << 2) | (middle >> 62);
  middle = (middle << 2) | (bottom >> 62);
  bottom <<= 2;
  // From [0, 1) to [-1/2, 1/2).
  const bool negative = (top >> 63) != 0;
  if (negative) {
    ++quadrant;
    top = ~top;
    middle = ~middle;
    bottom = ~bottom;
  }
  f64 scale = 0x1p-53;
  while ((top >> 63) == 0 && scale > 0x1p-160) {
    top = (top << 1) | (middle >> 63);
    middle = (middle << 1) | (bottom >> 63);
    bottom <<= 1;
    scale *= 0.5;
  }
  const f64 hi = f64(i64(top >> 11)) * scale;
  const f64 lo = f64(i64(((top & 0x7ff) << 42) | (middle >> 22))) * (scale * 0x1p-53);
  DoubleWord<f64> r = DoubleWord<f64>{hi, lo} * DoubleWord<f64>{half_pi_hi, half_pi_lo};
  if (negative != ((image >> 63) != 0)) r = -r;
  if ((image >> 63) != 0) quadrant = -quadrant;
  if (!is_finite(x)) r.hi = limits<f64>::nan;
  return {r.hi, r.lo, quadrant};
}

// sin(hi + lo) = hi + the value returned.
template <class V>
ARRAYX_HD V sin_minus_angle(V hi, V lo, V square) {
  const V lo_part = lo - lo * (constant<V>(0.5) * square);
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    constexpr f64 c[] = {-0x1.555544c1c0c6cp-3, 0x1.1107126f03e9ep-7, -0x1.9935e42aa1832p-13};
    return mul_add(hi * square, horner(square, c), lo_part);
  } else {
    constexpr f64 c[] = {-0x1.5555555555548p-3, 0x1.111111110f7c9p-7,   -0x1.a01a019bfd106p-13,
                         0x1.71de35670c6d5p-19, -0x1.ae5e59f140e37p-26, 0x1.5d8fa1ed82f14p-33};
    return mul_add(hi * square, horner(square, c), lo_part);
  }
}

// cos(hi + lo) as a head in [1/2, 1] and a small tail. `Exact` includes the rounding error of the
// square, worth a quarter of an ulp.
template <bool Exact, class V>
ARRAYX_HD DoubleWord<V> cos_parts(V hi, V lo, V square) {
  const V one = constant<V>(1), half = constant<V>(0.5);
  const V half_square = half * square;
  const V head = one - half_square;
  V low = hi * lo;
  if constexpr (Exact) low = mul_add(half, two_square(hi).lo, low);
  const V tail = ((one - head) - half_square) - low;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    constexpr f64 c[] = {0x1.555549ca2c010p-5, -0x1.6c0c078fac16ep-10, 0x1.99decef28f81ep-16};
    return {head, mul_add(square * square, horner(square, c), tail)};
  } else {
    constexpr f64 c[] = {0x1.555555555554bp-5,   -0x1.6c16c16c14f8ap-10, 0x1.a01a019c838ddp-16,
                         -0x1.27e4f7ea3586bp-22, 0x1.1ee9d75141f4bp-29,  -0x1.8fa46549d5babp-37};
    return {head, mul_add(square * square, horner(square, c), tail)};
  }
}

template <class V>
ARRAYX_HD V flip_sign(V x, int_t<V> sign_in_bit_1) {
  using I = int_t<V>;
  return bit_cast<V>(bit_cast<I>(x) ^
                     ((sign_in_bit_1 & splat<I>(2)) << (8 * int(sizeof(scalar_t<V>)) - 2)));
}

template <class V>
ARRAYX_HD mask_t<V> is_odd(int_t<V> n) {
  using I = int_t<V>;
  return (n & splat<I>(1)) != splat<I>(0);
}

template <class V>
struct SinCos {
  V sin, cos;
};

// Of the angle hi + lo alone, in its first quadrant.
template <class V>
ARRAYX_HD SinCos<V> sin_cos_reduced(ReducedAngle<V> r) {
  const V square = r.hi * r.hi;
  const V s = copysign(r.hi + sin_minus_angle(r.hi, r.lo, square), r.hi);
  return {s, value(cos_parts<has_fma>(r.hi, r.lo, square))};
}

// The same to 2^-37 relative, for results in float32.
template <class V>
ARRAYX_HD SinCos<V> sin_cos_reduced_short(V r) {
  constexpr f64 sin_c[] = {-0x1.5555554c6ff3cp-3, 0x1.1111086901825p-7, -0x1.a00f7e0c113a3p-13,
                           0x1.6cd1ae9b80829p-19};
  constexpr f64 cos_c[] = {-0.5, 0x1.5555554ed8258p-5, -0x1.6c16b82899e6ep-10,
                           0x1.a010ddd6aa8b0p-16, -0x1.241e68b4d90c6p-22};
  const V square = r * r;
  return {copysign(mul_add(r * square, horner(square, sin_c), r), r),
          mul_add(square, horner(square, cos_c), constant<V>(1))};
}

// pi/2 to 86 bits is enough for float32, which stays 2^-30 away from multiples of it.
template <class V>
ARRAYX_HD ReducedAngle<V> reduce_small_short(V x) {
  using I = int_t<V>;
  const V shift = constant<V>(trig_constants<f64>::shifter);
  const V shifted = x * constant<V>(two_over_pi) + shift;
  const V n = shifted - shift;
  const V head = mul_add(n, constant<V>(-0x1.921fb544p+0), x);
  return {mul_add(n, constant<V>(-0x1.0b4611a626331p-34), head), constant<V>(0),
          bit_cast<I>(shifted)};
}

template <class V>
ARRAYX_HD V tan_reduced(ReducedAngle<V> r) {
  const V square = r.hi * r.hi;
  DoubleWord<V> s = fast_two_sum(r.hi, sin_minus_angle(r.hi, r.lo, square));
  s.hi = copysign(s.hi, r.hi);
  DoubleWord<V> c = cos_parts<true>(r.hi, r.lo, square);
  c = fast_two_sum(c.hi, c.lo);
  const mask_t<V> odd = is_odd<V>(r.quadrant);
  const DoubleWord<V> a{select(odd, c.hi, s.hi), select(odd, c.lo, s.lo)};
  const DoubleWord<V> b{select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)};
  const V inverse = constant<V>(1) / b.hi;
  const V q = a.hi * inverse;
  const V remainder = exact_rest(a.hi, q, b.hi) + mul_add(-q, b.lo, a.lo);
  const V t = copysign(mul_add(remainder, inverse, q), q);
  return flip_sign(t, r.quadrant << 1);
}

// Any x; infinities and NaN give NaN.
template <class V>
ARRAYX_HD ReducedAngle<V> reduce(V x) {
  ReducedAngle<V> r = reduce_small(x);
  const mask_t<V> large = fabs(x) > constant<V>(trig_constants<f64>::reduction_limit);
  if constexpr (lane_traits<V>::lanes == 1) {
    if (large) r = reduce_large(x);
  } else if (any(large)) {
    for (int i = 0; i < lane_traits<V>::lanes; ++i) {
      if (!(fabs(x[i]) > trig_constants<f64>::reduction_limit)) continue;
      const ReducedAngle<f64> lane = reduce_large(x[i]);
      r.hi.set(i, lane.hi);
      r.lo.set(i, lane.lo);
      r.quadrant.set(i, lane.quadrant);
    }
  }
  return r;
}

// Sine and cosine in two parts, to 2^-57 or better: for products that round once.
template <class V>
struct SinCosParts {
  DoubleWord<V> sin, cos;
};
template <class V>
ARRAYX_HD SinCosParts<V> sin_cos_parts(ReducedAngle<V> r) {
  using I = int_t<V>;
  const V square = r.hi * r.hi;
  DoubleWord<V> s = fast_two_sum(r.hi, sin_minus_angle(r.hi, r.lo, square));
  s.hi = copysign(s.hi, r.hi);
  DoubleWord<V> c = cos_parts<true>(r.hi, r.lo, square);
  c = fast_two_sum(c.hi, c.lo);
  const mask_t<V> odd = is_odd<V>(r.quadrant);
  const I next = r.quadrant + splat<I>(1);
  return {{flip_sign(select(odd, c.hi, s.hi), r.quadrant),
           flip_sign(select(odd, c.lo, s.lo), r.quadrant)},
          {flip_sign(select(odd, s.hi, c.hi), next), flip_sign(select(odd, s.lo, c.lo), next)}};
}

enum class Trig { sin, cos, tan };

template <Trig Function, class V>
ARRAYX_HD V trig_reduced(ReducedAngle<V> r) {
  using I = int_t<V>;
  if constexpr (Function == Trig::tan) {
    return tan_reduced(r);
  } else {
    const SinCos<V> y = sin_cos_reduced(r);
    const mask_t<V> odd = is_odd<V>(r.quadrant);
    if constexpr (Function == Trig::sin) {
      return flip_sign(select(odd, y.cos, y.sin), r.quadrant);
    } else {
      return flip_sign(select(odd, y.sin, y.cos), r.quadrant + splat<I>(1));
    }
  }
}

template <Trig Function>
ARRAYX_HD_NOINLINE f64 trig_large(f64 x) {
  return trig_reduced<Function>(reduce_large(x));
}

template <Trig Function, class V>
ARRAYX_HD V replace_large(V x, V result) {
  const mask_t<V> large = fabs(x) > constant<V>(trig_constants<f64>::reduction_limit);
  if (any(large)) {
    const V rare = map_lanes(
        [](f64 a) {
          return fabs(a) > trig_constants<f64>::reduction_limit ? trig_large<Function>(a) : 0.0;
        },
        x);
    return select(large, rare, result);
  }
  return result;
}

// Any finite float32 in a float64 lane. Those 112 bits of 2/pi that decide quadrant and fraction
// are looked up by the exponent, as 28 + 28 + 53 bits: the first two products are exact.
template <class V>
ARRAYX_HD ReducedAngle<V> reduce_float(V x) {
  using I = int_t<V>;
  // Row j begins with the first bit that counts for exponents from 16 + 8 j on.
  static constexpr f64 rows[] = {
      0x1.45f306c000000p-1,  0x1.c9c882a000000p-29,  0x1.4fe13abe8fa9ap-59,
      0x1.45f306c000000p-1,  0x1.c9c882a000000p-29,  0x1.4fe13abe8fa9ap-59,
      0x1.f306dc8000000p-9,  0x1.c882a50000000p-37,  0x1.fc2757d1f534ep-64,
      0x1.836e4e4000000p-16, 0x1.054a7f0000000p-46,  0x1.3abe8fa9a6ee0p-75,
      0x1.6e4e440000000p-24, 0x1.529fc26000000p-52,  0x1.57d1f534ddc0ep-80,
      0x1.3910548000000p-34, 0x1.3f84eac000000p-61,  0x1.d1f534ddc0db6p-88,
      0x1.1054a78000000p-42, 0x1.c2757d0000000p-68,  0x1.f534ddc0db629p-96,
      0x1.529fc20000000p-52, 0x1.d5f47d0000000p-78,  0x1.34ddc0db6295ap-104,
      0x1.29fc274000000p-56, 0x1.7d1f534000000p-84,  0x1.bb81b6c52b328p-113,
      0x1.fc2757c000000p-64, 0x1.1f534dc000000p-92,  0x1.c0db6295993c4p-120,
      0x1.3abe8f0000000p-75, 0x1.534ddc0000000p-100, 0x1.b6c52b3278872p-129,
      0x1.57d1f52000000p-80, 0x1.4ddc0da000000p-108, 0x1.6295993c43904p-136,
      0x1.d1f534c000000p-88, 0x1.dc0db62000000p-116, 0x1.2b32788720840p-145,
      0x1.f534ddc000000p-96, 0x1.b6c5280000000p-129, 0x1.993c439041fe5p-152};
  const I zero = splat<I>(0), last = splat<I>(13);
  I row = (((bit_cast<I>(x) >> 52) & splat<I>(0x7ff)) - splat<I>(1023 + 16)) >> 3;
  row = select(row < zero, zero, select(row > last, last, row));
  row = row * splat<I>(3);
  const V first = x * gather(rows, row);
  const V four = constant<V>(4);
  const V kept = first - four * rint(first * constant<V>(0.25));
  const DoubleWord<V> sum = two_sum(kept, x * gather(rows + 1, row));
  const V n = rint(sum.hi);
  const V fraction = (sum.hi - n) + (sum.lo + x * gather(rows + 2, row));
  return {fraction * constant<V>(half_pi_hi), constant<V>(0),
          bit_cast<I>(n + constant<V>(trig_constants<f64>::shifter))};
}

// For float32 results, by float64 lanes: any argument. `Rare`: most arguments are large.
template <Trig Function, bool Rare, class V>
ARRAYX_HD V trig_short(V x) {
  using I = int_t<V>;
  ReducedAngle<V> r;
  if constexpr (Rare) {
    r = reduce_float(x);
  } else {
    r = reduce_small_short(x);
    const mask_t<V> large = fabs(x) > constant<V>(trig_constants<f64>::reduction_limit);
    if (any(large)) {
      const ReducedAngle<V> other = reduce_float(x);
      r.hi = select(large, other.hi, r.hi);
      r.quadrant = select(large, other.quadrant, r.quadrant);
    }
  }
  const SinCos<V> y = sin_cos_reduced_short(r.hi);
  const mask_t<V> odd = is_odd<V>(r.quadrant);
  if constexpr (Function == Trig::sin) {
    return flip_sign(select(odd, y.cos, y.sin), r.quadrant);
  } else if constexpr (Function == Trig::cos) {
    return flip_sign(select(odd, y.sin, y.cos), r.quadrant + splat<I>(1));
  } else {
    return flip_sign(select(odd, y.cos, y.sin) / select(odd, y.sin, y.cos), r.quadrant << 1);
  }
}
template <Trig Function, class V>
ARRAYX_HD_NOINLINE V trig_widened_rare(V x) {
  return map_wide([](auto wide) { return trig_short<Function, true>(wide); }, x);
}

template <Trig Function, class V>
ARRAYX_HD V trig(V x) {
  if constexpr (!same_type_v<scalar_t<V>, f32>) {
    return replace_large<Function>(x, trig_reduced<Function>(reduce_small(x)));
  } else if constexpr (has_fma) {
    const V result = trig_reduced<Function>(reduce_small(x));
    const mask_t<V> large = fabs(x) > constant<V>(trig_constants<f32>::reduction_limit);
    return any(large) ? select(large, trig_widened_rare<Function>(x), result) : result;
  } else {
    return map_wide([](auto wide) { return trig_short<Function, false>(wide); }, x);
  }
}

// atan(numerator / denominator) as head + tail, for 0 <= numerator <= denominator, the denominator
// neither far below nor far above 1. With c = 0, 1/2 or 1 near the quotient, atan(n/d) = atan(c) +
// atan(t), t = (n - c d) / (d + c n); numerator and denominator of t are exact, its rounding is
// corrected.
template <class V>
ARRAYX_HD DoubleWord<V> atan_quotient(V n, V d) {
  using C = trig_constants_t<V>;
  const V zero = constant<V>(0);
  const mask_t<V> middle = n > d * constant<V>(0.25), high = n > d * constant<V>(0.78125);
  const V c = select(high, constant<V>(1), select(middle, constant<V>(0.5), zero));
  const V top = n - c * d;
  const DoubleWord<V> bottom = fast_two_sum(d, c * n);
  const V inverse = constant<V>(1) / bottom.hi;
  const V t = top * inverse;
  const V correction = mul_add(-t, bottom.lo, exact_rest(top, t, bottom.hi)) * inverse;
  const V square = t * t;
  V series;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    constexpr f64 poly[] = {-0x1.55554f929bfc7p-2, 0x1.9992915d9ee57p-3, -0x1.233adae6e7a38p-3,
                            0x1.92bcd01a82932p-4};
    series = horner(square, poly);
  } else {
    constexpr f64 poly[] = {-0x1.55555555554c2p-2, 0x1.9999999974394p-3,  -0x1.2492490aa5761p-3,
                            0x1.c71c605b2161cp-4,  -0x1.7459d7f12660dp-4, 0x1.3ab8f2def3f1fp-4,
                            -0x1.0b4387e4ff625p-4, 0x1.792f0f6c48f5fp-5};
    series = horner(square, poly);
  }
  const V tail = mul_add(t * square, series, correction);
  const V base_hi =
      select(high, constant<V>(C::half_pi / 2), select(middle, constant<V>(C::atan_half), zero));
  const V base_lo = select(high, constant<V>(C::half_pi_low / 2),
                           select(middle, constant<V>(C::atan_half_low), zero));
  const DoubleWord<V> sum = fast_two_sum(base_hi, t);
  return {sum.hi, sum.lo + (base_lo + tail)};
}

// base + sign * angle, where the base is zero or at least the angle.
template <class V>
ARRAYX_HD V add_to_base(V base_hi, V base_lo, V sign, DoubleWord<V> angle) {
  const DoubleWord<V> sum = fast_two_sum(base_hi, sign * angle.hi);
  return sum.hi + (sum.lo + mul_add(sign, angle.lo, base_lo));
}

template <class V>
ARRAYX_HD V atan_core(V x) {
  using C = trig_constants_t<V>;
  const V one = constant<V>(1), zero = constant<V>(0);
  const V magnitude = fabs(x);
  const mask_t<V> inverted = magnitude > one;
  const V n = select(inverted, one, magnitude);
  const V huge = constant<V>(C::far_above);
  const V d = select(inverted, select(magnitude > huge, huge, magnitude), one);
  const V sign = select(inverted, -one, one);
  const V base_hi = select(inverted, constant<V>(C::half_pi), zero);
  const V base_lo = select(inverted, constant<V>(C::half_pi_low), zero);
  return copysign(add_to_base(base_hi, base_lo, sign, atan_quotient(n, d)), x);
}

// Infinities and zeros as finite operands with the same angle.
template <class V>
ARRAYX_HD void make_quotient_finite(V& n, V& d) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V infinity = constant<V>(limits<f64>::infinity);
  const mask_t<V> infinite = d == infinity;
  n = select(infinite, select(n == infinity, one, select(n == n, zero, n)), n);
  d = select(infinite | (d == zero), one, d);
}

template <class V>
ARRAYX_HD V atan2_core(V y, V x) {
  using C = trig_constants_t<V>;
  const V zero = constant<V>(0), one = constant<V>(1);
  const V ay = fabs(y), ax = fabs(x);
  const mask_t<V> swapped = ay > ax;
  V n = select(swapped, ax, ay), d = select(swapped, ay, ax);
  // Below far_below the remainder of the quotient would underflow. A comparison with NaN is false,
  // so that NaN takes this branch too.
  const mask_t<V> ordinary = (d < constant<V>(C::far_above)) & (n > constant<V>(C::far_below));
  if (any(!ordinary)) {
    make_quotient_finite(n, d);
    const V up = constant<V>(C::scale_up), down = constant<V>(C::scale_down);
    const V scale = select(ordinary, one, select(d > constant<V>(C::large), down, up));
    n = n * scale;
    d = d * scale;
  }
  const mask_t<V> left = sign_bit(x);
  const V sign = select(swapped != left, -one, one);
  const V base_hi =
      select(swapped, constant<V>(C::half_pi), select(left, constant<V>(2 * C::half_pi), zero));
  const V base_lo = select(swapped, constant<V>(C::half_pi_low),
                           select(left, constant<V>(2 * C::half_pi_low), zero));
  return copysign(add_to_base(base_hi, base_lo, sign, atan_quotient(n, d)), y);
}

// asin(v) = v + v * the value returned, from v^2 <= 1/4.
template <class V>
ARRAYX_HD V asin_excess(V square) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    constexpr f64 c[] = {0x1.5555c881596e7p-3, 0x1.3301e50a4c7efp-4, 0x1.747e3aa1abad4p-5,
                         0x1.8c28ce1a1bb8ep-6, 0x1.596cb4c527098p-5};
    return square * horner(square, c);
  } else {
    constexpr f64 c[] = {0x1.5555555555390p-3, 0x1.333333336e7cep-4,  0x1.6db6db427c7e1p-5,
                         0x1.f1c72c3860eb6p-6, 0x1.6e89f44cc5aa2p-6,  0x1.1c6be0fc0ee43p-6,
                         0x1.c6fdcd903d93bp-7, 0x1.8ec2b531f566ap-7,  0x1.abd197aa5048ap-8,
                         0x1.3ff33dee06944p-6, -0x1.09d1112f6cf45p-6, 0x1.056cbf8dc6c0dp-5};
    return square * horner(square, c);
  }
}

// asin(|x|) for |x| <= 1/2, else asin(sqrt((1 - |x|) / 2)) = acos(|x|) / 2.
template <class V>
ARRAYX_HD DoubleWord<V> asin_folded(V magnitude, mask_t<V> folded) {
  const V half = constant<V>(0.5), zero = constant<V>(0);
  V square = magnitude * magnitude, v = magnitude, correction = zero;
  if (any(folded)) {
    square = select(folded, half - half * magnitude, square);
    const V root = sqrt(square);
    const V rest = exact_rest(square, root, root) / (root + root);
    v = select(folded, root, v);
    correction = select(folded & (root > zero), rest, zero);
  }
  return {v, mul_add(v, asin_excess(square), correction)};
}

}  // namespace detail

template <class V>
ARRAYX_HD V sin(V x) {
  return detail::trig<detail::Trig::sin>(x);
}

template <class V>
ARRAYX_HD V cos(V x) {
  return detail::trig<detail::Trig::cos>(x);
}

template <class V>
ARRAYX_HD V tan(V x) {
  return detail::trig<detail::Trig::tan>(x);
}

// Both at the price of little more than one.
template <class V>
ARRAYX_HD void sincos(V x, V& sine, V& cosine) {
  using namespace detail;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    sine = sin(x);
    cosine = cos(x);
  } else {
    using I = int_t<V>;
    const ReducedAngle<V> r = reduce_small(x);
    const SinCos<V> y = sin_cos_reduced(r);
    const mask_t<V> odd = is_odd<V>(r.quadrant);
    const V s = flip_sign(select(odd, y.cos, y.sin), r.quadrant);
    const V c = flip_sign(select(odd, y.sin, y.cos), r.quadrant + splat<I>(1));
    sine = replace_large<Trig::sin>(x, s);
    cosine = replace_large<Trig::cos>(x, c);
  }
}

template <class V>
ARRAYX_HD V atan(V x) {
  return detail::atan_core(x);
}

// The angle of the point (x, y).
template <class V>
ARRAYX_HD V atan2(V y, V x) {
  return detail::atan2_core(y, x);
}

template <class V>
ARRAYX_HD V asin(V x) {
  using C = detail::trig_constants_t<V>;
  const V zero = constant<V>(0), one = constant<V>(1);
  const V magnitude = fabs(x);
  const mask_t<V> folded = magnitude > constant<V>(0.5);
  const DoubleWord<V> v = detail::asin_folded(magnitude, folded);
  const V factor = select(folded, constant<V>(-2), one);
  const V base_hi = select(folded, constant<V>(C::half_pi), zero);
  const V base_lo = select(folded, constant<V>(C::half_pi_low), zero);
  return copysign(detail::add_to_base(base_hi, base_lo, factor, v), x);
}

template <class V>
ARRAYX_HD V acos(V x) {
  using C = detail::trig_constants_t<V>;
  const V zero = constant<V>(0), one = constant<V>(1), two = constant<V>(2);
  const V magnitude = fabs(x);
  const mask_t<V> folded = magnitude > constant<V>(0.5);
  const mask_t<V> negative = x < zero;
  const DoubleWord<V> v = detail::asin_folded(magnitude, folded);
  const V size = select(folded, two, one);
  const V factor = select(negative != folded, size, -size);
  const V base_hi =
      select(folded, select(negative, constant<V>(2 * C::half_pi), zero), constant<V>(C::half_pi));
  const V base_lo = select(folded, select(negative, constant<V>(2 * C::half_pi_low), zero),
                           constant<V>(C::half_pi_low));
  return detail::add_to_base(base_hi, base_lo, factor, v);
}

}  // namespace math
ARRAYX_OPS_END
