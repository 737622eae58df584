// Libraries that are opened on their first use lie beside the extension module.
#pragma once

#include <dlfcn.h>

#include <string>

namespace arrayx {

// The path of a file beside the library that holds `address`.
inline std::string beside(const void* address, const char* file) {
  Dl_info here;
  std::string path;
  if (dladdr(address, &here) && here.dli_fname) {
    path = here.dli_fname;
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  }
  return path + file;
}

}  // namespace arrayx
