// The parts of the extension module arrayx._core; module.cpp calls each once.
#pragma once

#include "casters.hpp"

namespace arrayx::python {

void bind_dtype(pybind11::module_& module);          // dtype.cpp: DType, Device
void bind_array(pybind11::module_& module);          // array.cpp: Array
void bind_function_type(pybind11::module_& module);  // function.cpp: Function
void bind_interchange(pybind11::module_& module);    // interchange.cpp: from_dlpack
void bind_asarray(pybind11::module_& module);        // asarray.cpp: asarray
void bind_functions(pybind11::module_& module);      // functions.cpp: the chapters of the standard
void bind_fft(pybind11::module_& module);            // fft_functions.cpp: the fft extension
void bind_linalg(pybind11::module_& module);         // linalg_functions.cpp: the linalg extension
void bind_report(pybind11::module_& module);         // report.cpp: what python -m arrayx prints

}  // namespace arrayx::python
