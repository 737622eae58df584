// Sorting and searching. Elements become unsigned keys whose order is the dtype's (NaN last), and
// the keys are sorted by a stable radix sort from the most significant differing bit down, with
// insertion sort for what is left of a bucket. A stable sort has one result, so threads cannot
// change it.
#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>
#include <vector>

#include "../array/plan.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// From this length on one line is sorted by several threads.
constexpr i64 long_line = 1 << 16;
constexpr i64 chunk_elements = 1 << 15;

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

// Memory that lives as long as this object: its own while that lasts, then the engine's.
class Scratch {
 public:
  Scratch() {}  // leaves inline_ uninitialised

  // `items` of T, uninitialised and aligned.
  template <class T>
  T* take(i64 items) {
    const i64 bytes = (items * i64(sizeof(T)) + 15) / 16 * 16;
    if (bytes <= inline_bytes - used_) {
      used_ += bytes;
      return reinterpret_cast<T*>(inline_ + used_ - bytes);
    }
    blocks_.push_back(allocate(bytes));
    return static_cast<T*>(blocks_.back()->data);
  }

 private:
  static constexpr i64 inline_bytes = 8192;
  std::vector<StorageRef> blocks_;
  i64 used_ = 0;
  alignas(64) char inline_[inline_bytes];
};

// Runs body(first, last) over pieces of [0, n), on several threads if `threads`.
template <class Body>
void over_pieces(i64 n, bool threads, int bytes, Body&& body) {
  if (!threads) return body(i64{0}, n);
  const i64 pieces = (n + chunk_elements - 1) / chunk_elements;
  parallel_for(pieces, n * bytes,
               [&](i64 c) { body(c * chunk_elements, std::min(n, (c + 1) * chunk_elements)); });
}

// ---- keys -------------------------------------------------------------------------------------

template <int bytes>
using Unsigned = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, u32, u64>>>;

template <class T>
using Key = Unsigned<sizeof(T)>;

template <class K>
inline constexpr K top_bit = K(K(1) << (8 * sizeof(K) - 1));

template <class T>
inline constexpr Key<T> infinity_bits =
    sizeof(T) == 4 ? Key<T>(0x7f800000) : Key<T>(0x7ff0000000000000);

// The key of the bits of a floating-point number: negative ones are in reverse.
template <class K>
K number_key(K bits) {
  const K negative = K(0) - K(bits >> (8 * sizeof(K) - 1));
  return bits ^ (negative | top_bit<K>);
}

// The key of T whose bytes are at p. Distinct for values that differ in any way, but for bool and
// the signs and payloads of NaN, whose key is the greatest there is.
template <class T>
Key<T> exact_key(const char* p, Key<T> flip) {
  using K = Key<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return K(K(*p != 0) ^ flip);
  } else {
    const K bits = load<K>(p);
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_number = K(bits & ~top_bit<K>) <= infinity_bits<T>;
      return is_number ? K(number_key(bits) ^ flip) : K(~K(0));
    } else if constexpr (std::is_signed_v<T>) {
      return K(bits ^ top_bit<K> ^ flip);
    } else {
      return K(bits ^ flip);
    }
  }
}

// The same with both zeros equal: keys compare as the values do.
template <class T>
Key<T> key_at(const char* p, Key<T> flip) {
  if constexpr (std::is_floating_point_v<T>) {
    const T value = load<T>(p) + T(0);  // makes -0 +0
    return exact_key<T>(reinterpret_cast<const char*>(&value), flip);
  } else {
    return exact_key<T>(p, flip);
  }
}

template <class T>
Key<T> bits_of_key(Key<T> key, Key<T> flip) {
  using K = Key<T>;
  key ^= flip;
  if constexpr (std::is_same_v<T, bool>) {
    return key;
  } else if constexpr (std::is_floating_point_v<T>) {
    return key & top_bit<K> ? K(key ^ top_bit<K>) : K(~key);
  } else if constexpr (std::is_signed_v<T>) {
    return K(key ^ top_bit<K>);
  } else {
    return key;
  }
}

// ---- radix sort ---------------------------------------------------------------------------------

// What is sorted: a key alone, a 32-bit key with a 32-bit position, a 64-bit key with a position.
struct Packed {
  u64 bits;
};
struct Pair {
  u64 key, position;
};
template <class K>
K key_of(K key) {
  return key;
}
inline u32 key_of(Packed item) {
  return static_cast<u32>(item.bits >> 32);
}
inline u64 key_of(Pair item) {
  return item.key;
}

constexpr i64 insertion_length = 24;
constexpr i64 rank_length = 12;

// The same for up to rank_length items, without a branch that depends on the keys: each item's
// place is the number of items that stand before it.
template <class Item>
void rank_sort(const Item* from, Item* to, i64 n) {
  Item items[rank_length];
  i64 place[rank_length];
  for (i64 i = 0; i < n; ++i) {
    const Item item = from[i];
    i64 before = 0;
    for (i64 j = 0; j < i; ++j) {
      const bool later = key_of(item) < key_of(items[j]);
      place[j] += later;
      before += !later;
    }
    items[i] = item;
    place[i] = before;
  }
  for (i64 i = 0; i < n; ++i) to[place[i]] = items[i];
}

// to = from in order; the two are the same or apart.
template <class Item>
void insertion_sort(const Item* from, Item* to, i64 n) {
  if (n <= rank_length) return rank_sort(from, to, n);
  to[0] = from[0];
  for (i64 i = 1; i < n; ++i) {
    const Item item = from[i];
    const auto key = key_of(item);
    i64 j = i;
    for (; j > 0 && key < key_of(to[j - 1]); --j) to[j] = to[j - 1];
    to[j] = item;
  }
}

// Bits in which keys differ, and whether they are out of order.
template <class K>
struct Spread {
  K different = 0;
  bool unsorted = false;
};
template <class Item>
auto spread(const Item* a, i64 n) {
  using K = decltype(key_of(a[0]));
  Spread<K> s;
  const K first = key_of(a[0]);
  K before = first;
  unsigned unsorted = 0;
  for (i64 i = 1; i < n; ++i) {
    const K key = key_of(a[i]);
    s.different |= K(key ^ first);
    unsorted |= key < before;
    before = key;
  }
  s.unsorted = unsorted != 0;
  return s;
}

inline constexpr int most_digit_bits = 11;

struct Digit {
  int shift;
  u32 mask;
  template <class Item>
  u32 operator()(const Item& item) const {
    return static_cast<u32>(key_of(item) >> shift) & mask;
  }
};

// The highest bits in which keys differ, as many as leave buckets of about eight.
inline Digit choose_digit(u64 different, i64 n, int most_bits) {
  const int top = std::bit_width(different);
  const int bits = std::min({most_bits, top, std::max(3, int(std::bit_width(u64(n))) - 3)});
  return {top - bits, (u32{1} << bits) - 1};
}

// The same from the least significant differing bit up, which moves every item once per digit but
// sorts no buckets: for few digits, and items that stay within L2.
template <int bits, class Item>
void digit_sort(Item* a, Item* b, i64 n, u64 different, bool into_b) {
  constexpr int most_digits = 3;
  constexpr u32 mask = (u32{1} << bits) - 1;
  Digit digits[most_digits];
  int count = 0;
  const int top = std::bit_width(different);
  for (int shift = std::countr_zero(different); shift < top; shift += bits) {
    digits[count++] = {shift, mask};
  }
  u32 place[most_digits][mask + 1];
  std::memset(place, 0, count * sizeof place[0]);
  for (i64 i = 0; i < n; ++i) {
    for (int d = 0; d < count; ++d) ++place[d][digits[d](a[i])];
  }
  Item* from = a;
  Item* to = b;
  for (int d = 0; d < count; ++d) {
    u32 sum = 0;
    for (u32& p : place[d]) {
      const u32 items = p;
      p = sum;
      sum += items;
    }
    for (i64 i = 0; i < n; ++i) to[place[d][digits[d](from[i])]++] = from[i];
    std::swap(from, to);
  }
  Item* const wanted = into_b ? b : a;
  if (from != wanted) std::memcpy(wanted, from, n * sizeof(Item));
}

// Bytes of items up to which digit_sort() is the faster one.
constexpr i64 digit_sort_bytes = 4 << 20;

// Sorts a[0…n) by means of b, into b if `into_b`, else into a.
template <int most_bits, class Item>
void radix_sort(Item* a, Item* b, i64 n, bool into_b) {
  if (n <= insertion_length) {
    if (n > 0) insertion_sort(a, into_b ? b : a, n);
    return;
  }
  if constexpr (most_bits > 8) {
    if (n < 2048) return radix_sort<8>(a, b, n, into_b);
  }
  const auto s = spread(a, n);
  if (!s.unsorted) {
    if (into_b) std::memcpy(b, a, n * sizeof(Item));
    return;
  }
  const int width = std::bit_width(s.different) - std::countr_zero(s.different);
  if (n * i64(sizeof(Item)) <= digit_sort_bytes) {
    if (n >= 4096 && width <= 33) return digit_sort<11>(a, b, n, s.different, into_b);
    if (n >= 96 && width <= 16) return digit_sort<8>(a, b, n, s.different, into_b);
  }
  const Digit digit = choose_digit(s.different, n, most_bits);
  i64 end[1 << most_bits];
  std::fill_n(end, digit.mask + 1, 0);
  for (i64 i = 0; i < n; ++i) ++end[digit(a[i])];
  i64 sum = 0;
  for (u32 d = 0; d <= digit.mask; ++d) {
    const i64 count = end[d];
    end[d] = sum;
    sum += count;
  }
  for (i64 i = 0; i < n; ++i) b[end[digit(a[i])]++] = a[i];
  if (digit.shift == 0) {
    if (!into_b) std::memcpy(a, b, n * sizeof(Item));
    return;
  }
  i64 first = 0;
  for (u32 d = 0; d <= digit.mask; ++d) {
    const i64 count = end[d] - first;
    if (count > 0) radix_sort<most_bits>(b + first, a + first, count, !into_b);
    first = end[d];
  }
}

// The same on several threads: each piece counts its digits and writes to places of its own.
template <class Item>
void parallel_radix_sort(Item* a, Item* b, i64 n, bool into_b) {
  if (n < long_line || thread_count() == 1) {
    return radix_sort<most_digit_bits>(a, b, n, into_b);
  }
  const i64 work = n * i64(sizeof(Item));
  const i64 piece = std::max(chunk_elements, n / 64 + 1), pieces = (n + piece - 1) / piece;
  u64 different = 0;
  bool unsorted = false;
  {
    std::vector<Spread<decltype(key_of(a[0]))>> spreads(pieces);
    parallel_for(pieces, work, [&](i64 c) {
      spreads[c] = spread(a + c * piece, std::min(piece, n - c * piece));
    });
    for (i64 c = 0; c < pieces; ++c) {
      different |= spreads[c].different | u64(key_of(a[c * piece]) ^ key_of(a[0]));
      unsorted |= spreads[c].unsorted;
      if (c > 0) unsorted |= key_of(a[c * piece]) < key_of(a[c * piece - 1]);
    }
  }
  if (!unsorted) {
    if (into_b) std::memcpy(b, a, work);
    return;
  }
  const Digit digit = choose_digit(different, n, most_digit_bits);
  const i64 digits = digit.mask + 1;
  std::vector<i64> place(pieces * digits, 0);
  parallel_for(pieces, work, [&](i64 c) {
    i64* counts = place.data() + c * digits;
    const i64 last = std::min(n, (c + 1) * piece);
    for (i64 i = c * piece; i < last; ++i) ++counts[digit(a[i])];
  });
  std::vector<i64> start(digits + 1, n);
  i64 sum = 0;
  for (i64 d = 0; d < digits; ++d) {
    start[d] = sum;
    for (i64 c = 0; c < pieces; ++c) {
      const i64 count = place[c * digits + d];
      place[c * digits + d] = sum;
      sum += count;
    }
  }
  parallel_for(pieces, 2 * work, [&](i64 c) {
    i64* at = place.data() + c * digits;
    const i64 last = std::min(n, (c + 1) * piece);
    for (i64 i = c * piece; i < last; ++i) b[at[digit(a[i])]++] = a[i];
  });
  if (digit.shift == 0) {
    if (!into_b)
      over_pieces(n, true, 2 * sizeof(Item), [&](i64 first, i64 last) {
        std::memcpy(a + first, b + first, (last - first) * sizeof(Item));
      });
    return;
  }
  // Buckets too large for one thread's share are taken one after the other, the rest side by side.
  const auto is_large = [&](i64 d) { return start[d + 1] - start[d] > std::max(long_line, n / 8); };
  for (i64 d = 0; d < digits; ++d) {
    if (is_large(d)) {
      parallel_radix_sort(b + start[d], a + start[d], start[d + 1] - start[d], !into_b);
    }
  }
  parallel_for(digits, 4 * work, [&](i64 d) {
    if (!is_large(d)) {
      radix_sort<most_digit_bits>(b + start[d], a + start[d], start[d + 1] - start[d], !into_b);
    }
  });
}

template <class Item>
void sort_items(Item* a, Item* b, i64 n, bool threads) {
  if (threads) {
    parallel_radix_sort(a, b, n, false);
  } else {
    radix_sort<most_digit_bits>(a, b, n, false);
  }
}

// ---- positions in order
// ---------------------------------------------------------------------------

template <class T>
void argsort_line(const char* in, i64* out, i64 n, bool descending, bool threads, Scratch& scratch);

template <class P>
bool is_nan(P x) {
  return x != x;
}

// NumPy's classes of complex values: no NaN, NaN in the imaginary part, in the real part, in both.
template <class P>
int nan_class(std::complex<P> x) {
  return 2 * is_nan(x.real()) + is_nan(x.imag());
}

template <class C>
void argsort_complex(const char* in, i64* out, i64 n, bool descending, bool threads,
                     Scratch& scratch) {
  using P = typename C::value_type;
  const Key<P> flip = descending ? Key<P>(~Key<P>(0)) : Key<P>(0);
  const auto real_key = [&](i64 i) { return key_at<P>(in + i * sizeof(C), flip); };
  const auto imag_key = [&](i64 i) { return key_at<P>(in + i * sizeof(C) + sizeof(P), flip); };
  Pair* a = scratch.take<Pair>(n);
  Pair* b = scratch.take<Pair>(n);
  const auto fill = [&](i64 slot, i64 i) {
    u64 key = real_key(i);
    if constexpr (sizeof(P) == 4) key = key << 32 | imag_key(i);
    a[slot] = {key, static_cast<u64>(i)};
  };
  i64 group_end[4] = {n, n, n, n};
  std::atomic<bool> any_nan{false};
  over_pieces(n, threads, sizeof(C) + sizeof(Pair), [&](i64 first, i64 last) {
    bool found = false;
    for (i64 i = first; i < last; ++i) {
      fill(i, i);
      found |= nan_class(load<C>(in + i * sizeof(C))) != 0;
    }
    if (found) any_nan.store(true, std::memory_order_relaxed);
  });
  if (any_nan) {
    i64 slot = 0;
    for (int group = 0; group < 4; ++group) {
      for (i64 i = 0; i < n; ++i) {
        if (nan_class(load<C>(in + i * sizeof(C))) == group) fill(slot++, i);
      }
      group_end[group] = slot;
    }
  }
  i64 first = 0;
  for (i64 end : group_end) {
    if (end > first) sort_items(a + first, b + first, end - first, threads);
    if constexpr (sizeof(P) == 8) {  // runs of one real part, by their imaginary parts
      for (i64 i = first; i < end;) {
        i64 j = i + 1;
        while (j < end && a[j].key == a[i].key) ++j;
        if (j - i > 1) {
          for (i64 k = i; k < j; ++k) a[k].key = imag_key(static_cast<i64>(a[k].position));
          sort_items(a + i, b + i, j - i, threads);
        }
        i = j;
      }
    }
    first = end;
  }
  over_pieces(n, threads, sizeof(Pair) + 8, [&](i64 from, i64 to) {
    for (i64 i = from; i < to; ++i) out[i] = static_cast<i64>(a[i].position);
  });
}

// out (n positions) sorts the n contiguous elements at `in`.
template <class T>
void argsort_line(const char* in, i64* out, i64 n, bool descending, bool threads,
                  Scratch& scratch) {
  if constexpr (is_complex_type<T>) {
    argsort_complex<T>(in, out, n, descending, threads, scratch);
  } else {
    using K = Key<T>;
    const K flip = descending ? K(~K(0)) : K(0);
    if constexpr (sizeof(T) == 1) {
      if (n > insertion_length) {
        i64 place[256] = {};
        for (i64 i = 0; i < n; ++i) ++place[key_at<T>(in + i, flip)];
        i64 sum = 0;
        for (i64& p : place) {
          const i64 count = p;
          p = sum;
          sum += count;
        }
        for (i64 i = 0; i < n; ++i) out[place[key_at<T>(in + i, flip)]++] = i;
        return;
      }
    }
    const auto run = [&](auto make, auto position, auto example) {
      using Item = decltype(example);
      Item* a = scratch.take<Item>(2 * n);
      over_pieces(n, threads, sizeof(T) + sizeof(Item), [&](i64 first, i64 last) {
        for (i64 i = first; i < last; ++i) a[i] = make(key_at<T>(in + i * sizeof(T), flip), i);
      });
      sort_items(a, a + n, n, threads);
      over_pieces(n, threads, sizeof(Item) + 8, [&](i64 first, i64 last) {
        for (i64 i = first; i < last; ++i) out[i] = position(a[i]);
      });
    };
    if (sizeof(T) <= 4 && n <= i64{1} << 32) {
      run([](u64 key, i64 i) { return Packed{key << 32 | static_cast<u64>(i)}; },
          [](Packed item) { return static_cast<i64>(item.bits & 0xffffffff); }, Packed{});
    } else {
      run([](u64 key, i64 i) { return Pair{key, static_cast<u64>(i)}; },
          [](Pair item) { return static_cast<i64>(item.position); }, Pair{});
    }
  }
}

// ---- values in order
// ------------------------------------------------------------------------------

// Keys of one or two bytes: count each, then write runs.
template <class T>
void counting_sort(const char* in, char* out, i64 n, Key<T> flip) {
  using K = Key<T>;
  std::vector<i64> counts(std::size_t{1} << (8 * sizeof(K)), 0);
  for (i64 i = 0; i < n; ++i) ++counts[exact_key<T>(in + i * sizeof(T), flip)];
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const K bits = bits_of_key<T>(static_cast<K>(k), flip);
    if constexpr (sizeof(K) == 1) {
      std::memset(out, bits, counts[k]);
      out += counts[k];
    } else {
      for (i64 i = 0; i < counts[k]; ++i, out += sizeof(K)) store(out, bits);
    }
  }
}

// out = the n contiguous elements at `in` in order.
template <class T>
void sort_line(const char* in, char* out, i64 n, bool descending, bool threads, Scratch& scratch) {
  if constexpr (is_complex_type<T>) {
    i64* order = scratch.take<i64>(n);
    argsort_complex<T>(in, order, n, descending, threads, scratch);
    over_pieces(n, threads, 2 * sizeof(T) + 8, [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i) {
        std::memcpy(out + i * sizeof(T), in + order[i] * sizeof(T), sizeof(T));
      }
    });
  } else {
    using K = Key<T>;
    const K flip = descending ? K(~K(0)) : K(0);
    if constexpr (sizeof(T) <= 2) {
      if (n > (sizeof(T) == 1 ? 64 : 1 << 18)) return counting_sort<T>(in, out, n, flip);
    }
    K* a = scratch.take<K>(2 * n);
    // NaN and the two zeros are the values that a key does not give back in the order they came.
    i64 numbers = n;
    std::atomic<bool> any_nan{false}, negative_zero{false}, positive_zero{false};
    over_pieces(n, threads, 2 * sizeof(T), [&](i64 first, i64 last) {
      if constexpr (std::is_floating_point_v<T>) {
        bool nan = false, minus = false, plus = false;
        for (i64 i = first; i < last; ++i) {
          const K bits = load<K>(in + i * sizeof(T));
          a[i] = number_key(bits) ^ flip;
          nan |= K(bits & ~top_bit<K>) > infinity_bits<T>;
          minus |= bits == top_bit<K>;
          plus |= bits == 0;
        }
        if (nan) any_nan.store(true, std::memory_order_relaxed);
        if (minus) negative_zero.store(true, std::memory_order_relaxed);
        if (plus) positive_zero.store(true, std::memory_order_relaxed);
      } else {
        for (i64 i = first; i < last; ++i) a[i] = exact_key<T>(in + i * sizeof(T), flip);
      }
    });
    if constexpr (std::is_floating_point_v<T>) {
      if (any_nan) {
        for (i64 i = 0; i < n; ++i) numbers -= is_nan(load<T>(in + i * sizeof(T)));
        i64 number = 0, nan = numbers;
        for (i64 i = 0; i < n; ++i) {
          const K bits = load<K>(in + i * sizeof(T));
          if (is_nan(std::bit_cast<T>(bits))) {
            store(out + nan++ * sizeof(T), bits);
          } else {
            a[number++] = a[i];
          }
        }
      }
    }
    if (numbers > 0) sort_items(a, a + n, numbers, threads);
    over_pieces(numbers, threads, 2 * sizeof(T), [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i) store(out + i * sizeof(T), bits_of_key<T>(a[i], flip));
    });
    if constexpr (std::is_floating_point_v<T>) {
      if (negative_zero && positive_zero) {
        const T zero = descending ? T(0) : -T(0);  // the zero with the smaller key
        const K key = exact_key<T>(reinterpret_cast<const char*>(&zero), flip);
        char* to = out + (std::lower_bound(a, a + numbers, key) - a) * i64(sizeof(T));
        for (i64 i = 0; i < n; ++i) {
          const K bits = load<K>(in + i * sizeof(T));
          if (K(bits << 1) != 0) continue;
          store(to, bits);
          to += sizeof(T);
        }
      }
    }
  }
}

// ---- lines of an array
// ------------------------------------------------------------------------------

// line(in, out, threads, scratch) for every line along `axis`, contiguous at both ends: other lines
// pass through tiles of several neighbours, so that whole cache lines are read and written.
template <class Line>
void over_lines(const Operand& in, int axis, const Operand& out, Line&& line) {
  if (out.layout->size == 0) return;
  const i64 n = in.layout->shape[axis];
  const i64 in_size = itemsize(in.dtype), out_size = itemsize(out.dtype);
  const i64 in_step = in.layout->strides[axis] * in_size;
  const i64 out_step = out.layout->strides[axis] * out_size;
  Dims shape = in.layout->shape, in_strides = in.layout->strides, out_strides = out.layout->strides;
  shape.erase(axis);
  in_strides.erase(axis);
  out_strides.erase(axis);
  const Dims* strides[2] = {&in_strides, &out_strides};
  const Plan plan = make_plan(shape, strides, 2);
  const int inner = plan.ndim() - 1;
  const i64 lines = plan.count(), inner_size = plan.size[inner];
  const i64 in_next = plan.stride[0][inner] * in_size, out_next = plan.stride[1][inner] * out_size;
  const bool pack = in_step != in_size && n > 1, unpack = out_step != out_size && n > 1;
  const bool threads_inside = n >= long_line && lines < 2 * thread_count();
  const i64 tile =
      pack || unpack ? std::clamp<i64>((i64{1} << 20) / (n * out_size), 4, 64 / in_size + 4) : 1;
  const i64 lines_per_chunk = std::max(tile, chunk_elements / n);
  const CopyKernel copy_in = kernels().copy[item_class(int(in_size))];
  const CopyKernel copy_out = kernels().copy[item_class(int(out_size))];
  const auto chunk_body = [&](i64 chunk) {
    Scratch tiles;
    char* packed = pack ? tiles.take<char>(tile * n * in_size) : nullptr;
    char* unpacked = unpack ? tiles.take<char>(tile * n * out_size) : nullptr;
    const i64 last = std::min(lines, (chunk + 1) * lines_per_chunk);
    for (i64 first = chunk * lines_per_chunk; first < last;) {
      const char* p = in.data + plan.base[0] * in_size;
      char* q = out.data + plan.base[1] * out_size;
      i64 rest = first;
      for (int d = inner; d >= 0; --d) {
        const i64 index = rest % plan.size[d];
        rest /= plan.size[d];
        p += index * plan.stride[0][d] * in_size;
        q += index * plan.stride[1][d] * out_size;
      }
      const i64 row_rest = std::min(last - first, inner_size - first % inner_size);
      const i64 count = pack || unpack ? std::min(tile, row_rest) : row_rest;
      if (pack) copy_in(p, {in_next, in_step}, packed, {n * in_size, in_size}, count, n);
      for (i64 l = 0; l < count; ++l) {
        line(pack ? packed + l * n * in_size : p + l * in_next,
             unpack ? unpacked + l * n * out_size : q + l * out_next);
      }
      if (unpack) copy_out(unpacked, {n * out_size, out_size}, q, {out_next, out_step}, count, n);
      first += count;
    }
  };
  const i64 chunks = (lines + lines_per_chunk - 1) / lines_per_chunk;
  if (threads_inside) {
    for (i64 c = 0; c < chunks; ++c) chunk_body(c);
  } else {
    parallel_for(chunks, 8 * out.layout->size * std::max(in_size, out_size), chunk_body);
  }
}

// ---- many short lines
// ------------------------------------------------------------------------------------------------

// The longest lines for which a network, whose work grows by n log² n, is the faster way.
constexpr i64 longest_in_network = 64;

// Lines along an axis, side by side.
struct ShortLines {
  i64 in_step, in_next, out_step, out_next;  // bytes along a line, and from line to line
  Plan plan;

  ShortLines(const Operand& in, int axis, const Operand& out) {
    Dims shape = in.layout->shape, in_strides = in.layout->strides;
    Dims out_strides = out.layout->strides;
    in_step = in_strides[axis] * itemsize(in.dtype);
    out_step = out_strides[axis] * itemsize(out.dtype);
    shape.erase(axis);
    in_strides.erase(axis);
    out_strides.erase(axis);
    const Dims* strides[2] = {&in_strides, &out_strides};
    plan = make_plan(shape, strides, 2);
    in_next = plan.stride[0].back() * itemsize(in.dtype);
    out_next = plan.stride[1].back() * itemsize(out.dtype);
  }

  // body(p, q, count, scratch) for at most `lanes` lines that are neighbours, from p to q.
  template <class Body>
  void run(const Operand& in, const Operand& out, i64 lanes, Body&& body) const {
    const i64 in_size = itemsize(in.dtype), out_size = itemsize(out.dtype);
    const i64 inner = plan.size.back(), per_row = (inner + lanes - 1) / lanes;
    const i64 groups = plan.count() / inner * per_row;
    const i64 per_chunk = std::max<i64>(1, chunk_elements / (lanes * 16));
    const i64 work = 4 * out.layout->size * std::max(in_size, out_size);
    parallel_for((groups + per_chunk - 1) / per_chunk, work, [&](i64 chunk) {
      Scratch scratch;
      char* block = scratch.take<char>(4 * longest_in_network * network_row_bytes + 64);
      block += -reinterpret_cast<std::uintptr_t>(block) & 63;
      for (i64 g = chunk * per_chunk; g < std::min(groups, (chunk + 1) * per_chunk); ++g) {
        const i64 first = g % per_row * lanes;
        const char* p = in.data + plan.base[0] * in_size + first * in_next;
        char* q = out.data + plan.base[1] * out_size + first * out_next;
        i64 rest = g / per_row;
        for (int d = plan.ndim() - 2; d >= 0; --d) {
          const i64 index = rest % plan.size[d];
          rest /= plan.size[d];
          p += index * plan.stride[0][d] * in_size;
          q += index * plan.stride[1][d] * out_size;
        }
        body(p, q, std::min(lanes, inner - first), block);
      }
    });
  }
};

template <class T>
inline constexpr bool has_network = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

bool are_short_lines(const Operand& in, int axis, i64 lanes) {
  const i64 n = in.layout->shape[axis];
  return n >= 2 && n <= longest_in_network && in.layout->size >= 4 * n * lanes;
}

// False where lines are not many and short.
template <class T>
bool sort_short_lines(const Operand& in, int axis, bool descending, const Operand& out) {
  using K = Key<T>;
  constexpr i64 size = sizeof(T), lanes = network_row_bytes / size;
  if (!are_short_lines(in, axis, lanes)) return false;
  const i64 n = in.layout->shape[axis];
  const ShortLines lines(in, axis, out);
  if (lines.plan.size.back() < lanes) return false;
  const K flip = descending ? K(~K(0)) : K(0);
  const CopyKernel copy_items = kernels().copy[item_class(size)];
  const NetworkKernel network = kernels().network[item_class(size)];
  lines.run(in, out, lanes, [&](const char* p, char* q, i64 count, char* block) {
    copy_items(p, {lines.in_step, lines.in_next}, block, {network_row_bytes, size}, n, count);
    K* keys = reinterpret_cast<K*>(block);
    bool plain = true;  // no NaN, no -0: keys give their values back
    for (i64 r = 0; r < n; ++r) {
      for (i64 l = 0; l < count; ++l) {
        K& key = keys[r * lanes + l];
        if constexpr (std::is_floating_point_v<T>) {
          plain &= K(key & ~top_bit<K>) <= infinity_bits<T>;
          plain &= key != top_bit<K>;
          key = number_key(key) ^ flip;
        } else {
          key = exact_key<T>(reinterpret_cast<const char*>(&key), flip);
        }
      }
    }
    if (!plain) {
      char* line = block + longest_in_network * network_row_bytes;
      char* sorted = line + longest_in_network * size;
      for (i64 l = 0; l < count; ++l) {
        Scratch scratch;
        const i64 step = lines.in_step;
        copy_items(p + l * lines.in_next, {0, step}, line, {0, size}, 1, n);
        sort_line<T>(line, sorted, n, descending, false, scratch);
        copy_items(sorted, {0, size}, q + l * lines.out_next, {0, lines.out_step}, 1, n);
      }
      return;
    }
    network(block, n);
    for (i64 r = 0; r < n; ++r) {
      for (i64 l = 0; l < count; ++l) {
        keys[r * lanes + l] = bits_of_key<T>(keys[r * lanes + l], flip);
      }
    }
    copy_items(block, {network_row_bytes, size}, q, {lines.out_step, lines.out_next}, n, count);
  });
  return true;
}

template <class T>
bool argsort_short_lines(const Operand& in, int axis, bool descending, const Operand& out) {
  using K = Key<T>;
  constexpr i64 size = sizeof(T), lanes = network_row_bytes / 8;
  if (!are_short_lines(in, axis, lanes)) return false;
  const i64 n = in.layout->shape[axis];
  const ShortLines lines(in, axis, out);
  if (lines.plan.size.back() < lanes) return false;
  const K flip = descending ? K(~K(0)) : K(0);
  const CopyKernel copy_in = kernels().copy[item_class(size)], copy_out = kernels().copy[3];
  constexpr bool pairs = size == 8;
  const NetworkKernel network = pairs ? kernels().pair_network : kernels().network[3];
  lines.run(in, out, lanes, [&](const char* p, char* q, i64 count, char* block) {
    u64* items = reinterpret_cast<u64*>(block);
    u64* positions = items + (pairs ? n * lanes : 0);
    char* values = block + 2 * longest_in_network * network_row_bytes;
    copy_in(p, {lines.in_step, lines.in_next}, values, {lanes * size, size}, n, count);
    for (i64 r = 0; r < n; ++r) {
      for (i64 l = 0; l < count; ++l) {
        const u64 key = key_at<T>(values + (r * lanes + l) * size, flip);
        if constexpr (pairs) {
          items[r * lanes + l] = key;
          positions[r * lanes + l] = static_cast<u64>(r);
        } else {
          items[r * lanes + l] = key << 32 | static_cast<u64>(r);
        }
      }
    }
    network(block, n);
    if constexpr (!pairs) {
      for (i64 i = 0; i < n * lanes; ++i) positions[i] &= 0xffffffff;
    }
    const char* from = reinterpret_cast<const char*>(positions);
    copy_out(from, {network_row_bytes, 8}, q, {lines.out_step, lines.out_next}, n, count);
  });
  return true;
}

}  // namespace

void sort(const Operand& in, int axis, bool descending, const Operand& out) {
  const i64 n = in.layout->shape[axis];
  dispatch(in.dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (has_network<T>) {
      if (sort_short_lines<T>(in, axis, descending, out)) return;
    }
    over_lines(in, axis, out, [&](const char* from, char* to) {
      Scratch scratch;
      sort_line<T>(from, to, n, descending, n >= long_line, scratch);
    });
  });
}

void argsort(const Operand& in, int axis, bool descending, const Operand& out) {
  const i64 n = in.layout->shape[axis];
  dispatch(in.dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (has_network<T>) {
      if (argsort_short_lines<T>(in, axis, descending, out)) return;
    }
    over_lines(in, axis, out, [&](const char* from, char* to) {
      Scratch scratch;
      argsort_line<T>(from, reinterpret_cast<i64*>(to), n, descending, n >= long_line, scratch);
    });
  });
}

// ---- searchsorted -------------------------------------------------------------------------------

namespace {

// Whether a stands before b in sorted order.
template <class T>
bool before(T a, T b) {
  if constexpr (is_complex_type<T>) {
    const int class_a = nan_class(a), class_b = nan_class(b);
    if (class_a != class_b) return class_a < class_b;
    // Equal NaN parts compare false both ways, which leaves the other part to decide.
    if (a.real() < b.real()) return true;
    if (b.real() < a.real()) return false;
    return a.imag() < b.imag();
  } else {
    return a < b;
  }
}

// For each value the number of sorted elements that stand before it (or, if right, not after it).
// Several searches go side by side, since each step of one waits for memory.
template <bool right, class T>
void search_block(const T* sorted, i64 n, const T* values, i64* out, i64 count) {
  constexpr int together = 8;
  const auto goes_on = [](T element, T value) {
    return right ? !before(value, element) : before(element, value);
  };
  for (i64 first = 0; first < count; first += together) {
    const int width = static_cast<int>(std::min<i64>(together, count - first));
    T value[together] = {};
    i64 base[together] = {};
    for (int k = 0; k < width; ++k) value[k] = values[first + k];
    i64 length = n;
    while (length > 1) {
      const i64 half = length / 2;
      for (int k = 0; k < together; ++k) {
        base[k] += half & -i64{goes_on(sorted[base[k] + half - 1], value[k])};
      }
      length -= half;
    }
    for (int k = 0; k < width; ++k) {
      out[first + k] = n == 0 ? 0 : base[k] + goes_on(sorted[base[k]], value[k]);
    }
  }
}

}  // namespace

bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                  const Operand& out) {
  const i64 n = in.layout->size;
  // Contiguous, aligned copies of whatever is not so already.
  const auto made_contiguous = [](const Operand& a, Array& holder) {
    const int alignment = std::min(8, itemsize(a.dtype));
    const bool aligned = reinterpret_cast<std::uintptr_t>(a.data) % alignment == 0;
    if (a.layout->is_contiguous() && aligned) return static_cast<const char*>(a.data);
    holder.dtype = a.dtype;
    holder.layout = Layout::contiguous(a.layout->shape);
    holder.storage = allocate(holder.nbytes());
    if (a.layout->size > 0) copy(a, holder);
    return static_cast<const char*>(holder.data());
  };
  Array sorted_holder, sorter_holder, values_holder;
  const char* sorted = made_contiguous(in, sorted_holder);
  const i64 count = values.layout->size;
  if (sorter) {
    const i64* order = reinterpret_cast<const i64*>(made_contiguous(*sorter, sorter_holder));
    Array ordered;
    ordered.dtype = in.dtype;
    ordered.layout = Layout::contiguous({n});
    ordered.storage = allocate(ordered.nbytes());
    const i64 size = itemsize(in.dtype);
    char* to = ordered.data();
    std::atomic<bool> bad{false};
    over_pieces(n, true, int(size) + 8, [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i) {
        if (order[i] < 0 || order[i] >= n) {
          bad.store(true, std::memory_order_relaxed);
          return;
        }
        std::memcpy(to + i * size, sorted + order[i] * size, size);
      }
    });
    if (bad) return false;
    sorted_holder = ordered;
    sorted = to;
  }
  if (count == 0) return true;
  const char* wanted = made_contiguous(values, values_holder);
  Array out_holder;
  i64* places = reinterpret_cast<i64*>(out.data);
  if (!out.layout->is_contiguous()) {
    out_holder.dtype = DType::int64;
    out_holder.layout = Layout::contiguous(out.layout->shape);
    out_holder.storage = allocate(out_holder.nbytes());
    places = out_holder.data_as<i64>();
  }
  dispatch(in.dtype, [&](auto example) {
    using T = decltype(example);
    using U = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    const U* elements = reinterpret_cast<const U*>(sorted);
    const U* queries = reinterpret_cast<const U*>(wanted);
    i64 numbers = n;
    if constexpr (std::is_floating_point_v<U>) {
      // NaN stand last: the search is among the numbers.
      numbers = std::partition_point(elements, elements + n, [](U x) { return x == x; }) - elements;
    }
    const i64 steps = std::bit_width(static_cast<u64>(numbers)) + 1;
    constexpr i64 block = 1024;
    parallel_for((count + block - 1) / block, count * 16 * steps, [&](i64 c) {
      const i64 first = c * block, m = std::min(block, count - first);
      if (right) {
        search_block<true>(elements, numbers, queries + first, places + first, m);
      } else {
        search_block<false>(elements, numbers, queries + first, places + first, m);
      }
      if constexpr (std::is_floating_point_v<U>) {
        for (i64 i = first; i < first + m; ++i) {
          if (queries[i] != queries[i]) places[i] = right ? n : numbers;
        }
      }
    });
  });
  if (out_holder.storage) copy(out_holder, out);
  return true;
}

}  // namespace arrayx::cpu
