// Fourier transforms: cuFFT, opened on first use, and kernels of our own along axes with others
// behind them (fft_columns.hpp). It is given contiguous arrays alone, so that bits
// do not depend on the layout of an input: what lies otherwise, is too short or too long is copied
// first.
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

// Transforms of contiguous arrays: one after the other, or side by side, element by element.
struct Transforms {
  int device;
  cudaDataType_t in, out, complex;
  std::array<long long, most_axes> n;
  int rank;
  long long count;
  bool side_by_side;

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
    if (from_real) out[t.rank - 1] = half;
    const auto distance = [&](const std::array<long long, most_axes>& lengths) {
      long long elements = 1;
      for (int i = 0; i < t.rank; ++i) elements *= lengths[i];
      return t.side_by_side ? 1 : elements;
    };
    const long long step = t.side_by_side ? t.count : 1;
    int status = create(&plan.handle);
    if (status != success) return status;
    status = set_auto_allocation(plan.handle, 0);
    if (status == success) {
      status = make(plan.handle, t.rank, n.data(), in.data(), step, distance(in), t.in, out.data(),
                    step, distance(out), t.out, t.count, &plan.scratch_bytes, t.complex);
    }
    if (status == success) status = set_stream(plan.handle, stream());
    if (status != success) destroy(plan.handle);
    return status;
  }
};

Cufft& cufft() {
  static Cufft* const library = new Cufft;
  if (!library->found) raise(ErrorKind::not_implemented, "there is no cuFFT");
  return *library;
}

// ---- from arrays to plans -----------------------------------------------------------------------

constexpr std::int64_t small_bytes = std::int64_t{1} << 20;

bool is_fast_side_by_side(std::int64_t n) {
  return n <= longest_side_by_side && (n & (n - 1)) == 0;
}

// A transform over adjacent axes of an array, with dimensions before and behind them.
struct Job {
  int axis, rank;       // of the array
  std::int64_t last;    // elements that the transform has along the last of them
  bool turned = false;  // computed in rows although there are dimensions behind
  FftPlan* plan = nullptr;
  std::optional<Columns> columns = {};  // instead of a plan
};

std::int64_t product_of(const Dims& shape, int first, int last) {
  std::int64_t product = 1;
  for (int d = first; d < last; ++d) product *= shape[d];
  return product;
}

// Whether our own kernels take an axis, and what they are to be told. The lengths in memory come
// with the operands.
std::optional<Columns> columns_of(DType in, DType out, const Dims& shape, int axis,
                                  std::int64_t n) {
  Columns c{in, out, product_of(shape, 0, axis), n, product_of(shape, axis + 1, shape.size())};
  if (c.behind == 1 || !are_columns(c)) return std::nullopt;
  return c;
}

Job job_of(Cufft& library, DType in, DType out, const Dims& shape, int axis, int rank,
           std::int64_t last) {
  Job job{axis, rank, last};
  if (rank == 1) job.columns = columns_of(in, out, shape, axis, last);
  if (job.columns) return job;
  Transforms t{properties().index,
               data_type(in),
               data_type(out),
               data_type(complex_dtype(in)),
               {},
               0,
               1,
               false};
  t.n.fill(1);
  std::int64_t behind = 1, each = 1;
  for (int d = axis; d < axis + rank; ++d) {
    const std::int64_t n = d + 1 == axis + rank ? last : shape[d];
    if (n > 1) t.n[t.rank++] = n;
    each *= n;
  }
  for (int d = 0; d < shape.size(); ++d) {
    if (d >= axis && d < axis + rank) continue;
    t.count *= shape[d];
    if (d > axis) behind *= shape[d];
  }
  const bool is_fast = t.rank == 1 && is_fast_side_by_side(each);
  const bool is_small = each * t.count * itemsize(complex_dtype(in)) <= small_bytes;
  t.side_by_side = behind > 1 && t.count == behind && (is_fast || is_small);
  job.turned = behind > 1 && !t.side_by_side;
  job.plan = &library.plan_for(t);
  return job;
}

// An uninitialised array that the job's plan can take.
Array work_array(const Job& job, DType dtype, Dims shape) {
  if (!job.turned) return scratch_array(dtype, shape);
  Dims order;  // of the axes in memory
  for (int d = 0; d < shape.size(); ++d) {
    if (d < job.axis || d >= job.axis + job.rank) order.push_back(d);
  }
  for (int d = job.axis; d < job.axis + job.rank; ++d) order.push_back(d);
  Dims in_memory, place(shape.size());
  for (int i = 0; i < order.size(); ++i) {
    in_memory.push_back(shape[static_cast<int>(order[i])]);
    place[static_cast<int>(order[i])] = i;
  }
  Array a = scratch_array(dtype, in_memory);
  a.layout = permute(a.layout, place);
  return a;
}

// Whether the job's plan can take an operand as it is.
bool is_taken_directly(const Job& job, const Operand& a, std::int64_t length) {
  return !job.turned && a.layout->is_contiguous() &&
         a.layout->shape[job.axis + job.rank - 1] == length &&
         is_aligned_to(a.data, itemsize(complex_dtype(a.dtype)));
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

// A result, where the plan can write it: in `out` or in an array that is copied there.
class Result {
 public:
  Result(const Job& job, const Operand& out, std::int64_t length) : out_(out), operand_(out) {
    if (is_taken_directly(job, out, length)) return;
    array_ = work_array(job, out.dtype, out.layout->shape);
    operand_ = array_;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  operator const Operand&() const { return operand_; }
  void deliver() const {
    if (array_.storage) copy(array_, out_);
  }

 private:
  Operand out_, operand_;
  Array array_;
};

}  // namespace

void fft(const Operand& in, const Operand& out, std::span<const int> axes, bool inverse,
         double scale) {
  if (out.layout->size == 0) return;
  Cufft& library = cufft();
  const std::lock_guard lock(library.mutex);
  const Dims& shape = out.layout->shape;
  // Adjacent axes go together, those of one element are none. Every plan is there before anything
  // is written.
  std::vector<Job> jobs;
  int first = 0, last = 0, together = 0;
  const auto finish = [&] {
    if (together == 0) return;
    const auto add = [&](int axis, int rank, std::int64_t n) {
      jobs.push_back(job_of(library, in.dtype, out.dtype, shape, axis, rank, n));
    };
    // One by one where that spares them a copy to rows.
    bool go_apart = true;
    for (int d = first; d <= last; ++d) {
      const std::int64_t before = product_of(shape, 0, d),
                         behind = product_of(shape, d + 1, shape.size());
      go_apart &= shape[d] == 1 || columns_of(in.dtype, out.dtype, shape, d, shape[d]) ||
                  (before == 1 && behind > 1 && is_fast_side_by_side(shape[d]));
    }
    if (go_apart) {
      for (int d = last; d >= first; --d) {
        if (shape[d] > 1) add(d, 1, shape[d]);
      }
    } else {
      add(first, last - first + 1, shape[last]);
    }
    together = 0;
  };
  for (int d = shape.size() - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    const bool transformed = std::find(axes.begin(), axes.end(), d) != axes.end();
    if (!transformed || together == most_axes) finish();
    if (!transformed) continue;
    if (together++ == 0) last = d;
    first = d;
  }
  finish();
  const auto fill = [](const Operand& from, const Operand& to) { copy(from, to); };
  if (jobs.empty()) {
    if (in.data != out.data) load(in, out, axes.front(), fill);
    if (scale != 1) multiply(out, scale, out);
    return;
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const Result result(job, out, job.last);
    const Operand& to = result;
    const Operand& source = i == 0 ? in : out;
    const bool is_last = i + 1 == jobs.size();
    if (job.columns) {
      run_columns(*job.columns, job.axis, source, to, inverse, is_last ? scale : 1);
      result.deliver();
      continue;
    }
    const bool direct = is_taken_directly(job, source, job.last);
    if (!direct) load(source, to, job.axis + job.rank - 1, fill);
    run(library, *job.plan, direct ? source : to, to, inverse ? backward : forward);
    if (scale != 1 && is_last) multiply(to, scale, to);
    result.deliver();
  }
}

void rfft(const Operand& in, const Operand& out, std::int64_t n, int axis, bool inverse,
          double scale) {
  if (out.layout->size == 0) return;
  const auto fill = [](const Operand& from, const Operand& to) { copy(from, to); };
  if (n == 1) {
    load(in, out, axis, fill);
    if (scale != 1) multiply(out, scale, out);
    return;
  }
  Cufft& library = cufft();
  const std::lock_guard lock(library.mutex);
  const Job job = job_of(library, in.dtype, out.dtype, out.layout->shape, axis, 1, n);
  const Result result(job, out, n / 2 + 1);
  const Operand& to = result;
  if (job.columns) {
    run_columns(*job.columns, axis, in, to, inverse, scale);
    result.deliver();
    return;
  }
  Array copied;
  Operand from = in;
  if (!is_taken_directly(job, in, n)) {
    Dims shape = out.layout->shape;
    shape[axis] = n;
    copied = work_array(job, in.dtype, shape);
    load(in, copied, axis, fill);
    from = copied;
  }
  run(library, *job.plan, from, to, forward);
  if (inverse) elementwise(Op::conj, out.dtype, {&to, 1}, to);
  if (scale != 1) multiply(to, scale, to);
  result.deliver();
}

void irfft(const Operand& in, const Operand& out, int axis, bool inverse, double scale) {
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
  const Job job = job_of(library, in.dtype, out.dtype, out.layout->shape, axis, 1, n);
  const Result result(job, out, n);
  if (job.columns) {
    run_columns(*job.columns, axis, in, result, inverse, scale);
    result.deliver();
    return;
  }
  Dims shape = out.layout->shape;
  shape[axis] = n / 2 + 1;
  // A copy always, since cuFFT writes into the input of such transforms.
  const Array from = work_array(job, in.dtype, shape);
  bool scaled = scale == 1;
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
  if (!scaled) multiply(from, scale, from);
  // cuFFT may read the imaginary parts of in[0] and in[n / 2].
  View imaginary = real_parts_of(from);
  imaginary.layout.offset += 1;
  imaginary.layout = slice_axis(imaginary.layout, axis, 0, n / 2, n % 2 == 0 ? 2 : 1);
  copy(Element::of(std::int8_t{0}), imaginary);
  run(library, *job.plan, from, result, backward);
  result.deliver();
}

}  // namespace arrayx::cuda
