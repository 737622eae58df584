// HostFallback: an engine that has memory and no kernels. Every verb copies its operands to the
// host, has the CPU engine do the work, and copies the result back. An engine of a device derives
// from it and overrides the verbs that it has kernels for, so that it is complete from the start.
#pragma once

#include "backend.hpp"

namespace arrayx {

class HostFallback : public Backend {
 public:
  void copy_to_host(const Array& contiguous, void* host) override;
  void copy_from_host(const void* host, const Array& contiguous) override;

  void elementwise(Op op, DType compute, std::span<const Operand> inputs,
                   const Operand& out) override;
  // By elementwise().
  void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                              std::int64_t n) override;
  void copy(const Operand& in, const Operand& out) override;
  void arange(const Operand& out, const Element& start, const Element& step) override;
  void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
                bool endpoint) override;
  void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) override;

  void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
              const Operand* center, const Operand& out) override;
  void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) override;
  void scan(bool product, const Operand& in, int axis, bool include_initial,
            const Operand& out) override;

  void gather(const Operand& in, const Operand& offsets, const Operand& out) override;
  void scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
               const Operand& out) override;
  bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                          const Operand& offsets, std::int64_t* bad) override;
  std::int64_t count_nonzero(const Operand& in) override;
  void nonzero(const Operand& in, std::span<const Operand> out) override;

  void sort(const Operand& in, int axis, bool descending, const Operand& out) override;
  void argsort(const Operand& in, int axis, bool descending, const Operand& out) override;
  bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                    const Operand& out) override;

  void matmul(const Operand& a, const Operand& b, const Operand& out) override;
  void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) override;
  std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) override;
  std::int64_t inverse(const Operand& a, const Operand& out) override;
  void determinant(const Operand& a, const Operand* det, const Operand* sign,
                   const Operand* log_abs) override;
  std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) override;
  void qr(const Operand& a, const Operand& q, const Operand& r) override;
  std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) override;
  std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) override;
  std::int64_t svd(const Operand& a, const Operand* u, const Operand& s,
                   const Operand* vh) override;

  void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) override;
  void fftn(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
            double scale) override;
  void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
            double scale) override;
  void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale,
             bool spent) override;

  // Copies between the device and the host, which wait for the device's work.
  virtual void download(const void* on_device, void* on_host, std::size_t bytes) = 0;
  virtual void upload(const void* on_host, void* on_device, std::size_t bytes) = 0;

 protected:
  explicit HostFallback(Backend& host) : host_(host) {}
  Backend& host() const { return host_; }

 private:
  Backend& host_;
};

}  // namespace arrayx
