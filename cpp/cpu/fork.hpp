// A mutex that a fork finds unlocked. A child has only the thread that forked: a lock held by any
// other at that moment would never be released there.
#pragma once

#include <mutex>

namespace arrayx::cpu {

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

}  // namespace arrayx::cpu
