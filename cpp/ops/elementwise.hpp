// The function objects of the vocabulary: what each elementwise operation computes, once, for a
// scalar, a SIMD vector, a CUDA thread, and Complex of each. The special cases of the standard live
// here and in math/.
#pragma once

#include "complex.hpp"
#include "division.hpp"
#include "lanes.hpp"
#include "math/complex_functions.hpp"
#include "math/exponential.hpp"
#include "math/hyperbolic.hpp"
#include "math/logarithm.hpp"
#include "math/power.hpp"
#include "math/short_real.hpp"
#include "math/trigonometric.hpp"

ARRAYX_OPS_BEGIN

// ---- arithmetic ---------------------------------------------------------------------------------

struct Add {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return a + b;
  }
};

struct Subtract {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return a - b;
  }
};

struct Multiply {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_complex_v<V>) {
      return math::multiply(a, b);
    } else if constexpr (lane_traits<V>::lanes == 1 && !is_float_v<V> && sizeof(V) < 4) {
      return V(u32(a) * u32(b));  // int promotion could overflow: 65535 * 65535 as int
    } else {
      return a * b;
    }
  }
};

struct Divide {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_complex_v<V>) {
      return math::divide(a, b);
    } else {
      return a / b;
    }
  }
};

struct Negative {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return -a;
    } else if constexpr (is_float_v<scalar_t<V>>) {  // by bits: a GPU leaves NaN their signs
      using U = uint_t<V>;
      using u = scalar_t<U>;
      return bit_cast<V>(bit_cast<U>(a) ^ splat<U>(u(u(1) << (8 * sizeof(u) - 1))));
    } else {
      return splat<V>(scalar_t<V>(0)) - a;
    }
  }
};

struct Square {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    return Multiply{}(a, a);
  }
};

struct Reciprocal {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return math::reciprocal(a);
    } else {
      return splat<V>(scalar_t<V>(1)) / a;
    }
  }
};

struct Sqrt {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return math::sqrt(a);
    } else {
      return sqrt_alone(a);
    }
  }
};

struct Abs {
  template <class V>
  ARRAYX_HD auto operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return math::abs(a);
    } else if constexpr (is_float_v<scalar_t<V>>) {
      return fabs(a);
    } else if constexpr (is_signed_v<scalar_t<V>>) {
      const V zero = splat<V>(scalar_t<V>(0));
      return select(a < zero, V(zero - a), a);
    } else {
      return a;
    }
  }
};

struct Sign {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return math::sign(a);
    } else {
      using T = scalar_t<V>;
      const V zero = splat<V>(T(0)), one = splat<V>(T(1));
      V r = select(a > zero, one, zero);
      if constexpr (is_signed_v<T>) r = select(a < zero, V(zero - one), r);
      if constexpr (is_float_v<T>) r = select(is_nan(a), a, r);
      return r;
    }
  }
};

struct Conj {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return {a.re, -a.im};
    } else {
      return a;
    }
  }
};

// ---- rounding -----------------------------------------------------------------------------------

struct Floor {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return floor(a);
    } else {
      return a;
    }
  }
};

struct Ceil {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return ceil(a);
    } else {
      return a;
    }
  }
};

struct Trunc {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return trunc(a);
    } else {
      return a;
    }
  }
};

struct Round {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return {rint(a.re), rint(a.im)};
    } else if constexpr (is_float_v<scalar_t<V>>) {
      return rint(a);
    } else {
      return a;
    }
  }
};

// ---- bits ---------------------------------------------------------------------------------------

struct BitwiseAnd {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return V(a & b);
  }
};

struct BitwiseOr {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return V(a | b);
  }
};

struct BitwiseXor {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return V(a ^ b);
  }
};

struct BitwiseInvert {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    return V(~a);
  }
};

// On bool stored as 0 or 1.
struct LogicalNot {
  template <class V>
  ARRAYX_HD V operator()(V a) const {
    return V(a ^ splat<V>(scalar_t<V>(1)));
  }
};

// A shift by the width or more moves every bit out; a negative count is such a shift.
struct BitwiseLeftShift {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    using T = scalar_t<V>;
    using U = uint_t<V>;
    using u = scalar_t<U>;
    constexpr int width = 8 * sizeof(T);
    const U count = bit_cast<U>(b);
    const auto in_range = count < splat<U>(u(width));
    const U safe = count & splat<U>(u(width - 1));
    return select(in_range, bit_cast<V>(U(bit_cast<U>(a) << safe)), splat<V>(T(0)));
  }
};

// Floor division by 2**b: 0 or -1 once every bit is gone.
struct BitwiseRightShift {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    using T = scalar_t<V>;
    using U = uint_t<V>;
    using u = scalar_t<U>;
    constexpr int width = 8 * sizeof(T);
    const U count = bit_cast<U>(b);
    const auto in_range = count < splat<U>(u(width));
    const V safe = bit_cast<V>(U(count & splat<U>(u(width - 1))));
    const V rest = is_signed_v<T> ? V(a >> (width - 1)) : splat<V>(T(0));
    return select(in_range, V(a >> safe), rest);
  }
};

// ---- comparisons --------------------------------------------------------------------------------

struct Equal {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a != b;
  }
};
struct Less {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a <= b;
  }
};
struct Greater {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class V>
  ARRAYX_HD auto operator()(V a, V b) const {
    return a >= b;
  }
};

// NaN in either operand wins.
struct Maximum {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return select(is_nan(a), a, at_least(b, a));
    } else {
      return select(a > b, a, b);
    }
  }
};
struct Minimum {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return select(is_nan(a), a, at_most(b, a));
    } else {
      return select(a < b, a, b);
    }
  }
};
struct Clip {
  template <class V>
  ARRAYX_HD V operator()(V x, V low, V high) const {
    return Minimum{}(Maximum{}(x, low), high);
  }
};

// The condition comes as a mask of the operands' width.
struct Where {
  template <class M, class V>
  ARRAYX_HD V operator()(M condition, V a, V b) const {
    return select(condition, a, b);
  }
};

// ---- classification -----------------------------------------------------------------------------

struct IsNan {
  template <class V>
  ARRAYX_HD auto operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return is_nan(a.re) | is_nan(a.im);
    } else {
      return a != a;
    }
  }
};
struct IsInf {
  template <class V>
  ARRAYX_HD auto operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return is_inf(a.re) | is_inf(a.im);
    } else if constexpr (is_float_v<scalar_t<V>>) {
      return is_inf(a);
    } else {
      return a != a;
    }
  }
};
struct IsFinite {
  template <class V>
  ARRAYX_HD auto operator()(V a) const {
    if constexpr (is_complex_v<V>) {
      return is_finite(a.re) & is_finite(a.im);
    } else if constexpr (is_float_v<scalar_t<V>>) {
      return is_finite(a);
    } else {
      return a == a;
    }
  }
};
struct SignBit {
  template <class V>
  ARRAYX_HD auto operator()(V a) const {
    return sign_bit(a);
  }
};
struct CopySign {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return copysign(a, b);
  }
};

// The neighbour of a towards b, by stepping the integer that its bits form.
struct NextAfter {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    using I = int_t<V>;
    using i = scalar_t<I>;
    const V zero = splat<V>(scalar_t<V>(0));
    const I bits = bit_cast<I>(a), one = splat<I>(i(1));
    const auto away = (a < b) == (a > zero);  // away from zero
    const V stepped = bit_cast<V>(select(away, I(bits + one), I(bits - one)));
    const V smallest = copysign(bit_cast<V>(one), b);
    V r = select(a == zero, smallest, stepped);
    r = select(a == b, b, r);
    return select(is_nan(a) | is_nan(b), V(a + b), r);
  }
};

// ---- math ---------------------------------------------------------------------------------------

#define ARRAYX_MATH_UNARY(Name, function)                            \
  struct Name {                                                      \
    template <class V>                                               \
    ARRAYX_HD V operator()(V a) const {                              \
      if constexpr (math::has_fast_doubles && same_type_v<V, f32>) { \
        return math::for_gpu::function(a);                           \
      } else {                                                       \
        return math::function(a);                                    \
      }                                                              \
    }                                                                \
  };
ARRAYX_MATH_UNARY(Acos, acos)
ARRAYX_MATH_UNARY(Acosh, acosh)
ARRAYX_MATH_UNARY(Asin, asin)
ARRAYX_MATH_UNARY(Asinh, asinh)
ARRAYX_MATH_UNARY(Atan, atan)
ARRAYX_MATH_UNARY(Atanh, atanh)
ARRAYX_MATH_UNARY(Cos, cos)
ARRAYX_MATH_UNARY(Cosh, cosh)
ARRAYX_MATH_UNARY(Exp, exp)
ARRAYX_MATH_UNARY(Expm1, expm1)
ARRAYX_MATH_UNARY(Log, log)
ARRAYX_MATH_UNARY(Log10, log10)
ARRAYX_MATH_UNARY(Log1p, log1p)
ARRAYX_MATH_UNARY(Log2, log2)
ARRAYX_MATH_UNARY(Sin, sin)
ARRAYX_MATH_UNARY(Sinh, sinh)
ARRAYX_MATH_UNARY(Tan, tan)
ARRAYX_MATH_UNARY(Tanh, tanh)
#undef ARRAYX_MATH_UNARY

#define ARRAYX_MATH_BINARY(Name, function)                           \
  struct Name {                                                      \
    template <class V>                                               \
    ARRAYX_HD V operator()(V a, V b) const {                         \
      if constexpr (math::has_fast_doubles && same_type_v<V, f32>) { \
        return math::for_gpu::function(a, b);                        \
      } else {                                                       \
        return math::function(a, b);                                 \
      }                                                              \
    }                                                                \
  };
ARRAYX_MATH_BINARY(Atan2, atan2)
ARRAYX_MATH_BINARY(LogAddExp, logaddexp)
#undef ARRAYX_MATH_BINARY

struct Hypot {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    return math::hypot(a, b);
  }
};

// Integers by repeated squaring, modulo 2**width. A negative exponent has the value 0 except for
// the bases 1 and -1.
template <class V>
ARRAYX_HD V integer_pow(V base, V exponent) {
  using T = scalar_t<V>;
  using U = uint_t<V>;
  using u = scalar_t<U>;
  // The product of narrow scalars as int could overflow.
  using Product = select_type_t<lane_traits<V>::lanes == 1 && sizeof(T) < 4, u32, U>;
  const U zero = splat<U>(u(0)), one = splat<U>(u(1));
  const mask_t<V> negative = exponent < splat<V>(T(0));
  U positive = bit_cast<U>(exponent);
  if constexpr (is_signed_v<T>) positive = select(negative, zero, positive);
  const Product none(zero), bit(one);
  Product e(positive), power(bit_cast<U>(base));
  Product result = select((e & bit) != none, power, Product(one));
  while (any((e = e >> 1) != none)) {
    power = power * power;
    result = select((e & bit) != none, result * power, result);
  }
  V r = bit_cast<V>(U(result));
  if constexpr (is_signed_v<T>) {
    if (any(negative)) {
      const mask_t<V> odd = (exponent & splat<V>(T(1))) != splat<V>(T(0));
      const V of_minus_one = select(odd, splat<V>(T(-1)), splat<V>(T(1)));
      const V inverse = select(base == splat<V>(T(1)), base,
                               select(base == splat<V>(T(-1)), of_minus_one, splat<V>(T(0))));
      r = select(negative, inverse, r);
    }
  }
  return r;
}

struct Pow {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (math::has_fast_doubles && same_type_v<V, f32>) {
      return math::for_gpu::pow(a, b);
    } else if constexpr (is_complex_v<V> || is_float_v<scalar_t<V>>) {
      return math::pow(a, b);
    } else {
      return integer_pow(a, b);
    }
  }
};

// ---- which form an engine uses ------------------------------------------------------------------

// The function object for dtype bool, where bits of a byte would be the wrong meaning.
template <class F>
struct bool_form {
  using type = F;
};
template <>
struct bool_form<BitwiseInvert> {
  using type = LogicalNot;
};

// What comes out the same, bit for bit, whether integers have a sign.
template <class F>
inline constexpr bool ignores_signs =
    is_one_of<F, Add, BitwiseAnd, BitwiseInvert, BitwiseLeftShift, BitwiseOr, BitwiseXor, Conj,
              Equal, IsFinite, IsInf, IsNan, Multiply, Negative, NotEqual, Square, Subtract>;
// The type as which an operation may read T, so that several share what is compiled.
template <class F, class T>
constexpr auto read_as() {
  if constexpr (same_type_v<F, Where>) {
    return bits_of_t<T>();
  } else if constexpr (ignores_signs<F>) {
    return without_sign_t<T>();
  } else {
    return T();
  }
}
// The function object that does on T what F does: those that leave integers as they are are one.
template <class F, class T>
struct same_function {
  using type = F;
};
template <class F, class T>
  requires is_one_of<F, Ceil, Floor, Round, Trunc> && (!is_float_v<T> && !is_complex_v<T>)
struct same_function<F, T> {
  using type = Conj;
};
template <class T>
  requires same_type_v<T, typename ints_of_width<sizeof(T)>::u>
struct same_function<Abs, T> {
  using type = Conj;
};
template <class T>
  requires(!is_float_v<T> && !is_complex_v<T>)
struct same_function<IsInf, T> {
  using type = IsNan;
};

// Bytes of the widest lane in which an operation on (parts of type) T works: an engine that takes
// as many lanes as fill a register of these needs no more than one register for each value.
template <class F, class T>
inline constexpr int widest_lane = sizeof(T);
template <class T>
  requires(!is_float_v<T>)
inline constexpr int widest_lane<FloorDivide, T> = sizeof(T) < 4 ? 4 : 8;
template <class T>
  requires(!is_float_v<T>)
inline constexpr int widest_lane<Remainder, T> = sizeof(T) < 4 ? 4 : 8;

ARRAYX_OPS_END
