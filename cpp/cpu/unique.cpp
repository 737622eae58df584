// Distinct elements, where they are few: each is looked up in a table of those that came before,
// which is faster than a sort. Each thread has a table of its own; they are put together in order.
#include <cmath>
#include <vector>

#include "../backend.hpp"
#include "engine.hpp"
#include "keys.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

constexpr i64 fewest_elements = 2048;      // fewer are sorted as fast
constexpr i64 most_values = i64{1} << 14;  // so many fit an L2
constexpr i64 elements_per_value = 8;
constexpr i64 together = 512;               // elements whose keys are made at once
constexpr u64 golden = 0x9E3779B97F4A7C15;  // its product's highest bits depend on all of a key's

// Values in the order in which they came, by their keys.
template <class T>
class Table {
 public:
  using K = Key<T>;

  // Takes the n elements at `in`, of which the first is the `place`-th, and counts them, lists
  // their entries, both or neither. False where there are more than `most` values, or keys that
  // fall together.
  template <bool Counts, bool Entries>
  bool add(const char* in, i64 n, i64 place, i64 most, i64* entries) {
    K keys[together];
    for (i64 first = 0; first < n; first += together) {
      const i64 count = std::min(together, n - first);
      keys_of<T>(in + first * i64(sizeof(T)), keys, count, false);
      for (i64 i = 0; i < count; ++i) {
        const u32 entry = find_or_add(keys[i], place + first + i);
        if constexpr (Counts) ++counts_[entry];
        if constexpr (Entries) entries[first + i] = entry;
      }
      if (size() > most || falls_together_) return false;
    }
    return true;
  }

  // Adds those of a table of elements that come later; where each of them is here to `entries`.
  bool add(const Table& other, i64 most, i64* entries) {
    for (i64 i = 0; i < other.size(); ++i) {
      const u32 entry = find_or_add(other.keys_[i], other.places_[i]);
      counts_[entry] += other.counts_[i];
      entries[i] = entry;
      if (size() > most || falls_together_) return false;
    }
    return true;
  }

  i64 size() const { return static_cast<i64>(keys_.size()); }
  const K* keys() const { return keys_.data(); }
  i64 place(i64 entry) const { return places_[entry]; }
  i64 count(i64 entry) const { return counts_[entry]; }

 private:
  static constexpr int longest_way = 64;  // slots between a key's own and the one it got

  std::size_t slot_of(K key) const { return static_cast<std::size_t>(u64{key} * golden >> shift_); }
  std::size_t after(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  u32 find_or_add(K key, i64 place) {
    std::size_t slot = slot_of(key);
    while (slots_[slot].entry != none && slots_[slot].key != key) slot = after(slot);
    const u32 entry = slots_[slot].entry;
    return entry != none ? entry : append(key, place);
  }

  [[gnu::noinline]] u32 append(K key, i64 place) {
    const u32 entry = static_cast<u32>(keys_.size());
    keys_.push_back(key);
    places_.push_back(place);
    counts_.push_back(0);
    // Each NaN is a value of its own.
    if (is_real_type<T> && key == K(~K(0))) return entry;
    // Fuller, many a key lies beyond its own slot, and which do cannot be guessed.
    if (4 * keys_.size() > slots_.size()) {
      slots_.assign(4 * slots_.size(), Slot{});
      shift_ -= 2;
      for (u32 e = 0; e < entry; ++e) {
        if (!is_real_type<T> || keys_[e] != K(~K(0))) put(keys_[e], e);
      }
    }
    put(key, entry);
    return entry;
  }
  void put(K key, u32 entry) {
    std::size_t slot = slot_of(key);
    int way = 0;
    for (; slots_[slot].entry != none; ++way) slot = after(slot);
    slots_[slot] = {key, entry};
    falls_together_ |= way > longest_way;
  }

  static constexpr u32 none = ~u32{0};
  struct Slot {
    K key = 0;
    u32 entry = none;
  };
  int shift_ = 64 - 11;
  bool falls_together_ = false;
  std::vector<Slot> slots_ = std::vector<Slot>(std::size_t{1} << 11);
  std::vector<K> keys_;
  std::vector<i64> places_, counts_;  // where each stands first, how often it came
};

// Whether some elements from all over x have as many values as they would of at most `most`.
template <class T>
bool seems_few(const char* in, i64 n, i64 most) {
  constexpr i64 looked_at = 256, size = sizeof(T), slots = 4 * looked_at;
  alignas(64) char some[looked_at * size];
  for (i64 i = 0; i < looked_at; ++i) {
    std::memcpy(some + i * size, in + n / looked_at * i * size, size);
  }
  Key<T> keys[looked_at];
  keys_of<T>(some, keys, looked_at, false);
  std::uint16_t last[slots] = {};  // in each slot the last element that fell there, and one more
  i64 repeated = 0;
  for (i64 i = 0; i < looked_at; ++i) {
    std::uint16_t& slot = last[u64{keys[i]} * golden >> 54];
    repeated += slot != 0 && keys[slot - 1] == keys[i];
    slot = static_cast<std::uint16_t>(i + 1);
  }
  const double of = static_cast<double>(most), values = static_cast<double>(looked_at - repeated);
  return values <= -of * std::expm1(-looked_at / of);
}

Array made(DType dtype, i64 n) {
  return new_array(Layout::contiguous({n}), dtype);
}

template <class T>
bool unique_of(const Array& x, bool indices, bool inverse, bool counts, Unique& out) {
  const i64 n = x.size(), most = std::min(most_values, n / elements_per_value);
  const char* const in = x.data();
  // Bytes are counted faster.
  if (n < fewest_elements || (sizeof(T) == 1 && !indices && !inverse)) return false;
  if (!seems_few<T>(in, n, most)) return false;
  constexpr i64 part_elements = i64{1} << 16;
  const i64 parts = std::clamp<i64>(n / part_elements, 1, thread_count());
  const auto first_of = [&](i64 part) { return n / parts * part + std::min(part, n % parts); };
  const Array places = inverse ? made(DType::int64, n) : Array();
  i64* const entries = inverse ? places.data_as<i64>() : nullptr;
  std::vector<Table<T>> tables(parts);
  std::vector<char> done(parts);
  parallel_for(
      parts, n * 16,
      [&](i64 part) {
        const i64 first = first_of(part);
        const i64 count = first_of(part + 1) - first;
        const char* const from = in + first * i64(sizeof(T));
        Table<T>& table = tables[part];
        done[part] =
            inverse && counts
                ? table.template add<true, true>(from, count, first, most, entries + first)
            : inverse ? table.template add<false, true>(from, count, first, most, entries + first)
            : counts  ? table.template add<true, false>(from, count, first, most, nullptr)
                      : table.template add<false, false>(from, count, first, most, nullptr);
      },
      true);
  for (const char of_part : done) {
    if (!of_part) return false;
  }
  Table<T>& all = tables[0];
  std::vector<std::vector<i64>> entry_in_all(parts);
  for (i64 part = 1; part < parts; ++part) {
    entry_in_all[part].resize(tables[part].size());
    if (!all.add(tables[part], most, entry_in_all[part].data())) return false;
  }
  // In order; each NaN where it came.
  const i64 found = all.size();
  constexpr DType key_dtype = dtype_of<Key<T>>;
  const Array keys = made(key_dtype, found), order = made(DType::int64, found);
  std::memcpy(keys.data(), all.keys(), keys.nbytes());
  argsort(keys, 0, false, order);
  const i64* const entry_at = order.data_as<i64>();
  out.values = made(x.dtype, found);
  if (indices) out.indices = made(DType::int64, found);
  if (counts) out.counts = made(DType::int64, found);
  std::vector<i64> rank(inverse ? found : 0);
  for (i64 r = 0; r < found; ++r) {
    const i64 entry = entry_at[r], place = all.place(entry);
    std::memcpy(out.values.data() + r * i64(sizeof(T)), in + place * i64(sizeof(T)), sizeof(T));
    if (indices) out.indices.data_as<i64>()[r] = place;
    if (counts) out.counts.data_as<i64>()[r] = all.count(entry);
    if (inverse) rank[entry] = r;
  }
  if (!inverse) return true;
  out.inverse = places;
  for (std::vector<i64>& entry : entry_in_all) {
    for (i64& e : entry) e = rank[e];
  }
  entry_in_all[0] = std::move(rank);
  parallel_for(parts, n * 16, [&](i64 part) {
    const i64* const place = entry_in_all[part].data();
    for (i64 i = first_of(part); i < first_of(part + 1); ++i) entries[i] = place[entries[i]];
  });
  return true;
}

}  // namespace

bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out) {
  return dispatch(x.dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (is_complex_type<T>) {
      return false;
    } else {
      return unique_of<T>(x, indices, inverse, counts, out);
    }
  });
}

}  // namespace arrayx::cpu
