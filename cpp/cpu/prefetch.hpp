// Lines of memory that are asked for before they are read.
#pragma once

#include <cstdint>

#include "../ops/config.hpp"

namespace arrayx::cpu {

inline constexpr int line_bytes = 64;
inline constexpr std::int64_t page_bytes = 4096;

// How far ahead of what is written the lines of a result are that stays in the caches.
inline constexpr int result_ahead = 4 * line_bytes;

// Where lines come that are asked for: in an L1, or in an L2 what is more than an L1 can wait for
// at once, read later, or in few sets of it.
enum class Cache { first, second };
template <Cache cache>
ARRAYX_HD void fetch_line(const char* p) {
  __builtin_prefetch(p, 0, cache == Cache::first ? 3 : 2);
}

// Whose lines lie in these bytes, of which the last is one more where they begin within a line.
template <Cache cache>
ARRAYX_HD void fetch_into(const char* p, std::int64_t bytes) {
  const char* const end = p + bytes;
  p -= reinterpret_cast<std::uintptr_t>(p) % line_bytes;
  for (; p < end; p += line_bytes) fetch_line<cache>(p);
}
ARRAYX_HD void fetch(const char* p, std::int64_t bytes) {
  fetch_into<Cache::first>(p, bytes);
}
ARRAYX_HD void fetch_for_second(const char* p, std::int64_t bytes) {
  fetch_into<Cache::second>(p, bytes);
}

// The same without a loop.
template <int bytes>
ARRAYX_HD void fetch(const char* p) {
#pragma GCC unroll 32
  for (int b = 0; b < bytes; b += line_bytes) fetch_line<Cache::first>(p + b);
}

// Whether asking for pages to come pays, which caches.cpp knows.
extern const bool asks_for_pages;

// How loops ask that read far more than they write, those of reductions among them: for pages to
// come, for what is near, or not at all where the hardware follows what they read, in several
// places at once, too. caches.cpp knows. `halves`: so, and vectors are read in halves.
enum class Asking { nothing, near, pages, halves };
extern const Asking reading_asks;

// Whether loops of several operands from beyond an L2, and of one from beyond all caches, read
// vectors of 64 bytes in halves, which caches.cpp knows.
extern const bool reads_in_halves;

// Asks for n items `step` bytes apart, of which neighbours share lines.
ARRAYX_HD void fetch_items(const char* p, std::int64_t n, std::int64_t step, std::int64_t item) {
  if (step == item) return fetch(p, n * item);
  fetch_for_second(step < 0 ? p + (n - 1) * step : p, n * (step < 0 ? -step : step));
}

// Asks for what is read a page after the `bytes` at p. A row is read up to a third faster so where
// its reader does other things now and then, between pieces or at the ends of rows. Loops that do
// little but read are there twice, one that `asks` and one that does not: a branch for each line
// costs them up to a quarter.
template <int bytes>
ARRAYX_HD void fetch_page_after(const char* p, bool asks = asks_for_pages) {
  if (asks) fetch<bytes>(p + page_bytes);
}

// How far ahead loops that do more than add up ask, which caches.cpp knows, too: sums, whose chunks
// wait for each other, take longer where the distance is no constant.
extern const std::int64_t straight_ahead;
template <int bytes>
ARRAYX_HD void fetch_straight_on(const char* p, bool asks = asks_for_pages) {
  if (asks) fetch<bytes>(p + straight_ahead);
}

// For a loop that reads `bytes` at p + at, in pieces one after the other: asks for half as many of
// the next page, counted from p, and a quarter as many of the one after it, unless they start at
// p + end or later. The hardware fetches ahead within a page, but in several at once: one core
// reads memory half as fast again so.
ARRAYX_HD void fetch_pages(const char* p, std::int64_t at, std::int64_t bytes, std::int64_t end) {
  if (!asks_for_pages) return;
  constexpr std::int64_t page = page_bytes;
  const std::int64_t place = at % page, next = at - place + page;
  if (next < end) fetch(p + next + place / 2, bytes / 2);
  if (next + page < end) fetch(p + next + page + place / 4, bytes / 4);
}

}  // namespace arrayx::cpu
