// Copies between the device and the host. CUDA moves pageable memory through a small buffer of its
// own on one thread; here it passes through a ring of pinned pieces, filled and emptied by the CPU
// engine's threads while the device moves the pieces before.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine.hpp"

namespace arrayx::cuda {

namespace {

constexpr int ring_pieces = 2;
constexpr std::size_t largest_piece = std::size_t{8} << 20, smallest_piece = std::size_t{1} << 18;
// What is less goes through CUDA's own buffer, but what comes from the device and fits a pinned
// page: on an H100 single numbers take 7.8 µs instead of 9.7.
constexpr std::size_t least_staged = std::size_t{1} << 19, page_bytes = 4096;

// Pinned memory of one device, held by one transfer at a time, and an event for each piece: it has
// happened when the device needs the piece no more.
struct Ring {
  std::mutex mutex;
  char* memory = nullptr;
  cudaEvent_t done[ring_pieces];

  // False where no memory can be pinned. The mutex is held.
  bool open() {
    if (memory) return true;
    void* pinned;
    if (cudaHostAlloc(&pinned, ring_pieces * largest_piece, cudaHostAllocPortable) != cudaSuccess) {
      cudaGetLastError();
      return false;
    }
    for (cudaEvent_t& event : done) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    }
    memory = static_cast<char*>(pinned);
    return true;
  }
  char* piece(std::size_t i) const { return memory + i % ring_pieces * largest_piece; }
  cudaEvent_t event(std::size_t i) const { return done[i % ring_pieces]; }
};

// Of the current device. Never destroyed, like its memory.
Ring& ring() {
  static auto* all = new std::vector<Ring>(static_cast<std::size_t>(device_count()));
  return (*all)[static_cast<std::size_t>(properties().index)];
}

struct Page {
  std::mutex mutex;
  void* memory = nullptr;

  // False where nothing can be pinned.
  bool open() {
    if (memory || cudaHostAlloc(&memory, page_bytes, cudaHostAllocPortable) == cudaSuccess) {
      return true;
    }
    cudaGetLastError();
    memory = nullptr;
    return false;
  }
};
// Of the current device, as the ring.
Page& page() {
  static auto* all = new std::vector<Page>(static_cast<std::size_t>(device_count()));
  return (*all)[static_cast<std::size_t>(properties().index)];
}

bool is_pinned(const void* on_host) {
  cudaPointerAttributes where;
  check(cudaPointerGetAttributes(&where, on_host), "cudaPointerGetAttributes");
  return where.type != cudaMemoryTypeUnregistered;
}

// Small enough that the first and the last piece, which nothing else runs beside, take little time.
std::size_t piece_bytes(std::size_t bytes) {
  const std::size_t quarter = (bytes / 4 + 4095) / 4096 * 4096;
  return std::clamp(quarter, smallest_piece, largest_piece);
}

void copy_on_host(Backend& host, char* to, const char* from, std::size_t bytes) {
  const Layout line = Layout::contiguous({static_cast<std::int64_t>(bytes)});
  Operand in, out;
  in.dtype = out.dtype = DType::uint8;
  in.layout = out.layout = &line;
  in.data = const_cast<char*>(from);
  out.data = to;
  host.copy(in, out);
}

void wait_for(cudaEvent_t event) {
  check(cudaEventSynchronize(event), "a copy between the device and the host");
}

// The pieces of `bytes`: count of them, and f(i, begin, size).
struct Pieces {
  std::size_t bytes, size, count;
  explicit Pieces(std::size_t all)
      : bytes(all), size(piece_bytes(all)), count((all + size - 1) / size) {}
  std::size_t begin(std::size_t i) const { return i * size; }
  std::size_t length(std::size_t i) const { return std::min(size, bytes - begin(i)); }
};

}  // namespace

void upload(Backend& host, const void* on_host, void* on_device, std::size_t bytes) {
  const auto* from = static_cast<const char*>(on_host);
  auto* to = static_cast<char*>(on_device);
  if (bytes >= least_staged && !is_pinned(on_host)) {
    Ring& r = ring();
    const std::lock_guard lock(r.mutex);
    if (r.open()) {
      const Pieces pieces(bytes);
      for (std::size_t i = 0; i < pieces.count; ++i) {
        wait_for(r.event(i));
        copy_on_host(host, r.piece(i), from + pieces.begin(i), pieces.length(i));
        check(cudaMemcpyAsync(to + pieces.begin(i), r.piece(i), pieces.length(i),
                              cudaMemcpyHostToDevice, stream()),
              "a copy to the device");
        check(cudaEventRecord(r.event(i), stream()), "a copy to the device");
      }
      return;
    }
  }
  check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "a copy to the device");
}

void download(Backend& host, const void* on_device, void* on_host, std::size_t bytes) {
  const auto* from = static_cast<const char*>(on_device);
  auto* to = static_cast<char*>(on_host);
  if (bytes <= page_bytes) {
    Page& p = page();
    const std::lock_guard lock(p.mutex);
    if (p.open()) {
      check(cudaMemcpyAsync(p.memory, from, bytes, cudaMemcpyDeviceToHost, stream()),
            "a copy to the host");
      check(cudaStreamSynchronize(stream()), "a copy to the host");
      std::memcpy(to, p.memory, bytes);
      return;
    }
  }
  if (bytes >= least_staged && !is_pinned(on_host)) {
    Ring& r = ring();
    const std::lock_guard lock(r.mutex);
    if (r.open()) {
      const Pieces pieces(bytes);
      // The device is at most a ring ahead of the host.
      for (std::size_t i = 0; i < pieces.count + ring_pieces; ++i) {
        if (i >= ring_pieces) {
          const std::size_t ready = i - ring_pieces;
          wait_for(r.event(ready));
          copy_on_host(host, to + pieces.begin(ready), r.piece(ready), pieces.length(ready));
        }
        if (i >= pieces.count) continue;
        check(cudaMemcpyAsync(r.piece(i), from + pieces.begin(i), pieces.length(i),
                              cudaMemcpyDeviceToHost, stream()),
              "a copy to the host");
        check(cudaEventRecord(r.event(i), stream()), "a copy to the host");
      }
      return;
    }
  }
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "a copy to the host");
}

}  // namespace arrayx::cuda
