// Every view function of cpp/array/layout.hpp against brute force: a layout is turned into the list
// of storage positions of its elements in row-major order, and a view's list must be the one that
// the definition of the view picks from the list of what it was made from.
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "../../cpp/array/layout.hpp"
#include "check.hpp"

namespace arrayx {
namespace {

using Positions = std::vector<std::int64_t>;

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();

// Calls `visit` with every index tuple of a shape, in row-major order.
void for_each_index(const Dims& shape, const std::function<void(const Dims&)>& visit) {
  for (std::int64_t n : shape) {
    if (n == 0) return;
  }
  Dims index(shape.size(), 0);
  while (true) {
    visit(index);
    int axis = shape.size() - 1;
    while (axis >= 0 && ++index[axis] == shape[axis]) index[axis--] = 0;
    if (axis < 0) return;
  }
}

std::int64_t position(const Layout& l, const Dims& index) {
  std::int64_t at = l.offset;
  for (int i = 0; i < l.ndim(); ++i) at += index[i] * l.strides[i];
  return at;
}

Positions positions(const Layout& l) {
  Positions out;
  for_each_index(l.shape, [&](const Dims& index) { out.push_back(position(l, index)); });
  return out;
}

// What any layout owes: as many strides as sizes, and the right product.
void check_form(const Layout& l) {
  CHECK(l.shape.size() == l.strides.size());
  std::int64_t product = 1;
  for (std::int64_t n : l.shape) product *= n;
  CHECK(l.size == product);
}

void check_view(const Layout& view, const Dims& shape, const Positions& expected) {
  check_form(view);
  CHECK(view.shape == shape);
  CHECK(positions(view) == expected);
}

// All shapes of up to `max_ndim` dimensions with sizes 0 … max_size.
std::vector<Dims> shapes_up_to(int max_ndim, std::int64_t max_size) {
  std::vector<Dims> out{Dims{}};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].size() == max_ndim) continue;
    for (std::int64_t n = 0; n <= max_size; ++n) {
      Dims longer = out[i];
      longer.push_back(n);
      out.push_back(longer);
    }
  }
  return out;
}

std::vector<Dims> permutations(int n) {
  std::vector<Dims> out;
  Dims axes(n);
  std::iota(axes.begin(), axes.end(), 0);
  do out.push_back(axes);
  while (std::next_permutation(axes.begin(), axes.end()));
  return out;
}

// Layouts of every kind: contiguous, permuted, gapped, backwards and broadcast, with an offset.
std::vector<Layout> layouts_up_to(int max_ndim, std::int64_t max_size) {
  std::vector<Layout> out;
  for (const Dims& shape : shapes_up_to(max_ndim, max_size)) {
    const int ndim = shape.size();
    for (const Dims& order : permutations(ndim)) {
      // One base-4 digit per dimension says how it is walked.
      for (int code = 0; code < 1 << (2 * ndim); ++code) {
        Layout l;
        l.shape = shape;
        l.strides = Dims(ndim, 0);
        l.offset = 1000;
        l.size = checked_size(shape);
        std::int64_t step = 1;
        for (int i = ndim - 1; i >= 0; --i) {
          const int axis = static_cast<int>(order[i]);
          const int kind = code >> (2 * i) & 3;  // forwards, backwards, gapped, repeated
          const std::int64_t stride = kind == 2 ? 2 * step : step;
          l.strides[axis] = kind == 1 ? -stride : kind == 3 ? 0 : stride;
          if (kind != 3) step = stride * std::max<std::int64_t>(shape[axis], 1);
        }
        out.push_back(l);
      }
    }
  }
  return out;
}

// ---- Dims -----------------------------------------------------------------------------------

TEST(dims_keeps_its_items_across_the_inline_capacity) {
  Dims d;
  std::vector<std::int64_t> mirror;
  for (int i = 0; i < 4 * Dims::inline_capacity; ++i) {
    d.insert(i / 2, i);
    mirror.insert(mirror.begin() + i / 2, i);
    const Dims copy = d;
    Dims source = d;
    const Dims moved = std::move(source);
    Dims assigned{1, 2, 3};
    assigned = moved;
    CHECK(std::equal(mirror.begin(), mirror.end(), d.begin(), d.end()));
    CHECK(copy == d && moved == d && assigned == d);
  }
  while (!d.empty()) {
    d.erase(d.size() / 3);
    mirror.erase(mirror.begin() + static_cast<int>(mirror.size()) / 3);
    CHECK(std::equal(mirror.begin(), mirror.end(), d.begin(), d.end()));
  }
}

TEST(dims_survives_assignment_to_itself_and_growing_after_a_move) {
  Dims d(20, 7);
  Dims& alias = d;
  d = alias;
  CHECK(d == Dims(20, 7));
  Dims taken = std::move(d);
  d = Dims{};
  d.push_back(1);
  CHECK(d == Dims{1} && taken == Dims(20, 7));
}

// ---- sizes ----------------------------------------------------------------------------------

TEST(size_computations_refuse_to_overflow) {
  CHECK(checked_size({}) == 1);
  CHECK(checked_size({int64_max}) == int64_max);
  CHECK(checked_size({int64_max, 0, int64_max}) == 0);
  CHECK(checked_size({std::int64_t{1} << 31, std::int64_t{1} << 31}) == std::int64_t{1} << 62);
  CHECK_RAISES(checked_size({std::int64_t{1} << 32, std::int64_t{1} << 31}), "more than 2**63 - 1");
  CHECK_RAISES(checked_size({int64_max, 2, int64_max, 2}), "more than 2**63 - 1");
  CHECK(checked_bytes(int64_max / 8, 8) == int64_max / 8 * 8);
  CHECK_RAISES(checked_bytes(int64_max / 8 + 1, 8), "exceed 2**63 - 1 bytes");
  CHECK_RAISES(check_shape({3, -1}), "negative size");
  CHECK_RAISES(check_shape(Dims(max_ndim + 1, 1)), "at most");
  // Zero-size layouts of huge sizes: no stride may be computed by wrapping around.
  for (const Dims& shape : {Dims{int64_max, 0, int64_max}, Dims{0, int64_max, int64_max, 3}}) {
    CHECK(Layout::contiguous(shape).size == 0);
  }
}

TEST(axes_are_normalised_like_python_indices) {
  for (int ndim = 0; ndim < 5; ++ndim) {
    for (std::int64_t axis = -7; axis < 7; ++axis) {
      if (axis < -ndim || axis >= ndim) {
        CHECK_RAISES(normalize_axis(axis, ndim), "is out of range");
      } else {
        CHECK(normalize_axis(axis, ndim) == (axis + ndim) % ndim);
      }
    }
  }
  CHECK(normalize_axes({-1, 0}, 3) == (Dims{2, 0}));
  CHECK_RAISES(normalize_axes({1, -2}, 3), "twice");
  CHECK_RAISES(normalize_axis(int64_min, 3), "is out of range");
}

// ---- questions ------------------------------------------------------------------------------

TEST(contiguous_layouts_count_upwards) {
  for (const Dims& shape : shapes_up_to(4, 3)) {
    const Layout l = Layout::contiguous(shape);
    Positions expected(static_cast<std::size_t>(checked_size(shape)));
    std::iota(expected.begin(), expected.end(), 0);
    check_view(l, shape, expected);
    CHECK(l.is_contiguous());
  }
}

TEST(questions_agree_with_enumeration) {
  for (const Layout& l : layouts_up_to(3, 3)) {
    Positions at = positions(l);
    bool consecutive = true;
    for (std::size_t i = 1; i < at.size(); ++i) consecutive &= at[i] == at[i - 1] + 1;
    CHECK(l.is_contiguous() == consecutive);
    if (at.empty()) continue;

    std::int64_t lowest, highest;
    l.span(lowest, highest);
    std::sort(at.begin(), at.end());
    CHECK(lowest == at.front() && highest == at.back());

    const bool repeats = std::adjacent_find(at.begin(), at.end()) != at.end();
    const bool block = !repeats && highest - lowest + 1 == static_cast<std::int64_t>(at.size());
    bool forwards = true;
    for (int i = 0; i < l.ndim(); ++i) forwards &= l.shape[i] == 1 || l.strides[i] > 0;
    // has_repeats may say yes too often (interleaved dimensions), never too rarely.
    if (repeats) CHECK(l.has_repeats());
    if (block && !l.has_repeats()) CHECK(l.is_dense() == forwards);
    if (l.is_dense()) CHECK(block && forwards);
  }
}

TEST(has_repeats_is_exact_for_views_of_contiguous_arrays) {
  for (const Layout& l : layouts_up_to(3, 3)) {
    Positions at = positions(l);
    std::sort(at.begin(), at.end());
    CHECK(l.has_repeats() == (std::adjacent_find(at.begin(), at.end()) != at.end()));
  }
}

TEST(spans_meet_when_any_byte_is_shared) {
  std::vector<Layout> some;
  for (const Dims& shape : shapes_up_to(1, 3)) {
    for (std::int64_t offset = 8; offset < 14; ++offset) {
      Layout l = Layout::contiguous(shape);
      l.offset = offset;
      some.push_back(l);
      if (shape.size() == 1 && shape[0] > 1) some.push_back(flip_axis(l, 0));
    }
  }
  for (const Layout& a : some) {
    for (const Layout& b : some) {
      for (const auto& [a_size, b_size] : {std::pair{1, 1}, {4, 4}, {4, 8}, {8, 1}}) {
        bool meet = false;
        for (std::int64_t p : positions(a)) {
          for (std::int64_t q : positions(b)) {
            meet |= p * a_size < (q + 1) * b_size && q * b_size < (p + 1) * a_size;
          }
        }
        CHECK(spans_meet(a, a_size, b, b_size) == meet);
      }
    }
  }
}

// ---- views ----------------------------------------------------------------------------------

TEST(integer_indices_pick_a_hyperplane) {
  for (const Layout& l : layouts_up_to(3, 2)) {
    for (int axis = 0; axis < l.ndim(); ++axis) {
      const std::int64_t n = l.shape[axis];
      for (std::int64_t index = -n; index < n; ++index) {
        Positions expected;
        for_each_index(l.shape, [&](const Dims& i) {
          if (i[axis] == (index + n) % n) expected.push_back(position(l, i));
        });
        Dims shape = l.shape;
        shape.erase(axis);
        check_view(index_axis(l, axis, index), shape, expected);
      }
      for (std::int64_t index : {-n - 1, n, int64_min, int64_max}) {
        CHECK_RAISES(index_axis(l, axis, index), "is out of bounds");
      }
    }
  }
}

// Python's own rule (PySlice_AdjustIndices), by walking: the indices a slice names.
Positions sliced_indices(std::int64_t n, bool has_start, std::int64_t start, bool has_stop,
                         std::int64_t stop, std::int64_t step) {
  const auto resolve = [n](std::int64_t i) { return i < 0 ? i + n : i; };
  Positions out;
  if (step > 0) {
    const std::int64_t last = has_stop ? std::min(resolve(stop), n) : n;
    for (std::int64_t i = has_start ? std::max<std::int64_t>(resolve(start), 0) : 0; i < last;) {
      out.push_back(i);
      if (step > last - i) break;
      i += step;
    }
  } else {
    const std::int64_t last = has_stop ? std::max<std::int64_t>(resolve(stop), -1) : -1;
    for (std::int64_t i = has_start ? std::min(resolve(start), n - 1) : n - 1; i > last;) {
      out.push_back(i);
      if (step < last - i) break;
      i += step;
    }
  }
  return out;
}

TEST(slices_name_the_indices_that_python_names) {
  const Positions bounds{int64_min, int64_min + 1, -9,           -5, -4, -3, -2, -1, 0, 1, 2, 3, 4,
                         5,         int64_max,     int64_max - 1};
  const Positions steps{int64_min, int64_min + 1, -4, -3, -2, -1, 1, 2, 3, 4, int64_max};
  for (std::int64_t n = 0; n <= 5; ++n) {
    Layout l = Layout::contiguous({2, n, 2});
    l.strides = {7, -100, 3};
    l.offset = 1000;
    for (std::int64_t start : bounds) {
      for (std::int64_t stop : bounds) {
        for (std::int64_t step : steps) {
          for (int given = 0; given < 4; ++given) {
            const bool has_start = given & 1, has_stop = given & 2;
            const Positions named = sliced_indices(n, has_start, start, has_stop, stop, step);
            const SliceRange r = normalize_slice(n, has_start, start, has_stop, stop, step);
            CHECK(r.count == static_cast<std::int64_t>(named.size()));
            const Layout view = slice_axis(l, 1, r.start, r.step, r.count);
            Positions expected;
            for (std::int64_t i = 0; i < 2; ++i) {
              for (std::int64_t j : named) {
                for (std::int64_t k = 0; k < 2; ++k) expected.push_back(position(l, {i, j, k}));
              }
            }
            check_view(view, {2, r.count, 2}, expected);
          }
        }
      }
    }
  }
  CHECK_RAISES(normalize_slice(3, false, 0, false, 0, 0), "step cannot be zero");
}

TEST(permute_reorders_dimensions) {
  for (const Layout& l : layouts_up_to(3, 2)) {
    for (const Dims& axes : permutations(l.ndim())) {
      Dims shape;
      for (std::int64_t a : axes) shape.push_back(l.shape[static_cast<int>(a)]);
      Positions expected;
      for_each_index(shape, [&](const Dims& index) {
        Dims original(l.ndim());
        for (int i = 0; i < l.ndim(); ++i) original[static_cast<int>(axes[i])] = index[i];
        expected.push_back(position(l, original));
      });
      check_view(permute(l, axes), shape, expected);
    }
  }
}

TEST(insert_axis_changes_no_element) {
  for (const Layout& l : layouts_up_to(3, 2)) {
    for (int axis = 0; axis <= l.ndim(); ++axis) {
      Dims shape = l.shape;
      shape.insert(axis, 1);
      check_view(insert_axis(l, axis), shape, positions(l));
    }
  }
}

TEST(flip_walks_a_dimension_backwards) {
  for (const Layout& l : layouts_up_to(3, 3)) {
    for (int axis = 0; axis < l.ndim(); ++axis) {
      Positions expected;
      for_each_index(l.shape, [&](const Dims& index) {
        Dims mirrored = index;
        mirrored[axis] = l.shape[axis] - 1 - index[axis];
        expected.push_back(position(l, mirrored));
      });
      check_view(flip_axis(l, axis), l.shape, expected);
    }
  }
}

// The standard's rule by its words: aligned at the right, equal or one of them 1.
bool common_shape(const Dims& a, const Dims& b, Dims& out) {
  out.clear();
  const int ndim = std::max(a.size(), b.size());
  for (int i = 0; i < ndim; ++i) {
    const int from_right = ndim - i;
    const std::int64_t n = from_right <= a.size() ? a[a.size() - from_right] : 1;
    const std::int64_t m = from_right <= b.size() ? b[b.size() - from_right] : 1;
    if (n != m && n != 1 && m != 1) return false;
    out.push_back(n == 1 ? m : n);
  }
  return true;
}

TEST(broadcast_shapes_follows_the_standard) {
  const std::vector<Dims> shapes = shapes_up_to(3, 3);
  for (const Dims& a : shapes) {
    for (const Dims& b : shapes) {
      Dims expected;
      if (common_shape(a, b, expected)) {
        CHECK(broadcast_shapes(a, b) == expected);
      } else {
        CHECK_RAISES(broadcast_shapes(a, b), "cannot be broadcast");
      }
    }
  }
}

TEST(broadcast_to_repeats_elements) {
  const std::vector<Dims> targets = shapes_up_to(3, 3);
  for (const Layout& l : layouts_up_to(2, 3)) {
    for (const Dims& shape : targets) {
      Dims common;
      if (!common_shape(l.shape, shape, common) || !(common == shape)) {
        CHECK_RAISES(broadcast_to(l, shape), "does not broadcast to");
        continue;
      }
      Positions expected;
      for_each_index(shape, [&](const Dims& index) {
        Dims original(l.ndim());
        for (int i = 0; i < l.ndim(); ++i) {
          original[i] = l.shape[i] == 1 ? 0 : index[i + shape.size() - l.ndim()];
        }
        expected.push_back(position(l, original));
      });
      check_view(broadcast_to(l, shape), shape, expected);
    }
  }
}

TEST(diagonal_picks_equal_indices) {
  for (const Layout& l : layouts_up_to(3, 3)) {
    for (int row = 0; row < l.ndim(); ++row) {
      for (int column = 0; column < l.ndim(); ++column) {
        if (row == column) continue;
        for (std::int64_t offset :
             {int64_min, -int64_max, std::int64_t{-4}, std::int64_t{-3}, std::int64_t{-2},
              std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3},
              std::int64_t{4}, int64_max}) {
          Dims kept;  // the dimensions that stay, in order
          Dims shape;
          for (int i = 0; i < l.ndim(); ++i) {
            if (i == row || i == column) continue;
            kept.push_back(i);
            shape.push_back(l.shape[i]);
          }
          Positions rows;
          for (std::int64_t i = 0; i < l.shape[row]; ++i) {
            for (std::int64_t j = 0; j < l.shape[column]; ++j) {
              if (j - i == offset) rows.push_back(i);
            }
          }
          shape.push_back(static_cast<std::int64_t>(rows.size()));
          Positions expected;
          for_each_index(shape, [&](const Dims& index) {
            Dims original(l.ndim());
            for (int i = 0; i < kept.size(); ++i) original[static_cast<int>(kept[i])] = index[i];
            original[row] = rows[static_cast<std::size_t>(index.back())];
            original[column] = original[row] + offset;
            expected.push_back(position(l, original));
          });
          check_view(diagonal(l, row, column, offset), shape, expected);
        }
      }
    }
  }
}

// Whether strides exist that give `shape` these positions; size-one dimensions are free.
bool some_strides_fit(const Dims& shape, const Positions& at) {
  if (at.empty()) return true;
  Layout l = Layout::contiguous(shape);
  std::int64_t block = static_cast<std::int64_t>(at.size());
  for (int i = 0; i < shape.size(); ++i) {
    block /= shape[i];
    if (shape[i] > 1) l.strides[i] = at[static_cast<std::size_t>(block)] - at[0];
  }
  l.offset = at[0];
  return positions(l) == at;
}

TEST(reshape_is_a_view_exactly_when_strides_exist) {
  const std::vector<Dims> shapes = shapes_up_to(4, 6);
  int views = 0, copies = 0;
  for (const Layout& l : layouts_up_to(3, 4)) {
    const Positions at = positions(l);
    for (const Dims& shape : shapes) {
      if (checked_size(shape) != l.size) continue;
      if (l.size == 0 && shape.size() > 2) continue;
      Layout out;
      const bool is_view = reshape(l, shape, out);
      CHECK(is_view == some_strides_fit(shape, at));
      if (is_view) check_view(out, shape, at);
      ++(is_view ? views : copies);
    }
  }
  CHECK(views > 1000 && copies > 1000);  // the enumeration reaches both answers
}

}  // namespace
}  // namespace arrayx
