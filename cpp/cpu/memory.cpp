// Host memory. Fresh pages cost more than the arithmetic on them, so freed blocks are kept and used
// again: small ones on free lists of the thread, with the Storage in front of the data; large ones
// in a bounded cache, aligned to huge pages.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "engine.hpp"
#include "fork.hpp"

namespace arrayx::cpu {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t cached_from = std::size_t{1} << 16;  // bytes; smaller blocks go to free lists

std::atomic<std::int64_t> in_use{0};  // apart from the threads' own counts

[[noreturn]] void out_of_memory(std::int64_t bytes) {
  raise(ErrorKind::memory, "no room for an array of ", bytes, " bytes");
}

// ---- small blocks: [Storage, padded to 64 bytes][data]
// -------------------------------------------

constexpr std::size_t header = (sizeof(Storage) + alignment - 1) / alignment * alignment;
constexpr int small_classes = 17;   // data of up to 64 << c bytes … 64 KiB by powers of two
constexpr int kept_per_class = 64;  // blocks; fewer of the larger classes, see capacity_of

constexpr int capacity_of(int c) {
  return c <= 6 ? kept_per_class : kept_per_class >> (c - 6);
}

// What a thread keeps: its free blocks, and its part of the bytes in use, which may be negative
// since blocks are freed by any thread. Only the thread itself writes it, so that no instruction
// needs a lock; on the heap, because a forked child reuses the stacks of threads that it does not
// have.
struct ThreadBlocks {
  void* head[small_classes] = {};
  int count[small_classes] = {};
  std::atomic<std::int64_t> bytes_in_use{0};
  std::list<ThreadBlocks*>::iterator place;

  void add(std::int64_t bytes) {
    bytes_in_use.store(bytes_in_use.load(std::memory_order_relaxed) + bytes,
                       std::memory_order_relaxed);
  }
};

// Never destroyed: arrays may be freed while the process exits.
struct Threads {
  ForkMutex mutex{3};
  std::list<ThreadBlocks*> all;
};
Threads& threads() {
  static auto* instance = new Threads;
  return *instance;
}

constinit thread_local ThreadBlocks* blocks_of_thread = nullptr;
// Set when the thread ends: blocks freed after that go straight back.
constinit thread_local bool thread_ends = false;

struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    thread_ends = true;
    ThreadBlocks* blocks = std::exchange(blocks_of_thread, nullptr);
    if (!blocks) return;
    for (void* block : blocks->head) {
      while (block) {
        void* next = *static_cast<void**>(block);
        std::free(block);
        block = next;
      }
    }
    in_use.fetch_add(blocks->bytes_in_use.load(std::memory_order_relaxed),
                     std::memory_order_relaxed);
    {
      const std::lock_guard lock(threads().mutex);
      threads().all.erase(blocks->place);
    }
    delete blocks;
  }
};
thread_local AtThreadEnd at_thread_end;

// Null when there is no memory for it or the thread ends.
[[gnu::noinline]] ThreadBlocks* first_use() {
  if (thread_ends) return nullptr;
  auto* blocks = new (std::nothrow) ThreadBlocks;
  if (!blocks) return nullptr;
  try {
    const std::lock_guard lock(threads().mutex);
    blocks->place = threads().all.insert(threads().all.end(), blocks);
  } catch (const std::bad_alloc&) {
    delete blocks;
    return nullptr;
  }
  at_thread_end.armed = true;  // what is touched is destroyed
  return blocks_of_thread = blocks;
}
inline ThreadBlocks* thread_blocks() {
  ThreadBlocks* blocks = blocks_of_thread;
  return blocks ? blocks : first_use();
}

int small_class(std::size_t bytes) {
  if (bytes <= 64) return 0;
  return 64 - __builtin_clzll(bytes - 1) - 6;
}

void count_in_use(ThreadBlocks* blocks, std::int64_t bytes) {
  if (blocks) {
    blocks->add(bytes);
  } else {
    in_use.fetch_add(bytes, std::memory_order_relaxed);
  }
}

void free_small(Storage* s) {
  const int c = small_class(s->bytes);
  ThreadBlocks* blocks = thread_blocks();
  count_in_use(blocks, -static_cast<std::int64_t>(s->bytes));
  if (blocks && blocks->count[c] < capacity_of(c)) {
    *reinterpret_cast<void**>(s) = blocks->head[c];
    blocks->head[c] = s;
    ++blocks->count[c];
  } else {
    std::free(s);
  }
}

Storage* allocate_small(std::size_t bytes) {
  const int c = small_class(bytes);
  ThreadBlocks* blocks = thread_blocks();
  void* block = blocks ? blocks->head[c] : nullptr;
  if (block) {
    blocks->head[c] = *static_cast<void**>(block);
    --blocks->count[c];
  } else {
    block = std::aligned_alloc(alignment, header + (std::size_t{64} << c));
    if (!block) return nullptr;
  }
  auto* s = new (block) Storage;
  s->data = static_cast<char*>(block) + header;
  s->bytes = bytes;
  s->deleter = &free_small;
  count_in_use(blocks, static_cast<std::int64_t>(bytes));
  return s;
}

// ---- large blocks
// --------------------------------------------------------------------------------

// Sizes are rounded up to an eighth of their power of two (at most 12.5 % more), so that a loop
// over nearly equal sizes uses one block again and again.
std::size_t rounded(std::size_t bytes) {
  const std::size_t power = std::size_t{1} << (63 - __builtin_clzll(bytes));
  const std::size_t step = std::max<std::size_t>(power / 8, 4096);
  return (bytes + step - 1) / step * step;
}

class BlockCache {
 public:
  BlockCache() {
    // By default an eighth of the machine's memory, at least 64 MiB.
    const std::int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    limit_ = std::max<std::int64_t>(pages > 0 && page > 0 ? pages / 8 * page : 0, 64 << 20);
  }

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
    void* block = fresh(bytes);
    if (!block) {
      shrink(0);
      block = fresh(bytes);
    }
    return block;
  }

  void give(void* block, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(bytes) > limit_) {
      std::free(block);
      return;
    }
    evict(limit_ - static_cast<std::int64_t>(bytes));
    try {
      by_age_.push_front({block, bytes});
      by_size_.emplace(bytes, by_age_.begin());
      cached_ += static_cast<std::int64_t>(bytes);
    } catch (const std::bad_alloc&) {  // no room for the bookkeeping: do without
      if (!by_age_.empty() && by_age_.front().data == block) by_age_.pop_front();
      std::free(block);
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

  static void* fresh(std::size_t bytes) {
    const bool huge = bytes >= 2 * huge_page;
    void* block = nullptr;
    if (posix_memalign(&block, huge ? huge_page : alignment, bytes) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
    if (huge) madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
  }

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
      std::free(last->data);
      by_age_.pop_back();
    }
  }

  ForkMutex mutex_{2};
  std::list<Block> by_age_;  // most recently freed first
  std::multimap<std::size_t, std::list<Block>::iterator> by_size_;
  std::int64_t cached_ = 0, limit_ = 0;
};

// Never destroyed: arrays may be freed while the process exits.
BlockCache& cache() {
  static auto* instance = new BlockCache;
  return *instance;
}

void free_large(Storage* s) {
  in_use.fetch_sub(static_cast<std::int64_t>(s->bytes), std::memory_order_relaxed);
  cache().give(s->data, s->bytes);
  delete s;
}

}  // namespace

StorageRef allocate(std::int64_t bytes) {
  if (bytes > (std::int64_t{1} << 62)) out_of_memory(bytes);
  const auto size = static_cast<std::size_t>(bytes);
  if (size <= cached_from) {
    Storage* s = allocate_small(size);
    if (!s) {
      cache().shrink(0);
      s = allocate_small(size);
      if (!s) out_of_memory(bytes);
    }
    return StorageRef(s);
  }
  const std::size_t block = rounded(size);
  void* data = cache().take(block);
  if (!data) out_of_memory(bytes);
  auto* s = new (std::nothrow) Storage;
  if (!s) {
    cache().give(data, block);
    out_of_memory(bytes);
  }
  s->data = data;
  s->bytes = block;
  s->deleter = &free_large;
  in_use.fetch_add(static_cast<std::int64_t>(block), std::memory_order_relaxed);
  return StorageRef(s);
}

MemoryInfo memory_info() {
  std::int64_t bytes = in_use.load(std::memory_order_relaxed);
  {
    const std::lock_guard lock(threads().mutex);
    for (const ThreadBlocks* blocks : threads().all) {
      bytes += blocks->bytes_in_use.load(std::memory_order_relaxed);
    }
  }
  return {bytes, cache().cached(), cache().limit()};
}
void set_cache_limit(std::int64_t bytes) {
  cache().set_limit(bytes);
}
void empty_cache() {
  cache().shrink(0);
}

}  // namespace arrayx::cpu
