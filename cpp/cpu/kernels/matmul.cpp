// Matrix products: register tiles of some rows by up to three vectors, accumulated along k in
// order. Signed integers wrap, so they share the unsigned kernels.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "../simd/vec.hpp"

#include "../kernels.hpp"
#include "../prefetch.hpp"
#include "../simd/stream.hpp"
#include "reduce_loops.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

template <class T, int N, int... I>
ARRAYX_HD Vec<T, N> swap_pairs(Vec<T, N> x, std::integer_sequence<int, I...>) {
  return Vec<T, N>(__builtin_shufflevector(x.v, x.v, (I ^ 1)...));
}

// Operands as the real numbers of which they consist: `Parts` per item, as are the strides.
template <class T>
struct Numbers {
  const T* a;
  i64 a_row, a_column;
  const T* b;
  i64 b_row, b_column;
  CopyKernel copy;
  T* c;
  i64 c_row, n, k;
  bool add;
  // Where the caches do not hold the operands, each tile asks for what is read next: so many bytes
  // of the next rows of a, and of the next product's b.
  i64 asked_a = 0, asked_b = 0;
  const char* next_b = nullptr;
  // What the next job reads of a and b: each step of a large tile asks for so many bytes of it.
  const char *later_a = nullptr, *later_b = nullptr;
  i64 step_a = 0, step_b = 0;

  template <int Rows>
  ARRAYX_HD void ask_ahead(i64 row) {
    if (asked_a > 0) {
      for (int r = 0; r < Rows; ++r) {
        fetch_for_second(reinterpret_cast<const char*>(a + (row + Rows + r) * a_row), asked_a);
      }
    }
    fetch_for_second(next_b, asked_b);
    next_b += asked_b;
  }
};

// The sums of a tile at `a`, the rows of b from `b` on, of whose last vector `last` numbers are
// written. Keep: those rows, which are far apart, are copied to `kept` on the way, one after the
// other.
template <int Parts, int Rows, int Vectors, int N, bool Keep, class T>
ARRAYX_HD void tile(Numbers<T>& x, const T* a, const T* b, i64 b_row, [[maybe_unused]] T* kept,
                    T* c, int last) {
  using V = Vec<T, N>;
  if (x.k >= 64) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      fetch<Vectors* int{sizeof(V)}>(reinterpret_cast<const char*>(c + r * x.c_row));
    }
  }
  V sum[Parts][Rows][Vectors];
#pragma GCC unroll 2
  for (int p = 0; p < Parts; ++p) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) sum[p][r][v] = V(T(0));
    }
  }
  // An address is a register and once or twice another: three rows share a base.
  const T *a0 = a, *a3 = a + 3 * x.a_row, *a6 = a + 6 * x.a_row;
  const bool asks = Rows * Vectors >= 12 && x.step_a + x.step_b > 0;
  const char *later_a = x.later_a, *later_b = x.later_b;
  for (i64 j = 0; j < x.k; ++j) {
    V row[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) row[v] = V::load(b + v * N);
    if (asks) {
      __builtin_prefetch(later_a, 0, 2);
      __builtin_prefetch(later_b, 0, 2);
      later_a += x.step_a;
      later_b += x.step_b;
    }
    if constexpr (Keep) {
      fetch<Vectors* int{sizeof(V)}>(reinterpret_cast<const char*>(b + 8 * b_row));
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) row[v].store(kept + v * N);
      kept += Vectors * N;
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const T* const from = (r < 3 ? a0 : r < 6 ? a3 : a6) + r % 3 * x.a_row;
#pragma GCC unroll 2
      for (int p = 0; p < Parts; ++p) {
        const V s(from[p]);
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v) {
          if constexpr (std::is_floating_point_v<T>) {
            sum[p][r][v] = ops::mul_add(s, row[v], sum[p][r][v]);
          } else {
            sum[p][r][v] += s * row[v];
          }
        }
      }
    }
    b += b_row;
    a0 += x.a_column;
    a3 += x.a_column;
    a6 += x.a_column;
  }
  if (asks) {
    x.later_a = later_a;
    x.later_b = later_b;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      V out = sum[0][r][v];
      if constexpr (Parts == 2) {
        // Sums of a.re * (b.re, b.im) and of a.im * (b.re, b.im).
        V sign;
        for (int i = 0; i < N; ++i) sign.v[i] = i % 2 == 0 ? T(-1) : T(1);
        out = out + sign * swap_pairs(sum[1][r][v], std::make_integer_sequence<int, N>{});
      }
      T* p = c + r * x.c_row + v * N;
      if (v + 1 < Vectors || last >= N) {
        if (x.add) out = out + V::load(p);
        out.store(p);
      } else {
        if (x.add) out = out + V::load_first(p, last);
        out.store_first(p, last);
      }
    }
  }
}

// Rows of a tile: three quarters of the registers hold its sums.
template <int Parts, int Vectors>
constexpr int tile_rows() {
  constexpr int sums = (ops::vector_bytes == 64 ? 24 : 12) / (Parts * Vectors);
  return sums >= 8 ? 8 : sums >= 4 ? 4 : 2;
}
// Vectors of a tile. Products of integers need registers of their own.
template <class T>
inline constexpr int most_vectors = std::is_floating_point_v<T> && ops::vector_bytes >= 32 ? 3 : 2;

// Columns at … of c, so many vectors of them, of the last of which `last` numbers. Rows of a large
// b are far apart, often so that they compete for the same cache lines: they are copied where
// several tiles read them, while the first of those does, or before it where the last vector is not
// whole or b's rows are not contiguous.
template <int Parts, int Vectors, int N, class T>
ARRAYX_HD void panel(Numbers<T>& x, i64 m, i64 at, int last) {
  constexpr int most = tile_rows<Parts, Vectors>(), width = Vectors * N;
  const T* b = x.b + (x.copy ? at / Parts * x.b_column : at);
  i64 b_row = x.b_row, i = 0;
  const auto rows =
      [&]<int Rows>(std::integral_constant<int, Rows>) __attribute__((always_inline)) {
        tile<Parts, Rows, Vectors, N, false>(
            x, x.a + i * x.a_row, b, b_row, static_cast<T*>(nullptr), x.c + i * x.c_row + at, last);
        i += Rows;
      };
  constexpr bool whole = N * sizeof(T) == ops::vector_bytes;
  constexpr i64 kept_from = 1 << 15;  // bytes of b
  alignas(64) T kept[matmul_depth * width];
  if (x.copy) {
    constexpr i64 item = Parts * sizeof(T), row = width * sizeof(T);
    if (last < N) std::memset(kept, 0, x.k * row);
    x.copy(reinterpret_cast<const char*>(b), {b_row * i64{sizeof(T)}, x.b_column * i64{sizeof(T)}},
           reinterpret_cast<char*>(kept), {row, item}, x.k, (width - N + last) / Parts);
    b = kept;
    b_row = width;
  } else if (last < N) {
    for (i64 j = 0; j < x.k; ++j) {
      for (int v = 0; v + 1 < Vectors; ++v) {
        Vec<T, N>::load(b + j * b_row + v * N).store(kept + j * width + v * N);
      }
      constexpr int final = width - N;
      Vec<T, N>::load_first(b + j * b_row + final, last).store(kept + j * width + final);
    }
    b = kept;
    b_row = width;
  } else if (whole && m >= 2 * most && b_row != width && x.k * b_row * i64{sizeof(T)} > kept_from) {
    tile<Parts, most, Vectors, N, true>(x, x.a, b, b_row, kept, x.c + at, last);
    b = kept;
    b_row = width;
    i = most;
  }
  while (i + most <= m) {
    x.template ask_ahead<most>(i);
    rows(std::integral_constant<int, most>{});
  }
  if (most == 8 && i + 4 <= m) rows(std::integral_constant<int, 4>{});
  if (m - i == 3) return rows(std::integral_constant<int, 3>{});
  if (m - i == 2) return rows(std::integral_constant<int, 2>{});
  if (m - i == 1) return rows(std::integral_constant<int, 1>{});
}

// What is left of a row, less than two vectors: in whole ones, and what remains in one more if it
// must be or if there are some rows and it is more than half full, which is better than several.
// The rest in vectors of half the length, of half that and so on; of bytes, which no instruction
// multiplies by eight, in one of sixteen if there are more than two.
template <int Parts, int N, class T>
ARRAYX_HD void panels(Numbers<T>& x, i64 m, i64 at, bool must) {
  constexpr bool parts = ops::vector_bytes >= 32;  // of vectors can be read and written at once
  constexpr bool last_of_bytes = sizeof(T) == 1 && N == 16;
  constexpr int least = last_of_bytes ? 2 : N / 2;  // a panel has more of one row, too
  while (at < x.n) {
    const i64 rest = x.n - at;
    const bool pays = last_of_bytes || (parts && m >= 2);
    if (rest < N && !must && !(pays && rest > least)) break;
    const int last = static_cast<int>(std::min<i64>(rest, N));
    panel<Parts, 1, N>(x, m, at, last);
    at += last;
  }
  if constexpr (N > Parts) {
    if (at < x.n) panels<Parts, least>(x, m, at, false);
  }
}

template <class T, int Parts>
void matmul(const MatmulJob& job) {
  constexpr int N = ops::vector_bytes / sizeof(T);
  Numbers<T> x{static_cast<const T*>(job.a),
               job.a_row * Parts,
               job.a_column * Parts,
               static_cast<const T*>(job.b),
               job.b_row * Parts,
               job.b_column * Parts,
               job.copy,
               static_cast<T*>(job.c),
               job.c_row * Parts,
               job.n * Parts,
               job.k,
               job.add};
  const bool asks_a = job.distant && job.a_column == 1 && job.m > 8;  // rows of a tile
  const i64 asked_a = asks_a ? job.k * Parts * i64{sizeof(T)} : 0;
  const i64 tiles = std::max<i64>(1, (x.n - 1) / (most_vectors<T> * N) + 1) * (job.m / 8);
  const bool whole_b = job.b_column == 1 && job.b_row == job.n && job.b_next == job.k * job.n;
  const i64 lines_b = job.b_next * Parts * i64{sizeof(T)} / line_bytes;
  const i64 asked_b = job.distant && whole_b && tiles > 0 ? (lines_b / tiles + 1) * line_bytes : 0;
  x.later_a = job.next_a;
  x.later_b = job.next_b;
  if (job.next_a_bytes + job.next_b_bytes > 0) {
    const i64 steps = std::max<i64>(1, tiles * job.k);
    x.step_a = job.next_a_bytes / steps;
    x.step_b = job.next_b_bytes / steps;
  }
  for (i64 i = 0; i < job.count; ++i) {
    x.asked_b = i + 1 < job.count ? asked_b : 0;
    x.next_b = reinterpret_cast<const char*>(x.b + job.b_next * Parts);
    i64 at = 0;
    // Where there are rows enough, a vector that is not whole is one of a panel's, but one of
    // floats that half a vector or a quarter holds.
    const i64 rest = x.n % N;
    const bool fills_part = std::is_floating_point_v<T> && !job.copy && x.n > N &&
                            (rest == N / 2 || (rest == N / 4 && rest * i64{sizeof(T)} >= 16));
    const bool all_vectors = (job.copy || job.m >= 16) && 2 * x.n > N && !fills_part;
    i64 left = all_vectors ? (x.n + N - 1) / N : x.n / N;
    for (constexpr int most = most_vectors<T>; left > 1;) {
      x.asked_a = at == 0 ? asked_a : 0;
      const i64 vectors = left >= most && left != most + 1 ? most : 2;
      const i64 beyond = std::max<i64>(at + vectors * N - x.n, 0);
      const int last = N - static_cast<int>(beyond);
      if (most == 3 && vectors == 3) {
        panel<Parts, most, N>(x, job.m, at, last);
      } else {
        panel<Parts, 2, N>(x, job.m, at, last);
      }
      at += vectors * N;
      left -= vectors;
    }
    x.asked_a = at == 0 ? asked_a : 0;
    panels<Parts, N>(x, job.m, at, all_vectors);
    x.a += job.a_next * Parts;
    x.b += job.b_next * Parts;
    x.c += job.c_next * Parts;
  }
}

// ---- few long rows, or few long columns: every sum is of two rows that are read straight on
// ----------------------------------------------------------------------------------------------

template <class T, int N>
ARRAYX_HD T total(Vec<T, N> x) {
  if constexpr (N == 2) {
    return x.v[0] + x.v[1];
  } else {
    return total(ops::low_half(x) + ops::high_half(x));
  }
}

// Such sums, of rows that are read straight on and one that stays in the caches: the same whatever
// the number of rows.
template <int Rows, bool asks, class T>
ARRAYX_HD void long_dots(const T* a, i64 a_row, const T* b, T* c, i64 c_row, i64 k) {
  constexpr int N = ops::vector_bytes / sizeof(T), K = 4;
  using V = Vec<T, N>;
  V sum[Rows][K];
#pragma GCC unroll 16
  for (int q = 0; q < Rows * K; ++q) sum[q / K][q % K] = V(T(0));
  i64 l = 0;
  for (; l + K * N <= k; l += K * N) {
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const char* const here = reinterpret_cast<const char*>(a + r * a_row + l);
      fetch_page_after<K * ops::vector_bytes>(here, asks);
#pragma GCC unroll 4
      for (int q = 0; q < K; ++q) {
        sum[r][q] =
            ops::mul_add(V::load(a + r * a_row + l + q * N), V::load(b + l + q * N), sum[r][q]);
      }
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
    const T* const row = a + r * a_row;
    i64 i = l;
    for (; i + N <= k; i += N) {
      sum[r][0] = ops::mul_add(V::load(row + i), V::load(b + i), sum[r][0]);
    }
    const int rest = static_cast<int>(k - i);
    if (rest > 0) {
      sum[r][1] = ops::mul_add(V::load_first(row + i, rest), V::load_first(b + i, rest), sum[r][1]);
    }
    c[r * c_row] = total((sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]));
  }
}

// The sum of the products of n items, or numbers of two: then the real parts of the products are
// sums of all items of a times those of b, the imaginary ones of those of a times those of b in the
// other's place, of which the second of each pair counts less.
template <bool conjugates, bool halves, class T>
ARRAYX_HD void paired_dot(const T* a, const T* b, i64 n, char* out) {
  constexpr int N = ops::vector_bytes / sizeof(T), K = 4;
  using V = Vec<T, N>;
  constexpr std::make_integer_sequence<int, N> lanes{};
  const auto load = [](const T* p) { return halves ? V::load_in_halves(p) : V::load(p); };
  if constexpr (conjugates) n *= 2;
  V sum[K], crossed[K];
#pragma GCC unroll 4
  for (int q = 0; q < K; ++q) sum[q] = crossed[q] = V(T(0));
  const auto take = [&](V x, V y, int q) __attribute__((always_inline)) {
    sum[q] = ops::mul_add(x, y, sum[q]);
    if constexpr (conjugates) crossed[q] = ops::mul_add(x, swap_pairs(y, lanes), crossed[q]);
  };
  i64 l = 0;
  for (; l + K * N <= n; l += K * N) {
#pragma GCC unroll 4
    for (int q = 0; q < K; ++q) take(load(a + l + q * N), load(b + l + q * N), q);
  }
  for (; l + N <= n; l += N) take(load(a + l), load(b + l), 0);
  if (const int rest = static_cast<int>(n - l); rest > 0) {
    take(V::load_first(a + l, rest), V::load_first(b + l, rest), 1);
  }
  T parts[2] = {total((sum[0] + sum[1]) + (sum[2] + sum[3])), T(0)};
  if constexpr (conjugates) {
    const V apart = (crossed[0] + crossed[1]) + (crossed[2] + crossed[3]);
    const V differences = apart - swap_pairs(apart, lanes);  // and their negatives
    for (int i = 0; i < N; i += 2) parts[1] += differences[i];
  }
  __builtin_memcpy(out, parts, sizeof(T) << conjugates);
}

template <bool conjugates, class T>
void paired_dots(const PairedDotsJob& job) {
  with_halves(job.distant, [&]<bool halves>(std::bool_constant<halves>) {
    constexpr i64 size = sizeof(T) << conjugates;
    for (i64 r = 0; r < job.rows; ++r) {
      paired_dot<conjugates, halves>(reinterpret_cast<const T*>(job.a + r * job.a_row),
                                     reinterpret_cast<const T*>(job.b + r * job.b_row), job.n,
                                     job.out + r * size);
    }
  });
}

// Four rows at once, which memory sends faster by a quarter to a half than one after the other.
template <bool asks, class T>
void rows_of_dots(const DotsJob& job) {
  constexpr int together = 4;
  const T* const a = static_cast<const T*>(job.a);
  const T* const b = static_cast<const T*>(job.b);
  T* const c = static_cast<T*>(job.c);
  i64 i = 0;
  for (; i + together <= job.m; i += together) {
    long_dots<together, asks>(a + i * job.a_row, job.a_row, b, c + i * job.c_row, job.c_row, job.k);
  }
  for (; i < job.m; ++i) long_dots<1, asks>(a + i * job.a_row, 0, b, c + i * job.c_row, 0, job.k);
}

// Some rows by a number each, added to c, or its beginning. What stands a page further is asked
// for, or, at the end of the rows, in those that follow them.
template <int Rows, bool begins, bool asks, class T>
ARRAYX_HD void add_weighted(const T* a, i64 a_row, const T* b, T* c, i64 n) {
  constexpr int N = ops::vector_bytes / sizeof(T), K = 4;
  constexpr i64 page = page_bytes / i64{sizeof(T)};
  using V = Vec<T, N>;
  V weight[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) weight[r] = V(b[r]);
  i64 j = 0;
  for (; j + K * N <= n; j += K * N) {
    const i64 ahead = j + page < n ? page : page + Rows * a_row - n;
    V sum[K];
#pragma GCC unroll 4
    for (int q = 0; q < K; ++q) sum[q] = begins ? V(T(0)) : V::load(c + j + q * N);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const T* const here = a + r * a_row + j;
      if constexpr (asks) fetch<K * ops::vector_bytes>(reinterpret_cast<const char*>(here + ahead));
#pragma GCC unroll 4
      for (int q = 0; q < K; ++q) {
        sum[q] = ops::mul_add(V::load(here + q * N), weight[r], sum[q]);
        keep_order();  // a Zen 4 takes up to a tenth longer in another
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < K; ++q) sum[q].store(c + j + q * N);
  }
  for (; j < n; j += N) {
    const int rest = n - j < N ? static_cast<int>(n - j) : N;
    V sum = begins ? V(T(0)) : V::load_first(c + j, rest);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      sum = ops::mul_add(V::load_first(a + r * a_row + j, rest), weight[r], sum);
    }
    sum.store_first(c + j, rest);
  }
}

template <int together, bool asks, class T>
void weighted_rows(const DotsJob& job) {
  const T* const a = static_cast<const T*>(job.a);
  const T* const b = static_cast<const T*>(job.b);
  T* const c = static_cast<T*>(job.c);
  for (i64 l = 0; l < job.k; l += together) {
    with_constant<together>(job.k - l, [&](auto rows) {
      constexpr int count = decltype(rows)::value;
      const T* const first = a + l * job.a_row;
      if (l == 0) {
        add_weighted<count, true, asks>(first, job.a_row, b, c, job.n);
      } else {
        add_weighted<count, false, asks>(first, job.a_row, b + l, c, job.n);
      }
    });
  }
}
template <class T>
void weighted_rows(const DotsJob& job) {
  with_asking([&](auto way) {
    constexpr int together = way == Asking::nothing ? 8 : 4;
    weighted_rows<together, way == Asking::pages, T>(job);
  });
}

// Such a sum of a short row.
template <class T>
ARRAYX_HD T short_dot(const T* a, const T* b, i64 k) {
  constexpr int N = ops::vector_bytes / sizeof(T);
  using V = Vec<T, N>;
  V sum(T(0));
  i64 l = 0;
  for (; l + N <= k; l += N) sum = ops::mul_add(V::load(a + l), V::load(b + l), sum);
  const int rest = static_cast<int>(k - l);
  if (rest > 0) sum = ops::mul_add(V::load_first(a + l, rest), V::load_first(b + l, rest), sum);
  return total(sum);
}

// The same of as many rows side by side as a vector has lanes, or eight: their vectors become one
// of sums.
template <class T>
void short_dots(const T* a, i64 a_row, const T* b, T* c, i64 c_row, i64 m, i64 k) {
  constexpr int N = ops::vector_bytes / sizeof(T), Rows = N < 8 ? 8 : N;
  constexpr int ahead = 1024;  // bytes
  using V = Vec<T, N>;
  const int rest = static_cast<int>(k % N);
  const i64 whole = k - rest;
  // Those at row(0), row(1) …, of which `used` count.
  const auto some = [&](auto row, T* to, int used) __attribute__((always_inline)) {
    V sum[Rows];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) sum[r] = V(T(0));
    for (i64 l = 0; l < whole; l += N) {
      const V x = V::load(b + l);
      if (l * i64{sizeof(T)} % line_bytes == 0) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) {
          __builtin_prefetch(reinterpret_cast<const char*>(row(r) + l) + ahead);
        }
      }
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) sum[r] = ops::mul_add(V::load(row(r) + l), x, sum[r]);
    }
    if (rest > 0) {
      const V x = V::load_first(b + whole, rest);
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        sum[r] = ops::mul_add(V::load_first(row(r) + whole, rest), x, sum[r]);
      }
    }
#pragma GCC unroll 4
    for (int first = 0; first < Rows; first += N) {
      const V sums =
          fold_rows<N>([&](int r) { return sum[r]; }, first, [](V x, V y) { return x + y; });
      const int count = std::min(N, used - first);
      if (c_row == 1 && count == N) {
        sums.store(to + first);
      } else {
        for (int r = 0; r < count; ++r) to[(first + r) * c_row] = sums[r];
      }
    }
  };
  i64 i = 0;
  for (; i + Rows <= m; i += Rows) {
    const T *a0 = a + i * a_row, *a3 = a0 + 3 * a_row, *a6 = a3 + 3 * a_row;
    some(
        [&](int r) {
          return Rows == 8 ? (r < 3 ? a0 : r < 6 ? a3 : a6) + r % 3 * a_row : a0 + r * a_row;
        },
        c + i * c_row, Rows);
  }
  if (i == m) return;
  const T* rows[Rows];
  for (int r = 0; r < Rows; ++r) rows[r] = a + std::min(i + r, m - 1) * a_row;
  some([&](int r) { return rows[r]; }, c + i * c_row, static_cast<int>(m - i));
}

template <int Rows, int Columns, class T>
ARRAYX_HD void dots_tile(const T* a, i64 a_row, const T* b, i64 b_row, T* c, i64 c_row,
                         i64 c_column, i64 k, bool add) {
  constexpr int N = ops::vector_bytes / sizeof(T);
  using V = Vec<T, N>;
  V sum[Rows][Columns];
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < Columns; ++q) sum[r][q] = V(T(0));
  }
  const auto take = [&](auto load) {
    V x[Columns];
#pragma GCC unroll 4
    for (int q = 0; q < Columns; ++q) x[q] = load(b + q * b_row);
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
      const V y = load(a + r * a_row);
#pragma GCC unroll 4
      for (int q = 0; q < Columns; ++q) sum[r][q] = ops::mul_add(y, x[q], sum[r][q]);
    }
  };
  i64 l = 0;
  for (; l + N <= k; l += N) take([&](const T* p) { return V::load(p + l); });
  const int rest = static_cast<int>(k - l);
  if (rest > 0) take([&](const T* p) { return V::load_first(p + l, rest); });
#pragma GCC unroll 4
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int q = 0; q < Columns; ++q) {
      T& out = c[r * c_row + q * c_column];
      const T s = total(sum[r][q]);
      out = add ? out + s : s;
    }
  }
}

template <class T>
void dots(const DotsJob& job) {
  constexpr int most_rows = ops::vector_bytes == 64 ? 4 : 2, most_columns = 4;  // all in registers
  // Rows that are read for several tiles stay in the L1 cache: so many bytes of each.
  constexpr i64 kept = 8192;
  const i64 depth = job.n > most_columns ? kept / i64{sizeof(T)} : job.k;
  const T* const a = static_cast<const T*>(job.a);
  const T* const b = static_cast<const T*>(job.b);
  T* const c = static_cast<T*>(job.c);
  if (job.n == 1) {
    if (job.k * i64{sizeof(T)} <= short_dots_bytes) {
      if (job.m > 1) return short_dots(a, job.a_row, b, c, job.c_row, job.m, job.k);
      *c = short_dot(a, b, job.k);
      return;
    }
    return with_asking([&](auto way) { rows_of_dots<way == Asking::pages, T>(job); });
  }
  for (i64 i = 0; i < job.m; i += most_rows) {
    for (i64 l = 0; l < job.k; l += depth) {
      for (i64 j = 0; j < job.n; j += most_columns) {
        with_constant<most_rows>(job.m - i, [&](auto rows) {
          with_constant<most_columns>(job.n - j, [&](auto columns) {
            dots_tile<decltype(rows)::value, decltype(columns)::value>(
                a + i * job.a_row + l, job.a_row, b + j * job.b_row + l, job.b_row,
                c + i * job.c_row + j * job.c_column, job.c_row, job.c_column,
                std::min(depth, job.k - l), l > 0);
          });
        });
      }
    }
  }
}

}  // namespace

void fill_matmul(KernelTable& table) {
  const auto put = [&table](DType d, MatmulKernel f) { table.matmul[static_cast<int>(d)] = f; };
  put(DType::int8, &matmul<u8, 1>);
  put(DType::uint8, &matmul<u8, 1>);
  put(DType::int16, &matmul<u16, 1>);
  put(DType::uint16, &matmul<u16, 1>);
  put(DType::int32, &matmul<u32, 1>);
  put(DType::uint32, &matmul<u32, 1>);
  put(DType::int64, &matmul<u64, 1>);
  put(DType::uint64, &matmul<u64, 1>);
  put(DType::float32, &matmul<f32, 1>);
  put(DType::float64, &matmul<f64, 1>);
  put(DType::complex64, &matmul<f32, 2>);
  put(DType::complex128, &matmul<f64, 2>);
  table.multiplies_large = ops::vector_bytes >= 32;  // narrower tiles load more than they add
  table.paired_dots[0][0] = &paired_dots<false, f32>;
  table.paired_dots[0][1] = &paired_dots<false, f64>;
  table.paired_dots[1][0] = &paired_dots<true, f32>;
  table.paired_dots[1][1] = &paired_dots<true, f64>;
  table.dots[0] = &dots<f32>;
  table.dots[1] = &dots<f64>;
  table.weighted_rows[0] = &weighted_rows<f32>;
  table.weighted_rows[1] = &weighted_rows<f64>;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
