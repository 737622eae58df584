// The linalg extension of the standard, but for what the main namespace has too
// (linear_algebra.hpp). Matrices are the last two dimensions of an array of at least two; the
// others make a stack of them. ErrorKind::linalg says which matrix of the stack has no result.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "common.hpp"
#include "statistical.hpp"

namespace arrayx::linalg {

// The order of a matrix norm: a number, or one of the named norms.
struct MatrixNorm {
  enum class Kind { frobenius, nuclear, number };
  Kind kind = Kind::frobenius;
  double order = 2;
};

struct SignAndLog {
  Array sign, log_abs;
};
struct QR {
  Array q, r;
};
struct Eigen {
  Array values, vectors;
};
struct SVD {
  Array u, s, vh;
};

// ---- solutions ----------------------------------------------------------------------------------

// x2 is one vector when it has one dimension, else matrices whose stack broadcasts with that of x1.
Array solve(const Array& x1, const Array& x2);
Array inv(const Array& x);
Array det(const Array& x);
SignAndLog slogdet(const Array& x);
// x to the n-th power, that of the inverse for negative n.
Array matrix_power(const Array& x, std::int64_t n);
// Singular values up to rtol times the largest count as zero; max(M, N) * eps without rtol.
Array matrix_rank(const Array& x, const std::optional<Value>& rtol);
Array pinv(const Array& x, const std::optional<Value>& rtol);

// ---- factorisations -----------------------------------------------------------------------------

Array cholesky(const Array& x, bool upper);
QR qr(const Array& x, bool complete);
Eigen eigh(const Array& x);
Array eigvalsh(const Array& x);
Eigen eig(const Array& x);
Array eigvals(const Array& x);
SVD svd(const Array& x, bool full_matrices);
Array svdvals(const Array& x);

// ---- norms, products, diagonals -----------------------------------------------------------------

Array matrix_norm(const Array& x, bool keepdims, MatrixNorm norm);
Array vector_norm(const Array& x, const OptionalAxes& axes, bool keepdims, double order);
Array cross(const Array& x1, const Array& x2, std::int64_t axis);
Array outer(const Array& x1, const Array& x2);
// A view.
Array diagonal(const Array& x, std::int64_t offset);
Array trace(const Array& x, std::int64_t offset, OptionalDType dtype);

}  // namespace arrayx::linalg
