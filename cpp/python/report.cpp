// What `python -m arrayx` prints of the compiled part: compiler, instruction sets, threads,
// OpenBLAS, CUDA.
#include <dlfcn.h>
#if defined(_OPENMP)
#include <omp.h>
#endif

#include <string>

#include "../backend.hpp"
#include "../cpu/blas.hpp"
#include "../cpu/isa.hpp"
#include "../cpu/kernels.hpp"
#include "../cpu/parallel.hpp"
#include "bind.hpp"

namespace py = pybind11;

namespace arrayx::python {
namespace {

// The shared library that has an address; empty where it is not known.
std::string library_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

py::dict report() {
  py::dict out;
#if defined(__clang__)
  out["compiler"] = __VERSION__;
#else
  out["compiler"] = "GCC " __VERSION__;
#endif
  out["pybind11"] =
      PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(PYBIND11_VERSION_MINOR);
  py::list built, on_cpu;
  for (const cpu::InstructionSet& set : cpu::instruction_sets()) {
    if (set.built) built.append(set.name);
    if (set.on_cpu) on_cpu.append(set.name);
  }
  out["isa_built"] = built;
  out["isa_on_cpu"] = on_cpu;
  out["isa"] = cpu::kernels().isa;
  out["threads"] = cpu::thread_count();
#if defined(_OPENMP)
  out["openmp"] = _OPENMP;  // year and month of the specification
  out["openmp_library"] = library_of(reinterpret_cast<const void*>(&omp_get_max_threads));
  out["openmp_processors"] = omp_get_num_procs();
  out["openmp_thread_limit"] = omp_get_thread_limit();
#else
  out["openmp"] = py::none();
#endif
  return out;
}

// Opens OpenBLAS where it is not open yet.
py::dict openblas_report() {
  const auto text = [](const char* name) {
    return std::string(reinterpret_cast<const char* (*)()>(cpu::blas_symbol(name))());
  };
  const auto number = [](const char* name) {
    return reinterpret_cast<int (*)()>(cpu::blas_symbol(name))();
  };
  py::dict out;
  out["config"] = text("openblas_get_config");
  out["core"] = text("openblas_get_corename");
  out["threads"] = number("openblas_get_num_threads");
  constexpr const char* models[] = {"none", "pthreads", "OpenMP"};
  const int model = number("openblas_get_parallel");
  out["threading"] = model >= 0 && model < 3 ? models[model] : "unknown";
  out["library"] = library_of(cpu::blas_symbol("openblas_get_config"));
  return out;
}

// Opens the CUDA library where it is not open yet.
py::dict cuda_report() {
  py::dict out;
  out["library"] = cuda_library();
  py::list names;
  try {
    backend({DeviceType::cuda, 0});
    for (Device d : devices()) {
      if (d.type == DeviceType::cuda) names.append(backend(d).description());
    }
    out["error"] = py::none();
  } catch (const Error& error) {
    out["error"] = error.what();
  }
  out["devices"] = names;
  return out;
}

}  // namespace

void bind_report(py::module_& module) {
  module.def("report", report,
             "report($module, /)\n--\n\nCompiler, instruction sets and threads, by name.");
  module.def("openblas_report", openblas_report,
             "openblas_report($module, /)\n--\n\nOpenBLAS's version, core and threads, by name.");
  module.def(
      "cuda_report", cuda_report,
      "cuda_report($module, /)\n--\n\nThe CUDA library, its devices, or why there are none.");
}

}  // namespace arrayx::python
