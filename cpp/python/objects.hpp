// The Python objects of the core — Array, DType, Device — and the conversions between Python values
// and C++ ones that every binding uses. The conversions that return bool say "not of that kind"
// with false and throw when the object is of that kind but cannot be converted.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cxxabi.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "../frontend/common.hpp"

namespace arrayx::python {

// ---- Array ----------------------------------------------------------------------------------

struct ArrayObject {
  PyObject_HEAD Array array;
  PyObject* weak_references;
  // Set in a view made here: the object whose reference to the storage this one's array uses.
  // Counting objects, under the GIL, spares the storage's atomic count, a third of x[3].
  ArrayObject* owner;
};
extern PyTypeObject array_type;

inline bool is_array(PyObject* object) {
  return Py_IS_TYPE(object, &array_type);
}
// The array inside; `object` is known to be an Array.
inline Array& array_of(PyObject* object) {
  return reinterpret_cast<ArrayObject*>(object)->array;
}
// A new reference; throws std::bad_alloc when there is no memory for the object.
PyObject* wrap(Array&& array);
inline PyObject* wrap(const Array& array) {
  return wrap(Array(array));
}

// A new object for a view of the array in `base`, of the same dtype, whose layout (that of rank 0
// until then) is written in place.
class NewView {
 public:
  explicit NewView(PyObject* base);  // throws like wrap()
  NewView(const NewView&) = delete;
  NewView& operator=(const NewView&) = delete;
  ~NewView() { Py_XDECREF(reinterpret_cast<PyObject*>(object_)); }
  Layout& layout() { return object_->array.layout; }
  PyObject* release() { return reinterpret_cast<PyObject*>(std::exchange(object_, nullptr)); }

 private:
  ArrayObject* object_;
};

// ---- DType ----------------------------------------------------------------------------------

bool is_dtype(PyObject* object);
DType dtype_of_object(PyObject* object);  // `object` is known to be a DType

// ---- conversions ----------------------------------------------------------------------------

// A Python bool, int, float or complex (or an instance of a subclass, such as numpy.float64).
bool scalar_from(PyObject* object, Scalar& out);
// … or one of NumPy's scalars.
bool number_from(PyObject* object, Scalar& out);
// … or an array of rank 0, where an argument is a number.
bool scalar_argument_from(PyObject* object, Scalar& out);
// An Array or a scalar, Python's or NumPy's.
bool value_from(PyObject* object, Value& out);
// One of our dtypes, NumPy's dtype or scalar type of the same name, or Python's bool, int, float
// and complex for the default dtypes.
bool dtype_from(PyObject* object, DType& out);
// A Device or its name. Throws ValueError for other strings.
bool device_from(PyObject* object, Device& out);
// A Python int within int64; false beyond. An int of one digit is read in its place: the call takes
// a third of x[3] with it.
inline bool int_within_int64(PyObject* object, std::int64_t& out) {
#if PY_VERSION_HEX >= 0x030C0000
  const auto* number = reinterpret_cast<PyLongObject*>(object);
  if (PyUnstable_Long_IsCompact(number)) {
    out = PyUnstable_Long_CompactValue(number);
    return true;
  }
#endif
  int overflow;
  out = PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}
// An int or a sequence of ints.
bool dims_from(PyObject* object, Dims& out);
// Anything with __index__ within int64; throws ValueError beyond.
bool int64_from(PyObject* object, std::int64_t& out);

// New references.
PyObject* to_python(DType dtype);
PyObject* to_python(Device device);
PyObject* to_python(const Dims& dims);
PyObject* to_python(const Element& element);  // bool, int, float or complex

// A bool, int, float or complex; null with an exception set when there is no memory.
template <class T>
PyObject* python_number(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return PyBool_FromLong(value);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) return PyLong_FromLongLong(value);
    return PyLong_FromUnsignedLongLong(value);
  } else if constexpr (std::is_convertible_v<T, double>) {
    return PyFloat_FromDouble(value);
  } else {
    return PyComplex_FromDoubles(value.real(), value.imag());
  }
}

// "int", "numpy.ndarray": how messages name the type of an object.
std::string type_name(PyObject* object);

// ---- errors ---------------------------------------------------------------------------------

// Thrown when a call into Python failed and left its exception set.
struct PythonError {};

// The class arrayx.linalg.LinAlgError, made by bind_linalg.
extern PyObject* linalg_error;

// Sets the Python exception for the C++ exception being handled; to be called in `catch (...)`.
void set_python_error() noexcept;

// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// The reference itself, or PythonError when a call returned null.
inline Ref checked(PyObject* owned) {
  if (!owned) throw PythonError{};
  return Ref(owned);
}

// An attribute, or null (and no exception set) when the object has none of that name.
Ref find_attribute(PyObject* object, const char* name);

// Lets other threads run while a call works on more than `bytes_worth_it` of memory, or in any
// case.
class WithoutGil {
 public:
  static constexpr std::int64_t bytes_worth_it = 1 << 16;
  explicit WithoutGil(std::int64_t bytes)
      : state_(bytes > bytes_worth_it ? PyEval_SaveThread() : nullptr) {}
  WithoutGil() : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() {
    if (!state_) return;
#if defined(__GLIBCXX__)
    // Python ends threads that want the lock back after the interpreter has ended, by unwinding
    // them, which no destructor survives. They wait instead, as Python's own do from 3.14 on.
    try {
      PyEval_RestoreThread(state_);
    } catch (const abi::__forced_unwind&) {
      for (;;) pause();
    }
#else
    PyEval_RestoreThread(state_);
#endif
  }

 private:
  PyThreadState* state_;
};

}  // namespace arrayx::python
