// Cross products of vectors of three: one pass over the operands, which as products and differences
// of their components would be nine.
#include "../cpp/ops/elementwise.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

struct Crosses {
  Loop loop;         // over the vectors: a, b, out
  i64 component[3];  // bytes from one component to the next
};

template <class T>
__device__ __forceinline__ void cross_product(const T (&x)[3], const T (&y)[3], T (&z)[3]) {
  const auto difference = [&](int i, int j) {
    return ops::Subtract{}(ops::Multiply{}(x[i], y[j]), ops::Multiply{}(x[j], y[i]));
  };
  z[0] = difference(1, 2);
  z[1] = difference(2, 0);
  z[2] = difference(0, 1);
}

template <class T>
__global__ void __launch_bounds__(block_threads) cross_strided(const __grid_constant__ Crosses c) {
  wait_for_earlier();
  const u32 step = gridDim.x * block_threads;
  for (u32 i = blockIdx.x * block_threads + threadIdx.x; i < c.loop.count; i += step) {
    u32 at[1] = {i};
    i64 offset[1][3] = {};
    locate(c.loop, 0, at, offset);
    T x[3], y[3], z[3];
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      x[j] = *reinterpret_cast<const T*>(c.loop.data[0] + offset[0][0] + j * c.component[0]);
      y[j] = *reinterpret_cast<const T*>(c.loop.data[1] + offset[0][1] + j * c.component[1]);
    }
    cross_product(x, y, z);
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      *reinterpret_cast<T*>(c.loop.data[2] + offset[0][2] + j * c.component[2]) = z[j];
    }
  }
}

}  // namespace

bool cross(const Operand& a, const Operand& b, const Operand& out) {
  const Operand* const operands[] = {&a, &b, &out};
  if (compute_dtype(out.dtype) != out.dtype) return false;
  const int last = out.layout->ndim() - 1, size = itemsize(out.dtype);
  const int sizes[] = {size, size, size};
  Dims shape = out.layout->shape, strides[3];
  shape.pop_back();
  const Dims* each[3];
  Crosses c;
  for (int k = 0; k < 3; ++k) {
    if (!has_aligned_elements(*operands[k])) return false;
    strides[k] = operands[k]->layout->strides;
    c.component[k] = strides[k][last] * size;
    strides[k].pop_back();
    each[k] = &strides[k];
  }
  dispatch_numeric(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    in_parts(make_plan(shape, each, 3), [&](const Plan& plan) {
      for (int k = 0; k < 3; ++k) c.loop.data[k] = operands[k]->data + plan.base[k] * size;
      std::optional<Scratch> more;
      set_dims(c.loop, plan, sizes, more);
      c.loop.count = static_cast<u32>(plan.count());
      void* arguments[] = {&c};
      launch(reinterpret_cast<const void*>(&cross_strided<T>),
             grid_for(c.loop.count, block_threads), arguments, 0, "cross");
    });
  });
  return true;
}

}  // namespace arrayx::cuda
