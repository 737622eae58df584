// Running sums and products. The order of the additions depends on the place in a line alone:
// packs of 16 bytes, one element after the other; what stands before a pack in its row of 32, and
// before a row in its line, is blocks of 1, 2, 4, 8 … of them, each added pairwise, the largest
// first (carries.cuh). Each element is read once and written once.
#include <cuda_pipeline.h>

#include <bit>

#include "../cpp/ops/reductions.hpp"
#include "carries.cuh"

namespace arrayx::cuda {

namespace {

constexpr int warps = block_threads / warp_size;
constexpr int block_log2 = 8, packs_of_thread_log2 = 2, row_log2 = 5;
constexpr int tile_log2 = block_log2 + packs_of_thread_log2;  // of the packs of a block
constexpr int packs_of_thread = 1 << packs_of_thread_log2;
static_assert(block_threads == 1 << block_log2);
constexpr int column_bytes = 128;  // of neighbouring lines of which blocks take tiles
// Of them: all parts of a line are in one warp, and fill rows of packs.
constexpr int least_lines_log2 = 3, most_lines_log2 = 5;
constexpr int few_overlapping = 4;  // parts of lines that are scanned otherwise
constexpr int least_column_parts_log2 = row_log2 - packs_of_thread_log2;
constexpr int line_group_log2 = 5, column_group_log2 = 3;  // of Carries
constexpr u32 no_tile = ~u32{0};

// Integers give the same bits in any order.
constexpr int elements_of_pack(int itemsize) {
  return itemsize < 4 ? 8 : pack_bytes / itemsize;
}
// Blocks that a multiprocessor holds.
constexpr int resident_blocks(int itemsize) {
  return itemsize > 8 ? 3 : 4;
}
constexpr int walking_blocks(int itemsize) {
  return itemsize == 4 ? 4 : 3;
}
// Of tiles of lines beside each other: those that overlap are wide, for what they share is read and
// scanned twice.
constexpr int column_threads_log2(int itemsize, bool overlap) {
  return overlap && itemsize == 4 ? block_log2 + 1 : block_log2;
}
constexpr int resident_columns(int itemsize, bool overlap, int blocks) {
  const int threads = 1 << column_threads_log2(itemsize, overlap);
  return resident_blocks_of(threads, blocks * block_threads / threads);
}
// Threads that go along lines alone, and how many a multiprocessor has at least. Lines of up to so
// many elements are theirs, too, where rows of lines begin at sectors or tiles would overlap: on an
// H200 running sums along axis 0 of 3 × 1Mi float32 take 4.7 µs of 16.7 so, of 8 × 1Mi 18 of 22, of
// 65 × (1Mi + 1) 160 of 230; of 3 × 1Mi float64 13 of 17, of 8 × 1Mi 35; of 2 × 1Mi int32 into
// int64 6.4 of 17, of 8 × 1Mi int8 22 of 24.
constexpr int alone_threads = 64, resident_alone = 8;
constexpr int least_alone = 256;
constexpr std::int64_t most_few_alone(int itemsize, bool packs, bool converts) {
  return converts ? 16 : itemsize == 8 ? 8 : packs ? 64 : 128;
}
constexpr int resident_narrow_walks = 4;
// Tiles of a block that wait for what stands before them.
constexpr int kept_lines = 3, kept_columns = 2, kept_bands = 2, kept_rows = 2;
// Few lines beside each other, which packs go across: at most so many bytes of them in a tile; one
// of so many bytes in all is slow.
constexpr int band_bytes = 128, small_band = 8192;
constexpr int resident_bands(int itemsize) {
  return itemsize > 4 ? 3 : 2;
}
// Short rows of lines that follow each other in memory: lines of a row, fewer where blocks pass
// tiles, and the bytes of a tile that has whole lines.
constexpr int most_row_lines = 104, most_passed_row_lines = 64, rows_bytes = 24576;
constexpr int least_row_parts_log2 = row_log2 - packs_of_thread_log2, most_row_parts_log2 = 8;
constexpr int rows_threads = 128, resident_rows = 4;
// Blocks that only answer the others are about one of so many: warps that answer are slow beside
// each other. If all their warps do not answer for all lines then, there are more, but at most one
// to so many multiprocessors.
constexpr int blocks_answered = 32, least_multiprocessors = 2;
// Tiles of a line that each of their threads has.
template <class A>
constexpr int answers_of_thread = sizeof(A) > 4 ? 4 : 8;

// Elements from line to line of the totals of so many parts: odd, so that lines begin in different
// banks.
__host__ __device__ constexpr int row_line_pitch(int parts_log2) {
  const int rows_log2 = parts_log2 - (row_log2 - packs_of_thread_log2);
  return (1 << parts_log2) + (rows_log2 > 0 ? 1 << rows_log2 : 0) + 1;
}

// Dtypes that the kernels convert to `to` as they read.
constexpr bool is_converted(DType from, DType to) {
  return is_floating(from) == is_floating(to) && is_complex(from) == is_complex(to);
}

// What a thread has of a tile.
template <class A>
using Part = A[packs_of_thread][elements_of_pack(sizeof(A))];

struct ScanLoop {
  const char* in;
  char* out;
  Carries carries;
  i64 n;                  // elements of a line
  i64 in_step, out_step;  // bytes along a line
  u32 lines;
  u32 turns;  // tiles of all lines
  // What turns count first: tiles of a line, or groups of lines beside each other. Of lines that
  // share a tile, the rows of one; of lines beside each other that threads go along alone, the
  // warps of a row.
  Divisor inner;
  int lines_log2;      // of a tile
  int overlap;         // lines that neighbouring tiles of a row of lines have in common
  int row_packs_log2;  // of lines that share a tile
  // Of lines beside each other: blocks that answer the others, and for how many lines each of them
  // does; where packs go across the lines, how many a tile has, and tiles beside each other, as
  // where those overlap.
  u32 answering, lines_answered;
  Divisor together, beside;
  // Of whole rows of lines: how many there are and a tile has, the parts of a line and the elements
  // between parts of all of a row, and the pieces of those.
  u32 rows, rows_together;
  int parts_log2, gap;
  Divisor pieces;
  bool converts;
  int in_size;     // of an element of in
  int upper_bits;  // of an element of out that a signed one of in has not
  int dims;
  LoopDim dim[Loop::inline_dims];  // of the lines, innermost first: stride[0] of in, [1] of out
};

// In bytes; of in or, side 1, of out.
__device__ __forceinline__ i64 locate_line(const ScanLoop& loop, u32 line, int side) {
  i64 offset = 0;
  for (int d = 0; d < loop.dims - 1; ++d) {
    const u32 next = loop.dim[d].size.divide(line);
    offset += (line - next * loop.dim[d].size.divisor) * loop.dim[d].stride[side];
    line = next;
  }
  return offset + line * loop.dim[loop.dims - 1].stride[side];
}

// Memory that is read once and written once is the first to leave the L2 cache.
template <class P>
__device__ __forceinline__ P load_once(const char* p) {
  if constexpr (sizeof(P) == pack_bytes) {
    const uint4 words = __ldcs(reinterpret_cast<const uint4*>(p));
    P x;
    memcpy(&x, &words, sizeof x);
    return x;
  } else {
    return *reinterpret_cast<const P*>(p);
  }
}
template <class P>
__device__ __forceinline__ void store_once(char* p, const P& x) {
  static_assert(sizeof(P) == pack_bytes);
  uint4 words;
  memcpy(&words, &x, sizeof x);
  __stcs(reinterpret_cast<uint4*>(p), words);
}

template <class A>
__device__ __forceinline__ void store_pack(const ScanLoop& loop, char* p, int count,
                                           const A (&x)[elements_of_pack(sizeof(A))]) {
  constexpr int E = elements_of_pack(sizeof(A));
  if (count >= E) {
    Pack<A, E> pack;
#pragma unroll
    for (int i = 0; i < E; ++i) pack.v[i] = x[i];
    *reinterpret_cast<Pack<A, E>*>(p) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if (i < count) *reinterpret_cast<A*>(p + i * loop.out_step) = x[i];
    }
  }
}

// load(From{}) for what is read, integers by their size.
template <class A, class Load>
__device__ __forceinline__ void for_input(const ScanLoop& loop, Load&& load) {
  if (!loop.converts) return load(A());
  const auto among = [&](auto... from) {
    const auto on = [&](auto tag) {
      using From = decltype(tag);
      if constexpr (!ops::same_type_v<From, A>) {
        if (loop.in_size == int(sizeof(From))) load(tag);
      }
    };
    (on(from), ...);
  };
  if constexpr (ops::is_complex_v<A>) {
    among(Complex<f32>(), Complex<f64>());
  } else if constexpr (ops::is_float_v<A>) {
    among(f16(), f32(), f64());
  } else {
    among(u8(), u16(), u32(), u64());
  }
}
// An element of one that was read: integers have the signs that their dtype gives them.
template <class A, class From>
__device__ __forceinline__ A element_of(const ScanLoop& loop, From raw) {
  const A x = converted<A, From>(raw);
  if constexpr (std::is_integral_v<A> && sizeof(From) < sizeof(A)) {
    return static_cast<A>(static_cast<std::make_signed_t<A>>(x << loop.upper_bits) >>
                          loop.upper_bits);
  } else {
    return x;
  }
}

// x[p][i] = the element at place(p, i), if `has` it.
template <class A, class Place, class Has>
__device__ __forceinline__ void read_elements(const ScanLoop& loop, Place&& place, Has&& has,
                                              Part<A>& x) {
  constexpr int E = elements_of_pack(sizeof(A));
  for_input<A>(loop, [&](auto tag) {
    using From = decltype(tag);
    From raw[packs_of_thread][E] = {};
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (has(p, i)) raw[p][i] = *reinterpret_cast<const From*>(place(p, i));
      }
    }
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
      for (int i = 0; i < E; ++i) x[p][i] = element_of<A>(loop, raw[p][i]);
    }
  });
}

// x[p] = the pack at place(p, count), of which there are so many elements, no larger ones than A.
template <class A, class Place>
__device__ __forceinline__ void read_packs(const ScanLoop& loop, Place&& place, Part<A>& x) {
  constexpr int E = elements_of_pack(sizeof(A));
  for_input<A>(loop, [&](auto tag) {
    using From = decltype(tag);
    if constexpr (sizeof(From) <= sizeof(A)) {
      Pack<From, E> raw[packs_of_thread] = {};
#pragma unroll
      for (int p = 0; p < packs_of_thread; ++p) {
        int count;
        const char* const from = place(p, count);
        if (count >= E) {
          raw[p] = *reinterpret_cast<const Pack<From, E>*>(from);
        } else {
#pragma unroll
          for (int i = 0; i < E; ++i) {
            if (i < count) raw[p].v[i] = reinterpret_cast<const From*>(from)[i];
          }
        }
      }
#pragma unroll
      for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
        for (int i = 0; i < E; ++i) x[p][i] = element_of<A>(loop, raw[p].v[i]);
      }
    }
  });
}

// x[i] = before and x[i].
template <class Op, class A, int N>
__device__ __forceinline__ void add_before(const Running<Op, A>& before, A (&x)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = before.and_then(x[i]);
}

// How many of the `most` elements from `first` on a line has.
__device__ __forceinline__ int count_from(const ScanLoop& loop, i64 first, int most) {
  return static_cast<int>(max(i64(0), min(i64(most), loop.n - first)));
}

// The tiles of a block in shared memory, which its threads read as they wrote them.
template <class A>
struct KeptTiles {
  using Kept = Pack<A, elements_of_pack(sizeof(A))>;
  Kept* packs;

  __device__ __forceinline__ Kept& pack(int slot, int p) const {
    return packs[(slot * packs_of_thread + p) * block_threads + threadIdx.x];
  }
  __device__ __forceinline__ void keep(int slot, const Part<A>& x) const {
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      Kept kept;
#pragma unroll
      for (int i = 0; i < elements_of_pack(sizeof(A)); ++i) kept.v[i] = x[p][i];
      pack(slot, p) = kept;
    }
  }
  __device__ __forceinline__ void get(int slot, Part<A>& x) const {
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const Kept kept = pack(slot, p);
#pragma unroll
      for (int i = 0; i < elements_of_pack(sizeof(A)); ++i) x[p][i] = kept.v[i];
    }
  }
};

// To write a part of a sector takes as long as to write some whole ones: on an H100 copies by tiles
// of 128 bytes of rows that begin anywhere reach 70 % of the bandwidth, and 95 % where only what is
// read does. So neighbouring tiles of such rows have a sector of lines in common, which both scan,
// and of each row one of them writes the sector that holds the end of its own lines.

// The line that is number `at` of a tile's; false where there is none.
__device__ __forceinline__ bool find_line(const ScanLoop& loop, u32 group, int at, u32& line) {
  const u32 row = loop.beside.divide(group), all = loop.dim[0].size.divisor;
  const int own = (1 << loop.lines_log2) - loop.overlap;
  const int column = int(group - row * loop.beside.divisor) * own - loop.overlap + at;
  line = row * all + column;
  return column >= 0 && column < int(all);
}
// Bytes of a row that a tile writes, from the sector on in which its first own line lies.
__device__ __forceinline__ u32 own_bytes(const ScanLoop& loop, u32 group, int itemsize) {
  const u32 in_row = group - loop.beside.divide(group) * loop.beside.divisor;
  if (in_row + 1 == loop.beside.divisor) return ~u32{0};  // what is left of the row
  return ((1u << loop.lines_log2) - loop.overlap) * itemsize;
}
// Whether they have the element at p, of line `at`.
__device__ __forceinline__ bool is_own(const ScanLoop& loop, const char* p, int at, u32 bytes,
                                       int itemsize) {
  const u32 from_first = u32(at - loop.overlap) * u32(itemsize);
  return from_first + (u32(reinterpret_cast<u64>(p)) - from_first) % sector_bytes < bytes;
}

// Passes the tiles of longer lines through blocks that ask for them. A block tells the total of a
// tile, and keeps the tile until it has some more: the totals that stand before it should have
// arrived then. It asks for the next one when it has heard what it waited for: no other block waits
// for a tile that was given to one that waits itself. A tile that is kept late stays in registers
// until then, and takes the place of the one that has waited.
template <class Tile>
__device__ __forceinline__ void pass_tiles(const ScanLoop& loop, const Tile& tile) {
  constexpr int kept = Tile::kept_tiles;
  __shared__ u32 next;
  u32 turns[kept];
#pragma unroll
  for (u32& turn : turns) turn = no_tile;
  typename Tile::Items x;
  if (threadIdx.x == 0) next = atomicAdd(loop.carries.turn, 1);
  for (int slot = 0;;) {
    __syncthreads();
    const u32 turn = next;
    // On an H100 the second form takes 5 % less for float32 lines beside each other, the first one
    // where tiles are kept late.
    if constexpr (Tile::keeps_late) {
      if (turn < loop.turns) {
        tile.read(turn, x);
        tile.scan(turn, slot, x);
        __syncthreads();
        tile.tell(turn, slot);
      }
    } else {
      if (turn < loop.turns) {
        typename Tile::Items soon_kept = {};
        tile.read(turn, soon_kept);
        tile.scan(turn, slot, soon_kept);
      }
      __syncthreads();
      if (turn < loop.turns) tile.tell(turn, slot);
    }
#pragma unroll
    for (int i = 1; i < kept; ++i) turns[i - 1] = turns[i];
    turns[kept - 1] = turn;
    slot = slot + 1 == kept ? 0 : slot + 1;
    const bool finishes = turns[0] != no_tile;
    if (finishes && turns[0] >= loop.turns) return;
    if (finishes) tile.hear(turns[0]);
    __syncthreads();
    u32 given = no_tile;  // which is not waited for here
    if (threadIdx.x == 0 && turn < loop.turns) given = atomicAdd(loop.carries.turn, 1);
    if (finishes) tile.finish(turns[0], slot);
    if constexpr (Tile::keeps_late) tile.keep(x);
    if (threadIdx.x == 0) next = given;
  }
}

// Whether the block is one of those that answer the others, which it has done then, a warp for each
// line. The first ones to begin are: the others wait for nobody who is not running.
template <class Op, class A>
__device__ __forceinline__ bool answers_others(const ScanLoop& loop, A* table) {
  if (loop.answering == 0) return false;
  __shared__ u32 number;
  if (threadIdx.x == 0) number = atomicAdd(loop.carries.turn + 1, 1);
  __syncthreads();
  if (number >= loop.answering) return false;
  const u32 warp = threadIdx.x / warp_size, line = number * loop.lines_answered + warp;
  if (warp < loop.lines_answered && line < loop.lines) {
    answer<Op, answers_of_thread<A>>(loop.carries, line, loop.turns / loop.inner.divisor,
                                     table + warp * most_tile_bits);
  }
  return true;
}

// A part, of which there are so many elements.
template <class A>
__device__ __forceinline__ void read_part(const ScanLoop& loop, const char* from, int count,
                                          Part<A>& x) {
  constexpr int E = elements_of_pack(sizeof(A));
  read_elements(
      loop, [&](int p, int i) { return from + (p * E + i) * loop.in_step; },
      [&](int p, int i) { return p * E + i < count; }, x);
}
// Gives the part's total.
template <class Op, class A>
__device__ __forceinline__ A scan_part(Part<A>& x) {
  constexpr int E = elements_of_pack(sizeof(A));
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
    for (int i = 1; i < E; ++i) x[p][i] = Op::combine(x[p][i - 1], x[p][i]);
  }
  return Op::combine(Op::combine(x[0][E - 1], x[1][E - 1]), Op::combine(x[2][E - 1], x[3][E - 1]));
}
// Adds what stands before a part in its row, and before the row.
template <class Op, class A>
__device__ __forceinline__ void add_to_part(Running<Op, A> in_row, const Running<Op, A>& row,
                                            Part<A>& x) {
  constexpr int E = elements_of_pack(sizeof(A));
  const A both = Op::combine(x[0][E - 1], x[1][E - 1]);
  const A last[] = {x[0][E - 1], x[2][E - 1]};
#pragma unroll
  for (int i = 0; i < packs_of_thread; ++i) {
    Running<Op, A> pack = in_row;
    if (i % 2 > 0) pack.then(last[i / 2]);
    if (i == 1) in_row.then(both);
    add_before(pack, x[i]);
    add_before(row, x[i]);
  }
}

// ---- lines of their own -------------------------------------------------------------------------

// Lane i of a warp has pack i of a row of 2^bits packs, or more rows: what stands before a pack in
// its row is added to it. `rows` are the totals of 32 packs.
template <class Op, class A>
__device__ __forceinline__ void scan_rows(Part<A>& x, int bits, A* rows) {
  constexpr int E = elements_of_pack(sizeof(A));
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
    for (int i = 1; i < E; ++i) x[p][i] = Op::combine(x[p][i - 1], x[p][i]);
    const Blocks<Op, A> packs(x[p][E - 1], bits);
    add_before(packs.after({}, 0, bits), x[p]);
    if (threadIdx.x % warp_size == 0) rows[p * warps + threadIdx.x / warp_size] = packs.total;
  }
}
// Adds what stands before the rows; lane i knows it of row i. `begins`(row): nothing does.
template <class Op, class A, class Begins>
__device__ __forceinline__ void add_rows(A before, Begins&& begins, Part<A>& x) {
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
    const int row = p * warps + threadIdx.x / warp_size;
    add_before(Running<Op, A>{from_lane(before, row), !begins(row)}, x[p]);
  }
}

// Lines of one tile or less, several of which share one.
// Packed: packs are one load and one store each.
template <class Op, class A, bool Packed>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_blocks(sizeof(A)) +
                                                                        (sizeof(A) < 4 ? 0 : 1)))
    scan_lines(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  constexpr int E = elements_of_pack(sizeof(A));
  __shared__ __align__(16) unsigned char row_bytes[warp_size * sizeof(A)];
  A* const rows = reinterpret_cast<A*>(row_bytes);
  const int pack_bits = loop.row_packs_log2;
  const u32 rows_of_line = loop.inner.divisor, lines = (1 << tile_log2 >> pack_bits) / rows_of_line;
  const auto place = [&](int p, int side, i64 step, i64& offset) {  // and how many it has
    const u32 s = p * block_threads + threadIdx.x, row = s >> pack_bits;
    const u32 at = loop.inner.divide(row), line = blockIdx.x * lines + at;
    if (at >= lines || line >= loop.lines) return 0;
    const u32 pack = (row - at * rows_of_line) << pack_bits | (s & ((1 << pack_bits) - 1));
    const int first = static_cast<int>(pack) * E;
    offset = locate_line(loop, line, side) + first * step;
    return static_cast<int>(loop.n) - first;
  };
  Part<A> x = {};
  if constexpr (Packed) {
    read_packs(
        loop,
        [&](int p, int& count) {
          i64 offset = 0;
          count = place(p, 0, loop.in_step, offset);
          return loop.in + offset;
        },
        x);
  } else {
    const char* in[packs_of_thread];
    int count[packs_of_thread];
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      i64 offset = 0;
      count[p] = place(p, 0, loop.in_step, offset);
      in[p] = loop.in + offset;
    }
    read_elements(
        loop, [&](int p, int i) { return in[p] + i * loop.in_step; },
        [&](int p, int i) { return i < count[p]; }, x);
  }
  scan_rows<Op>(x, pack_bits, rows);
  if (rows_of_line > 1) {
    __syncthreads();
    const int lane = threadIdx.x % warp_size;
    const int in_line = lane - loop.inner.divide(lane) * rows_of_line;
    const A before = before_in_groups<Op>(rows[lane], in_line);
    add_rows<Op>(before, [&](int row) { return from_lane(in_line, row) == 0; }, x);
  }
#pragma unroll
  for (int p = 0; p < packs_of_thread; ++p) {
    i64 offset = 0;
    const int stored = place(p, 1, loop.out_step, offset);
    char* const out = loop.out + offset;
    if constexpr (Packed) {
      store_pack(loop, out, stored, x[p]);
    } else {
#pragma unroll
      for (int i = 0; i < E; ++i) {
        if (i < stored) *reinterpret_cast<A*>(out + i * loop.out_step) = x[p][i];
      }
    }
  }
}

// A warp has some rows, and each of its threads packs that follow each other; memory is read and
// written by neighbouring threads at neighbouring packs or, where they are not aligned, elements.
// What the threads exchange for that goes through the kept tiles.
template <class Op, class A, bool Packed>
struct LineTile {
  static constexpr int E = elements_of_pack(sizeof(A)), warp_packs = warp_size * packs_of_thread;
  static constexpr int row_bits = row_log2 - packs_of_thread_log2;  // of the parts of a row
  static constexpr int kept_tiles = kept_lines;
  static constexpr bool keeps_late = false;
  using Items = Part<A>;
  using Kept = Pack<A, E>;
  const ScanLoop& loop;
  Kept* kept;
  A* rows;  // of each slot
  A* table;

  static __device__ __forceinline__ int lane() { return threadIdx.x % warp_size; }
  static __device__ __forceinline__ int warp() { return threadIdx.x / warp_size; }
  // Pack k of the warp's, spread over the banks whether threads have one or some in turn.
  __device__ __forceinline__ Kept& pack(int slot, int k) const {
    return kept[(slot * warps + warp()) * warp_packs + (k ^ (k >> 3 & 3))];
  }
  __device__ __forceinline__ A& element(int slot, int e) const {
    return pack(slot, e / E).v[e % E];
  }
  // Where the thread's first element is, and how many follow in the line.
  __device__ __forceinline__ i64 place(u32 turn, int side, i64 step, int& left) const {
    const u32 line = loop.inner.divide(turn), tile = turn - line * loop.inner.divisor;
    const i64 first =
        ((i64(tile) << tile_log2) + warp() * warp_packs) * E + lane() * (Packed ? E : 1);
    left = static_cast<int>(min(loop.n - first, i64(warp_packs * E)));
    return locate_line(loop, line, side) + first * step;
  }
  __device__ __forceinline__ void read(u32 turn, Part<A>& x) const {
    int left;
    const char* const in = loop.in + place(turn, 0, loop.in_step, left);
    if constexpr (Packed) {
      read_packs(
          loop,
          [&](int p, int& count) {
            const int e = p * warp_size * E;
            count = left - e;
            return in + e * loop.in_step;
          },
          x);
    } else {
      read_elements(
          loop, [&](int p, int i) { return in + (p * E + i) * warp_size * loop.in_step; },
          [&](int p, int i) { return (p * E + i) * warp_size < left; }, x);
    }
  }
  __device__ __forceinline__ void scan(u32, int slot, Part<A>& x) const {
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      if constexpr (Packed) {
        Kept mine;
#pragma unroll
        for (int i = 0; i < E; ++i) mine.v[i] = x[p][i];
        pack(slot, p * warp_size + lane()) = mine;
      } else {
#pragma unroll
        for (int i = 0; i < E; ++i) element(slot, (p * E + i) * warp_size + lane()) = x[p][i];
      }
    }
    __syncwarp();
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const Kept mine = pack(slot, lane() * packs_of_thread + p);
#pragma unroll
      for (int i = 0; i < E; ++i) x[p][i] = mine.v[i];
    }
    const Blocks<Op, A> parts(scan_part<Op>(x), row_bits);
    add_to_part<Op, A>(parts.after({}, 0, row_bits), {}, x);
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      Kept mine;
#pragma unroll
      for (int i = 0; i < E; ++i) mine.v[i] = x[p][i];
      pack(slot, lane() * packs_of_thread + p) = mine;
    }
    if (lane() % (1 << row_bits) == 0) {
      rows[slot * warp_size + warp() * packs_of_thread + (lane() >> row_bits)] = parts.total;
    }
  }
  __device__ __forceinline__ void tell(u32 turn, int slot) const {
    if (threadIdx.x / warp_size < warps - 1) return;
    const u32 line = loop.inner.divide(turn), tile = turn - line * loop.inner.divisor;
    const Blocks<Op, A> blocks(rows[slot * warp_size + threadIdx.x % warp_size], row_log2);
    cuda::tell<Op, line_group_log2>(loop.carries, line, true, tile, blocks.total);
  }
  __device__ __forceinline__ void hear(u32 turn) const {
    const u32 line = loop.inner.divide(turn), tile = turn - line * loop.inner.divisor;
    cuda::hear<Op, line_group_log2, 1>(loop.carries, line, loop.lines, 0, tile, table);
  }
  __device__ __forceinline__ void finish(u32 turn, int slot) const {
    const u32 line = loop.inner.divide(turn), tile = turn - line * loop.inner.divisor;
    const Blocks<Op, A> blocks(rows[slot * warp_size + threadIdx.x % warp_size], row_log2);
    const A before = blocks.after(before_tile<Op>(tile, table, 1), 0, row_log2).value;
    int left;
    char* const out = loop.out + place(turn, 1, loop.out_step, left);
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const int row = warp() * packs_of_thread + p;
      const Running<Op, A> row_before{from_lane(before, row), tile > 0 || row > 0};
      A x[E];
      if constexpr (Packed) {
        const Kept mine = pack(slot, p * warp_size + lane());
#pragma unroll
        for (int i = 0; i < E; ++i) x[i] = mine.v[i];
        add_before(row_before, x);
        const int e = p * warp_size * E;
        store_pack(loop, out + e * loop.out_step, left - e, x);
      } else {
#pragma unroll
        for (int i = 0; i < E; ++i) x[i] = element(slot, (p * E + i) * warp_size + lane());
        add_before(row_before, x);
#pragma unroll
        for (int i = 0; i < E; ++i) {
          const int e = (p * E + i) * warp_size;
          if (e < left) *reinterpret_cast<A*>(out + e * loop.out_step) = x[i];
        }
      }
    }
  }
};
template <class Op, class A, bool Packed>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_blocks(sizeof(A))))
    pass_lines(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Tile = LineTile<Op, A, Packed>;
  extern __shared__ __align__(16) unsigned char kept_bytes[];
  __shared__ __align__(16) unsigned char row_bytes[kept_lines * warp_size * sizeof(A)];
  __shared__ __align__(16) unsigned char table_bytes[most_tile_bits * sizeof(A)];
  pass_tiles(loop, Tile{loop, reinterpret_cast<typename Tile::Kept*>(kept_bytes),
                        reinterpret_cast<A*>(row_bytes), reinterpret_cast<A*>(table_bytes)});
}

// ---- lines beside each other --------------------------------------------------------------------

// Where a thread stands: neighbouring threads have neighbouring lines, and each of them a part,
// packs that follow each other; or, turned, a warp has all parts of a line.
struct ColumnPlace {
  int line, part, slot, turned_line, turned_part, turned_slot;
  int parts_log2, row_bits;  // of the parts of a row

  __device__ __forceinline__ ColumnPlace(int threads_log2, int lines_log2)
      : parts_log2(threads_log2 - lines_log2) {
    const int parts = 1 << parts_log2;
    line = threadIdx.x & ((1 << lines_log2) - 1);
    part = threadIdx.x >> lines_log2;
    slot = line * (parts + 1) + part;  // spread over the banks
    turned_line = threadIdx.x >> parts_log2;
    turned_part = threadIdx.x & (parts - 1);
    turned_slot = turned_line * (parts + 1) + turned_part;
    row_bits = min(parts_log2, row_log2 - packs_of_thread_log2);
  }
};

// Overlaps: neighbouring tiles do.
template <class Op, class A, bool Overlaps>
struct ColumnTile {
  static constexpr int E = elements_of_pack(sizeof(A)), each = packs_of_thread * E;
  static constexpr int threads = 1 << column_threads_log2(sizeof(A), Overlaps);
  using Items = Part<A>;
  static __device__ __forceinline__ ColumnPlace place_of(const ScanLoop& loop) {
    return {column_threads_log2(sizeof(A), Overlaps), loop.lines_log2};
  }
  const ScanLoop& loop;
  ColumnPlace at;
  KeptTiles<A> kept;
  int slots;  // of the parts of a tile, with gaps
  A* totals;  // of the parts, of each kept tile
  A* inside;  // what stands before a part in its row, and …
  A* before;  // … before that
  A* table;

  __device__ __forceinline__ u32 first_line(u32 turn, u32& tile) const {
    tile = loop.inner.divide(turn);
    return (turn - tile * loop.inner.divisor) << loop.lines_log2;
  }
  // Where the thread's part begins, and how many elements it has.
  __device__ __forceinline__ int place(u32 turn, int side, i64 step, i64& offset) const {
    u32 tile;
    u32 line = first_line(turn, tile) + at.line;
    if constexpr (Overlaps) {
      if (!find_line(loop, line >> loop.lines_log2, at.line, line)) return 0;
    } else {
      if (line >= loop.lines) return 0;
    }
    const i64 first = ((i64(tile) << at.parts_log2) + at.part) * each;
    offset = locate_line(loop, line, side) + first * step;
    return count_from(loop, first, each);
  }
  __device__ __forceinline__ void read(u32 turn, Part<A>& x) const {
    i64 offset = 0;
    const int count = place(turn, 0, loop.in_step, offset);
    read_part(loop, loop.in + offset, count, x);
  }
  __device__ __forceinline__ void scan_packs(int slot, Part<A>& x) const {
    totals[slot * slots + at.slot] = scan_part<Op>(x);
  }
  __device__ __forceinline__ Blocks<Op, A> blocks(int slot) const {
    return Blocks<Op, A>(totals[slot * slots + at.turned_slot], at.parts_log2);
  }
  __device__ __forceinline__ void scan(u32, int slot, Part<A>& x) const {
    scan_packs(slot, x);
    kept.keep(slot, x);
  }
  __device__ __forceinline__ void tell(u32 turn, int slot) const {
    u32 tile;
    const u32 line = first_line(turn, tile) + at.turned_line;
    if (loop.answering > 0) {
      const A total = blocks(slot).total;
      if (at.turned_part == 0 && line < loop.lines) {
        publish(question<A>(loop.carries, line, tile), total);
      }
      return;
    }
    const bool speaks = at.turned_part < 1 << column_group_log2 && line < loop.lines;
    cuda::tell<Op, column_group_log2>(loop.carries, line, speaks, tile, blocks(slot).total);
  }
  __device__ __forceinline__ void hear(u32 turn) const {
    u32 tile;
    const u32 first = first_line(turn, tile);
    if (loop.answering > 0) {
      const int lines = static_cast<int>(min(1u << loop.lines_log2, loop.lines - first));
      return hear_answers(loop.carries, first, lines, tile, table);
    }
    // So many totals at once as a thread has when there are 2^15 tiles.
    constexpr int at_once = sizeof(A) > 8 ? 2 : sizeof(A) > 4 ? 3 : 5;
    cuda::hear<Op, column_group_log2, at_once>(loop.carries, first, loop.lines, loop.lines_log2,
                                               tile, table);
  }
  __device__ __forceinline__ void finish(u32 turn, int slot) const {
    u32 tile;
    first_line(turn, tile);
    A* const own = table + at.turned_line;
    scan_parts(slot, loop.answering > 0 ? Running<Op, A>(*own, tile > 0)
                                        : before_tile<Op>(tile, own, 1 << loop.lines_log2));
    __syncthreads();
    Part<A> x;
    kept.get(slot, x);
    store(turn, tile, x);
  }
  // Gives the total of the line.
  __device__ __forceinline__ A scan_parts(int slot, Running<Op, A> outside) const {
    const Blocks<Op, A> parts = blocks(slot);
    before[at.turned_slot] = parts.after(outside, at.row_bits, at.parts_log2).value;
    inside[at.turned_slot] = parts.after({}, 0, at.row_bits).value;
    return parts.total;
  }
  // `begins`: the tile begins its line; `own`: of own_bytes().
  __device__ __forceinline__ void store_part(char* p, int count, bool begins, u32 own,
                                             Part<A>& x) const {
    const Running<Op, A> in_row{inside[at.slot], (at.part & ((1 << at.row_bits) - 1)) > 0};
    const Running<Op, A> row{before[at.slot], !begins || at.part >> at.row_bits > 0};
    add_to_part<Op>(in_row, row, x);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      char* const to = p + i * loop.out_step;
      const bool is = !Overlaps || is_own(loop, to, at.line, own, sizeof(A));
      if (i < count && is) *reinterpret_cast<A*>(to) = x[i / E][i % E];
    }
  }
  __device__ __forceinline__ u32 own(u32 turn) const {
    u32 tile;
    return Overlaps ? own_bytes(loop, first_line(turn, tile) >> loop.lines_log2, sizeof(A)) : 0;
  }
  __device__ __forceinline__ void store(u32 turn, u32 tile, Part<A>& x) const {
    i64 offset = 0;
    const int count = place(turn, 1, loop.out_step, offset);
    store_part(loop.out + offset, count, tile == 0, own(turn), x);
  }
};

// Lines of one tile.
template <class Op, class A, bool Overlaps>
__global__ void __launch_bounds__(1 << column_threads_log2(sizeof(A), Overlaps),
                                  resident_columns(sizeof(A), Overlaps, resident_blocks(sizeof(A))))
    scan_columns(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Tile = ColumnTile<Op, A, Overlaps>;
  constexpr int slots = 2 * Tile::threads;
  __shared__ __align__(16) unsigned char part_bytes[3 * slots * sizeof(A)];
  A* const parts = reinterpret_cast<A*>(part_bytes);
  const Tile tile{loop,          Tile::place_of(loop), {}, slots, parts,
                  parts + slots, parts + 2 * slots,    {}};
  Part<A> x = {};
  tile.read(blockIdx.x, x);
  tile.scan_packs(0, x);
  __syncthreads();
  tile.scan_parts(0, {});
  __syncthreads();
  tile.store(blockIdx.x, 0, x);
}

// Lines of several tiles, enough of them for all blocks: a block goes along its own, and reads one
// tile ahead.
template <class Op, class A, bool Overlaps>
__global__ void __launch_bounds__(1 << column_threads_log2(sizeof(A), Overlaps),
                                  resident_columns(sizeof(A), Overlaps, walking_blocks(sizeof(A))))
    walk_columns(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Tile = ColumnTile<Op, A, Overlaps>;
  constexpr int lines = Tile::threads >> least_column_parts_log2, slots = Tile::threads + lines;
  __shared__ __align__(16) unsigned char part_bytes[3 * slots * sizeof(A)];
  __shared__ __align__(16) unsigned char table_bytes[most_tile_bits * lines * sizeof(A)];
  A* const parts = reinterpret_cast<A*>(part_bytes);
  A* const table = reinterpret_cast<A*>(table_bytes);
  const Tile tile{loop,          Tile::place_of(loop), {},   slots, parts,
                  parts + slots, parts + 2 * slots,    table};
  A* const own = table + tile.at.turned_line;
  const u32 own_bytes = tile.own(blockIdx.x);
  i64 from = 0, to = 0;
  tile.place(blockIdx.x, 0, loop.in_step, from);
  tile.place(blockIdx.x, 1, loop.out_step, to);
  const char* in = loop.in + from;
  char* out = loop.out + to;
  u32 line = (blockIdx.x << loop.lines_log2) + tile.at.line;
  const bool exists =
      Overlaps ? find_line(loop, blockIdx.x, tile.at.line, line) : line < loop.lines;
  const i64 length = i64(tile.each) << tile.at.parts_log2;  // of a tile
  i64 left = exists ? loop.n - tile.at.part * tile.each : 0;
  const auto count = [&] { return static_cast<int>(max(i64(0), min(i64(tile.each), left))); };
  Part<A> x = {};
  read_part(loop, in, count(), x);
  for (i64 rest = loop.n, along = 0;; ++along) {
    const int stored = count();
    Part<A> ahead = {};
    rest -= length;
    left -= length;
    in += length * loop.in_step;
    if (rest > 0) read_part(loop, in, count(), ahead);
    tile.scan_packs(0, x);
    __syncthreads();
    const u32 turn = static_cast<u32>(along);
    const A total = tile.scan_parts(0, before_tile<Op>(turn, own, 1 << loop.lines_log2));
    __syncwarp();
    if (tile.at.turned_part == 0) walk_on<Op>(turn, total, own, 1 << loop.lines_log2);
    __syncthreads();
    tile.store_part(out, stored, along == 0, own_bytes, x);
    if (rest <= 0) return;
    out += length * loop.out_step;
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
#pragma unroll
      for (int i = 0; i < tile.E; ++i) x[p][i] = ahead[p][i];
    }
  }
}

// Which lines beside each other a thread goes along: those of a pack of memory, or as many that
// lie apart, each beside those of its neighbours.
enum class Alone { none, packs, apart };

// So many lines that each thread goes along some of them.
template <class Op, class A, Alone form, class From = A>
__global__ void __launch_bounds__(alone_threads, resident_blocks_of(alone_threads, resident_alone))
    scan_alone(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  constexpr int Across = pack_bytes / sizeof(A);
  // From one of a thread's lines to the next.
  constexpr int beside = form == Alone::apart ? warp_size : 1;
  constexpr int E = elements_of_pack(sizeof(A)), each = packs_of_thread * E;
  constexpr int row_bits = row_log2 - packs_of_thread_log2;
  extern __shared__ __align__(16) unsigned char alone_bytes[];
  A* const table = reinterpret_cast<A*>(alone_bytes) + threadIdx.x * Across;
  const int lane = threadIdx.x % warp_size;
  const u32 warp = blockIdx.x * (alone_threads / warp_size) + threadIdx.x / warp_size;
  const u32 outer = loop.inner.divide(warp), inner_size = loop.dim[0].size.divisor;
  const int first = static_cast<int>(warp - outer * loop.inner.divisor) * (warp_size * Across);
  const int column = first + lane * (form == Alone::apart ? 1 : Across);
  if (outer * inner_size >= loop.lines) return;
  const int own = int(inner_size) - column;
  const char* in = loop.in + locate_line(loop, outer * inner_size, 0) + i64(column) * sizeof(From);
  char* out = loop.out + locate_line(loop, outer * inner_size, 1) + i64(column) * sizeof(A);
  using Lines = Pack<A, Across>;  // an element of each
  using Read = Pack<From, Across>;
  const auto load = [&](const char* p, Read& x) {
    if constexpr (form == Alone::packs) {
      if (own > 0) x = *reinterpret_cast<const Read*>(p);
    } else {
#pragma unroll
      for (int l = 0; l < Across; ++l) {
        if (l * beside < own) x.v[l] = reinterpret_cast<const From*>(p)[l * beside];
      }
    }
  };
  const auto store = [&](char* p, const Lines& x) {
    A* const to = reinterpret_cast<A*>(p);
    if constexpr (form == Alone::packs) {
      if (own > 0) *reinterpret_cast<Lines*>(to) = x;
    } else {
#pragma unroll
      for (int l = 0; l < Across; ++l) {
        if (l * beside < own) to[l * beside] = x.v[l];
      }
    }
  };
  if (loop.n <= E) {  // a pack along each line, one element after the other
    Read raw[E] = {};
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if (i < loop.n) load(in + i * loop.in_step, raw[i]);
    }
    Lines sums;
#pragma unroll
    for (int i = 0; i < E; ++i) {
#pragma unroll
      for (int l = 0; l < Across; ++l) {
        const A x = element_of<A>(loop, raw[i].v[l]);
        sums.v[l] = i == 0 ? x : Op::combine(sums.v[l], x);
      }
      if (i < loop.n) store(out + i * loop.out_step, sums);
    }
    return;
  }
  A blocks[row_bits][Across];  // of the row's parts
  Running<Op, A> row[Across];
  u32 part = 0;
  for (i64 left = loop.n; left > 0; left -= each, ++part) {
    const int count = static_cast<int>(min(i64(each), left));
    Read raw[each] = {};
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (i < count) load(in + i * loop.in_step, raw[i]);
    }
    Part<A> x[Across];
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int l = 0; l < Across; ++l) x[l][i / E][i % E] = element_of<A>(loop, raw[i].v[l]);
    }
    const u32 at = part % (1 << row_bits);
    A total[Across];
#pragma unroll
    for (int l = 0; l < Across; ++l) {
      total[l] = scan_part<Op>(x[l]);
      Running<Op, A> in_row;
#pragma unroll
      for (int d = row_bits - 1; d >= 0; --d) {
        if (at >> d & 1) in_row.then(blocks[d][l]);
      }
      add_to_part<Op>(in_row, row[l], x[l]);
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (i >= count) continue;
      Lines line;
#pragma unroll
      for (int l = 0; l < Across; ++l) line.v[l] = x[l][i / E][i % E];
      store(out + i * loop.out_step, line);
    }
    in += each * loop.in_step;
    out += each * loop.out_step;
    bool ends = true;
#pragma unroll
    for (int d = 0; d < row_bits; ++d) {
      if (!ends) continue;
      ends = at >> d & 1;
#pragma unroll
      for (int l = 0; l < Across; ++l) {
        if (ends) {
          total[l] = Op::combine(blocks[d][l], total[l]);
        } else {
          blocks[d][l] = total[l];
        }
      }
    }
    if (ends) {
#pragma unroll
      for (int l = 0; l < Across; ++l) {
        constexpr int step = alone_threads * Across;
        walk_on<Op>(part >> row_bits, total[l], table + l, step);
        row[l] = before_tile<Op>((part >> row_bits) + 1, table + l, step);
      }
    }
  }
}

template <class Op, class A>
struct PassedColumnTile : ColumnTile<Op, A, false> {
  static constexpr int kept_tiles = kept_columns;
  static constexpr bool keeps_late = false;
};
template <class Op, class A>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_blocks(sizeof(A))))
    pass_columns(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Tile = PassedColumnTile<Op, A>;
  constexpr int slots = block_threads + warp_size;
  extern __shared__ __align__(16) unsigned char kept_bytes[];
  __shared__ __align__(16) unsigned char part_bytes[(kept_columns + 2) * slots * sizeof(A)];
  __shared__ __align__(16) unsigned char table_bytes[most_tile_bits * column_bytes];
  A* const parts = reinterpret_cast<A*>(part_bytes);
  if (answers_others<Op>(loop, parts)) return;
  pass_tiles(loop, Tile{{loop,
                         Tile::place_of(loop),
                         {reinterpret_cast<typename KeptTiles<A>::Kept*>(kept_bytes)},
                         slots,
                         parts,
                         parts + kept_columns * slots,
                         parts + (kept_columns + 1) * slots,
                         reinterpret_cast<A*>(table_bytes)}});
}

// ---- few lines beside each other ----------------------------------------------------------------

// A thread has a part of each of the lines that one pack goes across; 32 parts make a tile. A warp
// has the totals of all parts of as many lines. Short rows are written by neighbouring threads:
// what these exchange for that goes through the kept tile.
template <class Op, class A>
struct BandTile {
  static constexpr int E = elements_of_pack(sizeof(A)), each = packs_of_thread * E;
  static constexpr int across = pack_bytes / sizeof(A);  // lines of a pack
  static constexpr int kept_tiles = kept_bands;
  static constexpr bool keeps_late = true;
  static constexpr int pitch = warp_size + 1;  // of a line's parts
  static constexpr int row_bits = row_log2 - packs_of_thread_log2;
  static constexpr int most_threads = warp_size * band_bytes / pack_bytes;
  struct Items {
    A row[each][across];
  };
  using Across = Pack<A, across>;
  const ScanLoop& loop;
  Across* kept;
  A* totals;  // of the parts, of each kept tile
  A* inside;  // what stands before a part in its row, and …
  A* before;  // … before that
  A* table;

  __device__ __forceinline__ int slots() const { return pitch * int(loop.together.divisor); }
  __device__ __forceinline__ int part() const {
    return static_cast<int>(loop.together.divide(threadIdx.x * across));
  }
  __device__ __forceinline__ int line() const {  // the first of the thread's
    return static_cast<int>(threadIdx.x * across - part() * loop.together.divisor);
  }
  // The first of the lines that the thread's warp has the totals of.
  static __device__ __forceinline__ int turned_line() { return threadIdx.x / warp_size * across; }
  static __device__ __forceinline__ int lane() { return threadIdx.x % warp_size; }

  // The first line of a tile, and how many it has.
  __device__ __forceinline__ u32 first_line(u32 turn, u32& tile, int& lines) const {
    tile = loop.inner.divide(turn);
    const u32 group = turn - tile * loop.inner.divisor, row = loop.beside.divide(group);
    const u32 column = (group - row * loop.beside.divisor) * loop.together.divisor;
    const u32 all = loop.dim[0].size.divisor;
    lines = static_cast<int>(min(loop.together.divisor, all - column));
    return row * all + column;
  }
  __device__ __forceinline__ int place(u32 turn, int side, i64 step, i64& offset) const {
    u32 tile;
    int lines;
    const u32 first = first_line(turn, tile, lines);
    if (line() >= lines) return 0;
    const i64 begin = (i64(tile) * warp_size + part()) * each;
    offset = locate_line(loop, first + line(), side) + begin * step;
    return count_from(loop, begin, each);
  }
  __device__ __forceinline__ void read(u32 turn, Items& x) const {
    i64 offset = 0;
    const int count = place(turn, 0, loop.in_step, offset);
    for_input<A>(loop, [&](auto tag) {
      using From = decltype(tag);
      if constexpr (sizeof(From) <= sizeof(A)) {
        Pack<From, across> raw[each] = {};
#pragma unroll
        for (int i = 0; i < each; ++i) {
          if (i >= count) continue;
          raw[i] = load_once<Pack<From, across>>(loop.in + offset + i * loop.in_step);
        }
#pragma unroll
        for (int i = 0; i < each; ++i) {
#pragma unroll
          for (int l = 0; l < across; ++l) x.row[i][l] = element_of<A>(loop, raw[i].v[l]);
        }
      }
    });
  }
  __device__ __forceinline__ void scan(u32, int slot, Items& x) const {
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int l = 0; l < across; ++l) {
        if (i % E > 0) x.row[i][l] = Op::combine(x.row[i - 1][l], x.row[i][l]);
      }
    }
#pragma unroll
    for (int l = 0; l < across; ++l) {
      totals[slot * slots() + (line() + l) * pitch + part()] =
          Op::combine(Op::combine(x.row[E - 1][l], x.row[2 * E - 1][l]),
                      Op::combine(x.row[3 * E - 1][l], x.row[4 * E - 1][l]));
    }
  }
  __device__ __forceinline__ void keep(const Items& x) const {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      Across pack;
#pragma unroll
      for (int l = 0; l < across; ++l) pack.v[l] = x.row[i][l];
      pack_at(threadIdx.x, i) = pack;
    }
  }
  // Pack i of a thread, spread over the banks whether threads have their own or those of memory.
  __device__ __forceinline__ Across& pack_at(int thread, int i) const {
    const int packs = static_cast<int>(loop.together.divisor) / across;
    return kept[i * blockDim.x + (thread ^ (i * packs & 7))];
  }
  __device__ __forceinline__ Blocks<Op, A> blocks(int slot, int l) const {
    return Blocks<Op, A>(totals[slot * slots() + (turned_line() + l) * pitch + lane()], 5);
  }
  __device__ __forceinline__ void tell(u32 turn, int slot) const {
    u32 tile;
    int lines;
    const u32 first = first_line(turn, tile, lines);
    A total{};
#pragma unroll
    for (int l = 0; l < across; ++l) {
      const A of_line = blocks(slot, l).total;
      if (l == lane()) total = of_line;
    }
    if (lane() < across && turned_line() < lines) {
      publish(question<A>(loop.carries, first + turned_line() + lane(), tile), total);
    }
  }
  __device__ __forceinline__ void hear(u32 turn) const {
    u32 tile;
    int lines;
    const u32 first = first_line(turn, tile, lines);
    hear_answers(loop.carries, first, lines, tile, table);
  }
  __device__ __forceinline__ void finish(u32 turn, int slot) const {
    u32 tile;
    int lines;
    const u32 first = first_line(turn, tile, lines);
#pragma unroll
    for (int l = 0; l < across; ++l) {
      const int at = turned_line() + l;
      const Blocks<Op, A> parts = blocks(slot, l);
      before[at * pitch + lane()] =
          parts.after(Running<Op, A>(table[at], tile > 0), row_bits, 5).value;
      inside[at * pitch + lane()] = parts.after({}, 0, row_bits).value;
    }
    __syncthreads();
    Running<Op, A> in_row[across], row[across];
#pragma unroll
    for (int l = 0; l < across; ++l) {
      const int at = (line() + l) * pitch + part();
      in_row[l] = {inside[at], (part() & ((1 << row_bits) - 1)) > 0};
      row[l] = {before[at], tile > 0 || part() >> row_bits > 0};
    }
    // Rows of pairs of sectors are stored as they are.
    const bool turns = loop.together.divisor * sizeof(A) % (2 * sector_bytes) != 0;
    i64 offset = 0;
    const int count = place(turn, 1, loop.out_step, offset);
    const auto own = [&](int i) -> Across& { return pack_at(threadIdx.x, i); };
    Across last{};   // of an even pack, which stands before an odd one, …
    A both[across];  // … and of both
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      Running<Op, A> pack[across];
#pragma unroll
      for (int l = 0; l < across; ++l) {
        pack[l] = in_row[l];
        if (p % 2 > 0) pack[l].then(last.v[l]);
        if (p == 1) in_row[l].then(both[l]);
      }
      if (p % 2 == 0) last = own((p + 1) * E - 1);
      if (p == 0) {
        const Across second = own(2 * E - 1);
#pragma unroll
        for (int l = 0; l < across; ++l) both[l] = Op::combine(last.v[l], second.v[l]);
      }
#pragma unroll
      for (int i = p * E; i < (p + 1) * E; ++i) {
        Across x = own(i);
#pragma unroll
        for (int l = 0; l < across; ++l) x.v[l] = row[l].and_then(pack[l].and_then(x.v[l]));
        if (turns) {
          own(i) = x;
        } else if (i < count) {
          store_once(loop.out + offset + i * loop.out_step, x);
        }
      }
    }
    if (!turns) return;
    __syncthreads();
    // A thread's rows are now every 32nd.
    constexpr int parts = warp_size / each;  // of 32 rows
    const int at = part(), packs = static_cast<int>(loop.together.divisor) / across;
    const i64 begin = i64(tile) * (warp_size * each);
    const int rows = line() < lines ? count_from(loop, begin, warp_size * each) - at : 0;
    char* const to = loop.out + locate_line(loop, first + line(), 1) + (begin + at) * loop.out_step;
    const int source = at / each * packs + line() / across;
#pragma unroll
    for (int i = 0; i < each; ++i) {
      if (i * warp_size >= rows) continue;
      store_once(to + i * warp_size * loop.out_step,
                 pack_at(source + i * parts * packs, at % each));
    }
    __syncthreads();
  }
};
template <class Op, class A>
__global__ void __launch_bounds__(BandTile<Op, A>::most_threads,
                                  resident_blocks_of(BandTile<Op, A>::most_threads,
                                                     resident_bands(sizeof(A))))
    pass_bands(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Tile = BandTile<Op, A>;
  extern __shared__ __align__(16) unsigned char kept_bytes[];
  auto* const kept = reinterpret_cast<typename Tile::Across*>(kept_bytes);
  A* const parts = reinterpret_cast<A*>(kept + Tile::each * blockDim.x);
  if (answers_others<Op>(loop, parts)) return;
  const int slots = Tile::pitch * static_cast<int>(loop.together.divisor);
  pass_tiles(loop, Tile{loop, kept, parts, parts + kept_bands * slots,
                        parts + (kept_bands + 1) * slots, parts + (kept_bands + 2) * slots});
}

// ---- short rows of lines ------------------------------------------------------------------------

// A tile has the same parts of all lines of a row, or all parts of those of several rows. It lies
// in shared memory as in memory, with a gap after each part, and waits there. Threads move it piece
// by piece, packs (Packed) or elements, whatever the lines of a row are; they scan a part of a
// line.
template <class Op, class A, bool Packed>
struct RowsTile {
  static constexpr int E = elements_of_pack(sizeof(A)), each = packs_of_thread * E;
  static constexpr int each_log2 = std::bit_width(unsigned(each)) - 1;
  static constexpr int piece = Packed ? pack_bytes / int(sizeof(A)) : 1;
  static constexpr int row_bits = row_log2 - packs_of_thread_log2;
  static constexpr int kept_tiles = kept_rows;
  static constexpr bool keeps_late = false;
  struct Items {};
  struct Place {
    u32 tile, row;  // the first of its rows
    int rows;
  };
  const ScanLoop& loop;
  A* kept;
  // Of the parts of each line of each kept tile; then what stands before a part in its row of
  // packs. Behind them the first of each pair of blocks of such rows, in the order of a heap.
  A* totals;
  A* before;  // the tile, of each line
  A* table;

  __device__ __forceinline__ int together() const { return int(loop.together.divisor); }
  __device__ __forceinline__ int parts() const { return 1 << loop.parts_log2; }
  // Rows of packs.
  __device__ __forceinline__ int rows_log2() const { return max(0, loop.parts_log2 - row_bits); }
  __device__ __forceinline__ int pitch() const { return row_line_pitch(loop.parts_log2); }
  __device__ __forceinline__ int slots() const {
    return int(loop.rows_together) * together() * pitch();
  }
  __device__ __forceinline__ int part_length() const { return each * together() + loop.gap; }
  __device__ __forceinline__ A* tile_at(int slot) const {
    return kept + slot * (int(loop.rows_together) << loop.parts_log2) * part_length();
  }
  __device__ __forceinline__ Place place_of(u32 turn) const {
    const u32 tile = loop.inner.divide(turn);
    const u32 row = (turn - tile * loop.inner.divisor) * loop.rows_together;
    return {tile, row, int(min(loop.rows_together, loop.rows - row))};
  }
  // f(p, place, count) for the thread's pieces, Some at a time: where they are in memory and in
  // shared memory, and how many elements they have. Whole: a tile has all of them.
  template <int Some, bool Whole, class F>
  __device__ __forceinline__ void for_pieces(int rows, char* p, int left, int part_stride,
                                             int row_over, int itemsize, F&& f) const {
    const int pieces = int(loop.pieces.divisor), end = rows << loop.parts_log2;
    int part = int(loop.pieces.divide(threadIdx.x)), at = int(threadIdx.x) - part * pieces;
    const int part_step = int(loop.pieces.divide(rows_threads));
    const int at_step = rows_threads - part_step * pieces;
#pragma unroll 1
    while (part < end) {
      char* from[Some];
      int place[Some], count[Some];
#pragma unroll
      for (int l = 0; l < Some; ++l) {
        count[l] = part < end ? piece : 0;
        if constexpr (!Whole) {
          const int first = (part & (parts() - 1)) << each_log2;
          const int has = max(0, min(left - first, each)) * together();
          if (part < end) count[l] = min(has - at * piece, piece);
        }
        from[l] = p + (i64(part) * part_stride + i64(part >> loop.parts_log2) * row_over +
                       at * piece * itemsize);
        place[l] = part * part_length() + at * piece;
        part += part_step;
        at += at_step;
        if (at >= pieces) {
          at -= pieces;
          ++part;
        }
      }
      f(from, place, count);
    }
  }
  template <int Some, class F>
  __device__ __forceinline__ void for_pieces(const Place& at, const char* base, int side, i64 step,
                                             int itemsize, F&& f) const {
    const i64 begin = i64(at.tile) << (loop.parts_log2 + each_log2);
    char* const p = const_cast<char*>(base) +
                    locate_line(loop, at.row * loop.together.divisor, side) + begin * step;
    const int length = each << loop.parts_log2, left = count_from(loop, begin, length);
    const int row_over = loop.rows_together > 1 ? int(loop.dim[1].stride[side] - length * step) : 0;
    if (left == length) {
      for_pieces<Some, true>(at.rows, p, left, each * int(step), row_over, itemsize, f);
    } else {
      for_pieces<Some, false>(at.rows, p, left, each * int(step), row_over, itemsize, f);
    }
  }
  // Waits until the thread's have arrived.
  __device__ __forceinline__ void read_pieces(const Place& at, int slot) const {
    A* const to = tile_at(slot);
    for_input<A>(loop, [&](auto tag) {
      using From = decltype(tag);
      if constexpr (sizeof(From) <= sizeof(A) && 2 * sizeof(From) >= sizeof(A)) {
        constexpr bool copies = ops::same_type_v<From, A> && sizeof(From) * piece >= 4;
        constexpr int some = copies ? 4 : 8;
        for_pieces<some>(
            at, loop.in, 0, loop.in_step, int(sizeof(From)),
            [&](char*(&from)[some], int (&place)[some], int (&count)[some]) {
              [[maybe_unused]] Pack<From, piece> raw[some];
#pragma unroll
              for (int l = 0; l < some; ++l) {
                if (count[l] == piece) {
                  if constexpr (copies) {
                    __pipeline_memcpy_async(to + place[l], from[l], sizeof(From) * piece);
                  } else {
                    raw[l] = *reinterpret_cast<const Pack<From, piece>*>(from[l]);
                  }
                } else {
#pragma unroll
                  for (int i = 0; i + 1 < piece; ++i) {
                    if (i < count[l]) {
                      to[place[l] + i] =
                          element_of<A>(loop, reinterpret_cast<const From*>(from[l])[i]);
                    }
                  }
                }
              }
              if constexpr (!copies) {
#pragma unroll
                for (int l = 0; l < some; ++l) {
                  Pack<A, piece> x;
#pragma unroll
                  for (int i = 0; i < piece; ++i) x.v[i] = element_of<A>(loop, raw[l].v[i]);
                  if (count[l] == piece) *reinterpret_cast<Pack<A, piece>*>(to + place[l]) = x;
                }
              }
            });
      }
    });
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }
  __device__ __forceinline__ void store(const Place& at, int slot) const {
    constexpr int some = 4;
    const A* const tile = tile_at(slot);
    for_pieces<some>(at, loop.out, 1, loop.out_step, int(sizeof(A)),
                     [&](char*(&to)[some], int (&place)[some], int (&count)[some]) {
                       Pack<A, piece> x[some];
#pragma unroll
                       for (int l = 0; l < some; ++l) {
                         if (count[l] > 0) {
                           x[l] = *reinterpret_cast<const Pack<A, piece>*>(tile + place[l]);
                         }
                       }
#pragma unroll
                       for (int l = 0; l < some; ++l) {
                         if (count[l] == piece) {
                           if constexpr (Packed) {
                             store_once(to[l], x[l]);
                           } else {
                             *reinterpret_cast<A*>(to[l]) = x[l].v[0];
                           }
                         } else {
#pragma unroll
                           for (int i = 0; i + 1 < piece; ++i) {
                             if (i < count[l]) reinterpret_cast<A*>(to[l])[i] = x[l].v[i];
                           }
                         }
                       }
                     });
  }
  // f(line, part, own, x) for the parts that the thread has: the line's totals, and the first
  // element.
  template <class F>
  __device__ __forceinline__ void for_parts(const Place& at, int slot, F&& f) const {
    const u32 count = u32(at.rows << loop.parts_log2) * together();
    A* const tile = tile_at(slot);
    A* const own = totals + slot * slots();
#pragma unroll 1
    for (u32 k = threadIdx.x; k < count; k += rows_threads) {
      const int all_parts = int(loop.together.divide(k)), column = int(k) - all_parts * together();
      const int row = all_parts >> loop.parts_log2, part = all_parts & (parts() - 1);
      const int line = row * together() + column;
      f(line, part, own + line * pitch(), tile + all_parts * part_length() + column);
    }
  }
  __device__ __forceinline__ void read_part(const A* from, Part<A>& x) const {
#pragma unroll
    for (int i = 0; i < each; ++i) x[i / E][i % E] = from[i * together()];
  }
  // From the totals of parts what stands before them; then(line, total). Threads of a warp have
  // 2^Log2 parts each of a line.
  template <int Log2, class Then>
  __device__ __forceinline__ void sum_up(const Place& at, int slot, Then&& then) const {
    constexpr int items = 1 << Log2;
    const int bits = loop.parts_log2 - Log2, lane = threadIdx.x % warp_size;
    const int in_line = lane & ((1 << bits) - 1), lines = at.rows * together();
    const int row_lanes_log2 = min(bits, row_bits - Log2), step = rows_threads >> bits;
#pragma unroll 1
    for (int first = int(threadIdx.x - lane) >> bits; first < lines; first += step) {
      const int line = first + (lane >> bits);
      const bool is = line < lines;
      A* const own = totals + slot * slots() + line * pitch();
      A item[items] = {};
#pragma unroll
      for (int i = 0; i < items; ++i) {
        if (is) item[i] = own[(in_line << Log2) + i];
      }
      A two[items / 2 + 1] = {}, four[items / 4 + 1] = {}, all = item[0];
      if constexpr (items > 1) {
#pragma unroll
        for (int i = 0; i < items / 2; ++i) two[i] = Op::combine(item[2 * i], item[2 * i + 1]);
        all = two[0];
      }
      if constexpr (items > 2) {
#pragma unroll
        for (int i = 0; i < items / 4; ++i) four[i] = Op::combine(two[2 * i], two[2 * i + 1]);
        all = four[0];
      }
      if constexpr (items > 4) all = Op::combine(four[0], four[1]);
      const Blocks<Op, A> blocks(all, bits);
      const Running<Op, A> in_row = blocks.after({}, 0, row_lanes_log2);
      if (is) {
#pragma unroll
        for (int i = 0; i < items; ++i) {
          Running<Op, A> x = in_row;
          if (items > 4 && (i & 4)) x.then(four[0]);
          if (items > 2 && (i & 2)) x.then(two[i / 4 * 2]);
          if (items > 1 && (i & 1)) x.then(item[i - 1]);
          own[(in_line << Log2) + i] = x.value;
        }
#pragma unroll
        for (int d = row_bits - Log2; d < 5; ++d) {
          if (d < bits && (in_line & ((2 << d) - 1)) == 1 << d) {
            own[parts() + ((parts() + in_line * items) >> (d + Log2 + 1))] = blocks.other[d];
          }
        }
        if (in_line == 0) then(line, blocks.total);
      }
    }
  }
  template <class Then>
  __device__ __forceinline__ void sum_up(const Place& at, int slot, Then&& then) const {
    switch (loop.parts_log2) {
      case 8:
        return sum_up<3>(at, slot, then);
      case 7:
        return sum_up<2>(at, slot, then);
      case 6:
        return sum_up<1>(at, slot, then);
      default:
        return sum_up<0>(at, slot, then);
    }
  }
  __device__ __forceinline__ void read(u32, Items&) const {}
  __device__ __forceinline__ void scan(u32 turn, int slot, Items&) const {
    const Place at = place_of(turn);
    read_pieces(at, slot);
    __syncthreads();
    for_parts(at, slot, [&](int, int part, A* own, const A* from) {
      Part<A> x;
      read_part(from, x);
      own[part] = scan_part<Op>(x);
    });
  }
  __device__ __forceinline__ void tell(u32 turn, int slot) const {
    const Place at = place_of(turn);
    const u32 first = at.row * loop.together.divisor;
    sum_up(at, slot, [&](int line, A total) {
      publish(question<A>(loop.carries, first + line, at.tile), total);
    });
  }
  __device__ __forceinline__ void hear(u32 turn) const {
    const Place at = place_of(turn);
    hear_answers(loop.carries, at.row * loop.together.divisor, together(), at.tile, before);
  }
  __device__ __forceinline__ void finish(u32 turn, int slot) const {
    const Place at = place_of(turn);
    for_parts(at, slot, [&](int line, int part, const A* own, A* from) {
      Part<A> x;
      read_part(from, x);
      scan_part<Op>(x);
      const int row = part >> row_bits;
      Running<Op, A> outside{before[line], at.tile > 0};
      for (int d = rows_log2() - 1; d >= 0; --d) {
        if (row >> d & 1) outside.then(own[parts() + (((1 << rows_log2()) + row) >> (d + 1))]);
      }
      add_to_part<Op, A>({own[part], (part & ((1 << row_bits) - 1)) > 0}, outside, x);
#pragma unroll
      for (int i = 0; i < each; ++i) from[i * together()] = x[i / E][i % E];
    });
    __syncthreads();
    store(at, slot);
  }
};
template <class Op, class A, bool Packed>
__device__ __forceinline__ RowsTile<Op, A, Packed> rows_tile(const ScanLoop& loop, int tiles,
                                                             unsigned char* memory) {
  RowsTile<Op, A, Packed> tile{loop, reinterpret_cast<A*>(memory), nullptr, nullptr, nullptr};
  tile.totals = tile.tile_at(tiles);
  tile.before = tile.totals + tiles * tile.slots();
  tile.table = tile.before + int(loop.rows_together) * tile.together();
  return tile;
}

// Few lines, whose tiles blocks pass.
template <class Op, class A, bool Packed>
__global__ void __launch_bounds__(rows_threads, resident_rows)
    pass_rows(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  extern __shared__ __align__(16) unsigned char row_memory[];
  if (answers_others<Op>(loop, reinterpret_cast<A*>(row_memory))) return;
  pass_tiles(loop, rows_tile<Op, A, Packed>(loop, kept_rows, row_memory));
}
// Many: a block goes along its own.
template <class Op, class A, bool Packed>
__global__ void __launch_bounds__(rows_threads, resident_rows)
    walk_rows(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  extern __shared__ __align__(16) unsigned char row_memory[];
  const auto tile = rows_tile<Op, A, Packed>(loop, 1, row_memory);
  const int lines = int(loop.rows_together) * tile.together();
  typename RowsTile<Op, A, Packed>::Items none;
  for (u32 turn = blockIdx.x, along = 0;; ++along) {
    tile.scan(turn, 0, none);
    __syncthreads();
    const bool ends = turn + loop.inner.divisor >= loop.turns;
    tile.sum_up(tile.place_of(turn), 0, [&](int line, A total) {
      tile.before[line] = before_tile<Op>(along, tile.table + line, lines).value;
      if (!ends) walk_on<Op>(along, total, tile.table + line, lines);
    });
    __syncthreads();
    tile.finish(turn, 0);
    if (ends) return;
    turn += loop.inner.divisor;
    __syncthreads();
  }
}

// ---- narrow integers ----------------------------------------------------------------------------

// Of integers of one or two bytes that become those of eight most of what is moved is written, and
// others have small tiles. Integers give the same bits in any order: what waits for what stands
// before it is elements as they were read, which are added once more then.

// Sums of a tile fit in 32 bits, products do not, but where no more is wanted of them.
template <class Op, class A>
using Partial = std::conditional_t<ops::same_type_v<Op, ops::Sum> || sizeof(A) <= 2, u32, A>;
// What stands before an element.
template <class A>
using Whole = std::conditional_t<sizeof(A) <= 2, u32, A>;
template <class Op, class A>
constexpr int resident_narrow = sizeof(A) == 1               ? 3
                                : sizeof(A) == 2             ? 4
                                : sizeof(Partial<Op, A>) > 4 ? 3
                                                             : 5;
// Steps of a warp along them, in each of which a thread has a pack of results; fewer of tiles that
// do not wait.
constexpr int narrow_steps(int itemsize, bool passes) {
  return itemsize > 2 || passes ? 8 : 4;
}
// Tiles that wait, fewer where they are large.
constexpr int kept_narrow(int itemsize) {
  return itemsize <= 2 ? 2 : kept_lines;
}
// Elements of the part of a warp.
constexpr int narrow_elements(int itemsize, bool passes) {
  return narrow_steps(itemsize, passes) * warp_size * (pack_bytes / itemsize);
}
// The shortest lines that give it enough to do.
constexpr int least_narrow(int itemsize) {
  return itemsize == 1 ? 768 : itemsize == 2 ? 128 : 65;
}
template <class P, class From>
__device__ __forceinline__ P narrow_element(int upper_bits, From raw) {
  return static_cast<P>(static_cast<i64>(static_cast<int>(u32{raw} << upper_bits) >> upper_bits));
}
template <class A, class P>
__device__ __forceinline__ A widened(P x) {
  return static_cast<A>(static_cast<i64>(static_cast<std::make_signed_t<P>>(x)));
}
__device__ __forceinline__ int narrow_upper_bits(const ScanLoop& loop) {
  return max(loop.upper_bits - 32, 0);
}

// Elements of a line that a warp has, in shared memory as they were read. Neighbouring threads
// write neighbouring packs of results: the part begins where one does, so perhaps some elements
// before the line. So do packs of what is read where it is of the same size.
template <class Op, class A, class From, bool Passes>
struct NarrowPart {
  static constexpr int E = pack_bytes / sizeof(A), step = warp_size * E;
  static constexpr int steps = narrow_steps(sizeof(A), Passes), each = steps * step;
  static constexpr int packs = each * int(sizeof(From)) / pack_bytes;
  static constexpr int kept_bytes = (packs + 1) * pack_bytes;  // packs of memory around them
  using P = Partial<Op, A>;
  using W = Whole<A>;
  const char* in;  // of the line
  char* out;
  i64 n, first;
  int upper_bits;
  char* kept;

  __device__ __forceinline__ NarrowPart(const ScanLoop& loop, u32 line, char* kept)
      : in(loop.in + locate_line(loop, line, 0)),
        out(loop.out + locate_line(loop, line, 1)),
        n(loop.n),
        first(-i64(reinterpret_cast<u64>(out) / sizeof(A) % E)),
        upper_bits(narrow_upper_bits(loop)),
        kept(kept) {}

  static __device__ __forceinline__ int lane() { return threadIdx.x % warp_size; }

  // Begins to read. No pack is read that no element of the line is in.
  __device__ __forceinline__ void fetch() const {
    const char* from = in + first * i64(sizeof(From));
    from -= reinterpret_cast<u64>(from) % pack_bytes;
    const char* const end = in + n * i64(sizeof(From));
#pragma unroll
    for (int k = 0; k <= packs / warp_size; ++k) {
      const int p = (k * warp_size + lane()) * pack_bytes;
      if (p < kept_bytes && from + p + pack_bytes > in && from + p < end) {
        __pipeline_memcpy_async(kept + p, from + p, pack_bytes);
      }
    }
    __pipeline_commit();
  }
  // f(x, to, low, high) of the E elements of each step, of which those from low to high count.
  template <class F>
  __device__ __forceinline__ void for_steps(F&& f) const {
    const u64 begin = reinterpret_cast<u64>(in + first * i64(sizeof(From)));
    const From* const x = reinterpret_cast<const From*>(kept + begin % pack_bytes) + lane() * E;
    char* const to = out + (first + lane() * E) * i64(sizeof(A));
    const auto at = [&](int s, int low, int high) {
      Pack<From, E> raw;
      if constexpr (sizeof(From) == sizeof(A)) {
        raw = reinterpret_cast<const Pack<From, E>*>(x)[s * warp_size];
      } else {
#pragma unroll
        for (int i = 0; i < E; ++i) raw.v[i] = x[s * step + i];
      }
      P item[E];
#pragma unroll
      for (int i = 0; i < E; ++i) {
        item[i] = i >= low && i < high ? narrow_element<P>(upper_bits, raw.v[i])
                                       : Op::template identity<P>();
      }
      f(item, to + s * step * int(sizeof(A)), low, high);
    };
    if (first >= 0 && first + each <= n) {
#pragma unroll
      for (int s = 0; s < steps; ++s) at(s, 0, E);
    } else {
      const int low = static_cast<int>(max(i64(0), -first));
      const int high = static_cast<int>(max(i64(0), min(i64(each), n - first)));
#pragma unroll 2
      for (int s = 0; s * step < high; ++s) {
        const int mine = s * step + lane() * E;
        at(s, low - mine, high - mine);
      }
    }
  }
  __device__ __forceinline__ W total() const {
    P sum = Op::template identity<P>();
    for_steps([&](const P(&x)[E], char*, int, int) {
#pragma unroll
      for (int i = 0; i < E; ++i) sum = Op::combine(sum, x[i]);
    });
#pragma unroll
    for (int d = 1; d < warp_size; d *= 2) {
      sum = Op::combine(sum, from_lane(sum, lane() ^ d));
    }
    return widened<W>(sum);
  }
  // Writes the results, with what stands before the part, and gives what stands before the next.
  __device__ __forceinline__ W finish(W before) const {
    P in_part = Op::template identity<P>();
    for_steps([&](const P(&x)[E], char* to, int low, int high) {
      P sum = x[0];
#pragma unroll
      for (int i = 1; i < E; ++i) sum = Op::combine(sum, x[i]);
#pragma unroll
      for (int d = 1; d < warp_size; d *= 2) {
        const P other = __shfl_up_sync(whole_warp, sum, d);
        if (lane() >= d) sum = Op::combine(other, sum);
      }
      P item = __shfl_up_sync(whole_warp, sum, 1);
      item = lane() > 0 ? Op::combine(in_part, item) : in_part;
      in_part = Op::combine(in_part, from_lane(sum, warp_size - 1));
      Pack<A, E> pack;
#pragma unroll
      for (int i = 0; i < E; ++i) {
        item = Op::combine(item, x[i]);
        pack.v[i] = static_cast<A>(Op::combine(before, widened<W>(item)));
      }
      if (low <= 0 && high >= E) {
        *reinterpret_cast<Pack<A, E>*>(to) = pack;
      } else {
#pragma unroll
        for (int i = 0; i < E; ++i) {
          if (i >= low && i < high) reinterpret_cast<A*>(to)[i] = pack.v[i];
        }
      }
    });
    return Op::combine(before, widened<W>(in_part));
  }
};

// Lines of a tile or less: a warp goes along its own, and reads one part ahead.
template <class Op, class A, class From>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_narrow<Op, A>))
    scan_narrow(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  using Piece = NarrowPart<Op, A, From, false>;
  __shared__ __align__(16) char kept[warps][2][Piece::kept_bytes];
  const int warp = threadIdx.x / warp_size;
  const u32 line = blockIdx.x * warps + warp;
  if (line >= loop.lines) return;
  Piece piece(loop, line, kept[warp][0]);
  piece.fetch();
  Whole<A> before = Op::template identity<Whole<A>>();
  for (int slot = 1;; slot ^= 1) {
    Piece next = piece;
    next.first += Piece::each;
    next.kept = kept[warp][slot];
    next.fetch();
    __pipeline_wait_prior(1);
    __syncwarp();
    before = piece.finish(before);
    if (next.first >= loop.n) return;
    __syncwarp();
    piece = next;
  }
}

// Longer lines, whose tiles blocks pass.
template <class Op, class A, class From>
struct NarrowTile {
  static constexpr int kept_tiles = kept_narrow(sizeof(A));
  static constexpr bool keeps_late = false;
  using Piece = NarrowPart<Op, A, From, true>;
  struct Items {};
  using W = Whole<A>;
  const ScanLoop& loop;
  char* kept;
  W* totals;  // of the warps, of each kept tile
  W* table;

  static __device__ __forceinline__ int warp() { return threadIdx.x / warp_size; }
  __device__ __forceinline__ u32 line_of(u32 turn, u32& tile) const {
    const u32 line = loop.inner.divide(turn);
    tile = turn - line * loop.inner.divisor;
    return line;
  }
  __device__ __forceinline__ Piece piece(u32 turn, int slot) const {
    u32 tile;
    const u32 line = line_of(turn, tile);
    Piece p(loop, line, kept + (slot * warps + warp()) * Piece::kept_bytes);
    p.first += (i64(tile) * warps + warp()) * Piece::each;
    return p;
  }
  // Of the first so many warps.
  __device__ __forceinline__ W total_of(int slot, int count) const {
    W total = Op::template identity<W>();
#pragma unroll
    for (int w = 0; w < warps; ++w) {
      if (w < count) total = Op::combine(total, totals[slot * warps + w]);
    }
    return total;
  }
  __device__ __forceinline__ void scan(u32 turn, int slot, Items&) const {
    const Piece p = piece(turn, slot);
    p.fetch();
    __pipeline_wait_prior(0);
    __syncwarp();
    const W total = p.total();
    if (threadIdx.x % warp_size == 0) totals[slot * warps + warp()] = total;
  }
  __device__ __forceinline__ void read(u32, Items&) const {}
  __device__ __forceinline__ void tell(u32 turn, int slot) const {
    if (warp() < warps - 1) return;
    u32 tile;
    const u32 line = line_of(turn, tile);
    cuda::tell<Op, line_group_log2>(loop.carries, line, true, tile, total_of(slot, warps));
  }
  __device__ __forceinline__ void hear(u32 turn) const {
    u32 tile;
    const u32 line = line_of(turn, tile);
    cuda::hear<Op, line_group_log2, 1>(loop.carries, line, loop.lines, 0, tile, table);
  }
  __device__ __forceinline__ void finish(u32 turn, int slot) const {
    u32 tile;
    line_of(turn, tile);
    const W before = before_tile<Op>(tile, table, 1).value;
    piece(turn, slot).finish(Op::combine(before, total_of(slot, warp())));
  }
};
template <class Op, class A, class From>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_narrow<Op, A>))
    pass_narrow(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  extern __shared__ __align__(16) unsigned char kept_bytes[];
  __shared__ Whole<A> totals[NarrowTile<Op, A, From>::kept_tiles * warps];
  __shared__ Whole<A> table[most_tile_bits];
  pass_tiles(loop,
             NarrowTile<Op, A, From>{loop, reinterpret_cast<char*>(kept_bytes), totals, table});
}

// Lines beside each other, enough of them for all blocks: a block goes along its own, and reads one
// tile ahead. Each: elements of a thread's part. Overlaps: neighbouring tiles do.
template <class Op, class A, class From, int Each, bool Overlaps>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, resident_narrow_walks))
    walk_narrow(const __grid_constant__ ScanLoop loop) {
  wait_for_earlier();
  constexpr int length = Each * warps;  // of a tile
  using P = Partial<Op, A>;
  __shared__ A totals[2][warps][warp_size];
  const int column = threadIdx.x % warp_size, part = threadIdx.x / warp_size;
  const int upper_bits = narrow_upper_bits(loop);
  u32 line = blockIdx.x * warp_size + column;
  const char* in = loop.in;
  char* out = loop.out;
  const u32 own = Overlaps ? own_bytes(loop, blockIdx.x, sizeof(A)) : 0;
  i64 left = 0;
  if (Overlaps ? find_line(loop, blockIdx.x, column, line) : line < loop.lines) {
    left = loop.n - part * Each;
    in += locate_line(loop, line, 0) + part * Each * loop.in_step;
    out += locate_line(loop, line, 1) + part * Each * loop.out_step;
  }
  const auto count = [&] { return static_cast<int>(max(i64(0), min(i64(Each), left))); };
  const auto read = [&](From(&x)[Each]) {
    const int has = count();
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      if (i < has) x[i] = *reinterpret_cast<const From*>(in + i * loop.in_step);
    }
  };
  From x[Each] = {};
  read(x);
  A before = Op::template identity<A>();  // the tile
  i64 rest = loop.n;
  for (int slot = 0;; slot ^= 1) {
    const int stored = count();
    From ahead[Each] = {};
    rest -= length;
    left -= length;
    in += length * loop.in_step;
    if (rest > 0) read(ahead);
    P total = Op::template identity<P>();
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      if (i < stored) total = Op::combine(total, narrow_element<P>(upper_bits, x[i]));
    }
    totals[slot][part][column] = widened<A>(total);
    // Once in a tile: who writes the totals of the next but one has met those who read these.
    __syncthreads();
    A running = before;
#pragma unroll
    for (int p = 0; p < warps; ++p) {
      if (p == part) running = before;
      before = Op::combine(before, totals[slot][p][column]);
    }
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      running = Op::combine(running, widened<A>(narrow_element<P>(upper_bits, x[i])));
      char* const to = out + i * loop.out_step;
      const bool is = !Overlaps || is_own(loop, to, column, own, sizeof(A));
      if (i < stored && is) *reinterpret_cast<A*>(to) = running;
    }
    if (rest <= 0) return;
    out += length * loop.out_step;
#pragma unroll
    for (int i = 0; i < Each; ++i) x[i] = ahead[i];
  }
}

// ---- the host's side ----------------------------------------------------------------------------

// The kernel of unsigned integers of one or two bytes, or signed ones, into those of their size or
// of eight. Blocks that share sectors of their results have shorter tiles, and so stay closer to
// each other.
template <class Op>
const void* find_narrow_kernel(int in_size, int size, bool columns, bool sectors, bool passes,
                               bool overlaps) {
  const auto kernel = [&](auto zero) {
    using From = decltype(zero);
    if (size == in_size) {
      if constexpr (sizeof(From) == 1) {
        if (passes) return reinterpret_cast<const void*>(&pass_narrow<Op, From, From>);
      }
      return reinterpret_cast<const void*>(&scan_narrow<Op, From, From>);
    }
    return overlaps  ? reinterpret_cast<const void*>(&walk_narrow<Op, u64, From, 16, true>)
           : columns ? sectors
                           ? reinterpret_cast<const void*>(&walk_narrow<Op, u64, From, 16, false>)
                           : reinterpret_cast<const void*>(&walk_narrow<Op, u64, From, 8, false>)
           : passes  ? reinterpret_cast<const void*>(&pass_narrow<Op, u64, From>)
                     : reinterpret_cast<const void*>(&scan_narrow<Op, u64, From>);
  };
  return in_size == 1 ? kernel(u8()) : kernel(u16());
}

// Sums of integers of so many bytes that lie together in a word.
template <int Bytes>
struct SumOfLanes {
  template <class V>
  __host__ __device__ static V identity() {
    return V{};
  }
  __device__ static u32 combine(u32 a, u32 b) { return Bytes == 1 ? __vadd4(a, b) : __vadd2(a, b); }
};

// Which kernels a scan has.
enum class Scan { sum, product, sum_of_bytes, sum_of_shorts };
struct Way {
  bool columns, packed, passes, walks, bands, rows, overlaps;
  Alone alone;
  int in_size;  // of an element that is read
};

template <class Op, class A>
const void* kernel_of(const Way& way) {
  if constexpr (sizeof(A) >= 4 && !ops::is_complex_v<A>) {
    if (way.bands) return reinterpret_cast<const void*>(&pass_bands<Op, A>);
    if (way.rows) {
      return way.packed   ? way.passes ? reinterpret_cast<const void*>(&pass_rows<Op, A, true>)
                                       : reinterpret_cast<const void*>(&walk_rows<Op, A, true>)
             : way.passes ? reinterpret_cast<const void*>(&pass_rows<Op, A, false>)
                          : reinterpret_cast<const void*>(&walk_rows<Op, A, false>);
    }
  }
  if constexpr (sizeof(A) == 4 || (sizeof(A) == 8 && !ops::is_complex_v<A>)) {
    if (way.alone == Alone::packs) {
      return reinterpret_cast<const void*>(&scan_alone<Op, A, Alone::packs>);
    }
    const auto apart = [](auto from) {
      using From = decltype(from);
      return reinterpret_cast<const void*>(&scan_alone<Op, A, Alone::apart, From>);
    };
    if (way.alone == Alone::apart) {
      if (way.in_size == int(sizeof(A))) return apart(A());
      if constexpr (sizeof(A) == 8 && ops::is_float_v<A>) return apart(f32());
      if constexpr (sizeof(A) == 8 && !ops::is_float_v<A>) {
        return way.in_size == 1 ? apart(u8()) : way.in_size == 2 ? apart(u16()) : apart(u32());
      }
    }
  }
  if constexpr (sizeof(A) == 4 || sizeof(A) == 8) {
    if (way.overlaps) {
      return way.walks ? reinterpret_cast<const void*>(&walk_columns<Op, A, true>)
                       : reinterpret_cast<const void*>(&scan_columns<Op, A, true>);
    }
  }
  return way.columns  ? way.walks    ? reinterpret_cast<const void*>(&walk_columns<Op, A, false>)
                        : way.passes ? reinterpret_cast<const void*>(&pass_columns<Op, A>)
                                     : reinterpret_cast<const void*>(&scan_columns<Op, A, false>)
         : way.packed ? way.passes ? reinterpret_cast<const void*>(&pass_lines<Op, A, true>)
                                   : reinterpret_cast<const void*>(&scan_lines<Op, A, true>)
         : way.passes ? reinterpret_cast<const void*>(&pass_lines<Op, A, false>)
                      : reinterpret_cast<const void*>(&scan_lines<Op, A, false>);
}

// The kernel of a dtype, on unsigned integers for signed ones: both wrap around.
template <class Op>
const void* find_kernel(DType d, const Way& way) {
  const auto kernel = [&](auto zero) { return kernel_of<Op, decltype(zero)>(way); };
  switch (d) {
    case DType::int8:
    case DType::uint8:
      return kernel(u8());
    case DType::int16:
    case DType::uint16:
      return kernel(u16());
    case DType::int32:
    case DType::uint32:
      return kernel(u32());
    case DType::int64:
    case DType::uint64:
      return kernel(u64());
    case DType::float32:
      return kernel(f32());
    case DType::float64:
      return kernel(f64());
    case DType::complex64:
      return kernel(Complex<f32>());
    case DType::complex128:
      return kernel(Complex<f64>());
    default:
      raise(ErrorKind::not_implemented, "a scan into ", d, " has no kernel");
  }
}

// How short rows of lines are cut.
struct RowsCut {
  int parts_log2 = 0, gap = 0;
  std::int64_t rows = 1;   // of a tile; whole ones where there are several
  std::int64_t bytes = 0;  // of the shared memory of a block
};

// Elements between the parts of a tile of which neighbouring threads begin in different banks.
int gap_between(std::int64_t part, std::int64_t together, int size) {
  const int unit = pack_bytes / size, banks = 128 / size;
  int best = 0, fewest = banks + 1;
  for (int gap = 0; gap <= part / 8 + unit && gap < banks; gap += unit) {
    int meet[32] = {}, most = 0;
    for (std::int64_t k = 0; k < banks; ++k) {
      const std::int64_t at = k / together * (part + gap) + k % together;
      most = std::max(most, ++meet[at % banks]);
    }
    if (most < fewest) {
      fewest = most;
      best = gap;
    }
  }
  return best;
}

// Blocks of rows that a multiprocessor has where they take so much shared memory.
std::int64_t resident_with(std::int64_t bytes) {
  constexpr std::int64_t reserved = 1024;  // of each block
  const auto shared = static_cast<std::int64_t>(properties().shared_bytes_opt_in);
  return std::clamp<std::int64_t>((shared + reserved) / (bytes + reserved), 1, resident_rows);
}

// Of rows of `inner` lines of n elements, of which blocks pass tiles or go along their own.
RowsCut cut_rows(std::int64_t n, std::int64_t inner, std::int64_t rows, int size, bool passes) {
  const std::int64_t elements = elements_of_pack(size), each = packs_of_thread * elements;
  const std::int64_t parts = (n - 1) / each + 1;
  RowsCut best;
  best.gap = gap_between(each * inner, inner, size);
  const auto bytes_of = [&](const RowsCut& cut) {
    const std::int64_t of_line = std::int64_t{1} << cut.parts_log2;
    const std::int64_t tile =
        of_line * (each * inner + cut.gap) + inner * row_line_pitch(cut.parts_log2);
    // Behind each line: what stands before the tile and, of tiles that follow each other, blocks.
    const std::int64_t behind =
        1 + (passes ? 0 : std::bit_width(static_cast<std::uint64_t>((parts - 1) / of_line)));
    return cut.rows * ((passes ? kept_rows : 1) * tile + inner * behind) * size;
  };
  const auto shared = static_cast<std::int64_t>(properties().shared_bytes_opt_in);
  const std::int64_t blocks =
      passes ? resident_rows : (rows - 1) / properties().multiprocessors + 1;
  std::int64_t most = 0;
  for (int log2 = least_row_parts_log2; log2 <= most_row_parts_log2; ++log2) {
    RowsCut cut = best;
    cut.parts_log2 = log2;
    cut.bytes = bytes_of(cut);
    if (cut.bytes > shared) break;
    const std::int64_t at_work = cut.bytes * std::min(blocks, resident_with(cut.bytes));
    if (at_work > most) {
      most = at_work;
      best = cut;
    }
    if (std::int64_t{1} << log2 >= parts) break;
  }
  if (!passes && std::int64_t{1} << best.parts_log2 >= parts) {
    best.parts_log2 = std::bit_width(static_cast<std::uint64_t>(parts - 1));
    const std::int64_t row = ((each * inner + best.gap) << best.parts_log2) * size;
    best.rows = std::clamp<std::int64_t>(rows_bytes / row, 1, rows);
    best.bytes = bytes_of(best);
  }
  return best;
}

void scan_along(Scan what, const Operand& in, int axis, const Operand& out) {
  const bool product = what == Scan::product;
  const int in_size = itemsize(in.dtype), size = itemsize(out.dtype);
  const bool integral = !is_floating(in.dtype) && !is_floating(out.dtype);
  // Integers of one size wrap around alike.
  const bool converts = in.dtype != out.dtype && !(integral && in_size == size);
  if ((converts && !is_converted(in.dtype, out.dtype)) || !has_aligned_elements(in)) {
    const Array cast = scratch_in_order(out.dtype, *out.layout);
    copy(in, cast);
    return scan_along(what, cast, axis, out);
  }
  const std::int64_t n = in.layout->shape[axis];
  Dims shape = in.layout->shape, in_strides = in.layout->strides;
  Dims out_strides = out.layout->strides;
  shape.erase(axis);
  in_strides.erase(axis);
  out_strides.erase(axis);
  const Dims* const strides[2] = {&in_strides, &out_strides};
  const Plan kept = make_plan(shape, strides, 2);
  const std::int64_t lines = kept.count();
  const std::int64_t in_step = in.layout->strides[axis], out_step = out.layout->strides[axis];
  if (kept.ndim() > Loop::inline_dims || lines > most_counted) {
    // The other dimensions in one, or one half of the lines after the other.
    int longest = 0;
    for (int d = 0; d < in.layout->ndim(); ++d) {
      if (d == axis) continue;
      if (longest == axis || in.layout->shape[d] > in.layout->shape[longest]) longest = d;
    }
    const std::int64_t half = in.layout->shape[longest] / 2;
    for (const auto& [start, count] :
         {std::pair{std::int64_t{0}, half}, std::pair{half, in.layout->shape[longest] - half}}) {
      Layout from, to;
      scan_along(what, part_along(in, longest, start, count, from), axis,
                 part_along(out, longest, start, count, to));
    }
    return;
  }
  const int elements = elements_of_pack(size);
  const bool columns =
      lines > 1 && detail::magnitude(kept.stride[1].back()) < detail::magnitude(out_step);
  if (columns && what == Scan::sum && integral && in_size == size && size <= 2) {
    // Lines that lie together in words are summed up together.
    const int lanes = 4 / size;
    Operand words[2] = {in, out};
    Layout layouts[2];
    bool all = true;
    for (int side = 0; side < 2; ++side) {
      const Dims& stride = kept.stride[side];
      Dims sizes = kept.size, steps = stride;
      const std::int64_t step = side == 0 ? in_step : out_step;
      words[side].data += kept.base[side] * size;
      all &= stride.back() == 1 && sizes.back() % lanes == 0 && step % lanes == 0 &&
             is_aligned_to(words[side].data, 4);
      for (int d = 0; d + 1 < kept.ndim(); ++d) {
        all &= stride[d] % lanes == 0;
        steps[d] /= lanes;
      }
      sizes.back() /= lanes;
      sizes.push_back(n);
      steps.push_back(step / lanes);
      layouts[side] = Layout::contiguous(sizes);
      layouts[side].strides = steps;
      words[side].layout = &layouts[side];
      words[side].dtype = DType::uint32;
    }
    if (all) {
      return scan_along(size == 1 ? Scan::sum_of_bytes : Scan::sum_of_shorts, words[0], kept.ndim(),
                        words[1]);
    }
  }
  const auto log2_of = [](std::int64_t x) -> int {  // rounded up
    return std::bit_width(static_cast<std::uint64_t>(x - 1));
  };
  ScanLoop loop;
  const std::int64_t sms = properties().multiprocessors;
  std::int64_t tiles, groups;  // of a line; of lines
  std::int64_t rows = 1;       // of lines that share a tile
  bool walks = false;
  bool sectors = false;  // whether rows of results of neighbouring lines begin at those of memory
  // Whether integers of one or two bytes become those of eight, or lines of them are alike in packs
  // of both operands.
  bool narrow = integral && in_size <= 2 && (size == 8 || (size == in_size && !columns));
  const std::int64_t inner = columns ? kept.size.back() : 1;
  // Short rows of lines that follow each other in both operands.
  const auto follow = [&](int side) {
    const Dims& stride = kept.stride[side];
    return (side == 0 ? in_step : out_step) == inner && stride.back() == 1 && kept.ndim() <= 2 &&
           detail::magnitude(stride[0]) < most_counted / size;
  };
  const bool short_rows = columns && size >= 4 && 2 * in_size >= size && in_size <= size &&
                          !is_complex(out.dtype) && inner <= most_row_lines && follow(0) &&
                          follow(1);
  RowsCut rows_cut;
  bool as_rows = false;
  Alone alone = Alone::none;
  std::int64_t row_chunks = 0;  // warps that have a row of lines, whose threads go along them alone
  const auto narrow_bytes = [&] {  // of the tiles of a block that wait
    const int packs = narrow_elements(size, true) * in_size / pack_bytes;
    return std::size_t(kept_narrow(size)) * warps * (packs + 1) * pack_bytes;
  };
  bool overlaps = false;
  std::int64_t windows = 0;  // tiles beside each other that overlap, in a row of lines
  if (columns) {
    const std::int64_t parts = (n - 1) / (packs_of_thread * elements) + 1;
    const auto cut = [&](int together_log2) {
      const int lines_log2 = std::clamp(log2_of(lines), least_lines_log2, together_log2);
      const int parts_log2 = std::min(block_log2 - lines_log2, log2_of(parts));
      loop.lines_log2 = block_log2 - parts_log2;
      groups = ((lines - 1) >> loop.lines_log2) + 1;
      tiles = ((parts - 1) >> parts_log2) + 1;
    };
    // Whether rows of lines of in or, side 1, of out begin at multiples of so many elements.
    const auto begin_at = [&](int side, std::int64_t of) {
      const Operand& a = side == 0 ? in : out;
      const std::int64_t item = itemsize(a.dtype), step = a.layout->strides[axis];
      bool all = is_aligned_to(a.data + kept.base[side] * item, of * item) && step % of == 0;
      for (int d = 0; d + 1 < kept.ndim(); ++d) all &= kept.stride[side][d] % of == 0;
      return all;
    };
    sectors = begin_at(1, sector_bytes / size);
    const bool widens = size == 8 && in_size < size && in.dtype != DType::float16;
    bool few = false;  // elements, for which threads go along lines alone rather than others
    // Where rows begin within sectors, warps share the more of these the less of a row they have.
    if ((!converts || widens) && kept.stride[0].back() == 1 && kept.stride[1].back() == 1 &&
        (size == 4 || (size == 8 && !is_complex(out.dtype)))) {
      const bool packs =
          !converts && begin_at(0, elements) && begin_at(1, elements) && inner % elements == 0;
      const std::int64_t chunk = warp_size * elements;  // of a warp
      row_chunks = (inner - 1) / chunk + 1;
      few = n <= most_few_alone(size, packs, converts);
      if ((few || (size == 4 && !(sectors && begin_at(0, sector_bytes / size)))) &&
          lines >= sms * least_alone * elements && 10 * inner >= 7 * chunk * row_chunks) {
        alone = packs ? Alone::packs : Alone::apart;
      }
    }
    narrow &= n >= least_narrow(size) && 2 * ((lines - 1) / warp_size + 1) >= 3 * sms;
    // Rows of results that begin anywhere have tiles that overlap, where they fill those, and these
    // keep the device busy.
    if (!sectors && (size == 4 || size == 8) && parts > few_overlapping &&
        kept.stride[0].back() == 1 && kept.stride[1].back() == 1) {
      const int tile_lines = 1 << (column_threads_log2(size, !narrow) - least_column_parts_log2);
      const std::int64_t own = tile_lines - sector_bytes / size;
      windows = (inner - 1) / own + 1;
      const std::int64_t all_windows = lines / inner * windows;
      overlaps = 10 * inner >= 7 * own * windows &&
                 (parts <= 1 << least_column_parts_log2 || all_windows >= (narrow ? 3 : 1) * sms);
    }
    narrow &= sectors || overlaps || lines <= 2 * sms * warp_size;
    if (overlaps && !few) alone = Alone::none;
    if (alone != Alone::none) overlaps = false;
    // Those that begin at sectors have blocks of their own otherwise.
    if (short_rows && !narrow && alone == Alone::none && !sectors) {
      rows_cut = cut_rows(n, inner, lines / inner, size, false);
      groups = (lines / inner - 1) / rows_cut.rows + 1;
      as_rows = rows_cut.bytes > 0 && groups >= 2 * sms;
    }
    if (as_rows) {
      tiles = ((n - 1) / (packs_of_thread * elements) >> rows_cut.parts_log2) + 1;
      walks = true;
    } else if (narrow) {
      groups = overlaps ? lines / inner * windows : (lines - 1) / warp_size + 1;
      tiles = 1;
      walks = true;
    } else if (alone != Alone::none) {
      groups = (lines / inner * row_chunks - 1) / (alone_threads / warp_size) + 1;
      tiles = 1;
    } else if (overlaps) {
      groups = lines / inner * windows;
      tiles = ((parts - 1) >> least_column_parts_log2) + 1;
      walks = tiles > 1;
    } else {
      // Blocks walk where they keep the device busy: all at once, or not only a few of them at
      // last. Those that share sectors of their results are slow where they are narrow.
      const bool share = size >= 4 && !sectors;
      const std::int64_t at_once = sms * walking_blocks(share ? 2 * size : size);
      const auto are_busy = [&] {
        if (tiles == 1 || 2 * groups < 3 * sms) return false;
        if (groups <= at_once) return true;
        return size < 4 ? groups >= 6 * at_once
                        : !(share && size == 4) && 10 * groups >= 11 * at_once;
      };
      const int least = share && size == 4 ? most_lines_log2 : least_lines_log2;
      for (int together = most_lines_log2; !walks && together >= least; --together) {
        cut(together);
        if (share && together < most_lines_log2 && groups > at_once) break;
        walks = are_busy();
      }
      if (!walks) cut(log2_of(std::clamp(column_bytes / size, 1 << least_lines_log2, warp_size)));
    }
  } else {
    const std::int64_t packs = (n - 1) / elements + 1;
    tiles = ((packs - 1) >> tile_log2) + 1;
    loop.row_packs_log2 = std::min(log2_of(packs), row_log2);
    rows = ((packs - 1) >> loop.row_packs_log2) + 1;
    narrow &= in_step == 1 && out_step == 1 && n >= least_narrow(size);
    if (size == in_size) {
      const auto alike = [&](std::int64_t from, std::int64_t to) {
        return (from - to) * size % pack_bytes == 0;
      };
      const auto address = [&](const Operand& a, int side) {
        return reinterpret_cast<std::intptr_t>(a.data) + kept.base[side] * size;
      };
      narrow &= (address(in, 0) - address(out, 1)) % pack_bytes == 0;
      for (int d = 0; d < kept.ndim(); ++d) narrow &= alike(kept.stride[0][d], kept.stride[1][d]);
    }
    // Tiles may begin some elements before lines.
    const std::int64_t narrow_tiles =
        (n + pack_bytes / size - 2) / (warps * narrow_elements(size, true)) + 1;
    // On an H100 tiles of shorts that wait as they were read take longer.
    narrow &= narrow_tiles == 1 || (size != 2 && narrow_bytes() < properties().shared_bytes_opt_in);
    if (narrow) tiles = narrow_tiles;
    groups = tiles > 1 ? lines
             : narrow  ? (lines - 1) / warps + 1
                       : (lines - 1) / ((1 << tile_log2 >> loop.row_packs_log2) / rows) + 1;
  }
  const bool passes = tiles > 1 && !walks;
  const auto shared = static_cast<std::int64_t>(properties().shared_bytes_opt_in);
  // Whether packs go across the lines of an operand: from their beginning on, as they lie together.
  const auto in_packs = [&](const char* p, const Dims& strides, std::int64_t step, int item) {
    bool all = strides.back() == 1 && step % elements == 0 && is_aligned_to(p, elements * item);
    for (int d = 0; d + 1 < kept.ndim(); ++d) all &= strides[d] % elements == 0;
    return all;
  };
  const std::int64_t band_elements = std::int64_t{warp_size} * packs_of_thread * elements;
  bool bands = columns && passes && n > band_elements && (size == 4 || size == 8) &&
               in_size <= size && !is_complex(out.dtype) && inner % elements == 0 &&
               in_packs(in.data + kept.base[0] * in_size, kept.stride[0], in_step, in_size) &&
               in_packs(out.data + kept.base[1] * size, kept.stride[1], out_step, size);
  std::int64_t together = 0;                            // lines of a tile
  const auto band_bytes_of = [&](std::int64_t lines) {  // shared memory of a block
    return (band_elements * lines + ((kept_bands + 2) * (warp_size + 1) + 1) * lines) * size;
  };
  if (bands) {
    // Tiles of about as many packs, and as few tiles as can be.
    std::int64_t most = band_bytes / pack_bytes;
    while (most > 1 && band_bytes_of(most * elements) > shared) most /= 2;
    const std::int64_t packs = inner / elements, beside = (packs - 1) / most + 1;
    together = ((packs - 1) / beside + 1) * elements;
    bands = band_bytes_of(together) <= shared;
    loop.together = Divisor(static_cast<u32>(together));
    loop.beside = Divisor(static_cast<u32>((inner - 1) / together + 1));
  }
  if (passes && short_rows && inner <= most_passed_row_lines &&
      !(bands && band_elements * inner * size > small_band)) {
    rows_cut = cut_rows(n, inner, lines / inner, size, true);
    as_rows =
        rows_cut.bytes > 0 && (n - 1) / (packs_of_thread * elements) >> rows_cut.parts_log2 > 0;
    bands &= !as_rows;
  }
  // Where lines are few, some blocks only answer the others; few enough not to be in the way.
  loop.answering = 0;
  if (columns && passes) {
    const std::int64_t most = as_rows ? rows_threads / warp_size
                              : bands ? together / elements
                                      : warps;
    const std::int64_t resident = as_rows ? resident_rows
                                  : bands ? resident_bands(size) * (band_bytes / pack_bytes) / most
                                          : resident_blocks(size);
    const std::int64_t each = std::min(most, (lines * blocks_answered - 1) / (sms * resident) + 1);
    const std::int64_t answering = (lines - 1) / each + 1;
    if (least_multiprocessors * answering <= sms) loop.answering = static_cast<u32>(answering);
    loop.lines_answered = static_cast<u32>(each);
    bands &= loop.answering > 0;
    as_rows &= loop.answering > 0;
  }
  if (bands) {
    groups = lines / inner * loop.beside.divisor;
    tiles = (n - 1) / band_elements + 1;
  }
  bool rows_packed = false;
  if (as_rows) {
    const std::int64_t part = packs_of_thread * elements;
    groups = (lines / inner - 1) / rows_cut.rows + 1;
    tiles = ((n - 1) / part >> rows_cut.parts_log2) + 1;
    const auto in_packs = [&](const char* p, const Dims& stride, int item) {
      return is_aligned_to(p, elements * item) && (kept.ndim() == 1 || stride[0] % elements == 0);
    };
    rows_packed = in_packs(in.data + kept.base[0] * in_size, kept.stride[0], in_size) &&
                  in_packs(out.data + kept.base[1] * size, kept.stride[1], size);
    loop.together = Divisor(static_cast<u32>(inner));
    loop.rows = static_cast<u32>(lines / inner);
    loop.rows_together = static_cast<u32>(rows_cut.rows);
    loop.parts_log2 = rows_cut.parts_log2;
    loop.gap = rows_cut.gap;
    loop.pieces = Divisor(static_cast<u32>(part * inner / (rows_packed ? elements : 1)));
  }
  std::optional<Scratch> totals;
  if (passes) {
    loop.carries = carries_of(lines, tiles,
                              loop.answering > 0 ? most_tile_bits
                              : columns          ? column_group_log2
                                                 : line_group_log2,
                              size, totals);
  }
  loop.turns = static_cast<u32>(groups * tiles);
  loop.in = in.data + kept.base[0] * in_size;
  loop.out = out.data + kept.base[1] * size;
  loop.n = n;
  loop.in_step = in_step * in_size;
  loop.out_step = out_step * size;
  loop.lines = static_cast<u32>(lines);
  loop.overlap = 0;
  if (overlaps) {
    loop.overlap = sector_bytes / size;
    loop.lines_log2 = column_threads_log2(size, !narrow) - least_column_parts_log2;
    loop.beside = Divisor(static_cast<u32>(windows));
  }
  loop.inner = Divisor(static_cast<u32>(alone != Alone::none ? row_chunks
                                        : columns            ? groups
                                        : passes             ? tiles
                                                             : rows));
  loop.converts = converts;
  loop.in_size = in_size;
  loop.upper_bits = kind(in.dtype) == Kind::signed_ ? 8 * std::max(size - in_size, 0) : 0;
  // Loads of less than eight bytes cost more than those of neighbouring elements.
  bool packed = in_step == 1 && out_step == 1 && in_size <= size && elements * in_size >= 8 &&
                is_aligned_to(loop.in, elements * in_size) &&
                is_aligned_to(loop.out, elements * size);
  loop.dims = kept.ndim();
  for (int d = 0; d < loop.dims; ++d) {
    const int from = loop.dims - 1 - d;
    loop.dim[d].size = Divisor(static_cast<u32>(kept.size[from]));
    loop.dim[d].stride[0] = kept.stride[0][from] * in_size;
    loop.dim[d].stride[1] = kept.stride[1][from] * size;
    packed &= kept.size[from] == 1 ||
              (kept.stride[0][from] % elements == 0 && kept.stride[1][from] % elements == 0);
  }
  if (as_rows) packed = rows_packed;
  const Way way{columns, packed, passes, walks, bands, as_rows, overlaps, alone, in_size};
  const void* const kernel =
      narrow
          ? product
                ? find_narrow_kernel<ops::Prod>(in_size, size, columns, sectors, passes, overlaps)
                : find_narrow_kernel<ops::Sum>(in_size, size, columns, sectors, passes, overlaps)
      : what == Scan::sum_of_bytes  ? kernel_of<SumOfLanes<1>, u32>(way)
      : what == Scan::sum_of_shorts ? kernel_of<SumOfLanes<2>, u32>(way)
      : product                     ? find_kernel<ops::Prod>(out.dtype, way)
                                    : find_kernel<ops::Sum>(out.dtype, way);
  void* arguments[] = {&loop};
  std::int64_t blocks = groups;
  int kept_bytes = 0, threads = block_threads;
  const char* const verb = product ? "cumulative_prod" : "cumulative_sum";
  const auto keep_tiles = [&](int bytes, std::int64_t resident) {
    kept_bytes = bytes;
    blocks = std::min(groups * tiles, sms * resident);
  };
  if (alone != Alone::none) {
    threads = alone_threads;
    const std::int64_t line_rows = (n - 1) / (warp_size * elements) + 1;
    kept_bytes = static_cast<int>((log2_of(line_rows) + 1) * threads * pack_bytes);
  } else if (narrow && passes) {
    keep_tiles(static_cast<int>(narrow_bytes()), size <= 2 ? resident_narrow<ops::Sum, u8>
                                                 : product ? resident_narrow<ops::Prod, u64>
                                                           : resident_narrow<ops::Sum, u64>);
  } else if (as_rows) {
    threads = rows_threads;
    kept_bytes = static_cast<int>(rows_cut.bytes);
    if (passes) keep_tiles(kept_bytes, resident_with(rows_cut.bytes));
  } else if (bands) {
    threads = warp_size * static_cast<int>(together / elements);
    const int most_threads = warp_size * band_bytes / pack_bytes;
    keep_tiles(static_cast<int>(band_bytes_of(together)),
               std::int64_t{resident_bands(size)} * most_threads / threads);
  } else if (passes) {
    const int bytes = (columns ? kept_columns : kept_lines) * (1 << tile_log2) * elements * size;
    keep_tiles(bytes, resident_blocks(size));
  } else if (overlaps && !narrow) {
    threads = 1 << column_threads_log2(size, true);
  }
  blocks += loop.answering;
  launch(kernel, static_cast<unsigned>(blocks), arguments, static_cast<std::size_t>(kept_bytes),
         verb, static_cast<unsigned>(threads));
}

}  // namespace

void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out) {
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out) || compute_dtype(out.dtype) != out.dtype) {
    const Array whole = scratch_array(compute_dtype(out.dtype), out.layout->shape);
    scan(product, in, axis, include_initial, whole);
    return copy(whole, out);
  }
  const Scan what = product ? Scan::product : Scan::sum;
  if (!include_initial) return scan_along(what, in, axis, out);
  Layout first, rest;
  const Element initial = Element::of(static_cast<std::int8_t>(product ? 1 : 0));
  copy(initial, part_along(out, axis, 0, 1, first));
  const Operand others = part_along(out, axis, 1, out.layout->shape[axis] - 1, rest);
  if (others.layout->size > 0) scan_along(what, in, axis, others);
}

}  // namespace arrayx::cuda
