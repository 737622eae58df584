// Kernels of sums, of the moments that variances are made of, and of norms.
#include "reduce_arithmetic.cuh"

namespace arrayx::cuda {

void fill_sums(ReduceTable& table) {
  fill_arithmetic<ops::Sum, SumBytes>(table, Reduction::sum);
  table.moments[static_cast<int>(DType::float16)] = reduce_kernels<Moments<f16>>();
  table.moments[static_cast<int>(DType::float32)] = reduce_kernels<Moments<f32>>();
  table.moments[static_cast<int>(DType::float64)] = reduce_kernels<Moments<f64>>();
  table.moments_about_mean = moments_about_mean();
  table.norms[static_cast<int>(DType::float16)] = reduce_kernels<Norms<f16, f32>>();
  table.norms[static_cast<int>(DType::float32)] = reduce_kernels<Norms<f32, f64>>();
  table.norms[static_cast<int>(DType::float64)] = reduce_kernels<Norms<f64, ScaledSquares>>();
}

}  // namespace arrayx::cuda
