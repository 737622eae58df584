// Single items of memory that need not be aligned.
#pragma once

#include <cstring>

namespace arrayx::cpu {

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <class T>
void store(char* p, T value) {
  std::memcpy(p, &value, sizeof value);
}

}  // namespace arrayx::cpu
