// The CUDA engine as a Backend: forwards each verb that has kernels to its file, with the device
// made the current one. What has none, a verb or a dtype of it, runs on the host.
#include <atomic>
#include <memory>

#include "../cpp/host_fallback.hpp"
#include "engine.hpp"

namespace arrayx {

namespace {

using cuda::OnDevice;

class CudaBackend final : public HostFallback {
 public:
  CudaBackend(int index, Backend& host) : HostFallback(host), index_(index) {}

  Device device() const override { return {DeviceType::cuda, index_}; }
  std::string description() const override {
    const OnDevice here(index_);
    const cuda::DeviceProperties& p = cuda::properties();
    return std::string(p.name) + ", compute capability " + std::to_string(p.major) + "." +
           std::to_string(p.minor) + ", " + std::to_string(p.memory_bytes >> 20) + " MiB";
  }

  StorageRef allocate(std::int64_t bytes) override {
    const OnDevice here(index_);
    return cuda::allocate(bytes);
  }
  MemoryInfo memory_info() override {
    const OnDevice here(index_);
    return cuda::memory_info();
  }
  void set_cache_limit(std::int64_t bytes) override {
    const OnDevice here(index_);
    cuda::set_cache_limit(bytes);
  }
  void empty_cache() override {
    const OnDevice here(index_);
    cuda::empty_cache();
  }
  void download(const void* on_device, void* on_host, std::size_t bytes) override {
    const OnDevice here(index_);
    cuda::check(cudaMemcpy(on_host, on_device, bytes, cudaMemcpyDeviceToHost),
                "a copy to the host");
  }
  void upload(const void* on_host, void* on_device, std::size_t bytes) override {
    const OnDevice here(index_);
    cuda::check(cudaMemcpy(on_device, on_host, bytes, cudaMemcpyHostToDevice),
                "a copy to the device");
  }
  void synchronize() override {
    const OnDevice here(index_);
    cuda::check(cudaDeviceSynchronize(), "synchronize");
  }
  void wait_for(std::uintptr_t stream) override {
    order(reinterpret_cast<cudaStream_t>(stream), cuda::stream());
  }
  void let_wait(std::uintptr_t stream) override {
    order(cuda::stream(), reinterpret_cast<cudaStream_t>(stream));
  }

  void elementwise(Op op, DType compute, std::span<const Operand> inputs,
                   const Operand& out) override {
    run([&] { cuda::elementwise(op, compute, inputs, out); },
        [&] { HostFallback::elementwise(op, compute, inputs, out); });
  }
  void copy(const Operand& in, const Operand& out) override {
    run([&] { cuda::copy(in, out); }, [&] { HostFallback::copy(in, out); });
  }
  void arange(const Operand& out, const Element& start, const Element& step) override {
    run([&] { cuda::arange(out, start, step); }, [&] { HostFallback::arange(out, start, step); });
  }
  void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
                bool endpoint) override {
    run([&] { cuda::linspace(out, start, stop, endpoint); },
        [&] { HostFallback::linspace(out, start, stop, endpoint); });
  }
  void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) override {
    run([&] { cuda::triangle(in, out, k, upper); },
        [&] { HostFallback::triangle(in, out, k, upper); });
  }
  void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
              const Operand* center, const Operand& out) override {
    run([&] { cuda::reduce(op, accumulator, in, reduced, center, out); },
        [&] { HostFallback::reduce(op, accumulator, in, reduced, center, out); });
  }
  void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) override {
    run([&] { cuda::arg_reduce(largest, in, axis, out); },
        [&] { HostFallback::arg_reduce(largest, in, axis, out); });
  }

  void scan(bool product, const Operand& in, int axis, bool include_initial,
            const Operand& out) override {
    run([&] { cuda::scan(product, in, axis, include_initial, out); },
        [&] { HostFallback::scan(product, in, axis, include_initial, out); });
  }

  void gather(const Operand& in, const Operand& offsets, const Operand& out) override {
    const OnDevice here(index_);
    cuda::gather(in, offsets, out);
  }
  std::optional<bool> gather_indexed(const Operand& in, const Operand& index, std::int64_t n,
                                     std::int64_t stride, const Operand& out,
                                     std::int64_t* bad) override {
    const OnDevice here(index_);
    return cuda::gather_indexed(in, index, n, stride, out, bad);
  }
  bool compress(const Operand& in, const Operand& mask, const Operand& out) override {
    const OnDevice here(index_);
    cuda::compress(in, mask, out);
    return true;
  }
  void scatter(const Operand& in, const Operand& offsets, const Operand& out) override {
    const OnDevice here(index_);
    cuda::scatter(in, offsets, out);
  }
  bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                          const Operand& offsets, std::int64_t* bad) override {
    const OnDevice here(index_);
    return cuda::accumulate_offsets(index, n, stride, offsets, bad);
  }
  std::int64_t count_nonzero(const Operand& in) override {
    const OnDevice here(index_);
    return cuda::count_nonzero(in);
  }
  void nonzero(const Operand& in, std::span<const Operand> out) override {
    const OnDevice here(index_);
    cuda::nonzero(in, out);
  }

  void sort(const Operand& in, int axis, bool descending, const Operand& out) override {
    run([&] { cuda::sort(in, axis, descending, out); },
        [&] { HostFallback::sort(in, axis, descending, out); });
  }
  void argsort(const Operand& in, int axis, bool descending, const Operand& out) override {
    run([&] { cuda::argsort(in, axis, descending, out); },
        [&] { HostFallback::argsort(in, axis, descending, out); });
  }
  bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                    const Operand& out) override {
    const OnDevice here(index_);
    return cuda::searchsorted(in, sorter, values, right, out);
  }

  void matmul(const Operand& a, const Operand& b, const Operand& out) override {
    run([&] { cuda::matmul(a, b, out); }, [&] { HostFallback::matmul(a, b, out); });
  }

  bool owns(const void* address) override {
    cudaPointerAttributes where;
    cuda::check(cudaPointerGetAttributes(&where, address), "cudaPointerGetAttributes");
    return where.device == index_ &&
           (where.type == cudaMemoryTypeDevice || where.type == cudaMemoryTypeManaged);
  }

 private:
  template <class Kernels, class Host>
  void run(Kernels&& kernels, Host&& host) {
    const OnDevice here(index_);
    try {
      kernels();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_implemented) throw;
      host();
    }
  }

  // What `later` is given from now on waits for what `earlier` was given so far.
  void order(cudaStream_t earlier, cudaStream_t later) {
    if (earlier == later) return;
    const OnDevice here(index_);
    cudaEvent_t event;
    cuda::check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    const cudaError_t recorded = cudaEventRecord(event, earlier);
    const cudaError_t waits =
        recorded == cudaSuccess ? cudaStreamWaitEvent(later, event) : recorded;
    cudaEventDestroy(event);  // once it has happened
    cuda::check(waits, "waiting for another stream");
  }

  int index_;
};

}  // namespace

}  // namespace arrayx

extern "C" __attribute__((visibility("default"))) arrayx::Backend* arrayx_cuda_engine(
    int index, arrayx::Backend* cpu) {
  using namespace arrayx;
  const int count = cuda::device_count();
  if (index >= count) {
    value_error("there ", count == 1 ? "is one GPU" : "are " + std::to_string(count) + " GPUs");
  }
  return new CudaBackend(index, *cpu);
}
