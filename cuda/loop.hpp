// The host's side of the kernels over strided operands: from a Plan to launches.
#pragma once

#include <cstring>
#include <optional>

#include "../cpp/operands.hpp"
#include "engine.hpp"
#include "kernels/tables.cuh"
#include "loops.cuh"

namespace arrayx::cuda {

// f(item of the size) for an item size of 1, 2, 4, 8 or 16; on the device, too.
template <class F>
constexpr auto dispatch_item(int itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(u8{});
    case 2:
      return f(u16{});
    case 4:
      return f(u32{});
    case 8:
      return f(u64{});
    default:
      return f(Complex<f64>{});
  }
}

// f(T{}) with the type that kernels have for one of the four dtypes of linear algebra.
template <class F>
auto for_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(f32{});
    case DType::float64:
      return f(f64{});
    case DType::complex64:
      return f(Complex<f32>{});
    default:
      return f(Complex<f64>{});
  }
}

// f(T{}) with the type that kernels of sums of products have for a dtype but bool and float16:
// integers modulo 2^n, without a sign.
template <class F>
auto dispatch_numeric(DType dtype, F&& f) {
  return is_floating(dtype) ? for_floating(dtype, f) : dispatch_item(itemsize(dtype), f);
}

// Elements, packs or tiles that one launch counts in 32 bits; what has more is cut in two.
inline constexpr std::int64_t most_counted = std::int64_t{1} << 30;

// What memory is read by at least, however little of it is asked for.
inline constexpr int sector_bytes = 32;

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

// One value of another dtype.
Element converted_element(const Element& e, DType to);

// An operand of which the kernel wants elements of `kernel`.
struct LoopOperand {
  char* data;  // first element, after the plan's flips
  DType memory, kernel;
  bool is_value;  // `data` is on the host, of dtype `kernel`, on 16 bytes of its own
};

// Runs kernels over a plan, the output last. Operands are aligned to their items.
void run_loop(const ElementwiseKernels& kernels, const Plan& plan, const LoopOperand* operands,
              const char* verb);

// The dimensions of a plan as a Loop holds them, the last one first, in bytes; of operand k,
// itemsize[k]. `more` keeps what does not fit a Loop.
void set_dims(Loop& loop, const Plan& plan, const int* itemsize, std::optional<Scratch>& more);

// The plan with `tile_dim` moved beside the last dimension.
Plan with_tiled_dims_last(Plan plan);

// Blocks for so many items, `each` of them to a block.
inline unsigned blocks_for(std::int64_t items, std::int64_t each) {
  const std::int64_t most = std::int64_t{properties().multiprocessors} * 32;
  return static_cast<unsigned>(std::min((items - 1) / each + 1, most));
}

// The same for loops whose blocks have nothing to begin with: on an H100 as many blocks as there is
// work for are 2 to 4 % faster than few that go round.
inline unsigned grid_for(std::int64_t items, std::int64_t each) {
  const std::int64_t most = std::int64_t{properties().multiprocessors} * 1024;
  return static_cast<unsigned>(std::min((items - 1) / each + 1, most));
}

// Launches a kernel that begins with wait_for_earlier(): devices that can launch it while the one
// before ends. On an H100 that costs the host 2.1 µs; other launches cost 2.5.
void launch(const void* kernel, unsigned blocks, void** arguments, std::size_t shared_bytes,
            const char* verb, dim3 threads = dim3(block_threads));
// Lets a kernel have so many bytes of shared memory beside its own, if those are more than it may
// have unasked: all that there are, since other threads launch it, too, with other needs. launch()
// does it.
void allow_shared_bytes(const void* kernel, std::size_t bytes, const char* verb);

// How many blocks of a kernel the device has room for at a time.
std::int64_t blocks_at_once(const void* kernel, dim3 threads, std::size_t shared_bytes,
                            const char* verb);

// run(loop) with every element of a plan.
template <class Run>
void with_loops(const Plan& plan, const Operand* const* operands, Run&& run) {
  in_parts(plan, [&](const Plan& part) {
    Loop loop;
    int size[plan_operands];
    for (int k = 0; k < part.operands; ++k) {
      size[k] = itemsize(operands[k]->dtype);
      loop.data[k] = operands[k]->data + part.base[k] * size[k];
      loop.dtype[k] = operands[k]->dtype;
      loop.access[k] = Access::direct;
      if (operands[k]->host_scalar) {
        loop.access[k] = Access::value;
        std::memcpy(loop.value[k], operands[k]->data, static_cast<std::size_t>(size[k]));
      }
    }
    std::optional<Scratch> more;
    set_dims(loop, part, size, more);
    loop.count = static_cast<u32>(part.count());
    run(loop);
  });
}
// … that kernel(loop, further…) goes over.
template <int E = elements_of_thread, class... Further>
void launch_over(const void* kernel, const Plan& plan, const Operand* const* operands,
                 const char* verb, Further... further) {
  with_loops(plan, operands, [&](Loop& loop) {
    void* arguments[] = {&loop, &further...};
    launch(kernel, grid_for(loop.count, block_threads * E), arguments, 0, verb);
  });
}

inline bool is_aligned_to(const void* p, std::int64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(p) % static_cast<std::uintptr_t>(bytes) == 0;
}
// Whether operand k's rows along dimension d begin at so many bytes each; `data` is the operand's,
// of items of so many bytes.
inline bool has_aligned_rows(const Plan& plan, int k, int d, const char* data, int size,
                             std::int64_t bytes = pack_bytes) {
  bool aligned = is_aligned_to(data + plan.base[k] * size, bytes);
  for (int e = 0; e < plan.ndim(); ++e) aligned &= e == d || plan.stride[k][e] * size % bytes == 0;
  return aligned;
}
// Whether a kernel can read elements one by one: they are aligned, complex numbers like their
// parts.
inline bool has_aligned_elements(const Operand& a) {
  return a.host_scalar || is_aligned_to(a.data, std::min(8, itemsize(a.dtype)));
}

// The layout of the equal parts of which items consist, such as bytes: one dimension more.
inline Layout parts_of(const Layout& items, int parts) {
  Layout layout = items;
  for (std::int64_t& s : layout.strides) s *= parts;
  layout.offset *= parts;
  layout.shape.push_back(parts);
  layout.strides.push_back(1);
  layout.size = checked_size(layout.shape);
  return layout;
}

// Elements [start, start + count) along an axis of an operand; `layout` holds the part's.
inline Operand part_along(const Operand& a, int axis, std::int64_t start, std::int64_t count,
                          Layout& layout) {
  layout = slice_axis(*a.layout, axis, 0, 1, count);
  Operand part = a;
  part.data += start * a.layout->strides[axis] * itemsize(a.dtype);
  part.layout = &layout;
  return part;
}

// A contiguous array of this engine; one without gaps whose dimensions lie in the order of
// another's.
Array scratch_array(DType dtype, const Dims& shape);
Array scratch_in_order(DType dtype, const Layout& like);

}  // namespace arrayx::cuda
