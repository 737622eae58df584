// Kernels of the transcendental operations on real dtypes (and integer powers).
#include "elementwise_loops.hpp"

namespace arrayx::cpu::ARRAYX_ISA {

void fill_real_math(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 1, real_numeric)
  ARRAYX_OPS_UNARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 2, real_numeric)
  ARRAYX_OPS_BINARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
  table.short_power[static_cast<int>(DType::float32)] = &short_power<f32>;
  table.short_power[static_cast<int>(DType::float64)] = &short_power<f64>;
}

}  // namespace arrayx::cpu::ARRAYX_ISA
