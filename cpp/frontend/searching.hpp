// Searching functions of the standard; where is elementwise, argmax, argmin and count_nonzero are
// statistical.hpp's.
#pragma once

#include "common.hpp"

namespace arrayx {

// The positions of non-zero elements in row-major order: one int64 array per dimension.
std::vector<Array> nonzero(const Array& x);
// For each value the first (side_right: the last) place in the one-dimensional x1 that keeps it in
// order. `sorter` are positions that sort x1.
Array searchsorted(const Array& x1, const Value& x2, bool side_right,
                   const std::optional<Array>& sorter);

}  // namespace arrayx
