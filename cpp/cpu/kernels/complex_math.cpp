// Kernels of the transcendental operations on complex dtypes.
#include "elementwise_loops.hpp"

namespace arrayx::cpu::ARRAYX_ISA {

void fill_complex_math(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 1, complex)
  ARRAYX_OPS_UNARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 2, complex)
  ARRAYX_OPS_BINARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
  table.short_power[static_cast<int>(DType::complex64)] = &short_power<Complex<f32>>;
  table.short_power[static_cast<int>(DType::complex128)] = &short_power<Complex<f64>>;
}

}  // namespace arrayx::cpu::ARRAYX_ISA
