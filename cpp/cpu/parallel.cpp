// The threads of the CPU engine. Their number is OpenMP's, but the pool is not: a team of OpenMP
// starts and ends with all of its threads, so that on a machine with other work every loop waits
// until the scheduler has run each of them (10 ms measured for a loop of 0.1 ms). Here the caller
// takes chunks at once, threads join when they come to run, and nobody waits for one that has not.
#include "parallel.hpp"

#include <pthread.h>
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
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

// Of the calling thread; -1 where the system does not say.
int current_processor() {
#if defined(__linux__)
  return sched_getcpu();
#else
  return -1;
#endif
}

// A helper that sleeps. Linux may wake it on the processor that its caller computes on (in a
// virtual machine an idle processor looks like one that was taken away): it waits there for
// milliseconds, and the loop has one thread less. So it is kept off that one until it runs.
class Sleeper {
 public:
  void falls_asleep() { asleep_ = true; }
  void wakes_up() {
    asleep_ = false;
    allow_all();
  }

#if defined(__linux__)
  void keep_off(int processor) {
    if (!asleep_ || processor == kept_off_) return;
    allow_all();  // where it slept on while others were woken
    if (processor < 0 || sched_getaffinity(thread_, sizeof allowed_, &allowed_) != 0) return;
    others_ = allowed_;
    CPU_CLR(static_cast<unsigned>(processor), &others_);
    if (CPU_COUNT(&others_) == 0) return;
    if (sched_setaffinity(thread_, sizeof others_, &others_) == 0) kept_off_ = processor;
  }

 private:
  void allow_all() {
    if (std::exchange(kept_off_, -1) < 0) return;
    cpu_set_t now;  // unless somebody else has chosen processors meanwhile
    if (sched_getaffinity(thread_, sizeof now, &now) == 0 && CPU_EQUAL(&now, &others_)) {
      sched_setaffinity(thread_, sizeof allowed_, &allowed_);
    }
  }

  pid_t thread_ = static_cast<pid_t>(syscall(SYS_gettid));
  cpu_set_t allowed_, others_;
  int kept_off_ = -1;  // a processor
#else
  void keep_off(int) {}

 private:
  void allow_all() {}
#endif
  bool asleep_ = false;
};

using Clock = std::chrono::steady_clock;

// Waits until done() without sleeping, for as long as waking a thread takes; lets others run now
// and then where gives_way() says so. False if it was in vain.
template <class Done, class GivesWay>
bool spin(Done&& done, GivesWay&& gives_way) {
  constexpr auto longest = std::chrono::microseconds(30);
  constexpr int polls = 64;  // between looks at the clock
  const auto end = Clock::now() + longest;
  do {
    for (int i = 0; i < polls; ++i) {
      if (done()) return true;
      pause_briefly();
    }
    if (gives_way()) std::this_thread::yield();
  } while (Clock::now() < end);
  return done();
}

// One loop, in a section for each of up to 16 threads, which begins with its own and goes on with
// what is left of the others': loops over the same arrays find each part in the caches of the core
// that had it before, and still end together where a thread comes late or never.
//
// Places for loops stay where they are, so that a thread that comes too late finds a closed one.
// What a loop consists of is written by its caller before it is opened, and read by those that have
// joined it; they are in `state` until they let go of it.
struct alignas(64) Loop {
  static constexpr int most_sections = 16;
  struct alignas(64) Section {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  // Threads that may still join, those that are at work besides the caller, and whether it sleeps.
  static constexpr std::uint64_t open_place = 1, helper = 1 << 16;
  static constexpr std::uint64_t caller_sleeps = std::uint64_t{1} << 32;
  static constexpr std::uint64_t open_places = helper - 1, helpers = caller_sleeps - helper;
  std::atomic<std::uint64_t> state{0};

  const FunctionRef<void(std::int64_t)>* body = nullptr;
  int sections_used = 0;
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
  Section sections[most_sections];

  void set(std::int64_t count, int threads, const FunctionRef<void(std::int64_t)>& run) {
    body = &run;
    sections_used = std::min(threads, most_sections);
    failed.store(false, std::memory_order_relaxed);
    const std::int64_t n = count / sections_used, rest = count % sections_used;
    std::int64_t begin = 0;
    for (int s = 0; s < sections_used; ++s) {
      sections[s].next.store(begin, std::memory_order_relaxed);
      begin += n + (s < rest);
      sections[s].end = begin;
    }
  }

  // False where all places are taken. `last`: this was the last one.
  bool join(bool& last) {
    std::uint64_t now = state.load(std::memory_order_relaxed);
    while ((now & open_places) != 0) {
      if (state.compare_exchange_weak(now, now - open_place + helper, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        last = (now & open_places) == 1;
        return true;
      }
    }
    return false;
  }

  // `thread`: 0 for the loop's caller, the number of a helper for others.
  void take_chunks(int thread) {
    const bool nested = std::exchange(inside_loop, true);
    try {
      for (int k = 0; k < sections_used; ++k) {
        Section& section = sections[(thread + k) % sections_used];
        for (std::int64_t i;
             !failed.load(std::memory_order_relaxed) && (i = section.next++) < section.end;) {
          (*body)(i);
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
  void run(std::int64_t count, int threads, const FunctionRef<void(std::int64_t)>& body) {
    const int place = claim();
    if (place < 0) {  // so many callers are threads enough
      for (std::int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    Loop& loop = loops_[place];
    loop.set(count, threads, body);
    open(loop, place, threads - 1);
    loop.take_chunks(0);
    close(loop, place);
    const std::exception_ptr error = std::exchange(loop.error, nullptr);
    used_.fetch_and(~(1u << place), std::memory_order_release);
    if (error) std::rethrow_exception(error);
  }

  // Of so many helpers those that are awake. Where some sleep and the last question was lately,
  // they are woken: they will be there for the next one.
  int awake(int helpers) {
    constexpr std::int64_t lately = 200'000;  // nanoseconds
    const std::int64_t now = Clock::now().time_since_epoch().count();
    const std::int64_t before = asked_.exchange(now, std::memory_order_relaxed);
    const int free = threads_without_work(-1);
    if (free < helpers && now - before < lately) {
      const std::lock_guard lock(mutex_);
      grow(helpers);
      if (sleeping_.load(std::memory_order_relaxed) > 0 && roused_ == 0) {
        roused_ = sleeping_.load(std::memory_order_relaxed);
        keep_sleepers_off(current_processor());
        work_.notify_all();
      }
    }
    return std::min(free, helpers);
  }

 private:
  static constexpr int most_loops = 8;

  // A place for a loop; -1 where all are in use.
  int claim() {
    std::uint32_t used = used_.load(std::memory_order_relaxed);
    for (;;) {
      const int place = std::countr_one(used);
      if (place >= most_loops) return -1;
      if (used_.compare_exchange_weak(used, used | 1u << place, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return place;
      }
    }
  }

  // Threads that neither sleep nor are at work in another loop than one.
  int threads_without_work(int own) const {
    int n = threads_.load(std::memory_order_relaxed) - sleeping_.load();
    std::uint32_t others = used_.load(std::memory_order_relaxed);
    if (own >= 0) others &= ~(1u << own);
    for (; others != 0; others &= others - 1) {
      const std::uint64_t state =
          loops_[std::countr_zero(others)].state.load(std::memory_order_relaxed);
      n -= static_cast<int>((state & Loop::helpers) / Loop::helper);
    }
    return std::max(n, 0);
  }

  void open(Loop& loop, int place, int helpers) {
    if (threads_.load(std::memory_order_relaxed) < helpers) {
      const std::lock_guard lock(mutex_);
      grow(helpers);
    }
    const int processor = current_processor();
    if (caller_processor_.load(std::memory_order_relaxed) != processor) {
      caller_processor_.store(processor, std::memory_order_relaxed);
    }
    loop.state.store(static_cast<std::uint64_t>(helpers), std::memory_order_release);
    // Either this thread sees one that sleeps or that one sees the loop.
    open_.fetch_or(1u << place);
    const int sleeping = sleeping_.load();
    if (sleeping == 0) return;
    const int wake = std::min(helpers - threads_without_work(place), sleeping);
    if (wake <= 0) return;
    {
      const std::lock_guard lock(mutex_);  // nobody is between looking and sleeping
      keep_sleepers_off(processor);
    }
    if (wake > 1) {
      work_.notify_all();  // one call; those too many go back to sleep
    } else {
      work_.notify_one();
    }
  }

  // Nobody joins any more; helpers finish the chunks that they have begun.
  void close(Loop& loop, int place) {
    if ((loop.state.fetch_and(~Loop::open_places, std::memory_order_acquire) & Loop::open_places) !=
        0) {
      open_.fetch_and(~(1u << place));
    }
    const auto finished = [&] {
      return (loop.state.load(std::memory_order_acquire) & Loop::helpers) == 0;
    };
    // A helper that is late may wait for this processor.
    bool first = true;
    if (finished() || spin(finished, [&] { return !std::exchange(first, false); })) return;
    std::unique_lock lock(mutex_);
    loop.state.fetch_or(Loop::caller_sleeps, std::memory_order_relaxed);
    finished_.wait(lock, finished);
  }

  void grow(int helpers) {
    while (threads_.load(std::memory_order_relaxed) < helpers) {
      try {
        std::thread([this, number = threads_.load() + 1] { work(number); }).detach();
      } catch (const std::system_error&) {
        return;  // the caller and those there are do the work
      }
      ++threads_;
    }
  }

  Loop* join() {
    for (std::uint32_t open = open_.load(std::memory_order_acquire); open != 0; open &= open - 1) {
      const int place = std::countr_zero(open);
      bool last = false;
      if (!loops_[place].join(last)) continue;
      if (last) open_.fetch_and(~(1u << place));
      return &loops_[place];
    }
    return nullptr;
  }

  // It takes about 1 µs for each, which many together would not earn.
  void keep_sleepers_off(int processor) {
    constexpr std::size_t most = 16;
    if (sleepers_.size() > most) return;
    for (Sleeper* sleeper : sleepers_) sleeper->keep_off(processor);
  }

  void work(int number) {
    Sleeper self;
    {
      const std::lock_guard lock(mutex_);
      sleepers_.push_back(&self);
    }
    for (;;) {
      Loop* loop = nullptr;
      // One that was woken on the processor of a caller keeps it waiting.
      const bool found = spin(
          [&] { return (loop = join()) != nullptr; },
          [&] { return current_processor() == caller_processor_.load(std::memory_order_relaxed); });
      if (found) {
        loop->take_chunks(number);
        const std::uint64_t before = loop->state.fetch_sub(Loop::helper, std::memory_order_release);
        if ((before & Loop::caller_sleeps) != 0) {
          const std::lock_guard lock(mutex_);
          finished_.notify_all();
        }
        continue;
      }
      std::unique_lock lock(mutex_);
      ++sleeping_;
      self.falls_asleep();
      work_.wait(lock, [&] { return roused_ > 0 || open_.load() != 0; });
      self.wakes_up();
      --sleeping_;
      if (roused_ > 0) --roused_;
    }
  }

  // What helpers look at while they spin stands alone.
  alignas(64) std::atomic<std::uint32_t> open_{0};  // bits: loops with open places
  alignas(64) std::atomic<std::uint32_t> used_{0};  // bits: places of loops
  std::atomic<int> caller_processor_{-1};           // of the last caller
  std::atomic<int> threads_{0}, sleeping_{0};
  std::atomic<std::int64_t> asked_{0};  // when, of awake()
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  // These and changes of sleeping_ are guarded by the mutex.
  int roused_ = 0;
  std::vector<Sleeper*> sleepers_;
  Loop loops_[most_loops];
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

int threads_for(std::int64_t count, std::int64_t work, bool computes) {
  const int all = thread_count();
  std::int64_t threads = all, grain = parallel_grain;
  if (work < 4 * parallel_grain && all > 1) {
    if (work < (computes ? 5 * arithmetic_grain : 5 * awake_grain / 2)) return 1;
    // Of all threads the caller and those that wait for work without sleeping. Where others sleep,
    // and the last such question is not long ago, the pool is woken for the next one.
    const int awake = computes || count >= 4 ? 1 + pool.get().awake(all - 1) : 1;
    if (awake > 1 || work < 2 * parallel_grain) {
      threads = awake;
      grain = computes ? arithmetic_grain : awake_grain;
    }
  }
  return static_cast<int>(std::min({threads, work / grain, count}));
}

void run_chunks(std::int64_t count, int threads, FunctionRef<void(std::int64_t)> body) {
  pool.get().run(count, threads, body);
}

}  // namespace arrayx::cpu
