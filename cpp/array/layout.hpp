// Layout: shape, strides and offset, counted in elements, and every question about them. Pure
// functions: nothing here touches memory or a device. Every size computation checks overflow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <ostream>
#include <type_traits>

#include "error.hpp"

namespace arrayx {

// A vector of int64 that keeps up to `inline_capacity` items inside itself.
class Dims {
 public:
  static constexpr int inline_capacity = 6;

  // Not defaulted: then `Dims{}` would zero the items, a twentieth of what zeros((4, 4)) takes.
  Dims() {}
  explicit Dims(int n, std::int64_t fill = 0) {
    resize_for_overwrite(n);
    std::fill(begin(), end(), fill);
  }
  Dims(std::initializer_list<std::int64_t> items) { assign(items.begin(), items.end()); }
  template <class It>
    requires(!std::is_integral_v<It>)
  Dims(It first, It last) {
    assign(first, last);
  }
  Dims(const Dims& other) { copy(other); }
  Dims(Dims&& other) noexcept { take(other); }
  Dims& operator=(const Dims& other) {
    if (this != &other) copy(other);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  ~Dims() { release(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t* data() { return heap_ ? heap_ : inline_; }
  const std::int64_t* data() const { return heap_ ? heap_ : inline_; }
  std::int64_t* begin() { return data(); }
  std::int64_t* end() { return data() + size_; }
  const std::int64_t* begin() const { return data(); }
  const std::int64_t* end() const { return data() + size_; }
  std::int64_t& operator[](int i) { return data()[i]; }
  std::int64_t operator[](int i) const { return data()[i]; }
  std::int64_t& back() { return data()[size_ - 1]; }
  std::int64_t back() const { return data()[size_ - 1]; }

  // New items are zero …
  void resize(int n) {
    const int before = size_;
    resize_for_overwrite(n);
    for (int i = before; i < n; ++i) data()[i] = 0;
  }
  // … or not set to anything.
  void resize_for_overwrite(int n) {
    if (n > capacity_) grow(n);
    size_ = n;
  }
  void push_back(std::int64_t x) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = x;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void insert(int at, std::int64_t x) {
    push_back(0);
    std::int64_t* const items = data();
    for (int i = size_ - 1; i > at; --i) items[i] = items[i - 1];
    items[at] = x;
  }
  void erase(int at) {
    std::int64_t* const items = data();
    --size_;
    for (int i = at; i < size_; ++i) items[i] = items[i + 1];
  }
  template <class It>
  void assign(It first, It last) {
    resize_for_overwrite(static_cast<int>(last - first));
    std::copy(first, last, begin());
  }
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    const std::int64_t *x = a.data(), *y = b.data();
    for (int i = 0; i < a.size_; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  [[gnu::noinline]] void grow(int n) {
    const int capacity = std::max(n, 2 * capacity_);
    auto* heap = new std::int64_t[capacity];
    std::memcpy(heap, data(), sizeof(std::int64_t) * size_);
    release();
    heap_ = heap;
    capacity_ = capacity;
  }
  void release() {
    if (!heap_) return;
    delete[] heap_;
    heap_ = nullptr;
    capacity_ = inline_capacity;
  }
  // One by one: a call of memcpy costs more, and so do wide loads of what was just stored
  // piecewise, which cannot be forwarded from the store buffer.
  void copy_inline(const Dims& other) {
    static_assert(inline_capacity == 6);
    const int n = size_ = other.size_;
    if (n < 1) return;
    inline_[0] = other.inline_[0];
    if (n < 2) return;
    inline_[1] = other.inline_[1];
    if (n < 3) return;
    inline_[2] = other.inline_[2];
    if (n < 4) return;
    inline_[3] = other.inline_[3];
    if (n < 5) return;
    inline_[4] = other.inline_[4];
    if (n < 6) return;
    inline_[5] = other.inline_[5];
  }
  void copy(const Dims& other) {
    if (heap_ || other.heap_) {
      assign(other.begin(), other.end());
    } else {
      copy_inline(other);
    }
  }
  void take(Dims& other) {  // *this holds no memory
    if (!other.heap_) return copy_inline(other);
    heap_ = other.heap_;
    capacity_ = other.capacity_;
    size_ = other.size_;
    other.heap_ = nullptr;
    other.size_ = 0;
    other.capacity_ = inline_capacity;
  }

  std::int64_t* heap_ = nullptr;
  int size_ = 0;
  int capacity_ = inline_capacity;
  std::int64_t inline_[inline_capacity];
};

// A shape the way Python prints a tuple.
inline std::ostream& operator<<(std::ostream& out, const Dims& d) {
  out << '(';
  for (int i = 0; i < d.size(); ++i) out << (i ? ", " : "") << d[i];
  return out << (d.size() == 1 ? ",)" : ")");
}

inline constexpr int max_ndim = 1024;

// The product of a shape; ValueError when it exceeds int64. A zero anywhere makes it zero.
inline std::int64_t checked_size(const Dims& shape) {
  std::int64_t n = 1;
  bool overflow = false;
  for (std::int64_t s : shape) {
    if (s == 0) return 0;
    overflow |= __builtin_mul_overflow(n, s, &n);
  }
  if (overflow) {
    value_error("an array of shape ", shape, " has more than 2**63 - 1 elements");
  }
  return n;
}

// Bytes of n elements; ValueError when it exceeds int64.
inline std::int64_t checked_bytes(std::int64_t n, int itemsize) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(n, std::int64_t{itemsize}, &bytes)) {
    value_error(n, " elements of ", itemsize, " bytes exceed 2**63 - 1 bytes");
  }
  return bytes;
}

// Refuses negative sizes and too many dimensions.
inline void check_shape(const Dims& shape) {
  if (shape.size() > max_ndim) {
    value_error("shape has ", shape.size(), " dimensions; at most ", max_ndim, " are supported");
  }
  for (std::int64_t s : shape) {
    if (s < 0) value_error("shape ", shape, " has a negative size; sizes must be at least 0");
  }
}

// An axis in [-ndim, ndim) counted from the front; `argument` names it in the IndexError.
inline int normalize_axis(std::int64_t axis, int ndim, const char* argument = "axis") {
  if (axis < -ndim || axis >= ndim) {
    index_error(argument, " ", axis, " is out of range for an array with ", ndim,
                ndim == 1 ? " dimension" : " dimensions");
  }
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

// Several distinct axes, in the order given.
inline Dims normalize_axes(const Dims& axes, int ndim, const char* argument = "axis") {
  Dims out;
  for (std::int64_t a : axes) {
    const int axis = normalize_axis(a, ndim, argument);
    if (std::find(out.begin(), out.end(), axis) != out.end()) {
      value_error(argument, " ", axes, " names dimension ", axis, " twice");
    }
    out.push_back(axis);
  }
  return out;
}

struct Layout {
  Dims shape;
  Dims strides;             // elements; may be negative or zero
  std::int64_t offset = 0;  // elements from the start of the storage to the first element
  std::int64_t size = 1;    // product of shape

  Layout() {}  // not an aggregate: see Array

  int ndim() const { return shape.size(); }

  // Row-major, offset zero.
  static Layout contiguous(const Dims& shape) {
    Layout l;
    l.shape = shape;
    l.size = checked_size(shape);
    l.strides.resize_for_overwrite(shape.size());
    std::int64_t* const strides = l.strides.data();
    std::int64_t step = 1;
    for (int i = shape.size() - 1; i >= 0; --i) {
      strides[i] = step;
      step *= std::max<std::int64_t>(shape[i],
                                     1);  // cannot overflow unless size is zero
      if (l.size == 0) step = 1;
    }
    return l;
  }

  // Whether the elements lie in row-major order without gaps.
  bool is_contiguous() const {
    if (size <= 1) return true;
    std::int64_t step = 1;
    for (int i = ndim() - 1; i >= 0; --i) {
      if (shape[i] == 1) continue;
      if (strides[i] != step) return false;
      step *= shape[i];
    }
    return true;
  }

  // Whether two index tuples may name the same element: true for broadcast views.
  bool has_repeats() const {
    if (is_contiguous()) return false;
    Dims order;
    for (int i = 0; i < ndim(); ++i) {
      if (shape[i] > 1) order.push_back(i);
    }
    const auto magnitude = [this](std::int64_t i) {
      return strides[static_cast<int>(i)] < 0 ? -strides[static_cast<int>(i)]
                                              : strides[static_cast<int>(i)];
    };
    std::sort(order.begin(), order.end(),
              [&](std::int64_t a, std::int64_t b) { return magnitude(a) < magnitude(b); });
    std::int64_t reach = 0;  // the largest distance the faster dimensions span
    for (std::int64_t i : order) {
      if (magnitude(i) <= reach) return true;
      reach += magnitude(i) * (shape[static_cast<int>(i)] - 1);
    }
    return false;
  }

  // Whether the elements fill a gapless block in some order of the dimensions, all walked forwards.
  bool is_dense() const {
    if (size <= 1) return true;
    std::int64_t lowest, highest;
    span(lowest, highest);
    if (highest - lowest + 1 != size) return false;
    for (int i = 0; i < ndim(); ++i) {
      if (shape[i] > 1 && strides[i] <= 0) return false;
    }
    return !has_repeats();
  }

  // The first and last storage positions touched (inclusive); meaningless when size is 0.
  void span(std::int64_t& lowest, std::int64_t& highest) const {
    lowest = highest = offset;
    for (int i = 0; i < ndim(); ++i) {
      const std::int64_t reach = strides[i] * (shape[i] - 1);
      (reach < 0 ? lowest : highest) += reach;
    }
  }

  friend bool operator==(const Layout& a, const Layout& b) {
    return a.offset == b.offset && a.shape == b.shape && a.strides == b.strides;
  }
};

// ---- views ----------------------------------------------------------------------------------

// The element at `index` of dimension `axis`; the dimension goes away. index is in [-n, n).
inline Layout index_axis(const Layout& in, int axis, std::int64_t index) {
  const std::int64_t n = in.shape[axis];
  if (index < -n || index >= n) {
    index_error("index ", index, " is out of bounds for axis ", axis, " with size ", n);
  }
  Layout out = in;
  out.offset += (index < 0 ? index + n : index) * in.strides[axis];
  out.shape.erase(axis);
  out.strides.erase(axis);
  out.size = checked_size(out.shape);
  return out;
}

// `count` elements of a dimension from `start` on, `step` apart; start and step already normalised.
inline Layout slice_axis(const Layout& in, int axis, std::int64_t start, std::int64_t step,
                         std::int64_t count) {
  Layout out = in;
  if (count > 0) out.offset += start * in.strides[axis];
  out.shape[axis] = count;
  // With at most one element left the step is never taken, so it may not overflow either.
  out.strides[axis] = count > 1 ? in.strides[axis] * step : in.strides[axis];
  out.size = checked_size(out.shape);
  return out;
}

// Python's slice(start, stop, step) on a dimension of size n, as slice_axis wants it.
// `has_start`/`has_stop` say whether the bound was given; step is not zero.
struct SliceRange {
  std::int64_t start, step, count;
};
inline SliceRange normalize_slice(std::int64_t n, bool has_start, std::int64_t start, bool has_stop,
                                  std::int64_t stop, std::int64_t step) {
  if (step == 0) value_error("slice step cannot be zero");
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
  const auto bound = [&](std::int64_t i) {
    if (i < 0) i += n;
    return std::clamp(i, low, high);
  };
  const std::int64_t first = has_start ? bound(start) : (step < 0 ? high : low);
  const std::int64_t last = has_stop ? bound(stop) : (step < 0 ? low : high);
  std::int64_t count = 0;
  if (step == 1) {  // a division takes as long as all else here
    count = std::max<std::int64_t>(last - first, 0);
  } else if (step > 0 && first < last) {
    count = (last - first - 1) / step + 1;
  } else if (step < 0 && last < first) {
    // -(step + 1) cannot overflow where -step would for the smallest int64.
    count = static_cast<std::int64_t>(static_cast<std::uint64_t>(first - last - 1) /
                                      (static_cast<std::uint64_t>(-(step + 1)) + 1)) +
            1;
  }
  return {first, step, count};
}

inline Layout insert_axis(const Layout& in, int axis, std::int64_t stride = 0) {
  Layout out = in;
  out.shape.insert(axis, 1);
  out.strides.insert(axis, stride);
  return out;
}

// axes: a permutation of 0 … ndim-1, already normalised.
inline Layout permute(const Layout& in, const Dims& axes) {
  Layout out = in;
  for (int i = 0; i < axes.size(); ++i) {
    out.shape[i] = in.shape[static_cast<int>(axes[i])];
    out.strides[i] = in.strides[static_cast<int>(axes[i])];
  }
  return out;
}

// Dense, with the dimensions in memory in the order given, the slowest first.
inline Layout dense_in_order(const Dims& shape, const Dims& order) {
  Layout out = Layout::contiguous(shape);
  const Dims strides = Layout::contiguous(permute(out, order).shape).strides;
  for (int i = 0; i < order.size(); ++i) out.strides[static_cast<int>(order[i])] = strides[i];
  return out;
}

// The dimensions as they lie in memory, the slowest first; empty where that is the order of the
// shape. One in which nothing moves lies beside the next one of the shape, the last beside the one
// before.
inline Dims memory_order(const Dims& shape, const Dims& strides) {
  const int n = shape.size();
  Dims step;
  step.resize_for_overwrite(n);
  std::int64_t next = 0;
  bool sorted = true;
  for (int i = n - 1; i >= 0; --i) {
    const std::int64_t s = shape[i] == 1 ? 0 : strides[i] < 0 ? -strides[i] : strides[i];
    step[i] = s == 0 ? next : s;
    sorted &= step[i] >= next;
    next = step[i];
  }
  if (sorted) return {};
  for (int i = 1; i < n; ++i) {
    for (int j = i; j < n && step[j] == 0; ++j) step[j] = step[i - 1];
  }
  Dims order;
  order.resize_for_overwrite(n);
  for (int i = 0; i < n; ++i) {
    int j = i;
    for (; j > 0 && step[static_cast<int>(order[j - 1])] < step[i]; --j) order[j] = order[j - 1];
    order[j] = i;
  }
  return order;
}
inline Dims memory_order(const Layout& in) {
  return memory_order(in.shape, in.strides);
}

// Dense, with the dimensions in memory as those of the strides lie there.
inline Layout dense_like(const Dims& shape, const Dims& strides) {
  const Dims order = memory_order(shape, strides);
  return order.empty() ? Layout::contiguous(shape) : dense_in_order(shape, order);
}

// The permutation that undoes another.
inline Dims inverse_of(const Dims& order) {
  Dims places(order.size());
  for (int i = 0; i < order.size(); ++i) places[static_cast<int>(order[i])] = i;
  return places;
}

inline Layout flip_axis(const Layout& in, int axis) {
  Layout out = in;
  if (in.shape[axis] > 0) out.offset += (in.shape[axis] - 1) * in.strides[axis];
  out.strides[axis] = -in.strides[axis];
  return out;
}

// The common shape of two under the standard's broadcasting rules.
inline Dims broadcast_shapes(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const int shift = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    std::int64_t& n = out[i + shift];
    const std::int64_t m = shorter[i];
    if (n == m || m == 1) continue;
    if (n != 1) {
      value_error("shapes ", a, " and ", b, " cannot be broadcast: ", n, " and ", m,
                  " differ in dimension ", i + shift, " and neither is 1");
    }
    n = m;
  }
  return out;
}

// A view of shape `shape`, with stride zero where it repeats.
inline Layout broadcast_to(const Layout& in, const Dims& shape) {
  const int shift = shape.size() - in.ndim();
  bool fits = shift >= 0;
  for (int i = 0; fits && i < in.ndim(); ++i) {
    fits = in.shape[i] == shape[i + shift] || in.shape[i] == 1;
  }
  if (!fits) value_error("an array of shape ", in.shape, " does not broadcast to shape ", shape);
  Layout out;
  out.shape = shape;
  out.offset = in.offset;
  out.strides.resize(shape.size());
  out.size = checked_size(shape);
  for (int i = 0; i < in.ndim(); ++i) {
    if (in.shape[i] != 1 || shape[i + shift] == 1) out.strides[i + shift] = in.strides[i];
  }
  return out;
}

// The diagonal `offset` of two dimensions, which go away; the diagonal becomes the last one.
inline Layout diagonal(const Layout& in, int row_axis, int column_axis, std::int64_t offset) {
  const std::int64_t rows = in.shape[row_axis], columns = in.shape[column_axis];
  std::int64_t count = 0;
  if (offset >= 0 && offset < columns) count = std::min(rows, columns - offset);
  if (offset < 0 && offset > -rows) count = std::min(rows + offset, columns);
  Layout out = in;
  if (count > 0) {
    out.offset += offset >= 0 ? offset * in.strides[column_axis] : -offset * in.strides[row_axis];
  }
  const std::int64_t stride = in.strides[row_axis] + in.strides[column_axis];
  const int first = std::max(row_axis, column_axis), second = std::min(row_axis, column_axis);
  out.shape.erase(first);
  out.strides.erase(first);
  out.shape.erase(second);
  out.strides.erase(second);
  out.shape.push_back(count);
  out.strides.push_back(stride);
  out.size = checked_size(out.shape);
  return out;
}

// A view of the same elements, in row-major order, under another shape of the same size;
// false when only a copy can have it.
inline bool reshape(const Layout& in, const Dims& shape, Layout& out) {
  out = Layout::contiguous(shape);
  out.offset = in.offset;
  if (in.size <= 1) return true;
  // Runs of dimensions that are contiguous among themselves, matched against runs of new ones.
  Dims old_shape, old_strides;
  for (int i = 0; i < in.ndim(); ++i) {
    if (in.shape[i] == 1) continue;
    old_shape.push_back(in.shape[i]);
    old_strides.push_back(in.strides[i]);
  }
  int i = 0, j = 0;
  while (i < old_shape.size()) {
    int i_end = i + 1;
    std::int64_t have = old_shape[i], want = 1;
    int j_end = j;
    while (want != have) {
      if (want < have) {
        want *= shape[j_end++];
      } else {
        have *= old_shape[i_end++];
      }
    }
    for (int k = i; k + 1 < i_end; ++k) {
      if (old_strides[k] != old_shape[k + 1] * old_strides[k + 1]) return false;
    }
    std::int64_t stride = old_strides[i_end - 1];
    for (int k = j_end - 1; k >= j; --k) {
      out.strides[k] = stride;
      stride *= shape[k];
    }
    i = i_end;
    j = j_end;
  }
  return true;
}

// Whether the byte ranges of two layouts over the same storage can meet.
inline bool spans_meet(const Layout& a, int a_itemsize, const Layout& b, int b_itemsize) {
  if (a.size == 0 || b.size == 0) return false;
  std::int64_t a_low, a_high, b_low, b_high;
  a.span(a_low, a_high);
  b.span(b_low, b_high);
  return a_low * a_itemsize < (b_high + 1) * b_itemsize &&
         b_low * b_itemsize < (a_high + 1) * a_itemsize;
}

}  // namespace arrayx
