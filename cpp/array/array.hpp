// Array = Storage + Layout + DType: a cheap value type. Views share their storage.
#pragma once

#include "dtype.hpp"
#include "layout.hpp"
#include "storage.hpp"

namespace arrayx {

struct Array {
  StorageRef storage;
  Layout layout;
  DType dtype = DType::float64;

  // Not an aggregate: those are zeroed before their members are set, which takes longer than that.
  Array() {}
  Array(StorageRef storage, const Layout& layout, DType dtype)
      : storage(std::move(storage)), layout(layout), dtype(dtype) {}
  // Row-major, without storage yet; the layout is made in its place.
  Array(const Dims& shape, DType dtype) : layout(Layout::contiguous(shape)), dtype(dtype) {}

  int ndim() const { return layout.ndim(); }
  const Dims& shape() const { return layout.shape; }
  const Dims& strides() const { return layout.strides; }
  std::int64_t size() const { return layout.size; }
  int itemsize() const { return arrayx::itemsize(dtype); }
  std::int64_t nbytes() const { return size() * itemsize(); }
  Device device() const { return storage->device; }
  bool writable() const { return storage->writable; }

  // Address of the first element.
  char* data() const {
    return static_cast<char*>(storage->data) + layout.offset * arrayx::itemsize(dtype);
  }
  // For host arrays whose dtype is known.
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }
  Array with(const Layout& view) const { return Array{storage, view, dtype}; }
};

// Whether writing `a` may change what is read through `b`.
inline bool may_overlap(const Array& a, const Array& b) {
  if (a.storage->device.type != b.storage->device.type) return false;
  if (a.size() == 0 || b.size() == 0) return false;
  std::int64_t al, ah, bl, bh;
  a.layout.span(al, ah);
  b.layout.span(bl, bh);
  const char* a0 = static_cast<const char*>(a.storage->data);
  const char* b0 = static_cast<const char*>(b.storage->data);
  return a0 + al * a.itemsize() < b0 + (bh + 1) * b.itemsize() &&
         b0 + bl * b.itemsize() < a0 + (ah + 1) * a.itemsize();
}

// Whether the two are one view: element i of one is element i of the other.
inline bool same_view(const Array& a, const Array& b) {
  return a.data() == b.data() && a.dtype == b.dtype && a.shape() == b.shape() &&
         a.strides() == b.strides();
}

}  // namespace arrayx
