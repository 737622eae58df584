// Chooses the instruction set once, at first use.
#include "kernels.hpp"

#include <cstdlib>
#include <string_view>

#include "../array/error.hpp"
#include "fork.hpp"
#include "isa.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace arrayx::cpu {

namespace {

#define ARRAYX_MAKE_TABLE(level)     \
  [] {                               \
    KernelTable table;               \
    table.isa = #level;              \
    level::fill_elementwise(table);  \
    level::fill_real_math(table);    \
    level::fill_complex_math(table); \
    level::fill_copy(table);         \
    level::fill_half(table);         \
    level::fill_reduce(table);       \
    level::fill_rows(table);         \
    level::fill_sort(table);         \
    level::fill_matmul(table);       \
    level::fill_fft(table);          \
    level::fill_linalg(table);       \
    level::fill_indexing(table);     \
    level::fill_short_rows(table);   \
    return table;                    \
  }()

KernelTable choose() {
  const char* wanted_text = std::getenv("ARRAYX_ISA");
  const std::string_view wanted = wanted_text ? wanted_text : "";
  if (!wanted.empty() && wanted != "baseline" && wanted != "avx2" && wanted != "avx512") {
    value_error("ARRAYX_ISA is '", wanted, "'; it must be baseline, avx2 or avx512");
  }
  const auto [baseline, avx2, avx512] = instruction_sets();
  const bool has_avx2 = avx2.built && avx2.on_cpu, has_avx512 = avx512.built && avx512.on_cpu;
  if ((wanted == "avx2" && !has_avx2) || (wanted == "avx512" && !has_avx512)) {
    value_error("ARRAYX_ISA is '", wanted, "', which this CPU or this build does not have");
  }
#if defined(ARRAYX_HAS_AVX512)
  if (has_avx512 && (wanted.empty() || wanted == "avx512")) return ARRAYX_MAKE_TABLE(avx512);
#endif
#if defined(ARRAYX_HAS_AVX2)
  if (has_avx2 && wanted != "baseline") return ARRAYX_MAKE_TABLE(avx2);
#endif
  return ARRAYX_MAKE_TABLE(baseline);
}

#if defined(__x86_64__)
// Not among the names that every compiler's __builtin_cpu_supports knows.
bool has_f16c() {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

}  // namespace

std::array<InstructionSet, 3> instruction_sets() {
  InstructionSet avx2{"avx2", false, false}, avx512{"avx512", false, false};
#if defined(ARRAYX_HAS_AVX2)
  avx2.built = true;
#endif
#if defined(ARRAYX_HAS_AVX512)
  avx512.built = true;
#endif
#if defined(__x86_64__)
  __builtin_cpu_init();
  avx2.on_cpu = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2") && has_f16c();
  avx512.on_cpu = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512vl");
#endif
  return {{{"baseline", true, true}, avx2, avx512}};
}

const KernelTable& kernels() {
  static constinit MadeOnce<const KernelTable> table;
  return table.get(choose);
}

}  // namespace arrayx::cpu
