// What the files that make up the Array type share: array.cpp (the type, attributes, conversions),
// operators.cpp, function.cpp, indexing.cpp, interchange.cpp and asarray.cpp.
#pragma once

#include "../frontend/elementwise.hpp"
#include "../frontend/indexing.hpp"
#include "objects.hpp"

namespace arrayx::python {

// An object around a default-constructed Array, from the free list when that has one; null with
// MemoryError set when there is no memory.
ArrayObject* new_array_object() noexcept;

// ---- operators.cpp
extern PyNumberMethods array_as_number;
PyObject* array_compare(PyObject* self, PyObject* other, int operation);
// op(arguments…) by the fast path or the general one; every argument is an Array or a Python scalar
// and one of them an Array, else NotImplemented.
PyObject* apply_unary(Op op, PyObject* x) noexcept;
PyObject* apply_binary(Op op, PyObject* a, PyObject* b) noexcept;

// ---- indexing.cpp
extern PyMappingMethods array_as_mapping;
extern PySequenceMethods array_as_sequence;
PyObject* array_iterate(PyObject* self);
PyObject* array_item(PyObject* self, PyObject* const* args, Py_ssize_t count);

// ---- interchange.cpp
extern PyBufferProcs array_as_buffer;
PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
PyObject* array_dlpack_device(PyObject* self, PyObject*);
PyObject* array_cuda_interface(PyObject* self, void*);
PyObject* array_numpy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names);
// A view of an object with the buffer protocol; a copy when its memory cannot be used as it is
// (ValueError when `may_copy` is false). TypeError for element types that arrayx does not have.
Array from_buffer(PyObject* object, bool may_copy = true);
// An array over the memory that __cuda_array_interface__ names; false when the object has none.
bool from_cuda_interface(PyObject* object, Array& out);
Array from_dlpack(PyObject* object, std::optional<Device> device, std::optional<bool> copy);

// ---- asarray.cpp
Array asarray(PyObject* object, OptionalDType dtype = {}, std::optional<Device> device = {},
              std::optional<bool> copy = {});
// What x[key] = object assigns: an Array or a scalar as it is; numbers in a nested sequence are as
// weakly typed as a scalar.
Value as_assignable(PyObject* object, const Array& target);

// Parses keyword arguments of a vectorcall that takes no positional ones: values[i] belongs to
// names[i] and stays null when not given. Throws PythonError with a TypeError set.
void keyword_arguments(const char* function, PyObject* const* args, Py_ssize_t count,
                       PyObject* given, std::initializer_list<const char*> names,
                       PyObject** values);
// None or absent: nothing; else a truth value.
std::optional<bool> optional_bool(PyObject* object);

}  // namespace arrayx::python
