// KernelTable: everything compiled once per instruction set. The sources under cpp/cpu/kernels/ are
// built for each level, each into its part of a table; the best level the CPU has is chosen at load
// (ARRAYX_ISA=baseline|avx2|avx512 overrides it).
#pragma once

#include <cstdint>

#include "../array/dtype.hpp"
#include "../ops/table.hpp"
#include "kernels/reduce_kernels.hpp"
#include "prefetch.hpp"

namespace arrayx::cpu {

// out[i] = op(in[0][i], …) over n contiguous elements of one dtype. `out` may be one of the inputs.
using ElementwiseKernel = void (*)(const void* const* in, void* out, std::int64_t n);

// out[i] = in[0][i] in another dtype, over n contiguous elements. One signature with the
// elementwise kernels, so that one loop runs both.
using CastKernel = ElementwiseKernel;

// in[0][i] to a power that takes no logarithm, and the operation that costs as much; a null kernel
// where the exponent is no such.
struct ShortPower {
  ElementwiseKernel kernel = nullptr;
  Op like = Op::pow;
};

// How the elements of an operand's rows lie: one for all, each next to the last, or every second.
enum class Spacing { repeated, next, second };
// out[r][i] = op(in[0][r][i], in[1][r][i]) over rows of n >= 1 elements of one dtype; strides from
// row to row in bytes. `out` may be one of the inputs.
struct RowsJob {
  const void* in[2];
  std::int64_t in_row[2];
  void* out;
  std::int64_t out_row, rows, n;
};
using RowsKernel = void (*)(const RowsJob& job);

// out[r][c] = in[r][c] for rows × columns items of 1, 2, 4, 8 or 16 bytes; strides in bytes.
struct Strides2D {
  std::int64_t row, column;
};
using CopyKernel = void (*)(const char* in, Strides2D in_strides, char* out, Strides2D out_strides,
                            std::int64_t rows, std::int64_t columns);
// What of the operands is asked for before it is read: pages to come of those that come from
// memory, a bit for each, and, where it goes on, also what stands behind them, which is read next.
struct Asked {
  unsigned from_memory;
  bool goes_on;
  // The place from which on none are asked for of operand k, whose n elements have so many bytes
  // each.
  ARRAYX_HD std::int64_t until(int k, std::int64_t n, std::int64_t bytes) const {
    if (!(from_memory >> k & 1)) return 0;
    return goes_on ? n : n - page_bytes / bytes;
  }
};
// The results of an operation, whole lines of them past the caches; their places must be aligned to
// their size.
using StreamingKernel = void (*)(const void* const* in, void* out, std::int64_t n, Asked asked);
// Copies past the caches, for results too large to be read again soon, whose lines would otherwise
// be fetched only to be overwritten. A loop of such copies ends with a stream_fence().
// `next`, or null: what is read after it.
using StreamKernel = void (*)(const void* in, void* out, std::int64_t bytes, const void* next);
// The same of rows, each to a run of its own that goes on with the next job if they are of at least
// a line. The rows that are read some jobs later are asked for, one with each row.
struct StreamRunsJob {
  const char* in;
  std::int64_t in_row;
  char* out;
  std::int64_t out_row, rows, bytes;
  bool first, last;  // whether the runs begin or end with these rows
  const char* next;
  std::int64_t next_row, next_rows;
  char* begun;  // three lines for each row: the one that its run has come to, between margins
};
using StreamRunsKernel = void (*)(const StreamRunsJob& job);
// Rows of so many bytes that are picked, row r from in + r * in_row + offsets[r] * item, where the
// offsets are `offset_row` bytes apart, to out + r * out_row; the same for each of the groups.
struct PicksJob {
  const char* offsets;
  std::int64_t offset_row, item;
  const char* in;
  std::int64_t in_row;
  char* out;
  std::int64_t out_row, rows, bytes;
  std::int64_t groups = 1, in_group = 0, out_group = 0;
};
using PicksKernel = void (*)(const PicksJob& job);
// Of one group past the caches, rows of whole lines that follow each other from a line on. So many
// rows further on are asked for.
using StreamPicksKernel = void (*)(const PicksJob& job, std::int64_t ahead);
// Rows of `out_row` bytes that follow each other: byte b of each is byte from[b], below `reach`, of
// its row, which are `in_row` bytes apart.
struct ShortRowsJob {
  const char* in = nullptr;
  std::int64_t in_row, reach;
  char* out = nullptr;
  std::int64_t out_row, rows = 0;
  const std::uint8_t* from;
};
using ShortRowsKernel = void (*)(const ShortRowsJob& job);
// The same of n items that lie backwards, the first one at `in`; so do those of `next`.
using StreamBackwardsKernel = void (*)(const char* in, char* out, std::int64_t n, const char* next);
// Columns of a matrix that is transposed: those of a strip, and where they begin.
struct StripColumns {
  const char* in;
  const std::int64_t* offset;
  std::int64_t count;
};
// out[r][c] = in[c][r] past the caches, for rows × columns items of a wider matrix: `first` if no
// columns stand before these, `beyond` how many follow, which are listed too, as far as a line
// goes. Lines of memory that two such pieces share are written by the left one, so pieces of a row
// may run in any order. The piece that the caller takes next is fetched on the way.
struct StreamTransposeJob {
  StripColumns columns;
  char* out;
  std::int64_t out_row, rows;
  bool first;
  std::int64_t beyond;
  StripColumns next;
  std::int64_t next_bytes;  // of each of the next columns
  std::int64_t box;         // bytes of each column after which the next ones are asked for
  char* scratch;  // streamed_scratch bytes, aligned to a line, for long pieces; null for strips
};
using StreamTransposeKernel = void (*)(const StreamTransposeJob& job);
// Columns of a strip, but for those beyond or a line's more of a short row: so many rows of the
// input are read side by side.
inline constexpr int most_strip_columns = 128;
// The same of a long piece, and how many rows of them are transposed in an L2 before they are
// written: 512 bytes are read and up to 1024 written one after the other.
constexpr int streamed_columns(int itemsize) {
  return itemsize < 4 ? 256 : 1024 / itemsize;
}
constexpr int streamed_rows(int itemsize) {
  return itemsize < 2 ? 256 : 512 / itemsize;
}
// Bytes of all that, with a line's more of each row and two between rows: two-byte items need most.
inline constexpr std::int64_t streamed_scratch =
    streamed_rows(2) * (2 * streamed_columns(2) + 3 * 64);
constexpr int item_class(int itemsize) {  // index into KernelTable::copy
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4;
}

// out[i] = first + (index + i * way) * step, rounded after each operation of float64 and then to
// the result's dtype; index is a whole number, way 1 or -1.
struct Progression {
  double first, step, index, way;
};
using ProgressionKernel = void (*)(void* out, const Progression& p, std::int64_t n);
// out[i] = first + i * step, modulo 2^bits.
using IntegerRangeKernel = void (*)(void* out, std::uint64_t first, std::uint64_t step,
                                    std::int64_t n);

// Sorts short lines side by side: n rows of 64 bytes of unsigned keys, each lane a line. For pairs
// n rows of positions, which decide between equal keys, follow n rows of 8-byte keys.
using NetworkKernel = void (*)(void* rows, std::int64_t n);
inline constexpr int network_row_bytes = 64;
// Unsigned keys whose order is that of n contiguous elements, or the reverse; both zeros have one
// key, and NaN stands last. Returns which KeyFlags the elements have: those that ValuesKernel,
// which gives the others back, makes positive zeros and some NaN.
enum class KeyKind { natural, twos_complement, floating, truth };
enum KeyFlags : unsigned { has_nan = 1, has_negative_zero = 2 };
using KeysKernel = unsigned (*)(const void* in, void* keys, std::int64_t n, bool descending);
using ValuesKernel = void (*)(const void* keys, void* out, std::int64_t n, bool descending);
// What n >= 1 keys have between them.
struct KeyRange {
  std::uint64_t least, greatest;
  std::uint64_t different;  // bits in which any two differ
  bool unsorted;
};
using KeyRangeKernel = KeyRange (*)(const void* keys, std::int64_t n);
// Whether no key is less than the one before it.
using AscendingKernel = bool (*)(const void* keys, std::int64_t n);
// Keys of 32 bits above their positions, which count from `first`: items that sort as keys do,
// equal ones in the order of their positions. And the positions of items that have them in the bits
// of a mask; they may be written over the items.
using KeyItemsKernel = void (*)(const std::uint32_t* keys, std::uint64_t* items,
                                std::uint32_t first, std::int64_t n);
using ItemPositionsKernel = void (*)(const std::uint64_t* items, std::int64_t* positions,
                                     std::uint64_t mask, std::int64_t n);
// Writes n unsigned keys, of at most short_sort_bytes, to `out` in order; it may be `in`.
using ShortSortKernel = void (*)(const void* in, void* out, std::int64_t n);
inline constexpr int short_sort_bytes = 1 << 13;
// Writes those of n unsigned keys that are less than the pivot to `less`, the others to `others`,
// in their order; returns the number of the former. Each has room for n, and one may be `in`.
using PartitionKernel = std::int64_t (*)(const void* in, void* less, void* others, std::int64_t n,
                                         std::uint64_t pivot);

// c[m][n] = a[m][k] @ b[k][n], or added to what c holds, for `count` products one after the other.
// Rows of c are contiguous, those of b too where there is no `copy` of items of its dtype. Strides
// are in items, from row to row, from column to column, and from one product to the next. Distant
// operands are those that are read from beyond an L2; what the next job reads of them, so many
// bytes on end, may be asked for on the way.
struct MatmulJob {
  const void* a;
  std::int64_t a_row, a_column, a_next;
  const void* b;
  std::int64_t b_row, b_column, b_next;
  CopyKernel copy;
  void* c;
  std::int64_t c_row, c_next;
  std::int64_t m, n, k, count;
  bool add, distant;
  const char *next_a = nullptr, *next_b = nullptr;
  std::int64_t next_a_bytes = 0, next_b_bytes = 0;
};
using MatmulKernel = void (*)(const MatmulJob& job);
inline constexpr std::int64_t matmul_depth = 256;  // the largest k, for packing b

// c[m][n] = the sums of a[m][l] * b[n][l], for rows of k items that lie next to each other. Other
// strides are in items.
struct DotsJob {
  const void* a;
  std::int64_t a_row;
  const void* b;
  std::int64_t b_row;
  void* c;
  std::int64_t c_row, c_column, m, n, k;
};
using DotsKernel = void (*)(const DotsJob& job);
// c[j] = the sum of b[l] * a[l][j], for k rows of n items that lie next to each other, as those of
// b and c do.
using WeightedRowsKernel = DotsKernel;
// out[r] = the sum of the products of row r of a, or of its conjugates, with that of b: n numbers
// that follow each other. Rows are so many bytes apart; distant ones come from beyond an L2.
struct PairedDotsJob {
  const char* a;
  std::int64_t a_row;
  const char* b;
  std::int64_t b_row;
  char* out;
  std::int64_t rows, n;
  bool distant;
};
using PairedDotsKernel = void (*)(const PairedDotsJob& job);
inline constexpr std::int64_t short_dots_bytes = 160;  // of rows that are read side by side

// Writes base plus the position of each of the n bytes at p that is not zero, but of no more than
// the first `room`; so many may be written even where there are fewer. Returns how many there are.
using PositionsKernel = std::int64_t (*)(const char* p, std::int64_t n, std::int64_t base,
                                         void* out, std::int64_t room);

// Writes those of n contiguous items whose bytes at `mask` are not zero, but no more than the first
// `room`; so many may be written even where there are fewer. Returns how many there are.
using CompressKernel = std::int64_t (*)(const char* mask, std::int64_t n, const char* in, char* out,
                                        std::int64_t room);

// Whether one of `count` contiguous indices is not in [-n, n), or [0, n) if unsigned.
using BoundsKernel = bool (*)(const char* index, std::int64_t count, std::int64_t n);
// The same, with the places that they pick of items `stride` apart, at the start for those outside.
using PlacesKernel = bool (*)(const char* index, std::int64_t count, std::int64_t n,
                              std::int64_t stride, std::int64_t* places);

struct FftKernels;          // see kernels/fft_kernels.hpp
struct SmallMatrixKernels;  // see kernels/small_matrices.hpp

struct KernelTable {
  const char* isa = nullptr;
  ElementwiseKernel elementwise[op_count][dtype_count] = {};
  // The same for operands from beyond an L2, null where they are read no otherwise.
  ElementwiseKernel elementwise_from_afar[op_count][dtype_count] = {};
  // The same for a second operand that is one element, null where that is no reason.
  ElementwiseKernel elementwise_by_constant[op_count][dtype_count] = {};
  // Of operations that cost little; by the operands' dtype.
  StreamingKernel streaming[op_count][dtype_count] = {};
  ShortPower (*short_power[dtype_count])(const void* exponent) = {};  // of floating dtypes
  CastKernel cast[dtype_count][dtype_count] = {};
  StreamingKernel streaming_cast[dtype_count][dtype_count] = {};  // null where there is none
  // Null for operations and dtypes that have none.
  RowsKernel (*rows)(Op op, DType dtype, Spacing a, Spacing b, Spacing out) = nullptr;
  CopyKernel copy[5] = {};
  StreamKernel stream = nullptr;
  StreamRunsKernel stream_runs = nullptr;
  PicksKernel picks = nullptr;
  StreamPicksKernel stream_picks = nullptr;
  // Of rows as `job` has them, or null; `in`, `out` and `rows` are not looked at.
  ShortRowsKernel (*short_rows)(const ShortRowsJob& job) = nullptr;
  StreamBackwardsKernel stream_backwards[5] = {};
  void (*stream_fence)() = nullptr;
  StreamTransposeKernel stream_transpose[5] = {};
  ProgressionKernel progression[2] = {};     // to float32, to float64
  IntegerRangeKernel integer_range[4] = {};  // by item class
  NetworkKernel network[4] = {};             // by item class
  NetworkKernel pair_network = nullptr;
  // By item class; the keys and values of truth are of bytes alone, ranges and sorts of more.
  KeysKernel keys[4][4] = {};  // and KeyKind
  ValuesKernel values[4][4] = {};
  KeyRangeKernel key_range[4] = {};
  AscendingKernel ascending[4] = {};
  KeyItemsKernel key_items = nullptr;
  ItemPositionsKernel item_positions = nullptr;
  ShortSortKernel short_sort[4] = {};  // none where vectors are narrow
  PartitionKernel partition[4] = {};   // of 32 and 64 bits, none at the baseline
  bool buckets_even_items = false;     // of 64 bits that lie evenly, rather than cut them
  PositionsKernel positions[2] = {};   // of 16 and of 64 bits
  CompressKernel compress[5] = {};     // by item class; none where it takes as long one by one
  BoundsKernel any_out_of_bounds[dtype_count] = {};  // of integer dtypes
  PlacesKernel picked_places[dtype_count] = {};      // of integer dtypes
  MatmulKernel matmul[dtype_count] = {};
  bool multiplies_large = false;  // those kernels, floating matrices of any size, as fast as any
  DotsKernel dots[2] = {};        // of float32 and float64
  WeightedRowsKernel weighted_rows[2] = {};
  PairedDotsKernel paired_dots[2][2] = {};  // of real and complex, narrow and wide numbers
  ReduceKernels reduce;                     // see kernels/reduce_kernels.hpp
  const FftKernels* fft[2] = {};            // of float32 and float64
  const SmallMatrixKernels* small_matrices[2] = {};
};

// The table in use.
const KernelTable& kernels();

// One function per source and level, each filling its part; called by kernels().
#define ARRAYX_DECLARE_LEVEL(level)           \
  namespace level {                           \
  void fill_elementwise(KernelTable& table);  \
  void fill_real_math(KernelTable& table);    \
  void fill_complex_math(KernelTable& table); \
  void fill_copy(KernelTable& table);         \
  void fill_half(KernelTable& table);         \
  void fill_reduce(KernelTable& table);       \
  void fill_rows(KernelTable& table);         \
  void fill_sort(KernelTable& table);         \
  void fill_matmul(KernelTable& table);       \
  void fill_fft(KernelTable& table);          \
  void fill_linalg(KernelTable& table);       \
  void fill_indexing(KernelTable& table);     \
  void fill_short_rows(KernelTable& table);   \
  }
ARRAYX_DECLARE_LEVEL(baseline)
ARRAYX_DECLARE_LEVEL(avx2)
ARRAYX_DECLARE_LEVEL(avx512)
#undef ARRAYX_DECLARE_LEVEL

}  // namespace arrayx::cpu
