// BlockCache: blocks of memory that were freed, kept for the next request of their size. What is
// kept is bounded; the blocks unused for longest go first. It serves the host's memory and a
// device's: `Source` has fresh(bytes), null when there is no memory, and release(block, bytes).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace arrayx {

// Sizes are rounded up to an eighth of their power of two (at most 12.5 % more), so that a loop
// over nearly equal sizes uses one block again and again.
inline std::size_t rounded_block(std::size_t bytes, std::size_t smallest_step) {
  const std::size_t power = std::size_t{1} << (63 - __builtin_clzll(bytes));
  const std::size_t step = std::max(power / 8, smallest_step);
  return (bytes + step - 1) / step * step;
}

template <class Source, class Mutex>
class BlockCache {
 public:
  BlockCache(Source source, std::int64_t limit) : source_(std::move(source)), limit_(limit) {}

  // A block of exactly `bytes`, and whether it comes from the source; null when there is none even
  // with the cache emptied.
  std::pair<void*, bool> take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = by_size_.find(bytes);
      if (found != by_size_.end() && !found->second.empty()) {
        const Place newest = found->second.back();
        found->second.pop_back();
        cached_ -= static_cast<std::int64_t>(bytes);
        unused_.splice(unused_.begin(), by_age_, newest);
        return {newest->data, false};
      }
    }
    void* block = source_.fresh(bytes);
    if (!block) {
      shrink(0);
      block = source_.fresh(bytes);
    }
    return {block, true};
  }

  void give(void* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(bytes) > limit_) {
      source_.release(block, bytes);
      return;
    }
    evict(limit_ - static_cast<std::int64_t>(bytes));
    try {
      if (unused_.empty()) unused_.emplace_back();
      by_size_[bytes].push_back(unused_.begin());
    } catch (const std::bad_alloc&) {  // no room for the bookkeeping: do without
      source_.release(block, bytes);
      return;
    }
    unused_.front() = {block, bytes};
    by_age_.splice(by_age_.begin(), unused_, unused_.begin());
    cached_ += static_cast<std::int64_t>(bytes);
  }

  void shrink(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    evict(bytes);
  }
  void set_limit(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    evict(bytes);
  }
  std::int64_t cached() {
    const std::lock_guard lock(mutex_);
    return cached_;
  }
  std::int64_t limit() {
    const std::lock_guard lock(mutex_);
    return limit_;
  }

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  using Place = typename std::list<Block>::iterator;

  // Frees the blocks unused for longest until at most `bytes` are kept. The mutex is held.
  void evict(std::int64_t bytes) {
    while (cached_ > bytes && !by_age_.empty()) {
      const Place last = std::prev(by_age_.end());
      std::vector<Place>& same = by_size_.find(last->bytes)->second;
      same.erase(same.begin());
      cached_ -= static_cast<std::int64_t>(last->bytes);
      source_.release(last->data, last->bytes);
      by_age_.pop_back();
    }
  }

  Source source_;
  Mutex mutex_;
  std::list<Block> by_age_;                            // most recently freed first
  std::map<std::size_t, std::vector<Place>> by_size_;  // of each size the most recent last
  std::list<Block> unused_;  // entries of blocks that were taken, for those to come
  std::int64_t cached_ = 0, limit_ = 0;
};

}  // namespace arrayx
