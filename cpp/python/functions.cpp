// The chapters of the standard as functions of _core, apart from the table's elementwise
// operations. They take every argument by position: arrayx/*.py has the signatures, defaults and
// docstrings.
#include "../frontend/creation.hpp"
#include "../frontend/elementwise.hpp"
#include "../frontend/indexing.hpp"
#include "../frontend/linear_algebra.hpp"
#include "../frontend/manipulation.hpp"
#include "../frontend/searching.hpp"
#include "../frontend/sets.hpp"
#include "../frontend/sorting.hpp"
#include "../frontend/statistical.hpp"
#include "define.hpp"

namespace py = pybind11;

namespace arrayx::python {

// One of two words, of which the second means true.
template <class Words>
struct Choice {
  bool second = false;
};
template <class Words>
struct Parameter<Choice<Words>> {
  static std::string expected() {
    return "'" + std::string(Words::first) + "' or '" + Words::second + "'";
  }
  static bool read(PyObject* object, Choice<Words>& out) {
    if (PyUnicode_Check(object)) {
      out.second = PyUnicode_CompareWithASCIIString(object, Words::second) == 0;
      if (out.second || PyUnicode_CompareWithASCIIString(object, Words::first) == 0) return true;
    }
    const Ref text = checked(PyObject_Repr(object));
    const char* utf8 = PyUnicode_AsUTF8(text.get());
    if (!utf8) throw PythonError{};
    value_error(Words::name, " must be ", expected(), ", not ", utf8);
  }
};
struct SideWords {
  static constexpr const char *name = "searchsorted: side", *first = "left", *second = "right";
};
struct IndexingWords {
  static constexpr const char *name = "meshgrid: indexing", *first = "xy", *second = "ij";
};

// An array that a result is written to, instead of a new one.
struct Out {
  PyObject* object = nullptr;  // held by the caller
};
template <>
struct Parameter<Out> {
  static std::string expected() { return Parameter<std::optional<Array>>::expected(); }
  static bool read(PyObject* object, Out& out) {
    if (object == Py_None) return true;
    out.object = object;
    return is_array(object);
  }
};

// The ints of x.reshape(2, 3) and of x.reshape((2, 3)) alike; None, alone, stands for itself.
struct Spread {
  Dims items;
  bool is_none = false;
};
template <>
struct Parameter<Spread> {
  static std::string expected() { return "ints or a tuple of ints"; }
  static bool read(PyObject* object, Spread& out) {
    PyObject* const only = PyTuple_GET_SIZE(object) == 1 ? PyTuple_GET_ITEM(object, 0) : nullptr;
    out.is_none = only == Py_None;
    return out.is_none || dims_from(only ? only : object, out.items);
  }
};

// A result where it was wanted.
struct Delivered {
  Array array;
  Out out;
};
Delivered delivered(Array&& result, Out out) {
  if (!out.object) return {std::move(result), out};
  const Array& target = array_of(out.object);
  if (!(target.shape() == result.shape())) {  // an assignment would repeat the result
    value_error("out has shape ", target.shape(), "; it must have the result's, ", result.shape());
  }
  if (kind(target.dtype) != kind(result.dtype) &&
      !(can_promote(result.dtype, target.dtype) &&
        promote(result.dtype, target.dtype) == target.dtype)) {
    type_error("out has dtype ", target.dtype, ", which cannot hold a result of ", result.dtype);
  }
  const IndexItem everything[] = {IndexItem{}};
  set_item(target, everything, Value(std::move(result)));
  return {{}, out};
}
PyObject* result(Delivered&& value) {
  return value.out.object ? Py_NewRef(value.out.object) : wrap(std::move(value.array));
}

namespace {

// ---- chapters -------------------------------------------------------------------------------

using Axis = std::optional<std::int64_t>;
using Axes = std::optional<Dims>;

void creation(py::module_& m) {
  define(
      m, "empty",
      [](const Dims& shape, OptionalDType dtype, OnDevice device) {
        return empty(shape, dtype.value_or(default_float), device);
      },
      "shape", "dtype", "device");
  define(
      m, "zeros",
      [](const Dims& shape, OptionalDType dtype, OnDevice device) {
        return zeros(shape, dtype.value_or(default_float), device);
      },
      "shape", "dtype", "device");
  define(
      m, "ones",
      [](const Dims& shape, OptionalDType dtype, OnDevice device) {
        return ones(shape, dtype.value_or(default_float), device);
      },
      "shape", "dtype", "device");
  define(
      m, "full",
      [](const Dims& shape, const Value& fill, OptionalDType dtype, OnDevice device) {
        return full(shape, fill, dtype, device);
      },
      "shape", "fill_value", "dtype", "device");
  define(
      m, "empty_like",
      [](const Array& x, OptionalDType dtype, OptionalDevice device) {
        return empty_like(x, dtype, device);
      },
      "x", "dtype", "device");
  define(
      m, "zeros_like",
      [](const Array& x, OptionalDType dtype, OptionalDevice device) {
        return zeros_like(x, dtype, device);
      },
      "x", "dtype", "device");
  define(
      m, "ones_like",
      [](const Array& x, OptionalDType dtype, OptionalDevice device) {
        return ones_like(x, dtype, device);
      },
      "x", "dtype", "device");
  define(
      m, "full_like",
      [](const Array& x, const Value& fill, OptionalDType dtype, OptionalDevice device,
         const Axes& shape) {
        if (!shape) return full_like(x, fill, dtype, device);
        return full(*shape, fill, dtype.value_or(x.dtype), device.value_or(x.device()));
      },
      "x", "fill_value", "dtype", "device", "shape");
  define(
      m, "arange",
      [](const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step,
         OptionalDType dtype, OnDevice device) { return arange(start, stop, step, dtype, device); },
      "start", "stop", "step", "dtype", "device");
  define(
      m, "linspace",
      [](const Scalar& start, const Scalar& stop, std::int64_t num, OptionalDType dtype,
         OnDevice device,
         bool endpoint) { return linspace(start, stop, num, dtype, device, endpoint); },
      "start", "stop", "num", "dtype", "device", "endpoint");
  define(
      m, "eye",
      [](std::int64_t n_rows, Axis n_cols, Diagonal k, OptionalDType dtype, OnDevice device) {
        return eye(n_rows, n_cols, k, dtype.value_or(default_float), device);
      },
      "n_rows", "n_cols", "k", "dtype", "device");
  define(m, "tril", [](const Array& x, Diagonal k) { return tril(x, k); }, "x", "k");
  define(m, "triu", [](const Array& x, Diagonal k) { return triu(x, k); }, "x", "k");
  define(
      m, "meshgrid",
      [](const std::vector<Array>& arrays, Choice<IndexingWords> indexing) {
        return meshgrid(arrays, indexing.second);
      },
      "arrays", "indexing");
}

void elementwise_functions(py::module_& m) {
  define(
      m, "clip",
      [](const Array& x, const std::optional<Value>& min, const std::optional<Value>& max) {
        return clip(x, min, max);
      },
      "x", "min", "max");
  define(m, "real", [](const Array& x) { return real(x); }, "x");
  define(m, "imag", [](const Array& x) { return imag(x); }, "x");
  define(m, "positive", [](const Array& x) { return positive(x); }, "x");
}

void manipulation(py::module_& m) {
  define(
      m, "astype",
      [](const Array& x, DType dtype, bool copy, OptionalDevice device) {
        return astype(x, dtype, copy, device);
      },
      "x", "dtype", "copy", "device");
  define(
      m, "broadcast_arrays",
      [](const std::vector<Array>& arrays) { return broadcast_arrays(arrays); }, "arrays");
  define(
      m, "broadcast_shapes",
      [](const std::vector<Dims>& shapes) { return broadcast_shapes(shapes); }, "shapes");
  define(
      m, "broadcast_to", [](const Array& x, const Dims& shape) { return broadcast_to(x, shape); },
      "x", "shape");
  define(
      m, "concat", [](const std::vector<Array>& arrays, Axis axis) { return concat(arrays, axis); },
      "arrays", "axis");
  define(m, "view", [](const Array& x, DType dtype) { return view(x, dtype); }, "x", "dtype");
  define(
      m, "diagonal",
      [](const Array& x, Diagonal offset, std::int64_t axis1, std::int64_t axis2) {
        return diagonal(x, offset, axis1, axis2);
      },
      "x", "offset", "axis1", "axis2");
  define(
      m, "expand_dims", [](const Array& x, const Dims& axis) { return expand_dims(x, axis); }, "x",
      "axis");
  define(m, "flip", [](const Array& x, const Axes& axis) { return flip(x, axis); }, "x", "axis");
  define(
      m, "moveaxis",
      [](const Array& x, const Dims& source, const Dims& destination) {
        return moveaxis(x, source, destination);
      },
      "x", "source", "destination");
  define(
      m, "permute_dims", [](const Array& x, const Dims& axes) { return permute_dims(x, axes); },
      "x", "axes");
  define(
      m, "repeat",
      [](const Array& x, const std::variant<Array, std::int64_t>& repeats, Axis axis) {
        return std::visit([&](const auto& r) { return repeat(x, r, axis); }, repeats);
      },
      "x", "repeats", "axis");
  define(
      m, "reshape",
      [](const Array& x, const Dims& shape, std::optional<bool> copy) {
        return reshape(x, shape, copy);
      },
      "x", "shape", "copy");
  define(
      m, "roll",
      [](const Array& x, const Dims& shift, const Axes& axis) { return roll(x, shift, axis); }, "x",
      "shift", "axis");
  define(
      m, "squeeze", [](const Array& x, const Axes& axis) { return squeeze(x, axis); }, "x", "axis");
  define(
      m, "stack",
      [](const std::vector<Array>& arrays, std::int64_t axis) { return stack(arrays, axis); },
      "arrays", "axis");
  define(
      m, "tile", [](const Array& x, const Dims& repetitions) { return tile(x, repetitions); }, "x",
      "repetitions");
  define(
      m, "unstack", [](const Array& x, std::int64_t axis) { return unstack(x, axis); }, "x",
      "axis");
}

void linear_algebra(py::module_& m) {
  define(m, "matmul", [](const Array& x1, const Array& x2) { return matmul(x1, x2); }, "x1", "x2");
  define(m, "matrix_transpose", [](const Array& x) { return matrix_transpose(x); }, "x");
  using Pair = std::pair<Dims, Dims>;
  define(
      m, "tensordot",
      [](const Array& x1, const Array& x2, const std::variant<std::int64_t, Pair>& axes) {
        if (const auto* n = std::get_if<std::int64_t>(&axes)) return tensordot(x1, x2, *n);
        const Pair& named = std::get<Pair>(axes);
        return tensordot(x1, x2, named.first, named.second);
      },
      "x1", "x2", "axes");
  define(
      m, "vecdot",
      [](const Array& x1, const Array& x2, std::int64_t axis) { return vecdot(x1, x2, axis); },
      "x1", "x2", "axis");
}

void indexing(py::module_& m) {
  define(
      m, "take",
      [](const Array& x, const Value& indices, Axis axis) {
        const auto* scalar = std::get_if<Scalar>(&indices);
        if (!scalar) return take(x, std::get<Array>(indices), axis);
        if (!is_int(*scalar)) {
          type_error("take: indices must be an arrayx array or an int, not ", describe(indices));
        }
        return take(x, scalar_array(to_element(*scalar, default_dtype(*scalar)), x.device()), axis);
      },
      "x", "indices", "axis");
  define(
      m, "take_along_axis",
      [](const Array& x, const Array& indices, std::int64_t axis) {
        return take_along_axis(x, indices, axis);
      },
      "x", "indices", "axis");
}

using Condition = Array (*)(const Array&, const Axes&, bool);
using Deviation = Array (*)(const Array&, const Axes&, double, bool);

// Where a dtype is named, that of the elements cast to it.
template <class F, class... Rest>
Array of_cast(F function, const Array& x, OptionalDType dtype, const Rest&... rest) {
  return dtype ? function(astype(x, *dtype, false), rest...) : function(x, rest...);
}

void statistical(py::module_& m) {
  define(
      m, "sum",
      [](const Array& x, const Axes& axis, OptionalDType dtype, bool keepdims) {
        return sum(x, axis, dtype, keepdims);
      },
      "x", "axis", "dtype", "keepdims");
  define(
      m, "prod",
      [](const Array& x, const Axes& axis, OptionalDType dtype, bool keepdims) {
        return prod(x, axis, dtype, keepdims);
      },
      "x", "axis", "dtype", "keepdims");
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Condition>>{
           {"max", max}, {"min", min}, {"count_nonzero", count_nonzero}}) {
    define(
        m, name,
        [function = function](const Array& x, const Axes& axis, bool keepdims) {
          return function(x, axis, keepdims);
        },
        "x", "axis", "keepdims");
  }
  for (const auto& [name, function] :
       std::initializer_list<std::pair<const char*, Condition>>{{"all", all}, {"any", any}}) {
    define(
        m, name,
        [function = function](const Array& x, const Axes& axis, bool keepdims, Out out) {
          return delivered(function(x, axis, keepdims), out);
        },
        "x", "axis", "keepdims", "out");
  }
  define(
      m, "mean",
      [](const Array& x, const Axes& axis, OptionalDType dtype, bool keepdims) {
        return of_cast(mean, x, dtype, axis, keepdims);
      },
      "x", "axis", "dtype", "keepdims");
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Deviation>>{
           {"std", arrayx::std}, {"var", var}}) {
    define(
        m, name,
        [function = function](const Array& x, const Axes& axis, OptionalDType dtype,
                              std::optional<double> ddof, double correction, bool keepdims) {
          return of_cast(function, x, dtype, axis, ddof.value_or(correction), keepdims);
        },
        "x", "axis", "dtype", "ddof", "correction", "keepdims");
  }
  define(
      m, "argmax",
      [](const Array& x, Axis axis, bool keepdims) { return argmax(x, axis, keepdims); }, "x",
      "axis", "keepdims");
  define(
      m, "argmin",
      [](const Array& x, Axis axis, bool keepdims) { return argmin(x, axis, keepdims); }, "x",
      "axis", "keepdims");
  define(
      m, "cumulative_sum",
      [](const Array& x, Axis axis, OptionalDType dtype, bool include_initial) {
        return cumulative_sum(x, axis, dtype, include_initial);
      },
      "x", "axis", "dtype", "include_initial");
  define(
      m, "cumulative_prod",
      [](const Array& x, Axis axis, OptionalDType dtype, bool include_initial) {
        return cumulative_prod(x, axis, dtype, include_initial);
      },
      "x", "axis", "dtype", "include_initial");
  define(
      m, "diff",
      [](const Array& x, std::int64_t axis, std::int64_t n, const std::optional<Array>& prepend,
         const std::optional<Array>& append) { return diff(x, axis, n, prepend, append); },
      "x", "axis", "n", "prepend", "append");
}

void searching_and_sorting(py::module_& m) {
  define(m, "nonzero", [](const Array& x) { return nonzero(x); }, "x");
  define(
      m, "searchsorted",
      [](const Array& x1, const Value& x2, Choice<SideWords> side,
         const std::optional<Array>& sorter) { return searchsorted(x1, x2, side.second, sorter); },
      "x1", "x2", "side", "sorter");
  // Stable whether or not that is asked for.
  define(
      m, "sort",
      [](const Array& x, std::int64_t axis, bool descending, bool) {
        return sort(x, axis, descending);
      },
      "x", "axis", "descending", "stable");
  define(
      m, "argsort",
      [](const Array& x, std::int64_t axis, bool descending, bool) {
        return argsort(x, axis, descending);
      },
      "x", "axis", "descending", "stable");
}

void sets(py::module_& m) {
  define(
      m, "isin", [](const Value& x1, const Value& x2, bool invert) { return isin(x1, x2, invert); },
      "x1", "x2", "invert");
  define(m, "unique_all", [](const Array& x) { return unique_all(x); }, "x");
  define(m, "unique_counts", [](const Array& x) { return unique_counts(x); }, "x");
  define(m, "unique_inverse", [](const Array& x) { return unique_inverse(x); }, "x");
  define(m, "unique_values", [](const Array& x) { return unique_values(x); }, "x");
}

// ---- methods ---------------------------------------------------------------------------------
// Those of which NumPy's have other parameters than the standard's functions. Their signatures are
// in arrayx/_array_methods.py.

void methods() {
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Condition>>{
           {"Array.all", all}, {"Array.any", any}, {"Array.max", max}, {"Array.min", min}}) {
    define_method(
        name,
        [function = function](const Array& x, const Axes& axis, Out out, bool keepdims) {
          return delivered(function(x, axis, keepdims), out);
        },
        "x", "axis", "out", "keepdims");
  }
  using Search = Array (*)(const Array&, Axis, bool);
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Search>>{
           {"Array.argmax", argmax}, {"Array.argmin", argmin}}) {
    define_method(
        name,
        [function = function](const Array& x, Axis axis, Out out, bool keepdims) {
          return delivered(function(x, axis, keepdims), out);
        },
        "x", "axis", "out", "keepdims");
  }
  using Total = Array (*)(const Array&, const Axes&, OptionalDType, bool);
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Total>>{
           {"Array.sum", sum}, {"Array.prod", prod}}) {
    define_method(
        name,
        [function = function](const Array& x, const Axes& axis, OptionalDType dtype, Out out,
                              bool keepdims) {
          return delivered(function(x, axis, dtype, keepdims), out);
        },
        "x", "axis", "dtype", "out", "keepdims");
  }
  define_method(
      "Array.mean",
      [](const Array& x, const Axes& axis, OptionalDType dtype, Out out, bool keepdims) {
        return delivered(of_cast(mean, x, dtype, axis, keepdims), out);
      },
      "x", "axis", "dtype", "out", "keepdims");
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Deviation>>{
           {"Array.std", arrayx::std}, {"Array.var", var}}) {
    define_method(
        name,
        [function = function](const Array& x, const Axes& axis, OptionalDType dtype, Out out,
                              double ddof, std::optional<double> correction, bool keepdims) {
          return delivered(of_cast(function, x, dtype, axis, correction.value_or(ddof), keepdims),
                           out);
        },
        "x", "axis", "dtype", "out", "ddof", "correction", "keepdims");
  }
  using Running = Array (*)(const Array&, Axis, OptionalDType, bool);
  for (const auto& [name, function] : std::initializer_list<std::pair<const char*, Running>>{
           {"Array.cumprod", cumulative_prod}, {"Array.cumsum", cumulative_sum}}) {
    define_method(
        name,
        [function = function](const Array& x, Axis axis, OptionalDType dtype, Out out) {
          if (axis || x.ndim() == 1) return delivered(function(x, axis, dtype, false), out);
          return delivered(function(reshape(x, Dims{-1}, std::nullopt), axis, dtype, false), out);
        },
        "x", "axis", "dtype", "out");
  }
  define_method(
      "Array.clip",
      [](const Array& x, const std::optional<Value>& min, const std::optional<Value>& max,
         Out out) { return delivered(clip(x, min, max), out); },
      "x", "min", "max", "out");
  define_method(
      "Array.reshape",
      [](const Array& x, const Spread& shape, std::optional<bool> copy) {
        if (shape.is_none) type_error("reshape: shape must be ints or a tuple of ints, not None");
        return reshape(x, shape.items, copy);
      },
      "x", "shape", "copy");
  define_method(
      "Array.transpose",
      [](const Array& x, const Spread& axes) {
        if (!axes.is_none && axes.items.size() > 0) return permute_dims(x, axes.items);
        Dims reversed;
        for (int i = x.ndim() - 1; i >= 0; --i) reversed.push_back(i);
        return permute_dims(x, reversed);
      },
      "x", "axes");
  define_method("Array.flatten", [](const Array& x) { return reshape(x, Dims{-1}, true); }, "x");
  define_method(
      "Array.ravel", [](const Array& x) { return reshape(x, Dims{-1}, std::nullopt); }, "x");
}

// ---- dtypes and limits ----------------------------------------------------------------------

// result_type of arrays, Python scalars and dtypes, in any mixture.
DType result_type_of(PyObject* arguments) {
  std::vector<Value> values;
  std::vector<DType> dtypes;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* item = PyTuple_GET_ITEM(arguments, i);
    Value value;
    DType dtype;
    if (is_array(item)) {  // of an array the dtype is all that counts
      dtypes.push_back(array_of(item).dtype);
    } else if (value_from(item, value)) {
      values.push_back(std::move(value));
    } else if (dtype_from(item, dtype)) {
      dtypes.push_back(dtype);
    } else {
      type_error(
          "result_type: each argument must be an arrayx array, a dtype or a Python scalar, not ",
          type_name(item));
    }
  }
  return result_type(values, dtypes);
}

void inspection(py::module_& m) {
  define(
      m, "result_type", [](PyObject* arguments) { return result_type_of(arguments); },
      "arrays_and_dtypes");
  define(
      m, "can_cast",
      [](const std::variant<Array, DType>& from, DType to) {
        const auto* array = std::get_if<Array>(&from);
        const DType given = array ? array->dtype : std::get<DType>(from);
        return can_promote(given, to) && promote(given, to) == to;
      },
      "from_", "to");
  m.attr("max_ndim") = max_ndim;
#ifdef ARRAYX_VERSION
  m.attr("__version__") = ARRAYX_VERSION;
#endif
}

}  // namespace

void bind_functions(py::module_& module) {
  creation(module);
  elementwise_functions(module);
  manipulation(module);
  linear_algebra(module);
  indexing(module);
  statistical(module);
  searching_and_sorting(module);
  sets(module);
  methods();
  inspection(module);
}

}  // namespace arrayx::python
