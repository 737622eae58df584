// What kernels of one small matrix for each warp or block share: numbers of the four dtypes, sums
// over a warp's lanes, and the matrices of a stack as they lie in memory.
#pragma once

#include <limits>

#include "small_matrices.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

// ---- scalars ------------------------------------------------------------------------------------

template <class T>
struct Parts {
  using Real = T;
};
template <class R>
struct Parts<Complex<R>> {
  using Real = R;
};
template <class T>
using Real = typename Parts<T>::Real;

template <class R>
__device__ R real(R x) {
  return x;
}
template <class R>
__device__ R real(Complex<R> x) {
  return x.re;
}
template <class R>
__device__ R imaginary(R) {
  return 0;
}
template <class R>
__device__ R imaginary(Complex<R> x) {
  return x.im;
}
template <class R>
__device__ R conjugate(R x) {
  return x;
}
template <class R>
__device__ Complex<R> conjugate(Complex<R> x) {
  return {x.re, -x.im};
}

template <class T>
__device__ T from_real(Real<T> x) {
  if constexpr (ops::is_complex_v<T>) {
    return {x, 0};
  } else {
    return x;
  }
}

inline __device__ float fused(float a, float b, float c) {
  return fmaf(a, b, c);
}
inline __device__ double fused(double a, double b, double c) {
  return fma(a, b, c);
}
template <class R>
__device__ Complex<R> fused(Complex<R> a, Complex<R> b, Complex<R> c) {
  return {fused(a.re, b.re, fused(-a.im, b.im, c.re)), fused(a.re, b.im, fused(a.im, b.re, c.im))};
}
template <class T>
__device__ T product(T a, T b) {
  return fused(a, b, T{});
}

template <class R>
__device__ R scaled(R x, R factor) {
  return x * factor;
}
template <class R>
__device__ Complex<R> scaled(Complex<R> x, R factor) {
  return {x.re * factor, x.im * factor};
}

template <class R>
__device__ R size_of(R x) {
  return fabs(x);
}
template <class R>
__device__ R size_of(Complex<R> x) {
  return fmax(fabs(x.re), fabs(x.im));
}
template <class R>
__device__ R squared(R x) {
  return x * x;
}
template <class R>
__device__ R squared(Complex<R> x) {
  return fused(x.re, x.re, x.im * x.im);
}

// The power of two that brings a size near 1, or as near as one factor can.
template <class R>
__device__ int scale_exponent(R size) {
  constexpr int most = sizeof(R) == 4 ? 100 : 1000;
  if (!(size > 0)) return 0;
  return max(-most, min(most, -ilogb(size)));
}
template <class R>
__device__ R power_of_two(int exponent) {
  return ldexp(R(1), exponent);
}

// The same of a positive number below 2^64, in two instructions.
inline __device__ float inverse_power(float x) {
  return __int_as_float(0x7f000000 - (__float_as_int(x) & 0x7f800000));
}
inline __device__ double inverse_power(double x) {
  return __hiloint2double(0x7fe00000 - (__double2hiint(x) & 0x7ff00000), 0);
}

// Divides by one number.
template <class T>
struct Divide {
  T by;

  __device__ explicit Divide(T b) : by(b) {}
  __device__ T operator()(T a) const { return a / by; }
};
template <class R>
struct Divide<Complex<R>> {
  Complex<R> inverse;  // of the number near 1 that `scale` makes of it
  R scale;

  __device__ explicit Divide(Complex<R> b) : scale(power_of_two<R>(scale_exponent(size_of(b)))) {
    b = scaled(b, scale);
    const R length = squared(b);
    inverse = {b.re / length, -b.im / length};
  }
  __device__ Complex<R> operator()(Complex<R> a) const {
    return product(scaled(a, scale), inverse);
  }
};

// Orders as sizes do, NaN after infinity.
inline __device__ unsigned long long size_key(float x) {
  return __float_as_uint(fabsf(x));
}
inline __device__ unsigned long long size_key(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(x)));
}
template <class R>
inline __device__ unsigned long long size_key(Complex<R> x) {
  return size_key(fabs(x.re) + fabs(x.im));
}
template <class R>
__device__ unsigned long long infinity_key() {
  return size_key(std::numeric_limits<R>::infinity());
}
// The same of the larger part, which does not overflow.
template <class T>
__device__ unsigned long long largest_key(T x) {
  const auto re = size_key(real(x)), im = size_key(imaginary(x));
  return re > im ? re : im;
}
template <class R>
__device__ R of_key(unsigned long long key) {
  if constexpr (sizeof(R) == 4) {
    return __uint_as_float(static_cast<unsigned>(key));
  } else {
    return __longlong_as_double(static_cast<long long>(key));
  }
}

// ---- warps --------------------------------------------------------------------------------------

// Over each `lanes` of the warp that stand side by side, a power of two.
template <int lanes = warp_size, class R>
__device__ R sum_of_lanes(R x) {
#pragma unroll
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    x += __shfl_xor_sync(whole_warp, x, offset);
  }
  return x;
}
template <int lanes = warp_size, class R>
__device__ Complex<R> sum_of_lanes(Complex<R> x) {
  return {sum_of_lanes<lanes>(x.re), sum_of_lanes<lanes>(x.im)};
}
template <class R>
__device__ R most_of_lanes(R x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const R other = __shfl_xor_sync(whole_warp, x, offset);
    x = other > x ? other : x;
  }
  return x;
}

// ---- teams --------------------------------------------------------------------------------------

// The threads that have one matrix.
template <bool is_block>
struct Team {
  static constexpr bool of_block = is_block;
  static constexpr int lanes = 32;
  int rank, size, lane, warp, warps;

  __device__ Team() {
    rank = is_block ? threadIdx.x : threadIdx.x % 32;
    size = is_block ? blockDim.x : 32;
    lane = rank % 32;
    warp = rank / 32;
    warps = size / 32;
  }
  __device__ void sync() const {
    if constexpr (is_block) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }
  __device__ bool any(bool x) const {
    if constexpr (is_block) {
      return __syncthreads_or(x);
    } else {
      return __any_sync(whole_warp, x);
    }
  }
};

// A thread that has one alone.
struct Alone {
  static constexpr bool of_block = false;
  static constexpr int lanes = 1, rank = 0, size = 1, lane = 0, warp = 0, warps = 1;

  __device__ void sync() const {}
};

// order[j] = which of n values is the j-th, equal ones as they stand.
template <class R, class Team>
__device__ void rank_values(const Team& team, const R* values, int n, bool descending, int* order) {
  for (int j = team.rank; j < n; j += team.size) {
    int before = 0;
    for (int i = 0; i < n; ++i) {
      const bool is_before = descending ? values[i] > values[j] : values[i] < values[j];
      before += is_before || (values[i] == values[j] && i < j);
    }
    order[before] = j;
  }
}

// The largest part of the elements that a thread has seen, of the whole team: as a key.
template <class Team>
__device__ unsigned long long most_of_team(const Team& team, unsigned long long mine,
                                           unsigned long long* shared) {
  mine = most_of_lanes(mine);
  if (team.rank == 0) *shared = 0;
  team.sync();
  if (team.lane == 0) atomicMax(shared, mine);
  team.sync();
  return *shared;
}

// ---- stacks -------------------------------------------------------------------------------------

// A matrix of a stack as it lies in memory.
template <class T>
struct Source {
  const T* data;
  i64 row, column;

  __device__ Source(const Matrices& m, i64 i)
      : data(reinterpret_cast<const T*>(m.data) + i * m.batch), row(m.row), column(m.column) {}
  __device__ T operator()(int r, int c) const { return data[r * row + c * column]; }
};
template <class T>
__device__ T* output(char* out, i64 i, i64 items) {
  return reinterpret_cast<T*>(out) + i * items;
}

inline __device__ void note_failure(const FirstFailure& failed, i64 i) {
  // Who is the first to note one tells the host, whose memory is far.
  if (atomicMin(failed.position, static_cast<unsigned long long>(i)) == ~0ull) {
    *static_cast<volatile u32*>(failed.met) = 1;
  }
}
inline __device__ void fail(const SmallMatrices& job, i64 i) {
  note_failure(job.failed, i);
}

// The exponent of the power of two that brings a matrix's largest part near 1, from the largest
// that each thread has seen. False where a part is not finite: the matrix has no result.
template <class R, class Team>
__device__ bool find_scale(const Team& team, const SmallMatrices& job, i64 i,
                           unsigned long long largest, unsigned long long* shared, int* exponent) {
  largest = most_of_team(team, largest, shared);
  *exponent = scale_exponent(of_key<R>(largest));
  if (largest < infinity_key<R>()) return true;
  if (team.rank == 0) fail(job, i);
  team.sync();
  return false;
}

}  // namespace arrayx::cuda
