// The vocabulary: every elementwise operation and every reduction, once. The dispatch tables of the
// engines, the bindings and the tests are generated from these lists.
//   row(name, FunctionObject, accepted kinds, rule of the result's dtype)
#pragma once

// Kinds of dtypes an operation accepts; they combine with |.
// clang-format off: one row to a line.
#define ARRAYX_OPS_UNARY_SIMPLE(row) \
  row(abs, Abs, numeric, real) \
  row(bitwise_invert, BitwiseInvert, boolean | integer, same) \
  row(ceil, Ceil, real_numeric, same) \
  row(conj, Conj, numeric, same) \
  row(floor, Floor, real_numeric, same) \
  row(isfinite, IsFinite, numeric, boolean) \
  row(isinf, IsInf, numeric, boolean) \
  row(isnan, IsNan, numeric, boolean) \
  row(logical_not, LogicalNot, boolean, same) \
  row(negative, Negative, numeric, same) \
  row(reciprocal, Reciprocal, floating, same) \
  row(round, Round, numeric, same) \
  row(sign, Sign, numeric, same) \
  row(signbit, SignBit, real, boolean) \
  row(sqrt, Sqrt, floating, same) \
  row(square, Square, numeric, same) \
  row(trunc, Trunc, real_numeric, same)

#define ARRAYX_OPS_UNARY_MATH(row) \
  row(acos, Acos, floating, same) \
  row(acosh, Acosh, floating, same) \
  row(asin, Asin, floating, same) \
  row(asinh, Asinh, floating, same) \
  row(atan, Atan, floating, same) \
  row(atanh, Atanh, floating, same) \
  row(cos, Cos, floating, same) \
  row(cosh, Cosh, floating, same) \
  row(exp, Exp, floating, same) \
  row(expm1, Expm1, floating, same) \
  row(log, Log, floating, same) \
  row(log10, Log10, floating, same) \
  row(log1p, Log1p, floating, same) \
  row(log2, Log2, floating, same) \
  row(sin, Sin, floating, same) \
  row(sinh, Sinh, floating, same) \
  row(tan, Tan, floating, same) \
  row(tanh, Tanh, floating, same)

#define ARRAYX_OPS_BINARY_SIMPLE(row) \
  row(add, Add, numeric, same) \
  row(bitwise_and, BitwiseAnd, boolean | integer, same) \
  row(bitwise_left_shift, BitwiseLeftShift, integer, same) \
  row(bitwise_or, BitwiseOr, boolean | integer, same) \
  row(bitwise_right_shift, BitwiseRightShift, integer, same) \
  row(bitwise_xor, BitwiseXor, boolean | integer, same) \
  row(copysign, CopySign, real, same) \
  row(divide, Divide, floating, same) \
  row(equal, Equal, any, boolean) \
  row(floor_divide, FloorDivide, real_numeric, same) \
  row(greater, Greater, real_numeric, boolean) \
  row(greater_equal, GreaterEqual, real_numeric, boolean) \
  row(less, Less, real_numeric, boolean) \
  row(less_equal, LessEqual, real_numeric, boolean) \
  row(logical_and, BitwiseAnd, boolean, same) \
  row(logical_or, BitwiseOr, boolean, same) \
  row(logical_xor, BitwiseXor, boolean, same) \
  row(maximum, Maximum, real_numeric, same) \
  row(minimum, Minimum, real_numeric, same) \
  row(multiply, Multiply, numeric, same) \
  row(nextafter, NextAfter, real, same) \
  row(not_equal, NotEqual, any, boolean) \
  row(remainder, Remainder, real_numeric, same) \
  row(subtract, Subtract, numeric, same)

#define ARRAYX_OPS_BINARY_MATH(row) \
  row(atan2, Atan2, real, same) \
  row(hypot, Hypot, real, same) \
  row(logaddexp, LogAddExp, real, same) \
  row(pow, Pow, numeric, same)

// where(condition, x1, x2) and clip(x, min, max). The condition of `where` is bool whatever the rest.
#define ARRAYX_OPS_TERNARY(row) \
  row(clip, Clip, real_numeric, same) \
  row(where, Where, any, same)

#define ARRAYX_OPS_UNARY(row) ARRAYX_OPS_UNARY_SIMPLE(row) ARRAYX_OPS_UNARY_MATH(row)
#define ARRAYX_OPS_BINARY(row) ARRAYX_OPS_BINARY_SIMPLE(row) ARRAYX_OPS_BINARY_MATH(row)
#define ARRAYX_OPS_ELEMENTWISE(row) \
  ARRAYX_OPS_UNARY(row) ARRAYX_OPS_BINARY(row) ARRAYX_OPS_TERNARY(row)

//   row(name, FunctionObject, accepted kinds, dtype of the accumulator)
// accumulator: same — the input's; wide — int64 for signed, uint64 for unsigned integers, else the
// input's; boolean — bool; index — int64.
#define ARRAYX_REDUCTIONS(row) \
  row(sum, Sum, numeric, wide) \
  row(prod, Prod, numeric, wide) \
  row(max, Max, boolean | real_numeric, same) \
  row(min, Min, boolean | real_numeric, same) \
  row(any, Any, any, boolean) \
  row(all, All, any, boolean) \
  row(count_nonzero, CountNonzero, any, index) \
  row(sum_magnitudes, SumMagnitudes, real, same) \
  row(sum_squared_deviations, SumSquaredDeviations, floating, real)

// clang-format on

namespace arrayx {

enum class Op : unsigned char {
#define ARRAYX_ROW(name, F, kinds, result) name,
  ARRAYX_OPS_ELEMENTWISE(ARRAYX_ROW)
#undef ARRAYX_ROW
};
#define ARRAYX_ROW(name, F, kinds, result) +1
inline constexpr int unary_op_count = 0 ARRAYX_OPS_UNARY(ARRAYX_ROW);
inline constexpr int binary_op_count = 0 ARRAYX_OPS_BINARY(ARRAYX_ROW);
inline constexpr int op_count = 0 ARRAYX_OPS_ELEMENTWISE(ARRAYX_ROW);
#undef ARRAYX_ROW

enum class Reduction : unsigned char {
#define ARRAYX_ROW(name, F, kinds, accumulator) name,
  ARRAYX_REDUCTIONS(ARRAYX_ROW)
#undef ARRAYX_ROW
};
#define ARRAYX_ROW(name, F, kinds, accumulator) +1
inline constexpr int reduction_count = 0 ARRAYX_REDUCTIONS(ARRAYX_ROW);
#undef ARRAYX_ROW

// Sets of dtype kinds.
namespace kinds {
inline constexpr unsigned boolean = 1, integer = 2, real = 4, complex = 8;
inline constexpr unsigned real_numeric = integer | real;
inline constexpr unsigned floating = real | complex;
inline constexpr unsigned numeric = integer | floating;
inline constexpr unsigned any = boolean | numeric;
}  // namespace kinds

enum class ResultRule : unsigned char { same, real, boolean, wide, index };

struct OpInfo {
  const char* name;
  unsigned char arity;
  unsigned char accepts;  // kinds
  ResultRule result;
};

inline constexpr OpInfo op_table[op_count] = {
#define ARRAYX_ROW(name, F, accepted, result) \
  {#name, 1,                                  \
   [] {                                       \
     using namespace kinds;                   \
     return accepted;                         \
   }(),                                       \
   ResultRule::result},
    ARRAYX_OPS_UNARY(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepted, result) \
  {#name, 2,                                  \
   [] {                                       \
     using namespace kinds;                   \
     return accepted;                         \
   }(),                                       \
   ResultRule::result},
        ARRAYX_OPS_BINARY(ARRAYX_ROW)
#undef ARRAYX_ROW
#define ARRAYX_ROW(name, F, accepted, result) \
  {#name, 3,                                  \
   [] {                                       \
     using namespace kinds;                   \
     return accepted;                         \
   }(),                                       \
   ResultRule::result},
            ARRAYX_OPS_TERNARY(ARRAYX_ROW)
#undef ARRAYX_ROW
};

inline constexpr OpInfo reduction_table[reduction_count] = {
#define ARRAYX_ROW(name, F, accepted, accumulator) \
  {#name, 1,                                       \
   [] {                                            \
     using namespace kinds;                        \
     return accepted;                              \
   }(),                                            \
   ResultRule::accumulator},
    ARRAYX_REDUCTIONS(ARRAYX_ROW)
#undef ARRAYX_ROW
};

constexpr const OpInfo& info(Op op) {
  return op_table[static_cast<int>(op)];
}
constexpr const OpInfo& info(Reduction r) {
  return reduction_table[static_cast<int>(r)];
}

}  // namespace arrayx
