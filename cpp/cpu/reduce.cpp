// Reductions and arg-reductions. Each pass reduces one group of dimensions, from the last
// backwards; groups, chunks and lanes depend on the logical shape alone (see
// kernels/reduce_kernels.hpp).
#include <algorithm>
#include <atomic>
#include <limits>

#include "../operands.hpp"
#include "block_loop.hpp"
#include "caches.hpp"
#include "engine.hpp"
#include "items.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

// Fewer elements than small_group are reduced in one pass over all dimensions. Others are merged,
// from the last dimension backwards, until so many are together, and reduced by such groups: a
// group of one dimension needs no packing, and later passes have little left to read. Of a few
// thousand elements a pass more would take as long as it saves.
constexpr std::int64_t small_group = 1024;
constexpr std::int64_t least_group(std::int64_t elements) {
  return elements < small_group ? elements : elements < 2 * small_group ? 64 : 32;
}
constexpr std::int64_t pack_bytes = 64 << 10;
constexpr std::int64_t pack_columns_bytes = 128 << 10;
// Of a row with gaps so much at a time that it is still in an L1 with what it was packed from:
// x[:, ::2] is read at the speed of memory, and a quarter slower with more.
constexpr std::int64_t pack_row_bytes = 8 << 10;
constexpr std::int64_t task_bytes = 256 << 10;
// Columns so many items apart at most are read with all that is between them, which comes in the
// same cache lines.
constexpr std::int64_t widest_gap = 4;
// Of so many elements at most, what a tile of so many bytes holds, the mean is found before the
// deviations from it are summed up.
constexpr std::int64_t few_deviations = 192;
constexpr std::int64_t cached_bytes = 512 << 10;
// Shorter rows take longer to be read twice than to come from memory.
constexpr std::int64_t least_read_twice = 256;
constexpr int most_levels = 58;
constexpr std::int64_t widest_packed = 256;  // accumulators of a packed tile of several blocks

constexpr int index(Reduction r) {
  return static_cast<int>(r);
}

bool conditional(Reduction op) {
  return op == Reduction::any || op == Reduction::all || op == Reduction::count_nonzero;
}

// The reduction that combines partial results.
Reduction continuation(Reduction op) {
  const bool adds = op == Reduction::count_nonzero || op == Reduction::sum_magnitudes ||
                    op == Reduction::sum_squared_deviations;
  return adds ? Reduction::sum : op;
}

// Whether so many bytes are read in halves: what the last cache holds a part of takes up to a sixth
// longer so, and for several threads it holds more.
bool halves_pay(std::int64_t bytes) {
  const std::int64_t threads = std::min(thread_count(), 4);
  return reads_in_halves && bytes > last_cache_bytes() / 2 * (2 + threads);
}

struct Kernels {
  DType dtype;  // what the kernels read; other input is cast
  ReduceRowsKernel rows = nullptr;
  ReduceColumnsKernel columns = nullptr;
  ReduceRowsKernel from_afar = nullptr;  // of rows from beyond the caches, or null
  // Of rows whose elements are not next to each other, by their spacing, or null.
  const ReduceRowsKernel* spaced = nullptr;
  const ReduceRowsKernel* spaced_from_afar = nullptr;

  // Of rows whose elements are `step` items apart, or null.
  ReduceRowsKernel by_steps(std::int64_t step) const {
    return spaced && spacing(step) >= 0 ? spaced[spacing(step)] : nullptr;
  }
};

// `deviations`: from their center, besides their squares.
Kernels find_kernels(Reduction op, DType dtype, DType accumulator, bool deviations = false) {
  const ReduceKernels& table = kernels().reduce;
  const bool adds = op == Reduction::sum || op == Reduction::prod;
  dtype = compute_dtype(dtype);
  int wide = 0;
  if (conditional(op) || dtype == accumulator) {
    // the table's own rule
  } else if (adds && is_integer(accumulator) && !is_floating(dtype)) {
    // Any integer goes: sums and products are modulo 2^64.
  } else if (kind(dtype) == kind(accumulator) && itemsize(accumulator) == 2 * itemsize(dtype) &&
             table.rows[index(op)][static_cast<int>(dtype)][1]) {
    wide = 1;
  } else {
    dtype = accumulator;
  }
  const int d = static_cast<int>(dtype);
  Kernels k{dtype, table.rows[index(op)][d][wide], table.columns[index(op)][d][wide]};
  k.from_afar = table.rows_from_afar[index(op)][d][wide];
  if (op == Reduction::sum) {
    k.spaced = table.sum_spaced[d][wide];
    k.spaced_from_afar = table.sum_spaced_from_afar[d][wide];
  }
  if (deviations) k = {dtype, table.deviations_rows[d][wide], table.deviations_columns[d][wide]};
  if (!k.rows) {
    raise(ErrorKind::not_implemented, info(op).name, " of ", dtype, " with accumulator ",
          accumulator, " has no kernel");
  }
  return k;
}

MergeKernel merge_kernel(Reduction op, DType accumulator) {
  return kernels().reduce.merge[index(op)][static_cast<int>(accumulator)];
}

struct Pass {
  Reduction op;
  DType dtype, accumulator;
  const char* in;
  const char* center;      // of the accumulator's dtype, or null
  char* out;               // of the accumulator's dtype
  Plan kept;               // operands: out, center, in
  Plan group;              // operand: in
  bool from_mean = false;  // the center is the mean of the group
  // Where the sum of the deviations from the center goes, besides that of their squares; laid out
  // as out is. Else null.
  char* deviations = nullptr;
};

// Copies group elements k0 … k0 + count of `width` outputs, `kept_stride` bytes apart, into a block
// [count][width] (columns) or [width][count], by the boxes of whole dimensions that they are.
void pack(const Pass& p, const char* in, std::int64_t kept_stride, std::int64_t width,
          std::int64_t k0, std::int64_t count, bool columns, char* block) {
  const Plan& g = p.group;
  const int item = itemsize(p.dtype), last = g.ndim() - 1;
  Dims at(g.ndim());
  std::int64_t offset = 0;
  for (int i = last; i >= 0; --i) {
    at[i] = k0 % g.size[i];
    k0 /= g.size[i];
    offset += at[i] * g.stride[0][i];
  }
  const std::int64_t row = columns ? item : count * item, step = columns ? width * item : item;
  for (;;) {
    // The longest part of one dimension at which all that follow are whole.
    int d = last;
    std::int64_t whole = 1;
    for (; d > 0 && at[d] == 0 && whole * g.size[d] <= count; --d) whole *= g.size[d];
    const std::int64_t part = std::min(g.size[d] - at[d], count / whole);
    const char* const from = in + offset * item;
    if (d == last) {
      const std::int64_t apart = g.stride[0][last] * item;
      const Strides2D rows{kept_stride, apart}, items{apart, kept_stride};
      kernels().copy[item_class(item)](from, columns ? items : rows, block,
                                       {columns ? step : row, item}, columns ? part : width,
                                       columns ? width : part);
    } else {
      Layout box, packed;
      const auto add = [&](std::int64_t size, std::int64_t stride, std::int64_t to) {
        box.shape.push_back(size);
        box.strides.push_back(stride);
        packed.strides.push_back(to / item);
      };
      if (!columns) add(width, kept_stride / item, row);
      std::int64_t to = part * whole * step;
      for (int i = d; i <= last; ++i) {
        const std::int64_t size = i == d ? part : g.size[i];
        to /= size;
        add(size, g.stride[0][i], to);
      }
      if (columns) add(width, kept_stride / item, row);
      packed.shape = box.shape;
      packed.size = box.size = width * part * whole;
      Operand source, target;
      source.data = const_cast<char*>(from);
      source.layout = &box;
      target.data = block;
      target.layout = &packed;
      source.dtype = target.dtype = p.dtype;
      copy(source, target);
    }
    count -= part * whole;
    if (count == 0) return;
    block += part * whole * step;
    at[d] += part;
    offset += part * g.stride[0][d];
    for (; d > 0 && at[d] == g.size[d]; --d) {
      offset += g.stride[0][d - 1] - g.size[d] * g.stride[0][d];
      at[d] = 0;
      ++at[d - 1];
    }
  }
}

// Rows of at most so many bytes take less time as columns of a copy, of which vectors take many.
std::int64_t most_copied_row(Reduction op, int item) {
  if (op == Reduction::count_nonzero) return item < 8 ? 32 : 24;
  if (conditional(op)) return std::min(8 * item, 24);
  return (op == Reduction::max || op == Reduction::min) && item <= 2 ? 4 * item : 0;
}

// gapped: columns among others, whose results are left.
enum class Form { rows, columns, gapped, packed_rows, packed_columns };

struct Shape {  // how a pass is cut
  Form form;
  std::int64_t n;      // elements of the group
  std::int64_t width;  // outputs of a tile
  std::int64_t block;  // elements packed at a time
  std::int64_t split;  // elements of one task
  bool far;            // what is read comes from beyond the caches
};

Shape plan_pass(const Pass& p, const Kernels& k, std::int64_t chunk, std::int64_t max_length) {
  Shape s;
  s.n = p.group.count();
  const std::int64_t m = p.kept.size.back();
  const int item = itemsize(p.dtype);
  const std::int64_t kept_stride = p.kept.stride[2][p.kept.ndim() - 1];
  const std::int64_t step = p.group.stride[0][p.group.ndim() - 1];
  const bool direct = k.dtype == p.dtype && p.group.ndim() == 1;
  const std::int64_t gap = detail::magnitude(kept_stride);
  const bool one_output = p.kept.count() == 1;
  const bool copied_rows =
      step == 1 && m >= 64 && kept_stride != 0 && s.n * item <= most_copied_row(p.op, item);
  s.block = s.n;
  if (direct && !one_output && kept_stride == 1 && (s.n == 1 || step != 1)) {
    s.form = Form::columns;
    s.width = most_columns;
  } else if (direct && !one_output && kept_stride != 0 && gap <= widest_gap && m >= 8 &&
             detail::magnitude(step) >= m * gap && !p.center && !p.from_mean && s.n <= max_length) {
    s.form = Form::gapped;
    s.width = most_columns / gap;
  } else if (direct &&
             (s.n == 1 || (step == 1 && !copied_rows) || (k.by_steps(step) && s.n >= chunk))) {
    s.form = Form::rows;
    s.width = std::clamp<std::int64_t>(task_bytes / (item * s.n), 1, 4096);
  } else {
    const std::int64_t kernel_item = std::max(item, itemsize(k.dtype));
    const bool columns =
        !one_output && m >= 8 && kept_stride != 0 &&
        (step == 0 || copied_rows || detail::magnitude(kept_stride) < detail::magnitude(step));
    s.form = columns ? Form::packed_columns : Form::packed_rows;
    // Short runs are packed for several rows at a time where memory between them is other rows'.
    std::int64_t reach = 1;
    for (int i = 0; i < p.group.ndim(); ++i) {
      reach += (p.group.size[i] - 1) * detail::magnitude(p.group.stride[0][i]);
    }
    const bool among_others = p.group.ndim() > 1 && gap < reach;
    const std::int64_t rows = among_others ? std::min<std::int64_t>(m, 8) : 1;
    const bool by_rows = p.group.ndim() == 1 && detail::magnitude(step) <= widest_gap &&
                         (one_output || detail::magnitude(step) < gap);
    const std::int64_t bytes = columns ? pack_columns_bytes : by_rows ? pack_row_bytes : pack_bytes;
    const std::int64_t room = std::max<std::int64_t>(bytes / kernel_item, chunk);
    if (s.n > chunk) {
      s.block = chunk;
      while (!columns && s.block < s.n && 2 * s.block * rows <= room) s.block *= 2;
    }
    s.block = std::min(s.block, s.n);
    s.width = std::min<std::int64_t>(room / s.block, s.block < s.n ? widest_packed : most_columns);
  }
  if (p.from_mean) s.width = std::min(s.width, cached_bytes / (item * s.n));
  s.width = std::clamp<std::int64_t>(s.width, 1, m);
  // Several tasks per output where there are few outputs.
  s.split = s.n;
  const std::int64_t tiles = p.kept.count() / m * ((m - 1) / s.width + 1);
  // Of equal rows one chunk stands for all, where the kernel goes by chunks.
  const bool repeats =
      s.form == Form::columns && step == 0 && !is_integer(p.accumulator) && !conditional(p.op);
  if (!p.from_mean && !repeats && tiles < 64 && s.n > chunk &&
      tiles * s.n * s.width * item >= 2 * parallel_grain) {
    s.split = std::max(chunk, s.form == Form::packed_rows ? s.block : chunk);
    while (s.split < s.n &&
           (s.split * s.width * item < 2 * task_bytes || ((s.n - 1) / s.split + 1) * tiles > 128)) {
      s.split *= 2;
    }
    s.split = std::min(s.split, s.n);
  }
  if (s.form == Form::columns) s.split = std::min(s.split, max_length);
  return s;
}

// How many elements make one result.
std::int64_t count_of(const Layout& layout, std::span<const bool> reduced) {
  std::int64_t n = 1;
  for (int i = 0; i < layout.ndim(); ++i) n *= reduced[i] ? layout.shape[i] : 1;
  return n;
}

void divide(DType dtype, char* values, double divisor, std::int64_t n) {
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      constexpr std::int64_t together = 64;
      T divisors[together];
      std::fill_n(divisors, std::min(n, together), static_cast<T>(divisor));
      const ElementwiseKernel quotients =
          kernels().elementwise[static_cast<int>(Op::divide)][static_cast<int>(dtype)];
      T* const x = reinterpret_cast<T*>(values);
      for (std::int64_t i = 0; i < n; i += together) {
        const void* const in[] = {x + i, divisors};
        quotients(in, x + i, std::min(n - i, together));
      }
    }
  });
}

// body(r, rows) for rows of so many bytes, about so many pages of them at a time, by multiples of
// `unit` rows.
template <int pages, class Body>
void by_groups(std::int64_t count, std::int64_t bytes, std::int64_t unit, Body&& body) {
  const std::int64_t group = std::max(unit, pages * page_bytes / bytes / unit * unit);
  for (std::int64_t r = 0; r < count; r += group) body(r, std::min(group, count - r));
}

// The same from `first` on. Short rows are read several side by side, which hardware that fetches
// ahead does not follow: where they come from `far` and follow each other, the next group is asked
// for.
template <class Body>
void over_rows(const char* first, std::int64_t count, std::int64_t bytes, std::int64_t stride,
               bool far, std::int64_t unit, Body&& body) {
  if (reading_asks == Asking::nothing || !far || stride != bytes || bytes < 128 ||
      bytes >= least_fetched_row)
    return body(0, count);
  by_groups<1>(count, bytes, unit, [&](std::int64_t r, std::int64_t rows) {
    fetch(first + (r + rows) * bytes, rows * bytes);
    body(r, rows);
  });
}

// Elements k0 … k1 of one tile into out[0 … width), or the sums of deviations there and those of
// their squares into the `width` accumulators after them. `means`: the centers of the tile, next to
// each other, in place of the pass's.
void reduce_tile(const Pass& p, const Kernels& k, const Shape& s, const Tile& tile, std::int64_t k0,
                 std::int64_t k1, char* out, const char* means = nullptr) {
  const int item = itemsize(p.dtype), out_item = itemsize(p.accumulator);
  const int last = p.kept.ndim() - 1;
  const std::int64_t kept_stride = p.kept.stride[2][last] * item;
  const std::int64_t step = p.group.stride[0][p.group.ndim() - 1] * item;
  const char* in = p.in + tile.offset[2] * item;
  // The centers of the tile, next to each other.
  const char* center = means;
  alignas(64) char centers[most_columns * 8];
  if (p.center) {
    center = p.center + tile.offset[1] * out_item;
    const std::int64_t stride = p.kept.stride[1][last];
    const bool aligned = reinterpret_cast<std::uintptr_t>(center) % out_item == 0;
    if ((stride != 1 && tile.width > 1) || !aligned) {
      kernels().copy[item_class(out_item)](center, {0, stride * out_item}, centers, {0, out_item},
                                           1, tile.width);
      center = centers;
    }
  }
  if (s.form == Form::rows) {
    const char* const first = in + k0 * step;
    const std::int64_t bytes = (k1 - k0) * item;
    if (p.deviations) return k.rows(first, kept_stride, tile.width, k1 - k0, center, out);
    if (step != item && s.n > 1) {
      return k.by_steps(step / item)(first, kept_stride, tile.width, k1 - k0, nullptr, out);
    }
    const auto reduce_rows = [&](std::int64_t r, std::int64_t rows) {
      k.rows(first + r * kept_stride, kept_stride, rows, k1 - k0,
             center ? center + r * out_item : nullptr, out + r * out_item);
    };
    return over_rows(first, tile.width, bytes, kept_stride, s.far, 16, reduce_rows);
  }
  if (s.form == Form::gapped) {
    const std::int64_t gap = kept_stride / item, reach = (tile.width - 1) * gap;
    alignas(64) char all[most_columns * 16];
    k.columns(in + k0 * step + std::min<std::int64_t>(reach, 0) * item, step, k1 - k0,
              detail::magnitude(reach) + 1, center, thread_scratch<1>(columns_workspace), all);
    kernels().copy[item_class(out_item)](all + std::max<std::int64_t>(-reach, 0) * out_item,
                                         {0, gap * out_item}, out, {0, out_item}, 1, tile.width);
    return;
  }
  if (s.form == Form::columns) {
    return k.columns(in + k0 * step, step, k1 - k0, tile.width, center,
                     thread_scratch<1>(columns_workspace), out);
  }
  const bool columns = s.form == Form::packed_columns;
  const bool casts = k.dtype != p.dtype;
  const int kernel_item = itemsize(k.dtype);
  const std::int64_t block_bytes = (s.block * tile.width * std::max(item, kernel_item) + 63) & ~63;
  const std::int64_t values = p.deviations ? 2 * tile.width : tile.width;
  const std::int64_t level_bytes = (values * out_item + 63) & ~63;
  const bool several = k1 - k0 > s.block;
  char* scratch = thread_scratch(2 * block_bytes + (several ? most_levels * level_bytes : 0));
  char* cast_block = scratch + block_bytes;
  char* stack = cast_block + block_bytes;
  const auto reduce_block = [&](std::int64_t at, char* to) {
    const std::int64_t n = std::min(s.block, k1 - at);
    pack(p, in, kept_stride, tile.width, at, n, columns, scratch);
    const char* block = scratch;
    if (casts) {
      const void* from = scratch;
      kernels().cast[static_cast<int>(p.dtype)][static_cast<int>(k.dtype)](&from, cast_block,
                                                                           n * tile.width);
      block = cast_block;
    }
    if (columns) {
      k.columns(block, tile.width * kernel_item, n, tile.width, center,
                thread_scratch<1>(columns_workspace), to);
    } else {
      k.rows(block, n * kernel_item, tile.width, n, center, to);
    }
  };
  if (!several) return reduce_block(k0, out);
  const MergeKernel merge = merge_kernel(p.op, p.accumulator);
  int top = 0;
  std::int64_t count = 0;
  for (std::int64_t at = k0; at < k1; at += s.block) {
    reduce_block(at, stack + top * level_bytes);
    for (std::int64_t c = count++; c & 1; c >>= 1) {
      --top;
      merge(stack + top * level_bytes, stack + (top + 1) * level_bytes, values);
    }
    ++top;
  }
  for (; top > 1; --top) {
    merge(stack + (top - 2) * level_bytes, stack + (top - 1) * level_bytes, values);
  }
  std::memcpy(out, stack, values * out_item);
}

void run_pass(const Pass& p) {
  Kernels k = find_kernels(p.op, p.dtype, p.accumulator, p.deviations);
  const int item = itemsize(p.dtype), out_item = itemsize(p.accumulator);
  const int real_bytes = is_complex(p.accumulator) ? out_item / 2 : out_item;
  Shape s = plan_pass(p, k, reduce_chunk(real_bytes), max_column_length(real_bytes));
  const std::int64_t outputs = p.kept.count(), work = outputs * s.n * item;
  s.far = work >= last_cache_bytes() / 2;
  const std::int64_t step = detail::magnitude(p.group.stride[0].back());
  if (s.form == Form::rows && k.from_afar && halves_pay(work * step)) {
    k.rows = k.from_afar;
    k.spaced = k.spaced_from_afar;
  }
  const Tiles tiles(p.kept, s.width);
  const std::int64_t splits = (s.n - 1) / s.split + 1;
  const std::int64_t out_stride = p.kept.stride[0][p.kept.ndim() - 1] * out_item;
  const CopyKernel copy_items = kernels().copy[item_class(out_item)];
  const auto store = [&](const Tile& tile, const char* results) {
    for (char* to : {p.deviations, p.out}) {
      if (!to) continue;
      copy_items(results, {0, out_item}, to + tile.offset[0] * out_item, {0, out_stride}, 1,
                 tile.width);
      results += tile.width * out_item;
    }
  };
  // Complex accumulators are aligned like their parts.
  const bool aligned = reinterpret_cast<std::uintptr_t>(p.out) % real_bytes == 0;

  if (splits == 1) {
    const Pass sums{Reduction::sum, p.dtype, p.accumulator, p.in,
                    nullptr,        nullptr, p.kept,        p.group};
    const Kernels sum_kernels =
        p.from_mean ? find_kernels(Reduction::sum, p.dtype, p.accumulator) : k;
    const std::int64_t bytes = s.n * item, step = p.kept.stride[2][p.kept.ndim() - 1] * item;
    const auto reduce_whole = [&](const Tile& tile, char* out) {
      if (!p.from_mean) return reduce_tile(p, k, s, tile, 0, s.n, out);
      alignas(64) char means[most_columns * 8];
      if (s.form == Form::rows && s.far && step == bytes && bytes >= least_read_twice) {
        // While the deviations of rows that are in an L1 are summed up, the next ones come.
        return by_groups<2>(tile.width, bytes, 16, [&](std::int64_t r, std::int64_t rows) {
          const char* const first = p.in + tile.offset[2] * item + r * bytes;
          sum_kernels.rows(first, bytes, rows, s.n, nullptr, means);
          divide(p.accumulator, means, static_cast<double>(s.n), rows);
          fetch(first + rows * bytes, rows * bytes);
          k.rows(first, bytes, rows, s.n, means, out + r * out_item);
        });
      }
      reduce_tile(sums, sum_kernels, s, tile, 0, s.n, means);
      divide(p.accumulator, means, static_cast<double>(s.n), tile.width);
      reduce_tile(p, k, s, tile, 0, s.n, out, means);
    };
    const std::int64_t tile_bytes = std::max<std::int64_t>(s.n * s.width * item, 1);
    const std::int64_t per_task = std::max<std::int64_t>(task_bytes / tile_bytes, 1);
    parallel_for((tiles.count() - 1) / per_task + 1, work, [&](std::int64_t task) {
      const std::int64_t end = std::min(tiles.count(), (task + 1) * per_task);
      for (std::int64_t t = task * per_task; t < end; ++t) {
        const Tile tile = tiles[t];
        char* out = p.out + tile.offset[0] * out_item;
        if (aligned && !p.deviations && (tile.width == 1 || out_stride == out_item)) {
          reduce_whole(tile, out);
        } else {
          alignas(64) char results[most_columns * 16];
          reduce_whole(tile, results);
          store(tile, results);
        }
      }
    });
    return;
  }

  // Of each part the results of all tiles, those of one after those of the other.
  const std::int64_t values = p.deviations ? 2 * outputs : outputs;
  const StorageRef partial = allocate(checked_bytes(splits * values, out_item));
  char* partials = static_cast<char*>(partial->data);
  const auto place = [&](const Tile& tile) {
    return (p.deviations ? 2 * tile.position : tile.position) * out_item;
  };
  std::atomic<bool> decided{false};  // one task of any() or all() can settle the result
  const bool stoppable = outputs == 1 && (p.op == Reduction::any || p.op == Reduction::all);
  const char undecided = p.op == Reduction::all;
  parallel_for(splits * tiles.count(), work, [&](std::int64_t task) {
    const std::int64_t part = task / tiles.count();
    const Tile tile = tiles[task % tiles.count()];
    char* out = partials + part * values * out_item + place(tile);
    if (stoppable && decided.load(std::memory_order_relaxed)) {
      *out = undecided;
      return;
    }
    reduce_tile(p, k, s, tile, part * s.split, std::min(s.n, (part + 1) * s.split), out);
    if (stoppable && *out != undecided) decided.store(true, std::memory_order_relaxed);
  });
  const MergeKernel merge = merge_kernel(p.op, p.accumulator);
  for (std::int64_t step = 1; step < splits; step *= 2) {
    for (std::int64_t i = 0; i + step < splits; i += 2 * step) {
      merge(partials + i * values * out_item, partials + (i + step) * values * out_item, values);
    }
  }
  for (std::int64_t t = 0; t < tiles.count(); ++t) {
    const Tile tile = tiles[t];
    store(tile, partials + place(tile));
  }
}

// Every element of out becomes the reduction of nothing.
void write_empty(Reduction op, DType accumulator, const Operand& out) {
  const bool one = op == Reduction::prod || op == Reduction::all;
  const Element e = dispatch(accumulator, [&](auto zero) {
    return Element::of(static_cast<decltype(zero)>(one ? 1 : 0));
  });
  Layout everywhere = *out.layout;
  everywhere.strides = Dims(everywhere.ndim(), 0);
  Operand in;
  in.data = reinterpret_cast<char*>(const_cast<unsigned char*>(e.bytes));
  in.layout = &everywhere;
  in.dtype = accumulator;
  copy(in, out);
}

}  // namespace

namespace {

// Few elements that lie in memory as they are counted, neighbouring dimensions reduced: the kernel
// calls that the general way would come to, without its plans; false for all others.
bool reduce_few(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
                const Operand& out) {
  constexpr std::int64_t most_bytes = 4096;
  const Layout& layout = *in.layout;
  const int item = itemsize(in.dtype), out_item = itemsize(accumulator);
  const int real_bytes = is_complex(accumulator) ? out_item / 2 : out_item;
  if (op == Reduction::sum_squared_deviations || layout.size == 0 ||
      layout.size * item > most_bytes || out.dtype != accumulator || !layout.is_contiguous() ||
      !out.layout->is_contiguous() ||
      reinterpret_cast<std::uintptr_t>(out.data) % real_bytes != 0) {
    return false;
  }
  const int ndim = layout.ndim();
  std::int64_t outer = 1, n = 1, inner = 1;
  int d = 0;
  for (; d < ndim && !reduced[d]; ++d) outer *= layout.shape[d];
  for (; d < ndim && reduced[d]; ++d) n *= layout.shape[d];
  for (; d < ndim && !reduced[d]; ++d) inner *= layout.shape[d];
  if (d < ndim || n == 1 || n >= std::min(small_group, max_column_length(real_bytes)) ||
      inner > most_columns) {
    return false;
  }
  const Kernels k = find_kernels(op, in.dtype, accumulator);
  if (k.dtype != in.dtype) return false;
  if (inner == 1) {
    k.rows(in.data, n * item, outer, n, nullptr, out.data);
    return true;
  }
  for (std::int64_t i = 0; i < outer; ++i) {
    k.columns(in.data + i * n * inner * item, inner * item, n, inner, nullptr,
              thread_scratch<1>(columns_workspace), out.data + i * inner * out_item);
  }
  return true;
}

// Results of one element each: that element, or its sum with zero; false for all others.
bool reduce_single(Reduction op, DType accumulator, const Operand& in,
                   std::span<const bool> reduced, const Operand& out) {
  if (count_of(*in.layout, reduced) != 1) return false;
  Layout layout;
  for (int i = 0; i < in.layout->ndim(); ++i) {
    if (reduced[i]) continue;
    layout.shape.push_back(in.layout->shape[i]);
    layout.strides.push_back(in.layout->strides[i]);
  }
  layout.size = in.layout->size;
  Operand elements = in;
  elements.layout = &layout;
  switch (op) {
    case Reduction::sum:
      if (is_integer(accumulator)) break;
      {
        Element zero;
        zero.dtype = accumulator;
        const Operand operands[] = {elements, zero};
        elementwise(Op::add, accumulator, operands, out);
        return true;
      }
    case Reduction::count_nonzero: {
      const Array flags = new_array(Layout::contiguous(layout.shape), DType::bool_);
      copy(elements, flags);
      copy(flags, out);
      return true;
    }
    case Reduction::any:
    case Reduction::all:
      if (out.dtype != DType::bool_) return false;
      break;
    case Reduction::prod:
    case Reduction::max:
    case Reduction::min:
      break;
    default:
      return false;
  }
  copy(elements, out);
  return true;
}

// Where kept dimensions repeat the same elements: each result is found once and copied; false where
// none does.
bool reduce_repeated(Reduction op, DType accumulator, const Operand& in,
                     std::span<const bool> reduced, const Operand& out) {
  Layout distinct = *in.layout, all = *out.layout;
  for (int d = 0, kept = 0; d < distinct.ndim(); ++d) {
    if (reduced[d]) continue;
    if (distinct.strides[d] == 0) distinct.shape[d] = all.shape[kept] = 1;
    ++kept;
  }
  const Layout found = Layout::contiguous(all.shape);
  if (found.size == out.layout->size) return false;
  Array results = new_array(found, out.dtype);
  distinct.size /= out.layout->size / results.size();
  Operand once = in;
  once.layout = &distinct;
  reduce(op, accumulator, once, reduced, nullptr, results);
  results.layout = broadcast_to(results.layout, out.layout->shape);
  copy(results, out);
  return true;
}

}  // namespace

namespace {

// The general way. `deviations`: where the sums of the deviations from the centers go, besides
// those of their squares; it is laid out as out is. `order_free`: the result is the same in
// whatever order elements are combined.
void reduce_groups(Reduction op, DType accumulator, const Operand& in,
                   std::span<const bool> reduced, const Operand* center, const Operand& out,
                   const Array* deviations, bool order_free) {
  const Layout& layout = *in.layout;
  const int ndim = layout.ndim(), out_item = itemsize(accumulator);
  const bool from_mean = op == Reduction::sum_squared_deviations && !center;
  std::int64_t elements = count_of(layout, reduced);  // of one result, that are left

  // The centers in the accumulator's dtype.
  Array center_copy;
  Operand center_operand;
  if (center) {
    center_operand = *center;
    if (center->dtype != accumulator) {
      center_copy = new_array(Layout::contiguous(center->layout->shape), accumulator);
      copy(*center, center_copy);
      center_operand = center_copy;
    }
  }

  // A result of another dtype, or accumulators that would overwrite what is still to be read, go
  // through a buffer.
  Array buffer;
  DType dtype = in.dtype;
  const char* data = in.data;
  Dims shape = layout.shape, strides = layout.strides, state(ndim);
  for (int i = 0; i < ndim; ++i) state[i] = reduced[i];  // 1: still to be reduced

  for (int end = ndim;;) {
    // The next group: dimensions [begin, end) that are marked, kept ones in between. Where the
    // order does not matter, those of many that merge in memory from the smallest stride on.
    int begin = end;
    std::int64_t n = 1;
    if (order_free && elements >= small_group) {
      std::int64_t next_stride = 0;
      for (;;) {
        int next = -1;
        for (int i = 0; i < ndim; ++i) {
          if (state[i] != 1 || shape[i] == 1) continue;
          if (n > 1 && detail::magnitude(strides[i]) != next_stride) continue;
          if (next < 0 || detail::magnitude(strides[i]) < detail::magnitude(strides[next]))
            next = i;
        }
        if (next < 0) break;
        state[next] = 2;
        n *= shape[next];
        next_stride = detail::magnitude(strides[next]) * shape[next];
      }
    } else {
      while (begin > 0 && n < least_group(elements)) {
        --begin;
        if (state[begin]) {
          n *= shape[begin];
          state[begin] = 2;
        }
      }
    }
    bool more = false;  // 1: still to be reduced; 2: now
    for (int i = 0; i < ndim; ++i) more |= state[i] == 1 && shape[i] > 1;
    if (!more) {
      for (int i = 0; i < ndim; ++i) state[i] = state[i] ? 2 : 0;
    }

    Dims group_shape, group_strides, kept_shape, kept_strides, out_strides, center_strides;
    int kept_axis = 0;
    for (int i = 0; i < ndim; ++i) {
      if (state[i] == 2) {
        group_shape.push_back(shape[i]);
        group_strides.push_back(strides[i]);
        continue;
      }
      if (reduced[i] && !state[i]) continue;  // gone
      kept_shape.push_back(shape[i]);
      kept_strides.push_back(strides[i]);
      const bool final_axis = !state[i];
      if (center)
        center_strides.push_back(final_axis ? center_operand.layout->strides[kept_axis] : 0);
      out_strides.push_back(final_axis ? out.layout->strides[kept_axis] : 0);
      kept_axis += final_axis;
    }
    Pass p;
    p.op = op;
    p.dtype = dtype;
    p.accumulator = accumulator;
    p.from_mean = from_mean;
    Array next, next_deviations;
    bool direct = !more && out.dtype == accumulator;
    if (direct && !center && kept_shape.size() > 1) {
      // Where kept dimensions merge in memory, but not in the order of the results, those are
      // found in memory's order first.
      const Dims* const alone[1] = {&kept_strides};
      const Dims* const both[2] = {&out_strides, &kept_strides};
      direct = make_plan(kept_shape, alone, 1).ndim() == make_plan(kept_shape, both, 2).ndim();
    }
    if (!direct) {
      next = new_array(dense_like(kept_shape, kept_strides), accumulator);
      out_strides = next.layout.strides;
    }
    const Dims* const operands[3] = {&out_strides, center ? &center_strides : nullptr,
                                     &kept_strides};
    p.kept = make_plan(kept_shape, operands, 3);
    const Dims* const group_operand[1] = {&group_strides};
    p.group = make_plan(group_shape, group_operand, 1, order_free);
    walk_on(p.kept, 2, p.group.stride[0].back());  // memory comes faster so
    p.in = data + (p.kept.base[2] + p.group.base[0]) * itemsize(dtype);
    p.center = center ? center_operand.data + p.kept.base[1] * out_item : nullptr;
    p.out = (direct ? out.data : next.data()) + p.kept.base[0] * out_item;
    if (deviations) {
      if (!direct) next_deviations = new_array(next.layout, accumulator);
      p.deviations = (direct ? *deviations : next_deviations).data() + p.kept.base[0] * out_item;
    }
    run_pass(p);
    if (deviations && !direct) {
      bool left[max_ndim];
      std::size_t dimensions = 0;
      for (int i = 0; i < ndim; ++i) {
        if (state[i] != 2 && (state[i] || !reduced[i])) left[dimensions++] = state[i] == 1;
      }
      if (more) {
        reduce(Reduction::sum, accumulator, next_deviations, {left, dimensions}, nullptr,
               *deviations);
      } else {
        copy(next_deviations, *deviations);
      }
    }
    deviations = nullptr;

    if (!more) {
      if (direct) return;
      // A scalar buffer has out's rank only by its layout.
      Operand from(next);
      Layout as_out = *out.layout;
      for (int i = 0, j = 0, k = 0; i < ndim; ++i) {
        if (!reduced[i]) as_out.strides[k++] = next.layout.strides[j++];
      }
      as_out.offset = 0;
      from.layout = &as_out;
      return copy(from, out);
    }
    for (int i = 0, j = 0; i < ndim; ++i) {
      if (state[i] == 2) {
        state[i] = 0;
        continue;
      }
      if (reduced[i] && !state[i]) continue;
      strides[i] = next.layout.strides[j++];
    }
    buffer = std::move(next);
    data = buffer.data();
    dtype = accumulator;
    op = continuation(op);
    center = nullptr;
    elements /= n;
    end = begin;
  }
}

// Squared deviations from the means of many elements are summed up in one pass: of those from the
// mean of a few elements the square of the sum of the deviations, over their number, is too much
// (Chan, Golub and LeVeque 1983). Where that is most of it, or no number, a second pass goes about
// the mean. Which few elements those are depends on the shape alone.
constexpr std::int64_t few_centered = 16, far_apart = 4096;

// squares[i], about a center, becomes that about the mean, or -1 where that is no good; whether all
// of them are.
bool about_means(DType accumulator, const void* deviations, void* squares, double n,
                 std::int64_t count) {
  constexpr int most_times = 8;  // three bits are lost at most
  bool good = true;
  dispatch(accumulator, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T* const square = static_cast<T*>(squares);
      const T* const sum = static_cast<const T*>(deviations);
      constexpr T infinity = std::numeric_limits<T>::infinity();
      for (std::int64_t i = 0; i < count; ++i) {
        const T about_center = square[i];
        const T about_mean = about_center - sum[i] * (sum[i] / static_cast<T>(n));
        const bool near = most_times * about_mean >= about_center && about_center < infinity;
        const bool ok = near || about_center != about_center;
        square[i] = ok ? about_mean : T(-1);
        good &= ok;
      }
    }
  });
  return good;
}

void reduce_about_mean(DType accumulator, const Operand& in, std::span<const bool> reduced,
                       const Operand& out) {
  const Layout& layout = *in.layout;
  Layout few = layout;
  std::int64_t elements = 1;
  for (int i = layout.ndim() - 1; i >= 0; --i) {
    if (!reduced[i]) continue;
    const std::int64_t n = layout.shape[i], count = std::min(few_centered / elements, n);
    few = slice_axis(few, i, 0, n < far_apart ? 1 : n / count, count);
    elements *= count;
  }
  Operand first = in;
  first.layout = &few;
  const Layout results = Layout::contiguous(out.layout->shape);
  const Array center = new_array(results, accumulator);
  const Array sums = new_array(results, accumulator);
  const Array squares = new_array(results, accumulator);
  const Operand about(center);
  reduce(Reduction::sum, accumulator, first, reduced, nullptr, center);
  divide(accumulator, center.data(), static_cast<double>(elements), center.size());
  reduce_groups(Reduction::sum_squared_deviations, accumulator, in, reduced, &about, squares, &sums,
                false);
  const double n = static_cast<double>(count_of(layout, reduced));
  if (!about_means(accumulator, sums.data(), squares.data(), n, squares.size())) {
    reduce(Reduction::sum, accumulator, in, reduced, nullptr, center);
    divide(accumulator, center.data(), n, center.size());
    reduce_groups(Reduction::sum_squared_deviations, accumulator, in, reduced, &about, sums,
                  nullptr, false);
    dispatch(accumulator, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        T *const square = squares.data_as<T>(), *const again = sums.data_as<T>();
        for (std::int64_t i = 0; i < squares.size(); ++i) {
          if (square[i] < 0) square[i] = again[i];
        }
      }
    });
  }
  copy(squares, out);
}

// The same for n elements that follow each other, few_deviations < n < far_apart, without plans;
// false, with nothing done, where two passes are needed.
bool reduce_few_about_mean(DType accumulator, DType dtype, const char* in, std::int64_t n,
                           char* out) {
  alignas(16) char center[8], both[16];  // the sum of the deviations, and that of their squares
  find_kernels(Reduction::sum, dtype, accumulator).rows(in, 0, 1, few_centered, nullptr, center);
  divide(accumulator, center, static_cast<double>(few_centered), 1);
  find_kernels(Reduction::sum_squared_deviations, dtype, accumulator, true)
      .rows(in, 0, 1, n, center, both);
  char* const square = both + itemsize(accumulator);
  if (!about_means(accumulator, both, square, static_cast<double>(n), 1)) return false;
  std::memcpy(out, square, itemsize(accumulator));
  return true;
}

// One `any` or `all` of elements that follow each other, where the first of them decide it.
bool decided_by_first(Reduction op, const Operand& in, const Operand& out) {
  constexpr std::int64_t first = 1024;
  if (op == Reduction::count_nonzero || out.layout->size != 1 || in.layout->size <= first ||
      !in.layout->is_contiguous()) {
    return false;
  }
  bool some;
  find_kernels(op, in.dtype, DType::bool_)
      .rows(in.data, 0, 1, first, nullptr, reinterpret_cast<char*>(&some));
  if (some != (op == Reduction::any)) return false;
  *out.data = static_cast<char>(some);
  return true;
}

// Whether so few of the elements that make neighbouring results lie together that each tile would
// take longer to find than to reduce, and all are few enough to be copied.
bool tiles_are_tiny(const Operand& in, std::span<const bool> reduced, const Operand& out) {
  constexpr std::int64_t tiny = 32, few_tiles = 64, most_copied = std::int64_t{1} << 26;
  const bool one_run = in.layout->is_contiguous() && in.layout->ndim() < 3;  // of kept dimensions
  if (one_run || in.layout->size * itemsize(in.dtype) > most_copied) return false;
  Dims shape, strides;
  for (int i = 0; i < in.layout->ndim(); ++i) {
    if (reduced[i]) continue;
    shape.push_back(in.layout->shape[i]);
    strides.push_back(in.layout->strides[i]);
  }
  const Dims* const operands[2] = {&out.layout->strides, &strides};
  const Plan kept = make_plan(shape, operands, 2);
  const std::int64_t tiles = out.layout->size / kept.size.back();
  return tiles >= few_tiles && in.layout->size < tiny * tiles;
}

// Dense, with the elements of each result as far apart as can be, and neighbours for neighbouring
// results; as it is where those would be turned for that.
Layout apart(const Layout& in, std::span<const bool> reduced, const Layout& out) {
  Dims order, kept, strides, kept_order = memory_order(out);
  for (int d = 0; d < in.ndim(); ++d) {
    (reduced[d] ? order : kept).push_back(d);
    if (!reduced[d]) strides.push_back(in.strides[d]);
  }
  if (memory_order(out.shape, strides) != kept_order) return in;
  for (int i = 0; i < kept.size(); ++i) {
    order.push_back(kept[kept_order.empty() ? i : static_cast<int>(kept_order[i])]);
  }
  return dense_in_order(in.shape, order);
}

// Floating extremes of what does not lie in memory in the order in which it is counted. An extreme
// that is neither zero, of which there are two, nor NaN is the same in whatever order it is found;
// false, and `out` undefined, where there is another or nothing would be gained.
bool extreme_in_any_order(Reduction op, DType accumulator, const Operand& in,
                          std::span<const bool> reduced, const Operand& out) {
  if ((op != Reduction::max && op != Reduction::min) || !is_floating(accumulator)) return false;
  if (out.dtype != accumulator || !out.layout->is_contiguous()) return false;
  const Layout& layout = *in.layout;
  Dims shape, strides;
  std::int64_t n = 1;
  for (int i = 0; i < layout.ndim(); ++i) {
    if (!reduced[i]) continue;
    shape.push_back(layout.shape[i]);
    strides.push_back(layout.strides[i]);
    n *= layout.shape[i];
  }
  if (n < small_group) return false;
  const Dims* const group[1] = {&strides};
  const Plan counted = make_plan(shape, group, 1, false), memory = make_plan(shape, group, 1);
  if (counted.ndim() == memory.ndim() && detail::magnitude(counted.stride[0][counted.ndim() - 1]) ==
                                             memory.stride[0][memory.ndim() - 1]) {
    return false;
  }
  reduce_groups(op, accumulator, in, reduced, nullptr, out, nullptr, true);
  return dispatch(accumulator, [&](auto zero) {
    using T = decltype(zero);
    bool decided = true;
    if constexpr (std::is_floating_point_v<T>) {
      for (std::int64_t i = 0; i < out.layout->size; ++i) {
        const T x = load<T>(out.data + i * std::int64_t(sizeof(T)));
        decided &= x < 0 || x > 0;
      }
    }
    return decided;
  });
}

}  // namespace

void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
            const Operand* center, const Operand& out) {
  accumulator = kernel_accumulator(op, accumulator);
  const Layout& layout = *in.layout;
  const int ndim = layout.ndim();
  const int out_item = itemsize(accumulator);
  const int real_bytes = is_complex(accumulator) ? out_item / 2 : out_item;

  // Small and contiguous, reduced to one number: one call.
  const bool about_mean = op == Reduction::sum_squared_deviations && !center;
  if (out.layout->size == 1 && layout.size > 0 && out.dtype == accumulator && !center &&
      (ndim == 1 ? !about_mean || layout.size < far_apart : layout.size < small_group) &&
      layout.size * itemsize(in.dtype) <= task_bytes &&
      reinterpret_cast<std::uintptr_t>(out.data) % real_bytes == 0 && layout.is_contiguous()) {
    const Kernels k = find_kernels(op, in.dtype, accumulator);
    if (k.dtype == in.dtype) {
      if (!about_mean) {
        return k.rows(in.data, 0, 1, layout.size, nullptr, out.data);
      }
      if (layout.size > few_deviations) {
        if (ndim == 1 &&
            reduce_few_about_mean(accumulator, in.dtype, in.data, layout.size, out.data)) {
          return;
        }
      } else {
        alignas(16) char mean[16];
        find_kernels(Reduction::sum, in.dtype, accumulator)
            .rows(in.data, 0, 1, layout.size, nullptr, mean);
        divide(accumulator, mean, static_cast<double>(layout.size), 1);
        return k.rows(in.data, 0, 1, layout.size, mean, out.data);
      }
    }
  }

  if (!center && reduce_few(op, accumulator, in, reduced, out)) return;
  if (out.layout->size == 0) return;
  if (layout.size == 0) return write_empty(op, accumulator, out);
  if (!center && reduce_single(op, accumulator, in, reduced, out)) return;
  if (!center && reduce_repeated(op, accumulator, in, reduced, out)) return;
  if (about_mean && count_of(layout, reduced) > few_deviations) {
    return reduce_about_mean(accumulator, in, reduced, out);
  }
  // Conditions of complex numbers are found where they are bool, if the first do not decide.
  if (conditional(op) && is_complex(in.dtype)) {
    if (decided_by_first(op, in, out)) return;
    const Array conditions = new_array(dense_like(layout.shape, layout.strides), DType::bool_);
    copy(in, conditions);
    return reduce(op, accumulator, conditions, reduced, nullptr, out);
  }
  // Where few elements follow each other, dimensions are brought together first; where they are
  // together, what is reduced is put apart.
  if (!center && tiles_are_tiny(in, reduced, out)) {
    Layout better = dense_like(layout.shape, layout.strides);
    if (better.strides == layout.strides) better = apart(layout, reduced, *out.layout);
    if (better.strides != layout.strides) {
      const Array copied = new_array(better, in.dtype);
      copy(in, copied);
      return reduce(op, accumulator, copied, reduced, center, out);
    }
  }
  if (!center && extreme_in_any_order(op, accumulator, in, reduced, out)) return;
  const bool order_free = conditional(op) || is_integer(accumulator) || accumulator == DType::bool_;
  reduce_groups(op, accumulator, in, reduced, center, out, nullptr, order_free);
}

// ---- argmax, argmin -----------------------------------------------------------------------------

namespace {

// Where an item of `values` is strictly more extreme than that of `best`, it and its position at[j]
// take the place of that and its own; NaN is more than any number.
void keep_better(bool largest, DType dtype, std::int64_t count, const char* values,
                 const std::int64_t* at, char* best, std::int64_t* found) {
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      for (std::int64_t j = 0; j < count; ++j) {
        T x, y;
        std::memcpy(&x, values + j * sizeof x, sizeof x);
        std::memcpy(&y, best + j * sizeof y, sizeof y);
        bool better = largest ? x > y : x < y;
        if constexpr (std::is_floating_point_v<T>) better = y == y && (x != x || better);
        if (!better) continue;
        std::memcpy(best + j * sizeof x, &x, sizeof x);
        found[j] = at[j];
      }
    }
  });
}

}  // namespace

void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) {
  if (const DType computed = compute_dtype(in.dtype); computed != in.dtype) {
    const Array wide = new_array(dense_like(in.layout->shape, in.layout->strides), computed);
    copy(in, wide);
    return arg_reduce(largest, wide, axis, out);
  }
  const Layout& layout = *in.layout;
  const int item = itemsize(in.dtype);
  const std::int64_t n = layout.shape[axis], step = layout.strides[axis] * item;
  ArgRowsKernel rows = kernels().reduce.arg_rows[largest][static_cast<int>(in.dtype)];
  const ArgColumnsKernel columns =
      kernels().reduce.arg_columns[largest][static_cast<int>(in.dtype)];
  if (!rows) type_error(largest ? "argmax" : "argmin", " does not order ", in.dtype);
  if (out.layout->size == 0) return;
  if (layout.ndim() == 1 && (step == item || n == 1) && n * item <= 2 * parallel_grain) {
    std::int64_t at;
    rows(in.data, 0, 1, n, &at);
    std::memcpy(out.data, &at, sizeof at);
    return;
  }
  // Few rows, and the positions where they go.
  if (axis == layout.ndim() - 1 && layout.size * item <= 4096 && layout.is_contiguous() &&
      out.layout->is_contiguous() && reinterpret_cast<std::uintptr_t>(out.data) % 8 == 0) {
    rows(in.data, n * item, out.layout->size, n, reinterpret_cast<std::int64_t*>(out.data));
    return;
  }

  Dims shape = layout.shape, strides = layout.strides;
  shape.erase(axis);
  strides.erase(axis);
  const Dims* const operands[2] = {&out.layout->strides, &strides};
  Plan kept = make_plan(shape, operands, 2);
  walk_on(kept, 1, layout.strides[axis]);
  const int last = kept.ndim() - 1;
  const std::int64_t outputs = kept.count(), m = kept.size[last];
  const std::int64_t kept_stride = kept.stride[1][last] * item;
  const char* base = in.data + kept.base[1] * item;
  // Columns that have others between them: the results of those are left.
  const std::int64_t gap = kept_stride / item;
  constexpr std::int64_t many_rows = 64;  // of a few columns, which are read as one
  const bool by_columns =
      outputs > 1 && gap >= 1 && gap <= widest_gap && step != item &&
      (m >= 8 || (gap == 1 && step >= m * item && step <= line_bytes && n >= many_rows));
  const bool packed = !by_columns && step != item;
  const std::int64_t block = packed ? std::min<std::int64_t>(n, pack_bytes / item) : n;
  std::int64_t width =
      by_columns ? most_columns / gap : std::clamp<std::int64_t>(task_bytes / (item * n), 1, 512);
  if (packed) width = std::clamp<std::int64_t>(pack_bytes / (item * block), 1, 512);
  const Tiles tiles(kept, width);
  // Where there are few outputs several tasks share one; they are joined in order.
  std::int64_t split = n;
  const std::int64_t work = outputs * n * item;
  const bool far = work >= last_cache_bytes() / 2;
  const ArgRowsKernel from_afar =
      kernels().reduce.arg_rows_from_afar[largest][static_cast<int>(in.dtype)];
  if (!packed && from_afar && halves_pay(work)) rows = from_afar;
  if (tiles.count() < 64 && work >= 2 * parallel_grain) {
    split = std::max<std::int64_t>(2 * task_bytes / (item * tiles.width()), 256);
    split = std::max(split, n * tiles.count() / 128);
    split = std::min(split, n);
  }
  const std::int64_t splits = (n - 1) / split + 1;
  StorageRef partial;
  if (splits > 1) partial = allocate(checked_bytes(splits * outputs, 8 + item));

  // Positions of the extremes among elements k0 … k1 of one tile, and the extremes. Of rows that
  // are read where they are, those are left out where `best` is null.
  const auto search = [&](const Tile& tile, std::int64_t k0, std::int64_t k1, std::int64_t* found,
                          char* best) {
    const char* p = base + tile.offset[1] * item;
    const auto put = [&](char* to, std::int64_t j, const char* from) {
      std::memcpy(to + j * item, from, item);
    };
    if (by_columns) {
      const std::int64_t all_columns = (tile.width - 1) * gap + 1;
      if (gap == 1)
        return columns(p + k0 * step, step, k1 - k0, k0, true, all_columns, best, found);
      alignas(64) char all_best[most_columns * 8];
      alignas(64) std::int64_t all[most_columns];
      columns(p + k0 * step, step, k1 - k0, k0, true, all_columns, all_best, all);
      for (std::int64_t j = 0; j < tile.width; ++j) {
        found[j] = all[j * gap];
        put(best, j, all_best + j * gap * item);
      }
      return;
    }
    if (!packed) {
      const char* const first = p + k0 * step;
      const std::int64_t bytes = (k1 - k0) * item;
      const bool side_by_side = bytes <= 256;
      over_rows(first, tile.width, bytes, kept_stride, far && side_by_side, 64 / item,
                [&](std::int64_t r, std::int64_t count) {
                  rows(first + r * kept_stride, kept_stride, count, k1 - k0, found + r);
                });
      for (std::int64_t j = 0; j < tile.width; ++j) found[j] += k0;
      for (std::int64_t j = 0; best && j < tile.width; ++j) {
        put(best, j, p + j * kept_stride + found[j] * step);
      }
      return;
    }
    char* scratch = thread_scratch(block * tile.width * item);
    std::int64_t candidate[512];
    alignas(64) char value[512 * 8];
    for (std::int64_t k = k0; k < k1; k += block) {
      const std::int64_t count = std::min(block, k1 - k);
      kernels().copy[item_class(item)](p + k * step, {kept_stride, step}, scratch,
                                       {count * item, item}, tile.width, count);
      std::int64_t* const at = k == k0 ? found : candidate;
      char* const extreme = k == k0 ? best : value;
      rows(scratch, count * item, tile.width, count, at);
      for (std::int64_t j = 0; j < tile.width; ++j) {
        put(extreme, j, scratch + (j * count + at[j]) * item);
        at[j] += k;
      }
      if (k > k0) keep_better(largest, in.dtype, tile.width, value, candidate, best, found);
    }
  };
  const std::int64_t out_stride = kept.stride[0][last] * 8;
  const auto store = [&](const Tile& tile, const std::int64_t* found) {
    char* to = out.data + (kept.base[0] + tile.offset[0]) * 8;
    if (out_stride == 8) {
      std::memcpy(to, found, static_cast<std::size_t>(tile.width) * 8);
      return;
    }
    for (std::int64_t j = 0; j < tile.width; ++j) std::memcpy(to + j * out_stride, found + j, 8);
  };

  if (splits == 1) {
    const std::int64_t per_task =
        std::max<std::int64_t>(task_bytes / (n * tiles.width() * item), 1);
    parallel_for((tiles.count() - 1) / per_task + 1, work, [&](std::int64_t task) {
      const std::int64_t end = std::min(tiles.count(), (task + 1) * per_task);
      for (std::int64_t t = task * per_task; t < end; ++t) {
        std::int64_t found[most_columns];
        alignas(64) char best[most_columns * 8];
        const Tile tile = tiles[t];
        search(tile, 0, n, found, by_columns || packed ? best : nullptr);
        store(tile, found);
      }
    });
    return;
  }
  std::int64_t* const partials = static_cast<std::int64_t*>(partial->data);
  char* const extremes = static_cast<char*>(partial->data) + splits * outputs * 8;
  parallel_for(splits * tiles.count(), work, [&](std::int64_t task) {
    const std::int64_t part = task / tiles.count();
    const Tile tile = tiles[task % tiles.count()];
    const std::int64_t to = part * outputs + tile.position;
    search(tile, part * split, std::min(n, (part + 1) * split), partials + to,
           extremes + to * item);
  });
  for (std::int64_t t = 0; t < tiles.count(); ++t) {
    const Tile tile = tiles[t];
    std::int64_t* const found = partials + tile.position;
    char* const best = extremes + tile.position * item;
    for (std::int64_t part = 1; part < splits; ++part) {
      const std::int64_t next = part * outputs;
      keep_better(largest, in.dtype, tile.width, best + next * item, found + next, best, found);
    }
    store(tile, found);
  }
}

}  // namespace arrayx::cpu
