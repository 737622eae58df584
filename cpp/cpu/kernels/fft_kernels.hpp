// The kernels of Fourier transforms, one set for arrays of each precision. They work on blocks:
// `lanes` transforms side by side, element i of all of them in [i][re, im][lane], so that a
// butterfly is the same instructions for every lane and a twiddle factor is one scalar. The
// algorithm in a lane is Stockham's (no bit reversal; from one buffer to the other), its twiddles
// after the butterfly.
//
// Blocks, tables and all arithmetic are in float64. Arrays of float32 are widened on their way into
// a block and rounded once on their way out, so that an element's error is half a unit in the last
// place of its magnitude; in float32 it would be several, growing with the length.
#pragma once

#include <cstdint>

namespace arrayx::cpu {

// One pass: butterflies of `radix` elements that stand m * s apart, for p < m and q < s
//   out[q + s (radix p + j)] = w^(p j) * sum over k of in[q + s (p + m k)] exp(-2 pi i j k / radix)
// where w = exp(-2 pi i / (radix m)) and twiddles[(radix - 1) p + j - 1] = w^(p j).
struct FftPass {
  int radix;
  std::int64_t m, s;
  const void* twiddles;  // complex; null when m is 1
  // For a radix without a butterfly of its own: complex exp(-2 pi i k / radix); and their real and
  // their imaginary parts at j k, 0 < j <= radix / 2, padded with zeros to generic_row numbers
  // each, for each k from 1 to radix / 2.
  const void* roots;
  const void* matrix;
  bool with_next;  // done together with the next pass, both with butterflies of their own
};
constexpr std::int64_t generic_row(int radix) {
  return (radix / 2 + 7) / 8 * 8;
}

// The largest radix a pass may have. Those without a butterfly of their own are odd.
inline constexpr int max_fft_radix = 397;
inline constexpr int max_butterfly = 13;
constexpr bool has_butterfly(std::int64_t radix) {
  return radix == 2 || radix == 3 || radix == 4 || radix == 5 || radix == 7 || radix == 8 ||
         radix == 11 || radix == 13;
}

// A transform of length n in lanes: passes, or Bluestein's convolution with a chirp.
struct FftLanePlan {
  std::int64_t n = 1;
  std::int64_t block = 1;   // elements that both buffers must have room for
  bool in_scratch = false;  // whether the result stands in the second buffer
  const FftPass* passes = nullptr;
  int pass_count = 0;
  const FftLanePlan* convolution = nullptr;  // of length `block`
  const void* chirp = nullptr;               // n complex: exp(-pi i j^2 / n)
  const void* spectrum = nullptr;  // `block` complex: the transformed conjugate chirp, over block
};

// How elements stand in an array: complex; real, with imaginary part zero; or two real elements as
// one complex.
enum class FftForm { complex, real, real_pairs };

// The most blocks that are moved at once.
inline constexpr int max_fft_groups = 16;

// Elements between an array and `groups` blocks, one after the other.
struct FftMove {
  char* const* base;  // of each lane of each group: the first element
  int groups;
  const int* used;      // lanes of each group that count: the others may repeat one of them
  std::int64_t stride;  // bytes from an element (of real_pairs: from a real number) to the next
  std::int64_t count;   // elements of the array: complex, or real numbers
  std::int64_t n;       // elements of a block: what the array lacks is zero
  std::int64_t pitch;   // bytes from block to block
  std::int64_t ahead;   // bytes from here to what is moved next, for prefetching
  FftForm form;
  bool swap;       // exchange real and imaginary parts, which makes a transform inverse
  bool conjugate;  // negate imaginary parts (of the array)
  double scale;    // on the way to the array
};

struct FftKernels {
  int lanes;
  int item;  // bytes of a real number of an array
  // Of the first `used` lanes of the block `in`, which may be `data` (and is where n is 1); both
  // buffers are overwritten.
  void (*transform)(const FftLanePlan& plan, const void* in, void* data, void* scratch, int used);
  // The four-step algorithm between its two transforms: column j + l (lane l < columns) of the
  // n1 × n2 matrix times exp(-2 pi i (j + l) k / (n1 n2)) = outer[k] * inner[k][re, im][l] goes to
  // blocks of `lanes` rows k, in which it is element j + l: out points to that of j, and the next
  // block is `pitch` bytes on. Without outer, inner is the product.
  void (*twist)(const void* block, std::int64_t n1, int columns, const void* outer,
                const void* inner, void* out, std::int64_t pitch);

  // Of a block: the transform of h pairs of real numbers becomes elements 0 … h of the transform of
  // the 2 h numbers, and back (times 2, and with real and imaginary parts exchanged).
  // twiddles[k] = exp(-2 pi i k / (2 h)) for 2 k <= h.
  void (*real_after)(void* block, std::int64_t h, const void* twiddles);
  void (*real_before)(void* block, std::int64_t h, const void* twiddles);
  // Elements 0 … n / 2 of a block completed to a Hermitian sequence of length n, exchanged.
  void (*hermitian)(void* block, std::int64_t n);

  // Between arrays and blocks.
  void (*gather)(const FftMove& move, void* blocks);
  void (*scatter)(const FftMove& move, const void* blocks);

  // real_after and real_before on contiguous complex numbers, of float64 on the side of the
  // transform and the array's on the other, for k in [first, last) and h - k, where k <= h / 2.
  // The former works in place, too.
  void (*real_after_long)(const void* in, void* out, std::int64_t h, const void* twiddles,
                          std::int64_t first, std::int64_t last, bool conjugate);
  void (*real_before_long)(const void* in, void* out, std::int64_t h, const void* twiddles,
                           std::int64_t first, std::int64_t last, bool conjugate);
  // out[i] = in[i] * factors[i] * scale over n contiguous complex numbers, the parts of in or out
  // exchanged; from an array to float64 and back. out may be in.
  void (*multiply_in)(const void* in, const void* factors, void* out, std::int64_t n, bool swap_in,
                      bool swap_out, double scale);
  void (*multiply_out)(const void* in, const void* factors, void* out, std::int64_t n, bool swap_in,
                       bool swap_out, double scale);
};

}  // namespace arrayx::cpu
