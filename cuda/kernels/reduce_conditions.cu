// Kernels of any, all and count_nonzero.
#include "reduce_kernels.cuh"

namespace arrayx::cuda {

namespace {

// Of integers only the size matters.
template <class Op, class A>
void fill(ReduceTable& table, Reduction op) {
  auto& row = table.reduce[static_cast<int>(op)];
  const auto put = [&row](DType d, const ReduceKernels& k) { row[static_cast<int>(d)][0] = k; };
  put(DType::bool_, reduce_kernels<Conditional<Op, u8, A>>());
  put(DType::int8, reduce_kernels<Conditional<Op, u8, A>>());
  put(DType::int16, reduce_kernels<Conditional<Op, u16, A>>());
  put(DType::int32, reduce_kernels<Conditional<Op, u32, A>>());
  put(DType::int64, reduce_kernels<Conditional<Op, u64, A>>());
  put(DType::uint8, reduce_kernels<Conditional<Op, u8, A>>());
  put(DType::uint16, reduce_kernels<Conditional<Op, u16, A>>());
  put(DType::uint32, reduce_kernels<Conditional<Op, u32, A>>());
  put(DType::uint64, reduce_kernels<Conditional<Op, u64, A>>());
  put(DType::float16, reduce_kernels<Conditional<Op, f16, A>>());
  put(DType::float32, reduce_kernels<Conditional<Op, f32, A>>());
  put(DType::float64, reduce_kernels<Conditional<Op, f64, A>>());
  put(DType::complex64, reduce_kernels<Conditional<Op, Complex<f32>, A>>());
  put(DType::complex128, reduce_kernels<Conditional<Op, Complex<f64>, A>>());
}

}  // namespace

void fill_conditions(ReduceTable& table) {
  fill<ops::Any, u8>(table, Reduction::any);
  fill<ops::All, u8>(table, Reduction::all);
  fill<ops::CountNonzero, i64>(table, Reduction::count_nonzero);
}

}  // namespace arrayx::cuda
