// DType: one row per dtype, and the promotion lattice. Nothing but this table and `dispatch` lists
// the dtypes. float16, which the standard lacks, is a dtype of storage: see compute_dtype.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "../ops/half.hpp"
#include "error.hpp"

namespace arrayx {

using ops::f16;

enum class DType : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  float32,
  float64,
  complex64,
  complex128,
};
inline constexpr int dtype_count = 14;

enum class Kind : std::uint8_t { bool_, signed_, unsigned_, real, complex };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  Kind kind;
  std::uint8_t itemsize;        // bytes
  std::uint8_t dlpack_code;     // DLDataTypeCode
  const char* buffer_format;    // struct-module format of the buffer protocol, native sizes
  std::string_view typestring;  // NumPy's array-interface string, little endian
};

inline constexpr std::array<DTypeInfo, dtype_count> dtype_table{{
    {DType::bool_, "bool", Kind::bool_, 1, 6, "?", "|b1"},
    {DType::int8, "int8", Kind::signed_, 1, 0, "b", "|i1"},
    {DType::int16, "int16", Kind::signed_, 2, 0, "h", "<i2"},
    {DType::int32, "int32", Kind::signed_, 4, 0, "i", "<i4"},
    {DType::int64, "int64", Kind::signed_, 8, 0, "l", "<i8"},
    {DType::uint8, "uint8", Kind::unsigned_, 1, 1, "B", "|u1"},
    {DType::uint16, "uint16", Kind::unsigned_, 2, 1, "H", "<u2"},
    {DType::uint32, "uint32", Kind::unsigned_, 4, 1, "I", "<u4"},
    {DType::uint64, "uint64", Kind::unsigned_, 8, 1, "L", "<u8"},
    {DType::float16, "float16", Kind::real, 2, 2, "e", "<f2"},
    {DType::float32, "float32", Kind::real, 4, 2, "f", "<f4"},
    {DType::float64, "float64", Kind::real, 8, 2, "d", "<f8"},
    {DType::complex64, "complex64", Kind::complex, 8, 5, "Zf", "<c8"},
    {DType::complex128, "complex128", Kind::complex, 16, 5, "Zd", "<c16"},
}};

constexpr const DTypeInfo& info(DType d) {
  return dtype_table[static_cast<int>(d)];
}
constexpr int itemsize(DType d) {
  return info(d).itemsize;
}
constexpr Kind kind(DType d) {
  return info(d).kind;
}
constexpr std::string_view name(DType d) {
  return info(d).name;
}
constexpr bool is_integer(DType d) {
  return kind(d) == Kind::signed_ || kind(d) == Kind::unsigned_;
}
constexpr bool is_floating(DType d) {
  return kind(d) == Kind::real || kind(d) == Kind::complex;
}
constexpr bool is_real_floating(DType d) {
  return kind(d) == Kind::real;
}
constexpr bool is_complex(DType d) {
  return kind(d) == Kind::complex;
}

inline std::ostream& operator<<(std::ostream& out, DType d) {
  return out << name(d);
}

// The default dtypes: a Python int is int64, a float float64, a complex complex128; indices int64.
inline constexpr DType default_int = DType::int64;
inline constexpr DType default_float = DType::float64;
inline constexpr DType default_complex = DType::complex128;
inline constexpr DType index_dtype = DType::int64;

// The dtype that engines compute in where operands and results have dtype d. They are asked to
// hold, move, cast, sort and reduce float16, never to compute in it: float32 is cast on the way
// out.
constexpr DType compute_dtype(DType d) {
  return d == DType::float16 ? DType::float32 : d;
}
// Twice as wide, where there is such a dtype: for sums that would lose digits.
constexpr DType wider_dtype(DType d) {
  return d == DType::float16     ? DType::float32
         : d == DType::float32   ? DType::float64
         : d == DType::complex64 ? DType::complex128
                                 : d;
}

constexpr DType real_dtype(DType d) {
  return d == DType::complex64 ? DType::float32 : d == DType::complex128 ? DType::float64 : d;
}
constexpr DType complex_dtype(DType d) {
  const bool single = d == DType::float16 || d == DType::float32 || d == DType::complex64;
  return single ? DType::complex64 : DType::complex128;
}

// Calls f with a value-initialised C++ object of the dtype's type: the one dtype switch.
template <class F>
constexpr decltype(auto) dispatch(DType d, F&& f) {
  switch (d) {
    case DType::bool_:
      return f(bool{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::float16:
      return f(f16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(std::complex<float>{});
    case DType::complex128:
      break;
  }
  return f(std::complex<double>{});
}

template <class T>
struct dtype_of_type;
#define ARRAYX_DTYPE_OF(T, D)                \
  template <>                                \
  struct dtype_of_type<T> {                  \
    static constexpr DType value = DType::D; \
  };
ARRAYX_DTYPE_OF(bool, bool_)
ARRAYX_DTYPE_OF(std::int8_t, int8)
ARRAYX_DTYPE_OF(std::int16_t, int16)
ARRAYX_DTYPE_OF(std::int32_t, int32)
ARRAYX_DTYPE_OF(std::int64_t, int64)
ARRAYX_DTYPE_OF(std::uint8_t, uint8)
ARRAYX_DTYPE_OF(std::uint16_t, uint16)
ARRAYX_DTYPE_OF(std::uint32_t, uint32)
ARRAYX_DTYPE_OF(std::uint64_t, uint64)
ARRAYX_DTYPE_OF(f16, float16)
ARRAYX_DTYPE_OF(float, float32)
ARRAYX_DTYPE_OF(double, float64)
ARRAYX_DTYPE_OF(std::complex<float>, complex64)
ARRAYX_DTYPE_OF(std::complex<double>, complex128)
#undef ARRAYX_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = dtype_of_type<T>::value;

namespace detail {

inline constexpr std::uint8_t no_promotion = 255;

constexpr DType signed_of_size(int bytes) {
  return bytes == 1   ? DType::int8
         : bytes == 2 ? DType::int16
         : bytes == 4 ? DType::int32
                      : DType::int64;
}

// The standard's lattice within a kind; between kinds a floating operand wins and keeps its width,
// a complex one keeps at least the width of a real one, and bool gives way to anything.
constexpr std::uint8_t promote_entry(DType a, DType b) {
  const auto give = [](DType d) { return static_cast<std::uint8_t>(d); };
  if (a == b) return give(a);
  if (kind(a) > kind(b)) {
    const DType t = a;
    a = b;
    b = t;
  }
  if (kind(a) == Kind::bool_) return give(b);
  if (kind(a) == kind(b)) return give(itemsize(a) > itemsize(b) ? a : b);
  if (kind(b) == Kind::unsigned_) {  // signed with unsigned
    if (b == DType::uint64) return no_promotion;
    return give(itemsize(a) > itemsize(b) ? a : signed_of_size(2 * itemsize(b)));
  }
  if (kind(b) == Kind::complex && kind(a) == Kind::real) {
    return give(a == DType::float64 ? DType::complex128 : b);
  }
  return give(b);
}

constexpr auto make_promotion_table() {
  std::array<std::array<std::uint8_t, dtype_count>, dtype_count> table{};
  for (int a = 0; a < dtype_count; ++a) {
    for (int b = 0; b < dtype_count; ++b) {
      table[a][b] = promote_entry(static_cast<DType>(a), static_cast<DType>(b));
    }
  }
  return table;
}
inline constexpr auto promotion_table = make_promotion_table();

}  // namespace detail

constexpr bool can_promote(DType a, DType b) {
  return detail::promotion_table[static_cast<int>(a)][static_cast<int>(b)] != detail::no_promotion;
}

inline DType promote(DType a, DType b) {
  const std::uint8_t r = detail::promotion_table[static_cast<int>(a)][static_cast<int>(b)];
  if (r == detail::no_promotion) {
    type_error("no dtype holds both ", a, " and ", b,
               ": cast one of them first, for example with astype");
  }
  return static_cast<DType>(r);
}

// Whether an in-place operator may write its result: by promotion, which the standard asks for,
// and, where it leaves the choice open, within a kind (float64 into float32) and from real into
// complex dtypes. Never from float into int.
constexpr bool can_update(DType from, DType to) {
  return kind(from) == kind(to) || (is_floating(from) && is_complex(to)) ||
         (can_promote(from, to) &&
          detail::promotion_table[static_cast<int>(from)][static_cast<int>(to)] ==
              static_cast<std::uint8_t>(to));
}

}  // namespace arrayx
