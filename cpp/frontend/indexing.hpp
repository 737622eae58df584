// Indexing: what x[key] and x[key] = value mean, take and take_along_axis.
#pragma once

#include <span>

#include "common.hpp"

namespace arrayx {

// One item of a key. Arrays are of an integer dtype, or bool (masks, whose rank may be zero).
struct IndexItem {
  enum class Kind { integer, slice, ellipsis, newaxis, array };
  Kind kind = Kind::ellipsis;
  std::int64_t integer = 0;  // Kind::integer
  bool has_start = false, has_stop = false;
  std::int64_t start = 0, stop = 0, step = 1;  // Kind::slice
  Array array;                                 // Kind::array
};

// A view when the key holds no array, else a copy. IndexError for too many indices, an index out of
// bounds, a second ellipsis, or a mask whose shape does not match the dimensions it stands at.
Array get_item(const Array& x, std::span<const IndexItem> key);
// x[key] = value, broadcast; the value's dtype must promote to x's (TypeError), x be writable.
void set_item(const Array& x, std::span<const IndexItem> key, const Value& value);
// x[index] = values where x has one dimension, and values its dtype and a value for each index:
// without what a key takes. False, and nothing done, for all else.
bool assign_picked(const Array& x, const Array& index, const Array& values);

Array take(const Array& x, const Array& indices, std::optional<std::int64_t> axis);
Array take_along_axis(const Array& x, const Array& indices, std::int64_t axis);

}  // namespace arrayx
