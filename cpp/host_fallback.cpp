#include "host_fallback.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

namespace arrayx {

namespace {

// The elements from the lowest to the highest that a layout reaches, counted from its first one.
struct Extent {
  std::int64_t lowest = 0, highest = 0;
  std::int64_t count() const { return highest - lowest + 1; }
};
Extent extent_of(const Layout& layout) {
  Extent e;
  layout.span(e.lowest, e.highest);
  return {e.lowest - layout.offset, e.highest - layout.offset};
}

// What a verb does with an operand.
enum class Access { read, write, update };

// An operand on the host: the memory that it reaches, in its own layout. Where that has gaps, the
// device packs the elements for a reader and unpacks those of a writer, so that only they travel;
// an updated operand comes and goes with its gaps.
class Mirror {
 public:
  Mirror(HostFallback& device, Backend& host, const Operand& original, Access access)
      : device_(device), original_(original), operand_(original) {
    if (original.host_scalar || original.layout->size == 0) return;
    const Extent extent = extent_of(*original.layout);
    if (access == Access::update || extent.count() <= original.layout->size) {
      hold(host, original, extent, access);
      return;
    }
    packed_.dtype = original.dtype;
    packed_.layout = Layout::contiguous(original.layout->shape);
    packed_.storage = device.allocate(packed_.nbytes());
    if (access == Access::read) device.copy(original, packed_);
    hold(host, packed_, {0, packed_.size() - 1}, access);
  }
  // An operand that is read or updated within an extent that its layout does not show.
  Mirror(HostFallback& device, Backend& host, const Operand& original, Extent extent)
      : device_(device), original_(original), operand_(original) {
    hold(host, original, extent, Access::update);
  }
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  operator const Operand&() const { return operand_; }
  const Operand* operator&() const { return &operand_; }

  // Brings what the host wrote to the device.
  void deliver() {
    if (!memory_) return;
    device_.upload(memory_->data, on_device_, bytes_);
    if (packed_.storage) device_.copy(packed_, original_);
  }

 private:
  void hold(Backend& host, const Operand& from, Extent extent, Access access) {
    const std::int64_t size = itemsize(from.dtype);
    bytes_ = static_cast<std::size_t>(extent.count() * size);
    memory_ = host.allocate(static_cast<std::int64_t>(bytes_));
    on_device_ = from.data + extent.lowest * size;
    if (access != Access::write) device_.download(on_device_, memory_->data, bytes_);
    operand_ = from;
    operand_.data = static_cast<char*>(memory_->data) - extent.lowest * size;
  }

  HostFallback& device_;
  Operand original_, operand_;
  Array packed_;  // on the device
  StorageRef memory_;
  char* on_device_ = nullptr;
  std::size_t bytes_ = 0;
};

// An operand that a verb may lack.
class OptionalMirror {
 public:
  OptionalMirror(HostFallback& device, Backend& host, const Operand* original, Access access) {
    if (original) mirror_.emplace(device, host, *original, access);
  }
  const Operand* get() const { return mirror_ ? &*mirror_ : nullptr; }
  void deliver() {
    if (mirror_) mirror_->deliver();
  }

 private:
  std::optional<Mirror> mirror_;
};

// The elements that `slab` reaches from any of the offsets, which are not empty.
Extent reach_of(Backend& host, const Operand& offsets, const Operand& slab) {
  const auto all = std::make_unique<bool[]>(static_cast<std::size_t>(offsets.layout->ndim()));
  std::fill_n(all.get(), offsets.layout->ndim(), true);
  const auto extreme = [&](Reduction op) {
    Element result = Element::of(std::int64_t{0});
    const Layout scalar = Layout::contiguous({});
    Operand out = result;
    out.layout = &scalar;
    out.host_scalar = false;
    host.reduce(op, DType::int64, offsets,
                {all.get(), static_cast<std::size_t>(offsets.layout->ndim())}, nullptr, out);
    return result.as<std::int64_t>();
  };
  const Extent of_slab = extent_of(*slab.layout);
  return {extreme(Reduction::min) + of_slab.lowest, extreme(Reduction::max) + of_slab.highest};
}

}  // namespace

#define ARRAYX_READ(name, operand) const Mirror name(*this, host_, operand, Access::read)
#define ARRAYX_WRITE(name, operand) Mirror name(*this, host_, operand, Access::write)

void HostFallback::copy_to_host(const Array& contiguous, void* host) {
  if (contiguous.size() > 0) download(contiguous.data(), host, contiguous.nbytes());
}
void HostFallback::copy_from_host(const void* host, const Array& contiguous) {
  if (contiguous.size() > 0) upload(host, contiguous.data(), contiguous.nbytes());
}

// ---- loops --------------------------------------------------------------------------------------

void HostFallback::elementwise(Op op, DType compute, std::span<const Operand> inputs,
                               const Operand& out) {
  std::array<std::optional<Mirror>, max_operands> mirrors;
  std::array<Operand, max_operands> on_host;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    on_host[i] = mirrors[i].emplace(*this, host_, inputs[i], Access::read);
  }
  ARRAYX_WRITE(result, out);
  host_.elementwise(op, compute, {on_host.data(), inputs.size()}, result);
  result.deliver();
}

void HostFallback::elementwise_contiguous(Op op, DType compute, const void* const* inputs,
                                          void* out, std::int64_t n) {
  const Layout layout = Layout::contiguous({n});
  std::array<Operand, max_operands> operands;
  const auto operand = [&](const void* data, DType dtype) {
    Operand o;
    o.data = static_cast<char*>(const_cast<void*>(data));
    o.layout = &layout;
    o.dtype = dtype;
    return o;
  };
  const int count = info(op).arity;
  for (int i = 0; i < count; ++i) operands[i] = operand(inputs[i], compute);
  elementwise(op, compute, {operands.data(), static_cast<std::size_t>(count)},
              operand(out, result_dtype(op, compute)));
}

// The only verb that packing and unpacking are made from: here both operands keep their gaps.
void HostFallback::copy(const Operand& in, const Operand& out) {
  if (out.layout->size == 0) return;
  std::optional<Mirror> source;
  if (!in.host_scalar) source.emplace(*this, host_, in, extent_of(*in.layout));
  const bool dense = extent_of(*out.layout).count() == out.layout->size;
  Mirror result(*this, host_, out, dense ? Access::write : Access::update);
  host_.copy(source ? static_cast<const Operand&>(*source) : in, result);
  result.deliver();
}

void HostFallback::arange(const Operand& out, const Element& start, const Element& step) {
  ARRAYX_WRITE(result, out);
  host_.arange(result, start, step);
  result.deliver();
}

void HostFallback::linspace(const Operand& out, std::complex<double> start,
                            std::complex<double> stop, bool endpoint) {
  ARRAYX_WRITE(result, out);
  host_.linspace(result, start, stop, endpoint);
  result.deliver();
}

void HostFallback::triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.triangle(x, result, k, upper);
  result.deliver();
}

// ---- reductions ---------------------------------------------------------------------------------

void HostFallback::reduce(Reduction op, DType accumulator, const Operand& in,
                          std::span<const bool> reduced, const Operand* center,
                          const Operand& out) {
  ARRAYX_READ(x, in);
  const OptionalMirror c(*this, host_, center, Access::read);
  ARRAYX_WRITE(result, out);
  host_.reduce(op, accumulator, x, reduced, c.get(), result);
  result.deliver();
}

void HostFallback::arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.arg_reduce(largest, x, axis, result);
  result.deliver();
}

void HostFallback::scan(bool product, const Operand& in, int axis, bool include_initial,
                        const Operand& out) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.scan(product, x, axis, include_initial, result);
  result.deliver();
}

// ---- indexing -----------------------------------------------------------------------------------

void HostFallback::gather(const Operand& in, const Operand& offsets, const Operand& out) {
  if (out.layout->size == 0) return;
  ARRAYX_READ(o, offsets);
  const Mirror x(*this, host_, in, reach_of(host_, o, in));
  ARRAYX_WRITE(result, out);
  host_.gather(x, o, result);
  result.deliver();
}

void HostFallback::scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
                           const Operand& out) {
  if (offsets.layout->size == 0 || out.layout->size == 0) return;
  ARRAYX_READ(x, in);
  ARRAYX_READ(o, offsets);
  Mirror result(*this, host_, out, reach_of(host_, o, out));
  host_.scatter(x, o, range, result);
  result.deliver();
}

bool HostFallback::accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                                      const Operand& offsets, std::int64_t* bad) {
  ARRAYX_READ(i, index);
  Mirror sums(*this, host_, offsets, Access::update);
  const bool right = host_.accumulate_offsets(i, n, stride, sums, bad);
  if (right) sums.deliver();
  return right;
}

std::int64_t HostFallback::count_nonzero(const Operand& in) {
  ARRAYX_READ(x, in);
  return host_.count_nonzero(x);
}

void HostFallback::nonzero(const Operand& in, std::span<const Operand> out) {
  ARRAYX_READ(x, in);
  std::deque<Mirror> columns;
  std::vector<Operand> on_host;
  for (const Operand& column : out) {
    on_host.push_back(columns.emplace_back(*this, host_, column, Access::write));
  }
  host_.nonzero(x, on_host);
  for (Mirror& column : columns) column.deliver();
}

// ---- sorting and searching
// ------------------------------------------------------------------------

void HostFallback::sort(const Operand& in, int axis, bool descending, const Operand& out) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.sort(x, axis, descending, result);
  result.deliver();
}

void HostFallback::argsort(const Operand& in, int axis, bool descending, const Operand& out) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.argsort(x, axis, descending, result);
  result.deliver();
}

bool HostFallback::searchsorted(const Operand& in, const Operand* sorter, const Operand& values,
                                bool right, const Operand& out) {
  ARRAYX_READ(x, in);
  const OptionalMirror s(*this, host_, sorter, Access::read);
  ARRAYX_READ(v, values);
  ARRAYX_WRITE(result, out);
  const bool valid = host_.searchsorted(x, s.get(), v, right, result);
  if (valid) result.deliver();
  return valid;
}

// ---- linear algebra
// -------------------------------------------------------------------------------

void HostFallback::matmul(const Operand& a, const Operand& b, const Operand& out) {
  ARRAYX_READ(x, a);
  ARRAYX_READ(y, b);
  ARRAYX_WRITE(result, out);
  if (const DType wide = compute_dtype(out.dtype); wide == out.dtype) {
    host_.matmul(x, y, result);
  } else {  // the host's engine takes what it computes in
    const auto wide_array = [&](const Operand& like) {
      Array array;
      array.dtype = wide;
      array.layout = Layout::contiguous(like.layout->shape);
      array.storage = host_.allocate(array.nbytes());
      return array;
    };
    const Array left = wide_array(a), right = wide_array(b), product = wide_array(out);
    host_.copy(x, left);
    host_.copy(y, right);
    host_.matmul(left, right, product);
    host_.copy(product, result);
  }
  result.deliver();
}

void HostFallback::vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) {
  ARRAYX_READ(x, a);
  ARRAYX_READ(y, b);
  ARRAYX_WRITE(result, out);
  host_.vecdot(x, y, conjugate, result);
  result.deliver();
}

std::int64_t HostFallback::solve(const Operand& a, const Operand& b, const Operand& out) {
  ARRAYX_READ(x, a);
  ARRAYX_READ(y, b);
  ARRAYX_WRITE(result, out);
  const std::int64_t failed = host_.solve(x, y, result);
  result.deliver();
  return failed;
}

std::int64_t HostFallback::inverse(const Operand& a, const Operand& out) {
  ARRAYX_READ(x, a);
  ARRAYX_WRITE(result, out);
  const std::int64_t failed = host_.inverse(x, result);
  result.deliver();
  return failed;
}

void HostFallback::determinant(const Operand& a, const Operand* det, const Operand* sign,
                               const Operand* log_abs) {
  ARRAYX_READ(x, a);
  OptionalMirror d(*this, host_, det, Access::write), s(*this, host_, sign, Access::write),
      l(*this, host_, log_abs, Access::write);
  host_.determinant(x, d.get(), s.get(), l.get());
  d.deliver();
  s.deliver();
  l.deliver();
}

std::int64_t HostFallback::cholesky(const Operand& a, const Operand& out, bool upper) {
  ARRAYX_READ(x, a);
  ARRAYX_WRITE(result, out);
  const std::int64_t failed = host_.cholesky(x, result, upper);
  result.deliver();
  return failed;
}

void HostFallback::qr(const Operand& a, const Operand& q, const Operand& r) {
  ARRAYX_READ(x, a);
  ARRAYX_WRITE(first, q);
  ARRAYX_WRITE(second, r);
  host_.qr(x, first, second);
  first.deliver();
  second.deliver();
}

std::int64_t HostFallback::eigh(const Operand& a, const Operand& values, const Operand* vectors) {
  ARRAYX_READ(x, a);
  ARRAYX_WRITE(result, values);
  OptionalMirror v(*this, host_, vectors, Access::write);
  const std::int64_t failed = host_.eigh(x, result, v.get());
  result.deliver();
  v.deliver();
  return failed;
}

std::int64_t HostFallback::eig(const Operand& a, const Operand& values, const Operand* vectors) {
  ARRAYX_READ(x, a);
  ARRAYX_WRITE(result, values);
  OptionalMirror v(*this, host_, vectors, Access::write);
  const std::int64_t failed = host_.eig(x, result, v.get());
  result.deliver();
  v.deliver();
  return failed;
}

std::int64_t HostFallback::svd(const Operand& a, const Operand* u, const Operand& s,
                               const Operand* vh) {
  ARRAYX_READ(x, a);
  OptionalMirror left(*this, host_, u, Access::write);
  ARRAYX_WRITE(values, s);
  OptionalMirror right(*this, host_, vh, Access::write);
  const std::int64_t failed = host_.svd(x, left.get(), values, right.get());
  left.deliver();
  values.deliver();
  right.deliver();
  return failed;
}

// ---- Fourier transforms
// ---------------------------------------------------------------------------

void HostFallback::fft(const Operand& in, const Operand& out, int axis, bool inverse,
                       double scale) {
  if (!is_complex(in.dtype)) {
    Array complex;
    complex.dtype = out.dtype;
    complex.layout = Layout::contiguous(in.layout->shape);
    complex.storage = allocate(complex.nbytes());
    copy(in, complex);
    return fft(complex, out, axis, inverse, scale);
  }
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.fft(x, result, axis, inverse, scale);
  result.deliver();
}

void HostFallback::fftn(const Operand& in, const Operand& out, std::span<const int> axes,
                        bool inverse, double scale) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.fftn(x, result, axes, inverse, scale);
  result.deliver();
}

void HostFallback::rfft(const Operand& in, const Operand& out, std::int64_t n, int axis,
                        bool inverse, double scale) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.rfft(x, result, n, axis, inverse, scale);
  result.deliver();
}

void HostFallback::irfft(const Operand& in, const Operand& out, int axis, bool inverse,
                         double scale, bool spent) {
  ARRAYX_READ(x, in);
  ARRAYX_WRITE(result, out);
  host_.irfft(x, result, axis, inverse, scale, spent);
  result.deliver();
}

}  // namespace arrayx
