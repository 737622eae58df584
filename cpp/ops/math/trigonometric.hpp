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
// instead). With a fused multiply-add the quadrant may have 8 Parts: then `quadrant` is their
// number and First.
template <int Parts = 1, int First = 0, class V>
ARRAYX_HD ReducedAngle<V> reduce_small(V x) {
  using I = int_t<V>;
  using C = trig_constants_t<V>;
  const V shift = constant<V>(C::shifter + First);
  const V shifted = mul_add(x, constant<V>(Parts * two_over_pi), shift);
  const V n = shifted - shift;
  const I quadrant = bit_cast<I>(shifted);
  if constexpr (has_fma) {
    const V head = mul_add(n, constant<V>(-C::half_pi / Parts), x);
    const V low = constant<V>(-C::half_pi_low / Parts);
    const V hi = head + rounded_product(n, low);
    // Exact even where the head is smaller, being a multiple of an ulp of 1.
    const V taken = head - hi;
    const V rest = mul_add(n, low, taken);
    return {hi, mul_add(n, constant<V>(-C::half_pi_rest / Parts), rest), quadrant};
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
  const f64 sin_c[] = {-ARRAYX_F64(0x1.5555554c6ff3cp-3), ARRAYX_F64(0x1.1111086901825p-7),
                       -ARRAYX_F64(0x1.a00f7e0c113a3p-13), ARRAYX_F64(0x1.6cd1ae9b80829p-19)};
  const f64 cos_c[] = {-0.5, ARRAYX_F64(0x1.5555554ed8258p-5), -ARRAYX_F64(0x1.6c16b82899e6ep-10),
                       ARRAYX_F64(0x1.a010ddd6aa8b0p-16), -ARRAYX_F64(0x1.241e68b4d90c6p-22)};
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
  const V shifted = x * constant<V>(ARRAYX_F64(two_over_pi)) + shift;
  const V n = shifted - shift;
  const V head = mul_add(n, constant<V>(-ARRAYX_F64(0x1.921fb544p+0)), x);
  return {mul_add(n, constant<V>(-ARRAYX_F64(0x1.0b4611a626331p-34)), head), constant<V>(0),
          bit_cast<I>(shifted)};
}

// tan(hi + lo), or -1 / tan(hi + lo) in the odd quadrants: of float64.
template <class V>
ARRAYX_HD V tan_reduced(ReducedAngle<V> r) {
  const DoubleWord<V> exact_square = two_square(r.hi);
  const V square = exact_square.hi, cube = r.hi * square;
  // The slope, 1 + tan^2, of what the reduction lacks: 1 + 1.6 r^2 to a tenth. What the square
  // lacks; 0.6 is the slope of tan r / r in it where that counts.
  const V below = mul_add(r.lo * constant<V>(1.6), square, r.lo);
  const V low = mul_add(r.hi * constant<V>(0.6), exact_square.lo, below);
  // tan r = r + r^3 / 3 + r^5 series.
  const V series =
      estrin(square, {0x1.1111111111097p-3, 0x1.ba1ba1ba29f9ep-5, 0x1.664f487d6f03fp-6,
                      0x1.226e366643a8p-7, 0x1.d6d393851ae61p-9, 0x1.7da807eba593dp-10,
                      0x1.351adf76025bep-11, 0x1.f9eddc891a33cp-13, 0x1.792f8d693eba3p-14,
                      0x1.d349ec9de8bd9p-15, -0x1.7718a5d9e3c0dp-17, 0x1.3397ab2942866p-15,
                      -0x1.34a79e40be6b3p-16, 0x1.1d50c19fb151p-17});
  const DoubleWord<V> third = two_prod(cube, constant<V>(1. / 3));
  const DoubleWord<V> sum = fast_two_sum(r.hi, third.hi);
  const DoubleWord<V> t =
      fast_two_sum(sum.hi, sum.lo + (third.lo + mul_add(cube * square, series, low)));
  const V q = constant<V>(-1) / t.hi;
  const V negative = mul_add(q, mul_add(q, t.lo, exact_rest(constant<V>(1), -q, t.hi)), q);
  return select(is_odd<V>(r.quadrant), negative, with_sign(t.hi, r.hi));
}

// Numbers as sin to cos at the multiples of pi/16 up to 15, all but exactly. The first is -0, whose
// sum with a zero of either sign is that zero.
template <class T>
struct TanTable;
template <>
struct TanTable<f32> {
  f32 n[16] = {-0.0f, 0x1.294ddap-2, 0x1.945d54p-1, 0x1.c5d6acp-1,
               0x1p0, 0x1.539bd4p0,  0x1.e81c78p0,  0x1.75a984p0,
               0x1p0, 0x1.75a984p0,  0x1.e81c78p0,  0x1.539bd4p0,
               0x1p0, 0x1.c5d6acp-1, 0x1.945d54p-1, 0x1.294ddap-2};
  f32 d[16] = {0x1p0,  0x1.75a984p0,   0x1.e81c78p0,   0x1.539bd4p0,
               0x1p0,  0x1.c5d6acp-1,  0x1.945d54p-1,  0x1.294ddap-2,
               0,      -0x1.294ddap-2, -0x1.945d54p-1, -0x1.c5d6acp-1,
               -0x1p0, -0x1.539bd4p0,  -0x1.e81c78p0,  -0x1.75a984p0};
};
template <>
struct TanTable<f64> {
  f64 n[16] = {-0.0,  0x1.8f8b83c69de09p-3, 0x1.87de2a6af03c3p-2, 0x1.1c73b39af0ae9p-1,
               0x1p0, 0x1.a9b66290f8915p-1, 0x1.d906bcf336201p-1, 0x1.f6297cff7c27dp-1,
               0x1p0, 0x1.f6297cff7c27dp-1, 0x1.d906bcf336201p-1, 0x1.a9b66290f8915p-1,
               0x1p0, 0x1.1c73b39af0ae9p-1, 0x1.87de2a6af03c3p-2, 0x1.8f8b83c69de09p-3};
  f64 d[16] = {0x1p0,  0x1.f6297cff7a31p-1,   0x1.d906bcf32fa5ep-1,  0x1.a9b66290f9447p-1,
               0x1p0,  0x1.1c73b39af036ep-1,  0x1.87de2a6af599ep-2,  0x1.8f8b83c69f70ap-3,
               0,      -0x1.8f8b83c69f70ap-3, -0x1.87de2a6af599ep-2, -0x1.1c73b39af036ep-1,
               -0x1p0, -0x1.a9b66290f9447p-1, -0x1.d906bcf32fa5ep-1, -0x1.f6297cff7a31p-1};
};

// tan x for |x| <= reduction_limit where there is a fused multiply-add: the quotient of n + d t and
// d - n t, with the tangent t of the rest. A zero keeps its sign: what is subtracted from it, the
// surplus of its sum and the excess of its quotient, is +0.
template <class V>
ARRAYX_HD V tan_by_parts(V x) {
  constexpr bool is_short = same_type_v<scalar_t<V>, f32>;
  static constexpr TanTable<scalar_t<V>> table{};
  const ReducedAngle<V> r = reduce_small<8>(x);
  const V square = r.hi * r.hi;
  V series;  // (tan r - r) / r^3
  if constexpr (is_short) {
    series = horner(square, {0x1.55552b1cce4e4p-2, 0x1.1222b758e9774p-3});
  } else {
    series = horner(square, {0x1.55555555555dcp-2, 0x1.11111110b0908p-3, 0x1.ba1ba489c3053p-5,
                             0x1.664ab64023cf8p-6, 0x1.25cce70fce7b8p-7});
  }
  const V tail = mul_add(r.hi * square, series, r.lo);
  const V n = lookup(table.n, r.quadrant), d = lookup(table.d, r.quadrant);
  const V sum = mul_add(d, r.hi, n);
  const V surplus = neg_mul_add(d, tail, neg_mul_add(d, r.hi, sum - n));
  DoubleWord<V> difference = subtract_product(d, n, r.hi);
  difference.lo = neg_mul_add(n, tail, difference.lo);
  // What inverse and quotient lack counts by its square.
  const V divisor = difference.hi + difference.lo;
  const V inverse = is_short ? near_inverse(divisor) : constant<V>(1) / divisor;
  const V quotient = (sum - surplus) * inverse;
  const V excess =
      mul_add(quotient, difference.hi, -sum) + mul_add(quotient, difference.lo, surplus);
  return neg_mul_add(excess, inverse, quotient);
}

enum class Trig { sin, cos, tan };

// sin and cos at the multiples of pi/16 up to 15, and what the sine lacks. What the cosine lacks
// counts 0.4 ulp of a float32 and 0.13 of a float64.
template <class T>
struct SinTable;
template <>
struct SinTable<f32> {
  f32 sin[16] = {0,
                 0x1.8f8b84p-3,
                 0x1.87de2ap-2,
                 0x1.1c73b4p-1,
                 0x1.6a09e6p-1,
                 0x1.a9b662p-1,
                 0x1.d906bcp-1,
                 0x1.f6297cp-1,
                 0x1p0,
                 0x1.f6297cp-1,
                 0x1.d906bcp-1,
                 0x1.a9b662p-1,
                 0x1.6a09e6p-1,
                 0x1.1c73b4p-1,
                 0x1.87de2ap-2,
                 0x1.8f8b84p-3};
  f32 sin_low[16] = {0,
                     -0x1.cb2cfap-30,
                     0x1.abaa58p-28,
                     -0x1.9465cep-27,
                     0x1.9fcef4p-27,
                     0x1.21d434p-26,
                     0x1.e651a8p-26,
                     0x1.feeb96p-26,
                     0,
                     0x1.feeb96p-26,
                     0x1.e651a8p-26,
                     0x1.21d434p-26,
                     0x1.9fcef4p-27,
                     -0x1.9465cep-27,
                     0x1.abaa58p-28,
                     -0x1.cb2cfap-30};
  f32 cos[16] = {0x1p0,          0x1.f6297cp-1,  0x1.d906bcp-1,
                 0x1.a9b662p-1,  0x1.6a09e6p-1,  0x1.1c73b4p-1,
                 0x1.87de2ap-2,  0x1.8f8b84p-3,  0,
                 -0x1.8f8b84p-3, -0x1.87de2ap-2, -0x1.1c73b4p-1,
                 -0x1.6a09e6p-1, -0x1.a9b662p-1, -0x1.d906bcp-1,
                 -0x1.f6297cp-1};
};
template <>
struct SinTable<f64> {
  f64 sin[16] = {0,
                 0x1.8f8b83c69a60bp-3,
                 0x1.87de2a6aea963p-2,
                 0x1.1c73b39ae68c8p-1,
                 0x1.6a09e667f3bcdp-1,
                 0x1.a9b66290ea1a3p-1,
                 0x1.d906bcf328d46p-1,
                 0x1.f6297cff75cbp-1,
                 0x1p0,
                 0x1.f6297cff75cbp-1,
                 0x1.d906bcf328d46p-1,
                 0x1.a9b66290ea1a3p-1,
                 0x1.6a09e667f3bcdp-1,
                 0x1.1c73b39ae68c8p-1,
                 0x1.87de2a6aea963p-2,
                 0x1.8f8b83c69a60bp-3};
  f64 sin_low[16] = {0,
                     -0x1.26d19b9ff8d82p-57,
                     -0x1.72cedd3d5a61p-57,
                     0x1.b25dd267f66p-55,
                     -0x1.bdd3413b26456p-55,
                     0x1.9f630e8b6dac8p-60,
                     0x1.457e610231ac2p-56,
                     0x1.562172a361fd3p-56,
                     0,
                     0x1.562172a361fd3p-56,
                     0x1.457e610231ac2p-56,
                     0x1.9f630e8b6dac8p-60,
                     -0x1.bdd3413b26456p-55,
                     0x1.b25dd267f66p-55,
                     -0x1.72cedd3d5a61p-57,
                     -0x1.26d19b9ff8d82p-57};
  f64 cos[16] = {0x1p0,
                 0x1.f6297cff75cbp-1,
                 0x1.d906bcf328d46p-1,
                 0x1.a9b66290ea1a3p-1,
                 0x1.6a09e667f3bcdp-1,
                 0x1.1c73b39ae68c8p-1,
                 0x1.87de2a6aea963p-2,
                 0x1.8f8b83c69a60bp-3,
                 0,
                 -0x1.8f8b83c69a60bp-3,
                 -0x1.87de2a6aea963p-2,
                 -0x1.1c73b39ae68c8p-1,
                 -0x1.6a09e667f3bcdp-1,
                 -0x1.a9b66290ea1a3p-1,
                 -0x1.d906bcf328d46p-1,
                 -0x1.f6297cff75cbp-1};
};

// sin and cos for |x| <= reduction_limit where there is a fused multiply-add, by the addition
// theorem.
template <Trig Function, class V>
ARRAYX_HD V sin_or_cos_by_parts(V x) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  static constexpr SinTable<T> table{};
  constexpr bool sine = Function == Trig::sin;
  const ReducedAngle<V> r = reduce_small<8, sine ? 0 : 8>(sine ? fabs(x) : x);
  const V sin_m = lookup(table.sin, r.quadrant), cos_m = lookup(table.cos, r.quadrant);
  const V square = r.hi * r.hi;
  V sin_series, cos_series;  // (sin r - r) / r^3 and (cos r - 1) / r^2
  if constexpr (same_type_v<T, f32>) {
    sin_series = horner(square, {-0x1.55555444769e8p-3, 0x1.10fabaf3658b9p-7});
    cos_series = horner(square, {-0x1.fffffc45036cbp-2, 0x1.552e3f12f3781p-5});
  } else {
    sin_series = horner(square, {-0x1.5555555555555p-3, 0x1.111111110eecfp-7,
                                 -0x1.a01a00f86238fp-13, 0x1.71ca012656dd7p-19});
    cos_series = horner(square, {-0x1.ffffffffffffdp-2, 0x1.555555554f722p-5,
                                 -0x1.6c16c0857b85fp-10, 0x1.9ffe33210fd3bp-16});
  }
  const V s = mul_add(r.hi * square, sin_series, r.lo), c = square * cos_series;
  const V low = mul_add(cos_m, s, mul_add(sin_m, c, lookup(table.sin_low, r.quadrant)));
  const DoubleWord<V> head = add_product(sin_m, cos_m, r.hi);
  const V result = head.hi + (head.lo + low);
  // The sign of every second half turn.
  U sign = bit_cast<U>(r.quadrant) << (8 * sizeof(T) - 5);
  if constexpr (sine) sign = sign ^ bit_cast<U>(x);
  return times_sign(result, bit_cast<V>(sign));
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
  if constexpr (has_fma && Function == Trig::tan) {
    return tan_by_parts(x);
  } else if constexpr (has_fma) {
    return sin_or_cos_by_parts<Function>(x);
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

// Numbers m, one to each half of an octave, and their arctangents, all but exact: in the order of
// the lowest bits of exponent and first digit, 0 up to 3/32 and infinity from 12 on among them.
template <class T>
struct AtanTable;
template <>
struct AtanTable<f32> {
  f32 middle[16] = {0x1.35101ap1,
                    0x1.b76dfcp1,
                    0x1.338d34p2,
                    0x1.b717ecp2,
                    0x1.333edp3,
                    0x1.80bb54p4,
                    0,
                    0x1.bfd5a8p-4,
                    0x1.3f8fd4p-3,
                    0x1.bfa7eep-3,
                    0x1.3eee22p-2,
                    0x1.be7c1p-2,
                    0x1.3c58dep-1,
                    0x1.bc1298p-1,
                    0x1.3825a4p0,
                    0x1.b8f592p0};
  f32 angle[16] = {0x1.2d9b0cp0,
                   0x1.498feep0,
                   0x1.5d99ep0,
                   0x1.6d125p0,
                   0x1.778e92p0,
                   0x1.877bcep0,
                   0,
                   0x1.be1014p-4,
                   0x1.3d016ep-3,
                   0x1.b8b968p-3,
                   0x1.352dep-2,
                   0x1.a50922p-2,
                   0x1.1b5e1ep-1,
                   0x1.6dcee2p-1,
                   0x1.c48ef4p-1,
                   0x1.0b77f6p0};
};
template <>
struct AtanTable<f64> {
  f64 middle[16] = {0x1.3504f334e0cffp1,
                    0x1.b78f34fdc4c2ep1,
                    0x1.33b6101eb77cfp2,
                    0x1.b70b2ceb1c114p2,
                    0x1.3354f7939bb52p3,
                    0x1.80aa5f1667e4bp4,
                    0,
                    0x1.bfe4566d99249p-4,
                    0x1.3fb1faabe0a32p-3,
                    0x1.bf9535ab5bf3ep-3,
                    0x1.3edd6984be4efp-2,
                    0x1.be89019c60991p-2,
                    0x1.3c6ef375db00dp-1,
                    0x1.bc0e2495507ebp-1,
                    0x1.3845118ece657p0,
                    0x1.b9224dae1dc2ep0};
  f64 angle[16] = {0x1.2d97c7f375c17p0,
                   0x1.49952005026c1p0,
                   0x1.5da0a7c704cc2p0,
                   0x1.6d114072b75cap0,
                   0x1.779078c2fafdep0,
                   0x1.877b5610614dp0,
                   0,
                   0x1.be1e96065e323p-4,
                   0x1.3d22c4c94407ep-3,
                   0x1.b8a78a29b6a7ap-3,
                   0x1.351ea1f4d765fp-2,
                   0x1.a514023b1855dp-2,
                   0x1.1b6e1930cde07p-1,
                   0x1.6dcc57bbcced2p-1,
                   0x1.c4a8393712d84p-1,
                   0x1.0b833be20b2bbp0};
};

// The number m of the part in which a quotient lies, and its arctangent.
template <class V>
struct AtanPart {
  V middle, angle;
};
template <class V>
ARRAYX_HD AtanPart<V> atan_part(V quotient) {
  using U = uint_t<V>;
  static constexpr AtanTable<scalar_t<V>> table{};
  const V bounded = at_least(at_most(quotient, constant<V>(15)), constant<V>(1. / 16));
  const U halves = bit_cast<U>(bounded) >> (limits<scalar_t<V>>::mantissa_bits - 1);
  const int_t<V> part = bit_cast<int_t<V>>(halves);
  return {lookup(table.middle, part), lookup(table.angle, part)};
}

// (atan t - t) / t^3 for |t| < 0.1, as function of t^2.
template <class V>
ARRAYX_HD V atan_series(V square) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return horner(square, {-0x1.555554074095ap-2, 0x1.9993561fd909dp-3, -0x1.204aa9283a039p-3});
  } else {
    return horner(square, {-0x1.555555555554cp-2, 0x1.999999999110bp-3, -0x1.2492490ea6535p-3,
                           0x1.c71c3dfb5a963p-4, -0x1.743e1ef61fa74p-4, 0x1.31f0d8a2917f9p-4});
  }
}

// By the addition theorem atan m + atan t, t = (x - m) / (1 + m x): at most a quarter of the
// result, or the result itself where m is 0, and then exact.
template <class V>
ARRAYX_HD V atan_core(V x) {
  // From there on the result is pi/2, rounded.
  const V magnitude = at_most(fabs(x), constant<V>(0x1p60));
  const AtanPart<V> p = atan_part(magnitude);
  const V t = (magnitude - p.middle) / mul_add(p.middle, magnitude, constant<V>(1));
  const V square = t * t;
  return with_sign(p.angle + mul_add(t * square, atan_series(square), t), x);
}

// Infinite operands and two zeros as finite ones with the same angle.
template <class V>
ARRAYX_HD void make_quotient_finite(V& n, V& d, V larger) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V infinity = constant<V>(limits<f64>::infinity);
  const mask_t<V> infinite = larger == infinity;
  n = select(infinite, select(n == infinity, one, select(n == n, zero, n)), n);
  d = select(infinite, select(d == infinity, one, select(d == d, zero, d)), d);
  d = select(n + d == zero, one, d);
}

template <class V>
ARRAYX_HD V atan2_core(V y, V x) {
  using C = trig_constants_t<V>;
  const V zero = constant<V>(0), one = constant<V>(1);
  V n = fabs(y), d = fabs(x);
  // Beside these 1 / d might be no number. A comparison with NaN, which is one of them, is false,
  // so that NaN takes this branch too.
  const V larger = at_least(n, d), smaller = at_most(d, n);
  const V above = constant<V>(C::far_above), below = constant<V>(C::far_below);
  if (!(all_less(larger, above) & all_less(below, smaller))) {
    const mask_t<V> ordinary = (larger < above) & (smaller > below);
    make_quotient_finite(n, d, larger);
    const V up = constant<V>(C::scale_up), down = constant<V>(C::scale_down);
    const V scale = select(ordinary, one, select(larger > constant<V>(C::large), down, up));
    n = n * scale;
    d = d * scale;
  }
  // As atan_core, but t counts with what its divisor and its quotient lack.
  const AtanPart<V> p = atan_part(n * near_inverse(d));
  const V rest_n = exact_rest(n, p.middle, d);
  const DoubleWord<V> rest_d = add_product(d, p.middle, n);
  const V inverse = one / rest_d.hi, t = rest_n * inverse;
  const V remainder = mul_add(-t, rest_d.lo, exact_rest(rest_n, t, rest_d.hi));
  const V square = t * t;
  const V angle = t + mul_add(t * square, atan_series(square), remainder * inverse);
  // In the left half plane the angle is what pi exceeds it by.
  const mask_t<V> left = sign_bit(x);
  const V middle = times_sign(p.angle, x), rest = times_sign(angle, x);
  const DoubleWord<V> sum = fast_two_sum(select(left, constant<V>(2 * C::half_pi), zero), middle);
  const V low = select(left, constant<V>(2 * C::half_pi_low), zero) + rest;
  return copysign(sum.hi + (sum.lo + low), y);
}

// asin(v) = v + v * the value returned, from v^2 <= 1/4.
template <class V>
ARRAYX_HD V asin_excess(V square) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    constexpr f64 c[] = {0x1.5555c881596e7p-3, 0x1.3301e50a4c7efp-4, 0x1.747e3aa1abad4p-5,
                         0x1.8c28ce1a1bb8ep-6, 0x1.596cb4c527098p-5};
    return square * horner(square, c);
  } else {
    const f64 c[] = {ARRAYX_F64(0x1.5555555555390p-3),  ARRAYX_F64(0x1.333333336e7cep-4),
                     ARRAYX_F64(0x1.6db6db427c7e1p-5),  ARRAYX_F64(0x1.f1c72c3860eb6p-6),
                     ARRAYX_F64(0x1.6e89f44cc5aa2p-6),  ARRAYX_F64(0x1.1c6be0fc0ee43p-6),
                     ARRAYX_F64(0x1.c6fdcd903d93bp-7),  ARRAYX_F64(0x1.8ec2b531f566ap-7),
                     ARRAYX_F64(0x1.abd197aa5048ap-8),  ARRAYX_F64(0x1.3ff33dee06944p-6),
                     -ARRAYX_F64(0x1.09d1112f6cf45p-6), ARRAYX_F64(0x1.056cbf8dc6c0dp-5)};
    return square * horner(square, c);
  }
}

// asin |x| = hi + lo up to |x| = 1/2, where hi is |x|. Beyond, where it is folded, half_pi is to be
// added: hi is -2 sqrt((1 - |x|) / 2), rounded, and lo has what half_pi lacks, too.
template <class V>
struct AsinParts {
  mask_t<V> folded;
  V hi, lo;
};
template <class V>
ARRAYX_HD AsinParts<V> asin_parts(V x) {
  using C = trig_constants_t<V>;
  const V half = constant<V>(0.5), zero = constant<V>(0);
  const V magnitude = fabs(x);
  const mask_t<V> folded = magnitude > half;
  V square = magnitude * magnitude, hi = magnitude, correction = zero;
  const V beyond_half = constant<V>(0.5 + limits<scalar_t<V>>::epsilon / 2);
  if (!all_less(magnitude, beyond_half)) {
    square = select(folded, neg_mul_add(half, magnitude, half), square);
    const V root = sqrt(square), rest = exact_rest(square, root, root);
    const V low = neg_mul_add(rest, rough_reciprocal(root), constant<V>(C::half_pi_low));
    hi = select(folded, constant<V>(-2) * root, magnitude);
    correction = select(folded, low, zero);
  }
  return {folded, hi, mul_add(hi, asin_excess(square), correction)};
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
  const detail::AsinParts<V> p = detail::asin_parts(x);
  const V base = select(p.folded, constant<V>(C::half_pi), constant<V>(0));
  const DoubleWord<V> sum = fast_two_sum(base, p.hi);
  return with_sign(sum.hi + (sum.lo + p.lo), x);
}

// pi/2 - asin x, of which that of the bases is exact.
template <class V>
ARRAYX_HD V acos(V x) {
  using C = detail::trig_constants_t<V>;
  const detail::AsinParts<V> p = detail::asin_parts(x);
  const V sign = with_sign(constant<V>(1), x), half_pi = constant<V>(C::half_pi);
  const V base = select(p.folded, neg_mul_add(sign, half_pi, half_pi), half_pi);
  const V result = neg_mul_add(sign, p.hi, base);
  const V rest = neg_mul_add(sign, p.hi, base - result);
  return result + (rest + neg_mul_add(sign, p.lo, constant<V>(C::half_pi_low)));
}

}  // namespace math
ARRAYX_OPS_END
