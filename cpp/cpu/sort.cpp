// Sorting and searching. Elements become unsigned keys whose order is the dtype's (NaN last), for
// argsort with their positions in the low bits. Lines of keys are cut at pivots, or into buckets by
// their most significant differing bits, until a part is short enough for a sorting network. A
// stable sort has one result, so threads cannot change it.
#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../array/plan.hpp"
#include "engine.hpp"
#include "function_ref.hpp"
#include "kernels.hpp"
#include "keys.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"
#include "unroll.hpp"

namespace arrayx::cpu {

namespace {

// From this length on one line is sorted by several threads.
constexpr i64 long_line = 1 << 16;
constexpr i64 chunk_elements = 1 << 15;

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

// Lines longer than this are looked at before they are sorted.
constexpr i64 looked_at_from = 256;

// Whether n contiguous elements are in order, of which most lines that are not show it at once.
// Calls seen(first, last) for each piece while it is in the first cache.
template <class T, class Seen>
bool in_order(const char* in, i64 n, bool descending, bool threads, Seen&& seen) {
  if constexpr (is_complex_type<T> || sizeof(T) == 1) {
    return false;
  } else {
    constexpr i64 longest = 512, fetched_bytes = 1024;  // of what follows a block
    const auto goes_on_through = [&](i64 begin, i64 end) {
      Key<T> keys[longest + 1];
      i64 block = 32;
      for (i64 first = begin; first < end; first += std::exchange(block, longest)) {
        const i64 last = std::min(end, first + block), from = std::max<i64>(first - 1, 0);
        keys_of<T>(in + from * i64(sizeof(T)), keys, last - from, descending);
        if (last < end) fetch(in + last * i64(sizeof(T)), fetched_bytes);
        if (!kernels().ascending[item_class(sizeof(T))](keys, last - from)) return false;
        seen(first, last);
      }
      return true;
    };
    if (!threads) return goes_on_through(0, n);
    if (!goes_on_through(0, std::min(n, longest))) return false;
    std::atomic<bool> ordered{true};
    over_pieces(n, true, 2 * sizeof(T), [&](i64 first, i64 last) {
      if (ordered.load(std::memory_order_relaxed) && !goes_on_through(first, last)) {
        ordered.store(false, std::memory_order_relaxed);
      }
    });
    return ordered;
  }
}

// ---- keys in order ------------------------------------------------------------------------------

// Items are unsigned integers of two, four or eight bytes: keys, or keys above positions. What is
// equal is alike, so no sort of items has to be stable.

constexpr i64 insertion_length = 24;

// to = from in order; the two are the same or apart.
template <class Item>
void insertion_sort(const Item* from, Item* to, i64 n) {
  to[0] = from[0];
  for (i64 i = 1; i < n; ++i) {
    const Item item = from[i];
    i64 j = i;
    for (; j > 0 && item < to[j - 1]; --j) to[j] = to[j - 1];
    to[j] = item;
  }
}

// What buckets end in, by one of two ways: the network of the instruction set, or insertion.
template <class Item>
struct ShortSort {
  const ShortSortKernel network = kernels().short_sort[item_class(sizeof(Item))];
  const i64 longest = network ? short_sort_bytes / i64(sizeof(Item)) : insertion_length;
  const i64 usual = network ? 128 : 8;  // items of a bucket, where the cut can be chosen

  void operator()(const Item* from, Item* to, i64 n) const {
    if (n == 1) {
      *to = *from;
    } else if (network) {
      network(from, to, n);
    } else {
      insertion_sort(from, to, n);
    }
  }
};

template <class Item>
KeyRange range_of(const Item* a, i64 n) {
  return kernels().key_range[item_class(sizeof(Item))](a, n);
}
constexpr int most_digit_bits = 11;
constexpr i64 most_counted = 1 << most_digit_bits;  // values

// Writes an item to the end of its bucket, and has the processor fetch what lies ahead of it, which
// stores do not: buckets beyond the caches fill several times as fast.
template <class Item, class Place>
void append(Item* to, Place& end, Item item) {
  to[end] = item;
  __builtin_prefetch(to + end + 64 / sizeof(Item));
  ++end;
}

// The bucket of an item: the upper bits of its distance from the least one.
template <class Item>
struct Digit {
  Item least;
  int shift;
  i64 count;  // of buckets

  Digit(const KeyRange& range, i64 n, i64 usual) {
    least = static_cast<Item>(range.least);
    const int width = std::bit_width(range.greatest - range.least);
    const int wanted = std::max(3, int(std::bit_width(static_cast<u64>(n / usual))));
    const bool all = width <= most_digit_bits && i64{1} << width <= n;
    const int bits = all ? width : std::min({most_digit_bits, width, wanted});
    shift = width - bits;
    count = i64{1} << bits;
  }
  std::size_t operator()(Item item) const {
    return static_cast<std::size_t>(Item(item - least) >> shift);
  }
};

// Where the first key of each lower and of each upper byte goes, for n keys of two bytes.
struct BytePlaces {
  u32 lower[256] = {}, upper[256] = {};

  BytePlaces(const std::uint16_t* keys, i64 n) {
    for (i64 i = 0; i < n; ++i) {
      ++lower[keys[i] & 255];
      ++upper[keys[i] >> 8];
    }
    for (u32* places : {lower, upper}) {
      u32 sum = 0;
      for (int digit = 0; digit < 256; ++digit) {
        const u32 count = places[digit];
        places[digit] = sum;
        sum += count;
      }
    }
  }
};

// Writes a[0…n) in order, where the items of each bucket are equal. It is not part of radix_sort,
// which calls itself and so has several tables on the stack already.
template <class Item>
[[gnu::noinline]] void write_counted(const Item* a, i64 n, const Digit<Item>& digit, Item* to) {
  // There are two tables, since equal items in a row would wait for each other.
  i64 even[most_counted], odd[most_counted];
  std::fill_n(even, digit.count, 0);
  std::fill_n(odd, digit.count, 0);
  for (i64 i = 0; i + 1 < n; i += 2) {
    ++even[digit(a[i])];
    ++odd[digit(a[i + 1])];
  }
  if (n % 2) ++even[digit(a[n - 1])];
  for (i64 d = 0; d < digit.count; ++d) {
    to = std::fill_n(to, even[d] + odd[d], static_cast<Item>(digit.least + d));
  }
}

// Sorts a[0…n) by means of b, into b if `into_b`, else into a.
template <class Item>
void radix_sort(Item* a, Item* b, i64 n, bool into_b) {
  const ShortSort<Item> short_sort;
  if (n <= short_sort.longest) {
    if (n > 0) short_sort(a, into_b ? b : a, n);
    return;
  }
  const KeyRange range = range_of(a, n);
  if (!range.unsorted) {
    if (into_b) std::memcpy(b, a, n * sizeof(Item));
    return;
  }
  if constexpr (sizeof(Item) == 2) {
    if (n <= i64{1} << 32) {  // by the lower byte, then by the upper one
      BytePlaces place(a, n);
      for (i64 i = 0; i < n; ++i) append(b, place.lower[a[i] & 255], a[i]);
      for (i64 i = 0; i < n; ++i) append(a, place.upper[b[i] >> 8], b[i]);
      if (into_b) std::memcpy(b, a, n * sizeof(Item));
      return;
    }
  }
  const Digit<Item> digit(range, n, short_sort.usual);
  // Counts say it all.
  if (digit.shift == 0) return write_counted(a, n, digit, into_b ? b : a);
  i64 end[most_counted];
  std::fill_n(end, digit.count, 0);
  for (i64 i = 0; i < n; ++i) ++end[digit(a[i])];
  i64 sum = 0;
  for (i64 d = 0; d < digit.count; ++d) {
    const i64 count = end[d];
    end[d] = sum;
    sum += count;
  }
  for (i64 i = 0; i < n; ++i) append(b, end[digit(a[i])], a[i]);
  i64 first = 0;
  for (i64 d = 0; d < digit.count; ++d) {
    const i64 count = end[d] - first;
    if (count > 0) radix_sort(b + first, a + first, count, !into_b);
    first = end[d];
  }
}

// Writes what is below the pivot to `less`, the rest to `others`, of which one may be a; returns
// how much is below.
template <class Item>
i64 partition(const Item* a, Item* less, Item* others, i64 n, Item pivot) {
  if (const PartitionKernel kernel = kernels().partition[item_class(sizeof(Item))]) {
    return kernel(a, less, others, n, pivot);
  }
  i64 below = 0;
  for (i64 i = 0; i < n; ++i) {
    const Item item = a[i];
    less[below] = item;
    others[i - below] = item;
    below += item < pivot;
  }
  return below;
}

// Items that a cut looks at, in order, before it chooses its pivot.
constexpr int cut_samples = 32;

// Whether buckets part items of which these are some, in order, sooner than cuts do: where vectors
// have four of them, and they lie so evenly that their upper bits part them well.
template <class Item>
bool buckets_are_sooner(const Item (&sample)[cut_samples]) {
  if (sizeof(Item) != 8 || !kernels().buckets_even_items) return false;
  const auto part = [&, width = int(std::bit_width(Item(sample[cut_samples - 1] - sample[0])))](
                        int i) { return Item(sample[i] - sample[0]) >> std::max(0, width - 6); };
  int parts = 1;  // of 33 to 64 that are as wide as each other
  for (int i = 1; i < cut_samples; ++i) parts += part(i) != part(i - 1);
  return parts >= cut_samples * 3 / 8;
}

// As radix_sort, by cuts into parts below and above a pivot, which whole vectors write faster than
// single items find their buckets, but for values that are few enough to be counted and long lines
// of items that lie evenly in vectors of four. Parts that a cut leaves whole, as where all items
// are equal, and those that `levels` cuts have not made short, are sorted by radix; a cut that
// takes off little counts as most of those that are left.
template <class Item>
void quick_sort(Item* a, Item* b, i64 n, bool into_b, int levels) {
  const ShortSort<Item> short_sort;
  if (n <= short_sort.longest || levels == 0) return radix_sort(a, b, n, into_b);
  constexpr int samples = cut_samples;
  Item sample[samples];
  for (int i = 0; i < samples; ++i) sample[i] = a[(n - 1) / (samples - 1) * i];
  if (std::is_sorted(sample, sample + samples) && !range_of(a, n).unsorted) {
    if (into_b) std::memcpy(b, a, n * sizeof(Item));
    return;
  }
  short_sort(sample, sample, samples);
  constexpr int soon_cut = 16;  // that many values
  const Item spread = sample[samples - 1] - sample[0];
  if (spread >= soon_cut && spread < most_counted) return radix_sort(a, b, n, into_b);
  constexpr i64 many = 8192;  // fewer items have so few buckets that they wait for each other
  if (n >= many && buckets_are_sooner(sample)) return radix_sort(a, b, n, into_b);
  Item pivot = sample[samples / 2];
  if (pivot == sample[0]) ++pivot;  // else nothing might be below it
  Item *to = into_b ? b : a, *other = into_b ? a : b;
  const i64 below = partition(a, to, other, n, pivot), above = n - below;
  const i64 lesser = std::min(below, above);
  levels = lesser == 0 ? 0 : lesser < n / 64 ? levels / 4 : levels - 1;
  quick_sort(to, other + above, below, false, levels);
  quick_sort(other, to + below, above, true, levels);
}

// Sorts a[0…n) by means of b, into b if `into_b`, else into a, by the faster of the two ways.
template <class Item>
void sort_alone(Item* a, Item* b, i64 n, bool into_b) {
  if constexpr (sizeof(Item) >= 4) {
    if (kernels().partition[item_class(sizeof(Item))]) {
      return quick_sort(a, b, n, into_b, 2 * int(std::bit_width(static_cast<u64>(n))));
    }
  }
  radix_sort(a, b, n, into_b);
}

template <class Item>
KeyRange parallel_range(const Item* a, i64 n, i64 piece) {
  const i64 pieces = (n + piece - 1) / piece;
  std::vector<KeyRange> ranges(pieces);
  parallel_for(pieces, n * i64(sizeof(Item)), [&](i64 c) {
    const i64 first = c * piece;
    ranges[c] = range_of(a + first, std::min(piece, n - first));
    if (first > 0) ranges[c].unsorted |= a[first] < a[first - 1];
  });
  KeyRange all = ranges[0];
  for (i64 c = 1; c < pieces; ++c) {
    all.least = std::min(all.least, ranges[c].least);
    all.greatest = std::max(all.greatest, ranges[c].greatest);
    all.different |= ranges[c].different | u64(a[c * piece] ^ a[0]);
    all.unsorted |= ranges[c].unsorted;
  }
  return all;
}

// Cuts a[0…n), by means of b, into parts, a power of two, of which part i starts at pivots[2 * i];
// into b if `into_b`, else into a. ends[i] is where part i ends, counted from `first`.
template <class Item>
void cut(Item* a, Item* b, i64 n, bool into_b, const Item* pivots, i64 parts, i64 first,
         i64* ends) {
  if (parts == 1) {
    if (into_b) std::memcpy(b, a, n * sizeof(Item));
    *ends = first + n;
    return;
  }
  Item *to = into_b ? b : a, *other = into_b ? a : b;
  const i64 below = partition(a, to, other, n, pivots[parts]), above = n - below;
  cut(to, other + above, below, false, pivots, parts / 2, first, ends);
  cut(other, to + below, above, true, pivots + parts, parts / 2, first + below, ends + parts / 2);
}

// Writes n items to `to` in order, by means of a, which has room for as many: fill(first, last, p)
// writes some of them to p, item_at(i) is one, and done(first, last) follows when that part of `to`
// is in order. Item i may be made of what lies at i in a and `to`. What is too much for the caches
// or for one thread, and of four or eight bytes, is made and cut at common pivots a piece at a
// time; then each part is gathered from the pieces, cut in two by the way, and sorted. So each item
// leaves the caches once before it is in order.
template <class Item, class ItemAt, class Fill, class Done>
void sort_items(Item* a, Item* to, i64 n, bool threads, ItemAt&& item_at, Fill&& fill,
                Done&& done) {
  const auto alone = [&] {
    over_pieces(n, threads, 2 * sizeof(Item),
                [&](i64 first, i64 last) { fill(first, last, to + first); });
    sort_alone(to, a, n, false);
    over_pieces(n, threads, 2 * sizeof(Item), done);
  };
  constexpr i64 cached = (1 << 20) / sizeof(Item);
  const bool cuts_fast = kernels().partition[item_class(sizeof(Item))] != nullptr;
  threads = threads && n >= long_line && thread_count() > 1;
  if (sizeof(Item) == 2 || !(threads || (cuts_fast && n > cached))) return alone();
  constexpr i64 most_parts = 64, samples = 16 * most_parts;
  const i64 parts = std::clamp<i64>(std::bit_ceil(static_cast<u64>(n >> 14)), 8, most_parts);
  const i64 piece = std::clamp<i64>(n / 16, 1 << 13, (1 << 19) / sizeof(Item));
  const i64 pieces = (n + piece - 1) / piece;
  Item pivots[2 * most_parts];  // the odd ones cut the parts in two, the others part from part
  Scratch sampling;
  Item* sample = sampling.take<Item>(2 * samples);
  for (i64 i = 0; i < samples; ++i) sample[i] = item_at((n - 1) / (samples - 1) * i);
  radix_sort(sample, sample + samples, samples, false);
  if (!threads) {
    Item few[cut_samples];
    for (int i = 0; i < cut_samples; ++i) few[i] = sample[samples / cut_samples * i];
    const bool counted = Item(sample[samples - 1] - sample[0]) < most_counted;
    if (counted || buckets_are_sooner(few)) return alone();
  }
  for (i64 i = 0; i < 2 * parts; ++i) pivots[i] = sample[samples / (2 * parts) * i];
  std::vector<i64> ends(pieces * parts);
  const i64 work = threads ? 4 * n * i64(sizeof(Item)) : 0;
  parallel_for(pieces, work, [&](i64 c) {
    const i64 first = c * piece, last = std::min(n, first + piece);
    Scratch scratch;
    Item *const items = a + first, *const others = scratch.take<Item>(last - first);
    constexpr i64 block = 512;
    Item made[block];
    i64 below = 0, above = 0;
    for (i64 i = first; i < last; i += block) {
      const i64 count = std::min(block, last - i);
      fill(i, i + count, made);
      const i64 less = partition(made, items + below, others + above, count, pivots[parts]);
      below += less;
      above += count - less;
    }
    i64* const end = ends.data() + c * parts;
    const i64 half = parts / 2;
    cut(items, others + above, below, false, pivots, half, first, end);
    cut(others, items + below, above, true, pivots + parts, half, first + below, end + half);
  });
  const auto start_of = [&](i64 c, i64 part) {
    return part == 0 ? c * piece : ends[c * parts + part - 1];
  };
  std::vector<i64> start(parts + 1, 0);
  for (i64 part = 0; part < parts; ++part) {
    start[part + 1] = start[part];
    for (i64 c = 0; c < pieces; ++c) start[part + 1] += ends[c * parts + part] - start_of(c, part);
  }
  parallel_for(parts, work, [&](i64 part) {
    const i64 first = start[part], last = start[part + 1];
    Scratch scratch;
    Item* const items = scratch.take<Item>(last - first);
    Item* const others = scratch.take<Item>(last - first);
    i64 below = 0, above = 0;
    for (i64 c = 0; c < pieces; ++c) {
      const i64 from = start_of(c, part), count = ends[c * parts + part] - from;
      const Item pivot = pivots[2 * part + 1];
      const i64 less = partition(a + from, items + below, others + above, count, pivot);
      below += less;
      above += count - less;
    }
    sort_alone(items, to + first, below, true);
    sort_alone(others, to + first + below, above, true);
    done(first, last);
  });
}

// ---- positions in order -------------------------------------------------------------------------

template <class P>
bool is_nan(P x) {
  return x != x;
}

// NumPy's classes of complex values: no NaN, NaN in the imaginary part, in the real part, in both.
template <class P>
int nan_class(std::complex<P> x) {
  return 2 * is_nan(x.real()) + is_nan(x.imag());
}
template <class P>
bool is_nan(std::complex<P> x) {
  return nan_class(x) != 0;
}

// Sorts positions by the words of their keys, the first of which decides first. An item is a
// position below as many upper bits of the differences between words as there is room for; the runs
// of equal upper bits that are left are sorted by the bits that there was no room for.
template <class WordAt>
class Order {
 public:
  Order(i64 positions, int words, WordAt word_at)
      : bits_(std::bit_width(static_cast<u64>(positions - 1))),
        mask_((u64{1} << bits_) - 1),
        words_(words),
        word_at_(word_at) {}

  i64 position(u64 item) const { return static_cast<i64>(item & mask_); }
  // Of n items; they may be written over them.
  void positions(const u64* items, i64* out, i64 n) const {
    kernels().item_positions(items, out, mask_, n);
  }

  // a[0…n) by means of b; equal ones stay in the order of their positions, which is how they come.
  void sort(u64* a, u64* b, i64 n, int word, bool threads) const {
    over_pieces(n, threads, 24, [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i) b[i] = word_at_(position(a[i]), word);
    });
    sort_by(b, a, n, word, threads);
  }
  // The same where b holds that word of each item's key.
  void sort_by(u64* b, u64* a, i64 n, int word, bool threads) const {
    const KeyRange range = threads ? parallel_range(b, n, chunk_elements) : range_of(b, n);
    const bool last_word = word + 1 == words_;
    if (range.different == 0) {
      if (!last_word) sort(a, b, n, word + 1, threads);
      return;
    }
    if (!range.unsorted && last_word) return;
    // Bits that all words share at the lower end decide nothing.
    const int shared = std::countr_zero(range.different);
    const int width = std::bit_width(range.greatest - range.least);
    const int shift = std::max(shared, width - (64 - bits_));
    const auto item_at = [=, least = range.least, bits = bits_, mask = mask_](i64 i) {
      return (b[i] - least) >> shift << bits | (a[i] & mask);
    };
    const auto fill = [=](i64 first, i64 last, u64* to) {
      for (i64 i = first; i < last; ++i) *to++ = item_at(i);
    };
    sort_items(b, a, n, threads, item_at, fill, [](i64, i64) {});
    const bool exact = shift == shared;
    if (!exact || !last_word) sort_runs(a, b, n, exact ? word + 1 : word, threads);
  }

 private:
  static constexpr i64 few = 12;

  // The runs of items that differ in their positions alone, by the rest of this word or the next.
  void sort_runs(u64* a, u64* b, i64 n, int word, bool threads) const {
    // What lies from `last` on another thread may be changing.
    const auto end_of_run = [&](i64 i, i64 last) {
      i64 j = i + 1;
      for (; j < last && (a[j] ^ a[i]) <= mask_; ++j) {
      }
      return j;
    };
    u64 closest = ~u64{0};
    for (i64 i = 1; i < n; ++i) closest = std::min(closest, a[i] ^ a[i - 1]);
    if (closest > mask_) return;
    // Pieces start where runs do, and are found before a run changes.
    const i64 pieces = threads ? (n + chunk_elements - 1) / chunk_elements : 1;
    std::vector<i64> start(pieces + 1, n);
    for (i64 c = 0; c < pieces; ++c) {
      const i64 at = c * chunk_elements;
      start[c] = at == 0 ? 0 : std::lower_bound(a, a + at, a[at] & ~mask_) - a;
    }
    std::vector<std::pair<i64, i64>> long_runs;
    for (i64 c = 0; threads && c < pieces; ++c) {
      const i64 end = std::upper_bound(a + start[c], a + n, a[start[c]] | mask_) - a;
      const bool known = !long_runs.empty() && long_runs.back().first == start[c];
      if (end - start[c] >= long_line && !known) long_runs.push_back({start[c], end});
    }
    parallel_for(pieces, threads ? n * 8 : 0, [&](i64 c) {
      for (i64 i = start[c]; i < start[c + 1];) {
        const i64 end = end_of_run(i, start[c + 1]), count = end - i;
        if (count > 1 && count <= few) {
          insert(a + i, count, word);
        } else if (count > few && !(threads && count >= long_line)) {
          sort(a + i, b + i, count, word, false);
        }
        i = end;
      }
    });
    for (const auto& [first, end] : long_runs) sort(a + first, b + first, end - first, word, true);
  }

  void insert(u64* a, i64 n, int word) const {
    for (i64 i = 1; i < n; ++i) {
      const u64 item = a[i];
      i64 j = i;
      for (; j > 0 && stands_before(item, a[j - 1], word); --j) a[j] = a[j - 1];
      a[j] = item;
    }
  }
  bool stands_before(u64 x, u64 y, int word) const {
    for (; word < words_; ++word) {
      const u64 a = word_at_(position(x), word), b = word_at_(position(y), word);
      if (a != b) return a < b;
    }
    return false;
  }

  int bits_;  // of a position
  u64 mask_;
  int words_;
  WordAt word_at_;
};

template <class C>
void argsort_complex(const char* in, i64* out, i64 n, bool descending, bool threads,
                     Scratch& scratch) {
  using P = typename C::value_type;
  const Key<P> flip = descending ? Key<P>(~Key<P>(0)) : Key<P>(0);
  constexpr int words = sizeof(P) == 4 ? 1 : 2;
  const auto word_of = [=](i64 i, int word) -> u64 {
    const char* p = in + i * i64(sizeof(C));
    if constexpr (sizeof(P) == 4) {
      return u64{key_at<P>(p, flip)} << 32 | key_at<P>(p + sizeof(P), flip);
    } else {
      return key_at<P>(p + word * sizeof(P), flip);
    }
  };
  constexpr i64 few = 6;
  if (n <= few) {  // done with sooner than what follows is prepared
    std::tuple<int, u64, u64, i64> items[few];
    for (i64 i = 0; i < n; ++i) {
      items[i] = {nan_class(load<C>(in + i * sizeof(C))), word_of(i, 0), word_of(i, words - 1), i};
    }
    insertion_sort(items, items, n);
    for (i64 i = 0; i < n; ++i) out[i] = std::get<3>(items[i]);
    return;
  }
  const Order order(n, words, word_of);
  u64* a = scratch.take<u64>(n);
  u64* b = scratch.take<u64>(n);
  i64 group_end[4] = {n, n, n, n};
  std::atomic<bool> any_nan{false};
  over_pieces(n, threads, sizeof(C) + sizeof(u64), [&](i64 first, i64 last) {
    bool found = false;
    for (i64 i = first; i < last; ++i) {
      a[i] = static_cast<u64>(i);
      found |= nan_class(load<C>(in + i * sizeof(C))) != 0;
    }
    if (found) any_nan.store(true, std::memory_order_relaxed);
  });
  if (any_nan) {
    i64 slot = 0;
    for (int group = 0; group < 4; ++group) {
      for (i64 i = 0; i < n; ++i) {
        // Another thread may write to the input, so that an element is met in two groups.
        const bool met = nan_class(load<C>(in + i * sizeof(C))) == group;
        if (met && slot < n) a[slot++] = static_cast<u64>(i);
      }
      group_end[group] = slot;
    }
  }
  i64 first = 0;
  for (i64 end : group_end) {
    if (end > first) order.sort(a + first, b + first, end - first, 0, threads);
    first = end;
  }
  over_pieces(n, threads, 16,
              [&](i64 from, i64 to) { order.positions(a + from, out + from, to - from); });
}

// Positions of what is false and then of what is true, or the reverse.
void argsort_truth(const char* in, i64* out, i64 n, bool descending) {
  constexpr i64 words = 64, block = words * sizeof(u64);
  u64 sought[words] = {};
  i64 found = 0;
  for (const bool truth : {descending, !descending}) {
    const u64 flip = truth ? 0 : ~u64{0} / 255;  // the lowest bit of each byte
    for (i64 first = 0; first < n; first += block) {
      const i64 count = std::min(block, n - first);
      char* bytes = reinterpret_cast<char*>(sought);
      keys_of<bool>(in + first, reinterpret_cast<std::uint8_t*>(sought), count, false);
      for (u64& word : sought) word ^= flip;
      found += kernels().positions[1](bytes, count, first, out + found, n - found);
    }
  }
  std::fill(out + found, out + n, 0);  // where another thread wrote to the input in between
}

// Keys of one byte: count each, then write each position to its place.
template <class T>
void counting_argsort(const char* in, i64* out, i64 n, bool descending, Scratch& scratch) {
  Key<T>* keys = scratch.take<Key<T>>(n);
  keys_of<T>(in, keys, n, descending);
  i64 place[256] = {};
  for (i64 i = 0; i < n; ++i) ++place[keys[i]];
  i64 sum = 0;
  for (i64& p : place) {
    const i64 count = p;
    p = sum;
    sum += count;
  }
  for (i64 i = 0; i < n; ++i) append(out, place[keys[i]], i);
}

// Keys of two bytes: by the lower one, then by the upper one. An item is the upper byte above a
// position of 24 bits.
template <class T>
void two_pass_argsort(const char* in, i64* out, i64 n, bool descending, Scratch& scratch) {
  Key<T>* keys = scratch.take<Key<T>>(n);
  u32* items = scratch.take<u32>(n);
  keys_of<T>(in, keys, n, descending);
  BytePlaces place(keys, n);
  for (i64 i = 0; i < n; ++i) {
    append(items, place.lower[keys[i] & 255], u32{keys[i]} >> 8 << 24 | static_cast<u32>(i));
  }
  for (i64 i = 0; i < n; ++i) append(out, place.upper[items[i] >> 24], i64{items[i] & 0xffffff});
}

// out (n positions) sorts the n contiguous elements at `in`.
template <class T>
void argsort_line(const char* in, i64* out, i64 n, bool descending, bool threads,
                  Scratch& scratch) {
  if constexpr (is_complex_type<T>) {
    argsort_complex<T>(in, out, n, descending, threads, scratch);
  } else if constexpr (std::is_same_v<T, bool>) {
    argsort_truth(in, out, n, descending);
  } else {
    const auto identity = [&](i64 first, i64 last) {
      kernels().integer_range[3](out + first, static_cast<u64>(first), 1, last - first);
    };
    if (n > looked_at_from && in_order<T>(in, n, descending, threads, identity)) return;
    using K = Key<T>;
    const K flip = descending ? K(~K(0)) : K(0);
    const auto key = [=](i64 i) { return key_at<T>(in + i * i64(sizeof(T)), flip); };
    const auto sort_packed = [&](auto example) {  // keys above positions
      using Item = decltype(example);
      constexpr int half = 4 * sizeof(Item);
      constexpr Item mask = (Item(1) << half) - 1;
      Item* a = scratch.take<Item>(n);
      Item* sorted = sizeof(Item) == 8 ? reinterpret_cast<Item*>(out) : scratch.take<Item>(n);
      const auto item_at = [&](i64 i) { return Item(Item(key(i)) << half | Item(i)); };
      const auto fill = [&](i64 first, i64 last, Item* to) {
        K keys[512];
        for (i64 i = first; i < last;) {
          const i64 end = std::min(last, i + 512);
          keys_of<T>(in + i * i64(sizeof(T)), keys, end - i, descending);
          if constexpr (sizeof(K) == 4 && sizeof(Item) == 8) {
            kernels().key_items(keys, to, static_cast<u32>(i), end - i);
            to += end - i;
            i = end;
          } else {
            for (const K* key = keys; i < end; ++i) *to++ = Item(Item(*key++) << half | Item(i));
          }
        }
      };
      sort_items(a, sorted, n, threads, item_at, fill, [&](i64 first, i64 last) {
        if constexpr (sizeof(Item) == 8) {
          kernels().item_positions(sorted + first, out + first, mask, last - first);
        } else {
          for (i64 i = first; i < last; ++i) out[i] = static_cast<i64>(sorted[i] & mask);
        }
      });
    };
    if (sizeof(T) == 1 && n > (kernels().short_sort[2] ? 256 : insertion_length)) {
      if constexpr (sizeof(T) == 1) counting_argsort<T>(in, out, n, descending, scratch);
    } else if (sizeof(T) <= 2 && n <= short_sort_bytes / 2) {
      sort_packed(u32{});
    } else if (sizeof(T) == 2 && n <= i64{1} << 24) {
      if constexpr (sizeof(T) == 2) two_pass_argsort<T>(in, out, n, descending, scratch);
    } else if (sizeof(T) <= 4 && n <= i64{1} << 32) {
      sort_packed(u64{});
    } else {
      const Order order(n, 1, [=](i64 i, int) -> u64 { return key(i); });
      u64* a = reinterpret_cast<u64*>(out);  // items lie where positions will
      over_pieces(n, threads, 8, identity);
      u64* keys = scratch.take<u64>(n);
      over_pieces(n, threads, 16, [&](i64 first, i64 last) {
        if constexpr (sizeof(T) == 8) {
          keys_of<T>(in + first * 8, keys + first, last - first, descending);
        } else {
          for (i64 i = first; i < last; ++i) keys[i] = key(i);
        }
      });
      order.sort_by(keys, a, n, 0, threads);
      over_pieces(n, threads, 16, [&](i64 first, i64 last) {
        order.positions(a + first, out + first, last - first);
      });
    }
  }
}

// ---- values in order ----------------------------------------------------------------------------

// Keys of one or two bytes: count each, then write runs.
template <class T>
void counting_sort(const char* in, char* out, i64 n, Key<T> flip) {
  using K = Key<T>;
  constexpr std::size_t keys = std::size_t{1} << (8 * sizeof(K));
  // Bytes are counted in two tables, since equal ones in a row would wait for each other.
  constexpr int tables = sizeof(K) == 1 ? 2 : 1;
  std::vector<i64> counts(tables * keys, 0);
  const i64 half = n / tables;
  for (i64 i = 0; i < half; ++i) {
    ++counts[key_at<T>(in + i * sizeof(T), flip)];
    if (tables > 1) ++counts[keys + key_at<T>(in + (half + i) * sizeof(T), flip)];
  }
  for (i64 i = tables * half; i < n; ++i) ++counts[key_at<T>(in + i * sizeof(T), flip)];
  char* const end = out + n * i64(sizeof(K));
  for (std::size_t k = 0; k < keys; ++k) {
    i64 count = counts[k];
    if (tables > 1) count += counts[keys + k];
    const K bits = bits_of_key<T>(static_cast<K>(k), flip);
    constexpr i64 few = 16 / sizeof(K);
    if (count <= few && out + 16 <= end) {  // what is too much is overwritten by the next run
      const u64 eight = ~u64{0} / K(~K(0)) * bits;
      store(out, eight);
      store(out + 8, eight);
    } else if constexpr (sizeof(K) == 1) {
      std::memset(out, bits, count);
    } else {
      for (i64 i = 0; i < count; ++i) store(out + i * i64(sizeof(K)), bits);
    }
    out += count * i64(sizeof(K));
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
    const auto copy = [&](i64 first, i64 last) {
      const i64 at = first * i64(sizeof(T));
      std::memcpy(out + at, in + at, (last - first) * i64(sizeof(T)));
    };
    if (n > looked_at_from && in_order<T>(in, n, descending, threads, copy)) return;
    using K = Key<T>;
    const K flip = descending ? K(~K(0)) : K(0);
    if constexpr (sizeof(T) <= 2 && !is_real_type<T>) {
      if (n > (sizeof(T) == 1 ? 64 : 1 << 16)) return counting_sort<T>(in, out, n, flip);
    }
    using Item = std::conditional_t<sizeof(K) == 1, std::uint16_t, K>;
    Item* a = scratch.take<Item>(n);
    Item* sorted = sizeof(K) == 1 ? scratch.take<Item>(n) : reinterpret_cast<Item*>(out);
    std::atomic<unsigned> seen{0};
    const auto item_at = [=](i64 i) -> Item { return key_at<T>(in + i * i64(sizeof(T)), flip); };
    const auto fill = [&](i64 first, i64 last, Item* to) {
      if constexpr (sizeof(T) == 1) {
        for (i64 i = first; i < last; ++i) *to++ = item_at(i);
      } else {
        const unsigned flags =
            keys_of<T>(in + first * i64(sizeof(T)), to, last - first, descending);
        if (flags) seen.fetch_or(flags, std::memory_order_relaxed);
      }
    };
    sort_items(a, sorted, n, threads, item_at, fill, [&](i64 first, i64 last) {
      char* to = out + first * i64(sizeof(T));
      if constexpr (sizeof(T) == 1) {
        for (i64 i = first; i < last; ++i) store(to++, bits_of_key<T>(K(sorted[i]), flip));
      } else {
        values_of<T>(sorted + first, to, last - first, descending);
      }
    });
    // What a key does not give back, in the order it came: zeros, and NaN behind the numbers.
    if constexpr (is_real_type<T>) {
      const auto first_from = [&](K key) {
        return std::partition_point(sorted, sorted + n,
                                    [=](const Item& x) {
                                      return key_at<T>(reinterpret_cast<const char*>(&x), flip) <
                                             key;
                                    }) -
               sorted;
      };
      // Each element goes to the next place, and stays there if it is meant. The input ends, too:
      // another thread may write to it.
      const auto put_back = [&](i64 place, i64 end, auto&& is_meant) {
        const char* const last = in + n * i64(sizeof(T));
        for (const char* p = in; place < end && p < last; p += sizeof(T)) {
          const K bits = load<K>(p);
          store(out + place * i64(sizeof(T)), bits);
          place += is_meant(bits);
        }
      };
      if (seen & has_negative_zero) {
        const K zero = top_bit<K> ^ flip;
        put_back(first_from(zero), first_from(zero + 1), [](K bits) { return K(bits << 1) == 0; });
      }
      if (seen & has_nan) {
        put_back(first_from(K(~K(0))), n,
                 [](K bits) { return K(bits & ~top_bit<K>) > infinity_bits<T>; });
      }
    }
  }
}

// ---- lines of an array --------------------------------------------------------------------------

// Called with the places of a line and of its result.
using Line = FunctionRef<void(const char*, char*)>;

// line(from, to) for every line along the last dimension, which is contiguous in both.
void over_contiguous_lines(const Operand& in, const Operand& out, const Line& line) {
  const int axis = in.layout->ndim() - 1;
  const i64 n = in.layout->shape[axis];
  const i64 in_size = itemsize(in.dtype), out_size = itemsize(out.dtype);
  Dims shape = in.layout->shape, in_strides = in.layout->strides, out_strides = out.layout->strides;
  shape.erase(axis);
  in_strides.erase(axis);
  out_strides.erase(axis);
  const Dims* strides[2] = {&in_strides, &out_strides};
  const Plan plan = make_plan(shape, strides, 2);
  const int inner = plan.ndim() - 1;
  const i64 lines = plan.count(), inner_size = plan.size[inner];
  const i64 in_next = plan.stride[0][inner] * in_size, out_next = plan.stride[1][inner] * out_size;
  const bool threads_inside = n >= long_line && lines < 2 * thread_count();
  const i64 lines_per_chunk = std::max<i64>(1, chunk_elements / n);
  const auto chunk_body = [&](i64 chunk) {
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
      const i64 count = std::min(last - first, inner_size - first % inner_size);
      for (i64 l = 0; l < count; ++l) line(p + l * in_next, q + l * out_next);
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

// line(from, to) for every line along `axis`, contiguous at both ends: others are copied, many of
// them at once, so that they are read and written at the speed of memory.
void over_lines(const Operand& in, int axis, const Operand& out, const Line& line) {
  if (out.layout->size == 0) return;
  const int last = in.layout->ndim() - 1;
  Dims axes;
  for (int d = 0; d <= last; ++d) {
    if (d != axis) axes.push_back(d);
  }
  axes.push_back(axis);
  const Layout from = permute(*in.layout, axes), to = permute(*out.layout, axes);
  const auto along = [last](const Layout& l) { return l.shape[last] == 1 || l.strides[last] == 1; };
  const bool pack = !along(from), unpack = !along(to);
  // Parts of so many bytes, but not of fewer lines, whose items share lines of the caches.
  constexpr i64 most_bytes = i64{1} << 26, fewest = 16;
  int widest = 0;
  for (int d = 1; d < last; ++d) {
    if (from.shape[d] > from.shape[widest]) widest = d;
  }
  const i64 width = last > 0 ? from.shape[widest] : 1;
  i64 part = width;
  if (pack || unpack) {
    const i64 parts = from.size * (itemsize(in.dtype) + itemsize(out.dtype)) / most_bytes + 1;
    part = ((width - 1) / parts / fewest + 1) * fewest;
  }
  Array packed, unpacked;
  for (i64 first = 0; first < width; first += part) {
    Operand source = in, target = out;
    const auto cut = [&](Operand& operand, const Layout& whole) {
      Layout l = whole;
      if (last > 0) {
        l = slice_axis(whole, widest, first, 1, std::min(part, width - first));
        operand.data += (l.offset - whole.offset) * itemsize(operand.dtype);
      }
      return l;
    };
    const Layout from_part = cut(source, from), to_part = cut(target, to);
    source.layout = &from_part;
    target.layout = &to_part;
    const auto room = [](const Operand& x, Array& held) {
      held.dtype = x.dtype;
      held.layout = Layout::contiguous(x.layout->shape);
      if (!held.storage) held.storage = allocate(held.nbytes());
      return Operand(held);
    };
    if (pack) {
      copy(source, room(source, packed));
      source = Operand(packed);
    }
    const Operand sorted = unpack ? room(target, unpacked) : target;
    over_contiguous_lines(source, sorted, line);
    if (unpack) copy(sorted, target);
  }
}

// ---- many short lines ---------------------------------------------------------------------------

// The longest lines for which a network, whose work grows by n log² n, is the faster way, by the
// bytes of a key: of narrow ones more go side by side, and apart ones would be brought together.
constexpr i64 longest_in_network(i64 size, bool apart) {
  if (size == 1) return 1024;
  if (size == 2) return apart ? 512 : 128;
  if (size == 4) return apart ? 256 : 128;
  return 64;
}

// Lines along an axis, side by side.
struct ShortLines {
  i64 in_step, in_next, out_step, out_next;  // bytes along a line, and from line to line
  i64 lanes;                                 // lines that go side by side at most
  i64 block_bytes;                           // of their keys
  Plan plan;
  bool pay = true;

  ShortLines(const Operand& in, int axis, const Operand& out, i64 lanes) : lanes(lanes) {
    Dims shape = in.layout->shape, in_strides = in.layout->strides;
    Dims out_strides = out.layout->strides;
    in_step = in_strides[axis] * itemsize(in.dtype);
    out_step = out_strides[axis] * itemsize(out.dtype);
    block_bytes = shape[axis] * network_row_bytes;
    shape.erase(axis);
    in_strides.erase(axis);
    out_strides.erase(axis);
    const Dims* strides[2] = {&in_strides, &out_strides};
    plan = make_plan(shape, strides, 2);
    // Neighbours are those along the longest dimension where the innermost has too few. Those lie
    // apart: longer lines take less time one by one, each brought together.
    constexpr i64 most_apart = 128, least = 4;  // bytes of a line, and lines
    const int last = plan.ndim() - 1;
    if (plan.size[last] < lanes / 2) {
      int longest = last;
      for (int d = last - 1; d >= 0; --d) {
        if (plan.size[d] > plan.size[longest]) longest = d;
      }
      std::swap(plan.size[longest], plan.size[last]);
      for (int k = 0; k < 2; ++k) std::swap(plan.stride[k][longest], plan.stride[k][last]);
      pay = in.layout->shape[axis] * itemsize(in.dtype) <= most_apart && plan.size[last] >= least;
    }
    // Of few lines, which leave much of a group empty, longer ones take less time one by one, and
    // a third as long ones where none has to be brought together.
    const i64 n = in.layout->shape[axis], inner = plan.size[last];
    if (in.layout->size < 4 * n * lanes) {
      const bool apart = in.layout->strides[axis] != 1;
      const i64 longest = longest_in_network(network_row_bytes / lanes, apart);
      pay &= inner * longest >= n * padded(inner) * (apart ? 1 : 3);
    }
    in_next = plan.stride[0].back() * itemsize(in.dtype);
    out_next = plan.stride[1].back() * itemsize(out.dtype);
  }

  // So many lines and what fills up the last of their groups.
  i64 padded(i64 inner) const { return (inner + lanes - 1) / lanes * lanes; }

  // body(p, q, count, scratch) for at most `lanes` lines that are neighbours, from p to q. Lanes
  // without a line are zero or those of others.
  using Body = FunctionRef<void(const char*, char*, i64, char*)>;
  void run(const Operand& in, const Operand& out, const Body& body) const {
    const i64 in_size = itemsize(in.dtype), out_size = itemsize(out.dtype);
    const i64 inner = plan.size.back(), per_row = padded(inner) / lanes;
    const i64 groups = plan.count() / inner * per_row;
    const i64 per_chunk = std::max<i64>(1, chunk_elements * 8 / std::max(block_bytes, i64{1024}));
    const i64 work = 4 * out.layout->size * std::max(in_size, out_size);
    parallel_for((groups + per_chunk - 1) / per_chunk, work, [&](i64 chunk) {
      Scratch scratch;
      char* block = scratch.take<char>(4 * block_bytes + 64);
      block += -reinterpret_cast<std::uintptr_t>(block) & 63;
      std::memset(block, 0, 4 * block_bytes);
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
inline constexpr bool has_network = !is_complex_type<T> && !std::is_same_v<T, bool>;

bool are_short_lines(const Operand& in, int axis, i64 lanes) {
  const i64 n = in.layout->shape[axis];
  const bool apart = in.layout->strides[axis] != 1;
  return n >= 2 && n <= longest_in_network(network_row_bytes / lanes, apart) &&
         in.layout->size >= 2 * n;
}

// False where lines are not short, or so few that they are sorted sooner one by one.
template <class T>
bool sort_short_lines(const Operand& in, int axis, bool descending, const Operand& out) {
  using K = Key<T>;
  constexpr i64 size = sizeof(T), lanes = network_row_bytes / size;
  if (!are_short_lines(in, axis, lanes)) return false;
  const i64 n = in.layout->shape[axis];
  const ShortLines lines(in, axis, out, lanes);
  if (!lines.pay) return false;
  const CopyKernel copy_items = kernels().copy[item_class(size)];
  const NetworkKernel network = kernels().network[item_class(size)];
  lines.run(in, out, [&](const char* p, char* q, i64 count, char* block) {
    copy_items(p, {lines.in_step, lines.in_next}, block, {network_row_bytes, size}, n, count);
    K* keys = reinterpret_cast<K*>(block);
    const unsigned flags = keys_of<T>(block, keys, n * lanes, descending);
    if (flags & (has_nan | has_negative_zero)) {  // keys do not give these back in their order
      char* line = block + lines.block_bytes;
      char* sorted = line + n * size;
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
    values_of<T>(keys, block, n * lanes, descending);
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
  const ShortLines lines(in, axis, out, lanes);
  if (!lines.pay) return false;
  const CopyKernel copy_in = kernels().copy[item_class(size)], copy_out = kernels().copy[3];
  constexpr bool pairs = size == 8;
  const NetworkKernel network = pairs ? kernels().pair_network : kernels().network[3];
  lines.run(in, out, [&](const char* p, char* q, i64 count, char* block) {
    u64* items = reinterpret_cast<u64*>(block);
    u64* positions = items + (pairs ? n * lanes : 0);
    char* values = block + 2 * lines.block_bytes;
    copy_in(p, {lines.in_step, lines.in_next}, values, {lanes * size, size}, n, count);
    if constexpr (pairs) {
      keys_of<T>(values, items, n * lanes, descending);
      for (i64 i = 0; i < n * lanes; ++i) positions[i] = static_cast<u64>(i / lanes);
    } else {
      K* keys = reinterpret_cast<K*>(values);
      keys_of<T>(values, keys, n * lanes, descending);
      for (i64 i = 0; i < n * lanes; ++i)
        items[i] = u64{keys[i]} << 32 | static_cast<u64>(i / lanes);
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

// Whether a stands before b in sorted order, where neither is NaN.
template <class T>
bool before(T a, T b) {
  if constexpr (is_complex_type<T>) {
    return (a.real() < b.real()) | ((a.real() == b.real()) & (a.imag() < b.imag()));
  } else {
    return a < b;
  }
}

// Whether a does not stand after b, and neither is NaN; an imaginary part may be, if that of the
// other is not what decides.
template <class T>
bool not_after(T a, T b) {
  if constexpr (is_complex_type<T>) {
    return (a.real() < b.real()) | ((a.real() == b.real()) & (a.imag() <= b.imag()));
  } else {
    return a <= b;
  }
}

// Whether a stands before b where one of them is NaN.
template <class T>
bool before_nan(T a, T b) {
  if constexpr (is_complex_type<T>) {
    const int class_a = nan_class(a), class_b = nan_class(b);
    if (class_a != class_b) return class_a < class_b;
    // Equal NaN parts compare false both ways, which leaves the other part to decide.
    if (a.real() < b.real()) return true;
    if (b.real() < a.real()) return false;
    return a.imag() < b.imag();
  } else {
    return a == a;
  }
}

// Whether the place of a value is behind an element of the sorted ones.
template <bool right, class T>
bool goes_on(T element, T value) {
  return right ? !before(value, element) : before(element, value);
}

// For each of a few values the number of the n ≥ 1 sorted elements that stand before it (or, if
// right, not after it). They are sought side by side, since each step of one waits for memory, with
// all that a step needs in registers.
template <bool right, int together, class T>
void search_together(const T* sorted, i64 n, const T* values, i64* out) {
  T value[together];
  const T* base[together];
  ARRAYX_UNROLL
  for (int k = 0; k < together; ++k) {
    value[k] = values[k];
    base[k] = sorted;
  }
  for (i64 length = n; length > 1;) {
    const i64 half = length / 2;
    ARRAYX_UNROLL
    for (int k = 0; k < together; ++k) {
      const T* const next = base[k] + half;
      const bool above = goes_on<right>(next[-1], value[k]);
      // No branch foresees which half it is; of two comparisons compilers make some.
      if constexpr (is_complex_type<T>) {
        base[k] += half & -i64{above};
      } else {
        base[k] = above ? next : base[k];
      }
    }
    length -= half;
  }
  ARRAYX_UNROLL
  for (int k = 0; k < together; ++k) out[k] = base[k] - sorted + goes_on<right>(*base[k], value[k]);
}

// The same for many, and for any n.
template <bool right, class T>
void search_several(const T* sorted, i64 n, const T* values, i64* out, i64 count) {
  if (n == 0) {
    std::fill_n(out, count, 0);
    return;
  }
  i64 k = 0;
  for (; k + 16 <= count; k += 16) search_together<right, 16>(sorted, n, values + k, out + k);
  for (; k + 4 <= count; k += 4) search_together<right, 4>(sorted, n, values + k, out + k);
  for (; k < count; ++k) search_together<right, 1>(sorted, n, values + k, out + k);
}

// The same. Values in order are sought from where the last one was found to where the last of them
// cannot be beyond, which is found by steps that grow.
template <bool right, class T>
void search_block(const T* sorted, i64 n, const T* values, i64* out, i64 count) {
  constexpr i64 together = 64;
  i64 reached = 0;
  bool follows = false;
  for (; count > 0; count -= together, values += together, out += together) {
    const i64 m = std::min(together, count);
    bool ascending = m > 8;
    for (i64 i = follows ? -1 : 0; i + 1 < m; ++i) {
      ascending &= not_after(values[i], values[i + 1]);
    }
    i64 low = 0, high = n;
    if (ascending) {
      if (follows) {
        low = reached;
      } else {
        search_several<right>(sorted, n, values, &low, 1);
      }
      i64 step = 4;
      while (low + step < n && goes_on<right>(sorted[low + step], values[m - 1])) step *= 2;
      high = std::min(n, low + step);
    }
    search_several<right>(sorted + low, high - low, values, out, m);
    for (i64 i = 0; i < m; ++i) out[i] += low;
    reached = out[m - 1];
    follows = ascending;
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
    holder = new_array(Layout::contiguous(a.layout->shape), a.dtype);
    if (a.layout->size > 0) copy(a, holder);
    return static_cast<const char*>(holder.data());
  };
  Array sorted_holder, sorter_holder, values_holder;
  const char* sorted = made_contiguous(in, sorted_holder);
  const i64 count = values.layout->size;
  if (sorter) {
    const i64* order = reinterpret_cast<const i64*>(made_contiguous(*sorter, sorter_holder));
    const Array ordered = new_array(Layout::contiguous({n}), in.dtype);
    const i64 size = itemsize(in.dtype);
    char* to = ordered.data();
    std::atomic<bool> bad{false};
    over_pieces(n, true, int(size) + 8, [&](i64 first, i64 last) {
      for (i64 i = first; i < last; ++i) {
        const i64 at = order[i];
        if (at < 0 || at >= n) {
          bad.store(true, std::memory_order_relaxed);
          return;
        }
        std::memcpy(to + i * size, sorted + at * size, size);
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
    out_holder = new_array(Layout::contiguous(out.layout->shape), DType::int64);
    places = out_holder.data_as<i64>();
  }
  dispatch(in.dtype, [&](auto example) {
    using T = decltype(example);
    using U = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    const U* elements = reinterpret_cast<const U*>(sorted);
    const U* queries = reinterpret_cast<const U*>(wanted);
    i64 numbers = n;
    constexpr bool has_nan = std::is_floating_point_v<U> || is_complex_type<U>;
    if constexpr (has_nan) {
      // NaN stand last: the search is among the numbers.
      numbers =
          std::partition_point(elements, elements + n, [](U x) { return !is_nan(x); }) - elements;
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
      if constexpr (has_nan) {
        for (i64 i = first; i < first + m; ++i) {
          const U x = queries[i];
          if (!is_nan(x)) continue;
          const U* const place = std::partition_point(
              elements + numbers, elements + n,
              [&](U element) { return right ? !before_nan(x, element) : before_nan(element, x); });
          places[i] = place - elements;
        }
      }
    });
  });
  if (out_holder.storage) copy(out_holder, out);
  return true;
}

}  // namespace arrayx::cpu
