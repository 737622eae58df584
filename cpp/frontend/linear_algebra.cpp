// Linear algebra of the main namespace: everything is brought to the one verb Backend::matmul.
#include "linear_algebra.hpp"

#include "creation.hpp"
#include "elementwise.hpp"
#include "manipulation.hpp"
#include "statistical.hpp"

namespace arrayx {

namespace {

// The common dtype of two numeric operands on one device.
DType product_dtype(const char* function, const Array& x1, const Array& x2) {
  check_kind(function, "x1", x1.dtype, kinds::numeric);
  check_kind(function, "x2", x2.dtype, kinds::numeric);
  check_same_device(x1, x2);
  return promote(x1.dtype, x2.dtype);
}

Dims leading(const Dims& shape) {
  return Dims(shape.begin(), shape.end() - 2);
}

Dims joined(Dims front, const Dims& back) {
  for (std::int64_t n : back) front.push_back(n);
  return front;
}

// a @ b for operands of one dtype and at least two dimensions whose inner sizes agree.
Array product(const Array& a, const Array& b) {
  const std::int64_t m = a.shape()[a.ndim() - 2], k = a.shape().back(), n = b.shape().back();
  const Dims batch = broadcast_shapes(leading(a.shape()), leading(b.shape()));
  const Dims shape = joined(batch, Dims{m, n});
  if (k == 0) return zeros(shape, a.dtype, a.device());  // sums of nothing
  if (b.ndim() == 2 && a.ndim() > 2 && a.size() > 0) {
    // A stack times one matrix is one tall product.
    const Array tall = reshape(a, Dims{a.size() / k, k}, std::nullopt);
    return reshape(product(tall, b), shape, false);
  }
  const Array out = empty(shape, a.dtype, a.device());
  if (out.size() == 0) return out;
  if (a.ndim() == 2 && b.ndim() == 2) {
    backend_of(a).matmul(a, b, out);
    return out;
  }
  backend_of(a).matmul(broadcast_to(a, joined(batch, Dims{m, k})),
                       broadcast_to(b, joined(batch, Dims{k, n})), out);
  return out;
}

// x as an operand of product(): an engine beside the host's reads float16 as it is.
Array factor(const Array& x, DType dtype) {
  return x.device().type == DeviceType::cpu ? computable(x, dtype) : astype(x, dtype, false);
}

// A view of the dimensions `front`, then `back`, each taken as one.
Array as_matrix(const Array& x, const Dims& front, const Dims& back) {
  Dims shape{1, 1};
  for (std::int64_t i : front) shape[0] *= x.shape()[static_cast<int>(i)];
  for (std::int64_t i : back) shape[1] *= x.shape()[static_cast<int>(i)];
  return reshape(permute_dims(x, joined(front, back)), shape, std::nullopt);
}

}  // namespace

Array matmul(const Array& x1, const Array& x2) {
  const DType dtype = product_dtype("matmul", x1, x2);
  if (x1.ndim() == 0 || x2.ndim() == 0) {
    value_error("matmul takes arrays of at least 1 dimension, not of shapes ", x1.shape(), " and ",
                x2.shape());
  }
  const std::int64_t inner = x2.ndim() == 1 ? x2.shape()[0] : x2.shape()[x2.ndim() - 2];
  if (x1.shape().back() != inner) {
    value_error("matmul: shapes ", x1.shape(), " and ", x2.shape(),
                " do not fit: ", x1.shape().back(), " columns of x1 meet ", inner, " rows of x2");
  }
  Array a = factor(x1, dtype), b = factor(x2, dtype);
  const bool row = a.ndim() == 1, column = b.ndim() == 1;
  if (row) a = expand_dims(a, Dims{0});
  if (column) b = expand_dims(b, Dims{1});
  Array out = product(a, b);
  if (column) out = squeeze(out, Dims{-1});
  if (row) out = squeeze(out, Dims{column ? -1 : -2});
  return astype(out, dtype, false);
}

Array tensordot(const Array& x1, const Array& x2, std::int64_t n) {
  if (n < 0) value_error("tensordot: axes must be at least 0, not ", n);
  if (n > x1.ndim() || n > x2.ndim()) {
    value_error("tensordot: ", n, " axes cannot be contracted from arrays of shapes ", x1.shape(),
                " and ", x2.shape());
  }
  Dims last, first;
  for (int i = 0; i < n; ++i) {
    last.push_back(x1.ndim() - n + i);
    first.push_back(i);
  }
  return tensordot(x1, x2, last, first);
}

Array tensordot(const Array& x1, const Array& x2, const Dims& x1_axes, const Dims& x2_axes) {
  const DType dtype = product_dtype("tensordot", x1, x2);
  if (x1_axes.size() != x2_axes.size()) {
    value_error("tensordot: axes ", x1_axes, " and ", x2_axes, " must have the same length");
  }
  const Dims contracted1 = normalize_axes(x1_axes, x1.ndim(), "axes[0]");
  const Dims contracted2 = normalize_axes(x2_axes, x2.ndim(), "axes[1]");
  for (int i = 0; i < contracted1.size(); ++i) {
    const int axis1 = static_cast<int>(contracted1[i]), axis2 = static_cast<int>(contracted2[i]);
    if (x1.shape()[axis1] != x2.shape()[axis2]) {
      value_error("tensordot: shapes ", x1.shape(), " and ", x2.shape(), " do not fit: axis ",
                  axis1, " of x1 has size ", x1.shape()[axis1], " and axis ", axis2,
                  " of x2 has size ", x2.shape()[axis2]);
    }
  }
  const auto free_axes = [](const Array& x, const Dims& contracted, Dims& shape) {
    Dims free;
    for (int i = 0; i < x.ndim(); ++i) {
      if (std::find(contracted.begin(), contracted.end(), i) != contracted.end()) continue;
      free.push_back(i);
      shape.push_back(x.shape()[i]);
    }
    return free;
  };
  Dims shape;
  const Dims free1 = free_axes(x1, contracted1, shape);
  const Dims free2 = free_axes(x2, contracted2, shape);
  check_shape(shape);
  // With no elements on either side the sizes of the matrices need not exist in int64.
  if (x1.size() == 0 || x2.size() == 0) return zeros(shape, dtype, x1.device());
  const Array out = product(factor(as_matrix(x1, free1, contracted1), dtype),
                            factor(as_matrix(x2, contracted2, free2), dtype));
  return astype(reshape(out, shape, false), dtype, false);
}

Array vecdot(const Array& x1, const Array& x2, std::int64_t axis) {
  const DType dtype = product_dtype("vecdot", x1, x2);
  const int ndim = std::min(x1.ndim(), x2.ndim());
  if (axis >= 0 || axis < -ndim) {
    index_error("axis ", axis, " is out of range: vecdot counts it from the back, in [", -ndim,
                ", -1] for arrays of shapes ", x1.shape(), " and ", x2.shape());
  }
  const auto axis_last = [&](const Array& x) {
    return axis == -1 ? x : moveaxis(x, Dims{axis}, Dims{-1});
  };
  Array a = axis_last(x1), b = axis_last(x2);
  if (a.shape().back() != b.shape().back()) {
    value_error("vecdot: shapes ", x1.shape(), " and ", x2.shape(), " differ in axis ", axis, ": ",
                a.shape().back(), " and ", b.shape().back());
  }
  const bool conjugate = is_complex(a.dtype);
  a = computable(a, dtype);
  b = computable(b, dtype);
  const Dims vectors = broadcast_shapes(a.shape(), b.shape());
  const Dims shape(vectors.begin(), vectors.end() - 1);
  if (vectors.back() == 0) return zeros(shape, dtype, a.device());
  const Array out = empty(shape, a.dtype, a.device());
  if (out.size() > 0) {
    backend_of(a).vecdot(broadcast_to(a, vectors), broadcast_to(b, vectors), conjugate, out);
  }
  return astype(out, dtype, false);
}

}  // namespace arrayx
