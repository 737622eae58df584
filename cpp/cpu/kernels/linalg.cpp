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

template <class T>
constexpr SmallMatrixKernels make_kernels() {
  constexpr int lanes = ops::vector_bytes / sizeof(T);
  using V = Vec<T, lanes>;
  return {lanes, &eliminate<V>, &back_substitute<V>, &cholesky<V>, &qr<V>};
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
