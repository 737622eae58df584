// Reductions, arg-reductions, running sums and differences: the statistical functions of the
// standard, and all, any, count_nonzero, argmax, argmin and diff of the neighbouring chapters.
// `axes` absent means all dimensions; with keepdims the reduced ones stay, with size one.
#pragma once

#include <optional>

#include "common.hpp"

namespace arrayx {

using OptionalAxes = std::optional<Dims>;
using OptionalAxis = std::optional<std::int64_t>;

// Numeric x. Without dtype integers are summed as int64 or uint64, others in their own dtype.
Array sum(const Array& x, const OptionalAxes& axes, OptionalDType dtype, bool keepdims);
Array prod(const Array& x, const OptionalAxes& axes, OptionalDType dtype, bool keepdims);
// Real numeric x. ValueError for the extreme of nothing.
Array max(const Array& x, const OptionalAxes& axes, bool keepdims);
Array min(const Array& x, const OptionalAxes& axes, bool keepdims);
// Real or complex floating x.
Array mean(const Array& x, const OptionalAxes& axes, bool keepdims);
// Real floating x; NaN where the number of elements less the correction is not positive.
Array var(const Array& x, const OptionalAxes& axes, double correction, bool keepdims);
Array std(const Array& x, const OptionalAxes& axes, double correction, bool keepdims);

// Any dtype.
Array all(const Array& x, const OptionalAxes& axes, bool keepdims);
Array any(const Array& x, const OptionalAxes& axes, bool keepdims);
Array count_nonzero(const Array& x, const OptionalAxes& axes, bool keepdims);

// Real or bool x; of the flattened array without axis. ValueError for the extreme of nothing.
Array argmax(const Array& x, OptionalAxis axis, bool keepdims);
Array argmin(const Array& x, OptionalAxis axis, bool keepdims);

// Numeric x; the axis may be left out for one dimension only.
Array cumulative_sum(const Array& x, OptionalAxis axis, OptionalDType dtype, bool include_initial);
Array cumulative_prod(const Array& x, OptionalAxis axis, OptionalDType dtype, bool include_initial);

// The n-th difference of numeric x along the axis, with prepend and append put around it first.
Array diff(const Array& x, std::int64_t axis, std::int64_t n, const std::optional<Array>& prepend,
           const std::optional<Array>& append);

}  // namespace arrayx
