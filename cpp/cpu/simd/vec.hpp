// Vec<T, N>: N lanes of T over the compiler's vector extensions, with the names of ops/lanes.hpp.
// Intrinsics appear only where the extensions have no operator (square root, fused multiply-add,
// rounding); everything else is portable to any target of GCC and Clang.
#pragma once

#include <utility>

#include "../../ops/lanes.hpp"
#include "../unroll.hpp"
#include "few_bytes.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

ARRAYX_OPS_BEGIN

// Bytes of the widest vector register at this instruction set level.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int vector_bytes = 32;
#else
inline constexpr int vector_bytes = 16;
#endif

template <class T, int N>
struct native_vector {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};

template <class T, int N>
struct Vec;

// All-ones or all-zeros lanes as wide as the elements that were compared.
template <int Bytes, int N>
struct Mask {
  using int_type = typename ints_of_width<Bytes>::s;
  using native = typename native_vector<int_type, N>::type;
  native v;

  Mask() = default;
  ARRAYX_HD Mask(native x) : v(x) {}
  ARRAYX_HD explicit Mask(bool b) : v(native{} - int_type(b)) {}
  ARRAYX_HD friend Mask operator&(Mask a, Mask b) { return Mask(native(a.v & b.v)); }
  ARRAYX_HD friend Mask operator|(Mask a, Mask b) { return Mask(native(a.v | b.v)); }
  ARRAYX_HD friend Mask operator^(Mask a, Mask b) { return Mask(native(a.v ^ b.v)); }
  ARRAYX_HD friend Mask operator!(Mask a) { return Mask(native(~a.v)); }
  ARRAYX_HD friend Mask operator==(Mask a, Mask b) { return Mask(native(~(a.v ^ b.v))); }
  ARRAYX_HD friend Mask operator!=(Mask a, Mask b) { return Mask(native(a.v ^ b.v)); }
};

// Whether the lanes of a register have no shifts by different numbers of places; those of pairs of
// lanes have, or of pairs of pairs. One by one they take ten times as long.
template <class T, std::size_t bytes>
inline constexpr bool shifts_by_pairs =
#if defined(__AVX512BW__)
    sizeof(T) == 1 && bytes >= 16 && !is_float_v<T>;
#elif defined(__AVX2__)
    sizeof(T) <= 2 && bytes >= 16 && !is_float_v<T>;
#else
    false;
#endif

template <class T, int N>
struct Vec {
  using native = typename native_vector<T, N>::type;
  using mask = Mask<sizeof(T), N>;
  native v;

  Vec() = default;
  ARRAYX_HD Vec(native x) : v(x) {}
  // x - 0 is x for every value, -0.0 and NaN included, so a broadcast by subtraction is exact.
  ARRAYX_HD Vec(T x) : v(x - native{}) {}
  ARRAYX_HD T operator[](int i) const { return v[i]; }
  ARRAYX_HD void set(int i, T x) { v[i] = x; }

  ARRAYX_HD static Vec load(const void* p) {
    Vec r;
    __builtin_memcpy(&r.v, p, sizeof(native));
    return r;
  }
  // The same with two loads where a register has 64 bytes and the vector is one.
  static constexpr bool has_halves = sizeof(native) == 64 && vector_bytes == 64;
  ARRAYX_HD static Vec load_in_halves(const void* p) {
#if defined(__AVX512BW__)
    if constexpr (has_halves) {
      const auto* const halves = static_cast<const __m256i*>(p);
      __m512i both = _mm512_castsi256_si512(_mm256_loadu_si256(halves));
      asm("vinserti64x4 $1, %1, %0, %0" : "+v"(both) : "m"(halves[1]));
      return Vec(__builtin_bit_cast(native, both));
    }
#endif
    return load(p);
  }
  ARRAYX_HD void store(void* p) const { __builtin_memcpy(p, &v, sizeof(native)); }
  // The first n lanes (n < N); the others are zero.
  ARRAYX_HD static Vec load_first(const void* p, int n) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if constexpr (sizeof(native) == 64) {
      return Vec(__builtin_bit_cast(native, _mm512_maskz_loadu_epi8(first_bytes(n), p)));
    } else if constexpr (sizeof(native) == 32) {
      const auto mask = static_cast<__mmask32>(first_bytes(n));
      return Vec(__builtin_bit_cast(native, _mm256_maskz_loadu_epi8(mask, p)));
    } else if constexpr (sizeof(native) == 16) {
      const auto mask = static_cast<__mmask16>(first_bytes(n));
      return Vec(__builtin_bit_cast(native, _mm_maskz_loadu_epi8(mask, p)));
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) >= 4 && sizeof(native) == 32) {
      const __m256i mask = first_words<__m256i>(n);
      const auto* from = static_cast<const int*>(p);
      return Vec(__builtin_bit_cast(native, _mm256_maskload_epi32(from, mask)));
    } else if constexpr (sizeof(T) >= 4 && sizeof(native) == 16) {
      const __m128i mask = first_words<__m128i>(n);
      const auto* from = static_cast<const int*>(p);
      return Vec(__builtin_bit_cast(native, _mm_maskload_epi32(from, mask)));
    }
#endif
    const char* const from = static_cast<const char*>(p);
    [[maybe_unused]] const int bytes = n * static_cast<int>(sizeof(T));
    if constexpr (sizeof(native) <= 8) {
      const u64 all = load_few(from, bytes);
      Vec r{native{}};
      __builtin_memcpy(&r.v, &all, sizeof r.v);
      return r;
    } else if constexpr (sizeof(native) == 16) {
      return Vec(__builtin_bit_cast(native, load_few_of_16(from, bytes)));
    } else {
#if defined(__AVX2__)
      if constexpr (sizeof(native) == 32) {
        return Vec(__builtin_bit_cast(native, load_few_of_32(from, bytes)));
      }
#endif
      Vec r{native{}};
      __builtin_memcpy(&r.v, from, n * sizeof(T));
      return r;
    }
  }
  ARRAYX_HD void store_first(void* p, int n) const {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    if constexpr (sizeof(native) == 64) {
      _mm512_mask_storeu_epi8(p, first_bytes(n), __builtin_bit_cast(__m512i, v));
      return;
    } else if constexpr (sizeof(native) == 32) {
      const auto mask = static_cast<__mmask32>(first_bytes(n));
      _mm256_mask_storeu_epi8(p, mask, __builtin_bit_cast(__m256i, v));
      return;
    } else if constexpr (sizeof(native) == 16) {
      const auto mask = static_cast<__mmask16>(first_bytes(n));
      _mm_mask_storeu_epi8(p, mask, __builtin_bit_cast(__m128i, v));
      return;
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) >= 4 && sizeof(native) == 32) {
      const __m256i mask = first_words<__m256i>(n);
      _mm256_maskstore_epi32(static_cast<int*>(p), mask, __builtin_bit_cast(__m256i, v));
      return;
    } else if constexpr (sizeof(T) >= 4 && sizeof(native) == 16) {
      const __m128i mask = first_words<__m128i>(n);
      _mm_maskstore_epi32(static_cast<int*>(p), mask, __builtin_bit_cast(__m128i, v));
      return;
    }
#endif
    store_few(p, n);
  }
  // The same without masks.
  ARRAYX_HD void store_few(void* p, int n) const {
    constexpr int half = sizeof(native) < 4 ? 2 : sizeof(native) / 2;
    static_assert(half <= 32);
    alignas(native) char all[sizeof(native)];
    store(all);
    copy_few<half, sizeof(T)>(all, static_cast<char*>(p), n * int{sizeof(T)});
  }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  ARRAYX_HD static __mmask64 first_bytes(int n) {
    return _bzhi_u64(~0ULL, static_cast<unsigned>(n * static_cast<int>(sizeof(T))));
  }
#elif defined(__AVX2__)
  // Ones in the first n lanes, of one or two words each.
  template <class M>
  ARRAYX_HD static M first_words(int n) {
    static constexpr int words[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    M mask;
    __builtin_memcpy(&mask, words + 8 - n * static_cast<int>(sizeof(T) / 4), sizeof mask);
    return mask;
  }
#endif

  ARRAYX_HD friend Vec operator+(Vec a, Vec b) { return Vec(native(a.v + b.v)); }
  ARRAYX_HD friend Vec operator-(Vec a, Vec b) { return Vec(native(a.v - b.v)); }
  ARRAYX_HD friend Vec operator*(Vec a, Vec b) { return Vec(native(a.v * b.v)); }
  ARRAYX_HD friend Vec operator/(Vec a, Vec b) { return Vec(native(a.v / b.v)); }
  ARRAYX_HD friend Vec operator%(Vec a, Vec b) { return Vec(native(a.v % b.v)); }
  ARRAYX_HD friend Vec operator&(Vec a, Vec b) { return Vec(native(a.v & b.v)); }
  ARRAYX_HD friend Vec operator|(Vec a, Vec b) { return Vec(native(a.v | b.v)); }
  ARRAYX_HD friend Vec operator^(Vec a, Vec b) { return Vec(native(a.v ^ b.v)); }
  ARRAYX_HD friend Vec operator~(Vec a) { return Vec(native(~a.v)); }
  ARRAYX_HD friend Vec operator<<(Vec a, Vec b) {
    if constexpr (shifts_by_pairs<T, sizeof(native)>) return shifted_left_by_pairs(a, b);
    return Vec(native(a.v << b.v));
  }
  ARRAYX_HD friend Vec operator>>(Vec a, Vec b) {
    if constexpr (shifts_by_pairs<T, sizeof(native)>) return shifted_right_by_pairs(a, b);
    return Vec(native(a.v >> b.v));
  }
  ARRAYX_HD friend Vec operator<<(Vec a, int b) { return Vec(native(a.v << b)); }
  ARRAYX_HD friend Vec operator>>(Vec a, int b) { return Vec(native(a.v >> b)); }
  ARRAYX_HD Vec operator-() const { return Vec(native(-v)); }
  ARRAYX_HD friend mask operator==(Vec a, Vec b) { return mask(typename mask::native(a.v == b.v)); }
  ARRAYX_HD friend mask operator!=(Vec a, Vec b) { return mask(typename mask::native(a.v != b.v)); }
  ARRAYX_HD friend mask operator<(Vec a, Vec b) { return mask(typename mask::native(a.v < b.v)); }
  ARRAYX_HD friend mask operator<=(Vec a, Vec b) { return mask(typename mask::native(a.v <= b.v)); }
  ARRAYX_HD friend mask operator>(Vec a, Vec b) { return mask(typename mask::native(a.v > b.v)); }
  ARRAYX_HD friend mask operator>=(Vec a, Vec b) { return mask(typename mask::native(a.v >= b.v)); }
  ARRAYX_HD Vec& operator+=(Vec b) { return *this = *this + b; }
  ARRAYX_HD Vec& operator-=(Vec b) { return *this = *this - b; }
  ARRAYX_HD Vec& operator*=(Vec b) { return *this = *this * b; }
};

template <class T, int N>
struct lane_traits<Vec<T, N>> {
  using scalar = T;
  using mask = Mask<sizeof(T), N>;
  static constexpr int lanes = N;
  template <class U>
  using rebind = Vec<U, N>;
};

// 0, 1, 2 …
template <class V>
ARRAYX_HD V iota() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return V(typename V::native{static_cast<scalar_t<V>>(I)...});
  }(std::make_integer_sequence<int, lane_traits<V>::lanes>());
}

template <int B, int N>
ARRAYX_HD bool any(Mask<B, N> m) {
  if constexpr (N * B == 64) {
#if defined(__AVX512F__)
    const __m512i x = __builtin_bit_cast(__m512i, m.v);
    return _mm512_test_epi64_mask(x, x) != 0;
#endif
  }
  u64 words[(N * B + 7) / 8] = {};
  __builtin_memcpy(words, &m.v, sizeof(m.v));
  u64 r = 0;
  for (u64 w : words) r |= w;
  return r != 0;
}
template <int B, int N>
ARRAYX_HD bool all(Mask<B, N> m) {
  return !any(!m);
}

template <class T, int N>
ARRAYX_HD Vec<T, N> select(Mask<sizeof(T), N> m, Vec<T, N> a, Vec<T, N> b) {
  return Vec<T, N>(typename Vec<T, N>::native(m.v ? a.v : b.v));
}
template <int B, int N>
ARRAYX_HD Mask<B, N> select(Mask<B, N> m, Mask<B, N> a, Mask<B, N> b) {
  return (m & a) | (!m & b);
}

// x, which memory is not read for again: compilers do so for each use of what was loaded.
template <class T, int N>
ARRAYX_HD Vec<T, N> loaded_once(Vec<T, N> x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x.v));
#elif defined(__x86_64__)
  asm("" : "+x"(x.v));
#endif
  return x;
}

// A condition on lanes of one width as a condition on lanes of another.
template <int To, int B, int N>
ARRAYX_HD Mask<To, N> resize(Mask<B, N> m) {
  return Mask<To, N>(__builtin_convertvector(m.v, typename Mask<To, N>::native));
}
template <int To>
ARRAYX_HD bool resize(bool m) {
  return m;
}

template <class To, class T, int N>
ARRAYX_HD To bit_cast(Vec<T, N> x) {
  static_assert(sizeof(typename To::native) == sizeof(x.v));
  return To(__builtin_bit_cast(typename To::native, x.v));
}

// Both lanes of a pair as wide ones: the lower alone, and the upper alone with zeros below.
template <class T, int N>
ARRAYX_HD Vec<T, N> shifted_left_by_pairs(Vec<T, N> a, Vec<T, N> places) {
  using Wide = Vec<typename ints_of_width<2 * sizeof(T)>::u, N / 2>;
  constexpr int bits = 8 * sizeof(T);
  const Wide low((u64{1} << bits) - 1), x = bit_cast<Wide>(a), n = bit_cast<Wide>(places);
  const Wide lower = (x << (n & low)) & low, upper = (x & ~low) << (n >> bits);
  return bit_cast<Vec<T, N>>(lower | upper);
}
template <class T, int N>
ARRAYX_HD Vec<T, N> shifted_right_by_pairs(Vec<T, N> a, Vec<T, N> places) {
  using Wide = Vec<typename ints_of_width<2 * sizeof(T)>::u, N / 2>;
  constexpr int bits = 8 * sizeof(T);
  const Wide low((u64{1} << bits) - 1), x = bit_cast<Wide>(a), n = bit_cast<Wide>(places);
  if constexpr (is_signed_v<T>) {
    using Signed = Vec<typename ints_of_width<2 * sizeof(T)>::s, N / 2>;
    const Signed up = bit_cast<Signed>(x << bits);
    const Wide lower = bit_cast<Wide>(up >> bit_cast<Signed>(n & low)) >> bits;
    const Wide upper = bit_cast<Wide>(bit_cast<Signed>(x) >> bit_cast<Signed>(n >> bits)) & ~low;
    return bit_cast<Vec<T, N>>(lower | upper);
  } else {
    return bit_cast<Vec<T, N>>(((x & low) >> (n & low)) | ((x >> (n >> bits)) & ~low));
  }
}

// Whether one instruction widens integers to N of R, which fill a register.
template <class R, class T, int N>
inline constexpr bool widens_at_once =
#if defined(__AVX512BW__)
    (N * sizeof(R) == 64 || N * sizeof(R) == 32) &&
#elif defined(__AVX2__)
    (N * sizeof(R) == 32 || N * sizeof(R) == 16) && N * sizeof(T) >= 4 &&
#else
    false &&
#endif
    !is_float_v<T> && !is_float_v<R> && (sizeof(R) > sizeof(T));

#if defined(__AVX2__)
// The bytes of a short vector in a register of 16 or 32 bytes.
template <class T, int N>
auto in_register(Vec<T, N> x) {
  if constexpr (sizeof(x.v) == 32) {
    return __builtin_bit_cast(__m256i, x.v);
  } else if constexpr (sizeof(x.v) == 16) {
    return __builtin_bit_cast(__m128i, x.v);
  } else if constexpr (sizeof(x.v) == 8) {
    __m128i v = _mm_cvtsi64_si128(__builtin_bit_cast(long long, x.v));
    asm("" : "+x"(v));  // GCC 12 fails where it joins this load with a masked widening
    return v;
  } else {
    return _mm_cvtsi32_si128(__builtin_bit_cast(int, x.v));
  }
}
template <class R, class T, int N>
auto widen_at_once(Vec<T, N> x) {
  constexpr bool sign = is_signed_v<T>;
  constexpr int from = sizeof(T), to = sizeof(R);
  const auto v = in_register(x);
#if defined(__AVX512BW__)
  if constexpr (N * to == 64) {
    if constexpr (from == 1 && to == 2) {
      return sign ? _mm512_cvtepi8_epi16(v) : _mm512_cvtepu8_epi16(v);
    } else if constexpr (from == 1 && to == 4) {
      return sign ? _mm512_cvtepi8_epi32(v) : _mm512_cvtepu8_epi32(v);
    } else if constexpr (from == 1) {
      return sign ? _mm512_cvtepi8_epi64(v) : _mm512_cvtepu8_epi64(v);
    } else if constexpr (from == 2 && to == 4) {
      return sign ? _mm512_cvtepi16_epi32(v) : _mm512_cvtepu16_epi32(v);
    } else if constexpr (from == 2) {
      return sign ? _mm512_cvtepi16_epi64(v) : _mm512_cvtepu16_epi64(v);
    } else {
      return sign ? _mm512_cvtepi32_epi64(v) : _mm512_cvtepu32_epi64(v);
    }
  } else
#endif
      if constexpr (N * to == 16) {
    if constexpr (from == 1 && to == 2) {
      return sign ? _mm_cvtepi8_epi16(v) : _mm_cvtepu8_epi16(v);
    } else if constexpr (from == 1) {
      return sign ? _mm_cvtepi8_epi32(v) : _mm_cvtepu8_epi32(v);
    } else if constexpr (from == 2 && to == 4) {
      return sign ? _mm_cvtepi16_epi32(v) : _mm_cvtepu16_epi32(v);
    } else if constexpr (from == 2) {
      return sign ? _mm_cvtepi16_epi64(v) : _mm_cvtepu16_epi64(v);
    } else {
      return sign ? _mm_cvtepi32_epi64(v) : _mm_cvtepu32_epi64(v);
    }
  } else if constexpr (from == 1 && to == 2) {
    return sign ? _mm256_cvtepi8_epi16(v) : _mm256_cvtepu8_epi16(v);
  } else if constexpr (from == 1 && to == 4) {
    return sign ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v);
  } else if constexpr (from == 1) {
    return sign ? _mm256_cvtepi8_epi64(v) : _mm256_cvtepu8_epi64(v);
  } else if constexpr (from == 2 && to == 4) {
    return sign ? _mm256_cvtepi16_epi32(v) : _mm256_cvtepu16_epi32(v);
  } else if constexpr (from == 2) {
    return sign ? _mm256_cvtepi16_epi64(v) : _mm256_cvtepu16_epi64(v);
  } else {
    return sign ? _mm256_cvtepi32_epi64(v) : _mm256_cvtepu32_epi64(v);
  }
}
#endif

#if defined(__AVX2__) && !defined(__AVX512F__)
// Integers of 64 bits: the upper halves as the last digits of 2^84, the lower ones of 2^52, and
// their sum, which is rounded once.
template <class T>
ARRAYX_HD Vec<f64, 4> double_of_long(Vec<T, 4> x) {
  using Words = Vec<u64, 4>;
  using V = Vec<f64, 4>;
  constexpr u64 sign = is_signed_v<T> ? 0x80000000 : 0;
  constexpr f64 above = is_signed_v<T> ? 0x1p84 + 0x1p63 + 0x1p52 : 0x1p84 + 0x1p52;
  const Words bits = bit_cast<Words>(x), low(u64{0xffffffff});
  const V upper = bit_cast<V>(Words(bits.v >> 32) ^ Words(0x4530000000000000 | sign));
  return (upper - V(above)) + bit_cast<V>((bits & low) | Words(u64{0x4330000000000000}));
}
// What float64 does not hold, cut off to odd digits: that rounds to float32 as x does.
ARRAYX_HD Vec<u64, 4> odd_beyond_double(Vec<u64, 4> x) {
  const Vec<u64, 4> zero(u64{0}), tail(u64{0x7ff});
  return select(Vec<u64, 4>(x.v >> 53) == zero, x, (x | ((x & tail) + tail)) & ~tail);
}
// A whole number as digits of base 2^32, the upper one with its sign, in the lower halves of words.
struct LongDigits {
  Vec<u64, 4> upper, lower;
};
ARRAYX_HD LongDigits digits_of_double(Vec<f64, 4> x) {
  using V = Vec<f64, 4>;
  const V whole(_mm256_round_pd(x.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
  const V scaled = whole * V(0x1p-32);
  const V upper(_mm256_round_pd(scaled.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
  const V lower = whole - upper * V(0x1p32);  // exact, and so is the product
  return {bit_cast<Vec<u64, 4>>(upper + V(0x1.8p52)), bit_cast<Vec<u64, 4>>(lower + V(0x1.8p52))};
}
// Modulo 2^64; what is beyond, infinite or NaN becomes 2^63, as one conversion at a time makes it.
ARRAYX_HD Vec<u64, 4> long_of_double(Vec<f64, 4> x) {
  const LongDigits d = digits_of_double(x);
  const Vec<u64, 4> low(u64{0xffffffff}), overflow(u64{1} << 63);
  const Vec<f64, 4> most(0x1p64),
      magnitude = bit_cast<Vec<f64, 4>>(bit_cast<Vec<u64, 4>>(x) & ~overflow);
  return select(magnitude < most, Vec<u64, 4>(d.upper.v << 32) | (d.lower & low), overflow);
}
// Modulo 2^32.
ARRAYX_HD Vec<u32, 4> word_of_double(Vec<f64, 4> x) {
  const __m256 lower = __builtin_bit_cast(__m256, digits_of_double(x).lower.v);
  const __m128 words =
      _mm_shuffle_ps(_mm256_castps256_ps128(lower), _mm256_extractf128_ps(lower, 1), 0x88);
  return Vec<u32, 4>(__builtin_bit_cast(Vec<u32, 4>::native, words));
}
#endif

template <class To, class T, int N>
ARRAYX_HD To convert(Vec<T, N> x) {
  static_assert(lane_traits<To>::lanes == N);
  // GCC 12 widens by halves; one instruction does it.
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f32> && same_type_v<To, Vec<f64, 8>>)
    return To(_mm512_cvtps_pd(x.v));
  if constexpr (same_type_v<T, i32> && same_type_v<To, Vec<f64, 8>>)
    return To(_mm512_cvtepi32_pd(__builtin_bit_cast(__m256i, x.v)));
#endif
#if defined(__AVX2__)
  if constexpr (same_type_v<T, i32> && same_type_v<To, Vec<f64, 4>>)
    return To(_mm256_cvtepi32_pd(__builtin_bit_cast(__m128i, x.v)));
#if !defined(__AVX512F__)
  // As the last digits of 2^52 and more.
  if constexpr (same_type_v<T, u32> && same_type_v<To, Vec<f64, 4>>) {
    using Words = Vec<u64, 4>;
    constexpr u64 exponent = 0x4330000000000000;
    return bit_cast<To>(convert<Words>(x) | Words(exponent)) - To(0x1p52);
  }
  if constexpr (sizeof(T) == 8 && !is_float_v<T> && same_type_v<To, Vec<f64, 4>>)
    return To(double_of_long(x));
  if constexpr (same_type_v<T, f64> && same_type_v<To, Vec<u64, 4>>) return long_of_double(x);
  if constexpr (same_type_v<T, f64> && same_type_v<To, Vec<u32, 4>>) return word_of_double(x);
  if constexpr (same_type_v<T, f32> && same_type_v<To, Vec<u64, 4>>)
    return long_of_double(convert<Vec<f64, 4>>(x));
  // Of signed ones, one at a time takes less than that.
  if constexpr (same_type_v<T, u64> && same_type_v<To, Vec<f32, 4>>)
    return convert<To>(double_of_long(odd_beyond_double(x)));
#endif
  if constexpr (widens_at_once<scalar_t<To>, T, N>)
    return To(__builtin_bit_cast(typename To::native, widen_at_once<scalar_t<To>>(x)));
  if constexpr (same_type_v<T, f32> && same_type_v<To, Vec<f64, 4>>)
    return To(_mm256_cvtps_pd(x.v));
#endif
  // Beyond a factor of two in width it takes lanes apart, so there are steps.
  using R = scalar_t<To>;
  constexpr int from = sizeof(T), to = sizeof(R);
  if constexpr (is_float_v<T> && !is_float_v<R> && to < 4) {
    return convert<To>(convert<Vec<i32, N>>(x));
  } else if constexpr (!is_float_v<T> && is_float_v<R> && from < 4) {
    return convert<To>(convert<Vec<i32, N>>(x));
  } else if constexpr (!is_float_v<T> && !is_float_v<R> && (to > 2 * from || from > 2 * to)) {
    using Step = ints_of_width<(to > from ? 2 * from : from / 2)>;
    if constexpr (is_signed_v<T>) {
      return convert<To>(convert<Vec<typename Step::s, N>>(x));
    } else {
      return convert<To>(convert<Vec<typename Step::u, N>>(x));
    }
  } else {
    return To(__builtin_convertvector(x.v, typename To::native));
  }
}

// Two halves of a vector, and back. In registers: through memory, a wide load after two narrow
// stores stalls, and a loop whose accumulators are folded by halves would keep them in memory.
template <int Half, class T, int N, int... I>
ARRAYX_HD Vec<T, N / 2> half_of(Vec<T, N> x, [[maybe_unused]] std::integer_sequence<int, I...> is) {
  using native [[maybe_unused]] = typename Vec<T, N / 2>::native;
#if defined(__AVX512F__)
  if constexpr (sizeof(x.v) == 64) {
    const __m512i all = __builtin_bit_cast(__m512i, x.v);
    const __m256i part =
        Half == 0 ? _mm512_castsi512_si256(all) : _mm512_extracti64x4_epi64(all, 1);
    return Vec<T, N / 2>(__builtin_bit_cast(native, part));
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(x.v) == 32) {
    const __m256i all = __builtin_bit_cast(__m256i, x.v);
    const __m128i part = Half == 0 ? _mm256_castsi256_si128(all) : _mm256_extracti128_si256(all, 1);
    return Vec<T, N / 2>(__builtin_bit_cast(native, part));
  }
#endif
  return Vec<T, N / 2>(__builtin_shufflevector(x.v, x.v, (Half * (N / 2) + I)...));
}
template <class T, int N>
ARRAYX_HD Vec<T, N / 2> low_half(Vec<T, N> x) {
  return half_of<0>(x, std::make_integer_sequence<int, N / 2>());
}
template <class T, int N>
ARRAYX_HD Vec<T, N / 2> high_half(Vec<T, N> x) {
  return half_of<1>(x, std::make_integer_sequence<int, N / 2>());
}
template <class T, int N>
ARRAYX_HD Vec<T, 2 * N> join(Vec<T, N> low, Vec<T, N> high) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f32> && N == 8) {
    const __m512d wide = _mm512_castps_pd(_mm512_castps256_ps512(low.v));
    const __m512d joined = _mm512_insertf64x4(wide, __builtin_bit_cast(__m256d, high.v), 1);
    return Vec<T, 2 * N>(_mm512_castpd_ps(joined));
  }
#endif
#if defined(__AVX2__)
  if constexpr (same_type_v<T, f32> && N == 4) return Vec<T, 2 * N>(_mm256_set_m128(high.v, low.v));
#endif
  Vec<T, 2 * N> r;
  __builtin_memcpy(&r.v, &low.v, sizeof(low.v));
  __builtin_memcpy(reinterpret_cast<char*>(&r.v) + sizeof(low.v), &high.v, sizeof(high.v));
  return r;
}

template <class F, class T, int N>
ARRAYX_HD Vec<T, N> map_lanes(F f, Vec<T, N> x) {
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = f(T(x.v[i]));
  return r;
}

template <class T, int N, class F, class... X>
ARRAYX_HD Vec<T, N> replace_lanes(Mask<sizeof(T), N> m, Vec<T, N> result, F f, X... x) {
  if (any(m)) {
    for (int i = 0; i < N; ++i) {
      if (m.v[i]) result.v[i] = f(x[i]...);
    }
  }
  return result;
}

// f on float64 lanes, register by register, rounded once to float32 (see lanes.hpp).
template <class F, int N>
ARRAYX_HD Vec<f32, N> map_wide(F f, Vec<f32, N> x) {
  if constexpr (N * 8 > vector_bytes) {
    return join(map_wide(f, low_half(x)), map_wide(f, high_half(x)));
  } else {
    return convert<Vec<f32, N>>(f(convert<Vec<f64, N>>(x)));
  }
}
template <class F, int N>
ARRAYX_HD Vec<f32, N> map_wide(F f, Vec<f32, N> x, Vec<f32, N> y) {
  if constexpr (N * 8 > vector_bytes) {
    return join(map_wide(f, low_half(x), low_half(y)), map_wide(f, high_half(x), high_half(y)));
  } else {
    return convert<Vec<f32, N>>(f(convert<Vec<f64, N>>(x), convert<Vec<f64, N>>(y)));
  }
}
template <class F, int N, class... X>
ARRAYX_HD void map_wide_pair(F f, Vec<f32, N>& result1, Vec<f32, N>& result2, X... x) {
  if constexpr (N * 8 > vector_bytes) {
    Vec<f32, N / 2> low1, low2, high1, high2;
    map_wide_pair(f, low1, low2, low_half(x)...);
    map_wide_pair(f, high1, high2, high_half(x)...);
    result1 = join(low1, high1);
    result2 = join(low2, high2);
  } else {
    Vec<f64, N> wide1, wide2;
    f(wide1, wide2, convert<Vec<f64, N>>(x)...);
    result1 = convert<Vec<f32, N>>(wide1);
    result2 = convert<Vec<f32, N>>(wide2);
  }
}

template <class T, int N>
ARRAYX_HD Vec<T, N> gather(const T* table, Vec<typename ints_of_width<sizeof(T)>::s, N> index) {
  Vec<T, N> r;
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 8 && N == 8) {
    return Vec<T, N>(
        __builtin_bit_cast(typename Vec<T, N>::native,
                           _mm512_i64gather_epi64(__builtin_bit_cast(__m512i, index.v), table, 8)));
  }
#endif
  for (int i = 0; i < N; ++i) r.v[i] = table[index.v[i]];
  return r;
}

template <class T, int N>
ARRAYX_HD Vec<T, N> lookup(const T (&table)[16],
                           Vec<typename ints_of_width<sizeof(T)>::s, N> index) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f32> && N == 16) {
    return Vec<T, N>(
        _mm512_permutexvar_ps(__builtin_bit_cast(__m512i, index.v), _mm512_loadu_ps(table)));
  }
  if constexpr (same_type_v<T, f64> && N == 8) {
    return Vec<T, N>(_mm512_permutex2var_pd(
        _mm512_loadu_pd(table), __builtin_bit_cast(__m512i, index.v), _mm512_loadu_pd(table + 8)));
  }
#endif
#if defined(__AVX2__)
  if constexpr (same_type_v<T, f32> && N == 8) {
    const __m256i i = __builtin_bit_cast(__m256i, index.v);
    const __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), i);
    const __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), i);
    return Vec<T, N>(_mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28))));
  }
#endif
  Vec<T, N> r;
  for (int i = 0; i < N; ++i) r.v[i] = table[index.v[i] & 15];
  return r;
}

// Vectors whose lanes one instruction puts into any order.
template <class T, int N>
inline constexpr bool has_permutations =
#if defined(__AVX2__)
    (sizeof(T) == 4 || sizeof(T) == 8) && N * sizeof(T) == vector_bytes;
#else
    false;
#endif
#if defined(__AVX2__)
// Lane index[i] of x as lane i.
template <class T, int N>
  requires(has_permutations<T, N>)
ARRAYX_HD Vec<T, N> permuted(Vec<T, N> x, Vec<typename ints_of_width<sizeof(T)>::s, N> index) {
  using native = typename Vec<T, N>::native;
#if defined(__AVX512F__)
  const __m512i from = __builtin_bit_cast(__m512i, x.v), at = __builtin_bit_cast(__m512i, index.v);
  return Vec<T, N>(__builtin_bit_cast(native, sizeof(T) == 4 ? _mm512_permutexvar_epi32(at, from)
                                                             : _mm512_permutexvar_epi64(at, from)));
#else
  __m256i at = __builtin_bit_cast(__m256i, index.v);
  if constexpr (sizeof(T) == 8) {  // each as a pair of lanes of half the width
    at = _mm256_slli_epi64(at, 1);
    at = _mm256_add_epi64(_mm256_or_si256(at, _mm256_slli_epi64(at, 32)),
                          _mm256_set1_epi64x(1LL << 32));
  }
  const __m256i from = __builtin_bit_cast(__m256i, x.v);
  return Vec<T, N>(__builtin_bit_cast(native, _mm256_permutevar8x32_epi32(from, at)));
#endif
}
#endif

#if defined(__x86_64__)
// Vectors of which one instruction finds the lesser or the greater ones.
template <class T, int N>
inline constexpr bool has_extremes =
#if defined(__AVX512F__)
    N * sizeof(T) == 64 ||
#endif
#if defined(__AVX__)
    (is_float_v<T> && N * sizeof(T) == 32) ||
#endif
    (is_float_v<T> && N * sizeof(T) == 16);
// x where either is NaN. Of comparisons and choices compilers make masks, or more than that.
template <bool Greater, class T, int N>
  requires(has_extremes<T, N>)
ARRAYX_HD Vec<T, N> extreme(Vec<T, N> limit, Vec<T, N> x) {
  const auto p = limit.v, q = x.v;
  if constexpr (is_float_v<T> && N * sizeof(T) == 16) {
    if constexpr (N == 4) {
      return Vec<T, N>(Greater ? _mm_max_ps(p, q) : _mm_min_ps(p, q));
    } else {
      return Vec<T, N>(Greater ? _mm_max_pd(p, q) : _mm_min_pd(p, q));
    }
  }
#if defined(__AVX__)
  if constexpr (is_float_v<T> && N * sizeof(T) == 32) {
    if constexpr (N == 8) {
      return Vec<T, N>(Greater ? _mm256_max_ps(p, q) : _mm256_min_ps(p, q));
    } else {
      return Vec<T, N>(Greater ? _mm256_max_pd(p, q) : _mm256_min_pd(p, q));
    }
  }
#endif
#if defined(__AVX512F__)
  if constexpr (is_float_v<T> && N * sizeof(T) == 64) {
    if constexpr (N == 16) {
      return Vec<T, N>(Greater ? _mm512_max_ps(p, q) : _mm512_min_ps(p, q));
    } else {
      return Vec<T, N>(Greater ? _mm512_max_pd(p, q) : _mm512_min_pd(p, q));
    }
  } else if constexpr (N * sizeof(T) == 64) {
    const auto a = __builtin_bit_cast(__m512i, p), b = __builtin_bit_cast(__m512i, q);
    __m512i r;
    if constexpr (sizeof(T) == 8) {
      r = is_signed_v<T> ? Greater ? _mm512_max_epi64(a, b) : _mm512_min_epi64(a, b)
          : Greater      ? _mm512_max_epu64(a, b)
                         : _mm512_min_epu64(a, b);
    } else if constexpr (sizeof(T) == 4) {
      r = is_signed_v<T> ? Greater ? _mm512_max_epi32(a, b) : _mm512_min_epi32(a, b)
          : Greater      ? _mm512_max_epu32(a, b)
                         : _mm512_min_epu32(a, b);
    } else if constexpr (sizeof(T) == 2) {
      r = is_signed_v<T> ? Greater ? _mm512_max_epi16(a, b) : _mm512_min_epi16(a, b)
          : Greater      ? _mm512_max_epu16(a, b)
                         : _mm512_min_epu16(a, b);
    } else {
      r = is_signed_v<T> ? Greater ? _mm512_max_epi8(a, b) : _mm512_min_epi8(a, b)
          : Greater      ? _mm512_max_epu8(a, b)
                         : _mm512_min_epu8(a, b);
    }
    return Vec<T, N>(__builtin_bit_cast(typename Vec<T, N>::native, r));
  }
#endif
}
template <class T, int N>
  requires(has_extremes<T, N>)
ARRAYX_HD Vec<T, N> at_most(Vec<T, N> x, Vec<T, N> limit) {
  return extreme<false>(limit, x);
}
template <class T, int N>
  requires(has_extremes<T, N>)
ARRAYX_HD Vec<T, N> at_least(Vec<T, N> x, Vec<T, N> limit) {
  return extreme<true>(limit, x);
}
// What is greater or less is a already where b is NaN.
template <class T, int N>
  requires(has_extremes<T, N>)
ARRAYX_HD Vec<T, N> greater_of(Vec<T, N> a, Vec<T, N> b) {
  const Vec<T, N> r = extreme<true>(b, a);
  return is_float_v<T> ? select(b != b, b, r) : r;
}
template <class T, int N>
  requires(has_extremes<T, N>)
ARRAYX_HD Vec<T, N> lesser_of(Vec<T, N> a, Vec<T, N> b) {
  const Vec<T, N> r = extreme<false>(b, a);
  return is_float_v<T> ? select(b != b, b, r) : r;
}
#endif
#if defined(__AVX512F__)
// Any function of three bits, bit by bit, is one instruction.
template <int Function, class T, int N>
ARRAYX_HD Vec<T, N> combine_with_sign_bit(Vec<T, N> a, Vec<T, N> b) {
  const auto bits = [](Vec<T, N> x) { return __builtin_bit_cast(__m512i, x.v); };
  using native = typename Vec<T, N>::native;
  return Vec<T, N>(__builtin_bit_cast(
      native, _mm512_ternarylogic_epi64(bits(a), bits(b), bits(Vec<T, N>(T(-0.0))), Function)));
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD Vec<T, N> copysign(Vec<T, N> magnitude, Vec<T, N> sign) {
  return combine_with_sign_bit<0xd8>(magnitude, sign);  // c ? b : a
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD Vec<T, N> with_sign(Vec<T, N> magnitude, Vec<T, N> sign) {
  return combine_with_sign_bit<0xf8>(magnitude, sign);  // a | (b & c)
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD Vec<T, N> times_sign(Vec<T, N> x, Vec<T, N> sign) {
  return combine_with_sign_bit<0x78>(x, sign);  // a ^ (b & c)
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD Vec<T, N> near_inverse(Vec<T, N> x) {
  if constexpr (same_type_v<T, f32>) {
    return Vec<T, N>(_mm512_rcp14_ps(x.v));
  } else {
    return Vec<T, N>(_mm512_rcp14_pd(x.v));
  }
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD bool all_less(Vec<T, N> a, Vec<T, N> b) {
  if constexpr (same_type_v<T, f32>) {
    return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OS) == 0xffff;
  } else {
    return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OS) == 0xff;
  }
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD bool all_within(Vec<T, N> x, Vec<T, N> low, Vec<T, N> high) {
  if constexpr (same_type_v<T, f32>) {
    const __mmask16 above = _mm512_cmp_ps_mask(x.v, low.v, _CMP_GE_OS);
    return _mm512_mask_cmp_ps_mask(above, x.v, high.v, _CMP_LT_OS) == 0xffff;
  } else {
    const __mmask8 above = _mm512_cmp_pd_mask(x.v, low.v, _CMP_GE_OS);
    return _mm512_mask_cmp_pd_mask(above, x.v, high.v, _CMP_LT_OS) == 0xff;
  }
}
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD bool all_positive_normal(Vec<T, N> x) {
  constexpr int all_others = 0xff;  // NaN, zeros, infinities, subnormal and negative numbers
  if constexpr (same_type_v<T, f32>) {
    return _mm512_fpclass_ps_mask(x.v, all_others) == 0;
  } else {
    return _mm512_fpclass_pd_mask(x.v, all_others) == 0;
  }
}
template <class T, int N>
  requires(!is_float_v<T> && sizeof(T) >= 4 && N * sizeof(T) == 64)
ARRAYX_HD bool any_without(Vec<T, N> x, Vec<T, N> bits) {
  const __m512i a = __builtin_bit_cast(__m512i, x.v), b = __builtin_bit_cast(__m512i, bits.v);
  return (sizeof(T) == 4 ? _mm512_testn_epi32_mask(a, b) : _mm512_testn_epi64_mask(a, b)) != 0;
}
// By products from an estimate of 14 bits, in less than half the time of the instruction, or two
// thirds for float32. Two steps of Goldschmidt's iteration (one for float32) give g and h near
// sqrt(x) and 1 / (2 sqrt(x)), and Markstein's last step from the exact residual x - g^2 rounds
// correctly (IBM Journal of Research and Development 34, 1990): as the instruction does for every
// float32, and from any estimate of up to 26 digits for those float64 whose roots are nearest to
// the middle between two numbers. What has no such residual or estimate is left to the instruction.
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == 64)
ARRAYX_HD Vec<T, N> sqrt_alone(Vec<T, N> x) {
  using V = Vec<T, N>;
  constexpr bool is_double = same_type_v<T, f64>;
  const V least(T(is_double ? 0x1p-959 : 0x1p-95));
  if (!all_within(x, least, V(limits<T>::infinity))) return sqrt(x);
  V estimate;
  if constexpr (is_double) {
    estimate = V(_mm512_rsqrt14_pd(x.v));
  } else {
    estimate = V(_mm512_rsqrt14_ps(x.v));
  }
  const V half(T(0.5));
  V g = x * estimate, h = half * estimate;
  for (int step = is_double ? 2 : 1; step > 0; --step) {
    const V r = mul_add(-g, h, half);
    g = mul_add(g, r, g);
    h = mul_add(h, r, h);
  }
  return mul_add(mul_add(-g, g, x), h, g);
}
#endif

// One intrinsic per register width; a vector narrower or wider than a register goes lane by lane.
template <class T, int N>
ARRAYX_HD Vec<T, N> sqrt(Vec<T, N> x) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f64> && N == 8) return Vec<T, N>(_mm512_sqrt_pd(x.v));
  if constexpr (same_type_v<T, f32> && N == 16) return Vec<T, N>(_mm512_sqrt_ps(x.v));
#endif
#if defined(__AVX2__)
  if constexpr (same_type_v<T, f64> && N == 4) return Vec<T, N>(_mm256_sqrt_pd(x.v));
  if constexpr (same_type_v<T, f32> && N == 8) return Vec<T, N>(_mm256_sqrt_ps(x.v));
#endif
#if defined(__SSE2__)
  if constexpr (same_type_v<T, f64> && N == 2) return Vec<T, N>(_mm_sqrt_pd(x.v));
  if constexpr (same_type_v<T, f32> && N == 4) return Vec<T, N>(_mm_sqrt_ps(x.v));
#endif
  return map_lanes([](T a) { return sqrt(a); }, x);
}

template <class T, int N>
ARRAYX_HD Vec<T, N> mul_add(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f64> && N == 8) return Vec<T, N>(_mm512_fmadd_pd(a.v, b.v, c.v));
  if constexpr (same_type_v<T, f32> && N == 16) return Vec<T, N>(_mm512_fmadd_ps(a.v, b.v, c.v));
#endif
#if defined(__AVX2__) && defined(__FMA__)
  if constexpr (same_type_v<T, f64> && N == 4) return Vec<T, N>(_mm256_fmadd_pd(a.v, b.v, c.v));
  if constexpr (same_type_v<T, f32> && N == 8) return Vec<T, N>(_mm256_fmadd_ps(a.v, b.v, c.v));
#endif
#if defined(__aarch64__)
  if constexpr (same_type_v<T, f64> && N == 2) return Vec<T, N>(vfmaq_f64(c.v, a.v, b.v));
  if constexpr (same_type_v<T, f32> && N == 4) return Vec<T, N>(vfmaq_f32(c.v, a.v, b.v));
#endif
  if constexpr (has_fma) {
    Vec<T, N> r;
    for (int i = 0; i < N; ++i) r.v[i] = mul_add(T(a.v[i]), T(b.v[i]), T(c.v[i]));
    return r;
  } else {
    return a * b + c;
  }
}

#if defined(__FMA__)
template <class T, int N>
  requires(is_float_v<T> && N * sizeof(T) == vector_bytes)
ARRAYX_HD Vec<T, N> neg_mul_add(Vec<T, N> a, Vec<T, N> b, Vec<T, N> c) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f64>) return Vec<T, N>(_mm512_fnmadd_pd(a.v, b.v, c.v));
  if constexpr (same_type_v<T, f32>) return Vec<T, N>(_mm512_fnmadd_ps(a.v, b.v, c.v));
#else
  if constexpr (same_type_v<T, f64>) return Vec<T, N>(_mm256_fnmadd_pd(a.v, b.v, c.v));
  if constexpr (same_type_v<T, f32>) return Vec<T, N>(_mm256_fnmadd_ps(a.v, b.v, c.v));
#endif
}
#endif

namespace detail {
// Rounding to an integral value. mode: 0 nearest even, 1 down, 2 up, 3 toward zero.
template <int Mode, class T>
ARRAYX_HD T round_scalar(T x) {
  if constexpr (Mode == 0) return rint(x);
  if constexpr (Mode == 1) return floor(x);
  if constexpr (Mode == 2) return ceil(x);
  if constexpr (Mode == 3) return trunc(x);
}
template <int Mode, class T, int N>
ARRAYX_HD Vec<T, N> round_to_integral(Vec<T, N> x) {
#if defined(__AVX512F__)
  if constexpr (same_type_v<T, f64> && N == 8)
    return Vec<T, N>(_mm512_roundscale_pd(x.v, Mode | _MM_FROUND_NO_EXC));
  if constexpr (same_type_v<T, f32> && N == 16)
    return Vec<T, N>(_mm512_roundscale_ps(x.v, Mode | _MM_FROUND_NO_EXC));
#endif
#if defined(__AVX2__)
  if constexpr (same_type_v<T, f64> && N == 4)
    return Vec<T, N>(_mm256_round_pd(x.v, Mode | _MM_FROUND_NO_EXC));
  if constexpr (same_type_v<T, f32> && N == 8)
    return Vec<T, N>(_mm256_round_ps(x.v, Mode | _MM_FROUND_NO_EXC));
#endif
#if defined(__aarch64__)
  return map_lanes([](T a) { return round_scalar<Mode>(a); }, x);
#else
  // SSE2 has no rounding instruction: adding and subtracting 2^mantissa_bits rounds to nearest.
  using V = Vec<T, N>;
  const V big(T(u64(1) << limits<T>::mantissa_bits));
  const V magnitude = fabs(x);
  V nearest = (magnitude + big) - big;
  if constexpr (Mode == 1) {
    nearest = copysign(nearest, x);
    nearest = select(nearest > x, nearest - V(T(1)), nearest);
  } else if constexpr (Mode == 2) {
    nearest = copysign(nearest, x);
    nearest = select(nearest < x, nearest + V(T(1)), nearest);
  } else if constexpr (Mode == 3) {
    nearest = select(nearest > magnitude, nearest - V(T(1)), nearest);
  }
  return select(magnitude < big, copysign(nearest, x), x);
#endif
}
}  // namespace detail

template <class T, int N>
ARRAYX_HD Vec<T, N> rint(Vec<T, N> x) {
  return detail::round_to_integral<0>(x);
}
template <class T, int N>
ARRAYX_HD Vec<T, N> floor(Vec<T, N> x) {
  return detail::round_to_integral<1>(x);
}
template <class T, int N>
ARRAYX_HD Vec<T, N> ceil(Vec<T, N> x) {
  return detail::round_to_integral<2>(x);
}
template <class T, int N>
ARRAYX_HD Vec<T, N> trunc(Vec<T, N> x) {
  return detail::round_to_integral<3>(x);
}

ARRAYX_OPS_END
