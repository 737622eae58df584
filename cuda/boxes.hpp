// Copies of small items between operands that are fastest in different dimensions, where those are
// short.
#pragma once

#include "../cpp/array/plan.hpp"
#include "../cpp/backend.hpp"

namespace arrayx::cuda {

// False where boxes do not pay, or cannot be made of such operands.
bool run_boxes(const Plan& plan, const Operand& in, const Operand& out);

}  // namespace arrayx::cuda
