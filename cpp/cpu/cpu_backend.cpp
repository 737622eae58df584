// The CPU engine as a Backend: forwards each verb to its file.
#include <cstring>

#include "engine.hpp"

namespace arrayx {

namespace {

class CpuBackend final : public Backend {
 public:
  Device device() const override { return {DeviceType::cpu, 0}; }
  std::string description() const override { return "the CPU"; }

  StorageRef allocate(std::int64_t bytes) override { return cpu::allocate(bytes); }
  StorageRef allocate_for_zeros(std::int64_t bytes) override { return cpu::allocate(bytes, true); }
  MemoryInfo memory_info() override { return cpu::memory_info(); }
  void set_cache_limit(std::int64_t bytes) override { cpu::set_cache_limit(bytes); }
  void empty_cache() override { cpu::empty_cache(); }
  void copy_to_host(const Array& contiguous, void* host) override {
    std::memcpy(host, contiguous.data(), contiguous.nbytes());
  }
  void copy_from_host(const void* host, const Array& contiguous) override {
    std::memcpy(contiguous.data(), host, contiguous.nbytes());
  }
  void synchronize() override {}

  void elementwise(Op op, DType compute, std::span<const Operand> inputs,
                   const Operand& out) override {
    cpu::elementwise(op, compute, inputs, out);
  }
  void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                              std::int64_t n) override {
    cpu::elementwise_contiguous(op, compute, inputs, out, n);
  }
  void copy(const Operand& in, const Operand& out) override { cpu::copy(in, out); }
  void join(std::span<const Operand> parts, int axis, const Operand& out) override {
    cpu::join(parts, axis, out);
  }
  void arange(const Operand& out, const Element& start, const Element& step) override {
    cpu::arange(out, start, step);
  }
  void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
                bool endpoint) override {
    cpu::linspace(out, start, stop, endpoint);
  }
  void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) override {
    cpu::triangle(in, out, k, upper);
  }

  void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
              const Operand* center, const Operand& out) override {
    cpu::reduce(op, accumulator, in, reduced, center, out);
  }
  void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) override {
    cpu::arg_reduce(largest, in, axis, out);
  }
  void scan(bool product, const Operand& in, int axis, bool include_initial,
            const Operand& out) override {
    cpu::scan(product, in, axis, include_initial, out);
  }

  void gather(const Operand& in, const Operand& offsets, const Operand& out) override {
    cpu::gather(in, offsets, out);
  }
  std::optional<bool> gather_indexed(const Operand& in, const Operand& index, std::int64_t n,
                                     std::int64_t stride, const Operand& out,
                                     std::int64_t* bad) override {
    return cpu::gather_indexed(in, index, n, stride, out, bad);
  }
  bool compress(const Operand& in, const Operand& mask, const Operand& out) override {
    cpu::compress(in, mask, out);
    return true;
  }
  bool repeat(const Operand& in, const Operand& counts, const Operand& out) override {
    cpu::repeat(in, counts, out);
    return true;
  }
  void scatter(const Operand& in, const Operand& offsets, const OffsetRange&,
               const Operand& out) override {
    cpu::scatter(in, offsets, out);
  }
  std::optional<bool> scatter_indexed(const Operand& in, const Operand& index, std::int64_t n,
                                      std::int64_t stride, const Operand& out,
                                      std::int64_t* bad) override {
    return cpu::scatter_indexed(in, index, n, stride, out, bad);
  }
  bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                          const Operand& offsets, std::int64_t* bad) override {
    return cpu::accumulate_offsets(index, n, stride, offsets, bad);
  }
  std::int64_t count_nonzero(const Operand& in) override { return cpu::count_nonzero(in); }
  void nonzero(const Operand& in, std::span<const Operand> out) override { cpu::nonzero(in, out); }

  void sort(const Operand& in, int axis, bool descending, const Operand& out) override {
    cpu::sort(in, axis, descending, out);
  }
  void argsort(const Operand& in, int axis, bool descending, const Operand& out) override {
    cpu::argsort(in, axis, descending, out);
  }
  bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                    const Operand& out) override {
    return cpu::searchsorted(in, sorter, values, right, out);
  }
  bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out) override {
    return cpu::unique(x, indices, inverse, counts, out);
  }

  void matmul(const Operand& a, const Operand& b, const Operand& out) override {
    cpu::matmul(a, b, out);
  }
  void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) override {
    cpu::vecdot(a, b, conjugate, out);
  }
  bool cross(const Operand& a, const Operand& b, const Operand& out) override {
    return cpu::cross(a, b, out);
  }
  std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) override {
    return cpu::solve(a, b, out);
  }
  std::int64_t inverse(const Operand& a, const Operand& out) override {
    return cpu::inverse(a, out);
  }
  void determinant(const Operand& a, const Operand* det, const Operand* sign,
                   const Operand* log_abs) override {
    cpu::determinant(a, det, sign, log_abs);
  }
  std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) override {
    return cpu::cholesky(a, out, upper);
  }
  void qr(const Operand& a, const Operand& q, const Operand& r) override { cpu::qr(a, q, r); }
  std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) override {
    return cpu::eigh(a, values, vectors);
  }
  std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) override {
    return cpu::eig(a, values, vectors);
  }
  std::int64_t svd(const Operand& a, const Operand* u, const Operand& s,
                   const Operand* vh) override {
    return cpu::svd(a, u, s, vh);
  }

  void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) override {
    cpu::fft(in, out, axis, inverse, scale);
  }
  void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
            double scale) override {
    cpu::rfft(in, out, n, axis, inverse, scale);
  }
  void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale,
             bool /*spent*/) override {
    cpu::irfft(in, out, axis, inverse, scale);
  }
};

constinit CpuBackend engine;

}  // namespace

namespace cpu {
Backend& instance() {
  return engine;
}
}  // namespace cpu

}  // namespace arrayx
