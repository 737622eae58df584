// float16, IEEE 754's binary16, as a dtype of storage: two bytes, and conversions that round once,
// to the nearest, ties to even. Arithmetic on it is that of float32. Like all of the vocabulary the
// conversions are written over a scalar or a vector.
#pragma once

#include "lanes.hpp"

ARRAYX_OPS_BEGIN

// The bits of the float16 nearest to x, a float32, in lanes as wide as x. A NaN keeps its sign and
// the upper bits of its payload, and becomes quiet.
template <class V>
ARRAYX_HD uint_t<V> half_from(V x) {
  using U = uint_t<V>;
  // Of 2^-14, the smallest normal number, and of 2^16, which is too large.
  constexpr u32 least_normal = (127 - 14) << 23, too_large = (127 + 16) << 23;
  const U bits = bit_cast<U>(x), magnitude = bit_cast<U>(fabs(x));
  const U sign = (bits ^ magnitude) >> 16;
  // Half a unit, less one where the last bit that stays is even. A carry into the exponent is
  // right, also that to infinity.
  const U odd = (magnitude >> 13) & splat<U>(1);
  constexpr u32 rebias = (127 - 15) << 23, half_a_unit = 1 << 12;
  const U normal = (magnitude - splat<U>(rebias - (half_a_unit - 1)) + odd) >> 13;
  // Subnormal numbers are multiples of 2^-24, which is what the last bit of 1/2 stands for.
  const V coarse = splat<V>(0.5f);
  const U subnormal = bit_cast<U>(V(fabs(x) + coarse)) - bit_cast<U>(coarse);
  const U nan = ((magnitude >> 13) & splat<U>(0x3ff)) | splat<U>(0x7e00);
  U half = select(magnitude < splat<U>(least_normal), subnormal, normal);
  half = select(magnitude < splat<U>(too_large), half, splat<U>(0x7c00));
  half = select(magnitude > splat<U>(0x7f800000), nan, half);
  return half | sign;
}

// The float32 that rounds to the same float16 as x, a float64: x cut, and odd where it was more
// than that (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE TC 57, 2008).
template <class V>
ARRAYX_HD rebind_t<V, f32> cut_to_odd(V x) {
  using U = uint_t<V>;
  constexpr u64 last = u64(1) << 29;
  const U bits = bit_cast<U>(x), rest = bits & splat<U>(last - 1);
  const U sticky = select(rest == splat<U>(0), splat<U>(0), splat<U>(last));
  return convert<rebind_t<V, f32>>(bit_cast<V>((bits ^ rest) | sticky));
}

// The number whose float16 bits stand in 32-bit lanes. A NaN becomes quiet.
template <class U>
ARRAYX_HD rebind_t<U, f32> from_half(U half) {
  using V = rebind_t<U, f32>;
  const U magnitude = half & splat<U>(0x7fff);
  const U sign = (half ^ magnitude) << 16;
  const U shifted = magnitude << 13;
  const U normal = shifted + splat<U>(u32(127 - 15) << 23);
  // With the exponent of the smallest normal number, which is then subtracted.
  const V subnormal = bit_cast<V>(shifted + splat<U>(u32(127 - 14) << 23)) - splat<V>(0x1p-14f);
  const U quiet = select(magnitude > splat<U>(0x7c00), splat<U>(0x7fc00000), splat<U>(0x7f800000));
  U bits = select(magnitude < splat<U>(0x400), bit_cast<U>(subnormal), normal);
  bits = select(magnitude < splat<U>(0x7c00), bits, U(shifted | quiet));
  return bit_cast<V>(bits | sign);
}

struct f16 {
  u16 bits;

  f16() = default;
  ARRAYX_HD explicit f16(f32 x) : bits(static_cast<u16>(half_from(x))) {}
  ARRAYX_HD explicit f16(f64 x) : f16(cut_to_odd(x)) {}
  // What float32 rounds is beyond float16.
  ARRAYX_HD explicit f16(int x) : f16(static_cast<f32>(x)) {}
  ARRAYX_HD operator f32() const { return from_half(static_cast<u32>(bits)); }
};

ARRAYX_OPS_END
