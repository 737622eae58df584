// argmax and argmin over contiguous rows or columns, compiled per instruction set. The first of
// equal values wins, and the first NaN beats every number.
#include "reduce_loops.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

// A word of `bits_of_lane` equal bits for each lane.
#if defined(__SSE2__) && !defined(__AVX512F__)
template <int B>
inline constexpr int bits_of_lane = B;
#else
template <int B>
inline constexpr int bits_of_lane = 1;
#endif
template <int B, int N>
ARRAYX_HD u64 lane_bits(ops::Mask<B, N> m) {
#if defined(__AVX512F__)
  const __m512i lanes = __builtin_bit_cast(__m512i, m.v);
  if constexpr (B == 8) return _mm512_movepi64_mask(lanes);
  if constexpr (B == 4) return _mm512_movepi32_mask(lanes);
  if constexpr (B == 2) return _mm512_movepi16_mask(lanes);
  if constexpr (B == 1) return _mm512_movepi8_mask(lanes);
#elif defined(__AVX2__)
  return static_cast<u32>(_mm256_movemask_epi8(__builtin_bit_cast(__m256i, m.v)));
#elif defined(__SSE2__)
  return static_cast<u32>(_mm_movemask_epi8(__builtin_bit_cast(__m128i, m.v)));
#else
  if (!any(m)) return 0;
  u64 bits = 0;
  for (int i = 0; i < N; ++i) bits |= u64{m.v[i] != 0} << i;
  return bits;
#endif
}

// The same of x == y. Compilers take a mask that they compare to for lanes, and make it one again.
template <class T, int N>
ARRAYX_HD u64 equal_lanes(Vec<T, N> x, Vec<T, N> y) {
#if defined(__AVX512F__)
  if constexpr (sizeof x == 64 && ops::is_float_v<T>) {
    if constexpr (sizeof(T) == 4) {
      return _mm512_cmpeq_ps_mask(__builtin_bit_cast(__m512, x.v), __builtin_bit_cast(__m512, y.v));
    } else {
      return _mm512_cmpeq_pd_mask(__builtin_bit_cast(__m512d, x.v),
                                  __builtin_bit_cast(__m512d, y.v));
    }
  } else if constexpr (sizeof x == 64) {
    const __m512i a = __builtin_bit_cast(__m512i, x.v), b = __builtin_bit_cast(__m512i, y.v);
    if constexpr (sizeof(T) == 8) return _mm512_cmpeq_epi64_mask(a, b);
    if constexpr (sizeof(T) == 4) return _mm512_cmpeq_epi32_mask(a, b);
    if constexpr (sizeof(T) == 2) return _mm512_cmpeq_epi16_mask(a, b);
    if constexpr (sizeof(T) == 1) return _mm512_cmpeq_epi8_mask(a, b);
  } else {
    return lane_bits(x == y);
  }
#else
  return lane_bits(x == y);
#endif
}

template <class Op, class T>
struct Arg {
  static constexpr int W = ops::vector_bytes / int(sizeof(T));
  using V = Vec<T, W>;
  using I = ops::int_t<V>;
  using Index = ops::scalar_t<I>;
  static constexpr bool floating = ops::is_float_v<T>;
  // Elements, and vectors, that have a word's bits.
  static constexpr int size = int(sizeof(T)), word = 64 / bits_of_lane<size>,
                       vectors_of_word = word / W;
  // Rows of at most so many elements run side by side, their positions in lanes of T's width.
  static constexpr int64_t most_short = sizeof(T) == 1 && 4 * W > 127 ? 127 : 4 * W;

  template <class X>
  ARRAYX_HD static ops::mask_t<X> strictly(X x, X best) {
    if constexpr (ops::same_type_v<Op, ops::Max>) {
      return x > best;
    } else {
      return x < best;
    }
  }
  // Of what is no number, best. Integers by the instruction: for a choice each would be loaded
  // twice.
  template <class X>
  ARRAYX_HD static X better_of(X x, X best) {
    if constexpr (floating) {
      return select(strictly(x, best), x, best);
    } else {
      return Op::combine(best, x);
    }
  }
  ARRAYX_HD static V load(const char* p, int64_t i) { return V::load(p + i * int64_t(sizeof(T))); }
  ARRAYX_HD static T item(const char* p, int64_t i) {
    return load_item<T>(p + i * int64_t(sizeof(T)));
  }

  // Finds NaN by the bits of magnitudes, which are above those of infinity: one comparison less
  // than asking each vector.
  struct Nan {
    I largest{Index(0)};
    ARRAYX_HD void take(V x) {
      if constexpr (floating) {
        const I bits = ops::bit_cast<I>(ops::fabs(x));
        largest = ops::greater_of(largest, bits);
      }
    }
    ARRAYX_HD bool seen() const {
      if constexpr (floating) {
        return any(largest > I(ops::bit_cast<Index>(ops::limits<T>::infinity)));
      } else {
        return false;
      }
    }
  };

  // The first i in [start, end) for which is(vector at i), or end.
  template <class Is>
  ARRAYX_HD static int64_t first(const char* p, int64_t start, int64_t end, const Is& is) {
    constexpr int K = vectors_of_word;
    const auto bits = [&](int64_t k) { return lane_bits(is(load(p, k))); };
    int64_t i = start;
    for (; i + K * W <= end; i += K * W) {
      u64 found = 0;
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) found |= bits(i + k * W) << (k * (64 / K));
      if (found) return i + __builtin_ctzll(found) / bits_of_lane<size>;
    }
    for (; i + W <= end; i += W) {
      const u64 found = bits(i);
      if (found) return i + __builtin_ctzll(found) / bits_of_lane<size>;
    }
    while (i < end && !any(is(V(item(p, i))))) ++i;
    return i;
  }
  // The first element that equals x, or `end`, among few, all of which are looked at, the last ones
  // first: no branch foresees where it lies.
  ARRAYX_HD static int64_t first_of_few(const char* p, int64_t end, V x) {
    int64_t at = end;
    const auto look = [&](int64_t begin) {
      u64 found = 0;
      ARRAYX_UNROLL
      for (int k = 0; k < vectors_of_word; ++k) {
        found |= equal_lanes(load(p, begin + k * W), x) << (k * (64 / vectors_of_word));
      }
      int64_t here = begin + __builtin_ctzll(found | u64{1} << 63) / bits_of_lane<size>;
      asm("" : "+r"(here));  // where it is found only if it is used, that is a branch
      at = found ? here : at;
    };
    look(end - word);
    for (int64_t i = (end - 1) / word * word - word; i >= 0; i -= word) look(i);
    return at;
  }

  // The extreme of the lanes, none of which is NaN.
  template <int N>
  ARRAYX_HD static T best_lane(Vec<T, N> x) {
    if constexpr (N == 1) {
      return x[0];
    } else {
      const auto low = ops::low_half(x), high = ops::high_half(x);
      return best_lane(better_of(high, low));
    }
  }

  // The extreme of each block by vectors; the position is looked for only in the block that won,
  // half of which is read again then, from an L1.
  template <Asking asks>
  static int64_t row(const char* p, int64_t n) {
    constexpr int K = 4, few = 4 * word;
    constexpr int64_t block = page_bytes / int64_t(sizeof(T));
    T best = item(p, 0);
    if (n < 2 * W) {
      int64_t at = 0;
      for (int64_t i = 1; i < n; ++i) {
        if (Op::better(item(p, i), best)) {
          best = item(p, i);
          at = i;
        }
      }
      return at;
    }
    int64_t start = 0, i = 0;
    while (i < n) {
      const int64_t begin = i;
      V extreme[K], doubt[K];
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        extreme[k] = V(best);
        doubt[k] = V(T(0));
      }
      const auto take = [&](V x, int k) {
        if constexpr (floating) doubt[k] = ops::mul_add(x, V(T(0)), doubt[k]);
        extreme[k] = better_of(x, extreme[k]);
      };
      const int64_t stop = n - i < block ? n : i + block;
      for (; i + K * W <= stop; i += K * W) {
        const char* const q = p + i * size;
        fetch_straight_on<K * W * size>(q, asks == Asking::pages);
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          take(ops::loaded_once(load_as<T, T, W, asks == Asking::halves>(q + k * W * size)), k);
        }
      }
      for (; i + W <= stop; i += W) take(load(p, i), 0);
      if (i < stop) {
        take(load(p, n - W), 0);  // some of them once more
        i = stop;
      }
      if constexpr (floating) {
        const V all = (doubt[0] + doubt[1]) + (doubt[2] + doubt[3]);
        if (any(all != all)) {  // after a NaN or an infinity
          const int64_t at = first(p, begin, stop, [](V x) { return x != x; });
          if (at < stop) return at;
        }
      }
      extreme[0] = better_of(better_of(extreme[3], extreme[2]), better_of(extreme[1], extreme[0]));
      if (any(strictly(extreme[0], V(best)))) {
        best = best_lane(extreme[0]);
        start = begin;
      }
    }
    const V x(best);
    const int64_t at = size < 8 && n >= word && n <= few
                           ? first_of_few(p, n, x)
                           : first(p, start, n, [&](V y) { return y == x; });
    return at < n ? at : start;  // another thread may have overwritten it
  }

  struct Found {
    V value;
    I index;
  };
  // Of x's and y's lanes, those at even (0) or odd (1) places.
  template <int Odd, class X, std::size_t... L>
  ARRAYX_HD static X places(X x, X y, std::index_sequence<L...>) {
    return X(__builtin_shufflevector(x.v, y.v, (2 * L + Odd)...));
  }
  template <int Odd, class X>
  ARRAYX_HD static X places(X x, X y) {
    return places<Odd>(x, y, std::make_index_sequence<W>());
  }
  // Neighbours combined, so that of equal values the one further left has the lower position.
  ARRAYX_HD static Found combine(Found a, Found b) {
    const V left = places<0>(a.value, b.value), right = places<1>(a.value, b.value);
    const I left_index = places<0>(a.index, b.index), right_index = places<1>(a.index, b.index);
    const auto m = strictly(right, left);
    return {select(m, right, left), select(m, right_index, left_index)};
  }
  template <int Count, class Row>
  ARRAYX_HD static Found fold(const Row& row, int first) {
    if constexpr (Count == 1) {
      return row(first);
    } else {
      const Found a = fold<Count / 2>(row, first);
      return combine(a, fold<Count / 2>(row, first + Count / 2));
    }
  }

  // Rows of n ≤ Q * W elements, W at a time, of which four are folded in registers: the code for
  // all of them would be ten times as long where there are many lanes. Lanes beyond a row's
  // end hold what nothing is worse than, further right than anything else.
  template <int Q>
  static void short_rows(const char* in, int64_t row_stride, int64_t rows, int64_t n,
                         int64_t* out) {
    constexpr int at_once = W < 4 ? W : 4;
    const int64_t full = n / W, rest = n % W;
    const I lane = ops::iota<I>();
    const auto live = lane < I(Index(rest));
    const V least(Op::template identity<T>());
    const int64_t beyond = rest > 0 ? (W - rest) * int64_t(sizeof(T)) : 0;
    const int64_t with_room = rows_with_room(rows, row_stride, beyond);
    for (int64_t r = 0; r < rows; r += W) {
      const int64_t count = rows - r < W ? rows - r : W;
      const bool room = r + count <= with_room;
      Nan nan;
      const auto row_at = [&](int k) ARRAYX_INLINE_ROW {
        const char* p = in + (r + (k < count ? k : count - 1)) * row_stride;
        return fold<Q>(
            [&](int q) ARRAYX_INLINE_ROW {
              const char* at = p + q * int64_t(sizeof(V));
              V x = least;
              if (q < full) {
                x = V::load(at);
              } else if (q == full && rest > 0) {
                x = select(live, room ? V::load(at) : load_part<T, W>(at, rest), least);
              }
              nan.take(x);
              return Found{x, lane + I(Index(q * W))};
            },
            0);
      };
      Found found[W / at_once];
      for (int g = 0; g < W / at_once; ++g) found[g] = fold<at_once>(row_at, g * at_once);
      for (int left = W / at_once / 2; left > 0; left /= 2) {
        for (int g = 0; g < left; ++g) found[g] = combine(found[2 * g], found[2 * g + 1]);
      }
      if (nan.seen()) {
        for (int64_t k = r; k < r + count; ++k)
          out[k] = row<Asking::nothing>(in + k * row_stride, n);
        continue;
      }
      using Wide = Vec<int64_t, W>;
      const Wide index = ops::convert<Wide>(found[0].index);
      __builtin_memcpy(out + r, &index.v, count * sizeof(int64_t));
    }
  }

  static void rows(const char* in, int64_t row_stride, int64_t rows, int64_t n, int64_t* out) {
    if (n <= most_short && 2 * rows >= W) {
      if (n <= W) return short_rows<1>(in, row_stride, rows, n, out);
      constexpr int most = most_short <= 2 * W ? 2 : 4;
      if (n <= 2 * W) return short_rows<2>(in, row_stride, rows, n, out);
      return short_rows<most>(in, row_stride, rows, n, out);
    }
    const auto best = with_asking([](auto way) {
      constexpr Asking taken = way == Asking::pages ? Asking::pages : Asking::nothing;
      return row<taken>;
    });
    for (int64_t r = 0; r < rows; ++r) out[r] = best(in + r * row_stride, n);
  }
  // Those from beyond the caches, of processors that read them in halves.
  static void rows_from_afar(const char* in, int64_t row_stride, int64_t rows, int64_t n,
                             int64_t* out) {
    if (n <= most_short) return Arg::rows(in, row_stride, rows, n, out);
    for (int64_t r = 0; r < rows; ++r) out[r] = row<Asking::halves>(in + r * row_stride, n);
  }

  // Rows at a time, read straight on along their width; see Columns::chunk in reduce.cpp.
  static constexpr int64_t together = 4;
  // Rows whose numbers fit the lanes.
  static constexpr int64_t most_rows = sizeof(T) == 1 ? 124 : sizeof(T) == 2 ? 32764 : 1 << 30;

  // Rows first … first + rows of K vectors of columns (or of the first `live` lanes of one). True
  // if there was a NaN, and nothing is done, which Slow then does.
  template <int K, bool Part, bool halves, bool Slow = false>
  ARRAYX_HD static bool stripe(const char* p, int64_t row_stride, int64_t rows, int64_t first,
                               T* best, Index* index, int64_t live, int64_t ahead) {
    V b[K];
    I where[K];
    Nan nan;
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      b[k] = Part ? load_part<T, W>(best, live) : V::load(best + k * W);
      where[k] = I::load(index + k * W);
    }
    const auto take = [&](int64_t r) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const char* q = p + r * row_stride + k * W * int64_t(sizeof(T));
        const V x = Part ? load_part<T, W>(q, live) : load_as<T, T, W, halves>(q);
        if constexpr (!Slow) nan.take(x);
        const auto m = Slow ? Op::better(x, b[k]) : strictly(x, b[k]);
        b[k] = select(m, x, b[k]);
        where[k] = select(m, I(Index(first + r)), where[k]);
      }
      if (K > 1 && ahead) fetch<K* int(sizeof(V))>(p + r * row_stride + ahead);
    };
    int64_t r = 0;
    for (; r + together <= rows; r += together) {
      ARRAYX_UNROLL
      for (int k = 0; k < together; ++k) take(r + k);
    }
    for (; r < rows; ++r) take(r);
    if (!Slow && nan.seen()) return true;
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) {
      if constexpr (Part) {
        store_part(b[k], best, live);
      } else {
        b[k].store(best + k * W);
      }
      where[k].store(index + k * W);
    }
    return false;
  }
  template <int K, bool Part, bool halves = false>
  static void any_stripe(const char* p, int64_t row_stride, int64_t rows, int64_t first, T* best,
                         Index* index, int64_t live, int64_t ahead = 0) {
    if (stripe<K, Part, halves>(p, row_stride, rows, first, best, index, live, ahead)) {
      stripe<K, Part, false, true>(p, row_stride, rows, first, best, index, live, 0);
    }
  }

  // Of what the columns of joined rows find in each place the first extreme is kept.
  static void joined_columns(const char* in, int64_t row_stride, int64_t first,
                             const JoinedRows& joined, int64_t width, T* best, int64_t* out) {
    alignas(64) T values[most_joined];
    alignas(64) int64_t at[most_joined];
    const int64_t rows = joined.rows;
    columns(in, rows * row_stride, joined.count, 0, true, rows * joined.columns, values, at);
    for (int64_t j = 0; j < width; ++j) {
      best[j] = values[j];
      int64_t position = at[j] * rows;
      for (int64_t k = 1; k < rows; ++k) {
        const T x = values[k * joined.columns + j];
        const int64_t other = at[k * joined.columns + j] * rows + k;
        const bool earlier = other < position && !Op::better(best[j], x);
        if (!earlier && !Op::better(x, best[j])) continue;
        best[j] = x;
        position = other;
      }
      out[j] = first + position;
    }
  }

  static void columns(const char* in, int64_t row_stride, int64_t n, int64_t first, bool start,
                      int64_t width, void* best_bytes, int64_t* out) {
    T* best = static_cast<T*>(best_bytes);
    constexpr int64_t least_count = 64;  // what places find is compared one by one
    const JoinedRows joined = joined_rows(row_stride, sizeof(T), n, width, least_count);
    if (start && joined.pays()) {
      const int64_t taken = joined.rows * joined.count;
      joined_columns(in, row_stride, first, joined, width, best, out);
      if (taken == n) return;
      return columns(in + taken * row_stride, row_stride, n - taken, first + taken, false, width,
                     best, out);
    }
    if (start) __builtin_memcpy(best, in, width * sizeof(T));
    const int64_t apart = row_stride < 0 ? -row_stride : row_stride;
    // Rows that follow each other are asked for in the order of memory unless a near cache has all.
    constexpr int64_t near_bytes = 256 << 10;
    const bool straight = reading_asks == Asking::pages && n * apart >= near_bytes;
    const int64_t straight_on = !straight ? 0 : row_stride < 0 ? -straight_ahead : straight_ahead;
    // Several rows at a time, which wait less for what was found before; shorter ones come from
    // memory later so. Where nothing is asked for, more of them.
    const bool asks = reading_asks != Asking::nothing;
    const bool by_several = apart >= 2 * page_bytes;
    const int64_t several = asks ? together : 2 * together;
    alignas(64) Index index[most_columns + W];
    for (int64_t i = 0; i < n; i += most_rows) {
      const int64_t count = n - i < most_rows ? n - i : most_rows;
      const bool begins = start && i == 0;  // with the first row in `best`
      for (int64_t j = 0; j < width; j += W) I(Index(begins ? 0 : -1)).store(index + j);
      // Of a few columns many rows at once: what they find stays in registers, and a round through
      // memory would be waited for.
      const int64_t most = width < 4 * W ? 64 : by_several ? several : 1;
      for (int64_t r = begins; r < count; r += most) {
        const int64_t rows = count - r < most ? count - r : most;
        const char* p = in + (i + r) * row_stride;
        const bool more = asks && most == several && r + most < count;
        const int64_t ahead = most == 1 ? straight_on : more ? most * row_stride : 0;
        int64_t j = 0;
        constexpr int64_t size = sizeof(T);
        with_halves(row_stride != 0,
                    [&]<bool halves>(std::bool_constant<halves>) __attribute__((always_inline)) {
                      for (; j + 4 * W <= width; j += 4 * W) {
                        any_stripe<4, false, halves>(p + j * size, row_stride, rows, r, best + j,
                                                     index + j, 0, ahead);
                      }
                    });
        for (; j + W <= width; j += W) {
          any_stripe<1, false>(p + j * size, row_stride, rows, r, best + j, index + j, 0);
        }
        if (j < width) {
          any_stripe<1, true>(p + j * size, row_stride, rows, r, best + j, index + j, width - j);
        }
      }
      int64_t j = 0;
      if (begins) {
        using Wide = Vec<int64_t, W>;
        for (; j + W <= width; j += W) {
          (ops::convert<Wide>(I::load(index + j)) + Wide(first)).store(out + j);
        }
      }
      for (; j < width; ++j) {
        if (index[j] >= 0) out[j] = first + i + index[j];
      }
    }
  }
};

template <class T>
void fill_dtype(ReduceKernels& k, DType dtype) {
  const int d = static_cast<int>(dtype);
  k.arg_rows[1][d] = Arg<ops::Max, T>::rows;
  k.arg_rows[0][d] = Arg<ops::Min, T>::rows;
  if constexpr (ops::vector_bytes == 64) {
    k.arg_rows_from_afar[1][d] = Arg<ops::Max, T>::rows_from_afar;
    k.arg_rows_from_afar[0][d] = Arg<ops::Min, T>::rows_from_afar;
  }
  k.arg_columns[1][d] = Arg<ops::Max, T>::columns;
  k.arg_columns[0][d] = Arg<ops::Min, T>::columns;
}

}  // namespace

void fill_arg_reduce(ReduceKernels& k) {
  for_each_dtype([&k]<class T>(DType d, T) {
    if constexpr (!ops::is_complex_v<T>) fill_dtype<T>(k, d);
  });
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
