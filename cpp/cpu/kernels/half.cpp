// Casts from and to float16. Between it and float32, and from float64, they are kernels of their
// own; all others go through float32 by blocks that stay in L1: it holds every float16, and every
// integer that it rounds is beyond float16.
#include "../../ops/half.hpp"

#include <algorithm>
#include <cstring>

#include "../kernels.hpp"
#include "../simd/vec.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

template <int N>
ARRAYX_HD Vec<f32, N> widened(Vec<u16, N> half) {
#if defined(__AVX512F__)
  if constexpr (N == 16) return Vec<f32, N>(_mm512_cvtph_ps(__builtin_bit_cast(__m256i, half.v)));
#elif defined(__F16C__)
  if constexpr (N == 8) return Vec<f32, N>(_mm256_cvtph_ps(__builtin_bit_cast(__m128i, half.v)));
#endif
  return ops::from_half(ops::convert<Vec<u32, N>>(half));
}

template <int N>
ARRAYX_HD Vec<u16, N> narrowed(Vec<f32, N> x) {
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    const __m256i half = _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return Vec<u16, N>(__builtin_bit_cast(typename Vec<u16, N>::native, half));
  }
#elif defined(__F16C__)
  if constexpr (N == 8) {
    const __m128i half = _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT);
    return Vec<u16, N>(__builtin_bit_cast(typename Vec<u16, N>::native, half));
  }
#endif
  return ops::convert<Vec<u16, N>>(ops::half_from(x));
}

inline constexpr int lanes = ops::vector_bytes / 4;  // of float32

// out[i] = f(in[i]), where f reads a vector of A from memory and gives one of B.
template <class A, class B, class F>
ARRAYX_HD void over_vectors(const void* in, void* out, i64 n, F f) {
  const char* p = static_cast<const char*>(in);
  char* q = static_cast<char*>(out);
  i64 i = 0;
  for (; i + lanes <= n; i += lanes) f(p + i * sizeof(A)).store(q + i * sizeof(B));
  if (i < n) {
    const int rest = static_cast<int>(n - i);
    A last[lanes] = {};
    std::memcpy(last, p + i * sizeof(A), rest * sizeof(A));
    f(reinterpret_cast<const char*>(last)).store_first(q + i * sizeof(B), rest);
  }
}

void to_float32(const void* const* inputs, void* out, std::int64_t n) {
  over_vectors<u16, f32>(inputs[0], out, n,
                         [](const char* p) { return widened(Vec<u16, lanes>::load(p)); });
}

void from_float32(const void* const* inputs, void* out, std::int64_t n) {
  over_vectors<f32, u16>(inputs[0], out, n,
                         [](const char* p) { return narrowed(Vec<f32, lanes>::load(p)); });
}

void from_float64(const void* const* inputs, void* out, std::int64_t n) {
  using Part = Vec<f64, lanes / 2>;
  over_vectors<f64, u16>(inputs[0], out, n, [](const char* p) {
    return narrowed(
        ops::join(ops::cut_to_odd(Part::load(p)), ops::cut_to_odd(Part::load(p + sizeof(Part)))));
  });
}

// Through another dtype.
template <DType from, DType by, DType to>
void cast_by(const void* const* inputs, void* out, std::int64_t n) {
  constexpr i64 block = 512;
  alignas(64) char between[block * itemsize(by)];
  const CastKernel first = kernels().cast[static_cast<int>(from)][static_cast<int>(by)];
  const CastKernel second = kernels().cast[static_cast<int>(by)][static_cast<int>(to)];
  for (i64 i = 0; i < n; i += block) {
    const i64 count = std::min(block, n - i);
    const void* in = static_cast<const char*>(inputs[0]) + i * itemsize(from);
    first(&in, between, count);
    in = between;
    second(&in, static_cast<char*>(out) + i * itemsize(to), count);
  }
}

void same(const void* const* inputs, void* out, std::int64_t n) {
  std::memmove(out, inputs[0], n * sizeof(u16));
}

template <DType other>
void fill_casts(KernelTable& table) {
  constexpr DType half = DType::float16, by = DType::float32;
  constexpr DType narrowed_by = other == DType::complex128 ? DType::float64 : by;
  constexpr int h = static_cast<int>(half), d = static_cast<int>(other);
  table.cast[h][d] = &cast_by<half, by, other>;
  table.cast[d][h] = &cast_by<other, narrowed_by, half>;
}

}  // namespace

void fill_half(KernelTable& table) {
  fill_casts<DType::bool_>(table);
  fill_casts<DType::int8>(table);
  fill_casts<DType::int16>(table);
  fill_casts<DType::int32>(table);
  fill_casts<DType::int64>(table);
  fill_casts<DType::uint8>(table);
  fill_casts<DType::uint16>(table);
  fill_casts<DType::uint32>(table);
  fill_casts<DType::uint64>(table);
  fill_casts<DType::float64>(table);
  fill_casts<DType::complex64>(table);
  fill_casts<DType::complex128>(table);
  const auto at = [&table](DType from, DType to) -> CastKernel& {
    return table.cast[static_cast<int>(from)][static_cast<int>(to)];
  };
  at(DType::float16, DType::float16) = &same;
  at(DType::float16, DType::float32) = &to_float32;
  at(DType::float32, DType::float16) = &from_float32;
  at(DType::float64, DType::float16) = &from_float64;
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
