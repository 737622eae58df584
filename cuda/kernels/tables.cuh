// The kernels by operation and dtype, as the host launches them.
#pragma once

#include "../../cpp/array/dtype.hpp"
#include "../../cpp/ops/table.hpp"

namespace arrayx::cuda {

// Elements along a side of a tile of items of so many bytes. On an H100 transposes by rows of 128
// bytes run at 80 to 90 % of the bandwidth of a copy, by rows of 256 bytes at 85 to 100 %.
template <int Itemsize>
inline constexpr int tile_edge = Itemsize < 8 ? 64 : 32;

struct ElementwiseKernels {
  const void* packs = nullptr;    // (Loop) over packs
  const void* rows = nullptr;     // (Loop, Divisor, u32) over granules
  const void* strided = nullptr;  // (Loop) over elements
  const void* tiles = nullptr;    // (Loop, Divisor, Divisor) over tiles
  const void* words = nullptr;    // the same over tiles of words, for small items
  bool packs_convert = false;     // from the input's dtype to the output's
  int lanes = 1;                  // elements of a pack
  int packs_per_thread = 1, elements_per_thread = 1;
  int tile_edge = 0;
  int tile_bytes[2] = {};  // of the first operand's tile, and of any other's
};

// Bytes of a row of a tile of words, which has as many rows as items in one.
inline constexpr int words_row = 128;

struct KernelTable {
  ElementwiseKernels elementwise[op_count][dtype_count];
  ElementwiseKernels copy[dtype_count];  // into a dtype; another dtype is converted on load
  ElementwiseKernels cast[dtype_count][dtype_count];  // the same, packs converting too
};

void fill_unary(KernelTable&);
void fill_binary_integer(KernelTable&);
void fill_binary_floating(KernelTable&);
void fill_ternary(KernelTable&);
void fill_real_math(KernelTable&);
void fill_complex_math(KernelTable&);
void fill_copies(KernelTable&);
void fill_casts(KernelTable&);

const KernelTable& kernels();

}  // namespace arrayx::cuda
