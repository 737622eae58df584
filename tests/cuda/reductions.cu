// Reductions against the CPU engine, and that layouts do not change their bits.
#include <algorithm>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

DType default_accumulator(Reduction op, DType d) {
  switch (info(op).result) {
    case ResultRule::wide:
      return kind(d) == Kind::unsigned_                           ? DType::uint64
             : kind(d) == Kind::signed_ || kind(d) == Kind::bool_ ? DType::int64
                                                                  : compute_dtype(d);
    case ResultRule::boolean:
      return DType::bool_;
    case ResultRule::index:
      return DType::int64;
    default:
      return compute_dtype(d);
  }
}

bool accepts(Reduction op, DType d) {
  const unsigned k = kind(d) == Kind::bool_     ? kinds::boolean
                     : kind(d) == Kind::real    ? kinds::real
                     : kind(d) == Kind::complex ? kinds::complex
                                                : kinds::integer;
  // This engine has norms and deviations instead.
  if (op == Reduction::sum_magnitudes || op == Reduction::sum_squared_deviations) return false;
  return (info(op).accepts & k) != 0;
}

Dims reduction_shape() {
  static const std::vector<Dims> special = {
      {5000, 3},    {3, 5000},    {20000},
      {1, 70000},   {300000},     {16, 4000},
      {4000, 16},   {257, 129},   {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
      {40, 41, 42}, {2049, 8},    {8, 2049},
      {128, 128},   {3, 1, 2048}, {9000, 40},
      {600000, 2},  {17000, 140},
  };
  return chance(0.5) ? special[random_integer(0, std::int64_t(special.size()) - 1)]
                     : random_shape(30000);
}

// Lines of int16 of which a thread has more packs than a key of 16 bits counts: one line many
// times.
void check_positions_of_long_lines() {
  const std::int64_t n = (65536 * 32 + 100) * 8, lines = 8192, last = n - 3;
  const StorageRef line = cuda::allocate(n * 2), places = cuda::allocate(lines * 8);
  const std::int16_t one = 1;
  char* const data = static_cast<char*>(line->data);
  cuda::check(cudaMemset(data, 0, std::size_t(n) * 2), "fill");
  cuda::check(cudaMemcpy(data + last * 2, &one, 2, cudaMemcpyHostToDevice), "upload");
  Layout in_layout = Layout::contiguous({lines, n});
  in_layout.strides[0] = 0;
  const Layout out_layout = Layout::contiguous({lines});
  Operand in, out;
  in.data = data;
  in.layout = &in_layout;
  in.dtype = DType::int16;
  out.data = static_cast<char*>(places->data);
  out.layout = &out_layout;
  out.dtype = DType::int64;
  std::vector<std::int64_t> found(lines);
  for (const bool largest : {true, false}) {
    cuda::arg_reduce(largest, in, 1, out);
    cuda::check(cudaMemcpy(found.data(), out.data, std::size_t(lines) * 8, cudaMemcpyDeviceToHost),
                "download");
    const bool same = std::all_of(found.begin(), found.end(),
                                  [&](std::int64_t i) { return i == (largest ? last : 0); });
    expect(same, "position of an extreme in a long line of int16");
  }
}

// Windows of one line, as rows that begin anywhere and as columns: kernels for many outputs, or
// some, give the bits that those for few give.
void check_bits_of_many_outputs(std::int64_t outputs, std::span<const std::int64_t> lengths) {
  constexpr std::int64_t few = 1000;
  for (const DType dtype :
       {DType::float16, DType::float32, DType::float64, DType::complex64, DType::complex128}) {
    const View line = random_view(dtype, {outputs * 75 + 4096}, {false, true}, Values::near_one);
    const StorageRef all = cuda::allocate(outputs * 16), part = cuda::allocate(few * 16);
    std::vector<char> bits(few * 16), others(few * 16);
    std::int64_t apart = 0;
    const auto check = [&](const char* what, DType result, std::int64_t n, bool rows,
                           auto&& reduce) {
      const bool marks[] = {!rows, rows};
      const auto run = [&](std::int64_t first, std::int64_t count, const StorageRef& to) {
        Layout in_layout = Layout::contiguous(rows ? Dims{count, n} : Dims{n, count});
        in_layout.strides = Dims{apart, 1};
        const Layout out_layout = Layout::contiguous({count});
        Operand in = line.on_device(), out;
        in.data += first * (rows ? apart : 1) * itemsize(dtype);
        in.layout = &in_layout;
        out.data = static_cast<char*>(to->data);
        out.layout = &out_layout;
        out.dtype = result;
        reduce(in, std::span<const bool>(marks, 2), out);
      };
      const auto download = [&](std::vector<char>& to, const StorageRef& from, std::int64_t first) {
        cuda::check(cudaMemcpy(to.data(), static_cast<char*>(from->data) + first * itemsize(result),
                               std::size_t(few) * itemsize(result), cudaMemcpyDeviceToHost),
                    "download");
      };
      run(0, outputs, all);
      for (const std::int64_t first : {std::int64_t{0}, outputs / 2 - 433, outputs - few}) {
        run(first, few, part);
        download(bits, all, first);
        download(others, part, 0);
        std::ostringstream text;
        text << "bits of the " << what << " of " << n << " " << dtype << " of "
             << (rows ? "rows" : "columns") << " from " << first;
        expect(bits == others, text.str());
      }
    };
    for (const int form : {0, 1, 2, 3, 5}) {
      const bool rows = form % 2 != 0;
      // Packs are whole and aligned where it is even; rows far apart fill shared memory.
      apart = form < 2 ? 7 : form < 4 ? 8 : 75;
      for (const std::int64_t n : lengths) {
        const DType result = compute_dtype(dtype);
        for (const Reduction op : {Reduction::sum, Reduction::prod, Reduction::max}) {
          if (op == Reduction::max && is_complex(dtype)) continue;
          check(info(op).name, result, n, rows,
                [&](const Operand& in, std::span<const bool> marks, const Operand& out) {
                  cuda::reduce(op, result, in, marks, out);
                });
        }
        if (is_complex(dtype)) continue;
        check("var", result, n, rows,
              [&](const Operand& in, std::span<const bool> marks, const Operand& out) {
                cuda::deviation(in, marks, static_cast<double>(n), false, out);
              });
        for (const bool squares : {false, true}) {
          check(squares ? "norm" : "magnitudes", result, n, rows,
                [&](const Operand& in, std::span<const bool> marks, const Operand& out) {
                  cuda::norm(in, marks, squares, out);
                });
        }
      }
    }
  }
}

// Windows of one line as very many short rows that begin anywhere, or at packs, of which few
// threads, or one, have each where the order does not matter.
void check_many_short_rows(std::span<const std::int64_t> lengths, std::int64_t apart) {
  constexpr std::int64_t outputs = 300000;
  const bool marks[] = {false, true};
  for (const DType dtype :
       {DType::int8, DType::uint16, DType::float16, DType::int32, DType::float32, DType::int64}) {
    View in = random_view(dtype, {outputs * apart + 1024}, {false, true}, Values::any);
    for (const std::int64_t n : lengths) {
      in.layout = Layout::contiguous({outputs, n});
      in.layout.strides = Dims{apart, 1};
      const std::string rows = std::to_string(n) + " " + std::string(name(dtype)) + " " +
                               std::to_string(apart) + " apart";
      View wide = in;  // the CPU engine has no kernels of float16
      if (compute_dtype(dtype) != dtype) {
        wide = random_view(compute_dtype(dtype), {outputs, n}, {false, true}, Values::any);
        cpu::copy(in.on_host(), wide.on_host());
      }
      View places = random_view(DType::int64, {outputs}, {false, true}, Values::any);
      for (const bool largest : {true, false}) {
        cpu::arg_reduce(largest, wide.on_host(), 1, places.on_host());
        cuda::arg_reduce(largest, in.on_device(), 1, places.on_device());
        expect_same(places,
                    (largest ? "argmax of many rows of " : "argmin of many rows of ") + rows);
      }
      if (!is_integer(dtype)) continue;
      for (const Reduction op : {Reduction::sum, Reduction::min}) {
        const DType result = default_accumulator(op, dtype);
        View out = random_view(result, {outputs}, {false, true}, Values::any);
        cpu::reduce(op, result, in.on_host(), marks, nullptr, out.on_host());
        cuda::reduce(op, result, in.on_device(), marks, out.on_device());
        expect_same(out, std::string(info(op).name) + " of many rows of " + rows);
      }
    }
  }
}

}  // namespace

void check_long_lines(int rounds) {
  static constexpr std::int64_t few[] = {3, 63, 130, 260};
  static constexpr std::int64_t rows[] = {3, 12, 31, 50, 63, 100, 127, 190, 383};
  static constexpr std::int64_t lines[] = {2, 3, 8, 11, 20, 100, 128, 130, 406, 1500, 2048};
  if (rounds == 0) {
    check_many_short_rows(few, 7);
    check_many_short_rows(few, 16);
    return check_bits_of_many_outputs(70000, few);
  }
  check_positions_of_long_lines();
  check_many_short_rows(rows, 7);
  check_many_short_rows(rows, 16);
  check_bits_of_many_outputs(70000, lines);
  check_bits_of_many_outputs(20000, lines);
  check_bits_of_many_outputs(5000, few);
}

void check_reductions(int rounds) {
  for (int r = 0; r < reduction_count; ++r) {
    const Reduction op = static_cast<Reduction>(r);
    for (int c = 0; c < dtype_count; ++c) {
      const DType dtype = static_cast<DType>(c);
      if (!accepts(op, dtype)) continue;
      const bool adds = op == Reduction::sum || op == Reduction::prod;
      for (int round = 0; round < 2 * rounds; ++round) {
        DType accumulator = default_accumulator(op, dtype);
        if (adds && is_floating(dtype) && chance(0.2)) accumulator = wider_dtype(accumulator);
        DType out_dtype = op == Reduction::max || op == Reduction::min ? dtype : accumulator;
        if (adds && is_integer(accumulator) && chance(0.3)) out_dtype = DType::int32;
        const Values values = op == Reduction::prod && is_floating(dtype) ? Values::near_one
                              : is_floating(accumulator) && adds          ? Values::positive
                              : info(op).result == ResultRule::boolean && chance(0.7)
                                  ? (op == Reduction::any ? Values::sparse : Values::near_one)
                                  : Values::any;
        const Dims shape = reduction_shape();
        const View in = random_view(dtype, shape, {true, chance(0.3)}, values);
        const int n = shape.size();
        bool reduced[64] = {};
        Dims kept;
        const bool all = chance(0.2);
        for (int i = 0; i < n; ++i) {
          reduced[i] = all || chance(0.5);
          if (!reduced[i]) kept.push_back(shape[i]);
        }
        if ((op == Reduction::max || op == Reduction::min) && in.layout.size == 0) continue;
        View out = random_view(out_dtype, kept, {false, chance(0.5)}, Values::positive);
        const std::span<const bool> marks(reduced, static_cast<std::size_t>(n));
        std::ostringstream what;
        what << info(op).name << " of " << dtype << " in " << accumulator << " " << text(in.layout)
             << " over";
        for (int i = 0; i < n; ++i) {
          if (reduced[i]) what << ' ' << i;
        }
        cpu::reduce(op, accumulator, in.on_host(), marks, nullptr, out.on_host());
        cuda::reduce(op, accumulator, in.on_device(), marks, out.on_device());
        expect_same(out, what.str(), is_floating(out_dtype) ? (adds ? 4000 : 1e-9) : 0);
        // A contiguous copy gives the same bits.
        View packed = random_view(dtype, shape, {false, true}, values);
        View again = out;
        again.device = cuda::allocate(std::int64_t(out.host.size()));
        cuda::check(cudaMemcpy(again.device->data, out.host.data(), out.host.size(),
                               cudaMemcpyHostToDevice),
                    "upload");
        cuda::copy(in.on_device(), packed.on_device());
        cuda::reduce(op, accumulator, packed.on_device(), marks, again.on_device());
        cuda::check(cudaMemcpy(again.host.data(), out.device->data, out.host.size(),
                               cudaMemcpyDeviceToHost),
                    "download");
        expect_same(again, "layout of " + what.str());
      }
      if (op != Reduction::max && op != Reduction::min) continue;
      if (compute_dtype(dtype) != dtype) continue;
      for (int round = 0; round < rounds; ++round) {
        Dims shape = reduction_shape();
        if (shape.empty()) shape.push_back(5);
        const int axis = static_cast<int>(random_integer(0, shape.size() - 1));
        if (shape[axis] == 0) continue;
        const View in = random_view(dtype, shape, {true, chance(0.3)},
                                    chance(0.5) ? Values::any : Values::sparse);
        Dims kept = shape;
        kept.erase(axis);
        View out = random_view(DType::int64, kept, {false, chance(0.5)}, Values::any);
        const bool largest = op == Reduction::max;
        cpu::arg_reduce(largest, in.on_host(), axis, out.on_host());
        cuda::arg_reduce(largest, in.on_device(), axis, out.on_device());
        std::ostringstream what;
        what << (largest ? "argmax of " : "argmin of ") << dtype << " " << text(in.layout)
             << " along " << axis;
        expect_same(out, what.str());
      }
    }
  }
}

}  // namespace arrayx::testing
