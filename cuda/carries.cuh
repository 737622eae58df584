// What stands before a part of a line, when blocks have the parts. The items of a line (equal
// pieces of it, reduced) are added one after the other in groups of 32, so are the groups in groups
// of 32 of their own, and so on; what stands before an item are the items before it in its group,
// the groups before that one in theirs …, the widest first. So the order of the additions is the
// same whether one block walks a line or blocks wait for each other's totals.
#pragma once

#include "loop.hpp"

namespace arrayx::cuda {

inline constexpr int warp_size = 32, group_log2 = 5;
inline constexpr int most_levels = 6;  // 2^30 items
inline constexpr u32 whole_warp = 0xffffffff;

// The totals that blocks tell each other: words of 32 bits, each with a flag above it, so that a
// word is read whole or not at all.
// A block waits only for blocks of lower numbers, which the device starts first (as CUB's scans
// do).
struct Carries {
  u64* words = nullptr;  // zero at first; null where one block walks a line
  i64 line_words = 0;
  i64 level[most_levels] = {};  // where the items, groups, groups of groups … of a line begin
  int levels = 0;               // of them that have more than one item
};

// On the host: the levels of lines that have so many items, `at_once` of them to a block, and the
// memory of their totals unless each block walks a line.
inline Carries carries_of(std::int64_t lines, std::int64_t items, int at_once, int item_bytes,
                          bool walks, std::optional<Scratch>& memory) {
  Carries c;
  std::int64_t words = 0;
  for (std::int64_t n = items; n > 1; n = (n - 1) / warp_size + 1) {
    c.level[c.levels++] = words;
    const bool told = n < items || at_once < warp_size;
    if (told) words += n * std::max(item_bytes / 4, 1);
  }
  if (walks || words == 0) return c;
  c.line_words = words;
  const auto bytes = static_cast<std::size_t>(lines * words) * sizeof(u64);
  memory.emplace(bytes);
  c.words = memory->as<u64>();
  check(cudaMemsetAsync(c.words, 0, bytes, stream()), "cudaMemsetAsync");
  return c;
}

// f(words of x): exchanges values of any size in words of 32 bits.
template <class A, class F>
__device__ __forceinline__ A by_words(A x, F&& f) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &x, sizeof x);
#pragma unroll
  for (u32& word : words) word = f(word);
  memcpy(&x, words, sizeof x);
  return x;
}
template <class A>
__device__ __forceinline__ A from_lane(A x, int lane) {
  return by_words(x, [&](u32 word) { return __shfl_sync(whole_warp, word, lane); });
}

// Items one after the other.
template <class Op, class A>
struct Running {
  A value{};
  bool any = false;

  __device__ __forceinline__ void then(A item) {
    value = any ? Op::combine(value, item) : item;
    any = true;
  }
};

template <class A>
__device__ __forceinline__ void publish(u64* words, i64 item, A total) {
  constexpr int count = (sizeof(A) + 3) / 4;
  u32 value[count] = {};
  memcpy(value, &total, sizeof total);
#pragma unroll
  for (int w = 0; w < count; ++w) {
    const u64 flagged = u64{1} << 32 | value[w];
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(words + item * count + w), "l"(flagged)
                 : "memory");
  }
}
// The totals of `lanes` items from `first` on, one to a lane; waits for them.
template <class A>
__device__ __forceinline__ A wait_for(const u64* words, i64 first, int lanes) {
  constexpr int count = (sizeof(A) + 3) / 4;
  const int lane = threadIdx.x % warp_size;
  u32 value[count] = {};
  bool ready;
  do {
    ready = true;
    if (lane < lanes) {
#pragma unroll
      for (int w = 0; w < count; ++w) {
        u64 flagged;
        asm volatile("ld.relaxed.gpu.u64 %0, [%1];"
                     : "=l"(flagged)
                     : "l"(words + (first + lane) * count + w)
                     : "memory");
        value[w] = static_cast<u32>(flagged);
        ready &= (flagged >> 32) != 0;
      }
    }
  } while (!__all_sync(whole_warp, ready));
  A total;
  memcpy(&total, value, sizeof total);
  return total;
}

template <class A>
__device__ __forceinline__ void keep(A* kept, A value) {  // what all lanes have read before
  __syncwarp();
  if (threadIdx.x % warp_size == 0) *kept = value;
}

// What stands before a group, and before the lane's item in it.
template <class Op, class A>
struct Before {
  Running<Op, A> group;
  A in_group{};  // of nothing for the group's first item
};

// One warp's work for items [first, first + count) of a line, which lie in one group; lane i has
// item i. `walked`, of most_levels, is what a block keeps that walks the line.
template <class Op, class A>
__device__ __forceinline__ Before<Op, A> carry_on(const Carries& carries, u32 line, i64 first,
                                                  int count, A item, A* walked) {
  const int lane = threadIdx.x % warp_size;
  const bool walks = carries.words == nullptr;
  u64* const words = carries.words + line * carries.line_words;
  if (!walks && count < warp_size && lane < count) publish(words, first + lane, item);
  Before<Op, A> before;
  A total{};         // of the group one level below …
  bool ends = true;  // … which ends with these items
  __syncwarp();
  for (int level = 0; level < carries.levels; ++level) {
    const i64 at = first >> (group_log2 * level);
    const int digit = static_cast<int>(at % warp_size);
    u64* const totals = words + carries.level[level];
    if (!walks && level > 0 && ends && lane == 0) publish(totals, at, total);
    Running<Op, A> group;
    if (walks) {
      group = {walked[level], digit > 0};
    } else if (digit > 0) {
      const A others = wait_for<A>(totals, at - digit, digit);
#pragma unroll 4
      for (int i = 0; i < digit; ++i) group.then(from_lane(others, i));
    }
    if (level > 0 && group.any) {
      Running<Op, A> wider = group;
      if (before.group.any) wider.then(before.group.value);
      before.group = wider;
    }
    if (!ends) continue;
    if (level == 0) {
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        if (lane == i) before.in_group = group.value;
        group.then(from_lane(item, i));
      }
      ends = digit + count == warp_size;
    } else {
      group.then(total);
      ends = digit == warp_size - 1;
    }
    total = group.value;
    if (walks) keep(walked + level, total);
  }
  return before;
}

}  // namespace arrayx::cuda
