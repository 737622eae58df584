// Eigenvalues of Hermitian matrices and singular values, without vectors. A block has a matrix in
// its registers: Householder's reflectors make it tridiagonal or bidiagonal, then bisection finds
// all values at a time.
#include <algorithm>

#include "loop.hpp"
#include "small_matrices.cuh"

namespace arrayx::cuda {

namespace {

constexpr int most_side = most_small_side;
// Jacobi's rotations are as fast for so few rows or columns, and for a few more where warps that
// have a matrix each fill the device.
constexpr int fewest = 4, few = 8;
constexpr std::int64_t most_blocks = 1000;
// Off-diagonal elements below this one, where the largest is about 1, are as good as none. With it
// no product in `values_below` vanishes.
constexpr double least_square = 0x1p-120;

// A symmetric tridiagonal matrix: elements of the diagonal, and squares of those beside it, the one
// before a diagonal element with that.
template <int most>
struct Tridiagonal {
  double diagonal[most], square[most];
};

// How many eigenvalues are below x: changes of sign among the leading minors of A - x (Givens). Of
// two minors that follow each other one at most is 0, and counts the same with either sign.
template <bool hollow, int most>
__device__ int values_below(const Tridiagonal<most>& a, int n, double x) {
  double before = 0, minor = 1;
  int below = 0;
#pragma unroll 8
  for (int i = 0; i < n; ++i) {
    const double d = hollow ? -x : a.diagonal[i] - x;
    const double next = fma(d, minor, -a.square[i] * before);
    below += static_cast<unsigned>(__double2hiint(next) ^ __double2hiint(minor)) >> 31;
    before = minor;
    minor = next;
    if (i % 8 == 7) {  // nearer to 1 again, by a power of two
      constexpr int exponent = 0x7ff00000;
      const int larger = max(__double2hiint(minor) & exponent, __double2hiint(before) & exponent);
      const double scale = __hiloint2double(0x7fe00000 - min(larger, 0x7fd00000), 0);
      before *= scale;
      minor *= scale;
    }
  }
  return below;
}

// The k-th smallest eigenvalue of a matrix whose eigenvalues are within ±1, by `ways` threads side
// by side; of a hollow one, whose diagonal is 0, one that is not negative.
template <bool hollow, int ways, int most>
__device__ double value_at(const Tridiagonal<most>& a, int n, int k, double precision) {
  const int lane = threadIdx.x % warp_size, way = lane % ways, first = lane - way;
  double low = hollow ? 0 : -1, high = 1;
  const double part = double(way + 1) / (ways + 1);
  for (double width = high - low; width > precision; width *= 1.0 / (ways + 1)) {
    const double x = fma(high - low, part, low);
    const unsigned reached = __ballot_sync(whole_warp, values_below<hollow>(a, n, x) <= k);
    const int steps = __popc(reached >> first & ((1u << ways) - 1));
    const double left = __shfl_sync(whole_warp, x, first + max(steps - 1, 0));
    const double right = __shfl_sync(whole_warp, x, first + min(steps, ways - 1));
    if (steps > 0) low = left;
    if (steps < ways) high = right;
  }
  return hollow && low == 0 ? 0 : low + (high - low) / 2;
}

// H = I - tau u u^H makes ±|x| e_0 of x = (alpha, …), u = x + delta e_0; nothing is done for
// elements behind alpha whose squares have the sum `rest` and would not change a norm.
template <class T>
struct Reflector {
  T delta{};
  Real<T> tau = 0;
  double square;  // of |x|

  __device__ Reflector(T alpha, Real<T> rest) {
    using R = Real<T>;
    constexpr R eps = std::numeric_limits<R>::epsilon();
    square = double(real(alpha)) * real(alpha) + double(imaginary(alpha)) * imaginary(alpha);
    if (!(rest > std::numeric_limits<R>::min() / (eps * eps))) return;
    square += rest;
    const R all = squared(alpha) + rest, norm = all * rsqrt(all);
    R size = fabs(real(alpha));
    if constexpr (ops::is_complex_v<T>) {
      size = sqrt(squared(alpha));
      delta = size > 0 ? scaled(alpha, norm / size) : from_real<T>(norm);
    } else {
      delta = copysign(norm, alpha);
    }
    tau = 1 / (all + norm * size);
  }
};

// sum + factor x, and sum + Re(conj(x) y).
template <class R>
__device__ R with_multiple(R sum, R factor, R x) {
  return fused(factor, x, sum);
}
template <class R>
__device__ Complex<R> with_multiple(Complex<R> sum, R factor, Complex<R> x) {
  return {fused(factor, x.re, sum.re), fused(factor, x.im, sum.im)};
}
template <class R>
__device__ R with_real_product(R sum, R x, R y) {
  return fused(x, y, sum);
}
template <class R>
__device__ R with_real_product(R sum, Complex<R> x, Complex<R> y) {
  return fused(x.re, y.re, fused(x.im, y.im, sum));
}

// What a block's threads tell each other of a matrix of up to `side` rows.
template <class T, int side, bool of_svd>
struct Shared {
  static constexpr int order = of_svd ? 2 * side : side;

  // Of this step's and the next one's: a row, the column and the column behind it (of Hermitian
  // matrices two rows, which say as much).
  T row[2][side], column[2][side], next[2][side];
  T left[side], right[side];
  Tridiagonal<order> tridiagonal;
  double values[side];
  int order_of_values[side];
  unsigned long long largest;
};

// The elements that a thread has of a matrix.
template <class T, int items, bool in_shared>
struct Elements {
  T x[items];

  __device__ explicit Elements(char*) {}
  __device__ T& operator[](int k) { return x[k]; }
};
template <class T, int items>
struct Elements<T, items, true> {
  T* x;

  __device__ explicit Elements(char* memory) : x(reinterpret_cast<T*>(memory) + threadIdx.x) {}
  __device__ T& operator[](int k) { return x[k * blockDim.x]; }
};

// Each row has as many lanes as this; 256 threads at least.
constexpr int lanes_of(int side) {
  return side > 64 ? 4 : 8;
}

// The values of a tridiagonal matrix of order n, the `count` first ones, in order.
template <bool hollow, class T, int side>
__device__ void write_values(Shared<T, side, hollow>& shared, int n, int count, Real<T>* out,
                             int exponent) {
  using R = Real<T>;
  constexpr int ways = lanes_of(side);
  const Team<true> team;
  auto& a = shared.tridiagonal;
  __syncthreads();
  // No eigenvalue is beyond the largest sum of a row's sizes.
  double most = 0;
  for (int i = team.lane; i < n; i += warp_size) {
    const double after = i + 1 < n ? sqrt(a.square[i + 1]) : 0;
    most = fmax(most, fabs(a.diagonal[i]) + sqrt(a.square[i]) + after);
  }
  const int bound = -ilogb(most_of_lanes(most)) - 1;
  if (!(most_of_lanes(most) > 0)) {
    for (int i = team.rank; i < count; i += team.size) out[i] = 0;
    __syncthreads();
    return;
  }
  __syncthreads();
  for (int i = team.rank; i < n; i += team.size) {
    a.diagonal[i] = ldexp(a.diagonal[i], bound);
    a.square[i] = i == 0 ? 0 : fmax(ldexp(a.square[i], 2 * bound), least_square);
  }
  __syncthreads();
  const int k = team.rank / ways;
  if (team.rank - team.lane < count * ways) {  // of whole warps
    constexpr double precision = sizeof(R) == 4 ? 0x1p-32 : 0x1p-56;
    const int at = min(k, count - 1);
    const double x = value_at<hollow, ways>(a, n, hollow ? n - 1 - at : at, precision);
    if (k < count && team.rank % ways == 0) shared.values[k] = x;
  }
  __syncthreads();
  rank_values(team, shared.values, count, hollow, shared.order_of_values);
  __syncthreads();
  for (int i = team.rank; i < count; i += team.size) {
    out[i] = R(ldexp(shared.values[shared.order_of_values[i]], -bound - exponent));
  }
  __syncthreads();
}

template <class T, int side>
__global__ void __launch_bounds__(side* lanes_of(side))
    eigenvalues(const __grid_constant__ SmallMatrices job) {
  using R = Real<T>;
  constexpr int lanes = lanes_of(side), items = side / lanes;
  __shared__ Shared<T, side, false> shared;
  const Team<true> team;
  const int n = job.rows, g = team.rank / lanes, q = team.rank % lanes;
  for (i64 i = blockIdx.x; i < job.count; i += gridDim.x) {
    const Source<T> a(job.a, i);
    T m[items];
    unsigned long long largest = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const int c = q + lanes * k;
      m[k] = T{};
      if (g >= n || c >= n) continue;
      m[k] = c <= g ? a(g, c) : conjugate(a(c, g));
      if (c == g) m[k] = from_real<T>(real(m[k]));
      largest = max(largest, largest_key(m[k]));
    }
    int exponent;
    if (!find_scale<R>(team, job, i, largest, &shared.largest, &exponent)) continue;
    const R scale = power_of_two<R>(exponent);
#pragma unroll
    for (int k = 0; k < items; ++k) {
      m[k] = scaled(m[k], scale);
      if (g == 0) shared.row[0][q + lanes * k] = m[k];
      if (g == 1) shared.next[0][q + lanes * k] = m[k];
    }
    for (int j = 0; j < n; ++j) {
      __syncthreads();
      const T* const row = shared.row[j % 2];
      const T* const next = shared.next[j % 2];
      if (team.rank == 0) {
        shared.tridiagonal.diagonal[j] = real(row[j]);
        if (j == 0) shared.tridiagonal.square[0] = 0;
      }
      if (j + 1 == n) break;
      // Warps all of whose rows are done only meet the others.
      const bool is_live = (team.rank | 31) / lanes > j;
      T delta{};
      R tau = 0;
      if (is_live) {
        R rests[2] = {};
        T dots[2] = {};
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j + 1) continue;
          const int c = q + lanes * k;
          const T x = c > j ? conjugate(row[c]) : T{};
          if (c > j + 1) rests[k % 2] = with_real_product(rests[k % 2], x, x);
          dots[k % 2] = fused(m[k], x, dots[k % 2]);
        }
        const R rest = sum_of_lanes<lanes>(rests[0] + rests[1]);
        const T p = sum_of_lanes<lanes>(dots[0] + dots[1]);
        const Reflector<T> h(conjugate(row[j + 1]), rest);
        delta = h.delta;
        tau = h.tau;
        if (team.rank == team.size - 1) shared.tridiagonal.square[j + 1] = h.square;
        if (q == 0) shared.left[g] = scaled(fused(conjugate(next[g]), delta, p), tau);
      }
      __syncthreads();
      if (is_live && tau != 0) {
        // A - u w^H - w u^H with w = p - (tau / 2) (u^H p) u, p = tau A u.
        const auto u_of = [&](int c) {
          T u = c > j ? conjugate(row[c]) : T{};
          return c == j + 1 ? u + delta : u;
        };
        R up = 0;
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j + 1) continue;
          const int c = q + lanes * k;
          if (c > j) up = with_real_product(up, u_of(c), shared.left[c]);
        }
        const R factor = -sum_of_lanes<lanes>(up) * tau / 2;
        const auto w_of = [&](int c, T u) {
          return c > j ? with_multiple(shared.left[c], factor, u) : T{};
        };
        const T u_g = -u_of(g), w_g = -w_of(g, -u_g);
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j + 1) continue;
          const int c = q + lanes * k;
          const T u = u_of(c);
          m[k] = fused(u_g, conjugate(w_of(c, u)), fused(w_g, conjugate(u), m[k]));
        }
      }
      const int other = (j + 1) % 2;
      if (g == j + 1 || g == j + 2) {
        T* const to = g == j + 1 ? shared.row[other] : shared.next[other];
#pragma unroll
        for (int k = 0; k < items; ++k) to[q + lanes * k] = m[k];
      }
    }
    write_values<false>(shared, n, n, output<R>(job.out[0], i, n), exponent);
  }
}

// Columns of registers that do not fit beside the rows go to shared memory.
template <class T, int side>
constexpr bool columns_are_shared = side / lanes_of(side) * sizeof(T) > 128;

template <class T, int side>
__global__ void __launch_bounds__(side* lanes_of(side))
    singular_values(const __grid_constant__ SmallMatrices job) {
  using R = Real<T>;
  constexpr int lanes = lanes_of(side), items = side / lanes;
  extern __shared__ __align__(16) char memory[];
  __shared__ Shared<T, side, true> shared;
  const Team<true> team;
  const bool is_wide = job.rows < job.columns;
  const int rows = max(job.rows, job.columns), n = min(job.rows, job.columns);
  const int g = team.rank / lanes, q = team.rank % lanes;
  for (i64 i = blockIdx.x; i < job.count; i += gridDim.x) {
    Source<T> a(job.a, i);
    if (is_wide) {
      const i64 step = a.row;
      a.row = a.column;
      a.column = step;
    }
    // Row g and column g.
    Elements<T, items, false> r(nullptr);
    Elements<T, items, columns_are_shared<T, side>> c(memory);
    unsigned long long largest = 0;
#pragma unroll
    for (int k = 0; k < items; ++k) {
      const int at = q + lanes * k;
      r[k] = g < rows && at < n ? a(g, at) : T{};
      c[k] = g < n && at < rows ? a(at, g) : T{};
      largest = max(largest, largest_key(r[k]));
    }
    int exponent;
    if (!find_scale<R>(team, job, i, largest, &shared.largest, &exponent)) continue;
    const R scale = power_of_two<R>(exponent);
    const auto publish = [&](int j) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        const int at = q + lanes * k;
        if (g == j) {
          shared.row[j % 2][at] = r[k];
          shared.column[j % 2][at] = c[k];
        }
        if (g == j + 1) shared.next[j % 2][at] = c[k];
      }
    };
#pragma unroll
    for (int k = 0; k < items; ++k) {
      r[k] = scaled(r[k], scale);
      c[k] = scaled(c[k], scale);
    }
    publish(0);
    double* const square = shared.tridiagonal.square;
    for (int j = 0; j < n; ++j) {
      __syncthreads();
      const T* const row = shared.row[j % 2];
      const T* const column = shared.column[j % 2];
      const T* const next = shared.next[j % 2];
      const T *const y = shared.left, *const z = shared.right;
      const bool is_live = (team.rank | 31) / lanes >= j;
      // From the left: A - u y^H, y = tau A^H u.
      T u_delta{};
      if (is_live) {
        R rests[2] = {};
        T dots[2] = {};
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j) continue;
          const int at = q + lanes * k;
          const T x = at >= j ? column[at] : T{};
          if (at > j) rests[k % 2] = with_real_product(rests[k % 2], x, x);
          dots[k % 2] = fused(conjugate(c[k]), x, dots[k % 2]);
        }
        const R rest = sum_of_lanes<lanes>(rests[0] + rests[1]);
        const T dot = sum_of_lanes<lanes>(dots[0] + dots[1]);
        const Reflector<T> h(column[j], rest);
        u_delta = h.delta;
        if (team.rank == team.size - 1) {
          if (j == 0) square[0] = 0;
          square[2 * j + 1] = h.square;
        }
        if (q == 0) shared.left[g] = scaled(fused(conjugate(row[g]), u_delta, dot), h.tau);
      }
      if (j + 1 == n) break;
      __syncthreads();
      // From the right: A - z v^H, z = sigma A v, with what row j has become.
      const T u_j = -(column[j] + u_delta);
      const auto row_of = [&](int at) {
        return at > j ? conjugate(fused(u_j, conjugate(y[at]), row[at])) : T{};
      };
      const auto u_of = [&](int at) { return at == j ? -u_j : at > j ? column[at] : T{}; };
      T v_delta{};
      if (is_live) {
        R rests[2] = {};
        T dots[2] = {}, acrosses[2] = {};
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j + 1) continue;
          const int at = q + lanes * k;
          const T x = row_of(at);
          if (at > j + 1) rests[k % 2] = with_real_product(rests[k % 2], x, x);
          dots[k % 2] = fused(r[k], x, dots[k % 2]);
          if (at > j) acrosses[k % 2] = fused(conjugate(y[at]), x, acrosses[k % 2]);
        }
        const R rest = sum_of_lanes<lanes>(rests[0] + rests[1]);
        T dot = sum_of_lanes<lanes>(dots[0] + dots[1]);
        T across = sum_of_lanes<lanes>(acrosses[0] + acrosses[1]);
        const Reflector<T> h(row_of(j + 1), rest);
        v_delta = h.delta;
        if (team.rank == team.size - 1) square[2 * j + 2] = h.square;
        if (q == 0) {
          dot = fused(next[g], v_delta, dot);
          across = fused(conjugate(y[j + 1]), v_delta, across);
          shared.right[g] = scaled(fused(-u_of(g), across, dot), h.tau);
        }
      }
      __syncthreads();
      if (is_live) {
        const auto v_of = [&](int at) {
          const T x = row_of(at);
          return conjugate(at == j + 1 ? x + v_delta : x);
        };
        const T u_g = -u_of(g), z_g = -z[g], y_g = -conjugate(y[g]), v_g = -v_of(g);
#pragma unroll
        for (int k = 0; k < items; ++k) {
          if (lanes * (k + 1) <= j + 1) continue;
          const int at = q + lanes * k;
          r[k] = fused(u_g, conjugate(y[at]), fused(z_g, v_of(at), r[k]));
          c[k] = fused(u_of(at), y_g, fused(z[at], v_g, c[k]));
        }
      }
      publish(j + 1);
    }
    // Its eigenvalues are those of [[0, A], [A^H, 0]] (Golub and Kahan).
    for (int j = team.rank; j < 2 * n; j += team.size) shared.tridiagonal.diagonal[j] = 0;
    write_values<true>(shared, 2 * n, n, output<R>(job.out[1], i, n), exponent);
  }
}

template <class T, int side>
bool launch_values(const SmallMatrices& job, bool of_svd) {
  int bytes = 0;
  const void* kernel = reinterpret_cast<const void*>(&eigenvalues<T, side>);
  if (of_svd) {
    kernel = reinterpret_cast<const void*>(&singular_values<T, side>);
    if (columns_are_shared<T, side>) bytes = side * side * int(sizeof(T));
    const auto all = static_cast<std::size_t>(bytes) + sizeof(Shared<T, side, true>);
    if (all > properties().shared_bytes_opt_in) return false;
    if (all > properties().shared_bytes_per_block) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
            "svdvals");
    }
  }
  const auto blocks = static_cast<unsigned>(std::min(job.count, std::int64_t{1} << 30));
  SmallMatrices copied = job;
  void* arguments[] = {&copied};
  check(cudaLaunchKernel(kernel, dim3(blocks), dim3(side * lanes_of(side)), arguments,
                         static_cast<std::size_t>(bytes), stream()),
        of_svd ? "svdvals" : "eigvalsh");
  return true;
}

}  // namespace

bool values_small(DType dtype, const SmallMatrices& job, bool of_svd) {
  const int side = std::max(job.rows, job.columns), least = std::min(job.rows, job.columns);
  if (side > most_side || least <= fewest || (least <= few && job.count > most_blocks))
    return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (side <= 32) return launch_values<T, 32>(job, of_svd);
    if (side <= 64) return launch_values<T, 64>(job, of_svd);
    if constexpr (sizeof(T) < 16) {
      return launch_values<T, 128>(job, of_svd);
    } else {
      return false;  // there are no registers for it
    }
  });
}

}  // namespace arrayx::cuda
