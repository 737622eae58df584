// A reduction as it travels to the device, and the kernels of reductions by dtype.
#pragma once

#include "../../cpp/ops/table.hpp"
#include "../loops.cuh"

namespace arrayx::cuda {

inline constexpr int reduce_lanes = 128;  // see reduce_kernels.cuh
inline constexpr int reduce_rounds = 16;
inline constexpr int reduce_chunk = reduce_lanes * reduce_rounds;
inline constexpr int most_joined = 8192;  // outputs or tiles of which several blocks have a part
inline constexpr int joined_run = 32;     // parts of one thread, when they are joined
inline constexpr int short_rows_at_once = 4;  // of a thread
inline constexpr int short_row_threads = 128;
// Threads of a block whose rows come through shared memory, about how many bytes of them a block
// has, or of at least some rows at most, and how many rows of a thread at most: on an H100 blocks
// of more begin and end too seldom to keep memory busy.
inline constexpr int staged_row_threads = 128, staged_row_bytes = 8192;
inline constexpr int least_staged_rows = 64, most_staged_bytes = 16384, most_staged_turns = 16;
// Threads of a block whose chunks come through shared memory, and about how many bytes of them it
// has at a time.
inline constexpr int staged_chunk_threads = 512, staged_chunk_bytes = 1 << 16;
// Results that several blocks' parts of outputs are joined in.
inline constexpr int join_levels = 3, join_results = join_levels * block_threads;
// Elements of ordered rows that a thread joins in registers.
inline constexpr int staged_run = 16;
// … and how many results of such runs wait for others.
constexpr int staged_row_levels(int n) {
  int levels = 0;
  for (int runs = (n - 1) / staged_run; runs > 0; runs /= 2) ++levels;
  return levels;
}
inline constexpr int whole_column_threads = 128;
inline constexpr int few_elements = 4;  // of a column that a thread has in registers
inline constexpr int staged_column_parts = 4;
// Packs of those where the order does not matter that a thread has in flight.
inline constexpr int flat_batch = 8;
// Blocks of a multiprocessor where the order does not matter: of columns by the elements of a load,
// of rows by the bytes of an element, and by those of an accumulator. More blocks read columns of 8
// bytes more slowly, but where positions are found: on an H200 sums of 406 × 406 × 406 int64 along
// the first axis take 126 µs with three, 144 with four.
constexpr int unordered_blocks(int lanes, int accumulator_bytes) {
  return lanes >= 4 || (lanes == 2 && accumulator_bytes <= 8) ? 3 : 4;
}
constexpr int unordered_row_blocks(int bytes, int accumulator_bytes) {
  return bytes == 1 || (bytes == 4 && accumulator_bytes > 8) ? 3 : 4;
}

// … and how many columns of a pack they finish at a time.
constexpr int unordered_columns_at_once(int columns, int accumulator_bytes) {
  const int most = accumulator_bytes < 64 ? 64 / accumulator_bytes : 1;
  return columns < most ? columns : most;
}

// What is made of the moments of n elements: the sum of squared deviations from their mean,
// multiplied by `factor` or, for float64, divided by its reciprocal, and the root of that. What is
// made of floating sums: the quotient by `divisor`. Of norms: magnitudes or, with `root`, squares.
struct Deviation {
  f64 inverse_n = 0;  // 0: the moments themselves, or sums
  f64 divisor = 1, factor = 1;
  bool root = false, norm = false;
  bool given = false;            // the result is of `dtype`, not of the accumulator's
  DType dtype = DType::float64;  // or float32
};

struct ReduceLoop {
  static constexpr int most_dims = 6;

  const char* in;
  const char* center;  // of moments, else null
  char* out;
  char* partial;  // where units > 1: their results, which the last block to finish joins
  i64 n;          // elements of one output
  Deviation deviation;
  i64 per_unit;  // elements of a unit
  // Bytes of partial results from one unit to the next, and from one output to the next.
  i64 unit_stride, output_stride;
  u32 outputs;
  u32 columns;  // outputs side by side, which tiles divide
  // Of staged rows: those of a block, how many bytes one is from the next in shared memory and,
  // where those are not as many as in memory, how many packs.
  u32 block_rows;
  int tile_step;
  Divisor row_packs;
  // Of staged chunks: elements that a block has at a time, the dimension of the group along which
  // they are closest and, of what all dimensions but the outermost make, how many elements there
  // are, and how many it takes from one to the next in shared memory.
  int tile_items, line_dim, box_step;
  Divisor box_row;
  // Of flat columns: elements from one row to the next, and of the run before the first column.
  int row_items, row_lead;
  Divisor units;     // parts of one output's elements; for rows, those of a block are one
  Divisor tiles;     // of so many columns
  int width_log2;    // threads to a row, for rows
  bool whole_block;  // rows: a block has one output, or a unit of it
  bool vector;       // columns can be loaded next to each other
  int kept_dims, group_dims;
  // Innermost first. Bytes: stride[0] of in, [1] of center, [2] of out.
  LoopDim kept[most_dims], group[most_dims];
};

struct ReducePlace {
  i64 in, center, out;
};
__device__ __forceinline__ ReducePlace locate_output(const ReduceLoop& loop, u32 output) {
  ReducePlace place{0, 0, 0};
  const auto add = [&](const LoopDim& dim, u32 index) {
    place.in += index * dim.stride[0];
    place.center += index * dim.stride[1];
    place.out += index * dim.stride[2];
  };
  const int last = loop.kept_dims - 1;
  for (int d = 0; d < last; ++d) {
    const u32 next = loop.kept[d].size.divide(output);
    add(loop.kept[d], output - next * loop.kept[d].size.divisor);
    output = next;
  }
  add(loop.kept[last], output);
  return place;
}
// Where element k of an output lies, from its first one; out of line where several dimensions are
// reduced that do not merge.
static __device__ __noinline__ i64 locate_in_group(const ReduceLoop& loop, u32 k) {
  const int last = loop.group_dims - 1;
  i64 offset = 0;
  for (int d = 0; d < last; ++d) {
    const u32 next = loop.group[d].size.divide(k);
    offset += (k - next * loop.group[d].size.divisor) * loop.group[d].stride[0];
    k = next;
  }
  return offset + k * loop.group[last].stride[0];
}
struct ReduceKernels {
  const void* rows = nullptr;      // reads packs of `lanes`
  const void* rows_any = nullptr;  // reads single elements
  // Ordered: reads packs of `lanes` along rows that begin anywhere; or null.
  const void* shifted_rows = nullptr;
  // Ordered: with fewer threads to a row, narrow_width, and of packs also where rows begin
  // anywhere; under [1] with twice as many, for longer rows; or null.
  const void* narrow_rows[2] = {};
  const void* narrow_rows_any = nullptr;
  // A thread to each, through shared memory, of most_staged elements at most; or null.
  const void* staged_rows = nullptr;
  // Ordered: chunks of a group of dimensions, through shared memory; or null.
  const void* staged_chunks = nullptr;
  const void* short_rows = nullptr;      // several rows to a thread
  const void* short_rows_any = nullptr;  // the same by single elements
  // Ordered: of 8, 4 and 1 lanes to a thread. Else: of columns_per_thread, and of single elements.
  const void* columns[3] = {};
  // The first of them where the columns of a thread may begin anywhere; or null.
  const void* shifted_columns = nullptr;
  // Of a few columns with few others between rows; or null.
  const void* flat_columns = nullptr;
  // Ordered: a thread to an output of up to few_elements, under [1] to few_width of them.
  const void* few_columns[2] = {};
  // Ordered: a thread to an output of up to reduce_lanes elements, under [1] to whole_width of
  // them; and the same, or whole_parts threads, to those of up to a chunk.
  const void* short_columns[2] = {};
  const void* whole_columns[2] = {};
  // … and staged_column_parts threads to every staged_width of fewer outputs; or null.
  const void* staged_columns = nullptr;
  bool ordered = true;  // the order of the elements matters to the result
  // Moments about the mean of the elements, which these kernels find: there are only short rows.
  bool about_mean = false;
  int lanes = 1, columns_per_thread = 1, accumulator_bytes = 0, narrow_width = 32;
  int most_staged = reduce_lanes;
  int few_width = 1, whole_width = 1, staged_width = 1, whole_parts[2] = {1, 1};
  int flat_threads = 0;        // ordered: of flat_columns, a block's at most
  int most_chunk_threads = 0;  // … and of staged_chunks
};

struct ReduceTable {
  // By the input's dtype; under [1] float64 and complex128 for float32 and complex64.
  ReduceKernels reduce[reduction_count][dtype_count][2];
  // (sum of d, sum of d * d) of deviations d from a center of the input's dtype, as complex128.
  ReduceKernels moments[dtype_count];
  ReduceKernels moments_about_mean;  // of float64
  ReduceKernels norms[dtype_count];
  ReduceKernels position[2][dtype_count];  // [1]: of the largest, [0]: of the smallest
};

void fill_sums(ReduceTable&);
void fill_products(ReduceTable&);
void fill_extremes(ReduceTable&);
void fill_positions(ReduceTable&);
void fill_conditions(ReduceTable&);

}  // namespace arrayx::cuda
