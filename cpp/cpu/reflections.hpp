// Householder's reflections of row-major real matrices. Those of a matrix that the L2 cache holds
// are a kernel's. Larger ones are done in panels: the matrix is read twice for each column, and
// changed by one product for each panel. (Dongarra, Hammarling and Sorensen, "Block reduction of
// matrices to condensed forms", 1989.) LAPACK's gebrd, which does the same, has strides in both
// directions and only OpenBLAS's threads, and takes longer. Callers hold a OneBlasThread.
#pragma once

#include <algorithm>

#include "blas.hpp"
#include "kernels.hpp"
#include "kernels/small_matrices.hpp"
#include "parallel.hpp"
#include "products.hpp"

namespace arrayx::cpu {

template <class T>
class Reflections {
 public:
  const SmallMatrixKernels& kernel =
      *cpu::kernels().small_matrices[std::is_same_v<T, float> ? 0 : 1];
  // The columns of a panel, and the reflections that are applied together.
  static constexpr std::int64_t panel = 32;

  // For m × n matrices, and such ones, of which `in_cache` says that they are small. `narrow`: an
  // L2 holds them, so that panels which stay in an L1 cost less than what fewer, wider ones save.
  explicit Reflections(bool in_cache, bool narrow = false)
      : small(in_cache), together(narrow ? 64 / sizeof(T) : panel) {}

  // Where rows are short they are filled up to vectors; elsewhere to an odd number of lines, so
  // that the elements of a column are not all in one set of a cache.
  std::int64_t stride_for(std::int64_t columns) const {
    const std::int64_t unit = small ? kernel.lanes : line;
    const std::int64_t units = (columns + unit - 1) / unit;
    return (small ? units : units | 1) * unit;
  }
  // The numbers of `room` for m rows with this stride, or a smaller one.
  std::int64_t room_for(std::int64_t m, std::int64_t stride) const {
    if (small) return m + 2 * stride;
    return 2 * panel * (whole_lines(m) + stride + panel) + (m + band - 1) / band * stride;
  }

  // SmallMatrixKernels::bidiagonalize.
  void bidiagonalize(T* a, std::int64_t m, std::int64_t n, std::int64_t stride, T* diagonal,
                     T* beside, T* left_factors, T* right_factors, T* room) const {
    if (small) {
      kernel.bidiagonalize(a, m, n, stride, diagonal, beside, left_factors, right_factors, room);
      return;
    }
    // What the panel has changed so far: a less transpose(left) right. Each column has brought two
    // rows: of left the v of its reflection and a x; of right a y and the v of that of its row.
    const std::int64_t left_stride = whole_lines(m);
    T *const left = room, *const right = left + 2 * panel * left_stride;
    T* const weights = right + 2 * panel * stride;
    for (std::int64_t first = 0; first < n; first += panel) {
      const std::int64_t count = std::min(panel, n - first);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t j = first + i, from = line_of(j), next = line_of(j + 1);
        T *const v = left + 2 * i * left_stride, *const x = v + left_stride;
        T *const y = right + 2 * i * stride, *const u = y + stride;
        std::fill(v, v + left_stride, T(0));
        for (std::int64_t r = j; r < m; ++r) v[r] = a[r * stride + j];
        for (std::int64_t k = 0; k < 2 * i; ++k) weights[k] = -right[k * stride + j];
        kernel.add_rows(left + from, 2 * i, left_stride, weights, left_stride - from, v + from);
        std::fill(v + from, v + j, T(0));
        kernel.make_reflection(v, j, m, left_factors + j, diagonal + j);
        for (std::int64_t r = j + 1; r < m; ++r) a[r * stride + j] = v[r];
        std::fill(x, x + left_stride, T(0));
        std::fill(y, y + stride, T(0));
        std::fill(u, u + stride, T(0));
        if (j + 1 == n) break;

        add_all_rows(a + j * stride + next, m - j, stride, v + j, stride - next, y + next);
        kernel.row_products(left + from, 2 * i, left_stride, v + from, left_stride - from, weights);
        for (std::int64_t k = 0; k < 2 * i; ++k) weights[k] = -weights[k];
        kernel.add_rows(right + next, 2 * i, stride, weights, stride - next, y + next);
        for (std::int64_t c = next; c < stride; ++c) y[c] = c > j ? left_factors[j] * y[c] : T(0);

        std::copy(a + j * stride + j + 1, a + j * stride + n, u + j + 1);
        for (std::int64_t k = 0; k <= 2 * i; ++k) weights[k] = -left[k * left_stride + j];
        kernel.add_rows(right + next, 2 * i + 1, stride, weights, stride - next, u + next);
        std::fill(u + next, u + j + 1, T(0));
        kernel.make_reflection(u, j + 1, n, right_factors + j, beside + j);
        std::copy(u + j + 1, u + n, a + j * stride + j + 1);

        multiply_all_rows(a + (j + 1) * stride + next, m - j - 1, stride, u + next, stride - next,
                          x + j + 1);
        kernel.row_products(right + next, 2 * i + 1, stride, u + next, stride - next, weights);
        for (std::int64_t k = 0; k <= 2 * i; ++k) weights[k] = -weights[k];
        const std::int64_t below = line_of(j + 1);
        kernel.add_rows(left + below, 2 * i + 1, left_stride, weights, left_stride - below,
                        x + below);
        for (std::int64_t r = below; r < m; ++r) x[r] = r > j ? right_factors[j] * x[r] : T(0);
      }
      const std::int64_t rest = first + count;
      if (rest < n) {
        multiply<T>(transpose, m - rest, n - rest, 2 * count, T(-1), left + rest, left_stride,
                    right + rest, stride, T(1), a + rest * stride + rest, stride);
      }
    }
  }

  // SmallMatrixKernels::tridiagonalize_one.
  void tridiagonalize(T* a, std::int64_t n, std::int64_t stride, T* diagonal, T* beside, T* factors,
                      T* room) const {
    if (small) {
      kernel.tridiagonalize_one(a, n, stride, diagonal, beside, factors, room);
      return;
    }
    // As above: each column has brought v and w to left, w and v to right.
    T *const left = room, *const right = left + 2 * panel * stride;
    T *const weights = right + 2 * panel * stride, *const parts = weights + 2 * panel;
    for (std::int64_t first = 0; first < n; first += panel) {
      const std::int64_t count = std::min(panel, n - first);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t j = first + i, from = line_of(j), next = line_of(j + 1);
        T *const v = left + 2 * i * stride, *const w = v + stride;
        std::fill(v, w + stride, T(0));
        std::copy(a + j * (stride + 1), a + j * stride + n, v + j);
        for (std::int64_t k = 0; k < 2 * i; ++k) weights[k] = -right[k * stride + j];
        kernel.add_rows(left + from, 2 * i, stride, weights, stride - from, v + from);
        diagonal[j] = v[j];
        if (j + 1 == n) break;
        std::fill(v + from, v + j + 1, T(0));
        kernel.make_reflection(v, j + 1, n, factors + j, beside + j);
        std::copy(v + j + 1, v + n, a + j * (stride + 1) + 1);

        multiply_symmetric(a + next * (stride + 1), j + 1 - next, n - next, stride, v + next,
                           stride - next, w + next, parts);
        kernel.row_products(right + next, 2 * i, stride, v + next, stride - next, weights);
        for (std::int64_t k = 0; k < 2 * i; ++k) weights[k] = -weights[k];
        kernel.add_rows(left + next, 2 * i, stride, weights, stride - next, w + next);
        std::fill(w + next, w + j + 1, T(0));
        T along;
        kernel.row_products(w + next, 1, stride, v + next, stride - next, &along);
        const T tau = factors[j], part = T(-0.5) * tau * along;
        for (std::int64_t c = next; c < stride; ++c) w[c] = tau * (w[c] + part * v[c]);
        std::copy(w, w + stride, right + 2 * i * stride);
        std::copy(v, v + stride, right + (2 * i + 1) * stride);
      }
      // What is far below the diagonal is not read again.
      constexpr std::int64_t block = 128;
      for (std::int64_t top = first + count; top < n; top += block) {
        multiply<T>(transpose, std::min(block, n - top), n - top, 2 * count, T(-1), left + top,
                    stride, right + top, stride, T(1), a + top * (stride + 1), stride);
      }
    }
  }

  // SmallMatrixKernels::triangularize.
  void triangularize(T* a, std::int64_t m, std::int64_t n, std::int64_t stride, T* factors,
                     T* room) const {
    if (small) {
      kernel.triangularize(a, m, n, stride, factors, room);
      return;
    }
    for (std::int64_t first = 0; first < std::min(m, n); first += together) {
      const std::int64_t count = std::min({together, m - first, n - first}), rows = m - first;
      const std::int64_t width = whole_lines(count), rest = first + count;
      T* const columns = a + first * (stride + 1);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy(columns + r * stride, columns + r * stride + count, room + r * width);
        std::fill(room + r * width + count, room + (r + 1) * width, T(0));
      }
      kernel.triangularize(room, rows, count, width, factors + first, room + rows * width);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::copy(room + r * width, room + r * width + count, columns + r * stride);
      }
      if (rest < n) {
        const Together h(*this, columns, stride, 1, count, rows, factors + first, stride, room);
        h.apply(transpose, columns + count, n - rest, stride);
      }
    }
  }

  // SmallMatrixKernels::turn.
  void turn(const T* vectors, std::int64_t step, std::int64_t next, std::int64_t count,
            std::int64_t shift, const T* factors, T* z, std::int64_t m, std::int64_t columns,
            std::int64_t stride, bool identity, T* room) const {
    if (small) {
      kernel.turn(vectors, step, next, count, shift, factors, z, m, stride, identity, room);
      return;
    }
    for (std::int64_t first = (count - 1) / together * together; first >= 0; first -= together) {
      const std::int64_t top = first + shift, before = identity ? top : 0;
      const Together h(*this, vectors + top * step + first * next, step, next,
                       std::min(together, count - first), m - top, factors + first, stride, room);
      h.apply(no_transpose, z + top * stride + before, columns - before, stride);
    }
  }

 private:
  static constexpr std::int64_t line = 64 / sizeof(T);
  static constexpr std::int64_t band = 64;  // rows of a symmetric matrix for one thread
  const bool small;
  const std::int64_t together;  // columns, or reflections, at most a panel

  static std::int64_t whole_lines(std::int64_t n) { return (n + line - 1) / line * line; }
  // Where the line starts that holds item i.
  static std::int64_t line_of(std::int64_t i) { return i / line * line; }

  // The product of so many reflections, I - transpose(v) t v. Number r of the v of reflection k
  // stands at vectors[r * step + k * next], but for zeros before its first number, k, which is 1.
  class Together {
   public:
    Together(const Reflections& owner, const T* vectors, std::int64_t step, std::int64_t next,
             std::int64_t used, std::int64_t length, const T* factors, std::int64_t widest, T* room)
        : count(used), rows(length), v_stride(whole_lines(length)), v(room) {
      once = v + panel * v_stride;
      twice = once + panel * widest;
      t = twice + panel * widest;
      T* const products = t + panel * panel;
      std::fill(t, products, T(0));
      for (std::int64_t k = 0; k < count; ++k) {
        T* const row = v + k * v_stride;
        std::fill(row, row + k, T(0));
        row[k] = 1;
        const T* from = vectors + (k + 1) * step + k * next;
        for (std::int64_t r = k + 1; r < rows; ++r, from += step) row[r] = *from;
        std::fill(row + rows, row + v_stride, T(0));
        owner.kernel.row_products(v, k, v_stride, row, v_stride, products);
        for (std::int64_t i = 0; i < k; ++i) {
          T sum = 0;
          for (std::int64_t l = i; l < k; ++l) sum += t[i * panel + l] * products[l];
          t[i * panel + k] = -factors[k] * sum;
        }
        t[k * panel + k] = factors[k];
      }
    }
    // z becomes its product with z, or that of what it is the transpose of.
    void apply(BlasTranspose transposed, T* z, std::int64_t columns, std::int64_t stride) const {
      multiply<T>(no_transpose, count, columns, rows, T(1), v, v_stride, z, stride, T(0), once,
                  stride);
      multiply<T>(transposed, count, columns, count, T(1), t, panel, once, stride, T(0), twice,
                  stride);
      multiply<T>(transpose, rows, columns, count, T(-1), v, v_stride, twice, stride, T(1), z,
                  stride);
    }

   private:
    std::int64_t count, rows, v_stride;
    T *v, *once, *twice, *t;
  };

  // The products of the rows from `first` to n of a symmetric matrix and v, whose numbers before
  // `first` are zeros. Each element beside the diagonal is read once, in bands of rows whose parts
  // of the sums are added in their order.
  void multiply_symmetric(const T* z, std::int64_t first, std::int64_t n, std::int64_t stride,
                          const T* v, std::int64_t count, T* products, T* parts) const {
    const std::int64_t bands = (n + band - 1) / band;
    parallel_for(bands, n * count * sizeof(T) / 2, [&](std::int64_t b) {
      T* const sums = parts + b * count;
      std::fill(sums + b * band, sums + count, T(0));
      kernel.symmetric_products(z, std::max(first, b * band), std::min(n, (b + 1) * band), stride,
                                v, count, products, sums);
    });
    for (std::int64_t b = 0; b < bands; ++b) {
      const T one = 1;
      kernel.add_rows(parts + b * (count + band), 1, count, &one, count - b * band,
                      products + b * band);
    }
  }
  // The kernels' add_rows in strips, and row_products in blocks of rows, for several threads.
  void add_all_rows(const T* z, std::int64_t rows, std::int64_t stride, const T* weights,
                    std::int64_t count, T* sums) const {
    constexpr std::int64_t strip = 8 * line, size = sizeof(T);
    const std::int64_t work = rows * count * size;
    if (work < 2 * parallel_grain) return kernel.add_rows(z, rows, stride, weights, count, sums);
    parallel_for((count + strip - 1) / strip, work, [&](std::int64_t i) {
      kernel.add_rows(z + i * strip, rows, stride, weights, std::min(strip, count - i * strip),
                      sums + i * strip);
    });
  }
  void multiply_all_rows(const T* z, std::int64_t rows, std::int64_t stride, const T* v,
                         std::int64_t count, T* products) const {
    constexpr std::int64_t block = 32, size = sizeof(T);
    parallel_for((rows + block - 1) / block, rows * count * size, [&](std::int64_t i) {
      kernel.row_products(z + i * block * stride, std::min(block, rows - i * block), stride, v,
                          count, products + i * block);
    });
  }
};

}  // namespace arrayx::cpu
