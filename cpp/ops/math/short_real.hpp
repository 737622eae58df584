// Functions of float64 lanes for results in float32: to 2^-32 or better. They are what complex64 is
// computed by, and float32 on a GPU whose float64 is half as fast. Coefficients: Remez, in 50
// digits.
#pragma once

#include "gpu_real.hpp"
#include "hyperbolic.hpp"
#include "power.hpp"
#include "trigonometric.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

// 1 / x and the square root of x with its inverse to 2^-39, for 2^-1000 < |x| < 2^1000. A GPU has
// both to 2^-20 in one instruction, and Newton's step costs a quarter of the exact ones.
template <class V>
ARRAYX_HD V short_inverse(V x) {
#ifdef __CUDA_ARCH__
  V r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  return mul_add(r, mul_add(-x, r, constant<V>(1)), r);
#else
  return constant<V>(1) / x;
#endif
}
template <class V>
struct ShortRoot {
  V root, inverse;
};
template <class V>
ARRAYX_HD ShortRoot<V> short_root(V x) {
#ifdef __CUDA_ARCH__
  V r;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  const V root = x * r;
  const V correction = mul_add(-root, r, constant<V>(1)) * constant<V>(0.5);
  return {mul_add(root, correction, root), mul_add(r, correction, r)};
#else
  const V root = sqrt(x);
  return {root, constant<V>(1) / root};
#endif
}

// ---------------------------------------------------------------------------- parts

// sin y, cos y and, to its own last bits, 1 - cos y; for |y| up to the reduction limit of float64.
template <class V>
struct ShortSinCos {
  V sin, cos, versine;
};
template <class V>
ARRAYX_HD ShortSinCos<V> short_sin_cos(V y) {
  using I = int_t<V>;
  const ReducedAngle<V> a = reduce_small_short(y);
  const ShortReducedSinCos<V> r = sin_cos_reduced_short(a.hi);
  const mask_t<V> odd = is_odd<V>(a.quadrant);
  const V s = flip_sign(select(odd, r.cos, r.sin), a.quadrant);
  const V c = flip_sign(select(odd, r.sin, r.cos), a.quadrant + splat<I>(1));
  const mask_t<V> first = (a.quadrant & splat<I>(3)) == splat<I>(0);
  return {s, c, select(first, -r.cos_minus_one, constant<V>(1) - c)};
}
template <class V>
ARRAYX_HD mask_t<V> has_short_angle(V y) {
  return fabs(y) < constant<V>(ARRAYX_F64(trig_constants<f64>::reduction_limit));
}

// x = n ln2 + r, |x| < 1000.
template <class V>
struct ShortReduction {
  V n, shifted, r;
};
template <class V>
ARRAYX_HD ShortReduction<V> short_reduction(V x) {
  const V shifter = constant<V>(ARRAYX_F64(exp_constants<f64>::shifter));
  const V shifted = mul_add(x, constant<V>(ARRAYX_F64(log2_e)), shifter);
  const V n = shifted - shifter;
  return {n, shifted, mul_add(n, constant<V>(-ARRAYX_F64(ln2)), x)};
}
// e^r - 1 for |r| <= ln2/2, to 2^-33.
template <class V>
ARRAYX_HD V short_expm1_of_rest(V r) {
  return mul_add(r * r,
                 horner(r, {ARRAYX_F64(0x1.0000003a22d3dp-1), ARRAYX_F64(0x1.555554433c746p-3),
                            ARRAYX_F64(0x1.55548dc549cbbp-5), ARRAYX_F64(0x1.111270ac2bce6p-7),
                            ARRAYX_F64(0x1.6d8d067d05145p-10), ARRAYX_F64(0x1.9f08a43e4a138p-13)}),
                 r);
}
template <class V>
ARRAYX_HD V short_expm1(V x) {
  const ShortReduction<V> a = short_reduction(x);
  const V scale = power_of_two(a.shifted);
  return mul_add(scale, short_expm1_of_rest(a.r), scale - constant<V>(1));
}
template <class V>
ARRAYX_HD V short_exp(V x) {
  const ShortReduction<V> a = short_reduction(x);
  return (short_expm1_of_rest(a.r) + constant<V>(1)) * power_of_two(a.shifted);
}

// sinh |x| and cosh x, |x| < 700, by the addition theorem.
template <class V>
struct ShortSinhCosh {
  V sinh, cosh;
};
template <class V>
ARRAYX_HD ShortSinhCosh<V> short_sinh_cosh(V x) {
  const V one = constant<V>(1);
  const ShortReduction<V> a = short_reduction(fabs(x));
  const V z = a.r * a.r;
  // As in exp_pair.
  const V even =
      mul_add(z,
              horner(z, {ARRAYX_F64(0x1.00000043eae70p-1), ARRAYX_F64(0x1.55547ee926f41p-5),
                         ARRAYX_F64(0x1.6d977a973cff7p-10)}),
              one);
  const V odd =
      mul_add(a.r * z,
              horner(z, {ARRAYX_F64(0x1.5555557380bf8p-3), ARRAYX_F64(0x1.1110b1cfc6618p-7),
                         ARRAYX_F64(0x1.a16fddccadbd2p-13)}),
              a.r);
  const V up = power_of_two(a.shifted - one);
  const V down = power_of_two((constant<V>(ARRAYX_F64(exp_constants<f64>::shifter)) - one) - a.n);
  const V s = up - down, c = up + down;
  return {mul_add(s, even, c * odd), mul_add(c, even, s * odd)};
}

// log s, from t = s - 1, which counts where s is near 1; for 2^-1000 < s < 2^1000.
template <class V>
ARRAYX_HD V short_log(V s, V t) {
  const V zero = constant<V>(0);
  const Decomposition<V> d = decompose(s);
  const V n = select(d.k == zero, t, d.m - constant<V>(1));
  const V q = n * short_inverse(n + constant<V>(2));
  const V z = q * q;
  // log m = 2 atanh q, |q| <= 0.18.
  const V series = horner(z, {ARRAYX_F64(0x1.555554fda8631p-1), ARRAYX_F64(0x1.999a7a7be30b1p-2),
                              ARRAYX_F64(0x1.2438da997014bp-2), ARRAYX_F64(0x1.e2f6025239ec8p-3)});
  return mul_add(d.k, constant<V>(ARRAYX_F64(ln2)), mul_add(q * z, series, q + q));
}

// The angle of the point (x, y), y >= 0, not both of them zero.
template <class V>
ARRAYX_HD V short_angle(V y, V x) {
  const V zero = constant<V>(0), magnitude = fabs(x);
  const mask_t<V> swapped = y > magnitude;
  const V n = select(swapped, magnitude, y), d = select(swapped, y, magnitude);
  // Beyond an eighth of a turn by two, the angle from the diagonal.
  const mask_t<V> diagonal = n > constant<V>(ARRAYX_F64(0x1.a827999fcef32p-2)) * d;
  const V q = select(diagonal, n - d, n) * short_inverse(select(diagonal, n + d, d));
  const V z = q * q;
  const V series = horner(z, {-ARRAYX_F64(0x1.5555554edea1dp-2), ARRAYX_F64(0x1.999991fb54447p-3),
                              -ARRAYX_F64(0x1.2490c2e1ca60cp-3), ARRAYX_F64(0x1.c6d1e61be4957p-4),
                              -ARRAYX_F64(0x1.7082822d8428ep-4), ARRAYX_F64(0x1.1e5b4f645b87dp-4),
                              -ARRAYX_F64(0x1.36a9be5d51baep-5)});
  V a = select(diagonal, constant<V>(half_pi_hi / 2), zero) + mul_add(q * z, series, q);
  a = select(swapped, constant<V>(ARRAYX_F64(half_pi_hi)) - a, a);
  return select(sign_bit(x), constant<V>(ARRAYX_F64(pi_hi)) - a, a);
}

}  // namespace detail

// ---------------------------------------------------------------------------- of float32

// Whether float32 goes through float64: of NVIDIA's GPUs only those for computing centres have half
// as many units for it, others have a thirty-second or fewer.
#if defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
inline constexpr bool has_fast_doubles = true;
#else
inline constexpr bool has_fast_doubles = false;
#endif

// What such a GPU computes of one float32, beside what gpu_real.hpp has. Of them only pow has a
// rare branch: the call in it would cost the others a tenth.
namespace for_gpu {

// Beyond it exponentials are out of the range of float32, and within that of float64.
ARRAYX_HD f64 bounded(f32 x) {
  return f64(at_least(at_most(x, 700.0f), -700.0f));
}

ARRAYX_HD f32 exp(f32 x) {
  return f32(detail::short_exp(bounded(x)));
}
ARRAYX_HD f32 expm1(f32 x) {
  return copysign(f32(detail::short_expm1(bounded(x))), x);
}
ARRAYX_HD f32 sinh(f32 x) {
  return with_sign(f32(detail::short_sinh_cosh(bounded(fabs(x))).sinh), x);
}
ARRAYX_HD f32 cosh(f32 x) {
  return f32(detail::short_sinh_cosh(bounded(fabs(x))).cosh);
}
ARRAYX_HD f32 tanh(f32 x) {
  const f64 e = detail::short_expm1(f64(at_most(fabs(x), 20.0f)) * 2);
  return with_sign(f32(e * detail::short_inverse(e + 2)), x);
}

// CUDA's own are right to 0.87, 0.92 and 0.89 ulp (all 2^32 arguments, compiled without
// contraction); of the others that this engine computes otherwise none is to 1.
ARRAYX_HD f32 log(f32 x) {
  return ARRAYX_LIBM(logf)(x);
}
ARRAYX_HD f32 log2(f32 x) {
  return ARRAYX_LIBM(log2f)(x);
}
ARRAYX_HD f32 log1p(f32 x) {
  return ARRAYX_LIBM(log1pf)(x);
}

ARRAYX_HD f32 logaddexp(f32 x, f32 y) {
  const f32 difference = x == y ? 0.0f : fabs(x - y);
  const f64 e = detail::short_exp(bounded(-difference));
  const f32 sum = f32(f64(x > y ? x : y) + detail::short_log(e + 1, e));
  return is_nan(difference) ? x + y : sum;
}
ARRAYX_HD f32 pow(f32 x, f32 y) {
  if (!(x > 0 && x < limits<f32>::infinity && is_finite(y))) {
    return detail::of_rare([](auto a, auto b) { return math::pow(a, b); }, x, y);
  }
  const f64 e = f64(y) * detail::short_log(f64(x), f64(x) - 1);
  return f32(detail::short_exp(at_least(at_most(e, 700.0), -700.0)));
}
// Of two zeros x counts as 1 or -1, and infinities as so large that nothing finite counts beside
// them.
ARRAYX_HD f32 atan2(f32 y, f32 x) {
  const f64 wide_x = x == 0 && y == 0 ? copysign(1.0f, x) : x;
  const f64 magnitude = at_most(fabs(wide_x), 0x1p300);
  return with_sign(
      f32(detail::short_angle(at_most(f64(fabs(y)), 0x1p300), copysign(magnitude, wide_x))), y);
}

}  // namespace for_gpu
}  // namespace math
ARRAYX_OPS_END
