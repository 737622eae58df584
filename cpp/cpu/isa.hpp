// The instruction sets that kernels can be compiled for: which of them this build and this CPU
// have.
#pragma once

#include <array>

namespace arrayx::cpu {

struct InstructionSet {
  const char* name;
  bool built;   // there are kernels for it
  bool on_cpu;  // the CPU runs them
};

// From the least to the most; the first, baseline, is always there.
std::array<InstructionSet, 3> instruction_sets();

}  // namespace arrayx::cpu
