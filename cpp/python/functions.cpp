// The chapters of the standard as functions of _core, apart from the table's elementwise
// operations. They take every argument by position: arrayx/*.py has the signatures, defaults and
// docstrings.
#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../frontend/creation.hpp"
#include "../frontend/elementwise.hpp"
#include "../frontend/indexing.hpp"
#include "../frontend/linear_algebra.hpp"
#include "../frontend/manipulation.hpp"
#include "../frontend/searching.hpp"
#include "../frontend/sets.hpp"
#include "../frontend/sorting.hpp"
#include "../frontend/statistical.hpp"
#include "array_type.hpp"
#include "bind.hpp"
#include "define.hpp"

namespace py = pybind11;

namespace arrayx::python {

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
      [](const Array& x, const Value& fill, OptionalDType dtype, OptionalDevice device) {
        return full_like(x, fill, dtype, device);
      },
      "x", "fill_value", "dtype", "device");
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
      [](const std::vector<Array>& arrays, bool matrix_indexing) {
        return meshgrid(arrays, matrix_indexing);
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
      m, "squeeze", [](const Array& x, const Dims& axis) { return squeeze(x, axis); }, "x", "axis");
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
      [](const Array& x, const Array& indices, Axis axis) { return take(x, indices, axis); }, "x",
      "indices", "axis");
  define(
      m, "take_along_axis",
      [](const Array& x, const Array& indices, std::int64_t axis) {
        return take_along_axis(x, indices, axis);
      },
      "x", "indices", "axis");
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
  using Reduce = Array (*)(const Array&, const Axes&, bool);
  for (const auto& [name, function] :
       std::initializer_list<std::pair<const char*, Reduce>>{{"max", max},
                                                             {"min", min},
                                                             {"mean", mean},
                                                             {"all", all},
                                                             {"any", any},
                                                             {"count_nonzero", count_nonzero}}) {
    define(
        m, name,
        [function = function](const Array& x, const Axes& axis, bool keepdims) {
          return function(x, axis, keepdims);
        },
        "x", "axis", "keepdims");
  }
  define(
      m, "var",
      [](const Array& x, const Axes& axis, double correction, bool keepdims) {
        return var(x, axis, correction, keepdims);
      },
      "x", "axis", "correction", "keepdims");
  define(
      m, "std",
      [](const Array& x, const Axes& axis, double correction, bool keepdims) {
        return arrayx::std(x, axis, correction, keepdims);
      },
      "x", "axis", "correction", "keepdims");
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
      [](const Array& x1, const Value& x2, bool side_right, const std::optional<Array>& sorter) {
        return searchsorted(x1, x2, side_right, sorter);
      },
      "x1", "x2", "side", "sorter");
  define(
      m, "sort",
      [](const Array& x, std::int64_t axis, bool descending) { return sort(x, axis, descending); },
      "x", "axis", "descending");
  define(
      m, "argsort",
      [](const Array& x, std::int64_t axis, bool descending) {
        return argsort(x, axis, descending);
      },
      "x", "axis", "descending");
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

// ---- dtypes and limits ----------------------------------------------------------------------

// result_type of arrays, Python scalars and dtypes, in any mixture.
DType result_type_of(const py::args& args) {
  std::vector<Value> values;
  std::vector<DType> dtypes;
  for (const py::handle& item : args) {
    Value value;
    DType dtype;
    if (value_from(item.ptr(), value)) {
      values.push_back(std::move(value));
    } else if (dtype_from(item.ptr(), dtype)) {
      dtypes.push_back(dtype);
    } else {
      type_error(
          "result_type: each argument must be an arrayx array, a dtype or a Python scalar, not ",
          type_name(item.ptr()));
    }
  }
  return result_type(values, dtypes);
}

void inspection(py::module_& m) {
  m.def("result_type", [](const py::args& args) {
    try {
      return result(result_type_of(args));
    } catch (...) {
      set_python_error();
      throw py::error_already_set();
    }
  });
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
  inspection(module);
}

}  // namespace arrayx::python
