// The fft extension: everything is brought to Backend's fft, rfft and irfft along one axis.
#include "fft.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "manipulation.hpp"

namespace arrayx::fourier {

namespace {

// x in the dtype that a transform of it computes in.
Array real_input(const char* function, const Array& x) {
  check_kind(function, "x", x.dtype, kinds::real);
  return computable(x, x.dtype);
}

// x as a complex array; a real one becomes complex.
Array complex_input(const char* function, const Array& x) {
  check_kind(function, "x", x.dtype, kinds::floating);
  return arrayx::astype(x, complex_dtype(x.dtype), false);
}

void check_length(const char* function, const char* argument, std::int64_t n, int axis,
                  const Array& x) {
  if (n >= 1) return;
  value_error(function, ": ", argument, " is ", n, " for axis ", axis, " of an array of shape ",
              x.shape(), "; a transform has at least 1 element");
}

// Uninitialised, in the order of dimensions that the engine asks for.
Array empty_in_order(const Dims& shape, DType dtype, const Dims& order, Device device) {
  Array out = empty(shape, dtype, device);
  if (!order.empty()) out.layout = dense_in_order(shape, order);
  return out;
}

// For a transform of n elements along an axis of x, where `size` of them result.
Array result_along(const Array& x, int axis, std::int64_t n, std::int64_t size, DType dtype) {
  Dims shape = x.shape();
  shape[axis] = n;
  check_shape(shape);
  const Dims order = backend_of(x).fft_order(x.dtype, dtype, shape, {&axis, 1});
  shape[axis] = size;
  return empty_in_order(shape, dtype, order, x.device());
}

// For transforms over axes of z that keep their sizes: z itself, if it is the caller's own and lies
// as the engine would have it.
Array result_over(const Array& z, bool own, std::span<const int> axes) {
  const Dims order = backend_of(z).fft_order(z.dtype, z.dtype, z.shape(), axes);
  const Layout in_order = order.empty() ? z.layout : permute(z.layout, order);
  if (own && in_order.is_contiguous()) return z;
  return empty_in_order(z.shape(), z.dtype, order, z.device());
}

// The factor of a transform of n elements in all; undone says that it is one that `backward`
// divides.
double scale_of(Norm norm, double n, bool undone) {
  if (norm == Norm::ortho) return 1 / std::sqrt(n);
  return (norm == Norm::backward) == undone ? 1 / n : 1;
}

Array complex_transform(const Array& x, std::int64_t n, int axis, bool inverse, double scale) {
  const Array out = result_along(x, axis, n, n, complex_dtype(x.dtype));
  backend_of(x).fft(x, out, axis, inverse, scale);
  return out;
}
Array from_real(const Array& x, std::int64_t n, int axis, bool inverse, double scale) {
  const Array out = result_along(x, axis, n, n / 2 + 1, complex_dtype(x.dtype));
  backend_of(x).rfft(x, out, n, axis, inverse, scale);
  return out;
}
Array to_real(const Array& x, std::int64_t n, int axis, bool inverse, double scale, bool spent) {
  const Array out = result_along(x, axis, n, n, real_dtype(x.dtype));
  backend_of(x).irfft(x, out, axis, inverse, scale, spent);
  return out;
}

// Whether a transform of n real numbers is better done as half of one, and its mirror image. Of an
// odd number there is no half.
bool by_halves(const Array& x, std::int64_t n) {
  constexpr std::int64_t least = 32;
  return (x.dtype == DType::float32 || x.dtype == DType::float64) && n % 2 == 0 && n >= least &&
         x.device().type == DeviceType::cpu;
}
Array complex_from_real(const Array& x, std::int64_t n, int axis, bool inverse, double scale) {
  const Array out = result_along(x, axis, n, n, complex_dtype(x.dtype));
  const auto part = [&](std::int64_t start, std::int64_t step, std::int64_t count) {
    return out.with(slice_axis(out.layout, axis, start, step, count));
  };
  const std::int64_t count = n / 2 - 1;
  const Array half = part(0, 1, n / 2 + 1);
  backend_of(x).rfft(x, half, n, axis, inverse, scale);
  if (out.size() > 0) {
    const Array mirrored = part(count, -1, count), image = part(n / 2 + 1, 1, count);
    const Operand operands[] = {mirrored};
    backend_of(x).elementwise(Op::conj, out.dtype, operands, image);
  }
  return out;
}

// Whether the engine finds all frequencies of real numbers itself.
bool takes_real(const Array& x, std::int64_t n, int axis) {
  if (x.dtype != DType::float32 && x.dtype != DType::float64) return false;
  Dims shape = x.shape();
  shape[axis] = n;
  check_shape(shape);
  return backend_of(x).fft_takes_real(x.dtype, shape, axis);
}

// All frequencies of n elements, real or complex, along one axis.
Array along_one(const char* function, const Array& x, std::int64_t n, int axis, bool inverse,
                double scale) {
  if (by_halves(x, n)) return complex_from_real(x, n, axis, inverse, scale);
  const Array input = takes_real(x, n, axis) ? x : complex_input(function, x);
  return complex_transform(input, n, axis, inverse, scale);
}

Array one_complex(const char* function, const Array& x, Length n, std::int64_t axis_argument,
                  Norm norm, bool inverse) {
  check_kind(function, "x", x.dtype, kinds::floating);
  const int axis = normalize_axis(axis_argument, x.ndim());
  const std::int64_t length = n.value_or(x.shape()[axis]);
  check_length(function, "n", length, axis, x);
  return along_one(function, x, length, axis, inverse,
                   scale_of(norm, static_cast<double>(length), inverse));
}

Array one_from_real(const char* function, const Array& input, Length n, std::int64_t axis_argument,
                    Norm norm, bool inverse) {
  const Array x = real_input(function, input);
  const int axis = normalize_axis(axis_argument, x.ndim());
  const std::int64_t length = n.value_or(x.shape()[axis]);
  check_length(function, "n", length, axis, x);
  return from_real(x, length, axis, inverse, scale_of(norm, static_cast<double>(length), inverse));
}

Array one_to_real(const char* function, const Array& x, Length n, std::int64_t axis_argument,
                  Norm norm, bool inverse) {
  const Array z = complex_input(function, x);
  const int axis = normalize_axis(axis_argument, x.ndim());
  const std::int64_t length = n.value_or(2 * (x.shape()[axis] - 1));
  check_length(function, "n", length, axis, x);
  return to_real(z, length, axis, inverse, scale_of(norm, static_cast<double>(length), inverse),
                 false);
}

// The axes of a transform over several, as given (one may be named twice), and their lengths.
struct Grid {
  Dims axes, lengths;
  double size = 1;
};
Grid grid_of(const char* function, const Array& x, const std::optional<Dims>& s,
             const std::optional<Dims>& axes, bool last_is_half) {
  Grid grid;
  if (axes) {
    if (s && s->size() != axes->size()) {
      value_error(function, ": s ", *s, " and axes ", *axes, " must have the same length");
    }
    for (std::int64_t axis : *axes) grid.axes.push_back(normalize_axis(axis, x.ndim(), "axes:"));
  } else {
    // Without axes, s is of the last ones, as in NumPy; the standard leaves it open.
    const int count = s ? s->size() : x.ndim();
    if (count > x.ndim()) {
      value_error(function, ": s ", *s, " has more lengths than x of shape ", x.shape(),
                  " has dimensions");
    }
    for (int i = x.ndim() - count; i < x.ndim(); ++i) grid.axes.push_back(i);
  }
  for (int i = 0; i < grid.axes.size(); ++i) {
    const int axis = static_cast<int>(grid.axes[i]);
    std::int64_t n = s ? (*s)[i] : -1;
    if (n == -1) {
      n = x.shape()[axis];
      if (last_is_half && i + 1 == grid.axes.size()) n = 2 * (n - 1);
    }
    check_length(function, "s", n, axis, x);
    grid.lengths.push_back(n);
    grid.size *= static_cast<double>(n);
  }
  return grid;
}

// Whether the first `count` axes are different ones, and keep their sizes in z.
bool keeps_sizes(const Array& z, const Grid& grid, int count) {
  for (int i = 0; i < count; ++i) {
    if (grid.lengths[i] != z.shape()[static_cast<int>(grid.axes[i])]) return false;
    if (std::count(grid.axes.begin(), grid.axes.begin() + count, grid.axes[i]) > 1) return false;
  }
  return true;
}

// Complex transforms over the first `count` axes, the last first. Into z where it is this
// function's own, as it is after the first of them, and keeps its size and its layout.
Array several(Array z, bool own, const Grid& grid, int count, bool inverse, double scale) {
  if (count > 1 && keeps_sizes(z, grid, count)) {
    const std::vector<int> axes(grid.axes.begin(), grid.axes.begin() + count);
    const Array out = result_over(z, own, axes);
    backend_of(z).fftn(z, out, axes, inverse, scale);
    return out;
  }
  for (int i = count - 1; i >= 0; --i) {
    const int axis = static_cast<int>(grid.axes[i]);
    const double factor = i == 0 ? scale : 1;
    if (grid.lengths[i] == z.shape()[axis]) {
      const Array out = result_over(z, own, {&axis, 1});
      backend_of(z).fft(z, out, axis, inverse, factor);
      z = out;
    } else {
      z = complex_transform(z, grid.lengths[i], axis, inverse, factor);
    }
    own = true;
  }
  return z;
}

Array over_several(const char* function, const Array& x, const std::optional<Dims>& s,
                   const std::optional<Dims>& axes, Norm norm, bool inverse) {
  check_kind(function, "x", x.dtype, kinds::floating);
  const Grid grid = grid_of(function, x, s, axes, false);
  if (grid.axes.empty()) return arrayx::astype(x, complex_dtype(x.dtype), true);
  const double scale = scale_of(norm, grid.size, inverse);
  const int rest = grid.axes.size() - 1;
  const int last = static_cast<int>(grid.axes[rest]);
  if (rest == 0) return along_one(function, x, grid.lengths[0], last, inverse, scale);
  if (by_halves(x, grid.lengths[rest])) {
    const Array z = complex_from_real(x, grid.lengths[rest], last, inverse, 1);
    return several(z, true, grid, rest, inverse, scale);
  }
  return several(complex_input(function, x), false, grid, rest + 1, inverse, scale);
}

void check_some_axes(const char* function, const Grid& grid) {
  if (grid.axes.empty()) value_error(function, ": a real transform needs at least 1 axis");
}

Array shift(const Array& x, const std::optional<Dims>& axes, bool back) {
  Dims which, shifts;
  if (axes) {
    for (std::int64_t axis : *axes) which.push_back(normalize_axis(axis, x.ndim(), "axes:"));
  } else {
    for (int i = 0; i < x.ndim(); ++i) which.push_back(i);
  }
  for (std::int64_t axis : which) {
    const std::int64_t half = x.shape()[static_cast<int>(axis)] / 2;
    shifts.push_back(back ? -half : half);
  }
  if (which.empty()) return arrayx::copy(x);
  return roll(x, shifts, which);
}

// Of the first `count` elements, of which those before `negative` count from 0, the others to -1.
Array frequencies(const char* function, std::int64_t n, std::int64_t count, std::int64_t negative,
                  double d, OptionalDType dtype, Device device) {
  const DType result = dtype.value_or(default_float);
  check_kind(function, "dtype", result, kinds::real);
  if (n < 1) value_error(function, ": n must be at least 1, not ", n);
  if (d == 0) value_error(function, ": d must not be 0");
  const Array out = empty(Dims{count}, DType::float64, Device{DeviceType::cpu, 0});
  double* f = out.data_as<double>();
  const double span = d * static_cast<double>(n);
  for (std::int64_t i = 0; i < count; ++i) {
    f[i] = static_cast<double>(i < negative ? i : i - n) / span;
  }
  return astype(out, result, false, device);
}

}  // namespace

Array fft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_complex("fft", x, n, axis, norm, false);
}
Array ifft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_complex("ifft", x, n, axis, norm, true);
}
Array rfft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_from_real("rfft", x, n, axis, norm, false);
}
Array irfft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_to_real("irfft", x, n, axis, norm, true);
}
Array hfft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_to_real("hfft", x, n, axis, norm, false);
}
Array ihfft(const Array& x, Length n, std::int64_t axis, Norm norm) {
  return one_from_real("ihfft", x, n, axis, norm, true);
}

Array fftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
           Norm norm) {
  return over_several("fftn", x, s, axes, norm, false);
}
Array ifftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
            Norm norm) {
  return over_several("ifftn", x, s, axes, norm, true);
}

Array rfftn(const Array& input, const std::optional<Dims>& s, const std::optional<Dims>& axes,
            Norm norm) {
  const Array x = real_input("rfftn", input);
  const Grid grid = grid_of("rfftn", x, s, axes, false);
  check_some_axes("rfftn", grid);
  const int rest = grid.axes.size() - 1;
  const double scale = scale_of(norm, grid.size, false);
  const Array z = from_real(x, grid.lengths[rest], static_cast<int>(grid.axes[rest]), false,
                            rest == 0 ? scale : 1);
  return several(z, true, grid, rest, false, scale);
}

Array irfftn(const Array& x, const std::optional<Dims>& s, const std::optional<Dims>& axes,
             Norm norm) {
  const Array z = complex_input("irfftn", x);
  const Grid grid = grid_of("irfftn", x, s, axes, true);
  check_some_axes("irfftn", grid);
  const int rest = grid.axes.size() - 1;
  // The complex transforms have a last pass that can scale.
  const double scale = scale_of(norm, grid.size, true);
  return to_real(several(z, false, grid, rest, true, scale), grid.lengths[rest],
                 static_cast<int>(grid.axes[rest]), true, rest > 0 ? 1 : scale, rest > 0);
}

Array fftfreq(std::int64_t n, double d, OptionalDType dtype, Device device) {
  return frequencies("fftfreq", n, n, (n + 1) / 2, d, dtype, device);
}
Array rfftfreq(std::int64_t n, double d, OptionalDType dtype, Device device) {
  return frequencies("rfftfreq", n, n / 2 + 1, n / 2 + 1, d, dtype, device);
}

Array fftshift(const Array& x, const std::optional<Dims>& axes) {
  return shift(x, axes, false);
}
Array ifftshift(const Array& x, const std::optional<Dims>& axes) {
  return shift(x, axes, true);
}

}  // namespace arrayx::fourier
