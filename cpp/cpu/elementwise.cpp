// Elementwise operations: one plan, one kernel, the blocks around it.
#include "block_loop.hpp"

namespace arrayx::cpu {

void elementwise(Op op, DType compute, std::span<const Operand> inputs, const Operand& out) {
  const ElementwiseKernel kernel =
      kernels().elementwise[static_cast<int>(op)][static_cast<int>(compute)];
  const OpInfo& row = info(op);
  const DType result = row.result == ResultRule::boolean ? DType::bool_
                       : row.result == ResultRule::real  ? real_dtype(compute)
                                                         : compute;
  const int count = static_cast<int>(inputs.size());
  const Operand* all[plan_operands];
  for (int k = 0; k < count; ++k) all[k] = &inputs[k];
  all[count] = &out;
  const Plan plan = plan_of(all, count + 1);
  LoopOperand operands[plan_operands];
  for (int k = 0; k <= count; ++k) {
    operands[k].memory = all[k]->dtype;
    operands[k].kernel = k == count ? result : op == Op::where && k == 0 ? DType::bool_ : compute;
    operands[k].data = all[k]->data + plan.base[k] * itemsize(all[k]->dtype);
  }
  run_blocks(plan, operands, kernel);
}

void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                            std::int64_t n) {
  kernels().elementwise[static_cast<int>(op)][static_cast<int>(compute)](inputs, out, n);
}

}  // namespace arrayx::cpu
