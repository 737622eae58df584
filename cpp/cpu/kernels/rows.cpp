// Rows of sums, differences, products and quotients of operands that are repeated along each row or
// are every second element of it. Packing such operands first, as for other operations, takes
// longer than the arithmetic: 1.5 to 2 times the time of x + column, 1.2 that of x[::2] + y[::2], 2
// to 3 times that of x[::2] *= 1. So does a call for each short row of operands that are
// contiguous: on a Zen 3 twice the time of rows of 16 float32.
#include "elementwise_loops.hpp"

namespace arrayx::cpu::ARRAYX_ISA {

namespace {

template <class T, Spacing S>
struct Lying {
  static constexpr int lanes = lanes_of<T>;
  using V = Vec<T, lanes>;

  explicit Lying(const char* row) : p(row) {}
  // `lanes` elements from the i-th on; of every second, more must follow.
  ARRAYX_HD V load(i64 i) const {
    if constexpr (S == Spacing::second) {
      const char* const q = p + 2 * i * i64{sizeof(T)};
      return both(V::load(q), V::load(q + sizeof(V)));
    } else {
      return V::load(p + i * i64{sizeof(T)});
    }
  }
  // The first n of them, up to all; nothing behind the last is read.
  ARRAYX_HD V load_first(i64 i, int n) const {
    if constexpr (S == Spacing::second) {
      const char* const q = p + 2 * i * i64{sizeof(T)};
      const int span = 2 * n - 1, first = span < lanes ? span : lanes;
      return both(V::load_first(q, first), V::load_first(q + sizeof(V), span - first));
    } else {
      return V::load_first(p + i * i64{sizeof(T)}, n);
    }
  }

 private:
  static ARRAYX_HD V both(V a, V b) {
    return every_second<0>(a, b, std::make_integer_sequence<int, lanes>{});
  }
  const char* p;
};
template <class T>
struct Lying<T, Spacing::repeated> {
  using V = Vec<T, lanes_of<T>>;
  explicit Lying(const char* row) {
    T item;
    __builtin_memcpy(&item, row, sizeof item);
    all = V(item);
  }
  ARRAYX_HD V load(i64) const { return all; }
  ARRAYX_HD V load_first(i64, int) const { return all; }

 private:
  V all;
};

// The first n elements of x, up to all, to every second one from the i-th on; what lies between is
// not written. By stores with a mask, or one by one from a register.
template <class T, int N>
ARRAYX_HD void store_every_second(Vec<T, N> x, char* row, i64 i, int n) {
  char* const q = row + 2 * i * i64{sizeof(T)};
#if defined(__AVX512F__)
  using Indices = std::make_integer_sequence<int, N>;
  const unsigned mask = _bzhi_u32(0x55555555, 2 * static_cast<unsigned>(n));
  const __m512i low = __builtin_bit_cast(__m512i, interleave<Vec<T, N>, 0>(x, x, Indices{}));
  const __m512i high = __builtin_bit_cast(__m512i, interleave<Vec<T, N>, 1>(x, x, Indices{}));
  if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_epi32(q, static_cast<__mmask16>(mask), low);
    _mm512_mask_storeu_epi32(q + 64, static_cast<__mmask16>(mask >> 16), high);
  } else {
    _mm512_mask_storeu_epi64(q, static_cast<__mmask8>(mask), low);
    _mm512_mask_storeu_epi64(q + 64, static_cast<__mmask8>(mask >> 8), high);
  }
#else
  const auto put = [&](int k) {
    const T item = x[k];
    __builtin_memcpy(q + 2 * k * i64{sizeof(T)}, &item, sizeof item);
  };
  if (n < N) {
    for (int k = 0; k < n; ++k) put(k);
  } else {
    ARRAYX_UNROLL
    for (int k = 0; k < N; ++k) put(k);
  }
#endif
}

// Together: vectors of results that are found before the first of them is written, as in
// vector_loop, and for its reasons.
template <class F, class T, Spacing A, Spacing B, Spacing Out, int Together>
[[gnu::noinline, gnu::aligned(line_bytes)]] void rows_by(const RowsJob& job) {
  constexpr int lanes = lanes_of<T>;
  const char *a = static_cast<const char*>(job.in[0]), *b = static_cast<const char*>(job.in[1]);
  char* out = static_cast<char*>(job.out);
  const F f;
  for (i64 r = 0; r < job.rows; ++r, a += job.in_row[0], b += job.in_row[1], out += job.out_row) {
    const Lying<T, A> x(a);
    const Lying<T, B> y(b);
    i64 i = 0;
    if constexpr (Out == Spacing::second) {
      for (; i + lanes < job.n; i += lanes) {
        store_every_second(f(x.load(i), y.load(i)), out, i, lanes);
      }
    } else {
      for (; Together > 1 && i + Together * lanes < job.n; i += Together * lanes) {
        fetch<Together * lanes * sizeof(T)>(out + i * i64{sizeof(T)} + result_ahead);
        typename Lying<T, A>::V z[Together];
        ARRAYX_UNROLL
        for (int k = 0; k < Together; ++k) z[k] = f(x.load(i + k * lanes), y.load(i + k * lanes));
        ARRAYX_UNROLL
        for (int k = 0; k < Together; ++k) store(z[k], out, i + k * lanes);
      }
      for (; i + lanes < job.n; i += lanes) {
        fetch<lanes * sizeof(T)>(out + i * i64{sizeof(T)} + result_ahead);
        store(f(x.load(i), y.load(i)), out, i);
      }
    }
    const int rest = static_cast<int>(job.n - i);
    if constexpr (Out == Spacing::second) {
      store_every_second(f(x.load_first(i, rest), y.load_first(i, rest)), out, i, rest);
    } else if (A != Spacing::second && B != Spacing::second && job.n >= lanes &&
               (rest == lanes || (out != a && out != b))) {
      // With elements that are found once more, unless those have been overwritten.
      store(f(x.load(job.n - lanes), y.load(job.n - lanes)), out, job.n - lanes);
    } else {
      store_first(f(x.load_first(i, rest), y.load_first(i, rest)), out, i, rest);
    }
  }
}

// Rows of few vectors, which may take half as long again where a loop for several comes first, go
// without one.
template <class F, class T, Spacing A, Spacing B, Spacing Out>
void rows(const RowsJob& job) {
  constexpr int together = several<T>;
  if constexpr (A != Spacing::second && B != Spacing::second && Out != Spacing::second) {
    if (job.n > 2 * together * lanes_of<T>) return rows_by<F, T, A, B, Out, together>(job);
  }
  rows_by<F, T, A, B, Out, 1>(job);
}

template <class F, class T, Spacing A, Spacing Out>
RowsKernel with(Spacing b) {
  if (b == Spacing::repeated) return &rows<F, T, A, Spacing::repeated, Out>;
  if (b == Spacing::second) return &rows<F, T, A, Spacing::second, Out>;
  return &rows<F, T, A, Spacing::next, Out>;
}
template <class F, class T>
RowsKernel between(Spacing a, Spacing b, Spacing out) {
  if (out == Spacing::second) {  // of operations in place alone
    if (a == out) return with<F, T, Spacing::second, Spacing::second>(b);
    return nullptr;
  }
  if (a == Spacing::repeated) return with<F, T, Spacing::repeated, Spacing::next>(b);
  if (a == Spacing::second) return with<F, T, Spacing::second, Spacing::next>(b);
  return with<F, T, Spacing::next, Spacing::next>(b);
}
template <class F>
RowsKernel of_dtype(DType dtype, Spacing a, Spacing b, Spacing out) {
  if (dtype == DType::float32) return between<F, f32>(a, b, out);
  if (dtype == DType::float64) return between<F, f64>(a, b, out);
  return nullptr;
}

RowsKernel kernel_of(Op op, DType dtype, Spacing a, Spacing b, Spacing out) {
  switch (op) {
    case Op::add:
      return of_dtype<ops::Add>(dtype, a, b, out);
    case Op::subtract:
      return of_dtype<ops::Subtract>(dtype, a, b, out);
    case Op::multiply:
      return of_dtype<ops::Multiply>(dtype, a, b, out);
    case Op::divide:
      return of_dtype<ops::Divide>(dtype, a, b, out);
    default:
      return nullptr;
  }
}

}  // namespace

void fill_rows(KernelTable& table) {
  table.rows = &kernel_of;
}

}  // namespace arrayx::cpu::ARRAYX_ISA
