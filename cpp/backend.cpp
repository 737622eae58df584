// Which engine serves a device. The CUDA library is opened when a CUDA device is first asked for.
#include "backend.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "cpu/engine.hpp"
#include "shared_library.hpp"

namespace arrayx {

namespace {

constexpr int most_cuda_devices = 64;
std::atomic<Backend*> cuda_engines[most_cuda_devices];

CudaEngine* open_cuda_library() {
  const std::string path = cuda_library();
  if (access(path.c_str(), F_OK) != 0) {
    value_error("this build of arrayx has no CUDA library (", path, " does not exist)");
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) value_error("the CUDA library could not be opened: ", dlerror());
  void* symbol = dlsym(library, cuda_engine_symbol);
  if (!symbol) value_error("the CUDA library ", path, " has no ", cuda_engine_symbol);
  auto* const interface = reinterpret_cast<CudaInterface*>(dlsym(library, cuda_interface_symbol));
  if (!interface || std::string_view(interface()) != ARRAYX_INTERFACE) {
    raise(ErrorKind::runtime, "the CUDA library ", path,
          " was built from other sources than the extension module; build both anew");
  }
  return reinterpret_cast<CudaEngine*>(symbol);
}

Backend& open_cuda_engine(int index) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  Backend* engine = cuda_engines[index].load(std::memory_order_relaxed);
  if (!engine) {
    engine = open_cuda_library()(index, &cpu::instance());
    cuda_engines[index].store(engine, std::memory_order_release);
  }
  return *engine;
}

}  // namespace

Backend& cpu_backend() {
  return cpu::instance();
}

Backend& other_backend(Device device) {
  if (device.type != DeviceType::cuda || device.index < 0 || device.index >= most_cuda_devices) {
    value_error("device '", device, "' does not exist");
  }
  Backend* engine = cuda_engines[device.index].load(std::memory_order_acquire);
  if (engine) return *engine;
  try {
    return open_cuda_engine(device.index);
  } catch (const Error& error) {
    raise(error.kind(), "device '", device, "' is not available: ", error.what());
  }
}

std::vector<Device> devices() {
  std::vector<Device> found{Device{}};
  try {
    for (int i = 0; i < most_cuda_devices; ++i) {
      found.push_back(other_backend({DeviceType::cuda, i}).device());
    }
  } catch (const Error&) {  // there are no more
  }
  return found;
}

std::string cuda_library() {
  const char* given = std::getenv("ARRAYX_CUDA_LIBRARY");
  if (given && *given) return given;
  return beside(reinterpret_cast<const void*>(&cuda_library), "libarrayx_cuda.so");
}

}  // namespace arrayx
