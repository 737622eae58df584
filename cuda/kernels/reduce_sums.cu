// Kernels of sums and sums of squares.
#include "reduce_arithmetic.cuh"

namespace arrayx::cuda {

void fill_sums(ReduceTable& table) {
  fill_arithmetic<ops::Sum, SumBytes>(table, Reduction::sum);
  auto& row = table.reduce[static_cast<int>(Reduction::sum_squared_deviations)];
  row[static_cast<int>(DType::float16)][0] = reduce_kernels<Deviations<f16, f32>>();
  row[static_cast<int>(DType::float32)][0] = reduce_kernels<Deviations<f32, f32>>();
  row[static_cast<int>(DType::float32)][1] = reduce_kernels<Deviations<f32, f64>>();
  row[static_cast<int>(DType::float64)][0] = reduce_kernels<Deviations<f64, f64>>();
  table.moments[static_cast<int>(DType::float16)] = reduce_kernels<Moments<f16>>();
  table.moments[static_cast<int>(DType::float32)] = reduce_kernels<Moments<f32>>();
  table.moments[static_cast<int>(DType::float64)] = reduce_kernels<Moments<f64>>();
}

}  // namespace arrayx::cuda
