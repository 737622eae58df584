// See small_matrices.hpp. A team of threads, one warp or one block, has a matrix. Its warps meet
// once in a step: what all of them need, such as the pivot or the reflector, each finds itself. Of
// many of the smallest matrices a thread has one, with the same bits.
#include "small_matrices.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "loop.hpp"
#include "small_matrices.cuh"

namespace arrayx::cuda {

namespace {

constexpr int most_side = 64;                     // a lane has two elements of a column, …
constexpr int most_side_of_qr = most_small_side;  // … or four
constexpr int most_alone = 4;                     // of those that a thread has alone

__host__ __device__ constexpr int rounded(std::size_t bytes) {
  return int((bytes + 15) / 16 * 16);
}
// Gives the parts of a matrix's shared memory, one after the other, …
struct Room {
  char* next;

  template <class T>
  __host__ __device__ T* take(int items) {
    char* const at = next;
    next += rounded(items * sizeof(T));
    return reinterpret_cast<T*>(at);
  }
};
// … or counts them.
struct Count {
  int bytes = 0;

  template <class T>
  __host__ __device__ T* take(int items) {
    bytes += rounded(items * sizeof(T));
    return nullptr;
  }
};
// An odd step between rows or columns meets every bank.
__host__ __device__ constexpr int odd(int n) {
  return n | 1;
}

// Calls f(row, column) for all elements of a matrix, neighbouring lanes with neighbouring columns.
template <class Team, class F>
__device__ __forceinline__ void for_each_element(const Team& team, int rows, int columns, F&& f) {
  for (int r = team.warp; r < rows; r += team.warps) {
    for (int c = team.lane; c < columns; c += Team::lanes) f(r, c);
  }
}

// ---- LU -----------------------------------------------------------------------------------------

// Eliminates below the diagonal of the first n columns, in rows of `width`, with row order[i] as
// the i-th; the multipliers are not kept. False when a pivot is zero.
template <class T, class Team>
__device__ bool eliminate(const Team& team, T* m, int n, int width, int step, int* order) {
  bool regular = true;
  constexpr int lanes = Team::lanes;
  unsigned used = 0;  // bit b: row lanes * b + lane is in its place
  for (int i = 0; i < n; ++i) {
    unsigned long long best = 0;
    int at = most_side;
    const auto offer = [&](unsigned long long key, int row) {
      if (key > best || (key == best && row < at)) {
        best = key;
        at = row;
      }
    };
    for (int r = team.lane, b = 0; r < n; r += lanes, ++b) {
      if (!(used >> b & 1)) offer(size_key(m[r * step + i]), r);
    }
#pragma unroll
    for (int offset = lanes / 2; offset > 0; offset /= 2) {
      const unsigned long long key = __shfl_xor_sync(whole_warp, best, offset);
      offer(key, __shfl_xor_sync(whole_warp, at, offset));
    }
    if (at % lanes == team.lane) used |= 1u << (at / lanes);
    if (team.rank == 0) order[i] = at;
    if (best == 0) {
      regular = false;
      continue;
    }
    const T* const pivot_row = m + at * step;
    const Divide<T> by_pivot(pivot_row[i]);
    const auto subtract = [&](T* row, T factor) {
      for (int j = i + 1 + team.lane; j < width; j += lanes) {
        row[j] = fused(factor, pivot_row[j], row[j]);
      }
    };
    if constexpr (lanes == 1) {
      for (int r = 0; r < n; ++r) {
        if (!(used >> r & 1)) subtract(m + r * step, -by_pivot(m[r * step + i]));
      }
    } else {
      // Of the rows that a warp has, each lane divides for one.
      const int own = team.warp + team.lane * team.warps;
      const unsigned of_lane = __shfl_sync(whole_warp, used, own % lanes);
      const bool is_left = own < n && !(of_lane >> own / lanes & 1);
      const T of_own = is_left ? -by_pivot(m[own * step + i]) : T{};
      for (unsigned left = __ballot_sync(whole_warp, is_left); left != 0; left &= left - 1) {
        const int k = __ffs(left) - 1;
        subtract(m + (team.warp + k * team.warps) * step, from_lane(of_own, k));
      }
    }
    team.sync();
  }
  team.sync();
  return regular;
}

// Rows of so many elements, and the order in which they stand.
template <class T>
struct Rows {
  int step;
  T* m;
  int* order;

  template <class From>
  __host__ __device__ Rows(From& from, const SmallMatrices& job, int width)
      : step(odd(width)),
        m(from.template take<T>(job.rows * step)),
        order(from.template take<int>(job.rows)) {}
};

struct Solve {
  template <class T>
  struct Memory : Rows<T> {
    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : Rows<T>(from, job, job.rows + job.sides) {}
  };

  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    const int n = job.rows, k = job.sides, step = memory.step;
    T* const m = memory.m;
    int* const order = memory.order;
    const Source<T> a(job.a, i), b(job.b, i);
    for_each_element(team, n, n, [&](int r, int c) { m[r * step + c] = a(r, c); });
    for_each_element(team, n, k, [&](int r, int c) {
      m[r * step + n + c] = job.b.data ? b(r, c) : from_real<T>(c == r);
    });
    team.sync();
    if (!eliminate(team, m, n, n + k, step, order)) {
      if (team.rank == 0) fail(job, i);
      return;
    }
    T* const out = output<T>(job.out[0], i, i64(n) * k);
    for (int j = n - 1; j >= 0; --j) {
      const T* const row = m + order[j] * step;
      const Divide<T> by_pivot(row[j]);
      for (int c = team.lane; c < k; c += Team::lanes) {
        const T x = by_pivot(row[n + c]);
        if (team.warp == 0) out[j * k + c] = x;
        for (int t = team.warp; t < j; t += team.warps) {
          T* const above = m + order[t] * step;
          above[n + c] = fused(-above[j], x, above[n + c]);
        }
      }
      team.sync();
    }
  }
};

// A product of any length, as a number near 1 and a power of two: it cannot overflow on the way.
template <class D>
struct LongProduct {
  D mantissa;
  i64 exponent = 0;

  __device__ LongProduct() {
    if constexpr (ops::is_complex_v<D>) {
      mantissa = {1, 0};
    } else {
      mantissa = 1;
    }
  }
  __device__ void multiply(D factor, i64 power = 0) {
    exponent += power;
    normalize(factor);
    mantissa = product(mantissa, factor);
    normalize(mantissa);
  }
  __device__ bool is_zero() const { return size_of(mantissa) == 0; }
  __device__ D value() const {
    const int e = static_cast<int>(max(i64(-4000), min(i64(4000), exponent)));
    // In two steps: one factor may leave float64's range where the result does not.
    return scaled(scaled(mantissa, power_of_two<f64>(e / 4 * 2)), power_of_two<f64>(e - e / 4 * 2));
  }
  __device__ f64 length() const {
    if constexpr (ops::is_complex_v<D>) {
      return hypot(mantissa.re, mantissa.im);
    } else {
      return fabs(mantissa);
    }
  }
  __device__ f64 log_abs() const {
    // One logarithm where the product is a number, so that that of 1 is 0.
    if (exponent > -1000 && exponent < 1000) return log(ldexp(length(), int(exponent)));
    return log(length()) + static_cast<f64>(exponent) * 0.6931471805599453094;
  }
  __device__ D sign() const {
    if (is_zero()) return D{};
    if constexpr (ops::is_complex_v<D>) {
      return scaled(mantissa, 1 / length());
    } else {
      return isnan(mantissa) ? mantissa : copysign(1.0, mantissa);
    }
  }

 private:
  __device__ void normalize(D& x) {
    const f64 size = size_of(x);
    if (!(size > 0) || isinf(size)) return;
    const int e = -ilogb(size);
    x = scaled(scaled(x, power_of_two<f64>(e / 2)), power_of_two<f64>(e - e / 2));
    exponent -= e;
  }
};

template <class T>
struct Wide {
  using type = f64;
  __device__ static f64 of(T x) { return x; }
  __device__ static T back(f64 x) { return T(x); }
};
template <class R>
struct Wide<Complex<R>> {
  using type = Complex<f64>;
  __device__ static Complex<f64> of(Complex<R> x) { return {x.re, x.im}; }
  __device__ static Complex<R> back(Complex<f64> x) { return {R(x.re), R(x.im)}; }
};

template <class T>
__device__ void write_determinant(const SmallMatrices& job, i64 i, bool is_odd,
                                  LongProduct<typename Wide<T>::type> all) {
  using D = typename Wide<T>::type;
  if (all.is_zero()) {
    all.mantissa = D{};  // not -0.0
  } else if (is_odd) {
    all.mantissa = -all.mantissa;
  }
  if (job.out[0]) *output<T>(job.out[0], i, 1) = Wide<T>::back(all.value());
  if (job.out[1]) *output<T>(job.out[1], i, 1) = Wide<T>::back(all.sign());
  if (job.out[2]) *output<Real<T>>(job.out[2], i, 1) = Real<T>(all.log_abs());
}
// By one warp, from the diagonal of U and whether the rows are an odd permutation.
template <class T, class Diagonal>
__device__ void multiply_diagonal(const SmallMatrices& job, i64 i, i64 n, bool is_odd,
                                  Diagonal&& diagonal) {
  using D = typename Wide<T>::type;
  const int lane = threadIdx.x % 32;
  LongProduct<D> all;
  for (i64 j = lane; j < n; j += 32) all.multiply(Wide<T>::of(diagonal(j)));
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const D other = from_lane(all.mantissa, lane ^ offset);
    all.multiply(other, __shfl_xor_sync(whole_warp, all.exponent, offset));
  }
  if (lane == 0) write_determinant<T>(job, i, is_odd, all);
}
// The same by a thread, of up to most_alone rows.
template <class T, class Diagonal>
__device__ void multiply_alone(const SmallMatrices& job, i64 i, int n, bool is_odd,
                               Diagonal&& diagonal) {
  using D = typename Wide<T>::type;
  LongProduct<D> of[most_alone];
#pragma unroll
  for (int j = 0; j < most_alone; ++j) {
    if (j < n) of[j].multiply(Wide<T>::of(diagonal(j)));
    // As by the lanes of a warp that have none: a complex infinity becomes a NaN.
    if (ops::is_complex_v<D>) of[j].multiply(LongProduct<D>().mantissa);
  }
#pragma unroll
  for (int half = most_alone / 2; half > 0; half /= 2) {
#pragma unroll
    for (int j = 0; j < half; ++j) of[j].multiply(of[j + half].mantissa, of[j + half].exponent);
  }
  write_determinant<T>(job, i, is_odd, of[0]);
}

struct Determinant {
  template <class T>
  struct Memory : Rows<T> {
    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : Rows<T>(from, job, job.rows) {}
  };

  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    const int n = job.rows, step = memory.step;
    T* const m = memory.m;
    int* const order = memory.order;
    const Source<T> a(job.a, i);
    for_each_element(team, n, n, [&](int r, int c) { m[r * step + c] = a(r, c); });
    team.sync();
    eliminate(team, m, n, n, step, order);
    if (team.warp == 0) {
      int inversions = 0;
      for (int r = team.lane; r < n; r += Team::lanes) {
        for (int s = 0; s < r; ++s) inversions += order[s] > order[r];
      }
      const auto diagonal = [&](i64 j) { return m[order[j] * step + j]; };
      if constexpr (Team::lanes == 1) {
        multiply_alone<T>(job, i, n, inversions % 2 != 0, diagonal);
      } else {
        multiply_diagonal<T>(job, i, n, sum_of_lanes(inversions) % 2 != 0, diagonal);
      }
    }
    team.sync();
  }
};

template <class T>
__global__ void __launch_bounds__(32)
    determinants_of_factors(const char* factors, const i64* pivots, i64 n,
                            const __grid_constant__ SmallMatrices job) {
  for (i64 i = blockIdx.x; i < job.count; i += gridDim.x) {
    int exchanges = 0;
    for (i64 j = threadIdx.x; j < n; j += 32) exchanges += pivots[i * n + j] != j + 1;
    const T* const lu = reinterpret_cast<const T*>(factors) + i * n * n;
    multiply_diagonal<T>(job, i, n, sum_of_lanes(exchanges) % 2 != 0,
                         [&](i64 j) { return lu[j * n + j]; });
  }
}

// ---- Cholesky -----------------------------------------------------------------------------------

struct Cholesky {
  template <class T>
  struct Memory {
    T* m;

    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : m(from.template take<T>(job.rows * odd(job.rows))) {}
  };

  // As L D L^H, the columns of L D in place; an upper factor is that of the transposed matrix.
  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    using R = Real<T>;
    const int n = job.rows, step = odd(n);
    T* const m = memory.m;
    const Source<T> a(job.a, i);
    for_each_element(team, n, n, [&](int r, int c) {
      if (c <= r) m[r * step + c] = job.upper ? conjugate(a(c, r)) : a(r, c);
    });
    team.sync();
    for (int j = 0; j < n; ++j) {
      const T corner = m[j * step + j];
      const R d = real(corner);
      const bool right = d > 0 && d <= std::numeric_limits<R>::max() && imaginary(corner) * 0 == 0;
      if (!right) {
        if (team.rank == 0) fail(job, i);
        team.sync();
        return;
      }
      for (int r = j + 1 + team.warp; r < n; r += team.warps) {
        T* const row = m + r * step;
        const T factor = scaled(row[j], -1 / d);
        for (int c = j + 1 + team.lane; c <= r; c += 32) {
          row[c] = fused(factor, conjugate(m[c * step + j]), row[c]);
        }
      }
      team.sync();
    }
    T* const out = output<T>(job.out[0], i, i64(n) * n);
    for_each_element(team, n, n, [&](int r, int c) {
      const int row = job.upper ? c : r, column = job.upper ? r : c;
      T x{};
      if (column <= row) {
        const R d = real(m[column * step + column]);
        x = scaled(m[row * step + column], 1 / sqrt(d));
        if (row == column) x = from_real<T>(sqrt(d));
      }
      out[r * n + c] = job.upper ? conjugate(x) : x;
    });
    team.sync();
  }
};

// ---- QR -----------------------------------------------------------------------------------------

// H = I - tau v v^H with v[j] = 1 makes column j of the matrix that was given beta e_j, as LAPACK's
// larfg has it; v = factor * (scale * column) below the diagonal.
template <class T>
struct Reflector {
  T tau{}, factor{};
  Real<T> beta, scale = 1;

  __device__ T below(T x) const { return product(scaled(x, scale), factor); }
};

// The reflector of column j, of which a lane holds N rows, from `lane` on.
template <int N, class T>
__device__ Reflector<T> reflector(const T (&x)[N], int lane, int m, int j) {
  using R = Real<T>;
  Reflector<T> h;
  R size = 0;
#pragma unroll
  for (int b = 0; b < N; ++b) {
    const int r = lane + 32 * b;
    if (r >= j && r < m) size = fmax(size, size_of(x[b]));
  }
  // Brought near 1, so that no square overflows or vanishes.
  const int exponent = scale_exponent(most_of_lanes(size));
  const R scale = power_of_two<R>(exponent);
  R below = 0;
  T mine{};
#pragma unroll
  for (int b = 0; b < N; ++b) {
    const int r = lane + 32 * b;
    if (r > j && r < m) below += squared(scaled(x[b], scale));
    if (b == j / 32) mine = x[b];
  }
  below = sum_of_lanes(below);
  const T alpha = scaled(from_lane(mine, j % 32), scale);
  if (below == 0 && imaginary(alpha) == 0) {
    h.beta = real(from_lane(mine, j % 32));
    return h;
  }
  const R beta = -copysign(sqrt(squared(alpha) + below), real(alpha));
  if constexpr (ops::is_complex_v<T>) {
    h.tau = {(beta - alpha.re) / beta, -alpha.im / beta};
    h.factor = Divide<T>(Complex<R>{alpha.re - beta, alpha.im})({1, 0});
  } else {
    h.tau = (beta - alpha) / beta;
    h.factor = 1 / (alpha - beta);
  }
  h.scale = scale;
  h.beta = beta * power_of_two<R>(-exponent);
  return h;
}

// The reflectors of w, whose columns stand in the order given, or as they are.
template <int N, class T, class Team>
__device__ void reflect(const Team& team, T* w, int m, int n, int step, const int* order,
                        Reflector<T>* h) {
  const int k = min(m, n), lane = team.lane;
  const auto column = [&](int c) { return w + (order ? order[c] : c) * step; };
  const auto load = [&](int j, T(&v)[N]) {
#pragma unroll
    for (int b = 0; b < N; ++b) {
      const int r = lane + 32 * b;
      v[b] = r < m ? column(j)[r] : T{};
    }
  };
  // By the warp that has changed the column, as soon as it has: if all warps did so, their roots
  // and quotients would take most of the time.
  const auto find = [&](int j) {
    T v[N];
    load(j, v);
    const Reflector<T> found = reflector<N>(v, lane, m, j);
    if (lane == 0) h[j] = found;
  };
  if (team.warp == 0 && k > 0) find(0);
  team.sync();
  for (int j = 0; j < k; ++j) {
    T v[N];
    load(j, v);
    const Reflector<T> mine = h[j];
#pragma unroll
    for (int b = 0; b < N; ++b) {
      const int r = lane + 32 * b;
      v[b] = r < j ? T{} : mine.below(v[b]);
      if (r == j) v[b] = from_real<T>(1);
    }
    for (int c = j + 1 + team.warp; c < n; c += team.warps) {
      T* const x = column(c);
      T dot{};
#pragma unroll
      for (int b = 0; b < N; ++b) {
        const int r = lane + 32 * b;
        if (r < m) dot = fused(conjugate(v[b]), x[r], dot);
      }
      dot = -product(conjugate(mine.tau), sum_of_lanes(dot));
#pragma unroll
      for (int b = 0; b < N; ++b) {
        const int r = lane + 32 * b;
        if (r < m && r >= j) x[r] = fused(v[b], dot, x[r]);
      }
      if (c == j + 1 && c < k) find(c);
    }
    team.sync();
  }
}

// store(row, column, value) for the first `columns` columns of the orthogonal factor.
template <int N, class T, class Team, class Store>
__device__ void form_q(const Team& team, const T* w, int m, int k, int step, const int* order,
                       const Reflector<T>* h, int columns, Store&& store) {
  const int lane = team.lane;
  for (int c = team.warp; c < columns; c += team.warps) {
    T q[N] = {};
#pragma unroll
    for (int b = 0; b < N; ++b) {
      if (lane + 32 * b == c) q[b] = from_real<T>(1);
    }
    for (int j = min(c, k - 1); j >= 0; --j) {
      const T* const x = w + (order ? order[j] : j) * step;
      const Reflector<T> mine = h[j];
      T v[N], dot{};
#pragma unroll
      for (int b = 0; b < N; ++b) {
        const int r = lane + 32 * b;
        v[b] = r > j && r < m ? mine.below(x[r]) : T{};
        if (r == j) v[b] = from_real<T>(1);
        dot = fused(conjugate(v[b]), q[b], dot);
      }
      dot = -product(mine.tau, sum_of_lanes(dot));
#pragma unroll
      for (int b = 0; b < N; ++b) q[b] = fused(v[b], dot, q[b]);
    }
#pragma unroll
    for (int b = 0; b < N; ++b) {
      const int r = lane + 32 * b;
      if (r < m) store(r, c, q[b]);
    }
  }
}

template <int N>
struct QR {
  template <class T>
  struct Memory {
    T* w;  // columns
    Reflector<T>* h;

    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : w(from.template take<T>(job.columns * odd(job.rows))),
          h(from.template take<Reflector<T>>(min(job.rows, job.columns))) {}
  };

  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    const int m = job.rows, n = job.columns, k = min(m, n), step = odd(m);
    T* const w = memory.w;
    Reflector<T>* const h = memory.h;
    const Source<T> a(job.a, i);
    for_each_element(team, m, n, [&](int r, int c) { w[c * step + r] = a(r, c); });
    team.sync();
    reflect<N, T>(team, w, m, n, step, nullptr, h);
    T* const r_out = output<T>(job.out[1], i, i64(job.right) * n);
    for_each_element(team, job.right, n, [&](int r, int c) {
      T x{};
      if (r < c && r < k) x = w[c * step + r];
      if (r == c && r < k) x = from_real<T>(h[r].beta);
      r_out[r * n + c] = x;
    });
    T* const q = output<T>(job.out[0], i, i64(m) * job.left);
    form_q<N, T>(team, w, m, k, step, nullptr, h, job.left,
                 [&](int r, int c, T x) { q[r * job.left + c] = x; });
    team.sync();
  }
};

// ---- Jacobi's rotations -------------------------------------------------------------------------

constexpr int most_sweeps = 60, per_lane = most_side / 32;

// Columns (p, q) times [[c, s], [-conj(s), c]] diagonalise [[a, g], [conj(g), b]], where the
// squares of b - a and g do not vanish both, or lose bits.
template <class T>
struct Rotation {
  Real<T> c;
  T s;
};
template <class T>
__device__ Rotation<T> rotation(Real<T> a, Real<T> b, T g) {
  using R = Real<T>;
  // Of at most 45 degrees, with g's phase: twice the angle has the cosine |d| / h and the sine
  // 2 |g| / h. Other threads wait: roots and quotients would take twice as long.
  const R d = b - a, of_h = rsqrt(fused(d, d, 4 * squared(g)));
  const R squared_c = fused(fabs(d), R(0.5) * of_h, R(0.5)), of_c = rsqrt(squared_c);
  return {squared_c * of_c, scaled(g, copysign(of_h * of_c, d))};
}
template <class T>
__device__ void rotate(const Rotation<T>& r, T& p, T& q) {
  const T old = p;
  p = fused(-conjugate(r.s), q, scaled(old, r.c));
  q = fused(r.s, old, scaled(q, r.c));
}

// The pair i of a round in which everyone of an even number of players meets another one.
__device__ void players(int count, int round, int i, int& p, int& q) {
  const int others = count - 1;
  p = i == 0 ? others : round + i;
  q = round - i;
  if (i > 0 && p >= others) p -= others;
  if (q < 0) q += others;
  if (p > q) {
    const int larger = p;
    p = q;
    q = larger;
  }
}

struct Eigh {
  template <class T>
  static constexpr int block_registers = sizeof(T) == 4   ? 48
                                         : sizeof(T) == 8 ? 56
                                                          : 64;

  template <class T>
  struct Memory {
    int even, step;
    T *m, *v;  // vectors as rows
    Rotation<T>* turns;
    Real<T>* values;
    int* order;
    unsigned long long* largest;

    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : even(job.rows + job.rows % 2),
          step(odd(even)),
          m(from.template take<T>(even * step)),
          v(from.template take<T>(job.out[1] ? even * step : 0)),
          turns(from.template take<Rotation<T>>(even / 2)),
          values(from.template take<Real<T>>(even)),
          order(from.template take<int>(even)),
          largest(from.template take<unsigned long long>(1)) {}
  };

  // Two-sided, all pairs of a round at once. A side that is odd gets a row and a column of zeros,
  // which no rotation touches.
  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    using R = Real<T>;
    const int n = job.rows, even = memory.even, step = memory.step, pairs = even / 2;
    T *const m = memory.m, *const v = memory.v;
    R* const values = memory.values;
    int* const order = memory.order;
    const bool with_vectors = job.out[1] != nullptr;
    const Source<T> a(job.a, i);
    unsigned long long largest = 0;
    for_each_element(team, even, even, [&](int r, int c) {
      T x{};
      if (r < n && c < n) {
        x = c <= r ? a(r, c) : conjugate(a(c, r));
        largest = max(largest, largest_key(x));
        if (r == c) x = from_real<T>(real(x));
      }
      m[r * step + c] = x;
      if (with_vectors) v[r * step + c] = from_real<T>(r == c);
    });
    int exponent;
    if (!find_scale<R>(team, job, i, largest, memory.largest, &exponent)) return;
    const R scale = power_of_two<R>(exponent);
    for_each_element(team, n, n,
                     [&](int r, int c) { m[r * step + c] = scaled(m[r * step + c], scale); });
    team.sync();
    R squares = 0;
    for (int r = 0; r < n; ++r) {
      for (int c = team.lane; c < n; c += 32) squares += squared(m[r * step + c]);
    }
    const R small = sqrt(sum_of_lanes(squares)) * std::numeric_limits<R>::epsilon() / R(n);
    team.sync();
    // A thread has some of the squares where the columns of a pair meet the rows of one. Of few
    // warps each finds the rotations of all pairs for itself; else the first one tells the others.
    const bool is_told = team.warps > 8;
    constexpr int most_squares = Team::of_block ? 1 : 2;
    int row_pair[most_squares], column_pair[most_squares];
#pragma unroll
    for (int e = 0; e < most_squares; ++e) {
      row_pair[e] = (team.rank + e * team.size) / pairs;
      column_pair[e] = (team.rank + e * team.size) % pairs;
    }
    // The vectors of a round's pairs turn in the next one, while its rotations are found. Of a side
    // that is odd the element beyond the end turns, too.
    Rotation<T> left[most_squares];
    int late[most_squares][2];
    bool are_late = false;
    const auto turn_vectors = [&] {
      if (!are_late) return;
      are_late = false;
#pragma unroll
      for (int e = 0; e < most_squares; ++e) {
        T* const p = v + late[e][0] * step + column_pair[e];
        T* const q = v + late[e][1] * step + column_pair[e];
        T x[2][2] = {{p[0], q[0]}, {p[pairs], q[pairs]}};
        rotate(left[e], x[0][0], x[0][1]);
        rotate(left[e], x[1][0], x[1][1]);
        if (row_pair[e] >= pairs) continue;
        p[0] = x[0][0];
        q[0] = x[0][1];
        p[pairs] = x[1][0];
        q[pairs] = x[1][1];
      }
    };
    bool turned = true;
    for (int sweep = 0; turned && sweep < most_sweeps; ++sweep) {
      turned = false;
      for (int round = 0; round + 1 < even; ++round) {
        int first = 0, second = 0;  // of the lane's pair
        if (team.lane < pairs) players(even, round, team.lane, first, second);
        T square[most_squares][2][2];
        int rows[most_squares][2], columns[most_squares][2];
#pragma unroll
        for (int e = 0; e < most_squares; ++e) {
          rows[e][0] = from_lane(first, row_pair[e] % 32);
          rows[e][1] = from_lane(second, row_pair[e] % 32);
          columns[e][0] = from_lane(first, column_pair[e]);
          columns[e][1] = from_lane(second, column_pair[e]);
#pragma unroll
          for (int r = 0; r < 2; ++r) {
#pragma unroll
            for (int c = 0; c < 2; ++c) square[e][r][c] = m[rows[e][r] * step + columns[e][c]];
          }
        }
        Rotation<T> turn{1, T{}};
        bool turns = false;
        if (team.lane < pairs && (!is_told || team.warp == 0)) {
          const T g = m[first * step + second];
          turns = size_of(g) > small;
          if (turns) {
            turn = rotation(real(m[first * step + first]), real(m[second * step + second]), g);
          }
        }
        if (is_told) {
          if (team.warp == 0 && team.lane < pairs) memory.turns[team.lane] = turn;
          if (team.warp > 0) turn_vectors();
          if (!team.any(turns)) continue;
          if (team.lane < pairs) turn = memory.turns[team.lane];
        } else if (!__any_sync(whole_warp, turns)) {
          continue;
        }
        turn_vectors();
        if (!is_told) team.sync();
        turned = true;
        are_late = with_vectors;
#pragma unroll
        for (int e = 0; e < most_squares; ++e) {
          late[e][0] = rows[e][0];
          late[e][1] = rows[e][1];
          left[e] = from_lane(turn, row_pair[e] % 32);
          const Rotation<T> right = from_lane(turn, column_pair[e]);
          auto& x = square[e];
          rotate(right, x[0][0], x[0][1]);
          rotate(right, x[1][0], x[1][1]);
          // Rows turn as conjugates of columns.
          const Rotation<T> across{left[e].c, conjugate(left[e].s)};
          rotate(across, x[0][0], x[1][0]);
          rotate(across, x[0][1], x[1][1]);
          if (row_pair[e] == column_pair[e] && size_of(left[e].s) != 0) {
            x[0][1] = x[1][0] = T{};
            if constexpr (ops::is_complex_v<T>) x[0][0].im = x[1][1].im = 0;
          }
        }
#pragma unroll
        for (int e = 0; e < most_squares; ++e) {
          if (row_pair[e] >= pairs) continue;
#pragma unroll
          for (int r = 0; r < 2; ++r) {
#pragma unroll
            for (int c = 0; c < 2; ++c) m[rows[e][r] * step + columns[e][c]] = square[e][r][c];
          }
        }
        team.sync();
      }
    }
    turn_vectors();
    if (turned && team.rank == 0) fail(job, i);
    for (int j = team.rank; j < n; j += team.size) values[j] = real(m[j * step + j]);
    team.sync();
    rank_values(team, values, n, false, order);
    team.sync();
    R* const values_out = output<R>(job.out[0], i, n);
    for (int j = team.rank; j < n; j += team.size) {
      values_out[j] = values[order[j]] * power_of_two<R>(-exponent);
    }
    if (with_vectors) {
      T* const out = output<T>(job.out[1], i, i64(n) * n);
      for_each_element(team, n, n, [&](int r, int c) { out[r * n + c] = v[order[c] * step + r]; });
    }
    team.sync();
  }
};

struct SVD {
  template <class T>
  struct Memory {
    int m, n;  // of the matrix or its adjoint, m >= n
    T *w, *v;  // columns
    Reflector<T>* h;
    Real<T>* values;
    int* order;
    unsigned long long* largest;

    template <class From>
    __host__ __device__ Memory(From& from, const SmallMatrices& job)
        : m(max(job.rows, job.columns)),
          n(min(job.rows, job.columns)),
          w(from.template take<T>(n * odd(m))),
          v(from.template take<T>(job.out[0] ? n * odd(n) : 0)),
          h(from.template take<Reflector<T>>(n)),
          values(from.template take<Real<T>>(n)),
          order(from.template take<int>(n)),
          largest(from.template take<unsigned long long>(1)) {}
  };

  // One-sided: w v = u s, of a wide matrix for its adjoint. Columns of w are made orthogonal; what
  // rounding leaves of that where they are small or zero, the reflectors of w make good.
  template <class T, class Team>
  __device__ static void run(const Team& team, const SmallMatrices& job, i64 i,
                             const Memory<T>& memory) {
    using R = Real<T>;
    const bool wide = job.rows < job.columns;
    const int m = memory.m, n = memory.n;
    const int step = odd(m), v_step = odd(n), even = n + n % 2, lane = team.lane;
    T *const w = memory.w, *const v = memory.v;
    Reflector<T>* const h = memory.h;
    R* const values = memory.values;
    int* const order = memory.order;
    const bool with_vectors = job.out[0] != nullptr;
    const Source<T> a(job.a, i);
    unsigned long long largest = 0;
    for_each_element(team, job.rows, job.columns, [&](int r, int c) {
      const T x = a(r, c);
      largest = max(largest, largest_key(x));
      w[wide ? r * step + c : c * step + r] = wide ? conjugate(x) : x;
    });
    if (with_vectors) {
      for_each_element(team, n, n, [&](int c, int r) { v[c * v_step + r] = from_real<T>(r == c); });
    }
    int exponent;
    if (!find_scale<R>(team, job, i, largest, memory.largest, &exponent)) return;
    const R scale = power_of_two<R>(exponent);
    for_each_element(team, n, m,
                     [&](int c, int r) { w[c * step + r] = scaled(w[c * step + r], scale); });
    team.sync();
    // Nothing is left to be gained for columns this much shorter than others, in squares.
    const R eps = std::numeric_limits<R>::epsilon(), negligible = eps * eps * eps * eps;
    bool turned = true;
    for (int sweep = 0; turned && sweep < most_sweeps; ++sweep) {
      bool mine = false;
      for (int round = 0; round + 1 < even; ++round) {
        for (int k = team.warp; k < even / 2; k += team.warps) {
          int p, q;
          players(even, round, k, p, q);
          if (q >= n) continue;
          T x[per_lane], y[per_lane], g{};
          R xx = 0, yy = 0;
#pragma unroll
          for (int b = 0; b < per_lane; ++b) {
            const int r = lane + 32 * b;
            x[b] = r < m ? w[p * step + r] : T{};
            y[b] = r < m ? w[q * step + r] : T{};
            xx += squared(x[b]);
            yy += squared(y[b]);
            g = fused(conjugate(x[b]), y[b], g);
          }
          xx = sum_of_lanes(xx);
          yy = sum_of_lanes(yy);
          g = sum_of_lanes(g);
          if (!(squared(g) > xx * yy * (eps * eps * R(m)))) continue;
          if (fmin(xx, yy) <= negligible * fmax(xx, yy)) continue;
          mine = true;
          const R unit = inverse_power(fmax(xx, yy));
          const Rotation<T> turn = rotation(xx * unit, yy * unit, scaled(g, unit));
#pragma unroll
          for (int b = 0; b < per_lane; ++b) {
            const int r = lane + 32 * b;
            rotate(turn, x[b], y[b]);
            if (r < m) {
              w[p * step + r] = x[b];
              w[q * step + r] = y[b];
            }
            if (with_vectors && r < n) {
              T s = v[p * v_step + r], t = v[q * v_step + r];
              rotate(turn, s, t);
              v[p * v_step + r] = s;
              v[q * v_step + r] = t;
            }
          }
        }
        team.sync();
      }
      turned = team.any(mine);
    }
    if (turned && team.rank == 0) fail(job, i);
    // The reflector that would remove a whole column knows its length.
    for (int c = team.warp; c < n; c += team.warps) {
      T x[per_lane];
#pragma unroll
      for (int b = 0; b < per_lane; ++b) {
        const int r = lane + 32 * b;
        x[b] = r < m ? w[c * step + r] : T{};
      }
      const R length = fabs(reflector<per_lane>(x, lane, m, 0).beta);
      if (lane == 0) values[c] = length;
    }
    team.sync();
    rank_values(team, values, n, true, order);
    team.sync();
    R* const s = output<R>(job.out[1], i, n);
    for (int j = team.rank; j < n; j += team.size) {
      s[j] = values[order[j]] * power_of_two<R>(-exponent);
    }
    if (with_vectors) {
      reflect<per_lane, T>(team, w, m, n, step, order, h);
      T* const u = output<T>(job.out[0], i, i64(job.rows) * job.left);
      T* const vh = output<T>(job.out[2], i, i64(job.right) * job.columns);
      form_q<per_lane, T>(team, w, m, n, step, order, h, wide ? job.right : job.left,
                          [&](int r, int c, T x) {
                            if (c < n && h[c].beta < 0) x = -x;
                            if (wide) {
                              vh[c * job.columns + r] = conjugate(x);
                            } else {
                              u[r * job.left + c] = x;
                            }
                          });
      for_each_element(team, n, n, [&](int j, int r) {
        const T x = v[order[j] * v_step + r];
        if (wide) {
          u[r * job.left + j] = x;
        } else {
          vh[j * job.columns + r] = conjugate(x);
        }
      });
    }
    team.sync();
  }
};

// ---- launches -----------------------------------------------------------------------------------

constexpr int most_threads = 1024, teams_of_a_block = 4;

template <class Factorisation, class T, bool is_block>
__device__ __forceinline__ void factorise_each(const SmallMatrices& job) {
  wait_for_earlier();
  extern __shared__ __align__(16) char memory[];
  const Team<is_block> team;
  const int teams = is_block ? 1 : teams_of_a_block, mine = is_block ? 0 : threadIdx.x / 32;
  Room room{memory + mine * job.shared_bytes};
  const typename Factorisation::template Memory<T> parts(room, job);
  for (i64 i = i64(blockIdx.x) * teams + mine; i < job.count; i += i64(gridDim.x) * teams) {
    Factorisation::run(team, job, i, parts);
  }
}
template <class Factorisation, class T, bool is_block>
__global__ void __launch_bounds__(is_block ? most_threads : 32 * teams_of_a_block)
    each_matrix(const __grid_constant__ SmallMatrices job) {
  factorise_each<Factorisation, T, is_block>(job);
}
// A block for each matrix, whose threads have no more registers than they need: the compiler takes
// all that the largest block leaves them, and fewer of the smaller ones would run side by side.
template <class Factorisation, class T, int registers>
__global__ void __maxnreg__(registers) each_matrix_in(const __grid_constant__ SmallMatrices job) {
  factorise_each<Factorisation, T, true>(job);
}
template <class Factorisation, class T, bool is_block>
const void* kernel_of() {
  if constexpr (is_block && requires { Factorisation::template block_registers<T>; }) {
    constexpr int registers = Factorisation::template block_registers<T>;
    return reinterpret_cast<const void*>(&each_matrix_in<Factorisation, T, registers>);
  } else {
    return reinterpret_cast<const void*>(&each_matrix<Factorisation, T, is_block>);
  }
}

// The smallest matrices, by a thread each. False where they are not so small or so many.
constexpr int threads_alone = 64, least_alone = 4096;
template <class Factorisation, class T>
__global__ void __launch_bounds__(threads_alone)
    each_matrix_alone(const __grid_constant__ SmallMatrices job) {
  wait_for_earlier();
  extern __shared__ __align__(16) char memory[];
  Room room{memory + threadIdx.x * job.shared_bytes};
  const typename Factorisation::template Memory<T> parts(room, job);
  const i64 step = i64(gridDim.x) * threads_alone;
  for (i64 i = i64(blockIdx.x) * threads_alone + threadIdx.x; i < job.count; i += step) {
    Factorisation::run(Alone(), job, i, parts);
  }
}
template <class Factorisation, class T>
bool launch_alone(SmallMatrices job, const char* verb) {
  if (job.rows > most_alone || job.sides > most_alone || job.count < least_alone) return false;
  Count count;
  const typename Factorisation::template Memory<T> parts(count, job);
  // Odd multiples of 16 bytes meet the most banks.
  job.shared_bytes = count.bytes | 16;
  void* arguments[] = {&job};
  launch(reinterpret_cast<const void*>(&each_matrix_alone<Factorisation, T>),
         grid_for(job.count, threads_alone), arguments,
         static_cast<std::size_t>(job.shared_bytes) * threads_alone, verb, threads_alone);
  return true;
}

// `work` are the elements of one matrix in shared memory; a block has so many threads, or as many
// as suit it. A matrix of no more than `of_warp` elements is a warp's.
template <class Factorisation, class T>
bool launch_each(SmallMatrices job, int work, const char* verb, int of_block = 0,
                 int of_warp = 256) {
  Count count;
  const typename Factorisation::template Memory<T> parts(count, job);
  job.shared_bytes = count.bytes;
  const bool is_block = work > of_warp;
  const int teams = is_block ? 1 : teams_of_a_block;
  const int bytes = count.bytes * teams;
  if (static_cast<std::size_t>(bytes) > properties().shared_bytes_opt_in) return false;
  const void* const kernel =
      is_block ? kernel_of<Factorisation, T, true>() : kernel_of<Factorisation, T, false>();
  // From 32 a side on a warp has one pair of columns of a rotation, or two.
  const int threads = !is_block      ? 32 * teams_of_a_block
                      : of_block > 0 ? of_block
                      : work < 1024  ? 256
                      : work < 1600  ? 512
                                     : most_threads;
  constexpr std::int64_t most_blocks = std::int64_t{1} << 30;
  const auto blocks = static_cast<unsigned>(std::min((job.count - 1) / teams + 1, most_blocks));
  void* arguments[] = {&job};
  launch(kernel, blocks, arguments, static_cast<std::size_t>(bytes), verb,
         static_cast<unsigned>(threads));
  return true;
}

// How many threads eliminate in a block. All of its warps look for the pivot, so that each has its
// price: as many blocks as a multiprocessor has room for, and matrices, have its threads together.
// On an H200 1000 inverses of 32 a side of float64 take 108 µs so, with 256 threads 143, 5000 of 20
// a side 157 of 319.
template <class Factorisation, class T>
int threads_of_elimination(const SmallMatrices& job, int work) {
  Count count;
  const typename Factorisation::template Memory<T> parts(count, job);
  const std::int64_t room =
      static_cast<std::int64_t>(properties().shared_bytes_opt_in) / (count.bytes + 1024);
  const std::int64_t matrices = (job.count - 1) / properties().multiprocessors + 1;
  const std::int64_t blocks = std::max<std::int64_t>(1, std::min(room, matrices));
  const std::uint64_t together = job.rows > 32 && blocks > 3 ? 1536 : 1024;
  const int threads = static_cast<int>(std::bit_floor(together / blocks));
  return std::clamp(threads, 64, work < 1024 ? 256 : 512);
}

bool is_small(const SmallMatrices& job, int most = most_side) {
  return job.rows <= most && job.columns <= most;
}

}  // namespace

bool solve_small(DType dtype, SmallMatrices job) {
  // Of many sides there would be little room for the matrix.
  if (!is_small(job) || job.sides > 4 * most_side) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int work = job.rows * (job.rows + job.sides);
    return launch_alone<Solve, T>(job, "solve") ||
           launch_each<Solve, T>(job, work, "solve", threads_of_elimination<Solve, T>(job, work));
  });
}

bool determinant_small(DType dtype, SmallMatrices job) {
  if (!is_small(job)) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int work = job.rows * job.rows;
    return launch_alone<Determinant, T>(job, "determinant") ||
           launch_each<Determinant, T>(job, work, "determinant",
                                       threads_of_elimination<Determinant, T>(job, work));
  });
}

bool cholesky_small(DType dtype, SmallMatrices job) {
  if (!is_small(job)) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    return launch_each<Cholesky, T>(job, job.rows * job.rows, "cholesky");
  });
}

bool qr_small(DType dtype, SmallMatrices job) {
  if (!is_small(job, most_side_of_qr)) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int work = job.rows * job.columns;
    if (job.rows <= most_side) {
      return launch_each<QR<2>, T>(job, work, "qr");
    }
    return launch_each<QR<4>, T>(job, work, "qr");
  });
}

bool eigh_small(DType dtype, SmallMatrices job) {
  if (!job.out[1] && values_small(dtype, job, false)) return true;
  if (!is_small(job)) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    const int pairs = (job.rows + 1) / 2;
    return launch_each<Eigh, T>(job, job.rows * job.rows, "eigh", (pairs * pairs + 31) / 32 * 32);
  });
}

bool svd_small(DType dtype, SmallMatrices job) {
  if (!job.out[0] && values_small(dtype, job, true)) return true;
  if (!is_small(job)) return false;
  return for_floating(dtype, [&](auto zero) {
    using T = decltype(zero);
    // Where matrices are few, warps that share the pairs of a small one take less time than one
    // that has them all: on an H100 it takes twice as long for 16 columns as a block for 24.
    const int of_warp = job.count <= 8 * properties().multiprocessors ? 64 : 256;
    return launch_each<SVD, T>(job, job.rows * job.columns, "svd", 0, of_warp);
  });
}

void determinant_of_factors(DType dtype, const char* factors, const std::int64_t* pivots,
                            std::int64_t n, const SmallMatrices& job) {
  const auto blocks = static_cast<unsigned>(std::min(job.count, std::int64_t{1} << 30));
  for_floating(dtype, [&](auto zero) {
    determinants_of_factors<decltype(zero)>
        <<<blocks, 32, 0, stream()>>>(factors, reinterpret_cast<const i64*>(pivots), n, job);
  });
  check_launch("determinant");
}

}  // namespace arrayx::cuda
