// What every chapter of the frontend uses: Python scalars, allocation, promotion, casts. A function
// of the frontend says what an operation MEANS: it checks, promotes, broadcasts, allocates, and
// calls Backend. Names and arguments are the standard's.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "../backend.hpp"

namespace arrayx {

// A Python scalar. Integers beyond 128 bits arrive clamped, which is out of range for every dtype.
struct Scalar {
  Kind kind = Kind::real;       // bool_, signed_ (any Python int), real, complex
  __int128 integer = 0;         // bool_ and signed_
  std::complex<double> number;  // real and complex
};
inline bool is_int(const Scalar& s) {
  return s.kind == Kind::bool_ || s.kind == Kind::signed_;
}

// An argument that may be an array or a Python scalar.
using Value = std::variant<Array, Scalar>;

using OptionalDType = std::optional<DType>;

// The device new arrays are made on when none is given: what set_default_device said last, else
// ARRAYX_DEFAULT_DEVICE, else the CPU.
Device default_device();
void set_default_device(Device device);

inline Backend& backend_of(const Array& a) {
  return backend(a.device());
}

// Uninitialised, row-major. ValueError for a bad shape, MemoryError when there is no room.
Array empty(const Dims& shape, DType dtype, Device device);
// Uninitialised and dense, with the memory order of `like`, unless that has gaps and few elements.
Array empty_like_layout(const Array& like, DType dtype);
// The order in which an array's dimensions lie in memory. What moves elements of arrays that lie
// alike does so in that order, and its result lies so, too.
class MemoryOrder {
 public:
  explicit MemoryOrder(const Array& x);
  bool is_of_shape() const { return axes_.empty(); }
  // Where an axis stands in it.
  int place(int axis) const { return axes_.empty() ? axis : static_cast<int>(places_[axis]); }
  // A shape, and a view, in it.
  Dims of(const Dims& shape) const;
  Array of(const Array& x) const;
  // The view that has the dimensions where the array has them.
  Array undo(const Array& x) const;

 private:
  Dims axes_, places_;  // the slowest first, and its inverse; empty where it is the shape's
};
// `untouched`: zeros may be pages that become zero as they are written to; where most of them are
// at once that takes longer than clearing a block that was used before.
Array full(const Dims& shape, const Element& value, Device device, bool untouched = false);
// A rank-0 array.
Array scalar_array(const Element& value, Device device);

// The element on the host of a one-element array.
Element item(const Array& x);

// The scalar as an element of dtype. OverflowError when an integer does not fit; the caller has
// checked that the kinds go together (see scalar_dtype).
Element to_element(const Scalar& scalar, DType dtype);
// … where it is cast, to a dtype asked for by name or that of the array it is written into: a float
// may become an integer (towards zero) and any number a bool.
Element cast_element(const Scalar& scalar, DType dtype);
// The dtype a scalar and an array of dtype d compute in: d if it can hold the scalar's kind, else
// the default dtype of the scalar's kind (complex keeps the width of a real d).
DType scalar_dtype(const Scalar& scalar, DType d);
// … and on its own: bool, int64, float64, complex128.
DType default_dtype(const Scalar& scalar);

// The same elements, row-major: x itself when it already is.
Array contiguous(const Array& x);
// Always a fresh row-major array.
Array copy(const Array& x);
// A cast; x itself when nothing changes and copy is false. Casting complex to real drops the
// imaginary part only where the standard allows it: complex to bool is a test for non-zero, and to
// other real dtypes a TypeError.
Array astype(const Array& x, DType dtype, bool copy);
// x cast to dtype, in the dtype that engines compute in where that one is promoted to.
Array computable(const Array& x, DType dtype);
// A copy of src, of dst's shape and in the order of its memory: what dst is written from where the
// two overlap.
Array held_for(const Array& dst, const Array& src);
// dst = src, broadcast to dst's shape and cast; as if src had been copied first when they overlap.
// ValueError when dst is read-only or a broadcast view.
void assign(const Array& dst, const Array& src);
void fill(const Array& dst, const Element& value);
void check_writable(const Array& x, const char* argument);

// ValueError naming both when two arrays are on different devices.
void check_same_device(const Array& a, const Array& b);
// The dtype of an operation on the operands (the standard's result_type).
DType result_type(std::span<const Value> values, std::span<const DType> dtypes = {});
// Text such as "float32" or "a Python float" for messages.
std::string describe(const Value& value);

// The kinds bit (see ops/table.hpp) of a dtype, and a sentence naming a set of kinds.
unsigned kind_bit(DType d);
std::string describe_kinds(unsigned accepted);
// TypeError unless the dtype is of an accepted kind.
void check_kind(const char* function, const char* argument, DType dtype, unsigned accepted);

}  // namespace arrayx
