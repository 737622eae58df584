// Blocks that each have a part of something: the last one to finish goes on with what all have
// stored.
#pragma once

#include "../cpp/ops/config.hpp"

namespace arrayx::cuda {

// Whether this block is the last one of so many parts to come here, of which `done` is how many
// have: zero between launches, which are in order. If so, it sees what the others have stored.
__device__ __forceinline__ bool is_last_part(u32& done, u32 parts) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();  // of one thread, for all that the block has stored
    last = atomicInc(&done, parts - 1) == parts - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

}  // namespace arrayx::cuda
