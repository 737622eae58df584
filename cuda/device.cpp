// The GPUs of this machine, the current one of a thread, and what a failed call of CUDA becomes.
#include <sstream>
#include <vector>

#include "engine.hpp"

namespace arrayx::cuda {

namespace {

thread_local int current = -1;  // the device that the engine uses in this thread

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Errors of work that was queued before: CUDA reports them by any later call, and uses the device
// no more.
bool is_of_earlier_work(cudaError_t status) {
  switch (status) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

int count_devices() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) value_error("no NVIDIA driver is installed");
    value_error("the NVIDIA driver is too old: it is for CUDA ", version_text(driver),
                ", and the library for CUDA ", version_text(CUDART_VERSION));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
    value_error("there is no NVIDIA GPU, or CUDA_VISIBLE_DEVICES hides it");
  }
  check(status, "counting the devices");
  return count;
}

DeviceProperties read_properties(int index) {
  cudaDeviceProp all;
  check(cudaGetDeviceProperties(&all, index), "cudaGetDeviceProperties");
  DeviceProperties p;
  p.index = index;
  p.major = all.major;
  p.minor = all.minor;
  p.multiprocessors = all.multiProcessorCount;
  p.threads_per_multiprocessor = all.maxThreadsPerMultiProcessor;
  p.shared_bytes_per_block = all.sharedMemPerBlock;
  p.shared_bytes_opt_in = all.sharedMemPerBlockOptin;
  p.l2_bytes = static_cast<std::size_t>(all.l2CacheSize);
  p.memory_bytes = all.totalGlobalMem;
  std::memcpy(p.name, all.name, sizeof p.name);
  return p;
}

}  // namespace

void fail(cudaError_t status, const char* what) {
  cudaGetLastError();  // what is reported here is not reported again
  std::ostringstream where;
  where << "CUDA";
  if (current >= 0) where << " on cuda:" << current;
  if (status == cudaErrorMemoryAllocation) {
    raise(ErrorKind::memory, where.str(), ": no memory for ", what);
  }
  const char* const name = cudaGetErrorName(status);
  const char* const text = cudaGetErrorString(status);
  if (is_of_earlier_work(status)) {
    raise(ErrorKind::runtime, where.str(), ": an earlier operation failed, as ", what,
          " now learned (", name, ": ", text, "); this process cannot use the device any more");
  }
  if (status == cudaErrorNoKernelImageForDevice) {
    raise(ErrorKind::runtime, where.str(), ": the library has no kernels for compute capability ",
          properties().major, ".", properties().minor,
          "; build it with this in ARRAYX_CUDA_ARCHITECTURES");
  }
  raise(ErrorKind::runtime, where.str(), ": ", what, " failed (", name, ": ", text, ")");
}

int device_count() {
  static const int count = count_devices();
  return count;
}

const DeviceProperties& properties() {
  static const std::vector<DeviceProperties> all = [] {
    std::vector<DeviceProperties> rows;
    for (int i = 0; i < device_count(); ++i) rows.push_back(read_properties(i));
    return rows;
  }();
  return all[static_cast<std::size_t>(current)];
}

OnDevice::OnDevice(int index) : outer_(current), caller_(-1) {
  // Every thread has the only device already.
  if (device_count() > 1) {
    int before;
    check(cudaGetDevice(&before), "cudaGetDevice");
    if (before != index) {
      check(cudaSetDevice(index), "cudaSetDevice");
      caller_ = before;
    }
  }
  current = index;
}
OnDevice::~OnDevice() {
  current = outer_;
  if (caller_ >= 0) cudaSetDevice(caller_);
}

}  // namespace arrayx::cuda
