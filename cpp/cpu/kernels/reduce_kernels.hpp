// The kernels of reductions, arg-reductions and scans, as KernelTable holds them, and the order in
// which they combine elements: it depends on the number of elements alone.
//   Element k of n goes to chunk k / C and in it to lane k mod P; a lane adds its elements in
//   order, the lanes of a chunk are combined by halves (i with i + P/2, then i + P/4 …), and the
//   chunks pairwise: the first 2^m, the greatest power below their number, against the rest.
// So a run of 2^j chunks that starts at a multiple of 2^j is a subtree, which another thread may
// do.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../array/dtype.hpp"
#include "../../ops/table.hpp"

namespace arrayx::cpu {

// P: lanes of an accumulator whose real part has this many bytes; C: elements of a chunk.
constexpr int reduce_lanes(int real_bytes) {
  return 64 / real_bytes;
}
constexpr int reduce_chunk(int real_bytes) {
  return 16 * reduce_lanes(real_bytes);
}

// A columns kernel works on segments of so many columns, and reads each row of them straight on: on
// a 4096 × 4096 array of float32 16 KiB of a row are read a quarter faster than 8 KiB.
inline constexpr int most_columns = 4096;
// Elements a columns kernel takes at most (where the order matters), and the workspace it needs:
// the lanes of a segment, as many centers, and a level for each doubling of the number of chunks.
constexpr std::int64_t max_column_length(int real_bytes) {
  return std::int64_t{reduce_chunk(real_bytes)} << 12;
}
inline constexpr int columns_workspace = most_columns * (2 * 128 + 14 * 16);

// Kernels ask for what follows in memory while they read rows of so many bytes and more; for
// shorter ones, which take no longer than asking, their caller does where the data are far.
inline constexpr std::int64_t least_fetched_row = 1024;

// out[r] = reduction of in[r][0 … n), n ≥ 1; elements contiguous, row_stride in bytes.
// center[r] is what sum_squared_deviations subtracts, else null.
using ReduceRowsKernel = void (*)(const char* in, std::int64_t row_stride, std::int64_t rows,
                                  std::int64_t n, const void* center, void* out);
// out[c] = reduction of in[0 … n)[c], n ≥ 1; columns contiguous, row_stride in bytes.
using ReduceColumnsKernel = void (*)(const char* in, std::int64_t row_stride, std::int64_t n,
                                     std::int64_t columns, const void* center, void* workspace,
                                     void* out);
// left[i] = left[i] combined with right[i].
using MergeKernel = void (*)(void* left, const void* right, std::int64_t n);

// out[r] = position of the first extreme of in[r][0 … n), n ≥ 1.
using ArgRowsKernel = void (*)(const char* in, std::int64_t row_stride, std::int64_t rows,
                               std::int64_t n, std::int64_t* out);
// Goes on with rows first … first + n: best[c] and index[c] hold what the rows before gave (nothing
// yet when `start`).
using ArgColumnsKernel = void (*)(const char* in, std::int64_t row_stride, std::int64_t n,
                                  std::int64_t first, bool start, std::int64_t columns, void* best,
                                  std::int64_t* index);

// Running combination of each row (column), all in the accumulator's dtype, strides in bytes. The
// kernel goes on from element `position` of the axis, a multiple of scan_chunk where it goes in
// chunks; `carry` is its own memory between calls.
//   Products, complex sums, those of 8- and 16-bit integers and all along lines of at most
// longest_in_order elements combine one element after the other. Other sums go in chunks of 64
// bytes, in which the upper half of each pair, four, eight … adds the sum of the lower half; to
// that the sum of the chunks before in the block is added, and to that the sum of the blocks
// before. So no addition waits for all before it, and another thread may do another block. A rows
// kernel of these to which no `out` is given finds the carries of whole blocks.
struct ScanJob {
  const char* in;
  std::int64_t in_row;
  char* out;
  std::int64_t out_row, rows, columns, position;
  void* carry;
  // Results may go past the caches: chunks of rows that begin with lines, or anywhere if
  // `scans_by_lines`, which those of columns need, too; and columns in order that are no complex
  // products. All rows of columns must begin with lines.
  bool streamed = false;
  // The rows that are read later; kernels of columns ask for them on the way.
  const char* later = nullptr;
  std::int64_t later_rows = 0;
};
using ScanKernel = void (*)(const ScanJob& job);
template <class A>
inline constexpr bool scans_in_chunks = (std::is_arithmetic_v<A> && sizeof(A) >= 4);
inline constexpr std::int64_t longest_in_order = 32, scan_chunk = 16, scan_block = 4096;
inline constexpr int most_scan_rows = 256, most_scan_column_bytes = 4096;
inline constexpr int scan_carry = 2 * (most_scan_column_bytes + 64);

// The place in a table of what takes elements that are `step` items apart, or -1.
inline constexpr int spacing_count = 4;
constexpr int spacing(std::int64_t step) {
  return step == -1 ? 0 : step >= 2 && step <= spacing_count ? static_cast<int>(step) - 1 : -1;
}

struct ReduceKernels {
  // By the input's dtype. The accumulator is the one of the table's rule; under [1] float64 and
  // complex128 for float32 and complex64.
  ReduceRowsKernel rows[reduction_count][dtype_count][2] = {};
  // The same of rows from beyond the caches, where those are read in halves; else null.
  ReduceRowsKernel rows_from_afar[reduction_count][dtype_count][2] = {};
  ReduceColumnsKernel columns[reduction_count][dtype_count][2] = {};
  // Sums of floating numbers along rows whose elements are not next to each other, of which the
  // first is at `in`; by their spacing.
  ReduceRowsKernel sum_spaced[dtype_count][2][spacing_count] = {};
  ReduceRowsKernel sum_spaced_from_afar[dtype_count][2][spacing_count] = {};  // as above
  // The sums of the deviations from the center and, behind all of them, those of their squares.
  ReduceRowsKernel deviations_rows[dtype_count][2] = {};
  ReduceColumnsKernel deviations_columns[dtype_count][2] = {};
  // By the accumulator's dtype.
  MergeKernel merge[reduction_count][dtype_count] = {};
  // [1] is the largest, [0] the smallest. (arg_reduce.cpp)
  ArgRowsKernel arg_rows[2][dtype_count] = {};
  ArgRowsKernel arg_rows_from_afar[2][dtype_count] = {};  // as above
  ArgColumnsKernel arg_columns[2][dtype_count] = {};
  // [0] is the sum, [1] the product, [2] the sum in order; by the accumulator's dtype. (scan.cpp)
  ScanKernel scan_rows[3][dtype_count] = {};
  ScanKernel scan_columns[3][dtype_count] = {};
  bool scans_by_lines = false;  // their vectors are lines
};

}  // namespace arrayx::cpu
