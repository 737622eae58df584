// Conversions between Python values and the core's, and between C++ and Python exceptions.
#include <cstring>
#include <limits>
#include <new>
#include <string_view>

#include "bind.hpp"

namespace arrayx::python {

namespace {

constexpr __int128 int128_max = static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1);

// Any Python int; clamped beyond 128 bits, which every dtype refuses.
void wide_integer(PyObject* object, Scalar& out) {
  static PyObject* const shift = PyLong_FromLong(64);
  const Ref upper = checked(PyNumber_Rshift(object, shift));
  int overflow = 0;
  const long long high = PyLong_AsLongLongAndOverflow(upper.get(), &overflow);
  if (overflow == 0) {
    const unsigned long long low = PyLong_AsUnsignedLongLongMask(object);
    out.integer = static_cast<__int128>(static_cast<unsigned __int128>(high) << 64 | low);
    return;
  }
  out.integer = overflow > 0 ? int128_max : -int128_max - 1;
}

// A dtype's name, such as "float32", which NumPy takes wherever it takes a dtype.
bool dtype_named(std::string_view text, DType& out) {
  for (const DTypeInfo& row : dtype_table) {
    if (row.name == text) {
      out = row.dtype;
      return true;
    }
  }
  return false;
}

// A NumPy dtype, or a scalar type such as numpy.float32, without importing NumPy.
bool numpy_dtype_from(PyObject* object, DType& out) {
  const bool is_type = PyType_Check(object);
  const char* type =
      is_type ? reinterpret_cast<PyTypeObject*>(object)->tp_name : Py_TYPE(object)->tp_name;
  if (std::strncmp(type, is_type ? "numpy." : "numpy.dtype", is_type ? 6 : 11) != 0) return false;
  const Ref name = checked(PyUnicode_FromString("numpy"));
  const Ref numpy(PyImport_GetModule(name.get()));
  if (!numpy) {
    if (PyErr_Occurred()) throw PythonError{};
    return false;
  }
  const Ref dtype = checked(PyObject_CallMethod(numpy.get(), "dtype", "O", object));
  const Ref dtype_name = checked(PyObject_GetAttrString(dtype.get(), "name"));
  const Ref native = checked(PyObject_GetAttrString(dtype.get(), "isnative"));
  const char* text = PyUnicode_AsUTF8(dtype_name.get());
  if (!text) throw PythonError{};
  if (native.get() == Py_True && dtype_named(text, out)) return true;
  type_error("NumPy's dtype ", text, native.get() == Py_True ? "" : " of foreign byte order",
             " has no counterpart in arrayx");
}

// Python's bool, int, float and complex stand for the default dtypes of their kinds, as in NumPy:
// SciPy asks any namespace for zeros(..., dtype=bool).
bool python_type_from(PyObject* object, DType& out) {
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    out = DType::bool_;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    out = default_int;
  } else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    out = default_float;
  } else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) {
    out = default_complex;
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool scalar_from(PyObject* object, Scalar& out) {
  if (PyFloat_Check(object)) {
    out.kind = Kind::real;
    out.number = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyLong_Check(object)) {
    out.kind = PyBool_Check(object) ? Kind::bool_ : Kind::signed_;
    std::int64_t value;
    if (int_within_int64(object, value)) {
      out.integer = value;
    } else {
      wide_integer(object, out);
    }
    return true;
  }
  if (PyComplex_Check(object)) {
    out.kind = Kind::complex;
    out.number = {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)};
    return true;
  }
  return false;
}

namespace {

// NumPy's scalars count as Python's: they give way to the dtype of an array they meet. NumPy's
// arrays are not taken, not even those of rank 0.
bool numpy_scalar_from(PyObject* object, Scalar& out) {
  const char* type = Py_TYPE(object)->tp_name;
  if (std::strncmp(type, "numpy.", 6) != 0 || std::strcmp(type, "numpy.ndarray") == 0) return false;
  const Ref value(PyObject_CallMethod(object, "item", nullptr));
  if (!value) {
    PyErr_Clear();
    return false;
  }
  return scalar_from(value.get(), out);
}

}  // namespace

bool number_from(PyObject* object, Scalar& out) {
  return scalar_from(object, out) || numpy_scalar_from(object, out);
}

bool scalar_argument_from(PyObject* object, Scalar& out) {
  if (!is_array(object)) return number_from(object, out);
  if (array_of(object).ndim() != 0) return false;
  const Ref value(to_python(item(array_of(object))));
  return scalar_from(value.get(), out);
}

bool value_from(PyObject* object, Value& out) {
  if (is_array(object)) {
    out = array_of(object);
    return true;
  }
  Scalar scalar;
  if (!number_from(object, scalar)) return false;
  out = scalar;
  return true;
}

bool int64_from(PyObject* object, std::int64_t& out) {
  if (PyLong_CheckExact(object) && int_within_int64(object, out)) return true;
  if (!PyIndex_Check(object)) return false;
  const Ref index(PyNumber_Index(object));
  if (!index) {  // an array that is not an integer of rank 0
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
    PyErr_Clear();
    return false;
  }
  if (!int_within_int64(index.get(), out)) {
    value_error("an integer is beyond the 64 bits that sizes and axes have");
  }
  return true;
}

bool dims_from(PyObject* object, Dims& out) {
  out.clear();
  std::int64_t item;
  if (PyTuple_CheckExact(object)) {  // of ints alone it needs nothing of what follows
    const Py_ssize_t n = PyTuple_GET_SIZE(object);
    Py_ssize_t i = 0;
    for (; i < n && i < Dims::inline_capacity; ++i) {
      PyObject* entry = PyTuple_GET_ITEM(object, i);
      if (!PyLong_CheckExact(entry) || !int64_from(entry, item)) break;
      out.push_back(item);
    }
    if (i == n) return true;
    out.clear();
  }
  if (int64_from(object, item)) {
    out.push_back(item);
    return true;
  }
  if (!PySequence_Check(object) || PyUnicode_Check(object) || PyBytes_Check(object)) return false;
  const Ref items(PySequence_Fast(object, "a sequence was expected"));
  if (!items) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError{};
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    if (i > std::numeric_limits<int>::max() / 4) value_error("a shape has too many dimensions");
    const Ref held(Py_NewRef(PySequence_Fast_GET_ITEM(items.get(), i)));
    if (!int64_from(held.get(), item)) return false;
    out.push_back(item);
  }
  return true;
}

bool dtype_from(PyObject* object, DType& out) {
  if (is_dtype(object)) {
    out = dtype_of_object(object);
    return true;
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t size;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) throw PythonError{};
    return dtype_named({text, static_cast<std::size_t>(size)}, out);
  }
  if (python_type_from(object, out)) return true;
  return numpy_dtype_from(object, out);
}

PyObject* to_python(const Dims& dims) {
  PyObject* tuple = PyTuple_New(dims.size());
  if (!tuple) throw PythonError{};
  for (int i = 0; i < dims.size(); ++i) {
    PyObject* item = PyLong_FromLongLong(dims[i]);
    if (!item) {
      Py_DECREF(tuple);
      throw PythonError{};
    }
    PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

PyObject* to_python(const Element& element) {
  PyObject* result = dispatch(
      element.dtype, [&](auto type) { return python_number(element.as<decltype(type)>()); });
  if (!result) throw PythonError{};
  return result;
}

std::string type_name(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  const char* name = type->tp_name;
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return name;
  const Ref module = find_attribute(reinterpret_cast<PyObject*>(type), "__module__");
  const char* text = module && PyUnicode_Check(module.get()) ? PyUnicode_AsUTF8(module.get()) : "";
  if (!text) PyErr_Clear();
  if (!text || !*text || std::strcmp(text, "builtins") == 0) return name;
  return std::string(text) + "." + name;
}

Ref find_attribute(PyObject* object, const char* name) {
  PyObject* attribute = PyObject_GetAttrString(object, name);
  if (!attribute) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
    PyErr_Clear();
  }
  return Ref(attribute);
}

PyObject* linalg_error = PyExc_ValueError;

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an error without an exception");
  } catch (const Error& error) {
    PyObject* type = PyExc_RuntimeError;
    switch (error.kind()) {
      case ErrorKind::value:
        type = PyExc_ValueError;
        break;
      case ErrorKind::type:
        type = PyExc_TypeError;
        break;
      case ErrorKind::index:
        type = PyExc_IndexError;
        break;
      case ErrorKind::overflow:
        type = PyExc_OverflowError;
        break;
      case ErrorKind::memory:
        type = PyExc_MemoryError;
        break;
      case ErrorKind::buffer:
        type = PyExc_BufferError;
        break;
      case ErrorKind::not_implemented:
        type = PyExc_NotImplementedError;
        break;
      case ErrorKind::linalg:
        type = linalg_error;
        break;
      case ErrorKind::runtime:
        break;
    }
    PyErr_SetString(type, error.what());
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown error");
  }
}

}  // namespace arrayx::python
