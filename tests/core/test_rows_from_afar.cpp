// Reductions of rows as processors read them from beyond the caches that read vectors in halves:
// they give the bits that the same rows give within the caches. So do sums of elements that lie
// apart or backwards, which have kernels of their own.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "cpp/cpu/kernels.hpp"

using namespace arrayx;
using namespace arrayx::cpu;

namespace {

constexpr std::int64_t rows = 3, longest = 9000;

// For complex numbers their parts, of which two make an element. `special`: with an infinity, a NaN
// and a row of zeros among floating ones.
template <class T>
std::vector<T> numbers(bool special) {
  std::vector<T> x(rows * longest);
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < x.size(); ++i) {
    state = state * 1664525 + 1013904223;
    const double value = static_cast<double>(state >> 8) / (1 << 23) - 1;  // -1 … 1
    x[i] = std::is_floating_point_v<T> ? static_cast<T>(value) : static_cast<T>(value * 100);
  }
  if (std::is_floating_point_v<T> && special) {
    x[5] = static_cast<T>(INFINITY);
    x[longest + 800] = static_cast<T>(NAN);
    for (std::int64_t i = 0; i < longest; ++i)
      x[2 * longest + i] = static_cast<T>(i % 2 ? 0 : -0.0);
  }
  return x;
}

template <class T>
void compare(DType dtype) {
  const int d = static_cast<int>(dtype);
  const ReduceKernels& k = kernels().reduce;
  for (const bool special : {false, true}) {
    const std::vector<T> x = numbers<T>(special);
    const char* const in = reinterpret_cast<const char*>(x.data());
    for (const std::int64_t n : {1, 100, 127, 128, 129, 257, 1024, 1500, 4000}) {
      const std::int64_t stride = longest * static_cast<std::int64_t>(sizeof(T));
      for (int op = 0; op < reduction_count; ++op) {
        for (const int wide : {0, 1}) {
          if (!k.rows_from_afar[op][d][wide]) continue;
          char near[rows * 16] = {}, afar[rows * 16] = {};
          k.rows[op][d][wide](in, stride, rows, n, nullptr, near);
          k.rows_from_afar[op][d][wide](in, stride, rows, n, nullptr, afar);
          CHECK(std::memcmp(near, afar, sizeof near) == 0);
        }
      }
      for (const int largest : {0, 1}) {
        if (!k.arg_rows_from_afar[largest][d]) continue;
        std::int64_t near[rows], afar[rows];
        k.arg_rows[largest][d](in, stride, rows, n, near);
        k.arg_rows_from_afar[largest][d](in, stride, rows, n, afar);
        CHECK(std::memcmp(near, afar, sizeof near) == 0);
      }
    }
  }
}

// Sums of elements that lie apart, or backwards, and of the same next to each other.
template <class T>
void compare_spaced(DType dtype, std::int64_t parts) {
  const ReduceKernels& k = kernels().reduce;
  const int d = static_cast<int>(dtype);
  const std::int64_t size = parts * static_cast<std::int64_t>(sizeof(T));
  for (const bool special : {false, true}) {
    const std::vector<T> x = numbers<T>(special);
    for (const std::int64_t step : {-1, 2, 3, 4}) {
      for (const std::int64_t n : {128, 129, 255, 256, 300, 512, 513, 1024, 1031, 3000}) {
        // The last element is the last one of the vector's memory, or the first.
        const std::int64_t reach = (n - 1) * step * size;
        const std::vector<T> y(x.end() - (std::abs(reach) + size) / std::int64_t(sizeof(T)),
                               x.end());
        const char* const in =
            reinterpret_cast<const char*>(y.data()) + (step < 0 ? -reach : std::int64_t{0});
        std::vector<char> together(n * size);
        for (std::int64_t i = 0; i < n; ++i) {
          std::memcpy(together.data() + i * size, in + i * step * size, size);
        }
        for (const int wide : {0, 1}) {
          const int sum = static_cast<int>(Reduction::sum);
          if (!k.rows[sum][d][wide]) continue;
          char expected[16] = {};
          k.rows[sum][d][wide](together.data(), 0, 1, n, nullptr, expected);
          for (const auto* const kernels :
               {k.sum_spaced[d][wide], k.sum_spaced_from_afar[d][wide]}) {
            if (!kernels[spacing(step)]) continue;
            char apart[16] = {};
            kernels[spacing(step)](in, 0, 1, n, nullptr, apart);
            CHECK(std::memcmp(expected, apart, sizeof apart) == 0);
          }
        }
      }
    }
  }
}

}  // namespace

TEST(sums_of_elements_that_lie_apart_give_the_same_bits) {
  compare_spaced<float>(DType::float32, 1);
  compare_spaced<double>(DType::float64, 1);
  compare_spaced<float>(DType::complex64, 2);
  compare_spaced<double>(DType::complex128, 2);
}

TEST(rows_from_beyond_the_caches_give_the_same_bits) {
  compare<std::int8_t>(DType::int8);
  compare<std::uint16_t>(DType::uint16);
  compare<std::int32_t>(DType::int32);
  compare<std::uint64_t>(DType::uint64);
  compare<float>(DType::float32);
  compare<double>(DType::float64);
  compare<float>(DType::complex64);
  compare<double>(DType::complex128);
}
