// Matrix products: cuBLAS, opened on first use, for floating dtypes; kernels of our own for small
// matrices, for few rows or columns (few_rows.hpp) and, tiled, for integers and for all where there
// is no cuBLAS. Of the smallest ones, and of two vectors, each element is a sum of dots.hpp.
#include <algorithm>
#include <vector>

#include "blas.hpp"
#include "copies_in_flight.cuh"
#include "dots.hpp"
#include "few_rows.hpp"
#include "libraries.hpp"
#include "loop.hpp"

namespace arrayx::cuda {

namespace {

// ---- our own kernel -----------------------------------------------------------------------------

struct Product {
  const char *a, *b;
  char* out;
  i64 m, n, k;
  i64 a_row, a_column, b_row, b_column, out_row;  // strides in elements
  i64 a_batch, b_batch, out_batch;
};

// How many elements along k one instruction multiplies and adds: they stand in one word.
template <class T>
constexpr int in_a_word = sizeof(T) == 1 ? 4 : 1;

template <class T, class W>
__device__ __forceinline__ W sum_and_product(W sum, W x, W y) {
  if constexpr (in_a_word<T> == 4) {
    return __dp4a(x, y, sum);
  } else if constexpr (ops::is_complex_v<W>) {
    return sum + W{x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
  } else {
    return sum + x * y;
  }
}

// Blocks of a multiprocessor that the compiler is to leave registers for, or 0 for its own choice:
// each was the fastest on an H100.
template <class T, int Rows>
constexpr int least_blocks = Rows == 8       ? 2
                             : sizeof(T) > 4 ? 1
                                             : 0;

// out[m, n] = a[m, k] @ b[k, n]; a block has a tile of 16 Rows by 16 Columns, a thread Rows by
// Columns of it. Of two tiles in shared memory one is read while the other is filled. Sums are in
// the order of k, whatever the tile.
template <class T, int Rows, int Columns>
__global__ void __launch_bounds__(block_threads, least_blocks<T, Rows>)
    multiply_tiles(const __grid_constant__ Product p) {
  using W = sum_t<T>;
  constexpr int rows = 16 * Rows, columns = 16 * Columns;
  constexpr int depth = Rows * sizeof(W) > 16 ? 8 : 16;
  // Elements that one load from shared memory brings.
  constexpr int widest = 16 / int(sizeof(W));
  constexpr int a_pack = Rows < widest ? Rows : widest,
                b_pack = Columns < widest ? Columns : widest;
  constexpr int a_loads = rows * depth / block_threads, b_loads = columns * depth / block_threads;
  using APack = Pack<W, a_pack>;
  using BPack = Pack<W, b_pack>;
  __shared__ __align__(16) W a_tile[2][depth][rows + a_pack], b_tile[2][depth][columns + b_pack];
  const T* const a = reinterpret_cast<const T*>(p.a) + blockIdx.z * p.a_batch;
  const T* const b = reinterpret_cast<const T*>(p.b) + blockIdx.z * p.b_batch;
  T* const out = reinterpret_cast<T*>(p.out) + blockIdx.z * p.out_batch;
  const i64 row0 = i64(blockIdx.y) * rows, column0 = i64(blockIdx.x) * columns;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  // Neighbouring threads read neighbours in memory.
  const bool a_along_k = p.a_column <= p.a_row, b_along_k = p.b_row < p.b_column;
  const auto a_line = [&](int i) { return a_along_k ? i / depth : i % rows; };
  const auto a_depth = [&](int i) { return a_along_k ? i % depth : i / rows; };
  const auto b_line = [&](int i) { return b_along_k ? i / depth : i % columns; };
  const auto b_depth = [&](int i) { return b_along_k ? i % depth : i / columns; };
  W a_next[a_loads], b_next[b_loads];
  // The word of a line that begins at k.
  const auto word = [&](const T* line, bool is_there, i64 step, i64 k) {
    if constexpr (in_a_word<T> == 1) {
      return is_there && k < p.k ? W(line[k * step]) : W{};
    } else {
      W w = 0;
#pragma unroll
      for (int e = 0; e < in_a_word<T>; ++e) {
        if (is_there && k + e < p.k) w |= W(line[(k + e) * step]) << 8 * e;
      }
      return w;
    }
  };
  const auto fetch = [&](i64 k0) {
#pragma unroll
    for (int j = 0; j < a_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      const i64 row = row0 + a_line(i);
      a_next[j] = word(a + row * p.a_row, row < p.m, p.a_column, k0 + a_depth(i) * in_a_word<T>);
    }
#pragma unroll
    for (int j = 0; j < b_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      const i64 column = column0 + b_line(i);
      b_next[j] =
          word(b + column * p.b_column, column < p.n, p.b_row, k0 + b_depth(i) * in_a_word<T>);
    }
  };
  const auto keep = [&](int tile) {
#pragma unroll
    for (int j = 0; j < a_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      a_tile[tile][a_depth(i)][a_line(i)] = a_next[j];
    }
#pragma unroll
    for (int j = 0; j < b_loads; ++j) {
      const int i = threadIdx.x + j * block_threads;
      b_tile[tile][b_depth(i)][b_line(i)] = b_next[j];
    }
  };
  W sum[Rows][Columns] = {};
  fetch(0);
  keep(0);
  int tile = 0;
  constexpr int along_k = depth * in_a_word<T>;
  for (i64 k0 = 0; k0 < p.k; k0 += along_k, tile ^= 1) {
    __syncthreads();
    const bool more = k0 + along_k < p.k;
    if (more) fetch(k0 + along_k);
    // What is beyond k are zeros on both sides, which change no sum.
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      APack u[Rows / a_pack];
      BPack v[Columns / b_pack];
#pragma unroll
      for (int i = 0; i < Rows / a_pack; ++i) {
        u[i] = *reinterpret_cast<const APack*>(&a_tile[tile][k][(y + 16 * i) * a_pack]);
      }
#pragma unroll
      for (int j = 0; j < Columns / b_pack; ++j) {
        v[j] = *reinterpret_cast<const BPack*>(&b_tile[tile][k][(x + 16 * j) * b_pack]);
      }
#pragma unroll
      for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < Columns; ++j) {
          sum[i][j] = sum_and_product<T>(sum[i][j], u[i / a_pack].v[i % a_pack],
                                         v[j / b_pack].v[j % b_pack]);
        }
      }
    }
    if (more) keep(tile ^ 1);
  }
#pragma unroll
  for (int i = 0; i < Rows; ++i) {
    const i64 row = row0 + (y + i / a_pack * 16) * a_pack + i % a_pack;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const i64 column = column0 + (x + j / b_pack * 16) * b_pack + j % b_pack;
      if (row < p.m && column < p.n) out[row * p.out_row + column] = T(sum[i][j]);
    }
  }
}

// A kernel and the tile that its blocks have.
struct Tiling {
  int rows, columns;
  const void* kernel;
};

template <class T, int Rows, int Columns>
Tiling tiling() {
  return {16 * Rows, 16 * Columns,
          reinterpret_cast<const void*>(&multiply_tiles<T, Rows, Columns>)};
}

// That which takes the least time when multiprocessors have equally many tiles: a tile takes as
// long as its products and, a quarter of that at a side of 128, as what is read for them.
template <class T>
Tiling best_tiling(const Product& p, std::int64_t batches) {
  std::vector<Tiling> all = {tiling<T, 4, 4>(), tiling<T, 4, 2>()};
  if constexpr (std::is_integral_v<T>) all.push_back(tiling<T, 2, 2>());
  if constexpr (std::is_integral_v<T> && sizeof(T) <= 4) all.push_back(tiling<T, 8, 8>());
  const auto time = [&](const Tiling& t) {
    const std::int64_t tiles = ((p.m - 1) / t.rows + 1) * ((p.n - 1) / t.columns + 1) * batches;
    const std::int64_t rounds = (tiles - 1) / properties().multiprocessors + 1;
    return static_cast<double>(rounds) * (t.rows * t.columns + 16 * (t.rows + t.columns));
  };
  return *std::min_element(all.begin(), all.end(),
                           [&](const Tiling& a, const Tiling& b) { return time(a) < time(b); });
}

Tiling best_tiling(DType d, const Product& p, std::int64_t batches) {
  if (compute_dtype(d) != d || d == DType::bool_) {
    raise(ErrorKind::not_implemented, "a matrix product of ", d, " has no kernel");
  }
  return dispatch_numeric(d, [&](auto zero) { return best_tiling<decltype(zero)>(p, batches); });
}

void multiply_tiled(DType d, Product p, std::int64_t batches) {
  constexpr std::int64_t most_batches = 65535, most_rows = 65535;  // of a grid
  const Tiling tile = best_tiling(d, p, batches);
  const std::int64_t columns = (p.n - 1) / tile.columns + 1, rows = (p.m - 1) / tile.rows + 1;
  const int size = itemsize(d);
  for (std::int64_t row = 0; row < rows; row += most_rows) {
    for (std::int64_t batch = 0; batch < batches; batch += most_batches) {
      Product part = p;
      part.a += (batch * p.a_batch + row * tile.rows * p.a_row) * size;
      part.b += batch * p.b_batch * size;
      part.out += (batch * p.out_batch + row * tile.rows * p.out_row) * size;
      part.m -= row * tile.rows;
      const dim3 grid(static_cast<unsigned>(columns),
                      static_cast<unsigned>(std::min(most_rows, rows - row)),
                      static_cast<unsigned>(std::min(most_batches, batches - batch)));
      void* arguments[] = {&part};
      check(cudaLaunchKernel(tile.kernel, grid, dim3(block_threads), arguments, 0, stream()),
            "matmul");
    }
  }
}

// ---- small matrices -----------------------------------------------------------------------------

// One operand of small products; steps in elements.
struct SmallMatrix {
  i64 row, column;
  bool by_columns;  // neighbours of a column are nearer in memory than those of a row
  Divisor lines;    // of those neighbours, in a matrix
  int lanes_log2;   // threads of a line
};

// A stack of products, each by a team of threads, `at_once` of them by a block.
struct SmallProducts {
  Loop loop;  // over the products: a, b, out
  int m, n, k;
  SmallMatrix a, b;
  int at_once;
  bool packs_out;
};

constexpr int most_small = 32;            // rows, columns, or products of a sum
constexpr int few_products = 64;          // in all: with no more, a thread has an element
constexpr int rows_of_thread = 4;         // with as many columns as 16 bytes have
constexpr int bytes_of_block = 36 << 10;  // of shared memory: an H100 has room for six
template <class W>
constexpr int columns_of_thread = pack_bytes / int(sizeof(W));

// Rows of an odd length meet every bank; those of b are read in packs.
ARRAYX_HD int pitch_of_a(int k) {
  return k | 1;
}
template <class W>
ARRAYX_HD int pitch_of_b(int n) {
  constexpr int pack = columns_of_thread<W>;
  return (n + pack - 1) / pack * pack;
}

// Where the matrices of one product begin, in bytes.
struct alignas(16) Places {
  i64 of[3];  // a, b, out
};

// Brings one operand of `count` products, of so many rows and columns, into shared memory.
template <class T, int operand, class W>
__device__ __forceinline__ void stage(const SmallProducts& p, const SmallMatrix& x,
                                      const Places* places, int rows, int columns, int count, W* to,
                                      int pitch) {
  const int length = x.by_columns ? rows : columns, lines = int(x.lines.divisor);
  const i64 line_step = x.by_columns ? x.column : x.row, step = x.by_columns ? x.row : x.column;
  const int at = threadIdx.x & ((1 << x.lanes_log2) - 1), side = block_threads >> x.lanes_log2;
  if (at >= length) return;
  const char* const from = p.loop.data[operand] + at * step * i64(sizeof(T));
  const auto matrix_of = [&](int line) { return int(x.lines.divide(u32(line))); };
  const auto source = [&](int line) {
    const int i = matrix_of(line), mine = line - i * lines;
    const char* const matrix = from + places[i].of[operand];
    return reinterpret_cast<const T*>(matrix + mine * line_step * i64(sizeof(T)));
  };
  const auto place = [&](int line) -> W& {
    const int i = matrix_of(line), mine = line - i * lines;
    return to[(i * rows + (x.by_columns ? at : mine)) * pitch + (x.by_columns ? mine : at)];
  };
  int line = threadIdx.x >> x.lanes_log2;
  if constexpr (ops::same_type_v<T, W>) {
#pragma unroll 4
    for (; line < count * lines; line += side) copy_in_flight(&place(line), source(line));
  } else {
    constexpr int in_flight = 4;
    for (; line + (in_flight - 1) * side < count * lines; line += in_flight * side) {
      T found[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) found[u] = *source(line + u * side);
#pragma unroll
      for (int u = 0; u < in_flight; ++u) place(line + u * side) = W(found[u]);
    }
#pragma unroll 1
    for (; line < count * lines; line += side) place(line) = W(*source(line));
  }
}

// A thread has some rows of as many columns as a pack has. Sums are in the order of k, as those of
// dots_in_order() are.
template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_small(const __grid_constant__ SmallProducts p) {
  wait_for_earlier();
  using W = sum_t<T>;
  constexpr int rows = rows_of_thread, columns = columns_of_thread<W>;
  extern __shared__ __align__(16) char memory[];
  const u32 base = blockIdx.x * u32(p.at_once);
  const int count = int(min(p.loop.count - base, u32(p.at_once)));
  const int a_pitch = pitch_of_a(p.k), b_pitch = pitch_of_b<W>(p.n);
  Places* const places = reinterpret_cast<Places*>(memory);
  W* const b = reinterpret_cast<W*>(places + p.at_once);
  W* const a = b + p.at_once * p.k * b_pitch;
  if (int(threadIdx.x) < count) {
    u32 at[1] = {base + threadIdx.x};
    i64 offset[1][3] = {};
    locate(p.loop, 0, at, offset);
#pragma unroll
    for (int x = 0; x < 3; ++x) places[threadIdx.x].of[x] = offset[0][x];
  }
  __syncthreads();
  stage<T, 0>(p, p.a, places, p.m, p.k, count, a, a_pitch);
  stage<T, 1>(p, p.b, places, p.k, p.n, count, b, b_pitch);
  await_copies();
  __syncthreads();
  const int row_step = (p.m - 1) / rows + 1, across = b_pitch / columns, team = row_step * across;
  const int mine = int(threadIdx.x) / team, member = int(threadIdx.x) % team;
  const int row = member / across, column = member % across * columns;
  if (mine >= count) return;
  const W* a_row[rows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    a_row[i] = a + (mine * p.m + min(row + i * row_step, p.m - 1)) * a_pitch;
  }
  const W* const b_column = b + mine * p.k * b_pitch + column;
  W sum[rows][columns] = {};
#pragma unroll 4
  for (int l = 0; l < p.k; ++l) {
    const auto y = *reinterpret_cast<const Pack<W, columns>*>(b_column + l * b_pitch);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const W x = a_row[i][l];
#pragma unroll
      for (int j = 0; j < columns; ++j) sum[i][j] = with_product(sum[i][j], x, y.v[j]);
    }
  }
  T* const out = reinterpret_cast<T*>(p.loop.data[2] + places[mine].of[2]);
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    if (row + i * row_step >= p.m) break;
    T* const to = out + (row + i * row_step) * p.n + column;
    Pack<T, columns> result;
#pragma unroll
    for (int j = 0; j < columns; ++j) result.v[j] = T(sum[i][j]);
    if (p.packs_out) {
      *reinterpret_cast<Pack<T, columns>*>(to) = result;
    } else {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        if (column + j < p.n) to[j] = result.v[j];
      }
    }
  }
}

// Products so small that a thread block has room for one, or for several.
void multiply_small(const Operand& a, const Operand& b, const Operand& out, const Product& sizes) {
  const int n = out.layout->ndim(), size = itemsize(out.dtype);
  const auto batch_of = [&](const Dims& x) { return Dims(x.begin(), x.end() - 2); };
  const Dims strides[3] = {batch_of(a.layout->strides), batch_of(b.layout->strides),
                           batch_of(out.layout->strides)};
  const Dims* const of_operands[3] = {&strides[0], &strides[1], &strides[2]};
  const auto matrix = [](i64 rows, i64 columns, i64 row, i64 column) {
    SmallMatrix x{row, column, detail::magnitude(row) < detail::magnitude(column), {}, 0};
    x.lines = Divisor(static_cast<u32>(x.by_columns ? columns : rows));
    while (1 << x.lanes_log2 < (x.by_columns ? rows : columns)) ++x.lanes_log2;
    return x;
  };
  const int item_sizes[] = {size, size, size};
  in_parts(make_plan(batch_of(out.layout->shape), of_operands, 3), [&](const Plan& plan) {
    SmallProducts p{};
    p.m = static_cast<int>(sizes.m);
    p.n = static_cast<int>(sizes.n);
    p.k = static_cast<int>(sizes.k);
    p.a = matrix(sizes.m, sizes.k, sizes.a_row, sizes.a_column);
    p.b = matrix(sizes.k, sizes.n, sizes.b_row, sizes.b_column);
    const char* const data[3] = {a.data, b.data, out.data};
    for (int x = 0; x < 3; ++x) p.loop.data[x] = const_cast<char*>(data[x]) + plan.base[x] * size;
    std::optional<Scratch> more;
    set_dims(p.loop, plan, item_sizes, more);
    p.loop.count = static_cast<u32>(plan.count());
    dispatch_numeric(out.dtype, [&](auto zero) {
      using T = decltype(zero);
      using W = sum_t<T>;
      constexpr int columns = columns_of_thread<W>;
      const int b_pitch = pitch_of_b<W>(p.n);
      const int team = ((p.m - 1) / rows_of_thread + 1) * (b_pitch / columns);
      const int each =
          (p.m * pitch_of_a(p.k) + p.k * b_pitch) * int(sizeof(W)) + int(sizeof(Places));
      // Few products are shared out among all multiprocessors.
      const std::int64_t fair = (plan.count() - 1) / properties().multiprocessors + 1;
      p.at_once = static_cast<int>(
          std::min<std::int64_t>({block_threads / team, bytes_of_block / each, fair}));
      p.packs_out = p.n % columns == 0 && is_aligned_to(p.loop.data[2], columns * size);
      for (int d = 0; d < plan.ndim(); ++d) p.packs_out &= plan.stride[2][d] % columns == 0;
      void* arguments[] = {&p};
      launch(reinterpret_cast<const void*>(&multiply_small<T>),
             static_cast<unsigned>((plan.count() - 1) / p.at_once + 1), arguments,
             static_cast<std::size_t>(p.at_once * each), "matmul");
    });
  });
}

// ---- cuBLAS -------------------------------------------------------------------------------------

// The numbers are those of cublas_api.h.
constexpr int compute_32f = 68, compute_64f = 70, algo_default = -1, not_supported = 15;

// Whether it has computed the product: there are batches and strides for which it has no kernel.
bool has_computed(int status) {
  if (status != 0 && status != not_supported) {
    raise(ErrorKind::runtime, "matmul: cuBLAS failed with status ", status);
  }
  return status == 0;
}

// A row-major matrix as cuBLAS may read it: rows or columns are contiguous.
bool is_blas_matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                    std::int64_t column_step) {
  return (column_step == 1 && row_step >= std::max<std::int64_t>(columns, 1)) ||
         (row_step == 1 && column_step >= std::max<std::int64_t>(rows, 1));
}

bool multiply_cublas(DType d, const Product& p, std::int64_t batches) {
  Cublas& library = cublas();
  const cudaDataType_t type = data_type(d);
  const bool single = compute_dtype(real_dtype(d)) == DType::float32;
  alignas(16) double one[2] = {1, 0}, zero[2] = {0, 0};
  alignas(16) float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  // cuBLAS is column-major: out' = b' a'.
  const bool a_rows = p.a_column == 1 && p.a_row >= p.k, b_rows = p.b_column == 1 && p.b_row >= p.n;
  const int status = library.gemm(
      library.handle(), b_rows ? Cublas::op_none : Cublas::op_transpose,
      a_rows ? Cublas::op_none : Cublas::op_transpose, p.n, p.m, p.k,
      single ? static_cast<const void*>(one_f) : one, p.b, type, b_rows ? p.b_row : p.b_column,
      p.b_batch, p.a, type, a_rows ? p.a_row : p.a_column, p.a_batch,
      single ? static_cast<const void*>(zero_f) : zero, p.out, type, p.out_row, p.out_batch,
      batches, single ? compute_32f : compute_64f, algo_default);
  return has_computed(status);
}

// A matrix times a vector, whichever stands first.
bool multiply_vector(DType d, const Product& p) {
  Cublas& library = cublas();
  // Where a is the vector, the matrix is b's transpose.
  const bool first = p.n == 1;
  const char* const matrix = first ? p.a : p.b;
  const char* const vector = first ? p.b : p.a;
  const i64 row = first ? p.a_row : p.b_column, column = first ? p.a_column : p.b_row;
  const i64 rows = first ? p.m : p.n, step = first ? p.b_row : p.a_column;
  // cuBLAS is column-major: rows are the columns of a transpose.
  const bool by_rows = column == 1 && row >= p.k;
  alignas(16) double one[2] = {1, 0}, zero[2] = {0, 0};
  alignas(16) float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
  const bool single = real_dtype(d) == DType::float32;
  const int status = library.gemv[static_cast<int>(d) - static_cast<int>(DType::float32)](
      library.handle(), by_rows ? Cublas::op_transpose : Cublas::op_none, by_rows ? p.k : rows,
      by_rows ? rows : p.k, single ? static_cast<const void*>(one_f) : one, matrix,
      by_rows ? row : column, vector, step, single ? static_cast<const void*>(zero_f) : zero, p.out,
      1);
  return has_computed(status);
}

// Few rows by a large matrix, or a large one by few columns.
bool multiply_few(DType d, const Product& p) {
  if (p.m <= p.n) {
    return multiply_few_rows(d, {p.a, p.b, p.out, p.m, p.k, p.n, p.a_row, p.a_column, p.b_row,
                                 p.b_column, p.out_row, 1});
  }
  return multiply_few_rows(
      d, {p.b, p.a, p.out, p.n, p.k, p.m, p.b_column, p.b_row, p.a_column, p.a_row, 1, p.out_row});
}

Array contiguous_copy(const Operand& a) {
  Array packed = scratch_array(a.dtype, a.layout->shape);
  copy(a, packed);
  return packed;
}

// … of what kernels compute in another dtype, or where elements are not aligned.
void multiply_copies(const Operand& a, const Operand& b, const Operand& out) {
  const DType wide = compute_dtype(out.dtype);
  const Array result = scratch_array(wide, out.layout->shape);
  const Array left = scratch_array(wide, a.layout->shape);
  const Array right = scratch_array(wide, b.layout->shape);
  copy(a, left);
  copy(b, right);
  matmul(left, right, result);
  copy(result, out);
}

}  // namespace

void matmul(const Operand& a, const Operand& b, const Operand& out) {
  if (out.layout->size == 0) return;
  const int n = out.layout->ndim();
  Product p;
  p.m = out.layout->shape[n - 2];
  p.n = out.layout->shape[n - 1];
  p.k = a.layout->shape[n - 1];
  if (p.k == 0) return copy(Element::of(std::int8_t{0}), out);
  Array a_copy, b_copy;
  Operand left = a, right = b;
  // cuBLAS rounds by the layout; small products have the same bits in all of them.
  const std::int64_t largest = std::max({p.m, p.n, p.k});
  const bool as_small =
      largest <= most_small && p.m * p.n > 1 &&
      (largest > most_in_order || (std::min(p.m, p.n) > 1 && p.m * p.n * p.k > few_products));
  const bool as_dots = !as_small && (largest <= most_in_order || (p.m == 1 && p.n == 1));
  const bool by_cublas =
      !as_small && !as_dots && is_floating(out.dtype) && cublas().gemm != nullptr;
  // cuBLAS reads halves and adds up float32; what is smaller is float32's.
  const bool of_halves = by_cublas && out.dtype == DType::float16;
  if ((compute_dtype(out.dtype) != out.dtype && !of_halves) || !has_aligned_elements(out)) {
    return multiply_copies(a, b, out);
  }
  const bool by_vector = by_cublas && !of_halves && std::min(p.m, p.n) == 1 &&
                         out.layout->size == p.m * p.n && cublas().gemv[0] != nullptr;
  const auto prepare = [&](Operand& x, Array& holder, std::int64_t rows, std::int64_t columns) {
    const std::int64_t row = x.layout->strides[n - 2], column = x.layout->strides[n - 1];
    const auto is_readable = [&] {
      if (by_vector && rows == 1 && columns == 1) return row > 0 && column > 0;
      if (by_vector && rows == 1 && columns == p.k) return column > 0;
      if (by_vector && columns == 1 && rows == p.k) return row > 0;
      // Of matrices in the reverse order cuBLAS refuses some.
      for (int d = 0; d < n - 2; ++d) {
        if (by_cublas && x.layout->shape[d] > 1 && x.layout->strides[d] < 0) return false;
      }
      return !by_cublas || is_blas_matrix(rows, columns, row, column);
    };
    if (has_aligned_elements(x) && is_readable()) return;
    holder = contiguous_copy(x);
    x = holder;
  };
  prepare(left, a_copy, p.m, p.k);
  prepare(right, b_copy, p.k, p.n);
  p.a_row = left.layout->strides[n - 2];
  p.a_column = left.layout->strides[n - 1];
  p.b_row = right.layout->strides[n - 2];
  p.b_column = right.layout->strides[n - 1];
  p.out_row = p.n;
  if (as_small) return multiply_small(left, right, out, p);
  if (as_dots) {
    Dots d{left.data, right.data, out.data, out.layout->shape, {}, p.k, p.a_column, p.b_row};
    d.strides[0] = left.layout->strides;
    d.strides[0][n - 1] = 0;
    d.strides[1] = right.layout->strides;
    d.strides[1][n - 2] = 0;
    d.strides[2] = out.layout->strides;
    return dots(out.dtype, d);
  }
  // The batch in one dimension, and a loop over what does not merge.
  const Dims batch(out.layout->shape.begin(), out.layout->shape.end() - 2);
  const auto batch_strides = [&](const Operand& x) {
    return Dims(x.layout->strides.begin(), x.layout->strides.end() - 2);
  };
  const Dims a_strides = batch_strides(left), b_strides = batch_strides(right);
  const Dims out_strides = batch_strides(out);
  const Dims* strides[3] = {&a_strides, &b_strides, &out_strides};
  const Plan plan = make_plan(batch, strides, 3);
  const int size = itemsize(out.dtype), last = plan.ndim() - 1;
  p.a_batch = plan.stride[0][last];
  p.b_batch = plan.stride[1][last];
  p.out_batch = plan.stride[2][last];
  const std::int64_t inner = plan.size[last], outer = plan.count() / inner;
  for (std::int64_t i = 0; i < outer; ++i) {
    std::int64_t place[3] = {plan.base[0], plan.base[1], plan.base[2]};
    std::int64_t rest = i;
    for (int d = last - 1; d >= 0; --d) {
      for (int k = 0; k < 3; ++k) place[k] += rest % plan.size[d] * plan.stride[k][d];
      rest /= plan.size[d];
    }
    p.a = left.data + place[0] * size;
    p.b = right.data + place[1] * size;
    p.out = out.data + place[2] * size;
    if (inner == 1 && !of_halves && multiply_few(out.dtype, p)) continue;
    const bool is_done = by_vector   ? multiply_vector(out.dtype, p)
                         : by_cublas ? multiply_cublas(out.dtype, p, inner)
                                     : false;
    if (is_done) continue;
    if (of_halves) return multiply_copies(a, b, out);
    multiply_tiled(out.dtype, p, inner);
  }
}

}  // namespace arrayx::cuda
