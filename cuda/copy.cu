// Copies, casts, fills and the creation of ranges.
#include <cmath>
#include <cstring>

#include "boxes.hpp"
#include "loop.hpp"
#include "rows.cuh"

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
// Items of one or two bytes that are written at a time; where rows follow each other, a word's.
constexpr int few_small = 4, word_bytes = 8;
constexpr std::int64_t least_small_tile_bytes = 512, least_small_side = 25,
                       least_small_bytes = 1 << 17;

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
  // Of small items:
  int gap;      // more bytes in shared memory where dimension 0 goes on along the next one
  int before;   // bytes that words of the output may begin before the tile
  bool joined;  // rows of the output follow each other, and tiles have whole ones
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

// Items of small size that are written at a time, from a tile where they lie `pitch` bytes apart.
template <class M, int W>
struct SmallItems {
  using Word = Pack<M, W>;
  static constexpr int size = int(sizeof(M));

  static __device__ __forceinline__ int lead_of(const char* row) {
    return int(u32(reinterpret_cast<u64>(row)) % sizeof(Word)) / size;
  }
  // Those from `cut` on lie `gap` further.
  static __device__ __forceinline__ Word gathered(const unsigned char* p, int pitch, int cut,
                                                  int gap) {
    Word x;
#pragma unroll
    for (int j = 0; j < W; ++j) {
      x.v[j] = *reinterpret_cast<const M*>(p + j * pitch + (j >= cut ? gap : 0));
    }
    return x;
  }
  // They are a row's from `place` on, of which not all need be there.
  static __device__ __forceinline__ void put(char* to, const Word& x, bool whole, int place,
                                             int length) {
    if (whole) {
      *reinterpret_cast<Word*>(to) = x;
      return;
    }
#pragma unroll
    for (int j = 0; j < W; ++j) {
      if (place + j >= 0 && place + j < length) reinterpret_cast<M*>(to)[j] = x.v[j];
    }
  }
};

// Rows of the output from a tile of small items. What is taken at a time begins where memory is
// aligned to it; what it has beyond its row's ends is read, from wherever that is in shared memory,
// and not written.
template <class M>
__device__ __forceinline__ void write_rows(const AnyTiles& tiles, const unsigned char* tile,
                                           char* out, u32 begin0, u32 size0, u32 size1) {
  constexpr int W = few_small, size = int(sizeof(M)), batch = 4;
  using Items = SmallItems<M, W>;
  u32 i1 = tiles.parts0.divide(threadIdx.x);
  const int first = int(threadIdx.x - i1 * tiles.parts0.divisor) * W, length = int(size0);
  if (i1 >= tiles.rows1 || first - (W - 1) >= length) return;
  const int pitch = tiles.pitch, n0 = int(tiles.size0.divisor);
  const u32 next = tiles.size0.divide(begin0 + u32(max(first - (W - 1), 0)));
  const int cut = int((next + 1) * u32(n0) - begin0) - first;
  const bool whole = first >= W - 1 && first + W <= length;
  const i64 out_row = tiles.loop.dim[1].stride[1], step = tiles.rows1 * out_row;
  const unsigned char* p =
      tile + first * pitch + int(next - tiles.size0.divide(begin0)) * tiles.gap + int(i1) * size;
  char* to = out + i1 * out_row + first * size;
#pragma unroll 1
  while (i1 < size1) {
    typename Items::Word x[batch];
#pragma unroll
    for (int l = 0; l < batch; ++l) {
      const int lead = Items::lead_of(to + l * step);
      if (i1 + l * tiles.rows1 < size1) {
        x[l] = Items::gathered(p - lead * pitch, pitch, cut + lead, tiles.gap);
      }
      p += tiles.rows1 * size;
    }
#pragma unroll
    for (int l = 0; l < batch; ++l, i1 += tiles.rows1, to += step) {
      const int lead = Items::lead_of(to);
      if (i1 < size1) Items::put(to - lead * size, x[l], whole, first - lead, length);
    }
  }
}
// The same where they follow each other: they are one.
template <class M>
__device__ __forceinline__ void write_joined(const AnyTiles& tiles, const unsigned char* tile,
                                             char* out, u32 size0, u32 size1) {
  constexpr int size = int(sizeof(M)), W = word_bytes / size, batch = 16 / W;
  using Items = SmallItems<M, W>;
  const int pitch = tiles.pitch, n0 = int(size0), length = int(size0 * size1);
  const int lead = Items::lead_of(out), words = (lead + length - 1) / W + 1;
  const int gap = size - n0 * pitch;
#pragma unroll 1
  for (int begin = int(threadIdx.x); begin < words; begin += batch * int(blockDim.x)) {
    typename Items::Word x[batch];
#pragma unroll
    for (int l = 0; l < batch; ++l) {
      const int place = min(begin + l * int(blockDim.x), words - 1) * W - lead;
      const int row = int(tiles.size0.divide(u32(max(place, 0))));
      x[l] = Items::gathered(tile + place * pitch + row * gap, pitch, (row + 1) * n0 - place, gap);
    }
#pragma unroll
    for (int l = 0; l < batch; ++l) {
      const int place = (begin + l * int(blockDim.x)) * W - lead;
      Items::put(out + place * size, x[l], place >= 0 && place + W <= length, place, length);
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
  const Divisor& first = tiles.crosswise ? tiles.tiles1 : tiles.tiles0;
  const Divisor& second = tiles.crosswise ? tiles.tiles0 : tiles.tiles1;
  const u32 by_first = first.divide(blockIdx.x), at_first = blockIdx.x - by_first * first.divisor;
  u32 outer[] = {second.divide(by_first)};
  const u32 at_second = by_first - outer[0] * second.divisor;
  const u32 begin0 = (tiles.crosswise ? at_second : at_first) * tiles.side0;
  const u32 begin1 = (tiles.crosswise ? at_first : at_second) * tiles.side1;
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
  const u32 next0 = size < 4 ? tiles.size0.divide(begin0) : 0;
  const auto place_of = [&](u32 i0, const char* row) {
    const int at = int(i0) * tiles.pitch;
    if constexpr (size < 4) {
      // Places in packs are kept by the pitch and the gaps.
      const int gaps = int(tiles.size0.divide(begin0 + i0) - next0);
      return tiles.before + lead + at + gaps * tiles.gap;
    }
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
    char* const out = loop.data[1] + origin[0][1];
    const unsigned char* const first = tile + tiles.before + lead;
    return tiles.joined ? write_joined<M>(tiles, first, out, size0, size1)
                        : write_rows<M>(tiles, first, out, begin0, size0, size1);
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

// Where tiles of small items pay: rows of the output that are short, which go on in others. Rows of
// the input an even number of items apart have items meet in a bank. On an H100 tiles of packs take
// 1.1 to 2.5 times as long.
bool small_tiles_pay(bool joined, bool goes_on, std::int64_t n0, std::int64_t stride0) {
  constexpr std::int64_t very_short = 40, shorter = 100;
  if (!joined && !goes_on) return false;
  return stride0 % 4 != 0 || n0 <= very_short || (joined && stride0 % 8 != 0 && n0 <= shorter);
}

// False where they do not pay.
bool run_any_tiles(const Plan& plan, const Operand& in, const Operand& out) {
  const int size = itemsize(out.dtype);
  const bool is_small = size < 4;
  const std::int64_t bytes_in_all = plan.count() * size;
  if (plan.kind != LoopKind::transposed || (is_small && bytes_in_all < least_small_bytes)) {
    return false;
  }
  Plan moved = with_tiled_dims_last(plan);
  const int inner = moved.ndim() - 1;
  const std::int64_t n0 = moved.size[inner], n1 = moved.size[inner - 1];
  if (std::min(n0, n1) < (is_small ? least_small_side : least_side) ||
      (n0 % even_side == 0 && n1 % even_side == 0) ||
      (is_small && (moved.stride[0][inner - 1] != 1 || moved.stride[1][inner] != 1))) {
    return false;
  }
  const bool is_little = !is_small && bytes_in_all < little_bytes;
  const std::int64_t items = tile_bytes_of(is_little) / size;
  const std::int64_t longest = std::min<std::int64_t>(
      tile_threads,
      static_cast<std::int64_t>(std::sqrt((is_little ? 2 : 4) * static_cast<double>(items))));
  std::int64_t length0 = n0, next_stride0 = 0;
  for (int d = 0; d < inner - 1 && n0 < longest; ++d) {
    if (moved.stride[1][d] != n0 * moved.stride[1][inner]) continue;
    length0 *= moved.size[d];
    next_stride0 = moved.stride[0][d] * size;
    moved = without_dim(moved, d);
    break;
  }
  if (std::max(length0, n1) > most_counted) return false;
  const auto parts = [](std::int64_t n, std::int64_t side) { return (n - 1) / side + 1; };
  const auto side = [&](std::int64_t n, std::int64_t most) { return parts(n, parts(n, most)); };
  const std::int64_t side1 =
      side(n1, std::min<std::int64_t>(tile_threads, items / side(length0, longest)));
  const std::int64_t side0 = side(length0, std::min<std::int64_t>(tile_threads, items / side1));
  if (side0 * side1 * size < (is_small ? least_small_tile_bytes : least_tile_bytes)) return false;
  const bool joined = length0 == n0 && side0 == n0 && moved.stride[1][moved.ndim() - 2] == n0;
  if (is_small && !small_tiles_pay(joined, length0 != n0, n0, moved.stride[0].back())) return false;
  const std::int64_t tiles0 = parts(length0, side0), tiles1 = parts(n1, side1);
  const int last = moved.ndim() - 1;
  std::int64_t tiles = tiles0 * tiles1;
  for (int d = 0; d < last - 1; ++d) tiles *= moved.size[d];
  if (tiles > most_counted) return false;
  AnyTiles all{};
  const int sizes[] = {size, size};
  all.loop.data[0] = in.data + moved.base[0] * size;
  all.loop.data[1] = out.data + moved.base[1] * size;
  all.loop.count = static_cast<u32>(tiles);
  std::optional<Scratch> more;
  set_dims(all.loop, moved, sizes, more);
  all.tiles0 = Divisor(static_cast<u32>(tiles0));
  all.tiles1 = Divisor(static_cast<u32>(tiles1));
  all.side0 = static_cast<u32>(side0);
  all.side1 = static_cast<u32>(side1);
  all.length0 = static_cast<u32>(length0);
  all.size0 = Divisor(static_cast<u32>(n0));
  all.next_stride0 = next_stride0;
  all.crosswise = tiles1 < tiles0;
  const bool packed = size < pack_bytes && moved.stride[0][last - 1] == 1;
  all.joined = is_small && joined;
  const std::int64_t row = side1 * size;
  all.parts0 = Divisor(static_cast<u32>(is_small ? granules_of(side0, few_small, false) : side0));
  all.parts1 = Divisor(static_cast<u32>(packed ? (row + 2 * pack_bytes - 2) / pack_bytes : side1));
  // Small tiles have small blocks, of which more are at work.
  const std::int64_t wanted = std::max<std::int64_t>(
      side0 * row / bytes_per_thread(is_little),
      std::max<std::int64_t>(all.joined ? 1 : all.parts0.divisor, all.parts1.divisor));
  const auto threads =
      static_cast<u32>(std::min<std::int64_t>(tile_threads, (wanted + 31) / 32 * 32));
  all.rows0 = threads / all.parts1.divisor;
  all.rows1 = all.joined ? 1 : threads / all.parts0.divisor;
  // Rows of packs keep out of each other's, however they begin in them. Neighbours in a column lie
  // in different banks as far as their places in packs allow it.
  const std::int64_t packs = (row - 1) / pack_bytes + 3;
  const std::int64_t shift = (moved.stride[0][last] * size % pack_bytes + pack_bytes) % pack_bytes;
  all.pitch =
      static_cast<int>(packed ? (packs | (shift == 0)) * pack_bytes + shift : (side1 | 1) * size);
  auto bytes = static_cast<std::size_t>(side0 * all.pitch + 2 * pack_bytes);
  if (is_small) {
    // Packs keep their places in those of memory. A word reaches beyond the tile at both ends.
    const std::int64_t step = next_stride0 - n0 * moved.stride[0][last] * size;
    all.gap = length0 == n0 ? 0 : static_cast<int>((step % pack_bytes + pack_bytes) % pack_bytes);
    all.before = (word_bytes * all.pitch / pack_bytes + 1) * pack_bytes;
    bytes += static_cast<std::size_t>((side0 / n0 + 2) * all.gap + 2 * all.before);
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

void run_copy(const ElementwiseKernels& kernels, const Operand& in, const Operand& out) {
  const Operand* all[] = {&in, &out};
  const Plan plan = plan_of(all, 2);
  if (in.dtype == out.dtype && !in.host_scalar &&
      (run_boxes(plan, in, out) || run_any_tiles(plan, in, out))) {
    return;
  }
  const LoopOperand loop[] = {{in.data, in.dtype, out.dtype, in.host_scalar},
                              {out.data, out.dtype, out.dtype, false}};
  run_loop(kernels, plan, loop, "copy");
}

// Of one dtype.
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
  if (in.dtype == out.dtype) return copy_items(in, out);
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
