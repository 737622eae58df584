// The loop over strided operands, on the host: which kernel, and what it is told.
#include "loop.hpp"

#include <cuda.h>

#include <array>
#include <cstring>
#include <vector>

#include "rows.cuh"

namespace arrayx::cuda {

const KernelTable& kernels() {
  static const KernelTable* const table = [] {
    auto* t = new KernelTable;
    fill_unary(*t);
    fill_binary_integer(*t);
    fill_binary_floating(*t);
    fill_ternary(*t);
    fill_real_math(*t);
    fill_complex_math(*t);
    fill_copies(*t);
    fill_casts(*t);
    return t;
  }();
  return *table;
}

namespace {

// The kernels' name of a C++ type of `dispatch`.
template <class T>
struct kernel_type {
  using type = T;
};
template <>
struct kernel_type<bool> {
  using type = Boolean;
};
template <class T>
struct kernel_type<std::complex<T>> {
  using type = Complex<T>;
};

}  // namespace

Element converted_element(const Element& e, DType to) {
  Element result;
  result.dtype = to;
  dispatch(e.dtype, [&](auto from_example) {
    using From = typename kernel_type<decltype(from_example)>::type;
    memory_t<From> x;
    std::memcpy(&x, e.bytes, sizeof x);
    dispatch(to, [&](auto to_example) {
      using To = typename kernel_type<decltype(to_example)>::type;
      const memory_t<To> y = converted<To, From>(x);
      std::memcpy(result.bytes, &y, sizeof y);
    });
  });
  return result;
}

namespace {

Array scratch(DType dtype, const Layout& layout) {
  Array a;
  a.dtype = dtype;
  a.layout = layout;
  a.storage = allocate(checked_bytes(layout.size, itemsize(dtype)));
  return a;
}

}  // namespace

Array scratch_array(DType dtype, const Dims& shape) {
  return scratch(dtype, Layout::contiguous(shape));
}

Array scratch_in_order(DType dtype, const Layout& like) {
  return scratch(dtype, dense_like(like.shape, like.strides));
}

namespace {

// The driver's own launch, to which the runtime comes 0.15 µs later on an H100; null where it is
// not found.
using DriverLaunch = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);
DriverLaunch driver_launch() {
  static const DriverLaunch found = [] {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &entry, 12000, cudaEnableDefault,
                                         &result) != cudaSuccess) {
      cudaGetLastError();
    }
    return reinterpret_cast<DriverLaunch>(entry);
  }();
  return found;
}

// A kernel on the current device.
struct Known {
  const void* kernel = nullptr;
  int device = -1;
  cudaFunction_t function = nullptr;  // the driver's name of it; null where there is none
  bool waits = false;                 // as wait_for_earlier() does
  std::size_t shared_bytes = 0;       // its own
  bool may_have_more = false;         // beside them
  // Blocks that a multiprocessor has room for, by their threads and shared memory that were asked
  // for last: asking the runtime takes as long as a good part of a launch.
  int resident = 0, resident_threads = 0;
  std::size_t resident_bytes = 0;
};
Known& known(const void* kernel) {
  // A thread's first question makes the device's context the thread's own.
  static thread_local std::array<Known, 256> all;
  const int device = properties().index;
  Known& known = all[reinterpret_cast<std::uintptr_t>(kernel) / 16 % all.size()];
  if (known.kernel != kernel || known.device != device) {
    Known found{kernel, device};
    cudaFuncAttributes attributes;
    if (cudaGetFuncBySymbol(&found.function, kernel) == cudaSuccess &&
        cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess) {
      found.waits = properties().major >= 9 && attributes.ptxVersion >= 90;
      found.shared_bytes = attributes.sharedSizeBytes;
    } else {
      cudaGetLastError();
      found = {};
    }
    known = found;
  }
  return known;
}

}  // namespace

void allow_shared_bytes(const void* kernel, std::size_t bytes, const char* verb) {
  Known& of = known(kernel);
  if (bytes + of.shared_bytes <= properties().shared_bytes_per_block || of.may_have_more) return;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(properties().shared_bytes_opt_in - of.shared_bytes)),
        verb);
  of.may_have_more = true;
}

std::int64_t blocks_at_once(const void* kernel, dim3 threads, std::size_t shared_bytes,
                            const char* verb) {
  const int of_block = static_cast<int>(threads.x * threads.y * threads.z);
  Known& of = known(kernel);
  if (of.resident == 0 || of.resident_threads != of_block || of.resident_bytes != shared_bytes) {
    int blocks = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, of_block, shared_bytes),
          verb);
    of.resident = std::max(blocks, 1);
    of.resident_threads = of_block;
    of.resident_bytes = shared_bytes;
  }
  return std::int64_t{properties().multiprocessors} * of.resident;
}

void launch(const void* kernel, unsigned blocks, void** arguments, std::size_t shared_bytes,
            const char* verb, dim3 threads) {
  if (shared_bytes > 0) allow_shared_bytes(kernel, shared_bytes, verb);
  const Known& of = known(kernel);
  if (const DriverLaunch by_driver = driver_launch(); by_driver && of.function) {
    CUlaunchAttribute early{};
    early.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    early.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = threads.x;
    config.blockDimY = threads.y;
    config.blockDimZ = threads.z;
    config.sharedMemBytes = static_cast<unsigned>(shared_bytes);
    config.hStream = stream();
    config.attrs = &early;
    config.numAttrs = of.waits;
    if (by_driver(&config, of.function, arguments, nullptr) == CUDA_SUCCESS) return;
  }
  // The runtime says what is wrong, or sets it right.
  check(cudaLaunchKernel(kernel, dim3(blocks), threads, arguments, shared_bytes, stream()), verb);
}

Plan with_tiled_dims_last(Plan plan) {
  for (int d = plan.tile_dim; d < plan.ndim() - 2; ++d) {
    std::swap(plan.size[d], plan.size[d + 1]);
    for (int k = 0; k < plan.operands; ++k) std::swap(plan.stride[k][d], plan.stride[k][d + 1]);
  }
  return plan;
}

void set_dims(Loop& loop, const Plan& plan, const int* itemsize, std::optional<Scratch>& more) {
  const int n = plan.ndim();
  loop.ndim = n;
  std::vector<LoopDim> rest(std::max(0, n - Loop::inline_dims));
  for (int d = 0; d < n; ++d) {
    LoopDim& dim = d < Loop::inline_dims ? loop.dim[d] : rest[d - Loop::inline_dims];
    const int from = n - 1 - d;
    dim.size = Divisor(static_cast<u32>(plan.size[from]));
    for (int k = 0; k < plan.operands; ++k) dim.stride[k] = plan.stride[k][from] * itemsize[k];
  }
  if (n > Loop::inline_dims) {
    const std::size_t bytes = (n - Loop::inline_dims) * sizeof(LoopDim);
    more.emplace(bytes);
    // From pageable memory: the bytes are taken before the call returns.
    check(cudaMemcpyAsync(more->as(), rest.data(), bytes, cudaMemcpyHostToDevice, stream()),
          "cudaMemcpyAsync");
    loop.more = more->as<LoopDim>();
  }
}

namespace {

// Where tiles pay: both of their dimensions are long enough to fill a good part of one.
constexpr std::int64_t least_tiled = 8, least_in_packs = 16;
constexpr std::int64_t least_tile_items(int itemsize) {
  return itemsize <= 2 ? 256 : 144;
}
// What is turned in less is read from the L1 cache: a block's threads go over all of it.
constexpr std::int64_t least_turned_together = 1024;
constexpr std::int64_t most_interleaved = 7;
// Tiles of whole sectors pay where the output's rows have more granules than this, and packs of the
// input need not be shifted into place: on an H100 they take 0.77 to 0.97 of the time.
constexpr std::int64_t least_in_sectors = 16;
// Of a row of inputs that share memory, as much as the cache keeps beside what is written
// meanwhile.
constexpr std::int64_t most_column_bytes = 4 << 20;
// Where rows pay: below, too many of their packs are parts. Single bytes and pairs of them have
// more from packs.
constexpr int least_row_packs(int lanes) {
  return lanes >= 8 ? 5 : 8;
}
constexpr int rows_per_thread = 2;  // granules
// Whether joining rows into packs is faster, measured on an H100: short rows, which go one by one
// else, where packs have many elements or there is one operand; and long ones, whose stores are the
// wider for it.
constexpr bool pays_to_join(std::int64_t length, int lanes, int inputs, bool repeats) {
  const bool is_short = length < least_row_packs(lanes) * lanes;
  return is_short ? 4 * length >= 3 * lanes && (lanes >= 16 || inputs == 1)
                  : length >= 768 && !repeats;
}

// Of a thread's packs where the L2 cache has all operands; more of them gain nothing by turns.
constexpr u32 most_turns = 5;

// Chooses among the kernels: packs where the operands lie in them, rows where they lie in runs,
// tiles where operands are fastest in different dimensions, else element by element.
struct Runner {
  const ElementwiseKernels& kernels;
  const LoopOperand* operands;
  const char* verb;
  int count;  // of operands
  int size[plan_operands];

  Loop loop_for(const Plan& plan) const {
    Loop loop;
    for (int k = 0; k < count; ++k) {
      const LoopOperand& operand = operands[k];
      loop.dtype[k] = operand.memory;
      loop.access[k] = operand.memory == operand.kernel ? Access::direct : Access::converted;
      loop.data[k] = operand.data + plan.base[k] * size[k];
      if (operand.is_value) {
        loop.access[k] = Access::value;
        std::memcpy(loop.value[k], operand.data, sizeof loop.value[k]);
      }
    }
    return loop;
  }

  // How far apart the elements of an operand are along a dimension, in bytes.
  std::int64_t reach(const Plan& plan, int k, int d) const {
    return detail::magnitude(plan.stride[k][d]) * (plan.size[d] - 1) * size[k];
  }

  // Whether kernels can count so many items, and the bytes between their operands' elements.
  bool fits(const Plan& plan, std::int64_t items) const {
    if (items > most_counted) return false;
    for (int k = 0; k < count; ++k) {
      std::int64_t all = 0;
      for (int d = 0; d < plan.ndim(); ++d) all += reach(plan, k, d);
      if (all > INT32_MAX) return false;
    }
    return true;
  }

  // Two halves of the dimension that reaches farthest.
  template <class Run>
  void halve(const Plan& plan, Run&& run) const {
    int longest = 0;
    std::int64_t farthest = -1;
    for (int d = 0; d < plan.ndim(); ++d) {
      for (int k = 0; k < count; ++k) {
        if (reach(plan, k, d) <= farthest) continue;
        farthest = reach(plan, k, d);
        longest = d;
      }
    }
    Plan first = plan, second = plan;
    const std::int64_t half = plan.size[longest] / 2;
    const std::int64_t cut = half < 64 ? half : (half + 63) / 64 * 64;
    first.size[longest] = cut;
    second.size[longest] -= cut;
    for (int k = 0; k < count; ++k) second.base[k] += cut * plan.stride[k][longest];
    run(first);
    run(second);
  }

  // Whether every operand lies in aligned packs along the last dimension, or is repeated there.
  bool has_packs(const Plan& plan) const {
    const int inner = plan.ndim() - 1, lanes = kernels.lanes;
    if (plan.size[inner] % lanes != 0) return false;
    for (int k = 0; k < count; ++k) {
      if (operands[k].is_value) continue;
      const std::int64_t step = plan.stride[k][inner];
      if (operands[k].memory != operands[k].kernel && !kernels.packs_convert) return false;
      if (step == 0 && k < count - 1) continue;
      if (step != 1) return false;
      if (!is_aligned_to(operands[k].data + plan.base[k] * size[k], lanes * size[k])) return false;
      for (int d = 0; d < inner; ++d) {
        if (plan.stride[k][d] % lanes != 0) return false;
      }
    }
    return true;
  }

  void run_packs(const Plan& plan) const {
    const int inner = plan.ndim() - 1, lanes = kernels.lanes;
    if (!fits(plan, plan.count() / lanes)) {
      return halve(plan, [this](const Plan& p) { run(p); });
    }
    Plan packs = plan;
    packs.size[inner] /= lanes;
    Loop loop = loop_for(plan);
    loop.is_flat = inner == 0;
    for (int k = 0; k < count; ++k) {
      if (!operands[k].is_value) {
        loop.access[k] = plan.stride[k][inner] == 0 ? Access::repeated : Access::direct;
        packs.stride[k][inner] *= lanes;
      }
      loop.is_flat &= loop.access[k] == Access::direct;
    }
    std::optional<Scratch> more;
    set_dims(loop, packs, size, more);
    loop.count = static_cast<u32>(packs.count());
    void* arguments[] = {&loop};
    u32 each = kernels.pack_threads * kernels.packs_per_thread;
    if (loop.is_flat) {
      const DeviceProperties& device = properties();
      const u32 threads = device.multiprocessors * device.threads_per_multiprocessor;
      if (std::size_t{loop.count} * pack_bytes * count > device.l2_bytes) {
        if (kernels.packs_ask_ahead) loop.ahead = threads;
      } else if (kernels.packs_take_turns) {
        const u32 turns = (loop.count - 1) / threads + 1;
        if (turns <= most_turns) loop.turns = turns;
        each *= loop.turns;
      }
    }
    launch(kernels.packs, (loop.count - 1) / each + 1, arguments, 0, verb, kernels.pack_threads);
  }

  // Whether the output lies in rows, and every other operand once or twice as far apart, backwards,
  // or repeated there; three times where the kernel takes that and no tiles do.
  bool has_rows(const Plan& plan) const {
    const int inner = plan.ndim() - 1;
    if (plan.size[inner] < least_row_packs(kernels.lanes) * kernels.lanes ||
        plan.stride[count - 1][inner] != 1 ||
        !is_aligned_to(operands[count - 1].data, size[count - 1])) {
      return false;
    }
    return lies_in_rows(plan, plan.kind == LoopKind::transposed ? 2 : kernels.most_step);
  }
  bool lies_in_rows(const Plan& plan, std::int64_t most_step = 2) const {
    for (int k = 0; k < count; ++k) {
      if (operands[k].is_value) continue;
      const std::int64_t step = plan.stride[k][plan.ndim() - 1];
      if (operands[k].memory != operands[k].kernel && !kernels.packs_convert) return false;
      if (step < -1 || step > most_step) return false;
    }
    return true;
  }

  // Whether rows lie so, those of the output follow each other, and joining them pays.
  bool has_joined_rows(const Plan& plan) const {
    const int inner = plan.ndim() - 1, out = count - 1;
    bool repeats = false;
    for (int k = 0; k < out; ++k) repeats |= !operands[k].is_value && plan.stride[k][inner] == 0;
    if (inner < 1 || !pays_to_join(plan.size[inner], kernels.lanes, out, repeats) ||
        !is_aligned_to(operands[out].data + plan.base[out] * size[out],
                       kernels.lanes * size[out])) {
      return false;
    }
    std::int64_t items = 1;
    for (int d = inner; d >= 0; --d) {
      if (plan.stride[out][d] != items) return false;
      items *= plan.size[d];
    }
    return lies_in_rows(plan);
  }

  void run_joined_rows(const Plan& plan) const {
    const std::int64_t items = plan.count(), length = plan.size[plan.ndim() - 1];
    if (!fits(plan, items)) {
      return halve(plan, [this](const Plan& p) { run(p); });
    }
    Loop loop = loop_for(plan);
    std::optional<Scratch> more;
    set_dims(loop, plan, size, more);
    loop.count = static_cast<u32>((items - 1) / kernels.lanes + 1);
    Divisor row(static_cast<u32>(length));
    auto rows = static_cast<u32>(items / length);
    void* arguments[] = {&loop, &row, &rows};
    launch(kernels.joined_rows, grid_for(loop.count, block_threads), arguments, 0, verb);
  }

  void run_rows(const Plan& plan) const {
    const int inner = plan.ndim() - 1, lanes = kernels.lanes, out = count - 1;
    bool aligned =
        is_aligned_to(operands[out].data + plan.base[out] * size[out], lanes * size[out]);
    for (int d = 0; d < inner; ++d) aligned &= plan.stride[out][d] % lanes == 0;
    const std::int64_t granules = granules_of(plan.size[inner], lanes, aligned);
    const std::int64_t rows = plan.count() / plan.size[inner];
    if (!fits(plan, rows * granules) || plan.size[inner] > most_counted) {
      return halve(plan, [this](const Plan& p) { run(p); });
    }
    Loop loop = loop_for(plan);
    std::optional<Scratch> more;
    set_dims(loop, plan, size, more);
    loop.count = static_cast<u32>(rows * granules);
    Divisor per_row(static_cast<u32>(granules));
    auto length = static_cast<u32>(plan.size[inner]);
    u32 packs = 0;
    for (int k = 0; k < out; ++k) {
      const bool runs = !operands[k].is_value && plan.stride[k][inner] == 1;
      if (runs && is_aligned_as_output(plan, k)) packs |= u32{1} << k;
    }
    void* arguments[] = {&loop, &per_row, &length, &packs};
    launch(kernels.rows, grid_for(loop.count, block_threads * rows_per_thread), arguments, 0, verb);
  }

  void run_strided(const Plan& plan) const {
    if (!fits(plan, plan.count())) {
      return halve(plan, [this](const Plan& p) { run_strided(p); });
    }
    Loop loop = loop_for(plan);
    std::optional<Scratch> more;
    set_dims(loop, plan, size, more);
    loop.count = static_cast<u32>(plan.count());
    void* arguments[] = {&loop};
    launch(kernels.strided, grid_for(loop.count, block_threads * kernels.elements_per_thread),
           arguments, 0, verb);
  }

  // Whether a tile holds operand k; `moved` has the tiled dimensions last.
  bool is_staged(const Plan& moved, int k) const {
    const std::int64_t along = detail::magnitude(moved.stride[k][moved.ndim() - 1]);
    const std::int64_t over = detail::magnitude(moved.stride[k][moved.ndim() - 2]);
    return !operands[k].is_value && over != 0 && along > over;
  }

  // Whether tiles can be moved in packs.
  bool has_pack_tiles(const Plan& moved) const {
    const int inner = moved.ndim() - 1, out = count - 1;
    int staged = 0;
    if (!kernels.pack_tiles || moved.size[inner] < least_in_packs ||
        moved.size[inner - 1] < least_in_packs || moved.stride[out][inner] != 1 ||
        !is_aligned_to(operands[out].data, size[out])) {
      return false;
    }
    for (int k = 0; k < out; ++k) {
      if (operands[k].is_value) continue;
      const bool is = is_staged(moved, k);
      staged += is;
      const std::int64_t step = moved.stride[k][is ? inner - 1 : inner];
      if (step != 1 && step != 0) return false;
    }
    // Several tiles of rows that begin anywhere in packs gain nothing where items are large.
    return staged < 2 || size[out] <= 2 || has_aligned_packs(moved, out, inner);
  }

  // Whether packs of operand k along dimension d are aligned …
  bool has_aligned_packs(const Plan& plan, int k, int d, int bytes = pack_bytes) const {
    return has_aligned_rows(plan, k, d, operands[k].data, size[k], bytes);
  }
  // … and, along the last one, where the output's are; of items of another size, packs of as many.
  bool is_aligned_as_output(const Plan& plan, int k) const {
    const int inner = plan.ndim() - 1, out = count - 1, lanes = kernels.lanes;
    const auto lead = [&](int j) {  // bytes of the pack before the first element
      const auto start =
          reinterpret_cast<std::uintptr_t>(operands[j].data + plan.base[j] * size[j]);
      return static_cast<int>(start % static_cast<std::uintptr_t>(lanes * size[j]));
    };
    bool aligned = lead(k) * size[out] == lead(out) * size[k];
    for (int e = 0; e < inner; ++e) {
      aligned &= (plan.stride[k][e] - plan.stride[out][e]) % lanes == 0;
    }
    return aligned;
  }

  void run_pack_tiles(const Plan& plan, const Plan& moved) const {
    const int inner = moved.ndim() - 1, out = count - 1;
    u32 aligned = 0;
    std::size_t staged = 0;
    bool staged_aligned = true;
    Loop loop = loop_for(moved);
    for (int k = 0; k < count; ++k) {
      if (operands[k].is_value) continue;
      bool is = false;
      if (k == out) {
        is = has_aligned_packs(moved, k, inner);
      } else if (is_staged(moved, k)) {
        loop.access[k] = Access::staged;
        ++staged;
        is = has_aligned_packs(moved, k, inner - 1);
        staged_aligned &= is;
      } else {
        is = is_aligned_as_output(moved, k);
      }
      if (is) aligned |= u32{1} << k;
    }
    const int lanes = kernels.lanes, packs = kernels.pack_tile_packs;
    const bool leads = !(aligned >> out & 1);
    std::int64_t granules = granules_of(moved.size[inner], lanes, !leads);
    const void* kernel = kernels.pack_tiles;
    int shared = leads;  // granules that a tile and the next one both hold
    if (kernels.sector_tiles && staged_aligned && granules > least_in_sectors &&
        !has_aligned_packs(moved, out, inner, sector_bytes)) {
      kernel = kernels.sector_tiles;
      shared = sector_granules;
      ++granules;
    }
    const std::int64_t tiles0 = (granules - 1) / (kernels.pack_tile_granules - shared) + 1;
    const std::int64_t tiles1 = (moved.size[inner - 1] - 1) / (packs * lanes) + 1;
    const std::int64_t tiles =
        moved.count() / moved.size[inner] / moved.size[inner - 1] * tiles0 * tiles1;
    if (!fits(plan, tiles)) {
      return halve(plan, [this](const Plan& p) { run(p); });
    }
    std::optional<Scratch> more;
    set_dims(loop, moved, size, more);
    loop.count = static_cast<u32>(tiles);
    Divisor d0(static_cast<u32>(tiles0)), d1(static_cast<u32>(tiles1));
    // Neighbours are at work together along the shorter side, so that all of a row is.
    bool crosswise = tiles1 < tiles0;
    void* arguments[] = {&loop, &d0, &d1, &aligned, &crosswise};
    launch(kernel, loop.count, arguments,
           staged * kernels.pack_tile_granules * lanes * packs * pack_bytes, verb);
  }

  // Whether so little is turned that tiles would be mostly empty, or that a cache has whole rows of
  // the input for a loop over elements: on an H200 copies of 8 × 8 float32 take 0.09 of the time of
  // tiles so, of 16 × 16 0.3, x + y.mT of 8 × 8 bytes 0.05.
  bool turns_little(const Plan& plan) const {
    std::int64_t together = 1;  // elements of the output, from the dimension across on
    for (int d = plan.tile_dim; d < plan.ndim(); ++d) together *= plan.size[d];
    const std::int64_t of_tile = plan.size[plan.ndim() - 1] * plan.size[plan.tile_dim];
    return together < least_turned_together || of_tile < least_tile_items(size[count - 1]);
  }

  // False where tiles do not pay.
  bool run_tiles(const Plan& plan) const {
    const int inner = plan.ndim() - 1, across = plan.tile_dim;
    if (plan.size[inner] < least_tiled || plan.size[across] < least_tiled || turns_little(plan)) {
      return false;
    }
    for (int k = 0; k < count; ++k) {
      if (operands[k].memory != operands[k].kernel) return false;
    }
    const Plan moved = with_tiled_dims_last(plan);
    if (has_pack_tiles(moved)) {
      run_pack_tiles(plan, moved);
      return true;
    }
    const int edge = kernels.tile_edge;
    const std::int64_t tiles0 = (plan.size[inner] - 1) / edge + 1;
    const std::int64_t tiles1 = (plan.size[across] - 1) / edge + 1;
    const std::int64_t tiles =
        plan.count() / plan.size[inner] / plan.size[across] * tiles0 * tiles1;
    if (!fits(plan, tiles)) {
      halve(plan, [this](const Plan& p) { run(p); });
      return true;
    }
    Loop loop = loop_for(moved);
    std::size_t shared_bytes = 0;
    for (int k = 0; k < count - 1; ++k) {
      if (!is_staged(moved, k)) continue;
      loop.access[k] = Access::staged;
      shared_bytes += kernels.tile_bytes[k > 0];
    }
    std::optional<Scratch> more;
    set_dims(loop, moved, size, more);
    loop.count = static_cast<u32>(tiles);
    Divisor d0(static_cast<u32>(tiles0)), d1(static_cast<u32>(tiles1));
    void* arguments[] = {&loop, &d0, &d1};
    launch(kernels.tiles, loop.count, arguments, shared_bytes, verb);
    return true;
  }

  // Whether an input is finer along a short dimension than along the last one, such as the colours
  // of pixels that become planes: that dimension goes inside runs of a block's threads, so that
  // what one read brings serves the next. Single bytes have more from rows.
  bool run_interleaved(const Plan& plan) const {
    const int inner = plan.ndim() - 1;
    const std::int64_t length = plan.size[inner];
    if (length < 4 * block_threads || size[0] < 4) return false;
    for (int d = 0; d < inner; ++d) {
      if (plan.size[d] > most_interleaved) continue;
      bool finer = false;
      for (int k = 0; k < count - 1; ++k) {
        const std::int64_t step = detail::magnitude(plan.stride[k][d]);
        finer |= step != 0 && step < detail::magnitude(plan.stride[k][inner]);
      }
      if (!finer) continue;
      const std::int64_t whole = length / block_threads * block_threads;
      Plan runs = plan, rest = plan;
      runs.size.push_back(block_threads);
      runs.size[inner] = plan.size[d];
      for (int e = d; e + 1 < inner; ++e) runs.size[e] = plan.size[e + 1];
      runs.size[inner - 1] = whole / block_threads;
      for (int k = 0; k < count; ++k) {
        const std::int64_t step = plan.stride[k][inner];
        runs.stride[k].push_back(step);
        runs.stride[k][inner] = plan.stride[k][d];
        for (int e = d; e + 1 < inner; ++e) runs.stride[k][e] = plan.stride[k][e + 1];
        runs.stride[k][inner - 1] = step * block_threads;
        rest.base[k] += step * whole;
      }
      run_strided(runs);
      rest.size[inner] -= whole;
      if (rest.size[inner] > 0) run_strided(rest);
      return true;
    }
    return false;
  }

  // Inputs that lie in the same memory, many rows of which are equally far apart, as x[1:] and
  // x[:-1] do: column by column, so that the cache still has a row when it is read once more.
  std::optional<Plan> in_columns(const Plan& plan) const {
    if (plan.ndim() != 1 || count < 3 || operands[0].is_value || operands[1].is_value) return {};
    const std::int64_t n = plan.size[0];
    const std::int64_t apart = detail::magnitude((operands[1].data + plan.base[1] * size[1]) -
                                                 (operands[0].data + plan.base[0] * size[0]));
    const std::int64_t row = apart / size[0];
    if (apart <= most_column_bytes || 2 * row > n || n % row != 0) return {};
    std::int64_t parts = 1;
    while (apart > parts * most_column_bytes && row % (2 * parts * kernels.lanes) == 0) parts *= 2;
    if (parts == 1) return {};
    Plan columns = plan;
    columns.size = {parts, n / row, row / parts};
    for (int k = 0; k < count; ++k) {
      const std::int64_t step = plan.stride[k][0];
      columns.stride[k] = {step * (row / parts), step * row, step};
    }
    return columns;
  }

  // Inputs that are all repeated along a dimension, inside which they have more than the cache
  // keeps, as those of tile(x, (2, 2)) do: dimensions go outside it, the last of them in part,
  // until it has that little inside.
  std::optional<Plan> with_repeats_inside(const Plan& plan) const {
    const int inner = plan.ndim() - 1;
    const auto repeats = [&](int d) {
      bool all = true;
      for (int k = 0; k < count - 1; ++k) all &= plan.stride[k][d] == 0;
      return all;
    };
    const auto bytes_inside = [&](int d) {  // of the inputs, in the dimensions behind this one
      std::int64_t all = 0;
      for (int k = 0; k < count - 1; ++k) {
        if (operands[k].is_value) continue;
        std::int64_t bytes = size[k];
        for (int e = d + 1; e <= inner; ++e) {
          if (plan.stride[k][e] != 0) bytes *= plan.size[e];
        }
        all += bytes;
      }
      return all;
    };
    if (plan.kind == LoopKind::transposed) return {};
    for (int d = 0; d < inner; ++d) {
      if (!repeats(d)) continue;
      int last = d;  // of those that go outside
      while (last < inner && bytes_inside(last) > most_column_bytes) ++last;
      if (last == d) continue;
      std::int64_t parts = 1;
      const std::int64_t least = last == inner ? kernels.lanes : 1;
      while (bytes_inside(last - 1) > parts * most_column_bytes &&
             plan.size[last] % (2 * parts * least) == 0) {
        parts *= 2;
      }
      if (last == inner && parts == 1) --last;
      while (last > d && repeats(last)) --last;
      if (last == d) continue;
      Plan moved = plan;
      moved.size.clear();
      for (int k = 0; k < count; ++k) moved.stride[k].clear();
      const auto add = [&](int e, std::int64_t n, std::int64_t step) {
        moved.size.push_back(n);
        for (int k = 0; k < count; ++k) moved.stride[k].push_back(plan.stride[k][e] * step);
      };
      for (int e = 0; e < last; ++e) {
        if (e != d) add(e, plan.size[e], 1);
      }
      const std::int64_t rest = parts > 1 ? plan.size[last] / parts : 1;
      add(last, plan.size[last] / rest, rest);
      add(d, plan.size[d], 1);
      if (rest > 1) add(last, rest, 1);
      for (int e = last + 1; e <= inner; ++e) add(e, plan.size[e], 1);
      return moved;
    }
    return {};
  }

  void run(const Plan& plan) const {
    if (const auto columns = in_columns(plan)) return run(*columns);
    const bool packs = kernels.packs && has_packs(plan);
    const bool joined = !packs && kernels.joined_rows && has_joined_rows(plan);
    if (packs || (!joined && kernels.rows && has_rows(plan))) {
      if (const auto moved = with_repeats_inside(plan)) return run(*moved);
    }
    if (packs) return run_packs(plan);
    if (plan.kind == LoopKind::transposed && run_interleaved(plan)) return;
    if (joined) return run_joined_rows(plan);
    if (kernels.rows && has_rows(plan)) return run_rows(plan);
    if (plan.kind == LoopKind::transposed && run_tiles(plan)) return;
    run_strided(plan);
  }
};

}  // namespace

void run_loop(const ElementwiseKernels& kernels, const Plan& plan, const LoopOperand* operands,
              const char* verb) {
  if (plan.kind == LoopKind::empty) return;
  Runner runner{kernels, operands, verb, plan.operands, {}};
  for (int k = 0; k < plan.operands; ++k) runner.size[k] = itemsize(operands[k].memory);
  runner.run(plan);
}

}  // namespace arrayx::cuda
