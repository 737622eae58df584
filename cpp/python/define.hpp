// define(): a C++ function becomes one of _core, its arguments read by their C++ types. They are
// taken by position: arrayx/*.py has the signatures, defaults and docstrings.
#pragma once

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "array_type.hpp"
#include "bind.hpp"

namespace arrayx::python {

namespace py = pybind11;

// ---- arguments ------------------------------------------------------------------------------

// How a parameter of each type is read from Python, and what a message calls it.
template <class T>
struct Parameter;

#define ARRAYX_PARAMETER(T, text, from)                         \
  template <>                                                   \
  struct Parameter<T> {                                         \
    static std::string expected() { return text; }              \
    static bool read(PyObject* object, T& out) { return from; } \
  };
ARRAYX_PARAMETER(Array, "an arrayx array", is_array(object) && (out = array_of(object), true))
ARRAYX_PARAMETER(Value, "an arrayx array or a Python scalar", value_from(object, out))
ARRAYX_PARAMETER(Scalar, "a Python scalar or an array of rank 0", scalar_argument_from(object, out))
ARRAYX_PARAMETER(DType, "a dtype of arrayx", dtype_from(object, out))
ARRAYX_PARAMETER(Device, "a device, such as 'cpu'", device_from(object, out))
ARRAYX_PARAMETER(Dims, "an int or a tuple of ints", dims_from(object, out))
ARRAYX_PARAMETER(std::int64_t, "an int", int64_from(object, out))
#undef ARRAYX_PARAMETER

template <>
struct Parameter<bool> {
  static std::string expected() { return "a bool"; }
  static bool read(PyObject* object, bool& out) {
    const int truth = PyObject_IsTrue(object);
    if (truth < 0) throw PythonError{};
    out = truth == 1;
    return true;
  }
};

template <>
struct Parameter<double> {
  static std::string expected() { return "an int or a float"; }
  static bool read(PyObject* object, double& out) {
    if (!PyFloat_Check(object) && !PyIndex_Check(object)) return false;
    out = PyFloat_AsDouble(object);
    if (out == -1.0 && PyErr_Occurred()) throw PythonError{};
    return true;
  }
};

template <class T>
struct Parameter<std::optional<T>> {
  static std::string expected() { return Parameter<T>::expected() + ", or None"; }
  static bool read(PyObject* object, std::optional<T>& out) {
    if (object == Py_None) return true;
    return Parameter<T>::read(object, out.emplace());
  }
};

template <class T>
struct Parameter<std::vector<T>> {
  static std::string expected() { return "a tuple or list, each item " + Parameter<T>::expected(); }
  static bool read(PyObject* object, std::vector<T>& out) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
    const Ref items = checked(PySequence_Tuple(object));
    const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
    out.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      T item{};
      if (!Parameter<T>::read(PyTuple_GET_ITEM(items.get(), i), item)) return false;
      out.push_back(std::move(item));
    }
    return true;
  }
};

template <class A, class B>
struct Parameter<std::variant<A, B>> {
  static std::string expected() {
    return Parameter<A>::expected() + " or " + Parameter<B>::expected();
  }
  static bool read(PyObject* object, std::variant<A, B>& out) {
    A a{};
    if (Parameter<A>::read(object, a)) {
      out = std::move(a);
      return true;
    }
    B b{};
    if (!Parameter<B>::read(object, b)) return false;
    out = std::move(b);
    return true;
  }
};

template <class A, class B>
struct Parameter<std::pair<A, B>> {
  static std::string expected() {
    return "a pair of " + Parameter<A>::expected() + " and " + Parameter<B>::expected();
  }
  static bool read(PyObject* object, std::pair<A, B>& out) {
    if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
    const Ref items = checked(PySequence_Tuple(object));
    return PyTuple_GET_SIZE(items.get()) == 2 &&
           Parameter<A>::read(PyTuple_GET_ITEM(items.get(), 0), out.first) &&
           Parameter<B>::read(PyTuple_GET_ITEM(items.get(), 1), out.second);
  }
};

// Where an absent device is the default one.
struct OnDevice {
  Device device;
  operator Device() const { return device; }
};
template <>
struct Parameter<OnDevice> {
  static std::string expected() { return Parameter<std::optional<Device>>::expected(); }
  static bool read(PyObject* object, OnDevice& out) {
    if (object != Py_None) return Parameter<Device>::read(object, out.device);
    out.device = default_device();
    return true;
  }
};

// A diagonal: any int, since beyond the matrix all are alike.
struct Diagonal {
  std::int64_t k;
  operator std::int64_t() const { return k; }
};
template <>
struct Parameter<Diagonal> {
  static std::string expected() { return "an int"; }
  static bool read(PyObject* object, Diagonal& out) {
    if (!PyIndex_Check(object)) return false;
    const Ref index = checked(PyNumber_Index(object));
    int overflow = 0;
    out.k = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
    if (overflow != 0) out.k = overflow > 0 ? INT64_MAX : INT64_MIN;
    return true;
  }
};

// ---- results --------------------------------------------------------------------------------

inline py::object result(Array&& array) {
  return py::reinterpret_steal<py::object>(wrap(std::move(array)));
}
inline py::object result(const Dims& dims) {
  return py::reinterpret_steal<py::object>(to_python(dims));
}
inline py::object result(DType d) {
  return py::reinterpret_steal<py::object>(to_python(d));
}
template <class T>
  requires std::is_integral_v<T>
py::object result(T value) {
  return py::cast(value);
}
template <class T>
py::object result(std::vector<T>&& items) {
  py::tuple out(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) out[i] = result(std::move(items[i]));
  return out;
}
template <class... Items>
py::object result(std::tuple<Items...>&& items) {
  return std::apply([](auto&... item) { return py::make_tuple(result(std::move(item))...); },
                    items);
}

// ---- definition -----------------------------------------------------------------------------

template <class T>
T read(const char* function, const char* name, PyObject* object) {
  T value{};
  if (!Parameter<T>::read(object, value)) {
    type_error(function, ": ", name, " must be ", Parameter<T>::expected(), ", not ",
               object == Py_None ? "None" : type_name(object));
  }
  return value;
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class R, class... P>
struct Signature<R (F::*)(P...) const> {
  using Arguments = std::tuple<std::remove_cvref_t<P>...>;
  static constexpr std::size_t count = sizeof...(P);
};

// Adds `function`, whose parameters are called `names`, to the module. The GIL is released while it
// runs; the arguments are the only Python objects it knows.
template <class F, class... Names>
void define(py::module_& module, const char* function_name, F function, Names... parameter_names) {
  using S = Signature<F>;
  static_assert(sizeof...(Names) == S::count);
  const std::array<const char*, S::count> names{parameter_names...};
  module.def(function_name, [=](const py::args& args) -> py::object {
    try {
      if (args.size() != S::count) {
        type_error(function_name, " takes ", S::count, " arguments, not ", args.size());
      }
      auto arguments = [&]<std::size_t... i>(std::index_sequence<i...>) {
        return typename S::Arguments{read<std::tuple_element_t<i, typename S::Arguments>>(
            function_name, names[i], PyTuple_GET_ITEM(args.ptr(), i))...};
      }(std::make_index_sequence<S::count>{});
      const auto call = [&] {
        py::gil_scoped_release release;
        return std::apply(function, std::move(arguments));
      };
      return result(call());
    } catch (...) {
      set_python_error();
      throw py::error_already_set();
    }
  });
}

}  // namespace arrayx::python
