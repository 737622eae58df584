// The kernels of small real matrices, one set for each precision: as many matrices as a vector has
// lanes stand side by side, element (i, j) of all of them being the vector i * columns + j of a
// block. A call of LAPACK for a 4 × 4 matrix takes longer than the arithmetic for eight of them.
//
// And those of one matrix that the L2 cache holds, which LAPACK's reflections pass over in too many
// calls: row-major, its rows `stride` items apart, a multiple of `lanes`, and filled up with zeros.
// `room` has space for m + 2 * stride numbers, and each reflection is I - factor v transpose(v).
#pragma once

#include <cstdint>

namespace arrayx::cpu {

inline constexpr std::int64_t most_small_rows = 32;

// A triangle of a matrix: the upper one; the lower one with ones on its diagonal; or the upper one,
// turned into a lower one, by whose diagonal is divided as a product with its inverse: that of a
// Cholesky factor has one.
enum class Triangle { upper, unit_lower, turned_upper };

struct SmallMatrixKernels {
  int lanes;
  // Gaussian elimination with partial pivoting of n × n matrices, and of n × k ones beside them:
  // the upper triangle of a becomes U, and sign[lane] that of the permutation. Returns the lanes,
  // as bits, where a pivot is zero.
  std::uint64_t (*eliminate)(void* a, std::int64_t n, void* b, std::int64_t k, void* sign);
  // Then b becomes the x with U x = b.
  void (*back_substitute)(const void* a, std::int64_t n, void* b, std::int64_t k);
  // The lower triangle of a becomes its Cholesky factor; the upper one is left alone. Returns the
  // lanes that are not positive definite.
  std::uint64_t (*cholesky)(void* a, std::int64_t n);
  // The upper triangle of the m × n matrices a becomes R, what is below it is lost; q becomes the
  // first columns of Q. `factors` has room for min(m, n) vectors.
  void (*qr)(void* a, std::int64_t m, std::int64_t n, void* q, std::int64_t columns, void* factors);
  // The n × n symmetric matrices, of which the lower triangle is read, become Q T transpose(Q): the
  // diagonal of a that of the tridiagonal T, `beside` what stands beside it, and what is below the
  // diagonal, with `factors`, holds Q. Returns the lanes of which the numbers are not finite or so
  // large or small that squares are lost.
  std::uint64_t (*tridiagonalize)(void* a, std::int64_t n, void* factors, void* beside);
  // Then the n × n matrices z become Q z.
  void (*turn_back)(const void* a, std::int64_t n, const void* factors, void* z);
  // The n × n matrices, n at most most_small_rows, become triangular but for 2 × 2 blocks,
  // transpose(Q) a Q, and z becomes Q. Without z only the diagonal and those blocks are right.
  // Returns the lanes without an answer: for the same reasons, or where the steps do not end.
  std::uint64_t (*schur)(void* a, std::int64_t n, void* z);
  // The diagonal of the n × n symmetric matrices, of which the lower triangle is read, becomes
  // their eigenvalues; those of the m × n matrices, m >= n, their singular values go to `values`.
  // Neither is in order. Both return the lanes without an answer: where numbers are not finite or
  // so large or small that squares are lost, and where rotations do not end.
  std::uint64_t (*eigenvalues)(void* a, std::int64_t n);
  std::uint64_t (*singular_values)(void* a, std::int64_t m, std::int64_t n, void* values);

  // ---- one matrix

  // Whether the largest of so many numbers, whole vectors of them, is zero, or has a square that is
  // neither infinite nor lost. What follows wants such matrices.
  bool (*has_usual_size)(const void* a, std::int64_t items);
  // The upper triangle of the m × n matrix becomes R; column j below it holds the v of reflection j
  // behind its first number, which is 1.
  void (*triangularize)(void* a, std::int64_t m, std::int64_t n, std::int64_t stride, void* factors,
                        void* room);
  // The m × n matrix, m >= n, becomes Q B transpose(P), B having a diagonal and numbers beside it,
  // to the right. Q is held in the columns below the diagonal, P in the rows behind the next to it.
  void (*bidiagonalize)(void* a, std::int64_t m, std::int64_t n, std::int64_t stride,
                        void* diagonal, void* beside, void* left, void* right, void* room);
  // The symmetric matrix becomes Q T transpose(Q); Q is held in the rows as P is.
  void (*tridiagonalize_one)(void* a, std::int64_t n, std::int64_t stride, void* diagonal,
                             void* beside, void* factors, void* room);
  // z, of m rows, becomes Q z. Reflection j of `count` starts at row j + shift; the number for row
  // i of its v stands at vectors[i * step + j * next]. z may be known as the identity.
  void (*turn)(const void* vectors, std::int64_t step, std::int64_t next, std::int64_t count,
               std::int64_t shift, const void* factors, void* z, std::int64_t m,
               std::int64_t stride, bool identity, void* room);
  // The parts of larger ones (../reflections.hpp). x, of which the numbers from `start` to `end`
  // count and the others of their vectors are zeros, becomes the v of the reflection that turns it
  // to (beta, 0 …).
  void (*make_reflection)(void* x, std::int64_t start, std::int64_t end, void* factor, void* beta);
  // sums += weights[0] row 0 + weights[1] row 1 + …; products[i] = row i times v. Of each row
  // `count` numbers, whole vectors.
  void (*add_rows)(const void* z, std::int64_t rows, std::int64_t stride, const void* weights,
                   std::int64_t count, void* sums);
  void (*row_products)(const void* z, std::int64_t rows, std::int64_t stride, const void* v,
                       std::int64_t count, void* products);
  // Of the symmetric count × count matrix z, whose order is filled up to vectors, the rows from
  // `first` to `last`: products[i] = row i times v without what is far below the diagonal, and what
  // the mirror images of the rest bring to other products is added to sums.
  void (*symmetric_products)(const void* z, std::int64_t first, std::int64_t last,
                             std::int64_t stride, const void* v, std::int64_t count, void* products,
                             void* sums);
  // Gaussian elimination with partial pivoting of so many columns of a, from `first` on, a multiple
  // of `lanes`. They hold L, without its diagonal of ones, and U afterwards; whole rows are
  // exchanged, j and pivots[j] in turn.
  void (*eliminate_columns)(void* a, std::int64_t rows, std::int64_t stride, std::int64_t first,
                            std::int64_t columns, std::int64_t* pivots);
  // The upper triangle of the symmetric n × n matrix, which alone counts, becomes the U
  // of transpose(U) U; what is below it is lost. False where the matrix is not positive definite.
  bool (*cholesky_one)(void* a, std::int64_t n, std::int64_t stride);
  // b, of whole vectors, becomes the x of a x = b, where a is a triangle of n × n numbers.
  // substitute_one has one column, contiguous, and an upper triangle or a unit lower one.
  void (*substitute)(const void* a, std::int64_t a_stride, std::int64_t n, Triangle triangle,
                     void* b, std::int64_t b_stride, std::int64_t columns);
  void (*substitute_one)(const void* a, std::int64_t stride, std::int64_t n, bool upper, void* x);
};

}  // namespace arrayx::cpu
