// Rows of a few items that change places within them: one shuffle takes as many rows as a register
// holds, or some shuffles a row that up to four of them hold. The baseline has no shuffles by
// places that are found at run time.
#include "../simd/vec.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using i64 = std::int64_t;

#if defined(__AVX2__)

// Registers whose lanes move, from `In` of them to `Out`: byte b of what is written is byte from[b]
// of what is read, as lanes of bytes have it.
#if defined(__AVX512BW__)
template <class Lane, int In, int Out>
struct Shuffle {
  static constexpr int bytes = 64, lane = sizeof(Lane), lanes = bytes / lane;
  static constexpr int in_bytes = In * bytes, out_bytes = Out * bytes;
  static constexpr int instructions = Out * std::max(1, In - 1);
  __m512i at[Out];
  __mmask32 behind[Out];  // those of the third and the fourth

  explicit Shuffle(const std::uint8_t* from) {
    for (int o = 0; o < Out; ++o) {
      Lane places[lanes];
      std::uint32_t late = 0;
      for (int k = 0; k < lanes; ++k) {
        places[k] = static_cast<Lane>(from[o * bytes + k * lane] / lane);
        late |= std::uint32_t{places[k] >= 2 * lanes} << k;
      }
      std::memcpy(&at[o], places, sizeof at[o]);
      behind[o] = late;
    }
  }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    __m512i x[In];
    ARRAYX_UNROLL
    for (int i = 0; i < In; ++i) std::memcpy(&x[i], in + i * bytes, bytes);
    ARRAYX_UNROLL
    for (int o = 0; o < Out; ++o) {
      const __m512i y = pick(x, at[o], behind[o]);
      std::memcpy(out + o * bytes, &y, bytes);
    }
  }

 private:
  ARRAYX_HD static __m512i of_one(__m512i x, __m512i at) {
    return lane == 4 ? _mm512_permutexvar_epi32(at, x) : _mm512_permutexvar_epi16(at, x);
  }
  ARRAYX_HD static __m512i of_two(__m512i x, __m512i y, __m512i at) {
    return lane == 4 ? _mm512_permutex2var_epi32(x, at, y) : _mm512_permutex2var_epi16(x, at, y);
  }
  ARRAYX_HD static __m512i pick(const __m512i* x, __m512i at, __mmask32 behind) {
    if constexpr (In == 1) return of_one(x[0], at);
    const __m512i first = of_two(x[0], x[In > 1], at);
    if constexpr (In == 2) return first;
    const __m512i second =
        In == 3 ? of_one(x[In - 1], at) : of_two(x[In > 2 ? 2 : 0], x[In - 1], at);
    if constexpr (lane == 4) {
      return _mm512_mask_blend_epi32(static_cast<__mmask16>(behind), first, second);
    } else {
      return _mm512_mask_blend_epi16(behind, first, second);
    }
  }
};
#else
template <class Lane, int In, int Out>
struct Shuffle {
  static constexpr int bytes = 32, lane = sizeof(Lane), lanes = bytes / lane;
  static constexpr int in_bytes = In * bytes, out_bytes = Out * bytes;
  static constexpr int instructions = Out * (2 * In - 1);
  static_assert(lane == 4);
  __m256i at[Out], of[Out][In];  // all bits of a lane that comes from there

  explicit Shuffle(const std::uint8_t* from) {
    for (int o = 0; o < Out; ++o) {
      Lane places[lanes], there[In][lanes];
      for (int k = 0; k < lanes; ++k) {
        places[k] = from[o * bytes + k * lane] / lane;
        for (int i = 0; i < In; ++i) there[i][k] = places[k] / lanes == Lane(i) ? ~Lane{0} : 0;
      }
      std::memcpy(&at[o], places, bytes);
      std::memcpy(of[o], there, sizeof of[o]);
    }
  }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    __m256i x[In];
    ARRAYX_UNROLL
    for (int i = 0; i < In; ++i) std::memcpy(&x[i], in + i * bytes, bytes);
    ARRAYX_UNROLL
    for (int o = 0; o < Out; ++o) {
      __m256i y = _mm256_permutevar8x32_epi32(x[0], at[o]);
      ARRAYX_UNROLL
      for (int i = 1; i < In; ++i) {
        y = _mm256_blendv_epi8(y, _mm256_permutevar8x32_epi32(x[i], at[o]), of[o][i]);
      }
      std::memcpy(out + o * bytes, &y, bytes);
    }
  }
};
#endif

struct ByBytes {
  static constexpr int in_bytes = 16, out_bytes = 16, lane = 1, instructions = 1;
  __m128i at;

  explicit ByBytes(const std::uint8_t* from) { std::memcpy(&at, from, sizeof at); }
  ARRAYX_HD void operator()(const char* in, char* out) const {
    __m128i x;
    std::memcpy(&x, in, sizeof x);
    x = _mm_shuffle_epi8(x, at);
    std::memcpy(out, &x, sizeof x);
  }
};

// Whether no byte moves by less than a lane of so many.
bool moves_by(const ShortRowsJob& job, int lane) {
  bool whole = job.out_row % lane == 0 && job.in_row % lane == 0;
  for (i64 b = 0; b < job.out_row && whole; b += lane) {
    whole = job.from[b] % lane == 0;
    for (int i = 1; i < lane; ++i) whole &= job.from[b + i] == job.from[b] + i;
  }
  return whole;
}

// The rows that the registers hold, as they are read and as they are written; none where a row does
// not fit.
template <class By>
i64 rows_together(const ShortRowsJob& job) {
  if (job.reach > By::in_bytes || job.out_row > By::out_bytes) return 0;
  return 1 + std::min((By::in_bytes - job.reach) / job.in_row, By::out_bytes / job.out_row - 1);
}

template <class By>
void by_shuffles(const ShortRowsJob& given) {
  const ShortRowsJob job = given;
  const i64 together = rows_together<By>(job);
  std::uint8_t from[By::out_bytes] = {};
  for (i64 k = 0; k < together; ++k) {
    for (i64 b = 0; b < job.out_row; ++b) {
      from[k * job.out_row + b] = static_cast<std::uint8_t>(k * job.in_row + job.from[b]);
    }
  }
  const By shuffle(from);
  // Whole registers are read and written: what is written behind the rows of one is overwritten by
  // the next. The first rows, from which on that goes beyond the last one, are not begun with.
  const i64 in_room = (job.rows - 1) * job.in_row + job.reach - By::in_bytes;
  const i64 out_room = job.rows * job.out_row - By::out_bytes;
  i64 r = 0;
  if (in_room >= 0 && out_room >= 0) {
    const i64 last = std::min(in_room / job.in_row, out_room / job.out_row);
    const char* in = job.in;
    char* out = job.out;
    const i64 in_step = together * job.in_row, out_step = together * job.out_row;
    // Several at a time: where a loop of a few instructions begins decides how long it takes.
    constexpr i64 turns = By::in_bytes == By::out_bytes && By::instructions == 1 ? 4 : 1;
    for (; turns > 1 && r + (turns - 1) * together <= last; r += turns * together) {
      ARRAYX_UNROLL
      for (i64 t = 0; t < turns; ++t, in += in_step, out += out_step) shuffle(in, out);
    }
    for (; r <= last; r += together, in += in_step, out += out_step) shuffle(in, out);
  }
  for (; r < job.rows; ++r) {
    for (i64 b = 0; b < job.out_row; ++b) {
      job.out[r * job.out_row + b] = job.in[r * job.in_row + job.from[b]];
    }
  }
}

// The cheapest way: instructions, loads and stores for each row.
struct Choice {
  const ShortRowsJob& job;
  ShortRowsKernel kernel = nullptr;
  i64 cost = 0, rows = 0;

  template <class By>
  void consider() {
    const i64 together = rows_together<By>(job);
    const i64 work = By::instructions + (By::in_bytes + By::out_bytes) / register_bytes<By>();
    if (together == 0 || (rows > 0 && work * rows >= cost * together)) return;
    kernel = &by_shuffles<By>;
    cost = work;
    rows = together;
  }
  template <class Lane, int... K>
  void consider_registers(std::integer_sequence<int, K...>) {
    (consider<Shuffle<Lane, K / 4 + 1, K % 4 + 1>>(), ...);
  }

 private:
  template <class By>
  static constexpr int register_bytes() {
    return std::min({By::in_bytes, By::out_bytes, ops::vector_bytes});
  }
};

ShortRowsKernel kernel_of(const ShortRowsJob& job) {
  Choice choice{job};
  const auto all = std::make_integer_sequence<int, 16>{};
  const bool words = moves_by(job, 4);
  if (words) choice.consider_registers<u32>(all);
#if defined(__AVX512BW__)
  if (!words && moves_by(job, 2)) choice.consider_registers<std::uint16_t>(all);
#endif
  choice.consider<ByBytes>();
  return choice.kernel;
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
