// Gathers, scatters and the positions of non-zero elements. Every loop walks a Plan whose last
// dimension is a tight loop by item size; addresses are byte pointers, so memory may be unaligned.
// Another Python thread may write to an index or a mask between two looks at it: what the first one
// found is no bound to what the second one does.
#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include "../operands.hpp"
#include "block_loop.hpp"
#include "caches.hpp"
#include "engine.hpp"
#include "items.hpp"
#include "kernels.hpp"
#include "keys.hpp"
#include "parallel.hpp"
#include "prefetch.hpp"
#include "short_rows.hpp"
#include "unroll.hpp"

namespace arrayx::cpu {

namespace {

using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr i64 chunk_elements = 1 << 15;
constexpr i64 few_elements = 256;  // for which a plan does not pay
constexpr i64 few_items = 16;      // of a row, for which a call of a kernel does not

// n copies of an item, end to end.
template <class T>
void repeat_item(char* to, T item, i64 n) {
  constexpr i64 per_block = 64 / sizeof(T);
  T block[per_block];
  for (T& b : block) b = item;
  for (; n >= per_block; n -= per_block, to += 64) std::memcpy(to, block, 64);
  std::memcpy(to, block, n * sizeof(T));
}

// The order of a loop in rows (the last dimension) and a cut into chunks that depends on the shape
// alone.
struct Rows {
  i64 length, count;          // of one row, and how many
  i64 rows_per_chunk, piece;  // a chunk is several rows, or a piece of a long one
  i64 pieces, chunks;

  explicit Rows(const Plan& plan, i64 elements = chunk_elements) {
    length = plan.size.back();
    count = plan.count() / length;
    rows_per_chunk = std::max<i64>(1, elements / length);
    piece = length <= 2 * elements ? length : elements;
    pieces = (length + piece - 1) / piece;
    chunks = (count + rows_per_chunk - 1) / rows_per_chunk * pieces;
  }
};

// body(position, rows, first, last): columns [first, last) of `rows` rows that are neighbours along
// the last dimension but one; position[k] is operand k's offset, in elements, of the first row.
template <class Body>
void walk_chunk(const Plan& plan, const Rows& cut, i64 chunk, Body&& body) {
  const i64 piece = chunk % cut.pieces;
  i64 row = chunk / cut.pieces * cut.rows_per_chunk;
  const i64 row_end = std::min(cut.count, row + cut.rows_per_chunk);
  const i64 first = piece * cut.piece, last = std::min(cut.length, first + cut.piece);
  const int outer = plan.ndim() - 1;
  Dims index(outer);
  i64 rest = row;
  for (int d = outer - 1; d >= 0; --d) {
    index[d] = rest % plan.size[d];
    rest /= plan.size[d];
  }
  while (row < row_end) {
    i64 position[plan_operands];
    for (int k = 0; k < plan.operands; ++k) {
      position[k] = plan.base[k];
      for (int d = 0; d < outer; ++d) position[k] += index[d] * plan.stride[k][d];
    }
    if (outer == 0) return body(position, i64{1}, first, last);
    const i64 rows = std::min(row_end - row, plan.size[outer - 1] - index[outer - 1]);
    body(position, rows, first, last);
    row += rows;
    index[outer - 1] += rows;
    for (int d = outer - 1; d > 0 && index[d] == plan.size[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

// Operand k's stride from row to row.
i64 row_stride(const Plan& plan, int k) {
  const int n = plan.ndim();
  return n > 1 ? plan.stride[k][n - 2] : 0;
}

template <class T>
bool is_nonzero(const char* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *p != 0;
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    return (load<Part>(p) != Part(0)) | (load<Part>(p + sizeof(Part)) != Part(0));
  } else {
    return load<T>(p) != T(0);
  }
}

// Bytes of a word that are not zero, as ones.
u64 nonzero_bytes(u64 word) {
  constexpr u64 low = 0x7f7f7f7f7f7f7f7f;
  return (((word & low) + low) | word) >> 7 & 0x0101010101010101;
}

template <class T>
i64 count_row(const char* p, i64 stride, i64 n) {
  i64 total = 0;
  if (stride == i64(sizeof(T))) {
    constexpr int op = static_cast<int>(Reduction::count_nonzero);
    kernels().reduce.rows[op][static_cast<int>(dtype_of<T>)][0](p, 0, 1, n, nullptr, &total);
    return total;
  }
  for (i64 i = 0; i < n; ++i) total += is_nonzero<T>(p + i * stride);
  return total;
}

// Positions of the non-zero elements among at most 2**16; room for eight more than there are.
template <class T>
i64 positions_in_row(const char* p, i64 stride, i64 n, std::uint16_t* positions) {
  if (sizeof(T) == 1 && stride == 1) return kernels().positions[0](p, n, 0, positions, n + 8);
  i64 found = 0;
  for (i64 i = 0; i < n; ++i) {
    positions[found] = static_cast<std::uint16_t>(i);
    found += is_nonzero<T>(p + i * stride);
  }
  return found;
}

// A result that leaves for memory past the caches, some lines at a time.
template <i64 most>  // bytes that are added at a time
class Leaving {
 public:
  explicit Leaving(char* to) : to_(to) {}
  char* place() { return lines_ + held_; }
  char* end() const { return to_ + held_; }
  // `bytes` were written there: whole lines leave, the rest waits for what follows.
  void add(i64 bytes) {
    held_ += bytes;
    const i64 rest = static_cast<i64>(reinterpret_cast<std::uintptr_t>(end()) % line_bytes);
    if (rest >= held_) return;
    const i64 whole = held_ - rest;
    kernels().stream(lines_, to_, whole, nullptr);
    std::memmove(lines_, lines_ + whole, rest);
    to_ += whole;
    held_ = rest;
  }
  void finish() {
    std::memcpy(to_, lines_, held_);
    to_ += held_;
    held_ = 0;
    kernels().stream_fence();
  }

 private:
  char* to_;
  i64 held_ = 0;
  alignas(line_bytes) char lines_[most + line_bytes];
};

// Whether nearly all of the n bytes at p are not zero, so that a look at eight at once pays.
bool mostly_nonzero(const char* p, i64 n) {
  return count_row<bool>(p, 1, n) * 16 >= n * 15;
}

// f(i, count) for runs of `count` bytes from byte i on that are not zero, of at most eight.
template <class F>
void each_nonzero_run(const char* p, i64 n, F&& f) {
  i64 i = 0;
  for (; i + 8 <= n; i += 8) {
    u64 ones = nonzero_bytes(load<u64>(p + i));
    if (ones == 0x0101010101010101) {
      f(i, std::integral_constant<i64, 8>());
    } else {
      for (; ones != 0; ones &= ones - 1) {
        f(i + std::countr_zero(ones) / 8, std::integral_constant<i64, 1>());
      }
    }
  }
  for (; i < n; ++i) {
    if (p[i] != 0) f(i, std::integral_constant<i64, 1>());
  }
}

// Counts of chunks become what is before each and, at the end, all: `room` exactly, whatever was
// counted. Without counts one chunk has it all.
void add_up(std::vector<i64>& before, i64 room) {
  for (std::size_t c = 1; c + 1 < before.size(); ++c) {
    before[c] = std::min(room, before[c - 1] + before[c]);
  }
  before.back() = room;
}

// The indices of element i, in row-major order.
void unravel(i64 i, const Dims& shape, Dims& index) {
  for (int d = shape.size() - 1; d >= 0; --d) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
}

// Elements whose positions are found at a time. Of rows that are not short one row at most.
constexpr i64 places_at_once = 1024, short_row = 32;

// Writes the indices along a dimension of n elements that stand at[k] indices further than `first`,
// fewer than places_at_once in all dimensions behind it; at[k] becomes how many times they wrap.
void indices_along(std::uint32_t* at, i64 count, i64 first, i64 n, char* to) {
  if (n == 1) return repeat_item(to, i64{0}, count);
  if (n < places_at_once) {
    // Quotients of numbers below 2048 by n, as products: they are exact, since 2047 * 1023 < 2**21.
    const std::uint32_t least = static_cast<std::uint32_t>(first);
    const std::uint32_t divisor = static_cast<std::uint32_t>(n);
    const std::uint32_t inverse = ((1U << 21) + divisor - 1) / divisor;
    ARRAYX_UNROLL_4
    for (i64 k = 0; k < count; ++k) {
      const std::uint32_t i = at[k] + least, quotient = i * inverse >> 21;
      at[k] = quotient;
      store<i64>(to + k * 8, i - quotient * divisor);
    }
  } else {
    for (i64 k = 0; k < count; ++k) {
      const i64 i = first + at[k];
      at[k] = i >= n;
      store<i64>(to + k * 8, i - (i >= n ? n : 0));
    }
  }
}

// How far ahead of random accesses their cache lines are fetched, and of how large an array: where
// it is nearer, enough of them wait for each other at a time anyway. AMD's processors after Zen 3
// wait for as many lines as are asked for, a Zen 4 for more of its last cache, too, than it sees
// coming: picks of 4 and 8 MiB take two thirds of the time so.
i64 fetched_picks() {
  return reads_long_pieces_well ? 128 : 64;
}
i64 fetched_from() {
  return reading_asks == Asking::nothing ? 2 * second_cache_bytes() : last_cache_bytes() / 2;
}
// Of runs that all rows pick alike: a Zen 4 takes a tenth to a fifth longer where it is asked for
// what its last cache holds.
i64 fetched_alike_from() {
  return reading_asks == Asking::nothing ? last_cache_bytes() / 2 : second_cache_bytes();
}
constexpr i64 fetched_run = 256;  // bytes of one pick; the CPU sees longer ones coming

// The inner loops are functions of their own, so that the compiler knows that no store changes what
// steers them.

// Bytes from one element to the next: of the offsets, the source and the destination.
struct Steps {
  i64 offset, in, out;
};
template <i64 bytes>
Steps steps_along(const Plan& plan, int dim) {
  if (dim < 0) return {0, 0, 0};
  return {plan.stride[0][dim] * 8, plan.stride[1][dim] * bytes, plan.stride[2][dim] * bytes};
}

// A short run, in pieces that overlap where they do not fit.
void copy_run(char* q, const char* p, i64 bytes) {
  if (bytes < 16 || bytes > 128) {
    std::memcpy(q, p, bytes);
    return;
  }
  for (i64 k = 0; k + 16 <= bytes; k += 16) std::memcpy(q + k, p + k, 16);
  std::memcpy(q + bytes - 16, p + bytes - 16, 16);
}

// By reference: compilers copy values to the stack in pieces that do not match those they are read
// in, so that each call would wait until all that has been written before is in memory.
template <class T>
void gather_rows(const char* o, const char* p, char* q, i64 rows, i64 n, const Steps& steps,
                 const Steps& row_steps) {
  constexpr i64 bytes = sizeof(T);
  const Steps step = steps, row = row_steps;
  if (step.offset == 0 && step.in == bytes && step.out == bytes) {
    return kernels().picks({o, row.offset, bytes, p, row.in, q, row.out, rows, n * bytes});
  }
  const CopyKernel copy_items = kernels().copy[item_class(bytes)];
  for (i64 r = 0; r < rows; ++r, o += row.offset, p += row.in, q += row.out) {
    if (step.offset == 0) {
      const char* from = p + load<i64>(o) * bytes;
      if (n >= few_items) {
        copy_items(from, {0, step.in}, q, {0, step.out}, 1, n);
        continue;
      }
      for (i64 j = 0; j < n; ++j) store(q + j * step.out, load<T>(from + j * step.in));
    } else if (step.offset == 8 && step.in == 0 && step.out == bytes) {
      ARRAYX_UNROLL_4
      for (i64 j = 0; j < n; ++j) store(q + j * bytes, load<T>(p + load<i64>(o + j * 8) * bytes));
    } else {
      for (i64 j = 0; j < n; ++j) {
        const i64 offset = load<i64>(o + j * step.offset) * bytes;
        store(q + j * step.out, load<T>(p + offset + j * step.in));
      }
    }
  }
}

// Rows of n items that lie side by side where offsets say, one for each: long ones are written past
// the caches if `streamed`.
template <class T>
void pick_runs(const i64* offsets, const char* p, char* q, i64 rows, i64 n, Steps step, Steps row,
               bool fetches, bool streamed) {
  constexpr i64 bytes = sizeof(T);
  const i64 length = n * bytes;
  const auto source = [&](i64 r) { return p + r * row.in + offsets[r] * bytes; };
  if (streamed && length >= streamed_bytes && step.in == bytes && step.out == bytes) {
    for (i64 r = 0; r < rows; ++r) {
      kernels().stream(source(r), q + r * row.out, length, r + 1 < rows ? source(r + 1) : nullptr);
    }
    return kernels().stream_fence();
  }
  const char* const o = reinterpret_cast<const char*>(offsets);
  // So many rows are asked for ahead, while those before them are copied. AMD's processors after
  // Zen 3 wait for as many lines as are asked for.
  constexpr i64 few = 8, lines_ahead = 128;
  const i64 lines = (length - 1) / line_bytes + 1;
  const i64 ahead = reads_long_pieces_well ? std::max(lines_ahead / lines, few) / few * few : 16;
  if (streamed && fetches && length % line_bytes == 0 && step.in == bytes && step.out == bytes &&
      row.out == length && reinterpret_cast<std::uintptr_t>(q) % line_bytes == 0) {
    kernels().stream_picks({o, 8, bytes, p, row.in, q, length, rows, length}, ahead);
    return kernels().stream_fence();
  }
  if (!fetches || length > fetched_run) return gather_rows<T>(o, p, q, rows, n, step, row);
  // Others are fetched a few at a time: of many at once some processors fetch the first ones only.
  // Those that follow each other are put together in the caches, and go past them.
  constexpr i64 put_bytes = 4096;
  alignas(line_bytes) char together[put_bytes];
  const bool put = streamed && step.in == bytes && step.out == bytes && row.out == length;
  const i64 at_once = put ? put_bytes / length / few * few : rows;
  for (i64 first = 0, k = -ahead; first < rows; first += at_once) {
    const i64 end = std::min(rows, first + at_once);
    for (; k < end; k += few) {
      for (i64 f = k + ahead; f < std::min(rows, k + ahead + few); ++f) {
        if (reads_long_pieces_well) {
          fetch(source(f), length);
        } else {
          fetch_for_second(source(f), length);
        }
      }
      if (k < 0) continue;
      char* const to = put ? together + (k - first) * length : q + k * row.out;
      gather_rows<T>(o + k * i64(sizeof(i64)), p + k * row.in, to, std::min(few, rows - k), n, step,
                     row);
    }
    if (put) kernels().stream(together, q + first * length, (end - first) * length, nullptr);
  }
  if (put) kernels().stream_fence();
}

// Rows of n items that are all picked alike, to where they lie side by side. While a row is read,
// so many bytes of the next one are asked for; long rows are written past the caches if `streamed`.
constexpr i64 alike_picks = 4096;
template <class T>
void pick_alike(const i64* offsets, const char* p, char* q, i64 rows, i64 n, Steps step, Steps row,
                i64 fetched, bool streamed) {
  constexpr i64 bytes = sizeof(T), piece = streamed_bytes / bytes;
  const char* const o = reinterpret_cast<const char*>(offsets);
  streamed &= n >= piece;
  if (fetched == 0 && !streamed) return gather_rows<T>(o, p, q, rows, n, step, row);
  const i64 of_piece = (fetched * piece / n + line_bytes - 1) / line_bytes * line_bytes;
  alignas(line_bytes) char scratch[streamed_bytes];
  for (i64 r = 0; r < rows; ++r, p += row.in, q += row.out) {
    // The first piece ends with a line, so that the others are whole lines.
    i64 asked = 0, m = piece - i64(reinterpret_cast<std::uintptr_t>(q) % line_bytes) / bytes;
    for (i64 k = 0; k < n; k += m, m = piece) {
      m = std::min(m, n - k);
      fetch_for_second(p + row.in + asked, std::min(of_piece, fetched - asked));
      asked = std::min(asked + of_piece, fetched);
      char* const to = q + k * bytes;
      gather_rows<T>(o + k * i64(sizeof(i64)), p + k * step.in, streamed ? scratch : to, 1, m, step,
                     row);
      if (streamed) kernels().stream(scratch, to, m * bytes, nullptr);
    }
  }
  if (streamed) kernels().stream_fence();
}

// Several threads may write what is picked by offsets: of `parts` one each, to which places belong
// by turns of as many bytes. Each sees all offsets, in their order.
constexpr int part_bits = 12;
struct Part {
  i64 number = 0, parts = 1;  // a power of two
  bool has(i64 place) const { return ((place >> part_bits) & (parts - 1)) == number; }
};

// run(divided, part) on as many threads as pay for so many bytes that are written. Equal offsets
// are of one part, so the last of them wins whoever writes it. Each thread reads all offsets, which
// pays from 1 MiB on.
template <class Run>
void scatter_by_parts(i64 written, Run&& run) {
  int threads = 1;
  while (2 * threads <= thread_count() && written >= 2 * threads * parallel_grain) threads *= 2;
  if (threads == 1) return run(std::false_type(), Part{});
  parallel_for(threads, threads * parallel_grain,
               [&](i64 number) { run(std::true_type(), Part{number, threads}); });
}

template <bool divided, class T>
void scatter_rows(const char* o, const char* p, char* q, i64 rows, i64 n, Steps step, Steps row,
                  Part part) {
  constexpr i64 bytes = sizeof(T);
  const CopyKernel copy_items = kernels().copy[item_class(bytes)];
  for (i64 r = 0; r < rows; ++r, o += row.offset, p += row.in, q += row.out) {
    if (step.offset == 0) {
      const i64 offset = load<i64>(o) * bytes;
      if (divided && !part.has(offset)) continue;
      char* to = q + offset;
      if (step.in == bytes && step.out == bytes && n * bytes >= 16) {
        copy_run(to, p, n * bytes);
      } else if (n >= few_items) {
        copy_items(p, {0, step.in}, to, {0, step.out}, 1, n);
      } else {
        for (i64 j = 0; j < n; ++j) store(to + j * step.out, load<T>(p + j * step.in));
      }
    } else {
      const i64 far = fetched_picks(), fetched = std::max<i64>(0, n - far);
      for (i64 j = 0; j < n; ++j) {
        const i64 offset = load<i64>(o + j * step.offset) * bytes;
        if (divided && !part.has(offset)) continue;
        if (j < fetched) {
          const i64 ahead = load<i64>(o + (j + far) * step.offset) * bytes;
          if (!divided || part.has(ahead)) {
            __builtin_prefetch(q + ahead + (j + far) * step.out, 1, 2);
          }
        }
        store(q + offset + j * step.out, load<T>(p + j * step.in));
      }
    }
  }
}

// A negative index of a signed dtype counts from the end; what is still negative then, and any
// uint64 beyond int64, is far beyond n when read as unsigned.
template <class T>
u64 normalised(T value, i64 n) {
  const u64 i = static_cast<u64>(value);
  if constexpr (std::is_signed_v<T>) {
    return i + (static_cast<u64>(static_cast<i64>(value) >> 63) & static_cast<u64>(n));
  } else {
    return i;
  }
}

// Adds to `count` offsets; true if an index is out of bounds.
template <class T>
bool accumulate_run(const char* p, i64 from, char* q, i64 to, i64 count, i64 n, i64 stride) {
  u64 wrong = 0;
  for (i64 j = 0; j < count; ++j, p += from, q += to) {
    const u64 i = normalised(load<T>(p), n);
    wrong |= i >= static_cast<u64>(n);
    store(q, load<u64>(q) + i * static_cast<u64>(stride));
  }
  return wrong != 0;
}

// to[j] = normalised index * stride, for count indices `from` bytes apart; 0 for one that is out of
// bounds. True if there is one.
template <class T>
bool offsets_of_run(const char* p, i64 from, i64* to, i64 count, i64 n, i64 stride) {
  if (from == i64(sizeof(T))) {
    return kernels().picked_places[static_cast<int>(dtype_of<T>)](p, count, n, stride, to);
  }
  u64 wrong = 0;
  for (i64 j = 0; j < count; ++j, p += from) {
    const u64 i = normalised(load<T>(p), n);
    const u64 inside = i < static_cast<u64>(n);
    wrong |= inside ^ 1;
    to[j] = static_cast<i64>(i & (u64{0} - inside)) * stride;
  }
  return wrong != 0;
}

// Asks for what index k picks of n items `stride` bytes apart, from p[k] on, `step` bytes from one
// to the next; if `guessed`, as if it were not negative. Unsigned, and not looked at: a fetch from
// anywhere does no harm.
template <bool guessed, class I>
void fetch_pick(const char* index, i64 k, const char* p, i64 step, i64 n, i64 stride) {
  const I value = load<I>(index + k * i64(sizeof(I)));
  const u64 ahead = guessed ? static_cast<u64>(value) : normalised(value, n);
  const u64 place = static_cast<u64>(k * step) + ahead * static_cast<u64>(stride);
  __builtin_prefetch(reinterpret_cast<const char*>(reinterpret_cast<u64>(p) + place), 0, 2);
}

// Whether index j, read as unsigned, is far from index k: items `stride` bytes apart that a near
// cache does not hold together.
template <class I>
bool far_apart(const char* index, i64 j, i64 k, i64 stride) {
  constexpr u64 near = 1 << 16;
  const u64 a = static_cast<u64>(load<I>(index + j * i64(sizeof(I)))) * static_cast<u64>(stride);
  const u64 b = static_cast<u64>(load<I>(index + k * i64(sizeof(I)))) * static_cast<u64>(stride);
  return a - b + near > 2 * near;
}

// right(j, i) for each of `count` contiguous indices that is in bounds, i of n items `stride` bytes
// apart, and wrong() for each that is not. That none is negative is mostly guessed rightly and
// costs half of what computing it does; wrongly, four times as much, and what is asked for then
// lies elsewhere. So all is computed after a block of which more than a few were. The item that
// index j picks lies from p[j] on, `step` bytes from one to the next, and is asked for if
// `fetches`, unless items lie together.
template <class I, class Right, class Wrong>
[[gnu::always_inline]] inline void by_guesses(const char* index, i64 count, i64 n, const char* p,
                                              i64 step, i64 stride, bool fetches,
                                              const Right& right, const Wrong& wrong) {
  constexpr i64 block = 256, few = block / 16;
  const i64 far = fetched_picks();
  bool guesses = true;
  for (i64 j = 0; j < count;) {
    const i64 end = std::min(j + block, count), asked = std::min(end, count - far);
    const bool fetched =
        fetches && j < asked && far_apart<I>(index, j + far, asked - 1 + far, stride);
    i64 outside = 0;
    const auto run = [&](auto guessed) __attribute__((always_inline)) {
      const auto one = [&](i64 k) __attribute__((always_inline)) {
        const I value = load<I>(index + k * i64(sizeof(I)));
        if constexpr (guessed) {
          const u64 i = static_cast<u64>(value);
          if (i < static_cast<u64>(n)) [[likely]]
            return right(k, i);
          ++outside;
        }
        const u64 i = normalised(value, n);
        if (i < static_cast<u64>(n)) [[likely]]
          return right(k, i);
        wrong();
      };
      if (fetched) {
        for (; j < asked; ++j) {
          fetch_pick<guessed, I>(index, j + far, p, step, n, stride);
          one(j);
        }
      }
      ARRAYX_UNROLL_4
      for (; j < end; ++j) one(j);
    };
    if (guesses) {
      run(std::true_type());
      guesses = outside <= few;
    } else {
      run(std::false_type());
    }
  }
}

// q[j] = the item at p[j], `step` bytes apart, plus its index times `stride` bytes, for contiguous
// indices and q. True if an index is out of bounds; what it picks is anything then.
template <class T, class I>
[[gnu::always_inline]] inline bool pick_run(const char* index, const char* p, i64 step, char* q,
                                            i64 count, i64 n, i64 stride, bool fetches) {
  bool outside = false;
  by_guesses<I>(
      index, count, n, p, step, stride, fetches,
      [&](i64 j, u64 i) __attribute__((always_inline)) {
        store(q + j * i64(sizeof(T)), load<T>(p + j * step + static_cast<i64>(i) * stride));
      },
      [&]() __attribute__((always_inline)) { outside = true; });
  return outside;
}

// Writes contiguous items at p, or the only one there, to where contiguous indices that are in
// bounds say: index times `stride` bytes from q on.
template <bool divided, bool one_item, class T, class I>
void put_run(const char* index, const char* p, char* q, i64 count, i64 n, i64 stride, Part part,
             bool fetches) {
  T only{};
  if constexpr (one_item) only = load<T>(p);  // of none there is nothing to read
  T spare;
  const auto put = [&](i64 j, u64 i) __attribute__((always_inline)) {
    const i64 place = static_cast<i64>(i) * stride;
    char* to = q + place;
    if constexpr (divided) {  // no branch: whose turn it is cannot be guessed
      const auto mine = -static_cast<std::uintptr_t>(part.has(place));
      const auto there = reinterpret_cast<std::uintptr_t>(to);
      const auto aside = reinterpret_cast<std::uintptr_t>(&spare);
      to = reinterpret_cast<char*>((there & mine) | (aside & ~mine));
    }
    if constexpr (one_item) {
      store(to, only);
    } else {
      store(to, load<T>(p + j * i64(sizeof(T))));
    }
  };
  by_guesses<I>(index, count, n, q, 0, stride, fetches, put, [] {});
}

// The first index in row-major order that is out of bounds, where there is one.
template <class T>
i64 first_out_of_bounds(const Operand& index, i64 n) {
  const Dims* strides[1] = {&index.layout->strides};
  const Plan plan = make_plan(index.layout->shape, strides, 1, false);
  const Rows cut(plan);
  i64 bad = 0;
  bool found = false;
  for (i64 chunk = 0; chunk < cut.chunks && !found; ++chunk) {
    walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
      for (i64 r = 0; r < rows; ++r) {
        for (i64 j = first; j < last && !found; ++j) {
          const i64 place = at[0] + r * row_stride(plan, 0) + j * plan.stride[0][plan.ndim() - 1];
          const T value = load<T>(index.data + place * i64(sizeof(T)));
          if (normalised(value, n) < static_cast<u64>(n)) continue;
          bad = static_cast<i64>(value);
          found = true;
        }
      }
    });
  }
  return bad;
}

// Few picks of slabs that are no single runs are copies of views: a loop over the picks within a
// slab would begin anew for each of its elements. What is picked from, so many bytes, is in a
// cache, since picks may share lines.
constexpr i64 few_picks = 8, few_of_slab = 64, most_reached = i64{1} << 22;

// The elements that `in` reaches with such picks, n of them `stride` apart.
i64 reach_of(const Layout& slab, i64 n, i64 stride) {
  i64 reach = n * std::abs(stride);
  for (int d = 0; d < slab.ndim(); ++d) {
    reach += (slab.shape[d] - 1) * detail::magnitude(slab.strides[d]);
  }
  return reach;
}

// Whether n offsets are as far apart from each other, as any two are.
bool evenly_apart(const i64* offsets, i64 n) {
  for (i64 k = 2; k < n; ++k) {
    if (offsets[k] - offsets[k - 1] != offsets[1] - offsets[0]) return false;
  }
  return true;
}

// Copies a slab for each of a few offsets in turn: f(slab at the offset, its part of `parts`),
// whose leading dimensions are those of the offsets. Those that lie evenly make one view of all
// slabs: lines that they share are read or written once.
template <class F>
void for_each_slab(const Layout& index, const i64* offsets, const Operand& slabs,
                   const Operand& parts, F&& f) {
  Operand slab = slabs, part = parts;
  Layout layout;  // of all slabs, or of a part
  const i64 apart = index.size > 1 ? offsets[1] - offsets[0] : 0;
  if (index.ndim() == 1 && apart != 0 && evenly_apart(offsets, index.size)) {
    layout = *slabs.layout;
    layout.shape.insert(0, index.size);
    layout.strides.insert(0, apart);
    layout.size *= index.size;
    slab.layout = &layout;
    slab.data = slabs.data + offsets[0] * itemsize(slabs.dtype);
    return f(slab, parts);
  }
  if (!parts.host_scalar) {
    for (int d = index.ndim(); d < parts.layout->ndim(); ++d) {
      layout.shape.push_back(parts.layout->shape[d]);
      layout.strides.push_back(parts.layout->strides[d]);
    }
    layout.size = slabs.layout->size;
    part.layout = &layout;
  }
  for (i64 k = 0; k < index.size; ++k) {
    slab.data = slabs.data + offsets[k] * itemsize(slabs.dtype);
    if (!parts.host_scalar) {
      i64 place = 0, rest = k;
      for (int d = index.ndim() - 1; d >= 0; --d) {
        place += rest % index.shape[d] * parts.layout->strides[d];
        rest /= index.shape[d];
      }
      part.data = parts.data + place * itemsize(parts.dtype);
    }
    f(slab, part);
  }
}

// Memory traffic of picking one run of `bytes` anywhere: at least a cache line.
i64 traffic_of_run(i64 bytes) {
  return std::max<i64>(64, bytes);
}

// Whether a plan of indices, source and result picks runs of less than a page by few indices, the
// same ones in each of many rows; of a result that goes past the caches shorter ones, since longer
// ones are written there by whole lines.
constexpr i64 few_alike = 64, most_alike = 2048, most_alike_streamed = 512;
bool picks_runs_alike(const Plan& plan, i64 itemsize) {
  const int last = plan.ndim() - 1, along = last - 1;
  if (along < 1 || plan.stride[0][last] != 0 || plan.stride[1][last] != 1 ||
      plan.stride[2][last] != 1 || plan.stride[1][along] != 0) {
    return false;
  }
  for (int d = 0; d < along; ++d) {
    if (plan.stride[0][d] != 0) return false;
  }
  const i64 result = plan.count() * itemsize;
  const i64 most = goes_past_caches(result, result) ? most_alike_streamed : most_alike;
  return plan.size[along] <= few_alike && plan.size[along - 1] >= 8 &&
         plan.size[last] * itemsize <= most;
}

// Whether runs that lie evenly, of a plan as above, make a view with a dimension less: they are one
// run, or those of a row go on in the next one.
bool follow_each_other(const Plan& plan, const i64* offsets, i64 picks) {
  if (picks == 1) return true;
  const int last = plan.ndim() - 1;
  const i64 apart = offsets[1] - offsets[0];
  return apart == plan.size[last] || apart * picks == plan.stride[1][last - 2];
}

// The short rows that are picked by few indices, the same ones in each of many rows: single items,
// or runs as above if `runs_alike`; false where a row has too much. *wrong: whether an index is out
// of bounds.
template <class I>
bool find_short_picks(const Plan& plan, bool runs_alike, const Operand& index, i64 n, i64 stride,
                      int itemsize, ShortRows& found, bool* wrong) {
  const int last = plan.ndim() - 1;
  bool items = last > 0 && plan.stride[1][last] == 0 && plan.stride[2][last] == 1;
  for (int d = 0; d < last; ++d) items &= plan.stride[0][d] == 0;
  if (!items && !runs_alike) return false;
  const int along = items ? last : last - 1;
  const i64 picks = plan.size[along], run = items ? 1 : plan.size[last];
  if (picks > most_short_row / itemsize / run || plan.stride[2][along] != run) return false;
  i64 offsets[most_short_row];
  const char* const from = index.data + plan.base[0] * i64(sizeof(I));
  *wrong =
      offsets_of_run<I>(from, plan.stride[0][along] * i64(sizeof(I)), offsets, picks, n, stride);
  found.count = picks * run;
  for (i64 k = 0; k < found.count; ++k) found.place[k] = offsets[k / run] + k % run;
  found.rows.operands = 2;
  for (int d = 0; d < along; ++d) {
    found.rows.size.push_back(plan.size[d]);
    for (int k = 0; k < 2; ++k) found.rows.stride[k].push_back(plan.stride[k + 1][d]);
  }
  return true;
}

// Picks them row by row, with nothing else to do for each, which takes a third to two thirds of the
// time of a walk through all. asks: for what rows that follow pick, beyond a second cache.
void gather_runs_alike(Plan plan, const i64* offsets, bool asks, const Operand& in,
                       const Operand& out) {
  const int along = plan.ndim() - 2;
  const i64 picks = plan.size[along], apart = plan.stride[2][along];
  plan.size.erase(along);
  for (int k = 0; k < plan.operands; ++k) plan.stride[k].erase(along);
  const i64 length = plan.size.back();
  const auto [least, most] = std::minmax_element(offsets, offsets + picks);
  const Rows cut(plan, std::max(chunk_elements / 4 / picks, length));
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using T = decltype(item);
    constexpr i64 bytes = sizeof(T), ahead_bytes = 8 << 10, together = 8;
    const i64 run = length * bytes, span = (*most - *least) * bytes + run;
    const i64 touched = picks * (run + line_bytes);
    const bool near = span <= touched;  // all between them is asked for at once
    const i64 ahead = std::max<i64>(1, ahead_bytes / std::min(span, touched));
    const Steps row = steps_along<bytes>(plan, along - 1);
    parallel_for(cut.chunks, cut.count * picks * (traffic_of_run(run) + 8), [&](i64 chunk) {
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        const char* p = in.data + (at[1] + first) * bytes;
        char* q = out.data + (at[2] + first) * bytes;
        const char* const o = reinterpret_cast<const char*>(offsets);
        for (i64 r = 0; r < rows; r += together, p += together * row.in, q += together * row.out) {
          const i64 groups = std::min(together, rows - r);
          for (i64 g = 0; asks && g < groups && r + g + ahead < rows; ++g) {
            const char* const next = p + (g + ahead) * row.in;
            if (near) {
              fetch(next + *least * bytes, span);
            } else {
              for (i64 k = 0; k < picks; ++k) fetch(next + offsets[k] * bytes, run);
            }
          }
          kernels().picks({o, 8, bytes, p, 0, q, apart * bytes, picks, (last - first) * bytes,
                           groups, row.in, row.out});
        }
      });
    });
  });
}

}  // namespace

void gather(const Operand& in, const Operand& offsets, const Operand& out) {
  const int ndim = out.layout->ndim();
  if (out.layout->size == 0) return;
  const Dims offset_strides = leading(offsets, ndim), in_strides = trailing(in, ndim);
  const Dims* strides[3] = {&offset_strides, &in_strides, &out.layout->strides};
  const Plan plan = make_plan(out.layout->shape, strides, 3);
  const Rows cut(plan);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using T = decltype(item);
    constexpr i64 bytes = sizeof(T);
    const Steps step = steps_along<bytes>(plan, plan.ndim() - 1);
    const Steps row = steps_along<bytes>(plan, plan.ndim() - 2);
    parallel_for(cut.chunks, out.layout->size * (bytes + 8), [&](i64 chunk) {
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        const char* o = offsets.data + at[0] * 8 + first * step.offset;
        const char* p = in.data + at[1] * bytes + first * step.in;
        char* q = out.data + at[2] * bytes + first * step.out;
        gather_rows<T>(o, p, q, rows, last - first, step, row);
      });
    });
  });
}

void scatter(const Operand& in, const Operand& offsets, const Operand& out) {
  if (!in.host_scalar && in.layout->size == 0) return;
  if (offsets.layout->size == 0 || out.layout->size == 0) return;
  if (offsets.layout->size <= few_picks && out.layout->size >= few_of_slab &&
      !out.layout->is_contiguous() && offsets.layout->is_contiguous() &&
      reach_of(*out.layout, 0, 0) * itemsize(out.dtype) <= most_reached) {
    return for_each_slab(*offsets.layout, reinterpret_cast<const i64*>(offsets.data), out, in,
                         [](const Operand& slab, const Operand& part) { copy(part, slab); });
  }
  Dims shape = offsets.layout->shape;
  const int index_ndim = shape.size(), slab_ndim = out.layout->ndim();
  for (i64 s : out.layout->shape) shape.push_back(s);
  const int ndim = shape.size();
  Operand source = in;
  Array cast;
  if (in.dtype != out.dtype) {
    cast = new_array(Layout::contiguous(in.host_scalar ? Dims{} : shape), out.dtype);
    copy(in, cast);
    source = cast;
  }
  const Dims offset_strides = leading(offsets, ndim), out_strides = trailing(out, ndim);
  const Dims in_strides = in.host_scalar ? Dims(ndim) : source.layout->strides;
  // The index dimensions keep their order, since the last of equal offsets wins. The slab's may
  // stand on either side of them: inside where the slab lies in runs, else outside.
  bool runs = false;
  for (int d = 0; d < slab_ndim; ++d) {
    runs |= out.layout->shape[d] > 1 && detail::magnitude(out.layout->strides[d]) == 1;
  }
  Dims order;
  if (!runs) {
    for (int d = index_ndim; d < ndim; ++d) order.push_back(d);
  }
  for (int d = 0; d < index_ndim; ++d) order.push_back(d);
  if (runs) {
    for (int d = index_ndim; d < ndim; ++d) order.push_back(d);
  }
  const auto permuted = [&](const Dims& d) {
    Dims p(ndim);
    for (int i = 0; i < ndim; ++i) p[i] = d[static_cast<int>(order[i])];
    return p;
  };
  const Dims a = permuted(offset_strides), b = permuted(in_strides), c = permuted(out_strides);
  const Dims* strides[3] = {&a, &b, &c};
  const Plan plan = make_plan(permuted(shape), strides, 3, false);
  const Rows cut(plan);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using T = decltype(item);
    constexpr i64 bytes = sizeof(T);
    const Steps step = steps_along<bytes>(plan, plan.ndim() - 1);
    const Steps row = steps_along<bytes>(plan, plan.ndim() - 2);
    const auto run = [&](auto divided, i64 chunk, Part part) {
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        const char* o = offsets.data + at[0] * 8 + first * step.offset;
        const char* p = source.data + at[1] * bytes + first * step.in;
        char* q = out.data + at[2] * bytes + first * step.out;
        scatter_rows<divided, T>(o, p, q, rows, last - first, step, row, part);
      });
    };
    scatter_by_parts(checked_size(shape) * bytes, [&](auto divided, Part part) {
      for (i64 chunk = 0; chunk < cut.chunks; ++chunk) run(divided, chunk, part);
    });
  });
}

std::optional<bool> scatter_indexed(const Operand& in, const Operand& index, i64 n, i64 stride,
                                    const Operand& out, i64* bad) {
  const i64 count = index.layout->size;
  if (out.layout->ndim() != 0 || !index.layout->is_contiguous()) return std::nullopt;
  if (!in.host_scalar && !in.layout->is_contiguous()) return std::nullopt;
  bool in_bounds = true;
  dispatch(index.dtype, [&](auto example) {
    using I = decltype(example);
    if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) {
      constexpr i64 per_chunk = chunk_elements;
      const BoundsKernel any_out_of_bounds =
          kernels().any_out_of_bounds[static_cast<int>(index.dtype)];
      std::atomic<bool> failed{false};
      parallel_for((count + per_chunk - 1) / per_chunk, count, [&](i64 chunk) {
        const char* p = index.data + chunk * per_chunk * i64(sizeof(I));
        if (any_out_of_bounds(p, std::min(per_chunk, count - chunk * per_chunk), n)) {
          failed.store(true, std::memory_order_relaxed);
        }
      });
      if (failed) {
        in_bounds = false;
        *bad = first_out_of_bounds<I>(index, n);
        return;
      }
      dispatch_item(itemsize(out.dtype), [&](auto item) {
        using T = decltype(item);
        constexpr i64 bytes = sizeof(T);
        const bool fetches = n * std::abs(stride) * bytes >= fetched_from();
        // Each thread places all, so that only cache misses are shared: that pays late.
        scatter_by_parts(count * bytes / 16, [&](auto divided, Part part) {
          const auto put =
              in.host_scalar ? put_run<divided, true, T, I> : put_run<divided, false, T, I>;
          put(index.data, in.data, out.data, count, n, stride * bytes, part, fetches);
        });
      });
    }
  });
  return in_bounds;
}

bool accumulate_offsets(const Operand& index, i64 n, i64 stride, const Operand& offsets, i64* bad) {
  if (offsets.layout->size == 0) return true;
  const Dims* strides[2] = {&index.layout->strides, &offsets.layout->strides};
  const Plan plan = make_plan(offsets.layout->shape, strides, 2);
  const Rows cut(plan);
  const int last_dim = plan.ndim() - 1;
  bool in_bounds = true;
  dispatch(index.dtype, [&](auto example) {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      std::atomic<bool> failed{false};
      const i64 from = plan.stride[0][last_dim] * i64(sizeof(T)), to = plan.stride[1][last_dim] * 8;
      parallel_for(cut.chunks, offsets.layout->size * i64(sizeof(T) + 16), [&](i64 chunk) {
        bool wrong = false;
        walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
          const char* p = index.data + at[0] * i64(sizeof(T)) + first * from;
          char* q = offsets.data + at[1] * 8 + first * to;
          for (i64 r = 0; r < rows; ++r) {
            wrong |= accumulate_run<T>(p, from, q, to, last - first, n, stride);
            p += row_stride(plan, 0) * i64(sizeof(T));
            q += row_stride(plan, 1) * 8;
          }
        });
        if (wrong) failed.store(true, std::memory_order_relaxed);
      });
      if (failed) {
        in_bounds = false;
        *bad = first_out_of_bounds<T>(index, n);
      }
    }
  });
  return in_bounds;
}

bool gather_indexed(const Operand& in, const Operand& index, i64 n, i64 stride, const Operand& out,
                    i64* bad) {
  const int ndim = out.layout->ndim();
  const i64 size = out.layout->size;
  // Few single elements: no plan, which would cost most of the call.
  if (size <= few_elements && in.layout->ndim() == 0 && index.layout->size == size &&
      index.layout->is_contiguous() && out.layout->is_contiguous()) {
    const bool right = dispatch(index.dtype, [&](auto example) -> bool {
      using I = decltype(example);
      if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) {
        i64 offsets[few_elements];
        if (offsets_of_run<I>(index.data, sizeof(I), offsets, size, n, stride)) return false;
        dispatch_item(itemsize(out.dtype), [&](auto item) {
          using T = decltype(item);
          gather_rows<T>(reinterpret_cast<const char*>(offsets), in.data, out.data, 1, size,
                         {8, 0, sizeof(T)}, {0, 0, 0});
        });
        return true;
      } else {
        return false;
      }
    });
    if (right) return true;  // else what follows finds the first index that is wrong
  }
  std::atomic<bool> failed{false};
  dispatch(index.dtype, [&](auto example) {
    using I = decltype(example);
    if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) {
      const Dims index_strides = leading(index, ndim), in_strides = trailing(in, ndim);
      const Dims* strides[3] = {&index_strides, &in_strides, &out.layout->strides};
      // Nothing is picked, or nothing is there to pick from, but indices may be wrong.
      if (out.layout->size == 0 || n == 0) {
        const Dims* alone[1] = {&index.layout->strides};
        const Plan plan = make_plan(index.layout->shape, alone, 1);
        if (plan.kind == LoopKind::empty) return;
        const Rows cut(plan);
        const i64 from = plan.stride[0].back() * i64(sizeof(I));
        for (i64 chunk = 0; chunk < cut.chunks; ++chunk) {
          walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
            for (i64 r = 0; r < rows; ++r) {
              const i64 place = at[0] + r * row_stride(plan, 0);
              for (i64 j = first; j < last; ++j) {
                i64 offset;
                const char* p = index.data + place * i64(sizeof(I)) + j * from;
                if (offsets_of_run<I>(p, 0, &offset, 1, n, stride)) failed = true;
              }
            }
          });
        }
        return;
      }
      const Plan plan = make_plan(out.layout->shape, strides, 3);
      const i64 last_dim = plan.ndim() - 1;
      const i64 picks = index.layout->size, reached = reach_of(*in.layout, n, stride);
      const i64 item_bytes = itemsize(out.dtype), reached_bytes = reached * item_bytes;
      // Picks within a row are near each other, which pays for loops over many rows; those of long
      // rows need no copies of views, unless one is of many.
      constexpr i64 most_apart = 1024;
      const i64 most_of_slab = plan.stride[0][last_dim] == 0 ? size : most_apart;
      const i64 row_bytes = plan.size[last_dim] * item_bytes;
      const bool near = row_bytes >= line_bytes || reached_bytes <= most_reached;
      const bool runs_alike = picks_runs_alike(plan, item_bytes);
      ShortRows short_rows;
      bool wrong = false;
      if (find_short_picks<I>(plan, runs_alike, index, n, stride, static_cast<int>(item_bytes),
                              short_rows, &wrong)) {
        failed = wrong;
        if (failed ||
            copy_short_rows(short_rows, in.data + plan.base[1] * item_bytes,
                            out.data + plan.base[2] * item_bytes, static_cast<int>(item_bytes))) {
          return;
        }
      }
      if (picks <= few_picks && in.layout->size >= few_of_slab && in.layout->size <= most_of_slab &&
          plan.ndim() > 1 && index.layout->is_contiguous()) {
        i64 offsets[few_picks];
        failed = offsets_of_run<I>(index.data, sizeof(I), offsets, picks, n, stride);
        if (failed) return;
        const bool whole = runs_alike && row_bytes >= line_bytes;
        const bool by_slabs = row_bytes < fetched_run && near && !whole;
        const bool even = plan.ndim() > 2 && evenly_apart(offsets, picks);
        if (by_slabs || (even && (!whole || follow_each_other(plan, offsets, picks)))) {
          return for_each_slab(*index.layout, offsets, in, out,
                               [](const Operand& slab, const Operand& part) { copy(slab, part); });
        }
      }
      if (runs_alike) {
        const char* const from = index.data + plan.base[0] * i64(sizeof(I));
        const i64 index_step = plan.stride[0][last_dim - 1] * i64(sizeof(I));
        i64 offsets[few_alike];
        failed = offsets_of_run<I>(from, index_step, offsets, plan.size[last_dim - 1], n, stride);
        if (failed) return;
        return gather_runs_alike(plan, offsets, reached_bytes > fetched_alike_from(), in, out);
      }
      const bool alike = plan.ndim() > 1 && plan.stride[0][last_dim] == 1 &&
                         plan.stride[2][last_dim] == 1 && row_stride(plan, 0) == 0;
      // More rows to a chunk share the places of their picks, where there are chunks for all
      // threads.
      const bool many = alike && size >= 8 * chunk_elements;
      // So do rows that are picked whole what is asked for ahead.
      constexpr i64 most_rows = 2048, chunk_bytes = 1 << 18, many_bytes = 16 * chunk_bytes;
      const bool large = plan.stride[0].back() == 0 && size * item_bytes >= many_bytes;
      const Rows cut(plan, many ? chunk_elements
                           : large
                               ? std::min(chunk_bytes / item_bytes, most_rows * plan.size.back())
                               : chunk_elements / 4);
      dispatch_item(itemsize(out.dtype), [&](auto item) {
        using T = decltype(item);
        constexpr i64 bytes = sizeof(T), block = 2048;
        Steps step = steps_along<bytes>(plan, plan.ndim() - 1);
        Steps row = steps_along<bytes>(plan, plan.ndim() - 2);
        const i64 index_step = plan.stride[0].back() * i64(sizeof(I));
        const i64 index_row = row_stride(plan, 0) * i64(sizeof(I));
        const bool run = index_step == 0;  // one index for a whole row
        step.offset = run ? 0 : 8;
        row.offset = run ? 8 : 0;
        const bool contiguous = index_step == i64(sizeof(I)) && step.out == bytes;
        const bool fetches = reached * bytes >= (run ? last_cache_bytes() / 2 : fetched_from());
        // A row of which most lines are picked is fetched in order, unless the hardware sees them
        // coming from a cache.
        const i64 fetched_row = fetches && stride == 1 && n * bytes >= 1024 &&
                                        n * bytes <= std::min(cut.length, i64{512}) * 64
                                    ? n * bytes
                                    : 0;
        const i64 result = out.layout->size * bytes;
        const bool streamed = goes_past_caches(result, result);
        const i64 runs = run ? cut.count : out.layout->size;
        const i64 work = runs * (traffic_of_run(run ? cut.length * bytes : bytes) + 8);
        parallel_for(cut.chunks, work, [&](i64 chunk) {
          i64 offsets[block];
          const char* o = reinterpret_cast<const char*>(offsets);
          const char* indices = nullptr;  // of the offsets of runs
          i64 known = 0;
          bool wrong = false;
          walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
            const char* from = index.data + at[0] * i64(sizeof(I)) + first * index_step;
            const char* p = in.data + at[1] * bytes + first * step.in;
            char* q = out.data + at[2] * bytes + first * step.out;
            const i64 columns = last - first;
            if (run) {
              for (i64 r = 0; r < rows; r += block) {
                const i64 count = std::min(block, rows - r);
                if (indices != from + r * index_row || known < count) {
                  indices = from + r * index_row;
                  known = count;
                  wrong |= offsets_of_run<I>(indices, index_row, offsets, count, n, stride);
                }
                pick_runs<T>(offsets, p + r * row.in, q + r * row.out, count, columns, step, row,
                             fetches, streamed);
              }
              return;
            }
            if (alike && rows > 1) {
              i64 shared[alike_picks];
              for (i64 j = 0; j < columns; j += alike_picks) {
                const i64 count = std::min(alike_picks, columns - j);
                wrong |=
                    offsets_of_run<I>(from + j * index_step, index_step, shared, count, n, stride);
                const bool near = reached * bytes < fetched_alike_from();
                const bool seen = near && std::is_sorted(shared, shared + count);
                pick_alike<T>(shared, p + j * step.in, q + j * bytes, rows, count, step, row,
                              j == 0 && !seen ? fetched_row : 0, streamed);
              }
              return;
            }
            if (contiguous) {
              for (i64 r = 0; r < rows; ++r) {
                const char *index_at = from + r * index_row, *in_at = p + r * row.in;
                char* out_at = q + r * row.out;
                // With constants the address of an item is part of the instruction that loads it.
                wrong |=
                    stride == 1 && step.in == 0
                        ? pick_run<T, I>(index_at, in_at, 0, out_at, columns, n, bytes, fetches)
                        : pick_run<T, I>(index_at, in_at, step.in, out_at, columns, n,
                                         stride * bytes, fetches);
              }
              return;
            }
            for (i64 r = 0; r < rows; ++r) {
              for (i64 j = 0; j < columns; j += block) {
                const i64 count = std::min(block, columns - j);
                wrong |= offsets_of_run<I>(from + r * index_row + j * index_step, index_step,
                                           offsets, count, n, stride);
                gather_rows<T>(o, p + r * row.in + j * step.in, q + r * row.out + j * step.out, 1,
                               count, step, row);
              }
            }
          });
          if (wrong) failed.store(true, std::memory_order_relaxed);
        });
      });
    }
  });
  if (!failed) return true;
  dispatch(index.dtype, [&](auto example) {
    using I = decltype(example);
    if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) {
      *bad = first_out_of_bounds<I>(index, n);
    }
  });
  return false;
}

namespace {

// A row-major copy.
Array compact(const Operand& in) {
  const Array out = new_array(Layout::contiguous(in.layout->shape), in.dtype);
  copy(in, out);
  return out;
}

}  // namespace

void compress(const Operand& in, const Operand& mask, const Operand& out) {
  if (out.layout->size == 0) return;
  const Dims* strides[2] = {&mask.layout->strides, &in.layout->strides};
  const Plan plan = make_plan(mask.layout->shape, strides, 2, false);
  // Short rows are copied behind each other first, unless they are many megabytes, which takes less
  // time than to begin each.
  constexpr i64 short_row = 1024, most_copied = i64{1} << 26;
  const i64 item = itemsize(in.dtype);
  if (plan.ndim() > 1 && plan.size.back() * item < short_row && plan.count() > few_elements &&
      plan.count() * item <= most_copied) {
    const Array elements = compact(in), chosen = compact(mask);
    return compress(elements, chosen, out);
  }
  const Rows cut(plan);
  const i64 step = plan.stride[0].back();
  std::vector<i64> before(cut.chunks + 1, 0);  // elements before each chunk
  const bool alone = thread_count() == 1;
  if (cut.chunks > 1 && !alone) {
    parallel_for(cut.chunks, mask.layout->size, [&](i64 chunk) {
      i64 count = 0;
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        const char* p = mask.data + at[0] + first * step;
        for (i64 r = 0; r < rows; ++r, p += row_stride(plan, 0)) {
          count += count_row<bool>(p, step, last - first);
        }
      });
      before[chunk + 1] = count;
    });
  }
  add_up(before, out.layout->size);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using T = decltype(item);
    constexpr i64 bytes = sizeof(T), block = 1024;
    const i64 in_step = plan.stride[1].back() * bytes;
    const i64 work = mask.layout->size * (1 + bytes) + out.layout->size * bytes;
    // What is picked here and there of a large array is asked for a block before it is read.
    constexpr i64 far = i64{1} << 20;
    const bool large = mask.layout->size * bytes >= far;
    const bool fetches = large && out.layout->size * 3 < mask.layout->size;
    // Where every other line has something that is picked all are read, a vector at a time.
    const CompressKernel in_front =
        step == 1 && in_step == bytes &&
                (!large || out.layout->size * 128 >= mask.layout->size * bytes)
            ? kernels().compress[item_class(bytes)]
            : nullptr;
    const i64 result = out.layout->size * bytes;
    const bool streamed = in_front && goes_past_caches(result, result);
    char* next = out.data;  // where one thread goes on
    const auto pick = [&](i64 chunk) {
      std::uint16_t positions[2][block + 8];
      const char* waiting = nullptr;  // the block that has been asked for
      i64 awaited = 0;
      int turn = 0;
      char* q = alone ? next : out.data + before[chunk] * bytes;
      char* const end = out.data + (alone ? out.layout->size : before[chunk + 1]) * bytes;
      constexpr i64 at_once = 64;  // items that the kernel needs room for
      Leaving<(block + at_once) * bytes> leaving(q);
      const auto take = [&](const char* from, const std::uint16_t* places, i64 found) {
        char* const to = q;
        for (i64 k = 0; k < found; ++k) store(to + k * bytes, load<T>(from + places[k] * in_step));
        q = to + found * bytes;
      };
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        for (i64 r = 0; r < rows; ++r) {
          const char* m = mask.data + at[0] + r * row_stride(plan, 0);
          const char* p = in.data + (at[1] + r * row_stride(plan, 1)) * bytes;
          if (in_front && !streamed) {
            q += in_front(m + first, last - first, p + first * bytes, q, (end - q) / bytes) * bytes;
            continue;
          }
          if (in_front) {
            for (i64 j = first; j < last; j += block) {
              const i64 n = std::min(block, last - j), left = (end - leaving.end()) / bytes;
              const i64 room = left < n ? left : n + at_once;
              leaving.add(in_front(m + j, n, p + j * bytes, leaving.place(), room) * bytes);
            }
            continue;
          }
          for (i64 j = first; j < last; j += block) {
            const i64 n = std::min(block, last - j);
            const char* from = p + j * in_step;
            if (!fetches && step == 1 && in_step == bytes && mostly_nonzero(m + j, n)) {
              each_nonzero_run(m + j, n, [&](i64 i, auto count) {
                if (end - q < count * bytes) return;
                std::memcpy(q, from + i * bytes, count * bytes);
                q += count * bytes;
              });
              continue;
            }
            std::uint16_t* const places = positions[turn];
            const i64 found = std::min((end - q) / bytes - awaited,
                                       positions_in_row<bool>(m + j * step, step, n, places));
            if (!fetches) {
              take(from, places, found);
              continue;
            }
            for (i64 k = 0; k < found; ++k) __builtin_prefetch(from + places[k] * in_step);
            turn ^= 1;
            take(waiting, positions[turn], awaited);
            waiting = from;
            awaited = found;
          }
        }
      });
      take(waiting, positions[turn ^ 1], awaited);
      if (streamed) {
        leaving.finish();
        q = leaving.end();
      }
      if (alone) next = q;
    };
    if (!alone) return parallel_for(cut.chunks, work, pick);
    for (i64 chunk = 0; chunk < cut.chunks; ++chunk) pick(chunk);
  });
}

namespace {

// Four copies of an item, or as many as four words hold.
template <class T>
void repeat_few(char* to, T item) {
  if constexpr (sizeof(T) < sizeof(u64)) {
    constexpr u64 ones = ~u64{0} / ((u64{1} << 8 * sizeof(T)) - 1);
    const u64 word = std::bit_cast<Unsigned<sizeof(T)>>(item) * ones;
    for (int w = 0; w < 4; ++w) store(to + w * sizeof word, word);
  } else {
    for (int k = 0; k < 4; ++k) store(to + k * sizeof item, item);
  }
}

// To [to, end) n elements, each as often as its count says; zeros where counts have become less.
// A few of each at once, for how many are right, no processor guesses: what is too much, the next
// ones overwrite.
template <class T>
void repeat_items(const char* in, i64 in_step, const char* counts, i64 count_step, i64 n, char* to,
                  char* const end) {
  constexpr i64 bytes = sizeof(T), few = std::max<i64>(4, 32 / bytes);
  for (i64 i = 0; i < n; ++i) {
    const T item = load<T>(in + i * in_step);
    const i64 times = load<i64>(counts + i * count_step), room = (end - to) / bytes;
    if (static_cast<u64>(times) <= few && few <= room) {
      repeat_few(to, item);
      to += times * bytes;
      continue;
    }
    const i64 fitting = std::clamp<i64>(times, 0, room);
    if (fitting <= room - few) {
      for (i64 done = 0; done < fitting; done += few) repeat_few(to + done * bytes, item);
    } else {
      repeat_item(to, item, fitting);
    }
    to += fitting * bytes;
  }
  std::memset(to, 0, end - to);
}

}  // namespace

void repeat(const Operand& in, const Operand& counts, const Operand& out) {
  const i64 n = in.layout->size, room = out.layout->size, bytes = itemsize(in.dtype);
  const i64 chunk = thread_count() == 1 ? n : chunk_elements, chunks = (n + chunk - 1) / chunk;
  const i64 in_step = in.layout->strides[0] * bytes;
  const i64 count_step = counts.layout->strides[0] * i64(sizeof(i64));
  std::vector<i64> before(chunks + 1, 0);  // elements of the result before each chunk
  if (chunks > 1) {
    parallel_for(chunks, n * i64(sizeof(i64)), [&](i64 c) {
      u64 sum = 0;
      for (i64 i = c * chunk; i < std::min(n, (c + 1) * chunk); ++i) {
        sum += load<u64>(counts.data + i * count_step);
      }
      before[c + 1] = static_cast<i64>(std::min<u64>(sum, room));
    });
  }
  add_up(before, room);
  dispatch_item(bytes, [&](auto item) {
    using T = decltype(item);
    parallel_for(chunks, n * i64(sizeof(i64)) + (n + room) * bytes, [&](i64 c) {
      const i64 first = c * chunk;
      repeat_items<T>(in.data + first * in_step, in_step, counts.data + first * count_step,
                      count_step, std::min(chunk, n - first), out.data + before[c] * bytes,
                      out.data + before[c + 1] * bytes);
    });
  });
}

i64 count_nonzero(const Operand& in) {
  if (in.layout->size <= few_elements && in.layout->is_contiguous()) {
    return dispatch(in.dtype, [&](auto example) {
      using T = decltype(example);
      return in.layout->size == 0 ? 0 : count_row<T>(in.data, sizeof(T), in.layout->size);
    });
  }
  const Dims* strides[1] = {&in.layout->strides};
  const Plan plan = make_plan(in.layout->shape, strides, 1);
  if (plan.kind == LoopKind::empty) return 0;
  const Rows cut(plan);
  std::atomic<i64> total{0};
  dispatch(in.dtype, [&](auto example) {
    using T = decltype(example);
    const i64 step = plan.stride[0][plan.ndim() - 1] * i64(sizeof(T));
    parallel_for(cut.chunks, in.layout->size * i64(sizeof(T)), [&](i64 chunk) {
      i64 count = 0;
      walk_chunk(plan, cut, chunk, [&](const i64* at, i64 rows, i64 first, i64 last) {
        const char* p = in.data + at[0] * i64(sizeof(T)) + first * step;
        for (i64 r = 0; r < rows; ++r, p += row_stride(plan, 0) * i64(sizeof(T))) {
          count += count_row<T>(p, step, last - first);
        }
      });
      total.fetch_add(count, std::memory_order_relaxed);
    });
  });
  return total;
}

void nonzero(const Operand& in, std::span<const Operand> out) {
  const i64 size = in.layout->size, all = out[0].layout->size;
  if (size == 0 || all == 0) return;
  const Dims& shape = in.layout->shape;
  const int ndim = static_cast<int>(out.size());
  Array truths;
  const char* data = in.data;
  DType dtype = in.dtype;
  if (!in.layout->is_contiguous() ||
      reinterpret_cast<std::uintptr_t>(data) % std::min(itemsize(dtype), 8) != 0) {
    dtype = DType::bool_;
    truths = new_array(Layout::contiguous(shape), dtype);
    copy(in, truths);
    data = truths.data();
  }
  const i64 chunks = (size + chunk_elements - 1) / chunk_elements;
  const bool alone = chunks == 1 || thread_count() == 1;
  i64 next = 0;             // where one thread goes on
  std::vector<i64> before;  // non-zero elements before each chunk
  dispatch(dtype, [&](auto example) {
    using T = decltype(example);
    constexpr i64 bytes = sizeof(T);
    if (!alone) {
      before.assign(chunks + 1, 0);
      parallel_for(chunks, size * bytes, [&](i64 chunk) {
        const i64 first = chunk * chunk_elements, n = std::min(chunk_elements, size - first);
        before[chunk + 1] = count_row<T>(data + first * bytes, bytes, n);
      });
      add_up(before, all);
    }
    const i64 result = all * 8 * ndim;
    // One thread takes as long where results stay in the caches, or less.
    const bool streamed = !alone && goes_past_caches(result, result);
    const auto find = [&](i64 chunk) {
      constexpr i64 at_once = 8, places = (places_at_once + at_once) * 8;
      alignas(line_bytes) char truth[places_at_once];
      std::vector<Leaving<places>> leaving;
      leaving.reserve(streamed ? ndim : 0);
      for (int d = 0; streamed && d < ndim; ++d)
        leaving.emplace_back(out[d].data + before[chunk] * 8);
      i64 at_column = alone ? next : before[chunk];
      const i64 end = alone ? all : before[chunk + 1];
      const i64 last = std::min(size, (chunk + 1) * chunk_elements);
      const auto place = [&](int d) {
        return streamed ? leaving[d].place() : out[d].data + at_column * 8;
      };
      Dims index(ndim);
      for (i64 i = chunk * chunk_elements, n; i < last; i += n) {
        unravel(i, shape, index);
        // Of long rows at most one at a time, whose elements differ in their last index alone.
        const i64 row = ndim > 1 ? shape[ndim - 1] : size, left = end - at_column;
        const bool one_row = ndim == 1 || row >= short_row;
        n = std::min(places_at_once, last - i);
        if (one_row) n = std::min(n, row - index[ndim - 1]);
        const char* m = data + i * bytes;
        if (!std::is_same_v<T, bool>) {
          constexpr int boolean = static_cast<int>(DType::bool_);
          const void* const from = m;
          kernels().cast[static_cast<int>(dtype)][boolean](&from, truth, n);
          m = truth;
        }
        i64 found;
        if (one_row) {
          const i64 room = streamed && left >= n ? n + at_once : left;
          found = kernels().positions[1](m, n, index[ndim - 1], place(ndim - 1), room);
          for (int d = 0; d + 1 < ndim; ++d) repeat_item(place(d), index[d], found);
        } else {
          std::uint16_t positions[places_at_once + at_once];
          found = std::min(left, kernels().positions[0](m, n, 0, positions, n + at_once));
          std::uint32_t at[places_at_once];
          for (i64 k = 0; k < found; ++k) at[k] = positions[k];
          for (int d = ndim - 1; d >= 0; --d) {
            indices_along(at, found, index[d], shape[d], place(d));
          }
        }
        for (auto& column : leaving) column.add(found * 8);
        at_column += found;
      }
      for (auto& column : leaving) column.finish();
      if (alone) next = at_column;
      if (alone && chunk + 1 < chunks) return;
      // Positions are used as they are: what is missing is one, too.
      for (const Operand& column : out) {
        std::memset(column.data + at_column * 8, 0, (end - at_column) * 8);
      }
    };
    if (!alone) return parallel_for(chunks, size * bytes + result, find);
    for (i64 chunk = 0; chunk < chunks; ++chunk) find(chunk);
  });
}

}  // namespace arrayx::cpu
