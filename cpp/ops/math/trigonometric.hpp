// sin, cos, tan, sincos, asin, acos, atan, atan2 of float32 and float64, below one ulp over the
// whole domain. A low part goes through argument reduction and the final sum. The polynomials are
// minimax (Remez) in relative error.
#pragma once

#include "../lanes.hpp"
#include "double_word.hpp"
#include "piecewise.hpp"

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

// Per element type: pi/2 in two parts; half_pi_rest continues half_pi. half_pi is rounded down:
// with a positive low part the reduction of -0 stays -0. Adding `shifter` leaves a small integer in
// the low bits of the sum, rounded to nearest. Up to |x| = reduction_limit the reduction of Cody
// and Waite is exact. 1 / d is a normal number for divisors d beyond far_below and short of
// far_above; others are scaled by a power of two.
template <class T>
struct trig_constants;
template <>
struct trig_constants<f64> {
  static constexpr f64 half_pi = 0x1.921fb54442d18p+0, half_pi_low = 0x1.1a62633145c07p-54;
  static constexpr f64 half_pi_rest = -0x1.f1976b7ed8fbcp-110;
  static constexpr f64 shifter = 0x1.8p+52, reduction_limit = 0x1.921fb54p+19;
  static constexpr f64 far_below = 0x1p-900, large = 0x1p+500, far_above = 0x1p+1000;
  static constexpr f64 scale_up = 0x1p+200, scale_down = 0x1p-200;
};
template <>
struct trig_constants<f32> {
  static constexpr f64 half_pi = 0x1.921fb4p+0, half_pi_low = 0x1.4442d2p-24;
  static constexpr f64 half_pi_rest = -0x1.ee59dap-50;
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
// instead). With a fused multiply-add, Parts may be 16: then quadrant is 8 more than the number of
// sixteenths of a quadrant, and |hi| <= pi/64.
template <int Parts = 1, class V>
ARRAYX_HD ReducedAngle<V> reduce_small(V x) {
  using I = int_t<V>;
  using C = trig_constants_t<V>;
  const V shift = constant<V>(C::shifter + Parts / 2);
  const V shifted = mul_add(x, constant<V>(Parts * two_over_pi), shift);
  const V n = shifted - shift;
  const I quadrant = bit_cast<I>(shifted);
  if constexpr (has_fma) {
    const V head = mul_add(n, constant<V>(-C::half_pi / Parts), x);
    const DoubleWord<V> w = two_prod(n, constant<V>(-C::half_pi_low / Parts));
    // Exact even where the head is smaller, being a multiple of an ulp of 1.
    const DoubleWord<V> r = fast_two_sum(head, w.hi);
    return {r.hi, mul_add(n, constant<V>(-C::half_pi_rest / Parts), r.lo + w.lo), quadrant};
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

// In float32: (sin r - r) / r^3, (cos r - 1 + r^2 / 2) / r^4 and (tan r - r) / r^3 in r^2.
template <class V>
ARRAYX_HD V sin_series(V square) {
  return horner(square, {-0x1.555544c1c0c6cp-3, 0x1.1107126f03e9ep-7, -0x1.9935e42aa1832p-13});
}
template <class V>
ARRAYX_HD V cos_series(V square) {
  return horner(square, {0x1.555549ca2c010p-5, -0x1.6c0c078fac16ep-10, 0x1.99decef28f81ep-16});
}
template <class V>
ARRAYX_HD V tan_series(V square) {
  return horner(square, {0x1.5555605fe5b64p-2, 0x1.110d8c5dd51dfp-3, 0x1.badc1f3cb053ep-5,
                         0x1.5cad3ab2da4fbp-6, 0x1.631fd5f17b36bp-7, 0x1.6e34ddd975d81p-14,
                         0x1.1ee07b8115cbbp-8});
}

// sin(hi + lo) = hi + the value returned.
template <class V>
ARRAYX_HD V sin_minus_angle(V hi, V lo, V square) {
  const V lo_part = lo - lo * (constant<V>(0.5) * square);
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return mul_add(hi * square, sin_series(square), lo_part);
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
    return {head, mul_add(square * square, cos_series(square), tail)};
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
struct ShortReducedSinCos {
  V sin, cos, cos_minus_one;
};
template <class V>
ARRAYX_HD ShortReducedSinCos<V> sin_cos_reduced_short(V r) {
  constexpr f64 sin_c[] = {-0x1.5555554c6ff3cp-3, 0x1.1111086901825p-7, -0x1.a00f7e0c113a3p-13,
                           0x1.6cd1ae9b80829p-19};
  constexpr f64 cos_c[] = {-0.5, 0x1.5555554ed8258p-5, -0x1.6c16b82899e6ep-10,
                           0x1.a010ddd6aa8b0p-16, -0x1.241e68b4d90c6p-22};
  const V square = r * r;
  const V series = horner(square, cos_c);
  return {copysign(mul_add(r * square, horner(square, sin_c), r), r),
          mul_add(square, series, constant<V>(1)), square * series};
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

// tan(hi + lo), or -1 / tan(hi + lo) in the odd quadrants.
template <class V>
ARRAYX_HD V tan_reduced(ReducedAngle<V> r) {
  const DoubleWord<V> exact_square = two_square(r.hi);
  const V square = exact_square.hi, cube = r.hi * square;
  // The slope, 1 + tan^2, of what the reduction lacks: 1 + 1.6 r^2 to a tenth. What the square
  // lacks; 0.6 is the slope of tan r / r in it where that counts.
  const V below = mul_add(r.lo * constant<V>(1.6), square, r.lo);
  const V low = mul_add(r.hi * constant<V>(0.6), exact_square.lo, below);
  DoubleWord<V> t;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    t = fast_two_sum(r.hi, mul_add(cube, tan_series(square), low));
  } else {
    // tan r = r + r^3 / 3 + r^5 series; a float64 rounds more often.
    const V series =
        estrin(square, {0x1.1111111111097p-3, 0x1.ba1ba1ba29f9ep-5, 0x1.664f487d6f03fp-6,
                        0x1.226e366643a8p-7, 0x1.d6d393851ae61p-9, 0x1.7da807eba593dp-10,
                        0x1.351adf76025bep-11, 0x1.f9eddc891a33cp-13, 0x1.792f8d693eba3p-14,
                        0x1.d349ec9de8bd9p-15, -0x1.7718a5d9e3c0dp-17, 0x1.3397ab2942866p-15,
                        -0x1.34a79e40be6b3p-16, 0x1.1d50c19fb151p-17});
    const DoubleWord<V> third = two_prod(cube, constant<V>(1. / 3));
    const DoubleWord<V> sum = fast_two_sum(r.hi, third.hi);
    t = fast_two_sum(sum.hi, sum.lo + (third.lo + mul_add(cube * square, series, low)));
  }
  V negative;  // -1 / t
  if constexpr (same_type_v<scalar_t<V>, f32> && has_fma) {
    const V inverse = near_inverse(t.hi);
    const V excess = mul_add(inverse, t.lo, mul_add(inverse, t.hi, constant<V>(-1)));
    negative = mul_add(inverse, excess, -inverse);
  } else {
    const V q = constant<V>(-1) / t.hi;
    negative = mul_add(q, mul_add(q, t.lo, exact_rest(constant<V>(1), -q, t.hi)), q);
  }
  return select(is_odd<V>(r.quadrant), negative, with_sign(t.hi, r.hi));
}

// tan in two parts at the multiples of pi/32 from -8 to 7.
struct TanTable {
  f64 high[16] = {-0x1.0000000000000p+0, -0x1.a43002ae42850p-1, -0x1.561b82ab7f990p-1,
                  -0x1.11ab7190834ecp-1, -0x1.a827999fcef32p-2, -0x1.36a08355c63dcp-2,
                  -0x1.975f5e0553158p-3, -0x1.936bb8c5b2da2p-4, 0x0.0p+0,
                  0x1.936bb8c5b2da2p-4,  0x1.975f5e0553158p-3,  0x1.36a08355c63dcp-2,
                  0x1.a827999fcef32p-2,  0x1.11ab7190834ecp-1,  0x1.561b82ab7f990p-1,
                  0x1.a43002ae42850p-1};
  f64 low[16] = {0x0.0p+0,
                 0x1.a6db80fe796fep-56,
                 -0x1.7a8c52172b675p-55,
                 0x1.e564bcd1e635dp-55,
                 -0x1.08b2fb1366ea9p-56,
                 0x1.d704d1bfdb6e8p-57,
                 -0x1.ef5d367441946p-61,
                 -0x1.87d054f689d7ap-58,
                 0x0.0p+0,
                 0x1.87d054f689d7ap-58,
                 0x1.ef5d367441946p-61,
                 -0x1.d704d1bfdb6e8p-57,
                 0x1.08b2fb1366ea9p-56,
                 -0x1.e564bcd1e635dp-55,
                 0x1.7a8c52172b675p-55,
                 -0x1.a6db80fe796fep-56};
};

// tan x of float64 for |x| <= reduction_limit where there is a fused multiply-add: with T from the
// table and the tangent t of the rest it is the quotient of T + t and 1 - T t, or in the odd
// quadrants that of 1 - T t and -(T + t). A float32 gains nothing by it.
template <class V>
ARRAYX_HD V tan_by_parts(V x) {
  using I = int_t<V>;
  static constexpr TanTable table{};
  const ReducedAngle<V> r = reduce_small<16>(x);
  const V square = r.hi * r.hi;
  const V series = horner(square, {0x1.55555555552b9p-2, 0x1.1111111585304p-3, 0x1.ba1b562eaf206p-5,
                                   0x1.674bb83d64358p-6});
  const DoubleWord<V> t = fast_two_sum(r.hi, mul_add(r.hi * square, series, r.lo));
  const V middle = lookup(table.high, r.quadrant);
  const DoubleWord<V> sum = fast_two_sum(middle, t.hi);
  const V sum_low = sum.lo + (lookup(table.low, r.quadrant) + t.lo);
  const DoubleWord<V> rest = add_product(constant<V>(1), -middle, t.hi);
  const V rest_low = mul_add(-middle, t.lo, rest.lo);
  const mask_t<V> odd = (r.quadrant & splat<I>(16)) != splat<I>(0);
  const DoubleWord<V> n{select(odd, rest.hi, sum.hi), select(odd, rest_low, sum_low)};
  const DoubleWord<V> d{select(odd, sum.hi, rest.hi), select(odd, sum_low, rest_low)};
  const V inverse = constant<V>(-1) / d.hi, quotient = n.hi * inverse;
  const V remainder = mul_add(quotient, d.hi, n.hi) + mul_add(quotient, d.lo, n.lo);
  const V negative = mul_add(remainder, inverse, quotient);
  // Zeros lose their sign in the sums.
  return select(x == constant<V>(0), x, select(odd, negative, -negative));
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

// `result`, but right where x is large. Functions of their own, here and below: what is used after
// a call lives in memory before it, too.
template <Trig Function, class V>
ARRAYX_HD_NOINLINE V with_large(V x, V result) {
  const V rare = map_lanes(
      [](f64 a) {
        return fabs(a) > trig_constants<f64>::reduction_limit ? trig_large<Function>(a) : 0.0;
      },
      x);
  return select(fabs(x) > constant<V>(trig_constants<f64>::reduction_limit), rare, result);
}

template <Trig Function, class V>
ARRAYX_HD V replace_large(V x, V result) {
  const V limit = constant<V>(trig_constants<f64>::reduction_limit);
  return all_less(fabs(x), limit) ? result : with_large<Function>(x, result);
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
  const ShortReducedSinCos<V> y = sin_cos_reduced_short(r.hi);
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
ARRAYX_HD_NOINLINE V with_large_widened(V x, V result) {
  const V rare = map_wide([](auto wide) { return trig_short<Function, true>(wide); }, x);
  return select(fabs(x) > constant<V>(trig_constants<f32>::reduction_limit), rare, result);
}

template <Trig Function, class V>
ARRAYX_HD V trig_small(V x) {
  if constexpr (Function == Trig::tan && has_fma && same_type_v<scalar_t<V>, f64>) {
    return tan_by_parts(x);
  } else {
    return trig_reduced<Function>(reduce_small(x));
  }
}

template <Trig Function, class V>
ARRAYX_HD V trig(V x) {
  if constexpr (!same_type_v<scalar_t<V>, f32>) {
    return replace_large<Function>(x, trig_small<Function>(x));
  } else if constexpr (has_fma) {
    const V result = trig_small<Function>(x);
    const V limit = constant<V>(trig_constants<f32>::reduction_limit);
    return all_less(fabs(x), limit) ? result : with_large_widened<Function>(x, result);
  } else {
    return map_wide([](auto wide) { return trig_short<Function, false>(wide); }, x);
  }
}

// At the middles m of parts of 17/256 of the range up to 1, in two parts: atan m and pi/2 - atan m,
// pi - atan m and pi/2 + atan m.
inline constexpr f64 atan_part = 17. / 256;
template <class T>
struct AtanTable;
template <>
struct AtanTable<f32> {
  f32 high[2][2][16] = {
      {{0, 0x1.0f99eap-4, 0x1.0e6adcp-3, 0x1.92ba38p-3, 0x1.09dc5ap-2, 0x1.4845a8p-2, 0x1.84422cp-2,
        0x1.bd9282p-2, 0x1.f40ddp-2, 0x1.13cfcp-1, 0x1.2c2216p-1, 0x1.430328p-1, 0x1.587d82p-1,
        0x1.6c9f78p-1, 0x1.7f79eap-1, 0x1.911f36p-1},
       {0x1.921fb6p+0, 0x1.812616p+0, 0x1.70525ap+0, 0x1.5fc86ep+0, 0x1.4fa89ep+0, 0x1.400e4cp+0,
        0x1.310f2ap+0, 0x1.22bb14p+0, 0x1.151c42p+0, 0x1.0837d6p+0, 0x1.f81d54p-1, 0x1.e13c42p-1,
        0x1.cbc1e8p-1, 0x1.b79ff2p-1, 0x1.a4c58p-1, 0x1.932036p-1}},
      {{0x1.921fb6p+1, 0x1.89a2e6p+1, 0x1.813908p+1, 0x1.78f412p+1, 0x1.70e42ap+1, 0x1.6917p+1,
        0x1.61977p+1, 0x1.5a6d66p+1, 0x1.539dfcp+1, 0x1.4d2bc6p+1, 0x1.47173p+1, 0x1.415eecp+1,
        0x1.3c0054p+1, 0x1.36f7d8p+1, 0x1.32413ap+1, 0x1.2dd7e8p+1},
       {0x1.921fb6p+0, 0x1.a31954p+0, 0x1.b3ed1p+0, 0x1.c476fcp+0, 0x1.d496ccp+0, 0x1.e4312p+0,
        0x1.f3304p+0, 0x1.00c22ap+1, 0x1.079194p+1, 0x1.0e03cap+1, 0x1.14186p+1, 0x1.19d0a4p+1,
        0x1.1f2f3cp+1, 0x1.2437b8p+1, 0x1.28ee56p+1, 0x1.2d57a8p+1}}};
  f32 low[2][2][16] = {
      {{0, 0x1.c754aap-30, 0x1.9e811p-28, -0x1.7d7ec8p-30, -0x1.04f394p-27, 0x1.343086p-28,
        -0x1.c81a8ap-28, -0x1.ad7e6ep-30, 0x1.6a8282p-27, -0x1.393ea4p-27, -0x1.fdbb9ap-29,
        0x1.c964dap-26, -0x1.19a08ap-30, 0x1.570c66p-27, 0x1.972f14p-26, -0x1.cccf98p-26},
       {-0x1.777a5cp-25, 0x1.3a4afep-25, -0x1.5694fep-26, 0x1.28e332p-26, 0x1.c9c288p-25,
        -0x1.9e006ep-25, 0x1.8311e8p-26, 0x1.95f196p-25, -0x1.d21afep-25, -0x1.292ab4p-25,
        0x1.50c2bap-26, -0x1.70b32ap-27, 0x1.22a54ep-26, 0x1.96144cp-28, -0x1.0c479ap-27,
        -0x1.222522p-26}},
      {{-0x1.777a5cp-24, -0x1.e97afap-28, -0x1.11626ep-24, -0x1.c61188p-26, 0x1.4920acp-27,
        0x1.d50a6ap-26, -0x1.6be2d2p-26, -0x1.f0c464p-24, -0x1.a4caaep-24, -0x1.505288p-24,
        -0x1.9e32p-26, -0x1.e9d394p-24, 0x1.8cec26p-24, -0x1.a25beap-24, 0x1.22b9dep-24,
        -0x1.119db4p-30},
       {-0x1.777a5cp-25, -0x1.49fdbep-28, 0x1.bc55c6p-25, 0x1.f266b4p-27, -0x1.716e84p-26,
        -0x1.50f44cp-25, 0x1.3e0948p-27, 0x1.bd8cd8p-24, 0x1.719322p-24, 0x1.1d1afcp-24,
        0x1.a2a7a6p-27, 0x1.b69c08p-24, -0x1.c023bp-24, 0x1.6f245ep-24, -0x1.55f16ap-24,
        -0x1.7788a6p-27}}};
  // The polynomial q of atan(m + d) - atan m = d + d q(d).
  f32 q[4][16] = {
      {0, -0x1.1fbba8p-8, -0x1.1bfdb4p-6, -0x1.38b6dp-5, -0x1.0df3fcp-4, -0x1.96b93p-4,
       -0x1.1894f8p-3, -0x1.6be65cp-3, -0x1.c2c742p-3, -0x1.0d8066p-2, -0x1.395f3cp-2,
       -0x1.644888p-2, -0x1.8db43cp-2, -0x1.b5441ep-2, -0x1.dabcdcp-2, -0x1.fdffp-2},
      {0x1.eacb76p-23, -0x1.0d9de8p-4, -0x1.06a6fep-3, -0x1.7971fcp-3, -0x1.daa81ap-3,
       -0x1.13d478p-2, -0x1.2fdd1cp-2, -0x1.41df2ap-2, -0x1.4ae10ep-2, -0x1.4c40a2p-2,
       -0x1.477c96p-2, -0x1.3e0b1p-2, -0x1.313ee2p-2, -0x1.223996p-2, -0x1.11e722p-2, -0x1.01p-2},
      {-0x1.5575dp-2, -0x1.4c3096p-2, -0x1.329468p-2, -0x1.0b711ap-2, -0x1.b6844cp-3,
       -0x1.4ddc5ep-3, -0x1.cbcddcp-4, -0x1.0b5e88p-4, -0x1.8eadc4p-6, 0x1.35b5e6p-7, 0x1.26039cp-5,
       0x1.c633dp-5, 0x1.1a73a2p-4, 0x1.3d303p-4, 0x1.4f7d5ap-4, 0x1.5533d2p-4},
      {0x1.462366p-7, 0x1.09c9dap-4, 0x1.f1cbdap-4, 0x1.4f02dap-3, 0x1.809ffp-3, 0x1.8df1eep-3,
       0x1.7c935ep-3, 0x1.552274p-3, 0x1.20de6ep-3, 0x1.cfd252p-4, 0x1.60c2acp-4, 0x1.f8d59ap-5,
       0x1.4dae04p-5, 0x1.84e174p-6, 0x1.57107ap-7, 0x1.0eb1e6p-11}};
};
template <>
struct AtanTable<f64> {
  f64 high[2][2][16] = {
      {{0, 0x1.0f99ea71d52a7p-4, 0x1.0e6adccf40882p-3, 0x1.92ba37d050272p-3, 0x1.09dc597d86362p-2,
        0x1.4845a84d0c21bp-2, 0x1.84422b8df95d7p-2, 0x1.bd9281e528192p-2, 0x1.f40dd0b541418p-2,
        0x1.13cfbfb1b056ep-1, 0x1.2c2215e024466p-1, 0x1.430328e4b26d6p-1, 0x1.587d81f732fbbp-1,
        0x1.6c9f7855c3198p-1, 0x1.7f79eacb97898p-1, 0x1.911f35199833bp-1},
       {0x1.921fb54442d18p+0, 0x1.8126169d257eep+0, 0x1.705259aa5ac08p+0, 0x1.5fc86e4a38ccap+0,
        0x1.4fa89ee4e144p+0, 0x1.400e4b30ffc91p+0, 0x1.310f2a60c47a2p+0, 0x1.22bb14caf8cb4p+0,
        0x1.151c4116f2812p+0, 0x1.0837d56b6aa61p+0, 0x1.f81d54a8615cbp-1, 0x1.e13c41a3d335bp-1,
        0x1.cbc1e89152a76p-1, 0x1.b79ff232c2898p-1, 0x1.a4c57fbcee198p-1, 0x1.9320356eed6f5p-1}},
      {{0x1.921fb54442d18p+1, 0x1.89a2e5f0b4283p+1, 0x1.813907774ec9p+1, 0x1.78f411c73dcf1p+1,
        0x1.70e42a14920acp+1, 0x1.6917003aa14d5p+1, 0x1.61976fd283a5dp+1, 0x1.5a6d65079dce6p+1,
        0x1.539dfb2d9aa95p+1, 0x1.4d2bc557d6bbdp+1, 0x1.47172fcc39bffp+1, 0x1.415eeb0b16363p+1,
        0x1.3c0054c67612ap+1, 0x1.36f7d72ed20b2p+1, 0x1.32413a915cef2p+1, 0x1.2dd7e7fddcc4ap+1},
       {0x1.921fb54442d18p+0, 0x1.a31953eb60243p+0, 0x1.b3ed10de2ae28p+0, 0x1.c476fc3e4cd66p+0,
        0x1.d496cba3a45f1p+0, 0x1.e4311f5785d9fp+0, 0x1.f3304027c128ep+0, 0x1.00c22adec66bep+1,
        0x1.079194b8c990fp+1, 0x1.0e03ca8e8d7e8p+1, 0x1.1418601a2a7a6p+1, 0x1.19d0a4db4e042p+1,
        0x1.1f2f3b1fee27bp+1, 0x1.2437b8b7922f2p+1, 0x1.28ee5555074b2p+1, 0x1.2d57a7e88775bp+1}}};
  f64 low[2][2][16] = {
      {{0, -0x1.2069feec3624fp-61, -0x1.d71a31bb98d0dp-57, -0x1.0d3ded0ff4764p-57,
        0x1.62e47390cb865p-56, 0x1.1e28a7563c6a6p-56, 0x1.d76a0299b41b6p-56, -0x1.4b15439af6b66p-56,
        -0x1.a3992dc382a23p-57, 0x1.3110e6fc3ed38p-55, -0x1.4b810da3a4be1p-59,
        -0x1.131591070b99fp-55, -0x1.5e5c9d8c5a95p-56, 0x1.c09de29bd280dp-56, 0x1.fd5ca80ead221p-55,
        0x1.3ae8a0edbf522p-57},
       {0x1.1a62633145c07p-54, -0x1.46b991a1c3a69p-55, 0x1.5516a5a2e36a2p-56, 0x1.e051069a2279bp-57,
        -0x1.3e56b9b2ed212p-54, 0x1.d2d8395bb6a5dp-54, 0x1.a487e28ad8b99p-54,
        -0x1.25b097cff923fp-55, 0x1.4ed588e9b614bp-54, 0x1.03b3df664cad6p-55,
        -0x1.b68328c33a334p-55, -0x1.704b512cd1ca7p-56, -0x1.1c0cead74734ap-55,
        0x1.5475d514a2407p-55, 0x1.bb40f29ef2f68p-58, 0x1.e60a9e271bac5p-55}},
      {{0x1.1a62633145c07p-53, 0x1.dc1669818fb49p-56, 0x1.6fa80c99fe9afp-54, 0x1.566c84048a0fap-54,
        -0x1.1fa2b40d3b05dp-57, -0x1.12c563730399cp-54, 0x1.5f7522de0f3dp-53, 0x1.0f142e92925cfp-55,
        0x1.349bf60d7dea9p-53, -0x1.31e1d68dc9f47p-53, -0x1.c0df313057593p-54,
        -0x1.41b07119eeb23p-54, -0x1.b9d2091d2eecfp-53, 0x1.c49d4dbb96e0bp-54,
        0x1.3616725b34efdp-54, -0x1.f94c26dd9634bp-53},
       {0x1.1a62633145c07p-54, -0x1.27de70cc92abep-54, 0x1.df7f1cf9d2a65p-54, 0x1.f8baa58f4731ap-54,
        -0x1.19c8ffd50ebcp-55, 0x1.87b2341b536c1p-56, 0x1.2079c7af658e9p-55, 0x1.63ce892544097p-53,
        0x1.cbde7af1aad85p-55, -0x1.268a94a84d6afp-53, -0x1.77fcd29debb2cp-53,
        -0x1.b79432a920064p-53, -0x1.3d34c431d0e4dp-54, 0x1.8a89dbd83a60ap-54,
        0x1.0c885b9c4e28cp-53, -0x1.7c81116204aaap-55}}};
};

// atan(m + d) - atan m = d + t u for x = m + d; `slope` is that of atan at x, to a few bits.
template <class V>
struct AtanStep {
  V t, u, slope;
};
template <class V>
ARRAYX_HD AtanStep<V> atan_step(V x, Part<V> p) {
  const V one = constant<V>(1);
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    static constexpr AtanTable<f32> table{};
    const V q = piecewise(p.rest, p.part, table.q);
    return {p.rest, q, one + q};
  } else {
    // By the addition theorem atan t with t = d / (1 + m x), and t - d is -t m x.
    const V product = (p.n * constant<V>(atan_part)) * x;
    const V slope = one / (one + product), t = p.rest * slope, square = t * t;
    return {
        t,
        mul_add(square,
                horner(square, {-0x1.5555555555555p-2, 0x1.99999999998p-3, -0x1.24924921c0fc7p-3,
                                0x1.c71c3a3d2c1a4p-4, -0x1.737d9c08796cp-4}),
                -product),
        slope};
  }
}

// base + sign * angle, where the base is zero or at least the angle.
template <class V>
ARRAYX_HD V add_to_base(V base_hi, V base_lo, V sign, DoubleWord<V> angle) {
  const DoubleWord<V> sum = fast_two_sum(base_hi, sign * angle.hi);
  return sum.hi + (sum.lo + mul_add(sign, angle.lo, base_lo));
}

// pi/2 - atan(1 / x) beyond 1: the quotient's rounding error counts a third of an ulp at most.
template <class V>
ARRAYX_HD V atan_core(V x) {
  static constexpr AtanTable<scalar_t<V>> table{};
  const V one = constant<V>(1), magnitude = fabs(x);
  const mask_t<V> inverted = magnitude > one;
  const V quotient = select(inverted, one / magnitude, magnitude);
  const Part<V> p = nearest_part(quotient, atan_part);
  const AtanStep<V> step = atan_step(quotient, p);
  const DoubleWord<V> sum =
      fast_two_sum(lookup(table.high[0], inverted, p.part), select(inverted, -p.rest, p.rest));
  const V low =
      mul_add(select(inverted, -step.t, step.t), step.u, lookup(table.low[0], inverted, p.part));
  return with_sign(sum.hi + (sum.lo + low), x);
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
  using U = uint_t<V>;
  static constexpr AtanTable<scalar_t<V>> table{};
  const V one = constant<V>(1);
  const V ay = fabs(y), ax = fabs(x);
  const mask_t<V> swapped = ay > ax;
  V n = at_most(ax, ay), d = at_least(ay, ax);  // a NaN is one of them
  // Below far_below the remainder of the quotient would underflow. A comparison with NaN is false,
  // so that NaN takes this branch too.
  const V above = constant<V>(C::far_above), below = constant<V>(C::far_below);
  if (!(all_less(d, above) & all_less(below, n))) {
    const mask_t<V> ordinary = (d < above) & (n > below);
    make_quotient_finite(n, d);
    const V up = constant<V>(C::scale_up), down = constant<V>(C::scale_down);
    const V scale = select(ordinary, one, select(d > constant<V>(C::large), down, up));
    n = n * scale;
    d = d * scale;
  }
  const V inverse = one / d;
  const V quotient = n * inverse;
  const V quotient_low = exact_rest(n, quotient, d) * inverse;
  const mask_t<V> left = sign_bit(x);
  // The sign with which the angle of the quotient counts.
  const U sign = bit_cast<U>(constant<V>(-0.0)), of_x = bit_cast<U>(x) & sign;
  const U flip = select(swapped, of_x ^ sign, of_x);
  const Part<V> p = nearest_part(quotient, atan_part);
  const AtanStep<V> step = atan_step(quotient, p);
  V low;
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    low = mul_add(step.t, step.u, mul_add(quotient_low, step.u, quotient_low));
  } else {
    low = mul_add(step.t, step.u, quotient_low * step.slope);
  }
  const V high_m =
      select(left, lookup(table.high[1], swapped, p.part), lookup(table.high[0], swapped, p.part));
  const V low_m =
      select(left, lookup(table.low[1], swapped, p.part), lookup(table.low[0], swapped, p.part));
  const DoubleWord<V> sum = fast_two_sum(high_m, bit_cast<V>(bit_cast<U>(p.rest) ^ flip));
  low = bit_cast<V>(bit_cast<U>(low) ^ flip);
  return copysign(sum.hi + (sum.lo + (low_m + low)), y);
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
  const V beyond_half = constant<V>(0.5 + limits<scalar_t<V>>::epsilon / 2);
  if (!all_less(magnitude, beyond_half)) {
    square = select(folded, half - half * magnitude, square);
    const V root = sqrt(square);
    const V rest = exact_rest(square, root, root) * (half * rough_reciprocal(root));
    v = select(folded, root, v);
    correction = select(folded, rest, zero);
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
  return with_sign(detail::add_to_base(base_hi, base_lo, factor, v), x);
}

template <class V>
ARRAYX_HD V acos(V x) {
  using C = detail::trig_constants_t<V>;
  using U = uint_t<V>;
  const V zero = constant<V>(0), one = constant<V>(1), two = constant<V>(2);
  const V magnitude = fabs(x);
  const mask_t<V> folded = magnitude > constant<V>(0.5);
  const mask_t<V> negative = x < zero;
  const DoubleWord<V> v = detail::asin_folded(magnitude, folded);
  const U of_x = bit_cast<U>(x) & bit_cast<U>(constant<V>(-0.0));
  const V factor = bit_cast<V>(bit_cast<U>(select(folded, two, -one)) ^ of_x);
  const V base_hi =
      select(folded, select(negative, constant<V>(2 * C::half_pi), zero), constant<V>(C::half_pi));
  const V base_lo = select(folded, select(negative, constant<V>(2 * C::half_pi_low), zero),
                           constant<V>(C::half_pi_low));
  return detail::add_to_base(base_hi, base_lo, factor, v);
}

}  // namespace math
ARRAYX_OPS_END
