// The kernels of reductions, arg-reductions and scans, as KernelTable holds them, and the order in
// which they combine elements: it depends on the number of elements alone.
//   Element k of n goes to chunk k / C and in it to lane k mod P; a lane adds its elements in
//   order, the lanes of a chunk are combined by halves (i with i + P/2, then i + P/4 …), and the
//   chunks pairwise: the first 2^m, the greatest power below their number, against the rest.
// So a run of 2^j chunks that starts at a multiple of 2^j is a subtree, which another thread may
// do.
#pragma once

#include <cstdint>

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

// A columns kernel works on segments of this many bytes of accumulators: on a 4096 × 4096 array 8
// KiB read a fifth faster than 2 KiB.
inline constexpr int max_column_bytes = 8192;
// Elements a columns kernel takes at most (where the order matters), and the workspace it needs:
// the lanes of a segment, as many centers, and a level for each doubling of the number of chunks.
constexpr std::int64_t max_column_length(int real_bytes) {
  return std::int64_t{reduce_chunk(real_bytes)} << 12;
}
inline constexpr int columns_workspace = (16 + 16 + 14) * max_column_bytes;

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

// Running combination of each row (column), all in the accumulator's dtype, strides in bytes.
// carry[r] is the last value before, and after; with `start` there is none before.
using ScanKernel = void (*)(const char* in, std::int64_t in_row_stride, char* out,
                            std::int64_t out_row_stride, std::int64_t rows, std::int64_t columns,
                            bool start, void* carry);

struct ReduceKernels {
  // By the input's dtype. The accumulator is the one of the table's rule; under [1] float64 and
  // complex128 for float32 and complex64.
  ReduceRowsKernel rows[reduction_count][dtype_count][2] = {};
  ReduceColumnsKernel columns[reduction_count][dtype_count][2] = {};
  // By the accumulator's dtype.
  MergeKernel merge[reduction_count][dtype_count] = {};
  // [1] is the largest, [0] the smallest.
  ArgRowsKernel arg_rows[2][dtype_count] = {};
  ArgColumnsKernel arg_columns[2][dtype_count] = {};
  // [1] is the product, [0] the sum; by the accumulator's dtype.
  ScanKernel scan_rows[2][dtype_count] = {};
  ScanKernel scan_columns[2][dtype_count] = {};
};

}  // namespace arrayx::cpu
