// A key becomes a view (its integers, slices and new axes) and the index arrays, which become one
// array of element offsets; Backend::gather and scatter do the rest. Masks stand for the columns of
// their nonzero().
#include "indexing.hpp"

#include <numeric>

namespace arrayx {

namespace {

using Kind = IndexItem::Kind;

// An index array and the dimension of x it picks from.
struct PickedAxis {
  Array index;
  std::int64_t size = 0, stride = 0;
  int axis = 0;
  bool is_position = false;  // from a mask: in bounds, not negative, no two equal, …
  bool is_offset = false;    // … and element offsets already
};

struct Selection {
  Layout slab;  // what every index tuple picks, and where the first would be for
                // indices of zero
  std::vector<PickedAxis> picked;
  Dims index_shape;  // the index arrays broadcast together
  bool has_arrays = false;
  int place = 0;  // where index_shape stands among the slab's dimensions

  Dims shape() const {
    Dims out(slab.shape.begin(), slab.shape.begin() + place);
    for (std::int64_t s : index_shape) out.push_back(s);
    for (int d = place; d < slab.ndim(); ++d) out.push_back(slab.shape[d]);
    return out;
  }
};

// The layout of something of a Selection's shape with the index dimensions moved to the front.
Layout index_first(const Layout& in, int index_ndim, int place) {
  Dims axes;
  for (int d = 0; d < index_ndim; ++d) axes.push_back(place + d);
  for (int d = 0; d < in.ndim(); ++d) {
    if (d < place || d >= place + index_ndim) axes.push_back(d);
  }
  return permute(in, axes);
}

void broadcast_index_shape(Selection& s, const Dims& shape) {
  try {
    s.index_shape = s.has_arrays ? broadcast_shapes(s.index_shape, shape) : shape;
  } catch (const Error&) {
    index_error("index arrays of shapes ", s.index_shape, " and ", shape,
                " do not broadcast together");
  }
  s.has_arrays = true;
}

Array flattened(const Array& x) {
  const Array row_major = contiguous(x);
  Layout flat = Layout::contiguous({row_major.size()});
  flat.offset = row_major.layout.offset;
  return row_major.with(flat);
}

// The columns of a mask's nonzero() as index arrays for the dimensions from `axis` on. Where those
// dimensions can be walked as one, one column of positions in it serves them all.
void add_mask(Selection& s, const Array& x, const Array& mask, int axis) {
  const int rank = mask.ndim();
  for (int d = 0; d < rank; ++d) {
    if (mask.shape()[d] != x.shape()[axis + d] && mask.shape()[d] != 0) {
      index_error("a mask of shape ", mask.shape(), " does not match axis ", axis + d,
                  " of the array, of shape ", x.shape());
    }
  }
  bool as_one = true;
  for (int d = axis; d + 1 < axis + rank && as_one; ++d) {
    as_one = x.strides()[d] == x.shape()[d + 1] * x.strides()[d + 1];
  }
  Backend& engine = backend_of(mask);
  const Array flat = as_one && rank > 1 ? flattened(mask) : mask;
  const std::int64_t count = engine.count_nonzero(flat);
  std::vector<Array> columns;
  std::vector<Operand> operands;
  for (int d = 0; d < flat.ndim(); ++d) {
    columns.push_back(empty({count}, index_dtype, mask.device()));
  }
  for (const Array& column : columns) operands.push_back(column);
  if (count > 0) engine.nonzero(flat, operands);
  broadcast_index_shape(s, {count});
  for (int d = 0; d < flat.ndim(); ++d) {
    PickedAxis p;
    p.index = columns[d];
    p.axis = as_one ? axis + rank - 1 : axis + d;
    p.stride = x.strides()[p.axis];
    p.size = as_one ? mask.size() : x.shape()[p.axis];
    p.is_position = flat.ndim() == 1;
    p.is_offset = p.stride == 1;
    s.picked.push_back(std::move(p));
  }
}

Selection select(const Array& x, std::span<const IndexItem> key) {
  int named = 0, ellipses = 0;
  bool any_array = false;
  for (const IndexItem& item : key) {
    if (item.kind == Kind::integer || item.kind == Kind::slice) ++named;
    if (item.kind == Kind::ellipsis && ++ellipses > 1) {
      index_error("an index can have only one ellipsis ('...')");
    }
    if (item.kind == Kind::array) {
      const Array& a = item.array;
      if (a.dtype != DType::bool_ && !is_integer(a.dtype)) {
        index_error("an index array must have an integer dtype or bool, not ", a.dtype);
      }
      check_same_device(x, a);
      named += a.dtype == DType::bool_ ? a.ndim() : 1;
      any_array = true;
    }
  }
  const int unnamed = x.ndim() - named;
  if (unnamed < 0) {
    index_error("too many indices: array has ", x.ndim(),
                x.ndim() == 1 ? " dimension" : " dimensions", " but the key names ", named);
  }

  Selection s;
  s.slab.offset = x.layout.offset;
  const auto keep = [&](std::int64_t size, std::int64_t stride) {
    s.slab.shape.push_back(size);
    s.slab.strides.push_back(stride);
  };
  // Beside arrays, integers count as arrays of rank 0 in deciding whether all stand together.
  enum { none, inside, after } run = none;
  bool apart = false;
  const auto note_array = [&] {
    if (run == none) s.place = s.slab.ndim();
    apart |= run == after;
    run = inside;
  };
  const auto note_other = [&] {
    if (run == inside) run = after;
  };
  int axis = 0;
  const auto keep_unnamed = [&] {
    for (int i = 0; i < unnamed; ++i, ++axis) keep(x.shape()[axis], x.strides()[axis]);
  };
  for (const IndexItem& item : key) {
    switch (item.kind) {
      case Kind::integer: {
        const std::int64_t n = x.shape()[axis];
        if (item.integer < -n || item.integer >= n) {
          index_error("index ", item.integer, " is out of bounds for axis ", axis, " with size ",
                      n);
        }
        s.slab.offset += (item.integer + (item.integer < 0 ? n : 0)) * x.strides()[axis];
        if (any_array) note_array();
        ++axis;
        break;
      }
      case Kind::slice: {
        const std::int64_t n = x.shape()[axis], stride = x.strides()[axis];
        const SliceRange r =
            normalize_slice(n, item.has_start, item.start, item.has_stop, item.stop, item.step);
        if (r.count > 0) s.slab.offset += r.start * stride;
        keep(r.count, r.count > 1 ? stride * r.step : stride);
        note_other();
        ++axis;
        break;
      }
      case Kind::ellipsis:
        keep_unnamed();
        note_other();
        break;
      case Kind::newaxis:
        keep(1, 0);
        note_other();
        break;
      case Kind::array: {
        const Array& a = item.array;
        note_array();
        if (a.dtype != DType::bool_) {
          broadcast_index_shape(s, a.shape());
          PickedAxis p;
          p.index = a;
          p.axis = axis;
          p.size = x.shape()[axis];
          p.stride = x.strides()[axis];
          s.picked.push_back(std::move(p));
          ++axis;
        } else if (a.ndim() == 0) {
          broadcast_index_shape(s, {backend_of(a).count_nonzero(a)});
        } else {
          add_mask(s, x, a, axis);
          axis += a.ndim();
        }
        break;
      }
    }
  }
  if (ellipses == 0) keep_unnamed();
  if (apart) s.place = 0;
  s.slab.size = checked_size(s.slab.shape);
  return s;
}

[[noreturn]] void out_of_bounds(const PickedAxis& p, std::int64_t bad) {
  if (p.index.dtype == DType::uint64) {
    index_error("index ", static_cast<std::uint64_t>(bad), " is out of bounds for axis ", p.axis,
                " with size ", p.size);
  }
  index_error("index ", bad, " is out of bounds for axis ", p.axis, " with size ", p.size);
}

// What these offsets are known to be; those of one mask are different.
OffsetRange offset_range(const Selection& s, bool one_value) {
  OffsetRange range;
  range.step = 0;
  for (const PickedAxis& p : s.picked) {
    const std::int64_t reach = (p.size - 1) * p.stride;
    (reach < 0 ? range.lowest : range.highest) += reach;
    range.step = std::gcd(range.step, p.stride);
  }
  range.step = std::max<std::int64_t>(range.step, 1);
  range.any_order = one_value || (s.picked.size() == 1 && s.picked[0].is_position);
  return range;
}

// Where each index tuple's slab starts, relative to the slab of a Selection.
Array offsets_of(const Selection& s, Device device) {
  if (s.picked.size() == 1 && s.picked[0].is_offset && s.picked[0].index.shape() == s.index_shape) {
    return s.picked[0].index;
  }
  Array offsets = full(s.index_shape, Element::of(std::int64_t{0}), device);
  Backend& engine = backend(device);
  for (const PickedAxis& p : s.picked) {
    const Array index = p.index.with(broadcast_to(p.index.layout, s.index_shape));
    std::int64_t bad = 0;
    if (!engine.accumulate_offsets(index, p.size, p.stride, offsets, &bad)) out_of_bounds(p, bad);
  }
  return offsets;
}

// Whether an engine has the loop by the only index array, verb(index, n, stride, &bad); IndexError
// where it met an index out of bounds.
template <class Verb>
bool by_one_index(const Selection& s, Verb&& verb) {
  const PickedAxis& p = s.picked[0];
  std::int64_t bad = 0;
  const Array index = p.index.with(broadcast_to(p.index.layout, s.index_shape));
  const std::optional<bool> done = verb(index, p.size, p.stride, &bad);
  if (done && !*done) out_of_bounds(p, bad);
  return done.has_value();
}

// out[i…, slab…] = the element of `slabs` at each index tuple.
void gather_into(const Array& slabs, const Selection& s, const Array& out) {
  Backend& engine = backend_of(slabs);
  const auto gather = [&](const Array& index, std::int64_t n, std::int64_t stride, auto* bad) {
    return engine.gather_indexed(slabs, index, n, stride, out, bad);
  };
  // Engines know ways of few picks from many slabs, which need the picks as they are.
  const auto are_offsets = [&](const PickedAxis& p) { return p.is_offset && slabs.size() == 1; };
  if (s.picked.size() == 1 && !are_offsets(s.picked[0]) && by_one_index(s, gather)) return;
  const Array offsets = offsets_of(s, slabs.device());
  // Of an axis without elements no index is right, which an engine may tell later.
  const bool empty = std::any_of(s.picked.begin(), s.picked.end(),
                                 [](const PickedAxis& p) { return p.size == 0; });
  if (out.size() > 0 && !empty) engine.gather(slabs, offsets, out);
}

// The element of `slabs` at each index tuple = in[i…, slab…], or one value. What is written
// overlaps neither that nor the index arrays.
void scatter_into(const Operand& in, const Selection& s, const Array& slabs) {
  Backend& engine = backend_of(slabs);
  const auto scatter = [&](const Array& index, std::int64_t n, std::int64_t stride, auto* bad) {
    return engine.scatter_indexed(in, index, n, stride, slabs, bad);
  };
  // Of positions the order is known not to matter.
  if (s.picked.size() == 1 && !s.picked[0].is_position && by_one_index(s, scatter)) return;
  const Array offsets = offsets_of(s, slabs.device());
  if (checked_size(s.shape()) == 0) return;
  engine.scatter(in, offsets, offset_range(s, in.host_scalar), slabs);
}

// The selected elements of an array that is not row-major, in its memory order: the index arrays'
// dimensions stand where the slowest that they pick from does.
[[gnu::noinline]] Array gathered_in_order(const Array& x, const Selection& s) {
  const int n = s.index_shape.size();
  const Dims shape = s.shape();
  Layout picked;  // a dimension stands for those of the index arrays
  picked.shape = s.slab.shape;
  picked.strides = s.slab.strides;
  std::int64_t step = 0;
  for (const PickedAxis& p : s.picked) step = std::max(step, p.stride < 0 ? -p.stride : p.stride);
  picked.shape.insert(s.place, 2);  // one that moves, whatever its size
  picked.strides.insert(s.place, step);
  Dims order = memory_order(picked);
  for (int d = 0; order.size() < picked.ndim(); ++d) order.push_back(d);
  Dims axes, slab;  // of the result, and of the slab, the slowest first
  for (const std::int64_t d : order) {
    if (d == s.place) {
      for (int i = 0; i < n; ++i) axes.push_back(s.place + i);
    } else {
      axes.push_back(d < s.place ? d : d - 1 + n);
      slab.push_back(d < s.place ? d : d - 1);
    }
  }
  check_shape(shape);
  Array out;
  out.dtype = x.dtype;
  out.layout = dense_in_order(shape, axes);
  out.storage = backend_of(x).allocate(checked_bytes(out.size(), out.itemsize()));
  Layout in_order = permute(out.layout, axes);
  int place = 0;
  while (n > 0 && axes[place] != s.place) ++place;
  gather_into(x.with(permute(s.slab, slab)), s, out.with(index_first(in_order, n, place)));
  return out;
}

Array gathered(const Array& x, const Selection& s) {
  if (!x.layout.is_contiguous()) return gathered_in_order(x, s);
  const Array out = empty(s.shape(), x.dtype, x.device());
  gather_into(x.with(s.slab), s, out.with(index_first(out.layout, s.index_shape.size(), s.place)));
  return out;
}

// The first element as an operand of rank 0: the slab of a one-dimensional array.
Operand first_element(const Array& x) {
  static const Layout element;
  Operand first;
  first.data = x.data();
  first.layout = &element;
  first.dtype = x.dtype;
  return first;
}

// Whether an engine has the loop that gave `done`, for a one-dimensional x; IndexError where it met
// an index out of bounds.
bool has_loop(std::optional<bool> done, const Array& x, const Array& index, std::int64_t bad) {
  if (done && !*done) {
    PickedAxis p;
    p.index = index;
    p.size = x.size();
    out_of_bounds(p, bad);
  }
  return done.has_value();
}

// x[index] for a one-dimensional x: nothing that a Selection would say. False when the engine has
// no such loop.
bool picked(const Array& x, const Array& index, Array& out) {
  if (x.ndim() != 1) return false;
  check_same_device(x, index);
  out = empty(index.shape(), x.dtype, x.device());
  std::int64_t bad = 0;
  const std::optional<bool> done =
      backend_of(x).gather_indexed(first_element(x), index, x.size(), x.strides()[0], out, &bad);
  return has_loop(done, x, index, bad);
}

// x[mask] for a mask of x's shape: nothing but the elements is written. False when the key is of
// another kind, or the engine has no such loop.
bool compressed(const Array& x, std::span<const IndexItem> key, Array& out) {
  if (key.size() != 1 || key[0].kind != Kind::array) return false;
  const Array& mask = key[0].array;
  if (mask.dtype != DType::bool_ || mask.ndim() == 0 || mask.shape() != x.shape()) return false;
  check_same_device(x, mask);
  Backend& engine = backend_of(x);
  out = empty({engine.count_nonzero(mask)}, x.dtype, x.device());
  return engine.compress(x, mask, out);
}

// The value as an array that broadcasts to `shape`: leading dimensions of one that shape lacks go,
// as in NumPy.
Array fitted(const Array& value, const Dims& shape) {
  Layout v = value.layout;
  while (v.ndim() > shape.size() && v.shape[0] == 1) v = index_axis(v, 0, 0);
  bool fits = v.ndim() <= shape.size();
  const int shift = shape.size() - v.ndim();
  for (int d = 0; fits && d < v.ndim(); ++d) {
    fits = v.shape[d] == 1 || v.shape[d] == shape[d + shift];
  }
  if (!fits) {
    value_error("a value of shape ", value.shape(), " cannot be assigned to elements of shape ",
                shape, ": it does not broadcast to that shape");
  }
  return value.with(broadcast_to(v, shape));
}

// x[mask] = one value, which needs no positions: x = where(mask, value, x). False when the key is
// of another kind.
bool assign_where(const Array& x, std::span<const IndexItem> key, const Operand& value) {
  if (key.size() != 1 || key[0].kind != Kind::array) return false;
  Array mask = key[0].array;
  if (mask.dtype != DType::bool_ || mask.ndim() == 0 || mask.ndim() > x.ndim()) return false;
  for (int d = 0; d < mask.ndim(); ++d) {
    if (mask.shape()[d] != x.shape()[d]) return false;
  }
  check_same_device(x, mask);
  Layout view = mask.layout;
  for (int d = mask.ndim(); d < x.ndim(); ++d) view = insert_axis(view, d);
  mask = mask.with(broadcast_to(view, x.shape()));
  if (may_overlap(x, mask) && !same_view(x, mask)) mask = copy(mask);
  const Operand operands[] = {mask, value, x};
  if (x.size() > 0) backend_of(x).elementwise(Op::where, compute_dtype(x.dtype), operands, x);
  return true;
}

// `a`, or a copy of it, in `held`, that what is written to x does not change.
const Array& apart_from(const Array& x, const Array& a, Array& held) {
  return may_overlap(x, a) ? held = copy(a) : a;
}

// x[index] = one value, or one for each index, for a one-dimensional x. False when the index or the
// values are of another kind, or the engine has no such loop.
bool scattered(const Array& x, const Array& given, const Element* element, const Array* array) {
  if (x.ndim() != 1 || !is_integer(given.dtype)) return false;
  if (!element && array->shape() != given.shape()) return false;
  check_same_device(x, given);
  Array held[3];
  const Array& index = apart_from(x, given, held[0]);
  if (!element && array->dtype != x.dtype) array = &(held[1] = astype(*array, x.dtype, false));
  const Array& source = element ? held[2] : apart_from(x, *array, held[2]);
  std::int64_t bad = 0;
  const std::optional<bool> done =
      backend_of(x).scatter_indexed(element ? Operand(*element) : Operand(source), index, x.size(),
                                    x.strides()[0], first_element(x), &bad);
  return has_loop(done, x, index, bad);
}

void check_index_array(const char* function, const Array& x, const Array& indices) {
  check_kind(function, "indices", indices.dtype, kinds::integer);
  check_same_device(x, indices);
}

}  // namespace

Array get_item(const Array& x, std::span<const IndexItem> key) {
  Array out;
  if (compressed(x, key, out)) return out;
  if (key.size() == 1 && key[0].kind == IndexItem::Kind::array && is_integer(key[0].array.dtype) &&
      picked(x, key[0].array, out)) {
    return out;
  }
  const Selection s = select(x, key);
  return s.has_arrays ? gathered(x, s) : x.with(s.slab);
}

void set_item(const Array& x, std::span<const IndexItem> key, const Value& value) {
  check_writable(x, "the array");
  const Scalar* scalar = std::get_if<Scalar>(&value);
  const Array* array = std::get_if<Array>(&value);
  // The standard asks for promotion to x's dtype and leaves the rest open: it is cast.
  if (is_complex(scalar ? scalar_dtype(*scalar, x.dtype) : array->dtype) && !is_complex(x.dtype)) {
    type_error("cannot assign ", describe(value), scalar ? "" : " values", " to an array of dtype ",
               x.dtype, ": the imaginary part would be lost; take its real or imag part first");
  }
  if (array) check_same_device(x, *array);
  Element element;
  if (scalar) element = cast_element(*scalar, x.dtype);
  if (array && array->ndim() == 0) element = item(astype(*array, x.dtype, false));
  const bool one_value = scalar || array->ndim() == 0;
  if (one_value && assign_where(x, key, element)) return;
  if (key.size() == 1 && key[0].kind == IndexItem::Kind::array &&
      scattered(x, key[0].array, one_value ? &element : nullptr, array)) {
    return;
  }

  Selection s = select(x, key);
  if (!s.has_arrays) {
    const Array target = x.with(s.slab);
    if (scalar) return fill(target, element);
    return assign(target, fitted(*array, s.slab.shape));
  }
  for (PickedAxis& p : s.picked) {
    if (may_overlap(x, p.index)) p.index = copy(p.index);
  }
  if (one_value) return scatter_into(element, s, x.with(s.slab));
  const Array fit = fitted(astype(*array, x.dtype, false), s.shape());
  Array held;
  const Array& source = apart_from(x, fit, held);
  scatter_into(source.with(index_first(source.layout, s.index_shape.size(), s.place)), s,
               x.with(s.slab));
}

bool assign_picked(const Array& x, const Array& index, const Array& values) {
  if (values.dtype != x.dtype || values.ndim() == 0) return false;
  check_writable(x, "the array");
  check_same_device(x, values);
  return scattered(x, index, nullptr, &values);
}

Array take(const Array& x, const Array& indices, std::optional<std::int64_t> axis) {
  check_index_array("take", x, indices);
  if (!axis && x.ndim() != 1) {
    value_error("take: axis must be given for an array with ", x.ndim(),
                " dimensions; only with one it may be left out");
  }
  const int a = normalize_axis(axis.value_or(0), x.ndim());
  Array out;
  if (picked(x, indices, out)) return out;
  Selection s;
  s.slab = x.layout;
  s.slab.shape.erase(a);
  s.slab.strides.erase(a);
  s.slab.size = checked_size(s.slab.shape);
  s.place = a;
  s.has_arrays = true;
  s.index_shape = indices.shape();
  PickedAxis p;
  p.index = indices;
  p.axis = a;
  p.size = x.shape()[a];
  p.stride = x.strides()[a];
  s.picked.push_back(std::move(p));
  return gathered(x, s);
}

Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis) {
  check_index_array("take_along_axis", x, indices);
  const int a = normalize_axis(axis, x.ndim());
  if (indices.ndim() != x.ndim()) {
    value_error("take_along_axis: indices has ", indices.ndim(), " dimensions; it must have ",
                x.ndim(), ", as many as x");
  }
  // x with its axis reduced to the first element, so that the offsets along it are all that
  // differs.
  Layout others = x.layout;
  others.shape[a] = 1;
  others.size = checked_size(others.shape);
  Selection s;
  s.index_shape = broadcast_shapes(others.shape, indices.shape());
  s.index_shape[a] = indices.shape()[a];
  PickedAxis p;
  p.index = indices;
  p.axis = a;
  p.size = x.shape()[a];
  p.stride = x.strides()[a];
  s.picked.push_back(std::move(p));
  const Array out = empty(s.index_shape, x.dtype, x.device());
  gather_into(x.with(broadcast_to(others, s.index_shape)), s, out);
  return out;
}

}  // namespace arrayx
