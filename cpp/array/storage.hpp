// Storage: a counted block of memory on a device. Its deleter is how foreign memory (DLPack, the
// buffer protocol) is held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "device.hpp"

namespace arrayx {

struct Storage {
  std::atomic<std::int64_t> references{1};
  void* data = nullptr;
  std::size_t bytes = 0;
  Device device;
  bool writable = true;
  bool lent = false;                    // others know where its data are
  bool zeroed = false;                  // all bytes were zero when it was allocated
  void (*deleter)(Storage*) = nullptr;  // frees data and the Storage itself
  void* context = nullptr;              // the deleter's own
};

class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* owned) : storage_(owned) {}
  StorageRef(const StorageRef& other) : storage_(other.storage_) {
    if (storage_) storage_->references.fetch_add(1, std::memory_order_relaxed);
  }
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() {
    if (!storage_) return;
    // The only owner needs no locked instruction: nobody is left who could add a reference.
    if (storage_->references.load(std::memory_order_acquire) == 1 ||
        storage_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      storage_->deleter(storage_);
    }
  }
  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }
  friend bool operator==(const StorageRef& a, const StorageRef& b) {
    return a.storage_ == b.storage_;
  }

 private:
  Storage* storage_ = nullptr;
};

}  // namespace arrayx
