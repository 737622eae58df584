// What operations cost beyond moving their operands, from which engines judge when threads pay.
#pragma once

#include "table.hpp"

namespace arrayx {

// Tenths of a nanosecond for an element of float32 on one core with AVX-512, as
// `python -m benchmarks cpu elementwise --sizes 16Ki --threads 1 -k float32` shows them; 0 where
// moving the operands takes longer. A float64 takes about 2.5 times as long, a complex number of
// the same width 12 times.
constexpr int arithmetic_cost(Op op) {
  switch (op) {
    case Op::divide:
    case Op::reciprocal:
    case Op::sqrt:
      return 1;
    case Op::exp:
    case Op::floor_divide:
    case Op::log:
    case Op::log10:
    case Op::log2:
    case Op::remainder:
      return 2;
    case Op::cosh:
    case Op::expm1:
      return 3;
    case Op::acos:
    case Op::asin:
    case Op::atan:
    case Op::log1p:
    case Op::sinh:
    case Op::tanh:
      return 4;
    case Op::atanh:
    case Op::cos:
    case Op::hypot:
    case Op::sin:
      return 5;
    case Op::acosh:
    case Op::asinh:
    case Op::atan2:
    case Op::tan:
      return 6;
    case Op::pow:
      return 7;
    case Op::logaddexp:
      return 9;
    default:
      return 0;
  }
}

}  // namespace arrayx
