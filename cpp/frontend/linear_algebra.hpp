// Linear algebra of the main namespace. matrix_transpose is a view: manipulation.hpp.
#pragma once

#include <utility>

#include "common.hpp"

namespace arrayx {

// x1 @ x2. A one-dimensional operand is a row (column) whose dimension is dropped from the result.
Array matmul(const Array& x1, const Array& x2);
// The contraction over the last n axes of x1 and the first n of x2, or over named ones.
Array tensordot(const Array& x1, const Array& x2, std::int64_t n);
Array tensordot(const Array& x1, const Array& x2, const Dims& x1_axes, const Dims& x2_axes);
// The sum of conj(x1) * x2 over an axis counted from the back, the others broadcast.
Array vecdot(const Array& x1, const Array& x2, std::int64_t axis);

}  // namespace arrayx
