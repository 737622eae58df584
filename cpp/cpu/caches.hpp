// The processor's caches, as far as loops care.
#pragma once

#include <cstdint>

#include "../ops/config.hpp"

namespace arrayx::cpu {

// Bytes of the last cache, which the processors that share it have together; 32 MiB at most.
std::int64_t last_cache_bytes();

// Bytes of an L1.
std::int64_t first_cache_bytes();

// Bytes of an L2.
std::int64_t second_cache_bytes();

// Lines of an L2 that `stride` bytes between them let it hold at once.
std::int64_t second_cache_lines(std::int64_t stride);

// Whether so many rows, a number of bytes apart, lie in so few sets of an L1 that it cannot hold a
// line of each: where those are a part of its period, or a few bytes more or less.
ARRAYX_HD bool share_few_sets(std::int64_t rows, std::int64_t apart) {
  constexpr std::int64_t ways = 8, period = 4096, line = 64;
  for (std::int64_t part = period; part * rows >= ways * period; part /= 2) {
    const std::int64_t past = apart & (part - 1), off = past < part - past ? past : part - past;
    if (rows * part * line > ways * period * (line + off * (rows - 1))) return true;
  }
  return false;
}

// Whether long pieces, one after the other, are read as fast as several side by side: by AMD's
// processors after Zen 3, as far as a Zen 5 shows.
extern const bool reads_long_pieces_well;

// Whether arithmetic that takes longer than moving its operands goes on while pieces of the result
// leave past the caches. A Zen 4 waits for them: a logarithm takes up to half as long again so.
extern const bool streams_beside_arithmetic;

// Bytes of a result from which on it may be written past the caches. Lines that are overwritten
// need not be read then; on four threads, though, half as many bytes take a third longer so.
inline constexpr std::int64_t stream_from = std::int64_t{3} << 21;

// Whether a result goes past the caches where so many bytes are moved in all, its own among them.
// What fits the last cache is better off there: in loops that come back to the same arrays, it
// takes half to three quarters of the time, and on several threads, which read the cache and the
// memory faster than they write past both, more than it holds, too. Where it has 32 MiB, streaming
// begins at 20 MiB with one thread, 40 with two and 80 with four or more.
bool goes_past_caches(std::int64_t result_bytes, std::int64_t moved_bytes);

}  // namespace arrayx::cpu
