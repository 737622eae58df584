// Tiles: the kept index space of a reduction or scan, cut along its innermost dimension. The cut
// depends on the shape alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "../array/plan.hpp"

namespace arrayx::cpu {

struct Tile {
  std::int64_t offset[plan_operands];  // elements of each operand, without the plan's base
  std::int64_t position;               // of the first element, counted in the plan's order
  std::int64_t width;
};

class Tiles {
 public:
  Tiles(const Plan& plan, std::int64_t width)
      : plan_(plan),
        inner_(plan.size.back()),
        width_(std::clamp<std::int64_t>(width, 1, inner_)),
        per_row_((inner_ - 1) / width_ + 1),
        count_(plan.count() / inner_ * per_row_) {}

  std::int64_t count() const { return count_; }
  std::int64_t width() const { return width_; }

  Tile operator[](std::int64_t t) const {
    Tile tile;
    std::int64_t row = t / per_row_;
    const std::int64_t first = t % per_row_ * width_;
    tile.position = row * inner_ + first;
    tile.width = std::min(width_, inner_ - first);
    const int last = plan_.ndim() - 1;
    for (int k = 0; k < plan_.operands; ++k) tile.offset[k] = first * plan_.stride[k][last];
    for (int i = last - 1; i >= 0 && row > 0; --i) {
      const std::int64_t at = row % plan_.size[i];
      row /= plan_.size[i];
      for (int k = 0; k < plan_.operands; ++k) tile.offset[k] += at * plan_.stride[k][i];
    }
    return tile;
  }

 private:
  const Plan& plan_;
  std::int64_t inner_, width_, per_row_, count_;
};

// Scratch of the calling thread, 64-byte aligned, kept for its next call. One user of a slot at a
// time.
template <int Slot = 0>
inline char* thread_scratch(std::size_t bytes) {
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  thread_local std::unique_ptr<char, Free> block;
  thread_local std::size_t size = 0;
  if (size < bytes) {
    size = 0;
    block.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    if (!block) raise(ErrorKind::memory, "no memory for ", bytes, " bytes of scratch");
    size = bytes;
  }
  return block.get();
}

}  // namespace arrayx::cpu
