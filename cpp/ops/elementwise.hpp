// The function objects of the vocabulary: what each elementwise operation computes, once, for a
// scalar, a SIMD vector, a CUDA thread, and Complex of each. The special cases of the standard live
// here and in math/.
#pragma once

#include "complex.hpp"
#include "lanes.hpp"
#include "math/complex_functions.hpp"
#include "math/exponential.hpp"
#include "math/hyperbolic.hpp"
#include "math/logarithm.hpp"
#include "math/power.hpp"
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
    if constexpr (is_complex_v<V> || is_float_v<scalar_t<V>>) {
      return -a;
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
      return sqrt(a);
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

// ---- integer and floored division ---------------------------------------------------------------

// Integers divide lane by lane: division by zero gives 0 and remainder 0, the smallest signed value
// by -1 wraps, so that no input traps.
template <class T>
ARRAYX_HD T integer_floor_divide(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (is_signed_v<T>) {
    if (b == T(-1))
      return T(typename ints_of_width<sizeof(T)>::u(0) - typename ints_of_width<sizeof(T)>::u(a));
    const T q = T(a / b);
    return T(q - T((a % b != 0) & ((a < 0) != (b < 0))));
  } else {
    return T(a / b);
  }
}
template <class T>
ARRAYX_HD T integer_remainder(T a, T b) {
  if (b == T(0)) return T(0);
  if constexpr (is_signed_v<T>) {
    if (b == T(-1)) return T(0);
    const T r = T(a % b);
    return T(r + ((r != 0) & ((r < 0) != (b < 0)) ? b : T(0)));
  } else {
    return T(a % b);
  }
}

ARRAYX_HD f32 truncated_remainder(f32 a, f32 b) {
  return ARRAYX_LIBM(fmodf)(a, b);
}
ARRAYX_HD f64 truncated_remainder(f64 a, f64 b) {
  return ARRAYX_LIBM(fmod)(a, b);
}

// Python's float %: the sign of the divisor, exact.
template <class T>
ARRAYX_HD T float_remainder(T a, T b) {
  T r = truncated_remainder(a, b);
  if (r == T(0)) return copysign(r, b);
  return (r < T(0)) != (b < T(0)) ? r + b : r;
}
// floor of the exact quotient of finite operands (Python's //); floor(a / b) where one is infinite
// or b is zero, as the standard prefers.
template <class T>
ARRAYX_HD T float_floor_divide(T a, T b) {
  const T quotient = a / b;
  if (!is_finite(quotient) | !is_finite(a) | !is_finite(b)) return floor(quotient);
  T r = truncated_remainder(a, b);
  T q = (a - r) / b;
  if ((r != T(0)) & ((r < T(0)) != (b < T(0)))) q = q - T(1);
  if (q == T(0)) return copysign(q, quotient);
  const T down = floor(q);
  return q - down > T(0.5) ? down + T(1) : down;
}

struct FloorDivide {
  template <class T>
  ARRAYX_HD T operator()(T a, T b) const {
    if constexpr (is_float_v<T>) {
      return float_floor_divide(a, b);
    } else {
      return integer_floor_divide(a, b);
    }
  }
};

struct Remainder {
  template <class T>
  ARRAYX_HD T operator()(T a, T b) const {
    if constexpr (is_float_v<T>) {
      return float_remainder(a, b);
    } else {
      return integer_remainder(a, b);
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
      return select((a > b) | is_nan(a), a, b);
    } else {
      return select(a > b, a, b);
    }
  }
};
struct Minimum {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_float_v<scalar_t<V>>) {
      return select((a < b) | is_nan(a), a, b);
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

#define ARRAYX_MATH_UNARY(Name, function) \
  struct Name {                           \
    template <class V>                    \
    ARRAYX_HD V operator()(V a) const {   \
      return math::function(a);           \
    }                                     \
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

#define ARRAYX_MATH_BINARY(Name, function)   \
  struct Name {                              \
    template <class V>                       \
    ARRAYX_HD V operator()(V a, V b) const { \
      return math::function(a, b);           \
    }                                        \
  };
ARRAYX_MATH_BINARY(Atan2, atan2)
ARRAYX_MATH_BINARY(Hypot, hypot)
ARRAYX_MATH_BINARY(LogAddExp, logaddexp)
#undef ARRAYX_MATH_BINARY

// Integers by repeated squaring, modulo 2**width. A negative exponent has the value 0 except for
// the bases 1 and -1.
template <class T>
ARRAYX_HD T integer_pow(T base, T exponent) {
  using U = typename ints_of_width<sizeof(T)>::u;
  if constexpr (is_signed_v<T>) {
    if (exponent < T(0)) {
      if (base == T(1)) return T(1);
      if (base == T(-1)) return (exponent & T(1)) ? T(-1) : T(1);
      return T(0);
    }
  }
  u64 power = u64(base), result = 1;
  for (U e = U(exponent); e; e = U(e >> 1)) {
    if (e & 1) result *= power;
    power *= power;
  }
  return T(U(result));
}

struct Pow {
  template <class V>
  ARRAYX_HD V operator()(V a, V b) const {
    if constexpr (is_complex_v<V> || is_float_v<scalar_t<V>>) {
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

// Operations that are evaluated one lane at a time whatever the engine.
template <class F, class T>
inline constexpr bool is_scalar_only = false;
template <class T>
inline constexpr bool is_scalar_only<FloorDivide, T> = true;
template <class T>
inline constexpr bool is_scalar_only<Remainder, T> = true;
template <class T>
inline constexpr bool is_scalar_only<Pow, T> = !is_float_v<T> && !is_complex_v<T>;

ARRAYX_OPS_END
