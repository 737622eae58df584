#include "elementwise.hpp"

#include <array>
#include <cstdlib>

namespace arrayx {

namespace {

constexpr int max_inputs = max_operands - 1;
// Bytes of the result up to which the fast path is taken; above it threads and blocks may pay.
constexpr std::int64_t fast_bytes = 1 << 15;

bool is_comparison(Op op) {
  return op == Op::equal || op == Op::not_equal || op == Op::less || op == Op::less_equal ||
         op == Op::greater || op == Op::greater_equal;
}

// Comparing an integer array with a Python integer that its dtype cannot hold has the same answer
// everywhere: does every element stand below the scalar?
bool compare_out_of_range(Op op, bool scalar_above, bool scalar_first) {
  if (op == Op::equal) return false;
  if (op == Op::not_equal) return true;
  const bool less = op == Op::less || op == Op::less_equal;
  return less == (scalar_above != scalar_first);
}

// -1 below, +1 above, 0 within the range of dtype.
int outside(const Scalar& s, DType dtype) {
  if ((s.kind != Kind::signed_ && s.kind != Kind::bool_) || !is_integer(dtype)) return 0;
  return dispatch(dtype, [&](auto zero) -> int {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      if (s.integer < static_cast<__int128>(std::numeric_limits<T>::min())) return -1;
      if (s.integer > static_cast<__int128>(std::numeric_limits<T>::max())) return 1;
    }
    return 0;
  });
}

// The standard asks for a floating-point dtype, or says only that the result has one (of divide).
bool takes_integers_as_floating(Op op) {
  return (info(op).accepts & (kinds::integer | kinds::real)) == kinds::real;
}

void check_dtype(Op op, DType dtype, std::span<const Value> args) {
  const OpInfo& row = info(op);
  if (kind_bit(dtype) & row.accepts) return;
  const unsigned accepts = row.accepts | (takes_integers_as_floating(op) ? kinds::integer : 0u);
  std::string given;
  for (const Value& v : args) given += (given.empty() ? "" : " and ") + describe(v);
  type_error(row.name, " takes ", describe_kinds(accepts), "; it was given ", given);
}

// The arguments resolved: common dtype and shape, and each as an operand.
struct Resolved {
  DType dtype = DType::bool_;
  Dims shape;
  Device device;
  std::array<Element, max_inputs> elements;
  std::array<Layout, max_inputs> layouts;
  std::array<Operand, max_inputs> operands;
  std::vector<Array> held;  // operands that were cast
  const Array* first = nullptr;
  bool constant = false;        // a comparison whose answer is the same everywhere …
  bool constant_value = false;  // … and this
};

// The operation that a sum or a product of bool arrays is in all libraries; the standard leaves it
// open.
Op of_bools(Op op) {
  if (op == Op::add) return Op::logical_or;
  return op == Op::multiply ? Op::logical_and : op;
}

// Changes `op` where another is meant for the common dtype.
void resolve(Op& op, std::span<const Value> args, Resolved& r) {
  const int n = static_cast<int>(args.size());
  const int from = op == Op::where ? 1 : 0;  // the condition takes no part in promotion
  bool any_array = false;
  for (int i = 0; i < n; ++i) {
    const Array* a = std::get_if<Array>(&args[i]);
    if (!a) continue;
    if (!r.first) {
      r.first = a;
      r.device = a->device();
      r.shape = a->shape();
    } else {
      check_same_device(*r.first, *a);
      if (!(r.shape == a->shape())) r.shape = broadcast_shapes(r.shape, a->shape());
    }
    if (i < from) continue;
    r.dtype = any_array ? promote(r.dtype, a->dtype) : a->dtype;
    any_array = true;
  }
  if (!r.first) {
    type_error(info(op).name, " needs at least one array; it was given ", describe(args[0]),
               n > 1 ? " and " + describe(args[1]) : std::string());
  }
  if (op == Op::where) {
    const Array* condition = std::get_if<Array>(&args[0]);
    if (!condition || condition->dtype != DType::bool_) {
      type_error("where: condition must be an array of dtype bool, not ", describe(args[0]));
    }
  }
  for (int i = from; i < n; ++i) {
    if (const Scalar* s = std::get_if<Scalar>(&args[i])) {
      r.dtype = any_array ? scalar_dtype(*s, r.dtype) : default_dtype(*s);
      any_array = true;
    }
  }
  if (is_integer(r.dtype) && takes_integers_as_floating(op)) r.dtype = default_float;
  if (r.dtype == DType::bool_) op = of_bools(op);
  check_dtype(op, r.dtype, args);
  for (int i = 0; i < n; ++i) {
    if (const Array* a = std::get_if<Array>(&args[i])) {
      // Engines cast to the dtype they compute in, which may hold more than the common one.
      if (i >= from && a->dtype != r.dtype && compute_dtype(r.dtype) != r.dtype) {
        r.held.reserve(max_inputs);
        a = &r.held.emplace_back(astype(*a, r.dtype, false));
      }
      r.operands[i] = Operand(*a);
      if (!(a->shape() == r.shape)) {
        r.layouts[i] = broadcast_to(a->layout, r.shape);
        r.operands[i].layout = &r.layouts[i];
      }
      continue;
    }
    const Scalar& s = std::get<Scalar>(args[i]);
    if (is_comparison(op)) {
      if (const int side = outside(s, r.dtype)) {
        r.constant = true;
        r.constant_value = compare_out_of_range(op, side > 0, i == 0);
        continue;
      }
    }
    r.elements[i] = to_element(s, r.dtype);
    r.operands[i] = Operand(r.elements[i]);
  }
}

// The neighbour of each x towards y among the numbers of float16, found in float32: x is moved by
// more than a half and by less than three halves of the way, and rounded.
Array next_float16(const Value& x1, const Value& x2, Device device) {
  const auto apply = [](Op op, std::initializer_list<Value> operands) {
    return elementwise(op, std::span(operands.begin(), operands.size()));
  };
  const auto number = [](double x) { return Scalar{Kind::real, 0, x}; };
  const auto widened = [device](const Value& v) {
    const Scalar* s = std::get_if<Scalar>(&v);
    const Array half =
        s ? scalar_array(to_element(*s, DType::float16), device) : std::get<Array>(v);
    return computable(half, DType::float16);
  };
  const Array x = widened(x1), y = widened(x2);
  // Infinity stands where one more number would.
  const Array from = apply(Op::clip, {x, number(-0x1p16), number(0x1p16)});
  const Array relative = apply(Op::multiply, {apply(Op::abs, {from}), number(0x1.4p-11)});
  const Array step = apply(Op::maximum, {relative, number(0x1.8p-25)});
  const Array moved =
      apply(Op::add, {from, apply(Op::copysign, {step, apply(Op::subtract, {y, from})})});
  const Array stays = apply(Op::where, {apply(Op::isnan, {x}), x, y});
  const Array apart = apply(Op::logical_or, {apply(Op::less, {x, y}), apply(Op::greater, {x, y})});
  return astype(apply(Op::where, {apart, moved, stays}), DType::float16, false);
}

// Whether op(x, exponent) is a square: x * x, which is rounded correctly, at an eighth of what a
// power costs. Of complex numbers a product cancels where a power does not.
bool is_square(Op op, DType x, const Scalar& exponent) {
  if (op != Op::pow || is_complex(x) || scalar_dtype(exponent, x) != x) return false;
  return exponent.kind == Kind::signed_ ? exponent.integer == 2
                                        : exponent.kind == Kind::real && exponent.number == 2.0;
}
bool is_square(Op op, const Value& x, const Value& exponent) {
  const Array* const array = std::get_if<Array>(&x);
  const Scalar* const scalar = std::get_if<Scalar>(&exponent);
  return array && scalar && is_square(op, array->dtype, *scalar);
}

// How many elements follow each other in memory before another dimension moves.
std::int64_t row_length(const Layout& layout) {
  std::int64_t length = 1, nearest = 0;
  for (int i = 0; i < layout.ndim(); ++i) {
    const std::int64_t s = std::abs(layout.strides[i]);
    if (layout.shape[i] == 1 || s == 0 || (nearest != 0 && s > nearest)) continue;
    nearest = s;
    length = layout.shape[i];
  }
  return length;
}

// Whether a result had better lie as `a` does than as `b`, in rows of a few elements.
bool has_longer_rows(const Array& a, const Array& b) {
  constexpr std::int64_t few = 16, much_longer = 4, small = 1024;
  if (a.size() < small) return false;
  const std::int64_t rows = row_length(b.layout);
  return rows < few && row_length(a.layout) >= much_longer * rows;
}

// Whether an array is a broadcast view, whose elements are fewer than its shape says.
bool repeats(const Layout& layout) {
  for (int i = 0; i < layout.ndim(); ++i) {
    if (layout.strides[i] == 0 && layout.shape[i] > 1) return true;
  }
  return false;
}

// The operand whose memory order the result has: of those that fill it, the order in which most of
// their bytes lie, of equals the first one if another has not much longer rows. Those of broadcast
// views count where there are no others. Null if none fills it.
const Array* order_giver(std::span<const Value> args, const Dims& shape) {
  const auto filling = [&](const Value& v) {
    const Array* a = std::get_if<Array>(&v);
    return a && a->shape() == shape ? a : nullptr;
  };
  const Array* best = nullptr;
  int most = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Array* const a = filling(args[i]);
    if (!a) continue;
    int bytes = itemsize(a->dtype);  // with those that follow and lie alike: the first one counts
    for (std::size_t k = i + 1; k < args.size(); ++k) {
      const Array* const b = filling(args[k]);
      if (b && b->layout.strides == a->layout.strides) bytes += itemsize(b->dtype);
    }
    if (repeats(a->layout)) bytes = 0;
    if (!best || bytes > most || (bytes == most && has_longer_rows(*a, *best))) {
      best = a;
      most = bytes;
    }
  }
  return best;
}

}  // namespace

Array elementwise(Op op, std::span<const Value> args) {
  if (args.size() == 2 && is_square(op, args[0], args[1])) {
    const Value factors[] = {args[0], args[0]};
    return elementwise(Op::multiply, factors);
  }
  Resolved r;
  resolve(op, args, r);
  if (op == Op::nextafter && r.dtype == DType::float16) {
    return next_float16(args[0], args[1], r.device);
  }
  const DType dtype = result_dtype(op, r.dtype);
  if (r.constant) return full(r.shape, Element::of(r.constant_value), r.device);
  const Array* const like = order_giver(args, r.shape);
  Array out = like ? empty_like_layout(*like, dtype) : empty(r.shape, dtype, r.device);
  if (out.size() == 0) return out;
  backend(r.device).elementwise(op, compute_dtype(r.dtype), {r.operands.data(), args.size()}, out);
  return out;
}

namespace {

// Whether there is a kernel that reads and writes this dtype.
bool has_kernel(Op op, DType dtype) {
  return (kind_bit(dtype) & info(op).accepts) && compute_dtype(dtype) == dtype;
}

// Whether the fast path takes these operands, and where their elements are.
bool fast_operands(Op op, const Array* const* inputs, int count, const void** data) {
  const Array& x = *inputs[0];
  if (!has_kernel(op, x.dtype) || op == Op::where) return false;
  if (x.nbytes() > fast_bytes || !x.layout.is_contiguous()) return false;
  data[0] = x.data();
  for (int i = 1; i < count; ++i) {
    const Array& a = *inputs[i];
    if (a.dtype != x.dtype || !(a.shape() == x.shape()) || !(a.device() == x.device()) ||
        !a.layout.is_contiguous()) {
      return false;
    }
    data[i] = a.data();
  }
  return true;
}

// Bytes of an array up to which a scalar beside it is repeated instead of passed to the engine.
constexpr int repeated_bytes = 1024;

// Whether the fast path takes this scalar beside x; if so it is repeated as often as x has
// elements.
bool repeat_scalar(Op op, const Array& x, const Scalar& scalar, char* repeated) {
  if (!has_kernel(op, x.dtype) || scalar_dtype(scalar, x.dtype) != x.dtype) return false;
  if (x.nbytes() > repeated_bytes || !x.layout.is_contiguous() || outside(scalar, x.dtype)) {
    return false;
  }
  if (x.device().type != DeviceType::cpu) return false;  // what is repeated is on the host
  const Element e = to_element(scalar, x.dtype);
  dispatch(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(reinterpret_cast<T*>(repeated), x.size(), e.as<T>());
  });
  return true;
}

// out = op(data…) in x's dtype, shape and order.
void run_fast(Op op, const Array& x, const void* const* data, Array& out) {
  Backend& engine = backend(x.device());
  out.dtype = result_dtype(op, x.dtype);
  out.storage = engine.allocate(x.size() * itemsize(out.dtype));
  out.layout.shape = x.layout.shape;
  out.layout.strides = x.layout.strides;
  out.layout.offset = 0;
  out.layout.size = x.layout.size;
  engine.elementwise_contiguous(op, x.dtype, data, out.data(), x.size());
}

}  // namespace

bool elementwise_fast(Op op, const Array* const* inputs, int count, Array& out) {
  const void* data[max_inputs];
  if (!fast_operands(op, inputs, count, data)) return false;
  run_fast(op, *inputs[0], data, out);
  return true;
}

bool elementwise_fast_scalar(Op op, const Array& x, const Scalar& scalar, bool scalar_first,
                             Array& out) {
  if (!scalar_first && is_square(op, x.dtype, scalar)) {
    const Array* const factors[] = {&x, &x};
    return elementwise_fast(Op::multiply, factors, 2, out);
  }
  alignas(64) char repeated[repeated_bytes];
  if (!repeat_scalar(op, x, scalar, repeated)) return false;
  const void* data[2] = {x.data(), repeated};
  if (scalar_first) std::swap(data[0], data[1]);
  run_fast(op, x, data, out);
  return true;
}

bool elementwise_fast_in_place(Op op, const Array& x, const Array* other, const Scalar* scalar) {
  if (scalar && is_square(op, x.dtype, *scalar)) {
    return elementwise_fast_in_place(Op::multiply, x, &x, nullptr);
  }
  if (!x.writable() || result_dtype(op, x.dtype) != x.dtype) return false;
  alignas(64) char repeated[repeated_bytes];
  const void* data[2] = {x.data(), repeated};
  if (other) {
    const Array* const inputs[] = {&x, other};
    if (!fast_operands(op, inputs, 2, data)) return false;
    if (data[0] != data[1] && may_overlap(x, *other)) return false;
  } else if (!repeat_scalar(op, x, *scalar, repeated)) {
    return false;
  }
  backend(x.device()).elementwise_contiguous(op, x.dtype, data, x.data(), x.size());
  return true;
}

void elementwise_in_place(Op op, const Array& x, const Value& other) {
  if (is_square(op, x, other)) return elementwise_in_place(Op::multiply, x, x);
  check_writable(x, "the array on the left of an in-place operator");
  Resolved r;
  Value args[] = {x, other};
  resolve(op, args, r);
  if (!(r.shape == x.shape())) {
    value_error("an in-place ", info(op).name, " would change the shape ", x.shape(), " to ",
                r.shape);
  }
  if (!can_update(result_dtype(op, r.dtype), x.dtype)) {
    type_error("an in-place ", info(op).name, " of ", x.dtype, " and ", describe(other),
               " would change the dtype to ", result_dtype(op, r.dtype));
  }
  if (x.size() == 0) return;
  Array held;
  if (const Array* b = std::get_if<Array>(&other); b && r.held.empty() && may_overlap(x, *b)) {
    const Array view = b->with(broadcast_to(b->layout, r.shape));
    if (!same_view(view, x)) {
      held = held_for(x, view);
      r.operands[1] = Operand(held);
    }
  }
  backend(r.device).elementwise(op, compute_dtype(r.dtype), {r.operands.data(), 2}, Operand(x));
}

Array clip(const Array& x, const std::optional<Value>& min, const std::optional<Value>& max) {
  check_kind("clip", "x", x.dtype, kinds::real_numeric);
  // The bounds must be of x's kind: the standard defines nothing else, and the result has x's
  // dtype.
  const auto check = [&x](const Value& bound, const char* argument) {
    const DType d = std::holds_alternative<Array>(bound)
                        ? promote(x.dtype, std::get<Array>(bound).dtype)
                        : scalar_dtype(std::get<Scalar>(bound), x.dtype);
    if (d != x.dtype) {
      type_error("clip: ", argument, " is ", describe(bound), ", which does not promote to x's ",
                 "dtype ", x.dtype);
    }
  };
  if (min) check(*min, "min");
  if (max) check(*max, "max");
  Array out;
  if (min && max) {
    const Value args[] = {x, *min, *max};
    out = elementwise(Op::clip, args);
  } else if (min) {
    const Value args[] = {x, *min};
    out = elementwise(Op::maximum, args);
  } else if (max) {
    const Value args[] = {x, *max};
    out = elementwise(Op::minimum, args);
  } else {
    out = copy(x);
  }
  return out;
}

Array real(const Array& x) {
  check_kind("real", "x", x.dtype, kinds::numeric);
  if (!is_complex(x.dtype)) return x;
  Array out = x;
  out.dtype = real_dtype(x.dtype);
  out.layout.offset *= 2;
  for (std::int64_t& s : out.layout.strides) s *= 2;
  return out;
}

Array imag(const Array& x) {
  check_kind("imag", "x", x.dtype, kinds::complex);
  Array out = real(x);
  out.layout.offset += 1;
  return out;
}

Array positive(const Array& x) {
  check_kind("positive", "x", x.dtype, kinds::numeric);
  return x.layout.is_contiguous() ? copy(x) : astype(x, x.dtype, true);
}

}  // namespace arrayx
