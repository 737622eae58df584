// The kernels of an elementwise operation: packs (every operand in runs of 16 bytes), rows (runs of
// any length and alignment; or joined, where the output is one run), strided (element by element,
// any strides and dtypes) and tiles (operands that are fastest in another dimension than the output
// come through shared memory), and tiles of packs, for small items.
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

// The larger and the smaller of each two integers of one or two bytes in words.
template <class T>
__device__ __forceinline__ u32 greatest_by_word(u32 a, u32 b) {
  if constexpr (std::is_signed_v<T>) return sizeof(T) == 1 ? __vmaxs4(a, b) : __vmaxs2(a, b);
  return sizeof(T) == 1 ? __vmaxu4(a, b) : __vmaxu2(a, b);
}
template <class T>
__device__ __forceinline__ u32 least_by_word(u32 a, u32 b) {
  if constexpr (std::is_signed_v<T>) return sizeof(T) == 1 ? __vmins4(a, b) : __vmins2(a, b);
  return sizeof(T) == 1 ? __vminu4(a, b) : __vminu2(a, b);
}

// Each byte of a word shifted by that of `count`: by a power of two where its bit is set, one after
// the other. A negative one is shifted to the right as what it is the complement of.
template <bool Left, bool Signed>
__device__ __forceinline__ u32 shifted_bytes(u32 a, u32 count) {
  constexpr u32 ones = 0x01010101;
  const auto filled = [](u32 set) { return (set << 8) - set; };
  const u32 signs = Signed && !Left ? filled(a >> 7 & ones) : 0;
  a ^= signs;
#pragma unroll
  for (int log = 0; log < 3; ++log) {
    const int by = 1 << log;
    const u32 kept = ones * (0xff >> by), moves = filled(count >> log & ones);
    const u32 moved = Left ? (a & kept) << by : a >> by & kept;
    a = (a & ~moves) | (moved & moves);
  }
  return (a & __vcmpeq4(count & ~(7 * ones), 0)) ^ signs;
}

// F on Arity operands, the first of type First, the others of type Rest; its result is of type R.
// Heavy: more than a few instructions, so that one copy of it is enough. Converts: single elements,
// from any dtype; then the output is of type R.
template <class F, int Arity, class First, class Rest, class R, bool Heavy, bool Converts = false>
struct Operation {
  using function = F;
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

  // Sums and extremes of bytes or of pairs of bytes by words, and shifts of bytes: on an H200 clip
  // of 64Mi int16, whose elements would spill one by one, takes 0.41 of the time so, of uint8 0.68,
  // x << y of int8 0.8; shifts of int16 took up to 1.2 of it.
  static constexpr bool has_words =
      (widest <= 2 && ops::is_one_of<F, ops::Add, ops::Maximum, ops::Minimum, ops::Clip>) ||
      (widest == 1 && ops::is_one_of<F, ops::BitwiseLeftShift, ops::BitwiseRightShift>);
  static __device__ __forceinline__ u32 apply_word(u32 a, u32 b, u32 c) {
    if constexpr (ops::same_type_v<F, ops::Add>) {
      // The tops take no part in carrying.
      constexpr u32 tops = widest == 1 ? 0x80808080 : 0x80008000;
      return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
    } else if constexpr (ops::same_type_v<F, ops::BitwiseLeftShift>) {
      return shifted_bytes<true, false>(a, b);
    } else if constexpr (ops::same_type_v<F, ops::BitwiseRightShift>) {
      return shifted_bytes<false, std::is_signed_v<First>>(a, b);
    } else if constexpr (ops::same_type_v<F, ops::Minimum>) {
      return least_by_word<First>(a, b);
    } else {
      const u32 most = greatest_by_word<First>(a, b);
      return Arity == 3 ? least_by_word<First>(most, c) : most;
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
// than sixteen elements, so that code stays small; with four packs those of float32 took up to 5 %
// longer on an H100 where the caches hold the operands. Heavy operations gain more by the threads
// that fewer registers leave room for: functions of float32 took up to 6 % longer with two packs,
// of float64 up to 3 %.
template <class O>
inline constexpr int packs_in_flight = O::heavy       ? 1
                                       : O::has_words ? 2
                                       : O::lanes > 8 ? 1
                                                      : 2;
// Elements of a pack of a heavy operation that are computed side by side: of those of four bytes
// latency would keep it from the bandwidth.
template <class O>
inline constexpr int unrolled = sizeof(typename O::rest) == 4 ? O::lanes : 1;
template <class O>
inline constexpr int elements_in_flight = O::heavy ? 1 : 4;
// The same of single elements: half as many large ones, for what is written apart, where sectors
// are read once more if it takes long. On an H100 x[:, ::2] *= 1 of complex128 took 0.88 of the
// time, and of them one alone, which copies do not gain by, on an H200 0.92 of that.
template <class O>
inline constexpr int strided_elements = O::widest < 8 || O::heavy       ? elements_in_flight<O>
                                        : O::widest < 16 || O::converts ? 2
                                                                        : 1;
// Blocks that a multiprocessor has to hold: complex64 functions take 50 to 64 registers for
// ordinary operands and up to 170 for rare ones, which would leave too few threads to hide
// latencies. With fewer than 64, or 128 for powers, some ordinary ones would spill.
template <class O>
inline constexpr bool is_complex_heavy =
    O::heavy && ops::same_type_v<typename O::first, Complex<f32>>;
template <class O>
inline constexpr int least_resident = !is_complex_heavy<O> ? 0
                                      : O::arity == 1      ? 4
                                                           : 2;
// Over packs, functions of one operand and those of complex64 run in smaller blocks, of which a
// multiprocessor's last ones leave less idle: on an H100 up to 5 % faster. Those of four bytes have
// as many threads as a multiprocessor has, those of complex64 half as many, with 64 registers, and
// both elements of a pack side by side: on an H200 powers take 0.81 of the time so, although some
// of theirs spill, quotients 0.89.
template <class O>
inline constexpr bool has_small_blocks = O::heavy && (O::arity == 1 || is_complex_heavy<O>);
template <class O>
inline constexpr int pack_threads = has_small_blocks<O> ? block_threads / 2 : block_threads;
template <class O>
inline constexpr int least_resident_packs = !has_small_blocks<O>  ? 0
                                            : is_complex_heavy<O> ? 8
                                            : unrolled<O> > 1     ? 16
                                                                  : 0;
template <class O>
inline constexpr int unrolled_packs = is_complex_heavy<O> ? O::lanes : unrolled<O>;

// Functions of one operand of four bytes read a pack ahead, too, where the L2 cache has all of
// them: that threads begin costs more than it costs others to load or to compute. Not these, whose
// registers leave room for fewer threads then: on an H100 they took 2 to 11 % longer so, and the
// others 2 to 12 % less.
template <class O>
inline constexpr bool takes_turns =
    has_small_blocks<O> && unrolled<O> > 1 &&
    !ops::is_one_of<typename O::function, ops::Cos, ops::Sin, ops::Cosh, ops::Sinh, ops::Tan,
                    ops::Tanh, ops::Expm1>;

// Most of them, those of complex numbers and quotients of these take about as long as memory does:
// what a later block reads is asked for, so that neither waits for the other. On an H200 functions
// of 64Mi float32 take 0.88 to 1 of the time so, of complex64 0.79 to 1; powers of those, which
// take longer, took 1.07, functions of float64 up to 1.03.
template <class O>
inline constexpr bool asks_ahead =
    O::heavy && !ops::same_type_v<typename O::rest, f64> &&
    (O::arity == 1 || ops::same_type_v<typename O::function, ops::Divide>);

// ---- packs --------------------------------------------------------------------------------------

// An aligned pack as a kernel over packs holds it until it is computed on: small items in words. A
// byte of a Pack takes a register to itself, and instructions to and fro, wherever ways meet on
// which it may have come. On an H100 x + 1 of int8[64Mi] takes 0.87 of the time so, x + row 0.77.
template <class M, int N>
using Held = std::conditional_t<(sizeof(M) < 4), Run<M, N>, Pack<M, N>>;
template <class M, int N>
__device__ __forceinline__ Held<M, N> load_pack(const char* p) {
  if constexpr (sizeof(M) < 4) {
    return load_whole<M, N>(p);
  } else {
    return *reinterpret_cast<const Pack<M, N>*>(p);
  }
}
template <class M, int N>
__device__ __forceinline__ Held<M, N> repeat(const char* p) {
  const Run<M, N> all = repeated<M, N>(*reinterpret_cast<const M*>(p));
  if constexpr (sizeof(M) < 4) {
    return all;
  } else {
    return all.pack();
  }
}

template <class M, int N, int Packs, int K>
__device__ __forceinline__ void load_packs(const Loop& loop, int k, const i32 (&offset)[Packs][K],
                                           Held<M, N> (&x)[Packs]) {
  const char* const data = loop.data[k];
  switch (loop.access[k]) {
    case Access::direct:
#pragma unroll
      for (int p = 0; p < Packs; ++p) x[p] = load_pack<M, N>(data + offset[p][k]);
      break;
    case Access::value:
#pragma unroll
      for (int p = 0; p < Packs; ++p) {
        x[p] = repeat<M, N>(reinterpret_cast<const char*>(loop.value[k]));
      }
      break;
    default:
#pragma unroll
      for (int p = 0; p < Packs; ++p) x[p] = repeat<M, N>(data + offset[p][k]);
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
template <class O, int Unrolled = unrolled<O>, int P, class As, class Bs, class Store>
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
#pragma unroll Unrolled
      for (int i = 0; i < N; ++i) r.put(O::apply(x.take(), y.take(), z.take()));
      store(p, r);
    }
  } else {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const Pack<A, N> x = pack_of(a[p]);
      const Pack<B, N> y = pack_of(b[0][p]), z = pack_of(b[C][p]);
      Pack<R, N> r;
      if constexpr (O::has_words) {
        Run<R, N> words;
#pragma unroll
        for (int i = 0; i < Run<R, N>::words; ++i) {
          words.w[i] = O::apply_word(a[p].w[i], b[0][p].w[i], b[C][p].w[i]);
        }
        r = words.pack();
      } else {
#pragma unroll
        for (int i = 0; i < N; ++i) r.v[i] = O::apply(x.v[i], y.v[i], z.v[i]);
      }
      store(p, r);
    }
  }
}

// How far apart the elements of an operand's rows may be: copies of bytes take every third, such as
// a colour of pixels, in 0.8 to 0.9 of the time that single elements take on an H100.
template <class O>
inline constexpr int most_step = ops::same_type_v<typename O::function, Copy<u8>> ? 3 : 2;

// A granule of operand k, which `is_pack` where its packs lie as the output's do.
template <class M, int N, int most_step = 2>
__device__ __forceinline__ Run<M, N> load_operand(const Loop& loop, int k, i32 offset,
                                                  Granule granule, bool is_pack = false) {
  if (is_pack) return load_whole<M, N>(loop.data[k] + offset + granule.start * int(sizeof(M)));
  if (loop.access[k] == Access::value) {
    return repeated<M, N>(*reinterpret_cast<const M*>(loop.value[k]));
  }
  return load_granule<M, N, most_step>(loop.data[k] + offset, loop.dim[0].stride[k], granule);
}

// A thread's packs of flat operands: the next one is read while this one is computed.
template <class O>
__device__ __forceinline__ void packs_in_turns(const Loop& loop) {
  using A = memory_t<typename O::first>;
  using R = memory_t<typename O::result>;
  constexpr int N = O::lanes, threads = pack_threads<O>;
  const auto* const in = reinterpret_cast<const Pack<A, N>*>(loop.data[0]);
  auto* const out = reinterpret_cast<Pack<R, N>*>(loop.data[1]);
  const u32 first = blockIdx.x * (threads * loop.turns);
  const u32 end = min(loop.count, first + threads * loop.turns);
  u32 at = first + threadIdx.x;
  if (at >= end) return;
  Pack<A, N> x = in[at];
#pragma unroll 1
  for (;;) {
    const u32 next = at + threads;
    const bool is_last = next >= end;
    const Pack<A, N> ahead = in[is_last ? at : next];
    Pack<R, N> r;
#pragma unroll
    for (int i = 0; i < N; ++i) r.v[i] = O::apply(x.v[i], x.v[i], x.v[i]);
    out[at] = r;
    if (is_last) return;
    at = next;
    x = ahead;
  }
}

// Has the L2 cache fetch the line at p.
__device__ __forceinline__ void prefetch(const char* p) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

template <class O>
__global__ void __launch_bounds__(pack_threads<O>,
                                  resident_blocks_of(pack_threads<O>, least_resident_packs<O>))
    packs(const __grid_constant__ Loop loop) {
  wait_for_earlier();
  if constexpr (takes_turns<O>) {
    if (loop.turns > 1) return packs_in_turns<O>(loop);
  }
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  using R = memory_t<typename O::result>;
  constexpr int N = O::lanes, P = packs_in_flight<O>, K = O::arity + 1, threads = pack_threads<O>;
  const u32 begin = blockIdx.x * (threads * P) + threadIdx.x;
  u32 at[P];
  i32 offset[P][K] = {};
#pragma unroll
  for (int p = 0; p < P; ++p) {
    // Beyond the end the last pack is read once more and dropped.
    const u32 i = begin + p * threads;
    at[p] = i < loop.count ? i : loop.count - 1;
  }
  Held<A, N> a[P];
  Held<B, N> b[O::rests][P] = {};
  if (loop.is_flat) {
    // The common case has nothing to look up: on an H100 arrays in the L2 cache gain by it.
#pragma unroll
    for (int p = 0; p < P; ++p) {
#pragma unroll
      for (int k = 0; k < K; ++k) offset[p][k] = i32(at[p]) * i32(loop.dim[0].stride[k]);
      a[p] = load_pack<A, N>(loop.data[0] + offset[p][0]);
#pragma unroll
      for (int k = 1; k < K - 1; ++k) {
        b[k - 1][p] = load_pack<B, N>(loop.data[k] + offset[p][k]);
      }
    }
    if constexpr (asks_ahead<O>) {
      // Once for each line of 128 bytes.
      if (loop.ahead > 0 && begin % 8 == 0 && begin + loop.ahead < loop.count) {
#pragma unroll
        for (int k = 0; k < K - 1; ++k) {
          prefetch(loop.data[k] + i64(begin + loop.ahead) * loop.dim[0].stride[k]);
        }
      }
    }
  } else {
    locate(loop, 0, at, offset);
    load_packs<A, N>(loop, 0, offset, a);
#pragma unroll
    for (int k = 1; k < K - 1; ++k) load_packs<B, N>(loop, k, offset, b[k - 1]);
  }
  apply_packs<O, unrolled_packs<O>>(a, b, [&](int p, const Pack<R, N>& r) {
    if (begin + p * threads < loop.count) {
      *reinterpret_cast<Pack<R, N>*>(loop.data[K - 1] +
                                     chosen<P>(p, [&](int q) { return offset[q][K - 1]; })) = r;
    }
  });
}

// ---- rows ---------------------------------------------------------------------------------------

// Dimension 0 of the loop is that of the rows, which have `length` elements in `granules` parts.
// Bit k of `packs`: operand k lies in packs where the output does, which are read as they are: on
// an H200 x * row of rows of 1001 float32 takes 0.88 of the time so, where(c, x, column) 0.74.
template <class O>
__global__ void __launch_bounds__(block_threads, least_resident<O>)
    rows(const __grid_constant__ Loop loop, Divisor granules, u32 length, u32 packs) {
  wait_for_earlier();
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
      a[p] = load_operand<A, N, most_step<O>>(loop, 0, offset[p][0], granule[p], packs & 1);
      if constexpr (K > 2) {
#pragma unroll
        for (int k = 1; k < K - 1; ++k) {
          b[k - 1][p] = load_operand<B, N>(loop, k, offset[p][k], granule[p], packs >> k & 1);
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

// x with the items of y from lane `first` on.
template <class M, int N>
__device__ __forceinline__ Run<M, N> joined(Run<M, N> x, const Run<M, N>& y, int first) {
#pragma unroll
  for (int w = 0; w < Run<M, N>::words; ++w) {
    const int bytes = first * int(sizeof(M)) - 4 * w;  // of this word that stay
    const u32 kept = bytes >= 4 ? ~0u : bytes <= 0 ? 0u : (1u << 8 * bytes) - 1;
    x.w[w] = (x.w[w] & kept) | (y.w[w] & ~kept);
  }
  return x;
}

// The same where the output's rows follow each other: its packs are whole, and the operands' are
// joined from the ends of rows and the beginnings of the next ones.
template <class O>
__global__ void __launch_bounds__(block_threads)
    joined_rows(const __grid_constant__ Loop loop, Divisor length, u32 rows) {
  wait_for_earlier();
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  using R = memory_t<typename O::result>;
  constexpr int N = O::lanes, K = O::arity + 1;
  const u32 step = gridDim.x * block_threads;
  for (u32 i = blockIdx.x * block_threads + threadIdx.x; i < loop.count; i += step) {
    u32 row = length.divide(i * N);
    int start = int(i * N - row * length.divisor), filled = 0;
    Run<A, N> a[1] = {};
    Run<B, N> b[O::rests][1] = {};
#pragma unroll 1
    do {
      u32 at[1] = {row};
      i32 offset[1][K] = {};
      locate(loop, 1, at, offset);
      const Granule part{start, filled, min(N, int(length.divisor) - start)};
      a[0] = joined(a[0], load_operand<A, N>(loop, 0, offset[0][0], part), filled);
#pragma unroll
      for (int k = 1; k < K - 1; ++k) {
        b[k - 1][0] = joined(b[k - 1][0], load_operand<B, N>(loop, k, offset[0][k], part), filled);
      }
      filled = part.hi;
      start -= int(length.divisor);
      ++row;
    } while (filled < N && row < rows);
    apply_packs<O>(a, b, [&](int, const Pack<R, N>& r) {
      store_granule(loop.data[K - 1], Granule{int(i * N), 0, filled}, r);
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

template <class T, bool Converts>
__device__ __forceinline__ void store_element(const Loop& loop, int k, i32 offset, memory_t<T> x) {
  char* const p = loop.data[k] + offset;
  if (!Converts || loop.access[k] == Access::direct) {
    *reinterpret_cast<memory_t<T>*>(p) = x;
  } else {
    store_converted<T>(p, loop.dtype[k], x);
  }
}

template <class O>
__global__ void __launch_bounds__(block_threads, least_resident<O>)
    strided(const __grid_constant__ Loop loop) {
  wait_for_earlier();
  constexpr int E = strided_elements<O>, K = O::arity + 1;
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
        store_element<typename O::result, !O::converts>(loop, K - 1, offset[e][K - 1], r);
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
  wait_for_earlier();
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

// ---- tiles of packs -----------------------------------------------------------------------------

// Operations whose items are all of one size: tiles are read in packs along the dimension of the
// staged operands and written in packs along that of the output, wherever those begin. On an H100
// items of 8 bytes gain by it in copies, of 16 bytes not at all.
template <class O>
inline constexpr bool has_pack_tiles =
    O::widest <= (O::arity == 1 ? 8 : 4) && (O::widest <= 2 || !O::heavy) &&
    sizeof(memory_t<typename O::first>) == sizeof(memory_t<typename O::rest>) &&
    sizeof(memory_t<typename O::first>) == sizeof(memory_t<typename O::result>) &&
    (!O::converts || ops::same_type_v<typename O::first, typename O::result>);

// Copies of small items, whose tiles are narrow, also have such that hold whole sectors of the
// output: to write a part of one takes as long as to write several.
template <class O>
inline constexpr bool has_sector_tiles =
    has_pack_tiles<O> && O::widest <= 2 &&
    ops::same_type_v<typename O::function, Copy<memory_t<typename O::first>>>;

// Small items take more instructions, and hide their latency in more blocks; of others, what is not
// staged is on its way while the tiles are filled.
template <class O>
inline constexpr bool prefetches = O::widest > 2;

// A staged operand's tile in shared memory: a row of packs for each element along the output's
// dimension, N of which make a granule of the output. Pack q of row r stands in the place of
// q ^ r / N % 8, so that one column of eight granules lies in all banks.
template <class M, int N, int Packs>
struct PackTile {
  static constexpr int size = int(sizeof(M)), pitch = Packs * pack_bytes;
  // Columns are taken a word at a time.
  static constexpr int word = size < 4 ? 4 : size, columns = word / size;

  unsigned char* data;

  __device__ __forceinline__ void put(int row, int q, const Run<M, N>& x) const {
    uint4 bits;
    memcpy(&bits, x.w, sizeof bits);
    *reinterpret_cast<uint4*>(data + row * pitch + (q ^ (row / N & 7)) * pack_bytes) = bits;
  }

  // x[b] = the items of granule g in column b of word w.
  __device__ __forceinline__ void gather(int g, int w, Run<M, N> (&x)[columns]) const {
    const unsigned char* const p = data + g * (N * pitch) +
                                   ((w * word / pack_bytes) ^ (g & 7)) * pack_bytes +
                                   w * word % pack_bytes;
    if constexpr (size >= 4) {
      Pack<M, N> y;
#pragma unroll
      for (int i = 0; i < N; ++i) y.v[i] = *reinterpret_cast<const M*>(p + i * pitch);
      memcpy(x[0].w, &y, sizeof y);
    } else {
#pragma unroll
      for (int i = 0; i < N / columns; ++i) {
        u32 rows[columns], turned[columns];
#pragma unroll
        for (int e = 0; e < columns; ++e) {
          rows[e] = *reinterpret_cast<const u32*>(p + (i * columns + e) * pitch);
        }
        turn<columns>(rows, turned);
#pragma unroll
        for (int b = 0; b < columns; ++b) x[b].w[i] = turned[b];
      }
    }
  }
};

// The last `lead` items of `before` and the first ones of x.
template <class M, int N>
__device__ __forceinline__ Run<M, N> led(const Run<M, N>& before, const Run<M, N>& x, int lead) {
  constexpr int size = int(sizeof(M));
  static_assert(Run<M, N>::words == 4);
  u32 w[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[i] = before.w[i];
    w[4 + i] = x.w[i];
  }
  const int bytes = lead * size;
  if (size <= 8 && (bytes & 8)) {
#pragma unroll
    for (int i = 7; i >= 2; --i) w[i] = w[i - 2];
  }
  if (size <= 4 && (bytes & 4)) {
#pragma unroll
    for (int i = 7; i >= 3; --i) w[i] = w[i - 1];
  }
  Run<M, N> r;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    r.w[i] = size < 4 ? __funnelshift_l(w[3 + i], w[4 + i], bytes % 4 * 8) : w[4 + i];
  }
  return r;
}

// Dimension 0 is that of the output's rows, dimension 1 that of the staged operands'. Tiles along
// dimension 1 follow each other if `crosswise`. Bit k of `aligned`: packs of operand k are aligned,
// those of one that is not staged where the output's are. With `Sectors` rows of the output begin
// anywhere in sectors, and a tile holds two granules of the one before it, too: those of its rows
// whose first pack ends a sector begin a pack earlier than the others.
template <class O, bool Sectors = false>
__global__ void __launch_bounds__(block_threads,
                                  resident_blocks_of(block_threads, prefetches<O> ? 4 : 5))
    pack_tiles(const __grid_constant__ Loop loop, Divisor tiles0, Divisor tiles1, u32 aligned,
               bool crosswise) {
  wait_for_earlier();
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  using R = memory_t<typename O::result>;
  constexpr int K = O::arity + 1, N = O::lanes, size = int(sizeof(R));
  constexpr int G = tile_granules<size>, Q = tile_packs<size>;
  using Tile = PackTile<B, N, Q>;
  constexpr int C = Tile::columns, H = G / 8, S = Tile::pitch / Tile::word / warp_size;
  constexpr int step = block_threads / Q, loads = G * N / step;
  extern __shared__ __align__(16) unsigned char shared[];
  u32 at0, at1, outer;
  if (crosswise) {
    const u32 i = tiles1.divide(blockIdx.x);
    at1 = blockIdx.x - i * tiles1.divisor;
    outer = tiles0.divide(i);
    at0 = i - outer * tiles0.divisor;
  } else {
    const u32 i = tiles0.divide(blockIdx.x);
    at0 = blockIdx.x - i * tiles0.divisor;
    outer = tiles1.divide(i);
    at1 = i - outer * tiles1.divisor;
  }
  // Where the output's rows begin within packs, a tile's first granule only leads to the second.
  const bool leads = !(aligned >> (K - 1) & 1);
  const int first_granule = Sectors ? int(at0) * (G - sector_granules) - sector_granules
                            : leads ? int(at0) * (G - 1) - 1
                                    : int(at0) * G;
  const int begin0 = first_granule * N, begin1 = int(at1) * (Q * N);
  const int size0 = int(loop.dim[0].size.divisor), size1 = int(loop.dim[1].size.divisor) - begin1;
  i32 origin[1][K];
#pragma unroll
  for (int k = 0; k < K; ++k) origin[0][k] = begin1 * i32(loop.dim[1].stride[k]);
  if (loop.ndim > 2) {
    u32 rest[1] = {outer};
    locate(loop, 2, rest, origin);
  }
  const auto row_of = [&](int k, int column) {
    return loop.data[k] + origin[0][k] + column * i32(loop.dim[1].stride[k]);
  };
  // A thread has granules c, c + 8 … of C columns from u C on, and of others warp_size C further.
  const int c = threadIdx.x % 8, u = threadIdx.x / 8;
  const auto column_of = [&](int s, int b) { return (u + warp_size * s) * C + b; };
  const auto granule_of = [&](int s, int h, int b) {
    const int column = column_of(s, b), at = first_granule + c + 8 * h;
    Granule g{at * N, 0, min(N, size0 - at * N)};
    if (leads) {
      g = granule_at<R, N>(row_of(K - 1, column), at, size0);
      if (c + 8 * h == 0) g.hi = 0;
    }
    if constexpr (Sectors) {
      const int early = int(reinterpret_cast<u64>(row_of(K - 1, column)) / pack_bytes & 1);
      const int place = c + 8 * h + early;
      if (at < 0 || place < sector_granules || place >= G) g.hi = 0;
    }
    if (column >= size1) g.hi = 0;
    return g;
  };
  const auto load_direct = [&](int k, int s, int h, int b) {
    if (loop.access[k] == Access::value) {
      return repeated<B, N>(*reinterpret_cast<const B*>(loop.value[k]));
    }
    Run<B, N> x{};
    const Granule g = granule_of(s, h, b);
    if (g.hi <= g.lo) return x;
    const char* const row = row_of(k, column_of(s, b));
    if (loop.dim[0].stride[k] == 0) return repeated<B, N>(*reinterpret_cast<const B*>(row));
    const char* const p = row + g.start * size;
    if (!(aligned >> k & 1)) return load_run<B, N>(p, g.lo, g.hi);
    const auto bits = *reinterpret_cast<const uint4*>(p);
    memcpy(x.w, &bits, sizeof bits);
    return x;
  };
  Run<B, N> direct[K - 1][S][H][C];
  if constexpr (K > 2 && prefetches<O>) {
#pragma unroll
    for (int k = 0; k < K - 1; ++k) {
      if (loop.access[k] == Access::staged) continue;
#pragma unroll
      for (int o = 0; o < S * H * C; ++o) {
        direct[k][o / (H * C)][o / C % H][o % C] = load_direct(k, o / (H * C), o / C % H, o % C);
      }
    }
  }
  Tile tile[K - 1];
  unsigned char* free = shared;
#pragma unroll
  for (int k = 0; k < K - 1; ++k) {
    tile[k].data = free;
    if (loop.access[k] != Access::staged) continue;
    free += G * N * Tile::pitch;
    const int q = threadIdx.x % Q, first = threadIdx.x / Q, items = min(N, size1 - q * N);
    const i32 stride = i32(loop.dim[0].stride[k]);
    const char* const p = loop.data[k] + origin[0][k] + (begin0 + first) * stride + q * pack_bytes;
    Run<B, N> x[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const int at = begin0 + first + l * step;
      if (items <= 0 || at < 0 || at >= size0) continue;
      if (aligned >> k & 1) {
        const auto bits = *reinterpret_cast<const uint4*>(p + l * step * stride);
        memcpy(x[l].w, &bits, sizeof bits);
      } else {
        x[l] = load_run<B, N>(p + l * step * stride, 0, items);
      }
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) tile[k].put(first + l * step, q, x[l]);
  }
  __syncthreads();
#pragma unroll
  for (int s = 0; s < S; ++s) {
    // Of a whole warp none has a column.
    if ((threadIdx.x / warp_size * 4 + warp_size * s) * C >= size1) break;
    Run<B, N> last[K - 1][C];
#pragma unroll
    for (int h = 0; h < H; ++h) {
      Run<A, N> x[C];
      Run<B, N> y[O::rests][C] = {};
#pragma unroll
      for (int k = 0; k < K - 1; ++k) {
        Run<B, N> z[C];
        if (loop.access[k] == Access::staged) {
          tile[k].gather(c + 8 * h, u + warp_size * s, z);
          if (leads) {
            const int lane = threadIdx.x % warp_size, from = (lane & ~7) | ((lane + 7) & 7);
#pragma unroll
            for (int b = 0; b < C; ++b) {
              Run<B, N> before;
#pragma unroll
              for (int i = 0; i < 4; ++i) {
                const u32 given = h > 0 && c == 7 ? last[k][b].w[i] : z[b].w[i];
                before.w[i] = __shfl_sync(whole_warp, given, from);
              }
              last[k][b] = z[b];
              const int start = granule_of(s, h, b).start;
              z[b] = led<B, N>(before, z[b], (first_granule + c + 8 * h) * N - start);
            }
          }
        } else if constexpr (K > 2) {
#pragma unroll
          for (int b = 0; b < C; ++b) {
            z[b] = prefetches<O> ? direct[k][s][h][b] : load_direct(k, s, h, b);
          }
        }
#pragma unroll
        for (int b = 0; b < C; ++b) {
          if (k == 0) {
            memcpy(x[b].w, z[b].w, sizeof x[b].w);
          } else {
            y[k - 1][b] = z[b];
          }
        }
      }
      apply_packs<O>(x, y, [&](int b, const Pack<R, N>& r) {
        const Granule g = granule_of(s, h, b);
        if (g.hi > g.lo) store_granule(row_of(K - 1, column_of(s, b)), g, r);
      });
    }
  }
}

// ---- tables -------------------------------------------------------------------------------------

// Whether runs of any alignment pay: of two elements to a pack, single ones are 5 % faster on an
// H100 than shifting packs into place, and 20 % on an H200 where they are compared; so are those
// that are packs, x[:, ::-1] + y of complex128 9 % on an H200. Copies keep more of them in flight.
template <class O>
inline constexpr bool has_rows = O::heavy || O::converts || O::lanes > 2;

// Whether it pays to join rows: where packs have many elements, one by one takes twice as long.
template <class O>
inline constexpr bool joins_rows = !O::heavy && O::lanes >= 8;

// Strided runs single elements, which are converted on the way; O all others.
template <class O, class Strided = O>
ElementwiseKernels kernels_of() {
  using A = memory_t<typename O::first>;
  using B = memory_t<typename O::rest>;
  ElementwiseKernels k;
  k.packs = reinterpret_cast<const void*>(&packs<O>);
  if constexpr (has_rows<O>) k.rows = reinterpret_cast<const void*>(&rows<O>);
  k.most_step = most_step<O>;
  if constexpr (joins_rows<O>) k.joined_rows = reinterpret_cast<const void*>(&joined_rows<O>);
  k.strided = reinterpret_cast<const void*>(&strided<Strided>);
  k.tiles = reinterpret_cast<const void*>(&tiles<O>);
  if constexpr (has_pack_tiles<O>) {
    k.pack_tiles = reinterpret_cast<const void*>(&pack_tiles<O>);
    if constexpr (has_sector_tiles<O>) {
      k.sector_tiles = reinterpret_cast<const void*>(&pack_tiles<O, true>);
    }
    k.pack_tile_granules = tile_granules<O::widest>;
    k.pack_tile_packs = tile_packs<O::widest>;
  }
  k.lanes = O::lanes;
  k.pack_threads = pack_threads<O>;
  k.packs_per_thread = packs_in_flight<O>;
  k.packs_take_turns = takes_turns<O>;
  k.packs_ask_ahead = asks_ahead<O>;
  k.elements_per_thread = strided_elements<O>;
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
  // Powers of narrow integers are a short loop, shorter than taking them out of a pack in turn.
  static constexpr bool light =
      ops::same_type_v<F, ops::Pow> && std::is_integral_v<T> && sizeof(M) <= 2;
  using type =
      Operation<F, Arity, first, T, decltype(result()), (Math && !light) || is_heavy<F, T>>;
};

// What single elements are read as, of integers that an operation reads by their bits: signed ones
// take all that unsigned ones take.
template <class F, class T>
constexpr auto converted_as() {
  if constexpr (std::is_integral_v<memory_t<T>>) {
    using Signed = std::make_signed_t<memory_t<T>>;
    using Read = decltype(ops::read_as<F, Signed>());
    return std::conditional_t<ops::same_type_v<Read, Signed>, T, Signed>();
  } else {
    return T();
  }
}

// None where cuda/elementwise.cu uses those of another operation, or knows the result. Bytes of
// bool are read as those of uint8.
template <class Form, class T, int Arity, bool Math>
ElementwiseKernels kernels_for() {
  constexpr bool is_known = ops::is_one_of<Form, ops::IsFinite, ops::IsInf, ops::IsNan> &&
                            std::is_integral_v<memory_t<T>>;
  if constexpr (is_known || ops::is_one_of<Form, ops::Greater, ops::GreaterEqual>) {
    return {};
  } else {
    using F = typename ops::same_function<Form, T>::type;
    using Bits = decltype(ops::read_as<F, memory_t<T>>());
    using Converted = decltype(converted_as<F, T>());
    return kernels_of<typename operation_of<F, Bits, Arity, Math>::type,
                      typename operation_of<F, Converted, Arity, Math>::type>();
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
