// Creation functions of the standard. What copies an existing object (asarray, from_dlpack) is the
// bindings'; `empty` and `full` from an Element are in common.hpp.
#pragma once

#include "common.hpp"

namespace arrayx {

using OptionalDevice = std::optional<Device>;

Array zeros(const Dims& shape, DType dtype, Device device);
Array ones(const Dims& shape, DType dtype, Device device);
// `fill` is a Python scalar or a rank-0 array; its own dtype where none is given. TypeError when
// the dtype cannot hold the scalar's kind, OverflowError when it cannot hold the integer.
Array full(const Dims& shape, const Value& fill, OptionalDType dtype, Device device);

// The shape and, where they are not given, the dtype and the device of x.
Array empty_like(const Array& x, OptionalDType dtype, OptionalDevice device);
Array zeros_like(const Array& x, OptionalDType dtype, OptionalDevice device);
Array ones_like(const Array& x, OptionalDType dtype, OptionalDevice device);
Array full_like(const Array& x, const Value& fill, OptionalDType dtype, OptionalDevice device);

// [start, stop), or [0, start) without a stop. Integers are exact; ValueError for a step of zero or
// a length that does not exist.
Array arange(const Scalar& start, const std::optional<Scalar>& stop, const Scalar& step,
             OptionalDType dtype, Device device);
// num values from start to stop, which is the last one where endpoint is true.
Array linspace(const Scalar& start, const Scalar& stop, std::int64_t num, OptionalDType dtype,
               Device device, bool endpoint);
// Ones on the k-th diagonal, zeros elsewhere.
Array eye(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k, DType dtype,
          Device device);
// The part of each matrix on and below (above) its k-th diagonal.
Array tril(const Array& x, std::int64_t k);
Array triu(const Array& x, std::int64_t k);
// One copy of each one-dimensional array, repeated over the grid that they span together.
// `matrix_indexing` is indexing="ij"; without it the first two dimensions are exchanged.
std::vector<Array> meshgrid(std::span<const Array> arrays, bool matrix_indexing);

}  // namespace arrayx
