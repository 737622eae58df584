// Rows of consecutive elements of any length, alignment and direction, moved in packs: a row is cut
// where packs of the output are aligned, and what lies otherwise is read as the two aligned packs
// around it and shifted into place.
#pragma once

#include <type_traits>

#include "loops.cuh"

namespace arrayx::cuda {

// A row's part that one thread has: elements start + lo … start + hi - 1, which lie in one aligned
// pack of the output; there are none where hi <= lo.
struct Granule {
  int start, lo, hi;
};

// Granule `at` of a row of `length` elements of type R from `row` on, in packs of N.
template <class R, int N>
__device__ __forceinline__ Granule granule_at(const char* row, u32 at, u32 length) {
  const int lead = int(reinterpret_cast<u64>(row) % (N * sizeof(R)) / sizeof(R));
  const int start = int(at) * N - lead;
  return {start, max(0, -start), min(N, int(length) - start)};
}
// How many of them a row may have.
inline std::int64_t granules_of(std::int64_t length, int lanes, bool aligned) {
  return (length + (aligned ? lanes - 1 : 2 * lanes - 2)) / lanes;
}

// N elements of M as the words that they lie in: a pack of bytes would take a register for each.
template <class M, int N>
struct Run {
  static constexpr int bytes = N * int(sizeof(M)), words = (bytes + 3) / 4;
  u32 w[words];

  __device__ __forceinline__ Pack<M, N> pack() const {
    Pack<M, N> x;
    memcpy(&x, w, bytes);
    return x;
  }
};

template <class M, int N>
__device__ __forceinline__ Run<M, N> repeated(M one) {
  Run<M, N> r{};
  if constexpr (sizeof(M) < 4) {
    u32 word = 0;
    memcpy(&word, &one, sizeof one);
    word *= sizeof(M) == 1 ? 0x01010101u : 0x00010001u;
#pragma unroll
    for (u32& w : r.w) w = word;
  } else {
    Pack<M, N> x;
#pragma unroll
    for (int i = 0; i < N; ++i) x.v[i] = one;
    memcpy(r.w, &x, sizeof x);
  }
  return r;
}

template <int Words>
struct chunk_of {
  using type = u32;
};
template <>
struct chunk_of<2> {
  using type = uint2;
};
template <>
struct chunk_of<4> {
  using type = uint4;
};

// An aligned pack.
template <class M, int N>
__device__ __forceinline__ Run<M, N> load_whole(const char* p) {
  constexpr int bytes = Run<M, N>::bytes;
  using Chunk = std::conditional_t<
      bytes == 1, u8,
      std::conditional_t<bytes == 2, u16, typename chunk_of<Run<M, N>::words>::type>>;
  static_assert(sizeof(Chunk) == bytes);
  const Chunk chunk = *reinterpret_cast<const Chunk*>(p);
  Run<M, N> run{};
  memcpy(run.w, &chunk, bytes);
  return run;
}

// The N elements from p on, of which those from lo to hi count: no aligned pack is read that none
// of them is in, so that the read stays on mapped pages. The others are whatever lies there.
template <class M, int N>
__device__ __forceinline__ Run<M, N> load_run(const char* p, int lo, int hi) {
  using R = Run<M, N>;
  constexpr int bytes = R::bytes, words = R::words, item = int(sizeof(M));
  R run{};
  if constexpr (bytes < 4) {
    using Bits = std::conditional_t<item == 1, u8, u16>;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i < lo || i >= hi) continue;
      run.w[0] |= u32(*reinterpret_cast<const Bits*>(p + i * item)) << (8 * i);
    }
  } else {
    using Chunk = typename chunk_of<words>::type;
    const int shift = int(u32(reinterpret_cast<u64>(p)) % bytes);
    const char* const low = p - shift;
    const bool in_low = shift + lo * item<bytes, in_high = shift + hi * item> bytes;
    struct {
      Chunk low, high;
    } const both{*reinterpret_cast<const Chunk*>(in_low ? low : low + bytes),
                 *reinterpret_cast<const Chunk*>(in_high ? low + bytes : low)};
    u32 w[2 * words];
    memcpy(w, &both, sizeof both);
    if (words > 1 && item <= 4 && (shift & 4)) {
#pragma unroll
      for (int i = 0; i + 1 < 2 * words; ++i) w[i] = w[i + 1];
    }
    if (words > 2 && (shift & 8)) {
#pragma unroll
      for (int i = 0; i + 2 < 2 * words; ++i) w[i] = w[i + 2];
    }
#pragma unroll
    for (int i = 0; i < words; ++i) {
      run.w[i] = item < 4 ? __funnelshift_r(w[i], w[i + 1], shift % 4 * 8) : w[i];
    }
  }
  return run;
}

template <class M, int N>
__device__ __forceinline__ Run<M, N> reversed(const Run<M, N>& x) {
  constexpr int words = Run<M, N>::words, item = int(sizeof(M));
  Run<M, N> r;
  if constexpr (item >= 4) {
    constexpr int each = item / 4;
#pragma unroll
    for (int i = 0; i < words; ++i) r.w[i] = x.w[(N - 1 - i / each) * each + i % each];
  } else {
    constexpr u32 order = N * item < 4 ? (N == 2 ? 0x4401 : 0x3210) : item == 1 ? 0x0123 : 0x1032;
#pragma unroll
    for (int i = 0; i < words; ++i) r.w[i] = __byte_perm(x.w[words - 1 - i], 0, order);
  }
  return r;
}

// Every second of the 2 N elements of two runs.
template <class M, int N>
__device__ __forceinline__ Run<M, N> every_second(const Run<M, N>& low, const Run<M, N>& high) {
  constexpr int words = Run<M, N>::words, item = int(sizeof(M));
  u32 w[2 * words];
#pragma unroll
  for (int i = 0; i < words; ++i) {
    w[i] = low.w[i];
    w[words + i] = high.w[i];
  }
  Run<M, N> r;
  if constexpr (N == 1) {
    r = low;
  } else if constexpr (item >= 4) {
    constexpr int each = item / 4;
#pragma unroll
    for (int i = 0; i < words; ++i) r.w[i] = w[2 * (i / each) * each + i % each];
  } else {
    constexpr u32 order = N * item < 4 ? 0x7740 : item == 1 ? 0x6420 : 0x5410;
#pragma unroll
    for (int i = 0; i < words; ++i) r.w[i] = __byte_perm(w[2 * i], w[2 * i + 1], order);
  }
  return r;
}

// Every third of the 48 bytes of three runs.
__device__ __forceinline__ Run<u8, 16> every_third(const Run<u8, 16> (&x)[3]) {
  u32 w[12];
  memcpy(w, x, sizeof w);
  Run<u8, 16> r;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const u32 three = __byte_perm(w[3 * i], w[3 * i + 1], 0x0630);
    r.w[i] = __byte_perm(three, w[3 * i + 2], 0x5210);
  }
  return r;
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

// The elements of a granule of an operand whose row begins at `row` and has elements `stride` bytes
// apart: 0, or once or twice their size, or once that backwards; of bytes three times where it is
// the most.
template <class M, int N, int most_step = 2>
__device__ __forceinline__ Run<M, N> load_granule(const char* row, i64 stride, Granule g) {
  constexpr int item = int(sizeof(M));
  if (stride == item) return load_run<M, N>(row + i64(g.start) * item, g.lo, g.hi);
  if (stride == -item) {
    const char* const lowest = row - i64(g.start + N - 1) * item;
    return reversed<M, N>(load_run<M, N>(lowest, N - g.hi, N - g.lo));
  }
  if (stride == 0) return repeated<M, N>(*reinterpret_cast<const M*>(row));
  if constexpr (most_step == 3) {
    if (stride == 3) {
      const char* const p = row + i64(g.start) * 3;
      const int from = 3 * g.lo, to = 3 * g.hi - 2;  // of the 3 N bytes there
      Run<u8, 16> third[3] = {};
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const int lo = max(0, from - N * i), hi = min(N, to - N * i);
        if (lo < hi) third[i] = load_run<u8, 16>(p + N * i, lo, hi);
      }
      return every_third(third);
    }
  }
  const char* const p = row + i64(g.start) * (2 * item);
  const int from = 2 * g.lo, to = 2 * g.hi - 1;  // of the 2 N elements there
  Run<M, N> low{}, high{};
  if (from < N) low = load_run<M, N>(p, from, min(N, to));
  if (to > N) high = load_run<M, N>(p + N * item, max(0, from - N), to - N);
  return every_second<M, N>(low, high);
}

// The first n bytes of an aligned pack that lies in w, or its last n: in aligned pieces of 8, 4, 2
// and 1 bytes, none shorter than an item.
template <int Item>
__device__ __forceinline__ void store_end(char* p, const u32 (&w)[4], int n, bool is_first) {
  const auto place = [&](int piece) {
    const int before = n & ~(2 * piece - 1);
    return is_first ? before : 16 - before - piece;
  };
  const auto word_at = [&](int at) {
    const u32 low = at & 4 ? w[1] : w[0], high = at & 4 ? w[3] : w[2];
    return at & 8 ? high : low;
  };
  if (n & 8) {
    const int at = place(8);
    *reinterpret_cast<uint2*>(p + at) = at ? make_uint2(w[2], w[3]) : make_uint2(w[0], w[1]);
  }
  if (n & 4) {
    const int at = place(4);
    *reinterpret_cast<u32*>(p + at) = word_at(at);
  }
  if (Item <= 2 && (n & 2)) {
    const int at = place(2);
    *reinterpret_cast<u16*>(p + at) = static_cast<u16>(word_at(at) >> 8 * (at & 2));
  }
  if (Item == 1 && (n & 1)) {
    const int at = place(1);
    *reinterpret_cast<u8*>(p + at) = static_cast<u8>(word_at(at) >> 8 * (at & 3));
  }
}

template <class M, int N>
__device__ __forceinline__ void store_granule(char* row, Granule g, const Pack<M, N>& x) {
  constexpr int item = int(sizeof(M));
  char* const p = row + i64(g.start) * item;
  if (g.lo == 0 && g.hi == N) {
    *reinterpret_cast<Pack<M, N>*>(p) = x;
    return;
  }
  if constexpr (item <= 2 && sizeof(x) == 16) {
    if (g.lo == 0 || g.hi == N) {
      u32 w[4];
      memcpy(w, &x, sizeof w);
      return store_end<item>(p, w, (g.hi - g.lo) * item, g.lo == 0);
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i >= g.lo && i < g.hi) *reinterpret_cast<M*>(p + i * item) = x.v[i];
  }
}

}  // namespace arrayx::cuda
