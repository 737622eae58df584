// Joins of arrays whose elements take turns in the result, such as stack((x, y), axis=-1): copied
// one after the other they would write parts of sectors, which the memory reads before. And joins
// of small arrays, of which one launch copies many.
#include <algorithm>

#include "loop.hpp"
#include "rows.cuh"

namespace arrayx::cuda {

namespace {

// out[i][k] = in[k][i] for items of type M; a thread has a pack of each input.
template <class M, int Parts>
__global__ void __launch_bounds__(block_threads)
    interleave(const M* __restrict__ a, const M* __restrict__ b, const M* __restrict__ c,
               const M* __restrict__ d, M* __restrict__ out, i64 n) {
  wait_for_earlier();
  constexpr int lanes = pack_bytes / sizeof(M);
  using P = Pack<M, lanes>;
  const M* const in[] = {a, b, c, d};
  const i64 step = i64(gridDim.x) * block_threads * lanes;
  for (i64 i = (i64(blockIdx.x) * block_threads + threadIdx.x) * lanes; i < n; i += step) {
    if (i + lanes <= n) {
      P x[Parts];
      M y[Parts * lanes];
#pragma unroll
      for (int k = 0; k < Parts; ++k) x[k] = *reinterpret_cast<const P*>(in[k] + i);
#pragma unroll
      for (int j = 0; j < Parts * lanes; ++j) y[j] = x[j % Parts].v[j / Parts];
#pragma unroll
      for (int k = 0; k < Parts; ++k) {
        P z;
#pragma unroll
        for (int j = 0; j < lanes; ++j) z.v[j] = y[k * lanes + j];
        reinterpret_cast<P*>(out + i * Parts)[k] = z;
      }
    } else {
      for (i64 j = i; j < n; ++j) {
#pragma unroll
        for (int k = 0; k < Parts; ++k) out[j * Parts + k] = in[k][j];
      }
    }
  }
}

template <class M, int Parts>
void launch_interleave(std::span<const Operand> parts, const Operand& out, std::int64_t n) {
  const char* in[4];
  for (std::size_t k = 0; k < 4; ++k) in[k] = parts[std::min(k, parts.size() - 1)].data;
  char* to = out.data;
  void* arguments[] = {&in[0], &in[1], &in[2], &in[3], &to, &n};
  launch(reinterpret_cast<const void*>(&interleave<M, Parts>),
         grid_for(n, block_threads * (pack_bytes / sizeof(M))), arguments, 0, "concat");
}

// ---- many rows ----------------------------------------------------------------------------------

// Parts of up to so many bytes are joined by one launch: on an H200 two of 16 MiB take 19 µs of 22
// so, two of 9 MB, of which one goes where no pack begins, 8 of 22. Others are copied one by one,
// each in the best way.
constexpr std::int64_t most_part_bytes = std::int64_t{1} << 24;

// Parts of whose rows, one after the other, the rows of the result consist. They travel by value,
// in the 4 KiB that arguments may have on any device.
struct RowsOfParts {
  static constexpr int most = 128, granules_per_thread = 2;
  struct Part {
    const char* data;
    i64 stride;  // of its rows, in bytes
    u32 column;  // where its rows begin in the result's, in items
    u32 block;   // its first
  };
  char* out;
  i64 stride;
  u32 rows;
  int count;
  Part part[most];
  u32 end;  // the column behind the last part
};

template <class M>
__global__ void __launch_bounds__(block_threads)
    join_rows(const __grid_constant__ RowsOfParts all) {
  wait_for_earlier();
  constexpr int N = pack_bytes / int(sizeof(M)), P = RowsOfParts::granules_per_thread;
  int k = 0;
#pragma unroll
  for (int step = RowsOfParts::most / 2; step > 0; step /= 2) {
    if (k + step < all.count && all.part[k + step].block <= blockIdx.x) k += step;
  }
  const RowsOfParts::Part& part = all.part[k];
  const u32 length = (k + 1 < all.count ? all.part[k + 1].column : all.end) - part.column;
  const u32 per_row = (length + 2 * N - 2) / N, granules = per_row * all.rows;
  const u32 begin = (blockIdx.x - part.block) * (P * block_threads) + threadIdx.x;
  char* to[P];
  Granule granule[P];
  Run<M, N> x[P];
#pragma unroll
  for (int p = 0; p < P; ++p) {
    const u32 i = begin + p * block_threads, row = i / per_row;
    granule[p].lo = granule[p].hi = 0;
    if (i >= granules) continue;
    to[p] = all.out + i64(row) * all.stride + i64(part.column) * int(sizeof(M));
    granule[p] = granule_at<M, N>(to[p], i - row * per_row, length);
    if (granule[p].hi <= granule[p].lo) continue;
    x[p] = load_granule<M, N>(part.data + i64(row) * part.stride, sizeof(M), granule[p]);
  }
#pragma unroll
  for (int p = 0; p < P; ++p) {
    if (granule[p].hi > granule[p].lo) store_granule(to[p], granule[p], x[p].pack());
  }
}

// How far apart the rows are that the dimensions from `axis` on make of a layout, which lie side by
// side in each; nothing where they do not, or the rows differ in that.
std::optional<std::int64_t> row_stride(const Layout& layout, int axis) {
  std::int64_t length = 1, rows = 1, stride = 0;
  for (int d = layout.ndim() - 1; d >= 0; --d) {
    if (layout.shape[d] == 1) continue;
    if (d < axis && rows == 1) stride = layout.strides[d];
    if (layout.strides[d] != (d < axis ? stride * rows : length)) return std::nullopt;
    (d < axis ? rows : length) *= layout.shape[d];
  }
  return stride;
}

// False where it is not for this.
bool join_by_rows(std::span<const Operand> parts, int axis, const Operand& out) {
  const int bytes = itemsize(out.dtype), size = std::min(bytes, 8), items = bytes / size;
  const std::optional<std::int64_t> stride = row_stride(*out.layout, axis);
  const std::int64_t mean_bytes =
      out.layout->size * bytes / static_cast<std::int64_t>(parts.size());
  if (!stride || out.layout->size == 0 || out.layout->size * items > most_counted ||
      mean_bytes > most_part_bytes || !is_aligned_to(out.data, size)) {
    return false;
  }
  std::int64_t rows = 1, inner = items;
  for (int d = 0; d < axis; ++d) rows *= out.layout->shape[d];
  for (int d = axis + 1; d < out.layout->ndim(); ++d) inner *= out.layout->shape[d];
  const auto is_row_part = [&](const Operand& part) {
    return part.dtype == out.dtype && is_aligned_to(part.data, size) &&
           (part.layout->size == 0 || row_stride(*part.layout, axis));
  };
  if (!std::all_of(parts.begin(), parts.end(), is_row_part)) return false;
  RowsOfParts all;
  all.out = out.data;
  all.stride = *stride * bytes;
  all.rows = static_cast<u32>(rows);
  std::int64_t column = 0, blocks = 0;
  all.count = 0;
  const auto run = [&] {
    all.end = static_cast<u32>(column);
    void* arguments[] = {&all};
    dispatch_item(size, [&](auto item) {
      if constexpr (sizeof item < pack_bytes) {
        launch(reinterpret_cast<const void*>(&join_rows<decltype(item)>),
               static_cast<unsigned>(blocks), arguments, 0, "concat");
      }
    });
    all.count = 0;
    blocks = 0;
  };
  for (const Operand& part : parts) {
    if (part.layout->size == 0) continue;
    if (all.count == RowsOfParts::most) run();
    const std::int64_t length = part.layout->shape[axis] * inner;
    all.part[all.count++] = {part.data, *row_stride(*part.layout, axis) * bytes,
                             static_cast<u32>(column), static_cast<u32>(blocks)};
    column += length;
    const std::int64_t granules = granules_of(length, pack_bytes / size, false) * rows;
    blocks += (granules - 1) / (RowsOfParts::granules_per_thread * block_threads) + 1;
  }
  run();
  return true;
}

// ---- many parts that take turns -----------------------------------------------------------------

// By way of a copy in which the parts follow each other, and which is transposed then. False where
// they are few or of several lengths, where the cache holds the sectors until others have filled
// them, or where memory may not have room.
bool join_across(std::span<const Operand> parts, int axis, const Operand& out) {
  constexpr std::size_t least_parts = 5;
  const Layout& part = *parts[0].layout;
  const auto count = static_cast<std::int64_t>(parts.size());
  const auto bytes = static_cast<std::size_t>(out.layout->size * itemsize(out.dtype));
  if (parts.size() < least_parts || bytes < properties().l2_bytes ||
      bytes > properties().memory_bytes / 16 ||
      !std::all_of(parts.begin(), parts.end(),
                   [&](const Operand& other) { return other.layout->shape == part.shape; })) {
    return false;
  }
  Dims shape = part.shape;
  shape.insert(0, count);
  const Array all = scratch_array(out.dtype, shape);
  Layout one = Layout::contiguous(part.shape);
  Operand place = all;
  place.layout = &one;
  for (const Operand& each : parts) {
    copy(each, place);
    place.data += one.size * itemsize(out.dtype);
  }
  // The part that an element is from stands before its place along the axis.
  Dims order(shape.size());
  for (int d = 0; d < order.size(); ++d) order[d] = d == axis ? 0 : d < axis ? d + 1 : d;
  const Layout from = permute(all.layout, order);
  Layout to = *out.layout;
  to.shape.insert(axis, count);
  to.shape[axis + 1] = part.shape[axis];
  to.strides.insert(axis, to.strides[axis] * part.shape[axis]);
  Operand source = all, target = out;
  source.layout = &from;
  target.layout = &to;
  copy(source, target);
  return true;
}

}  // namespace

void join(std::span<const Operand> parts, int axis, const Operand& out) {
  const Layout& whole = *out.layout;
  // Bytes that a part has between those of the others, an item of the kernel's.
  std::int64_t item = out.layout->size == 0 ? 0 : itemsize(out.dtype);
  for (int d = axis + 1; d < whole.ndim(); ++d) item *= whole.shape[d];
  item *= parts[0].layout->shape[axis];
  bool take_turns = parts.size() >= 2 && parts.size() <= 4 && item > 0 && item <= pack_bytes &&
                    (item & (item - 1)) == 0 && whole.is_contiguous() &&
                    is_aligned_to(out.data, pack_bytes);
  for (const Operand& part : parts) {
    take_turns = take_turns && part.dtype == out.dtype && part.layout->is_contiguous() &&
                 is_aligned_to(part.data, pack_bytes) &&
                 part.layout->shape[axis] == parts[0].layout->shape[axis];
  }
  if (!take_turns) {
    if ((item < sector_bytes && join_across(parts, axis, out)) || join_by_rows(parts, axis, out)) {
      return;
    }
    return for_each_part(parts, axis, out,
                         [](const Operand& part, const Operand& place) { copy(part, place); });
  }
  const std::int64_t n = parts[0].layout->size * itemsize(out.dtype) / item;
  dispatch_item(static_cast<int>(item), [&](auto tag) {
    using M = decltype(tag);
    if (parts.size() == 2) return launch_interleave<M, 2>(parts, out, n);
    if (parts.size() == 3) return launch_interleave<M, 3>(parts, out, n);
    launch_interleave<M, 4>(parts, out, n);
  });
}

}  // namespace arrayx::cuda
