// What the kernels of reductions, arg-reductions, scans and products with a vector share: loads
// that widen, vectors that end before their last lane, and many short rows folded side by side.
// Included by the kernel sources alone, inside no namespace.
#pragma once

#include <utility>

#include "../../ops/reductions.hpp"
#include "../kernels.hpp"
#include "../prefetch.hpp"
#include "../simd/transpose.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {

// Parts of fill_reduce(), which fills the table of reductions.
void fill_arg_reduce(ReduceKernels& k);
void fill_scan(ReduceKernels& k);

namespace {

using ops::Vec;
using std::int64_t;

// f(dtype, T{}) for each dtype of elements with the type that kernels read it as; float16 is cast.
template <class F>
void for_each_dtype(F f) {
  f(DType::bool_, u8{});
  f(DType::int8, i8{});
  f(DType::int16, i16{});
  f(DType::int32, i32{});
  f(DType::int64, i64{});
  f(DType::uint8, u8{});
  f(DType::uint16, u16{});
  f(DType::uint32, u32{});
  f(DType::uint64, u64{});
  f(DType::float32, f32{});
  f(DType::float64, f64{});
  f(DType::complex64, ops::Complex<f32>{});
  f(DType::complex128, ops::Complex<f64>{});
}
// The same for accumulators: numbers, integers as unsigned, which wrap.
template <class F>
void for_each_accumulator(F f) {
  for_each_dtype([f]<class T>(DType d, T) {
    if (d != DType::bool_) f(d, ops::without_sign_t<T>{});
  });
}

template <class T>
ARRAYX_HD T load_item(const char* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class T>
ARRAYX_HD void store_item(char* p, T x) {
  __builtin_memcpy(p, &x, sizeof x);
}

template <class A, class T>
ARRAYX_HD A convert_item(T x) {
  if constexpr (ops::same_type_v<A, T>) {
    return x;
  } else {
    return static_cast<A>(x);
  }
}

// f(whether vectors are read in halves), see reads_in_halves of caches.cpp.
template <class F>
ARRAYX_HD void with_halves(bool wanted, F f) {
  if constexpr (ops::vector_bytes == 64) {
    if (wanted && reads_in_halves) return f(std::true_type());
  }
  f(std::false_type());
}

// f(how this processor's loops ask), of the ways that processors of this instruction set have:
// loops are made for no others, and without AVX2 for none.
template <class F>
ARRAYX_HD auto with_asking(F f) {
  using Way = Asking;
  if constexpr (ops::vector_bytes == 64) {
    if (reading_asks == Way::nothing) return f(std::integral_constant<Way, Way::nothing>());
  }
  if constexpr (ops::vector_bytes == 32) {
    if (reading_asks == Way::near) return f(std::integral_constant<Way, Way::near>());
  }
  constexpr Way usual = ops::vector_bytes == 16 ? Way::nothing : Way::pages;
  return f(std::integral_constant<Way, usual>());
}

// W elements of T at p, as lanes of A.
template <class T, class A, int W, bool halves = false>
ARRAYX_HD Vec<A, W> load_as(const char* p) {
  using V = Vec<T, W>;
  return ops::convert<Vec<A, W>>(halves ? V::load_in_halves(p) : V::load(p));
}

// f(a constant): n, or Most if that is less.
template <int Most, class F>
ARRAYX_HD void with_constant(int64_t n, F f) {
  if constexpr (Most > 1) {
    if (n < Most) return with_constant<Most - 1>(n, f);
  }
  f(std::integral_constant<int, Most>{});
}

// The first `count` lanes at p, 0 < count < W; the others are zero. By a mask where there is one: a
// copy of so many bytes is a call.
template <class T, int W>
ARRAYX_HD Vec<T, W> load_part(const void* p, int64_t count) {
#if defined(__AVX512F__) && defined(__AVX512BW__)
  if constexpr (W * sizeof(T) == 64) {
    using native = typename Vec<T, W>::native;
    const std::uint64_t lanes = ~std::uint64_t(0) >> (64 - count);
    if constexpr (sizeof(T) == 8) {
      return Vec<T, W>(__builtin_bit_cast(native, _mm512_maskz_loadu_epi64(__mmask8(lanes), p)));
    } else if constexpr (sizeof(T) == 4) {
      return Vec<T, W>(__builtin_bit_cast(native, _mm512_maskz_loadu_epi32(__mmask16(lanes), p)));
    } else if constexpr (sizeof(T) == 2) {
      return Vec<T, W>(__builtin_bit_cast(native, _mm512_maskz_loadu_epi16(__mmask32(lanes), p)));
    } else {
      return Vec<T, W>(__builtin_bit_cast(native, _mm512_maskz_loadu_epi8(__mmask64(lanes), p)));
    }
  }
#endif
  return Vec<T, W>::load_first(p, int(count));
}
// Writes the first `count` lanes, one at least: masks of bytes are no faster than pieces.
template <class T, int W>
ARRAYX_HD void store_part(Vec<T, W> x, void* p, int64_t count) {
#if defined(__AVX512F__)
  if constexpr (W * sizeof(T) == 64 && sizeof(T) >= 4) {
    const std::uint64_t lanes = ~std::uint64_t(0) >> (64 - count);
    const __m512i bits = __builtin_bit_cast(__m512i, x.v);
    if constexpr (sizeof(T) == 8) {
      _mm512_mask_storeu_epi64(p, __mmask8(lanes), bits);
    } else {
      _mm512_mask_storeu_epi32(p, __mmask16(lanes), bits);
    }
    return;
  }
#endif
  x.store_few(p, static_cast<int>(count));
}
#if defined(__AVX512F__)
// Lanes of x and, behind them, of y, by their numbers; each is a vector of 64 bytes.
template <class T, int W, class I>
ARRAYX_HD Vec<T, W> across(Vec<T, W> x, Vec<T, W> y, I lanes) {
  static_assert(W * sizeof(T) == 64 && sizeof(T) >= 4);
  using native = typename Vec<T, W>::native;
  const __m512i a = __builtin_bit_cast(__m512i, x.v), b = __builtin_bit_cast(__m512i, y.v);
  const __m512i i = __builtin_bit_cast(__m512i, lanes.v);
  if constexpr (sizeof(T) == 8) {
    return Vec<T, W>(__builtin_bit_cast(native, _mm512_permutex2var_epi64(a, i, b)));
  } else {
    return Vec<T, W>(__builtin_bit_cast(native, _mm512_permutex2var_epi32(a, i, b)));
  }
}
#endif
template <class T, class A, int W>
ARRAYX_HD Vec<A, W> load_part_as(const char* p, int64_t count) {
  return ops::convert<Vec<A, W>>(load_part<T, W>(p, count));
}

// The columns of rows that follow each other, with those that stand between them where these are
// few; else only `width`.
constexpr int64_t columns_with_gaps(int64_t row_stride, int64_t item, int64_t width) {
  const int64_t all = row_stride / item;
  const bool few =
      row_stride % item == 0 && all > width && (all <= 2 * width || row_stride <= line_bytes);
  return few ? all : width;
}

// Of n rows of few columns, which follow each other or have a few others between them: so many are
// read as one that vectors fill, of rows of so many columns, which makes `count` of them.
inline constexpr int64_t most_joined = 512;
struct JoinedRows {
  int64_t rows, columns, count;
  bool pays() const { return rows > 1; }
};
constexpr JoinedRows joined_rows(int64_t row_stride, int64_t item, int64_t n, int64_t width,
                                 int64_t least_count = 16) {
  constexpr int64_t longest = 2 * line_bytes;
  int64_t rows = 1;
  const int64_t all = columns_with_gaps(row_stride, item, width);
  const bool follow = row_stride == all * item && row_stride <= longest;
  const int64_t whole = all == width ? n : n - 1;  // nothing need be behind the last one
  while (follow && 2 * rows * all <= most_joined && 2 * rows * least_count <= whole) rows *= 2;
  return rows > 1 ? JoinedRows{rows, all, whole / rows} : JoinedRows{1, width, n};
}
// out[j] of the columns of n rows in any order, by run(first row, row stride, rows, columns, out)
// and combine(left, right, columns). lanes: most_joined of them, or `width` where they are more.
template <class O, class Run, class Combine>
ARRAYX_HD void by_joined_rows(int64_t row_stride, int64_t item, int64_t n, int64_t width, O* lanes,
                              O* out, const Run& run, const Combine& combine) {
  for (int64_t taken = 0; taken < n;) {
    const JoinedRows joined = joined_rows(row_stride, item, n - taken, width);
    if (taken == 0 && !joined.pays()) return run(0, row_stride, n, width, out);
    const int64_t all = joined.rows * joined.columns;
    run(taken, joined.rows * row_stride, joined.count, all, lanes);
    for (int64_t half = all / 2; half >= joined.columns; half /= 2) {
      combine(lanes, lanes + half, half);
    }
    if (taken > 0) {
      combine(out, lanes, width);
    } else {
      __builtin_memcpy(out, lanes, width * sizeof(O));
    }
    taken += joined.rows * joined.count;
  }
}

// Rows that a kernel may read `beyond` bytes past their end: memory of the rows after them.
constexpr int64_t rows_with_room(int64_t rows, int64_t row_stride, int64_t beyond) {
  if (beyond == 0) return rows;
  if (row_stride <= 0) return 0;
  const int64_t without = (beyond - 1) / row_stride + 1;
  return rows > without ? rows - without : 0;
}

// For functions of a row that are folded: called, they pass vectors through memory, and rows take
// twice as long. The baseline stays as small as it is.
#if defined(__AVX2__)
#define ARRAYX_INLINE_ROW __attribute__((always_inline))
#else
#define ARRAYX_INLINE_ROW
#endif

// Count vectors row(first), row(first + 1) …, each combined by halves until W / Count lanes are
// left of it, which stand next to each other in the result. Or groups of Lanes of each are combined
// so, until Lanes / Count are left. Least: row(first), row(first + Least) … hold so many already.
template <int Count, int Lanes = 0, int Least = 1, class Row, class Combine>
ARRAYX_HD auto fold_rows(const Row& row, int first, const Combine& combine) {
  if constexpr (Count == Least) {
    return row(first);
  } else {
    auto x = fold_rows<Count / 2, Lanes, Least>(row, first, combine);
    auto y = fold_rows<Count / 2, Lanes, Least>(row, first + Count / 2, combine);
    constexpr int N = 2 * (Lanes ? Lanes : ops::lane_traits<decltype(x)>::lanes) / Count;
    return combine(halves<0, N>(x, y), halves<1, N>(x, y));
  }
}

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
