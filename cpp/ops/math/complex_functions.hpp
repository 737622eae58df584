// The functions of complex operands. Each has one core over Complex<V> in float64 that carries low
// parts where terms cancel, so that the error stays near one ulp of the modulus; complex64 has
// shorter ones (short_complex.hpp) and goes through the same where those do not hold. Branch cuts,
// signed zeros, infinities and NaN follow the standard's lists, that is C99's Annex G: lanes that
// are not finite are redone one by one by a scalar function.
#pragma once

#include "../complex.hpp"
#include "fixed_point.hpp"
#include "hyperbolic.hpp"
#include "power.hpp"
#include "short_complex.hpp"
#include "trigonometric.hpp"

ARRAYX_OPS_BEGIN
namespace math {
namespace detail {

template <class V>
ARRAYX_HD Complex<V> choose(mask_t<V> m, Complex<V> a, Complex<V> b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}
template <class V>
ARRAYX_HD DoubleWord<V> choose(mask_t<V> m, DoubleWord<V> a, DoubleWord<V> b) {
  return {select(m, a.hi, b.hi), select(m, a.lo, b.lo)};
}

template <class V>
ARRAYX_HD Complex<V> swap_parts(Complex<V> z) {
  return {z.im, z.re};
}

template <class V>
ARRAYX_HD mask_t<V> finite_parts(Complex<V> z) {
  return ops::is_finite(z.re) & ops::is_finite(z.im);
}

// The larger of two magnitudes.
template <class V>
ARRAYX_HD V larger(V a, V b) {
  return select(a > b, a, b);
}

// The lanes of result where m holds, computed one by one as f(lane of each operand).
template <class V, class F, class... Z>
ARRAYX_HD void patch_lanes(mask_t<V> m, Complex<V>& result, F f, Z... z) {
  if constexpr (lane_traits<V>::lanes == 1) {
    if (m) result = f(z...);
  } else {
    const V chosen = select(m, constant<V>(1), constant<V>(0));
    for (int i = 0; i < lane_traits<V>::lanes; ++i) {
      if (chosen[i] == 0) continue;
      const Complex<f64> lane = f(Complex<f64>{z.re[i], z.im[i]}...);
      result.re.set(i, lane.re);
      result.im.set(i, lane.im);
    }
  }
}

// core as map_wide_pair calls it, inline: around a quotient, a call took half the time.
template <class F>
struct OfParts {
  F core;
  template <class V>
  ARRAYX_HD void operator()(V& re, V& im, V x, V y) const {
    const Complex<V> r = core(Complex<V>{x, y});
    re = r.re;
    im = r.im;
  }
  template <class V>
  ARRAYX_HD void operator()(V& re, V& im, V x, V y, V u, V v) const {
    const Complex<V> r = core(Complex<V>{x, y}, Complex<V>{u, v});
    re = r.re;
    im = r.im;
  }
};

// core(z) for float64 parts, and by way of them for float32.
template <class F, class V>
ARRAYX_HD Complex<V> evaluate(F core, Complex<V> z) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    Complex<V> r;
    map_wide_pair(OfParts<F>{core}, r.re, r.im, z.re, z.im);
    return r;
  } else {
    return core(z);
  }
}
template <class F, class V>
ARRAYX_HD Complex<V> evaluate(F core, Complex<V> z, Complex<V> w) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    Complex<V> r;
    map_wide_pair(OfParts<F>{core}, r.re, r.im, z.re, z.im, w.re, w.im);
    return r;
  } else {
    return core(z, w);
  }
}

// short_core where it holds, else core, both of float64 lanes. A GPU keeps only what is rare out of
// line: registers that a call has to save go through memory, which took an H100 up to a fifth of
// the time. It has one copy of the rest in each kernel of an operation; a CPU has one for all.
#ifdef __CUDA_ARCH__
template <class F, class... Z>
ARRAYX_HD_NOINLINE auto out_of_line(F f, Z... z) {
  return f(z...);
}
template <class Short, class F, class... Z>
ARRAYX_HD auto short_or_full(Short short_core, F core, Z... z) {
  const auto r = short_core(z...);
  return r.holds ? r.value : out_of_line(core, z...);
}
#else
template <class Short, class F, class... Z>
ARRAYX_HD_NOINLINE auto short_or_full(Short short_core, F core, Z... z) {
  const auto r = short_core(z...);
  return all(r.holds) ? r.value : choose(r.holds, r.value, core(z...));
}
#endif
// core(z...), for results in float32 by the short one where it holds.
template <class Short, class F, class V, class... Z>
ARRAYX_HD Complex<V> evaluate_short(Short short_core, F core, Complex<V> z, Z... w) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return evaluate([short_core, core](auto... x) { return short_or_full(short_core, core, x...); },
                    z, w...);
  } else {
    return core(z, w...);
  }
}

// The product of two sums, rounded once where there is a fused multiply-add.
template <class V>
ARRAYX_HD V rounded_product(DoubleWord<V> a, DoubleWord<V> b) {
  return mul_add(a.hi, b.hi, mul_add(a.hi, b.lo, a.lo * b.hi));
}

// Squares of magnitudes within 2^+-450 neither overflow nor lose bits that matter; other lanes are
// multiplied by `scale`, a power of two, and their results by `unscale`.
template <class V>
struct Scaling {
  V scale, unscale;
};
template <class V>
ARRAYX_HD mask_t<V> squares_in_range(V magnitude) {
  return (magnitude < constant<V>(0x1p450)) & (magnitude > constant<V>(0x1p-450));
}
template <class V>
ARRAYX_HD Scaling<V> scaling_of(V magnitude) {
  const V up = constant<V>(0x1p600), down = constant<V>(0x1p-600), one = constant<V>(1);
  const mask_t<V> big = magnitude >= constant<V>(0x1p450),
                  small = magnitude <= constant<V>(0x1p-450);
  return {select(big, down, select(small, up, one)), select(big, up, select(small, down, one))};
}

// x^2 + y^2 to 2^-104.
template <class V>
ARRAYX_HD DoubleWord<V> sum_of_squares(V x, V y) {
  const DoubleWord<V> a = two_square(x), b = two_square(y);
  const DoubleWord<V> s = two_sum(a.hi, b.hi);
  return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}
template <class V>
ARRAYX_HD DoubleWord<V> sum_of_squares(DoubleWord<V> x, V y) {
  const DoubleWord<V> a = two_square(x.hi), b = two_square(y);
  const DoubleWord<V> s = two_sum(a.hi, b.hi);
  return fast_two_sum(s.hi, s.lo + (mul_add(x.hi + x.hi, x.lo, a.lo) + b.lo));
}

// ---------------------------------------------------------------------------- arithmetic

// Smith's formula: what is left to say of zero divisors and operands that are not finite.
ARRAYX_HD_NOINLINE Complex<f64> divide_special(Complex<f64> z, Complex<f64> w) {
  const f64 c = w.re, d = w.im, ac = fabs(c), ad = fabs(d);
  if (ac >= ad) {
    if (ac == 0 && ad == 0) return {z.re / ac, z.im / ac};
    const f64 ratio = d / c, scale = 1 / (c + d * ratio);
    return {(z.re + z.im * ratio) * scale, (z.im - z.re * ratio) * scale};
  }
  const f64 ratio = c / d, scale = 1 / (c * ratio + d);
  return {(z.re * ratio + z.im) * scale, (z.im * ratio - z.re) * scale};
}

// a b + c d, both of one sign.
template <class V>
ARRAYX_HD V sum_of_products(V a, V b, V c, V d) {
  return mul_add(a, b, c * d);
}

// a b + c d with its rounding error.
template <class V>
ARRAYX_HD DoubleWord<V> exact_sum_of_products(V a, V b, V c, V d) {
  const DoubleWord<V> p = two_prod(a, b), q = two_prod(c, d);
  const DoubleWord<V> s = two_sum(p.hi, q.hi);
  return {s.hi, s.lo + (p.lo + q.lo)};
}

// n / d from 1 / d, rounded almost once.
template <class V>
ARRAYX_HD V corrected_quotient(DoubleWord<V> n, DoubleWord<V> d, V inverse) {
  const V q = n.hi * inverse;
  const V remainder = mul_add(-q, d.hi, n.hi) + mul_add(-q, d.lo, n.lo);
  return mul_add(remainder, inverse, q);
}

// The textbook quotient. Where two_prod is cheap all sums keep their errors, and one division
// serves both parts; elsewhere its error is bounded by 5.2 units of 2^-53 and was measured below 4.
template <class V>
ARRAYX_HD Complex<V> quotient(Complex<V> z, Complex<V> w) {
  if constexpr (has_fma) {
    const DoubleWord<V> d = exact_sum_of_products(w.re, w.re, w.im, w.im);
    const V inverse = constant<V>(1) / d.hi;
    return {corrected_quotient(exact_sum_of_products(z.re, w.re, z.im, w.im), d, inverse),
            corrected_quotient(exact_sum_of_products(z.im, w.re, -z.re, w.im), d, inverse)};
  } else {
    const V d = w.re * w.re + w.im * w.im;
    return {(z.re * w.re + z.im * w.im) / d, (z.im * w.re - z.re * w.im) / d};
  }
}

// Of any operands. Out of line, since few divisions need it.
template <class V>
ARRAYX_HD_NOINLINE Complex<V> divide_any(Complex<V> z, Complex<V> w) {
  const V one = constant<V>(1), zero = constant<V>(0);
  const V m = larger(fabs(z.re), fabs(z.im)), n = larger(fabs(w.re), fabs(w.im));
  const Scaling<V> a = scaling_of(m), b = scaling_of(n);
  // Where both were scaled the same way there is nothing to undo.
  const mask_t<V> same = a.scale == b.scale;
  const V first = select(same, one, b.scale), second = select(same, one, a.unscale);
  Complex<V> r = quotient(Complex<V>{z.re * a.scale, z.im * a.scale},
                          Complex<V>{w.re * b.scale, w.im * b.scale});
  r = {(r.re * first) * second, (r.im * first) * second};
  const mask_t<V> special = (n == zero) | !(finite_parts(z) & finite_parts(w));
  if (any(special)) patch_lanes<V>(special, r, divide_special, z, w);
  return r;
}

template <class V>
ARRAYX_HD Complex<V> complex_divide(Complex<V> z, Complex<V> w) {
  const V m = larger(fabs(z.re), fabs(z.im)), n = larger(fabs(w.re), fabs(w.im));
  const mask_t<V> ordinary = (squares_in_range(m) | (m == constant<V>(0))) & squares_in_range(n);
  if (all(ordinary & finite_parts(z) & finite_parts(w))) return quotient(z, w);
  return divide_any(z, w);
}
// For results in float32.
struct ShortDivision {
  template <class V>
  ARRAYX_HD Complex<V> operator()(Complex<V> z, Complex<V> w) const {
    const ShortResult<V> r = short_complex_divide(z, w);
    return all(r.holds) ? r.value : choose(r.holds, r.value, divide_any(z, w));
  }
};
struct Inverse {
  template <class V>
  ARRAYX_HD Complex<V> operator()(Complex<V> z) const {
    const V m = larger(fabs(z.re), fabs(z.im));
    const mask_t<V> ordinary = squares_in_range(m) & finite_parts(z);
    V x = z.re, y = z.im, scale = constant<V>(1);
    if (any(!ordinary)) {
      scale = scaling_of(m).scale;
      x = x * scale;
      y = y * scale;
    }
    const V d = sum_of_products(x, x, y, y);
    Complex<V> r{(x / d) * scale, (-y / d) * scale};
    if (any(!ordinary)) {
      const mask_t<V> special = (m == constant<V>(0)) | !finite_parts(z);
      if (any(special)) {
        patch_lanes<V>(special, r, [](Complex<f64> w) { return divide_special({1, 0}, w); }, z);
      }
    }
    return r;
  }
};

// z / |z|. One infinite part is a direction; two of them are none.
template <class V>
ARRAYX_HD Complex<V> complex_sign(Complex<V> z) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V m = larger(fabs(z.re), fabs(z.im));
  V x = z.re, y = z.im;
  const mask_t<V> ordinary = squares_in_range(m) & finite_parts(z);
  if (any(!ordinary)) {
    const V scale = scaling_of(m).scale;
    x = x * scale;
    y = y * scale;
    const mask_t<V> infinite_x = is_inf(z.re), infinite_y = is_inf(z.im);
    const V nan = constant<V>(limits<f64>::nan);
    x = select(infinite_x, copysign(one, z.re), select(infinite_y, copysign(zero, z.re), x));
    y = select(infinite_y, copysign(one, z.im), select(infinite_x, copysign(zero, z.im), y));
    x = select((infinite_x & infinite_y) | is_nan(z.re) | is_nan(z.im), nan, x);
  }
  const V h = sqrt(sum_of_products(x, x, y, y));
  const mask_t<V> at_zero = h == zero;
  const V d = select(at_zero, one, h);
  return {select(at_zero, zero, x / d), select(at_zero, zero, y / d)};
}

// ---------------------------------------------------------------------------- square root

ARRAYX_HD_NOINLINE Complex<f64> sqrt_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  if (is_inf(z.im)) return {infinity, z.im};
  if (z.re == infinity) return {infinity, is_nan(z.im) ? nan : copysign(0.0, z.im)};
  if (z.re == -infinity) return {is_nan(z.im) ? nan : 0.0, copysign(infinity, z.im)};
  return {nan, nan};
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_sqrt(Complex<V> z) {
  const V zero = constant<V>(0), one = constant<V>(1), half = constant<V>(0.5);
  V x = fabs(z.re), y = fabs(z.im);
  const V m = larger(x, y);
  const mask_t<V> ordinary = squares_in_range(m) & finite_parts(z);
  const bool rare = any(!ordinary);
  V root_unscale = one;
  if (rare) {
    const Scaling<V> s = scaling_of(m);
    x = x * s.scale;
    y = y * s.scale;
    root_unscale = select(s.scale < one, constant<V>(0x1p300),
                          select(s.scale > one, constant<V>(0x1p-300), one));
  }
  // Of 2 Re(sqrt z)^2 = |z| + x and 2 Im(sqrt z)^2 = |z| - x the one without cancellation; the
  // other part is y / 2 over its root.
  const V h = sqrt(sum_of_products(x, x, y, y));
  V a = sqrt(half * (x + h));
  if (rare) a = a * root_unscale;
  const V b = fabs(z.im) / select(a == zero, one, a + a);
  const mask_t<V> left = z.re < zero;
  Complex<V> r{select(left, b, a), select(left, a, b)};
  r.im = copysign(r.im, z.im);
  if (rare && any(!finite_parts(z))) patch_lanes<V>(!finite_parts(z), r, sqrt_special, z);
  return r;
}

// ---------------------------------------------------------------------------- exponentials

ARRAYX_HD_NOINLINE Complex<f64> exp_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  const bool finite = ops::is_finite(z.im);
  if (z.re == -infinity) {
    if (!finite) return {0, 0};
    f64 s, c;
    sincos(z.im, s, c);
    return {0 * c, 0 * s};
  }
  if (z.im == 0) return z;
  if (z.re != infinity) return {nan, nan};
  if (!finite) return {infinity, nan};
  f64 s, c;
  sincos(z.im, s, c);
  return {infinity * c, infinity * s};
}

ARRAYX_HD_NOINLINE Complex<f64> expm1_special(Complex<f64> z) {
  if (z.im == 0 && !(z.re < 0)) return z;
  const Complex<f64> r = exp_special(z);
  return {r.re - 1, r.im};
}

// e^x in two normalized parts, times 2^n.
template <class V>
struct ScaledExp {
  DoubleWord<V> y;
  V n, shifted;
};
template <class V>
ARRAYX_HD ScaledExp<V> scaled_exp(V x, V x_low) {
  const ExpParts<V> p = exp_parts(x, x_low);
  return {fast_two_sum(p.hi, p.lo), p.n, p.shifted};
}

// e^x (cos y, sin y) / divisor, a power of two, where e^x may overflow while a product with the
// sine of a tiny angle does not: 2^1000 goes from the exponential to sine and cosine.
template <class V>
ARRAYX_HD Complex<V> extreme_exp(DoubleWord<V> a, SinCosParts<V> t, f64 log2_divisor) {
  const V zero = constant<V>(0);
  const V lowest = constant<V>(-800);
  const V x = select(a.hi < lowest, lowest, clamp(a.hi, 1480));
  const V x_low = select(x == a.hi, a.lo, zero);
  const mask_t<V> large = x > zero;
  const V moved = select(large, constant<V>(1000), zero);
  const V up = select(large, constant<V>(0x1p1000), constant<V>(1));
  const ScaledExp<V> e =
      scaled_exp(x - moved * constant<V>(exp_constants_t<V>::ln2_high),
                 mul_add(-moved, constant<V>(exp_constants_t<V>::ln2_low), x_low));
  const V n = e.n - constant<V>(log2_divisor);
  const DoubleWord<V> c{t.cos.hi * up, t.cos.lo * up}, s{t.sin.hi * up, t.sin.lo * up};
  return {scale_in_two_steps(rounded_product(e.y, c), n),
          scale_in_two_steps(rounded_product(e.y, s), n)};
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_exp(Complex<V> z) {
  const mask_t<V> extreme = exp_is_extreme(z.re);
  const bool rare = any(extreme);
  const SinCosParts<V> t = sin_cos_parts(reduce(z.im));
  const ScaledExp<V> e = scaled_exp(rare ? clamp(z.re, 708) : z.re, constant<V>(0));
  const V scale = power_of_two(e.shifted);
  Complex<V> r{rounded_product(e.y, t.cos) * scale, rounded_product(e.y, t.sin) * scale};
  if (rare) r = choose(extreme, extreme_exp(DoubleWord<V>{z.re, constant<V>(0)}, t, 0), r);
  // Zeros lose their sign in the sums.
  r.im = copysign(r.im, t.sin.hi);
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, exp_special, z);
  return r;
}

// e^x cos y - 1 = (e^x - 1) cos y - (1 - cos y).
template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_expm1(Complex<V> z) {
  const V one = constant<V>(1), zero = constant<V>(0);
  const mask_t<V> extreme = exp_is_extreme(z.re);
  const bool rare = any(extreme);
  const V x = rare ? clamp(z.re, 708) : z.re;
  const ScaledExp<V> e = scaled_exp(x, zero);
  const SinCosParts<V> t = sin_cos_parts(reduce(z.im));
  const V scale = power_of_two(e.shifted);
  const DoubleWord<V> head = two_sum(e.y.hi * scale, -one);
  const DoubleWord<V> minus_one = two_sum(head.hi, mul_add(e.y.lo, scale, head.lo));
  // 1 - cos y = sin^2 y / (1 + cos y) where the left side would cancel.
  const mask_t<V> near_one = t.cos.hi > constant<V>(0.7);
  const V difference = (one - t.cos.hi) - t.cos.lo;
  const V versine = select(near_one, t.sin.hi * t.sin.hi / (one + t.cos.hi), difference);
  const V re = rounded_product(minus_one, t.cos) - versine;
  const V im = copysign(rounded_product(e.y, t.sin) * scale, t.sin.hi);
  // On the real axis there is nothing to cancel; zeros of either sign give +0, as the standard
  // says.
  Complex<V> r{select(z.im == zero, value(minus_one), re), im};
  if (rare) {
    const Complex<V> large = complex_exp(z);
    r = choose(extreme, {select(z.re < zero, -one, large.re), large.im}, r);
  }
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, expm1_special, z);
  return r;
}

// ---------------------------------------------------------------------------- logarithms

// log |x + y j|; right for zeros and infinities, too.
template <class V>
ARRAYX_HD_NOINLINE V log_modulus(V x, V y) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V infinity = constant<V>(limits<f64>::infinity);
  x = fabs(x);
  y = fabs(y);
  const V m = larger(x, y);
  V extra = zero;
  const mask_t<V> ordinary = squares_in_range(m);
  const bool rare = any(!ordinary);
  if (rare) {
    const V scale = scaling_of(m).scale;
    x = x * scale;
    y = y * scale;
    extra = select(scale < one, constant<V>(1200), select(scale > one, constant<V>(-1200), zero));
  }
  const DoubleWord<V> s = sum_of_squares(x, y);
  V r = log_of_sum(s.hi, s.lo, extra) * constant<V>(0.5);
  if (rare) {
    r = select(m == zero, -infinity, r);
    r = select(is_nan(x) | is_nan(y), constant<V>(limits<f64>::nan), r);
    r = select((x == infinity) | (y == infinity), infinity, r);
  }
  return r;
}

// atan2 kept out of line: most functions below need it.
template <class V>
ARRAYX_HD_NOINLINE V angle(V y, V x) {
  return atan2(y, x);
}

template <class V>
ARRAYX_HD Complex<V> complex_log(Complex<V> z) {
  return {log_modulus(z.re, z.im), angle(z.im, z.re)};
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_log1p(Complex<V> z) {
  const V one = constant<V>(1), x = z.re, y = z.im;
  const V shifted = one + x;
  const mask_t<V> near_pole = x < constant<V>(-0.5);
  // |1 + z|^2 = 1 + t, t = 2x + x^2 + y^2; left of -1/2, where t is near -1, from the exact 1 + x.
  const DoubleWord<V> t = sum_of_squares(x, y);
  const DoubleWord<V> u = two_sum(x + x, t.hi);
  const V u_low = u.lo + t.lo;
  const DoubleWord<V> sum = two_sum(one, u.hi);
  DoubleWord<V> s = fast_two_sum(sum.hi, sum.lo + u_low);
  if (any(near_pole)) s = choose(near_pole, sum_of_squares(shifted, y), s);
  Complex<V> r{log_of_sum(s.hi, s.lo, constant<V>(0)) * constant<V>(0.5), angle(y, shifted)};
  // A tiny y^2 beside 1 + t does no harm.
  const V m = larger(fabs(select(near_pole, shifted, x)), fabs(y));
  const mask_t<V> underflow = near_pole & (m < constant<V>(0x1p-450));
  const mask_t<V> far = underflow | !(m < constant<V>(0x1p450));
  if (any(far)) r.re = select(far, log_modulus(shifted, y), r.re);
  // log |1 + z| = x + O(|z|^2): zeros keep their sign.
  r.re = select((x == constant<V>(0)) & (y == constant<V>(0)), x, r.re);
  return r;
}

// ---------------------------------------------------------------------------- hyperbolic functions

ARRAYX_HD_NOINLINE Complex<f64> sinh_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  if (is_nan(z.re)) return {nan, z.im == 0 ? z.im : nan};
  if (!ops::is_finite(z.im)) return {z.re == 0 || is_inf(z.re) ? z.re : nan, nan};
  if (z.im == 0) return z;
  f64 s, c;
  sincos(z.im, s, c);
  return {z.re * c, infinity * s};
}

ARRAYX_HD_NOINLINE Complex<f64> cosh_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  if (is_nan(z.re)) return {nan, z.im == 0 ? z.im : nan};
  if (!ops::is_finite(z.im)) {
    if (is_inf(z.re)) return {infinity, nan};
    return {nan, z.re == 0 ? 0.0 : nan};
  }
  if (z.im == 0) return {infinity, times_sign(z.im, z.re)};
  f64 s, c;
  sincos(z.im, s, c);
  return {infinity * c, z.re * s};
}

ARRAYX_HD_NOINLINE Complex<f64> tanh_special(Complex<f64> z) {
  constexpr f64 nan = limits<f64>::nan;
  if (is_nan(z.re)) return {nan, z.im == 0 ? z.im : nan};
  if (is_inf(z.re)) return {copysign(1.0, z.re), copysign(0.0, z.im)};
  return {z.re == 0 ? z.re : nan, nan};
}

// Where x itself is the result: the next term, at most a third of x^2, is under a sixteenth of an
// ulp.
template <class V>
ARRAYX_HD mask_t<V> is_tiny(V magnitude) {
  return magnitude < constant<V>(sizeof(scalar_t<V>) == 8 ? 0x1p-28 : 0x1p-14);
}

// sinh a and cosh a in two parts, 0 <= a <= 708.
template <class V>
struct SinhCoshParts {
  DoubleWord<V> sinh, cosh;
};
template <class V>
ARRAYX_HD SinhCoshParts<V> sinh_cosh_parts(V a) {
  const ExpPair<V> p = exp_pair(a);
  const V half = constant<V>(0.5), one = constant<V>(1);
  const V scale = power_of_two(p.shifted) * half;
  const V inverse_scale = power_of_two((constant<V>(exp_constants_t<V>::shifter) - one) - p.n);
  const V up = p.plus.hi * scale, down = p.minus.hi * inverse_scale;
  const V up_low = p.plus.lo * scale, down_low = p.minus.lo * inverse_scale;
  DoubleWord<V> s = two_sum(up, -down), c = fast_two_sum(up, down);
  s = two_sum(s.hi, s.lo + (up_low - down_low));
  c = fast_two_sum(c.hi, c.lo + (up_low + down_low));
  const mask_t<V> tiny = is_tiny(a);
  s = {select(tiny, a, s.hi), select(tiny, constant<V>(0), s.lo)};
  return {s, c};
}

// Either of the two, with the parts both are made of.
template <bool WantCosh, class V>
ARRAYX_HD Complex<V> sinh_or_cosh(Complex<V> z) {
  const V a = fabs(z.re);
  const mask_t<V> extreme = exp_is_extreme(a);
  const bool rare = any(extreme);
  const SinCosParts<V> t = sin_cos_parts(reduce(z.im));
  const SinhCoshParts<V> h = sinh_cosh_parts(rare ? clamp(a, 708) : a);
  V re = rounded_product(WantCosh ? h.cosh : h.sinh, t.cos);
  V im = rounded_product(WantCosh ? h.sinh : h.cosh, t.sin);
  if (rare) {
    const Complex<V> e = extreme_exp(DoubleWord<V>{a, constant<V>(0)}, t, 1);
    re = select(extreme, e.re, re);
    im = select(extreme, e.im, im);
  }
  // Zeros lose their sign in the sums.
  re = copysign(re, t.cos.hi);
  im = copysign(im, t.sin.hi);
  if constexpr (WantCosh) {
    return {re, times_sign(im, z.re)};
  } else {
    return {times_sign(re, z.re), im};
  }
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_sinh(Complex<V> z) {
  Complex<V> r = sinh_or_cosh<false>(z);
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, sinh_special, z);
  return r;
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_cosh(Complex<V> z) {
  Complex<V> r = sinh_or_cosh<true>(z);
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, cosh_special, z);
  return r;
}

// (sinh x cosh x + j sin y cos y) / (sinh^2 x + cos^2 y): no term cancels (Kahan, 1987).
template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_tanh(Complex<V> z) {
  const V a = fabs(z.re);
  const mask_t<V> large = !(a < constant<V>(350));
  const bool rare = any(large);
  const SinCosParts<V> t = sin_cos_parts(reduce(z.im));
  const SinhCoshParts<V> h = sinh_cosh_parts(rare ? clamp(a, 350) : a);
  const DoubleWord<V> s2 = h.sinh * h.sinh, c2 = t.cos * t.cos;
  const DoubleWord<V> d = s2 + c2;
  V re = value((h.sinh * h.cosh) / d);
  V im = value((t.sin * t.cos) / d);
  if (rare) {
    re = select(large, constant<V>(1), re);
    const V decay = exp(a * constant<V>(-2));
    im = select(large, constant<V>(4) * value(t.sin * t.cos) * decay, im);
  }
  // Subnormal operands vanish in the quotients.
  const mask_t<V> tiny = a < constant<V>(0x1p-600);
  if (any(tiny)) {
    // tanh(a + jy) = a / cos^2 y + j tan y; cos y is nowhere below 2^-62.
    re = select(tiny, (a / t.cos.hi) / t.cos.hi, re);
    const mask_t<V> tiny_angle = fabs(z.im) < constant<V>(0x1p-600);
    im = select(tiny & tiny_angle, z.im, im);
  }
  Complex<V> r{copysign(re, z.re), copysign(im, times_sign(t.sin.hi, t.cos.hi))};
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, tanh_special, z);
  return r;
}

// ---------------------------------------------------------------------------- inverse functions

// Square root of xi - j y or xi + j y (y >= 0), parts without sign. The real part of
// the root is `re`, the imaginary one `im`.
template <class V>
struct ComplexRoot {
  DoubleWord<V> re, im;
};
template <class V>
ARRAYX_HD DoubleWord<V> half_of(DoubleWord<V> x) {
  const V half = constant<V>(0.5);
  return {x.hi * half, x.lo * half};
}
template <class V>
ARRAYX_HD ComplexRoot<V> complex_root(DoubleWord<V> xi, V y) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const mask_t<V> left = xi.hi < zero;
  const DoubleWord<V> x = choose(left, -xi, xi);
  const DoubleWord<V> h = sqrt(sum_of_squares(x, y));
  DoubleWord<V> a = sqrt(half_of(h + x));
  const mask_t<V> vanishes = a.hi == zero;
  const DoubleWord<V> divisor{select(vanishes, one, a.hi + a.hi), a.lo + a.lo};
  DoubleWord<V> b = DoubleWord<V>{y, zero} / divisor;
  // For xi = 0, where the square of a small y underflows, both parts are the root of y / 2.
  const mask_t<V> at_zero = x.hi == zero;
  if (any(at_zero)) {
    const DoubleWord<V> root = sqrt(DoubleWord<V>{y * constant<V>(0x1p+199), zero});
    const V unscale = constant<V>(0x1p-100);
    const DoubleWord<V> both{root.hi * unscale, root.lo * unscale};
    a = choose(at_zero, both, a);
    b = choose(at_zero, both, b);
  }
  return {choose(left, b, a), choose(left, a, b)};
}

// For asin and acos of x + j y, x and y >= 0 (Kahan, 1987): with a = sqrt(1 - z), b = sqrt(1 + z),
// asin z = atan(x / Re(a b)) + j asinh(Im(conj(a) b)), acos z = 2 atan(Re a / Re b) - the same. All
// products here add up with one sign, and 1 - x and 1 + x are exact in two parts.
template <class V>
struct InverseSineParts {
  V re_a, re_b;  // acos: twice the angle of the point (re_b, re_a)
  V product;     // asin: the angle of the point (product, x)
  V imaginary;   // of asin
};
template <class V>
ARRAYX_HD_NOINLINE InverseSineParts<V> inverse_sine_parts(V x, V y) {
  const V one = constant<V>(1);
  const mask_t<V> far = !(larger(x, y) < constant<V>(0x1p400));
  const bool rare = any(far);
  const V x0 = select(far, one, x), y0 = select(far, one, y);
  const ComplexRoot<V> a = complex_root(two_sum(one, -x0), y0);
  const ComplexRoot<V> b = complex_root(two_sum(one, x0), y0);
  const V product = value(a.re * b.re + a.im * b.im);
  const V s = value(a.re * b.im + a.im * b.re);
  InverseSineParts<V> r{a.re.hi, b.re.hi, product, asinh(s)};
  if (rare) {
    // asin z = angle of (y, x) + j log(2 |z|).
    r.product = select(far, y, r.product);
    const V log_2z = log_modulus(x, y) + constant<V>(ln2);
    r.imaginary = select(far, log_2z, r.imaginary);
  }
  // sqrt(1 - z^2) = 1 and s = y there; products of subnormals would lose bits.
  const mask_t<V> tiny = larger(x, y) < constant<V>(0x1p-300);
  r.imaginary = select(tiny, y, r.imaginary);
  r.product = select(tiny, one, r.product);
  return r;
}

ARRAYX_HD_NOINLINE Complex<f64> acos_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  const bool nan_x = is_nan(z.re), nan_y = is_nan(z.im);
  if (is_inf(z.re) && nan_y) return {nan, -infinity};
  if (is_inf(z.im) && nan_x) return {nan, copysign(infinity, -z.im)};
  if (nan_y && z.re == 0) return {half_pi_hi, nan};
  if (nan_x || nan_y) return {nan, nan};
  return {atan2(fabs(z.im), z.re), copysign(infinity, -z.im)};
}

ARRAYX_HD_NOINLINE Complex<f64> asinh_special(Complex<f64> z) {
  constexpr f64 infinity = limits<f64>::infinity, nan = limits<f64>::nan;
  if (is_nan(z.re)) {
    if (is_inf(z.im)) return {infinity, nan};
    return {nan, z.im == 0 ? z.im : nan};
  }
  if (is_nan(z.im)) return {is_inf(z.re) ? z.re : nan, nan};
  return {copysign(infinity, z.re), copysign(atan2(fabs(z.im), fabs(z.re)), z.im)};
}

template <class V>
ARRAYX_HD Complex<V> complex_asin(Complex<V> z) {
  const V x = fabs(z.re), y = fabs(z.im);
  const InverseSineParts<V> p = inverse_sine_parts(x, y);
  Complex<V> r{copysign(angle(x, p.product), z.re), copysign(p.imaginary, z.im)};
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) {
    patch_lanes<V>(
        special, r, [](Complex<f64> w) { return swap_parts(asinh_special(swap_parts(w))); }, z);
  }
  return r;
}

template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_acos(Complex<V> z) {
  const V x = fabs(z.re), y = fabs(z.im), two = constant<V>(2);
  const InverseSineParts<V> p = inverse_sine_parts(x, y);
  const mask_t<V> far = !(larger(x, y) < constant<V>(0x1p400)), left = sign_bit(z.re);
  // acos(-z) = pi - acos(z) exchanges the roots.
  V n = select(left, p.re_b, p.re_a), d = select(left, p.re_a, p.re_b), factor = two;
  if (any(far)) {
    n = select(far, y, n);
    d = select(far, z.re, d);
    factor = select(far, constant<V>(1), factor);
  }
  Complex<V> r{factor * angle(n, d), -copysign(p.imaginary, z.im)};
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, acos_special, z);
  return r;
}

template <class V>
ARRAYX_HD Complex<V> complex_acosh(Complex<V> z) {
  const Complex<V> r = complex_acos(z);
  return {fabs(r.im), copysign(r.re, z.im)};
}

ARRAYX_HD_NOINLINE Complex<f64> atanh_special(Complex<f64> z) {
  constexpr f64 nan = limits<f64>::nan;
  const f64 zero = copysign(0.0, z.re), quarter_turn = copysign(half_pi_hi, z.im);
  if (is_inf(z.im)) return {zero, quarter_turn};
  if (is_inf(z.re)) return {zero, is_nan(z.im) ? nan : quarter_turn};
  return {z.re == 0 ? z.re : nan, nan};
}

// Re = log(1 + 4x / ((1 - x)^2 + y^2)) / 4, Im = angle of (1 - x^2 - y^2, 2y) / 2, for x, y >= 0.
template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_atanh(Complex<V> z) {
  const V zero = constant<V>(0), one = constant<V>(1), two = constant<V>(2);
  const V x = fabs(z.re), y = fabs(z.im), m = larger(x, y);
  const mask_t<V> far = !(m < constant<V>(0x1p400));
  const bool rare = any(far);
  const V x0 = select(far, two, x), y0 = select(far, two, y);
  const DoubleWord<V> d = sum_of_squares(two_sum(one, -x0), y0);
  // Where d underflows, at 1 + j y, the logarithm is that of 2 / y.
  const mask_t<V> pole = (x0 == one) & (y0 < constant<V>(0x1p-450));
  const V four_x = constant<V>(4) * x0;
  const DoubleWord<V> q =
      DoubleWord<V>{four_x, zero} / DoubleWord<V>{select(pole, one, d.hi), d.lo};
  const DoubleWord<V> sum = two_sum(one, q.hi);
  Complex<V> r;
  r.re = log_of_sum(sum.hi, sum.lo + q.lo, zero) * constant<V>(0.25);
  const DoubleWord<V> one_minus = -(sum_of_squares(x0, y0) + (-one));
  const V cosine = value(one_minus);
  r.im = angle(y0 + y0, select(cosine == zero, zero, cosine)) * constant<V>(0.5);
  r.re = select(x0 < constant<V>(0x1p-500), x0 / d.hi, r.re);
  if (any(pole)) {
    const V at_pole = constant<V>(0.5) * (constant<V>(ln2) - log(y0));
    r.re = select(pole, at_pole, r.re);
  }
  if (rare) {
    const V n = select(x < y, x, y) / m;
    r.re = select(far, ((x / m) / mul_add(n, n, one)) / m, r.re);
    r.im = select(far, constant<V>(half_pi_hi), r.im);
  }
  r = {copysign(r.re, z.re), copysign(r.im, z.im)};
  const mask_t<V> special = !finite_parts(z);
  if (any(special)) patch_lanes<V>(special, r, atanh_special, z);
  return r;
}

// ---------------------------------------------------------------------------- powers

// The angle of (x, y), x and y finite and not both zero, to 2^-64. atan(k/32) + a short series.
template <class V>
ARRAYX_HD DoubleWord<V> angle_double_word(V y, V x) {
  static constexpr f64 table_hi[] = {0x0.0p+0,
                                     0x1.ffd55bba97625p-6,
                                     0x1.ff55bb72cfdeap-5,
                                     0x1.7ee182602f10fp-4,
                                     0x1.fd5ba9aac2f6ep-4,
                                     0x1.3d6eee8c6626cp-3,
                                     0x1.7b97b4bce5b02p-3,
                                     0x1.b90d7529260a2p-3,
                                     0x1.f5b75f92c80ddp-3,
                                     0x1.18bf5a30bf178p-2,
                                     0x1.362773707ebccp-2,
                                     0x1.530ad9951cd4ap-2,
                                     0x1.6f61941e4def1p-2,
                                     0x1.8b24d394a1b25p-2,
                                     0x1.a64eec3cc23fdp-2,
                                     0x1.c0db4c94ec9f0p-2,
                                     0x1.dac670561bb4fp-2,
                                     0x1.f40dd0b541418p-2,
                                     0x1.0657e94db30d0p-1,
                                     0x1.1255d9bfbd2a9p-1,
                                     0x1.1e00babdefeb4p-1,
                                     0x1.2958e59308e31p-1,
                                     0x1.345f01cce37bbp-1,
                                     0x1.3f13fb89e96f4p-1,
                                     0x1.4978fa3269ee1p-1,
                                     0x1.538f57b89061fp-1,
                                     0x1.5d58987169b18p-1,
                                     0x1.66d663923e087p-1,
                                     0x1.700a7c5784634p-1,
                                     0x1.78f6bbd5d315ep-1,
                                     0x1.819d0b7158a4dp-1,
                                     0x1.89ff5ff57f1f8p-1,
                                     0x1.921fb54442d18p-1};
  static constexpr f64 table_lo[] = {0x0.0p+0,
                                     -0x1.5ec431444912cp-60,
                                     -0x1.c934d86d23f1dp-60,
                                     -0x1.cfb654c0c3d98p-58,
                                     -0x1.cd37686760c17p-59,
                                     0x1.61a3b0ce9281bp-57,
                                     0x1.347b0b4f881cap-58,
                                     0x1.17b10d2e0e5abp-61,
                                     0x1.8ab6e3cf7afbdp-57,
                                     0x1.30ca4748b1bf9p-57,
                                     -0x1.963a544b672d8p-57,
                                     -0x1.2566480884082p-57,
                                     -0x1.c63aae6f6e918p-56,
                                     0x1.b6d0ba3748fa8p-56,
                                     -0x1.24dec1b50b7ffp-56,
                                     -0x1.cc1ce70934c34p-56,
                                     0x1.a2b7f222f65e2p-56,
                                     -0x1.a3992dc382a23p-57,
                                     -0x1.d5b495f6349e6p-56,
                                     -0x1.2bdaee1c0ee35p-58,
                                     -0x1.928df287a668fp-58,
                                     -0x1.09e73b0c6c087p-56,
                                     0x1.1021137c71102p-55,
                                     0x1.ecf8b492644f0p-56,
                                     0x1.2419a87f2a458p-56,
                                     -0x1.1bb74abda520cp-55,
                                     0x1.0028e4bc5e7cap-57,
                                     -0x1.6ea6febe8bbbap-56,
                                     -0x1.8c34d25aadef6p-56,
                                     0x1.406a089803740p-55,
                                     -0x1.bf76229d3b917p-56,
                                     -0x1.55b9a5e177a1bp-55,
                                     0x1.1a62633145c07p-55};
  const V zero = constant<V>(0), one = constant<V>(1);
  const V ax = fabs(x), ay = fabs(y);
  const mask_t<V> swapped = ay > ax;
  V n = select(swapped, ax, ay), d = select(swapped, ay, ax);
  const V scale = select(d > constant<V>(0x1p+600), constant<V>(0x1p-600),
                         select(d < constant<V>(0x1p-400), constant<V>(0x1p+600), one));
  n = n * scale;
  d = d * scale;
  V k = rint(n / d * constant<V>(32));
  k = select(k <= constant<V>(32), k, zero);  // NaN is no index
  const V c = k * constant<V>(0.03125);
  const DoubleWord<V> t = (-two_prod(c, d) + n) / (two_prod(c, n) + d);
  const V square = t.hi * t.hi;
  // |t| <= 1/64: the next term is below 2^-70 of t.
  constexpr f64 series[] = {-0x1.5555555555555p-2, 0.2, -0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4,
                            -0x1.745d1745d1746p-4};
  const V cubic = (t.hi * square) * horner(square, series);
  const int_t<V> index = convert<int_t<V>>(k);
  const DoubleWord<V> base{gather(table_hi, index), gather(table_lo, index)};
  DoubleWord<V> r = base + fast_two_sum(t.hi, t.lo + cubic);
  const DoubleWord<V> half_pi{constant<V>(half_pi_hi), constant<V>(half_pi_lo)};
  const DoubleWord<V> pi{constant<V>(pi_hi), constant<V>(pi_lo)};
  r = choose(swapped, half_pi + -r, r);
  r = choose(sign_bit(x), pi + -r, r);
  return choose(sign_bit(y), -r, r);
}

// log |z| likewise, for finite z != 0.
template <class V>
ARRAYX_HD DoubleWord<V> log_modulus_double_word(V x, V y) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const V scale = scaling_of(larger(fabs(x), fabs(y))).scale;
  const DoubleWord<V> s = sum_of_squares(x * scale, y * scale);
  const DoubleWord<V> r = half_of(log_double_word(s.hi, mask_t<V>(true)) + s.lo / s.hi);
  const V n = select(scale < one, constant<V>(600), select(scale > one, constant<V>(-600), zero));
  const DoubleWord<V> head = two_sum(n * constant<V>(exp_constants_t<V>::ln2_high), r.hi);
  return fast_two_sum(head.hi,
                      head.lo + mul_add(n, constant<V>(exp_constants_t<V>::ln2_low), r.lo));
}

template <class V>
struct ComplexDoubleWord {
  DoubleWord<V> re, im;
};
template <class V>
ARRAYX_HD ComplexDoubleWord<V> operator*(ComplexDoubleWord<V> a, ComplexDoubleWord<V> b) {
  return {a.re * b.re + -(a.im * b.im), a.re * b.im + a.im * b.re};
}
template <class V>
ARRAYX_HD ComplexDoubleWord<V> choose(mask_t<V> m, ComplexDoubleWord<V> a, ComplexDoubleWord<V> b) {
  return {choose(m, a.re, b.re), choose(m, a.im, b.im)};
}

// z^n for whole |n| <= 64 by multiplications in double-double, so that exact powers are exact;
// otherwise, or where an intermediate result leaves the range in which that works, the result.
template <class V>
ARRAYX_HD_NOINLINE Complex<V> integer_power(Complex<V> z, V n, mask_t<V> wanted,
                                            Complex<V> result) {
  const V zero = constant<V>(0), one = constant<V>(1);
  const DoubleWord<V> none{zero, zero};
  ComplexDoubleWord<V> base{{z.re, zero}, {z.im, zero}}, power{{one, zero}, none};
  V k = select(wanted, fabs(n), zero);
  while (any(k > zero)) {
    const V half = floor(k * constant<V>(0.5));
    power = choose(half + half < k, power * base, power);
    base = choose(half > zero, base * base, base);
    k = half;
  }
  const V m = larger(fabs(power.re.hi), fabs(power.im.hi));
  const V b = larger(fabs(base.re.hi), fabs(base.im.hi));
  const mask_t<V> good = wanted & squares_in_range(m) & squares_in_range(b);
  const mask_t<V> negative = n < zero;
  if (any(negative)) {
    const DoubleWord<V> d = power.re * power.re + power.im * power.im;
    power = choose(negative, {power.re / d, -power.im / d}, power);
  }
  return choose(good, {value(power.re), value(power.im)}, result);
}

// Zeros and operands that are not finite, by the formula.
ARRAYX_HD_NOINLINE Complex<f64> pow_special(Complex<f64> z, Complex<f64> w) {
  if (w.re == 0 && w.im == 0) return {1, 0};
  const f64 r = log_modulus(z.re, z.im), t = angle(z.im, z.re);
  return complex_exp(Complex<f64>{w.re * r - w.im * t, w.re * t + w.im * r});
}

// e^(re + j im), im = quadrant * pi/2 + hi + lo.
template <class V>
ARRAYX_HD Complex<V> exp_of_parts(DoubleWord<V> re, ReducedAngle<V> im) {
  const SinCosParts<V> s = sin_cos_parts(im);
  const mask_t<V> extreme = exp_is_extreme(re.hi);
  const ScaledExp<V> e = scaled_exp(clamp(re.hi, 708), re.lo);
  const V scale = power_of_two(e.shifted);
  const Complex<V> result{rounded_product(e.y, s.cos) * scale, rounded_product(e.y, s.sin) * scale};
  return any(extreme) ? choose(extreme, extreme_exp(re, s, 0), result) : result;
}

// log z in units of pi/2 to 2^-172, for finite z != 0: Newton's correction to the rounded one.
ARRAYX_HD Complex<Fixed> log_fixed(Complex<f64> z) {
  constexpr Fixed two_over_pi{{0xdb6295993c439042, 0xfc2757d1f534ddc0, 0xa2f9836e4e441529, 0}};
  constexpr Fixed ln2_unit{{0x8e13becd1d495c36, 0xb608582e55fef3dd, 0x70f7263dfa5a6eec, 0}};
  const f64 scale = scaling_of(larger(fabs(z.re), fabs(z.im))).scale;
  const f64 re = z.re * scale, im = z.im * scale;
  // j^turns 2^k (x + jy) with x >= |y|.
  f64 turns = 0, x = re, y = im;
  if (fabs(im) > fabs(re)) {
    turns = copysign(1.0, im);
    x = turns * im;
    y = -turns * re;
  } else if (sign_bit(re)) {
    turns = copysign(2.0, im);
    x = -re;
    y = -im;
  }
  const Decomposition<f64> d = decompose(x);
  const f64 k = d.k + (scale < 1 ? 600 : scale > 1 ? -600 : 0);
  y = y * scaled_inverse(1.0, d.exponent);
  const f64 log_re = log_modulus(d.m, y), log_im = angle(y, d.m);
  // log(1 + e) = e - e^2/2 + e^3/3 with |e| < 2^-50.
  Complex<Fixed> e = exp_fixed({-log_re, -log_im}) * Complex<Fixed>{to_fixed(d.m), to_fixed(y)};
  e.re = e.re - to_fixed(1);
  const Complex<Fixed> square = e * e, cube = square * e;
  const Complex<Fixed> log{to_fixed(log_re) + e.re - square.re * 0.5 + cube.re * (1. / 3),
                           to_fixed(log_im) + e.im - square.im * 0.5 + cube.im * (1. / 3)};
  return {log.re * two_over_pi + ln2_unit * k, log.im * two_over_pi + to_fixed(turns)};
}

// e^(w log z) where the phase is large: exact but for the logarithm.
ARRAYX_HD_NOINLINE Complex<f64> pow_of_large_phase(Complex<f64> z, Complex<f64> w) {
  const DoubleWord<f64> half_pi{half_pi_hi, half_pi_lo};
  const Fixed half = to_fixed(0.5);
  const Complex<Fixed> log = log_fixed(z);
  const Fixed re = log.re * w.re - log.im * w.im;
  Fixed im = log.re * w.im + log.im * w.re + half;
  const i64 quadrant = i64(im.limb[3]);
  im.limb[3] = 0;
  const DoubleWord<f64> angle = to_double_word(im - half) * half_pi;
  return exp_of_parts(to_double_word(re) * half_pi, {angle.hi, angle.lo, quadrant});
}

// e^(w log z). The logarithm in two parts serves phases up to 2^11; it serves w beyond 2^130, too,
// where that of log_fixed ends and only z close to 1 have a power that is finite and not zero.
template <class V>
ARRAYX_HD_NOINLINE Complex<V> complex_pow(Complex<V> z, Complex<V> w) {
  const V zero = constant<V>(0);
  const DoubleWord<V> r = log_modulus_double_word(z.re, z.im), t = angle_double_word(z.im, z.re);
  const DoubleWord<V> re = r * w.re + -(t * w.im), im = t * w.re + r * w.im;
  const ReducedAngle<V> a = reduce(im.hi);
  // A low part that is an angle of its own belongs to a phase beyond those.
  const V low = select(fabs(im.lo) < constant<V>(0x1p-8), im.lo, zero);
  const DoubleWord<V> sum = two_sum(a.hi, a.lo + low);
  Complex<V> result = exp_of_parts(re, ReducedAngle<V>{sum.hi, sum.lo, a.quadrant});
  const mask_t<V> whole = (w.im == zero) & (fabs(w.re) <= constant<V>(64)) & (rint(w.re) == w.re);
  if (any(whole)) result = integer_power(z, w.re, whole, result);
  const mask_t<V> large = (fabs(im.hi) > constant<V>(0x1p11)) &
                          (fabs(re.hi) < constant<V>(0x1p60)) &
                          (larger(fabs(w.re), fabs(w.im)) < constant<V>(0x1p130));
  if (any(large)) patch_lanes<V>(large, result, pow_of_large_phase, z, w);
  const mask_t<V> vanishes = ((z.re == zero) & (z.im == zero)) | ((w.re == zero) & (w.im == zero));
  const mask_t<V> special = vanishes | !(finite_parts(z) & finite_parts(w));
  if (any(special)) patch_lanes<V>(special, result, pow_special, z, w);
  return result;
}

}  // namespace detail

// The textbook product, as the standard has it: no recovery of infinities.
template <class V>
ARRAYX_HD Complex<V> multiply(Complex<V> z, Complex<V> w) {
  return {z.re * w.re - z.im * w.im, z.re * w.im + z.im * w.re};
}
template <class V>
ARRAYX_HD Complex<V> square(Complex<V> z) {
  return multiply(z, z);
}
template <class V>
ARRAYX_HD Complex<V> divide(Complex<V> z, Complex<V> w) {
  if constexpr (same_type_v<scalar_t<V>, f32>) {
    return detail::evaluate(detail::ShortDivision(), z, w);
  } else {
    return detail::complex_divide(z, w);
  }
}
template <class V>
ARRAYX_HD Complex<V> reciprocal(Complex<V> z) {
  return detail::evaluate(detail::Inverse(), z);
}
template <class V>
ARRAYX_HD V abs(Complex<V> z) {
  return hypot(z.re, z.im);
}
// z / |z|, and 0 for 0.
template <class V>
ARRAYX_HD Complex<V> sign(Complex<V> z) {
  return detail::evaluate([](auto a) { return detail::complex_sign(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> sqrt(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_sqrt(a); },
                                [](auto a) { return detail::complex_sqrt(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> exp(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_exp(a); },
                                [](auto a) { return detail::complex_exp(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> expm1(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_expm1(a); },
                                [](auto a) { return detail::complex_expm1(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> log(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_log(a, 1); },
                                [](auto a) { return detail::complex_log(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> log1p(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_log1p(a); },
                                [](auto a) { return detail::complex_log1p(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> log2(Complex<V> z) {
  return detail::evaluate_short(
      [](auto a) { return detail::short_complex_log(a, 0x1.71547652b82fep+0); },
      [](auto a) {
        const auto r = detail::complex_log(a);
        const auto d = constant<decltype(r.re)>(detail::ln2);
        return decltype(a){r.re / d, r.im / d};
      },
      z);
}
template <class V>
ARRAYX_HD Complex<V> log10(Complex<V> z) {
  return detail::evaluate_short(
      [](auto a) { return detail::short_complex_log(a, 0x1.bcb7b1526e50ep-2); },
      [](auto a) {
        const auto r = detail::complex_log(a);
        const auto d = constant<decltype(r.re)>(0x1.26bb1bbb55516p+1);
        return decltype(a){r.re / d, r.im / d};
      },
      z);
}
template <class V>
ARRAYX_HD Complex<V> sinh(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_sinh_or_cosh<false>(a); },
                                [](auto a) { return detail::complex_sinh(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> cosh(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_sinh_or_cosh<true>(a); },
                                [](auto a) { return detail::complex_cosh(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> tanh(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_tanh(a); },
                                [](auto a) { return detail::complex_tanh(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> acos(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_acos(a); },
                                [](auto a) { return detail::complex_acos(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> acosh(Complex<V> z) {
  return detail::evaluate_short(
      [](auto a) {
        auto r = detail::short_complex_acos(a);
        r.value = {fabs(r.value.im), copysign(r.value.re, a.im)};
        return r;
      },
      [](auto a) { return detail::complex_acosh(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> asin(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_asin(a); },
                                [](auto a) { return detail::complex_asin(a); }, z);
}
template <class V>
ARRAYX_HD Complex<V> atanh(Complex<V> z) {
  return detail::evaluate_short([](auto a) { return detail::short_complex_atanh(a); },
                                [](auto a) { return detail::complex_atanh(a); }, z);
}

// f(z) = -j g(j z) for the pairs of odd functions, whose conjugate and negative arguments give
// conjugate and negative values: exchanging the parts before and after.
template <class V>
ARRAYX_HD Complex<V> sin(Complex<V> z) {
  return detail::swap_parts(sinh(detail::swap_parts(z)));
}
template <class V>
ARRAYX_HD Complex<V> cos(Complex<V> z) {
  return cosh(Complex<V>{-z.im, z.re});
}
template <class V>
ARRAYX_HD Complex<V> tan(Complex<V> z) {
  return detail::swap_parts(tanh(detail::swap_parts(z)));
}
template <class V>
ARRAYX_HD Complex<V> asinh(Complex<V> z) {
  return detail::swap_parts(asin(detail::swap_parts(z)));
}
template <class V>
ARRAYX_HD Complex<V> atan(Complex<V> z) {
  return detail::swap_parts(atanh(detail::swap_parts(z)));
}

namespace detail {

// z^2, in which nothing cancels.
template <class V>
ARRAYX_HD Complex<V> product_square(Complex<V> z) {
  const V product = z.re * z.im;
  return {(z.re - z.im) * (z.re + z.im), product + product};
}
template <class T>
inline constexpr f64 short_power_limit = same_type_v<T, f32> ? 0x1p60 : 0x1p500;
template <class V>
ARRAYX_HD mask_t<V> powers_are_short(Complex<V> z) {
  const V zero = constant<V>(0), most = constant<V>(short_power_limit<scalar_t<V>>);
  return (fabs(z.re) < most) & (fabs(z.im) < most) & ((z.re != zero) | (z.im != zero));
}

}  // namespace detail

// Squares, reciprocals and square roots as for real operands, where no square overflows.
template <class V>
ARRAYX_HD Complex<V> pow(Complex<V> z, Complex<V> w) {
  const bool some = detail::any_short_power(w.re);
  mask_t<V> square(false), inverse(false), root(false);
  if (some) {
    const mask_t<V> here = (w.im == constant<V>(0)) & detail::powers_are_short(z);
    square = here & (w.re == constant<V>(2));
    inverse = here & (w.re == constant<V>(-1));
    root = here & (w.re == constant<V>(0.5));
    if (all(square)) return detail::product_square(z);
    if (all(inverse)) return reciprocal(z);
    if (all(root)) return sqrt(z);
  }
  Complex<V> r =
      detail::evaluate_short([](auto a, auto b) { return detail::short_complex_pow(a, b); },
                             [](auto a, auto b) { return detail::complex_pow(a, b); }, z, w);
  if (some) {
    r = detail::choose(square, detail::product_square(z), r);
    if (any(inverse)) r = detail::choose(inverse, reciprocal(z), r);
    if (any(root)) r = detail::choose(root, sqrt(z), r);
  }
  return r;
}

namespace detail {

template <class V>
ARRAYX_HD_NOINLINE Complex<V> any_power_of_two(Complex<V> z) {
  return pow(z, Complex<V>{constant<V>(2), constant<V>(0)});
}
// pow(z, 2); where powers are short by one comparison of all lanes. Zeros, of which rows of other
// lengths than a vector's have some behind them, have a zero whose signs the product would lose.
struct PowerOfTwo {
  template <class V>
  ARRAYX_HD Complex<V> operator()(Complex<V> z) const {
    using T = scalar_t<V>;
    const V most = constant<V>(short_power_limit<T>), least = constant<V>(limits<T>::min_normal);
    if (all_within(fabs(z.re) + fabs(z.im), least, most)) return product_square(z);
    const V zero = constant<V>(0);
    const mask_t<V> is_zero = (z.re == zero) & (z.im == zero);
    if (!all(powers_are_short(z) | is_zero)) return any_power_of_two(z);
    return choose(is_zero, Complex<V>{zero, zero}, product_square(z));
  }
};

}  // namespace detail

}  // namespace math
ARRAYX_OPS_END
