// Chooses the instruction set once, at first use.
#include "kernels.hpp"

#include <cstdlib>
#include <string_view>

#include "../array/error.hpp"

namespace arrayx::cpu {

namespace {

#define ARRAYX_MAKE_TABLE(level) \
  [] { \
    KernelTable table; \
    table.isa = #level; \
    level::fill_elementwise(table); \
    level::fill_real_math(table); \
    level::fill_complex_math(table); \
    level::fill_copy(table); \
    level::fill_reduce(table); \
    level::fill_matmul(table); \
    return table; \
  }()

KernelTable choose() {
  const char* wanted_text = std::getenv("ARRAYX_ISA");
  const std::string_view wanted = wanted_text ? wanted_text : "";
  if (!wanted.empty() && wanted != "baseline" && wanted != "avx2" && wanted != "avx512") {
    value_error("ARRAYX_ISA is '", wanted, "'; it must be baseline, avx2 or avx512");
  }
#if defined(ARRAYX_X86_LEVELS)
  __builtin_cpu_init();
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl");
  if ((wanted == "avx2" && !has_avx2) || (wanted == "avx512" && !has_avx512)) {
    value_error("ARRAYX_ISA is '", wanted, "', which this CPU does not have");
  }
  if (has_avx512 && (wanted.empty() || wanted == "avx512")) return ARRAYX_MAKE_TABLE(avx512);
  if (has_avx2 && wanted != "baseline") return ARRAYX_MAKE_TABLE(avx2);
#else
  if (!wanted.empty() && wanted != "baseline") {
    value_error("ARRAYX_ISA is '", wanted, "'; this build has only baseline");
  }
#endif
  return ARRAYX_MAKE_TABLE(baseline);
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable table = choose();
  return table;
}

}  // namespace arrayx::cpu
