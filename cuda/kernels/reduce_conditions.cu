// Kernels of any, all and count_nonzero.
#include "reduce_unordered.cuh"

namespace arrayx::cuda {

namespace {

// Of integers only the size matters.
template <class Op, class A, template <class, int> class OfBytes>
void fill(ReduceTable& table, Reduction op) {
  auto& row = table.reduce[static_cast<int>(op)];
  const auto put = [&row](DType d, const ReduceKernels& k) { row[static_cast<int>(d)][0] = k; };
  put(DType::bool_, unordered_kernels<OfConditions<Op, u8, A, OfBytes>>());
  put(DType::int8, unordered_kernels<OfConditions<Op, u8, A, OfBytes>>());
  put(DType::int16, unordered_kernels<OfConditions<Op, u16, A, OfBytes>>());
  put(DType::int32, unordered_kernels<OfConditions<Op, u32, A, OfBytes>>());
  put(DType::int64, unordered_kernels<OfConditions<Op, u64, A, OfBytes>>());
  put(DType::uint8, unordered_kernels<OfConditions<Op, u8, A, OfBytes>>());
  put(DType::uint16, unordered_kernels<OfConditions<Op, u16, A, OfBytes>>());
  put(DType::uint32, unordered_kernels<OfConditions<Op, u32, A, OfBytes>>());
  put(DType::uint64, unordered_kernels<OfConditions<Op, u64, A, OfBytes>>());
  put(DType::float16, unordered_kernels<OfConditions<Op, f16, A, OfBytes>>());
  put(DType::float32, unordered_kernels<OfConditions<Op, f32, A, OfBytes>>());
  put(DType::float64, unordered_kernels<OfConditions<Op, f64, A, OfBytes>>());
  put(DType::complex64, unordered_kernels<OfConditions<Op, Complex<f32>, A, OfBytes>>());
  put(DType::complex128, unordered_kernels<OfConditions<Op, Complex<f64>, A, OfBytes>>());
}

}  // namespace

void fill_conditions(ReduceTable& table) {
  fill<ops::Any, u8, AnyBytes>(table, Reduction::any);
  fill<ops::All, u8, AllBytes>(table, Reduction::all);
  fill<ops::CountNonzero, i64, CountBytes>(table, Reduction::count_nonzero);
}

}  // namespace arrayx::cuda
