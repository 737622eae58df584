// Joins of arrays whose elements take turns in the result, such as stack((x, y), axis=-1): copied
// one after the other they would write parts of sectors, which the memory reads before.
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// out[i][k] = in[k][i] for items of type M; a thread has a pack of each input.
template <class M, int Parts>
__global__ void __launch_bounds__(block_threads)
    interleave(const M* __restrict__ a, const M* __restrict__ b, const M* __restrict__ c,
               const M* __restrict__ d, M* __restrict__ out, i64 n) {
  constexpr int lanes = pack_bytes / sizeof(M);
  using P = Pack<M, lanes>;
  const M* const in[] = {a, b, c, d};
  const i64 step = i64(gridDim.x) * block_threads * lanes;
  for (i64 i = (i64(blockIdx.x) * block_threads + threadIdx.x) * lanes; i < n; i += step) {
    if (i + lanes <= n) {
      P x[Parts];
      M y[Parts * lanes];
#pragma unroll
      for (int k = 0; k < Parts; ++k) x[k] = *reinterpret_cast<const P*>(in[k] + i);
#pragma unroll
      for (int j = 0; j < Parts * lanes; ++j) y[j] = x[j % Parts].v[j / Parts];
#pragma unroll
      for (int k = 0; k < Parts; ++k) {
        P z;
#pragma unroll
        for (int j = 0; j < lanes; ++j) z.v[j] = y[k * lanes + j];
        reinterpret_cast<P*>(out + i * Parts)[k] = z;
      }
    } else {
      for (i64 j = i; j < n; ++j) {
#pragma unroll
        for (int k = 0; k < Parts; ++k) out[j * Parts + k] = in[k][j];
      }
    }
  }
}

template <class M, int Parts>
void launch_interleave(std::span<const Operand> parts, const Operand& out, std::int64_t n) {
  const auto address = [&](std::size_t k) {
    return reinterpret_cast<const M*>(parts[std::min(k, parts.size() - 1)].data);
  };
  interleave<M, Parts>
      <<<grid_for(n, block_threads * (pack_bytes / sizeof(M))), block_threads, 0, stream()>>>(
          address(0), address(1), address(2), address(3), reinterpret_cast<M*>(out.data), n);
  check_launch("concat");
}

}  // namespace

void join(std::span<const Operand> parts, int axis, const Operand& out) {
  const Layout& whole = *out.layout;
  // Bytes that a part has between those of the others, an item of the kernel's.
  std::int64_t item = out.layout->size == 0 ? 0 : itemsize(out.dtype);
  for (int d = axis + 1; d < whole.ndim(); ++d) item *= whole.shape[d];
  item *= parts[0].layout->shape[axis];
  bool take_turns = parts.size() >= 2 && parts.size() <= 4 && item > 0 && item <= pack_bytes &&
                    (item & (item - 1)) == 0 && whole.is_contiguous() &&
                    is_aligned_to(out.data, pack_bytes);
  for (const Operand& part : parts) {
    take_turns = take_turns && part.dtype == out.dtype && part.layout->is_contiguous() &&
                 is_aligned_to(part.data, pack_bytes) &&
                 part.layout->shape[axis] == parts[0].layout->shape[axis];
  }
  if (!take_turns) {
    return for_each_part(parts, axis, out,
                         [](const Operand& part, const Operand& place) { copy(part, place); });
  }
  const std::int64_t n = parts[0].layout->size * itemsize(out.dtype) / item;
  dispatch_item(static_cast<int>(item), [&](auto tag) {
    using M = decltype(tag);
    if (parts.size() == 2) return launch_interleave<M, 2>(parts, out, n);
    if (parts.size() == 3) return launch_interleave<M, 3>(parts, out, n);
    launch_interleave<M, 4>(parts, out, n);
  });
}

}  // namespace arrayx::cuda
