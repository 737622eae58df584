#include "harness.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

namespace arrayx::testing {

std::mt19937_64 generator(1);
long checks = 0, failures = 0;

namespace {

template <class T>
T random_value(Values values) {
  if (values == Values::sparse && chance(0.999)) return T(0);
  const auto real = [&]() -> double {
    if (values == Values::positive)
      return std::uniform_real_distribution<double>(0, 100)(generator);
    if (values == Values::unit) return std::uniform_real_distribution<double>(0, 1)(generator);
    if (values == Values::near_one)
      return std::uniform_real_distribution<double>(1 - 1e-5, 1 + 1e-5)(generator);
    if (values == Values::any && chance(0.15)) {
      const double specials[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,
                                 1.0, -1.0, 0.5,      1e-310,    1e300};
      return specials[random_integer(0, 9)];
    }
    const double x = std::uniform_real_distribution<double>(-100, 100)(generator);
    return values == Values::any && chance(0.2) ? std::ldexp(x, int(random_integer(-60, 60))) : x;
  };
  if constexpr (std::is_same_v<T, bool>) {
    return chance(0.5);
  } else if constexpr (std::is_same_v<T, f16>) {
    return f16(static_cast<float>(real()));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(real());
  } else if constexpr (std::is_integral_v<T>) {
    if (values == Values::any && chance(0.3)) return static_cast<T>(generator());
    const std::int64_t low = std::is_signed_v<T> && values != Values::positive ? -100 : 0;
    return static_cast<T>(random_integer(low, 100));
  } else {
    using R = typename T::value_type;
    const double imaginary = values == Values::near_one ? real() - 1 : real();
    return T(static_cast<R>(real()), static_cast<R>(imaginary));
  }
}

}  // namespace

void fill_random(DType dtype, char* data, std::int64_t count, Values values) {
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < count; ++i) {
      const T x = random_value<T>(values);
      std::memcpy(data + i * std::int64_t{sizeof x}, &x, sizeof x);
    }
  });
}

View random_view(DType dtype, const Dims& shape, LayoutOptions options, Values values) {
  View v;
  v.dtype = dtype;
  const int n = shape.size();
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  const bool plain = options.plain || chance(0.2);
  if (!plain && chance(0.6)) std::shuffle(order.begin(), order.end(), generator);
  v.layout = Layout::contiguous(shape);
  std::int64_t step = 1, front = plain && chance(0.7) ? 0 : random_integer(0, 3), lowest = 0;
  const bool steps = !plain && chance(0.5);
  for (int i = n - 1; i >= 0; --i) {
    const int d = order[i];
    if (!plain && options.repeats && chance(0.15)) {
      v.layout.strides[d] = 0;
      continue;
    }
    std::int64_t stride = step * (steps && chance(0.3) ? random_integer(2, 3) : 1);
    step = stride * std::max<std::int64_t>(shape[d], 1) + (steps && chance(0.4) ? 1 : 0);
    if (!plain && chance(0.2)) {
      lowest += stride * std::max<std::int64_t>(shape[d] - 1, 0);
      stride = -stride;
    }
    v.layout.strides[d] = stride;
  }
  v.layout.offset = front + lowest;
  v.elements = front + step + 3;
  v.host.resize(v.elements * itemsize(dtype));
  fill_random(dtype, v.host.data(), v.elements, values);
  v.device = cuda::allocate(v.host.size());
  cuda::check(cudaMemcpy(v.device->data, v.host.data(), v.host.size(), cudaMemcpyHostToDevice),
              "upload");
  return v;
}

Dims random_shape(std::int64_t most) {
  static const std::vector<Dims> special = {
      Dims{},
      Dims{0},
      Dims{3, 0, 2},
      Dims{1},
      Dims{64, 64},
      Dims{130, 70},
      Dims{1000},
      Dims{4096},
      Dims{33, 65, 3},
      Dims{8, 32, 16, 4},
      Dims{257},
      Dims{2, 300},
      Dims{300, 2},
      Dims(10, 2),
      Dims{2, 3, 2, 3, 2, 3, 2},
      Dims{20, 20, 20},
      Dims{100, 7, 9},
      Dims{16, 1, 256},
      Dims{5, 128, 40},
      Dims{31, 33, 17},
  };
  if (chance(0.5)) return special[random_integer(0, std::int64_t(special.size()) - 1)];
  Dims shape;
  std::int64_t size = 1;
  const int n = static_cast<int>(random_integer(1, 5));
  for (int i = 0; i < n; ++i) {
    const std::int64_t s =
        random_integer(1, std::max<std::int64_t>(1, std::min<std::int64_t>(most / size, 80)));
    shape.push_back(s);
    size *= s;
  }
  return shape;
}

std::string text(const Layout& layout) {
  std::ostringstream out;
  out << layout.shape << " strides " << layout.strides << " offset " << layout.offset;
  return out.str();
}

void expect(bool condition, const std::string& what) {
  ++checks;
  if (condition) return;
  if (++failures <= 40) std::printf("FAILED %s\n", what.c_str());
}

void expect_same(const View& view, const std::string& what, double ulps, double least) {
  std::vector<char> device(view.host.size());
  cuda::check(cudaMemcpy(device.data(), view.device->data, device.size(), cudaMemcpyDeviceToHost),
              "download");
  std::ostringstream message;
  bool same = true;
  dispatch(view.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < view.elements && same; ++i) {
      T a, b;
      std::memcpy(&a, view.host.data() + i * std::int64_t{sizeof a}, sizeof a);
      std::memcpy(&b, device.data() + i * std::int64_t{sizeof b}, sizeof b);
      if (std::memcmp(&a, &b, sizeof a) == 0) continue;
      const auto close = [&](auto x, auto y, auto scale) {
        using R = decltype(x);
        if (x != x && y != y) return true;
        if (ulps == 0) return std::memcmp(&x, &y, sizeof x) == 0;
        if (x == y) return true;
        const R unit = std::max({R(scale), std::numeric_limits<R>::min(), R(least)});
        return std::abs(x - y) <= ulps * std::numeric_limits<R>::epsilon() * unit;
      };
      if constexpr (std::is_same_v<T, f16>) {
        const float x = a, y = b;
        same = (x != x && y != y) || (ulps > 0 && std::abs(x - y) <= ulps * 1e-3f * std::abs(x));
        if (!same) message << " element " << i << ": host " << x << " device " << y;
      } else if constexpr (std::is_floating_point_v<T>) {
        same = close(a, b, std::max(std::abs(a), std::abs(b)));
        if (!same) message << " element " << i << ": host " << a << " device " << b;
      } else if constexpr (!std::is_integral_v<T>) {
        const auto scale = std::max(std::abs(a), std::abs(b));
        same = close(a.real(), b.real(), scale) && close(a.imag(), b.imag(), scale);
        if (!same) message << " element " << i << ": host " << a << " device " << b;
      } else {
        same = false;
        message << " element " << i << ": host " << +a << " device " << +b;
      }
    }
  });
  expect(same, what + " out " + text(view.layout) + message.str());
}

}  // namespace arrayx::testing
