#include "caches.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>

#include "fork.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"

namespace arrayx::cpu {

namespace {

// Larger ones are shared by so many cores that no program has them for itself.
constexpr std::int64_t most_bytes = std::int64_t{32} << 20;

std::string cache_file(int index, const char* name) {
  return "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/" + name;
}

// Bytes of the cache of that index, 0 where the system does not say.
std::int64_t cache_size(int index) {
  std::ifstream file(cache_file(index, "size"));  // such as 32768K
  std::int64_t size = 0;
  char unit = 0;
  return file >> size >> unit && size > 0 ? size << (unit == 'M' ? 20 : 10) : 0;
}

// The C library sums up the caches of all cores of some processors, the system does not.
std::int64_t find_last_cache() {
  if (const std::int64_t size = cache_size(3); size > 0) return size;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  if (const long second = sysconf(_SC_LEVEL2_CACHE_SIZE); second > 0) return 8 * second;
#endif
  return std::int64_t{1} << 23;
}

// Lines that share a set, and bytes from one line of a set to the next.
struct Sets {
  std::int64_t ways, period;
};
Sets find_second_cache() {
  std::ifstream file(cache_file(2, "ways_of_associativity"));
  std::int64_t ways = 0;
  const std::int64_t size = cache_size(2);
  if (!(file >> ways) || ways <= 0 || size < ways * line_bytes) return {16, std::int64_t{1} << 17};
  return {ways, size / ways};
}

const Sets& second_cache() {
  static constinit MadeOnce<const Sets> sets;
  return sets.get(find_second_cache);
}

// Of a processor made by AMD; 0 of others.
struct Kind {
  unsigned family = 0, model = 0;
};
Kind amd_kind() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx && __get_cpuid(1, &a, &b, &c, &d)) {
    return {(a >> 8 & 0xf) + (a >> 20 & 0xff), (a >> 4 & 0xf) | (a >> 12 & 0xf0)};
  }
#endif
  return {};
}
const Kind amd = amd_kind();

// Zen 3's hardware follows a row from page to page by itself: there, rows are read a fifth slower
// and copied a tenth slower where pages to come are asked for.
const bool zen3 =
    amd.family == 0x19 && (amd.model < 0x10 || (amd.model >= 0x20 && amd.model < 0x60));

// So does a Zen 4's where nothing is written. It also follows a few rows that are read side by
// side: reductions take up to half as long again where any line is asked for.
const bool zen4 = amd.family == 0x19 && !zen3;

// A Zen 5 reads from memory faster what is asked for two pages ahead; one is enough in the caches.
const bool zen5 = amd.family == 0x1a;

}  // namespace

const bool asks_for_pages = !zen3;
const Asking reading_asks = zen3 ? Asking::near : zen4 ? Asking::nothing : Asking::pages;
// A Zen 4 follows what is read by loads of 32 bytes, two to a line, more closely: x + y and x < y
// take 0.8 to 0.95 of the time so, from its last cache and from memory, but up to 1.4 times as long
// within an L2. Sums and extremes of long rows take 0.8 to 0.95 from memory, longer in the caches.
const bool reads_in_halves = zen4;
const std::int64_t straight_ahead = zen5 ? 2 * page_bytes : page_bytes;
const bool reads_long_pieces_well = amd.family != 0 && !zen3;
const bool streams_beside_arithmetic = !zen4;

std::int64_t first_cache_bytes() {
  static constinit MadeOnce<const std::int64_t> bytes;
  return bytes.get([] { return std::max(cache_size(0), std::int64_t{32} << 10); });
}

std::int64_t second_cache_bytes() {
  const Sets& second = second_cache();
  return second.ways * second.period;
}

std::int64_t last_cache_bytes() {
  static constinit MadeOnce<const std::int64_t> bytes;
  return bytes.get([] { return std::min(find_last_cache(), most_bytes); });
}

std::int64_t second_cache_lines(std::int64_t stride) {
  const Sets& second = second_cache();
  const std::int64_t apart = std::max(std::gcd(stride, second.period), std::int64_t{line_bytes});
  return second.ways * (second.period / apart);
}

bool goes_past_caches(std::int64_t result_bytes, std::int64_t moved_bytes) {
  if (result_bytes < stream_from) return false;
  const std::int64_t threads = std::min(thread_count(), 4);
  return moved_bytes >= last_cache_bytes() / 8 * 5 * threads;
}

}  // namespace arrayx::cpu
