// Gathers, scatters and the positions of elements that are not zero.
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "loop.hpp"
#include "warps.cuh"

namespace arrayx::cuda {

namespace {

constexpr int each = 4;  // elements of a thread

// run(plan) for a plan, or for parts of it that are counted in 32 bits.
template <class Run>
void in_parts(const Plan& plan, Run&& run) {
  if (plan.kind == LoopKind::empty) return;
  if (plan.count() <= most_counted) return run(plan);
  int longest = 0;
  for (int d = 1; d < plan.ndim(); ++d) {
    if (plan.size[d] > plan.size[longest]) longest = d;
  }
  Plan first = plan, second = plan;
  const std::int64_t cut = plan.size[longest] / 2;
  first.size[longest] = cut;
  second.size[longest] -= cut;
  for (int k = 0; k < plan.operands; ++k) second.base[k] += cut * plan.stride[k][longest];
  in_parts(first, run);
  in_parts(second, run);
}

// Launches kernel(loop, further…) over every element of a plan.
template <class... Further>
void launch_over(const void* kernel, const Plan& plan, const Operand* const* operands,
                 const char* verb, Further... further) {
  in_parts(plan, [&](const Plan& part) {
    Loop loop;
    int size[plan_operands];
    for (int k = 0; k < part.operands; ++k) {
      size[k] = itemsize(operands[k]->dtype);
      loop.data[k] = operands[k]->data + part.base[k] * size[k];
      loop.dtype[k] = operands[k]->dtype;
    }
    std::optional<Scratch> more;
    set_dims(loop, part, size, more);
    loop.count = static_cast<u32>(part.count());
    void* arguments[] = {&loop, &further...};
    launch(kernel, blocks_for(loop.count, block_threads * each), arguments, 0, verb);
  });
}

// Where `each` elements of a thread lie. Those beyond the end are the last one once more.
template <int K>
struct Places {
  i64 offset[each][K] = {};
  bool exists[each];

  __device__ __forceinline__ Places(const Loop& loop, u32 begin) {
    u32 at[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      const u32 i = begin + e * block_threads;
      exists[e] = i < loop.count;
      at[e] = exists[e] ? i : loop.count - 1;
    }
    locate(loop, 0, at, offset);
  }
};
template <class Body>
__device__ __forceinline__ void over_elements(const Loop& loop, Body&& body) {
  const u32 step = gridDim.x * (block_threads * each);
  for (u32 begin = blockIdx.x * (block_threads * each) + threadIdx.x; begin < loop.count;
       begin += step) {
    body(begin);
  }
}

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

// ---- gathers ------------------------------------------------------------------------------------

template <class M>
__global__ void __launch_bounds__(block_threads) gather_items(const __grid_constant__ Loop loop) {
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 from[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      from[e] = *reinterpret_cast<const i64*>(loop.data[0] + place.offset[e][0]);
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

// The first index out of bounds that gathers of this device met since the host asked: of the first
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

// gather_items() by indices; for those out of bounds, which are noted, the first element.
template <class M>
__global__ void __launch_bounds__(block_threads)
    gather_at(const __grid_constant__ Loop loop, i64 n, i64 stride, u64 operation, u32* met) {
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 index[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      index[e] = index_at(loop.data[0] + place.offset[e][0], loop.dtype[0]);
    }
    M x[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      i64 at = normalised(index[e], loop.dtype[0], n);
      if (at < 0) {
        note_bad(loop.data[0] + place.offset[e][0], loop.dtype[0], n, operation, met);
        at = 0;
      }
      x[e] = load_item<M>(loop.data[1] + place.offset[e][1] + at * stride * i64(sizeof(M)));
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (place.exists[e]) *reinterpret_cast<M*>(loop.data[2] + place.offset[e][2]) = x[e];
    }
  });
}

__global__ void __launch_bounds__(block_threads)
    add_offsets(const __grid_constant__ Loop loop, i64 n, i64 stride, u32* wrong) {
  over_elements(loop, [&](u32 begin) {
    const Places<2> place(loop, begin);
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (!place.exists[e]) continue;
      const i64 given = index_at(loop.data[0] + place.offset[e][0], loop.dtype[0]);
      const i64 index = normalised(given, loop.dtype[0], n);
      if (index < 0) *wrong = 1;
      *reinterpret_cast<i64*>(loop.data[1] + place.offset[e][1]) += index * stride;
    }
  });
}

// The first element, in the order of the loop, whose index is out of bounds.
__global__ void __launch_bounds__(block_threads)
    find_first_wrong(const __grid_constant__ Loop loop, i64 n, i64 start,
                     unsigned long long* first) {
  over_elements(loop, [&](u32 begin) {
    const Places<1> place(loop, begin);
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (!place.exists[e]) continue;
      const i64 index = index_at(loop.data[0] + place.offset[e][0], loop.dtype[0]);
      if (normalised(index, loop.dtype[0], n) < 0) {
        atomicMin(first, static_cast<unsigned long long>(start + begin + e * block_threads));
      }
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

// A word on the device, with every byte of this value.
class Flag {
 public:
  explicit Flag(int byte) : memory_(8) {
    check(cudaMemsetAsync(memory_.as(), byte, 8, stream()), "cudaMemsetAsync");
  }
  template <class T>
  T* as() const {
    return memory_.as<T>();
  }

 private:
  Scratch memory_;
};

// The value of the first index in row-major order that is out of bounds.
std::int64_t first_out_of_bounds(const Operand& index, std::int64_t n) {
  const Array packed = scratch_array(index.dtype, index.layout->shape);
  copy(index, packed);
  const std::int64_t size = packed.size(), item = itemsize(index.dtype);
  const Flag first(0xff);
  for (std::int64_t start = 0; start < size; start += most_counted) {
    Plan plan;
    plan.operands = 1;
    plan.size.push_back(std::min(most_counted, size - start));
    plan.stride[0].push_back(1);
    plan.base[0] = start;
    plan.kind = LoopKind::contiguous;
    const Operand operand(packed);
    const Operand* const all[] = {&operand};
    launch_over(reinterpret_cast<const void*>(&find_first_wrong), plan, all, "indexing", n, start,
                first.as<unsigned long long>());
  }
  const auto place = downloaded<std::int64_t>(first.as<void>());
  Element e;
  e.dtype = index.dtype;
  check(cudaMemcpy(e.bytes, packed.data() + place * item, static_cast<std::size_t>(item),
                   cudaMemcpyDeviceToHost),
        "a copy to the host");
  return converted_element(e, DType::int64).as<std::int64_t>();
}

// Where gathers of the current device say that first_bad holds something. Never freed, like memory.
u32* bad_index_met() {
  static const auto& all = *[] {
    auto* const words = new std::vector<u32*>;
    const auto count = static_cast<std::size_t>(device_count());
    void* pinned;
    check(cudaHostAlloc(&pinned, count * 64, cudaHostAllocPortable | cudaHostAllocMapped),
          "pinned memory");
    std::memset(pinned, 0, count * 64);
    for (std::size_t i = 0; i < count; ++i) words->push_back(static_cast<u32*>(pinned) + i * 16);
    return words;
  }();
  return all[static_cast<std::size_t>(properties().index)];
}

// `a` itself, or a copy of it whose items are aligned.
Operand aligned(const Operand& a, Array& holder) {
  if (has_aligned_elements(a)) return a;
  holder = scratch_array(a.dtype, a.layout->shape);
  copy(a, holder);
  return holder;
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

bool gather_indexed(const Operand& in, const Operand& index, std::int64_t n, std::int64_t stride,
                    const Operand& out, std::int64_t* bad) {
  if (index.layout->size == 0) return true;
  if (!has_aligned_elements(out)) {
    const Array whole = scratch_array(out.dtype, out.layout->shape);
    if (!gather_indexed(in, index, n, stride, whole, bad)) return false;
    copy(whole, out);
    return true;
  }
  if (out.layout->size == 0 || n == 0) {  // nothing to pick, but indices may be wrong
    const Array sums = scratch_array(DType::int64, index.layout->shape);
    copy(Element::of(std::int64_t{0}), sums);
    return accumulate_offsets(index, n, stride, sums, bad);
  }
  Array index_copy;
  const Operand places = aligned(index, index_copy);
  const int ndim = out.layout->ndim();
  const Dims index_strides = leading(places, ndim), in_strides = trailing(in, ndim);
  const Dims* strides[3] = {&index_strides, &in_strides, &out.layout->strides};
  const Plan plan = make_plan(out.layout->shape, strides, 3);
  const Operand* const all[] = {&places, &in, &out};
  static std::atomic<u64> operations{0};
  const u64 operation = operations.fetch_add(1, std::memory_order_relaxed) + 1;
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    launch_over(reinterpret_cast<const void*>(&gather_at<decltype(item)>), plan, all, "gather", n,
                stride, operation, bad_index_met());
  });
  return true;
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

bool accumulate_offsets(const Operand& index, std::int64_t n, std::int64_t stride,
                        const Operand& offsets, std::int64_t* bad) {
  if (offsets.layout->size == 0) return true;
  Array index_copy;
  const Operand places = aligned(index, index_copy);
  const Flag wrong(0);
  const Dims* strides[2] = {&places.layout->strides, &offsets.layout->strides};
  const Plan plan = make_plan(offsets.layout->shape, strides, 2);
  const Operand* const all[] = {&places, &offsets};
  launch_over(reinterpret_cast<const void*>(&add_offsets), plan, all, "indexing", n, stride,
              wrong.as<u32>());
  if (downloaded<u32>(wrong.as<void>()) == 0) return true;
  *bad = first_out_of_bounds(places, n);
  return false;
}

// ---- scatter ------------------------------------------------------------------------------------

namespace {

// The offset of a position that a later one overwrites becomes `none`.
constexpr i64 none = INT64_MIN;

// Few offsets are compared with all that follow.
constexpr std::int64_t few_offsets = 8192;
__global__ void __launch_bounds__(block_threads)
    keep_last_of_few(const i64* offsets, i64 n, i64* kept) {
  __shared__ i64 others[block_threads];
  const i64 first = i64(blockIdx.x) * block_threads, i = first + threadIdx.x;
  const i64 mine = i < n ? offsets[i] : none;
  bool last = true;
  for (i64 j = first; j < n; j += block_threads) {
    __syncthreads();
    if (j + threadIdx.x < n) others[threadIdx.x] = offsets[j + threadIdx.x];
    __syncthreads();
    const i64 count = min(i64(block_threads), n - j);
    for (i64 k = 0; k < count; ++k) last &= j + k <= i || others[k] != mine;
  }
  if (i < n) kept[i] = last ? mine : none;
}

// Many claim what they write: owner[offset - lowest] = the last position that writes there.
__global__ void __launch_bounds__(block_threads)
    claim(const i64* offsets, i64 n, i64 lowest, unsigned long long* owner) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) {
    atomicMax(owner + (offsets[i] - lowest), static_cast<unsigned long long>(i + 1));
  }
}
__global__ void __launch_bounds__(block_threads)
    keep_owners(const i64* offsets, i64 n, i64 lowest, const unsigned long long* owner, i64* kept) {
  const i64 step = i64(gridDim.x) * block_threads;
  for (i64 i = i64(blockIdx.x) * block_threads + threadIdx.x; i < n; i += step) {
    const bool last = owner[offsets[i] - lowest] == static_cast<unsigned long long>(i + 1);
    kept[i] = last ? offsets[i] : none;
  }
}

template <class M>
__global__ void __launch_bounds__(block_threads) scatter_items(const __grid_constant__ Loop loop) {
  over_elements(loop, [&](u32 begin) {
    const Places<3> place(loop, begin);
    i64 to[each];
    M x[each];
#pragma unroll
    for (int e = 0; e < each; ++e) {
      to[e] = *reinterpret_cast<const i64*>(loop.data[0] + place.offset[e][0]);
      x[e] = *reinterpret_cast<const M*>(loop.data[1] + place.offset[e][1]);
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
      if (!place.exists[e] || to[e] == none) continue;
      store_item<M>(loop.data[2] + place.offset[e][2] + to[e] * i64(sizeof(M)), x[e]);
    }
  });
}

std::int64_t extreme(Reduction op, const Array& offsets) {
  const Array result = scratch_array(DType::int64, {});
  const bool all[] = {true};
  reduce(op, DType::int64, offsets, all, nullptr, result);
  return downloaded<std::int64_t>(result.data());
}

}  // namespace

void scatter(const Operand& in, const Operand& offsets, const Operand& out) {
  if (!in.host_scalar && in.layout->size == 0) return;
  const std::int64_t n = offsets.layout->size;
  if (n == 0 || out.layout->size == 0) return;
  Dims shape = offsets.layout->shape;
  const int index_ndim = shape.size();
  for (const std::int64_t s : out.layout->shape) shape.push_back(s);
  const int ndim = shape.size();
  Array cast;
  Operand source = in;
  if (in.host_scalar || in.dtype != out.dtype || !has_aligned_elements(in)) {
    cast = scratch_array(out.dtype, in.host_scalar ? Dims{} : shape);
    copy(in, cast);
    source = cast;
  }
  const Dims in_strides = in.host_scalar ? Dims(ndim) : source.layout->strides;
  // The offsets in their order; of several that are equal the last stays.
  Array places = scratch_array(DType::int64, {n});
  Array shaped = places;
  shaped.layout = Layout::contiguous(offsets.layout->shape);
  copy(offsets, shaped);
  if (n > 1) {
    const Array given = places;
    places = scratch_array(DType::int64, {n});
    const i64* const from = given.data_as<i64>();
    i64* const kept = places.data_as<i64>();
    if (n <= few_offsets) {
      const auto blocks = static_cast<unsigned>((n - 1) / block_threads + 1);
      keep_last_of_few<<<blocks, block_threads, 0, stream()>>>(from, n, kept);
    } else {
      const std::int64_t lowest = extreme(Reduction::min, given);
      const std::int64_t reach = extreme(Reduction::max, given) - lowest + 1;
      const Scratch owners(static_cast<std::size_t>(reach) * 8);
      check(cudaMemsetAsync(owners.as(), 0, static_cast<std::size_t>(reach) * 8, stream()),
            "cudaMemsetAsync");
      auto* const owner = owners.as<unsigned long long>();
      const unsigned blocks = blocks_for(n, block_threads);
      claim<<<blocks, block_threads, 0, stream()>>>(from, n, lowest, owner);
      keep_owners<<<blocks, block_threads, 0, stream()>>>(from, n, lowest, owner, kept);
    }
    check_launch("scatter");
  }
  Dims offset_strides = Layout::contiguous(offsets.layout->shape).strides;
  offset_strides.resize(ndim);
  Dims out_strides(ndim);
  for (int d = index_ndim; d < ndim; ++d) out_strides[d] = out.layout->strides[d - index_ndim];
  const Dims* strides[3] = {&offset_strides, &in_strides, &out_strides};
  const Plan plan = make_plan(shape, strides, 3);
  const Operand place_operand(places);
  const Operand* const all[] = {&place_operand, &source, &out};
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    launch_over(reinterpret_cast<const void*>(&scatter_items<decltype(item)>), plan, all,
                "scatter");
  });
}

// ---- what is not zero ---------------------------------------------------------------------------

namespace {

constexpr int select_each = 16;  // bytes of the mask that a thread reads
constexpr int select_tile = block_threads * select_each;

// Bit i of the 16: byte i is not zero.
__device__ __forceinline__ u32 nonzero_bits(const u8* mask, i64 first, i64 n) {
  u32 bits = 0;
  if (first + select_each <= n) {
    const auto pack = *reinterpret_cast<const Pack<u32, select_each / 4>*>(mask + first);
#pragma unroll
    for (int i = 0; i < select_each / 4; ++i) {
      // The bits at 0, 8, 16 and 24 come to stand at 24 … 27.
      bits |= (__vsetne4(pack.v[i], 0) * 0x01020408u >> 24 & 15) << 4 * i;
    }
  } else {
    for (int i = 0; i < select_each && first + i < n; ++i) bits |= u32(mask[first + i] != 0) << i;
  }
  return bits;
}

__device__ __forceinline__ u32 warp_sum(u32 count) {
#pragma unroll
  for (int d = warp_size / 2; d > 0; d /= 2) count += __shfl_xor_sync(whole_warp, count, d);
  return count;
}

// before[t + 1] = how many are not zero in tile t, which a warp counts; before[0] = 0.
__global__ void __launch_bounds__(block_threads) count_tiles(const u8* mask, i64 n, i64* before) {
  constexpr int loads = select_tile / (warp_size * select_each);
  const int lane = threadIdx.x % warp_size;
  const i64 tile = (i64(blockIdx.x) * block_threads + threadIdx.x) / warp_size;
  const i64 first = tile * select_tile + lane * select_each;
  u32 count = 0;
#pragma unroll
  for (int i = 0; i < loads; ++i) {
    count += __popc(nonzero_bits(mask, first + i * (warp_size * select_each), n));
  }
  count = warp_sum(count);
  if (lane != 0 || tile * select_tile >= n) return;
  before[tile + 1] = count;
  if (tile == 0) before[0] = 0;
}

// Puts, for the elements that are not zero in their order, what Write reads of each. A block finds
// their places in its tile first, so that neighbours write side by side.
template <class Write>
__global__ void __launch_bounds__(block_threads)
    select(const u8* mask, i64 n, const i64* before, const __grid_constant__ Write write) {
  using Item = typename Write::Item;
  constexpr int warps = block_threads / warp_size, batch = 4;
  __shared__ u32 totals[warps];
  __shared__ u16 chosen[select_tile];
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  const i64 tile = i64(blockIdx.x) * select_tile, rank = before[blockIdx.x];
  const u32 first = threadIdx.x * select_each;
  u32 bits = nonzero_bits(mask, tile + first, n);
  const u32 count = __popc(bits);
  u32 upto = count;
#pragma unroll
  for (int d = 1; d < warp_size; d *= 2) {
    const u32 other = __shfl_up_sync(whole_warp, upto, d);
    if (lane >= d) upto += other;
  }
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

// How many are not zero before each tile of a mask, and, as the last element, in all.
Array counted_tiles(const u8* mask, std::int64_t n) {
  const std::int64_t tiles = (n - 1) / select_tile + 1;
  constexpr std::int64_t tiles_of_block = block_threads / warp_size;
  const Array counts = scratch_array(DType::int64, {tiles + 1});
  count_tiles<<<static_cast<unsigned>((tiles - 1) / tiles_of_block + 1), block_threads, 0,
                stream()>>>(mask, n, counts.data_as<i64>());
  check_launch("nonzero");
  if (tiles == 1) return counts;
  const Array before = scratch_array(DType::int64, {tiles + 1});
  scan(false, counts, 0, false, before);
  return before;
}

// What count_nonzero() found last in this thread: those who ask how many there are ask next where.
struct Counted {
  const u8* mask = nullptr;
  std::int64_t n = 0;
  int device = 0;
  Array before;
};
thread_local Counted counted;

// What is not zero, as contiguous bytes on 16 of their own.
struct Mask {
  Array holder, before;
  const u8* data;
  std::int64_t n;

  explicit Mask(const Operand& in) : n(in.layout->size) {
    data = reinterpret_cast<const u8*>(in.data);
    if (!is_mask(in)) {
      holder = scratch_array(DType::bool_, in.layout->shape);
      copy(in, holder);
      data = holder.data_as<u8>();
    }
    const Counted last = std::exchange(counted, {});
    const bool known = data == last.mask && n == last.n && properties().index == last.device;
    before = known ? last.before : counted_tiles(data, n);
  }

  static bool is_mask(const Operand& in) {
    return in.dtype == DType::bool_ && in.layout->is_contiguous() && is_aligned_to(in.data, 16);
  }

  template <class Write>
  void run(Write write) const {
    const std::int64_t tiles = (n - 1) / select_tile + 1;
    select<<<static_cast<unsigned>(tiles), block_threads, 0, stream()>>>(
        data, n, before.data_as<i64>(), write);
    check_launch("nonzero");
  }
};

}  // namespace

std::int64_t count_nonzero(const Operand& in) {
  counted = {};
  if (in.layout->size == 0) return 0;
  if (Mask::is_mask(in)) {
    const auto* const mask = reinterpret_cast<const u8*>(in.data);
    const std::int64_t n = in.layout->size;
    counted = {mask, n, properties().index, counted_tiles(mask, n)};
    return downloaded<std::int64_t>(counted.before.data_as<i64>() + counted.before.size() - 1);
  }
  const Array result = scratch_array(DType::int64, {});
  std::vector<char> marks(static_cast<std::size_t>(in.layout->ndim()), 1);
  reduce(Reduction::count_nonzero, DType::int64, in,
         std::span<const bool>(reinterpret_cast<const bool*>(marks.data()), marks.size()), nullptr,
         result);
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
  Operand source = in;
  if (!in.layout->is_contiguous() || !has_aligned_elements(in)) {
    packed = scratch_array(in.dtype, in.layout->shape);
    copy(in, packed);
    source = packed;
  }
  const Mask selected(mask);
  dispatch_item(itemsize(out.dtype), [&](auto item) {
    using M = decltype(item);
    selected.run(
        WriteItem<M>{reinterpret_cast<const M*>(source.data), reinterpret_cast<M*>(out.data)});
  });
}

}  // namespace arrayx::cuda
