// Sorting networks, compiled per instruction set: many short lines side by side, as many as a cache
// line has lanes, and single lines of up to 8 KiB of keys. What is exchanged depends on the
// number of keys alone, so nothing waits for a branch that went the other way; nor does the cut of
// a long line at a pivot.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "../simd/in_front.hpp"

#include "../kernels.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

// ---- lines side by side -------------------------------------------------------------------------

// exchange(i, j) with i < j for every comparison of the network of n rows, in order: Batcher's
// merge exchange (Knuth, The Art of Computer Programming, vol. 3, algorithm 5.2.2 M).
template <class Exchange>
constexpr void merge_exchange(i64 n, Exchange&& exchange) {
  i64 top = 1;
  while (2 * top < n) top *= 2;
  for (i64 p = top; p > 0; p /= 2) {
    i64 q = top, r = 0, d = p;
    while (true) {
      for (i64 i = 0; i < n - d; ++i) {
        if ((i & p) == r) exchange(i, i + d);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

// Written so that GCC finds the instructions for the lesser and the greater of two integers. With
// AVX-512 one port alone has these, so that the greater is made as what is left, in one operation.
template <class V>
void exchange(V& low, V& high) {
  const V least(typename V::native(high.v < low.v ? high.v : low.v));
  if constexpr (sizeof(V) == 64) {
    high = low ^ high ^ least;
  } else {
    high = V(typename V::native(high.v < low.v ? low.v : high.v));
  }
  low = least;
}

template <class K>
void network(void* rows, std::int64_t n) {
  using V = Vec<K, ops::vector_bytes / sizeof(K)>;
  char* p = static_cast<char*>(rows);
  merge_exchange(n, [p](i64 i, i64 j) {
    for (i64 b = 0; b < network_row_bytes; b += ops::vector_bytes) {
      char* low = p + i * network_row_bytes + b;
      char* high = p + j * network_row_bytes + b;
      V x = V::load(low), y = V::load(high);
      exchange(x, y);
      x.store(low);
      y.store(high);
    }
  });
}

void pair_network(void* rows, std::int64_t n) {
  using V = Vec<u64, ops::vector_bytes / 8>;
  char* keys = static_cast<char*>(rows);
  const i64 positions = n * network_row_bytes;  // from a key to its position
  merge_exchange(n, [=](i64 i, i64 j) {
    for (i64 b = 0; b < network_row_bytes; b += ops::vector_bytes) {
      char* low = keys + i * network_row_bytes + b;
      char* high = keys + j * network_row_bytes + b;
      const V x = V::load(low), y = V::load(high);
      const V at_x = V::load(low + positions), at_y = V::load(high + positions);
      const auto swap = (y < x) | ((y == x) & (at_y < at_x));
      select(swap, y, x).store(low);
      select(swap, x, y).store(high);
      select(swap, at_y, at_x).store(low + positions);
      select(swap, at_x, at_y).store(high + positions);
    }
  });
}

// ---- keys ---------------------------------------------------------------------------------------

template <class K>
using KeyVec = Vec<K, ops::vector_bytes / sizeof(K)>;
template <class K>
using SignedVec = Vec<std::make_signed_t<K>, ops::vector_bytes / sizeof(K)>;

template <class K>
SignedVec<K> as_signed(KeyVec<K> x) {
  return SignedVec<K>(typename SignedVec<K>::native(x.v));
}
template <class K, class Mask>
KeyVec<K> ones_where(Mask m) {
  return KeyVec<K>(typename KeyVec<K>::native(m.v));
}

template <class K>
inline constexpr K top_bit = K(K(1) << (8 * sizeof(K) - 1));
template <class K>
inline constexpr K infinity_bits = sizeof(K) == 2   ? K(0x7c00)
                                   : sizeof(K) == 4 ? K(0x7f800000)
                                                    : K(0x7ff0000000000000);

// out = body(x) for vectors of n items at `in`, the last one padded with zeros.
template <class K, class Body>
void each_vector(const void* in, void* out, i64 n, Body&& body) {
  using V = KeyVec<K>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
  for (; n >= lanes; n -= lanes, p += sizeof(V), q += sizeof(V)) body(V::load(p)).store(q);
  const int rest = static_cast<int>(n);
  if (rest > 0) body(V::load_first(p, rest)).store_first(q, rest);
}

template <class K, KeyKind kind>
unsigned keys_of(const void* in, void* keys, i64 n, bool descending) {
  using V = KeyVec<K>;
  const V flip(descending ? K(~K(0)) : K(0)), top(top_bit<K>), zero(K(0));
  if constexpr (kind != KeyKind::floating) {
    each_vector<K>(in, keys, n, [&](V x) {
      if constexpr (kind == KeyKind::truth) x = ones_where<K>(x != zero) & V(K(1));
      if constexpr (kind == KeyKind::twos_complement) x = x ^ top;
      return x ^ flip;
    });
    return 0;
  } else {
    using S = std::make_signed_t<K>;
    V nan(K(0)), negative_zero(K(0));
    const SignedVec<K> infinity{S(infinity_bits<K>)}, none{S(0)};
    each_vector<K>(in, keys, n, [&](V x) {
      const V is_nan = ones_where<K>(infinity < as_signed<K>(x & ~top));
      const V is_negative_zero = ones_where<K>(x == top);
      nan = nan | is_nan;
      negative_zero = negative_zero | is_negative_zero;
      x = x & ~is_negative_zero;
      return (x ^ (ones_where<K>(as_signed<K>(x) < none) | top) ^ flip) | is_nan;
    });
    const auto any = [&](V ones) { return ops::any(ones != zero); };
    return (any(nan) ? has_nan : 0U) | (any(negative_zero) ? has_negative_zero : 0U);
  }
}

template <class K, KeyKind kind>
void values_of(const void* keys, void* out, i64 n, bool descending) {
  using V = KeyVec<K>;
  const V flip(descending ? K(~K(0)) : K(0)), top(top_bit<K>);
  each_vector<K>(keys, out, n, [&](V x) {
    x = x ^ flip;
    if constexpr (kind == KeyKind::twos_complement) x = x ^ top;
    if constexpr (kind == KeyKind::floating) {
      const SignedVec<K> none{std::make_signed_t<K>(0)};
      x = x ^ (~ones_where<K>(as_signed<K>(x) < none) | top);
    }
    return x;
  });
}

template <class K>
bool ascending(const void* keys, i64 n) {
  using V = KeyVec<K>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes, size = sizeof(K);
  const char* const p = static_cast<const char*>(keys);
  const V top(top_bit<K>);
  const auto falls = [&](V x, V before) {
    return ones_where<K>(as_signed<K>(x ^ top) < as_signed<K>(before ^ top));
  };
  V falling(K(0));
  i64 i = 1;
  for (; i + lanes <= n; i += lanes) {
    falling = falling | falls(V::load(p + i * size), V::load(p + (i - 1) * size));
  }
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    falling =
        falling | falls(V::load_first(p + i * size, rest), V::load_first(p + (i - 1) * size, rest));
  }
  return !ops::any(falling != V(K(0)));
}

template <class K>
KeyRange key_range(const void* keys, i64 n) {
  using V = KeyVec<K>;
  using W = SignedVec<K>;  // whose comparison AVX2 has
  constexpr i64 lanes = ops::lane_traits<V>::lanes, size = sizeof(K);
  const char* p = static_cast<const char*>(keys);
  K first;
  std::memcpy(&first, p, size);
  const V top(top_bit<K>), all(first);
  W least = as_signed<K>(all ^ top), greatest = least;
  V different(K(0)), unsorted(K(0));
  const auto include = [&](V x, V before) {
    const W a = as_signed<K>(x ^ top), b = as_signed<K>(before ^ top);
    least = W(typename W::native(a.v < least.v ? a.v : least.v));
    greatest = W(typename W::native(greatest.v < a.v ? a.v : greatest.v));
    different = different | (x ^ all);
    unsorted = unsorted | ones_where<K>(a < b);
  };
  i64 i = 1;
  for (; i + lanes <= n; i += lanes) include(V::load(p + i * size), V::load(p + (i - 1) * size));
  if (i < n && n > lanes) {  // the last vector may count keys twice
    i = n;
    include(V::load(p + (n - lanes) * size), V::load(p + (n - lanes - 1) * size));
  }
  for (; i < n; ++i) {
    K x, before;
    std::memcpy(&x, p + i * size, size);
    std::memcpy(&before, p + (i - 1) * size, size);
    include(V(x), V(before));
  }
  KeyRange range{first, first, 0, ops::any(unsorted != V(K(0)))};
  for (int l = 0; l < lanes; ++l) {
    range.least = std::min<std::uint64_t>(range.least, K(K(least[l]) ^ top_bit<K>));
    range.greatest = std::max<std::uint64_t>(range.greatest, K(K(greatest[l]) ^ top_bit<K>));
    range.different |= different[l];
  }
  return range;
}

template <class K>
void fill_keys(KernelTable& table, int item) {
  table.keys[item][int(KeyKind::natural)] = &keys_of<K, KeyKind::natural>;
  table.keys[item][int(KeyKind::twos_complement)] = &keys_of<K, KeyKind::twos_complement>;
  table.values[item][int(KeyKind::natural)] = &values_of<K, KeyKind::natural>;
  table.values[item][int(KeyKind::twos_complement)] = &values_of<K, KeyKind::twos_complement>;
  if constexpr (sizeof(K) == 1) {
    table.keys[item][int(KeyKind::truth)] = &keys_of<K, KeyKind::truth>;
    table.values[item][int(KeyKind::truth)] = &values_of<K, KeyKind::truth>;
  } else {
    table.keys[item][int(KeyKind::floating)] = &keys_of<K, KeyKind::floating>;
    table.values[item][int(KeyKind::floating)] = &values_of<K, KeyKind::floating>;
    table.key_range[item] = &key_range<K>;
    table.ascending[item] = &ascending<K>;
  }
}

void key_items(const std::uint32_t* keys, std::uint64_t* items, std::uint32_t first, i64 n) {
  constexpr int lanes = ops::vector_bytes / 8;
  using V = Vec<u64, lanes>;
  V position = ops::iota<V>() + V(first);
  i64 i = 0;
  for (; i + lanes <= n; i += lanes, position += V(lanes)) {
    const V key = ops::convert<V>(Vec<u32, lanes>::load(keys + i));
    (key << 32 | position).store(items + i);
  }
  for (; i < n; ++i) items[i] = u64{keys[i]} << 32 | (first + static_cast<u64>(i));
}

void item_positions(const std::uint64_t* items, std::int64_t* positions, std::uint64_t mask,
                    i64 n) {
  constexpr int lanes = ops::vector_bytes / 8;
  using V = Vec<u64, lanes>;
  i64 i = 0;
  for (; i + lanes <= n; i += lanes) (V::load(items + i) & V(mask)).store(positions + i);
  for (; i < n; ++i) positions[i] = static_cast<i64>(items[i] & mask);
}

// ---- one line -----------------------------------------------------------------------------------

// Vectors in registers are the rows of a matrix. A network sorts each column; then neighbouring
// groups of columns, in order row after row, become groups of twice the width by Batcher's bitonic
// merge, in the form that exchanges in one direction only: key i with the one that is as far from
// the end, then in each half the same. What are rows apart needs no shuffles but to reverse.

// The exchanges of i with i ^ mask for each mask in turn, within each of two vectors of `lanes` at
// once: two shuffles bring all lower keys of the pairs into one vector and all upper ones into the
// other, and where a key is then the next shuffles know.
template <int lanes, int... masks>
struct Shuffles {
  static constexpr int count = sizeof...(masks);
  int lower[count][lanes] = {}, upper[count][lanes] = {}, first[lanes] = {}, second[lanes] = {};

  constexpr Shuffles() {
    constexpr int mask[] = {masks...};
    int place[2 * lanes] = {};
    for (int i = 0; i < 2 * lanes; ++i) place[i] = i;
    for (int s = 0; s < count; ++s) {
      int lane = 0, next[2 * lanes] = {};
      for (int i = 0; i < 2 * lanes; ++i) {
        const int j = i ^ mask[s];
        if (j < i) continue;
        lower[s][lane] = place[i];
        upper[s][lane] = place[j];
        next[i] = lane;
        next[j] = lanes + lane++;
      }
      for (int i = 0; i < 2 * lanes; ++i) place[i] = next[i];
    }
    for (int i = 0; i < lanes; ++i) {
      first[i] = place[i];
      second[i] = place[lanes + i];
    }
  }
};

template <class Source, class V, std::size_t... lane>
V shuffled(Source, V a, V b, std::index_sequence<lane...>) {
  return V(typename V::native(__builtin_shufflevector(a.v, b.v, Source{}(lane)...)));
}

template <class V, int... masks>
struct InVectors {
  static constexpr int lanes = ops::lane_traits<V>::lanes;
  static constexpr Shuffles<lanes, masks...> shuffles{};
  using Lanes = std::make_index_sequence<lanes>;

  template <int s>
  static void step(V& a, V& b) {
    if constexpr (s < sizeof...(masks)) {
      V low = shuffled([](std::size_t l) { return shuffles.lower[s][l]; }, a, b, Lanes{});
      V high = shuffled([](std::size_t l) { return shuffles.upper[s][l]; }, a, b, Lanes{});
      exchange(low, high);
      a = low;
      b = high;
      step<s + 1>(a, b);
    } else {
      const V first = shuffled([](std::size_t l) { return shuffles.first[l]; }, a, b, Lanes{});
      b = shuffled([](std::size_t l) { return shuffles.second[l]; }, a, b, Lanes{});
      a = first;
    }
  }
};

// The lanes of each `width` from the last to the first.
template <int width, class V>
V reversed(V a) {
  return [&]<std::size_t... lane>(std::index_sequence<lane...>) {
    return V(typename V::native(__builtin_shufflevector(a.v, a.v, (int(lane) ^ (width - 1))...)));
  }(std::make_index_sequence<ops::lane_traits<V>::lanes>{});
}

// The exchanges with i ^ first_mask, then with i ^ width/4, i ^ width/8, …, i ^ 1.
template <int width, int first_mask, class V>
void exchange_in_vectors(V& a, V& b) {
  if constexpr (width == 2) InVectors<V, first_mask>::template step<0>(a, b);
  if constexpr (width == 4) InVectors<V, first_mask, 1>::template step<0>(a, b);
  if constexpr (width == 8) InVectors<V, first_mask, 2, 1>::template step<0>(a, b);
  if constexpr (width == 16) InVectors<V, first_mask, 4, 2, 1>::template step<0>(a, b);
  if constexpr (width == 32) InVectors<V, first_mask, 8, 4, 2, 1>::template step<0>(a, b);
}

// The exchanges of merge_exchange between `rows`, at most 16.
template <int rows>
struct ColumnNetwork {
  int count = 0, low[64] = {}, high[64] = {};

  constexpr ColumnNetwork() {
    merge_exchange(rows, [this](i64 i, i64 j) {
      low[count] = static_cast<int>(i);
      high[count++] = static_cast<int>(j);
    });
  }
};

template <int rows, class V>
void sort_columns(V (&v)[rows]) {
  static constexpr ColumnNetwork<rows> network{};
  [&]<std::size_t... k>(std::index_sequence<k...>) {
    (exchange(v[network.low[k]], v[network.high[k]]), ...);
  }(std::make_index_sequence<network.count>{});
}

// Merges groups of columns up to one of all, from those that are half of `width`.
template <int width, int rows, class V>
void merge_columns(V (&v)[rows]) {
  if constexpr (width <= ops::lane_traits<V>::lanes) {
    ARRAYX_UNROLL
    for (int block = rows; block > 1; block /= 2) {
      ARRAYX_UNROLL
      for (int first = 0; first < rows; first += block) {
        ARRAYX_UNROLL
        for (int i = 0; i < block / 2; ++i) {
          V& high = v[first + block - 1 - i];
          high = reversed<width>(high);
          exchange(v[first + i], high);
        }
      }
    }
    ARRAYX_UNROLL
    for (int i = 0; i < rows; i += 2) exchange_in_vectors<width, width - 1>(v[i], v[i + 1]);
    merge_columns<2 * width>(v);
  }
}

// The exchanges at distances of `distance`, distance / 2, …, 1 vectors, then within the vectors.
template <int distance, int count, class V>
void merge_bitonic(V (&v)[count]) {
  constexpr int lanes = ops::lane_traits<V>::lanes;
  ARRAYX_UNROLL
  for (int d = distance; d > 0; d /= 2) {
    ARRAYX_UNROLL
    for (int i = 0; i < count; ++i) {
      if ((i & d) == 0) exchange(v[i], v[i + d]);
    }
  }
  ARRAYX_UNROLL
  for (int i = 0; i < count; i += 2) exchange_in_vectors<lanes, lanes / 2>(v[i], v[i + 1]);
}

// to = the vectors at `from`, of which each key is changed by ^ flip, in order.
template <int count, class V>
void sort_vectors(const char* from, char* to, V flip) {
  V v[count];
  ARRAYX_UNROLL
  for (int i = 0; i < count; ++i) v[i] = V::load(from + i * sizeof(V)) ^ flip;
  sort_columns(v);
  merge_columns<2>(v);
  ARRAYX_UNROLL
  for (int i = 0; i < count; ++i) v[i].store(to + i * sizeof(V));
}

constexpr int group = ops::vector_bytes == 64 ? 16 : 8;  // vectors that are sorted in registers

// Sorts each `count` vectors of those at p; the first `unread` are still to come from `from`, with
// flipped top bits.
template <int count, class V>
void sort_runs(const char* from, i64 unread, char* p, i64 vectors) {
  using S = ops::scalar_t<V>;
  for (i64 i = 0; i < vectors; i += count) {
    char* to = p + i * i64(sizeof(V));
    const bool read = i >= unread;
    sort_vectors<count>(read ? to : from + i * i64(sizeof(V)), to,
                        V(read ? S(0) : std::numeric_limits<S>::min()));
  }
}

// Merges sorted groups of vectors at p. Runs of vectors that would stand behind the last one hold
// nothing but the greatest keys, which no exchange would move.
template <class V>
void merge_groups(char* p, i64 vectors) {
  constexpr i64 bytes = sizeof(V);
  constexpr int lanes = ops::lane_traits<V>::lanes;
  for (i64 run = group; run < vectors; run *= 2) {
    for (i64 first = 0; first + run < vectors; first += 2 * run) {
      const i64 end = std::min(vectors, first + 2 * run);
      for (i64 j = first + run; j < end; ++j) {
        char* low_at = p + (2 * (first + run) - 1 - j) * bytes;
        char* high_at = p + j * bytes;
        V low = V::load(low_at), high = reversed<lanes>(V::load(high_at));
        exchange(low, high);
        low.store(low_at);
        reversed<lanes>(high).store(high_at);
      }
      for (i64 d = run / 2; d >= group; d /= 2) {
        for (i64 block = first; block + d < end; block += 2 * d) {
          const i64 last = std::min(block + d, end - d);
          for (i64 i = block; i < last; ++i) {
            V low = V::load(p + i * bytes), high = V::load(p + (i + d) * bytes);
            exchange(low, high);
            low.store(p + i * bytes);
            high.store(p + (i + d) * bytes);
          }
        }
      }
      for (i64 i = first; i < end; i += group) {
        V v[group];
        ARRAYX_UNROLL
        for (int k = 0; k < group; ++k) v[k] = V::load(p + (i + k) * bytes);
        merge_bitonic<group / 2>(v);
        ARRAYX_UNROLL
        for (int k = 0; k < group; ++k) v[k].store(p + (i + k) * bytes);
      }
    }
  }
}

template <class K>
void short_sort(const void* in, void* out, std::int64_t n) {
  using S = std::make_signed_t<K>;  // whose comparison AVX2 has
  // Keys of two bytes are shuffled faster in half of an AVX-512 register.
  constexpr i64 bytes = sizeof(K) == 2 ? 32 : ops::vector_bytes;
  using V = Vec<S, bytes / sizeof(K)>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  constexpr S top = std::numeric_limits<S>::min();
  alignas(64) char keys[short_sort_bytes];
  const i64 vectors = (n + lanes - 1) / lanes;
  const i64 run = std::min<i64>(std::max<i64>(2, std::bit_ceil(static_cast<u64>(vectors))), group);
  const i64 padded = (vectors + run - 1) / run * run;
  const i64 whole = n / lanes, unread = whole / run * run;
  const int rest = static_cast<int>(n % lanes);
  const char* from = static_cast<const char*>(in);
  char* to = static_cast<char*>(out);
  const auto flip = [=](const char* a, char* b, i64 first) {
    for (i64 i = first; i < whole; ++i) {
      (V::load(a + i * bytes) ^ V(top)).store(b + i * bytes);
    }
    if (rest == 0) return;
    (V::load_first(a + whole * bytes, rest) ^ V(top)).store_first(b + whole * bytes, rest);
  };
  for (i64 i = whole; i < padded; ++i) V(std::numeric_limits<S>::max()).store(keys + i * bytes);
  flip(from, keys, unread);
  if (run == 2) {
    sort_runs<2, V>(from, unread, keys, padded);
  } else if (run == 4) {
    sort_runs<4, V>(from, unread, keys, padded);
  } else if (run == 8) {
    sort_runs<8, V>(from, unread, keys, padded);
  } else if constexpr (group > 8) {
    sort_runs<group, V>(from, unread, keys, padded);
  }
  if (padded > group) merge_groups<V>(keys, padded);
  flip(keys, to, 0);
}

// ---- two parts of a line ------------------------------------------------------------------------

#if defined(__AVX2__)
// One vector of keys: which are below a pivot, a bit each.
#if defined(__AVX512F__)
template <class K>
struct Cut {
  static constexpr bool wide = sizeof(K) == 8;
  static constexpr int lanes = 64 / sizeof(K);
  const __m512i pivot;

  explicit Cut(std::uint64_t at)
      : pivot(wide ? _mm512_set1_epi64(static_cast<i64>(at))
                   : _mm512_set1_epi32(static_cast<int>(at))) {}
  unsigned below(KeyVec<K> x) const {
    const auto v = std::bit_cast<__m512i>(x.v);
    if constexpr (wide) return _mm512_cmplt_epu64_mask(v, pivot);
    return _mm512_cmplt_epu32_mask(v, pivot);
  }
};
#else
template <class K>
struct Cut {
  static constexpr int lanes = 32 / sizeof(K);
  const SignedVec<K> pivot;  // whose comparison AVX2 has

  explicit Cut(std::uint64_t at) : pivot(std::make_signed_t<K>(K(at) ^ top_bit<K>)) {}
  unsigned below(KeyVec<K> x) const {
    const auto mask = as_signed<K>(x ^ KeyVec<K>(top_bit<K>)) < pivot;
    if constexpr (sizeof(K) == 8) {
      return static_cast<unsigned>(_mm256_movemask_pd(std::bit_cast<__m256d>(mask.v)));
    } else {
      return static_cast<unsigned>(_mm256_movemask_ps(std::bit_cast<__m256>(mask.v)));
    }
  }
};
#endif

template <class K>
std::int64_t partition(const void* in, void* less, void* others, std::int64_t n,
                       std::uint64_t pivot) {
  using V = KeyVec<K>;
  using Cutting = Cut<K>;
  constexpr i64 lanes = Cutting::lanes, size = sizeof(K);
  constexpr unsigned all = (1U << lanes) - 1;
  const Cutting cut(pivot);
  const char* from = static_cast<const char*>(in);
  const char* const end = from + n * size;
  char *low = static_cast<char*>(less), *high = static_cast<char*>(others);
  const auto put = [&](V x) {
    const unsigned mask = cut.below(x);
    const i64 count = std::popcount(mask);
    in_front(mask, x).store(low);
    in_front(mask ^ all, x).store(high);
    low += count * size;
    high += (lanes - count) * size;
    // Stores do not make the processor fetch what lies ahead; without this a cut takes twice as
    // long.
    __builtin_prefetch(low + 1024);
    __builtin_prefetch(high + 1024);
  };
  // What a whole vector writes too much is behind nothing that has not been read. Several are read
  // before any is written, since a read waits for the writes ahead of it to know where they go.
  constexpr int together = 8;
  for (; end - from >= together * i64(sizeof(V)); from += together * sizeof(V)) {
    V x[together];
    ARRAYX_UNROLL
    for (int i = 0; i < together; ++i) x[i] = V::load(from + i * sizeof(V));
    ARRAYX_UNROLL
    for (int i = 0; i < together; ++i) put(x[i]);
  }
  for (; end - from >= i64(sizeof(V)); from += sizeof(V)) put(V::load(from));
  if (const int rest = static_cast<int>((end - from) / size); rest > 0) {
    const V x = V::load_first(from, rest);
    const unsigned valid = (1U << rest) - 1, mask = cut.below(x) & valid;
    const int count = std::popcount(mask);
    in_front(mask, x).store_first(low, count);
    in_front(valid ^ mask, x).store_first(high, rest - count);
    low += count * size;
  }
  return (low - static_cast<char*>(less)) / size;
}
#endif

}  // namespace

void fill_sort(KernelTable& table) {
  table.network[0] = &network<u8>;
  table.network[1] = &network<u16>;
  table.network[2] = &network<u32>;
  table.network[3] = &network<u64>;
  table.pair_network = &pair_network;
  fill_keys<u8>(table, 0);
  fill_keys<u16>(table, 1);
  fill_keys<u32>(table, 2);
  fill_keys<u64>(table, 3);
  table.key_items = &key_items;
  table.item_positions = &item_positions;
  if constexpr (ops::vector_bytes >= 32) {
    table.short_sort[1] = &short_sort<u16>;
    table.short_sort[2] = &short_sort<u32>;
    table.short_sort[3] = &short_sort<u64>;
  }
#if defined(__AVX2__)
  table.partition[2] = &partition<u32>;
  table.partition[3] = &partition<u64>;
  table.buckets_even_items = ops::vector_bytes == 32;
#endif
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
