// Elementwise operations: one plan, one kernel, the blocks around it.
#include "../ops/cost.hpp"
#include "block_loop.hpp"

namespace arrayx::cpu {

namespace {

DType input_dtype(Op op, int k, DType compute) {
  return op == Op::where && k == 0 ? DType::bool_ : compute;
}

// Up to this many elements the plan and its blocks would cost more than the arithmetic …
constexpr std::int64_t few_elements = 128;

// … so the operands that do not lie as the result does are repeated, packed and cast whole.
void elementwise_few(ElementwiseKernel kernel, Op op, DType compute,
                     std::span<const Operand> inputs, const Operand& out) {
  const std::int64_t n = out.layout->size;
  const Dims& shape = out.layout->shape;
  alignas(64) char packed[max_operands - 1][few_elements * 16];
  alignas(64) char cast[max_operands - 1][few_elements * 16];
  const void* data[max_operands - 1];
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Operand& in = inputs[k];
    const int size = itemsize(in.dtype);
    data[k] = in.data;
    if (in.host_scalar) {
      kernels().copy[item_class(size)](in.data, {0, 0}, packed[k], {0, size}, 1, n);
      data[k] = packed[k];
    } else if (!in.layout->is_contiguous()) {
      Dims from = in.layout->strides, to(shape.size());
      std::int64_t step = size;
      for (int d = shape.size() - 1; d >= 0; --d) {
        from[d] *= size;
        to[d] = step;
        step *= shape[d];
      }
      copy_box(in.data, from, packed[k], to, shape, size);
      data[k] = packed[k];
    }
    const DType wanted = input_dtype(op, static_cast<int>(k), compute);
    if (in.dtype != wanted) {
      kernels().cast[static_cast<int>(in.dtype)][static_cast<int>(wanted)](&data[k], cast[k], n);
      data[k] = cast[k];
    }
  }
  kernel(data, out.data, n);
}

// The arithmetic of one element in bytes that a core moves within its caches meanwhile, 60 to a
// nanosecond.
std::int64_t arithmetic(Op op, DType compute) {
  const DType part = real_dtype(compute);
  const int wide = itemsize(part) == 8 ? 15 : 6;
  if (op == Op::abs && is_complex(compute)) return arithmetic_cost(Op::hypot) * wide;
  return std::int64_t{arithmetic_cost(op)} * wide * (is_complex(compute) ? 12 : 1);
}

}  // namespace

void elementwise(Op op, DType compute, std::span<const Operand> inputs, const Operand& out) {
  ElementwiseKernel kernel = kernels().elementwise[static_cast<int>(op)][static_cast<int>(compute)];
  const DType result = result_dtype(op, compute);
  if (op == Op::pow && is_floating(compute) && inputs[1].host_scalar) {
    const void* exponent = inputs[1].data;
    alignas(16) char cast[16];
    kernels().cast[static_cast<int>(inputs[1].dtype)][static_cast<int>(compute)](&exponent, cast,
                                                                                 1);
    if (const ShortPower power = kernels().short_power[static_cast<int>(compute)](cast);
        power.kernel) {
      kernel = power.kernel;
      op = power.like;
      inputs = inputs.first(1);
    }
  }
  if (out.layout->size <= few_elements && out.dtype == result && out.layout->is_contiguous()) {
    return elementwise_few(kernel, op, compute, inputs, out);
  }
  const int count = static_cast<int>(inputs.size());
  const Operand* all[plan_operands];
  for (int k = 0; k < count; ++k) all[k] = &inputs[k];
  all[count] = &out;
  Plan plan = plan_of(all, count + 1);
  turn_tiles(plan);
  turn_rows(plan, 256 / itemsize(result));
  LoopOperand operands[plan_operands];
  for (int k = 0; k <= count; ++k) {
    operands[k].memory = all[k]->dtype;
    operands[k].kernel = k == count ? result : input_dtype(op, k, compute);
    operands[k].data = all[k]->data + plan.base[k] * itemsize(all[k]->dtype);
  }
  run_blocks(plan, operands, kernel, arithmetic(op, compute), op);
}

void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                            std::int64_t n) {
  kernels().elementwise[static_cast<int>(op)][static_cast<int>(compute)](inputs, out, n);
}

}  // namespace arrayx::cpu
