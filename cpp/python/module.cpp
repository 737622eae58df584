// The extension module arrayx._core: registers its parts, and what concerns the process as a whole.
#include "../cpu/kernels.hpp"
#include "../cpu/parallel.hpp"
#include "bind.hpp"

namespace py = pybind11;

namespace arrayx::python {
namespace {

Device or_default(std::optional<Device> device) {
  return device.value_or(default_device());
}

void bind_process(py::module_& module) {
  module.def(
      "memory_info",
      [](std::optional<Device> device) {
        const MemoryInfo info = backend(or_default(device)).memory_info();
        py::dict out;
        out["in_use"] = info.in_use;
        out["cached"] = info.cached;
        out["limit"] = info.limit;
        return out;
      },
      py::arg("device") = py::none(),
      "memory_info($module, /, device=None)\n--\n\n"
      "Bytes of live arrays, bytes kept for reuse, and the most that are kept.");
  module.def(
      "set_cache_limit",
      [](std::int64_t limit, std::optional<Device> device) {
        if (limit < 0) value_error("limit is a number of bytes, at least 0, not ", limit);
        backend(or_default(device)).set_cache_limit(limit);
      },
      py::arg("limit"), py::arg("device") = py::none(),
      "set_cache_limit($module, /, limit, device=None)\n--\n\n");
  module.def(
      "empty_cache",
      [](std::optional<Device> device) { backend(or_default(device)).empty_cache(); },
      py::arg("device") = py::none(), "empty_cache($module, /, device=None)\n--\n\n");
  module.def(
      "synchronize",
      [](std::optional<Device> device) {
        const WithoutGil guard;
        backend(or_default(device)).synchronize();
      },
      py::arg("device") = py::none(), "synchronize($module, /, device=None)\n--\n\n");
  module.def(
      "isa", [] { return cpu::kernels().isa; },
      "isa($module, /)\n--\n\nThe instruction set in use on the CPU.");
  module.def("thread_count", &cpu::thread_count,
             "thread_count($module, /)\n--\n\nThreads that a loop on the CPU may use.");
  module.def(
      "devices",
      [] {
        py::list out;
        for (Device d : devices()) out.append(py::reinterpret_steal<py::object>(to_python(d)));
        return out;
      },
      "devices($module, /)\n--\n\nThe devices there are, the CPU first.");
  module.def("default_device", &default_device, "default_device($module, /)\n--\n\n");
  module.def("set_default_device", &set_default_device, py::arg("device"),
             "set_default_device($module, /, device)\n--\n\n"
             "Set the device on which arrays are made when none is named.");
}

}  // namespace
}  // namespace arrayx::python

PYBIND11_MODULE(_core, module) {
  using namespace arrayx::python;
  py::options options;
  options.disable_function_signatures();  // docstrings begin with those that inspect reads
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const arrayx::Error&) {
      set_python_error();
    } catch (const PythonError&) {
      set_python_error();
    }
  });
  bind_dtype(module);
  bind_array(module);
  bind_function_type(module);
  bind_interchange(module);
  bind_asarray(module);
  bind_functions(module);
  bind_fft(module);
  bind_linalg(module);
  bind_process(module);
  bind_report(module);
}
