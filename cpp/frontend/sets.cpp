// Everything here is made of the engines' sorts, comparisons and gathers.
#include "sets.hpp"

#include <limits>

namespace arrayx {

namespace {

// Up to this many values, comparing with each is faster than a sort and a search.
constexpr std::int64_t few_values = 4;
// The same for more than a few elements, of so many bytes at most, which caches of a CPU hold.
constexpr std::int64_t few_cached_values = 16, few_elements = 1024, cached_bytes = 8 << 20;

Array one_dimensional(const Array& x) {
  const Array row_major = contiguous(x);
  return row_major.with([&] {
    Layout flat = Layout::contiguous({row_major.size()});
    flat.offset = row_major.layout.offset;
    return flat;
  }());
}

Array part(const Array& x, std::int64_t first, std::int64_t count) {
  return x.with(slice_axis(x.layout, 0, first, 1, count));
}

// The elements of a one-dimensional x at `positions`, which are in bounds.
Array pick(const Array& x, const Array& positions) {
  const Array out = empty(positions.shape(), x.dtype, x.device());
  Layout first;
  first.offset = x.layout.offset;
  if (out.size() > 0) backend_of(x).gather(x.with(first), positions, out);
  return out;
}

void apply(Op op, DType dtype, const Operand& a, const Operand& b, const Array& out) {
  const Operand operands[] = {a, b};
  if (out.size() > 0) backend_of(out).elementwise(op, compute_dtype(dtype), operands, out);
}

void invert_in_place(const Array& flags) {
  const Operand operands[] = {flags};
  if (flags.size() > 0)
    backend_of(flags).elementwise(Op::logical_not, DType::bool_, operands, flags);
}

// The runs of equal elements in sorted order.
struct Runs {
  Array sorted;  // the elements in order
  Array order;   // their positions in x; only with want_order
  Array flags;   // whether a run starts here
  std::int64_t count;
};

Runs runs_of(const Array& flat, bool want_order) {
  const std::int64_t n = flat.size();
  Backend& engine = backend_of(flat);
  Runs r;
  if (want_order) {
    r.order = empty({n}, index_dtype, flat.device());
    if (n > 0) engine.argsort(flat, 0, false, r.order);
    r.sorted = pick(flat, r.order);
  } else {
    r.sorted = empty({n}, flat.dtype, flat.device());
    if (n > 0) engine.sort(flat, 0, false, r.sorted);
  }
  r.flags = empty({n}, DType::bool_, flat.device());
  if (n > 0) {
    fill(part(r.flags, 0, 1), Element::of(true));
    apply(Op::not_equal, flat.dtype, part(r.sorted, 1, n - 1), part(r.sorted, 0, n - 1),
          part(r.flags, 1, n - 1));
  }
  r.count = n > 0 ? engine.count_nonzero(r.flags) : 0;
  return r;
}

// Where each run starts.
Array starts_of(const Runs& r) {
  const Array starts = empty({r.count}, index_dtype, r.flags.device());
  const Operand column[] = {starts};
  if (r.count > 0) backend_of(starts).nonzero(r.flags, column);
  return starts;
}

Array counts_of(const Runs& r, const Array& starts) {
  const std::int64_t count = r.count;
  const Array counts = empty({count}, index_dtype, starts.device());
  if (count == 0) return counts;
  const Element end = Element::of(r.flags.size());
  apply(Op::subtract, index_dtype, part(starts, 1, count - 1), part(starts, 0, count - 1),
        part(counts, 0, count - 1));
  apply(Op::subtract, index_dtype, end, part(starts, count - 1, 1), part(counts, count - 1, 1));
  return counts;
}

Array inverse_of(const Runs& r, const Dims& shape) {
  const Array inverse = empty(shape, index_dtype, r.flags.device());
  if (inverse.size() == 0) return inverse;
  Backend& engine = backend_of(inverse);
  // The number of run starts up to an element, the first one left out, is its run.
  fill(part(r.flags, 0, 1), Element::of(false));
  const Array flags = astype(r.flags, index_dtype, true);
  const Array run = empty(flags.shape(), index_dtype, flags.device());
  engine.scan(false, flags, 0, false, run);
  engine.scatter(run, r.order, {0, inverse.size() - 1, 1, true}, inverse.with(Layout()));
  return inverse;
}

Unique find_unique(const Array& x, bool indices, bool inverse, bool counts) {
  const Array flat = one_dimensional(x);
  Unique u;
  if (flat.size() > 0 && backend_of(x).unique(flat, indices, inverse, counts, u)) {
    if (inverse) u.inverse = u.inverse.with(Layout::contiguous(x.shape()));
    return u;
  }
  const Runs r = runs_of(flat, indices || inverse);
  if (r.count == flat.size()) {  // each its own run
    u.values = r.sorted;
    if (indices) u.indices = r.order;
    if (counts) u.counts = full({r.count}, Element::of(std::int64_t{1}), flat.device());
  } else {
    u.values = empty({r.count}, flat.dtype, flat.device());
    const bool more = indices || counts;
    if (more || !backend_of(flat).compress(r.sorted, r.flags, u.values)) {
      const Array starts = starts_of(r);
      u.values = pick(r.sorted, starts);
      if (indices) u.indices = pick(r.order, starts);
      if (counts) u.counts = counts_of(r, starts);
    }
  }
  if (inverse) u.inverse = inverse_of(r, x.shape());  // the last: it changes the flags
  return u;
}

// Whether integers are among `sorted`, by a table of what is between the least and the greatest of
// those; nothing where that would be larger than the arrays.
std::optional<Array> found_by_table(const Array& elements, const Array& sorted) {
  const std::int64_t n = sorted.size();
  const Device device = sorted.device();
  const Element least = item(part(sorted, 0, 1)), greatest = item(part(sorted, n - 1, 1));
  return dispatch(sorted.dtype, [&](auto example) -> std::optional<Array> {
    using T = decltype(example);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      // With a place at either end for all that is beyond.
      T low = least.as<T>(), high = greatest.as<T>();
      if (low > std::numeric_limits<T>::min()) --low;
      if (high < std::numeric_limits<T>::max()) ++high;
      const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
      if (span >= static_cast<std::uint64_t>(4 * (elements.size() + n))) return std::nullopt;
      using Wide = std::conditional_t<sizeof(T) == 8, T, std::int64_t>;
      const Element first = Element::of(static_cast<Wide>(low));
      const Array table = full({static_cast<std::int64_t>(span) + 1}, Element::of(false), device);
      const Element ends[] = {Element::of(low), Element::of(high)};
      // Clipped on both sides, since values to which another thread writes while they are sorted
      // need not be between the first and the last.
      const auto places_of = [&](const Array& a, const Array& inside) {
        const Operand operands[] = {a, ends[0], ends[1]};
        backend(device).elementwise(Op::clip, a.dtype, operands, inside);
        const Array places = empty(a.shape(), index_dtype, device);
        apply(Op::subtract, first.dtype, inside, first, places);
        return places;
      };
      const OffsetRange range{0, table.size() - 1, 1, true};
      backend(device).scatter(Element::of(true), places_of(sorted, sorted), range,
                              table.with(Layout()));
      return pick(table, places_of(elements, empty(elements.shape(), elements.dtype, device)));
    } else {
      return std::nullopt;
    }
  });
}

}  // namespace

std::tuple<Array, Array, Array, Array> unique_all(const Array& x) {
  Unique u = find_unique(x, true, true, true);
  return {std::move(u.values), std::move(u.indices), std::move(u.inverse), std::move(u.counts)};
}

std::tuple<Array, Array> unique_counts(const Array& x) {
  Unique u = find_unique(x, false, false, true);
  return {std::move(u.values), std::move(u.counts)};
}

std::tuple<Array, Array> unique_inverse(const Array& x) {
  Unique u = find_unique(x, false, true, false);
  return {std::move(u.values), std::move(u.inverse)};
}

Array unique_values(const Array& x) {
  return find_unique(x, false, false, false).values;
}

Array isin(const Value& x1, const Value& x2, bool invert) {
  const Array* a = std::get_if<Array>(&x1);
  const Array* b = std::get_if<Array>(&x2);
  if (!a && !b) {
    type_error("isin: at least one argument must be an array, not ", describe(x1), " and ",
               describe(x2));
  }
  const Value both[] = {x1, x2};
  const DType dtype = result_type(both);
  const Device device = (a ? *a : *b).device();
  const auto as_array = [&](const Value& v) {
    const Array* array = std::get_if<Array>(&v);
    return computable(array ? *array : scalar_array(to_element(std::get<Scalar>(v), dtype), device),
                      dtype);
  };
  if (a && b) check_same_device(*a, *b);
  const Array looked_for = as_array(x1), values = one_dimensional(as_array(x2));
  const MemoryOrder order(looked_for);
  const Array elements = order.of(looked_for);
  const std::int64_t n = values.size();
  const Array out = empty(elements.shape(), DType::bool_, device);
  Backend& engine = backend(device);
  const auto repeated = [](const Array& one, const Dims& shape) {
    return one.with(broadcast_to(one.layout, shape));
  };
  if (elements.size() == 1) {
    const Array equal = empty(values.shape(), DType::bool_, device);
    apply(Op::equal, dtype, values,
          elements.with(broadcast_to(one_dimensional(elements).layout, values.shape())), equal);
    const bool found = n > 0 && engine.count_nonzero(equal) > 0;
    fill(out, Element::of(found != invert));
    return order.undo(out);
  }
  const bool cached = device.type == DeviceType::cpu && elements.size() >= few_elements &&
                      elements.nbytes() <= cached_bytes;
  if (n <= (cached ? few_cached_values : few_values)) {
    if (n == 0) fill(out, Element::of(false));
    Array equal = out;
    const Array read = n > 1 ? contiguous(elements) : elements;  // so often
    for (std::int64_t i = 0; i < n; ++i) {
      apply(Op::equal, dtype, read, repeated(part(values, i, 1), elements.shape()), equal);
      if (i > 0) apply(Op::logical_or, DType::bool_, out, equal, out);
      if (i == 0 && n > 1) equal = empty(elements.shape(), DType::bool_, device);
    }
  } else {
    const Array sorted = empty({n}, values.dtype, device);
    engine.sort(values, 0, false, sorted);
    if (elements.size() > 0) {
      if (engine.isin(elements, sorted, invert, out)) return order.undo(out);
      if (const std::optional<Array> found = found_by_table(elements, sorted)) {
        if (invert) invert_in_place(*found);
        return order.undo(*found);
      }
    }
    const Array places = empty(elements.shape(), index_dtype, device);
    if (places.size() > 0) {
      engine.searchsorted(sorted, nullptr, elements, false, places);
      const Element last = Element::of(n - 1);
      apply(Op::minimum, index_dtype, places, last, places);
    }
    const Array nearest = pick(sorted, places);
    apply(Op::equal, dtype, elements, nearest, out);
  }
  if (invert) invert_in_place(out);
  return order.undo(out);
}

}  // namespace arrayx
