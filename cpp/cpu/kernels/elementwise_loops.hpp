// The loop around a function object: contiguous operands, one vector at a time, the tail as a
// padded vector. Included by the kernel sources only, once per instruction set.
#pragma once

#include "../simd/compare.hpp"
#include "../simd/stream.hpp"
#include "../simd/vec.hpp"  // before the vocabulary, whose templates name its overloads

#include <cstring>
#include <utility>

#include "../../ops/cost.hpp"
#include "../../ops/elementwise.hpp"
#include "../kernels.hpp"
#include "../prefetch.hpp"
#include "one_divisor.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Complex;
using ops::Mask;
using ops::Vec;

// ---- loading and storing vectors of each element type -------------------------------------------

template <class T>
inline constexpr int lanes_of = ops::vector_bytes / sizeof(T);

template <class T>
struct part {
  using type = T;
};
template <class T>
struct part<Complex<T>> {
  using type = T;
};

template <class T, int Lanes = lanes_of<T>>
struct Elements {
  using V = Vec<T, Lanes>;
  static constexpr int lanes = Lanes, item = sizeof(T);
  static ARRAYX_HD V load(const char* p, i64 i) { return V::load(p + i * i64{sizeof(T)}); }
  static ARRAYX_HD V load_first(const char* p, i64 i, int n) {
    return V::load_first(p + i * i64{sizeof(T)}, n);
  }
};

template <int First, class V, int... I>
ARRAYX_HD V every_second(V a, V b, std::integer_sequence<int, I...>) {
  return V(__builtin_shufflevector(a.v, b.v, (2 * I + First)...));
}
template <class V, int Half, int... I>
ARRAYX_HD V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return V(__builtin_shufflevector(a.v, b.v, (Half * (n / 2) + I / 2 + (I % 2) * n)...));
}

// Registers of 32 bytes shuffle each half for itself in one instruction, and across in two. So the
// parts of the complex numbers z0 … z3 (of 8 bytes: pairs of them) lie in the order z0 z2 z1 z3
// there.
template <class V>
inline constexpr bool halves_apart = sizeof(V) == 32;

// Real (0) or imaginary (1) parts.
template <int Part, class V, int... I>
ARRAYX_HD V part_of_complex(V a, V b, std::integer_sequence<int, I...> lanes) {
  if constexpr (halves_apart<V>) {
    constexpr int n = sizeof...(I), half = n / 2, few = n / 4;
    return V(__builtin_shufflevector(
        a.v, b.v, (I / half * half + I % half / few * n + 2 * (I % few) + Part)...));
  } else {
    return every_second<Part>(a, b, lanes);
  }
}
// The first or the second half of complex numbers in a row from their parts.
template <class V, int Half, int... I>
ARRAYX_HD V complex_from_parts(V re, V im, std::integer_sequence<int, I...> lanes) {
  if constexpr (halves_apart<V>) {
    constexpr int n = sizeof...(I), half = n / 2, few = n / 4;
    return V(__builtin_shufflevector(re.v, im.v,
                                     (I / half * half + Half * few + I % half / 2 + I % 2 * n)...));
  } else {
    return interleave<V, Half>(re, im, lanes);
  }
}
// A vector in the order of parts as one in the order of memory, or the other way round.
template <class V>
ARRAYX_HD V reordered_parts([[maybe_unused]] V x) {
#if defined(__AVX2__)
  if constexpr (halves_apart<V>) {
    const __m256i words = _mm256_permute4x64_epi64(__builtin_bit_cast(__m256i, x.v), 0xd8);
    return V(__builtin_bit_cast(typename V::native, words));
  }
#endif
  return x;
}

template <class T, int Lanes>
struct Elements<Complex<T>, Lanes> {
  using Part = Vec<T, Lanes>;
  using V = Complex<Part>;
  static constexpr int lanes = Lanes, item = 2 * sizeof(T);
  using Indices = std::make_integer_sequence<int, lanes>;
  static ARRAYX_HD V split(Part a, Part b) {
    return {part_of_complex<0>(a, b, Indices{}), part_of_complex<1>(a, b, Indices{})};
  }
  static ARRAYX_HD V load(const char* p, i64 i) {
    p += i * i64{2 * sizeof(T)};
    return split(Part::load(p), Part::load(p + sizeof(Part)));
  }
  static ARRAYX_HD V load_first(const char* p, i64 i, int n) {
    p += i * i64{2 * sizeof(T)};
    const int first = 2 * n < lanes ? 2 * n : lanes;
    return split(Part::load_first(p, first), Part::load_first(p + sizeof(Part), 2 * n - first));
  }
};

// The same read in halves, see reads_in_halves of caches.cpp.
template <class E>
struct InHalves : E {
  static ARRAYX_HD typename E::V load(const char* p, i64 i) {
    p += i * i64{E::item};
    if constexpr (ops::is_complex_v<typename E::V>) {
      using Part = typename E::Part;
      return E::split(Part::load_in_halves(p), Part::load_in_halves(p + sizeof(Part)));
    } else {
      return E::V::load_in_halves(p);
    }
  }
};

template <class T, int N>
ARRAYX_HD void store(Vec<T, N> x, char* p, i64 i) {
  x.store(p + i * i64{sizeof(T)});
}
template <class T, int N>
ARRAYX_HD void store_first(Vec<T, N> x, char* p, i64 i, int n) {
  x.store_first(p + i * i64{sizeof(T)}, n);
}
template <class T, int N>
ARRAYX_HD void store(Complex<Vec<T, N>> x, char* p, i64 i) {
  using Indices = std::make_integer_sequence<int, N>;
  p += i * i64{2 * sizeof(T)};
  complex_from_parts<Vec<T, N>, 0>(x.re, x.im, Indices{}).store(p);
  complex_from_parts<Vec<T, N>, 1>(x.re, x.im, Indices{}).store(p + N * sizeof(T));
}
template <class T, int N>
ARRAYX_HD void store_first(Complex<Vec<T, N>> x, char* p, i64 i, int n) {
  using Indices = std::make_integer_sequence<int, N>;
  p += i * i64{2 * sizeof(T)};
  const int first = 2 * n < N ? 2 * n : N;
  complex_from_parts<Vec<T, N>, 0>(x.re, x.im, Indices{}).store_first(p, first);
  complex_from_parts<Vec<T, N>, 1>(x.re, x.im, Indices{})
      .store_first(p + N * sizeof(T), 2 * n - first);
}
// A condition becomes bytes of 0 and 1. Without AVX-512 the compiler would take the lanes apart,
// which makes a comparison five times as slow; packing with saturation keeps 0 and -1.
template <int B, int N>
ARRAYX_HD Vec<u8, N> to_bytes(Mask<B, N> m) {
  using Bytes = typename Vec<u8, N>::native;
  const Vec<u8, N> one(u8{1});
  if constexpr (B == 1) {
    return Vec<u8, N>(__builtin_bit_cast(Bytes, m.v)) & one;
  }
#if defined(__SSE2__)
  else if constexpr (N * B == 16 || (N * B == 32 && ops::vector_bytes == 32)) {
    __m128i low, high;
    if constexpr (N * B == 16) {
      low = high = __builtin_bit_cast(__m128i, m.v);
    }
#if defined(__AVX2__)
    else {
      const __m256i both = __builtin_bit_cast(__m256i, m.v);
      low = _mm256_castsi256_si128(both);
      high = _mm256_extracti128_si256(both, 1);
    }
#endif
    if constexpr (B == 8) {  // two lanes of 32 bits to each
      const __m128 halves = _mm_shuffle_ps(_mm_castsi128_ps(low), _mm_castsi128_ps(high), 0x88);
      low = high = _mm_castps_si128(halves);
    }
    if constexpr (B >= 4) low = high = _mm_packs_epi32(low, high);
    low = _mm_packs_epi16(low, high);
    Bytes bytes;
    __builtin_memcpy(&bytes, &low, sizeof(bytes));
    return Vec<u8, N>(bytes) & one;
  }
#endif
  else {
    return Vec<u8, N>(Bytes(__builtin_convertvector(m.v, Bytes))) & one;
  }
}
template <int B, int N>
ARRAYX_HD void store(Mask<B, N> m, char* p, i64 i) {
  to_bytes(m).store(p + i);
}
template <int B, int N>
ARRAYX_HD void store_first(Mask<B, N> m, char* p, i64 i, int n) {
  to_bytes(m).store_first(p + i, n);
}

// The mask, of the width of T's parts, of bytes that are not zero.
template <class T>
struct Condition {
  using Part = typename part<T>::type;
  static constexpr int width = sizeof(Part), lanes = lanes_of<Part>, item = 1;
  using V = Mask<width, lanes>;
  static ARRAYX_HD V widen(Vec<u8, lanes> bytes) {
    using I = Vec<typename ops::ints_of_width<width>::s, lanes>;
    const V mask = ops::convert<I>(bytes) != I(typename ops::ints_of_width<width>::s(0));
    if constexpr (ops::is_complex_v<T>) return reordered_parts(mask);
    return mask;
  }
  static ARRAYX_HD V load(const char* p, i64 i) { return widen(Vec<u8, lanes>::load(p + i)); }
  static ARRAYX_HD V load_first(const char* p, i64 i, int n) {
    return widen(Vec<u8, lanes>::load_first(p + i, n));
  }
};

// Bytes of an element of a vector of results.
template <class V>
inline constexpr int result_item = sizeof(V) / ops::lane_traits<V>::lanes;
template <int B, int N>
inline constexpr int result_item<Mask<B, N>> = 1;
template <class V>
inline constexpr int result_item<Complex<V>> = 2 * result_item<V>;

// Whether an operand's vectors hold the parts of complex numbers.
template <class E>
inline constexpr bool is_split = false;
template <class T, int Lanes>
inline constexpr bool is_split<Elements<Complex<T>, Lanes>> = true;
template <class E>
inline constexpr bool is_split<InHalves<E>> = is_split<E>;

template <class V>
ARRAYX_HD void stream_result(V x, char* p) {
  stream_vector(x, p);
}
template <int B, int N>
ARRAYX_HD void stream_result(Mask<B, N> m, char* p) {
  stream_vector(to_bytes(m), p);
}
template <class T, int N>
ARRAYX_HD void stream_result(Complex<Vec<T, N>> x, char* p) {
  using Indices = std::make_integer_sequence<int, N>;
  stream_vector(complex_from_parts<Vec<T, N>, 0>(x.re, x.im, Indices{}), p);
  stream_vector(complex_from_parts<Vec<T, N>, 1>(x.re, x.im, Indices{}), p + N * sizeof(T));
}

template <class F, class E>
inline constexpr bool compares_vectors = false;
template <class F, class T, int Lanes>
inline constexpr bool compares_vectors<F, Elements<T, Lanes>> =
    compares_into_bits<F, T> && Lanes * sizeof(T) == ops::vector_bytes;
template <class F, class E>
inline constexpr bool compares_vectors<F, InHalves<E>> = compares_vectors<F, E>;

// ---- kernels
// --------------------------------------------------------------------------------------

// An operand's pointer, read by itself. Compilers read two at once, which wait until both of the
// caller's writes have left the queue of stores: where results go past the caches, for memory.
ARRAYX_HD const char* operand(const void* in) {
  const char* p = static_cast<const char*>(in);
  asm("" : "+r"(p));
  return p;
}

// What stands a page behind the i-th of the elements at p, `Count` of them, if i < until.
template <int Count, class E>
ARRAYX_HD void ask_for(const char* p, i64 i, i64 until) {
  if (i < until) fetch<Count * E::item>(p + i * E::item + page_bytes);
}

// Together: vectors of results that are found before the first of them is written. Where an output
// begins a little past an operand's place of a page, each read waits for the write before it, as if
// that were of the same address: within an L2, x + y then takes 1.4 times as long one by one.
// What is written next is asked for, too: to and from an L2 that takes a tenth less time on a
// Sapphire Rapids, a quarter less where the output's vectors cross lines.
// Stream: whole vectors of results go past the caches, for which elements up to the first end of a
// line come first, and lines of the next page are asked for. Lines are read and written
// in their order: in another, which compilers choose, that takes up to a fifth longer.
template <int Together, bool Stream, class F, class First, class... Inputs, int... I>
ARRAYX_HD void vector_loop(const void* const* in, void* out, i64 n, [[maybe_unused]] Asked asked,
                           std::integer_sequence<int, I...>) {
  const char* const p[] = {operand(in[0]), operand(in[I])...};
  char* const q = static_cast<char*>(out);
  constexpr int lanes = First::lanes;
  const auto f = [](auto... x) __attribute__((always_inline)) {
    auto y = F()(x...);
    // Numbers and conditions from complex numbers.
    if constexpr (First::item > result_item<decltype(y)> && is_split<First>) {
      return reordered_parts(y);
    } else {
      return y;
    }
  };
  const auto result = [&](i64 i) __attribute__((always_inline)) {
    return f(First::load(p[0], i), Inputs::load(p[I], i)...);
  };
  const auto few = [&](i64 i, i64 count) {
    const int rest = static_cast<int>(count);
    store_first(f(First::load_first(p[0], i, rest), Inputs::load_first(p[I], i, rest)...), q, i,
                rest);
  };
  i64 i = 0;
  using Result = decltype(result(i));
  constexpr i64 item = result_item<Result>;
  if constexpr (Stream) {
    const i64 line_left = (-reinterpret_cast<std::intptr_t>(q) & (line_bytes - 1)) / item;
    const i64 head = line_left < n ? line_left : n;
    for (; i < head; i += lanes) few(i, lanes < head - i ? lanes : head - i);
    i = head;
  }
  // Lines of the next page, for `count` elements of each operand, up to the place from which on
  // none are asked for. What compares writes little: it is read as reductions are.
  constexpr bool compares = sizeof...(Inputs) == 1 && compares_vectors<F, First>;
  const bool asks =
      compares || packs_into_bytes<Result> ? reading_asks == Asking::pages : asks_for_pages;
  const auto asked_until = [&](int k, i64 bytes) { return asks ? asked.until(k, n, bytes) : 0; };
  [[maybe_unused]] const i64 until[] = {asked_until(0, First::item),
                                        asked_until(I, Inputs::item)...};
  const auto ask = [&](auto count) __attribute__((always_inline)) {
    ask_for<decltype(count)::value, First>(p[0], i, until[0]);
    (ask_for<decltype(count)::value, Inputs>(p[I], i, until[I]), ...);
  };
  if constexpr (compares) {
    for (; i + line_bytes <= n; i += line_bytes) {
      if constexpr (Stream) ask(std::integral_constant<int, line_bytes>());
      u64 bits = 0;
      ARRAYX_UNROLL
      for (int k = 0; k < line_bytes; k += lanes) {
        bits |= compared_bits<F>(First::load(p[0], i + k), First::load(p[1], i + k)) << k;
        if constexpr (Stream) keep_order();
      }
      put_bits<Stream>(bits, q + i);
    }
  } else if constexpr (packs_into_bytes<Result>) {
    for (; i + line_bytes <= n; i += line_bytes) {
      if constexpr (Stream) ask(std::integral_constant<int, line_bytes>());
      ARRAYX_UNROLL
      for (int part = 0; part < line_bytes; part += ops::vector_bytes) {
        Result r[ops::vector_bytes / lanes];
        ARRAYX_UNROLL
        for (int k = 0; k < ops::vector_bytes / lanes; ++k) {
          r[k] = result(i + part + k * lanes);
          if constexpr (Stream) keep_order();
        }
        put_bytes<Stream>(r, q + i + part);
      }
    }
  } else if constexpr (Together > 1 && (Stream || ops::lane_traits<Result>::lanes == lanes)) {
    for (; i + Together * lanes <= n; i += Together * lanes) {
      if constexpr (Stream) ask(std::integral_constant<int, Together * lanes>());
      if constexpr (!Stream && Together * lanes * item >= line_bytes) {
        fetch<Together * lanes * item>(q + i * item + result_ahead);
      }
      Result r[Together];
      ARRAYX_UNROLL
      for (int k = 0; k < Together; ++k) {
        r[k] = result(i + k * lanes);
        if constexpr (Stream) keep_order();
      }
      ARRAYX_UNROLL
      for (int k = 0; k < Together; ++k) {
        if constexpr (Stream) {
          stream_result(r[k], q + (i + k * lanes) * item);
          keep_order();
        } else {
          store(r[k], q, i + k * lanes);
        }
      }
    }
  }
  for (; i + lanes <= n; i += lanes) store(result(i), q, i);
  if (i == n) [[likely]] {  // or short rows of whole vectors end in a jump
    return;
  }
  if constexpr (Together > 1 && !Stream) {
    // The last vector begins earlier, with elements that are found once more, unless those have
    // been overwritten.
    const bool overwrites = q == p[0] || (... || (q == p[I]));
    if (n >= lanes && !overwrites) return store(result(n - lanes), q, n - lanes);
  }
  few(i, n - i);
}

template <class F, class T>
void kernel_of_one(const void* const* in, void* out, i64 n) {
  using E = Elements<T, lanes_of<typename part<T>::type>>;
  vector_loop<1, false, F, E>(in, out, n, {}, std::integer_sequence<int>{});
}

// The powers of exponents 2, 3, -1 and 1/2, of complex numbers 2, that Pow finds among others.
template <class T>
ShortPower short_power(const void* exponent) {
  T y;
  __builtin_memcpy(&y, exponent, sizeof y);
  if constexpr (ops::is_complex_v<T>) {
    if (y.re == 2 && y.im == 0) {
      return {&kernel_of_one<ops::math::detail::PowerOfTwo, T>, Op::square};
    }
  } else {
    if (y == T(2)) return {&kernel_of_one<ops::Square, T>, Op::square};
    if (y == T(3)) return {&kernel_of_one<ops::math::detail::PowerOfThree, T>, Op::sqrt};
    if (y == T(-1)) return {&kernel_of_one<ops::Reciprocal, T>, Op::reciprocal};
    if (y == T(0.5)) return {&kernel_of_one<ops::math::detail::PowerOfHalf, T>, Op::sqrt};
  }
  return {};
}
// Such powers, if all exponents are the same; false for others.
template <class T>
bool short_powers(const void* const* in, void* out, i64 n) {
  if (n == 0) return true;
  const ShortPower power = short_power<T>(in[1]);
  if (!power.kernel) return false;
  const char* const exponents = static_cast<const char*>(in[1]);
  const auto all_but_one = static_cast<std::size_t>((n - 1) * i64{sizeof(T)});
  if (std::memcmp(exponents, exponents + sizeof(T), all_but_one) != 0) return false;
  power.kernel(in, out, n);
  return true;
}

template <int Together, bool Stream, bool Halves, class F, class T, int Arity, int Lanes>
ARRAYX_HD void loop_of(const void* const* in, void* out, std::int64_t n, Asked asked) {
  using E = std::conditional_t<Halves, InHalves<Elements<T, Lanes>>, Elements<T, Lanes>>;
  if constexpr (Arity == 1) {
    vector_loop<Together, Stream, F, E>(in, out, n, asked, std::integer_sequence<int>{});
  } else if constexpr (Arity == 2) {
    vector_loop<Together, Stream, F, E, E>(in, out, n, asked, std::integer_sequence<int, 1>{});
  } else if constexpr (ops::same_type_v<F, ops::Where>) {
    vector_loop<Together, Stream, F, Condition<T>, E, E>(in, out, n, asked,
                                                         std::integer_sequence<int, 1, 2>{});
  } else {
    vector_loop<Together, Stream, F, E, E, E>(in, out, n, asked,
                                              std::integer_sequence<int, 1, 2>{});
  }
}

// Changes the signs of real (0) or imaginary (1) parts, where they lie by turns.
template <int Part>
struct NegateParts {
  template <class T, int N>
  ARRAYX_HD Vec<T, N> operator()(Vec<T, N> x) const {
    using Bits = ops::uint_t<Vec<T, N>>;
    const Bits signs(signs_of<Bits>(std::make_integer_sequence<int, N>()));
    return ops::bit_cast<Vec<T, N>>(ops::bit_cast<Bits>(x) ^ signs);
  }

 private:
  template <class Bits, int... I>
  static constexpr typename Bits::native signs_of(std::integer_sequence<int, I...>) {
    using u = ops::scalar_t<Bits>;
    return typename Bits::native{(u(I % 2 == Part) << (8 * sizeof(u) - 1))...};
  }
};

// Products of complex numbers whose parts lie by turns: those with the real parts, and less or more
// those of the parts in each other's place with the imaginary ones. Shuffles of one register take
// half the time of those that tell parts of two apart.
struct MultiplyPairs {
  template <class T, int N>
  ARRAYX_HD Vec<T, N> operator()(Vec<T, N> a, Vec<T, N> b) const {
    constexpr std::make_integer_sequence<int, N> lanes{};
    return a * part_twice<0>(b, lanes) + NegateFirst()(swapped(a, lanes) * part_twice<1>(b, lanes));
  }

 private:
  using NegateFirst = NegateParts<0>;
  template <int Part, class V, int... I>
  static ARRAYX_HD V part_twice(V x, std::integer_sequence<int, I...>) {
    return V(__builtin_shufflevector(x.v, x.v, (I / 2 * 2 + Part)...));
  }
  template <class V, int... I>
  static ARRAYX_HD V swapped(V x, std::integer_sequence<int, I...>) {
    return V(__builtin_shufflevector(x.v, x.v, (I ^ 1)...));
  }
};
struct SquarePairs {
  template <class V>
  ARRAYX_HD V operator()(V x) const {
    return MultiplyPairs()(x, x);
  }
};

// What does to all parts of complex numbers, as they lie, what F does, if there is such; else void.
template <class F>
struct by_parts {
  using type = void;
};
template <>
struct by_parts<ops::Add> {
  using type = ops::Add;
};
template <>
struct by_parts<ops::Subtract> {
  using type = ops::Subtract;
};
template <>
struct by_parts<ops::Negative> {
  using type = ops::Negative;
};
template <>
struct by_parts<ops::Conj> {
  using type = NegateParts<1>;
};
template <>
struct by_parts<ops::Multiply> {
  using type = MultiplyPairs;
};
template <>
struct by_parts<ops::Square> {
  using type = SquarePairs;
};
template <class F, class T>
inline constexpr bool is_by_parts =
    ops::is_complex_v<T> && !ops::same_type_v<typename by_parts<F>::type, void>;

// Elements of a vector.
template <class F, class T>
inline constexpr int vector_lanes = ops::vector_bytes / ops::widest_lane<F, T>;

// Vectors together where moving the operands takes longer than the arithmetic.
template <class T>
inline constexpr int several = ops::is_complex_v<T> ? 2 : 4;

// Integers that are divided, by operands of which the second may be one.
template <class F, class T>
inline constexpr bool divides_integers =
    (ops::same_type_v<F, ops::Remainder> || ops::same_type_v<F, ops::FloorDivide>) &&
    !ops::is_float_v<T>;

// Light: so it does. Halves: whether vectors are read in halves.
template <class F, class T, int Arity, bool Light, bool Halves = false>
void kernel(const void* const* in, void* out, std::int64_t n) {
  constexpr int lanes = vector_lanes<F, typename part<T>::type>;
  constexpr int together = Light ? several<T> : 1;
  if constexpr (is_by_parts<F, T>) {
    using Parts = typename by_parts<F>::type;
    kernel<Parts, typename part<T>::type, Arity, Light, Halves>(in, out, 2 * n);
  } else {
    if constexpr (ops::same_type_v<F, ops::Pow> && ops::is_float_v<typename part<T>::type>) {
      if (short_powers<T>(in, out, n)) return;
    }
    if constexpr (divides_integers<F, T>) {
      if (divides_by_one<T, ops::same_type_v<F, ops::Remainder>>(in, out, n)) return;
    }
    loop_of<together, false, Halves, F, T, Arity, lanes>(in, out, n, {});
  }
}

// The same where the second operand is one element, however many there are of it.
template <class F, class T>
void kernel_by_constant(const void* const* in, void* out, std::int64_t n) {
  if (divides_by_constant<T, ops::same_type_v<F, ops::Remainder>>(in, out, n)) return;
  loop_of<1, false, false, F, T, 2, vector_lanes<F, T>>(in, out, n, {});
}

// The same past the caches.
template <class F, class T, int Arity, bool Halves = false>
void streaming_kernel(const void* const* in, void* out, std::int64_t n, Asked asked) {
  constexpr int lanes = vector_lanes<F, typename part<T>::type>;
  if constexpr (is_by_parts<F, T>) {
    using Parts = typename by_parts<F>::type;
    streaming_kernel<Parts, typename part<T>::type, Arity, Halves>(in, out, 2 * n, asked);
  } else {
    loop_of<several<T>, true, Halves, F, T, Arity, lanes>(in, out, n, asked);
  }
}
// Whether there is such a kernel: whether vectors of results are large enough for such stores.
template <class V>
inline constexpr bool fills_stores = sizeof(V) >= 16;
template <int B, int N>
inline constexpr bool fills_stores<Mask<B, N>> = N >= 4 || packs_into_bytes<Mask<B, N>>;
template <class F, class T, int Arity>
constexpr bool has_streaming_kernel() {
  constexpr int lanes = vector_lanes<F, typename part<T>::type>;
  using V = typename Elements<T, lanes>::V;
  if constexpr (Arity == 1) {
    return fills_stores<decltype(F()(V()))>;
  } else if constexpr (Arity == 2) {
    return fills_stores<decltype(F()(V(), V()))>;
  } else {
    return fills_stores<V>;
  }
}

// ---- filling the table
// ----------------------------------------------------------------------------

// More arithmetic takes longer than fetching the lines that are overwritten.
inline constexpr int most_streaming_cost = 1;

// Products and right shifts of bytes are made in wider lanes: read in halves, they take a tenth
// longer.
template <class F, class T>
inline constexpr bool widens = sizeof(T) == 1 && (ops::same_type_v<F, ops::Multiply> ||
                                                  ops::same_type_v<F, ops::BitwiseRightShift>);
// Whether there are kernels of F that read in halves: of several operands, each register by itself.
template <class F, class Part, int Arity>
inline constexpr bool takes_halves =
    Arity > 1 && !widens<F, Part> && Vec<Part, vector_lanes<F, Part>>::has_halves;

template <class F, int Arity, unsigned Accepts, int Cost>
void fill_row(ElementwiseKernel* row, ElementwiseKernel* from_afar, ElementwiseKernel* by_constant,
              StreamingKernel* streaming) {
  using Boolean = typename ops::bool_form<F>::type;
  constexpr bool light = Cost == 0, streams = Cost <= most_streaming_cost;
  const auto put = [&]<class Form, class Element>(DType d, Form, Element) {
    using G = typename ops::same_function<Form, Element>::type;
    using T = decltype(ops::read_as<G, Element>());
    row[static_cast<int>(d)] = &kernel<G, T, Arity, light>;
    constexpr bool halves = light && takes_halves<G, typename part<T>::type, Arity>;
    if constexpr (streams && has_streaming_kernel<G, T, Arity>()) {
      streaming[static_cast<int>(d)] =
          reads_in_halves ? &streaming_kernel<G, T, Arity, halves> : &streaming_kernel<G, T, Arity>;
    }
    if constexpr (divides_integers<G, T>) {
      by_constant[static_cast<int>(d)] = &kernel_by_constant<G, T>;
    }
    if constexpr (halves) {
      if (reads_in_halves) from_afar[static_cast<int>(d)] = &kernel<G, T, Arity, light, true>;
    }
  };
  if constexpr (Accepts & kinds::boolean) put(DType::bool_, Boolean(), u8());
  if constexpr (Accepts & kinds::integer) {
    put(DType::int8, F(), i8());
    put(DType::int16, F(), i16());
    put(DType::int32, F(), i32());
    put(DType::int64, F(), i64());
    put(DType::uint8, F(), u8());
    put(DType::uint16, F(), u16());
    put(DType::uint32, F(), u32());
    put(DType::uint64, F(), u64());
  }
  if constexpr (Accepts & kinds::real) {
    put(DType::float32, F(), f32());
    put(DType::float64, F(), f64());
  }
  if constexpr (Accepts & kinds::complex) {
    put(DType::complex64, F(), Complex<f32>());
    put(DType::complex128, F(), Complex<f64>());
  }
}

// Rows of the vocabulary: the kinds `only` of each operation are instantiated in this source.
#define ARRAYX_FILL(name, F, accepts, arity, only)                          \
  {                                                                         \
    using namespace kinds;                                                  \
    fill_row<ops::F, arity, (accepts) & (only), arithmetic_cost(Op::name)>( \
        table.elementwise[static_cast<int>(Op::name)],                      \
        table.elementwise_from_afar[static_cast<int>(Op::name)],            \
        table.elementwise_by_constant[static_cast<int>(Op::name)],          \
        table.streaming[static_cast<int>(Op::name)]);                       \
  }

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
