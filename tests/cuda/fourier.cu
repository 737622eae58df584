// Fourier transforms against the CPU engine, and that layouts do not change their bits.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "../../cuda/fft_columns.hpp"
#include "harness.hpp"

namespace arrayx::testing {

namespace {

// Complex transforms over axes, and those from and to real numbers along one.
enum class Kind { complex, from_real, to_real };

struct Call {
  Kind kind;
  std::vector<int> axes;
  std::int64_t n;
  bool inverse;
  double scale;

  void on_host(const Operand& in, const Operand& out) const {
    switch (kind) {
      case Kind::complex:
        for (std::size_t i = 0; i < axes.size(); ++i) {
          cpu::fft(i == 0 ? in : out, out, axes[i], inverse, i == 0 ? scale : 1);
        }
        return;
      case Kind::from_real:
        return cpu::rfft(in, out, n, axes[0], inverse, scale);
      case Kind::to_real:
        return cpu::irfft(in, out, axes[0], inverse, scale);
    }
  }
  void on_device(const Operand& in, const Operand& out) const {
    switch (kind) {
      case Kind::complex:
        return cuda::fft(in, out, axes, inverse, scale);
      case Kind::from_real:
        return cuda::rfft(in, out, n, axes[0], inverse, scale);
      case Kind::to_real:
        return cuda::irfft(in, out, axes[0], inverse, scale, false);
    }
  }
};

// The contiguous elements of a view on the host.
std::vector<double> elements(View& view) {
  const DType wide = is_complex(view.dtype) ? DType::complex128 : DType::float64;
  const Layout layout = Layout::contiguous(view.layout.shape);
  std::vector<double> values(
      static_cast<std::size_t>(layout.size * itemsize(wide) / std::int64_t{sizeof(double)}));
  Operand to = view.on_host();
  to.layout = &layout;
  to.data = reinterpret_cast<char*>(values.data());
  to.dtype = wide;
  if (layout.size > 0) cpu::copy(view.on_host(), to);
  return values;
}

void download(View& view) {
  cuda::check(
      cudaMemcpy(view.host.data(), view.device->data, view.host.size(), cudaMemcpyDeviceToHost),
      "download");
}

// The results are close in proportion to the norm of the whole, and what is between their elements
// is as it was.
void expect_close(View& view, const std::string& what) {
  const std::vector<double> expected = elements(view);
  View found = view;
  download(found);
  const std::vector<double> values = elements(found);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - expected[i]) * (values[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  const bool single = real_dtype(view.dtype) == DType::float32;
  std::ostringstream message;
  message << what << " out " << text(view.layout) << ": error " << std::sqrt(error / norm);
  expect(std::sqrt(error) <= (single ? 1e-6 : 2e-15) * std::sqrt(norm), message.str());
  if (view.layout.size > 0) cpu::copy(found.on_host(), view.on_host());
  expect_same(view, "what surrounds " + what);
}

// The kernels that large arrays' columns go to, of arrays of any size.
void check_columns() {
  const std::int64_t lengths[] = {2, 7, 17, 25, 102, 128, 136, 243, 250, 256};
  const std::int64_t before = random_integer(1, 3), n = lengths[random_integer(0, 9)],
                     behind = random_integer(1, 20);
  const DType real = chance(0.5) ? DType::float32 : DType::float64, complex = complex_dtype(real);
  Call call{static_cast<Kind>(random_integer(0, 2)), {1}, n, chance(0.5), 0.37};
  const std::int64_t given = chance(0.5)                  ? random_integer(1, 2 * n)
                             : call.kind == Kind::to_real ? n / 2 + 1
                                                          : n;
  const std::int64_t wanted = call.kind == Kind::from_real ? n / 2 + 1 : n;
  const std::int64_t stored = wanted + (chance(0.3) ? random_integer(1, n) : 0);
  const DType in_dtype = call.kind == Kind::from_real ? real : complex;
  const DType out_dtype = call.kind == Kind::to_real ? real : complex;
  const View in = random_view(in_dtype, {before, given, behind}, {false, true}, Values::small);
  View out = random_view(out_dtype, {before, stored, behind}, {false, true}, Values::small);
  out.layout = slice_axis(out.layout, 1, 0, 1, wanted);
  call.on_host(in.on_host(), out.on_host());
  cuda::transform_columns(
      {in_dtype, out_dtype, before, n, behind, given, wanted, stored, call.inverse, call.scale},
      in.on_device().data, out.on_device().data);
  std::ostringstream what;
  what << "columns of " << n << " points, kind " << static_cast<int>(call.kind) << ", " << in_dtype
       << ' ' << text(in.layout);
  expect_close(out, what.str());
}

// Results that are the first part of longer rows or columns, which keep what is behind it. The last
// shape is one of the kernels' for columns.
void check_first_part() {
  const DType real = chance(0.5) ? DType::float32 : DType::float64;
  const bool is_large = chance(0.05);
  const std::int64_t n = is_large ? 2 * random_integer(16, 128) : random_integer(2, 400);
  const std::int64_t others = is_large ? (32 << 20) / (n * itemsize(real) * 64) + 1 : 7;
  const int axis = is_large ? 1 : static_cast<int>(random_integer(0, 2));
  Dims shape{is_large ? others : random_integer(1, 9), 0, is_large ? 64 : random_integer(1, 9)};
  std::swap(shape[1], shape[axis]);
  shape[axis] = n;
  const View in = random_view(real, shape, {true, is_large || chance(0.5)}, Values::small);
  View out = random_view(complex_dtype(real), shape, {false, true}, Values::small);
  if (const Dims order = cuda::fft_order(real, out.dtype, shape, {&axis, 1}); !order.empty()) {
    out.layout = dense_in_order(shape, order);
  }
  out.layout = slice_axis(out.layout, axis, 0, 1, n / 2 + 1);
  Call call{Kind::from_real, {axis}, n, chance(0.5), chance(0.5) ? 1 : 0.37};
  call.on_host(in.on_host(), out.on_host());
  call.on_device(in.on_device(), out.on_device());
  std::ostringstream what;
  what << "rfft of " << in.dtype << ' ' << text(in.layout) << " along " << axis << " of a part";
  expect_close(out, what.str());
}

// All frequencies of real numbers, in the order that the engine asks for or any other. The last
// shape is one of the kernels' for columns.
void check_all_frequencies() {
  const DType real = chance(0.5) ? DType::float32 : DType::float64, complex = complex_dtype(real);
  const bool is_large = chance(0.05);
  const std::int64_t n = is_large ? random_integer(32, 250) : random_integer(1, 400);
  const std::int64_t others = is_large ? (32 << 20) / (n * itemsize(real) * 64) + 1 : 7;
  const int axis = is_large ? 1 : static_cast<int>(random_integer(0, 2));
  Dims shape{is_large ? others : random_integer(1, 9), 0, is_large ? 64 : random_integer(1, 9)};
  std::swap(shape[1], shape[axis]);
  Dims given = shape;
  shape[axis] = n;
  given[axis] = chance(0.8) ? n : random_integer(1, 2 * n);
  const View in = random_view(real, given, {true, is_large || chance(0.5)}, Values::small);
  View out = random_view(complex, shape, {false, chance(0.8)}, Values::small);
  const Dims order = cuda::fft_order(real, complex, shape, {&axis, 1});
  if (!order.empty() && out.layout.is_contiguous()) out.layout = dense_in_order(shape, order);
  View numbers = random_view(complex, given, {false, true}, Values::small);
  cpu::copy(in.on_host(), numbers.on_host());
  const Call call{Kind::complex, {axis}, n, chance(0.5), chance(0.5) ? 1 : 0.37};
  call.on_host(numbers.on_host(), out.on_host());
  call.on_device(in.on_device(), out.on_device());
  std::ostringstream what;
  what << "all frequencies of " << in.dtype << ' ' << text(in.layout) << " along " << axis;
  expect_close(out, what.str());
}

// A spent input whose axis is the slowest in memory, as transforms along the others leave it.
void check_spent() {
  const DType real = chance(0.5) ? DType::float32 : DType::float64;
  const std::int64_t n = random_integer(1, 400);
  View in =
      random_view(complex_dtype(real), {n / 2 + 1, random_integer(1, 9), random_integer(1, 9)},
                  {false, true}, Values::small);
  const Dims orders[] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}};
  const int axis = static_cast<int>(random_integer(0, 2));
  in.layout = permute(in.layout, orders[axis]);
  Dims shape = in.layout.shape;
  shape[axis] = n;
  View out = random_view(real, shape, {false, chance(0.6)}, Values::small);
  cpu::irfft(in.on_host(), out.on_host(), axis, true, 1);
  cuda::irfft(in.on_device(), out.on_device(), axis, true, 1, true);
  std::ostringstream what;
  what << "irfft of spent " << in.dtype << ' ' << text(in.layout) << " along " << axis;
  expect_close(out, what.str());
}

}  // namespace

void check_fourier(int rounds) {
  for (int round = 0; round < 50 * rounds; ++round) check_columns();
  for (int round = 0; round < 30 * rounds; ++round) check_spent();
  for (int round = 0; round < 50 * rounds; ++round) check_first_part();
  for (int round = 0; round < 50 * rounds; ++round) check_all_frequencies();
  for (int round = 0; round < 100 * rounds; ++round) {
    Dims shape = random_shape(30000);
    if (shape.empty()) shape.push_back(7);
    const int ndim = shape.size();
    const bool single = chance(0.5);
    Call call{static_cast<Kind>(random_integer(0, 2)), {}, 0, chance(0.5), 1};
    const DType real = single ? DType::float32 : DType::float64, complex = complex_dtype(real);
    Dims out_shape = shape;
    const int axis = static_cast<int>(random_integer(0, ndim - 1));
    if (call.kind == Kind::complex && chance(0.4)) {
      for (int d = 0; d < ndim; ++d) {
        if (chance(0.6)) call.axes.push_back(d);
      }
      std::shuffle(call.axes.begin(), call.axes.end(), generator);
    }
    if (call.axes.empty()) {
      call.axes.push_back(axis);
      call.n = chance(0.5) ? std::max<std::int64_t>(1, shape[axis])
                           : random_integer(1, 2 * shape[axis] + 2);
      out_shape[axis] = call.kind == Kind::from_real ? call.n / 2 + 1 : call.n;
    }
    if (chance(0.5)) call.scale = 0.37;
    const DType in_dtype = call.kind == Kind::from_real ? real : complex;
    const DType out_dtype = call.kind == Kind::to_real ? real : complex;
    const View in = random_view(in_dtype, shape, {true, chance(0.3)}, Values::small);
    View out = random_view(out_dtype, out_shape, {false, chance(0.6)}, Values::small);
    std::ostringstream what;
    what << (call.kind == Kind::complex     ? "fft of "
             : call.kind == Kind::from_real ? "rfft of "
                                            : "irfft of ")
         << in_dtype << " " << text(in.layout) << " along";
    for (const int a : call.axes) what << ' ' << a;
    // Complex numbers may begin where an imaginary part does.
    const int shift = is_complex(in_dtype) && chance(0.1) ? itemsize(in_dtype) / 2 : 0;
    Operand host_in = in.on_host(), device_in = in.on_device();
    host_in.data += shift;
    device_in.data += shift;
    call.on_host(host_in, out.on_host());
    call.on_device(device_in, out.on_device());
    expect_close(out, what.str());
    // A contiguous copy gives the same bits.
    View packed = random_view(in_dtype, shape, {false, true}, Values::small);
    View again = out;
    again.device = cuda::allocate(std::int64_t(out.host.size()));
    cuda::check(
        cudaMemcpy(again.device->data, out.host.data(), out.host.size(), cudaMemcpyHostToDevice),
        "upload");
    cuda::copy(device_in, packed.on_device());
    call.on_device(packed.on_device(), again.on_device());
    expect_same(again, "layout of " + what.str());
    // So does the array itself as the output.
    if (call.kind != Kind::complex || out_shape != shape) continue;
    View place = random_view(out_dtype, shape, {false, chance(0.6)}, Values::small);
    cuda::copy(device_in, place.on_device());
    download(place);
    call.on_device(place.on_device(), place.on_device());
    if (out.layout.size > 0) cpu::copy(out.on_host(), place.on_host());
    expect_same(place, "in place: " + what.str());
  }
}

}  // namespace arrayx::testing
