// Kernels of the positions of the largest and the smallest values.
#include "reduce_unordered.cuh"

namespace arrayx::cuda {

namespace {

template <class Op>
void fill(ReduceKernels* row) {
  const auto put = [row](DType d, const ReduceKernels& k) { row[static_cast<int>(d)] = k; };
  put(DType::bool_, unordered_kernels<OfPositions<Op, u8, u8>>());
  put(DType::int8, unordered_kernels<OfPositions<Op, i8, i8>>());
  put(DType::int16, unordered_kernels<OfPositions<Op, i16, i32>>());
  put(DType::int32, unordered_kernels<OfPositions<Op, i32, i32>>());
  put(DType::int64, unordered_kernels<OfPositions<Op, i64, i64>>());
  put(DType::uint8, unordered_kernels<OfPositions<Op, u8, u8>>());
  put(DType::uint16, unordered_kernels<OfPositions<Op, u16, u32>>());
  put(DType::uint32, unordered_kernels<OfPositions<Op, u32, u32>>());
  put(DType::uint64, unordered_kernels<OfPositions<Op, u64, u64>>());
  put(DType::float16, unordered_kernels<OfPositions<Op, f16, i32>>());
  put(DType::float32, unordered_kernels<OfPositions<Op, f32, f32>>());
  put(DType::float64, unordered_kernels<OfPositions<Op, f64, f64>>());
}

}  // namespace

void fill_positions(ReduceTable& table) {
  fill<ops::Max>(table.position[1]);
  fill<ops::Min>(table.position[0]);
}

}  // namespace arrayx::cuda
