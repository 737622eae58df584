// Times of verbs on large arrays, as fractions of the bandwidth of a copy of as many bytes.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

Array array(DType d, const Dims& shape) {
  Array a;
  a.dtype = d;
  a.layout = Layout::contiguous(shape);
  a.storage = cuda::allocate(a.nbytes());
  return a;
}

// Uploaded random values, repeated over the array.
Array random_array(DType d, const Dims& shape, Values values = Values::positive) {
  const Array a = array(d, shape);
  std::vector<char> some(std::min<std::int64_t>(a.nbytes(), mebi));
  fill_random(d, some.data(), std::int64_t(some.size()) / itemsize(d), values);
  for (std::int64_t at = 0; at < a.nbytes(); at += std::int64_t(some.size())) {
    cuda::check(
        cudaMemcpy(a.data() + at, some.data(), std::min<std::int64_t>(some.size(), a.nbytes() - at),
                   cudaMemcpyHostToDevice),
        "upload");
  }
  return a;
}

// Indices at random.
Array random_places(std::int64_t count, std::int64_t places) {
  const Array a = array(DType::int64, {count});
  std::vector<std::int64_t> index(static_cast<std::size_t>(count));
  for (std::int64_t& i : index) i = random_integer(0, places - 1);
  cuda::check(cudaMemcpy(a.data(), index.data(), std::size_t(a.nbytes()), cudaMemcpyHostToDevice),
              "upload");
  return a;
}

// Median milliseconds of a run.
template <class Run>
double milliseconds(Run&& run, int repeats = 9) {
  cudaEvent_t first, last;
  cudaEventCreate(&first);
  cudaEventCreate(&last);
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; ++i) {
    cudaEventRecord(first, cuda::stream());
    run();
    cudaEventRecord(last, cuda::stream());
    cuda::check(cudaEventSynchronize(last), "synchronize");
    float t;
    cudaEventElapsedTime(&t, first, last);
    if (i >= 2) times.push_back(t);
  }
  cudaEventDestroy(first);
  cudaEventDestroy(last);
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

double bandwidth = 0;  // bytes per millisecond
std::string wanted_words;

template <class Run>
void report(const std::string& what, double bytes, Run&& run) {
  if (what.find(wanted_words) == std::string::npos) return;
  const double t = milliseconds(run);
  std::printf("%-52s %9.3f ms %7.0f GB/s %5.1f%%\n", what.c_str(), t, bytes / t * 1e-6,
              100 * bytes / t / bandwidth);
  std::fflush(stdout);
}

Array permuted(const Array& a, const Dims& axes) {
  return a.with(permute(a.layout, axes));
}

void measure_elementwise() {
  const std::int64_t n = 64 * mebi;
  for (const DType d :
       {DType::int8, DType::int16, DType::float32, DType::float64, DType::complex128}) {
    const std::string name(arrayx::name(d));
    const double item = itemsize(d), size = double(n) * item;
    const Array x = random_array(d, {n}), y = random_array(d, {n}), z = array(d, {n});
    const Array mask = random_array(DType::bool_, {n}), flags = array(DType::bool_, {n});
    const auto elementwise = [](Op op, DType c, std::vector<Operand> in, const Array& out) {
      return [=] { cuda::elementwise(op, c, in, out); };
    };
    report("copy " + name, 2 * size, [&] { cuda::copy(x, z); });
    report("fill " + name, size, [&] { cuda::copy(Element::of(std::int8_t{3}), z); });
    report("add " + name, 3 * size, elementwise(Op::add, d, {x, y}, z));
    Element e;
    e.dtype = d;
    report("add scalar " + name, 2 * size, elementwise(Op::add, d, {x, Operand(e)}, z));
    report("negative " + name, 2 * size, elementwise(Op::negative, d, {x}, z));
    report("in place add " + name, 3 * size, elementwise(Op::add, d, {z, y}, z));
    report("equal " + name, 2 * size + n, elementwise(Op::equal, d, {x, y}, flags));
    report("where " + name, 3 * size + n, elementwise(Op::where, d, {mask, x, y}, z));
    report("multiply " + name, 3 * size, elementwise(Op::multiply, d, {x, y}, z));
    if (is_floating(d)) {
      // Where the functions are ordinary: powers of large numbers are infinite, arcs of them NaN.
      const Array x = random_array(d, {n}, Values::unit), y = random_array(d, {n}, Values::unit);
      report("sqrt " + name, 2 * size, elementwise(Op::sqrt, d, {x}, z));
      report("divide " + name, 3 * size, elementwise(Op::divide, d, {x, y}, z));
      for (const Op op :
           {Op::exp, Op::log, Op::sin, Op::tanh, Op::log1p, Op::expm1, Op::acos, Op::atan, Op::cos,
            Op::tan, Op::asin, Op::sinh, Op::cosh, Op::asinh, Op::atanh, Op::log2, Op::log10}) {
        report(std::string(info(op).name) + " " + name, 2 * size, elementwise(op, d, {x}, z));
      }
      report("pow " + name, 3 * size, elementwise(Op::pow, d, {x, y}, z));
    }
    if (!is_complex(d)) {
      report("floor_divide " + name, 3 * size, elementwise(Op::floor_divide, d, {x, y}, z));
      if (is_floating(d)) {
        report("hypot " + name, 3 * size, elementwise(Op::hypot, d, {x, y}, z));
        report("atan2 " + name, 3 * size, elementwise(Op::atan2, d, {x, y}, z));
      }
      report("maximum " + name, 3 * size, elementwise(Op::maximum, d, {x, y}, z));
    }
    // Views of a matrix.
    const std::int64_t side = 8192;
    const Layout square = Layout::contiguous({side, side});
    const Array a = x.with(square), b = y.with(square), c = z.with(square);
    const auto sliced = [&](const Array& m, int axis, std::int64_t from, std::int64_t step,
                            std::int64_t count) {
      return m.with(slice_axis(m.layout, axis, from, step, count));
    };
    const auto add = [&](const std::string& what, const Array& u, const Array& v, double bytes) {
      const Array out = array(d, u.shape());
      report(what + " " + name, bytes, elementwise(Op::add, d, {u, v}, out));
    };
    const Array row = a.with(broadcast_to(slice_axis(a.layout, 0, 0, 1, 1), a.shape()));
    const Array column = a.with(broadcast_to(slice_axis(a.layout, 1, 0, 1, 1), a.shape()));
    add("x + row", a, row, 2 * size);
    add("x + column", a, column, 2 * size);
    add("x + x.T", a, permuted(a, {1, 0}), 3 * size);
    add("x.T + y.T", permuted(a, {1, 0}), permuted(b, {1, 0}), 3 * size);
    add("x[:, ::2] + y[:, ::2]", sliced(a, 1, 0, 2, side / 2), sliced(b, 1, 0, 2, side / 2),
        2.5 * size);
    add("x[1:-1, 1:-1] + y[2:, 2:]", sliced(sliced(a, 0, 1, 1, side - 2), 1, 1, 1, side - 2),
        sliced(sliced(b, 0, 2, 1, side - 2), 1, 2, 1, side - 2), 3 * size);
    add("x[:, ::-1] + y", a.with(flip_axis(a.layout, 1)), b, 3 * size);
    const auto copied = [&](const std::string& what, const Array& u, double bytes) {
      const Array out = array(d, u.shape());
      report("copy of " + what + " " + name, bytes, [&] { cuda::copy(u, out); });
    };
    copied("x.T", permuted(a, {1, 0}), 2 * size);
    copied("x[:, 1:-1]", sliced(a, 1, 1, 1, side - 2), 2 * size);
    copied("x[:, ::2]", sliced(a, 1, 0, 2, side / 2), 1.5 * size);
    copied("x[:, ::-1]", a.with(flip_axis(a.layout, 1)), 2 * size);
    copied("x[::2, ::2].T",
           permuted(sliced(sliced(a, 1, 0, 2, side / 2), 0, 0, 2, side / 2), {1, 0}), 0.75 * size);
    copied("broadcast row", row, size);
    copied("broadcast column", column, size);
    const Array cube = x.with(Layout::contiguous({512, 256, 512}));
    const Dims orders[] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (const Dims& order : orders) {
      std::ostringstream what;
      what << "permuted " << order;
      copied(what.str(), permuted(cube, order), 2 * size);
    }
    const Array four = x.with(Layout::contiguous({64, 128, 64, 128}));
    const Dims orders4[] = {{0, 2, 1, 3}, {0, 3, 1, 2}, {3, 2, 1, 0}, {1, 3, 0, 2},
                            {2, 3, 0, 1}, {0, 1, 3, 2}, {3, 0, 2, 1}};
    for (const Dims& order : orders4) {
      std::ostringstream what;
      what << "permuted " << order;
      copied(what.str(), permuted(four, order), 2 * size);
    }
    const Array odd = x.with(Layout::contiguous({400, 399, 403}));
    copied("permuted odd (2, 1, 0)", permuted(odd, {2, 1, 0}), 2.0 * 400 * 399 * 403 * item);
    copied("permuted odd (0, 2, 1)", permuted(odd, {0, 2, 1}), 2.0 * 400 * 399 * 403 * item);
    const Array pairs = x.with(Layout::contiguous({n / 2, 2}));
    copied("permuted pairs", permuted(pairs, {1, 0}), 2 * size);
  }
  const std::pair<DType, DType> casts[] = {
      {DType::float32, DType::float64}, {DType::float64, DType::float32},
      {DType::int32, DType::float32},   {DType::uint8, DType::float32},
      {DType::float32, DType::uint8},   {DType::int8, DType::int64},
      {DType::int64, DType::int8},      {DType::bool_, DType::float32},
      {DType::float32, DType::bool_},   {DType::float64, DType::complex128},
      {DType::int64, DType::float64},   {DType::float32, DType::float16},
      {DType::float16, DType::float32}, {DType::int8, DType::bool_}};
  for (const auto& [from, to] : casts) {
    const Array x = random_array(from, {n}), z = array(to, {n});
    report("cast " + std::string(name(from)) + " to " + std::string(name(to)),
           double(n) * (itemsize(from) + itemsize(to)), [&] { cuda::copy(x, z); });
  }
  const Array f = random_array(DType::float32, {n}), i = random_array(DType::int32, {n});
  const Array z = array(DType::float32, {n});
  report("float32 + int32", 12.0 * n, [&] {
    const Operand in[] = {f, i};
    cuda::elementwise(Op::add, DType::float32, in, z);
  });
  report("arange float32", 4.0 * n, [&] { cuda::arange(z, Element::of(1.0), Element::of(2.0)); });
  const Array zi = array(DType::int64, {n});
  report("arange int64", 8.0 * n,
         [&] { cuda::arange(zi, Element::of(std::int64_t{1}), Element::of(std::int64_t{2})); });
  const Array square = f.with(Layout::contiguous({8192, 8192}));
  const Array lower = array(DType::float32, {8192, 8192});
  report("triangle float32", 6.0 * n, [&] { cuda::triangle(square, lower, 0, false); });
}

// Copies and sums of every itemsize over sizes, alignments and shapes that packs do not fit.
void measure_sweep() {
  const std::int64_t n = 64 * mebi;
  for (const DType d :
       {DType::int8, DType::int16, DType::float32, DType::float64, DType::complex128}) {
    const double item = itemsize(d);
    const Array x = random_array(d, {n + 16}), y = random_array(d, {n + 16}),
                z = array(d, {n + 16});
    const auto both = [&](const std::string& shape, const Layout& a, const Layout& b,
                          const Layout& out, double read_a, double read_b) {
      const std::string name = shape + " " + std::string(arrayx::name(d));
      const double bytes = double(out.size) * item;
      const Array u = x.with(a), v = y.with(b), w = z.with(out);
      report("sweep copy " + name, (1 + read_a) * bytes, [&] { cuda::copy(u, w); });
      report("sweep sum " + name, (1 + read_a + read_b) * bytes, [&] {
        const Operand in[] = {u, v};
        cuda::elementwise(Op::add, d, in, w);
      });
    };
    const auto line = [](std::int64_t size, std::int64_t offset, std::int64_t step) {
      Layout l = Layout::contiguous({size});
      l.offset = step < 0 ? offset + size - 1 : offset;
      l.strides[0] = step;
      return l;
    };
    for (const std::int64_t size : {1, 64, 4096, 262144, 4194304, 67108864}) {
      both("of " + std::to_string(size), line(size, 0, 1), line(size, 0, 1), line(size, 0, 1), 1,
           1);
    }
    both("of 64Mi - 1", line(n - 1, 0, 1), line(n - 1, 0, 1), line(n - 1, 0, 1), 1, 1);
    both("inputs from 1", line(n, 1, 1), line(n, 3, 1), line(n, 0, 1), 1, 1);
    both("output from 1", line(n, 0, 1), line(n, 0, 1), line(n, 1, 1), 1, 1);
    both("all from 1", line(n, 1, 1), line(n, 1, 1), line(n, 1, 1), 1, 1);
    both("backwards", line(n, 0, -1), line(n, 0, 1), line(n, 0, 1), 1, 1);
    both("every second", line(n / 2, 0, 2), line(n / 2, 1, 2), line(n / 2, 0, 1), 2, 2);
    both("every third", line(n / 3, 0, 3), line(n / 3, 1, 3), line(n / 3, 0, 1), 3, 3);
    const auto matrix = [](std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                           std::int64_t step) {
      Layout l = Layout::contiguous({rows, columns});
      l.strides = {pitch, step};
      return l;
    };
    for (const std::int64_t columns : {1, 2, 3, 7, 33, 401, 1023}) {
      const std::int64_t rows = n / (columns + 1);
      const Layout cut = matrix(rows, columns, columns + 1, 1);
      both("rows of " + std::to_string(columns), cut, cut, matrix(rows, columns, columns, 1), 1, 1);
    }
    const std::int64_t pixels = n / 3;
    const Layout rgb = matrix(pixels, 3, 3, 1);
    both("pixels + colour", rgb, matrix(pixels, 3, 0, 1), rgb, 1, 0);
    both("pixels + grey", rgb, matrix(pixels, 3, 1, 0), rgb, 1, 1.0 / 3);
    Layout bgr = matrix(pixels, 3, 3, -1);
    bgr.offset = 2;
    both("pixels backwards", bgr, rgb, rgb, 1, 1);
    both("planes from pixels", permute(rgb, {1, 0}), permute(rgb, {1, 0}),
         matrix(3, pixels, pixels, 1), 1, 1);
    both("pixels from planes", permute(matrix(3, pixels, pixels, 1), {1, 0}), rgb, rgb, 1, 1);
    both("column", matrix(8192, 8191, 1, 0), matrix(8192, 8191, 8191, 1),
         matrix(8192, 8191, 8191, 1), 0, 1);
  }
}

void measure_reductions() {
  const std::int64_t n = 64 * mebi;
  const auto reduction = [&](Reduction op, DType d, const Dims& shape, std::vector<int> axes) {
    const Array x = random_array(d, shape);
    std::vector<char> marks(shape.size());
    for (const int a : axes) marks[a] = 1;
    Dims kept;
    for (int i = 0; i < shape.size(); ++i) {
      if (!marks[i]) kept.push_back(shape[i]);
    }
    const DType result = info(op).result == ResultRule::wide && is_integer(d) ? DType::int64
                         : info(op).result == ResultRule::boolean             ? DType::bool_
                         : info(op).result == ResultRule::index               ? DType::int64
                                                                              : d;
    const Array out = array(result, kept);
    std::ostringstream what;
    what << "reduce " << info(op).name << " " << d << " " << shape << " over";
    for (const int a : axes) what << ' ' << a;
    bool flags[8];
    for (int i = 0; i < shape.size(); ++i) flags[i] = marks[i];
    report(what.str(), double(x.nbytes()), [&] {
      cuda::reduce(op, compute_dtype(result), x, std::span<const bool>(flags, shape.size()), out);
    });
  };
  for (const DType d :
       {DType::float32, DType::float64, DType::int8, DType::float16, DType::complex64}) {
    for (const Reduction op : {Reduction::sum, Reduction::max}) {
      if (is_complex(d) && op == Reduction::max) continue;
      reduction(op, d, {n / 16, 16}, {0});
      reduction(op, d, {n / 16, 16}, {1});
      reduction(op, d, {16, n / 16}, {0});
      reduction(op, d, {16, n / 16}, {1});
      reduction(op, d, {8192, 8192}, {0});
      reduction(op, d, {8192, 8192}, {1});
      reduction(op, d, {8192, 8192}, {0, 1});
      reduction(op, d, {406, 406, 406}, {0});
      reduction(op, d, {406, 406, 406}, {1});
      reduction(op, d, {406, 406, 406}, {2});
      reduction(op, d, {406, 406, 406}, {0, 1});
      reduction(op, d, {406, 406, 406}, {0, 2});
      reduction(op, d, {403, 407, 405}, {1});
      reduction(op, d, {403, 407, 405}, {2});
      reduction(op, d, {n}, {0});
    }
  }
  for (const Reduction op : {Reduction::any, Reduction::all, Reduction::count_nonzero}) {
    reduction(op, DType::bool_, {n}, {0});
    reduction(op, DType::bool_, {8192, 8192}, {0});
    reduction(op, DType::bool_, {8192, 8192}, {1});
    reduction(op, DType::float32, {8192, 8192}, {1});
  }
  for (const DType d : {DType::float32, DType::float64, DType::int8}) {
    for (const int axis : {0, 1}) {
      const Array x = random_array(d, {8192, 8192}), out = array(DType::int64, {8192});
      report("argmax " + std::string(name(d)) + " over " + std::to_string(axis), double(x.nbytes()),
             [&] { cuda::arg_reduce(true, x, axis, out); });
    }
    const Array x = random_array(d, {n}), out = array(DType::int64, {});
    report("argmax " + std::string(name(d)) + " of a line", double(x.nbytes()),
           [&] { cuda::arg_reduce(true, x, 0, out); });
  }
}

void measure_others() {
  const std::int64_t n = 64 * mebi;
  for (const DType d : {DType::float32, DType::float64, DType::int32}) {
    const std::string name(arrayx::name(d));
    const Array x = random_array(d, {n}), z = array(d, {n});
    report("cumulative_sum of a line " + name, 2.0 * x.nbytes(),
           [&] { cuda::scan(false, x, 0, false, z); });
    const Layout square = Layout::contiguous({8192, 8192});
    for (const int axis : {0, 1}) {
      report("cumulative_sum along " + std::to_string(axis) + " " + name, 2.0 * x.nbytes(),
             [&] { cuda::scan(false, x.with(square), axis, false, z.with(square)); });
    }
    for (const std::int64_t columns : {2, 3, 4, 7, 16, 31, 64, 256, 512}) {
      const Layout few = Layout::contiguous({n / columns, columns});
      report("cumulative_sum of " + std::to_string(columns) + " columns " + name,
             2.0 * x.nbytes() * double(few.size) / double(n),
             [&] { cuda::scan(false, x.with(few), 0, false, z.with(few)); });
    }
    const std::int64_t m = 16 * mebi;
    const Array some = x.with(Layout::contiguous({m})), to = z.with(Layout::contiguous({m}));
    const Array order = array(DType::int64, {m});
    report("sort of 16Mi " + name, 2.0 * some.nbytes(), [&] { cuda::sort(some, 0, false, to); });
    report("argsort of 16Mi " + name, 2.0 * some.nbytes(),
           [&] { cuda::argsort(some, 0, false, order); });
    const Layout lines = Layout::contiguous({4096, 4096});
    report("sort of 4096 lines " + name, 2.0 * some.nbytes(),
           [&] { cuda::sort(some.with(lines), 1, false, to.with(lines)); });
    const Layout scalar = Layout::contiguous({});
    Operand whole(x);
    whole.layout = &scalar;
    report("gather of 16Mi " + name, m * (8.0 + 2 * itemsize(d)),
           [&] { cuda::gather_indexed(whole, order, n, 1, to); });
    const Array mask = random_array(DType::bool_, {n});
    const Array packed = array(d, {cuda::count_nonzero(mask)});
    report("compress " + name, double(n) + x.nbytes() + packed.nbytes(),
           [&] { cuda::compress(x, mask, packed); });
    const Array columns = array(DType::int64, {packed.size()});
    report("nonzero " + name, double(n) + columns.nbytes(), [&] {
      const Operand out[] = {columns};
      cuda::nonzero(mask, out);
    });
    Operand target(z);
    target.layout = &scalar;
    report("scatter of 16Mi " + name, m * (8.0 + 2 * itemsize(d)),
           [&] { cuda::scatter(some, order, {0, m - 1}, target); });
    for (const std::int64_t places : {m, n}) {
      const Array index = random_places(m, places);
      report("x[i] = v of 16Mi into " + std::to_string(places / mebi) + "Mi " + name,
             double(m) * (8.0 + 2 * itemsize(d)),
             [&] { cuda::scatter_indexed(some, index, places, 1, target); });
    }
  }
  for (const Dims& shape : {Dims{65536, 256, 4}, Dims{21845, 1024, 3}, Dims{1000, 2100, 31}}) {
    const Array x = random_array(DType::float32, shape), z = array(DType::float32, shape);
    std::ostringstream what;
    what << "cumulative_sum of rows of columns " << shape << " float32";
    report(what.str(), 2.0 * x.nbytes(), [&] { cuda::scan(false, x, 1, false, z); });
  }
  for (const int axis : {0, 1}) {
    const Array x = random_array(DType::float32, {256, 256, 256});
    const Array z = array(DType::float32, {256, 256, 256});
    report("cumulative_sum along " + std::to_string(axis) + " of a cube float32", 2.0 * x.nbytes(),
           [&] { cuda::scan(false, x, axis, false, z); });
  }
  for (const auto& [d, wide] :
       {std::pair{DType::uint8, DType::uint64}, std::pair{DType::int16, DType::int64}}) {
    const std::string into = std::string(name(d)) + " into " + std::string(name(wide));
    const Array x = random_array(d, {n}), z = array(wide, {n});
    const double bytes = double(x.nbytes()) + double(z.nbytes());
    report("cumulative_sum of a line " + into, bytes, [&] { cuda::scan(false, x, 0, false, z); });
    for (const std::int64_t side : {8192, 8191}) {
      const Layout square = Layout::contiguous({side, side});
      for (const int axis : {0, 1}) {
        report("cumulative_sum along " + std::to_string(axis) + " of " + std::to_string(side) +
                   " lines " + into,
               bytes * double(side * side) / double(n),
               [&] { cuda::scan(false, x.with(square), axis, false, z.with(square)); });
      }
    }
  }
  for (const DType d : {DType::float32, DType::float64, DType::int32}) {
    const std::int64_t side = 4096;
    const Array a = random_array(d, {side, side}), b = random_array(d, {side, side});
    const Array c = array(d, {side, side});
    const std::string what = "matmul of 4096 " + std::string(name(d));
    if (what.find(wanted_words) == std::string::npos) continue;
    const double t = milliseconds([&] { cuda::matmul(a, b, c); }, 3);
    std::printf("%-52s %9.3f ms %7.2f TFLOP/s\n", what.c_str(), t, 2e-9 * side * side * side / t);
  }
}

// Microseconds on the host from the issue of one call to that of the next.
void measure_calls() {
  const Array x = random_array(DType::float32, {16}), y = random_array(DType::float32, {16});
  const Array z = array(DType::float32, {16});
  const Array m = random_array(DType::float32, {16, 16}), mz = array(DType::float32, {16, 16});
  const Operand in[] = {x, y};
  const auto time = [&](const char* what, auto&& run) {
    for (int i = 0; i < 100; ++i) run();
    cudaDeviceSynchronize();
    double best = 1e9;
    for (int round = 0; round < 10; ++round) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < 500; ++i) run();
      const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
      best = std::min(best, t.count() / 500);
      cudaDeviceSynchronize();
    }
    std::printf("%-40s %6.2f us a call\n", what, best * 1e6);
  };
  time("add of 16", [&] { cuda::elementwise(Op::add, DType::float32, in, z); });
  const Operand turned[] = {m, permuted(m, {1, 0})};
  time("x + x.T of 16 x 16", [&] { cuda::elementwise(Op::add, DType::float32, turned, mz); });
  time("copy of 16", [&] { cuda::copy(x, z); });
  time("fill of 16", [&] { cuda::copy(Element::of(1.0f), z); });
  time("cudaMemsetAsync", [&] { cudaMemsetAsync(z.data(), 0, 4, cuda::stream()); });
}

}  // namespace

void measure(const std::string& wanted, const std::string& group) {
  wanted_words = wanted;
  const Array a = random_array(DType::uint8, {256 * mebi}), b = array(DType::uint8, {256 * mebi});
  const double t = milliseconds(
      [&] {
        cudaMemcpyAsync(b.data(), a.data(), 256 * mebi, cudaMemcpyDeviceToDevice, cuda::stream());
      },
      31);
  bandwidth = 2.0 * 256 * mebi / t;
  std::printf("%s: copy %.0f GB/s\n", cuda::properties().name, bandwidth * 1e-6);
  const auto run = [&](const char* name, void (*body)()) {
    if (std::string(name).find(group) != std::string::npos) body();
  };
  run("calls", measure_calls);
  run("reductions", measure_reductions);
  run("others", measure_others);
  run("elementwise", measure_elementwise);
  run("sweep", measure_sweep);
}

}  // namespace arrayx::testing
