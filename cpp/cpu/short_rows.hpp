// Copies of rows of a few items that change places within them: reversed pixels, small matrices
// that are transposed, channels that are picked.
#pragma once

#include "../array/plan.hpp"

namespace arrayx::cpu {

// Bytes of a row, or rather of what it is picked from: what registers hold, and what a few do.
inline constexpr int register_row = 64, most_short_row = 256;

struct ShortRows {
  Plan rows;               // operands (in, out), in items; without the dimensions of a row
  std::int64_t count = 0;  // items of a row, which follow each other in the output
  std::int64_t place[most_short_row];  // of each in the input
};

// The rows of `most_bytes` that the innermost dimensions of a plan of (in, out) make; false where
// they make none.
bool find_short_rows(const Plan& plan, int itemsize, int most_bytes, ShortRows& found);

// False, with nothing done, where the processor has no shuffles for them, or there are few of them.
// Large results are written as small ones are: past the caches takes as long or longer.
bool copy_short_rows(const ShortRows& rows, const char* in, char* out, int itemsize);

}  // namespace arrayx::cpu
