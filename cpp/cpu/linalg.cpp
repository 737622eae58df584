// Factorisations of stacks of matrices by OpenBLAS's LAPACK. A matrix is packed into a workspace
// first, always in the same order, so the result does not depend on its layout: row-major where the
// transposed matrix has the factors that are wanted (LAPACK, which is column-major, then writes
// rows straight into the outputs), column-major elsewhere. Small matrices are spread over our
// threads; of the smallest, which are solved, inverted or factored faster than LAPACK is called,
// several are done at once by kernels of our own. Real matrices of any size are solved and inverted
// by factors.hpp, and reflected by reflections.hpp.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "blas.hpp"
#include "engine.hpp"
#include "factors.hpp"
#include "kernels.hpp"
#include "kernels/small_matrices.hpp"
#include "parallel.hpp"
#include "reflections.hpp"

namespace arrayx::cpu {

namespace {

// ---- stacks ---------------------------------------------------------------------------------

// Up to this many elements a plain loop packs a matrix faster than the general copy is set up.
constexpr std::int64_t small_matrix = 2048;

// The matrices of an operand, in row-major order of the batch dimensions. Strides are in items.
struct Stack {
  char* data;
  const Layout& layout;
  DType dtype;
  std::int64_t rows, columns, row_stride, column_stride, count = 1;

  explicit Stack(const Operand& x) : data(x.data), layout(*x.layout), dtype(x.dtype) {
    const int n = layout.ndim();
    rows = layout.shape[n - 2];
    columns = layout.shape[n - 1];
    row_stride = layout.strides[n - 2];
    column_stride = layout.strides[n - 1];
    for (int d = 0; d < n - 2; ++d) count *= layout.shape[d];
  }
  char* at(std::int64_t i) const {
    std::int64_t offset = 0;
    for (int d = layout.ndim() - 3; d >= 0; --d) {
      offset += i % layout.shape[d] * layout.strides[d];
      i /= layout.shape[d];
    }
    return data + offset * itemsize(dtype);
  }
};

Layout matrix_layout(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                     std::int64_t column_stride) {
  Layout l;
  l.shape = Dims{rows, columns};
  l.strides = Dims{row_stride, column_stride};
  l.size = rows * columns;
  return l;
}

enum class Order { rows, columns };

// to[...] = a rows x columns matrix, in the order given, without gaps or with rows or columns that
// are `leading` items apart. `from` may be unaligned.
template <class T>
void pack(const char* from, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
          std::int64_t column_stride, T* to, Order order, std::int64_t leading = 0) {
  if (leading == 0) leading = order == Order::rows ? columns : rows;
  if (rows * columns > small_matrix) {
    const Layout source = matrix_layout(rows, columns, row_stride, column_stride);
    const Layout target = order == Order::rows ? matrix_layout(rows, columns, leading, 1)
                                               : matrix_layout(rows, columns, 1, leading);
    Operand in, out;
    in.data = const_cast<char*>(from);
    in.layout = &source;
    out.data = reinterpret_cast<char*>(to);
    out.layout = &target;
    in.dtype = out.dtype = dtype_of<T>;
    return copy(in, out);
  }
  if (order == Order::columns) {
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
  for (std::int64_t i = 0; i < rows; ++i, to += leading) {
    const char* line = from + i * row_stride * static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t j = 0; j < columns; ++j) {
      std::memcpy(to + j, line + j * column_stride * static_cast<std::int64_t>(sizeof(T)),
                  sizeof(T));
    }
  }
}

template <class T>
void pack(const Stack& x, std::int64_t i, T* to, Order order, std::int64_t leading = 0) {
  pack(x.at(i), x.rows, x.columns, x.row_stride, x.column_stride, to, order, leading);
}

// The same in rows or columns that are filled up with zeros.
template <class T>
void pack_filled(const Stack& x, std::int64_t i, T* to, Order order, std::int64_t leading) {
  pack(x, i, to, order, leading);
  const std::int64_t length = order == Order::rows ? x.columns : x.rows;
  const std::int64_t lines = order == Order::rows ? x.rows : x.columns;
  for (std::int64_t l = 0; l < lines; ++l, to += leading)
    std::fill(to + length, to + leading, T(0));
}

// A column-major matrix without gaps written row-major.
template <class T>
void unpack(const T* from, std::int64_t rows, std::int64_t columns, T* to) {
  pack(reinterpret_cast<const char*>(from), rows, columns, 1, rows, to, Order::rows);
}

// body(first, last) for bands of the rows of n × n numbers, on our threads.
template <class T, class Body>
void for_bands(std::int64_t n, const Body& body) {
  constexpr std::int64_t band = 32, size = sizeof(T);
  parallel_for((n + band - 1) / band, n * n * size,
               [&](std::int64_t i) { body(i * band, std::min(n, (i + 1) * band)); });
}

// The upper triangle of a square matrix, or its lower one transposed, to rows that are filled up
// with zeros; but for a few numbers beside the diagonal the other triangle is not read.
template <class T>
void pack_upper(const Stack& x, std::int64_t i, T* to, std::int64_t leading, bool transposed) {
  constexpr std::int64_t size = sizeof(T);
  const char* const from = x.at(i);
  const std::int64_t n = x.rows;
  Strides2D strides{x.row_stride * size, x.column_stride * size};
  if (transposed) std::swap(strides.row, strides.column);
  for_bands<T>(n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      std::fill(to + r * leading, to + r * leading + first, T(0));
      std::fill(to + r * leading + n, to + (r + 1) * leading, T(0));
    }
    kernels().copy[item_class(size)](from + first * (strides.row + strides.column), strides,
                                     reinterpret_cast<char*>(to + first * (leading + 1)),
                                     {leading * size, size}, last - first, n - first);
  });
}

// And back, or its transposed, between zeros and without gaps.
template <class T>
void unpack_upper(const T* from, std::int64_t n, std::int64_t leading, T* to, bool transposed) {
  constexpr std::int64_t size = sizeof(T);
  const CopyKernel kernel = kernels().copy[item_class(size)];
  for_bands<T>(n, [&](std::int64_t first, std::int64_t last) {
    if (transposed) {
      kernel(reinterpret_cast<const char*>(from + first), {size, leading * size},
             reinterpret_cast<char*>(to + first * n), {n * size, size}, last - first, last);
    } else {
      kernel(reinterpret_cast<const char*>(from + first * (leading + 1)), {leading * size, size},
             reinterpret_cast<char*>(to + first * (n + 1)), {n * size, size}, last - first,
             n - first);
    }
    for (std::int64_t r = first; r < last; ++r) {
      T* const row = to + r * n;
      std::fill(transposed ? row + r + 1 : row, transposed ? row + n : row + r, T(0));
    }
  });
}

template <class T>
T* output(const Operand& x, std::int64_t i, std::int64_t items) {
  return reinterpret_cast<T*>(x.data) + i * items;
}

template <class T>
void write_identity(T* to, std::int64_t n) {
  std::fill(to, to + n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T(1);
}

// Whether none of n numbers is a NaN or an infinity: their products with zero add up to zero.
template <class T>
bool all_finite(const T* x, std::int64_t n) {
  using R = typename real_part_of<T>::type;
  const R* p = reinterpret_cast<const R*>(x);
  n *= sizeof(T) / sizeof(R);
  R sums[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) sums[j] += p[i + j] * R(0);
  }
  for (; i < n; ++i) sums[0] += p[i] * R(0);
  R sum = 0;
  for (R s : sums) sum += s;
  return sum == R(0);
}

// ---- workspaces and threads -------------------------------------------------------------------

// Adds up the parts of a workspace. Each starts at a multiple of 64 bytes, and some lines after the
// end of the one before: elements at the same place in parts of whole pages would be in one set of
// a cache (bdsdc for 512 x 512 takes half as long again then).
struct Workspace {
  std::int64_t bytes = 0;

  template <class T>
  std::int64_t add(std::int64_t items) {
    const std::int64_t at = bytes;
    const std::int64_t most = std::numeric_limits<std::int64_t>::max() - 512;
    const std::int64_t part = checked_bytes(std::max<std::int64_t>(items, 1), sizeof(T));
    if (part > most - bytes) raise(ErrorKind::memory, "no room for a workspace");
    bytes += (part + 63) / 64 * 64 + 5 * 64;
    return at;
  }
};

template <class T>
T* part(char* workspace, std::int64_t at) {
  return reinterpret_cast<T*>(workspace + at);
}

// body(workspace, i) for each matrix, on our threads; false from it means that there is no result.
// Returns the first such i, or -1. `work` are the multiplications of one matrix, each of which
// takes as long as moving a few bytes where matrices are small.
template <class Body>
std::int64_t in_groups(std::int64_t count, double work, const Workspace& workspace,
                       const Body& body) {
  constexpr std::int64_t call = 2048;  // what LAPACK costs before it does anything
  const std::int64_t cost = static_cast<std::int64_t>(std::min(4 * work, 0x1p40)) + call;
  const std::int64_t group = std::max<std::int64_t>(1, (1 << 18) / cost);
  const std::int64_t groups = (count + group - 1) / group;
  std::int64_t total;
  if (__builtin_mul_overflow(count, cost, &total)) total = std::int64_t{1} << 62;
  std::atomic<std::int64_t> failed{count};
  parallel_for(groups, total, [&](std::int64_t g) {
    if (g * group > failed.load(std::memory_order_relaxed)) return;
    const StorageRef memory = allocate(workspace.bytes);
    for (std::int64_t i = g * group; i < std::min(count, (g + 1) * group); ++i) {
      if (body(static_cast<char*>(memory->data), i)) continue;
      std::int64_t first = failed.load();
      while (i < first && !failed.compare_exchange_weak(first, i)) {
      }
      return;
    }
  });
  return failed == count ? -1 : failed.load();
}

// The same, where body spreads one matrix over threads itself, by OpenBLAS's LAPACK or, of real
// numbers, by factors.hpp and reflections.hpp. `elements` are those of one matrix. Which way is
// taken depends on the shapes alone.
template <class T, class Body>
std::int64_t for_each_matrix(std::int64_t count, std::int64_t elements, double work,
                             const Workspace& workspace, const Body& body) {
  if (count <= 0) return -1;
  // Small ones gain little by threads within (OpenBLAS's own getrf starts to use them at 200 x
  // 200). Few large ones are left to the body; a stack of 16 keeps more of our threads busy.
  const bool large = elements > 200 * 200 && (count < 16 || elements > 512 * 512);
  // OpenBLAS's threads wait for each other in every product, ten to a thousand times as long where
  // other programs keep the cores busy, and results depend on their number. Complex matrices have
  // no others, and take twice as long without.
  std::optional<OneBlasThread> limit;
  if (!large || !Lapack<T>::complex) limit.emplace();
  if (!large) return in_groups(count, work, workspace, body);
  const StorageRef memory = allocate(workspace.bytes);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!body(static_cast<char*>(memory->data), i)) return i;
  }
  return -1;
}

// The size of a workspace from LAPACK's answer to a query, which a float32 may have rounded down.
template <class T>
blas_int work_size(T answer) {
  const double size = std::real(answer);
  return static_cast<blas_int>(size * (1 + 2 * std::numeric_limits<float>::epsilon())) + 1;
}

// f(T{}) for the four dtypes of linear algebra.
template <class F>
auto for_floating(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::complex64:
      return f(std::complex<float>{});
    default:
      return f(std::complex<double>{});
  }
}

// ---- small matrices ----------------------------------------------------------------------------

// The kernels for n × n matrices with n × k ones beside them, or null where LAPACK is better.
template <class T>
const SmallMatrixKernels* small_kernels(std::int64_t n, std::int64_t k, std::int64_t count) {
  // A block must stay in the caches, and lanes be worth filling.
  if (n > most_small_rows || n * (n + k) > 2048 || (n > 8 && count < 4)) return nullptr;
  if constexpr (Lapack<T>::complex) return nullptr;
  return kernels().small_matrices[sizeof(T) == sizeof(float) ? 0 : 1];
}

// Matrices i … i + used - 1 to a block, whose other lanes repeat the last; or their transposes.
template <class T>
void to_lanes(const Stack& x, std::int64_t i, int used, int lanes, T* block, bool transposed) {
  std::int64_t rows = x.rows, columns = x.columns;
  std::int64_t row_stride = x.row_stride, column_stride = x.column_stride;
  if (transposed) {
    std::swap(rows, columns);
    std::swap(row_stride, column_stride);
  }
  for (int l = 0; l < lanes; ++l) {
    const char* from = x.at(i + std::min(l, used - 1));
    T* to = block + l;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c, to += lanes) {
        const std::int64_t offset = r * row_stride + c * column_stride;
        std::memcpy(to, from + offset * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      }
    }
  }
}

// And back to contiguous matrices.
template <class T>
void from_lanes(const T* block, std::int64_t elements, int used, int lanes, T* to) {
  for (int l = 0; l < used; ++l) {
    for (std::int64_t j = 0; j < elements; ++j) *to++ = block[j * lanes + l];
  }
}

// body(workspace, i, used) for blocks of matrices i … i + used - 1; it returns the lanes, as bits,
// that have no result. Returns the first such matrix, or -1. `work` is that of a block: of what
// iterates, as measured with up to 32 rows.
template <class Body>
std::int64_t for_each_block(std::int64_t count, int lanes, double work, const Workspace& workspace,
                            const Body& body) {
  const std::int64_t blocks = (count + lanes - 1) / lanes;
  std::vector<std::uint64_t> failed(static_cast<std::size_t>(blocks));
  const std::int64_t block = in_groups(blocks, work, workspace, [&](char* memory, std::int64_t g) {
    const int used = static_cast<int>(std::min<std::int64_t>(lanes, count - g * lanes));
    std::uint64_t& lost = failed[static_cast<std::size_t>(g)];
    lost = body(memory, g * lanes, used) & ((std::uint64_t{1} << used) - 1);
    return lost == 0;
  });
  if (block < 0) return -1;
  return block * lanes + std::countr_zero(failed[static_cast<std::size_t>(block)]);
}

// The solutions x of a x = b, or inverses of a where there is no b.
template <class T>
std::int64_t solve_small(const SmallMatrixKernels& f, const Stack& a, const Stack* b,
                         std::int64_t k, T* out) {
  const std::int64_t n = a.rows;
  const int lanes = f.lanes;
  Workspace w;
  const std::int64_t matrix = w.add<T>(n * n * lanes), sides = w.add<T>(n * k * lanes);
  const std::int64_t sign = w.add<T>(lanes);
  return for_each_block(
      a.count, lanes, 1.0 * n * n * (n + 2 * k), w, [&](char* memory, std::int64_t i, int used) {
        T *lu = part<T>(memory, matrix), *x = part<T>(memory, sides);
        to_lanes(a, i, used, lanes, lu, false);
        if (b) {
          to_lanes(*b, i, used, lanes, x, false);
        } else {
          std::fill(x, x + n * n * lanes, T(0));
          for (std::int64_t j = 0; j < n; ++j) std::fill_n(x + j * (n + 1) * lanes, lanes, T(1));
        }
        const std::uint64_t singular = f.eliminate(lu, n, x, k, part<T>(memory, sign));
        f.back_substitute(lu, n, x, k);
        from_lanes(x, n * k, used, lanes, out + i * n * k);
        return singular;
      });
}

// Where rotations in every lane find the eigenvalues or singular values of matrices of m >= n
// faster than LAPACK; null elsewhere.
template <class T>
const SmallMatrixKernels* rotating_kernels(std::int64_t m, std::int64_t n, std::int64_t count) {
  const SmallMatrixKernels* small = small_kernels<T>(m, 0, count);
  return small && n <= std::min(2 * small->lanes, 16) ? small : nullptr;
}

// take(l) for each lane but those that are `open`, which get another way to an answer. Returns the
// lanes, as bits, where that finds none.
template <class Take, class Other>
std::uint64_t lanes_lost(int used, std::uint64_t open, const Take& take, const Other& other) {
  std::uint64_t lost = 0;
  for (int l = 0; l < used; ++l) {
    const std::uint64_t bit = std::uint64_t{1} << l;
    if (!(open & bit)) {
      take(l);
    } else if (!other(l)) {
      lost |= bit;
    }
  }
  return lost;
}

// ---- one matrix --------------------------------------------------------------------------------

// Whether the L2 cache holds an m × n matrix and what it is reflected with.
bool fits_caches(std::int64_t m, std::int64_t n) {
  // Short rows are filled up to vectors.
  return std::max<std::int64_t>(m, 16) <= 128 * 128 / std::max<std::int64_t>(n, 16);
}

// Rows that lie `from_leading` items apart, written `to_leading` items apart.
template <class T>
void copy_rows(const T* from, std::int64_t from_leading, std::int64_t rows, std::int64_t columns,
               T* to, std::int64_t to_leading) {
  for (std::int64_t i = 0; i < rows; ++i, from += from_leading, to += to_leading) {
    std::copy(from, from + columns, to);
  }
}

// ---- LU -----------------------------------------------------------------------------------------

template <class T>
std::int64_t solve_as(const Operand& a_operand, const Operand& b_operand, const Operand& out) {
  const Stack a(a_operand), b(b_operand);
  const blas_int n = a.rows, k = b.columns;
  if (n == 0 || k == 0) return -1;
  if (const SmallMatrixKernels* small = small_kernels<T>(n, k, a.count)) {
    return solve_small(*small, a, &b, k, output<T>(out, 0, 0));
  }
  Workspace w;
  if constexpr (!Lapack<T>::complex) {
    using Lu = RowMajorFactors<T>;
    const std::int64_t stride = Lu::stride_for(n), b_stride = Lu::stride_for(k);
    const std::int64_t matrix = w.add<T>(n * stride), pivots = w.add<std::int64_t>(n);
    const std::int64_t sides = w.add<T>(k > 1 ? n * b_stride : 0);
    return for_each_matrix<T>(a.count, std::max(n * n, n * k), 1.0 * n * n * (n / 3 + k), w,
                              [&](char* memory, std::int64_t i) {
                                T* result = output<T>(out, i, n * k);
                                T* x = k > 1 ? part<T>(memory, sides) : result;
                                Lu lu(part<T>(memory, matrix), n, stride,
                                      part<std::int64_t>(memory, pivots));
                                pack_filled(a, i, lu.a, Order::rows, stride);
                                lu.factor_lu();
                                if (lu.singular()) return false;
                                pack_filled(b, i, x, Order::rows, k > 1 ? b_stride : 1);
                                lu.exchange_rows(x, k > 1 ? b_stride : 1);
                                if (k > 1) {
                                  lu.solve(false, x, b_stride, k);
                                  lu.solve(true, x, b_stride, k);
                                  copy_rows(x, b_stride, n, k, result, k);
                                } else {
                                  lu.solve_one(x);
                                }
                                return true;
                              });
  } else {
    const Lapack<T>& f = lapack<T>();
    const std::int64_t matrix = w.add<T>(n * n), pivots = w.add<blas_int>(n);
    const std::int64_t sides = w.add<T>(k > 1 ? n * k : 0);
    return for_each_matrix<T>(a.count, std::max(n * n, n * k), 1.0 * n * n * (n / 3 + k), w,
                              [&](char* memory, std::int64_t i) {
                                T* lu = part<T>(memory, matrix);
                                T* result = output<T>(out, i, n * k);
                                T* x = k > 1 ? part<T>(memory, sides) : result;
                                blas_int* pivot = part<blas_int>(memory, pivots);
                                blas_int info = 0;
                                pack(a, i, lu, Order::columns);
                                pack(b, i, x, Order::columns);
                                f.getrf(&n, &n, lu, &n, pivot, &info);
                                if (info != 0) return false;
                                f.getrs("N", &n, &k, lu, &n, pivot, x, &n, &info, 1);
                                if (k > 1) unpack(x, n, k, result);
                                return true;
                              });
  }
}

template <class T>
std::int64_t inverse_as(const Operand& a_operand, const Operand& out) {
  const Stack a(a_operand);
  const blas_int n = a.rows;
  if (n == 0) return -1;
  if (const SmallMatrixKernels* small = small_kernels<T>(n, n, a.count)) {
    return solve_small<T>(*small, a, nullptr, n, output<T>(out, 0, 0));
  }
  Workspace w;
  if constexpr (!Lapack<T>::complex) {
    using Lu = RowMajorFactors<T>;
    const std::int64_t stride = Lu::stride_for(n);
    const std::int64_t matrix = w.add<T>(n * stride), pivots = w.add<std::int64_t>(n);
    const std::int64_t sides = w.add<T>(n * stride), order = w.add<std::int64_t>(n);
    return for_each_matrix<T>(
        a.count, n * n, 1.0 * n * n * n, w, [&](char* memory, std::int64_t i) {
          T *x = part<T>(memory, sides), *result = output<T>(out, i, n * n);
          Lu lu(part<T>(memory, matrix), n, stride, part<std::int64_t>(memory, pivots));
          pack_filled(a, i, lu.a, Order::rows, stride);
          lu.factor_lu();
          if (lu.singular()) return false;
          std::fill(x, x + n * stride, T(0));
          for (blas_int j = 0; j < n; ++j) x[j * (stride + 1)] = T(1);
          lu.invert_lower(x, stride);
          lu.solve(true, x, stride, n);
          // The columns stand for rows that were exchanged.
          std::int64_t* from = part<std::int64_t>(memory, order);
          std::iota(from, from + n, std::int64_t{0});
          for (blas_int j = 0; j < n; ++j) std::swap(from[j], from[lu.pivots[j]]);
          for (blas_int r = 0; r < n; ++r) {
            for (blas_int j = 0; j < n; ++j) result[r * n + from[j]] = x[r * stride + j];
          }
          return true;
        });
  } else {
    const Lapack<T>& f = lapack<T>();
    T answer{};
    blas_int info = 0, query = -1;
    f.getri(&n, nullptr, &n, nullptr, &answer, &query, &info);
    const blas_int size = std::max(work_size(answer), n);
    const std::int64_t matrix = w.add<T>(n * n), pivots = w.add<blas_int>(n), work = w.add<T>(size);
    return for_each_matrix<T>(a.count, n * n, 1.0 * n * n * n, w,
                              [&](char* memory, std::int64_t i) {
                                T* lu = part<T>(memory, matrix);
                                blas_int* pivot = part<blas_int>(memory, pivots);
                                blas_int failed = 0;
                                pack(a, i, lu, Order::columns);
                                f.getrf(&n, &n, lu, &n, pivot, &failed);
                                if (failed == 0)
                                  f.getri(&n, lu, &n, pivot, part<T>(memory, work), &size, &failed);
                                if (failed != 0) return false;
                                unpack(lu, n, n, output<T>(out, i, n * n));
                                return true;
                              });
  }
}

double magnitude(double x) {
  return std::fabs(x);
}
double magnitude(std::complex<double> x) {
  return std::max(std::fabs(x.real()), std::fabs(x.imag()));
}
double scaled(double x, int exponent) {
  return std::ldexp(x, exponent);
}
std::complex<double> scaled(std::complex<double> x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}
double times(double x, double y) {
  return x * y;
}
// Without the recovery of infinities, which costs a test per product.
std::complex<double> times(std::complex<double> x, std::complex<double> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}

// A product of any length, as a number and a power of two: it cannot overflow on the way.
template <class D>
struct LongProduct {
  D mantissa{1};
  std::int64_t exponent = 0;

  void multiply(D factor) {
    normalize(factor);
    mantissa = times(mantissa, factor);
    normalize(mantissa);
  }
  D value() const {
    if (exponent == 0) return mantissa;
    return scaled(mantissa,
                  static_cast<int>(std::clamp<std::int64_t>(exponent, -1 << 20, 1 << 20)));
  }
  double log_abs() const {
    const double size = std::abs(value());
    if (std::isnormal(size)) return std::log(size);
    return std::log(std::abs(mantissa)) + static_cast<double>(exponent) * 0.6931471805599453094;
  }
  D sign() const {
    const double size = std::abs(mantissa);
    if (size == 0) return D(0);
    if constexpr (std::is_same_v<D, double>) {
      return std::isnan(mantissa) ? mantissa : std::copysign(1.0, mantissa);
    } else {
      return mantissa / size;
    }
  }

 private:
  void normalize(D& x) {
    const double size = magnitude(x);
    if (size >= 0x1p-250 && size <= 0x1p250) return;  // two such have a product
    if (size == 0 || !std::isfinite(size)) return;
    int e;
    std::frexp(size, &e);
    x = scaled(x, -e);
    exponent += e;
  }
};

template <class T>
void determinant_as(const Operand& a_operand, const Operand* det, const Operand* sign,
                    const Operand* log_abs) {
  using R = typename Lapack<T>::R;
  using D = std::conditional_t<Lapack<T>::complex, std::complex<double>, double>;
  const Stack a(a_operand);
  const blas_int n = a.rows;
  // From the diagonal of U, and whether the rows are an odd permutation.
  const auto write = [&](std::int64_t i, auto diagonal, bool odd) {
    LongProduct<D> product;
    for (blas_int j = 0; j < n; ++j) product.multiply(D(diagonal(j)));
    if (product.mantissa == D(0)) {
      product.mantissa = D(0);  // not -0.0
    } else if (odd) {
      product.mantissa = -product.mantissa;
    }
    if (det) *output<T>(*det, i, 1) = static_cast<T>(product.value());
    if (sign) *output<T>(*sign, i, 1) = static_cast<T>(product.sign());
    if (log_abs) *output<R>(*log_abs, i, 1) = static_cast<R>(product.log_abs());
  };
  Workspace w;
  if (const SmallMatrixKernels* small = small_kernels<T>(n, 0, a.count)) {
    const int lanes = small->lanes;
    const std::int64_t matrix = w.add<T>(n * n * lanes), parity = w.add<T>(lanes);
    for_each_block(a.count, lanes, 1.0 * n * n * n, w, [&](char* memory, std::int64_t i, int used) {
      T *lu = part<T>(memory, matrix), *signs = part<T>(memory, parity);
      to_lanes(a, i, used, lanes, lu, false);
      small->eliminate(lu, n, nullptr, 0, signs);
      for (int l = 0; l < used; ++l) {
        write(
            i + l, [&](blas_int j) { return lu[j * (n + 1) * lanes + l]; },
            std::real(signs[l]) < 0);
      }
      return std::uint64_t{0};
    });
    return;
  }
  if constexpr (!Lapack<T>::complex) {
    using Lu = RowMajorFactors<T>;
    const std::int64_t stride = Lu::stride_for(n);
    const std::int64_t matrix = w.add<T>(n * stride), pivots = w.add<std::int64_t>(n);
    for_each_matrix<T>(a.count, n * n, 1.0 * n * n * (n / 3), w, [&](char* memory, std::int64_t i) {
      Lu lu(part<T>(memory, matrix), n, stride, part<std::int64_t>(memory, pivots));
      pack_filled(a, i, lu.a, Order::rows, stride);
      lu.factor_lu();
      bool odd = false;
      for (blas_int j = 0; j < n; ++j) odd ^= lu.pivots[j] != j;
      write(i, [&](blas_int j) { return lu.a[j * (stride + 1)]; }, odd);
      return true;
    });
  } else {
    const Lapack<T>& f = lapack<T>();
    const std::int64_t matrix = w.add<T>(n * n), pivots = w.add<blas_int>(n);
    for_each_matrix<T>(a.count, n * n, 1.0 * n * n * (n / 3), w, [&](char* memory, std::int64_t i) {
      T* lu = part<T>(memory, matrix);
      blas_int* pivot = part<blas_int>(memory, pivots);
      blas_int info = 0;
      if (n > 0) {
        pack(a, i, lu, Order::columns);
        f.getrf(&n, &n, lu, &n, pivot, &info);
      }
      bool odd = false;
      for (blas_int j = 0; j < n; ++j) odd ^= pivot[j] != j + 1;
      write(i, [&](blas_int j) { return lu[j * n + j]; }, odd);
      return true;
    });
  }
}

// ---- Cholesky and QR --------------------------------------------------------------------------

// To LAPACK, row-major A is column-major conj(A); its upper factor U has A = transpose(U) conj(U),
// and transpose(U), which is lower, lies in memory row-major.
template <class T>
std::int64_t cholesky_as(const Operand& a_operand, const Operand& out, bool upper) {
  const Stack a(a_operand);
  const blas_int n = a.rows;
  if (n == 0) return -1;
  // Larger ones are factored sooner by vectors along the rows of each.
  constexpr std::int64_t most_in_lanes = 16;
  const SmallMatrixKernels* small = small_kernels<T>(n, 0, a.count);
  if (small && n <= most_in_lanes) {
    const int lanes = small->lanes;
    Workspace w;
    w.add<T>(n * n * lanes);
    return for_each_block(
        a.count, lanes, 1.0 * n * n * n, w, [&](char* memory, std::int64_t i, int used) {
          T* factor = part<T>(memory, 0);
          to_lanes(a, i, used, lanes, factor, upper);
          const std::uint64_t failed = small->cholesky(factor, n);
          T* to = output<T>(out, i, n * n);
          for (int l = 0; l < used; ++l, to += n * n) {
            for (blas_int r = 0; r < n; ++r) {
              for (blas_int c = 0; c < n; ++c) {
                to[upper ? c * n + r : r * n + c] = c <= r ? factor[(r * n + c) * lanes + l] : T(0);
              }
            }
          }
          return failed;
        });
  }
  const double work = 1.0 * n * n * (n / 6);
  if constexpr (!Lapack<T>::complex) {
    using Factors = RowMajorFactors<T>;
    const std::int64_t stride = Factors::stride_for(n);
    Workspace w;
    const std::int64_t matrix = w.add<T>(n * stride);
    return for_each_matrix<T>(a.count, n * n, work, w, [&](char* memory, std::int64_t i) {
      Factors factors(part<T>(memory, matrix), n, stride);
      pack_upper(a, i, factors.a, stride, !upper);
      if (!factors.factor_cholesky()) return false;
      unpack_upper(factors.a, n, stride, output<T>(out, i, n * n), !upper);
      return true;
    });
  } else {
    const Lapack<T>& f = lapack<T>();
    return for_each_matrix<T>(a.count, n * n, work, Workspace{}, [&](char*, std::int64_t i) {
      T* factor = output<T>(out, i, n * n);
      pack(a, i, factor, Order::rows);
      for (blas_int row = 0; row < n; ++row) {
        const bool finite = upper ? all_finite(factor + row * n + row, n - row)
                                  : all_finite(factor + row * n, row + 1);
        if (!finite) return false;
      }
      blas_int info = 0;
      f.potrf(upper ? "L" : "U", &n, factor, &n, &info, 1);
      if (info != 0) return false;
      for (blas_int row = 0; row < n; ++row) {
        T* line = factor + row * n;
        if (upper) {
          std::fill(line, line + row, T(0));
        } else {
          std::fill(line + row + 1, line + n, T(0));
        }
      }
      return true;
    });
  }
}

// Row-major A is column-major transpose(A) = L Q, hence A = transpose(Q) transpose(L): LAPACK's LQ
// of what lies in memory has the factors of QR, row-major.
template <class T>
void qr_as(const Operand& a_operand, const Operand& q, const Operand& r) {
  const Stack a(a_operand);
  const blas_int m = a.rows, n = a.columns, k = std::min(m, n);
  const blas_int q_columns = q.layout->shape[q.layout->ndim() - 1];
  const blas_int r_rows = r.layout->shape[r.layout->ndim() - 2];
  if (k == 0) {
    for (std::int64_t i = 0; i < a.count && q_columns > 0; ++i) {
      write_identity(output<T>(q, i, m * q_columns), m);
    }
    return;  // r has no elements
  }
  if (const SmallMatrixKernels* small = small_kernels<T>(std::max(m, n), q_columns, a.count)) {
    const int lanes = small->lanes;
    Workspace w;
    const std::int64_t matrix = w.add<T>(m * n * lanes), left = w.add<T>(m * q_columns * lanes);
    const std::int64_t factors = w.add<T>(k * lanes);
    for_each_block(a.count, lanes, 2.0 * m * k * (n + q_columns), w,
                   [&](char* memory, std::int64_t i, int used) {
                     T *x = part<T>(memory, matrix), *y = part<T>(memory, left);
                     to_lanes(a, i, used, lanes, x, false);
                     small->qr(x, m, n, y, q_columns, part<T>(memory, factors));
                     from_lanes(y, m * q_columns, used, lanes, output<T>(q, i, m * q_columns));
                     for (blas_int row = 1; row < r_rows; ++row) {
                       std::fill_n(x + row * n * lanes, std::min(row, n) * lanes, T(0));
                     }
                     from_lanes(x, r_rows * n, used, lanes, output<T>(r, i, r_rows * n));
                     return std::uint64_t{0};
                   });
    return;
  }
  const Lapack<T>& f = lapack<T>();
  T answer{};
  blas_int info = 0, query = -1;
  f.gelqf(&n, &m, nullptr, &n, nullptr, &answer, &query, &info);
  blas_int size = work_size(answer);
  f.unglq(&q_columns, &m, &k, nullptr, &q_columns, nullptr, &answer, &query, &info);
  size = std::max(size, work_size(answer));
  Workspace w;
  const std::int64_t matrix = w.add<T>(m * n), factors = w.add<T>(k), work = w.add<T>(size);
  const auto by_lapack = [&](char* memory, std::int64_t i) {
    T* lq = part<T>(memory, matrix);
    T* tau = part<T>(memory, factors);
    T* scratch = part<T>(memory, work);
    T* q_out = output<T>(q, i, m * q_columns);
    T* r_out = output<T>(r, i, r_rows * n);
    blas_int failed = 0;
    pack(a, i, lq, Order::rows);
    f.gelqf(&n, &m, lq, &n, tau, scratch, &size, &failed);
    for (blas_int row = 0; row < r_rows; ++row) {
      T* line = r_out + row * n;
      const blas_int zeros = row < k ? row : n;
      std::fill(line, line + zeros, T(0));
      std::copy(lq + row * n + zeros, lq + row * n + n, line + zeros);
    }
    for (blas_int row = 0; row < m; ++row) {
      T* line = q_out + row * q_columns;
      std::copy(lq + row * n, lq + row * n + k, line);
      std::fill(line + k, line + q_columns, T(0));
    }
    f.unglq(&q_columns, &m, &k, q_out, &q_columns, tau, scratch, &size, &failed);
    return true;
  };
  const std::int64_t elements = m * std::max(n, q_columns);
  const double cost = 2.0 * m * q_columns * k;
  if constexpr (!Lapack<T>::complex) {
    const bool in_caches = fits_caches(m, std::max(n, q_columns));
    // Long matrices of few columns would be filled up to many times their size.
    if (in_caches || k >= Reflections<T>::panel) {
      constexpr std::int64_t narrow_bytes = 1 << 20;
      const bool narrow = elements * std::int64_t{sizeof(T)} <= narrow_bytes;
      const Reflections<T> reflections(in_caches, narrow);
      const std::int64_t stride = reflections.stride_for(n);
      const std::int64_t q_stride = reflections.stride_for(q_columns);
      const std::int64_t rows = w.add<T>(m * stride), left = w.add<T>(m * q_stride);
      const std::int64_t room = w.add<T>(reflections.room_for(m, std::max(stride, q_stride)));
      for_each_matrix<T>(a.count, elements, cost, w, [&](char* memory, std::int64_t i) {
        T *x = part<T>(memory, rows), *y = part<T>(memory, left), *tau = part<T>(memory, factors);
        T* const free = part<T>(memory, room);
        pack_filled(a, i, x, Order::rows, stride);
        if (!reflections.kernel.has_usual_size(x, m * stride)) return by_lapack(memory, i);
        reflections.triangularize(x, m, n, stride, tau, free);
        std::fill(y, y + m * q_stride, T(0));
        for (blas_int j = 0; j < q_columns; ++j) y[j * (q_stride + 1)] = T(1);
        reflections.turn(x, stride, 1, k, 0, tau, y, m, q_columns, q_stride, true, free);
        copy_rows(y, q_stride, m, q_columns, output<T>(q, i, m * q_columns), q_columns);
        for (blas_int row = 1; row < r_rows; ++row) {
          std::fill_n(x + row * stride, std::min(row, n), T(0));
        }
        copy_rows(x, stride, r_rows, n, output<T>(r, i, r_rows * n), n);
        return true;
      });
      return;
    }
  }
  for_each_matrix<T>(a.count, elements, cost, w, by_lapack);
}

// ---- eigenvalues ------------------------------------------------------------------------------

template <class T>
std::int64_t eigh_as(const Operand& a_operand, const Operand& values, const Operand* vectors) {
  using R = typename Lapack<T>::R;
  const Stack a(a_operand);
  const blas_int n = a.rows;
  if (n == 0) return -1;
  const Lapack<T>& f = lapack<T>();
  const char* job = vectors ? "V" : "N";
  const auto run = [&](T* matrix, R* eigenvalues, T* work, blas_int size, R* real_work,
                       blas_int real_size, blas_int* int_work, blas_int int_size) {
    blas_int info = 0;
    if constexpr (Lapack<T>::complex) {
      f.heevd(job, "L", &n, matrix, &n, eigenvalues, work, &size, real_work, &real_size, int_work,
              &int_size, &info, 1, 1);
    } else {
      f.heevd(job, "L", &n, matrix, &n, eigenvalues, work, &size, int_work, &int_size, &info, 1, 1);
    }
    return info;
  };
  T answer{};
  R real_answer{};
  blas_int int_size = 0;
  run(nullptr, nullptr, &answer, -1, &real_answer, -1, &int_size, -1);
  const blas_int size = work_size(answer), real_size = work_size(real_answer);
  Workspace w;
  const std::int64_t matrix = w.add<T>(n * n), work = w.add<T>(size);
  const std::int64_t real_work = w.add<R>(real_size), int_work = w.add<blas_int>(int_size);
  const auto by_lapack = [&](char* memory, std::int64_t i) {
    T* x = part<T>(memory, matrix);
    pack(a, i, x, Order::columns);
    for (blas_int column = 0; column < n; ++column) {
      if (!all_finite(x + column * n + column, n - column)) return false;
    }
    if (run(x, output<R>(values, i, n), part<T>(memory, work), size, part<R>(memory, real_work),
            real_size, part<blas_int>(memory, int_work), int_size) != 0) {
      return false;
    }
    if (vectors) unpack(x, n, n, output<T>(*vectors, i, n * n));
    return true;
  };
  if constexpr (!Lapack<T>::complex) {
    const SmallMatrixKernels* small = vectors ? nullptr : rotating_kernels<T>(n, n, a.count);
    if (small) {
      const int lanes = small->lanes;
      const std::int64_t block = w.add<T>(n * n * lanes);
      const auto by_rotations = [&](char* memory, std::int64_t i, int used) {
        T* x = part<T>(memory, block);
        to_lanes(a, i, used, lanes, x, false);
        const std::uint64_t open = small->eigenvalues(x, n);
        const auto take = [&](int l) {
          T* value = output<T>(values, i + l, n);
          for (std::int64_t j = 0; j < n; ++j) value[j] = x[j * (n + 1) * lanes + l];
          std::sort(value, value + n);
        };
        return lanes_lost(used, open, take, [&](int l) { return by_lapack(memory, i + l); });
      };
      return for_each_block(a.count, lanes, 300.0 * n * n, w, by_rotations);
    }
    if (const SmallMatrixKernels* lane = small_kernels<T>(n, vectors ? n : 0, a.count)) {
      const int lanes = lane->lanes;
      const std::int64_t block = w.add<T>(n * n * lanes), factors = w.add<T>(n * lanes);
      const std::int64_t beside = w.add<T>(n * lanes), off_diagonal = w.add<T>(n);
      const std::int64_t turned = w.add<T>(vectors ? n * n * lanes : 0);
      const blas_int stedc_size = n * n + 4 * n + 1, stedc_ints = 5 * n + 3;
      const std::int64_t stedc_work = w.add<T>(stedc_size);
      const std::int64_t stedc_int_work = w.add<blas_int>(stedc_ints);
      const OneBlasThread limit;
      const auto by_lanes = [&](char* memory, std::int64_t i, int used) {
        T *x = part<T>(memory, block), *tau = part<T>(memory, factors);
        T *betas = part<T>(memory, beside), *z = part<T>(memory, turned);
        T *e = part<T>(memory, off_diagonal), *columns = part<T>(memory, matrix);
        to_lanes(a, i, used, lanes, x, false);
        std::uint64_t open = lane->tridiagonalize(x, n, tau, betas);
        for (int l = 0; l < used; ++l) {
          if (open >> l & 1) continue;
          T* value = output<T>(values, i + l, n);
          for (blas_int j = 0; j < n; ++j) value[j] = x[j * (n + 1) * lanes + l];
          for (blas_int j = 0; j + 1 < n; ++j) e[j] = betas[j * lanes + l];
          blas_int info = 0;
          if (vectors) {
            f.stedc("I", &n, value, e, columns, &n, part<T>(memory, stedc_work), &stedc_size,
                    part<blas_int>(memory, stedc_int_work), &stedc_ints, &info, 1);
            for (blas_int c = 0; c < n; ++c) {
              for (blas_int r = 0; r < n; ++r) z[(r * n + c) * lanes + l] = columns[c * n + r];
            }
          } else {
            f.sterf(&n, value, e, &info);
          }
          if (info != 0) open |= std::uint64_t{1} << l;
        }
        if (vectors) lane->turn_back(x, n, tau, z);
        const auto take = [&](int l) {
          if (!vectors) return;
          T* to = output<T>(*vectors, i + l, n * n);
          for (blas_int j = 0; j < n * n; ++j) to[j] = z[j * lanes + l];
        };
        return lanes_lost(used, open, take, [&](int l) { return by_lapack(memory, i + l); });
      };
      return for_each_block(a.count, lanes, (vectors ? 900.0 : 300.0) * n * n, w, by_lanes);
    }
  }
  if constexpr (!Lapack<T>::complex) {
    const Reflections<T> reflections(fits_caches(n, n));
    const std::int64_t stride = reflections.stride_for(n);
    const std::int64_t rows = w.add<T>(n * stride), left = w.add<T>(vectors ? n * stride : 0);
    const std::int64_t beside = w.add<T>(n), factors = w.add<T>(n),
                       room = w.add<T>(reflections.room_for(n, stride));
    const blas_int stedc_size = n * n + 4 * n + 1, stedc_ints = 5 * n + 3;
    const std::int64_t stedc_work = w.add<T>(vectors ? stedc_size : 0);
    const std::int64_t stedc_int_work = w.add<blas_int>(stedc_ints);
    const auto by_reflections = [&](char* memory, std::int64_t i) {
      T *x = part<T>(memory, rows), *z = part<T>(memory, left), *e = part<T>(memory, beside);
      T *tau = part<T>(memory, factors), *columns = part<T>(memory, matrix);
      T* value = output<T>(values, i, n);
      pack_filled(a, i, x, Order::rows, stride);
      for (blas_int r = 0; r < n; ++r) {
        for (blas_int c = 0; c < r; ++c) x[c * stride + r] = x[r * stride + c];
      }
      if (!reflections.kernel.has_usual_size(x, n * stride)) return by_lapack(memory, i);
      reflections.tridiagonalize(x, n, stride, value, e, tau, part<T>(memory, room));
      blas_int info = 0;
      if (!vectors) {
        f.sterf(&n, value, e, &info);
        return info == 0;
      }
      f.stedc("I", &n, value, e, columns, &n, part<T>(memory, stedc_work), &stedc_size,
              part<blas_int>(memory, stedc_int_work), &stedc_ints, &info, 1);
      if (info != 0) return false;
      std::fill(z, z + n * stride, T(0));
      pack(reinterpret_cast<const char*>(columns), n, n, 1, n, z, Order::rows, stride);
      reflections.turn(x, 1, stride, n - 1, 1, tau, z, n, n, stride, false, part<T>(memory, room));
      copy_rows(z, stride, n, n, output<T>(*vectors, i, n * n), n);
      return true;
    };
    return for_each_matrix<T>(a.count, n * n, 4.0 * n * n * n, w, by_reflections);
  }
  return for_each_matrix<T>(a.count, n * n, 4.0 * n * n * n, w, by_lapack);
}

// Eigenvectors of a real matrix: a complex pair has its real and imaginary parts in two columns.
template <class R>
void complex_vectors(const R* columns, const R* imaginary, blas_int n, std::complex<R>* rows) {
  for (blas_int j = 0; j < n; ++j) {
    const R* re = columns + j * n;
    if (imaginary[j] == 0 || j + 1 == n) {
      for (blas_int i = 0; i < n; ++i) rows[i * n + j] = re[i];
      continue;
    }
    const R* im = re + n;
    for (blas_int i = 0; i < n; ++i) {
      rows[i * n + j] = {re[i], im[i]};
      rows[i * n + j + 1] = {re[i], -im[i]};
    }
    ++j;
  }
}

// The eigenvalues, and the eigenvectors with the parts of pairs in two columns, of a real matrix
// Z H transpose(Z), where H is triangular but for 2 × 2 blocks, which was divided by `scale` on the
// left and multiplied by it on the right. They go to z, and where that is null only the eigenvalues
// are found; all is column-major. `work` has room for 3 n numbers. False where one has too large or
// small a norm.
template <class R>
bool from_schur_form(const Lapack<R>& f, blas_int n, R* h, R* z, const R* scale, R* re, R* im,
                     R* work) {
  const auto rotate = [](R* x, R* y, blas_int count, blas_int step, R c, R s) {
    for (blas_int i = 0; i < count * step; i += step) {
      const R before = x[i];
      x[i] = c * before + s * y[i];
      y[i] = c * y[i] - s * before;
    }
  };
  for (blas_int j = 0; j < n; ++j) {
    R* const x = h + j * n;  // columns j and j + 1
    R* const y = x + n;
    re[j] = x[j];
    im[j] = 0;
    if (j + 1 == n || x[j + 1] == 0) continue;
    R c, s;
    f.lanv2(x + j, y + j, x + j + 1, y + j + 1, re + j, im + j, re + j + 1, im + j + 1, &c, &s);
    if (z) {
      rotate(y + n + j, y + n + j + 1, n - j - 2, n, c, s);
      rotate(x, y, j, 1, c, s);
      rotate(z + j * n, z + (j + 1) * n, n, 1, c, s);
    }
    ++j;
  }
  if (!z) return true;
  blas_int found = 0, info = 0;
  f.trevc("R", "B", nullptr, &n, h, &n, nullptr, &n, z, &n, &n, &found, work, &info, 1, 1);
  for (blas_int j = 0; j < n; ++j) {
    const bool pair = im[j] != 0;
    R* const x = z + j * n;
    R* const y = x + n;
    R sum = 0, largest = -1;
    blas_int at = 0;
    for (blas_int i = 0; i < n; ++i) {
      x[i] *= scale[i];
      R square = x[i] * x[i];
      if (pair) {
        y[i] *= scale[i];
        square += y[i] * y[i];
      }
      sum += square;
      if (square > largest) {
        largest = square;
        at = i;
      }
    }
    if (!(sum > R(1e-30) && sum < R(1e30))) return false;
    const R length = std::sqrt(sum);
    for (blas_int i = 0; i < (pair ? 2 * n : n); ++i) x[i] /= length;
    if (!pair) continue;
    // The largest component becomes real.
    const R size = std::hypot(x[at], y[at]);
    rotate(x, y, n, 1, x[at] / size, y[at] / size);
    y[at] = 0;
    ++j;
  }
  return info == 0;
}

template <class T>
std::int64_t eig_as(const Operand& a_operand, const Operand& values, const Operand* vectors) {
  using R = typename Lapack<T>::R;
  using C = std::complex<R>;
  const Stack a(a_operand);
  const blas_int n = a.rows;
  if (n == 0) return -1;
  const OneBlasThread limit;  // geev takes as long with more
  const Lapack<T>& f = lapack<T>();
  // real_work: the real and imaginary parts of the eigenvalues; scratch for a complex matrix.
  const auto run = [&](T* matrix, T* eigenvalues, R* real_work, T* columns, T* work,
                       blas_int size) {
    blas_int info = 0;
    const blas_int one = 1;
    const char* job = vectors ? "V" : "N";
    if constexpr (Lapack<T>::complex) {
      f.geev("N", job, &n, matrix, &n, eigenvalues, nullptr, &one, columns, &n, work, &size,
             real_work, &info, 1, 1);
    } else {
      f.geev("N", job, &n, matrix, &n, real_work, real_work + n, nullptr, &one, columns, &n, work,
             &size, &info, 1, 1);
    }
    return info;
  };
  T answer{};
  R none[2] = {};
  if constexpr (Lapack<T>::complex) {
    run(nullptr, nullptr, none, nullptr, &answer, -1);
  } else {
    blas_int info = 0;
    const blas_int one = 1, query = -1;
    f.geev("N", vectors ? "V" : "N", &n, nullptr, &n, none, none, nullptr, &one, nullptr, &n,
           &answer, &query, &info, 1, 1);
  }
  const blas_int size = work_size(answer);
  Workspace w;
  const std::int64_t matrix = w.add<T>(n * n), real_work = w.add<R>(2 * n);
  const std::int64_t columns = w.add<T>(vectors ? n * n : 0), work = w.add<T>(size);
  const auto by_lapack = [&](char* memory, std::int64_t i) {
    T* x = part<T>(memory, matrix);
    R* parts = part<R>(memory, real_work);
    T* v = part<T>(memory, columns);
    C* value = output<C>(values, i, n);
    pack(a, i, x, Order::columns);
    if (!all_finite(x, n * n)) return false;
    T* eigenvalues = nullptr;
    if constexpr (Lapack<T>::complex) eigenvalues = value;
    if (run(x, eigenvalues, parts, v, part<T>(memory, work), size) != 0) return false;
    if constexpr (Lapack<T>::complex) {
      if (vectors) unpack(v, n, n, output<T>(*vectors, i, n * n));
    } else {
      for (blas_int j = 0; j < n; ++j) value[j] = {parts[j], parts[n + j]};
      if (vectors) complex_vectors(v, parts + n, n, output<C>(*vectors, i, n * n));
    }
    return true;
  };
  if constexpr (!Lapack<T>::complex) {
    if (const SmallMatrixKernels* small = small_kernels<T>(n, n, a.count)) {
      const int lanes = small->lanes;
      const std::int64_t block = w.add<T>(n * n * lanes);
      const std::int64_t turned = w.add<T>(vectors ? n * n * lanes : 0);
      const std::int64_t scales = w.add<T>(n * lanes), trevc_work = w.add<T>(3 * n);
      const auto by_lanes = [&](char* memory, std::int64_t i, int used) {
        T *x = part<T>(memory, matrix), *h = part<T>(memory, block);
        T* v = vectors ? part<T>(memory, columns) : nullptr;
        T* z = vectors ? part<T>(memory, turned) : nullptr;
        T *scale = part<T>(memory, scales), *re = part<T>(memory, real_work);
        std::uint64_t open = 0;
        for (int l = 0; l < lanes; ++l) {
          if (l < used) {
            pack(a, i + l, x, Order::columns);
            blas_int low = 0, high = 0, info = 0;
            if (all_finite(x, n * n)) f.gebal("B", &n, x, &n, &low, &high, scale + l * n, &info, 1);
            // What falls apart into smaller matrices is LAPACK's.
            if (low != 1 || high != n) open |= std::uint64_t{1} << l;
          }
          for (blas_int c = 0; c < n; ++c) {
            for (blas_int r = 0; r < n; ++r) h[(r * n + c) * lanes + l] = x[c * n + r];
          }
        }
        open |= small->schur(h, n, z);
        for (int l = 0; l < used; ++l) {
          if (open >> l & 1) continue;
          for (blas_int c = 0; c < n; ++c) {
            for (blas_int r = 0; r < n; ++r) {
              x[c * n + r] = h[(r * n + c) * lanes + l];
              if (vectors) v[c * n + r] = z[(r * n + c) * lanes + l];
            }
          }
          if (!from_schur_form(f, n, x, v, scale + l * n, re, re + n,
                               part<T>(memory, trevc_work))) {
            open |= std::uint64_t{1} << l;
            continue;
          }
          C* value = output<C>(values, i + l, n);
          for (blas_int j = 0; j < n; ++j) value[j] = {re[j], re[n + j]};
          if (vectors) complex_vectors(v, re + n, n, output<C>(*vectors, i + l, n * n));
        }
        return lanes_lost(used, open, [](int) {}, [&](int l) { return by_lapack(memory, i + l); });
      };
      return for_each_block(a.count, lanes, (vectors ? 1000.0 : 400.0) * n * n, w, by_lanes);
    }
  }
  return for_each_matrix<T>(a.count, n * n, 20.0 * n * n * n, w, by_lapack);
}

// ---- singular values ----------------------------------------------------------------------------

// A is handed over column-major. As transpose(A) = V S U it would need no rearranging, but the
// signs of the singular vectors, which LAPACK is free to choose, would be others than NumPy's:
// SciPy's tests of random numbers that are made with them do not hold then.
template <class T>
std::int64_t svd_as(const Operand& a_operand, const Operand* u, const Operand& s,
                    const Operand* vh) {
  using R = typename Lapack<T>::R;
  const Stack a(a_operand);
  const blas_int m = a.rows, n = a.columns, k = std::min(m, n);
  const blas_int u_columns = u ? u->layout->shape[u->layout->ndim() - 1] : 1;
  const blas_int vh_rows = vh ? vh->layout->shape[vh->layout->ndim() - 2] : 1;
  if (k == 0) {
    for (std::int64_t i = 0; i < a.count; ++i) {
      if (u && u_columns == m) write_identity(output<T>(*u, i, m * m), m);
      if (vh && vh_rows == n) write_identity(output<T>(*vh, i, n * n), n);
    }
    return -1;
  }
  const Lapack<T>& f = lapack<T>();
  const bool full = u && (u_columns > k || vh_rows > k);
  const char* job = !u ? "N" : full ? "A" : "S";
  const auto run = [&](T* matrix, R* values, T* left, T* right, T* work, blas_int size,
                       R* real_work, blas_int* int_work) {
    blas_int info = 0;
    if constexpr (Lapack<T>::complex) {
      f.gesdd(job, &m, &n, matrix, &m, values, left, &m, right, &vh_rows, work, &size, real_work,
              int_work, &info, 1);
    } else {
      f.gesdd(job, &m, &n, matrix, &m, values, left, &m, right, &vh_rows, work, &size, int_work,
              &info, 1);
    }
    return info;
  };
  T answer{};
  run(nullptr, nullptr, nullptr, nullptr, &answer, -1, nullptr, nullptr);
  const blas_int size = work_size(answer);
  // As LAPACK's documentation of cgesdd has it, the larger of the old and the new bounds.
  const blas_int most = std::max(m, n);
  const blas_int real_size = !Lapack<T>::complex ? 0
                             : !u ? 7 * k
                                  : std::max(5 * k * k + 7 * k, 2 * most * k + 2 * k * k + k);
  Workspace w;
  const std::int64_t matrix = w.add<T>(m * n), work = w.add<T>(size);
  const std::int64_t real_work = w.add<R>(real_size), int_work = w.add<blas_int>(8 * k);
  const std::int64_t left_at = w.add<T>(u ? m * u_columns : 0);
  const std::int64_t right_at = w.add<T>(vh ? vh_rows * n : 0);
  const std::int64_t elements = full ? most * most : m * n;
  const auto by_lapack = [&](char* memory, std::int64_t i) {
    T* x = part<T>(memory, matrix);
    pack(a, i, x, Order::columns);
    // With an infinity in the matrix OpenBLAS 0.3.31 has been seen not to return.
    if (!all_finite(x, m * n)) return false;
    T* left = u ? part<T>(memory, left_at) : nullptr;
    T* right = vh ? part<T>(memory, right_at) : nullptr;
    if (run(x, output<R>(s, i, k), left, right, part<T>(memory, work), size,
            part<R>(memory, real_work), part<blas_int>(memory, int_work)) != 0) {
      return false;
    }
    if (u) unpack(left, m, u_columns, output<T>(*u, i, m * u_columns));
    if (vh) unpack(right, vh_rows, n, output<T>(*vh, i, vh_rows * n));
    return true;
  };
  if constexpr (!Lapack<T>::complex) {
    const SmallMatrixKernels* small = u ? nullptr : rotating_kernels<T>(most, k, a.count);
    if (small) {
      const int lanes = small->lanes;
      const std::int64_t block = w.add<T>(m * n * lanes), lengths = w.add<T>(k * lanes);
      const auto by_rotations = [&](char* memory, std::int64_t i, int used) {
        T *x = part<T>(memory, block), *length = part<T>(memory, lengths);
        to_lanes(a, i, used, lanes, x, m < n);
        const std::uint64_t open = small->singular_values(x, most, k, length);
        const auto take = [&](int l) {
          T* value = output<T>(s, i + l, k);
          for (std::int64_t j = 0; j < k; ++j) value[j] = length[j * lanes + l];
          std::sort(value, value + k, std::greater<T>());
        };
        return lanes_lost(used, open, take, [&](int l) { return by_lapack(memory, i + l); });
      };
      return for_each_block(a.count, lanes, 450.0 * most * k, w, by_rotations);
    }
  }
  if constexpr (!Lapack<T>::complex) {
    // LAPACK brings matrices that are longer than this to a triangle first, which takes less, and
    // its vectors have other signs.
    const bool square = 6 * most < 11 * k;
    const bool in_caches = fits_caches(most, full ? most : k);
    if (square || (in_caches && !u)) {
      const Reflections<T> reflections(in_caches);
      // A matrix of fewer rows than columns is transposed, and has a lower bidiagonal one.
      const bool lower = m < n;
      const std::int64_t stride = reflections.stride_for(k), widest = reflections.stride_for(most);
      const std::int64_t rows = w.add<T>(most * stride), turned = w.add<T>(u ? most * widest : 0);
      const std::int64_t beside = w.add<T>(k), left_factors = w.add<T>(k);
      const std::int64_t right_factors = w.add<T>(k),
                         room = w.add<T>(reflections.room_for(most, widest));
      const std::int64_t small_left = w.add<T>(u ? k * k : 0),
                         small_right = w.add<T>(u ? k * k : 0);
      const std::int64_t values_work = w.add<T>(u ? 3 * k * k + 4 * k : 4 * k);
      const auto by_reflections = [&](char* memory, std::int64_t i) {
        T *x = part<T>(memory, rows), *z = part<T>(memory, turned), *e = part<T>(memory, beside);
        T *taus = part<T>(memory, left_factors), *others = part<T>(memory, right_factors);
        T *free = part<T>(memory, room), *scratch = part<T>(memory, values_work);
        T* value = output<T>(s, i, k);
        pack_filled(a, i, x, lower ? Order::columns : Order::rows, stride);
        if (!reflections.kernel.has_usual_size(x, most * stride)) return by_lapack(memory, i);
        reflections.bidiagonalize(x, most, k, stride, value, e, taus, others, free);
        blas_int info = 0;
        if (!u) {
          f.lasq1(&k, value, e, scratch, &info);
          return info == 0 || by_lapack(memory, i);
        }
        T *inner_u = part<T>(memory, small_left), *inner_vh = part<T>(memory, small_right);
        f.bdsdc(lower ? "L" : "U", "I", &k, value, e, inner_u, &k, inner_vh, &k, nullptr, nullptr,
                scratch, part<blas_int>(memory, int_work), &info, 1, 1);
        if (info != 0) return false;
        // z = Q or P times the k × k matrix with these strides and an identity.
        const auto turn = [&](bool q, const T* inner, std::int64_t row_stride,
                              std::int64_t column_stride, std::int64_t length, std::int64_t width) {
          const std::int64_t leading = reflections.stride_for(width);
          std::fill(z, z + length * leading, T(0));
          pack(reinterpret_cast<const char*>(inner), k, k, row_stride, column_stride, z,
               Order::rows, leading);
          for (std::int64_t j = k; j < std::min(length, width); ++j) z[j * (leading + 1)] = T(1);
          if (q) {
            reflections.turn(x, stride, 1, k, 0, taus, z, length, width, leading, false, free);
          } else {
            reflections.turn(x, 1, stride, k - 1, 1, others, z, length, width, leading, false,
                             free);
          }
          return leading;
        };
        std::int64_t leading = turn(!lower, inner_u, 1, k, m, u_columns);
        copy_rows(z, leading, m, u_columns, output<T>(*u, i, m * u_columns), u_columns);
        leading = turn(lower, inner_vh, k, 1, n, vh_rows);
        pack(reinterpret_cast<const char*>(z), vh_rows, n, 1, leading,
             output<T>(*vh, i, vh_rows * n), Order::rows);
        return true;
      };
      return for_each_matrix<T>(a.count, elements, 8.0 * elements * k, w, by_reflections);
    }
  }
  return for_each_matrix<T>(a.count, elements, 8.0 * elements * k, w, by_lapack);
}

}  // namespace

std::int64_t solve(const Operand& a, const Operand& b, const Operand& out) {
  return for_floating(a.dtype, [&](auto t) { return solve_as<decltype(t)>(a, b, out); });
}
std::int64_t inverse(const Operand& a, const Operand& out) {
  return for_floating(a.dtype, [&](auto t) { return inverse_as<decltype(t)>(a, out); });
}
void determinant(const Operand& a, const Operand* det, const Operand* sign,
                 const Operand* log_abs) {
  for_floating(a.dtype, [&](auto t) { determinant_as<decltype(t)>(a, det, sign, log_abs); });
}
std::int64_t cholesky(const Operand& a, const Operand& out, bool upper) {
  return for_floating(a.dtype, [&](auto t) { return cholesky_as<decltype(t)>(a, out, upper); });
}
void qr(const Operand& a, const Operand& q, const Operand& r) {
  for_floating(a.dtype, [&](auto t) { qr_as<decltype(t)>(a, q, r); });
}
std::int64_t eigh(const Operand& a, const Operand& values, const Operand* vectors) {
  return for_floating(a.dtype, [&](auto t) { return eigh_as<decltype(t)>(a, values, vectors); });
}
std::int64_t eig(const Operand& a, const Operand& values, const Operand* vectors) {
  return for_floating(a.dtype, [&](auto t) { return eig_as<decltype(t)>(a, values, vectors); });
}
std::int64_t svd(const Operand& a, const Operand* u, const Operand& s, const Operand* vh) {
  return for_floating(a.dtype, [&](auto t) { return svd_as<decltype(t)>(a, u, s, vh); });
}

}  // namespace arrayx::cpu
