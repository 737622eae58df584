// Reductions, arg-reductions and scans over contiguous rows or columns, compiled per instruction
// set. The association is the one reduce_kernels.hpp states, whatever the vector width.
#include "../../ops/reductions.hpp"

#include "../kernels.hpp"
#include "../simd/vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;
using std::int64_t;

template <class T>
T load_item(const char* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class T>
void store_item(char* p, T x) {
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

// Widening of integers in steps of two: the compiler takes a wider step lane by lane.
template <class A, class T, int W>
ARRAYX_HD Vec<A, W> widen(Vec<T, W> x) {
  if constexpr (!ops::is_float_v<A> && sizeof(A) > 2 * sizeof(T)) {
    using ints = ops::ints_of_width<2 * sizeof(T)>;
    if constexpr (ops::is_signed_v<T>) {
      return widen<A>(ops::convert<Vec<typename ints::s, W>>(x));
    } else {
      return widen<A>(ops::convert<Vec<typename ints::u, W>>(x));
    }
  } else {
    return ops::convert<Vec<A, W>>(x);
  }
}

// W elements of T at p, as lanes of A.
template <class T, class A, int W>
ARRAYX_HD Vec<A, W> load_as(const char* p) {
  if constexpr (ops::same_type_v<T, A>) {
    return Vec<A, W>::load(p);
  } else {
    return widen<A>(Vec<T, W>::load(p));
  }
}

// Sums and products of integers, and extremes of anything, come out the same in every order, except
// for which of two zeros or NaNs is kept: floating extremes follow the order like sums.
template <class A>
inline constexpr bool order_free = !ops::is_float_v<A> && !ops::is_complex_v<A>;

// ---- rows -------------------------------------------------------------------------------------

// U: consecutive accumulators that make one element: 2 for sums of complex numbers, whose parts add
// up independently.
template <class Op, class T, class A, int U>
struct Rows {
  static constexpr int P = U * reduce_lanes(sizeof(A));
  static constexpr int W = ops::vector_bytes / int(sizeof(A));
  static constexpr int R = P / W;  // registers per accumulator row
  static constexpr int64_t C = 16 * P;
  using V = Vec<A, W>;

  struct Row {
    V v[R];
  };

  // Lanes combined by halves until one element is left.
  template <int N>
  ARRAYX_HD static void fold_vector(Vec<A, N> v, A* out) {
    if constexpr (N == U) {
      v.store(out);
    } else if constexpr (N == 2) {
      out[0] = Op::combine(v[0], v[1]);
    } else {
      fold_vector<N / 2>(Op::combine(ops::low_half(v), ops::high_half(v)), out);
    }
  }
  ARRAYX_HD static void fold(Row row, A* out) {
    ARRAYX_UNROLL
    for (int half = R / 2; half > 0; half /= 2) {
      ARRAYX_UNROLL
      for (int i = 0; i < half; ++i) row.v[i] = Op::combine(row.v[i], row.v[i + half]);
    }
    fold_vector<W>(row.v[0], out);
  }

  // K full chunks side by side: one chunk alone waits for the latency of its sixteen additions.
  template <int K>
  static void full_chunks(const char* p, A center, A (*out)[U]) {
    const V c(center);
    Row row[K];
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) {
        row[k].v[r] = Op::map(load_as<T, A, W>(p + (k * C + r * W) * int64_t(sizeof(T))), c);
      }
    }
    ARRAYX_UNROLL
    for (int i = 1; i < 16; ++i) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        ARRAYX_UNROLL
        for (int r = 0; r < R; ++r) {
          const V x = load_as<T, A, W>(p + (k * C + i * P + r * W) * int64_t(sizeof(T)));
          row[k].v[r] = Op::combine(row[k].v[r], Op::map(x, c));
        }
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) fold(row[k], out[k]);
  }

  // The last, partial chunk of 1 ≤ n < C. Lanes without an element hold the identity, which leaves
  // the others unchanged bit for bit.
  static void partial_chunk(const char* p, int64_t n, A center, A* out) {
    if (n < P) {
      A lane[P];
      for (int64_t i = 0; i < n; ++i) {
        lane[i] = Op::map(convert_item<A>(load_item<T>(p + i * sizeof(T))), center);
      }
      int64_t live = n;
      for (int64_t half = P / 2; half >= U; half /= 2) {
        for (int64_t i = 0; i + half < live; ++i) {
          lane[i] = Op::combine(lane[i], lane[i + half]);
        }
        if (live > half) live = half;
      }
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) out[u] = lane[u];
      return;
    }
    const V c(center);
    Row row;
    ARRAYX_UNROLL
    for (int r = 0; r < R; ++r) {
      row.v[r] = Op::map(load_as<T, A, W>(p + r * W * int64_t(sizeof(T))), c);
    }
    int64_t i = P;
    for (; i + P <= n; i += P) {
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) {
        const V x = load_as<T, A, W>(p + (i + r * W) * int64_t(sizeof(T)));
        row.v[r] = Op::combine(row.v[r], Op::map(x, c));
      }
    }
    if (i < n) {
      A lane[P];
      int64_t j = 0;
      for (; i + j < n; ++j) {
        lane[j] = Op::map(convert_item<A>(load_item<T>(p + (i + j) * sizeof(T))), center);
      }
      for (; j < P; ++j) lane[j] = Op::template identity<A>();
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) row.v[r] = Op::combine(row.v[r], V::load(lane + r * W));
    }
    fold(row, out);
  }

  static constexpr bool is_extreme =
      ops::same_type_v<Op, ops::Max> || ops::same_type_v<Op, ops::Min>;
  ARRAYX_HD static V better(V x, V best) {
    if constexpr (ops::same_type_v<Op, ops::Max>) {
      return select(x > best, x, best);
    } else {
      return select(x < best, x, best);
    }
  }

  // An extreme of n ≥ C floating numbers that is the same in whatever order it is found, since no
  // zero, infinity or NaN has a part in it. False, with nothing written, where one may have. It
  // takes a third of the time of combining in order, where NaN propagates and chunks are folded.
  static bool plain_extreme(const char* p, int64_t n, A* out) {
    constexpr int K = 4;
    constexpr int64_t step = K * W, block = 64 * step;
    const auto at = [p](int64_t i) { return V::load(p + i * int64_t(sizeof(T))); };
    V best[K], doubt(A(0));
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) best[k] = at(0);
    for (int64_t i = 0; i + W <= n;) {
      const int64_t end = n - i < block ? n : i + block;
      for (; i + step <= end; i += step) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          const V x = at(i + k * W);
          doubt = doubt + (x - x);  // NaN after a NaN or an infinity
          best[k] = better(x, best[k]);
        }
      }
      for (; i + W <= end; i += W) {
        const V x = at(i);
        doubt = doubt + (x - x);
        best[0] = better(x, best[0]);
      }
      if (any(doubt != doubt)) return false;
    }
    const V last = at(n - W);  // some of it once more
    if (any(last - last != V(A(0)))) return false;
    best[0] = better(last, better(best[1], best[0]));
    best[0] = better(better(best[3], best[2]), best[0]);
    A lanes[W];
    best[0].store(lanes);
    for (int i = 1; i < W; ++i) lanes[0] = Op::combine(lanes[0], lanes[i]);
    if (lanes[0] == A(0)) return false;
    *out = lanes[0];
    return true;
  }

  static void row(const char* p, int64_t n, A center, A* out) {
    n *= U;
    if (n < C) return partial_chunk(p, n, center, out);
    if constexpr (is_extreme && ops::is_float_v<A>) {
      if (plain_extreme(p, n, out)) return;
    }
    A stack[60][U];
    int top = 0;
    int64_t count = 0;
    const auto push = [&](const A* chunk) {
      A x[U];
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) x[u] = chunk[u];
      for (int64_t c = count++; c & 1; c >>= 1) {
        --top;
        ARRAYX_UNROLL
        for (int u = 0; u < U; ++u) x[u] = Op::combine(stack[top][u], x[u]);
      }
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) stack[top][u] = x[u];
      ++top;
    };
    constexpr int K = ops::vector_bytes >= 32 ? 4 : 2;
    A parts[K][U];
    int64_t i = 0;
    for (; i + K * C <= n; i += K * C) {
      full_chunks<K>(p + i * sizeof(T), center, parts);
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) push(parts[k]);
    }
    for (; i + C <= n; i += C) {
      full_chunks<1>(p + i * sizeof(T), center, parts);
      push(parts[0]);
    }
    if (i < n) {
      partial_chunk(p + i * sizeof(T), n - i, center, parts[0]);
      push(parts[0]);
    }
    ARRAYX_UNROLL
    for (int u = 0; u < U; ++u) out[u] = stack[top - 1][u];
    for (int level = top - 2; level >= 0; --level) {
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) out[u] = Op::combine(stack[level][u], out[u]);
    }
  }

  static void run(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void* center,
                  void* out) {
    const char* centers = static_cast<const char*>(center);
    for (int64_t r = 0; r < rows; ++r) {
      A c = A(0), result[U];
      if (centers) c = load_item<A>(centers + r * sizeof(A));
      row(in + r * row_stride, n, c, result);
      __builtin_memcpy(static_cast<char*>(out) + r * sizeof result, result, sizeof result);
    }
  }
};

// ---- columns ----------------------------------------------------------------------------------

template <class Op, class T, class A>
struct Columns {
  static constexpr bool vector = !ops::is_complex_v<A>;
  static constexpr int real_bytes = int(vector ? sizeof(A) : sizeof(A) / 2);
  static constexpr int P = reduce_lanes(real_bytes);
  static constexpr int64_t C = reduce_chunk(real_bytes);
  static constexpr int most_columns = max_column_bytes / int(sizeof(A));

  // out[j] = in[0][j] … in[count-1][j] combined in order; rows `stride` bytes apart.
  // With `go_on`, combined onto out[j].
  template <class V, int K>
  ARRAYX_HD static void stripe(const char* p, int64_t stride, int64_t count, const A* center,
                               A* out, bool go_on) {
    constexpr int W = ops::lane_traits<V>::lanes;
    V c[K], acc[K];
    const auto load = [&](const char* q, int k) {
      if constexpr (W == 1) {
        return Op::map(convert_item<A>(load_item<T>(q + k * sizeof(T))), c[k]);
      } else {
        return Op::map(load_as<T, A, W>(q + k * W * sizeof(T)), c[k]);
      }
    };
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      if constexpr (W == 1) {
        c[k] = center ? center[k] : A{};
      } else {
        c[k] = center ? V::load(center + k * W) : V(A(0));
      }
    }
    int64_t i = 0;
    if (go_on) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) __builtin_memcpy(&acc[k], out + k * W, sizeof(V));
    } else {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        acc[k] = load(p, k);
      }
      i = 1;
    }
    for (; i < count; ++i) {
      const char* q = p + i * stride;
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        acc[k] = Op::combine(acc[k], load(q, k));
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) __builtin_memcpy(out + k * W, &acc[k], sizeof(V));
  }

  static void accumulate(const char* in, int64_t stride, int64_t count, int64_t width,
                         const A* center, A* out, bool go_on) {
    int64_t j = 0;
    const auto at = [&](int64_t k) { return center ? center + k : nullptr; };
    if constexpr (vector) {
      constexpr int W = ops::vector_bytes / int(sizeof(A));
      using V = Vec<A, W>;
      for (; j + 4 * W <= width; j += 4 * W) {
        stripe<V, 4>(in + j * sizeof(T), stride, count, at(j), out + j, go_on);
      }
      for (; j + W <= width; j += W) {
        stripe<V, 1>(in + j * sizeof(T), stride, count, at(j), out + j, go_on);
      }
    }
    for (; j < width; ++j) {
      stripe<A, 1>(in + j * sizeof(T), stride, count, at(j), out + j, go_on);
    }
  }

  static void merge(A* left, const A* right, int64_t n) {
    int64_t j = 0;
    if constexpr (vector) {
      constexpr int W = ops::vector_bytes / int(sizeof(A));
      using V = Vec<A, W>;
      for (; j + W <= n; j += W) {
        Op::combine(V::load(left + j), V::load(right + j)).store(left + j);
      }
    }
    for (; j < n; ++j) left[j] = Op::combine(left[j], right[j]);
  }
  static void merge_kernel(void* left, const void* right, int64_t n) {
    merge(static_cast<A*>(left), static_cast<const A*>(right), n);
  }

  // One chunk of n ≤ C rows, into lanes[0 … width). Sixteen rows at a time, P apart, stay in
  // registers. Where rows follow each other without gaps (fused), P of them are one long row of
  // (lane, column) pairs, and memory is read straight on: three times as fast as sixteen streams.
  static void chunk(const char* in, int64_t row_stride, int64_t n, int64_t width, const A* center,
                    bool fused, A* lanes) {
    const int64_t live = n < P ? n : P, full = n / P, rest = n % P;
    if (fused) {
      for (int64_t i = 0; i < full; ++i) {
        accumulate(in + i * P * row_stride, 0, 1, P * width, center, lanes, i > 0);
      }
      if (rest > 0) {
        accumulate(in + full * P * row_stride, 0, 1, rest * width, center, lanes, full > 0);
      }
    } else {
      for (int64_t r = 0; r < live; ++r) {
        accumulate(in + r * row_stride, P * row_stride, full + (r < rest), width, center,
                   lanes + r * width, false);
      }
    }
    int64_t left = live;
    for (int64_t half = P / 2; half > 0; half /= 2) {
      if (left > half) {
        merge(lanes, lanes + half * width, (left - half) * width);
        left = half;
      }
    }
  }

  // n ≤ P rows: every lane holds one element, so a stripe is combined by halves as it is read.
  template <class V>
  ARRAYX_HD static void few_rows(const char* p, int64_t stride, int64_t n, const A* center,
                                 A* out) {
    constexpr int W = ops::lane_traits<V>::lanes;
    V c, x[P];
    if constexpr (W == 1) {
      c = center ? *center : A{};
    } else {
      c = center ? V::load(center) : V(A(0));
    }
    for (int64_t r = 0; r < n; ++r) {
      if constexpr (W == 1) {
        x[r] = Op::map(convert_item<A>(load_item<T>(p + r * stride)), c);
      } else {
        x[r] = Op::map(load_as<T, A, W>(p + r * stride), c);
      }
    }
    int64_t left = n;
    for (int64_t half = P / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i + half < left; ++i) x[i] = Op::combine(x[i], x[i + half]);
      if (left > half) left = half;
    }
    __builtin_memcpy(out, &x[0], sizeof(V));
  }

  // lanes: P × width, stack: a level of `width` for each doubling of the number of chunks.
  static void segment(const char* in, int64_t row_stride, int64_t n, int64_t width, const A* center,
                      bool fused, A* lanes, A* stack, A* out) {
    int top = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += C) {
      chunk(in + i * row_stride, row_stride, n - i < C ? n - i : C, width, center, fused, lanes);
      int levels = 0;  // this chunk is the last of so many finished pairs
      for (int64_t c = count++; c & 1; c >>= 1) ++levels;
      A* to = i + C < n || top > 0 ? stack + top * width : out;
      __builtin_memcpy(to, lanes, width * sizeof(A));
      for (; levels > 0; --levels, --top) {
        merge(stack + (top - 1) * width, stack + top * width, width);
      }
      ++top;
    }
    if (n <= C) return;
    for (; top > 1; --top) merge(stack + (top - 2) * width, stack + (top - 1) * width, width);
    __builtin_memcpy(out, stack, width * sizeof(A));
  }

  static void run_segment(const char* in, int64_t row_stride, int64_t n, int64_t width,
                          const A* center, char* workspace, A* out) {
    if constexpr (order_free<A>) {
      for (int64_t i = 0; i < n; i += 16) {
        accumulate(in + i * row_stride, row_stride, n - i < 16 ? n - i : 16, width, center, out,
                   i > 0);
      }
    } else {
      if constexpr (vector) {
        if (n <= P) {
          constexpr int W = ops::vector_bytes / int(sizeof(A));
          int64_t j = 0;
          for (; j + W <= width; j += W) {
            few_rows<Vec<A, W>>(in + j * sizeof(T), row_stride, n, center ? center + j : nullptr,
                                out + j);
          }
          for (; j < width; ++j) {
            few_rows<A>(in + j * sizeof(T), row_stride, n, center ? center + j : nullptr, out + j);
          }
          return;
        }
      }
      A* lanes = reinterpret_cast<A*>(workspace);
      A* centers = lanes + P * most_columns;
      A* stack = centers + P * most_columns;
      const bool fused = row_stride == width * int64_t(sizeof(T));
      if (fused && center) {
        for (int64_t r = 0; r < P && r < n; ++r) {
          __builtin_memcpy(centers + r * width, center, width * sizeof(A));
        }
        center = centers;
      }
      segment(in, row_stride, n, width, center, fused, lanes, stack, out);
    }
  }

  static void run(const char* in, int64_t row_stride, int64_t n, int64_t columns,
                  const void* center, void* workspace, void* out) {
    for (int64_t j = 0; j < columns; j += most_columns) {
      const int64_t width = columns - j < most_columns ? columns - j : most_columns;
      run_segment(in + j * sizeof(T), row_stride, n, width,
                  center ? static_cast<const A*>(center) + j : nullptr,
                  static_cast<char*>(workspace), static_cast<A*>(out) + j);
    }
  }
  // Sums of complex numbers: twice as many real columns.
  static void run_pairs(const char* in, int64_t row_stride, int64_t n, int64_t columns,
                        const void* center, void* workspace, void* out) {
    run(in, row_stride, n, 2 * columns, center, workspace, out);
  }
  static void merge_pairs(void* left, const void* right, int64_t n) {
    merge_kernel(left, right, 2 * n);
  }

  // Rows of accumulators that have no vector form: the same lanes, one after the other.
  static void rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                   void* out) {
    for (int64_t r = 0; r < rows; ++r) {
      A lanes[P], stack[60];
      segment(in + r * row_stride, sizeof(T), n, 1, nullptr, true, lanes, stack,
              static_cast<A*>(out) + r);
    }
  }
};

// ---- any, all, count_nonzero --------------------------------------------------------------------

template <class T>
struct Conditions {
  static constexpr bool vector = !ops::is_complex_v<T>;
  static constexpr int W = vector ? ops::vector_bytes / int(sizeof(T)) : 1;

  // Whether some element is zero (Zero) or non-zero (!Zero); stops at the first block that has one.
  template <bool Zero>
  static bool found(const char* p, int64_t n) {
    int64_t i = 0;
    if constexpr (vector) {
      using V = Vec<T, W>;
      constexpr int K = 8;
      for (; i + K * W <= n; i += K * W) {
        auto m = ops::is_nonzero(V::load(p + i * sizeof(T)));
        ARRAYX_UNROLL
        for (int k = 1; k < K; ++k) {
          const auto x = ops::is_nonzero(V::load(p + (i + k * W) * sizeof(T)));
          m = Zero ? m & x : m | x;
        }
        if (ops::any(Zero ? !m : m)) return true;
      }
    }
    for (; i < n; ++i) {
      if (ops::is_nonzero(load_item<T>(p + i * sizeof(T))) != Zero) return true;
    }
    return false;
  }

  static void any_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                       void* out) {
    for (int64_t r = 0; r < rows; ++r) {
      static_cast<u8*>(out)[r] = found<false>(in + r * row_stride, n);
    }
  }
  static void all_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                       void* out) {
    for (int64_t r = 0; r < rows; ++r) {
      static_cast<u8*>(out)[r] = !found<true>(in + r * row_stride, n);
    }
  }

  static int64_t count(const char* p, int64_t n) {
    int64_t total = 0, i = 0;
    if constexpr (vector) {
      using V = Vec<T, W>;
      using I = ops::int_t<V>;
      using item = ops::scalar_t<I>;
      // A lane counts at most 120 before it is read out, which every width holds.
      for (; i + W <= n;) {
        I lanes[2] = {I(item(0)), I(item(0))};
        for (int step = 0; step < 60 && i + 2 * W <= n; ++step, i += 2 * W) {
          for (int k = 0; k < 2; ++k) {
            const V x = V::load(p + (i + k * W) * sizeof(T));
            lanes[k] = lanes[k] - I(typename I::native(ops::is_nonzero(x).v));
          }
        }
        if (i + W <= n && i + 2 * W > n) {
          lanes[0] =
              lanes[0] - I(typename I::native(ops::is_nonzero(V::load(p + i * sizeof(T))).v));
          i += W;
        }
        item counts[W];
        (lanes[0] + lanes[1]).store(counts);
        for (int k = 0; k < W; ++k) total += counts[k];
      }
    }
    for (; i < n; ++i) total += ops::is_nonzero(load_item<T>(p + i * sizeof(T)));
    return total;
  }
  static void count_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                         void* out) {
    for (int64_t r = 0; r < rows; ++r) {
      static_cast<int64_t*>(out)[r] = count(in + r * row_stride, n);
    }
  }

  // Mode 0: any, 1: all, 2: count. Rows in batches, so that a batch of a stripe stays in registers.
  template <int Mode, class O>
  static void columns(const char* in, int64_t row_stride, int64_t n, int64_t width, const void*,
                      void*, void* out_bytes) {
    O* out = static_cast<O*>(out_bytes);
    constexpr int64_t batch = Mode == 2 ? 64 : 16;
    for (int64_t j = 0; j < width; ++j) out[j] = Mode == 1;
    for (int64_t i = 0; i < n; i += batch) {
      const int64_t rows = n - i < batch ? n - i : batch;
      const char* p = in + i * row_stride;
      int64_t j = 0;
      if constexpr (vector) {
        using V = Vec<T, W>;
        using I = ops::int_t<V>;
        using item = ops::scalar_t<I>;
        for (; j + W <= width; j += W) {
          I acc(item(Mode == 1 ? -1 : 0));
          for (int64_t r = 0; r < rows; ++r) {
            const V x = V::load(p + r * row_stride + j * sizeof(T));
            const I m(typename I::native(ops::is_nonzero(x).v));
            acc = Mode == 0 ? acc | m : Mode == 1 ? acc & m : acc - m;
          }
          item lanes[W];
          acc.store(lanes);
          for (int k = 0; k < W; ++k) {
            if constexpr (Mode == 0) out[j + k] |= u8(lanes[k] & 1);
            if constexpr (Mode == 1) out[j + k] &= u8(lanes[k] & 1);
            if constexpr (Mode == 2) out[j + k] += lanes[k];
          }
        }
      }
      for (; j < width; ++j) {
        for (int64_t r = 0; r < rows; ++r) {
          const bool m = ops::is_nonzero(load_item<T>(p + r * row_stride + j * sizeof(T)));
          if constexpr (Mode == 0) out[j] |= O(m);
          if constexpr (Mode == 1) out[j] &= O(m);
          if constexpr (Mode == 2) out[j] += m;
        }
      }
    }
  }
};

// ---- argmax, argmin -----------------------------------------------------------------------------

template <class Op, class T>
struct Arg {
  static constexpr int W = ops::vector_bytes / int(sizeof(T));
  using V = Vec<T, W>;
  static constexpr bool floating = ops::is_float_v<T>;

  // The extreme of each block by vectors; the position is looked for only in the block that won.
  static int64_t row(const char* p, int64_t n) {
    const auto item = [p](int64_t i) { return load_item<T>(p + i * sizeof(T)); };
    constexpr int K = 4, block = 16 * K * W;
    T best = item(0);
    int64_t start = 0, end = 1, i = 0;
    bool is_nan = floating && best != best;
    for (; i + K * W <= n && !is_nan;) {
      const int64_t stop = n - i < block ? i + (n - i) / (K * W) * (K * W) : i + block;
      V extreme[K];
      auto nan = V(T(0)) != V(T(0));
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        extreme[k] = V::load(p + (i + k * W) * sizeof(T));
        if constexpr (floating) nan = nan | (extreme[k] != extreme[k]);
      }
      for (int64_t j = i + K * W; j < stop; j += K * W) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          const V x = V::load(p + (j + k * W) * sizeof(T));
          if constexpr (floating) nan = nan | (x != x);
          extreme[k] = select(strictly(x, extreme[k]), x, extreme[k]);
        }
      }
      if (floating && any(nan)) {
        for (int64_t j = i;; ++j) {
          if (item(j) != item(j)) return j;
        }
      }
      ARRAYX_UNROLL
      for (int k = 1; k < K; ++k) {
        extreme[0] = select(strictly(extreme[k], extreme[0]), extreme[k], extreme[0]);
      }
      T lanes[W];
      extreme[0].store(lanes);
      for (int k = 1; k < W; ++k) {
        if (strictly(lanes[k], lanes[0])) lanes[0] = lanes[k];
      }
      if (strictly(lanes[0], best)) {
        best = lanes[0];
        start = i;
        end = stop;
      }
      i = stop;
    }
    for (; i < n && !is_nan; ++i) {
      const T x = item(i);
      if (Op::better(x, best)) {
        best = x;
        start = i;
        end = i + 1;
        is_nan = floating && x != x;
      }
    }
    if (is_nan) return start;
    for (int64_t j = start; j < end; ++j) {
      if (item(j) == best) return j;
    }
    return start;
  }
  template <class X>
  ARRAYX_HD static ops::mask_t<X> strictly(X x, X best) {
    if constexpr (ops::same_type_v<Op, ops::Max>) {
      return x > best;
    } else {
      return x < best;
    }
  }

  static void rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, int64_t* out) {
    for (int64_t r = 0; r < rows; ++r) out[r] = row(in + r * row_stride, n);
  }

  static void columns(const char* in, int64_t row_stride, int64_t n, int64_t first, bool start,
                      int64_t width, void* best_bytes, int64_t* index) {
    T* best = static_cast<T*>(best_bytes);
    if (start) {
      __builtin_memcpy(best, in, width * sizeof(T));
      for (int64_t j = 0; j < width; ++j) index[j] = first;
    }
    // Row numbers within a batch fit the lanes of the narrowest dtype.
    constexpr int64_t batch = 16;
    for (int64_t i = start ? 1 : 0; i < n; i += batch) {
      const int64_t rows = n - i < batch ? n - i : batch;
      const char* p = in + i * row_stride;
      int64_t j = 0;
      using I = ops::int_t<V>;
      using item = ops::scalar_t<I>;
      for (; j + W <= width; j += W) {
        V b = V::load(best + j);
        I where(item(-1));
        for (int64_t r = 0; r < rows; ++r) {
          const V x = V::load(p + r * row_stride + j * sizeof(T));
          const auto m = Op::better(x, b);
          b = select(m, x, b);
          where = select(m, I(item(r)), where);
        }
        if (any(where >= I(item(0)))) {
          b.store(best + j);
          item lanes[W];
          where.store(lanes);
          for (int k = 0; k < W; ++k) {
            if (lanes[k] >= 0) index[j + k] = first + i + lanes[k];
          }
        }
      }
      for (; j < width; ++j) {
        for (int64_t r = 0; r < rows; ++r) {
          const T x = load_item<T>(p + r * row_stride + j * sizeof(T));
          if (Op::better(x, best[j])) {
            best[j] = x;
            index[j] = first + i + r;
          }
        }
      }
    }
  }
};

// ---- scans --------------------------------------------------------------------------------------

template <class Op, class A>
struct Scan {
  // K rows together: each waits for its own last addition.
  template <int K>
  static void run_rows(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t n,
                       bool start, A* carry) {
    A x[K];
    int64_t i = 0;
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) x[k] = carry[k];
    if (start && n > 0) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        x[k] = load_item<A>(in + k * in_stride);
        store_item(out + k * out_stride, x[k]);
      }
      i = 1;
    }
    for (; i < n; ++i) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        x[k] = Op::combine(x[k], load_item<A>(in + k * in_stride + i * sizeof(A)));
        store_item(out + k * out_stride + i * sizeof(A), x[k]);
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) carry[k] = x[k];
  }
  static void rows(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t rows,
                   int64_t n, bool start, void* carry) {
    A* c = static_cast<A*>(carry);
    int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      run_rows<4>(in + r * in_stride, in_stride, out + r * out_stride, out_stride, n, start, c + r);
    }
    for (; r < rows; ++r) {
      run_rows<1>(in + r * in_stride, in_stride, out + r * out_stride, out_stride, n, start, c + r);
    }
  }

  static void columns(const char* in, int64_t in_stride, char* out, int64_t out_stride,
                      int64_t rows, int64_t width, bool start, void* carry) {
    A* c = static_cast<A*>(carry);
    for (int64_t r = 0; r < rows; ++r) {
      const char* p = in + r * in_stride;
      char* q = out + r * out_stride;
      if (start && r == 0) {
        __builtin_memcpy(c, p, width * sizeof(A));
        __builtin_memcpy(q, p, width * sizeof(A));
        continue;
      }
      int64_t j = 0;
      if constexpr (!ops::is_complex_v<A>) {
        constexpr int W = ops::vector_bytes / int(sizeof(A));
        using V = Vec<A, W>;
        for (; j + W <= width; j += W) {
          const V x = Op::combine(V::load(c + j), V::load(p + j * sizeof(A)));
          x.store(c + j);
          x.store(q + j * sizeof(A));
        }
      }
      for (; j < width; ++j) {
        c[j] = Op::combine(c[j], load_item<A>(p + j * sizeof(A)));
        store_item(q + j * sizeof(A), c[j]);
      }
    }
  }
};

// ---- tables -------------------------------------------------------------------------------------

template <class T>
inline constexpr bool is_integer_v = !ops::is_float_v<T> && !ops::is_complex_v<T>;

template <class T>
struct real_of {
  using type = T;
};
template <class T>
struct real_of<ops::Complex<T>> {
  using type = T;
};

constexpr int index(Reduction r) {
  return static_cast<int>(r);
}

// U is 2 for complex T, whose real type R the kernels run on.
template <class Op, class T, class A, int U = 1>
void fill_pair(ReduceKernels& k, Reduction op, DType d, int wide) {
  k.rows[index(op)][static_cast<int>(d)][wide] = Rows<Op, T, A, U>::run;
  if constexpr (U == 2) {
    k.columns[index(op)][static_cast<int>(d)][wide] = Columns<Op, T, A>::run_pairs;
  } else {
    k.columns[index(op)][static_cast<int>(d)][wide] = Columns<Op, T, A>::run;
  }
}

template <class T>
void fill_dtype(ReduceKernels& k, DType dtype) {
  using namespace ops;
  using R = typename real_of<T>::type;
  const int d = static_cast<int>(dtype);
  using Cond = Conditions<T>;
  k.rows[index(Reduction::any)][d][0] = Cond::any_rows;
  k.rows[index(Reduction::all)][d][0] = Cond::all_rows;
  k.rows[index(Reduction::count_nonzero)][d][0] = Cond::count_rows;
  k.columns[index(Reduction::any)][d][0] = Cond::template columns<0, u8>;
  k.columns[index(Reduction::all)][d][0] = Cond::template columns<1, u8>;
  k.columns[index(Reduction::count_nonzero)][d][0] = Cond::template columns<2, int64_t>;
  if constexpr (is_integer_v<T>) {
    fill_pair<Sum, T, u64>(k, Reduction::sum, dtype, 0);
    fill_pair<Prod, T, u64>(k, Reduction::prod, dtype, 0);
  } else if constexpr (is_float_v<T>) {
    fill_pair<Sum, T, T>(k, Reduction::sum, dtype, 0);
    fill_pair<Prod, T, T>(k, Reduction::prod, dtype, 0);
    fill_pair<SumSquaredDeviations, T, T>(k, Reduction::sum_squared_deviations, dtype, 0);
    if constexpr (same_type_v<T, f32>) {
      fill_pair<Sum, f32, f64>(k, Reduction::sum, dtype, 1);
      fill_pair<SumSquaredDeviations, f32, f64>(k, Reduction::sum_squared_deviations, dtype, 1);
    }
  } else {
    fill_pair<Sum, R, R, 2>(k, Reduction::sum, dtype, 0);
    if constexpr (same_type_v<R, f32>) fill_pair<Sum, f32, f64, 2>(k, Reduction::sum, dtype, 1);
    k.rows[index(Reduction::prod)][d][0] = Columns<Prod, T, T>::rows;
    k.columns[index(Reduction::prod)][d][0] = Columns<Prod, T, T>::run;
  }
  if constexpr (!is_complex_v<T>) {
    fill_pair<Max, T, T>(k, Reduction::max, dtype, 0);
    fill_pair<Min, T, T>(k, Reduction::min, dtype, 0);
    k.merge[index(Reduction::max)][d] = Columns<Max, T, T>::merge_kernel;
    k.merge[index(Reduction::min)][d] = Columns<Min, T, T>::merge_kernel;
    k.arg_rows[1][d] = Arg<Max, T>::rows;
    k.arg_rows[0][d] = Arg<Min, T>::rows;
    k.arg_columns[1][d] = Arg<Max, T>::columns;
    k.arg_columns[0][d] = Arg<Min, T>::columns;
  }
}

// Merging and scanning run on the accumulators' dtypes; integers as unsigned, which wrap.
template <class T>
void fill_accumulator(ReduceKernels& k, DType dtype) {
  using namespace ops;
  using R = typename real_of<T>::type;
  const int d = static_cast<int>(dtype);
  if constexpr (is_complex_v<T>) {
    k.merge[index(Reduction::sum)][d] = Columns<Sum, R, R>::merge_pairs;
  } else {
    k.merge[index(Reduction::sum)][d] = Columns<Sum, T, T>::merge_kernel;
  }
  k.merge[index(Reduction::prod)][d] = Columns<Prod, T, T>::merge_kernel;
  k.merge[index(Reduction::count_nonzero)][d] = k.merge[index(Reduction::sum)][d];
  k.merge[index(Reduction::sum_squared_deviations)][d] = k.merge[index(Reduction::sum)][d];
  k.scan_rows[0][d] = Scan<Sum, T>::rows;
  k.scan_rows[1][d] = Scan<Prod, T>::rows;
  k.scan_columns[0][d] = Scan<Sum, T>::columns;
  k.scan_columns[1][d] = Scan<Prod, T>::columns;
}

}  // namespace

void fill_reduce(KernelTable& table) {
  ReduceKernels& k = table.reduce;
  fill_dtype<u8>(k, DType::bool_);
  fill_dtype<i8>(k, DType::int8);
  fill_dtype<i16>(k, DType::int16);
  fill_dtype<i32>(k, DType::int32);
  fill_dtype<i64>(k, DType::int64);
  fill_dtype<u8>(k, DType::uint8);
  fill_dtype<u16>(k, DType::uint16);
  fill_dtype<u32>(k, DType::uint32);
  fill_dtype<u64>(k, DType::uint64);
  fill_dtype<f32>(k, DType::float32);
  fill_dtype<f64>(k, DType::float64);
  fill_dtype<ops::Complex<f32>>(k, DType::complex64);
  fill_dtype<ops::Complex<f64>>(k, DType::complex128);
  fill_accumulator<u8>(k, DType::int8);
  fill_accumulator<u16>(k, DType::int16);
  fill_accumulator<u32>(k, DType::int32);
  fill_accumulator<u64>(k, DType::int64);
  fill_accumulator<u8>(k, DType::uint8);
  fill_accumulator<u16>(k, DType::uint16);
  fill_accumulator<u32>(k, DType::uint32);
  fill_accumulator<u64>(k, DType::uint64);
  fill_accumulator<f32>(k, DType::float32);
  fill_accumulator<f64>(k, DType::float64);
  fill_accumulator<ops::Complex<f32>>(k, DType::complex64);
  fill_accumulator<ops::Complex<f64>>(k, DType::complex128);
  // any and all of conditions are the greatest and the least.
  const int boolean = static_cast<int>(DType::bool_);
  k.merge[index(Reduction::any)][boolean] = k.merge[index(Reduction::max)][boolean];
  k.merge[index(Reduction::all)][boolean] = k.merge[index(Reduction::min)][boolean];
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
