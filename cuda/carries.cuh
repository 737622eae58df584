// What stands before a part of a line, when blocks have the parts. A line is cut into tiles, equal
// parts of it; blocks of two tiles, of four, eight … that begin at multiples of their size are
// added pairwise, and what stands before tile t is the blocks that the bits of t say, the largest
// first: before tile 6 those of tiles 0 to 3 and of 4 and 5. So the order of the additions is the
// same whatever a tile is, and whether one block walks a line or blocks hand each other the totals
// of theirs.
#pragma once

#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

inline constexpr int most_tile_bits = 30;

// The totals that blocks tell each other: of tiles, of groups of 2^group_log2 tiles, of groups of
// groups …, so that a total is known a few messages after those that it is made of. They are words
// of 32 bits, each with a flag above it, so that a word is read whole or not at all, and no other
// memory is read on its word.
// Blocks get tiles in their order by the counter, and tell a tile's total without waiting for later
// ones: whom a block waits for is running, however many blocks the device has room for.
// Of few lines beside each other tiles are many for the time that they take, and waiting for the
// last totals of group after group would take most of it. There a warp for each line does nothing
// but read the totals and answer each of them by what stands before its tile, in its place: there
// is one message each way.
struct Carries {
  u64* words = nullptr;  // zero at first
  // How many tiles of all lines have been given to blocks; behind it, how many blocks have begun.
  u32* turn = nullptr;
  i64 line_words = 0;
  i64 level[most_tile_bits / 3] = {};  // where the tiles, groups, groups of groups … begin
  int levels = 0;                      // of them that have more than one member
};

// On the host: of lines of so many tiles.
inline Carries carries_of(std::int64_t lines, std::int64_t tiles, int group_log2, int item_bytes,
                          std::optional<Scratch>& memory) {
  Carries c;
  for (std::int64_t n = tiles; n > 1; n = ((n - 1) >> group_log2) + 1) {
    c.level[c.levels++] = c.line_words;
    c.line_words += n * std::max(item_bytes / 4, 1);
  }
  c.line_words += c.line_words % 2;  // they are read in pairs
  // And two counters.
  const auto bytes = static_cast<std::size_t>(lines * c.line_words + 1) * sizeof(u64);
  memory.emplace(bytes);
  c.words = memory->as<u64>();
  c.turn = reinterpret_cast<u32*>(c.words + lines * c.line_words);
  check(cudaMemsetAsync(c.words, 0, bytes, stream()), "cudaMemsetAsync");
  return c;
}

// Items one after the other. They begin with one that changes none; products of complex numbers,
// which have none, have to know whether there are any.
template <class Op, class A>
struct Running {
  static constexpr bool has_identity = !(ops::same_type_v<Op, ops::Prod> && ops::is_complex_v<A>);
  A value = Op::template identity<A>();
  bool any = false;

  Running() = default;
  __device__ __forceinline__ Running(A item, bool is_any)
      : value(is_any ? item : Op::template identity<A>()), any(is_any) {}

  __device__ __forceinline__ A and_then(A item) const {
    return has_identity || any ? Op::combine(value, item) : item;
  }
  __device__ __forceinline__ void then(A item) {
    value = and_then(item);
    any = true;
  }
};

// The lane's item among those of 2, 4, 8 … lanes.
template <class Op, class A>
struct Blocks {
  A other[5];  // the block of 2^d lanes beside the lane's
  A total;

  // Of blocks of up to 2^bits lanes.
  __device__ __forceinline__ Blocks(A item, int bits) : total(item) {
    const int lane = threadIdx.x % warp_size;
#pragma unroll
    for (int d = 0; d < 5; ++d) {
      if (d >= bits) break;
      other[d] = from_lane(total, lane ^ 1 << d);
      total = lane >> d & 1 ? Op::combine(other[d], total) : Op::combine(total, other[d]);
    }
  }
  // What stands before the lane, of blocks of 2^first up to 2^(last - 1) lanes.
  __device__ __forceinline__ Running<Op, A> after(Running<Op, A> before, int first,
                                                  int last) const {
    const int lane = threadIdx.x % warp_size;
#pragma unroll
    for (int d = 4; d >= 0; --d) {
      if (d >= first && d < last && (lane >> d & 1)) before.then(other[d]);
    }
    return before;
  }
};

// What stands before the lane's item in its group, where it is number `at`: the same blocks, of
// groups that begin anywhere. Nothing stands before the first.
template <class Op, class A>
__device__ __forceinline__ A before_in_groups(A item, int at) {
  const int lane = threadIdx.x % warp_size;
  A block[5];  // of 2^d lanes, from the lane on
  block[0] = item;
#pragma unroll
  for (int d = 1; d < 5; ++d) {
    block[d] =
        Op::combine(block[d - 1], from_lane(block[d - 1], (lane + (1 << (d - 1))) % warp_size));
  }
  Running<Op, A> before;
#pragma unroll
  for (int d = 4; d >= 0; --d) {
    const A other = from_lane(block[d], lane - at + (at >> (d + 1) << (d + 1)));
    if (at >> d & 1) before.then(other);
  }
  return before.value;
}

template <class A>
inline constexpr int words_of = (sizeof(A) + 3) / 4;

// What a word that has been told is.
inline constexpr u32 is_total = 1, is_answer = 2;

template <class A>
__device__ __forceinline__ void publish(u64* at, A total, u32 what = is_total) {
  u32 value[words_of<A>] = {};
  memcpy(value, &total, sizeof total);
#pragma unroll
  for (int w = 0; w < words_of<A>; ++w) {
    const u64 flagged = u64{what} << 32 | value[w];
    asm volatile("st.relaxed.gpu.u64 [%0], %1;" ::"l"(at + w), "l"(flagged) : "memory");
  }
}

template <int Words>
__device__ __forceinline__ void read_words(const u64* at, u64* flagged) {
  if constexpr (Words == 1) {
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(flagged[0]) : "l"(at) : "memory");
  } else {
#pragma unroll
    for (int w = 0; w < Words; w += 2) {
      asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];"
                   : "=l"(flagged[w]), "=l"(flagged[w + 1])
                   : "l"(at + w)
                   : "memory");
    }
  }
}
// Whether what was read has been told.
template <class A>
__device__ __forceinline__ bool has_been_told(const u64* flagged, A& total, u32 what) {
  bool ready = true;
  u32 value[words_of<A>];
#pragma unroll
  for (int w = 0; w < words_of<A>; ++w) {
    value[w] = static_cast<u32>(flagged[w]);
    ready &= (flagged[w] >> 32) == what;
  }
  memcpy(&total, value, sizeof total);
  return ready;
}
// Whether it was there.
template <class A>
__device__ __forceinline__ bool read_published(const u64* at, A& total, u32 what = is_total) {
  u64 flagged[words_of<A>];
  read_words<words_of<A>>(at, flagged);
  return has_been_told(flagged, total, what);
}

// Where the total of the tile, or of its group of a level, is told.
template <class A, int GroupLog2>
__device__ __forceinline__ u64* place_of(const Carries& carries, u32 line, int level, u32 tile) {
  return carries.words + line * carries.line_words + carries.level[level] +
         i64(tile >> level * GroupLog2) * words_of<A>;
}

// Tells the total of a tile, and those of the groups that end with it; for whole warps, of which
// 2^GroupLog2 lanes have the same line and total. `speaks` is theirs, too.
template <class Op, int GroupLog2, class A>
__device__ __forceinline__ void tell(const Carries& carries, u32 line, bool speaks, u32 tile,
                                     A total) {
  constexpr int members = 1 << GroupLog2;
  const int lane = threadIdx.x % members;
  for (int level = 0;; ++level) {
    u64* const place = place_of<A, GroupLog2>(carries, line, level, tile);
    if (speaks && lane == members - 1) publish(place, total);
    const int member = (tile >> level * GroupLog2) % members;
    if (member < members - 1 || level + 1 >= carries.levels) return;
    const bool waits = speaks && lane < member;
    A item = total;
    bool ready;
    do {
      ready = !waits || read_published(place + (lane - member) * words_of<A>, item);
    } while (!__all_sync(whole_warp, ready));
    total = Blocks<Op, A>(item, GroupLog2).total;
  }
}

// Waits for what stands before a tile in each of 2^lines_log2 lines: table[k << lines_log2 | line]
// is the block of 2^k tiles, of the bits k of `tile`. The work of a whole thread block, which has
// to meet before it reads the table.
template <class Op, int GroupLog2, int AtOnce, class A>
__device__ __forceinline__ void hear(const Carries& carries, u32 first_line, u32 all_lines,
                                     int lines_log2, u32 tile, A* table) {
  constexpr int members = 1 << GroupLog2;
  const int step = static_cast<int>(blockDim.x) / members;
  const int lane = threadIdx.x % members, jobs = carries.levels << lines_log2;
  const int warp_job = threadIdx.x / warp_size * (warp_size / members);
  for (int first = 0; first + warp_job < jobs; first += step * AtOnce) {
    A item[AtOnce] = {};
    const u64* place[AtOnce];
    bool ready[AtOnce];
#pragma unroll
    for (int j = 0; j < AtOnce; ++j) {
      const int job = first + j * step + threadIdx.x / members;
      const u32 line = first_line + (job & ((1 << lines_log2) - 1));
      const int level = job >> lines_log2, member = (tile >> level * GroupLog2) % members;
      ready[j] = job >= jobs || line >= all_lines || lane >= member;
      if (!ready[j]) {
        place[j] =
            place_of<A, GroupLog2>(carries, line, level, tile) + (lane - member) * words_of<A>;
      }
    }
    bool all;
    do {
      all = true;
#pragma unroll
      for (int j = 0; j < AtOnce; ++j) {
        if (!ready[j]) ready[j] = read_published(place[j], item[j]);
      }
#pragma unroll
      for (int j = 0; j < AtOnce; ++j) all &= ready[j];
    } while (!__all_sync(whole_warp, all));
#pragma unroll
    for (int j = 0; j < AtOnce; ++j) {
      const int job = first + j * step + threadIdx.x / members;
      const int level = job >> lines_log2, member = (tile >> level * GroupLog2) % members;
#pragma unroll
      for (int d = 0; d < GroupLog2; ++d) {
        if (job < jobs && (member >> d & 1) && lane == member >> (d + 1) << (d + 1)) {
          table[(level * GroupLog2 + d) << lines_log2 | (job & ((1 << lines_log2) - 1))] = item[j];
        }
        if (d + 1 < GroupLog2) {
          const A other = from_lane(item[j], (threadIdx.x ^ 1u << d) % warp_size);
          item[j] = lane >> d & 1 ? Op::combine(other, item[j]) : Op::combine(item[j], other);
        }
      }
    }
  }
}

// Where the total of a tile is told, and answered by what stands before the tile. There is one
// level of totals then.
template <class A>
__device__ __forceinline__ u64* question(const Carries& carries, u32 line, u32 tile) {
  return carries.words + line * carries.line_words + i64(tile) * words_of<A>;
}

// Waits for what stands before a tile in each of the lines, and puts it into their places of the
// table: the work of a whole thread block, which has to meet before it reads the table.
template <class A>
__device__ __forceinline__ void hear_answers(const Carries& carries, u32 first_line, int lines,
                                             u32 tile, A* table) {
  if (static_cast<int>(threadIdx.x) >= lines) return;
  const u64* const at = question<A>(carries, first_line + threadIdx.x, tile);
  A before;
  while (!read_published(at, before, is_answer)) {
  }
  table[threadIdx.x] = before;
}

// What stands before a tile of a line, from the line's entries of the table, which are `step` items
// apart.
template <class Op, class A>
__device__ __forceinline__ Running<Op, A> before_tile(u32 tile, const A* table, int step) {
  Running<Op, A> before;
  while (tile != 0) {
    const int bit = 31 - __clz(tile);
    tile ^= 1u << bit;
    before.then(table[bit * step]);
  }
  return before;
}

// The table for the next tile, for a block that goes along a line by itself.
template <class Op, class A>
__device__ __forceinline__ void walk_on(u32 tile, A total, A* table, int step) {
  int bit = 0;
  for (; tile >> bit & 1; ++bit) total = Op::combine(table[bit * step], total);
  table[bit * step] = total;
}

// Answers all questions about a line, the first ones first: the work of a warp, with Each tiles to
// a thread at a time. An answer waits for no total that it is not made of. What is asked next is
// read while what has been asked is answered.
template <class Op, int Each, class A>
__device__ __forceinline__ void answer(const Carries& carries, u32 line, u32 tiles, A* table) {
  static_assert(Each == 4 || Each == 8);
  constexpr int pairs = Each / 2;
  const int lane = threadIdx.x % warp_size;
  const auto place = [&](u32 first) { return question<A>(carries, line, first + lane * Each); };
  const auto asked_from = [&](u32 first) {
    return static_cast<int>(min(u32{Each}, tiles - min(tiles, first + lane * Each)));
  };
  u64 words[Each * words_of<A>];
  const auto read = [&](const u64* at, int begin, int end) {
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      constexpr int each = words_of<A>;
      if (i >= begin && i < end) read_words<each>(at + i * each, words + i * each);
    }
  };
  read(place(0), 0, asked_from(0));
  for (u32 first = 0, step = 0; first < tiles; first += warp_size * Each, ++step) {
    const int asked = asked_from(first);
    u64* const at = place(first);
    const Running<Op, A> outside = before_tile<Op>(step, table, 1);
    A item[Each] = {}, all{};
    int told = 0, answered = 0;  // of the thread's tiles
    for (;;) {
#pragma unroll
      for (int i = 0; i < Each; ++i) {
        if (told != i) continue;
        if (i >= asked || has_been_told(words + i * words_of<A>, item[i], is_total)) ++told;
      }
      const unsigned waiting = __ballot_sync(whole_warp, told < Each);
      const int open = waiting == 0 ? warp_size : __ffs(static_cast<int>(waiting)) - 1;
      const int answers = lane < open ? asked : lane == open ? min(told, asked) : 0;
      const bool ends = open == warp_size;
      if (ends) {
        const u32 next = first + warp_size * Each;
        read(place(next), 0, asked_from(next));
      } else {
        read(at, told, asked);
      }
      if (!ends && !__any_sync(whole_warp, answers > answered)) continue;
      A two[pairs];
#pragma unroll
      for (int i = 0; i < pairs; ++i) two[i] = Op::combine(item[2 * i], item[2 * i + 1]);
      const A four = Op::combine(two[0], two[1]);
      A mine = four;
      if constexpr (Each == 8) mine = Op::combine(four, Op::combine(two[2], two[3]));
      const Blocks<Op, A> blocks(mine, 5);
      all = blocks.total;
      const Running<Op, A> whole = blocks.after(outside, 0, 5);
#pragma unroll
      for (int i = 0; i < Each; ++i) {
        Running<Op, A> before = whole;
        if (i & 4) before.then(four);
        if (i & 2) before.then(two[i / 4 * 2]);
        if (i & 1) before.then(item[i - 1]);
        if (i >= answered && i < answers) publish(at + i * words_of<A>, before.value, is_answer);
      }
      answered = answers;
      if (ends) break;
    }
    __syncwarp();
    if (lane == 0) walk_on<Op>(step, all, table, 1);
    __syncwarp();
  }
}

}  // namespace arrayx::cuda
