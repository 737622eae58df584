// Numbers of 256 bits, for powers whose phase, the imaginary part of w log z, goes many times round
// the circle: of a logarithm in two parts the turns leave too few bits. Integers alone, so that
// every engine and instruction set has the same bits; one lane at a time, for few have such phases.
#pragma once

#include "../complex.hpp"
#include "double_word.hpp"

ARRAYX_OPS_BEGIN
namespace math::detail {

// Two's complement, the least significant limb first; the last one is the whole part.
struct Fixed {
  u64 limb[4];
};

// a b + c + d.
struct ProductSum {
  u64 low, high;
};
ARRAYX_HD ProductSum product_sum(u64 a, u64 b, u64 c, u64 d) {
#ifdef __CUDA_ARCH__
  const u64 product = a * b, sum = product + c, low = sum + d;
  return {low, __umul64hi(a, b) + u64(sum < c) + u64(low < d)};
#else
  const unsigned __int128 sum = static_cast<unsigned __int128>(a) * b + c + d;
  return {u64(sum), u64(sum >> 64)};
#endif
}

ARRAYX_HD bool is_negative(Fixed a) {
  return (a.limb[3] >> 63) != 0;
}
// a + b + carry. The steps are written out, here and below, as compilers do not unroll them.
ARRAYX_HD Fixed sum_of(Fixed a, Fixed b, u64 carry) {
  const ProductSum s0 = product_sum(a.limb[0], 1, b.limb[0], carry);
  const ProductSum s1 = product_sum(a.limb[1], 1, b.limb[1], s0.high);
  const ProductSum s2 = product_sum(a.limb[2], 1, b.limb[2], s1.high);
  return {{s0.low, s1.low, s2.low, a.limb[3] + b.limb[3] + s2.high}};
}
ARRAYX_HD Fixed complement(Fixed a) {
  return {{~a.limb[0], ~a.limb[1], ~a.limb[2], ~a.limb[3]}};
}
ARRAYX_HD Fixed operator+(Fixed a, Fixed b) {
  return sum_of(a, b, 0);
}
ARRAYX_HD Fixed operator-(Fixed a, Fixed b) {
  return sum_of(a, complement(b), 1);
}
ARRAYX_HD Fixed operator-(Fixed a) {
  return Fixed{} - a;
}
ARRAYX_HD Fixed magnitude(Fixed a) {
  return is_negative(a) ? -a : a;
}

// product[0] ... product[4] += a * b; the last one is still zero.
ARRAYX_HD void add_multiple(u64* product, Fixed a, u64 b) {
  const ProductSum s0 = product_sum(a.limb[0], b, product[0], 0);
  const ProductSum s1 = product_sum(a.limb[1], b, product[1], s0.high);
  const ProductSum s2 = product_sum(a.limb[2], b, product[2], s1.high);
  const ProductSum s3 = product_sum(a.limb[3], b, product[3], s2.high);
  product[0] = s0.low;
  product[1] = s1.low;
  product[2] = s2.low;
  product[3] = s3.low;
  product[4] = s3.high;
}

ARRAYX_HD_NOINLINE Fixed operator*(Fixed a, Fixed b) {
  u64 product[8] = {};
  add_multiple(product, a, b.limb[0]);
  add_multiple(product + 1, a, b.limb[1]);
  add_multiple(product + 2, a, b.limb[2]);
  add_multiple(product + 3, a, b.limb[3]);
  // A negative number is 2^256 less than its limbs say. No branch could be foreseen.
  const u64 of_a = 0 - (a.limb[3] >> 63), of_b = 0 - (b.limb[3] >> 63);
  const Fixed x{{0, of_a & b.limb[0], of_a & b.limb[1], of_a & b.limb[2]}};
  const Fixed y{{0, of_b & a.limb[0], of_b & a.limb[1], of_b & a.limb[2]}};
  return Fixed{{product[3], product[4], product[5], product[6]}} - x - y;
}

// a x for any finite x, modulo 2^64.
ARRAYX_HD_NOINLINE Fixed operator*(Fixed a, f64 x) {
  const u64 image = bit_cast<u64>(x);
  const u64 significand = (image & 0xfffffffffffffu) | 0x10000000000000u;
  const int exponent = int((image >> 52) & 0x7ff) - 1075;
  u64 product[5] = {};
  add_multiple(product, magnitude(a), significand);
  Fixed r;
  for (int i = 0; i < 4; ++i) {
    const int bit = 64 * i - exponent, word = bit >> 6, offset = bit & 63;
    const u64 low = word >= 0 && word < 5 ? product[word] : 0;
    const u64 high = word >= -1 && word < 4 ? product[word + 1] : 0;
    r.limb[i] = offset == 0 ? low : (low >> offset) | (high << (64 - offset));
  }
  return is_negative(a) != ((image >> 63) != 0) ? -r : r;
}

ARRAYX_HD Fixed to_fixed(f64 x) {
  return Fixed{{0, 0, 0, 1}} * x;
}

ARRAYX_HD DoubleWord<f64> to_double_word(Fixed a) {
  const Fixed m = magnitude(a);
  DoubleWord<f64> r{0, 0};
  f64 weight = 0x1p32;
  for (int i = 3; i >= 0; --i) {
    r = r + f64(m.limb[i] >> 32) * weight;
    r = r + f64(m.limb[i] & 0xffffffffu) * (weight * 0x1p-32);
    weight *= 0x1p-64;
  }
  return is_negative(a) ? -r : r;
}

ARRAYX_HD Complex<Fixed> operator*(Complex<Fixed> a, Complex<Fixed> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// 1 / n!
struct InverseFactorials {
  static constexpr int count = 18;
  Fixed value[count];

  constexpr InverseFactorials() : value{} {
    value[0].limb[3] = 1;
    for (int n = 1; n < count; ++n) {
      u64 rest = 0;
      for (int i = 3; i >= 0; --i) {
        const u64 high = (rest << 32) | (value[n - 1].limb[i] >> 32);
        const u64 low = ((high % n) << 32) | (value[n - 1].limb[i] & 0xffffffffu);
        value[n].limb[i] = ((high / n) << 32) | (low / n);
        rest = low % n;
      }
    }
  }
};

// e^z to 2^-175, for |z| <= 1.
ARRAYX_HD Complex<Fixed> exp_fixed(Complex<f64> z) {
  static constexpr InverseFactorials inverse{};
  constexpr int halvings = 8;
  const f64 scale = 1. / (1 << halvings);
  const Complex<Fixed> t{to_fixed(z.re * scale), to_fixed(z.im * scale)};
  Complex<Fixed> r{inverse.value[InverseFactorials::count - 1], {}};
  for (int n = InverseFactorials::count - 2; n >= 0; --n) {
    r = r * t;
    r.re = r.re + inverse.value[n];
  }
  for (int i = 0; i < halvings; ++i) {
    const Fixed product = r.re * r.im;
    r = {(r.re + r.im) * (r.re - r.im), product + product};
  }
  return r;
}

}  // namespace math::detail
ARRAYX_OPS_END
