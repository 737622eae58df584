// Elementwise operations: one plan, and one of the operation's kernels.
#include <cstring>

#include "loop.hpp"

namespace arrayx::cuda {

namespace {

DType input_dtype(Op op, int k, DType compute) {
  return op == Op::where && k == 0 ? DType::bool_ : compute;
}

const ElementwiseKernels& kernels_of(Op op, DType compute) {
  const ElementwiseKernels& k =
      kernels().elementwise[static_cast<int>(op)][static_cast<int>(compute)];
  if (!k.strided) raise(ErrorKind::not_implemented, info(op).name, " has no kernel for ", compute);
  return k;
}

// A copy of an operand that lies as the output does.
Array copied(const Operand& in, DType dtype, const Operand& out) {
  Array a = scratch_in_order(dtype, *out.layout);
  copy(in, a);
  return a;
}

}  // namespace

void elementwise(Op op, DType compute, std::span<const Operand> inputs, const Operand& out) {
  if (out.layout->size == 0) return;
  // a > b is b < a.
  if (op == Op::greater || op == Op::greater_equal) {
    const Operand reversed[] = {inputs[1], inputs[0]};
    return elementwise(op == Op::greater ? Op::less : Op::less_equal, compute, reversed, out);
  }
  // Integers are finite.
  if (!is_floating(compute) && (op == Op::isfinite || op == Op::isinf || op == Op::isnan)) {
    return copy(Element::of(op == Op::isfinite), out);
  }
  const ElementwiseKernels& k = kernels_of(op, compute);
  const DType result = result_dtype(op, compute);
  if (!has_aligned_elements(out) || (out.dtype != result && !is_given(result, out.dtype))) {
    const Array whole = scratch_array(result, out.layout->shape);
    elementwise(op, compute, inputs, whole);
    return copy(whole, out);
  }
  const int count = static_cast<int>(inputs.size());
  Operand operands[plan_operands];
  const Operand* all[plan_operands];
  LoopOperand loop[plan_operands];
  Element values[max_operands - 1];
  Array copies[max_operands - 1];
  for (int i = 0; i < count; ++i) {
    operands[i] = inputs[i];
    const Operand& in = operands[i];
    const DType wanted = input_dtype(op, i, compute);
    loop[i] = {nullptr, in.dtype, wanted, in.host_scalar};
    if (in.host_scalar) {
      Element e;
      e.dtype = in.dtype;
      std::memcpy(e.bytes, in.data, itemsize(in.dtype));
      values[i] = converted_element(e, wanted);
      loop[i].memory = wanted;
    } else if (!has_aligned_elements(in) || (in.dtype != wanted && !is_taken(in.dtype, wanted))) {
      copies[i] = copied(in, wanted, out);
      operands[i] = copies[i];
      loop[i].memory = wanted;
    }
    all[i] = &operands[i];
  }
  operands[count] = out;
  all[count] = &operands[count];
  loop[count] = {nullptr, out.dtype, result, false};
  Plan plan = plan_of(all, count + 1);
  if (plan.kind == LoopKind::transposed) {
    // Tiles do not convert.
    bool changed = false;
    for (int i = 0; i < count; ++i) {
      if (loop[i].is_value || loop[i].memory == loop[i].kernel) continue;
      copies[i] = copied(operands[i], loop[i].kernel, out);
      operands[i] = copies[i];
      loop[i].memory = loop[i].kernel;
      changed = true;
    }
    if (changed) plan = plan_of(all, count + 1);
  }
  for (int i = 0; i <= count; ++i) {
    loop[i].data = loop[i].is_value ? reinterpret_cast<char*>(values[i].bytes) : all[i]->data;
  }
  run_loop(k, plan, loop, info(op).name);
}

}  // namespace arrayx::cuda
