// Device memory. A stream-ordered pool of the driver's gives and takes blocks; those that are freed
// are kept in front of it, since all work is on one stream: the next owner's comes after that of
// the last.
#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "../cpp/block_cache.hpp"
#include "engine.hpp"
#include "host_words.hpp"

namespace arrayx::cuda {

namespace {

constexpr std::size_t smallest_block = 512;  // bytes; the driver's blocks are aligned to as many

struct DriverPool {
  int device;
  cudaMemPool_t pool;

  void* fresh(std::size_t bytes) const {
    void* block = nullptr;
    cudaError_t status = cudaMallocFromPoolAsync(&block, bytes, pool, stream());
    if (status == cudaErrorMemoryAllocation) {
      // What was freed counts once the work queued before has run.
      cudaGetLastError();
      trim();
      status = cudaMallocFromPoolAsync(&block, bytes, pool, stream());
    }
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check(status, "an allocation");
    return block;
  }
  // Errors of earlier work are reported by the next call that can raise.
  void release(void* block, std::size_t) const {
    const OnDevice here(device);
    if (cudaFreeAsync(block, stream()) != cudaSuccess) cudaGetLastError();
  }
  void trim() const {
    check(cudaStreamSynchronize(stream()), "an allocation");
    check(cudaMemPoolTrimTo(pool, 0), "an allocation");
  }
};

struct DeviceMemory {
  DriverPool pool;
  BlockCache<DriverPool, std::mutex> cache;
  std::atomic<std::int64_t> in_use{0};

  // By default half of the device's memory is kept.
  explicit DeviceMemory(const DriverPool& p)
      : pool(p), cache(p, static_cast<std::int64_t>(properties().memory_bytes / 2)) {}
};

DriverPool new_pool(int device) {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location = {};
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  cudaMemPool_t pool;
  check(cudaMemPoolCreate(&pool, &wanted), "cudaMemPoolCreate");
  return {device, pool};
}

// Of the current device. Never destroyed: arrays may be freed while the process exits.
DeviceMemory& memory() {
  static auto* mutex = new std::mutex;
  static auto* all =
      new std::vector<std::atomic<DeviceMemory*>>(static_cast<std::size_t>(device_count()));
  const int device = properties().index;
  std::atomic<DeviceMemory*>& place = (*all)[static_cast<std::size_t>(device)];
  DeviceMemory* found = place.load(std::memory_order_acquire);
  if (!found) {
    const std::lock_guard lock(*mutex);
    found = place.load(std::memory_order_relaxed);
    if (!found) {
      found = new DeviceMemory(new_pool(device));
      place.store(found, std::memory_order_release);
    }
  }
  return *found;
}

void give_back(Storage* s) {
  auto* memory = static_cast<DeviceMemory*>(s->context);
  memory->in_use.fetch_sub(static_cast<std::int64_t>(s->bytes), std::memory_order_relaxed);
  memory->cache.give(s->data, s->bytes);
  delete s;
}

// Memory that the driver moves to where it is used. What the pool gave is kept beside it: a call in
// another thread may know its address.
struct Shared {
  DeviceMemory* memory;
  void* block;
};

void give_back_shared(Storage* s) {
  auto* shared = static_cast<Shared*>(s->context);
  if (cudaFree(s->data) != cudaSuccess) cudaGetLastError();
  s->data = shared->block;
  s->context = shared->memory;
  delete shared;
  give_back(s);
}

[[noreturn]] void out_of_memory(std::int64_t bytes) {
  raise(ErrorKind::memory, "no room for an array of ", bytes,
        " bytes on cuda:", properties().index);
}

}  // namespace

HostWords& host_words() {
  static auto* const all = [] {
    const auto count = static_cast<std::size_t>(device_count());
    void* pinned;
    check(cudaHostAlloc(&pinned, count * sizeof(HostWords),
                        cudaHostAllocPortable | cudaHostAllocMapped),
          "pinned memory");
    return new (pinned) HostWords[count];
  }();
  return all[properties().index];
}

StorageRef allocate(std::int64_t bytes) {
  if (bytes > (std::int64_t{1} << 62)) out_of_memory(bytes);
  DeviceMemory& m = memory();
  const std::size_t block =
      rounded_block(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)), smallest_block);
  auto s = std::make_unique<Storage>();
  s->data = m.cache.take(block).first;
  if (!s->data) out_of_memory(bytes);
  s->bytes = block;
  s->device = {DeviceType::cuda, m.pool.device};
  s->deleter = &give_back;
  s->context = &m;
  m.in_use.fetch_add(static_cast<std::int64_t>(block), std::memory_order_relaxed);
  return StorageRef(s.release());
}

bool share_with_host(Storage& s) {
  if (s.deleter != &give_back && s.deleter != &give_back_shared) return false;
  if (s.deleter == &give_back) {
    int possible = 0;
    check(cudaDeviceGetAttribute(&possible, cudaDevAttrConcurrentManagedAccess, s.device.index),
          "cudaDeviceGetAttribute");
    if (s.lent || !possible) return false;
    auto shared = std::make_unique<Shared>(static_cast<DeviceMemory*>(s.context), s.data);
    void* both = nullptr;
    const cudaError_t status = cudaMallocManaged(&both, s.bytes, cudaMemAttachGlobal);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      out_of_memory(static_cast<std::int64_t>(s.bytes));
    }
    check(status, "cudaMallocManaged");
    check(cudaMemcpyAsync(both, s.data, s.bytes, cudaMemcpyDeviceToDevice, stream()),
          "cudaMemcpyAsync");
    s.data = both;
    s.context = shared.release();
    s.deleter = &give_back_shared;
  }
  check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  return true;
}

MemoryInfo memory_info() {
  DeviceMemory& m = memory();
  return {m.in_use.load(std::memory_order_relaxed), m.cache.cached(), m.cache.limit()};
}

void set_cache_limit(std::int64_t bytes) {
  memory().cache.set_limit(bytes);
  memory().pool.trim();
}

void empty_cache() {
  memory().cache.shrink(0);
  memory().pool.trim();
}

}  // namespace arrayx::cuda
