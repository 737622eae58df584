// Manipulation functions of the standard, and the views that methods and linear algebra need beside
// them. What is called a view here never copies; no function changes its input.
#pragma once

#include "common.hpp"

namespace arrayx {

// ---- views ----------------------------------------------------------------------------------

Array broadcast_to(const Array& x, const Dims& shape);
std::vector<Array> broadcast_arrays(std::span<const Array> arrays);
Dims broadcast_shapes(std::span<const Dims> shapes);
// New dimensions of size one where `axes` says they are in the result.
Array expand_dims(const Array& x, const Dims& axes);
// Without the dimensions `axes`; ValueError unless each has size one.
Array squeeze(const Array& x, const std::optional<Dims>& axes);
Array flip(const Array& x, const std::optional<Dims>& axes);
Array moveaxis(const Array& x, const Dims& source, const Dims& destination);
Array permute_dims(const Array& x, const Dims& axes);
// x with its last two dimensions exchanged.
Array matrix_transpose(const Array& x);
// The same bytes as elements of another dtype, which change the size of the last dimension where
// theirs differs. ValueError where that dimension is not contiguous or does not divide; TypeError
// for bytes as bool, which not every byte is.
Array view(const Array& x, DType dtype);
// The offset-th diagonals over two dimensions, which give way to a new last one.
Array diagonal(const Array& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
// The subarrays along a dimension, which they lose.
std::vector<Array> unstack(const Array& x, std::int64_t axis);

// ---- a view if there is one -----------------------------------------------------------------

// One size may be -1. copy: true always copies, false never does (ValueError where it would have
// to), nothing copies only where it has to.
Array reshape(const Array& x, const Dims& shape, std::optional<bool> copy);

// ---- copies ---------------------------------------------------------------------------------

// A cast, on another device if one is given; x itself when nothing changes and copy is false.
Array astype(const Array& x, DType dtype, bool copy, std::optional<Device> device);
// Without an axis the arrays are flattened first.
Array concat(std::span<const Array> arrays, std::optional<std::int64_t> axis);
Array stack(std::span<const Array> arrays, std::int64_t axis);
Array repeat(const Array& x, std::int64_t repeats, std::optional<std::int64_t> axis);
// One count for each element along the axis, or one for all.
Array repeat(const Array& x, const Array& repeats, std::optional<std::int64_t> axis);
// Without axes the flattened array is rolled. One shift serves any number of axes.
Array roll(const Array& x, const Dims& shifts, const std::optional<Dims>& axes);
Array tile(const Array& x, const Dims& repetitions);

}  // namespace arrayx
