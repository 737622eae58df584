// Threads: one loop over independent chunks, run by the engine's pool when it pays. The cut into
// chunks is the caller's and depends on the shape alone, so results do not depend on the threads.
#pragma once

#include <cstdint>

#include "function_ref.hpp"

namespace arrayx::cpu {

// Bytes of memory traffic (or the like in arithmetic) per thread that pay for waking it.
inline constexpr std::int64_t parallel_grain = 1 << 19;

// The same as long as the pool's threads are awake; and then for arithmetic on little data.
inline constexpr std::int64_t awake_grain = parallel_grain / 2;
inline constexpr std::int64_t arithmetic_grain = parallel_grain / 6;

// Threads a loop may use now: OMP_NUM_THREADS or threadpoolctl's limit; 1 inside a parallel loop
// and in a forked child (whose copy of the pool has no threads behind it).
int thread_count();

// Threads for a loop of several chunks, at least this much work, and of `work` in all.
inline constexpr std::int64_t least_parallel = 5 * arithmetic_grain;
int threads_for(std::int64_t count, std::int64_t work, bool computes);

// The loop of parallel_for where there are several chunks and threads.
void run_chunks(std::int64_t count, int threads, FunctionRef<void(std::int64_t)> body);

// body(i) for i in [0, count), in any order and on any thread. `work` is the whole loop's bytes;
// `computes`: most of it is arithmetic, so that no caches need exchange much. An exception thrown
// by body is rethrown here.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t work, Body&& body, bool computes = false) {
  if (count > 1 && work >= least_parallel) {
    const int threads = threads_for(count, work, computes);
    if (threads > 1) return run_chunks(count, threads, body);
  }
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace arrayx::cpu
