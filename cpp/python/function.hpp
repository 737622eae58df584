// Function: the callable type of _core. A Definition says what a function computes from a fixed row
// of arguments; the Python function it stands for says how it is called. Calls go straight from the
// interpreter to the definition (PEP 590), so that a public function costs no more than an
// operator.
#pragma once

#include "objects.hpp"

namespace arrayx::python {

inline constexpr int max_parameters = 8;

struct Definition {
  const char* name;
  int count;                      // parameters
  const char* const* parameters;  // their names; null when they are taken by position only
  // The result, or null with an exception set; `arguments` holds one object per parameter.
  PyObject* (*call)(const Definition& self, PyObject* const* arguments) noexcept;
};

// Makes a definition, which must live as long as the process, known to _core.function under a name,
// …
void add_definition(const char* name, const Definition* definition);
// … and a Function that takes all its parameters by position; a new reference.
PyObject* positional_function(const Definition* definition);

}  // namespace arrayx::python
