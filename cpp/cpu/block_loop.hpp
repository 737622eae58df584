// BlockLoop: runs a contiguous kernel over strided, cast, repeated or transposed operands. The
// index space of a Plan is cut into blocks that fit the L1 cache; an operand that is not contiguous
// and of the kernel's dtype there is packed (and cast) into scratch first, results are unpacked
// likewise.
#pragma once

#include <optional>

#include "../operands.hpp"
#include "caches.hpp"
#include "engine.hpp"
#include "kernels.hpp"
#include "prefetch.hpp"

namespace arrayx::cpu {

// Bytes that go past the caches at a time. The kernel writes them to L1 while the last ones leave
// and the next operands arrive: x + y then runs at the speed of a loop written for streaming;
// pieces of 2 KiB take a sixth longer.
inline constexpr std::int64_t streamed_bytes = 1024;

// Copies a box of `sizes` items between strides (in bytes); the innermost pair of dimensions goes
// to the copy kernel of the item size.
void copy_box(const char* in, const Dims& in_strides, char* out, const Dims& out_strides,
              const Dims& sizes, int itemsize);

// One operand as the kernel sees it.
struct LoopOperand {
  char* data;    // first element, after the plan's flips
  DType memory;  // dtype in memory
  DType kernel;  // dtype the kernel reads or writes
};

// kernel(in, out, n) over every element of the plan; operands in the plan's order, the output last.
// `arithmetic`: the kernel's own time for an element, in bytes that could be moved meanwhile. `op`:
// the operation that the kernel is of, which may have others for rows, and that write past the
// caches; `streaming`: such a one of a kernel of no operation, or null.
using BlockKernel = ElementwiseKernel;
void run_blocks(const Plan& plan, const LoopOperand* operands, BlockKernel kernel,
                std::int64_t arithmetic, std::optional<Op> op, StreamingKernel streaming = nullptr);

// out = in, both of `itemsize` bytes; the plan's operands are (in, out). `whole`: bytes of a result
// of which this is a part, which decide whether a part that is not small goes past the caches.
void run_copy(const Plan& plan, const char* in, char* out, int itemsize, std::int64_t whole = 0);

}  // namespace arrayx::cpu
