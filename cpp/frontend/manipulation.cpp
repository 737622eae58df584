// Manipulation functions: views are changes of the Layout; what copies is cut into whole-block
// copies from views of the input to views of the output.
#include "manipulation.hpp"

#include "creation.hpp"
#include "indexing.hpp"
#include "searching.hpp"
#include "statistical.hpp"

namespace arrayx {

namespace {

// out = in where both have one shape and nothing overlaps.
void copy_block(const Array& in, const Array& out) {
  if (out.size() > 0) backend_of(out).copy(in, out);
}

std::int64_t checked_product(const char* function, std::int64_t n, std::int64_t m) {
  std::int64_t product;
  if (__builtin_mul_overflow(n, m, &product)) {
    value_error(function, ": ", n, " elements ", m, " times exceed 2**63 - 1 along one dimension");
  }
  return product;
}

// ValueError or TypeError unless the arrays can be joined; their common dtype.
DType joined_dtype(const char* function, std::span<const Array> arrays) {
  if (arrays.empty()) value_error(function, " needs at least one array, and was given none");
  DType dtype = arrays[0].dtype;
  for (const Array& a : arrays) {
    check_same_device(arrays[0], a);
    dtype = promote(dtype, a.dtype);
  }
  return dtype;
}

// x repeated `times` over along a new dimension behind `axis`, the two then taken as one.
Array repeat_evenly(const Array& array, std::int64_t times, int array_axis) {
  const MemoryOrder order(array);
  const Array x = order.of(array);
  const int axis = order.place(array_axis);
  Dims shape = x.shape();
  shape[axis] = checked_product("repeat", shape[axis], times);
  const Array out = empty(shape, x.dtype, x.device());
  if (out.size() > 0) {
    Dims apart = x.shape();
    apart.insert(axis + 1, times);
    const Array in = x.with(broadcast_to(insert_axis(x.layout, axis + 1), apart));
    copy_block(in, out.with(Layout::contiguous(apart)));
  }
  return order.undo(out);
}

// The arrays behind each other along an axis of the result, in memory order of the largest.
Array join(std::span<const Array> arrays, int axis, const Dims& shape, DType dtype) {
  const Array* largest = &arrays[0];
  for (const Array& a : arrays) {
    if (a.size() > largest->size()) largest = &a;
  }
  const MemoryOrder order(*largest);
  const Array out = empty(order.of(shape), dtype, arrays[0].device());
  if (order.is_of_shape()) {
    backend_of(out).join(std::vector<Operand>(arrays.begin(), arrays.end()), axis, out);
    return out;
  }
  std::vector<Array> views;
  views.reserve(arrays.size());
  for (const Array& a : arrays) views.push_back(order.of(a));
  const std::vector<Operand> parts(views.begin(), views.end());
  backend_of(out).join(parts, order.place(axis), out);
  return order.undo(out);
}

Array flattened(const Array& x) {
  return reshape(x, Dims{x.size()}, std::nullopt);
}

}  // namespace

// ---- views ----------------------------------------------------------------------------------

Array broadcast_to(const Array& x, const Dims& shape) {
  check_shape(shape);
  return x.with(broadcast_to(x.layout, shape));
}

std::vector<Array> broadcast_arrays(std::span<const Array> arrays) {
  Dims shape;
  for (const Array& a : arrays) {
    check_same_device(arrays[0], a);
    shape = broadcast_shapes(shape, a.shape());
  }
  std::vector<Array> out;
  out.reserve(arrays.size());
  for (const Array& a : arrays) out.push_back(broadcast_to(a, shape));
  return out;
}

Dims broadcast_shapes(std::span<const Dims> shapes) {
  Dims out;
  for (const Dims& shape : shapes) {
    check_shape(shape);
    out = broadcast_shapes(out, shape);
  }
  return out;
}

Array expand_dims(const Array& x, const Dims& axes) {
  const int ndim = x.ndim() + axes.size();
  if (ndim > max_ndim) {
    value_error("expand_dims: ", ndim, " dimensions are more than the ", max_ndim, " supported");
  }
  Dims places = normalize_axes(axes, ndim);
  std::sort(places.begin(), places.end());
  Layout layout = x.layout;
  for (std::int64_t place : places) layout = insert_axis(layout, static_cast<int>(place));
  return x.with(std::move(layout));
}

Array squeeze(const Array& x, const std::optional<Dims>& axes) {
  Dims places;
  if (axes) {
    places = normalize_axes(*axes, x.ndim());
    std::sort(places.begin(), places.end());
  } else {
    for (int i = 0; i < x.ndim(); ++i) {
      if (x.shape()[i] == 1) places.push_back(i);
    }
  }
  Layout layout = x.layout;
  for (int i = places.size() - 1; i >= 0; --i) {
    const int place = static_cast<int>(places[i]);
    if (x.shape()[place] != 1) {
      value_error("squeeze: axis ", place, " of shape ", x.shape(), " has size ", x.shape()[place],
                  "; only axes of size 1 can be removed");
    }
    layout.shape.erase(place);
    layout.strides.erase(place);
  }
  return x.with(std::move(layout));
}

Array flip(const Array& x, const std::optional<Dims>& axes) {
  Dims places;
  if (axes) {
    places = normalize_axes(*axes, x.ndim());
  } else {
    for (int i = 0; i < x.ndim(); ++i) places.push_back(i);
  }
  Layout layout = x.layout;
  for (std::int64_t place : places) layout = flip_axis(layout, static_cast<int>(place));
  return x.with(std::move(layout));
}

Array moveaxis(const Array& x, const Dims& source, const Dims& destination) {
  if (source.size() != destination.size()) {
    value_error("moveaxis: source ", source, " and destination ", destination,
                " must have the same number of axes");
  }
  const Dims from = normalize_axes(source, x.ndim(), "source");
  const Dims to = normalize_axes(destination, x.ndim(), "destination");
  Dims order(x.ndim(), -1);  // order[i]: the old place of the dimension that comes to place i
  for (int i = 0; i < from.size(); ++i) order[static_cast<int>(to[i])] = from[i];
  int place = 0;
  for (int old = 0; old < x.ndim(); ++old) {
    if (std::find(from.begin(), from.end(), old) != from.end()) continue;
    while (order[place] >= 0) ++place;
    order[place] = old;
  }
  return x.with(permute(x.layout, order));
}

Array permute_dims(const Array& x, const Dims& axes) {
  if (axes.size() != x.ndim()) {
    value_error("permute_dims: axes ", axes, " must name each of the ", x.ndim(),
                " dimensions of x once");
  }
  return x.with(permute(x.layout, normalize_axes(axes, x.ndim(), "axes")));
}

Array matrix_transpose(const Array& x) {
  if (x.ndim() < 2) {
    value_error("matrix_transpose takes arrays of at least 2 dimensions, not of shape ", x.shape());
  }
  Layout layout = x.layout;
  const int last = x.ndim() - 1;
  std::swap(layout.shape[last], layout.shape[last - 1]);
  std::swap(layout.strides[last], layout.strides[last - 1]);
  return x.with(std::move(layout));
}

Array view(const Array& x, DType dtype) {
  const std::int64_t from = itemsize(x.dtype), to = itemsize(dtype);
  if (dtype == DType::bool_ && x.dtype != DType::bool_) {
    type_error("view: elements of dtype ", x.dtype, " cannot be seen as bool");
  }
  Array out = x;
  out.dtype = dtype;
  const std::int64_t alignment = itemsize(real_dtype(dtype));
  if (reinterpret_cast<std::uintptr_t>(x.data()) % static_cast<std::uintptr_t>(alignment) != 0) {
    value_error("view: the first element does not stand at a multiple of ", alignment,
                " bytes, as one of dtype ", dtype, " must");
  }
  if (from == to) return out;
  const int last = x.ndim() - 1;
  if (last < 0) value_error("view: an array of rank 0 has no dimension for ", dtype, " to resize");
  if (x.shape()[last] != 1 && x.strides()[last] != 1) {
    value_error("view: the last dimension must be contiguous to become one of ", dtype,
                ", but its elements lie ", x.strides()[last], " apart");
  }
  // Numbers of old elements as numbers of new ones.
  const auto converted = [&](std::int64_t n) {
    if (n * from % to != 0) {
      value_error("view: elements of dtype ", x.dtype, " in shape ", x.shape(), " and strides ",
                  x.strides(), " do not make whole elements of dtype ", dtype);
    }
    return n * from / to;
  };
  Layout& layout = out.layout;
  for (std::int64_t& s : layout.strides) s = &s == &layout.strides[last] ? 1 : converted(s);
  layout.offset = converted(layout.offset);
  layout.shape[last] = converted(layout.shape[last]);
  layout.size = checked_size(layout.shape);
  return out;
}

Array diagonal(const Array& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  if (x.ndim() < 2) {
    value_error("diagonal takes arrays of at least 2 dimensions, not of shape ", x.shape());
  }
  const int row = normalize_axis(axis1, x.ndim(), "axis1");
  const int column = normalize_axis(axis2, x.ndim(), "axis2");
  if (row == column)
    value_error("diagonal: axis1 and axis2 are both ", axis1, "; they must differ");
  const std::int64_t nearest = std::clamp(offset, -x.shape()[row], x.shape()[column]);
  return x.with(diagonal(x.layout, row, column, nearest));
}

std::vector<Array> unstack(const Array& x, std::int64_t axis) {
  if (x.ndim() == 0) value_error("unstack takes arrays of at least 1 dimension, not of rank 0");
  const int place = normalize_axis(axis, x.ndim());
  std::vector<Array> out;
  out.reserve(static_cast<std::size_t>(x.shape()[place]));
  for (std::int64_t i = 0; i < x.shape()[place]; ++i) {
    out.push_back(x.with(index_axis(x.layout, place, i)));
  }
  return out;
}

// ---- a view if there is one -----------------------------------------------------------------

Array reshape(const Array& x, const Dims& shape, std::optional<bool> copy) {
  Dims wanted = shape;
  int unknown = -1;
  for (int i = 0; i < wanted.size(); ++i) {
    if (wanted[i] != -1) continue;
    if (unknown >= 0) value_error("reshape: shape ", shape, " has more than one size of -1");
    unknown = i;
    wanted[i] = 1;
  }
  check_shape(wanted);
  const std::int64_t known = checked_size(wanted);
  if (unknown >= 0 && known > 0 && x.size() % known == 0) wanted[unknown] = x.size() / known;
  if (unknown >= 0 && known == 0) {
    value_error("reshape: the size of -1 in ", shape, " is open because another size is 0");
  }
  if (checked_size(wanted) != x.size()) {
    value_error("reshape: an array of shape ", x.shape(), " with ", x.size(),
                x.size() == 1 ? " element" : " elements", " cannot have shape ", shape);
  }
  if (copy != std::optional(true)) {
    Layout layout;
    if (reshape(x.layout, wanted, layout)) return x.with(std::move(layout));
    if (copy) {
      value_error("reshape: x with shape ", x.shape(), " and strides ", x.strides(),
                  " cannot have shape ", shape, " without a copy, and copy is False");
    }
  }
  Array out = arrayx::copy(x);
  return out.with(Layout::contiguous(wanted));
}

// ---- copies ---------------------------------------------------------------------------------

Array astype(const Array& x, DType dtype, bool copy, std::optional<Device> device) {
  if (!device || *device == x.device()) return astype(x, dtype, copy);
  // Through host memory, which every engine can reach; the cast where the elements are.
  const Array source = contiguous(astype(x, dtype, false));
  const Array out = empty(x.shape(), dtype, *device);
  if (x.size() == 0) return out;
  if (x.device().type == DeviceType::cpu) {
    backend_of(out).copy_from_host(source.data(), out);
  } else if (device->type == DeviceType::cpu) {
    backend_of(source).copy_to_host(source, out.data());
  } else {
    const Array host = empty(x.shape(), dtype, Device{});
    backend_of(source).copy_to_host(source, host.data());
    backend_of(out).copy_from_host(host.data(), out);
  }
  return out;
}

Array concat(std::span<const Array> arrays, std::optional<std::int64_t> axis) {
  const DType dtype = joined_dtype("concat", arrays);
  std::vector<Array> flat;
  if (!axis) {
    for (const Array& a : arrays) flat.push_back(flattened(a));
    arrays = flat;
  }
  const int along = normalize_axis(axis.value_or(0), arrays[0].ndim());
  Dims shape = arrays[0].shape();
  shape[along] = 0;
  for (const Array& a : arrays) {
    bool fits = a.ndim() == shape.size();
    for (int d = 0; fits && d < shape.size(); ++d) fits = d == along || a.shape()[d] == shape[d];
    if (!fits) {
      value_error("concat: shapes ", arrays[0].shape(), " and ", a.shape(),
                  " may differ only along axis ", along);
    }
    if (__builtin_add_overflow(shape[along], a.shape()[along], &shape[along])) {
      value_error("concat: axis ", along, " would have more than 2**63 - 1 elements");
    }
  }
  return join(arrays, along, shape, dtype);
}

Array stack(std::span<const Array> arrays, std::int64_t axis) {
  const DType dtype = joined_dtype("stack", arrays);
  Dims shape = arrays[0].shape();
  const int along = normalize_axis(axis, shape.size() + 1);
  for (const Array& a : arrays) {
    if (!(a.shape() == shape)) {
      value_error("stack: all arrays must have one shape, not ", shape, " and ", a.shape());
    }
  }
  const auto count = static_cast<std::int64_t>(arrays.size());
  std::vector<Array> apart;  // each with a dimension of one where they stand side by side
  apart.reserve(arrays.size());
  const MemoryOrder order(arrays[0]);
  if (order.is_of_shape()) {
    shape.insert(along, count);
    for (const Array& a : arrays) apart.push_back(a.with(insert_axis(a.layout, along)));
    return join(apart, along, shape, dtype);
  }
  // In another order they lie whole, one behind the other, wherever that dimension is wanted.
  Dims lying = order.of(shape), axes;
  lying.insert(0, count);
  for (const Array& a : arrays) apart.push_back(a.with(insert_axis(order.of(a).layout, 0)));
  for (int i = 0; i < shape.size(); ++i) axes.push_back(order.place(i) + 1);
  axes.insert(along, 0);
  const Array out = join(apart, 0, lying, dtype);
  return out.with(permute(out.layout, axes));
}

Array repeat(const Array& x, std::int64_t repeats, std::optional<std::int64_t> axis) {
  if (repeats < 0) value_error("repeat: repeats must be at least 0, not ", repeats);
  if (!axis) return repeat_evenly(flattened(x), repeats, 0);
  return repeat_evenly(x, repeats, normalize_axis(*axis, x.ndim()));
}

namespace {

// What many counts add up to, of which only this comes to the host from another device. Nothing
// where one is negative, or they may add up to more than an int64 holds.
std::optional<std::int64_t> sum_of_counts(const Array& counts) {
  std::int64_t least = 0, most = 0, total = 0, bound;
  if (counts.device().type == DeviceType::cpu) {
    const std::int64_t* const count = counts.data_as<std::int64_t>();
    const std::int64_t stride = counts.strides()[0];
    std::uint64_t bits = 0, added = 0;  // those that any count has; modulo 2**64
    for (std::int64_t i = 0; i < counts.size(); ++i) {
      const auto times = static_cast<std::uint64_t>(count[i * stride]);
      bits |= times;
      added += times;
    }
    least = most = static_cast<std::int64_t>(bits);
    total = static_cast<std::int64_t>(added);
  } else {
    const Array told[] = {min(counts, {}, false), max(counts, {}, false),
                          sum(counts, {}, {}, false)};
    const Array on_host = astype(stack(told, 0), DType::int64, false, Device{});
    const std::int64_t* const known = on_host.data_as<std::int64_t>();
    least = known[0], most = known[1], total = known[2];
  }
  if (least < 0 || __builtin_mul_overflow(most, counts.size(), &bound)) return std::nullopt;
  return total;
}

// Which element each one of the result repeats, where the counts are.
Array positions_of_repeats(const Array& counts, std::int64_t total) {
  const auto integer = [](std::int64_t i) { return Scalar{Kind::signed_, i, {}}; };
  const Array places = arange(integer(0), integer(total), integer(1), index_dtype, counts.device());
  return searchsorted(cumulative_sum(counts, {}, {}, false), places, true, {});
}

}  // namespace

Array repeat(const Array& x, const Array& repeats, std::optional<std::int64_t> axis) {
  check_same_device(x, repeats);
  if (!is_integer(repeats.dtype)) {
    type_error("repeat: repeats must be of an integer dtype, not ", repeats.dtype);
  }
  const Array in = axis ? x : flattened(x);
  const int along = normalize_axis(axis.value_or(0), in.ndim());
  const std::int64_t n = in.shape()[along];
  if (repeats.ndim() > 1 || (repeats.size() != n && repeats.size() != 1)) {
    value_error("repeat: repeats must have shape (", n,
                ",) or (1,), one count for each element; not ", repeats.shape());
  }
  // What few counts say, and the positions of few elements, are found sooner on the host.
  constexpr std::int64_t few_counts = 1024, few_elements = 4096;
  const Array counts_there = astype(repeats, DType::int64, false);
  const bool on_host = x.device().type == DeviceType::cpu;
  if (repeats.size() > few_counts && (!on_host || in.ndim() == 1)) {
    if (const auto sum = sum_of_counts(counts_there)) {
      if (!on_host) return take(in, positions_of_repeats(counts_there, *sum), along);
      const Array out = empty(Dims{*sum}, in.dtype, in.device());
      if (backend_of(in).repeat(in, counts_there, out)) return out;
    }
  }
  const Array counts = astype(counts_there, DType::int64, false, Device{});
  const std::int64_t stride = counts.ndim() == 1 ? counts.strides()[0] : 0;
  const std::int64_t* count = counts.data_as<std::int64_t>();
  const auto check = [](std::int64_t times) {
    if (times < 0) value_error("repeat: repeats must be at least 0, not ", times);
  };
  if (repeats.size() == 1) {
    const std::int64_t times = count[0];
    check(times);
    return repeat_evenly(in, times, along);
  }
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t times = count[i * stride];
    check(times);
    if (__builtin_add_overflow(total, times, &total)) {
      value_error("repeat: the counts add up to more than 2**63 - 1");
    }
  }
  if (!on_host && total > few_elements) {
    return take(in, positions_of_repeats(counts_there, total), along);
  }
  const Array positions = empty(Dims{total}, index_dtype, Device{});
  std::int64_t* position = positions.data_as<std::int64_t>();
  std::int64_t* const end = position + total;
  // Another thread may write to the counts: they need not add up to the total once more.
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t times = count[i * stride];
    if (times > end - position) break;
    position = std::fill_n(position, times, i);
  }
  std::fill(position, end, 0);
  return take(in, astype(positions, index_dtype, false, x.device()), along);
}

namespace {

// Copies the blocks of `in` to where they come to stand in `out`, from dimension `axis` on; each
// rolled dimension is cut in two.
void roll_blocks(const Dims& shifts, int axis, const Array& in, const Array& out) {
  while (axis < in.ndim() && shifts[axis] == 0) ++axis;
  if (axis == in.ndim()) {
    copy_block(in, out);
    return;
  }
  const std::int64_t n = in.shape()[axis], shift = shifts[axis];
  const auto block = [axis](const Array& a, std::int64_t start, std::int64_t count) {
    return a.with(slice_axis(a.layout, axis, start, 1, count));
  };
  const bool last = std::all_of(shifts.begin() + axis + 1, shifts.end(),
                                [](std::int64_t later) { return later == 0; });
  if (last) {
    const Array end = block(in, n - shift, shift), start = block(in, 0, n - shift);
    const Operand parts[] = {end, start};
    backend_of(out).join(parts, axis, out);
    return;
  }
  roll_blocks(shifts, axis + 1, block(in, 0, n - shift), block(out, shift, n - shift));
  roll_blocks(shifts, axis + 1, block(in, n - shift, shift), block(out, 0, shift));
}

}  // namespace

Array roll(const Array& x, const Dims& shifts, const std::optional<Dims>& axes) {
  if (!axes) {
    if (shifts.size() != 1) {
      value_error("roll: shift ", shifts, " needs an axis for each of its items");
    }
    return reshape(roll(flattened(x), shifts, Dims{0}), x.shape(), false);
  }
  if (shifts.size() != 1 && shifts.size() != axes->size()) {
    value_error("roll: shift ", shifts, " and axis ", *axes, " must have the same length");
  }
  Dims places;
  for (std::int64_t axis : *axes) places.push_back(normalize_axis(axis, x.ndim()));
  const MemoryOrder order(x);
  const Array in = order.of(x), out = empty(in.shape(), x.dtype, x.device());
  if (out.size() == 0) return order.undo(out);
  Dims total(x.ndim(), 0);  // in [0, n); an axis named twice is rolled by the sum
  for (int i = 0; i < places.size(); ++i) {
    const int place = order.place(static_cast<int>(places[i]));
    const std::int64_t n = in.shape()[place];
    const std::int64_t shift = shifts[shifts.size() == 1 ? 0 : i] % n;
    // Each term is below n in magnitude, and the sum is taken without passing 2^63.
    const std::int64_t forward = shift < 0 ? shift + n : shift;
    total[place] =
        total[place] >= n - forward ? total[place] - (n - forward) : total[place] + forward;
  }
  roll_blocks(total, 0, in, out);
  return order.undo(out);
}

Array tile(const Array& x, const Dims& repetitions) {
  for (std::int64_t r : repetitions) {
    if (r < 0) value_error("tile: repetitions must be at least 0, not ", repetitions);
  }
  Array whole = x;
  Dims times = repetitions;
  while (times.size() < whole.ndim()) times.insert(0, 1);
  while (whole.ndim() < times.size()) whole.layout = insert_axis(whole.layout, 0);
  const MemoryOrder order(whole);
  whole = order.of(whole);
  times = order.of(times);
  Dims shape = whole.shape(), apart, sizes;
  for (int i = 0; i < shape.size(); ++i) {
    const std::int64_t n = shape[i];
    shape[i] = checked_product("tile", n, times[i]);
    for (std::int64_t s : {times[i], n}) apart.push_back(s);
    for (std::int64_t s : {std::int64_t{1}, n}) sizes.push_back(s);
  }
  const Array out = empty(shape, x.dtype, x.device());
  if (out.size() > 0) {
    // Each dimension of the output is a pair (repetition, position); the input repeats over the
    // first.
    Layout in;
    reshape(whole.layout, sizes, in);  // only inserts dimensions of size one
    copy_block(whole.with(broadcast_to(in, apart)), out.with(Layout::contiguous(apart)));
  }
  return order.undo(out);
}

}  // namespace arrayx
