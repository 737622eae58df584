// Householder's reflections on one matrix, whose rows are vectors; small_matrices.hpp says how it
// stands. What is done to a part of a row is done to whole vectors, with zeros where they reach
// beyond that part.
#pragma once

#include "../simd/vec.hpp"
#include "small_matrices.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

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
ARRAYX_HD auto sum_of_lanes(V x) {
  if constexpr (ops::lane_traits<V>::lanes == 2) {
    return x[0] + x[1];
  } else {
    return sum_of_lanes(low_half(x) + high_half(x));
  }
}

template <class V>
ARRAYX_HD auto largest_of_lanes(V x) {
  auto largest = x[0];
  for (int l = 1; l < ops::lane_traits<V>::lanes; ++l) largest = x[l] > largest ? x[l] : largest;
  return largest;
}

// x, of which the numbers from `start` to `end` count and the others of their vectors are zeros,
// becomes the v of the reflection I - tau v transpose(v) that turns it to (beta, 0 …), with
// LAPACK's sign.
template <class V>
struct Reflection {
  using T = ops::scalar_t<V>;
  static constexpr i64 lanes = ops::lane_traits<V>::lanes;
  T tau = 0, beta;

  ARRAYX_HD Reflection(T* x, i64 start, i64 end) {
    const i64 begin = start / lanes * lanes;
    const T alpha = x[start];
    beta = alpha;
    x[start] = 0;
    V most(0);
    for (i64 i = begin; i < end; i += lanes) {
      const V size = ops::fabs(V::load(x + i));
      most = select(size > most, size, most);
    }
    T largest = largest_of_lanes(most);
    if (largest > 0) {
      largest = ops::fabs(alpha) > largest ? ops::fabs(alpha) : largest;
      const V scale(largest);
      V squares(0);  // of numbers that are at most 1
      for (i64 i = begin; i < end; i += lanes) {
        const V part = V::load(x + i) / scale;
        part.store(x + i);
        squares = mul_add(part, part, squares);
      }
      const T first = alpha / largest;
      const T length = -ops::copysign(ops::sqrt(first * first + sum_of_lanes(squares)), first);
      const V divisor(first - length);
      for (i64 i = begin; i < end; i += lanes) (V::load(x + i) / divisor).store(x + i);
      tau = (length - first) / length;
      beta = length * largest;
    }
    x[start] = 1;
  }
};

// sums = factor times transpose(v) z, from vector `begin` of z on; numbers before `from` are zeros.
template <class V, int count, class T>
ARRAYX_HD void weighted_rows(const T* z, i64 rows, i64 stride, i64 begin, i64 from, const T* v,
                             T factor, V (&sums)[count]) {
  constexpr int lanes = ops::lane_traits<V>::lanes;
  ARRAYX_UNROLL
  for (int c = 0; c < count; ++c) sums[c] = V(0);
  const T* row = z + begin;
  for (i64 i = 0; i < rows; ++i, row += stride) {
    const V weight(v[i]);
    ARRAYX_UNROLL
    for (int c = 0; c < count; ++c) sums[c] = mul_add(weight, V::load(row + c * lanes), sums[c]);
  }
  ARRAYX_UNROLL
  for (int c = 0; c < count; ++c) sums[c] = sums[c] * V(factor);
  for (int l = 0; l < from - begin; ++l) sums[0].set(l, T(0));
}

// f.template operator()<count>(begin) for the vectors from the one that holds `from` on, `count` of
// them at a time.
template <class V, class F>
ARRAYX_HD void for_vectors(i64 from, i64 stride, const F& f) {
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  i64 begin = from / lanes * lanes;
  for (; begin + 8 * lanes <= stride; begin += 8 * lanes) f.template operator()<8>(begin);
  if (begin + 4 * lanes <= stride) {
    f.template operator()<4>(begin);
    begin += 4 * lanes;
  }
  for (; begin < stride; begin += lanes) f.template operator()<1>(begin);
}

// The columns of z from one on become (I - tau v transpose(v)) z.
template <class V, class T>
void reflect_columns(T* z, i64 rows, i64 stride, i64 from, const T* v, T tau) {
  constexpr int lanes = ops::lane_traits<V>::lanes;
  if (tau == 0) return;
  for_vectors<V>(from, stride, [&]<int count>(i64 begin) __attribute__((always_inline)) {
    V sums[count];
    weighted_rows<V, count>(z, rows, stride, begin, from, v, tau, sums);
    T* row = z + begin;
    for (i64 i = 0; i < rows; ++i, row += stride) {
      const V weight(-v[i]);
      ARRAYX_UNROLL
      for (int c = 0; c < count; ++c) {
        mul_add(weight, sums[c], V::load(row + c * lanes)).store(row + c * lanes);
      }
    }
  });
}

// The rows of z become those of z (I - tau v transpose(v)), v having zeros before `from`.
template <class V, class T>
void reflect_rows(T* z, i64 rows, i64 stride, i64 from, const T* v, T tau) {
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  if (tau == 0) return;
  const i64 begin = from / lanes * lanes;
  for (i64 i = 0; i < rows; ++i, z += stride) {
    V sum(0);
    for (i64 c = begin; c < stride; c += lanes) sum = mul_add(V::load(z + c), V::load(v + c), sum);
    const V weight(-tau * sum_of_lanes(sum));
    for (i64 c = begin; c < stride; c += lanes) {
      mul_add(weight, V::load(v + c), V::load(z + c)).store(z + c);
    }
  }
}

template <class V>
bool has_usual_size(const void* a, std::int64_t items) {
  using T = ops::scalar_t<V>;
  V largest(0);
  for (i64 i = 0; i < items; i += ops::lane_traits<V>::lanes) {
    largest = larger_of(largest, V::load(static_cast<const T*>(a) + i));
  }
  return !any(largest != largest) && any(of_usual_size(V(largest_of_lanes(largest))));
}

// Column j of a from row j on, turned to (beta, 0 …) by a reflection that it holds afterwards, as
// the columns behind it are.
template <class V, class T>
ARRAYX_HD T clear_column(T* a, i64 m, i64 stride, i64 j, T* v) {
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  const i64 begin = j / lanes * lanes, end = (m + lanes - 1) / lanes * lanes;
  for (i64 i = begin; i < end; ++i) v[i] = i < j || i >= m ? T(0) : a[i * stride + j];
  const Reflection<V> r(v, j, m);
  a[j * stride + j] = r.beta;
  for (i64 i = j + 1; i < m; ++i) a[i * stride + j] = v[i];
  reflect_columns<V>(a + j * stride, m - j, stride, j + 1, v + j, r.tau);
  return r.tau;
}

// Row j of a from column j + 1 on becomes the v of its reflection, and beta what it makes of it.
template <class V, class T>
ARRAYX_HD Reflection<V> clear_row(T* a, i64 n, i64 stride, i64 j, T* v) {
  for (i64 i = 0; i < stride; ++i) v[i] = i <= j ? T(0) : a[j * stride + i];
  const Reflection<V> r(v, j + 1, n);
  for (i64 i = j + 1; i < n; ++i) a[j * stride + i] = v[i];
  return r;
}

template <class V>
void triangularize(void* a_data, std::int64_t m, std::int64_t n, std::int64_t stride, void* factors,
                   void* room) {
  using T = ops::scalar_t<V>;
  T* const taus = static_cast<T*>(factors);
  for (i64 j = 0; j < (m < n ? m : n); ++j) {
    taus[j] = clear_column<V>(static_cast<T*>(a_data), m, stride, j, static_cast<T*>(room));
  }
}

template <class V>
void bidiagonalize(void* a_data, std::int64_t m, std::int64_t n, std::int64_t stride,
                   void* diagonal, void* beside, void* left, void* right, void* room) {
  using T = ops::scalar_t<V>;
  T* const a = static_cast<T*>(a_data);
  T* const v = static_cast<T*>(room);
  for (i64 j = 0; j < n; ++j) {
    static_cast<T*>(left)[j] = clear_column<V>(a, m, stride, j, v);
    static_cast<T*>(diagonal)[j] = a[j * stride + j];
    if (j + 1 == n) break;
    const Reflection<V> r = clear_row<V>(a, n, stride, j, v);
    static_cast<T*>(right)[j] = r.tau;
    static_cast<T*>(beside)[j] = r.beta;
    reflect_rows<V>(a + (j + 1) * stride, m - j - 1, stride, j + 1, v, r.tau);
  }
}

// LAPACK's sytd2: with w = tau A v less half of its part along v, A becomes
// A - v transpose(w) - w transpose(v).
template <class V>
void tridiagonalize_one(void* a_data, std::int64_t n, std::int64_t stride, void* diagonal,
                        void* beside, void* factors, void* room) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  T* const a = static_cast<T*>(a_data);
  T *const v = static_cast<T*>(room), *const w = v + stride;
  for (i64 j = 0; j < n; ++j) {
    static_cast<T*>(diagonal)[j] = a[j * stride + j];
    if (j + 1 == n) break;
    const Reflection<V> r = clear_row<V>(a, n, stride, j, v);
    static_cast<T*>(factors)[j] = r.tau;
    static_cast<T*>(beside)[j] = r.beta;
    if (r.tau == 0) continue;
    const i64 from = j + 1, rows = n - from;
    T* const rest = a + from * stride;
    V along(0);
    for_vectors<V>(from, stride, [&]<int count>(i64 begin) __attribute__((always_inline)) {
      V sums[count];
      weighted_rows<V, count>(rest, rows, stride, begin, from, v + from, r.tau, sums);
      ARRAYX_UNROLL
      for (int c = 0; c < count; ++c) {
        sums[c].store(w + begin + c * lanes);
        along = mul_add(sums[c], V::load(v + begin + c * lanes), along);
      }
    });
    const V part(T(-0.5) * r.tau * sum_of_lanes(along));
    for (i64 c = from / lanes * lanes; c < stride; c += lanes) {
      mul_add(part, V::load(v + c), V::load(w + c)).store(w + c);
    }
    for_vectors<V>(from, stride, [&]<int count>(i64 begin) __attribute__((always_inline)) {
      T* row = rest + begin;
      for (i64 i = from; i < n; ++i, row += stride) {
        const V first(-v[i]), second(-w[i]);
        ARRAYX_UNROLL
        for (int c = 0; c < count; ++c) {
          const V x = mul_add(second, V::load(v + begin + c * lanes), V::load(row + c * lanes));
          mul_add(first, V::load(w + begin + c * lanes), x).store(row + c * lanes);
        }
      }
    });
  }
}

template <class V>
void make_reflection(void* x, std::int64_t start, std::int64_t end, void* factor, void* beta) {
  using T = ops::scalar_t<V>;
  const Reflection<V> r(static_cast<T*>(x), start, end);
  *static_cast<T*>(factor) = r.tau;
  *static_cast<T*>(beta) = r.beta;
}

template <class V>
void add_rows(const void* z_data, std::int64_t rows, std::int64_t stride, const void* weights_data,
              std::int64_t count, void* sums_data) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  const T* z = static_cast<const T*>(z_data);
  const T* weights = static_cast<const T*>(weights_data);
  T* const sums = static_cast<T*>(sums_data);
  // Several rows for each time that the sums are read and written.
  const auto add = [&]<int block>() __attribute__((always_inline)) {
    V weight[block];
    ARRAYX_UNROLL
    for (int r = 0; r < block; ++r) weight[r] = V(weights[r]);
    for (i64 c = 0; c < count; c += lanes) {
      V sum = V::load(sums + c);
      ARRAYX_UNROLL
      for (int r = 0; r < block; ++r) sum = mul_add(weight[r], V::load(z + r * stride + c), sum);
      sum.store(sums + c);
    }
    z += block * stride;
    weights += block;
    rows -= block;
  };
  while (rows >= 8) add.template operator()<8>();
  while (rows >= 2) add.template operator()<2>();
  if (rows > 0) add.template operator()<1>();
}

template <class V>
void row_products(const void* z_data, std::int64_t rows, std::int64_t stride, const void* v_data,
                  std::int64_t count, void* products_data) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  const T* z = static_cast<const T*>(z_data);
  const T* const v = static_cast<const T*>(v_data);
  T* products = static_cast<T*>(products_data);
  const auto multiply = [&]<int block>() __attribute__((always_inline)) {
    V sums[block];
    ARRAYX_UNROLL
    for (int r = 0; r < block; ++r) sums[r] = V(0);
    for (i64 c = 0; c < count; c += lanes) {
      const V x = V::load(v + c);
      ARRAYX_UNROLL
      for (int r = 0; r < block; ++r) sums[r] = mul_add(V::load(z + r * stride + c), x, sums[r]);
    }
    ARRAYX_UNROLL
    for (int r = 0; r < block; ++r) products[r] = sum_of_lanes(sums[r]);
    z += block * stride;
    products += block;
    rows -= block;
  };
  while (rows >= 8) multiply.template operator()<8>();
  while (rows > 0) multiply.template operator()<1>();
}

template <class V>
void symmetric_products(const void* z_data, std::int64_t first, std::int64_t last,
                        std::int64_t stride, const void* v_data, std::int64_t count,
                        void* products_data, void* sums_data) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  constexpr i64 block = 8, unit = lanes > block ? lanes : block;
  const T* const v = static_cast<const T*>(v_data);
  T *const products = static_cast<T*>(products_data), *const sums = static_cast<T*>(sums_data);
  const auto multiply = [&]<int rows>(i64 i) __attribute__((always_inline)) {
    const T* const z = static_cast<const T*>(z_data) + i * stride;
    const i64 begin = i / unit * unit, end = begin + unit < count ? begin + unit : count;
    V dot[rows], weight[rows];
    ARRAYX_UNROLL
    for (int r = 0; r < rows; ++r) {
      dot[r] = V(0);
      weight[r] = V(v[i + r]);
    }
    for (i64 c = begin; c < end; c += lanes) {
      const V x = V::load(v + c);
      ARRAYX_UNROLL
      for (int r = 0; r < rows; ++r) dot[r] = mul_add(V::load(z + r * stride + c), x, dot[r]);
    }
    for (i64 c = end; c < count; c += lanes) {
      const V x = V::load(v + c);
      V sum = V::load(sums + c);
      ARRAYX_UNROLL
      for (int r = 0; r < rows; ++r) {
        const V element = V::load(z + r * stride + c);
        dot[r] = mul_add(element, x, dot[r]);
        sum = mul_add(weight[r], element, sum);
      }
      sum.store(sums + c);
    }
    ARRAYX_UNROLL
    for (int r = 0; r < rows; ++r) products[i + r] = sum_of_lanes(dot[r]);
  };
  i64 i = first;
  for (; i < last && i % block != 0; ++i) multiply.template operator()<1>(i);
  for (; i + block <= last; i += block) multiply.template operator()<block>(i);
  for (; i < last; ++i) multiply.template operator()<1>(i);
}

template <class V>
void turn(const void* vectors, std::int64_t step, std::int64_t next, std::int64_t count,
          std::int64_t shift, const void* factors, void* z_data, std::int64_t m,
          std::int64_t stride, bool identity, void* room) {
  using T = ops::scalar_t<V>;
  T* const v = static_cast<T*>(room);
  for (i64 j = count - 1; j >= 0; --j) {
    const i64 top = j + shift;
    const T* from = static_cast<const T*>(vectors) + (top + 1) * step + j * next;
    v[0] = 1;
    for (i64 i = 1; i < m - top; ++i, from += step) v[i] = *from;
    reflect_columns<V>(static_cast<T*>(z_data) + top * stride, m - top, stride, identity ? top : 0,
                       v, static_cast<const T*>(factors)[j]);
  }
}

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
