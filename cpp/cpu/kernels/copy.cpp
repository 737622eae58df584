// Casts over contiguous elements, and two-dimensional copies of items by their size: rows, repeats,
// register transposes, anything.
#include "../simd/vec.hpp"

#include <cstring>
#include <utility>

#include "../../ops/complex.hpp"
#include "../kernels.hpp"

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

// Always whole vectors, so that a value out of the target's range gives the same wherever it
// stands.
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
  } else if constexpr (ops::is_complex_v<A>) {
    using a = decltype(A::re);
    for (i64 i = 0; i < n; ++i) {
      a part[2];
      std::memcpy(part, p + i * sizeof(A), sizeof part);
      B value;
      if constexpr (to_bool) {
        value = B((part[0] != a(0)) | (part[1] != a(0)));
      } else {
        value = static_cast<B>(part[0]);
      }
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
    constexpr int wider = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B);
    constexpr int lanes = ops::vector_bytes / wider;
    using VA = Vec<A, lanes>;
    using VB = Vec<B, lanes>;
    const auto convert = [](VA x) {
      if constexpr (to_bool) {
        return VB(ops::select(ops::resize<1>(x != VA(A(0))), VB(B(1)), VB(B(0))));
      } else {
        return ops::convert<VB>(x);
      }
    };
    i64 i = 0;
    for (; i + lanes <= n; i += lanes) {
      convert(VA::load(p + i * sizeof(A))).store(q + i * sizeof(B));
    }
    if (i < n) {
      const int rest = static_cast<int>(n - i);
      convert(VA::load_first(p + i * sizeof(A), rest)).store_first(q + i * sizeof(B), rest);
    }
  }
}

template <class From>
void fill_casts(KernelTable& table, DType from) {
  CastKernel* row = table.cast[static_cast<int>(from)];
  const auto put = [row](DType d, CastKernel k) { row[static_cast<int>(d)] = k; };
  put(DType::bool_, &cast<From, Boolean>);
  put(DType::int8, &cast<From, i8>);
  put(DType::int16, &cast<From, i16>);
  put(DType::int32, &cast<From, i32>);
  put(DType::int64, &cast<From, i64>);
  put(DType::uint8, &cast<From, u8>);
  put(DType::uint16, &cast<From, u16>);
  put(DType::uint32, &cast<From, u32>);
  put(DType::uint64, &cast<From, u64>);
  put(DType::float32, &cast<From, f32>);
  put(DType::float64, &cast<From, f64>);
  put(DType::complex64, &cast<From, Complex<f32>>);
  put(DType::complex128, &cast<From, Complex<f64>>);
}

// ---- past the caches
// ----------------------------------------------------------------------------------------------

template <class V>
ARRAYX_HD void stream_vector(V x, char* out) {
#if defined(__x86_64__)
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(out), __builtin_bit_cast(__m128i, x.v));
    return;
  }
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), __builtin_bit_cast(__m256i, x.v));
    return;
  }
#endif
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(out), __builtin_bit_cast(__m512i, x.v));
    return;
  }
#endif
#endif
  x.store(out);
}

// ---- two-dimensional copies
// -----------------------------------------------------------------------

struct Item16 {
  u64 low, high;
};

inline constexpr i64 line_bytes = 64;

// A square of N × N items transposed in registers: log2(N) rounds of interleaving row i with row
// i + N/2 turn rows into columns.
template <class T>
inline constexpr int square_side = [] {
  const int n = ops::vector_bytes / static_cast<int>(sizeof(T));
  return sizeof(T) == 16 ? 4 : n > 16 ? 16 : n;
}();

template <class T, bool Stream = false>
ARRAYX_HD void transpose_square(const char* in, i64 in_column, char* out, i64 out_row) {
  constexpr int n = square_side<T>;
  if constexpr (ops::same_type_v<T, Item16>) {
    using V = Vec<u64, 2>;
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const V item = V::load(in + j * in_column + i * 16);
        if constexpr (Stream) {
          stream_vector(item, out + i * out_row + j * 16);
        } else {
          item.store(out + i * out_row + j * 16);
        }
      }
    }
    return;
  } else {
    using V = Vec<T, n>;
    using Indices = std::make_integer_sequence<int, n>;
    V a[n], b[n];
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) a[i] = V::load(in + i * in_column);
    ARRAYX_UNROLL
    for (int round = 1; round < n; round *= 2) {
      ARRAYX_UNROLL
      for (int i = 0; i < n / 2; ++i) {
        b[2 * i] = interleave_half<0>(a[i], a[i + n / 2], Indices{});
        b[2 * i + 1] = interleave_half<1>(a[i], a[i + n / 2], Indices{});
      }
      ARRAYX_UNROLL
      for (int i = 0; i < n; ++i) a[i] = b[i];
    }
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) {
      if constexpr (Stream) {
        stream_vector(a[i], out + i * out_row);
      } else {
        a[i].store(out + i * out_row);
      }
    }
  }
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

// How many of the input's rows ahead a transpose fetches. A loop that goes on along them reads a
// line or two of each, which no hardware prefetcher follows.
inline constexpr i64 fetched_rows = 32;

// out[r][c] = in[r][c] where `in` is contiguous along r and `out` along c.
template <class T>
void transpose(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 n = square_side<T>, size = sizeof(T);
  const i64 whole = rows / n * n;
  i64 c = 0;
  for (; c + n <= columns; c += n) {
    const char* p = in + c * in_column;
    char* q = out + c * size;
    for (i64 i = 0; i < n; ++i) {
      const char* ahead = p + (i + fetched_rows) * in_column;
      for (i64 b = 0; b < rows * size; b += line_bytes) __builtin_prefetch(ahead + b, 0, 2);
    }
    for (i64 r = 0; r < whole; r += n) {
      transpose_square<T>(p + r * size, in_column, q + r * out_row, out_row);
    }
  }
  copy_items<T>(in + c * in_column, {size, in_column}, out + c * size, {out_row, size}, whole,
                columns - c);
  copy_items<T>(in + whole * size, {size, in_column}, out + whole * out_row, {out_row, size},
                rows - whole, columns);
}

// Writes an item n times: whole vectors, of which the last may cover what the one before wrote.
template <class T>
ARRAYX_HD void repeat(const char* in, char* out, i64 n) {
  constexpr i64 size = sizeof(T), width = ops::vector_bytes;
  const i64 bytes = n * size;
  if (bytes < width) {
    for (i64 b = 0; b < bytes; b += size) copy_item<T>(in, out + b);
    return;
  }
  char pattern[width];
  for (i64 b = 0; b < width; b += size) copy_item<T>(in, pattern + b);
  const auto v = Vec<u8, width>::load(pattern);
  for (i64 b = 0; b + width <= bytes; b += width) v.store(out + b);
  v.store(out + bytes - width);
}

template <class T>
void copy_2d(const char* in, Strides2D si, char* out, Strides2D so, std::int64_t rows,
             std::int64_t columns) {
  constexpr i64 size = sizeof(T);
  if (so.column == size && si.column == size) {
    if (columns * size >= 64) {
      for (i64 r = 0; r < rows; ++r) {
        std::memcpy(out + r * so.row, in + r * si.row, columns * size);
      }
      return;
    }
    copy_items<T>(in, {si.row, size}, out, {so.row, size}, rows, columns);
  } else if (so.column == size && si.column == 0) {
    for (i64 r = 0; r < rows; ++r) repeat<T>(in + r * si.row, out + r * so.row, columns);
  } else if (so.column == size && si.row == size) {
    transpose<T>(in, si.column, out, so.row, rows, columns);
  } else if (so.row == size && si.column == size) {
    transpose<T>(in, si.row, out, so.column, columns, rows);
  } else if (so.column == size) {
    copy_items<T>(in, si, out, {so.row, size}, rows, columns);
  } else if (si.column == size) {
    copy_items<T>(in, {si.row, size}, out, so, rows, columns);
  } else {
    copy_items<T>(in, si, out, so, rows, columns);
  }
}

ARRAYX_HD void stream_lines(const char* in, char* out, i64 bytes) {
  using V = Vec<u8, ops::vector_bytes>;
  for (i64 i = 0; i < bytes; i += ops::vector_bytes) stream_vector(V::load(in + i), out + i);
}

// Bytes from p to the next line.
ARRAYX_HD i64 to_next_line(const char* p) {
  return -static_cast<i64>(reinterpret_cast<std::uintptr_t>(p)) & (line_bytes - 1);
}

void stream(const void* in, void* out, std::int64_t bytes) {
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
  const i64 head = to_next_line(q);
  if (bytes < head + line_bytes) {
    std::memcpy(q, p, bytes);
    return;
  }
  if (head != 0) std::memcpy(q, p, head);
  const i64 body = (bytes - head) / line_bytes * line_bytes, tail = bytes - head - body;
  stream_lines(p + head, q + head, body);
  if (tail != 0) std::memcpy(q + head + body, p + head + body, tail);
}

void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// How far ahead of a transpose its input is fetched: with 64 rows of 16 KiB it reads memory two to
// three times as fast as the hardware's prefetching alone, which follows some 16 rows.
inline constexpr i64 fetch_ahead = 256;

// Rows [r, r + n) of `columns` items, a multiple of n, as a block of pitch `pitch`.
template <class T>
ARRAYX_HD void transpose_squares(const char* in, i64 in_column, char* out, i64 pitch, i64 columns) {
  constexpr i64 n = square_side<T>;
  for (i64 c = 0; c < columns; c += n) {
    transpose_square<T>(in + c * in_column, in_column, out + c * i64{sizeof(T)}, pitch);
  }
}

template <class T>
void stream_transpose(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns,
                      bool first, i64 beyond, const char* next) {
  constexpr i64 size = sizeof(T), n = square_side<T>, line = line_bytes / size;
  const bool aligned = to_next_line(out) == 0 && out_row % line_bytes == 0 && columns % line == 0;
  // Rows that start anywhere in a line: each writes the lines that start among its columns and
  // reads the last one's end from the columns beyond.
  const i64 available = columns + std::min(beyond, line);
  alignas(64) char block[n * (most_streamed_columns + line) * size];
  const i64 pitch = (available * size + line_bytes - 1) / line_bytes * line_bytes;
  i64 r = 0;
  for (; r + n <= rows; r += n) {
    const char* p = in + r * size;
    char* q = out + r * out_row;
    if (r * size % line_bytes == 0) {
      const i64 ahead = r * size + fetch_ahead;
      const char* f = ahead < rows * size ? in + ahead : next + (ahead - rows * size);
      for (i64 c = 0; c < columns; ++c) __builtin_prefetch(f + c * in_column, 0, 2);
    }
    if (aligned && n == line) {
      for (i64 c = 0; c < columns; c += n) {
        transpose_square<T, true>(p + c * in_column, in_column, q + c * size, out_row);
      }
    } else if (aligned) {
      for (i64 c = 0; c < columns; c += line) {
        transpose_squares<T>(p + c * in_column, in_column, block, line_bytes, line);
        for (i64 i = 0; i < n; ++i) {
          stream_lines(block + i * line_bytes, q + i * out_row + c * size, line_bytes);
        }
      }
    } else {
      const i64 whole = available / n * n;
      transpose_squares<T>(p, in_column, block, pitch, whole);
      copy_items<T>(p + whole * in_column, {size, in_column}, block + whole * size, {pitch, size},
                    n, available - whole);
      for (i64 i = 0; i < n; ++i) {
        char* to = q + i * out_row;
        const i64 skip = first ? 0 : to_next_line(to);
        i64 end = columns * size + (beyond > 0 ? to_next_line(to + columns * size) : 0);
        end = std::min(end, available * size);
        if (skip < end) stream(block + i * pitch + skip, to + skip, end - skip);
      }
    }
  }
  // Rows left over: the lines that start among their columns, like the others.
  for (; r < rows; ++r) {
    char* to = out + r * out_row;
    i64 skip = 0, end = columns * size;
    if (!aligned) {
      skip = first ? 0 : to_next_line(to);
      end = std::min(end + (beyond > 0 ? to_next_line(to + end) : 0), available * size);
    }
    copy_items<T>(in + r * size, {size, in_column}, block, {pitch, size}, 1, available);
    if (skip < end) std::memcpy(to + skip, block + skip, end - skip);
  }
}

}  // namespace

void fill_copy(KernelTable& table) {
  table.stream = &stream;
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
  table.stream_transpose[0] = &stream_transpose<u8>;
  table.stream_transpose[1] = &stream_transpose<u16>;
  table.stream_transpose[2] = &stream_transpose<u32>;
  table.stream_transpose[3] = &stream_transpose<u64>;
  table.stream_transpose[4] = &stream_transpose<Item16>;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
