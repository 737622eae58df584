// Plan: the order in which a loop over several strided operands visits its index space. Computed
// once per call from the layouts alone, on the host, for either engine.
//   1. dimensions of size one are dropped;
//   2. dimensions that every operand walks backwards are flipped; dimensions are sorted by strides,
//      the last operand (the output) deciding first;
//   3. neighbours merge if for EVERY operand stride[i] == size[i+1] * stride[i+1];
//   4. the loop is classified.
// Strides are in elements of each operand.
#pragma once

#include <array>
#include <cstdint>

#include "layout.hpp"

namespace arrayx {

inline constexpr int plan_operands = 4;

enum class LoopKind : std::uint8_t {
  empty,       // no elements
  contiguous,  // one dimension, every operand of stride one or zero
  inner,       // the last dimension is the fastest one of every operand that moves
               // along it
  transposed,  // some operand is fastest in `tile_dim`, another in the last
               // dimension
};

struct Plan {
  int operands = 0;
  Dims size;                                       // outermost first; never empty unless kind is
  std::array<Dims, plan_operands> stride;          // per operand
  std::array<std::int64_t, plan_operands> base{};  // element offset to start at (after flips)
  LoopKind kind = LoopKind::empty;
  int tile_dim = -1;          // for transposed
  bool fits_32_bits = false;  // every element offset relative to base fits int32

  int ndim() const { return size.size(); }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::int64_t s : size) n *= s;
    return n;
  }
};

namespace detail {

inline std::int64_t magnitude(std::int64_t x) {
  return x < 0 ? -x : x;
}

// Whether dimension a should be outside dimension b: the first operand from the last backwards that
// moves along both decides by its strides.
inline bool is_outer(const Plan& p, int a, int b) {
  for (int k = p.operands - 1; k >= 0; --k) {
    const std::int64_t sa = magnitude(p.stride[k][a]), sb = magnitude(p.stride[k][b]);
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa > sb;
  }
  return false;
}

// Walks dimension i the other way.
inline void flip(Plan& p, int i) {
  for (int k = 0; k < p.operands; ++k) {
    p.base[k] += p.stride[k][i] * (p.size[i] - 1);
    p.stride[k][i] = -p.stride[k][i];
  }
}

// The dimension in which operand k moves least, the last one of equals; -1 if it stays.
inline int fastest_dim(const Plan& p, int k) {
  int fastest = -1;
  for (int i = p.ndim() - 1; i >= 0; --i) {
    const std::int64_t s = magnitude(p.stride[k][i]);
    if (s != 0 && (fastest < 0 || s < magnitude(p.stride[k][fastest]))) fastest = i;
  }
  return fastest;
}

// The dimension in which operand k is fastest if that is another than the last one, along which it
// moves, too: one that repeats there is no reason for tiles. -1 if not.
inline int dim_across(const Plan& p, int k) {
  const int last = p.ndim() - 1;
  if (p.stride[k][last] == 0) return -1;
  const int fastest = fastest_dim(p, k);
  return fastest == last ? -1 : fastest;
}

}  // namespace detail

// Whether operand k lies across the rows of the loop, which are its last dimension.
inline bool lies_across(const Plan& p, int k) {
  return detail::dim_across(p, k) >= 0;
}

// Flips dimensions so that operand k is walked forwards, whichever way others go; or, where each of
// its elements begins a row whose step is `row`, those in which it moves further than that as the
// row goes, so that memory is read on in one direction.
inline void walk_on(Plan& p, int k, std::int64_t row = 1) {
  for (int i = 0; i < p.ndim(); ++i) {
    const std::int64_t s = p.stride[k][i];
    const bool back = row < 0 && detail::magnitude(s) > -row;
    if (back ? s > 0 : s < 0) detail::flip(p, i);
  }
}

// Of a transposed loop: flips the dimensions that what moves least along them walks backwards, so
// that tiles are read and written forwards where they are contiguous.
inline void turn_tiles(Plan& p) {
  if (p.kind != LoopKind::transposed) return;
  for (int i = 0; i < p.ndim(); ++i) {
    std::int64_t least = 0;
    for (int k = 0; k < p.operands; ++k) {
      const std::int64_t s = p.stride[k][i], m = detail::magnitude(s), n = detail::magnitude(least);
      if (s != 0 && (least == 0 || m < n || (m == n && s > 0))) least = s;
    }
    if (least < 0) detail::flip(p, i);
  }
}

// Of a loop of rows of so many elements or more: flips the outer dimensions that most operands but
// the last one walk the other way than their rows, so that memory is read on in one direction.
inline void turn_rows(Plan& p, std::int64_t long_row) {
  const int inner = p.ndim() - 1;
  if (p.kind != LoopKind::inner || inner == 0 || p.size[inner] < long_row) return;
  for (int i = 0; i < inner; ++i) {
    int with = 0;
    for (int k = 0; k + 1 < p.operands; ++k) {
      const std::int64_t s = p.stride[k][inner] < 0 ? -p.stride[k][i] : p.stride[k][i];
      with += (s > 0) - (s < 0);
    }
    if (with < 0) detail::flip(p, i);
  }
}

// strides[k] belongs to operand k, all over one shape; null strides mean a repeated scalar.
// With `reorder` false the dimensions keep their order (for loops whose order has a meaning).
inline Plan make_plan(const Dims& shape, const Dims* const* strides, int operands,
                      bool reorder = true) {
  Plan p;
  p.operands = operands;
  const int ndim = shape.size(), room = std::max(ndim, 1);
  for (std::int64_t s : shape) {
    if (s == 0) return p;
  }
  p.size.resize_for_overwrite(room);
  std::int64_t* const size = p.size.data();
  std::int64_t* stride[plan_operands];
  for (int k = 0; k < operands; ++k) {
    p.stride[k].resize_for_overwrite(room);
    stride[k] = p.stride[k].data();
  }
  // 1. Drop dimensions of size one.
  int n = 0;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 1) continue;
    size[n] = shape[i];
    for (int k = 0; k < operands; ++k) stride[k][n] = strides[k] ? (*strides[k])[i] : 0;
    ++n;
  }
  if (reorder) {
    // 2. Flip, then insertion-sort (stable; ranks are small and mostly sorted already).
    for (int i = 0; i < n; ++i) {
      bool backwards = false, forwards = false;
      for (int k = 0; k < operands; ++k) {
        backwards |= stride[k][i] < 0;
        forwards |= stride[k][i] > 0;
      }
      if (backwards && !forwards) detail::flip(p, i);
    }
    for (int i = 1; i < n; ++i) {
      for (int j = i; j > 0 && detail::is_outer(p, j, j - 1); --j) {
        std::swap(size[j], size[j - 1]);
        for (int k = 0; k < operands; ++k) std::swap(stride[k][j], stride[k][j - 1]);
      }
    }
  }
  // 3. Merge neighbours, in place: `last` is the dimension being built.
  int last = 0;
  for (int i = 1; i < n; ++i) {
    bool merge = true;
    for (int k = 0; k < operands && merge; ++k) merge = stride[k][last] == size[i] * stride[k][i];
    if (!merge) ++last;
    size[last] = merge ? size[last] * size[i] : size[i];
    for (int k = 0; k < operands; ++k) stride[k][last] = stride[k][i];
  }
  if (n == 0) {  // a single element
    size[0] = 1;
    for (int k = 0; k < operands; ++k) stride[k][0] = 1;
  }
  n = last + 1;
  p.size.resize_for_overwrite(n);
  for (int k = 0; k < operands; ++k) p.stride[k].resize_for_overwrite(n);
  // 4. Classify.
  p.kind = LoopKind::inner;
  if (n == 1) {
    bool contiguous = true;
    for (int k = 0; k < operands; ++k) contiguous &= p.stride[k][0] == 0 || p.stride[k][0] == 1;
    if (contiguous) p.kind = LoopKind::contiguous;
  }
  for (int k = 0; k < operands && p.kind == LoopKind::inner; ++k) {
    p.tile_dim = detail::dim_across(p, k);
    if (p.tile_dim >= 0) p.kind = LoopKind::transposed;
  }
  std::int64_t farthest = 0;
  for (int k = 0; k < operands; ++k) {
    std::int64_t reach = 0;
    for (int i = 0; i < n; ++i) {
      std::int64_t step;
      if (__builtin_mul_overflow(detail::magnitude(p.stride[k][i]), p.size[i] - 1, &step) ||
          __builtin_add_overflow(reach, step, &reach)) {
        reach = INT64_MAX;
        break;
      }
    }
    farthest = std::max(farthest, reach);
  }
  p.fits_32_bits = farthest <= INT32_MAX;
  return p;
}

}  // namespace arrayx
