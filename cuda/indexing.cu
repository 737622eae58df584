// Gathers, scatters and the positions of elements that are not zero.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_words.hpp"
#include "last_part.cuh"
#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

constexpr int each = elements_of_thread;

// An item wherever it lies: memory may not be aligned to it.
template <class M>
__device__ __forceinline__ M load_item(const char* p) {
  if (reinterpret_cast<u64>(p) % alignof(M) == 0) return *reinterpret_cast<const M*>(p);
  M x;
  for (int i = 0; i < int(sizeof(M)); ++i) reinterpret_cast<char*>(&x)[i] = p[i];
  return x;
}
template <class M>
__device__ __forceinline__ void store_item(char* p, M x) {
  if (reinterpret_cast<u64>(p) % alignof(M) == 0) {
    *reinterpret_cast<M*>(p) = x;
  } else {
    for (int i = 0; i < int(sizeof(M)); ++i) p[i] = reinterpret_cast<const char*>(&x)[i];
  }
}

// An aligned item that is written where others are not: what fills half a sector of the cache or
// more leaves it before what is used again does. On an H200 256Ki rows of 32 bytes among 4Mi take
// 0.73 of the time so, items of 8 bytes as long as else.
template <class M>
__device__ __forceinline__ void store_spread(char* p, M x) {
  if constexpr (sizeof(M) == sizeof(uint4)) {
    if (reinterpret_cast<u64>(p) % sizeof(uint4) == 0) {
      uint4 words;
      memcpy(&words, &x, sizeof x);
      return __stcs(reinterpret_cast<uint4*>(p), words);
    }
  }
  *reinterpret_cast<M*>(p) = x;
}

// The offset of an index that is out of bounds.
constexpr i64 none = INT64_MIN;

// ---- gathers ------------------------------------------------------------------------------------

template <class M>
__global__ void __launch_bounds__(block_threads) gather_items(const __grid_constant__ Loop loop) {
  wait_for_earlier();
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 from[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      from[e] = *reinterpret_cast<const i64*>(loop.data[0] + place.offset[e][0]);
      if (from[e] == none) from[e] = 0;
    }
    M x[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      x[e] = load_item<M>(loop.data[1] + place.offset[e][1] + from[e] * i64(sizeof(M)));
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (place.exists[e]) *reinterpret_cast<M*>(loop.data[2] + place.offset[e][2]) = x[e];
    }
  });
}

// An index as int64, uint64 by its bits, and …
__device__ __forceinline__ i64 index_at(const char* p, DType dtype) {
  switch (dtype) {
    case DType::int8:
      return *reinterpret_cast<const i8*>(p);
    case DType::int16:
      return *reinterpret_cast<const i16*>(p);
    case DType::int32:
      return *reinterpret_cast<const i32*>(p);
    case DType::uint8:
      return *reinterpret_cast<const u8*>(p);
    case DType::uint16:
      return *reinterpret_cast<const u16*>(p);
    case DType::uint32:
      return *reinterpret_cast<const u32*>(p);
    default:
      return *reinterpret_cast<const i64*>(p);
  }
}
// … where it points: negative ones count from the end; what is out of bounds, also uint64 beyond
// int64, becomes -1.
__device__ __forceinline__ i64 normalised(i64 i, DType dtype, i64 n) {
  if (i < 0 && dtype != DType::uint64) i += n;
  return i >= 0 && i < n ? i : -1;
}

// The first index out of bounds that was met on this device since the host asked: of the first
// operation that had one, that at the lowest address.
struct BadIndex {
  u32 lock, is_unsigned;
  u64 operation;  // counted from 1; 0 for none
  u64 address;
  i64 index, size;
};
__device__ BadIndex first_bad;

// `met` is memory of the host's that the device writes.
__device__ __noinline__ void note_bad(const char* p, DType dtype, i64 n, u64 operation, u32* met) {
  volatile BadIndex* const bad = &first_bad;
  const u64 address = reinterpret_cast<u64>(p);
  const auto is_later = [&] {
    const u64 by = bad->operation;
    __threadfence();
    return by != 0 && (by != operation || address >= bad->address);
  };
  while (!is_later()) {
    if (atomicCAS(&first_bad.lock, 0, 1) != 0) continue;
    __threadfence();
    if (!is_later()) {
      bad->address = address;
      bad->index = index_at(p, dtype);
      bad->size = n;
      bad->is_unsigned = dtype == DType::uint64;
      __threadfence();
      bad->operation = operation;
      *static_cast<volatile u32*>(met) = 1;
    }
    __threadfence();
    atomicExch(&first_bad.lock, 0);
    return;
  }
}

// Which of the picked elements a place has: that which an index says, for those out of bounds,
// which are noted, the first one, …
struct ByIndex {
  i64 n;
  u64 operation;
  u32* met;

  __device__ __forceinline__ bool picks_nothing() const { return false; }
  __device__ __forceinline__ i64 read(const char* p, DType dtype) const {
    return index_at(p, dtype);
  }
  __device__ __forceinline__ i64 pick(i64 index, const char* p, DType dtype, bool notes) const {
    const i64 at = normalised(index, dtype, n);
    if (at < 0 && notes) note_bad(p, dtype, n, operation, met);
    return max(at, i64(0));
  }
};
// The last scatter that is not to go its way: twice its number where an index out of bounds keeps
// it from writing anything, one more where its places are in order. All threads read it, so it must
// come from the L1 cache: an L2 cache gives one word to one warp after the other.
__device__ u64 settled;
__device__ __forceinline__ bool is_settled(u64 operation) {
  return settled / 2 == operation;
}
// … or the last one to have claimed it, counted from 1 above what was left there; or none, -1.
struct ByClaim {
  u32 left;
  u64 operation;

  __device__ __forceinline__ bool picks_nothing() const { return is_settled(operation); }
  __device__ __forceinline__ i64 read(const char* p, DType /*dtype*/) const {
    return __ldcg(reinterpret_cast<const u32*>(p));
  }
  __device__ __forceinline__ i64 pick(i64 slot, const char*, DType, bool) const {
    return slot > left ? slot - left - 1 : -1;
  }
};

// gather_items() of such picks.
template <class M, class Picks>
__global__ void __launch_bounds__(block_threads)
    gather_at(const __grid_constant__ Loop loop, i64 stride, Picks picks) {
  wait_for_earlier();
  if (picks.picks_nothing()) return;
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 at[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      at[e] = picks.read(loop.data[0] + place.offset[e][0], loop.dtype[0]);
    }
    M x[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      at[e] = picks.pick(at[e], loop.data[0] + place.offset[e][0], loop.dtype[0], true);
      const i64 from = max(at[e], i64(0)) * stride * i64(sizeof(M));
      x[e] = load_item<M>(loop.data[1] + place.offset[e][1] + from);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (place.exists[e] && at[e] >= 0) {
        *reinterpret_cast<M*>(loop.data[2] + place.offset[e][2]) = x[e];
      }
    }
  });
}

// The same of rows, which one index has all of: some threads, a power of two, take a piece of a
// row, of which each has some items, or each of `Rows` rows. On an H200 rows of 3 and 32 KiB take
// 0.83 to 0.85 of the time of packs that are found one by one, those of 64 bytes 0.89.
template <class M, int Rows>
struct RowPieces {
  static constexpr int items = each / Rows;

  i64 offset[Rows][3] = {};  // in bytes, of the rows
  bool exists[Rows];
  u32 first, length;  // of a row
  int width;

  __device__ __forceinline__ void load(const char* from, M (&x)[items]) const {
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const u32 p = first + i * width;
      if (p < length) x[i] = reinterpret_cast<const M*>(from)[p];
    }
  }
  __device__ __forceinline__ void store(const M (&x)[items], char* to, bool is_spread) const {
#pragma unroll
    for (int i = 0; i < items; ++i) {
      const u32 p = first + i * width;
      if (p >= length) continue;
      if (is_spread) {
        store_spread<M>(to + p * sizeof(M), x[i]);
      } else {
        reinterpret_cast<M*>(to)[p] = x[i];
      }
    }
  }
};
template <class M, int Rows, class Body>
__device__ __forceinline__ void over_rows(const Loop& loop, Divisor pieces, int width_log2,
                                          Body&& body) {
  const int width = 1 << width_log2, groups = block_threads >> width_log2;
  const int thread = threadIdx.x & (width - 1), group = threadIdx.x >> width_log2;
  const u32 step = gridDim.x * (groups * Rows);
  for (u32 begin = blockIdx.x * (groups * Rows) + group; begin < loop.count; begin += step) {
    RowPieces<M, Rows> piece;
    u32 row[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      row[r] = pieces.divide(min(begin + r * groups, loop.count - 1));
      piece.exists[r] = begin + r * groups < loop.count;
    }
    // Where Rows > 1 each is one piece.
    piece.first = (begin - row[0] * pieces.divisor) * (width * piece.items) + thread;
    piece.length = loop.dim[0].size.divisor;
    piece.width = width;
    locate(loop, 1, row, piece.offset);
    body(piece);
  }
}
template <class M, int Rows, class Picks>
__global__ void __launch_bounds__(block_threads)
    gather_rows(const __grid_constant__ Loop loop, i64 stride, Picks picks, Divisor pieces,
                int width_log2) {
  wait_for_earlier();
  if (picks.picks_nothing()) return;
  over_rows<M, Rows>(loop, pieces, width_log2, [&](const RowPieces<M, Rows>& piece) {
    i64 at[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      at[r] = picks.read(loop.data[0] + piece.offset[r][0], loop.dtype[0]);
    }
    M x[Rows][piece.items];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      at[r] = picks.pick(at[r], loop.data[0] + piece.offset[r][0], loop.dtype[0],
                         (threadIdx.x & (piece.width - 1)) == 0);
      const i64 from = max(at[r], i64(0)) * stride * i64(sizeof(M));
      piece.load(loop.data[1] + piece.offset[r][1] + from, x[r]);
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (piece.exists[r] && at[r] >= 0)
        piece.store(x[r], loop.data[2] + piece.offset[r][2], false);
    }
  });
}

// A slot becomes the larger of itself and of a claim. Nothing comes back, and what nobody waits for
// takes less of the cache's time: on an H200 1Mi claims of 1Mi places take 11 µs of 15.
__device__ __forceinline__ void raise_to(u32* slot, u32 claim) {
  asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(slot)),
               "r"(claim)
               : "memory");
}
__device__ __forceinline__ void raise_to(unsigned long long* slot, unsigned long long claim) {
  asm volatile("red.relaxed.gpu.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(slot)),
               "l"(claim)
               : "memory");
}

// Words are divided in a fifth of the instructions.
__device__ __forceinline__ u64 quotient(u64 a, u64 b) {
  return (a | b) >> 32 == 0 ? static_cast<u32>(a) / static_cast<u32>(b) : a / b;
}

// Whether other threads of the warp have what its first one has: seldom where places are random.
template <class Place>
__device__ __forceinline__ bool repeats_first(Place place) {
  return __popc(__ballot_sync(whole_warp, place == __shfl_sync(whole_warp, place, 0))) > 1;
}

// Of the places that a block means, the first ones of all threads before the second ones, those
// that are meant again later become -1: few places that are meant many times are claimed once by a
// block. On an H200 1Mi float32 go to 16 places of 16Mi in 23 µs of 193 so. Those that share one of
// 2^Bits slots, where the last one stays, are told apart by `place_at`.
template <int Bits, class Place, int Own, class PlaceAt>
__device__ __forceinline__ void keep_last(u32* slots, Place (&place)[Own], PlaceAt&& place_at) {
  constexpr Place nowhere = ~Place{0};
  const auto slot = [&](Place of) {
    return slots + (static_cast<u32>(of) * 0x9e3779b1u >> (32 - Bits));
  };
  for (u32 i = threadIdx.x; i < 1u << Bits; i += blockDim.x) slots[i] = 0;
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Own; ++e) {
    if (place[e] != nowhere) atomicMax(slot(place[e]), e * blockDim.x + threadIdx.x);
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < Own; ++e) {
    if (place[e] == nowhere) continue;
    const u32 later = *slot(place[e]);
    if (later != e * blockDim.x + threadIdx.x && place_at(later) == place[e]) place[e] = nowhere;
  }
}

// Whether another thread of the warp claims the same place for a later position, or such a claim is
// known already. Threads of a warp that mean one place do not all stand in line for its slot, nor
// do those that come too late. That there are such is seen by the first one's place, which costs
// next to nothing where places are random.
template <class IsLate>
__device__ __forceinline__ bool is_beaten(u64 place, i64 position, bool claims, IsLate&& is_late) {
  const unsigned active = __activemask();
  const int first = __ffs(static_cast<int>(active)) - 1;
  const auto low = static_cast<u32>(place);
  const u32 like_first = __ballot_sync(active, low == __shfl_sync(active, low, first));
  if ((like_first & (like_first - 1)) == 0) return false;
  const unsigned like_mine = __match_any_sync(active, claims ? place : ~u64{0});
  const i64 other = __shfl_sync(active, position, 31 - __clz(static_cast<int>(like_mine)));
  return claims && (other > position || is_late());
}

// Who writes where places are equal: the last position among them. Every position claims a slot,
// and of two that meet there the one before loses, which is marked. There is a slot for each place,
// which holds the last position so far, counted from 1 and from what earlier operations left there;
// or some that are shared, which hold the place, too, above the position. A claim of a shared slot
// goes on to the next one where it meets a higher place, and sends a lower one there that it meets,
// so that all claims of a place go the same way. Shared slots are a power of two for each 2^32
// places. Without slots all write; without marks the slots alone tell who does.
struct Owners {
  enum class Slots : u8 { none, narrow, wide, shared };  // wide: of 64 bits, as shared ones are

  Slots kind = Slots::none;
  u8 mark = 0;
  int order_bits = 0;  // of a position in a shared slot
  void* slots = nullptr;
  u8* lost = nullptr;  // by position: `mark` where it lost
  i64 lowest = 0, step = 1;
  u64 left = 0;         // by earlier operations at most
  u64 last_shared = 0;  // of 2^32 places

  __device__ __forceinline__ u64 place_of(i64 offset) const {
    const u64 reach = static_cast<u64>(offset - lowest);
    return step == 1 ? reach : quotient(reach, static_cast<u64>(step));
  }
  __device__ __forceinline__ void lose(i64 position) const {
    if (lost) lost[position] = mark;
  }
  // Of a thread that claims nothing, too. On an H100 many threads of one claim each beat fewer of
  // several.
  __device__ __forceinline__ void claim(u64 place, i64 position, bool claims) const {
    if (is_beaten(place, position, claims, [&] {
          return kind == Slots::narrow &&
                 __ldcg(static_cast<const u32*>(slots) + place) > left + position + 1;
        })) {
      lose(position);
    } else if (claims) {
      switch (kind) {
        case Slots::narrow:
          if (lost) return claim_own<u32>(place, position);
          return raise_to(static_cast<u32*>(slots) + place, static_cast<u32>(left + position + 1));
        case Slots::wide:
          return claim_own<unsigned long long>(place, position);
        default:
          return claim_shared(place, position);
      }
    }
  }
  __device__ __forceinline__ bool writes(i64 position) const {
    return kind == Slots::none || __ldcg(lost + position) != mark;
  }
  // The same without marks, too, of a position that means this place.
  __device__ __forceinline__ bool writes(u64 place, i64 position) const {
    if (kind == Slots::none || lost) return writes(position);
    return __ldcg(static_cast<const u32*>(slots) + place) == static_cast<u32>(left + position + 1);
  }

 private:
  template <class Slot>
  __device__ __forceinline__ void claim_own(u64 place, i64 position) const {
    const Slot held =
        atomicMax(static_cast<Slot*>(slots) + place, static_cast<Slot>(left + position + 1));
    if (held > left) lost[min(position, static_cast<i64>(held - left) - 1)] = mark;
  }
  __device__ __forceinline__ void claim_shared(u64 place, i64 position) const {
    // Murmur's finalizer: places at any distance from each other are spread.
    u64 hash = (place ^ place >> 33) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
    hash ^= hash >> 33;
    auto* const first = static_cast<unsigned long long*>(slots) + (place >> 32) * (last_shared + 1);
    u64 mine = (static_cast<u64>(static_cast<u32>(place)) << order_bits) + position + 1;
    for (u64 slot = hash & last_shared;; slot = (slot + 1) & last_shared) {
      const u64 held = atomicMax(first + slot, left + mine);
      if (held <= left) return;
      const u64 other = held - left, less = min(other, mine);
      if (other >> order_bits == mine >> order_bits) {
        lost[(less & ((u64{1} << order_bits) - 1)) - 1] = mark;
        return;
      }
      mine = less;
    }
  }
};

// Adds an offset for each index to what is there.
__global__ void __launch_bounds__(block_threads)
    offsets_at(const __grid_constant__ Loop loop, i64 n, i64 stride, u64 operation, u32* met) {
  wait_for_earlier();
  over_elements(loop, [&](u32 begin) {
    const Places<2> place(loop, begin);
    i64 index[each], sum[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      index[e] = index_at(loop.data[0] + place.offset[e][0], loop.dtype[0]);
      sum[e] = *reinterpret_cast<const i64*>(loop.data[1] + place.offset[e][1]);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const i64 at = normalised(index[e], loop.dtype[0], n);
      if (at < 0) note_bad(loop.data[0] + place.offset[e][0], loop.dtype[0], n, operation, met);
      sum[e] = at < 0 || sum[e] == none ? none : sum[e] + at * stride;
      if (place.exists[e]) *reinterpret_cast<i64*>(loop.data[1] + place.offset[e][1]) = sum[e];
    }
  });
}

template <class T>
T downloaded(const void* device) {
  T x;
  check(cudaMemcpyAsync(&x, device, sizeof x, cudaMemcpyDeviceToHost, stream()),
        "a copy to the host");
  check(cudaStreamSynchronize(stream()), "a copy to the host");
  return x;
}

u64 next_operation() {
  static std::atomic<u64> operations{0};
  return operations.fetch_add(1, std::memory_order_relaxed) + 1;
}

u32* bad_index_met() {
  return &host_words().met_bad;
}

// `a` itself, or a copy of it whose items are aligned.
Operand aligned(const Operand& a, Array& holder) {
  if (has_aligned_elements(a)) return a;
  holder = scratch_array(a.dtype, a.layout->shape);
  copy(a, holder);
  return holder;
}

// The same with items that follow each other in their order, too.
Operand in_one_piece(const Operand& a, Array& holder) {
  if (a.layout->is_contiguous()) return aligned(a, holder);
  holder = scratch_array(a.dtype, a.layout->shape);
  copy(a, holder);
  return holder;
}

// How many elements of the last dimension one access moves: those of an aligned pack, if the picked
// ones, unless they are one value, and the output lie in such, one index has them all, and picks
// are whole packs apart.
int lanes_of(const Plan& plan, const Operand& in, const Operand& out, std::int64_t stride) {
  const int inner = plan.ndim() - 1, size = itemsize(out.dtype);
  if (plan.stride[0][inner] != 0 || (!in.host_scalar && plan.stride[1][inner] != 1) ||
      plan.stride[2][inner] != 1) {
    return 1;
  }
  int lanes = pack_bytes / size;
  const auto lower_to = [&](std::int64_t count) {
    while (count % lanes != 0) lanes /= 2;
  };
  lower_to(plan.size[inner]);
  lower_to(stride);
  for (int k = in.host_scalar ? 2 : 1; k < 3; ++k) {
    for (int d = 0; d < inner; ++d) lower_to(plan.stride[k][d]);
    lower_to(plan.base[k]);
    while (!is_aligned_to((k == 1 ? in : out).data, lanes * size) && lanes > 1) lanes /= 2;
  }
  return lanes;
}
// The plan of these packs; the index, operand 0, has none.
Plan in_lanes(Plan plan, int lanes) {
  const int inner = plan.ndim() - 1;
  if (lanes == 1) return plan;
  plan.size[inner] /= lanes;
  for (int k = 1; k < 3; ++k) {
    plan.base[k] /= lanes;
    for (int d = 0; d < inner; ++d) plan.stride[k][d] /= lanes;
  }
  return plan;
}
// Rows that are picked more than once come from the cache where so many columns are gone through at
// a time that it holds them of all rows.
Plan by_columns(const Plan& plan, std::int64_t n, int bytes) {
  constexpr std::int64_t least_bytes = 1024;
  if (plan.ndim() != 2 || plan.stride[0][1] != 0 || 4 * plan.size[0] < 3 * n) return plan;
  const auto held = static_cast<std::int64_t>(properties().l2_bytes) / 3;
  const std::int64_t row = plan.size[1] * bytes;
  std::int64_t parts = 1;
  while (n * row > parts * held && plan.size[1] % (2 * parts) == 0 &&
         row >= 2 * parts * least_bytes) {
    parts *= 2;
  }
  if (parts == 1) return plan;
  Plan cut = plan;
  const std::int64_t columns = plan.size[1] / parts;
  cut.size = {parts, plan.size[0], columns};
  for (int k = 0; k < plan.operands; ++k) {
    const Dims& stride = plan.stride[k];
    cut.stride[k] = {stride[1] * columns, stride[0], stride[1]};
  }
  return cut;
}
// Whether an index has whole rows of aligned items that follow each other and are enough for the
// device. Threads that have nothing of short ones cost more than is gained where items are small.
template <class M>
bool has_rows(const Plan& plan, const Operand& in) {
  const int inner = plan.ndim() - 1;
  const std::int64_t length = plan.size[inner];
  if (inner < 1 || length < 2 || plan.stride[0][inner] != 0 ||
      (!in.host_scalar && plan.stride[1][inner] != 1) || plan.stride[2][inner] != 1 ||
      !is_aligned_to(in.data, alignof(M))) {
    return false;
  }
  const auto width = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)));
  const bool fills = length >= warp_size || (sizeof(M) >= 8 && 4 * length >= 3 * width);
  const std::int64_t at_once = std::int64_t{block_threads} * each;
  return fills && plan.count() >= properties().multiprocessors * at_once;
}
// … which are moved so by kernels for one row, two and more rows of a thread, whose arguments but
// the pieces and the width are given.
template <class M>
void launch_over_rows(const void* const (&kernels)[3], const Plan& plan,
                      const Operand* const* operands, const char* what, auto... given) {
  with_loops(plan, operands, [&](Loop& loop) {
    const u32 length = loop.dim[0].size.divisor;
    int width_log2 = 1;
    while (width_log2 < 5 && u32{1} << width_log2 < length) ++width_log2;
    const u32 width = u32{1} << width_log2, groups = block_threads / width;
    const u32 rows = length <= width ? each : length <= 2 * width ? 2 : 1;
    // Longer rows are pieces of as many items as the threads have.
    Divisor pieces((length - 1) / (width * (each / rows)) + 1);
    loop.count = loop.count / length * pieces.divisor;
    void* arguments[] = {&loop, &given..., &pieces, &width_log2};
    launch(kernels[std::min(rows, u32{3}) - 1], grid_for(loop.count, groups * rows), arguments, 0,
           what);
  });
}
DType pack_dtype(int bytes) {
  DType dtype = DType::complex128;
  dispatch_item(bytes, [&](auto item) {
    if constexpr (sizeof item < 16) dtype = dtype_code<decltype(item)>;
  });
  return dtype;
}

// Picks of a plan of slots or indices, what is picked from, where one pick is `stride` elements
// after the other, and the output; `cut` may change the plan of packs.
template <class Picks, class Cut>
void launch_picks(const Plan& plan, const Operand& index, const Operand& in, const Operand& out,
                  std::int64_t stride, const char* what, Picks picks, Cut&& cut) {
  const int lanes = lanes_of(plan, in, out, stride);
  Operand from = in, to = out;
  from.dtype = to.dtype = pack_dtype(itemsize(out.dtype) * lanes);
  const Operand* const all[] = {&index, &from, &to};
  i64 packs_apart = stride / lanes;
  dispatch_item(itemsize(to.dtype), [&](auto item) {
    using M = decltype(item);
    const Plan packs = cut(in_lanes(plan, lanes), int(sizeof(M)));
    if (has_rows<M>(packs, from)) {
      const void* const kernels[] = {reinterpret_cast<const void*>(&gather_rows<M, 1, Picks>),
                                     reinterpret_cast<const void*>(&gather_rows<M, 2, Picks>),
                                     reinterpret_cast<const void*>(&gather_rows<M, each, Picks>)};
      return launch_over_rows<M>(kernels, packs, all, what, packs_apart, picks);
    }
    launch_over(reinterpret_cast<const void*>(&gather_at<M, Picks>), packs, all, what, packs_apart,
                picks);
  });
}

// ---- picks along the last axis

// The same picks of each row: rows come through shared memory, where the places of the picks lie,
// too. Rows of both operands are whole packs.
template <class M>
__global__ void __launch_bounds__(block_threads)
    gather_columns(const char* in, i64 in_row, Divisor in_packs, const char* index,
                   DType index_dtype, int index_bytes, char* out, i64 out_row, Divisor out_packs,
                   u32 rows, u32 tile, u64 operation, u32* met) {
  wait_for_earlier();
  constexpr int N = pack_bytes / int(sizeof(M)), loads = 4;
  extern __shared__ __align__(16) unsigned char shared[];
  using Column = Pack<M, N>;
  using Places = Pack<u16, N>;
  const u32 columns = out_packs.divisor * N, n = in_packs.divisor * N;
  u16* const where = reinterpret_cast<u16*>(shared);
  M* const staged = reinterpret_cast<M*>(shared + (columns * sizeof(u16) + 15) / 16 * 16);
  for (u32 c = threadIdx.x; c < columns; c += block_threads) {
    const char* const p = index + i64(c) * index_bytes;
    const i64 at = normalised(index_at(p, index_dtype), index_dtype, n);
    if (at < 0) note_bad(p, index_dtype, n, operation, met);
    where[c] = static_cast<u16>(max(at, i64(0)));
  }
  for (u32 first = blockIdx.x * tile; first < rows; first += gridDim.x * tile) {
    const u32 count = min(tile, rows - first), packs = count * in_packs.divisor;
    __syncthreads();
    for (u32 begin = threadIdx.x; begin < packs; begin += loads * block_threads) {
      Column x[loads];
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const u32 at = min(begin + l * block_threads, packs - 1), row = in_packs.divide(at);
        x[l] = *reinterpret_cast<const Column*>(in + i64(first + row) * in_row +
                                                (at - row * in_packs.divisor) * pack_bytes);
      }
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const u32 at = begin + l * block_threads;
        if (at < packs) reinterpret_cast<Column*>(staged)[at] = x[l];
      }
    }
    __syncthreads();
    for (u32 at = threadIdx.x; at < count * out_packs.divisor; at += block_threads) {
      const u32 row = out_packs.divide(at), pack = at - row * out_packs.divisor;
      const auto from = reinterpret_cast<const Places*>(where)[pack];
      Column x;
#pragma unroll
      for (int i = 0; i < N; ++i) x.v[i] = staged[row * n + from.v[i]];
      *reinterpret_cast<Column*>(out + i64(first + row) * out_row + pack * pack_bytes) = x;
    }
  }
}

constexpr std::int64_t column_tile_bytes = 16384;

// False where its items, its rows, or the shared memory of a block do not fit.
bool gather_columns_of(const Plan& plan, const Operand& index, const Operand& in,
                       const Operand& out, std::int64_t n, std::int64_t stride, u64 operation) {
  const int size = itemsize(out.dtype), lanes = pack_bytes / size;
  if (plan.ndim() != 2 || (size != 4 && size != 8) || stride != 1 || n % lanes != 0 || n > 65536) {
    return false;
  }
  std::int64_t rows = plan.size[0];
  const std::int64_t columns = plan.size[1];
  const auto is_packed = [&](const Operand& a, int k) {
    return plan.base[k] == 0 && is_aligned_to(a.data, pack_bytes) && plan.stride[k][0] % lanes == 0;
  };
  if (plan.stride[0][0] != 0 || plan.stride[0][1] != 1 || plan.stride[1][1] != 0 ||
      plan.stride[2][1] != 1 || columns % lanes != 0 || plan.base[0] != 0 || !is_packed(in, 1) ||
      !is_packed(out, 2) || rows > INT32_MAX) {
    return false;
  }
  const std::int64_t tile = std::max<std::int64_t>(1, column_tile_bytes / (n * size));
  const std::int64_t shared = (2 * columns + 15) / 16 * 16 + tile * n * size;
  // Two blocks to a multiprocessor, each with more rows than it takes to begin.
  const auto room = static_cast<std::int64_t>(properties().shared_bytes_opt_in);
  const std::int64_t most = std::min<std::int64_t>(8, room / shared) * properties().multiprocessors;
  if (2 * shared > room || rows < 2 * tile * properties().multiprocessors) return false;
  std::int64_t in_row = plan.stride[1][0] * size, out_row = plan.stride[2][0] * size;
  Divisor in_packs(static_cast<u32>(n / lanes)), out_packs(static_cast<u32>(columns / lanes));
  auto row_count = static_cast<u32>(rows), tile_rows = static_cast<u32>(tile);
  int index_bytes = itemsize(index.dtype);
  u32* met = bad_index_met();
  const char *from = in.data, *places = index.data;
  char* to = out.data;
  DType index_dtype = index.dtype;
  void* arguments[] = {&from,        &in_row,    &in_packs, &places,    &index_dtype,
                       &index_bytes, &to,        &out_row,  &out_packs, &row_count,
                       &tile_rows,   &operation, &met};
  dispatch_item(size, [&](auto item) {
    if constexpr (sizeof item == 4 || sizeof item == 8) {
      const void* const kernel = reinterpret_cast<const void*>(&gather_columns<decltype(item)>);
      launch(kernel, static_cast<unsigned>(std::min((rows - 1) / tile + 1, most)), arguments,
             static_cast<std::size_t>(shared), "gather");
    }
  });
  return true;
}

}  // namespace

void gather(const Operand& in, const Operand& offsets, const Operand& out) {
  if (out.layout->size == 0) return;
  if (!has_aligned_elements(out)) {
    const Array whole = scratch_array(out.dtype, out.layout->shape);
    gather(in, offsets, whole);
    return copy(whole, out);
  }
  Array index_copy;
  const Operand places = aligned(offsets, index_copy);
  const int ndim = out.layout->ndim(), size = itemsize(out.dtype);
  const Dims offset_strides = leading(places, ndim), in_strides = trailing(in, ndim);
  const Dims* strides[3] = {&offset_strides, &in_strides, &out.layout->strides};
  const Plan plan = make_plan(out.layout->shape, strides, 3);
  const Operand* const all[] = {&places, &in, &out};
  dispatch_item(size, [&](auto item) {
    launch_over(reinterpret_cast<const void*>(&gather_items<decltype(item)>), plan, all, "gather");
  });
}

namespace {

// Notes indices that are out of bounds where nothing else is to be done.
void check_bounds(const Operand& index, std::int64_t n) {
  const Array sums = scratch_array(DType::int64, index.layout->shape);
  copy(Element::of(std::int64_t{0}), sums);
  accumulate_offsets(index, n, 0, sums);
}

}  // namespace

void gather_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                    const Operand& out) {
  if (index.layout->size == 0) return;
  if (!has_aligned_elements(out)) {
    const Array whole = scratch_array(out.dtype, out.layout->shape);
    gather_indexed(in, index, n, stride, whole);
    return copy(whole, out);
  }
  if (out.layout->size == 0 || n == 0) return check_bounds(index, n);
  Array index_copy;
  const Operand places = aligned(index, index_copy);
  const int ndim = out.layout->ndim();
  const Dims index_strides = leading(places, ndim), in_strides = trailing(in, ndim);
  const Dims* strides[3] = {&index_strides, &in_strides, &out.layout->strides};
  const Plan plan = make_plan(out.layout->shape, strides, 3);
  const u64 operation = next_operation();
  if (gather_columns_of(plan, places, in, out, n, stride, operation)) return;
  launch_picks(plan, places, in, out, stride, "gather", ByIndex{n, operation, bad_index_met()},
               [n](const Plan& packs, int bytes) { return by_columns(packs, n, bytes); });
}

void check_indices() {
  u32* const met = bad_index_met();
  if (*static_cast<volatile u32*>(met) == 0) [[likely]]
    return;
  BadIndex bad;
  check(cudaMemcpyFromSymbol(&bad, first_bad, sizeof bad), "a copy to the host");
  void* record;
  check(cudaGetSymbolAddress(&record, first_bad), "cudaGetSymbolAddress");
  check(cudaMemsetAsync(record, 0, sizeof bad, stream()), "cudaMemsetAsync");
  check(cudaMemsetAsync(met, 0, sizeof *met, stream()), "cudaMemsetAsync");
  check(cudaStreamSynchronize(stream()), "cudaMemsetAsync");
  if (bad.operation == 0) return;  // another thread was told
  const std::string index =
      bad.is_unsigned ? std::to_string(static_cast<u64>(bad.index)) : std::to_string(bad.index);
  index_error("index ", index, " is out of bounds for an axis with size ", bad.size,
              ", in an earlier operation on cuda:", properties().index);
}

void accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                        const Operand& offsets) {
  if (offsets.layout->size == 0) return;
  Array index_copy;
  const Operand places = aligned(index, index_copy);
  const Dims* strides[2] = {&places.layout->strides, &offsets.layout->strides};
  const Plan plan = make_plan(offsets.layout->shape, strides, 2);
  const Operand* const all[] = {&places, &offsets};
  launch_over(reinterpret_cast<const void*>(&offsets_at), plan, all, "indexing", n, stride,
              next_operation(), bad_index_met());
}

// ---- scatter ------------------------------------------------------------------------------------

namespace {

// Where some positions, in their order, mean to write: by indices, or by offsets that others found.
struct Targets {
  const char* first;  // of the first position
  DType dtype;
  int item_log2;
  i64 n = 0;       // indices are in [-n, n); 0: offsets, in elements
  i64 stride = 1;  // elements from index to index

  Targets(const Operand& indices, std::int64_t size, std::int64_t apart) : Targets(indices) {
    n = size;
    stride = apart;
  }
  explicit Targets(const Operand& offsets)
      : first(offsets.data),
        dtype(offsets.dtype),
        item_log2(std::countr_zero(static_cast<unsigned>(itemsize(offsets.dtype)))) {}

  __device__ __forceinline__ const char* at(i64 position) const {
    return first + (position << item_log2);
  }
  __device__ __forceinline__ i64 position(const char* p) const { return (p - first) >> item_log2; }
  // Which place: an offset, or an index; none where that is out of bounds, or was.
  __device__ __forceinline__ i64 place(i64 value) const {
    if (n == 0) return value;
    const i64 index = normalised(value, dtype, n);
    return index < 0 ? none : index;
  }
};

// Indices that follow each other, of so many places.
struct Indices {
  const char* first;
  DType dtype;
  int bytes;  // of one
  u32 count;
  i64 n;

  __device__ __forceinline__ i64 at(u32 i) const { return index_at(first + i64(i) * bytes, dtype); }
  // -1 where it is out of bounds.
  __device__ __forceinline__ i64 place(i64 index) const { return normalised(index, dtype, n); }
};

// Whether the places of a scatter are in order, none below the one before it: twice the operation,
// and one more if they are. Of equal ones the last is the one that a higher place follows, so that
// what is written can go there without claims.
__device__ u64 order;

// Whether a block is the last one of a launch to come here: of none where some never do.
__device__ unsigned long long blocks_in_order;  // the operation, above how many have come
constexpr int block_bits = 24;
__device__ __forceinline__ bool is_last_in_order(u64 operation) {
  const unsigned long long none = operation << block_bits;
  atomicMax(&blocks_in_order, none);
  return atomicAdd(&blocks_in_order, 1) + 1 == none + gridDim.x;
}

// Of all blocks of a launch, each of which has some places: whether all of them are in order. A
// block whose own are not says so and goes on; others wait for each other. All get one answer,
// which is no, too, where they do not run at the same time.
__device__ __forceinline__ bool are_in_order(bool own, u64 operation) {
  constexpr unsigned long long too_late = 1 << (block_bits - 1);
  constexpr i64 patience = 1 << 17;  // in cycles
  __shared__ bool answer;
  volatile u64* const known = &order;
  const u64 no = 2 * operation, yes = no + 1;
  if (!own) {
    if (threadIdx.x == 0) *known = no;
    return false;
  }
  if (threadIdx.x == 0) {
    if (is_last_in_order(operation)) *known = yes;
    bool waits = true;
    u64 now = *known;
    for (const i64 begin = clock64(); now != no && now != yes; now = *known) {
      if (!waits || clock64() - begin < patience) continue;
      waits = false;
      // No block finds itself the last one any more, unless one has.
      const u64 come = atomicOr(&blocks_in_order, too_late);
      if (come < (operation << block_bits) + gridDim.x) *known = no;
    }
    answer = now == yes;
    if (answer) settled = yes;
  }
  __syncthreads();
  return answer;
}
// The same of the places that a thread has of positions from `first` on, blockDim.x apart, where ~0
// stands for none. `meet` tells all threads of the block whether all of them said yes.
template <int own, class Meet>
__device__ __forceinline__ bool are_in_order(const u32 (&place)[own], u32 first,
                                             const Indices& indices, u64 operation, Meet&& meet) {
  const bool is_last_lane = threadIdx.x % warp_size == warp_size - 1;
  bool ascend = true;
#pragma unroll
  for (int e = 0; e < own; ++e) {
    if (!ascend) break;  // the first places of a warp tell most often
    const bool is_none = place[e] == ~u32{0} && first + e * blockDim.x < indices.count;
    const u32 next = __shfl_down_sync(whole_warp, place[e], 1);
    ascend = __all_sync(whole_warp, !is_none && (is_last_lane || place[e] <= next));
  }
  ascend = meet(ascend);
  if (ascend) {
    if (is_last_lane) {  // another warp has the next place
#pragma unroll
      for (int e = 0; e < own; ++e) {
        const u32 i = first + e * blockDim.x + 1;
        if (i < indices.count) ascend &= place[e] <= indices.place(indices.at(i));
      }
    }
    ascend = __syncthreads_and(ascend);
  }
  return are_in_order(ascend, operation);
}

// Finds out the same for more blocks than run at a time. It ends soon where places are in no order.
constexpr int looking_blocks = 4;  // of a multiprocessor
__global__ void __launch_bounds__(block_threads, looking_blocks)
    look_for_order(Indices indices, u64 operation) {
  wait_for_earlier();
  let_next_begin();
  volatile u64* const known = &order;
  const u64 no = 2 * operation;
  const int lane = threadIdx.x % warp_size;
  const u32 step = gridDim.x * (each * block_threads);
  for (u32 begin = blockIdx.x * (each * block_threads); begin < indices.count; begin += step) {
    i64 own[each], after[each] = {};
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const u32 i = min(begin + e * block_threads + threadIdx.x, indices.count - 1);
      own[e] = indices.at(i);
      if (lane == warp_size - 1) after[e] = indices.at(min(i + 1, indices.count - 1));
    }
    bool are = threadIdx.x != 0 || *known != no;
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const i64 place = indices.place(own[e]);
      i64 next = __shfl_down_sync(whole_warp, place, 1);
      if (lane == warp_size - 1) next = indices.place(after[e]);
      are &= place >= 0 && place <= next;
    }
    if (__syncthreads_and(are)) continue;
    if (threadIdx.x == 0) *known = no;
    return;
  }
  if (threadIdx.x == 0 && is_last_in_order(operation)) settled = no + 1;
}

// Writes what goes to places that are in order, some packs each.
template <class M>
__device__ __forceinline__ void write_in_order(const Indices& indices, const M* in, char* out,
                                               i64 stride, const Divisor& packs) {
  constexpr int loads = 2;
  const u32 count = indices.count * packs.divisor, step = gridDim.x * (loads * blockDim.x);
  for (u32 begin = blockIdx.x * (loads * blockDim.x) + threadIdx.x; begin < count; begin += step) {
    i64 at[loads], after[loads];
    M x[loads];
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const u32 pack = min(begin + l * blockDim.x, count - 1), i = packs.divide(pack);
      at[l] = indices.at(i);
      after[l] = indices.at(min(i + 1, indices.count - 1));
      x[l] = in[pack];
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const u32 pack = begin + l * blockDim.x, i = packs.divide(pack);
      const i64 place = indices.place(at[l]);
      if (pack >= count || (i + 1 < indices.count && place == indices.place(after[l]))) continue;
      store_spread<M>(out + place * stride + (pack - i * packs.divisor) * sizeof(M), x[l]);
    }
  }
}

// Indices, and as an operand the position of each.
struct Indexed {
  explicit Indexed(const Operand& index)
      : order_(Layout::contiguous(index.layout->shape)), places(aligned(index, copy_)) {
    position.layout = &order_;
    position.dtype = DType::uint8;  // counted in bytes
  }
  Indexed(const Indexed&) = delete;

  Plan plan() const {
    const Dims* strides[2] = {&places.layout->strides, &order_.strides};
    return make_plan(order_.shape, strides, 2);
  }

 private:
  Array copy_;
  Layout order_;

 public:
  const Operand places;
  Operand position;
};

// Has nothing written: a target is none, which an index out of bounds is noted as.
__device__ __forceinline__ void refuse(const Targets& targets, i64 position, u64 operation,
                                       u32* met) {
  if (targets.n != 0) note_bad(targets.at(position), targets.dtype, targets.n, operation, met);
  settled = 2 * operation;
}
// Looks for such targets, …
__global__ void __launch_bounds__(block_threads)
    look_at(Targets targets, i64 count, u64 operation, u32* met) {
  wait_for_earlier();
  const i64 step = i64(gridDim.x) * (block_threads * each);
  for (i64 begin = i64(blockIdx.x) * (block_threads * each) + threadIdx.x; begin < count;
       begin += step) {
    i64 value[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      value[e] = index_at(targets.at(min(begin + e * block_threads, count - 1)), targets.dtype);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (targets.place(value[e]) == none) {
        refuse(targets, min(begin + e * block_threads, count - 1), operation, met);
      }
    }
  }
}
// … or claims what the others mean. All warps of a block look at the same first ones, so that they
// agree on whether many mean the same without waiting for each other.
__global__ void __launch_bounds__(block_threads)
    claim(Targets targets, i64 count, Owners owners, u64 operation, u32* met) {
  wait_for_earlier();
  let_next_begin();
  constexpr u64 nowhere = ~u64{0};
  __shared__ u32 slots[block_threads];
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 first = i64(gridDim.x - 1 - blockIdx.x) * block_threads; first < count; first += step) {
    const auto value_at = [&](u32 i) {
      return index_at(targets.at(min(first + i, count - 1)), targets.dtype);
    };
    const auto slot_of = [&](i64 value) {
      const i64 place = targets.place(value);
      return place == none ? nowhere : owners.place_of(place);
    };
    const i64 mine = value_at(threadIdx.x), some = value_at(threadIdx.x % warp_size);
    const i64 position = first + threadIdx.x;
    u64 place[1] = {slot_of(mine)};
    if (place[0] == nowhere) refuse(targets, min(position, count - 1), operation, met);
    if (position >= count) place[0] = nowhere;
    if (repeats_first(some)) {
      __syncthreads();  // since the last time
      const bool is = place[0] != nowhere;
      keep_last<std::countr_zero(unsigned(block_threads))>(
          slots, place, [&](u32 i) { return slot_of(value_at(i)); });
      if (is && place[0] == nowhere) owners.lose(position);
    }
    owners.claim(place[0], position, place[0] != nowhere);
  }
}
void launch_claims(Targets targets, i64 n, Owners owners, u64 operation) {
  u32* met = bad_index_met();
  // Without slots there are only indices to look at.
  if (owners.kind == Owners::Slots::none) {
    void* arguments[] = {&targets, &n, &operation, &met};
    return launch(reinterpret_cast<const void*>(&look_at), grid_for(n, block_threads * each),
                  arguments, 0, "scatter");
  }
  void* arguments[] = {&targets, &n, &owners, &operation, &met};
  launch(reinterpret_cast<const void*>(&claim), grid_for(n, block_threads), arguments, 0,
         "scatter");
}

template <class M>
__global__ void __launch_bounds__(block_threads)
    scatter_items(const __grid_constant__ Loop loop, Targets targets, i64 bytes, u64 operation,
                  Owners owners) {
  wait_for_earlier();
  if (is_settled(operation)) return;
  const bool one_value = loop.access[1] == Access::value;
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 to[each];
    M x[each];
    bool is_written[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const char* const at = loop.data[0] + place.offset[e][0];
      to[e] = index_at(at, targets.dtype);
      is_written[e] = place.exists[e] && owners.writes(targets.position(at));
      x[e] = *reinterpret_cast<const M*>(one_value ? reinterpret_cast<const char*>(loop.value[1])
                                                   : loop.data[1] + place.offset[e][1]);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (!is_written[e]) continue;
      char* const p = loop.data[2] + place.offset[e][2] + targets.place(to[e]) * bytes;
      if (reinterpret_cast<u64>(p) % alignof(M) == 0) {
        store_spread<M>(p, x[e]);
      } else {
        store_item<M>(p, x[e]);
      }
    }
  });
}

// The same of rows, as gather_rows() picks them.
template <class M, int Rows>
__global__ void __launch_bounds__(block_threads)
    scatter_rows(const __grid_constant__ Loop loop, Targets targets, i64 bytes, u64 operation,
                 Owners owners, Divisor pieces, int width_log2) {
  wait_for_earlier();
  if (is_settled(operation)) return;
  const bool one_value = loop.access[1] == Access::value;
  over_rows<M, Rows>(loop, pieces, width_log2, [&](const RowPieces<M, Rows>& piece) {
    i64 index[Rows];
    bool is_written[Rows];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const char* const at = loop.data[0] + piece.offset[r][0];
      index[r] = index_at(at, targets.dtype);
      is_written[r] = piece.exists[r] && owners.writes(targets.position(at));
    }
    M x[Rows][piece.items];
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (one_value) {
#pragma unroll
        for (M& item : x[r]) item = *reinterpret_cast<const M*>(loop.value[1]);
      } else if (is_written[r]) {
        piece.load(loop.data[1] + piece.offset[r][1], x[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      if (!is_written[r]) continue;
      piece.store(x[r], loop.data[2] + piece.offset[r][2] + targets.place(index[r]) * bytes, true);
    }
  });
}

// What is written: `in`, a host scalar or of this shape, in the target's dtype and aligned.
struct Source : Operand {
  Source(const Operand& in, const Dims& shape, DType dtype) : Operand(in) {
    if (in.host_scalar) {
      value_.dtype = in.dtype;
      std::memcpy(value_.bytes, in.data, static_cast<std::size_t>(itemsize(in.dtype)));
      value_ = converted_element(value_, dtype);
      Operand::operator=(value_);
    } else if (in.dtype != dtype || !has_aligned_elements(in)) {
      cast_ = scratch_array(dtype, shape);
      copy(in, cast_);
      Operand::operator=(cast_);
    }
  }
  Source(const Source&) = delete;

  const Dims* strides() const { return host_scalar ? nullptr : &layout->strides; }
  // Elements in the order of their positions.
  const char* in_order() {
    if (!layout->is_contiguous()) {
      const Array whole = scratch_array(dtype, layout->shape);
      copy(*this, whole);
      cast_ = whole;
      Operand::operator=(cast_);
    }
    return data;
  }

 private:
  Element value_;
  Array cast_;
};

// An assignment of single items: where they go, what they are, and who writes.
template <class M>
struct Items {
  Indices indices;
  const M* first;  // some elements apart; null: all are `one`
  i64 apart;
  M one;
  char* out;
  i64 stride;  // in bytes
  Owners owners;

  __device__ __forceinline__ i64 place(u32 position) const {
    return indices.place(indices.at(position));
  }
  __device__ __forceinline__ M value(u32 position) const {
    return first ? first[position * apart] : one;
  }
  // Once all have claimed.
  __device__ __forceinline__ void write(u32 position, i64 place, M x) const {
    if (owners.writes(static_cast<u64>(place), position)) store_item<M>(out + place * stride, x);
  }
};

// What blocks of a launch do that have waited for each other: all go on. They may not run at the
// same time, though: then those that have waited for long end, and the last one to come has all
// that was left to do.
enum class Met : u8 { all, late, last };
__device__ unsigned long long blocks_met;  // in steps of a launch; the highest bit: some are late

// The others see what a block has stored before. Of fewer than 2^16 blocks.
__device__ __forceinline__ Met meet() {
  constexpr unsigned long long step = 1 << 16, late = u64{1} << 63;
  constexpr i64 patience = 1 << 17;  // in cycles
  __shared__ Met answer;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();  // of one thread, for all that the block has stored
    const unsigned long long mine = blockIdx.x == 0 ? step - (gridDim.x - 1) : 1;
    const unsigned long long before = atomicAdd(&blocks_met, mine);
    const unsigned long long all = ((before & ~late) | (step - 1)) + 1;
    if ((before & ~late) + mine == all && (before & late) != 0) {
      atomicAnd(&blocks_met, ~late);
      answer = Met::last;
    } else {
      const volatile unsigned long long* const known = &blocks_met;
      unsigned long long now = before + mine;
      for (const i64 begin = clock64(); (now & ~late) < all && (now & late) == 0; now = *known) {
        if (clock64() - begin > patience) atomicCAS(&blocks_met, now, now | late);
      }
      answer = (now & ~late) < all ? Met::late : Met::all;
    }
    __threadfence();
  }
  __syncthreads();
  return answer;
}

// Of few items: places are claimed and, once all are, written by one launch. A call takes the host
// 3.4 µs so, and took 6.4 with two launches; 10Ki items among 1Mi places take an H200 3.5 µs, and
// took 5.2 by blocks that were launched so that they were sure to run at the same time.
template <class M>
__global__ void __launch_bounds__(block_threads)
    claim_and_write(const __grid_constant__ Items<M> items, Targets targets, u64 operation,
                    u32* met) {
  wait_for_earlier();
  const u32 count = items.indices.count, own = blockIdx.x * block_threads + threadIdx.x;
  const u32 position = min(own, count - 1);
  const i64 place = items.place(position);
  const M x = items.value(position);
  if (place < 0) refuse(targets, position, operation, met);
  if (items.owners.kind != Owners::Slots::none) {
    items.owners.claim(static_cast<u64>(place), position, place >= 0 && own < count);
  }
  Met met_others = Met::all;
  if (gridDim.x == 1) {
    __syncthreads();
  } else {
    met_others = meet();
  }
  if (met_others == Met::late || is_settled(operation)) return;
  if (own < count) items.write(position, place, x);
  if (met_others != Met::last) return;
  for (u32 i = threadIdx.x; i < count; i += block_threads) {
    items.write(i, items.place(i), items.value(i));
  }
}

// Of more, by a kernel of their own, once they are claimed.
template <class M>
__global__ void __launch_bounds__(block_threads)
    write_owned(const __grid_constant__ Items<M> items, u64 operation) {
  wait_for_earlier();
  const u32 count = items.indices.count, own = blockIdx.x * block_threads + threadIdx.x;
  const u32 position = min(own, count - 1);
  const i64 place = items.place(position);
  const M x = items.value(position);
  if (own < count && !is_settled(operation)) items.write(position, place, x);
}

// What is written to few places for each index: claims say it themselves where it is small, behind
// the position, or the position says where it is.
constexpr int value_bits(int itemsize, bool values) {
  return !values ? 0 : itemsize == 1 ? 8 : 32;
}
template <class M, bool Values>
struct PlaceClaims {
  static constexpr int bits = value_bits(sizeof(M), Values);
  using Slot = std::conditional_t<bits == 32, unsigned long long, u32>;
  static_assert(!Values || sizeof(M) <= 4);

  Slot* slots;
  Slot left;  // by earlier operations at most

  __device__ __forceinline__ Slot claim(u32 position, M x) const {
    Slot mine = Slot(position) + 1 << bits;
    if constexpr (Values) {
      std::conditional_t<sizeof(M) == 1, u8, std::conditional_t<sizeof(M) == 2, u16, u32>> value;
      memcpy(&value, &x, sizeof x);
      mine |= value;
    }
    return left + mine;
  }
  // Of a slot that is above what was left.
  __device__ __forceinline__ M written(Slot slot, const M* in) const {
    if constexpr (Values) {
      const Slot value = slot - left;
      M x;
      memcpy(&x, &value, sizeof x);
      return x;
    } else {
      return in[slot - left - 1];
    }
  }
};

// Indices and what is written follow each other. The last ones come first: those before know then
// that they are too late. Indices have 64 bits: what is done for each takes a part of the time.
template <class M, bool Values>
__global__ void __launch_bounds__(block_threads)
    claim_in_order(const i64* index, DType dtype, u32 count, u32 n, const M* in,
                   PlaceClaims<M, Values> claims, u64 operation, u32* met) {
  wait_for_earlier();
  constexpr u32 nowhere = ~u32{0};
  __shared__ u32 slots[block_threads * each];
  const u32 of_all = (gridDim.x - 1 - blockIdx.x) * (block_threads * each);
  const u32 first = of_all + threadIdx.x;
  const i64* const of_block = index + of_all;
  // All warps of a block look at the same ones.
  const i64 some = of_block[min(threadIdx.x % warp_size, count - 1 - of_all)];
  i64 at[each] = {};
  M x[each] = {};
#pragma unroll
  for (int e = 0; e < each; ++e) {
    const u32 position = first + e * block_threads;
    if (position < count) at[e] = index[position];
    if (Values && position < count) x[e] = in[position];
  }
  u32 place[each];
  bool all = true;
#pragma unroll
  for (int e = 0; e < each; ++e) {
    if (at[e] < 0 && dtype == DType::int64) at[e] += n;
    const bool is = static_cast<u64>(at[e]) < n;
    all &= is;
    place[e] = is && first + e * block_threads < count ? static_cast<u32>(at[e]) : nowhere;
  }
  if (repeats_first(some)) {
    keep_last<std::countr_zero(unsigned(block_threads * each))>(slots, place, [&](u32 i) {
      return static_cast<u32>(of_block[i] + (of_block[i] < 0 ? n : 0));
    });
  }
#pragma unroll
  for (int e = each - 1; e >= 0; --e) {
    const u32 position = first + e * block_threads;
    const auto mine = claims.claim(position, x[e]);
    const unsigned like_first =
        __ballot_sync(whole_warp, place[e] == __shfl_sync(whole_warp, place[e], 0));
    const auto slot = claims.slots + place[e];
    bool is = place[e] != nowhere;
    // Else no other thread means the first one's place.
    if (like_first != 1) {
      is &= !is_beaten(place[e], position, is, [&] { return __ldcg(slot) > mine; });
    }
    if (is) raise_to(slot, mine);
  }
  if (all) return;
  settled = 2 * operation;
  for (int e = 0; e < each; ++e) {
    const u32 position = first + e * block_threads;
    if (position >= count || static_cast<u64>(at[e]) < n) continue;
    note_bad(reinterpret_cast<const char*>(index + position), dtype, n, operation, met);
  }
}
// The same of places that are meant often, whose slots claims would stand in line for: a block
// finds the last position that means each, of its own, and claims it once. On an H200 512Ki float32
// that go to 256 places take 4.1 µs of 76 so, to 16 Ki 9.4 of 11.4; to 24 Ki they would take 10.5
// of 10.2.
constexpr int often = 32, often_threads = 1024;
template <class M, bool Values>
__global__ void __launch_bounds__(often_threads)
    claim_often(const i64* index, DType dtype, u32 count, u32 n, const M* in,
                PlaceClaims<M, Values> claims, u64 operation, u32* met) {
  extern __shared__ __align__(16) unsigned char shared[];
  u32* const last = reinterpret_cast<u32*>(shared);  // positions of each place, counted from 1
  for (u32 place = threadIdx.x; place < n; place += often_threads) last[place] = 0;
  wait_for_earlier();
  __syncthreads();
  const int lane = threadIdx.x % warp_size;
  const u32 step = gridDim.x * often_threads;
  for (u32 begin = blockIdx.x * often_threads; begin < count; begin += each * step) {
    i64 at[each];
    const auto position = [&](int e) { return min(begin + e * step + threadIdx.x, count - 1); };
#pragma unroll
    for (int e = 0; e < each; ++e) at[e] = index[position(e)];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (at[e] < 0 && dtype == DType::int64) at[e] += n;
      const bool is = static_cast<u64>(at[e]) < n;
      if (!is) {
        settled = 2 * operation;
        note_bad(reinterpret_cast<const char*>(index + position(e)), dtype, n, operation, met);
      }
      // Of threads that mean the first one's place the last one is enough.
      const i64 first = __shfl_sync(whole_warp, at[e], 0);
      const u32 like_first = __ballot_sync(whole_warp, at[e] == first);
      if (is && (at[e] != first || like_first >> lane == 1)) {
        atomicMax(last + at[e], position(e) + 1);
      }
    }
  }
  __syncthreads();
  for (u32 place = threadIdx.x; place < n; place += often_threads) {
    if (last[place] == 0) continue;
    const u32 position = last[place] - 1;
    raise_to(claims.slots + place, claims.claim(position, Values ? in[position] : M{}));
  }
}
template <class M, bool Values>
__global__ void __launch_bounds__(block_threads)
    write_claimed(PlaceClaims<M, Values> claims, u32 n, const M* in, char* out, i64 stride,
                  u64 operation) {
  wait_for_earlier();
  const u64 none_by = settled;
  const u32 begin = blockIdx.x * (block_threads * each) + threadIdx.x;
  typename PlaceClaims<M, Values>::Slot last[each];
  M x[each];
#pragma unroll
  for (int e = 0; e < each; ++e) {
    const u32 place = begin + e * block_threads;
    last[e] = place < n ? __ldcg(claims.slots + place) : claims.left;
  }
  if (none_by / 2 == operation) return;
#pragma unroll
  for (int e = 0; e < each; ++e) {
    if (last[e] > claims.left) x[e] = claims.written(last[e], in);
  }
  char* const to = out + begin * stride;
#pragma unroll
  for (int e = 0; e < each; ++e) {
    if (last[e] > claims.left) *reinterpret_cast<M*>(to + e * block_threads * stride) = x[e];
  }
}

// `in` is a host scalar or has the dimensions of the indices or offsets, which are in one piece,
// and then out's; what they mean lies multiples of `apart` elements from out.
void put(const Operand& in, const Operand& places, const Targets& targets, std::int64_t apart,
         const Operand& out, u64 operation, const Owners& owners) {
  Dims shape = places.layout->shape;
  const int index_ndim = shape.size();
  for (const std::int64_t s : out.layout->shape) shape.push_back(s);
  const int ndim = shape.size();
  const Source source(in, shape, out.dtype);
  const Dims place_strides = leading(places, ndim);
  Dims out_strides(ndim);
  for (int d = index_ndim; d < ndim; ++d) out_strides[d] = out.layout->strides[d - index_ndim];
  const Dims* strides[3] = {&place_strides, source.strides(), &out_strides};
  const Plan plan = make_plan(shape, strides, 3);
  const int lanes = lanes_of(plan, source, out, apart), size = itemsize(out.dtype);
  const i64 bytes = targets.stride * size;
  Operand from = source, to = out;
  Element repeated;
  if (source.host_scalar) {
    for (int l = 0; l < lanes; ++l) std::memcpy(repeated.bytes + l * size, source.data, size);
    from.data = reinterpret_cast<char*>(repeated.bytes);
  }
  from.dtype = to.dtype = pack_dtype(size * lanes);
  const Operand* const all[] = {&places, &from, &to};
  dispatch_item(itemsize(to.dtype), [&](auto item) {
    using M = decltype(item);
    const Plan cut = in_lanes(plan, lanes);
    if (has_rows<M>(cut, from) && is_aligned_to(to.data, alignof(M))) {
      const void* const kernels[] = {reinterpret_cast<const void*>(&scatter_rows<M, 1>),
                                     reinterpret_cast<const void*>(&scatter_rows<M, 2>),
                                     reinterpret_cast<const void*>(&scatter_rows<M, each>)};
      return launch_over_rows<M>(kernels, cut, all, "scatter", targets, bytes, operation, owners);
    }
    launch_over(reinterpret_cast<const void*>(&scatter_items<M>), cut, all, "scatter", targets,
                bytes, operation, owners);
  });
}

// The place of each index, and its position.
__global__ void __launch_bounds__(block_threads)
    places_at(const __grid_constant__ Loop loop, i64 n, u32* places, u32* positions, u64 operation,
              u32* met) {
  wait_for_earlier();
  over_elements(loop, [&](u32 begin) {
    const Places<2> place(loop, begin);
    i64 at[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      at[e] = index_at(loop.data[0] + place.offset[e][0], loop.dtype[0]);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      at[e] = normalised(at[e], loop.dtype[0], n);
      if (at[e] < 0) {
        note_bad(loop.data[0] + place.offset[e][0], loop.dtype[0], n, operation, met);
        settled = 2 * operation;
      }
      if (!place.exists[e]) continue;
      const i64 position = reinterpret_cast<i64>(loop.data[1]) + place.offset[e][1];
      places[position] = static_cast<u32>(at[e]);
      positions[position] = static_cast<u32>(position);
    }
  });
}
// Of items in the order of their places the last of each one.
template <class M>
__global__ void __launch_bounds__(block_threads)
    put_last(const u32* places, const u32* positions, u32 count, const M* in, char* out, i64 stride,
             u64 operation) {
  if (is_settled(operation)) return;
  const u32 step = gridDim.x * (block_threads * each);
  for (u32 begin = blockIdx.x * (block_threads * each) + threadIdx.x; begin < count;
       begin += step) {
    u32 place[each], position[each];
    bool is_written[each];
    M x[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const u32 i = begin + e * block_threads, at = min(i, count - 1);
      place[e] = places[at];
      position[e] = positions[at];
      is_written[e] = i < count && (i == count - 1 || places[i + 1] != place[e]);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (is_written[e]) x[e] = in[position[e]];
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (is_written[e]) store_item<M>(out + i64(place[e]) * stride, x[e]);
    }
  }
}

// Places in 2^bits buckets, runs of them by turns, so that places of a cluster are spread; each
// turn begins with another bucket. Longer runs are written up to 9 % faster where places are many,
// and leave a cluster to few blocks: on an H200 1Mi float32 that go to 4096 places of 16Mi take
// 66 µs of 532 that they take in runs of 2^11. A tile is so many positions as a block brings into
// the order of their buckets; 2^14 of them at most, and 2^17 places of a bucket, are told by 31
// bits.
template <int TileBits>
struct Buckets {
  static constexpr int run_bits = 7, tile_bits = TileBits;
  static constexpr u32 run = 1u << run_bits, tile = 1u << tile_bits;
  static constexpr u32 shift = 37;  // from turn to turn
  static constexpr int fill_threads = TileBits == 14 ? 1024 : 512;
  static constexpr int fill_blocks = resident_blocks_of(fill_threads, TileBits == 11   ? 4
                                                                      : TileBits == 14 ? 1
                                                                                       : 2);

  int bits = 0;
  u32 places = 0;  // of a bucket, whole runs

  Buckets() = default;
  // Of what is moved much it is worth writing fewer places at a time, of little as many as let all
  // blocks run at a time.
  Buckets(std::int64_t n, std::int64_t bytes) {
    constexpr std::int64_t much = std::int64_t{1} << 25;
    constexpr u32 most_places = 1u << 14;  // a word of shared memory each
    constexpr std::int64_t little_bytes = std::int64_t{1} << 23, few_places = std::int64_t{1} << 22;
    constexpr int least_places_bits = 11;
    const auto runs = static_cast<u64>(n - 1) / run + 1;
    const bool is_little = tile_bits == 12 && n <= few_places && bytes <= little_bytes;
    const int most_bits = bytes >= much ? 12 : is_little ? 9 : 10;
    bits =
        std::clamp<int>(std::bit_width(static_cast<u64>(n - 1) >> least_places_bits), 8, most_bits);
    while ((runs - 1 >> bits) + 1 > most_places / run) ++bits;
    places = static_cast<u32>((runs - 1 >> bits) + 1) * run;
  }
  // Of few indices a bucket has about 2^10.
  static Buckets of_few(std::int64_t n, std::int64_t count) {
    constexpr u32 most_places = 1u << 17;  // a bit of shared memory each
    Buckets buckets;
    const auto runs = static_cast<u64>(n - 1) / run + 1;
    buckets.bits = std::clamp<int>(std::bit_width(static_cast<u64>(count - 1)) - 10, 8, 10);
    while ((runs - 1 >> buckets.bits) + 1 > most_places / run) ++buckets.bits;
    buckets.places = static_cast<u32>((runs - 1 >> buckets.bits) + 1) * run;
    return buckets;
  }
  // Of items of so many bytes what is written is brought into that order, too; larger ones are
  // gathered at the end, where they fill much of what is read around them. Small ones need not be:
  // slots hold them.
  __host__ __device__ static constexpr bool move(std::size_t itemsize) { return itemsize <= 8; }
  __host__ __device__ static constexpr bool hold(std::size_t itemsize) { return itemsize <= 2; }

  __host__ __device__ u32 count() const { return 1u << bits; }
  __device__ __forceinline__ u32 bucket(u32 place) const {
    const u32 of_run = place >> run_bits;
    return of_run + (of_run >> bits) * shift & (count() - 1);
  }
  __device__ __forceinline__ u32 within(u32 place) const {
    return place >> (run_bits + bits) << run_bits | (place & (run - 1));
  }
  // Of an item, and where it stands.
  __device__ __forceinline__ static u32 position(u32 item, u32 at) {
    return at & ~(tile - 1) | (item & (tile - 1));
  }
  __device__ __forceinline__ u32 place(u32 bucket, u32 within) const {
    const u32 turn = within >> run_bits;
    return (turn << bits | (bucket - turn * shift & (count() - 1))) << run_bits |
           (within & (run - 1));
  }
};

// Counts a bucket for each thread of a warp, ~0 for none: how many there were before its own. Those
// like the first thread's, which are all of them where indices are in order, are counted at once.
__device__ __forceinline__ u32 count_bucket(u32* counts, u32 bucket, int lane) {
  const u32 first = __shfl_sync(whole_warp, bucket, 0);
  const unsigned alike = __ballot_sync(whole_warp, bucket == first);
  u32 before = 0;
  if (bucket != ~u32{0} && (lane == 0 || bucket != first)) {
    before = atomicAdd(counts + bucket, lane == 0 ? __popc(alike) : 1);
  }
  const u32 of_first = __shfl_sync(whole_warp, before, 0);
  return bucket == first ? of_first + __popc(alike & ((1u << lane) - 1)) : before;
}

// Brings a tile of positions into the order of their buckets, each of which begins where `starts`
// says. An item is the place within its bucket and the position within its tile. Beside it goes
// what is written. Indices out of bounds are noted where there is memory for `met`. Nothing of that
// is done where all places are in order, which blocks ask each other unless it was looked for.
template <class Buckets>
__global__ void __launch_bounds__(Buckets::fill_threads, Buckets::fill_blocks)
    fill_buckets(Indices indices, Buckets buckets, const char* in, int item_bytes, u32* items,
                 char* moved, u16* starts, u64 operation, u32* met, bool is_looked_for) {
  wait_for_earlier();
  let_next_begin();  // what writes clears its slots meanwhile
  if (is_looked_for && is_settled(operation)) return;
  const char* const index = indices.first;
  const DType dtype = indices.dtype;
  const int index_bytes = indices.bytes;
  const u32 count = indices.count;
  const i64 n = indices.n;
  constexpr int threads = Buckets::fill_threads, warps = threads / warp_size;
  constexpr int own = int(Buckets::tile) / threads, loads = own < 8 ? own : 8;
  constexpr u32 nowhere = ~u32{0};
  const u32 many = max(4 * Buckets::tile >> buckets.bits, 32u);
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ u32 totals[warps];
  u32* const staged = reinterpret_cast<u32*>(shared);
  u32* const counts = staged + Buckets::tile;
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const u32 first = blockIdx.x << Buckets::tile_bits;
  const auto clear_counts = [&] {
    for (u32 b = threadIdx.x; b < buckets.count(); b += threads) counts[b] = 0;
    __syncthreads();
  };
  clear_counts();
  u32 place[own], before[own];
#pragma unroll
  for (int begin = 0; begin < own; begin += loads) {
    i64 at[loads];
    const auto load = [&](auto&& index_of) {
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        at[l] = index_of(min(first + (begin + l) * threads + threadIdx.x, count - 1));
      }
    };
    if (dtype == DType::int64) {
      load([&](u32 i) { return reinterpret_cast<const i64*>(index)[i]; });
    } else {
      load([&](u32 i) { return index_at(index + i64(i) * index_bytes, dtype); });
    }
#pragma unroll
    for (int l = 0; l < loads; ++l) {
      const u32 i = first + (begin + l) * threads + threadIdx.x;
      at[l] = normalised(at[l], dtype, n);
      if (at[l] < 0 && i < count) {
        if (met) note_bad(index + i64(i) * index_bytes, dtype, n, operation, met);
        settled = 2 * operation;
      }
      place[begin + l] = at[l] < 0 || i >= count ? nowhere : static_cast<u32>(at[l]);
    }
  }
  const auto count_all = [&](bool vote) {
#pragma unroll
    for (int e = 0; e < own; ++e) {
      before[e] =
          count_bucket(counts, place[e] == nowhere ? nowhere : buckets.bucket(place[e]), lane);
    }
    return __syncthreads_and(vote);
  };
  if (is_looked_for) {
    count_all(true);
  } else if (are_in_order(place, first + threadIdx.x, indices, operation, count_all)) {
    return;
  }
  const u32 each_has = (buckets.count() - 1) / threads + 1;
  const u32 has = threadIdx.x < buckets.count() ? each_has : 0;
  u32* const mine = counts + threadIdx.x * each_has;
  u32 most = 0;
  for (u32 b = 0; b < has; ++b) most = max(most, mine[b]);
  // Few places, perhaps, many times each, which one block would go over; for sure where it would
  // have more than there are in a run.
  if (__syncthreads_or(most > many)) {
    bool repeats = false;
#pragma unroll
    for (int e = 0; e < own; ++e) repeats |= repeats_first(place[e]);
    if (__syncthreads_or(most > Buckets::run) || 8 * __syncthreads_count(repeats) >= threads) {
      keep_last<Buckets::tile_bits>(staged, place, [&](u32 i) {
        const char* const p = index + i64(first + i) * index_bytes;
        return static_cast<u32>(normalised(index_at(p, dtype), dtype, n));
      });
      clear_counts();
      count_all(true);
    }
  }
  u32 sum = 0;
  for (u32 b = 0; b < has; ++b) sum += mine[b];
  const u32 upto = sum_of_lanes_upto(sum, lane);
  if (lane == warp_size - 1) totals[warp] = upto;
  __syncthreads();
  u32 rank = upto - sum, total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) rank += totals[w];
    total += totals[w];
  }
  for (u32 b = 0; b < has; ++b) {
    const u32 here = mine[b];
    mine[b] = rank;
    rank += here;
  }
  __syncthreads();
  u16* const my_starts = starts + i64(blockIdx.x) * (buckets.count() + 1);
  for (u32 b = threadIdx.x; b < buckets.count(); b += threads) {
    my_starts[b] = static_cast<u16>(counts[b]);
  }
  if (threadIdx.x == 0) my_starts[buckets.count()] = static_cast<u16>(total);
#pragma unroll
  for (int e = 0; e < own; ++e) {
    if (place[e] == nowhere) continue;
    staged[counts[buckets.bucket(place[e])] + before[e]] =
        buckets.within(place[e]) << Buckets::tile_bits | (e * threads + threadIdx.x);
  }
  __syncthreads();
  const auto write = [&](auto tag) {
    using M = decltype(tag);
    constexpr bool moves = Buckets::move(sizeof(M));
    for (u32 begin = threadIdx.x; begin < total; begin += loads * threads) {
      u32 item[loads];
      M x[loads];
#pragma unroll
      for (int l = 0; l < loads; ++l) item[l] = staged[min(begin + l * threads, total - 1)];
      if constexpr (moves) {
#pragma unroll
        for (int l = 0; l < loads; ++l) {
          x[l] = reinterpret_cast<const M*>(in)[first + (item[l] & (Buckets::tile - 1))];
        }
      }
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const u32 to = begin + l * threads;
        if (to >= total) break;
        items[first + to] = item[l];
        if constexpr (moves) reinterpret_cast<M*>(moved)[first + to] = x[l];
      }
    }
  };
  dispatch_item(moved ? item_bytes : pack_bytes, write);
}

constexpr u32 no_item = ~u32{0};
constexpr int write_threads = 512, write_loads = 6;  // items that a thread has at a time

// The items of a bucket, wherever the tiles have them.
template <class Buckets>
struct BucketItems {
  static constexpr int threads = write_threads, loads = write_loads;

  const u32* items;
  const u16* starts;
  u32 tiles, bucket;
  Buckets buckets;

  // body(item, at) of some for each thread, and where they stand, as long as there are any; others
  // are `no_item`. All threads of the block meet before the first time and after each.
  template <class Body>
  __device__ __forceinline__ void over(Body&& body) {
    constexpr int warps = threads / warp_size;
    __shared__ u32 totals[warps];
    __shared__ u32 before[threads], begins[threads];  // of tiles: items before them, the first one
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    for (u32 done = 0; done < tiles; done += threads) {
      if (!is_known) {
        const u32 tile = done + threadIdx.x;
        u32 begin = 0, length = 0;
        if (tile < tiles) {
          const u16* const start = starts + i64(tile) * (buckets.count() + 1) + bucket;
          begin = (tile << Buckets::tile_bits) + start[0];
          length = start[1] - start[0];
        }
        const u32 upto = sum_of_lanes_upto(length, lane);
        if (lane == warp_size - 1) totals[warp] = upto;
        __syncthreads();
        u32 rank = upto - length;
        total = 0;
#pragma unroll
        for (int w = 0; w < warps; ++w) {
          if (w < warp) rank += totals[w];
          total += totals[w];
        }
        before[threadIdx.x] = rank;
        begins[threadIdx.x] = begin;
        __syncthreads();
      }
      for (u32 first = 0; first < total; first += loads * threads) {
        if (!is_known || total > loads * threads) {
#pragma unroll
          for (int l = 0; l < loads; ++l) {
            const u32 j = first + l * threads + threadIdx.x;
            item[l] = no_item;
            if (j >= total) continue;
            u32 t = 0;  // the last tile that has no more than j items before it
#pragma unroll
            for (u32 step = threads / 2; step > 0; step /= 2) {
              t += before[t + step] <= j ? step : 0;
            }
            at[l] = begins[t] + j - before[t];
            item[l] = items[at[l]];
          }
        }
        body(item, at);
      }
      __syncthreads();
    }
    is_known = tiles <= threads;
  }

 private:
  // Threads keep the items that they have for the next time, which are seldom more.
  bool is_known = false;
  u32 item[loads], at[loads], total = 0;

 public:
  __device__ __forceinline__ BucketItems(const u32* items, const u16* starts, u32 tiles, u32 bucket,
                                         const Buckets& buckets)
      : items(items), starts(starts), tiles(tiles), bucket(bucket), buckets(buckets) {}
};

// Writes the places of a bucket, which lie side by side: finds in a first turn over its items the
// last position of each place, in a second one where what that writes is to be found. Four blocks
// of a multiprocessor wait for less than three do, but where slots hold what is written.
template <class M, class Buckets>
__global__ void __launch_bounds__(write_threads,
                                  resident_blocks_of(write_threads,
                                                     Buckets::hold(sizeof(M)) ? 3 : 4))
    write_buckets(const u32* items, const M* from, const u16* starts, u32 tiles, Buckets buckets,
                  Indices indices, const M* in, char* out, i64 stride, u64 operation) {
  constexpr int threads = write_threads, loads = write_loads;
  constexpr u32 found = 1u << 31;
  extern __shared__ __align__(16) unsigned char shared[];
  // Of places: 0, the last position counted from 1, or `found` and where it is in `from`, or what.
  u32* const last = reinterpret_cast<u32*>(shared);
  const u32 bucket = blockIdx.x;
  for (u32 i = threadIdx.x; i < buckets.places / 4; i += threads) {
    reinterpret_cast<uint4*>(last)[i] = {};
  }
  wait_for_earlier();
  if (is_settled(operation)) {
    if (settled % 2 == 1) write_in_order(indices, in, out, stride, Divisor());
    return;
  }
  BucketItems<Buckets> all(items, starts, tiles, bucket, buckets);
  for (int turn = 0; turn < 2; ++turn) {
    all.over([&](const u32(&item)[loads], const u32(&at)[loads]) {
      [[maybe_unused]] M value[loads];
      if constexpr (Buckets::hold(sizeof(M))) {
#pragma unroll
        for (int l = 0; l < loads; ++l) {
          if (turn == 1 && item[l] != no_item) value[l] = from[at[l]];
        }
      }
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        if (item[l] == no_item) continue;
        u32* const slot = last + (item[l] >> Buckets::tile_bits);
        const u32 position = Buckets::position(item[l], at[l]);
        if (turn == 0) {
          atomicMax(slot, position + 1);
        } else if constexpr (Buckets::hold(sizeof(M))) {
          atomicCAS(slot, position + 1, found | value[l]);
        } else {
          atomicCAS(slot, position + 1, found | (Buckets::move(sizeof(M)) ? at[l] : position));
        }
      }
    });
  }
  // A warp writes a run.
  constexpr int stores = int(Buckets::run) / warp_size, warps = threads / warp_size;
  const u32 lane = threadIdx.x % warp_size;
  for (u32 run = threadIdx.x / warp_size; run < buckets.places / Buckets::run; run += warps) {
    const u32 begin = run * Buckets::run;
    char* const to = out + (i64(buckets.place(bucket, begin)) + lane) * stride;
    u32 slot[stores];
    M x[stores];
#pragma unroll
    for (int l = 0; l < stores; ++l) slot[l] = last[begin + l * warp_size + lane];
#pragma unroll
    for (int l = 0; l < stores; ++l) {
      if constexpr (Buckets::hold(sizeof(M))) {
        x[l] = static_cast<M>(slot[l]);
      } else {
        if (slot[l] != 0) x[l] = from[slot[l] & ~found];
      }
    }
#pragma unroll
    for (int l = 0; l < stores; ++l) {
      if (slot[l] != 0) *reinterpret_cast<M*>(to + l * warp_size * stride) = x[l];
    }
  }
}

// Writes the places of a bucket that are meant, of which there are few: bits tell which, and their
// ranks are slots for the last positions, so many at a time. A place has some packs. All are
// written in their order, which memory takes faster than any other.
constexpr u32 few_slots = write_loads * write_threads;
template <class M, class Buckets>
__global__ void __launch_bounds__(write_threads, resident_blocks_of(write_threads, 3))
    write_few(const u32* items, const M* from, const u16* starts, u32 tiles, Buckets buckets,
              Indices indices, char* out, i64 stride, Divisor packs, u64 operation) {
  constexpr int threads = write_threads, loads = write_loads;
  constexpr int stores = 4, warps = threads / warp_size;
  constexpr u32 slots = few_slots;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ u32 totals[warps];
  // The bits of 32 places, and how many are set before them; by rank the last position, counted
  // from 1, and the place within the bucket.
  uint2* const words = reinterpret_cast<uint2*>(shared);
  const u32 count = buckets.places / 32;
  u32 *const last = reinterpret_cast<u32*>(words + count), *const within = last + slots;
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const auto clear = [](void* memory, u32 bytes) {
    for (u32 i = threadIdx.x; i < bytes / 16; i += threads) static_cast<uint4*>(memory)[i] = {};
  };
  clear(words, count * sizeof(uint2) + slots * sizeof(u32));
  wait_for_earlier();
  if (is_settled(operation)) {
    if (settled % 2 == 1) write_in_order(indices, from, out, stride, packs);
    return;
  }
  BucketItems<Buckets> all(items, starts, tiles, blockIdx.x, buckets);
  bool is_ranked = false;
  u32 total = 0;
  for (u32 begin = 0; !is_ranked || begin < total;) {
    all.over([&](const u32(&item)[loads], const u32(&at)[loads]) {
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        if (item[l] == no_item) continue;
        const u32 place = item[l] >> Buckets::tile_bits, bit = 1u << place % 32;
        uint2* const word = words + place / 32;
        if (!is_ranked) {
          atomicOr(&word->x, bit);
          continue;
        }
        const u32 slot = word->y + __popc(word->x & (bit - 1)) - begin;
        if (slot >= slots) continue;
        within[slot] = place;
        atomicMax(last + slot, Buckets::position(item[l], at[l]) + 1);
      }
    });
    if (!is_ranked) {
      const u32 own = (count - 1) / threads + 1;
      const u32 first = min(threadIdx.x * own, count), end = min(first + own, count);
      u32 sum = 0;
      for (u32 w = first; w < end; ++w) sum += __popc(words[w].x);
      const u32 upto = sum_of_lanes_upto(sum, lane);
      if (lane == warp_size - 1) totals[warp] = upto;
      __syncthreads();
      u32 rank = upto - sum;
#pragma unroll
      for (int w = 0; w < warps; ++w) {
        if (w < warp) rank += totals[w];
        total += totals[w];
      }
      for (u32 w = first; w < end; ++w) {
        words[w].y = rank;
        rank += __popc(words[w].x);
      }
      is_ranked = true;
      __syncthreads();
      continue;
    }
    const u32 here = min(total - begin, slots) * packs.divisor;
    for (u32 first = threadIdx.x; first < here; first += stores * threads) {
      char* to[stores];
      M x[stores];
#pragma unroll
      for (int s = 0; s < stores; ++s) {
        const u32 pack = min(first + s * threads, here - 1), slot = packs.divide(pack);
        const u32 of_row = pack - slot * packs.divisor;
        x[s] = from[i64(last[slot] - 1) * packs.divisor + of_row];
        to[s] = out + i64(buckets.place(blockIdx.x, within[slot])) * stride + of_row * sizeof(M);
      }
#pragma unroll
      for (int s = 0; s < stores; ++s) {
        if (first + s * threads < here) store_spread<M>(to[s], x[s]);
      }
    }
    begin += slots;
    if (begin >= total) return;
    __syncthreads();
    clear(last, slots * sizeof(u32));
    __syncthreads();
  }
}

// A scatter's kernels follow each other, so that the next knows what one has settled.
std::mutex& scatters() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

// Memory in which what each operation writes is above all that the ones before it left there.
struct Kept {
  StorageRef memory;
  u64 bytes = 0, used = 0;

  // What is left in so much memory at most, for an operation of so many values up to `last`.
  u64 take(u64 wanted, u64 values, u64 last) {
    if (bytes < wanted || values > last - used) {
      const u64 size = std::max(bytes, wanted);
      if (bytes < wanted) {
        bytes = 0;  // until it has been cleared
        memory = {};
        memory = allocate(static_cast<std::int64_t>(wanted));
      }
      check(cudaMemsetAsync(memory->data, 0, size, stream()), "cudaMemsetAsync");
      bytes = size;
      used = 0;
    }
    used += values;
    return used - values;
  }
};

// Slots, and marks where they are wanted, for contiguous offsets where the last of equal ones is to
// be written. One operation after the other has those that the device keeps; what is too much to
// keep is cleared for this one.
struct Claims {
  // Marks are left out only of narrow slots.
  Claims(std::int64_t n, const OffsetRange& range, bool marks = true) {
    if (range.any_order || n == 1) return;
    OfDevice& kept = of_device();
    const auto count = static_cast<u64>(n);
    const u64 places = static_cast<u64>((range.highest - range.lowest) / range.step) + 1;
    const bool are_few = count <= few_claims;
    const u64 shared = std::bit_ceil((are_few ? 16 : 4) * count),
              shared_slots = shared * ((places - 1 >> 32) + 1);
    owners.lowest = range.lowest;
    owners.step = range.step;
    if (count >> 32 != 0) {
      owners.kind = Owners::Slots::wide;
      owners.slots = take(slots_, slots_, places * sizeof(u64), count, ~u64{0}, owners.left);
    } else if (places <= few_places || places / 2 <= shared_slots ||
               (are_few && places * sizeof(u32) <= properties().l2_bytes)) {
      owners.kind = Owners::Slots::narrow;
      owners.slots = take(kept.own, slots_, places * sizeof(u32), count, UINT32_MAX, owners.left);
      if (!marks) return;
    } else {
      owners.kind = Owners::Slots::shared;
      owners.last_shared = shared - 1;
      owners.order_bits = std::bit_width(count);
      const int bits = owners.order_bits + std::min<int>(std::bit_width(places - 1), 32);
      owners.slots = take(kept.shared, slots_, shared_slots * sizeof(u64), ~u64{0} >> (64 - bits),
                          ~u64{0}, owners.left);
    }
    u64 marked;
    owners.lost = static_cast<u8*>(take(kept.marks, marks_, count, 1, UINT8_MAX, marked));
    owners.mark = static_cast<u8>(marked + 1);
  }

  // A slot for each place, for claims that hold so many bits beside their position, which need no
  // marks.
  template <class Slot>
  Claims(std::int64_t n, std::int64_t places, int bits, Slot*& slots, Slot& left) {
    OfDevice& kept = of_device();
    u64 before;
    slots = static_cast<Slot*>(take(sizeof(Slot) == sizeof(u32) ? kept.own : kept.shared, slots_,
                                    static_cast<u64>(places) * sizeof(Slot),
                                    static_cast<u64>(n + 1) << bits, ~Slot{0}, before));
    left = static_cast<Slot>(before);
  }

  Owners owners;

 private:
  struct OfDevice {
    Kept own, shared, marks;
  };
  static OfDevice& of_device() {
    static auto* const all = new std::vector<OfDevice>(static_cast<std::size_t>(device_count()));
    return (*all)[static_cast<std::size_t>(properties().index)];
  }
  // Of more, claims are made faster in shared slots, which the cache holds, unless claims are few.
  // These meet others seldom where there are 16 shared slots for each: on an H200 64Ki float64 of
  // 8Mi take 5.1 µs of 8.2, of 64Mi 6.6 of 8.6.
  static constexpr u64 few_places = u64{1} << 22, few_claims = u64{1} << 17;

  static void* take(Kept& kept, Kept& own, u64 bytes, u64 values, u64 last, u64& left) {
    const bool is_kept = bytes <= properties().l2_bytes;
    Kept& from = is_kept ? kept : own;
    left = from.take(is_kept ? std::bit_ceil(bytes) : bytes, values, last);
    return from.memory->data;
  }

  Kept slots_, marks_;
};

// Whether indices are so few that one launch claims and writes.
bool are_few(std::int64_t count) {
  return count <= 1 << 15;
}

// An assignment to few places for each index: what is written is told by their slots, which are
// gone over in their order. `best`: only where no other way is as fast.
bool put_in_order(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                  const Operand& out, bool best) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  const std::int64_t count = index.layout->size;
  const auto l2 = static_cast<std::int64_t>(properties().l2_bytes);
  const std::int64_t times = best && itemsize(out.dtype) <= 4 ? 16 : 8;
  if (in.host_scalar || are_few(count) || count > most_counted || n > times * count || n > l2 / 4) {
    return false;
  }
  return dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = decltype(item);
    if (!is_aligned_to(out.data, alignof(M))) return false;
    const auto run = [&](auto values) {
      constexpr bool Values = decltype(values)::value;
      using Some = PlaceClaims<M, Values>;
      Array packed;
      Operand places = index;
      if (index.dtype != DType::int64 && index.dtype != DType::uint64) {
        packed = scratch_array(DType::int64, index.layout->shape);
        copy(index, packed);
        places = packed;
      } else {
        places = in_one_piece(index, packed);
      }
      Source source(in, index.layout->shape, out.dtype);
      const char *from = source.in_order(), *index_data = places.data;
      const std::lock_guard lock(scatters());
      Some claims;
      const Claims memory(count, n, Some::bits, claims.slots, claims.left);
      u64 operation = next_operation();
      DType dtype = places.dtype;
      auto indices = static_cast<u32>(count), all = static_cast<u32>(n);
      i64 step = stride * std::int64_t{sizeof(M)};
      u32* met = bad_index_met();
      char* to = out.data;
      void* claiming[] = {&index_data, &dtype, &indices, &all, &from, &claims, &operation, &met};
      const std::size_t last_bytes = all * sizeof(u32);
      if (often * n <= count && last_bytes <= properties().shared_bytes_opt_in) {
        const std::int64_t blocks = (count - 1) / often_threads + 1,
                           most = properties().multiprocessors;
        launch(reinterpret_cast<const void*>(&claim_often<M, Values>),
               static_cast<unsigned>(std::min(blocks, most)), claiming, last_bytes, "scatter",
               dim3(often_threads));
      } else {
        launch(reinterpret_cast<const void*>(&claim_in_order<M, Values>),
               static_cast<unsigned>((count - 1) / (block_threads * each) + 1), claiming, 0,
               "scatter");
      }
      void* writing[] = {&claims, &all, &from, &to, &step, &operation};
      launch(reinterpret_cast<const void*>(&write_claimed<M, Values>),
             static_cast<unsigned>((n - 1) / (block_threads * each) + 1), writing, 0, "scatter");
      return true;
    };
    // Slots of which a third of the cache has room are gone over faster than values are gathered,
    // and than buckets are filled unless both places and indices are many.
    if constexpr (sizeof(M) <= 4) {
      using Some = PlaceClaims<M, true>;
      constexpr int position_bits = 8 * int(sizeof(typename Some::Slot)) - Some::bits;
      const bool are_many = n > 2 * mebi && count >= mebi + (sizeof(M) == 1);
      if (n * std::int64_t{sizeof(typename Some::Slot)} <= l2 / 3 &&
          count + 1 < std::int64_t{1} << position_bits) {
        return !(best && are_many) && run(std::true_type());
      }
    }
    // Without values, these are faster than by buckets.
    const bool are_best =
        sizeof(M) == 8 ? n <= 2 * mebi
                       : n <= 4 * mebi && (count <= mebi / 2 || (count >= n && sizeof(M) == 4));
    if (best && (sizeof(M) == 16 || !are_best)) return false;
    return run(std::false_type());
  });
}

// Indices, or offsets, brought into the order of their buckets by tiles.
template <class Some>
class InBuckets {
 public:
  // Whether shared memory is enough for that, and for what else a block has so many bytes of.
  static bool fit(const Some& buckets, std::size_t bytes) {
    constexpr std::size_t other_shared_bytes = 6144;
    return std::max(shared_bytes(buckets), bytes) + other_shared_bytes <=
           properties().shared_bytes_opt_in;
  }

  InBuckets(const Operand& index, std::int64_t n, const Some& buckets)
      : places_(in_one_piece(index, packed_)),
        indices{places_.data, places_.dtype, itemsize(places_.dtype),
                static_cast<u32>(index.layout->size), n},
        buckets_(buckets),
        tiles_((indices.count - 1 >> Some::tile_bits) + 1),
        items_(indices.count * sizeof(u32)),
        starts_(tiles_ * (buckets.count() + std::size_t{1}) * sizeof(u16)) {}

  // Items of `values` go along where there is memory for that.
  void fill(const char* values, int item_bytes, char* moved, u64 operation, u32* met) {
    const std::size_t bytes = shared_bytes(buckets_);
    const auto kernel = reinterpret_cast<const void*>(&fill_buckets<Some>);
    allow_shared_bytes(kernel, bytes, "scatter");
    bool is_looked_for = tiles_ > blocks_at_once(kernel, Some::fill_threads, bytes, "scatter");
    if (is_looked_for) {
      void* looking[] = {&indices, &operation};
      launch(reinterpret_cast<const void*>(&look_for_order),
             static_cast<unsigned>(properties().multiprocessors * looking_blocks), looking, 0,
             "scatter");
    }
    u32* items = items_.template as<u32>();
    u16* starts = starts_.template as<u16>();
    void* arguments[] = {&indices, &buckets_, &values,    &item_bytes, &items,
                         &moved,   &starts,   &operation, &met,        &is_looked_for};
    launch(kernel, tiles_, arguments, bytes, "scatter", Some::fill_threads);
  }
  // By a kernel of a block for each bucket, which takes other arguments behind its items.
  template <class... Given>
  void write(const void* kernel, std::size_t bytes, const char* from, Given... given) {
    u32* items = items_.template as<u32>();
    u16* starts = starts_.template as<u16>();
    void* arguments[] = {&items, &from, &starts, &tiles_, &buckets_, &given...};
    launch(kernel, buckets_.count(), arguments, bytes, "scatter", write_threads);
  }

 private:
  static std::size_t shared_bytes(const Some& buckets) {
    return (buckets.count() + Some::tile) * sizeof(u32);
  }

  Array packed_;
  Operand places_;

 public:
  Indices indices;

 private:
  Some buckets_;
  u32 tiles_;
  Scratch items_, starts_;
};

// An assignment by many indices, or offsets: what means the same part of the places is brought
// together, whose slots shared memory holds. On an H100 that takes 0.4 to 0.8 of the time that
// other ways take.
template <int TileBits>
bool put_in_buckets_of(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                       const Operand& out, u32* met) {
  using Some = Buckets<TileBits>;
  const std::int64_t count = index.layout->size;
  const Some buckets(n, count * itemsize(out.dtype));
  const std::size_t write_bytes = buckets.places * sizeof(u32);
  if (!InBuckets<Some>::fit(buckets, write_bytes)) return false;
  InBuckets<Some> places(index, n, buckets);
  Array repeated;
  Operand given = in;
  if (in.host_scalar) {
    repeated = scratch_array(out.dtype, index.layout->shape);
    copy(in, repeated);
    given = repeated;
  }
  Source source(given, index.layout->shape, out.dtype);
  const char* const from = source.in_order();
  const std::lock_guard lock(scatters());
  const u64 operation = next_operation();
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = std::conditional_t<sizeof item == pack_bytes, uint4, decltype(item)>;
    std::optional<Scratch> moved;
    if (Some::move(sizeof(M))) moved.emplace(static_cast<std::size_t>(count) * sizeof(M));
    char* const moved_to = moved ? moved->as<char>() : nullptr;
    places.fill(from, sizeof(M), moved_to, operation, met);
    places.write(reinterpret_cast<const void*>(&write_buckets<M, Some>), write_bytes,
                 moved ? moved_to : from, places.indices, from, out.data,
                 stride * std::int64_t{sizeof(M)}, operation);
  });
  return true;
}

// How many are brought together at least. On an H200 384Ki float64 of 8Mi take 22 µs of 32 so, of
// 4Mi 16 of 19, and 320Ki 19 of 25 and 17 of 15.
std::int64_t least_in_buckets(std::int64_t n) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  return n > 4 * mebi && n <= 32 * mebi ? 5 * mebi / 16 : 3 * mebi / 8;
}

// The same of few indices for the places, which may be rows. On an H200 1Mi items of 64Mi take 0.53
// to 0.7 of the time so.
template <int TileBits>
bool put_few_of(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                const Operand& out, u32* met) {
  using Some = Buckets<TileBits>;
  const Some buckets = Some::of_few(n, index.layout->size);
  const std::size_t write_bytes = buckets.places / 32 * sizeof(uint2) + 2 * few_slots * sizeof(u32);
  if (!InBuckets<Some>::fit(buckets, write_bytes)) return false;
  InBuckets<Some> places(index, n, buckets);
  Dims shape = index.layout->shape;
  for (const std::int64_t s : out.layout->shape) shape.push_back(s);
  Source source(in, shape, out.dtype);
  const char* const from = source.in_order();
  const i64 row_bytes = out.layout->size * itemsize(out.dtype);
  const i64 bytes = stride * itemsize(out.dtype);
  const int pack =
      1 << std::countr_zero(static_cast<u64>(row_bytes | bytes | pack_bytes) |
                            reinterpret_cast<u64>(from) | reinterpret_cast<u64>(out.data));
  const std::lock_guard lock(scatters());
  const u64 operation = next_operation();
  places.fill(from, pack, nullptr, operation, met);
  dispatch_item(pack, [&](auto item) {
    using M = std::conditional_t<sizeof item == pack_bytes, uint4, decltype(item)>;
    places.write(reinterpret_cast<const void*>(&write_few<M, Some>), write_bytes, from,
                 places.indices, out.data, bytes,
                 Divisor(static_cast<u32>(row_bytes / i64{sizeof(M)})), operation);
  });
  return true;
}
// Not of packs of 16 bytes, rows of more than two, more single items, or more places for fewer
// rows: they are as fast otherwise. Of 2^20 items buckets with slots are faster up to 12 times as
// many places.
bool put_few(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
             const Operand& out, u32* met) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20, most_places = 512 * mebi;
  const std::int64_t count = index.layout->size, row_bytes = out.layout->size * itemsize(out.dtype);
  const bool is_item = out.layout->size == 1, is_narrow = !is_item && row_bytes % pack_bytes != 0;
  const std::int64_t least = is_narrow ? mebi / 4 : least_in_buckets(n),
                     most = is_item ? 2 * mebi : 4 * mebi;
  const std::int64_t times = is_item && count <= mebi ? 12 : is_narrow && count >= mebi / 2 ? 2 : 8;
  if (in.host_scalar || count < least || count > most || n < times * count || n > most_places ||
      row_bytes == pack_bytes || row_bytes > 2 * pack_bytes || !out.layout->is_contiguous() ||
      !is_aligned_to(out.data, itemsize(out.dtype))) {
    return false;
  }
  return count < mebi ? put_few_of<11>(in, index, n, stride, out, met)
                      : put_few_of<13>(in, index, n, stride, out, met);
}

// Neither where they are fewer, few for the places, or many for places that are told by slots
// faster. The fewer they are, the smaller are the tiles, so that there are enough for the device.
bool put_in_buckets(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                    const Operand& out, u32* met) {
  constexpr std::int64_t mebi = std::int64_t{1} << 20, most_places = 128 * mebi;
  const std::int64_t count = index.layout->size;
  if (put_few(in, index, n, stride, out, met)) return true;
  // One value is written in any order, which is slower only to more than the cache holds.
  const bool any_order =
      in.host_scalar && (count < 4 * mebi || n * itemsize(out.dtype) <
                                                 static_cast<std::int64_t>(properties().l2_bytes));
  if (any_order || count < least_in_buckets(n) || count > most_counted || n < mebi ||
      (n == mebi && count > mebi) || n > most_places || n > 64 * count ||
      !is_aligned_to(out.data, itemsize(out.dtype)) ||
      !(in.host_scalar || is_aligned_to(in.data, itemsize(in.dtype)))) {
    return false;
  }
  return count <= mebi       ? put_in_buckets_of<12>(in, index, n, stride, out, met)
         : count <= 2 * mebi ? put_in_buckets_of<13>(in, index, n, stride, out, met)
                             : put_in_buckets_of<14>(in, index, n, stride, out, met);
}

// An assignment by more indices than this to very many places: sorted by them they write side by
// side, in half the time that claims take on an H100.
constexpr std::int64_t most_claimed = std::int64_t{1} << 20;
bool put_sorted(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                const Operand& out) {
  const std::int64_t count = index.layout->size;
  if (in.host_scalar || count <= most_claimed || count > most_counted ||
      n > std::int64_t{1} << 32) {
    return false;
  }
  const Indexed indexed(index);
  Source source(in, index.layout->shape, out.dtype);
  const char* const from = source.in_order();
  const Operand* const all[] = {&indexed.places, &indexed.position};
  const auto bytes = static_cast<std::size_t>(count) * sizeof(u32);
  const Scratch memory[] = {Scratch(bytes), Scratch(bytes), Scratch(bytes), Scratch(bytes)};
  u32* keys[] = {memory[0].as<u32>(), memory[1].as<u32>()};
  u32* positions[] = {memory[2].as<u32>(), memory[3].as<u32>()};
  const std::lock_guard lock(scatters());
  const u64 operation = next_operation();
  launch_over(reinterpret_cast<const void*>(&places_at), indexed.plan(), all, "scatter", n, keys[0],
              positions[0], operation, bad_index_met());
  sort_pairs(keys, positions, count, std::bit_width(static_cast<u64>(n - 1)));
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = decltype(item);
    put_last<M><<<grid_for(count, block_threads * each), block_threads, 0, stream()>>>(
        keys[0], positions[0], static_cast<u32>(count), reinterpret_cast<const M*>(from), out.data,
        stride * std::int64_t{sizeof(M)}, operation);
  });
  check_launch("scatter");
  return true;
}

// Rows that are assigned to places of which many are meant: each picks its row. The places are
// written in their order, whole sectors of memory where rows are short, and those of rows that are
// written over are not read. On an H200 that takes 0.5 to 0.75 of the time of rows that go where
// they are to.
bool put_rows(const Operand& in, const Operand& positions, const Targets& targets,
              const OffsetRange& range, const Operand& out) {
  const std::int64_t count = positions.layout->size;
  const std::int64_t places = (range.highest - range.lowest) / range.step + 1;
  if (in.host_scalar || range.any_order || out.layout->ndim() == 0 || count == 1 ||
      places > 2 * count || places > most_counted || !has_aligned_elements(out)) {
    return false;
  }
  const int index_ndim = positions.layout->ndim(), row_ndim = out.layout->ndim();
  Dims shape = positions.layout->shape;
  for (const std::int64_t s : out.layout->shape) shape.push_back(s);
  Source source(in, shape, out.dtype);
  if (index_ndim > 1) source.in_order();
  // Dimensions of one have any stride where all is contiguous.
  const std::int64_t apart = index_ndim > 1 ? out.layout->size : source.layout->strides[0];
  // The places, then a row's dimensions, of their slots, what is picked, and the output.
  Dims size{places}, strides[3] = {{1}, {0}, {range.step * targets.stride}};
  for (int d = 0; d < row_ndim; ++d) {
    size.push_back(out.layout->shape[d]);
    strides[0].push_back(0);
    strides[1].push_back(source.layout->strides[index_ndim + d]);
    strides[2].push_back(out.layout->strides[d]);
  }
  const Dims* const of_all[] = {&strides[0], &strides[1], &strides[2]};
  const Plan plan = make_plan(size, of_all, 3);
  if (plan.ndim() == 0 || plan.stride[0][plan.ndim() - 1] != 0) return false;
  const std::lock_guard lock(scatters());
  Owners owners;
  u32 *slots, left;
  const Claims memory(count, places, 0, slots, left);
  owners.kind = Owners::Slots::narrow;
  owners.slots = slots;
  owners.left = left;
  owners.lowest = range.lowest;
  owners.step = range.step;
  const u64 operation = next_operation();
  launch_claims(targets, count, owners, operation);
  const Layout slot_layout = Layout::contiguous({places});
  Operand by_place;
  by_place.data = reinterpret_cast<char*>(slots);
  by_place.dtype = DType::uint32;
  by_place.layout = &slot_layout;
  Operand to = out;
  to.data += range.lowest * targets.stride * itemsize(out.dtype);
  launch_picks(plan, by_place, source, to, apart, "scatter", ByClaim{left, operation},
               [](const Plan& packs, int) { return packs; });
  return true;
}

// An assignment by indices or offsets that are in one piece; of the range that they are in.
void put_all(const Operand& in, const Operand& positions, const Targets& targets,
             const OffsetRange& range, const Operand& out) {
  if (put_rows(in, positions, targets, range, out)) return;
  const std::int64_t n = positions.layout->size;
  const std::lock_guard lock(scatters());
  const Claims claims(n, range);
  const u64 operation = next_operation();
  launch_claims(targets, n, claims.owners, operation);
  put(in, positions, targets, std::gcd(range.lowest, range.step) * targets.stride, out, operation,
      claims.owners);
}

// An assignment of single items by indices of which each writes its own, if its claim stays.
bool put_owned(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
               const Operand& out) {
  constexpr std::int64_t most_packs = 1 << 16;  // of more they are written faster by fewer threads
  const std::int64_t count = index.layout->size;
  if (count > most_claimed || (count > most_packs && itemsize(out.dtype) == pack_bytes)) {
    return false;
  }
  const bool together = are_few(count);
  Array packed;
  const Operand places = in_one_piece(index, packed);
  Source source(in, index.layout->shape, out.dtype);
  const char* from = nullptr;
  i64 apart = 1;
  if (!in.host_scalar && source.layout->ndim() == 1) {
    from = source.data;
    apart = source.layout->strides[0];
  } else if (!in.host_scalar) {
    from = source.in_order();
  }
  const std::lock_guard lock(scatters());
  const Claims claims(count, {0, n - 1, 1, in.host_scalar}, !together);
  u64 operation = next_operation();
  Targets targets(places, n, stride);
  if (!together) launch_claims(targets, count, claims.owners, operation);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = decltype(item);
    if (in.host_scalar) std::memcpy(&item, source.data, sizeof item);
    Items<M> items{{places.data, places.dtype, itemsize(places.dtype), static_cast<u32>(count), n},
                   reinterpret_cast<const M*>(from),
                   apart,
                   item,
                   out.data,
                   stride * std::int64_t{sizeof(M)},
                   claims.owners};
    u32* met = bad_index_met();
    void *of_both[] = {&items, &targets, &operation, &met}, *writing[] = {&items, &operation};
    launch(together ? reinterpret_cast<const void*>(&claim_and_write<M>)
                    : reinterpret_cast<const void*>(&write_owned<M>),
           static_cast<unsigned>((count - 1) / block_threads + 1), together ? of_both : writing, 0,
           "scatter");
  });
  return true;
}

// An assignment of single elements, unless they are many and no way is faster than that of all.
bool put_elements(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                  const Operand& out) {
  return put_in_order(in, index, n, stride, out, true) ||
         put_in_buckets(in, index, n, stride, out, bad_index_met()) ||
         put_in_order(in, index, n, stride, out, false) || put_sorted(in, index, n, stride, out) ||
         put_owned(in, index, n, stride, out);
}

// Whether slabs are moved as items are: they have one element, or fill an aligned pack. Of less
// than 8 bytes each place picks its own as fast where places are few for many indices. On an H200
// 1Mi slabs of 16 bytes among 16Mi take 75 µs of 142 so.
bool is_one_item(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                 const Operand& out) {
  constexpr std::int64_t few_narrow = 1 << 16;
  const std::int64_t size = out.layout->size, bytes = size * itemsize(out.dtype);
  if (size == 1) return true;
  const std::int64_t count = index.layout->size;
  if (bytes > pack_bytes || !std::has_single_bit(static_cast<u64>(bytes)) || stride % size != 0 ||
      !out.layout->is_contiguous() || !is_aligned_to(out.data, bytes) || in.host_scalar ||
      in.dtype != out.dtype || !is_aligned_to(in.data, bytes) ||
      (bytes < 8 && n <= 2 * count && count > few_narrow)) {
    return false;
  }
  const int index_ndim = index.layout->ndim();
  for (int d = 0; d < in.layout->ndim(); ++d) {
    const std::int64_t step = in.layout->strides[d];
    const bool fits = d < index_ndim
                          ? step % size == 0
                          : in.layout->shape[d] == 1 || step == out.layout->strides[d - index_ndim];
    if (!fits) return false;
  }
  return true;
}

}  // namespace

void scatter(const Operand& in, const Operand& offsets, const OffsetRange& range,
             const Operand& out) {
  if (!in.host_scalar && in.layout->size == 0) return;
  const std::int64_t n = offsets.layout->size;
  if (n == 0 || out.layout->size == 0) return;
  // Those who found the offsets have noted which indices were out of bounds.
  if (out.layout->ndim() == 0 && range.lowest == 0 && range.step == 1 && !range.any_order &&
      put_in_buckets(in, offsets, range.highest + 1, 1, out, nullptr)) {
    return;
  }
  Array packed;
  const Operand places = in_one_piece(offsets, packed);
  put_all(in, places, Targets(places), range, out);
}

void scatter_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                     const Operand& out) {
  const std::int64_t count = index.layout->size;
  if (count == 0) return;
  if (out.layout->size == 0 || n == 0) return check_bounds(index, n);
  if (const std::int64_t size = out.layout->size; is_one_item(in, index, n, stride, out)) {
    const Layout one;
    Layout items;
    Operand from = in, to = out;
    to.layout = &one;
    if (!in.host_scalar) {
      items = Layout::contiguous(index.layout->shape);
      for (int d = 0; d < items.ndim(); ++d) items.strides[d] = in.layout->strides[d] / size;
      from.layout = &items;
    }
    if (size > 1) from.dtype = to.dtype = pack_dtype(static_cast<int>(size) * itemsize(out.dtype));
    if (put_elements(from, index, n, stride / size, to)) return;
  } else if (put_few(in, index, n, stride, out, bad_index_met())) {
    return;
  }
  Array packed;
  const Operand places = in_one_piece(index, packed);
  put_all(in, places, Targets(places, n, stride), {0, n - 1, 1, in.host_scalar}, out);
}

// ---- what is not zero ---------------------------------------------------------------------------

namespace {

constexpr int select_each = 16;  // bytes of the mask that a thread reads
constexpr int select_tile = block_threads * select_each;

// Bit i of the 16: byte i is not zero.
__device__ __forceinline__ u32 nonzero_bits(Pack<u32, select_each / 4> pack) {
  u32 bits = 0;
#pragma unroll
  for (int i = 0; i < select_each / 4; ++i) {
    // The bits at 0, 8, 16 and 24 come to stand at 24 … 27.
    bits |= (__vsetne4(pack.v[i], 0) * 0x01020408u >> 24 & 15) << 4 * i;
  }
  return bits;
}
__device__ __forceinline__ u32 nonzero_bits(const u8* mask, i64 first, i64 n) {
  u32 bits = 0;
#pragma unroll  // so that all are on their way before the first is needed
  for (int i = 0; i < select_each; ++i) {
    if (first + i < n) bits |= u32(mask[first + i] != 0) << i;
  }
  return bits;
}

__device__ __forceinline__ u32 warp_sum(u32 count) {
#pragma unroll
  for (int d = warp_size / 2; d > 0; d /= 2) count += __shfl_xor_sync(whole_warp, count, d);
  return count;
}

constexpr int tiles_of_block = block_threads / warp_size;
__device__ u32 blocks_counted;

using Counts = Pack<u16, tiles_of_block>;

// before[b] = how many are not zero before the tiles that counts[b] has; *total = in all, where it
// is wanted. A warp counts one tile after the other, of which the next is on its way meanwhile, and
// the last block to have counted adds up. What they read they leave as bits, of which select()
// reads an eighth of the bytes.
constexpr int counting_blocks = 4;  // of a multiprocessor
__global__ void __launch_bounds__(block_threads, counting_blocks)
    count_tiles(const u8* mask, i64 n, u16* bits, Counts* counts, i64* before, i64* total,
                u32 packs) {
  wait_for_earlier();
  constexpr int loads = select_tile / (warp_size * select_each);
  using Item = Pack<u32, select_each / 4>;
  __shared__ i64 sums[tiles_of_block];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const auto is_whole = [&](u32 pack) {
    return (i64(pack) * tiles_of_block + warp + 1) * select_tile <= n;
  };
  const auto place_in = [&](u32 pack) {
    return (i64(pack) * tiles_of_block + warp) * select_tile + lane * select_each;
  };
  Item next[loads];
  const auto load = [&](u32 pack) {
    if (pack >= packs || !is_whole(pack)) return;
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      next[i] =
          *reinterpret_cast<const Item*>(mask + place_in(pack) + i * (warp_size * select_each));
    }
  };
  load(blockIdx.x);
  for (u32 pack = blockIdx.x; pack < packs; pack += gridDim.x) {
    const i64 first = place_in(pack);
    u32 count = 0;
    if (first - lane * select_each < n) {
      u32 found[loads];
      if (is_whole(pack)) {
#pragma unroll
        for (int i = 0; i < loads; ++i) found[i] = nonzero_bits(next[i]);
      } else {
#pragma unroll
        for (int i = 0; i < loads; ++i) {
          found[i] = nonzero_bits(mask, first + i * (warp_size * select_each), n);
        }
      }
      load(pack + gridDim.x);
#pragma unroll
      for (int i = 0; i < loads; ++i) {
        bits[first / select_each + i * warp_size] = static_cast<u16>(found[i]);
        count += __popc(found[i]);
      }
      count = warp_sum(count);
    }
    if (lane == 0) counts[pack].v[warp] = static_cast<u16>(count);
  }
  if (!is_last_part(blocks_counted, gridDim.x)) return;
  const u32 each_has = (packs - 1) / block_threads + 1;
  const u32 begin = min(threadIdx.x * each_has, packs), end = min(begin + each_has, packs);
  constexpr int batch = 8;
  const auto over_packs = [&](auto&& use) {
    for (u32 first = begin; first < end; first += batch) {
      uint4 some[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        some[i] = __ldcg(reinterpret_cast<const uint4*>(counts + min(first + i, end - 1)));
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        // Pairs of 16 bits, none of which is above 2^12.
        const u32 pairs = some[i].x + some[i].y + some[i].z + some[i].w;
        if (first + i < end) use(first + i, (pairs & 0xffff) + (pairs >> 16));
      }
    }
  };
  i64 mine = 0;
  over_packs([&](u32, u32 count) { mine += count; });
  const i64 upto = sum_of_lanes_upto(mine, lane);
  if (lane == warp_size - 1) sums[warp] = upto;
  __syncthreads();
  i64 sum = upto - mine;
  for (int w = 0; w < warp; ++w) sum += sums[w];
  over_packs([&](u32 pack, u32 count) {
    before[pack] = sum;
    sum += count;
  });
  if (threadIdx.x == block_threads - 1 && total) *total = sum;
}

// Puts, for the elements that are not zero in their order, what Write reads of each. A block finds
// their places in its tile first, so that neighbours write side by side.
template <class Write>
__global__ void __launch_bounds__(block_threads)
    select(const u16* found, const Counts* counts, const i64* before,
           const __grid_constant__ Write write) {
  wait_for_earlier();
  using Item = typename Write::Item;
  constexpr int warps = block_threads / warp_size, batch = 4;
  __shared__ u32 totals[warps];
  __shared__ u16 chosen[select_tile];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const i64 tile = i64(blockIdx.x) * select_tile;
  const u32 pack = blockIdx.x / tiles_of_block, of_pack = blockIdx.x % tiles_of_block;
  const Counts of_tiles = counts[pack];
  i64 rank = before[pack];
#pragma unroll
  for (u32 t = 0; t < tiles_of_block; ++t) rank += t < of_pack ? of_tiles.v[t] : 0;
  const u32 first = threadIdx.x * select_each;
  u32 bits = found[i64(blockIdx.x) * block_threads + threadIdx.x];
  const u32 count = __popc(bits);
  const u32 upto = sum_of_lanes_upto(count, lane);
  if (lane == warp_size - 1) totals[warp] = upto;
  __syncthreads();
  u32 place = upto - count, total = 0;
#pragma unroll
  for (int w = 0; w < warps; ++w) {
    if (w < warp) place += totals[w];
    total += totals[w];
  }
  for (; bits != 0; bits &= bits - 1) chosen[place++] = static_cast<u16>(first + __ffs(bits) - 1);
  __syncthreads();
  for (u32 begin = threadIdx.x; begin < total; begin += batch * block_threads) {
    Item x[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const u32 at = begin + i * block_threads;
      if (at < total) x[i] = write.read(tile + chosen[at]);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const u32 at = begin + i * block_threads;
      if (at < total) write.put(rank + at, x[i]);
    }
  }
}

struct WritePosition {
  using Item = i64;
  i64* out;
  __device__ i64 read(i64 position) const { return position; }
  __device__ void put(i64 rank, i64 position) const { out[rank] = position; }
};
template <class M>
struct WriteItem {
  using Item = M;
  const M* in;
  M* out;
  __device__ M read(i64 position) const { return in[position]; }
  __device__ void put(i64 rank, M x) const { out[rank] = x; }
};
struct WriteCoordinates {
  static constexpr int most_dims = 8;
  using Item = u32;
  int ndim;
  Divisor size[most_dims];
  i64* out[most_dims];
  __device__ u32 read(i64 position) const { return static_cast<u32>(position); }
  __device__ void put(i64 rank, u32 position) const {
    for (int d = ndim - 1; d > 0; --d) {
      const u32 next = size[d].divide(position);
      out[d][rank] = position - next * size[d].divisor;
      position = next;
    }
    out[0][rank] = position;
  }
};

// column[i] = position[i] / inner % size.
__global__ void __launch_bounds__(block_threads)
    unravel(const i64* position, i64 n, i64 inner, i64 size, i64* column) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) {
    column[i] = position[i] / inner % size;
  }
}

// What count_nonzero() found last in this thread: those who ask how many there are ask next where.
struct Counted {
  const u8* mask = nullptr;
  std::int64_t n = 0;
  int device = 0;
  Array before, counts, bits;  // of its tiles
};
thread_local Counted counted;

Counted counted_tiles(const u8* mask, std::int64_t n, i64* total) {
  const std::int64_t tiles = (n - 1) / select_tile + 1, blocks = (tiles - 1) / tiles_of_block + 1;
  const Array before = scratch_array(DType::int64, {blocks});
  const Array counts = scratch_array(DType::uint16, {blocks * tiles_of_block});
  const Array bits = scratch_array(DType::uint16, {tiles * block_threads});
  u16* bits_to = bits.data_as<u16>();
  auto* counts_to = counts.data_as<Counts>();
  i64* before_to = before.data_as<i64>();
  auto packs = static_cast<u32>(blocks);
  void* arguments[] = {&mask, &n, &bits_to, &counts_to, &before_to, &total, &packs};
  const std::int64_t most = std::int64_t{properties().multiprocessors} * counting_blocks;
  launch(reinterpret_cast<const void*>(&count_tiles), static_cast<unsigned>(std::min(blocks, most)),
         arguments, 0, "nonzero");
  return {mask, n, properties().index, before, counts, bits};
}

// What is not zero.
struct Mask {
  std::int64_t n;
  Counted tiles;

  explicit Mask(const Operand& in) : n(in.layout->size) {
    const auto* data = reinterpret_cast<const u8*>(in.data);
    Array holder;
    if (!is_mask(in)) {
      holder = scratch_array(DType::bool_, in.layout->shape);
      copy(in, holder);
      data = holder.data_as<u8>();
    }
    tiles = std::exchange(counted, {});
    if (data != tiles.mask || n != tiles.n || properties().index != tiles.device) {
      tiles = counted_tiles(data, n, nullptr);
    }
  }

  // Contiguous bytes on 16 of their own.
  static bool is_mask(const Operand& in) {
    return in.dtype == DType::bool_ && in.layout->is_contiguous() && is_aligned_to(in.data, 16);
  }

  template <class Write>
  void run(Write write) const {
    const std::int64_t count = (n - 1) / select_tile + 1;
    const u16* bits = tiles.bits.data_as<u16>();
    const auto* counts = tiles.counts.data_as<Counts>();
    const i64* before = tiles.before.data_as<i64>();
    void* arguments[] = {&bits, &counts, &before, &write};
    launch(reinterpret_cast<const void*>(&select<Write>), static_cast<unsigned>(count), arguments,
           0, "nonzero");
  }
};

}  // namespace

std::int64_t count_nonzero(const Operand& in) {
  counted = {};
  if (in.layout->size == 0) return 0;
  if (Mask::is_mask(in)) {
    static auto* const one_at_a_time = new std::mutex;
    const std::lock_guard lock(*one_at_a_time);
    volatile std::int64_t& total = host_words().count;
    counted = counted_tiles(reinterpret_cast<const u8*>(in.data), in.layout->size,
                            const_cast<std::int64_t*>(&total));
    check(cudaStreamSynchronize(stream()), "nonzero");
    return total;
  }
  const Array result = scratch_array(DType::int64, {});
  std::vector<char> marks(static_cast<std::size_t>(in.layout->ndim()), 1);
  reduce(Reduction::count_nonzero, DType::int64, in,
         std::span<const bool>(reinterpret_cast<const bool*>(marks.data()), marks.size()), result);
  return downloaded<std::int64_t>(result.data());
}

void nonzero(const Operand& in, std::span<const Operand> out) {
  const std::int64_t count = out[0].layout->size;
  if (in.layout->size == 0 || count == 0) return;
  const Mask mask(in);
  if (out.size() == 1) return mask.run(WritePosition{reinterpret_cast<i64*>(out[0].data)});
  const int ndim = in.layout->ndim();
  if (ndim <= WriteCoordinates::most_dims && mask.n < std::int64_t{1} << 31) {
    WriteCoordinates write{ndim, {}, {}};
    for (int d = 0; d < ndim; ++d) {
      write.size[d] = Divisor(static_cast<u32>(in.layout->shape[d]));
      write.out[d] = reinterpret_cast<i64*>(out[static_cast<std::size_t>(d)].data);
    }
    return mask.run(write);
  }
  const Scratch positions(static_cast<std::size_t>(count) * 8);
  mask.run(WritePosition{positions.as<i64>()});
  std::int64_t inner = 1;
  for (int d = ndim - 1; d >= 0; --d) {
    const std::int64_t size = in.layout->shape[d];
    unravel<<<blocks_for(count, block_threads * 4), block_threads, 0, stream()>>>(
        positions.as<i64>(), count, inner, size,
        reinterpret_cast<i64*>(out[static_cast<std::size_t>(d)].data));
    inner *= size;
  }
  check_launch("nonzero");
}

void compress(const Operand& in, const Operand& mask, const Operand& out) {
  if (out.layout->size == 0) return;
  Array packed;
  const Operand source = in_one_piece(in, packed);
  const Mask selected(mask);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = decltype(item);
    selected.run(
        WriteItem<M>{reinterpret_cast<const M*>(source.data), reinterpret_cast<M*>(out.data)});
  });
}

}  // namespace arrayx::cuda
