// Backend: what every engine must be able to do. The frontend has checked the arguments, promoted
// the dtypes, broadcast the operands and allocated the outputs; an engine only computes.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "array/array.hpp"
#include "ops/table.hpp"

namespace arrayx {

// One value of some dtype on the host, e.g. a Python scalar already converted.
struct Element {
  alignas(16) unsigned char bytes[16] = {};
  DType dtype = DType::float64;

  template <class T>
  static Element of(T value) {
    Element e;
    e.dtype = dtype_of<T>;
    std::memcpy(e.bytes, &value, sizeof value);
    return e;
  }
  template <class T>
  T as() const {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
};

// One operand of a loop: a view of memory on the engine's device, or (host_scalar) one element in
// host memory that is repeated everywhere. Non-owning.
struct Operand {
  char* data = nullptr;            // address of the first element
  const Layout* layout = nullptr;  // its offset is already in `data`; null for host scalars
  DType dtype = DType::float64;
  bool host_scalar = false;

  Operand() = default;
  Operand(const Array& a) : data(a.data()), layout(&a.layout), dtype(a.dtype) {}
  Operand(const Element& e)
      : data(reinterpret_cast<char*>(const_cast<unsigned char*>(e.bytes))),
        dtype(e.dtype),
        host_scalar(true) {}
};

// The dtype of an operation's result when it runs in dtype `compute`.
inline DType result_dtype(Op op, DType compute) {
  switch (info(op).result) {
    case ResultRule::boolean:
      return DType::bool_;
    case ResultRule::real:
      return real_dtype(compute);
    default:
      return compute;
  }
}

// Calls copy(part, place) for each of the parts that stand side by side along `axis` of `out`.
template <class Copy>
void for_each_part(std::span<const Operand> parts, int axis, const Operand& out, Copy&& copy) {
  Layout layout = *out.layout;
  Operand place = out;
  place.layout = &layout;
  for (const Operand& part : parts) {
    const std::int64_t count = part.layout->shape[axis];
    layout.shape[axis] = count;
    layout.size = part.layout->size;
    if (layout.size > 0) copy(part, place);
    place.data += count * layout.strides[axis] * itemsize(out.dtype);
  }
}

inline constexpr int max_operands = 4;  // inputs and output of one elementwise loop

// What is known of the offsets of a scatter: the least and the greatest that they can be, of what
// their distances are multiples, and whether their order does not matter, as no two are equal or
// all elements get one value.
struct OffsetRange {
  std::int64_t lowest = 0, highest = 0, step = 1;
  bool any_order = false;
};

struct MemoryInfo {
  std::int64_t in_use = 0;  // bytes of live arrays (blocks handed out)
  std::int64_t cached = 0;  // bytes kept for reuse
  std::int64_t limit = 0;   // most bytes that are kept for reuse
};

// What unique() finds of a one-dimensional x.
struct Unique {
  Array values;   // the distinct elements, ascending; of equal ones the first
  Array indices;  // where each stands first in x
  Array inverse;  // for each element of x its place in values
  Array counts;   // how often each stands in x
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device device() const = 0;
  // What the device is, for people.
  virtual std::string description() const = 0;

  // ---- memory -------------------------------------------------------------------------------
  // Uninitialised, 64-byte aligned; MemoryError (ErrorKind::memory) when there is none.
  virtual StorageRef allocate(std::int64_t bytes) = 0;
  // The same for an array of zeros: `zeroed` where the pages become zero as they are touched.
  virtual StorageRef allocate_for_zeros(std::int64_t bytes) { return allocate(bytes); }
  virtual MemoryInfo memory_info() = 0;
  virtual void set_cache_limit(std::int64_t bytes) = 0;
  virtual void empty_cache() = 0;
  virtual void copy_to_host(const Array& contiguous, void* host) = 0;
  virtual void copy_from_host(const void* host, const Array& contiguous) = 0;
  virtual void synchronize() = 0;
  // Lets the CPU use the memory of a storage at the address that it has from now on, once the work
  // queued before is done; false if it cannot.
  virtual bool share_with_host(Storage& /*storage*/) { return false; }
  // Puts the device's work in order with that of a stream of another library, by its handle: what
  // the engine does from now on comes after what the stream was given, or the other way round.
  virtual void wait_for(std::uintptr_t /*stream*/) {}
  virtual void let_wait(std::uintptr_t /*stream*/) {}
  // Whether an address of another library's is memory of the device.
  virtual bool owns(const void* /*address*/) { return false; }

  // ---- loops --------------------------------------------------------------------------------
  // out = op(inputs…). Every layout has out's shape (broadcast by stride zero). The operation runs
  // in dtype `compute`; operands of other dtypes are cast on the way in, the result on the way out.
  // out overlaps an input only if it is exactly the same view. `compute` is never float16, here and
  // wherever a verb computes (see compute_dtype); operands and results may be.
  virtual void elementwise(Op op, DType compute, std::span<const Operand> inputs,
                           const Operand& out) = 0;
  // The same for small operands of dtype `compute`, contiguous and of one size: no plan, no
  // threads.
  virtual void elementwise_contiguous(Op op, DType compute, const void* const* inputs, void* out,
                                      std::int64_t n) = 0;
  // out = in, cast to out's dtype; same shape; no partial overlap.
  virtual void copy(const Operand& in, const Operand& out) = 0;
  // out = the parts side by side along `axis`; they have out's shape but for their lengths there.
  virtual void join(std::span<const Operand> parts, int axis, const Operand& out) {
    for_each_part(parts, axis, out,
                  [this](const Operand& part, const Operand& place) { copy(part, place); });
  }
  // out[i] = start + i * step along a one-dimensional out of a real dtype, computed so that no
  // error accumulates. start and step are of out's dtype, or float64 when that is floating.
  virtual void arange(const Operand& out, const Element& start, const Element& step) = 0;
  // A one-dimensional out from start to stop as the standard's linspace; the last is exactly stop
  // when endpoint is true. start, stop are complex128; out is floating.
  virtual void linspace(const Operand& out, std::complex<double> start, std::complex<double> stop,
                        bool endpoint) = 0;
  // out = in where it stands on or above (below) the k-th diagonal of the last two axes, else 0.
  virtual void triangle(const Operand& in, const Operand& out, std::int64_t k, bool upper) = 0;

  // ---- reductions ---------------------------------------------------------------------------
  // Reduces the dimensions of `in` marked in `reduced` (one flag per dimension). out has the shape
  // of the kept ones, in order, and any strides. The reduction runs in dtype `accumulator`; out may
  // have another dtype (cast at the end). `center`, of out's shape, is what sum_squared_deviations
  // subtracts, or the mean where it is null. Empty reductions write the identity (the frontend
  // refuses max/min).
  virtual void reduce(Reduction op, DType accumulator, const Operand& in,
                      std::span<const bool> reduced, const Operand* center, const Operand& out) = 0;
  // Sums over the dimensions marked in `reduced`, of a floating dtype, divided by n, in the dtype
  // that `in` is computed in; out has the kept shape and in's dtype, `in` has elements. False from
  // an engine that composes them.
  virtual bool mean(const Operand& /*in*/, std::span<const bool> /*reduced*/, double /*n*/,
                    const Operand& /*out*/) {
    return false;
  }
  // Variances, or standard deviations if `root`, over the dimensions marked in `reduced`: the sums
  // of squared deviations from the mean, divided. They are computed in float64; out has the kept
  // shape and a real floating dtype, as `in` has. False from an engine that composes them.
  virtual bool deviation(const Operand& /*in*/, std::span<const bool> /*reduced*/,
                         double /*divisor*/, bool /*root*/, const Operand& /*out*/) {
    return false;
  }
  // Norms over the dimensions marked in `reduced`, of a real dtype: the sums of magnitudes or, with
  // `squares`, the roots of the sums of squares, of which none overflows or vanishes that the
  // result does not. out has the kept shape and in's dtype. False from an engine that composes
  // them.
  virtual bool norm(const Operand& /*in*/, std::span<const bool> /*reduced*/, bool /*squares*/,
                    const Operand& /*out*/) {
    return false;
  }
  // Position of the first largest (smallest) along `axis`, NaN counting as such; out is int64 of
  // the kept shape. in.shape[axis] > 0.
  virtual void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) = 0;
  // Running sum (product) along `axis` in dtype `accumulator` = out's dtype. With include_initial
  // out is one longer along the axis and starts with 0 (1).
  virtual void scan(bool product, const Operand& in, int axis, bool include_initial,
                    const Operand& out) = 0;

  // ---- indexing -----------------------------------------------------------------------------
  // out[i…, slab…] = in[offsets[i…] + slab…]: `offsets` (int64, shape of the leading dimensions of
  // out) holds element offsets from in.data; in.layout describes one slab (the trailing dimensions
  // of out). Offsets are known to be in bounds. in.layout may also have dimensions that offsets
  // has, up to all of out's: an element's place is its offset plus its place under in.layout.
  virtual void gather(const Operand& in, const Operand& offsets, const Operand& out) = 0;
  // gather() by one index array of `out`'s leading dimensions, whose offsets are
  // normalise(index) * stride for index in [-n, n), without an array of them. False when an index
  // is out of bounds, with the first such index in `bad` and `out` undefined; an engine that does
  // not wait for its device throws IndexError where it next does instead. Nothing from an engine
  // that has no such loop.
  virtual std::optional<bool> gather_indexed(const Operand& /*in*/, const Operand& /*index*/,
                                             std::int64_t /*n*/, std::int64_t /*stride*/,
                                             const Operand& /*out*/, std::int64_t* /*bad*/) {
    return std::nullopt;
  }
  // Writes the elements of `in` where `mask`, of its shape, is true into a contiguous `out` of as
  // many, in row-major order; false from an engine that has no such loop.
  virtual bool compress(const Operand& /*in*/, const Operand& /*mask*/, const Operand& /*out*/) {
    return false;
  }
  // Writes each element of a one-dimensional `in` as often as `counts` (int64, as many) says into a
  // contiguous `out` of as many as they add up to; false from an engine that has no such loop.
  virtual bool repeat(const Operand& /*in*/, const Operand& /*counts*/, const Operand& /*out*/) {
    return false;
  }
  // out[offsets[i…] + slab…] = in[i…, slab…], in index order, so that the last of equal offsets
  // wins. out.layout describes one slab. in is a host scalar, or cast to out's dtype. Where offsets
  // were made of an index out of bounds of which the engine has told nobody yet, nothing is
  // written.
  virtual void scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
                       const Operand& out) = 0;
  // scatter() by one index array, as gather_indexed(): false when an index is out of bounds, and
  // nothing written then, also where that is told later. `in` is a host scalar or of out's dtype;
  // neither it nor index overlaps what may be written. Nothing from an engine that has no such loop
  // for these operands.
  virtual std::optional<bool> scatter_indexed(const Operand& /*in*/, const Operand& /*index*/,
                                              std::int64_t /*n*/, std::int64_t /*stride*/,
                                              const Operand& /*out*/, std::int64_t* /*bad*/) {
    return std::nullopt;
  }
  // offsets += normalise(index) * stride for index in [-n, n), all of one shape; false when an
  // index is out of bounds, with the first such index in `bad`. An engine that does not wait tells
  // it later; gather() takes the first element in its place, where n > 0, and scatter() refuses it.
  virtual bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                                  const Operand& offsets, std::int64_t* bad) = 0;
  // How many elements are non-zero (any dtype), in row-major order, …
  virtual std::int64_t count_nonzero(const Operand& in) = 0;
  // … and where: writes int64 index columns out[k], one per dimension, each contiguous of length
  // count; for a rank-0 input there is one column of zeros.
  virtual void nonzero(const Operand& in, std::span<const Operand> out) = 0;

  // ---- sorting and searching ------------------------------------------------------------------
  // Sorts along `axis` into out (same shape and dtype); stable; NaN last, also when descending;
  // complex by real then imaginary part.
  virtual void sort(const Operand& in, int axis, bool descending, const Operand& out) = 0;
  // The permutation that sorts, as int64.
  virtual void argsort(const Operand& in, int axis, bool descending, const Operand& out) = 0;
  // For each value the first (side left) or last position in one-dimensional sorted `in` that keeps
  // it sorted; `sorter` (int64, or null) names the order of `in`. Same dtype for in and values.
  // False when sorter holds an out-of-bounds index.
  virtual bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values,
                            bool right, const Operand& out) = 0;
  // out = whether each element is (with `invert`, is not) among the values of one-dimensional
  // `sorted`, of the same dtype; out is contiguous. NaN never is. False, and nothing written, from
  // an engine that composes it.
  virtual bool isin(const Operand& /*elements*/, const Operand& /*sorted*/, bool /*invert*/,
                    const Operand& /*out*/) {
    return false;
  }

  // The distinct elements of a contiguous one-dimensional x, and of the rest what is wanted, each
  // NaN being one of its own. False, and nothing done, from an engine that composes it.
  virtual bool unique(const Array& /*x*/, bool /*indices*/, bool /*inverse*/, bool /*counts*/,
                      Unique& /*out*/) {
    return false;
  }

  // ---- linear algebra -------------------------------------------------------------------------
  // out[…, m, n] = a[…, m, k] @ b[…, k, n], same numeric dtype, batch dimensions already broadcast;
  // out is contiguous in its last two dimensions and overlaps neither input.
  virtual void matmul(const Operand& a, const Operand& b, const Operand& out) = 0;

  // out = the sums of a * b, or of conj(a) * b if `conjugate`, over the last dimension, which is
  // not empty; of one numeric dtype.
  virtual void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) = 0;
  // Cross products of the vectors of three along the last dimension, all of one shape and one
  // dtype; false, and nothing written, from an engine that has none of that dtype.
  virtual bool cross(const Operand& /*a*/, const Operand& /*b*/, const Operand& /*out*/) {
    return false;
  }

  // Factorisations of stacks. All operands of a verb have the same batch dimensions in front
  // (inputs may repeat there by stride zero), the same precision, and the sizes named; outputs are
  // row-major and overlap no input. Those that say so return the position, in row-major order, of
  // the first matrix of the stack that has no result, or -1; what the outputs then hold is
  // undefined.
  //
  // a @ out = b for square a; fails where a is exactly singular.
  virtual std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) = 0;
  virtual std::int64_t inverse(const Operand& a, const Operand& out) = 0;
  // Determinants and, for those that overflow, their signs (det / |det|, or 0) and the logarithms
  // of their absolute values. Either det is null or the other two are. The outputs have the batch
  // dimensions only; log_abs is real.
  virtual void determinant(const Operand& a, const Operand* det, const Operand* sign,
                           const Operand* log_abs) = 0;
  // The triangular factor of Hermitian matrices of which one triangle is read: that of the factor.
  // Fails where a is not positive definite, or has a NaN or an infinity there.
  virtual std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) = 0;
  // a[m, n] = q[m, k] @ r[k, n] with k = min(m, n), or m if q is square.
  virtual void qr(const Operand& a, const Operand& q, const Operand& r) = 0;
  // Eigenvalues, ascending and real, of Hermitian matrices of which the lower triangle is read;
  // with `vectors` their eigenvectors as columns. Fails for NaN and infinity, or without
  // convergence.
  virtual std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) = 0;
  // Eigenvalues of any square matrices, and right eigenvectors of length 1 as columns; both complex
  // whatever a is. Fails like eigh.
  virtual std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) = 0;
  // Singular values in descending order and, unless both are null, u[m, m] and vh[n, n], or u[m, k]
  // and vh[k, n] with k = min(m, n). Fails like eigh.
  virtual std::int64_t svd(const Operand& a, const Operand* u, const Operand& s,
                           const Operand* vh) = 0;

  // ---- Fourier transforms -----------------------------------------------------------------------
  // Along one axis: out[k] = scale * sum over j of in[j] exp(-+ 2 pi i j k / n), + when `inverse`.
  // in and out have one precision and one shape but for the axis, whose size n >= 1 is out's where
  // no other is given. Of `in` the first elements that the transform takes are read, and as many
  // zeros are added as are missing. out is exactly in's view or does not overlap it.
  virtual void fft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) = 0;
  // Whether fft() takes real numbers, too, along an axis of a shape.
  virtual bool fft_takes_real(DType /*in*/, const Dims& /*shape*/, int /*axis*/) { return false; }
  // The same along each of some different axes, none of which changes its size.
  virtual void fftn(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
                    double scale) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      fft(i + 1 == axes.size() ? in : out, out, axes[i], inverse, i == 0 ? scale : 1);
    }
  }
  // The same of n real elements: out[k] for k in [0, n / 2].
  virtual void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
                    double scale) = 0;
  // The same of n elements of which the first n / 2 + 1 are given, the others being their
  // conjugates in[n - j]; out is real. The imaginary parts of in[0] and, for even n, in[n / 2] are
  // not read. What `in` holds may be lost if it is `spent`.
  virtual void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale,
                     bool spent) = 0;
  // The order, the slowest first, that the dimensions of such a result had best have in memory:
  // that of the shape if nothing is said. `lengths` is the shape, but with what is transformed
  // along the axes.
  virtual Dims fft_order(DType /*in*/, DType /*out*/, const Dims& /*lengths*/,
                         std::span<const int> /*axes*/) {
    return {};
  }
};

// The engine of the CPU, and that of any device; ValueError that says what is missing when the
// device does not exist here.
Backend& cpu_backend();
Backend& other_backend(Device device);
inline Backend& backend(Device device) {
  return device == Device{} ? cpu_backend() : other_backend(device);
}
// The devices there are, the CPU first. Opens the CUDA library where there is one.
std::vector<Device> devices();
// The file that would be opened for CUDA devices.
std::string cuda_library();
// What that library exports under this name: the engine of the CUDA device `index`, which uses that
// of the CPU for what it has no kernels for; throws like backend().
inline constexpr const char* cuda_engine_symbol = "arrayx_cuda_engine";
using CudaEngine = Backend*(int index, Backend* cpu);
// Beside it the library exports what it takes for the interface of the two: a text that the build
// computes from this header and those that it stands on.
inline constexpr const char* cuda_interface_symbol = "arrayx_cuda_interface";
using CudaInterface = const char*();

}  // namespace arrayx
