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

  // A block of exactly `bytes`; null when there is none even with the cache emptied.
  void* take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = by_size_.lower_bound(bytes);
      if (found != by_size_.end() && found->first == bytes) {
        void* block = found->second->data;
        cached_ -= static_cast<std::int64_t>(bytes);
        by_age_.erase(found->second);
        by_size_.erase(found);
        return block;
      }
    }
    void* block = source_.fresh(bytes);
    if (!block) {
      shrink(0);
      block = source_.fresh(bytes);
    }
    return block;
  }

  void give(void* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(bytes) > limit_) {
      source_.release(block, bytes);
      return;
    }
    evict(limit_ - static_cast<std::int64_t>(bytes));
    try {
      by_age_.push_front({block, bytes});
      by_size_.emplace(bytes, by_age_.begin());
      cached_ += static_cast<std::int64_t>(bytes);
    } catch (const std::bad_alloc&) {  // no room for the bookkeeping: do without
      if (!by_age_.empty() && by_age_.front().data == block) by_age_.pop_front();
      source_.release(block, bytes);
    }
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
    void* data;
    std::size_t bytes;
  };

  // Frees the blocks unused for longest until at most `bytes` are kept. The mutex is held.
  void evict(std::int64_t bytes) {
    while (cached_ > bytes && !by_age_.empty()) {
      const auto last = std::prev(by_age_.end());
      for (auto [it, end] = by_size_.equal_range(last->bytes); it != end; ++it) {
        if (it->second == last) {
          by_size_.erase(it);
          break;
        }
      }
      cached_ -= static_cast<std::int64_t>(last->bytes);
      source_.release(last->data, last->bytes);
      by_age_.pop_back();
    }
  }

  Source source_;
  Mutex mutex_;
  std::list<Block> by_age_;  // most recently freed first
  std::multimap<std::size_t, typename std::list<Block>::iterator> by_size_;
  std::int64_t cached_ = 0, limit_ = 0;
};

}  // namespace arrayx
