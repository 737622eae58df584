// What the logarithms look up: x = 2^k m, m in [0.7, 1.4) falls into one of sixteen parts, each
// with a number c near 1 / m, so that log m = -log c + log(1 + r) with a small r = m c - 1. The
// parts are of equal length in the bits of m; 1 lies in the middle of one whose c is 1, so that
// nothing cancels there. c is so short that r is exact with one rounding, and without by splitting
// m. -log c in bases e, 2 and 10, the high parts multiples of 2^-42.
#pragma once

#include "double_word.hpp"

ARRAYX_OPS_BEGIN
namespace math::detail {

template <class T>
struct LogTable {
  T inverse[16], high[16], low[16];
};

enum class LogBase { e, two, ten };

// -log c, by base.
struct LogParts {
  f64 high[16], low[16];
};
inline constexpr f64 log_inverses[16] = {
    0x1.6p+0,  0x1.58p+0, 0x1.48p+0, 0x1.38p+0, 0x1.3p+0, 0x1.28p+0, 0x1.18p+0, 0x1.1p+0,
    0x1.08p+0, 0x1p+0,    0x1.ep-1,  0x1.c8p-1, 0x1.bp-1, 0x1.98p-1, 0x1.88p-1, 0x1.7p-1};
inline constexpr LogParts log_parts[3] = {
    {{-0x1.4618bc21c6p-2, -0x1.2e8e2bae12p-2, -0x1.fb9186d5e4p-3, -0x1.9525a9cf46p-3,
      -0x1.5ff3070a7ap-3, -0x1.29552f82p-3, -0x1.6f0d28ae58p-4, -0x1.f0a30c0118p-5,
      -0x1.f829b0e78p-6, 0x0p+0, 0x1.08598b59e4p-4, 0x1.da72763844p-4, 0x1.5bf406b544p-3,
      0x1.d1037f2656p-3, 0x1.1178e8227ep-2, 0x1.522ae0738ap-2},
     {0x1.3d82f484c84ccp-46, 0x1.67b1e99b72bd8p-45, 0x1.d572aab993c87p-47, 0x1.297137d9f158fp-44,
      0x1.8586f183bebf2p-44, 0x1.5b967f4471dfcp-44, 0x1.4b4641b664613p-44, 0x1.d599e83368e91p-45,
      -0x1.980267c7e09e4p-45, 0x0p+0, -0x1.7e5dd7009902cp-46, 0x1.a89401fa71733p-46,
      -0x1.27023eb68981cp-46, -0x1.84a7e75b6f6e4p-47, 0x1.1ef78ce2d07f2p-44,
      0x1.ebe708164c759p-45}},
    {{-0x1.d6753e032fp-2, -0x1.b47ebf7388p-2, -0x1.6e221cd9d1p-2, -0x1.24407ab0ep-2,
      -0x1.fbc16b9026p-3, -0x1.acf5e2db4ep-3, -0x1.08c588cda8p-3, -0x1.663f6fac9p-4,
      -0x1.6bad3758fp-5, 0x0p+0, 0x1.7d60496cfcp-4, 0x1.563dc29ffap-3, 0x1.f5fd8a9064p-3,
      0x1.4f6fbb2cecp-2, 0x1.8a8980abfcp-2, 0x1.e7df5fe539p-2},
     {0x1.7c407050799bfp-44, -0x1.50520a377c7ecp-45, 0x1.90d43956fa5d8p-45, -0x1.ce60916e52e91p-44,
      -0x1.0144751b3314fp-44, -0x1.927dfc23d978p-44, 0x1.871a7610e40bdp-45, -0x1.3167ccc538261p-44,
      0x1.3c6764fc87b4ap-48, 0x0p+0, -0x1.2ce6312ebb81dp-46, 0x1.964190e41bca7p-44,
      -0x1.cb6f70109b0f1p-47, 0x1.661e393a16b95p-44, -0x1.66cccab240e9p-45,
      -0x1.532c412ba94dbp-44}},
    {{-0x1.1b3e71ec94p-3, -0x1.06cbd67a6cp-3, -0x1.b8de4d3ab4p-4, -0x1.5fe80488bp-4,
      -0x1.31b3055c48p-4, -0x1.02428c1f08p-4, -0x1.3ed1199a6p-5, -0x1.af5f92b01p-6,
      -0x1.b5e908eb2p-7, 0x0p+0, 0x1.cb38fccd9p-6, 0x1.9c197abfp-5, 0x1.2e3a740b78p-4,
      0x1.93e7de0fc4p-4, 0x1.db11ed766cp-4, 0x1.25ba8215bp-3},
     {-0x1.ef57776664942p-44, -0x1.db2a2c6287ecp-46, 0x1.340511b402e0ap-47, 0x1.606adb567e739p-45,
      0x1.dcffc97be8c9cp-45, -0x1.5ea6bc2bc8c2cp-52, 0x1.bdafc8ad828b8p-45, 0x1.9f05921f59258p-46,
      0x1.90dfe0d1601cap-44, 0x0p+0, -0x1.00925a535ae72p-44, 0x1.badcf3d6e4566p-46,
      0x1.d288560689912p-53, -0x1.80743406505e6p-48, -0x1.40bcd23c3e44cp-44,
      -0x1.007bf2d8bf07ap-44}}};

// The table of a base for T. In float32 the high parts are multiples of 2^-15.
template <class T, LogBase Base>
constexpr LogTable<T> log_table() {
  LogTable<T> r{};
  for (int i = 0; i < 16; ++i) {
    const LogParts& wide = log_parts[int(Base)];
    f64 high = wide.high[i], low = wide.low[i];
    if constexpr (same_type_v<T, f32>) {
      const f64 kept = f64(int(high * 0x1p15 + (high < 0 ? -0.5 : 0.5))) * 0x1p-15;
      low = (high - kept) + low;
      high = kept;
    }
    r.inverse[i] = T(log_inverses[i]);
    r.high[i] = T(high);
    r.low[i] = T(low);
  }
  return r;
}

}  // namespace math::detail
ARRAYX_OPS_END
