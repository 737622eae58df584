// Kernels of products.
#include "reduce_arithmetic.cuh"

namespace arrayx::cuda {

void fill_products(ReduceTable& table) {
  fill_arithmetic<ops::Prod, NoBytes>(table, Reduction::prod);
}

}  // namespace arrayx::cuda
