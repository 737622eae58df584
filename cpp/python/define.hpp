// define(): a C++ function becomes a Definition and a Function of _core, its arguments read by
// their C++ types. There they are taken by position: arrayx/*.py has the signatures, defaults and
// docstrings.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "array_type.hpp"
#include "bind.hpp"
#include "function.hpp"

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

// Any object; a function that takes one keeps the GIL.
template <>
struct Parameter<PyObject*> {
  static std::string expected() { return "an object"; }
  static bool read(PyObject* object, PyObject*& out) {
    out = object;
    return true;
  }
};

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
    if constexpr (std::is_same_v<T, Array>) {  // reading these runs no Python code
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
      PyObject* const* arrays = PySequence_Fast_ITEMS(object);
      if (!std::all_of(arrays, arrays + n, is_array)) return false;
      out.reserve(static_cast<std::size_t>(n));
      for (Py_ssize_t i = 0; i < n; ++i) out.push_back(array_of(arrays[i]));
      return true;
    }
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

// ---- results: new references -----------------------------------------------------------------

inline PyObject* result(Array&& array) {
  return wrap(std::move(array));
}
inline PyObject* result(const Dims& dims) {
  return to_python(dims);
}
inline PyObject* result(DType d) {
  return to_python(d);
}
inline PyObject* result(Ref&& object) {
  return object.release();
}
template <class T>
  requires std::is_integral_v<T>
PyObject* result(T value) {
  return checked(python_number(value)).release();
}
template <class T>
PyObject* result(std::vector<T>&& items) {
  Ref out = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyTuple_SET_ITEM(out.get(), i, result(std::move(items[i])));
  }
  return out.release();
}
template <class... Items>
PyObject* result(std::tuple<Items...>&& items) {
  Ref out = checked(PyTuple_New(sizeof...(Items)));
  Py_ssize_t i = 0;
  std::apply(
      [&](auto&... item) { (PyTuple_SET_ITEM(out.get(), i++, result(std::move(item))), ...); },
      items);
  return out.release();
}

// ---- how much work ---------------------------------------------------------------------------
// Of a call, the product over its arguments: bytes of arrays, elements of shapes, counts.

template <class T>
double work_of(const T&) {
  return 1;
}
inline double work_of(const Array& x) {
  return static_cast<double>(x.nbytes());
}
inline double work_of(std::int64_t n) {
  return std::abs(static_cast<double>(n));
}
inline double work_of(const Scalar& s) {
  return std::max(std::abs(static_cast<double>(s.integer)), std::abs(s.number.real()));
}
inline double work_of(const Dims& sizes) {
  double product = 1;
  for (std::int64_t n : sizes) product *= static_cast<double>(n);
  return std::abs(product);
}
template <class T>
double work_of(const std::vector<T>& items) {
  double sum = 0;
  for (const T& item : items) sum += work_of(item);
  return sum;
}
template <class T>
double work_of(const std::optional<T>& value) {
  return value ? work_of(*value) : 1;
}
template <class... T>
double work_of(const std::variant<T...>& value) {
  return std::visit([](const auto& v) { return work_of(v); }, value);
}

// ---- definition -----------------------------------------------------------------------------

template <class T>
[[noreturn, gnu::noinline]] void refuse(const char* function, const char* name, PyObject* object) {
  type_error(function, ": ", name, " must be ", Parameter<T>::expected(), ", not ",
             object == Py_None ? "None" : type_name(object));
}

// How an argument is kept during the call: an Array where it is, since its object is immutable and
// held by the caller.
template <class T>
using Held = std::conditional_t<std::is_same_v<T, Array>, const Array&, T>;

template <class T>
Held<T> read(const char* function, const char* name, PyObject* object) {
  if constexpr (std::is_same_v<T, Array>) {
    if (!is_array(object)) refuse<T>(function, name, object);
    return array_of(object);
  } else {
    T value{};
    if (!Parameter<T>::read(object, value)) refuse<T>(function, name, object);
    return value;
  }
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class F, class R, class... P>
struct Signature<R (F::*)(P...) const> {
  template <std::size_t i>
  using Argument = std::tuple_element_t<i, std::tuple<std::remove_cvref_t<P>...>>;
  using Arguments = std::tuple<Held<std::remove_cvref_t<P>>...>;
  static constexpr std::size_t count = sizeof...(P);
  static constexpr bool keeps_gil = (std::is_same_v<std::remove_cvref_t<P>, PyObject*> || ...);
};

template <class F>
struct DefinitionOf : Definition {
  using S = Signature<F>;
  F function;
  std::array<const char*, S::count> names;

  DefinitionOf(const char* function_name, F f, std::array<const char*, S::count> parameter_names)
      : Definition{function_name, static_cast<int>(S::count), nullptr, invoke},
        function(std::move(f)),
        names(parameter_names) {
    parameters = names.data();
  }

  template <std::size_t... i>
  PyObject* run(PyObject* const* objects, std::index_sequence<i...>) const {
    // In braces the arguments are read from left to right.
    typename S::Arguments arguments{
        read<typename S::template Argument<i>>(name, names[i], objects[i])...};
    const auto call = [&] { return std::apply(function, std::move(arguments)); };
    if constexpr (S::keeps_gil) {
      return result(call());
    } else {
      const double work = (std::max(work_of(std::get<i>(arguments)), 1.0) * ... * 1.0);
      // Less than an array's operator allows itself, for there are functions that take long for
      // little memory.
      constexpr double worth_it = 4096;
      if (work < worth_it) return result(call());
      auto out = [&] {
        WithoutGil guard;
        return call();
      }();
      return result(std::move(out));
    }
  }

  static PyObject* invoke(const Definition& self, PyObject* const* objects) noexcept {
    try {
      return static_cast<const DefinitionOf&>(self).run(objects,
                                                        std::make_index_sequence<S::count>{});
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }
};

// Adds `function`, whose parameters are called `names`, to the module. The GIL is released while it
// runs, if that may take long; the arguments are the only Python objects it knows.
template <class F, class... Names>
void define(py::module_& module, const char* function_name, F function, Names... names) {
  static_assert(sizeof...(Names) == Signature<F>::count && sizeof...(Names) <= max_parameters);
  auto* definition = new DefinitionOf<F>(function_name, std::move(function), {names...});
  add_definition(function_name, definition);
  module.add_object(function_name, positional_function(definition));
}

// Makes a method known to _core.function as "Array." and its name; it is no function of the module.
template <class F, class... Names>
void define_method(const char* full_name, F function, Names... names) {
  static_assert(sizeof...(Names) == Signature<F>::count && sizeof...(Names) <= max_parameters);
  const char* const name = full_name + sizeof("Array.") - 1;
  add_definition(full_name, new DefinitionOf<F>(name, std::move(function), {names...}));
}

}  // namespace arrayx::python
