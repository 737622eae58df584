// See statistical.hpp. Which elements are combined in which order is the engine's business.
#include "statistical.hpp"

#include <limits>
#include <vector>

#include "manipulation.hpp"

namespace arrayx {

namespace {

// Which dimensions go, and what the result looks like.
struct Reduced {
  bool flags[max_ndim];
  int ndim;
  Dims kept, shape;    // without the reduced dimensions; as the caller wants it
  std::int64_t n = 1;  // elements per result

  Reduced(const Array& x, const OptionalAxes& axes, bool keepdims) : ndim(x.ndim()) {
    for (int i = 0; i < ndim; ++i) flags[i] = !axes;
    if (axes) {
      for (std::int64_t a : normalize_axes(*axes, ndim)) flags[a] = true;
    }
    const bool empty = x.size() == 0;
    for (int i = 0; i < ndim; ++i) {
      if (!flags[i]) {
        kept.push_back(x.shape()[i]);
        shape.push_back(x.shape()[i]);
        continue;
      }
      // Sizes may overflow only around a zero elsewhere, where the count does not matter.
      n = empty ? (x.shape()[i] == 0 || n == 0 ? 0 : 1) : n * x.shape()[i];
      if (keepdims) shape.push_back(1);
    }
  }
  std::span<const bool> span() const { return {flags, static_cast<std::size_t>(ndim)}; }
};

// Gives a row-major result of the kept shape the shape the caller wants.
Array shaped(Array x, const Reduced& r) {
  if (r.shape.size() != r.kept.size()) x.layout = Layout::contiguous(r.shape);
  return x;
}

Array run(const Array& x, Reduction op, DType accumulator, DType dtype, const Reduced& r) {
  const Array out = empty(r.kept, dtype, x.device());
  backend_of(x).reduce(op, accumulator, x, r.span(), nullptr, out);
  return out;
}

// int64 and uint64 for integers, else the dtype itself.
DType wide(DType d) {
  if (kind(d) == Kind::signed_) return DType::int64;
  if (kind(d) == Kind::unsigned_) return DType::uint64;
  return d;
}
// The accumulator of sums and products that have dtype d.
DType accumulator_of(DType d) {
  return compute_dtype(wide(d));
}

// The dtype of a sum or product of x, and x in a dtype whose sum is the sum of casts.
DType result_dtype(const char* function, const Array& x, OptionalDType dtype) {
  check_kind(function, "x", x.dtype, kinds::numeric);
  if (!dtype) return wide(x.dtype);
  check_kind(function, "dtype", *dtype, kinds::numeric);
  if (is_complex(x.dtype) && !is_complex(*dtype)) {
    type_error(function, ": dtype ", *dtype, " cannot hold the sum of ", x.dtype,
               " elements; it must be complex64 or complex128");
  }
  return *dtype;
}

// Whether elements have to be cast before engines add them up, since the accumulator holds more
// than the dtype: integers have one of 64 bits, float16 has float32.
bool is_cast_first(DType from, DType to) {
  return from != to && ((is_integer(to) && is_floating(from)) || compute_dtype(to) != to);
}

Array sum_or_prod(const char* function, Reduction op, const Array& x, const OptionalAxes& axes,
                  OptionalDType dtype, bool keepdims) {
  const DType out = result_dtype(function, x, dtype);
  if (is_cast_first(x.dtype, out)) {
    return sum_or_prod(function, op, astype(x, out, false), axes, dtype, keepdims);
  }
  const Reduced r(x, axes, keepdims);
  return shaped(run(x, op, accumulator_of(out), out, r), r);
}

// The sum and the product of a bool array are those of ones and zeros, as in other libraries; the
// standard leaves them open.
Array of_truth(const char* function, const Array& result, OptionalDType dtype) {
  if (dtype) check_kind(function, "dtype", *dtype, kinds::numeric);
  return astype(result, dtype.value_or(default_int), false);
}

Array extreme(const char* function, Reduction op, const Array& x, const OptionalAxes& axes,
              bool keepdims) {
  check_kind(function, "x", x.dtype, kinds::real_numeric);
  const Reduced r(x, axes, keepdims);
  if (r.n == 0 && checked_size(r.kept) > 0) {
    value_error(function, ": x has shape ", x.shape(),
                ", so there is no element to choose from; at least one is needed");
  }
  return shaped(run(x, op, compute_dtype(x.dtype), x.dtype, r), r);
}

Array condition(Reduction op, DType dtype, const Array& x, const OptionalAxes& axes,
                bool keepdims) {
  const Reduced r(x, axes, keepdims);
  return shaped(run(x, op, dtype, dtype, r), r);
}

Array divided(const Array& x, double divisor, DType compute, DType dtype) {
  const Array out = empty(x.shape(), dtype, x.device());
  const Element e = dispatch(
      compute, [&](auto zero) { return Element::of(static_cast<decltype(zero)>(divisor)); });
  const Operand operands[] = {x, e};
  backend_of(x).elementwise(Op::divide, compute, operands, out);
  return out;
}

Array variance(const char* function, const Array& x, const OptionalAxes& axes, double correction,
               bool keepdims, bool root) {
  check_kind(function, "x", x.dtype, kinds::real);
  const Reduced r(x, axes, keepdims);
  const double divisor = static_cast<double>(r.n) - correction;
  if (!(divisor > 0)) {
    const Scalar nan{Kind::real, 0, std::numeric_limits<double>::quiet_NaN()};
    return full(r.shape, to_element(nan, x.dtype), x.device());
  }
  if (x.device().type != DeviceType::cpu) {
    const Array out = empty(r.kept, x.dtype, x.device());
    if (backend_of(x).deviation(x, r.span(), divisor, root, out)) return shaped(out, r);
  }
  // float32 data with a large mean would lose its digits in float32.
  const DType compute = wider_dtype(x.dtype);
  const Array squares = run(x, Reduction::sum_squared_deviations, compute, compute, r);
  if (!root) return shaped(divided(squares, divisor, compute, x.dtype), r);
  const Array ratio = divided(squares, divisor, compute, compute);
  const Array out = empty(r.kept, x.dtype, x.device());
  const Operand operands[] = {ratio};
  backend_of(x).elementwise(Op::sqrt, compute, operands, out);
  return shaped(out, r);
}

Array arg_extreme(const char* function, bool largest, const Array& input, OptionalAxis axis,
                  bool keepdims) {
  check_kind(function, "x", input.dtype, kinds::boolean | kinds::real_numeric);
  if (!axis && input.ndim() == 1) return arg_extreme(function, largest, input, 0, keepdims);
  Array x = input;
  int at = 0;
  Dims shape;
  if (axis) {
    at = normalize_axis(*axis, x.ndim());
    shape = x.shape();
    if (keepdims) {
      shape[at] = 1;
    } else {
      shape.erase(at);
    }
  } else {
    Dims flat;
    flat.push_back(x.size());
    Layout view;
    if (!reshape(x.layout, flat, view)) {
      x = contiguous(x);
      reshape(x.layout, flat, view);
    }
    x.layout = view;
    if (keepdims) shape = Dims(input.ndim(), 1);
  }
  Dims kept = x.shape();
  kept.erase(at);
  if (x.shape()[at] == 0 && checked_size(kept) > 0) {
    value_error(function, ": x has shape ", input.shape(),
                ", so there is no element to choose from; at least one is needed");
  }
  Array out = empty(kept, index_dtype, x.device());
  if (out.size() > 0) backend_of(x).arg_reduce(largest, x, at, out);
  out.layout = Layout::contiguous(shape);
  return out;
}

Array cumulative(const char* function, bool product, Array x, OptionalAxis axis,
                 OptionalDType dtype, bool include_initial) {
  const DType out_dtype = result_dtype(function, x, dtype);
  if (!axis && x.ndim() != 1) {
    value_error(function, ": axis is None, but x has ", x.ndim(),
                " dimensions; it may be left out only for an array with one dimension");
  }
  const int at = normalize_axis(axis.value_or(0), x.ndim());
  Dims shape = x.shape();
  if (include_initial && __builtin_add_overflow(shape[at], 1, &shape[at])) {
    value_error(function, ": axis ", at, " of shape ", x.shape(), " has no room for one more");
  }
  if (is_cast_first(x.dtype, out_dtype)) x = astype(x, out_dtype, false);
  const auto scanned = [&](const Array& in, int along, const Dims& out_shape) {
    const Array out = empty(out_shape, compute_dtype(out_dtype), in.device());
    if (out.size() > 0) backend_of(in).scan(product, in, along, include_initial, out);
    return astype(out, out_dtype, false);
  };
  if (x.layout.is_contiguous()) return scanned(x, at, shape);
  const MemoryOrder order(x);
  return order.undo(scanned(order.of(x), order.place(at), order.of(shape)));
}

}  // namespace

Array sum(const Array& x, const OptionalAxes& axes, OptionalDType dtype, bool keepdims) {
  if (x.dtype == DType::bool_) return of_truth("sum", count_nonzero(x, axes, keepdims), dtype);
  return sum_or_prod("sum", Reduction::sum, x, axes, dtype, keepdims);
}
Array prod(const Array& x, const OptionalAxes& axes, OptionalDType dtype, bool keepdims) {
  if (x.dtype == DType::bool_) return of_truth("prod", all(x, axes, keepdims), dtype);
  return sum_or_prod("prod", Reduction::prod, x, axes, dtype, keepdims);
}
Array max(const Array& x, const OptionalAxes& axes, bool keepdims) {
  return extreme("max", Reduction::max, x, axes, keepdims);
}
Array min(const Array& x, const OptionalAxes& axes, bool keepdims) {
  return extreme("min", Reduction::min, x, axes, keepdims);
}

Array mean(const Array& x, const OptionalAxes& axes, bool keepdims) {
  check_kind("mean", "x", x.dtype, kinds::floating);
  const Reduced r(x, axes, keepdims);
  const DType compute = compute_dtype(x.dtype);
  const double n = static_cast<double>(r.n);
  if (x.device().type != DeviceType::cpu && x.size() > 0) {
    const Array out = empty(r.kept, x.dtype, x.device());
    if (backend_of(x).mean(x, r.span(), n, out)) return shaped(out, r);
  }
  const Array total = run(x, Reduction::sum, compute, compute, r);
  if (!is_complex(x.dtype)) return shaped(divided(total, n, compute, x.dtype), r);
  // Part by part: a complex division by a real number would turn infinities into NaN.
  Array parts = total;
  parts.dtype = real_dtype(compute);
  parts.layout = Layout::contiguous(Dims{2 * total.size()});
  Array out = divided(parts, n, parts.dtype, real_dtype(x.dtype));
  out.dtype = x.dtype;
  out.layout = Layout::contiguous(r.shape);
  return out;
}

Array var(const Array& x, const OptionalAxes& axes, double correction, bool keepdims) {
  return variance("var", x, axes, correction, keepdims, false);
}
Array std(const Array& x, const OptionalAxes& axes, double correction, bool keepdims) {
  return variance("std", x, axes, correction, keepdims, true);
}

Array all(const Array& x, const OptionalAxes& axes, bool keepdims) {
  return condition(Reduction::all, DType::bool_, x, axes, keepdims);
}
Array any(const Array& x, const OptionalAxes& axes, bool keepdims) {
  return condition(Reduction::any, DType::bool_, x, axes, keepdims);
}
Array count_nonzero(const Array& x, const OptionalAxes& axes, bool keepdims) {
  return condition(Reduction::count_nonzero, index_dtype, x, axes, keepdims);
}

Array argmax(const Array& x, OptionalAxis axis, bool keepdims) {
  return arg_extreme("argmax", true, x, axis, keepdims);
}
Array argmin(const Array& x, OptionalAxis axis, bool keepdims) {
  return arg_extreme("argmin", false, x, axis, keepdims);
}

Array cumulative_sum(const Array& x, OptionalAxis axis, OptionalDType dtype, bool include_initial) {
  return cumulative("cumulative_sum", false, x, axis, dtype, include_initial);
}
Array cumulative_prod(const Array& x, OptionalAxis axis, OptionalDType dtype,
                      bool include_initial) {
  return cumulative("cumulative_prod", true, x, axis, dtype, include_initial);
}

Array diff(const Array& x, std::int64_t axis, std::int64_t n, const std::optional<Array>& prepend,
           const std::optional<Array>& append) {
  check_kind("diff", "x", x.dtype, kinds::numeric);
  const int at = normalize_axis(axis, x.ndim());
  if (n < 0) value_error("diff: n is ", n, "; it must be at least 0");
  DType dtype = x.dtype;
  std::int64_t length = x.shape()[at];
  const auto check = [&](const std::optional<Array>& part, const char* argument) {
    if (!part) return;
    check_kind("diff", argument, part->dtype, kinds::numeric);
    check_same_device(x, *part);
    bool fits = part->ndim() == x.ndim();
    for (int i = 0; fits && i < x.ndim(); ++i) fits = i == at || part->shape()[i] == x.shape()[i];
    if (!fits) {
      value_error("diff: ", argument, " has shape ", part->shape(), " but x has ", x.shape(),
                  "; they may differ in dimension ", at, " only");
    }
    dtype = promote(dtype, part->dtype);
    if (__builtin_add_overflow(length, part->shape()[at], &length)) {
      value_error("diff: dimension ", at, " would have more than 2**63 - 1 elements");
    }
  };
  check(prepend, "prepend");
  check(append, "append");

  Array whole;
  if (prepend || append) {
    std::vector<Array> parts;
    if (prepend) parts.push_back(*prepend);
    parts.push_back(x);
    if (append) parts.push_back(*append);
    whole = concat(parts, at);
  } else {
    if (n == 0) return copy(x);
    whole = astype(x, dtype, false);
  }
  const MemoryOrder order(whole);
  Array current = order.of(whole);
  const int place = order.place(at);
  for (; n > 0 && length > 0; --n) {
    Dims shape = current.shape();
    shape[place] = --length;
    const Array out = empty(shape, dtype, x.device());
    if (out.size() > 0) {
      const Array later = current.with(slice_axis(current.layout, place, 1, 1, length));
      const Array earlier = current.with(slice_axis(current.layout, place, 0, 1, length));
      const Operand operands[] = {later, earlier};
      backend_of(x).elementwise(Op::subtract, compute_dtype(dtype), operands, out);
    }
    current = out;
  }
  return order.undo(current);
}

}  // namespace arrayx
