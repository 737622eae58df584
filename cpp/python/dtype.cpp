// The Python types DType (one object per dtype, equal to NumPy's without needing NumPy) and Device.
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "bind.hpp"

namespace arrayx::python {

namespace {

// ---- DType ----------------------------------------------------------------------------------

struct DTypeObject {
  PyObject_HEAD DType dtype;
  Py_hash_t hash;
};

PyObject* dtype_objects[dtype_count] = {};

DTypeObject* self_of(PyObject* self) {
  return reinterpret_cast<DTypeObject*>(self);
}

char kind_letter(DType d) {
  switch (kind(d)) {
    case Kind::bool_:
      return 'b';
    case Kind::signed_:
      return 'i';
    case Kind::unsigned_:
      return 'u';
    case Kind::real:
      return 'f';
    case Kind::complex:
      break;
  }
  return 'c';
}

// NumPy (2.0 on) hashes a built-in dtype as the tuple (kind, byte order, flags, itemsize,
// alignment), the first two as bytes of length one. Python's own hash of such a tuple, which is
// salted per process, makes ours the same.
Py_hash_t numpy_hash(DType d) {
  const int size = itemsize(d);
  const int alignment = is_complex(d) ? size / 2 : size;
  const unsigned probe = 1;
  const bool little = reinterpret_cast<const unsigned char&>(probe) == 1;
  const char order = size == 1 ? '|' : little ? '<' : '>';
  const Ref key =
      checked(Py_BuildValue("(ccKnn)", kind_letter(d), order, 0ULL, static_cast<Py_ssize_t>(size),
                            static_cast<Py_ssize_t>(alignment)));
  const Py_hash_t hash = PyObject_Hash(key.get());
  if (hash == -1 && PyErr_Occurred()) throw PythonError{};
  return hash;
}

PyObject* dtype_repr(PyObject* self) {
  return PyUnicode_FromFormat("arrayx.%s", name(self_of(self)->dtype).data());
}

Py_hash_t dtype_hash(PyObject* self) {
  return self_of(self)->hash;
}

PyObject* dtype_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool equal;
  if (is_dtype(other)) {
    equal = self == other;
  } else if (std::strncmp(Py_TYPE(other)->tp_name, "numpy.dtype", 11) == 0) {
    const Ref other_name(PyObject_GetAttrString(other, "name"));
    const Ref native(PyObject_GetAttrString(other, "isnative"));
    if (!other_name || !native) return nullptr;
    equal =
        native.get() == Py_True && PyUnicode_Check(other_name.get()) &&
        PyUnicode_CompareWithASCIIString(other_name.get(), name(self_of(self)->dtype).data()) == 0;
  } else {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

PyObject* dtype_name(PyObject* self, void*) {
  return PyUnicode_FromString(name(self_of(self)->dtype).data());
}
PyObject* dtype_itemsize(PyObject* self, void*) {
  return PyLong_FromLong(itemsize(self_of(self)->dtype));
}
PyObject* dtype_kind(PyObject* self, void*) {
  const char letter = kind_letter(self_of(self)->dtype);
  return PyUnicode_FromStringAndSize(&letter, 1);
}
PyObject* dtype_numpy(PyObject* self, void*) {
  const Ref numpy(PyImport_ImportModule("numpy"));
  if (!numpy) return nullptr;
  return PyObject_CallMethod(numpy.get(), "dtype", "s", name(self_of(self)->dtype).data());
}
PyObject* dtype_scalar_type(PyObject* self, void*) {
  const Ref numpy(dtype_numpy(self, nullptr));
  return numpy ? PyObject_GetAttrString(numpy.get(), "type") : nullptr;
}
PyObject* dtype_reduce(PyObject* self, PyObject*) {
  // A string makes pickle look the object up by this name in its module, and copy return it.
  return PyUnicode_FromString(name(self_of(self)->dtype).data());
}

PyGetSetDef dtype_attributes[] = {
    {"name", dtype_name, nullptr, "The dtype's name, such as 'float32'.", nullptr},
    {"itemsize", dtype_itemsize, nullptr, "Bytes per element.", nullptr},
    {"kind", dtype_kind, nullptr, "One of 'b', 'i', 'u', 'f', 'c', as in NumPy.", nullptr},
    {"dtype", dtype_numpy, nullptr, "NumPy's dtype of the same name; imports NumPy.", nullptr},
    {"type", dtype_scalar_type, nullptr, "NumPy's scalar type; imports NumPy.", nullptr},
    {"__module__", [](PyObject*, void*) { return PyUnicode_FromString("arrayx"); }, nullptr,
     nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr}};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject dtype_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject device_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

// ---- Device ---------------------------------------------------------------------------------

struct DeviceObject {
  PyObject_HEAD Device device;
};

Device device_of(PyObject* self) {
  return reinterpret_cast<DeviceObject*>(self)->device;
}

std::string device_name(Device d) {
  return d.type == DeviceType::cpu ? "cpu" : "cuda:" + std::to_string(d.index);
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* keywords) {
  PyObject* argument;
  static const char* names[] = {"device", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Device", const_cast<char**>(names),
                                   &argument)) {
    return nullptr;
  }
  try {
    Device device;
    if (!device_from(argument, device)) {
      type_error("Device() takes a Device or a string such as 'cpu', not ", type_name(argument));
    }
    return to_python(device);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* device_str(PyObject* self) {
  return PyUnicode_FromString(device_name(device_of(self)).c_str());
}
PyObject* device_repr(PyObject* self) {
  return PyUnicode_FromFormat("arrayx.Device('%s')", device_name(device_of(self)).c_str());
}
Py_hash_t device_hash(PyObject* self) {
  const Ref text(device_str(self));
  return text ? PyObject_Hash(text.get()) : -1;
}
PyObject* device_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool equal = false;
  if (Py_IS_TYPE(other, &device_type)) {
    equal = device_of(self) == device_of(other);
  } else if (PyUnicode_Check(other)) {
    const char* text = PyUnicode_AsUTF8(other);
    Device device;
    if (!text) {
      PyErr_Clear();
    } else {
      equal = parse_device(text, device) && device == device_of(self);
    }
  } else {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

PyObject* device_type_name(PyObject* self, void*) {
  return PyUnicode_FromString(device_of(self).type == DeviceType::cpu ? "cpu" : "cuda");
}
PyObject* device_index(PyObject* self, void*) {
  return PyLong_FromLong(device_of(self).index);
}
PyObject* device_reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(s))", &device_type, device_name(device_of(self)).c_str());
}

// The defaults that `with device:` blocks will restore, innermost last.
std::vector<Device>& outer_defaults() {
  static std::vector<Device> stack;
  return stack;
}
PyObject* device_enter(PyObject* self, PyObject*) {
  try {
    const Device before = default_device();
    backend(device_of(self));
    set_default_device(device_of(self));
    outer_defaults().push_back(before);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  return Py_NewRef(self);
}
PyObject* device_exit(PyObject*, PyObject*) {
  if (!outer_defaults().empty()) {
    set_default_device(outer_defaults().back());
    outer_defaults().pop_back();
  }
  Py_RETURN_NONE;
}

PyGetSetDef device_attributes[] = {
    {"type", device_type_name, nullptr, "'cpu' or 'cuda'.", nullptr},
    {"index", device_index, nullptr, "Which of the devices of its type.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\n"},
    {"__enter__", device_enter, METH_NOARGS, "__enter__($self, /)\n--\n\n"},
    {"__exit__", device_exit, METH_VARARGS, "__exit__($self, /, *exception)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool is_dtype(PyObject* object) {
  return Py_IS_TYPE(object, &dtype_type);
}
DType dtype_of_object(PyObject* object) {
  return self_of(object)->dtype;
}

PyObject* to_python(DType dtype) {
  return Py_NewRef(dtype_objects[static_cast<int>(dtype)]);
}

PyObject* to_python(Device device) {
  static PyObject* cpu = nullptr;
  if (device == Device{} && cpu) return Py_NewRef(cpu);
  auto* object = PyObject_New(DeviceObject, &device_type);
  if (!object) throw PythonError{};
  object->device = device;
  if (device == Device{}) cpu = Py_NewRef(reinterpret_cast<PyObject*>(object));
  return reinterpret_cast<PyObject*>(object);
}

bool device_from(PyObject* object, Device& out) {
  if (Py_IS_TYPE(object, &device_type)) {
    out = device_of(object);
    return true;
  }
  if (!PyUnicode_Check(object)) return false;
  const char* text = PyUnicode_AsUTF8(object);
  if (!text) throw PythonError{};
  if (!parse_device(text, out)) {
    value_error("device '", text, "' is unknown: it is 'cpu', 'cuda' or 'cuda:N'");
  }
  return true;
}

void bind_dtype(pybind11::module_& module) {
  dtype_type.tp_name = "arrayx.DType";
  dtype_type.tp_doc = "The type of an array's elements. There is one object per dtype.";
  dtype_type.tp_basicsize = sizeof(DTypeObject);
  dtype_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  dtype_type.tp_repr = dtype_repr;
  dtype_type.tp_hash = dtype_hash;
  dtype_type.tp_richcompare = dtype_compare;
  dtype_type.tp_getset = dtype_attributes;
  dtype_type.tp_methods = dtype_methods;
  if (PyType_Ready(&dtype_type) < 0) throw pybind11::error_already_set();
  module.add_object("DType", reinterpret_cast<PyObject*>(&dtype_type));
  pybind11::dict dtypes;
  for (const DTypeInfo& row : dtype_table) {
    auto* object = PyObject_New(DTypeObject, &dtype_type);
    if (!object) throw pybind11::error_already_set();
    object->dtype = row.dtype;
    object->hash = numpy_hash(row.dtype);
    dtype_objects[static_cast<int>(row.dtype)] = reinterpret_cast<PyObject*>(object);
    module.add_object(row.name.data(), reinterpret_cast<PyObject*>(object));
    dtypes[row.name.data()] = pybind11::handle(reinterpret_cast<PyObject*>(object));
  }
  module.attr("dtypes") = dtypes;

  device_type.tp_name = "arrayx.Device";
  device_type.tp_doc =
      "Device(device)\n--\n\nWhere arrays live: 'cpu', 'cuda' or 'cuda:N'. Equal to its name; "
      "`with device:` makes it the default.";
  device_type.tp_basicsize = sizeof(DeviceObject);
  device_type.tp_flags = Py_TPFLAGS_DEFAULT;
  device_type.tp_new = device_new;
  device_type.tp_repr = device_repr;
  device_type.tp_str = device_str;
  device_type.tp_hash = device_hash;
  device_type.tp_richcompare = device_compare;
  device_type.tp_getset = device_attributes;
  device_type.tp_methods = device_methods;
  if (PyType_Ready(&device_type) < 0) throw pybind11::error_already_set();
  module.add_object("Device", reinterpret_cast<PyObject*>(&device_type));
}

}  // namespace arrayx::python
