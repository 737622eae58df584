// Factorisations of small matrices, one in each lane; small_matrices.hpp says how they stand.
#include "small_matrices.hpp"

#include "../kernels.hpp"
#include "../simd/vec.hpp"
#include "elimination.hpp"
#include "reflections.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

template <class V>
inline constexpr double unit_of_rounding = sizeof(ops::scalar_t<V>) == 4 ? 0x1p-24 : 0x1p-53;

// The lanes of a mask as bits.
template <class V, class M>
std::uint64_t bits(M mask) {
  std::uint64_t out = 0;
  const V flags = select(mask, V(1), V(0));
  for (int l = 0; l < ops::lane_traits<V>::lanes; ++l) {
    if (flags[l] != 0) out |= std::uint64_t{1} << l;
  }
  return out;
}

// The rows of a block.
template <class V>
struct Rows {
  using T = ops::scalar_t<V>;
  static constexpr i64 lanes = ops::lane_traits<V>::lanes;
  T* data;
  i64 columns;

  ARRAYX_HD T* at(i64 i, i64 j) const { return data + (i * columns + j) * lanes; }
  ARRAYX_HD V get(i64 i, i64 j) const { return V::load(at(i, j)); }
  ARRAYX_HD void set(i64 i, i64 j, V x) const { x.store(at(i, j)); }
  // Exchanges rows i and j from a column on, where m.
  template <class M>
  ARRAYX_HD void exchange(M m, i64 i, i64 j, i64 from) const {
    for (i64 c = from; c < columns; ++c) {
      const V x = get(i, c), y = get(j, c);
      set(i, c, select(m, y, x));
      set(j, c, select(m, x, y));
    }
  }
  // Row i minus `factor` times row j, from a column on.
  ARRAYX_HD void subtract(i64 i, V factor, i64 j, i64 from) const {
    for (i64 c = from; c < columns; ++c) set(i, c, mul_add(-factor, get(j, c), get(i, c)));
  }
};

template <class V>
std::uint64_t eliminate(void* a_block, std::int64_t n, void* b_block, std::int64_t k, void* sign) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n}, b{static_cast<T*>(b_block), k};
  V parity(1);
  auto singular = parity == V(0);
  for (i64 j = 0; j < n; ++j) {
    V largest = ops::fabs(a.get(j, j)), pivot(static_cast<T>(j));
    for (i64 i = j + 1; i < n; ++i) {
      const V size = ops::fabs(a.get(i, j));
      const auto larger = size > largest;
      largest = select(larger, size, largest);
      pivot = select(larger, V(static_cast<T>(i)), pivot);
    }
    for (i64 i = j + 1; i < n; ++i) {
      const auto here = pivot == V(static_cast<T>(i));
      if (!any(here)) continue;
      a.exchange(here, i, j, j);
      b.exchange(here, i, j, 0);
      parity = select(here, -parity, parity);
    }
    // Below a pivot of zero are zeros, which need no multiple of it.
    const auto zero = a.get(j, j) == V(0);
    const V diagonal = select(zero, V(1), a.get(j, j));
    singular = singular | zero;
    for (i64 i = j + 1; i < n; ++i) {
      const V factor = a.get(i, j) / diagonal;
      a.subtract(i, factor, j, j + 1);
      b.subtract(i, factor, j, 0);
    }
  }
  parity.store(sign);
  return bits<V>(singular);
}

template <class V>
void back_substitute(const void* a_block, std::int64_t n, void* b_block, std::int64_t k) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(const_cast<void*>(a_block)), n}, b{static_cast<T*>(b_block), k};
  for (i64 j = n - 1; j >= 0; --j) {
    const V diagonal = a.get(j, j);
    for (i64 c = 0; c < k; ++c) b.set(j, c, b.get(j, c) / diagonal);
    for (i64 i = 0; i < j; ++i) b.subtract(i, a.get(i, j), j, 0);
  }
}

template <class V>
std::uint64_t cholesky(void* a_block, std::int64_t n) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n};
  auto failed = V(1) == V(0);
  const auto rest = [&](i64 i, i64 j) __attribute__((always_inline)) {
    V x = a.get(i, j);
    for (i64 c = 0; c < j; ++c) x = mul_add(-a.get(i, c), a.get(j, c), x);
    return x;
  };
  for (i64 j = 0; j < n; ++j) {
    const V square = rest(j, j);
    // Of an infinity or a NaN left of the diagonal comes a NaN or -infinity.
    failed = failed | !((square > V(0)) & ops::is_finite(square));
    const V root = ops::sqrt(square);
    a.set(j, j, root);
    for (i64 i = j + 1; i < n; ++i) a.set(i, j, rest(i, j) / root);
  }
  return bits<V>(failed);
}

// Householder's reflection I - tau v transpose(v) that turns column c of a, from row `top` on, to
// (beta, 0 …), with LAPACK's sign. v is 1 and what the column then holds below beta; returns tau.
template <class V>
ARRAYX_HD V reflection(Rows<V> a, i64 m, i64 top, i64 c) {
  const V zero(0), one(1);
  V largest = ops::fabs(a.get(top, c));
  for (i64 i = top + 1; i < m; ++i) {
    const V size = ops::fabs(a.get(i, c));
    largest = select(size > largest, size, largest);
  }
  const V scale = select(largest == zero, one, largest);
  V below(0);  // squares of numbers that are at most 1
  for (i64 i = top + 1; i < m; ++i) {
    const V x = a.get(i, c) / scale;
    a.set(i, c, x);
    below = mul_add(x, x, below);
  }
  const auto done = below == zero;
  const V alpha = a.get(top, c) / scale;
  const V beta = -ops::copysign(ops::sqrt(mul_add(alpha, alpha, below)), alpha);
  const V divisor = select(done, one, alpha - beta);
  for (i64 i = top + 1; i < m; ++i) a.set(i, c, a.get(i, c) / divisor);
  a.set(top, c, select(done, a.get(top, c), beta * scale));
  return select(done, zero, (beta - alpha) / beta);
}

// Rows top … m - 1 of z, from a column on, by the reflection that column c of a holds.
template <class V>
ARRAYX_HD void reflect(Rows<V> a, i64 m, i64 top, i64 c, V tau, Rows<V> z, i64 from) {
  for (i64 k = from; k < z.columns; ++k) {
    V w = z.get(top, k);
    for (i64 i = top + 1; i < m; ++i) w = mul_add(a.get(i, c), z.get(i, k), w);
    w = w * tau;
    z.set(top, k, z.get(top, k) - w);
    for (i64 i = top + 1; i < m; ++i) z.set(i, k, mul_add(-a.get(i, c), w, z.get(i, k)));
  }
}

template <class V>
void qr(void* a_block, std::int64_t m, std::int64_t n, void* q_block, std::int64_t columns,
        void* factors) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n}, q{static_cast<T*>(q_block), columns};
  const Rows<V> taus{static_cast<T*>(factors), 1};
  const i64 k = m < n ? m : n;
  for (i64 j = 0; j < k; ++j) {
    const V tau = reflection(a, m, j, j);
    taus.set(j, 0, tau);
    reflect(a, m, j, j, tau, a, j + 1);
  }
  for (i64 i = 0; i < m; ++i) {
    for (i64 c = 0; c < columns; ++c) q.set(i, c, V(T(i == c)));
  }
  for (i64 j = k - 1; j >= 0; --j) reflect(a, m, j, j, taus.get(j, 0), q, j);
}

// The largest number of the lower triangles.
template <class V>
ARRAYX_HD V largest_below(Rows<V> a, i64 n) {
  V largest(0);
  for (i64 i = 0; i < n; ++i) {
    for (i64 j = 0; j <= i; ++j) largest = larger_of(largest, a.get(i, j));
  }
  return largest;
}

// LAPACK's sytd2: with w = tau A v less half of its part along v, A becomes
// A - v transpose(w) - w transpose(v).
template <class V>
std::uint64_t tridiagonalize(void* a_block, std::int64_t n, void* factors, void* beside) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n};
  const Rows<V> taus{static_cast<T*>(factors), 1}, betas{static_cast<T*>(beside), 1};
  const auto usual = of_usual_size(largest_below(a, n));
  for (i64 j = 0; j + 1 < n; ++j) {
    const V tau = reflection(a, n, j + 1, j);
    taus.set(j, 0, tau);
    betas.set(j, 0, a.get(j + 1, j));
    a.set(j + 1, j, V(1));
    // w stands in row j, right of the diagonal.
    V along(0);
    for (i64 i = j + 1; i < n; ++i) {
      const V v = a.get(i, j);
      V sum = a.get(i, i) * v;
      for (i64 k = j + 1; k < i; ++k) {
        const V x = a.get(i, k);
        sum = mul_add(x, a.get(k, j), sum);
        a.set(j, k, mul_add(x, v, a.get(j, k)));
      }
      a.set(j, i, sum);
    }
    for (i64 i = j + 1; i < n; ++i) {
      const V w = tau * a.get(j, i);
      a.set(j, i, w);
      along = mul_add(w, a.get(i, j), along);
    }
    along = V(T(-0.5)) * tau * along;
    for (i64 i = j + 1; i < n; ++i) a.set(j, i, mul_add(along, a.get(i, j), a.get(j, i)));
    for (i64 i = j + 1; i < n; ++i) {
      const V v = a.get(i, j), w = a.get(j, i);
      for (i64 k = j + 1; k <= i; ++k) {
        a.set(i, k, mul_add(-v, a.get(j, k), mul_add(-w, a.get(k, j), a.get(i, k))));
      }
    }
  }
  return bits<V>(!usual);
}

template <class V>
void turn_back(const void* a_block, std::int64_t n, const void* factors, void* z_block) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(const_cast<void*>(a_block)), n};
  const Rows<V> taus{static_cast<T*>(const_cast<void*>(factors)), 1};
  const Rows<V> z{static_cast<T*>(z_block), n};
  for (i64 j = n - 2; j >= 0; --j) reflect(a, n, j + 1, j, taus.get(j, 0), z, 0);
}

// ---- real Schur forms

// Householder's reflections from both sides: a becomes transpose(Q) a Q, with zeros below the first
// subdiagonal, and z, where there is one, becomes Q.
template <class V>
ARRAYX_HD void to_hessenberg(Rows<V> a, Rows<V> z, i64 n) {
  using T = ops::scalar_t<V>;
  V taus[most_small_rows];
  for (i64 j = 0; j + 2 < n; ++j) {
    const V tau = reflection(a, n, j + 1, j);
    taus[j] = tau;
    reflect(a, n, j + 1, j, tau, a, j + 1);
    for (i64 i = 0; i < n; ++i) {
      V w = a.get(i, j + 1);
      for (i64 k = j + 2; k < n; ++k) w = mul_add(a.get(i, k), a.get(k, j), w);
      w = w * tau;
      a.set(i, j + 1, a.get(i, j + 1) - w);
      for (i64 k = j + 2; k < n; ++k) a.set(i, k, mul_add(-w, a.get(k, j), a.get(i, k)));
    }
  }
  if (z.data) {
    for (i64 i = 0; i < n; ++i) {
      for (i64 j = 0; j < n; ++j) z.set(i, j, V(T(i == j)));
    }
  }
  for (i64 j = n - 3; j >= 0; --j) {
    if (z.data) reflect(a, n, j + 1, j, taus[j], z, j + 1);
    for (i64 i = j + 2; i < n; ++i) a.set(i, j, V(T(0)));
  }
}

// The last block of each lane, from row `top` to `bottom`, that is larger than 2 × 2, and what a
// sweep over it starts from.
template <class V>
struct Block {
  using T = ops::scalar_t<V>;
  V top{T(0)}, bottom{T(-1)};
  V first[5];              // a(0, 0), a(0, 1), a(1, 0), a(1, 1), a(2, 1), counted from the top
  V last, before, beside;  // the last two of the diagonal, the product of those beside it
  V step;                  // the last two below the diagonal, in magnitude

  // Subdiagonal elements that are negligible beside their neighbours become zero on the way.
  ARRAYX_HD Block(Rows<V> a, i64 n, V largest) {
    const V zero(0), unit(T(2 * unit_of_rounding<V>));
    for (V& x : first) x = zero;
    last = before = beside = step = zero;
    V start(0);
    for (i64 k = 1; k < n; ++k) {
      const V size = ops::fabs(a.get(k - 1, k - 1)) + ops::fabs(a.get(k, k));
      V below = a.get(k, k - 1);
      below = select(ops::fabs(below) <= unit * select(size == zero, largest, size), zero, below);
      a.set(k, k - 1, below);
      start = select(below == zero, V(T(k)), start);
      if (k == 1) continue;
      const auto third = start == V(T(k - 2));
      if (any(third)) {
        const V here[5] = {a.get(k - 2, k - 2), a.get(k - 2, k - 1), a.get(k - 1, k - 2),
                           a.get(k - 1, k - 1), a.get(k, k - 1)};
        ARRAYX_UNROLL
        for (int i = 0; i < 5; ++i) first[i] = select(third, here[i], first[i]);
      }
      const auto in_block = start <= V(T(k - 2));
      if (!any(in_block)) continue;
      top = select(in_block, start, top);
      bottom = select(in_block, V(T(k)), bottom);
      last = select(in_block, a.get(k, k), last);
      before = select(in_block, a.get(k - 1, k - 1), before);
      beside = select(in_block, a.get(k - 1, k) * below, beside);
      step = select(in_block, ops::fabs(below) + ops::fabs(a.get(k - 1, k - 2)), step);
    }
  }
};

// Francis's double steps, each lane on a block of its own (as in EISPACK's hqr2).
template <class V>
std::uint64_t schur(void* a_block, std::int64_t n, void* z_block) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n}, z{static_cast<T*>(z_block), n};
  const V zero(0), one(1);
  V largest(0);
  for (i64 i = 0; i < n; ++i) {
    for (i64 j = 0; j < n; ++j) largest = larger_of(largest, a.get(i, j));
  }
  const auto usual = of_usual_size(largest);
  to_hessenberg(a, z, n);
  V top(-1), bottom(-1), steps(0);
  auto open = usual;
  for (i64 sweep = 0; sweep < 30 * n; ++sweep) {
    const Block<V> b(a, n, largest);
    open = usual & (b.bottom > zero);
    if (!any(open)) break;
    steps = select((b.top == top) & (b.bottom == bottom), steps + one, zero);
    top = b.top;
    bottom = b.bottom;
    // Now and then other shifts, for the rare matrices that stay as they are.
    const V tenths = steps * V(T(0.1));
    const auto stuck = (steps > zero) & (ops::floor(tenths) == tenths);
    const V last = select(stuck, V(T(0.75)) * b.step, b.last);
    const V before = select(stuck, V(T(0.75)) * b.step, b.before);
    const V beside = select(stuck, V(T(-0.4375)) * b.step * b.step, b.beside);
    // Of two real shifts the nearer one twice, as LAPACK does, whose order of eigenvalues this
    // keeps for most matrices.
    const V half = V(T(0.5)) * (last - before), disc = mul_add(half, half, beside);
    const auto real = disc >= zero;
    const V near = before + half + ops::copysign(ops::sqrt(select(real, disc, zero)), half);
    const V from_last = select(real, near, last) - b.first[0];
    const V from_before = select(real, near, before) - b.first[0];
    const V product = select(real, zero, beside);
    const V divisor = select(open, b.first[2], one);
    const V start[3] = {mul_add(from_last, from_before, -product) / divisor + b.first[1],
                        b.first[3] - b.first[0] - from_last - from_before, b.first[4]};
    i64 begin = n, end = 0;
    for (int l = 0; l < int(Rows<V>::lanes); ++l) {
      const i64 lane_top = i64(top[l]), lane_bottom = i64(bottom[l]);
      if (lane_bottom <= 0) continue;
      begin = lane_top < begin ? lane_top : begin;
      end = lane_bottom > end ? lane_bottom : end;
    }
    // Eigenvalues ask for nothing outside the blocks.
    const i64 left = z.data ? 0 : begin, right = z.data ? n : end + 1;
    for (i64 k = begin; k < end; ++k) {
      const V row = V(T(k));
      const auto starts = open & (top == row);
      const auto inside = open & (top < row) & (row < bottom);
      if (!any(starts | inside)) continue;
      const bool three = k + 2 < n;
      V p = zero, q = zero, r = zero;
      if (k > 0) {
        p = select(inside, a.get(k, k - 1), zero);
        q = select(inside, a.get(k + 1, k - 1), zero);
        if (three) r = select(inside & (row + one < bottom), a.get(k + 2, k - 1), zero);
      }
      // The sign of a zero may come of turns in other lanes: p has none, nor has the result.
      p = select(starts, start[0], p) + zero;
      q = select(starts, start[1], q);
      r = select(starts, start[2], r);
      const V size = ops::fabs(p) + ops::fabs(q) + ops::fabs(r);
      const auto turns = size > zero;
      const V scale = select(turns, size, one);
      p = p / scale;
      q = q / scale;
      r = r / scale;
      const V length = ops::copysign(ops::sqrt(mul_add(p, p, mul_add(q, q, r * r))), p);
      if (k > 0) {
        const auto moved = inside & turns;
        a.set(k, k - 1, select(moved, -length * scale, a.get(k, k - 1)));
        a.set(k + 1, k - 1, select(moved, zero, a.get(k + 1, k - 1)));
        if (three) a.set(k + 2, k - 1, select(moved, zero, a.get(k + 2, k - 1)));
      }
      const V sum = select(turns, p + length, one), safe = select(turns, length, one);
      const V x = select(turns, sum / safe, zero), y = q / safe, w = r / safe;
      q = q / sum;
      r = r / sum;
      const auto columns = [&](Rows<V> m, i64 first, i64 rows) __attribute__((always_inline)) {
        for (i64 i = first; i < rows; ++i) {
          V t = mul_add(x, m.get(i, k), y * m.get(i, k + 1));
          if (three) t = mul_add(w, m.get(i, k + 2), t);
          m.set(i, k, m.get(i, k) - t);
          m.set(i, k + 1, mul_add(-t, q, m.get(i, k + 1)));
          if (three) m.set(i, k + 2, mul_add(-t, r, m.get(i, k + 2)));
        }
      };
      for (i64 j = k; j < right; ++j) {
        V t = mul_add(q, a.get(k + 1, j), a.get(k, j));
        if (three) t = mul_add(r, a.get(k + 2, j), t);
        a.set(k, j, mul_add(-t, x, a.get(k, j)));
        a.set(k + 1, j, mul_add(-t, y, a.get(k + 1, j)));
        if (three) a.set(k + 2, j, mul_add(-t, w, a.get(k + 2, j)));
      }
      columns(a, left, k + 4 < right ? k + 4 : right);
      if (z.data) columns(z, 0, n);
    }
  }
  for (i64 i = 0; i < n; ++i) {
    for (i64 j = 0; j < n; ++j) {
      a.set(i, j, a.get(i, j) + zero);
      if (z.data) z.set(i, j, z.get(i, j) + zero);
    }
  }
  return bits<V>(open | !usual);
}

// ---- Jacobi's rotations

// Sweeps over all pairs; matrices of up to 32 rows take four to nine.
inline constexpr int most_sweeps = 30;

// The rotation (c, s) that brings `off`, between two that differ by 2 * half, to zero; where not
// `needed` the one that changes nothing, so that no lane's result depends on other lanes.
template <class V>
struct Rotation {
  V tangent, sine, ratio;

  template <class M>
  ARRAYX_HD Rotation(M needed, V half, V off) {
    const V one(1);
    const V cotangent = half / select(needed, off, one);
    const V sum = ops::fabs(cotangent) + ops::sqrt(mul_add(cotangent, cotangent, one));
    tangent = select(needed, ops::copysign(one / sum, cotangent), V(0));
    const V cosine = one / ops::sqrt(mul_add(tangent, tangent, one));
    sine = tangent * cosine;
    ratio = sine / (one + cosine);
  }
  // x and y become c x - s y and s x + c y, by what they change, so that small turns, of which
  // there are many, bring small errors (Rutishauser 1966).
  ARRAYX_HD void turn(V& x, V& y) const {
    const V before = x;
    x = mul_add(-sine, mul_add(ratio, before, y), before);
    y = mul_add(sine, mul_add(-ratio, y, before), y);
  }
};

template <class V>
std::uint64_t eigenvalues(void* a_block, std::int64_t n) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n};
  const V largest = largest_below(a, n);
  const auto usual = of_usual_size(largest);
  const V negligible = largest * V(static_cast<T>(unit_of_rounding<V> / 8));
  auto turned = usual;
  for (int sweep = 0; any(turned) && sweep < most_sweeps; ++sweep) {
    turned = usual & !usual;
    for (i64 q = 1; q < n; ++q) {
      for (i64 p = 0; p < q; ++p) {
        const V off = a.get(q, p);
        const auto needed = usual & (ops::fabs(off) > negligible);
        if (!any(needed)) continue;
        turned = turned | needed;
        const V first = a.get(p, p), last = a.get(q, q);
        const Rotation<V> r(needed, (last - first) * V(T(0.5)), off);
        a.set(p, p, mul_add(-r.tangent, off, first));
        a.set(q, q, mul_add(r.tangent, off, last));
        a.set(q, p, select(needed, V(0), off));
        const auto turn = [&](i64 i, i64 j, i64 k, i64 l) __attribute__((always_inline)) {
          V x = a.get(i, j), y = a.get(k, l);
          r.turn(x, y);
          a.set(i, j, x);
          a.set(k, l, y);
        };
        for (i64 i = 0; i < p; ++i) turn(p, i, q, i);
        for (i64 i = p + 1; i < q; ++i) turn(i, p, q, i);
        for (i64 i = q + 1; i < n; ++i) turn(i, p, i, q);
      }
    }
  }
  // Rotations by zero may change the sign of a zero.
  for (i64 i = 0; i < n; ++i) a.set(i, i, a.get(i, i) + V(0));
  return bits<V>(turned | !usual);
}

template <class V>
std::uint64_t singular_values(void* a_block, std::int64_t m, std::int64_t n, void* values) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n}, lengths{static_cast<T*>(values), 1};
  V largest(0);
  for (i64 i = 0; i < m; ++i) {
    for (i64 j = 0; j < n; ++j) largest = larger_of(largest, a.get(i, j));
  }
  const auto usual = of_usual_size(largest);
  // What rounding leaves of a product of orthogonal columns is about as large.
  const V cosine_bound(
      static_cast<T>(2 * unit_of_rounding<V> * __builtin_sqrt(static_cast<double>(m))));
  auto turned = usual;
  for (int sweep = 0; any(turned) && sweep < most_sweeps; ++sweep) {
    turned = usual & !usual;
    for (i64 q = 1; q < n; ++q) {
      for (i64 p = 0; p < q; ++p) {
        V first(0), last(0), off(0);
        for (i64 i = 0; i < m; ++i) {
          const V x = a.get(i, p), y = a.get(i, q);
          first = mul_add(x, x, first);
          last = mul_add(y, y, last);
          off = mul_add(x, y, off);
        }
        const V bound = ops::sqrt(first) * ops::sqrt(last) * cosine_bound;
        const auto needed = usual & (ops::fabs(off) > bound);
        if (!any(needed)) continue;
        turned = turned | needed;
        const Rotation<V> r(needed, (last - first) * V(T(0.5)), off);
        for (i64 i = 0; i < m; ++i) {
          V x = a.get(i, p), y = a.get(i, q);
          r.turn(x, y);
          a.set(i, p, x);
          a.set(i, q, y);
        }
      }
    }
  }
  for (i64 j = 0; j < n; ++j) {
    V square(0);
    for (i64 i = 0; i < m; ++i) square = mul_add(a.get(i, j), a.get(i, j), square);
    lengths.set(j, 0, ops::sqrt(square));
  }
  return bits<V>(turned | !usual);
}

template <class T>
constexpr SmallMatrixKernels make_kernels() {
  constexpr int lanes = ops::vector_bytes / sizeof(T);
  using V = Vec<T, lanes>;
  return {lanes,
          &eliminate<V>,
          &back_substitute<V>,
          &cholesky<V>,
          &qr<V>,
          &tridiagonalize<V>,
          &turn_back<V>,
          &schur<V>,
          &eigenvalues<V>,
          &singular_values<V>,
          &has_usual_size<V>,
          &triangularize<V>,
          &bidiagonalize<V>,
          &tridiagonalize_one<V>,
          &turn<V>,
          &make_reflection<V>,
          &add_rows<V>,
          &row_products<V>,
          &symmetric_products<V>,
          &eliminate_columns<V>,
          &cholesky_one<V>,
          &substitute<V>,
          &substitute_one<V>};
}

constexpr SmallMatrixKernels float32_kernels = make_kernels<f32>();
constexpr SmallMatrixKernels float64_kernels = make_kernels<f64>();

}  // namespace

void fill_linalg(KernelTable& table) {
  table.small_matrices[0] = &float32_kernels;
  table.small_matrices[1] = &float64_kernels;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
