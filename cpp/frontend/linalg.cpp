// See linalg.hpp. Factorisations are the engine's; norms, ranks and the like are composed of them,
// of elementwise operations and of reductions.
#include "linalg.hpp"

#include <cmath>
#include <limits>

#include "creation.hpp"
#include "elementwise.hpp"
#include "linear_algebra.hpp"
#include "manipulation.hpp"

namespace arrayx::linalg {

namespace {

// ---- arguments ------------------------------------------------------------------------------

void check_ndim(const char* function, const char* argument, const Array& x) {
  if (x.ndim() < 2) {
    value_error(function, ": ", argument, " has shape ", x.shape(),
                "; it must have at least 2 dimensions, the last two of which are matrices");
  }
}

// Floating matrices.
void check_matrices(const char* function, const char* argument, const Array& x) {
  check_kind(function, argument, x.dtype, kinds::floating);
  check_ndim(function, argument, x);
}

// … and of a dtype that there are factorisations of.
void check_factored(const char* function, const char* argument, const Array& x) {
  check_matrices(function, argument, x);
  if (compute_dtype(x.dtype) != x.dtype) {
    type_error(function, ": ", argument, " has dtype ", x.dtype,
               ", in which matrices are not factored; cast it, for example to ",
               compute_dtype(x.dtype));
  }
}

std::int64_t rows(const Array& x) {
  return x.shape()[x.ndim() - 2];
}
std::int64_t columns(const Array& x) {
  return x.shape().back();
}

void check_square(const char* function, const char* argument, const Array& x) {
  check_matrices(function, argument, x);
  if (rows(x) != columns(x)) {
    value_error(function, ": ", argument, " has shape ", x.shape(),
                "; its matrices must be square, with as many rows as columns");
  }
}

void check_factored_square(const char* function, const char* argument, const Array& x) {
  check_factored(function, argument, x);
  check_square(function, argument, x);
}

Dims stack_of(const Array& x) {
  return Dims(x.shape().begin(), x.shape().end() - 2);
}

Dims with(Dims shape, std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t n : sizes) shape.push_back(n);
  return shape;
}

// LinAlgError when there is a matrix without a result: "inv: matrix (0, 2) of x, … , is singular".
void check_result(std::int64_t failed, const char* function, const char* argument, const Array& x,
                  const Dims& stack, const char* problem) {
  if (failed < 0) return;
  if (stack.empty()) {
    raise(ErrorKind::linalg, function, ": ", argument, ", of shape ", x.shape(), ", ", problem);
  }
  Dims index(stack.size());
  for (int d = stack.size() - 1; d >= 0; --d) {
    index[d] = failed % stack[d];
    failed /= stack[d];
  }
  raise(ErrorKind::linalg, function, ": matrix ", index, " of ", argument, ", whose shape is ",
        x.shape(), ", ", problem);
}

constexpr const char* singular = "is singular";
constexpr const char* not_positive =
    "is not positive definite (one with a NaN or an infinity is not either)";

// Why an iteration gave no result, found out only now that it has not.
const char* no_convergence(const Array& x) {
  const Value operand(x);
  const Array finite = all(arrayx::elementwise(Op::isfinite, std::span(&operand, 1)), {}, false);
  return item(finite).as<bool>() ? "has no result: the iteration did not converge"
                                 : "has no result: it contains a NaN or an infinity";
}

void check_convergence(std::int64_t failed, const char* function, const Array& x) {
  if (failed < 0) return;
  const Dims stack = stack_of(x);
  Array matrix = x;
  std::int64_t position = failed;
  for (int d = stack.size() - 1; d >= 0; --d) {
    matrix.layout = index_axis(matrix.layout, d, position % stack[d]);
    position /= stack[d];
  }
  check_result(failed, function, "x", x, stack, no_convergence(matrix));
}

// ---- elementwise ------------------------------------------------------------------------------

Value number(double x) {
  return Scalar{Kind::real, 0, x};
}

Array apply(Op op, std::initializer_list<Value> operands) {
  return arrayx::elementwise(op, std::span(operands.begin(), operands.size()));
}

Array last_axis(const Array& x) {
  return expand_dims(x, Dims{-1});
}

Array filled(const Dims& shape, DType dtype, Device device, double value) {
  return full(shape, to_element(std::get<Scalar>(number(value)), dtype), device);
}

// ---- singular values
// ------------------------------------------------------------------------------

Array singular_values(const char* function, const Array& x) {
  check_factored(function, "x", x);
  const Array s =
      empty(with(stack_of(x), {std::min(rows(x), columns(x))}), real_dtype(x.dtype), x.device());
  if (s.size() > 0) check_convergence(backend_of(x).svd(x, nullptr, s, nullptr), function, x);
  return s;
}

SVD decomposed(const char* function, const Array& x, bool full_matrices) {
  check_factored(function, "x", x);
  const std::int64_t m = rows(x), n = columns(x), k = std::min(m, n);
  const Dims stack = stack_of(x);
  SVD out{empty(with(stack, {m, full_matrices ? m : k}), x.dtype, x.device()),
          empty(with(stack, {k}), real_dtype(x.dtype), x.device()),
          empty(with(stack, {full_matrices ? n : k, n}), x.dtype, x.device())};
  const Operand u(out.u), vh(out.vh);
  check_convergence(backend_of(x).svd(x, &u, out.s, &vh), function, x);
  return out;
}

// What the singular values of each matrix are compared with, one per matrix in a last dimension of
// size one. s has at least one value per matrix.
Array tolerance(const Array& x, const Array& s, const std::optional<Value>& rtol) {
  const Array largest = max(s, Dims{-1}, true);
  if (!rtol) {
    const double eps = s.dtype == DType::float32 ? std::numeric_limits<float>::epsilon()
                                                 : std::numeric_limits<double>::epsilon();
    const double size = static_cast<double>(std::max(rows(x), columns(x)));
    return apply(Op::multiply, {largest, number(size * eps)});
  }
  const Array* array = std::get_if<Array>(&*rtol);
  if (!array) return apply(Op::multiply, {largest, *rtol});
  check_same_device(x, *array);
  return apply(Op::multiply, {largest, last_axis(broadcast_to(*array, stack_of(x)))});
}

void check_rtol(const char* function, const Array& x, const std::optional<Value>& rtol) {
  if (!rtol) return;
  if (const Scalar* scalar = std::get_if<Scalar>(&*rtol)) {
    if (scalar->kind == Kind::bool_ || scalar->kind == Kind::complex) {
      type_error(function, ": rtol is ", describe(*rtol), "; it must be a real number");
    }
    return;
  }
  const Array& array = std::get<Array>(*rtol);
  check_kind(function, "rtol", array.dtype, kinds::real);
  const Dims stack = stack_of(x);
  bool fits = array.ndim() <= stack.size();
  for (int i = 1; fits && i <= array.ndim(); ++i) {
    const std::int64_t size = array.shape()[array.ndim() - i];
    fits = size == 1 || size == stack[stack.size() - i];
  }
  if (!fits) {
    value_error(function, ": rtol has shape ", array.shape(),
                "; it must broadcast to that of the stack of matrices, ", stack);
  }
}

Array inverse(const char* function, const Array& x) {
  check_factored_square(function, "x", x);
  const Array out = empty(x.shape(), x.dtype, x.device());
  if (out.size() > 0) {
    check_result(backend_of(x).inverse(x, out), function, "x", x, stack_of(x), singular);
  }
  return out;
}

// ---- norms
// ----------------------------------------------------------------------------------------

// A view of complex x with the real and the imaginary parts along a new last dimension.
Array parts(const Array& x) {
  Array out = x;
  out.dtype = real_dtype(x.dtype);
  out.layout.offset *= 2;
  for (std::int64_t& stride : out.layout.strides) stride *= 2;
  out.layout.shape.push_back(2);
  out.layout.strides.push_back(1);
  out.layout.size *= 2;
  return out;
}

// The dimensions of a norm.
struct Reduced {
  Dims axes, kept, with_ones;
  std::int64_t n = 1;  // elements per norm; 0 or 1 in an array without elements

  Reduced(const Array& x, const OptionalAxes& given) {
    std::vector<bool> reduced(x.ndim(), !given);
    if (given) {
      for (std::int64_t a : normalize_axes(*given, x.ndim())) reduced[a] = true;
    }
    for (int i = 0; i < x.ndim(); ++i) {
      const std::int64_t size = x.shape()[i];
      if (reduced[i]) {
        axes.push_back(i);
        n *= x.size() > 0 ? size : std::min<std::int64_t>(size, 1);
      } else {
        kept.push_back(size);
      }
      with_ones.push_back(reduced[i] ? 1 : size);
    }
  }
};

// The marks of the dimensions of a norm, and of that of parts().
struct Marks {
  bool flags[max_ndim + 1] = {};
  std::size_t ndim;

  Marks(const Array& x, const Reduced& r) : ndim(static_cast<std::size_t>(x.ndim())) {
    for (std::int64_t a : r.axes) flags[a] = true;
    flags[r.with_ones.size()] = true;
  }
  std::span<const bool> span() const { return {flags, ndim}; }
};

// What an engine has kernels for: sums of magnitudes, or the roots of sums of squares.
std::optional<Array> engines_norm(const Array& x, const Reduced& r, bool squares) {
  if (x.device().type == DeviceType::cpu) return std::nullopt;
  const Array out = empty(r.kept, x.dtype, x.device());
  if (!backend_of(x).norm(x, Marks(x, r).span(), squares, out)) return std::nullopt;
  return out;
}

// Sums of squares of real x in dtype `accumulator`, of shape r.kept.
Array sum_of_squares(const Array& x, const Reduced& r, DType accumulator) {
  const Array out = empty(r.kept, accumulator, x.device());
  const Array origin = zeros(r.kept, accumulator, x.device());
  const Operand center(origin);
  backend_of(x).reduce(Reduction::sum_squared_deviations, accumulator, x, Marks(x, r).span(),
                       &center, out);
  return out;
}

Array sum_of_magnitudes(const Array& input, const Reduced& r) {
  const Array x = is_complex(input.dtype) ? apply(Op::abs, {input}) : input;
  if (auto out = engines_norm(x, r, false)) return *out;
  const Array out = empty(r.kept, x.dtype, x.device());
  backend_of(x).reduce(Reduction::sum_magnitudes, wider_dtype(x.dtype), x, Marks(x, r).span(),
                       nullptr, out);
  return out;
}

Array euclidean(const Array& input, const Reduced& r) {
  const Array x = is_complex(input.dtype) ? parts(input) : input;
  if (auto out = engines_norm(x, r, true)) return *out;
  const DType wide = wider_dtype(x.dtype);
  Array squares = sum_of_squares(x, r, wide);
  if (x.dtype != wide) {  // the squares neither overflow nor vanish
    const Array out = empty(r.kept, x.dtype, x.device());
    const Operand operands[] = {squares};
    backend_of(x).elementwise(Op::sqrt, squares.dtype, operands, out);
    return out;
  }
  // Where a sum of squares is in this range no square that matters has left that of float64.
  const Array safe = apply(
      Op::logical_and, {apply(Op::greater, {squares, number(0x1p-900)}),
                        apply(Op::less, {squares, number(std::numeric_limits<double>::max())})});
  if (item(all(safe, {}, false)).as<bool>()) return apply(Op::sqrt, {squares});
  // Else powers of two bring the largest element near 1, without a rounding (as Blue's algorithm,
  // ACM TOMS 4, 1978).
  Dims axes = r.axes;
  if (x.ndim() > input.ndim()) axes.push_back(input.ndim());
  const Array largest = max(apply(Op::abs, {x}), axes, true);
  const auto choose = [&](double of_large, double of_small) {
    const Array rest = apply(Op::where, {apply(Op::less, {largest, number(0x1p-400)}),
                                         filled({}, x.dtype, x.device(), of_small), number(1)});
    return apply(Op::where,
                 {apply(Op::greater, {largest, number(0x1p500)}), number(of_large), rest});
  };
  squares = sum_of_squares(apply(Op::multiply, {x, choose(0x1p-600, 0x1p700)}), r, x.dtype);
  const Array back = reshape(choose(0x1p600, 0x1p-700), r.kept, std::nullopt);
  return apply(Op::multiply, {apply(Op::sqrt, {squares}), back});
}

Array norm(const Array& x, const Reduced& r, double order) {
  const DType dtype = real_dtype(x.dtype);
  if (r.n == 0) return filled(r.kept, dtype, x.device(), order < 0 ? INFINITY : 0);
  if (order == 2) return euclidean(x, r);
  if (order == 0) return astype(count_nonzero(x, r.axes, false), dtype, false);
  if (order == 1) return sum_of_magnitudes(x, r);
  Array size = apply(Op::abs, {x});
  if (std::isinf(order)) return order > 0 ? max(size, r.axes, false) : min(size, r.axes, false);
  // Divided by the one that dominates, so that no power of it overflows or vanishes.
  size = astype(size, wider_dtype(dtype), false);
  const Array dominant = order > 0 ? max(size, r.axes, true) : min(size, r.axes, true);
  const Array usable = apply(Op::logical_and, {apply(Op::greater, {dominant, number(0)}),
                                               apply(Op::isfinite, {dominant})});
  const Array scale = apply(Op::where, {usable, dominant, number(1)});
  const Array powers = apply(Op::pow, {apply(Op::divide, {size, scale}), number(order)});
  const Array total = sum(powers, r.axes, std::nullopt, true);
  const Array out = apply(Op::multiply, {apply(Op::pow, {total, number(1 / order)}), scale});
  return reshape(astype(out, dtype, false), r.kept, std::nullopt);
}

}  // namespace

// ---- solutions
// ------------------------------------------------------------------------------------

Array solve(const Array& x1, const Array& x2) {
  check_factored_square("solve", "x1", x1);
  check_kind("solve", "x2", x2.dtype, kinds::floating);
  check_same_device(x1, x2);
  if (x2.ndim() == 0) {
    value_error(
        "solve: x2 has shape (); it must be a vector or have matrices in its last two "
        "dimensions");
  }
  const bool vector = x2.ndim() == 1;
  const std::int64_t n = rows(x1), given = vector ? x2.shape()[0] : rows(x2);
  if (given != n) {
    value_error("solve: shapes ", x1.shape(), " and ", x2.shape(), " do not fit: x1 has ", n,
                " rows and x2 ", given, vector ? " (it is one vector)" : "");
  }
  const DType dtype = promote(x1.dtype, x2.dtype);
  const Array a = astype(x1, dtype, false);
  Array b = astype(x2, dtype, false);
  if (vector) b = last_axis(b);
  const std::int64_t k = columns(b);
  const Dims stack = broadcast_shapes(stack_of(a), stack_of(b));
  Array out = empty(with(stack, {n, k}), dtype, x1.device());
  if (out.size() > 0 && a.ndim() == 2 && b.ndim() > 2) {
    // One matrix is factored once, for all right-hand sides side by side.
    const Array sides =
        reshape(moveaxis(b, Dims{-2}, Dims{0}), Dims{n, b.size() / n}, std::nullopt);
    Dims shape{n};
    for (std::int64_t size : stack) shape.push_back(size);
    shape.push_back(k);
    const Array solutions = reshape(solve(a, sides), shape, std::nullopt);
    return copy(moveaxis(solutions, Dims{0}, Dims{-2}));
  }
  if (out.size() > 0) {
    const std::int64_t failed = backend_of(a).solve(broadcast_to(a, with(stack, {n, n})),
                                                    broadcast_to(b, with(stack, {n, k})), out);
    if (failed >= 0) {
      // Named by its place in x1, which may repeat along the stack.
      const Dims own = stack_of(x1);
      std::int64_t rest = failed, position = 0, step = 1;
      for (int d = stack.size() - 1; d >= 0; --d) {
        const int at = d - (stack.size() - own.size());
        if (at >= 0) {
          position += (own[at] == 1 ? 0 : rest % stack[d]) * step;
          step *= own[at];
        }
        rest /= stack[d];
      }
      check_result(position, "solve", "x1", x1, own, singular);
    }
  }
  return vector ? squeeze(out, Dims{-1}) : out;
}

Array inv(const Array& x) {
  return inverse("inv", x);
}

Array det(const Array& x) {
  check_factored_square("det", "x", x);
  const Array out = empty(stack_of(x), x.dtype, x.device());
  const Operand result(out);
  if (out.size() > 0) backend_of(x).determinant(x, &result, nullptr, nullptr);
  return out;
}

SignAndLog slogdet(const Array& x) {
  check_factored_square("slogdet", "x", x);
  SignAndLog out{empty(stack_of(x), x.dtype, x.device()),
                 empty(stack_of(x), real_dtype(x.dtype), x.device())};
  const Operand sign(out.sign), log_abs(out.log_abs);
  if (out.sign.size() > 0) backend_of(x).determinant(x, nullptr, &sign, &log_abs);
  return out;
}

Array matrix_power(const Array& x, std::int64_t n) {
  check_square("matrix_power", "x", x);
  if (n == 0) {
    return copy(broadcast_to(eye(rows(x), std::nullopt, 0, x.dtype, x.device()), x.shape()));
  }
  Array square = n < 0 ? inverse("matrix_power", x) : x;
  std::optional<Array> out;
  for (std::uint64_t left = n < 0 ? -static_cast<std::uint64_t>(n) : n;;) {
    if (left & 1) out = out ? arrayx::matmul(*out, square) : square;
    left >>= 1;
    if (left == 0) break;
    square = arrayx::matmul(square, square);
  }
  return n == 1 ? copy(*out) : *out;
}

Array matrix_rank(const Array& x, const std::optional<Value>& rtol) {
  const Array s = singular_values("matrix_rank", x);
  check_rtol("matrix_rank", x, rtol);
  if (s.size() == 0) return zeros(stack_of(x), default_int, x.device());
  const Array counts = apply(Op::greater, {s, tolerance(x, s, rtol)});
  return count_nonzero(counts, Dims{-1}, false);
}

Array pinv(const Array& x, const std::optional<Value>& rtol) {
  check_factored("pinv", "x", x);
  check_rtol("pinv", x, rtol);
  if (x.size() == 0) return empty(with(stack_of(x), {columns(x), rows(x)}), x.dtype, x.device());
  const SVD d = decomposed("pinv", x, false);
  const Array counts = apply(Op::greater, {d.s, tolerance(x, d.s, rtol)});
  const Array inverted = apply(Op::where, {counts, apply(Op::reciprocal, {d.s}), number(0)});
  const auto adjoint = [](const Array& a) {
    return matrix_transpose(is_complex(a.dtype) ? apply(Op::conj, {a}) : a);
  };
  const Array scaled = apply(Op::multiply, {adjoint(d.vh), expand_dims(inverted, Dims{-2})});
  return arrayx::matmul(scaled, adjoint(d.u));
}

// ---- factorisations
// -------------------------------------------------------------------------------

Array cholesky(const Array& x, bool upper) {
  check_factored_square("cholesky", "x", x);
  const Array out = empty(x.shape(), x.dtype, x.device());
  if (out.size() > 0) {
    check_result(backend_of(x).cholesky(x, out, upper), "cholesky", "x", x, stack_of(x),
                 not_positive);
  }
  return out;
}

QR qr(const Array& x, bool complete) {
  check_factored("qr", "x", x);
  const std::int64_t m = rows(x), n = columns(x), k = complete ? m : std::min(m, n);
  QR out{empty(with(stack_of(x), {m, k}), x.dtype, x.device()),
         empty(with(stack_of(x), {k, n}), x.dtype, x.device())};
  backend_of(x).qr(x, out.q, out.r);
  return out;
}

Eigen eigh(const Array& x) {
  check_factored_square("eigh", "x", x);
  Eigen out{empty(with(stack_of(x), {rows(x)}), real_dtype(x.dtype), x.device()),
            empty(x.shape(), x.dtype, x.device())};
  const Operand vectors(out.vectors);
  if (x.size() > 0) check_convergence(backend_of(x).eigh(x, out.values, &vectors), "eigh", x);
  return out;
}

Array eigvalsh(const Array& x) {
  check_factored_square("eigvalsh", "x", x);
  const Array values = empty(with(stack_of(x), {rows(x)}), real_dtype(x.dtype), x.device());
  if (x.size() > 0) check_convergence(backend_of(x).eigh(x, values, nullptr), "eigvalsh", x);
  return values;
}

Eigen eig(const Array& x) {
  check_factored_square("eig", "x", x);
  const DType dtype = complex_dtype(x.dtype);
  Eigen out{empty(with(stack_of(x), {rows(x)}), dtype, x.device()),
            empty(x.shape(), dtype, x.device())};
  const Operand vectors(out.vectors);
  if (x.size() > 0) check_convergence(backend_of(x).eig(x, out.values, &vectors), "eig", x);
  return out;
}

Array eigvals(const Array& x) {
  check_factored_square("eigvals", "x", x);
  const Array values = empty(with(stack_of(x), {rows(x)}), complex_dtype(x.dtype), x.device());
  if (x.size() > 0) check_convergence(backend_of(x).eig(x, values, nullptr), "eigvals", x);
  return values;
}

SVD svd(const Array& x, bool full_matrices) {
  return decomposed("svd", x, full_matrices);
}

Array svdvals(const Array& x) {
  return singular_values("svdvals", x);
}

// ---- norms, products, diagonals
// -------------------------------------------------------------------

Array vector_norm(const Array& x, const OptionalAxes& axes, bool keepdims, double order) {
  check_kind("vector_norm", "x", x.dtype, kinds::floating);
  const Reduced r(x, axes);
  Array out = norm(x, r, order);
  if (keepdims) out = reshape(out, r.with_ones, std::nullopt);
  return out;
}

Array matrix_norm(const Array& x, bool keepdims, MatrixNorm norm_kind) {
  check_matrices("matrix_norm", "x", x);
  const double order = norm_kind.order;
  const auto extreme = [&](const Array& values, std::int64_t axis) {
    const int at = normalize_axis(axis, values.ndim());
    if (values.shape()[at] == 0) {
      return filled(stack_of(x), real_dtype(x.dtype), x.device(), order > 0 ? 0 : INFINITY);
    }
    return order > 0 ? max(values, Dims{axis}, false) : min(values, Dims{axis}, false);
  };
  const auto sums = [&](std::int64_t axis) { return norm(x, Reduced(x, Dims{axis}), 1); };
  Array out;
  if (norm_kind.kind == MatrixNorm::Kind::frobenius) {
    out = norm(x, Reduced(x, Dims{-2, -1}), 2);
  } else if (norm_kind.kind == MatrixNorm::Kind::nuclear) {
    const Array s = singular_values("matrix_norm", x);
    out = astype(sum(s, Dims{-1}, wider_dtype(s.dtype), false), s.dtype, false);
  } else if (std::fabs(order) == 2) {
    out = extreme(singular_values("matrix_norm", x), -1);
  } else if (std::fabs(order) == 1) {
    out = extreme(sums(-2), -1);
  } else if (std::isinf(order)) {
    out = extreme(sums(-1), -1);
  } else {
    value_error("matrix_norm: ord must be 'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, not ", order);
  }
  return keepdims ? expand_dims(out, Dims{-2, -1}) : out;
}

Array cross(const Array& x1, const Array& x2, std::int64_t axis) {
  check_kind("cross", "x1", x1.dtype, kinds::numeric);
  check_kind("cross", "x2", x2.dtype, kinds::numeric);
  check_same_device(x1, x2);
  const int ndim = std::min(x1.ndim(), x2.ndim());
  if (axis >= 0 || axis < -ndim) {
    index_error("axis ", axis, " is out of range: cross counts it from the back, in [", -ndim,
                ", -1] for arrays of shapes ", x1.shape(), " and ", x2.shape());
  }
  const auto size = [axis](const Array& x) { return x.shape()[static_cast<int>(x.ndim() + axis)]; };
  if (size(x1) != 3 || size(x2) != 3) {
    value_error("cross: the vectors must have 3 elements; along axis ", axis, " shapes ",
                x1.shape(), " and ", x2.shape(), " have ", size(x1), " and ", size(x2));
  }
  const DType dtype = promote(x1.dtype, x2.dtype);
  const Array out = empty(broadcast_shapes(x1.shape(), x2.shape()), dtype, x1.device());
  const auto vectors_last = [&](const Array& x) {
    const Array whole = astype(x, dtype, false);
    return moveaxis(whole.with(broadcast_to(whole.layout, out.shape())), Dims{axis}, Dims{-1});
  };
  if (backend_of(out).cross(vectors_last(x1), vectors_last(x2), vectors_last(out))) return out;
  const auto component = [axis](const Array& x, int i) {
    return x.with(index_axis(x.layout, static_cast<int>(x.ndim() + axis), i));
  };
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const Array result = component(out, i);
    const Array first = apply(Op::multiply, {component(x1, j), component(x2, k)});
    const Array second = apply(Op::multiply, {component(x1, k), component(x2, j)});
    const Operand products[] = {first, second};
    backend_of(out).elementwise(Op::subtract, compute_dtype(dtype), products, result);
  }
  return out;
}

Array outer(const Array& x1, const Array& x2) {
  check_kind("outer", "x1", x1.dtype, kinds::numeric);
  check_kind("outer", "x2", x2.dtype, kinds::numeric);
  if (x1.ndim() != 1 || x2.ndim() != 1) {
    value_error("outer takes arrays with one dimension, not of shapes ", x1.shape(), " and ",
                x2.shape());
  }
  return apply(Op::multiply, {last_axis(x1), x2});
}

Array diagonal(const Array& x, std::int64_t offset) {
  check_ndim("diagonal", "x", x);
  return arrayx::diagonal(x, offset, -2, -1);
}

Array trace(const Array& x, std::int64_t offset, OptionalDType dtype) {
  check_kind("trace", "x", x.dtype, kinds::numeric);
  check_ndim("trace", "x", x);
  return sum(arrayx::diagonal(x, offset, -2, -1), Dims{-1}, dtype, false);
}

}  // namespace arrayx::linalg
