// Kernels of copies.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

namespace {

template <class T>
using CopyOf = Operation<Copy<memory_t<T>>, 1, T, T, T, false, true>;

// ---- transposes of small items ------------------------------------------------------------------

// Words of a tile stand where neither their rows nor blocks of their columns meet in a bank.
template <int Per>
__device__ __forceinline__ int word_place(int row, int word) {
  return row * 32 + (word ^ (row / Per % 32));
}

// Tiles of 128 bytes by 128 bytes, moved in words of Per items: dimension 0 is the one in which the
// output lies in words, dimension 1 that of the input. A thread turns blocks of Per by Per items.
template <int Itemsize>
__global__ void __launch_bounds__(block_threads)
    words(const __grid_constant__ Loop loop, Divisor tiles0, Divisor tiles1) {
  constexpr int edge = words_edge<Itemsize>, Per = 4 / Itemsize, rows = block_threads / 32;
  __shared__ u32 tile[edge * 32];
  const u32 i = blockIdx.x, t1 = tiles0.divide(i), outer = tiles1.divide(t1);
  const u32 begin0 = (i - t1 * tiles0.divisor) * edge;
  const u32 begin1 = (t1 - outer * tiles1.divisor) * edge;
  const int size0 = static_cast<int>(min(u32(edge), loop.dim[0].size.divisor - begin0));
  const int size1 = static_cast<int>(min(u32(edge), loop.dim[1].size.divisor - begin1));
  i64 origin[1][2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    origin[0][k] = begin0 * loop.dim[0].stride[k] + begin1 * loop.dim[1].stride[k];
  }
  if (loop.ndim > 2) {
    u32 rest[1] = {outer};
    locate(loop, 2, rest, origin);
  }
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32;
  if (lane * Per < size1) {
    const char* const in = loop.data[0] + origin[0][0] + lane * 4;
    u32 x[edge / rows];
#pragma unroll
    for (int j = 0; j < edge / rows; ++j) {
      const int row = first + j * rows;
      if (row < size0) x[j] = *reinterpret_cast<const u32*>(in + row * loop.dim[0].stride[0]);
    }
#pragma unroll
    for (int j = 0; j < edge / rows; ++j) tile[word_place<Per>(first + j * rows, lane)] = x[j];
  }
  __syncthreads();
  if (lane * Per >= size0) return;
  char* const out = loop.data[1] + origin[0][1] + lane * 4;
#pragma unroll
  for (int block = first; block < 32; block += rows) {
    if (block * Per >= size1) break;
    u32 x[Per], y[Per];
#pragma unroll
    for (int j = 0; j < Per; ++j) x[j] = tile[word_place<Per>(lane * Per + j, block)];
    if constexpr (Per == 4) {
      const u32 low01 = __byte_perm(x[0], x[1], 0x5140), low23 = __byte_perm(x[2], x[3], 0x5140);
      const u32 high01 = __byte_perm(x[0], x[1], 0x7362), high23 = __byte_perm(x[2], x[3], 0x7362);
      y[0] = __byte_perm(low01, low23, 0x5410);
      y[1] = __byte_perm(low01, low23, 0x7632);
      y[2] = __byte_perm(high01, high23, 0x5410);
      y[3] = __byte_perm(high01, high23, 0x7632);
    } else {
      y[0] = __byte_perm(x[0], x[1], 0x5410);
      y[1] = __byte_perm(x[0], x[1], 0x7632);
    }
#pragma unroll
    for (int j = 0; j < Per; ++j) {
      *reinterpret_cast<u32*>(out + (block * Per + j) * loop.dim[1].stride[1]) = y[j];
    }
  }
}

}  // namespace

void fill_copies(KernelTable& table) {
#define ARRAYX_ROW(name, T) table.copy[static_cast<int>(DType::name)] = kernels_of<CopyOf<T>>();
  ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
  table.copy[static_cast<int>(DType::uint8)].words = reinterpret_cast<const void*>(&words<1>);
  table.copy[static_cast<int>(DType::uint16)].words = reinterpret_cast<const void*>(&words<2>);
}

}  // namespace arrayx::cuda
