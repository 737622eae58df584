// asarray: arrays from Python scalars, nested sequences, buffers, and objects of other libraries.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "../frontend/manipulation.hpp"
#include "define.hpp"

namespace arrayx::python {

namespace {

[[noreturn]] void refuse(PyObject* object) {
  type_error("cannot make a new array from an object of type ", type_name(object),
             ": it takes arrays, Python scalars, nested sequences of these, and objects with the "
             "buffer protocol, __dlpack__, __cuda_array_interface__ or __array__");
}

bool has_method(PyObject* object, const char* name) {
  return !PyType_Check(object) && static_cast<bool>(find_attribute(object, name));
}

bool is_text(PyObject* object) {
  return PyUnicode_Check(object) || PyBytes_Check(object) || PyByteArray_Check(object);
}

// Of what is on a GPU, the type may have the buffer protocol and the object no buffer (CuPy's).
std::optional<Array> from_host_buffer(PyObject* object, bool may_copy) {
  if (!PyObject_CheckBuffer(object)) return std::nullopt;
  try {
    return from_buffer(object, may_copy);
  } catch (const PythonError&) {
    PyErr_Clear();
    if (has_method(object, "__cuda_array_interface__")) return std::nullopt;
    return from_buffer(object, may_copy);  // which raises the same once more
  }
}

// An array by the protocols of other libraries; false when the object has none.
bool from_protocol(PyObject* object, std::optional<Device> device, std::optional<bool> copy_asked,
                   Array& out) {
  if (std::optional<Array> buffer = from_host_buffer(object, copy_asked != false)) {
    out = *std::move(buffer);
    // The same device rule as for everything that is not an Array yet.
    const Device target = device.value_or(default_device());
    if (!(target == out.device())) {
      if (copy_asked == false) value_error("memory of the CPU reaches ", target, " by a copy only");
      out = astype(out, out.dtype, false, target);
    } else if (copy_asked == true) {
      WithoutGil guard(out.nbytes());
      out = copy(out);
    }
    return true;
  }
  if (has_method(object, "__dlpack__")) {
    try {
      out = from_dlpack(object, device, copy_asked);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::buffer && copy_asked == false) value_error(error.what());
      throw;
    }
    return true;
  }
  // After DLPack, which says more; what has neither may be on the host all the same.
  if (has_method(object, "__cuda_array_interface__") && from_cuda_interface(object, out)) {
    if (device && !(*device == out.device())) {
      if (copy_asked == false) {
        value_error("copy is False, but memory of ", out.device(), " reaches ", *device,
                    " by a copy only");
      }
      out = astype(out, out.dtype, false, device);
    } else if (copy_asked == true) {
      out = copy(out);
    }
    return true;
  }
  if (has_method(object, "__array__")) {
    const Ref converted = checked(PyObject_CallMethod(object, "__array__", nullptr));
    if (Py_TYPE(converted.get()) == Py_TYPE(object)) refuse(object);
    out = asarray(converted.get(), {}, device, copy_asked);
    return true;
  }
  return false;
}

// ---- nested sequences ---------------------------------------------------------------------------

// Two walks over a nested sequence: `discover` finds shape and dtype, `to_array` fills the memory.
class Nested {
 public:
  void discover(PyObject* object) { visit(object, 0); }
  bool has_arrays() const { return array_dtype_.has_value(); }
  bool has_scalars() const { return std::find(seen_, seen_ + 5, true) != seen_ + 5; }

  // The dtype by the standard's rule; arrays among the items have theirs, scalars are weak beside
  // them.
  DType dtype() const {
    constexpr Kind order[] = {Kind::bool_, Kind::signed_, Kind::real, Kind::complex};
    OptionalDType d = array_dtype_;
    for (Kind kind : order) {
      if (!seen_[static_cast<int>(kind)]) continue;
      Scalar scalar;
      scalar.kind = kind;
      d = d ? scalar_dtype(scalar, *d) : default_dtype(scalar);
    }
    return d.value_or(default_float);
  }

  Array to_array(PyObject* object, DType dtype) {
    Array out = empty(shape_, dtype, Device{});
    next_converted_ = 0;
    dispatch(dtype, [&](auto type) {
      auto* data = out.data_as<decltype(type)>();
      fill(object, 0, data);
    });
    return out;
  }

 private:
  static bool is_scalar(PyObject* object, Kind& kind) {
    if (PyFloat_Check(object)) {
      kind = Kind::real;
    } else if (PyBool_Check(object)) {
      kind = Kind::bool_;
    } else if (PyLong_Check(object)) {
      kind = Kind::signed_;
    } else if (PyComplex_Check(object)) {
      kind = Kind::complex;
    } else {
      return false;
    }
    return true;
  }

  std::string where() const {
    std::string text = "item ";
    for (std::int64_t i : path_) text += "[" + std::to_string(i) + "]";
    return path_.empty() ? "the whole" : text;
  }

  // The object at `depth` has these dimensions, and nothing below them if it is a leaf.
  void check_rank(int depth, int rank) {
    if (rank_ < 0) {
      rank_ = depth + rank;
      return;
    }
    if (rank_ != depth + rank) {
      value_error("the nested sequence is ragged: ", where(), " has ", rank, " dimension",
                  rank == 1 ? "" : "s", " where ", std::max(rank_ - depth, 0), " were expected");
    }
  }
  void check_size(int axis, std::int64_t size) {
    if (axis < shape_.size()) {
      if (shape_[axis] != size) {
        value_error("the nested sequence is ragged: ", where(), " has length ", size, " where ",
                    shape_[axis], " was expected");
      }
    } else {
      shape_.push_back(size);
    }
  }

  void visit_array(const Array& array, int depth) {
    array_dtype_ = array_dtype_ ? promote(*array_dtype_, array.dtype) : array.dtype;
    check_rank(depth, array.ndim());
    for (int i = 0; i < array.ndim(); ++i) check_size(depth + i, array.shape()[i]);
  }

  void visit(PyObject* object, int depth) {
    Kind kind;
    if (is_scalar(object, kind)) {
      seen_[static_cast<int>(kind)] = true;
      if (rank_ != depth) check_rank(depth, 0);
      return;
    }
    if (is_array(object)) {
      visit_array(array_of(object), depth);
      return;
    }
    if (!PyList_Check(object) && !PyTuple_Check(object)) {
      if (is_text(object)) refuse(object);
      Array array;
      if (from_protocol(object, Device{}, {}, array)) {
        converted_.push_back(array);
        visit_array(array, depth);
        return;
      }
      if (!PySequence_Check(object)) refuse(object);
    }
    if (depth >= max_ndim) {
      value_error("the sequence is nested more than ", max_ndim, " deep, or contains itself");
    }
    const Ref items = checked(PySequence_Fast(object, "a sequence was expected"));
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.get());
    if (rank_ >= 0 && depth >= rank_) {
      value_error("the nested sequence is ragged: ", where(),
                  " is a sequence where a number was "
                  "expected");
    }
    check_size(depth, size);
    if (size == 0) check_rank(depth, 1);
    path_.push_back(0);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      path_.back() = i;
      const Ref item(Py_NewRef(PySequence_Fast_GET_ITEM(items.get(), i)));
      visit(item.get(), depth + 1);
    }
    path_.pop_back();
  }

  // Sequences can change between the two walks when their items run Python code.
  static void check_unchanged(bool same) {
    if (!same) value_error("the nested sequence changed while it was being read");
  }

  template <class T>
  void fill_array(const Array& array, int depth, T*& out) {
    check_unchanged(Dims(shape_.begin() + depth, shape_.end()) == array.shape());
    const Array host = contiguous(astype(array, dtype_of<T>, false, Device{}));
    if (host.size() == 0) return;
    std::memcpy(static_cast<void*>(out), host.data(), host.nbytes());
    out += host.size();
  }

  template <class T>
  void fill_scalar(PyObject* object, int depth, T*& out) {
    check_unchanged(depth == shape_.size());
    if constexpr (is_real_floating(dtype_of<T>)) {
      if (PyFloat_CheckExact(object)) {
        *out++ = static_cast<T>(PyFloat_AS_DOUBLE(object));
        return;
      }
    }
    Scalar scalar;
    check_unchanged(scalar_from(object, scalar));
    *out++ = cast_element(scalar, dtype_of<T>).template as<T>();
  }

  template <class T>
  void fill(PyObject* object, int depth, T*& out) {
    Kind kind;
    if (is_scalar(object, kind)) return fill_scalar(object, depth, out);
    if (is_array(object)) return fill_array(array_of(object), depth, out);
    if (!PyList_Check(object) && !PyTuple_Check(object) &&
        (PyObject_CheckBuffer(object) || has_method(object, "__dlpack__") ||
         has_method(object, "__cuda_array_interface__") || has_method(object, "__array__"))) {
      check_unchanged(next_converted_ < converted_.size());
      return fill_array(converted_[next_converted_++], depth, out);
    }
    const Ref items = checked(PySequence_Fast(object, "a sequence was expected"));
    check_unchanged(depth < shape_.size());
    for (std::int64_t i = 0; i < shape_[depth]; ++i) {
      check_unchanged(PySequence_Fast_GET_SIZE(items.get()) == shape_[depth]);
      const Ref item(Py_NewRef(PySequence_Fast_GET_ITEM(items.get(), i)));
      fill(item.get(), depth + 1, out);
    }
  }

  Dims shape_;
  int rank_ = -1;  // unknown until the first leaf
  bool seen_[5] = {};
  OptionalDType array_dtype_;
  std::vector<std::int64_t> path_;
  std::vector<Array> converted_;  // items that came by a protocol, in the order of the walk
  std::size_t next_converted_ = 0;
};

// The array of a flat list or tuple of nothing but floats, or of nothing but ints, which needs one
// walk and runs no Python code; false for all others.
template <class T>
bool from_flat_as(PyObject* const* items, Py_ssize_t n, Array& out) {
  out = empty(Dims{n}, dtype_of<T>, Device{});
  T* data = out.data_as<T>();
  for (Py_ssize_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!PyFloat_CheckExact(items[i])) return false;
      data[i] = PyFloat_AS_DOUBLE(items[i]);
    } else {
      if (!PyLong_CheckExact(items[i]) || !int_within_int64(items[i], data[i])) return false;
    }
  }
  return true;
}
bool from_flat(PyObject* object, OptionalDType dtype, Array& out) {
  if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
  PyObject* const* items = PySequence_Fast_ITEMS(object);
  if (n == 0) return false;
  if (PyFloat_CheckExact(items[0]) && dtype.value_or(default_float) == DType::float64) {
    return from_flat_as<double>(items, n, out);
  }
  if (PyLong_CheckExact(items[0]) && dtype.value_or(default_int) == DType::int64) {
    return from_flat_as<std::int64_t>(items, n, out);
  }
  return false;
}

// A fresh array of the CPU on the device that was asked for.
Array placed(Array array, std::optional<Device> device) {
  const Device target = device.value_or(default_device());
  return target == array.device() ? array : astype(array, array.dtype, false, target);
}

}  // namespace

Array asarray(PyObject* object, OptionalDType dtype, std::optional<Device> device,
              std::optional<bool> copy_asked) {
  Array array;
  if (is_array(object)) {
    array = array_of(object);
    const bool stays = !device || *device == array.device();
    const bool same = !dtype || *dtype == array.dtype;
    if (stays && same && copy_asked != true) return array;
    if (copy_asked == false) {
      value_error("copy is False, but the array, of dtype ", array.dtype, " on ", array.device(),
                  ", has to be copied to be what was asked for");
    }
    WithoutGil guard(array.nbytes());
    if (stays && same) return copy(array);
    return astype(array, dtype.value_or(array.dtype), false, device);
  }
  Scalar scalar;
  if (scalar_from(object, scalar)) {
    if (copy_asked == false) value_error("copy is False, but a Python scalar has to be copied");
    return scalar_array(cast_element(scalar, dtype.value_or(default_dtype(scalar))),
                        device.value_or(default_device()));
  }
  const bool is_list = PyList_Check(object) || PyTuple_Check(object);
  if (!is_list && from_protocol(object, device, copy_asked, array)) {
    if (!dtype || *dtype == array.dtype) return array;
    if (copy_asked == false) {
      value_error("copy is False, but the elements have dtype ", array.dtype, ", not ", *dtype);
    }
    WithoutGil guard(array.nbytes());
    return astype(array, *dtype, false);
  }
  if (PyUnicode_Check(object) || !PySequence_Check(object)) refuse(object);
  if (copy_asked == false) value_error("copy is False, but a sequence has to be copied");
  if (from_flat(object, dtype, array)) return placed(std::move(array), device);
  Nested nested;
  nested.discover(object);
  return placed(nested.to_array(object, dtype ? *dtype : nested.dtype()), device);
}

Value as_assignable(PyObject* object, const Array& target) {
  Value value;
  if (value_from(object, value)) return value;
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    return asarray(object, {}, target.device());
  }
  Nested nested;
  nested.discover(object);
  DType dtype = nested.dtype();
  if (!nested.has_arrays() && (!nested.has_scalars() || kind(dtype) <= kind(target.dtype))) {
    dtype = target.dtype;
  }
  return placed(nested.to_array(object, dtype), target.device());
}

void bind_asarray(pybind11::module_& module) {
  // What needs no change is handed back itself.
  define(
      module, "asarray",
      [](PyObject* object, OptionalDType dtype, std::optional<Device> device,
         std::optional<bool> copy_asked) {
        if (is_array(object) && !dtype && !device && copy_asked != true) {
          return Ref(Py_NewRef(object));
        }
        Array array = asarray(object, dtype, device, copy_asked);
        if (is_array(object) && copy_asked != true && array.storage == array_of(object).storage) {
          return Ref(Py_NewRef(object));
        }
        return Ref(wrap(std::move(array)));
      },
      "obj", "dtype", "device", "copy");
}

}  // namespace arrayx::python
