// Elementwise operations, copies, casts and ranges: the bits that the CPU engine gives.
#include <cmath>
#include <cstring>
#include <sstream>

#include "harness.hpp"

namespace arrayx::testing {

namespace {

unsigned kinds_of(DType d) {
  switch (kind(d)) {
    case Kind::bool_:
      return kinds::boolean;
    case Kind::real:
      return d == DType::float16 ? 0 : kinds::real;
    case Kind::complex:
      return kinds::complex;
    default:
      return kinds::integer;
  }
}

// Where the host has no fused multiply-add, functions that use one differ in bits.
double allowed_ulps(Op op, DType compute) {
  if (is_complex(compute)) return 8;
#define ARRAYX_ROW(name, F, accepts, result) \
  if (op == Op::name) return 2;
  ARRAYX_OPS_UNARY_MATH(ARRAYX_ROW)
  ARRAYX_OPS_BINARY_MATH(ARRAYX_ROW)
#undef ARRAYX_ROW
  return 0;
}

// The error of logaddexp is measured in ulps of 1 where its result is smaller.
double least_measure(Op op) {
  return op == Op::logaddexp ? 1 : 0;
}

DType promotable(DType to) {
  for (int i = 0; i < 50; ++i) {
    const DType d = static_cast<DType>(random_integer(0, dtype_count - 1));
    if (can_promote(d, to) && promote(d, to) == to) return d;
  }
  return to;
}

}  // namespace

void check_elementwise(int rounds) {
  for (int o = 0; o < op_count; ++o) {
    const Op op = static_cast<Op>(o);
    for (int c = 0; c < dtype_count; ++c) {
      const DType compute = static_cast<DType>(c);
      if ((info(op).accepts & kinds_of(compute)) == 0) continue;
      for (int round = 0; round < rounds; ++round) {
        const Dims shape = random_shape(20000);
        const bool mixed = chance(0.3);
        std::vector<View> views;
        std::vector<Element> scalars(3);
        std::vector<Operand> host, device;
        std::ostringstream what;
        what << info(op).name << " in " << compute;
        const bool plain = chance(0.25);
        const double ulps = allowed_ulps(op, compute);
        for (int k = 0; k < info(op).arity; ++k) views.emplace_back();
        for (int k = 0; k < info(op).arity; ++k) {
          const DType wanted = op == Op::where && k == 0 ? DType::bool_ : compute;
          const DType dtype = mixed ? promotable(wanted) : wanted;
          what << " | " << dtype;
          if (info(op).arity > 1 && chance(0.2)) {
            scalars[k].dtype = dtype;
            fill_random(dtype, reinterpret_cast<char*>(scalars[k].bytes), 1, Values::any);
            host.emplace_back(scalars[k]);
            device.emplace_back(scalars[k]);
            what << " scalar";
            continue;
          }
          views[k] = random_view(dtype, shape, {true, plain}, Values::any);
          host.push_back(views[k].on_host());
          device.push_back(views[k].on_device());
          what << " " << text(views[k].layout);
        }
        DType out_dtype = result_dtype(op, compute);
        if (mixed && is_floating(out_dtype) && chance(0.3)) {
          out_dtype = is_complex(out_dtype) ? DType::complex64 : DType::float32;
        }
        View out = random_view(out_dtype, shape, {false, plain}, Values::any);
        cpu::elementwise(op, compute, host, out.on_host());
        cuda::elementwise(op, compute, device, out.on_device());
        expect_same(out, what.str(), ulps, least_measure(op));
        // In place, where an input lies like the output.
        if (!mixed && result_dtype(op, compute) == compute && op != Op::where && chance(0.3)) {
          host[0] = out.on_host();
          device[0] = out.on_device();
          cuda::check(cudaMemcpy(out.device->data, out.host.data(), out.host.size(),
                                 cudaMemcpyHostToDevice),
                      "upload");
          cpu::elementwise(op, compute, host, out.on_host());
          cuda::elementwise(op, compute, device, out.on_device());
          expect_same(out, "in place " + what.str(), ulps, least_measure(op));
        }
      }
    }
  }
}

void check_copies(int rounds) {
  for (int a = 0; a < dtype_count; ++a) {
    for (int b = 0; b < dtype_count; ++b) {
      const DType from = static_cast<DType>(a), to = static_cast<DType>(b);
      // Values out of range have no defined cast.
      const Values values = is_floating(from) && !is_floating(to) ? Values::positive : Values::any;
      for (int round = 0; round < (a == b ? 8 : 1) * rounds; ++round) {
        const Dims shape = random_shape(50000);
        const bool plain = chance(0.25);
        const View in = random_view(from, shape, {true, plain}, values);
        View out = random_view(to, shape, {false, plain}, values);
        std::ostringstream what;
        what << "copy " << from << " to " << to << " in " << text(in.layout);
        cpu::copy(in.on_host(), out.on_host());
        cuda::copy(in.on_device(), out.on_device());
        expect_same(out, what.str());
        Element e;
        e.dtype = from;
        fill_random(from, reinterpret_cast<char*>(e.bytes), 1, values);
        cpu::copy(e, out.on_host());
        cuda::copy(e, out.on_device());
        expect_same(out, "fill by " + what.str());
      }
    }
    // Memory that is not aligned to its items.
    const DType d = static_cast<DType>(a);
    View in = random_view(d, {50, 30}, {false, true}, Values::any), out = in;
    out.device = cuda::allocate(out.host.size());
    cuda::check(
        cudaMemcpy(out.device->data, out.host.data(), out.host.size(), cudaMemcpyHostToDevice),
        "upload");
    Layout part = Layout::contiguous({40, 20});
    part.strides = {1, 40};
    Operand host_in = in.on_host(), device_in = in.on_device();
    Operand host_out = out.on_host(), device_out = out.on_device();
    for (Operand* o : {&host_in, &device_in}) {
      o->layout = &part;
      ++o->data;
    }
    Layout target = Layout::contiguous({40, 20});
    host_out.layout = device_out.layout = &target;
    cpu::copy(host_in, host_out);
    cuda::copy(device_in, device_out);
    expect_same(out, "copy of unaligned " + std::string(name(d)));
    cpu::copy(host_out, host_in);
    cuda::copy(device_out, device_in);
    expect_same(in, "copy to unaligned " + std::string(name(d)));
  }
}

void check_joins(int rounds) {
  for (int d = 0; d < dtype_count; ++d) {
    const DType dtype = static_cast<DType>(d);
    for (int round = 0; round < 20 * rounds; ++round) {
      // Short behind the axis, where parts take turns in a few bytes. Once more parts than one
      // launch takes.
      const bool many = round == 0;
      Dims shape = random_shape(many ? 60 : 3000);
      for (int i = static_cast<int>(random_integer(0, 1)); i > 0; --i) {
        shape.push_back(random_integer(1, 4));
      }
      const int axis = static_cast<int>(random_integer(0, shape.size()));
      const std::int64_t count = many ? 300 : random_integer(2, 5);
      const bool plain = many || chance(0.7);
      shape.insert(axis, 1);
      std::vector<View> views;
      std::vector<Operand> host, device;
      std::int64_t length = 0;
      const std::int64_t least = chance(0.7) ? 1 : 0;
      for (int i = 0; i < count; ++i) {
        shape[axis] = least == 1 && plain ? 1 : random_integer(least, 3);
        length += shape[axis];
        views.push_back(random_view(dtype, shape, {true, plain}, Values::any));
      }
      for (const View& v : views) {
        host.push_back(v.on_host());
        device.push_back(v.on_device());
      }
      shape[axis] = length;
      View out = random_view(dtype, shape, {false, plain || chance(0.5)}, Values::any);
      std::ostringstream what;
      what << "join of " << count << " along " << axis << " to " << text(out.layout);
      cpu::join(host, axis, out.on_host());
      cuda::join(device, axis, out.on_device());
      expect_same(out, what.str());
    }
  }
}

// Runs of elements: every start of operands and output within a pack, lengths around multiples of
// packs, forwards, backwards, every second element and one for all, several rows, which may follow
// each other; what lies around the output stays.
void check_rows(int rounds) {
  const std::int64_t steps[] = {1, -1, 2, 0, 3};
  for (const DType d : {DType::int8, DType::uint16, DType::float32, DType::float64,
                        DType::complex64, DType::complex128}) {
    const auto line = [&](std::int64_t rows, std::int64_t length, std::int64_t step, bool writes) {
      View v;
      v.dtype = d;
      const std::int64_t row = length * std::max<std::int64_t>(std::abs(step), 1);
      const bool follows = chance(0.5);  // rows, from an aligned place on
      const std::int64_t pitch = row + (follows ? 0 : random_integer(0, 17));
      const std::int64_t front = follows ? 0 : random_integer(0, 17);
      v.layout = Layout::contiguous({rows, length});
      v.layout.strides = {pitch, step};
      if (!writes && chance(0.1)) v.layout.strides[0] = 0;
      v.layout.offset = front + (step < 0 ? row - 1 : 0);
      v.elements = front + rows * pitch + 5;
      v.host.resize(v.elements * itemsize(d));
      fill_random(d, v.host.data(), v.elements, Values::any);
      v.device = cuda::allocate(v.host.size());
      cuda::check(cudaMemcpy(v.device->data, v.host.data(), v.host.size(), cudaMemcpyHostToDevice),
                  "upload");
      return v;
    };
    for (int round = 0; round < 60 * rounds; ++round) {
      const std::int64_t rows = random_integer(1, chance(0.3) ? 100 : 5);
      const std::int64_t length = random_integer(1, chance(0.3) ? 20 : chance(0.2) ? 2000 : 300);
      const View x = line(rows, length, steps[random_integer(0, 4)], false);
      const View y = line(rows, length, steps[random_integer(0, 4)], false);
      View out = line(rows, length, 1, true);
      const std::string what =
          std::string(name(d)) + " rows " + text(x.layout) + ", " + text(y.layout) + " ";
      cpu::copy(x.on_host(), out.on_host());
      cuda::copy(x.on_device(), out.on_device());
      expect_same(out, "copy of " + what);
      const Operand host[] = {x.on_host(), y.on_host()}, device[] = {x.on_device(), y.on_device()};
      cpu::elementwise(Op::add, d, host, out.on_host());
      cuda::elementwise(Op::add, d, device, out.on_device());
      expect_same(out, "sum of " + what);
      View flags = random_view(DType::bool_, {rows, length}, {false, true}, Values::any);
      cpu::elementwise(Op::equal, d, host, flags.on_host());
      cuda::elementwise(Op::equal, d, device, flags.on_device());
      expect_same(flags, "equality of " + what);
      const Operand host3[] = {flags.on_host(), host[0], host[1]};
      const Operand device3[] = {flags.on_device(), device[0], device[1]};
      cpu::elementwise(Op::where, d, host3, out.on_host());
      cuda::elementwise(Op::where, d, device3, out.on_device());
      expect_same(out, "choice of " + what);
      const std::int64_t k = random_integer(-6, 310);
      const bool upper = chance(0.5);
      cpu::triangle(x.on_host(), out.on_host(), k, upper);
      cuda::triangle(x.on_device(), out.on_device(), k, upper);
      expect_same(out, "triangle of " + what);
      View wide = random_view(DType::complex128, {rows, length}, {false, true}, Values::any);
      cpu::copy(x.on_host(), wide.on_host());
      cuda::copy(x.on_device(), wide.on_device());
      expect_same(wide, "cast of " + what);
    }
  }
}

// Operands that are fastest in other dimensions than the output: every itemsize, start, pitch and
// direction, sides around those of tiles.
void check_transposed(int rounds) {
  const auto view = [](DType d, const Dims& shape, bool reorders, bool writes) {
    const int n = shape.size(), pad = chance(0.3) ? 16 : 1;
    std::vector<int> order(n);
    for (int i = 0; i < n; ++i) order[i] = i;
    if (reorders && chance(0.6)) std::swap(order[n - 1], order[n - 2]);
    if (reorders && chance(0.2)) std::shuffle(order.begin(), order.end(), generator);
    View v;
    v.dtype = d;
    v.layout = Layout::contiguous(shape);
    const std::int64_t front = random_integer(0, 20) * pad;
    std::int64_t step = 1, lowest = 0;
    for (int i = n - 1; i >= 0; --i) {
      const int axis = order[i];
      std::int64_t stride = step;
      if (!writes && chance(0.1)) {
        v.layout.strides[axis] = 0;
        continue;
      }
      step = (stride * shape[axis] + random_integer(0, 20) + pad - 1) / pad * pad;
      if (i < n - 1 && chance(0.2)) {
        lowest += stride * (shape[axis] - 1);
        stride = -stride;
      }
      v.layout.strides[axis] = stride;
    }
    v.layout.offset = front + lowest;
    v.elements = front + step + 40;
    v.host.resize(v.elements * itemsize(d));
    fill_random(d, v.host.data(), v.elements, Values::any);
    v.device = cuda::allocate(v.host.size());
    cuda::check(cudaMemcpy(v.device->data, v.host.data(), v.host.size(), cudaMemcpyHostToDevice),
                "upload");
    return v;
  };
  // Of small items as many as are worth boxes, or tiles, along sides of all lengths in all orders.
  for (const DType d : {DType::int8, DType::uint16}) {
    for (int round = 0; round < 8 * rounds; ++round) {
      const std::int64_t least = (std::int64_t{1} << (round % 4 == 0 ? 23 : 18)) / itemsize(d);
      const int n = static_cast<int>(random_integer(2, 5));
      Dims shape;
      std::int64_t items = 1;
      for (int i = 0; i < n; ++i) {
        const std::int64_t side = chance(0.3)   ? 8 * random_integer(1, 9)
                                  : chance(0.5) ? random_integer(2, 24)
                                                : random_integer(25, 150);
        shape.push_back(std::max<std::int64_t>(1, std::min(side, 2 * least / items)));
        items *= shape.back();
      }
      shape[static_cast<int>(random_integer(0, n - 1))] *= (least - 1) / items + 1;
      std::vector<int> order(n);
      for (int i = 0; i < n; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), generator);
      Dims axes, moved(n);
      for (int i = 0; i < n; ++i) {
        axes.push_back(order[i]);
        moved[order[i]] = shape[i];
      }
      const LayoutOptions plain{false, true};
      View x =
          chance(0.6) ? random_view(d, moved, plain, Values::any) : view(d, moved, false, false);
      x.layout = permute(x.layout, axes);
      View out = chance(0.6) ? random_view(d, shape, plain, Values::any)
                             : view(d, shape, chance(0.2), true);
      cpu::copy(x.on_host(), out.on_host());
      cuda::copy(x.on_device(), out.on_device());
      expect_same(out, "copy of " + std::string(name(d)) + " " + text(x.layout));
    }
  }
  for (const DType d : {DType::int8, DType::uint16, DType::float32, DType::float64,
                        DType::complex64, DType::complex128}) {
    for (int round = 0; round < 20 * rounds; ++round) {
      Dims shape;
      const std::int64_t outer = random_integer(0, 2);
      for (std::int64_t i = 0; i < outer; ++i) shape.push_back(random_integer(1, 3));
      // Bytes have several tiles along longer rows.
      const std::int64_t longest = itemsize(d) <= 2 && chance(0.5) ? 800 : 280;
      for (int i = 0; i < 2; ++i) shape.push_back(random_integer(5, longest));
      const View x = view(d, shape, true, false), y = view(d, shape, true, false);
      View out = view(d, shape, chance(0.2), true);
      const std::string what =
          std::string(name(d)) + " " + text(x.layout) + ", " + text(y.layout) + " ";
      cpu::copy(x.on_host(), out.on_host());
      cuda::copy(x.on_device(), out.on_device());
      expect_same(out, "copy of " + what);
      Element e;
      e.dtype = d;
      fill_random(d, reinterpret_cast<char*>(e.bytes), 1, Values::any);
      const bool scalar = chance(0.1);
      const Operand host[] = {x.on_host(), scalar ? Operand(e) : y.on_host()};
      const Operand device[] = {x.on_device(), scalar ? Operand(e) : y.on_device()};
      cpu::elementwise(Op::add, d, host, out.on_host());
      cuda::elementwise(Op::add, d, device, out.on_device());
      expect_same(out, "sum of " + what);
      View flags = view(DType::bool_, shape, chance(0.2), true);
      cpu::elementwise(Op::equal, d, host, flags.on_host());
      cuda::elementwise(Op::equal, d, device, flags.on_device());
      expect_same(flags, "equality of " + what);
      const Operand host3[] = {flags.on_host(), host[0], host[1]};
      const Operand device3[] = {flags.on_device(), device[0], device[1]};
      cpu::elementwise(Op::where, d, host3, out.on_host());
      cuda::elementwise(Op::where, d, device3, out.on_device());
      expect_same(out, "choice of " + what);
    }
  }
}

void check_ranges(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (int c = 0; c < dtype_count; ++c) {
      const DType d = static_cast<DType>(c);
      View out = random_view(d, {random_integer(0, 3000)}, {false, false}, Values::any);
      const auto both = [&](const std::string& what, auto&& run) {
        run(true, out.on_host());
        run(false, out.on_device());
        expect_same(out, what + " " + std::string(name(d)));
      };
      if (is_floating(d)) {
        const double a = std::uniform_real_distribution<double>(-100, 100)(generator), b = 33.3;
        const bool endpoint = chance(0.5);
        if (d != DType::float16) {
          both("linspace", [&](bool host, const Operand& o) {
            (host ? cpu::linspace : cuda::linspace)(o, {a, b}, {b, a}, endpoint);
          });
        }
        if (!is_complex(d) && d != DType::float16) {
          both("arange", [&](bool host, const Operand& o) {
            (host ? cpu::arange : cuda::arange)(o, Element::of(a), Element::of(0.1));
          });
        }
      } else if (d != DType::bool_) {
        Element start, step;
        start.dtype = step.dtype = d;
        fill_random(d, reinterpret_cast<char*>(start.bytes), 1, Values::any);
        fill_random(d, reinterpret_cast<char*>(step.bytes), 1, Values::any);
        both("arange", [&](bool host, const Operand& o) {
          (host ? cpu::arange : cuda::arange)(o, start, step);
        });
      }
      Dims shape;
      const std::int64_t batches = random_integer(0, 2);
      for (std::int64_t i = 0; i < batches; ++i) shape.push_back(random_integer(1, 4));
      shape.push_back(random_integer(0, 70));
      shape.push_back(random_integer(1, 70));
      const View in = random_view(d, shape, {true, false}, Values::any);
      View result = random_view(d, shape, {false, false}, Values::any);
      const std::int64_t k = random_integer(-80, 80);
      const bool upper = chance(0.5);
      cpu::triangle(in.on_host(), result.on_host(), k, upper);
      cuda::triangle(in.on_device(), result.on_device(), k, upper);
      expect_same(result, "triangle " + std::to_string(k) + " of " + text(in.layout));
    }
  }
}

// More than 2^31 elements: every way of the loops, checked by what another one finds.
void check_large() {
  const std::int64_t n = (std::int64_t{1} << 31) + 12345;
  const auto array = [](DType d, const Dims& shape) {
    Array a;
    a.dtype = d;
    a.layout = Layout::contiguous(shape);
    a.storage = cuda::allocate(a.layout.size * itemsize(d));
    return a;
  };
  const auto byte = [](const Array& a, std::int64_t i) {
    unsigned char x;
    cuda::check(cudaMemcpy(&x, a.data() + i, 1, cudaMemcpyDeviceToHost), "download");
    return int(x);
  };
  Array x = array(DType::uint8, {n}), y = array(DType::uint8, {n});
  cuda::arange(x, Element::of(std::uint8_t{3}), Element::of(std::uint8_t{7}));
  const auto value = [](std::int64_t i) { return int((3 + 7 * i) & 255); };
  const std::int64_t places[] = {0,    1, n / 2, (std::int64_t{1} << 31) - 1, std::int64_t{1} << 31,
                                 n - 1};
  for (const std::int64_t i : places) expect(byte(x, i) == value(i), "large arange");
  const Element five = Element::of(std::uint8_t{5});
  const Operand both[] = {Operand(x), Operand(five)};
  cuda::elementwise(Op::add, DType::uint8, both, y);
  for (const std::int64_t i : places) expect(byte(y, i) == ((value(i) + 5) & 255), "large add");
  // Backwards, element by element.
  Layout backwards = x.layout;
  backwards.strides[0] = -1;
  backwards.offset = n - 1;
  cuda::copy(x.with(backwards), y);
  for (const std::int64_t i : places) expect(byte(y, i) == value(n - 1 - i), "large flip");
  // Transposed.
  const std::int64_t rows = 46345, columns = 46342;
  Array m = array(DType::uint8, {rows * columns}), t = array(DType::uint8, {columns, rows});
  cuda::arange(m, Element::of(std::uint8_t{3}), Element::of(std::uint8_t{7}));
  Layout turned = Layout::contiguous({columns, rows});
  turned.strides = {1, columns};
  cuda::copy(m.with(turned), t);
  for (int k = 0; k < 50; ++k) {
    const std::int64_t i = random_integer(0, columns - 1), j = random_integer(0, rows - 1);
    expect(byte(t, i * rows + j) == value(j * columns + i), "large transpose");
  }
  const Array triangle = array(DType::uint8, {rows, columns});
  cuda::triangle(m.with(Layout::contiguous({rows, columns})), triangle, 7, true);
  for (int k = 0; k < 200; ++k) {
    const std::int64_t i = random_integer(0, rows - 1), j = random_integer(0, columns - 1);
    expect(byte(triangle, i * columns + j) == (j - i >= 7 ? value(i * columns + j) : 0),
           "large triangle");
  }
}

}  // namespace arrayx::testing
