// Running sums and products. The order of the additions depends on the place in a line alone:
// packs of 16 bytes, one element after the other; 32 packs, of each pair, four, eight … of which
// the upper half adds the total of the lower half; 32 of those after each other and so on, as
// carries.cuh says. A block has a piece of one or of several lines.
#include <bit>

#include "../cpp/ops/reductions.hpp"
#include "carries.cuh"

namespace arrayx::cuda {

namespace {

constexpr int packs_of_thread = 4;
constexpr int block_packs_log2 = 10;
constexpr int block_packs = block_threads * packs_of_thread;
static_assert(block_packs == 1 << block_packs_log2);
constexpr int slot_count = block_packs + block_packs / warp_size;  // see slot()
constexpr int column_bytes = 64;  // of neighbouring lines that a block takes

template <class A>
inline constexpr int elements_of_pack = sizeof(A) < 4 ? 4 : pack_bytes / int(sizeof(A));

struct ScanLoop {
  const char* in;
  char* out;
  Carries carries;
  i64 n;                  // elements of a line
  i64 in_step, out_step;  // bytes along a line
  u32 lines;
  u32 pieces;      // of a line
  Divisor inner;   // what blocks count first: pieces, or groups of lines where those are neighbours
  int packs_log2;  // of a piece
  bool neighbours;  // consecutive threads take neighbouring lines
  bool walks;       // a block takes all pieces of its lines
  DType dtype;      // of in
  bool converts;
  int dims;
  LoopDim dim[Loop::inline_dims];  // of the lines, innermost first: stride[0] of in, [1] of out
};

// In bytes; of in or, side 1, of out.
__device__ __forceinline__ i64 locate_line(const ScanLoop& loop, u32 line, int side) {
  i64 offset = 0;
  for (int d = 0; d < loop.dims - 1; ++d) {
    const u32 next = loop.dim[d].size.divide(line);
    offset += (line - next * loop.dim[d].size.divisor) * loop.dim[d].stride[side];
    line = next;
  }
  return offset + line * loop.dim[loop.dims - 1].stride[side];
}

// Where pack s of a block's piece is kept: [line][pack], spread over the banks.
__device__ __forceinline__ int slot(int s) {
  return s + s / warp_size;
}

template <bool Packed, class A>
__device__ __forceinline__ void load_pack(const ScanLoop& loop, const char* p, int count,
                                          A (&x)[elements_of_pack<A>]) {
  constexpr int E = elements_of_pack<A>;
  if (Packed && count == E) {
    const auto pack = *reinterpret_cast<const Pack<A, E>*>(p);
#pragma unroll
    for (int i = 0; i < E; ++i) x[i] = pack.v[i];
  } else if (!Packed && loop.converts && count > 0) {
    i64 offset[E];
#pragma unroll
    for (int i = 0; i < E; ++i) offset[i] = min(i, count - 1) * loop.in_step;
    load_converted<A, true>(p, offset, loop.dtype, x);
  } else {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if (i < count) x[i] = *reinterpret_cast<const A*>(p + i * loop.in_step);
    }
  }
}
template <bool Packed, class A>
__device__ __forceinline__ void store_pack(const ScanLoop& loop, char* p, int count,
                                           const A (&x)[elements_of_pack<A>]) {
  constexpr int E = elements_of_pack<A>;
  if (Packed && count == E) {
    Pack<A, E> pack;
#pragma unroll
    for (int i = 0; i < E; ++i) pack.v[i] = x[i];
    *reinterpret_cast<Pack<A, E>*>(p) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < E; ++i) {
      if (i < count) *reinterpret_cast<A*>(p + i * loop.out_step) = x[i];
    }
  }
}

// Packed: packs are one load and one store each.
template <class Op, class A, bool Packed>
__global__ void __launch_bounds__(block_threads, sizeof(A) > 8   ? 3
                                                 : sizeof(A) > 4 ? 4
                                                                 : 5)
    scan_lines(const __grid_constant__ ScanLoop loop) {
  constexpr int E = elements_of_pack<A>, warps = block_threads / warp_size;
  constexpr int rows = block_packs / warp_size, warp_rows = rows / warps;
  // Of each pack its total, then what stands before it in its row; of each row the same in its
  // group of rows; of each line what stands before that group, and what a walk keeps.
  __shared__ __align__(16) unsigned char slot_bytes[slot_count * sizeof(A)];
  __shared__ __align__(16) unsigned char row_bytes[rows * sizeof(A)];
  __shared__ __align__(16) unsigned char outside_bytes[rows * sizeof(A)];
  __shared__ __align__(16) unsigned char walked_bytes[rows * most_levels * sizeof(A)];
  A* const slots = reinterpret_cast<A*>(slot_bytes);
  A* const before_row = reinterpret_cast<A*>(row_bytes);
  A* const outside = reinterpret_cast<A*>(outside_bytes);
  A* const walked = reinterpret_cast<A*>(walked_bytes);

  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const int packs_log2 = loop.packs_log2, lines_log2 = block_packs_log2 - packs_log2;
  const int packs = 1 << packs_log2, lines = 1 << lines_log2, line_rows = packs / warp_size;
  const u32 outer = loop.walks ? blockIdx.x : loop.inner.divide(blockIdx.x);
  const u32 inner = loop.walks ? 0 : blockIdx.x - outer * loop.inner.divisor;
  const u32 first_line = (loop.walks || !loop.neighbours ? outer : inner) << lines_log2;
  u32 piece = loop.walks ? 0 : loop.neighbours ? outer : inner;
  const u32 end = loop.walks ? loop.pieces : piece + 1;
  const auto line_of = [&](int s) { return loop.neighbours ? s & (lines - 1) : s >> packs_log2; };
  const auto pack_of = [&](int s) { return loop.neighbours ? s >> lines_log2 : s & (packs - 1); };
  // The first element of a thread's pack, and how many it has.
  const auto first_of = [&](int s) { return ((i64(piece) << packs_log2) + pack_of(s)) * E; };
  const auto count_of = [&](int s) {
    if (first_line + line_of(s) >= loop.lines) return 0;
    return static_cast<int>(max(i64(0), min(i64(E), loop.n - first_of(s))));
  };
  while (true) {
    A x[packs_of_thread][E] = {};
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const int s = p * block_threads + threadIdx.x, count = count_of(s);
      if (count == 0) continue;
      const i64 offset = locate_line(loop, first_line + line_of(s), 0) + first_of(s) * loop.in_step;
      load_pack<Packed>(loop, loop.in + offset, count, x[p]);
    }
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const int s = p * block_threads + threadIdx.x;
#pragma unroll
      for (int i = 1; i < E; ++i) x[p][i] = Op::combine(x[p][i - 1], x[p][i]);
      slots[slot(line_of(s) << packs_log2 | pack_of(s))] = x[p][E - 1];
    }
    __syncthreads();
    const int first_row = warp * warp_rows;
    A total[warp_rows];
#pragma unroll
    for (int i = 0; i < warp_rows; ++i) total[i] = slots[slot((first_row + i) * warp_size + lane)];
#pragma unroll
    for (int d = 0; d < group_log2; ++d) {
      if (d >= packs_log2) break;
#pragma unroll
      for (int i = 0; i < warp_rows; ++i) {
        const A lower = from_lane(total[i], ((lane >> d << d) - 1) & (warp_size - 1));
        if (lane >> d & 1) total[i] = Op::combine(lower, total[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < warp_rows; ++i) {
      slots[slot((first_row + i) * warp_size + lane)] =
          from_lane(total[i], lane > 0 ? lane - 1 : 0);
      if (lane == warp_size - 1) before_row[first_row + i] = total[i];
    }
    __syncthreads();
    if (loop.carries.levels > 0) {
      for (int line = warp; line < lines && first_line + line < loop.lines; line += warps) {
        const A item = lane < line_rows ? before_row[line * line_rows + lane] : A{};
        const auto before = carry_on<Op>(loop.carries, first_line + line, i64(piece) * line_rows,
                                         line_rows, item, walked + line * most_levels);
        if (lane < line_rows) before_row[line * line_rows + lane] = before.in_group;
        if (lane == 0) outside[line] = before.group.value;
      }
      __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < packs_of_thread; ++p) {
      const int s = p * block_threads + threadIdx.x, count = count_of(s);
      if (count == 0) continue;
      const int at = line_of(s) << packs_log2 | pack_of(s);
      const u32 row = piece * line_rows + pack_of(s) / warp_size;  // of the line
      Running<Op, A> before{outside[line_of(s) % rows], row >= warp_size};
      if (row % warp_size > 0) before.then(before_row[at / warp_size]);
      if (pack_of(s) % warp_size > 0) before.then(slots[slot(at)]);
      if (before.any) {
#pragma unroll
        for (int i = 0; i < E; ++i) x[p][i] = Op::combine(before.value, x[p][i]);
      }
      const i64 offset =
          locate_line(loop, first_line + line_of(s), 1) + first_of(s) * loop.out_step;
      store_pack<Packed>(loop, loop.out + offset, count, x[p]);
    }
    if (++piece >= end) return;
    __syncthreads();
  }
}

// The kernel of a dtype, on unsigned integers for signed ones: both wrap around.
template <class Op>
const void* find_kernel(DType d, bool packed) {
  const auto kernel = [&](auto zero) {
    using A = decltype(zero);
    return packed ? reinterpret_cast<const void*>(&scan_lines<Op, A, true>)
                  : reinterpret_cast<const void*>(&scan_lines<Op, A, false>);
  };
  switch (d) {
    case DType::int8:
    case DType::uint8:
      return kernel(u8());
    case DType::int16:
    case DType::uint16:
      return kernel(u16());
    case DType::int32:
    case DType::uint32:
      return kernel(u32());
    case DType::int64:
    case DType::uint64:
      return kernel(u64());
    case DType::float32:
      return kernel(f32());
    case DType::float64:
      return kernel(f64());
    case DType::complex64:
      return kernel(Complex<f32>());
    case DType::complex128:
      return kernel(Complex<f64>());
    default:
      raise(ErrorKind::not_implemented, "a scan into ", d, " has no kernel");
  }
}

// Dtypes that the kernels convert to `to` as they read.
bool is_converted(DType from, DType to) {
  return is_floating(from) == is_floating(to) && is_complex(from) == is_complex(to);
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
  const bool converts = in.dtype != out.dtype;
  if ((converts && !is_converted(in.dtype, out.dtype)) || !has_aligned_elements(in)) {
    const Array cast = scratch_in_order(out.dtype, *out.layout);
    copy(in, cast);
    return scan(product, cast, axis, false, out);
  }
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
  const int in_size = itemsize(in.dtype), size = itemsize(out.dtype);
  const int elements = size < 4 ? 4 : pack_bytes / size;
  const std::int64_t packs = (n - 1) / elements + 1;
  ScanLoop loop;
  loop.neighbours =
      lines > 1 && detail::magnitude(kept.stride[1].back()) < detail::magnitude(out_step);
  const auto log2_of = [](std::int64_t x) {  // rounded up
    return std::bit_width(static_cast<std::uint64_t>(x - 1));
  };
  loop.packs_log2 = std::min<int>(log2_of(packs), block_packs_log2);
  if (loop.neighbours) {
    const int together = std::clamp(column_bytes / size, 1, warp_size);
    loop.packs_log2 = std::min<int>(
        loop.packs_log2, block_packs_log2 - log2_of(std::min<std::int64_t>(lines, together)));
  }
  const std::int64_t block_lines = block_packs >> loop.packs_log2;
  const std::int64_t groups = (lines - 1) / block_lines + 1;
  const std::int64_t pieces = ((packs - 1) >> loop.packs_log2) + 1;
  const std::int64_t line_rows = (std::int64_t{1} << loop.packs_log2) / warp_size;
  // Blocks walk where enough of them can at once, or where each has its turn in many rounds.
  const std::int64_t sms = properties().multiprocessors;
  loop.walks = pieces == 1 || (groups >= 3 * sms && groups <= 6 * sms) || groups >= 48 * sms;
  std::optional<Scratch> totals;
  loop.carries =
      carries_of(lines, pieces * line_rows, static_cast<int>(line_rows), size, loop.walks, totals);
  loop.in = in.data + kept.base[0] * in_size;
  loop.out = out.data + kept.base[1] * size;
  loop.n = n;
  loop.in_step = in_step * in_size;
  loop.out_step = out_step * size;
  loop.lines = static_cast<u32>(lines);
  loop.pieces = static_cast<u32>(pieces);
  loop.inner = Divisor(static_cast<u32>(loop.neighbours ? groups : pieces));
  loop.dtype = in.dtype;
  loop.converts = converts;
  bool packed = !converts && in_step == 1 && out_step == 1 &&
                is_aligned_to(loop.in, elements * size) && is_aligned_to(loop.out, elements * size);
  loop.dims = kept.ndim();
  for (int d = 0; d < loop.dims; ++d) {
    const int from = loop.dims - 1 - d;
    loop.dim[d].size = Divisor(static_cast<u32>(kept.size[from]));
    loop.dim[d].stride[0] = kept.stride[0][from] * in_size;
    loop.dim[d].stride[1] = kept.stride[1][from] * size;
    packed &= kept.size[from] == 1 ||
              (kept.stride[0][from] % elements == 0 && kept.stride[1][from] % elements == 0);
  }
  const void* const kernel = product ? find_kernel<ops::Prod>(out.dtype, packed)
                                     : find_kernel<ops::Sum>(out.dtype, packed);
  void* arguments[] = {&loop};
  launch(kernel, static_cast<unsigned>(loop.walks ? groups : groups * pieces), arguments, 0,
         product ? "cumulative_prod" : "cumulative_sum");
}

}  // namespace arrayx::cuda
