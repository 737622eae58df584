// The dtypes of sums and products.
#pragma once

#include "reduce_unordered.cuh"

namespace arrayx::cuda {
namespace {

// Integers wrap around, modulo 2^64.
template <class Op, template <class, int> class OfBytes>
void fill_arithmetic(ReduceTable& table, Reduction op) {
  auto& row = table.reduce[static_cast<int>(op)];
  const auto put = [&row](DType d, int wide, const ReduceKernels& k) {
    row[static_cast<int>(d)][wide] = k;
  };
  put(DType::bool_, 0, unordered_kernels<OfIntegers<Op, u8, u64, OfBytes>>());
  put(DType::int8, 0, unordered_kernels<OfIntegers<Op, i8, u64, OfBytes>>());
  put(DType::int16, 0, unordered_kernels<OfIntegers<Op, i16, u64, OfBytes>>());
  put(DType::int32, 0, unordered_kernels<OfIntegers<Op, i32, u64, OfBytes>>());
  put(DType::int64, 0, unordered_kernels<OfIntegers<Op, u64, u64, OfBytes>>());
  put(DType::uint8, 0, unordered_kernels<OfIntegers<Op, u8, u64, OfBytes>>());
  put(DType::uint16, 0, unordered_kernels<OfIntegers<Op, u16, u64, OfBytes>>());
  put(DType::uint32, 0, unordered_kernels<OfIntegers<Op, u32, u64, OfBytes>>());
  put(DType::uint64, 0, unordered_kernels<OfIntegers<Op, u64, u64, OfBytes>>());
  put(DType::float16, 0, reduce_kernels<Plain<Op, f16, f32>>());
  put(DType::float32, 0, reduce_kernels<Plain<Op, f32, f32>>());
  put(DType::float32, 1, reduce_kernels<Plain<Op, f32, f64>>());
  put(DType::float64, 0, reduce_kernels<Plain<Op, f64, f64>>());
  put(DType::complex64, 0, reduce_kernels<Plain<Op, Complex<f32>, Complex<f32>>>());
  put(DType::complex64, 1, reduce_kernels<Plain<Op, Complex<f32>, Complex<f64>>>());
  put(DType::complex128, 0, reduce_kernels<Plain<Op, Complex<f64>, Complex<f64>>>());
}

}  // namespace
}  // namespace arrayx::cuda
