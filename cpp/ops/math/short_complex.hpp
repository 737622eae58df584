// Functions of complex operands in float64 lanes, for results in float32: their parts to 2^-32 or
// better, and where terms cancel, to 2^-32 of the modulus. No square of a float32 leaves the range
// of float64, so nothing is scaled. Each says where it holds; elsewhere the cores of
// complex_functions.hpp do.
#pragma once

#include "../complex.hpp"
#include "short_real.hpp"

ARRAYX_OPS_BEGIN
namespace math::detail {

template <class V>
struct ShortResult {
  Complex<V> value;
  mask_t<V> holds;
};

// Whether a sum of squares is neither that of zeros nor of an infinite or a NaN part.
template <class V>
ARRAYX_HD mask_t<V> is_proper_square(V s) {
  return mask_t<V>((s > constant<V>(0)) & (s < constant<V>(0x1p300)));
}

// ---------------------------------------------------------------------------- quotients

// Products are exact and nothing overflows, so that the sums are rounded once.
template <class V>
ARRAYX_HD ShortResult<V> short_complex_divide(Complex<V> z, Complex<V> w) {
  const V d = mul_add(w.re, w.re, w.im * w.im), inverse = short_inverse(d);
  const V re = mul_add(z.re, w.re, z.im * w.im), im = mul_add(z.im, w.re, -(z.re * w.im));
  const mask_t<V> holds = is_proper_square(d) & is_finite(re) & is_finite(im);
  return {{re * inverse, im * inverse}, holds};
}

// ---------------------------------------------------------------------------- exponentials

// Results beyond float32 are still within float64.
template <class V>
ARRAYX_HD mask_t<V> has_short_exp(Complex<V> z) {
  return (fabs(z.re) < constant<V>(700)) & has_short_angle(z.im);
}

template <class V>
ARRAYX_HD ShortResult<V> short_complex_exp(Complex<V> z) {
  const V e = short_exp(z.re);
  const ShortSinCos<V> t = short_sin_cos(z.im);
  return {{e * t.cos, e * t.sin}, has_short_exp(z)};
}

// e^x cos y - 1 = (e^x - 1) cos y - (1 - cos y).
template <class V>
ARRAYX_HD ShortResult<V> short_complex_expm1(Complex<V> z) {
  const ShortReduction<V> a = short_reduction(z.re);
  const V scale = power_of_two(a.shifted), rest = short_expm1_of_rest(a.r);
  const V minus_one = mul_add(scale, rest, scale - constant<V>(1));
  const ShortSinCos<V> t = short_sin_cos(z.im);
  return {{mul_add(minus_one, t.cos, -t.versine), mul_add(scale, rest, scale) * t.sin},
          has_short_exp(z)};
}

template <bool WantCosh, class V>
ARRAYX_HD ShortResult<V> short_sinh_or_cosh(Complex<V> z) {
  const ShortSinhCosh<V> h = short_sinh_cosh(z.re);
  const ShortSinCos<V> t = short_sin_cos(z.im);
  const V s = with_sign(h.sinh, z.re);
  if constexpr (WantCosh) {
    return {{h.cosh * t.cos, s * t.sin}, has_short_exp(z)};
  } else {
    return {{s * t.cos, h.cosh * t.sin}, has_short_exp(z)};
  }
}

// As complex_tanh.
template <class V>
ARRAYX_HD ShortResult<V> short_complex_tanh(Complex<V> z) {
  const ShortSinhCosh<V> h = short_sinh_cosh(z.re);
  const ShortSinCos<V> t = short_sin_cos(z.im);
  const V inverse = short_inverse(mul_add(h.sinh, h.sinh, t.cos * t.cos));
  const mask_t<V> holds = (fabs(z.re) < constant<V>(300)) & has_short_angle(z.im);
  return {{with_sign((h.sinh * h.cosh) * inverse, z.re), (t.sin * t.cos) * inverse}, holds};
}

// ---------------------------------------------------------------------------- logarithms

// log z in a base whose logarithm has the inverse `scale`.
template <class V>
ARRAYX_HD ShortResult<V> short_complex_log(Complex<V> z, f64 scale) {
  const V x = fabs(z.re), y = fabs(z.im), one = constant<V>(1);
  const mask_t<V> swapped = y > x;
  const V a = select(swapped, y, x), b = select(swapped, x, y);
  const V square = b * b, s = mul_add(a, a, square);
  // Exact products: only the sum is rounded.
  const V t = mul_add(a - one, a + one, square);
  return {{short_log(s, t) * constant<V>(0.5 * scale),
           copysign(short_angle(y, z.re) * constant<V>(scale), z.im)},
          is_proper_square(s)};
}

template <class V>
ARRAYX_HD ShortResult<V> short_complex_log1p(Complex<V> z) {
  const V x = z.re, y = fabs(z.im), one = constant<V>(1), two = constant<V>(2);
  const V shifted = one + x, square = y * y;
  const V s = mul_add(shifted, shifted, square);
  // s - 1 = 2x + x^2 + y^2, from such terms that only a sum of exact ones cancels.
  const V t = select(fabs(x) < constant<V>(0.25), mul_add(x, x, mul_add(two, x, square)),
                     mul_add(x, two + x, square));
  // Zeros keep their sign.
  const mask_t<V> holds = is_proper_square(s) & (t != constant<V>(0));
  return {{short_log(s, t) * constant<V>(0.5), copysign(short_angle(y, shifted), z.im)}, holds};
}

// ---------------------------------------------------------------------------- inverse functions

// As inverse_sine_parts, but the roots of 1 - z and 1 + z are larger by the square root of 2, and
// the imaginary part comes from both its hyperbolic sine and cosine: the latter is
// (|1 - z| + |1 + z|) / 2.
template <class V>
struct ShortInverseSine {
  V re_a, re_b, product, imaginary;
  mask_t<V> holds;
};
template <class V>
ARRAYX_HD ShortInverseSine<V> short_inverse_sine(V x, V y) {
  const V one = constant<V>(1), half = constant<V>(0.5);
  const V u = one - x, v = one + x, square = y * y;
  const mask_t<V> left = x > one;
  const V h1 = short_root(mul_add(u, u, square)).root;
  const V h2 = short_root(mul_add(v, v, square)).root;
  const V sum = fabs(u) + h1;
  const ShortRoot<V> a = short_root(sum), b = short_root(v + h2);
  const V a_rest = y * a.inverse, b_rest = y * b.inverse;
  const V re_a = select(left, a_rest, a.root), im_a = select(left, a.root, a_rest);
  const V sine = mul_add(re_a, b_rest, im_a * b.root) * half;
  const V e = mul_add(sine * sine, short_inverse(mul_add(h1 + h2, half, one)), sine);
  return {re_a, b.root, mul_add(re_a, b.root, im_a * b_rest) * half, short_log(one + e, e),
          mask_t<V>(is_proper_square(sum) & (y < constant<V>(0x1p300)))};
}

template <class V>
ARRAYX_HD ShortResult<V> short_complex_asin(Complex<V> z) {
  const V x = fabs(z.re);
  const ShortInverseSine<V> p = short_inverse_sine(x, fabs(z.im));
  return {{copysign(short_angle(x, p.product), z.re), copysign(p.imaginary, z.im)}, p.holds};
}

template <class V>
ARRAYX_HD ShortResult<V> short_complex_acos(Complex<V> z) {
  const ShortInverseSine<V> p = short_inverse_sine(fabs(z.re), fabs(z.im));
  const mask_t<V> left = sign_bit(z.re);
  const V angle = short_angle(select(left, p.re_b, p.re_a), select(left, p.re_a, p.re_b));
  return {{angle + angle, -copysign(p.imaginary, z.im)}, p.holds};
}

// As complex_atanh.
template <class V>
ARRAYX_HD ShortResult<V> short_complex_atanh(Complex<V> z) {
  const V one = constant<V>(1);
  const V x = fabs(z.re), y = fabs(z.im), u = one - x, square = y * y;
  const V d = mul_add(u, u, square);
  const V q = (constant<V>(4) * x) * short_inverse(d);
  const V angle = short_angle(y + y, mul_add(u, one + x, -square));
  return {{copysign(short_log(one + q, q) * constant<V>(0.25), z.re),
           copysign(angle * constant<V>(0.5), z.im)},
          is_proper_square(d)};
}

// ---------------------------------------------------------------------------- roots and powers

template <class V>
ARRAYX_HD ShortResult<V> short_complex_sqrt(Complex<V> z) {
  const V x = fabs(z.re), y = fabs(z.im);
  const V s = mul_add(x, x, y * y);
  // The root of (x + |z|) / 2, as in complex_sqrt.
  const ShortRoot<V> a = short_root((x + short_root(s).root) * constant<V>(0.5));
  const V b = y * (a.inverse * constant<V>(0.5));
  const mask_t<V> left = sign_bit(z.re);
  return {{select(left, b, a.root), copysign(select(left, a.root, b), z.im)}, is_proper_square(s)};
}

// e^(w log z) where neither its exponent nor its phase multiplies the error of the logarithm,
// 2^-37, by more than 2^8; whole powers are those of multiplications.
template <class V>
ARRAYX_HD ShortResult<V> short_complex_pow(Complex<V> z, Complex<V> w) {
  const ShortResult<V> log = short_complex_log(z, 1);
  const V re = w.re * log.value.re - w.im * log.value.im;
  const V im = w.re * log.value.im + w.im * log.value.re;
  const V e = short_exp(re);
  const ShortSinCos<V> t = short_sin_cos(im);
  const V limit = constant<V>(256);
  const mask_t<V> whole =
      (w.im == constant<V>(0)) & (fabs(w.re) <= constant<V>(64)) & (rint(w.re) == w.re);
  // Parts beyond float32 may cancel to what is within it.
  const mask_t<V> in_range = (re > -limit) & (re < constant<V>(88));
  const mask_t<V> holds = log.holds & in_range & (fabs(im) < limit) & !whole;
  return {{e * t.cos, e * t.sin}, holds};
}

}  // namespace math::detail
ARRAYX_OPS_END
