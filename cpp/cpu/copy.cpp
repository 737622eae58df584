// Copies, casts and the creation of ranges.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "block_loop.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

// Whether the last dimension is not the fastest.
bool lies_across(const Layout& layout) {
  const int last = layout.ndim() - 1;
  for (int d = 0; d < last; ++d) {
    if (std::abs(layout.strides[d]) < std::abs(layout.strides[last])) return true;
  }
  return false;
}

// One item for all elements, in memory's order.
void fill_few(const char* item, const Operand& out, int size) {
  const Dims* const strides[] = {&out.layout->strides};
  const Plan plan = make_plan(out.layout->shape, strides, 1);
  const Dims& shape = plan.size;
  char* const data = out.data + plan.base[0] * size;
  const int last = plan.ndim() - 1;
  Dims bytes = plan.stride[0];
  for (std::int64_t& stride : bytes) stride *= size;
  if (last > 1) return copy_box(item, Dims(last + 1), data, bytes, shape, size);
  kernels().copy[item_class(size)](item, {0, 0}, data, {last > 0 ? bytes[0] : 0, bytes[last]},
                                   last > 0 ? shape[0] : 1, shape[last]);
}

// Few elements need no plan, which would cost most of the call, where they lie in memory as they
// are counted or have the dtype of the result; nor what one thread fills with one element, of which
// it would be a tenth. False for all others.
bool copy_few(const Operand& in, const Operand& out) {
  constexpr std::int64_t most_bytes = 4096;
  const Layout& to = *out.layout;
  const std::int64_t n = to.size;
  const int size = itemsize(out.dtype), ndim = to.ndim();
  const bool contiguous = to.is_contiguous();
  const CopyKernel kernel = kernels().copy[item_class(size)];
  if (contiguous && in.host_scalar && in.dtype == out.dtype && n < parallel_grain / size) {
    kernel(in.data, {0, 0}, out.data, {0, size}, 1, n);
    return true;
  }
  if (n > most_bytes / size) return false;
  if (in.dtype != out.dtype) {
    if (in.host_scalar || !contiguous || !in.layout->is_contiguous()) return false;
    const void* from = in.data;
    if (n > 0) {
      kernels().cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)](&from, out.data, n);
    }
    return true;
  }
  if (contiguous && in.layout->is_contiguous()) {
    std::memcpy(out.data, in.data, static_cast<std::size_t>(n * size));
    return true;
  }
  if (in.host_scalar && n > 0 && lies_across(to)) {
    fill_few(in.data, out, size);
    return true;
  }
  if (ndim > 2) {
    Dims from(ndim), to_bytes = to.strides;
    for (int d = 0; d < ndim; ++d) {
      from[d] = in.host_scalar ? 0 : in.layout->strides[d] * size;
      to_bytes[d] *= size;
    }
    if (n > 0) copy_box(in.data, from, out.data, to_bytes, to.shape, size);
    return true;
  }
  if (ndim < 1) return false;
  const auto step = [&](const Operand& x, int axis) {
    return x.host_scalar || axis < 0 ? 0 : x.layout->strides[axis] * size;
  };
  if (n > 0) {
    kernel(in.data, {step(in, ndim - 2), step(in, ndim - 1)}, out.data,
           {step(out, ndim - 2), step(out, ndim - 1)}, ndim == 2 ? to.shape[0] : 1,
           to.shape[ndim - 1]);
  }
  return true;
}

// A part of a result of so many bytes; see run_copy.
void copy_part(const Operand& in, const Operand& out, std::int64_t whole) {
  if (copy_few(in, out)) return;
  const Operand* all[] = {&in, &out};
  Plan plan = plan_of(all, 2);
  turn_tiles(plan);
  // Shorter rows of a result that goes past the caches are better put together in its order.
  turn_rows(plan, 512 / itemsize(out.dtype));
  char* source = in.data + plan.base[0] * itemsize(in.dtype);
  char* target = out.data + plan.base[1] * itemsize(out.dtype);
  if (in.dtype == out.dtype) {
    run_copy(plan, source, target, itemsize(in.dtype), whole);
    return;
  }
  // A cast is a loop like any other, whose kernel is the cast.
  const LoopOperand operands[] = {{source, in.dtype, in.dtype}, {target, out.dtype, out.dtype}};
  const int from = static_cast<int>(in.dtype), to = static_cast<int>(out.dtype);
  run_blocks(plan, operands, kernels().cast[from][to], 0, {}, kernels().streaming_cast[from][to]);
}

}  // namespace

void copy(const Operand& in, const Operand& out) {
  copy_part(in, out, 0);
}

namespace {

// A matrix in memory: the dimensions before an axis are its rows, the others are their items, which
// follow each other.
struct Matrix {
  char* data;
  Strides2D strides;
  std::int64_t rows, items;

  // False where the dimensions are not so, or the elements are of another dtype.
  bool describes(const Operand& operand, int axis, DType dtype) {
    const Layout& layout = *operand.layout;
    if (operand.dtype != dtype || operand.host_scalar) return false;
    rows = 1;
    for (int d = 0; d < axis; ++d) rows *= layout.shape[d];
    items = layout.size / std::max<std::int64_t>(rows, 1);
    Layout view;
    if (!reshape(layout, Dims{rows, items}, view)) return false;
    data = operand.data;
    strides = {view.strides[0] * itemsize(dtype), itemsize(dtype)};
    return items <= 1 || view.strides[1] == 1;
  }
};

constexpr std::int64_t chunk_bytes = 1 << 15;  // joined at a time, while that is in the first cache

// The rows of several matrices behind each other, a chunk of rows at a time; each row of the result
// is written once from its start to its end.
void join_rows(std::span<const Matrix> parts, const Matrix& out, int size) {
  const CopyKernel copy_items = kernels().copy[item_class(size)];
  const std::int64_t row = out.items * size, bytes = out.rows * row;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, chunk_bytes / row);
  parallel_for((out.rows + per_chunk - 1) / per_chunk, 2 * bytes, [&](std::int64_t c) {
    const std::int64_t first = c * per_chunk, count = std::min(per_chunk, out.rows - first);
    char* to = out.data + first * out.strides.row;
    for (const Matrix& part : parts) {
      const char* const from = part.data + first * part.strides.row;
      copy_items(from, part.strides, to, out.strides, count, part.items);
      to += part.items * out.strides.column;
    }
  });
}

}  // namespace

void join(std::span<const Operand> parts, int axis, const Operand& out) {
  constexpr std::int64_t short_row = 512;
  const Layout& whole = *out.layout;
  const int size = itemsize(out.dtype);
  const std::int64_t bytes = whole.size * size;
  std::int64_t inner = size;
  for (int d = axis + 1; d < whole.ndim(); ++d) inner *= whole.shape[d];
  bool interleaved = true, items = axis == whole.ndim() - 1;  // parts take turns in short rows
  for (const Operand& part : parts) {
    interleaved &= part.layout->shape[axis] * inner < short_row;
    items &= part.layout->shape[axis] == 1;
  }
  if (axis > 0 && !items && bytes > chunk_bytes / 4 && !goes_past_caches(bytes, 2 * bytes)) {
    std::vector<Matrix> matrices(parts.size());
    Matrix result;
    bool all = result.describes(out, axis, out.dtype) && result.items * size <= chunk_bytes;
    for (std::size_t i = 0; i < parts.size() && all; ++i) {
      all = matrices[i].describes(parts[i], axis, out.dtype);
    }
    if (all) return join_rows(matrices, result, size);
  }
  // The first dimension before the axis of which little is at one index: chunks are some of its
  // indices at one of the dimensions before it.
  int cut = 0;
  std::int64_t before = 1, per_index = bytes;
  for (; cut < axis; ++cut) {
    per_index /= std::max<std::int64_t>(whole.shape[cut], 1);
    if (per_index <= 4 * chunk_bytes) break;
    before *= whole.shape[cut];
  }
  if (!interleaved || cut >= axis || bytes <= chunk_bytes / 4) {
    for_each_part(parts, axis, out,
                  [&](const Operand& in, const Operand& to) { copy_part(in, to, bytes); });
    return;
  }
  // One part after the other would bring every line from memory once for each of them: all parts
  // of a chunk are copied while it is in the caches, and a large result then goes past them.
  const std::int64_t length = whole.shape[cut];
  const std::int64_t per_chunk = std::max<std::int64_t>(1, chunk_bytes / per_index);
  const std::int64_t chunks = (length + per_chunk - 1) / per_chunk;
  const bool apart = whole.is_contiguous();  // chunks do not take turns themselves
  const bool streamed = apart && goes_past_caches(bytes, 2 * bytes);
  const auto count_of_parts = static_cast<std::int64_t>(parts.size());
  parallel_for(before * chunks, 2 * bytes, [&](std::int64_t c) {
    const std::int64_t first = c % chunks * per_chunk, count = std::min(per_chunk, length - first);
    const auto cut_out = [&](const Operand& operand, Layout& layout) {
      layout = *operand.layout;
      layout.size = layout.size / before / length * count;
      layout.shape[cut] = count;
      std::int64_t offset = first * layout.strides[cut], rest = c / chunks;
      for (int d = cut - 1; d >= 0; --d) {
        offset += rest % whole.shape[d] * layout.strides[d];
        rest /= whole.shape[d];
        layout.shape[d] = 1;
      }
      Operand piece = operand;
      piece.layout = &layout;
      piece.data += offset * itemsize(operand.dtype);
      return piece;
    };
    std::vector<Layout> layouts(parts.size() + 1);
    std::vector<Operand> pieces;
    for (std::size_t i = 0; i < parts.size(); ++i) pieces.push_back(cut_out(parts[i], layouts[i]));
    Operand target = cut_out(out, layouts.back());
    char* const memory = target.data;
    const std::int64_t chunk = count * per_index;
    char* const scratch = streamed || items ? thread_scratch<4>(2 * chunk) : nullptr;
    if (streamed) target.data = scratch;
    if (items && apart) {  // the rows of a matrix that is transposed, which may lie so already
      char* rows = pieces[0].data;
      std::int64_t row = count_of_parts > 1 ? pieces[1].data - rows : 0;
      bool there = true;
      for (std::size_t i = 0; i < pieces.size() && there; ++i) {
        there = pieces[i].dtype == out.dtype && layouts[i].is_contiguous() &&
                pieces[i].data == rows + static_cast<std::int64_t>(i) * row;
      }
      if (!there) {
        rows = scratch + chunk;
        row = chunk / count_of_parts;
        for (std::size_t i = 0; i < pieces.size(); ++i) {
          const Layout contiguous = Layout::contiguous(layouts[i].shape);
          Operand to = target;
          to.data = rows + static_cast<std::int64_t>(i) * row;
          to.layout = &contiguous;
          copy(pieces[i], to);
        }
      }
      // A large result goes past the caches in pieces, so that reading and writing alternate.
      const std::int64_t n = chunk / count_of_parts / size, turn = count_of_parts * size;
      const std::int64_t step = streamed ? std::max<std::int64_t>(64, streamed_bytes / turn) : n;
      for (std::int64_t i = 0; i < n; i += step) {
        const std::int64_t m = std::min(step, n - i);
        char* const to = streamed ? target.data : target.data + i * turn;
        kernels().copy[item_class(size)](rows + i * size, {size, row}, to, {turn, size}, m,
                                         count_of_parts);
        if (!streamed) continue;
        for (std::int64_t k = 0; k < count_of_parts && there; ++k) {
          fetch(rows + k * row + (i + m) * size, m * size);
        }
        kernels().stream(to, memory + i * turn, m * turn, nullptr);
      }
    } else {
      for_each_part(pieces, axis, target,
                    [](const Operand& in, const Operand& to) { copy(in, to); });
    }
    if (streamed && !items) kernels().stream(target.data, memory, chunk, nullptr);
    if (streamed) kernels().stream_fence();
  });
}

namespace {

// Writes n items of `size` bytes, `stride` bytes apart, in parallel: write(to, i, count) puts those
// from the i-th on next to each other. Many of eight bytes go past the caches; narrower ones take
// longer to find than their lines to fetch.
template <class Write>
void generate(char* out, std::int64_t stride, int size, std::int64_t n, Write&& write) {
  constexpr std::int64_t chunk = 32768;
  const bool streamed = stride == size && size == 8 && goes_past_caches(n * size, n * size);
  parallel_for((n + chunk - 1) / chunk, n * size, [&](std::int64_t c) {
    const std::int64_t end = std::min(n, (c + 1) * chunk);
    if (stride == size && !streamed) {
      write(out + c * chunk * size, c * chunk, end - c * chunk);
      return;
    }
    constexpr std::int64_t block = 512;
    alignas(64) char items[block * 8];
    for (std::int64_t i = c * chunk; i < end; i += block) {
      const std::int64_t count = std::min(block, end - i);
      write(items, i, count);
      char* const to = out + i * stride;
      if (streamed) {
        kernels().stream(items, to, count * size, nullptr);
      } else {
        kernels().copy[item_class(size)](items, {0, size}, to, {0, stride}, 1, count);
      }
    }
    if (streamed) kernels().stream_fence();
  });
}

std::int64_t bytes_between(const Operand& out) {
  return out.layout->strides[0] * itemsize(out.dtype);
}

ProgressionKernel progression_kernel(DType real) {
  return kernels().progression[real == DType::float64];
}

}  // namespace

void arange(const Operand& out, const Element& start, const Element& step) {
  const std::int64_t n = out.layout->size;
  const int size = itemsize(out.dtype);
  if (is_integer(out.dtype)) {
    // Unsigned 64-bit arithmetic wraps where the dtype's own would be undefined.
    std::uint64_t first = 0, by = 0;
    dispatch(out.dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T>) {
        first = static_cast<std::uint64_t>(start.as<T>());
        by = static_cast<std::uint64_t>(step.as<T>());
      }
    });
    const IntegerRangeKernel kernel = kernels().integer_range[item_class(size)];
    generate(out.data, bytes_between(out), size, n,
             [&](char* to, std::int64_t i, std::int64_t count) {
               kernel(to, first + static_cast<std::uint64_t>(i) * by, by, count);
             });
    return;
  }
  const ProgressionKernel kernel = progression_kernel(out.dtype);
  const double first = start.as<double>(), by = step.as<double>();
  generate(out.data, bytes_between(out), size, n,
           [&](char* to, std::int64_t i, std::int64_t count) {
             kernel(to, {first, by, static_cast<double>(i), 1}, count);
           });
}

void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
              bool endpoint) {
  const std::int64_t n = out.layout->size, parts = endpoint ? n - 1 : n;
  const DType real = real_dtype(out.dtype);
  const ProgressionKernel kernel = progression_kernel(real);
  // Interpolated from the nearer end, so that both ends are exact and nothing overflows.
  const auto interpolate = [&](double a, double b, char* to) {
    const double all = static_cast<double>(parts), span = b - a;
    const double step = parts == 0            ? -0.0  // a + 0 * step is a, if that is -0.0 too
                        : std::isfinite(span) ? span / all
                                              : b / all - a / all;
    generate(to, bytes_between(out), itemsize(real), n,
             [&](char* items, std::int64_t i, std::int64_t count) {
               const std::int64_t near = std::clamp<std::int64_t>(parts / 2 + 1 - i, 0, count);
               kernel(items, {a, step, static_cast<double>(i), 1}, near);
               kernel(items + near * itemsize(real),
                      {b, -step, static_cast<double>(parts - i - near), -1}, count - near);
             });
  };
  interpolate(start.real(), stop.real(), out.data);
  if (is_complex(out.dtype)) interpolate(start.imag(), stop.imag(), out.data + itemsize(real));
}

namespace {

// A row at a time.
void triangle_by_rows(const Operand& in, const Operand& out, std::int64_t k, bool upper) {
  const Layout& shape = *out.layout;
  const int n = shape.ndim(), size = itemsize(out.dtype);
  if (shape.size == 0) return;
  const std::int64_t rows = shape.shape[n - 2], columns = shape.shape[n - 1];
  const std::int64_t matrices = shape.size / (rows * columns);
  const CopyKernel kernel = kernels().copy[item_class(size)];
  const std::int64_t in_column = in.layout->strides[n - 1] * size;
  const std::int64_t out_column = shape.strides[n - 1] * size;
  alignas(64) static constexpr char zeros[4096] = {};
  const std::int64_t per_chunk = std::max<std::int64_t>(1, 16384 / columns);
  const std::int64_t all_rows = matrices * rows;
  const std::int64_t bytes = shape.size * size;
  const bool streamed =
      goes_past_caches(bytes, 2 * bytes) && in_column == size && out_column == size;
  parallel_for((all_rows + per_chunk - 1) / per_chunk, 2 * bytes, [&](std::int64_t c) {
    for (std::int64_t j = c * per_chunk; j < std::min(all_rows, (c + 1) * per_chunk); ++j) {
      const std::int64_t r = j % rows;
      const char* p = in.data + r * in.layout->strides[n - 2] * size;
      char* q = out.data + r * shape.strides[n - 2] * size;
      for (std::int64_t rest = j / rows, d = n - 3; d >= 0; --d) {
        const int axis = static_cast<int>(d);
        const std::int64_t i = rest % shape.shape[axis];
        rest /= shape.shape[axis];
        p += i * in.layout->strides[axis] * size;
        q += i * shape.strides[axis] * size;
      }
      // The first column right of the diagonal's left side: kept part is [cut, columns) or [0,
      // cut).
      const std::int64_t reach = std::clamp<std::int64_t>(k, -rows, columns) + r + (upper ? 0 : 1);
      const std::int64_t cut = std::clamp<std::int64_t>(reach, 0, columns);
      const std::int64_t keep_from = upper ? cut : 0, keep = upper ? columns - cut : cut;
      const std::int64_t clear_from = upper ? 0 : cut, clear = columns - keep;
      const char* const from = p + keep_from * in_column;
      char* const to = q + keep_from * out_column;
      char* const cleared = q + clear_from * out_column;
      if (!streamed) {
        kernel(from, {0, in_column}, to, {0, out_column}, 1, keep);
        kernel(zeros, {0, 0}, cleared, {0, out_column}, 1, clear);
        continue;
      }
      kernels().stream(from, to, keep * size, nullptr);
      for (std::int64_t b = 0, count; b < clear * size; b += count) {
        const auto place = reinterpret_cast<std::uintptr_t>(cleared + b) % line_bytes;
        const auto whole = static_cast<std::int64_t>(sizeof zeros - place);  // up to a line's end
        count = std::min(clear * size - b, whole);
        kernels().stream(zeros, cleared + b, count, nullptr);
      }
    }
    if (streamed) kernels().stream_fence();
  });
}

// The part of an operand in the `count` rows of its matrices from `first` on.
struct SomeRows {
  Layout layout;
  Operand operand;

  SomeRows(const Operand& whole, std::int64_t first, std::int64_t count)
      : layout(slice_axis(*whole.layout, whole.layout->ndim() - 2, first, 1, count)),
        operand(whole) {
    operand.data += (layout.offset - whole.layout->offset) * itemsize(whole.dtype);
    operand.layout = &layout;
  }
  SomeRows(const SomeRows&) = delete;
};

// Of many small matrices, by a mask of one: what is kept, or zero.
void triangle_by_mask(const Operand& in, const Operand& out, std::int64_t k, bool upper) {
  const Dims& shape = out.layout->shape;
  const int n = shape.size();
  const std::int64_t rows = shape[n - 2], columns = shape[n - 1];
  std::vector<char> kept(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      kept[static_cast<std::size_t>(r * columns + c)] = upper ? c - r >= k : c - r <= k;
    }
  }
  const Layout matrix = broadcast_to(Layout::contiguous({rows, columns}), shape);
  Operand mask;
  mask.data = kept.data();
  mask.layout = &matrix;
  mask.dtype = DType::bool_;
  Element zero;
  zero.dtype = out.dtype;
  const Operand operands[] = {mask, in, zero};
  elementwise(Op::where, compute_dtype(out.dtype), operands, out);
}

}  // namespace

void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) {
  constexpr std::int64_t short_row = 512, few_matrices = 4, small_matrix = 1 << 14;
  const Layout& layout = *out.layout;
  if (layout.size == 0) return;
  const int n = layout.ndim();
  const std::int64_t rows = layout.shape[n - 2], columns = layout.shape[n - 1];
  // Rows before `first` are kept whole in an upper triangle, and cleared in a lower one, from
  // `last` on the other way round.
  const std::int64_t first = std::clamp<std::int64_t>(upper ? 1 - k : -k, 0, rows);
  const std::int64_t last = std::clamp<std::int64_t>(columns - k - (upper ? 0 : 1), first, rows);
  if (rows > 2 * columns && 2 * (last - first) < rows) {
    const auto keep = [&](std::int64_t from, std::int64_t to) {
      if (from < to)
        copy(SomeRows(in, from, to - from).operand, SomeRows(out, from, to - from).operand);
    };
    Element zero;
    zero.dtype = out.dtype;
    const auto clear = [&](std::int64_t from, std::int64_t to) {
      if (from < to) copy(zero, SomeRows(out, from, to - from).operand);
    };
    upper ? keep(0, first) : clear(0, first);
    upper ? clear(last, rows) : keep(last, rows);
    if (first < last) {
      triangle(SomeRows(in, first, last - first).operand,
               SomeRows(out, first, last - first).operand, k + first, upper);
    }
    return;
  }
  const std::int64_t size = itemsize(out.dtype);
  if (layout.size >= few_matrices * rows * columns && rows * columns <= small_matrix &&
      (columns * size < short_row || layout.strides[n - 1] != 1)) {
    return triangle_by_mask(in, out, k, upper);
  }
  triangle_by_rows(in, out, k, upper);
}

}  // namespace arrayx::cpu
