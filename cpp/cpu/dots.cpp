// Sums of products along the last dimension, block by block. The cut and the order of the sums
// depend on the length alone.
#include <algorithm>
#include <cstdlib>

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
constexpr i64 block_bytes = 1 << 14, long_bytes = 1 << 16, across_bytes = 1 << 18;

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

// Whether another dimension than the last lies along memory.
bool lies_across(const Operand& x) {
  const Layout& layout = *x.layout;
  const int last = layout.ndim() - 1;
  for (int d = 0; d < last; ++d) {
    if (std::abs(layout.strides[d]) == 1 && layout.shape[d] > 1) return layout.shape[last] > 1;
  }
  return false;
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

  // Where few vectors follow each other each tile would take longer to find than its sums; where
  // neither vectors nor their elements lie along memory, tiles are packed from lines that others
  // share. Such operands are copied first.
  constexpr i64 tiny = 256, few_tiles = 16, many = 4096;
  constexpr i64 chunk_bytes = 1 << 17, most_copied = i64{1} << 26;
  const bool few = plan.size[inner] * n < tiny && plan.count() >= few_tiles * plan.size[inner];
  const bool same = a.data == b.data && a.layout->strides == b.layout->strides;
  const auto scattered = [&](int f) {
    return n > 1 && plan.size[inner] > 1 && factors[f]->layout->strides[last] != 1 &&
           plan.stride[f][inner] != 1 && plan.stride[f][inner] != 0;
  };
  const i64 all = plan.count() * n;
  // Of integers that lie across memory products are put down as they lie; sums have no order.
  const bool as_they_lie =
      is_integer(dtype) && out.layout->size >= 8 && lies_across(a) && lies_across(b);
  if (few && all * size > chunk_bytes) {
    // A chunk of the dimension that moves furthest at a time, which an L2 holds.
    int axis = 0;
    for (int k = 1; k < last; ++k) {
      const bool further = std::abs(strides[0][k]) > std::abs(strides[0][axis]);
      if (shape[k] > 1 && (further || shape[axis] == 1)) axis = k;
    }
    const i64 length = shape[axis], chunk = std::max<i64>(1, chunk_bytes / (all / length * size));
    if (chunk < length) {
      return parallel_for((length - 1) / chunk + 1, 2 * all * size, [&](i64 c) {
        const i64 first = c * chunk, count = std::min(chunk, length - first);
        Operand parts[3] = {a, b, out};
        Layout layouts[3];
        for (int f = 0; f < 3; ++f) {
          layouts[f] = slice_axis(*parts[f].layout, axis, first, 1, count);
          parts[f].data += (layouts[f].offset - parts[f].layout->offset) * size;
          parts[f].layout = &layouts[f];
        }
        vecdot(parts[0], parts[1], conjugate, parts[2]);
      });
    }
  }
  const bool scatters = all >= many && !as_they_lie && (scattered(0) || scattered(1));
  if (few || (scatters && all * size <= most_copied)) {
    Operand vectors[2] = {a, b};
    Array copies[2];
    for (int f = 0; f < 2; ++f) {
      if (!few && !scattered(f)) continue;
      copies[f] =
          f == 1 && same ? copies[0] : new_array(Layout::contiguous(a.layout->shape), dtype);
      if (f == 0 || !same) copy(*factors[f], copies[f]);
      vectors[f] = copies[f];
    }
    if (!few || out.layout->is_contiguous()) return vecdot(vectors[0], vectors[1], conjugate, out);
    const Array results = new_array(Layout::contiguous(out.layout->shape), dtype);
    vecdot(vectors[0], vectors[1], conjugate, results);
    return copy(results, out);
  }

  if (as_they_lie) {
    const Array products = new_array(dense_like(a.layout->shape, a.layout->strides), dtype);
    const Operand operands[] = {a, b};
    elementwise(Op::multiply, dtype, operands, products);
    bool reduced[max_ndim] = {};
    reduced[last] = true;
    return reduce(Reduction::sum, sums, products, {reduced, static_cast<std::size_t>(last + 1)},
                  nullptr, out);
  }

  // Short vectors take less time many at once, products and their sums one after the other.
  const bool fused =
      is_floating(dtype) && conjugate == is_complex(dtype) && n * size > short_dots_bytes;
  const i64 block = (fused ? long_bytes : block_bytes) / size;
  const i64 piece = std::min(n, block), pieces = (n - 1) / piece + 1;
  // Of vectors that lie across memory so many that whole pages of what they are read from are.
  i64 width = std::max<i64>(1, block / piece);
  for (int f = 0; f < 2; ++f) {
    const bool across = plan.stride[f][inner] == 1 && factors[f]->layout->strides[last] != 1;
    if (across && n > 1) width = std::max(width, across_bytes / (piece * size));
  }
  const Tiles tiles(plan, width);
  const ElementwiseKernel multiply = kernels().elementwise[static_cast<int>(Op::multiply)][d];
  const ElementwiseKernel conj = kernels().elementwise[static_cast<int>(Op::conj)][d];
  const ReduceRowsKernel add = kernels().reduce.rows[static_cast<int>(Reduction::sum)][d][0];
  const PairedDotsKernel kernel =
      kernels().paired_dots[is_complex(dtype)][real_dtype(dtype) == DType::float64];
  const i64 bytes = (tiles.width() * piece * size + 63) & ~i64{63};  // packed of an operand
  // Halves of vectors pay where one stream is read, not where two long ones are.
  const bool distant =
      (plan.count() > 1 || same) && 2 * plan.count() * n * size > second_cache_bytes();
  // The sums of elements [k, k + count) of the vectors of a tile.
  const auto dots = [&](const Tile& tile, i64 k, i64 count, char* to) {
    char* const scratch = thread_scratch<6>(3 * bytes);
    Vectors rows[2];
    for (int f = 0; f < 2; ++f) {
      if (f == 1 && same) {
        rows[1] = rows[0];
        break;
      }
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
      char* const conjugates = scratch + 2 * bytes;
      conj(in, conjugates, tile.width * count);
      in[0] = conjugates;
    }
    char* const products = scratch + 2 * bytes;
    multiply(in, products, tile.width * count);
    add(products, count * size, tile.width, count, nullptr, to);
  };
  const auto store = [&](const Tile& tile, char* results, char* cast) {
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
  const i64 result_bytes = tiles.width() * sum_size;
  if (pieces == 1) {
    const i64 per_task = std::max<i64>(1, (1 << 15) / (tiles.width() * n * size));
    parallel_for((tiles.count() - 1) / per_task + 1, work, [&](i64 task) {
      char* const results = thread_scratch<7>(2 * result_bytes);
      for (i64 t = task * per_task; t < std::min(tiles.count(), (task + 1) * per_task); ++t) {
        const Tile tile = tiles[t];
        dots(tile, 0, n, results);
        store(tile, results, results + result_bytes);
      }
    });
    return;
  }
  // Vectors of several pieces, whose sums, piece by piece, are added up as those of a vector are.
  const StorageRef partial = allocate(checked_bytes(pieces * outputs, sum_size));
  char* const parts = static_cast<char*>(partial->data);
  parallel_for(tiles.count() * pieces, work, [&](i64 task) {
    const Tile tile = tiles[task / pieces];
    const i64 p = task % pieces;
    dots(tile, p * piece, std::min(piece, n - p * piece),
         parts + (p * outputs + tile.position) * sum_size);
  });
  const ReduceRowsKernel add_sums =
      kernels().reduce.rows[static_cast<int>(Reduction::sum)][static_cast<int>(sums)][0];
  char* const scratch = thread_scratch<7>(2 * result_bytes + result_bytes * pieces);
  char* const rows = scratch + 2 * result_bytes;
  for (i64 t = 0; t < tiles.count(); ++t) {
    const Tile tile = tiles[t];
    kernels().copy[item_class(sum_size)](parts + tile.position * sum_size,
                                         {sum_size, outputs * sum_size}, rows,
                                         {pieces * sum_size, sum_size}, tile.width, pieces);
    add_sums(rows, pieces * sum_size, tile.width, pieces, nullptr, scratch);
    store(tile, scratch, scratch + result_bytes);
  }
}

}  // namespace arrayx::cpu
