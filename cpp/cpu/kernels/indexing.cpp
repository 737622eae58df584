// Where bytes are not zero, compiled per instruction set: 64 bytes become the bits of a word, and
// every eight of its bits a vector of positions, or those of a vector the items that they choose.
// And whether indices are in bounds.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "../simd/in_front.hpp"

#include "../kernels.hpp"
#include "../prefetch.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

// A bit for each of eight bytes that is not zero.
u64 nonzero_of_8(const char* p) {
  constexpr u64 low = 0x7f7f7f7f7f7f7f7f;
  u64 word;
  std::memcpy(&word, p, 8);
  const u64 ones = (((word & low) + low) | word) >> 7 & 0x0101010101010101;
  return ones * 0x0102040810204080 >> 56;
}

// A bit for each of 64.
u64 nonzero_of_64(const char* p) {
  u64 bits = 0;
#if defined(__AVX512BW__)
  const __m512i x = _mm512_loadu_si512(p);
  bits = _mm512_test_epi8_mask(x, x);
#elif defined(__AVX2__)
  for (int k = 0; k < 64; k += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + k));
    const __m256i zero = _mm256_cmpeq_epi8(x, _mm256_setzero_si256());
    bits |= u64{static_cast<u32>(~_mm256_movemask_epi8(zero))} << k;
  }
#elif defined(__SSE2__)
  for (int k = 0; k < 64; k += 16) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + k));
    const __m128i zero = _mm_cmpeq_epi8(x, _mm_setzero_si128());
    bits |= u64{static_cast<u32>(~_mm_movemask_epi8(zero) & 0xffff)} << k;
  }
#else
  for (int k = 0; k < 64; k += 8) bits |= nonzero_of_8(p + k) << k;
#endif
  return bits;
}

// Whether 256 of them are all zero.
ARRAYX_HD bool zeros_of_256(const char* p) {
  using V = ops::Vec<u64, ops::vector_bytes / 8>;
  constexpr int width = ops::vector_bytes;
  V any = V::load(p);
  ARRAYX_UNROLL
  for (int k = width; k < 256; k += width) any = any | V::load(p + k);
#if defined(__AVX512F__)
  const __m512i x = __builtin_bit_cast(__m512i, any.v);
  return _mm512_test_epi64_mask(x, x) == 0;
#else
  u64 all = 0;
  for (int k = 0; k < width / 8; ++k) all |= any.v[k];
  return all == 0;
#endif
}

// The places of the ones of a byte, in front.
template <class P>
struct OnesOfByte {
  alignas(64) std::array<std::array<P, 8>, 256> places{};
  constexpr OnesOfByte() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      for (int bit = 0, found = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) places[byte][found++] = static_cast<P>(bit);
      }
    }
  }
};
template <class P>
constexpr OnesOfByte<P> ones_of_byte;

// Ones among the bits of a byte; std::popcount is a call where there is no instruction for it.
ARRAYX_HD i64 count_of(u64 bits) {
#if defined(__POPCNT__)
  return std::popcount(bits);
#else
  bits -= bits >> 1 & 0x55;
  bits = (bits & 0x33) + (bits >> 2 & 0x33);
  return static_cast<i64>((bits + (bits >> 4)) & 15);
#endif
}

// A word with no more ones than this is taken bit by bit.
#if defined(__AVX512F__)
constexpr int few_ones = 2;
#else
constexpr int few_ones = 6;
#endif

// Writes `at` plus the place of each one among the bits, as far as there is room; returns where the
// next goes.
template <class P>
ARRAYX_HD P* write_few(u64 bits, i64 at, P* to, P* end) {
  for (; bits != 0 && to < end; bits &= bits - 1) {
    *to++ = static_cast<P>(at + std::countr_zero(bits));
  }
  return to;
}

// The same for the bits of a byte, a vector of positions at a time where there is room for eight.
template <class P>
ARRAYX_HD P* write_byte(u64 bits, i64 at, P* to, P* end) {
  typedef P Piece __attribute__((vector_size(16)));
  constexpr int width = 16 / sizeof(P);
  if (end - to < 8) return write_few(bits, at, to, end);
#if defined(__AVX512F__)
  if constexpr (sizeof(P) == 8) {
    const Vec<u64, 8> first(Vec<u64, 8>::native{0, 1, 2, 3, 4, 5, 6, 7});
    in_front(static_cast<unsigned>(bits), first + Vec<u64, 8>(static_cast<u64>(at))).store(to);
    return to + std::popcount(bits);
  }
#endif
  const P* places = ones_of_byte<P>.places[bits].data();
  ARRAYX_UNROLL
  for (int k = 0; k < 8; k += width) {
    Piece found;
    std::memcpy(&found, places + k, sizeof found);
    found += static_cast<P>(at);
    std::memcpy(to + k, &found, sizeof found);
  }
  return to + count_of(bits);
}

template <class P>
i64 positions(const char* p, i64 n, i64 base, void* out, i64 room) {
  P* to = static_cast<P*>(out);
  P* const end = to + room;
  i64 i = 0;
  while (i + 64 <= n) {
    if (i + 256 <= n && zeros_of_256(p + i)) {
      i += 256;
      continue;
    }
    const i64 next = std::min(i + 256, n - 63);
    for (; i < next; i += 64) {
      const u64 bits = nonzero_of_64(p + i);
      u64 more = bits;
      for (int k = 0; k < few_ones; ++k) more &= more - (more != 0);
      if (more == 0) {
        to = write_few(bits, base + i, to, end);
      } else {
        for (int k = 0; k < 64; k += 8) to = write_byte(bits >> k & 255, base + i + k, to, end);
      }
    }
  }
  for (; i + 8 <= n; i += 8) to = write_byte(nonzero_of_8(p + i), base + i, to, end);
  for (; i < n; ++i) {
    if (p[i] != 0 && to < end) *to++ = static_cast<P>(base + i);
  }
  return to - static_cast<P*>(out);
}

#if defined(__AVX2__)
// `lanes` items of so many bytes, and those of them whose bits are set, in front of as many.
template <int bytes>
struct Chosen {
  using T = typename ops::ints_of_width<(bytes < 16 ? bytes : 8)>::u;
  static constexpr int of_item = bytes / int(sizeof(T));  // lanes
  static constexpr int width = bytes <= 2 ? 8 : ops::vector_bytes / int(sizeof(T));
  static constexpr int lanes = width / of_item;
  using V = Vec<T, width>;
  ARRAYX_HD static void put(V x, unsigned mask, char* out) {
    if constexpr (of_item == 2) mask = _pdep_u32(mask, 0x55) * 3;
    in_front(mask, x).store(out);
  }
};

template <int bytes>
i64 compress(const char* mask, i64 n, const char* in, char* out, i64 room) {
  using Part = Chosen<bytes>;
  constexpr int lanes = Part::lanes;
  constexpr u64 all = (u64{1} << lanes) - 1;
  char* to = out;
  char* const end = out + room * bytes;
  const auto few = [&](u64 bits, i64 i) {
    for (; bits != 0 && to < end; bits &= bits - 1, to += bytes) {
      std::memcpy(to, in + (i + std::countr_zero(bits)) * bytes, bytes);
    }
  };
  i64 i = 0;
  for (; i + 64 <= n; i += 64) {
    const u64 bits = nonzero_of_64(mask + i);
    if (bits == 0) continue;
    if (end - to < 64 * bytes) {
      few(bits, i);
      continue;
    }
    const char* const from = in + i * bytes;
    if (bits == ~u64{0}) {
      std::memcpy(to, from, 64 * bytes);
      to += 64 * bytes;
      continue;
    }
    fetch<32 * bytes>(to + 64 * bytes);
    if constexpr (bytes > 1) fetch_page_after<64 * bytes>(from);
    // Several are read before any is written, as in partition().
    constexpr int together = 4;
    ARRAYX_UNROLL
    for (int k = 0; k < 64; k += together * lanes) {
      typename Part::V x[together];
      ARRAYX_UNROLL
      for (int j = 0; j < together; ++j) x[j] = Part::V::load(from + (k + j * lanes) * bytes);
      ARRAYX_UNROLL
      for (int j = 0; j < together; ++j) {
        const u64 part = bits >> (k + j * lanes) & all;
        Part::put(x[j], static_cast<unsigned>(part), to);
        to += std::popcount(part) * bytes;
      }
    }
  }
  for (; i < n; ++i) few(mask[i] != 0, i);
  return (to - out) / bytes;
}
#endif

// As many indices as a register has lanes of 64 bits: larger vectors are kept in memory.
constexpr i64 width = ops::vector_bytes / 8;
typedef u64 Lanes __attribute__((vector_size(width * 8)));
typedef i64 Signed __attribute__((vector_size(width * 8)));

// By signs, since the baseline's vectors cannot compare 64 bits.
template <class I>
bool any_out_of_bounds(const char* index, i64 count, i64 n) {
  typedef I Indices __attribute__((vector_size(width * sizeof(I))));
  const u64 below = std::is_signed_v<I> ? static_cast<u64>(n) : 0, last = static_cast<u64>(n) - 1;
  Lanes negative{};
  u64 rest = 0;
  i64 j = 0;
  for (; j + width <= count; j += width) {
    Indices some;
    std::memcpy(&some, index + j * i64(sizeof(I)), sizeof some);
    const Lanes i = __builtin_convertvector(some, Lanes);
    negative |= (i + below) | (last - i);
  }
  for (; j < count; ++j) {
    I one;
    std::memcpy(&one, index + j * i64(sizeof(I)), sizeof one);
    const u64 i = static_cast<u64>(one);
    rest |= (i + below) | (last - i);
  }
  for (i64 lane = 0; lane < width; ++lane) rest |= negative[lane];
  return static_cast<i64>(rest) < 0;
}

template <class I>
bool picked_places(const char* index, i64 count, i64 n, i64 stride, i64* places) {
  typedef I Indices __attribute__((vector_size(width * sizeof(I))));
  const u64 length = static_cast<u64>(n), step = static_cast<u64>(stride);
  Lanes outside{};
  const auto place = [&](Indices some) __attribute__((always_inline)) {
    const Lanes i = __builtin_convertvector(some, Lanes);
    Lanes from_start = i;
    if constexpr (std::is_signed_v<I>) from_start += Lanes(Signed(i) >> 63) & length;
    const Lanes wrong = Lanes(Signed(from_start | (length - 1 - from_start)) >> 63);
    outside |= wrong;
    return Lanes((from_start & ~wrong) * step);
  };
  i64 j = 0;
  for (; j + width <= count; j += width) {
    Indices some;
    std::memcpy(&some, index + j * i64(sizeof(I)), sizeof some);
    const Lanes to = place(some);
    std::memcpy(places + j, &to, sizeof to);
  }
  if (j < count) {
    Indices some{};  // 0 is in bounds, if anything is
    std::memcpy(&some, index + j * i64(sizeof(I)), (count - j) * sizeof(I));
    const Lanes to = place(some);
    std::memcpy(places + j, &to, (count - j) * sizeof(i64));
  }
  u64 any = 0;
  for (i64 lane = 0; lane < width; ++lane) any |= outside[lane];
  return any != 0;
}

}  // namespace

void fill_indexing(KernelTable& table) {
  table.positions[0] = positions<u16>;
  table.positions[1] = positions<i64>;
#if defined(__AVX2__)
  table.compress[0] = compress<1>;
  table.compress[1] = compress<2>;
  table.compress[2] = compress<4>;
  table.compress[3] = compress<8>;
  table.compress[4] = compress<16>;
#endif
  const auto put = [&table]<class I>(I) {
    table.any_out_of_bounds[static_cast<int>(dtype_of<I>)] = any_out_of_bounds<I>;
    table.picked_places[static_cast<int>(dtype_of<I>)] = picked_places<I>;
  };
  put(i8());
  put(i16());
  put(i32());
  put(i64());
  put(u8());
  put(u16());
  put(u32());
  put(u64());
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
