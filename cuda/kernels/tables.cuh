// The kernels by operation and dtype, as the host launches them.
#pragma once

#include "../../cpp/array/dtype.hpp"
#include "../../cpp/ops/table.hpp"

namespace arrayx::cuda {

// Elements along a side of a tile of items of so many bytes. On an H100 transposes by rows of 128
// bytes run at 80 to 90 % of the bandwidth of a copy, by rows of 256 bytes at 85 to 100 %.
template <int Itemsize>
inline constexpr int tile_edge = Itemsize < 8 ? 64 : 32;
// Packs of 16 bytes along the sides of a tile of packs: granules along the output's dimension,
// packs along that of the staged operands. Together they have 16 KiB, four packs of each thread.
template <int Itemsize>
inline constexpr int tile_granules = Itemsize == 1   ? 8
                                     : Itemsize == 2 ? 16
                                                     : 32;
template <int Itemsize>
inline constexpr int tile_packs = 64 * Itemsize / tile_granules<Itemsize>;
// Granules of a sector, of 32 bytes.
inline constexpr int sector_granules = 2;

struct ElementwiseKernels {
  const void* packs = nullptr;         // (Loop) over packs
  const void* rows = nullptr;          // (Loop, Divisor, u32, u32) over granules
  const void* joined_rows = nullptr;   // (Loop, Divisor, u32) over packs of the output
  const void* strided = nullptr;       // (Loop) over elements
  const void* tiles = nullptr;         // (Loop, Divisor, Divisor) over tiles
  const void* pack_tiles = nullptr;    // (Loop, Divisor, Divisor, u32, bool), for small items
  const void* sector_tiles = nullptr;  // the same, of whole sectors of the output, or null
  bool packs_convert = false;          // from the input's dtype to the output's
  bool packs_take_turns = false;       // Loop::turns
  bool packs_ask_ahead = false;        // Loop::ahead
  int lanes = 1;                       // elements of a pack
  int pack_threads = 0, packs_per_thread = 1, elements_per_thread = 1;
  int tile_edge = 0;
  int tile_bytes[2] = {};  // of the first operand's tile, and of any other's
  int most_step = 2;       // of operands of `rows`, in elements
  int pack_tile_granules = 0, pack_tile_packs = 0;
};

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
