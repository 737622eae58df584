// pybind11 casters for the core's types: include this, and take and return Array, Value, Scalar,
// DType, Dims, Device, Element and std::optional or std::vector of them.
#pragma once

#include "objects.hpp"

// pybind11 follows Python.h.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace pybind11::detail {

// A caster whose conversion from Python is `bool from(PyObject*, Type&)`.
#define ARRAYX_CASTER_FROM(from)                  \
  bool load(handle source, bool) {                \
    try {                                         \
      return source && from(source.ptr(), value); \
    } catch (arrayx::python::PythonError&) {      \
      throw error_already_set();                  \
    }                                             \
  }

template <>
struct type_caster<arrayx::Array> {
  PYBIND11_TYPE_CASTER(arrayx::Array, const_name("Array"));
  bool load(handle source, bool) {
    if (!source || !arrayx::python::is_array(source.ptr())) return false;
    value = arrayx::python::array_of(source.ptr());
    return true;
  }
  static handle cast(const arrayx::Array& array, return_value_policy, handle) {
    return arrayx::python::wrap(array);
  }
  static handle cast(arrayx::Array&& array, return_value_policy, handle) {
    return arrayx::python::wrap(std::move(array));
  }
};

template <>
struct type_caster<arrayx::Scalar> {
  PYBIND11_TYPE_CASTER(arrayx::Scalar, const_name("bool | int | float | complex"));
  ARRAYX_CASTER_FROM(arrayx::python::scalar_argument_from)
};

template <>
struct type_caster<arrayx::Value> {
  PYBIND11_TYPE_CASTER(arrayx::Value, const_name("Array | bool | int | float | complex"));
  ARRAYX_CASTER_FROM(arrayx::python::value_from)
};

template <>
struct type_caster<arrayx::DType> {
  PYBIND11_TYPE_CASTER(arrayx::DType, const_name("DType"));
  ARRAYX_CASTER_FROM(arrayx::python::dtype_from)
  static handle cast(arrayx::DType dtype, return_value_policy, handle) {
    return arrayx::python::to_python(dtype);
  }
};

template <>
struct type_caster<arrayx::Dims> {
  PYBIND11_TYPE_CASTER(arrayx::Dims, const_name("int | Sequence[int]"));
  ARRAYX_CASTER_FROM(arrayx::python::dims_from)
  static handle cast(const arrayx::Dims& dims, return_value_policy, handle) {
    return arrayx::python::to_python(dims);
  }
};

template <>
struct type_caster<arrayx::Device> {
  PYBIND11_TYPE_CASTER(arrayx::Device, const_name("Device"));
  ARRAYX_CASTER_FROM(arrayx::python::device_from)
  static handle cast(arrayx::Device device, return_value_policy, handle) {
    return arrayx::python::to_python(device);
  }
};

// To Python only.
template <>
struct type_caster<arrayx::Element> {
  static constexpr auto name = const_name("bool | int | float | complex");
  static handle cast(const arrayx::Element& element, return_value_policy, handle) {
    return arrayx::python::to_python(element);
  }
};

#undef ARRAYX_CASTER_FROM

}  // namespace pybind11::detail
