// The Python type Array: an object with an arrayx::Array inside it. This file has its life, its
// attributes and its methods; the operators, indexing and interchange have files of their own.
#include <cstddef>
#include <cstring>
#include <new>

#include "../frontend/creation.hpp"
#include "../frontend/manipulation.hpp"
#include "array_type.hpp"
#include "bind.hpp"

namespace arrayx::python {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject array_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

namespace {

// ---- life -----------------------------------------------------------------------------------

// Objects that were freed, kept for the next results; touched with the GIL held only.
constexpr int free_list_capacity = 256;
ArrayObject* free_list[free_list_capacity];
int free_list_size = 0;

void deallocate_array(PyObject* self) {
  auto* object = reinterpret_cast<ArrayObject*>(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  if (object->owner) {
    new (&object->array.storage) StorageRef;  // forgets one that it does not count for
    Py_DECREF(reinterpret_cast<PyObject*>(object->owner));
  }
  object->array.~Array();
  if (free_list_size < free_list_capacity) {
    free_list[free_list_size++] = object;
  } else {
    PyObject_Free(self);
  }
}

// Runs a function that returns a new reference, and turns what it throws into a Python exception.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// ---- attributes -----------------------------------------------------------------------------

PyObject* get_dtype(PyObject* self, void*) {
  return to_python(array_of(self).dtype);
}
PyObject* get_device(PyObject* self, void*) {
  return guarded([&] { return to_python(array_of(self).device()); });
}
PyObject* get_shape(PyObject* self, void*) {
  return guarded([&] { return to_python(array_of(self).shape()); });
}
PyObject* get_strides(PyObject* self, void*) {
  return guarded([&] {
    const Array& x = array_of(self);
    Dims bytes = x.strides();
    for (std::int64_t& stride : bytes) stride *= x.itemsize();
    return to_python(bytes);
  });
}
PyObject* get_ndim(PyObject* self, void*) {
  return PyLong_FromLong(array_of(self).ndim());
}
PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromLongLong(array_of(self).size());
}
PyObject* get_itemsize(PyObject* self, void*) {
  return PyLong_FromLong(array_of(self).itemsize());
}
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(array_of(self).nbytes());
}
PyObject* get_writable(PyObject* self, void*) {
  return guarded([&] {
    const Array& x = array_of(self);
    return PyBool_FromLong(x.writable() && !x.layout.has_repeats());
  });
}
PyObject* transposed(PyObject* self) {
  const Layout& in = array_of(self).layout;
  NewView view(self);
  Layout& out = view.layout();
  out = in;
  // Read from `in`: what was just stored piece by piece cannot be loaded as a whole at once.
  const int row = in.ndim() - 2, column = row + 1;
  out.shape[row] = in.shape[column];
  out.shape[column] = in.shape[row];
  out.strides[row] = in.strides[column];
  out.strides[column] = in.strides[row];
  return view.release();
}
PyObject* get_transpose(PyObject* self, void*) {
  return guarded([&] {
    const Array& x = array_of(self);
    if (x.ndim() != 2) {
      value_error("x.T is for arrays of two dimensions; this one has shape ", x.shape(),
                  ": use x.mT or permute_dims");
    }
    return transposed(self);
  });
}
PyObject* get_matrix_transpose(PyObject* self, void*) {
  return guarded([&] {
    const Array& x = array_of(self);
    if (x.ndim() < 2) {
      value_error("x.mT is for arrays of at least two dimensions; this one has shape ", x.shape());
    }
    return transposed(self);
  });
}
PyObject* get_real(PyObject* self, void*) {
  return guarded([&] {
    const Array& x = array_of(self);
    return wrap(is_complex(x.dtype) ? real(x) : x);
  });
}
PyObject* get_imag(PyObject* self, void*) {
  // Zeros for real numbers, as in NumPy: hasattr(x, "imag"), which xarray asks, must not raise.
  return guarded([&] {
    const Array& x = array_of(self);
    return wrap(is_complex(x.dtype) ? imag(x) : zeros(x.shape(), x.dtype, x.device()));
  });
}

PyGetSetDef array_attributes[] = {
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"shape", get_shape, nullptr, "The size of each dimension, a tuple.", nullptr},
    {"strides", get_strides, nullptr, "Bytes from one element to the next, per dimension.",
     nullptr},
    {"ndim", get_ndim, nullptr, "The number of dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes per element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"writable", get_writable, nullptr, "Whether elements can be assigned.", nullptr},
    {"T", get_transpose, nullptr, "The transpose of a two-dimensional array, a view.", nullptr},
    {"mT", get_matrix_transpose, nullptr,
     "The transpose of a matrix or of each in a stack of matrices, a view.", nullptr},
    {"real", get_real, nullptr, "The real parts, a view.", nullptr},
    {"imag", get_imag, nullptr,
     "The imaginary parts: a view of a complex array, zeros for another.", nullptr},
    {"__cuda_array_interface__", array_cuda_interface, nullptr,
     "The memory, for other libraries on the GPU.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- text -----------------------------------------------------------------------------------

PyObject* printed(PyObject* self, const char* function) {
  const Ref module(PyImport_ImportModule("arrayx._printing"));
  return module ? PyObject_CallMethod(module.get(), function, "O", self) : nullptr;
}
PyObject* array_repr(PyObject* self) {
  return printed(self, "array_repr");
}
PyObject* array_str(PyObject* self) {
  return printed(self, "array_str");
}

PyObject* array_format(PyObject* self, PyObject* spec) {
  return guarded([&]() -> PyObject* {
    const Array& x = array_of(self);
    if (!PyUnicode_Check(spec)) type_error("a format is a string, not ", type_name(spec));
    if (x.ndim() == 0) {
      const Ref value(to_python(item(x)));
      return PyObject_Format(value.get(), spec);
    }
    if (PyUnicode_GET_LENGTH(spec) != 0) {
      type_error("only an array of rank 0 takes a format; this one has shape ", x.shape());
    }
    return PyObject_Str(self);
  });
}

// ---- elements as Python objects -------------------------------------------------------------

// Row-major elements from `data` on, nested by the dimensions from `axis` on.
template <class T>
Ref nested_list(const T*& data, const Dims& shape, int axis) {
  const std::int64_t n = shape[axis];
  Ref list = checked(PyList_New(n));
  const bool innermost = axis + 1 == shape.size();
  for (std::int64_t i = 0; i < n; ++i) {
    PyObject* entry = innermost ? checked(python_number(*data++)).release()
                                : nested_list(data, shape, axis + 1).release();
    PyList_SET_ITEM(list.get(), i, entry);
  }
  return list;
}

// x on the host, row-major.
Array on_host(const Array& x) {
  return contiguous(astype(x, x.dtype, false, Device{}));
}

PyObject* array_tolist(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Array& x = array_of(self);
    if (x.ndim() == 0) return to_python(item(x));
    const Array host = on_host(x);
    return dispatch(host.dtype, [&](auto type) {
      using T = decltype(type);
      const T* data = host.data_as<const T>();
      return nested_list(data, host.shape(), 0).release();
    });
  });
}

PyObject* array_copy(PyObject* self, PyObject*) {
  return guarded([&] {
    const Array x = array_of(self);
    Array out;
    {
      WithoutGil guard(x.nbytes());
      out = copy(x);
    }
    return wrap(std::move(out));
  });
}

PyObject* array_complex(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Array& x = array_of(self);
    if (x.ndim() != 0) {
      type_error("only an array of rank 0 can be converted to a complex; this one has shape ",
                 x.shape());
    }
    const Ref value(to_python(item(x)));
    if (PyComplex_Check(value.get())) return Py_NewRef(value.get());
    const double real = PyFloat_AsDouble(value.get());
    if (real == -1.0 && PyErr_Occurred()) throw PythonError{};
    return PyComplex_FromDoubles(real, 0.0);
  });
}

// ---- pickling -------------------------------------------------------------------------------

// From protocol 5 on the elements travel in a PickleBuffer, which may stay out of band; before it
// as bytes, of which the receiver makes a writable copy.
PyObject* array_reduce(PyObject* self, PyObject* protocol_object) {
  return guarded([&]() -> PyObject* {
    const long protocol = PyLong_AsLong(protocol_object);
    if (protocol == -1 && PyErr_Occurred()) throw PythonError{};
    const Array& x = array_of(self);
    const Ref host(wrap(on_host(x)));
    const Ref core = checked(PyImport_ImportModule("arrayx._core"));
    if (!(x.device() == Device{})) {
      const Ref rebuild = checked(PyObject_GetAttrString(core.get(), "_rebuild_on"));
      const Ref device(to_python(x.device()));
      return Py_BuildValue("(O(OO))", rebuild.get(), device.get(), host.get());
    }
    const Ref data = checked(protocol >= 5 ? PyPickleBuffer_FromObject(host.get())
                                           : PyBytes_FromObject(host.get()));
    const Ref rebuild = checked(PyObject_GetAttrString(core.get(), "_rebuild"));
    const Ref dtype(to_python(x.dtype)), shape(to_python(x.shape()));
    return Py_BuildValue("(O(OOOO))", rebuild.get(), data.get(), dtype.get(), shape.get(),
                         protocol >= 5 ? Py_False : Py_True);
  });
}

Array rebuild(const pybind11::object& data, DType dtype, const Dims& shape, bool copy_data) {
  if (checked_size(shape) == 0) return empty(shape, dtype, Device{});
  // Whatever type the bytes come back as, they are read as plain ones.
  const Ref view = checked(PyMemoryView_FromObject(data.ptr()));
  const Ref bytes = checked(PyObject_CallMethod(view.get(), "cast", "s", "B"));
  Array raw = from_buffer(bytes.get());
  if (raw.size() != checked_bytes(checked_size(shape), itemsize(dtype))) {
    value_error("an array of shape ", shape, " and dtype ", dtype, " does not have ", raw.size(),
                " bytes");
  }
  const int size = itemsize(dtype);
  const int alignment = is_complex(dtype) ? size / 2 : size;
  if (copy_data || reinterpret_cast<std::uintptr_t>(raw.data()) % alignment != 0) raw = copy(raw);
  // One-dimensional contiguous bytes, foreign or fresh, start at the start of their storage.
  return Array{raw.storage, Layout::contiguous(shape), dtype};
}

// ---- the namespace and devices --------------------------------------------------------------

constexpr const char* api_versions[] = {"2021.12", "2022.12", "2023.12", "2024.12", "2025.12"};

PyObject* array_namespace(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    PyObject* version;
    keyword_arguments("__array_namespace__", args, count, names, {"api_version"}, &version);
    if (version && version != Py_None) {
      bool known = false;
      if (PyUnicode_Check(version)) {
        for (const char* v : api_versions) {
          known |= PyUnicode_CompareWithASCIIString(version, v) == 0;
        }
      }
      if (!known) {
        const Ref text = checked(PyObject_Repr(version));
        const char* utf8 = PyUnicode_AsUTF8(text.get());
        if (!utf8) throw PythonError{};
        value_error("api_version ", utf8, " is not supported; the versions are '2021.12' to ",
                    "'2025.12'");
      }
    }
    return PyImport_ImportModule("arrayx");
  });
}

PyObject* array_to_device(PyObject* self, PyObject* const* args, Py_ssize_t count,
                          PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count != 1) {
      type_error("to_device() takes 1 positional argument, the device, but ", count, " were given");
    }
    PyObject* stream;
    keyword_arguments("to_device", args + 1, 0, names, {"stream"}, &stream);
    Device device;
    if (!device_from(args[0], device)) {
      type_error("to_device() takes a Device or a string such as 'cpu', not ", type_name(args[0]));
    }
    const Array& x = array_of(self);
    if (stream && stream != Py_None && device.type == DeviceType::cpu &&
        x.device().type == DeviceType::cpu) {
      value_error("stream must be None: the CPU has no streams");
    }
    if (device == x.device()) return Py_NewRef(self);
    return wrap(astype(x, x.dtype, false, device));
  });
}

template <class F>
PyCFunction as_method(F* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef array_methods[] = {
    {"__array_namespace__", as_method(array_namespace), METH_FASTCALL | METH_KEYWORDS,
     "__array_namespace__($self, /, *, api_version=None)\n--\n\nThe arrayx package."},
    {"to_device", as_method(array_to_device), METH_FASTCALL | METH_KEYWORDS,
     "to_device($self, device, /, *, stream=None)\n--\n\n"
     "The array on another device; itself when it is there already."},
    {"__dlpack__", as_method(array_dlpack), METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__($self, /, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
     "The array as a DLPack capsule."},
    {"__dlpack_device__", array_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\nDLPack's (device type, device id)."},
    {"__array__", as_method(array_numpy), METH_FASTCALL | METH_KEYWORDS,
     "__array__($self, /, dtype=None, copy=None)\n--\n\nThe array as a numpy.ndarray."},
    {"__complex__", array_complex, METH_NOARGS, "__complex__($self, /)\n--\n\n"},
    {"__format__", array_format, METH_O, "__format__($self, spec, /)\n--\n\n"},
    {"__copy__", array_copy, METH_NOARGS, "__copy__($self, /)\n--\n\n"},
    {"__deepcopy__", array_copy, METH_O, "__deepcopy__($self, memo, /)\n--\n\n"},
    {"__reduce_ex__", array_reduce, METH_O, "__reduce_ex__($self, protocol, /)\n--\n\n"},
    {"copy", array_copy, METH_NOARGS, "copy($self, /)\n--\n\nA row-major copy."},
    {"item", as_method(array_item), METH_FASTCALL,
     "item($self, /, *index)\n--\n\n"
     "One element as a Python scalar: the only one, or that at an index."},
    {"tolist", array_tolist, METH_NOARGS,
     "tolist($self, /)\n--\n\nThe elements as nested lists of Python scalars."},
    {nullptr, nullptr, 0, nullptr}};

// Adds attributes to the Array type: functions become methods. (A static type takes none by
// setattr; names of C slots, such as __add__, would be ignored.)
void set_methods(const pybind11::dict& entries) {
  for (const auto& [name, value] : entries) {
    if (PyDict_SetItem(array_type.tp_dict, name.ptr(), value.ptr()) < 0) {
      throw pybind11::error_already_set();
    }
  }
  PyType_Modified(&array_type);
}

}  // namespace

namespace {

// An object whose array is not constructed yet.
ArrayObject* bare_array_object() noexcept {
  ArrayObject* object;
  if (free_list_size > 0) {
    object = free_list[--free_list_size];
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);  // it still has its type
  } else {
    object = static_cast<ArrayObject*>(PyObject_Malloc(sizeof(ArrayObject)));
    if (!object) {
      PyErr_NoMemory();
      return nullptr;
    }
    PyObject_Init(reinterpret_cast<PyObject*>(object), &array_type);
  }
  object->weak_references = nullptr;
  object->owner = nullptr;
  return object;
}

}  // namespace

ArrayObject* new_array_object() noexcept {
  ArrayObject* object = bare_array_object();
  if (object) new (&object->array) Array;
  return object;
}

PyObject* wrap(Array&& array) {
  ArrayObject* object = bare_array_object();
  if (!object) throw PythonError{};
  new (&object->array) Array(std::move(array));
  return reinterpret_cast<PyObject*>(object);
}

NewView::NewView(PyObject* base) : object_(bare_array_object()) {
  if (!object_) throw PythonError{};
  auto* from = reinterpret_cast<ArrayObject*>(base);
  Array* array = new (&object_->array) Array;
  new (&array->storage) StorageRef(from->array.storage.get());  // which its count does not know
  array->dtype = from->array.dtype;
  object_->owner = from->owner ? from->owner : from;
  Py_INCREF(reinterpret_cast<PyObject*>(object_->owner));
}

void keyword_arguments(const char* function, PyObject* const* args, Py_ssize_t count,
                       PyObject* given, std::initializer_list<const char*> names,
                       PyObject** values) {
  if (count != 0) type_error(function, "() takes keyword arguments only");
  std::fill_n(values, names.size(), nullptr);
  const Py_ssize_t n = given ? PyTuple_GET_SIZE(given) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(given, i);
    const auto found = std::find_if(names.begin(), names.end(), [&](const char* known) {
      return PyUnicode_CompareWithASCIIString(name, known) == 0;
    });
    if (found == names.end()) {
      const char* text = PyUnicode_AsUTF8(name);
      if (!text) throw PythonError{};
      type_error(function, "() has no keyword argument '", text, "'");
    }
    values[found - names.begin()] = args[i];
  }
}

std::optional<bool> optional_bool(PyObject* object) {
  if (!object || object == Py_None) return std::nullopt;
  const int truth = PyObject_IsTrue(object);
  if (truth < 0) throw PythonError{};
  return truth != 0;
}

void bind_array(pybind11::module_& module) {
  array_type.tp_name = "arrayx.Array";
  array_type.tp_doc =
      "An n-dimensional array of elements of one dtype on one device. Made by asarray and the "
      "other creation functions.";
  array_type.tp_basicsize = sizeof(ArrayObject);
  array_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  array_type.tp_dealloc = deallocate_array;
  array_type.tp_weaklistoffset = offsetof(ArrayObject, weak_references);
  array_type.tp_repr = array_repr;
  array_type.tp_str = array_str;
  array_type.tp_hash = PyObject_HashNotImplemented;
  array_type.tp_richcompare = array_compare;
  array_type.tp_iter = array_iterate;
  // No tp_getattro that knows the commonest names: it halves what they cost, but with one Python
  // makes an object for every call of a method, and x.item() takes 60 ns instead of 25.
  array_type.tp_getset = array_attributes;
  array_type.tp_methods = array_methods;
  array_type.tp_as_number = &array_as_number;
  array_type.tp_as_mapping = &array_as_mapping;
  array_type.tp_as_sequence = &array_as_sequence;
  array_type.tp_as_buffer = &array_as_buffer;
  if (PyType_Ready(&array_type) < 0) throw pybind11::error_already_set();
  // NumPy's operators ask __array_ufunc__ (arrayx/_array_methods.py); this is for those libraries
  // that look for the older attribute.
  const Ref priority(PyFloat_FromDouble(1000.0));
  PyDict_SetItemString(array_type.tp_dict, "__array_priority__", priority.get());
  PyType_Modified(&array_type);
  module.add_object("Array", reinterpret_cast<PyObject*>(&array_type));
  module.def("set_methods", set_methods, "set_methods($module, entries, /)\n--\n\n");
  module.def(
      "_rebuild_on",
      [](Device device, const Array& host) { return astype(host, host.dtype, false, device); },
      "_rebuild_on($module, device, host, /)\n--\n\n");
  module.def("_rebuild", rebuild, "_rebuild($module, data, dtype, shape, copy, /)\n--\n\n");
}

}  // namespace arrayx::python
