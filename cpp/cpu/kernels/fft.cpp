// Fourier transforms in SIMD lanes; fft_kernels.hpp says how the data stand. Everything here is
// written once for any vector of N lanes; F is the real type that is computed in, T that of an
// array.
#include "fft_kernels.hpp"

#include "../kernels.hpp"
#include "../prefetch.hpp"
#include "../simd/transpose.hpp"

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

// One element of a block.
template <class F, int N>
using Block = Complex<Vec<F, N>>;

// Element i of a block.
template <int N, class F>
ARRAYX_HD Block<F, N> load(const F* block, i64 i) {
  return {Vec<F, N>::load(block + 2 * N * i), Vec<F, N>::load(block + 2 * N * i + N)};
}
template <int N, class F>
ARRAYX_HD void store(F* block, i64 i, Block<F, N> z) {
  z.re.store(block + 2 * N * i);
  z.im.store(block + 2 * N * i + N);
}
// Complex number i of a table, in all lanes.
template <int N, class F>
ARRAYX_HD Block<F, N> splat(const F* table, i64 i) {
  return {Vec<F, N>(table[2 * i]), Vec<F, N>(table[2 * i + 1])};
}

template <int I>
struct Constant {
  static constexpr int value = I;
};
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

// A vector of an array as one of a block, and back.
template <class To, class From, int N>
ARRAYX_HD Vec<To, N> as(Vec<From, N> x) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return x;
  } else {
    return ops::convert<Vec<To, N>>(x);
  }
}

// N contiguous complex numbers of an array, and back.
template <class F, int N, class T>
ARRAYX_HD Block<F, N> load_interleaved(const T* p) {
  Vec<T, N> re = Vec<T, N>::load(p), im = Vec<T, N>::load(p + N);
  unzip(re, im, typename MakeIndices<N>::type{});
  return {as<F>(re), as<F>(im)};
}
template <class T, int N, class F>
ARRAYX_HD void store_interleaved(T* p, Block<F, N> z) {
  Vec<T, N> re = as<T>(z.re), im = as<T>(z.im);
  zip(re, im, typename MakeIndices<N>::type{});
  re.store(p);
  im.store(p + N);
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
template <int R, class F, int N>
ARRAYX_HD void butterfly(Block<F, N> (&x)[R]) {
  using V = Vec<F, N>;
  using C = Block<F, N>;
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
    const V root(F(0.70710678118654752440));
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
        const V c(F(OddRoots<R>::cosine[at]));
        const V s(F(upper ? -OddRoots<R>::sine[at] : OddRoots<R>::sine[at]));
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

// How the elements of some butterflies stand, in elements: from one of a butterfly to its next one,
// and from a butterfly to the next.
struct Steps {
  i64 element, butterfly;
};

// `count` butterflies, and their twiddles: (R - 1) of the first, those of the next w_step numbers
// on. Without twiddles they are all 1.
template <int R, class F, int N>
ARRAYX_HD void butterflies(i64 count, const F* in, Steps in_steps, F* out, Steps out_steps,
                           const F* w, i64 w_step) {
  in_steps = {2 * N * in_steps.element, 2 * N * in_steps.butterfly};
  out_steps = {2 * N * out_steps.element, 2 * N * out_steps.butterfly};
  for (; count > 0; --count) {
    Block<F, N> x[R];
#pragma GCC unroll 16
    for (int k = 0; k < R; ++k) x[k] = load<N>(in + k * in_steps.element, 0);
    butterfly<R, F, N>(x);
    store<N>(out, 0, x[0]);
    if (w) {
#pragma GCC unroll 16
      for (int j = 1; j < R; ++j) {
        store<N>(out + j * out_steps.element, 0, x[j] * splat<N>(w, j - 1));
      }
      w += w_step;
    } else {
#pragma GCC unroll 16
      for (int j = 1; j < R; ++j) store<N>(out + j * out_steps.element, 0, x[j]);
    }
    in += in_steps.butterfly;
    out += out_steps.butterfly;
  }
}

// One pass with a butterfly of its own. Of p = 0 all twiddles are 1.
template <int R, class F, int N>
void pass(const FftPass& plan, const F* in, F* out) {
  const i64 m = plan.m, s = plan.s;
  const F* w = static_cast<const F*>(plan.twiddles);
  for (i64 p = 0; p < m; ++p) {
    butterflies<R, F, N>(s, in + 2 * N * s * p, {s * m, 1}, out + 2 * N * s * R * p, {s, 1},
                         p > 0 ? w + 2 * (R - 1) * p : nullptr, 0);
  }
}

// Calls body(R as a constant) for the radix of a butterfly.
template <class Body>
ARRAYX_HD void with_radix(int radix, Body body) {
  switch (radix) {
    case 2:
      return body(Constant<2>{});
    case 3:
      return body(Constant<3>{});
    case 4:
      return body(Constant<4>{});
    case 5:
      return body(Constant<5>{});
    case 7:
      return body(Constant<7>{});
    case 8:
      return body(Constant<8>{});
    case 11:
      return body(Constant<11>{});
    default:
      return body(Constant<13>{});
  }
}

// The same out of line, for a radix known at run time alone.
template <class F, int N>
using Butterflies = void (*)(i64 count, const F* in, Steps in_steps, F* out, Steps out_steps,
                             const F* w, i64 w_step);
template <int R, class F, int N>
void butterflies_apart(i64 count, const F* in, Steps in_steps, F* out, Steps out_steps, const F* w,
                       i64 w_step) {
  butterflies<R, F, N>(count, in, in_steps, out, out_steps, w, w_step);
}
template <class F, int N>
Butterflies<F, N> butterflies_of(int radix) {
  Butterflies<F, N> found = nullptr;
  with_radix(radix, [&](auto r) { found = &butterflies_apart<decltype(r)::value, F, N>; });
  return found;
}

// A pass and the next one, which has m / radix and s * radix: the butterflies of the second that
// take the results of few of the first follow these, whose results have not left the L1 cache then.
template <class F, int N>
void pass_pair(const FftPass& plan, const FftPass& next, const F* in, F* out) {
  alignas(64) F between[2 * N * max_butterfly * max_butterfly];
  const auto run = butterflies_of<F, N>(plan.radix), run_next = butterflies_of<F, N>(next.radix);
  const i64 radix = plan.radix, s = plan.s, row = 2 * (radix - 1);
  const i64 next_radix = next.radix, m = next.m, next_row = 2 * (next_radix - 1);
  const F* w = static_cast<const F*>(plan.twiddles);
  const F* next_w = static_cast<const F*>(next.twiddles);
  for (i64 p = 0; p < m; ++p) {
    for (i64 q = 0; q < s; ++q) {
      // Of the first: p, p + m, …
      const F* from = in + 2 * N * (q + s * p);
      const Steps steps{s * plan.m, s * m};
      if (p > 0) {
        run(next_radix, from, steps, between, {1, radix}, w + row * p, row * m);
      } else {
        run(1, from, steps, between, {1, radix}, nullptr, 0);
        run(next_radix - 1, from + 2 * N * s * m, steps, between + 2 * N * radix, {1, radix},
            w + row * m, row * m);
      }
      run_next(radix, between, {radix, 1}, out + 2 * N * (q + s * radix * next_radix * p),
               {s * radix, s}, p > 0 ? next_w + next_row * p : nullptr, 0);
    }
  }
}

// Outputs j … j + J - 1 of a butterfly of any odd radix, and those that mirror them. Sums are of
// runs of 8: their error is half that of one long sum.
template <int J, class F, int N, class Put>
ARRAYX_HD void generic_outputs(const FftPass& plan, Block<F, N> first, const Block<F, N>* sum,
                               const Block<F, N>* difference, int j, Put put) {
  using V = Vec<F, N>;
  using C = Block<F, N>;
  const int radix = plan.radix, half = (radix - 1) / 2;
  const F* roots = static_cast<const F*>(plan.roots);
  const C zero{V(F(0)), V(F(0))};
  C a[J], b[J];
  int turn[J];
#pragma GCC unroll 4
  for (int i = 0; i < J; ++i) {
    a[i] = first;
    b[i] = zero;
    turn[i] = 0;
  }
  for (int start = 0; start < half; start += 8) {
    const int end = start + 8 < half ? start + 8 : half;
    C part[J], turned[J];
#pragma GCC unroll 4
    for (int i = 0; i < J; ++i) part[i] = turned[i] = zero;
    for (int k = start; k < end; ++k) {
      const C s = sum[k], d = difference[k];
#pragma GCC unroll 4
      for (int i = 0; i < J; ++i) {
        turn[i] += j + i;
        if (turn[i] >= radix) turn[i] -= radix;
        const V cosine(roots[2 * turn[i]]), minus_sine(roots[2 * turn[i] + 1]);
        part[i].re = mul_add(s.re, cosine, part[i].re);
        part[i].im = mul_add(s.im, cosine, part[i].im);
        turned[i].re = mul_add(d.re, minus_sine, turned[i].re);
        turned[i].im = mul_add(d.im, minus_sine, turned[i].im);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < J; ++i) {
      a[i] = a[i] + part[i];
      b[i] = b[i] + turned[i];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < J; ++i) {
    put(j + i, a[i] - quarter_turn(b[i]));
    put(radix - j - i, a[i] + quarter_turn(b[i]));
  }
}

// The same outputs of lanes l … l + L - 1 alone, all of them: the vectors are of neighbouring
// outputs, whose sums have the same terms in the same order. Elements of `to` are `step` numbers
// apart.
template <int L, class F, int N>
ARRAYX_HD void generic_lanes(const FftPass& plan, int l, const Block<F, N>* first,
                             const Block<F, N>* sum, const Block<F, N>* difference, F* to,
                             i64 step) {
  using V = Vec<F, N>;
  using C = Block<F, N>;
  const int radix = plan.radix, half = (radix - 1) / 2;
  const i64 row = generic_row(radix);
  const F* matrix = static_cast<const F*>(plan.matrix);
  // Parts of lane l: 2 N numbers from element to element.
  const auto lane = [l](const C* z) { return reinterpret_cast<const F*>(z) + l; };
  const F *start = lane(first), *sums = lane(sum), *differences = lane(difference);
  const C zero{V(F(0)), V(F(0))};
  for (int j = 0; j < half; j += N) {
    C a[L], b[L];
#pragma GCC unroll 4
    for (int i = 0; i < L; ++i) {
      a[i] = {V(start[i]), V(start[N + i])};
      b[i] = zero;
    }
    for (int run = 0; run < half; run += 8) {
      const int end = run + 8 < half ? run + 8 : half;
      C part[L], turned[L];
#pragma GCC unroll 4
      for (int i = 0; i < L; ++i) part[i] = turned[i] = zero;
      for (int k = run; k < end; ++k) {
        const V cosine = V::load(matrix + 2 * k * row + j);
        const V minus_sine = V::load(matrix + (2 * k + 1) * row + j);
        const F *s = sums + 2 * N * k, *d = differences + 2 * N * k;
#pragma GCC unroll 4
        for (int i = 0; i < L; ++i) {
          part[i].re = mul_add(V(s[i]), cosine, part[i].re);
          part[i].im = mul_add(V(s[N + i]), cosine, part[i].im);
          turned[i].re = mul_add(V(d[i]), minus_sine, turned[i].re);
          turned[i].im = mul_add(V(d[N + i]), minus_sine, turned[i].im);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < L; ++i) {
        a[i] = a[i] + part[i];
        b[i] = b[i] + turned[i];
      }
    }
    const int count = half - j < N ? half - j : N;
#pragma GCC unroll 4
    for (int i = 0; i < L; ++i) {
      const C low = a[i] - quarter_turn(b[i]), high = a[i] + quarter_turn(b[i]);
      F parts[4][N];
      low.re.store(parts[0]);
      low.im.store(parts[1]);
      high.re.store(parts[2]);
      high.im.store(parts[3]);
      for (int r = 0; r < count; ++r) {
        F* at = to + (j + r + 1) * step + l + i;
        F* mirror = to + (radix - 1 - j - r) * step + l + i;
        at[0] = parts[0][r];
        at[N] = parts[1][r];
        mirror[0] = parts[2][r];
        mirror[N] = parts[3][r];
      }
    }
  }
}

// One pass of any odd radix.
template <class F, int N>
void generic_pass(const FftPass& plan, const F* in, F* out, int used) {
  using C = Block<F, N>;
  constexpr int side_by_side = N == 8 ? 4 : 2;  // outputs, as the registers hold
  const int radix = plan.radix, half = (radix - 1) / 2;
  const i64 m = plan.m, s = plan.s;
  const F* twiddles = static_cast<const F*>(plan.twiddles);
  C sum[max_fft_radix / 2], difference[max_fft_radix / 2];
  for (i64 p = 0; p < m; ++p) {
    const F* w = twiddles + 2 * (radix - 1) * p;
    for (i64 q = 0; q < s; ++q) {
      const C first = load<N>(in, q + s * p);
      C total = first;
      for (int k = 0; k < half; ++k) {
        const C a = load<N>(in, q + s * (p + m * (k + 1)));
        const C b = load<N>(in, q + s * (p + m * (radix - 1 - k)));
        sum[k] = a + b;
        difference[k] = a - b;
        total = total + sum[k];
      }
      F* to = out + 2 * N * (q + s * radix * p);
      store<N>(to, 0, total);
      if (2 * used <= N) {
        for (int j = 1; j < radix; ++j) store<N>(to, s * j, {Vec<F, N>(F(0)), Vec<F, N>(F(0))});
        int l = 0;
        for (; l + 2 <= used; l += 2) {
          generic_lanes<2, F, N>(plan, l, &first, sum, difference, to, 2 * N * s);
        }
        if (l < used) generic_lanes<1, F, N>(plan, l, &first, sum, difference, to, 2 * N * s);
        for (int j = 1; p > 0 && j < radix; ++j) {
          store<N>(to, s * j, load<N>(to, s * j) * splat<N>(w, j - 1));
        }
        continue;
      }
      const auto put = [&](int j, C z) __attribute__((always_inline)) {
        store<N>(to, s * j, p > 0 ? z * splat<N>(w, j - 1) : z);
      };
      int j = 1;
      for (; j + side_by_side <= half + 1; j += side_by_side) {
        generic_outputs<side_by_side, F, N>(plan, first, sum, difference, j, put);
      }
      for (; j <= half; ++j) generic_outputs<1, F, N>(plan, first, sum, difference, j, put);
    }
  }
}

// ---- a transform ------------------------------------------------------------------------------

// From `in`, which may be `data`; returns the buffer in which the result stands.
template <class F, int N>
F* run_passes(const FftLanePlan& plan, const F* in, F* data, F* scratch, int used) {
  for (int i = 0; i < plan.pass_count; ++i) {
    const FftPass& p = plan.passes[i];
    if (p.with_next) {
      pass_pair<F, N>(p, plan.passes[++i], in, scratch);
    } else if (has_butterfly(p.radix)) {
      with_radix(p.radix, [&](auto r) { pass<decltype(r)::value, F, N>(p, in, scratch); });
    } else {
      generic_pass<F, N>(p, in, scratch, used);
    }
    F* result = scratch;
    scratch = data;
    data = result;
    in = result;
  }
  return data;
}

template <class F, int N>
void transform(const FftLanePlan& plan, const void* in_bytes, void* data_bytes, void* scratch_bytes,
               int used) {
  const F* in = static_cast<const F*>(in_bytes);
  F* data = static_cast<F*>(data_bytes);
  F* scratch = static_cast<F*>(scratch_bytes);
  if (!plan.convolution) {
    run_passes<F, N>(plan, in, data, scratch, used);
    return;
  }
  const F* chirp = static_cast<const F*>(plan.chirp);
  const F* spectrum = static_cast<const F*>(plan.spectrum);
  for (i64 i = 0; i < plan.n; ++i) {
    store<N>(data, i, load<N>(in, i) * splat<N>(chirp, i));
  }
  const Vec<F, N> zero(F(0));
  for (i64 i = plan.n; i < plan.block; ++i) store<N>(data, i, {zero, zero});
  F* result = run_passes<F, N>(*plan.convolution, data, data, scratch, used);
  F* other = result == data ? scratch : data;
  for (i64 i = 0; i < plan.block; ++i) {
    store<N>(result, i, swapped(load<N>(result, i) * splat<N>(spectrum, i)));
  }
  // Two transforms: an even number of passes, so the result stands in `data` again.
  F* back = run_passes<F, N>(*plan.convolution, result, result, other, used);
  for (i64 i = 0; i < plan.n; ++i) {
    store<N>(back, i, swapped(load<N>(back, i)) * splat<N>(chirp, i));
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

template <class T, class F, int N>
void gather_group(const FftMove& move, char* const* base, int used, F* block) {
  using V = Vec<T, N>;
  constexpr i64 size = sizeof(T);
  const int swap = move.swap ? 1 : 0;
  const Vec<F, N> zero(F(0));
  const bool pairs = move.form != FftForm::real;  // whether the array holds imaginary parts
  // Parts (real numbers of the array) of each lane, in order.
  const i64 parts = move.form == FftForm::complex ? 2 * move.count : move.count;
  const i64 elements = pairs ? (parts + 1) / 2 : parts;
  i64 done = 0;
  if (move.stride == (move.form == FftForm::complex ? 2 * size : size)) {
    const char* from[N];
    for (int l = 0; l < N; ++l) from[l] = base[l];
    const i64 ahead = move.ahead;
    // Where parts at even places go, and those at odd ones.
    F *const even = block + swap * N, *const odd = block - swap * N;
    // The last vectors may overlap those before.
    for (; done < parts && parts >= N; done += N) {
      const i64 at = done + N <= parts ? done : parts - N;
      V v[N];
#pragma GCC unroll 16
      for (int l = 0; l < N; ++l) v[l] = V::load(from[l] + at * size);
      if (done * size % line_bytes == 0) {
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) __builtin_prefetch(from[l] + at * size + ahead, 0, 2);
      }
      rows_to_columns(v);
      if (pairs) {
        F *const first = at % 2 == 0 ? even : odd, *const second = at % 2 == 0 ? odd : even;
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) as<F>(v[i]).store((i % 2 == 0 ? first : second) + (at + i) * N);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < N; ++i) {
          as<F>(v[i]).store(even + 2 * (at + i) * N);
          zero.store(odd + (2 * (at + i) + 1) * N);
        }
      }
    }
  }
  for (; done < parts; ++done) {
    const i64 offset = move.form == FftForm::complex ? done / 2 * move.stride + done % 2 * size
                                                     : done * move.stride;
    F* to = block + (pairs ? done ^ swap : 2 * done + swap) * N;
    if (used < N) zero.store(to);
    for (int l = 0; l < used; ++l) to[l] = static_cast<F>(load_scalar<T>(base[l] + offset));
    if (!pairs) zero.store(block + (2 * done + 1 - swap) * N);
  }
  if (pairs && parts % 2 != 0) zero.store(block + (parts ^ swap) * N);
  for (i64 i = elements; i < move.n; ++i) store<N>(block, i, {zero, zero});
  if (move.conjugate && pairs) {
    for (i64 i = 0; i < elements; ++i) {
      F* imaginary = block + (2 * i + 1 - swap) * N;
      (-Vec<F, N>::load(imaginary)).store(imaginary);
    }
  }
}

// The groups whose lanes are neighbours: their elements are vectors in memory.
template <int N>
struct Columns {
  int count = 0;
  int group[max_fft_groups];

  // Calls other(g) for the groups that are not.
  template <class Other>
  Columns(const FftMove& move, i64 bytes, Other other) {
    for (int g = 0; g < move.groups; ++g) {
      if (move.used[g] == N && neighbours<N>(move, g, bytes)) {
        group[count++] = g;
      } else {
        other(g);
      }
    }
  }
};

template <class T, class F, int N>
void gather(const FftMove& move, void* blocks) {
  using V = Vec<T, N>;
  using C = Block<F, N>;
  const auto block = [&](int g) {
    return reinterpret_cast<F*>(static_cast<char*>(blocks) + g * move.pitch);
  };
  const i64 item = move.form == FftForm::complex ? 2 * sizeof(T) : sizeof(T);
  const Columns<N> columns(move, item, [&](int g) {
    gather_group<T, F, N>(move, move.base + g * N, move.used[g], block(g));
  });
  if (columns.count == 0) return;
  const Vec<F, N> zero(F(0));
  const i64 elements = move.form == FftForm::real_pairs ? (move.count + 1) / 2 : move.count;
  const i64 step = move.form == FftForm::real_pairs ? 2 * move.stride : move.stride;
  for (i64 i = 0; i < elements; ++i) {
    for (int at = 0; at < columns.count; ++at) {
      const int g = columns.group[at];
      const char* p = move.base[g * N] + i * step;
      for (i64 line = 0; line < N * item; line += 64)
        __builtin_prefetch(p + line + move.ahead, 0, 2);
      C z;
      if (move.form == FftForm::complex) {
        z = load_interleaved<F, N>(reinterpret_cast<const T*>(p));
      } else {
        z = {as<F>(V::load(p)), zero};
        if (move.form == FftForm::real_pairs && 2 * i + 1 < move.count) {
          z.im = as<F>(V::load(p + move.stride));
        }
      }
      if (move.conjugate) z.im = -z.im;
      store<N>(block(g), i, move.swap ? swapped(z) : z);
    }
  }
  for (int at = 0; at < columns.count; ++at) {
    F* to = block(columns.group[at]);
    for (i64 i = elements; i < move.n; ++i) store<N>(to, i, {zero, zero});
  }
}

// Part i (2 k: real, 2 k + 1: imaginary) of a block as the array shall have it.
template <int N, class F>
ARRAYX_HD Vec<F, N> outgoing(const F* block, i64 i, int swap, F scale) {
  return Vec<F, N>::load(block + (i ^ swap) * N) * Vec<F, N>(scale);
}

template <class T, class F, int N>
void scatter_group(const FftMove& move, char* const* base, int used, const F* block) {
  using V = Vec<T, N>;
  constexpr i64 size = sizeof(T);
  const int swap = move.swap ? 1 : 0;
  const F even_scale = static_cast<F>(move.scale);
  const F odd_scale = move.conjugate ? -even_scale : even_scale;
  const bool pairs = move.form != FftForm::real;
  const i64 parts = move.form == FftForm::complex ? 2 * move.count : move.count;
  i64 done = 0;
  if (move.stride == (move.form == FftForm::complex ? 2 * size : size)) {
    char* to[N];
    for (int l = 0; l < N; ++l) to[l] = base[l];
    const i64 ahead = move.ahead;
    const F *const even = block + swap * N, *const odd = block - swap * N;
    const Vec<F, N> scale[2] = {Vec<F, N>(even_scale), Vec<F, N>(odd_scale)};
    for (; done < parts && parts >= N; done += N) {
      const i64 at = done + N <= parts ? done : parts - N;
      const F *const first = at % 2 == 0 ? even : odd, *const second = at % 2 == 0 ? odd : even;
      V v[N];
      // Of complex numbers `at` is even; of others the two scales are one.
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        const F* const from =
            pairs ? (i % 2 == 0 ? first : second) + (at + i) * N : even + 2 * (at + i) * N;
        v[i] = as<T>(Vec<F, N>::load(from) * scale[i % 2]);
      }
      rows_to_columns(v);
      if (done * size % line_bytes == 0) {
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) __builtin_prefetch(to[l] + at * size + ahead, 1, 2);
      }
      if (used == N) {
#pragma GCC unroll 16
        for (int l = 0; l < N; ++l) v[l].store(to[l] + at * size);
      } else {
        for (int l = 0; l < used; ++l) v[l].store(to[l] + at * size);
      }
    }
  }
  for (; done < parts; ++done) {
    const i64 offset = move.form == FftForm::complex ? done / 2 * move.stride + done % 2 * size
                                                     : done * move.stride;
    T lanes[N];
    const F scale = done % 2 != 0 ? odd_scale : even_scale;
    as<T>(outgoing<N>(block, pairs ? done : 2 * done, swap, scale)).store(lanes);
    for (int l = 0; l < used; ++l) __builtin_memcpy(base[l] + offset, &lanes[l], size);
  }
}

template <class T, class F, int N>
void scatter(const FftMove& move, const void* blocks) {
  using C = Block<F, N>;
  const auto block = [&](int g) {
    return reinterpret_cast<const F*>(static_cast<const char*>(blocks) + g * move.pitch);
  };
  const i64 item = move.form == FftForm::complex ? 2 * sizeof(T) : sizeof(T);
  const Columns<N> columns(move, item, [&](int g) {
    scatter_group<T, F, N>(move, move.base + g * N, move.used[g], block(g));
  });
  if (columns.count == 0) return;
  const int swap = move.swap ? 1 : 0;
  const F even_scale = static_cast<F>(move.scale);
  const F odd_scale = move.conjugate ? -even_scale : even_scale;
  const i64 step = move.form == FftForm::real_pairs ? 2 * move.stride : move.stride;
  const i64 elements = move.form == FftForm::real_pairs ? move.count / 2 : move.count;
  for (i64 i = 0; i < elements; ++i) {
    for (int at = 0; at < columns.count; ++at) {
      const int g = columns.group[at];
      char* p = move.base[g * N] + i * step;
      for (i64 line = 0; line < N * item; line += 64)
        __builtin_prefetch(p + line + move.ahead, 1, 2);
      const C z{outgoing<N>(block(g), 2 * i, swap, even_scale),
                outgoing<N>(block(g), 2 * i + 1, swap, odd_scale)};
      if (move.form == FftForm::complex) {
        store_interleaved<T, N>(reinterpret_cast<T*>(p), z);
      } else {
        as<T>(z.re).store(p);
        if (move.form == FftForm::real_pairs) as<T>(z.im).store(p + move.stride);
      }
    }
  }
}

template <class F, int N>
void twist(const void* block_bytes, std::int64_t n1, int columns, const void* outer_table,
           const void* inner_table, void* out_bytes, std::int64_t pitch) {
  using V = Vec<F, N>;
  using C = Block<F, N>;
  const F* block = static_cast<const F*>(block_bytes);
  const F* outer = static_cast<const F*>(outer_table);
  const F* inner = static_cast<const F*>(inner_table);
  for (i64 k = 0; k < n1; k += N) {
    V re[N], im[N];
    for (int r = 0; r < N; ++r) {
      if (k + r < n1) {
        const C w = load<N>(inner, k + r);
        const C z = load<N>(block, k + r) * (outer ? w * splat<N>(outer, k + r) : w);
        re[r] = z.re;
        im[r] = z.im;
      } else {
        re[r] = im[r] = V(F(0));
      }
    }
    rows_to_columns(re);
    rows_to_columns(im);
    F* out = reinterpret_cast<F*>(static_cast<char*>(out_bytes) + k / N * pitch);
    for (int l = 0; l < columns; ++l) store<N>(out, l, {re[l], im[l]});
  }
}

// ---- real transforms --------------------------------------------------------------------------

// With a = z[k], b = z[h - k], w = exp(-2 pi i k / 2 h): elements k and h - k of the transform of
// the 2 h numbers that z holds in pairs.
template <class V>
ARRAYX_HD void real_after_pair(Complex<V> a, Complex<V> b, Complex<V> w, Complex<V>& low,
                               Complex<V>& high) {
  const V half(0.5);
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

template <class F, int N>
void real_after(void* block_bytes, std::int64_t h, const void* table) {
  using C = Block<F, N>;
  F* block = static_cast<F*>(block_bytes);
  const F* twiddles = static_cast<const F*>(table);
  const Vec<F, N> zero(F(0));
  const C first = load<N>(block, 0);
  store<N>(block, 0, {first.re + first.im, zero});
  store<N>(block, h, {first.re - first.im, zero});
  for (i64 k = 1; 2 * k <= h; ++k) {
    C low, high;
    real_after_pair(load<N>(block, k), load<N>(block, h - k), splat<N>(twiddles, k), low, high);
    store<N>(block, k, low);
    store<N>(block, h - k, high);
  }
}

template <class F, int N>
void real_before(void* block_bytes, std::int64_t h, const void* table) {
  using C = Block<F, N>;
  F* block = static_cast<F*>(block_bytes);
  const F* twiddles = static_cast<const F*>(table);
  const C first = load<N>(block, 0), last = load<N>(block, h);
  store<N>(block, 0, {first.re - last.re, first.re + last.re});
  for (i64 k = 1; 2 * k <= h; ++k) {
    C low, high;
    real_before_pair(load<N>(block, k), load<N>(block, h - k), splat<N>(twiddles, k), low, high);
    store<N>(block, k, low);
    store<N>(block, h - k, high);
  }
}

template <class F, int N>
void hermitian(void* block_bytes, std::int64_t n) {
  using C = Block<F, N>;
  F* block = static_cast<F*>(block_bytes);
  const Vec<F, N> zero(F(0));
  store<N>(block, 0, {zero, load<N>(block, 0).re});
  if (n % 2 == 0) store<N>(block, n / 2, {zero, load<N>(block, n / 2).re});
  for (i64 k = 1; 2 * k < n; ++k) {
    const C z = load<N>(block, k);
    store<N>(block, k, swapped(z));
    store<N>(block, n - k, swapped(conj(z)));
  }
}

// Element i of complex numbers of an array, and back.
template <class F, class T>
ARRAYX_HD Complex<F> load_one(const T* p, i64 i) {
  T z[2];
  __builtin_memcpy(z, p + 2 * i, sizeof z);
  return {static_cast<F>(z[0]), static_cast<F>(z[1])};
}
template <class T, class F>
ARRAYX_HD void store_one(T* p, i64 i, Complex<F> value) {
  const T z[2] = {static_cast<T>(value.re), static_cast<T>(value.im)};
  __builtin_memcpy(p + 2 * i, z, sizeof z);
}

// Pairs k and h - k from first on: vectors of them, the second of each pair reversed, then singles.
template <int N, class In, class Out, class F, class Pair>
ARRAYX_HD void for_pairs(const In* in, Out* out, i64 h, const F* twiddles, i64 first, i64 last,
                         bool conjugate_in, bool conjugate_out, Pair pair) {
  using I = typename MakeIndices<N>::type;
  const auto one = [&](auto a, auto b, auto w, auto& low, auto& high)
                       __attribute__((always_inline)) {
                         if (conjugate_in) {
                           a = conj(a);
                           b = conj(b);
                         }
                         pair(a, b, w, low, high);
                         if (conjugate_out) {
                           low = conj(low);
                           high = conj(high);
                         }
                       };
  const auto reverse = [](Block<F, N> z) __attribute__((always_inline)) {
    return Block<F, N>{reversed(z.re, I{}), reversed(z.im, I{})};
  };
  i64 k = first;
  // The two vectors of a pair must not meet in the middle.
  for (; k + N <= last && k + N <= h - k - N + 1; k += N) {
    const i64 mirror = h - k - N + 1;
    Block<F, N> low, high;
    one(load_interleaved<F, N>(in + 2 * k), reverse(load_interleaved<F, N>(in + 2 * mirror)),
        load_interleaved<F, N>(twiddles + 2 * k), low, high);
    store_interleaved<Out, N>(out + 2 * k, low);
    store_interleaved<Out, N>(out + 2 * mirror, reverse(high));
  }
  for (; k < last; ++k) {
    Complex<F> low, high;
    one(load_one<F>(in, k), load_one<F>(in, h - k), load_one<F>(twiddles, k), low, high);
    store_one(out, k, low);
    store_one(out, h - k, high);
  }
}

template <class T, class F, int N>
void real_after_long(const void* in_bytes, void* out_bytes, std::int64_t h, const void* twiddles,
                     std::int64_t first, std::int64_t last, bool conjugate) {
  const F* in = static_cast<const F*>(in_bytes);
  T* out = static_cast<T*>(out_bytes);
  if (first == 0) {
    const Complex<F> z = load_one<F>(in, 0);
    store_one(out, 0, Complex<F>{z.re + z.im, F(0)});
    store_one(out, h, Complex<F>{z.re - z.im, F(0)});
    first = 1;
  }
  for_pairs<N>(in, out, h, static_cast<const F*>(twiddles), first, last, false, conjugate,
               [](auto a, auto b, auto w, auto& low, auto& high)
                   __attribute__((always_inline)) { real_after_pair(a, b, w, low, high); });
}

template <class T, class F, int N>
void real_before_long(const void* in_bytes, void* out_bytes, std::int64_t h, const void* twiddles,
                      std::int64_t first, std::int64_t last, bool conjugate) {
  const T* in = static_cast<const T*>(in_bytes);
  F* out = static_cast<F*>(out_bytes);
  if (first == 0) {
    const F a = load_one<F>(in, 0).re, b = load_one<F>(in, h).re;
    store_one(out, 0, Complex<F>{a - b, a + b});
    first = 1;
  }
  for_pairs<N>(in, out, h, static_cast<const F*>(twiddles), first, last, conjugate, false,
               [](auto a, auto b, auto w, auto& low, auto& high)
                   __attribute__((always_inline)) { real_before_pair(a, b, w, low, high); });
}

template <class In, class Out, class F, int N>
void multiply(const void* in_bytes, const void* factor_bytes, void* out_bytes, std::int64_t n,
              bool swap_in, bool swap_out, double scale) {
  const In* in = static_cast<const In*>(in_bytes);
  const F* factors = static_cast<const F*>(factor_bytes);
  Out* out = static_cast<Out*>(out_bytes);
  const auto product = [=](auto z, auto f) __attribute__((always_inline)) {
    using W = decltype(z.re);
    if (swap_in) z = swapped(z);
    z = z * f;
    z = {z.re * W(F(scale)), z.im * W(F(scale))};
    return swap_out ? swapped(z) : z;
  };
  i64 i = 0;
  for (; i + N <= n; i += N) {
    store_interleaved<Out, N>(out + 2 * i, product(load_interleaved<F, N>(in + 2 * i),
                                                   load_interleaved<F, N>(factors + 2 * i)));
  }
  for (; i < n; ++i) {
    store_one(out, i, product(load_one<F>(in, i), load_one<F>(factors, i)));
  }
}

template <class T, class F>
constexpr FftKernels make_kernels() {
  constexpr int N = ops::vector_bytes / sizeof(F);
  return {N,
          sizeof(T),
          &transform<F, N>,
          &twist<F, N>,
          &real_after<F, N>,
          &real_before<F, N>,
          &hermitian<F, N>,
          &gather<T, F, N>,
          &scatter<T, F, N>,
          &real_after_long<T, F, N>,
          &real_before_long<T, F, N>,
          &multiply<T, F, F, N>,
          &multiply<F, T, F, N>};
}

constexpr FftKernels float32_kernels = make_kernels<f32, f64>();
constexpr FftKernels float64_kernels = make_kernels<f64, f64>();

}  // namespace

void fill_fft(KernelTable& table) {
  table.fft[0] = &float32_kernels;
  table.fft[1] = &float64_kernels;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
