// Factorisations of stacks of matrices: small ones by kernels of our own, the others one by one by
// cuSOLVER, which is opened on first use. cuSOLVER is column-major: a row-major matrix is handed
// over as its transpose where that has the factors that are wanted, else as a transposed copy.
#include <climits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "blas.hpp"
#include "host_words.hpp"
#include "libraries.hpp"
#include "loop.hpp"
#include "small_matrices.cuh"

namespace arrayx::cuda {

namespace {

// ---- cuSOLVER -----------------------------------------------------------------------------------

// Its declarations that are used here; the numbers are those of cusolverDn.h and cublas_api.h.
using Handle = void*;
using Params = void*;
using Jacobi = void*;
using i64_t = std::int64_t;
using Type = cudaDataType_t;
constexpr int fill_lower = 0;

struct Cusolver {
  int (*create)(Handle*);
  int (*create_params)(Params*);
  int (*set_stream)(Handle, cudaStream_t);
  int (*getrf_size)(Handle, Params, i64_t m, i64_t n, Type, const void* a, i64_t lda, Type,
                    std::size_t*, std::size_t*);
  int (*getrf)(Handle, Params, i64_t m, i64_t n, Type, void* a, i64_t lda, i64_t* pivots, Type,
               void*, std::size_t, void*, std::size_t, int* info);
  int (*getrs)(Handle, Params, int operation, i64_t n, i64_t sides, Type, const void* a, i64_t lda,
               const i64_t* pivots, Type, void* b, i64_t ldb, int* info);
  int (*potrf_size)(Handle, Params, int fill, i64_t n, Type, const void* a, i64_t lda, Type,
                    std::size_t*, std::size_t*);
  int (*potrf)(Handle, Params, int fill, i64_t n, Type, void* a, i64_t lda, Type, void*,
               std::size_t, void*, std::size_t, int* info);
  int (*geqrf_size)(Handle, Params, i64_t m, i64_t n, Type, const void* a, i64_t lda, Type,
                    const void* tau, Type, std::size_t*, std::size_t*);
  int (*geqrf)(Handle, Params, i64_t m, i64_t n, Type, void* a, i64_t lda, Type, void* tau, Type,
               void*, std::size_t, void*, std::size_t, int* info);
  // Of the four dtypes, in the order of their numbers.
  int (*potrf_batched[4])(Handle, int fill, int n, void* const* a, int lda, int* infos, int count);
  int (*orgqr_size[4])(Handle, int m, int n, int k, const void* a, int lda, const void* tau,
                       int* items);
  int (*orgqr[4])(Handle, int m, int n, int k, void* a, int lda, const void* tau, void*, int items,
                  int* info);
  int (*syevd_size)(Handle, Params, int vectors, int fill, i64_t n, Type, const void* a, i64_t lda,
                    Type, const void* values, Type, std::size_t*, std::size_t*);
  int (*syevd)(Handle, Params, int vectors, int fill, i64_t n, Type, void* a, i64_t lda, Type,
               void* values, Type, void*, std::size_t, void*, std::size_t, int* info);
  // Of a whole stack; null in older libraries.
  int (*syev_batched_size)(Handle, Params, int vectors, int fill, i64_t n, Type, const void* a,
                           i64_t lda, Type, const void* values, Type, std::size_t*, std::size_t*,
                           i64_t count) = nullptr;
  int (*syev_batched)(Handle, Params, int vectors, int fill, i64_t n, Type, void* a, i64_t lda,
                      Type, void* values, Type, void*, std::size_t, void*, std::size_t, int* infos,
                      i64_t count) = nullptr;
  int (*geev_size)(Handle, Params, int left, int right, i64_t n, Type, const void* a, i64_t lda,
                   Type, const void* values, Type, const void*, i64_t, Type, const void* vectors,
                   i64_t ldv, Type, std::size_t*, std::size_t*);
  int (*geev)(Handle, Params, int left, int right, i64_t n, Type, void* a, i64_t lda, Type,
              void* values, Type, void*, i64_t, Type, void* vectors, i64_t ldv, Type, void*,
              std::size_t, void*, std::size_t, int* info);
  int (*create_gesvdj)(Jacobi*);
  int (*gesvdj_size[4])(Handle, int vectors, int reduced, int m, int n, const void* a, int lda,
                        const void* s, const void* u, int ldu, const void* v, int ldv, int* items,
                        Jacobi);
  int (*gesvdj[4])(Handle, int vectors, int reduced, int m, int n, void* a, int lda, void* s,
                   void* u, int ldu, void* v, int ldv, void*, int items, int* info, Jacobi);
  int (*gesvdp_size)(Handle, Params, int vectors, int reduced, i64_t m, i64_t n, Type,
                     const void* a, i64_t lda, Type, const void* s, Type, const void* u, i64_t ldu,
                     Type, const void* v, i64_t ldv, Type, std::size_t*, std::size_t*);
  int (*gesvdp)(Handle, Params, int vectors, int reduced, i64_t m, i64_t n, Type, void* a,
                i64_t lda, Type, void* s, Type, void* u, i64_t ldu, Type, void* v, i64_t ldv, Type,
                void*, std::size_t, void*, std::size_t, int* info, double* shift);

  bool found = false;
  struct OfDevice {
    Handle handle = nullptr;
    Params params = nullptr;
    Jacobi jacobi = nullptr;
  };
  std::vector<OfDevice> devices;
  std::mutex mutex;  // a handle serves one thread at a time

  Cusolver() {
    void* const library = open_library(
        "libcusolver.so.12",
        {"libnvJitLink.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusparse.so.12"});
    const char* const orgqr_names[4] = {"cusolverDnSorgqr", "cusolverDnDorgqr", "cusolverDnCungqr",
                                        "cusolverDnZungqr"};
    const char* const orgqr_size_names[4] = {
        "cusolverDnSorgqr_bufferSize", "cusolverDnDorgqr_bufferSize", "cusolverDnCungqr_bufferSize",
        "cusolverDnZungqr_bufferSize"};
    found = find(library, "cusolverDnCreate", create) &&
            find(library, "cusolverDnCreateParams", create_params) &&
            find(library, "cusolverDnSetStream", set_stream) &&
            find(library, "cusolverDnXgetrf_bufferSize", getrf_size) &&
            find(library, "cusolverDnXgetrf", getrf) && find(library, "cusolverDnXgetrs", getrs) &&
            find(library, "cusolverDnXpotrf_bufferSize", potrf_size) &&
            find(library, "cusolverDnXpotrf", potrf) &&
            find(library, "cusolverDnXgeqrf_bufferSize", geqrf_size) &&
            find(library, "cusolverDnXgeqrf", geqrf) &&
            find(library, "cusolverDnXsyevd_bufferSize", syevd_size) &&
            find(library, "cusolverDnXsyevd", syevd) &&
            find(library, "cusolverDnXgeev_bufferSize", geev_size) &&
            find(library, "cusolverDnXgeev", geev) &&
            find(library, "cusolverDnXgesvdp_bufferSize", gesvdp_size) &&
            find(library, "cusolverDnXgesvdp", gesvdp) &&
            find(library, "cusolverDnCreateGesvdjInfo", create_gesvdj);
    if (find(library, "cusolverDnXsyevBatched_bufferSize", syev_batched_size)) {
      find(library, "cusolverDnXsyevBatched", syev_batched);
    }
    for (int i = 0; found && i < 4; ++i) {
      const std::string name = std::string("cusolverDn") + "SDCZ"[i];
      found = find(library, orgqr_size_names[i], orgqr_size[i]) &&
              find(library, orgqr_names[i], orgqr[i]) &&
              find(library, (name + "potrfBatched").c_str(), potrf_batched[i]) &&
              find(library, (name + "gesvdj_bufferSize").c_str(), gesvdj_size[i]) &&
              find(library, (name + "gesvdj").c_str(), gesvdj[i]);
    }
  }
};

void check_solver(int status, const char* what) {
  constexpr int allocation_failed = 2, not_supported = 9;
  if (status == 0) return;
  if (status == allocation_failed) raise(ErrorKind::memory, what, ": cuSOLVER found no memory");
  if (status == not_supported) {
    raise(ErrorKind::not_implemented, what, ": cuSOLVER does not take these matrices");
  }
  raise(ErrorKind::runtime, what, ": cuSOLVER failed with status ", status);
}

// cuSOLVER for the running verb alone, with a workspace.
class Solver {
 public:
  explicit Solver(const char* what) : what_(what), lock_(library().mutex) {
    if (!f().found) {
      raise(ErrorKind::not_implemented, what, " of large matrices needs cuSOLVER");
    }
    const auto index = static_cast<std::size_t>(properties().index);
    if (f().devices.size() <= index) f().devices.resize(index + 1);
    Cusolver::OfDevice& mine = f().devices[index];
    if (!mine.handle) {
      Cusolver::OfDevice made;
      check_solver(f().create(&made.handle), "starting cuSOLVER");
      check_solver(f().create_params(&made.params), "starting cuSOLVER");
      check_solver(f().create_gesvdj(&made.jacobi), "starting cuSOLVER");
      check_solver(f().set_stream(made.handle, stream()), "starting cuSOLVER");
      mine = made;
    }
    handle = mine.handle;
    params = mine.params;
    jacobi = mine.jacobi;
  }

  // call(handle, params, arguments…) of those with a size to ask for, which `size` tells.
  template <class Size, class... Arguments>
  void reserve(Size size, Arguments... arguments) {
    check_solver(size(handle, params, arguments..., &device_bytes_, &host_bytes_), what_);
    reserve_bytes(device_bytes_);
    if (host_.size() < host_bytes_) host_.resize(host_bytes_);
  }
  void reserve_bytes(std::size_t bytes) {
    if (device_ && allocated_ >= bytes) return;
    allocated_ = std::max<std::size_t>(bytes, 1);
    device_.emplace(allocated_);
  }
  template <class Function, class... Arguments>
  void call(Function function, int* info, Arguments... arguments) {
    check_solver(function(handle, params, arguments..., device_->as(), device_bytes_, host_.data(),
                          host_bytes_, info),
                 what_);
  }
  void* workspace() const { return device_->as(); }

  static Cusolver& library() {
    static Cusolver* const opened = new Cusolver;
    return *opened;
  }
  Cusolver& f() const { return library(); }

  Handle handle;
  Params params;
  Jacobi jacobi;

 private:
  const char* what_;
  std::lock_guard<std::mutex> lock_;
  std::optional<Scratch> device_;
  std::vector<char> host_;
  std::size_t allocated_ = 0, device_bytes_ = 0, host_bytes_ = 0;
};

int position(DType d) {
  return static_cast<int>(d) - static_cast<int>(DType::float32);
}
static_assert(static_cast<int>(DType::complex128) - static_cast<int>(DType::float32) == 3);

// ---- stacks -------------------------------------------------------------------------------------

i64_t rows_of(const Operand& x) {
  return x.layout->shape[x.layout->ndim() - 2];
}
i64_t columns_of(const Operand& x) {
  return x.layout->shape[x.layout->ndim() - 1];
}
// Matrices in the stack of an operand whose last `own` dimensions are not the stack's.
i64_t count_of(const Operand& x, int own = 2) {
  i64_t count = 1;
  for (int d = 0; d < x.layout->ndim() - own; ++d) count *= x.layout->shape[d];
  return count;
}

// A stack for the kernels: `holder` keeps a copy where the matrices stand in no line, or unaligned.
Matrices matrices_of(const Operand& x, Array& holder) {
  const Layout& l = *x.layout;
  const int n = l.ndim();
  Matrices m{x.data, 0, l.strides[n - 2], l.strides[n - 1]};
  bool in_line = has_aligned_elements(x);
  i64_t next = -1;  // what a step in the last dimension so far spans
  for (int d = n - 3; d >= 0 && in_line; --d) {
    if (l.shape[d] == 1) continue;
    if (next < 0) {
      m.batch = l.strides[d];
      next = 0;
    } else {
      in_line = l.strides[d] == next;
    }
    next = l.strides[d] * l.shape[d];
  }
  if (in_line) return m;
  holder = scratch_array(x.dtype, l.shape);
  copy(x, holder);
  const i64_t rows = l.shape[n - 2], columns = l.shape[n - 1];
  return {holder.data(), rows * columns, columns, 1};
}

// Whether kernels for small matrices factor a stack. start(job) completes what any of them needs,
// and starts one.
template <class Start>
bool try_small_kernels(const Operand& a, Start&& start) {
  if (std::max(rows_of(a), columns_of(a)) > most_small_side) return false;
  Array holder;
  SmallMatrices job;
  job.rows = static_cast<int>(rows_of(a));
  job.columns = static_cast<int>(columns_of(a));
  job.count = count_of(a);
  job.a = matrices_of(a, holder);
  return start(job);
}

// Of shape […, rows, columns] in column-major order.
Array column_major(DType dtype, const Operand& like, i64_t rows, i64_t columns) {
  Dims shape = like.layout->shape;
  const int n = shape.size();
  shape[n - 2] = columns;
  shape[n - 1] = rows;
  Array a = scratch_array(dtype, shape);
  std::swap(a.layout.shape[n - 2], a.layout.shape[n - 1]);
  std::swap(a.layout.strides[n - 2], a.layout.strides[n - 1]);
  return a;
}
Array first_columns(const Array& a, i64_t columns) {
  return a.with(slice_axis(a.layout, a.ndim() - 1, 0, 1, columns));
}
Array first_rows(const Array& a, i64_t rows) {
  return a.with(slice_axis(a.layout, a.ndim() - 2, 0, 1, rows));
}

void write_identity(const Operand& out) {
  copy(Element::of(std::int8_t{0}), out);
  const int n = out.layout->ndim();
  const Layout line = diagonal(*out.layout, n - 2, n - 1, 0);
  Operand ones = out;
  ones.layout = &line;
  copy(Element::of(std::int8_t{1}), ones);
}

// The first matrix without a result of the verb that runs; of those before there are none left.
__device__ unsigned long long first_failure = ~0ull;

// Which matrices of a stack have no result, as the kernels and cuSOLVER tell it on the device.
// Where all have one, which is the rule, the host need not ask for more than that: on an H100 a
// word to begin with and its copy to the host took 11 to 14 µs of a factorisation of small
// matrices.
class Failures {
 public:
  explicit Failures(i64_t count) : count_(count) {}
  // One verb at a time has it, from here on.
  FirstFailure first() {
    if (!lock_.owns_lock()) {
      Record& record = record_of_device();
      lock_ = std::unique_lock(record.mutex);
      check(cudaGetSymbolAddress(&position_, first_failure), "linalg");
      if (!record.is_clean) clear();  // an error kept the verb before from reading it
      record.is_clean = false;
    }
    return {static_cast<unsigned long long*>(position_), &host_words().met_failure};
  }
  // One number for each matrix, zero for the time being.
  int* infos() {
    if (!infos_) {
      const auto bytes = static_cast<std::size_t>(checked_bytes(count_, sizeof(int)));
      infos_.emplace(bytes);
      check(cudaMemsetAsync(infos_->as(), 0, bytes, stream()), "linalg");
    }
    return infos_->as<int>();
  }
  // A kernel that is queued has noted them.
  void infos_are_noted() { infos_.reset(); }
  // Waits for the result.
  i64_t read();

 private:
  struct Record {
    std::mutex mutex;
    bool is_clean = true;
  };
  static Record& record_of_device() {
    static auto* all = new std::vector<Record>(static_cast<std::size_t>(device_count()));
    return (*all)[static_cast<std::size_t>(properties().index)];
  }
  void clear() const {
    check(cudaMemsetAsync(position_, 0xff, sizeof(unsigned long long), stream()), "linalg");
    std::uint32_t* const met = &host_words().met_failure;
    check(cudaMemsetAsync(met, 0, sizeof *met, stream()), "linalg");
    check(cudaStreamSynchronize(stream()), "linalg");
  }

  i64_t count_;
  std::unique_lock<std::mutex> lock_;
  void* position_ = nullptr;
  std::optional<Scratch> infos_;
};

__global__ void __launch_bounds__(block_threads)
    first_of_infos(const int* infos, i64 count, FirstFailure first) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < count; i += step) {
    if (infos[i] != 0) note_failure(first, i);
  }
}

i64_t Failures::read() {
  const FirstFailure noted = first();
  if (infos_) {
    first_of_infos<<<blocks_for(count_, block_threads), block_threads, 0, stream()>>>(
        infos_->as<int>(), count_, noted);
    check_launch("linalg");
  }
  check(cudaStreamSynchronize(stream()), "linalg");
  i64_t result = -1;
  if (*static_cast<volatile std::uint32_t*>(noted.met) != 0) {
    check(cudaMemcpy(&result, noted.position, sizeof result, cudaMemcpyDeviceToHost), "linalg");
    clear();
  }
  record_of_device().is_clean = true;
  return result;
}

// ---- NaN and infinity ---------------------------------------------------------------------------

enum class Part { all, lower, upper };  // of matrices whose rows (or columns) lie one by one

template <class T>
__device__ bool has_finite_parts(T x) {
  if constexpr (ops::is_complex_v<T>) {
    return isfinite(x.re) && isfinite(x.im);
  } else {
    return isfinite(x);
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    find_not_finite(const T* data, i64 count, i64 lines, i64 length, Part part, FirstFailure first,
                    int* found) {
  const i64 step = i64(gridDim.x) * block_threads, each = lines * length;
  for (i64 at = i64(blockIdx.x) * block_threads + threadIdx.x; at < count * each; at += step) {
    if (has_finite_parts(data[at])) continue;
    const i64 i = at / each, line = at % each / length, place = at % length;
    if ((part == Part::lower && place > line) || (part == Part::upper && place < line)) continue;
    if (first.position) note_failure(first, i);
    found[i] = 1;
  }
}

// … the results of which are NaN, whatever cuSOLVER and cuBLAS made of them.
template <class T>
__global__ void __launch_bounds__(block_threads)
    spoil_found(T* data, i64 count, i64 each, const int* found) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 at = i64(blockIdx.x) * block_threads + threadIdx.x; at < count * each; at += step) {
    if (!found[at / each]) continue;
    if constexpr (ops::is_complex_v<T>) {
      data[at] = {NAN, NAN};
    } else {
      data[at] = NAN;
    }
  }
}
__global__ void __launch_bounds__(block_threads)
    forgive_found(int* infos, i64 count, const int* found) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < count; i += step) {
    if (found[i]) infos[i] = 0;
  }
}

template <class T>
__global__ void __launch_bounds__(block_threads)
    clear_found(T* data, i64 count, i64 each, const int* found) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 at = i64(blockIdx.x) * block_threads + threadIdx.x; at < count * each; at += step) {
    if (found[at / each]) data[at] = T{};
  }
}

Scratch zeros_for(i64_t count) {
  const auto bytes = static_cast<std::size_t>(checked_bytes(count, sizeof(int)));
  Scratch zeros(bytes);
  check(cudaMemsetAsync(zeros.as(), 0, bytes, stream()), "linalg");
  return zeros;
}

// Matrices with a NaN or an infinity fail, and are zeros from here on: cuSOLVER need not bear them.
void reject_not_finite(DType dtype, char* data, i64_t count, i64_t lines, i64_t length, Part part,
                       Failures& failures) {
  const Scratch found = zeros_for(count);
  const unsigned blocks = blocks_for(count * lines * length, block_threads * 4);
  for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* const x = reinterpret_cast<T*>(data);
    find_not_finite<<<blocks, block_threads, 0, stream()>>>(x, count, lines, length, part,
                                                            failures.first(), found.as<int>());
    clear_found<<<blocks, block_threads, 0, stream()>>>(x, count, lines * length, found.as<int>());
  });
  check_launch("linalg");
}

// ---- LU -----------------------------------------------------------------------------------------

__global__ void __launch_bounds__(block_threads)
    point_to_matrices(char** pointers, char* first, i64 bytes, i64 count) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < count; i += step) {
    pointers[i] = first + i * bytes;
  }
}

// Where matrices begin that lie side by side.
Scratch places_of(char* first, i64_t bytes, i64_t count) {
  Scratch places(static_cast<std::size_t>(checked_bytes(count, sizeof(void*))));
  point_to_matrices<<<blocks_for(count, block_threads), block_threads, 0, stream()>>>(
      places.as<char*>(), first, bytes, count);
  check_launch("linalg");
  return places;
}

// The matrix, column by column and zeros so far, that exchanges rows as the pivots say.
template <class T>
__global__ void __launch_bounds__(block_threads)
    write_exchanges(const i64* pivots, int n, T* matrix) {
  extern __shared__ int rows[];
  int* const others = rows + n;
  for (int i = threadIdx.x; i < n; i += block_threads) {
    rows[i] = i;
    others[i] = static_cast<int>(max(i64(i), min(pivots[i] - 1, i64(n) - 1)));  // also after NaN
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      const int other = others[i], row = rows[other];
      rows[other] = rows[i];
      rows[i] = row;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += block_threads) {
    matrix[i + i64(rows[i]) * n] = from_real<T>(1);
  }
}

// Factors of the transposes of a stack's matrices, copied to lie row by row.
class Factors {
 public:
  Factors(const char* what, const Operand& a, Failures& failures)
      : n(rows_of(a)),
        count(count_of(a)),
        dtype(a.dtype),
        matrices(scratch_array(dtype, a.layout->shape)),
        found_(zeros_for(count)),
        in_one_call_(goes_in_one_call()),
        pivots_(scratch_array(in_one_call_ ? DType::int32 : DType::int64, {count, n})) {
    if (!in_one_call_) solver_.emplace(what);
    copy(a, matrices);
    for_floating(dtype, [&](auto zero) {
      find_not_finite<<<blocks_for(count * n * n, block_threads * 4), block_threads, 0, stream()>>>(
          reinterpret_cast<const decltype(zero)*>(matrices.data()), count, n, n, Part::all,
          FirstFailure{}, found_.as<int>());
    });
    int* const infos = failures.infos();
    factor(infos);
    forgive_found<<<blocks_for(count, block_threads), block_threads, 0, stream()>>>(
        infos, count, found_.as<int>());
    check_launch(what);
  }

  // Writes NaN where a matrix had one, or an infinity: cuSOLVER's pivots may pass over it.
  void spoil(const Operand& results) const {
    for_floating(results.dtype, [&](auto zero) {
      const i64_t items = results.layout->size;
      spoil_found<<<blocks_for(items, block_threads * 4), block_threads, 0, stream()>>>(
          reinterpret_cast<decltype(zero)*>(results.data), count, items / count, found_.as<int>());
    });
    check_launch("linalg");
  }

 private:
  void factor(int* infos) {
    if (in_one_call_) {
      places_.emplace(places_of(matrices.data(), n * n * itemsize(dtype), count));
      check_blas(cublas().getrf[position(dtype)](
          cublas().handle(), static_cast<int>(n), places_->as<void*>(), static_cast<int>(n),
          pivots_.data_as<int>(), infos, static_cast<int>(count)));
      return;
    }
    const Type type = data_type(dtype);
    solver_->reserve(solver_->f().getrf_size, n, n, type, static_cast<const void*>(matrices.data()),
                     n, type);
    for (i64_t i = 0; i < count; ++i) {
      solver_->call(solver_->f().getrf, infos + i, n, n, type,
                    static_cast<void*>(matrices.data() + i * n * n * itemsize(dtype)), n,
                    pivots_.data_as<i64_t>() + i * n, type);
    }
  }

 public:
  // Solves for `sides` columns of each of the matrices b, which lie column by column.
  void solve(int operation, i64_t sides, char* b) {
    if (in_one_call_) {
      const Scratch right = places_of(b, n * sides * itemsize(dtype), count);
      int wrong_argument = 0;
      check_blas(cublas().getrs[position(dtype)](
          cublas().handle(), operation, static_cast<int>(n), static_cast<int>(sides),
          places_->as<const void*>(), static_cast<int>(n), pivots_.data_as<int>(),
          right.as<void*>(), static_cast<int>(n), &wrong_argument, static_cast<int>(count)));
      return;
    }
    const Type type = data_type(dtype);
    const Scratch info(sizeof(int));
    for (i64_t i = 0; i < count; ++i) {
      check_solver(solver_->f().getrs(solver_->handle, solver_->params, operation, n, sides, type,
                                      matrices.data() + i * n * n * itemsize(dtype), n,
                                      pivots_.data_as<i64_t>() + i * n, type,
                                      b + i * n * sides * itemsize(dtype), n, info.as<int>()),
                   "solve");
    }
  }

  // Inverts each matrix: with its exchanges in place of the identity, which getrs would take longer
  // to exchange the rows of than for one of the two solutions.
  void invert(const Operand& out) {
    constexpr i64_t most = 6144;  // pivots in a block's shared memory
    const auto trsm = cublas().trsm[position(dtype)];
    if (in_one_call_ || n > most || !trsm) {
      write_identity(out);
      solve(Cublas::op_none, n, out.data);
      return;
    }
    const i64_t each = n * n * itemsize(dtype);
    check(cudaMemsetAsync(out.data, 0, static_cast<std::size_t>(count * each), stream()), "inv");
    for_floating(dtype, [&](auto zero) {
      using T = decltype(zero);
      const T one = [] {
        if constexpr (ops::is_complex_v<T>) {
          return T{1, 0};
        } else {
          return T{1};
        }
      }();
      for (i64_t i = 0; i < count; ++i) {
        T* const x = reinterpret_cast<T*>(out.data + i * each);
        write_exchanges<<<1, block_threads, static_cast<std::size_t>(2 * n) * sizeof(int),
                          stream()>>>(
            reinterpret_cast<const i64*>(pivots_.data_as<i64_t>()) + i * n, static_cast<int>(n), x);
        check_launch("inv");
        const char* const lu = matrices.data() + i * each;
        check_blas(trsm(cublas().handle(), Cublas::left, Cublas::lower, Cublas::op_none,
                        Cublas::unit_diagonal, n, n, &one, lu, n, x, n));
        check_blas(trsm(cublas().handle(), Cublas::left, Cublas::upper, Cublas::op_none,
                        Cublas::any_diagonal, n, n, &one, lu, n, x, n));
      }
    });
  }

  // Which rows were exchanged, counted from one, as int64.
  Array pivots() const {
    if (!in_one_call_) return pivots_;
    const Array wide = scratch_array(DType::int64, pivots_.shape());
    copy(pivots_, wide);
    return wide;
  }

  const i64_t n, count;
  const DType dtype;
  const Array matrices;

 private:
  // Whether cuBLAS has the whole stack at once: few threads for each matrix, but all at a time.
  bool goes_in_one_call() const {
    return n <= 512 && count >= 2 + n / 128 && count <= INT_MAX &&
           cublas().getrf[position(dtype)] && cublas().getrs[position(dtype)];
  }
  static void check_blas(int status) {
    if (status != 0) raise(ErrorKind::runtime, "linalg: cuBLAS failed with status ", status);
  }
  const Scratch found_;  // where NaN or infinity is
  const bool in_one_call_;
  Array pivots_;
  std::optional<Solver> solver_;
  std::optional<Scratch> places_;
};

}  // namespace

std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), k = columns_of(b), count = count_of(a);
  if (out.layout->size == 0) return -1;
  Failures failures(count);
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    if (k > INT_MAX) return false;
    Array holder;
    job.sides = static_cast<int>(k);
    job.b = matrices_of(b, holder);
    job.out[0] = out.data;
    job.failed = failures.first();
    return solve_small(dtype, job);
  });
  if (is_done) return failures.read();
  Factors factors("solve", a, failures);
  if (k == 1) {
    copy(b, out);
    factors.solve(Cublas::op_transpose, k, out.data);
  } else {
    const Array sides = column_major(dtype, b, n, k);
    copy(b, sides);
    factors.solve(Cublas::op_transpose, k, sides.data());
    copy(sides, out);
  }
  factors.spoil(out);
  return failures.read();
}

std::int64_t inverse(const Operand& a, const Operand& out) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), count = count_of(a);
  if (out.layout->size == 0) return -1;
  Failures failures(count);
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    job.sides = job.columns;
    job.out[0] = out.data;
    job.failed = failures.first();
    return solve_small(dtype, job);
  });
  if (is_done) return failures.read();
  // The inverse of the transpose, column by column, is that of the matrix, row by row.
  Factors factors("inv", a, failures);
  factors.invert(out);
  factors.spoil(out);
  return failures.read();
}

void determinant(const Operand& a, const Operand* det, const Operand* sign,
                 const Operand* log_abs) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), count = count_of(a);
  if (count == 0) return;
  const Operand* const outputs[] = {det, sign, log_abs};
  const auto set_outputs = [&](SmallMatrices& job) {
    for (int k = 0; k < 3; ++k) job.out[k] = outputs[k] ? outputs[k]->data : nullptr;
  };
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    set_outputs(job);
    return determinant_small(dtype, job);
  });
  if (is_done) return;
  Failures failures(count);
  const Factors factors("det", a, failures);
  const Array pivots = factors.pivots();
  SmallMatrices job;
  job.count = count;
  set_outputs(job);
  determinant_of_factors(dtype, factors.matrices.data(), pivots.data_as<i64_t>(), n, job);
  for (const Operand* const output : outputs) {
    if (output) factors.spoil(*output);
  }
}

// ---- Cholesky and QR ----------------------------------------------------------------------------

constexpr int square_side = 32;

// Cholesky's factors as they are wanted: upper ones where they lie, lower ones from columns; with
// zeros on the other side of the diagonal. Whatever was not finite is so still, or was no pivot:
// such matrices fail, too. A block has a square of the result.
template <class T>
__global__ void __launch_bounds__(block_threads)
    finish_cholesky(const T* factors, T* out, i64 n, Divisor squares, bool upper, const int* infos,
                    FirstFailure first) {
  wait_for_earlier();
  constexpr int side = square_side, rows_at_once = block_threads / side;
  __shared__ __align__(16) unsigned char shared[side * (side + 1) * sizeof(T)];
  T* const tile = reinterpret_cast<T*>(shared);  // of columns
  const u32 line = squares.divide(blockIdx.x), matrix = squares.divide(line);
  const i64 row0 = i64(line - matrix * squares.divisor) * side,
            column0 = i64(blockIdx.x - line * squares.divisor) * side;
  const int x = threadIdx.x % side, y = threadIdx.x / side;
  const T* const from = factors + matrix * n * n;
  T* const to = out + matrix * n * n;
  const auto is_kept = [&](i64 row, i64 column) {
    return (upper ? column >= row : row >= column) && row < n && column < n;
  };
  bool fails = row0 == 0 && column0 == 0 && threadIdx.x == 0 && infos[matrix] != 0;
  if (!upper) {
#pragma unroll
    for (int i = y; i < side; i += rows_at_once) {
      T value{};
      if (is_kept(row0 + x, column0 + i)) value = from[(column0 + i) * n + row0 + x];
      tile[i * (side + 1) + x] = value;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = y; i < side; i += rows_at_once) {
    const i64 row = row0 + i, column = column0 + x;
    if (row >= n || column >= n) continue;
    const bool kept = is_kept(row, column);
    const T value = !kept ? T{} : upper ? from[row * n + column] : tile[x * (side + 1) + i];
    fails |= !has_finite_parts(value);
    if (!upper || !kept) to[row * n + column] = value;
  }
  if (fails) note_failure(first, matrix);
}

// cuSOLVER's lower factor is the fast one: the conjugate of an upper one where rows are its
// columns.
std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), count = count_of(a);
  if (out.layout->size == 0) return -1;
  Failures failures(count);
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    job.upper = upper;
    job.out[0] = out.data;
    job.failed = failures.first();
    return cholesky_small(dtype, job);
  });
  if (is_done) return failures.read();
  const i64_t squares = (n - 1) / square_side + 1, blocks = count * squares * squares;
  if (blocks > INT_MAX) raise(ErrorKind::not_implemented, "cholesky of so many matrices");
  Solver solver("cholesky");
  const Array columns = upper ? Array{} : column_major(dtype, a, n, n);
  const Operand factors = upper ? out : Operand(columns);
  copy(a, factors);
  const Type type = data_type(dtype);
  if (count > 1 && n <= 512) {
    const Scratch places = places_of(factors.data, n * n * itemsize(dtype), count);
    check_solver(solver.f().potrf_batched[position(dtype)](
                     solver.handle, fill_lower, static_cast<int>(n), places.as<void*>(),
                     static_cast<int>(n), failures.infos(), static_cast<int>(count)),
                 "cholesky");
  } else {
    solver.reserve(solver.f().potrf_size, fill_lower, n, type,
                   static_cast<const void*>(factors.data), n, type);
    for (i64_t i = 0; i < count; ++i) {
      solver.call(solver.f().potrf, failures.infos() + i, fill_lower, n, type,
                  static_cast<void*>(factors.data + i * n * n * itemsize(dtype)), n, type);
    }
  }
  for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* from = reinterpret_cast<const T*>(factors.data);
    T* to = reinterpret_cast<T*>(out.data);
    const int* infos = failures.infos();
    FirstFailure first = failures.first();
    Divisor squares_of_line(static_cast<u32>(squares));
    i64 side = n;
    void* arguments[] = {&from, &to, &side, &squares_of_line, &upper, &infos, &first};
    launch(reinterpret_cast<const void*>(&finish_cholesky<T>), static_cast<unsigned>(blocks),
           arguments, 0, "cholesky");
  });
  failures.infos_are_noted();
  return failures.read();
}

void qr(const Operand& a, const Operand& q, const Operand& r) {
  const DType dtype = a.dtype;
  const i64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n), count = count_of(a);
  const i64_t q_columns = columns_of(q), r_rows = rows_of(r);
  if (count == 0) return;
  if (k == 0) {
    if (q.layout->size > 0) write_identity(q);
    return;  // r has no elements
  }
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    job.left = static_cast<int>(q_columns);
    job.right = static_cast<int>(r_rows);
    job.out[0] = q.data;
    job.out[1] = r.data;
    return qr_small(dtype, job);
  });
  if (is_done) return;
  if (m > INT_MAX) raise(ErrorKind::not_implemented, "qr of so many rows");
  Solver solver("qr");
  const Type type = data_type(dtype);
  const i64_t width = std::max(n, q_columns);
  const Array packed = column_major(dtype, a, m, width);
  copy(a, first_columns(packed, n));
  const Scratch tau(static_cast<std::size_t>(checked_bytes(count * k, itemsize(dtype))));
  const Scratch info(sizeof(int));
  const auto matrix = [&](i64_t i) { return packed.data() + i * m * width * itemsize(dtype); };
  const auto factors = [&](i64_t i) { return tau.as<char>() + i * k * itemsize(dtype); };
  solver.reserve(solver.f().geqrf_size, m, n, type, static_cast<const void*>(matrix(0)), m, type,
                 static_cast<const void*>(tau.as()), type);
  for (i64_t i = 0; i < count; ++i) {
    solver.call(solver.f().geqrf, info.as<int>(), m, n, type, static_cast<void*>(matrix(i)), m,
                type, static_cast<void*>(factors(i)), type);
  }
  triangle(first_rows(first_columns(packed, n), r_rows), r, 0, true);
  const int columns = static_cast<int>(q_columns), rows = static_cast<int>(m);
  int items = 0;
  check_solver(
      solver.f().orgqr_size[position(dtype)](solver.handle, rows, columns, static_cast<int>(k),
                                             matrix(0), rows, tau.as(), &items),
      "qr");
  solver.reserve_bytes(static_cast<std::size_t>(items) * static_cast<std::size_t>(itemsize(dtype)));
  for (i64_t i = 0; i < count; ++i) {
    check_solver(solver.f().orgqr[position(dtype)](solver.handle, rows, columns,
                                                   static_cast<int>(k), matrix(i), rows, factors(i),
                                                   solver.workspace(), items, info.as<int>()),
                 "qr");
  }
  copy(first_columns(packed, q_columns), q);
}

// ---- eigenvalues --------------------------------------------------------------------------------

namespace {

// Whether cuSOLVER takes less time for a whole stack at once than for one matrix after the other:
// on an H100, where the stack takes about as long as one matrix, a lot longer than that alone.
bool solves_stack_faster(DType dtype, i64_t n, i64_t count) {
  if (n <= 128 || (n <= 256 && dtype == DType::float32)) return count > 1;
  return n <= 512 && count >= 10;
}

}  // namespace

std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), count = count_of(a);
  if (values.layout->size == 0) return -1;
  Failures failures(count);
  // A matrix that stands alone, of so many rows, cuSOLVER was seen to do faster on an H100.
  const bool is_faster_there =
      vectors && count == 1 && n >= 57 && dtype == DType::complex128 && Solver::library().found;
  const bool is_done = !is_faster_there && try_small_kernels(a, [&](SmallMatrices& job) {
    job.out[0] = values.data;
    job.out[1] = vectors ? vectors->data : nullptr;
    job.failed = failures.first();
    return eigh_small(dtype, job);
  });
  if (is_done) return failures.read();
  Solver solver("eigh");
  const Array packed = column_major(dtype, a, n, n);
  copy(a, packed);
  // Columns lie one by one: their lower triangle is where places follow lines.
  reject_not_finite(dtype, packed.data(), count, n, n, Part::upper, failures);
  const DType real = real_dtype(dtype);
  const Type type = data_type(dtype), real_type = data_type(real);
  int job = vectors != nullptr;
  if (solver.f().syev_batched && solves_stack_faster(dtype, n, count)) {
    const auto size = [&](auto... arguments) {
      return solver.f().syev_batched_size(arguments..., count);
    };
    const auto run = [&](auto... arguments) {
      return solver.f().syev_batched(arguments..., count);
    };
    // On an H100 it takes twice as long for values alone.
    if (n > 128 && real == DType::float64) job = 1;
    solver.reserve(size, job, fill_lower, n, type, static_cast<const void*>(packed.data()), n,
                   real_type, static_cast<const void*>(values.data), type);
    solver.call(run, failures.infos(), job, fill_lower, n, type, static_cast<void*>(packed.data()),
                n, real_type, static_cast<void*>(values.data), type);
    if (vectors) copy(packed, *vectors);
    return failures.read();
  }
  solver.reserve(solver.f().syevd_size, job, fill_lower, n, type,
                 static_cast<const void*>(packed.data()), n, real_type,
                 static_cast<const void*>(values.data), type);
  for (i64_t i = 0; i < count; ++i) {
    solver.call(solver.f().syevd, failures.infos() + i, job, fill_lower, n, type,
                static_cast<void*>(packed.data() + i * n * n * itemsize(dtype)), n, real_type,
                static_cast<void*>(values.data + i * n * itemsize(real)), type);
  }
  if (vectors) copy(packed, *vectors);
  return failures.read();
}

namespace {

// Eigenvectors of a real matrix: of a complex pair, whose first value has the positive imaginary
// part, the real and imaginary parts are two columns.
template <class R>
__global__ void __launch_bounds__(block_threads)
    complex_vectors(const R* columns, const Complex<R>* values, i64 count, i64 n,
                    Complex<R>* rows) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 at = i64(blockIdx.x) * block_threads + threadIdx.x; at < count * n * n; at += step) {
    const i64 i = at / (n * n), r = at % (n * n) / n, c = at % n;
    const R* const x = columns + i * n * n + r;
    const R im = values[i * n + c].im;
    Complex<R> v{x[c * n], 0};
    if (im > 0 && c + 1 < n) v.im = x[(c + 1) * n];
    if (im < 0 && c > 0) v = {x[(c - 1) * n], -x[c * n]};
    rows[at] = v;
  }
}

}  // namespace

std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) {
  const DType dtype = a.dtype;
  const i64_t n = rows_of(a), count = count_of(a);
  if (values.layout->size == 0) return -1;
  // Beside an H100 of as many rows, or about as many.
  const i64_t from = dtype == DType::float32 ? 512 : dtype == DType::float64 ? 384 : 256;
  if (n < from) raise(ErrorKind::not_implemented, "eig of small matrices is faster on the host");
  Failures failures(count);
  Solver solver("eig");
  const Array packed = column_major(dtype, a, n, n);
  copy(a, packed);
  reject_not_finite(dtype, packed.data(), count, n, n, Part::all, failures);
  Array columns;
  if (vectors) columns = column_major(dtype, a, n, n);
  const Type type = data_type(dtype), value_type = data_type(values.dtype);
  const int job = vectors != nullptr;
  const void* const nothing = nullptr;
  char* const first = vectors ? columns.data() : nullptr;
  solver.reserve(solver.f().geev_size, 0, job, n, type, static_cast<const void*>(packed.data()), n,
                 value_type, static_cast<const void*>(values.data), type, nothing, n, type,
                 static_cast<const void*>(first), n, type);
  for (i64_t i = 0; i < count; ++i) {
    const i64_t offset = i * n * n * itemsize(dtype);
    solver.call(solver.f().geev, failures.infos() + i, 0, job, n, type,
                static_cast<void*>(packed.data() + offset), n, value_type,
                static_cast<void*>(values.data + i * n * itemsize(values.dtype)), type,
                static_cast<void*>(nullptr), n, type,
                static_cast<void*>(vectors ? first + offset : nullptr), n, type);
  }
  if (vectors && is_complex(dtype)) {
    copy(columns, *vectors);
  } else if (vectors) {
    const unsigned blocks = blocks_for(count * n * n, block_threads);
    if (dtype == DType::float32) {
      complex_vectors<<<blocks, block_threads, 0, stream()>>>(
          columns.data_as<f32>(), reinterpret_cast<const Complex<f32>*>(values.data), count, n,
          reinterpret_cast<Complex<f32>*>(vectors->data));
    } else {
      complex_vectors<<<blocks, block_threads, 0, stream()>>>(
          columns.data_as<f64>(), reinterpret_cast<const Complex<f64>*>(values.data), count, n,
          reinterpret_cast<Complex<f64>*>(vectors->data));
    }
    check_launch("eig");
  }
  return failures.read();
}

// ---- singular values ----------------------------------------------------------------------------

namespace {

// Singular values of tall or wide matrices: those of the triangular factor, to which pieces are
// brought whose factors, one below the other, are a shorter matrix. False where kernels for small
// matrices do not take them.
bool values_of_tall(const Operand& a, const Operand& s, const FirstFailure& failed) {
  Layout layout = *a.layout;
  const int row = layout.ndim() - 2, column = row + 1;
  if (layout.shape[row] < layout.shape[column]) {
    std::swap(layout.shape[row], layout.shape[column]);
    std::swap(layout.strides[row], layout.strides[column]);
  }
  constexpr i64_t most = most_small_side / 2;  // of every kernel; that of factors has twice as many
  const i64_t width = layout.shape[column];
  if (layout.shape[row] <= most || width > most) return false;
  const i64_t count = count_of(a);
  Operand tall = a;
  Array holder;
  while (layout.shape[row] > most) {
    const i64_t rows = layout.shape[row], pieces = (rows - 1) / most_small_side + 1;
    const i64_t each = (rows - 1) / pieces + 1;
    tall.layout = &layout;
    if (rows < pieces * each) {  // zeros below change no factor
      Dims shape = layout.shape;
      shape[row] = pieces * each;
      const Array padded = scratch_array(a.dtype, shape);
      copy(tall, first_rows(padded, rows));
      copy(Element::of(std::int8_t{0}),
           padded.with(slice_axis(padded.layout, row, rows, 1, pieces * each - rows)));
      holder = padded;
      tall = padded;
      layout = padded.layout;
    }
    Layout split = insert_axis(layout, row, layout.strides[row] * each);
    split.shape[row] = pieces;
    split.shape[column] = each;
    Operand stack = tall;
    stack.layout = &split;
    Array packed;
    SmallMatrices job;
    job.rows = static_cast<int>(each);
    job.columns = job.right = static_cast<int>(width);
    job.count = count * pieces;
    job.a = matrices_of(stack, packed);
    Dims shape = layout.shape;
    shape[row] = pieces * width;
    const Array factors = scratch_array(a.dtype, shape);
    job.out[1] = factors.data();
    if (!qr_small(a.dtype, job)) return false;
    holder = factors;
    tall = factors;
    layout = factors.layout;
  }
  SmallMatrices job;
  job.rows = static_cast<int>(layout.shape[row]);
  job.columns = static_cast<int>(width);
  job.count = count;
  job.a = {tall.data, layout.shape[row] * width, width, 1};
  job.out[1] = s.data;
  job.failed = failed;
  return svd_small(a.dtype, job);
}

}  // namespace

std::int64_t svd(const Operand& a, const Operand* u, const Operand& s, const Operand* vh) {
  const DType dtype = a.dtype;
  const i64_t m = rows_of(a), n = columns_of(a), k = std::min(m, n), count = count_of(a);
  if (count == 0) return -1;
  if (k == 0) {
    if (u && u->layout->size > 0) write_identity(*u);
    if (vh && vh->layout->size > 0) write_identity(*vh);
    return -1;
  }
  Failures failures(count);
  const i64_t u_columns = u ? columns_of(*u) : 0, vh_rows = vh ? rows_of(*vh) : 0;
  const bool is_done = try_small_kernels(a, [&](SmallMatrices& job) {
    job.left = static_cast<int>(u_columns);
    job.right = static_cast<int>(vh_rows);
    job.out[0] = u ? u->data : nullptr;
    job.out[1] = s.data;
    job.out[2] = vh ? vh->data : nullptr;
    job.failed = failures.first();
    return svd_small(dtype, job);
  });
  if (is_done || (!u && values_of_tall(a, s, failures.first()))) return failures.read();
  if (m > INT_MAX || n > INT_MAX) raise(ErrorKind::not_implemented, "svd of so large matrices");
  Solver solver("svd");
  const auto& f = solver.f();
  const DType real = real_dtype(dtype);
  const int size = itemsize(dtype), rows = static_cast<int>(m), columns = static_cast<int>(n);
  const Array packed = column_major(dtype, a, m, n);
  const auto pack = [&] {
    copy(a, packed);
    reject_not_finite(dtype, packed.data(), count, n, m, Part::all, failures);
  };
  // What V has column by column is vh row by row, but for its conjugation.
  const bool reduced = !u || (u_columns == k && vh_rows == k);
  const Array left = column_major(dtype, a, m, u ? u_columns : k);
  Array right;  // cuSOLVER wants room for vectors even where it is to find none
  if (!u) right = column_major(dtype, a, n, k);
  char* const v = u ? vh->data : right.data();
  const auto place = [&](i64_t i) { return packed.data() + i * m * n * size; };
  const auto value = [&](i64_t i) { return s.data + i * k * itemsize(real); };
  const auto of_u = [&](i64_t i) { return left.data() + i * m * columns_of(left) * size; };
  const auto of_v = [&](i64_t i) { return v + i * n * (u ? vh_rows : k) * size; };
  // By the polar factors and the eigenvalues of one of them, unless cuSOLVER had to shift the
  // matrix for that: a singular one, or nearly so.
  const auto by_polar = [&] {
    const Type type = data_type(dtype), real_type = data_type(real);
    const auto arguments_of = [&](auto run, i64_t i) {
      return run(u != nullptr, reduced, m, n, type, static_cast<void*>(place(i)), m, real_type,
                 static_cast<void*>(value(i)), type, static_cast<void*>(of_u(i)), m, type,
                 static_cast<void*>(of_v(i)), n, type);
    };
    arguments_of([&](auto... all) { solver.reserve(f.gesvdp_size, all...); }, 0);
    bool is_exact = true;
    for (i64_t i = 0; i < count && is_exact; ++i) {
      double shift = 0;
      const auto run = [&](auto... all) { return f.gesvdp(all..., &shift); };
      arguments_of([&](auto... all) { solver.call(run, failures.infos() + i, all...); }, i);
      is_exact = shift == 0;
    }
    return is_exact;
  };
  const auto by_rotations = [&] {
    int items = 0;
    check_solver(f.gesvdj_size[position(dtype)](solver.handle, u != nullptr, reduced, rows, columns,
                                                place(0), rows, value(0), of_u(0), rows, of_v(0),
                                                columns, &items, solver.jacobi),
                 "svd");
    solver.reserve_bytes(static_cast<std::size_t>(items) * static_cast<std::size_t>(size));
    for (i64_t i = 0; i < count; ++i) {
      check_solver(
          f.gesvdj[position(dtype)](solver.handle, u != nullptr, reduced, rows, columns, place(i),
                                    rows, value(i), of_u(i), rows, of_v(i), columns,
                                    solver.workspace(), items, failures.infos() + i, solver.jacobi),
          "svd");
    }
  };
  // On an H100 that takes half the time of rotations, and more of smaller matrices. In float32 more
  // of them are nearly singular.
  const i64_t least_polar = dtype == DType::float32 ? 384 : 129;
  pack();
  bool needs_rotations = k < least_polar;
  if (!needs_rotations && !by_polar()) {
    needs_rotations = true;
    pack();
  }
  if (needs_rotations) by_rotations();
  if (u) {
    copy(left, *u);
    if (is_complex(dtype)) elementwise(Op::conj, dtype, {vh, 1}, *vh);
  }
  const i64_t failed = failures.read();
  if (failed >= 0) raise(ErrorKind::not_implemented, "svd: cuSOLVER found no result");
  return failed;
}

}  // namespace arrayx::cuda
