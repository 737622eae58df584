// See fft_columns.hpp. A block has all points of a few columns in shared memory, where passes of
// small radices sort themselves (Stockham).
#include "fft_columns.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <list>
#include <mutex>
#include <numbers>
#include <vector>

#include "loop.hpp"

namespace arrayx::cuda {

namespace {

constexpr int most_points = 256;  // of a block's columns: of 500 a copy to rows took less time
constexpr int most_factors = 12;
constexpr int column_bytes = 128;     // of a point of a block's columns
constexpr int fewest_elements = 192;  // of a block: with fewer a copy to rows took less time
constexpr int most_threads = 512;
constexpr i64 most_blocks = 65535;  // along a grid's second side
constexpr std::size_t most_tables = 64;

// What a launch is told: a thread block has 1 << width_bits columns of an index before them.
struct Pass {
  const char* in;
  char* out;
  const char* table;  // exp(-2 pi i j / points)
  i64 behind;
  i64 given, wanted, stored;  // along the axis
  int points, width_bits;
  int factors[most_factors], factor_count;
  bool real_in, real_out, inverse;
  double scale;
};

template <class R>
__device__ __forceinline__ Complex<R> times(Complex<R> a, Complex<R> b) {
  return {fma(a.re, b.re, -(a.im * b.im)), fma(a.re, b.im, a.im * b.re)};
}
template <class R>
__device__ __forceinline__ void meet(Complex<R>& a, Complex<R>& b) {
  const Complex<R> c = a;
  a = {c.re + b.re, c.im + b.im};
  b = {c.re - b.re, c.im - b.im};
}
// Times -i.
template <class R>
__device__ __forceinline__ Complex<R> turned(Complex<R> a) {
  return {a.im, -a.re};
}

// The transform of `radix` numbers; roots[j * step] = exp(-2 pi i j / radix).
template <class R>
__device__ __forceinline__ void transform(Complex<R> (&v)[2], const Complex<R>*, int) {
  meet(v[0], v[1]);
}
template <class R>
__device__ __forceinline__ void transform(Complex<R> (&v)[4], const Complex<R>*, int) {
  meet(v[0], v[2]);
  meet(v[1], v[3]);
  v[3] = turned(v[3]);
  meet(v[0], v[1]);
  meet(v[2], v[3]);
  const Complex<R> second = v[2];
  v[2] = v[1];
  v[1] = second;
}
template <class R>
__device__ __forceinline__ void transform(Complex<R> (&v)[8], const Complex<R>* roots, int step) {
  constexpr R half = R(0.70710678118654752440);
  Complex<R> even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
  transform(even, roots, step);
  transform(odd, roots, step);
  odd[1] = {(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
  odd[2] = turned(odd[2]);
  odd[3] = {(odd[3].im - odd[3].re) * half, -(odd[3].re + odd[3].im) * half};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    v[j] = even[j];
    v[j + 4] = odd[j];
    meet(v[j], v[j + 4]);
  }
}
// Of an odd prime: x[k] and x[radix - k] have the same cosines and opposite sines.
template <class R, int radix>
__device__ __forceinline__ void transform(Complex<R> (&v)[radix], const Complex<R>* roots,
                                          int step) {
  constexpr int half = radix / 2;
  Complex<R> root[half + 1];
#pragma unroll
  for (int j = 1; j <= half; ++j) root[j] = roots[j * step];
#pragma unroll
  for (int k = 1; k <= half; ++k) meet(v[k], v[radix - k]);
  Complex<R> first = v[0], result[radix];
#pragma unroll
  for (int k = 1; k <= half; ++k) first = {first.re + v[k].re, first.im + v[k].im};
#pragma unroll
  for (int m = 1; m <= half; ++m) {
    Complex<R> even = v[0], odd{};
#pragma unroll
    for (int k = 1; k <= half; ++k) {
      const int j = k * m % radix;
      const R cosine = root[j > half ? radix - j : j].re;
      const R sine = j > half ? -root[radix - j].im : root[j].im;
      even = {fma(cosine, v[k].re, even.re), fma(cosine, v[k].im, even.im)};
      odd = {fma(sine, v[radix - k].re, odd.re), fma(sine, v[radix - k].im, odd.im)};
    }
    // exp(-i t) x + exp(i t) y = cos t (x + y) + i (-sin t) (x - y)
    result[m] = {even.re - odd.im, even.im + odd.re};
    result[radix - m] = {even.re + odd.im, even.im - odd.re};
  }
  v[0] = first;
#pragma unroll
  for (int m = 1; m < radix; ++m) v[m] = result[m];
}

// What a column's points are in memory. Those of a kind are all there, so that nothing is to be
// decided between the loads of a thread, which would wait for one another.
enum class Points { any, complex, from_real, to_real };

// Reads points of one column as complex numbers, and writes them.
template <class R, Points kind>
struct Column {
  const Pass& p;
  i64 from, to;  // of the axis's first element

  __device__ Column(const Pass& pass, i64 column)
      : p(pass),
        from(blockIdx.y * p.given * p.behind + column),
        to(blockIdx.y * p.stored * p.behind + column) {}
  // An inverse transform is that of numbers whose parts are exchanged.
  __device__ Complex<R> exchanged(Complex<R> x) const {
    return p.inverse ? Complex<R>{x.im, x.re} : x;
  }
  __device__ Complex<R> load(int point) const {
    const auto element = [&](i64 i) {
      return reinterpret_cast<const Complex<R>*>(p.in)[from + i * p.behind];
    };
    if constexpr (kind == Points::complex) return exchanged(element(point));
    const bool to_real = kind == Points::to_real || (kind == Points::any && p.real_out);
    const bool from_real = kind == Points::from_real || (kind == Points::any && p.real_in);
    const bool is_mirrored = to_real && 2 * point > p.points;
    const i64 at = is_mirrored ? p.points - point : point;
    Complex<R> x{0, 0};
    if (kind == Points::any && at >= p.given) return x;
    if (from_real) {
      x.re = reinterpret_cast<const R*>(p.in)[from + at * p.behind];
    } else {
      x = element(at);
      if (is_mirrored) x.im = -x.im;
      if (to_real && (at == 0 || 2 * at == p.points)) x.im = 0;
    }
    return exchanged(x);
  }
  __device__ void store(int point, Complex<R> x) const {
    const bool is_part = kind == Points::any || kind == Points::from_real;
    if (is_part && point >= p.wanted) return;
    const i64 at = to + point * p.behind;
    x = exchanged(x);
    x = {x.re * R(p.scale), x.im * R(p.scale)};
    if (kind == Points::to_real || (kind == Points::any && p.real_out)) {
      reinterpret_cast<R*>(p.out)[at] = x.re;
    } else {
      reinterpret_cast<Complex<R>*>(p.out)[at] = x;
    }
  }
};

template <int radix, class R, Points kind>
__device__ __forceinline__ void run_factor(const Pass& p, const Column<R, kind>& column,
                                           bool is_there, int done, const Complex<R>* in,
                                           Complex<R>* out, int x) {
  const int width = 1 << p.width_bits, count = p.points / radix;
  const Complex<R>* const table = reinterpret_cast<const Complex<R>*>(p.table);
  const int step = count / done;
  for (int j = threadIdx.x >> p.width_bits; j < count; j += blockDim.x >> p.width_bits) {
    Complex<R> v[radix];
    if (in) {
#pragma unroll
      for (int r = 0; r < radix; ++r) v[r] = in[(j + r * count) * width + x];
    } else {
#pragma unroll
      for (int r = 0; r < radix; ++r) {
        v[r] = is_there ? column.load(j + r * count) : Complex<R>{0, 0};
      }
    }
    const int k = j % done;
    if (done > 1) {
#pragma unroll
      for (int r = 1; r < radix; ++r) v[r] = times(v[r], table[r * k * step]);
    }
    transform(v, table, count);
    const int to = (j - k) * radix + k;
    if (out) {
#pragma unroll
      for (int r = 0; r < radix; ++r) out[(to + r * done) * width + x] = v[r];
    } else if (is_there) {
#pragma unroll
      for (int r = 0; r < radix; ++r) column.store(to + r * done, v[r]);
    }
  }
}

template <class R, bool with_large_primes, Points kind>
__global__ void __launch_bounds__(most_threads, with_large_primes ? 1 : 2)
    each_column(const __grid_constant__ Pass p) {
  extern __shared__ __align__(16) char memory[];
  const int width = 1 << p.width_bits, x = threadIdx.x & (width - 1);
  Complex<R>* const buffer = reinterpret_cast<Complex<R>*>(memory);
  const i64 at = i64(blockIdx.x) * width + x;
  const bool is_there = at < p.behind;
  const Column<R, kind> column(p, at);
  int done = 1;
  for (int f = 0; f < p.factor_count; ++f) {
    const Complex<R>* const in = f == 0 ? nullptr : buffer + (f + 1) % 2 * p.points * width;
    Complex<R>* const out = f + 1 == p.factor_count ? nullptr : buffer + f % 2 * p.points * width;
    const auto run = [&](auto radix) {
      run_factor<decltype(radix)::value>(p, column, is_there, done, in, out, x);
    };
    const int radix = p.factors[f];
    if (with_large_primes) {
      if (radix == 11) run(std::integral_constant<int, 11>{});
      if (radix == 13) run(std::integral_constant<int, 13>{});
      if (radix == 17) run(std::integral_constant<int, 17>{});
    }
    if (radix == 2) run(std::integral_constant<int, 2>{});
    if (radix == 3) run(std::integral_constant<int, 3>{});
    if (radix == 4) run(std::integral_constant<int, 4>{});
    if (radix == 5) run(std::integral_constant<int, 5>{});
    if (radix == 7) run(std::integral_constant<int, 7>{});
    if (radix == 8) run(std::integral_constant<int, 8>{});
    done *= radix;
    __syncthreads();
  }
}

// ---- lengths, tables and launches ---------------------------------------------------------------

constexpr int radices[] = {17, 13, 11, 7, 5, 3, 8, 4, 2};

// The radices of a number of points, or none.
std::vector<int> factors_of(i64 points) {
  std::vector<int> factors;
  for (const int radix : radices) {
    for (; points % radix == 0 && points > 1; points /= radix) factors.push_back(radix);
  }
  if (points != 1 || factors.size() > most_factors) factors.clear();
  return factors;
}

struct Table {
  int device;
  DType dtype;
  int n;
  StorageRef storage;
};

// exp(-2 pi i j / n) for j < n, on the device.
const char* table_of(DType dtype, int n) {
  static std::list<Table>* const tables = new std::list<Table>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int device = properties().index;
  for (auto t = tables->begin(); t != tables->end(); ++t) {
    if (t->device == device && t->dtype == dtype && t->n == n) {
      tables->splice(tables->begin(), *tables, t);
      return static_cast<const char*>(t->storage->data);
    }
  }
  const auto fill = [&](auto real) {
    using R = decltype(real);
    std::vector<std::complex<R>> values(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j) {
      // Within an eighth of a turn sines and cosines are at their most exact.
      const int quarters = (8 * j + n) / (2 * n), rest = 4 * j - quarters * n;
      const long double angle = std::numbers::pi_v<long double> / 2 * rest / n;
      const long double c = std::cos(angle), s = std::sin(angle);
      const long double re[] = {c, -s, -c, s}, im[] = {s, c, -s, -c};
      values[static_cast<std::size_t>(j)] = {static_cast<R>(re[quarters % 4]),
                                             static_cast<R>(-im[quarters % 4])};
    }
    const std::size_t bytes = values.size() * sizeof values[0];
    StorageRef storage = allocate(static_cast<std::int64_t>(bytes));
    check(cudaMemcpyAsync(storage->data, values.data(), bytes, cudaMemcpyHostToDevice, stream()),
          "fft");
    if (tables->size() >= most_tables) tables->pop_back();
    tables->push_front({device, dtype, n, storage});
  };
  if (dtype == DType::complex64) {
    fill(f32{});
  } else {
    fill(f64{});
  }
  return static_cast<const char*>(tables->front().storage->data);
}

}  // namespace

bool are_columns(const Columns& c) {
  const i64 item = itemsize(complex_dtype(c.in)), bytes = c.before * c.length * c.behind * item;
  // A block's columns, twice, must fit.
  constexpr i64 most_bytes = 2 * most_points * column_bytes;
  // Beyond the caches of an H100 these take 0.6 to 0.9 of the time that cuFFT and a copy to rows
  // take.
  return c.length <= most_points && c.length * column_bytes >= fewest_elements * item &&
         c.before > 1 && c.before <= most_blocks && c.behind * item >= column_bytes / 2 &&
         bytes >= static_cast<i64>(properties().l2_bytes) &&
         most_bytes <= static_cast<i64>(properties().shared_bytes_opt_in) &&
         !factors_of(c.length).empty();
}

void transform_columns(const Columns& c, const char* in, char* out) {
  const DType dtype = complex_dtype(c.in);
  const std::vector<int> factors = factors_of(c.length);
  Pass p{};
  p.in = in;
  p.out = out;
  p.points = static_cast<int>(c.length);
  p.table = table_of(dtype, p.points);
  p.behind = c.behind;
  p.given = c.given;
  p.wanted = c.wanted;
  p.stored = std::max(c.stored, c.wanted);
  p.factor_count = static_cast<int>(factors.size());
  std::copy(factors.begin(), factors.end(), p.factors);
  p.real_in = !is_complex(c.in);
  p.real_out = !is_complex(c.out);
  p.inverse = c.inverse;
  p.scale = c.scale;
  const int item = itemsize(dtype);
  int width = column_bytes / item;
  while (width / 2 >= p.behind) width /= 2;
  while (1 << p.width_bits < width) ++p.width_bits;
  const std::size_t bytes =
      static_cast<std::size_t>(p.points) * width * item * std::min(p.factor_count - 1, 2);
  const bool all_given = c.given >= (p.real_out ? c.length / 2 + 1 : c.length);
  const Points kind = !all_given             ? Points::any
                      : p.real_in            ? Points::from_real
                      : c.wanted != c.length ? Points::any
                      : p.real_out           ? Points::to_real
                                             : Points::complex;
  const bool large = factors.front() > 8;
  const auto kernel_of = [&](auto real) {
    const auto of_kind = [&](auto points) {
      using R = decltype(real);
      return large ? reinterpret_cast<const void*>(&each_column<R, true, decltype(points)::value>)
                   : reinterpret_cast<const void*>(&each_column<R, false, decltype(points)::value>);
    };
    switch (kind) {
      case Points::complex:
        return of_kind(std::integral_constant<Points, Points::complex>{});
      case Points::from_real:
        return of_kind(std::integral_constant<Points, Points::from_real>{});
      case Points::to_real:
        return of_kind(std::integral_constant<Points, Points::to_real>{});
      default:
        return of_kind(std::integral_constant<Points, Points::any>{});
    }
  };
  const void* const kernel = dtype == DType::complex64 ? kernel_of(f32{}) : kernel_of(f64{});
  allow_shared_bytes(kernel, bytes, "fft");
  int threads = 64;
  while (threads < most_threads && 8 * threads < p.points * width) threads *= 2;
  void* arguments[] = {&p};
  const dim3 grid(static_cast<unsigned>((p.behind - 1) / width + 1),
                  static_cast<unsigned>(c.before));
  check(cudaLaunchKernel(kernel, grid, dim3(static_cast<unsigned>(threads)), arguments, bytes,
                         stream()),
        "fft");
}

}  // namespace arrayx::cuda
