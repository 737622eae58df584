// Sorting networks: as many short lines side by side as a cache line has lanes, compiled per
// instruction set. Batcher's merge exchange (Knuth, The Art of Computer Programming, vol. 3,
// algorithm 5.2.2 M) sorts any number of rows.
#include "../simd/vec.hpp"

#include "../kernels.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

// exchange(i, j) with i < j for every comparison of the network of n rows, in order.
template <class Exchange>
void merge_exchange(i64 n, Exchange&& exchange) {
  i64 top = 1;
  while (2 * top < n) top *= 2;
  for (i64 p = top; p > 0; p /= 2) {
    i64 q = top, r = 0, d = p;
    while (true) {
      for (i64 i = 0; i < n - d; ++i) {
        if ((i & p) == r) exchange(i, i + d);
      }
      if (q == p) break;
      d = q - p;
      q /= 2;
      r = p;
    }
  }
}

template <class K>
void network(void* rows, std::int64_t n) {
  using V = Vec<K, ops::vector_bytes / sizeof(K)>;
  char* p = static_cast<char*>(rows);
  merge_exchange(n, [p](i64 i, i64 j) {
    for (i64 b = 0; b < network_row_bytes; b += ops::vector_bytes) {
      char* low = p + i * network_row_bytes + b;
      char* high = p + j * network_row_bytes + b;
      const V x = V::load(low), y = V::load(high);
      const auto swap = y < x;
      select(swap, y, x).store(low);
      select(swap, x, y).store(high);
    }
  });
}

void pair_network(void* rows, std::int64_t n) {
  using V = Vec<u64, ops::vector_bytes / 8>;
  char* keys = static_cast<char*>(rows);
  const i64 positions = n * network_row_bytes;  // from a key to its position
  merge_exchange(n, [=](i64 i, i64 j) {
    for (i64 b = 0; b < network_row_bytes; b += ops::vector_bytes) {
      char* low = keys + i * network_row_bytes + b;
      char* high = keys + j * network_row_bytes + b;
      const V x = V::load(low), y = V::load(high);
      const V at_x = V::load(low + positions), at_y = V::load(high + positions);
      const auto swap = (y < x) | ((y == x) & (at_y < at_x));
      select(swap, y, x).store(low);
      select(swap, x, y).store(high);
      select(swap, at_y, at_x).store(low + positions);
      select(swap, at_x, at_y).store(high + positions);
    }
  });
}

}  // namespace

void fill_sort(KernelTable& table) {
  table.network[0] = &network<u8>;
  table.network[1] = &network<u16>;
  table.network[2] = &network<u32>;
  table.network[3] = &network<u64>;
  table.pair_network = &pair_network;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
