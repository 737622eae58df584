// Holds every ForkMutex while the process forks.
#include "fork.hpp"

#include <pthread.h>

#include <algorithm>
#include <vector>

namespace arrayx::cpu {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ForkMutex*> all;  // by rank
};

Registry& registry() {
  static auto* instance = [] {
    pthread_atfork(
        [] {
          registry().mutex.lock();
          for (ForkMutex* m : registry().all) m->lock();
        },
        [] {
          for (ForkMutex* m : registry().all) m->unlock();
          registry().mutex.unlock();
        },
        [] {
          for (ForkMutex* m : registry().all) m->unlock();
          registry().mutex.unlock();
        });
    return new Registry;
  }();
  return *instance;
}

}  // namespace

ForkMutex::ForkMutex(int rank) : rank_(rank) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto at = std::upper_bound(r.all.begin(), r.all.end(), rank,
                                   [](int k, const ForkMutex* m) { return k < m->rank(); });
  r.all.insert(at, this);
}

ForkMutex::~ForkMutex() {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  std::erase(r.all, this);
}

}  // namespace arrayx::cpu
