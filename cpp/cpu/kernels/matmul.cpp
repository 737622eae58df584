// Integer matrix products: a register tile of 4 rows by 2 vectors, accumulated along k. Signed
// integers wrap, so they share the unsigned kernels.
#include "../simd/vec.hpp"

#include "../kernels.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

using ops::Vec;

template <class T, int Rows, int Vectors>
ARRAYX_HD void tile(const T* a, i64 a_stride, const T* b, i64 b_stride, T* c, i64 c_stride, i64 k,
                    int last) {
  using V = Vec<T, ops::vector_bytes / sizeof(T)>;
  constexpr int lanes = ops::lane_traits<V>::lanes;
  V sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sum[r][v] = V(T(0));
  }
  for (i64 j = 0; j < k; ++j) {
    V x[Vectors];
    for (int v = 0; v < Vectors; ++v) {
      const T* p = b + j * b_stride + v * lanes;
      x[v] = v + 1 == Vectors && last != lanes ? V::load_first(p, last) : V::load(p);
    }
    for (int r = 0; r < Rows; ++r) {
      const V s(a[r * a_stride + j]);
      for (int v = 0; v < Vectors; ++v) sum[r][v] += s * x[v];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) {
      T* p = c + r * c_stride + v * lanes;
      if (v + 1 == Vectors && last != lanes) {
        (V::load_first(p, last) + sum[r][v]).store_first(p, last);
      } else {
        (V::load(p) + sum[r][v]).store(p);
      }
    }
  }
}

template <class T, int Rows>
void row_panel(const T* a, i64 a_stride, const T* b, i64 b_stride, T* c, i64 c_stride, i64 n,
               i64 k) {
  constexpr int lanes = ops::vector_bytes / sizeof(T);
  i64 j = 0;
  for (; j + 2 * lanes <= n; j += 2 * lanes) {
    tile<T, Rows, 2>(a, a_stride, b + j, b_stride, c + j, c_stride, k, lanes);
  }
  for (; j < n; j += lanes) {
    const int last = n - j < lanes ? static_cast<int>(n - j) : lanes;
    tile<T, Rows, 1>(a, a_stride, b + j, b_stride, c + j, c_stride, k, last);
  }
}

template <class T>
void matmul(const void* a_data, std::int64_t a_stride, const void* b_data, std::int64_t b_stride,
            void* c_data, std::int64_t c_stride, std::int64_t m, std::int64_t n, std::int64_t k) {
  const T* a = static_cast<const T*>(a_data);
  const T* b = static_cast<const T*>(b_data);
  T* c = static_cast<T*>(c_data);
  i64 i = 0;
  for (; i + 4 <= m; i += 4) {
    row_panel<T, 4>(a + i * a_stride, a_stride, b, b_stride, c + i * c_stride, c_stride, n, k);
  }
  for (; i < m; ++i) {
    row_panel<T, 1>(a + i * a_stride, a_stride, b, b_stride, c + i * c_stride, c_stride, n, k);
  }
}

}  // namespace

void fill_matmul(KernelTable& table) {
  const auto put = [&table](DType d, IntegerMatmulKernel f) {
    table.matmul[static_cast<int>(d)] = f;
  };
  put(DType::int8, &matmul<u8>);
  put(DType::uint8, &matmul<u8>);
  put(DType::int16, &matmul<u16>);
  put(DType::uint16, &matmul<u16>);
  put(DType::int32, &matmul<u32>);
  put(DType::uint32, &matmul<u32>);
  put(DType::int64, &matmul<u64>);
  put(DType::uint64, &matmul<u64>);
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
