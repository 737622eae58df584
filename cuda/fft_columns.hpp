// Fourier transforms along an axis with others behind it, which cuFFT is slow at: kernels of our
// own take a few neighbouring columns at a time, and never bring them to rows.
#pragma once

#include "engine.hpp"

namespace arrayx::cuda {

// One transform of every column of contiguous arrays [before, length, behind].
struct Columns {
  DType in, out;  // complex ones, or one of them real
  std::int64_t before = 1, length = 1, behind = 1;
  // Lengths along the axis in memory: missing points are zeros; of a real output's input those
  // after length / 2 are conjugates.
  std::int64_t given = 1, wanted = 1;
  // Of the output in memory, where it is longer than what is written of it.
  std::int64_t stored = 0;
  bool inverse = false;
  double scale = 1;
};

// Whether the kernels are made for such a transform, and were measured to be faster.
bool are_columns(const Columns& c);
// `in` may be `out`, but for real ones.
void transform_columns(const Columns& c, const char* in, char* out);

}  // namespace arrayx::cuda
