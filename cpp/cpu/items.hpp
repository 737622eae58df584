// Single items of memory that need not be aligned.
#pragma once

#include <cstring>

namespace arrayx::cpu {

template <int bytes>
struct Item {
  unsigned char data[bytes];
};

// f(Item<n>{}) for an item size of 1, 2, 4, 8 or 16.
template <class F>
void dispatch_item(int itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(Item<1>{});
    case 2:
      return f(Item<2>{});
    case 4:
      return f(Item<4>{});
    case 8:
      return f(Item<8>{});
    default:
      return f(Item<16>{});
  }
}

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
