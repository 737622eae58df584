// Products of matrices and of vectors against sums of products in double; cross products against
// those of the CPU engine.
#include <complex>
#include <cstring>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

DType random_numeric() {
  for (;;) {
    const auto dtype = static_cast<DType>(random_integer(0, dtype_count - 1));
    if (dtype != DType::bool_ && dtype != DType::float16) return dtype;
  }
}

void check_vecdots(int rounds) {
  for (int round = 0; round < 60 * rounds; ++round) {
    const DType dtype = random_numeric();
    const std::int64_t longest[] = {16, 70, 400, 40000};
    const std::int64_t k = random_integer(1, longest[random_integer(0, 3)]);
    const std::int64_t m = random_integer(1, k > 400 ? 2 : 20);
    const Dims shape{m, random_integer(1, k > 400 ? 2 : k > 70 ? 20 : 100), k};
    const bool conjugate = chance(0.5);
    const View a = random_view(dtype, shape, {true, chance(0.4)}, Values::positive);
    const View b = random_view(dtype, shape, {true, chance(0.4)}, Values::positive);
    View out = random_view(dtype, {shape[0], shape[1]}, {false}, Values::positive);
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, f16>) {
        const auto place = [](const View& v, std::int64_t i, std::int64_t j, std::int64_t l) {
          const Dims& strides = v.layout.strides;
          return (v.layout.offset + i * strides[0] + j * strides[1] + l) * std::int64_t{sizeof(T)};
        };
        for (std::int64_t i = 0; i < shape[0]; ++i) {
          for (std::int64_t j = 0; j < shape[1]; ++j) {
            // One after the other, as many equal ones as there may be are off by thousands of ulp
            // in double.
            std::conditional_t<std::is_integral_v<T>, std::uint64_t, std::complex<long double>>
                sum{};
            for (std::int64_t l = 0; l < k; ++l) {
              T x, y;
              std::memcpy(&x, a.host.data() + place(a, i, j, l * a.layout.strides[2]), sizeof x);
              std::memcpy(&y, b.host.data() + place(b, i, j, l * b.layout.strides[2]), sizeof y);
              const decltype(sum) u(x), v(y);
              if constexpr (std::is_integral_v<T>) {
                sum += u * v;
              } else {
                sum += (conjugate ? std::conj(u) : u) * v;
              }
            }
            T result;
            if constexpr (std::is_floating_point_v<T>) {
              result = static_cast<T>(sum.real());
            } else {
              result = static_cast<T>(sum);
            }
            std::memcpy(out.host.data() + place(out, i, j, 0), &result, sizeof result);
          }
        }
      }
    });
    cuda::vecdot(a.on_device(), b.on_device(), conjugate, out.on_device());
    std::ostringstream what;
    what << "vecdot of " << dtype << " " << text(a.layout) << " and " << text(b.layout);
    expect_same(out, what.str(), is_floating(dtype) ? 400 : 0);
  }
}

// out = a @ b on the host, of [outer, batch, row, column].
void multiply(const View& a, const View& b, View& out) {
  const Dims& shape = out.layout.shape;
  const std::int64_t outer = shape[0], batch = shape[1], m = shape[2], n = shape[3],
                     k = a.layout.shape[3];
  dispatch(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, f16>) {
      const auto item = [&](const View& v, std::int64_t i, std::int64_t j, std::int64_t l) {
        T x;
        const Dims& strides = v.layout.strides;
        const std::int64_t place = v.layout.offset + i / batch * strides[0] +
                                   i % batch * strides[1] + j * strides[2] + l * strides[3];
        std::memcpy(&x, v.host.data() + place * std::int64_t{sizeof x}, sizeof x);
        return x;
      };
      for (std::int64_t i = 0; i < outer * batch; ++i) {
        for (std::int64_t j = 0; j < m; ++j) {
          for (std::int64_t l = 0; l < n; ++l) {
            T result;
            if constexpr (std::is_integral_v<T>) {
              std::uint64_t sum = 0;
              for (std::int64_t q = 0; q < k; ++q) {
                sum += static_cast<std::uint64_t>(item(a, i, j, q)) *
                       static_cast<std::uint64_t>(item(b, i, q, l));
              }
              result = static_cast<T>(sum);
            } else {
              std::complex<double> sum = 0;
              for (std::int64_t q = 0; q < k; ++q) {
                sum +=
                    std::complex<double>(item(a, i, j, q)) * std::complex<double>(item(b, i, q, l));
              }
              if constexpr (std::is_floating_point_v<T>) {
                result = static_cast<T>(sum.real());
              } else {
                result = T(sum);
              }
            }
            const std::int64_t place = out.layout.offset + (i * m + j) * n + l;
            std::memcpy(out.host.data() + place * std::int64_t{sizeof result}, &result,
                        sizeof result);
          }
        }
      }
    }
  });
}

// Those of which a large matrix is read once, and their neighbours: few rows by a matrix or a
// matrix by few columns, the matrix as it lies or transposed.
void check_few_rows(int rounds) {
  for (int round = 0; round < 6 + 4 * rounds; ++round) {
    const DType dtype = chance(0.5) ? DType::float32 : DType::float64;
    const bool columns = round % 2 != 0, long_columns = round % 4 >= 2;
    const std::int64_t few = random_integer(2, 9);
    std::int64_t n = 256 * random_integer(4, 6), k = random_integer(1100, 1300);
    if (long_columns) {
      const std::int64_t lengths[] = {4 * random_integer(32, 200), 4 * random_integer(300, 700),
                                      random_integer(1100, 1300)};
      k = lengths[random_integer(0, 2)];
      n = random_integer(1 << 18, 3 << 18) / k;
    }
    View a = random_view(dtype, {1, 1, few, k}, {true, chance(0.5)}, Values::positive);
    View b = random_view(dtype, {1, 1, long_columns ? n : k, long_columns ? k : n}, {false, true},
                         Values::positive);
    const auto transpose = [](View& v) { v.layout = permute(v.layout, Dims{0, 1, 3, 2}); };
    if (long_columns) transpose(b);
    if (columns) {
      std::swap(a, b);
      transpose(a);
      transpose(b);
    }
    const Dims shape{1, 1, columns ? n : few, columns ? few : n};
    View out = random_view(dtype, shape, {false, true}, Values::positive);
    if (!out.layout.is_contiguous()) continue;
    multiply(a, b, out);
    cuda::matmul(a.on_device(), b.on_device(), out.on_device());
    std::ostringstream what;
    what << "matmul of " << dtype << " " << text(a.layout) << " and " << text(b.layout);
    expect_same(out, what.str(), 400);
  }
}

void check_crosses(int rounds) {
  for (int round = 0; round < 40 * rounds; ++round) {
    DType dtype;
    do {
      dtype = random_numeric();
    } while (is_complex(dtype));
    const Dims shape{random_integer(1, 20), random_integer(1, 12) * 4, 3};
    const bool plain = chance(0.4);
    const View a = random_view(dtype, shape, {true, plain}, Values::any);
    const View b = random_view(dtype, shape, {true, plain}, Values::any);
    const View out = random_view(dtype, shape, {false, plain}, Values::small);
    if (!cpu::cross(a.on_host(), b.on_host(), out.on_host())) continue;
    expect(cuda::cross(a.on_device(), b.on_device(), out.on_device()), "cross has a kernel");
    std::ostringstream what;
    what << "cross of " << dtype << " " << text(a.layout) << " and " << text(b.layout);
    expect_same(out, what.str());
  }
}

}  // namespace

void check_products(int rounds) {
  check_vecdots(rounds);
  check_crosses(rounds);
  check_few_rows(rounds);
  for (int round = 0; round < 60 * rounds; ++round) {
    const DType dtype = random_numeric();
    // Of many small ones a thread block has several.
    const bool many = chance(0.3);
    const std::int64_t most = many ? 9 : chance(0.4) ? 33 : 90;
    const std::int64_t m = chance(0.2) ? 1 : random_integer(1, most),
                       n = chance(0.2) ? 1 : random_integer(1, most), k = random_integer(0, most),
                       outer = random_integer(1, 3), batch = random_integer(1, many ? 500 : 2);
    const View a = random_view(dtype, {outer, batch, m, k}, {true, chance(0.3)}, Values::positive);
    const View b = random_view(dtype, {outer, batch, k, n}, {true, chance(0.3)}, Values::positive);
    View out = random_view(dtype, {outer, batch, m, n}, {false, true}, Values::positive);
    if (!out.layout.is_contiguous()) continue;
    std::ostringstream what;
    what << "matmul of " << dtype << " " << text(a.layout) << " and " << text(b.layout);
    multiply(a, b, out);
    cuda::matmul(a.on_device(), b.on_device(), out.on_device());
    expect_same(out, what.str(), is_floating(dtype) ? 400 : 0);
  }
}

}  // namespace arrayx::testing
