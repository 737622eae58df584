// Scans bit by bit: against the order of additions that cuda/scan.cu promises, written down
// once more for a line on the host, whatever the line's layout and its neighbours.
#include <bit>
#include <cstring>
#include <sstream>

#include "../../cpp/ops/reductions.hpp"
#include "harness.hpp"

namespace arrayx::testing {

namespace {

using ops::Complex;

// What stands before item i: the blocks of 2^k items that the bits of i say, the largest first.
// blocks[k] are the complete ones.
template <class Op, class A>
struct Tree {
  std::vector<std::vector<A>> blocks;

  explicit Tree(std::vector<A> items) : blocks{std::move(items)} {
    while (blocks.back().size() > 1) {
      const std::vector<A>& halves = blocks.back();
      std::vector<A> whole;
      for (std::size_t i = 0; i + 1 < halves.size(); i += 2) {
        whole.push_back(Op::combine(halves[i], halves[i + 1]));
      }
      blocks.push_back(std::move(whole));
    }
  }
  // x[from … to) = what stands before item i and x.
  void add_before(std::size_t i, std::vector<A>& x, std::size_t from, std::size_t to) const {
    A before{};
    bool any = false;
    for (int k = static_cast<int>(blocks.size()) - 1; k >= 0; --k) {
      if ((i >> k & 1) == 0) continue;
      const A block = blocks[k][(i >> k) - 1];
      before = any ? Op::combine(before, block) : block;
      any = true;
    }
    for (; any && from < to; ++from) x[from] = Op::combine(before, x[from]);
  }
};

template <class Op, class A>
std::vector<A> scanned(std::vector<A> x) {
  const std::size_t pack = std::max<std::size_t>(16 / sizeof(A), 1), row = 32 * pack;
  std::vector<A> rows;
  for (std::size_t first = 0; first < x.size(); first += row) {
    const std::size_t end = std::min(first + row, x.size());
    std::vector<A> packs;
    for (std::size_t p = first; p < end; p += pack) {
      for (std::size_t i = p + 1; i < std::min(p + pack, end); ++i) {
        x[i] = Op::combine(x[i - 1], x[i]);
      }
      if (p + pack <= end) packs.push_back(x[p + pack - 1]);
    }
    const Tree<Op, A> tree(std::move(packs));
    for (std::size_t p = first; p < end; p += pack) {
      tree.add_before((p - first) / pack, x, p, std::min(p + pack, end));
    }
    if (first + row <= end) rows.push_back(tree.blocks[5][0]);
  }
  const Tree<Op, A> tree(std::move(rows));
  for (std::size_t first = 0; first < x.size(); first += row) {
    tree.add_before(first / row, x, first, std::min(first + row, x.size()));
  }
  return x;
}

// One line repeated over an array, along an axis of a view.
template <class Op, class From, class A>
void check_lines(DType from, const std::vector<From>& line, DType to, const std::vector<A>& want,
                 const Dims& shape, int axis, bool plain = false) {
  View in = random_view(from, shape, {false, plain || chance(0.5)}, Values::any);
  View out = random_view(to, shape, {false, plain || chance(0.5)}, Values::any);
  const auto fill = [&](View& view, const auto& items) {
    std::vector<std::int64_t> index(shape.size());
    for (std::int64_t count = view.layout.size; count > 0; --count) {
      std::int64_t at = view.layout.offset;
      for (int d = 0; d < shape.size(); ++d) at += index[d] * view.layout.strides[d];
      const auto& item = items[index[axis]];
      std::memcpy(view.host.data() + at * std::int64_t{sizeof item}, &item, sizeof item);
      for (int d = shape.size() - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
    }
  };
  fill(in, line);
  fill(out, want);
  cuda::check(cudaMemcpy(in.device->data, in.host.data(), in.host.size(), cudaMemcpyHostToDevice),
              "upload");
  cuda::scan(std::is_same_v<Op, ops::Prod>, in.on_device(), axis, false, out.on_device());
  std::ostringstream what;
  what << "order of a scan of " << from << " along " << axis << " of " << text(in.layout)
       << " into " << to << ' ' << text(out.layout);
  expect_same(out, what.str());
}

// Of elements of one dtype into another, in which they are added.
template <class Op, class From, class A>
void check_order(DType from, DType to) {
  const std::int64_t n = chance(0.5) ? random_integer(1, 3000) : random_integer(1, 300000);
  std::vector<From> line(n);
  fill_random(from, reinterpret_cast<char*>(line.data()), n,
              std::is_same_v<Op, ops::Prod> ? Values::near_one : Values::small);
  std::vector<A> added(n);
  for (std::int64_t i = 0; i < n; ++i) added[i] = static_cast<A>(line[i]);
  const std::vector<A> want = scanned<Op>(std::move(added));
  const std::int64_t others = random_integer(1, std::max<std::int64_t>(2, 300000 / n));
  const auto check = [&](const Dims& shape, int axis) {
    check_lines<Op>(from, line, to, want, shape, axis);
  };
  check({n}, 0);
  check({others, n}, 1);
  check({n, others}, 0);
  check({2, n, 2}, 1);
  // A few lines together, whose rows begin anywhere; the beginning of a line has the beginning of
  // its results.
  const std::int64_t some = std::min<std::int64_t>(n, 20000);
  check({some, 4 << random_integer(0, 3)}, 0);
  check({some, random_integer(2, 70)}, 0);
  check({random_integer(2, 4), some, random_integer(2, 20)}, 1);
}

// Lines that differ, of integers, which give the same bits in any order.
void check_against_host(DType from, DType to, const Dims& shape, int axis) {
  const View in = random_view(from, shape, {false, true}, Values::any);
  View out = random_view(to, shape, {false, true}, Values::any);
  cpu::scan(false, in.on_host(), axis, false, out.on_host());
  cuda::scan(false, in.on_device(), axis, false, out.on_device());
  std::ostringstream what;
  what << "scan of " << from << " along " << axis << " of " << text(in.layout) << " into " << to;
  expect_same(out, what.str());
}

}  // namespace

void check_scan_order(int rounds) {
  const auto both = [](DType from, auto item, DType to, auto sum) {
    using From = decltype(item);
    using A = decltype(sum);
    check_order<ops::Sum, From, A>(from, to);
    check_order<ops::Prod, From, A>(from, to);
  };
  const auto same = [&](DType dtype, auto zero) { both(dtype, zero, dtype, zero); };
  for (int round = 0; round < rounds; ++round) {
    same(DType::float32, f32());
    same(DType::float64, f64());
    same(DType::complex64, Complex<f32>());
    same(DType::complex128, Complex<f64>());
    same(DType::uint8, u8());
    same(DType::uint16, u16());
    same(DType::uint32, u32());
    same(DType::uint64, u64());
    both(DType::int8, i8(), DType::int64, u64());
    both(DType::uint16, u16(), DType::int64, u64());
    both(DType::int32, i32(), DType::int64, u64());
    both(DType::int64, i64(), DType::uint64, u64());
    both(DType::int64, i64(), DType::int16, u16());
    both(DType::float32, f32(), DType::float64, f64());
  }
  // Lines beside each other, so many that a block goes along its own, and along several; that a
  // thread goes along its own, whose rows begin anywhere.
  const auto along = [](auto op, DType from, auto item, DType to, auto sum, const Dims& shape,
                        int axis) {
    using Op = decltype(op);
    using A = decltype(sum);
    std::vector<decltype(item)> line(shape[axis]);
    constexpr bool multiplies = std::is_same_v<Op, ops::Prod>;
    fill_random(from, reinterpret_cast<char*>(line.data()), shape[axis],
                multiplies && is_floating(from) ? Values::near_one : Values::small);
    std::vector<A> added(line.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
      // Products of even numbers would soon be zero.
      if constexpr (multiplies && std::is_integral_v<decltype(item)>) line[i] |= 1;
      added[i] = static_cast<A>(line[i]);
    }
    check_lines<Op>(from, line, to, scanned<Op>(std::move(added)), shape, axis, true);
  };
  const auto side_by_side = [&](DType dtype, auto zero, const Dims& shape, int axis) {
    along(ops::Sum(), dtype, zero, dtype, zero, shape, axis);
  };
  // Short rows of lines: few, whose tiles blocks pass, and many, of one tile or several; of any
  // number of parts, whose last pieces are shorter, and of several rows.
  const auto short_rows = [&](const Dims& shape, int axis) {
    side_by_side(DType::float32, f32(), shape, axis);
    side_by_side(DType::float64, f64(), shape, axis);
    along(ops::Prod(), DType::float32, f32(), DType::float32, f32(), shape, axis);
    along(ops::Sum(), DType::int32, i32(), DType::int64, u64(), shape, axis);
    along(ops::Prod(), DType::uint16, u16(), DType::uint32, u32(), shape, axis);
  };
  for (const std::int64_t columns : {2, 3, 4, 5, 7, 13, 16, 31, 33, 64, 65}) {
    short_rows({9000 + columns, columns}, 0);
  }
  short_rows({2, 9001, 31}, 1);
  short_rows({3, 4096, 6}, 1);
  for (const std::int64_t n : {2, 9, 16, 17, 33, 129, 300}) {
    const std::int64_t parts = std::bit_ceil(static_cast<std::uint64_t>((n - 1) / 16 + 1));
    short_rows({32100 / parts, n, 3}, 1);
    short_rows({270 + 6600 / parts, n, 15}, 1);
  }
  short_rows({8100, 63, 4}, 1);
  short_rows({300, 4500, 3}, 1);
  short_rows({270, 1111, 31}, 1);
  short_rows({270, 60, 101}, 1);
  side_by_side(DType::float32, f32(), {300, 6500}, 0);
  side_by_side(DType::float64, f64(), {70, 76100}, 0);
  side_by_side(DType::float32, f32(), {130, 20000}, 0);
  side_by_side(DType::float64, f64(), {70, 20001}, 0);
  side_by_side(DType::complex128, Complex<f64>(), {130, 6600}, 0);
  side_by_side(DType::float32, f32(), {150, 135172}, 0);
  side_by_side(DType::float32, f32(), {150, 135173}, 0);
  side_by_side(DType::float32, f32(), {100, 135173}, 0);
  // Short lines side by side: a thread goes along those of a pack or, where these begin anywhere or
  // are converted, along as many that lie apart.
  for (const std::int64_t n : {1, 2, 4, 5, 8, 9, 17}) {
    for (const std::int64_t lines : {140002, 140003, 140004}) {
      side_by_side(DType::float32, f32(), {n, lines}, 0);
      side_by_side(DType::float64, f64(), {n, lines}, 0);
      along(ops::Prod(), DType::float32, f32(), DType::float32, f32(), {n, lines}, 0);
      along(ops::Prod(), DType::float64, f64(), DType::float64, f64(), {n, lines}, 0);
      along(ops::Sum(), DType::float32, f32(), DType::float64, f64(), {n, lines}, 0);
      along(ops::Prod(), DType::int8, i8(), DType::int64, u64(), {n, lines}, 0);
      check_against_host(DType::int8, DType::int64, {n, lines}, 0);
      check_against_host(DType::uint16, DType::uint64, {n, lines}, 0);
      check_against_host(DType::int32, DType::int64, {n, lines}, 0);
      check_against_host(DType::int64, DType::int64, {n, lines}, 0);
    }
  }
  check_against_host(DType::int32, DType::int64, {3, 5, 140003}, 1);
  check_against_host(DType::uint64, DType::uint64, {3, 5, 140002}, 1);
  check_against_host(DType::uint64, DType::uint64, {3, 4, 140003}, 1);
  side_by_side(DType::float64, f64(), {300, 4097}, 0);
  side_by_side(DType::uint32, u32(), {333, 20, 410}, 1);
  // Rows of results that begin anywhere in sectors, so that tiles overlap: of one tile and of
  // several, which blocks pass, answer or go along, and several rows.
  const auto overlapping = [&](const Dims& shape, int axis) {
    side_by_side(DType::float32, f32(), shape, axis);
    side_by_side(DType::float64, f64(), shape, axis);
    side_by_side(DType::complex64, Complex<f32>(), shape, axis);
    along(ops::Prod(), DType::float32, f32(), DType::float32, f32(), shape, axis);
    along(ops::Sum(), DType::int32, i32(), DType::int64, u64(), shape, axis);
    check_against_host(DType::int32, DType::int32, shape, axis);
    check_against_host(DType::int64, DType::int64, shape, axis);
  };
  for (const std::int64_t n : {70, 111, 1000}) overlapping({n, 1023}, 0);
  overlapping({5000, 515}, 0);
  overlapping({20001, 101}, 0);
  overlapping({300, 11203}, 0);
  overlapping({2, 2000, 421}, 1);
  overlapping({40, 150, 406}, 1);
  // Integers of one or two bytes into those of eight: in a warp's parts of 512 elements, eight of
  // which make a tile, on lines that begin anywhere; and beside each other.
  const auto narrow = [&](const Dims& shape, int axis) {
    along(ops::Sum(), DType::uint8, u8(), DType::uint64, u64(), shape, axis);
    along(ops::Sum(), DType::int8, i8(), DType::int64, u64(), shape, axis);
    along(ops::Sum(), DType::int16, i16(), DType::int64, u64(), shape, axis);
    along(ops::Prod(), DType::uint16, u16(), DType::uint64, u64(), shape, axis);
    along(ops::Prod(), DType::int8, i8(), DType::int64, u64(), shape, axis);
    check_against_host(DType::uint8, DType::uint8, shape, axis);
    check_against_host(DType::int16, DType::int16, shape, axis);
    check_against_host(DType::int8, DType::int64, shape, axis);
    // Into those of their size: lines that are alike in packs of both, and words of neighbours.
    along(ops::Sum(), DType::uint8, u8(), DType::uint8, u8(), shape, axis);
    along(ops::Sum(), DType::uint16, u16(), DType::uint16, u16(), shape, axis);
    along(ops::Prod(), DType::uint8, u8(), DType::uint8, u8(), shape, axis);
    along(ops::Prod(), DType::uint16, u16(), DType::uint16, u16(), shape, axis);
  };
  for (const std::int64_t n : {64, 65, 66, 511, 512, 513, 1000, 4095, 4096, 4097, 8191, 8192}) {
    narrow({19, n}, 1);
  }
  for (const std::int64_t n : {127, 128, 255, 256, 1024, 2047, 2048, 16369, 16384, 32768}) {
    narrow({5, n}, 1);
  }
  narrow({3, 23457}, 1);
  narrow({100000}, 0);
  narrow({300001}, 0);
  narrow({9000, 16}, 0);
  narrow({20, 70000}, 0);
  narrow({300, 6002}, 0);
  narrow({2, 300, 404}, 1);
  narrow({65, 6500}, 0);
  narrow({260, 6600}, 0);
  narrow({131, 8191}, 0);
  narrow({3, 130, 2600}, 1);
}

}  // namespace arrayx::testing
