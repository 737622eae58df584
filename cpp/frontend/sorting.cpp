#include "sorting.hpp"

namespace arrayx {

Array sort(const Array& x, std::int64_t axis, bool descending) {
  const int a = normalize_axis(axis, x.ndim());
  if (x.shape()[a] <= 1) return astype(x, x.dtype, true);
  const Array out = empty_like_layout(x, x.dtype);
  if (x.size() > 0) backend_of(x).sort(x, a, descending, out);
  return out;
}

Array argsort(const Array& x, std::int64_t axis, bool descending) {
  const int a = normalize_axis(axis, x.ndim());
  const Array out = empty_like_layout(x, index_dtype);
  if (x.shape()[a] == 1) {
    fill(out, Element::of(std::int64_t{0}));
  } else if (x.size() > 0) {
    backend_of(x).argsort(x, a, descending, out);
  }
  return out;
}

}  // namespace arrayx
