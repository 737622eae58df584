// Device: where an array's memory is. The numbers are DLPack's device types.
#pragma once

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>

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

// "cpu", "cuda" (the first one) or "cuda:N"; false for other text.
inline bool parse_device(const char* text, Device& out) {
  if (std::strcmp(text, "cpu") == 0 || std::strcmp(text, "cpu:0") == 0) {
    out = {};
    return true;
  }
  if (std::strncmp(text, "cuda", 4) != 0) return false;
  out = {DeviceType::cuda, 0};
  if (text[4] == '\0') return true;
  const char* digits = text + 5;
  const std::size_t count = std::strspn(digits, "0123456789");
  if (text[4] != ':' || count == 0 || count > 4 || digits[count] != '\0') return false;
  out.index = static_cast<std::int32_t>(std::stoi(digits));
  return true;
}

}  // namespace arrayx
