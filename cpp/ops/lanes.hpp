// What a function object may ask of its operand type V, given here for plain scalars.
// simd/vec.hpp gives the same names for Vec<T, N>, so one definition serves a scalar, a CUDA thread
// and a SIMD vector. A condition is `bool` for scalars and Mask<...> for vectors: combine with
// & | !, branch on any()/all(), choose with select().
#pragma once

#include "config.hpp"

ARRAYX_OPS_BEGIN

template <class T>
struct is_float {
  static constexpr bool value = false;
};
template <>
struct is_float<f32> {
  static constexpr bool value = true;
};
template <>
struct is_float<f64> {
  static constexpr bool value = true;
};

// Integer types of the same width as T.
template <unsigned Bytes>
struct ints_of_width;
template <>
struct ints_of_width<1> {
  using s = i8;
  using u = u8;
};
template <>
struct ints_of_width<2> {
  using s = i16;
  using u = u16;
};
template <>
struct ints_of_width<4> {
  using s = i32;
  using u = u32;
};
template <>
struct ints_of_width<8> {
  using s = i64;
  using u = u64;
};

// The primary template describes scalars: one lane, whose element type is itself.
template <class V>
struct lane_traits {
  using scalar = V;
  using mask = bool;
  static constexpr int lanes = 1;
  template <class U>
  using rebind = U;
};

template <class V>
using scalar_t = typename lane_traits<V>::scalar;
template <class V>
using mask_t = typename lane_traits<V>::mask;
template <class V, class U>
using rebind_t = typename lane_traits<V>::template rebind<U>;
template <class V>
using int_t = rebind_t<V, typename ints_of_width<sizeof(scalar_t<V>)>::s>;
template <class V>
using uint_t = rebind_t<V, typename ints_of_width<sizeof(scalar_t<V>)>::u>;

template <class T>
inline constexpr bool is_float_v = is_float<T>::value;
template <class T>
inline constexpr bool is_signed_v = T(-1) < T(0);

template <bool First, class A, class B>
struct select_type {
  using type = A;
};
template <class A, class B>
struct select_type<false, A, B> {
  using type = B;
};
template <bool First, class A, class B>
using select_type_t = typename select_type<First, A, B>::type;

template <class A, class B>
inline constexpr bool same_type_v = false;
template <class A>
inline constexpr bool same_type_v<A, A> = true;
template <class F, class... Others>
inline constexpr bool is_one_of = (same_type_v<F, Others> || ...);

// Signed integers as unsigned ones of the same bits, anything else as it is: for what comes out the
// same, which is compiled once.
template <class T>
struct without_sign {
  using type = T;
};
template <class T>
  requires same_type_v<T, typename ints_of_width<sizeof(T)>::s>
struct without_sign<T> {
  using type = typename ints_of_width<sizeof(T)>::u;
};
template <class T>
using without_sign_t = typename without_sign<T>::type;

// Integers of the same bits as T, where there are any as wide: for what only moves or chooses.
template <class T>
struct bits_of {
  using type = T;
};
template <class T>
  requires(sizeof(T) <= 8)
struct bits_of<T> {
  using type = typename ints_of_width<sizeof(T)>::u;
};
template <class T>
using bits_of_t = typename bits_of<T>::type;

// Limits of T without <limits>.
template <class T>
struct limits;
template <>
struct limits<f32> {
  static constexpr f32 infinity = __builtin_bit_cast(f32, 0x7f800000U);
  static constexpr f32 nan = __builtin_bit_cast(f32, 0x7fc00000U);
  static constexpr f32 max = 0x1.fffffep+127f;
  static constexpr f32 min_normal = 0x1p-126f;
  static constexpr f32 epsilon = 0x1p-23f;
  static constexpr int mantissa_bits = 23;
  static constexpr int exponent_bias = 127;
};
template <>
struct limits<f64> {
  static constexpr f64 infinity = __builtin_bit_cast(f64, 0x7ff0000000000000ULL);
  static constexpr f64 nan = __builtin_bit_cast(f64, 0x7ff8000000000000ULL);
  static constexpr f64 max = 0x1.fffffffffffffp+1023;
  static constexpr f64 min_normal = 0x1p-1022;
  static constexpr f64 epsilon = 0x1p-52;
  static constexpr int mantissa_bits = 52;
  static constexpr int exponent_bias = 1023;
};

// True where a multiply-add with one rounding is a single instruction.
#if defined(__FMA__) || defined(__CUDACC__) || defined(__ARM_FEATURE_FMA)
inline constexpr bool has_fma = true;
#else
inline constexpr bool has_fma = false;
#endif

ARRAYX_HD bool any(bool m) {
  return m;
}
ARRAYX_HD bool all(bool m) {
  return m;
}

template <class T>
ARRAYX_HD T select(bool m, T a, T b) {
  return m ? a : b;
}

// The same bits as another type of the same size.
template <class To, class From>
ARRAYX_HD To bit_cast(From x) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

// Value conversion, lane by lane; floating to integer truncates and must be in range.
template <class To, class From>
ARRAYX_HD To convert(From x) {
  return static_cast<To>(x);
}

// V filled with one value.
template <class V>
ARRAYX_HD V splat(scalar_t<V> x) {
  return V(x);
}

ARRAYX_HD f32 sqrt(f32 x) {
  return ARRAYX_LIBM(sqrtf)(x);
}
ARRAYX_HD f64 sqrt(f64 x) {
  return ARRAYX_LIBM(sqrt)(x);
}
// The same where no other arithmetic goes on beside it, which an instruction that takes long leaves
// room for.
template <class V>
ARRAYX_HD V sqrt_alone(V x) {
  return sqrt(x);
}
ARRAYX_HD f32 floor(f32 x) {
  return ARRAYX_LIBM(floorf)(x);
}
ARRAYX_HD f64 floor(f64 x) {
  return ARRAYX_LIBM(floor)(x);
}
ARRAYX_HD f32 ceil(f32 x) {
  return ARRAYX_LIBM(ceilf)(x);
}
ARRAYX_HD f64 ceil(f64 x) {
  return ARRAYX_LIBM(ceil)(x);
}
ARRAYX_HD f32 trunc(f32 x) {
  return ARRAYX_LIBM(truncf)(x);
}
ARRAYX_HD f64 trunc(f64 x) {
  return ARRAYX_LIBM(trunc)(x);
}
// To the nearest integer, ties to even.
ARRAYX_HD f32 rint(f32 x) {
  return ARRAYX_LIBM(rintf)(x);
}
ARRAYX_HD f64 rint(f64 x) {
  return ARRAYX_LIBM(rint)(x);
}

// a*b + c with one rounding where has_fma, else with two.
ARRAYX_HD f32 mul_add(f32 a, f32 b, f32 c) {
  if constexpr (has_fma) {
    return ARRAYX_LIBM(fmaf)(a, b, c);
  } else {
    return a * b + c;
  }
}
ARRAYX_HD f64 mul_add(f64 a, f64 b, f64 c) {
  if constexpr (has_fma) {
    return ARRAYX_LIBM(fma)(a, b, c);
  } else {
    return a * b + c;
  }
}

// c - a*b, rounded like mul_add. Where -a is used more than once the compiler would compute it.
template <class V>
ARRAYX_HD V neg_mul_add(V a, V b, V c) {
  return mul_add(-a, b, c);
}

// table[index], lane by lane; the caller guarantees the indices are in range.
template <class T>
ARRAYX_HD T gather(const T* table, typename ints_of_width<sizeof(T)>::s index) {
  return table[index];
}

// One of sixteen entries, lane by lane, chosen by the lowest four bits of the index. With AVX-512
// a table is a register or two and this is one instruction.
template <class T>
ARRAYX_HD T lookup(const T (&table)[16], typename ints_of_width<sizeof(T)>::s index) {
  return table[index & 15];
}

// Whether a < b in every lane, and low <= x < high: two instructions less than all().
template <class V>
ARRAYX_HD bool all_less(V a, V b) {
  return all(a < b);
}
template <class V>
ARRAYX_HD bool all_within(V x, V low, V high) {
  return all((x >= low) & (x < high));
}

// Whether every lane is a positive normal number: one instruction with AVX-512.
template <class V>
ARRAYX_HD bool all_positive_normal(V x) {
  using limit = limits<scalar_t<V>>;
  return all_within(x, splat<V>(limit::min_normal), splat<V>(limit::infinity));
}

// Whether any lane has none of these bits: one instruction with AVX-512.
template <class V>
ARRAYX_HD bool any_without(V x, V bits) {
  return any((x & bits) == splat<V>(0));
}

// f applied to each lane as a scalar: for rare, expensive cases.
template <class F, class T>
ARRAYX_HD T map_lanes(F f, T x) {
  return f(x);
}

// `result`, but f of the operands' lanes as scalars where m: for rare lanes that need a loop of
// their own.
template <class T, class F, class... X>
ARRAYX_HD T replace_lanes(bool m, T result, F f, X... x) {
  return m ? f(x...) : result;
}

// f evaluated in float64 and rounded once to float32: how float32 functions get below 1 ulp
// cheaply.
template <class F>
ARRAYX_HD f32 map_wide(F f, f32 x) {
  return f32(f(f64(x)));
}
template <class F>
ARRAYX_HD f32 map_wide(F f, f32 x, f32 y) {
  return f32(f(f64(x), f64(y)));
}

// The same for f(result1&, result2&, operands...), which has two results, as complex functions do.
template <class F, class... X>
ARRAYX_HD void map_wide_pair(F f, f32& result1, f32& result2, X... x) {
  f64 wide1, wide2;
  f(wide1, wide2, f64(x)...);
  result1 = f32(wide1);
  result2 = f32(wide2);
}

// |x| and copysign by bits, so that NaN and -0.0 keep their meaning.
template <class V>
ARRAYX_HD V fabs(V x) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  return bit_cast<V>(bit_cast<U>(x) & splat<U>(u(~u(0)) >> 1));
}
template <class V>
ARRAYX_HD V copysign(V magnitude, V sign) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  const U sign_bit = splat<U>(u(u(1) << (8 * sizeof(u) - 1)));
  return bit_cast<V>((bit_cast<U>(magnitude) & ~sign_bit) | (bit_cast<U>(sign) & sign_bit));
}
// The same for a magnitude that has no sign: one instruction less.
template <class V>
ARRAYX_HD V with_sign(V magnitude, V sign) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  const U sign_bit = splat<U>(u(u(1) << (8 * sizeof(u) - 1)));
  return bit_cast<V>(bit_cast<U>(magnitude) | (bit_cast<U>(sign) & sign_bit));
}
// x, with the other sign where `sign` is negative.
template <class V>
ARRAYX_HD V times_sign(V x, V sign) {
  using U = uint_t<V>;
  using u = scalar_t<U>;
  const U sign_bit = splat<U>(u(u(1) << (8 * sizeof(u) - 1)));
  return bit_cast<V>(bit_cast<U>(x) ^ (bit_cast<U>(sign) & sign_bit));
}
// x, but limit where x is larger; NaN stays.
template <class V>
ARRAYX_HD V at_most(V x, V limit) {
  return select(limit < x, limit, x);
}
// x, but limit where x is smaller; NaN stays.
template <class V>
ARRAYX_HD V at_least(V x, V limit) {
  return select(limit > x, limit, x);
}
// The greater or the lesser one, a of equal ones (zeros of either sign), NaN where either is.
template <class V>
ARRAYX_HD V greater_of(V a, V b) {
  if constexpr (is_float_v<scalar_t<V>>) {
    return select((b > a) | (b != b), b, a);
  } else {
    return select(b > a, b, a);
  }
}
template <class V>
ARRAYX_HD V lesser_of(V a, V b) {
  if constexpr (is_float_v<scalar_t<V>>) {
    return select((b < a) | (b != b), b, a);
  } else {
    return select(b < a, b, a);
  }
}
// 1 / x to 13 bits or better, whatever is fastest: for a step of Newton's, or to choose a part by.
template <class V>
ARRAYX_HD V near_inverse(V x) {
  return splat<V>(1) / x;
}
template <class V>
ARRAYX_HD mask_t<V> is_nan(V x) {
  return x != x;
}
template <class V>
ARRAYX_HD mask_t<V> is_inf(V x) {
  return fabs(x) == splat<V>(limits<scalar_t<V>>::infinity);
}
template <class V>
ARRAYX_HD mask_t<V> is_finite(V x) {
  return fabs(x) < splat<V>(limits<scalar_t<V>>::infinity);
}
template <class V>
ARRAYX_HD mask_t<V> sign_bit(V x) {
  using I = int_t<V>;
  return bit_cast<I>(x) < splat<I>(scalar_t<I>(0));
}

ARRAYX_OPS_END
