// Threads: one loop over independent chunks, run by the engine's pool when it pays. The cut into
// chunks is the caller's and depends on the shape alone, so results do not depend on the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace arrayx::cpu {

// Bytes of memory traffic (or the like in arithmetic) per thread that pay for waking it.
inline constexpr std::int64_t parallel_grain = 1 << 19;

// The same as long as the pool's threads are awake; and then for arithmetic on little data.
inline constexpr std::int64_t awake_grain = parallel_grain / 2;
inline constexpr std::int64_t arithmetic_grain = parallel_grain / 6;

// Threads a loop may use now: OMP_NUM_THREADS or threadpoolctl's limit; 1 inside a parallel loop
// and in a forked child (whose copy of the pool has no threads behind it).
int thread_count();

// Of so many threads the caller and those that wait for work without sleeping. Where others sleep,
// and the last such question is not long ago, the pool is woken for the next one.
int threads_awake(int threads);

// The loop of parallel_for where there are several chunks and threads.
void run_chunks(std::int64_t count, int threads, void (*body)(void*, std::int64_t), void* context);

// body(i) for i in [0, count), in any order and on any thread. `work` is the whole loop's bytes;
// `computes`: most of it is arithmetic, so that no caches need exchange much. An exception thrown
// by body is rethrown here.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, Body&& body, bool computes = false) {
  int threads = 1;
  std::int64_t grain = parallel_grain;
  if (count > 1 && work >= 4 * parallel_grain) {
    threads = thread_count();
  } else if (count > 1 && work >= (computes ? 5 * arithmetic_grain : 5 * awake_grain / 2) &&
             (threads = thread_count()) > 1) {
    const int awake = computes || count >= 4 ? threads_awake(threads) : 1;
    if (awake > 1 || work < 2 * parallel_grain) {
      threads = awake;
      grain = computes ? arithmetic_grain : awake_grain;
    }
  }
  if (threads <= 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  using B = std::remove_reference_t<Body>;
  const std::int64_t most = work / grain;
  if (threads > most) threads = static_cast<int>(most);
  run_chunks(
      count, threads, [](void* context, std::int64_t i) { (*static_cast<B*>(context))(i); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace arrayx::cpu
