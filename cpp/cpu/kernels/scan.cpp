// Running sums and products over contiguous rows or columns, compiled per instruction set. The
// association is the one reduce_kernels.hpp states, whatever the vector width.
#include "../prefetch.hpp"
#include "../simd/stream.hpp"
#include "reduce_loops.hpp"

namespace arrayx::cpu {
namespace ARRAYX_ISA {
namespace {

// Asks for the rows that are read later, a few lines at a time: as many as are read meanwhile, row
// after row. Many at once, or lines of many rows in turn, take up to half as long again.
template <bool Asks>
class Asking {
 public:
  ARRAYX_HD Asking(const ScanJob& job, int64_t row_bytes)
      : row_(job.later),
        row_stride_(job.in_row),
        row_bytes_(row_bytes),
        left_(job.later_rows * ((row_bytes - 1) / line_bytes + 1)) {}
  template <int lines>
  ARRAYX_HD void ask() {
    if (!Asks || left_ <= 0) return;
    left_ -= lines;
    ARRAYX_UNROLL
    for (int l = 0; l < lines; ++l) {
      __builtin_prefetch(row_ + at_);
      at_ += line_bytes;
      if (at_ >= row_bytes_) {
        __builtin_prefetch(row_ + row_bytes_ - 1);  // where the row begins within a line
        at_ = 0;
        row_ += row_stride_;
      }
    }
  }

 private:
  const char* row_;
  int64_t row_stride_, row_bytes_, left_, at_ = 0;
};

// f(asks, streams), two constants, as the job says.
template <class F>
void with_choices(const ScanJob& job, F&& f) {
  using Yes = std::true_type;
  using No = std::false_type;
  if (job.streamed) return job.later_rows != 0 ? f(Yes(), Yes()) : f(No(), Yes());
  return job.later_rows != 0 ? f(Yes(), No()) : f(No(), No());
}

// Whether a vector is a line: columns of less go past the caches no faster than through them.
constexpr bool whole_lines = ops::vector_bytes == line_bytes;

// How chunks of a row are written, in vectors: to the caches,
struct ToCaches {
  ARRAYX_HD static void prepare(const char*, char* out) { fetch<line_bytes>(out + result_ahead); }
  template <class V>
  ARRAYX_HD static void put(V x, char* out) {
    x.store(out);
  }
  static void end() {}
};
// and past them. Where vectors are lines a row may begin within one: a line takes some lanes of the
// chunk before and the first ones of the next.
template <class V>
class PastCaches {
 public:
  explicit PastCaches(char* row)
      : before_(int(reinterpret_cast<std::uintptr_t>(row) % line_bytes / sizeof(T))),
        begins_(before_ > 0),
        line_(row - before_ * sizeof(T)),
        lanes_(ops::iota<I>() + I(W - before_)) {}
  ARRAYX_HD static void prepare(const char* in, char*) { fetch_page_after<line_bytes>(in); }
  ARRAYX_HD void put(V x, char* out) {
    if constexpr (whole_lines) {
      if (begins_) {
        store_part(x, out, W - before_);
      } else {
        stream_vector(across(last_, x, lanes_), line_);
      }
      begins_ = false;
      line_ += line_bytes;
      last_ = x;
    } else {
      stream_vector(x, out);
    }
  }
  // What the last chunk has of a line that it does not end.
  void end() const {
    if constexpr (whole_lines) {
      if (before_ > 0 && !begins_) store_part(across(last_, last_, lanes_), line_, before_);
    }
  }

 private:
  using T = ops::scalar_t<V>;
  using I = ops::int_t<V>;
  static constexpr int W = int(sizeof(V) / sizeof(T));
  int before_;   // lanes of the first line that are not of this row
  bool begins_;  // whether the first line is yet to come, which is written in part
  char* line_;
  V last_ = V(T(0));
  I lanes_;
};

// One element after the other.
template <class Op, class A>
struct InOrder {
  // Lines are fetched by so many bytes ahead: large rows take 3/5 of the time then.
  static constexpr int64_t fetched_ahead = 512, line = 64 / sizeof(A);

  // K rows together: each waits for its own last addition. All are read before one is written:
  // where operand and result lie a multiple of 1 MiB apart, and so do their rows, a read waits for
  // a write before it of the same column, and all take ten times as long.
  template <int K>
  static void run_rows(const char* in, int64_t in_stride, char* out, int64_t out_stride, int64_t n,
                       bool start, A* carry) {
    A x[K];
    int64_t i = 0;
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) x[k] = carry[k];
    if (start && n > 0) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        x[k] = load_item<A>(in + k * in_stride);
        store_item(out + k * out_stride, x[k]);
      }
      i = 1;
    }
    while (i < n) {
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const int64_t ahead = i * int64_t(sizeof(A)) + fetched_ahead;
        __builtin_prefetch(in + k * in_stride + ahead);
        __builtin_prefetch(out + k * out_stride + ahead, 1);
      }
      const int64_t end = n - i < line ? n : i + line;
      for (; i < end; ++i) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          x[k] = Op::combine(x[k], load_item<A>(in + k * in_stride + i * sizeof(A)));
        }
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) store_item(out + k * out_stride + i * sizeof(A), x[k]);
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) carry[k] = x[k];
  }
  static void rows(const ScanJob& given) {
    const ScanJob job = given;  // which no store changes
    A* c = static_cast<A*>(job.carry);
    const auto run = [&](int64_t r, auto together) {
      run_rows<together>(job.in + r * job.in_row, job.in_row, job.out + r * job.out_row,
                         job.out_row, job.columns, job.position == 0, c + r);
    };
    int64_t r = 0;
    for (; r + 4 <= job.rows; r += 4) run(r, std::integral_constant<int, 4>());
    for (; r < job.rows; ++r) run(r, std::integral_constant<int, 1>());
  }

  static void columns(const ScanJob& job) {
    if constexpr (ops::is_complex_v<A> && std::is_same_v<Op, ops::Sum>) {
      ScanJob parts = job;
      parts.columns *= 2;
      InOrder<Op, decltype(A::re)>::columns(parts);
    } else {
      with_choices(job, [&](auto asks, auto streams) { run_columns<asks, streams>(job); });
    }
  }
  template <bool Asks, bool Streams>
  static void run_columns(const ScanJob& given) {
    const ScanJob job = given;  // which no store changes
    const int64_t width = job.columns;
    A* const c = static_cast<A*>(job.carry);
    Asking<Asks> later(job, width * int64_t(sizeof(A)));
    const auto run_row = [&](const char* p, char* q, auto first) {
      int64_t j = 0;
      if constexpr (!ops::is_complex_v<A>) {
        constexpr int W = ops::vector_bytes / int(sizeof(A)), together = line / W;
        using V = Vec<A, W>;
        const auto add = [&](int64_t at) {
          V x = V::load(p + at * sizeof(A));
          if (!first) x = Op::combine(V::load(c + at), x);
          x.store(c + at);
          return x;
        };
        constexpr int asked = 4;
        for (; j + line <= width; j += line) {
          if (j % (asked * line) == 0) later.template ask<asked>();
          V x[together];
          ARRAYX_UNROLL
          for (int v = 0; v < together; ++v) x[v] = add(j + v * W);
          ARRAYX_UNROLL
          for (int v = 0; v < together; ++v) put<Streams>(x[v], q + (j + v * W) * sizeof(A));
        }
        for (; j + W <= width; j += W) add(j).store(q + j * sizeof(A));
      }
      for (const int64_t first_left = j; j < width; ++j) {
        if (Asks && (j - first_left) % line == 0) later.template ask<1>();
        const A x = load_item<A>(p + j * sizeof(A));
        c[j] = first ? x : Op::combine(c[j], x);
        store_item(q + j * sizeof(A), c[j]);
      }
    };
    for (int64_t r = 0; r < job.rows; ++r) {
      const char* const p = job.in + r * job.in_row;
      char* const q = job.out + r * job.out_row;
      if (job.position + r == 0) {
        run_row(p, q, std::true_type());
      } else {
        run_row(p, q, std::false_type());
      }
    }
  }
};

// In chunks of P elements, within blocks.
template <class Op, class A>
struct Chunked {
  static constexpr int W = ops::vector_bytes / int(sizeof(A));
  static constexpr int P = reduce_lanes(sizeof(A));
  static constexpr int R = P / W;
  using V = Vec<A, W>;
  // The element before the upper half of i's group of 2 * step.
  static constexpr int source(int i, int step) {
    return i & step ? (i & ~(2 * step - 1)) + step - 1 : i;
  }
  template <int Step, std::size_t... I>
  ARRAYX_HD static V sources(V x, std::index_sequence<I...>) {
    return V(__builtin_shufflevector(x.v, x.v, source(int(I), Step)...));
  }
  template <std::size_t... I>
  ARRAYX_HD static V last_everywhere(V x, std::index_sequence<I...>) {
    return V(__builtin_shufflevector(x.v, x.v, (I * 0 + W - 1)...));
  }
  ARRAYX_HD static V last_everywhere(V x) {
    return last_everywhere(x, std::make_index_sequence<W>());
  }

  template <int Step>
  ARRAYX_HD static V within(V x) {
    if constexpr (Step == W) {
      return x;
    } else {
      using I = ops::int_t<V>;
      const auto upper = (ops::iota<I>() & I(Step)) != I(0);
      const V y = Op::combine(sources<Step>(x, std::make_index_sequence<W>()), x);
      return within<2 * Step>(select(upper, y, x));
    }
  }
  // Running sums of a chunk.
  ARRAYX_HD static void chunk(V* x) {
    ARRAYX_UNROLL
    for (int r = 0; r < R; ++r) x[r] = within<1>(x[r]);
    ARRAYX_UNROLL
    for (int step = 1; step < R; step *= 2) {
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) {
        if (r & step) x[r] = Op::combine(last_everywhere(x[source(r, step)]), x[r]);
      }
    }
  }

  // The sums of neighbours in x and, behind those, in y.
  template <std::size_t... I>
  ARRAYX_HD static V neighbours(V x, V y, std::index_sequence<I...>) {
    return Op::combine(V(__builtin_shufflevector(x.v, y.v, (2 * int(I))...)),
                       V(__builtin_shufflevector(x.v, y.v, (2 * int(I) + 1)...)));
  }
  // The last running sums of W chunks: of halves, quarters …, as within() and chunk() have them.
  static V chunk_sums(const char* in) {
    V x[W * R];
    ARRAYX_UNROLL
    for (int i = 0; i < W * R; ++i) x[i] = V::load(in + i * sizeof(V));
    ARRAYX_UNROLL
    for (int count = W * R / 2; count > 0; count /= 2) {
      ARRAYX_UNROLL
      for (int i = 0; i < count; ++i) {
        x[i] = neighbours(x[2 * i], x[2 * i + 1], std::make_index_sequence<W>());
      }
    }
    return x[0];
  }
  // The carries of K rows of whole blocks: together, since each waits for its own last addition.
  template <int K>
  static void sums(const char* in, int64_t in_stride, int64_t n, int64_t position, A* carry) {
    static_assert(scan_block % (W * P) == 0);
    constexpr int fetched_ahead = 2048;  // the hardware does not know of so many short rows
    A inner[K];
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) inner[k] = carry[2 * k];
    for (int64_t i = 0; i < n; i += W * P) {
      if ((position + i) % scan_block == 0) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) {
          carry[2 * k + 1] = Op::combine(carry[2 * k + 1], inner[k]);
          inner[k] = Op::template identity<A>();
        }
      }
      V last[K];
      ARRAYX_UNROLL
      for (int k = 0; k < K; ++k) {
        const char* const p = in + k * in_stride + i * int64_t(sizeof(A));
        fetch<W * P * sizeof(A)>(p + fetched_ahead);
        last[k] = chunk_sums(p);
      }
      ARRAYX_UNROLL
      for (int chunk = 0; chunk < W; ++chunk) {
        ARRAYX_UNROLL
        for (int k = 0; k < K; ++k) inner[k] = Op::combine(inner[k], last[k][chunk]);
      }
    }
    ARRAYX_UNROLL
    for (int k = 0; k < K; ++k) carry[2 * k] = inner[k];
  }
  template <class Writer>
  static void row(const char* in, char* out, int64_t n, int64_t position, A* carry, Writer writer) {
    V inner(carry[0]), outer(carry[1]);
    // A chunk; what is stored is all that `store` is given.
    const auto run = [&](auto load, auto store) {
      V x[R];
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) x[r] = load(r);
      chunk(x);
      ARRAYX_UNROLL
      for (int r = 0; r < R; ++r) store(r, Op::combine(outer, Op::combine(inner, x[r])));
      inner = Op::combine(inner, last_everywhere(x[R - 1]));
    };
    for (int64_t i = 0; i < n;) {
      const int64_t place = (position + i) % scan_block;
      if (place == 0) {
        outer = Op::combine(outer, inner);
        inner = V(Op::template identity<A>());
      }
      const int64_t end = n - i < scan_block - place ? n : i + scan_block - place;
      for (; i + P <= end; i += P) {
        const char* const p = in + i * int64_t(sizeof(A));
        char* const q = out + i * int64_t(sizeof(A));
        static_assert(P * sizeof(A) == line_bytes);
        writer.prepare(p, q);
        run([p](int r) { return V::load(p + r * sizeof(V)); },
            [q, &writer](int r, V y) { writer.put(y, q + r * sizeof(V)); });
      }
      if (i < end) {
        const char* const p = in + i * int64_t(sizeof(A));
        char* const q = out + i * int64_t(sizeof(A));
        const int64_t left = end - i;
        run(
            [p, left](int r) {
              const int64_t live = left - r * W;
              if (live <= 0) return V(A(0));
              const char* const at = p + r * sizeof(V);
              return live < W ? load_part<A, W>(at, live) : V::load(at);
            },
            [q, left](int r, V y) {
              const int64_t live = left - r * W;
              if (live > 0) store_part(y, q + r * sizeof(V), live < W ? live : W);
            });
        i = end;
      }
    }
    writer.end();
    carry[0] = inner[0];
    carry[1] = outer[0];
  }
  static void rows(const ScanJob& given) {
    const ScanJob job = given;  // which no store changes
    A* c = static_cast<A*>(job.carry);
    const int64_t n = job.columns, position = job.position;
    if (position == 0) {
      for (int64_t r = 0; r < 2 * job.rows; ++r) c[r] = Op::template identity<A>();
    }
    const auto each_row = [&](auto writer) {
      for (int64_t r = 0; r < job.rows; ++r) {
        char* const out = job.out + r * job.out_row;
        row(job.in + r * job.in_row, out, n, position, c + 2 * r, writer(out));
      }
    };
    if (job.out && job.streamed) return each_row([](char* out) { return PastCaches<V>(out); });
    if (job.out) return each_row([](char*) { return ToCaches(); });
    int64_t r = 0;
    const auto sum = [&](auto together) {
      sums<together>(job.in + r * job.in_row, job.in_row, n, position, c + 2 * r);
    };
    for (; r + 4 <= job.rows; r += 4) sum(std::integral_constant<int, 4>());
    for (; r < job.rows; ++r) sum(std::integral_constant<int, 1>());
  }

  // A chunk of rows, or the `rows` that are left of the last one: all of its sums are found in
  // registers, one vector of columns after the other. `inner` counts the chunks of the block.
  template <bool Whole, bool Asks, bool Streams>
  static void chunk_of_rows(const char* in, int64_t in_stride, char* out, int64_t out_stride,
                            int64_t rows, int64_t width, A* inner, const A* outer,
                            Asking<Asks>& later) {
    constexpr int together = 8, rows_of_line = line_bytes / int(sizeof(V));
    const auto run = [&](int64_t j, auto load, auto store) {
      const V before = V::load(inner + j), blocks = V::load(outer + j);
      V lower(Op::template identity<A>());
      ARRAYX_UNROLL
      for (int first = 0; first < P; first += together) {
        const char* const p = in + first * in_stride + j * int64_t(sizeof(A));
        char* const q = out + first * out_stride + j * int64_t(sizeof(A));
        later.template ask<together / rows_of_line>();
        V x[together];
        ARRAYX_UNROLL
        for (int r = 0; r < together; ++r) {
          const bool there = Whole || first + r < rows;
          x[r] = there ? load(p + r * in_stride) : V(Op::template identity<A>());
        }
        ARRAYX_UNROLL
        for (int step = 1; step < together; step *= 2) {
          ARRAYX_UNROLL
          for (int r = 0; r < together; ++r) {
            if (r & step) x[r] = Op::combine(x[source(r, step)], x[r]);
          }
        }
        if (first > 0) {
          ARRAYX_UNROLL
          for (int r = 0; r < together; ++r) x[r] = Op::combine(lower, x[r]);
        }
        lower = x[together - 1];
        ARRAYX_UNROLL
        for (int r = 0; r < together; ++r) {
          if (!Whole && first + r >= rows) continue;
          store(q + r * out_stride, Op::combine(blocks, Op::combine(before, x[r])));
        }
      }
      Op::combine(before, lower).store(inner + j);
    };
    int64_t j = 0;
    for (; j + W <= width; j += W) {
      run(j, [](const char* p) { return V::load(p); }, [](char* q, V y) { put<Streams>(y, q); });
    }
    if (j < width) {
      const int64_t part = width - j;
      run(
          j, [part](const char* p) { return load_part<A, W>(p, part); },
          [part](char* q, V y) { store_part(y, q, part); });
    }
  }
  static void columns(const ScanJob& job) {
    with_choices(job,
                 [&](auto asks, auto streams) { run_columns<asks, streams && whole_lines>(job); });
  }
  template <bool Asks, bool Streams>
  static void run_columns(const ScanJob& job) {
    const int64_t width = job.columns, step = (width + W - 1) / W * W;
    A* inner = static_cast<A*>(job.carry);
    A* outer = inner + step;
    const V none(Op::template identity<A>());
    Asking<Asks> later(job, width * int64_t(sizeof(A)));
    for (int64_t r = 0; r < job.rows; r += P) {
      if ((job.position + r) % scan_block == 0) {
        for (int64_t j = 0; j < width; j += W) {
          const V sum = Op::combine(V::load(outer + j), V::load(inner + j));
          (job.position + r == 0 ? none : sum).store(outer + j);
          none.store(inner + j);
        }
      }
      const bool whole = r + P <= job.rows;
      (whole ? chunk_of_rows<true, Asks, Streams>
             : chunk_of_rows<false, Asks, Streams>)(job.in + r * job.in_row, job.in_row,
                                                    job.out + r * job.out_row, job.out_row,
                                                    job.rows - r, width, inner, outer, later);
    }
  }
};

template <class T>
void fill_dtype(ReduceKernels& k, DType dtype) {
  const int d = static_cast<int>(dtype);
  k.scan_rows[1][d] = InOrder<ops::Prod, T>::rows;
  k.scan_columns[1][d] = InOrder<ops::Prod, T>::columns;
  k.scan_rows[2][d] = InOrder<ops::Sum, T>::rows;
  k.scan_columns[2][d] = InOrder<ops::Sum, T>::columns;
  if constexpr (scans_in_chunks<T>) {
    k.scan_rows[0][d] = Chunked<ops::Sum, T>::rows;
    k.scan_columns[0][d] = Chunked<ops::Sum, T>::columns;
  } else {
    k.scan_rows[0][d] = k.scan_rows[2][d];
    k.scan_columns[0][d] = k.scan_columns[2][d];
  }
}

}  // namespace

void fill_scan(ReduceKernels& k) {
  k.scans_by_lines = whole_lines;
  for_each_accumulator([&k]<class A>(DType d, A) { fill_dtype<A>(k, d); });
}

}  // namespace ARRAYX_ISA
}  // namespace arrayx::cpu
