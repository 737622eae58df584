// See dots.hpp. The order in which products are added depends on the shape alone: few by one
// thread, one after the other; more in the lanes of packs of 16 bytes, by a group of threads, or by
// blocks that each have a chunk, the last of which joins their sums.
#include "dots.hpp"

#include <bit>

#include "last_part.cuh"
#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

struct DotsLoop {
  Loop loop;  // over the outputs: a, b, out
  i64 k, a_step, b_step;
  bool conjugate;
  int threads_log2;  // of an output: up to a warp, or a block
  Divisor units;     // blocks of an output
  char* partial;     // their sums, of an output side by side
};

constexpr int packs_in_flight = 4, packs_of_chunk = 8;  // of a thread
constexpr int most_joined = 1024;                       // outputs that have several blocks

template <class T>
__global__ void __launch_bounds__(block_threads) dots_in_order(const __grid_constant__ DotsLoop p) {
  wait_for_earlier();
  using W = sum_t<T>;
  const u32 step = gridDim.x * block_threads;
  for (u32 i = blockIdx.x * block_threads + threadIdx.x; i < p.loop.count; i += step) {
    u32 at[1] = {i};
    i64 offset[1][3] = {};
    locate(p.loop, 0, at, offset);
    const T* a = reinterpret_cast<const T*>(p.loop.data[0] + offset[0][0]);
    const T* b = reinterpret_cast<const T*>(p.loop.data[1] + offset[0][1]);
    W sum{};
#pragma unroll 4
    for (int l = 0; l < static_cast<int>(p.k); ++l) {
      sum = with_product(sum, W(a[l * p.a_step]), W(b[l * p.b_step]), p.conjugate);
    }
    *reinterpret_cast<T*>(p.loop.data[2] + offset[0][2]) = T(sum);
  }
}

// Of so many threads, a power of two up to a warp, each with x.
template <class W>
__device__ __forceinline__ W sum_of_threads(W x, int threads) {
  const int lane = threadIdx.x % warp_size;
  for (int d = 1; d < threads; d *= 2) x = x + from_lane(x, lane ^ d);
  return x;
}
// For thread 0.
template <class W>
__device__ __forceinline__ W sum_of_block(W x) {
  constexpr int warps = block_threads / warp_size;
  __shared__ __align__(16) unsigned char shared[warps * sizeof(W)];
  W* const sums = reinterpret_cast<W*>(shared);
  x = sum_of_threads(x, warp_size);
  __syncthreads();
  if (threadIdx.x % warp_size == 0) sums[threadIdx.x / warp_size] = x;
  __syncthreads();
  return sum_of_threads(sums[threadIdx.x % warps], warps);
}

__device__ u32 dots_done[most_joined];  // blocks of each output

// V: the elements of a load, a whole pack or one.
template <class T, int V>
__global__ void __launch_bounds__(block_threads) dots_in_lanes(const __grid_constant__ DotsLoop p) {
  wait_for_earlier();
  using W = sum_t<T>;
  constexpr int lanes = pack_bytes / sizeof(T);
  using P = Pack<T, lanes>;
  const int threads = 1 << p.threads_log2, thread = threadIdx.x & (threads - 1);
  const bool whole_block = threads == block_threads;
  const u32 units = p.units.divisor;
  u32 output = blockIdx.x, unit = 0;
  bool exists = true;
  if (whole_block) {
    output = p.units.divide(blockIdx.x);
    unit = blockIdx.x - output * units;
  } else {
    output = static_cast<u32>((u64{blockIdx.x} * block_threads + threadIdx.x) >> p.threads_log2);
    exists = output < p.loop.count;
    output = min(output, p.loop.count - 1);
  }
  u32 at[1] = {output};
  i64 offset[1][3] = {};
  locate(p.loop, 0, at, offset);
  const T* const a = reinterpret_cast<const T*>(p.loop.data[0] + offset[0][0]);
  const T* const b = reinterpret_cast<const T*>(p.loop.data[1] + offset[0][1]);
  T* const out = reinterpret_cast<T*>(p.loop.data[2] + offset[0][2]);
  const int round = threads * lanes;
  const i64 chunk = i64(round) * packs_of_chunk;
  const i64 begin = unit * chunk, end = !exists ? 0 : units > 1 ? min(p.k, begin + chunk) : p.k;
  W total{};
  for (i64 first = begin; first < end; first += chunk) {
    const i64 last = min(end, first + chunk);
    W sum[lanes] = {};
    const auto add = [&](const P& x, const P& y) {
#pragma unroll
      for (int v = 0; v < lanes; ++v) {
        sum[v] = with_product(sum[v], W(x.v[v]), W(y.v[v]), p.conjugate);
      }
    };
    i64 l = first + thread * lanes;
    if constexpr (V > 1) {
      for (; l + (packs_in_flight - 1) * round + lanes <= last; l += packs_in_flight * round) {
        P x[packs_in_flight], y[packs_in_flight];
#pragma unroll
        for (int u = 0; u < packs_in_flight; ++u) {
          x[u] = *reinterpret_cast<const P*>(a + l + u * round);
          y[u] = *reinterpret_cast<const P*>(b + l + u * round);
        }
#pragma unroll
        for (int u = 0; u < packs_in_flight; ++u) add(x[u], y[u]);
      }
      for (; l + lanes <= last; l += round) {
        add(*reinterpret_cast<const P*>(a + l), *reinterpret_cast<const P*>(b + l));
      }
    }
    for (; l < last; l += round) {
      P x, y;
#pragma unroll
      for (int v = 0; v < lanes; ++v) {
        x.v[v] = l + v < last ? a[(l + v) * p.a_step] : T{};
        y.v[v] = l + v < last ? b[(l + v) * p.b_step] : T{};
      }
      add(x, y);
    }
#pragma unroll
    for (int d = 1; d < lanes; d *= 2) {
#pragma unroll
      for (int v = 0; v < lanes; v += 2 * d) sum[v] = sum[v] + sum[v + d];
    }
    total = total + sum[0];
  }
  if (!whole_block) {
    total = sum_of_threads(total, threads);
    if (thread == 0 && exists) *out = T(total);
    return;
  }
  total = sum_of_block(total);
  if (units > 1) {
    W* const partial = reinterpret_cast<W*>(p.partial) + i64(output) * units;
    if (thread == 0) partial[unit] = total;
    if (!is_last_part(dots_done[output], units)) return;
    total = W{};
    for (u32 i = thread; i < units; i += block_threads) total = total + partial[i];
    total = sum_of_block(total);
  }
  if (thread == 0) *out = T(total);
}

// The kernels of a dtype.
struct Kernels {
  const void *in_order, *packs, *elements;
};
template <class T>
Kernels kernels_of() {
  constexpr int lanes = pack_bytes / sizeof(T);
  const auto* const packs = reinterpret_cast<const void*>(&dots_in_lanes<T, lanes>);
  return {reinterpret_cast<const void*>(&dots_in_order<T>), packs,
          lanes == 1 ? packs : reinterpret_cast<const void*>(&dots_in_lanes<T, 1>)};
}

Kernels kernels_of(DType d) {
  if (compute_dtype(d) != d || d == DType::bool_) {
    raise(ErrorKind::not_implemented, "a product of vectors of ", d, " has no kernel");
  }
  return dispatch_numeric(d, [](auto zero) { return kernels_of<decltype(zero)>(); });
}

}  // namespace

void dots(DType dtype, const Dots& d) {
  const Kernels kernels = kernels_of(dtype);
  const int size = itemsize(dtype), lanes = pack_bytes / size;
  const Dims* const strides[] = {&d.strides[0], &d.strides[1], &d.strides[2]};
  const int sizes[] = {size, size, size};
  in_parts(make_plan(d.shape, strides, 3), [&](const Plan& plan) {
    DotsLoop p{};
    p.loop.data[0] = const_cast<char*>(d.a) + plan.base[0] * size;
    p.loop.data[1] = const_cast<char*>(d.b) + plan.base[1] * size;
    p.loop.data[2] = d.out + plan.base[2] * size;
    p.k = d.k;
    p.a_step = d.a_step;
    p.b_step = d.b_step;
    p.conjugate = d.conjugate;
    std::optional<Scratch> more, partial;
    set_dims(p.loop, plan, sizes, more);
    const std::int64_t count = plan.count();
    p.loop.count = static_cast<u32>(count);
    void* arguments[] = {&p};
    if (d.k <= most_in_order) {
      return launch(kernels.in_order, grid_for(count, block_threads), arguments, 0, "vecdot");
    }
    // Few outputs get a block each, or several; where they are no more than a few warps' work, only
    // if there would be few warps.
    const std::int64_t packs = (d.k - 1) / lanes + 1;
    std::int64_t threads = std::min<std::int64_t>(
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(packs))), warp_size);
    constexpr std::int64_t few = 128, long_for_warp = 16 * warp_size;
    if (packs > 2 * warp_size && count <= (packs > long_for_warp ? most_joined : few)) {
      threads = block_threads;
    }
    p.threads_log2 = std::countr_zero(static_cast<std::uint64_t>(threads));
    std::int64_t units = 1;
    if (threads == block_threads) units = (packs - 1) / (block_threads * packs_of_chunk) + 1;
    p.units = Divisor(static_cast<u32>(units));
    if (units > 1) {
      partial.emplace(static_cast<std::size_t>(checked_bytes(count * units, std::max(size, 4))));
      p.partial = partial->as<char>();
    }
    bool in_packs = d.a_step == 1 && d.b_step == 1;
    for (int k = 0; k < 2; ++k) {
      in_packs &= is_aligned_to(p.loop.data[k], pack_bytes);
      for (int i = 0; i < plan.ndim(); ++i) in_packs &= plan.stride[k][i] % lanes == 0;
    }
    const std::int64_t blocks =
        threads == block_threads ? count * units : (count * threads - 1) / block_threads + 1;
    launch(in_packs ? kernels.packs : kernels.elements, static_cast<unsigned>(blocks), arguments, 0,
           "vecdot");
  });
}

void vecdot(const Operand& a, const Operand& b, bool conjugate, const Operand& out) {
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out)) {
    const Array aligned = scratch_array(out.dtype, out.layout->shape);
    vecdot(a, b, conjugate, aligned);
    return copy(aligned, out);
  }
  const int last = a.layout->ndim() - 1;
  Array holders[2];
  Operand operands[2] = {a, b};
  for (int k = 0; k < 2; ++k) {
    // Where vectors stand beside each other, tiles bring them into rows faster than they are read.
    const Dims& strides = operands[k].layout->strides;
    bool is_repeated = false, is_crossed = false;
    for (int i = 0; i < last; ++i) {
      if (operands[k].layout->shape[i] == 1) continue;
      is_repeated |= strides[i] == 0;
      is_crossed |= detail::magnitude(strides[i]) < detail::magnitude(strides[last]);
    }
    if (has_aligned_elements(operands[k]) &&
        (is_repeated || !is_crossed || a.layout->shape[last] <= most_in_order)) {
      continue;
    }
    holders[k] = scratch_array(operands[k].dtype, operands[k].layout->shape);
    copy(operands[k], holders[k]);
    operands[k] = holders[k];
  }
  Dots d{operands[0].data, operands[1].data, out.data, out.layout->shape, {}, 0, 0, 0, conjugate};
  d.k = a.layout->shape[last];
  d.a_step = operands[0].layout->strides[last];
  d.b_step = operands[1].layout->strides[last];
  for (int k = 0; k < 2; ++k) {
    d.strides[k] = operands[k].layout->strides;
    d.strides[k].pop_back();
  }
  d.strides[2] = out.layout->strides;
  dots(out.dtype, d);
}

}  // namespace arrayx::cuda
