// Sums of products of vectors, which stacks of vectors, and of matrices so small that each element
// is a thread's, are brought to.
#pragma once

#include <type_traits>

#include "engine.hpp"
#include "loops.cuh"

namespace arrayx::cuda {

// What products are summed in: small integers wrap around when they are stored.
template <class T>
using sum_t = std::conditional_t<(sizeof(T) < 4), u32, T>;

// sum + x y, or sum + conj(x) y: what products are added by wherever that does not depend on
// layout.
template <class W>
__device__ __forceinline__ W with_product(W sum, W x, W y, bool conjugate = false) {
  if constexpr (ops::is_complex_v<W>) {
    const auto im = conjugate ? -x.im : x.im;
    return {fma(-im, y.im, fma(x.re, y.re, sum.re)), fma(im, y.re, fma(x.re, y.im, sum.im))};
  } else if constexpr (ops::is_float_v<W>) {
    return fma(x, y, sum);
  } else {
    return sum + x * y;
  }
}

// out[i…] = the sum over l < k of a[i…, l] * b[i…, l], or of conj(a): aligned elements of one
// dtype; strides in elements, those over i… of a, b and out.
struct Dots {
  const char *a, *b;
  char* out;
  Dims shape, strides[3];
  std::int64_t k, a_step, b_step;
  bool conjugate = false;
};
void dots(DType dtype, const Dots& d);

// Up to so many elements a thread adds in their order.
inline constexpr std::int64_t most_in_order = 16;

}  // namespace arrayx::cuda
