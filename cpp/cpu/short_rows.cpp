#include "short_rows.hpp"

#include <algorithm>

#include "kernels.hpp"
#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

bool find_short_rows(const Plan& plan, int itemsize, int most_bytes, ShortRows& found) {
  const std::int64_t most = most_bytes / itemsize;
  int outer = plan.ndim();
  std::int64_t count = 1, reach = 1;
  found.place[0] = 0;
  for (; outer > 0 && plan.stride[1][outer - 1] == count; --outer) {
    const std::int64_t size = plan.size[outer - 1], stride = plan.stride[0][outer - 1];
    if (size > most / count || (size - 1) * detail::magnitude(stride) > most - reach) break;
    for (std::int64_t i = 1; i < size; ++i) {
      for (std::int64_t k = 0; k < count; ++k) {
        found.place[i * count + k] = found.place[k] + i * stride;
      }
    }
    count *= size;
    reach += (size - 1) * detail::magnitude(stride);
  }
  // What is repeated takes up to half as long again so.
  if (outer == 0 || outer == plan.ndim() || plan.stride[0].back() == 0) return false;
  // Runs are as fast without shuffles where a register holds one.
  const bool runs = outer == plan.ndim() - 1 && plan.stride[0][outer] == 1;
  if (runs && 2 * plan.stride[0][outer - 1] * itemsize > register_row) return false;
  found.count = count;
  found.rows.operands = 2;
  for (int d = 0; d < outer; ++d) {
    found.rows.size.push_back(plan.size[d]);
    for (int k = 0; k < 2; ++k) found.rows.stride[k].push_back(plan.stride[k][d]);
  }
  return true;
}

bool copy_short_rows(const ShortRows& rows, const char* in, char* out, int itemsize) {
  constexpr std::int64_t few_rows = 32, tile_bytes = 1 << 15;
  const Plan& plan = rows.rows;
  const int last = plan.ndim() - 1;
  const auto [least, most] = std::minmax_element(rows.place, rows.place + rows.count);
  const bool contiguous = plan.stride[0][last] == rows.count &&
                          std::is_sorted(rows.place, rows.place + rows.count) &&
                          *most - *least == rows.count - 1;
  if (plan.size[last] < few_rows || plan.stride[0][last] <= 0 || contiguous ||
      plan.stride[1][last] != rows.count || *most - *least >= most_short_row / itemsize) {
    return false;
  }
  ShortRowsJob job;
  job.in_row = plan.stride[0][last] * itemsize;
  job.reach = (*most - *least + 1) * itemsize;
  job.out_row = rows.count * itemsize;
  std::uint8_t from[most_short_row];
  for (std::int64_t k = 0; k < rows.count; ++k) {
    for (int b = 0; b < itemsize; ++b) {
      from[k * itemsize + b] = static_cast<std::uint8_t>((rows.place[k] - *least) * itemsize + b);
    }
  }
  job.from = from;
  const ShortRowsKernel kernel = kernels().short_rows(job);
  if (!kernel) return false;
  const Tiles tiles(plan, tile_bytes / job.out_row);
  const std::int64_t per_task =
      std::max<std::int64_t>(1, tile_bytes / (tiles.width() * job.out_row));
  const std::int64_t work = 2 * plan.count() * job.out_row;
  parallel_for((tiles.count() - 1) / per_task + 1, work, [&](std::int64_t task) {
    const std::int64_t end = std::min(tiles.count(), (task + 1) * per_task);
    for (std::int64_t t = task * per_task; t < end; ++t) {
      const Tile tile = tiles[t];
      ShortRowsJob part = job;
      part.in = in + (tile.offset[0] + *least) * itemsize;
      part.out = out + tile.offset[1] * itemsize;
      part.rows = tile.width;
      kernel(part);
    }
  });
  return true;
}

}  // namespace arrayx::cpu
