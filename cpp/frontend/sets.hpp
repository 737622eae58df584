// Set functions of the standard. Unique values come in sorted order; NaNs are distinct from each
// other, the two zeros are one value, shown as its first occurrence.
#pragma once

#include <tuple>

#include "common.hpp"

namespace arrayx {

// Which elements of x1 occur (invert: do not occur) in x2; at least one of them is an array.
Array isin(const Value& x1, const Value& x2, bool invert);

// values, indices of their first occurrences, inverse_indices, counts
std::tuple<Array, Array, Array, Array> unique_all(const Array& x);
std::tuple<Array, Array> unique_counts(const Array& x);   // values, counts
std::tuple<Array, Array> unique_inverse(const Array& x);  // values, inverse_indices
Array unique_values(const Array& x);

}  // namespace arrayx
