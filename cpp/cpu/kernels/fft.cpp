// Fourier transforms in SIMD lanes; fft_kernels.hpp says how the data stand. Everything here is
// written once for any vector: T is the real type, N the lanes.
#include "fft_kernels.hpp"

#include "../kernels.hpp"
#include "../simd/vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::mul_add;
using ops::Vec;

// A complex number of vectors (or of scalars).
template <class V>
struct Complex {
  V re, im;

  ARRAYX_HD friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  ARRAYX_HD friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  ARRAYX_HD friend Complex operator*(Complex a, Complex b) {
    return {mul_add(-a.im, b.im, a.re * b.re), mul_add(a.im, b.re, a.re * b.im)};
  }
};
// -i z
template <class V>
ARRAYX_HD Complex<V> quarter_turn(Complex<V> z) {
  return {z.im, -z.re};
}
template <class V>
ARRAYX_HD Complex<V> conj(Complex<V> z) {
  return {z.re, -z.im};
}
template <class V>
ARRAYX_HD Complex<V> swapped(Complex<V> z) {
  return {z.im, z.re};
}

// ---- access -----------------------------------------------------------------------------------

// Element i of a block.
template <class T, int N>
ARRAYX_HD Complex<Vec<T, N>> load(const T* block, i64 i) {
  return {Vec<T, N>::load(block + 2 * N * i), Vec<T, N>::load(block + 2 * N * i + N)};
}
template <class T, int N>
ARRAYX_HD void store(T* block, i64 i, Complex<Vec<T, N>> z) {
  z.re.store(block + 2 * N * i);
  z.im.store(block + 2 * N * i + N);
}
// Complex number i of a table, in all lanes.
template <class T, int N>
ARRAYX_HD Complex<Vec<T, N>> splat(const T* table, i64 i) {
  return {Vec<T, N>(table[2 * i]), Vec<T, N>(table[2 * i + 1])};
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I>
struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};

// a0 b0 a1 b1 …, the first and the second half.
template <class T, int N, int... I>
ARRAYX_HD void zip(Vec<T, N>& a, Vec<T, N>& b, Indices<I...>) {
  const auto low = __builtin_shufflevector(a.v, b.v, (I % 2 * N + I / 2)...);
  const auto high = __builtin_shufflevector(a.v, b.v, (I % 2 * N + I / 2 + N / 2)...);
  a.v = low;
  b.v = high;
}
// The inverse: even and odd items of a, then b.
template <class T, int N, int... I>
ARRAYX_HD void unzip(Vec<T, N>& a, Vec<T, N>& b, Indices<I...>) {
  const auto even = __builtin_shufflevector(a.v, b.v, (2 * I)...);
  const auto odd = __builtin_shufflevector(a.v, b.v, (2 * I + 1)...);
  a.v = even;
  b.v = odd;
}
template <class T, int N, int... I>
ARRAYX_HD Vec<T, N> reversed(Vec<T, N> a, Indices<I...>) {
  return Vec<T, N>(__builtin_shufflevector(a.v, a.v, (N - 1 - I)...));
}

// N contiguous complex numbers, and back.
template <class T, int N>
ARRAYX_HD Complex<Vec<T, N>> load_interleaved(const T* p) {
  Complex<Vec<T, N>> z{Vec<T, N>::load(p), Vec<T, N>::load(p + N)};
  unzip(z.re, z.im, typename MakeIndices<N>::type{});
  return z;
}
template <class T, int N>
ARRAYX_HD void store_interleaved(T* p, Complex<Vec<T, N>> z) {
  zip(z.re, z.im, typename MakeIndices<N>::type{});
  z.re.store(p);
  z.im.store(p + N);
}

template <class T, int N>
ARRAYX_HD void transpose(Vec<T, N> (&v)[N]) {
  Vec<T, N> w[N];
  // Each round zips row i with row i + N/2; after log2 N of them rows have become columns.
#pragma GCC unroll 4
  for (int width = 1; width < N; width *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) w[i] = v[i];
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      v[2 * i] = w[i];
      v[2 * i + 1] = w[i + N / 2];
      zip(v[2 * i], v[2 * i + 1], typename MakeIndices<N>::type{});
    }
  }
}

// ---- butterflies ------------------------------------------------------------------------------

template <int R>
struct OddRoots;
#define ARRAYX_ODD_ROOTS(R, cosines, sines)                     \
  template <>                                                   \
  struct OddRoots<R> {                                          \
    static constexpr double cosine[] = {ARRAYX_UNPACK cosines}; \
    static constexpr double sine[] = {ARRAYX_UNPACK sines};     \
  };
#define ARRAYX_UNPACK(...) __VA_ARGS__
// Of 2 pi k / R for k = 1 … (R - 1) / 2.
ARRAYX_ODD_ROOTS(3, (-0.5), (0.86602540378443864676))
ARRAYX_ODD_ROOTS(5, (0.3090169943749474241, -0.8090169943749474241),
                 (0.95105651629515357212, 0.58778525229247312917))
ARRAYX_ODD_ROOTS(7, (0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624),
                 (0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048))
ARRAYX_ODD_ROOTS(11,
                 (0.84125353283118116886, 0.41541501300188642553, -0.14231483827328514044,
                  -0.65486073394528506406, -0.95949297361449738989),
                 (0.54064081745559758211, 0.90963199535451837141, 0.98982144188093273238,
                  0.75574957435425828377, 0.28173255684142969771))
ARRAYX_ODD_ROOTS(13,
                 (0.8854560256532098959, 0.56806474673115580251, 0.12053668025532305335,
                  -0.35460488704253562597, -0.74851074817110109863, -0.97094181742605202716),
                 (0.46472317204376854566, 0.82298386589365639458, 0.9927088740980539928,
                  0.93501624268541482344, 0.66312265824079520238, 0.23931566428755776715))
#undef ARRAYX_UNPACK
#undef ARRAYX_ODD_ROOTS

// x becomes its transform. Odd lengths pair x[k] with x[R - k]: half the multiplications.
template <int R, class T, int N>
ARRAYX_HD void butterfly(Complex<Vec<T, N>> (&x)[R]) {
  using V = Vec<T, N>;
  using C = Complex<V>;
  if constexpr (R == 2) {
    const C a = x[0];
    x[0] = a + x[1];
    x[1] = a - x[1];
  } else if constexpr (R == 4) {
    const C a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = quarter_turn(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (R == 8) {
    C even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
    butterfly<4>(even);
    butterfly<4>(odd);
    // Odd elements 1 and 3 turn by an eighth: the root's factor goes into the sums.
    const V root(T(0.70710678118654752440));
    odd[1] = {odd[1].re + odd[1].im, odd[1].im - odd[1].re};
    odd[2] = quarter_turn(odd[2]);
    odd[3] = {odd[3].im - odd[3].re, -(odd[3].re + odd[3].im)};
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      if (j % 2 == 0) {
        x[j] = even[j] + odd[j];
        x[j + 4] = even[j] - odd[j];
      } else {
        x[j] = {mul_add(odd[j].re, root, even[j].re), mul_add(odd[j].im, root, even[j].im)};
        x[j + 4] = {mul_add(-odd[j].re, root, even[j].re), mul_add(-odd[j].im, root, even[j].im)};
      }
    }
  } else {
    constexpr int half = (R - 1) / 2;
    C sum[half], difference[half];
    C total = x[0];
#pragma GCC unroll 8
    for (int k = 0; k < half; ++k) {
      sum[k] = x[k + 1] + x[R - 1 - k];
      difference[k] = x[k + 1] - x[R - 1 - k];
      total = total + sum[k];
    }
#pragma GCC unroll 8
    for (int j = 1; j <= half; ++j) {
      C a = x[0], b{};
#pragma GCC unroll 8
      for (int k = 1; k <= half; ++k) {
        const int turn = j * k % R;
        const bool upper = turn > half;
        const int at = (upper ? R - turn : turn) - 1;
        const V c = T(OddRoots<R>::cosine[at]);
        const V s = T(upper ? -OddRoots<R>::sine[at] : OddRoots<R>::sine[at]);
        a.re = mul_add(sum[k - 1].re, c, a.re);
        a.im = mul_add(sum[k - 1].im, c, a.im);
        // Without the zero to start with, which costs a register and an operation.
        b.re = k == 1 ? difference[k - 1].re * s : mul_add(difference[k - 1].re, s, b.re);
        b.im = k == 1 ? difference[k - 1].im * s : mul_add(difference[k - 1].im, s, b.im);
      }
      const C turned = quarter_turn(b);
      x[j] = a + turned;
      x[R - j] = a - turned;
    }
    x[0] = total;
  }
}

// One pass with a butterfly of its own. Of p = 0 all twiddles are 1.
template <int R, class T, int N>
void pass(const FftPass& plan, const T* in, T* out) {
  const i64 m = plan.m, s = plan.s;
  const T* twiddles = static_cast<const T*>(plan.twiddles);
  for (i64 q = 0; q < s; ++q) {
    Complex<Vec<T, N>> x[R];
#pragma GCC unroll 16
    for (int k = 0; k < R; ++k) x[k] = load<T, N>(in, q + s * m * k);
    butterfly<R>(x);
#pragma GCC unroll 16
    for (int j = 0; j < R; ++j) store<T, N>(out, q + s * j, x[j]);
  }
  for (i64 p = 1; p < m; ++p) {
    const T* w = twiddles + 2 * (R - 1) * p;
    for (i64 q = 0; q < s; ++q) {
      Complex<Vec<T, N>> x[R];
#pragma GCC unroll 16
      for (int k = 0; k < R; ++k) x[k] = load<T, N>(in, q + s * (p + m * k));
      butterfly<R>(x);
      T* to = out + 2 * N * (q + s * R * p);
      store<T, N>(to, 0, x[0]);
#pragma GCC unroll 16
      for (int j = 1; j < R; ++j) store<T, N>(to, s * j, x[j] * splat<T, N>(w, j - 1));
    }
  }
}

// The same for any odd radix. Sums are of runs of 8: their error is half that of one long sum.
template <class T, int N>
void generic_pass(const FftPass& plan, const T* in, T* out) {
  using V = Vec<T, N>;
  using C = Complex<V>;
  const int radix = plan.radix, half = (radix - 1) / 2;
  const i64 m = plan.m, s = plan.s;
  const T* twiddles = static_cast<const T*>(plan.twiddles);
  const T* roots = static_cast<const T*>(plan.roots);
  C sum[max_fft_radix / 2], difference[max_fft_radix / 2];
  for (i64 p = 0; p < m; ++p) {
    const T* w = twiddles + 2 * (radix - 1) * p;
    for (i64 q = 0; q < s; ++q) {
      const C first = load<T, N>(in, q + s * p);
      C total = first;
      for (int k = 0; k < half; ++k) {
        const C a = load<T, N>(in, q + s * (p + m * (k + 1)));
        const C b = load<T, N>(in, q + s * (p + m * (radix - 1 - k)));
        sum[k] = a + b;
        difference[k] = a - b;
        total = total + sum[k];
      }
      T* to = out + 2 * N * (q + s * radix * p);
      store<T, N>(to, 0, total);
      for (int j = 1; j <= half; ++j) {
        const V zero(T(0));
        C a = first, b{zero, zero};
        int turn = 0;
        for (int start = 0; start < half; start += 8) {
          const int end = start + 8 < half ? start + 8 : half;
          C part{zero, zero}, turned{zero, zero};
          for (int k = start; k < end; ++k) {
            turn += j;
            if (turn >= radix) turn -= radix;
            const V c(roots[2 * turn]), minus_s(roots[2 * turn + 1]);
            part.re = mul_add(sum[k].re, c, part.re);
            part.im = mul_add(sum[k].im, c, part.im);
            turned.re = mul_add(difference[k].re, minus_s, turned.re);
            turned.im = mul_add(difference[k].im, minus_s, turned.im);
          }
          a = a + part;
          b = b + turned;
        }
        C left = a - quarter_turn(b), right = a + quarter_turn(b);
        if (p > 0) {
          left = left * splat<T, N>(w, j - 1);
          right = right * splat<T, N>(w, radix - j - 1);
        }
        store<T, N>(to, s * j, left);
        store<T, N>(to, s * (radix - j), right);
      }
    }
  }
}

// ---- a transform ------------------------------------------------------------------------------

// Returns the buffer in which the result stands.
template <class T, int N>
T* run_passes(const FftLanePlan& plan, T* data, T* scratch) {
  for (int i = 0; i < plan.pass_count; ++i) {
    const FftPass& p = plan.passes[i];
    switch (p.radix) {
      case 2:
        pass<2, T, N>(p, data, scratch);
        break;
      case 3:
        pass<3, T, N>(p, data, scratch);
        break;
      case 4:
        pass<4, T, N>(p, data, scratch);
        break;
      case 5:
        pass<5, T, N>(p, data, scratch);
        break;
      case 7:
        pass<7, T, N>(p, data, scratch);
        break;
      case 8:
        pass<8, T, N>(p, data, scratch);
        break;
      case 11:
        pass<11, T, N>(p, data, scratch);
        break;
      case 13:
        pass<13, T, N>(p, data, scratch);
        break;
      default:
        generic_pass<T, N>(p, data, scratch);
    }
    T* result = scratch;
    scratch = data;
    data = result;
  }
  return data;
}

template <class T, int N>
void transform(const FftLanePlan& plan, void* data_bytes, void* scratch_bytes) {
  T* data = static_cast<T*>(data_bytes);
  T* scratch = static_cast<T*>(scratch_bytes);
  if (!plan.convolution) {
    run_passes<T, N>(plan, data, scratch);
    return;
  }
  const T* chirp = static_cast<const T*>(plan.chirp);
  const T* spectrum = static_cast<const T*>(plan.spectrum);
  for (i64 i = 0; i < plan.n; ++i) {
    store<T, N>(data, i, load<T, N>(data, i) * splat<T, N>(chirp, i));
  }
  const Vec<T, N> zero(T(0));
  for (i64 i = plan.n; i < plan.block; ++i) store<T, N>(data, i, {zero, zero});
  T* result = run_passes<T, N>(*plan.convolution, data, scratch);
  T* other = result == data ? scratch : data;
  for (i64 i = 0; i < plan.block; ++i) {
    store<T, N>(result, i, swapped(load<T, N>(result, i) * splat<T, N>(spectrum, i)));
  }
  // Two transforms: an even number of passes, so the result stands in `data` again.
  T* back = run_passes<T, N>(*plan.convolution, result, other);
  for (i64 i = 0; i < plan.n; ++i) {
    store<T, N>(back, i, swapped(load<T, N>(back, i)) * splat<T, N>(chirp, i));
  }
}

// ---- between arrays and blocks ----------------------------------------------------------------

template <class T>
ARRAYX_HD T load_scalar(const char* p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

// Whether the lanes of group g are neighbours in memory.
template <int N>
bool neighbours(const FftMove& move, int g, i64 bytes) {
  char* const* base = move.base + g * N;
  for (int l = 1; l < N; ++l) {
    if (base[l] != base[0] + l * bytes) return false;
  }
  return true;
}

template <class T, int N>
void gather_group(const FftMove& move, char* const* base, T* block) {
  using V = Vec<T, N>;
  constexpr i64 size = sizeof(T);
  const int swap = move.swap ? 1 : 0;
  const V zero(T(0));
  const bool pairs = move.form != FftForm::real;  // whether the array holds imaginary parts
  // Parts (real numbers of the array) of each lane, in order.
  const i64 parts = move.form == FftForm::complex ? 2 * move.count : move.count;
  const i64 elements = pairs ? (parts + 1) / 2 : parts;
  i64 done = 0;
  if (move.stride == (move.form == FftForm::complex ? 2 * size : size)) {
    for (; done + N <= parts; done += N) {
      V v[N];
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) v[l] = V::load(base[l] + done * size);
      transpose(v);
      if (pairs) {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) v[i].store(block + ((done + i) ^ swap) * N);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) {
          v[i].store(block + (2 * (done + i) + swap) * N);
          zero.store(block + (2 * (done + i) + 1 - swap) * N);
        }
      }
    }
  }
  for (; done < parts; ++done) {
    const i64 offset = move.form == FftForm::complex ? done / 2 * move.stride + done % 2 * size
                                                     : done * move.stride;
    T* to = block + (pairs ? done ^ swap : 2 * done + swap) * N;
    for (int l = 0; l < N; ++l) to[l] = load_scalar<T>(base[l] + offset);
    if (!pairs) zero.store(block + (2 * done + 1 - swap) * N);
  }
  if (pairs && parts % 2 != 0) zero.store(block + (parts ^ swap) * N);
  for (i64 i = elements; i < move.n; ++i) store<T, N>(block, i, {zero, zero});
  if (move.conjugate && pairs) {
    for (i64 i = 0; i < elements; ++i) {
      T* imaginary = block + (2 * i + 1 - swap) * N;
      (-V::load(imaginary)).store(imaginary);
    }
  }
}

template <class T, int N>
void gather(const FftMove& move, void* blocks) {
  using V = Vec<T, N>;
  using C = Complex<V>;
  const auto block = [&](int g) {
    return reinterpret_cast<T*>(static_cast<char*>(blocks) + g * move.pitch);
  };
  const i64 item = move.form == FftForm::complex ? 2 * sizeof(T) : sizeof(T);
  bool columns = true;
  for (int g = 0; g < move.groups && columns; ++g) columns = neighbours<N>(move, g, item);
  if (!columns) {
    for (int g = 0; g < move.groups; ++g) gather_group<T, N>(move, move.base + g * N, block(g));
    return;
  }
  const V zero(T(0));
  const i64 elements = move.form == FftForm::real_pairs ? (move.count + 1) / 2 : move.count;
  const i64 step = move.form == FftForm::real_pairs ? 2 * move.stride : move.stride;
  for (i64 i = 0; i < elements; ++i) {
    for (int g = 0; g < move.groups; ++g) {
      const char* p = move.base[g * N] + i * step;
      C z;
      if (move.form == FftForm::complex) {
        z = load_interleaved<T, N>(reinterpret_cast<const T*>(p));
      } else {
        z = {V::load(p), zero};
        if (move.form == FftForm::real_pairs && 2 * i + 1 < move.count) {
          z.im = V::load(p + move.stride);
        }
      }
      if (move.conjugate) z.im = -z.im;
      store<T, N>(block(g), i, move.swap ? swapped(z) : z);
    }
  }
  for (int g = 0; g < move.groups; ++g) {
    for (i64 i = elements; i < move.n; ++i) store<T, N>(block(g), i, {zero, zero});
  }
}

// Part i (2 k: real, 2 k + 1: imaginary) of a block as the array shall have it.
template <class T, int N>
ARRAYX_HD Vec<T, N> outgoing(const T* block, i64 i, int swap, T even_scale, T odd_scale) {
  return Vec<T, N>::load(block + (i ^ swap) * N) * Vec<T, N>(i % 2 != 0 ? odd_scale : even_scale);
}

template <class T, int N>
void scatter_group(const FftMove& move, char* const* base, int used, const T* block) {
  using V = Vec<T, N>;
  constexpr i64 size = sizeof(T);
  const int swap = move.swap ? 1 : 0;
  const T even_scale = static_cast<T>(move.scale);
  const T odd_scale = move.conjugate ? -even_scale : even_scale;
  const bool pairs = move.form != FftForm::real;
  const i64 parts = move.form == FftForm::complex ? 2 * move.count : move.count;
  i64 done = 0;
  if (move.stride == (move.form == FftForm::complex ? 2 * size : size)) {
    for (; done + N <= parts; done += N) {
      V v[N];
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        v[i] =
            outgoing<T, N>(block, pairs ? done + i : 2 * (done + i), swap, even_scale, odd_scale);
      }
      transpose(v);
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) {
        if (l < used) v[l].store(base[l] + done * size);
      }
    }
  }
  for (; done < parts; ++done) {
    const i64 offset = move.form == FftForm::complex ? done / 2 * move.stride + done % 2 * size
                                                     : done * move.stride;
    T lanes[N];
    outgoing<T, N>(block, pairs ? done : 2 * done, swap, even_scale, odd_scale).store(lanes);
    for (int l = 0; l < used; ++l) __builtin_memcpy(base[l] + offset, &lanes[l], size);
  }
}

template <class T, int N>
void scatter(const FftMove& move, const void* blocks) {
  using C = Complex<Vec<T, N>>;
  const auto block = [&](int g) {
    return reinterpret_cast<const T*>(static_cast<const char*>(blocks) + g * move.pitch);
  };
  const i64 item = move.form == FftForm::complex ? 2 * sizeof(T) : sizeof(T);
  bool columns = move.used == N;
  for (int g = 0; g < move.groups && columns; ++g) columns = neighbours<N>(move, g, item);
  if (!columns) {
    for (int g = 0; g < move.groups; ++g) {
      const int used = g + 1 == move.groups ? move.used : N;
      scatter_group<T, N>(move, move.base + g * N, used, block(g));
    }
    return;
  }
  const int swap = move.swap ? 1 : 0;
  const T even_scale = static_cast<T>(move.scale);
  const T odd_scale = move.conjugate ? -even_scale : even_scale;
  const i64 step = move.form == FftForm::real_pairs ? 2 * move.stride : move.stride;
  const i64 elements = move.form == FftForm::real_pairs ? move.count / 2 : move.count;
  for (i64 i = 0; i < elements; ++i) {
    for (int g = 0; g < move.groups; ++g) {
      char* p = move.base[g * N] + i * step;
      const C z{outgoing<T, N>(block(g), 2 * i, swap, even_scale, odd_scale),
                outgoing<T, N>(block(g), 2 * i + 1, swap, even_scale, odd_scale)};
      if (move.form == FftForm::complex) {
        store_interleaved<T, N>(reinterpret_cast<T*>(p), z);
      } else {
        z.re.store(p);
        if (move.form == FftForm::real_pairs) z.im.store(p + move.stride);
      }
    }
  }
}

template <class T, int N>
void twist(const void* block_bytes, std::int64_t n1, int columns, const void* outer_table,
           const void* inner_table, void* out_bytes, std::int64_t pitch) {
  using V = Vec<T, N>;
  using C = Complex<V>;
  const T* block = static_cast<const T*>(block_bytes);
  const T* outer = static_cast<const T*>(outer_table);
  const T* inner = static_cast<const T*>(inner_table);
  for (i64 k = 0; k < n1; k += N) {
    V re[N], im[N];
    for (int r = 0; r < N; ++r) {
      if (k + r < n1) {
        const C z =
            load<T, N>(block, k + r) * (load<T, N>(inner, k + r) * splat<T, N>(outer, k + r));
        re[r] = z.re;
        im[r] = z.im;
      } else {
        re[r] = im[r] = V(T(0));
      }
    }
    transpose(re);
    transpose(im);
    T* out = reinterpret_cast<T*>(static_cast<char*>(out_bytes) + k / N * pitch);
    for (int l = 0; l < columns; ++l) store<T, N>(out, l, {re[l], im[l]});
  }
}

// ---- real transforms --------------------------------------------------------------------------

// With a = z[k], b = z[h - k], w = exp(-2 pi i k / 2 h): elements k and h - k of the transform of
// the 2 h numbers that z holds in pairs.
template <class V>
ARRAYX_HD void real_after_pair(Complex<V> a, Complex<V> b, Complex<V> w, Complex<V>& low,
                               Complex<V>& high) {
  using T = ops::scalar_t<V>;
  const V half(T(0.5));
  const Complex<V> even{(a.re + b.re) * half, (a.im - b.im) * half};
  const Complex<V> odd{(a.im + b.im) * half, (b.re - a.re) * half};
  low = {mul_add(-odd.im, w.im, mul_add(odd.re, w.re, even.re)),
         mul_add(odd.im, w.re, mul_add(odd.re, w.im, even.im))};
  high = {mul_add(odd.im, w.im, mul_add(-odd.re, w.re, even.re)),
          mul_add(odd.im, w.re, mul_add(odd.re, w.im, -even.im))};
}
// And back: twice the pairs, exchanged.
template <class V>
ARRAYX_HD void real_before_pair(Complex<V> a, Complex<V> b, Complex<V> w, Complex<V>& low,
                                Complex<V>& high) {
  const Complex<V> even{a.re + b.re, a.im - b.im};
  const Complex<V> odd{a.re - b.re, a.im + b.im};  // times conj(w)
  low = {mul_add(odd.im, w.im, mul_add(odd.re, w.re, even.im)),
         mul_add(odd.re, w.im, mul_add(-odd.im, w.re, even.re))};
  high = {mul_add(odd.im, w.im, mul_add(odd.re, w.re, -even.im)),
          mul_add(-odd.re, w.im, mul_add(odd.im, w.re, even.re))};
}

template <class T, int N>
void real_after(void* block_bytes, std::int64_t h, const void* table) {
  using C = Complex<Vec<T, N>>;
  T* block = static_cast<T*>(block_bytes);
  const T* twiddles = static_cast<const T*>(table);
  const Vec<T, N> zero(T(0));
  const C first = load<T, N>(block, 0);
  store<T, N>(block, 0, {first.re + first.im, zero});
  store<T, N>(block, h, {first.re - first.im, zero});
  for (i64 k = 1; 2 * k <= h; ++k) {
    C low, high;
    real_after_pair(load<T, N>(block, k), load<T, N>(block, h - k), splat<T, N>(twiddles, k), low,
                    high);
    store<T, N>(block, k, low);
    store<T, N>(block, h - k, high);
  }
}

template <class T, int N>
void real_before(void* block_bytes, std::int64_t h, const void* table) {
  using C = Complex<Vec<T, N>>;
  T* block = static_cast<T*>(block_bytes);
  const T* twiddles = static_cast<const T*>(table);
  const C first = load<T, N>(block, 0), last = load<T, N>(block, h);
  store<T, N>(block, 0, {first.re - last.re, first.re + last.re});
  for (i64 k = 1; 2 * k <= h; ++k) {
    C low, high;
    real_before_pair(load<T, N>(block, k), load<T, N>(block, h - k), splat<T, N>(twiddles, k), low,
                     high);
    store<T, N>(block, k, low);
    store<T, N>(block, h - k, high);
  }
}

template <class T, int N>
void hermitian(void* block_bytes, std::int64_t n) {
  using C = Complex<Vec<T, N>>;
  T* block = static_cast<T*>(block_bytes);
  const Vec<T, N> zero(T(0));
  store<T, N>(block, 0, {zero, load<T, N>(block, 0).re});
  for (i64 k = 1; 2 * k < n; ++k) {
    const C z = load<T, N>(block, k);
    store<T, N>(block, k, swapped(z));
    store<T, N>(block, n - k, swapped(conj(z)));
  }
}

// Pairs k and h - k from first on: vectors of them, the second of each pair reversed, then singles.
template <class T, int N, class Pair>
ARRAYX_HD void for_pairs(const T* in, T* out, i64 h, const T* twiddles, i64 first, i64 last,
                         bool conjugate_in, bool conjugate_out, Pair pair) {
  using V = Vec<T, N>;
  using I = typename MakeIndices<N>::type;
  i64 k = first;
  // The two vectors of a pair must not meet in the middle.
  for (; k + N <= last && k + N <= h - k - N + 1; k += N) {
    const i64 mirror = h - k - N + 1;
    Complex<V> a = load_interleaved<T, N>(in + 2 * k);
    Complex<V> b = load_interleaved<T, N>(in + 2 * mirror);
    b = {reversed(b.re, I{}), reversed(b.im, I{})};
    if (conjugate_in) {
      a = conj(a);
      b = conj(b);
    }
    Complex<V> low, high;
    pair(a, b, load_interleaved<T, N>(twiddles + 2 * k), low, high);
    if (conjugate_out) {
      low = conj(low);
      high = conj(high);
    }
    store_interleaved<T, N>(out + 2 * k, low);
    store_interleaved<T, N>(out + 2 * mirror, {reversed(high.re, I{}), reversed(high.im, I{})});
  }
  for (; k < last; ++k) {
    const auto scalar = [](const T* p, i64 i) { return Complex<T>{p[2 * i], p[2 * i + 1]}; };
    Complex<T> a = scalar(in, k), b = scalar(in, h - k), low, high;
    if (conjugate_in) {
      a = conj(a);
      b = conj(b);
    }
    pair(a, b, scalar(twiddles, k), low, high);
    if (conjugate_out) {
      low = conj(low);
      high = conj(high);
    }
    out[2 * k] = low.re;
    out[2 * k + 1] = low.im;
    out[2 * (h - k)] = high.re;
    out[2 * (h - k) + 1] = high.im;
  }
}

template <class T, int N>
void real_after_long(void* data, std::int64_t h, const void* twiddles, std::int64_t first,
                     std::int64_t last, bool conjugate) {
  T* z = static_cast<T*>(data);
  for_pairs<T, N>(z, z, h, static_cast<const T*>(twiddles), first, last, false, conjugate,
                  [](auto a, auto b, auto w, auto& low, auto& high)
                      __attribute__((always_inline)) { real_after_pair(a, b, w, low, high); });
}

template <class T, int N>
void real_before_long(const void* in, void* out, std::int64_t h, const void* twiddles,
                      std::int64_t first, std::int64_t last, bool conjugate) {
  for_pairs<T, N>(static_cast<const T*>(in), static_cast<T*>(out), h,
                  static_cast<const T*>(twiddles), first, last, conjugate, false,
                  [](auto a, auto b, auto w, auto& low, auto& high)
                      __attribute__((always_inline)) { real_before_pair(a, b, w, low, high); });
}

template <class T, int N>
void multiply(const void* in_bytes, const void* factor_bytes, void* out_bytes, std::int64_t n,
              bool swap_in, bool swap_out, double scale) {
  const T* in = static_cast<const T*>(in_bytes);
  const T* factors = static_cast<const T*>(factor_bytes);
  T* out = static_cast<T*>(out_bytes);
  const T s = static_cast<T>(scale);
  const auto product = [=](auto z, auto f) __attribute__((always_inline)) {
    using W = decltype(z.re);
    if (swap_in) z = swapped(z);
    z = z * f;
    z = {z.re * W(s), z.im * W(s)};
    return swap_out ? swapped(z) : z;
  };
  i64 i = 0;
  for (; i + N <= n; i += N) {
    store_interleaved<T, N>(out + 2 * i, product(load_interleaved<T, N>(in + 2 * i),
                                                 load_interleaved<T, N>(factors + 2 * i)));
  }
  for (; i < n; ++i) {
    const Complex<T> z = product(Complex<T>{in[2 * i], in[2 * i + 1]},
                                 Complex<T>{factors[2 * i], factors[2 * i + 1]});
    out[2 * i] = z.re;
    out[2 * i + 1] = z.im;
  }
}
static_assert(sizeof(Vec<f32, ops::vector_bytes / 4>) == ops::vector_bytes);

template <class T>
constexpr FftKernels make_kernels() {
  constexpr int N = ops::vector_bytes / sizeof(T);
  return {N,
          &transform<T, N>,
          &gather<T, N>,
          &scatter<T, N>,
          &twist<T, N>,
          &real_after<T, N>,
          &real_before<T, N>,
          &hermitian<T, N>,
          &real_after_long<T, N>,
          &real_before_long<T, N>,
          &multiply<T, N>};
}

constexpr FftKernels float32_kernels = make_kernels<f32>();
constexpr FftKernels float64_kernels = make_kernels<f64>();

}  // namespace

void fill_fft(KernelTable& table) {
  table.fft[0] = &float32_kernels;
  table.fft[1] = &float64_kernels;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
