// The kernels of an elementwise operation: packs (every operand in runs of 16 bytes), rows (runs of
// any length and alignment), strided (element by element, any strides and dtypes) and tiles
// (operands that are fastest in another dimension than the output come through shared memory), for
// items of one or two bytes also tiles of words.
#pragma once

#include <type_traits>

#include "../../cpp/ops/elementwise.hpp"
#include "../../cpp/ops/table.hpp"
#include "../rows.cuh"
#include "../warps.cuh"
#include "tables.cuh"

namespace arrayx::cuda {
namespace {

// ---- the operation as the kernels see it --------------------------------------------------------

// F on Arity operands, the first of type First, the others of type Rest; its result is of type R.
// Heavy: more than a few instructions, so that one copy of it is enough. Converts: from any dtype.
template <class F, int Arity, class First, class Rest, class R, bool Heavy, bool Converts = false>
struct Operation {
  static constexpr int arity = Arity;
  static constexpr bool heavy = Heavy, converts = Converts;
  using first = First;
  using rest = Rest;
  using result = R;
  static constexpr int rests = Arity > 1 ? Arity - 1 : 1;
  static constexpr int bytes =
      int(sizeof(memory_t<Rest>) > sizeof(memory_t<First>) ? sizeof(memory_t<Rest>)
                                                           : sizeof(memory_t<First>));
  static constexpr int widest = bytes > int(sizeof(memory_t<R>)) ? bytes : int(sizeof(memory_t<R>));
  static constexpr int lanes = pack_bytes / widest;

  static __device__ __forceinline__ memory_t<R> apply(memory_t<First> a, memory_t<Rest> b,
                                                      memory_t<Rest> c) {
    const F f;
    if constexpr (Arity == 1) {
      return memory_t<R>(f(a));
    } else if constexpr (Arity == 2) {
      return memory_t<R>(f(a, b));
    } else if constexpr (ops::same_type_v<F, ops::Where>) {
      return a != 0 ? b : c;
    } else {
      return memory_t<R>(f(a, b, c));
    }
  }
};

template <class T>
struct Copy {
  ARRAYX_HD T operator()(T x) const { return x; }
};
template <class From, class To>
struct Convert {
  ARRAYX_HD memory_t<To> operator()(memory_t<From> x) const { return converted<To, From>(x); }
};

// Packs, or elements, that a thread has in flight: enough to cover the latency of memory, no more
// than sixteen elements, so that code stays small.
template <class O>
inline constexpr int packs_in_flight = O::heavy       ? 2
                                       : O::lanes > 8 ? 1
                                       : O::lanes > 4 ? 2
                                                      : 4;
// Elements of a pack of a heavy operation that are computed side by side: where they are single
// floats, latency would keep it from the bandwidth.
template <class O>
inline constexpr int unrolled = ops::same_type_v<typename O::rest, f32> ? O::lanes : 1;
template <class O>
inline constexpr int elements_in_flight = O::heavy ? 1 : 4;

// ---- packs --------------------------------------------------------------------------------------

template <class M, int N, int Packs, int K>
__device__ __forceinline__ void load_packs(const Loop& loop, int k, const i32 (&offset)[Packs][K],
                                           Pack<M, N> (&x)[Packs]) {
  const char* const data = loop.data[k];
  switch (loop.access[k]) {
    case Access::direct:
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        x[p] = *reinterpret_cast<const Pack<M, N>*>(data + offset[p][k]);
      }
      break;
    case Access::value: {
      const M one = *reinterpret_cast<const M*>(loop.value[k]);
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[p].v[i] = one;
      }
      break;
    }
    default:
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        const M one = *reinterpret_cast<const M*>(data + offset[p][k]);
#pragma unroll
        for (int i = 0; i < N; ++i) x[p].v[i] = one;
      }
  }
}

// value(p) where p may not be known when compiled, without an array in memory.
template <int P, class Value>
__device__ __forceinline__ auto chosen(int p, Value&& value) {
  auto x = value(0);
#pragma unroll
  for (int q = 1; q < P; ++q) {
    if (p == q) x = value(q);
  }
  return x;
}

template <class M, int N>
__device__ __forceinline__ const Pack<M, N>& pack_of(const Pack<M, N>& x) {
  return x;
}
template <class M, int N>
__device__ __forceinline__ Pack<M, N> pack_of(const Run<M, N>& x) {
  return x.pack();
}

// store(p, the operation on pack p of each operand, packs or runs) for all p.
template <class O, int P, class As, class Bs, class Store>
__device__ __forceinline__ void apply_packs(const As (&a)[P], const Bs (&b)[O::rests][P],
                                            Store&& store) {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  constexpr int N = O::lanes;
  using R = memory_t<typename O::result>;
  constexpr int C = O::arity == 3 ? 1 : 0;
  if constexpr (O::heavy) {
#pragma unroll 1
    for (int p = 0; p < P; ++p) {
      Pack<A, N> x = pack_of(chosen<P>(p, [&](int q) { return a[q]; }));
      Pack<B, N> y = pack_of(chosen<P>(p, [&](int q) { return b[0][q]; }));
      Pack<B, N> z = pack_of(chosen<P>(p, [&](int q) { return b[C][q]; }));
      Pack<R, N> r;
#pragma unroll unrolled < O>
      for (int i = 0; i < N; ++i) r.put(O::apply(x.take(), y.take(), z.take()));
      store(p, r);
    }
  } else {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const Pack<A, N> x = pack_of(a[p]);
      const Pack<B, N> y = pack_of(b[0][p]), z = pack_of(b[C][p]);
      Pack<R, N> r;
#pragma unroll
      for (int i = 0; i < N; ++i) r.v[i] = O::apply(x.v[i], y.v[i], z.v[i]);
      store(p, r);
    }
  }
}

// A granule of operand k.
template <class M, int N>
__device__ __forceinline__ Run<M, N> load_operand(const Loop& loop, int k, i32 offset,
                                                  Granule granule) {
  if (loop.access[k] == Access::value) {
    return repeated<M, N>(*reinterpret_cast<const M*>(loop.value[k]));
  }
  return load_granule<M, N>(loop.data[k] + offset, loop.dim[0].stride[k], granule);
}

template <class O>
__global__ void __launch_bounds__(block_threads) packs(const __grid_constant__ Loop loop) {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  using R = memory_t<typename O::result>;
  constexpr int N = O::lanes, P = packs_in_flight<O>, K = O::arity + 1;
  const u32 step = gridDim.x * (block_threads * P);
  for (u32 begin = blockIdx.x * (block_threads * P) + threadIdx.x; begin < loop.count;
       begin += step) {
    u32 at[P];
    i32 offset[P][K] = {};
#pragma unroll
    for (int p = 0; p < P; ++p) {
      // Beyond the end the last pack is read once more and dropped.
      const u32 i = begin + p * block_threads;
      at[p] = i < loop.count ? i : loop.count - 1;
    }
    locate(loop, 0, at, offset);
    Pack<A, N> a[P];
    Pack<B, N> b[O::rests][P] = {};
    load_packs(loop, 0, offset, a);
    if constexpr (K > 2) {
#pragma unroll
      for (int k = 1; k < K - 1; ++k) load_packs(loop, k, offset, b[k - 1]);
    }
    apply_packs<O>(a, b, [&](int p, const Pack<R, N>& r) {
      if (begin + p * block_threads < loop.count) {
        *reinterpret_cast<Pack<R, N>*>(loop.data[K - 1] +
                                       chosen<P>(p, [&](int q) { return offset[q][K - 1]; })) = r;
      }
    });
  }
}

// ---- rows ---------------------------------------------------------------------------------------

// Dimension 0 of the loop is that of the rows, which have `length` elements in `granules` parts.
template <class O>
__global__ void __launch_bounds__(block_threads)
    rows(const __grid_constant__ Loop loop, Divisor granules, u32 length) {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  using R = memory_t<typename O::result>;
  constexpr int N = O::lanes, P = 2, K = O::arity + 1;
  const u32 step = gridDim.x * (block_threads * P);
  for (u32 begin = blockIdx.x * (block_threads * P) + threadIdx.x; begin < loop.count;
       begin += step) {
    u32 row[P], at[P];
    i32 offset[P][K] = {};
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const u32 i = begin + p * block_threads;
      row[p] = granules.divide(i < loop.count ? i : loop.count - 1);
      at[p] = i - row[p] * granules.divisor;
    }
    if (loop.ndim > 1) locate(loop, 1, row, offset);
    Granule granule[P];
    Run<A, N> a[P] = {};
    Run<B, N> b[O::rests][P] = {};
#pragma unroll
    for (int p = 0; p < P; ++p) {
      granule[p] = granule_at<R, N>(loop.data[K - 1] + offset[p][K - 1], at[p], length);
      if (begin + p * block_threads >= loop.count) granule[p].hi = 0;
      if (granule[p].hi <= granule[p].lo) continue;
      a[p] = load_operand<A, N>(loop, 0, offset[p][0], granule[p]);
      if constexpr (K > 2) {
#pragma unroll
        for (int k = 1; k < K - 1; ++k) {
          b[k - 1][p] = load_operand<B, N>(loop, k, offset[p][k], granule[p]);
        }
      }
    }
    apply_packs<O>(a, b, [&](int p, const Pack<R, N>& r) {
      const Granule g = chosen<P>(p, [&](int q) { return granule[q]; });
      if (g.hi <= g.lo) return;
      char* const to = loop.data[K - 1] + chosen<P>(p, [&](int q) { return offset[q][K - 1]; });
      store_granule(to, g, r);
    });
  }
}

// ---- single elements ----------------------------------------------------------------------------

template <class M, int E, int K>
__device__ __forceinline__ void load_unconverted(const Loop& loop, int k, const i32 (&offset)[E][K],
                                                 M (&x)[E]) {
  if (loop.access[k] == Access::value) {
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = *reinterpret_cast<const M*>(loop.value[k]);
  } else {
#pragma unroll
    for (int e = 0; e < E; ++e) x[e] = *reinterpret_cast<const M*>(loop.data[k] + offset[e][k]);
  }
}

template <class T, bool All, int E, int K>
__device__ __forceinline__ void load_elements(const Loop& loop, int k, const i32 (&offset)[E][K],
                                              memory_t<T> (&x)[E]) {
  if (loop.access[k] != Access::converted) return load_unconverted(loop, k, offset, x);
  i64 places[E];
#pragma unroll
  for (int e = 0; e < E; ++e) places[e] = offset[e][k];
  load_converted<T, All>(loop.data[k], places, loop.dtype[k], x);
}

template <class T, bool All>
__device__ __forceinline__ void store_element(const Loop& loop, int k, i32 offset, memory_t<T> x) {
  char* const p = loop.data[k] + offset;
  if (loop.access[k] == Access::direct) {
    *reinterpret_cast<memory_t<T>*>(p) = x;
  } else {
    store_converted<T, All>(p, loop.dtype[k], x);
  }
}

template <class O>
__global__ void __launch_bounds__(block_threads) strided(const __grid_constant__ Loop loop) {
  constexpr int E = elements_in_flight<O>, K = O::arity + 1;
  const u32 step = gridDim.x * (block_threads * E);
  for (u32 begin = blockIdx.x * (block_threads * E) + threadIdx.x; begin < loop.count;
       begin += step) {
    u32 at[E];
    i32 offset[E][K] = {};
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const u32 i = begin + e * block_threads;
      at[e] = i < loop.count ? i : loop.count - 1;
    }
    locate(loop, 0, at, offset);
    memory_t<typename O::first> a[E];
    memory_t<typename O::rest> b[O::rests][E] = {};
    load_elements<typename O::first, O::converts>(loop, 0, offset, a);
    if constexpr (K > 2) {
#pragma unroll
      for (int k = 1; k < K - 1; ++k) {
        load_elements<typename O::rest, O::converts>(loop, k, offset, b[k - 1]);
      }
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const auto r = O::apply(a[e], b[0][e], b[O::rests - 1][e]);
      if (begin + e * block_threads < loop.count) {
        store_element<typename O::result, O::converts>(loop, K - 1, offset[e][K - 1], r);
      }
    }
  }
}

// ---- tiles --------------------------------------------------------------------------------------

// A row of a tile, and one word more, so that neither rows nor columns meet in a bank.
template <class M, int Edge>
inline constexpr int tile_pitch = Edge + (sizeof(M) < 4 ? 4 / int(sizeof(M)) : 1);
template <class M, int Edge>
inline constexpr int tile_bytes = (tile_pitch<M, Edge> * Edge * int(sizeof(M)) + 15) / 16 * 16;

// Dimension 0 of the loop is the one along which the output is fastest, dimension 1 that of the
// staged operands; a block has one tile of the two. Tile[i0][i1], both ways coalesced.
template <class M, int Edge>
__device__ __forceinline__ void stage(const Loop& loop, int k, i32 origin, u32 size0, u32 size1,
                                      M* tile) {
  constexpr int rows = block_threads / Edge, pitch = tile_pitch<M, Edge>;
  const u32 i1 = threadIdx.x % Edge, first = threadIdx.x / Edge;
  const i64 stride0 = loop.dim[0].stride[k];
  const char* p = loop.data[k] + origin + i1 * loop.dim[1].stride[k] + first * stride0;
  if (i1 >= size1) return;
  constexpr int loads = Edge / rows < 8 ? Edge / rows : 8;
#pragma unroll 1
  for (u32 i0 = first; i0 < size0; i0 += loads * rows, p += loads * rows * stride0) {
    M x[loads];
#pragma unroll
    for (int j = 0; j < loads; ++j) {
      if (i0 + j * rows < size0) x[j] = *reinterpret_cast<const M*>(p + i64(j * rows) * stride0);
    }
#pragma unroll
    for (int j = 0; j < loads; ++j) {
      if (i0 + j * rows < size0) tile[(i0 + j * rows) * pitch + i1] = x[j];
    }
  }
}

template <class O>
__global__ void __launch_bounds__(block_threads)
    tiles(const __grid_constant__ Loop loop, Divisor tiles0, Divisor tiles1) {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  constexpr int K = O::arity + 1, edge = tile_edge<O::bytes>, rows = block_threads / edge;
  constexpr int E = elements_in_flight<O>;
  extern __shared__ __align__(16) unsigned char shared[];
  // Where the tile stands.
  const u32 i = blockIdx.x, t1 = tiles0.divide(i), outer = tiles1.divide(t1);
  const u32 begin0 = (i - t1 * tiles0.divisor) * edge;
  const u32 begin1 = (t1 - outer * tiles1.divisor) * edge;
  const u32 size0 = min(u32(edge), loop.dim[0].size.divisor - begin0);
  const u32 size1 = min(u32(edge), loop.dim[1].size.divisor - begin1);
  i32 origin[1][K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    origin[0][k] =
        i32(begin0) * i32(loop.dim[0].stride[k]) + i32(begin1) * i32(loop.dim[1].stride[k]);
  }
  if (loop.ndim > 2) {
    u32 rest[1] = {outer};
    locate(loop, 2, rest, origin);
  }
  const auto is_staged = [&](int k) { return loop.access[k] == Access::staged; };
  A* tile_a = reinterpret_cast<A*>(shared);
  B* tile_b[O::rests];
  unsigned char* free = shared;
  if (is_staged(0)) {
    stage<A, edge>(loop, 0, origin[0][0], size0, size1, tile_a);
    free += tile_bytes<A, edge>;
  }
  if constexpr (K > 2) {
#pragma unroll
    for (int k = 1; k < K - 1; ++k) {
      tile_b[k - 1] = reinterpret_cast<B*>(free);
      if (!is_staged(k)) continue;
      stage<B, edge>(loop, k, origin[0][k], size0, size1, tile_b[k - 1]);
      free += tile_bytes<B, edge>;
    }
  }
  __syncthreads();
  const u32 i0 = threadIdx.x % edge, first = threadIdx.x / edge;
  if (i0 >= size0) return;
#pragma unroll 1
  for (u32 row = first; row < size1; row += E * rows) {
    i32 offset[E][K];
    u32 at[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      at[e] = min(row + e * rows, size1 - 1);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        offset[e][k] = origin[0][k] + i32(i0) * i32(loop.dim[0].stride[k]) +
                       i32(at[e]) * i32(loop.dim[1].stride[k]);
      }
    }
    A a[E];
    B b[O::rests][E] = {};
    if constexpr (K > 2) {
#pragma unroll
      for (int k = 1; k < K - 1; ++k) {
        if (is_staged(k)) {
#pragma unroll
          for (int e = 0; e < E; ++e) b[k - 1][e] = tile_b[k - 1][i0 * tile_pitch<B, edge> + at[e]];
        } else {
          load_unconverted(loop, k, offset, b[k - 1]);
        }
      }
    }
    if (is_staged(0)) {
#pragma unroll
      for (int e = 0; e < E; ++e) a[e] = tile_a[i0 * tile_pitch<A, edge> + at[e]];
    } else {
      load_unconverted(loop, 0, offset, a);
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const auto r = O::apply(a[e], b[0][e], b[O::rests - 1][e]);
      if (row + e * rows < size1) {
        using R = memory_t<typename O::result>;
        *reinterpret_cast<R*>(loop.data[K - 1] + offset[e][K - 1]) = r;
      }
    }
  }
}

// ---- tiles of words -----------------------------------------------------------------------------

// The items of operations on one or two bytes are moved in words, whatever their alignment, and
// turned in blocks of as many rows and columns as a word has items.
template <class O>
inline constexpr bool has_words =
    sizeof(memory_t<typename O::first>) == sizeof(memory_t<typename O::rest>) &&
    sizeof(memory_t<typename O::first>) == sizeof(memory_t<typename O::result>) &&
    sizeof(memory_t<typename O::first>) <= 2 &&
    (!O::converts || ops::same_type_v<typename O::first, typename O::result>);

// A warp moves a row of up to 128 bytes at a time, a word each; `p` is where that of this lane
// would lie, and `rest` how many bytes the row has from there on. A word is read as the aligned
// ones that it lies in, so that many can be on their way.
struct Halves {
  u32 low = 0, high = 0;
};
__device__ __forceinline__ u32 shift_of(const char* p) {
  return u32(reinterpret_cast<u64>(p)) % 4;
}
__device__ __forceinline__ Halves load_halves(const char* p, int rest) {
  const auto* const words = reinterpret_cast<const u32*>(p - shift_of(p));
  Halves x;
  if (rest > 0) x.low = words[0];
  if (int(shift_of(p)) + min(4, rest) > 4) x.high = words[1];
  return x;
}
__device__ __forceinline__ u32 joined(const char* p, Halves x) {
  return __funnelshift_r(x.low, x.high, 8 * shift_of(p));
}

// Bytes [from, to) of an aligned word, in items of `Itemsize` bytes where they are not all of it.
template <int Itemsize>
__device__ __forceinline__ void store_part(char* p, int from, int to, u32 word) {
  using Item = std::conditional_t<Itemsize == 1, u8, u16>;
  if (from == 0 && to >= 4) {
    *reinterpret_cast<u32*>(p) = word;
  } else {
#pragma unroll
    for (int i = 0; i < 4; i += Itemsize) {
      if (i >= from && i < to) *reinterpret_cast<Item*>(p + i) = Item(word >> 8 * i);
    }
  }
}
template <int Itemsize>
__device__ __forceinline__ void store_word(char* p, int rest, u32 word) {
  const int shift = int(shift_of(p));
  if (shift == 0) return store_part<Itemsize>(p, 0, rest, word);
  const int lane = threadIdx.x % warp_size;
  const u32 before = __shfl_up_sync(whole_warp, word, 1);
  store_part<Itemsize>(p - shift, lane == 0 ? shift : 0, rest + shift,
                       __funnelshift_l(before, word, 8 * shift));
  if (lane == warp_size - 1) {
    store_part<Itemsize>(p - shift + 4, 0, rest + shift - 4, word >> (32 - 8 * shift));
  }
}

// Word j of y has item j of each word of x.
template <int Per>
__device__ __forceinline__ void turn(const u32 (&x)[Per], u32 (&y)[Per]) {
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
}

// As tiles(): the output has its items one after the other in dimension 0, and so have the operands
// that are not staged, or they are repeated there; the staged ones have them in dimension 1.
template <class O>
__global__ void __launch_bounds__(block_threads)
    words(const __grid_constant__ Loop loop, Divisor tiles0, Divisor tiles1) {
  constexpr int size = int(sizeof(memory_t<typename O::result>)), Per = 4 / size;
  constexpr int K = O::arity + 1, edge = words_row / size, warps = block_threads / warp_size;
  extern __shared__ __align__(16) unsigned char shared[];
  const u32 i = blockIdx.x, t1 = tiles0.divide(i), outer = tiles1.divide(t1);
  const u32 begin0 = (i - t1 * tiles0.divisor) * edge;
  const u32 begin1 = (t1 - outer * tiles1.divisor) * edge;
  const int size0 = static_cast<int>(min(u32(edge), loop.dim[0].size.divisor - begin0));
  const int size1 = static_cast<int>(min(u32(edge), loop.dim[1].size.divisor - begin1));
  i64 origin[1][K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    origin[0][k] = begin0 * loop.dim[0].stride[k] + begin1 * loop.dim[1].stride[k];
  }
  if (loop.ndim > 2) {
    u32 rest[1] = {outer};
    locate(loop, 2, rest, origin);
  }
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  // Words of a tile stand where neither their rows nor blocks of their columns meet in a bank: word
  // w of row r at r, w ^ r / Per.
  u32* tile[K - 1];
  u32* free = reinterpret_cast<u32*>(shared);
#pragma unroll
  for (int k = 0; k < K - 1; ++k) {
    tile[k] = free;
    if (loop.access[k] != Access::staged) continue;
    constexpr int loads = 8;
    const i64 stride = loop.dim[0].stride[k];
    const int rest = size1 * size - 4 * lane;
#pragma unroll 1
    for (int row = warp * loads; row < size0; row += warps * loads) {
      const char* const p = loop.data[k] + origin[0][k] + row * stride + 4 * lane;
      Halves x[loads];
#pragma unroll
      for (int j = 0; j < loads; ++j) {
        if (row + j < size0) x[j] = load_halves(p + j * stride, rest);
      }
      u32* const to = free + row * warp_size;
      const int place = lane ^ row / Per;
#pragma unroll
      for (int j = 0; j < loads; ++j) {
        to[j * warp_size + (place ^ j / Per)] = joined(p + j * stride, x[j]);
      }
    }
    free += edge * warp_size;
  }
  __syncthreads();
  const int rest = size0 * size - 4 * lane;
#pragma unroll 1
  for (int block = warp; block * Per < size1; block += warps) {
    const int rows = size1 - block * Per;
    const auto row_of = [&](int k) {
      return loop.data[k] + origin[0][k] + block * Per * loop.dim[1].stride[k];
    };
    u32 x[K - 1][Per];
#pragma unroll
    for (int k = 0; k < K - 1; ++k) {
      const i64 stride = loop.dim[1].stride[k];
      if (loop.access[k] == Access::staged) {
        u32 turned[Per];
        const u32* const from = tile[k] + lane * Per * warp_size + (block ^ lane);
#pragma unroll
        for (int j = 0; j < Per; ++j) turned[j] = from[j * warp_size];
        turn<Per>(turned, x[k]);
      } else if (loop.access[k] == Access::value || loop.dim[0].stride[k] == 0) {
#pragma unroll
        for (int j = 0; j < Per; ++j) {
          const void* const one = loop.access[k] == Access::value
                                      ? static_cast<const void*>(loop.value[k])
                                      : row_of(k) + min(j, rows - 1) * stride;
          x[k][j] = size == 1 ? *static_cast<const u8*>(one) * 0x01010101u
                              : *static_cast<const u16*>(one) * 0x00010001u;
        }
      } else {
        const char* const p = row_of(k) + 4 * lane;
        Halves halves[Per];
#pragma unroll
        for (int j = 0; j < Per; ++j) {
          if (j < rows) halves[j] = load_halves(p + j * stride, rest);
        }
#pragma unroll
        for (int j = 0; j < Per; ++j) x[k][j] = joined(p + j * stride, halves[j]);
      }
    }
    char* const out = row_of(K - 1) + 4 * lane;
#pragma unroll
    for (int j = 0; j < Per; ++j) {
      if (j >= rows) break;
      Pack<memory_t<typename O::first>, Per> a;
      Pack<memory_t<typename O::rest>, Per> b[O::rests] = {};
      Pack<memory_t<typename O::result>, Per> r;
      memcpy(&a, &x[0][j], 4);
#pragma unroll
      for (int k = 1; k < K - 1; ++k) memcpy(&b[k - 1], &x[k][j], 4);
#pragma unroll
      for (int e = 0; e < Per; ++e) r.v[e] = O::apply(a.v[e], b[0].v[e], b[O::rests - 1].v[e]);
      u32 word;
      memcpy(&word, &r, 4);
      store_word<size>(out + j * loop.dim[1].stride[K - 1], rest, word);
    }
  }
}

// ---- tables -------------------------------------------------------------------------------------

// `Packed` is what the packs kernel runs: O, or the same on unsigned integers.
template <class O, class Packed = O>
ElementwiseKernels kernels_of() {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  ElementwiseKernels k;
  k.packs = reinterpret_cast<const void*>(&packs<Packed>);
  k.rows = reinterpret_cast<const void*>(&rows<Packed>);
  k.strided = reinterpret_cast<const void*>(&strided<O>);
  k.tiles = reinterpret_cast<const void*>(&tiles<O>);
  if constexpr (has_words<O>) k.words = reinterpret_cast<const void*>(&words<Packed>);
  k.lanes = O::lanes;
  k.packs_per_thread = packs_in_flight<O>;
  k.elements_per_thread = elements_in_flight<O>;
  k.tile_edge = tile_edge<O::bytes>;
  k.tile_bytes[0] = tile_bytes<A, tile_edge<O::bytes>>;
  k.tile_bytes[1] = tile_bytes<B, tile_edge<O::bytes>>;
  return k;
}

// Whether F on T is more than a few instructions, so that one copy of it is enough.
template <class F, class T>
inline constexpr bool is_heavy = false;
template <class T>
inline constexpr bool is_heavy<ops::FloorDivide, T> = (sizeof(T) > 2);
template <class T>
inline constexpr bool is_heavy<ops::Remainder, T> = (sizeof(T) > 2);
template <class T>
inline constexpr bool is_heavy<ops::Divide, Complex<T>> = true;
template <class T>
inline constexpr bool is_heavy<ops::Reciprocal, Complex<T>> = true;
template <class T>
inline constexpr bool is_heavy<ops::Sqrt, Complex<T>> = true;
template <class T>
inline constexpr bool is_heavy<ops::Abs, Complex<T>> = true;
template <class T>
inline constexpr bool is_heavy<ops::Sign, Complex<T>> = true;

// Whether signed and unsigned integers give the same bits.
template <class F>
inline constexpr bool is_sign_free =
    ops::same_type_v<F, ops::Add> || ops::same_type_v<F, ops::Subtract> ||
    ops::same_type_v<F, ops::Multiply> || ops::same_type_v<F, ops::Negative> ||
    ops::same_type_v<F, ops::Square> || ops::same_type_v<F, ops::Equal> ||
    ops::same_type_v<F, ops::NotEqual> || ops::same_type_v<F, ops::BitwiseAnd> ||
    ops::same_type_v<F, ops::BitwiseOr> || ops::same_type_v<F, ops::BitwiseXor> ||
    ops::same_type_v<F, ops::BitwiseInvert> || ops::same_type_v<F, ops::BitwiseLeftShift> ||
    ops::same_type_v<F, ops::Where>;

template <class F, class T, int Arity, bool Math>
struct operation_of {
  using M = memory_t<T>;
  static constexpr bool where = ops::same_type_v<F, ops::Where>;
  static constexpr auto result() {
    if constexpr (where) {
      return T{};
    } else {
      const auto call = [] {
        if constexpr (Arity == 1) return F{}(M{});
        if constexpr (Arity == 2) return F{}(M{}, M{});
        if constexpr (Arity == 3) return F{}(M{}, M{}, M{});
      };
      using R = decltype(call());
      // The result of an operation on bool is bool, also where bytes are combined as integers; two
      // conditions that are combined (both parts of a complex number are finite) are an int.
      constexpr bool condition = std::is_integral_v<R> && !std::is_integral_v<M>;
      if constexpr (ops::same_type_v<R, bool> || ops::same_type_v<T, Boolean> || condition) {
        return Boolean{};
      } else {
        return R{};
      }
    }
  }
  using first = std::conditional_t<where, Boolean, T>;
  using type = Operation<F, Arity, first, T, decltype(result()), Math || is_heavy<F, T>>;
};

template <class F, class T, int Arity, bool Math>
ElementwiseKernels kernels_for() {
  using O = typename operation_of<F, T, Arity, Math>::type;
  if constexpr (is_sign_free<F> && std::is_integral_v<T> && std::is_signed_v<T>) {
    using U = std::make_unsigned_t<T>;
    return kernels_of<O, typename operation_of<F, U, Arity, Math>::type>();
  } else {
    return kernels_of<O>();
  }
}

template <class F, int Arity, unsigned Accepts, bool Math>
void fill_row(ElementwiseKernels* row) {
  using BooleanForm = typename ops::bool_form<F>::type;
  const auto put = [row](DType d, ElementwiseKernels k) { row[static_cast<int>(d)] = k; };
  if constexpr ((Accepts & kinds::boolean) != 0) {
    put(DType::bool_, kernels_for<BooleanForm, Boolean, Arity, Math>());
  }
  if constexpr ((Accepts & kinds::integer) != 0) {
    put(DType::int8, kernels_for<F, i8, Arity, Math>());
    put(DType::int16, kernels_for<F, i16, Arity, Math>());
    put(DType::int32, kernels_for<F, i32, Arity, Math>());
    put(DType::int64, kernels_for<F, i64, Arity, Math>());
    put(DType::uint8, kernels_for<F, u8, Arity, Math>());
    put(DType::uint16, kernels_for<F, u16, Arity, Math>());
    put(DType::uint32, kernels_for<F, u32, Arity, Math>());
    put(DType::uint64, kernels_for<F, u64, Arity, Math>());
  }
  if constexpr ((Accepts & kinds::real) != 0) {
    put(DType::float32, kernels_for<F, f32, Arity, Math>());
    put(DType::float64, kernels_for<F, f64, Arity, Math>());
  }
  if constexpr ((Accepts & kinds::complex) != 0) {
    put(DType::complex64, kernels_for<F, Complex<f32>, Arity, Math>());
    put(DType::complex128, kernels_for<F, Complex<f64>, Arity, Math>());
  }
}

// Rows of the vocabulary: the kinds `only` of each operation are instantiated in this source.
#define ARRAYX_CUDA_FILL(name, F, accepts, arity, only, math) \
  {                                                           \
    using namespace kinds;                                    \
    fill_row<ops::F, arity, ((accepts) & (only)), math>(      \
        table.elementwise[static_cast<int>(Op::name)]);       \
  }

}  // namespace
}  // namespace arrayx::cuda
