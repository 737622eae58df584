// What threads share and a child of a fork can still use. The child has only the thread that
// forked: what any other had begun at that moment is never finished there.
#pragma once

#include <atomic>
#include <mutex>

namespace arrayx::cpu {

// A mutex that a fork finds unlocked.
class ForkMutex {
 public:
  // Where several are held at once they are taken in the order of their ranks, as fork() does.
  explicit ForkMutex(int rank);
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  int rank() const { return rank_; }

 private:
  std::mutex mutex_;
  int rank_;
};

// What the first thread that needs it makes. A static variable of a function has a lock, for which
// the child would wait if another thread was making it; here two may make it at once, and one of
// the two is kept. Never destroyed: threads may still use it while the process exits.
template <class T>
class MadeOnce {
 public:
  template <class Make>
  T& get(Make&& make) {
    T* made = made_.load(std::memory_order_acquire);
    return made ? *made : keep(new T(make()));
  }
  T& get() {
    return get([] { return T(); });
  }
  bool made() const { return made_.load(std::memory_order_acquire) != nullptr; }

 private:
  [[gnu::noinline]] T& keep(T* made) {
    T* kept = nullptr;
    if (made_.compare_exchange_strong(kept, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *kept;
  }

  std::atomic<T*> made_{nullptr};
};

}  // namespace arrayx::cpu
