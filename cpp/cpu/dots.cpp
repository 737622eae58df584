// Sums of products along the last dimension, block by block. The cut and the order of the sums
// depend on the length alone.
#include <algorithm>

#include "../operands.hpp"
#include "caches.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

using i64 = std::int64_t;

// Bytes of an operand at a time: both, and their products, are in an L1 or near it; where no
// products are put down, longer pieces have fewer ends.
constexpr i64 block_bytes = 1 << 14, long_bytes = 1 << 16;

// The vectors of one operand: bytes from element to element, and from one to the next.
struct Vectors {
  const char* data;
  i64 step, row;
};

// The same with `rows` vectors of n elements where they are, or in `block` if their elements do not
// follow each other or, where those of all should, they do not.
Vectors packed(const Vectors& v, i64 rows, i64 n, int size, bool all, char* block) {
  if ((v.step == size || n == 1) && (!all || v.row == n * size || rows == 1)) return v;
  kernels().copy[item_class(size)](v.data, {v.row, v.step}, block, {n * size, size}, rows, n);
  return {block, size, n * size};
}

}  // namespace

void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) {
  const DType dtype = out.dtype;
  const DType sums = is_floating(dtype)               ? dtype
                     : kind(dtype) == Kind::unsigned_ ? DType::uint64
                                                      : DType::int64;
  const int size = itemsize(dtype), sum_size = itemsize(sums), d = static_cast<int>(dtype);
  const int last = a.layout->ndim() - 1;
  const i64 n = a.layout->shape[last];
  Dims shape = out.layout->shape, strides[2];
  const Operand* const factors[2] = {&a, &b};
  for (int k = 0; k < 2; ++k) {
    strides[k] = factors[k]->layout->strides;
    strides[k].pop_back();
  }
  const Dims* const each[3] = {&strides[0], &strides[1], &out.layout->strides};
  const Plan plan = make_plan(shape, each, 3);
  if (plan.kind == LoopKind::empty) return;
  const int inner = plan.ndim() - 1;

  // Short vectors take less time many at once, products and their sums one after the other.
  const bool fused =
      is_floating(dtype) && conjugate == is_complex(dtype) && n * size > short_dots_bytes;
  const i64 bytes = fused ? long_bytes : block_bytes;
  const i64 block = bytes / size, piece = std::min(n, block), pieces = (n - 1) / piece + 1;
  const Tiles tiles(plan, block / piece);
  const ElementwiseKernel multiply = kernels().elementwise[static_cast<int>(Op::multiply)][d];
  const ElementwiseKernel conj = kernels().elementwise[static_cast<int>(Op::conj)][d];
  const ReduceRowsKernel add = kernels().reduce.rows[static_cast<int>(Reduction::sum)][d][0];
  const PairedDotsKernel kernel =
      kernels().paired_dots[is_complex(dtype)][real_dtype(dtype) == DType::float64];
  const bool distant = 2 * plan.count() * n * size > second_cache_bytes();
  // The sums of elements [k, k + count) of the vectors of a tile.
  const auto dots = [&](const Tile& tile, i64 k, i64 count, char* to) {
    char* const scratch = thread_scratch<6>(3 * bytes);
    Vectors rows[2];
    for (int f = 0; f < 2; ++f) {
      const i64 step = factors[f]->layout->strides[last];
      const Vectors v{factors[f]->data + (plan.base[f] + tile.offset[f] + k * step) * size,
                      step * size, plan.stride[f][inner] * size};
      rows[f] = packed(v, tile.width, count, size, !fused, scratch + f * bytes);
    }
    if (fused) {
      kernel(
          {rows[0].data, rows[0].row, rows[1].data, rows[1].row, to, tile.width, count, distant});
      return;
    }
    const void* in[2] = {rows[0].data, rows[1].data};
    if (conjugate) {
      conj(in, scratch, tile.width * count);
      in[0] = scratch;
    }
    char* const products = scratch + 2 * bytes;
    multiply(in, products, tile.width * count);
    add(products, count * size, tile.width, count, nullptr, to);
  };
  const auto store = [&](const Tile& tile, const char* results) {
    alignas(64) char cast[block_bytes];  // only of products
    if (sums != dtype) {
      const void* from = results;
      kernels().cast[static_cast<int>(sums)][d](&from, cast, tile.width);
      results = cast;
    }
    kernels().copy[item_class(size)](results, {0, size},
                                     out.data + (plan.base[2] + tile.offset[2]) * size,
                                     {0, plan.stride[2][inner] * size}, 1, tile.width);
  };
  const i64 outputs = plan.count(), work = 2 * outputs * n * size;
  if (pieces == 1) {
    const i64 per_task = std::max<i64>(1, (1 << 15) / (tiles.width() * n * size));
    parallel_for((tiles.count() - 1) / per_task + 1, work, [&](i64 task) {
      char* const results = thread_scratch<7>(tiles.width() * sum_size);
      for (i64 t = task * per_task; t < std::min(tiles.count(), (task + 1) * per_task); ++t) {
        const Tile tile = tiles[t];
        dots(tile, 0, n, results);
        store(tile, results);
      }
    });
    return;
  }
  // Vectors of several pieces, whose sums are added up as those of a vector are.
  const StorageRef partial = allocate(checked_bytes(outputs * pieces, sum_size));
  char* const parts = static_cast<char*>(partial->data);
  const i64 per_task = 4;
  const i64 tasks = (pieces - 1) / per_task + 1;
  parallel_for(outputs * tasks, work, [&](i64 task) {
    const Tile tile = tiles[task / tasks];
    const i64 first = task % tasks * per_task;
    for (i64 p = first; p < std::min(pieces, first + per_task); ++p) {
      dots(tile, p * piece, std::min(piece, n - p * piece),
           parts + (task / tasks * pieces + p) * sum_size);
    }
  });
  const ReduceRowsKernel add_sums =
      kernels().reduce.rows[static_cast<int>(Reduction::sum)][static_cast<int>(sums)][0];
  for (i64 t = 0; t < outputs; ++t) {
    alignas(16) char result[16];
    add_sums(parts + t * pieces * sum_size, pieces * sum_size, 1, pieces, nullptr, result);
    store(tiles[t], result);
  }
}

}  // namespace arrayx::cpu
