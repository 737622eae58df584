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
    for (i64 i = 0; i < n; ++i) {
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

// ---- two-dimensional copies
// -----------------------------------------------------------------------

struct Item16 {
  u64 low, high;
};

// A square of N × N items transposed in registers: log2(N) rounds of interleaving row i with row
// i + N/2 turn rows into columns.
template <class T>
inline constexpr int square_side = [] {
  const int n = ops::vector_bytes / static_cast<int>(sizeof(T));
  return n > 16 ? 16 : n;
}();

template <int Half, class V, int... I>
ARRAYX_HD V interleave_half(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int n = sizeof...(I);
  return V(__builtin_shufflevector(a.v, b.v, (Half * (n / 2) + I / 2 + (I % 2) * n)...));
}

template <class T>
ARRAYX_HD void transpose_square(const char* in, i64 in_column, char* out, i64 out_row) {
  constexpr int n = square_side<T>;
  using V = Vec<T, n>;
  using Indices = std::make_integer_sequence<int, n>;
  V a[n], b[n];
  for (int i = 0; i < n; ++i) a[i] = V::load(in + i * in_column);
  for (int round = 1; round < n; round *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      b[2 * i] = interleave_half<0>(a[i], a[i + n / 2], Indices{});
      b[2 * i + 1] = interleave_half<1>(a[i], a[i + n / 2], Indices{});
    }
    for (int i = 0; i < n; ++i) a[i] = b[i];
  }
  for (int i = 0; i < n; ++i) a[i].store(out + i * out_row);
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

// out[r][c] = in[r][c] where `in` is contiguous along r and `out` along c.
template <class T>
void transpose(const char* in, i64 in_column, char* out, i64 out_row, i64 rows, i64 columns) {
  constexpr i64 n = square_side<T>;
  i64 r = 0;
  if constexpr (!ops::same_type_v<T, Item16>) {
    for (; r + n <= rows; r += n) {
      const char* p = in + r * i64{sizeof(T)};
      char* q = out + r * out_row;
      i64 c = 0;
      for (; c + n <= columns; c += n) {
        transpose_square<T>(p + c * in_column, in_column, q + c * i64{sizeof(T)}, out_row);
      }
      copy_items<T>(p + c * in_column, {sizeof(T), in_column}, q + c * i64{sizeof(T)},
                    {out_row, sizeof(T)}, n, columns - c);
    }
  }
  copy_items<T>(in + r * i64{sizeof(T)}, {sizeof(T), in_column}, out + r * out_row,
                {out_row, sizeof(T)}, rows - r, columns);
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
    for (i64 r = 0; r < rows; ++r) {
      T item;
      __builtin_memcpy(&item, in + r * si.row, size);
      char* q = out + r * so.row;
      for (i64 c = 0; c < columns; ++c) __builtin_memcpy(q + c * size, &item, size);
    }
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

void stream(const void* in, void* out, std::int64_t bytes) {
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
#if defined(__x86_64__)
  for (i64 i = 0; i < bytes; i += ops::vector_bytes) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(q + i), _mm512_loadu_si512(p + i));
#elif defined(__AVX2__)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(q + i),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i)));
#else
    _mm_stream_si128(reinterpret_cast<__m128i*>(q + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i)));
#endif
  }
  _mm_sfence();
#else
  std::memcpy(q, p, bytes);
#endif
}

}  // namespace

void fill_copy(KernelTable& table) {
  table.stream = &stream;
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
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
