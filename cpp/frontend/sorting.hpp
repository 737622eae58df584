// Sorting functions of the standard. Both are stable in both directions; NaN stands last in both.
// Complex values are ordered by their real, then their imaginary parts.
#pragma once

#include "common.hpp"

namespace arrayx {

Array sort(const Array& x, std::int64_t axis, bool descending);
// The positions that sort, as int64.
Array argsort(const Array& x, std::int64_t axis, bool descending);

}  // namespace arrayx
