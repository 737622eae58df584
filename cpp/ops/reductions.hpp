// The reductions: what each does with an element (map) and with two partial results (combine).
// One definition serves scalars, SIMD vectors, Complex pairs and CUDA threads. The order in which
// partial results are combined belongs to the engines.
#pragma once

#include "complex.hpp"

ARRAYX_OPS_BEGIN

template <class V>
struct value_of {  // the scalar type behind V, and V filled with one value
  using type = scalar_t<V>;
  ARRAYX_HD static V fill(type x) { return splat<V>(x); }
};
template <class V>
struct value_of<Complex<V>> {
  using type = scalar_t<V>;
  ARRAYX_HD static Complex<V> fill(type x) { return {splat<V>(x), splat<V>(type(0))}; }
};

// Whether lanes differ from zero: -0.0 does not, NaN does, a complex number if either part does.
template <class V>
ARRAYX_HD mask_t<V> is_nonzero(V x) {
  return x != splat<V>(scalar_t<V>(0));
}
template <class V>
ARRAYX_HD mask_t<V> is_nonzero(Complex<V> x) {
  return is_nonzero(x.re) | is_nonzero(x.im);
}

// The least and the greatest value; infinities for floating types.
template <class T>
ARRAYX_HD constexpr T greatest_value() {
  if constexpr (is_float_v<T>) {
    return limits<T>::infinity;
  } else if constexpr (is_signed_v<T>) {
    return T((typename ints_of_width<sizeof(T)>::u)(~u64(0)) >> 1);
  } else {
    return T(~T(0));
  }
}
template <class T>
ARRAYX_HD constexpr T least_value() {
  if constexpr (is_float_v<T>) {
    return -limits<T>::infinity;
  } else {
    return T(~greatest_value<T>());
  }
}

// Integer sums and products wrap around: engines run them on unsigned accumulators.
struct Sum {
  // Adding -0.0 changes no number; see also finished().
  template <class V>
  ARRAYX_HD static V identity() {
    if constexpr (is_complex_v<V>) {
      using R = decltype(V{}.re);
      return {identity<R>(), identity<R>()};
    } else if constexpr (is_float_v<scalar_t<V>>) {
      return splat<V>(scalar_t<V>(-0.0));
    } else {
      return splat<V>(scalar_t<V>(0));
    }
  }
  template <class V>
  ARRAYX_HD static V map(V x, V) {
    return x;
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return a + b;
  }
};

// What a reduction gives that has combined x: the sum of zeros is +0 whatever their signs, as an
// empty one is. An engine may do this to partial results, too.
template <class Op, class V>
ARRAYX_HD V finished(V x) {
  if constexpr (!same_type_v<Op, Sum>) {
    return x;
  } else if constexpr (is_complex_v<V>) {
    return {finished<Op>(x.re), finished<Op>(x.im)};
  } else if constexpr (is_float_v<scalar_t<V>>) {
    return x + splat<V>(scalar_t<V>(0));
  } else {
    return x;
  }
}

// x, rounded: GCC 12's vectoriser makes multiply-adds with one rounding (vfmaddsub) of a complex
// product whatever -ffp-contract says, unless it cannot see that the terms are products.
template <class T>
ARRAYX_HD T rounded_term(T x) {
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && defined(__x86_64__)
  if constexpr (is_float_v<T>) asm("" : "+x"(x));
#endif
  return x;
}

struct Prod {
  // For complex operands 1 is no neutral element next to infinities: (1+0i)(inf+0i) has a NaN part.
  template <class V>
  ARRAYX_HD static V identity() {
    return value_of<V>::fill(typename value_of<V>::type(1));
  }
  template <class V>
  ARRAYX_HD static V map(V x, V) {
    return x;
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return a * b;
  }
  template <class V>
  ARRAYX_HD static Complex<V> combine(Complex<V> a, Complex<V> b) {
    return {rounded_term(a.re * b.re) - rounded_term(a.im * b.im),
            rounded_term(a.re * b.im) + rounded_term(a.im * b.re)};
  }
};

// NaN propagates. Of two equal values (zeros of either sign) the first stays.
struct Max {
  template <class V>
  ARRAYX_HD static V identity() {
    return splat<V>(least_value<scalar_t<V>>());
  }
  template <class V>
  ARRAYX_HD static V map(V x, V) {
    return x;
  }
  template <class V>
  ARRAYX_HD static mask_t<V> better(V x, V best) {  // for arg-reductions: NaN beats numbers
    if constexpr (is_float_v<scalar_t<V>>) {
      return (!(x <= best)) & (best == best);
    } else {
      return x > best;
    }
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return greater_of(a, b);
  }
};

struct Min {
  template <class V>
  ARRAYX_HD static V identity() {
    return splat<V>(greatest_value<scalar_t<V>>());
  }
  template <class V>
  ARRAYX_HD static V map(V x, V) {
    return x;
  }
  template <class V>
  ARRAYX_HD static mask_t<V> better(V x, V best) {
    if constexpr (is_float_v<scalar_t<V>>) {
      return (!(x >= best)) & (best == best);
    } else {
      return x < best;
    }
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return lesser_of(a, b);
  }
};

// Any, All and CountNonzero see an element only as the condition is_nonzero(x).
struct Any {
  static constexpr bool initial = false;
  template <class M>
  ARRAYX_HD static M combine(M a, M b) {
    return a | b;
  }
};

struct All {
  static constexpr bool initial = true;
  template <class M>
  ARRAYX_HD static M combine(M a, M b) {
    return a & b;
  }
};

struct CountNonzero {
  template <class I>
  ARRAYX_HD static I combine(I a, I b) {
    return a + b;
  }
};

// The sum of |x|, of real x.
struct SumMagnitudes {
  template <class V>
  ARRAYX_HD static V identity() {
    return splat<V>(scalar_t<V>(0));
  }
  template <class V>
  ARRAYX_HD static V map(V x, V) {
    return fabs(x);
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return a + b;
  }
};

// The sum of |x - center|^2. No fused multiply-add, so that every instruction set agrees.
struct SumSquaredDeviations {
  template <class V>
  ARRAYX_HD static V identity() {
    return splat<V>(scalar_t<V>(0));
  }
  template <class V>
  ARRAYX_HD static V map(V x, V center) {
    const V d = x - center;
    return d * d;
  }
  template <class V>
  ARRAYX_HD static V map(Complex<V> x, Complex<V> center) {
    const V re = x.re - center.re, im = x.im - center.im;
    return re * re + im * im;
  }
  template <class V>
  ARRAYX_HD static V combine(V a, V b) {
    return a + b;
  }
};

ARRAYX_OPS_END
