// Copies, casts and the creation of ranges.
#include <cmath>
#include <cstring>

#include "block_loop.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

// Few elements that lie in memory as they are counted need no plan, which would cost most of the
// call; false for all others.
bool copy_few(const Operand& in, const Operand& out) {
  constexpr std::int64_t most_bytes = 4096;
  const std::int64_t n = out.layout->size;
  const int size = itemsize(out.dtype);
  if (n > most_bytes / size || !out.layout->is_contiguous()) return false;
  if (in.host_scalar) {
    if (in.dtype != out.dtype) return false;
    kernels().copy[item_class(size)](in.data, {0, 0}, out.data, {0, size}, 1, n);
    return true;
  }
  if (!in.layout->is_contiguous()) return false;
  if (in.dtype == out.dtype) {
    std::memcpy(out.data, in.data, static_cast<std::size_t>(n * size));
  } else if (n > 0) {
    const void* from = in.data;
    kernels().cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)](&from, out.data, n);
  }
  return true;
}

}  // namespace

void copy(const Operand& in, const Operand& out) {
  if (copy_few(in, out)) return;
  const Operand* all[] = {&in, &out};
  const Plan plan = plan_of(all, 2);
  char* source = in.data + plan.base[0] * itemsize(in.dtype);
  char* target = out.data + plan.base[1] * itemsize(out.dtype);
  if (in.dtype == out.dtype) {
    run_copy(plan, source, target, itemsize(in.dtype));
    return;
  }
  // A cast is a loop like any other, whose kernel is the cast.
  const LoopOperand operands[] = {{source, in.dtype, in.dtype}, {target, out.dtype, out.dtype}};
  run_blocks(plan, operands,
             kernels().cast[static_cast<int>(in.dtype)][static_cast<int>(out.dtype)]);
}

namespace {

// out[i] = value(i), in parallel, over a one-dimensional strided output.
template <class T, class Value>
void generate(const Operand& out, Value&& value) {
  const std::int64_t n = out.layout->size;
  if (n == 0) return;
  const std::int64_t stride = out.layout->strides[0] * std::int64_t{sizeof(T)};
  const std::int64_t chunk = 32768;
  parallel_for((n + chunk - 1) / chunk, n * std::int64_t{sizeof(T)}, [&](std::int64_t c) {
    const std::int64_t end = std::min(n, (c + 1) * chunk);
    for (std::int64_t i = c * chunk; i < end; ++i) {
      const T x = value(i);
      std::memcpy(out.data + i * stride, &x, sizeof x);
    }
  });
}

}  // namespace

void arange(const Operand& out, const Element& start, const Element& step) {
  dispatch(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const double first = start.as<double>(), by = step.as<double>();
      generate<T>(
          out, [&](std::int64_t i) { return static_cast<T>(first + static_cast<double>(i) * by); });
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      // Unsigned 64-bit arithmetic wraps where the dtype's own would be undefined.
      const auto first = static_cast<std::uint64_t>(start.as<T>());
      const auto by = static_cast<std::uint64_t>(step.as<T>());
      generate<T>(out, [&](std::int64_t i) {
        return static_cast<T>(first + static_cast<std::uint64_t>(i) * by);
      });
    }
  });
}

void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
              bool endpoint) {
  const std::int64_t n = out.layout->size;
  const double parts = static_cast<double>(endpoint ? n - 1 : n);
  // Interpolated from the nearer end, so that both ends are exact and nothing overflows.
  const auto at = [&](double a, double b, std::int64_t i) {
    if (parts == 0) return a;
    const double t = static_cast<double>(i), span = b - a;
    const double step = std::isfinite(span) ? span / parts : b / parts - a / parts;
    return 2 * t <= parts ? a + t * step : b - (parts - t) * step;
  };
  dispatch(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      generate<T>(out,
                  [&](std::int64_t i) { return static_cast<T>(at(start.real(), stop.real(), i)); });
    } else if constexpr (!std::is_integral_v<T>) {
      using R = typename T::value_type;
      generate<T>(out, [&](std::int64_t i) {
        return T(static_cast<R>(at(start.real(), stop.real(), i)),
                 static_cast<R>(at(start.imag(), stop.imag(), i)));
      });
    }
  });
}

void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) {
  const Layout& shape = *out.layout;
  const int n = shape.ndim(), size = itemsize(out.dtype);
  if (shape.size == 0) return;
  const std::int64_t rows = shape.shape[n - 2], columns = shape.shape[n - 1];
  const std::int64_t matrices = shape.size / (rows * columns);
  const CopyKernel kernel = kernels().copy[item_class(size)];
  const std::int64_t in_column = in.layout->strides[n - 1] * size;
  const std::int64_t out_column = shape.strides[n - 1] * size;
  static constexpr char zeros[16] = {};
  const std::int64_t per_chunk = std::max<std::int64_t>(1, 16384 / columns);
  const std::int64_t all_rows = matrices * rows;
  parallel_for((all_rows + per_chunk - 1) / per_chunk, 2 * shape.size * size, [&](std::int64_t c) {
    for (std::int64_t j = c * per_chunk; j < std::min(all_rows, (c + 1) * per_chunk); ++j) {
      const std::int64_t r = j % rows;
      const char* p = in.data + r * in.layout->strides[n - 2] * size;
      char* q = out.data + r * shape.strides[n - 2] * size;
      for (std::int64_t rest = j / rows, d = n - 3; d >= 0; --d) {
        const int axis = static_cast<int>(d);
        const std::int64_t i = rest % shape.shape[axis];
        rest /= shape.shape[axis];
        p += i * in.layout->strides[axis] * size;
        q += i * shape.strides[axis] * size;
      }
      // The first column right of the diagonal's left side: kept part is [cut, columns) or [0,
      // cut).
      const std::int64_t reach = std::clamp<std::int64_t>(k, -rows, columns) + r + (upper ? 0 : 1);
      const std::int64_t cut = std::clamp<std::int64_t>(reach, 0, columns);
      const std::int64_t keep_from = upper ? cut : 0, keep = upper ? columns - cut : cut;
      const std::int64_t clear_from = upper ? 0 : cut, clear = columns - keep;
      kernel(p + keep_from * in_column, {0, in_column}, q + keep_from * out_column, {0, out_column},
             1, keep);
      kernel(zeros, {0, 0}, q + clear_from * out_column, {0, out_column}, 1, clear);
    }
  });
}

}  // namespace arrayx::cpu
