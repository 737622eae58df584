// Sorting and searching. Elements become unsigned keys whose order is the dtype's (NaN last), which
// CUB's stable radix sort puts in order: all lines at once, with the line above the key.
#include <bit>
#include <cub/block/block_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>

#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// ---- keys ---------------------------------------------------------------------------------------

template <class M>
inline constexpr bool is_floating_item = ops::is_float_v<M> || ops::same_type_v<M, f16>;

// An unsigned number that orders as T does: NaN of any sign is the greatest, and both zeros have
// one key.
template <class T>
__device__ __forceinline__ u64 key_of(memory_t<T> x, bool descending) {
  using M = memory_t<T>;
  using U = typename ops::ints_of_width<sizeof(M)>::u;
  constexpr U top = U(U(1) << (8 * sizeof(M) - 1));
  U bits = ops::bit_cast<U>(x);
  if constexpr (is_floating_item<M>) {
    constexpr U infinity = sizeof(M) == 2   ? U(0x7c00)
                           : sizeof(M) == 4 ? U(0x7f800000)
                                            : U(0x7ff0000000000000);
    if (U(bits & U(~top)) > infinity) return U(~U(0));
    if (bits == top) bits = 0;
    bits = bits & top ? U(~bits) : U(bits | top);
  } else if constexpr (ops::same_type_v<T, Boolean>) {
    bits = U(bits != 0);
  } else if constexpr (ops::is_signed_v<M>) {
    bits ^= top;
  }
  return descending ? U(~bits) : bits;
}
// Back, of integers and booleans: the key of a float does not tell zeros and NaN apart.
template <class T>
__device__ __forceinline__ memory_t<T> value_of(u64 key, bool descending) {
  using M = memory_t<T>;
  using U = typename ops::ints_of_width<sizeof(M)>::u;
  U bits = U(descending ? ~key : key);
  if constexpr (ops::same_type_v<T, Boolean>) return M(bits & 1);
  if constexpr (ops::is_signed_v<M>) bits ^= U(U(1) << (8 * sizeof(M) - 1));
  return ops::bit_cast<M>(bits);
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
template <class T, class K>
struct TakeValues {
  const K* keys;
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

template <class K>
void sort_keys(Buffer<K>& keys, std::int64_t n, int bits) {
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys.both, n, 0, bits, stream()), "sort");
  const Scratch memory(bytes);
  check(cub::DeviceRadixSort::SortKeys(memory.as(), bytes, keys.both, n, 0, bits, stream()),
        "sort");
}
template <class K>
void sort_pairs(Buffer<K>& keys, Buffer<u32>& order, std::int64_t n, int bits) {
  std::size_t bytes = 0;
  check(
      cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys.both, order.both, n, 0, bits, stream()),
      "argsort");
  const Scratch memory(bytes);
  check(cub::DeviceRadixSort::SortPairs(memory.as(), bytes, keys.both, order.both, n, 0, bits,
                                        stream()),
        "argsort");
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

template <class T, class K>
void sort_values(const Lines& lines, char* out) {
  constexpr int bits = 8 * sizeof(memory_t<T>);
  if constexpr (!ops::same_type_v<T, Boolean>) {
    if (lines.line_bits() == 0 && lines.data != out) {  // integers are keys as they are
      const auto run = [&](void* memory, std::size_t& bytes) {
        const auto* const from = reinterpret_cast<const T*>(lines.data);
        T* const to = reinterpret_cast<T*>(out);
        check(lines.descending ? cub::DeviceRadixSort::SortKeysDescending(
                                     memory, bytes, from, to, lines.n, 0, bits, stream())
                               : cub::DeviceRadixSort::SortKeys(memory, bytes, from, to, lines.n, 0,
                                                                bits, stream()),
              "sort");
      };
      std::size_t bytes = 0;
      run(nullptr, bytes);
      const Scratch memory(bytes);
      return run(memory.as(), bytes);
    }
  }
  Buffer<K> keys(lines.n);
  run_for_each(lines.n, lines.keys<T, K>(keys.current(), nullptr, lines.line_bits() > 0), "sort");
  sort_keys(keys, lines.n, bits + lines.line_bits());
  run_for_each(
      lines.n,
      TakeValues<T, K>{keys.current(), reinterpret_cast<memory_t<T>*>(out), lines.descending},
      "sort");
}

// The same of floats, which travel beside their keys: zeros keep their signs and NaN their bits.
template <class T, class K>
void sort_beside_keys(const Lines& lines, char* out) {
  using M = memory_t<T>;
  const auto n = static_cast<std::size_t>(lines.n);
  const Scratch keys(n * sizeof(K)), sorted(n * sizeof(K));
  run_for_each(lines.n, lines.keys<T, K>(keys.as<K>(), nullptr, lines.line_bits() > 0), "sort");
  const auto run = [&](void* memory, std::size_t& bytes) {
    check(cub::DeviceRadixSort::SortPairs(memory, bytes, keys.as<const K>(), sorted.as<K>(),
                                          reinterpret_cast<const M*>(lines.data),
                                          reinterpret_cast<M*>(out), lines.n, 0,
                                          int(8 * sizeof(M)) + lines.line_bits(), stream()),
          "sort");
  };
  std::size_t bytes = 0;
  run(nullptr, bytes);
  const Scratch memory(bytes);
  run(memory.as(), bytes);
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

// A block sorts a tile by merging: whole lines, or a run of one that other runs are merged with.
constexpr int tile_items = 8, tile = block_threads * tile_items;
constexpr int most_runs = 16;

struct TileSort {
  const char* in;
  char* out;   // of the lines; of runs, values or positions of 32 bits in scratch
  u64* keys;   // of runs, else null
  i64 n;       // elements of all lines
  i64 length;  // of a line
  u32 lines;   // of a tile
  Divisor runs, line;
  DType dtype;
  bool descending, positions;
};

struct LinedKey {
  u64 key;
  u32 line;
};
struct KeyOrder {
  __device__ __forceinline__ bool operator()(u64 a, u64 b) const { return a < b; }
  __device__ __forceinline__ bool operator()(const LinedKey& a, const LinedKey& b) const {
    return a.line < b.line || (a.line == b.line && a.key < b.key);
  }
};

__device__ __noinline__ u64 key_of_bits(DType dtype, u64 bits, bool descending) {
  u64 key = 0;
  switch_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    if constexpr (!ops::is_complex_v<T>) {
      using M = memory_t<T>;
      using U = typename ops::ints_of_width<sizeof(M)>::u;
      key = key_of<T>(ops::bit_cast<M>(U(bits)), descending);
    }
  });
  return key;
}

// U: the items' bits. K: keys, those below 64 bits under their line in the tile.
template <class U, class K>
__global__ void __launch_bounds__(block_threads) sort_tiles(const __grid_constant__ TileSort t) {
  using Sort = cub::BlockMergeSort<K, block_threads, tile_items, u32>;
  __shared__ union {
    typename Sort::TempStorage sort;
    u64 keys[tile];
    u32 order[tile];
  } shared;
  const u32 line = t.runs.divide(blockIdx.x), run = blockIdx.x - line * t.runs.divisor;
  const i64 begin = i64(line) * t.length * t.lines, first = begin + i64(run) * tile;
  const i64 end = min(t.n, begin + t.length * t.lines);
  const int count = static_cast<int>(min(i64(tile), end - first));
  const U* const in = reinterpret_cast<const U*>(t.in) + first;
  U bits[tile_items];
  K keys[tile_items];
  u32 order[tile_items];
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    order[i] = threadIdx.x * tile_items + i;
    bits[i] = in[min(static_cast<int>(order[i]), count - 1)];
  }
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    const u64 key = key_of_bits(t.dtype, bits[i], t.descending);
    const u32 at = t.lines > 1 ? t.line.divide(order[i]) : 0;
    if constexpr (ops::same_type_v<K, LinedKey>) {
      keys[i] = {key, at};
    } else if constexpr (sizeof(U) < 8) {
      keys[i] = u64(at) << 32 | key;
    } else {
      keys[i] = key;
    }
  }
  K greatest;
  memset(&greatest, 0xff, sizeof greatest);
  Sort(shared.sort).StableSort(keys, order, KeyOrder(), count, greatest);
  if (t.keys) {
    if constexpr (ops::same_type_v<K, u64>) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < tile_items; ++i) shared.keys[threadIdx.x * tile_items + i] = keys[i];
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += block_threads) t.keys[first + i] = shared.keys[i];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < tile_items; ++i) shared.order[threadIdx.x * tile_items + i] = order[i];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    const int at = i * block_threads + threadIdx.x;
    order[i] = at < count ? shared.order[at] : 0;
    bits[i] = in[order[i]];
  }
  __syncthreads();  // in may be out
#pragma unroll
  for (int i = 0; i < tile_items; ++i) {
    const int at = i * block_threads + threadIdx.x;
    if (at >= count) continue;
    if (!t.positions) {
      reinterpret_cast<U*>(t.out)[first + at] = bits[i];
    } else if (t.keys) {
      reinterpret_cast<u32*>(t.out)[first + at] = run * tile + order[i];
    } else {
      const u32 before = t.lines > 1 ? t.line.divide(order[i]) * t.line.divisor : 0;
      reinterpret_cast<i64*>(t.out)[first + at] = order[i] - before;
    }
  }
}

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
  const std::int64_t runs = (lines.length - 1) / tile + 1;
  TileSort t;
  t.in = lines.data;
  t.out = out;
  t.keys = nullptr;
  t.n = lines.n;
  t.length = lines.length;
  t.lines = static_cast<u32>(std::max<std::int64_t>(tile / lines.length, 1));
  t.runs = Divisor(static_cast<u32>(runs));
  t.line = lines.line();
  t.dtype = dtype;
  t.descending = lines.descending;
  t.positions = positions;
  std::optional<Scratch> keys, sorted;
  if (runs > 1) {
    keys.emplace(static_cast<std::size_t>(lines.n) * sizeof(u64));
    sorted.emplace(static_cast<std::size_t>(lines.n) * (positions ? sizeof(u32) : size));
    t.keys = keys->as<u64>();
    t.out = sorted->as<char>();
  }
  const std::int64_t groups = (lines.n / lines.length - 1) / t.lines + 1;
  const char* const verb = positions ? "argsort" : "sort";
  const auto blocks = static_cast<unsigned>(groups * runs);
  const auto of_bits = [&](auto bits) {
    using U = decltype(bits);
    auto kernel = &sort_tiles<U, u64>;
    if constexpr (sizeof(U) == 8) {
      if (t.lines > 1) kernel = &sort_tiles<U, LinedKey>;
    }
    kernel<<<blocks, block_threads, 0, stream()>>>(t);
    check_launch(verb);
    if (runs == 1) return;
    const auto threads = static_cast<unsigned>((lines.n - 1) / block_threads + 1);
    if (positions) {
      merge_runs<<<threads, block_threads, 0, stream()>>>(t, sorted->as<const u32>(),
                                                          reinterpret_cast<i64*>(out));
    } else {
      merge_runs<<<threads, block_threads, 0, stream()>>>(t, sorted->as<const U>(),
                                                          reinterpret_cast<U*>(out));
    }
    check_launch(verb);
  };
  switch (size) {
    case 1:
      of_bits(u8());
      break;
    case 2:
      of_bits(u16());
      break;
    case 4:
      of_bits(u32());
      break;
    default:
      of_bits(u64());
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
      if constexpr (!ops::is_complex_v<T>) {
        const auto run = [&](auto key) {
          using K = decltype(key);
          if constexpr (is_floating_item<M>) {
            sort_beside_keys<T, K>(lines, to);
          } else {
            sort_values<T, K>(lines, to);
          }
        };
        if (sizeof(M) < 8 && lines.line_bits() == 0) return run(u32());
        if (sizeof(M) < 8 || lines.line_bits() == 0) return run(u64());
      }
      Buffer<u32> order(lines.n);
      find_order(in.dtype, lines, order);
      run_for_each(lines.n,
                   Permute<M>{reinterpret_cast<const M*>(lines.data), order.current(),
                              reinterpret_cast<M*>(to)},
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
// looks for several at once: each step waits for memory.
template <class M, bool Ordered>
__global__ void __launch_bounds__(block_threads)
    search(const M* sorted, const i64* order, i64 n, const M* values, i64 count, i64* out,
           bool right) {
  constexpr int searches = 4;
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
constexpr int many_threads = 1024, many_blocks = 2;  // of a multiprocessor
template <class M>
inline constexpr int kept_steps = 10;

template <class M>
__global__ void __launch_bounds__(many_threads, many_blocks)
    search_many(const M* sorted, i64 n, const M* values, i64 count, i64* out, bool right) {
  __shared__ __align__(16) unsigned char kept_bytes[((1 << kept_steps<M>)-1) * sizeof(M)];
  M* const kept = reinterpret_cast<M*>(kept_bytes);
  for (int i = threadIdx.x; i < (1 << kept_steps<M>)-1; i += many_threads) {
    const int step = 31 - __clz(i + 1);
    i64 low = 0, size = n;
    for (int s = step - 1; s >= 0; --s) {
      const i64 half = (size + 1) / 2;
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
    i64 low = 0, size = n;
    u32 path = 1;
#pragma unroll 4
    for (int s = 0; s < kept_steps<M>; ++s) {
      const i64 half = (size + 1) / 2;
      const bool on = goes_on(kept[path - 1]);
      if (on) low += half;
      path = 2 * path + on;
      size -= half;
    }
    while (size > 0) {
      const i64 half = (size + 1) / 2;
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
    if (!order && count >= blocks * many_threads && n >= 4 << kept_steps<M>) {
      search_many<<<static_cast<unsigned>(blocks), many_threads, 0, stream()>>>(
          in_order, n, sought, count, places, right);
    } else {
      const auto kernel = order ? &search<M, true> : &search<M, false>;
      kernel<<<blocks_for(count, block_threads * 4), block_threads, 0, stream()>>>(
          in_order, order, n, sought, count, places, right);
    }
    check_launch("searchsorted");
  });
  if (!direct) copy(result, out);
  return true;
}

}  // namespace arrayx::cuda
