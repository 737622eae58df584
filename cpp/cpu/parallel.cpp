#include "parallel.hpp"

#include <pthread.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <atomic>
#include <exception>

namespace arrayx::cpu {

namespace {

// After fork() the child has the pool's bookkeeping but not its threads: a parallel region there
// would wait for them for ever. Loops of a forked child run on the calling thread.
bool forked_child = false;
const int fork_handler = pthread_atfork(nullptr, nullptr, [] { forked_child = true; });

}  // namespace

int thread_count() {
  (void)fork_handler;
#if defined(_OPENMP)
  if (forked_child || omp_in_parallel()) return 1;
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void run_chunks(std::int64_t count, int threads, void (*body)(void*, std::int64_t), void* context) {
  if (threads > count) threads = static_cast<int>(count);
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads)
#endif
  {
    try {
      for (std::int64_t i; !failed.load(std::memory_order_relaxed) && (i = next++) < count;) {
        body(context, i);
      }
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace arrayx::cpu
