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

// x / d of unsigned integers is (t + (x - t >> first)) >> second, t the upper half of x * factor.
template <class U>
struct Divisor {
  U factor;
  int first, second;

  explicit Divisor(U d) {
    using Twice = unsigned __int128;
    const int bits = 8 * sizeof(U), length = d == 1 ? 0 : 64 - __builtin_clzll(u64{d} - 1);
    factor = static_cast<U>((((Twice{1} << length) - d) << bits) / d + 1);
    first = length > 0;
    second = length - first;
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

template <class V>
ARRAYX_HD V quotient(V x, V factor, int first, int second) {
  const V t = upper_product(x, factor);
  return shifted(t + shifted(x - t, first), second);
}

// Floored quotients of vectors of T, or the remainders.
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
        divisor(negative ? U(U(0) - U(d)) : U(d)),
        factor(divisor.factor),
        d(U(d)),
        pair_factor(u16(divisor.factor)),
        pair_d(u16(U(d))) {}

  ARRAYX_HD V operator()(V x) const {
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
      const auto divide = [&](Pairs y) {
        const Pairs t = shifted(y * pair_factor, 8);
        return shifted(t + shifted(y - t, divisor.first), divisor.second);
      };
      const Pairs even = divide(both & low), odd = divide(shifted(both, 8));
      const W q = ops::bit_cast<W>(even | Pairs(odd.v << 8)) ^ sign;
      if constexpr (!Remainder) return ops::bit_cast<V>(q);
      const Pairs pairs = ops::bit_cast<Pairs>(q);
      const Pairs product =
          ((pairs & low) * pair_d & low) | Pairs((shifted(pairs, 8) * pair_d).v << 8);
      return ops::bit_cast<V>(ops::bit_cast<W>(x) - ops::bit_cast<W>(product));
    } else {
      const W q = quotient(b, factor, divisor.first, divisor.second) ^ sign;
      if constexpr (!Remainder) return ops::bit_cast<V>(q);
      return ops::bit_cast<V>(ops::bit_cast<W>(x) - q * d);
    }
  }
};

// The quotients or remainders of n elements if they have one divisor; false if not.
template <class T, bool Remainder>
bool divides_by_one(const void* const* in, void* out, i64 n) {
  constexpr i64 fewest = 64, size = sizeof(T);
  if (n < fewest) return false;
  const char* const divisors = static_cast<const char*>(in[1]);
  if (std::memcmp(divisors, divisors + size, (n - 1) * size) != 0) return false;
  T d;
  std::memcpy(&d, divisors, size);
  if (d == T(0)) {
    std::memset(out, 0, n * size);
    return true;
  }
  using By = ByOne<T, Remainder>;
  using V = typename By::V;
  const By by(d);
  const char* const p = static_cast<const char*>(in[0]);
  char* const q = static_cast<char*>(out);
  i64 i = 0;
  for (; i + By::lanes <= n; i += By::lanes) by(V::load(p + i * size)).store(q + i * size);
  const int rest = static_cast<int>(n - i);
  if (rest > 0) by(V::load_first(p + i * size, rest)).store_first(q + i * size, rest);
  return true;
}

#else

template <class T, bool Remainder>
bool divides_by_one(const void* const*, void*, i64) {
  return false;
}

#endif

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
