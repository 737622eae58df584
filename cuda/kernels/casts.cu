// Kernels of casts that lie in packs or rows; others are those of copies, which convert on load.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

namespace {

template <class From>
void fill_casts_from(KernelTable& table, DType from) {
  const auto put = [&]<class To>(DType to, To*) {
    using O = Operation<Convert<From, To>, 1, From, From, To, false>;
    ElementwiseKernels& k = table.cast[static_cast<int>(from)][static_cast<int>(to)];
    k = table.copy[static_cast<int>(to)];
    k.packs = reinterpret_cast<const void*>(&packs<O>);
    k.rows = reinterpret_cast<const void*>(&rows<O>);
    k.joined_rows = nullptr;
    if constexpr (joins_rows<O>) k.joined_rows = reinterpret_cast<const void*>(&joined_rows<O>);
    k.packs_convert = true;
    k.most_step = most_step<O>;
    k.lanes = O::lanes;
    k.pack_threads = pack_threads<O>;
    k.packs_per_thread = packs_in_flight<O>;
  };
#define ARRAYX_ROW(name, T) put(DType::name, static_cast<T*>(nullptr));
  ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace

void fill_casts(KernelTable& table) {
#define ARRAYX_ROW(name, T) fill_casts_from<T>(table, DType::name);
  ARRAYX_CUDA_DTYPES(ARRAYX_ROW)
#undef ARRAYX_ROW
}

}  // namespace arrayx::cuda
