// Integers divided by one divisor: the upper half of a product and two shifts
// (Granlund and Montgomery, "Division by invariant integers using multiplication", figure 4.1).
// Included by the kernel sources only, once per instruction set.
#pragma once

#include <cstring>

#include "../simd/vec.hpp"

#include "../../ops/elementwise.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

#if defined(__x86_64__)

// x / d of unsigned integers, d at least 2: t >> second, t the upper half of x * factor, where a
// factor fits that is precise enough for every x up to `most`; (t + (x - t >> 1)) >> second where
// its top bit is left out.
template <class U>
struct Divisor {
  U factor;
  bool fits;
  int second;

  Divisor(U d, U most) {
    using Twice = unsigned __int128;
    const int bits = 8 * sizeof(U), length = 64 - __builtin_clzll(u64{d} - 1);
    const Twice power = Twice{1} << (bits + length - 1);
    const Twice rounded_up = (power + d - 1) / d;
    fits = (rounded_up * d - power) * most < power;
    factor = static_cast<U>(fits ? rounded_up : (((Twice{1} << length) - d) << bits) / d + 1);
    second = length - 1;
  }
};

template <class V>
ARRAYX_HD V shifted(V x, int by) {
  return V(x.v >> by);
}

// The products of the lower halves of lanes of 64 bits.
template <class V>
ARRAYX_HD V half_product(V a, V b) {
  using N = typename V::native;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    return V(__builtin_bit_cast(
        N, _mm512_mul_epu32(__builtin_bit_cast(__m512i, a.v), __builtin_bit_cast(__m512i, b.v))));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    return V(__builtin_bit_cast(
        N, _mm256_mul_epu32(__builtin_bit_cast(__m256i, a.v), __builtin_bit_cast(__m256i, b.v))));
  }
#endif
  if constexpr (sizeof(V) == 16) {
    return V(__builtin_bit_cast(
        N, _mm_mul_epu32(__builtin_bit_cast(__m128i, a.v), __builtin_bit_cast(__m128i, b.v))));
  }
}

// The upper halves of the products of lanes with the factor in all of them.
template <class V>
ARRAYX_HD V upper_product(V x, V factor) {
  if constexpr (sizeof(ops::scalar_t<V>) == 2) {
    using N = typename V::native;
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) {
      return V(__builtin_bit_cast(N, _mm512_mulhi_epu16(__builtin_bit_cast(__m512i, x.v),
                                                        __builtin_bit_cast(__m512i, factor.v))));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32) {
      return V(__builtin_bit_cast(N, _mm256_mulhi_epu16(__builtin_bit_cast(__m256i, x.v),
                                                        __builtin_bit_cast(__m256i, factor.v))));
    }
#endif
    if constexpr (sizeof(V) == 16) {
      return V(__builtin_bit_cast(N, _mm_mulhi_epu16(__builtin_bit_cast(__m128i, x.v),
                                                     __builtin_bit_cast(__m128i, factor.v))));
    }
  } else if constexpr (sizeof(ops::scalar_t<V>) == 4) {
    using Wide = ops::Vec<u64, ops::lane_traits<V>::lanes / 2>;
    const Wide even = ops::bit_cast<Wide>(x), f = ops::bit_cast<Wide>(factor);
    const Wide upper(~u64{0xffffffff});
    return ops::bit_cast<V>(shifted(half_product(even, f), 32) |
                            (half_product(shifted(even, 32), f) & upper));
  } else {
    const V upper = shifted(x, 32), upper_factor = shifted(factor, 32);
    const V cross = half_product(upper, factor) + shifted(half_product(x, factor), 32);
    const V other = half_product(x, upper_factor) + (cross & V(u64{0xffffffff}));
    return half_product(upper, upper_factor) + shifted(cross, 32) + shifted(other, 32);
  }
}

template <bool fits, class V>
ARRAYX_HD V quotient(V x, V factor, int second) {
  const V t = upper_product(x, factor);
  return shifted(fits ? t : t + shifted(x - t, 1), second);
}

// Floored quotients of vectors of T, or the remainders, by other divisors than -1, 0 and 1. Those
// of bytes are upper halves of products of pairs with the inverse in 16 bits.
template <class T, bool Remainder>
struct ByOne {
  using U = typename ops::ints_of_width<sizeof(T)>::u;
  static constexpr int lanes = ops::vector_bytes / sizeof(T);
  using V = ops::Vec<T, lanes>;
  using W = ops::Vec<U, lanes>;
  using Pairs = ops::Vec<u16, ops::vector_bytes / 2>;  // of bytes

  const bool negative;
  const Divisor<U> divisor;
  const W factor, d;
  const Pairs pair_factor, pair_d;

  explicit ByOne(T d)
      : negative(d < T(0)),
        divisor(magnitude(d), ops::is_signed_v<T> ? U(U(1) << (8 * sizeof(U) - 1)) : U(~U(0))),
        factor(divisor.factor),
        d(U(d)),
        pair_factor(sizeof(T) == 1 ? u16(0xffff / u32(magnitude(d)) + 1) : u16(0)),
        pair_d(u16(U(d))) {}

  static U magnitude(T d) { return d < T(0) ? U(U(0) - U(d)) : U(d); }

  template <bool fits>
  ARRAYX_HD V divide(V x) const {
    // A negative quotient of b and a positive divisor is ~(~b / d).
    W b = ops::bit_cast<W>(x), sign(U(0));
    if constexpr (ops::is_signed_v<T>) {
      const V zero(T(0)), ones(T(-1));
      sign = ops::bit_cast<W>(ops::select(negative ? x > zero : x < zero, ones, zero));
      if (negative) b = W(U(0)) - b;
      b = b ^ sign;
    }
    if constexpr (sizeof(T) == 1) {
      const Pairs both = ops::bit_cast<Pairs>(b), low(u16(0xff));
      const Pairs even = upper_product(both & low, pair_factor);
      const Pairs odd = upper_product(shifted(both, 8), pair_factor);
      const W q = ops::bit_cast<W>(even | Pairs(odd.v << 8)) ^ sign;
      if constexpr (!Remainder) return ops::bit_cast<V>(q);
      const Pairs pairs = ops::bit_cast<Pairs>(q);
      const Pairs product =
          ((pairs & low) * pair_d & low) | Pairs((shifted(pairs, 8) * pair_d).v << 8);
      return ops::bit_cast<V>(ops::bit_cast<W>(x) - ops::bit_cast<W>(product));
    } else {
      const W q = quotient<fits>(b, factor, divisor.second) ^ sign;
      if constexpr (!Remainder) return ops::bit_cast<V>(q);
      return ops::bit_cast<V>(ops::bit_cast<W>(x) - q * d);
    }
  }
};

// The quotients or remainders of n elements by d.
template <class T, bool Remainder>
void divide_by_one(const char* p, T d, char* q, i64 n) {
  using By = ByOne<T, Remainder>;
  using V = typename By::V;
  constexpr i64 size = sizeof(T);
  const auto each = [&](auto divide) __attribute__((always_inline)) {
    i64 i = 0;
    for (; i + By::lanes <= n; i += By::lanes) divide(V::load(p + i * size)).store(q + i * size);
    const int rest = static_cast<int>(n - i);
    if (rest > 0) divide(V::load_first(p + i * size, rest)).store_first(q + i * size, rest);
  };
  const typename By::U magnitude = By::magnitude(d);
  if (magnitude == 0 || (Remainder && magnitude == 1)) {
    std::memset(q, 0, n * size);
  } else if (magnitude == 1) {
    const typename By::W sign(static_cast<typename By::U>(d));
    each([&](V x) { return ops::bit_cast<V>(ops::bit_cast<typename By::W>(x) * sign); });
  } else {
    const By by(d);
    if (by.divisor.fits) {
      each([&](V x) __attribute__((always_inline)) { return by.template divide<true>(x); });
    } else {
      each([&](V x) __attribute__((always_inline)) { return by.template divide<false>(x); });
    }
  }
}

// So many are worth it.
constexpr i64 fewest_by_one = 64;

// The same by the only element at d; false if they are few.
template <class T, bool Remainder>
bool divides_by_constant(const void* const* in, void* out, i64 n) {
  if (n < fewest_by_one) return false;
  T d;
  std::memcpy(&d, in[1], sizeof d);
  divide_by_one<T, Remainder>(static_cast<const char*>(in[0]), d, static_cast<char*>(out), n);
  return true;
}

// The same if the n divisors are one; false if not.
template <class T, bool Remainder>
bool divides_by_one(const void* const* in, void* out, i64 n) {
  constexpr i64 size = sizeof(T);
  const char* const divisors = static_cast<const char*>(in[1]);
  return n >= fewest_by_one && std::memcmp(divisors, divisors + size, (n - 1) * size) == 0 &&
         divides_by_constant<T, Remainder>(in, out, n);
}

#else

template <class T, bool Remainder>
bool divides_by_constant(const void* const*, void*, i64) {
  return false;
}
template <class T, bool Remainder>
bool divides_by_one(const void* const*, void*, i64) {
  return false;
}

#endif

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
