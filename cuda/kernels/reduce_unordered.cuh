// Kernels of reductions to whose result the order of the elements does not matter: those of
// integers and of conditions, and the positions of extremes. A thread reads packs of 16 bytes, or
// of 8 along columns of bytes, and keeps a result for each element's place in a pack (lanes); where
// items are bytes, lanes are parts of 32-bit words.
#pragma once

#include "reduce_kernels.cuh"

namespace arrayx::cuda {
namespace {

// ---- lanes --------------------------------------------------------------------------------------
//
// What a thread keeps for the V elements of its packs. add() takes a pack, in rounds counted from
// zero, add_some() one of which the places [low, high) exist; finish() goes after the last of them,
// and earlier after each most_rounds, and is told how many there were since the last time.
// result() is that of place v, whose elements stand at first, first + step … of those below end;
// joined() that of all places, where it takes less, of which the first one's stand so.

template <class R, int V>
struct LanesBase {
  using Item = Pack<memory_t<typename R::input>, V>;
  static constexpr int most_rounds = 0;  // any number
  __device__ __forceinline__ void finish(int) {}
};
// Where all places of a pack are joined in the end anyway: lanes that join them earlier, or the
// same.
template <class L>
struct joined_lanes {
  using type = L;
};
template <class L>
  requires requires { typename L::Joined; }
struct joined_lanes<L> {
  using type = typename L::Joined;
};

// Joins the places of a pack, which stand side by side from `first` on.
template <class R, int V, class Lanes>
__device__ __forceinline__ auto join_places(const Lanes& lanes, i64 first, i64 step, i64 end) {
  if constexpr (requires { lanes.joined(first, step); }) {
    return lanes.joined(first, step);
  } else {
    auto x = lanes.result(0, first, step, end);
#pragma unroll
    for (int v = 1; v < V; ++v) x = R::combine(x, lanes.result(v, first + v, step, end));
    return x;
  }
}

// Each element by itself.
template <class R, int V>
struct ScalarLanes : LanesBase<R, V> {
  using A = typename R::accumulator;
  using Item = typename LanesBase<R, V>::Item;
  A x[V];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = R::identity();
  }
  __device__ __forceinline__ void add(const Item& item, u32) {
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = R::combine(x[v], R::map(item.v[v]));
  }
  __device__ __forceinline__ void add_some(const Item& item, u32, int low, int high) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v >= low && v < high) x[v] = R::combine(x[v], R::map(item.v[v]));
    }
  }
  __device__ __forceinline__ A result(int v, i64, i64, i64) const { return x[v]; }
};

// The first pack that has the best value. Of four bytes it takes less time than the places.
template <class R, int V>
struct JoinedPositionLanes : LanesBase<R, V> {
  using A = typename R::accumulator;
  using Value = typename R::value_type;
  using Item = typename LanesBase<R, V>::Item;
  static constexpr u32 none = ~u32{0};
  Item pack;
  Value best;
  u32 at;

  __device__ __forceinline__ void start() {
    best = R::worst();
    at = none;
  }
  __device__ __forceinline__ void add(const Item& item, u32 round) { add_some(item, round, 0, V); }
  __device__ __forceinline__ void add_some(const Item& item, u32 round, int low, int high) {
    if (low >= high) return;
    Value x = R::worst();
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const Value y = R::map(item.v[v]);
      if (v >= low && v < high && R::better(y, x)) x = y;
    }
    if (at == none || R::better(x, best)) {
      pack = item;
      best = x;
      at = round;
    }
  }
  __device__ __forceinline__ A joined(i64 first, i64 step) const {
    if (at == none) return R::identity();
    const i64 begin = first + at * step;
    const int low = static_cast<int>(max(-begin, i64(0)));  // places before the first element
    int place = 0;
#pragma unroll
    for (int v = V - 1; v >= 0; --v) {
      if (v >= low && !R::better(best, R::map(pack.v[v]))) place = v;
    }
    return {begin + place, best};
  }
};

// The positions of extremes: the round of the best value so far.
template <class R, int V>
struct PositionLanes : LanesBase<R, V> {
  using A = typename R::accumulator;
  using Item = typename LanesBase<R, V>::Item;
  using Joined =
      std::conditional_t<(V > 1 && R::bytes == 4), JoinedPositionLanes<R, V>, PositionLanes>;
  typename R::value_type x[V];
  u32 at[V];

  __device__ __forceinline__ void start() {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[v] = R::worst();
      at[v] = 0;
    }
  }
  __device__ __forceinline__ void add(const Item& item, u32 round) { add_some(item, round, 0, V); }
  __device__ __forceinline__ void add_some(const Item& item, u32 round, int low, int high) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (v < low || v >= high) {
        if (at[v] == round) at[v] = round + 1;  // every element before this one is missing
        continue;
      }
      const auto value = R::map(item.v[v]);
      if (R::better(value, x[v])) {
        x[v] = value;
        at[v] = round;
      }
    }
  }
  __device__ __forceinline__ A result(int v, i64 first, i64 step, i64 end) const {
    const i64 index = first + at[v] * step;
    return index < end ? A{index, x[v]} : R::identity();
  }
};

// ---- of bytes -----------------------------------------------------------------------------------

// W words of them; four are a pack.
template <int W>
using Words = Pack<u32, W>;
template <int N>
__device__ __forceinline__ void set_all(u32 (&x)[N], u32 value) {
#pragma unroll
  for (u32& word : x) word = value;
}
// 0xff in so many bytes of a word: in none if negative, in all from four on.
__device__ __forceinline__ u32 first_bytes(int n) {
  return __funnelshift_lc(~u32{0}, 0, max(8 * n, 0));
}
// 0xff in the bytes of word i whose places [low, high) exist.
__device__ __forceinline__ u32 existing_bytes(int i, int low, int high) {
  return first_bytes(high - 4 * i) & ~first_bytes(low - 4 * i);
}
// Zeros for the others.
template <int W>
__device__ __forceinline__ Words<W> existing(Words<W> x, int low, int high) {
#pragma unroll
  for (int i = 0; i < W; ++i) x.v[i] &= existing_bytes(i, low, high);
  return x;
}
// 0x80 in the bytes that are not zero.
__device__ __forceinline__ u32 nonzero_bytes(u32 w) {
  return (((w & 0x7f7f7f7f) + 0x7f7f7f7f) | w) & 0x80808080;
}
// Byte v % 4 of a word as one of two 16-bit numbers: even bytes are in words 2i, odd ones in 2i+1.
template <int N>
__device__ __forceinline__ u32 half_of(const u32 (&halves)[N], int v) {
  return halves[v / 4 * 2 + v % 2] >> (v % 4 / 2 * 16) & 0xffff;
}

__device__ __forceinline__ u32 sum_of_bytes(u32 w, u32 more) {
  return __dp4a(w, 0x01010101u, more);
}

// The lanes of prod, which has none of its own.
template <class R, int W>
using NoBytes = ScalarLanes<R, 4 * W>;

template <class R, int W>
struct ByteLanes : LanesBase<R, 4 * W> {
  using Item = Words<W>;
};

template <class R, int W>
struct AnyBytes : ByteLanes<R, W> {
  u32 x[W];
  __device__ __forceinline__ void start() { set_all(x, 0); }
  __device__ __forceinline__ void add(const Words<W>& item, u32) {
#pragma unroll
    for (int i = 0; i < W; ++i) x[i] |= item.v[i];
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32, int low, int high) {
#pragma unroll
    for (int i = 0; i < W; ++i) x[i] |= item.v[i] & existing_bytes(i, low, high);
  }
  __device__ __forceinline__ typename R::accumulator result(int v, i64, i64, i64) const {
    return (x[v / 4] >> (v % 4 * 8) & 0xff) != 0;
  }
  __device__ __forceinline__ typename R::accumulator joined(i64, i64) const {
    u32 any = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) any |= x[i];
    return any != 0;
  }
};

template <class R, int W>
struct AllBytes : ByteLanes<R, W> {
  u32 x[W];
  __device__ __forceinline__ void start() { set_all(x, ~u32{0}); }
  __device__ __forceinline__ void add(const Words<W>& item, u32) {
#pragma unroll
    for (int i = 0; i < W; ++i) x[i] &= nonzero_bytes(item.v[i]);
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32, int low, int high) {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      x[i] &= nonzero_bytes(item.v[i]) | ~existing_bytes(i, low, high);
    }
  }
  __device__ __forceinline__ typename R::accumulator result(int v, i64, i64, i64) const {
    return x[v / 4] >> (v % 4 * 8 + 7) & 1;
  }
  __device__ __forceinline__ typename R::accumulator joined(i64, i64) const {
    u32 all = 0x80808080;
#pragma unroll
    for (int i = 0; i < W; ++i) all &= x[i];
    return all == 0x80808080;
  }
};

// Places: 1 for one total of all.
template <class R, int W, int Places = 4 * W>
struct CountBytesAt : ByteLanes<R, W> {
  using A = typename R::accumulator;
  static constexpr int most_rounds = 240;
  u32 x[W];
  A total[Places];
  __device__ __forceinline__ void start() {
    set_all(x, 0);
#pragma unroll
    for (int v = 0; v < Places; ++v) total[v] = 0;
  }
  __device__ __forceinline__ void add(const Words<W>& item, u32) {
#pragma unroll
    for (int i = 0; i < W; ++i) x[i] += nonzero_bytes(item.v[i]) >> 7;
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32, int low, int high) {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      x[i] += nonzero_bytes(item.v[i] & existing_bytes(i, low, high)) >> 7;
    }
  }
  __device__ __forceinline__ void finish(int) {
    if constexpr (Places == 1) {
      u32 all = 0;
#pragma unroll
      for (int i = 0; i < W; ++i) all = sum_of_bytes(x[i], all);
      total[0] += all;
    } else {
#pragma unroll
      for (int v = 0; v < 4 * W; ++v) total[v] += x[v / 4] >> (v % 4 * 8) & 0xff;
    }
    set_all(x, 0);
  }
  __device__ __forceinline__ A result(int v, i64, i64, i64) const {
    return v < Places ? total[v % Places] : A(0);
  }
};
template <class R, int W>
struct CountBytes : CountBytesAt<R, W> {
  using Joined = CountBytesAt<R, W, 1>;
};

// Signed bytes are moved up by 128, so that they are not negative.
template <class R, int W>
struct JoinedSumBytes : ByteLanes<R, W> {
  using A = typename R::accumulator;
  static constexpr int most_rounds = 1 << 16;
  static constexpr u32 bias = ops::is_signed_v<memory_t<typename R::input>> ? 0x80 : 0;
  u32 x[W];
  A total;
  __device__ __forceinline__ void start() {
    set_all(x, 0);
    total = 0;
  }
  __device__ __forceinline__ void add(const Words<W>& item, u32) {
#pragma unroll
    for (int i = 0; i < W; ++i) x[i] = sum_of_bytes(item.v[i] ^ bias * 0x01010101, x[i]);
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32 round, int low, int high) {
    add(existing(item, low, high), round);
  }
  __device__ __forceinline__ void finish(int rounds) {
#pragma unroll
    for (int i = 0; i < W; ++i) total += static_cast<A>(i64(x[i]) - i64(4 * bias) * rounds);
    set_all(x, 0);
  }
  __device__ __forceinline__ A joined(i64, i64) const { return total; }
};
template <class R, int W>
struct SumBytes : ByteLanes<R, W> {
  using Joined = JoinedSumBytes<R, W>;
  using A = typename R::accumulator;
  static constexpr int most_rounds = 240;
  static constexpr u32 bias = ops::is_signed_v<memory_t<typename R::input>> ? 0x80 : 0;
  u32 halves[2 * W];
  A total[4 * W];
  __device__ __forceinline__ void start() {
    set_all(halves, 0);
#pragma unroll
    for (int v = 0; v < 4 * W; ++v) total[v] = 0;
  }
  __device__ __forceinline__ void add(const Words<W>& item, u32) {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const u32 w = item.v[i] ^ bias * 0x01010101;
      halves[2 * i] += w & 0x00ff00ff;
      halves[2 * i + 1] += w >> 8 & 0x00ff00ff;
    }
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32 round, int low, int high) {
    add(existing(item, low, high), round);
  }
  __device__ __forceinline__ void finish(int rounds) {
#pragma unroll
    for (int v = 0; v < 4 * W; ++v) {
      total[v] += static_cast<A>(static_cast<i64>(half_of(halves, v)) - i64(bias) * rounds);
    }
    set_all(halves, 0);
  }
  __device__ __forceinline__ A result(int v, i64, i64, i64) const { return total[v]; }
};

template <class R>
struct HalfLanes : LanesBase<R, 8> {
  using Item = Words<4>;
};

// Of elements of two bytes, likewise.
template <class R>
struct SumHalves : HalfLanes<R> {
  using A = typename R::accumulator;
  static constexpr int most_rounds = 65504;
  static constexpr u32 bias = ops::is_signed_v<memory_t<typename R::input>> ? 0x8000 : 0;
  u32 sums[8];
  A total[8];
  __device__ __forceinline__ void start() {
#pragma unroll
    for (int v = 0; v < 8; ++v) sums[v] = total[v] = 0;
  }
  __device__ __forceinline__ void add(const Words<4>& item, u32) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 w = item.v[i] ^ bias * 0x00010001;
      sums[2 * i] += w & 0xffff;
      sums[2 * i + 1] += w >> 16;
    }
  }
  __device__ __forceinline__ void add_some(const Words<4>& item, u32 round, int low, int high) {
    add(existing(item, 2 * low, 2 * high), round);
  }
  __device__ __forceinline__ void finish(int rounds) {
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      total[v] += static_cast<A>(i64(sums[v]) - i64(bias) * rounds);
      sums[v] = 0;
    }
  }
  __device__ __forceinline__ A result(int v, i64, i64, i64) const { return total[v]; }
};

// Integers of one or two bytes whose order as unsigned numbers is that of the values, or with
// Largest false the reverse; of() turns all those of a word.
template <class T, bool Largest>
struct Keys {
  static constexpr u32 all = (u32{1} << 8 * sizeof(T)) - 1;
  static constexpr u32 flip = (ops::is_signed_v<T> ? all / 2 + 1 : 0) ^ (Largest ? 0 : all);
  static __device__ __forceinline__ u32 of(u32 word) { return word ^ ~u32{0} / all * flip; }
  static __device__ __forceinline__ T value(u32 key) { return static_cast<T>(key ^ flip); }
};
// Of float16: both zeros have one key, and NaN has the largest. Keys stand for values.
template <bool Largest>
struct Keys<f16, Largest> {
  static __device__ __forceinline__ u32 of(u32 word) {
    u32 negative;  // all bits of halves whose sign is set
    asm("prmt.b32 %0, %1, 0, 0xbb99;" : "=r"(negative) : "r"(word));
    const u32 below = word & negative & 0x7fff7fff, above = word & ~negative;
    // No half leaves 1 … 0xffff. Infinities are 0x400 and 0xfc00, and NaN is beyond them.
    const u32 key = Largest ? 0x80008000 + above - below : 0x80008000 + below - above;
    return __viaddmin_u16x2(key, 0xfc00fc00, 0xf801f801);
  }
  static __device__ __forceinline__ i32 value(u32 key) { return static_cast<i32>(key); }
};

template <class R, int W>
struct ExtremeBytes : ByteLanes<R, W> {
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  u32 halves[2 * W];
  __device__ __forceinline__ void start() { set_all(halves, 0); }
  __device__ __forceinline__ void add(const Words<W>& item, u32 round) {
    add_some(item, round, 0, 4 * W);
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32, int low, int high) {
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const u32 w = Keys::of(item.v[i]) & existing_bytes(i, low, high);
      halves[2 * i] = __vmaxu2(halves[2 * i], w & 0x00ff00ff);
      halves[2 * i + 1] = __vmaxu2(halves[2 * i + 1], w >> 8 & 0x00ff00ff);
    }
  }
  __device__ __forceinline__ typename R::accumulator result(int v, i64, i64, i64) const {
    return Keys::value(half_of(halves, v));
  }
  __device__ __forceinline__ typename R::accumulator joined(i64, i64) const {
    u32 best = 0;
#pragma unroll
    for (const u32 half : halves) best = __vmaxu2(best, half);
    return Keys::value(max(best & 0xffff, best >> 16));
  }
};

// The same of elements of two bytes.
template <class R>
struct ExtremeHalves : HalfLanes<R> {
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  u32 best[4];
  __device__ __forceinline__ void start() { set_all(best, 0); }
  __device__ __forceinline__ void add(const Words<4>& item, u32) {
#pragma unroll
    for (int i = 0; i < 4; ++i) best[i] = __vmaxu2(best[i], Keys::of(item.v[i]));
  }
  __device__ __forceinline__ void add_some(const Words<4>& item, u32, int low, int high) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const u32 exist = existing_bytes(i, 2 * low, 2 * high);
      best[i] = __vmaxu2(best[i], Keys::of(item.v[i]) & exist);
    }
  }
  __device__ __forceinline__ typename R::accumulator result(int v, i64, i64, i64) const {
    return Keys::value(best[v / 2] >> (16 * (v % 2)) & 0xffff);
  }
  __device__ __forceinline__ typename R::accumulator joined(i64, i64) const {
    const u32 all = __vmaxu2(__vmaxu2(best[0], best[1]), __vmaxu2(best[2], best[3]));
    return Keys::value(max(all & 0xffff, all >> 16));
  }
};

// The first pack that has the best byte, as keys.
template <class R, int W>
struct JoinedPositionBytes : ByteLanes<R, W> {
  using A = typename R::accumulator;
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  Words<W> keys;
  int best;
  u32 at;
  __device__ __forceinline__ void start() {
    set_all(keys.v, 0);
    best = -1;
    at = 0;
  }
  __device__ __forceinline__ void add(const Words<W>& item, u32 round) {
    add_some(item, round, 0, 4 * W);
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32 round, int low, int high) {
    Words<W> x;
    u32 halves = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      x.v[i] = Keys::of(item.v[i]) & existing_bytes(i, low, high);
      halves = __vmaxu2(halves, __vmaxu2(x.v[i] & 0x00ff00ff, x.v[i] >> 8 & 0x00ff00ff));
    }
    const int most = static_cast<int>(max(halves & 0xffff, halves >> 16));
    if (low < high && most > best) {
      keys = x;
      best = most;
      at = round;
    }
  }
  __device__ __forceinline__ A joined(i64 first, i64 step) const {
    if (best < 0) return R::identity();
    const i64 begin = first + at * step;
    const int low = static_cast<int>(max(-begin, i64(0)));  // places before the first element
    int place = 0;
#pragma unroll
    for (int i = W - 1; i >= 0; --i) {
      const u32 others = nonzero_bytes(keys.v[i] ^ static_cast<u32>(best) * 0x01010101);
      const u32 equal = ~others & 0x80808080 & existing_bytes(i, low, 4 * W);
      if (equal != 0) place = 4 * i + (__ffs(static_cast<int>(equal)) - 1) / 8;
    }
    return {begin + place, Keys::value(static_cast<u32>(best))};
  }
};

// The key of an element of a byte has its value above and below it 255 - its round: the largest key
// is that of the first extreme.
template <class R, int W>
struct PositionBytes : ByteLanes<R, W> {
  using Joined = JoinedPositionBytes<R, W>;
  using A = typename R::accumulator;
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  static constexpr int most_rounds = 240;
  u32 halves[2 * W];
  int best[4 * W];
  u32 at[4 * W], base;
  __device__ __forceinline__ void start() {
    base = 0;
    set_all(halves, 0);
#pragma unroll
    for (int v = 0; v < 4 * W; ++v) best[v] = -1;
  }
  __device__ __forceinline__ void add(const Words<W>& item, u32 round) {
    add_some(item, round, 0, 4 * W);
  }
  __device__ __forceinline__ void add_some(const Words<W>& item, u32 round, int low, int high) {
    const u32 below = (255 - (round - base)) * 0x00010001;
#pragma unroll
    for (int i = 0; i < W; ++i) {
      const u32 w = Keys::of(item.v[i]), exists = existing_bytes(i, low, high);
      const u32 even = exists << 8 & 0xff00ff00, odd = exists & 0xff00ff00;
      const u32 even_key = (w << 8 & even) | (below & even >> 8);
      const u32 odd_key = (w & odd) | (below & odd >> 8);
      halves[2 * i] = __vmaxu2(halves[2 * i], even_key);
      halves[2 * i + 1] = __vmaxu2(halves[2 * i + 1], odd_key);
    }
  }
  __device__ __forceinline__ void finish(int rounds) {
#pragma unroll
    for (int v = 0; v < 4 * W; ++v) {
      const u32 key = half_of(halves, v);
      if (key != 0 && static_cast<int>(key >> 8) > best[v]) {
        best[v] = static_cast<int>(key >> 8);
        at[v] = base + 255 - (key & 0xff);
      }
    }
    set_all(halves, 0);
    base += rounds;
  }
  __device__ __forceinline__ A result(int v, i64 first, i64 step, i64) const {
    if (best[v] < 0) return R::identity();
    return {first + at[v] * step, Keys::value(static_cast<u32>(best[v]))};
  }
};

// The same of elements of two bytes, whose key has 65535 - the round below it.
template <class R>
struct PositionHalves : HalfLanes<R> {
  using A = typename R::accumulator;
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  static constexpr int most_rounds = 65504;
  u32 key[8];
  int best[8];
  u32 at[8], base;
  __device__ __forceinline__ void start() {
    base = 0;
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      key[v] = 0;
      best[v] = -1;
    }
  }
  __device__ __forceinline__ void add(const Words<4>& item, u32 round) {
    add_some(item, round, 0, 8);
  }
  __device__ __forceinline__ void add_some(const Words<4>& item, u32 round, int low, int high) {
    const u32 below = 65535 - (round - base);
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      const u32 both = __byte_perm(Keys::of(item.v[v / 2]), below, v % 2 == 0 ? 0x1054 : 0x3254);
      if (v >= low && v < high) key[v] = max(key[v], both);
    }
  }
  __device__ __forceinline__ void finish(int rounds) {
#pragma unroll
    for (int v = 0; v < 8; ++v) {
      if (key[v] != 0 && static_cast<int>(key[v] >> 16) > best[v]) {
        best[v] = static_cast<int>(key[v] >> 16);
        at[v] = base + 65535 - (key[v] & 0xffff);
      }
      key[v] = 0;
    }
    base += rounds;
  }
  __device__ __forceinline__ A result(int v, i64 first, i64 step, i64) const {
    if (best[v] < 0) return R::identity();
    return {first + at[v] * step, Keys::value(static_cast<u32>(best[v]))};
  }
};

// ---- rows ---------------------------------------------------------------------------------------

// Packs, or elements, that a thread has in flight.
template <int bytes, int V>
inline constexpr int unordered_batch = V == 1 || bytes == 1 || bytes == 4 ? 8 : 4;

// The threads of a row (up to a warp) do a whole output or, with `whole_block`, those of a block a
// unit of it. V: elements of a load; with V = 1 the reduced dimensions may have any strides, else
// rows may begin and end anywhere in a pack: memory is given in larger pieces, so that what has an
// element is there to be read as a whole.
template <class R, int V, class Lanes = typename joined_lanes<typename R::template Lanes<V>>::type>
__global__ void __launch_bounds__(
    block_threads,
    sizeof(Lanes) > 64 ? 3 : unordered_row_blocks(R::bytes, sizeof(typename R::accumulator)))
    unordered_rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  using Item = typename Lanes::Item;
  // Packs of four bytes: the threads whose packs are parts of a row wait for memory together with
  // the others, and a thread has half as many loads in flight where those are enough.
  constexpr bool waits_once = V > 1 && R::bytes == 4;
  constexpr int batch = unordered_batch<R::bytes, V>, half = waits_once ? batch / 2 : batch;
  __shared__ __align__(16) unsigned char shared[block_threads / 32 * sizeof(A)];
  const int threads = loop.whole_block ? blockDim.x : 1 << loop.width_log2;
  const int thread = threadIdx.x % threads;
  const RowTask task(loop, threadIdx.x >> loop.width_log2, blockDim.x >> loop.width_log2);
  const ReducePlace place = locate_output(loop, task.output);
  const char* in = loop.in + place.in;
  // Positions are counted from the beginning of the first element's pack.
  int low = 0;
  if constexpr (V > 1) {
    low = static_cast<int>(reinterpret_cast<u64>(in) % pack_bytes / sizeof(M));
    in -= low * sizeof(M);
  }
  const i64 begin = task.unit * loop.per_unit + thread * V;
  const i64 end = min(low + loop.n, (task.unit + 1) * loop.per_unit);
  const int step = threads * V;
  const bool merged = loop.group_dims == 1;
  const i64 stride = V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0];
  Lanes lanes;
  lanes.start();
  u32 round = 0, since = 0;
  i64 left = end - begin;  // places from the thread's next one to the end
  int missing = static_cast<int>(max(low - begin, i64(0)));  // the first of them
  const char* from = in + begin * stride;
  // Rounds whose loads are in flight at the same time.
  const auto take = [&](auto rounds) {
    if (Lanes::most_rounds > 0 && since + rounds > Lanes::most_rounds) {
      lanes.finish(since);
      since = 0;
    }
    const bool whole = (rounds - 1) * step + V <= left && (V > 1 || merged);
    const bool plain = whole && missing == 0;
    const int some = static_cast<int>(min(left, i64(rounds * step)));
    Item x[rounds] = {};
    const auto load_all = [&] {
#pragma unroll
      for (int i = 0; i < rounds; ++i) {
        x[i] = *reinterpret_cast<const Item*>(from + i * step * stride);
      }
    };
    const auto load_some = [&] {
#pragma unroll
      for (int i = 0; i < rounds; ++i) {
        if (i * step >= some) continue;
        const char* p = from + i * step * stride;
        if (V == 1 && !merged) {
          p = in + locate_in_group(loop, static_cast<u32>(end - left + i * step));
        }
        x[i] = *reinterpret_cast<const Item*>(p);
      }
    };
    const auto add_all = [&] {
#pragma unroll
      for (int i = 0; i < rounds; ++i) lanes.add(x[i], round + i);
    };
    const auto add_some = [&] {
#pragma unroll
      for (int i = 0; i < rounds; ++i) {
        lanes.add_some(x[i], round + i, i == 0 ? missing : 0, min(some - i * step, V));
      }
    };
    if constexpr (waits_once) {
      whole ? load_all() : load_some();
      plain ? add_all() : add_some();
    } else if (plain) {
      load_all();
      add_all();
    } else {
      load_some();
      add_some();
    }
    missing = 0;
    round += rounds;
    since += rounds;
    left -= rounds * step;
    from += rounds * step * stride;
  };
  while (left > 0) {
    // The same for all threads of a row.
    if (half == batch || left + thread * V > half * step) {
      take(std::integral_constant<int, batch>{});
    } else {
      take(std::integral_constant<int, half>{});
    }
  }
  lanes.finish(since);
  const int width = min(threads, 32);
  A result = join_places<R, V>(lanes, begin - low, step, end - low);
  result = combine_threads<R>(result, thread % width, width, width);
  if (!loop.whole_block) {
    if (thread == 0 && task.exists) R::store(loop, loop.out + place.out, result);
    return;
  }
  finish_block<R>(loop, task, place, result, reinterpret_cast<A*>(shared), blockDim.x / 32);
}

// Positions of extremes in rows of a few packs of small items as one number, the larger the better:
// above, the element's key, and below 65535 - its place.
template <class R>
struct ShortPositions {
  using accumulator = u32;
  using Keys = cuda::Keys<memory_t<typename R::input>, R::largest>;
  static constexpr u32 last = 0xffff;

  // The best of a pack whose elements stand at `first` on; those below `left` exist.
  static __device__ __forceinline__ u32 best_of(const Words<4>& item, int first, int left) {
    u32 best = 0;
    if constexpr (R::bytes == 1) {
      // The same of bytes in halves of words, with 255 - the place in the pack below.
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const u32 w = Keys::of(item.v[i]), places = (255 - 4 * i) * 0x00010001 - 0x00020000;
        u32 even = (w << 8 & 0xff00ff00) | places, odd = (w & 0xff00ff00) | (places - 0x00010001);
        if (left < 4 * i + 4) {
          const u32 exist = existing_bytes(i, 0, left);
          even &= (exist & 0x00ff00ff) * 0x101;
          odd &= (exist >> 8 & 0x00ff00ff) * 0x101;
        }
        best = __vmaxu2(best, __vmaxu2(even, odd));
      }
      best = max(best & 0xffff, best >> 16);
      return best == 0 ? 0 : ((best & 0xff00) << 8 | (best & 0xff)) + (last - 0xff) - first;
    } else {
#pragma unroll
      for (int v = 0; v < 8; ++v) {
        const u32 w = Keys::of(item.v[v / 2]);
        const u32 key = (v % 2 == 0 ? w << 16 : w & 0xffff0000) | (last - v);
        if (v < left) best = max(best, key);
      }
      return best == 0 ? 0 : best - first;
    }
  }
  static __device__ __forceinline__ u32 combine(u32 a, u32 b) { return max(a, b); }
  static __device__ __forceinline__ void store(const ReduceLoop&, char* out, u32 x) {
    *reinterpret_cast<i64*>(out) = last - (x & last);
  }
};

// Packs are aligned.
template <class R, int V>
__global__ void __launch_bounds__(short_row_threads)
    unordered_short_rows(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  using Lanes = typename joined_lanes<typename R::template Lanes<V>>::type;
  using Item = typename Lanes::Item;
  const ShortRows task(loop);
  const int n = static_cast<int>(loop.n), left = min(n - task.thread * V, V);
  const i64 offset = task.thread * V * (V > 1 ? i64(sizeof(M)) : loop.group[0].stride[0]);
  Item x[task.rows];
#pragma unroll
  for (int r = 0; r < task.rows; ++r) {
    if (task.output(r) >= loop.outputs) break;
    const char* const p = loop.in + locate_output(loop, task.output(r)).in + offset;
    if (left > 0) x[r] = *reinterpret_cast<const Item*>(p);
  }
  if constexpr (V > 1 && R::bytes <= 2 && requires { typename R::value_type; }) {
    using Short = ShortPositions<R>;
    u32 best[task.rows];
#pragma unroll
    for (int r = 0; r < task.rows; ++r) {
      best[r] = left > 0 ? Short::best_of(x[r], task.thread * V, left) : 0;
    }
    task.finish<Short>(loop, best, task.threads);
  } else {
    A result[task.rows];
#pragma unroll
    for (int r = 0; r < task.rows; ++r) {
      Lanes lanes;
      lanes.start();
      if (left == V) {
        lanes.add(x[r], 0);
      } else if (left > 0) {
        lanes.add_some(x[r], 0, 0, left);
      }
      lanes.finish(left > 0);
      result[r] = join_places<R, V>(lanes, task.thread * V, 1, n);
    }
    task.finish<R>(loop, result, task.threads);
  }
}

// A row in shared memory as one thread reduces it; see OrderedRow.
template <class R>
struct UnorderedRow {
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  using Lanes = typename R::template Lanes<1>;

  static constexpr int levels(int) { return 0; }

  template <int E, class Each>
  static __device__ __forceinline__ void reduce_all(const ReduceLoop&, int n, A*, Each&& each) {
    each([&](const M* row, const char*) {
      Lanes lanes;
      lanes.start();
      int k = 0;
      const auto take = [&](auto together) {
        const auto x = *reinterpret_cast<const Pack<M, together>*>(row + k);
#pragma unroll
        for (int i = 0; i < together; ++i) lanes.add({x.v[i]}, k + i);
        k += together;
      };
#pragma unroll 4
      while (k + E <= n) take(std::integral_constant<int, E>{});
      if constexpr (E > 1) {
        while (k < n) take(std::integral_constant<int, 1>{});
      }
      lanes.finish(n);
      return lanes.result(0, 0, 1, n);
    });
  }
};

// ---- columns ------------------------------------------------------------------------------------

// An item of words from p on, of whose bytes so many exist; it may stand in two aligned ones.
template <class Item>
__device__ __forceinline__ Item load_across(const char* p, int bytes) {
  constexpr int size = sizeof(Item), words = size / 4;
  const int skipped = static_cast<int>(reinterpret_cast<u64>(p) % size);
  const auto* const at = reinterpret_cast<const Words<words>*>(p - skipped);
  const Words<words> low = at[0];
  Words<words> high{};
  if (skipped + bytes > size) high = at[1];
  u32 all[2 * words];
#pragma unroll
  for (int i = 0; i < words; ++i) {
    all[i] = low.v[i];
    all[words + i] = high.v[i];
  }
#pragma unroll
  for (int step = words / 2; step > 0; step /= 2) {  // by whole words
    const bool moves = (skipped / 4 & step) != 0;
#pragma unroll
    for (int i = 0; i < words + step; ++i) {
      if (moves) all[i] = all[i + step];
    }
  }
  Words<words> x;
#pragma unroll
  for (int i = 0; i < words; ++i) {
    x.v[i] = __funnelshift_r(all[i], all[i + 1], 8 * (skipped % 4));
  }
  Item item;
  memcpy(&item, &x, sizeof item);
  return item;
}

// Whether the results of N outputs side by side, the first of them `first` places after `place`,
// could be stored at once, `columns` being those that exist.
template <class R, int N>
__device__ __forceinline__ bool store_together(const ReduceLoop& loop, const ReducePlace& place,
                                               int first, int columns,
                                               const typename R::accumulator (&x)[N]) {
  constexpr int bytes = N * R::result_bytes, piece = bytes < pack_bytes ? bytes : pack_bytes;
  using Piece = Pack<u8, piece>;
  char* const out = loop.out + place.out + first * R::result_bytes;
  if (loop.partial != nullptr || loop.kept[0].stride[2] != R::result_bytes || columns < N ||
      reinterpret_cast<u64>(out) % piece != 0) {
    return false;
  }
  alignas(pack_bytes) char results[bytes];
#pragma unroll
  for (int v = 0; v < N; ++v) R::store(loop, results + v * R::result_bytes, x[v]);
#pragma unroll
  for (int i = 0; i < bytes; i += piece) {
    *reinterpret_cast<Piece*>(out + i) = *reinterpret_cast<const Piece*>(results + i);
  }
  return true;
}

// V: columns of a thread, next to each other, and aligned packs of which there is a multiple; or,
// `shifted`, packs that may begin at any element. The threads of a block with the same threadIdx.x
// take turns.
template <class R, int V, bool shifted = false>
__global__ void __launch_bounds__(
    block_threads,
    resident_blocks_of(block_threads, unordered_blocks(V, sizeof(typename R::accumulator))))
    unordered_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using A = typename R::accumulator;
  using Lanes = typename R::template Lanes<V>;
  using Item = typename Lanes::Item;
  // Loads in flight, of `shifted` packs two each.
  constexpr int batch = sizeof(Item) <= 8 || (V == 4 && !shifted) ? 8 : 4;
  extern __shared__ __align__(16) unsigned char shared[];
  A* const results = reinterpret_cast<A*>(shared);  // of half a block
  const int x = threadIdx.x, y = threadIdx.y, rows = blockDim.y, width = blockDim.x * V;
  const ColumnTask task(loop, V, width);
  const u32 output = task.output();
  const ReducePlace place = locate_output(loop, output);
  const char* const in = loop.in + place.in;
  const bool exists = task.column < task.size;
  const int columns = exists ? static_cast<int>(min(task.size - task.column, u32(V))) : 0;
  const auto load = [&](const char* p) {
    if constexpr (shifted) {
      return load_across<Item>(p, columns * R::bytes);
    } else {
      return *reinterpret_cast<const Item*>(p);
    }
  };
  const i64 begin = task.unit * loop.per_unit + y;
  const i64 end = exists ? min(loop.n, (task.unit + 1) * loop.per_unit) : 0;
  const bool merged = loop.group_dims == 1;
  const i64 step = loop.group[0].stride[0];
  Lanes lanes;
  lanes.start();
  u32 round = 0, since = 0;
  for (i64 k = begin; k < end; k += batch * rows) {
    Item items[batch];
    if (Lanes::most_rounds > 0 && since + batch > Lanes::most_rounds) {
      lanes.finish(since);
      since = 0;
    }
    if (k + (batch - 1) * rows < end && merged) {
      const char* const from = in + k * step;
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        items[i] = load(from + i * rows * step);
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) lanes.add(items[i], round + i);
      round += batch;
      since += batch;
      continue;
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const i64 at = k + i * rows;
      if (at >= end) continue;
      items[i] = load(in + (merged ? at * step : locate_in_group(loop, static_cast<u32>(at))));
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (k + i * rows >= end) continue;
      lanes.add(items[i], round);
      ++round;
      ++since;
    }
  }
  lanes.finish(since);
  constexpr int at_once = unordered_columns_at_once(V, sizeof(A));
#pragma unroll
  for (int first = 0; first < V; first += at_once) {
    A acc[at_once];
#pragma unroll
    for (int v = 0; v < at_once; ++v) acc[v] = lanes.result(first + v, begin, rows, end);
    for (int d = rows / 2; d > 0; d /= 2) {
      if (y >= d && y < 2 * d) {
#pragma unroll
        for (int v = 0; v < at_once; ++v) {
          results[((y - d) * at_once + v) * blockDim.x + x] = acc[v];
        }
      }
      __syncthreads();
      if (y < d) {
#pragma unroll
        for (int v = 0; v < at_once; ++v) {
          acc[v] = R::combine(acc[v], results[(y * at_once + v) * blockDim.x + x]);
        }
      }
      __syncthreads();
    }
    if (y == 0 && exists && !store_together<R, at_once>(loop, place, first, columns - first, acc)) {
#pragma unroll
      for (int v = 0; v < at_once; ++v) {
        if (shifted && first + v >= columns) break;
        store_part<R>(loop, output, place, first + v, task.unit, acc[v]);
      }
    }
  }
  finish_tile<R>(loop, task, width);
}

// Rows of a few columns as one run of packs, with what stands between them and in the first one's
// pack. The threads of a block go on by whole rows, so that what a thread has at a place of its
// packs is all of one column.
template <class R, int V>
__global__ void __launch_bounds__(
    block_threads,
    resident_blocks_of(block_threads, unordered_blocks(V, sizeof(typename R::accumulator))))
    unordered_flat_columns(const __grid_constant__ ReduceLoop loop) {
  wait_for_earlier();
  using M = memory_t<typename R::input>;
  using A = typename R::accumulator;
  using Lanes = typename R::template Lanes<V>;
  using Item = typename Lanes::Item;
  constexpr int batch = flat_batch;
  extern __shared__ __align__(16) unsigned char shared[];
  A* const results = reinterpret_cast<A*>(shared);  // of the places of a round
  const ColumnTask task(loop, 0, 0);
  const int size = static_cast<int>(task.size), wide = loop.row_items;
  const int thread = threadIdx.x, places = blockDim.x * V;
  const ReducePlace place = locate_output(loop, task.output());
  const char* in = loop.in + place.in;
  // Places are counted from the beginning of the first element's pack.
  const int low = static_cast<int>(reinterpret_cast<u64>(in) % sizeof(Item) / sizeof(M));
  in -= low * sizeof(M);
  const i64 begin = task.unit * loop.per_unit + thread * V;
  const i64 end = min(low + (loop.n - 1) * wide + size, (task.unit + 1) * loop.per_unit);
  Lanes lanes;
  lanes.start();
  u32 round = 0, since = 0;
  for (i64 k = begin; k < end; k += batch * places, round += batch, since += batch) {
    if (Lanes::most_rounds > 0 && since + batch > Lanes::most_rounds) {
      lanes.finish(since);
      since = 0;
    }
    const char* const from = in + k * i64(sizeof(M));
    Item items[batch] = {};
    if (k >= low && k + (batch - 1) * places + V <= end) {
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        items[i] = *reinterpret_cast<const Item*>(from + i * places * i64(sizeof(M)));
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) lanes.add(items[i], round + i);
      continue;
    }
    const int left = static_cast<int>(min(end - k, i64(batch * places)));
    const int missing = static_cast<int>(max(low - k, i64(0)));
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (i * places < left) {
        items[i] = *reinterpret_cast<const Item*>(from + i * places * i64(sizeof(M)));
      }
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      lanes.add_some(items[i], round + i, i == 0 ? missing : 0, min(left - i * places, V));
    }
  }
  lanes.finish(since);
#pragma unroll
  for (int v = 0; v < V; ++v) {
    results[thread * V + v] = lanes.result(v, begin + v - low, places, end - low);
  }
  __syncthreads();
  const int lane = thread % warp_size, warps = blockDim.x / warp_size;  // whole ones
  for (int column = thread / warp_size; column < size; column += warps) {
    if (thread / warp_size == warps) break;
    A x = R::identity();
    for (int k = (low + column) % wide + lane * wide; k < places; k += warp_size * wide) {
      x = R::combine(x, results[k]);
    }
    x = combine_threads<R>(x, lane, warp_size, warp_size);
    // Positions have counted places.
    if constexpr (requires { x.index; }) x.index /= wide;
    if (lane == 0) store_part<R>(loop, task.output(), place, column, task.unit, x);
  }
  finish_tile<R>(loop, task, size);
}

// ---- reductions as these kernels see them -------------------------------------------------------

template <class R, int V, template <class, int> class OfBytes, class Otherwise>
struct lanes_of {
  using type = Otherwise;
};
template <class R, int V, template <class, int> class OfBytes, class Otherwise>
  requires(R::bytes == 1 && V > 1)
struct lanes_of<R, V, OfBytes, Otherwise> {
  using type = OfBytes<R, V / 4>;
};

template <class R, class Otherwise>
  requires(R::bytes == 2)
struct lanes_of<R, 8, PositionBytes, Otherwise> {
  using type = PositionHalves<R>;
};
template <class R, class Otherwise>
  requires(R::bytes == 2)
struct lanes_of<R, 8, SumBytes, Otherwise> {
  using type = SumHalves<R>;
};
template <class R, class Otherwise>
  requires(R::bytes == 2)
struct lanes_of<R, 8, ExtremeBytes, Otherwise> {
  using type = ExtremeHalves<R>;
};

// The columns of a thread: those of a pack, or of half a pack of bytes, whose results take many
// registers.
template <class R>
inline constexpr int unordered_columns_of = R::bytes == 1 ? R::lanes / 2 : R::lanes;

// How long rows are at most of which a thread each reads elements from shared memory: of many bytes
// that takes longer than memory, or than by packs of which words are joined at once.
template <class T>
constexpr int most_staged_of(bool joins_words) {
  return sizeof(memory_t<T>) > 1 ? reduce_lanes : joins_words ? 48 : 100;
}

// Sums and extremes of integers.
template <class Op, class T, class A, template <class, int> class OfBytes>
struct OfIntegers : Reducer<T, A> {
  static constexpr bool largest = ops::same_type_v<Op, ops::Max>;
  static constexpr int most_staged = most_staged_of<T>(ops::same_type_v<Op, ops::Sum>);
  template <int V>
  using Lanes = typename lanes_of<OfIntegers, V, OfBytes, ScalarLanes<OfIntegers, V>>::type;
  static __device__ __forceinline__ A identity() { return Op::template identity<A>(); }
  static __device__ __forceinline__ A map(memory_t<T> x) { return converted<A, T>(x); }
  static __device__ __forceinline__ A combine(A a, A b) { return Op::combine(a, b); }
};

// Of the condition that an element is not zero.
template <class Op, class T, class A, template <class, int> class OfBytes>
struct OfConditions : Reducer<T, A> {
  static constexpr int most_staged = most_staged_of<T>(true);
  template <int V>
  using Lanes = typename lanes_of<OfConditions, V, OfBytes, ScalarLanes<OfConditions, V>>::type;
  static __device__ __forceinline__ A identity() {
    return ops::same_type_v<Op, ops::All> ? A(1) : A(0);
  }
  static __device__ __forceinline__ A map(memory_t<T> x) { return A(converted<Boolean, T>(x)); }
  static __device__ __forceinline__ A combine(A a, A b) { return A(Op::combine(a, b)); }
};

// The position of the first extreme, with its value until the end; of float16 with its key, which
// takes less time to be compared.
template <class V>
struct Position {
  i64 index;
  V value;
};
template <class Op, class T, class Value>
struct OfPositions : Reducer<T, Position<Value>> {
  using A = Position<Value>;
  using value_type = Value;
  static constexpr bool largest = ops::same_type_v<Op, ops::Max>;
  static constexpr bool by_keys = ops::same_type_v<T, f16>;
  static constexpr int most_staged = most_staged_of<T>(false);
  template <int V>
  using Lanes =
      typename lanes_of<OfPositions, V, PositionBytes, PositionLanes<OfPositions, V>>::type;
  static __device__ __forceinline__ Value worst() {
    return by_keys ? Value(-1) : Op::template identity<Value>();
  }
  static __device__ __forceinline__ A identity() {
    return {ops::greatest_value<i64>(), worst()};  // any element is better
  }
  static __device__ __forceinline__ Value map(memory_t<T> x) {
    if constexpr (by_keys) {
      return static_cast<Value>(Keys<f16, largest>::of(x.bits) & 0xffff);
    } else {
      return read_as<Value, T>(x);
    }
  }
  static __device__ __forceinline__ bool better(Value x, Value best) {
    return by_keys ? x > best : Op::better(x, best);
  }
  static __device__ __forceinline__ A combine(A a, A b) {
    const bool takes_b =
        better(b.value, a.value) || (!better(a.value, b.value) && b.index < a.index);
    return takes_b ? b : a;
  }
  static constexpr int result_bytes = 8;
  static __device__ __forceinline__ void store(const ReduceLoop&, char* out, A x) {
    *reinterpret_cast<i64*>(out) = x.index;
  }
};

template <class R>
ReduceKernels unordered_kernels() {
  ReduceKernels k;
  k.rows = reinterpret_cast<const void*>(&unordered_rows<R, R::lanes>);
  k.rows_any = reinterpret_cast<const void*>(&unordered_rows<R, 1>);
  k.short_rows = reinterpret_cast<const void*>(&unordered_short_rows<R, R::lanes>);
  k.short_rows_any = reinterpret_cast<const void*>(&unordered_short_rows<R, 1>);
  if constexpr (R::bytes <= 8) {
    k.most_staged = R::most_staged;
    k.staged_rows = reinterpret_cast<const void*>(&staged_rows<R, UnorderedRow<R>>);
  }
  constexpr int columns = unordered_columns_of<R>;
  k.columns[0] = reinterpret_cast<const void*>(&unordered_columns<R, columns>);
  k.columns[1] = reinterpret_cast<const void*>(&unordered_columns<R, 1>);
  // Of halves that are not parts of words each pack takes longer than memory.
  using Item = typename R::template Lanes<columns>::Item;
  if constexpr (R::bytes == 1 || R::bytes == 4 || std::is_same_v<Item, Words<4>>) {
    k.shifted_columns = reinterpret_cast<const void*>(&unordered_columns<R, columns, true>);
  }
  if constexpr (columns > 1) {
    k.flat_columns = reinterpret_cast<const void*>(&unordered_flat_columns<R, columns>);
  }
  k.ordered = false;
  k.lanes = R::lanes;
  k.columns_per_thread = columns;
  k.accumulator_bytes = sizeof(typename R::accumulator);
  return k;
}

}  // namespace
}  // namespace arrayx::cuda
