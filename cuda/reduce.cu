// Reductions and arg-reductions. Each pass reduces one group of dimensions, from the last
// backwards; groups and what is combined with what in them depend on the logical shape alone.
#include <bit>
#include <vector>

#include "kernels/reduce_loop.cuh"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// Reduced dimensions are merged, from the last one backwards, until this many elements are
// together.
constexpr std::int64_t least_group = 1024;
constexpr int most_chunks_per_unit = 32;

const ReduceTable& reduce_table() {
  static const ReduceTable* const table = [] {
    auto* t = new ReduceTable;
    fill_sums(*t);
    fill_extremes(*t);
    fill_positions(*t);
    fill_conditions(*t);
    return t;
  }();
  return *table;
}

bool conditional(Reduction op) {
  return op == Reduction::any || op == Reduction::all || op == Reduction::count_nonzero;
}

// The reduction that combines partial results.
Reduction continuation(Reduction op) {
  const bool adds = op == Reduction::count_nonzero || op == Reduction::sum_squared_deviations;
  return adds ? Reduction::sum : op;
}

// The kernels that read `dtype` and accumulate in `accumulator`; null where elements have to be
// cast first.
const ReduceKernels* find_kernels(Reduction op, DType dtype, DType accumulator) {
  const bool adds = op == Reduction::sum || op == Reduction::prod;
  const bool same = conditional(op) || compute_dtype(dtype) == accumulator ||
                    (adds && is_integer(accumulator) && !is_floating(dtype));
  const bool wide = dtype != DType::float16 && wider_dtype(dtype) == accumulator;
  if (!same && !wide) return nullptr;
  const ReduceKernels& k =
      reduce_table().reduce[static_cast<int>(op)][static_cast<int>(dtype)][same ? 0 : 1];
  return k.rows ? &k : nullptr;
}

// One pass: kept dimensions (operands: out, center, in) and those of the group (in).
struct Pass {
  const ReduceKernels* kernels;
  int itemsize, center_size, out_size;  // bytes of an item
  const char* in;
  const char* center;  // or null
  char* out;
  Plan kept, group;
  const char* verb;
};

void set_dims(LoopDim* dims, int& count, const Plan& plan, const int* operand, const int* itemsize,
              int operands) {
  count = plan.ndim();
  for (int d = 0; d < count; ++d) {
    const int from = count - 1 - d;
    dims[d].size = Divisor(static_cast<u32>(plan.size[from]));
    for (int k = 0; k < operands; ++k) {
      dims[d].stride[k] = plan.stride[operand[k]][from] * itemsize[k];
    }
  }
}

bool fits(const Pass& p) {
  const std::int64_t n = p.group.count();
  return p.kept.ndim() <= ReduceLoop::most_dims && p.group.ndim() <= ReduceLoop::most_dims &&
         (p.group.ndim() == 1 || n <= most_counted);
}

// Joins partial results at in[outputs][n], `bytes` each, into loop.out.
void launch_merges(const Pass& p, ReduceLoop loop, const char* in, std::int64_t n) {
  const std::int64_t bytes = p.kernels->accumulator_bytes;
  std::vector<Scratch> partial;
  while (true) {
    const std::int64_t segments = (n - 1) / merged_at_once + 1;
    ReduceLoop stage = loop;
    stage.in = in;
    stage.n = n;
    stage.units = Divisor(static_cast<u32>(segments));
    stage.unit_stride = bytes;
    stage.is_final = segments == 1;
    if (segments > 1) {
      partial.emplace_back(static_cast<std::size_t>(loop.outputs * segments * bytes));
      stage.out = partial.back().as<char>();
      stage.kept_dims = 1;
      stage.kept[0].size = Divisor(loop.outputs);
      stage.kept[0].stride[2] = segments * bytes;
    }
    void* arguments[] = {&stage};
    const std::int64_t quarter = (std::min<std::int64_t>(n, merged_at_once) + 3) / 4;
    const auto threads = static_cast<unsigned>((quarter + 31) / 32 * 32);
    check(cudaLaunchKernel(p.kernels->merge, dim3(static_cast<unsigned>(loop.outputs * segments)),
                           dim3(threads), arguments, 0, stream()),
          p.verb);
    if (segments == 1) return;
    in = stage.out;
    n = segments;
  }
}

void run_pass(const Pass& p) {
  const ReduceKernels& k = *p.kernels;
  const std::int64_t n = p.group.count(), outputs = p.kept.count();
  const int last = p.kept.ndim() - 1;
  const std::int64_t chunks = (n - 1) / reduce_chunk + 1;
  if (outputs > most_counted / std::min<std::int64_t>(chunks, 1 << 20) && outputs > 1) {
    // Halves of the outputs, which do not depend on each other.
    int longest = 0;
    for (int d = 1; d <= last; ++d) {
      if (p.kept.size[d] > p.kept.size[longest]) longest = d;
    }
    Pass first = p, second = p;
    const std::int64_t cut = p.kept.size[longest] / 2;
    first.kept.size[longest] = cut;
    second.kept.size[longest] -= cut;
    second.out += cut * p.kept.stride[0][longest] * p.out_size;
    if (p.center) second.center += cut * p.kept.stride[1][longest] * p.center_size;
    second.in += cut * p.kept.stride[2][longest] * p.itemsize;
    run_pass(first);
    return run_pass(second);
  }
  ReduceLoop loop;
  loop.in = p.in;
  loop.center = p.center;
  loop.out = p.out;
  loop.n = n;
  loop.outputs = static_cast<u32>(outputs);
  loop.unit_stride = k.accumulator_bytes;
  loop.vector = false;
  loop.width_log2 = 5;
  loop.chunks_per_unit = 1;
  const int kept_operands[] = {2, 1, 0}, kept_sizes[] = {p.itemsize, p.center_size, p.out_size};
  set_dims(loop.kept, loop.kept_dims, p.kept, kept_operands, kept_sizes, 3);
  const int group_operand[] = {0}, group_size[] = {p.itemsize};
  set_dims(loop.group, loop.group_dims, p.group, group_operand, group_size, 1);

  const std::int64_t step = p.group.stride[0][p.group.ndim() - 1];
  const std::int64_t m = p.kept.size[last], kept_step = p.kept.stride[2][last];
  const auto is_vector = [&](std::int64_t lanes) {  // of in's items, at every other kept place
    if (!is_aligned_to(p.in, lanes * p.itemsize)) return false;
    for (int d = 0; d < last; ++d) {
      if (p.kept.stride[2][d] % lanes != 0) return false;
    }
    return true;
  };
  const bool by_columns = m > 1 && kept_step != 0 && n > 1 &&
                          (step == 0 || detail::magnitude(kept_step) < detail::magnitude(step));
  std::int64_t units = chunks;
  const void* kernel;
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
  if (by_columns) {
    const int columns = k.columns_per_thread;
    // Lanes of a thread, and with them how many threads a chunk takes; the others go side by side.
    const std::int64_t lanes = std::min<std::int64_t>(n, reduce_lanes);
    const std::int64_t wide = (m - 1) / columns + 1;
    const int form = wide >= 32 || lanes <= 16 ? 0 : wide >= 4 ? 1 : 2;
    const int per_thread = form == 0 ? 16 : form == 1 ? 4 : 1;
    const auto y = std::bit_ceil(static_cast<std::uint64_t>((lanes - 1) / per_thread + 1));
    const auto x =
        std::min<std::uint64_t>(block_threads / y, std::bit_ceil(static_cast<std::uint64_t>(wide)));
    threads = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y));
    const std::int64_t tiles = (m - 1) / static_cast<std::int64_t>(x * columns) + 1;
    loop.tiles = Divisor(static_cast<u32>(tiles));
    loop.vector = kept_step == 1 && m % columns == 0 && is_vector(columns);
    for (int d = 0; d < p.group.ndim(); ++d) loop.vector &= p.group.stride[0][d] % columns == 0;
    kernel = k.columns[form];
    blocks = dim3(static_cast<unsigned>(outputs / m * tiles * units));
    shared_bytes = x * y * columns * k.accumulator_bytes;
  } else {
    const bool packs = p.group.ndim() == 1 && step == 1 && is_vector(k.lanes) &&
                       (outputs == 1 || (kept_step % k.lanes == 0 && n % k.lanes == 0));
    const int lanes = packs ? k.lanes : 1;
    kernel = packs ? k.rows : k.rows_any;
    if (n < 32 * lanes) {
      loop.width_log2 = std::bit_width(static_cast<std::uint64_t>((n - 1) / lanes));
    }
    const std::int64_t enough = std::int64_t{properties().multiprocessors} * 48;
    while (loop.chunks_per_unit < most_chunks_per_unit && units > 1 &&
           (units > merged_at_once || outputs * ((units + 1) / 2) >= enough)) {
      loop.chunks_per_unit *= 2;
      units = (chunks - 1) / loop.chunks_per_unit + 1;
    }
    threads = dim3(block_threads);
    const std::int64_t per_block = block_threads >> loop.width_log2;
    blocks = dim3(static_cast<unsigned>((outputs * units - 1) / per_block + 1));
  }
  loop.units = Divisor(static_cast<u32>(units));
  loop.is_final = units == 1;
  const ReduceLoop whole = loop;
  std::optional<Scratch> partial;
  if (units > 1) {  // [output][unit], outputs in the order of the kept dimensions
    partial.emplace(static_cast<std::size_t>(outputs * units * k.accumulator_bytes));
    loop.out = partial->as<char>();
    std::int64_t stride = units * k.accumulator_bytes;
    for (int d = 0; d < loop.kept_dims; ++d) {
      loop.kept[d].stride[2] = stride;
      stride *= loop.kept[d].size.divisor;
    }
  }
  void* arguments[] = {&loop};
  check(cudaLaunchKernel(kernel, blocks, threads, arguments, shared_bytes, stream()), p.verb);
  if (units > 1) launch_merges(p, whole, loop.out, units);
}

// Every element of out becomes the reduction of nothing.
void write_empty(Reduction op, DType accumulator, const Operand& out) {
  const bool one = op == Reduction::prod || op == Reduction::all;
  const Element e = dispatch(accumulator, [&](auto zero) {
    return Element::of(static_cast<decltype(zero)>(one ? 1 : 0));
  });
  copy(e, out);
}

Array cast_copy(const Operand& in, DType dtype) {
  Array a = scratch_array(dtype, in.layout->shape);
  copy(in, a);
  return a;
}

// An operand that several passes can read: aligned, and of a dtype that kernels have.
struct Source {
  Array holder;  // where it is a copy
  const char* data;
  DType dtype;
  Dims shape, strides;
  bool repeated = false;  // see repeat()

  Source(const Operand& in, DType wanted)
      : data(in.data), dtype(in.dtype), shape(in.layout->shape), strides(in.layout->strides) {
    if (in.dtype == wanted && has_aligned_elements(in)) return;
    take(cast_copy(in, wanted));
  }
  void take(Array copy) {
    holder = std::move(copy);
    data = holder.data();
    dtype = holder.dtype;
    strides = holder.layout.strides;
  }
  // Of the kept dimensions' shape: as often as `whole`, where reduced dimensions may remain, has
  // it.
  void repeat(const Dims& whole, std::span<const bool> reduced) {
    Layout layout = Layout::contiguous(whole);
    for (int i = 0, axis = 0; i < whole.size(); ++i) {
      layout.strides[i] = reduced[static_cast<std::size_t>(i)] ? 0 : strides[axis++];
    }
    Operand in;
    in.data = const_cast<char*>(data);
    in.layout = &layout;
    in.dtype = dtype;
    take(cast_copy(in, dtype));
    repeated = true;
  }
  // The same elements, contiguous with the marked dimensions last.
  void compact(const Dims& last) {
    Operand in;
    Layout moved;
    Dims order;
    for (int pass = 0; pass < 2; ++pass) {
      for (int d = 0; d < shape.size(); ++d) {
        if ((last[d] != 0) == (pass == 1)) order.push_back(d);
      }
    }
    for (const std::int64_t d : order) {
      moved.shape.push_back(shape[static_cast<int>(d)]);
      moved.strides.push_back(strides[static_cast<int>(d)]);
    }
    moved.size = checked_size(moved.shape);
    in.data = const_cast<char*>(data);
    in.layout = &moved;
    in.dtype = dtype;
    const Array packed = cast_copy(in, dtype);
    Dims packed_strides(shape.size());
    for (int i = 0; i < order.size(); ++i) {
      packed_strides[static_cast<int>(order[i])] = packed.layout.strides[i];
    }
    take(packed);
    strides = packed_strides;
  }
};

}  // namespace

void reduce(Reduction op, DType accumulator, const Operand& in, std::span<const bool> reduced,
            const Operand* center, const Operand& out) {
  accumulator = kernel_accumulator(op, accumulator);
  const Layout& layout = *in.layout;
  const int ndim = layout.ndim(), out_item = itemsize(accumulator);
  if (out.layout->size == 0) return;
  if (layout.size == 0) return write_empty(op, accumulator, out);
  const ReduceKernels* k = find_kernels(op, in.dtype, accumulator);
  Source source(in, k ? in.dtype : accumulator);
  if (!k) k = find_kernels(op, accumulator, accumulator);
  if (!k) {
    raise(ErrorKind::not_implemented, info(op).name, " of ", in.dtype, " with accumulator ",
          accumulator, " has no kernel");
  }
  std::optional<Source> centers;
  if (center) centers.emplace(*center, accumulator);

  const bool order_free = conditional(op) || is_integer(accumulator) || accumulator == DType::bool_;
  const bool out_fits = out.dtype == accumulator && has_aligned_elements(out);
  Dims state(ndim);  // 1: still to be reduced
  for (int i = 0; i < ndim; ++i) state[i] = reduced[i];
  for (int end = ndim;;) {
    // The next group: dimensions [begin, end) that are marked, kept ones in between.
    int begin = end;
    std::int64_t n = 1;
    while (begin > 0 && n < least_group) {
      --begin;
      if (state[begin]) n *= layout.shape[begin];
    }
    bool more = false;
    for (int i = 0; i < begin; ++i) more |= state[i] != 0 && layout.shape[i] > 1;
    bool direct = !more && out_fits;

    Dims group_shape, kept_shape, in_group;
    const int dims = source.shape.size();  // = ndim, those that are gone of size one
    in_group.resize(dims);
    for (int i = 0; i < ndim; ++i) in_group[i] = state[i] && i >= begin;
    Array next;
    Dims next_shape = source.shape;
    for (int i = 0; i < ndim; ++i) {
      if (in_group[i]) next_shape[i] = 1;
    }
    if (!direct) next = scratch_array(accumulator, next_shape);
    const auto make_pass = [&] {
      Dims group_strides, kept_strides, out_strides, center_strides;
      group_shape.clear();
      kept_shape.clear();
      for (int i = 0, kept_axis = 0; i < ndim; ++i) {
        if (in_group[i]) {
          group_shape.push_back(source.shape[i]);
          group_strides.push_back(source.strides[i]);
          continue;
        }
        const bool final_axis = !reduced[i];
        const int axis = kept_axis;
        kept_axis += final_axis;
        if (source.shape[i] == 1) continue;
        kept_shape.push_back(source.shape[i]);
        kept_strides.push_back(source.strides[i]);
        center_strides.push_back(!centers            ? 0
                                 : centers->repeated ? centers->strides[i]
                                 : final_axis        ? centers->strides[axis]
                                                     : 0);
        out_strides.push_back(direct ? out.layout->strides[axis] : next.layout.strides[i]);
      }
      Pass p;
      p.kernels = k;
      p.verb = info(op).name;
      p.itemsize = itemsize(source.dtype);
      p.center_size = p.out_size = out_item;
      const Dims* const operands[3] = {&out_strides, &center_strides, &kept_strides};
      p.kept = make_plan(kept_shape, operands, 3);
      const Dims* const group_operand[1] = {&group_strides};
      p.group = make_plan(group_shape, group_operand, 1, order_free);
      p.in = source.data + (p.kept.base[2] + p.group.base[0]) * p.itemsize;
      p.center = centers ? centers->data + p.kept.base[1] * out_item : nullptr;
      p.out = (direct ? out.data : next.data()) + p.kept.base[0] * out_item;
      return p;
    };
    Pass pass = make_pass();
    if (!fits(pass)) {
      // Too many dimensions that do not merge: they do where every operand is contiguous.
      source.compact(in_group);
      if (direct) next = scratch_array(accumulator, next_shape);
      direct = false;
      if (centers) centers->repeat(next_shape, reduced);
      pass = make_pass();
    }
    run_pass(pass);
    if (!more) {
      if (direct) return;
      Operand from(next);
      Layout as_out = Layout::contiguous(out.layout->shape);
      from.layout = &as_out;
      return copy(from, out);
    }
    source.take(next);
    source.shape = next_shape;
    for (int i = 0; i < ndim; ++i) {
      if (in_group[i]) state[i] = 0;
    }
    op = continuation(op);
    k = find_kernels(op, accumulator, accumulator);
    centers.reset();
    end = begin;
  }
}

void arg_reduce(bool largest, const Operand& in, int axis, const Operand& out) {
  const Layout& layout = *in.layout;
  const ReduceKernels& k = reduce_table().position[largest][static_cast<int>(in.dtype)];
  if (!k.rows) type_error(largest ? "argmax" : "argmin", " does not order ", in.dtype);
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out)) {
    const Array aligned = scratch_array(out.dtype, out.layout->shape);
    arg_reduce(largest, in, axis, aligned);
    return copy(aligned, out);
  }
  Source source(in, in.dtype);
  const auto make_pass = [&] {
    Dims shape = layout.shape, strides = source.strides;
    shape.erase(axis);
    strides.erase(axis);
    Pass p;
    p.kernels = &k;
    p.verb = largest ? "argmax" : "argmin";
    p.itemsize = itemsize(in.dtype);
    p.center_size = 0;
    p.out_size = 8;
    const Dims* const operands[3] = {&out.layout->strides, nullptr, &strides};
    p.kept = make_plan(shape, operands, 3);
    const Dims group_shape{layout.shape[axis]}, group_strides{source.strides[axis]};
    const Dims* const group_operand[1] = {&group_strides};
    p.group = make_plan(group_shape, group_operand, 1, false);
    p.in = source.data + p.kept.base[2] * p.itemsize;
    p.center = nullptr;
    p.out = out.data + p.kept.base[0] * 8;
    return p;
  };
  Pass pass = make_pass();
  if (!fits(pass)) {
    if (!out.layout->is_contiguous()) {
      const Array packed = scratch_array(out.dtype, out.layout->shape);
      arg_reduce(largest, in, axis, packed);
      return copy(packed, out);
    }
    Dims last(layout.ndim());
    last[axis] = 1;
    source.compact(last);
    pass = make_pass();
  }
  run_pass(pass);
}

}  // namespace arrayx::cuda
