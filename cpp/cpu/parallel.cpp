// The threads of the CPU engine. Their number is OpenMP's, but the pool is not: a team of OpenMP
// starts and ends with all of its threads, so that on a machine with other work every loop waits
// until the scheduler has run each of them (10 ms measured for a loop of 0.1 ms). Here the caller
// takes chunks at once, threads join when they come to run, and nobody waits for one that has not.
#include "parallel.hpp"

#include <pthread.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "fork.hpp"

namespace arrayx::cpu {

namespace {

// Whether a fork has left the pool's bookkeeping here but not its threads: loops of such a child
// run on the calling thread.
bool forked_child = false;
thread_local bool inside_loop = false;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

using Clock = std::chrono::steady_clock;

// Waits until done() without sleeping, for as long as waking a thread takes. A processor that
// others wait for is let go: a helper that was woken on the caller's own would otherwise keep it
// waiting.
template <class Done>
void spin(Done&& done) {
  constexpr auto longest = std::chrono::microseconds(30);
  const auto end = Clock::now() + longest;
  while (!done() && Clock::now() < end) {
    for (int i = 0; i < 32; ++i) pause_briefly();
    std::this_thread::yield();
  }
}

// The chunks of one loop, in a section for each of up to 16 threads, which begins with its own and
// goes on with what is left of the others': loops over the same arrays find each part in the caches
// of the core that had it before, and still end together where a thread comes late or never.
struct Loop {
  static constexpr int most_sections = 16;
  struct alignas(64) Section {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  void (*body)(void*, std::int64_t);
  void* context;
  int sections_used;
  int places;  // threads that may still join; this and the next guarded by the pool's mutex
  std::atomic<int> helpers{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
  Section sections[most_sections];

  Loop(std::int64_t count, int threads, void (*body)(void*, std::int64_t), void* context)
      : body(body),
        context(context),
        sections_used(std::min(threads, most_sections)),
        places(threads - 1) {
    const std::int64_t n = count / sections_used, rest = count % sections_used;
    std::int64_t begin = 0;
    for (int s = 0; s < sections_used; ++s) {
      sections[s].next.store(begin, std::memory_order_relaxed);
      begin += n + (s < rest);
      sections[s].end = begin;
    }
  }

  // `thread`: 0 for the loop's caller, the number of a helper for others.
  void take_chunks(int thread) {
    const bool nested = std::exchange(inside_loop, true);
    try {
      for (int k = 0; k < sections_used; ++k) {
        Section& section = sections[(thread + k) % sections_used];
        for (std::int64_t i;
             !failed.load(std::memory_order_relaxed) && (i = section.next++) < section.end;) {
          body(context, i);
        }
      }
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
    inside_loop = nested;
  }
};

class Pool {
 public:
  void run(Loop& loop) {
    const int helpers = loop.places;
    int wake = 0;
    {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      loops_.push_back(&loop);
      open_places_.fetch_add(helpers, std::memory_order_relaxed);
      const int needed = helpers - spinning_.load(std::memory_order_relaxed);
      wake = std::clamp(needed, 0, sleeping_);
    }
    if (wake > 1) {
      work_.notify_all();  // one call; those too many go back to sleep
    } else if (wake == 1) {
      work_.notify_one();
    }
    loop.take_chunks(0);
    {
      const std::lock_guard lock(mutex_);
      loops_.erase(std::find(loops_.begin(), loops_.end(), &loop));
      open_places_.fetch_sub(loop.places, std::memory_order_relaxed);
    }
    // Nobody joins any more; helpers finish the chunks that they have begun.
    const auto finished = [&] { return loop.helpers.load(std::memory_order_acquire) == 0; };
    if (!finished()) spin(finished);
    if (!finished()) {
      std::unique_lock lock(mutex_);
      finished_.wait(lock, finished);
    }
    // The last helper lets go of the mutex before the loop may disappear.
    const std::lock_guard lock(mutex_);
  }

  // Of so many helpers those that spin. Where some sleep and the last question was lately, they are
  // woken: they will be there for the next one.
  int awake(int helpers) {
    constexpr std::int64_t lately = 200'000;  // nanoseconds
    const std::int64_t now = Clock::now().time_since_epoch().count();
    const std::int64_t before = asked_.exchange(now, std::memory_order_relaxed);
    const int spinning = spinning_.load(std::memory_order_relaxed);
    if (spinning < helpers && now - before < lately) {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      if (sleeping_ > 0 && roused_ == 0) {
        roused_ = sleeping_;
        work_.notify_all();
      }
    }
    return std::min(spinning, helpers);
  }

 private:
  void grow(int helpers) {
    while (threads_ < helpers) {
      try {
        std::thread([this, number = threads_ + 1] { work(number); }).detach();
      } catch (const std::system_error&) {
        return;  // the caller and those there are do the work
      }
      ++threads_;
    }
  }

  void work(int number) {
    const auto any = [this] { return open_places_.load(std::memory_order_relaxed) > 0; };
    for (;;) {
      spinning_.fetch_add(1, std::memory_order_relaxed);
      spin(any);
      spinning_.fetch_sub(1, std::memory_order_relaxed);
      std::unique_lock lock(mutex_);
      ++sleeping_;
      work_.wait(lock, [&] { return roused_ > 0 || any(); });
      --sleeping_;
      if (roused_ > 0) --roused_;
      const auto found = std::find_if(loops_.begin(), loops_.end(),
                                      [](const Loop* loop) { return loop->places > 0; });
      if (found == loops_.end()) continue;
      Loop& loop = **found;
      --loop.places;
      open_places_.fetch_sub(1, std::memory_order_relaxed);
      loop.helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      loop.take_chunks(number);
      lock.lock();
      if (loop.helpers.fetch_sub(1, std::memory_order_release) == 1) finished_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::vector<Loop*> loops_;
  std::atomic<int> open_places_{0}, spinning_{0};
  std::atomic<std::int64_t> asked_{0};  // when, of awake()
  int threads_ = 0, sleeping_ = 0, roused_ = 0;
};

constinit MadeOnce<Pool> pool;
[[maybe_unused]] const int at_fork =
    pthread_atfork(nullptr, nullptr, [] { forked_child = pool.made(); });

}  // namespace

int thread_count() {
#if defined(_OPENMP)
  if (forked_child || inside_loop || omp_in_parallel()) return 1;
  return omp_get_max_threads();
#else
  return 1;
#endif
}

int threads_awake(int threads) {
  return 1 + pool.get().awake(threads - 1);
}

void run_chunks(std::int64_t count, int threads, void (*body)(void*, std::int64_t), void* context) {
  if (threads > count) threads = static_cast<int>(count);
  Loop loop(count, threads, body, context);
  pool.get().run(loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace arrayx::cpu
