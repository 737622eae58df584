// Running sums and products, in the order that kernels/reduce_kernels.hpp states, whatever the
// layout; rows, or the columns of a contiguous kept dimension, run side by side.
#include "block_loop.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

constexpr std::int64_t block_bytes = 16 << 10, rows_ahead = 16;
// A long line is cut among threads in sections of so many bytes for each, of blocks that are summed
// up so many together.
constexpr std::int64_t section_bytes = 1 << 20, most_section_blocks = 256, blocks_together = 4;
// It is read twice, which two threads earn from 8 MiB on, and more threads from fewer bytes; two do
// not where it comes from memory, of which one reads and writes nearly as much.
bool pays_to_share(std::int64_t line_bytes, bool past_caches) {
  constexpr std::int64_t of_two = 8 << 20, least = 2 << 20;
  const int threads = thread_count();
  return threads > (past_caches ? 2 : 1) && line_bytes >= std::max(of_two / (threads - 1), least);
}

// The first value along the axis: 0 for sums, 1 for products.
void write_initial(bool product, const Operand& out, int axis) {
  Layout first = *out.layout;
  first.shape[axis] = 1;
  first.size = checked_size(first.shape);
  if (first.size == 0) return;
  const Element e = dispatch(out.dtype, [&](auto zero) {
    return Element::of(static_cast<decltype(zero)>(product ? 1 : 0));
  });
  Layout everywhere = first;
  everywhere.strides = Dims(first.ndim(), 0);
  Operand in;
  in.data = reinterpret_cast<char*>(const_cast<unsigned char*>(e.bytes));
  in.layout = &everywhere;
  in.dtype = out.dtype;
  Operand to = out;
  to.layout = &first;
  copy(in, to);
}

// The running sum of one contiguous line by several threads. The blocks of a section are summed up
// first; then each goes on from the sum of those before it, while those of the next section are
// summed up, so that threads wait for each other only once a section.
void scan_line(DType dtype, const char* in, std::int64_t n, char* out) {
  const int item = itemsize(dtype), d = static_cast<int>(dtype);
  const ScanKernel rows = kernels().reduce.scan_rows[0][d];
  const MergeKernel add = kernels().reduce.merge[static_cast<int>(Reduction::sum)][d];
  const std::int64_t blocks = (n - 1) / scan_block + 1, block_bytes = scan_block * item;
  const std::int64_t section =
      std::min(thread_count() * (section_bytes / block_bytes), most_section_blocks);
  const bool streamed = goes_past_caches(n * item, 2 * n * item) && in != out;
  // Before each block of two sections: the sum of the last block, and that of those before it.
  alignas(8) char carries[2][(most_section_blocks + 1) * 2 * 8];

  const auto scan_block_of = [&](std::int64_t block, char* carry) {
    const std::int64_t first = block * scan_block, length = std::min(scan_block, n - first);
    const std::int64_t piece = streamed ? streamed_bytes / item : scan_block;
    alignas(64) char scratch[streamed_bytes];
    for (std::int64_t i = 0; i < length; i += piece) {
      const std::int64_t count = std::min(piece, length - i), at = (first + i) * item;
      rows(in + at, 0, streamed ? scratch : out + at, 0, 1, count, first + i, carry);
      if (streamed) kernels().stream(scratch, out + at, count * item, nullptr);
    }
    if (streamed) kernels().stream_fence();
  };
  for (std::int64_t first = -section; first < blocks; first += section) {
    const std::int64_t next = first + section;
    char* const before = carries[first / section & 1];
    char* const after = carries[next / section & 1];
    // Nobody goes on from the last block, which need not be whole.
    const std::int64_t sums = std::clamp(blocks - 1 - next, std::int64_t{0}, section);
    const std::int64_t scans = first < 0 ? 0 : std::min(blocks - first, section);
    const std::int64_t tasks = (std::max(sums, scans) - 1) / blocks_together + 1;
    parallel_for(tasks, 3 * n * item, [&](std::int64_t task) {
      const std::int64_t begin = task * blocks_together, end = begin + blocks_together;
      for (std::int64_t i = begin; i < std::min(end, scans); ++i) {
        alignas(8) char carry[2 * 8];
        std::memcpy(carry, before + i * 2 * item, 2 * item);
        scan_block_of(first + i, carry);
      }
      if (begin < sums) {
        rows(in + (next + begin) * block_bytes, block_bytes, nullptr, 0,
             std::min(end, sums) - begin, scan_block, 0, after + (begin + 1) * 2 * item);
      }
    });
    if (first >= 0) std::memcpy(after, before + scans * 2 * item, 2 * item);
    for (std::int64_t i = next == 0; i < sums; ++i) {
      char* const carry = after + i * 2 * item;
      std::memcpy(carry + 3 * item, carry + item, item);
      add(carry + 3 * item, carry, 1);
    }
  }
}

}  // namespace

void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out) {
  const int item = itemsize(in.dtype), out_item = itemsize(out.dtype);
  const int d = static_cast<int>(out.dtype);
  const int real_bytes = is_complex(out.dtype) ? out_item / 2 : out_item;
  char* out_data = out.data;
  const std::int64_t n = in.layout->shape[axis];
  const std::int64_t step = in.layout->strides[axis] * item;
  const std::int64_t out_step = out.layout->strides[axis] * out_item;
  if (include_initial) {
    write_initial(product, out, axis);
    out_data += out_step;
  }
  if (in.layout->size == 0) return;
  const int kind = product ? 1 : n <= longest_in_order ? 2 : 0;
  const ScanKernel rows = kernels().reduce.scan_rows[kind][d];
  const ScanColumnsKernel columns = kernels().reduce.scan_columns[kind][d];
  if (!rows) {
    raise(ErrorKind::not_implemented, "a scan into ", out.dtype, " has no kernel");
  }

  Dims shape = in.layout->shape, strides = in.layout->strides, out_strides = out.layout->strides;
  shape.erase(axis);
  strides.erase(axis);
  out_strides.erase(axis);
  const Dims* const operands[2] = {&strides, &out_strides};
  const Plan kept = make_plan(shape, operands, 2);
  const int last = kept.ndim() - 1;
  const char* in_base = in.data + kept.base[0] * item;
  char* out_base = out_data + kept.base[1] * out_item;
  const std::int64_t m = kept.size[last];
  const std::int64_t kept_stride = kept.stride[0][last] * item;
  const std::int64_t out_kept_stride = kept.stride[1][last] * out_item;
  const bool aligned = (reinterpret_cast<std::uintptr_t>(in.data) % real_bytes == 0) &
                       (reinterpret_cast<std::uintptr_t>(out.data) % real_bytes == 0);

  // Columns where the output's kept dimension is the contiguous one; rows otherwise.
  const bool by_columns = m >= 4 && kept.count() > 1 && out_kept_stride == out_item;
  const bool casts = in.dtype != out.dtype;
  const bool in_direct =
      !casts && aligned && (by_columns ? kept_stride == item : step == item || n == 1);
  const bool out_direct = aligned && (by_columns || out_step == out_item || n == 1);
  const int widest = std::max(item, out_item);
  const bool in_chunks = kind == 0 && !is_complex(out.dtype) && out_item >= 4;
  // A large result goes past the caches, by way of a block in L1 or line by line: what adds up
  // faster than lines are fetched to be overwritten, in rows of whole lines or columns beside each
  // other, of which a row follows the other or is long; in short rows that follow each other, too.
  const bool whole_lines = reinterpret_cast<std::uintptr_t>(out_data) % line_bytes == 0 &&
                           (m == 1 || out_kept_stride % line_bytes == 0);
  const std::int64_t count = kept.count() * n, out_row = (by_columns ? m : n) * out_item;
  const bool chunks_by_lines = kernels().reduce.streams_chunks;
  const bool follows = by_columns ? out_step == out_row && out_row >= line_bytes &&
                                        out_row <= most_scan_column_bytes &&
                                        out_row * n >= 4 * streamed_bytes
                                  : out_direct && out_kept_stride == out_row &&
                                        (!in_chunks || (whole_lines && chunks_by_lines)) &&
                                        4 * out_row <= block_bytes && m * out_row >= block_bytes;
  const bool streamed =
      goes_past_caches(count * out_item, count * (item + out_item)) && in.data != out.data &&
      (follows || (by_columns ? out_row >= streamed_bytes
                              : (in_chunks || out_item >= 8) && out_direct && whole_lines &&
                                    out_row >= 16 * streamed_bytes));
  const bool joined = streamed && follows;
  const bool adjoining = kept.ndim() == 1 && kept_stride == n * item;
  const bool blocked = !in_direct || !out_direct || streamed;
  if (in_chunks && !by_columns && in_direct && out_direct && kept.count() < 4 &&
      pays_to_share(n * item, goes_past_caches(n * item, 2 * n * item))) {
    const Tiles lines(kept, 1);
    for (std::int64_t t = 0; t < lines.count(); ++t) {
      const Tile line = lines[t];
      scan_line(out.dtype, in_base + line.offset[0] * item, n,
                out_base + line.offset[1] * out_item);
    }
    return;
  }
  // Columns that go in order past the caches do so row by row.
  const bool row_by_row = streamed && by_columns && !in_chunks && kept_stride == item;
  const bool streams_columns =
      streamed && by_columns && (in_chunks ? chunks_by_lines : !product || !is_complex(out.dtype));
  // Whole lines, so that rows of which one tile begins with a line do in all.
  const std::int64_t column_bytes =
      row_by_row && !joined ? std::clamp(block_bytes / n / line_bytes * line_bytes,
                                         std::int64_t{1024}, std::int64_t{most_scan_column_bytes})
                            : most_scan_column_bytes;
  // Rows whose elements wait for each other run four at a time.
  const std::int64_t fewest = in_chunks ? 1 : 4;
  const std::int64_t width =
      by_columns ? std::min<std::int64_t>(column_bytes / out_item, m)
                 : std::min(std::clamp<std::int64_t>(
                                (joined ? 2 * streamed_bytes : block_bytes) / widest / n, fewest,
                                most_scan_rows),
                            m);
  const Tiles tiles(kept, width);
  // Bytes of a block; of rows one after the other as many of each as are written so.
  const std::int64_t piece = joined || !streamed       ? block_bytes
                             : by_columns || in_chunks ? streamed_bytes
                                                       : streamed_bytes * tiles.width();
  const std::int64_t block_elements = piece / widest / tiles.width();
  const std::int64_t least_block = row_by_row ? 1 : scan_chunk;
  const std::int64_t block =
      joined && !by_columns ? n
      : blocked ? std::min(std::max(block_elements / least_block, std::int64_t{1}) * least_block, n)
                : n;
  // Rows of a block of columns do not all begin in the same set of an L1.
  const std::int64_t gap = by_columns && !joined ? line_bytes : 0;
  const std::int64_t slab =
      (std::max<std::int64_t>(block, 1) * (tiles.width() * widest + gap) + 63) & ~63;
  // Rows that do not begin with lines are runs of their own: the line that each has come to.
  constexpr std::int64_t most_runs = 4096, begun_bytes = 3 * line_bytes;
  const bool in_runs = streamed && by_columns && !joined && n <= most_runs;
  const std::int64_t begun = in_runs ? n * begun_bytes : 0;
  // How far ahead rows are asked for.
  const std::int64_t ahead = row_by_row ? std::max(block, std::min(rows_ahead, n)) : block;
  const CopyKernel copy_in = kernels().copy[item_class(item)];
  const CopyKernel copy_out = kernels().copy[item_class(out_item)];
  const std::int64_t work = kept.count() * n * (item + out_item);
  const std::int64_t per_task =
      std::max<std::int64_t>((streamed ? 512 << 10 : 64 << 10) / (n * tiles.width() * widest), 1);

  parallel_for((tiles.count() - 1) / per_task + 1, work, [&](std::int64_t task) {
    alignas(64) char carry[scan_carry];
    const std::int64_t begin = task * per_task, end = std::min(tiles.count(), begin + per_task);
    bool goes_on = false;  // whether runs have begun
    for (std::int64_t t = begin; t < end; ++t) {
      const Tile tile = tiles[t];
      const std::int64_t w = tile.width;
      const char* next = nullptr;
      bool ends = true;  // whether runs do, before a tile that is less than a line
      if (streamed && by_columns && t + 1 < tiles.count()) {
        const Tile then = tiles[t + 1];
        next = in_direct ? in_base + then.offset[0] * item : nullptr;
        ends = t + 1 == end || then.position % m == 0 || then.width * out_item < line_bytes;
      }
      for (std::int64_t k = 0; k < n; k += block) {
        const std::int64_t count = std::min(block, n - k);
        const char* from = in_base + tile.offset[0] * item + k * step;
        char* to = out_base + tile.offset[1] * out_item + k * out_step;
        // Blocks are [count][w] for columns and [w][count] for rows.
        std::int64_t from_stride = by_columns ? step : kept_stride;
        std::int64_t to_stride = by_columns ? out_step : out_kept_stride;
        const std::int64_t line = by_columns ? w : count, lines = by_columns ? count : w;
        char* scratch = blocked ? thread_scratch(3 * slab + begun) : nullptr;
        const char* source = from;
        char* target = to;
        if (!in_direct) {
          copy_in(from, {from_stride, by_columns ? kept_stride : step}, scratch,
                  {line * item, item}, lines, line);
          source = scratch;
          if (casts) {
            const void* cast_from = scratch;
            kernels().cast[static_cast<int>(in.dtype)][d](&cast_from, scratch + slab, lines * line);
            source = scratch + slab;
          }
          from_stride = line * out_item;
        }
        // Whole lines go past the caches as they are found.
        const bool at_once = streams_columns && out_step % line_bytes == 0 &&
                             reinterpret_cast<std::uintptr_t>(to) % line_bytes == 0;
        const bool by_scratch = !at_once && (streamed || !out_direct);
        if (by_scratch) {
          target = scratch + 2 * slab;
          to_stride = line * out_item + gap;
        }
        // The rows that are read later: those of a tile whose results go by way of scratch in
        // chunks are asked for while these leave.
        const bool while_leaving = by_scratch && !row_by_row && !joined;
        const std::int64_t later = k + ahead;
        const char* later_row = nullptr;
        if (streamed && by_columns && in_direct && later < n) {
          later_row = from + ahead * step;
        } else if (next) {
          later_row = next + (row_by_row ? later - n : 0) * step;
        }
        const std::int64_t later_rows = !later_row  ? 0
                                        : later < n ? std::min(block, n - later)
                                                    : block;
        if (joined && !by_columns && in_direct) {
          fetch(from + page_bytes, lines * line * item);
        }
        if (by_columns) {
          columns({source, from_stride, target, to_stride, lines, line, k, carry, later_row,
                   while_leaving ? 0 : later_rows, at_once});
        } else {
          rows(source, from_stride, target, to_stride, lines, line, k, carry);
        }
        if (!by_scratch) continue;
        if (!streamed) {
          copy_out(
              target, {to_stride, out_item}, to,
              {by_columns ? out_step : out_kept_stride, by_columns ? out_kept_stride : out_step},
              lines, line);
          continue;
        }
        if (joined) {
          kernels().stream(target, to, lines * line * out_item, nullptr);
          continue;
        }
        const std::int64_t to_next = by_columns ? out_step : out_kept_stride;
        for (std::int64_t l = 0; l < lines; ++l) {
          const char* const leaving = target + l * to_stride;
          if (while_leaving && l < later_rows) {
            fetch_for_second(later_row + l * step, line * item);
          } else if (in_direct && !by_columns) {
            const char* const row = from - k * item + l * kept_stride;
            const std::int64_t rows_left = adjoining ? m - tile.position - l : 1;
            fetch_pages(row, k * item, line * item, rows_left * n * item);
          }
          if (in_runs && line * out_item >= line_bytes) {
            kernels().stream_runs({leaving, to_stride, to + l * to_next, to_next, 1,
                                   line * out_item, !goes_on, ends, nullptr,
                                   scratch + 3 * slab + (k + l) * begun_bytes});
          } else {
            kernels().stream(leaving, to + l * to_next, line * out_item, nullptr);
          }
        }
      }
      goes_on = !ends;
    }
    if (streamed) kernels().stream_fence();
  });
}

}  // namespace arrayx::cpu
