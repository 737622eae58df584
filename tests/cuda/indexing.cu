// Scans, gathers, scatters, selections, sorts and searches against the CPU engine.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

void upload(const View& v) {
  cuda::check(cudaMemcpy(v.device->data, v.host.data(), v.host.size(), cudaMemcpyHostToDevice),
              "upload");
}
// Integers of a view, all of its storage, within [low, high].
void set_integers(View& v, std::int64_t low, std::int64_t high) {
  dispatch(v.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < v.elements; ++i) {
        const T x = static_cast<T>(random_integer(low, high));
        std::memcpy(v.host.data() + i * std::int64_t{sizeof x}, &x, sizeof x);
      }
    }
  });
  upload(v);
}
// What the host is told when it waits for gathers; nothing where all indices were right.
std::string late_index_error() {
  cuda::check(cudaDeviceSynchronize(), "gathers");
  try {
    cuda::check_indices();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
DType some_dtype() {
  return static_cast<DType>(random_integer(0, dtype_count - 1));
}
DType some_integer() {
  DType d;
  do {
    d = some_dtype();
  } while (!is_integer(d));
  return d;
}
Dims scan_shape() {
  static const std::vector<Dims> special = {{200000},      {3, 70000}, {70000, 3}, {40, 3000, 2},
                                            {600, 40, 33}, {2, 5000},  {4000, 9},  {1}};
  return chance(0.4) ? special[random_integer(0, std::int64_t(special.size()) - 1)]
                     : random_shape(30000);
}

// A number as an element of a dtype.
Element converted(std::int64_t number, DType dtype) {
  Element e;
  e.dtype = dtype;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T x = static_cast<T>(static_cast<float>(number));
    std::memcpy(e.bytes, &x, sizeof x);
  });
  return e;
}
}  // namespace

// The same picks of each of many rows, which come through shared memory: rows of whole packs and of
// others, short and long ones, with gaps, and with an index out of bounds.
void check_columns(int rounds) {
  for (int round = 0; round < 8 * rounds; ++round) {
    const DType dtype = some_dtype();
    const std::int64_t n = chance(0.3) ? random_integer(1, 50) : 16 * random_integer(1, 40);
    const std::int64_t columns = chance(0.3) ? random_integer(1, 99) : 16 * random_integer(1, 9);
    const std::int64_t rows = std::max<std::int64_t>(3, 20000 / n) * random_integer(1, 40);
    View in = random_view(dtype, {rows, n + 16 * random_integer(0, 1)}, {false, true}, Values::any);
    const Layout first = slice_axis(in.layout, 1, 0, 1, 1);
    Layout rest = first;
    rest.shape.erase(1);
    rest.strides.erase(1);
    View index = random_view(some_integer(), {columns}, {false, true}, Values::any);
    const bool wrong = chance(0.2);
    const std::int64_t most = std::min<std::int64_t>(n, 120);
    set_integers(index, 0, most - 1);
    if (wrong) {
      set_integers(index, most, most);
    }
    View out = random_view(dtype, {columns, rows}, {false, true}, Values::any);
    out.layout = permute(Layout::contiguous({rows, columns}), {1, 0});
    Operand host_in = in.on_host(), device_in = in.on_device();
    host_in.layout = device_in.layout = &rest;
    std::int64_t bad = 0;
    const std::int64_t size = wrong ? most : n;
    const bool good = cpu::gather_indexed(host_in, index.on_host(), size, 1, out.on_host(), &bad);
    cuda::gather_indexed(device_in, index.on_device(), size, 1, out.on_device());
    expect(good == late_index_error().empty() && good != wrong, "bounds of columns");
    std::ostringstream what;
    what << columns << " of " << n << " columns of " << rows << " rows of " << dtype << " by "
         << index.dtype;
    if (good) expect_same(out, what.str());
  }
  // Rows of more than the cache holds, which are picked by parts.
  const View in = random_view(DType::complex128, {9000, 128}, {false, true}, Values::any);
  View index = random_view(DType::int64, {9000}, {false, true}, Values::any);
  set_integers(index, -9000, 8999);
  View out = random_view(DType::complex128, {9000, 128}, {false, true}, Values::any);
  const Layout row = Layout::contiguous({128});
  Operand host_in = in.on_host(), device_in = in.on_device();
  host_in.layout = device_in.layout = &row;
  std::int64_t bad = 0;
  cpu::gather_indexed(host_in, index.on_host(), 9000, 128, out.on_host(), &bad);
  cuda::gather_indexed(device_in, index.on_device(), 9000, 128, out.on_device());
  expect_same(out, "rows by parts");
  // Rows of which threads have several, one or a piece, and such as go item by item.
  for (const std::int64_t width : {2, 3, 5, 11, 33, 50, 129, 700}) {
    for (const DType dtype : {DType::int8, DType::float32, DType::float64, DType::complex128}) {
      const std::int64_t n = 3000, picks = 300000 / width + random_integer(1, 9);
      const bool wrong = chance(0.2);
      const View table = random_view(dtype, {n, width}, {false, chance(0.5)}, Values::any);
      View chosen = random_view(some_integer(), {picks}, {false, true}, Values::any);
      set_integers(chosen, 0, 99);
      View rows_out = random_view(dtype, {picks, width}, {false, true}, Values::any);
      Layout one = table.layout;
      const std::int64_t stride = one.strides[0];
      one.shape.erase(0);
      one.strides.erase(0);
      one.size = width;
      Operand of_host = table.on_host(), of_device = table.on_device();
      of_host.layout = of_device.layout = &one;
      const std::int64_t known = wrong ? 99 : 100;
      const bool good =
          cpu::gather_indexed(of_host, chosen.on_host(), known, stride, rows_out.on_host(), &bad);
      cuda::gather_indexed(of_device, chosen.on_device(), known, stride, rows_out.on_device());
      expect(good == late_index_error().empty(), "bounds of rows");
      std::ostringstream what;
      what << picks << " rows of " << width << " " << dtype << " by " << chosen.dtype;
      if (good) expect_same(rows_out, what.str());
    }
  }
}

// Which of equal places wins, of how many and how few there are, in whatever layout: the last one,
// whatever earlier operations left behind and also where they wrote nothing.
void check_winners(int rounds) {
  static constexpr std::int64_t places[] = {1, 5, 1000, 70001, 4500000, 8400001};
  static constexpr std::int64_t counts[] = {2, 33, 1000, 5000, 40000, 300000, 1100000};
  const Layout scalar = Layout::contiguous({});
  const bool are_few = rounds == 0;
  for (int round = 0; round < (are_few ? 8 : 30 * rounds); ++round) {
    const std::int64_t n = places[random_integer(0, are_few ? 3 : 5)];
    const std::int64_t many = counts[random_integer(0, are_few ? 4 : 6)];
    const DType dtype = n > 100000 ? DType::int16 : some_dtype();
    const Dims shape = chance(0.5) ? Dims{many} : Dims{(many + 6) / 7, 7};
    View index = random_view(chance(0.5) ? DType::int32 : DType::int64, shape, {false, chance(0.4)},
                             Values::small);
    const std::int64_t span = chance(0.5) ? n : std::min<std::int64_t>(n, random_integer(1, 40));
    View target = random_view(dtype, {n}, {false, chance(0.4)}, Values::any);
    Operand host_out = target.on_host(), device_out = target.on_device();
    const std::int64_t stride = target.layout.strides[0], reach = (n - 1) * stride;
    host_out.layout = device_out.layout = &scalar;
    const OffsetRange range{std::min<std::int64_t>(reach, 0), std::max<std::int64_t>(reach, 0),
                            std::max<std::int64_t>(std::abs(stride), 1)};
    std::ostringstream what;
    what << "the last of " << many << " among " << span << " of " << n << " places, " << dtype
         << " by " << index.dtype << " " << text(index.layout);
    for (int turn = 0; turn < 2; ++turn) {
      set_integers(index, n - span, n - 1);
      if (span == n) set_integers(index, -n, n - 1);
      const View given = random_view(dtype, shape, {true, chance(0.4)}, Values::any);
      if (chance(0.3)) {
        View wrong = index;
        wrong.device = cuda::allocate(std::int64_t(wrong.host.size()));
        std::memset(wrong.on_host().data + itemsize(index.dtype) - 1, 0x7f, 1);
        upload(wrong);
        cuda::scatter_indexed(given.on_device(), wrong.on_device(), n, stride, device_out);
        expect(!late_index_error().empty(), "bounds of " + what.str());
      }
      View offsets = random_view(DType::int64, shape, {false, true}, Values::small);
      std::int64_t bad = 0;
      set_integers(offsets, 0, 0);
      cpu::accumulate_offsets(index.on_host(), n, stride, offsets.on_host(), &bad);
      upload(offsets);
      cpu::scatter(given.on_host(), offsets.on_host(), host_out);
      if (chance(0.3)) {
        cuda::scatter(given.on_device(), offsets.on_device(), range, device_out);
      } else {
        cuda::scatter_indexed(given.on_device(), index.on_device(), n, stride, device_out);
      }
      expect_same(target, what.str());
    }
  }
  // So many operations that the marks which they leave behind are cleared in between.
  for (const std::int64_t n : {1000, 20000}) {
    View target = random_view(DType::float32, {n}, {false, true}, Values::any);
    Operand host_out = target.on_host(), device_out = target.on_device();
    host_out.layout = device_out.layout = &scalar;
    View index = random_view(DType::int64, {1500}, {false, true}, Values::small);
    for (int turn = 0; turn < 300; ++turn) {
      set_integers(index, n - 1000, n - 1);
      const View given = random_view(DType::float32, {1500}, {false, true}, Values::unit);
      cpu::scatter(given.on_host(), index.on_host(), host_out);
      cuda::scatter_indexed(given.on_device(), index.on_device(), n, 1, device_out);
      expect_same(target, "the last of equal places, many times");
    }
  }
  // And slots of 32 bits: they are after 2^32 claims.
  const std::int64_t n = 1000, many = 1100000;
  View target = random_view(DType::float32, {n}, {false, true}, Values::any);
  Operand host_out = target.on_host(), device_out = target.on_device();
  host_out.layout = device_out.layout = &scalar;
  View index = random_view(DType::int64, {many}, {false, true}, Values::small);
  set_integers(index, 0, n - 1);
  const View other = random_view(DType::float32, {many}, {false, true}, Values::unit);
  const View given = random_view(DType::float32, {many}, {false, true}, Values::unit);
  cpu::scatter(given.on_host(), index.on_host(), host_out);
  for (std::int64_t claims = 0; claims >> 32 == 0; claims += 2 * many) {
    cuda::scatter_indexed(other.on_device(), index.on_device(), n, 1, device_out);
    cuda::scatter_indexed(given.on_device(), index.on_device(), n, 1, device_out);
    expect_same(target, "the last of equal places, very many times");
  }
}

void check_scans(int rounds) {
  for (int round = 0; round < 60 * rounds; ++round) {
    const DType in_dtype = some_dtype();
    DType dtype = is_floating(in_dtype)               ? compute_dtype(in_dtype)
                  : kind(in_dtype) == Kind::unsigned_ ? DType::uint64
                                                      : DType::int64;
    if (is_integer(dtype) && chance(0.2)) dtype = some_integer();
    if (in_dtype == DType::bool_) continue;
    Dims shape = scan_shape();
    if (shape.empty()) shape.push_back(3);
    const int axis = static_cast<int>(random_integer(0, shape.size() - 1));
    const bool product = chance(0.4), initial = chance(0.3);
    const View in = random_view(in_dtype, shape, {true, chance(0.3)},
                                product ? Values::near_one : Values::positive);
    Dims out_shape = shape;
    out_shape[axis] += initial;
    View out = random_view(dtype, out_shape, {false, chance(0.3)}, Values::any);
    std::ostringstream what;
    what << "scan " << product << initial << " of " << in_dtype << " along " << axis << " "
         << text(in.layout);
    cpu::scan(product, in.on_host(), axis, initial, out.on_host());
    cuda::scan(product, in.on_device(), axis, initial, out.on_device());
    expect_same(out, what.str(), is_floating(dtype) ? 40000 : 0);

    // Rows and columns give the same bits.
    Dims axes;
    for (int d = 0; d < shape.size(); ++d) {
      if (d != axis) axes.push_back(d);
    }
    const bool rows = chance(0.5);
    axes.insert(rows ? axes.size() : 0, axis);
    const int moved = rows ? axes.size() - 1 : 0;
    const Layout from = permute(in.layout, axes), to = permute(out.layout, axes);
    Operand source = in.on_device();
    source.layout = &from;
    const View packed = random_view(in_dtype, from.shape, {false, true}, Values::any);
    cuda::copy(source, packed.on_device());
    const View result = random_view(dtype, to.shape, {false, true}, Values::any);
    cuda::scan(product, packed.on_device(), moved, initial, result.on_device());
    View again = out;
    again.device = cuda::allocate(std::int64_t(out.host.size()));
    cuda::check(
        cudaMemcpy(again.device->data, out.device->data, out.host.size(), cudaMemcpyDeviceToDevice),
        "copy");
    cuda::check(
        cudaMemcpy(again.host.data(), out.device->data, out.host.size(), cudaMemcpyDeviceToHost),
        "download");
    Operand target = again.on_device();
    target.layout = &to;
    cuda::copy(result.on_device(), target);
    expect_same(again, "layout of " + what.str());
  }
}

void check_indexing(int rounds) {
  for (int round = 0; round < 60 * rounds; ++round) {
    const DType dtype = some_dtype();
    // index_shape + slab; the array is [n, slab…].
    Dims index_shape, slab;
    for (std::int64_t i = random_integer(0, 2); i > 0; --i)
      index_shape.push_back(random_integer(0, 40));
    for (std::int64_t i = random_integer(0, 2); i > 0; --i) slab.push_back(random_integer(1, 30));
    const std::int64_t n = random_integer(1, 100);
    Dims shape = slab;
    shape.insert(0, n);
    const View source = random_view(dtype, shape, {true, chance(0.3)}, Values::any);
    Layout rest = source.layout;
    const std::int64_t stride = rest.strides[0];
    rest.shape.erase(0);
    rest.strides.erase(0);
    rest.size = checked_size(rest.shape);
    Operand host_in = source.on_host(), device_in = source.on_device();
    host_in.layout = device_in.layout = &rest;
    Dims out_shape = index_shape;
    for (const std::int64_t s : slab) out_shape.push_back(s);
    View index = random_view(some_integer(), index_shape, {true, false}, Values::any);
    const bool wrong = chance(0.2);
    const bool is_signed = kind(index.dtype) == Kind::signed_;
    set_integers(index, is_signed ? -n : 0, n - 1 + (wrong ? 5 : 0));
    std::ostringstream what;
    what << "indexing " << dtype << " " << text(source.layout) << " by " << index.dtype << " "
         << text(index.layout);
    View out = random_view(dtype, out_shape, {false, chance(0.3)}, Values::any);
    std::int64_t bad_host = 0;
    const bool good =
        cpu::gather_indexed(host_in, index.on_host(), n, stride, out.on_host(), &bad_host);
    cuda::gather_indexed(device_in, index.on_device(), n, stride, out.on_device());
    const std::string late = late_index_error();
    const std::string named = "index " + std::to_string(bad_host) + " is out of bounds";
    expect(good == late.empty(), "bounds of " + what.str() + ": " + late);
    if (!good && index.layout.is_contiguous()) {
      expect(late.find(named) == 0, named + " instead of " + late);
    }
    expect(late_index_error().empty(), "an index is reported once");
    if (good) expect_same(out, "gather_indexed " + what.str());
    View offsets = random_view(DType::int64, index_shape, {false, true}, Values::small);
    set_integers(offsets, 0, 0);
    cpu::accumulate_offsets(index.on_host(), n, stride, offsets.on_host(), &bad_host);
    cuda::accumulate_offsets(index.on_device(), n, stride, offsets.on_device());
    expect(good == late_index_error().empty(), "bounds of accumulate_offsets " + what.str());
    View target = random_view(dtype, shape, {false, chance(0.3)}, Values::any);
    Layout target_rest = target.layout;
    target_rest.shape = rest.shape;
    target_rest.strides.erase(0);
    target_rest.size = rest.size;
    Operand host_out = target.on_host(), device_out = target.on_device();
    host_out.layout = device_out.layout = &target_rest;
    const std::int64_t step = target.layout.strides[0], reach = (n - 1) * step;
    const View given = random_view(dtype, out_shape, {true, chance(0.3)}, Values::any);
    const std::int64_t apart = std::max<std::int64_t>(std::abs(step), 1);
    const OffsetRange range{std::min<std::int64_t>(reach, 0), std::max<std::int64_t>(reach, 0),
                            apart};
    if (!good) {
      // Nothing is written where an index is wrong, …
      set_integers(offsets, 0, 0);
      cuda::accumulate_offsets(index.on_device(), n, step, offsets.on_device());
      expect(!late_index_error().empty(), "bounds of offsets " + what.str());
      cuda::scatter(given.on_device(), offsets.on_device(), range, device_out);
      const Element one = converted(1, dtype);
      cuda::scatter(one, offsets.on_device(), {range.lowest, range.highest, apart, true},
                    device_out);
      cuda::scatter_indexed(one, index.on_device(), n, step, device_out);
      cuda::scatter_indexed(given.on_device(), index.on_device(), n, step, device_out);
      expect_same(target, "refused scatter " + what.str());
      expect(!late_index_error().empty(), "bounds of scatter " + what.str());
      continue;  // … nor does it keep the next operation from writing.
    }
    expect_same(offsets, "accumulate_offsets " + what.str());
    cpu::gather(host_in, offsets.on_host(), out.on_host());
    cuda::gather(device_in, offsets.on_device(), out.on_device());
    expect_same(out, "gather " + what.str());
    set_integers(offsets, 0, 0);
    cpu::accumulate_offsets(index.on_host(), n, step, offsets.on_host(), &bad_host);
    upload(offsets);
    cpu::scatter(given.on_host(), offsets.on_host(), host_out);
    cuda::scatter(given.on_device(), offsets.on_device(), range, device_out);
    expect_same(target, "scatter " + what.str());
    const Element one = converted(1, dtype);
    cpu::scatter(one, offsets.on_host(), host_out);
    cuda::scatter(one, offsets.on_device(), {range.lowest, range.highest, apart, true}, device_out);
    expect_same(target, "scatter of one value " + what.str());
    cpu::scatter(given.on_host(), offsets.on_host(), host_out);
    cuda::scatter_indexed(given.on_device(), index.on_device(), n, step, device_out);
    expect_same(target, "scatter_indexed " + what.str());
    cpu::scatter(one, offsets.on_host(), host_out);
    cuda::scatter_indexed(one, index.on_device(), n, step, device_out);
    expect_same(target, "scatter_indexed of one value " + what.str());
  }
  // Very many bad indices, of which the first is named, and one of a later operation.
  {
    const View line = random_view(DType::float64, {1000}, {false, true}, Values::any);
    View index = random_view(DType::int32, {3000000}, {false, true}, Values::any);
    View out = random_view(DType::float64, {3000000}, {false, true}, Values::any);
    const Layout scalar = Layout::contiguous({});
    Operand in = line.on_device();
    in.layout = &scalar;
    set_integers(index, 1000, 2000000000);
    std::int32_t first;
    std::memcpy(&first, index.on_host().data, sizeof first);
    cuda::gather_indexed(in, index.on_device(), 1000, 1, out.on_device());
    cuda::gather_indexed(in, index.on_device(), 7, 1, out.on_device());
    const std::string late = late_index_error();
    expect(late.find("index " + std::to_string(first) + " is out of bounds for an axis with size " +
                     "1000,") == 0,
           "the first of many bad indices, " + std::to_string(first) + ": " + late);
    expect(late_index_error().empty(), "indices are reported once");
  }
  // Many offsets, most of them more than once, side by side and apart: so many that each place has
  // a slot of claims, and fewer, in memory that holds what would be later ones.
  using Case = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [stride, many] :
       {Case(1, 50000), Case(-3, 50000), Case(1, 1000), Case(-3, 1000)}) {
    View index = random_view(DType::int64, {many}, {false, true}, Values::any);
    set_integers(index, many < 10000 ? 9700 : 0, 9999);
    const auto fill_claims = [] {
      const cuda::Scratch stale(10000 * 8);
      cuda::check(cudaMemsetAsync(stale.as(), 0x7f, 10000 * 8, cuda::stream()), "cudaMemsetAsync");
    };
    View offsets = index;
    std::int64_t bad = 0;
    set_integers(offsets, 0, 0);
    cpu::accumulate_offsets(index.on_host(), 10000, stride, offsets.on_host(), &bad);
    offsets.device = cuda::allocate(std::int64_t(offsets.host.size()));
    upload(offsets);
    upload(index);
    const View values = random_view(DType::float32, {many}, {false, true}, Values::any);
    View target = random_view(DType::float32, {30000}, {false, true}, Values::any);
    const Layout scalar = Layout::contiguous({});
    Operand host_out = target.on_host(), device_out = target.on_device();
    host_out.layout = device_out.layout = &scalar;
    for (Operand* out : {&host_out, &device_out}) out->data += stride < 0 ? 29999 * 4 : 0;
    const OffsetRange range{stride < 0 ? -29997 : 0, stride < 0 ? 0 : 9999, std::abs(stride)};
    cpu::scatter(values.on_host(), offsets.on_host(), host_out);
    fill_claims();
    cuda::scatter(values.on_device(), offsets.on_device(), range, device_out);
    expect_same(target, "scatter of many");
    cpu::scatter(values.on_host(), offsets.on_host(), host_out);
    fill_claims();
    cuda::scatter_indexed(values.on_device(), index.on_device(), 10000, stride, device_out);
    expect_same(target, "scatter_indexed of many");
  }
  // Some offsets into very many places, up to the last.
  {
    const std::int64_t n = (1 << 25) + 1;
    View offsets = random_view(DType::int64, {5000}, {false, true}, Values::any);
    set_integers(offsets, n - 3000, n - 1);
    const View values = random_view(DType::int8, {5000}, {false, true}, Values::any);
    View target = random_view(DType::int8, {n}, {false, true}, Values::any);
    const Layout scalar = Layout::contiguous({});
    Operand host_out = target.on_host(), device_out = target.on_device();
    host_out.layout = device_out.layout = &scalar;
    cpu::scatter(values.on_host(), offsets.on_host(), host_out);
    cuda::scatter(values.on_device(), offsets.on_device(), {0, n - 1, 1}, device_out);
    expect_same(target, "scatter among many places");
    const View others = random_view(DType::int8, {5000}, {false, true}, Values::any);
    cpu::scatter(others.on_host(), offsets.on_host(), host_out);
    cuda::scatter_indexed(others.on_device(), offsets.on_device(), n, 1, device_out);
    expect_same(target, "scatter_indexed among many places");
  }

  for (int round = 0; round < 40 * rounds; ++round) {
    const DType dtype = compute_dtype(some_dtype());
    const Dims shape = random_shape(100000);
    const View in =
        random_view(dtype, shape, {true, chance(0.3)}, chance(0.5) ? Values::sparse : Values::any);
    const std::int64_t count = cpu::count_nonzero(in.on_host());
    expect(count == cuda::count_nonzero(in.on_device()), "count_nonzero " + text(in.layout));
    std::vector<View> columns;
    std::vector<Operand> host, device;
    const int ndim = std::max(1, shape.size());
    for (int d = 0; d < ndim; ++d) {
      View v;
      v.dtype = DType::int64;
      v.layout = Layout::contiguous({count});
      v.elements = count;
      v.host.resize(count * 8);
      v.device = cuda::allocate(std::max<std::int64_t>(count * 8, 8));
      columns.push_back(v);
    }
    for (const View& v : columns) {
      host.push_back(v.on_host());
      device.push_back(v.on_device());
    }
    cpu::nonzero(in.on_host(), host);
    cuda::nonzero(in.on_device(), device);
    for (const View& v : columns) expect_same(v, "nonzero of " + text(in.layout));
    const View mask = random_view(DType::bool_, shape, {true, chance(0.3)},
                                  chance(0.5) ? Values::sparse : Values::any);
    const std::int64_t selected = cpu::count_nonzero(mask.on_host());
    View out = random_view(dtype, {selected}, {false, true}, Values::any);
    if (!out.layout.is_contiguous()) continue;
    cpu::compress(in.on_host(), mask.on_host(), out.on_host());
    cuda::compress(in.on_device(), mask.on_device(), out.on_device());
    expect_same(out, "compress of " + text(in.layout));
  }
}

// More tiles than a block has threads.
void check_long_masks(int) {
  const View mask = random_view(DType::bool_, {9000001}, {false, true}, Values::sparse);
  const std::int64_t count = cpu::count_nonzero(mask.on_host());
  expect(count == cuda::count_nonzero(mask.on_device()), "count_nonzero of a long mask");
  View column = random_view(DType::int64, {count}, {false, true}, Values::any);
  const Operand host = column.on_host(), device = column.on_device();
  cpu::nonzero(mask.on_host(), {&host, 1});
  cuda::nonzero(mask.on_device(), {&device, 1});
  expect_same(column, "nonzero of a long mask");
}

// Holds the shared memory of a multiprocessor for so long.
__global__ void occupy(volatile char* begun, long long cycles) {
  if (threadIdx.x == 0) begun[blockIdx.x] = 1;
  for (const long long begin = clock64(); clock64() - begin < cycles;) {
  }
}
// Few indices, by blocks that wait for each other, while all multiprocessors but one are in use.
void check_blocks_that_are_late() {
  const std::int64_t n = 30000, many = 20000;
  const auto attribute = [](cudaDeviceAttr which) {
    int value = 0;
    cuda::check(cudaDeviceGetAttribute(&value, which, 0), "cudaDeviceGetAttribute");
    return value;
  };
  const int blocks = std::max(attribute(cudaDevAttrMultiProcessorCount) - 1, 1),
            bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  cuda::check(cudaFuncSetAttribute(occupy, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "cudaFuncSetAttribute");
  cudaStream_t other;
  cuda::check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreate");
  volatile char* begun = nullptr;
  cuda::check(cudaMallocHost(const_cast<char**>(&begun), std::size_t(blocks)), "cudaMallocHost");
  View index = random_view(DType::int64, {many}, {false, true}, Values::any);
  View target = random_view(DType::float64, {n}, {false, true}, Values::any);
  const Layout scalar = Layout::contiguous({});
  Operand host_out = target.on_host(), device_out = target.on_device();
  host_out.layout = device_out.layout = &scalar;
  // In the first turn kernels are loaded; later ones find the device in use, and free again.
  for (int turn = 0; turn < 6; ++turn) {
    set_integers(index, 0, n - 1);
    const View given = random_view(DType::float64, {many}, {false, true}, Values::any);
    cpu::scatter(given.on_host(), index.on_host(), host_out);
    if (turn % 2 == 1) {
      for (int b = 0; b < blocks; ++b) begun[b] = 0;
      occupy<<<blocks, 32, std::size_t(bytes), other>>>(begun, 10'000'000);
      cuda::check(cudaGetLastError(), "occupy");
      for (int b = 0; b < blocks; ++b) {
        while (begun[b] == 0 && cudaStreamQuery(other) == cudaErrorNotReady) {
        }
      }
    }
    cuda::scatter_indexed(given.on_device(), index.on_device(), n, 1, device_out);
    expect_same(target, "few indices on a device that others use");
  }
  cuda::check(cudaFreeHost(const_cast<char*>(begun)), "cudaFreeHost");
  cuda::check(cudaStreamDestroy(other), "cudaStreamDestroy");
}

// Many indices to many places: of items of any size, in any order, by few and many of the places'
// buckets, each of which has few or many items, and to more places than have buckets.
void check_assignments(int rounds) {
  check_blocks_that_are_late();
  enum class Order { none, ascending, one_place, some_places, one_run };
  static constexpr const char* words[] = {"in no order", "ascending", "of one place",
                                          "of some places", "of one run"};
  struct Case {
    DType dtype;
    std::int64_t many, n;
    Order order = Order::none;
    DType index = DType::int64;
  };
  constexpr std::int64_t mebi = std::int64_t{1} << 20;
  std::vector<Case> cases;
  for (const DType dtype :
       {DType::int8, DType::int16, DType::float32, DType::float64, DType::complex128}) {
    cases.push_back({dtype, mebi + 12345, 2 * mebi + 77});
    cases.push_back({dtype, mebi / 2 + 77, 6 * mebi});
    cases.push_back({dtype, 100003, 300007, Order::none, DType::int32});
    if (rounds == 0) continue;
    cases.push_back({dtype, mebi / 2 + 77, mebi});
    cases.push_back({dtype, 3 * mebi, mebi - 9});
  }
  for (const Order order :
       {Order::ascending, Order::one_place, Order::some_places, Order::one_run}) {
    if (rounds == 0) break;
    cases.push_back({DType::int16, mebi + 12345, 3 * mebi, order});
    cases.push_back({DType::float32, mebi - 5, 2 * mebi, order});
    cases.push_back({DType::float32, mebi - 5, 3 * mebi, order});
    cases.push_back({DType::int8, mebi, 2 * mebi, order});
    cases.push_back({DType::float64, mebi / 2, mebi, order});
    cases.push_back({DType::float64, mebi / 2 + 77, 6 * mebi, order});
  }
  if (rounds > 0) {
    // So many that slots have no room for the positions of one more.
    for (int i = 0; i < 6; ++i) cases.push_back({DType::uint8, mebi, mebi});
    cases.push_back({DType::float64, 4 * mebi + 3, 9 * mebi});
    cases.push_back({DType::float32, 4 * mebi + 3, 9 * mebi, Order::ascending});
    cases.push_back({DType::complex128, mebi + 12345, 3 * mebi, Order::ascending});
    cases.push_back({DType::int16, mebi, 32 * mebi, Order::ascending});
    cases.push_back({DType::int8, 4 * mebi + 3, mebi + 1});
    cases.push_back({DType::int8, 9 * mebi, 2 * mebi});
    cases.push_back({DType::float64, mebi / 2, 32 * mebi});
    cases.push_back({DType::int8, mebi, 64 * mebi});
    cases.push_back({DType::int8, 2 * mebi, 128 * mebi});
    cases.push_back({DType::int8, 2 * mebi, 128 * mebi + 9});
  }
  for (const auto& [dtype, many, n, order, index_dtype] : cases) {
    View index = random_view(index_dtype, {many}, {false, true}, Values::any);
    std::vector<std::int64_t> places(std::size_t(index.elements), 0);
    for (std::int64_t& place : places) {
      place = order == Order::one_place     ? n - 1
              : order == Order::some_places ? random_integer(0, 99) * (n / 100)
              : order == Order::one_run     ? random_integer(2048, 4095)
                                            : random_integer(0, n - 1);
    }
    if (order == Order::ascending) std::sort(places.begin(), places.end());
    if (index_dtype == DType::int32) {
      std::copy(places.begin(), places.end(), reinterpret_cast<std::int32_t*>(index.host.data()));
    } else {
      std::memcpy(index.host.data(), places.data(), index.host.size());
    }
    upload(index);
    Operand host_index = index.on_host();
    host_index.data = reinterpret_cast<char*>(places.data() + index.layout.offset);
    host_index.dtype = DType::int64;
    const View given = random_view(dtype, {many}, {false, true}, Values::unit);
    View target;
    target.dtype = dtype;
    target.layout = Layout::contiguous({n});
    target.elements = n;
    target.host.assign(std::size_t(n * itemsize(dtype)), 0);
    target.device = cuda::allocate(std::int64_t(target.host.size()));
    upload(target);
    const Layout scalar = Layout::contiguous({});
    Operand host_out = target.on_host(), device_out = target.on_device();
    host_out.layout = device_out.layout = &scalar;
    cpu::scatter(given.on_host(), host_index, host_out);
    cuda::scatter_indexed(given.on_device(), index.on_device(), n, 1, device_out);
    std::ostringstream what;
    what << many << " indices to " << n << " places, " << words[static_cast<int>(order)] << ", "
         << dtype;
    expect_same(target, what.str());
    if (index_dtype != DType::int64) continue;
    // As offsets, of which a wrong one, which somebody else has told of, keeps all from writing.
    const View others = random_view(dtype, {many}, {false, true}, Values::unit);
    cpu::scatter(others.on_host(), host_index, host_out);
    cuda::scatter(others.on_device(), index.on_device(), {0, n - 1, 1}, device_out);
    const std::int64_t wrong = INT64_MIN;
    std::memcpy(index.on_host().data + random_integer(0, many - 1) * 8, &wrong, sizeof wrong);
    upload(index);
    cuda::scatter(given.on_device(), index.on_device(), {0, n - 1, 1}, device_out);
    expect_same(target, "offsets of " + what.str());
    expect(late_index_error().empty(), "nothing is told of offsets");
    cuda::scatter_indexed(given.on_device(), index.on_device(), n, 1, device_out);
    expect_same(target, "bounds of " + what.str());
    expect(!late_index_error().empty(), "an index out of bounds is told of");
  }
}

void check_sorts(int rounds) {
  for (int round = 0; round < 60 * rounds; ++round) {
    const DType dtype = some_dtype();
    Dims shape = scan_shape();
    if (shape.empty()) shape.push_back(3);
    const int axis = static_cast<int>(random_integer(0, shape.size() - 1));
    const bool descending = chance(0.5);
    const View in =
        random_view(dtype, shape, {true, chance(0.3)}, chance(0.5) ? Values::any : Values::small);
    std::ostringstream what;
    what << dtype << " along " << axis << (descending ? " descending " : " ") << text(in.layout);
    View out = random_view(dtype, shape, {false, chance(0.3)}, Values::any);
    cpu::sort(in.on_host(), axis, descending, out.on_host());
    cuda::sort(in.on_device(), axis, descending, out.on_device());
    expect_same(out, "sort " + what.str(), is_floating(dtype) ? 1e-9 : 0);
    View order = random_view(DType::int64, shape, {false, chance(0.3)}, Values::any);
    cpu::argsort(in.on_host(), axis, descending, order.on_host());
    cuda::argsort(in.on_device(), axis, descending, order.on_device());
    expect_same(order, "argsort " + what.str());

    if (compute_dtype(dtype) != dtype) continue;
    const View line = random_view(dtype, {random_integer(0, 5000)}, {false, false}, Values::any);
    View sorted = random_view(dtype, line.layout.shape, {false, false}, Values::any);
    View sorter = random_view(DType::int64, line.layout.shape, {false, false}, Values::any);
    cpu::argsort(line.on_host(), 0, false, sorter.on_host());
    upload(sorter);
    cpu::sort(line.on_host(), 0, false, sorted.on_host());
    upload(sorted);
    const View values = random_view(dtype, random_shape(3000), {true, false}, Values::any);
    View places = random_view(DType::int64, values.layout.shape, {false, false}, Values::any);
    const bool right = chance(0.5);
    cpu::searchsorted(sorted.on_host(), nullptr, values.on_host(), right, places.on_host());
    cuda::searchsorted(sorted.on_device(), nullptr, values.on_device(), right, places.on_device());
    expect_same(places, "searchsorted " + what.str());
    const Operand host_sorter = sorter.on_host(), device_sorter = sorter.on_device();
    cpu::searchsorted(line.on_host(), &host_sorter, values.on_host(), right, places.on_host());
    cuda::searchsorted(line.on_device(), &device_sorter, values.on_device(), right,
                       places.on_device());
    expect_same(places, "searchsorted with a sorter " + what.str());
  }
  // Many searches at once.
  for (const DType dtype : {DType::int16, DType::float32, DType::float64, DType::complex128}) {
    for (const bool right : {false, true}) {
      const View line = random_view(dtype, {70001}, {false, true}, Values::any);
      View sorted = random_view(dtype, line.layout.shape, {false, true}, Values::any);
      cpu::sort(line.on_host(), 0, false, sorted.on_host());
      upload(sorted);
      const View values = random_view(dtype, {700000}, {false, true}, Values::any);
      View places = random_view(DType::int64, values.layout.shape, {false, true}, Values::any);
      cpu::searchsorted(sorted.on_host(), nullptr, values.on_host(), right, places.on_host());
      cuda::searchsorted(sorted.on_device(), nullptr, values.on_device(), right,
                         places.on_device());
      expect_same(places, "many searches among " + std::string(name(dtype)));
    }
  }
}

}  // namespace arrayx::testing
