// Rows of a few items that change places within them: one shuffle takes as many rows as a register
// holds. The baseline has no shuffles by places that are found at run time.
#include "../simd/vec.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using i64 = std::int64_t;

#if defined(__AVX2__)

// Registers of so many bytes whose lanes move: byte b of what is written is byte from[b] of what is
// read, as lanes of bytes have it.
struct ByWords {
  static constexpr int bytes = ops::vector_bytes, lane = 4;
  using V = ops::Vec<u32, bytes / lane>;
  ops::Vec<i32, bytes / lane> at;

  explicit ByWords(const std::uint8_t* from) {
    for (int k = 0; k < bytes / lane; ++k) at.set(k, from[k * lane] / lane);
  }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    permuted(V::load(in), at).store(out);
  }
};

struct ByBytes {
  static constexpr int bytes = 16, lane = 1;
  __m128i at;

  explicit ByBytes(const std::uint8_t* from) { std::memcpy(&at, from, sizeof at); }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    __m128i x;
    std::memcpy(&x, in, sizeof x);
    x = _mm_shuffle_epi8(x, at);
    std::memcpy(out, &x, sizeof x);
  }
};

#if defined(__AVX512BW__)
struct ByShorts {
  static constexpr int bytes = 64, lane = 2;
  __m512i at;

  explicit ByShorts(const std::uint8_t* from) {
    std::uint16_t lanes[bytes / lane];
    for (int k = 0; k < bytes / lane; ++k) lanes[k] = from[k * lane] / lane;
    std::memcpy(&at, lanes, sizeof at);
  }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    __m512i x;
    std::memcpy(&x, in, sizeof x);
    x = _mm512_permutexvar_epi16(at, x);
    std::memcpy(out, &x, sizeof x);
  }
};
#endif

// The rows that a register holds, as they are read and as they are written; none where a row does
// not fit, or its bytes move by less than a lane.
template <class Shuffle>
i64 rows_together(const ShortRowsJob& job) {
  constexpr int lane = Shuffle::lane;
  if (job.reach > Shuffle::bytes || job.out_row > Shuffle::bytes || job.out_row % lane != 0 ||
      job.in_row % lane != 0) {
    return 0;
  }
  for (i64 b = 0; b < job.out_row; ++b) {
    if (job.from[b] % lane != b % lane) return 0;
    if (b % lane != 0 && job.from[b] != job.from[b - 1] + 1) return 0;
  }
  return 1 + std::min((Shuffle::bytes - job.reach) / job.in_row,
                      (Shuffle::bytes - job.out_row) / job.out_row);
}

template <class Shuffle>
void by_shuffles(const ShortRowsJob& given) {
  const ShortRowsJob job = given;
  const i64 together = rows_together<Shuffle>(job);
  std::uint8_t from[Shuffle::bytes] = {};
  for (i64 k = 0; k < together; ++k) {
    for (i64 b = 0; b < job.out_row; ++b) {
      from[k * job.out_row + b] = static_cast<std::uint8_t>(k * job.in_row + job.from[b]);
    }
  }
  const Shuffle shuffle(from);
  // Whole registers are read and written: what is written behind the rows of one is overwritten by
  // the next. The first rows, from which on that goes beyond the last one, are not begun with.
  const i64 in_room = (job.rows - 1) * job.in_row + job.reach - Shuffle::bytes;
  const i64 out_room = job.rows * job.out_row - Shuffle::bytes;
  i64 r = 0;
  if (in_room >= 0 && out_room >= 0) {
    const i64 last = std::min(in_room / job.in_row, out_room / job.out_row);
    const char* in = job.in;
    char* out = job.out;
    const i64 in_step = together * job.in_row, out_step = together * job.out_row;
    for (; r <= last; r += together, in += in_step, out += out_step) shuffle(in, out);
  }
  for (; r < job.rows; ++r) {
    for (i64 b = 0; b < job.out_row; ++b) {
      job.out[r * job.out_row + b] = job.in[r * job.in_row + job.from[b]];
    }
  }
}

ShortRowsKernel kernel_of(const ShortRowsJob& job) {
  i64 most = rows_together<ByWords>(job);
  ShortRowsKernel best = most > 0 ? &by_shuffles<ByWords> : nullptr;
  const auto consider = [&](i64 rows, ShortRowsKernel kernel) {
    if (rows <= most) return;
    most = rows;
    best = kernel;
  };
#if defined(__AVX512BW__)
  consider(rows_together<ByShorts>(job), &by_shuffles<ByShorts>);
#endif
  consider(rows_together<ByBytes>(job), &by_shuffles<ByBytes>);
  return best;
}

#else

ShortRowsKernel kernel_of(const ShortRowsJob&) {
  return nullptr;
}

#endif

}  // namespace

void fill_short_rows(KernelTable& table) {
  table.short_rows = &kernel_of;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
