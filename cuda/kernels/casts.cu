// Kernels of casts that lie in packs or rows; others are those of copies, which convert on load.
#include "elementwise_kernels.cuh"

namespace arrayx::cuda {

namespace {

// The types of the kernel of a cast, which others share that give the same bits: signs of integers
// matter where they are widened or become real numbers, and bool is uint8 unless it results.
template <class From, class To>
struct SharedCast {
  using M = memory_t<From>;
  static constexpr bool from_integer = std::is_integral_v<M>, to_integer = std::is_integral_v<To>;
  static constexpr bool drops_sign =
      ops::same_type_v<To, Boolean> || (to_integer && sizeof(To) <= sizeof(M));
  using to = std::conditional_t<to_integer && (from_integer || sizeof(To) < 4),
                                ops::without_sign_t<To>, To>;
  using from = std::conditional_t<from_integer,
                                  std::conditional_t<drops_sign, ops::without_sign_t<M>, M>, From>;
};

template <class From>
void fill_casts_from(KernelTable& table, DType from) {
  const auto put = [&]<class To>(DType to, To*) {
    // Else it is a copy.
    if constexpr (!has_same_bits(dtype_code<From>, dtype_code<To>)) {
      using Source = typename SharedCast<From, To>::from;
      using Target = typename SharedCast<From, To>::to;
      using O = Operation<Convert<Source, Target>, 1, Source, Source, Target, false>;
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
    }
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
