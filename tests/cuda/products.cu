// Matrix products against sums of products in double.
#include <complex>
#include <cstring>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

void check_products(int rounds) {
  for (int round = 0; round < 40 * rounds; ++round) {
    DType dtype;
    do {
      dtype = static_cast<DType>(random_integer(0, dtype_count - 1));
    } while (dtype == DType::bool_ || dtype == DType::float16);
    const std::int64_t m = random_integer(1, 90), n = random_integer(1, 90),
                       k = random_integer(0, 90), batch = random_integer(1, 3);
    const View a = random_view(dtype, {batch, m, k}, {true, chance(0.3)}, Values::positive);
    const View b = random_view(dtype, {batch, k, n}, {true, chance(0.3)}, Values::positive);
    View out = random_view(dtype, {batch, m, n}, {false, true}, Values::positive);
    if (!out.layout.is_contiguous()) continue;
    std::ostringstream what;
    what << "matmul of " << dtype << " " << text(a.layout) << " and " << text(b.layout);
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, f16>) {
        const auto item = [](const View& v, std::int64_t i, std::int64_t j, std::int64_t l) {
          T x;
          const std::int64_t place = v.layout.offset + i * v.layout.strides[0] +
                                     j * v.layout.strides[1] + l * v.layout.strides[2];
          std::memcpy(&x, v.host.data() + place * std::int64_t{sizeof x}, sizeof x);
          return x;
        };
        for (std::int64_t i = 0; i < batch; ++i) {
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
                  sum += std::complex<double>(item(a, i, j, q)) *
                         std::complex<double>(item(b, i, q, l));
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
    cuda::matmul(a.on_device(), b.on_device(), out.on_device());
    expect_same(out, what.str(), is_floating(dtype) ? 400 : 0);
  }
}

}  // namespace arrayx::testing
