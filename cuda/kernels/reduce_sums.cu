// Kernels of sums, products and sums of squares.
#include "reduce_kernels.cuh"

namespace arrayx::cuda {

namespace {

// Integers are summed modulo 2^64.
template <class Op>
void fill(ReduceTable& table, Reduction op) {
  auto& row = table.reduce[static_cast<int>(op)];
  const auto put = [&row](DType d, int wide, const ReduceKernels& k) {
    row[static_cast<int>(d)][wide] = k;
  };
  put(DType::bool_, 0, reduce_kernels<Plain<Op, u8, u64>>());
  put(DType::int8, 0, reduce_kernels<Plain<Op, i8, u64>>());
  put(DType::int16, 0, reduce_kernels<Plain<Op, i16, u64>>());
  put(DType::int32, 0, reduce_kernels<Plain<Op, i32, u64>>());
  put(DType::int64, 0, reduce_kernels<Plain<Op, u64, u64>>());
  put(DType::uint8, 0, reduce_kernels<Plain<Op, u8, u64>>());
  put(DType::uint16, 0, reduce_kernels<Plain<Op, u16, u64>>());
  put(DType::uint32, 0, reduce_kernels<Plain<Op, u32, u64>>());
  put(DType::uint64, 0, reduce_kernels<Plain<Op, u64, u64>>());
  put(DType::float16, 0, reduce_kernels<Plain<Op, f16, f32>>());
  put(DType::float32, 0, reduce_kernels<Plain<Op, f32, f32>>());
  put(DType::float32, 1, reduce_kernels<Plain<Op, f32, f64>>());
  put(DType::float64, 0, reduce_kernels<Plain<Op, f64, f64>>());
  put(DType::complex64, 0, reduce_kernels<Plain<Op, Complex<f32>, Complex<f32>>>());
  put(DType::complex64, 1, reduce_kernels<Plain<Op, Complex<f32>, Complex<f64>>>());
  put(DType::complex128, 0, reduce_kernels<Plain<Op, Complex<f64>, Complex<f64>>>());
}

}  // namespace

void fill_sums(ReduceTable& table) {
  fill<ops::Sum>(table, Reduction::sum);
  fill<ops::Prod>(table, Reduction::prod);
  auto& row = table.reduce[static_cast<int>(Reduction::sum_squared_deviations)];
  row[static_cast<int>(DType::float16)][0] = reduce_kernels<Deviations<f16, f32>>();
  row[static_cast<int>(DType::float32)][0] = reduce_kernels<Deviations<f32, f32>>();
  row[static_cast<int>(DType::float32)][1] = reduce_kernels<Deviations<f32, f64>>();
  row[static_cast<int>(DType::float64)][0] = reduce_kernels<Deviations<f64, f64>>();
}

}  // namespace arrayx::cuda
