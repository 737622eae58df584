// What elimination, Gaussian and of Cholesky, does to the rows of one matrix; small_matrices.hpp
// says how it stands.
#pragma once

#include "reflections.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

template <class V>
void eliminate_columns(void* a_data, std::int64_t rows, std::int64_t stride, std::int64_t first,
                       std::int64_t columns, std::int64_t* pivots) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  T* const a = static_cast<T*>(a_data);
  T* const block = a + first;
  const i64 end = (columns + lanes - 1) / lanes * lanes;
  for (i64 j = 0; j < columns; ++j) {
    // The first of the largest; not a number is larger than any.
    i64 pivot = j;
    T largest = ops::fabs(block[j * stride + j]);
    for (i64 i = j + 1; i < rows; ++i) {
      const T size = ops::fabs(block[i * stride + j]);
      if (size <= largest || largest != largest) continue;
      largest = size;
      pivot = i;
    }
    pivots[j] = pivot;
    if (pivot != j) {
      T *x = a + j * stride, *y = a + pivot * stride;
      for (i64 c = 0; c < stride; c += lanes) {
        const V before = V::load(x + c);
        V::load(y + c).store(x + c);
        before.store(y + c);
      }
    }
    // Below a pivot of zero are zeros, which need no multiple of it.
    if (largest == 0) continue;
    const T diagonal = block[j * stride + j];
    for (i64 i = j + 1; i < rows; ++i) block[i * stride + j] /= diagonal;
    for (i64 c = (j + 1) / lanes * lanes; c < end; c += lanes) {
      V row = V::load(block + j * stride + c);
      for (i64 l = c; l <= j; ++l) row.set(static_cast<int>(l - c), T(0));
      for (i64 i = j + 1; i < rows; ++i) {
        T* const to = block + i * stride + c;
        mul_add(V(-block[i * stride + j]), row, V::load(to)).store(to);
      }
    }
  }
}

template <class V>
bool cholesky_one(void* a_data, std::int64_t n, std::int64_t stride) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  T* const a = static_cast<T*>(a_data);
  for (i64 j = 0; j < n; ++j) {
    T* const row = a + j * stride;
    const T square = row[j];
    if (!(square > 0 && ops::is_finite(square))) return false;
    const T root = ops::sqrt(square);
    const V inverse(1 / root);
    for (i64 c = j / lanes * lanes; c < n; c += lanes) (V::load(row + c) * inverse).store(row + c);
    row[j] = root;
    for (i64 i = j + 1; i < n; ++i) {
      const V weight(-row[i]);
      T* const to = a + i * stride;
      for (i64 c = i / lanes * lanes; c < n; c += lanes) {
        mul_add(weight, V::load(row + c), V::load(to + c)).store(to + c);
      }
    }
  }
  return true;
}

template <class V>
void substitute(const void* a_data, std::int64_t a_stride, std::int64_t n, Triangle triangle,
                void* b_data, std::int64_t b_stride, std::int64_t columns) {
  using T = ops::scalar_t<V>;
  constexpr int lanes = ops::lane_traits<V>::lanes;
  const T* const a = static_cast<const T*>(a_data);
  T* const b = static_cast<T*>(b_data);
  const bool upper = triangle == Triangle::upper, turned = triangle == Triangle::turned_upper;
  const i64 a_row = turned ? 1 : a_stride, a_column = turned ? a_stride : 1;
  for_vectors<V>(0, columns, [&]<int count>(i64 begin) __attribute__((always_inline)) {
    for (i64 step = 0; step < n; ++step) {
      const i64 i = upper ? n - 1 - step : step;
      T* const row = b + i * b_stride + begin;
      V x[count];
      ARRAYX_UNROLL
      for (int c = 0; c < count; ++c) x[c] = V::load(row + c * lanes);
      for (i64 j = upper ? i + 1 : 0; j < (upper ? n : i); ++j) {
        const V weight(-a[i * a_row + j * a_column]);
        ARRAYX_UNROLL
        for (int c = 0; c < count; ++c) {
          x[c] = mul_add(weight, V::load(b + j * b_stride + begin + c * lanes), x[c]);
        }
      }
      const T diagonal = a[i * (a_stride + 1)];
      const V divisor(upper ? diagonal : T(1)), factor(turned ? 1 / diagonal : T(1));
      ARRAYX_UNROLL
      for (int c = 0; c < count; ++c) {
        (upper ? x[c] / divisor : x[c] * factor).store(row + c * lanes);
      }
    }
  });
}

template <class V>
void substitute_one(const void* a_data, std::int64_t stride, std::int64_t n, bool upper,
                    void* x_data) {
  using T = ops::scalar_t<V>;
  constexpr i64 lanes = ops::lane_traits<V>::lanes;
  const T* const a = static_cast<const T*>(a_data);
  T* const x = static_cast<T*>(x_data);
  for (i64 step = 0; step < n; ++step) {
    const i64 i = upper ? n - 1 - step : step;
    const T* const row = a + i * stride;
    const i64 end = upper ? n : i;
    i64 j = upper ? i + 1 : 0;
    V sums[4] = {V(0), V(0), V(0), V(0)};
    for (; j + 4 * lanes <= end; j += 4 * lanes) {
      ARRAYX_UNROLL
      for (int c = 0; c < 4; ++c) {
        sums[c] = mul_add(V::load(row + j + c * lanes), V::load(x + j + c * lanes), sums[c]);
      }
    }
    for (; j < end; j += lanes) {
      const int left = static_cast<int>(end - j < lanes ? end - j : lanes);
      sums[0] = mul_add(V::load_first(row + j, left), V::load_first(x + j, left), sums[0]);
    }
    x[i] -= sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    if (upper) x[i] /= row[i];
  }
}

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
