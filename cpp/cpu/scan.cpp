// Running sums and products, in the order that kernels/reduce_kernels.hpp states, whatever the
// layout; rows, or the columns of a contiguous kept dimension, run side by side.
#include "block_loop.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

// Bytes of a block of lines, and how many rows of columns ahead are asked for.
constexpr std::int64_t block_bytes = 16 << 10, rows_ahead = 8;
// Rows that begin within lines are runs of their own, at most so many of columns: the line that
// each has come to, between margins.
constexpr std::int64_t most_runs = 4096, begun_bytes = 3 * line_bytes;
// Bytes of a row from which on it pays to write it past the caches that begins within a line.
constexpr std::int64_t least_shifted = 2048;
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

bool begins_line(const char* p) {
  return reinterpret_cast<std::uintptr_t>(p) % line_bytes == 0;
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
  const bool streamed = goes_past_caches(n * item, 2 * n * item) && in != out &&
                        (begins_line(out) || kernels().reduce.scans_by_lines);
  // Before each block of two sections: the sum of the last block, and that of those before it.
  alignas(8) char carries[2][(most_section_blocks + 1) * 2 * 8];

  const auto scan_block_of = [&](std::int64_t block, char* carry) {
    const std::int64_t first = block * scan_block, length = std::min(scan_block, n - first);
    rows({in + first * item, 0, out + first * item, 0, 1, length, first, carry, streamed});
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
        rows({in + (next + begin) * block_bytes, block_bytes, nullptr, 0,
              std::min(end, sums) - begin, scan_block, 0, after + (begin + 1) * 2 * item, false});
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

// The operand or the result: `step` bytes from element to element of a line, `kept` from one line
// to the next.
struct Side {
  char* data;
  int item;
  std::int64_t step, kept;
  bool direct;  // whether the kernels read or write it where it is
};

// A scan of all lines along a dimension: what is decided once, and the way that tiles of them go.
class Scan {
 public:
  Scan(bool product, const Operand& in, const Operand& out, char* out_data, int axis);
  void run() const;

 private:
  // How the results leave; all but the first two go past the caches.
  enum class Way {
    direct,   // from the kernel to their places
    copied,   // by way of scratch
    at_once,  // from the kernel
    joined,   // by way of scratch, the rows of a block in one go, since they follow each other
    in_rows,  // by way of scratch, row by row
    in_runs,  // likewise, of rows that begin within lines
  };

  void decide_columns(bool product);
  void decide_rows();
  // Whether all rows of a result whose rows are `row` bytes apart begin with lines.
  bool whole_lines(std::int64_t row) const;
  // Whether there are a few long lines, of which several threads do one.
  bool shares_lines() const;
  bool by_scratch() const { return way_ != Way::direct && way_ != Way::at_once; }
  bool needs_scratch() const { return !in_.direct || by_scratch(); }
  std::int64_t slab() const;
  // What the kernels read of a block of `lines` rows that is packed, and cast, to scratch.
  const char* pack(const char* from, std::int64_t lines, std::int64_t line, char* scratch) const;
  void run_columns(const Tiles& tiles, std::int64_t begin, std::int64_t end) const;
  void run_rows(const Tile& tile) const;

  ScanKernel kernel_;
  DType in_dtype_, dtype_;
  bool in_chunks_, by_columns_, past_caches_;
  Side in_, out_;
  Plan kept_;
  std::int64_t n_, m_;  // elements of a line; lines beside each other
  int widest_;
  Way way_ = Way::direct;
  std::int64_t width_ = 1, block_ = 1;  // lines of a tile, elements of each in a block
  std::int64_t gap_ = 0;                // bytes between rows of results in scratch
  bool row_by_row_ = false;             // columns in order, a row at a time
};

Scan::Scan(bool product, const Operand& in, const Operand& out, char* out_data, int axis)
    : in_dtype_(in.dtype), dtype_(out.dtype), n_(in.layout->shape[axis]) {
  const int item = itemsize(in.dtype), out_item = itemsize(out.dtype);
  widest_ = std::max(item, out_item);
  Dims shape = in.layout->shape, strides = in.layout->strides, out_strides = out.layout->strides;
  shape.erase(axis);
  strides.erase(axis);
  out_strides.erase(axis);
  const Dims* const operands[2] = {&strides, &out_strides};
  kept_ = make_plan(shape, operands, 2);
  const int last = kept_.ndim() - 1;
  m_ = kept_.size[last];
  in_ = {in.data + kept_.base[0] * item, item, in.layout->strides[axis] * item,
         kept_.stride[0][last] * item, false};
  out_ = {out_data + kept_.base[1] * out_item, out_item, out.layout->strides[axis] * out_item,
          kept_.stride[1][last] * out_item, false};
  // Columns where the output's kept dimension is the contiguous one; rows otherwise, and of columns
  // so few that turning them takes less than leaving lanes of vectors empty.
  const int least_columns = in_dtype_ == dtype_ ? 3 : 4;
  by_columns_ = m_ >= least_columns && kept_.count() > 1 && out_.kept == out_item;

  const int kind = product ? 1 : n_ <= longest_in_order ? 2 : 0, d = static_cast<int>(dtype_);
  const ReduceKernels& table = kernels().reduce;
  kernel_ = (by_columns_ ? table.scan_columns : table.scan_rows)[kind][d];
  if (!kernel_) raise(ErrorKind::not_implemented, "a scan into ", dtype_, " has no kernel");
  in_chunks_ = kind == 0 && !is_complex(dtype_) && out_item >= 4;

  const int real_bytes = is_complex(dtype_) ? out_item / 2 : out_item;
  const bool aligned = (reinterpret_cast<std::uintptr_t>(in.data) % real_bytes == 0) &
                       (reinterpret_cast<std::uintptr_t>(out.data) % real_bytes == 0);
  in_.direct = in_dtype_ == dtype_ && aligned &&
               (by_columns_ ? in_.kept == item : in_.step == item || n_ == 1);
  out_.direct = aligned && (by_columns_ || out_.step == out_item || n_ == 1);
  const std::int64_t count = kept_.count() * n_;
  past_caches_ =
      goes_past_caches(count * out_item, count * (item + out_item)) && in.data != out.data;
  if (by_columns_) {
    decide_columns(product);
  } else {
    decide_rows();
  }
}

bool Scan::whole_lines(std::int64_t row) const {
  bool whole = begins_line(out_.data) && row % line_bytes == 0;
  for (int i = 0; i < kept_.ndim() - 1; ++i) {
    whole &= kept_.stride[1][i] * out_.item % line_bytes == 0;
  }
  return whole;
}

// Rows of whole lines leave at once, those that follow each other together, long ones one by one.
void Scan::decide_columns(bool product) {
  const std::int64_t row = m_ * out_.item;
  const bool joined = out_.step == row && row >= line_bytes && row <= most_scan_column_bytes &&
                      row * n_ >= 4 * streamed_bytes;
  past_caches_ &= joined || row >= streamed_bytes;
  // Those that go in order past the caches do so row by row, which needs no blocks.
  row_by_row_ = past_caches_ && !in_chunks_ && in_.kept == in_.item;
  if (!past_caches_) {
    way_ = out_.direct ? Way::direct : Way::copied;
  } else if (whole_lines(out_.step) &&
             (in_chunks_ ? kernels().reduce.scans_by_lines : !product || !is_complex(dtype_))) {
    way_ = Way::at_once;
  } else {
    way_ = joined ? Way::joined : n_ <= most_runs ? Way::in_runs : Way::in_rows;
  }
  std::int64_t bytes = most_scan_column_bytes;
  if (row_by_row_ && !joined) {
    // Whole lines, so that rows of which one tile begins with a line do in all.
    bytes = std::clamp(block_bytes / n_ / line_bytes * line_bytes, std::int64_t{1024}, bytes);
  }
  width_ = std::min(bytes / out_.item, m_);
  // Rows of a block do not all begin in the same set of an L1.
  gap_ = past_caches_ && joined ? 0 : line_bytes;
  if (way_ == Way::direct && in_.direct) {
    block_ = n_;
  } else {
    const std::int64_t piece = past_caches_ && !joined ? streamed_bytes : block_bytes;
    const std::int64_t least = row_by_row_ ? 1 : scan_chunk;
    block_ = std::min(std::max(piece / widest_ / width_ / least, std::int64_t{1}) * least, n_);
  }
}

// Rows that go in chunks leave at once, if they begin with lines or are not short. Others go by way
// of scratch if they follow each other or are long, and add up faster than lines are fetched to be
// overwritten.
void Scan::decide_rows() {
  const std::int64_t row = n_ * out_.item;
  const bool whole = whole_lines(m_ == 1 ? 0 : out_.kept);
  const bool joined =
      out_.direct && out_.kept == row && 4 * row <= block_bytes && m_ * row >= block_bytes;
  const bool is_long = out_.direct && row >= 4 * streamed_bytes;
  if (!past_caches_) {
    way_ = out_.direct ? Way::direct : Way::copied;
  } else if (in_chunks_ && out_.direct &&
             (whole || (kernels().reduce.scans_by_lines && row >= least_shifted))) {
    way_ = Way::at_once;
  } else if (!in_chunks_ && joined) {
    way_ = Way::joined;
  } else if (is_long && !in_chunks_ && out_.item >= 8 && !is_complex(dtype_)) {
    way_ = whole ? Way::in_rows : Way::in_runs;
  } else {
    way_ = out_.direct ? Way::direct : Way::copied;
    past_caches_ = false;
  }
  // Rows whose elements wait for each other run four at a time.
  const std::int64_t least = in_chunks_ ? 1 : 4;
  const std::int64_t bytes = way_ == Way::joined ? 2 * streamed_bytes : block_bytes;
  width_ = std::min(std::clamp<std::int64_t>(bytes / widest_ / n_, least, most_scan_rows), m_);
  if (way_ == Way::joined || (in_.direct && !by_scratch())) {
    block_ = n_;
  } else {
    const bool in_pieces = way_ == Way::in_rows || way_ == Way::in_runs;
    const std::int64_t elements =
        in_pieces ? streamed_bytes / widest_ : block_bytes / widest_ / width_;
    block_ = std::min(std::max(elements / scan_chunk, std::int64_t{1}) * scan_chunk, n_);
  }
}

bool Scan::shares_lines() const {
  return in_chunks_ && !by_columns_ && in_.direct && out_.direct && kept_.count() < 4 &&
         pays_to_share(n_ * in_.item, goes_past_caches(n_ * in_.item, 2 * n_ * in_.item));
}

void Scan::run() const {
  const bool shared = shares_lines();
  const Tiles tiles(kept_, shared ? 1 : width_);
  if (shared) {
    for (std::int64_t t = 0; t < tiles.count(); ++t) {
      const Tile line = tiles[t];
      scan_line(dtype_, in_.data + line.offset[0] * in_.item, n_,
                out_.data + line.offset[1] * out_.item);
    }
    return;
  }
  const std::int64_t task_bytes = past_caches_ ? 512 << 10 : 64 << 10;
  const std::int64_t per_task =
      std::max<std::int64_t>(task_bytes / (n_ * tiles.width() * widest_), 1);
  const std::int64_t work = kept_.count() * n_ * (in_.item + out_.item);
  parallel_for((tiles.count() - 1) / per_task + 1, work, [&](std::int64_t task) {
    const std::int64_t begin = task * per_task, end = std::min(tiles.count(), begin + per_task);
    if (by_columns_) {
      run_columns(tiles, begin, end);
    } else {
      for (std::int64_t t = begin; t < end; ++t) run_rows(tiles[t]);
    }
    if (past_caches_) kernels().stream_fence();
  });
}

// Scratch of a thread: a block that is packed, one that is cast, one of results; and the lines that
// runs have come to.
std::int64_t Scan::slab() const {
  const std::int64_t bytes = block_ * (width_ * widest_ + gap_);
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

const char* Scan::pack(const char* from, std::int64_t lines, std::int64_t line,
                       char* scratch) const {
  const CopyKernel copy = kernels().copy[item_class(in_.item)];
  copy(from, by_columns_ ? Strides2D{in_.step, in_.kept} : Strides2D{in_.kept, in_.step}, scratch,
       {line * in_.item, in_.item}, lines, line);
  if (in_dtype_ == dtype_) return scratch;
  const void* packed = scratch;
  char* const cast = scratch + slab();
  kernels().cast[static_cast<int>(in_dtype_)][static_cast<int>(dtype_)](&packed, cast,
                                                                        lines * line);
  return cast;
}

void Scan::run_columns(const Tiles& tiles, std::int64_t begin, std::int64_t end) const {
  alignas(64) char carry[scan_carry];
  const bool runs = way_ == Way::in_runs, leaves_in_rows = runs || way_ == Way::in_rows;
  const std::int64_t results = 2 * slab(), begun = 3 * slab();
  char* const scratch = needs_scratch() ? thread_scratch(begun + runs * n_ * begun_bytes) : nullptr;
  // Rows are asked for that are read so much later: by the kernel, or while rows leave that do not
  // do so one by one.
  const bool while_leaving = leaves_in_rows && !row_by_row_;
  const std::int64_t ahead = row_by_row_ ? std::max(block_, std::min(rows_ahead, n_)) : block_;
  bool begins = true;  // whether runs do
  for (std::int64_t t = begin; t < end; ++t) {
    const Tile tile = tiles[t];
    const std::int64_t w = tile.width, row = w * out_.item;
    const char* const from = in_.data + tile.offset[0] * in_.item;
    char* const to = out_.data + tile.offset[1] * out_.item;
    const char* next = nullptr;
    bool ends = true;  // whether runs do, before a tile that is less than a line
    if (past_caches_ && t + 1 < tiles.count()) {
      const Tile then = tiles[t + 1];
      if (in_.direct) next = in_.data + then.offset[0] * in_.item;
      ends = t + 1 == end || then.position % m_ == 0 || then.width * out_.item < line_bytes;
    }
    for (std::int64_t k = 0; k < n_; k += block_) {
      const std::int64_t count = std::min(block_, n_ - k), later = k + ahead;
      ScanJob job{from + k * in_.step, in_.step, to + k * out_.step, out_.step, count, w, k, carry};
      job.streamed = way_ == Way::at_once;
      if (!in_.direct) {
        job.in = pack(job.in, count, w, scratch);
        job.in_row = row;
      }
      if (by_scratch()) {
        job.out = scratch + results;
        job.out_row = row + gap_;
      }
      const char* later_row = nullptr;
      std::int64_t later_rows = 0;
      if (past_caches_ && in_.direct && later < n_) {
        later_row = from + later * in_.step;
        later_rows = std::min(block_, n_ - later);
      } else if (next) {
        later_row = next + (row_by_row_ ? later - n_ : 0) * in_.step;
        later_rows = block_;
      }
      if (!while_leaving) {
        job.later = later_row;
        job.later_rows = later_rows;
      }
      kernel_(job);
      if (!by_scratch()) continue;
      char* const place = to + k * out_.step;
      if (way_ == Way::copied) {
        kernels().copy[item_class(out_.item)](job.out, {job.out_row, out_.item}, place,
                                              {out_.step, out_.kept}, count, w);
      } else if (way_ == Way::joined) {
        kernels().stream(job.out, place, count * row, nullptr);
      } else {
        kernels().stream_runs({job.out, job.out_row, place, out_.step, count, row, !runs || begins,
                               !runs || ends, later_row, in_.step, while_leaving ? later_rows : 0,
                               scratch + begun + k * begun_bytes});
      }
    }
    begins = ends;
  }
}

void Scan::run_rows(const Tile& tile) const {
  alignas(64) char carry[scan_carry];
  const bool runs = way_ == Way::in_runs;
  const std::int64_t results = 2 * slab(), begun = 3 * slab(), w = tile.width;
  char* const scratch = needs_scratch() ? thread_scratch(begun + runs * w * begun_bytes) : nullptr;
  const char* const from = in_.data + tile.offset[0] * in_.item;
  char* const to = out_.data + tile.offset[1] * out_.item;
  for (std::int64_t k = 0; k < n_; k += block_) {
    const std::int64_t count = std::min(block_, n_ - k), row = count * out_.item;
    ScanJob job{from + k * in_.step, in_.kept, to + k * out_.step, out_.kept, w, count, k, carry};
    job.streamed = way_ == Way::at_once;
    if (!in_.direct) {
      job.in = pack(job.in, w, count, scratch);
      job.in_row = row;
    } else if (way_ == Way::joined) {
      fetch(from + page_bytes, w * row);
    }
    if (by_scratch()) {
      job.out = scratch + results;
      job.out_row = row;
    }
    kernel_(job);
    if (!by_scratch()) continue;
    char* const place = to + k * out_.step;
    if (way_ == Way::copied) {
      kernels().copy[item_class(out_.item)](job.out, {row, out_.item}, place,
                                            {out_.kept, out_.step}, w, count);
    } else if (way_ == Way::joined) {
      kernels().stream(job.out, place, w * row, nullptr);
    } else {
      // Runs end before a block that is less than a line.
      const bool ends = (n_ - k - count) * out_.item < line_bytes;
      kernels().stream_runs({job.out, row, place, out_.kept, w, row, !runs || k == 0, !runs || ends,
                             job.in + page_bytes, in_.kept, in_.direct && asks_for_pages ? w : 0,
                             scratch + begun});
    }
  }
}

}  // namespace

void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out) {
  char* out_data = out.data;
  if (include_initial) {
    write_initial(product, out, axis);
    out_data += out.layout->strides[axis] * itemsize(out.dtype);
  }
  if (in.layout->size == 0) return;
  Scan(product, in, out, out_data, axis).run();
}

}  // namespace arrayx::cpu
