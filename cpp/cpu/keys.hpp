// Keys: unsigned integers in the order of the elements that they stand for.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "items.hpp"
#include "kernels.hpp"

namespace arrayx::cpu {

using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;
template <class T>
inline constexpr bool is_real_type = is_real_floating(dtype_of<T>);

template <int bytes>
using Unsigned = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t, std::conditional_t<bytes == 4, u32, u64>>>;

template <class T>
using Key = Unsigned<sizeof(T)>;

template <class K>
inline constexpr K top_bit = K(K(1) << (8 * sizeof(K) - 1));

template <class T>
inline constexpr Key<T> infinity_bits = sizeof(T) == 2   ? Key<T>(0x7c00)
                                        : sizeof(T) == 4 ? Key<T>(0x7f800000)
                                                         : Key<T>(0x7ff0000000000000);

// The key of the bits of a floating-point number: negative ones are in reverse.
template <class K>
K number_key(K bits) {
  const K negative = K(0) - K(bits >> (8 * sizeof(K) - 1));
  return bits ^ (negative | top_bit<K>);
}

// The key of T whose bytes are at p: keys compare as the values do. Both zeros have one, and NaN
// the greatest there is.
template <class T>
Key<T> key_at(const char* p, Key<T> flip) {
  using K = Key<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return K(K(*p != 0) ^ flip);
  } else {
    const K bits = load<K>(p);
    if constexpr (is_real_type<T>) {
      const bool is_number = K(bits & ~top_bit<K>) <= infinity_bits<T>;
      return is_number ? K(number_key(bits == top_bit<K> ? K(0) : bits) ^ flip) : K(~K(0));
    } else if constexpr (std::is_signed_v<T>) {
      return K(bits ^ top_bit<K> ^ flip);
    } else {
      return K(bits ^ flip);
    }
  }
}

template <class T>
Key<T> bits_of_key(Key<T> key, Key<T> flip) {
  using K = Key<T>;
  key ^= flip;
  if constexpr (std::is_same_v<T, bool>) {
    return key;
  } else if constexpr (is_real_type<T>) {
    return key & top_bit<K> ? K(key ^ top_bit<K>) : K(~key);
  } else if constexpr (std::is_signed_v<T>) {
    return K(key ^ top_bit<K>);
  } else {
    return key;
  }
}

template <class T>
inline constexpr KeyKind key_kind = std::is_same_v<T, bool> ? KeyKind::truth
                                    : is_real_type<T>       ? KeyKind::floating
                                    : std::is_signed_v<T>   ? KeyKind::twos_complement
                                                            : KeyKind::natural;

// key_at() of n contiguous elements, and which KeyFlags they have.
template <class T>
unsigned keys_of(const char* in, Key<T>* keys, i64 n, bool descending) {
  const KeysKernel kernel = kernels().keys[item_class(sizeof(T))][static_cast<int>(key_kind<T>)];
  return kernel(in, keys, n, descending);
}
template <class T>
void values_of(const Key<T>* keys, char* out, i64 n, bool descending) {
  kernels().values[item_class(sizeof(T))][static_cast<int>(key_kind<T>)](keys, out, n, descending);
}

}  // namespace arrayx::cpu
