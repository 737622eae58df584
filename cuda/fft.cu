// Fourier transforms: cuFFT, opened on first use, and kernels of our own along axes with others
// behind them (fft_columns.hpp). A plan has one layout, so that bits do not depend on that of an
// input: what lies otherwise, is too short or too long is copied first. Results of rows stay rows,
// with the transformed axes last in memory (fft_order).
#include <array>
#include <list>
#include <mutex>
#include <vector>

#include "fft_columns.hpp"
#include "libraries.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// ---- cuFFT --------------------------------------------------------------------------------------

// Its declarations that are used here; the numbers are those of cufft.h.
using Handle = int;
constexpr int forward = -1, backward = 1;
constexpr int success = 0, no_memory = 2, invalid_value = 4, internal_error = 5, invalid_size = 8,
              not_implemented = 14, not_supported = 16;

constexpr int most_axes = 3;             // of one plan
constexpr std::size_t most_plans = 128;  // kept for reuse; more than one call needs

// Transforms of contiguous arrays: one after the other, or side by side, element by element, as the
// input's lie, and the output's.
struct Transforms {
  int device;
  cudaDataType_t in, out, complex;
  std::array<long long, most_axes> n;
  int rank;
  long long count;
  bool columns_in, columns_out;  // side by side
  long long row_out = 0;         // elements of an output's row, where not all of it is written

  bool operator==(const Transforms&) const = default;
};

struct FftPlan {
  Transforms transforms;
  Handle handle = -1;
  std::size_t scratch_bytes = 0;
};

void check_fft(int status, const char* what) {
  switch (status) {
    case success:
      return;
    case no_memory:
      raise(ErrorKind::memory, "cuFFT: no memory for ", what);
    case invalid_value:
    case invalid_size:
    case not_implemented:
    case not_supported:
      raise(ErrorKind::not_implemented, "cuFFT does not support ", what);
    default:
      raise(ErrorKind::runtime, "cuFFT: ", what, " failed with status ", status);
  }
}

struct Cufft {
  int (*create)(Handle*) = nullptr;
  int (*set_auto_allocation)(Handle, int) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*make)(Handle, int, long long*, long long*, long long, long long, cudaDataType_t, long long*,
              long long, long long, cudaDataType_t, long long, std::size_t*,
              cudaDataType_t) = nullptr;
  int (*set_work_area)(Handle, void*) = nullptr;
  int (*execute)(Handle, void*, void*, int) = nullptr;
  int (*destroy)(Handle) = nullptr;
  std::list<FftPlan> plans;  // the one used last in front
  std::mutex mutex;          // of the plans, which one thread at a time may use
  bool found = false;

  Cufft() {
    // It opens the linker of its own by that name, for some plans.
    void* const library = open_library("libcufft.so.12", {"libnvJitLink.so.13"});
    found = find(library, "cufftCreate", create) &&
            find(library, "cufftSetAutoAllocation", set_auto_allocation) &&
            find(library, "cufftSetStream", set_stream) &&
            find(library, "cufftXtMakePlanMany", make) &&
            find(library, "cufftSetWorkArea", set_work_area) &&
            find(library, "cufftXtExec", execute) && find(library, "cufftDestroy", destroy);
  }

  FftPlan& plan_for(const Transforms& wanted) {
    for (auto plan = plans.begin(); plan != plans.end(); ++plan) {
      if (plan->transforms == wanted) {
        plans.splice(plans.begin(), plans, plan);
        return plans.front();
      }
    }
    FftPlan plan{wanted};
    int status = prepare(plan);
    if (status == no_memory || status == internal_error) {
      empty_cache();  // its tables are not from our pool
      status = prepare(plan);
    }
    check_fft(status, "a plan");
    if (plans.size() >= most_plans) {
      const OnDevice there(plans.back().transforms.device);
      destroy(plans.back().handle);
      plans.pop_back();
    }
    return plans.emplace_front(plan);
  }

 private:
  int prepare(FftPlan& plan) {
    const Transforms& t = plan.transforms;
    std::array<long long, most_axes> n = t.n, in = n, out = n;
    const bool to_real = t.in == t.complex && t.out != t.complex, from_real = t.in != t.complex;
    const long long half = n[t.rank - 1] / 2 + 1;
    if (to_real) in[t.rank - 1] = half;
    if (from_real) out[t.rank - 1] = t.row_out > 0 ? t.row_out : half;
    const auto step = [&](bool are_columns) { return are_columns ? t.count : 1; };
    const auto distance = [&](const std::array<long long, most_axes>& lengths, bool are_columns) {
      long long elements = 1;
      for (int i = 0; i < t.rank; ++i) elements *= lengths[i];
      return are_columns ? 1 : elements;
    };
    int status = create(&plan.handle);
    if (status != success) return status;
    status = set_auto_allocation(plan.handle, 0);
    if (status == success) {
      status = make(plan.handle, t.rank, n.data(), in.data(), step(t.columns_in),
                    distance(in, t.columns_in), t.in, out.data(), step(t.columns_out),
                    distance(out, t.columns_out), t.out, t.count, &plan.scratch_bytes, t.complex);
    }
    if (status == success) status = set_stream(plan.handle, stream());
    if (status != success) destroy(plan.handle);
    return status;
  }
};

Cufft& cufft_if_found() {
  static Cufft* const library = new Cufft;
  return *library;
}
Cufft& cufft() {
  Cufft* const library = &cufft_if_found();
  if (!library->found) raise(ErrorKind::not_implemented, "there is no cuFFT");
  return *library;
}

// ---- from arrays to plans -----------------------------------------------------------------------

// Of columns that stand side by side cuFFT's plans are as fast as those of rows only for powers of
// two up to this one, or where all is small; on an H100 others take 0.7 to 5 times as long as one
// that makes rows of them.
constexpr std::int64_t longest_side_by_side = 4096, small_bytes = std::int64_t{1} << 20;
// Between real and complex numbers longer columns than this take two to four times as long as a
// copy to rows and a plan of rows.
constexpr std::int64_t longest_real_bytes = 4096;

bool is_fast_side_by_side(std::int64_t n) {
  return n <= longest_side_by_side && (n & (n - 1)) == 0;
}

// Whether cuFFT, where it writes rows, had better read columns itself than have them copied to
// rows: on an H100 it takes 0.6 to 1.05 of the time.
bool makes_rows_of_columns(const Transforms& t, std::int64_t points) {
  if (t.complex == CUDA_C_64F) return t.rank == 1 || points <= 65536;
  return t.rank == 1 && points <= 1280;
}

// A transform over adjacent axes of arrays, with dimensions before and behind them.
struct Job {
  int axis, rank;
  std::int64_t last;               // elements that the transform has along the last of its axes
  std::optional<Columns> columns;  // of our own kernels; else
  Transforms transforms = {};      // of cuFFT's,
  // whose input, or output, has the job's dimensions last in memory, with others behind them.
  bool turned_in = false, turned_out = false;
  bool may_read_columns = false;  // of real numbers, which it turns into rows
  bool leaves_rest = false;       // the output is the first part of longer rows or columns
};

std::int64_t product_of(const Dims& shape, int first, int last) {
  std::int64_t product = 1;
  for (int d = first; d < last; ++d) product *= shape[d];
  return product;
}

// Whether our own kernels take an axis, and what they are to be told. The lengths in memory come
// with the operands.
std::optional<Columns> columns_of(DType in, DType out, const Dims& lengths, int axis) {
  Columns c{in, out, product_of(lengths, 0, axis), lengths[axis],
            product_of(lengths, axis + 1, lengths.size())};
  if (c.behind == 1 || !are_columns(c)) return std::nullopt;
  return c;
}

Job job_of(DType in, DType out, const Dims& lengths, int axis, int rank) {
  Job job{axis, rank, lengths[axis + rank - 1], {}};
  if (rank == 1) job.columns = columns_of(in, out, lengths, axis);
  if (job.columns) return job;
  Transforms& t = job.transforms;
  t.device = properties().index;
  t.in = data_type(in);
  t.out = data_type(out);
  t.complex = data_type(complex_dtype(in));
  t.n.fill(1);
  for (int d = axis; d < axis + rank; ++d) {
    if (lengths[d] > 1) t.n[t.rank++] = lengths[d];
  }
  const std::int64_t before = product_of(lengths, 0, axis),
                     each = product_of(lengths, axis, axis + rank),
                     behind = product_of(lengths, axis + rank, lengths.size());
  t.count = before * behind;
  const int real_size = std::min(itemsize(in), itemsize(out));
  const bool is_fast = t.rank == 1 && is_fast_side_by_side(each) &&
                       (t.in == t.out || each * real_size <= longest_real_bytes);
  const bool is_small = each * t.count * itemsize(complex_dtype(in)) <= small_bytes;
  const bool are_columns = behind > 1 && before == 1;
  t.columns_out = are_columns && (is_fast || is_small);
  t.columns_in = t.columns_out || (are_columns && t.in == t.out && makes_rows_of_columns(t, each));
  job.turned_in = behind > 1 && !t.columns_in;
  job.turned_out = behind > 1 && !t.columns_out;
  constexpr std::int64_t longest_of_one_kernel = 1 << 12;
  job.may_read_columns =
      are_columns && !t.columns_in && t.in != t.complex && job.last <= longest_of_one_kernel;
  return job;
}

// What a transform of the lengths given consists of, one after the other. Adjacent axes go
// together, those of one element are none.
std::vector<Job> jobs_of(DType in, DType out, const Dims& lengths, std::span<const int> axes) {
  std::vector<Job> jobs;
  int first = 0, last = 0, together = 0;
  const auto finish = [&] {
    if (together == 0) return;
    const Job all = job_of(in, out, lengths, first, last - first + 1);
    // One by one where that spares them a copy to rows.
    bool go_apart = first < last && !all.transforms.columns_in;
    for (int d = first; d <= last; ++d) {
      const std::int64_t before = product_of(lengths, 0, d),
                         behind = product_of(lengths, d + 1, lengths.size());
      go_apart &= lengths[d] == 1 || columns_of(in, out, lengths, d) ||
                  (before == 1 && behind > 1 && is_fast_side_by_side(lengths[d]));
    }
    if (!go_apart) {
      jobs.push_back(all);
    } else {
      for (int d = last; d >= first; --d) {
        if (lengths[d] > 1) jobs.push_back(job_of(in, out, lengths, d, 1));
      }
    }
    together = 0;
  };
  for (int d = lengths.size() - 1; d >= 0; --d) {
    if (lengths[d] == 1) continue;
    const bool transformed = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!transformed || together == most_axes) finish();
    if (!transformed) continue;
    if (together++ == 0) last = d;
    first = d;
  }
  finish();
  return jobs;
}

// The dimensions of one of the job's arrays as they lie in memory, the slowest first.
Dims order_of(const Job& job, bool turned, int ndim) {
  Dims others, own;
  for (int d = 0; d < ndim; ++d) {
    const bool is_last = turned && d >= job.axis && d < job.axis + job.rank;
    (is_last ? own : others).push_back(d);
  }
  for (const std::int64_t d : own) others.push_back(d);
  return others;
}

// An uninitialised array that the job's plan can take.
Array work_array(const Job& job, bool turned, DType dtype, const Dims& shape) {
  Array a = scratch_array(dtype, shape);
  a.layout = dense_in_order(shape, order_of(job, turned, shape.size()));
  return a;
}

// Whether the job's plan can take an operand as it is.
bool is_taken_directly(const Job& job, bool turned, const Operand& a, std::int64_t length) {
  return permute(*a.layout, order_of(job, turned, a.layout->ndim())).is_contiguous() &&
         a.layout->shape[job.axis + job.rank - 1] == length &&
         is_aligned_to(a.data, itemsize(complex_dtype(a.dtype)));
}

// The elements that an axis has in memory where, for all that is left out at its end, the layout is
// that of contiguous elements; else none.
std::optional<std::int64_t> length_in_memory(const Layout& layout, int axis) {
  Layout whole = layout;
  for (int d = axis - 1; d >= 0 && whole.strides[axis] > 0; --d) {
    if (whole.shape[d] == 1) continue;
    whole.shape[axis] = whole.strides[d] / whole.strides[axis];
    break;
  }
  if (whole.shape[axis] < layout.shape[axis] || !whole.is_contiguous()) return std::nullopt;
  return whole.shape[axis];
}

// Whether the axis, of so many elements, is the slowest in memory, the others as they stand.
bool lies_as_columns(const Operand& a, int axis, std::int64_t length) {
  Dims order{axis};
  for (int d = 0; d < a.layout->ndim(); ++d) {
    if (d != axis) order.push_back(d);
  }
  return a.layout->shape[axis] == length && permute(*a.layout, order).is_contiguous() &&
         is_aligned_to(a.data, itemsize(a.dtype));
}

// An operand's elements, or their parts, in a layout of their own.
struct View {
  Operand operand;
  Layout layout;

  explicit View(const Operand& a) : operand(a), layout(*a.layout) { layout.offset = 0; }
  operator Operand() const {
    Operand o = operand;
    o.data += layout.offset * itemsize(o.dtype);
    o.layout = &layout;
    return o;
  }
};

// [first, first + count) along an axis.
View part_of(const Operand& a, int axis, std::int64_t first, std::int64_t count) {
  View v(a);
  v.layout = slice_axis(v.layout, axis, first, 1, count);
  return v;
}

// Complex numbers as pairs of real ones, along a last axis of two.
View pairs_of(const Operand& a) {
  View v(a);
  if (!is_complex(a.dtype)) return v;
  v.operand.dtype = real_dtype(a.dtype);
  v.layout = parts_of(v.layout, 2);
  return v;
}

View real_parts_of(const Operand& a) {
  View v = pairs_of(a);
  v.layout = index_axis(v.layout, a.layout->ndim(), 0);
  return v;
}

// out = in * factor, complex numbers part by part: infinities times a zero imaginary part would be
// NaN.
void multiply(const Operand& in, double factor, const Operand& out) {
  const View x = pairs_of(in), y = pairs_of(out);
  const Element value = Element::of(factor);
  const Operand inputs[] = {x, value};
  elementwise(Op::multiply, y.operand.dtype, inputs, y);
}

// to = the first elements of `in` along an axis, written by fill(in, to), and zeros behind them.
template <class Fill>
void load(const Operand& in, const Operand& to, int axis, Fill&& fill) {
  const std::int64_t given = in.layout->shape[axis], wanted = to.layout->shape[axis];
  const std::int64_t common = std::min(given, wanted);
  if (common > 0) fill(part_of(in, axis, 0, common), part_of(to, axis, 0, common));
  if (common < wanted) {
    copy(Element::of(std::int8_t{0}), part_of(to, axis, common, wanted - common));
  }
}

// Ends a transform of real numbers in one pass: z is what is there of it, of which an inverse one
// has the conjugates, all times a factor; the conjugates of that go to the images, if there are
// any. Operands are the images, and z.
template <class R>
__global__ void __launch_bounds__(block_threads)
    end_of_real(const __grid_constant__ Loop loop, R factor, bool inverse, bool has_images) {
  wait_for_earlier();
  using Item = Pack<R, 2>;
  constexpr int E = elements_of_thread;
  over_elements(loop, [&](u32 begin) {
    const Places<2> place(loop, begin);
    Item z[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      z[e] = *reinterpret_cast<const Item*>(loop.data[1] + place.offset[e][1]);
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!place.exists[e]) continue;
      const R re = z[e].v[0] * factor, im = z[e].v[1] * factor;
      const Item as_it_is{re, im}, conjugate{re, -im};
      *reinterpret_cast<Item*>(loop.data[1] + place.offset[e][1]) = inverse ? conjugate : as_it_is;
      if (has_images) {
        *reinterpret_cast<Item*>(loop.data[0] + place.offset[e][0]) =
            inverse ? as_it_is : conjugate;
      }
    }
  });
}

// `out` has the first frequencies of n real numbers, aligned, and is given the others where it has
// room for all n along the axis.
void end_real(const Operand& out, std::int64_t n, int axis, bool inverse, double scale) {
  const bool has_images = out.layout->shape[axis] > n / 2 + 1;
  const bool is_done = !inverse && scale == 1;
  const auto run = [&](const View& values, const View* images) {
    if (values.layout.size == 0) return;
    const Operand z = values, image = images ? Operand(*images) : z;
    if (is_done) {
      if (images) elementwise(Op::conj, out.dtype, {&z, 1}, image);
      return;
    }
    const Dims* strides[] = {images ? &images->layout.strides : nullptr, &values.layout.strides};
    const Plan plan = make_plan(values.layout.shape, strides, 2);
    const Operand* const operands[] = {&image, &z};
    const auto run_as = [&](auto factor) {
      launch_over(reinterpret_cast<const void*>(&end_of_real<decltype(factor)>), plan, operands,
                  "fft", factor, inverse, images != nullptr);
    };
    out.dtype == DType::complex64 ? run_as(static_cast<f32>(scale)) : run_as(scale);
  };
  if (!has_images) return run(View(out), nullptr);
  const auto part = [&](std::int64_t start, std::int64_t step, std::int64_t count) {
    View v(out);
    v.layout = slice_axis(v.layout, axis, start, step, count);
    return v;
  };
  const View images = part(n - 1, -1, (n - 1) / 2);
  run(part(1, 1, (n - 1) / 2), &images);
  run(part(0, n / 2, n % 2 == 0 ? 2 : 1), nullptr);
}

void run(Cufft& library, FftPlan& plan, const Operand& in, const Operand& out, int direction) {
  std::optional<Scratch> area;
  if (plan.scratch_bytes > 0) {
    area.emplace(plan.scratch_bytes);
    check_fft(library.set_work_area(plan.handle, area->as()), "a work area");
  }
  check_fft(library.execute(plan.handle, in.data, out.data, direction), "a transform");
}

// As far as our own kernels do it, of an operand of any layout.
void run_columns(Columns c, int axis, const Operand& in, const Operand& out, bool inverse,
                 double scale) {
  c.given = in.layout->shape[axis];
  c.wanted = out.layout->shape[axis];
  c.inverse = inverse;
  c.scale = scale;
  Array copied;
  Operand from = in;
  if (!in.layout->is_contiguous() || !is_aligned_to(in.data, itemsize(in.dtype))) {
    copied = scratch_array(in.dtype, in.layout->shape);
    copy(in, copied);
    from = copied;
  }
  transform_columns(c, from.data, out.data);
}

// Has the job write to an output of which it is given the first part, as where the other
// frequencies are to be found from those.
void leave_rest(Job& job, const Operand& out) {
  const int ndim = out.layout->ndim();
  const bool are_rows = !job.columns && !job.transforms.columns_out;
  if ((!are_rows && !job.columns) || !is_aligned_to(out.data, itemsize(out.dtype))) return;
  const int axis = job.turned_out ? ndim - 1 : job.axis;
  const auto length =
      length_in_memory(permute(*out.layout, order_of(job, job.turned_out, ndim)), axis);
  job.leaves_rest = length && *length > out.layout->shape[job.axis];
  if (!job.leaves_rest) return;
  if (job.columns) {
    job.columns->stored = *length;
  } else {
    job.transforms.row_out = *length;
  }
}

// A result, where the plan can write it: in `out` or in an array that is copied there.
class Result {
 public:
  Result(const Job& job, const Operand& out, std::int64_t length) : out_(out), operand_(out) {
    if (job.leaves_rest || is_taken_directly(job, job.turned_out, out, length)) return;
    array_ = work_array(job, job.turned_out, out.dtype, out.layout->shape);
    operand_ = array_;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  operator const Operand&() const { return operand_; }
  bool is_direct() const { return !array_.storage; }
  void deliver() const {
    if (!is_direct()) copy(array_, out_);
  }

 private:
  Operand out_, operand_;
  Array array_;
};

// Of n real numbers as many frequencies as `out` has room for: n / 2 + 1, or all.
void transform_real(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
                    double scale) {
  const auto fill = [](const Operand& from, const Operand& to) { copy(from, to); };
  if (n == 1) {
    load(in, out, axis, fill);
    if (scale != 1) multiply(out, scale, out);
    return;
  }
  Cufft& library = cufft();
  const std::lock_guard lock(library.mutex);
  Dims shape = out.layout->shape;
  shape[axis] = n;
  Job job = job_of(in.dtype, out.dtype, shape, axis, 1);
  if (job.columns) {
    leave_rest(job, out);
    const Result result(job, out, out.layout->shape[axis]);
    run_columns(*job.columns, axis, in, result, inverse, scale);
    return result.deliver();
  }
  const View first = part_of(out, axis, 0, n / 2 + 1);
  leave_rest(job, first);
  FftPlan* plan = nullptr;
  if (job.may_read_columns) {
    // A plan that has its kernel read columns is faster than one of rows and a copy to them where
    // it needs no work area: that one kernel does it all.
    Transforms of_columns = job.transforms;
    of_columns.columns_in = true;
    plan = &library.plan_for(of_columns);
    if (plan->scratch_bytes == 0) {
      job.transforms = of_columns;
      job.turned_in = false;
    } else {
      plan = nullptr;
    }
  }
  if (!plan) plan = &library.plan_for(job.transforms);
  const Result result(job, first, n / 2 + 1);
  Array copied;
  Operand from = in;
  if (!is_taken_directly(job, job.turned_in, in, n)) {
    copied = work_array(job, job.turned_in, in.dtype, shape);
    load(in, copied, axis, fill);
    from = copied;
  }
  run(library, *plan, from, result, forward);
  if (result.is_direct()) return end_real(out, n, axis, inverse, scale);
  end_real(result, n, axis, inverse, scale);
  result.deliver();
  end_real(out, n, axis, false, 1);
}

}  // namespace

void fft(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
         double scale) {
  if (out.layout->size == 0) return;
  if (!is_complex(in.dtype)) {
    return transform_real(in, out, out.layout->shape[axes[0]], axes[0], inverse, scale);
  }
  Cufft& library = cufft();
  const std::lock_guard lock(library.mutex);
  const std::vector<Job> jobs = jobs_of(in.dtype, out.dtype, out.layout->shape, axes);
  // Every plan is there before anything is written.
  std::vector<FftPlan*> plans;
  for (const Job& job : jobs) {
    plans.push_back(job.columns ? nullptr : &library.plan_for(job.transforms));
  }
  const auto fill = [](const Operand& from, const Operand& to) { copy(from, to); };
  if (jobs.empty()) {
    if (in.data != out.data) load(in, out, axes.front(), fill);
    if (scale != 1) multiply(out, scale, out);
    return;
  }
  std::list<Result> results;  // of a job and the one before
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const double factor = i + 1 == jobs.size() ? scale : 1;
    const Operand source = results.empty() ? in : results.back();
    const Operand to = results.emplace_back(job, out, job.last);
    if (results.size() > 2) results.pop_front();
    if (job.columns) {
      run_columns(*job.columns, job.axis, source, to, inverse, factor);
      continue;
    }
    Array copied;
    Operand from = source;
    if (!is_taken_directly(job, job.turned_in, source, job.last)) {
      from = to;
      if (job.turned_in != job.turned_out) {
        copied = work_array(job, job.turned_in, in.dtype, out.layout->shape);
        from = copied;
      }
      load(source, from, job.axis + job.rank - 1, fill);
    }
    run(library, *plans[i], from, to, inverse ? backward : forward);
    if (factor != 1) multiply(to, factor, to);
  }
  results.back().deliver();
}

void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
          double scale) {
  if (out.layout->size == 0) return;
  transform_real(in, out, n, axis, inverse, scale);
}

void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale,
           bool spent) {
  if (out.layout->size == 0) return;
  const std::int64_t n = out.layout->shape[axis];
  if (n == 1) {
    load(in, out, axis,
         [&](const Operand& from, const Operand& to) { copy(real_parts_of(from), to); });
    if (scale != 1) multiply(out, scale, out);
    return;
  }
  Cufft& library = cufft();
  const std::lock_guard lock(library.mutex);
  Job job = job_of(in.dtype, out.dtype, out.layout->shape, axis, 1);
  Dims shape = out.layout->shape;
  shape[axis] = n / 2 + 1;
  // cuFFT writes into the input of such transforms.
  bool scaled = scale == 1;
  bool is_taken = spent && inverse && scaled && !job.columns;
  // How a spent input lies follows from its shape: bits may depend on that. Where cuFFT reads
  // columns itself, no copy makes rows of them.
  if (is_taken && !job.transforms.columns_in && lies_as_columns(in, axis, shape[axis])) {
    job.transforms.columns_in = true;
  } else {
    is_taken = is_taken && is_taken_directly(job, job.turned_in, in, shape[axis]);
  }
  FftPlan* const plan = job.columns ? nullptr : &library.plan_for(job.transforms);
  const Result result(job, out, n);
  if (job.columns) {
    run_columns(*job.columns, axis, in, result, inverse, scale);
    result.deliver();
    return;
  }
  Array copied;
  Operand from = in;
  if (!is_taken) {
    copied = work_array(job, job.turned_in, in.dtype, shape);
    from = copied;
    load(in, from, axis, [&](const Operand& given, const Operand& to) {
      const Operand* both[] = {&given, &to};
      if (!inverse) {
        elementwise(Op::conj, in.dtype, {&given, 1}, to);
      } else if (!scaled && plan_of(both, 2).kind != LoopKind::transposed) {
        multiply(given, scale, to);
        scaled = true;
      } else {
        copy(given, to);
      }
    });
  }
  if (!scaled) multiply(from, scale, from);
  // cuFFT may read the imaginary parts of in[0] and in[n / 2].
  View imaginary = real_parts_of(from);
  imaginary.layout.offset += 1;
  imaginary.layout = slice_axis(imaginary.layout, axis, 0, n / 2, n % 2 == 0 ? 2 : 1);
  copy(Element::of(std::int8_t{0}), imaginary);
  run(library, *plan, from, result, backward);
  result.deliver();
}

// By halves, and their mirror images, where there is an even number and much work: little is done
// sooner in fewer steps. Kernels for columns read real numbers as they are.
bool fft_takes_real(DType in, const Dims& shape, int axis) {
  constexpr std::int64_t least = 32, least_bytes = std::int64_t{9} << 20;
  const DType out = complex_dtype(in);
  const std::int64_t n = shape[axis], others = product_of(shape, 0, axis) *
                                               product_of(shape, axis + 1, shape.size());
  if (others == 0 || !cufft_if_found().found) return false;
  return (n % 2 == 0 && n >= least && others >= least_bytes / itemsize(out) / n) ||
         columns_of(in, out, shape, axis);
}

Dims fft_order(DType in, DType out, const Dims& lengths, std::span<const int> axes) {
  const std::vector<Job> jobs = jobs_of(in, out, lengths, axes);
  return jobs.empty() || !jobs.back().turned_out ? Dims{}
                                                 : order_of(jobs.back(), true, lengths.size());
}

}  // namespace arrayx::cuda
