// Where NVIDIA's libraries lie.
#include "libraries.hpp"

#include <string>

#include "../cpp/shared_library.hpp"

namespace arrayx::cuda {

void* open_library(const char* file, std::initializer_list<const char*> needed) {
  const std::string wheels = beside(reinterpret_cast<const void*>(&open_library), "../nvidia/");
  const std::string folders[] = {"", wheels + "cu13/lib/", "/usr/local/cuda/lib64/"};
  for (const std::string& folder : folders) {
    // The loader does not look beside a library for what that needs.
    for (const char* other : needed) dlopen((folder + other).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (void* const library = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return library;
    }
  }
  return nullptr;
}

}  // namespace arrayx::cuda
