#include "searching.hpp"

namespace arrayx {

std::vector<Array> nonzero(const Array& array) {
  // Engines tell zeros in the dtypes they compute in.
  const bool computed = compute_dtype(array.dtype) == array.dtype;
  const Array x = computed ? array : astype(array, DType::bool_, false);
  if (x.ndim() == 0) {
    value_error("nonzero: x must have at least one dimension; it has rank 0");
  }
  Backend& engine = backend_of(x);
  const std::int64_t count = engine.count_nonzero(x);
  std::vector<Array> columns;
  std::vector<Operand> operands;
  for (int d = 0; d < x.ndim(); ++d) columns.push_back(empty({count}, index_dtype, x.device()));
  for (const Array& column : columns) operands.push_back(column);
  if (count > 0) engine.nonzero(x, operands);
  return columns;
}

Array searchsorted(const Array& x1, const Value& x2, bool side_right,
                   const std::optional<Array>& sorter) {
  if (x1.ndim() != 1) {
    value_error("searchsorted: x1 must have one dimension; its shape is ", x1.shape());
  }
  Array values;
  DType dtype = x1.dtype;
  if (const Scalar* scalar = std::get_if<Scalar>(&x2)) {
    dtype = scalar_dtype(*scalar, dtype);
    values = scalar_array(to_element(*scalar, dtype), x1.device());
  } else {
    values = std::get<Array>(x2);
    check_same_device(x1, values);
    dtype = promote(dtype, values.dtype);
  }
  values = computable(values, dtype);
  std::optional<Array> order;
  if (sorter) {
    check_kind("searchsorted", "sorter", sorter->dtype, kinds::integer);
    check_same_device(x1, *sorter);
    if (sorter->shape() != x1.shape()) {
      value_error("searchsorted: sorter must have the shape of x1, ", x1.shape(), "; its shape is ",
                  sorter->shape());
    }
    order = astype(*sorter, index_dtype, false);
  }
  const Array sorted = computable(x1, dtype);
  const Array out = empty(values.shape(), index_dtype, x1.device());
  Operand order_operand;
  if (order) order_operand = *order;
  if (!backend_of(x1).searchsorted(sorted, order ? &order_operand : nullptr, values, side_right,
                                   out)) {
    index_error("searchsorted: sorter holds an index out of bounds for x1, of size ", x1.size());
  }
  return out;
}

}  // namespace arrayx
