// Copies, casts, fills and the creation of ranges.
#include <cmath>
#include <cstring>

#include "boxes.hpp"
#include "loop.hpp"
#include "rows.cuh"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

// Less is copied sooner by a kernel: on an H100 a small copy of the driver's takes 5.4 µs to issue,
// a kernel 4.5.
constexpr std::int64_t least_by_driver = std::int64_t{1} << 22;

// A dtype whose kernels move items of this size.
DType item_dtype(int itemsize) {
  switch (itemsize) {
    case 1:
      return DType::uint8;
    case 2:
      return DType::uint16;
    case 4:
      return DType::uint32;
    case 8:
      return DType::uint64;
    default:
      return DType::complex128;
  }
}

// ---- tiles of any sides -------------------------------------------------------------------------

// Tiles of packs have sides that are powers of two: on an H100 copies of arrays of such sides are
// faster by them, of 59 × 61 × 63 × 65 up to 40 % slower than by these. A row's ends share 32 bytes
// of the cache with the next row's, which is written by itself: long rows of the output save a
// tenth of the time.
constexpr std::int64_t least_tile_bytes = 4096, least_side = 8;
constexpr std::int64_t even_side = 16;
constexpr int tile_threads = 512;
// Bytes of a tile at most, and of a thread. Of little data, which the cache holds, few large tiles
// are faster; of more, small ones, whose threads ask at once for all that they read.
constexpr std::int64_t little_bytes = 1 << 23;
constexpr std::int64_t tile_bytes_of(bool little) {
  return little ? 32768 : 16384;
}
constexpr int bytes_per_thread(bool little) {
  return little ? 64 : 32;
}
// Items of one or two bytes: short rows of the output that follow each other are written a word at
// a time; else tiles are turned in registers, and rows go on along the next ones unless they are
// long.
constexpr int word_bytes = 8;
constexpr std::int64_t least_small_bytes = 1 << 17, least_joined_side = 25;
constexpr std::int64_t least_turned_side = 16, long_row = 1024, cached_bytes = 20 << 20;

// Dimension 0 of the loop is the one along which the output is fastest, dimension 1 that of the
// input; a block has one tile of the two. Where dimension 0 is short, the rows of a tile go on
// along the output's next one.
struct AnyTiles {
  Loop loop;               // count: tiles
  Divisor tiles0, tiles1;  // along the two dimensions
  u32 side0, side1;
  u32 length0;             // of dimension 0 with the next one
  Divisor size0;           // of dimension 0 alone
  i64 next_stride0;        // of the input along the next one
  Divisor parts0, parts1;  // that threads have of a tile's rows: of the output's, of the input's
  u32 rows0, rows1;        // of dimension 0, and 1, that a block has at once
  int pitch;               // bytes from row to row in shared memory: tile[i0][i1]
  bool crosswise;          // tiles along dimension 1 follow each other
  int before;              // bytes that words of small items may begin before the tile
  u32 read0;               // rows of the input that a tile reads, of which it writes side0
};

// Where a block's tile begins.
struct Corner {
  u32 begin0, begin1, outer;

  __device__ __forceinline__ explicit Corner(const AnyTiles& tiles) {
    const Divisor& first = tiles.crosswise ? tiles.tiles1 : tiles.tiles0;
    const Divisor& second = tiles.crosswise ? tiles.tiles0 : tiles.tiles1;
    const u32 by_first = first.divide(blockIdx.x), at_first = blockIdx.x - by_first * first.divisor;
    outer = second.divide(by_first);
    const u32 at_second = by_first - outer * second.divisor;
    begin0 = (tiles.crosswise ? at_second : at_first) * tiles.side0;
    begin1 = (tiles.crosswise ? at_first : at_second) * tiles.side1;
  }
};

// Where the input's row is that belongs to a place along dimension 0.
struct InputRow {
  const char* data;
  u32 at;

  __device__ __forceinline__ InputRow(const AnyTiles& tiles, const char* in, u32 place) {
    const u32 next = tiles.size0.divide(place);
    at = place - next * tiles.size0.divisor;
    data = in + at * tiles.loop.dim[0].stride[0] + next * tiles.next_stride0;
  }
  __device__ __forceinline__ void step(const AnyTiles& tiles, u32 by) {
    const u32 size = tiles.size0.divisor;
    const i64 stride = tiles.loop.dim[0].stride[0];
    data += by * stride;
    for (at += by; at >= size; at -= size) data += tiles.next_stride0 - size * stride;
  }
};

// A tile of small items that has whole rows of the output, which follow each other: they are one,
// written by words. What a word has beyond its ends is read, from wherever that is in shared
// memory, and not written.
template <class M>
__device__ __forceinline__ void write_joined(const AnyTiles& tiles, const unsigned char* tile,
                                             char* out, u32 size0, u32 size1) {
  constexpr int size = int(sizeof(M)), W = word_bytes / size, batch = 16 / W;
  using Word = Pack<M, W>;
  const int pitch = tiles.pitch, n0 = int(size0), length = int(size0 * size1);
  const int lead = int(u32(reinterpret_cast<u64>(out)) % word_bytes) / size;
  const int words = (lead + length - 1) / W + 1, gap = size - n0 * pitch;
#pragma unroll 1
  for (int begin = int(threadIdx.x); begin < words; begin += batch * int(blockDim.x)) {
    Word x[batch];
#pragma unroll
    for (int l = 0; l < batch; ++l) {
      const int place = min(begin + l * int(blockDim.x), words - 1) * W - lead;
      const int row = int(tiles.size0.divide(u32(max(place, 0)))), cut = (row + 1) * n0 - place;
      const unsigned char* const p = tile + place * pitch + row * gap;
#pragma unroll
      for (int j = 0; j < W; ++j) {
        x[l].v[j] = *reinterpret_cast<const M*>(p + j * pitch + (j >= cut ? gap : 0));
      }
    }
#pragma unroll
    for (int l = 0; l < batch; ++l) {
      const int place = (begin + l * int(blockDim.x)) * W - lead;
      M* const to = reinterpret_cast<M*>(out) + place;
      if (place >= 0 && place + W <= length) {
        *reinterpret_cast<Word*>(to) = x[l];
        continue;
      }
#pragma unroll
      for (int j = 0; j < W; ++j) {
        if (place + j >= 0 && place + j < length) to[j] = x[l].v[j];
      }
    }
  }
}

// Rows of the input come as the P in which they lie: items, wherever those are, or the packs around
// adjacent items, which have the same place in packs of shared memory. A thread keeps its place in
// the rows that it reads, and in those that it writes.
template <class M, class P>
__global__ void __launch_bounds__(tile_threads, resident_blocks_of(tile_threads, 3))
    copy_tiles(const __grid_constant__ AnyTiles tiles) {
  wait_for_earlier();
  constexpr int size = int(sizeof(M)), loads = size > 8 ? 2 : 4, stores = 4;
  constexpr bool packed = sizeof(P) > sizeof(M);
  extern __shared__ __align__(16) unsigned char tile[];
  const Loop& loop = tiles.loop;
  const Corner corner(tiles);
  const u32 begin0 = corner.begin0, begin1 = corner.begin1;
  u32 outer[] = {corner.outer};
  const u32 size0 = min(tiles.side0, tiles.length0 - begin0);
  const u32 size1 = min(tiles.side1, loop.dim[1].size.divisor - begin1);
  const i64 step = loop.dim[1].stride[0], out_step = loop.dim[0].stride[1];
  const i64 out_row = loop.dim[1].stride[1];
  i64 origin[1][2] = {{begin1 * step, begin0 * out_step + begin1 * out_row}};
  if (loop.ndim > 2) locate(loop, 2, outer, origin);
  const char* const in = loop.data[0] + origin[0][0];
  const auto shift_of = [](const char* row) {
    return packed ? int(reinterpret_cast<u64>(row) % pack_bytes) : 0;
  };
  const int lead = size < 4 ? shift_of(InputRow(tiles, in, begin0).data) : 0;
  const auto place_of = [&](u32 i0, const char* row) {
    const int at = int(i0) * tiles.pitch;
    // Places in packs are kept by the pitch.
    if constexpr (size < 4) return tiles.before + lead + at;
    return packed ? at + ((shift_of(row) - at) & (pack_bytes - 1)) : at;
  };
  {
    u32 i0 = tiles.parts1.divide(threadIdx.x);
    const int part = int(threadIdx.x - i0 * tiles.parts1.divisor);
    if (i0 >= tiles.rows0) i0 = size0;
    InputRow row(tiles, in, begin0 + i0);
    while (i0 < size0) {
      P x[loads];
      int to[loads];
#pragma unroll
      for (int l = 0; l < loads; ++l, i0 += tiles.rows0, row.step(tiles, tiles.rows0)) {
        const int at = part * int(sizeof(P)) - shift_of(row.data);
        to[l] = i0 < size0 && at < int(size1) * size ? place_of(i0, row.data) + at : -1;
        if (to[l] < 0) continue;
        x[l] = *reinterpret_cast<const P*>(row.data + (packed ? at : part * step));
      }
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        if (to[l] >= 0) *reinterpret_cast<P*>(tile + to[l]) = x[l];
      }
    }
  }
  __syncthreads();
  if constexpr (size < 4) {
    const unsigned char* const first = tile + tiles.before + lead;
    return write_joined<M>(tiles, first, loop.data[1] + origin[0][1], size0, size1);
  }
  u32 i1 = tiles.parts0.divide(threadIdx.x);
  const u32 i0 = threadIdx.x - i1 * tiles.parts0.divisor;
  if (i0 >= size0 || i1 >= tiles.rows1) return;
  const InputRow row(tiles, in, begin0 + i0);
  const unsigned char* from = tile + place_of(i0, row.data) + i1 * size;
  char* to = loop.data[1] + origin[0][1] + i0 * out_step + i1 * out_row;
  while (i1 < size1) {
#pragma unroll
    for (int l = 0; l < stores; ++l, i1 += tiles.rows1) {
      if (i1 < size1) *reinterpret_cast<M*>(to) = *reinterpret_cast<const M*>(from);
      from += tiles.rows1 * size;
      to += tiles.rows1 * out_row;
    }
  }
}

constexpr int turned_rows = block_threads / 2, turned_row_bytes = 128;
constexpr int lanes_of_row = turned_row_bytes / pack_bytes;  // threads that read a row
constexpr int thread_rows = 16;                              // of which a thread turns a word each

// Where a tile lies in shared memory: rows of the input as words, then rows of the output as packs.
// Neighbouring rows, and threads that turn, are in different banks where rows begin anywhere.
template <class M>
struct Turned {
  static constexpr int size = int(sizeof(M));
  static constexpr int raw_row = turned_row_bytes / 4 + 1;
  static constexpr int raw_rows = thread_rows * raw_row + 4 * size;
  // Of a warp, threads along the words of a row; the others are along rows.
  static constexpr int lanes = 4 * size;
  static constexpr int skew = size == 2 ? pack_bytes : 0;  // of every second lot of columns
  static constexpr int pitch = turned_rows * size + pack_bytes + skew;

  static __device__ __forceinline__ int place_of(int column) {
    return column * pitch + (column * size / pack_bytes % 2 != 0 ? skew : 0);
  }
};

// Tiles of small items, whose rows begin anywhere in both operands. Those of the input are shifted
// into words as they are read; words are turned in registers, shifted to where the output's rows
// have words, and written over the tile as rows of the output. Those are cut at sectors, a part of
// which takes as long to write as several: a tile reads more rows than its own, and writes from the
// first sector that begins in it to the first one that begins in the next.
template <class M>
__global__ void __launch_bounds__(block_threads, resident_blocks_of(block_threads, 6))
    turn_tiles(const __grid_constant__ AnyTiles tiles) {
  wait_for_earlier();
  constexpr int size = int(sizeof(M)), W = 4 / size, N = pack_bytes / size;
  constexpr int words = thread_rows / W;
  using T = Turned<M>;
  constexpr int rows_at_once = block_threads / lanes_of_row, loads = turned_rows / rows_at_once;
  static_assert(rows_at_once % thread_rows == 0);
  extern __shared__ __align__(16) unsigned char tile[];
  const Loop& loop = tiles.loop;
  const Corner corner(tiles);
  u32 outer[] = {corner.outer};
  const u32 begin0 = corner.begin0;
  const int rows = int(min(tiles.read0, tiles.length0 - begin0));
  const int columns = int(min(tiles.side1, loop.dim[1].size.divisor - corner.begin1));
  const i64 out_row = loop.dim[1].stride[1];
  i64 origin[1][2] = {{i64(corner.begin1) * size, i64(begin0) * size + corner.begin1 * out_row}};
  if (loop.ndim > 2) locate(loop, 2, outer, origin);
  const char* const in = loop.data[0] + origin[0][0];
  char* const out = loop.data[1] + origin[0][1];
  const int lane = int(threadIdx.x) % warp_size, run = columns * size;
  {
    const int first = int(threadIdx.x) / lanes_of_row, part = int(threadIdx.x) % lanes_of_row;
    u32* const raw = reinterpret_cast<u32*>(tile) + first / thread_rows * T::raw_rows +
                     first % thread_rows * T::raw_row;
    InputRow row(tiles, in, begin0 + u32(first));
    uint4 x[loads];
    int at[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      at[l] = part * pack_bytes - int(reinterpret_cast<u64>(row.data) % pack_bytes);
      if (first + l * rows_at_once >= rows) at[l] = turned_row_bytes;
      if (at[l] < run) x[l] = *reinterpret_cast<const uint4*>(row.data + at[l]);
      if (l + 1 < loads) row.step(tiles, rows_at_once);
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      // The row's last pack has no use for the word after it.
      const u32 after = __shfl_down_sync(whole_warp, x[l].x, 1);
      const u32 w[] = {x[l].x, x[l].y, x[l].z, x[l].w, after};
      const int lead = -at[l] & 3, word = (at[l] + lead) / 4;
      u32* const to = raw + l * (rows_at_once / thread_rows * T::raw_rows) + word;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const u32 shifted = __funnelshift_r(w[j], w[j + 1], lead * 8);
        if (u32(word + j) * 4 < u32(run)) to[j] = shifted;
      }
    }
  }
  __syncthreads();
  {
    // Column u W + b of rows 16 c on: words c words on of the column, but for its first bytes.
    constexpr int warps = turned_row_bytes / 4 / T::lanes, over = warp_size / T::lanes;
    const int warp = int(threadIdx.x) / warp_size;
    const int u = warp % warps * T::lanes + lane % T::lanes;
    const int c = warp / warps * over + lane / T::lanes;
    const bool is_there = u * W < columns && c * thread_rows < rows;
    u32 turned[W][words], head[W], lead[W];
#pragma unroll
    for (int b = 0; b < W; ++b) {
      lead[b] = u32(reinterpret_cast<u64>(out) + u32(u * W + b) * u32(out_row)) % pack_bytes;
    }
    if (is_there) {
      const u32* const p = reinterpret_cast<const u32*>(tile) + c * T::raw_rows + u;
      u32 before[W];
#pragma unroll
      for (int k = 0; k <= words; ++k) {
        u32 x[W], y[W];
#pragma unroll
        for (int e = 0; e < W; ++e) {
          x[e] = p[(k * W + e) * T::raw_row +
                   (k < words ? 0 : T::raw_rows - thread_rows * T::raw_row)];
        }
        turn<W>(x, y);
#pragma unroll
        for (int b = 0; b < W; ++b) {
          const u32 shift = lead[b] % 4 * 8;
          if (k == 0) {
            head[b] = y[b] << shift;
          } else {
            turned[b][k - 1] = __funnelshift_l(before[b], y[b], shift);
          }
          before[b] = y[b];
        }
      }
    }
    __syncthreads();
    if (is_there) {
#pragma unroll
      for (int b = 0; b < W; ++b) {
        u32* const to =
            reinterpret_cast<u32*>(tile + T::place_of(u * W + b)) + lead[b] / 4 + c * words;
        if (c == 0) to[0] = head[b];
#pragma unroll
        for (int k = 0; k < words; ++k) to[k + 1] = turned[b][k];
      }
    }
  }
  __syncthreads();
  const bool is_first = begin0 == 0, is_last = begin0 + tiles.side0 >= tiles.length0;
  const int all = rows * size, own = int(tiles.side0) * size;
  // The bytes of a row of the output that are the tile's, and what is before it in its first pack.
  struct Own {
    int lo, hi, lead;
  };
  const auto own_of = [&](const char* row) {
    const int low = int(u32(reinterpret_cast<u64>(row))), cut = -low & (sector_bytes - 1);
    return Own{is_first ? 0 : cut, is_last ? all : min(all, cut + own), low & (pack_bytes - 1)};
  };
  const u32 column0 = tiles.parts0.divide(threadIdx.x);
  const int part = int(threadIdx.x - column0 * tiles.parts0.divisor), step = int(tiles.rows1);
  if (int(column0) < step) {
    char* row = out + column0 * out_row;
    const i64 row_step = step * out_row;
#pragma unroll 2
    for (int column = int(column0); column < columns; column += step) {
      const Own its = own_of(row);
      const int start = part * pack_bytes - its.lead;
      if (start >= its.lo && start + pack_bytes <= its.hi) {
        *reinterpret_cast<uint4*>(row + start) =
            *reinterpret_cast<const uint4*>(tile + T::place_of(column) + part * pack_bytes);
      }
      row += row_step;
    }
  }
  // Packs of which a row has a part, at its ends: a thread has one of either end of a column.
  const int column = int(threadIdx.x) / 2;
  const bool is_end = threadIdx.x % 2 != 0;
  if (column >= columns || (!is_first && begin0 + u32(rows) < tiles.length0)) return;
  char* const row = out + column * out_row;
  const Own its = own_of(row);
  if (its.hi <= its.lo) return;
  const int pack = ((is_end ? its.hi - 1 : its.lo) + its.lead) / pack_bytes;
  const int start = pack * pack_bytes - its.lead;
  if ((start >= its.lo && start + pack_bytes <= its.hi) || (is_end && start <= its.lo)) return;
  const Granule granule{start / size, max(0, its.lo - start) / size,
                        min(pack_bytes, its.hi - start) / size};
  store_granule(
      row, granule,
      *reinterpret_cast<const Pack<M, N>*>(tile + T::place_of(column) + pack * pack_bytes));
}

// The dimensions of a plan but one.
Plan without_dim(const Plan& plan, int dropped) {
  Plan rest = plan;
  rest.size = {};
  for (int k = 0; k < plan.operands; ++k) rest.stride[k] = {};
  for (int d = 0; d < plan.ndim(); ++d) {
    if (d == dropped) continue;
    rest.size.push_back(plan.size[d]);
    for (int k = 0; k < plan.operands; ++k) rest.stride[k].push_back(plan.stride[k][d]);
  }
  return rest;
}

std::int64_t parts_of_side(std::int64_t n, std::int64_t side) {
  return (n - 1) / side + 1;
}
// The side of as many parts, which are alike.
std::int64_t even_parts(std::int64_t n, std::int64_t most) {
  return parts_of_side(n, parts_of_side(n, most));
}

// A plan as tiles see it: dimension 1 is the last but one.
struct Tiling {
  Plan plan;
  int size;             // of an item
  std::int64_t n0, n1;  // of dimensions 0, and 1
  std::int64_t length0, next_stride0 = 0;

  // Dimension 0 goes on along the output's next one where it is shorter than that.
  Tiling(const Plan& of, int itemsize, std::int64_t long_side)
      : plan(with_tiled_dims_last(of)), size(itemsize) {
    const int inner = plan.ndim() - 1;
    n0 = length0 = plan.size[inner];
    n1 = plan.size[inner - 1];
    for (int d = 0; d < inner - 1 && n0 < long_side; ++d) {
      if (plan.stride[1][d] != n0 * plan.stride[1][inner]) continue;
      length0 *= plan.size[d];
      next_stride0 = plan.stride[0][d] * size;
      plan = without_dim(plan, d);
      break;
    }
  }

  std::int64_t stride(int operand, int dim) const {
    return plan.stride[operand][plan.ndim() - 1 - dim];
  }

  // False where they are more than can be counted.
  bool cut(AnyTiles& tiles, std::int64_t side0, std::int64_t side1, const Operand& in,
           const Operand& out, std::optional<Scratch>& more) const {
    const std::int64_t tiles0 = parts_of_side(length0, side0), tiles1 = parts_of_side(n1, side1);
    std::int64_t count = tiles0 * tiles1;
    for (int d = 0; d < plan.ndim() - 2; ++d) count *= plan.size[d];
    if (std::max({length0, n1, count}) > most_counted) return false;
    const int sizes[] = {size, size};
    tiles.loop.data[0] = in.data + plan.base[0] * size;
    tiles.loop.data[1] = out.data + plan.base[1] * size;
    tiles.loop.count = static_cast<u32>(count);
    set_dims(tiles.loop, plan, sizes, more);
    tiles.tiles0 = Divisor(static_cast<u32>(tiles0));
    tiles.tiles1 = Divisor(static_cast<u32>(tiles1));
    tiles.side0 = static_cast<u32>(side0);
    tiles.side1 = static_cast<u32>(side1);
    tiles.length0 = static_cast<u32>(length0);
    tiles.size0 = Divisor(static_cast<u32>(n0));
    tiles.next_stride0 = next_stride0;
    tiles.crosswise = tiles1 < tiles0;
    return true;
  }
};

// How long a side of a tile of so many items is at most.
std::int64_t longest_side(std::int64_t items, bool little) {
  const double side = std::sqrt((little ? 2 : 4) * static_cast<double>(items));
  return std::min<std::int64_t>(tile_threads, static_cast<std::int64_t>(side));
}

// Whether tiles of small items pay that have whole rows of the output: short ones, which follow
// each other. Rows of the input an even number of items apart have items meet in a bank.
bool joined_tiles_pay(const Tiling& tiling) {
  constexpr std::int64_t very_short = 40, shorter = 104;
  const std::int64_t n0 = tiling.n0, apart = tiling.stride(0, 0);
  if (tiling.length0 != n0 || tiling.stride(1, 1) != n0 ||
      std::min(n0, tiling.n1) < least_joined_side ||
      n0 > longest_side(tile_bytes_of(false) / tiling.size, false)) {
    return false;
  }
  if (n0 <= very_short) return true;
  if (tiling.size == 1) return n0 <= shorter && apart % 4 != 0;
  return apart % 4 != 0 || (n0 <= shorter && apart % 8 != 0);
}

// False where they do not pay.
bool run_any_tiles(const Tiling& tiling, const Operand& in, const Operand& out, bool is_little) {
  const int size = tiling.size;
  const bool is_small = size < 4;
  const std::int64_t n0 = tiling.n0, n1 = tiling.n1, length0 = tiling.length0;
  const std::int64_t items = tile_bytes_of(is_little) / size;
  const std::int64_t longest = longest_side(items, is_little);
  if (std::min(n0, n1) < least_side || (n0 % even_side == 0 && n1 % even_side == 0)) return false;
  const std::int64_t side1 =
      even_parts(n1, std::min<std::int64_t>(tile_threads, items / even_parts(length0, longest)));
  const std::int64_t side0 =
      even_parts(length0, std::min<std::int64_t>(tile_threads, items / side1));
  if (!is_small && side0 * side1 * size < least_tile_bytes) return false;
  AnyTiles all{};
  std::optional<Scratch> more;
  if (!tiling.cut(all, side0, side1, in, out, more)) return false;
  const bool packed = size < pack_bytes && tiling.stride(0, 1) == 1;
  const std::int64_t row = side1 * size;
  all.parts0 = Divisor(static_cast<u32>(side0));
  all.parts1 = Divisor(static_cast<u32>(packed ? (row + 2 * pack_bytes - 2) / pack_bytes : side1));
  // Small tiles have small blocks, of which more are at work.
  const std::int64_t wanted = std::max<std::int64_t>(
      side0 * row / bytes_per_thread(is_little),
      std::max<std::int64_t>(is_small ? 1 : all.parts0.divisor, all.parts1.divisor));
  const auto threads =
      static_cast<u32>(std::min<std::int64_t>(tile_threads, (wanted + 31) / 32 * 32));
  all.rows0 = threads / all.parts1.divisor;
  all.rows1 = threads / all.parts0.divisor;
  // Rows of packs keep out of each other's, however they begin in them. Neighbours in a column lie
  // in different banks as far as their places in packs allow it.
  const std::int64_t packs = (row - 1) / pack_bytes + 3;
  const std::int64_t shift = (tiling.stride(0, 0) * size % pack_bytes + pack_bytes) % pack_bytes;
  all.pitch =
      static_cast<int>(packed ? (packs | (shift == 0)) * pack_bytes + shift : (side1 | 1) * size);
  auto bytes = static_cast<std::size_t>(side0 * all.pitch + 2 * pack_bytes);
  if (is_small) {
    // A word reaches beyond the tile at both ends.
    all.before = (word_bytes * all.pitch / pack_bytes + 1) * pack_bytes;
    bytes += static_cast<std::size_t>(2 * all.before);
  }
  void* arguments[] = {&all};
  const auto run_as = [&](auto item, auto part) {
    const auto kernel = reinterpret_cast<const void*>(&copy_tiles<decltype(item), decltype(part)>);
    launch(kernel, all.loop.count, arguments, bytes, "copy", threads);
  };
  const auto run = [&](auto item) { packed ? run_as(item, uint4{}) : run_as(item, item); };
  if (is_small) {
    size == 1 ? run_as(u8{}, uint4{}) : run_as(u16{}, uint4{});
  } else if (size == 4) {
    run(u32{});
  } else if (size == 8) {
    run(u64{});
  } else if (is_aligned_to(all.loop.data[0], size) && is_aligned_to(all.loop.data[1], size)) {
    run_as(Pack<u64, 2>{}, Pack<u64, 2>{});
  } else {
    run_as(Complex<f64>{}, Complex<f64>{});
  }
  return true;
}

// False where they do not pay: sides are short, or rows begin at packs, of both operands or of one
// where the cache holds all.
bool run_turned_tiles(const Plan& plan, const Tiling& tiling, const Operand& in,
                      const Operand& out) {
  const int size = tiling.size;
  const bool packs_in = has_aligned_rows(plan, 0, plan.tile_dim, in.data, size);
  const bool packs_out = has_aligned_rows(plan, 1, plan.ndim() - 1, out.data, size);
  if (std::min(tiling.n0, tiling.n1) < least_turned_side || (packs_in && packs_out)) return false;
  if (tiling.length0 == tiling.n0 && (packs_out || (packs_in && size == 2)) &&
      plan.count() * size < cached_bytes) {
    return false;
  }
  const auto out_begins_at = [&](std::int64_t bytes) {
    return has_aligned_rows(tiling.plan, 1, tiling.plan.ndim() - 1, out.data, size, bytes);
  };
  // As much of a row as its packs hold wherever it begins; whole packs where it begins at one.
  const std::int64_t run = turned_row_bytes - (packs_in ? 0 : pack_bytes);
  const std::int64_t each = (packs_in ? pack_bytes : 4) / size;
  const std::int64_t side1 = (even_parts(tiling.n1, run / size) + each - 1) / each * each;
  const std::int64_t sector = sector_bytes / size;
  const std::int64_t own = turned_rows - (out_begins_at(sector_bytes) ? 0 : sector);
  std::int64_t side0 = tiling.length0;
  if (side0 > turned_rows) {
    side0 = std::min(own, (even_parts(side0, own) + sector - 1) / sector * sector);
  }
  AnyTiles all{};
  std::optional<Scratch> more;
  if (!tiling.cut(all, side0, side1, in, out, more)) return false;
  const std::int64_t rows = std::min(tiling.length0, side0 + turned_rows - own);
  all.read0 = static_cast<u32>(rows);
  all.parts0 =
      Divisor(static_cast<u32>(granules_of(rows, pack_bytes / size, out_begins_at(pack_bytes))));
  all.rows1 = block_threads / all.parts0.divisor;
  void* arguments[] = {&all};
  const auto run_as = [&](auto item) {
    using M = decltype(item);
    using T = Turned<M>;
    const std::int64_t raw = parts_of_side(rows, thread_rows) * T::raw_rows + 4 / size * T::raw_row;
    launch(reinterpret_cast<const void*>(&turn_tiles<M>), all.loop.count, arguments,
           static_cast<std::size_t>(std::max(4 * raw, side1 * T::pitch + T::skew)), "copy");
  };
  size == 1 ? run_as(u8{}) : run_as(u16{});
  return true;
}

bool run_tiles(const Plan& plan, const Operand& in, const Operand& out) {
  if (plan.kind != LoopKind::transposed) return false;
  const int size = itemsize(out.dtype);
  const std::int64_t bytes = plan.count() * size;
  if (size >= 4) {
    const bool is_little = bytes < little_bytes;
    const Tiling tiling(plan, size, longest_side(tile_bytes_of(is_little) / size, is_little));
    return run_any_tiles(tiling, in, out, is_little);
  }
  if (bytes < least_small_bytes || plan.stride[0][plan.tile_dim] != 1 ||
      plan.stride[1][plan.ndim() - 1] != 1) {
    return false;
  }
  const Tiling tiling(plan, size, long_row);
  return joined_tiles_pay(tiling) ? run_any_tiles(tiling, in, out, false)
                                  : run_turned_tiles(plan, tiling, in, out);
}

void run_copy(const ElementwiseKernels& kernels, const Operand& in, const Operand& out) {
  const Operand* all[] = {&in, &out};
  const Plan plan = plan_of(all, 2);
  if (in.dtype == out.dtype && !in.host_scalar &&
      (run_boxes(plan, in, out) || run_tiles(plan, in, out))) {
    return;
  }
  const LoopOperand loop[] = {{in.data, in.dtype, out.dtype, in.host_scalar},
                              {out.data, out.dtype, out.dtype, false}};
  run_loop(kernels, plan, loop, "copy");
}

// Of one dtype, or of bits that stay as they are.
void copy_items(const Operand& in, const Operand& out) {
  const int size = itemsize(out.dtype);
  const std::int64_t bytes = out.layout->size * size;
  if (bytes >= least_by_driver && !in.host_scalar && in.layout->is_contiguous() &&
      out.layout->is_contiguous()) {
    check(cudaMemcpyAsync(out.data, in.data, static_cast<std::size_t>(bytes),
                          cudaMemcpyDeviceToDevice, stream()),
          "copy");
    return;
  }
  Operand from = in, to = out;
  if (!has_aligned_elements(in) || !has_aligned_elements(out)) {
    if (in.host_scalar) {
      const Array aligned = scratch_array(out.dtype, out.layout->shape);
      copy_items(in, aligned);
      return copy_items(aligned, out);
    }
    const Layout from_bytes = parts_of(*in.layout, size), to_bytes = parts_of(*out.layout, size);
    from.layout = &from_bytes;
    to.layout = &to_bytes;
    from.dtype = to.dtype = DType::uint8;
    return run_copy(kernels().copy[static_cast<int>(DType::uint8)], from, to);
  }
  from.dtype = to.dtype = item_dtype(size);
  run_copy(kernels().copy[static_cast<int>(to.dtype)], from, to);
}

bool is_transposed(const Operand& in, const Operand& out) {
  const Operand* all[] = {&in, &out};
  return plan_of(all, 2).kind == LoopKind::transposed;
}

}  // namespace

void copy(const Operand& in, const Operand& out) {
  if (out.layout->size == 0) return;
  if (in.host_scalar) {
    Element e;
    e.dtype = in.dtype;
    std::memcpy(e.bytes, in.data, itemsize(in.dtype));
    e = converted_element(e, out.dtype);
    return copy_items(e, out);
  }
  if (has_same_bits(in.dtype, out.dtype)) return copy_items(in, out);
  if (!has_aligned_elements(out)) {
    const Array aligned = scratch_array(out.dtype, out.layout->shape);
    copy(in, aligned);
    return copy_items(aligned, out);
  }
  // Tiles do not convert: what is fastest in different dimensions moves first.
  if (!has_aligned_elements(in) || is_transposed(in, out)) {
    const Array moved = scratch_in_order(in.dtype, *out.layout);
    copy_items(in, moved);
    return copy(moved, out);
  }
  run_copy(kernels().cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)], in, out);
}

// ---- ranges -------------------------------------------------------------------------------------

namespace {

// out[i] = value(i) along a one-dimensional output; the stride in bytes.
template <class M, class Value>
__global__ void __launch_bounds__(block_threads)
    generate(char* out, i64 stride, i64 n, Value value) {
  wait_for_earlier();
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) {
    *reinterpret_cast<M*>(out + i * stride) = value(i);
  }
}
template <class M, class Value>
void launch_generate(const Operand& out, Value value) {
  i64 n = out.layout->size;
  if (n == 0) return;
  char* to = out.data;
  i64 stride = out.layout->strides[0] * std::int64_t{sizeof(M)};
  void* arguments[] = {&to, &stride, &n, &value};
  launch(reinterpret_cast<const void*>(&generate<M, Value>), grid_for(n, block_threads * 4),
         arguments, 0, "generate");
}

// Runs write(aligned operand) for an output that may not be aligned to its items.
template <class Write>
void write_aligned(const Operand& out, Write&& write) {
  if (has_aligned_elements(out)) return write(out);
  const Array aligned = scratch_array(out.dtype, out.layout->shape);
  write(Operand(aligned));
  copy(aligned, out);
}

template <class T>
struct ArangeFloating {
  f64 first, by;
  __device__ T operator()(i64 i) const { return T(first + static_cast<f64>(i) * by); }
};
template <class T>
struct ArangeInteger {
  u64 first, by;
  __device__ T operator()(i64 i) const { return static_cast<T>(first + static_cast<u64>(i) * by); }
};

// Interpolated from the nearer end, so that both ends are exact and nothing overflows.
struct Interpolated {
  f64 a, b, parts, step;

  Interpolated(f64 from, f64 to, f64 divisions) : a(from), b(to), parts(divisions) {
    const f64 span = b - a;
    step = parts == 0 ? 0 : std::isfinite(span) ? span / parts : b / parts - a / parts;
  }
  __device__ f64 operator()(i64 i) const {
    if (parts == 0) return a;
    const f64 t = static_cast<f64>(i);
    return 2 * t <= parts ? a + t * step : b - (parts - t) * step;
  }
};
template <class T>
struct LinspaceReal {
  Interpolated at;
  __device__ T operator()(i64 i) const { return T(at(i)); }
};
template <class T>
struct LinspaceComplex {
  Interpolated re, im;
  __device__ Complex<T> operator()(i64 i) const { return {T(re(i)), T(im(i))}; }
};

}  // namespace

void arange(const Operand& result, const Element& start, const Element& step) {
  write_aligned(result, [&](const Operand& out) {
    dispatch(out.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, f16>) {
        launch_generate<T>(out, ArangeFloating<T>{start.as<double>(), step.as<double>()});
      } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        launch_generate<T>(
            out, ArangeInteger<T>{static_cast<u64>(start.as<T>()), static_cast<u64>(step.as<T>())});
      }
    });
  });
}

void linspace(const Operand& result, std::complex<double> start, std::complex<double> stop,
              bool endpoint) {
  const std::int64_t n = result.layout->size;
  const double parts = static_cast<double>(endpoint ? n - 1 : n);
  const Interpolated re(start.real(), stop.real(), parts), im(start.imag(), stop.imag(), parts);
  write_aligned(result, [&](const Operand& out) {
    dispatch(out.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, f16>) {
        launch_generate<T>(out, LinspaceReal<T>{re});
      } else if constexpr (!std::is_integral_v<T>) {
        using R = typename T::value_type;
        launch_generate<Complex<R>>(out, LinspaceComplex<R>{re, im});
      }
    });
  });
}

// ---- triangles ----------------------------------------------------------------------------------

namespace {

// Dimension 0 are the columns, 1 the rows; what is kept begins or ends at column row + k.
__device__ __forceinline__ i64 row_of(const Loop& loop, u32 matrix_row) {
  const Divisor& rows = loop.dim[1].size;
  return matrix_row - rows.divide(matrix_row) * rows.divisor;
}

// Element by element.
template <class M>
__global__ void __launch_bounds__(block_threads)
    triangle_elements(const __grid_constant__ Loop loop, i64 k, bool upper) {
  constexpr int E = 4;
  const u32 step = gridDim.x * (block_threads * E);
  for (u32 begin = blockIdx.x * (block_threads * E) + threadIdx.x; begin < loop.count;
       begin += step) {
    u32 at[E];
    i64 offset[E][2] = {};
    bool keeps[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      at[e] = min(begin + e * block_threads, loop.count - 1);
      const u32 row_at = loop.dim[0].size.divide(at[e]);
      const i64 column = at[e] - row_at * loop.dim[0].size.divisor;
      const i64 row = row_of(loop, row_at);
      keeps[e] = upper ? column - row >= k : column - row <= k;
    }
    locate(loop, 0, at, offset);
    M x[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      x[e] = keeps[e] ? *reinterpret_cast<const M*>(loop.data[0] + offset[e][0]) : M{};
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (begin + e * block_threads < loop.count) {
        *reinterpret_cast<M*>(loop.data[1] + offset[e][1]) = x[e];
      }
    }
  }
}

// Rows of both operands lie as load_granule() wants them; what is dropped is not read.
template <class M>
__global__ void __launch_bounds__(block_threads)
    triangle_rows(const __grid_constant__ Loop loop, Divisor granules, i64 k, bool upper) {
  constexpr int N = pack_bytes / int(sizeof(M)), P = 2;
  const int length = static_cast<int>(loop.dim[0].size.divisor);
  const u32 step = gridDim.x * (block_threads * P);
  for (u32 begin = blockIdx.x * (block_threads * P) + threadIdx.x; begin < loop.count;
       begin += step) {
    u32 row[P], at[P];
    i64 offset[P][2] = {};
    int first[P], last[P];  // columns that are kept
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const u32 i = begin + p * block_threads;
      row[p] = granules.divide(min(i, loop.count - 1));
      at[p] = i - row[p] * granules.divisor;
      const int edge = static_cast<int>(
          max(i64(-1), min(row_of(loop, row[p]) + k + (upper ? 0 : 1), i64(length))));
      first[p] = upper ? edge : 0;
      last[p] = upper ? length : edge;
    }
    locate(loop, 1, row, offset);
    Granule granule[P];
    Pack<M, N> x[P] = {};
#pragma unroll
    for (int p = 0; p < P; ++p) {
      granule[p] = granule_at<M, N>(loop.data[1] + offset[p][1], at[p], length);
      if (begin + p * block_threads >= loop.count) granule[p].hi = 0;
      const Granule kept{granule[p].start, max(granule[p].lo, first[p] - granule[p].start),
                         min(granule[p].hi, last[p] - granule[p].start)};
      if (kept.hi <= kept.lo) continue;
      x[p] = load_granule<M, N>(loop.data[0] + offset[p][0], loop.dim[0].stride[0], kept).pack();
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i < kept.lo || i >= kept.hi) x[p].v[i] = M{};
      }
    }
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (granule[p].hi <= granule[p].lo) continue;
      store_granule(loop.data[1] + offset[p][1], granule[p], x[p]);
    }
  }
}

template <class M>
void launch_triangles(const Plan& plan, const Operand& in, const Operand& out, std::int64_t k,
                      bool upper) {
  constexpr int lanes = pack_bytes / int(sizeof(M));
  Loop loop;
  const int size[] = {int(sizeof(M)), int(sizeof(M))};
  loop.data[0] = in.data + plan.base[0] * size[0];
  loop.data[1] = out.data + plan.base[1] * size[1];
  std::optional<Scratch> more;
  set_dims(loop, plan, size, more);
  const std::int64_t columns = plan.size.back(), from = plan.stride[0].back();
  if (plan.stride[1].back() == 1 && from >= -1 && from <= 2 && columns >= 4 * lanes &&
      is_aligned_to(loop.data[1], sizeof(M))) {
    const std::int64_t granules = granules_of(columns, lanes, false);
    loop.count = static_cast<u32>(plan.count() / columns * granules);
    triangle_rows<M><<<grid_for(loop.count, block_threads * 2), block_threads, 0, stream()>>>(
        loop, Divisor(static_cast<u32>(granules)), k, upper);
  } else {
    loop.count = static_cast<u32>(plan.count());
    triangle_elements<M>
        <<<grid_for(loop.count, block_threads * 4), block_threads, 0, stream()>>>(loop, k, upper);
  }
  check_launch("triangle");
}

// Parts that are counted in 32 bits: halves of the matrices, then of their rows and columns.
void run_triangles(const Plan& plan, const Operand& in, const Operand& out, std::int64_t k,
                   bool upper) {
  const int n = plan.ndim();
  if (plan.count() <= most_counted) {
    return dispatch_item(itemsize(out.dtype), [&](auto item) {
      launch_triangles<decltype(item)>(plan, in, out, k, upper);
    });
  }
  int longest = 0;
  for (int d = 1; d < n; ++d) {
    if (plan.size[d] > plan.size[longest]) longest = d;
  }
  Plan first = plan, second = plan;
  const std::int64_t cut = plan.size[longest] / 2;
  first.size[longest] = cut;
  second.size[longest] -= cut;
  for (int j = 0; j < 2; ++j) second.base[j] += cut * plan.stride[j][longest];
  run_triangles(first, in, out, k, upper);
  const std::int64_t shift = longest == n - 1 ? -cut : longest == n - 2 ? cut : 0;
  run_triangles(second, in, out, k + shift, upper);
}

}  // namespace

void triangle(const Operand& in, const Operand& result, std::int64_t k, bool upper) {
  if (result.layout->size == 0) return;
  if (!has_aligned_elements(in)) {
    const Array aligned = scratch_array(in.dtype, in.layout->shape);
    copy(in, aligned);
    return triangle(aligned, result, k, upper);
  }
  const Layout& layout = *result.layout;
  const std::int64_t rows = layout.shape[layout.ndim() - 2], columns = layout.shape.back();
  k = std::clamp<std::int64_t>(k, -rows - 1, columns + 1);
  write_aligned(result, [&](const Operand& out) {
    // The matrices in whatever order; rows and columns as they are.
    const int n = layout.ndim();
    Dims batch(layout.shape.begin(), layout.shape.end() - 2);
    Dims from(in.layout->strides.begin(), in.layout->strides.end() - 2);
    Dims to(out.layout->strides.begin(), out.layout->strides.end() - 2);
    const Dims* strides[2] = {&from, &to};
    Plan plan = make_plan(batch, strides, 2);
    for (int d = n - 2; d < n; ++d) {
      plan.size.push_back(layout.shape[d]);
      plan.stride[0].push_back(in.layout->strides[d]);
      plan.stride[1].push_back(out.layout->strides[d]);
    }
    run_triangles(plan, in, out, k, upper);
  });
}

}  // namespace arrayx::cuda
