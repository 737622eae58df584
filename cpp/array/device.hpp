// Device: where an array's memory is. The numbers are DLPack's device types.
#pragma once

#include <cstdint>
#include <ostream>

namespace arrayx {

enum class DeviceType : std::int32_t { cpu = 1, cuda = 2 };

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int32_t index = 0;
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
};

inline std::ostream& operator<<(std::ostream& out, Device d) {
  if (d.type == DeviceType::cpu) return out << "cpu";
  return out << "cuda:" << d.index;
}

}  // namespace arrayx
