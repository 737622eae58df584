// Reductions and arg-reductions. Each pass reduces one group of dimensions, from the last
// backwards; groups and what is combined with what in them depend on the logical shape alone.
#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/reduce_loop.cuh"
#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

// Rows of a few columns are read as one run where a thread of a block has a pack of each round
// then, and results, of no more bytes for a row than these, find room beside those of joining. On
// an H100 that is faster; of no more than a chunk, where accumulators have four bytes.
constexpr std::int64_t most_flat_result_bytes = 192;
constexpr std::int64_t least_flat = reduce_chunk + 1, least_flat_of_words = 256;
// Where the order does not matter: elements or bytes of such rows, of which a block has whole ones.
// Blocks take long to join what their threads have, so there are long runs and many bytes.
constexpr std::int64_t most_unordered_flat = 32, most_unordered_flat_bytes = 128,
                       least_unordered_run = 1 << 16, least_unordered_bytes = 1 << 21;

// Reduced dimensions are merged, from the last one backwards, until this many elements are
// together.
constexpr std::int64_t least_group = 1024;
// … or so many, where a dimension that is kept lies in between: then they are far from each other.
constexpr std::int64_t least_apart = 16;

const ReduceTable& reduce_table() {
  static const ReduceTable* const table = [] {
    auto* t = new ReduceTable;
    fill_sums(*t);
    fill_products(*t);
    fill_extremes(*t);
    fill_positions(*t);
    fill_conditions(*t);
    return t;
  }();
  return *table;
}

bool conditional(Reduction op) {
  return op == Reduction::any || op == Reduction::all || op == Reduction::count_nonzero;
}

// The reduction that combines partial results.
Reduction continuation(Reduction op) {
  return op == Reduction::count_nonzero ? Reduction::sum : op;
}

// The kernels that read `dtype` and accumulate in `accumulator`; null where elements have to be
// cast first.
const ReduceKernels* find_kernels(Reduction op, DType dtype, DType accumulator) {
  const bool adds = op == Reduction::sum || op == Reduction::prod;
  const bool same = conditional(op) || compute_dtype(dtype) == accumulator ||
                    (adds && is_integer(accumulator) && !is_floating(dtype));
  const bool wide = dtype != DType::float16 && wider_dtype(dtype) == accumulator;
  if (!same && !wide) return nullptr;
  const ReduceKernels& k =
      reduce_table().reduce[static_cast<int>(op)][static_cast<int>(dtype)][same ? 0 : 1];
  return k.rows ? &k : nullptr;
}

// One pass: kept dimensions (operands: out, center, in) and those of the group (in).
struct Pass {
  const ReduceKernels* kernels;
  int itemsize, center_size, out_size;  // bytes of an item
  const char* in;
  const char* center;  // or null
  char* out;
  Plan kept, group;
  const char* verb;
  Deviation deviation;
};

void set_dims(LoopDim* dims, int& count, const Plan& plan, const int* operand, const int* itemsize,
              int operands) {
  count = plan.ndim();
  for (int d = 0; d < count; ++d) {
    const int from = count - 1 - d;
    dims[d].size = Divisor(static_cast<u32>(plan.size[from]));
    for (int k = 0; k < operands; ++k) {
      dims[d].stride[k] = plan.stride[operand[k]][from] * itemsize[k];
    }
  }
}

bool fits(const Pass& p) {
  const std::int64_t n = p.group.count();
  return p.kept.ndim() <= ReduceLoop::most_dims && p.group.ndim() <= ReduceLoop::most_dims &&
         (p.group.ndim() == 1 || n <= most_counted);
}

// How a pass is cut: a grid, and in `loop` the units, which are a power of two of chunks where the
// order of the elements matters.
struct Launch {
  const void* kernel;
  std::int64_t blocks = 1;
  dim3 threads = dim3(block_threads);
  std::size_t shared_bytes = 0;
  std::int64_t units = 1;
};

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return (a - 1) / b + 1;
}
std::int64_t power_of_two(std::int64_t least) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}
int log2_of(std::int64_t power) {
  return std::countr_zero(static_cast<std::uint64_t>(power));
}

// Elements of a unit, cut where `each` are together: as many units as make about so many blocks,
// where one makes `blocks`; no more than `joiners` threads can take.
std::int64_t unit_elements(std::int64_t n, std::int64_t each, std::int64_t blocks,
                           std::int64_t wanted_blocks, std::int64_t joiners) {
  const std::int64_t pieces = ceil_divide(n, each);
  if (blocks > most_joined) return each * pieces;
  const std::int64_t wanted = std::max<std::int64_t>(wanted_blocks / blocks, 1);
  const std::int64_t least = ceil_divide(pieces, joiners * joined_run);
  return each * std::max(ceil_divide(pieces, wanted), least);
}

// How many chunks together, a power of two, are a unit of outputs that have n elements each, where
// `blocks` blocks would have one unit each and the device has room for `at_once`: no more units
// than `joiners` threads can take, and such that the last blocks leave little of the device idle;
// no more chunks than `most`, a power of two, unless those would be too many.
// On an H100 blocks that have it to themselves take about half as long as among as many as there is
// room for, and what a block does beside its chunks as long as a tenth of one or, of wide
// accumulators, three tenths.
std::int64_t unit_chunks(std::int64_t n, std::int64_t blocks, std::int64_t at_once,
                         std::int64_t joiners, bool wide,
                         std::int64_t most = std::int64_t{1} << 62) {
  const std::int64_t chunks = ceil_divide(n, reduce_chunk), all = power_of_two(chunks);
  if (blocks > most_joined) return all;
  const std::int64_t least = power_of_two(ceil_divide(chunks, joiners * joined_run));
  const std::int64_t first = std::max(std::min(all, most), least);
  const double beside = wide ? 0.3 : 0.1;
  std::int64_t best = first;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::int64_t each = first; each >= least; each /= 2) {
    const std::int64_t units = ceil_divide(chunks, each), rest = blocks * units % at_once;
    const double of_unit = static_cast<double>(n) / static_cast<double>(units * reduce_chunk);
    const double last = static_cast<double>(rest) / static_cast<double>(at_once);
    const double rounds =
        static_cast<double>(blocks * units / at_once) + (rest > 0 ? (1 + last) / 2 : 0);
    const double time = rounds * (of_unit + beside);
    if (time >= shortest) continue;
    shortest = time;
    best = each;
  }
  return best;
}

// How many threads of a warp want a word of the same bank of shared memory, each `step` bytes after
// the one before.
int threads_at_a_bank(std::int64_t step) {
  int words[warp_size] = {1}, most = 1;  // of each bank
  for (std::int64_t thread = 1, last = 0; thread < warp_size; ++thread) {
    const std::int64_t word = thread * step / 4;
    if (word != last) most = std::max(most, ++words[word % warp_size]);
    last = word;
  }
  return most;
}

// Rows of so many elements that begin anywhere are read by packs, of which threads have several.
constexpr std::int64_t least_shifted = 2 * reduce_lanes;

// Whether short rows of elements side by side come through shared memory, where a thread has each:
// rows that begin anywhere or, of `aligned` packs, those that take longer on an H100 if threads
// share them.
bool cut_staged_rows(const Pass& p, ReduceLoop& loop, bool aligned, Launch& l) {
  const ReduceKernels& k = *p.kernels;
  const std::int64_t n = loop.n, outputs = loop.outputs, length = n * p.itemsize,
                     step = p.kept.stride[2][0] * p.itemsize,
                     multiprocessors = properties().multiprocessors;
  if (!k.staged_rows || n < 2 || n > k.most_staged || p.kept.ndim() > 1) return false;
  if (outputs < multiprocessors * staged_row_threads) return false;
  // Not much lies between rows, or what is read with them.
  constexpr std::int64_t sector = 32;
  const bool dense = 4 * step <= 5 * length;
  if (step <= 0 || (!dense && (aligned || step - length >= sector))) return false;
  // Threads that meet at a bank: more take longer than memory.
  const bool by_words = p.itemsize < 4 && is_aligned_to(p.in, 4) && step % pack_bytes == 0;
  const int meet = threads_at_a_bank(step), may_meet = by_words ? 8 : 2 * p.itemsize;
  std::int64_t tile_step = step;
  if (aligned) {
    // Threads that share a row do so well where none is idle and results are short. A thread alone
    // takes long where banks are crowded, and is one of few where rows are not many.
    const std::int64_t loads = ceil_divide(n, k.lanes), sharing = power_of_two(loads);
    // Positions of small items are short until they are stored.
    const bool idle = sharing != loads,
               is_long = k.accumulator_bytes > 8 && (k.ordered || p.itemsize > 2),
               many = outputs >= multiprocessors * 1024,
               crowded = meet > (k.about_mean ? 8 : may_meet),
               few_idle = 8 * loads >= 7 * sharing && (k.ordered || !is_long);
    const bool pays = k.about_mean                                    ? loads > 2
                      : !many && meet > 4 && (loads > 32 || few_idle) ? false
                      : is_long                                       ? idle || p.itemsize == 2
                      : p.itemsize >= 4 ? idle && loads > 8 && meet <= 4 && many
                      : p.itemsize == 2 ? idle || (k.ordered && loads == 1)
                                        : false;
    if (!pays || step < length) return false;
    if (crowded) tile_step += pack_bytes;
  } else if (n >= k.lanes && meet > (k.about_mean ? 16 : std::min(may_meet, 8))) {
    return false;
  }
  // Every thread has as many rows, or some have one.
  std::int64_t rows = staged_row_bytes / tile_step;
  if (rows >= staged_row_threads * 3 / 4) {
    rows = (rows + staged_row_threads * 3 / 4) / staged_row_threads * staged_row_threads;
  } else if (rows < least_staged_rows) {
    rows = least_staged_rows * tile_step <= most_staged_bytes ? least_staged_rows : warp_size;
  }
  rows = std::min<std::int64_t>(rows, staged_row_threads * most_staged_turns);
  rows = std::min(rows, ceil_divide(outputs, 4 * multiprocessors) + (warp_size - 1));
  rows = rows / warp_size * warp_size;
  const int levels = k.ordered ? staged_row_levels(static_cast<int>(n)) : 0;
  l.shared_bytes = static_cast<std::size_t>((rows - 1) * tile_step + length + 2 * pack_bytes +
                                            levels * staged_row_threads * k.accumulator_bytes);
  if (l.shared_bytes > properties().shared_bytes_per_block) return false;
  loop.block_rows = static_cast<u32>(rows);
  loop.tile_step = static_cast<int>(tile_step);
  loop.row_packs = Divisor(static_cast<u32>(ceil_divide(step, pack_bytes)));
  l.kernel = k.staged_rows;
  l.threads = dim3(staged_row_threads);
  l.blocks = ceil_divide(outputs, rows);
  return true;
}

// Threads read along the reduced dimensions, `runs` of elements side by side that may be `aligned`.
Launch cut_rows(const Pass& p, ReduceLoop& loop, bool runs, bool aligned) {
  const ReduceKernels& k = *p.kernels;
  const bool packs = runs && (aligned || (!k.ordered && loop.n >= k.lanes));
  const std::int64_t n = loop.n, outputs = loop.outputs,
                     multiprocessors = properties().multiprocessors;
  const bool shifted = runs && !packs && k.shifted_rows && n >= least_shifted;
  const std::int64_t lanes = packs || shifted ? k.lanes : 1, loads = ceil_divide(n, lanes);
  Launch l;
  if (runs && cut_staged_rows(p, loop, aligned, l)) return l;
  if (loads <= 32 && p.group.ndim() == 1 && (aligned || !packs) &&
      (!k.ordered || n <= reduce_lanes)) {
    l.kernel = packs ? k.short_rows : k.short_rows_any;
    loop.width_log2 = log2_of(power_of_two(loads));
    l.threads = dim3(short_row_threads);
    l.blocks = ceil_divide(outputs, (short_row_threads >> loop.width_log2) * short_rows_at_once);
    return l;
  }
  // Threads that read a row or, of an ordered reduction, a chunk: fewer of them, with more elements
  // each, spend less on what each row costs; more of them read longer pieces of it at a time, for
  // which memory is faster. Measured on an H100.
  const std::int64_t multiple = multiprocessors * 1024, least_wider = 256;
  if (k.narrow_rows[0] && n <= reduce_chunk && outputs * k.narrow_width >= multiple &&
      p.group.ndim() == 1 && (runs || k.accumulator_bytes == 4)) {
    const bool wider = runs && k.narrow_rows[1] && n > least_wider;
    l.kernel = runs ? k.narrow_rows[wider] : k.narrow_rows_any;
    l.blocks = ceil_divide(outputs, block_threads / (k.narrow_width << wider));
    return l;
  }
  l.kernel = packs ? k.rows : shifted ? k.shifted_rows : k.rows_any;
  if (!l.kernel) return l;
  std::int64_t width = k.ordered ? std::min<std::int64_t>(32, reduce_lanes / lanes) : 32;
  if (!k.ordered) {
    // Of packs of bytes one after the other takes more time. Of four bytes a thread has about as
    // many as it has in flight, of positions, which take longer to be joined, twice as many.
    const bool of_one = packs && (loads <= 4 || loads == 8 || (loads < 8 && p.itemsize <= 2));
    const std::int64_t most_of_two = packs && p.itemsize > 1 ? 24 : 15;
    const std::int64_t least = of_one ? 1 : loads <= most_of_two ? 2 : 4;
    const std::int64_t each = p.itemsize != 4 || !packs ? 16 : k.accumulator_bytes > 8 ? 10 : 5;
    while (width > least && width * each > loads && outputs * width >= 2 * multiple) width /= 2;
  }
  width = std::min(width, power_of_two(loads));
  loop.width_log2 = log2_of(width);
  const std::int64_t groups = block_threads / width;
  if (k.ordered) {
    const std::int64_t wanted = multiprocessors * 96 * 32 / width;
    if (n >= 4 * reduce_chunk && n <= groups * reduce_chunk && outputs * groups >= wanted / 4) {
      // The warps of a block share a row, which they read side by side.
      loop.per_unit = reduce_chunk;
    } else {
      // A unit costs something beside its chunks, and those of many chunks do not end together
      // unless there are many. Of float32 wide accumulators take as long to be joined as more
      // chunks to be read. On an H200 sums and norms of 8Mi to 64Mi elements take 0.84 to 1 of the
      // time so that six units for each that runs at a time take. Of elements of 16 bytes, of which
      // a chunk takes longer, they do so from more chunks on: sums of 64Mi take 248 µs of 261.
      const bool wide = k.accumulator_bytes > p.itemsize;
      const std::int64_t most = p.itemsize == 16          ? 16
                                : wide && p.itemsize == 4 ? 8
                                                          : 4,
                         most_rounds = 8;
      // Long rows are cut into what the groups of a block have together. Of very many a group has
      // its own.
      const bool by_blocks = n > groups * reduce_chunk && outputs <= most_joined;
      const std::int64_t together = by_blocks ? groups : 1, of_group = ceil_divide(n, together),
                         in_block = groups / together;
      const std::int64_t at_once =
          in_block * blocks_at_once(l.kernel, dim3(block_threads), 0, p.verb);
      const std::int64_t of_many =
          ceil_divide(of_group, reduce_chunk) * outputs / (most_rounds * at_once);
      loop.per_unit =
          reduce_chunk * unit_chunks(of_group, outputs, at_once, block_threads * in_block, wide,
                                     power_of_two(std::max(most, of_many) + 1) / 2);
    }
    const std::int64_t units = ceil_divide(n, loop.per_unit);
    loop.whole_block = units > 1;
    if (!loop.whole_block) {
      l.blocks = ceil_divide(outputs, groups);
      return l;
    }
    const std::int64_t in_block = std::min(groups, power_of_two(units));
    l.threads = dim3(static_cast<unsigned>(std::max<std::int64_t>(in_block * width, 32)));
    l.units = ceil_divide(units, std::int64_t{l.threads.x} / width);
  } else {
    loop.per_unit = n + lanes;
    if (loads <= 32 * 16 || outputs >= multiprocessors * 32) {
      l.blocks = ceil_divide(outputs, groups);
      return l;
    }
    loop.whole_block = true;
    // As many blocks as run at a time, whose threads have eight packs, or a multiple: so many are
    // in flight, and what is left over takes as long again.
    const std::int64_t each = block_threads * lanes * 8;
    loop.per_unit = unit_elements(
        n + lanes - 1, each, outputs,
        std::min(multiprocessors * unordered_row_blocks(p.itemsize, k.accumulator_bytes),
                 outputs * ceil_divide(n, each)),
        block_threads);
    l.units = ceil_divide(n + lanes - 1, loop.per_unit);
  }
  l.blocks = outputs * l.units;
  return l;
}

// A thread has a whole output, or some have one, if there are enough of them; or several that are
// packs. Blocks that read a few columns, their lanes side by side, would have little to do: on an
// H200 sums along axis 0 of 100 × 50000 float64 take 7.2 µs of 31 so, of 400 × 20000 float32 6.7 of
// 12.4, of 2000 × 20000 46 of 52, of 400 × 48Ki float16 10.4 of 27, complex128 74 of 97.
template <class ArePacks>
bool cut_whole_columns(const Pass& p, const ReduceLoop& loop, ArePacks&& are_packs, Launch& l) {
  const ReduceKernels& k = *p.kernels;
  constexpr std::int64_t line_bytes = 128, most_of_few = 32;
  if (!k.ordered || loop.n > reduce_chunk || p.group.ndim() > 1) return false;
  // Outputs of a multiprocessor: more where a thread has each, waits long for wide elements, or
  // does not read whole lines with its neighbours.
  constexpr std::int64_t many = 512, few = 32;
  const bool is_short = loop.n <= reduce_lanes,
             stages = !is_short && k.staged_columns &&
                      (k.staged_width == 1 || are_packs(k.staged_width));
  const std::int64_t some = p.itemsize < 4 && is_short ? 128 : 64;
  // Of 16 bytes such blocks are mostly faster unless four threads share an output: sums of 64 ×
  // 20000 complex128 would take 11.5 µs of 8.6.
  const bool fewer = p.kept.size[p.kept.ndim() - 1] * p.itemsize >= line_bytes &&
                     (loop.n <= few_elements || stages || (is_short && p.itemsize <= 8));
  const std::int64_t least = !fewer ? many : loop.n <= most_of_few ? few : some;
  const std::int64_t multiprocessors = properties().multiprocessors;
  if (loop.outputs < least * multiprocessors) return false;
  if (loop.n <= few_elements) {
    const bool packs = are_packs(k.few_width);
    l.kernel = k.few_columns[packs];
    l.threads = dim3(whole_column_threads);
    l.blocks = ceil_divide(loop.outputs, whole_column_threads * (packs ? k.few_width : 1));
    return true;
  }
  const bool staged = stages && loop.outputs < many * multiprocessors;
  const bool packs = !staged && are_packs(k.whole_width);
  const int parts = is_short ? 1
                    : staged ? staged_column_parts
                             : k.whole_parts[packs],
            width = whole_column_threads / parts;
  l.kernel = is_short ? k.short_columns[packs] : staged ? k.staged_columns : k.whole_columns[packs];
  l.threads = dim3(static_cast<unsigned>(width), static_cast<unsigned>(parts));
  const int columns = staged ? k.staged_width : packs ? k.whole_width : 1;
  l.blocks = ceil_divide(loop.outputs, width * columns);
  return true;
}

// Whether rows of m columns, `step` elements from one to the next, are read as one run of packs
// with what stands between them; of an ordered reduction it begins with a pack, loop.row_lead
// elements before the first column. `packs`: columns are read by packs otherwise. Measured on an
// H100.
bool are_flat(const Pass& p, ReduceLoop& loop, std::int64_t m, std::int64_t step, bool packs) {
  const ReduceKernels& k = *p.kernels;
  constexpr std::int64_t sector = 32;
  const std::int64_t row_bytes = step * p.itemsize, run = loop.n * step;
  if (!k.flat_columns || p.group.ndim() > 1 || step < m) return false;
  // Either sectors have it all, or no more is read for nothing than is wanted.
  if (step > 2 * m && row_bytes > sector) return false;
  int lead = 0;
  if (k.ordered) {
    for (int d = 0; d < p.kept.ndim() - 1; ++d) {
      if (p.kept.stride[2][d] % k.lanes != 0) return false;
    }
    lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(p.in) % pack_bytes) / p.itemsize;
    if (lead + m > step || row_bytes * reduce_lanes > k.flat_threads * pack_bytes ||
        step * k.accumulator_bytes > most_flat_result_bytes ||
        loop.n < (k.accumulator_bytes == 4 ? least_flat_of_words : least_flat)) {
      return false;
    }
  } else {
    // Positions of larger items than bytes take longer than memory.
    if (packs || (k.accumulator_bytes > 8 && p.itemsize > 1 && step >= 2 * m)) return false;
    if ((step > most_unordered_flat && row_bytes > most_unordered_flat_bytes) ||
        run < least_unordered_run || loop.outputs / m * run * p.itemsize < least_unordered_bytes) {
      return false;
    }
  }
  loop.row_items = static_cast<int>(step);
  loop.row_lead = lead;
  return true;
}

// Threads of a block read all of a chunk's columns as one run, a pack of each round.
Launch cut_flat_columns(const Pass& p, ReduceLoop& loop, std::int64_t m) {
  const ReduceKernels& k = *p.kernels;
  const std::int64_t n = loop.n, outer = std::int64_t{loop.outputs} / m, wide = loop.row_items;
  loop.columns = static_cast<u32>(m);
  loop.tiles = Divisor(1);
  Launch l;
  l.kernel = k.flat_columns;
  if (!k.ordered) {
    // As many threads as have whole rows.
    const std::int64_t lanes = k.columns_per_thread, multiple = wide / std::gcd(wide, lanes),
                       threads = block_threads / multiple * multiple, places = threads * lanes;
    const std::int64_t joiners = std::max<std::int64_t>(1, threads / power_of_two(m));
    const std::int64_t run = (n - 1) * wide + m + lanes - 1;
    l.threads = dim3(static_cast<unsigned>(threads));
    l.shared_bytes = static_cast<std::size_t>(places * k.accumulator_bytes);
    loop.per_unit =
        unit_elements(run, places * flat_batch, outer,
                      std::int64_t{properties().multiprocessors} *
                          unordered_blocks(static_cast<int>(lanes), k.accumulator_bytes),
                      joiners);
    l.units = ceil_divide(run, loop.per_unit);
    l.blocks = outer * l.units;
    return l;
  }
  const std::int64_t threads = ceil_divide(reduce_lanes * wide / k.lanes, 32) * 32;
  const std::int64_t joiners = std::min<std::int64_t>(threads, block_threads) / power_of_two(m);
  l.threads = dim3(static_cast<unsigned>(threads));
  const auto shared_bytes = [&](std::int64_t together) {  // of units of so many chunks
    const auto levels = std::bit_width(static_cast<std::uint64_t>(together));
    return static_cast<std::size_t>((reduce_lanes * wide + levels * m) * k.accumulator_bytes);
  };
  const std::int64_t at_once =
      blocks_at_once(l.kernel, l.threads, shared_bytes(ceil_divide(n, reduce_chunk)), p.verb);
  const std::int64_t together =
      unit_chunks(n, outer, at_once, joiners, k.accumulator_bytes > p.itemsize);
  loop.per_unit = reduce_chunk * together;
  l.shared_bytes = shared_bytes(together);
  l.units = ceil_divide(n, loop.per_unit);
  l.blocks = outer * l.units;
  return l;
}

// Whether packs of columns that begin anywhere take less time than columns one by one, measured on
// an H100.
bool shifted_columns_pay(const Pass& p, std::int64_t m, std::int64_t outer) {
  const ReduceKernels& k = *p.kernels;
  // Of fewer columns most threads would have none.
  if (!k.shifted_columns || m < 32) return false;
  if (k.ordered) return p.group.ndim() == 1;
  if (p.itemsize == 1) return true;
  // A block's threads do not go on along the next row of outputs, as those of single columns do.
  const std::int64_t wide = ceil_divide(m, k.columns_per_thread),
                     side_by_side = std::min<std::int64_t>(block_threads, power_of_two(wide)),
                     threads = ceil_divide(wide, side_by_side) * side_by_side;
  const bool is_short = k.accumulator_bytes <= 8;
  if (p.itemsize == 4 && is_short && p.group.count() > 1024) return false;
  return p.itemsize == 2 && is_short && outer == 1 ? 4 * threads <= 7 * wide
                                                   : 8 * threads <= 9 * wide;
}

// Threads side by side read along the last kept dimension, of m columns; of packs, if `vector`.
// `shifted`: of as many elements that begin anywhere.
Launch cut_columns(const Pass& p, ReduceLoop& loop, std::int64_t m, bool vector, bool shifted) {
  const ReduceKernels& k = *p.kernels;
  const std::int64_t n = loop.n, multiprocessors = properties().multiprocessors;
  Launch l;
  // Where the order does not matter and a thread's columns are a pack, or one, rows of them need
  // not begin with a block.
  if (!k.ordered && !shifted) m = loop.outputs;
  const std::int64_t outer = std::int64_t{loop.outputs} / m;
  loop.columns = static_cast<u32>(m);
  std::int64_t x, y, wide, columns;
  if (k.ordered) {
    columns = k.columns_per_thread;
    wide = ceil_divide(m, columns);
    // Lanes of a thread, and with them how many threads a chunk takes; the others go side by side.
    const std::int64_t lanes = std::min<std::int64_t>(n, reduce_lanes);
    const int form = wide >= 16 || lanes <= 16 ? 0 : wide >= 4 ? 1 : 2;
    const int per_thread = form == 0 ? 8 : form == 1 ? 4 : 1;
    l.kernel = k.columns[form];
    y = power_of_two(ceil_divide(lanes, per_thread));
    x = std::min(block_threads / y, power_of_two(wide));
    if (shifted && form == 0 && x * y % warp_size == 0) l.kernel = k.shifted_columns;
  } else {
    columns = vector || shifted ? k.columns_per_thread : 1;
    wide = ceil_divide(m, columns);
    l.kernel = shifted ? k.shifted_columns : k.columns[!vector];
    // Threads side by side first; others for other rows where those are too few, and have eight.
    x = std::min<std::int64_t>(block_threads, power_of_two(wide));
    y = block_threads / x;
    while (y > 1 && y * 8 >= 2 * n) y /= 2;
    // Down to 128 bytes side by side, where threads have enough rows then.
    const std::int64_t least = vector || shifted ? 128 / (columns * p.itemsize) : 32;
    // Of many blocks, fewer are faster whose threads have more rows.
    const auto rows_for = [&](std::int64_t threads) {
      if (outer * ceil_divide(wide, threads) >= multiprocessors * 4) return y * 256;
      return threads > 32 ? y * 16 : y * 64;
    };
    while (x > least && outer * ceil_divide(wide, x) < multiprocessors * 8 && n >= rows_for(x)) {
      x /= 2;
      y *= 2;
    }
    // Smaller blocks that all run at a time instead of some that wait for the others.
    const std::int64_t blocks = outer * ceil_divide(wide, x),
                       resident = multiprocessors *
                                  unordered_blocks(static_cast<int>(columns), k.accumulator_bytes);
    if (y > 1 && blocks > resident && blocks <= 2 * resident) y /= 2;
  }
  const std::int64_t tiles = ceil_divide(wide, x),
                     joiners = std::max<std::int64_t>(1, x * y / power_of_two(x * columns));
  loop.vector = vector;
  loop.tiles = Divisor(static_cast<u32>(tiles));
  l.threads = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
  const std::int64_t row = x * k.accumulator_bytes;
  if (k.ordered) {
    const std::int64_t offsets = p.group.ndim() > 1 ? reduce_chunk * std::int64_t{sizeof(i64)} : 0;
    const auto shared_bytes = [&](std::int64_t together) {  // of units of so many chunks
      const std::int64_t levels =
          together > 1 ? std::bit_width(static_cast<std::uint64_t>(together)) : 0;
      return static_cast<std::size_t>(offsets + row * columns * (y + levels));
    };
    std::int64_t together = 1;
    if (n > reduce_chunk) {
      const std::int64_t at_once =
          blocks_at_once(l.kernel, l.threads, shared_bytes(ceil_divide(n, reduce_chunk)), p.verb);
      together = unit_chunks(n, outer * tiles, at_once, joiners, k.accumulator_bytes > p.itemsize);
    }
    loop.per_unit = reduce_chunk * together;
    l.shared_bytes = shared_bytes(together);
  } else {
    loop.per_unit = unit_elements(
        n, y * 8, outer * tiles,
        multiprocessors * unordered_blocks(static_cast<int>(columns), k.accumulator_bytes),
        joiners);
    l.shared_bytes = static_cast<std::size_t>(
        row * unordered_columns_at_once(static_cast<int>(columns), k.accumulator_bytes) * (y / 2));
  }
  l.units = ceil_divide(n, loop.per_unit);
  l.blocks = outer * tiles * l.units;
  return l;
}

// Whether threads side by side read along the last kept dimension, in which elements lie closer.
bool lies_in_columns(const Pass& p) {
  const int last = p.kept.ndim() - 1;
  const std::int64_t step = p.group.stride[0][p.group.ndim() - 1],
                     kept_step = p.kept.stride[2][last];
  return p.kept.size[last] > 1 && kept_step != 0 && p.group.count() > 1 &&
         (step == 0 || detail::magnitude(kept_step) < detail::magnitude(step));
}

// Whether reduced dimensions that do not merge lie across their order, `least` elements of an
// output or more, which are brought into it first: threads find every element on its own else, and
// read far more than they take. Of many outputs that have few elements each it would take longer.
// Columns than which no reduced dimension lies closer are read as they lie, unless all are a few
// chunks, each of which would be a block's: on an H200 kernels take 7.6 µs of 18.4 for the maximum
// of 62 × 63 × 64 float32 in column-major order.
bool lies_across(const Pass& p, std::int64_t least) {
  const ReduceKernels& k = *p.kernels;
  if (!k.ordered || k.about_mean || p.group.ndim() == 1) return false;
  // Of two that are apart, a warp reads runs along the last one where they lie: on an H200 the sum
  // of 406 × 406 × 406 float64 over axes 1 and 2, permuted by (1, 0, 2), takes 0.36 of the time so.
  constexpr std::int64_t least_run_bytes = 128;
  const int last = p.group.ndim() - 1;
  if (last == 1 && detail::magnitude(p.group.stride[0][last]) == 1 &&
      p.group.size[last] * p.itemsize >= least_run_bytes) {
    return false;
  }
  const std::int64_t n = p.group.count(), all = n * p.kept.count();
  constexpr std::int64_t least_of_few = 512, few = std::int64_t{1} << 20, few_chunks = 8;
  const std::int64_t kept_step = detail::magnitude(p.kept.stride[2][p.kept.ndim() - 1]);
  bool is_across = !lies_in_columns(p);
  for (int d = 0; d < p.group.ndim(); ++d) {
    is_across |= detail::magnitude(p.group.stride[0][d]) < kept_step;
  }
  return is_across ? n >= least || (n >= least_of_few && all <= few)
                   : n > reduce_chunk && n <= few_chunks * reduce_chunk && all <= few;
}

// Whether they are copied for that: memory has room for it, and what is repeated is no more than it
// was. On an H100 the sum of a transposed matrix of 512 by 512 takes 0.3 of the time so.
bool pays_to_copy(const Pass& p) {
  if (!lies_across(p, p.itemsize <= 4 ? 1024 : 4096)) return false;
  bool repeats = false;
  for (int d = 0; d < p.group.ndim(); ++d) repeats |= p.group.stride[0][d] == 0;
  for (int d = 0; d < p.kept.ndim(); ++d) repeats |= p.kept.stride[2][d] == 0;
  const std::int64_t all = p.group.count() * p.kept.count();
  return !repeats && static_cast<std::size_t>(all) * static_cast<std::size_t>(p.itemsize) <=
                         properties().memory_bytes / 16;
}

// How blocks bring chunks of what lies across its order through shared memory. On an H200 the sum
// of 406 × 406 × 406 float32 over axes 1 and 2, permuted by (0, 2, 1), takes 130 µs of the 245 of a
// copy and the sum of its rows, of 64 × 512 × 512 32 of 57.
struct ChunkBox {
  int line_dim;           // of the plan, along which elements are closest
  std::int64_t tile;      // elements at a time
  std::int64_t row;       // elements of what all dimensions but the first make, …
  std::int64_t row_step;  // … and from one to the next in shared memory
  std::int64_t bytes;
  int threads;
};

// Null where lines would not fill sectors, or threads would wait for each other at a bank; of more
// than two dimensions, in which threads find each line on its own, but of the widest elements: on
// an H200 the sum of 200 × 20 × 24 × 26 over the last three, in reverse order, takes 31 µs of 40
// for complex128, but took 24 of 20 for float64 and 18 of 12 for float32.
std::optional<ChunkBox> box_of_chunks(const Pass& p) {
  constexpr std::int64_t least = 1024, least_line_bytes = 64;
  const ReduceKernels& k = *p.kernels;
  if (!k.staged_chunks || !lies_across(p, least)) return std::nullopt;
  const int size = p.itemsize, dims = p.group.ndim(), words = (size + 3) / 4;
  if (dims > 2 && size < 16) return std::nullopt;
  const std::int64_t n = p.group.count(), outputs = p.kept.count(), rows = p.group.size[0];
  const auto step = [&](int d) { return detail::magnitude(p.group.stride[0][d]); };
  ChunkBox box{};
  for (int d = 1; d < dims; ++d) {
    if (step(d) < step(box.line_dim)) box.line_dim = d;
  }
  box.row = box.row_step = n / rows;
  box.tile = staged_chunk_bytes / size;
  const bool along_rows = box.line_dim == 0;
  const std::int64_t length =
      along_rows ? std::min(rows, box.tile / box.row) : p.group.size[box.line_dim];
  if (step(box.line_dim) != 1 || length * size < least_line_bytes) return std::nullopt;
  std::int64_t apart = 1;
  for (int d = box.line_dim + 1; d < dims; ++d) apart *= p.group.size[d];
  if (threads_at_a_bank(apart * size) > 2 * words) {
    if (!along_rows) return std::nullopt;
    ++box.row_step;
  }
  // Of two blocks to a multiprocessor at least, and of no fewer blocks than multiprocessors.
  const auto room = static_cast<std::int64_t>(properties().shared_bytes_opt_in) / 2 - 2048;
  const auto bytes = [&] {
    return std::min((box.tile + box.row - 2) / box.row + 1, rows) * box.row_step * size;
  };
  while (box.tile > reduce_chunk &&
         (box.tile >= 2 * n || bytes() > room ||
          outputs * ceil_divide(n, box.tile) < properties().multiprocessors)) {
    box.tile /= 2;
  }
  // Half of that where more than a fifth of the tiles would be empty: on an H200 sums of
  // 2000 × 130 × 130 float32 take 61 µs of 75 so, of 1000 × 64 × 300 37 of 46.
  if (box.tile > reduce_chunk && n > box.tile && 4 * ceil_divide(n, box.tile) * box.tile > 5 * n) {
    box.tile /= 2;
  }
  box.bytes = std::max(bytes(), std::int64_t{join_results} * k.accumulator_bytes);
  if (box.bytes > room) return std::nullopt;
  // Of many blocks those of few threads are faster, and of wide elements: on an H200 sums of the
  // last two dimensions of 100000 × 40 × 30, transposed, take 235 µs of 294 so for float32, 475 of
  // 628 for complex128.
  constexpr std::int64_t bytes_of_thread = 128, items_of_thread = 16;
  const bool are_many = outputs * ceil_divide(n, box.tile) >= 4 * properties().multiprocessors;
  box.threads = static_cast<int>(
      std::clamp<std::int64_t>(box.tile * size / std::max(bytes_of_thread, items_of_thread * size),
                               are_many ? 64 : 128, staged_chunk_threads));
  // So many that there are two blocks to a multiprocessor instead of three leave the L1 cache room
  // for what lines of a few sectors have in common, which begin anywhere: on an H200 sums of
  // 406 × 406 × 406 float64 take 0.85 of the time so, of 200 × 600 × 500 0.81; of 2000 × 80 × 90,
  // whose lines are longer, they would take 1.18.
  constexpr std::int64_t line_bytes = 128, most_shared_bytes = 256;
  bool anywhere = !is_aligned_to(p.in, line_bytes);
  for (int d = 0; d < dims; ++d) {
    anywhere |= d != box.line_dim && p.group.stride[0][d] * size % line_bytes != 0;
  }
  for (int d = 0; d < p.kept.ndim(); ++d) {
    anywhere |= p.kept.size[d] > 1 && p.kept.stride[2][d] * size % line_bytes != 0;
  }
  if (box.threads == staged_chunk_threads && anywhere && length * size > least_line_bytes &&
      length * size <= most_shared_bytes) {
    box.threads = k.most_chunk_threads;
  }
  return box;
}

Launch cut_staged_chunks(const Pass& p, const ChunkBox& box, ReduceLoop& loop) {
  const std::int64_t tiles = ceil_divide(loop.n, box.tile),
                     most_units = std::min(box.threads, block_threads) * joined_run;
  loop.per_unit =
      box.tile * power_of_two(loop.outputs > most_joined ? tiles : ceil_divide(tiles, most_units));
  loop.whole_block = true;
  loop.tile_items = static_cast<int>(box.tile);
  loop.line_dim = p.group.ndim() - 1 - box.line_dim;
  loop.box_step = static_cast<int>(box.row_step);
  loop.box_row = Divisor(static_cast<u32>(box.row));
  Launch l;
  l.kernel = p.kernels->staged_chunks;
  l.threads = dim3(static_cast<unsigned>(box.threads));
  l.shared_bytes = static_cast<std::size_t>(box.bytes);
  l.units = ceil_divide(loop.n, loop.per_unit);
  l.blocks = std::int64_t{loop.outputs} * l.units;
  return l;
}

// False where there is no such kernel; nothing is written then but what others write again.
bool run_pass(const Pass& p) {
  const ReduceKernels& k = *p.kernels;
  const std::int64_t n = p.group.count(), outputs = p.kept.count();
  const int last = p.kept.ndim() - 1;
  if (outputs > most_counted && outputs > 1) {
    // Halves of the outputs, which do not depend on each other.
    int longest = 0;
    for (int d = 1; d <= last; ++d) {
      if (p.kept.size[d] > p.kept.size[longest]) longest = d;
    }
    Pass first = p, second = p;
    const std::int64_t cut = p.kept.size[longest] / 2;
    first.kept.size[longest] = cut;
    second.kept.size[longest] -= cut;
    second.out += cut * p.kept.stride[0][longest] * p.out_size;
    if (p.center) second.center += cut * p.kept.stride[1][longest] * p.center_size;
    second.in += cut * p.kept.stride[2][longest] * p.itemsize;
    return run_pass(first) && run_pass(second);
  }
  ReduceLoop loop;
  loop.in = p.in;
  loop.center = p.center;
  loop.out = p.out;
  loop.partial = nullptr;
  loop.n = n;
  loop.deviation = p.deviation;
  loop.outputs = static_cast<u32>(outputs);
  loop.width_log2 = 5;
  loop.whole_block = loop.vector = false;
  const int kept_operands[] = {2, 1, 0}, kept_sizes[] = {p.itemsize, p.center_size, p.out_size};
  set_dims(loop.kept, loop.kept_dims, p.kept, kept_operands, kept_sizes, 3);
  const int group_operand[] = {0}, group_size[] = {p.itemsize};
  set_dims(loop.group, loop.group_dims, p.group, group_operand, group_size, 1);

  const std::int64_t step = p.group.stride[0][p.group.ndim() - 1];
  const std::int64_t m = p.kept.size[last], kept_step = p.kept.stride[2][last];
  const auto is_vector = [&](std::int64_t lanes) {  // of in's items, at every other kept place
    if (!is_aligned_to(p.in, lanes * p.itemsize)) return false;
    for (int d = 0; d < last; ++d) {
      if (p.kept.stride[2][d] % lanes != 0) return false;
    }
    return true;
  };
  // Of moments about the mean, which take no second launch, it does not matter where few elements
  // lie; rows of many are faster on an H100 if they are whole packs, and so short.
  constexpr std::int64_t few = 16384, most_of_many = 32;
  const bool are_few = k.about_mean && outputs * n <= few;
  const std::optional<ChunkBox> box = box_of_chunks(p);
  const bool by_columns = !box && !are_few && lies_in_columns(p);
  Launch l;
  if (box) {
    l = cut_staged_chunks(p, *box, loop);
  } else if (by_columns) {
    const auto are_packs = [&](int columns) {
      bool packs = kept_step == 1 && m % columns == 0 && is_vector(columns);
      for (int d = 0; d < p.group.ndim(); ++d) packs &= p.group.stride[0][d] % columns == 0;
      return packs;
    };
    const bool vector = are_packs(k.columns_per_thread);
    const bool shifted = !vector && kept_step == 1 && shifted_columns_pay(p, m, outputs / m);
    const bool flat = kept_step == 1 && are_flat(p, loop, m, step, vector || shifted);
    if (!cut_whole_columns(p, loop, are_packs, l)) {
      l = flat ? cut_flat_columns(p, loop, m) : cut_columns(p, loop, m, vector, shifted);
    }
  } else {
    const bool runs = p.group.ndim() == 1 && step == 1;
    const bool aligned = is_vector(k.lanes) && (outputs == 1 || kept_step % k.lanes == 0);
    l = cut_rows(p, loop, runs, aligned);
  }
  const bool pays = are_few || !k.about_mean || l.kernel == k.staged_rows ||
                    (l.kernel == k.short_rows && n <= most_of_many);
  if (!l.kernel || !pays) return false;
  loop.units = Divisor(static_cast<u32>(l.units));
  std::optional<Scratch> partial;
  if (l.units > 1) {  // columns: [unit][output], rows: [output][unit]
    const std::int64_t bytes = k.accumulator_bytes;
    partial.emplace(static_cast<std::size_t>(outputs * l.units * bytes));
    loop.partial = partial->as<char>();
    loop.unit_stride = by_columns ? outputs * bytes : bytes;
    loop.output_stride = by_columns ? bytes : l.units * bytes;
  }
  void* arguments[] = {&loop};
  launch(l.kernel, static_cast<unsigned>(l.blocks), arguments, l.shared_bytes, p.verb, l.threads);
  return true;
}

// Every element of out becomes the reduction of nothing.
void write_empty(Reduction op, DType accumulator, const Operand& out) {
  const bool one = op == Reduction::prod || op == Reduction::all;
  const Element e = dispatch(accumulator, [&](auto zero) {
    return Element::of(static_cast<decltype(zero)>(one ? 1 : 0));
  });
  copy(e, out);
}

Array cast_copy(const Operand& in, DType dtype) {
  Array a = scratch_array(dtype, in.layout->shape);
  copy(in, a);
  return a;
}

// An operand that several passes can read: aligned, and of a dtype that kernels have.
struct Source {
  Array holder;  // where it is a copy
  const char* data;
  DType dtype;
  Dims shape, strides;
  bool repeated = false;  // see repeat()

  Source(const Operand& in, DType wanted)
      : data(in.data), dtype(in.dtype), shape(in.layout->shape), strides(in.layout->strides) {
    if (in.dtype == wanted && has_aligned_elements(in)) return;
    take(cast_copy(in, wanted));
  }
  void take(Array copy) {
    holder = std::move(copy);
    data = holder.data();
    dtype = holder.dtype;
    strides = holder.layout.strides;
  }
  // Of the kept dimensions' shape: as often as `whole`, where reduced dimensions may remain, has
  // it.
  void repeat(const Dims& whole, std::span<const bool> reduced) {
    Layout layout = Layout::contiguous(whole);
    for (int i = 0, axis = 0; i < whole.size(); ++i) {
      layout.strides[i] = reduced[static_cast<std::size_t>(i)] ? 0 : strides[axis++];
    }
    Operand in;
    in.data = const_cast<char*>(data);
    in.layout = &layout;
    in.dtype = dtype;
    take(cast_copy(in, dtype));
    repeated = true;
  }
  // The same elements, contiguous with the marked dimensions last.
  void compact(const Dims& last) {
    Operand in;
    Layout moved;
    Dims order;
    for (int pass = 0; pass < 2; ++pass) {
      for (int d = 0; d < shape.size(); ++d) {
        if ((last[d] != 0) == (pass == 1)) order.push_back(d);
      }
    }
    for (const std::int64_t d : order) {
      moved.shape.push_back(shape[static_cast<int>(d)]);
      moved.strides.push_back(strides[static_cast<int>(d)]);
    }
    moved.size = checked_size(moved.shape);
    in.data = const_cast<char*>(data);
    in.layout = &moved;
    in.dtype = dtype;
    const Array packed = cast_copy(in, dtype);
    Dims packed_strides(shape.size());
    for (int i = 0; i < order.size(); ++i) {
      packed_strides[static_cast<int>(order[i])] = packed.layout.strides[i];
    }
    take(packed);
    strides = packed_strides;
  }
};

// The next group: dimensions [begin, end) that are still to be reduced, kept ones in between; and
// whether there are more before them.
struct Group {
  int begin;
  bool more;
};
template <class Reduced>
Group next_group(const Dims& shape, Reduced&& is_reduced, int end) {
  Group group{end, false};
  std::int64_t n = 1;
  bool apart = false;
  for (; group.begin > 0 && n < (apart ? least_apart : least_group); --group.begin) {
    const std::int64_t size = shape[group.begin - 1];
    if (is_reduced(group.begin - 1)) {
      n *= size;
    } else {
      apart |= n > 1 && size > 1;
    }
  }
  for (int i = 0; i < group.begin; ++i) group.more |= is_reduced(i) && shape[i] > 1;
  return group;
}

// Reduces a source, which is not empty, to `out`, in `accumulator`, by kernels for the first pass
// and for those that follow. `made` says what is made of the result or, by norms, of each pass's.
// False where there is no kernel, of moments about the mean.
bool reduce_source(const ReduceKernels& first, const ReduceKernels& later, DType accumulator,
                   Source source, std::span<const bool> reduced, std::optional<Source> centers,
                   const Operand& out, const char* verb, const Deviation& made) {
  const ReduceKernels* k = &first;
  const Dims whole = source.shape;
  const int ndim = whole.size();
  const bool order_free = is_integer(accumulator) || accumulator == DType::bool_;
  const DType result = made.given ? made.dtype : accumulator;
  const bool out_fits = out.dtype == result && has_aligned_elements(out);
  Dims state(ndim);  // 1: still to be reduced
  for (int i = 0; i < ndim; ++i) state[i] = reduced[i];
  for (int end = ndim;;) {
    const Group next_one = next_group(whole, [&](int i) { return state[i] != 0; }, end);
    const int begin = next_one.begin;
    const bool more = next_one.more;
    if (more && k->about_mean) return false;
    bool direct = !more && out_fits;

    Dims group_shape, kept_shape, in_group;
    const int dims = source.shape.size();  // = ndim, those that are gone of size one
    in_group.resize(dims);
    for (int i = 0; i < ndim; ++i) in_group[i] = state[i] && i >= begin;
    Array next;
    Dims next_shape = source.shape;
    for (int i = 0; i < ndim; ++i) {
      if (in_group[i]) next_shape[i] = 1;
    }
    const DType given = more ? accumulator : result;
    if (!direct) next = scratch_array(given, next_shape);
    const auto make_pass = [&] {
      Dims group_strides, kept_strides, out_strides, center_strides;
      group_shape.clear();
      kept_shape.clear();
      for (int i = 0, kept_axis = 0; i < ndim; ++i) {
        if (in_group[i]) {
          group_shape.push_back(source.shape[i]);
          group_strides.push_back(source.strides[i]);
          continue;
        }
        const bool final_axis = !reduced[i];
        const int axis = kept_axis;
        kept_axis += final_axis;
        if (source.shape[i] == 1) continue;
        kept_shape.push_back(source.shape[i]);
        kept_strides.push_back(source.strides[i]);
        center_strides.push_back(!centers            ? 0
                                 : centers->repeated ? centers->strides[i]
                                 : final_axis        ? centers->strides[axis]
                                                     : 0);
        out_strides.push_back(direct ? out.layout->strides[axis] : next.layout.strides[i]);
      }
      Pass p;
      p.kernels = k;
      p.verb = verb;
      p.itemsize = itemsize(source.dtype);
      p.center_size = centers ? itemsize(centers->dtype) : 0;
      p.out_size = itemsize(given);
      if (!more || made.norm) p.deviation = made;
      p.deviation.dtype = given;
      const Dims* const operands[3] = {&out_strides, &center_strides, &kept_strides};
      p.kept = make_plan(kept_shape, operands, 3);
      const Dims* const group_operand[1] = {&group_strides};
      p.group = make_plan(group_shape, group_operand, 1, order_free);
      p.in = source.data + (p.kept.base[2] + p.group.base[0]) * p.itemsize;
      p.center = centers ? centers->data + p.kept.base[1] * p.center_size : nullptr;
      p.out = (direct ? out.data : next.data()) + p.kept.base[0] * p.out_size;
      return p;
    };
    Pass pass = make_pass();
    if (!box_of_chunks(pass) && pays_to_copy(pass)) {
      source.compact(in_group);
      pass = make_pass();
    }
    if (!fits(pass)) {
      // Too many dimensions that do not merge: they do where every operand is contiguous.
      source.compact(in_group);
      if (direct) next = scratch_array(given, next_shape);
      direct = false;
      if (centers) centers->repeat(next_shape, reduced);
      pass = make_pass();
    }
    if (!run_pass(pass)) return false;
    if (!more) {
      if (direct) return true;
      Operand from(next);
      Layout as_out = Layout::contiguous(out.layout->shape);
      from.layout = &as_out;
      copy(from, out);
      return true;
    }
    source.take(next);
    source.shape = next_shape;
    for (int i = 0; i < ndim; ++i) {
      if (in_group[i]) state[i] = 0;
    }
    k = &later;
    centers.reset();
    end = begin;
  }
}

// An operand whose reduction is the same in whatever order elements are combined, as it lies in
// memory: dimensions along which elements are closest come last, and those that are reduced are
// walked forwards. Groups of dimensions merge then where those of the logical order may not: on an
// H200 the maximum of 406 × 406 × 406 int8 over axes 1 and 2, permuted by (1, 0, 2), takes 0.04 of
// the time so.
struct InMemoryOrder {
  // Where columns are not whole lines of memory, a long dimension outside all others goes first: so
  // they are as wide as can be, and little is left to others. Not of few bytes, for which a second
  // launch takes as long. On an H200 the sum of 4000 × 4000 × 3 int32 over axes 0 and 1 takes 51 µs
  // of 83, of 300 × 300 × 300 int8 13 of 19; of 70 × 70 × 4096 int32 it took 27 of 23.
  static constexpr std::int64_t least_bytes = std::int64_t{1} << 24, least_outer = 64;
  static constexpr std::int64_t line_bytes = 128;

  Layout in, out;
  std::int64_t base = 0;  // of the first element, in elements
  std::unique_ptr<bool[]> marks;

  InMemoryOrder(const Operand& from, std::span<const bool> reduced, const Layout& to) {
    const Layout& whole = *from.layout;
    // Dimensions of one element, or of a repeated one, come first.
    const auto reach = [&](std::int64_t d) {
      const int i = static_cast<int>(d);
      const std::int64_t step = detail::magnitude(whole.strides[i]);
      return whole.shape[i] == 1 || step == 0 ? INT64_MAX : step;
    };
    const auto is_reduced = [&](std::int64_t d) { return reduced[static_cast<std::size_t>(d)]; };
    Dims order, axes;
    for (int i = 0, axis = 0; i < whole.ndim(); ++i) {
      axes.push_back(axis);
      axis += !is_reduced(i);
      order.push_back(i);
      for (int j = i; j > 0 && reach(order[j]) > reach(order[j - 1]); --j) {
        std::swap(order[j], order[j - 1]);
      }
    }
    const int ndim = order.size();
    int rows = ndim;  // from here on all are reduced
    while (rows > 0 && is_reduced(order[rows - 1])) --rows;
    const int item = itemsize(from.dtype);
    if (rows == ndim && ndim > 1 && whole.size * item >= least_bytes) {
      const std::int64_t outer = order[0], row = whole.shape[static_cast<int>(order[ndim - 1])];
      if (is_reduced(outer) && reach(outer) != INT64_MAX && row * item % line_bytes != 0 &&
          whole.shape[static_cast<int>(outer)] >= least_outer) {
        order.erase(0);
        order.push_back(outer);
      }
    }
    marks = std::make_unique<bool[]>(static_cast<std::size_t>(ndim));
    for (int at = 0; at < ndim; ++at) {
      const int i = static_cast<int>(order[at]), last = in.ndim() - 1;
      const std::int64_t size = whole.shape[i];
      std::int64_t step = whole.strides[i];
      if (is_reduced(i) && step < 0) {
        base += step * (size - 1);
        step = -step;
      }
      // Rows of which several dimensions consist are one.
      if (at > rows && in.strides[last] == size * step) {
        in.shape[last] *= size;
        in.strides[last] = step;
        continue;
      }
      marks[static_cast<std::size_t>(in.ndim())] = is_reduced(i);
      in.shape.push_back(size);
      in.strides.push_back(step);
      if (is_reduced(i)) continue;
      out.shape.push_back(to.shape[static_cast<int>(axes[i])]);
      out.strides.push_back(to.strides[static_cast<int>(axes[i])]);
    }
    in.size = whole.size;
    out.size = to.size;
  }
  std::span<const bool> reduced() const {
    return {marks.get(), static_cast<std::size_t>(in.ndim())};
  }
};

void reduce_to(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
               const Operand& out, const char* verb, const Deviation& made) {
  const ReduceKernels* k = find_kernels(op, in.dtype, accumulator);
  Source source(in, k ? in.dtype : accumulator);
  if (!k) k = find_kernels(op, accumulator, accumulator);
  if (!k) {
    raise(ErrorKind::not_implemented, verb, " of ", in.dtype, " with accumulator ", accumulator,
          " has no kernel");
  }
  const ReduceKernels& later = *find_kernels(continuation(op), accumulator, accumulator);
  reduce_source(*k, later, accumulator, std::move(source), reduced, std::nullopt, out, verb, made);
}

// The same where no order of the elements changes the result.
void reduce_in_memory_order(Reduction op, DType accumulator, const Operand& in,
                            std::span<const bool> reduced, const Operand& out) {
  const InMemoryOrder as(in, reduced, *out.layout);
  Operand from = in, to = out;
  from.layout = &as.in;
  from.data += as.base * itemsize(in.dtype);
  to.layout = &as.out;
  reduce_to(op, accumulator, from, as.reduced(), to, info(op).name, {});
}

// ---- floating extremes in any order -------------------------------------------------------------

// Results that are zero, of which there are two, or NaN become the first such element, or the last
// NaN, in the order in which kernels combine them: by chunks, lanes and rounds.
template <class T>
__global__ void __launch_bounds__(block_threads)
    settle_extremes(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  constexpr u32 loads = 4, together = loads * block_threads;
  static_assert(reduce_chunk % together == 0);
  __shared__ u32 first;
  const auto n = static_cast<u32>(loop.n);
  const u32 turns = ((n - 1) / reduce_chunk + 1) * reduce_chunk;
  for (u32 output = blockIdx.x; output < loop.outputs; output += gridDim.x) {
    const ReducePlace place = locate_output(loop, output);
    T* const out = reinterpret_cast<T*>(loop.out + place.out);
    const T found = *out;
    const bool is_zero = found == 0;
    if (!is_zero && found == found) continue;
    const auto element_at = [&](u32 turn) {
      if (!is_zero) turn = turns - 1 - turn;
      const u32 of_chunk = turn % reduce_chunk;
      return turn - of_chunk + of_chunk % reduce_rounds * reduce_lanes + of_chunk / reduce_rounds;
    };
    const auto load = [&](u32 k) {
      return *reinterpret_cast<const T*>(loop.in + place.in + locate_in_group(loop, k));
    };
    if (threadIdx.x == 0) first = turns;
    __syncthreads();
    bool is_met = false;
    for (u32 begin = threadIdx.x; begin < turns && !__syncthreads_or(is_met); begin += together) {
#pragma unroll
      for (u32 l = 0; l < loads; ++l) {
        const u32 turn = begin + l * block_threads, k = element_at(turn);
        if (k >= n) continue;
        const T x = load(k);
        if (is_zero ? x != 0 : x == x) continue;
        is_met = true;
        atomicMin(&first, turn);
      }
    }
    __syncthreads();
    if (threadIdx.x == 0 && first < turns) *out = load(element_at(first));
    __syncthreads();
  }
}

// Extremes of many elements that do not lie in memory in the order in which they are counted: one
// that is neither zero nor NaN is the same in whatever order it is found. On an H200 the maximum of
// 406 × 406 × 406 float64 over axes 1 and 2, permuted by (0, 2, 1), takes 0.3 of the time so. False
// where nothing would be gained, or those that are zero might take long to be settled.
bool extreme_in_any_order(Reduction op, DType accumulator, const Operand& in,
                          std::span<const bool> reduced, const Operand& out) {
  constexpr std::int64_t least_bytes = std::int64_t{1} << 23;
  constexpr std::int64_t most_elements = std::int64_t{1} << 20, most_outputs = 1 << 16;
  const Layout& layout = *in.layout;
  if ((op != Reduction::max && op != Reduction::min) ||
      (accumulator != DType::float32 && accumulator != DType::float64) || in.dtype != accumulator ||
      out.dtype != accumulator || out.layout->size > most_outputs ||
      layout.size * itemsize(in.dtype) < least_bytes ||
      layout.size / out.layout->size > most_elements || !has_aligned_elements(in) ||
      !has_aligned_elements(out)) {
    return false;
  }
  const auto is_reduced = [&](int i) { return reduced[static_cast<std::size_t>(i)]; };
  if (next_group(layout.shape, is_reduced, layout.ndim()).more) return false;
  Dims group_shape, group_strides, kept_shape, kept_strides;
  for (int i = 0; i < layout.ndim(); ++i) {
    (is_reduced(i) ? group_shape : kept_shape).push_back(layout.shape[i]);
    (is_reduced(i) ? group_strides : kept_strides).push_back(layout.strides[i]);
  }
  const Dims* const of_group[] = {&group_strides};
  const Plan counted = make_plan(group_shape, of_group, 1, false),
             in_memory = make_plan(group_shape, of_group, 1);
  const auto closest = [](const Plan& p) { return detail::magnitude(p.stride[0][p.ndim() - 1]); };
  if (counted.ndim() == in_memory.ndim() && closest(counted) == closest(in_memory)) return false;
  const Dims* const of_kept[] = {&out.layout->strides, &kept_strides};
  const Plan kept = make_plan(kept_shape, of_kept, 2);
  if (counted.ndim() > ReduceLoop::most_dims || kept.ndim() > ReduceLoop::most_dims) return false;

  reduce_in_memory_order(op, accumulator, in, reduced, out);
  ReduceLoop loop{};
  const int size = itemsize(in.dtype), sizes[] = {size, 0, size}, operands[] = {1, 1, 0};
  set_dims(loop.kept, loop.kept_dims, kept, operands, sizes, 3);
  set_dims(loop.group, loop.group_dims, counted, operands + 2, sizes, 1);
  loop.in = in.data + kept.base[1] * size;
  loop.out = out.data + kept.base[0] * size;
  loop.n = counted.count();
  loop.outputs = static_cast<u32>(kept.count());
  void* arguments[] = {&loop};
  const void* const kernel = size == 4 ? reinterpret_cast<const void*>(&settle_extremes<f32>)
                                       : reinterpret_cast<const void*>(&settle_extremes<f64>);
  launch(kernel, loop.outputs, arguments, 0, info(op).name);
  return true;
}

}  // namespace

void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
            const Operand& out) {
  accumulator = kernel_accumulator(op, accumulator);
  if (out.layout->size == 0) return;
  if (in.layout->size == 0) return write_empty(op, accumulator, out);
  const bool order_free = is_integer(accumulator) || accumulator == DType::bool_;
  if (!order_free && extreme_in_any_order(op, accumulator, in, reduced, out)) return;
  if (!order_free || in.layout->ndim() < 2) {
    return reduce_to(op, accumulator, in, reduced, out, info(op).name, {});
  }
  reduce_in_memory_order(op, accumulator, in, reduced, out);
}

void mean(const Operand& in, std::span<const bool> reduced, double n, const Operand& out) {
  if (out.layout->size == 0) return;
  Deviation quotient;
  quotient.divisor = n;
  reduce_to(Reduction::sum, compute_dtype(in.dtype), in, reduced, out, "mean", quotient);
}

// Several passes make norms of norms. Where kept dimensions part a few elements along the last one
// from more of them, as the parts of complex numbers along columns, all would be one group that
// does not merge: columns come first, unless little is read. On an H200 norms of 8192 × 8192
// complex64 along axis 0 take 143 µs of 687 so, of 16 × 1000000 44 of 904, of 1000 × 1000 9.5 of
// 12; of 1000 × 100 they took 8.5 of 5.2.
void norm(const Operand& in, std::span<const bool> reduced, bool squares, const Operand& out) {
  if (out.layout->size == 0) return;
  if (in.layout->size == 0) return copy(Element::of(0.0), out);
  constexpr std::int64_t least_columns = std::int64_t{1} << 18;
  const int last = in.layout->ndim() - 1;
  const std::int64_t few = last > 0 && reduced[reduced.size() - 1] ? in.layout->shape[last] : 0;
  if (few > 1 && few < least_apart && !reduced[reduced.size() - 2] &&
      in.layout->shape[last - 1] > 1) {
    const std::int64_t along = in.layout->size / out.layout->size / few;
    if (along >= least_apart && in.layout->size >= least_columns) {
      const auto marks = std::make_unique<bool[]>(reduced.size());
      Dims shape = out.layout->shape;
      shape.push_back(few);
      std::copy_n(reduced.begin(), last, marks.get());
      const Array columns = scratch_array(wider_dtype(in.dtype), shape);
      norm(in, {marks.get(), reduced.size()}, squares, columns);
      std::fill_n(marks.get(), shape.size(), false);
      marks[static_cast<std::size_t>(shape.size()) - 1] = true;
      return norm(columns, {marks.get(), static_cast<std::size_t>(shape.size())}, squares, out);
    }
  }
  const auto kernels = [](DType d) -> const ReduceKernels& {
    return reduce_table().norms[static_cast<int>(d)];
  };
  const DType accumulator = wider_dtype(in.dtype);
  Deviation made;
  made.given = made.norm = true;
  made.root = squares;
  made.dtype = compute_dtype(out.dtype);
  reduce_source(kernels(in.dtype), kernels(accumulator), accumulator, Source(in, in.dtype), reduced,
                std::nullopt, out, "norm", made);
}

// Squared deviations are summed up in one reading.
// With the sum S of n deviations from a center and that of their squares Q, the sum of squares
// about the mean is Q - S * S / n. Let the center be the mean of m of n elements. Its square
// distance from the mean is no more than what is to be found, divided by m (Cauchy and Schwarz), so
// Q is no more than 1 + n / m times that: as many rounding errors of float64 are in the result. One
// element is enough for float32. For float64 a sixteenth is read twice, of few an eighth, the
// fewest all: short rows by one kernel, from registers or shared memory.
void deviation(const Operand& in, std::span<const bool> reduced, double divisor, bool root,
               const Operand& out) {
  if (out.layout->size == 0) return;
  if (in.layout->size == 0) return copy(Element::of(0.0), out);
  constexpr std::int64_t few = 256, some = 2048, most_in_short_row = reduce_lanes;
  const ReduceKernels& k = reduce_table().moments[static_cast<int>(in.dtype)];
  Source source(in, in.dtype);
  Layout sample = Layout::contiguous(source.shape), kept;
  sample.strides = source.strides;
  int longest = -1;
  std::int64_t n = 1;
  for (int i = 0; i < source.shape.size(); ++i) {
    if (!reduced[static_cast<std::size_t>(i)]) {
      kept.shape.push_back(source.shape[i]);
      kept.strides.push_back(source.strides[i]);
      continue;
    }
    n *= source.shape[i];
    if (longest < 0 || source.shape[i] > source.shape[longest]) longest = i;
  }
  kept.size = checked_size(kept.shape);
  Deviation wanted;
  wanted.inverse_n = 1 / static_cast<double>(n);
  wanted.divisor = divisor;
  wanted.factor = 1 / divisor;
  wanted.root = root;
  wanted.given = true;
  if (out.dtype == DType::float32) wanted.dtype = DType::float32;
  const ReduceKernels& sums = *find_kernels(Reduction::sum, DType::complex128, DType::complex128);
  const auto run = [&](const ReduceKernels& kernels, const std::optional<Source>& centers) {
    return reduce_source(kernels, sums, DType::complex128, source, reduced, centers, out, "var",
                         wanted);
  };
  if (source.dtype == DType::float64 && n > 1 && n <= most_in_short_row &&
      run(reduce_table().moments_about_mean, std::nullopt)) {
    return;
  }
  Array means;
  Operand center;
  center.data = const_cast<char*>(source.data);
  center.layout = &kept;
  center.dtype = source.dtype;
  if (source.dtype == DType::float64 && n > 1) {
    std::int64_t& length = sample.shape[longest];
    if (n > few) length = (length - 1) / (n > some ? 16 : 8) + 1;
    sample.size = checked_size(sample.shape);
    Operand part = center;
    part.layout = &sample;
    means = scratch_array(DType::float64, kept.shape);
    mean(part, reduced, static_cast<double>(n / source.shape[longest] * length), means);
    center = means;
  }
  run(k, Source(center, center.dtype));
}

void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) {
  const Layout& layout = *in.layout;
  const ReduceKernels& k = reduce_table().position[largest][static_cast<int>(in.dtype)];
  if (!k.rows) type_error(largest ? "argmax" : "argmin", " does not order ", in.dtype);
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out)) {
    const Array aligned = scratch_array(out.dtype, out.layout->shape);
    arg_reduce(largest, in, axis, aligned);
    return copy(aligned, out);
  }
  Source source(in, in.dtype);
  const auto make_pass = [&] {
    Dims shape = layout.shape, strides = source.strides;
    shape.erase(axis);
    strides.erase(axis);
    Pass p;
    p.kernels = &k;
    p.verb = largest ? "argmax" : "argmin";
    p.itemsize = itemsize(in.dtype);
    p.center_size = 0;
    p.out_size = 8;
    const Dims* const operands[3] = {&out.layout->strides, nullptr, &strides};
    p.kept = make_plan(shape, operands, 3);
    const Dims group_shape{layout.shape[axis]}, group_strides{source.strides[axis]};
    const Dims* const group_operand[1] = {&group_strides};
    p.group = make_plan(group_shape, group_operand, 1, false);
    p.in = source.data + p.kept.base[2] * p.itemsize;
    p.center = nullptr;
    p.out = out.data + p.kept.base[0] * 8;
    return p;
  };
  Pass pass = make_pass();
  if (!fits(pass)) {
    if (!out.layout->is_contiguous()) {
      const Array packed = scratch_array(out.dtype, out.layout->shape);
      arg_reduce(largest, in, axis, packed);
      return copy(packed, out);
    }
    Dims last(layout.ndim());
    last[axis] = 1;
    source.compact(last);
    pass = make_pass();
  }
  run_pass(pass);
}

}  // namespace arrayx::cuda
