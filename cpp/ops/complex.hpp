// Complex<V>: a pair of lanes. V is a scalar or a vector, so one branch-free definition of a
// complex function serves both. Laid out like std::complex and C's _Complex when V is a scalar.
#pragma once

#include "lanes.hpp"

ARRAYX_OPS_BEGIN

template <class V>
struct Complex {
  V re, im;
};

template <class T>
inline constexpr bool is_complex_v = false;
template <class V>
inline constexpr bool is_complex_v<Complex<V>> = true;

template <class V>
ARRAYX_HD Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
ARRAYX_HD Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V>
ARRAYX_HD Complex<V> operator-(Complex<V> a) {
  return {-a.re, -a.im};
}
template <class V>
ARRAYX_HD mask_t<V> operator==(Complex<V> a, Complex<V> b) {
  return (a.re == b.re) & (a.im == b.im);
}
template <class V>
ARRAYX_HD mask_t<V> operator!=(Complex<V> a, Complex<V> b) {
  return (a.re != b.re) | (a.im != b.im);
}
template <class V>
ARRAYX_HD Complex<V> select(mask_t<V> m, Complex<V> a, Complex<V> b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}

ARRAYX_OPS_END
