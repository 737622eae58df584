// Elementwise operations: the 67 functions of the standard, the operators and their in-place forms.
#pragma once

#include "common.hpp"

namespace arrayx {

// out = op(args…) for any operation of the table; promotion, broadcasting, allocation included.
// At least one argument is an array. TypeError for dtypes the operation does not take.
Array elementwise(Op op, std::span<const Value> args);
// The path that operators try first: small contiguous host arrays of one dtype and shape, without
// any of the general machinery. False, and nothing done, when the operands are not of that kind.
bool elementwise_fast(Op op, const Array* const* inputs, int count, Array& out);
// The same for an array and a Python scalar; the scalar is the first operand if scalar_first.
bool elementwise_fast_scalar(Op op, const Array& x, const Scalar& scalar, bool scalar_first,
                             Array& out);
// x[...] = op(x, other) or op(x, scalar) by that path.
bool elementwise_fast_in_place(Op op, const Array& x, const Array* other, const Scalar* scalar);
// x[...] = op(x, other); ValueError when the result's shape is not x's, TypeError when its dtype
// is not.
void elementwise_in_place(Op op, const Array& x, const Value& other);

// clip with either bound absent.
Array clip(const Array& x, const std::optional<Value>& min, const std::optional<Value>& max);
// Views: the real and imaginary parts. real(x) of a real x is x; imag of a real x is a TypeError.
Array real(const Array& x);
Array imag(const Array& x);
Array positive(const Array& x);

}  // namespace arrayx
