// What the kernels over strided operands share: the loop as it travels to the device by value, the
// division that finds an element's place in it, packs of elements, and loads and stores that
// convert.
#pragma once

#include <cuda_runtime.h>

#include "../cpp/array/dtype.hpp"
#include "../cpp/ops/complex.hpp"
#include "../cpp/ops/half.hpp"

namespace arrayx::cuda {

using ops::Complex;

inline constexpr int block_threads = 256;
inline constexpr int pack_bytes = 16;  // of the widest load or store of one thread

// So many blocks, or as many as a multiprocessor of the architecture has threads for.
constexpr int resident_blocks_of(int threads, int wanted) {
#if !defined(__CUDA_ARCH__)
  constexpr int all_threads = 2048;
#elif __CUDA_ARCH__ == 750
  constexpr int all_threads = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
  constexpr int all_threads = 1536;
#else
  constexpr int all_threads = 2048;
#endif
  return threads * wanted > all_threads ? all_threads / threads : wanted;
}

// Waits for the kernels before this one, which may have been launched while they end: to be called
// before any memory is read or written, by kernels that launch() is told of.
__device__ __forceinline__ void wait_for_earlier() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// Lets the next kernel be launched; it waits for this one before it reads or writes memory.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

// Division by a constant: multiply and shift (Granlund and Montgomery), right for n < 2^31.
struct Divisor {
  u32 divisor = 1, multiplier = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(u32 d) : divisor(d) {
    while ((u64{1} << shift) < d) ++shift;
    multiplier = static_cast<u32>((u64{1} << 32) * ((u64{1} << shift) - d) / d + 1);
  }
  __device__ __forceinline__ u32 divide(u32 n) const {
    return (__umulhi(n, multiplier) + n) >> shift;
  }
};

inline constexpr int loop_operands = 4;  // inputs first, the output last

// One dimension of a loop; strides in bytes.
struct LoopDim {
  Divisor size;
  i64 stride[loop_operands];
};

enum class Access : u8 {
  direct,     // elements of the kernel's dtype, aligned
  repeated,   // one element for all elements of a pack; for packs only
  value,      // a host scalar that came along, already of the kernel's dtype
  converted,  // of another dtype, which the kernel takes or gives
  staged,     // read through a tile in shared memory; for tiles only
};

// A loop over strided operands. Dimensions stand innermost first; of those that do not fit here
// `more` holds a table on the device.
struct Loop {
  static constexpr int inline_dims = 6;

  char* data[loop_operands];
  alignas(16) unsigned char value[loop_operands - 1][16];
  Access access[loop_operands];
  DType dtype[loop_operands];  // in memory
  bool is_flat = false;        // one dimension, every access direct; for packs only
  u32 turns = 1;               // packs of a thread, one after the other; of flat packs only
  u32 ahead = 0;               // how far the L2 cache is asked ahead, if it is; the same
  u32 count;                   // of packs, elements or tiles
  int ndim;
  LoopDim dim[inline_dims];
  const LoopDim* more;
};

// offset[e][k] += where element at[e] of the loop's dimensions from `first` on lies in operand k.
// Offsets of 32 bits take half the instructions.
template <int Elements, int Operands, class Offset>
__device__ __forceinline__ void locate(const Loop& loop, int first, u32 (&at)[Elements],
                                       Offset (&offset)[Elements][Operands]) {
  const auto step = [&](const LoopDim& dim) {
#pragma unroll
    for (int e = 0; e < Elements; ++e) {
      const u32 next = dim.size.divide(at[e]);
      const auto index = Offset(at[e] - next * dim.size.divisor);
#pragma unroll
      for (int k = 0; k < Operands; ++k) offset[e][k] += index * Offset(dim.stride[k]);
      at[e] = next;
    }
  };
  const auto finish = [&](const LoopDim& dim) {
#pragma unroll
    for (int e = 0; e < Elements; ++e) {
#pragma unroll
      for (int k = 0; k < Operands; ++k) offset[e][k] += Offset(at[e]) * Offset(dim.stride[k]);
    }
  };
  const int last = loop.ndim - 1;
  if (last <= Loop::inline_dims - 1) {
#pragma unroll 1
    for (int d = first; d < last; ++d) step(loop.dim[d]);
    finish(loop.dim[last]);
  } else {
#pragma unroll 1
    for (int d = first; d < Loop::inline_dims; ++d) step(loop.dim[d]);
#pragma unroll 1
    for (int d = Loop::inline_dims; d < last; ++d) step(loop.more[d - Loop::inline_dims]);
    finish(loop.more[last - Loop::inline_dims]);
  }
}

// Of loops that go element by element.
inline constexpr int elements_of_thread = 4;

// Where E elements of a thread lie. Those beyond the end are the last one once more.
template <int K, int E = elements_of_thread>
struct Places {
  i64 offset[E][K] = {};
  bool exists[E];

  __device__ __forceinline__ Places(const Loop& loop, u32 begin) {
    u32 at[E];
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const u32 i = begin + e * block_threads;
      exists[e] = i < loop.count;
      at[e] = exists[e] ? i : loop.count - 1;
    }
    locate(loop, 0, at, offset);
  }
};
template <int E = elements_of_thread, class Body>
__device__ __forceinline__ void over_elements(const Loop& loop, Body&& body) {
  const u32 step = gridDim.x * (block_threads * E);
  for (u32 begin = blockIdx.x * (block_threads * E) + threadIdx.x; begin < loop.count;
       begin += step) {
    body(begin);
  }
}

// ---- elements and packs -------------------------------------------------------------------------

struct Boolean {};  // bool's bytes, as a type of their own

template <class T>
struct memory_type {
  using type = T;
};
template <>
struct memory_type<Boolean> {
  using type = u8;
};
template <>
struct memory_type<bool> {
  using type = u8;
};
template <class T>
using memory_t = typename memory_type<T>::type;

template <class M, int N>
struct alignas(sizeof(M) * N) Pack {
  M v[N];

  // The first item goes, the others move up. With put(), a loop over a pack that is not unrolled
  // needs one copy of its body and no array in memory.
  __device__ __forceinline__ M take() {
    const M first = v[0];
#pragma unroll
    for (int i = 0; i + 1 < N; ++i) v[i] = v[i + 1];
    return first;
  }
  __device__ __forceinline__ void put(M x) {
#pragma unroll
    for (int i = 0; i + 1 < N; ++i) v[i] = v[i + 1];
    v[N - 1] = x;
  }
};

// The C++ types of the dtypes.
#define ARRAYX_CUDA_DTYPES(row)                                                                    \
  row(bool_, Boolean) row(int8, i8) row(int16, i16) row(int32, i32) row(int64, i64) row(uint8, u8) \
      row(uint16, u16) row(uint32, u32) row(uint64, u64) row(float16, f16) row(float32, f32)       \
          row(float64, f64) row(complex64, Complex<f32>) row(complex128, Complex<f64>)

template <class F>
__device__ __forceinline__ void switch_dtype(DType d, F&& f) {
  switch (d) {
#define ARRAYX_ROW(name, T) \
  case DType::name:         \
    return f(T{});
    ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
  }
}

// ---- conversions --------------------------------------------------------------------------------

template <class To, class From>
ARRAYX_HD memory_t<To> converted(memory_t<From> x) {
  using M = memory_t<To>;
  if constexpr (ops::same_type_v<To, From>) {
    return x;
  } else if constexpr (ops::is_complex_v<From> && ops::is_complex_v<To>) {
    return {static_cast<decltype(M::re)>(x.re), static_cast<decltype(M::re)>(x.im)};
  } else if constexpr (ops::same_type_v<To, Boolean>) {
    if constexpr (ops::is_complex_v<From>) {
      return u8((x.re != 0) | (x.im != 0));
    } else if constexpr (ops::same_type_v<From, f16>) {
      return u8((x.bits & 0x7fff) != 0);
    } else {
      return u8(x != memory_t<From>(0));
    }
  } else if constexpr (ops::is_complex_v<From>) {
    return converted<To, decltype(From::re)>(x.re);
  } else if constexpr (ops::is_complex_v<To>) {
    return {converted<decltype(M::re), From>(x), 0};
  } else if constexpr (ops::same_type_v<To, f16> && ops::is_float_v<From>) {
    return f16(x);
  } else if constexpr (ops::same_type_v<To, f16>) {
    return f16(static_cast<f32>(x));
  } else if constexpr (ops::same_type_v<From, f16>) {
    return converted<To, f32>(static_cast<f32>(x));
  } else if constexpr (ops::is_float_v<From> && !ops::is_float_v<To> && sizeof(M) < 4) {
    return static_cast<M>(static_cast<i32>(x));  // as on the CPU: wraps around
  } else {
    return static_cast<M>(x);
  }
}

// Whether a cast leaves bits as they are: of integers, which wrap around, of bool, and of itself.
constexpr bool has_same_bits(DType from, DType to) {
  return from == to || ((is_integer(from) || from == DType::bool_) && is_integer(to) &&
                        itemsize(from) == itemsize(to));
}

// Which dtypes a kernel converts on the way in and out. Kernels hold a copy of what they call, so
// operations take only what promotes to their dtype, and give only what is narrower of its kind.
template <class T>
inline constexpr DType dtype_code = DType::bool_;
#define ARRAYX_ROW(name, T) \
  template <>               \
  inline constexpr DType dtype_code<T> = DType::name;
ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW

constexpr bool is_taken(DType from, DType to) {
  return from != to && can_promote(from, to) &&
         detail::promotion_table[static_cast<int>(from)][static_cast<int>(to)] ==
             static_cast<std::uint8_t>(to);
}
constexpr bool is_given(DType from, DType to) {
  return kind(from) == kind(to) && is_floating(from) && itemsize(to) < itemsize(from);
}

template <class From, class T>
inline constexpr bool takes = is_taken(dtype_code<From>, dtype_code<T>);
template <class T, class To>
inline constexpr bool gives = is_given(dtype_code<T>, dtype_code<To>);

// Elements of `dtype` as such of T; out of line, since it is rare.
template <class M, int N>
struct Elements {
  M v[N];
};
template <class T, bool All, int N>
__device__ __noinline__ Elements<memory_t<T>, N> converted_elements(const char* p,
                                                                    Elements<i64, N> offset,
                                                                    DType dtype) {
  Elements<memory_t<T>, N> x{};
  switch_dtype(dtype, [&](auto tag) {
    using From = decltype(tag);
    if constexpr (All || takes<From, T>) {
      memory_t<From> raw[N];
#pragma unroll
      for (int i = 0; i < N; ++i) {
        raw[i] = *reinterpret_cast<const memory_t<From>*>(p + offset.v[i]);
      }
#pragma unroll
      for (int i = 0; i < N; ++i) x.v[i] = converted<T, From>(raw[i]);
    }
  });
  return x;
}
template <class T, bool All, int N>
__device__ __forceinline__ void load_converted(const char* p, const i64 (&offset)[N], DType dtype,
                                               memory_t<T> (&x)[N]) {
  Elements<i64, N> places;
#pragma unroll
  for (int i = 0; i < N; ++i) places.v[i] = offset[i];
  const auto found = converted_elements<T, All, N>(p, places, dtype);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = found.v[i];
}
template <class T>
__device__ __noinline__ void store_converted(char* p, DType dtype, memory_t<T> x) {
  switch_dtype(dtype, [&](auto tag) {
    using To = decltype(tag);
    if constexpr (gives<T, To>) {
      *reinterpret_cast<memory_t<To>*>(p) = converted<To, T>(x);
    }
  });
}

}  // namespace arrayx::cuda
