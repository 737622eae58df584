// The CUDA engine: Backend over the memory of a GPU. Each family of verbs has a file of its own,
// named as in cpp/cpu; a verb without a kernel runs on the host (cpp/host_fallback.hpp).
// A verb runs on the current device, which CudaBackend sets, and queues its work on stream(). What
// it has no kernels for, such as a dtype, it refuses with ErrorKind::not_implemented before
// anything is written, and the host computes it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "../cpp/backend.hpp"

namespace arrayx::cuda {

// ---- errors (device.cu)

// Throws for a call of CUDA that failed: MemoryError for a lack of memory, else RuntimeError; one
// that says so when the error is that of earlier work, which the device reports late. `what` names
// the call, or the verb whose kernel was launched.
[[noreturn]] void fail(cudaError_t status, const char* what);
inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, what);
}
// To be called after the launches of a verb.
inline void check_launch(const char* verb) {
  check(cudaGetLastError(), verb);
}

// ---- devices (device.cu)

struct DeviceProperties {
  int index = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  std::size_t shared_bytes_per_block = 0;  // without and …
  std::size_t shared_bytes_opt_in = 0;     // … with cudaFuncSetAttribute
  std::size_t l2_bytes = 0;
  std::size_t memory_bytes = 0;
  char name[256] = {};
};

// How many GPUs there are; an error says why there are none.
int device_count();
// Of the device that the running verb uses: cheap, read once.
const DeviceProperties& properties();

// Makes a device the current one of this thread for a scope.
class OnDevice {
 public:
  explicit OnDevice(int index);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int outer_;   // what the engine used before, -1 for nothing
  int caller_;  // what CUDA's current device was, -1 if it need not be set back
};

// The stream that everything runs on: the legacy default stream, so that work is in order with that
// of PyTorch's and CuPy's default streams, and memory that is freed can be used again at once.
inline cudaStream_t stream() {
  return cudaStreamLegacy;
}

// ---- memory.cpp: of the current device
StorageRef allocate(std::int64_t bytes);  // 256-byte aligned
bool share_with_host(Storage& storage);
MemoryInfo memory_info();
void set_cache_limit(std::int64_t bytes);
void empty_cache();

// Uninitialised memory of the current device for the work queued while it lives: the kernels that
// use it are queued before those of its next owner, so it may go before they have run.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : storage_(allocate(static_cast<std::int64_t>(bytes))) {}
  template <class T = void>
  T* as() const {
    return static_cast<T*>(storage_->data);
  }

 private:
  StorageRef storage_;
};

// ---- transfer.cpp: between the device and the host, whose engine's threads copy, too. Both wait
// for the device's earlier work; what was uploaded may be on its way still, and its source may
// change.
void upload(Backend& host, const void* on_host, void* on_device, std::size_t bytes);
void download(Backend& host, const void* on_device, void* on_host, std::size_t bytes);

// ---- elementwise.cu
void elementwise(Op op, DType compute, std::span<const Operand> inputs, const Operand& out);
// ---- copy.cu
void copy(const Operand& in, const Operand& out);
void arange(const Operand& out, const Element& start, const Element& step);
void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
              bool endpoint);
void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper);
// ---- join.cu
void join(std::span<const Operand> parts, int axis, const Operand& out);
// ---- reduce.cu
void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
            const Operand& out);
void mean(const Operand& in, std::span<const bool> reduced, double n, const Operand& out);
void norm(const Operand& in, std::span<const bool> reduced, bool squares, const Operand& out);
void deviation(const Operand& in, std::span<const bool> reduced, double divisor, bool root,
               const Operand& out);
void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out);
// ---- scan.cu
void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out);
// ---- indexing.cu
void gather(const Operand& in, const Operand& offsets, const Operand& out);
// Throws IndexError for an index out of bounds that the verbs below met since the last call: to be
// called where the host has waited for the device. They themselves do not wait.
void check_indices();
void gather_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                    const Operand& out);
void scatter_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                     const Operand& out);
void accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                        const Operand& offsets);
void compress(const Operand& in, const Operand& mask, const Operand& out);
void scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
             const Operand& out);
std::int64_t count_nonzero(const Operand& in);
void nonzero(const Operand& in, std::span<const Operand> out);
// ---- sort.cu
void sort(const Operand& in, int axis, bool descending, const Operand& out);
void argsort(const Operand& in, int axis, bool descending, const Operand& out);
bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                  const Operand& out);
bool isin(const Operand& elements, const Operand& sorted, bool invert, const Operand& out);
bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out);
// Pairs in the order of so many bits of their keys, equal ones as they stood: from the first of
// each two arrays to what are the first then.
void sort_pairs(std::uint32_t* (&keys)[2], std::uint32_t* (&order)[2], std::int64_t n, int bits);
// ---- matmul.cu
void matmul(const Operand& a, const Operand& b, const Operand& out);
// ---- dots.cu
void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out);
// ---- cross.cu
bool cross(const Operand& a, const Operand& b, const Operand& out);
// ---- linalg.cu
std::int64_t solve(const Operand& a, const Operand& b, const Operand& out);
std::int64_t inverse(const Operand& a, const Operand& out);
void determinant(const Operand& a, const Operand* det, const Operand* sign, const Operand* log_abs);
std::int64_t cholesky(const Operand& a, const Operand& out, bool upper);
void qr(const Operand& a, const Operand& q, const Operand& r);
std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors);
std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors);
std::int64_t svd(const Operand& a, const Operand* u, const Operand& s, const Operand* vh);
// ---- fft.cu
void fft(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
         double scale);
void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
          double scale);
void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale, bool spent);
Dims fft_order(DType in, DType out, const Dims& lengths, std::span<const int> axes);
bool fft_takes_real(DType in, const Dims& shape, int axis);

}  // namespace arrayx::cuda
