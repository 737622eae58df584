// Host memory. Fresh pages cost more than the arithmetic on them, so freed blocks are kept and used
// again: small ones on free lists of the thread, with the Storage in front of the data; large ones
// in a bounded cache, aligned to huge pages.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "../block_cache.hpp"
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

struct Threads {
  ForkMutex mutex{3};
  std::list<ThreadBlocks*> all;
};
constinit MadeOnce<Threads> all_threads;
Threads& threads() {
  return all_threads.get();
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

// Blocks from this size on are pages of their own, which are zero until they are written to, and
// take no memory before.
constexpr std::size_t mapped_from = std::size_t{1} << 25;

struct HostPages {
  static void* fresh(std::size_t bytes) {
    if (bytes >= mapped_from) return map(bytes);
    const bool huge = bytes >= 2 * huge_page;
    void* block = nullptr;
    if (posix_memalign(&block, huge ? huge_page : alignment, bytes) != 0) return nullptr;
#if defined(MADV_HUGEPAGE)
    if (huge) madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
  }
  static void release(void* block, std::size_t bytes) {
    if (bytes >= mapped_from) {
      munmap(block, bytes);
    } else {
      std::free(block);
    }
  }

 private:
  // Aligned to huge pages, for which more is mapped and the ends are given back.
  static void* map(std::size_t bytes) {
    const std::size_t all = bytes + huge_page;
    void* const mapped =
        mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(mapped) % huge_page;
    char* const block = static_cast<char*>(mapped) + before;
    if (before > 0) munmap(mapped, before);
    if (before < huge_page) munmap(block + bytes, huge_page - before);
#if defined(MADV_HUGEPAGE)
    madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
  }
};

// Whether the system makes huge pages, which it clears faster than the same bytes are written to.
bool has_huge_pages() {
  static constinit MadeOnce<const bool> found;
  return found.get([] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
    std::string modes;
    return std::getline(file, modes) && modes.find("[never]") == std::string::npos;
  });
}

// The pages of a mapped block that was used are given back, so that they are zero when they are
// touched again. False where clearing them is cheaper.
bool renew_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  return has_huge_pages() && madvise(block, bytes, MADV_DONTNEED) == 0;
#else
  return false;
#endif
}

struct CacheMutex : ForkMutex {
  CacheMutex() : ForkMutex(2) {}
};

// By default an eighth of the machine's memory, at least 64 MiB.
std::int64_t default_limit() {
  const std::int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(pages > 0 && page > 0 ? pages / 8 * page : 0, 64 << 20);
}

using PageCache = BlockCache<HostPages, CacheMutex>;
constinit MadeOnce<PageCache> pages;
PageCache& cache() {
  return pages.get([] { return PageCache({}, default_limit()); });
}

void free_large(Storage* s) {
  in_use.fetch_sub(static_cast<std::int64_t>(s->bytes), std::memory_order_relaxed);
  cache().give(s->data, s->bytes);
  delete s;
}

}  // namespace

StorageRef allocate(std::int64_t bytes, bool for_zeros) {
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
  const std::size_t block = rounded_block(size, 4096);
  const auto [data, fresh] = cache().take(block);
  if (!data) out_of_memory(bytes);
  auto* s = new (std::nothrow) Storage;
  if (!s) {
    cache().give(data, block);
    out_of_memory(bytes);
  }
  s->data = data;
  s->bytes = block;
  s->zeroed = block >= mapped_from && (fresh || (for_zeros && renew_pages(data, block)));
  s->deleter = &free_large;
  in_use.fetch_add(static_cast<std::int64_t>(block), std::memory_order_relaxed);
  return StorageRef(s);
}

Array new_array(const Layout& layout, DType dtype) {
  return {allocate(checked_bytes(layout.size, itemsize(dtype))), layout, dtype};
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
