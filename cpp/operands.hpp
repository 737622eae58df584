// What both engines make of operands before their loops: plans, strides over a loop's dimensions,
// and the accumulators that kernels have.
#pragma once

#include "array/plan.hpp"
#include "backend.hpp"

namespace arrayx {

// The plan of operands that have one shape, or are host scalars.
inline Plan plan_of(const Operand* const* operands, int count) {
  const Dims* strides[plan_operands] = {};
  const Dims* shape = nullptr;
  for (int k = 0; k < count; ++k) {
    strides[k] = operands[k]->host_scalar ? nullptr : &operands[k]->layout->strides;
    if (!operands[k]->host_scalar) shape = &operands[k]->layout->shape;
  }
  return make_plan(*shape, strides, count);
}

// The strides of an operand that has only the leading (trailing) dimensions of a loop of `ndim`.
inline Dims leading(const Operand& a, int ndim) {
  Dims strides = a.layout->strides;
  strides.resize(ndim);
  return strides;
}
inline Dims trailing(const Operand& a, int ndim) {
  Dims strides(ndim);
  const int shift = ndim - a.layout->ndim();
  for (int d = 0; d < a.layout->ndim(); ++d) strides[shift + d] = a.layout->strides[d];
  return strides;
}

// The accumulator of the kernels: integer sums and products run in 64 bits and are cut at the end,
// float16 is held as float32.
inline DType kernel_accumulator(Reduction op, DType accumulator) {
  switch (op) {
    case Reduction::any:
    case Reduction::all:
      return DType::bool_;
    case Reduction::count_nonzero:
      return DType::int64;
    case Reduction::sum:
    case Reduction::prod:
      if (kind(accumulator) == Kind::unsigned_) return DType::uint64;
      if (kind(accumulator) <= Kind::signed_) return DType::int64;
      return compute_dtype(accumulator);
    default:
      return compute_dtype(accumulator);
  }
}

}  // namespace arrayx
