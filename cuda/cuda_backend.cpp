// The CUDA engine as a Backend: forwards each verb that has kernels to its file, with the device
// made the current one. What has none, a verb or a dtype of it, runs on the host.
#include <atomic>
#include <memory>
#include <type_traits>

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
  bool share_with_host(Storage& storage) override {
    const OnDevice here(index_);
    return checked(cuda::share_with_host(storage));
  }
  MemoryInfo memory_info() override {
    const OnDevice here(index_);
    return cuda::memory_info();
  }
  void set_cache_limit(std::int64_t bytes) override {
    const OnDevice here(index_);
    cuda::set_cache_limit(bytes);
    cuda::check_indices();
  }
  void empty_cache() override {
    const OnDevice here(index_);
    cuda::empty_cache();
    cuda::check_indices();
  }
  void download(const void* on_device, void* on_host, std::size_t bytes) override {
    const OnDevice here(index_);
    cuda::download(host(), on_device, on_host, bytes);
    cuda::check_indices();
  }
  void upload(const void* on_host, void* on_device, std::size_t bytes) override {
    const OnDevice here(index_);
    cuda::upload(host(), on_host, on_device, bytes);
  }
  void synchronize() override {
    const OnDevice here(index_);
    cuda::check(cudaDeviceSynchronize(), "synchronize");
    cuda::check_indices();
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
  void join(std::span<const Operand> parts, int axis, const Operand& out) override {
    run([&] { cuda::join(parts, axis, out); }, [&] { HostFallback::join(parts, axis, out); });
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
  bool mean(const Operand& in, std::span<const bool> reduced, double n,
            const Operand& out) override {
    const OnDevice here(index_);
    cuda::mean(in, reduced, n, out);
    return true;
  }
  bool deviation(const Operand& in, std::span<const bool> reduced, double divisor, bool root,
                 const Operand& out) override {
    const OnDevice here(index_);
    cuda::deviation(in, reduced, divisor, root, out);
    return true;
  }
  bool norm(const Operand& in, std::span<const bool> reduced, bool squares,
            const Operand& out) override {
    const OnDevice here(index_);
    cuda::norm(in, reduced, squares, out);
    return true;
  }
  void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
              const Operand* center, const Operand& out) override {
    run([&] { cuda::reduce(op, accumulator, in, reduced, out); },
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
                                     std::int64_t*) override {
    const OnDevice here(index_);
    cuda::gather_indexed(in, index, n, stride, out);
    return true;
  }
  bool compress(const Operand& in, const Operand& mask, const Operand& out) override {
    const OnDevice here(index_);
    cuda::compress(in, mask, out);
    return true;
  }
  void scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
               const Operand& out) override {
    const OnDevice here(index_);
    cuda::scatter(in, offsets, range, out);
  }
  std::optional<bool> scatter_indexed(const Operand& in, const Operand& index, std::int64_t n,
                                      std::int64_t stride, const Operand& out,
                                      std::int64_t*) override {
    const OnDevice here(index_);
    cuda::scatter_indexed(in, index, n, stride, out);
    return true;
  }
  bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                          const Operand& offsets, std::int64_t*) override {
    const OnDevice here(index_);
    cuda::accumulate_offsets(index, n, stride, offsets);
    return true;
  }
  std::int64_t count_nonzero(const Operand& in) override {
    const OnDevice here(index_);
    return checked(cuda::count_nonzero(in));
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
  bool isin(const Operand& elements, const Operand& sorted, bool invert,
            const Operand& out) override {
    const OnDevice here(index_);
    return cuda::isin(elements, sorted, invert, out);
  }
  bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out) override {
    const OnDevice here(index_);
    return checked(cuda::unique(x, indices, inverse, counts, out));
  }

  void matmul(const Operand& a, const Operand& b, const Operand& out) override {
    run([&] { cuda::matmul(a, b, out); }, [&] { HostFallback::matmul(a, b, out); });
  }
  void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) override {
    const OnDevice here(index_);
    cuda::vecdot(a, b, conjugate, out);
  }
  bool cross(const Operand& a, const Operand& b, const Operand& out) override {
    const OnDevice here(index_);
    return cuda::cross(a, b, out);
  }

  std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) override {
    return run([&] { return cuda::solve(a, b, out); },
               [&] { return HostFallback::solve(a, b, out); });
  }
  std::int64_t inverse(const Operand& a, const Operand& out) override {
    return run([&] { return cuda::inverse(a, out); },
               [&] { return HostFallback::inverse(a, out); });
  }
  void determinant(const Operand& a, const Operand* det, const Operand* sign,
                   const Operand* log_abs) override {
    run([&] { cuda::determinant(a, det, sign, log_abs); },
        [&] { HostFallback::determinant(a, det, sign, log_abs); });
  }
  std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) override {
    return run([&] { return cuda::cholesky(a, out, upper); },
               [&] { return HostFallback::cholesky(a, out, upper); });
  }
  void qr(const Operand& a, const Operand& q, const Operand& r) override {
    run([&] { cuda::qr(a, q, r); }, [&] { HostFallback::qr(a, q, r); });
  }
  std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) override {
    return run([&] { return cuda::eigh(a, values, vectors); },
               [&] { return HostFallback::eigh(a, values, vectors); });
  }
  std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) override {
    return run([&] { return cuda::eig(a, values, vectors); },
               [&] { return HostFallback::eig(a, values, vectors); });
  }
  std::int64_t svd(const Operand& a, const Operand* u, const Operand& s,
                   const Operand* vh) override {
    return run([&] { return cuda::svd(a, u, s, vh); },
               [&] { return HostFallback::svd(a, u, s, vh); });
  }

  void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) override {
    run([&] { cuda::fft(in, out, {&axis, 1}, inverse, scale); },
        [&] { HostFallback::fft(in, out, axis, inverse, scale); });
  }
  bool fft_takes_real(DType in, const Dims& shape, int axis) override {
    const OnDevice here(index_);
    return cuda::fft_takes_real(in, shape, axis);
  }
  void fftn(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
            double scale) override {
    run([&] { cuda::fft(in, out, axes, inverse, scale); },
        [&] { HostFallback::fftn(in, out, axes, inverse, scale); });
  }
  void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
            double scale) override {
    run([&] { cuda::rfft(in, out, n, axis, inverse, scale); },
        [&] { HostFallback::rfft(in, out, n, axis, inverse, scale); });
  }
  void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale,
             bool spent) override {
    run([&] { cuda::irfft(in, out, axis, inverse, scale, spent); },
        [&] { HostFallback::irfft(in, out, axis, inverse, scale, spent); });
  }
  Dims fft_order(DType in, DType out, const Dims& lengths, std::span<const int> axes) override {
    const OnDevice here(index_);
    return cuda::fft_order(in, out, lengths, axes);
  }

  bool owns(const void* address) override {
    cudaPointerAttributes where;
    cuda::check(cudaPointerGetAttributes(&where, address), "cudaPointerGetAttributes");
    return where.device == index_ &&
           (where.type == cudaMemoryTypeDevice || where.type == cudaMemoryTypeManaged);
  }

 private:
  // What the device gave to the host, which has waited for it.
  template <class T>
  static T checked(T result) {
    cuda::check_indices();
    return result;
  }

  template <class Kernels, class Host>
  std::invoke_result_t<Kernels> run(Kernels&& kernels, Host&& host) {
    const OnDevice here(index_);
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Kernels>>) {
        return kernels();
      } else {
        return checked(kernels());
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_implemented) throw;
      return host();
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

extern "C" __attribute__((visibility("default"))) const char* arrayx_cuda_interface() {
  return ARRAYX_INTERFACE;
}

extern "C" __attribute__((visibility("default"))) arrayx::Backend* arrayx_cuda_engine(
    int index, arrayx::Backend* cpu) {
  using namespace arrayx;
  const int count = cuda::device_count();
  if (index >= count) {
    value_error("there ", count == 1 ? "is one GPU" : "are " + std::to_string(count) + " GPUs");
  }
  return new CudaBackend(index, *cpu);
}
