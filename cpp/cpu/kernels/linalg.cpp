// Factorisations of small matrices, one in each lane; small_matrices.hpp says how they stand.
#include "small_matrices.hpp"

#include "../kernels.hpp"
#include "../simd/vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

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

// Rows j … m - 1 of z, from a column on, by the reflection I - tau v transpose(v), where v is 1 and
// what stands below the diagonal in column j of a.
template <class V>
ARRAYX_HD void reflect(Rows<V> a, i64 m, i64 j, V tau, Rows<V> z, i64 from) {
  for (i64 c = from; c < z.columns; ++c) {
    V w = z.get(j, c);
    for (i64 i = j + 1; i < m; ++i) w = mul_add(a.get(i, j), z.get(i, c), w);
    w = w * tau;
    z.set(j, c, z.get(j, c) - w);
    for (i64 i = j + 1; i < m; ++i) z.set(i, c, mul_add(-a.get(i, j), w, z.get(i, c)));
  }
}

// Householder's reflections, with LAPACK's signs.
template <class V>
void qr(void* a_block, std::int64_t m, std::int64_t n, void* q_block, std::int64_t columns,
        void* factors) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n}, q{static_cast<T*>(q_block), columns};
  const Rows<V> taus{static_cast<T*>(factors), 1};
  const i64 k = m < n ? m : n;
  const V zero(0), one(1);
  for (i64 j = 0; j < k; ++j) {
    V largest = ops::fabs(a.get(j, j));
    for (i64 i = j + 1; i < m; ++i) {
      const V size = ops::fabs(a.get(i, j));
      largest = select(size > largest, size, largest);
    }
    const V scale = select(largest == zero, one, largest);
    V below(0);  // squares of numbers that are at most 1
    for (i64 i = j + 1; i < m; ++i) {
      const V x = a.get(i, j) / scale;
      a.set(i, j, x);
      below = mul_add(x, x, below);
    }
    const auto done = below == zero;
    const V alpha = a.get(j, j) / scale;
    const V beta = -ops::copysign(ops::sqrt(mul_add(alpha, alpha, below)), alpha);
    const V divisor = select(done, one, alpha - beta);
    for (i64 i = j + 1; i < m; ++i) a.set(i, j, a.get(i, j) / divisor);
    const V tau = select(done, zero, (beta - alpha) / beta);
    a.set(j, j, select(done, a.get(j, j), beta * scale));
    taus.set(j, 0, tau);
    reflect(a, m, j, tau, a, j + 1);
  }
  for (i64 i = 0; i < m; ++i) {
    for (i64 c = 0; c < columns; ++c) q.set(i, c, i == c ? one : zero);
  }
  for (i64 j = k - 1; j >= 0; --j) reflect(a, m, j, taus.get(j, 0), q, j);
}

// ---- Jacobi's rotations

// Sweeps over all pairs; matrices of up to 32 rows take four to nine.
inline constexpr int most_sweeps = 30;
template <class V>
inline constexpr double unit_of_rounding = sizeof(ops::scalar_t<V>) == 4 ? 0x1p-24 : 0x1p-53;

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

// The lanes whose largest number is finite and neither too large nor too small for its square; or
// is zero.
template <class V>
auto of_usual_size(V largest) {
  using T = ops::scalar_t<V>;
  const double bound = sizeof(T) == 4 ? 0x1p40 : 0x1p400;
  return (largest == V(0)) |
         ((largest >= V(static_cast<T>(1 / bound))) & (largest <= V(static_cast<T>(bound))));
}
// NaN stays.
template <class V>
ARRAYX_HD V larger_of(V largest, V x) {
  const V size = ops::fabs(x);
  return select(size <= largest, largest, select(largest == largest, size, largest));
}

template <class V>
std::uint64_t eigenvalues(void* a_block, std::int64_t n) {
  using T = ops::scalar_t<V>;
  const Rows<V> a{static_cast<T*>(a_block), n};
  V largest(0);
  for (i64 i = 0; i < n; ++i) {
    for (i64 j = 0; j <= i; ++j) largest = larger_of(largest, a.get(i, j));
  }
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
  return {lanes,  &eliminate<V>,   &back_substitute<V>, &cholesky<V>,
          &qr<V>, &eigenvalues<V>, &singular_values<V>};
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
