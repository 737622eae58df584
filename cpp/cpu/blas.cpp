#include "blas.hpp"

#include <dlfcn.h>

#include <string>

#include "../array/error.hpp"

namespace arrayx::cpu {

namespace {

#if defined(__APPLE__)
constexpr const char* library_file = "libscipy_openblas64_.dylib";
#else
constexpr const char* library_file = "libscipy_openblas64_.so";
#endif

void* open_library() {
  Dl_info here;
  std::string path;
  if (dladdr(reinterpret_cast<const void*>(&open_library), &here) && here.dli_fname) {
    path = here.dli_fname;
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  }
  path += library_file;
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
  static void* const library = open_library();
  const std::string symbol = "scipy_" + std::string(name) + "64_";
  void* address = dlsym(library, symbol.c_str());
  if (!address) raise(ErrorKind::runtime, "OpenBLAS has no function ", symbol);
  return address;
}

const Blas& blas() {
  static const Blas instance = [] {
    Blas b;
    find(b.sgemm, "cblas_sgemm");
    find(b.dgemm, "cblas_dgemm");
    find(b.cgemm, "cblas_cgemm");
    find(b.zgemm, "cblas_zgemm");
    find(b.sgemv, "cblas_sgemv");
    find(b.dgemv, "cblas_dgemv");
    find(b.cgemv, "cblas_cgemv");
    find(b.zgemv, "cblas_zgemv");
    return b;
  }();
  return instance;
}

}  // namespace arrayx::cpu
