// Memory of the host's that kernels of the current device write: what the host asks after it has
// waited for them, without a copy. Never freed, like memory.
#pragma once

#include <cstdint>

namespace arrayx::cuda {

struct alignas(64) HostWords {
  std::uint32_t met_bad = 0;      // whether an index was out of bounds
  std::uint32_t met_failure = 0;  // whether a matrix has no result
  std::int64_t count = 0;         // what is not zero
};
HostWords& host_words();  // in memory.cpp

}  // namespace arrayx::cuda
