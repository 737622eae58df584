#include "common.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace arrayx {

namespace {

// ARRAYX_DEFAULT_DEVICE ("cpu", "cuda" or "cuda:1") where set_default_device has not been called.
Device initial_default() {
  Device device;
  const char* text = std::getenv("ARRAYX_DEFAULT_DEVICE");
  if (text && *text && !parse_device(text, device)) {
    value_error("ARRAYX_DEFAULT_DEVICE is '", text, "'; it must be 'cpu', 'cuda' or 'cuda:N'");
  }
  return device;
}

Device& current_default() {
  static Device device = initial_default();
  return device;
}

}  // namespace

Device default_device() {
  return current_default();
}
void set_default_device(Device device) {
  backend(device);  // refuses devices that do not exist here
  current_default() = device;
}

Array empty(const Dims& shape, DType dtype, Device device) {
  check_shape(shape);
  Array out(shape, dtype);
  out.storage = backend(device).allocate(checked_bytes(out.size(), itemsize(dtype)));
  return out;
}

Array empty_like_layout(const Array& like, DType dtype) {
  Array out;
  out.dtype = dtype;
  // Few elements are done with sooner in the order of the shape than such an order is found.
  constexpr std::int64_t few = 256;
  const bool contiguous = like.layout.is_contiguous();
  if (!contiguous && like.layout.is_dense()) {
    out.layout = like.layout;
    out.layout.offset = 0;
  } else if (contiguous || like.size() <= few) {
    out.layout = Layout::contiguous(like.shape());
  } else {
    out.layout = dense_like(like.shape(), like.strides());
  }
  out.storage = backend(like.device()).allocate(checked_bytes(out.size(), itemsize(dtype)));
  return out;
}

MemoryOrder::MemoryOrder(const Array& x) {
  if (x.layout.is_contiguous()) return;
  axes_ = memory_order(x.layout);
  if (!axes_.empty()) places_ = inverse_of(axes_);
}
Dims MemoryOrder::of(const Dims& shape) const {
  if (axes_.empty()) return shape;
  Dims out;
  for (const std::int64_t axis : axes_) out.push_back(shape[static_cast<int>(axis)]);
  return out;
}
Array MemoryOrder::of(const Array& x) const {
  return axes_.empty() ? x : x.with(permute(x.layout, axes_));
}
Array MemoryOrder::undo(const Array& x) const {
  return axes_.empty() ? x : x.with(permute(x.layout, places_));
}

Array full(const Dims& shape, const Element& value, Device device, bool untouched) {
  static constexpr unsigned char zeros[sizeof value.bytes] = {};
  const std::int64_t item = itemsize(value.dtype);
  const bool zero = std::memcmp(value.bytes, zeros, static_cast<std::size_t>(item)) == 0;
  check_shape(shape);
  Array out(shape, value.dtype);
  const std::int64_t bytes = checked_bytes(out.size(), item);
  Backend& engine = backend(device);
  out.storage = zero && untouched ? engine.allocate_for_zeros(bytes) : engine.allocate(bytes);
  if (!(zero && out.storage->zeroed)) fill(out, value);
  return out;
}

Array scalar_array(const Element& value, Device device) {
  return full({}, value, device);
}

Element item(const Array& x) {
  if (x.size() != 1) {
    value_error("only an array of one element can become a scalar, not one of shape ", x.shape());
  }
  Element e;
  e.dtype = x.dtype;
  backend_of(x).copy_to_host(x, e.bytes);
  return e;
}

// ---- Python scalars
// -------------------------------------------------------------------------------

Element to_element(const Scalar& scalar, DType dtype) {
  return dispatch(dtype, [&](auto zero) -> Element {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      return Element::of(scalar.integer != 0);
    } else if constexpr (std::is_integral_v<T>) {
      if (scalar.integer < static_cast<__int128>(std::numeric_limits<T>::min()) ||
          scalar.integer > static_cast<__int128>(std::numeric_limits<T>::max())) {
        raise(ErrorKind::overflow, "the Python integer does not fit ", dtype,
              ", whose values go from ", +std::numeric_limits<T>::min(), " to ",
              +std::numeric_limits<T>::max());
      }
      return Element::of(static_cast<T>(scalar.integer));
    } else {
      std::complex<double> number = scalar.number;
      if (scalar.kind == Kind::bool_ || scalar.kind == Kind::signed_) {
        constexpr __int128 huge = static_cast<__int128>(1) << 126;
        if (scalar.integer >= huge || scalar.integer <= -huge) {
          raise(ErrorKind::overflow, "the Python integer is too large for ", dtype);
        }
        number = static_cast<double>(scalar.integer);
      }
      if constexpr (is_real_floating(dtype_of<T>)) {
        return Element::of(static_cast<T>(number.real()));
      } else {
        using R = typename T::value_type;
        return Element::of(T(static_cast<R>(number.real()), static_cast<R>(number.imag())));
      }
    }
  });
}

DType default_dtype(const Scalar& scalar) {
  switch (scalar.kind) {
    case Kind::bool_:
      return DType::bool_;
    case Kind::signed_:
    case Kind::unsigned_:
      return default_int;
    case Kind::real:
      return default_float;
    case Kind::complex:
      break;
  }
  return default_complex;
}

Element cast_element(const Scalar& scalar, DType dtype) {
  const bool exact = scalar.kind == Kind::bool_ || scalar.kind == Kind::signed_;
  if (dtype == DType::bool_) {
    return Element::of(exact ? scalar.integer != 0 : scalar.number != 0.0);
  }
  if (scalar.kind == Kind::complex && !is_complex(dtype)) {
    type_error("a Python complex cannot become an element of dtype ", dtype);
  }
  if (exact || !is_integer(dtype)) return to_element(scalar, dtype);
  const double value = scalar.number.real();
  if (std::isnan(value)) value_error("NaN cannot become an element of dtype ", dtype);
  Scalar truncated;
  truncated.kind = Kind::signed_;
  constexpr double bound = 0x1p120;  // beyond every integer dtype
  truncated.integer = static_cast<__int128>(std::fmin(std::fmax(value, -bound), bound));
  return to_element(truncated, dtype);
}

DType scalar_dtype(const Scalar& scalar, DType d) {
  switch (scalar.kind) {
    case Kind::bool_:
      return d;
    case Kind::signed_:
    case Kind::unsigned_:
      return d == DType::bool_ ? default_int : d;
    case Kind::real:
      return is_floating(d) ? d : default_float;
    case Kind::complex:
      break;
  }
  return is_floating(d) ? complex_dtype(d) : default_complex;
}

// ---- copies
// ---------------------------------------------------------------------------------------

Array copy(const Array& x) {
  Array out = empty(x.shape(), x.dtype, x.device());
  backend_of(x).copy(x, out);
  return out;
}

Array contiguous(const Array& x) {
  return x.layout.is_contiguous() ? x : copy(x);
}

Array astype(const Array& x, DType dtype, bool copy_always) {
  if (x.dtype == dtype) {
    if (!copy_always) return x;
  } else if (is_complex(x.dtype) && !is_complex(dtype) && dtype != DType::bool_) {
    type_error("cannot cast ", x.dtype, " to ", dtype,
               ": the imaginary part would be lost; take real(x) or imag(x) first");
  }
  Array out = empty_like_layout(x, dtype);
  backend_of(x).copy(x, out);
  return out;
}

Array computable(const Array& x, DType dtype) {
  return astype(astype(x, dtype, false), compute_dtype(dtype), false);
}

void check_writable(const Array& x, const char* argument) {
  if (!x.writable()) value_error(argument, " is read-only; copy it to get one that can be written");
  if (x.layout.has_repeats()) {
    value_error(argument, " is a broadcast view, of which one element stands at several places; ",
                "copy it to get one that can be written");
  }
}

Array held_for(const Array& dst, const Array& src) {
  const Array held = empty_like_layout(dst, src.dtype);
  backend_of(dst).copy(src, held);
  return held;
}

void assign(const Array& dst, const Array& src) {
  check_writable(dst, "the array");
  check_same_device(dst, src);
  Array from = src.with(broadcast_to(src.layout, dst.shape()));
  if (may_overlap(dst, from)) {
    if (same_view(dst, from)) return;
    from = held_for(dst, from);
  }
  backend_of(dst).copy(from, dst);
}

void fill(const Array& dst, const Element& value) {
  Element same = value;
  backend_of(dst).copy(same, dst);
}

// ---- dtypes
// ---------------------------------------------------------------------------------------

void check_same_device(const Array& a, const Array& b) {
  if (!(a.device() == b.device())) {
    value_error("the arrays are on different devices, ", a.device(), " and ", b.device(),
                "; move one of them with to_device");
  }
}

DType result_type(std::span<const Value> values, std::span<const DType> dtypes) {
  bool any = false;
  DType result = DType::bool_;
  for (DType d : dtypes) {
    result = any ? promote(result, d) : d;
    any = true;
  }
  for (const Value& v : values) {
    if (const Array* a = std::get_if<Array>(&v)) {
      result = any ? promote(result, a->dtype) : a->dtype;
      any = true;
    }
  }
  for (const Value& v : values) {
    if (const Scalar* s = std::get_if<Scalar>(&v)) {
      result = any ? scalar_dtype(*s, result) : default_dtype(*s);
      any = true;
    }
  }
  if (!any) value_error("result_type needs at least one array, dtype or scalar");
  return result;
}

std::string describe(const Value& value) {
  if (const Array* a = std::get_if<Array>(&value)) return std::string(name(a->dtype));
  switch (std::get<Scalar>(value).kind) {
    case Kind::bool_:
      return "a Python bool";
    case Kind::signed_:
    case Kind::unsigned_:
      return "a Python int";
    case Kind::real:
      return "a Python float";
    case Kind::complex:
      break;
  }
  return "a Python complex";
}

unsigned kind_bit(DType d) {
  switch (kind(d)) {
    case Kind::bool_:
      return kinds::boolean;
    case Kind::signed_:
    case Kind::unsigned_:
      return kinds::integer;
    case Kind::real:
      return kinds::real;
    case Kind::complex:
      break;
  }
  return kinds::complex;
}

std::string describe_kinds(unsigned accepted) {
  switch (accepted) {
    case kinds::boolean:
      return "bool";
    case kinds::integer:
      return "an integer dtype";
    case kinds::boolean | kinds::integer:
      return "an integer dtype or bool";
    case kinds::real:
      return "a real floating-point dtype";
    case kinds::complex:
      return "a complex dtype";
    case kinds::floating:
      return "a floating-point dtype";
    case kinds::real_numeric:
      return "a real-valued dtype (integer or floating)";
    case kinds::numeric:
      return "a numeric dtype";
    default:
      return "another dtype";
  }
}

void check_kind(const char* function, const char* argument, DType dtype, unsigned accepted) {
  if (kind_bit(dtype) & accepted) return;
  type_error(function, ": ", argument, " has dtype ", dtype, "; it must be ",
             describe_kinds(accepted));
}

}  // namespace arrayx
