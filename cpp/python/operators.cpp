// Operators of Array. Operands are tried on the frontend's fast path first, which for small arrays
// is the whole cost: nothing here allocates but the result object, or copies an Array.
#include <cstring>

#include "../frontend/linear_algebra.hpp"
#include "array_type.hpp"

namespace arrayx::python {

namespace {

// Bytes of the operands and an upper bound on what broadcasting them makes.
std::int64_t work_of(const Array& a, const Array& b) {
  if (a.shape() == b.shape()) return a.nbytes() + b.nbytes();
  const double most = static_cast<double>(a.size()) * static_cast<double>(b.size());
  return std::max(a.nbytes() + b.nbytes(),
                  static_cast<std::int64_t>(std::min(most, 1e15)) * a.itemsize());
}
std::int64_t work_of(const Value& value) {
  const Array* array = std::get_if<Array>(&value);
  return array ? array->nbytes() : 0;
}
std::int64_t work_of(const Value& a, const Value& b) {
  const Array* x = std::get_if<Array>(&a);
  const Array* y = std::get_if<Array>(&b);
  return x && y ? work_of(*x, *y) : work_of(a) + work_of(b);
}

}  // namespace

PyObject* apply_unary(Op op, PyObject* x) noexcept {
  ArrayObject* result = new_array_object();
  if (!result) return nullptr;
  try {
    const Array* inputs[] = {&array_of(x)};
    if (!elementwise_fast(op, inputs, 1, result->array)) {
      const Value values[] = {*inputs[0]};
      WithoutGil guard(work_of(values[0]));
      result->array = elementwise(op, values);
    }
    return reinterpret_cast<PyObject*>(result);
  } catch (...) {
    set_python_error();
    Py_DECREF(result);
    return nullptr;
  }
}

PyObject* apply_binary(Op op, PyObject* a, PyObject* b) noexcept {
  const bool a_is_array = is_array(a), b_is_array = is_array(b);
  ArrayObject* result = nullptr;
  try {
    if (a_is_array && b_is_array) {
      result = new_array_object();
      if (!result) return nullptr;
      const Array* inputs[] = {&array_of(a), &array_of(b)};
      if (!elementwise_fast(op, inputs, 2, result->array)) {
        const Value values[] = {*inputs[0], *inputs[1]};
        WithoutGil guard(work_of(values[0], values[1]));
        result->array = elementwise(op, values);
      }
      return reinterpret_cast<PyObject*>(result);
    }
    Scalar scalar;
    if (a_is_array ? !number_from(b, scalar) : !(b_is_array && number_from(a, scalar))) {
      Py_RETURN_NOTIMPLEMENTED;
    }
    result = new_array_object();
    if (!result) return nullptr;
    const Array& array = array_of(a_is_array ? a : b);
    if (!elementwise_fast_scalar(op, array, scalar, !a_is_array, result->array)) {
      const Value values[] = {a_is_array ? Value(array) : Value(scalar),
                              a_is_array ? Value(scalar) : Value(array)};
      WithoutGil guard(array.nbytes());
      result->array = elementwise(op, values);
    }
    return reinterpret_cast<PyObject*>(result);
  } catch (...) {
    set_python_error();
    Py_XDECREF(result);
    return nullptr;
  }
}

namespace {

template <Op op>
PyObject* unary(PyObject* x) {
  return apply_unary(op, x);
}
template <Op op>
PyObject* binary(PyObject* a, PyObject* b) {
  return apply_binary(op, a, b);
}

// Takes an array of NumPy beside one on the CPU, where that needs no copy. Left to NumPy,
// x += other would be x = x + other: x's own elements and its views would stay as they are. So
// arrays of other libraries are refused.
bool foreign_array_from(PyObject* other, const Array& x, Array& out) {
  if (is_array(other) || !PyObject_CheckBuffer(other)) return false;
  if (std::strcmp(Py_TYPE(other)->tp_name, "numpy.ndarray") != 0 || x.device() != Device{}) {
    type_error(
        "the right operand of an in-place operator must be an Array or a Python scalar, not ",
        type_name(other), "; convert it with asarray first");
  }
  out = asarray(other);
  return true;
}

template <Op op>
PyObject* in_place(PyObject* self, PyObject* other) {
  try {
    const Array& x = array_of(self);
    const Array* array = is_array(other) ? &array_of(other) : nullptr;
    Scalar scalar;
    Array foreign;
    if (!array && !number_from(other, scalar)) {
      if (!foreign_array_from(other, x, foreign)) Py_RETURN_NOTIMPLEMENTED;
      array = &foreign;
    }
    if (!elementwise_fast_in_place(op, x, array, array ? nullptr : &scalar)) {
      const Value value = array ? Value(*array) : Value(scalar);
      WithoutGil guard(x.nbytes() + work_of(value));
      elementwise_in_place(op, x, value);
    }
    return Py_NewRef(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return apply_binary(Op::pow, base, exponent);
}
PyObject* in_place_power(PyObject* self, PyObject* exponent, PyObject*) {
  return in_place<Op::pow>(self, exponent);
}

PyObject* positive_slot(PyObject* self) {
  try {
    return wrap(positive(array_of(self)));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  if (!is_array(a) || !is_array(b)) {
    Scalar scalar;
    if (scalar_from(is_array(a) ? b : a, scalar)) {
      PyErr_SetString(PyExc_TypeError,
                      "matmul takes arrays, not Python scalars: multiply by a scalar with *");
      return nullptr;
    }
    Py_RETURN_NOTIMPLEMENTED;
  }
  try {
    const Array x = array_of(a), y = array_of(b);
    Array out;
    {
      WithoutGil guard(work_of(x, y));
      out = matmul(x, y);
    }
    return wrap(std::move(out));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* in_place_matrix_multiply(PyObject* self, PyObject* other) {
  try {
    const Array x = array_of(self);
    Array y;
    if (is_array(other)) {
      y = array_of(other);
    } else if (!foreign_array_from(other, x, y)) {
      return matrix_multiply(self, other);
    }
    check_writable(x, "the left operand of @=");
    {
      WithoutGil guard(work_of(x, y));
      const Array product = matmul(x, y);
      if (product.shape() != x.shape()) {
        value_error("x @= y would change x's shape from ", x.shape(), " to ", product.shape());
      }
      if (!can_update(product.dtype, x.dtype)) {
        type_error("x @= y would change x's dtype from ", x.dtype, " to ", product.dtype);
      }
      assign(x, product);
    }
    return Py_NewRef(self);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// ---- conversions to Python's scalars --------------------------------------------------------

Element only_element(PyObject* self, const char* type) {
  const Array& x = array_of(self);
  if (x.ndim() != 0) {
    type_error("only an array of rank 0 can be converted to ", type, "; this one has shape ",
               x.shape());
  }
  return item(x);
}

int to_bool(PyObject* self) {
  try {
    // One element of any rank, as elsewhere; the standard has rank 0 alone.
    const Array& x = array_of(self);
    if (x.size() != 1) {
      type_error("only an array of one element can be converted to a bool; this one has shape ",
                 x.shape());
    }
    const Ref value(to_python(item(x)));
    return PyObject_IsTrue(value.get());
  } catch (...) {
    set_python_error();
    return -1;
  }
}

PyObject* to_int(PyObject* self) {
  try {
    const Element element = only_element(self, "an int");
    if (is_complex(element.dtype)) {
      type_error("an array of dtype ", element.dtype, " cannot be converted to an int");
    }
    Ref value(to_python(element));
    return PyLong_CheckExact(value.get()) ? value.release() : PyNumber_Long(value.get());
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* to_float(PyObject* self) {
  try {
    const Array& x = array_of(self);
    if (x.ndim() == 0 && x.device().type == DeviceType::cpu) {
      if (x.dtype == DType::float64) return PyFloat_FromDouble(*x.data_as<const double>());
      if (x.dtype == DType::float32) return PyFloat_FromDouble(*x.data_as<const float>());
    }
    const Element element = only_element(self, "a float");
    if (is_complex(element.dtype)) {
      type_error("an array of dtype ", element.dtype, " cannot be converted to a float");
    }
    Ref value(to_python(element));
    return PyFloat_CheckExact(value.get()) ? value.release() : PyNumber_Float(value.get());
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* to_index(PyObject* self) {
  try {
    const Array& x = array_of(self);
    if (x.ndim() != 0 || !is_integer(x.dtype)) {
      type_error("only an integer array of rank 0 can be used as an index; this one has dtype ",
                 x.dtype, " and shape ", x.shape());
    }
    return to_python(item(x));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace

PyObject* array_compare(PyObject* self, PyObject* other, int operation) {
  Op op = Op::equal;
  switch (operation) {
    case Py_LT:
      op = Op::less;
      break;
    case Py_LE:
      op = Op::less_equal;
      break;
    case Py_EQ:
      op = Op::equal;
      break;
    case Py_NE:
      op = Op::not_equal;
      break;
    case Py_GT:
      op = Op::greater;
      break;
    case Py_GE:
      op = Op::greater_equal;
      break;
  }
  return apply_binary(op, self, other);
}

PyNumberMethods array_as_number = [] {
  PyNumberMethods slots{};
  slots.nb_add = binary<Op::add>;
  slots.nb_subtract = binary<Op::subtract>;
  slots.nb_multiply = binary<Op::multiply>;
  slots.nb_true_divide = binary<Op::divide>;
  slots.nb_floor_divide = binary<Op::floor_divide>;
  slots.nb_remainder = binary<Op::remainder>;
  slots.nb_power = power;
  slots.nb_matrix_multiply = matrix_multiply;
  slots.nb_and = binary<Op::bitwise_and>;
  slots.nb_or = binary<Op::bitwise_or>;
  slots.nb_xor = binary<Op::bitwise_xor>;
  slots.nb_lshift = binary<Op::bitwise_left_shift>;
  slots.nb_rshift = binary<Op::bitwise_right_shift>;
  slots.nb_negative = unary<Op::negative>;
  slots.nb_positive = positive_slot;
  slots.nb_absolute = unary<Op::abs>;
  slots.nb_invert = unary<Op::bitwise_invert>;
  slots.nb_inplace_add = in_place<Op::add>;
  slots.nb_inplace_subtract = in_place<Op::subtract>;
  slots.nb_inplace_multiply = in_place<Op::multiply>;
  slots.nb_inplace_true_divide = in_place<Op::divide>;
  slots.nb_inplace_floor_divide = in_place<Op::floor_divide>;
  slots.nb_inplace_remainder = in_place<Op::remainder>;
  slots.nb_inplace_power = in_place_power;
  slots.nb_inplace_matrix_multiply = in_place_matrix_multiply;
  slots.nb_inplace_and = in_place<Op::bitwise_and>;
  slots.nb_inplace_or = in_place<Op::bitwise_or>;
  slots.nb_inplace_xor = in_place<Op::bitwise_xor>;
  slots.nb_inplace_lshift = in_place<Op::bitwise_left_shift>;
  slots.nb_inplace_rshift = in_place<Op::bitwise_right_shift>;
  slots.nb_bool = to_bool;
  slots.nb_int = to_int;
  slots.nb_float = to_float;
  slots.nb_index = to_index;
  return slots;
}();

}  // namespace arrayx::python
