// Shuffles of two vectors, and squares of vectors whose rows become columns in registers. Included
// by the kernel sources only, once per instruction set.
#pragma once

#include <utility>

#include "vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

// Lanes of x and y in groups of N, of each group the first (Half = 0) or second half.
template <int Half, int N, class T, int W, std::size_t... I>
ARRAYX_HD Vec<T, W> halves(Vec<T, W> x, Vec<T, W> y, std::index_sequence<I...>) {
  return Vec<T, W>(
      __builtin_shufflevector(x.v, y.v, (I / (N / 2) * N + Half * (N / 2) + I % (N / 2))...));
}
template <int Half, int N, class T, int W>
ARRAYX_HD Vec<T, W> halves(Vec<T, W> x, Vec<T, W> y) {
  return halves<Half, N>(x, y, std::make_index_sequence<W>());
}

// Every Step-th item of Step vectors in a row, the first being the First-th. Items are groups of U
// lanes.
template <int Step, int First, int U = 1, class V, int... I>
ARRAYX_HD V every(const V* a, std::integer_sequence<int, I...> lanes) {
  constexpr int n = sizeof...(I);
  constexpr auto from = [](int lane) { return (lane / U * Step + First) * U + lane % U; };
  if constexpr (Step == 2) {
    return V(__builtin_shufflevector(a[0].v, a[1].v, (from(I))...));
  } else if constexpr (Step == 3) {
    const V two(__builtin_shufflevector(a[0].v, a[1].v, (from(I) < 2 * n ? from(I) : 0)...));
    return V(__builtin_shufflevector(two.v, a[2].v, (from(I) < 2 * n ? I : from(I) - n)...));
  } else {
    const V two[2] = {every<2, First % 2, U>(a, lanes), every<2, First % 2, U>(a + 2, lanes)};
    return every<2, First / 2, U>(two, lanes);
  }
}

// Lanes of a part of 16 bytes, within which shuffles of two vectors are one instruction each.
template <class T, int N>
inline constexpr int part_lanes =
    16 / static_cast<int>(sizeof(T)) < N ? 16 / static_cast<int>(sizeof(T)) : N;

// Items of two vectors by turns within each part, from their lower or upper halves.
template <int Half, class T, int N, int... I>
ARRAYX_HD Vec<T, N> interleave_parts(Vec<T, N> a, Vec<T, N> b, std::integer_sequence<int, I...>) {
  constexpr int part = part_lanes<T, N>;
  return Vec<T, N>(__builtin_shufflevector(
      a.v, b.v, (I / part * part + Half * part / 2 + I % part / 2 + (I % 2) * N)...));
}

// Each part of n rows, as many as its lanes, transposed by itself: log2(n) rounds of interleaving
// row i with row i + n/2.
template <int n, class T, int N>
ARRAYX_HD void parts_to_columns(Vec<T, N>* a) {
  constexpr std::make_integer_sequence<int, N> all{};
  Vec<T, N> b[n];
  ARRAYX_UNROLL
  for (int round = 1; round < n; round *= 2) {
    ARRAYX_UNROLL
    for (int i = 0; i < n / 2; ++i) {
      b[2 * i] = interleave_parts<0>(a[i], a[i + n / 2], all);
      b[2 * i + 1] = interleave_parts<1>(a[i], a[i + n / 2], all);
    }
    ARRAYX_UNROLL
    for (int i = 0; i < n; ++i) a[i] = b[i];
  }
}

// N rows to as many columns: parts by themselves, and then parts of two or four rows.
template <class T, int N>
ARRAYX_HD void rows_to_columns(Vec<T, N> (&a)[N]) {
  constexpr int part = part_lanes<T, N>, parts = N / part;
  static_assert(parts == 1 || parts == 2 || parts == 4);
  ARRAYX_UNROLL
  for (int first = 0; first < N; first += part) parts_to_columns<part>(a + first);
  if constexpr (parts == 2) {
    ARRAYX_UNROLL
    for (int i = 0; i < part; ++i) {
      const Vec<T, N> x = a[i], y = a[part + i];
      a[i] = halves<0, N>(x, y);
      a[part + i] = halves<1, N>(x, y);
    }
  } else if constexpr (parts == 4) {
    ARRAYX_UNROLL
    for (int i = 0; i < part; ++i) {
      Vec<T, N>&p = a[i], &q = a[part + i], &r = a[2 * part + i], &s = a[3 * part + i];
      const Vec<T, N> x = halves<0, N>(p, q), y = halves<1, N>(p, q);
      const Vec<T, N> z = halves<0, N>(r, s), w = halves<1, N>(r, s);
      p = halves<0, N / 2>(x, z);
      q = halves<1, N / 2>(x, z);
      r = halves<0, N / 2>(y, w);
      s = halves<1, N / 2>(y, w);
    }
  }
}

}  // namespace
}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
