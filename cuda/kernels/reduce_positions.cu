// Kernels of the positions of the largest and the smallest values.
#include "reduce_kernels.cuh"

namespace arrayx::cuda {

namespace {

template <class Op>
void fill(ReduceKernels* row) {
  const auto put = [row](DType d, const ReduceKernels& k) { row[static_cast<int>(d)] = k; };
  put(DType::bool_, reduce_kernels<Extreme<Op, u8, u8>>());
  put(DType::int8, reduce_kernels<Extreme<Op, i8, i8>>());
  put(DType::int16, reduce_kernels<Extreme<Op, i16, i16>>());
  put(DType::int32, reduce_kernels<Extreme<Op, i32, i32>>());
  put(DType::int64, reduce_kernels<Extreme<Op, i64, i64>>());
  put(DType::uint8, reduce_kernels<Extreme<Op, u8, u8>>());
  put(DType::uint16, reduce_kernels<Extreme<Op, u16, u16>>());
  put(DType::uint32, reduce_kernels<Extreme<Op, u32, u32>>());
  put(DType::uint64, reduce_kernels<Extreme<Op, u64, u64>>());
  put(DType::float16, reduce_kernels<Extreme<Op, f16, f32>>());
  put(DType::float32, reduce_kernels<Extreme<Op, f32, f32>>());
  put(DType::float64, reduce_kernels<Extreme<Op, f64, f64>>());
}

}  // namespace

void fill_positions(ReduceTable& table) {
  fill<ops::Max>(table.position[1]);
  fill<ops::Min>(table.position[0]);
}

}  // namespace arrayx::cuda
