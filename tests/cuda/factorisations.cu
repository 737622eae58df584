// Factorisations against what they promise: products of the factors, residuals, orthogonality, all
// formed on the host in complex doubles; and the positions of matrices that have no result.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

using Number = std::complex<double>;

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Number> data;

  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), data(r * c) {}
  Number& operator()(std::int64_t i, std::int64_t j) { return data[i * columns + j]; }
  Number operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
  double largest() const {
    double most = 0;
    for (Number x : data) most = std::isnan(std::abs(x)) ? INFINITY : std::max(most, std::abs(x));
    return most;
  }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix out(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const double re = a(i, k).real(), im = a(i, k).imag();
      for (std::int64_t j = 0; j < b.columns; ++j) {
        const Number x = b(k, j);
        out(i, j) += Number(re * x.real() - im * x.imag(), re * x.imag() + im * x.real());
      }
    }
  }
  return out;
}
Matrix operator-(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.data.size(); ++i) a.data[i] -= b.data[i];
  return a;
}
Matrix adjoint(const Matrix& a) {
  Matrix out(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) out(j, i) = std::conj(a(i, j));
  }
  return out;
}
Matrix identity(std::int64_t n) {
  Matrix out(n, n);
  for (std::int64_t i = 0; i < n; ++i) out(i, i) = 1;
  return out;
}

// The logarithm of the determinant and its sign, by elimination with pivots.
std::pair<double, Number> log_determinant(Matrix a) {
  double log = 0;
  Number sign = 1;
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::int64_t p = i;
    for (std::int64_t r = i; r < a.rows; ++r) {
      if (std::abs(a(r, i)) > std::abs(a(p, i))) p = r;
    }
    if (p != i) {
      sign = -sign;
      for (std::int64_t j = 0; j < a.rows; ++j) std::swap(a(i, j), a(p, j));
    }
    log += std::log(std::abs(a(i, i)));
    sign *= a(i, i) / std::abs(a(i, i));
    for (std::int64_t r = i + 1; r < a.rows; ++r) {
      const Number f = a(r, i) / a(i, i);
      for (std::int64_t j = i; j < a.rows; ++j) a(r, j) -= f * a(i, j);
    }
  }
  return {log, sign};
}

double epsilon(DType d) {
  return real_dtype(d) == DType::float32 ? std::numeric_limits<float>::epsilon()
                                         : std::numeric_limits<double>::epsilon();
}

void put(DType dtype, char* to, Number x) {
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T value = static_cast<T>(x.real());
      std::memcpy(to, &value, sizeof value);
    } else if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, f16>) {
      const T value(x);
      std::memcpy(to, &value, sizeof value);
    }
  });
}
Number get(DType dtype, const char* from) {
  Number x = 0;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T value;
      std::memcpy(&value, from, sizeof value);
      x = static_cast<double>(value);
    } else if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, f16>) {
      T value;
      std::memcpy(&value, from, sizeof value);
      x = Number(value);
    }
  });
  return x;
}

// A stack of matrices on the device, as any view of it; `values` are its numbers, rounded.
struct Input {
  View view;
  std::vector<Matrix> values;

  Input(DType dtype, const std::vector<Matrix>& stack)
      : view(random_view(dtype,
                         {static_cast<std::int64_t>(stack.size()), stack[0].rows, stack[0].columns},
                         {false, chance(0.3)}, Values::small)) {
    for (std::size_t i = 0; i < stack.size(); ++i) {
      Matrix& m = values.emplace_back(stack[i].rows, stack[i].columns);
      for (std::int64_t r = 0; r < m.rows; ++r) {
        for (std::int64_t c = 0; c < m.columns; ++c) {
          char* const place = at(static_cast<std::int64_t>(i), r, c);
          put(dtype, place, stack[i](r, c));
          m(r, c) = get(dtype, place);
        }
      }
    }
    if (view.host.empty()) return;
    cuda::check(
        cudaMemcpy(view.device->data, view.host.data(), view.host.size(), cudaMemcpyHostToDevice),
        "upload");
  }
  char* at(std::int64_t i, std::int64_t r, std::int64_t c) {
    const Dims& s = view.layout.strides;
    return view.host.data() +
           (view.layout.offset + i * s[0] + r * s[1] + c * s[2]) * itemsize(view.dtype);
  }
  Operand operand() const { return view.on_device(); }
};

// A contiguous result; of fewer than three dimensions, read as columns or single numbers.
struct Output {
  DType dtype;
  Layout layout;
  StorageRef memory;
  Operand here;

  Output(DType d, const Dims& shape)
      : dtype(d), layout(Layout::contiguous(shape)), memory(cuda::allocate(layout.size * 16 + 1)) {
    here.data = static_cast<char*>(memory->data);
    here.layout = &layout;
    here.dtype = dtype;
  }
  Output(const Output&) = delete;
  std::vector<Matrix> read() const {
    std::vector<char> bytes(layout.size * itemsize(dtype) + 1);
    cuda::check(cudaMemcpy(bytes.data(), here.data, bytes.size() - 1, cudaMemcpyDeviceToHost),
                "download");
    const int n = layout.ndim();
    const std::int64_t rows = n > 1 ? layout.shape[1] : 1, columns = n > 2 ? layout.shape[2] : 1;
    std::vector<Matrix> out;
    const char* from = bytes.data();
    for (std::int64_t i = 0; i < layout.shape[0]; ++i) {
      Matrix& m = out.emplace_back(rows, columns);
      for (Number& x : m.data) {
        x = get(dtype, from);
        from += itemsize(dtype);
      }
    }
    return out;
  }
};

std::vector<Matrix> random_stack(DType dtype, std::int64_t count, std::int64_t m, std::int64_t n) {
  std::normal_distribution<double> normal;
  std::vector<Matrix> out;
  for (std::int64_t i = 0; i < count; ++i) {
    Matrix& a = out.emplace_back(m, n);
    for (Number& x : a.data) {
      x = Number(normal(generator), is_complex(dtype) ? normal(generator) : 0);
    }
  }
  return out;
}

Matrix scaled_columns(Matrix a, const Matrix& factors) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) a(i, j) *= factors(j, 0);
  }
  return a;
}
Matrix part(const Matrix& a, std::int64_t rows, std::int64_t columns) {
  Matrix out(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) out(i, j) = a(i, j);
  }
  return out;
}

struct Case {
  DType dtype;
  std::int64_t count, m, n;

  double tolerance() const {
    return 40 * static_cast<double>(std::max({m, n, std::int64_t{2}})) * epsilon(dtype);
  }
  // … relative to `scale`.
  void expect_small(double size, double scale, const char* what) const {
    std::ostringstream text;
    text << what << " of " << count << " " << m << "x" << n << " " << dtype << ": " << size
         << " of " << scale << ", " << size / scale / epsilon(dtype) << " eps";
    expect(size <= tolerance() * scale, text.str());
  }
  void expect_orthonormal(const Matrix& q, const char* what) const {
    if (q.columns > 0) expect_small((adjoint(q) * q - identity(q.columns)).largest(), 1, what);
  }
  void expect_found(std::int64_t failed, std::int64_t expected, const char* what) const {
    std::ostringstream text;
    text << what << " of " << count << " " << m << "x" << n << " " << dtype << " fails at "
         << failed << ", not " << expected;
    expect(failed == expected, text.str());
  }
};

void check_solutions(const Case& c) {
  const Input a(c.dtype, random_stack(c.dtype, c.count, c.n, c.n));
  const std::int64_t k = random_integer(1, 5);
  const Input b(c.dtype, random_stack(c.dtype, c.count, c.n, k));
  const Output x(c.dtype, {c.count, c.n, k});
  c.expect_found(cuda::solve(a.operand(), b.operand(), x.here), -1, "solve");
  const Output inverse(c.dtype, {c.count, c.n, c.n});
  c.expect_found(cuda::inverse(a.operand(), inverse.here), -1, "inverse");
  const Output sign(c.dtype, {c.count}), log(real_dtype(c.dtype), {c.count});
  cuda::determinant(a.operand(), nullptr, &sign.here, &log.here);
  const auto solutions = x.read(), inverses = inverse.read(), signs = sign.read(),
             logs = log.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    const Matrix &m = a.values[i], &y = solutions[i], &z = inverses[i];
    const double n = static_cast<double>(c.n);
    c.expect_small((m * y - b.values[i]).largest(),
                   m.largest() * y.largest() * std::sqrt(n) + b.values[i].largest(), "solve");
    c.expect_small((m * z - identity(c.n)).largest(), m.largest() * z.largest() * n, "inverse");
    const auto [log_abs, unit] = log_determinant(m);
    const double condition = m.largest() * z.largest() * n;
    c.expect_small(std::abs(logs[i](0, 0) - log_abs), condition + std::fabs(log_abs), "logabsdet");
    c.expect_small(std::abs(signs[i](0, 0) - unit), condition, "sign");
  }
}

void check_cholesky(const Case& c, bool upper) {
  std::vector<Matrix> stack = random_stack(c.dtype, c.count, c.n, c.n);
  for (Matrix& a : stack) {
    a = a * adjoint(a);
    for (std::int64_t i = 0; i < c.n; ++i) a(i, i) += 1;
    for (std::int64_t i = 0; i < c.n; ++i) {  // the other triangle is not read
      for (std::int64_t j = 0; j < i; ++j) (upper ? a(i, j) : a(j, i)) = NAN;
    }
  }
  Input a(c.dtype, stack);
  const Output out(c.dtype, {c.count, c.n, c.n});
  c.expect_found(cuda::cholesky(a.operand(), out.here, upper), -1, "cholesky");
  const auto factors = out.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    Matrix& m = a.values[i];
    const Matrix& f = factors[i];
    double other = 0;
    for (std::int64_t r = 0; r < c.n; ++r) {
      for (std::int64_t s = 0; s < r; ++s) {
        (upper ? m(r, s) : m(s, r)) = std::conj(upper ? m(s, r) : m(r, s));
        other = std::max(other, std::abs(upper ? f(r, s) : f(s, r)));
      }
    }
    c.expect_small(other, 0, "the other triangle of cholesky");
    c.expect_small(((upper ? adjoint(f) * f : f * adjoint(f)) - m).largest(), m.largest(),
                   "cholesky");
  }
}

void check_qr(const Case& c, bool complete) {
  const Input a(c.dtype, random_stack(c.dtype, c.count, c.m, c.n));
  const std::int64_t k = complete ? c.m : std::min(c.m, c.n);
  const Output q(c.dtype, {c.count, c.m, k}), r(c.dtype, {c.count, k, c.n});
  cuda::qr(a.operand(), q.here, r.here);
  const auto left = q.read(), right = r.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    c.expect_small((left[i] * right[i] - a.values[i]).largest(), a.values[i].largest(), "qr");
    c.expect_orthonormal(left[i], "q");
    double below = 0;
    for (std::int64_t s = 0; s < k; ++s) {
      for (std::int64_t t = 0; t < std::min(s, c.n); ++t) {
        below = std::max(below, std::abs(right[i](s, t)));
      }
    }
    c.expect_small(below, 0, "what is below the diagonal of r");
  }
}

void check_eigh(const Case& c) {
  std::vector<Matrix> stack = random_stack(c.dtype, c.count, c.n, c.n);
  for (Matrix& a : stack) {
    if (chance(0.3)) {  // half of the eigenvalues are 0
      const Matrix half = part(a, c.n, (c.n + 1) / 2);
      a = half * adjoint(half);
    } else {
      Matrix minus = adjoint(a);
      for (Number& x : minus.data) x = -x;
      a = a - minus;
    }
    for (std::int64_t i = 0; i < c.n; ++i) {
      for (std::int64_t j = i + 1; j < c.n; ++j) a(i, j) = NAN;  // not read
    }
  }
  Input a(c.dtype, stack);
  const Output values(real_dtype(c.dtype), {c.count, c.n}), vectors(c.dtype, {c.count, c.n, c.n}),
      alone(real_dtype(c.dtype), {c.count, c.n});
  c.expect_found(cuda::eigh(a.operand(), values.here, &vectors.here), -1, "eigh");
  c.expect_found(cuda::eigh(a.operand(), alone.here, nullptr), -1, "eigvalsh");
  const auto w = values.read(), v = vectors.read(), only = alone.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    Matrix& m = a.values[i];
    for (std::int64_t r = 0; r < c.n; ++r) {
      for (std::int64_t s = 0; s < r; ++s) m(s, r) = std::conj(m(r, s));
    }
    const double scale = std::max(w[i].largest(), 1e-30);
    c.expect_small((m * v[i] - scaled_columns(v[i], w[i])).largest(), scale, "eigh");
    c.expect_orthonormal(v[i], "eigenvectors");
    c.expect_small((w[i] - only[i]).largest(), scale, "eigvalsh");
    bool ascending = true;
    for (std::int64_t j = 1; j < c.n; ++j) {
      ascending &= w[i](j - 1, 0).real() <= w[i](j, 0).real();
    }
    expect(ascending, "eigenvalues are in ascending order");
  }
}

void check_eig(const Case& c) {
  const Input a(c.dtype, random_stack(c.dtype, c.count, c.n, c.n));
  const DType dtype = real_dtype(c.dtype) == DType::float32 ? DType::complex64 : DType::complex128;
  const Output values(dtype, {c.count, c.n}), vectors(dtype, {c.count, c.n, c.n});
  try {
    c.expect_found(cuda::eig(a.operand(), values.here, &vectors.here), -1, "eig");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_implemented) throw;
    return;  // left to the host
  }
  const auto w = values.read(), v = vectors.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    const Matrix& m = a.values[i];
    c.expect_small((m * v[i] - scaled_columns(v[i], w[i])).largest(),
                   m.largest() * std::sqrt(static_cast<double>(c.n)), "eig");
    double away = 0;
    for (std::int64_t j = 0; j < c.n; ++j) {
      double squares = 0;
      for (std::int64_t r = 0; r < c.n; ++r) squares += std::norm(v[i](r, j));
      away = std::max(away, std::fabs(std::sqrt(squares) - 1));
    }
    c.expect_small(away, 1, "lengths of eigenvectors");
  }
}

void check_svd(const Case& c, bool full) {
  std::vector<Matrix> stack = random_stack(c.dtype, c.count, c.m, c.n);
  const std::int64_t k = std::min(c.m, c.n), rank = random_integer(0, k);
  if (chance(0.3)) {  // of lower rank, down to 0
    for (Matrix& a : stack) {
      a = rank == 0 ? Matrix(c.m, c.n) : part(a, c.m, rank) * part(a, rank, c.n);
    }
  }
  const Input a(c.dtype, stack);
  const std::int64_t left = full ? c.m : k, right = full ? c.n : k;
  const Output u(c.dtype, {c.count, c.m, left}), s(real_dtype(c.dtype), {c.count, k}),
      vh(c.dtype, {c.count, right, c.n}), alone(real_dtype(c.dtype), {c.count, k});
  c.expect_found(cuda::svd(a.operand(), &u.here, s.here, &vh.here), -1, "svd");
  c.expect_found(cuda::svd(a.operand(), nullptr, alone.here, nullptr), -1, "svdvals");
  const auto us = u.read(), values = s.read(), vhs = vh.read(), only = alone.read();
  for (std::int64_t i = 0; i < c.count; ++i) {
    const Matrix product = scaled_columns(part(us[i], c.m, k), values[i]) * part(vhs[i], k, c.n);
    const double scale = std::max(values[i].largest(), 1e-30);
    c.expect_small((product - a.values[i]).largest(), scale, "svd");
    c.expect_small((values[i] - only[i]).largest(), scale, "svdvals");
    c.expect_orthonormal(us[i], "u");
    c.expect_orthonormal(adjoint(vhs[i]), "vh");
    bool descending = true;
    for (std::int64_t j = 0; j < k; ++j) {
      const double x = values[i](j, 0).real();
      descending &= x >= 0 && (j == 0 || x <= values[i](j - 1, 0).real());
    }
    expect(descending, "singular values are in descending order");
  }
}

// Of three matrices the second has no result.
void check_failures(DType dtype, std::int64_t n) {
  const Case c{dtype, 3, n, n};
  std::vector<Matrix> stack(3, identity(n));
  for (std::int64_t i = 0; i < n; ++i) stack[1](i, n - 1) = 0;
  const Output matrix(dtype, {3, n, n}), one(dtype, {3}), log(real_dtype(dtype), {3}),
      values(real_dtype(dtype), {3, n});
  {
    const Input a(dtype, stack);
    c.expect_found(cuda::solve(a.operand(), a.operand(), matrix.here), 1, "singular solve");
    c.expect_found(cuda::inverse(a.operand(), matrix.here), 1, "singular inverse");
    c.expect_found(cuda::cholesky(a.operand(), matrix.here, chance(0.5)), 1, "singular cholesky");
    cuda::determinant(a.operand(), &one.here, nullptr, nullptr);
    const auto dets = one.read();
    expect(dets[0](0, 0) == 1.0 && dets[1](0, 0) == 0.0 && dets[2](0, 0) == 1.0,
           "determinants of unit and singular matrices");
    cuda::determinant(a.operand(), nullptr, &one.here, &log.here);
    const auto signs = one.read(), logs = log.read();
    expect(signs[0](0, 0) == 1.0 && signs[1](0, 0) == 0.0, "signs of determinants");
    expect(logs[0](0, 0) == 0.0 && logs[1](0, 0).real() == -INFINITY, "logarithms of determinants");
  }
  for (const double bad : {NAN, INFINITY, -INFINITY}) {
    // On the diagonal or away from it.
    for (const std::int64_t column : {std::int64_t{0}, n - 1, n / 2}) {
      for (const bool upper : {false, true}) {
        stack[1] = identity(n);
        (upper ? stack[1](column, n - 1) : stack[1](n - 1, column)) = bad;
        const Input a(dtype, stack);
        c.expect_found(cuda::cholesky(a.operand(), matrix.here, upper), 1, "cholesky of NaN");
        const Input alone(dtype, {stack[1]});
        const Output one_matrix(dtype, {1, n, n});
        c.expect_found(cuda::cholesky(alone.operand(), one_matrix.here, upper), 0,
                       "cholesky of NaN alone");
      }
    }
    stack[1] = identity(n);
    stack[1](n - 1, 0) = bad;
    const Input a(dtype, stack);
    c.expect_found(cuda::eigh(a.operand(), values.here, &matrix.here), 1, "eigh of NaN");
    const Output other(dtype, {3, n, n});
    try {
      c.expect_found(cuda::svd(a.operand(), &other.here, values.here, &matrix.here), 1,
                     "svd of NaN");
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_implemented) throw;  // the host finds it
    }
    cuda::qr(a.operand(), matrix.here, other.here);
    const auto q = matrix.read();
    expect(q[0].largest() <= 2 && q[2].largest() <= 2, "qr of NaN spoils no other matrix");
    if (!std::isnan(bad)) continue;
    c.expect_found(cuda::inverse(a.operand(), matrix.here), -1, "inverse of NaN");
    const auto inverses = matrix.read();
    expect(inverses[1].largest() == INFINITY, "the inverse of NaN has NaN");
    expect(inverses[0].largest() == 1 && inverses[2].largest() == 1, "inverses beside NaN");
  }
}

constexpr std::int64_t small_sides[] = {1, 2, 3, 5, 17, 33, 64};

void check_all(DType dtype, std::int64_t n, std::int64_t count) {
  // Another side that is near, or far.
  const std::int64_t side = small_sides[random_integer(0, 6)];
  const bool is_wide = chance(0.5);
  const Case square{dtype, count, n, n};
  const Case other{dtype, count, is_wide ? side : n, is_wide ? n : side};
  check_solutions(square);
  check_cholesky(square, chance(0.5));
  check_qr(chance(0.3) ? square : other, chance(0.5));
  check_eigh(square);
  check_eig(square);
  check_svd(chance(0.3) ? square : other, chance(0.5));
}

}  // namespace

void check_small_factorisations(DType dtype, int rounds) {
  if (rounds == 0) {
    for (const std::int64_t n : {3, 20, 40}) check_all(dtype, n, 2);
  }
  for (int round = 0; round < rounds; ++round) {
    for (const std::int64_t n : small_sides) check_all(dtype, n, random_integer(1, 9));
    for (const std::int64_t n : {1, 2, 33}) check_failures(dtype, n);
    const Output nothing(dtype, {2, 0, 0}), one(dtype, {2}), wide(dtype, {2, 3, 3});
    const Output none(dtype, {2, 3, 0}), row(dtype, {2, 0, 3});
    cuda::determinant(nothing.here, &one.here, nullptr, nullptr);
    expect(one.read()[1](0, 0) == 1.0, "the determinant of nothing is 1");
    cuda::qr(none.here, wide.here, none.here);
    expect((wide.read()[1] - identity(3)).largest() == 0, "q of nothing is the identity");
    expect(cuda::svd(row.here, &nothing.here, Output(real_dtype(dtype), {2, 0}).here, &wide.here) ==
               -1,
           "svd of nothing");
    expect((wide.read()[0] - identity(3)).largest() == 0, "vh of nothing is the identity");
  }
}

// Those that cuSOLVER has a part in.
void check_large_factorisations(DType dtype, int rounds) {
  if (rounds == 0) check_all(dtype, 100, 1);
  for (int round = 0; round < rounds; ++round) {
    for (const std::int64_t n : {100, 128, 257}) check_all(dtype, n, random_integer(1, 3));
    check_failures(dtype, 100);
  }
}

}  // namespace arrayx::testing
