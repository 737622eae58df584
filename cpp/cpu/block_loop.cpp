#include "block_loop.hpp"

#include <cstring>

#include "items.hpp"
#include "parallel.hpp"
#include "short_rows.hpp"
#include "tiles.hpp"
#include "unroll.hpp"

namespace arrayx::cpu {

namespace {

using detail::magnitude;

inline constexpr int scratch_bytes = 16384;  // per operand; four of them fit an L1 or stay in L2

// Bytes of an operand packed at a time in a row; in boxes of several rows, whose bookkeeping costs
// more, twice as many where that reads more lines than it writes. The lines of three operands and
// their blocks then fit an L1: x[:, ::2] + y[:, ::2] takes half to four fifths of its time with 8
// KiB.
inline constexpr int packed_bytes = 2048;

// Bytes that go past the caches at a time where all operands are read straight on: -x and x + y run
// at 90 to 95 % of a copy's speed then; pieces of 1 KiB take a sixth and a twentieth longer, of 256
// bytes a quarter. What goes along rows takes longer in pieces of less than streamed_bytes.
inline constexpr std::int64_t straight_bytes = streamed_bytes / 2;

// Elements of one block: every operand's part of it fits half a scratch buffer, so that a buffer
// can hold a packed block and the other half its cast.
int block_elements(int largest_itemsize) {
  return scratch_bytes / 2 / largest_itemsize;
}

// The dimension along which what is fastest in the tile dimension goes on where it ends along
// dimension d, or -1.
int dim_beyond(const Plan& plan, int d) {
  for (int k = 0; k < plan.operands; ++k) {
    const Dims& stride = plan.stride[k];
    if (detail::dim_across(plan, k) != plan.tile_dim) continue;
    for (int e = 0; e < plan.ndim(); ++e) {
      if (stride[e] == plan.size[d] * stride[d]) return e;
    }
    return -1;
  }
  return -1;
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
      // And along whole dimensions that go on where it ends, while they are short.
      for (int d = plan.tile_dim; length[d] == plan.size[d];) {
        tile /= plan.size[d];
        d = dim_beyond(plan, d);
        if (d < 0 || d == inner || plan.size[d] > tile) break;
        take(d, tile);
      }
    }
    take(inner, budget);
    // More rows to a block, as long as whole dimensions fit.
    if (length[inner] == plan.size[inner]) {
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

  std::int64_t elements_per_block() const {
    std::int64_t n = 1;
    for (std::int64_t l : length) n *= l;
    return n;
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

  // To the block on the other side of the diagonal of two dimensions that are cut alike.
  void mirror(int a, int b) {
    std::swap(index[a], index[b]);
    place(a);
    place(b);
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

Dims permuted(const Dims& dims, const Dims& order) {
  Dims out;
  for (std::int64_t d : order) out.push_back(dims[static_cast<int>(d)]);
  return out;
}

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

// Copies a box past the caches, between strides of which the last are an item. What is at `next` is
// read after it.
void stream_box(const char* in, const Dims& in_strides, char* out, const Dims& out_strides,
                const Dims& sizes, int itemsize, const char* next = nullptr) {
  const int n = sizes.size();
  const std::int64_t row = sizes[n - 1] * itemsize;
  std::int64_t rows = 1;
  for (int d = 0; d < n - 1; ++d) rows *= sizes[d];
  Dims index(n);
  for (std::int64_t r = 0; r < rows; ++r) {
    const char* const from = in;
    char* const to = out;
    for (int d = n - 2; d >= 0; --d) {
      in += in_strides[d];
      out += out_strides[d];
      if (++index[d] < sizes[d]) break;
      in -= sizes[d] * in_strides[d];
      out -= sizes[d] * out_strides[d];
      index[d] = 0;
    }
    kernels().stream(from, to, row, r + 1 < rows ? in : next);
  }
}

// Of n items that go past the caches to `target` those up to the last end of a line: what follows
// begins there then, and no line is written in two parts.
std::int64_t whole_lines(const char* target, std::int64_t n, std::int64_t itemsize) {
  const auto over = static_cast<std::int64_t>(
      (reinterpret_cast<std::uintptr_t>(target) + n * itemsize) % line_bytes);
  return over % itemsize == 0 && over < n * itemsize ? n - over / itemsize : n;
}

Dims in_bytes(Dims strides, int itemsize) {
  for (std::int64_t& s : strides) s *= itemsize;
  return strides;
}

void cast_elements(DType from, DType to, const void* in, void* out, std::int64_t n) {
  kernels().cast[static_cast<int>(from)][static_cast<int>(to)](&in, out, n);
}

// So many at least are worth a call of a kernel.
constexpr std::int64_t few_elements = 16;

// Of a box with many short dimensions so many places are listed at a time: about eight lines of
// either side, which a set of an L1 holds where they are powers of two apart. More where fewer
// would be but a few.
constexpr std::int64_t most_listed = 128;

// Puts axes last of a box, without changing their order otherwise, whose places are listed: by
// turns the last one left and that along which the input is nearest. The first of them; n, and
// nothing is put there, if they have few elements.
int near_axes(const Dims& in_strides, const Dims& sizes, int* axes, int n) {
  bool near[64] = {};
  std::int64_t count = 1;
  for (int turn = 0; turn < n; ++turn) {
    int chosen = -1;
    for (int i = 0; i < n; ++i) {
      if (near[i]) continue;
      const bool nearer =
          chosen < 0 || magnitude(in_strides[axes[i]]) < magnitude(in_strides[axes[chosen]]);
      if (turn % 2 == 0 || nearer) chosen = i;
    }
    const std::int64_t most = count < few_elements ? most_listed : most_listed / 2;
    if (count * sizes[axes[chosen]] > most) break;
    count *= sizes[axes[chosen]];
    near[chosen] = true;
  }
  if (count < few_elements) return n;
  int sorted[64], first = 0;
  for (int i = 0; i < n; ++i) {
    if (!near[i]) sorted[first++] = axes[i];
  }
  for (int i = 0, at = first; i < n; ++i) {
    if (near[i]) sorted[at++] = axes[i];
  }
  std::copy(sorted, sorted + n, axes);
  return first;
}

// Where the elements of axes [first, last) of a box lie, the last one fastest; how many they are.
std::int64_t list_places(const Dims& strides, const Dims& sizes, const int* axes, int first,
                         int last, std::int64_t* places) {
  std::int64_t count = 1;
  places[0] = 0;
  for (int i = last - 1; i >= first; --i) {
    const std::int64_t size = sizes[axes[i]], stride = strides[axes[i]], n = count;
    for (; count < size * n; ++count) places[count] = places[count - n] + stride;
  }
  return count;
}

void copy_listed(const char* in, const std::int64_t* in_places, char* out,
                 const std::int64_t* out_places, std::int64_t n, int itemsize) {
  dispatch_item(itemsize, [&](auto item) {
    using T = decltype(item);
    constexpr std::int64_t together = 8;
    const auto move = [&](std::int64_t i) {
      store(out + out_places[i], load<T>(in + in_places[i]));
    };
    std::int64_t i = 0;
    for (; i + together <= n; i += together) {
      ARRAYX_UNROLL
      for (std::int64_t j = 0; j < together; ++j) move(i + j);
    }
    for (; i < n; ++i) move(i);
  });
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
  std::int64_t nearest = magnitude(in_strides[inner]);
  for (int i = 0; i < n - 1; ++i) {
    const std::int64_t s = magnitude(in_strides[axes[i]]);
    if (s != 0 && s < nearest) {
      row = i;
      nearest = s;
    }
  }
  // Many short rows go to the kernel at a time, whichever dimension has them; a few items of 16
  // bytes rather by lists of places, see below.
  constexpr std::int64_t few = 8, short_bytes = 128;
  if (sizes[axes[row]] < few && sizes[inner] * itemsize <= short_bytes &&
      (itemsize < 16 || sizes[inner] >= few)) {
    for (int i = 0; i < n - 1; ++i) {
      if (sizes[axes[i]] > 4 * sizes[axes[row]]) row = i;
    }
  }
  // Of many dimensions of a few each, the kernel would do a few elements at a time, and squares of
  // registers do not pay where rows do not fill one.
  std::int64_t in_places[most_listed], out_places[most_listed], listed = 0;
  const std::int64_t least = std::min(sizes[axes[row]], sizes[inner]);
  const std::int64_t plane = sizes[axes[row]] * sizes[inner];
  const std::int64_t most = least <= 2 ? 24 : itemsize < 8 ? 64 : 64 - 2 * itemsize;
  const bool narrow = in_strides[axes[row]] == itemsize && least < few && plane <= most;
  if (n > 2 && (plane < few_elements || narrow)) {
    const int first = near_axes(in_strides, sizes, axes, n);
    if (first < n) {
      listed = list_places(in_strides, sizes, axes, first, n, in_places);
      list_places(out_strides, sizes, axes, first, n, out_places);
      n = first;
    } else {
      for (int i = 0; i < n - 1; ++i) {
        if (sizes[axes[i]] > sizes[axes[row]]) row = i;
      }
    }
  }
  const int r = axes[row];
  const Strides2D si{in_strides[r], in_strides[inner]}, so{out_strides[r], out_strides[inner]};
  if (listed == 0) {
    for (int i = row; i + 2 < n; ++i) axes[i] = axes[i + 1];
    n -= 2;
  }
  std::int64_t index[64] = {};
  while (true) {
    if (listed > 0) {
      copy_listed(in, in_places, out, out_places, listed, itemsize);
    } else {
      kernel(in, si, out, so, sizes[r], sizes[inner]);
    }
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

namespace {

// Bytes of operand k, each of its elements once however often the loop uses it.
std::int64_t distinct_bytes(const Plan& plan, int k, int itemsize) {
  std::int64_t bytes = itemsize;
  for (int d = 0; d < plan.ndim(); ++d) bytes *= plan.stride[k][d] == 0 ? 1 : plan.size[d];
  return bytes;
}

// How many rows a tile of a transposed loop has: `rows`, or as many short ones that are neighbours
// as fill a block.
std::int64_t tile_rows(const Plan& plan, std::int64_t budget, std::int64_t rows) {
  constexpr std::int64_t few_columns = 64;
  if (plan.kind != LoopKind::transposed || plan.tile_dim != plan.ndim() - 2 ||
      plan.size.back() > few_columns) {
    return rows;
  }
  return std::max(rows, budget / plan.size.back());
}

// How many rows a tile of a transposed copy has: what fills a line of the input, or so many that
// the lines of rows of a few items stay in an L1 until they are full. More where other dimensions
// lie between those and the rows: each of their elements has lines elsewhere.
std::int64_t rows_of_copy(const Plan& plan, int itemsize) {
  constexpr std::int64_t fewest = 8;
  const std::int64_t rows = std::max<std::int64_t>(fewest, line_bytes / itemsize);
  if (plan.kind != LoopKind::transposed) return rows;
  const int tile = plan.tile_dim;
  const std::int64_t apart = plan.stride[1][tile] * itemsize;
  if (tile < plan.ndim() - 2 && plan.size[tile] * itemsize > line_bytes) {
    std::int64_t more = 4 * line_bytes / itemsize;
    while (more > rows && share_few_sets(more, apart)) more /= 2;
    return std::max(rows, std::min(more, plan.size[tile]));
  }
  return plan.size.back() <= fewest && share_few_sets(rows, apart) ? fewest : rows;
}

// Whether a copy goes in Strips, see below: they must be a line wide. It pays within the last
// cache, too, where tiles of bytes take up to five times as long.
bool fits_strips(const Plan& plan, int itemsize) {
  const int inner = plan.ndim() - 1, tile = plan.tile_dim;
  return plan.kind == LoopKind::transposed && plan.count() * itemsize >= stream_from &&
         plan.stride[0][tile] == 1 && plan.stride[1][inner] == 1 && plan.size[tile] >= 16 &&
         plan.size[inner] * itemsize >= line_bytes;
}

// One call of run_blocks: what is known of the operands, and the four ways to visit the elements.
class BlockLoop {
 public:
  BlockLoop(const Plan& plan, const LoopOperand* operands, BlockKernel kernel,
            std::int64_t arithmetic, std::optional<Op> op, StreamingKernel streaming)
      : plan_(plan),
        operands_(operands),
        kernel_(kernel),
        arithmetic_(arithmetic),
        op_(op),
        streaming_(streaming),
        total_(plan.count()) {
    direct_ = plan.kind == LoopKind::contiguous;
    for (int k = 0; k <= out_; ++k) {
      const int size = itemsize(operands[k].memory);
      constant_[k] = k != out_;
      for (std::int64_t s : plan.stride[k]) constant_[k] &= s == 0;
      cast_[k] = operands[k].memory != operands[k].kernel;
      direct_ &= constant_[k] || (!cast_[k] && plan.stride[k][0] == 1);
      largest_ = std::max({largest_, size, itemsize(operands[k].kernel)});
      bytes_per_element_ += constant_[k] ? 0 : size;
      any_constant_ |= constant_[k];
    }
    for (int k = 0; k <= out_; ++k) twin_[k] = twin_of(k);
    block_ = block_elements(largest_);
    element_cost_bytes_ = std::max<std::int64_t>({std::int64_t{bytes_per_element_}, arithmetic, 1});
    // Constants are repeated once into a block of their own that all threads read.
    for (int k = 0; k < out_; ++k) {
      if (constant_[k]) repeat_constant(k);
    }
    // A large result goes past the caches, by way of a block in L1; not where it overwrites an
    // operand, whose lines have been fetched already, and later where arithmetic takes longer than
    // the fetching of lines would.
    const std::int64_t result_bytes = total_ * itemsize(operands[out_].memory);
    std::int64_t moved = 0;
    for (int k = 0; k <= out_; ++k) moved += distinct_bytes(plan, k, itemsize(operands[k].memory));
    past_caches_ = goes_past_caches(result_bytes, moved);
    if (op && moved > second_cache_bytes()) {
      const BlockKernel from_afar = of_operation(table_.elementwise_from_afar, *op);
      if (from_afar) kernel_ = from_afar;
    }
    if (op && constant_[1]) {
      const BlockKernel by_constant = of_operation(table_.elementwise_by_constant, *op);
      if (by_constant) kernel_ = by_constant;
    }
    streamed_ = past_caches_ &&
                (arithmetic <= bytes_per_element_ || result_bytes >= 4 * stream_from) &&
                plan.stride[out_][inner_] == 1;
    for (int k = 0; k < out_; ++k) streamed_ &= operands[k].data != operands[out_].data;
    // Nor, but from the kernel itself, where it is small beside what is read: pieces then cost more
    // than its lines; or where arithmetic, which takes longer, would wait for them.
    const bool small = bytes_per_element_ > 4 * itemsize(operands[out_].memory);
    const bool waits = arithmetic > bytes_per_element_ && !streams_beside_arithmetic;

    for (int k = 0; k <= out_; ++k) {
      stride_[k] = plan.stride[k];
      for (std::int64_t& s : stride_[k]) s *= itemsize(operands[k].memory);
    }
    if (op && !direct_) rows_kernel_ = rows_kernel(*op);
    if (streamed_) stream_kernel_ = stream_kernel(op, streaming);
    streamed_ &= stream_kernel_ || !(small || waits);
  }

  void run() {
    if (direct_) {
      run_direct();
    } else if (rows_kernel_ || rows_pay()) {
      run_rows();
    } else if (copies_pay()) {
      run_after_copies();
    } else {
      run_boxes();
    }
  }

 private:
  // The first operand that is the same as operand k, and is read in its place.
  int twin_of(int k) const {
    for (int l = 0; l < k && k < out_; ++l) {
      if (operands_[l].data == operands_[k].data && operands_[l].memory == operands_[k].memory &&
          operands_[l].kernel == operands_[k].kernel && plan_.stride[l] == plan_.stride[k]) {
        return l;
      }
    }
    return k;
  }

  void repeat_constant(int k) {
    const DType from = operands_[k].memory, to = operands_[k].kernel;
    const int size = itemsize(to);
    alignas(16) char element[16];
    std::memcpy(element, operands_[k].data, itemsize(from));
    if (cast_[k]) {
      alignas(16) char raw[16];
      std::memcpy(raw, element, sizeof raw);
      cast_elements(from, to, raw, element, 1);
    }
    table_.copy[item_class(size)](element, {0, 0}, constants_[k], {0, size}, 1,
                                  std::min(block_, total_));
  }

  // Elements of a thread's chunk: fewer where a thread gets few of them, so that the threads end
  // together.
  std::int64_t chunk_elements() const {
    const bool few = total_ * element_cost_bytes_ < 32 * parallel_grain;
    return ((few ? parallel_grain / 4 : parallel_grain) / element_cost_bytes_ / 64 + 1) * 64;
  }

  // Elements of a block beside constants, which lie in an L1 with what is read and written.
  std::int64_t beside_constants() const {
    const std::int64_t room = first_cache_bytes() / 4 * 3 / (out_ + 1) / largest_;
    return std::min(block_, room / line_bytes * line_bytes);
  }

  // The same where results go past the caches from the kernel: each chunk ends with a fence.
  std::int64_t stream_elements() const {
    const std::int64_t bytes =
        std::clamp(total_ * bytes_per_element_ / 64, parallel_grain, 8 * parallel_grain);
    return (bytes / bytes_per_element_ / 64 + 1) * 64;
  }

  // Whether arithmetic takes longer than moving the operands within the caches.
  bool computes() const { return element_cost_bytes_ > bytes_per_element_; }

  // Of a chunk the elements up to the first line of a long result that begins within one: vectors
  // that cross lines take a quarter longer to write.
  std::int64_t first_elements(const char* target, std::int64_t step) const {
    const int size = itemsize(operands_[out_].memory);
    const auto over =
        static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(target) % line_bytes);
    if (over == 0 || over % size != 0 || streamed_ || total_ * size < 4 * page_bytes) return step;
    return (line_bytes - over) / size;
  }

  // Straight from memory to memory; in blocks where a constant is read from its block.
  void run_direct() {
    const std::int64_t chunk = stream_kernel_ ? stream_elements() : chunk_elements();
    const int out_size = itemsize(operands_[out_].memory);
    char* const out_data = operands_[out_].data;
    Asked asked{0, true};
    for (int k = 0; k < out_; ++k) asked.from_memory |= unsigned{!constant_[k]} << k;
    // A streamed piece and what it is made from are in L1 at once.
    const std::int64_t step = streamed_ && !stream_kernel_
                                  ? std::min(block_, straight_bytes / largest_)
                              : any_constant_ ? beside_constants()
                                              : chunk;
    parallel_for((total_ + chunk - 1) / chunk, total_ * element_cost_bytes_,
                 [&](std::int64_t c) {
                   alignas(64) char scratch[straight_bytes];
                   const std::int64_t end = std::min(total_, (c + 1) * chunk);
                   for (std::int64_t i = c * chunk, n; i < end; i += n) {
                     const void* in[plan_operands];
                     for (int k = 0; k < out_; ++k) {
                       in[k] = constant_[k] ? constants_[k]
                                            : operands_[k].data + i * itemsize(operands_[k].memory);
                     }
                     char* const target = out_data + i * out_size;
                     n = std::min(i == c * chunk ? first_elements(target, step) : step, end - i);
                     if (!streamed_) {
                       kernel_(in, target, n);
                       continue;
                     }
                     if (stream_kernel_) {
                       if (i + n < total_) n = whole_lines(target, n, out_size);
                       stream_kernel_(in, target, n, asked);
                       continue;
                     }
                     kernel_(in, scratch, n);
                     for (int k = 0; k < out_; ++k) {
                       const int size = itemsize(operands_[k].memory);
                       if (!constant_[k])
                         fetch_pages(operands_[k].data, i * size, n * size, total_ * size);
                     }
                     table_.stream(scratch, target, n * out_size, nullptr);
                   }
                   if (streamed_) table_.stream_fence();
                 },
                 computes());
  }

  // Whether operand k is contiguous along rows and of the kernel's dtype.
  bool in_place(int k) const {
    return !cast_[k] && stride_[k][inner_] == itemsize(operands_[k].memory);
  }
  bool large() const { return total_ * bytes_per_element_ >= stream_from; }
  // Whether what rows are packed from is asked for. Where the hardware follows several places it is
  // a fifth slower so, but beside results that go past the caches and, backwards, from memory.
  bool asks_for_rows(bool backwards) const {
    return reading_asks != Asking::nothing || past_caches_ ||
           (backwards && total_ * bytes_per_element_ >= last_cache_bytes());
  }
  // Whether operand k is the same for one row and the next.
  bool repeats(int k) const { return inner_ > 0 && stride_[k][inner_ - 1] == 0; }

  // Whether to call the kernel once for each piece of a row. Shorter rows are rather packed into
  // blocks, unless an operand lies in rows that are apart and would be packed for nothing else.
  bool rows_pay() const {
    if (plan_.kind == LoopKind::transposed) return false;
    const std::int64_t columns = plan_.size[inner_];
    if (columns >= 256 || inner_ == 0) return true;
    if (columns < 16) return false;
    for (int k = 0; k <= out_; ++k) {
      if (!constant_[k] && in_place(k) && !repeats(k) &&
          stride_[k][inner_ - 1] != columns * stride_[k][inner_]) {
        return true;
      }
    }
    return false;
  }

  // Whether an operand has others between its elements, which come in the same lines.
  bool stepped() const {
    for (int k = 0; k <= out_; ++k) {
      if (magnitude(stride_[k][inner_]) > itemsize(operands_[k].memory)) return true;
    }
    return false;
  }

  // The kernel that takes all operands where they lie, if there is one and it pays: rows of less
  // than a line, and of less than streamed_bytes to a result that is streamed, go faster in blocks.
  RowsKernel rows_kernel(Op op) const {
    const std::int64_t row_bytes = plan_.size[inner_] * largest_;
    if (out_ != 2 || plan_.kind == LoopKind::transposed ||
        row_bytes < (streamed_ ? streamed_bytes : line_bytes)) {
      return nullptr;
    }
    Spacing spacing[3];
    for (int k = 0; k < 3; ++k) {
      const std::int64_t step = plan_.stride[k][inner_];
      if (cast_[k] || step < 0 || step > 2) return nullptr;
      spacing[k] = static_cast<Spacing>(step);
    }
    if (spacing[2] == Spacing::repeated) return nullptr;
    // Where all are next to each other a call for each row takes long beside short ones alone.
    constexpr std::int64_t short_row = 2048;
    if (spacing[0] == Spacing::next && spacing[1] == Spacing::next &&
        (streamed_ || row_bytes > short_row ||
         kernel_ == of_operation(table_.elementwise_from_afar, op))) {
      return nullptr;
    }
    return table_.rows(op, operands_[out_].kernel, spacing[0], spacing[1], spacing[2]);
  }

  // The kernel that writes past the caches itself, if there is one for these operands.
  StreamingKernel stream_kernel(std::optional<Op> op, StreamingKernel known) const {
    const auto place = reinterpret_cast<std::uintptr_t>(operands_[out_].data);
    if (cast_[out_] || rows_kernel_ || place % itemsize(operands_[out_].kernel) != 0) {
      return nullptr;
    }
    return op ? of_operation(table_.streaming, *op) : known;
  }

  // The operation's kernel of a table, for the dtype that it computes with.
  template <class Kernel>
  Kernel of_operation(const Kernel (&table)[op_count][dtype_count], Op op) const {
    const DType compute = operands_[op == Op::where ? 1 : 0].kernel;
    return table[static_cast<int>(op)][static_cast<int>(compute)];
  }

  // An operand that is packed for every block and no wider or narrower than a result that is
  // packed, too: the result may overwrite it, which keeps the block's data within L1. -1 if there
  // is none.
  int packed_for_once() const {
    const int size = itemsize(operands_[out_].kernel);
    for (int k = 0; k < out_; ++k) {
      bool once = !constant_[k] && !in_place(k) && itemsize(operands_[k].kernel) == size;
      for (int d = 0; d <= inner_; ++d) once &= stride_[k][d] != 0;
      if (once) return k;
    }
    return -1;
  }

  // Rows: what is contiguous along them is used where it lies, the rest is packed piece by piece.
  void run_rows() {
    const std::int64_t columns = plan_.size[inner_], rows = total_ / columns;
    const std::int64_t across = std::min(columns, chunk_elements());
    const std::int64_t down = std::max<std::int64_t>(1, chunk_elements() / columns);
    const std::int64_t chunks_across = (columns - 1) / across + 1;
    bool packs = any_constant_;
    for (int k = 0; k <= out_; ++k) packs |= !constant_[k] && !in_place(k);
    packs &= !rows_kernel_;
    // Long rows whose kernel goes past the caches itself need no pieces either.
    const bool in_pieces =
        streamed_ && (packs || !stream_kernel_ || across * largest_ < 4 * streamed_bytes);
    const std::int64_t step =
        in_pieces ? std::min(block_, (stream_kernel_ ? 2 : 1) * streamed_bytes / largest_)
        : packs   ? packed_bytes / largest_
                  : columns;
    const std::int64_t buffer_bytes =
        (std::min(step, columns) * largest_ + line_bytes - 1) / line_bytes * line_bytes;
    parallel_for(
        chunks_across * ((rows - 1) / down + 1), total_ * element_cost_bytes_,
        [&](std::int64_t c) {
          const std::int64_t first = c % chunks_across * across;
          const std::int64_t last = std::min(columns, first + across);
          const std::int64_t row = c / chunks_across * down;
          RowRun(*this, packs || streamed_ ? buffer_bytes : 0)
              .run(row, std::min(rows, row + down), first, last, step);
          if (streamed_) table_.stream_fence();
        },
        computes());
  }

  // The part of run_rows that a thread does at a time.
  class RowRun {
   public:
    RowRun(const BlockLoop& loop, std::int64_t buffer_bytes)
        : loop_(loop), index_(loop.plan_.ndim()), K_(loop.out_ + 1) {
      char* buffer = buffer_bytes > 0 ? thread_scratch<2>(2 * K_ * buffer_bytes) : nullptr;
      for (int k = 0; k < K_; ++k) {
        packed_[k] = buffer + 2 * k * buffer_bytes;
        converted_[k] = packed_[k] + buffer_bytes;
        in_place_[k] = loop.in_place(k);
        item_[k] = itemsize(loop.operands_[k].memory);
        step_[k] = loop.stride_[k][loop.inner_];
        next_[k] = loop.inner_ > 0 ? loop.stride_[k][loop.inner_ - 1] : 0;
        // Rows that are not read again and come from memory, but for those long and untouched; the
        // hardware itself follows items that are further apart.
        if (in_place_[k] && !loop.constant_[k] && !loop.repeats(k)) from_memory_ |= 1U << k;
        fetched_[k] = loop.large() && (loop.streamed_ || !in_place_[k]) && !loop.repeats(k) &&
                      step_[k] != 0 && magnitude(step_[k]) <= 4 * item_[k] &&
                      loop.asks_for_rows(step_[k] < 0);
        plain_ &= loop.rows_kernel_ || loop.constant_[k] || in_place_[k];
      }
      if (!in_place_[K_ - 1]) shared_ = loop.packed_for_once();
      plain_ &= !loop.streamed_ || loop.stream_kernel_;
    }

    void run(std::int64_t row, std::int64_t end, std::int64_t first, std::int64_t last,
             std::int64_t step) {
      const int outer = loop_.inner_ - 1;  // the dimension of the rows
      for (int k = 0; k < K_; ++k) at_[k] = loop_.operands_[k].data + first * step_[k];
      for (std::int64_t rest = row, d = outer; d >= 0; --d) {
        const int axis = static_cast<int>(d);
        index_[axis] = rest % loop_.plan_.size[axis];
        rest /= loop_.plan_.size[axis];
        for (int k = 0; k < K_; ++k) at_[k] += index_[axis] * loop_.stride_[k][axis];
      }
      while (row < end) {
        const std::int64_t left = outer < 0 ? 1 : loop_.plan_.size[outer] - index_[outer];
        const std::int64_t rows = std::min(left, end - row);
        if (plain_ && last - first <= step) {
          plain_rows(rows, last - first);
        } else {
          for (std::int64_t r = 0; r < rows; ++r) {
            for (std::int64_t j = 0, n; j < last - first; j += n) {
              n = std::min(step, last - first - j);
              const bool more = j + n < last - first;
              if (more && loop_.streamed_) {
                n = whole_lines(at_[K_ - 1] + j * step_[K_ - 1], n, step_[K_ - 1]);
              }
              piece(j, n, more);
            }
            for (int k = 0; k < K_; ++k) at_[k] += next_[k];
          }
        }
        row += rows;
        if (outer >= 0) carry(outer, rows);
      }
    }

   private:
    // Rows of which every operand lies where the kernel takes it.
    void plain_rows(std::int64_t rows, std::int64_t n) {
      const int out = K_ - 1;
      const void* in[plan_operands];
      for (int k = 0; k < out; ++k) in[k] = loop_.constant_[k] ? loop_.constants_[k] : at_[k];
      char* target = at_[out];
      for (int k = 0; k < K_; ++k) at_[k] += rows * next_[k];
      if (loop_.rows_kernel_) {
        loop_.rows_kernel_({{in[0], in[1]}, {next_[0], next_[1]}, target, next_[out], rows, n});
        return;
      }
      bool goes_on = true;  // whether a row begins on the page where the one before it ends
      for (int k = 0; k < out; ++k) {
        const std::int64_t gap = next_[k] - n * step_[k];
        goes_on &= loop_.constant_[k] || next_[k] == 0 || (gap >= 0 && gap < page_bytes);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        if (loop_.stream_kernel_) {
          for (int k = 0; k < out && !goes_on; ++k) {
            if (fetched_[k]) {
              fetch_items(static_cast<const char*>(in[k]) + next_[k],
                          std::min(n, streamed_bytes / magnitude(step_[k])), step_[k], item_[k]);
            }
          }
          loop_.stream_kernel_(in, target, n, {from_memory_, goes_on});
        } else {
          loop_.kernel_(in, target, n);
        }
        for (int k = 0; k < out; ++k) in[k] = static_cast<const char*>(in[k]) + next_[k];
        target += next_[out];
      }
    }

    // After `rows` more rows of dimension d.
    void carry(int d, std::int64_t rows) {
      index_[d] += rows;
      while (index_[d] == loop_.plan_.size[d]) {
        for (int k = 0; k < K_; ++k) at_[k] -= index_[d] * loop_.stride_[k][d];
        index_[d] = 0;
        if (--d < 0) return;
        ++index_[d];
        for (int k = 0; k < K_; ++k) at_[k] += loop_.stride_[k][d];
      }
    }

    // n elements from the j-th on; `more` if others of this row follow.
    void piece(std::int64_t j, std::int64_t n, bool more) {
      const int out = K_ - 1;
      const void* in[plan_operands];
      for (int k = 0; k < out; ++k) {
        if (loop_.twin_[k] < k) {
          in[k] = in[loop_.twin_[k]];
          continue;
        }
        in[k] = loop_.constant_[k] ? loop_.constants_[k] : source(k, at_[k] + j * step_[k], n);
        if (fetched_[k]) {
          fetch_items(at_[k] + (more ? (j + n) * step_[k] : next_[k]), n, step_[k], item_[k]);
        }
      }
      char* const target = at_[out] + j * step_[out];
      if (!in_place_[out]) {
        write(in, target, n);
      } else if (loop_.stream_kernel_) {
        loop_.stream_kernel_(in, target, n, {from_memory_, false});
      } else if (loop_.streamed_) {
        compute(in, packed_[out], n);
        loop_.table_.stream(packed_[out], target, n * step_[out], nullptr);
      } else {
        compute(in, target, n);
      }
    }
    void compute(const void* const* in, char* to, std::int64_t n) {
      if (loop_.rows_kernel_) {
        loop_.rows_kernel_({{in[0], in[1]}, {0, 0}, to, 0, 1, n});
      } else {
        loop_.kernel_(in, to, n);
      }
    }

    // n results to elements of another dtype, or not next to each other.
    void write(const void* const* in, char* target, std::int64_t n) {
      const int out = K_ - 1;
      const DType from = loop_.operands_[out].kernel, to = loop_.operands_[out].memory;
      const int size = itemsize(to);
      char* made = packed_[out];
      if (shared_ >= 0) {
        made = const_cast<char*>(static_cast<const char*>(in[shared_]));
        last_[shared_] = nullptr;
      }
      loop_.kernel_(in, made, n);
      const char* raw = made;
      if (loop_.cast_[out]) {
        const bool whole = step_[out] == size && !loop_.streamed_;
        char* const cast = whole ? target : converted_[out];
        cast_elements(from, to, made, cast, n);
        if (whole) return;
        raw = cast;
      }
      if (loop_.streamed_) {
        loop_.table_.stream(raw, target, n * size, nullptr);
      } else {
        loop_.table_.copy[item_class(size)](raw, {0, size}, target, {0, step_[out]}, 1, n);
      }
    }

    // n elements of operand k from p on as the kernel wants them. What has been packed for the
    // piece before is not packed again.
    const char* source(int k, const char* p, std::int64_t n) {
      if (in_place_[k] || loop_.rows_kernel_) return p;
      const DType from = loop_.operands_[k].memory, to = loop_.operands_[k].kernel;
      const int size = itemsize(from);
      const std::int64_t s = step_[k];
      if (p != last_[k] || n != last_count_[k]) {
        const char* raw = p;
        if (s != size) {
          loop_.table_.copy[item_class(size)](p, {0, s}, packed_[k], {0, size}, 1, n);
          raw = packed_[k];
        }
        if (loop_.cast_[k]) cast_elements(from, to, raw, converted_[k], n);
        last_[k] = p;
        last_count_[k] = n;
      }
      return loop_.cast_[k] ? converted_[k] : packed_[k];
    }

    const BlockLoop& loop_;
    Dims index_;
    const int K_;
    std::array<char*, plan_operands> at_, packed_, converted_;
    // Bytes from element to element, from row to row; of an element.
    std::array<std::int64_t, plan_operands> step_, next_, item_;
    std::array<bool, plan_operands> in_place_, fetched_;
    unsigned from_memory_ = 0;  // a bit for each operand whose rows are not read again
    bool plain_ = true;
    int shared_ = -1;  // the operand whose packed block the result overwrites
    std::array<const char*, plan_operands> last_{};
    std::array<std::int64_t, plan_operands> last_count_{};
  };

  // Whether two operands are a square and its transpose, whose blocks on both sides of the diagonal
  // need the same elements.
  bool mirrored() const {
    const int down = plan_.tile_dim;
    if (plan_.size[down] != plan_.size[inner_]) return false;
    for (int k = 0; k < out_; ++k) {
      Dims swapped = stride_[k];
      std::swap(swapped[down], swapped[inner_]);
      for (int l = 0; l < k; ++l) {
        if (operands_[k].data == operands_[l].data && stride_[l] == swapped) return true;
      }
    }
    return false;
  }

  // The plan of a copy of operand k, or of a part of it of these sizes, to where its dimensions lie
  // as the loop's do, one after the other; `packed`: the strides there. Both repeat in the same
  // dimensions.
  Plan copy_plan(int k, const Dims& sizes, Dims& packed) const {
    Dims shape = sizes;
    for (int d = 0; d <= inner_; ++d) {
      if (plan_.stride[k][d] == 0) shape[d] = 1;
    }
    packed_strides(shape, 1, packed);
    for (int d = 0; d <= inner_; ++d) {
      if (plan_.stride[k][d] == 0) packed[d] = 0;
    }
    const Dims* const strides[] = {&plan_.stride[k], &packed};
    return make_plan(shape, strides, 2);
  }

  // Whether large operands that lie across are copied first. Boxes need many rows of them in an L2
  // at once, and pieces of the others' rows; where they are narrow beside the others, as conditions
  // are, a copy is cheap: a Zen 4 takes half to three quarters of the time so.
  // So is what has a few elements in each of many dimensions, which boxes would not leave together.
  bool copies_pay() const {
    if (plan_.kind != LoopKind::transposed) return false;
    if (plan_.size[plan_.tile_dim] * plan_.size[inner_] < few_elements && total_ > block_) {
      return true;
    }
    if (!past_caches_ || computes()) return false;
    int across = 0;
    for (int k = 0; k < out_; ++k) {
      if (lies_across(plan_, k)) across += itemsize(operands_[k].memory);
    }
    if (across == 0 || 6 * across > bytes_per_element_) return false;
    Dims packed;
    for (int k = 0; k < out_; ++k) {
      const int size = itemsize(operands_[k].memory);
      if (lies_across(plan_, k) && !fits_strips(copy_plan(k, plan_.size, packed), size)) {
        return false;
      }
    }
    return true;
  }

  // In slabs, so that the copies take little memory. What is transposed is read in pieces of its
  // rows, which slabs leave long.
  void run_after_copies() {
    constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
    std::int64_t copied = 0, least = 1;  // bytes of an element; elements of a piece of a page
    for (int k = 0; k < out_; ++k) {
      if (!lies_across(plan_, k)) continue;
      copied += itemsize(operands_[k].memory);
      least = std::max(least, page_bytes / itemsize(operands_[k].memory));
    }
    Dims length = plan_.size, order;
    std::int64_t bytes = total_ * copied;
    for (int d = 0; d <= inner_; ++d) {
      order.push_back(d);
      const std::int64_t parts = (bytes - 1) / most_bytes + 1;
      const std::int64_t shortest = d == plan_.tile_dim || d == inner_ ? least : 1;
      const std::int64_t cut = std::max((plan_.size[d] - 1) / parts + 1, shortest);
      length[d] = std::min(plan_.size[d], cut);
      bytes = bytes / plan_.size[d] * length[d];
    }
    const Grid grid(plan_, length, order);
    const StorageRef memory =
        allocate(grid.elements_per_block() * copied + plan_operands * line_bytes);
    GridPlace place(plan_, grid, 0);
    for (std::int64_t b = 0; b < grid.count; ++b, place.next()) {
      char* to = static_cast<char*>(memory->data);
      LoopOperand operands[plan_operands];
      std::array<Dims, plan_operands> lie;
      const Dims* strides[plan_operands];
      for (int k = 0; k <= out_; ++k) {
        operands[k] = operands_[k];
        operands[k].data += place.offset(stride_[k]);
        strides[k] = &plan_.stride[k];
        if (k == out_ || !lies_across(plan_, k)) continue;
        const int size = itemsize(operands[k].memory);
        const Plan copy = copy_plan(k, place.sizes, lie[k]);
        run_copy(copy, operands[k].data + copy.base[0] * size, to + copy.base[1] * size, size);
        operands[k].data = to;
        strides[k] = &lie[k];
        to += (copy.count() * size / line_bytes + 1) * line_bytes;
      }
      const Plan alike = make_plan(place.sizes, strides, plan_.operands);
      for (int k = 0; k <= out_; ++k) {
        operands[k].data += alike.base[k] * itemsize(operands[k].memory);
      }
      run_blocks(alike, operands, kernel_, arithmetic_, op_, streaming_);
    }
  }

  // Whether the rows that an operand is read along, columns of the loop where it lies transposed,
  // are so far apart that an L2 holds few of them: those of a box would drive each other out before
  // they are read.
  bool rows_crowd() const {
    constexpr std::int64_t few = 16;
    for (int k = 0; k < out_; ++k) {
      const bool across = magnitude(plan_.stride[k][plan_.tile_dim]) == 1;
      const std::int64_t apart = stride_[k][across ? inner_ : plan_.tile_dim];
      if (apart != 0 && second_cache_lines(apart) <= few) return true;
    }
    return false;
  }

  // Bytes of the rows that a large box is read in: of what is transposed, and of the rest.
  struct BoxBytes {
    std::int64_t down, across;
  };
  BoxBytes box_bytes(bool mirrored, bool crowded, int tiled) const {
    if (mirrored) return {512, 512};
    if (crowded) return {tiled == 1 ? 512 : 1024, 1024};
    // Pieces that begin anywhere in a line are written in parts at both ends: fewer of them, and
    // bytes, whose columns would be as many rows, drive each other out otherwise.
    const bool at_lines = stride_[out_][inner_ - 1] % line_bytes == 0;
    if (tiled == 1 || (!at_lines && tiled != 2)) return {512, 1024};
    return plan_.size[inner_] * largest_ <= 1024 ? BoxBytes{512, 512} : BoxBytes{256, 768};
  }

  // Boxes: blocks of several rows, packed where an operand lies otherwise, and square tiles where
  // operands are fastest in different dimensions.
  void run_boxes() {
    const bool transposed = plan_.kind == LoopKind::transposed;
    int tiled = largest_;
    for (int k = 0; k <= out_ && transposed; ++k) {
      if (magnitude(plan_.stride[k][plan_.tile_dim]) == 1) {
        tiled = std::min(tiled, itemsize(operands_[k].memory));
      }
    }
    // Large transposed operands are packed in L2, so that both they and the others are read in
    // pieces of their rows, where the box that comes next has room, too.
    const bool large = transposed && this->large(), mirrored = large && this->mirrored();
    const bool far = large && total_ * bytes_per_element_ >= last_cache_bytes();
    if (mirrored) tiled = largest_;
    const bool crowded = large && rows_crowd();
    const BoxBytes box = large ? box_bytes(mirrored, crowded, tiled) : BoxBytes{};
    const std::int64_t tile = large ? box.down / tiled : std::max(8, line_bytes / tiled);
    // Small ones in boxes of 24 KiB: with 8 KiB 257 × 257 of them take a seventh longer.
    std::int64_t budget = mirrored     ? tile * tile
                          : large      ? tile * (box.across / largest_)
                          : transposed ? 3 * block_
                          : stepped()  ? 2 * packed_bytes / largest_
                                       : block_;
    // Constants are a block long: so are the rows at most.
    if (transposed) budget = std::min(budget, std::min(tile, plan_.size[plan_.tile_dim]) * block_);
    const Grid grid(plan_, budget, tile_rows(plan_, budget, tile));
    const std::int64_t elements_per_block = grid.elements_per_block();
    const std::int64_t chunk =
        large ? 1 << 17 : std::min<std::int64_t>(16384, parallel_grain / element_cost_bytes_);
    const std::int64_t per_chunk = std::max<std::int64_t>(1, chunk / elements_per_block);
    const std::int64_t chunks = (grid.count + per_chunk - 1) / per_chunk;
    parallel_for(chunks, total_ * element_cost_bytes_, [&](std::int64_t c) {
      std::int64_t b = c * per_chunk;
      const std::int64_t end = std::min(grid.count, b + per_chunk);
      BoxRun run(*this, elements_per_block, crowded);
      GridPlace place(plan_, grid, b), next(plan_, grid, b);
      // How far right of the diagonal a box is; those on the left come with their mirror images.
      const auto right = [&](const GridPlace& p) {
        return mirrored ? p.index[inner_] - p.index[plan_.tile_dim] : 0;
      };
      std::int64_t b_next = b;
      const auto step = [&] {
        do {
          next.next();
        } while (++b_next < end && right(next) < 0);
      };
      if (right(next) < 0) step();
      while (b_next < end) {
        for (; b < b_next; ++b) place.next();
        step();
        const GridPlace* const after = far && b_next < end ? &next : nullptr;
        const bool alone = !mirrored || right(place) == 0;
        run.box(place, alone ? after : nullptr);
        if (alone) continue;
        place.mirror(plan_.tile_dim, inner_);
        run.box(place, after);
        place.mirror(plan_.tile_dim, inner_);
      }
      if (streamed_) table_.stream_fence();
    });
  }

  // The part of run_boxes that a thread does at a time.
  class BoxRun {
   public:
    BoxRun(const BlockLoop& loop, std::int64_t elements, bool crowded)
        : loop_(loop), K_(loop.out_ + 1), crowded_(crowded) {
      const std::int64_t bytes =
          (elements * loop.largest_ + line_bytes - 1) / line_bytes * line_bytes;
      char* buffer = thread_scratch<2>(2 * K_ * bytes);
      for (int k = 0; k < K_; ++k) {
        packed_[k] = buffer + 2 * k * bytes;
        converted_[k] = packed_[k] + bytes;
      }
    }

    // `after`, or null: the box that comes next.
    void box(const GridPlace& place, const GridPlace* after) {
      const int out = K_ - 1;
      expect(after);
      const Dims& sizes = place.sizes;
      const std::int64_t count = place.count();
      const bool same_sizes = sizes == last_sizes_;
      bool by_rows = loop_.any_constant_ && count > loop_.block_;  // constants are a block long
      char* target = packed_[out];
      for (int k = 0; k < K_; ++k) {
        in_rows_[k] = false;
        if (loop_.constant_[k]) {
          source_[k] = loop_.constants_[k];
          continue;
        }
        if (const int twin = loop_.twin_[k]; twin < k) {
          source_[k] = source_[twin];
          in_rows_[k] = in_rows_[twin];
          continue;
        }
        char* const at = loop_.operands_[k].data + place.offset(loop_.stride_[k]);
        const bool whole = lies_whole(k, sizes);
        if (used_where_it_lies(k, sizes, whole)) {
          source_[k] = at;
          if (k == out) target = at;
          in_rows_[k] = !whole || (k == out && loop_.streamed_);
          by_rows |= in_rows_[k];
        } else if (k != out && (at != at_[k] || !same_sizes)) {
          pack(k, at, sizes, count, whole);
        }
        at_[k] = at;
      }
      if (!same_sizes) last_sizes_ = sizes;
      if (by_rows) {
        run_by_rows(sizes, count, target);
      } else {
        const void* in[plan_operands];
        for (int k = 0; k < out; ++k) in[k] = source_[k];
        loop_.kernel_(in, target, count);
      }
      if (target == packed_[out]) unpack(sizes, count);
    }

   private:
    // What is read in pieces of many rows, which the hardware does not follow, is asked for while
    // the box before it is worked on; of columns only the first ones where rows crowd, before each
    // of which the one before asks for it.
    static constexpr std::int64_t first_columns = 16;
    struct Piece {
      const char* at;
      std::int64_t rows, step, bytes;
    };
    void expect(const GridPlace* after) {
      expected_ = 0;
      if (!after) return;
      const int tiled = loop_.plan_.tile_dim, inner = loop_.inner_;
      for (int k = 0; k < K_ - 1; ++k) {
        if (loop_.constant_[k]) continue;
        const std::int64_t item = itemsize(loop_.operands_[k].memory);
        const Dims& stride = loop_.stride_[k];
        const bool across = stride[tiled] == item;
        if (!across && stride[inner] != item) continue;
        const char* const at = loop_.operands_[k].data + after->offset(stride);
        const std::int64_t width = after->sizes[inner];
        const std::int64_t columns = crowded_ ? std::min(first_columns, width) : width;
        pieces_[expected_++] =
            across ? Piece{at, columns, stride[inner], after->sizes[tiled] * item}
                   : Piece{at, after->sizes[tiled], stride[tiled], after->sizes[inner] * item};
      }
    }

    bool lies_whole(int k, const Dims& sizes) {
      packed_strides(sizes, itemsize(loop_.operands_[k].memory), packed_strides_);
      return lies_packed(sizes, loop_.stride_[k], packed_strides_);
    }
    bool used_where_it_lies(int k, const Dims& sizes, bool whole) const {
      if (loop_.cast_[k]) return false;
      const std::int64_t columns = sizes[loop_.inner_];
      if (loop_.plan_.kind == LoopKind::transposed && columns >= 16 && loop_.in_place(k)) {
        return true;
      }
      return whole && !(k == K_ - 1 && loop_.streamed_);
    }

    // Operand k as the kernel wants it; packed_strides_ are those of its box.
    void pack(int k, char* at, const Dims& sizes, std::int64_t count, bool whole) {
      const LoopOperand& operand = loop_.operands_[k];
      source_[k] = at;
      if (!whole) {
        source_[k] = packed_[k];
        copy_box(at, loop_.stride_[k], packed_[k], packed_strides_, sizes,
                 itemsize(operand.memory));
      }
      if (loop_.cast_[k]) {
        cast_elements(operand.memory, operand.kernel, source_[k], converted_[k], count);
        source_[k] = converted_[k];
      }
    }

    // The result from its packed box to its place.
    void unpack(const Dims& sizes, std::int64_t count) {
      const int out = K_ - 1;
      const LoopOperand& operand = loop_.operands_[out];
      const int size = itemsize(operand.memory);
      const bool whole = lies_whole(out, sizes);
      const char* raw = packed_[out];
      if (loop_.cast_[out]) {
        char* target = whole && !loop_.streamed_ ? at_[out] : converted_[out];
        cast_elements(operand.kernel, operand.memory, raw, target, count);
        raw = target;
      }
      if (loop_.streamed_) {
        if (whole) {
          loop_.table_.stream(raw, at_[out], count * size, nullptr);
        } else {
          stream_box(raw, packed_strides_, at_[out], loop_.stride_[out], sizes, size);
        }
      } else if (raw != at_[out]) {
        copy_box(raw, packed_strides_, at_[out], loop_.stride_[out], sizes, size);
      }
    }

    void run_by_rows(const Dims& sizes, std::int64_t count, char* target) {
      const int out = K_ - 1, inner = loop_.inner_;
      const std::int64_t columns = sizes[inner], rows = count / columns;
      const bool streamed = in_rows_[out] && loop_.streamed_;
      const int out_size = itemsize(loop_.operands_[out].kernel);  // in rows there is no cast
      const std::int64_t step = streamed ? streamed_bytes / out_size : columns;
      alignas(64) char piece[streamed_bytes];
      Dims row_index(inner + 1);
      std::array<std::int64_t, plan_operands> offset{};  // of rows used where they lie
      for (std::int64_t r = 0; r < rows; ++r) {
        for (int i = 0; i < expected_; ++i) {
          const Piece& p = pieces_[i];
          for (std::int64_t c = r * p.rows / rows; c < (r + 1) * p.rows / rows; ++c) {
            fetch_for_second(p.at + c * p.step, p.bytes);
          }
        }
        const void* in[plan_operands];
        unsigned from_memory = 0;
        for (int k = 0; k < out; ++k) {
          from_memory |= unsigned{in_rows_[k]} << k;
          const std::int64_t packed = r * columns * itemsize(loop_.operands_[k].kernel);
          in[k] = source_[k] + (in_rows_[k] ? offset[k] : loop_.constant_[k] ? 0 : packed);
        }
        char* const row = target + (in_rows_[out] ? offset[out] : r * columns * out_size);
        for (std::int64_t j = 0, m; j < columns; j += m) {
          m = std::min(step, columns - j);
          if (streamed && j + m < columns) m = whole_lines(row + j * out_size, m, out_size);
          char* const to = row + j * out_size;
          if (streamed && loop_.stream_kernel_) {
            loop_.stream_kernel_(in, to, m, {from_memory, false});
          } else {
            loop_.kernel_(in, streamed ? piece : row, m);
          }
          if (!streamed) break;
          for (int k = 0; k < out; ++k) {
            if (loop_.constant_[k]) continue;
            const char* p = static_cast<const char*>(in[k]);
            const std::int64_t bytes = m * itemsize(loop_.operands_[k].kernel);
            if (in_rows_[k]) {  // what follows in the row, or the row after the next
              const std::int64_t two_rows = inner > 0 ? 2 * loop_.stride_[k][inner - 1] : 0;
              fetch(j + m < columns ? p + bytes : source_[k] + offset[k] + two_rows, bytes);
            }
            in[k] = p + bytes;
          }
          if (!loop_.stream_kernel_) loop_.table_.stream(piece, to, m * out_size, nullptr);
        }
        for (int d = inner - 1; d >= 0; --d) {
          const bool carry = ++row_index[d] == sizes[d];
          for (int k = 0; k < K_; ++k) {
            const std::int64_t s = loop_.stride_[k][d];
            offset[k] += carry ? -(sizes[d] - 1) * s : s;
          }
          if (!carry) break;
          row_index[d] = 0;
        }
      }
    }

    const BlockLoop& loop_;
    const int K_;
    const bool crowded_;
    std::array<const char*, plan_operands> source_;
    std::array<char*, plan_operands> at_{}, packed_, converted_;  // at_: of the last box
    std::array<bool, plan_operands> in_rows_;
    Dims last_sizes_, packed_strides_;
    std::array<Piece, plan_operands> pieces_;
    int expected_ = 0;
  };

  const Plan& plan_;
  const LoopOperand* const operands_;
  BlockKernel kernel_;
  const std::int64_t arithmetic_;
  const std::optional<Op> op_;
  const StreamingKernel streaming_;
  RowsKernel rows_kernel_ = nullptr;
  StreamingKernel stream_kernel_ = nullptr;
  const KernelTable& table_ = kernels();
  const std::int64_t total_;
  const int out_ = plan_.operands - 1, inner_ = plan_.ndim() - 1;
  std::array<bool, plan_operands> constant_{};  // the same element everywhere
  std::array<int, plan_operands> twin_{};
  std::array<bool, plan_operands> cast_{};
  bool any_constant_ = false, direct_ = false, past_caches_ = false, streamed_ = false;
  int largest_ = 1, bytes_per_element_ = 0;
  std::int64_t block_ = 0, element_cost_bytes_ = 1;
  std::array<Dims, plan_operands> stride_;  // bytes
  alignas(64) char constants_[plan_operands - 1][scratch_bytes / 2];
};

}  // namespace

void run_blocks(const Plan& plan, const LoopOperand* operands, BlockKernel kernel,
                std::int64_t arithmetic, std::optional<Op> op, StreamingKernel streaming) {
  if (plan.kind == LoopKind::empty) return;
  BlockLoop(plan, operands, kernel, arithmetic, op, streaming).run();
}

namespace {

// A large transposed copy, in strips of the input whose rows are read side by side, and written
// past the caches. Rows of the output that follow each other count as one, so that few lines are
// written in parts.
class Strips {
 public:
  Strips(const Plan& plan, int itemsize)
      : plan_(joined(plan, itemsize)),
        inner_(plan_.ndim() - 1),
        itemsize_(itemsize),
        sizes_(plan.size),
        columns_(in_bytes(plan.stride[0], itemsize)),
        in_pieces_(pieces_pay()),
        in_strides_(in_bytes(plan_.stride[0], itemsize)),
        out_strides_(in_bytes(plan_.stride[1], itemsize)),
        grid_(plan_, lengths(), memory_order()),
        box_(box_bytes()) {
    in_strides_.back() = 0;  // where columns begin is listed
  }

  void copy(const char* in, char* out) const {
    const int tile = plan_.tile_dim;
    const std::int64_t per_chunk =
        std::max<std::int64_t>(1, piece / (grid_.elements_per_block() * itemsize_));
    const StreamTransposeKernel kernel = kernels().stream_transpose[item_class(itemsize_)];
    const std::int64_t work = 2 * plan_.count() * itemsize_;
    parallel_for((grid_.count + per_chunk - 1) / per_chunk, work, [&](std::int64_t c) {
      const std::int64_t first = c * per_chunk, end = std::min(grid_.count, first + per_chunk);
      char* const scratch = in_pieces_ ? thread_scratch<5>(streamed_scratch) : nullptr;
      GridPlace place(plan_, grid_, first);
      Regions regions(*this, in, first, end);
      Region here = regions.next();
      for (std::int64_t b = first; b < end;) {
        const Region next = regions.next();
        for (std::int64_t i = 0; i < here.pieces; ++i, ++b, place.next()) {
          const std::int64_t before = place.start[inner_], rows = place.sizes[tile];
          const std::int64_t width = place.sizes[inner_];
          const StripColumns columns{in + place.offset(in_strides_), here.columns.offset, width};
          // Its share of what comes next.
          const std::int64_t from = next.columns.count * i / here.pieces,
                             to = next.columns.count * (i + 1) / here.pieces;
          const StripColumns share{next.columns.in, next.columns.offset + from, to - from};
          kernel({columns, out + place.offset(out_strides_), out_strides_[tile], rows, before == 0,
                  plan_.size[inner_] - before - width, share, next.bytes, box_, scratch});
        }
        here = next;
      }
      kernels().stream_fence();
    });
  }

 private:
  static constexpr std::int64_t piece = std::int64_t{1} << 20;  // bytes of a chunk, about
  static constexpr std::int64_t wide_strip = 64;
  // Whether long pieces are transposed in an L2. A Zen 3 takes half to three quarters of the time
  // so; processors that read many rows side by side as fast as one take half as long again. So does
  // a Zen 3 with items of two bytes, whose squares have 16 rows, where those of two squares share
  // so few sets of the L2 that they drive each other out; strips of other items do worse. A Zen 5
  // reads rows side by side as fast, but takes 0.4 to 0.8 of the time so where rows of the output
  // do not begin with lines and items have one or two bytes, or four and the columns share a few
  // sets of an L1: the lines that two squares of a strip have in common are read twice there.
  bool pieces_pay() const {
    if (!asks_for_pages) return itemsize_ != 2 || second_cache_lines(columns_.back()) >= 32;
    if (!reads_long_pieces_well || rows_begin_with_lines()) return false;
    return itemsize_ <= 2 || (itemsize_ == 4 && plan_.size[inner_] > wide_strip + line_bytes / 4 &&
                              share_few_sets(wide_strip, columns_.back()));
  }
  bool rows_begin_with_lines() const {
    return plan_.stride[1][plan_.tile_dim] * itemsize_ % line_bytes == 0;
  }

  // The plan with rows of the output that follow each other joined, where they do not end with
  // lines, until they are long.
  static Plan joined(const Plan& plan, int itemsize) {
    constexpr std::int64_t enough = 4096;
    Plan out = plan;
    Dims &size = out.size, &to = out.stride[1];
    if (size.back() * itemsize % line_bytes == 0) return out;
    for (int d = plan.ndim() - 2; d >= 0 && d != plan.tile_dim; --d) {
      if (size.back() * itemsize >= enough || to[d] != size.back()) break;
      size[d] *= size.back();
      size.erase(d + 1);
      out.stride[0].erase(d);
      to.erase(d);
    }
    return out;
  }

  // Columns of the output of a strip, rows of the input that are read side by side.
  std::int64_t strip_columns() const {
    const std::int64_t columns = plan_.size[inner_], least = line_bytes / itemsize_;
    const std::int64_t held = second_cache_lines(columns_.back());
    if (reads_long_pieces_well) {
      // A Zen 5 takes up to twice as long where one line is written here and there; two beside each
      // other are enough where long rows are read, four of what the last cache holds. Where the
      // output's rows begin anywhere in a line, those of another line are read as well, and few of
      // them are better.
      const std::int64_t row = plan_.size[plan_.tile_dim] * itemsize_;
      const bool far = row >= 1024 || share_few_sets(wide_strip, columns_.back());
      const bool near = 2 * plan_.count() * itemsize_ <= last_cache_bytes();
      const std::int64_t lines = std::max<std::int64_t>(2 * least, 16);
      const std::int64_t few = !rows_begin_with_lines() ? 48
                               : near && itemsize_ >= 4 ? 2 * lines
                                                        : lines;
      const std::int64_t wide =
          far && (itemsize_ > 4 || rows_begin_with_lines()) ? few : wide_strip;
      if (columns <= wide + least) return columns;
      return columns_.back() == 0 ? wide : std::min(wide, std::max(least, 4 * held));
    }
    // Few are read side by side: more than 64 halve the speed, some hosts' with 64 of them, for
    // caches and prefetchers lose their places; bytes, of which a line has 64, need them.
    std::int64_t strip = columns;
    if (columns > wide_strip + least) {
      strip = std::max<std::int64_t>(least, rows_begin_with_lines() ? 32 : 48);
    }
    if (columns_.back() == 0) return strip;
    // Rows so far apart that they share a few sets of an L2 would drive each other out, and what is
    // asked for ahead of them: half as many as it holds, or as few as fill a line.
    return std::min(strip, std::max(least, held / 2 - held / 2 % least));
  }

  Dims lengths() const {
    // Short rows of the output are written whole: bytes go two to four times as fast so.
    const std::int64_t columns = plan_.size[inner_], least = line_bytes / itemsize_;
    const std::int64_t most = streamed_columns(itemsize_);
    std::int64_t strip = columns;
    if (in_pieces_ && columns > most + least) {
      const std::int64_t pieces = (columns - 1) / most + 1;  // of about the same length
      strip = ((columns - 1) / pieces / least + 1) * least;
    } else if (!in_pieces_) {
      strip = strip_columns();
    }
    Dims length(plan_.ndim(), 1);
    length[inner_] = std::min(strip, columns);
    length[plan_.tile_dim] = std::min(plan_.size[plan_.tile_dim], piece / (strip * itemsize_));
    return length;
  }

  // How many bytes of each column are asked for before they are read, of long ones in about the
  // same boxes, or where they are up to twice as long whole.
  std::int64_t box_bytes() const {
    const std::int64_t row = grid_.length[plan_.tile_dim] * itemsize_;
    const std::int64_t boxes = row <= 2 * most_box ? 1 : (row - 1) / most_box + 1;
    return ((row - 1) / boxes / line_bytes + 1) * line_bytes;
  }

  // The order of the input's memory, but for the strips, whose next ones lie where the next of the
  // rows do that are joined.
  Dims memory_order() const {
    Dims strides = in_strides_, order;
    for (int d = inner_; d < sizes_.size(); ++d) {
      const std::int64_t step = magnitude(columns_[d]);
      strides[inner_] = d == inner_ ? step : std::min(strides[inner_], step);
    }
    for (int d = 0; d <= inner_; ++d) {
      int at = order.size();
      while (at > 0 &&
             magnitude(strides[static_cast<int>(order[at - 1])]) < magnitude(strides[d])) {
        --at;
      }
      order.insert(at, d);
    }
    return order;
  }

  // Where `count` columns from `first` on begin, and those beyond that a strip may read; how many
  // they are.
  std::int64_t list_columns(std::int64_t first, std::int64_t count, std::int64_t* offset) const {
    count = std::min(count + line_bytes / itemsize_, plan_.size[inner_] - first);
    const int last = sizes_.size() - 1;
    Dims index(last + 1);
    std::int64_t at = 0;
    for (int d = last; d >= inner_; --d) {
      index[d] = first % sizes_[d];
      first /= sizes_[d];
      at += index[d] * columns_[d];
    }
    for (std::int64_t c = 0; c < count; ++c) {
      offset[c] = at;
      for (int d = last; d >= inner_; --d) {
        at += columns_[d];
        if (++index[d] < sizes_[d]) break;
        at -= sizes_[d] * columns_[d];
        index[d] = 0;
      }
    }
    return count;
  }

  // Pieces one after the other whose columns go on in memory where those before them end.
  struct Region {
    StripColumns columns;                // with those that its pieces read beyond their own
    std::int64_t bytes = 0, pieces = 0;  // of each column that are asked for
  };
  // The regions of some pieces.
  class Regions {
   public:
    Regions(const Strips& strips, const char* in, std::int64_t first, std::int64_t end)
        : strips_(strips), in_(in), left_(end - first), place_(strips.plan_, strips.grid_, first) {}

    // Without pieces behind the last one. The columns of two regions are listed, by turns.
    Region next() {
      const int inner = strips_.inner_, tile = strips_.plan_.tile_dim;
      Region region{{in_, offsets_[list_], 0}};
      while (left_ > 0) {
        const char* const at = in_ + place_.offset(strips_.in_strides_);
        const std::int64_t first = place_.start[inner], width = place_.sizes[inner];
        const std::int64_t bytes = place_.sizes[tile] * strips_.itemsize_;
        if (region.pieces > 0 &&
            (strips_.in_pieces_ || first != listed_ || region.bytes + bytes > strips_.most_box ||
             at != region.columns.in + region.bytes)) {
          break;
        }
        if (first != listed_) {
          listed_ = first;
          list_ ^= 1;
          all_ = strips_.list_columns(first, width, offsets_[list_]);
        }
        if (region.pieces == 0) {
          const bool at_lines =
              strips_.rows_begin_with_lines() && width * strips_.itemsize_ % line_bytes == 0;
          const bool own = strips_.in_pieces_ || at_lines;
          region.columns = {at, offsets_[list_], own ? width : all_};
        }
        region.bytes += bytes;
        ++region.pieces;
        --left_;
        place_.next();
      }
      if (region.pieces == 1) region.bytes = std::min(region.bytes, strips_.box_);
      return region;
    }

   private:
    const Strips& strips_;
    const char* const in_;
    std::int64_t left_, listed_ = -1, all_ = 0;
    int list_ = 0;
    GridPlace place_;
    std::int64_t offsets_[2][streamed_columns(1) + 2 * line_bytes];
  };

  const Plan plan_;  // with rows joined
  const int inner_, itemsize_;
  const Dims sizes_, columns_;  // of all dimensions: how many, and how far apart in the input
  const bool in_pieces_;
  Dims in_strides_, out_strides_;  // bytes
  const Grid grid_;
  const std::int64_t most_box = reads_long_pieces_well ? 1024 : 128, box_;
};

// Runs f(place, next) for the blocks of a grid of a large copy, on as many threads as it pays for;
// `next` is the place that follows, or null.
template <class F>
void for_each_block(const Plan& plan, const Grid& grid, int itemsize, F&& f) {
  const std::int64_t bytes = grid.elements_per_block() * itemsize;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, parallel_grain / bytes);
  const std::int64_t work = 2 * plan.count() * itemsize;
  parallel_for((grid.count + per_chunk - 1) / per_chunk, work, [&](std::int64_t c) {
    const std::int64_t first = c * per_chunk, end = std::min(grid.count, first + per_chunk);
    GridPlace place(plan, grid, first), next(plan, grid, first);
    for (std::int64_t b = first; b < end; ++b, place.next()) {
      next.next();
      f(place, b + 1 < end ? &next : nullptr);
    }
    kernels().stream_fence();
  });
}

// Rows that follow each other along `near` in the input, and along the last dimension but one in
// the output: of boxes of both, a few of those are read as one piece, each for a run of its own,
// while the pieces some further on are asked for. Where the hardware follows what is read, many of
// them are, and nothing is asked for: a Zen 4 takes half to nine tenths of the time so, but longer
// with rows of one line.
void copy_runs(const Plan& plan, const char* in, char* out, int itemsize, int near) {
  constexpr std::int64_t most = 256;
  const int inner = plan.ndim() - 1, down = inner - 1;
  const Dims in_strides = in_bytes(plan.stride[0], itemsize);
  const Dims out_strides = in_bytes(plan.stride[1], itemsize);
  const std::int64_t row = plan.size[inner] * itemsize;
  const bool goes_on = out_strides[down] == row;
  const bool followed = reading_asks == Asking::nothing && row >= 2 * line_bytes;
  const std::int64_t piece = followed ? 8 * page_bytes : page_bytes, ahead = followed ? 0 : 2;
  Dims length(plan.ndim(), 1), order;
  for (int d = 0; d <= inner; ++d) order.push_back(d);
  length[inner] = plan.size[inner];
  length[near] = std::min(plan.size[near], std::clamp<std::int64_t>(piece / row, 1, most));
  length[down] = std::min(plan.size[down], most);
  const Grid grid(plan, length, order);
  for_each_block(plan, grid, itemsize, [&](const GridPlace& place, const GridPlace* next) {
    alignas(line_bytes) char begun[most][3 * line_bytes];
    const char* const from = in + place.offset(in_strides);
    const char* const then = next ? in + next->offset(in_strides) : nullptr;
    char* const to = out + place.offset(out_strides);
    const std::int64_t count = place.sizes[down];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t left = i + ahead - count;
      const char* const asked = ahead == 0 ? nullptr
                                : left < 0 ? from + (i + ahead) * in_strides[down]
                                : then     ? then + left * in_strides[down]
                                           : nullptr;
      kernels().stream_runs({from + i * in_strides[down], in_strides[near],
                             to + i * out_strides[down], out_strides[near], place.sizes[near], row,
                             !goes_on || i == 0, !goes_on || i == count - 1, asked,
                             in_strides[near], asked ? place.sizes[near] : 0, begun[0]});
    }
  });
}

// Long rows that lie backwards in the input.
void copy_backwards(const Plan& plan, const char* in, char* out, int itemsize) {
  constexpr std::int64_t most = 1 << 16;  // bytes of a piece
  const int inner = plan.ndim() - 1;
  const Dims in_strides = in_bytes(plan.stride[0], itemsize);
  const Dims out_strides = in_bytes(plan.stride[1], itemsize);
  Dims length(plan.ndim(), 1), order;
  for (int d = 0; d <= inner; ++d) order.push_back(d);
  length[inner] = std::min(plan.size[inner], most / itemsize);
  const Grid grid(plan, length, order);
  const StreamBackwardsKernel kernel = kernels().stream_backwards[item_class(itemsize)];
  for_each_block(plan, grid, itemsize, [&](const GridPlace& place, const GridPlace* next) {
    kernel(in + place.offset(in_strides), out + place.offset(out_strides), place.sizes[inner],
           next ? in + next->offset(in_strides) : nullptr);
  });
}

// A large copy into rows that are contiguous, past the caches: straight from rows that are
// contiguous too, or by way of a block in L1. False where the whole result, of which it may be a
// part, is small or the rows are short.
bool stream_rows(const Plan& plan, const char* in, char* out, int itemsize, std::int64_t whole) {
  const int inner = plan.ndim() - 1;
  const std::int64_t total = plan.count();
  // Later where items are apart: reading their lines takes longer than fetching the result's would;
  // and by several threads alone: one is up to a seventh faster straight into the caches.
  const std::int64_t bytes = total * itemsize, step = magnitude(plan.stride[0][inner]);
  const std::int64_t others = 2 * (whole - bytes);
  if (!goes_past_caches(whole, bytes + distinct_bytes(plan, 0, itemsize) + others)) return false;
  if (plan.kind == LoopKind::transposed) return false;
  if (step > 1 && thread_count() == 1) return false;
  if (step != 1 && bytes < 2 * stream_from) return false;
  std::int64_t run = 1;  // elements of the output that follow each other
  for (int d = inner; d >= 0 && plan.stride[1][d] == run; --d) run *= plan.size[d];
  if (run * itemsize < 8 * line_bytes) return false;
  const Dims in_strides = in_bytes(plan.stride[0], itemsize);
  const Dims out_strides = in_bytes(plan.stride[1], itemsize);
  // Boxes of crossed rows are larger, so that few of the lines in which runs end are written twice.
  constexpr std::int64_t block_bytes = 8192, crossed_bytes = 4 * block_bytes;
  const std::int64_t row_bytes = plan.size[inner] * itemsize;
  if (in_strides[inner] == -itemsize && row_bytes >= 16 * line_bytes) {
    copy_backwards(plan, in, out, itemsize);
    return true;
  }
  const bool straight = in_strides[inner] == itemsize && row_bytes >= 16 * line_bytes;
  // Rows that follow each other in the input but not in the output: boxes of both kinds of
  // neighbours, so that either is met in pieces of several rows.
  Dims order;
  for (int d = 0; d < inner; ++d) order.push_back(d);
  int near = inner - 1;
  for (int d = 0; d < inner - 1; ++d) {
    if (magnitude(in_strides[d]) < magnitude(in_strides[near]) && in_strides[d] != 0) near = d;
  }
  const bool crossed = in_strides[inner] == itemsize && near < inner - 1 && row_bytes >= 16 &&
                       row_bytes <= block_bytes / 2;
  Dims length(plan.ndim(), 1);
  if (crossed && row_bytes >= line_bytes && row_bytes <= 2048 && reads_long_pieces_well) {
    copy_runs(plan, in, out, itemsize, near);
    return true;
  }
  if (crossed) {
    order.erase(near);
    order.push_back(near);
    length[inner] = plan.size[inner];
    // As many bytes as a block, or where the rows go straight that many of each kind.
    const std::int64_t rows = (straight ? block_bytes : crossed_bytes) / row_bytes,
                       read = straight ? rows : std::min<std::int64_t>(8, rows);
    length[near] = std::min(plan.size[near], read);
    length[inner - 1] = std::min(plan.size[inner - 1], straight ? rows : rows / length[near]);
  }
  order.push_back(inner);
  const Grid grid = crossed ? Grid(plan, length, order) : Grid(plan, block_bytes / itemsize, 1);
  const std::int64_t per_chunk =
      std::max<std::int64_t>(1, parallel_grain / itemsize / grid.elements_per_block());
  parallel_for((grid.count + per_chunk - 1) / per_chunk, 2 * total * itemsize, [&](std::int64_t c) {
    alignas(64) char block[crossed_bytes];
    const char* packed = nullptr;  // what the block has been packed from
    Dims packed_sizes, block_strides;
    std::int64_t b = c * per_chunk;
    const std::int64_t end = std::min(grid.count, b + per_chunk);
    GridPlace place(plan, grid, b);
    if (straight) {
      const Dims from = permuted(in_strides, order), to = permuted(out_strides, order);
      while (b < end) {
        const char* const p = in + place.offset(in_strides);
        char* const q = out + place.offset(out_strides);
        const Dims sizes = permuted(place.sizes, order);
        if (++b < end) place.next();
        stream_box(p, from, q, to, sizes, itemsize, in + place.offset(in_strides));
      }
    }
    for (; b < end; ++b, place.next()) {
      const char* p = in + place.offset(in_strides);
      char* q = out + place.offset(out_strides);
      packed_strides(place.sizes, itemsize, block_strides);
      if (p != packed || !(place.sizes == packed_sizes)) {
        copy_box(p, in_strides, block, block_strides, place.sizes, itemsize);
        packed = p;
        packed_sizes = place.sizes;
      }
      if (lies_packed(place.sizes, out_strides, block_strides)) {
        kernels().stream(block, q, place.count() * itemsize, nullptr);
      } else {
        Dims sizes = place.sizes, to = out_strides;
        if (inner > 0 && to[inner - 1] == block_strides[inner - 1]) {  // rows of rows
          sizes[inner] *= sizes[inner - 1];
          sizes.erase(inner - 1);
          to.erase(inner - 1);
          block_strides.erase(inner - 1);
        }
        stream_box(block, block_strides, q, to, sizes, itemsize);
      }
    }
    kernels().stream_fence();
  });
  return true;
}

}  // namespace

void run_copy(const Plan& plan, const char* in, char* out, int itemsize, std::int64_t whole) {
  if (plan.kind == LoopKind::empty) return;
  const std::int64_t total = plan.count(), work = 2 * total * itemsize;
  constexpr std::int64_t chunk = parallel_grain / 4;
  whole = std::max(work / 2, work / 2 < chunk ? 0 : whole);
  if (plan.kind == LoopKind::contiguous && plan.stride[0][0] == 1 && plan.stride[1][0] == 1) {
    const std::int64_t bytes = total * itemsize;
    const bool streamed = goes_past_caches(whole, 2 * whole);
    parallel_for((bytes + chunk - 1) / chunk, work, [&](std::int64_t c) {
      const std::int64_t count = std::min(chunk, bytes - c * chunk);
      if (!streamed) {
        kernels().copy[item_class(1)](in + c * chunk, {0, 1}, out + c * chunk, {0, 1}, 1, count);
        return;
      }
      kernels().stream(in + c * chunk, out + c * chunk, count, nullptr);
      kernels().stream_fence();
    });
    return;
  }
  for (int bytes : {most_short_row, register_row}) {
    ShortRows short_rows;
    if (find_short_rows(plan, itemsize, bytes, short_rows) &&
        copy_short_rows(short_rows, in, out, itemsize)) {
      return;
    }
  }
  if (fits_strips(plan, itemsize)) return Strips(plan, itemsize).copy(in, out);
  if (stream_rows(plan, in, out, itemsize, whole)) return;
  // Blocks need no scratch here; a larger one costs less bookkeeping, a tile stays within L1.
  const bool transposed = plan.kind == LoopKind::transposed;
  const bool stepped = transposed && plan.stride[0][plan.tile_dim] != 1;
  std::int64_t bytes = transposed ? 16384 : 65536;
  // One item fills the result: the fewer pieces the better.
  if (plan.kind == LoopKind::contiguous) {
    bytes = std::clamp<std::int64_t>(total * itemsize / (4 * thread_count()), bytes, 1 << 20);
  }
  const std::int64_t budget = bytes / itemsize;
  const Grid grid(plan, budget,
                  tile_rows(plan, budget, stepped ? line_bytes : rows_of_copy(plan, itemsize)));
  const Dims in_strides = in_bytes(plan.stride[0], itemsize);
  const Dims out_strides = in_bytes(plan.stride[1], itemsize);
  const std::int64_t per_chunk =
      std::max<std::int64_t>(1, 65536 / itemsize / grid.elements_per_block());
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
