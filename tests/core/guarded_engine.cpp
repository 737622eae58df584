// An engine of two CUDA devices that need no GPU, for tests: their memory is the host's, but may be
// touched inside the verbs that copy only, so that whatever reads or writes an array behind the
// engine's back ends the process. Built as a library, which ARRAYX_CUDA_LIBRARY names.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "block_cache.hpp"
#include "host_fallback.hpp"

namespace arrayx {

namespace {

constexpr int device_count = 2;
constexpr std::size_t capacity = std::size_t{1} << 40;  // bytes of a block

const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

// Memory that nobody may touch yet.
struct ClosedPages {
  static void* fresh(std::size_t bytes) {
    if (bytes > capacity) return nullptr;
    void* memory =
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  static void release(void* memory, std::size_t bytes) { munmap(memory, bytes); }
};

// Opens pages for a scope. Copies of several threads may share pages, so one goes at a time.
class Opened {
 public:
  Opened(const void* memory, std::size_t bytes) : lock_(mutex()) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t start = address / page * page;
    start_ = reinterpret_cast<void*>(start);
    bytes_ = (address + bytes + page - 1) / page * page - start;
    protect(PROT_READ | PROT_WRITE);
  }
  ~Opened() { protect(PROT_NONE); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  static std::mutex& mutex() {
    static auto* instance = new std::mutex;
    return *instance;
  }
  void protect(int access) {
    if (mprotect(start_, bytes_, access) != 0) std::abort();
  }

  std::lock_guard<std::mutex> lock_;
  void* start_;
  std::size_t bytes_;
};

class GuardedEngine final : public HostFallback {
 public:
  GuardedEngine(int index, Backend& host) : HostFallback(host), index_(index) {}

  Device device() const override { return {DeviceType::cuda, index_}; }
  std::string description() const override { return "a stand-in for a GPU, for tests"; }

  StorageRef allocate(std::int64_t bytes) override {
    const auto no_room = [bytes] {
      raise(ErrorKind::memory, "no room for an array of ", bytes, " bytes");
    };
    const std::size_t size =
        rounded_block(std::max<std::size_t>(static_cast<std::size_t>(bytes), 1), page);
    void* memory = cache_.take(size).first;
    if (!memory) no_room();
    auto* storage = new Storage;
    storage->data = memory;
    storage->bytes = size;
    storage->device = device();
    storage->context = this;
    storage->deleter = [](Storage* s) {
      static_cast<GuardedEngine*>(s->context)->take_back(s);
      delete s;
    };
    const std::lock_guard lock(mutex_);
    blocks_.emplace(static_cast<const char*>(memory), Block{size});
    in_use_ += size;
    return StorageRef(storage);
  }
  MemoryInfo memory_info() override {
    const std::lock_guard lock(mutex_);
    return {static_cast<std::int64_t>(in_use_), cache_.cached(), cache_.limit()};
  }
  void set_cache_limit(std::int64_t bytes) override { cache_.set_limit(bytes); }
  void empty_cache() override { cache_.shrink(0); }
  void synchronize() override {}
  bool share_with_host(Storage& s) override {
    if (is_shared(s.data)) return true;
    if (s.lent) return false;
    void* both = mmap(nullptr, s.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) return false;
    download(s.data, both, s.bytes);
    take_back(&s);
    s.data = both;
    const std::lock_guard lock(mutex_);
    blocks_.emplace(static_cast<const char*>(both), Block{s.bytes, true});
    in_use_ += s.bytes;
    return true;
  }
  bool owns(const void* address) override { return block_of(address).bytes != 0; }
  // The transformed dimensions last, as the CUDA engine has them.
  Dims fft_order(DType, DType, const Dims& lengths, std::span<const int> axes) override {
    Dims order;
    for (const bool transformed : {false, true}) {
      for (int d = 0; d < lengths.size(); ++d) {
        const bool is_axis = std::find(axes.begin(), axes.end(), d) != axes.end();
        if (is_axis == transformed) order.push_back(d);
      }
    }
    return order;
  }

  void download(const void* on_device, void* on_host, std::size_t bytes) override {
    std::optional<Opened> pages;
    if (!is_shared(on_device)) pages.emplace(on_device, bytes);
    std::memcpy(on_host, on_device, bytes);
  }
  void upload(const void* on_host, void* on_device, std::size_t bytes) override {
    std::optional<Opened> pages;
    if (!is_shared(on_device)) pages.emplace(on_device, bytes);
    std::memcpy(on_device, on_host, bytes);
  }

 private:
  struct Block {
    std::size_t bytes = 0;
    bool shared = false;  // with the CPU
  };

  // The block in use that has an address, else one of no bytes.
  Block block_of(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto after = blocks_.upper_bound(static_cast<const char*>(address));
    if (after == blocks_.begin()) return {};
    const auto& [start, block] = *std::prev(after);
    const char* const end = start + static_cast<std::ptrdiff_t>(block.bytes);
    return static_cast<const char*>(address) < end ? block : Block{};
  }
  bool is_shared(const void* address) { return block_of(address).shared; }
  void take_back(const Storage* s) {
    const bool shared = is_shared(s->data);
    {
      const std::lock_guard lock(mutex_);
      blocks_.erase(static_cast<const char*>(s->data));
      in_use_ -= s->bytes;
    }
    if (shared) {
      munmap(s->data, s->bytes);
    } else {
      cache_.give(s->data, s->bytes);
    }
  }

  int index_;
  BlockCache<ClosedPages, std::mutex> cache_{{}, std::int64_t{1} << 28};
  std::mutex mutex_;
  std::map<const char*, Block> blocks_;  // in use
  std::size_t in_use_ = 0;
};

}  // namespace

}  // namespace arrayx

extern "C" __attribute__((visibility("default"))) const char* arrayx_cuda_interface() {
  return ARRAYX_INTERFACE;
}

extern "C" __attribute__((visibility("default"))) arrayx::Backend* arrayx_cuda_engine(
    int index, arrayx::Backend* cpu) {
  using namespace arrayx;
  if (index >= device_count) value_error("there are ", device_count, " CUDA devices");
  return new GuardedEngine(index, *cpu);
}
