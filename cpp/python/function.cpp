// Function: a callable for one elementwise operation of the table, as cheap to call as an operator.
// Its name, documentation and signature are those of the Python function it stands for.
#include "array_type.hpp"
#include "bind.hpp"

// After Python.h.
#include <structmember.h>

#include <cstddef>
#include <string>

namespace arrayx::python {

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc call;
  Op op;
  PyObject* wrapped;
  PyObject* weak_references;
};

FunctionObject* function_of(PyObject* self) {
  return reinterpret_cast<FunctionObject*>(self);
}

const char* argument_name(Op op, int i) {
  constexpr const char* binary[] = {"x1", "x2"};
  constexpr const char* ternary[] = {"condition", "x1", "x2"};
  return info(op).arity == 1 ? "x" : info(op).arity == 2 ? binary[i] : ternary[i];
}

void refuse_argument(Op op, int i, PyObject* object) {
  type_error(info(op).name, "(): ", argument_name(op, i),
             info(op).arity == 1 ? " must be an Array, not "
                                 : " must be an Array or a Python "
                                   "scalar, not ",
             type_name(object));
}

PyObject* call_general(Op op, PyObject* const* args, int count) {
  Value values[max_operands];
  std::int64_t work = 0;
  bool any_array = false;
  for (int i = 0; i < count; ++i) {
    if (!value_from(args[i], values[i])) refuse_argument(op, i, args[i]);
    if (const Array* array = std::get_if<Array>(&values[i])) {
      any_array = true;
      work += array->nbytes();
    }
  }
  if (!any_array) {
    type_error(info(op).name,
               count == 1 ? "(): x must be an Array, not "
                          : "(): at least one argument must be an Array; x1 is ",
               type_name(args[count > 1 ? count - 2 : 0]));
  }
  Array out;
  {
    WithoutGil guard(work);
    out = elementwise(op, {values, static_cast<std::size_t>(count)});
  }
  return wrap(std::move(out));
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  const Op op = function_of(self)->op;
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  const int arity = info(op).arity;
  try {
    if (names && PyTuple_GET_SIZE(names) > 0) {
      type_error(info(op).name, "() takes positional arguments only");
    }
    if (count != arity) {
      type_error(info(op).name, "() takes ", arity,
                 arity == 1 ? " positional argument but " : " positional arguments but ", count,
                 count == 1 ? " was given" : " were given");
    }
    if (arity == 1) {
      if (!is_array(args[0])) refuse_argument(op, 0, args[0]);
      return apply_unary(op, args[0]);
    }
    if (arity == 2) {
      if (is_array(args[0]) || is_array(args[1])) {
        PyObject* result = apply_binary(op, args[0], args[1]);
        if (result != Py_NotImplemented) return result;
        Py_DECREF(result);
      }
    }
    return call_general(op, args, arity);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(function_of(self)->wrapped);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(function_of(self)->wrapped);
  return 0;
}
void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (function_of(self)->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  PyObject_GC_Del(self);
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat("<function arrayx.%s>", info(function_of(self)->op).name);
}
PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}
PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(info(function_of(self)->op).name);
}
PyObject* get_module(PyObject*, void*) {
  return PyUnicode_FromString("arrayx");
}
// The attributes that the Python function answers for.
PyObject* get_from_wrapped(PyObject* self, void* name) {
  PyObject* wrapped = function_of(self)->wrapped;
  return PyObject_GetAttrString(wrapped ? wrapped : Py_None, static_cast<const char*>(name));
}
PyObject* reduce(PyObject* self, PyObject*) {
  return get_name(self, nullptr);
}

char doc_name[] = "__doc__", annotations_name[] = "__annotations__",
     type_params_name[] = "__type_params__";
PyGetSetDef attributes[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_from_wrapped, nullptr, nullptr, doc_name},
    {"__annotations__", get_from_wrapped, nullptr, nullptr, annotations_name},
    {"__type_params__", get_from_wrapped, nullptr, nullptr, type_params_name},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(FunctionObject, wrapped), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject function_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

pybind11::object elementwise_function(const std::string& name, const pybind11::object& wrapped) {
  for (int i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    if (info(op).name != name || op == Op::clip) continue;
    auto* function = PyObject_GC_New(FunctionObject, &function_type);
    if (!function) throw PythonError{};
    function->call = call;
    function->op = op;
    function->wrapped = pybind11::object(wrapped).release().ptr();
    function->weak_references = nullptr;
    PyObject_GC_Track(function);
    return pybind11::reinterpret_steal<pybind11::object>(reinterpret_cast<PyObject*>(function));
  }
  value_error("'", name, "' is not an operation of the table that takes positional arguments only");
}

}  // namespace

void bind_function_type(pybind11::module_& module) {
  function_type.tp_name = "arrayx._core.Function";
  function_type.tp_doc = "An elementwise operation.";
  function_type.tp_basicsize = sizeof(FunctionObject);
  function_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                           Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                           Py_TPFLAGS_METHOD_DESCRIPTOR;
  function_type.tp_dealloc = deallocate;
  function_type.tp_traverse = traverse;
  function_type.tp_clear = clear;
  function_type.tp_weaklistoffset = offsetof(FunctionObject, weak_references);
  function_type.tp_vectorcall_offset = offsetof(FunctionObject, call);
  function_type.tp_call = PyVectorcall_Call;
  function_type.tp_repr = repr;
  function_type.tp_descr_get = bind_to;
  function_type.tp_getset = attributes;
  function_type.tp_methods = methods;
  function_type.tp_members = members;
  if (PyType_Ready(&function_type) < 0) throw pybind11::error_already_set();
  module.add_object("Function", reinterpret_cast<PyObject*>(&function_type));
  module.def("elementwise_function", elementwise_function);
}

}  // namespace arrayx::python
