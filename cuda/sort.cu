// Sorting and searching. Elements become unsigned keys whose order is the dtype's (NaN last).
// Blocks sort short lines, and CUB's stable radix sort long ones: all at once, with the line above
// the key.
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "last_part.cuh"
#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

constexpr int many_threads = 1024, many_blocks = 2;  // of a multiprocessor

// ---- keys ---------------------------------------------------------------------------------------

template <class M>
inline constexpr bool is_floating_item = ops::is_float_v<M> || ops::same_type_v<M, f16>;

// How the bits of a dtype, in a U, become an unsigned number that orders as the elements do, and
// back: NaN of any sign is the greatest, and both zeros have one number.
template <class U>
struct KeyRule {
  U all;       // the bits there are
  U infinity;  // of floats, else 0
  U flipped;   // of signed integers the sign's bit, else 0
  bool logical, descending;

  __device__ __forceinline__ U key(U bits) const {
    const U sign = U(all ^ all >> 1);
    if (infinity > 0) {
      if (U(bits & all >> 1) > infinity) return all;
      if (bits == sign) bits = 0;
      bits = bits & sign ? U(~bits) : U(bits | sign);
    } else {
      bits = logical ? U(bits != 0) : U(bits ^ flipped);
    }
    return U((descending ? ~bits : bits) & all);
  }
  // What had the key, unless that is one of several: zeros and NaN.
  __device__ __forceinline__ U bits(U key, bool& one_of_several) const {
    const U sign = U(all ^ all >> 1), ascending = U((descending ? ~key : key) & all);
    if (infinity == 0) return logical ? U(ascending & 1) : U(ascending ^ flipped);
    one_of_several = key == all || ascending == sign;
    return ascending & sign ? U(ascending ^ sign) : U(~ascending & all);
  }
  template <class V>
  __host__ __device__ __forceinline__ KeyRule<V> with() const {
    return {V(all), V(infinity), V(flipped), logical, descending};
  }
};
template <class M>
using bits_t = typename ops::ints_of_width<sizeof(M)>::u;

template <class T>
__host__ __device__ constexpr KeyRule<bits_t<memory_t<T>>> rule_of(bool descending) {
  using M = memory_t<T>;
  using U = bits_t<M>;
  constexpr U all = U(~U(0)), sign = U(all ^ all >> 1);
  constexpr U infinity = sizeof(M) == 2   ? U(0x7c00)
                         : sizeof(M) == 4 ? U(0x7f800000)
                                          : U(0x7ff0000000000000);
  constexpr bool floating = is_floating_item<M>, logical = ops::same_type_v<T, Boolean>;
  bool is_signed = false;
  if constexpr (!floating && !logical) is_signed = ops::is_signed_v<M>;
  return {all, floating ? infinity : U(0), is_signed ? sign : U(0), logical, descending};
}

template <class T>
__device__ __forceinline__ u64 key_of(memory_t<T> x, bool descending) {
  return rule_of<T>(descending).key(ops::bit_cast<bits_t<memory_t<T>>>(x));
}
// Back, of integers and booleans.
template <class T>
__device__ __forceinline__ memory_t<T> value_of(u64 key, bool descending) {
  using U = bits_t<memory_t<T>>;
  bool unused;
  return ops::bit_cast<memory_t<T>>(rule_of<T>(descending).bits(U(key), unused));
}

// f(item) for items of a size whose keys are a U.
template <class U, class F>
__device__ __forceinline__ void with_items(int itemsize, F&& f) {
  if constexpr (sizeof(U) == 8) {
    f(u64());
  } else if (itemsize == 4) {
    f(u32());
  } else if (itemsize == 2) {
    f(u16());
  } else {
    f(u8());
  }
}

template <class Body>
__global__ void __launch_bounds__(block_threads)
    for_each(i64 n, const __grid_constant__ Body body) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) body(i);
}
template <class Body>
void run_for_each(std::int64_t n, Body body, const char* verb) {
  for_each<<<blocks_for(n, block_threads * 4), block_threads, 0, stream()>>>(n, body);
  check_launch(verb);
}

// keys[i] of element i; the line above the key's `bits`, where there are several.
template <class T, class K>
struct MakeKeys {
  const memory_t<T>* values;
  K* keys;
  u32* order;    // becomes 0, 1, 2 …; or null
  Divisor line;  // elements of a line
  int bits;      // 0 for a single line
  bool descending;

  __device__ void operator()(i64 i) const {
    u64 key = key_of<T>(values[i], descending);
    if (bits) key |= u64(static_cast<u32>(i) / line.divisor) << bits;
    if (order) order[i] = static_cast<u32>(i);
    keys[i] = K(key);
  }
};
template <class T>
struct TakeValues {
  const u64* keys;
  memory_t<T>* values;
  bool descending;
  __device__ void operator()(i64 i) const { values[i] = value_of<T>(keys[i], descending); }
};
struct Count {
  u32* order;
  __device__ void operator()(i64 i) const { order[i] = static_cast<u32>(i); }
};
// The parts of complex numbers, one after the other: the imaginary ones first, then the real ones,
// then NumPy's classes (no NaN, NaN in the imaginary part, in the real part, in both) and the line.
template <class P>
struct PartKeys {
  const Complex<P>* values;
  const u32* order;
  u64* keys;
  bool imaginary, descending;
  __device__ void operator()(i64 i) const {
    const Complex<P> x = values[order[i]];
    keys[i] = key_of<P>(imaginary ? x.im : x.re, descending);
  }
};
template <class P>
struct ClassKeys {
  const Complex<P>* values;
  const u32* order;
  u32* keys;
  Divisor line;
  __device__ void operator()(i64 i) const {
    const Complex<P> x = values[order[i]];
    const u32 nan = 2 * u32(x.re != x.re) + u32(x.im != x.im);
    keys[i] = (order[i] / line.divisor) << 2 | nan;
  }
};
struct LineKeys {
  const u32* order;
  u32* keys;
  Divisor line;
  __device__ void operator()(i64 i) const { keys[i] = order[i] / line.divisor; }
};
struct WritePositions {
  const u32* order;
  i64* out;
  Divisor line;
  __device__ void operator()(i64 i) const { out[i] = order[i] % line.divisor; }
};
template <class M>
struct Permute {
  const M* in;
  const u32* order;
  M* out;
  __device__ void operator()(i64 i) const { out[i] = in[order[i]]; }
};

// ---- places of some of the elements -------------------------------------------------------------

// How many elements have a flag, and which does last.
struct alignas(8) Flagged {
  u32 count, last;

  __device__ __forceinline__ Flagged then(Flagged later) const {
    return {count + later.count, later.count > 0 ? later.last : last};
  }
};

constexpr int block_warps = block_threads / warp_size;
constexpr int rows_of_warp = 8;  // of 32 elements
constexpr int flags_tile = rows_of_warp * block_threads;

struct Flags {
  u32* rows;       // bit by bit
  Flagged* tiles;  // of each tile, then of all before it; last of all
  u32 n, tile_count;

  __device__ __forceinline__ u32 row(int r) const {  // of the thread's warp
    return (blockIdx.x * block_warps + threadIdx.x / warp_size) * rows_of_warp + r;
  }
  __device__ __forceinline__ u32 in_row(u32 row) const {
    return row * warp_size < n ? rows[row] : 0;
  }
  __device__ __forceinline__ Flagged of_row(u32 row, u32 flags) const {
    return {static_cast<u32>(__popc(flags)), row * warp_size + 31 - __clz(flags)};
  }
  // flag(r, i): whether the element has it; the work of all threads.
  template <class Flag>
  __device__ __forceinline__ void find(Flag&& flag) const {
    Flagged all{};
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      const u32 at = row(r), i = at * warp_size + threadIdx.x % warp_size;
      const bool has = flag(r, i);  // of all lanes
      const u32 flags = __ballot_sync(whole_warp, has && i < n);
      if (threadIdx.x % warp_size == 0 && at * warp_size < n) rows[at] = flags;
      all = all.then(of_row(at, flags));
    }
    __shared__ Flagged of_warp[block_warps];
    of_warp[threadIdx.x / warp_size] = all;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < block_warps; ++w) of_warp[0] = of_warp[0].then(of_warp[w]);
    tiles[blockIdx.x] = of_warp[0];
  }
  // load(r, i, has), which may only read, for the thread's elements, so that no read waits for what
  // is written, and use(r, i, has, before): whether i has the flag, and those before it that do.
  template <class Load, class Use>
  __device__ __forceinline__ void each(Load&& load, Use&& use) const {
    const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    __shared__ Flagged of_warp[block_warps];
    u32 flags[rows_of_warp];
    Flagged all{};
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      flags[r] = in_row(row(r));
      all = all.then(of_row(row(r), flags[r]));
    }
    of_warp[warp] = all;
    __syncthreads();
    Flagged before = tiles[blockIdx.x];
    for (int other = 0; other < warp; ++other) before = before.then(of_warp[other]);
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      const u32 i = row(r) * warp_size + lane;
      if (i < n) load(r, i, (flags[r] >> lane & 1) != 0);
    }
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      const u32 at = row(r), i = at * warp_size + lane;
      const Flagged left = before.then(of_row(at, flags[r] & ((1u << lane) - 1)));
      if (i < n) use(r, i, (flags[r] >> lane & 1) != 0, left);
      before = before.then(of_row(at, flags[r]));
    }
  }
};

__global__ void __launch_bounds__(many_threads) scan_flags(const __grid_constant__ Flags f) {
  // So many rows of a tile for each thread are scanned at a time.
  constexpr int rows = 8, warps = many_threads / warp_size;
  static_assert(warps == warp_size);
  __shared__ Flagged upto_warp[rows][warps];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const auto scan_warp = [&](Flagged flagged) {
#pragma unroll
    for (int d = 1; d < warp_size; d *= 2) {
      const Flagged before = from_lane(flagged, max(lane - d, 0));
      if (lane >= d) flagged = before.then(flagged);
    }
    return flagged;
  };
  Flagged all{};
  for (u32 first = threadIdx.x; first - threadIdx.x < f.tile_count; first += rows * many_threads) {
    Flagged upto[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const u32 tile = first + r * many_threads;
      upto[r] = tile < f.tile_count ? f.tiles[tile] : Flagged{};
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      upto[r] = scan_warp(upto[r]);
      if (lane == warp_size - 1) upto_warp[r][warp] = upto[r];
    }
    __syncthreads();
    if (warp < rows) upto_warp[warp][lane] = scan_warp(upto_warp[warp][lane]);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const u32 tile = first + r * many_threads;
      Flagged before = warp > 0 ? all.then(upto_warp[r][warp - 1]) : all;
      const Flagged others = from_lane(upto[r], max(lane - 1, 0));
      if (lane > 0) before = before.then(others);
      if (tile < f.tile_count) f.tiles[tile] = before;
      all = all.then(upto_warp[r][warps - 1]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) f.tiles[f.tile_count] = all;
}

struct FlagMemory {
  Flags flags;
  Scratch rows, tiles;

  explicit FlagMemory(std::int64_t n)
      : rows(static_cast<std::size_t>((n - 1) / warp_size + 1) * sizeof(u32)),
        tiles(static_cast<std::size_t>((n - 1) / flags_tile + 2) * sizeof(Flagged)) {
    flags = {rows.as<u32>(), tiles.as<Flagged>(), static_cast<u32>(n),
             static_cast<u32>((n - 1) / flags_tile + 1)};
  }
  void scan(const char* verb) const {
    scan_flags<<<1, many_threads, 0, stream()>>>(flags);
    check_launch(verb);
  }
};

// ---- radix sorts --------------------------------------------------------------------------------

template <class K>
struct Buffer {  // a pair of arrays, of which one is current
  Scratch first, second;
  cub::DoubleBuffer<K> both;

  explicit Buffer(std::int64_t n)
      : first(static_cast<std::size_t>(n) * sizeof(K)),
        second(static_cast<std::size_t>(n) * sizeof(K)),
        both(first.as<K>(), second.as<K>()) {}
  K* current() { return both.Current(); }
};

// run(memory, bytes) of CUB, which says how many bytes it needs when it is given none.
template <class Run>
void with_memory(Run&& run, const char* verb) {
  std::size_t bytes = 0;
  check(run(nullptr, bytes), verb);
  const Scratch memory(bytes);
  check(run(memory.as(), bytes), verb);
}

template <class K>
void sort_keys(Buffer<K>& keys, std::int64_t n, int bits) {
  const auto run = [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, keys.both, n, 0, bits, stream());
  };
  with_memory(run, "sort");
}
template <class K>
void sort_pairs(cub::DoubleBuffer<K>& keys, cub::DoubleBuffer<u32>& order, std::int64_t n,
                int bits) {
  const auto run = [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys, order, n, 0, bits, stream());
  };
  with_memory(run, "argsort");
}
template <class K>
void sort_pairs(Buffer<K>& keys, Buffer<u32>& order, std::int64_t n, int bits) {
  sort_pairs(keys.both, order.both, n, bits);
}

// Contiguous lines of `length` elements.
struct Lines {
  const char* data;
  std::int64_t n, length;
  bool descending;

  int line_bits() const { return std::bit_width(static_cast<std::uint64_t>((n - 1) / length)); }
  Divisor line() const { return Divisor(static_cast<u32>(length)); }

  template <class T, class K>
  MakeKeys<T, K> keys(K* to, u32* order, bool with_line) const {
    return {reinterpret_cast<const memory_t<T>*>(data),   to,        order, line(),
            with_line ? int(8 * sizeof(memory_t<T>)) : 0, descending};
  }
};

// Integers backwards: of those that are equal one is like the other.
template <class T>
struct Reverse {
  const T* in;
  T* out;
  i64 n;
  __device__ void operator()(i64 i) const { out[i] = in[n - 1 - i]; }
};

// One line, which no result overlaps, of integers or, in either direction, of floats. CUB takes
// their zeros for equal, but NaN with a sign for what lies beyond infinity.
template <class T>
void sort_line(const T* in, std::int64_t n, bool descending, T* out) {
  constexpr int bits = 8 * sizeof(T);
  const auto run = [&](void* memory, std::size_t& bytes) {
    if constexpr (ops::is_float_v<T>) {
      if (descending) {
        return cub::DeviceRadixSort::SortKeysDescending(memory, bytes, in, out, n, 0, bits,
                                                        stream());
      }
    }
    return cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, n, 0, bits, stream());
  };
  with_memory(run, "sort");
}
template <class T>
void sort_integers(const Lines& lines, T* out) {
  const T* const in = reinterpret_cast<const T*>(lines.data);
  if (!lines.descending && in != out) return sort_line(in, lines.n, false, out);
  const Scratch sorted(static_cast<std::size_t>(lines.n) * sizeof(T));
  sort_line(in, lines.n, false, sorted.as<T>());
  if (lines.descending) {
    run_for_each(lines.n, Reverse<T>{sorted.as<const T>(), out, lines.n}, "sort");
  } else {
    check(cudaMemcpyAsync(out, sorted.as(), static_cast<std::size_t>(lines.n) * sizeof(T),
                          cudaMemcpyDeviceToDevice, stream()),
          "sort");
  }
}

// NaN stay in their order with the bits they have. CUB puts them at both ends, by their bits: where
// there are any the numbers between them are moved, by way of a copy, and they are taken from the
// line once more.
template <class T>
__global__ void __launch_bounds__(block_threads)
    find_nans(const __grid_constant__ Flags f, const T* in, const T* out, T* sorted) {
  if (out[0] == out[0] && out[f.n - 1] == out[f.n - 1]) {
    if (threadIdx.x == 0) f.tiles[blockIdx.x] = {};
    return;
  }
  f.find([&](int, u32 i) {
    if (i >= f.n) return false;
    sorted[i] = out[i];
    const T x = in[i];
    return x != x;
  });
}
template <class T>
__global__ void __launch_bounds__(block_threads)
    join_nans(const __grid_constant__ Flags f, const T* in, const T* sorted, T* out) {
  __shared__ u32 front;  // NaN before the numbers
  const u32 nans = f.tiles[f.tile_count].count, numbers = f.n - nans;
  if (nans == 0) return;
  if (threadIdx.x == 0) {
    const T first = sorted[0];
    front = 0;
    for (u32 size = first != first ? nans : 0; size > 0;) {
      const u32 half = (size + 1) / 2;
      const T x = sorted[front + half - 1];
      if (x != x && signbit(x) == signbit(first)) front += half;
      size -= half;
    }
  }
  __syncthreads();
  T number[rows_of_warp], nan[rows_of_warp];
  f.each(
      [&](int r, u32 i, bool is_nan) {
        if (i < numbers) number[r] = sorted[front + i];
        if (is_nan) nan[r] = in[i];
      },
      [&](int r, u32 i, bool is_nan, Flagged before) {
        if (i < numbers) out[i] = number[r];
        if (is_nan) out[numbers + before.count] = nan[r];
      });
}
template <class T>
void sort_floats(const Lines& lines, T* out) {
  const T* in = reinterpret_cast<const T*>(lines.data);
  const auto bytes = static_cast<std::size_t>(lines.n) * sizeof(T);
  std::optional<Scratch> kept;
  if (in == out) {
    kept.emplace(bytes);
    check(cudaMemcpyAsync(kept->as(), in, bytes, cudaMemcpyDeviceToDevice, stream()), "sort");
    in = kept->as<const T>();
  }
  sort_line(in, lines.n, lines.descending, out);
  const Scratch sorted(bytes);
  const FlagMemory nans(lines.n);
  const unsigned blocks = nans.flags.tile_count;
  find_nans<<<blocks, block_threads, 0, stream()>>>(nans.flags, in, out, sorted.as<T>());
  check_launch("sort");
  nans.scan("sort");
  join_nans<<<blocks, block_threads, 0, stream()>>>(nans.flags, in, sorted.as<const T>(), out);
  check_launch("sort");
}

// Lines of less than 64 bits, whose keys stand below the line.
template <class T>
void sort_values(const Lines& lines, char* out) {
  Buffer<u64> keys(lines.n);
  run_for_each(lines.n, lines.keys<T>(keys.current(), nullptr, true), "sort");
  sort_keys(keys, lines.n, 8 * sizeof(memory_t<T>) + lines.line_bits());
  run_for_each(lines.n,
               TakeValues<T>{keys.current(), reinterpret_cast<memory_t<T>*>(out), lines.descending},
               "sort");
}

// The same of floats, which travel beside their keys: zeros keep their signs and NaN their bits.
template <class T>
void sort_beside_keys(const Lines& lines, char* out) {
  using M = memory_t<T>;
  const auto n = static_cast<std::size_t>(lines.n);
  const Scratch keys(n * sizeof(u64)), sorted(n * sizeof(u64));
  run_for_each(lines.n, lines.keys<T>(keys.as<u64>(), nullptr, true), "sort");
  const auto run = [&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.as<const u64>(), sorted.as<u64>(),
                                           reinterpret_cast<const M*>(lines.data),
                                           reinterpret_cast<M*>(out), lines.n, 0,
                                           int(8 * sizeof(M)) + lines.line_bits(), stream());
  };
  with_memory(run, "sort");
}

// The order of all elements: by line, then by value.
template <class T, class K>
void sort_order(const Lines& lines, Buffer<u32>& order) {
  constexpr int bits = 8 * sizeof(memory_t<T>);
  Buffer<K> keys(lines.n);
  const bool with_line = lines.line_bits() > 0 && sizeof(K) > sizeof(memory_t<T>);
  run_for_each(lines.n, lines.keys<T, K>(keys.current(), order.current(), with_line), "argsort");
  sort_pairs(keys, order, lines.n, bits + (with_line ? lines.line_bits() : 0));
  if (lines.line_bits() == 0 || with_line) return;
  Buffer<u32> line_keys(lines.n);
  run_for_each(lines.n, LineKeys{order.current(), line_keys.current(), lines.line()}, "argsort");
  sort_pairs(line_keys, order, lines.n, lines.line_bits());
}
template <class P>
void sort_complex_order(const Lines& lines, Buffer<u32>& order) {
  const auto* values = reinterpret_cast<const Complex<P>*>(lines.data);
  run_for_each(lines.n, Count{order.current()}, "argsort");
  for (const bool imaginary : {true, false}) {
    Buffer<u64> keys(lines.n);
    run_for_each(lines.n,
                 PartKeys<P>{values, order.current(), keys.current(), imaginary, lines.descending},
                 "argsort");
    sort_pairs(keys, order, lines.n, 8 * sizeof(P));
  }
  Buffer<u32> keys(lines.n);
  run_for_each(lines.n, ClassKeys<P>{values, order.current(), keys.current(), lines.line()},
               "argsort");
  sort_pairs(keys, order, lines.n, lines.line_bits() + 2);
}

template <class F>
void dispatch_kernel_type(DType d, F&& f) {
  switch (d) {
#define ARRAYX_ROW(name, T) \
  case DType::name:         \
    return f(T{});
    ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
  }
}

// Of dtypes that are not complex.
KeyRule<u64> rule_of(DType dtype, bool descending) {
  KeyRule<u64> rule{};
  dispatch_kernel_type(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!ops::is_complex_v<T>) rule = rule_of<T>(descending).template with<u64>();
  });
  return rule;
}

void find_order(DType dtype, const Lines& lines, Buffer<u32>& order) {
  dispatch_kernel_type(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (ops::is_complex_v<T>) {
      sort_complex_order<decltype(T::re)>(lines, order);
    } else if constexpr (sizeof(memory_t<T>) == 8) {
      sort_order<T, u64>(lines, order);
    } else if (lines.line_bits() == 0) {
      sort_order<T, u32>(lines, order);
    } else {
      sort_order<T, u64>(lines, order);
    }
  });
}

// ---- short lines --------------------------------------------------------------------------------

// A block sorts a tile by a bitonic network: lines, each in as many places as the next power of
// two, or a run of one that other runs are merged with.
constexpr int item_log2 = 3, tile_log2 = 11;  // of a thread, of a block
constexpr int tile_items = 1 << item_log2, tile = 1 << tile_log2;
static_assert(block_threads * tile_items == tile);
constexpr int most_runs = 16;
// Of many elements longer lines that shared memory holds are sorted by digits, each by a block: on
// an H200 4000 lines of 3000 float32 take 0.34 of the time of merged runs, 1000 of 10000 0.44 of
// that of a radix sort of all lines. This, which longer ones have, takes less time than merging
// more runs than so many, or, of 8 bytes, which it sorts in more passes: on an H200 0.44 to 0.75 of
// it for five and more.
constexpr std::int64_t least_by_blocks = std::int64_t{1} << 18;
constexpr std::int64_t least_by_digits = std::int64_t{1} << 20;
constexpr int most_merged = 4, most_merged_wide = 8;

struct TileSort {
  const char* in;
  char* out;   // of the lines; of runs, values or positions of 32 bits in scratch
  u64* keys;   // of runs, else null
  i64 n;       // elements of all lines
  i64 length;  // of a line
  i64 lines;
  int line_log2;  // places of a line, or run, in a tile
  Divisor runs, line;
  KeyRule<u64> rule;
  int itemsize;
  bool positions;
};

// What is sorted: keys of 32 or of 64 bits, alone or above their elements' places in the line.
struct PlacedKey {
  u32 low, high, place;
  __device__ __forceinline__ u64 key() const { return u64{high} << 32 | low; }
  __device__ __forceinline__ bool operator<(const PlacedKey& other) const {
    return key() < other.key() || (key() == other.key() && place < other.place);
  }
};
template <class U, bool Placed>
struct Sorted {
  using type = U;
  static __device__ __forceinline__ type made(U key, u32 /*place*/) { return key; }
  static __device__ __forceinline__ U key(type x) { return x; }
  static __device__ __forceinline__ u32 place(type /*x*/) { return 0; }
};
template <>
struct Sorted<u32, true> {
  using type = u64;
  static __device__ __forceinline__ type made(u32 key, u32 place) { return u64{key} << 32 | place; }
  static __device__ __forceinline__ u32 key(type x) { return static_cast<u32>(x >> 32); }
  static __device__ __forceinline__ u32 place(type x) { return static_cast<u32>(x); }
};
template <>
struct Sorted<u64, true> {
  using type = PlacedKey;
  static __device__ __forceinline__ type made(u64 key, u32 place) {
    return {u32(key), u32(key >> 32), place};
  }
  static __device__ __forceinline__ u64 key(type x) { return x.key(); }
  static __device__ __forceinline__ u32 place(type x) { return x.place; }
};

template <class K>
__device__ __forceinline__ void put_in_order(K& a, K& b, bool ascending) {
  const bool swaps = (b < a) == ascending;
  const K first = swaps ? b : a;
  b = swaps ? a : b;
  a = first;
}

// Sorts each 2^line_log2 places; a thread has places next to each other. `exchange` has room for a
// tile.
template <class K>
__device__ __forceinline__ void sort_network(K (&x)[tile_items], int line_log2, K* exchange) {
  const u32 thread = threadIdx.x;
#pragma unroll
  for (int k = 1; k <= item_log2; ++k) {
    if (k > line_log2) return;
#pragma unroll
    for (int b = k - 1; b >= 0; --b) {
#pragma unroll
      for (int i = 0; i < tile_items; ++i) {
        const bool ascending =
            k == line_log2 || (k < item_log2 ? i >> k & 1 : thread >> (k - item_log2) & 1) == 0;
        if ((i >> b & 1) == 0) put_in_order(x[i], x[i | 1 << b], ascending);
      }
    }
  }
  for (int k = item_log2 + 1; k <= line_log2; ++k) {
    const bool ascending = k == line_log2 || (thread >> (k - item_log2) & 1) == 0;
    for (u32 across = 1u << (k - 1 - item_log2); across > 0; across /= 2) {
      const bool least = ((thread & across) == 0) == ascending;
      if (across >= warp_size) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tile_items; ++i) exchange[i * block_threads + thread] = x[i];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tile_items; ++i) {
          const K other = exchange[i * block_threads + (thread ^ across)];
          if ((other < x[i]) == least) x[i] = other;
        }
      } else {
#pragma unroll
        for (int i = 0; i < tile_items; ++i) {
          const K other = from_lane(x[i], static_cast<int>((thread ^ across) % warp_size));
          if ((other < x[i]) == least) x[i] = other;
        }
      }
    }
#pragma unroll
    for (int b = item_log2 - 1; b >= 0; --b) {
#pragma unroll
      for (int i = 0; i < tile_items; ++i) {
        if ((i >> b & 1) == 0) put_in_order(x[i], x[i | 1 << b], ascending);
      }
    }
  }
}

// U: keys of up to 32 or of 64 bits. Placed: equal keys stay in their order, and places are known.
template <class U, bool Placed>
__global__ void __launch_bounds__(block_threads, 4) sort_tiles(const __grid_constant__ TileSort t) {
  using S = Sorted<U, Placed>;
  using K = typename S::type;
  constexpr int spread = tile + tile / tile_items;  // over the banks
  __shared__ __align__(16) unsigned char shared_bytes[spread * sizeof(K)];
  K* const shared = reinterpret_cast<K*>(shared_bytes);
  const KeyRule<U> rule = t.rule.template with<U>();
  const u32 group = t.runs.divide(blockIdx.x), run = blockIdx.x - group * t.runs.divisor;
  const i64 first_line = i64(group) << (tile_log2 - t.line_log2);
  const i64 first = first_line * t.length + i64(run) * tile;
  const int length = static_cast<int>(min(i64(tile), t.length - i64(run) * tile));
  // A thread reads and writes places of one line, which the threads of that line share by turns;
  // or, of the shortest lines, places next to each other.
  const int turn_log2 = t.line_log2 - item_log2;
  u32 at[tile_items], place[tile_items];  // in the tile, in the line
  i64 element[tile_items];
  bool inside[tile_items];
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    if (turn_log2 > 0) {
      place[i] = static_cast<u32>(i) << turn_log2 | (threadIdx.x & ((1u << turn_log2) - 1));
      at[i] = threadIdx.x >> turn_log2 << t.line_log2 | place[i];
    } else {
      at[i] = threadIdx.x * tile_items + i;
      place[i] = at[i] & ((1u << t.line_log2) - 1);
    }
    const u32 line = at[i] >> t.line_log2;
    element[i] = first + line * t.length + place[i];
    inside[i] = place[i] < static_cast<u32>(length) && first_line + line < t.lines;
  }
  K x[tile_items];
  U bits[tile_items];
  with_items<U>(t.itemsize, [&](auto item) {
#pragma unroll
    for (int i = 0; i < tile_items; ++i) {
      bits[i] = inside[i] ? reinterpret_cast<const decltype(item)*>(t.in)[element[i]] : U(0);
    }
  });
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    x[i] = S::made(inside[i] ? rule.key(bits[i]) : U(~U(0)), place[i]);
  }
  sort_network(x, t.line_log2, shared);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < tile_items; ++i) shared[threadIdx.x * (tile_items + 1) + i] = x[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < tile_items; ++i) x[i] = shared[at[i] + (at[i] >> item_log2)];
  if (t.keys) {
#pragma unroll
    for (int i = 0; i < tile_items; ++i) {
      if (inside[i]) t.keys[element[i]] = S::key(x[i]);
    }
  }
  if (Placed && t.positions) {
#pragma unroll
    for (int i = 0; i < tile_items; ++i) {
      if (!inside[i]) continue;
      if (t.keys) {
        reinterpret_cast<u32*>(t.out)[element[i]] = run * tile + S::place(x[i]);
      } else {
        reinterpret_cast<i64*>(t.out)[element[i]] = S::place(x[i]);
      }
    }
    return;
  }
  with_items<U>(t.itemsize, [&](auto item) {
    using Item = decltype(item);
#pragma unroll
    for (int i = 0; i < tile_items; ++i) {
      bool one_of_several = false;
      bits[i] = rule.bits(S::key(x[i]), one_of_several);
      if (Placed && one_of_several && inside[i]) {
        bits[i] = reinterpret_cast<const Item*>(t.in)[element[i] - place[i] + S::place(x[i])];
      }
    }
    __syncthreads();  // in may be out
#pragma unroll
    for (int i = 0; i < tile_items; ++i) {
      if (inside[i]) reinterpret_cast<Item*>(t.out)[element[i]] = Item(bits[i]);
    }
  });
}

// ---- lines by digits

// A block sorts a longer line by digits in shared memory. Places go along with keys where those
// that are equal may be told apart.
template <class U>
inline constexpr int line_items = sizeof(U) == 4 ? 16 : 12;  // of a thread: registers hold them
constexpr int digit_bits = 8, digits = 1 << digit_bits;
template <class U>
inline constexpr std::int64_t most_of_line = std::int64_t{many_threads} * line_items<U>;

template <class U, bool Placed>
constexpr std::size_t line_shared_bytes(int threads) {
  const auto items = static_cast<std::size_t>(threads) * line_items<U>;
  return items * (sizeof(U) + (Placed ? sizeof(u16) : 0)) +
         static_cast<std::size_t>(threads) / warp_size * digits * sizeof(u32);
}

// Threads hold elements a warp's width apart, each warp some that follow each other.
template <class U, bool Placed>
__global__ void __launch_bounds__(many_threads) sort_lines(const __grid_constant__ TileSort t) {
  constexpr int items = line_items<U>;
  extern __shared__ __align__(16) unsigned char line_memory[];
  __shared__ u64 differing;  // bits in which keys of the line differ
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const int warps = blockDim.x / warp_size, room = blockDim.x * items;
  U* const keys = reinterpret_cast<U*>(line_memory);
  u32* const counts = reinterpret_cast<u32*>(keys + room);  // of each warp, by digit
  u16* const places = reinterpret_cast<u16*>(counts + warps * digits);
  u32* const own_counts = counts + warp * digits;
  const KeyRule<U> rule = t.rule.template with<U>();
  const i64 begin = i64(blockIdx.x) * t.length;
  const int length = static_cast<int>(t.length), first = warp * (warp_size * items) + lane;
  if (threadIdx.x == 0) differing = 0;
  __syncthreads();
  U x[items];
  u32 place[items];
  with_items<U>(t.itemsize, [&](auto item) {
    const auto* const in = reinterpret_cast<const decltype(item)*>(t.in) + begin;
    const U of_first = rule.key(U(in[0]));
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int at = first + i * warp_size;
      x[i] = at < length ? U(in[at]) : U(0);
    }
    U differ = 0;
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int at = first + i * warp_size;
      place[i] = at;
      x[i] = at < length ? rule.key(x[i]) : U(~U(0));  // these stay last
      if (at < length) differ |= x[i] ^ of_first;
    }
#pragma unroll
    for (int d = warp_size / 2; d > 0; d /= 2) {
      differ |= __shfl_xor_sync(whole_warp, differ, d);
    }
    if (lane == 0) atomicOr(reinterpret_cast<unsigned long long*>(&differing), u64(differ));
  });
  __syncthreads();
  const U differ = static_cast<U>(differing);
  for (int shift = 0; shift < 8 * t.itemsize; shift += digit_bits) {
    if ((differ >> shift & (digits - 1)) == 0) continue;
    for (int d = lane; d < digits; d += warp_size) own_counts[d] = 0;
    __syncwarp();
    u32 rank[items];  // in the warp, among those of its digit
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const u32 digit = static_cast<u32>(x[i] >> shift) & (digits - 1);
      unsigned alike = whole_warp;
#pragma unroll
      for (int b = 0; b < digit_bits; ++b) {
        const bool set = digit >> b & 1;
        const unsigned those = __ballot_sync(whole_warp, set);
        alike &= set ? those : ~those;
      }
      const int last = 31 - __clz(static_cast<int>(alike));
      u32 before = 0;
      if (lane == last) {
        before = own_counts[digit];
        own_counts[digit] = before + __popc(alike);
      }
      rank[i] = __shfl_sync(whole_warp, before, last) + __popc(alike & ((1u << lane) - 1));
      __syncwarp();
    }
    __syncthreads();
    // Where each warp's elements of a digit begin.
    for (int d = threadIdx.x; d < digits; d += blockDim.x) {
      u32 sum = 0;
#pragma unroll 4
      for (int w = 0; w < warps; ++w) {
        const u32 here = counts[w * digits + d];
        counts[w * digits + d] = sum;
        sum += here;
      }
      keys[d] = U(sum);
    }
    __syncthreads();
    if (warp == 0) {
      constexpr int each = digits / warp_size;
      u32 total[each], sum = 0;
#pragma unroll
      for (int e = 0; e < each; ++e) {
        total[e] = static_cast<u32>(keys[lane * each + e]);
        sum += total[e];
      }
      u32 before = sum_of_lanes_upto(sum, lane) - sum;
#pragma unroll
      for (int e = 0; e < each; ++e) {
        keys[lane * each + e] = U(before);
        before += total[e];
      }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const u32 digit = static_cast<u32>(x[i] >> shift) & (digits - 1);
      rank[i] += own_counts[digit] + static_cast<u32>(keys[digit]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i) {
      keys[rank[i]] = x[i];
      if (Placed) places[rank[i]] = static_cast<u16>(place[i]);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < items; ++i) {
      x[i] = keys[first + i * warp_size];
      if (Placed) place[i] = places[first + i * warp_size];
    }
    __syncthreads();
  }
  if (Placed && t.positions) {
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int at = first + i * warp_size;
      if (at < length) reinterpret_cast<i64*>(t.out)[begin + at] = place[i];
    }
    return;
  }
  with_items<U>(t.itemsize, [&](auto item) {
    using Item = decltype(item);
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int at = first + i * warp_size;
      bool one_of_several = false;
      x[i] = rule.bits(x[i], one_of_several);
      if (Placed && one_of_several && at < length) {
        x[i] = reinterpret_cast<const Item*>(t.in)[begin + place[i]];
      }
    }
    __syncthreads();  // in may be out
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const int at = first + i * warp_size;
      if (at < length) reinterpret_cast<Item*>(t.out)[begin + at] = Item(x[i]);
    }
  });
}

// Whether the device's blocks have room for lines so long; then it sorts them.
template <class U, bool Placed>
bool sort_lines_by_digits(const TileSort& t, const char* verb) {
  constexpr int of_warp = warp_size * line_items<U>;
  if (t.length > most_of_line<U>) return false;
  const auto warps = static_cast<int>((t.length - 1) / of_warp + 1);
  const std::size_t bytes = line_shared_bytes<U, Placed>(warps * warp_size);
  constexpr std::size_t other_shared_bytes = 1024;
  if (bytes + other_shared_bytes > properties().shared_bytes_opt_in) return false;
  const auto kernel = &sort_lines<U, Placed>;
  allow_shared_bytes(reinterpret_cast<const void*>(kernel), bytes, verb);
  kernel<<<static_cast<unsigned>(t.lines), warps * warp_size, bytes, stream()>>>(t);
  check_launch(verb);
  return true;
}

// ---- lines by runs

// An element's place is the number of elements before it in the runs of its line. Of equal ones
// those of the earlier run stand first.
template <class P, class Out>
__global__ void __launch_bounds__(block_threads)
    merge_runs(const __grid_constant__ TileSort t, const P* from, Out* out) {
  constexpr int searches = 4;
  const i64 i = i64(blockIdx.x) * block_threads + threadIdx.x;
  if (i >= t.n) return;
  const u32 line = t.line.divide(static_cast<u32>(i));
  const i64 begin = i64(line) * t.length;
  const int at = static_cast<int>(i - begin), run = at / tile;
  const int length = static_cast<int>(t.length);
  const u64 key = t.keys[i];
  int place = at % tile;
  for (int other = 0; other * tile < length; other += searches) {
    int found[searches] = {};
#pragma unroll
    for (int half = tile; half > 0; half /= 2) {
#pragma unroll
      for (int e = 0; e < searches; ++e) {
        const int r = other + e, size = r == run ? 0 : min(tile, length - r * tile);
        const int next = found[e] + half;
        if (next > size) continue;
        const u64 k = t.keys[begin + r * tile + next - 1];
        if (k < key || (k == key && r < run)) found[e] = next;
      }
    }
#pragma unroll
    for (const int f : found) place += f;
  }
  out[begin + place] = from[i];
}

// Whether lines are short enough; then it sorts them.
bool sort_short_lines(DType dtype, const Lines& lines, char* out, bool positions) {
  if (is_complex(dtype) || lines.length > most_runs * tile) return false;
  const int size = itemsize(dtype);
  TileSort t;
  t.in = lines.data;
  t.out = out;
  t.keys = nullptr;
  t.n = lines.n;
  t.length = lines.length;
  t.lines = lines.n / lines.length;
  t.line_log2 =
      std::min<int>(tile_log2, std::bit_width(static_cast<std::uint64_t>(lines.length - 1)));
  t.line = lines.line();
  t.itemsize = size;
  t.positions = positions;
  t.rule = rule_of(dtype, lines.descending);
  const char* const verb = positions ? "argsort" : "sort";
  const bool placed = positions || t.rule.infinity > 0;
  // Fewer lines leave multiprocessors idle; of shorter ones networks take less time.
  const std::int64_t longest_by_network = size <= 2 ? tile / 4 : placed ? tile / 2 : tile;
  if (lines.length > longest_by_network && lines.n >= least_by_blocks &&
      4 * t.lines >= properties().multiprocessors &&
      (size == 8 ? sort_lines_by_digits<u64, true>(t, verb)
       : placed  ? sort_lines_by_digits<u32, true>(t, verb)
                 : sort_lines_by_digits<u32, false>(t, verb))) {
    return true;
  }
  const std::int64_t runs = (lines.length - 1) / tile + 1;
  if (lines.n >= least_by_digits && runs > (size == 8 ? most_merged_wide : most_merged)) {
    return false;
  }
  t.runs = Divisor(static_cast<u32>(runs));
  std::optional<Scratch> keys, sorted;
  if (runs > 1) {
    keys.emplace(static_cast<std::size_t>(lines.n) * sizeof(u64));
    sorted.emplace(static_cast<std::size_t>(lines.n) * (positions ? sizeof(u32) : size));
    t.keys = keys->as<u64>();
    t.out = sorted->as<char>();
  }
  const std::int64_t groups = ((t.lines - 1) >> (tile_log2 - t.line_log2)) + 1;
  const auto kernel = size == 8 ? placed ? &sort_tiles<u64, true> : &sort_tiles<u64, false>
                      : placed  ? &sort_tiles<u32, true>
                                : &sort_tiles<u32, false>;
  kernel<<<static_cast<unsigned>(groups * runs), block_threads, 0, stream()>>>(t);
  check_launch(verb);
  if (runs == 1) return true;
  const auto merge = [&](auto item, auto* to) {
    merge_runs<<<static_cast<unsigned>((lines.n - 1) / block_threads + 1), block_threads, 0,
                 stream()>>>(t, sorted->as<const decltype(item)>(), to);
    check_launch(verb);
  };
  if (positions) {
    merge(u32(), reinterpret_cast<i64*>(out));
  } else if (size == 8) {
    merge(u64(), reinterpret_cast<u64*>(out));
  } else if (size == 4) {
    merge(u32(), reinterpret_cast<u32*>(out));
  } else if (size == 2) {
    merge(u16(), reinterpret_cast<u16*>(out));
  } else {
    merge(u8(), reinterpret_cast<u8*>(out));
  }
  return true;
}

// Runs sort(lines, contiguous result) with `axis` last.
template <class Sort>
void over_lines(const Operand& in, int axis, bool descending, const Operand& out, Sort&& sort) {
  const Layout& layout = *in.layout;
  if (layout.size == 0) return;
  if (layout.size > (std::int64_t{1} << 31) - 1) {
    for (int d = 0; d < layout.ndim(); ++d) {  // one half of the lines after the other
      const std::int64_t count = layout.shape[d], half = count / 2;
      if (d == axis || half == 0) continue;
      for (const std::int64_t start : {std::int64_t{0}, half}) {
        Layout from, to;
        const std::int64_t some = start == 0 ? half : count - half;
        over_lines(part_along(in, d, start, some, from), axis, descending,
                   part_along(out, d, start, some, to), sort);
      }
      return;
    }
    raise(ErrorKind::not_implemented, "sorting more than 2**31 - 1 elements on a GPU");
  }
  Dims axes;
  for (int d = 0; d < layout.ndim(); ++d) {
    if (d != axis) axes.push_back(d);
  }
  axes.push_back(axis);
  const Layout in_lines = permute(layout, axes), out_lines = permute(*out.layout, axes);
  Operand from = in, to = out;
  from.layout = &in_lines;
  to.layout = &out_lines;
  Array packed, result;
  if (!in_lines.is_contiguous() || !has_aligned_elements(in)) {
    packed = scratch_array(in.dtype, in_lines.shape);
    copy(from, packed);
    from = packed;
  }
  const bool direct = out_lines.is_contiguous() && has_aligned_elements(out);
  if (!direct) result = scratch_array(out.dtype, out_lines.shape);
  const Lines lines{from.data, layout.size, layout.shape[axis], descending};
  sort(lines, direct ? to.data : result.data());
  if (!direct) copy(result, to);
}

}  // namespace

void sort(const Operand& in, int axis, bool descending, const Operand& out) {
  over_lines(in, axis, descending, out, [&](const Lines& lines, char* to) {
    if (sort_short_lines(in.dtype, lines, to, false)) return;
    dispatch_kernel_type(in.dtype, [&](auto tag) {
      using T = decltype(tag);
      using M = memory_t<T>;
      M* const result = reinterpret_cast<M*>(to);
      if constexpr (ops::is_float_v<M>) {
        if (lines.line_bits() == 0) return sort_floats(lines, result);
      } else if constexpr (!ops::is_complex_v<T> && !is_floating_item<M>) {
        if (lines.line_bits() == 0) return sort_integers(lines, result);
      }
      if constexpr (!ops::is_complex_v<T> && sizeof(M) < 8) {
        if constexpr (is_floating_item<M>) {
          return sort_beside_keys<T>(lines, to);
        } else {
          return sort_values<T>(lines, to);
        }
      }
      Buffer<u32> order(lines.n);
      find_order(in.dtype, lines, order);
      run_for_each(lines.n,
                   Permute<M>{reinterpret_cast<const M*>(lines.data), order.current(), result},
                   "sort");
    });
  });
}

void argsort(const Operand& in, int axis, bool descending, const Operand& out) {
  over_lines(in, axis, descending, out, [&](const Lines& lines, char* to) {
    if (sort_short_lines(in.dtype, lines, to, true)) return;
    Buffer<u32> order(lines.n);
    find_order(in.dtype, lines, order);
    run_for_each(lines.n, WritePositions{order.current(), reinterpret_cast<i64*>(to), lines.line()},
                 "argsort");
  });
}

void sort_pairs(u32* (&keys)[2], u32* (&order)[2], std::int64_t n, int bits) {
  cub::DoubleBuffer<u32> key_pair(keys[0], keys[1]), order_pair(order[0], order[1]);
  sort_pairs(key_pair, order_pair, n, bits);
  if (key_pair.selector != 0) std::swap(keys[0], keys[1]);
  if (order_pair.selector != 0) std::swap(order[0], order[1]);
}

// ---- searchsorted -------------------------------------------------------------------------------

namespace {

// Whether a stands before b in sorted order, NaN last.
template <class T>
__device__ __forceinline__ bool before(T a, T b) {
  if constexpr (ops::is_complex_v<T>) {
    const int class_a = 2 * (a.re != a.re) + (a.im != a.im);
    const int class_b = 2 * (b.re != b.re) + (b.im != b.im);
    if (class_a != class_b) return class_a < class_b;
    if (a.re < b.re) return true;
    if (b.re < a.re) return false;
    return a.im < b.im;
  } else if constexpr (ops::is_float_v<T>) {
    return a < b || (a == a && b != b);
  } else {
    return a < b;
  }
}
__device__ __forceinline__ bool before(f16 a, f16 b) {
  return before(static_cast<f32>(a), static_cast<f32>(b));
}

// For each value the number of elements that stand before it (or, if right, not after it). A thread
// looks for several at once, each step of which waits for memory; or, of few values, for one.
template <class M, bool Ordered, int searches>
__global__ void __launch_bounds__(block_threads)
    search(const M* sorted, const i64* order, i64 n, const M* values, i64 count, i64* out,
           bool right) {
  const i64 step = i64(gridDim.x) * (block_threads * searches);
  for (i64 begin = i64(blockIdx.x) * (block_threads * searches) + threadIdx.x; begin < count;
       begin += step) {
    M value[searches];
    i64 low[searches];
#pragma unroll
    for (int e = 0; e < searches; ++e) {
      value[e] = values[min(begin + e * block_threads, count - 1)];
      low[e] = 0;
    }
    // The first `low` elements stand before the value, and those from low + size on do not.
    for (i64 size = n; size > 0;) {
      const i64 half = (size + 1) / 2;
#pragma unroll
      for (int e = 0; e < searches; ++e) {
        const i64 middle = low[e] + half - 1;
        const M element = sorted[Ordered ? order[middle] : middle];
        if (right ? !before(value[e], element) : before(element, value[e])) low[e] += half;
      }
      size -= half;
    }
#pragma unroll
    for (int e = 0; e < searches; ++e) {
      const i64 at = begin + e * block_threads;
      if (at < count) out[at] = low[e];
    }
  }
}
// The same of many values. Every search halves the same sizes, so a block keeps what its searches
// compare with in their first steps: by step, then by the outcomes of those before.
template <class M>
inline constexpr int kept_steps = 10;

template <class M>
__global__ void __launch_bounds__(many_threads, resident_blocks_of(many_threads, many_blocks))
    search_many(const M* sorted, u32 n, const M* values, i64 count, i64* out, bool right) {
  __shared__ __align__(16) unsigned char kept_bytes[((1 << kept_steps<M>)-1) * sizeof(M)];
  M* const kept = reinterpret_cast<M*>(kept_bytes);
  for (int i = threadIdx.x; i < (1 << kept_steps<M>)-1; i += many_threads) {
    const int step = 31 - __clz(i + 1);
    u32 low = 0, size = n;
    for (int s = step - 1; s >= 0; --s) {
      const u32 half = (size + 1) / 2;
      if ((i + 1) >> s & 1) low += half;
      size -= half;
    }
    kept[i] = sorted[low + (size + 1) / 2 - 1];
  }
  __syncthreads();
  const i64 step = i64(gridDim.x) * many_threads;
  for (i64 at = i64(blockIdx.x) * many_threads + threadIdx.x; at < count; at += step) {
    const M value = values[at];
    const auto goes_on = [&](M element) {
      return right ? !before(value, element) : before(element, value);
    };
    u32 low = 0, size = n;
    u32 path = 1;
#pragma unroll 4
    for (int s = 0; s < kept_steps<M>; ++s) {
      const u32 half = (size + 1) / 2;
      const bool on = goes_on(kept[path - 1]);
      if (on) low += half;
      path = 2 * path + on;
      size -= half;
    }
    while (size > 0) {
      const u32 half = (size + 1) / 2;
      if (goes_on(sorted[low + half - 1])) low += half;
      size -= half;
    }
    out[at] = low;
  }
}

struct CheckOrder {
  const i64* order;
  i64 n;
  u32* wrong;
  __device__ void operator()(i64 i) const {
    if (order[i] < 0 || order[i] >= n) *wrong = 1;
  }
};

// A contiguous, aligned array of an operand's elements.
const char* made_contiguous(const Operand& a, Array& holder) {
  if (a.layout->is_contiguous() && has_aligned_elements(a)) return a.data;
  holder = scratch_array(a.dtype, a.layout->shape);
  copy(a, holder);
  return holder.data();
}

}  // namespace

bool searchsorted(const Operand& in, const Operand* sorter, const Operand& values, bool right,
                  const Operand& out) {
  const std::int64_t n = in.layout->size, count = values.layout->size;
  Array sorted_holder, order_holder, values_holder, result;
  const char* const sorted = made_contiguous(in, sorted_holder);
  const i64* order = nullptr;
  if (sorter && n > 0) {
    order = reinterpret_cast<const i64*>(made_contiguous(*sorter, order_holder));
    const Scratch wrong(4);
    check(cudaMemsetAsync(wrong.as(), 0, 4, stream()), "cudaMemsetAsync");
    run_for_each(n, CheckOrder{order, n, wrong.as<u32>()}, "searchsorted");
    u32 is_wrong;
    check(cudaMemcpyAsync(&is_wrong, wrong.as(), 4, cudaMemcpyDeviceToHost, stream()),
          "a copy to the host");
    check(cudaStreamSynchronize(stream()), "a copy to the host");
    if (is_wrong) return false;
  }
  if (count == 0) return true;
  const char* const wanted = made_contiguous(values, values_holder);
  const bool direct = out.layout->is_contiguous() && has_aligned_elements(out);
  if (!direct) result = scratch_array(DType::int64, out.layout->shape);
  i64* const places = direct ? reinterpret_cast<i64*>(out.data) : result.data_as<i64>();
  dispatch_kernel_type(in.dtype, [&](auto tag) {
    using M = memory_t<decltype(tag)>;
    const auto* const in_order = reinterpret_cast<const M*>(sorted);
    const auto* const sought = reinterpret_cast<const M*>(wanted);
    const std::int64_t blocks = properties().multiprocessors * many_blocks;
    if (!order && count >= blocks * many_threads && n >= 4 << kept_steps<M> &&
        n < std::int64_t{1} << 31) {
      search_many<<<static_cast<unsigned>(blocks), many_threads, 0, stream()>>>(
          in_order, static_cast<u32>(n), sought, count, places, right);
    } else {
      constexpr int together = 4;
      const bool few = count <= std::int64_t{properties().multiprocessors} * block_threads;
      const auto kernel = order ? few ? &search<M, true, 1> : &search<M, true, together>
                          : few ? &search<M, false, 1>
                                : &search<M, false, together>;
      const int each = block_threads * (few ? 1 : together);
      kernel<<<blocks_for(count, each), block_threads, 0, stream()>>>(in_order, order, n, sought,
                                                                      count, places, right);
    }
    check_launch("searchsorted");
  });
  if (!direct) copy(result, out);
  return true;
}

// ---- isin ---------------------------------------------------------------------------------------

namespace {

// Among so few values that every block keeps them, as a search tree: the middle one, those in the
// middles of its halves, and so on.
constexpr int tree_log2 = 12;

struct Membership {
  const char *elements, *sorted;
  bool* out;
  i64 count;
  int n, steps;  // of the values; of a search
  KeyRule<u64> rule;
  int itemsize;
  bool invert;
};

template <class U>
__global__ void __launch_bounds__(many_threads, resident_blocks_of(many_threads, many_blocks))
    find_members(const __grid_constant__ Membership m) {
  extern __shared__ __align__(16) unsigned char tree_bytes[];
  U* const tree = reinterpret_cast<U*>(tree_bytes);
  constexpr int searches = 4;
  constexpr U none = U(~U(0));  // in the tree's places that no value has
  const KeyRule<U> rule = m.rule.template with<U>();
  with_items<U>(m.itemsize, [&](auto item) {
    using Item = decltype(item);
    const auto* const sorted = reinterpret_cast<const Item*>(m.sorted);
    const auto* const elements = reinterpret_cast<const Item*>(m.elements);
    for (int i = threadIdx.x + 1; i < 1 << m.steps; i += many_threads) {
      const int level = 31 - __clz(i), below = m.steps - level;
      const int rank = ((2 * (i - (1 << level)) + 1) << (below - 1)) - 1;
      tree[i] = rank < m.n ? rule.key(sorted[rank]) : none;
    }
    const bool has_last = rule.key(sorted[m.n - 1]) == none;
    __syncthreads();
    const i64 step = i64(gridDim.x) * (many_threads * searches);
    for (i64 begin = i64(blockIdx.x) * (many_threads * searches) + threadIdx.x; begin < m.count;
         begin += step) {
      U key[searches];
      u32 path[searches];
      bool found[searches];
#pragma unroll
      for (int e = 0; e < searches; ++e) {
        key[e] = elements[min(begin + e * many_threads, m.count - 1)];
      }
#pragma unroll
      for (int e = 0; e < searches; ++e) {
        key[e] = rule.key(key[e]);
        path[e] = 1;
        found[e] = false;
      }
      for (int s = 0; s < m.steps; ++s) {
#pragma unroll
        for (int e = 0; e < searches; ++e) {
          const U node = tree[path[e]];
          found[e] |= node == key[e];
          path[e] = 2 * path[e] + (node < key[e]);
        }
      }
#pragma unroll
      for (int e = 0; e < searches; ++e) {
        const i64 at = begin + e * many_threads;
        if (key[e] == none) found[e] = has_last;
        if (rule.infinity > 0 && key[e] == rule.all) found[e] = false;  // NaN
        if (at < m.count) m.out[at] = found[e] != m.invert;
      }
    }
  });
}

}  // namespace

bool isin(const Operand& elements, const Operand& sorted, bool invert, const Operand& out) {
  const std::int64_t n = sorted.layout->size;
  if (is_complex(elements.dtype) || n == 0 || n >= 1 << tree_log2) return false;
  Array elements_holder, sorted_holder;
  Membership m;
  m.elements = made_contiguous(elements, elements_holder);
  m.sorted = made_contiguous(sorted, sorted_holder);
  m.out = reinterpret_cast<bool*>(out.data);
  m.count = elements.layout->size;
  m.n = static_cast<int>(n);
  m.steps = std::bit_width(static_cast<std::uint64_t>(n));
  m.rule = rule_of(elements.dtype, false);
  m.itemsize = itemsize(elements.dtype);
  m.invert = invert;
  const bool wide = m.itemsize == 8;
  const auto kernel = wide ? &find_members<u64> : &find_members<u32>;
  const std::int64_t most = std::int64_t{properties().multiprocessors} * many_blocks;
  const std::int64_t blocks = std::min((m.count - 1) / many_threads + 1, most);
  const std::size_t bytes = (wide ? sizeof(u64) : sizeof(u32)) << m.steps;
  kernel<<<static_cast<unsigned>(blocks), many_threads, bytes, stream()>>>(m);
  check_launch("isin");
  return true;
}

// ---- unique -------------------------------------------------------------------------------------

namespace {

// The sorted elements, of which those that begin runs of equal ones have flags.
struct FindRuns {
  Flags heads;
  const char* elements;
  const i64* order;   // of the elements, or null: they are sorted
  KeyRule<u64> rule;  // of the parts of elements
  int itemsize;       // of the elements
};

// U: the keys of an element, or of each of its parts.
template <class U, int Parts>
__global__ void __launch_bounds__(block_threads) find_heads(const __grid_constant__ FindRuns f) {
  const KeyRule<U> rule = f.rule.template with<U>();
  const int lane = threadIdx.x % warp_size;
  const u32 n = f.heads.n, begin = f.heads.row(0) * warp_size;
  U keys[rows_of_warp][Parts], first[Parts];  // and before the warp's first
  with_items<U>(f.itemsize / Parts, [&](auto item) {
    const auto* const in = reinterpret_cast<const decltype(item)*>(f.elements);
    i64 at[rows_of_warp], before = begin == 0 ? 0 : min(begin, n) - 1;
#pragma unroll
    for (int r = 0; r < rows_of_warp; ++r) {
      const u32 i = min(begin + r * warp_size + lane, n - 1);
      at[r] = f.order ? f.order[i] : i;
    }
    if (f.order) before = f.order[before];
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      first[p] = rule.key(in[before * Parts + p]);
#pragma unroll
      for (int r = 0; r < rows_of_warp; ++r) keys[r][p] = rule.key(in[at[r] * Parts + p]);
    }
  });
  f.heads.find([&](int r, u32 i) {
    bool head = i == 0;
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      U before = from_lane(keys[r][p], max(lane - 1, 0));
      const U above = r > 0 ? from_lane(keys[max(r - 1, 0)][p], warp_size - 1) : first[p];
      if (lane == 0) before = above;
      head |= keys[r][p] != before || (rule.infinity > 0 && before == rule.all);  // NaN
    }
    return head;
  });
}

struct WriteRuns {
  FindRuns runs;
  char* values;
  i64 *indices, *inverse, *counts;  // or null
};

template <class Item>
__global__ void __launch_bounds__(block_threads) write_runs(const __grid_constant__ WriteRuns w) {
  const FindRuns& f = w.runs;
  const u32 n = f.heads.n;
  Item x[rows_of_warp];
  u32 place[rows_of_warp];
  f.heads.each(
      [&](int r, u32 i, bool head) {
        place[r] = f.order && (head || w.inverse) ? static_cast<u32>(f.order[i]) : i;
        if (head) x[r] = reinterpret_cast<const Item*>(f.elements)[place[r]];
      },
      [&](int r, u32 i, bool head, Flagged before) {
        const u32 run = before.count - !head;
        if (head) {
          reinterpret_cast<Item*>(w.values)[run] = x[r];
          if (w.indices) w.indices[run] = place[r];
          if (w.counts && run > 0) w.counts[run - 1] = i - before.last;
        }
        if (w.inverse) w.inverse[place[r]] = run;
        if (w.counts && i == n - 1) w.counts[run] = n - (head ? i : before.last);
      });
}

// The same where nothing but the values is wanted, and elements are sorted.
template <class Item>
__global__ void __launch_bounds__(block_threads) write_values(const __grid_constant__ WriteRuns w) {
  const Flags& f = w.runs.heads;
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  __shared__ u32 of_warp[block_warps];
  Item x[rows_of_warp];
#pragma unroll
  for (int r = 0; r < rows_of_warp; ++r) {
    const u32 i = f.row(r) * warp_size + lane;
    x[r] = reinterpret_cast<const Item*>(w.runs.elements)[min(i, f.n - 1)];
  }
  // A lane has a row's flags.
  const u32 flags = lane < rows_of_warp ? f.in_row(f.row(lane)) : 0;
  const u32 upto = sum_of_lanes_upto(static_cast<u32>(__popc(flags)), lane);
  if (lane == warp_size - 1) of_warp[warp] = upto;
  __syncthreads();
  u32 before = f.tiles[blockIdx.x].count + upto - __popc(flags);
#pragma unroll
  for (int other = 0; other < block_warps; ++other) before += other < warp ? of_warp[other] : 0;
#pragma unroll
  for (int r = 0; r < rows_of_warp; ++r) {
    const u32 of_row = __shfl_sync(whole_warp, flags, r);
    const u32 run = __shfl_sync(whole_warp, before, r) + __popc(of_row & ((1u << lane) - 1));
    if (of_row >> lane & 1) reinterpret_cast<Item*>(w.values)[run] = x[r];
  }
}

// Bytes need no sort: they are counted. By key, of those there are: how many, and where the first
// stands; by place among them the values, and the same again.
struct Bytes {
  static constexpr int most = 256;

  unsigned long long count[most];
  u32 last[most];  // what is left of all from the first one on, 0 for none
  u32 done, size;  // blocks; values
  i64 place[most], counts[most], indices[most];
  u8 values[most];
};

template <bool Positions>
__global__ void __launch_bounds__(block_threads)
    count_bytes(const u8* in, u32 n, KeyRule<u32> rule, Bytes* bytes) {
  constexpr int each = pack_bytes, loads = Positions ? 1 : 2;
  __shared__ u32 count[block_warps][Bytes::most], last[Bytes::most];
  const int warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
  for (int w = 0; w < block_warps; ++w) count[w][threadIdx.x] = 0;
  last[threadIdx.x] = 0;
  __syncthreads();
  const auto put = [&](u32 i, u32 byte) {
    const u32 key = rule.key(byte);
    atomicAdd(&count[warp][key], 1);
    if (Positions && last[key] < n - i) atomicMax(&last[key], n - i);
  };
  const u32 lead = min(n, static_cast<u32>(-reinterpret_cast<u64>(in) % each));
  const u32 packs = (n - lead) / each, step = gridDim.x * block_threads;
  const u32 thread = blockIdx.x * block_threads + threadIdx.x;
  for (u32 begin = thread; begin < packs; begin += loads * step) {
    Pack<u32, each / 4> pack[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const u32 at = min(begin + l * step, packs - 1);
      pack[l] = reinterpret_cast<const Pack<u32, each / 4>*>(in + lead)[at];
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const u32 at = begin + l * step;
      if (at >= packs) continue;
#pragma unroll
      for (int i = 0; i < each; ++i) {
        put(lead + at * each + i, pack[l].v[i / 4] >> 8 * (i % 4) & 255);
      }
    }
  }
  const u32 rest = lead + packs * each;
  if (thread < lead) put(thread, in[thread]);
  if (thread < n - rest) put(rest + thread, in[rest + thread]);
  __syncthreads();
  const u32 key = threadIdx.x;
  u32 sum = 0;
  for (int w = 0; w < block_warps; ++w) sum += count[w][key];
  if (sum > 0) {
    atomicAdd(&bytes->count[key], sum);
    if (Positions) atomicMax(&bytes->last[key], last[key]);
  }
  if (!is_last_part(bytes->done, gridDim.x)) return;
  const u64 of_key = __ldcg(&bytes->count[key]);
  const unsigned those = __ballot_sync(whole_warp, of_key > 0);
  if (lane == 0) count[0][warp] = __popc(those);
  __syncthreads();
  u32 place = __popc(those & ((1u << lane) - 1)), size = 0;
  for (int w = 0; w < block_warps; ++w) {
    if (w < warp) place += count[0][w];
    size += count[0][w];
  }
  if (key == 0) bytes->size = size;
  if (of_key == 0) return;
  bool unused;
  bytes->place[key] = place;
  bytes->counts[place] = static_cast<i64>(of_key);
  bytes->indices[place] = n - __ldcg(&bytes->last[key]);
  bytes->values[place] = static_cast<u8>(rule.bits(key, unused));
}
static_assert(Bytes::most == block_threads);

__global__ void __launch_bounds__(Bytes::most)
    write_bytes(const Bytes* bytes, u8* values, i64* counts, i64* indices) {
  const u32 i = threadIdx.x;
  if (i >= bytes->size) return;
  values[i] = bytes->values[i];
  if (counts) counts[i] = bytes->counts[i];
  if (indices) indices[i] = bytes->indices[i];
}
struct PlaceBytes {
  const u8* in;
  KeyRule<u32> rule;
  const Bytes* bytes;
  i64* out;
  __device__ void operator()(i64 i) const { out[i] = bytes->place[rule.key(in[i])]; }
};

void unique_bytes(const Array& x, bool indices, bool inverse, bool counts, Unique& out) {
  const auto* const in = reinterpret_cast<const u8*>(x.data());
  const KeyRule<u32> rule = rule_of(x.dtype, false).with<u32>();
  const Scratch memory(sizeof(Bytes));
  Bytes* const bytes = memory.as<Bytes>();
  check(cudaMemsetAsync(bytes, 0, sizeof(Bytes), stream()), "cudaMemsetAsync");
  const auto kernel = indices ? &count_bytes<true> : &count_bytes<false>;
  const std::int64_t most = std::int64_t{properties().multiprocessors} * 8;
  const std::int64_t blocks = std::min((x.size() - 1) / (block_threads * 64) + 1, most);
  kernel<<<static_cast<unsigned>(blocks), block_threads, 0, stream()>>>(
      in, static_cast<u32>(x.size()), rule, bytes);
  check_launch("unique");
  u32 size;
  check(cudaMemcpyAsync(&size, &bytes->size, sizeof size, cudaMemcpyDeviceToHost, stream()),
        "a copy to the host");
  check(cudaStreamSynchronize(stream()), "a copy to the host");
  out.values = scratch_array(x.dtype, {size});
  if (indices) out.indices = scratch_array(DType::int64, {size});
  if (counts) out.counts = scratch_array(DType::int64, {size});
  write_bytes<<<1, Bytes::most, 0, stream()>>>(bytes, reinterpret_cast<u8*>(out.values.data()),
                                               counts ? out.counts.data_as<i64>() : nullptr,
                                               indices ? out.indices.data_as<i64>() : nullptr);
  check_launch("unique");
  if (!inverse) return;
  out.inverse = scratch_array(DType::int64, {x.size()});
  run_for_each(x.size(), PlaceBytes{in, rule, bytes, out.inverse.data_as<i64>()}, "unique");
}

}  // namespace

bool unique(const Array& x, bool indices, bool inverse, bool counts, Unique& out) {
  if (x.size() == 0 || x.size() > (std::int64_t{1} << 31) - 1) return false;
  if (x.itemsize() == 1) {
    unique_bytes(x, indices, inverse, counts, out);
    return true;
  }
  FindRuns f;
  Array sorted, order;
  f.order = nullptr;
  if (indices || inverse) {
    order = scratch_array(DType::int64, x.shape());
    argsort(x, 0, false, order);
    f.order = order.data_as<i64>();
    sorted = x;
  } else {
    sorted = scratch_array(x.dtype, x.shape());
    sort(x, 0, false, sorted);
  }
  f.elements = sorted.data();
  const FlagMemory heads(x.size());
  f.heads = heads.flags;
  f.itemsize = x.itemsize();
  const bool parts = is_complex(x.dtype);
  f.rule = rule_of(parts ? real_dtype(x.dtype) : x.dtype, false);
  const bool wide = f.itemsize == (parts ? 16 : 8);
  const auto kernel = parts  ? wide ? &find_heads<u64, 2> : &find_heads<u32, 2>
                      : wide ? &find_heads<u64, 1>
                             : &find_heads<u32, 1>;
  const unsigned blocks = f.heads.tile_count;
  kernel<<<blocks, block_threads, 0, stream()>>>(f);
  check_launch("unique");
  heads.scan("unique");
  Flagged all;
  check(cudaMemcpyAsync(&all, f.heads.tiles + blocks, sizeof all, cudaMemcpyDeviceToHost, stream()),
        "a copy to the host");
  check(cudaStreamSynchronize(stream()), "a copy to the host");
  WriteRuns w{f, nullptr, nullptr, nullptr, nullptr};
  out.values = scratch_array(x.dtype, {all.count});
  w.values = out.values.data();
  const auto made = [](Array& array, std::int64_t size) {
    array = scratch_array(DType::int64, {size});
    return array.data_as<i64>();
  };
  if (indices) w.indices = made(out.indices, all.count);
  if (inverse) w.inverse = made(out.inverse, x.size());
  if (counts) w.counts = made(out.counts, all.count);
  dispatch_item(f.itemsize, [&](auto item) {
    using Item = decltype(item);
    const auto write = f.order || counts ? &write_runs<Item> : &write_values<Item>;
    write<<<blocks, block_threads, 0, stream()>>>(w);
  });
  check_launch("unique");
  return true;
}

}  // namespace arrayx::cuda
