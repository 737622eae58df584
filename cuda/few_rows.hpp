// Products of a few vectors by a large matrix, which is read once.
#pragma once

#include "engine.hpp"

namespace arrayx::cuda {

// out[f, i] = the sum over l < k of vectors[f, l] * matrix[l, i], of `count` vectors. Strides in
// elements.
struct FewRows {
  const char *vectors, *matrix;
  char* out;
  std::int64_t count, k, n;
  std::int64_t vector_step, vector_k, row, column, out_step, out_column;
};
// False where it is not faster than other products, or has no kernel.
bool multiply_few_rows(DType dtype, const FewRows& p);

}  // namespace arrayx::cuda
