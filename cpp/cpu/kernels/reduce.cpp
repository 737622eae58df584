// Reductions over contiguous rows or columns, compiled per instruction set. The association is the
// one reduce_kernels.hpp states, whatever the vector width.
#include <algorithm>
#include <bit>

#include "../caches.hpp"
#include "reduce_loops.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

// Sums and products of integers, and extremes of anything, come out the same in every order, except
// for which of two zeros or NaNs is kept: floating extremes follow the order like sums.
template <class A>
inline constexpr bool order_free = !ops::is_float_v<A> && !ops::is_complex_v<A>;

template <class Op>
inline constexpr bool is_extreme = ops::same_type_v<Op, ops::Max> || ops::same_type_v<Op, ops::Min>;

// The deviations from the center. Columns of them have a second plane of accumulators, for the
// squares, which ops::SumSquaredDeviations adds up alone.
struct SumDeviations : ops::Sum {
  template <class V>
  ARRAYX_HD static V map(V x, V center) {
    return x - center;
  }
};

// Sums of 8- and 16-bit integers run in integers of twice the width, of which so many fit one,
// before they are added up in 64 bits: a quarter or half of the additions, and of the widening.
template <class T>
using twice_as_wide =
    std::conditional_t<ops::is_signed_v<T>, typename ops::ints_of_width<2 * sizeof(T)>::s,
                       typename ops::ints_of_width<2 * sizeof(T)>::u>;
template <class T>
inline constexpr int64_t narrow_sums = sizeof(T) == 1 ? 128 : 1 << 14;
template <class Op, class T, class A>
inline constexpr bool sums_narrow =
    ops::same_type_v<Op, ops::Sum> && order_free<A> && sizeof(T) <= 2 && sizeof(A) == 8;

// acc combined with a mapped x. Widening and adding take turns on the same units of some CPUs;
// x * 1 + acc, which is the same to the last bit, runs on others.
template <class Op, class T, class V>
ARRAYX_HD V added(V acc, V x) {
  constexpr bool sums = ops::same_type_v<Op, ops::Sum> || ops::same_type_v<Op, SumDeviations>;
  if constexpr (sums && ops::same_type_v<T, f32> && ops::same_type_v<ops::scalar_t<V>, f64> &&
                ops::has_fma) {
    return ops::mul_add(x, V(1.0), acc);
  } else {
    return Op::combine(acc, x);
  }
}

template <class Op, class A>
void finish([[maybe_unused]] A* out, [[maybe_unused]] int64_t n) {
  if constexpr (ops::same_type_v<Op, ops::Sum> && ops::is_float_v<A>) {
    constexpr int W = ops::vector_bytes / int(sizeof(A));
    int64_t i = 0;
    for (; i + W <= n; i += W) ops::finished<Op>(Vec<A, W>::load(out + i)).store(out + i);
    for (; i < n; ++i) out[i] = ops::finished<Op>(out[i]);
  }
}

// ---- rows -------------------------------------------------------------------------------------

// The results of the chunks of a row, combined as they come.
template <class Op, class A, int U>
class ChunkTree {
 public:
  // A finished subtree of so many chunks, a power of two.
  void push(const A* subtree, int64_t chunks) {
    A x[U];
    ARRAYX_UNROLL
    for (int u = 0; u < U; ++u) x[u] = subtree[u];
    for (int64_t c = count_ / chunks; c & 1; c >>= 1) {
      --top_;
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) x[u] = Op::combine(stack_[top_][u], x[u]);
    }
    count_ += chunks;
    ARRAYX_UNROLL
    for (int u = 0; u < U; ++u) stack_[top_][u] = x[u];
    ++top_;
  }
  void result(A* out) const {
    ARRAYX_UNROLL
    for (int u = 0; u < U; ++u) out[u] = stack_[top_ - 1][u];
    for (int level = top_ - 2; level >= 0; --level) {
      ARRAYX_UNROLL
      for (int u = 0; u < U; ++u) out[u] = Op::combine(stack_[level][u], out[u]);
    }
  }

 private:
  A stack_[60][U];
  int top_ = 0;
  int64_t count_ = 0;
};

// The lanes of R vectors that a round of `rest` elements fills.
template <class V, int R>
struct LiveLanes {
  typename V::mask lanes[R];
  ARRAYX_HD explicit LiveLanes(int64_t rest) {
    using I = ops::int_t<V>;
    using item = ops::scalar_t<I>;
    constexpr int W = ops::lane_traits<V>::lanes;
    ARRAYX_UNROLL
    for (int r = 0; r < R; ++r) {
      const int64_t lanes_here = rest - r * W;
      const item live = item(lanes_here < 0 ? 0 : lanes_here > W ? W : lanes_here);
      lanes[r] = ops::iota<I>() < I(live);
    }
  }
};

// The last `rest` elements of a row, fewer than a round, of which all of one are read: copied but
// where there is room for that.
template <class T, class V, int R>
struct RowTail {
  const char* data;
  LiveLanes<V, R> lanes;
  bool any;
  T copied[R * ops::lane_traits<V>::lanes];
  ARRAYX_HD RowTail(const char* p, int64_t rest, bool room) : data(p), lanes(rest), any(rest > 0) {
    if (room || !any) return;
    __builtin_memcpy(copied, p, rest * sizeof(T));
    data = reinterpret_cast<const char*>(copied);
  }
  ARRAYX_HD const LiveLanes<V, R>* live() const { return any ? &lanes : nullptr; }
};

// U: consecutive accumulators that make one element: 2 for sums of complex numbers, whose parts add
// up independently.
template <class Op, class T, class A, int U>
struct Rows {
  static constexpr int P = U * reduce_lanes(sizeof(A));
  static constexpr int W = ops::vector_bytes / int(sizeof(A));
  static constexpr int R = P / W;  // registers per accumulator row
  static constexpr int64_t C = 16 * P;
  static constexpr int G = W / U;  // rows whose results fill a vector
  using V = Vec<A, W>;

  ARRAYX_HD static const char* at(const char* p, int64_t i) { return p + i * int64_t(sizeof(T)); }
  template <bool halves = false>
  ARRAYX_HD static V mapped(const char* p, V center) {
    return Op::map(load_as<T, A, W, halves>(p), center);
  }
  // Elements that lie `step` apart; what lies between them is read, too.
  template <int step, bool halves>
  ARRAYX_HD static Vec<T, W> spaced(const char* p) {
    Vec<T, W> x[step];
    ARRAYX_UNROLL
    for (int k = 0; k < step; ++k) x[k] = load_as<T, T, W, halves>(at(p, k * W));
    return every<step, 0, U>(x, std::make_integer_sequence<int, W>());
  }
  template <Asking asks>
  static constexpr bool in_halves = asks == Asking::halves;
  struct Combine {
    ARRAYX_HD V operator()(V x, V y) const { return Op::combine(x, y); }
  };

  using Live = LiveLanes<V, R>;
  using Tail = RowTail<T, V, R>;

  // Where a loop `asks`, for the next page. Of bytes so many come with a line that what there is to
  // do hides nothing.
  template <Asking asks, int items = P>
  ARRAYX_HD static void fetch_next(const char* p) {
    if constexpr (sizeof(T) > 1) fetch_page_after<items* int(sizeof(T))>(p, asks == Asking::pages);
  }
  // The same of loops that do more than add up, further on.
  template <Asking asks, int items = P>
  ARRAYX_HD static void fetch_on(const char* p) {
    if constexpr (sizeof(T) >= 4) {
      fetch_straight_on<items* int(sizeof(T))>(p, asks == Asking::pages);
    } else {
      fetch_next<asks, items>(p);
    }
  }
  // The same for extremes and sums of narrow integers, which a Zen 3, too, reads up to a fifth
  // faster where they are asked for, but a KiB ahead; other sums take a tenth longer so.
  static constexpr bool asks_near = is_extreme<Op> || sizeof(T) < 8;
  template <Asking asks, int64_t items>
  ARRAYX_HD static void fetch_next_or_near(const char* p) {
    constexpr int64_t near_bytes = 1024;
    if constexpr (asks == Asking::pages) {
      fetch_on<asks, items>(p);
    } else if constexpr (asks_near && asks == Asking::near) {
      fetch<items* int(sizeof(T))>(p + near_bytes);
    }
  }

  // `rounds` of P elements from p and what is live from `tail`, combined round by round and then by
  // halves until one vector is left. Lanes without an element hold the identity, which leaves the
  // others unchanged bit for bit.
  template <Asking asks>
  ARRAYX_HD static V lanes_of(const char* p, int64_t rounds, const char* tail, const Live* live,
                              V c) {
    V v[R];
    if (live) fetch_next<asks>(at(p, rounds * P));
    const auto last = [&](int r) {
      const V x = mapped(at(tail, r * W), c);
      return select(live->lanes[r], x, V(Op::template identity<A>()));
    };
    if (rounds > 0) {
      fetch_next<asks>(p);
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) v[r] = mapped(at(p, r * W), c);
      for (int64_t i = 1; i < rounds; ++i) {
        fetch_next<asks>(at(p, i * P));
        ARRAYX_UNROLL
        for (int r = 0; r < R; ++r) {
          v[r] = Op::combine(v[r], mapped(at(p, i * P + r * W), c));
        }
      }
      if (live) {
        ARRAYX_UNROLL
        for (int r = 0; r < R; ++r) v[r] = Op::combine(v[r], last(r));
      }
    } else {
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) v[r] = last(r);
    }
    return halved(v);
  }
  ARRAYX_HD static V halved(V* v) {
    ARRAYX_UNROLL
    for (int half = R / 2; half > 0; half /= 2) {
      ARRAYX_UNROLL
      for (int i = 0; i < half; ++i) v[i] = Op::combine(v[i], v[i + half]);
    }
    return v[0];
  }

  // The first lanes of v combined by halves until one element is left.
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

  // A full chunk. The compiler must not read several chunks side by side: memory is read a third as
  // fast that way, since the hardware fetches ahead of one stream only. `step`: from one element to
  // the next. Of a row that lies backwards (-1) it is the chunk that ends at p; its lanes are read
  // the other way round, which makes no difference to sums, since those that are combined are the
  // same.
  template <Asking asks, int step = 1>
  ARRAYX_HD static V full_chunk(const char* p, V c) {
    const auto round = [p](int i) { return at(p, step < 0 ? -(i + 1) * P : i * P * step); };
    const auto vector = [c](const char* from, int r) ARRAYX_INLINE_ROW {
      if constexpr (step > 1) {
        const char* const q = at(from, r * W * step);
        return Op::map(ops::convert<V>(spaced<step, in_halves<asks>>(q)), c);
      } else {
        return mapped<in_halves<asks>>(at(from, r * W), c);
      }
    };
    V v[R];
    asm("" ::: "memory");
    ARRAYX_UNROLL
    for (int r = 0; r < R; ++r) v[r] = vector(round(0), r);
    fetch_next<asks>(p);
    ARRAYX_UNROLL
    for (int i = 1; i < 16; ++i) {
      if (i * P * int(sizeof(T)) % line_bytes == 0) fetch_next<asks>(round(i));
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) v[r] = added<Op, T>(v[r], vector(round(i), r));
    }
    return halved(v);
  }

  // Full chunks that are folded together, and their results pairwise: half as many shuffles.
  static constexpr int K = G < 4 ? G : 4;
  template <Asking asks, int step = 1>
  ARRAYX_HD static void full_chunks(const char* p, V c, A* out) {
    V chunks[K];
    for (int k = 0; k < K; ++k) chunks[k] = full_chunk<asks, step>(at(p, k * C * step), c);
    const V x = folded(chunks);
    ARRAYX_UNROLL
    for (int u = 0; u < U; ++u) out[u] = x[u];
  }
  ARRAYX_HD static V folded(const V* chunks) {
    const V x = fold_rows<K>([&](int k) { return chunks[k]; }, 0, Combine());
    return fold_neighbours<2 * U>(fold_groups<W / K>(x));
  }
  // Groups of N lanes to groups of U.
  template <int N>
  ARRAYX_HD static V fold_groups(V x) {
    if constexpr (N == U) {
      return x;
    } else {
      return fold_groups<N / 2>(Op::combine(halves<0, N>(x, x), halves<1, N>(x, x)));
    }
  }
  // K results of U lanes to one: neighbours first.
  template <int N>
  ARRAYX_HD static V fold_neighbours(V x) {
    if constexpr (N > K * U) {
      return x;
    } else {
      return fold_neighbours<2 * N>(Op::combine(halves<0, 2 * U>(x, x), halves<1, 2 * U>(x, x)));
    }
  }

  // The last, partial chunk of 1 ≤ n < C; `room`: P elements may be read wherever one is.
  template <Asking asks>
  static void partial_chunk(const char* p, int64_t n, A center, A* out, bool room = false) {
    const int64_t rest = n % P;
    if (n < P && n <= 16) {
      A lane[P];
      for (int64_t i = 0; i < n; ++i) {
        lane[i] = Op::map(convert_item<A>(load_item<T>(at(p, i))), center);
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
    const Tail tail(at(p, n - rest), rest, room);
    fold_vector<W>(lanes_of<asks>(p, n / P, tail.data, tail.live(), V(center)), out);
  }

  // Rows of n < C elements, G at a time.
  template <Asking asks>
  static void short_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n,
                         const char* centers, char* out) {
    const int64_t rounds = n / P, rest = n % P;
    const Live live(rest);
    const Live* const partial = rest > 0 ? &live : nullptr;
    const int64_t beyond = rest > 0 ? (P - rest) * int64_t(sizeof(T)) : 0;
    const int64_t with_room = rows_with_room(rows, row_stride, beyond);
    // `last`: behind it there need be nothing.
    const auto row = [&](int64_t r, auto last) ARRAYX_INLINE_ROW {
      const char* p = in + r * row_stride;
      const char* tail = at(p, n - rest);
      T copied[P];
      if (last && partial && r >= with_room) {
        __builtin_memcpy(copied, tail, rest * sizeof(T));
        tail = reinterpret_cast<const char*>(copied);
      }
      const V c(centers ? load_item<A>(centers + r * int64_t(sizeof(A))) : A(0));
      return lanes_of<asks>(p, rounds, tail, partial, c);
    };
    // A loop over a few rows at a time: one after the other, those of a vector of bytes would be
    // more code than the first cache for it holds.
    constexpr int E = G < 4 ? G : 4;
    const auto group = [&](int64_t first, auto last) {
      V x[G / E];
      for (int k = 0; k < G; k += E) {
        if constexpr (last) {
          V few[E];
          for (int i = 0; i < E; ++i) {
            few[i] = first + k + i < rows ? row(first + k + i, last) : V(A(0));
          }
          x[k / E] = fold_rows<E>([&](int i) { return few[i]; }, 0, Combine());
        } else {
          x[k / E] = fold_rows<E>([&](int i) ARRAYX_INLINE_ROW { return row(first + k + i, last); },
                                  0, Combine());
        }
      }
      return fold_rows<G, W, E>([&](int k) { return x[k / E]; }, 0, Combine());
    };
    int64_t r = 0;
    for (; r + G <= with_room; r += G) {
      ops::finished<Op>(group(r, std::false_type())).store(out + r * U * int64_t(sizeof(A)));
    }
    for (; r < rows; r += G) {
      const V x = ops::finished<Op>(group(r, std::true_type()));
      const int64_t count = rows - r < G ? rows - r : G;
      store_part(x, out + r * U * int64_t(sizeof(A)), count * U);
    }
  }

  // Rows of n ≤ N elements without gaps, as many of them in a vector as groups of N lanes, whose
  // last ones hold the identity; returns how many were done: those whose vectors all end before the
  // last row does.
  template <int N>
  static int64_t packed_rows(const char* in, int64_t rows, int64_t n, const char* centers,
                             char* out) {
    using I = ops::int_t<V>;
    using item = ops::scalar_t<I>;
    constexpr int of_vector = W / N;
    const I lane = ops::iota<I>(), row = lane >> std::countr_zero(unsigned{N});
    const I place = lane & I(item(N - 1));
    const auto live = place < I(item(n));
    I from;
    for (int i = 0; i < W; ++i) from.set(i, row[i] * item(n) + (place[i] < n ? place[i] : item(0)));
    const int64_t last = rows * n - W - (W - of_vector) * n;
    int64_t r = 0;
    for (; r * n <= last && (!centers || r + 2 * W <= rows); r += W) {
      const auto vector = [&](int k) ARRAYX_INLINE_ROW {
        const int64_t first = r + k * of_vector;
        const V x = permuted(load_as<T, A, W>(at(in, first * n)), from);
        V c(A(0));
        if (centers) c = permuted(V::load(centers + first * int64_t(sizeof(A))), row);
        return select(live, Op::map(x, c), V(Op::template identity<A>()));
      };
      ops::finished<Op>(fold_rows<N, N>(vector, 0, Combine())).store(out + r * int64_t(sizeof(A)));
    }
    return r;
  }

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
  template <Asking asks>
  static bool plain_extreme(const char* p, int64_t n, A* out) {
    constexpr int K = 4;
    constexpr int64_t step = K * W, block = 64 * step;
    const auto at = [p](int64_t i) {
      return ops::loaded_once(load_as<T, T, W, in_halves<asks>>(p + i * int64_t(sizeof(T))));
    };
    V best[K], doubt[K];
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      best[k] = at(0);
      doubt[k] = V(A(0));
    }
    const auto take = [&](V x, int k) {
      doubt[k] = ops::mul_add(x, V(A(0)), doubt[k]);  // NaN after a NaN or an infinity
      best[k] = better(x, best[k]);
    };
    for (int64_t i = 0; i + W <= n;) {
      const int64_t end = n - i < block ? n : i + block;
      for (; i + step <= end; i += step) {
        fetch_next_or_near<asks, step>(Rows::at(p, i));
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) take(at(i + k * W), k);
      }
      for (; i + W <= end; i += W) take(at(i), 0);
      const V all = (doubt[0] + doubt[1]) + (doubt[2] + doubt[3]);
      if (any(all != all)) return false;
    }
    const V last = at(n - W);  // some of it once more
    if (any(last - last != V(A(0)))) return false;
    best[0] = better(last, better(best[1], best[0]));
    best[0] = better(better(best[3], best[2]), best[0]);
    A value;
    fold_vector<W>(best[0], &value);
    if (value == A(0)) return false;
    *out = value;
    return true;
  }

  // n ≥ C integers.
  template <Asking asks>
  static A any_order(const char* p, int64_t n) {
    constexpr int K = 4;
    V x[K];
    const V c(A(0));
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) x[k] = mapped<in_halves<asks>>(at(p, k * W), c);
    int64_t i = K * W;
    for (; i + K * W <= n; i += K * W) {
      fetch_next_or_near<asks, K * W>(at(p, i));
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        x[k] = Op::combine(x[k], mapped<in_halves<asks>>(at(p, i + k * W), c));
      }
    }
    for (; i + W <= n; i += W) x[0] = Op::combine(x[0], mapped(at(p, i), c));
    x[0] = Op::combine(Op::combine(x[0], x[1]), Op::combine(x[2], x[3]));
    A result, rest;
    fold_vector<W>(x[0], &result);
    if (i == n) return result;
    partial_chunk<asks>(at(p, i), n - i, A(0), &rest);
    return Op::combine(result, rest);
  }

  template <Asking asks>
  static void narrow_row(const char* p, int64_t n, A* out) {
    using N = twice_as_wide<T>;
    constexpr int L = ops::vector_bytes / int(sizeof(N)), K = 4;
    A total = 0;
    int64_t i = 0;
    while (i + K * L <= n) {
      Vec<N, L> sums[K];
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) sums[k] = Vec<N, L>(N(0));
      for (int64_t s = 0; s < narrow_sums<T> && i + K * L <= n; ++s, i += K * L) {
        fetch_next<asks, K * L>(at(p, i));
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          sums[k] = sums[k] + load_as<T, N, L, in_halves<asks>>(at(p, i + k * L));
        }
      }
      N lanes[K * L];
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) sums[k].store(lanes + k * L);
      for (N lane : lanes) total += A(lane);
    }
    A rest = 0;
    if (i < n) partial_chunk<asks>(at(p, i), n - i, A(0), &rest);
    *out = total + rest;
  }

  template <Asking asks>
  static void row(const char* p, int64_t n, A center, A* out, bool room) {
    if (n < C) return partial_chunk<asks>(p, n, center, out, room);
    if constexpr (sums_narrow<Op, T, A>) return narrow_row<asks>(p, n, out);
    if constexpr (order_free<A> && U == 1) {
      *out = any_order<asks>(p, n);
      return;
    }
    if constexpr (is_extreme<Op> && ops::is_float_v<A>) {
      if (plain_extreme<asks>(p, n, out)) return;
    }
    ChunkTree<Op, A, U> tree;
    const V c(center);
    A part[U];
    int64_t i = 0;
    for (; i + K * C <= n; i += K * C) {
      full_chunks<asks>(at(p, i), c, part);
      tree.push(part, K);
    }
    for (; i + C <= n; i += C) {
      fold_vector<W>(full_chunk<asks>(at(p, i), c), part);
      tree.push(part, 1);
    }
    if (i < n) {
      partial_chunk<asks>(at(p, i), n - i, center, part, room);
      tree.push(part, 1);
    }
    tree.result(out);
  }

  // Rows whose elements lie `step` apart, or backwards (-1); the first element of the first one is
  // at `in`.
  template <Asking asks, int step>
  static void run_spaced(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                         void* out) {
    static_assert(ops::same_type_v<Op, ops::Sum>);
    constexpr int64_t behind = step > 1;  // an element, so that what lies before it may be read
    const V none(A(0));
    n *= U;
    for (int64_t r = 0; r < rows; ++r) {
      const char* const first = at(in + r * row_stride, step < 0 ? U : 0);
      ChunkTree<Op, A, U> tree;
      A part[U];
      int64_t i = 0;
      for (; i + K * C + behind <= n; i += K * C) {
        full_chunks<asks, step>(at(first, i * step), none, part);
        tree.push(part, K);
      }
      for (; i + C + behind <= n; i += C) {
        fold_vector<W>(full_chunk<asks, step>(at(first, i * step), none), part);
        tree.push(part, 1);
      }
      if (i < n) {
        T next[C];
        int64_t k = 0;
        if constexpr (step > 1) {
          for (; i + k + W < n; k += W) {
            spaced<step, in_halves<asks>>(at(first, (i + k) * step)).store(next + k);
          }
        }
        for (; i + k < n; k += U) {
          __builtin_memcpy(next + k, at(first, (i + k) * step - (step < 0 ? U : 0)), U * sizeof(T));
        }
        partial_chunk<asks>(reinterpret_cast<const char*>(next), n - i, A(0), part, true);
        tree.push(part, 1);
      }
      tree.result(part);
      __builtin_memcpy(static_cast<char*>(out) + r * sizeof part, part, sizeof part);
    }
    finish<Op>(static_cast<A*>(out), rows * U);
  }

  template <Asking asks>
  static void fill_spaced(ReduceRowsKernel* kernels) {
    kernels[spacing(-1)] = run_spaced<asks, -1>;
    kernels[spacing(2)] = run_spaced<asks, 2>;
    kernels[spacing(3)] = run_spaced<asks, 3>;
    kernels[spacing(4)] = run_spaced<asks, 4>;
  }

  // Rows of n elements of which P may be read wherever one is.
  static int64_t rows_with_tails(int64_t rows, int64_t row_stride, int64_t n) {
    return rows_with_room(rows, row_stride, (P - 1 - (n - 1) % P) * int64_t(sizeof(T)));
  }

  static void run(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void* center,
                  void* out) {
    const char* centers = static_cast<const char*>(center);
    n *= U;
    if (n < C && 2 * rows >= G) {
      const auto run = with_asking([&](auto way) {
        if constexpr (way == Asking::pages && C * int64_t(sizeof(T)) > least_fetched_row) {
          if (n * int64_t(sizeof(T)) >= least_fetched_row) return short_rows<way>;
        }
        return short_rows<Asking::nothing>;
      });
      int64_t done = 0;
      if constexpr (U == 1 && ops::has_permutations<A, W>) {
        if (n > 1 && n <= W && n % P != 0 && row_stride == n * int64_t(sizeof(T))) {
          const auto packed = n <= 2   ? packed_rows<2>
                              : n <= 4 ? packed_rows<4>
                              : n <= 8 ? packed_rows<(W > 8 ? 8 : W)>
                                       : packed_rows<W>;
          done = packed(in, rows, n, centers, static_cast<char*>(out));
          if (done == rows) return;
        }
      }
      return run(in + done * row_stride, row_stride, rows - done, n,
                 centers ? centers + done * int64_t(sizeof(A)) : nullptr,
                 static_cast<char*>(out) + done * int64_t(sizeof(A)));
    }
    each_row(with_asking([](auto way) {
               constexpr bool in_vain = way == Asking::near && !asks_near;
               constexpr Asking taken = in_vain ? Asking::nothing : Asking(way);
               return row<taken>;
             }),
             in, row_stride, rows, n, centers, out);
  }

  // Rows from beyond the caches, of processors that read those in halves.
  static void run_from_afar(const char* in, int64_t row_stride, int64_t rows, int64_t n,
                            const void* center, void* out) {
    if (n * U < C) return run(in, row_stride, rows, n, center, out);
    each_row(row<Asking::halves>, in, row_stride, rows, n * U, static_cast<const char*>(center),
             out);
  }

  template <class Row>
  ARRAYX_HD static void each_row(const Row& reduce, const char* in, int64_t row_stride,
                                 int64_t rows, int64_t n, const char* centers, void* out) {
    const int64_t with_room = rows_with_tails(rows, row_stride, n);
    for (int64_t r = 0; r < rows; ++r) {
      A c = A(0), result[U];
      if (centers) c = load_item<A>(centers + r * sizeof(A));
      reduce(in + r * row_stride, n, c, result, r < with_room);
      __builtin_memcpy(static_cast<char*>(out) + r * sizeof result, result, sizeof result);
    }
    finish<Op>(static_cast<A*>(out), rows * U);
  }
};

// Rows of deviations and of their squares, read once. The sums of squares follow the others.
template <class T, class A>
struct DeviationRows {
  using Sums = Rows<SumDeviations, T, A, 1>;
  using Squares = Rows<ops::SumSquaredDeviations, T, A, 1>;
  using V = typename Sums::V;
  static constexpr int P = Sums::P, W = Sums::W, R = Sums::R, K = Sums::K;
  static constexpr int64_t C = Sums::C;

  // What stands so many pages further. They are a constant of the loop, since it would take a tenth
  // longer with a variable within the caches.
  template <int pages>
  ARRAYX_HD static void ask(const char* p) {
    if constexpr (pages > 0) fetch<P* int(sizeof(T))>(p + pages * page_bytes);
  }
  // A full chunk, as Rows reads it.
  template <int pages>
  ARRAYX_HD static void full_chunk(const char* p, V c, V& sum, V& square) {
    V s[R], q[R];
    asm("" ::: "memory");
    const auto deviation = [&](int64_t i) { return Sums::mapped(Sums::at(p, i), c); };
    ARRAYX_UNROLL
    for (int r = 0; r < R; ++r) {
      s[r] = deviation(r * W);
      q[r] = s[r] * s[r];
    }
    ask<pages>(p);
    ARRAYX_UNROLL
    for (int i = 1; i < 16; ++i) {
      if (i * P * int(sizeof(T)) % line_bytes == 0) ask<pages>(Sums::at(p, i * P));
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) {
        const V d = deviation(i * P + r * W);
        s[r] = added<SumDeviations, T>(s[r], d);
        q[r] = q[r] + d * d;
      }
    }
    sum = Sums::halved(s);
    square = Squares::halved(q);
  }

  template <int pages>
  static void row(const char* p, int64_t n, A center, A* sum, A* square, bool room) {
    ChunkTree<SumDeviations, A, 1> sums;
    ChunkTree<ops::SumSquaredDeviations, A, 1> squares;
    const V c(center);
    A part;
    int64_t i = 0;
    for (; i + K * C <= n; i += K * C) {
      V s[K], q[K];
      for (int k = 0; k < K; ++k) full_chunk<pages>(Sums::at(p, i + k * C), c, s[k], q[k]);
      part = Sums::folded(s)[0];
      sums.push(&part, K);
      part = Squares::folded(q)[0];
      squares.push(&part, K);
    }
    for (; i + C <= n; i += C) {
      V s, q;
      full_chunk<pages>(Sums::at(p, i), c, s, q);
      Sums::template fold_vector<W>(s, &part);
      sums.push(&part, 1);
      Squares::template fold_vector<W>(q, &part);
      squares.push(&part, 1);
    }
    if (i < n) {
      const int64_t rounds = (n - i) / P, rest = (n - i) % P;
      const RowTail<T, V, R> tail(Sums::at(p, n - rest), rest, room);
      const char* const last = Sums::at(p, i);
      for (int64_t k = 0; k < n - i; k += P) ask<pages>(Sums::at(last, k));
      V x = Sums::template lanes_of<Asking::nothing>(last, rounds, tail.data, tail.live(), c);
      Sums::template fold_vector<W>(x, &part);
      sums.push(&part, 1);
      x = Squares::template lanes_of<Asking::nothing>(last, rounds, tail.data, tail.live(), c);
      Squares::template fold_vector<W>(x, &part);
      squares.push(&part, 1);
    }
    sums.result(sum);
    squares.result(square);
  }

  static void run(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void* center,
                  void* out) {
    A* const sums = static_cast<A*>(out);
    const auto reduce = with_asking([](auto way) {
      if constexpr (way == Asking::pages) return straight_ahead == page_bytes ? row<1> : row<2>;
      return row<0>;
    });
    const int64_t with_room = Sums::rows_with_tails(rows, row_stride, n);
    for (int64_t r = 0; r < rows; ++r) {
      const A c = load_item<A>(static_cast<const char*>(center) + r * int64_t(sizeof(A)));
      reduce(in + r * row_stride, n, c, sums + r, sums + rows + r, r < with_room);
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

  // Whether the squares of what is added go to a second plane, `plane` accumulators behind.
  static constexpr bool squares = ops::same_type_v<Op, SumDeviations>;
  static constexpr int64_t widest = !squares                ? most_columns
                                    : sizeof(A) > sizeof(T) ? most_columns / 4
                                                            : most_columns / 2;
  static constexpr int64_t most_levels = 14;  // of max_column_length

  // How far ahead lines of a few rows that are read side by side are asked for, and of many; none
  // are, where 0 is.
  static int64_t columns_ahead() { return reading_asks == Asking::nothing ? 0 : 2048; }
  static constexpr int64_t few_ahead = 1024;

  // Rows that are read side by side along the whole width, and stay in registers: more of them
  // where the hardware follows as many.
  static constexpr int few_together = sizeof(A) > sizeof(T) ? 8 : 4;
  static int64_t rows_together() { return reading_asks == Asking::nothing ? 8 : few_together; }

  // out[j] = in[0][j] … in[count-1][j] combined in order; rows `stride` bytes apart.
  // With `go_on`, combined onto out[j]. Part: the first `live` columns of V alone. Narrow: all rows
  // of a chunk, which are read straight on; folded: its lanes combined. Else what stands `ahead`
  // bytes further, which is read soon, is asked for, since the hardware starts anew in each page: a
  // tenth to a third of the time. Those chunks are read in halves where nothing is asked for.
  enum class Width { whole, part, narrow, folded };
  template <class V, int K, Width width = Width::whole, bool asks = false, bool halves = false>
  ARRAYX_HD static void stripe(const char* p, int64_t stride, int64_t count, const A* center,
                               A* out, int64_t plane, bool go_on, int64_t ahead, int64_t live = 0) {
    constexpr int W = ops::lane_traits<V>::lanes;
    constexpr bool Part = width == Width::part;
    constexpr bool narrow = width == Width::narrow || width == Width::folded;
    // For each line that is read one that is read later: many at once take a quarter longer.
    const auto ask = [&](const char* q, int k) {
      constexpr int bytes = W * int(sizeof(T));
      if (narrow && asks && k * bytes % line_bytes < bytes)
        fetch<bytes>(q + straight_ahead + k * bytes);
    };
    V c[K], acc[K];
    [[maybe_unused]] V square[K];
    const auto load = [&](const char* q, int k) {
      if constexpr (W == 1) {
        return Op::map(convert_item<A>(load_item<T>(q + k * sizeof(T))), c[k]);
      } else if constexpr (Part) {
        return Op::map(load_part_as<T, A, W>(q, live), c[k]);
      } else {
        constexpr bool in_halves = narrow ? !asks : halves;
        return Op::map(load_as<T, A, W, in_halves>(q + k * W * sizeof(T)), c[k]);
      }
    };
    const auto load_accumulators = [&](const A* from, int k) {
      if constexpr (W == 1) {
        return from[k];
      } else if constexpr (Part) {
        return load_part<A, W>(from, live);
      } else {
        return V::load(from + k * W);
      }
    };
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) c[k] = center ? load_accumulators(center, k) : V(A{});
    int64_t i = 0;
    if (go_on) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        acc[k] = load_accumulators(out, k);
        if constexpr (squares) square[k] = load_accumulators(out + plane, k);
      }
    } else {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        acc[k] = load(p, k);
        if constexpr (squares) square[k] = acc[k] * acc[k];
        ask(p, k);
      }
      i = 1;
    }
    const auto add = [&](const char* q) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const V x = load(q, k);
        acc[k] = added<Op, T>(acc[k], x);
        if constexpr (squares) square[k] = square[k] + x * x;
        ask(q, k);
      }
      if (!narrow && K > 1 && ahead) {
        fetch<K * W* int(sizeof(T))>(q + ahead);
      }
    };
    if (go_on && count == few_together) {
      ARRAYX_UNROLL
      for (int r = 0; r < few_together; ++r) add(p + r * stride);
    } else {
      for (; i < count; ++i) add(p + i * stride);
    }
    const auto store = [&](V* x, A* to) {
      if constexpr (Part) {
        store_part(*x, to, live);
      } else if constexpr (width == Width::folded) {
        fold<K>(x, to);
      } else {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) __builtin_memcpy(to + k * W, x + k, sizeof(V));
      }
    };
    store(acc, out);
    if constexpr (squares) store(square, out + plane);
  }

  // Writes the lanes of a chunk, K vectors, combined by halves: those of vectors, then of parts.
  template <int K, int lanes = P, class V>
  ARRAYX_HD static void fold(V* x, A* to) {
    constexpr int W = ops::lane_traits<V>::lanes;
    if constexpr (lanes == 1) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) x[k].store(to + k * W);
    } else if constexpr (K > 1) {
      ARRAYX_UNROLL
      for (int k = 0; k < K / 2; ++k) x[k] = Op::combine(x[k], x[k + K / 2]);
      fold<K / 2, lanes / 2>(x, to);
    } else {
      auto y = Op::combine(low_half(*x), high_half(*x));
      fold<1, lanes / 2>(&y, to);
    }
  }

  // Where it turns, what is asked for at the end of the rows stands in those that are read next,
  // `next` bytes further.
  static void accumulate(const char* in, int64_t stride, int64_t count, int64_t width,
                         const A* center, A* out, int64_t plane, bool go_on, int64_t ahead = 0,
                         bool turns = false, int64_t next = 0) {
    int64_t j = 0;
    const int64_t turn = turns ? width - ahead / int64_t(sizeof(T)) : width;
    const int64_t beyond = ahead - width * int64_t(sizeof(T)) + next;
    const auto at = [&](int64_t k) { return center ? center + k : nullptr; };
    if constexpr (vector) {
      constexpr int W = ops::vector_bytes / int(sizeof(A));
      using V = Vec<A, W>;
      constexpr int K = 4 * int(sizeof(A) / sizeof(T) > 1 && !squares ? 2 : 1);
      with_halves(stride != 0,
                  [&]<bool halves>(std::bool_constant<halves>) __attribute__((always_inline)) {
                    for (; j + K * W <= width; j += K * W) {
                      stripe<V, K, Width::whole, false, halves>(in + j * sizeof(T), stride, count,
                                                                at(j), out + j, plane, go_on,
                                                                j < turn ? ahead : beyond);
                    }
                  });
      for (; j + W <= width; j += W) {
        stripe<V, 1>(in + j * sizeof(T), stride, count, at(j), out + j, plane, go_on, 0);
      }
      if (j < width) {
        stripe<V, 1, Width::part>(in + j * sizeof(T), stride, count, at(j), out + j, plane, go_on,
                                  0, width - j);
      }
    } else {
      constexpr int W = ops::vector_bytes / int(sizeof(A));
      for (; j + 4 * W <= width; j += 4 * W) {
        stripe_of_products<4>(in + j * sizeof(T), stride, count, out + j, go_on);
      }
      for (; j + 2 * W <= width; j += 2 * W) {
        stripe_of_products<2>(in + j * sizeof(T), stride, count, out + j, go_on);
      }
      for (; j + W <= width; j += W) {
        stripe_of_products<1>(in + j * sizeof(T), stride, count, out + j, go_on);
      }
      for (; j < width; ++j) {
        stripe<A, 1>(in + j * sizeof(T), stride, count, at(j), out + j, plane, go_on, 0);
      }
    }
  }

  // What stripe() does for complex products, whose parts lie by turns in K vectors; with its bits.
  template <int K>
  ARRAYX_HD static void stripe_of_products(const char* p, int64_t stride, int64_t count, A* out,
                                           bool go_on) {
    using R = decltype(A::re);
    constexpr int parts = ops::vector_bytes / int(sizeof(R));
    using V = Vec<R, parts>;
    V acc[K];
    const char* const first = go_on ? reinterpret_cast<const char*>(out) : p;
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) acc[k] = V::load(first + k * sizeof(V));
    for (int64_t i = go_on ? 0 : 1; i < count; ++i) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const V x = V::load(p + i * stride + k * sizeof(V));
        acc[k] = product_by_turns(acc[k], x, std::make_integer_sequence<int, parts>{});
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) acc[k].store(reinterpret_cast<char*>(out) + k * sizeof(V));
  }
  template <class V, int... I>
  ARRAYX_HD static V product_by_turns(V a, V b, std::integer_sequence<int, I...>) {
    const V re(__builtin_shufflevector(a.v, a.v, (I / 2 * 2)...));
    const V im(__builtin_shufflevector(a.v, a.v, (I / 2 * 2 + 1)...));
    const V turned(__builtin_shufflevector(b.v, b.v, (I ^ 1)...));
    const V minus(typename V::native{(I % 2 == 0 ? -1.0f : 1.0f)...});
    return re * b + im * turned * minus;
  }

  // Whether rounds of so many vectors are added up in registers. Read in parts, each of which
  // leaves out lines of the others, they would take twice as long as onto accumulators in memory,
  // but for deviations, which take longer than reading.
  static constexpr int most_at_once = 8;
  static constexpr bool fits_registers(int64_t vectors, bool centered) {
    if (vectors <= most_at_once) return true;
    return ops::vector_bytes == 64 && (centered ? vectors <= 32 : vectors == 16);
  }
  // All rounds of a chunk, of so many vectors; returns whether their lanes are combined.
  template <bool asks>
  static bool narrow_rounds(const char* in, int64_t stride, int64_t count, int64_t vectors,
                            const A* center, A* out, int64_t plane, bool combines) {
    constexpr int W = ops::vector_bytes / int(sizeof(A));
    using V = Vec<A, W>;
    bool combined = false;
    const auto run = [&]<int K>(int64_t first, std::integral_constant<int, K>) {
      if constexpr (K > 1 && std::has_single_bit(unsigned(K))) {
        combined = combines && vectors == K;
        if (combined) {
          stripe<V, K, Width::folded, asks>(in, stride, count, center, out, plane, false, 0);
          return;
        }
      }
      stripe<V, K, Width::narrow, asks>(in + first * W * int64_t(sizeof(T)), stride, count,
                                        center ? center + first * W : nullptr, out + first * W,
                                        plane, false, 0);
    };
    if constexpr (ops::vector_bytes == 64) {
      if (vectors == 16 && !center) {
        run(0, std::integral_constant<int, 16>());
        return combined;
      }
    }
    constexpr int of_column = P / W;
    for (int64_t first = 0; first < vectors; first += most_at_once) {
      with_constant<most_at_once / of_column>((vectors - first) / of_column, [&](auto columns) {
        run(first, std::integral_constant<int, decltype(columns)::value * of_column>());
      });
    }
    return combined;
  }

  // All rounds of a chunk, `width` elements after `width`, onto accumulators that an L1 holds.
  template <bool asks>
  static void straight_rounds(const char* in, int64_t count, int64_t width, A* out) {
    constexpr int W = ops::vector_bytes / int(sizeof(A));
    using V = Vec<A, W>;
    const auto round = [&]<bool First>(const char* p, std::bool_constant<First>) {
      int64_t j = 0;
      const auto run = [&]<int K>(std::integral_constant<int, K>) {
        for (; j + K * W <= width; j += K * W) {
          const char* const q = p + j * int64_t(sizeof(T));
          fetch_straight_on<K * W* int(sizeof(T))>(q, asks);
          V x[K];
          ARRAYX_UNROLL
          for (int k = 0; k < K; ++k) {
            x[k] = Op::map(load_as<T, A, W, !asks>(q + k * W * sizeof(T)), V(A(0)));
            if (!First) x[k] = added<Op, T>(V::load(out + j + k * W), x[k]);
          }
          ARRAYX_UNROLL
          for (int k = 0; k < K; ++k) x[k].store(out + j + k * W);
        }
      };
      run(std::integral_constant<int, 4>());
      run(std::integral_constant<int, 1>());
    };
    round(in, std::true_type());
    for (int64_t i = 1; i < count; ++i) {
      round(in + i * width * int64_t(sizeof(T)), std::false_type());
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
      // Which of two is larger no branch foresees.
      if constexpr (is_extreme<Op> && ops::vector_bytes == 64 && sizeof(A) >= 4) {
        if (j == n) return;
        const V x = load_part<A, W>(left + j, n - j), y = load_part<A, W>(right + j, n - j);
        return store_part(Op::combine(x, y), left + j, n - j);
      }
    } else {
      // Fewer have been stored one by one, which registers would wait for.
      constexpr int64_t few = 4;
      if (n >= few) {
        j = merge_products<ops::vector_bytes>(left, right, j, n);
        if constexpr (ops::vector_bytes == 64) j = merge_products<32>(left, right, j, n);
      }
    }
    for (; j < n; ++j) left[j] = Op::combine(left[j], right[j]);
  }
  // Complex products by vectors of so many bytes, from the j-th on; up to which there are.
  template <int bytes>
  ARRAYX_HD static int64_t merge_products(A* left, const A* right, int64_t j, int64_t n) {
    using R = decltype(A::re);
    constexpr int parts = bytes / int(sizeof(R));
    using V = Vec<R, parts>;
    for (; j + parts / 2 <= n; j += parts / 2) {
      char* const to = reinterpret_cast<char*>(left + j);
      const V x = V::load(to), y = V::load(reinterpret_cast<const char*>(right + j));
      product_by_turns(x, y, std::make_integer_sequence<int, parts>{}).store(to);
    }
    return j;
  }
  // Of both planes.
  ARRAYX_HD static void merge_planes(A* left, const A* right, int64_t n, int64_t plane) {
    merge(left, right, n);
    if constexpr (squares) merge(left + plane, right + plane, n);
  }
  ARRAYX_HD static void copy_planes(A* to, int64_t to_plane, const A* from, int64_t plane,
                                    int64_t n) {
    __builtin_memcpy(to, from, n * sizeof(A));
    if constexpr (squares) __builtin_memcpy(to + to_plane, from + plane, n * sizeof(A));
  }
  static void merge_kernel(void* left, const void* right, int64_t n) {
    merge(static_cast<A*>(left), static_cast<const A*>(right), n);
  }

  // One chunk of n ≤ C rows, into lanes[0 … width). A few rows at a time, P apart, stay in
  // registers along the whole width: with sixteen, or with pieces of rows, memory is read a quarter
  // slower. Where shorter rows follow each other without gaps (fused), P of them are one long row
  // of (lane, column) pairs.
  static void chunk(const char* in, int64_t row_stride, int64_t n, int64_t width, const A* center,
                    bool fused, A* lanes, int64_t plane) {
    const int64_t live = n < P ? n : P, full = n / P, rest = n % P, together = rows_together();
    int64_t left = live;
    if (fused) {
      // Lanes that would fill the first cache, by what else a round takes, are left there between
      // more than one round. Narrow ones stay in registers.
      constexpr bool light = vector && !is_extreme<Op>;
      constexpr bool heavy = squares || (is_extreme<Op> && ops::vector_bytes < 64);
      const int64_t most_near = heavy || first_cache_bytes() < 40 << 10 ? 8 << 10 : 16 << 10;
      const int64_t rounds = 64 * width > most_near ? together : 1;
      const int64_t vectors = P * width * int64_t(sizeof(A)) / ops::vector_bytes;
      if (vector && fits_registers(vectors, center != nullptr) && full > 0) {
        if constexpr (vector) {
          const auto read = with_asking([&](auto way) {
            if constexpr (way == Asking::pages) return narrow_rounds<true>;
            if constexpr (ops::vector_bytes == 64) {  // no hardware follows parts of rows by itself
              if (center && vectors > most_at_once && asks_for_pages) return narrow_rounds<true>;
            }
            return narrow_rounds<false>;
          });
          if (read(in, P * row_stride, full, vectors, center, lanes, plane, rest == 0)) left = 1;
        }
      } else if (light && rounds == 1 && !center && full > 0) {
        if constexpr (light) {
          const auto read =
              with_asking([](auto way) { return straight_rounds<way == Asking::pages>; });
          read(in, full, P * width, lanes);
        }
      } else {
        const int64_t ahead = reading_asks == Asking::nothing ? 0
                              : rounds == 1                   ? straight_ahead
                              : is_extreme<Op>                ? columns_ahead()
                                                              : rounds * P * row_stride;
        for (int64_t i = 0; i < full; i += rounds) {
          accumulate(in + i * P * row_stride, P * row_stride, full - i < rounds ? full - i : rounds,
                     P * width, center, lanes, plane, i > 0, ahead);
        }
      }
      if (rest > 0) {
        accumulate(in + full * P * row_stride, 0, 1, rest * width, center, lanes, plane, full > 0);
      }
    } else {
      for (int64_t i = 0; i < full + (rest > 0); i += together) {
        for (int64_t r = 0; r < live; ++r) {
          const int64_t rounds = full + (r < rest) - i;
          if (rounds <= 0) break;
          accumulate(in + (i * P + r) * row_stride, P * row_stride,
                     rounds < together ? rounds : together, width, center, lanes + r * width, plane,
                     i > 0, columns_ahead(), true,
                     (r + 1 < live ? 1 : together * P - r) * row_stride);
        }
      }
    }
    for (int64_t half = P / 2; half > 0; half /= 2) {
      if (left > half) {
        merge_planes(lanes, lanes + half * width, (left - half) * width, plane);
        left = half;
      }
    }
  }

  // Few rows: a lane holds a few elements, and a stripe is combined as it is read.
  // The lanes first, first + step … as the tree over lanes combines them.
  template <class V, int K, int Step, class Load>
  ARRAYX_HD static void few_lanes(const Load& load, int64_t first, int64_t n, V* x) {
    if constexpr (Step == P) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) x[k] = load(first, k);
      for (int64_t r = first + P; r < n; r += P) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) x[k] = Op::combine(x[k], load(r, k));
      }
    } else {
      few_lanes<V, K, 2 * Step>(load, first, n, x);
      if (first + Step >= n) return;
      V y[K];
      few_lanes<V, K, 2 * Step>(load, first + Step, n, y);
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) x[k] = Op::combine(x[k], y[k]);
    }
  }
  template <int Step, class V, int K, bool Part = false, bool halves = false>
  ARRAYX_HD static void few_rows(const char* p, int64_t stride, int64_t first, int64_t n,
                                 const A* center, A* out, bool go_on, int64_t live = 0) {
    constexpr int W = ops::lane_traits<V>::lanes;
    const auto load_accumulators = [&](const A* from, int k) {
      if constexpr (Part) {
        return load_part<A, W>(from, live);
      } else {
        return V::load(from + k * W);
      }
    };
    V c[K], x[K];
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) c[k] = center ? load_accumulators(center, k) : V(A(0));
    const bool asks = reading_asks != Asking::nothing;
    const auto load = [&](int64_t r, int k) {
      const char* q = p + r * stride + k * W * int64_t(sizeof(T));
      if (K > 1 && k == 0 && asks) fetch<K * W* int(sizeof(T))>(q + few_ahead);
      if constexpr (Part) {
        return Op::map(load_part_as<T, A, W>(q, live), c[k]);
      } else {
        return Op::map(load_as<T, A, W, halves>(q), c[k]);
      }
    };
    few_lanes<V, K, Step>(load, first, n, x);
    if (go_on) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) x[k] = Op::combine(load_accumulators(out, k), x[k]);
    }
    if constexpr (Part) {
      store_part(x[0], out, live);
    } else {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) x[k].store(out + k * W);
    }
  }

  // The lanes first, first + Step … of all columns, with `go_on` combined onto out. Memory is read
  // by eight rows at a time: more of them, where they begin at about the same place of a page, meet
  // in the same few lines of an L1, which takes half as long again. spare: `width` for each split.
  template <int Step>
  static void few_columns(const char* in, int64_t row_stride, int64_t first, int64_t n,
                          int64_t width, const A* center, A* out, bool go_on, A* spare) {
    if constexpr (Step < P / 2) {
      if (n - first > 8 * Step && n * row_stride > (512 << 10)) {
        A* const both = go_on ? spare : out;
        A* const left = go_on ? spare + width : spare;
        few_columns<2 * Step>(in, row_stride, first, n, width, center, both, false, left);
        few_columns<2 * Step>(in, row_stride, first + Step, n, width, center, both, true, left);
        if (go_on) merge(out, both, width);
        return;
      }
    }
    constexpr int W = ops::vector_bytes / int(sizeof(A));
    using V = Vec<A, W>;
    const auto at = [&](int64_t k) { return center ? center + k : nullptr; };
    int64_t j = 0;
    with_halves(true, [&]<bool halves>(std::bool_constant<halves>) __attribute__((always_inline)) {
      for (; j + 4 * W <= width; j += 4 * W) {
        few_rows<Step, V, 4, false, halves>(in + j * sizeof(T), row_stride, first, n, at(j),
                                            out + j, go_on);
      }
    });
    for (; j + W <= width; j += W) {
      few_rows<Step, V, 1>(in + j * sizeof(T), row_stride, first, n, at(j), out + j, go_on);
    }
    if (j < width) {
      few_rows<Step, V, 1, true>(in + j * sizeof(T), row_stride, first, n, at(j), out + j, go_on,
                                 width - j);
    }
  }

  // lanes: P × width, stack: a level of `width` for each doubling of the number of chunks; behind
  // them, and behind the `out_plane` accumulators of the result, their second planes. `last`: where
  // the last chunk is read, if elsewhere.
  static void segment(const char* in, int64_t row_stride, int64_t n, int64_t width, const A* center,
                      bool fused, A* lanes, A* stack, A* out, int64_t out_plane,
                      const char* last = nullptr) {
    const int64_t plane = P * width, levels_plane = most_levels * width;
    int top = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += C) {
      // Full chunks of a row that is repeated are all the same.
      if (row_stride != 0 || i == 0 || n - i < C) {
        const char* const p = last && n - i <= C ? last : in + i * row_stride;
        chunk(p, row_stride, n - i < C ? n - i : C, width, center, fused, lanes, plane);
      }
      int levels = 0;  // this chunk is the last of so many finished pairs
      for (int64_t c = count++; c & 1; c >>= 1) ++levels;
      const bool whole = i + C >= n && top == 0;
      A* to = whole ? out : stack + top * width;
      copy_planes(to, whole ? out_plane : levels_plane, lanes, plane, width);
      for (; levels > 0; --levels, --top) {
        merge_planes(stack + (top - 1) * width, stack + top * width, width, levels_plane);
      }
      ++top;
    }
    if (n <= C) return;
    for (; top > 1; --top) {
      merge_planes(stack + (top - 2) * width, stack + (top - 1) * width, width, levels_plane);
    }
    copy_planes(out, out_plane, stack, levels_plane, width);
  }

  static void run_any_order(const char* in, int64_t row_stride, int64_t n, int64_t width,
                            char* workspace, A* out) {
    if constexpr (sums_narrow<Op, T, A>) {
      using N = twice_as_wide<T>;
      N* sums = reinterpret_cast<N*>(workspace);
      for (int64_t i = 0; i < n; i += narrow_sums<T>) {
        const int64_t rows = n - i < narrow_sums<T> ? n - i : narrow_sums<T>;
        Columns<Op, T, N>::run_any_order(in + i * row_stride, row_stride, rows, width, nullptr,
                                         sums);
        Columns<Op, N, A>::accumulate(workspace, 0, 1, width, nullptr, out, 0, i > 0);
      }
      return;
    }
    // Rows that are read together are far from each other: hardware fetches ahead of streams that
    // are not in the same pages.
    const int64_t together = rows_together(), part = n / together;
    const bool gaps = row_stride != width * int64_t(sizeof(T));
    for (int64_t i = 0; i < part; ++i) {
      accumulate(in + i * row_stride, part * row_stride, together, width, nullptr, out, 0, i > 0,
                 gaps ? columns_ahead() : 0, gaps, row_stride);
    }
    for (int64_t i = part * together; i < n; ++i) {
      accumulate(in + i * row_stride, 0, 1, width, nullptr, out, 0, i > 0);
    }
  }

  static void run_segment(const char* in, int64_t row_stride, int64_t n, int64_t width,
                          const A* center, char* workspace, A* out, int64_t out_plane) {
    if constexpr (order_free<A>) {
      const auto rows = [&](int64_t first, int64_t stride, int64_t count, int64_t columns, A* to) {
        run_any_order(in + first * row_stride, stride, count, columns, workspace, to);
      };
      by_joined_rows(row_stride, sizeof(T), n, width,
                     reinterpret_cast<A*>(workspace + most_columns * sizeof(A)), out, rows, merge);
    } else {
      if constexpr (vector && !squares) {
        // More rows only from within an L1: they are not read in the order of memory.
        if (n <= 2 * P || (n <= 4 * P && n * row_stride <= (16 << 10))) {
          few_columns<1>(in, row_stride, 0, n, width, center, out, false,
                         reinterpret_cast<A*>(workspace));
          return;
        }
      }
      A* lanes = reinterpret_cast<A*>(workspace);
      A* centers = lanes + P * most_columns;
      A* stack = centers + P * most_columns;
      constexpr int64_t most_fused = 512 << 10;  // bytes that are read side by side
      // Short rows are fused with what stands between them. The last ones, behind which there need
      // be nothing, are copied.
      constexpr int64_t most_gapped = 2 * line_bytes, most_all = most_gapped / int(sizeof(T));
      const int64_t with_gaps = columns_with_gaps(row_stride, sizeof(T), width);
      const int64_t all = vector && row_stride <= most_gapped ? with_gaps : width;
      const bool fused =
          row_stride == all * int64_t(sizeof(T)) && few_together * P * row_stride <= most_fused;
      if (fused && center) {
        for (int64_t r = 0; r < P && r < n; ++r) {
          for (int64_t j = width; j < all; ++j) centers[r * all + j] = A{};
          __builtin_memcpy(centers + r * all, center, width * sizeof(A));
        }
        center = centers;
      }
      if (all == width) {
        return segment(in, row_stride, n, width, center, fused, lanes, stack, out, out_plane);
      }
      char* const last = reinterpret_cast<char*>(centers + P * most_all);
      const int64_t rest = (n - 1) % C + 1;
      for (int64_t r = 0; r < rest; ++r) {
        __builtin_memcpy(last + r * row_stride, in + (n - rest + r) * row_stride,
                         width * sizeof(T));
      }
      alignas(64) A results[2 * most_all];
      segment(in, row_stride, n, all, center, fused, lanes, stack, results, most_all, last);
      copy_planes(out, out_plane, results, most_all, width);
    }
  }

  static void run(const char* in, int64_t row_stride, int64_t n, int64_t columns,
                  const void* center, void* workspace, void* out) {
    for (int64_t j = 0; j < columns; j += widest) {
      const int64_t width = columns - j < widest ? columns - j : widest;
      run_segment(in + j * sizeof(T), row_stride, n, width,
                  center ? static_cast<const A*>(center) + j : nullptr,
                  static_cast<char*>(workspace), static_cast<A*>(out) + j, columns);
      finish<Op>(static_cast<A*>(out) + j, width);
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

  // Complex products of `some` runs of n elements, a chunk at most, `apart` bytes between them:
  // each step waits for the one before it, so that they go side by side. Where they follow each
  // other those behind them are asked for, more than an L1 can wait for.
  template <int some, bool asks>
  ARRAYX_HD static void products(const char* p, int64_t apart, int64_t n, A* results) {
    using R = decltype(A::re);
    constexpr int parts = ops::vector_bytes / int(sizeof(R)),
                  K = P * int(sizeof(A)) / ops::vector_bytes;
    using V = Vec<R, parts>;
    const int64_t full = n / P, rest = n % P;
    V acc[some][K];
    const auto at = [&](int s, int64_t i, int k) {
      const char* const q = p + s * apart + i * P * int64_t(sizeof(T)) + k * int64_t(sizeof(V));
      if constexpr (asks) {
        if (k * int(sizeof(V)) % line_bytes == 0) fetch_line<Cache::second>(q + some * apart);
      }
      return V::load(q);
    };
    ARRAYX_UNROLL
    for (int s = 0; s < some; ++s) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) acc[s][k] = at(s, 0, k);
    }
    for (int64_t i = 1; i < full; ++i) {
      ARRAYX_UNROLL
      for (int s = 0; s < some; ++s) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          acc[s][k] =
              product_by_turns(acc[s][k], at(s, i, k), std::make_integer_sequence<int, parts>{});
        }
      }
    }
    ARRAYX_UNROLL
    for (int s = 0; s < some; ++s) {
      A lanes[P];
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) acc[s][k].store(reinterpret_cast<char*>(lanes) + k * sizeof(V));
      const char* const tail = p + s * apart + full * P * int64_t(sizeof(T));
      if (rest > 0) accumulate(tail, 0, 1, rest, nullptr, lanes, 0, true);
      for (int64_t half = P / 2; half > 0; half /= 2) merge(lanes, lanes + half, half);
      results[s] = lanes[0];
    }
  }

  // Rows of complex numbers: the same lanes as above.
  static void rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                   void* out) {
    constexpr int together = ops::vector_bytes / 16;
    A* const results = static_cast<A*>(out);
    int64_t r = 0;
    if (n >= P && n < C) {
      for (; r + together <= rows; r += together) {
        products<together, false>(in + r * row_stride, row_stride, n, results + r);
      }
    }
    for (; r < rows; ++r) {
      const char* const p = in + r * row_stride;
      const auto at = [&](int64_t i) { return p + i * int64_t(sizeof(T)); };
      A lanes[P];
      if (n <= C) {
        chunk(p, sizeof(T), n, 1, nullptr, true, lanes, P);
        results[r] = lanes[0];
        continue;
      }
      ChunkTree<Op, A, 1> tree;
      A part[together];
      int64_t i = 0;
      for (; i + together * C <= n; i += together * C) {
        products<together, true>(at(i), C * int64_t(sizeof(T)), C, part);
        for (int half = 1; half < together; half *= 2) {
          for (int k = 0; k < together; k += 2 * half)
            part[k] = Op::combine(part[k], part[k + half]);
        }
        tree.push(part, together);
      }
      for (; i < n; i += C) {
        const int64_t count = n - i < C ? n - i : C;
        chunk(at(i), sizeof(T), count, 1, nullptr, true, lanes, P);
        tree.push(lanes, 1);
      }
      tree.result(results + r);
    }
  }
};

// ---- any, all, count_nonzero --------------------------------------------------------------------

template <class T>
struct Conditions {
  static constexpr bool vector = !ops::is_complex_v<T>;
  static constexpr int W = vector ? ops::vector_bytes / int(sizeof(T)) : 1;
  using V = std::conditional_t<vector, Vec<T, W>, T>;

  // Whether some element is zero (Zero) or non-zero (!Zero); stops at the first block that has one.
  template <bool Zero>
  static bool found(const char* p, int64_t n) {
    int64_t i = 0;
    if constexpr (vector) {
      const auto seen = [&](auto m) { return ops::any(Zero ? !m : m); };
      const auto at = [&](int64_t k) { return ops::is_nonzero(V::load(p + k * sizeof(T))); };
      constexpr int K = 8;
      for (; i + K * W <= n; i += K * W) {
        auto m = at(i);
        ARRAYX_UNROLL
        for (int k = 1; k < K; ++k) m = Zero ? m & at(i + k * W) : m | at(i + k * W);
        if (seen(m)) return true;
      }
      for (; i + W <= n; i += W) {
        if (seen(at(i))) return true;
      }
      if (n >= W) return i < n && seen(at(n - W));
      if (Zero) {
        for (; i < n; ++i) {
          if (!ops::is_nonzero(load_item<T>(p + i * sizeof(T)))) return true;
        }
        return false;
      }
      return n > 0 && ops::any(ops::is_nonzero(load_part<T, W>(p, n)));
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
    if constexpr (vector) {
      if (i < n) {  // lanes beyond the end are zero
        using I = ops::int_t<V>;
        ops::scalar_t<I> counts[W];
        I(typename I::native(ops::is_nonzero(load_part<T, W>(p + i * sizeof(T), n - i)).v))
            .store(counts);
        for (int k = 0; k < W; ++k) total -= counts[k];
      }
    } else {
      for (; i < n; ++i) total += ops::is_nonzero(load_item<T>(p + i * sizeof(T)));
    }
    return total;
  }
  static void count_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, const void*,
                         void* out) {
    for (int64_t r = 0; r < rows; ++r) {
      static_cast<int64_t*>(out)[r] = count(in + r * row_stride, n);
    }
  }

  // Bits of which some are set if and only if x is not zero: without the sign of a floating number.
  using Bits = Vec<typename ops::ints_of_width<vector ? sizeof(T) : 1>::u, W>;
  ARRAYX_HD static Bits bits(V x) {
    const Bits b = ops::bit_cast<Bits>(x);
    return ops::is_float_v<T> ? b + b : b;
  }
  // `count` rows of K vectors (or of the first `live` lanes of one), combined onto acc, in integers
  // of the elements' width. Mode 0: any, the bits or-ed; 1: all, what has the highest bit where
  // one is zero, or-ed; 2: the count. What stands `ahead` bytes further is asked for.
  template <int Mode, int K, bool Part>
  ARRAYX_HD static void stripe(const char* p, int64_t stride, int64_t count, bool go_on, char* acc,
                               int64_t ahead = 0, int64_t live = 0) {
    using item = ops::scalar_t<Bits>;
    Bits x[K];
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      x[k] = go_on ? Bits::load(acc + k * sizeof(V)) : Bits(item(0));
    }
    for (int64_t r = 0; r < count; ++r) {
      if (K > 1 && ahead != 0) fetch<K* int(sizeof(V))>(p + r * stride + ahead);
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const char* q = p + r * stride + k * sizeof(V);
        const V y = Part ? load_part<T, W>(q, live) : V::load(q);
        if constexpr (Mode == 0) {
          x[k] = x[k] | bits(y);
        } else if constexpr (Mode == 1) {
          x[k] = x[k] | ((bits(y) - Bits(item(1))) & ~bits(y));
        } else {
          x[k] = x[k] - Bits(typename Bits::native(ops::is_nonzero(y).v));
        }
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) x[k].store(acc + k * sizeof(V));
  }

  // The same of all columns of so many rows; where the next row is `stride` further, and a single
  // one long, lines are asked for in the order of memory.
  template <int Mode, int rows>
  static void accumulate(const char* p, int64_t stride, int64_t width, bool go_on, char* acc) {
    constexpr int64_t item = sizeof(T), most_ahead = 8 << 10;
    const int64_t bytes = width * item;
    const bool asks = rows == 1 && stride != 0 && reading_asks != Asking::nothing;
    const int64_t ahead = !asks ? 0 : bytes < most_ahead ? bytes : most_ahead;
    int64_t j = 0;
    for (; j + 4 * W <= width; j += 4 * W) {
      const int64_t gap = j * item + ahead < bytes ? 0 : stride - bytes;
      stripe<Mode, 4, false>(p + j * item, stride, rows, go_on, acc + j * item,
                             ahead > 0 ? ahead + gap : 0);
    }
    for (; j + W <= width; j += W) {
      stripe<Mode, 1, false>(p + j * item, stride, rows, go_on, acc + j * item);
    }
    if (j < width) {
      stripe<Mode, 1, true>(p + j * item, stride, rows, go_on, acc + j * item, 0, width - j);
    }
  }

  template <int Mode, class O>
  static void segment(const char* in, int64_t row_stride, int64_t n, int64_t width, char* acc,
                      O* out) {
    if constexpr (vector) {
      using item_type = ops::scalar_t<Bits>;
      // Rows; one after the other where they are long and come from beyond a near cache: hardware
      // fetches ahead in their order then.
      constexpr int64_t together = 4, long_row = 2048, near_bytes = 256 << 10;
      constexpr int64_t most = Mode == 2 ? 120 : INT64_MAX;  // which the narrowest lanes count
      constexpr int64_t item = sizeof(T);
      for (int64_t i = 0; i < n;) {
        const int64_t end = n - i < most ? n : i + most, start = i;
        const int64_t rows = end - start;
        const char* const p = in + start * row_stride;
        if (width * item >= long_row && rows * width * item > near_bytes) {
          // Several where it follows as many, unless they are short and make one stream.
          constexpr int64_t followed = 8, long_stream = 8 << 10;
          int64_t r = 0;
          if (reading_asks == Asking::nothing &&
              (row_stride != width * item || row_stride > long_stream)) {
            for (; r + followed <= rows; r += followed) {
              accumulate<Mode, followed>(p + r * row_stride, row_stride, width, r > 0, acc);
            }
          }
          for (; r < rows; ++r) {
            accumulate<Mode, 1>(p + r * row_stride, row_stride, width, r > 0, acc);
          }
        } else {
          const int64_t part = rows / together;  // see Columns::run_any_order
          for (int64_t r = 0; r < part; ++r) {
            accumulate<Mode, together>(p + r * row_stride, part * row_stride, width, r > 0, acc);
          }
          for (int64_t r = part * together; r < rows; ++r) {
            accumulate<Mode, 1>(p + r * row_stride, 0, width, r > 0, acc);
          }
        }
        i = end;
        for (int64_t j = 0; j < width; j += W) {
          const int64_t live = width - j < W ? width - j : W;
          Bits x = Bits::load(acc + j * item);
          const Bits zero(item_type(0)), one(item_type(1)), highest = one << (8 * item - 1);
          if (Mode == 0) x = select(x != zero, one, zero);
          if (Mode == 1) x = select((x & highest) != zero, zero, one);
          using Result = Vec<O, W>;
          Result y = ops::convert<Result>(x);
          if (Mode == 2 && start > 0) {
            Result before(O(0));
            __builtin_memcpy(&before.v, out + j, live * sizeof(O));
            y = y + before;
          }
          __builtin_memcpy(out + j, &y.v, live * sizeof(O));
        }
      }
    } else {
      for (int64_t j = 0; j < width; ++j) out[j] = Mode == 1;
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < width; ++j) {
          const bool m = ops::is_nonzero(load_item<T>(in + i * row_stride + j * sizeof(T)));
          if constexpr (Mode == 0) out[j] |= O(m);
          if constexpr (Mode == 1) out[j] &= O(m);
          if constexpr (Mode == 2) out[j] += m;
        }
      }
    }
  }

  template <int Mode, class O>
  static void join(O* left, const O* right, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
      if constexpr (Mode == 0) left[j] |= right[j];
      if constexpr (Mode == 1) left[j] &= right[j];
      if constexpr (Mode == 2) left[j] += right[j];
    }
  }

  template <int Mode, class O>
  static void columns(const char* in, int64_t row_stride, int64_t n, int64_t columns, const void*,
                      void* workspace, void* out) {
    O* const results = static_cast<O*>(out);
    char* const acc = static_cast<char*>(workspace);
    for (int64_t j = 0; j < columns; j += most_columns) {
      const int64_t width = columns - j < most_columns ? columns - j : most_columns;
      const auto rows = [&](int64_t first, int64_t stride, int64_t count, int64_t all, O* to) {
        segment<Mode>(in + first * row_stride + j * int64_t(sizeof(T)), stride, count, all, acc,
                      to);
      };
      by_joined_rows(row_stride, sizeof(T), n, width,
                     reinterpret_cast<O*>(acc + most_columns * sizeof(T)), results + j, rows,
                     join<Mode, O>);
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
  if constexpr (ops::vector_bytes == 64 && !ops::same_type_v<Op, ops::SumSquaredDeviations>) {
    k.rows_from_afar[index(op)][static_cast<int>(d)][wide] = Rows<Op, T, A, U>::run_from_afar;
  }
  if constexpr (ops::same_type_v<Op, ops::Sum> && ops::is_float_v<A>) {
    Rows<Op, T, A, U>::template fill_spaced<Asking::nothing>(k.sum_spaced[int(d)][wide]);
    if constexpr (ops::vector_bytes == 64) {
      ReduceRowsKernel* const from_afar = k.sum_spaced_from_afar[int(d)][wide];
      Rows<Op, T, A, U>::template fill_spaced<Asking::halves>(from_afar);
    }
  }
  if constexpr (U == 2) {
    k.columns[index(op)][static_cast<int>(d)][wide] = Columns<Op, T, A>::run_pairs;
  } else {
    k.columns[index(op)][static_cast<int>(d)][wide] = Columns<Op, T, A>::run;
  }
}

template <class T, class A>
void fill_deviations(ReduceKernels& k, DType d, int wide) {
  fill_pair<ops::SumSquaredDeviations, T, A>(k, Reduction::sum_squared_deviations, d, wide);
  k.deviations_rows[static_cast<int>(d)][wide] = DeviationRows<T, A>::run;
  k.deviations_columns[static_cast<int>(d)][wide] = Columns<SumDeviations, T, A>::run;
}

template <class T>
void fill_dtype(ReduceKernels& k, DType dtype) {
  using namespace ops;
  using R = typename real_of<T>::type;
  const int d = static_cast<int>(dtype);
  using Cond = Conditions<without_sign_t<T>>;
  k.rows[index(Reduction::any)][d][0] = Cond::any_rows;
  k.rows[index(Reduction::all)][d][0] = Cond::all_rows;
  k.rows[index(Reduction::count_nonzero)][d][0] = Cond::count_rows;
  k.columns[index(Reduction::any)][d][0] = Cond::template columns<0, u8>;
  k.columns[index(Reduction::all)][d][0] = Cond::template columns<1, u8>;
  k.columns[index(Reduction::count_nonzero)][d][0] = Cond::template columns<2, int64_t>;
  if constexpr (is_integer_v<T>) {
    using Item = std::conditional_t<sizeof(T) == 8, u64, T>;  // others are widened by their sign
    fill_pair<Sum, Item, u64>(k, Reduction::sum, dtype, 0);
    fill_pair<Prod, Item, u64>(k, Reduction::prod, dtype, 0);
  } else if constexpr (is_float_v<T>) {
    fill_pair<Sum, T, T>(k, Reduction::sum, dtype, 0);
    fill_pair<Prod, T, T>(k, Reduction::prod, dtype, 0);
    fill_deviations<T, T>(k, dtype, 0);
    fill_pair<SumMagnitudes, T, T>(k, Reduction::sum_magnitudes, dtype, 0);
    if constexpr (same_type_v<T, f32>) {
      fill_pair<Sum, f32, f64>(k, Reduction::sum, dtype, 1);
      fill_deviations<f32, f64>(k, dtype, 1);
      fill_pair<SumMagnitudes, f32, f64>(k, Reduction::sum_magnitudes, dtype, 1);
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
  }
}

// Merging runs on the accumulators' dtypes.
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
  k.merge[index(Reduction::sum_magnitudes)][d] = k.merge[index(Reduction::sum)][d];
}

}  // namespace

void fill_reduce(KernelTable& table) {
  ReduceKernels& k = table.reduce;
  for_each_dtype([&k]<class T>(DType d, T) { fill_dtype<T>(k, d); });
  for_each_accumulator([&k]<class A>(DType d, A) { fill_accumulator<A>(k, d); });
  // any and all of conditions are the greatest and the least.
  fill_arg_reduce(k);
  fill_scan(k);
  const int boolean = static_cast<int>(DType::bool_);
  k.merge[index(Reduction::any)][boolean] = k.merge[index(Reduction::max)][boolean];
  k.merge[index(Reduction::all)][boolean] = k.merge[index(Reduction::min)][boolean];
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
