// Creation functions: shapes and dtypes are settled here, values are written by the engine.
#include "creation.hpp"

#include <cmath>
#include <cstring>

#include "elementwise.hpp"
#include "manipulation.hpp"

namespace arrayx {

namespace {

// A scalar as an element of a dtype of any kind that holds it. bool takes integers by their truth.
Element fill_element(const Scalar& fill, DType dtype) {
  if (dtype == DType::bool_ && fill.kind == Kind::signed_) return Element::of(fill.integer != 0);
  if (scalar_dtype(fill, dtype) != dtype) {
    type_error("fill_value is ", describe(Value(fill)), ", which an array of dtype ", dtype,
               " cannot hold");
  }
  return to_element(fill, dtype);
}

Element integer_element(int value, DType dtype) {
  Scalar scalar;
  scalar.kind = Kind::signed_;
  scalar.integer = value;
  return fill_element(scalar, dtype);
}

double as_double(const Scalar& s) {
  return is_int(s) ? static_cast<double>(s.integer) : s.number.real();
}

std::complex<double> as_complex(const Scalar& s) {
  return is_int(s) ? std::complex<double>(static_cast<double>(s.integer), 0) : s.number;
}

[[noreturn]] void too_long() {
  value_error("arange: start, stop and step ask for more than 2**63 - 1 elements");
}

// ceil((stop - start) / step), at least 0.
std::int64_t integer_length(__int128 start, __int128 stop, __int128 step) {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  __int128 distance;
  if (__builtin_sub_overflow(stop, start, &distance)) too_long();
  const __int128 towards_zero = distance / step;
  const __int128 length = towards_zero + (distance % step != 0);
  if (length > INT64_MAX) too_long();
  return static_cast<std::int64_t>(length);
}

std::int64_t floating_length(double start, double stop, double step) {
  const double length = std::ceil((stop - start) / step);
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step) ||
      !std::isfinite(length)) {
    value_error("arange: start, stop and step must be finite and their length a number, not ",
                start, ", ", stop, " and ", step);
  }
  if (length >= 0x1p63) too_long();
  return length <= 0 ? 0 : static_cast<std::int64_t>(length);
}

// The integer modulo 2^bits: where start and the last element are in range, so are all between, and
// the engine's wrapping start + i * step finds them, although the step alone may be out of range
// (-1 for unsigned integers).
Element wrapped(__int128 value, DType dtype) {
  return dispatch(dtype, [&](auto zero) -> Element {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return Element::of(static_cast<T>(value));
    } else {
      return {};
    }
  });
}

Element range_element(__int128 value, DType dtype) {
  Scalar scalar;
  scalar.kind = Kind::signed_;
  scalar.integer = value;
  return to_element(scalar, dtype);  // OverflowError when it does not fit
}

}  // namespace

Array zeros(const Dims& shape, DType dtype, Device device) {
  Element zero;  // all bits zero is zero in every dtype
  zero.dtype = dtype;
  return full(shape, zero, device, true);
}

Array ones(const Dims& shape, DType dtype, Device device) {
  return full(shape, integer_element(1, dtype), device);
}

Array full(const Dims& shape, const Value& fill, OptionalDType dtype, Device device) {
  if (const auto* scalar = std::get_if<Scalar>(&fill)) {
    return full(shape, fill_element(*scalar, dtype.value_or(default_dtype(*scalar))), device, true);
  }
  const Array& array = std::get<Array>(fill);
  if (array.ndim() != 0) {
    value_error("fill_value must be a scalar or an array of rank 0, not one of shape ",
                array.shape());
  }
  return full(shape, item(astype(array, dtype.value_or(array.dtype), false)), device);
}

Array empty_like(const Array& x, OptionalDType dtype, OptionalDevice device) {
  return empty(x.shape(), dtype.value_or(x.dtype), device.value_or(x.device()));
}

Array zeros_like(const Array& x, OptionalDType dtype, OptionalDevice device) {
  return zeros(x.shape(), dtype.value_or(x.dtype), device.value_or(x.device()));
}

Array ones_like(const Array& x, OptionalDType dtype, OptionalDevice device) {
  return ones(x.shape(), dtype.value_or(x.dtype), device.value_or(x.device()));
}

Array full_like(const Array& x, const Value& fill, OptionalDType dtype, OptionalDevice device) {
  return full(x.shape(), fill, dtype.value_or(x.dtype), device.value_or(x.device()));
}

Array arange(const Scalar& start_or_stop, const std::optional<Scalar>& optional_stop,
             const Scalar& step, OptionalDType dtype, Device device) {
  Scalar zero;
  zero.kind = Kind::signed_;
  const Scalar start = optional_stop ? start_or_stop : zero;
  const Scalar stop = optional_stop ? *optional_stop : start_or_stop;
  for (const Scalar* s : {&start, &stop, &step}) {
    if (s->kind == Kind::complex) type_error("arange takes real numbers, not complex ones");
  }
  const bool exact = is_int(start) && is_int(stop) && is_int(step);
  const DType result = dtype.value_or(exact ? default_int : default_float);
  if (result == DType::bool_) type_error("arange makes numbers; dtype must not be bool");
  if (as_double(step) == 0) value_error("arange: step must not be 0");
  const std::int64_t length =
      exact ? integer_length(start.integer, stop.integer, step.integer)
            : floating_length(as_double(start), as_double(stop), as_double(step));

  if (is_integer(result) && exact) {
    Array out = empty(Dims{length}, result, device);
    if (length == 0) return out;
    range_element(start.integer, result);
    range_element(start.integer + (length - 1) * step.integer, result);
    backend(device).arange(out, wrapped(start.integer, result), wrapped(step.integer, result));
    return out;
  }
  // Floating, or integers from floating bounds, which are truncated like any cast.
  const bool direct = is_real_floating(result) && compute_dtype(result) == result;
  const DType computed = direct ? result : default_float;
  Array out = empty(Dims{length}, computed, device);
  if (length > 0) {
    backend(device).arange(out, Element::of(as_double(start)), Element::of(as_double(step)));
  }
  return direct ? out : astype(out, result, false);
}

Array linspace(const Scalar& start, const Scalar& stop, std::int64_t num, OptionalDType dtype,
               Device device, bool endpoint) {
  if (num < 0) value_error("linspace: num must be at least 0, not ", num);
  const bool complex = start.kind == Kind::complex || stop.kind == Kind::complex;
  const DType result = dtype.value_or(complex ? default_complex : default_float);
  if (result == DType::bool_) type_error("linspace makes numbers; dtype must not be bool");
  if (is_integer(result)) {  // rounded down, as by NumPy
    const Array points = linspace(start, stop, num, default_float, device, endpoint);
    const Value args[] = {points};
    return astype(elementwise(Op::floor, args), result, false);
  }
  if (complex && !is_complex(result)) {
    type_error("linspace between complex numbers needs a complex dtype, not ", result);
  }
  // What engines do not compute in is cast from the default dtype, so that it is rounded once.
  Array out = empty(Dims{num}, compute_dtype(result) == result ? result : default_float, device);
  if (num > 0) backend(device).linspace(out, as_complex(start), as_complex(stop), endpoint);
  return astype(out, result, false);
}

Array eye(std::int64_t n_rows, std::optional<std::int64_t> n_cols, std::int64_t k, DType dtype,
          Device device) {
  const std::int64_t columns = n_cols.value_or(n_rows);
  if (n_rows < 0 || columns < 0) {
    value_error("eye: n_rows and n_cols must be at least 0, not ", n_rows, " and ", columns);
  }
  const Array out = full(Dims{n_rows, columns}, integer_element(0, dtype), device);
  const Array ones = out.with(diagonal(out.layout, 0, 1, std::clamp(k, -n_rows, columns)));
  if (ones.size() > 0) fill(ones, integer_element(1, dtype));
  return out;
}

namespace {

Array triangle(const char* function, const Array& x, std::int64_t k, bool upper) {
  if (x.ndim() < 2) {
    value_error(function, " takes arrays of at least 2 dimensions, not of shape ", x.shape());
  }
  const Array out = empty_like_layout(x, x.dtype);
  if (out.size() == 0) return out;
  const int last = x.ndim() - 1;
  k = std::clamp(k, -x.shape()[last - 1], x.shape()[last]);
  if (out.strides()[last - 1] < out.strides()[last]) {  // the other triangle of what lies in memory
    backend_of(x).triangle(matrix_transpose(x), matrix_transpose(out), -k, !upper);
  } else {
    backend_of(x).triangle(x, out, k, upper);
  }
  return out;
}

}  // namespace

Array tril(const Array& x, std::int64_t k) {
  return triangle("tril", x, k, false);
}
Array triu(const Array& x, std::int64_t k) {
  return triangle("triu", x, k, true);
}

std::vector<Array> meshgrid(std::span<const Array> arrays, bool matrix_indexing) {
  const int n = static_cast<int>(arrays.size());
  if (n > max_ndim) value_error("meshgrid takes at most ", max_ndim, " arrays, not ", n);
  // The dimension in which array i varies.
  const auto place = [&](int i) { return !matrix_indexing && n > 1 && i < 2 ? 1 - i : i; };
  Dims shape(n);
  for (int i = 0; i < n; ++i) {
    if (arrays[i].ndim() != 1) {
      value_error("meshgrid takes one-dimensional arrays; argument ", i, " has shape ",
                  arrays[i].shape());
    }
    check_same_device(arrays[0], arrays[i]);
    shape[place(i)] = arrays[i].size();
  }
  std::vector<Array> grids;
  grids.reserve(arrays.size());
  for (int i = 0; i < n; ++i) {
    Dims varying(n, 1);
    varying[place(i)] = arrays[i].size();
    grids.push_back(copy(broadcast_to(reshape(arrays[i], varying, false), shape)));
  }
  return grids;
}

}  // namespace arrayx
