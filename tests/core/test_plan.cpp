// The plan visits exactly the index tuples of a nested loop over the shape, for random operands;
// and merges, flips and classifies what it should.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "check.hpp"
#include "cpp/array/plan.hpp"

using arrayx::Dims;
using arrayx::LoopKind;
using arrayx::Plan;

namespace {

using Offsets = std::array<std::int64_t, 3>;

std::vector<Offsets> visit(const Dims& size, const std::array<Dims, 3>& stride, Offsets base,
                           int operands) {
  std::vector<Offsets> seen;
  Dims index(size.size());
  for (std::int64_t s : size) {
    if (s == 0) return seen;
  }
  while (true) {
    Offsets at = base;
    for (int k = 0; k < operands; ++k) {
      for (int d = 0; d < size.size(); ++d) at[k] += index[d] * stride[k][d];
    }
    seen.push_back(at);
    int d = size.size() - 1;
    for (; d >= 0 && ++index[d] == size[d]; --d) index[d] = 0;
    if (d < 0) return seen;
  }
}

Plan plan_for(const Dims& shape, const std::array<Dims, 3>& strides, int operands) {
  const Dims* pointers[3] = {&strides[0], &strides[1], &strides[2]};
  return arrayx::make_plan(shape, pointers, operands);
}

}  // namespace

TEST(plan_visits_what_nested_loops_visit) {
  std::mt19937 random(20250101);
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 20000; ++round) {
    const int ndim = pick(0, 5), operands = pick(1, 3);
    Dims shape(ndim);
    for (std::int64_t& s : shape) s = pick(0, 19) == 0 ? 0 : pick(1, 4);
    std::array<Dims, 3> strides;
    for (int k = 0; k < operands; ++k) {
      // A dense layout in a random order of the dimensions, some reversed, repeated or gapped.
      std::vector<int> order(ndim);
      for (int d = 0; d < ndim; ++d) order[d] = d;
      if (pick(0, 1)) std::shuffle(order.begin(), order.end(), random);
      strides[k] = Dims(ndim);
      std::int64_t step = 1;
      for (int i = ndim - 1; i >= 0; --i) {
        const int d = order[i];
        strides[k][d] = step;
        step *= std::max<std::int64_t>(shape[d], 1) + (pick(0, 4) == 0 ? 1 : 0);
        if (pick(0, 3) == 0) strides[k][d] = -strides[k][d];
        if (pick(0, 5) == 0) strides[k][d] = 0;
      }
    }
    const Plan plan = plan_for(shape, strides, operands);
    auto expected = visit(shape, strides, {}, operands);
    if (plan.kind == LoopKind::empty) {
      CHECK(expected.empty());
      continue;
    }
    Offsets base{};
    std::array<Dims, 3> plan_strides;
    for (int k = 0; k < operands; ++k) {
      base[k] = plan.base[k];
      plan_strides[k] = plan.stride[k];
    }
    auto seen = visit(plan.size, plan_strides, base, operands);
    std::sort(expected.begin(), expected.end());
    std::sort(seen.begin(), seen.end());
    CHECK(seen == expected);
    for (int d = 0; d < plan.ndim(); ++d) CHECK(plan.size[d] > 1 || plan.ndim() == 1);
    for (int d = 0; d + 1 < plan.ndim(); ++d) {
      bool could_merge = true;
      for (int k = 0; k < operands; ++k) {
        could_merge &= plan.stride[k][d] == plan.size[d + 1] * plan.stride[k][d + 1];
      }
      CHECK(!could_merge);
    }
  }
}

TEST(contiguous_operands_of_any_rank_become_one_dimension) {
  const Dims shape(20, 2), strides = arrayx::Layout::contiguous(shape).strides;
  const Plan plan = plan_for(shape, {strides, strides, strides}, 3);
  CHECK(plan.ndim() == 1);
  CHECK(plan.size[0] == 1 << 20);
  CHECK(plan.kind == LoopKind::contiguous);
}

TEST(a_common_permutation_is_undone) {
  const Plan plan = plan_for({3, 4, 5}, {Dims{1, 3, 12}, Dims{1, 3, 12}, {}}, 2);
  CHECK(plan.ndim() == 1);
  CHECK(plan.kind == LoopKind::contiguous);
}

TEST(common_reversal_is_undone_and_a_single_one_is_not) {
  const Plan both = plan_for({10}, {Dims{-1}, Dims{-1}, {}}, 2);
  CHECK(both.kind == LoopKind::contiguous);
  CHECK(both.base[0] == -9);
  const Plan one = plan_for({10}, {Dims{-1}, Dims{1}, {}}, 2);
  CHECK(one.kind == LoopKind::inner);
  CHECK(one.stride[0][0] == -1);
}

TEST(a_transposed_operand_asks_for_tiles) {
  const Plan plan = plan_for({64, 48}, {Dims{1, 64}, Dims{48, 1}, {}}, 2);
  CHECK(plan.kind == LoopKind::transposed);
  CHECK(plan.tile_dim == 0);
}

TEST(what_is_contiguous_along_a_tile_is_walked_forwards) {
  Plan plan = plan_for({64, 48}, {Dims{-1, 64}, Dims{48, 1}, {}}, 2);
  turn_tiles(plan);
  CHECK(plan.stride[0][0] == 1 && plan.base[0] == -63);
  CHECK(plan.stride[1][0] == -48 && plan.base[1] == 63 * 48);
  CHECK(plan.stride[0][1] == 64 && plan.stride[1][1] == 1);
  Plan rows = plan_for({10}, {Dims{-1}, Dims{1}, {}}, 2);
  turn_tiles(rows);  // no tiles
  CHECK(rows.stride[0][0] == -1 && rows.base[0] == 0);
}

TEST(outer_dimensions_are_walked_as_the_rows_of_what_is_read) {
  Plan back = plan_for({4, 10}, {Dims{-10, 1}, Dims{10, 1}, {}}, 2);
  turn_rows(back, 10);
  CHECK(back.stride[0][0] == 10 && back.stride[0][1] == 1 && back.base[0] == -30);
  CHECK(back.stride[1][0] == -10 && back.stride[1][1] == 1 && back.base[1] == 30);
  Plan mirrored = plan_for({4, 10}, {Dims{10, -1}, Dims{10, 1}, {}}, 2);
  turn_rows(mirrored, 10);
  CHECK(mirrored.stride[0][0] == -10 && mirrored.stride[0][1] == -1 && mirrored.base[0] == 30);
  CHECK(mirrored.stride[1][0] == -10 && mirrored.base[1] == 30);
  Plan brief = plan_for({4, 10}, {Dims{-10, 1}, Dims{10, 1}, {}}, 2);
  turn_rows(brief, 11);
  CHECK(brief.stride[0][0] == -10 && brief.base[0] == 0);
  Plan divided = plan_for({4, 10}, {Dims{-10, 1}, Dims{10, 1}, Dims{20, 1}}, 3);
  turn_rows(divided, 1);  // as many one way as the other
  CHECK(divided.stride[0][0] == -10 && divided.stride[1][0] == 10);
}

TEST(one_operand_is_walked_forwards_whichever_way_others_go) {
  Plan plan = plan_for({4, 10}, {Dims{20, 1}, Dims{-10, -2}, {}}, 2);
  walk_on(plan, 1);
  CHECK(plan.stride[1][0] == 10 && plan.stride[1][1] == 2 && plan.base[1] == -48);
  CHECK(plan.stride[0][0] == -20 && plan.stride[0][1] == -1 && plan.base[0] == 69);
}

TEST(what_begins_rows_that_lie_backwards_is_walked_as_they_go) {
  Plan plan = plan_for({4, 5, 2}, {Dims{10, 2, 1}, Dims{-80, 16, 1}, {}}, 2);
  walk_on(plan, 1, -2);
  CHECK(plan.stride[1][0] == -80 && plan.stride[1][1] == -16 && plan.stride[1][2] == 1);
  CHECK(plan.stride[0][0] == 10 && plan.stride[0][1] == -2 && plan.base[1] == 64);
}

TEST(a_repeated_row_is_no_transpose) {
  const Plan plan = plan_for({64, 48}, {Dims{1, 0}, Dims{48, 1}, {}}, 2);
  CHECK(plan.kind == LoopKind::inner);
}

TEST(index_width_follows_the_reach) {
  CHECK(plan_for({2}, {Dims{1}, {}, {}}, 1).fits_32_bits);
  CHECK(!plan_for({3, 2}, {Dims{INT64_C(1) << 31, 1}, {}, {}}, 1).fits_32_bits);
  CHECK(!plan_for({INT64_C(1) << 40, 5}, {Dims{INT64_C(1) << 40, 3}, {}, {}}, 1).fits_32_bits);
}
