// See blas.hpp.
#include "blas.hpp"

#include <string>

#include "engine.hpp"
#include "libraries.hpp"

namespace arrayx::cuda {

Cublas::Cublas() {
  void* const library = open_library("libcublas.so.13", {"libcublasLt.so.13"});
  if (!find(library, "cublasCreate_v2", create) ||
      !find(library, "cublasSetStream_v2", set_stream) ||
      !find(library, "cublasSetMathMode", set_math_mode)) {
    return;
  }
  find(library, "cublasGemmStridedBatchedEx_64", gemm);
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::string("cublas") + "SDCZ"[i];
    find(library, (name + "gemv_v2_64").c_str(), gemv[i]);
    find(library, (name + "getrfBatched").c_str(), getrf[i]);
    find(library, (name + "getrsBatched").c_str(), getrs[i]);
    find(library, (name + "trsm_v2_64").c_str(), trsm[i]);
  }
}

Cublas::Handle Cublas::handle() {
  const auto device = static_cast<std::size_t>(properties().index);
  const std::lock_guard lock(mutex_);
  if (handles_.size() <= device) handles_.resize(device + 1);
  Handle& h = handles_[device];
  if (!h) {
    if (create(&h) != 0) raise(ErrorKind::runtime, "cuBLAS could not be started");
    if (set_stream(h, stream()) != 0) raise(ErrorKind::runtime, "cuBLAS refused the stream");
    if (set_math_mode(h, sums_as_computed) != 0) {
      raise(ErrorKind::runtime, "cuBLAS refused to add up in the precision of products");
    }
  }
  return h;
}

Cublas& cublas() {
  static Cublas* const library = new Cublas;
  return *library;
}

}  // namespace arrayx::cuda
