// Kernels of the largest and the smallest values.
#include "reduce_unordered.cuh"

namespace arrayx::cuda {

namespace {

template <class Op>
void fill(ReduceTable& table, Reduction op) {
  auto& row = table.reduce[static_cast<int>(op)];
  const auto put = [&row](DType d, const ReduceKernels& k) { row[static_cast<int>(d)][0] = k; };
  put(DType::bool_, unordered_kernels<OfIntegers<Op, u8, u8, ExtremeBytes>>());
  put(DType::int8, unordered_kernels<OfIntegers<Op, i8, i8, ExtremeBytes>>());
  put(DType::int16, unordered_kernels<OfIntegers<Op, i16, i16, ExtremeBytes>>());
  put(DType::int32, unordered_kernels<OfIntegers<Op, i32, i32, ExtremeBytes>>());
  put(DType::int64, unordered_kernels<OfIntegers<Op, i64, i64, ExtremeBytes>>());
  put(DType::uint8, unordered_kernels<OfIntegers<Op, u8, u8, ExtremeBytes>>());
  put(DType::uint16, unordered_kernels<OfIntegers<Op, u16, u16, ExtremeBytes>>());
  put(DType::uint32, unordered_kernels<OfIntegers<Op, u32, u32, ExtremeBytes>>());
  put(DType::uint64, unordered_kernels<OfIntegers<Op, u64, u64, ExtremeBytes>>());
  put(DType::float16, reduce_kernels<Plain<Op, f16, f32>>());
  put(DType::float32, reduce_kernels<Plain<Op, f32, f32>>());
  put(DType::float64, reduce_kernels<Plain<Op, f64, f64>>());
}

}  // namespace

void fill_extremes(ReduceTable& table) {
  fill<ops::Max>(table, Reduction::max);
  fill<ops::Min>(table, Reduction::min);
}

}  // namespace arrayx::cuda
