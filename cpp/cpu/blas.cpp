#include "blas.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>

#include "../array/error.hpp"
#include "../shared_library.hpp"
#include "fork.hpp"

namespace arrayx::cpu {

namespace {

#if defined(__APPLE__)
constexpr const char* library_file = "libscipy_openblas64_.dylib";
#else
constexpr const char* library_file = "libscipy_openblas64_.so";
#endif

void* open_library() {
  const std::string path = beside(reinterpret_cast<const void*>(&open_library), library_file);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) raise(ErrorKind::runtime, "OpenBLAS could not be opened: ", dlerror());
  return library;
}

template <class F>
void find(F& function, const char* name) {
  function = reinterpret_cast<F>(blas_symbol(name));
}

}  // namespace

void* blas_symbol(const char* name) {
  static constinit MadeOnce<void* const> library;
  const std::string symbol = "scipy_" + std::string(name) + "64_";
  void* address = dlsym(library.get(open_library), symbol.c_str());
  if (!address) raise(ErrorKind::runtime, "OpenBLAS has no function ", symbol);
  return address;
}

const Blas& blas() {
  static constinit MadeOnce<const Blas> instance;
  return instance.get([] {
    Blas b;
    find(b.sgemm, "cblas_sgemm");
    find(b.dgemm, "cblas_dgemm");
    find(b.cgemm, "cblas_cgemm");
    find(b.zgemm, "cblas_zgemm");
    find(b.sgemv, "cblas_sgemv");
    find(b.dgemv, "cblas_dgemv");
    find(b.cgemv, "cblas_cgemv");
    find(b.zgemv, "cblas_zgemv");
    find(b.ssyrk, "cblas_ssyrk");
    find(b.dsyrk, "cblas_dsyrk");
    find(b.csyrk, "cblas_csyrk");
    find(b.zsyrk, "cblas_zsyrk");
    find(b.get_threads, "openblas_get_num_threads");
    find(b.set_threads, "openblas_set_num_threads");
    return b;
  });
}

template <class T>
const Lapack<T>& lapack() {
  static constinit MadeOnce<const Lapack<T>> instance;
  return instance.get([] {
    using R = typename Lapack<T>::R;
    constexpr bool complex = Lapack<T>::complex;
    constexpr bool single = std::is_same_v<R, float>;
    const std::string letter(1, complex ? (single ? 'c' : 'z') : (single ? 's' : 'd'));
    Lapack<T> f;
    if constexpr (complex) {
      find(f.getrf, (letter + "getrf_").c_str());
      find(f.getrs, (letter + "getrs_").c_str());
      find(f.getri, (letter + "getri_").c_str());
      find(f.potrf, (letter + "potrf_").c_str());
    }
    find(f.gelqf, (letter + "gelqf_").c_str());
    find(f.unglq, (letter + (complex ? "unglq_" : "orglq_")).c_str());
    find(f.heevd, (letter + (complex ? "heevd_" : "syevd_")).c_str());
    const std::string real(single ? "s" : "d");
    find(f.gebal, (real + "gebal_").c_str());
    find(f.lanv2, (real + "lanv2_").c_str());
    find(f.trevc, (real + "trevc_").c_str());
    find(f.sterf, (real + "sterf_").c_str());
    find(f.stedc, (real + "stedc_").c_str());
    find(f.lasq1, (real + "lasq1_").c_str());
    find(f.bdsdc, (real + "bdsdc_").c_str());
    find(f.geev, (letter + "geev_").c_str());
    find(f.gesdd, (letter + "gesdd_").c_str());
    return f;
  });
}

template const Lapack<float>& lapack();
template const Lapack<double>& lapack();
template const Lapack<std::complex<float>>& lapack();
template const Lapack<std::complex<double>>& lapack();

namespace {

ForkMutex limit_mutex{1};
int limits = 0;  // OneBlasThread objects alive
int threads_before = 1;

}  // namespace

OneBlasThread::OneBlasThread() {
  const Blas& b = blas();
  const std::lock_guard lock(limit_mutex);
  if (limits++ == 0) {
    threads_before = b.get_threads();
    if (threads_before > 1) b.set_threads(1);
  }
}

OneBlasThread::~OneBlasThread() {
  const Blas& b = blas();
  const std::lock_guard lock(limit_mutex);
  // Another number than the one set here is somebody else's wish.
  if (--limits == 0 && threads_before > 1 && b.get_threads() == 1) {
    b.set_threads(threads_before);
  }
}

}  // namespace arrayx::cpu
