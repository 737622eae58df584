// See function.hpp. A Function has the name, the signature and the documentation of the Python
// function it stands for, which is itself only called to refuse arguments that do not fit it: so
// the words are Python's.
#include "function.hpp"

#include "array_type.hpp"
#include "bind.hpp"

// After Python.h.
#include <structmember.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace arrayx::python {

namespace {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc call;
  const Definition* definition;
  PyObject* wrapped;                   // null for those that are called by other functions of the
                                       // package alone
  PyObject* names;                     // a tuple that begins with the parameters' names; null when
                                       // by position only
  PyObject* defaults[max_parameters];  // null where an argument is required
  int positional_only,
      positional;  // how many parameters are, and may be, given by position
  bool gathers;    // the parameter behind those is the tuple of all other
                   // arguments by position
  PyObject* weak_references;
};

FunctionObject* function_of(PyObject* self) {
  return reinterpret_cast<FunctionObject*>(self);
}

// ---- operations of the table -----------------------------------------------------------------

struct Operation : Definition {
  Op op;
};

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

PyObject* call_operation(const Definition& self, PyObject* const* args) noexcept {
  const Op op = static_cast<const Operation&>(self).op;
  try {
    if (self.count == 1) {
      if (!is_array(args[0])) refuse_argument(op, 0, args[0]);
      return apply_unary(op, args[0]);
    }
    if (self.count == 2 && (is_array(args[0]) || is_array(args[1]))) {
      PyObject* result = apply_binary(op, args[0], args[1]);
      if (result != Py_NotImplemented) return result;
      Py_DECREF(result);
    }
    return call_general(op, args, self.count);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// ---- calls -----------------------------------------------------------------------------------

// The arguments do not fit the signature.
PyObject* refuse(const FunctionObject& f, PyObject* const* args, Py_ssize_t count,
                 PyObject* names) {
  try {
    if (f.names) {
      const Ref nothing(PyObject_Vectorcall(f.wrapped, args, count, names));
      if (nothing) type_error(f.definition->name, "() does not take these arguments");
      return nullptr;
    }
    if (names && PyTuple_GET_SIZE(names) > 0) {
      type_error(f.definition->name, "() takes positional arguments only");
    }
    const int wanted = f.definition->count;
    type_error(f.definition->name, "() takes ", wanted,
               wanted == 1 ? " positional argument but " : " positional arguments but ", count,
               count == 1 ? " was given" : " were given");
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

// The parameter of that name, or -1. Names in a call are interned, as a rule, and so are ours.
int parameter_named(const FunctionObject& f, PyObject* name) {
  const int count = f.definition->count;
  for (int i = f.positional_only; i < count; ++i) {
    if (PyTuple_GET_ITEM(f.names, i) == name) return i;
  }
  for (int i = f.positional_only; i < count; ++i) {
    if (PyUnicode_Compare(PyTuple_GET_ITEM(f.names, i), name) == 0) return i;
  }
  return -1;
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags, PyObject* names) {
  const FunctionObject& f = *function_of(self);
  const Definition& definition = *f.definition;
  const Py_ssize_t given = PyVectorcall_NARGS(flags);
  if (!names && given == definition.count && given == f.positional) {
    return definition.call(definition, args);
  }
  const auto bound_by_place = static_cast<int>(std::min<Py_ssize_t>(given, f.positional));
  if (given > bound_by_place && !f.gathers) return refuse(f, args, given, names);
  PyObject* bound[max_parameters];
  // One by one: two calls of memmove, which std::copy is, take a twentieth of zeros((4, 4)).
  for (int i = 0; i < definition.count; ++i) {
    bound[i] = i < bound_by_place ? args[i] : f.defaults[i];
  }
  Ref gathered;
  if (f.gathers) {
    gathered = Ref(PyTuple_New(given - bound_by_place));
    if (!gathered) return nullptr;
    for (Py_ssize_t i = bound_by_place; i < given; ++i) {
      PyTuple_SET_ITEM(gathered.get(), i - bound_by_place, Py_NewRef(args[i]));
    }
    bound[f.positional] = gathered.get();
  }
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t k = 0; k < keywords; ++k) {
    const int i = f.names ? parameter_named(f, PyTuple_GET_ITEM(names, k)) : -1;
    if (i < bound_by_place || (f.gathers && i == f.positional)) {
      return refuse(f, args, given, names);
    }
    bound[i] = args[given + k];
  }
  for (int i = bound_by_place; i < definition.count; ++i) {
    if (!bound[i]) return refuse(f, args, given, names);
  }
  return definition.call(definition, bound);
}

// ---- the type --------------------------------------------------------------------------------

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(function_of(self)->wrapped);
  for (PyObject* value : function_of(self)->defaults) Py_VISIT(value);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(function_of(self)->wrapped);
  for (PyObject*& value : function_of(self)->defaults) Py_CLEAR(value);
  return 0;
}
void deallocate_function(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (function_of(self)->weak_references) PyObject_ClearWeakRefs(self);
  clear(self);
  Py_CLEAR(function_of(self)->names);
  PyObject_GC_Del(self);
}

PyObject* repr(PyObject* self) {
  return PyUnicode_FromFormat(
      function_of(self)->wrapped ? "<function arrayx.%s>" : "<function arrayx._core.%s>",
      function_of(self)->definition->name);
}
PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  if (!object || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}
// The attributes that the Python function answers for.
PyObject* get_from_wrapped(PyObject* self, void* name) {
  PyObject* wrapped = function_of(self)->wrapped;
  return PyObject_GetAttrString(wrapped ? wrapped : Py_None, static_cast<const char*>(name));
}
PyObject* get_name(PyObject* self, void* name) {
  if (function_of(self)->wrapped) return get_from_wrapped(self, name);
  return PyUnicode_FromString(function_of(self)->definition->name);
}
PyObject* get_module(PyObject* self, void*) {
  return PyUnicode_FromString(function_of(self)->wrapped ? "arrayx" : "arrayx._core");
}
// What inspect.signature reads first; where there is a Python function it asks that.
PyObject* get_signature(PyObject* self, void*) {
  const FunctionObject& f = *function_of(self);
  if (f.wrapped || !f.definition->parameters) {
    PyErr_SetString(PyExc_AttributeError, "__signature__");
    return nullptr;
  }
  try {
    const Ref inspect = checked(PyImport_ImportModule("inspect"));
    const Ref parameter = checked(PyObject_GetAttrString(inspect.get(), "Parameter"));
    const Ref by_position = checked(PyObject_GetAttrString(parameter.get(), "POSITIONAL_ONLY"));
    const Ref parameters = checked(PyList_New(f.definition->count));
    for (int i = 0; i < f.definition->count; ++i) {
      PyObject* item = PyObject_CallFunction(parameter.get(), "sO", f.definition->parameters[i],
                                             by_position.get());
      PyList_SET_ITEM(parameters.get(), i, checked(item).release());
    }
    return PyObject_CallMethod(inspect.get(), "Signature", "O", parameters.get());
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}
PyObject* reduce(PyObject* self, PyObject*) {
  static char name[] = "__qualname__";
  return get_name(self, name);
}

char name_name[] = "__name__", qualname_name[] = "__qualname__", doc_name[] = "__doc__",
     annotations_name[] = "__annotations__", type_params_name[] = "__type_params__";
PyGetSetDef function_attributes[] = {
    {"__name__", get_name, nullptr, nullptr, name_name},
    {"__qualname__", get_name, nullptr, nullptr, qualname_name},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_from_wrapped, nullptr, nullptr, doc_name},
    {"__annotations__", get_from_wrapped, nullptr, nullptr, annotations_name},
    {"__type_params__", get_from_wrapped, nullptr, nullptr, type_params_name},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef function_methods[] = {
    {"__reduce__", reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(FunctionObject, wrapped), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
PyTypeObject function_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
#pragma GCC diagnostic pop

// A Function that takes the definition's parameters by position.
Ref new_function(const Definition& definition) {
  auto* f = PyObject_GC_New(FunctionObject, &function_type);
  if (!f) throw PythonError{};
  f->call = call;
  f->definition = &definition;
  f->wrapped = f->names = nullptr;
  std::fill_n(f->defaults, max_parameters, nullptr);
  f->positional_only = f->positional = definition.count;
  f->gathers = false;
  f->weak_references = nullptr;
  PyObject_GC_Track(f);
  return Ref(reinterpret_cast<PyObject*>(f));
}

std::unordered_map<std::string_view, const Definition*>& definitions() {
  static std::unordered_map<std::string_view, const Definition*> known;
  return known;
}

long int_attribute(PyObject* object, const char* name) {
  const Ref value = checked(PyObject_GetAttrString(object, name));
  const long number = PyLong_AsLong(value.get());
  if (number == -1 && PyErr_Occurred()) throw PythonError{};
  return number;
}

// Reads names, kinds and defaults of f's parameters off the Python function. The names must be
// those of the definition, so that neither can change alone; a method's first is called self.
void read_signature(FunctionObject& f) {
  const Definition& definition = *f.definition;
  const Ref code = checked(PyObject_GetAttrString(f.wrapped, "__code__"));
  const long by_position = int_attribute(code.get(), "co_argcount");
  const long by_keyword_only = int_attribute(code.get(), "co_kwonlyargcount");
  f.gathers = (int_attribute(code.get(), "co_flags") & CO_VARARGS) != 0;
  f.positional = static_cast<int>(by_position);
  f.positional_only = static_cast<int>(int_attribute(code.get(), "co_posonlyargcount"));
  bool fits = by_position + by_keyword_only + f.gathers == definition.count;
  // The name of a tuple of the rest stands behind all others there; here before the keywords'.
  const Ref all = checked(PyObject_GetAttrString(code.get(), "co_varnames"));
  Ref names = checked(PyTuple_New(definition.count));
  for (int i = 0; fits && i < definition.count; ++i) {
    const long place = !f.gathers || i < by_position ? i
                       : i == by_position            ? by_position + by_keyword_only
                                                     : i - 1;
    PyObject* name = PyTuple_GET_ITEM(all.get(), place);
    fits = PyUnicode_CompareWithASCIIString(name, definition.parameters[i]) == 0 ||
           (i == 0 && PyUnicode_CompareWithASCIIString(name, "self") == 0);
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(name));
  }
  if (!fits) {
    type_error("the parameters of ", definition.name,
               "() are not those of the Python function that stands for it");
  }
  f.names = names.release();
  const Ref defaults = checked(PyObject_GetAttrString(f.wrapped, "__defaults__"));
  if (defaults.get() != Py_None) {
    const auto count = static_cast<int>(PyTuple_GET_SIZE(defaults.get()));
    for (int i = 0; i < count; ++i) {
      f.defaults[f.positional - count + i] = Py_NewRef(PyTuple_GET_ITEM(defaults.get(), i));
    }
  }
  const Ref by_keyword = checked(PyObject_GetAttrString(f.wrapped, "__kwdefaults__"));
  const int first_keyword = f.positional + f.gathers;
  for (int i = first_keyword; by_keyword.get() != Py_None && i < definition.count; ++i) {
    f.defaults[i] =
        Py_XNewRef(PyDict_GetItemWithError(by_keyword.get(), PyTuple_GET_ITEM(f.names, i)));
    if (!f.defaults[i] && PyErr_Occurred()) throw PythonError{};
  }
}

// _core.function(python_function, name=None): the definition of that name, or the function's own,
// with the signature and documentation of the Python function.
pybind11::object function(const pybind11::object& wrapped, const std::optional<std::string>& name) {
  const std::string wanted = name ? *name : wrapped.attr("__name__").cast<std::string>();
  const auto found = definitions().find(wanted);
  if (found == definitions().end()) value_error("_core has no function named '", wanted, "'");
  Ref function = new_function(*found->second);
  FunctionObject* f = function_of(function.get());
  f->wrapped = Py_NewRef(wrapped.ptr());
  if (f->definition->parameters) read_signature(*f);
  return pybind11::reinterpret_steal<pybind11::object>(function.release());
}

}  // namespace

void add_definition(const char* name, const Definition* definition) {
  definitions()[name] = definition;
}

PyObject* positional_function(const Definition* definition) {
  return new_function(*definition).release();
}

void bind_function_type(pybind11::module_& module) {
  function_type.tp_name = "arrayx._core.Function";
  function_type.tp_doc = "A function of arrayx that is called without a Python function between.";
  function_type.tp_basicsize = sizeof(FunctionObject);
  function_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                           Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                           Py_TPFLAGS_METHOD_DESCRIPTOR;
  function_type.tp_dealloc = deallocate_function;
  function_type.tp_traverse = traverse;
  function_type.tp_clear = clear;
  function_type.tp_weaklistoffset = offsetof(FunctionObject, weak_references);
  function_type.tp_vectorcall_offset = offsetof(FunctionObject, call);
  function_type.tp_call = PyVectorcall_Call;
  function_type.tp_repr = repr;
  function_type.tp_descr_get = bind_to;
  function_type.tp_getset = function_attributes;
  function_type.tp_methods = function_methods;
  function_type.tp_members = members;
  if (PyType_Ready(&function_type) < 0) throw pybind11::error_already_set();
  module.add_object("Function", reinterpret_cast<PyObject*>(&function_type));
  for (int i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    if (op == Op::clip) continue;  // optional arguments: functions.cpp
    add_definition(info(op).name,
                   new Operation{{info(op).name, info(op).arity, nullptr, call_operation}, op});
  }
  module.def("function", function, pybind11::arg("function"), pybind11::pos_only(),
             pybind11::arg("name") = std::nullopt,
             "function($module, function, /, name=None)\n--\n\n");
}

}  // namespace arrayx::python
