// Running sums and products. A line is cut into segments whose length depends on the shape alone;
// the totals of the segments are scanned in the same way, and each segment goes on from its own.
#include <vector>

#include "../cpp/ops/reductions.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

constexpr int warp_size = 32;

struct ScanLoop {
  const char* in;
  char* out;
  const char* carry;      // what stands before each segment, or null
  i64 carry_step;         // bytes from segment to segment
  i64 n, length;          // elements of a line, and of a segment
  i64 in_step, out_step;  // bytes along a line
  Divisor segments;       // of a line
  u32 lines;
  int dims;
  LoopDim dim[Loop::inline_dims];  // kept ones, innermost first: stride[0] of in, [1] of carry, [2]
                                   // of out
  bool vector;                     // both sides lie in aligned packs
};

struct LinePlace {
  i64 in, carry, out;
};
__device__ __forceinline__ LinePlace locate_line(const ScanLoop& loop, u32 line) {
  LinePlace place{0, 0, 0};
  for (int d = 0; d < loop.dims; ++d) {
    const u32 next = d + 1 < loop.dims ? loop.dim[d].size.divide(line) : 0;
    const i64 index = line - next * loop.dim[d].size.divisor;
    place.in += index * loop.dim[d].stride[0];
    place.carry += index * loop.dim[d].stride[1];
    place.out += index * loop.dim[d].stride[2];
    line = next;
  }
  return place;
}

template <class A>
__device__ __forceinline__ A lane_below(A x, int distance) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &x, sizeof x);
#pragma unroll
  for (u32& word : words) word = __shfl_up_sync(0xffffffff, word, distance);
  memcpy(&x, words, sizeof x);
  return x;
}

// A block has a segment of a line, which it takes in pieces.
template <class Op, class A>
__global__ void __launch_bounds__(block_threads) scan_rows(const __grid_constant__ ScanLoop loop) {
  constexpr int N = pack_bytes / int(sizeof(A)), packs = sizeof(A) < 4 ? 1 : 2, each = N * packs;
  constexpr int warps = block_threads / warp_size;
  __shared__ __align__(16) unsigned char shared[(warps + 1) * sizeof(A)];
  A* const totals = reinterpret_cast<A*>(shared);  // of the warps, then of all that came before
  const u32 line = loop.segments.divide(blockIdx.x);
  const u32 segment = blockIdx.x - line * loop.segments.divisor;
  const LinePlace place = locate_line(loop, line);
  const i64 begin = segment * loop.length, end = min(loop.n, begin + loop.length);
  const char* const in = loop.in + place.in;
  char* const out = loop.out + place.out;
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  bool carries = loop.carry != nullptr && segment > 0;
  A carry{};
  if (carries) {
    carry = *reinterpret_cast<const A*>(loop.carry + place.carry + segment * loop.carry_step);
  }
  for (i64 piece = begin; piece < end; piece += block_threads * each) {
    const i64 first = piece + threadIdx.x * each;
    const int count = static_cast<int>(max(i64(0), min(i64(each), end - first)));
    A x[each] = {};
    if (loop.vector && count == each) {
#pragma unroll
      for (int p = 0; p < packs; ++p) {
        const auto pack =
            *reinterpret_cast<const Pack<A, N>*>(in + (first + p * N) * i64(sizeof(A)));
#pragma unroll
        for (int i = 0; i < N; ++i) x[p * N + i] = pack.v[i];
      }
    } else {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i < count) x[i] = *reinterpret_cast<const A*>(in + (first + i) * loop.in_step);
      }
    }
#pragma unroll
    for (int i = 1; i < each; ++i) x[i] = Op::combine(x[i - 1], x[i]);
    A total = x[each - 1];  // of this thread and those before it in the warp
    for (int d = 1; d < warp_size; d *= 2) {
      const A other = lane_below(total, d);
      if (lane >= d) total = Op::combine(other, total);
    }
    if (lane == warp_size - 1) totals[warp] = total;
    __syncthreads();
    A before = carry;  // of everything in front of this thread, if there is anything
    bool has_before = carries;
    for (int w = 0; w < warp; ++w) {
      before = has_before ? Op::combine(before, totals[w]) : totals[w];
      has_before = true;
    }
    if (threadIdx.x == block_threads - 1) {
      totals[warps] = has_before ? Op::combine(before, totals[warp]) : totals[warp];
    }
    const A lower = lane_below(total, 1);
    if (lane > 0) {
      before = has_before ? Op::combine(before, lower) : lower;
      has_before = true;
    }
    if (has_before) {
#pragma unroll
      for (int i = 0; i < each; ++i) x[i] = Op::combine(before, x[i]);
    }
    if (loop.vector && count == each) {
#pragma unroll
      for (int p = 0; p < packs; ++p) {
        Pack<A, N> pack;
#pragma unroll
        for (int i = 0; i < N; ++i) pack.v[i] = x[p * N + i];
        *reinterpret_cast<Pack<A, N>*>(out + (first + p * N) * i64(sizeof(A))) = pack;
      }
    } else {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        if (i < count) *reinterpret_cast<A*>(out + (first + i) * loop.out_step) = x[i];
      }
    }
    __syncthreads();
    carry = totals[warps];
    carries = true;
  }
}

// A thread has a segment of a line; lines are neighbours in memory.
template <class Op, class A>
__global__ void __launch_bounds__(block_threads)
    scan_columns(const __grid_constant__ ScanLoop loop) {
  constexpr int batch = sizeof(A) > 8 ? 4 : 8;
  const u64 at = u64(blockIdx.x) * block_threads + threadIdx.x;
  if (at >= u64(loop.lines) * loop.segments.divisor) return;
  const u32 segment = static_cast<u32>(at / loop.lines);
  const u32 line = static_cast<u32>(at - u64(segment) * loop.lines);
  const LinePlace place = locate_line(loop, line);
  const i64 begin = segment * loop.length, end = min(loop.n, begin + loop.length);
  const char* in = loop.in + place.in + begin * loop.in_step;
  char* out = loop.out + place.out + begin * loop.out_step;
  bool carries = loop.carry != nullptr && segment > 0;
  A sum{};
  if (carries) {
    sum = *reinterpret_cast<const A*>(loop.carry + place.carry + segment * loop.carry_step);
  }
  for (i64 k = begin; k < end;
       k += batch, in += batch * loop.in_step, out += batch * loop.out_step) {
    A x[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (k + i < end) x[i] = *reinterpret_cast<const A*>(in + i * loop.in_step);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (k + i >= end) break;
      sum = carries ? Op::combine(sum, x[i]) : x[i];
      carries = true;
      *reinterpret_cast<A*>(out + i * loop.out_step) = sum;
    }
  }
}

// The kernels of a dtype, on unsigned integers for signed ones: both wrap around.
struct ScanKernels {
  const void *rows, *columns;
};
template <class Op, class A>
ScanKernels kernels_of() {
  return {reinterpret_cast<const void*>(&scan_rows<Op, A>),
          reinterpret_cast<const void*>(&scan_columns<Op, A>)};
}
template <class Op>
ScanKernels find_kernels(DType d) {
  switch (d) {
    case DType::int8:
    case DType::uint8:
      return kernels_of<Op, u8>();
    case DType::int16:
    case DType::uint16:
      return kernels_of<Op, u16>();
    case DType::int32:
    case DType::uint32:
      return kernels_of<Op, u32>();
    case DType::int64:
    case DType::uint64:
      return kernels_of<Op, u64>();
    case DType::float32:
      return kernels_of<Op, f32>();
    case DType::float64:
      return kernels_of<Op, f64>();
    case DType::complex64:
      return kernels_of<Op, Complex<f32>>();
    case DType::complex128:
      return kernels_of<Op, Complex<f64>>();
    default:
      raise(ErrorKind::not_implemented, "a scan into ", d, " has no kernel");
  }
}

// A part of an operand along one axis.
Operand part_along(const Operand& a, int axis, std::int64_t start, std::int64_t count,
                   Layout& layout) {
  layout = slice_axis(*a.layout, axis, 0, 1, count);
  Operand part = a;
  part.data += start * a.layout->strides[axis] * itemsize(a.dtype);
  part.layout = &layout;
  return part;
}

}  // namespace

void scan(bool product, const Operand& in, int axis, bool include_initial, const Operand& out) {
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out) || compute_dtype(out.dtype) != out.dtype) {
    const Array whole = scratch_array(compute_dtype(out.dtype), out.layout->shape);
    scan(product, in, axis, include_initial, whole);
    return copy(whole, out);
  }
  if (include_initial) {
    Layout first, rest;
    const Element initial = Element::of(static_cast<std::int8_t>(product ? 1 : 0));
    copy(initial, part_along(out, axis, 0, 1, first));
    return scan(product, in, axis, false,
                part_along(out, axis, 1, out.layout->shape[axis] - 1, rest));
  }
  if (in.dtype != out.dtype || !has_aligned_elements(in)) {
    const Array cast = scratch_in_order(out.dtype, *out.layout);
    copy(in, cast);
    return scan(product, cast, axis, false, out);
  }
  const int size = itemsize(out.dtype);
  const std::int64_t n = in.layout->shape[axis];
  Dims shape = in.layout->shape, in_strides = in.layout->strides;
  Dims out_strides = out.layout->strides;
  shape.erase(axis);
  in_strides.erase(axis);
  out_strides.erase(axis);
  const Dims* const strides[2] = {&in_strides, &out_strides};
  const Plan kept = make_plan(shape, strides, 2);
  const std::int64_t lines = kept.count();
  const std::int64_t in_step = in.layout->strides[axis], out_step = out.layout->strides[axis];
  if (kept.ndim() > Loop::inline_dims || lines > most_counted) {
    // The other dimensions in one, or one half of the lines after the other.
    int longest = 0;
    for (int d = 0; d < in.layout->ndim(); ++d) {
      if (d == axis) continue;
      if (longest == axis || in.layout->shape[d] > in.layout->shape[longest]) longest = d;
    }
    const std::int64_t half = in.layout->shape[longest] / 2;
    for (const auto& [start, count] :
         {std::pair{std::int64_t{0}, half}, std::pair{half, in.layout->shape[longest] - half}}) {
      Layout from, to;
      scan(product, part_along(in, longest, start, count, from), axis, false,
           part_along(out, longest, start, count, to));
    }
    return;
  }
  // Segments: by the shape alone. Rows are long enough for a block, columns for a thread.
  const bool by_columns =
      lines > 1 && detail::magnitude(kept.stride[1].back()) < detail::magnitude(out_step);
  std::int64_t length = by_columns ? 64 : 1 << 14;
  const std::int64_t enough = by_columns ? 1 << 18 : 1 << 12;  // segments
  while (length < n && lines * ((n - 1) / length + 1) > enough) length *= 2;
  if (2 * length >= n) length = n;
  const std::int64_t segments = (n - 1) / length + 1;
  Array carries;
  if (segments > 1) {
    // The totals of all segments but the last, and their running sums with nothing in front.
    Dims cut_shape = in.layout->shape, cut_strides = in.layout->strides;
    cut_shape[axis] = segments - 1;
    cut_strides[axis] = in_step * length;
    cut_shape.push_back(length);
    cut_strides.push_back(in_step);
    Layout cut;
    cut.shape = cut_shape;
    cut.strides = cut_strides;
    cut.size = checked_size(cut_shape);
    Operand pieces = in;
    pieces.layout = &cut;
    Dims total_shape = in.layout->shape;
    total_shape[axis] = segments - 1;
    const Array totals = scratch_array(out.dtype, total_shape);
    std::vector<char> marks(static_cast<std::size_t>(cut_shape.size()), 0);
    marks.back() = 1;
    bool flags[max_ndim];
    for (std::size_t i = 0; i < marks.size(); ++i) flags[i] = marks[i] != 0;
    reduce(product ? Reduction::prod : Reduction::sum, out.dtype, pieces,
           std::span<const bool>(flags, marks.size()), nullptr, totals);
    // The axis outermost, so that the lines merge as the output's do.
    Layout like = *out.layout;
    like.shape[axis] = segments;
    like.strides[axis] = INT64_MAX;
    carries = scratch_in_order(out.dtype, like);
    scan(product, totals, axis, true, carries);
  }
  Dims carry_strides(shape.size());
  if (segments > 1) {
    carry_strides = carries.layout.strides;
    carry_strides.erase(axis);
  }
  const Dims* const all[3] = {&in_strides, segments > 1 ? &carry_strides : nullptr, &out_strides};
  const Plan places = make_plan(shape, all, 3);
  ScanLoop loop;
  loop.in = in.data + places.base[0] * size;
  loop.out = out.data + places.base[2] * size;
  loop.carry = segments > 1 ? carries.data() + places.base[1] * size : nullptr;
  loop.carry_step = segments > 1 ? carries.layout.strides[axis] * size : 0;
  loop.n = n;
  loop.length = length;
  loop.in_step = in_step * size;
  loop.out_step = out_step * size;
  loop.segments = Divisor(static_cast<u32>(segments));
  loop.lines = static_cast<u32>(lines);
  loop.dims = places.ndim();
  const int lanes = pack_bytes / size;
  loop.vector = in_step == 1 && out_step == 1 && is_aligned_to(loop.in, pack_bytes) &&
                is_aligned_to(loop.out, pack_bytes) && length % lanes == 0;
  for (int d = 0; d < loop.dims; ++d) {
    const int from = loop.dims - 1 - d;
    loop.dim[d].size = Divisor(static_cast<u32>(places.size[from]));
    for (int k = 0; k < 3; ++k) loop.dim[d].stride[k] = places.stride[k][from] * size;
    loop.vector &= places.size[from] == 1 ||
                   (places.stride[0][from] % lanes == 0 && places.stride[2][from] % lanes == 0);
  }
  const ScanKernels kernels =
      product ? find_kernels<ops::Prod>(out.dtype) : find_kernels<ops::Sum>(out.dtype);
  void* arguments[] = {&loop};
  const std::int64_t blocks =
      by_columns ? (lines * segments - 1) / block_threads + 1 : lines * segments;
  launch(by_columns ? kernels.columns : kernels.rows, static_cast<unsigned>(blocks), arguments, 0,
         product ? "cumulative_prod" : "cumulative_sum");
}

}  // namespace arrayx::cuda
