// Matrix products: tiles of our own for integers and for all but the largest floating matrices, for
// which a call of OpenBLAS packs more than it gains; kernels for few rows or columns and for short
// rows by a vector; OpenBLAS for the rest, transposed views by its flags. A stack of small products
// is spread over the threads.
#include <algorithm>
#include <complex>
#include <cstring>
#include <tuple>
#include <vector>

#include "blas.hpp"
#include "block_loop.hpp"
#include "parallel.hpp"
#include "tiles.hpp"

namespace arrayx::cpu {

namespace {

// A matrix as BLAS takes it: rows `leading` apart, possibly transposed.
struct Matrix {
  const char* data;
  std::int64_t leading;
  bool transposed;
};

// Whether a rows × columns matrix with these strides (in items) needs no packing.
bool blas_ready(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                std::int64_t column_stride, Matrix& out) {
  const std::int64_t by_rows = rows == 1 ? columns : row_stride;
  const std::int64_t by_columns = columns == 1 ? rows : column_stride;
  if ((column_stride == 1 || columns == 1) && by_rows >= std::max<std::int64_t>(columns, 1)) {
    out.leading = by_rows;
    out.transposed = false;
    return true;
  }
  if ((row_stride == 1 || rows == 1) && by_columns >= std::max<std::int64_t>(rows, 1)) {
    out.leading = by_columns;
    out.transposed = true;
    return true;
  }
  return false;
}

// Adds `count` vectors of `items` numbers, which lie one after the other, in pairs; the first
// becomes their sum.
void add_in_pairs(DType dtype, char* vectors, std::int64_t count, std::int64_t items) {
  const std::int64_t bytes = items * itemsize(dtype);
  const MergeKernel merge =
      kernels().reduce.merge[static_cast<int>(Reduction::sum)][static_cast<int>(dtype)];
  for (std::int64_t step = 1; step < count; step *= 2) {
    for (std::int64_t i = 0; i + step < count; i += 2 * step) {
      merge(vectors + i * bytes, vectors + (i + step) * bytes, items);
    }
  }
}

// The vector a @ x, where a has `rows` rows of `depth` numbers and those of x are `x_step` apart.
// Large matrices of real numbers are cut into pieces for our own threads. Of at most 2^18 numbers,
// which OpenBLAS takes on one: for more it uses its own, and waits until all of them have run. Long
// rows are read straight on by our own kernels, which take four fifths of the time: of pieces that
// are cut so that x, or what the rows of a transposed matrix are added up in, stays in the first
// cache. The pieces' results are added in pairs.
template <class Scale>
void vector_product(Blas::Gemv<Scale> gemv, Scale one, Scale zero, const Matrix& a,
                    std::int64_t rows, std::int64_t depth, const char* x, std::int64_t x_step,
                    char* y) {
  const auto call = [&](const char* data, std::int64_t rows_of_piece, std::int64_t depth_of_piece,
                        const char* from, char* to) {
    gemv(row_major, a.transposed ? transpose : no_transpose,
         a.transposed ? depth_of_piece : rows_of_piece,
         a.transposed ? rows_of_piece : depth_of_piece, one, data, a.leading, from, x_step, zero,
         to, 1);
  };
  if constexpr (!std::is_floating_point_v<Scale>) {
    call(a.data, rows, depth, x, y);
  } else {
    constexpr std::int64_t size = sizeof(Scale), long_row = 1024, few = 8;
    constexpr std::int64_t piece = 1 << 15, most = 1 << 18;  // numbers
    const DotsKernel dots = kernels().dots[size == 8];
    const WeightedRowsKernel weighted_rows = kernels().weighted_rows[size == 8];
    if (rows <= 2 * piece / depth) return call(a.data, rows, depth, x, y);
    const bool straight =
        (a.transposed ? rows : depth) * size >= long_row && (a.transposed ? depth : rows) >= few;
    const std::int64_t height =
        std::min(rows, a.transposed ? (16 << 10) / size : std::max(few, piece / depth));
    const std::int64_t panels = (rows - 1) / height + 1;
    const std::int64_t length =
        a.transposed ? std::min(std::max(depth * panels / 8, piece / height), most / height)
                     : piece / height;
    const std::int64_t cuts = (depth - 1) / length + 1;
    StorageRef packed, sums;
    if (x_step != 1) {
      packed = allocate(checked_bytes(depth, size));
      char* const to = static_cast<char*>(packed->data);
      kernels().copy[item_class(size)](x, {0, x_step * size}, to, {0, size}, 1, depth);
      x = to;
      x_step = 1;
    }
    if (cuts > 1) sums = allocate(checked_bytes(cuts * rows, size));
    char* const target = cuts > 1 ? static_cast<char*>(sums->data) : y;
    parallel_for(panels * cuts, rows * (depth + 1) * size, [&](std::int64_t i) {
      const std::int64_t row = i % panels * height, cut = i / panels;
      const std::int64_t at = cut * length;
      const std::int64_t first = a.transposed ? at * a.leading + row : row * a.leading + at;
      const std::int64_t here = std::min(height, rows - row), deep = std::min(length, depth - at);
      char* const to = target + (cut * rows + row) * size;
      if (straight && a.transposed) {
        weighted_rows(
            {a.data + first * size, a.leading, x + at * size, 0, to, 0, 1, 1, here, deep});
      } else if (straight) {
        dots({a.data + first * size, a.leading, x + at * size, 0, to, 1, 1, here, 1, deep});
      } else {
        call(a.data + first * size, here, deep, x + at * size, to);
      }
    });
    if (cuts == 1) return;
    add_in_pairs(std::is_same_v<Scale, float> ? DType::float32 : DType::float64, target, cuts,
                 rows);
    std::memcpy(y, target, static_cast<std::size_t>(rows * size));
  }
}

template <class Scale>
void product(Blas::Gemm<Scale> gemm, Blas::Gemv<Scale> gemv, Scale one, Scale zero, const Matrix& a,
             const Matrix& b, char* c, std::int64_t m, std::int64_t n, std::int64_t k) {
  const int ta = a.transposed ? transpose : no_transpose;
  const int tb = b.transposed ? transpose : no_transpose;
  // A vector's k items are apart by its leading dimension unless they lie along one row.
  if (n == 1) {
    vector_product(gemv, one, zero, a, m, k, b.data, b.transposed ? 1 : b.leading, c);
  } else if (m == 1) {
    const Matrix columns{b.data, b.leading, !b.transposed};
    vector_product(gemv, one, zero, columns, n, k, a.data, a.transposed ? a.leading : 1, c);
  } else {
    gemm(row_major, ta, tb, m, n, k, one, a.data, a.leading, b.data, b.leading, zero, c, n);
  }
}

void blas_product(DType dtype, const Matrix& a, const Matrix& b, char* c, std::int64_t m,
                  std::int64_t n, std::int64_t k) {
  static constexpr double one64[2] = {1, 0}, zero64[2] = {0, 0};
  static constexpr float one32[2] = {1, 0}, zero32[2] = {0, 0};
  const Blas& f = blas();
  switch (dtype) {
    case DType::float32:
      return product(f.sgemm, f.sgemv, 1.0F, 0.0F, a, b, c, m, n, k);
    case DType::float64:
      return product(f.dgemm, f.dgemv, 1.0, 0.0, a, b, c, m, n, k);
    case DType::complex64:
      return product<const void*>(f.cgemm, f.cgemv, one32, zero32, a, b, c, m, n, k);
    default:
      return product<const void*>(f.zgemm, f.zgemv, one64, zero64, a, b, c, m, n, k);
  }
}

// c[i][j] = c[j][i] below the diagonal of an n × n matrix.
template <class T>
void mirror(T* c, std::int64_t n) {
  constexpr std::int64_t tile = 32;  // rows and columns that the L1 cache holds
  const std::int64_t tiles = (n + tile - 1) / tile;
  parallel_for(tiles, n * n * static_cast<std::int64_t>(sizeof(T)), [&](std::int64_t t) {
    for (std::int64_t column = 0; column <= t * tile; column += tile) {
      for (std::int64_t i = t * tile; i < std::min(n, (t + 1) * tile); ++i) {
        for (std::int64_t j = column; j < std::min(i, column + tile); ++j) {
          c[i * n + j] = c[j * n + i];
        }
      }
    }
  });
}

// x @ transpose(x): half a product, and its mirror image.
template <class T, class Scale>
void symmetric_product(Blas::Syrk<Scale> syrk, Scale one, Scale zero, const Matrix& a, char* c,
                       std::int64_t n, std::int64_t k) {
  syrk(row_major, upper, a.transposed ? transpose : no_transpose, n, k, one, a.data, a.leading,
       zero, c, n);
  mirror(reinterpret_cast<T*>(c), n);
}

void symmetric_product(DType dtype, const Matrix& a, char* c, std::int64_t n, std::int64_t k) {
  static constexpr double one64[2] = {1, 0}, zero64[2] = {0, 0};
  static constexpr float one32[2] = {1, 0}, zero32[2] = {0, 0};
  const Blas& f = blas();
  switch (dtype) {
    case DType::float32:
      return symmetric_product<float>(f.ssyrk, 1.0F, 0.0F, a, c, n, k);
    case DType::float64:
      return symmetric_product<double>(f.dsyrk, 1.0, 0.0, a, c, n, k);
    case DType::complex64:
      return symmetric_product<std::complex<float>, const void*>(f.csyrk, one32, zero32, a, c, n,
                                                                 k);
    default:
      return symmetric_product<std::complex<double>, const void*>(f.zsyrk, one64, zero64, a, c, n,
                                                                  k);
  }
}

// Whether the product of m rows with a column is better one of sums of products: of narrow
// integers, and of one long row.
bool is_of_sums(DType dtype, std::int64_t m, std::int64_t k) {
  constexpr std::int64_t few = 4096;
  if (is_integer(dtype)) return m * k > few && (m == 1 || itemsize(dtype) < 8);
  return m == 1 && !is_complex(dtype) && k * itemsize(dtype) > short_dots_bytes;
}

// a[…, m, k] @ b[…, k, 1] as sums of products of rows with the column.
void column_product(const Operand& a, const Operand& b, const Operand& out) {
  const int nd = out.layout->ndim();
  const Layout& rows = *a.layout;
  Layout results = *out.layout;
  results.shape.pop_back();
  results.strides.pop_back();
  Layout column = *b.layout;
  std::swap(column.strides[nd - 2], column.strides[nd - 1]);
  column.strides[nd - 2] = 0;
  column.shape = rows.shape;
  column.size = rows.size;
  Operand y = b, sums = out;
  y.layout = &column;
  sums.layout = &results;
  vecdot(a, y, false, sums);
}

// Whether our kernel is done with a product of floating dtypes before OpenBLAS. (Measured on Zen 4:
// it is twice as fast for 8 × 8 matrices, and no slower up to 24 × 24, complex ones 32 × 32, with
// any number of rows; up to 48 × 48 where rows are whole vectors. OpenBLAS's threads wait for each
// other before each product.) Rows of less than 8 items take as long as those of 8, and a single
// column has little for vectors.
bool is_small(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t most = 64;  // so that nothing overflows, and sums need no splitting
  if (n > most || k > most) return false;
  if (m > most && n < 8) return false;
  if (n == 1) return m * k <= 64;
  const bool whole_vectors = n * itemsize(dtype) % 64 == 0;
  const std::int64_t side = is_complex(dtype) ? 32 : whole_vectors ? 48 : 24;
  return std::min(m, side) * k * std::max<std::int64_t>(n, 8) <= side * side * side;
}

// Whether a product is of few long rows with few long columns, of which a row fills (half) vectors.
// It is read at the speed of memory in pieces. (OpenBLAS takes two to three times as long; with
// other numbers of columns it is the faster one.)
bool is_skinny(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t b_column) {
  const std::int64_t row = n * itemsize(dtype);
  return !is_complex(dtype) && b_column == 1 && m > 1 && m <= 16 && row % 32 == 0 && row <= 128 &&
         k >= 1024;
}

// Whether a product is of few columns with long rows, or the same transposed. Rows that do not lie
// next to each other may be packed, but not where that takes as long as the product. (OpenBLAS
// takes two to three times as long.)
bool is_of_dots(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool a_along,
                bool b_along) {
  constexpr std::int64_t few = 8, packed = 16;
  if (is_complex(dtype) || m == 1 || n == 1 || k < 512) return false;
  if (std::min(m, n) > few && (std::max(m, n) > packed || !a_along || !b_along)) return false;
  return (a_along || m <= packed) && (b_along || n <= packed);
}

// Whether rows of `depth` numbers, which are real, are summed up side by side. (OpenBLAS takes up
// to twice as long, but is the faster one for less than four and for long rows.)
bool are_short_rows(DType dtype, std::int64_t depth) {
  return !is_complex(dtype) && depth >= 4 && depth * itemsize(dtype) <= short_dots_bytes &&
         kernels().multiplies_large;
}

// A stack of matrices of such rows by a vector each, whose numbers are `step` apart. Of a matrix
// whose rows do not lie along memory, at most `most` numbers are copied.
struct ShortRows {
  static constexpr std::int64_t most = 64;
  std::int64_t rows, depth, row, column, step;  // strides in items
};

template <class At>
void short_rows_products(DType dtype, std::int64_t batches, const ShortRows& each, const At& at) {
  constexpr std::int64_t piece = 1 << 15, together = 16;  // numbers, rows
  const std::int64_t size = itemsize(dtype), rows = each.rows, depth = each.depth;
  const DotsKernel dots = kernels().dots[size == 8];
  const CopyKernel copy = kernels().copy[item_class(size)];
  const std::int64_t height = (piece / depth / together + 1) * together;  // what is copied has less
  const std::int64_t panels = (rows - 1) / height + 1;
  const std::int64_t per_chunk =
      panels > 1 ? 1 : std::max<std::int64_t>(1, 2 * piece / (rows * depth));
  const std::int64_t chunks = (batches - 1) / per_chunk + 1;
  parallel_for(chunks * panels, batches * rows * (depth + 1) * size, [&](std::int64_t c) {
    const std::int64_t first = c % panels * height, here = std::min(height, rows - first);
    const std::int64_t last = std::min(batches, (c / panels + 1) * per_chunk);
    for (std::int64_t i = c / panels * per_chunk; i < last; ++i) {
      alignas(64) char vector[short_dots_bytes], matrix[ShortRows::most * sizeof(double)];
      const auto [a, x, y] = at(i);
      DotsJob job{
          a + first * each.row * size, each.row, x, 0, y + first * size, 1, 1, here, 1, depth};
      if (each.step != 1) {
        copy(x, {0, each.step * size}, vector, {0, size}, 1, depth);
        job.b = vector;
      }
      if (each.column != 1) {
        copy(a, {each.row * size, each.column * size}, matrix, {depth * size, size}, rows, depth);
        job.a = matrix;
        job.a_row = depth;
      }
      dots(job);
    }
  });
}

// One such product; few rows are cut, and the pieces' sums added in pairs.
void dots_product(DType dtype, DotsJob whole, char* out) {
  constexpr std::int64_t piece = 1 << 14;
  const std::int64_t size = itemsize(dtype), items = whole.m * whole.n, k = whole.k;
  const DotsKernel kernel = kernels().dots[dtype == DType::float64];
  // The kernel keeps the other operand, and reads the rows of the larger one.
  if (whole.m < whole.n) {
    std::swap(whole.a, whole.b);
    std::swap(whole.a_row, whole.b_row);
    std::swap(whole.m, whole.n);
    std::swap(whole.c_row, whole.c_column);
  }
  const std::int64_t cuts = whole.m <= 16 ? (k - 1) / piece + 1 : 1;
  const std::int64_t length = cuts > 1 ? piece : k;
  const std::int64_t height = std::max<std::int64_t>(4, parallel_grain / (length * size) / 4 * 4);
  const std::int64_t chunks = (whole.m - 1) / height + 1;
  const StorageRef memory = cuts > 1 ? allocate(checked_bytes(cuts * items, size)) : StorageRef();
  char* const target = cuts > 1 ? static_cast<char*>(memory->data) : out;
  parallel_for(chunks * cuts, (whole.m + whole.n) * k * size, [&](std::int64_t i) {
    const std::int64_t row = i % chunks * height, cut = i / chunks;
    DotsJob job = whole;
    job.a = static_cast<const char*>(whole.a) + (row * whole.a_row + cut * length) * size;
    job.b = static_cast<const char*>(whole.b) + cut * length * size;
    job.c = target + (cut * items + row * whole.c_row) * size;
    job.m = std::min(height, whole.m - row);
    job.k = std::min(length, k - cut * length);
    kernel(job);
  });
  if (cuts == 1) return;
  add_in_pairs(dtype, target, cuts, items);
  std::memcpy(out, target, items * size);
}

// Whether a product is of few rows with a large matrix, which is read once, row by row. (OpenBLAS
// packs it first.)
bool is_of_few_rows(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                    std::int64_t b_column) {
  return !is_complex(dtype) && b_column == 1 && m > 1 && m <= 8 && n >= 64 &&
         k * n * itemsize(dtype) >= 1 << 20;
}

// One such product: the matrix is cut into pieces of rows for the threads, whose results are added
// in pairs, and rows into panels, of which c's stay in the caches.
void few_rows_product(DType dtype, const MatmulJob& whole, char* out) {
  constexpr std::int64_t depth = 8;  // rows of b read side by side
  constexpr std::int64_t piece = 1 << 20, most_cuts = 16, panel = 1 << 14;
  const std::int64_t size = itemsize(dtype), items = whole.m * whole.n, k = whole.k;
  const std::int64_t wanted = std::min(most_cuts, whole.n * k * size / piece);
  const std::int64_t length = ((k - 1) / wanted / depth + 1) * depth, cuts = (k - 1) / length + 1;
  const std::int64_t width = panel / size, panels = (whole.n - 1) / width + 1;
  const StorageRef memory = allocate(checked_bytes(cuts * items, size));
  char* const sums = static_cast<char*>(memory->data);
  const MatmulKernel kernel = kernels().matmul[static_cast<int>(dtype)];
  parallel_for(cuts * panels, whole.n * k * size, [&](std::int64_t i) {
    const std::int64_t cut = i / panels, column = i % panels * width;
    MatmulJob job = whole;
    job.n = std::min(width, whole.n - column);
    job.c = sums + (cut * items + column) * size;
    for (std::int64_t k0 = cut * length; k0 < std::min(k, (cut + 1) * length); k0 += depth) {
      job.k = std::min(depth, k - k0);
      job.a = static_cast<const char*>(whole.a) + k0 * whole.a_column * size;
      job.b = static_cast<const char*>(whole.b) + (k0 * whole.b_row + column) * size;
      job.add = k0 > cut * length;
      kernel(job);
    }
  });
  add_in_pairs(dtype, sums, cuts, items);
  std::memcpy(out, sums, items * size);
}

// The operand's matrices packed row-major into fresh memory; batch dimensions of stride zero stay
// so.
Array packed(const Operand& x) {
  const Layout& in = *x.layout;
  const int n = in.ndim();
  Dims shape = in.shape;
  for (int d = 0; d < n - 2; ++d) {
    if (in.strides[d] == 0) shape[d] = 1;
  }
  Array out = new_array(Layout::contiguous(shape), x.dtype);
  Layout source = in;
  source.shape = shape;
  source.size = out.size();
  Operand from = x;
  from.layout = &source;
  copy(from, out);
  out.layout = broadcast_to(out.layout, in.shape);
  return out;
}

// Whether our tiles are no slower than OpenBLAS: everywhere but in very large products.
bool is_tiled(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t most = 1 << 29;
  return kernels().multiplies_large && m > 1 && n > 1 && m * n <= most / k;
}

// Products by our own tiles: rows of all of them in chunks for the threads, which share a large b
// by columns, too, where there are few rows. How they are cut does not show in the results: each
// element adds its products in order, matmul_depth at a time. Deep products with small results, of
// which there are few such chunks, are cut into pieces, whose results are added in pairs.
template <class Offset>
void tiled_product(const Operand& a, const Operand& b_in, const Operand& out,
                   const Offset& batch_offset) {
  const Layout &result = *out.layout, &al = *a.layout, &bl = *b_in.layout;
  const int nd = result.ndim();
  const std::int64_t size = itemsize(out.dtype);
  const std::int64_t m = result.shape[nd - 2], n = result.shape[nd - 1], k = al.shape[nd - 1];
  const std::int64_t batches = result.size / (m * n);
  // Panels of what is not contiguous are packed by each chunk; all of it at once for many of those,
  // and where it is many small matrices.
  Array b_copy;
  Operand b = b_in;
  const bool scattered = n > 1 && bl.strides[nd - 1] != 1;
  if (scattered && (m > 1024 || (batches > 1 && n * k <= 16))) {
    b_copy = packed(b_in);
    b = Operand(b_copy);
  }
  const Layout& rows = *b.layout;
  // A product of few multiplications takes as long as reading and writing its rows, and no row
  // less than 5 ns.
  constexpr std::int64_t row_cost = 100;
  const std::int64_t cost = m * std::max({n * k / 2, (n + k) * size, row_cost});
  std::int64_t per_chunk = std::max<std::int64_t>(1, parallel_grain / 4 / cost);
  // Several even of larger ones: what one reads is asked for during the one before.
  constexpr std::int64_t several = 8, cached_bytes = 1 << 20;
  if (cost <= parallel_grain && per_chunk < several) {
    per_chunk = std::clamp(batches / (4 * thread_count()), per_chunk, several);
  }
  // Rows whose part of a stays in the L2 cache beside a panel of b, fewer where little is added up
  // and rows of c are written soon after each other; and columns that are worth another reading of
  // it.
  constexpr std::int64_t most_rows = 256, half_symmetric = 128, few_rows = 32, few_products = 64;
  constexpr std::int64_t part_of_result = 1 << 16;          // bytes
  constexpr std::int64_t panel = 192, panels = 10 * panel;  // bytes of a row of b
  const bool symmetric = a.data == b_in.data && al.strides[nd - 2] == bl.strides[nd - 1] &&
                         al.strides[nd - 1] == bl.strides[nd - 2] && m == n && batches == 1 &&
                         n > half_symmetric;
  std::int64_t height = per_chunk > 1       ? m
                        : symmetric         ? half_symmetric
                        : k <= few_products ? std::max(few_rows, part_of_result / (n * size))
                                            : most_rows,
               width = n;
  if (per_chunk == 1 && !symmetric) {
    const std::int64_t wanted = 4 * thread_count();
    const auto too_few = [&] {
      return wanted > 4 && batches * ((m - 1) / height + 1) * ((n - 1) / width + 1) < wanted;
    };
    while (too_few() && width * size > 2 * panels) {
      width = (width / 2 * size / panel + 1) * panel / size;
    }
    while (too_few() && height > few_rows) height /= 2;
  }
  const std::int64_t by_rows = (m - 1) / height + 1, chunks = by_rows * ((n - 1) / width + 1);
  constexpr std::int64_t least_depth = 8 * matmul_depth, most_pieces = 64;
  constexpr std::int64_t small_result = 1 << 16;  // bytes
  std::int64_t depth = k, pieces = 1;
  if (k > least_depth && !is_integer(out.dtype) && !symmetric && m * n * size <= small_result) {
    depth = std::max(least_depth, ((k - 1) / most_pieces / matmul_depth + 1) * matmul_depth);
    pieces = (k - 1) / depth + 1;
  }
  StorageRef memory;
  if (pieces > 1) memory = allocate(checked_bytes(pieces * result.size, size));
  char* const sums = pieces > 1 ? static_cast<char*>(memory->data) : nullptr;
  const std::int64_t line = nd > 2 ? result.shape[nd - 3] : 1;  // products evenly spaced
  MatmulJob each{};
  each.a_row = al.strides[nd - 2];
  each.a_column = al.strides[nd - 1];
  each.b_row = rows.strides[nd - 2];
  each.b_column = rows.strides[nd - 1];
  if (scattered && !b_copy.storage) each.copy = kernels().copy[item_class(itemsize(out.dtype))];
  each.c_row = n;
  if (nd > 2) {
    each.a_next = al.strides[nd - 3];
    each.b_next = rows.strides[nd - 3];
    each.c_next = sums ? m * n : result.strides[nd - 3];
  }
  each.distant = batches * (m + n) * k * size > cached_bytes;
  // Where lines of a transposed a are far apart, a tile reads a part of each: what a chunk needs of
  // them is copied, so that they do not compete for the same places of a cache.
  constexpr std::int64_t few_lines = 128, far = 1 << 10, most_scattered = 1 << 19;  // bytes
  const bool lined = each.a_column != 1 && each.a_column * size >= far && per_chunk == 1 &&
                     k > few_lines && m * k * size > most_scattered;
  const std::int64_t line_of_a = (((std::min(height, m) * size - 1) / 64 + 1) | 1) * 64;
  const CopyKernel copy = kernels().copy[item_class(size)];
  const MatmulKernel kernel = kernels().matmul[static_cast<int>(out.dtype)];
  const std::int64_t groups = (batches + per_chunk - 1) / per_chunk;
  parallel_for(pieces * groups * chunks, batches * cost, [&](std::int64_t item) {
    const std::int64_t c = pieces > 1 ? item / pieces : item, part = item - c * pieces;
    const std::int64_t end = std::min(k, (part + 1) * depth);
    const std::int64_t row = c % by_rows * height;
    const std::int64_t column = symmetric ? row : c % chunks / by_rows * width;
    const std::int64_t last = std::min(batches, (c / chunks + 1) * per_chunk);
    for (std::int64_t i = c / chunks * per_chunk; i < last;) {
      MatmulJob job = each;
      job.m = std::min(height, m - row);
      job.n = std::min(width, n - column);
      job.count = std::min(last - i, line - i % line);
      char* const target =
          sums ? sums + (part * batches + i) * m * n * size : out.data + batch_offset(result, i);
      for (std::int64_t k0 = part * depth; k0 < end; k0 += matmul_depth) {
        job.k = std::min(matmul_depth, end - k0);
        job.a = a.data + batch_offset(al, i) + (row * each.a_row + k0 * each.a_column) * size;
        job.b = b.data + batch_offset(rows, i) + (k0 * each.b_row + column * each.b_column) * size;
        job.c = target + (row * n + column) * size;
        job.add = k0 > part * depth;
        // Of lines or rows that follow each other, those to come are asked for.
        if (each.distant && k0 + job.k < end) {
          const std::int64_t to_come = std::min(matmul_depth, end - k0 - job.k);
          if (each.a_row == 1 && 2 * job.m >= each.a_column) {
            job.next_a = static_cast<const char*>(job.a) + job.k * each.a_column * size;
            job.next_a_bytes = to_come * each.a_column * size;
          }
          if (!each.copy && 2 * job.n >= each.b_row) {
            job.next_b = static_cast<const char*>(job.b) + job.k * each.b_row * size;
            job.next_b_bytes = to_come * each.b_row * size;
          }
        } else {
          job.next_a_bytes = job.next_b_bytes = 0;
        }
        if (lined) {
          char* const lines = thread_scratch(line_of_a * job.k);
          copy(static_cast<const char*>(job.a), {each.a_column * size, each.a_row * size}, lines,
               {line_of_a, size}, job.k, job.m);
          job.a = lines;
          job.a_row = 1;
          job.a_column = line_of_a / size;
        }
        kernel(job);
      }
      i += job.count;
    }
  });
  if (sums) {
    add_in_pairs(out.dtype, sums, pieces, result.size);
    for (std::int64_t i = 0; i < batches; ++i) {
      std::memcpy(out.data + batch_offset(result, i), sums + i * m * n * size, m * n * size);
    }
  }
  if (!symmetric) return;
  dispatch(out.dtype, [&](auto zero) { mirror(reinterpret_cast<decltype(zero)*>(out.data), n); });
}

}  // namespace

void matmul(const Operand& a_in, const Operand& b_in, const Operand& out) {
  const Layout& result = *out.layout;
  const int nd = result.ndim(), size = itemsize(out.dtype);
  const std::int64_t m = result.shape[nd - 2], n = result.shape[nd - 1];
  const std::int64_t k = a_in.layout->shape[nd - 1];
  if (result.size == 0) return;
  const std::int64_t batches = result.size / (m * n);
  const auto batch_offset = [&](const Layout& l, std::int64_t batch) {
    std::int64_t offset = 0;
    int d = nd - 3;
    for (; d > 0; --d) {
      offset += batch % result.shape[d] * l.strides[d];
      batch /= result.shape[d];
    }
    return d < 0 ? 0 : (offset + batch * l.strides[0]) * size;
  };
  if (k == 0) {
    for (std::int64_t i = 0; i < batches; ++i) {
      std::memset(out.data + batch_offset(result, i), 0, m * n * size);
    }
    return;
  }
  if (n == 1 && is_of_sums(out.dtype, m, k)) return column_product(a_in, b_in, out);
  const Layout &al = *a_in.layout, &bl = *b_in.layout;
  const bool skinny = is_skinny(out.dtype, m, n, k, bl.strides[nd - 1]);
  if (!skinny && is_of_few_rows(out.dtype, m, n, k, bl.strides[nd - 1])) {
    MatmulJob job{};
    job.a_row = al.strides[nd - 2];
    job.a_column = al.strides[nd - 1];
    job.b_row = bl.strides[nd - 2];
    job.c_row = job.n = n;
    job.m = m;
    job.k = k;
    job.count = 1;
    for (std::int64_t i = 0; i < batches; ++i) {
      job.a = a_in.data + batch_offset(al, i);
      job.b = b_in.data + batch_offset(bl, i);
      few_rows_product(out.dtype, job, out.data + batch_offset(result, i));
    }
    return;
  }
  const bool a_along = al.strides[nd - 1] == 1, b_along = bl.strides[nd - 2] == 1;
  const bool of_dots = is_of_dots(out.dtype, m, n, k, a_along, b_along);
  // Of no more than `least` numbers, tiles are as soon done; of those that may be copied, the bits
  // of the results do not depend on the layout.
  constexpr std::int64_t least = 16;
  const bool short_rows = n == 1 && are_short_rows(out.dtype, k) && (m == 1 || m * k > least) &&
                          (a_along || m * k <= ShortRows::most);
  if (skinny || is_integer(out.dtype) || (!short_rows && is_small(out.dtype, m, n, k)) ||
      (!of_dots && is_tiled(m, n, k))) {
    return tiled_product(a_in, b_in, out, batch_offset);
  }
  Array a_copy, b_copy;
  Operand a = a_in, b = b_in;
  if (of_dots) {
    Layout columns = bl;
    std::swap(columns.shape[nd - 1], columns.shape[nd - 2]);
    std::swap(columns.strides[nd - 1], columns.strides[nd - 2]);
    b.layout = &columns;
    if (!a_along) a = Operand(a_copy = packed(a));
    if (!b_along) b = Operand(b_copy = packed(b));
    const Layout &rows = *a.layout, &others = *b.layout;
    for (std::int64_t i = 0; i < batches; ++i) {
      char* const target = out.data + batch_offset(result, i);
      dots_product(
          out.dtype,
          {a.data + batch_offset(rows, i), rows.strides[nd - 2], b.data + batch_offset(others, i),
           others.strides[nd - 2], target, n, 1, m, n, k},
          target);
    }
    return;
  }
  // A vector by columns that lie along memory: the rows of the transposed matrix by it.
  const bool short_columns = m == 1 && b_along && are_short_rows(out.dtype, k);
  if (short_rows || short_columns) {
    const auto at = [&](const Operand& matrix, const Operand& vector) {
      return [&](std::int64_t i) {
        return std::tuple<const char*, const char*, char*>(
            matrix.data + batch_offset(*matrix.layout, i),
            vector.data + batch_offset(*vector.layout, i), out.data + batch_offset(result, i));
      };
    };
    if (short_rows) {
      const ShortRows each{m, k, al.strides[nd - 2], al.strides[nd - 1], bl.strides[nd - 2]};
      return short_rows_products(out.dtype, batches, each, at(a, b));
    }
    const ShortRows each{n, k, bl.strides[nd - 1], 1, al.strides[nd - 1]};
    return short_rows_products(out.dtype, batches, each, at(b, a));
  }
  Matrix am{}, bm{};
  const auto prepare = [&](Operand& x, Array& held, Matrix& matrix, std::int64_t rows,
                           std::int64_t columns) {
    const Layout& l = *x.layout;
    if (blas_ready(rows, columns, l.strides[nd - 2], l.strides[nd - 1], matrix)) return;
    held = packed(x);
    x = Operand(held);
    blas_ready(rows, columns, columns, 1, matrix);
  };
  prepare(a, a_copy, am, m, k);
  prepare(b, b_copy, bm, k, n);
  const auto at = [&](const Operand& x, Matrix matrix, std::int64_t batch) {
    matrix.data = x.data + batch_offset(*x.layout, batch);
    return matrix;
  };
  // The same numbers, transposed.
  const bool symmetric = a.data == b.data && am.transposed != bm.transposed &&
                         am.leading == bm.leading && m == n && batches == 1;
  if (symmetric) return symmetric_product(out.dtype, at(a, am, 0), out.data, n, k);
  const auto one = [&](std::int64_t i) {
    char* const target = out.data + batch_offset(result, i);
    blas_product(out.dtype, at(a, am, i), at(b, bm, i), target, m, n, k);
  };
  // OpenBLAS runs products of up to 2^18 multiplications on one thread: those are spread over ours.
  if (batches > 1 && m * n * k <= (1 << 18)) {
    const std::int64_t group = std::max<std::int64_t>(1, 65536 / (m * n * k));
    const std::int64_t work = batches * std::max(m * n * k * 2, (m * k + k * n + m * n) * size);
    parallel_for((batches + group - 1) / group, work, [&](std::int64_t g) {
      for (std::int64_t i = g * group; i < std::min(batches, (g + 1) * group); ++i) one(i);
    });
  } else {
    for (std::int64_t i = 0; i < batches; ++i) one(i);
  }
}

}  // namespace arrayx::cpu
