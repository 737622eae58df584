#include "block_loop.hpp"

#include <cstring>

#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

using detail::magnitude;

inline constexpr int scratch_bytes = 16384;  // per operand; four of them fit an L1 or stay in L2

// Bytes of a result from which on it is written past the caches: more than a core's share of them.
inline constexpr std::int64_t stream_from = std::int64_t{1} << 24;

// Bytes that go past the caches at a time. The kernel writes them to L1 while the last ones leave
// and the next operands arrive: x + y then runs at the speed of a loop written for streaming;
// pieces of 8 KiB, with nothing fetched ahead, took twice as long.
inline constexpr std::int64_t streamed_bytes = 2048;

inline constexpr int line_bytes = 64;

// Elements of one block: every operand's part of it fits half a scratch buffer, so that a buffer
// can hold a packed block and the other half its cast.
int block_elements(int largest_itemsize) {
  return scratch_bytes / 2 / largest_itemsize;
}

// How the index space is cut: `length[d]` elements of dimension d per block, blocks visited with
// the last of `order` fastest.
struct Grid {
  Dims length;
  Dims blocks;  // per dimension
  Dims order;   // dimensions
  std::int64_t count = 1;

  // `tile` elements along the tile dimension of a transposed plan.
  Grid(const Plan& plan, std::int64_t budget, std::int64_t tile) {
    const int n = plan.ndim(), inner = n - 1;
    length = Dims(n, 1);
    const auto take = [&](int d, std::int64_t most) {
      length[d] = std::min(plan.size[d], std::max<std::int64_t>(1, std::min(budget, most)));
      budget /= length[d];
    };
    if (plan.kind == LoopKind::transposed) {
      take(plan.tile_dim, tile);
    }
    take(inner, budget);
    // Short rows: more of them to a block, as long as whole dimensions fit. Long ones stay alone,
    // so that contiguous operands need no packing.
    if (length[inner] == plan.size[inner] && length[inner] < 256) {
      for (int d = inner - 1; d >= 0 && budget > 1; --d) {
        if (length[d] == 1) take(d, budget);
        if (length[d] != plan.size[d]) break;
      }
    }
    for (int d = 0; d < n; ++d) order.push_back(d);
    finish(plan);
  }

  Grid(const Plan& plan, Dims lengths, Dims visited)
      : length(std::move(lengths)), order(std::move(visited)) {
    finish(plan);
  }

 private:
  void finish(const Plan& plan) {
    blocks = Dims(plan.ndim(), 1);
    for (int d = 0; d < plan.ndim(); ++d) {
      blocks[d] = (plan.size[d] - 1) / length[d] + 1;
      count *= blocks[d];
    }
  }
};

// One block of a Grid after the other: where it starts and its size in each dimension.
struct GridPlace {
  Dims index, start, sizes;

  GridPlace(const Plan& plan, const Grid& grid, std::int64_t block)
      : index(plan.ndim()), start(plan.ndim()), sizes(plan.ndim()), plan_(plan), grid_(grid) {
    for (int i = plan.ndim() - 1; i >= 0; --i) {
      const int d = static_cast<int>(grid.order[i]);
      index[d] = block % grid.blocks[d];
      block /= grid.blocks[d];
      place(d);
    }
  }

  void next() {
    for (int i = plan_.ndim() - 1; i >= 0; --i) {
      const int d = static_cast<int>(grid_.order[i]);
      const bool carry = ++index[d] == grid_.blocks[d];
      if (carry) index[d] = 0;
      place(d);
      if (!carry) return;
    }
  }

  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t s : sizes) n *= s;
    return n;
  }
  // Of an operand with these strides.
  std::int64_t offset(const Dims& strides) const {
    std::int64_t sum = 0;
    for (int d = 0; d < start.size(); ++d) sum += start[d] * strides[d];
    return sum;
  }

 private:
  void place(int d) {
    start[d] = index[d] * grid_.length[d];
    sizes[d] = std::min(grid_.length[d], plan_.size[d] - start[d]);
  }

  const Plan& plan_;
  const Grid& grid_;
};

// Row-major strides, in bytes, of a packed block.
void packed_strides(const Dims& sizes, int itemsize, Dims& strides) {
  strides.resize(sizes.size());
  std::int64_t step = itemsize;
  for (int d = sizes.size() - 1; d >= 0; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
}

// Whether a block of these sizes lies in memory the way a packed one does.
bool lies_packed(const Dims& sizes, const Dims& strides, const Dims& packed) {
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] > 1 && strides[d] != packed[d]) return false;
  }
  return true;
}

// Fetches as many bytes as have just been read at p from behind them.
void fetch(const char* p, std::int64_t bytes) {
  for (std::int64_t b = 0; b < bytes; b += line_bytes) __builtin_prefetch(p + bytes + b);
}

// Copies a packed block past the caches to where rows of its last dimension are contiguous.
void stream_box(const char* in, char* out, const Dims& strides, const Dims& sizes, int itemsize) {
  const int n = sizes.size();
  const std::int64_t row = sizes[n - 1] * itemsize;
  std::int64_t rows = 1;
  for (int d = 0; d < n - 1; ++d) rows *= sizes[d];
  Dims index(n);
  for (std::int64_t r = 0; r < rows; ++r, in += row) {
    kernels().stream(in, out, row);
    for (int d = n - 2; d >= 0; --d) {
      out += strides[d];
      if (++index[d] < sizes[d]) break;
      out -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
}

void cast_elements(DType from, DType to, const void* in, void* out, std::int64_t n) {
  kernels().cast[static_cast<int>(from)][static_cast<int>(to)](&in, out, n);
}

}  // namespace

void copy_box(const char* in, const Dims& in_strides, char* out, const Dims& out_strides,
              const Dims& sizes, int itemsize) {
  // The dimensions that are walked, innermost last; a transposing pair goes to the kernel together.
  int axes[64];
  int n = 0;
  for (int d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (n < 64) axes[n++] = d;
  }
  const CopyKernel kernel = kernels().copy[item_class(itemsize)];
  if (n == 0) {
    kernel(in, {0, 0}, out, {0, 0}, 1, 1);
    return;
  }
  const int inner = axes[n - 1];
  if (n == 1) {
    kernel(in, {0, in_strides[inner]}, out, {0, out_strides[inner]}, 1, sizes[inner]);
    return;
  }
  int row = n - 2;
  for (int i = 0; i < n - 1; ++i) {
    if (in_strides[axes[i]] == itemsize) row = i;
  }
  const int r = axes[row];
  for (int i = row; i + 2 < n; ++i) axes[i] = axes[i + 1];
  n -= 2;
  const Strides2D si{in_strides[r], in_strides[inner]}, so{out_strides[r], out_strides[inner]};
  if (n == 0) {
    kernel(in, si, out, so, sizes[r], sizes[inner]);
    return;
  }
  std::int64_t index[64] = {};
  while (true) {
    kernel(in, si, out, so, sizes[r], sizes[inner]);
    int i = n - 1;
    for (; i >= 0; --i) {
      const int d = axes[i];
      in += in_strides[d];
      out += out_strides[d];
      if (++index[i] < sizes[d]) break;
      in -= sizes[d] * in_strides[d];
      out -= sizes[d] * out_strides[d];
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

Plan plan_of(const Operand* const* operands, int count) {
  const Dims* strides[plan_operands];
  const Dims* shape = nullptr;
  for (int k = 0; k < count; ++k) {
    strides[k] = operands[k]->host_scalar ? nullptr : &operands[k]->layout->strides;
    if (!operands[k]->host_scalar) shape = &operands[k]->layout->shape;
  }
  return make_plan(*shape, strides, count);
}

void run_blocks(const Plan& plan, const LoopOperand* operands, BlockKernel kernel) {
  if (plan.kind == LoopKind::empty) return;
  const int K = plan.operands, out = K - 1, n = plan.ndim(), inner = n - 1;
  const KernelTable& table = kernels();

  std::array<bool, plan_operands> constant{};  // the same element everywhere
  std::array<bool, plan_operands> cast{};
  bool direct = plan.kind == LoopKind::contiguous;
  int largest = 1, bytes_per_element = 0;
  for (int k = 0; k < K; ++k) {
    constant[k] = k != out;
    for (std::int64_t s : plan.stride[k]) constant[k] &= s == 0;
    cast[k] = operands[k].memory != operands[k].kernel;
    direct &= constant[k] || (!cast[k] && plan.stride[k][0] == 1);
    largest = std::max({largest, itemsize(operands[k].memory), itemsize(operands[k].kernel)});
    bytes_per_element += constant[k] ? 0 : itemsize(operands[k].memory);
  }
  const std::int64_t total = plan.count();
  const std::int64_t block = block_elements(largest);

  // Constants are repeated once into a block of their own that all threads read.
  alignas(64) char constants[plan_operands - 1][scratch_bytes / 2];
  for (int k = 0; k < out; ++k) {
    if (!constant[k]) continue;
    const int size = itemsize(operands[k].kernel);
    alignas(16) char element[16];
    std::memcpy(element, operands[k].data, itemsize(operands[k].memory));
    if (cast[k]) {
      alignas(16) char raw[16];
      std::memcpy(raw, element, sizeof raw);
      cast_elements(operands[k].memory, operands[k].kernel, raw, element, 1);
    }
    table.copy[item_class(size)](element, {0, 0}, constants[k], {0, size}, 1,
                                 std::min(block, total));
  }
  // A large result goes past the caches, by way of a block in L1; not where it overwrites an
  // operand, whose lines have been fetched already.
  bool streamed =
      total * itemsize(operands[out].memory) >= stream_from && plan.stride[out][inner] == 1;
  for (int k = 0; k < out; ++k) streamed &= operands[k].data != operands[out].data;
  const bool any_constant = constant[0] || (K > 2 && constant[1]) || (K > 3 && constant[2]);

  if (direct) {
    // Straight from memory to memory; in chunks for the threads, and in blocks where a constant is
    // read from its block.
    std::int64_t chunk = std::max<std::int64_t>(parallel_grain / std::max(bytes_per_element, 1), 1);
    chunk = (chunk + 63) / 64 * 64;
    const int out_size = itemsize(operands[out].memory);
    char* const out_data = operands[out].data;
    parallel_for((total + chunk - 1) / chunk, total * bytes_per_element, [&](std::int64_t c) {
      alignas(64) char scratch[streamed_bytes];
      const std::int64_t end = std::min(total, (c + 1) * chunk);
      const std::int64_t step = streamed       ? std::min(block, streamed_bytes / out_size)
                                : any_constant ? block
                                               : chunk;
      for (std::int64_t i = c * chunk; i < end; i += step) {
        const void* in[plan_operands];
        for (int k = 0; k < out; ++k) {
          in[k] = constant[k] ? constants[k] : operands[k].data + i * itemsize(operands[k].memory);
        }
        const std::int64_t n = std::min(step, end - i);
        char* const target = out_data + i * out_size;
        if (!streamed) {
          kernel(in, target, n);
          continue;
        }
        kernel(in, scratch, n);
        for (int k = 0; k < out; ++k) {
          if (!constant[k])
            fetch(static_cast<const char*>(in[k]), n * itemsize(operands[k].memory));
        }
        table.stream(scratch, target, n * out_size);
      }
      if (streamed) table.stream_fence();
    });
    return;
  }

  std::array<Dims, plan_operands> stride;  // bytes
  int tiled = largest;
  for (int k = 0; k < K; ++k) {
    const int size = itemsize(operands[k].memory);
    if (plan.kind == LoopKind::transposed && magnitude(plan.stride[k][plan.tile_dim]) == 1) {
      tiled = std::min(tiled, size);
    }
    stride[k] = plan.stride[k];
    for (std::int64_t& s : stride[k]) s *= size;
  }
  // Large transposed operands are packed for rows as long as a block, in L2: so both they and the
  // others are read straight on.
  const bool large = plan.kind == LoopKind::transposed && total * bytes_per_element >= stream_from;
  const std::int64_t tile = (large ? 2 : 1) * std::max(8, line_bytes / tiled);
  const Grid grid(plan, large ? tile * block : block, tile);
  std::int64_t elements_per_block = 1;
  for (std::int64_t l : grid.length) elements_per_block *= l;
  const std::int64_t buffer_bytes = (elements_per_block * largest + 63) / 64 * 64;
  const std::int64_t per_chunk =
      std::max<std::int64_t>(1, (large ? 1 << 17 : 16384) / elements_per_block);
  parallel_for(
      (grid.count + per_chunk - 1) / per_chunk, total * bytes_per_element, [&](std::int64_t c) {
        alignas(64) char piece[streamed_bytes];
        char* buffer = thread_scratch<2>(2 * K * buffer_bytes);
        std::array<char*, plan_operands> packed{}, converted{};
        for (int k = 0; k < K; ++k) {
          packed[k] = buffer + 2 * k * buffer_bytes;
          converted[k] = packed[k] + buffer_bytes;
        }
        Dims block_strides;
        std::int64_t b = c * per_chunk;
        const std::int64_t end = std::min(grid.count, b + per_chunk);
        GridPlace place(plan, grid, b);
        const Dims& sizes = place.sizes;
        for (; b < end; ++b, place.next()) {
          const std::int64_t count = place.count();
          std::array<char*, plan_operands> at;
          for (int k = 0; k < K; ++k) at[k] = operands[k].data + place.offset(stride[k]);
          const std::int64_t columns = sizes[inner];
          const std::int64_t rows = count / columns;
          // Where the kernel finds each operand: row after row at `pitch`, or (pitch = columns)
          // packed.
          std::array<char*, plan_operands> source;
          std::array<bool, plan_operands> in_rows{};  // used where it lies, row by row
          bool by_rows = false;
          for (int k = 0; k < K; ++k) {
            const int size = itemsize(operands[k].memory);
            const DType from = operands[k].memory, to = operands[k].kernel;
            if (constant[k]) {
              source[k] = constants[k];
              continue;
            }
            packed_strides(sizes, size, block_strides);
            const bool whole = lies_packed(sizes, stride[k], block_strides);
            const bool rowwise = columns == 1 || stride[k][inner] == size;
            if (!cast[k] && (whole || (rowwise && columns >= 16))) {
              source[k] = at[k];
              in_rows[k] = !whole || (k == out && streamed);
              by_rows |= in_rows[k];
              continue;
            }
            if (k == out) {
              source[k] = cast[k] ? converted[k] : packed[k];
              continue;
            }
            char* raw = at[k];
            if (!whole) {
              raw = packed[k];
              copy_box(at[k], stride[k], raw, block_strides, sizes, size);
            }
            source[k] = raw;
            if (cast[k]) {
              cast_elements(from, to, raw, converted[k], count);
              source[k] = converted[k];
            }
          }
          by_rows |= any_constant && count > block;  // constants are a block long
          if (!by_rows) {
            const void* in[plan_operands];
            for (int k = 0; k < out; ++k) in[k] = source[k];
            kernel(in, source[out], count);
          } else {
            Dims row_index(n);
            std::array<std::int64_t, plan_operands> offset{};  // of rows used where they lie
            for (std::int64_t r = 0; r < rows; ++r) {
              const void* in[plan_operands];
              char* row[plan_operands];
              for (int k = 0; k < K; ++k) {
                row[k] = source[k];
                if (in_rows[k]) {
                  row[k] += offset[k];
                } else if (!constant[k]) {
                  row[k] += r * columns * itemsize(operands[k].kernel);
                }
                in[k] = row[k];
              }
              if (in_rows[out] && streamed) {
                const int size = itemsize(operands[out].memory);
                const std::int64_t step = streamed_bytes / size;
                for (std::int64_t j = 0; j < columns; j += step) {
                  const std::int64_t m = std::min(step, columns - j);
                  kernel(in, piece, m);
                  for (int k = 0; k < out; ++k) {
                    if (constant[k]) continue;
                    const char* p = static_cast<const char*>(in[k]);
                    const std::int64_t bytes = m * itemsize(operands[k].kernel);
                    if (in_rows[k]) fetch(p, bytes);
                    in[k] = p + bytes;
                  }
                  table.stream(piece, row[out] + j * size, m * size);
                }
              } else {
                kernel(in, row[out], columns);
              }
              for (int d = inner - 1; d >= 0; --d) {
                const bool carry = ++row_index[d] == sizes[d];
                for (int k = 0; k < K; ++k) {
                  offset[k] += carry ? -(sizes[d] - 1) * stride[k][d] : stride[k][d];
                }
                if (!carry) break;
                row_index[d] = 0;
              }
            }
          }
          if (source[out] == converted[out] || source[out] == packed[out]) {
            const DType from = operands[out].kernel, to = operands[out].memory;
            const int size = itemsize(to);
            packed_strides(sizes, size, block_strides);
            const char* raw = source[out];
            const bool whole = lies_packed(sizes, stride[out], block_strides);
            if (cast[out]) {
              char* target = whole && !streamed ? at[out] : packed[out];
              cast_elements(from, to, raw, target, count);
              raw = target;
            }
            if (streamed) {
              stream_box(raw, at[out], stride[out], sizes, size);
            } else if (!whole) {
              copy_box(raw, block_strides, at[out], stride[out], sizes, size);
            }
          }
        }
        if (streamed) table.stream_fence();
      });
}

namespace {

// A large transposed copy: strips of the input, read side by side and written past the caches.
// False where it is small, or where strips would not be a cache line wide.
bool stream_transposed(const Plan& plan, const char* in, char* out, int itemsize) {
  const int n = plan.ndim(), inner = n - 1, tile = plan.tile_dim;
  if (plan.kind != LoopKind::transposed || plan.count() * itemsize < stream_from ||
      plan.stride[0][tile] != 1 || plan.stride[1][inner] != 1 || plan.size[tile] < 16 ||
      plan.size[inner] * itemsize < 128) {
    return false;
  }
  Dims length(n, 1), order;
  length[inner] = std::min<std::int64_t>({512 / itemsize, most_streamed_columns, plan.size[inner]});
  const std::int64_t piece = std::int64_t{1} << 20;  // bytes of a chunk, about
  length[tile] = std::min(plan.size[tile], piece / (length[inner] * itemsize));
  // In the order of the input's memory, but for the strips.
  for (int d = 0; d < n; ++d) {
    int at = order.size();
    while (at > 0 && magnitude(plan.stride[0][static_cast<int>(order[at - 1])]) <
                         magnitude(plan.stride[0][d])) {
      --at;
    }
    order.insert(at, d);
  }
  Dims in_strides = plan.stride[0], out_strides = plan.stride[1];
  for (std::int64_t& s : in_strides) s *= itemsize;
  for (std::int64_t& s : out_strides) s *= itemsize;
  const Grid grid(plan, length, order);
  const std::int64_t per_chunk =
      std::max<std::int64_t>(1, piece / (length[inner] * length[tile] * itemsize));
  const StreamTransposeKernel kernel = kernels().stream_transpose[item_class(itemsize)];
  parallel_for((grid.count + per_chunk - 1) / per_chunk, 2 * plan.count() * itemsize,
               [&](std::int64_t c) {
                 std::int64_t b = c * per_chunk;
                 const std::int64_t end = std::min(grid.count, b + per_chunk);
                 GridPlace place(plan, grid, b);
                 const char* p = in + place.offset(in_strides);
                 for (; b < end; ++b) {
                   const Dims start = place.start, sizes = place.sizes;
                   const std::int64_t before = start[inner];
                   const std::int64_t beyond = plan.size[inner] - before - sizes[inner];
                   char* q = out + place.offset(out_strides);
                   place.next();
                   const char* next = b + 1 < end ? in + place.offset(in_strides) : p;
                   kernel(p, in_strides[inner], q, out_strides[tile], sizes[tile], sizes[inner],
                          before == 0, beyond, next);
                   p = next;
                 }
                 kernels().stream_fence();
               });
  return true;
}

}  // namespace

void run_copy(const Plan& plan, const char* in, char* out, int itemsize) {
  if (plan.kind == LoopKind::empty) return;
  const std::int64_t total = plan.count(), work = 2 * total * itemsize;
  if (plan.kind == LoopKind::contiguous && plan.stride[0][0] == 1 && plan.stride[1][0] == 1) {
    const std::int64_t chunk = parallel_grain, bytes = total * itemsize;
    const bool streamed = bytes >= stream_from;
    parallel_for((bytes + chunk - 1) / chunk, work, [&](std::int64_t c) {
      const std::int64_t count = std::min(chunk, bytes - c * chunk);
      if (!streamed) {
        std::memcpy(out + c * chunk, in + c * chunk, count);
        return;
      }
      kernels().stream(in + c * chunk, out + c * chunk, count);
      kernels().stream_fence();
    });
    return;
  }
  if (stream_transposed(plan, in, out, itemsize)) return;
  // Blocks need no scratch here; a larger one costs less bookkeeping, a tile stays within L1.
  const Grid grid(plan, plan.kind == LoopKind::transposed ? 16384 / itemsize : 65536 / itemsize,
                  std::max(8, line_bytes / itemsize));
  Dims in_strides = plan.stride[0], out_strides = plan.stride[1];
  for (std::int64_t& s : in_strides) s *= itemsize;
  for (std::int64_t& s : out_strides) s *= itemsize;
  std::int64_t elements_per_block = 1;
  for (std::int64_t l : grid.length) elements_per_block *= l;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, 65536 / itemsize / elements_per_block);
  parallel_for((grid.count + per_chunk - 1) / per_chunk, work, [&](std::int64_t c) {
    std::int64_t b = c * per_chunk;
    const std::int64_t end = std::min(grid.count, b + per_chunk);
    GridPlace place(plan, grid, b);
    for (; b < end; ++b, place.next()) {
      copy_box(in + place.offset(in_strides), in_strides, out + place.offset(out_strides),
               out_strides, place.sizes, itemsize);
    }
  });
}

}  // namespace arrayx::cpu
