// Subscripts, iteration and membership of Array: Python's keys become the frontend's IndexItems.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "array_type.hpp"

namespace arrayx::python {

namespace {

bool is_plain_int(PyObject* object) {
  return PyLong_Check(object) && !PyBool_Check(object);
}

std::int64_t index_value(PyObject* object) {
  const Py_ssize_t value = PyNumber_AsSsize_t(object, PyExc_IndexError);
  if (value == -1 && PyErr_Occurred()) throw PythonError{};
  return value;
}

// What a Python slice says. Bounds beyond 64 bits are clamped, which changes no slice.
struct SliceBounds {
  bool has_start, has_stop;
  Py_ssize_t start, stop, step;

  explicit SliceBounds(PyObject* object) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    has_start = slice->start != Py_None;
    has_stop = slice->stop != Py_None;
    const bool read = read_bound(slice->start, 0, start) && read_bound(slice->stop, 0, stop) &&
                      read_bound(slice->step, 1, step);
    if (!read && PySlice_Unpack(object, &start, &stop, &step) < 0) throw PythonError{};
  }
  SliceRange range(std::int64_t n) const {
    return normalize_slice(n, has_start, start, has_stop, stop, step);
  }

 private:
  // None and ints of 64 bits, at half of what PySlice_Unpack costs; false for others.
  static bool read_bound(PyObject* object, Py_ssize_t absent, Py_ssize_t& bound) {
    std::int64_t value = absent;
    if (object != Py_None && !(PyLong_CheckExact(object) && int_within_int64(object, value))) {
      return false;
    }
    bound = value;
    return true;
  }
};

void parse_slice(PyObject* object, IndexItem& item) {
  const SliceBounds bounds(object);
  item.kind = IndexItem::Kind::slice;
  item.has_start = bounds.has_start;
  item.has_stop = bounds.has_stop;
  item.start = bounds.start;
  item.stop = bounds.stop;
  item.step = bounds.step;
}

void make_array_item(IndexItem& item, Array array) {
  if (array.dtype != DType::bool_ && !is_integer(array.dtype)) {
    index_error("an array used as an index has an integer dtype or bool, not ", array.dtype);
  }
  item.kind = IndexItem::Kind::array;
  item.array = std::move(array);
}

[[noreturn]] void refuse_index(PyObject* object) {
  index_error(
      "an index is an int, a slice, an ellipsis, None, an array of integers or bools, or a "
      "tuple of these, not ",
      type_name(object));
}

IndexItem parse_item(PyObject* object, Device device) {
  IndexItem item;
  if (is_plain_int(object)) {
    item.kind = IndexItem::Kind::integer;
    item.integer = index_value(object);
  } else if (PySlice_Check(object)) {
    parse_slice(object, item);
  } else if (object == Py_Ellipsis) {
    item.kind = IndexItem::Kind::ellipsis;
  } else if (object == Py_None) {
    item.kind = IndexItem::Kind::newaxis;
  } else if (PyBool_Check(object)) {
    make_array_item(item, scalar_array(Element::of(object == Py_True), device));
  } else if (is_array(object)) {
    const Array& array = array_of(object);
    if (array.ndim() == 0 && is_integer(array.dtype)) {
      item.kind = IndexItem::Kind::integer;
      item.integer = index_value(object);
    } else {
      make_array_item(item, array);
    }
  } else if (PyList_Check(object) || PyTuple_Check(object)) {
    // An empty list selects nothing; as numbers it would be of a floating dtype.
    Array array = asarray(object, {}, device);
    make_array_item(item, array.size() == 0 ? astype(array, index_dtype, false) : array);
  } else {
    if (PyIndex_Check(object)) {
      const Ref index(PyNumber_Index(object));
      if (index) {
        item.kind = IndexItem::Kind::integer;
        item.integer = index_value(index.get());
        return item;
      }
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
      PyErr_Clear();
    }
    if (PyUnicode_Check(object) || PyBytes_Check(object) ||
        (!PyObject_CheckBuffer(object) && !find_attribute(object, "__dlpack__") &&
         !find_attribute(object, "__array__"))) {
      refuse_index(object);
    }
    make_array_item(item, asarray(object, {}, device));
  }
  return item;
}

// The items of a key; most keys have one, which needs no vector.
class Key {
 public:
  Key(PyObject* key, Device device) {
    if (!PyTuple_Check(key) || PyTuple_GET_SIZE(key) == 1) {
      only_ = parse_item(PyTuple_Check(key) ? PyTuple_GET_ITEM(key, 0) : key, device);
      return;
    }
    several_.reserve(PyTuple_GET_SIZE(key));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) {
      several_.push_back(parse_item(PyTuple_GET_ITEM(key, i), device));
    }
    items_ = several_;
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  std::span<const IndexItem> items() const { return items_; }

 private:
  IndexItem only_;
  std::vector<IndexItem> several_;
  std::span<const IndexItem> items_{&only_, 1};
};

// The place along an axis that an int names, in elements from the axis' first.
std::int64_t place_of(const Array& x, PyObject* key, int axis) {
  std::int64_t index;
  if (!int_within_int64(key, index)) index = index_value(key);  // raises
  const std::int64_t size = x.shape()[axis];
  if (index < -size || index >= size) {
    index_error("index ", index, " is out of bounds for axis ", axis, " with size ", size);
  }
  return (index < 0 ? index + size : index) * x.strides()[axis];
}

// Keys of one int per dimension; false for all others.
bool names_element(const Array& x, PyObject* key, std::int64_t& offset) {
  PyObject* const* entries = &key;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(key)) {
    entries = PySequence_Fast_ITEMS(key);
    count = PyTuple_GET_SIZE(key);
  }
  if (count != x.ndim()) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!PyLong_CheckExact(entries[i])) return false;
  }
  offset = x.layout.offset;
  for (int i = 0; i < count; ++i) offset += place_of(x, entries[i], i);
  return true;
}

// Keys of ints, slices, None and one ellipsis make their view here, in one walk at a fifth of what
// the general way costs; false for all others.
bool simple_view(const Array& x, PyObject* key, Layout& view) {
  PyObject* const* entries = &key;
  Py_ssize_t count = 1;
  if (PyTuple_CheckExact(key)) {
    entries = PySequence_Fast_ITEMS(key);
    count = PyTuple_GET_SIZE(key);
  }
  const int ndim = x.ndim();
  const auto is_slice_or_int = [&](Py_ssize_t i) {
    return PyLong_CheckExact(entries[i]) || PySlice_Check(entries[i]);
  };
  std::int64_t room = ndim;
  if (room + count > Dims::inline_capacity) room += std::count(entries, entries + count, Py_None);
  if (room > max_ndim) return false;
  view.shape.resize_for_overwrite(static_cast<int>(room));
  view.strides.resize_for_overwrite(static_cast<int>(room));
  const std::int64_t *const sizes = x.shape().data(), *const strides = x.strides().data();
  std::int64_t *const out_sizes = view.shape.data(), *const out_strides = view.strides.data();
  std::int64_t offset = x.layout.offset;
  int axis = 0, n = 0;
  const auto keep_until = [&](int end) {
    for (; axis < end; ++axis, ++n) {
      out_sizes[n] = sizes[axis];
      out_strides[n] = strides[axis];
    }
  };
  bool ellipsis = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const entry = entries[i];
    if (PyLong_CheckExact(entry)) {
      if (axis == ndim) return false;
      offset += place_of(x, entry, axis);
      ++axis;
    } else if (PySlice_Check(entry)) {
      if (axis == ndim) return false;
      const SliceRange range = SliceBounds(entry).range(sizes[axis]);
      if (range.count > 0) offset += range.start * strides[axis];
      out_sizes[n] = range.count;
      out_strides[n++] = range.count > 1 ? strides[axis] * range.step : strides[axis];
      ++axis;
    } else if (entry == Py_None) {
      out_sizes[n] = 1;
      out_strides[n++] = 0;
    } else {
      if (entry != Py_Ellipsis || ellipsis) return false;
      ellipsis = true;
      int end = ndim;
      for (Py_ssize_t j = i + 1; j < count; ++j) {
        const bool named = is_slice_or_int(j);
        if (!named && entries[j] != Py_None) return false;
        end -= named;
      }
      if (end < axis) return false;
      keep_until(end);
    }
  }
  keep_until(ndim);
  view.shape.resize_for_overwrite(n);
  view.strides.resize_for_overwrite(n);
  view.offset = offset;
  view.size = checked_size(view.shape);
  return true;
}

PyObject* general_subscript(const Array& x, PyObject* object) {
  const Key key(object, x.device());
  std::int64_t work = 0;
  for (const IndexItem& item : key.items()) {
    if (item.kind == IndexItem::Kind::array) work = x.nbytes() + item.array.nbytes();
  }
  Array out;
  {
    WithoutGil guard(work);
    out = get_item(x, key.items());
  }
  return wrap(std::move(out));
}

// The one index of a key that has no other.
PyObject* only_index(PyObject* key) {
  return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 1 ? PyTuple_GET_ITEM(key, 0) : key;
}

PyObject* subscript(PyObject* self, PyObject* key) {
  try {
    const Array& x = array_of(self);
    PyObject* const only = only_index(key);
    if (is_array(only)) {
      const Array& index = array_of(only);
      if (x.ndim() == 0 || index.ndim() == 0 || !is_integer(index.dtype)) {
        return general_subscript(x, key);
      }
      Array out;
      {
        const std::int64_t row = x.nbytes() / std::max<std::int64_t>(1, x.shape()[0]);
        WithoutGil guard(std::min(index.size(), x.shape()[0]) * row + index.nbytes());
        out = take(x, index, 0);
      }
      return wrap(std::move(out));
    }
    NewView view(self);
    if (names_element(x, key, view.layout().offset) || simple_view(x, key, view.layout())) {
      return view.release();
    }
    return general_subscript(x, key);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// x[view] = value where nothing has to be checked but that x can be written and the value fits as
// it is; false, and nothing done, for all else.
bool assign_simple(const Array& x, const Layout& view, const Scalar* scalar, const Array* array) {
  if (scalar) {
    if (scalar_dtype(*scalar, x.dtype) != x.dtype) return false;
    const Element element = to_element(*scalar, x.dtype);
    WithoutGil guard(view.size * x.itemsize());
    fill(x.with(view), element);
    return true;
  }
  if (array->dtype != x.dtype || !(array->shape() == view.shape)) return false;
  WithoutGil guard(view.size * x.itemsize());
  assign(x.with(view), *array);
  return true;
}

// A float or an int as a T, as to_element() makes it; false for what that may refuse, for
// subclasses and for dtypes that the number would change.
template <class T>
bool exact_number(PyObject* object, T& out) {
  if constexpr (is_integer(dtype_of<T>) || is_real_floating(dtype_of<T>)) {
    if (PyLong_CheckExact(object)) {
      std::int64_t value;
      if (!int_within_int64(object, value)) return false;
      if constexpr (is_integer(dtype_of<T>)) {
        out = static_cast<T>(value);
        return std::in_range<T>(value);
      } else {
        out = static_cast<T>(static_cast<double>(value));
        return true;
      }
    }
    if (is_real_floating(dtype_of<T>) && PyFloat_CheckExact(object)) {
      out = static_cast<T>(PyFloat_AS_DOUBLE(object));
      return true;
    }
  }
  return false;
}

// The object as an item of type T that assigning it writes; false where that takes more than
// reading it: numbers of other types, arrays of other dtypes, devices or ranks.
template <class T>
bool item_from(PyObject* object, T& out) {
  if (exact_number(object, out)) return true;
  if (is_array(object)) {
    const Array& value = array_of(object);
    if (value.ndim() != 0 || value.dtype != dtype_of<T> || !(value.device() == Device{})) {
      return false;
    }
    std::memcpy(&out, value.data(), sizeof out);
    return true;
  }
  Scalar scalar;
  if (!number_from(object, scalar) || scalar_dtype(scalar, dtype_of<T>) != dtype_of<T>)
    return false;
  out = to_element(scalar, dtype_of<T>).template as<T>();
  return true;
}

// x[key] = object where the key names one element of an array on the CPU.
bool assign_element(const Array& x, PyObject* key, PyObject* object) {
  std::int64_t offset;
  if (!(x.device() == Device{}) || !names_element(x, key, offset)) return false;
  check_writable(x, "the array");
  return dispatch(x.dtype, [&](auto item) {
    using T = decltype(item);
    if (!item_from(object, item)) return false;
    std::memcpy(static_cast<T*>(x.storage->data) + offset, &item, sizeof item);
    return true;
  });
}

void assign_general(const Array& x, PyObject* object, const Value& value) {
  if (!is_array(object)) {
    Layout layout;
    if (simple_view(x, object, layout)) {
      check_writable(x, "the array");  // the view alone does not show that x repeats elements
      const Scalar* scalar = std::get_if<Scalar>(&value);
      if (assign_simple(x, layout, scalar, std::get_if<Array>(&value))) return;
      const Array view = x.with(layout);
      WithoutGil guard(view.nbytes());
      return set_item(view, {}, value);
    }
  }
  const Key key(object, x.device());
  WithoutGil guard(x.nbytes());
  set_item(x, key.items(), value);
}

int assign_subscript(PyObject* self, PyObject* key, PyObject* object) {
  try {
    const Array& x = array_of(self);
    if (!object) type_error("elements of an array cannot be deleted");
    if (assign_element(x, key, object)) return 0;
    if (PyObject* const only = only_index(key);
        is_array(only) && is_array(object) && x.ndim() == 1) {
      const Array &index = array_of(only), &values = array_of(object);
      WithoutGil guard(index.nbytes() + values.nbytes());
      if (assign_picked(x, index, values)) return 0;
    }
    assign_general(x, key, as_assignable(object, x));
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

Py_ssize_t length(PyObject* self) {
  const Array& x = array_of(self);
  if (x.ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "an array of rank 0 has no length");
    return -1;
  }
  return x.shape()[0];
}

// x[i] for PySequence_GetItem, with i already counted from the front.
PyObject* sequence_item(PyObject* self, Py_ssize_t i) {
  try {
    const Array& x = array_of(self);
    if (x.ndim() == 0) index_error("an array of rank 0 cannot be indexed by an integer");
    NewView view(self);
    view.layout() = index_axis(x.layout, 0, i);
    return view.release();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

int contains(PyObject* self, PyObject* object) {
  try {
    const Array x = array_of(self);
    Value value;
    if (!value_from(object, value)) {
      type_error("x in array takes an array or a Python scalar, not ", type_name(object));
    }
    WithoutGil guard(x.nbytes());
    const Value arguments[] = {x, value};
    const Array equal = elementwise(Op::equal, arguments);
    return backend_of(equal).count_nonzero(equal) > 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// ---- iteration along the first axis ----------------------------------------------------------

struct IteratorObject {
  PyObject_HEAD PyObject* array;
  Py_ssize_t next;
};

void iterator_deallocate(PyObject* self) {
  Py_XDECREF(reinterpret_cast<IteratorObject*>(self)->array);
  PyObject_Free(self);
}
PyObject* iterator_next(PyObject* self) {
  auto* iterator = reinterpret_cast<IteratorObject*>(self);
  if (iterator->next >= array_of(iterator->array).shape()[0]) return nullptr;
  return sequence_item(iterator->array, iterator->next++);
}
PyObject* iterator_length_hint(PyObject* self, PyObject*) {
  const auto* iterator = reinterpret_cast<IteratorObject*>(self);
  return PyLong_FromLongLong(array_of(iterator->array).shape()[0] - iterator->next);
}
PyMethodDef iterator_methods[] = {{"__length_hint__", iterator_length_hint, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject iterator_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

bool ready_iterator_type() {
  if (iterator_type.tp_name) return true;
  iterator_type.tp_name = "arrayx.ArrayIterator";
  iterator_type.tp_basicsize = sizeof(IteratorObject);
  iterator_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  iterator_type.tp_dealloc = iterator_deallocate;
  iterator_type.tp_iter = PyObject_SelfIter;
  iterator_type.tp_iternext = iterator_next;
  iterator_type.tp_methods = iterator_methods;
  return PyType_Ready(&iterator_type) == 0;
}

}  // namespace

PyObject* array_iterate(PyObject* self) {
  if (array_of(self).ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "an array of rank 0 cannot be iterated over");
    return nullptr;
  }
  if (!ready_iterator_type()) return nullptr;
  auto* iterator = PyObject_New(IteratorObject, &iterator_type);
  if (!iterator) return nullptr;
  iterator->array = Py_NewRef(self);
  iterator->next = 0;
  return reinterpret_cast<PyObject*>(iterator);
}

PyObject* array_item(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  try {
    const Array& x = array_of(self);
    if (count == 0) return to_python(item(x));
    if (count == 1 && PyTuple_Check(args[0])) {
      count = PyTuple_GET_SIZE(args[0]);
      args = PySequence_Fast_ITEMS(args[0]);
    }
    if (count != x.ndim()) {
      index_error("item() takes no index or one int per dimension; the array has shape ",
                  x.shape());
    }
    Layout view = x.layout;
    for (int i = static_cast<int>(count) - 1; i >= 0; --i) {
      std::int64_t index;
      if (!int64_from(args[i], index)) type_error("item() takes ints, not ", type_name(args[i]));
      view = index_axis(view, i, index);
    }
    return to_python(item(x.with(view)));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMappingMethods array_as_mapping = {length, subscript, assign_subscript};

PySequenceMethods array_as_sequence = [] {
  PySequenceMethods slots{};
  slots.sq_length = length;
  slots.sq_item = sequence_item;
  slots.sq_contains = contains;
  return slots;
}();

}  // namespace arrayx::python
