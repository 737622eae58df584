#include "backend.hpp"

#include "cpu/engine.hpp"

namespace arrayx {

Backend& backend(Device device) {
  if (device.type == DeviceType::cpu && device.index == 0) return cpu::instance();
  value_error("device '", device, "' is not available: this build of arrayx has only 'cpu'");
}

}  // namespace arrayx
