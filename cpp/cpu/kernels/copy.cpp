// Casts over contiguous elements, and two-dimensional copies of items by their size: rows, repeats,
// register transposes, anything.
#include "../simd/vec.hpp"

#include <cstring>
#include <utility>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "../../ops/complex.hpp"
#include "../caches.hpp"
#include "../kernels.hpp"
#include "../prefetch.hpp"
#include "../simd/compare.hpp"
#include "../simd/stream.hpp"
#include "../simd/transpose.hpp"
#include "reduce_loops.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Complex;
using ops::Vec;

struct Boolean {};  // bool's bytes, as a type of their own

template <class T>
struct memory_type {
  using type = T;
};
template <>
struct memory_type<Boolean> {
  using type = u8;
};

// Items of two vectors by turns, from their lower or upper halves.
template <int Half, class V, int... I>
ARRAYX_HD V interleave_half(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return V(__builtin_shufflevector(a.v, b.v, (Half * (n / 2) + I / 2 + (I % 2) * n)...));
}

// ---- casts
// ----------------------------------------------------------------------------------------

#if defined(__AVX2__)

// Words of 32 bits from place `i` on of what is at p: as they are, or as floating numbers become.
template <class A>
ARRAYX_HD Vec<u32, ops::vector_bytes / 4> words_at(const char* p, int i) {
  constexpr int width = ops::vector_bytes, lanes = width / 4;
  using Words = Vec<u32, lanes>;
  if constexpr (ops::same_type_v<A, f32>) {
    return ops::bit_cast<Words>(
        ops::convert<Vec<i32, lanes>>(Vec<f32, lanes>::load(p + i * width)));
  } else if constexpr (ops::same_type_v<A, f64>) {
    const auto half = [p](int k) {
      const auto x = Vec<f64, lanes / 2>::load(p + k * width);
      return ops::bit_cast<Vec<f32, lanes / 2>>(ops::convert<Vec<i32, lanes / 2>>(x));
    };
    return ops::bit_cast<Words>(ops::join(half(2 * i), half(2 * i + 1)));
  } else {
    return Words::load(p + i * width);
  }
}

// A vector of `To` bytes each, the lower ones of as many integers at p, or of floating numbers as
// integers of 32 bits.
template <class A, int To>
ARRAYX_HD Register narrowed(const char* p) {
  constexpr int width = ops::vector_bytes, From = ops::is_float_v<A> ? 4 : sizeof(A);
  // Halves of 32 bytes are shuffled each for itself, as if that were a pack.
  constexpr bool apart = From == 8 && width == 32;
  const auto at = [p](int k) {
    const auto load = [p](int i) {
      const auto words = words_at<A>(p, i);
      keep_order();  // in any other, int64 to int8 takes up to half as long again from memory
      return words;
    };
#if !defined(__AVX512BW__)
    if constexpr (apart) {
      const __m256 a = __builtin_bit_cast(__m256, load(2 * k).v);
      const __m256 b = __builtin_bit_cast(__m256, load(2 * k + 1).v);
      return __builtin_bit_cast(Register, _mm256_shuffle_ps(a, b, 0x88));
    } else
#endif
        if constexpr (From == 8) {
      const Vec<u32, width / 4> both[2] = {load(2 * k), load(2 * k + 1)};
      const auto low = every<2, 0>(both, std::make_integer_sequence<int, width / 4>{});
      return __builtin_bit_cast(Register, low.v);
    } else {
      return __builtin_bit_cast(Register, load(k).v);
    }
  };
  const auto in_order = []<int Packs>(Register x, std::integral_constant<int, Packs>) {
    if constexpr (Packs == 0) return x;
    if constexpr (Packs == 1) return in_order_of_one(x);
    if constexpr (Packs == 2) return in_order_of_two(x);
#if !defined(__AVX512BW__)
    if constexpr (Packs == 3) return in_order_of_three(x);
#endif
  };
  if constexpr (To == 4) {
    return in_order(at(0), std::integral_constant<int, apart>());
  } else if constexpr (To == 2) {
    const Register words = pack_words(and_all(at(0), 0xffff), and_all(at(1), 0xffff));
    return in_order(words, std::integral_constant<int, 1 + apart>());
  } else if constexpr (From == 2) {
    return in_order_of_one(pack_bytes(and_all(at(0), 0xff00ff), and_all(at(1), 0xff00ff)));
  } else {
    const Register low = pack_words(and_all(at(0), 0xff), and_all(at(1), 0xff));
    const Register high = pack_words(and_all(at(2), 0xff), and_all(at(3), 0xff));
    return in_order(pack_bytes(low, high), std::integral_constant<int, 2 + apart>());
  }
}

#endif

// Of numbers that are not complex. Always whole vectors, so that a value out of the target's range
// gives the same wherever it stands.
template <class From, class To>
struct Casting {
  using A = typename memory_type<From>::type;
  using B = typename memory_type<To>::type;
  static constexpr int lanes =
      ops::vector_bytes / int(sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B));
  using VA = Vec<A, lanes>;
  using VB = Vec<B, lanes>;
  // Whether the results are what is left of wider integers, of which several vectors become one.
  static constexpr int integer_bytes = ops::is_float_v<A> ? 4 : sizeof(A);
  static constexpr bool narrows = !ops::is_float_v<B> && !ops::same_type_v<To, Boolean> &&
                                  integer_bytes > sizeof(B) && ops::vector_bytes >= 32;

  ARRAYX_HD static VB convert(VA x) {
    if constexpr (ops::same_type_v<To, Boolean>) {
      return VB(ops::select(ops::resize<1>(x != VA(A(0))), VB(B(1)), VB(B(0))));
    } else {
      return ops::convert<VB>(x);
    }
  }
  ARRAYX_HD static Vec<B, ops::vector_bytes / sizeof(B)> whole([[maybe_unused]] const char* p) {
    using V = Vec<B, ops::vector_bytes / sizeof(B)>;
#if defined(__AVX2__)
    if constexpr (narrows) {
      return V(__builtin_bit_cast(typename V::native, narrowed<A, sizeof(B)>(p)));
    }
#endif
    return V(B(0));
  }
  ARRAYX_HD static VB at(const char* p, i64 i) { return convert(VA::load(p + i * sizeof(A))); }
  ARRAYX_HD static void few(const char* p, char* q, i64 i, i64 count) {
    const int n = static_cast<int>(count);
    convert(VA::load_first(p + i * sizeof(A), n)).store_first(q + i * sizeof(B), n);
  }
};

template <class From, class To>
void cast(const void* const* inputs, void* out, std::int64_t n) {
  const void* in = inputs[0];
  using A = typename memory_type<From>::type;
  using B = typename memory_type<To>::type;
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
  constexpr bool to_bool = ops::same_type_v<To, Boolean>;
  if constexpr (ops::same_type_v<A, B> && (!to_bool || ops::same_type_v<From, To>)) {
    std::memmove(out, in, n * sizeof(A));
  } else if constexpr (ops::is_complex_v<A> && ops::is_complex_v<B>) {
    using a = decltype(A::re);
    using b = decltype(B::re);
    cast<a, b>(inputs, out, 2 * n);
  } else if constexpr (ops::is_complex_v<A> && to_bool) {  // parts, then pairs of them
    using a = decltype(A::re);
    constexpr i64 block = 1024;
    alignas(64) char parts[2 * block];
    for (i64 i = 0; i < n; i += block) {
      const i64 count = std::min(block, n - i);
      const void* in_block = p + i * sizeof(A);
      cast<a, Boolean>(&in_block, parts, 2 * count);
      in_block = parts;
      cast<u16, Boolean>(&in_block, q + i, count);
    }
  } else if constexpr (ops::is_complex_v<A>) {
    using a = decltype(A::re);
    for (i64 i = 0; i < n; ++i) {
      a part[2];
      std::memcpy(part, p + i * sizeof(A), sizeof part);
      const B value = static_cast<B>(part[0]);
      std::memcpy(q + i * sizeof(B), &value, sizeof value);
    }
  } else if constexpr (ops::is_complex_v<B>) {
    using b = decltype(B::re);
    constexpr int wider = sizeof(A) > sizeof(b) ? sizeof(A) : sizeof(b);
    constexpr int lanes = ops::vector_bytes / wider;
    using Parts = Vec<b, lanes>;
    using Indices = std::make_integer_sequence<int, lanes>;
    const Parts zero(b(0));
    i64 i = 0;
    for (; i + lanes <= n; i += lanes) {
      const Parts re = ops::convert<Parts>(Vec<A, lanes>::load(p + i * sizeof(A)));
      interleave_half<0>(re, zero, Indices{}).store(q + i * sizeof(B));
      interleave_half<1>(re, zero, Indices{}).store(q + i * sizeof(B) + sizeof(Parts));
    }
    for (; i < n; ++i) {  // numbers become complex without a choice: one at a time is the same
      A value;
      std::memcpy(&value, p + i * sizeof(A), sizeof value);
      const b part[2] = {static_cast<b>(value), b(0)};
      std::memcpy(q + i * sizeof(B), part, sizeof part);
    }
  } else {
    using C = Casting<From, To>;
    i64 i = 0;
    if constexpr (C::narrows) {
      constexpr i64 all = ops::vector_bytes / sizeof(B);
      for (; i + 2 * all <= n; i += 2 * all) {
        fetch<2 * ops::vector_bytes>(q + i * sizeof(B) + result_ahead);
        const auto a = C::whole(p + i * sizeof(A)), b = C::whole(p + (i + all) * sizeof(A));
        a.store(q + i * sizeof(B));
        b.store(q + (i + all) * sizeof(B));
      }
    }
    using Whole = Vec<A, ops::vector_bytes / sizeof(A)>;
    if constexpr (to_bool && packs_into_bytes<typename Whole::mask>) {
      for (; i + ops::vector_bytes <= n; i += ops::vector_bytes) {
        typename Whole::mask r[sizeof(A)];
        ARRAYX_UNROLL
        for (int k = 0; k < int(sizeof(A)); ++k) {
          r[k] = Whole::load(p + i * sizeof(A) + k * sizeof(Whole)) != Whole(A(0));
        }
        put_bytes<false>(r, q + i);
      }
    }
    // Several at once, as in vector_loop of elementwise_loops.hpp, but for narrow results.
    if constexpr (2 * sizeof(typename C::VB) >= ops::vector_bytes) {
      constexpr int together = 4;
      for (; i + together * C::lanes <= n; i += together * C::lanes) {
        fetch<together * C::lanes * sizeof(B)>(q + i * sizeof(B) + result_ahead);
        typename C::VB r[together];
        ARRAYX_UNROLL
        for (int k = 0; k < together; ++k) r[k] = C::at(p, i + k * C::lanes);
        ARRAYX_UNROLL
        for (int k = 0; k < together; ++k) r[k].store(q + (i + k * C::lanes) * sizeof(B));
      }
    }
    for (; i + C::lanes <= n; i += C::lanes) C::at(p, i).store(q + i * sizeof(B));
    if (i == n) [[likely]] {
      return;
    }
    // The last vector begins earlier, see vector_loop.
    if (n < C::lanes || q == p) return C::few(p, q, i, n - i);
    C::at(p, n - C::lanes).store(q + (n - C::lanes) * sizeof(B));
  }
}

// The same past the caches, as vector_loop in elementwise_loops.hpp.
template <class From, class To>
void streaming_cast(const void* const* inputs, void* out, std::int64_t n, Asked asked) {
  using C = Casting<From, To>;
  using A = typename C::A;
  using B = typename C::B;
  constexpr i64 lanes = C::lanes, together = 4, from_bytes = sizeof(A), to_bytes = sizeof(B);
  const char* p = static_cast<const char*>(inputs[0]);
  char* q = static_cast<char*>(out);
  const i64 line_left = (-reinterpret_cast<std::intptr_t>(q) & (line_bytes - 1)) / to_bytes;
  const i64 head = line_left < n ? line_left : n;
  i64 i = 0;
  for (; i < head; i += lanes) C::few(p, q, i, lanes < head - i ? lanes : head - i);
  i = head;
  const i64 until = asked.until(0, n, from_bytes);
  for (; i + together * lanes <= n; i += together * lanes) {
    if (i < until) {
      fetch_page_after<together * lanes * from_bytes>(p + i * from_bytes);
    }
    typename C::VB r[together];
    ARRAYX_UNROLL
    for (int k = 0; k < together; ++k) {
      r[k] = C::at(p, i + k * lanes);
      keep_order();
    }
    ARRAYX_UNROLL
    for (int k = 0; k < together; ++k) {
      stream_vector(r[k], q + (i + k * lanes) * to_bytes);
      keep_order();
    }
  }
  for (; i + lanes <= n; i += lanes) C::at(p, i).store(q + i * to_bytes);
  if (i < n) C::few(p, q, i, n - i);
}

template <class From, class To>
constexpr StreamingKernel streaming_cast_of() {
  using A = typename memory_type<From>::type;
  using B = typename memory_type<To>::type;
  if constexpr (!ops::is_complex_v<A> && !ops::is_complex_v<B> && !ops::same_type_v<A, B>) {
    if constexpr (sizeof(typename Casting<From, To>::VB) >= 16) return &streaming_cast<From, To>;
  }
  return nullptr;
}

template <class From>
void fill_casts(KernelTable& table, DType from) {
  const int f = static_cast<int>(from);
  const auto put = [&]<class To>(DType to, To) {
    const int t = static_cast<int>(to);
    table.cast[f][t] = &cast<From, To>;
    table.streaming_cast[f][t] = streaming_cast_of<From, To>();
  };
  put(DType::bool_, Boolean{});
  put(DType::int8, i8{});
  put(DType::int16, i16{});
  put(DType::int32, i32{});
  put(DType::int64, i64{});
  put(DType::uint8, u8{});
  put(DType::uint16, u16{});
  put(DType::uint32, u32{});
  put(DType::uint64, u64{});
  put(DType::float32, f32{});
  put(DType::float64, f64{});
  put(DType::complex64, Complex<f32>{});
  put(DType::complex128, Complex<f64>{});
}

// ---- past the caches
// ----------------------------------------------------------------------------------------------

// Whole vectors up to `bytes`, from b on; where the rest begins. Four at a time: reading and
// writing by turns takes a tenth longer.
template <bool Stream>
ARRAYX_HD i64 copy_vectors(const char* in, char* out, i64 b, i64 bytes) {
  using V = Vec<u8, ops::vector_bytes>;
  constexpr i64 width = ops::vector_bytes, together = 4;
  for (; b + together * width <= bytes; b += together * width) {
    V a[together];
    ARRAYX_UNROLL
    for (i64 i = 0; i < together; ++i) a[i] = V::load(in + b + i * width);
    ARRAYX_UNROLL
    for (i64 i = 0; i < together; ++i) put<Stream>(a[i], out + b + i * width);
  }
  for (; b + width <= bytes; b += width) put<Stream>(V::load(in + b), out + b);
  return b;
}

// ---- two-dimensional copies
// -----------------------------------------------------------------------

struct Item16 {
  u64 low, high;
};

// Bytes from p to the next line.
ARRAYX_HD i64 to_next_line(const char* p) {
  return -static_cast<i64>(reinterpret_cast<std::uintptr_t>(p)) & (line_bytes - 1);
}

template <class T>
inline constexpr int square_side = [] {
  const int n = ops::vector_bytes / static_cast<int>(sizeof(T));
  return sizeof(T) == 16 ? 4 : n > 16 ? 16 : n;
}();

// Columns of a matrix that is transposed, evenly spaced or where a list says.
struct EvenColumns {
  const char* in;
  i64 step;
  ARRAYX_HD const char* operator[](i64 c) const { return in + c * step; }
  ARRAYX_HD EvenColumns from(i64 c, i64 bytes = 0) const { return {in + c * step + bytes, step}; }
};
struct ListedColumns {
  const char* in;
  const i64* offset;
  ARRAYX_HD const char* operator[](i64 c) const { return in + offset[c]; }
  ARRAYX_HD ListedColumns from(i64 c, i64 bytes = 0) const { return {in + bytes, offset + c}; }
};

template <class T, int n>
inline constexpr bool by_words =
    sizeof(T) <= 2 && n * sizeof(T) == ops::vector_bytes && ops::vector_bytes >= 32;
// A square of small items whose rows are whole registers, read once: words of what several rows
// have in a column are put aside, of every fourth four columns, or every other four, at a time, and
// those are transposed. More rows at once would not stay in registers.
template <class T, bool Stream, class Columns, class Ask>
ARRAYX_HD void transpose_by_words(Columns in, char* out, i64 out_row, const Ask& ask) {
  constexpr int words = ops::vector_bytes / 4, of_word = 4 / int(sizeof(T)), of_part = 4 * of_word;
  using Words = Vec<u32, words>;
  using Pairs = Vec<u16, 2 * words>;
  using Row = Vec<T, words * of_word>;
  constexpr std::make_integer_sequence<int, 2 * words> pairs{};
  constexpr std::make_integer_sequence<int, words * of_word> row{};
  alignas(ops::vector_bytes) char aside[of_word][words][ops::vector_bytes];
  ARRAYX_UNROLL
  for (int i = 0; i < words; ++i) {
    if (i * of_word % 8 == 0) ask(8 * ops::vector_bytes / line_bytes);
    if constexpr (of_word == 2) {
      const Row x = Row::load(in[2 * i]), y = Row::load(in[2 * i + 1]);
      interleave_parts<0>(x, y, row).store(aside[0][i]);
      interleave_parts<1>(x, y, row).store(aside[1][i]);
    } else {
      const Row x = Row::load(in[4 * i]), y = Row::load(in[4 * i + 1]);
      const Row z = Row::load(in[4 * i + 2]), w = Row::load(in[4 * i + 3]);
      const auto put_aside = [&](Row first, Row second, int part) {
        const Pairs a = ops::bit_cast<Pairs>(first), b = ops::bit_cast<Pairs>(second);
        interleave_parts<0>(a, b, pairs).store(aside[part][i]);
        interleave_parts<1>(a, b, pairs).store(aside[part + 1][i]);
      };
      put_aside(interleave_parts<0>(x, y, row), interleave_parts<0>(z, w, row), 0);
      put_aside(interleave_parts<1>(x, y, row), interleave_parts<1>(z, w, row), 2);
    }
  }
  for (int part = 0; part < of_word; ++part) {
    Words a[words];
    ARRAYX_UNROLL
    for (int i = 0; i < words; ++i) a[i] = Words::load(aside[part][i]);
    rows_to_columns(a);
    char* const to = out + 4 * part * out_row;
    ARRAYX_UNROLL
    for (int i = 0; i < words; ++i) put<Stream>(a[i], to + (i / 4 * of_part + i % 4) * out_row);
  }
}

// Asks for nothing while a square is transposed.
struct AskForNothing {
  ARRAYX_HD void operator()(i64) const {}
};

// A square of n × n items. As many lines as it reads may be asked for meanwhile, by ask(lines).
template <class T, int n, bool Stream = false, class Columns, class Ask = AskForNothing>
ARRAYX_HD void transpose_square(Columns in, char* out, i64 out_row, const Ask& ask = {}) {
  if constexpr (!by_words<T, n>) ask(n * n * i64{sizeof(T)} / line_bytes);
  if constexpr (ops::same_type_v<T, Item16> && ops::vector_bytes >= 32) {
    using V = Vec<u64, 4>;
    ARRAYX_UNROLL
    for (int i = 0; i < n; i += 2) {
      ARRAYX_UNROLL
      for (int j = 0; j < n; j += 2) {
        const V a = V::load(in[j] + i * 16), b = V::load(in[j + 1] + i * 16);
        char* const to = out + i * out_row + j * 16;
        put<Stream>(V(__builtin_shufflevector(a.v, b.v, 0, 1, 4, 5)), to);
        put<Stream>(V(__builtin_shufflevector(a.v, b.v, 2, 3, 6, 7)), to + out_row);
      }
    }
  } else if constexpr (ops::same_type_v<T, Item16>) {
    using V = Vec<u64, 2>;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        put<Stream>(V::load(in[j] + i * 16), out + i * out_row + j * 16);
      }
    }
  } else if constexpr (by_words<T, n>) {
    transpose_by_words<T, Stream>(in, out, out_row, ask);
  } else {
    Vec<T, n> a[n];
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) a[i] = Vec<T, n>::load(in[i]);
    rows_to_columns(a);
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) put<Stream>(a[i], out + i * out_row);
  }
}

// Rows of items of 1 or 2 bytes that a strip takes at once: in wide registers, as many squares side
// by side as they have parts of 16 bytes. Elsewhere a strip is a square.
template <class T>
inline constexpr int strip_rows =
    sizeof(T) <= 2 ? ops::vector_bytes / static_cast<int>(sizeof(T)) : square_side<T>;
// The 16 bytes from 16 * Part on. Through memory, as GCC 12 has it otherwise, a store of a whole
// register is waited for.
template <int Part, class V>
ARRAYX_HD void store_part(V a, char* out) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    const __m128i x = _mm512_extracti32x4_epi32(__builtin_bit_cast(__m512i, a.v), Part);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), x);
    return;
  }
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    const __m128i x = _mm256_extracti128_si256(__builtin_bit_cast(__m256i, a.v), Part % 2);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), x);
    return;
  }
#endif
  __builtin_memcpy(out, reinterpret_cast<const char*>(&a.v) + 16 * Part, 16);
}
template <class T, class Columns>
ARRAYX_HD void transpose_wide(Columns in, char* out, i64 out_row) {
  constexpr int n = 16 / static_cast<int>(sizeof(T)), width = strip_rows<T>;
  Vec<T, width> a[n];
  ARRAYX_UNROLL
  for (int i = 0; i < n; ++i) a[i] = Vec<T, width>::load(in[i]);
  parts_to_columns<n>(a);
  ARRAYX_UNROLL
  for (int i = 0; i < n; ++i) {
    char* const q = out + i * out_row;
    store_part<0>(a[i], q);
    if constexpr (width >= 2 * n) store_part<1>(a[i], q + n * out_row);
    if constexpr (width >= 4 * n) {
      store_part<2>(a[i], q + 2 * n * out_row);
      store_part<3>(a[i], q + 3 * n * out_row);
    }
  }
}

// `rows` rows, strip_rows or square_side, of `columns` items, a multiple of square_side.
template <class T, class Columns, class Ask = AskForNothing>
ARRAYX_HD void transpose_strip(Columns in, char* out, i64 out_row, i64 rows, i64 columns,
                               const Ask& ask = {}) {
  constexpr i64 n = square_side<T>, size = sizeof(T);
  for (i64 c = 0; c < columns; c += n) {
    if constexpr (size <= 2) {
      if (rows == strip_rows<T>) {
        constexpr i64 wide = 16 / size;
        for (i64 i = c; i < c + n; i += wide) {
          ask(wide * ops::vector_bytes / line_bytes);
          transpose_wide<T>(in.from(i), out + i * size, out_row);
        }
        continue;
      }
    }
    transpose_square<T, n>(in.from(c), out + c * size, out_row, ask);
  }
}
// A strip of as many columns as a square has, or as it has rows itself.
template <class T, int columns, class Columns>
ARRAYX_HD void transpose_narrow_strip(Columns in, char* out, i64 out_row, i64 rows) {
  if constexpr (columns > square_side<T>) {
    if (rows == columns) return transpose_square<T, columns>(in, out, out_row);
  }
  transpose_strip<T>(in, out, out_row, rows, columns);
}
// Whether an L1 cannot hold the lines of the rows of a strip of small items until they are full.
// Squares of whole registers, a twentieth to a quarter slower by themselves, write each row once.
template <class T>
ARRAYX_HD bool rows_crowd(i64 columns, i64 out_row) {
  constexpr i64 rows = strip_rows<T>;
  return rows > square_side<T> && columns >= rows && share_few_sets(rows, out_row);
}
// How many rows to take next of those left.
template <class T>
ARRAYX_HD i64 next_rows(i64 left) {
  return left >= strip_rows<T> ? strip_rows<T> : left >= square_side<T> ? square_side<T> : 0;
}

template <class T>
ARRAYX_HD void copy_item(const char* in, char* out) {
  T item;
  __builtin_memcpy(&item, in, sizeof item);
  __builtin_memcpy(out, &item, sizeof item);
}

template <class T>
ARRAYX_HD void copy_items(const char* in, Strides2D si, char* out, Strides2D so, i64 rows,
                          i64 columns) {
  for (i64 r = 0; r < rows; ++r) {
    const char* p = in + r * si.row;
    char* q = out + r * so.row;
    for (i64 c = 0; c < columns; ++c, p += si.column, q += so.column) copy_item<T>(p, q);
  }
}

// One item for a whole row, read once: reading it for each takes half as long again.
template <class T>
ARRAYX_HD void fill_row(const char* in, char* out, i64 out_step, i64 n) {
  T item;
  __builtin_memcpy(&item, in, sizeof item);
  constexpr i64 together = 8;
  i64 i = 0;
  for (; i + together <= n; i += together, out += together * out_step) {
    ARRAYX_UNROLL
    for (i64 j = 0; j < together; ++j) __builtin_memcpy(out + j * out_step, &item, sizeof item);
  }
  for (; i < n; ++i, out += out_step) __builtin_memcpy(out, &item, sizeof item);
}

// A row of items, as many at once as hide the steps' own arithmetic.
template <class T>
ARRAYX_HD void copy_row(const char* in, i64 in_step, char* out, i64 out_step, i64 n) {
  constexpr i64 together = 8;
  i64 i = 0;
  for (; i + together <= n; i += together) {
    ARRAYX_UNROLL
    for (i64 j = 0; j < together; ++j) copy_item<T>(in + j * in_step, out + j * out_step);
    in += together * in_step;
    out += together * out_step;
  }
  copy_items<T>(in, {0, in_step}, out, {0, out_step}, 1, n - i);
}

// Few columns: down one after the other, while their rows are in L1.
template <class T>
void copy_narrow(const char* in, Strides2D si, char* out, Strides2D so, i64 rows, i64 columns) {
  constexpr i64 together = 128;
  for (i64 r = 0; r < rows; r += together) {
    for (i64 c = 0; c < columns; ++c) {
      copy_row<T>(in + r * si.row + c * si.column, si.row, out + r * so.row + c * so.column, so.row,
                  std::min(together, rows - r));
    }
  }
}

ARRAYX_HD i64 magnitude(i64 x) {
  return x < 0 ? -x : x;
}

// How many of the input's rows ahead a transpose of few fetches. A loop that goes on along them
// reads a line or two of each, which no hardware prefetcher follows.
inline constexpr i64 fetched_rows = 32;
// From so many bytes on a transpose fetches the columns that follow instead: they come from beyond
// an L2. What is nearer takes half as long again so.
inline constexpr i64 far_bytes = 1 << 16;

// The four registers of items of a, b, c and d by turns, each to put(register, its number).
template <class V, int... I, class Put>
ARRAYX_HD void interleave_four(V a, V b, V c, V d, std::integer_sequence<int, I...> lanes,
                               const Put& put) {
  const V ac[2] = {interleave_half<0>(a, c, lanes), interleave_half<1>(a, c, lanes)};
  const V bd[2] = {interleave_half<0>(b, d, lanes), interleave_half<1>(b, d, lanes)};
  ARRAYX_UNROLL
  for (int i = 0; i < 2; ++i) {
    put(interleave_half<0>(ac[i], bd[i], lanes), 2 * i);
    put(interleave_half<1>(ac[i], bd[i], lanes), 2 * i + 1);
  }
}

// The first three of every four items of a register, which fill three quarters of it: shuffled
// within parts of 16 bytes, whose three words are then brought together.
template <class T, class V, int... B, int... W>
ARRAYX_HD V three_of_four(V a, std::integer_sequence<int, B...>, std::integer_sequence<int, W...>) {
  constexpr int size = sizeof(T);
  using Bytes = Vec<u8, sizeof...(B)>;
  using Words = Vec<u32, sizeof...(W)>;
  const Bytes bytes = ops::bit_cast<Bytes>(a);
  const Bytes together(__builtin_shufflevector(
      bytes.v, bytes.v,
      (B % 16 < 12
           ? B / 16 * 16 + (B % 16 / (3 * size) * 4 + B / size % (16 / size) % 3) * size + B % size
           : B)...));
  const Words words = ops::bit_cast<Words>(together);
  return ops::bit_cast<V>(Words(__builtin_shufflevector(
      words.v, words.v, (W < int(sizeof...(W)) / 4 * 3 ? W / 3 * 4 + W % 3 : W)...)));
}

// Three rows of items of one or two bytes by turns: how many of each have been taken. What stores
// write behind their rows the next ones overwrite.
template <class T>
ARRAYX_HD i64 interleave_three(const char* in, i64 in_column, char* out, i64 rows) {
  constexpr i64 size = sizeof(T), lanes = ops::vector_bytes / size, behind = lanes / 4;
  using V = Vec<T, static_cast<int>(lanes)>;
  constexpr std::make_integer_sequence<int, static_cast<int>(lanes)> indices{};
  i64 r = 0;
  for (; r + lanes + behind <= rows; r += lanes) {
    const auto row = [&](i64 c) { return V::load(in + c * in_column + r * size); };
    const V last = row(2);
    interleave_four(row(0), row(1), last, last, indices, [&](V a, int i) {
      three_of_four<T>(a, std::make_integer_sequence<int, ops::vector_bytes>{},
                       std::make_integer_sequence<int, ops::vector_bytes / 4>{})
          .store(out + (3 * r + i * (lanes / 4 * 3)) * size);
    });
  }
  return r;
}

// Items of 2 or 4 rows by turns: how many of each have been taken.
template <class T>
ARRAYX_HD i64 interleave_rows(const char* in, i64 in_column, char* out, i64 rows, i64 columns) {
  i64 r = 0;
  if constexpr (sizeof(T) < 16) {
    constexpr i64 size = sizeof(T), lanes = ops::vector_bytes / size;
    using V = Vec<T, static_cast<int>(lanes)>;
    using Indices = std::make_integer_sequence<int, static_cast<int>(lanes)>;
    const auto row = [&](i64 c) { return V::load(in + c * in_column + r * size); };
    for (; r + lanes <= rows; r += lanes) {
      char* q = out + r * columns * size;
      if (columns == 2) {
        interleave_half<0>(row(0), row(1), Indices{}).store(q);
        interleave_half<1>(row(0), row(1), Indices{}).store(q + sizeof(V));
      } else {
        interleave_four(row(0), row(1), row(2), row(3), Indices{},
                        [&](V a, int i) { a.store(q + i * i64{sizeof(V)}); });
      }
    }
  }
  return r;
}

// Columns that are read next, as many as a square has or fewer, and `bytes` of each.
template <class Columns>
struct Following {
  Columns in;
  i64 columns, bytes;

  // Asks for the lines that are `at` bytes from where the columns begin: a Zen 4 takes a tenth less
  // time if they come no nearer than its L2, for columns may share few sets of its L1.
  ARRAYX_HD void fetch(i64 at) const {
    if (reading_asks == Asking::nothing) {
      fetch_into<Cache::second>(at);
    } else {
      fetch_into<Cache::first>(at);
    }
  }
  // The same for all lines, those behind what begins within a line among them.
  ARRAYX_HD void fetch_all() const {
    for (i64 at = 0; at < bytes; at += line_bytes) fetch(at);
    fetch(bytes - 1);
  }

 private:
  template <Cache cache>
  ARRAYX_HD void fetch_into(i64 at) const {
    for (i64 c = 0; c < columns; ++c) fetch_line<cache>(in[c] + at);
  }
};

// What fills no square, an item at a time.
template <class T, class Columns>
ARRAYX_HD void transpose_items(Columns in, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 size = sizeof(T);
  for (i64 c = 0; c < columns; ++c) {
    copy_items<T>(in[c], {size, 0}, out + c * size, {out_row, 0}, rows, 1);
  }
}

// `rows` transposed rows of `across` columns, or of fewer than a square has, while what follows is
// fetched.
template <class T, int across, class Columns>
ARRAYX_HD void transpose_batch(Columns in, char* out, i64 out_row, i64 rows, i64 columns,
                               const Following<Columns>& next) {
  constexpr i64 n = square_side<T>, size = sizeof(T);
  if (columns < n || rows < n) {
    next.fetch_all();
    transpose_items<T>(in, out, out_row, rows, columns);
    return;
  }
  i64 r = 0;
  for (i64 step; (step = next_rows<T>(rows - r)) != 0; r += step) {
    if (r * size % line_bytes == 0) next.fetch(r * size);
    transpose_narrow_strip<T, across>(in.from(0, r * size), out + r * out_row, out_row, step);
  }
  next.fetch(next.bytes - 1);
  if (r < rows) {  // the last square covers again what others have written
    r = rows - n;
    transpose_strip<T>(in.from(0, r * size), out + r * out_row, out_row, n, across);
  }
}

template <class T>
void pack_row(const char* in, i64 step, char* out, i64 n);
template <class T>
i64 split_few(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns);

// What transpose() below does, for at least far_bytes of as many rows as a square has and `across`
// columns or more.
template <class T, int across>
[[gnu::noinline]] void transpose_far(const char* in, i64 in_column, char* out, i64 out_row,
                                     i64 rows, i64 columns) {
  constexpr i64 n = across, size = sizeof(T);
  for (i64 next = 0; next < columns; next += n) {
    const i64 c = std::min(next, columns - n), after = std::min(next + n, columns);
    transpose_batch<T, across>(
        EvenColumns{in + c * in_column, in_column}, out + c * size, out_row, rows, n,
        Following<EvenColumns>{
            {in + after * in_column, in_column}, std::min(n, columns - after), rows * size});
  }
}

// The same for less, from columns that are fetched ahead.
template <class T, int across>
[[gnu::noinline]] void transpose_near(const char* in, i64 in_column, char* out, i64 out_row,
                                      i64 rows, i64 columns) {
  constexpr i64 n = across, size = sizeof(T);
  // The last squares cover again what others have written.
  for (i64 next = 0; next < columns; next += n) {
    const i64 c = std::min(next, columns - n);
    const char* p = in + c * in_column;
    char* q = out + c * size;
    for (i64 i = 0; i < n; ++i) {
      const char* ahead = p + (i + fetched_rows) * in_column;
      for (i64 b = 0; b < rows * size; b += line_bytes) __builtin_prefetch(ahead + b, 0, 2);
    }
    i64 r = 0;
    for (i64 step; (step = next_rows<T>(rows - r)) != 0; r += step) {
      transpose_narrow_strip<T, across>(EvenColumns{p + r * size, in_column}, q + r * out_row,
                                        out_row, step);
    }
    if (r < rows) {
      r = rows - square_side<T>;
      transpose_strip<T>(EvenColumns{p + r * size, in_column}, q + r * out_row, out_row,
                         square_side<T>, n);
    }
  }
}

// Rows of fewer columns than a square of n has, which follow each other: what a square writes
// behind a row the next one overwrites. How many rows are done; the last ones would reach beyond
// the end.
template <class T, int n>
ARRAYX_HD i64 transpose_overlapping(const char* in, i64 in_column, char* out, i64 rows,
                                    i64 columns) {
  constexpr i64 size = sizeof(T);
  i64 offset[n];
  for (i64 c = 0; c < n; ++c) offset[c] = std::min(c, columns - 1) * in_column;
  const i64 behind = (n - 1) / columns;  // rows that the last one of a square is written over
  i64 r = 0;
  for (; r + n + behind <= rows; r += n) {
    transpose_square<T, n>(ListedColumns{in + r * size, offset}, out + r * columns * size,
                           columns * size);
  }
  return r;
}

// Whether squares of n store their rows, of 16 bytes or more, one after the other.
template <class T, int n>
inline constexpr bool in_order =
    sizeof(T) < 16 && n * sizeof(T) >= 16 && n <= square_side<T> && !by_words<T, n>;

// The rows of few columns that the smallest such squares transpose, of those that follow each
// other.
template <class T>
i64 transpose_few(const char* in, i64 in_column, char* out, i64 rows, i64 columns) {
  if constexpr (sizeof(T) <= 2 && ops::vector_bytes >= 32) {
    if (columns == 3) return interleave_three<T>(in, in_column, out, rows);
  }
  if constexpr (in_order<T, 4>) {
    if (columns <= 4) return transpose_overlapping<T, 4>(in, in_column, out, rows, columns);
  }
  if constexpr (in_order<T, 8>) {
    if (columns <= 8) return transpose_overlapping<T, 8>(in, in_column, out, rows, columns);
  }
  if constexpr (in_order<T, 16>) {
    if (columns <= 16) return transpose_overlapping<T, 16>(in, in_column, out, rows, columns);
  }
  return 0;
}

// Fewer rows and columns than a square has, but eight at least: by squares of eight, of which the
// last cover again what others have written.
template <class T>
void transpose_small(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 size = sizeof(T), side = 8;
  for (i64 next = 0; next < columns; next += side) {
    const i64 c = std::min(next, columns - side);
    for (i64 following = 0; following < rows; following += side) {
      const i64 r = std::min(following, rows - side);
      transpose_square<T, side>(EvenColumns{in + c * in_column + r * size, in_column},
                                out + r * out_row + c * size, out_row);
    }
  }
}

// out[r][c] = in[r][c] where `in` is contiguous along r and `out` along c.
template <class T>
void transpose(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 n = square_side<T>, size = sizeof(T);
  if ((columns == 2 || columns == 4) && out_row == columns * size) {
    const i64 done = interleave_rows<T>(in, in_column, out, rows, columns);
    copy_items<T>(in + done * size, {size, in_column}, out + done * out_row, {out_row, size},
                  rows - done, columns);
    return;
  }
  if constexpr (n > 8) {
    if (rows < n && columns < n && rows >= 8 && columns >= 8) {
      return transpose_small<T>(in, in_column, out, out_row, rows, columns);
    }
  }
  if (rows < n && columns >= n) {
    const i64 done = split_few<T>(in, in_column, out, out_row, rows, columns);
    const i64 together = 8192 / (rows * size);  // one after the other, while the input is in L1
    for (i64 c = done; c < columns; c += together) {
      for (i64 r = 0; r < rows; ++r) {
        pack_row<T>(in + c * in_column + r * size, in_column, out + r * out_row + c * size,
                    std::min(together, columns - c));
      }
    }
    return;
  }
  if (columns < n) {
    const i64 done = columns > 2 && out_row == columns * size
                         ? transpose_few<T>(in, in_column, out, rows, columns)
                         : 0;
    copy_narrow<T>(in + done * size, {size, in_column}, out + done * out_row, {out_row, size},
                   rows - done, columns);
    return;
  }
  const bool far = rows * columns * size >= far_bytes;
  if (rows_crowd<T>(columns, out_row)) {
    constexpr int side = strip_rows<T>;
    return (far ? transpose_far<T, side> : transpose_near<T, side>)(in, in_column, out, out_row,
                                                                    rows, columns);
  }
  (far ? transpose_far<T, n> : transpose_near<T, n>)(in, in_column, out, out_row, rows, columns);
}

// ---- stepped rows: out[i] = in[i * step]
// ---------------------------------------------------------------

// Whether the level has shuffles of these items; without, one item after the other is faster.
template <class T>
inline constexpr bool shuffled = sizeof(T) < 16 && (sizeof(T) >= 4 || ops::vector_bytes >= 32);

// Both return how many items they have copied. Nothing before the first or behind the last item is
// read; the last vector covers again what the one before has written.
template <class T, int Step>
ARRAYX_HD i64 copy_every(const char* in, char* out, i64 n) {
  if constexpr (shuffled<T>) {
    constexpr int lanes = ops::vector_bytes / static_cast<int>(sizeof(T));
    using V = Vec<T, lanes>;
    constexpr std::make_integer_sequence<int, lanes> all{};
    if (n <= lanes) return 0;
    with_halves(true, [&]<bool halves>(std::bool_constant<halves>) {
      for (i64 i = 0; i + lanes < n; i += lanes) {
        const char* const p = in + i * Step * i64{sizeof(T)};
        V a[Step];
        ARRAYX_UNROLL
        for (int j = 0; j < Step; ++j) {
          a[j] = halves ? V::load_in_halves(p + j * sizeof(V)) : V::load(p + j * sizeof(V));
        }
        every<Step, 0>(a, all).store(out + i * i64{sizeof(T)});
      }
    });
    const char* const last = in + ((n - lanes) * Step - (Step - 1)) * i64{sizeof(T)};
    V a[Step];
    ARRAYX_UNROLL
    for (int j = 0; j < Step; ++j) a[j] = V::load(last + j * sizeof(V));
    every<Step, Step - 1>(a, all).store(out + (n - lanes) * i64{sizeof(T)});
    return n;
  }
  return 0;
}
// The items of a vector of bytes in reversed order.
template <class T, class V, int... I>
ARRAYX_HD V backwards(V a, std::integer_sequence<int, I...>) {
  constexpr int size = sizeof(T), last = static_cast<int>(sizeof...(I)) - size;
  return V(__builtin_shufflevector(a.v, a.v, (last - I / size * size + I % size)...));
}
template <class T, class V>
ARRAYX_HD V backwards(V a) {
  return backwards<T>(a, std::make_integer_sequence<int, static_cast<int>(sizeof(V))>{});
}
template <class T>
ARRAYX_HD i64 copy_backwards(const char* in, char* out, i64 n) {
  if constexpr (shuffled<T>) {
    constexpr int lanes = ops::vector_bytes / static_cast<int>(sizeof(T));
    using V = Vec<u8, ops::vector_bytes>;
    if (n < lanes) return 0;
    const auto copy = [&](i64 i) {
      backwards<T>(V::load(in - (i + lanes - 1) * i64{sizeof(T)})).store(out + i * i64{sizeof(T)});
    };
    for (i64 i = 0; i + lanes <= n; i += lanes) copy(i);
    copy(n - lanes);
    return n;
  }
  return 0;
}

template <class T>
void pack_row(const char* in, i64 step, char* out, i64 n) {
  constexpr i64 size = sizeof(T);
  i64 done = 0;
  switch (step) {
    case 2 * size:
      done = copy_every<T, 2>(in, out, n);
      break;
    case 3 * size:
      done = copy_every<T, 3>(in, out, n);
      break;
    case 4 * size:
      done = copy_every<T, 4>(in, out, n);
      break;
    case -size:
      done = copy_backwards<T>(in, out, n);
      break;
    default:
      break;
  }
  copy_row<T>(in + done * step, step, out + done * size, size, n - done);
}

// Rows of fewer items than a square of n has, to as many rows of the output: squares read what
// follows a row, too, and write its own items alone. How many are done; the last ones would be read
// beyond their end.
template <class T, int n>
ARRAYX_HD i64 split_by_squares(const char* in, i64 in_column, char* out, i64 out_row, i64 rows,
                               i64 columns) {
  constexpr i64 size = sizeof(T);
  const i64 behind = ((n - rows) * size + in_column - 1) / in_column;
  const auto split = [&](const char* p, char* q, i64 row) {
    Vec<T, n> a[n];
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) a[i] = Vec<T, n>::load(p + i * in_column);
    rows_to_columns(a);
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) {
      if (i < rows) a[i].store(q + i * row);
    }
  };
  i64 c = 0;
  if (share_few_sets(rows, out_row)) {
    // An L1 would not hold the lines of all rows until they are full.
    constexpr i64 width = std::max<i64>(4 * line_bytes, n * size);
    alignas(64) char tile[n * width];
    constexpr i64 together = width / size;
    for (; c + together + behind <= columns; c += together) {
      for (i64 i = 0; i < together; i += n) split(in + (c + i) * in_column, tile + i * size, width);
      for (i64 r = 0; r < rows; ++r) {
        copy_vectors<false>(tile + r * width, out + r * out_row + c * size, 0, width);
      }
    }
  }
  for (; c + n + behind <= columns; c += n) split(in + c * in_column, out + c * size, out_row);
  return c;
}

// Rows of a few items that follow each other, each to a row of the output.
template <class T, int rows>
ARRAYX_HD i64 split_by_shuffles(const char* in, char* out, i64 out_row, i64 columns) {
  constexpr int lanes = ops::vector_bytes / static_cast<int>(sizeof(T));
  using V = Vec<T, lanes>;
  constexpr std::make_integer_sequence<int, lanes> all{};
  i64 c = 0;
  with_halves(true, [&]<bool halves>(std::bool_constant<halves>) {
    for (; c + lanes <= columns; c += lanes) {
      const char* const p = in + c * rows * i64{sizeof(T)};
      char* const q = out + c * i64{sizeof(T)};
      V a[rows];
      ARRAYX_UNROLL
      for (int j = 0; j < rows; ++j) {
        a[j] = halves ? V::load_in_halves(p + j * sizeof(V)) : V::load(p + j * sizeof(V));
      }
      every<rows, 0>(a, all).store(q);
      every<rows, 1>(a, all).store(q + out_row);
      if constexpr (rows > 2) every<rows, 2>(a, all).store(q + 2 * out_row);
      if constexpr (rows > 3) every<rows, 3>(a, all).store(q + 3 * out_row);
    }
  });
  return c;
}

// The columns that transpose() takes so where it has but a few rows.
template <class T>
i64 split_few(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 size = sizeof(T);
  if constexpr (shuffled<T>) {
    if (in_column == rows * size) {
      if (rows == 2) return split_by_shuffles<T, 2>(in, out, out_row, columns);
      if constexpr (ops::vector_bytes >= 32) {
        if (rows == 3) return split_by_shuffles<T, 3>(in, out, out_row, columns);
      }
      if (rows == 4) return split_by_shuffles<T, 4>(in, out, out_row, columns);
    }
  }
  if (rows < 2 || in_column < rows * size) return 0;
  const auto squares = [&]<int n>(std::integral_constant<int, n>) {
    return split_by_squares<T, n>(in, in_column, out, out_row, rows, columns);
  };
  if constexpr (in_order<T, 4>) {
    if (rows <= 4) return squares(std::integral_constant<int, 4>());
  }
  if constexpr (in_order<T, 8>) {
    if (rows <= 8) return squares(std::integral_constant<int, 8>());
  }
  if constexpr (in_order<T, 16>) {
    if (rows > 2) return squares(std::integral_constant<int, 16>());
  }
  return 0;
}

// Items of a row to every Step-th place, without touching what lies between: with masked stores
// where the level has them.
template <class T, int Step, int J, class V, int... I>
ARRAYX_HD V spread(V a, std::integer_sequence<int, I...>) {
  return V(__builtin_shufflevector(a.v, a.v, ((J * static_cast<int>(sizeof...(I)) + I) / Step)...));
}
template <class T, int Step>
ARRAYX_HD i64 copy_to_every(const char* in, char* out, i64 n) {
  i64 i = 0;
#if defined(__AVX512F__)
  constexpr i64 size = sizeof(T);
  if constexpr (size == 4 || size == 8) {
    constexpr int lanes = 64 / static_cast<int>(size);
    using V = Vec<T, lanes>;
    using Indices = std::make_integer_sequence<int, lanes>;
    const auto put = [](V x, char* to, int first) {
      unsigned mask = 0;
      for (int l = 0; l < lanes; ++l) mask |= ((first + l) % Step == 0 ? 1u : 0u) << l;
      const __m512i items = __builtin_bit_cast(__m512i, x.v);
      if constexpr (size == 4) {
        _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), items);
      } else {
        _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), items);
      }
    };
    for (; i + lanes <= n; i += lanes) {
      const V a = V::load(in + i * size);
      char* q = out + i * Step * size;
      put(spread<T, Step, 0>(a, Indices{}), q, 0);
      put(spread<T, Step, 1>(a, Indices{}), q + 64, lanes);
      if constexpr (Step > 2) put(spread<T, Step, 2>(a, Indices{}), q + 128, 2 * lanes);
      if constexpr (Step > 3) put(spread<T, Step, 3>(a, Indices{}), q + 192, 3 * lanes);
    }
    return i;
  }
#endif
  (void)in, (void)out, (void)n;
  return i;
}
template <class T>
void unpack_row(const char* in, char* out, i64 step, i64 n) {
  constexpr i64 size = sizeof(T);
  i64 done = 0;
  switch (step) {
    case 2 * size:
      done = copy_to_every<T, 2>(in, out, n);
      break;
    case 3 * size:
      done = copy_to_every<T, 3>(in, out, n);
      break;
    case 4 * size:
      done = copy_to_every<T, 4>(in, out, n);
      break;
    default:
      break;
  }
  copy_row<T>(in + done * size, size, out + done * step, step, n - done);
}

// Each of n items Times times, one after the other.
template <class T, int Times>
ARRAYX_HD i64 repeat_each(const char* in, char* out, i64 n) {
  i64 i = 0;
  if constexpr (shuffled<T>) {
    constexpr int lanes = ops::vector_bytes / static_cast<int>(sizeof(T));
    using V = Vec<T, lanes>;
    using Indices = std::make_integer_sequence<int, lanes>;
    for (; i + lanes <= n; i += lanes) {
      const V a = V::load(in + i * i64{sizeof(T)});
      char* q = out + i * Times * i64{sizeof(T)};
      spread<T, Times, 0>(a, Indices{}).store(q);
      spread<T, Times, 1>(a, Indices{}).store(q + sizeof(V));
      if constexpr (Times > 2) spread<T, Times, 2>(a, Indices{}).store(q + 2 * sizeof(V));
      if constexpr (Times > 3) spread<T, Times, 3>(a, Indices{}).store(q + 3 * sizeof(V));
    }
  }
  return i;
}

// Transposes where the input's rows are stepped too: tiles are packed along them first.
template <class T>
void transpose_stepped(const char* in, Strides2D si, char* out, i64 out_row, i64 rows,
                       i64 columns) {
  constexpr i64 size = sizeof(T), side = 32;
  alignas(64) char tile[side * side * size];
  for (i64 r = 0; r < rows; r += side) {
    const i64 down = rows - r < side ? rows - r : side;
    for (i64 c = 0; c < columns; c += side) {
      const i64 across = columns - c < side ? columns - c : side;
      for (i64 i = 0; i < across; ++i) {
        pack_row<T>(in + r * si.row + (c + i) * si.column, si.row, tile + i * side * size, down);
      }
      transpose<T>(tile, side * size, out + r * out_row + c * size, out_row, down, across);
    }
  }
}

// As many of an item as a register holds.
template <class T>
ARRAYX_HD Vec<u8, ops::vector_bytes> repeated(const char* in) {
  constexpr i64 size = sizeof(T), width = ops::vector_bytes;
  using Bytes = Vec<u8, width>;
  if constexpr (sizeof(T) == 16) {
    char pattern[width];
    for (i64 b = 0; b < width; b += size) copy_item<T>(in, pattern + b);
    return Bytes::load(pattern);
  } else {
    T item;
    __builtin_memcpy(&item, in, sizeof item);
    return ops::bit_cast<Bytes>(Vec<T, width / size>(item));
  }
}

// How many bytes from `out` on the processor's own loop has filled with an item: all but the last
// few, or none where that would not be faster. It claims lines without reading them, which saves a
// tenth of the time beyond the L2 cache, but is slow anywhere but at multiples of eight bytes.
template <class T>
ARRAYX_HD i64 repeat_by_words(const char* in, char* out, i64 bytes) {
#if defined(__x86_64__)
  if constexpr (sizeof(T) <= 8) {
    if (bytes < 1 << 14) return 0;
    repeated<T>(in).store(out);
    u64 word;
    __builtin_memcpy(&word, out, sizeof word);
    const i64 head = -static_cast<i64>(reinterpret_cast<std::uintptr_t>(out)) & 7;
    word = word >> (8 * head) | word << (-8 * head & 63);  // as it begins there
    char* to = out + head;
    i64 words = (bytes - head) / 8;
    asm volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(word) : "memory");
    return to - out;
  }
#endif
  return 0;
}

// Rows of `bytes` bytes, each of one item: whole vectors, of which the last may cover what the one
// before wrote.
template <class T>
ARRAYX_HD void repeat_long(const char* in, i64 in_row, char* out, i64 out_row, i64 rows,
                           i64 bytes) {
  constexpr i64 width = ops::vector_bytes;
  for (i64 r = 0; r < rows; ++r, in += in_row, out += out_row) {
    const auto v = repeated<T>(in);
    i64 b = repeat_by_words<T>(in, out, bytes);
    for (; b + 4 * width <= bytes; b += 4 * width) {  // one by one takes a fifth longer beyond L2
      ARRAYX_UNROLL
      for (i64 k = 0; k < 4; ++k) v.store(out + b + k * width);
    }
    for (; b + width <= bytes; b += width) v.store(out + b);
    v.store(out + bytes - width);
  }
}
// The same for rows of Width to 2 * Width bytes.
template <class T, int Width>
ARRAYX_HD void repeat_in_two(const char* in, i64 in_row, char* out, i64 out_row, i64 rows,
                             i64 bytes) {
  for (i64 r = 0; r < rows; ++r, in += in_row, out += out_row) {
    const auto v = repeated<T>(in);
    __builtin_memcpy(out, &v, Width);
    __builtin_memcpy(out + bytes - Width, &v, Width);
  }
}

template <class T>
void repeat(const char* in, i64 in_row, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 size = sizeof(T), width = ops::vector_bytes;
  const i64 bytes = columns * size;
  if (bytes >= width) {
    repeat_long<T>(in, in_row, out, out_row, rows, bytes);
    return;
  }
  if constexpr (width > 32) {
    if (bytes >= 32) return repeat_in_two<T, 32>(in, in_row, out, out_row, rows, bytes);
  }
  if constexpr (width > 16) {
    if (bytes >= 16) return repeat_in_two<T, 16>(in, in_row, out, out_row, rows, bytes);
  }
  if constexpr (size <= 8) {
    if (bytes >= 8) return repeat_in_two<T, 8>(in, in_row, out, out_row, rows, bytes);
  }
  if constexpr (size <= 4) {
    if (bytes >= 4) return repeat_in_two<T, 4>(in, in_row, out, out_row, rows, bytes);
  }
  copy_narrow<T>(in, {in_row, 0}, out, {out_row, size}, rows, columns);
}

// Rows of Width to 2 * Width bytes: as two pieces, which may overlap.
template <int Width>
ARRAYX_HD void copy_in_two(const char* in, i64 in_row, char* out, i64 out_row, i64 rows,
                           i64 bytes) {
  using V = Vec<u8, Width>;
  for (i64 r = 0; r < rows; ++r, in += in_row, out += out_row) {
    const V first = V::load(in), second = V::load(in + bytes - Width);
    first.store(out);
    second.store(out + bytes - Width);
  }
}

// Whether the processor's own loop is its fastest beyond the L1 cache: it says so ("fast short rep
// mov"). It claims lines without reading them, which saves a quarter of the time; on others it
// takes half as long again as vectors in the caches.
const bool copies_by_itself = [] {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 4 & 1) != 0;
#else
  return false;
#endif
}();

// False where that loop is not faster, or slow: for little, and where an output begins a few bytes
// past its input's place of a page.
ARRAYX_HD bool copy_by_itself(const char* in, char* out, i64 bytes) {
  constexpr i64 least = 1 << 15, most_near = 64;
#if defined(__x86_64__)
  const i64 past = (out - in) & (page_bytes - 1);
  if (bytes >= least && copies_by_itself && (past == 0 || past >= most_near)) {
    asm volatile("rep movsb" : "+D"(out), "+S"(in), "+c"(bytes) : : "memory");
    return true;
  }
#endif
  return false;
}

// Longer rows, written from a line's start on where that pays, or by the processor's own loop.
ARRAYX_HD void copy_long(const char* in, i64 in_row, char* out, i64 out_row, i64 rows, i64 bytes) {
  using V = Vec<u8, ops::vector_bytes>;
  constexpr i64 width = ops::vector_bytes;
  for (i64 r = 0; r < rows; ++r, in += in_row, out += out_row) {
    if (copy_by_itself(in, out, bytes)) continue;
    const i64 head = bytes < 1024 ? 0 : to_next_line(out);
    for (i64 b = 0; b < head; b += width) V::load(in + b).store(out + b);
    copy_vectors<false>(in, out, head, bytes);
    V::load(in + bytes - width).store(out + bytes - width);
  }
}

template <class T>
void copy_rows(const char* in, i64 in_row, char* out, i64 out_row, i64 rows, i64 columns) {
  const i64 bytes = columns * i64{sizeof(T)};
  if (bytes > 64) {
    copy_long(in, in_row, out, out_row, rows, bytes);
  } else if (bytes >= 32) {
    copy_in_two<32>(in, in_row, out, out_row, rows, bytes);
  } else if (bytes >= 16) {
    copy_in_two<16>(in, in_row, out, out_row, rows, bytes);
  } else if (bytes >= 8) {
    copy_in_two<8>(in, in_row, out, out_row, rows, bytes);
  } else if (bytes >= 4) {
    copy_in_two<4>(in, in_row, out, out_row, rows, bytes);
  } else {
    copy_narrow<T>(in, {in_row, sizeof(T)}, out, {out_row, sizeof(T)}, rows, columns);
  }
}

template <class T>
void copy_2d(const char* in, Strides2D si, char* out, Strides2D so, std::int64_t rows,
             std::int64_t columns) {
  constexpr i64 size = sizeof(T);
  if (so.column == size && si.column == size) {
    copy_rows<T>(in, si.row, out, so.row, rows, columns);
  } else if (so.column == size && si.column == 0) {
    i64 r = 0;
    if (si.row == size && so.row == columns * size) {
      if (columns == 2) r = repeat_each<T, 2>(in, out, rows);
      if (columns == 3) r = repeat_each<T, 3>(in, out, rows);
      if (columns == 4) r = repeat_each<T, 4>(in, out, rows);
    }
    repeat<T>(in + r * si.row, si.row, out + r * so.row, so.row, rows - r, columns);
  } else if (so.column == size && si.row == size) {
    transpose<T>(in, si.column, out, so.row, rows, columns);
  } else if (so.row == size && si.column == size) {
    transpose<T>(in, si.row, out, so.column, columns, rows);
  } else if (so.column == size && rows >= 8 && columns >= 8 &&
             magnitude(si.row) < magnitude(si.column)) {
    transpose_stepped<T>(in, si, out, so.row, rows, columns);
  } else if (columns < 8) {
    copy_narrow<T>(in, si, out, so, rows, columns);
  } else if (so.column == size) {
    for (i64 r = 0; r < rows; ++r) {
      pack_row<T>(in + r * si.row, si.column, out + r * so.row, columns);
    }
  } else if (si.column == size) {
    for (i64 r = 0; r < rows; ++r) {
      unpack_row<T>(in + r * si.row, out + r * so.row, so.column, columns);
    }
  } else if (si.column == 0) {
    for (i64 r = 0; r < rows; ++r) {
      fill_row<T>(in + r * si.row, out + r * so.row, so.column, columns);
    }
  } else {
    for (i64 r = 0; r < rows; ++r) {
      copy_row<T>(in + r * si.row, si.column, out + r * so.row, so.column, columns);
    }
  }
}

void stream(const void* in, void* out, std::int64_t bytes, const void* next) {
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
  const i64 head = to_next_line(q);
  if (bytes < head + line_bytes) {
    std::memcpy(q, p, bytes);
    return;
  }
  if (head != 0) std::memcpy(q, p, head);
  const i64 body = (bytes - head) / line_bytes * line_bytes, tail = bytes - head - body;
  p += head;
  q += head;
  constexpr i64 step = 4 * line_bytes;
  i64 b = 0;
  if (next) {
    const i64 before = std::max<i64>(0, body - page_bytes);
    for (; b + step <= body; b += step) {
      fetch_pages(p, b, step, body);
      if (b >= before) fetch(static_cast<const char*>(next) + (b - before), step);
      copy_vectors<true>(p + b, q + b, 0, step);
    }
  } else {
    for (; b + step <= body; b += step) {
      fetch_pages(p, b, step, body);
      copy_vectors<true>(p + b, q + b, 0, step);
    }
  }
  copy_vectors<true>(p, q, b, body);
  if (tail != 0) std::memcpy(q + body, p + body, tail);
}

void stream_runs(const StreamRunsJob& job) {
  using Line = Vec<u8, line_bytes>;
  const i64 bytes = job.bytes;
  for (i64 r = 0; r < job.rows; ++r) {
    if (r < job.next_rows) fetch(job.next + r * job.next_row, bytes);
    const char* const in = job.in + r * job.in_row;
    char* const out = job.out + r * job.out_row;
    if (bytes < line_bytes) {
      std::memcpy(out, in, bytes);
      continue;
    }
    const i64 head = to_next_line(out), left = bytes - head, tail = left & (line_bytes - 1);
    // The line that the row before has begun. What is stored too much of a row beside it is in the
    // margins.
    char* const line = job.begun + (3 * r + 1) * line_bytes;
    if (head > 0 && job.first) {
      std::memcpy(out, in, head);
    } else if (head > 0) {
      Line::load(in).store(line + line_bytes - head);
      copy_vectors<true>(line, out + head - line_bytes, 0, line_bytes);
    }
    copy_vectors<true>(in + head, out + head, 0, left - tail);
    if (tail > 0 && job.last) {
      std::memcpy(out + bytes - tail, in + bytes - tail, tail);
    } else if (tail > 0) {
      Line::load(in + bytes - line_bytes).store(line + tail - line_bytes);
    }
  }
}

// Where row r of a group is picked.
ARRAYX_HD const char* picked(const PicksJob& job, i64 r) {
  i64 offset;
  std::memcpy(&offset, job.offsets + r * job.offset_row, sizeof offset);
  return job.in + r * job.in_row + offset * job.item;
}

// By as many moves of `Unit` bytes as the constant says, of which the last one may overlap another:
// a loop over them takes up to twice as long, and moves of 16 bytes half as long again as those of
// 64, of which the processor has more on their way at a time.
template <int Unit, int Moves>
[[gnu::noinline]] void picks_by(const PicksJob& given) {
  using V = Vec<u8, Unit>;
  const PicksJob job = given;
  const char* from = job.in;
  char* to_group = job.out;
  const i64 last = job.bytes - Unit;
  for (i64 g = 0; g < job.groups; ++g, from += job.in_group, to_group += job.out_group) {
    const char* offset = job.offsets;
    const char* base = from;
    char* out = to_group;
    for (i64 r = 0; r < job.rows; ++r) {
      i64 items;
      std::memcpy(&items, offset, sizeof items);
      const char* const in = base + items * job.item;
      V a[Moves];
      ARRAYX_UNROLL
      for (int k = 0; k + 1 < Moves; ++k) a[k] = V::load(in + k * Unit);
      a[Moves - 1] = V::load(in + last);
      ARRAYX_UNROLL
      for (int k = 0; k + 1 < Moves; ++k) a[k].store(out + k * Unit);
      a[Moves - 1].store(out + last);
      offset += job.offset_row;
      base += job.in_row;
      out += job.out_row;
    }
  }
}

// Longer rows.
void picks_by_call(const PicksJob& job) {
  for (i64 g = 0; g < job.groups; ++g) {
    for (i64 r = 0; r < job.rows; ++r) {
      std::memcpy(job.out + g * job.out_group + r * job.out_row, picked(job, r) + g * job.in_group,
                  job.bytes);
    }
  }
}

template <int Most>
ARRAYX_HD void picks_of_moves(const PicksJob& job, i64 moves) {
  if constexpr (Most > 1) {
    if (moves < Most) return picks_of_moves<Most - 1>(job, moves);
  }
  picks_by<ops::vector_bytes, Most>(job);
}

void picks(const PicksJob& job) {
  constexpr i64 width = ops::vector_bytes, most = 8;
  if (job.bytes > most * width) return picks_by_call(job);
  if (job.bytes >= width) return picks_of_moves<most>(job, (job.bytes + width - 1) / width);
  if constexpr (width > 32) {
    if (job.bytes >= 32) return picks_by<32, 2>(job);
  }
  if constexpr (width > 16) {
    if (job.bytes >= 16) return picks_by<16, 2>(job);
  }
  if (job.bytes >= 8) return picks_by<8, 2>(job);
  if (job.bytes >= 4) return picks_by<4, 2>(job);
  if (job.bytes >= 2) return picks_by<2, 2>(job);
  picks_by<1, 1>(job);
}

void stream_picks(const PicksJob& given, i64 ahead) {
  const PicksJob job = given;
  for (i64 r = 0; r < std::min(ahead, job.rows); ++r) fetch(picked(job, r), job.bytes);
  char* out = job.out;
  for (i64 r = 0; r < job.rows; ++r, out += job.bytes) {
    if (r + ahead < job.rows) fetch(picked(job, r + ahead), job.bytes);
    const char* const in = picked(job, r);
    for (i64 b = 0; b < job.bytes; b += line_bytes) copy_vectors<true>(in, out, b, b + line_bytes);
  }
}

template <class T>
void stream_backwards(const char* in, char* out, std::int64_t n, const char* next) {
  constexpr i64 size = sizeof(T), width = ops::vector_bytes, lanes = width / size, together = 4;
  using V = Vec<u8, static_cast<int>(width)>;
  // Complex numbers may be aligned as their parts are, and begin no line then.
  if (to_next_line(out) % size != 0) return pack_row<T>(in, -size, out, n);
  const i64 head = std::min(n, to_next_line(out) / size);
  copy_row<T>(in, -size, out, size, head);
  i64 i = head;
  for (; i + together * lanes <= n; i += together * lanes) {
    if (asks_for_pages) {  // a page ahead, counted backwards, or as far in what is next
      const i64 left = (n - i) * size - page_bytes;
      const char* const end = left > 0 || !next ? in - i * size - page_bytes : next + left;
      fetch<together * width>(end - (together * lanes - 1) * size);
    }
    V a[together];
    ARRAYX_UNROLL
    for (i64 k = 0; k < together; ++k) {
      a[k] = backwards<T>(V::load(in - (i + (k + 1) * lanes - 1) * size));
    }
    ARRAYX_UNROLL
    for (i64 k = 0; k < together; ++k) stream_vector(a[k], out + i * size + k * width);
  }
  pack_row<T>(in - i * size, -size, out + i * size, n - i);
}

void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// Whether rows of a strip begin and end with lines.
template <class T>
ARRAYX_HD bool at_lines(const StreamTransposeJob& job) {
  constexpr i64 line = line_bytes / i64{sizeof(T)};
  return to_next_line(job.out) == 0 && job.out_row % line_bytes == 0 &&
         job.columns.count % line == 0;
}

// Rows that start anywhere in a line: each writes the lines that start among its columns and reads
// the last one's end from the columns beyond. `made` holds its `available` bytes.
template <class T>
ARRAYX_HD void stream_own_lines(const StreamTransposeJob& job, const char* made, char* to,
                                i64 available) {
  const i64 bytes = job.columns.count * i64{sizeof(T)};
  const i64 skip = job.first ? 0 : to_next_line(to);
  const i64 end = std::min(bytes + (job.beyond > 0 ? to_next_line(to + bytes) : 0), available);
  if (skip >= end) return;
  if (to_next_line(to + skip) == 0 && (end - skip) % line_bytes == 0) {
    copy_vectors<true>(made, to, skip, end);
  } else {
    stream(made + skip, to + skip, end - skip, nullptr);
  }
}

// By way of the job's scratch.
template <class T>
void transpose_pieces(const StreamTransposeJob& job) {
  constexpr i64 size = sizeof(T), n = square_side<T>, line = line_bytes / size;
  const i64 out_row = job.out_row, rows = job.rows;
  const i64 columns = job.columns.count, beyond = job.beyond;
  const bool aligned = at_lines<T>(job);
  const i64 available = aligned ? columns : columns + std::min(beyond, line);
  // Rows that follow each other in memory are written as one. Others lie a few lines further apart
  // than they are long, lest those of a square share a set of the L1.
  const bool as_one = out_row == columns * size && job.first && beyond == 0;
  const i64 pitch = as_one ? columns * size : (available * size / line_bytes + 2) * line_bytes;
  const i64 batches = (rows - 1) / streamed_rows(size) + 1;
  const i64 most = ((rows - 1) / batches / line + 1) * line;
  char* const made = job.scratch;
  for (i64 r = 0, count; r < rows; r += count) {
    count = std::min(most, rows - r);
    const auto following = [&](const StripColumns& from, i64 most_columns, i64 first, i64 items) {
      return Following<ListedColumns>{
          {from.in + first * size, from.offset}, std::min(n, most_columns), items * size};
    };
    for (i64 c = 0; c < available; c += n) {
      // The last squares cover again what others have written.
      const i64 at = available < n ? 0 : std::min(c, available - n);
      const i64 after = std::min(c + n, available);
      const StripColumns rest{job.columns.in, job.columns.offset + after, 0};
      transpose_batch<T, n>(ListedColumns{job.columns.in + r * size, job.columns.offset + at},
                            made + at * size, pitch, count, std::min(n, available),
                            following(rest, available - after, r, count));
    }
    // What is read next is fetched while this is written.
    const i64 left = rows - r - count;
    const auto next = left > 0 ? following(job.columns, available, r + count, std::min(most, left))
                               : following(job.next, job.next.count, 0, std::min(most, rows));
    char* const q = job.out + r * out_row;
    if (as_one) {
      next.fetch_all();
      stream(made, q, count * pitch, nullptr);
      continue;
    }
    const i64 lines = next.bytes / line_bytes + 1, every = std::max<i64>(1, count / lines);
    for (i64 i = 0, due = 0, at = 0; i < count; ++i) {
      if (i == due && at < next.bytes) {
        next.fetch(at);
        at += line_bytes;
        due += every;
      }
      stream_own_lines<T>(job, made + i * pitch, q + i * out_row, available * size);
    }
  }
}

// `rows` transposed rows of any number of columns: the last square covers again what others have
// written. More rows than a square has are those of a strip.
template <class T, class Ask>
ARRAYX_HD void transpose_rows(ListedColumns in, char* out, i64 out_row, i64 rows, i64 columns,
                              const Ask& ask) {
  constexpr i64 size = sizeof(T), n = square_side<T>;
  const auto squares = [&]<int side>(std::integral_constant<int, side>, const auto& put) {
    const i64 whole = columns / side * side, last = columns - side;
    put(in, out, whole);
    if (whole != columns) put(in.from(last), out + last * size, i64{side});
  };
  if constexpr (by_words<T, strip_rows<T>>) {
    constexpr int side = strip_rows<T>;
    if (rows == side && columns >= side) {
      return squares(std::integral_constant<int, side>(),
                     [&](ListedColumns from, char* to, i64 count) {
                       for (i64 c = 0; c < count; c += side) {
                         transpose_square<T, side>(from.from(c), to + c * size, out_row, ask);
                       }
                     });
    }
  }
  if (rows < n || columns < n) return transpose_items<T>(in, out, out_row, rows, columns);
  squares(std::integral_constant<int, n>(), [&](ListedColumns from, char* to, i64 count) {
    transpose_strip<T>(from, to, out_row, rows, count, ask);
  });
}

// What a transpose by strips reads next, a box of a few lines of each column of the strip or the
// one after it: its lines are asked for while as many are transposed, a few at a time. Many at
// once, or one of each column after the other, take up to half as long again.
class NextBox {
 public:
  explicit NextBox(const StreamTransposeJob& job) : job_(job) {}

  // What comes after the box at that byte of the rows, in the time that the box takes.
  ARRAYX_HD void start(i64 at, i64 row_bytes) {
    const i64 begin = at + job_.box, left = row_bytes - begin;
    const bool here = left > 0;
    const StripColumns& from = here ? job_.columns : job_.next;
    in_ = from.in + (here ? begin : 0);
    offset_ = from.offset;
    end_ = offset_ + from.count;
    bytes_ = here ? std::min(left, job_.box) : job_.next_bytes;
    line_ = 0;
    const i64 now = std::min(job_.box, row_bytes - at) * job_.columns.count;
    const i64 lines = from.count * ((bytes_ - 1) / line_bytes + 1);
    pace_ = lines * line_bytes * (pace_one + pace_one / 8) / now;
    due_ = 0;
  }
  // While so many lines are transposed.
  ARRAYX_HD void ask(i64 lines) {
    for (due_ += lines * pace_; due_ >= pace_one && offset_ != end_; due_ -= pace_one) {
      fetch_for_second(in_ + *offset_ + line_, line_bytes);
      line_ += line_bytes;
      if (line_ >= bytes_) {
        line_ = 0;
        ++offset_;
      }
    }
  }

 private:
  const StreamTransposeJob& job_;
  const char* in_ = nullptr;
  const i64 *offset_ = nullptr, *end_ = nullptr;
  i64 bytes_ = 0, line_ = 0;
  static constexpr i64 pace_one = 256;
  i64 pace_ = 0, due_ = 0;
};

// The same straight on.
template <class T>
void transpose_strips(const StreamTransposeJob& job) {
  constexpr i64 size = sizeof(T), n = square_side<T>, line = line_bytes / size;
  constexpr i64 most_rows = strip_rows<T>;
  const i64 out_row = job.out_row, rows = job.rows;
  const i64 columns = job.columns.count, beyond = job.beyond;
  const bool aligned = at_lines<T>(job);
  const i64 available = aligned ? columns : columns + std::min(beyond, line);
  alignas(64) char block[most_rows * (most_strip_columns + line) * size];
  // Rows that follow each other in memory are written as one.
  const bool as_one = out_row == columns * size && job.first && beyond == 0;
  const i64 pitch =
      as_one ? columns * size : (available * size + line_bytes - 1) / line_bytes * line_bytes;
  // Where columns begin within lines, all alike, squares that begin with lines read half as many.
  const auto place = [&](i64 c) { return to_next_line(job.columns.in + job.columns.offset[c]); };
  const i64 lead = rows * size >= 1024 && place(0) == place(columns - 1) ? place(0) / size : 0;
  NextBox next(job);
  i64 box_end = 0;
  const auto ask = [&next](i64 lines) { next.ask(lines); };
  for (i64 r = 0, step, done; r < rows; r += done) {
    step = next_rows<T>(rows - r);
    const bool whole = step != 0;
    if (!whole) step = rows - r;
    done = r == 0 && lead > 0 && lead < step ? lead : step;
    // Rows left over come with others before them, unless they are few.
    const i64 again = !whole && rows >= n && step > n / 4 ? n - step : 0;
    const ListedColumns in{job.columns.in + (r - again) * size, job.columns.offset};
    char* q = job.out + r * out_row;
    if (r * size >= box_end) {
      next.start(box_end, rows * size);
      box_end += job.box;
    }
    if (aligned && n == line && whole) {
      for (i64 c = 0; c < columns; c += n) {
        transpose_square<T, n, true>(in.from(c), q + c * size, out_row, ask);
      }
    } else if (aligned && strip_rows<T> == line && step == line) {
      for (i64 c = 0; c < columns; c += line) {
        transpose_square<T, strip_rows<T>, true>(in.from(c), q + c * size, out_row, ask);
      }
    } else if (aligned && whole) {
      for (i64 c = 0; c < columns; c += line) {
        transpose_strip<T>(in.from(c), block, line_bytes, step, line, ask);
        for (i64 i = 0; i < step; ++i) {
          copy_vectors<true>(block + i * line_bytes, q + i * out_row + c * size, 0, line_bytes);
        }
      }
    } else {
      transpose_rows<T>(in, block, pitch, step + again, available, ask);
      const char* made = block + again * pitch;
      if (as_one) {
        stream(made, q, step * pitch, nullptr);
        continue;
      }
      for (i64 i = 0; i < step; ++i) {
        stream_own_lines<T>(job, made + i * pitch, q + i * out_row, available * size);
      }
    }
  }
}

template <class T>
void stream_transpose(const StreamTransposeJob& job) {
  (job.scratch ? transpose_pieces<T> : transpose_strips<T>)(job);
}

// ---- ranges -------------------------------------------------------------------------------------

// In float64, rounded once to T. The indices are whole numbers, so that counting them up is exact.
template <class T>
void progression(void* out, const Progression& p, std::int64_t n) {
  constexpr int lanes = ops::vector_bytes / 8;
  using V = Vec<f64, lanes>;
  char* q = static_cast<char*>(out);
  const V first(p.first), step(p.step), ahead(p.way * lanes);
  V index = V(p.index) + ops::iota<V>() * V(p.way);
  i64 i = 0;
  for (; i + lanes <= n; i += lanes, index += ahead) {
    ops::convert<Vec<T, lanes>>(first + index * step).store(q + i * i64{sizeof(T)});
  }
  if (i < n) {
    ops::convert<Vec<T, lanes>>(first + index * step)
        .store_first(q + i * i64{sizeof(T)}, static_cast<int>(n - i));
  }
}

template <class T>
void integer_range(void* out, std::uint64_t first, std::uint64_t step, std::int64_t n) {
  constexpr int lanes = ops::vector_bytes / static_cast<int>(sizeof(T));
  using V = Vec<T, lanes>;
  char* q = static_cast<char*>(out);
  const V ahead(static_cast<T>(step * lanes));
  V value = V(static_cast<T>(first)) + ops::iota<V>() * V(static_cast<T>(step));
  i64 i = 0;
  for (; i + lanes <= n; i += lanes, value += ahead) value.store(q + i * i64{sizeof(T)});
  if (i < n) value.store_first(q + i * i64{sizeof(T)}, static_cast<int>(n - i));
}

}  // namespace

void fill_copy(KernelTable& table) {
  table.stream = &stream;
  table.stream_runs = &stream_runs;
  table.picks = &picks;
  table.stream_picks = &stream_picks;
  table.stream_fence = &stream_fence;
  fill_casts<Boolean>(table, DType::bool_);
  fill_casts<i8>(table, DType::int8);
  fill_casts<i16>(table, DType::int16);
  fill_casts<i32>(table, DType::int32);
  fill_casts<i64>(table, DType::int64);
  fill_casts<u8>(table, DType::uint8);
  fill_casts<u16>(table, DType::uint16);
  fill_casts<u32>(table, DType::uint32);
  fill_casts<u64>(table, DType::uint64);
  fill_casts<f32>(table, DType::float32);
  fill_casts<f64>(table, DType::float64);
  fill_casts<Complex<f32>>(table, DType::complex64);
  fill_casts<Complex<f64>>(table, DType::complex128);
  table.copy[0] = &copy_2d<u8>;
  table.copy[1] = &copy_2d<u16>;
  table.copy[2] = &copy_2d<u32>;
  table.copy[3] = &copy_2d<u64>;
  table.copy[4] = &copy_2d<Item16>;
  table.progression[0] = &progression<f32>;
  table.progression[1] = &progression<f64>;
  table.integer_range[0] = &integer_range<u8>;
  table.integer_range[1] = &integer_range<u16>;
  table.integer_range[2] = &integer_range<u32>;
  table.integer_range[3] = &integer_range<u64>;
  table.stream_backwards[0] = &stream_backwards<u8>;
  table.stream_transpose[0] = &stream_transpose<u8>;
  table.stream_backwards[1] = &stream_backwards<u16>;
  table.stream_transpose[1] = &stream_transpose<u16>;
  table.stream_backwards[2] = &stream_backwards<u32>;
  table.stream_transpose[2] = &stream_transpose<u32>;
  table.stream_backwards[3] = &stream_backwards<u64>;
  table.stream_transpose[3] = &stream_transpose<u64>;
  table.stream_backwards[4] = &stream_backwards<Item16>;
  table.stream_transpose[4] = &stream_transpose<Item16>;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
