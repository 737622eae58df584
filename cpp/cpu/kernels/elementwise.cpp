// Kernels of the operations whose arithmetic is a few instructions, for every dtype.
#include "elementwise_loops.hpp"

namespace arrayx::cpu::ARRAYX_ISA {

void fill_elementwise(KernelTable& table) {
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 1, any)
  ARRAYX_OPS_UNARY_SIMPLE(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 2, any)
  ARRAYX_OPS_BINARY_SIMPLE(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepts, result) ARRAYX_FILL(name, F, accepts, 3, any)
  ARRAYX_OPS_TERNARY(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cpu::ARRAYX_ISA
