// Factorisations of small matrices by kernels of our own: a warp or a block has a matrix in its
// shared memory from the first step to the last, which takes one launch where cuSOLVER takes tens.
#pragma once

#include "engine.hpp"
#include "loops.cuh"

namespace arrayx::cuda {

// A stack of matrices with any strides, in elements.
struct Matrices {
  const char* data = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;
};

// Where kernels note the first of a stack's matrices that has no result: its position on the
// device, which is lowered to it, and in memory of the host's that there is one.
struct FirstFailure {
  unsigned long long* position = nullptr;
  std::uint32_t* met = nullptr;
};

// What the kernels are given. Outputs are row-major stacks; null where they are not wanted.
struct SmallMatrices {
  Matrices a, b;
  char* out[3] = {};
  std::int64_t count = 0;
  int rows = 0, columns = 0;
  int sides = 0;            // solve: columns of b
  int left = 0, right = 0;  // columns of q or u; rows of r or vh
  bool upper = false;       // cholesky
  int shared_bytes = 0;     // of one matrix
  FirstFailure failed;
};

inline constexpr int most_small_side = 128;  // no kernel takes longer rows or columns

// Each returns false where the matrices are too large for this device. A solve without b is the
// inverse; the outputs of a determinant are det, sign and log_abs.
bool solve_small(DType dtype, SmallMatrices job);
bool determinant_small(DType dtype, SmallMatrices job);
bool cholesky_small(DType dtype, SmallMatrices job);
bool qr_small(DType dtype, SmallMatrices job);
bool eigh_small(DType dtype, SmallMatrices job);  // values, vectors
bool svd_small(DType dtype, SmallMatrices job);   // u, s, vh
// The values alone, by reduction and bisection (small_values.cu); false also where Jacobi's
// rotations are faster.
bool values_small(DType dtype, const SmallMatrices& job, bool of_svd);

// Determinants from the diagonals of factors LU, side by side without gaps, and their pivots, which
// count from one.
void determinant_of_factors(DType dtype, const char* factors, const std::int64_t* pivots,
                            std::int64_t n, const SmallMatrices& job);

}  // namespace arrayx::cuda
