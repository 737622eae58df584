// log10, sin, cos, tan, their inverses and those of sinh, cosh and tanh, of one float32 on a GPU,
// to less than one ulp. Arrays that lie in its L2 cache come faster than these functions are
// computed, so that instructions decide: nothing is looked up, and roots and inverses begin with
// the approximations that take one instruction.
#pragma once

#include "hyperbolic.hpp"
#include "trigonometric.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// 1 / x and 1 / sqrt(x) to 2^-22, and exact for 1, which asinh() of tiny numbers and atan() rely
// on; a subnormal x or result counts as zero.
ARRAYX_HD f32 approximate_inverse(f32 x) {
#ifdef __CUDA_ARCH__
  f32 r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1 / x;
#endif
}
ARRAYX_HD f32 approximate_inverse_root(f32 x) {
#ifdef __CUDA_ARCH__
  f32 r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
#else
  return 1 / ops::sqrt(x);
#endif
}

// f(x...) where an argument is rare, out of line.
template <class F, class... X>
ARRAYX_HD_NOINLINE f32 of_rare(F f, X... x) {
  return f(x...);
}

// For |x| < angle_limit: pi/2 in parts of 22, 11 and 24 bits, so that the products with the first
// two are exact.
inline constexpr f32 angle_limit = 0x1p13f;
ARRAYX_HD ReducedAngle<f32> reduce_on_gpu(f32 x) {
  constexpr f32 shifter = trig_constants<f32>::shifter;
  constexpr f32 first = -0x1.921fb4p+0f, second = -0x1.444p-24f, third = -0x1.68c234p-39f;
  const f32 shifted = mul_add(x, constant<f32>(two_over_pi), shifter), n = shifted - shifter;
  const f32 head = mul_add(n, first, x), hi = mul_add(n, second, head);
  return {hi, mul_add(n, third, mul_add(n, second, head - hi)), bit_cast<i32>(shifted)};
}

template <Trig Function>
ARRAYX_HD f32 trig_of_rare(f32 x) {
  return of_rare([](f32 y) { return f32(trig_short<Function, true>(f64(y))); }, x);
}

// As sin_minus_angle and cos_parts; what is left out of the low parts is worth a third of an ulp.
template <Trig Function>
ARRAYX_HD f32 sin_or_cos_on_gpu(f32 x) {
  constexpr bool sine = Function == Trig::sin;
  const ReducedAngle<f32> a = reduce_on_gpu(sine ? fabs(x) : x);
  const f32 z = a.hi * a.hi;
  const f32 s = a.hi + mul_add(a.hi * z, sin_series(z), a.lo);
  const f32 head = mul_add(z, -0.5f, 1.0f);
  const f32 tail = mul_add(-a.hi, a.lo, mul_add(z, -0.5f, 1.0f - head));
  const f32 c = head + mul_add(z * z, cos_series(z), tail);
  const bool odd = is_odd<f32>(a.quadrant);
  const f32 magnitude = odd == sine ? c : s;
  const i32 turned = sine ? a.quadrant ^ bit_cast<i32>(x) >> 30 : a.quadrant + 1;
  return fabs(x) < angle_limit ? flip_sign(magnitude, turned) : trig_of_rare<Function>(x);
}

ARRAYX_HD DoubleWord<f32> root_on_gpu(DoubleWord<f32> x) {
  const f32 inverse = approximate_inverse_root(at_least(x.hi, 0x1p-100f)), root = x.hi * inverse;
  return {root, (mul_add(-root, root, x.hi) + x.lo) * (inverse * 0.5f)};
}

// log(1 + u.hi + u.lo), u.hi >= 0, but log(2 magnitude) from 2^28 on, and x where that is infinite
// or NaN.
ARRAYX_HD f32 log1p_on_gpu(f32 x, f32 magnitude, DoubleWord<f32> u) {
  const bool small = magnitude < 0x1p28f;
  const f32 hi = small ? u.hi : magnitude * 0.125f, lo = small ? u.lo : 0;
  // 1 + hi = 2^k (1 + m), -1/4 <= m < 1/2.
  const u32 exponent = (bit_cast<u32>(1 + hi) - 0x3f400000) & 0xff800000;
  const f32 scale = bit_cast<f32>(0x3f800000 - exponent);
  const f32 m = mul_add(hi, scale, scale - 1), m_low = lo * scale, sum = m + m_low;
  // The square, the largest term, is not rounded.
  const f32 series = horner(sum, {0x1.5555a6p-2, -0x1.000024p-2, 0x1.99685ap-3, -0x1.54f24p-3,
                                  0x1.2897cp-3, -0x1.0d8ffep-3, 0x1.abf63ep-4, -0x1.6fe54ap-5});
  const f32 tail = mul_add(sum * -0.5f, sum, mul_add(sum * sum * sum, series, m_low));
  const f32 k = f32(bit_cast<i32>(exponent)) + (small ? 0 : constant<f32>(4 / k_unit<f32>));
  const f32 result = mul_add(k, constant<f32>(ln2 * k_unit<f32>), m + tail);
  return magnitude < limits<f32>::infinity ? result : x;
}

// (asin x - x) / x^3, by x^2 up to 1/4.
ARRAYX_HD f32 arcsine_series(f32 z) {
  return horner(z, {0x1.5555cap-3, 0x1.33014ep-4, 0x1.748c64p-5, 0x1.8ba26p-6, 0x1.59dac2p-5});
}
// An arc by its sine: |x|, or beyond 1/2 the root of (1 - |x|) / 2, whose arc is half of what
// remains to pi/2.
struct ArcSide {
  bool is_far;
  f32 side, rest;  // which the arc is longer by
};
ARRAYX_HD ArcSide arc_side(f32 x) {
  const f32 a = fabs(x);
  const bool is_far = a > 0.5f;
  const f32 z = is_far ? mul_add(a, -0.5f, 0.5f) : a * a;
  // Beyond 1 the root is that of a negative number.
  const f32 inverse = approximate_inverse_root(z + 0x1p-100f), root = z * inverse;
  const f32 low = mul_add(-root, root, z) * (inverse * 0.5f);
  const f32 side = is_far ? root : a;
  const f32 rest = mul_add(side * z, arcsine_series(z), is_far ? low : 0.0f);
  return {is_far, side, rest};
}
// So many quarters of a turn, and factor (hi + lo).
ARRAYX_HD f32 turned_arc(f32 quarters, f32 factor, f32 hi, f32 lo) {
  const f32 turn = quarters * 0x1.921fb6p+0f, low = quarters * -0x1.777a5cp-25f;
  const f32 sum = mul_add(factor, hi, turn), rest = mul_add(factor, hi, turn - sum);
  return sum + (rest + mul_add(factor, lo, low));
}

}  // namespace detail

namespace for_gpu {

ARRAYX_HD f32 sin(f32 x) {
  return detail::sin_or_cos_on_gpu<detail::Trig::sin>(x);
}
ARRAYX_HD f32 cos(f32 x) {
  return detail::sin_or_cos_on_gpu<detail::Trig::cos>(x);
}

// As tan_reduced.
ARRAYX_HD f32 tan(f32 x) {
  const ReducedAngle<f32> a = detail::reduce_on_gpu(x);
  const f32 z = a.hi * a.hi, z_low = mul_add(a.hi, a.hi, -z);
  const f32 below = mul_add(a.lo * constant<f32>(1.6), z, a.lo);
  const f32 low = mul_add(a.hi * constant<f32>(0.6), z_low, below);
  const DoubleWord<f32> t = fast_two_sum(a.hi, mul_add(a.hi * z, detail::tan_series(z), low));
  const f32 inverse = detail::approximate_inverse(t.hi);
  const f32 excess = mul_add(inverse, t.lo, mul_add(inverse, t.hi, -1.0f));
  const f32 negative = mul_add(inverse, excess, -inverse);
  const f32 r = detail::is_odd<f32>(a.quadrant) ? negative : with_sign(t.hi, a.hi);
  return fabs(x) < detail::angle_limit ? r : detail::trig_of_rare<detail::Trig::tan>(x);
}

// The angle from the nearest of 0, pi/4 and pi/2, k pi/2, by the addition theorem.
ARRAYX_HD f32 atan(f32 x) {
  const f32 y = at_most(fabs(x), 0x1p100f);
  const bool some = y > 0.55f, much = y > 1.8f;
  const f32 k = much ? 1.0f : some ? 0.5f : 0.0f;
  const f32 n = much ? -1.0f : some ? y - 1 : y, d = much ? y : some ? y + 1 : 1.0f;
  const f32 inverse = detail::approximate_inverse(d), q = n * inverse, z = q * q;
  const f32 series = horner(z, {-0x1.555549987789ep-2, 0x1.99938a65e5019p-3, -0x1.240ba0fa31338p-3,
                                0x1.bc29c2002a192p-4, -0x1.389128d080f28p-4, 0x1.1657cde0d4f61p-5});
  const f32 rest = mul_add(mul_add(-q, d, n), inverse, k * -0x1.777a5cp-25f);
  const DoubleWord<f32> sum = fast_two_sum(k * 0x1.921fb6p+0f, q);
  return with_sign(sum.hi + (sum.lo + mul_add(q * z, series, rest)), x);
}

ARRAYX_HD f32 asin(f32 x) {
  const detail::ArcSide a = detail::arc_side(x);
  const f32 far = detail::turned_arc(1, -2, a.side, a.rest);
  return copysign(a.is_far ? far : a.side + a.rest, x);
}
ARRAYX_HD f32 acos(f32 x) {
  const detail::ArcSide a = detail::arc_side(x);
  const f32 quarters = a.is_far ? (x < 0 ? 2.0f : 0.0f) : 1.0f, factor = a.is_far ? 2.0f : -1.0f;
  return detail::turned_arc(quarters, x < 0 ? -factor : factor, a.side, a.rest);
}

// log(2^k (1 + m)) by log10 e; the two largest terms and their sum are exact in two parts.
ARRAYX_HD f32 log10(f32 x) {
  const bool is_subnormal = x < 0x1p-126f;
  const u32 bits = bit_cast<u32>(is_subnormal ? x * 0x1p23f : x);
  const u32 exponent = (bits - 0x3f3504f3) & 0xff800000;  // of 1 + m from sqrt(1/2) to sqrt(2)
  const f32 m = bit_cast<f32>(bits - exponent) - 1;
  const f32 k = mul_add(f32(bit_cast<i32>(exponent)), 0x1p-23f, is_subnormal ? -23.0f : 0.0f);
  const f32 series =
      horner(m, {-0x1.fffff82deafaep-2, 0x1.5555503493590p-2, -0x1.0004264eda15ap-2,
                 0x1.99a3f2f64e43ap-3, -0x1.54276d3e9f9c4p-3, 0x1.22719b86e3ae5p-3,
                 -0x1.0f3765ab0ad3dp-3, 0x1.0848654f358e1p-3, -0x1.3830214b1e940p-4});
  constexpr f32 e_high = 0x1.bcb7b2p-2f, e_low = -0x1.5b235ep-27f;
  constexpr f32 two_high = 0x1.344p-2f, two_low = 0x1.3509f8p-18f;  // k two_high is exact
  const f32 product = m * e_high, low = mul_add(m, e_high, -product);
  const f32 tail = mul_add(k, two_low, mul_add(m * m * series, e_high, mul_add(m, e_low, low)));
  const DoubleWord<f32> sum = fast_two_sum(k * two_high, product);
  f32 result = sum.hi + (sum.lo + tail);
  if (bits >= 0x7f800000) result = mul_add(x, limits<f32>::infinity, limits<f32>::infinity);
  return x == 0 ? -limits<f32>::infinity : result;
}

// log1p(2 a / (1 - a)) / 2, a = |x|.
ARRAYX_HD f32 atanh(f32 x) {
  const f32 a = fabs(x), d = 1 - a, d_low = (1 - d) - a;
  const f32 inverse = detail::approximate_inverse(d), q = (a + a) * inverse;
  const f32 low = mul_add(-q, d_low, mul_add(-q, d, a + a)) * inverse;
  const f32 inside = detail::log1p_on_gpu(x, 0, {q, low}) * 0.5f;
  const f32 beyond = a == 1 ? limits<f32>::infinity : limits<f32>::nan;
  return copysign(a < 1 ? inside : beyond, x);
}

// log1p(a + (sqrt(a^2 + 1) - 1)), a = |x|; the difference is exact below 2^24.
ARRAYX_HD f32 asinh(f32 x) {
  const f32 a = fabs(x);
  const DoubleWord<f32> root = detail::root_on_gpu(detail::square_plus(a, 1.0f));
  const DoubleWord<f32> u = fast_two_sum(a, root.hi - 1);
  return copysign(detail::log1p_on_gpu(x, a, {u.hi, u.lo + root.lo}), x);
}
// log1p(b + sqrt(b^2 + 2 b)), b = x - 1.
ARRAYX_HD f32 acosh(f32 x) {
  const f32 b = x - 1;
  const DoubleWord<f32> root = detail::root_on_gpu(detail::square_plus(b, b + b));
  const DoubleWord<f32> u = fast_two_sum(root.hi, b);
  const f32 result = detail::log1p_on_gpu(x, x, {u.hi, u.lo + root.lo});
  return x < 1 ? limits<f32>::nan : result;
}

}  // namespace for_gpu
}  // namespace math
ARRAYX_OPS_END
