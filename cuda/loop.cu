// The loop over strided operands, on the host: which kernel, and what it is told.
#include "loop.hpp"

#include <cstring>
#include <vector>

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

Array scratch_in_order(DType dtype, const Layout& like) {
  const int n = like.ndim();
  Dims order(n), shape(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return detail::magnitude(like.strides[static_cast<int>(a)]) >
           detail::magnitude(like.strides[static_cast<int>(b)]);
  });
  for (int i = 0; i < n; ++i) shape[i] = like.shape[static_cast<int>(order[i])];
  Array a = scratch_array(dtype, shape);
  const Dims strides = a.layout.strides;
  a.layout.shape = like.shape;
  for (int i = 0; i < n; ++i) a.layout.strides[static_cast<int>(order[i])] = strides[i];
  return a;
}

Array scratch_array(DType dtype, const Dims& shape) {
  Array a;
  a.dtype = dtype;
  a.layout = Layout::contiguous(shape);
  a.storage = allocate(checked_bytes(a.layout.size, itemsize(dtype)));
  return a;
}

void launch(const void* kernel, unsigned blocks, void** arguments, std::size_t shared_bytes,
            const char* verb) {
  check(cudaLaunchKernel(kernel, dim3(blocks), dim3(block_threads), arguments, shared_bytes,
                         stream()),
        verb);
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
constexpr std::int64_t least_tiled = 8;
constexpr std::int64_t least_with_tail = 1 << 16;

// Chooses among the kernels: packs where the operands lie in them, tiles where operands are fastest
// in different dimensions, else element by element.
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

  // Two halves of the longest dimension.
  template <class Run>
  void halve(const Plan& plan, Run&& run) const {
    int longest = 0;
    for (int d = 1; d < plan.ndim(); ++d) {
      if (plan.size[d] > plan.size[longest]) longest = d;
    }
    Plan first = plan, second = plan;
    const std::int64_t cut = (plan.size[longest] / 2 + 63) / 64 * 64;
    first.size[longest] = cut;
    second.size[longest] -= cut;
    for (int k = 0; k < count; ++k) second.base[k] += cut * plan.stride[k][longest];
    run(first);
    run(second);
  }

  // Whether every operand lies in aligned packs along the last dimension, or is repeated there.
  bool has_packs(const Plan& plan) const {
    const int inner = plan.ndim() - 1, lanes = kernels.lanes;
    // A tail takes a launch of its own, which few elements do not repay.
    const bool has_tail = plan.size[inner] % lanes != 0;
    if (has_tail && (inner > 0 || plan.size[inner] < least_with_tail)) return false;
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
    if (plan.count() / lanes > most_counted) {
      return halve(plan, [this](const Plan& p) { run(p); });
    }
    Plan packs = plan;
    packs.size[inner] /= lanes;
    Loop loop = loop_for(plan);
    for (int k = 0; k < count; ++k) {
      if (operands[k].is_value) continue;
      loop.access[k] = plan.stride[k][inner] == 0 ? Access::repeated : Access::direct;
      packs.stride[k][inner] *= lanes;
    }
    std::optional<Scratch> more;
    set_dims(loop, packs, size, more);
    loop.count = static_cast<u32>(packs.count());
    void* arguments[] = {&loop};
    launch(kernels.packs, blocks_for(loop.count, block_threads * kernels.packs_per_thread),
           arguments, 0, verb);
    const std::int64_t done = packs.size[inner] * lanes;
    if (done < plan.size[inner]) {  // the tail of a single row
      Plan tail = plan;
      tail.size[inner] -= done;
      for (int k = 0; k < count; ++k) tail.base[k] += done * plan.stride[k][inner];
      run_strided(tail);
    }
  }

  void run_strided(const Plan& plan) const {
    if (plan.count() > most_counted || plan.size.back() > most_counted) {
      return halve(plan, [this](const Plan& p) { run_strided(p); });
    }
    Loop loop = loop_for(plan);
    std::optional<Scratch> more;
    set_dims(loop, plan, size, more);
    loop.count = static_cast<u32>(plan.count());
    void* arguments[] = {&loop};
    launch(kernels.strided, blocks_for(loop.count, block_threads * kernels.elements_per_thread),
           arguments, 0, verb);
  }

  // Whether a copy can be made of words of small items; `moved` has the tiled dimensions last.
  bool has_words(const Plan& moved) const {
    if (!kernels.words || operands[0].is_value) return false;
    const int inner = moved.ndim() - 1, per = 4 / size[0];
    const auto is_word = [&](int k, int d) { return moved.stride[k][d] % per == 0; };
    bool fits = moved.stride[0][inner - 1] == 1 && moved.stride[1][inner] == 1 &&
                moved.size[inner] % per == 0 && moved.size[inner - 1] % per == 0 &&
                is_word(0, inner) && is_word(1, inner - 1);
    for (int k = 0; k < 2; ++k) {
      fits &= is_aligned_to(operands[k].data + moved.base[k] * size[k], 4);
      for (int d = 0; d < inner - 1; ++d) fits &= is_word(k, d);
    }
    return fits;
  }

  // False where tiles do not pay.
  bool run_tiles(const Plan& plan) const {
    const int inner = plan.ndim() - 1, across = plan.tile_dim;
    if (plan.size[inner] < least_tiled || plan.size[across] < least_tiled) return false;
    for (int k = 0; k < count; ++k) {
      if (operands[k].memory != operands[k].kernel) return false;
    }
    Plan moved = plan;  // the tiled dimension beside the last one
    for (int d = across; d < inner - 1; ++d) {
      std::swap(moved.size[d], moved.size[d + 1]);
      for (int k = 0; k < count; ++k) std::swap(moved.stride[k][d], moved.stride[k][d + 1]);
    }
    const bool by_words = has_words(moved);
    const int edge = by_words ? 128 / size[0] : kernels.tile_edge;
    const std::int64_t tiles0 = (plan.size[inner] - 1) / edge + 1;
    const std::int64_t tiles1 = (plan.size[across] - 1) / edge + 1;
    const std::int64_t tiles =
        plan.count() / plan.size[inner] / plan.size[across] * tiles0 * tiles1;
    if (tiles > most_counted || plan.size[inner] > most_counted ||
        plan.size[across] > most_counted) {
      halve(plan, [this](const Plan& p) { run(p); });
      return true;
    }
    Loop loop = loop_for(moved);
    std::size_t shared_bytes = 0;
    for (int k = 0; k < count - 1 && !by_words; ++k) {
      const std::int64_t along = detail::magnitude(moved.stride[k][inner]);
      const std::int64_t over = detail::magnitude(moved.stride[k][inner - 1]);
      if (operands[k].is_value || over == 0 || along <= over) continue;
      loop.access[k] = Access::staged;
      shared_bytes += kernels.tile_bytes[k > 0];
    }
    std::optional<Scratch> more;
    set_dims(loop, moved, size, more);
    loop.count = static_cast<u32>(tiles);
    Divisor d0(static_cast<u32>(tiles0)), d1(static_cast<u32>(tiles1));
    void* arguments[] = {&loop, &d0, &d1};
    const void* const kernel = by_words ? kernels.words : kernels.tiles;
    if (shared_bytes > properties().shared_bytes_per_block) {
      check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(shared_bytes)),
            "cudaFuncSetAttribute");
    }
    launch(kernel, loop.count, arguments, shared_bytes, verb);
    return true;
  }

  void run(const Plan& plan) const {
    if (kernels.packs && has_packs(plan)) return run_packs(plan);
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
