// Floored division, Python's // and %: quotients toward minus infinity, remainders of the divisor's
// sign. Exact, so that every engine and instruction set gives the same bits.
#pragma once

#include "math/short_real.hpp"

ARRAYX_OPS_BEGIN

// ---- one element, any operands ------------------------------------------------------------------

// Division by zero gives 0 and remainder 0, the smallest signed value by -1 wraps, so that no input
// traps.
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

struct ScalarRemainder {
  template <class T>
  ARRAYX_HD T operator()(T a, T b) const {
    if constexpr (is_float_v<T>) {
      const T r = truncated_remainder(a, b);
      if (r == T(0)) return copysign(r, b);
      return (r < T(0)) != (b < T(0)) ? r + b : r;
    } else {
      return integer_remainder(a, b);
    }
  }
};
// ---- lanes of moderate quotients ----------------------------------------------------------------

// Numbers of at least this size are whole.
template <class T>
inline constexpr T whole_from = T(u64(1) << (limits<T>::mantissa_bits + 1));

// x = quotient * y + remainder, for quotients short of whole_from. The rounded x / y, cut to
// an integer, is then the exact quotient or one beyond it, and x - n y is a multiple of y's last
// bit that is smaller than y: exact. Of the two candidates the right one has y's sign.
template <class V>
struct FlooredDivision {
  V quotient, remainder;
};
template <class V>
ARRAYX_HD FlooredDivision<V> floored_division(V x, V y, V rounded_quotient) {
  const V zero = splat<V>(scalar_t<V>(0));
  const V n = trunc(rounded_quotient);
  const V r = math::exact_rest(x, n, y);
  const mask_t<V> beyond = (r != zero) & (sign_bit(r) != sign_bit(y));
  return {select(beyond, n - splat<V>(scalar_t<V>(1)), n), select(beyond, r + y, r)};
}

// Where floored_division holds, of quotient = x / y.
template <class V>
ARRAYX_HD mask_t<V> has_moderate_quotient(V y, V quotient) {
  using T = scalar_t<V>;
  const mask_t<V> moderate = fabs(quotient) < splat<V>(whole_from<T>);
  // Without a fused multiply-add the divisor is split in two, which must not overflow.
  const V largest = splat<V>(has_fma ? limits<T>::max : limits<T>::max / 4);
  return moderate & (fabs(y) <= largest);
}

// Beyond the integers of the mantissa the quotient is whole as it is rounded.
struct ScalarFloorDivide {
  template <class T>
  ARRAYX_HD T operator()(T a, T b) const {
    if constexpr (same_type_v<T, f32>) {  // of finite operands, as below
      const f64 x = a, y = b, q = x / y;
      return fabs(q) < whole_from<f64> ? f32(floored_division(x, y, q).quotient) : a / b;
    } else if constexpr (is_float_v<T>) {
      if (fabs(a / b) >= whole_from<T>) return a / b;
      const T r = truncated_remainder(a, b);
      T q = (a - r) / b;
      if ((r != T(0)) & ((r < T(0)) != (b < T(0)))) q = q - T(1);
      const T down = floor(q);
      return q - down > T(0.5) ? down + T(1) : down;
    } else {
      return integer_floor_divide(a, b);
    }
  }
};

// Integers as numbers of a floating lane that holds them and their quotients' fractions: float32
// for 8 and 16 bits, float64 for 32. Of 64 bits those within 2^51 (see fit_float). The bits of
// shifter + x have x in the low ones, for every level: AVX-512 alone converts 64-bit integers, and
// a GPU has an eighth as many units for conversions as for sums.
template <class T>
inline constexpr T shifter = T(1.5) * T(u64(1) << limits<T>::mantissa_bits);
template <class V>
ARRAYX_HD auto to_float_lanes(V x) {
  if constexpr (sizeof(scalar_t<V>) < 4) {
#ifdef __CUDA_ARCH__
    return bit_cast<f32>(i32(x) + __builtin_bit_cast(i32, shifter<f32>)) - shifter<f32>;
#else
    return convert<rebind_t<V, f32>>(x);
#endif
  } else {
    using I = rebind_t<V, i64>;
    const I bits = convert<I>(x) + splat<I>(__builtin_bit_cast(i64, shifter<f64>));
    return bit_cast<rebind_t<V, f64>>(bits) - splat<rebind_t<V, f64>>(shifter<f64>);
  }
}
template <class V, class W>
ARRAYX_HD V from_float_lanes(W x) {
  if constexpr (sizeof(scalar_t<V>) < 4) {
    return convert<V>(x);
  } else {
    using I = rebind_t<V, i64>;
    return convert<V>(bit_cast<I>(x + splat<W>(shifter<f64>)) -
                      splat<I>(__builtin_bit_cast(i64, shifter<f64>)));
  }
}
template <class V>
ARRAYX_HD bool fit_float(V x) {
  if constexpr (sizeof(scalar_t<V>) < 8) {
    return true;
  } else {
    using U = uint_t<V>;
    if constexpr (is_signed_v<scalar_t<V>>) {
      return all(bit_cast<U>(x) + splat<U>(u64(1) << 51) < splat<U>(u64(1) << 52));
    } else {
      return all(x < splat<V>(u64(1) << 51));
    }
  }
}

#ifdef __CUDA_ARCH__
ARRAYX_HD f32 inverse_to_divide_by(f32 y) {
  return math::detail::approximate_inverse(y);
}
ARRAYX_HD f64 inverse_to_divide_by(f64 y) {
  return math::detail::short_inverse(y);
}
ARRAYX_HD f32 sum_rounded_down(f32 a, f32 b) {
  return __fadd_rd(a, b);
}
ARRAYX_HD f64 sum_rounded_down(f64 a, f64 b) {
  return __dadd_rd(a, b);
}
// One element of at most 16 bits, or 32. (x + 1/2) / y, or (x - 1/2) / y for a negative y, is half
// of 1 / y away from whole numbers; the product with an inverse to 2^-22, or 2^-39, comes a
// sixteenth as far. The floor of that is the low bits of a sum.
template <class F, class T>
ARRAYX_HD T division_by_inverse(T a, T b) {
  const auto x = to_float_lanes(a), y = to_float_lanes(b);
  using W = decltype(x + y);
  const W half = is_signed_v<T> ? copysign(W(0.5), y) : W(0.5);
  const W sum = sum_rounded_down((x + half) * inverse_to_divide_by(y), shifter<W>);
  const u32 q = u32(bit_cast<int_t<W>>(sum));
  const u32 r = same_type_v<F, ScalarRemainder> ? u32(a) - q * u32(b) : q;
  return b == T(0) ? T(0) : T(r);
}
#endif

template <class F, class V>
ARRAYX_HD V integer_division(F scalar, V a, V b) {
  if constexpr (lane_traits<V>::lanes == 1) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(V) < 4 || (sizeof(V) == 4 && math::has_fast_doubles)) {
      return division_by_inverse<F>(a, b);
    }
#endif
    return scalar(a, b);
  } else {
    if (!(fit_float(a) & fit_float(b))) {
      for (int i = 0; i < lane_traits<V>::lanes; ++i) a.set(i, scalar(a[i], b[i]));
      return a;
    }
    const V zero = splat<V>(scalar_t<V>(0)), one = splat<V>(scalar_t<V>(1));
    const mask_t<V> defined = b != zero;
    const auto x = to_float_lanes(a), y = to_float_lanes(select(defined, b, one));
    const auto d = floored_division(x, y, x / y);
    if constexpr (same_type_v<F, ScalarRemainder>) {
      return select(defined, from_float_lanes<V>(d.remainder), zero);
    } else {
      return select(defined, from_float_lanes<V>(d.quotient), zero);
    }
  }
}

// ---- the operations -----------------------------------------------------------------------------

struct Remainder {
  template <class V>
  ARRAYX_HD V operator()(V x, V y) const {
    if constexpr (!is_float_v<scalar_t<V>>) {
      return integer_division(ScalarRemainder{}, x, y);
    } else {
      using T = scalar_t<V>;
      const V zero = splat<V>(T(0));
      const V quotient = x / y;
      const mask_t<V> moderate = has_moderate_quotient(y, quotient);
      V r = floored_division(x, y, quotient).remainder;
      if (!all(moderate)) {
        const mask_t<V> proper = is_finite(x) & is_finite(y) & (y != zero);
        r = replace_lanes(proper & !moderate, r, ScalarRemainder{}, x, y);
        // Of a finite x by infinity: x, or the infinity itself where the signs differ.
        const mask_t<V> differ = (x != zero) & (sign_bit(x) != sign_bit(y));
        const V of_infinity =
            select(is_inf(y) & is_finite(x), select(differ, y, x), splat<V>(limits<T>::nan));
        r = select(proper, r, select(is_nan(x) | is_nan(y), x + y, of_infinity));
      }
      return select(r == zero, copysign(zero, y), r);
    }
  }
};

// Of floating operands the floor of the exact quotient (Python's //); floor(x / y) where one is
// infinite or y is zero, as the standard prefers.
struct FloorDivide {
  template <class V>
  ARRAYX_HD V operator()(V x, V y) const {
    if constexpr (!is_float_v<scalar_t<V>>) {
      return integer_division(ScalarFloorDivide{}, x, y);
    } else {
      const V quotient = x / y;
      const mask_t<V> moderate = has_moderate_quotient(y, quotient);
      V q = floored_division(x, y, quotient).quotient;
      if (!all(moderate)) {
        const mask_t<V> proper = is_finite(x) & is_finite(y) & is_finite(quotient);
        q = replace_lanes(proper & !moderate, q, ScalarFloorDivide{}, x, y);
        q = select(proper, q, floor(quotient));
      }
      // A quotient of zero has the sign of x / y; one of -1 and a fraction becomes no zero.
      return select(q == splat<V>(scalar_t<V>(0)), copysign(q, quotient), q);
    }
  }
};

ARRAYX_OPS_END
