// Cross products of vectors of three: one pass over the operands, which as products and differences
// of their components would be nine.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "../operands.hpp"
#include "engine.hpp"
#include "parallel.hpp"

namespace arrayx::cpu {

namespace {

using i64 = std::int64_t;

// Bytes between components, and from vector to vector.
struct Steps {
  i64 component, vector;
};

template <class T>
void cross_row(const char* a, Steps a_step, const char* b, Steps b_step, char* out, Steps out_step,
               i64 n) {
  // Integers wrap as unsigned ones, and not as an int that small ones would become.
  constexpr bool small = std::is_integral_v<T> && sizeof(T) < sizeof(unsigned);
  using U =
      typename std::conditional_t<small, std::type_identity<unsigned>,
                                  std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                                     std::type_identity<T>>>::type;
  const auto read = [](const char* p, i64 step, U(&x)[3]) {
    T value[3];
    std::memcpy(&value[0], p, sizeof(T));
    std::memcpy(&value[1], p + step, sizeof(T));
    std::memcpy(&value[2], p + 2 * step, sizeof(T));
    std::copy_n(value, 3, x);
  };
  const auto write = [](char* p, U value) {
    const T z = static_cast<T>(value);
    std::memcpy(p, &z, sizeof z);
  };
  for (i64 i = 0; i < n; ++i, a += a_step.vector, b += b_step.vector, out += out_step.vector) {
    U x[3], y[3];
    read(a, a_step.component, x);
    read(b, b_step.component, y);
    write(out, x[1] * y[2] - x[2] * y[1]);
    write(out + out_step.component, x[2] * y[0] - x[0] * y[2]);
    write(out + 2 * out_step.component, x[0] * y[1] - x[1] * y[0]);
  }
}

}  // namespace

bool cross(const Operand& a, const Operand& b, const Operand& out) {
  if (is_complex(out.dtype) || compute_dtype(out.dtype) != out.dtype) return false;
  const int last = out.layout->ndim() - 1;
  const int size = itemsize(out.dtype);
  const Operand* operands[] = {&a, &b, &out};
  Dims shape = out.layout->shape, strides[3];
  shape.pop_back();
  const Dims* each[3];
  i64 component[3];
  for (int k = 0; k < 3; ++k) {
    strides[k] = operands[k]->layout->strides;
    component[k] = strides[k][last] * size;
    strides[k].pop_back();
    each[k] = &strides[k];
  }
  const Plan plan = make_plan(shape, each, 3);
  if (plan.kind == LoopKind::empty) return true;
  // Components in rows of their own are multiplied and subtracted in whole vectors.
  bool rows = plan.size.back() >= 64;
  for (int k = 0; k < 3; ++k) rows &= plan.stride[k].back() == 1;
  if (rows) return false;
  constexpr i64 per_chunk = 4096;
  const i64 count = plan.count(), row = plan.size.back();
  Steps steps[3];
  for (int k = 0; k < 3; ++k) steps[k] = {component[k], plan.stride[k].back() * size};
  dispatch(out.dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      parallel_for((count + per_chunk - 1) / per_chunk, count * 9 * size, [&](i64 chunk) {
        const i64 end = std::min(count, (chunk + 1) * per_chunk);
        for (i64 i = chunk * per_chunk; i < end;) {
          const i64 n = std::min(end - i, row - i % row);
          char* at[3];
          for (int k = 0; k < 3; ++k) {
            i64 rest = i, offset = plan.base[k];
            for (int d = plan.ndim() - 1; d >= 0; --d) {
              offset += rest % plan.size[d] * plan.stride[k][d];
              rest /= plan.size[d];
            }
            at[k] = operands[k]->data + offset * size;
          }
          cross_row<T>(at[0], steps[0], at[1], steps[1], at[2], steps[2], n);
          i += n;
        }
      });
    }
  });
  return true;
}

}  // namespace arrayx::cpu
