// The ground the vocabulary stands on: where its functions may run, and under which name.
// Everything in cpp/ops lives in `arrayx::ops::ARRAYX_ISA`, one namespace per instruction set, so
// that the same inline function compiled with different flags is never merged by the linker.
// No host-only includes: these headers are also compiled by nvcc and by NVRTC.
#pragma once

#ifdef __CUDACC__
#define ARRAYX_HD __host__ __device__ __forceinline__
#define ARRAYX_HD_NOINLINE __host__ __device__ __noinline__ inline
#else
#define ARRAYX_HD inline __attribute__((always_inline))
#define ARRAYX_HD_NOINLINE __attribute__((noinline)) inline
#endif

// A function of the C mathematical library, without its header.
#ifdef __CUDACC__
#define ARRAYX_LIBM(name) ::name
#else
#define ARRAYX_LIBM(name) __builtin_##name
#endif

#ifndef ARRAYX_ISA
#define ARRAYX_ISA generic
#endif

#define ARRAYX_OPS_BEGIN  \
  namespace arrayx::ops { \
  inline namespace ARRAYX_ISA {
#define ARRAYX_OPS_END \
  }                    \
  }

namespace arrayx {

// <cstdint> is a host header and is absent under NVRTC; these are its types by width.
using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
#if defined(__CUDACC_RTC__) || !defined(__INT64_TYPE__)
using i64 = long long;
using u64 = unsigned long long;
#else
using i64 = __INT64_TYPE__;
using u64 = __UINT64_TYPE__;
#endif
using f32 = float;
using f64 = double;

// A float64 known when compiled, which instructions of a GPU take from constant memory: as a
// literal it costs two more that only move its halves, which were a quarter of those of exp of
// complex64. For the long series of functions that instructions decide: where single elements of
// float64 wait for each other, they would wait for constants, too (on an H200 exp took up to 1.04
// of the time).
#ifdef __CUDACC__
template <u64 Bits>
__constant__ f64 in_constant_memory = __builtin_bit_cast(f64, Bits);
#endif
#ifdef __CUDA_ARCH__
#define ARRAYX_F64(value) \
  ::arrayx::in_constant_memory<__builtin_bit_cast(::arrayx::u64, ::arrayx::f64(value))>
#else
#define ARRAYX_F64(value) (value)
#endif

}  // namespace arrayx
