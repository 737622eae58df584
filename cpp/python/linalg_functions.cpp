// The linalg extension as functions of _core (those that the main namespace lacks, each with the
// prefix linalg_), and LinAlgError.
#include "../frontend/linalg.hpp"
#include "define.hpp"

namespace arrayx::python {

template <>
struct Parameter<linalg::MatrixNorm> {
  static std::string expected() { return "'fro', 'nuc', inf, -inf, 1, -1, 2 or -2, or None"; }
  static bool read(PyObject* object, linalg::MatrixNorm& out) {
    using Kind = linalg::MatrixNorm::Kind;
    if (object == Py_None) return true;
    if (PyUnicode_Check(object)) {
      if (PyUnicode_CompareWithASCIIString(object, "nuc") == 0) {
        out.kind = Kind::nuclear;
      } else if (PyUnicode_CompareWithASCIIString(object, "fro") != 0) {
        const Ref text = checked(PyObject_Repr(object));
        const char* utf8 = PyUnicode_AsUTF8(text.get());
        if (!utf8) throw PythonError{};
        value_error("matrix_norm: ord must be ", expected(), ", not ", utf8);
      }
      return true;
    }
    out.kind = Kind::number;
    return Parameter<double>::read(object, out.order);
  }
};

// The mode of qr: whether it is "complete".
struct QRMode {
  bool complete;
};
template <>
struct Parameter<QRMode> {
  static std::string expected() { return "'reduced' or 'complete'"; }
  static bool read(PyObject* object, QRMode& out) {
    if (!PyUnicode_Check(object)) return false;
    out.complete = PyUnicode_CompareWithASCIIString(object, "complete") == 0;
    if (!out.complete && PyUnicode_CompareWithASCIIString(object, "reduced") != 0) {
      const Ref text = checked(PyObject_Repr(object));
      const char* utf8 = PyUnicode_AsUTF8(text.get());
      if (!utf8) throw PythonError{};
      value_error("qr: mode must be ", expected(), ", not ", utf8);
    }
    return true;
  }
};

namespace {

constexpr const char* error_doc =
    "A matrix has no result: it is singular or not positive definite, or an iteration did not\n"
    "converge. The message says which matrix of the stack it is.";

void solutions(py::module_& m) {
  define(
      m, "linalg_solve", [](const Array& x1, const Array& x2) { return linalg::solve(x1, x2); },
      "x1", "x2");
  define(m, "linalg_inv", [](const Array& x) { return linalg::inv(x); }, "x");
  define(m, "linalg_det", [](const Array& x) { return linalg::det(x); }, "x");
  define(
      m, "linalg_slogdet",
      [](const Array& x) {
        linalg::SignAndLog out = linalg::slogdet(x);
        return std::tuple(out.sign, out.log_abs);
      },
      "x");
  define(
      m, "linalg_matrix_power",
      [](const Array& x, std::int64_t n) { return linalg::matrix_power(x, n); }, "x", "n");
  using Tolerance = std::optional<Value>;
  define(
      m, "linalg_matrix_rank",
      [](const Array& x, const Tolerance& rtol) { return linalg::matrix_rank(x, rtol); }, "x",
      "rtol");
  define(
      m, "linalg_pinv", [](const Array& x, const Tolerance& rtol) { return linalg::pinv(x, rtol); },
      "x", "rtol");
}

void factorisations(py::module_& m) {
  define(
      m, "linalg_cholesky", [](const Array& x, bool upper) { return linalg::cholesky(x, upper); },
      "x", "upper");
  define(
      m, "linalg_qr",
      [](const Array& x, QRMode mode) {
        linalg::QR out = linalg::qr(x, mode.complete);
        return std::tuple(out.q, out.r);
      },
      "x", "mode");
  define(
      m, "linalg_eigh",
      [](const Array& x) {
        linalg::Eigen out = linalg::eigh(x);
        return std::tuple(out.values, out.vectors);
      },
      "x");
  define(m, "linalg_eigvalsh", [](const Array& x) { return linalg::eigvalsh(x); }, "x");
  define(
      m, "linalg_eig",
      [](const Array& x) {
        linalg::Eigen out = linalg::eig(x);
        return std::tuple(out.values, out.vectors);
      },
      "x");
  define(m, "linalg_eigvals", [](const Array& x) { return linalg::eigvals(x); }, "x");
  define(
      m, "linalg_svd",
      [](const Array& x, bool full_matrices) {
        linalg::SVD out = linalg::svd(x, full_matrices);
        return std::tuple(out.u, out.s, out.vh);
      },
      "x", "full_matrices");
  define(m, "linalg_svdvals", [](const Array& x) { return linalg::svdvals(x); }, "x");
}

void norms_products_diagonals(py::module_& m) {
  define(
      m, "linalg_matrix_norm",
      [](const Array& x, bool keepdims, linalg::MatrixNorm ord) {
        return linalg::matrix_norm(x, keepdims, ord);
      },
      "x", "keepdims", "ord");
  define(
      m, "linalg_vector_norm",
      [](const Array& x, const OptionalAxes& axis, bool keepdims, double ord) {
        return linalg::vector_norm(x, axis, keepdims, ord);
      },
      "x", "axis", "keepdims", "ord");
  define(
      m, "linalg_cross",
      [](const Array& x1, const Array& x2, std::int64_t axis) {
        return linalg::cross(x1, x2, axis);
      },
      "x1", "x2", "axis");
  define(
      m, "linalg_outer", [](const Array& x1, const Array& x2) { return linalg::outer(x1, x2); },
      "x1", "x2");
  define(
      m, "linalg_diagonal",
      [](const Array& x, Diagonal offset) { return linalg::diagonal(x, offset); }, "x", "offset");
  define(
      m, "linalg_trace",
      [](const Array& x, Diagonal offset, OptionalDType dtype) {
        return linalg::trace(x, offset, dtype);
      },
      "x", "offset", "dtype");
}

}  // namespace

void bind_linalg(py::module_& module) {
  // Kept for the life of the process: errors may be raised while the interpreter shuts down.
  linalg_error = checked(PyErr_NewExceptionWithDoc("arrayx.linalg.LinAlgError", error_doc,
                                                   PyExc_ValueError, nullptr))
                     .release();
  module.attr("LinAlgError") = py::reinterpret_borrow<py::object>(linalg_error);
  solutions(module);
  factorisations(module);
  norms_products_diagonals(module);
}

}  // namespace arrayx::python
