// Exchange of memory with other libraries: DLPack 1.x, the buffer protocol and, for GPUs,
// __cuda_array_interface__, each both ways, and NumPy's __array__. Foreign memory is held by the
// deleter of the Storage around it.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../frontend/manipulation.hpp"
#include "define.hpp"

namespace arrayx::python {

namespace {

// ---- DLPack's structures, as its C header (version 1.x) lays them out -------------------------

namespace dlpack {

constexpr std::uint32_t major_version = 1, minor_version = 0;
constexpr std::uint64_t read_only = 1, is_copied = 2;  // bits of `flags`
// Device types whose memory the CPU can use, and those of GPUs.
constexpr std::int32_t cpu = 1, cuda_host = 3, cuda = 2, cuda_managed = 13;

struct Device {
  std::int32_t type;
  std::int32_t id;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null means row-major
  std::uint64_t byte_offset;
};
struct Managed {
  static constexpr const char* name = "dltensor";
  static constexpr const char* used_name = "used_dltensor";
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  static constexpr const char* name = "dltensor_versioned";
  static constexpr const char* used_name = "used_dltensor_versioned";
  struct {
    std::uint32_t major, minor;
  } version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace dlpack

int alignment_of(DType d) {
  return is_complex(d) ? itemsize(d) / 2 : itemsize(d);
}

// Runs f with the GIL held; does nothing while the interpreter is shutting down, when what f would
// free is about to go anyway.
template <class F>
void with_gil(F&& f) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  f();
  PyGILState_Release(state);
}

// Foreign memory: its layout in bytes.
struct ForeignView {
  Device device;
  char* data = nullptr;  // the first element
  Dims shape;
  Dims strides;  // bytes
  DType dtype = DType::float64;
};

// Why the core cannot use foreign memory as it is; null when it can.
const char* obstacle(const ForeignView& view) {
  if (reinterpret_cast<std::uintptr_t>(view.data) % alignment_of(view.dtype) != 0) {
    return "its memory is not aligned to its dtype";
  }
  for (int i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] % itemsize(view.dtype) != 0) {
      return "its strides are not multiples of its itemsize";
    }
  }
  return nullptr;
}

// Copies elements from any strides in bytes to row-major memory.
void copy_bytes(char*& out, const char* in, const ForeignView& view, int axis) {
  if (axis == view.shape.size()) {
    std::memcpy(out, in, itemsize(view.dtype));
    out += itemsize(view.dtype);
    return;
  }
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    copy_bytes(out, in + i * view.strides[axis], view, axis + 1);
  }
}

// Of memory on the host.
Array copied(const ForeignView& view) {
  Array out = empty(view.shape, view.dtype, Device{});
  char* to = out.data();
  if (out.size() > 0) copy_bytes(to, view.data, view, 0);
  return out;
}

// An Array over foreign memory that `deleter` lets go; view has no obstacle.
Array shared(const ForeignView& view, bool writable, void (*deleter)(Storage*), void* context) {
  Array out;
  out.dtype = view.dtype;
  out.layout.shape = view.shape;
  out.layout.size = checked_size(view.shape);
  out.layout.strides = Dims(view.shape.size(), 0);
  const int size = itemsize(view.dtype);
  for (int i = 0; i < view.shape.size(); ++i) {
    // A stride that is never taken may be anything; row-major ones are as good as any.
    out.layout.strides[i] = view.shape[i] > 1 ? view.strides[i] / size : 1;
  }
  std::int64_t lowest = 0, highest = -1;
  if (out.size() > 0) out.layout.span(lowest, highest);
  auto* storage = new Storage;
  storage->data = view.data + lowest * size;
  storage->bytes = static_cast<std::size_t>((highest - lowest + 1) * size);
  storage->device = view.device;
  storage->writable = writable;
  storage->deleter = deleter;
  storage->context = context;
  out.layout.offset = -lowest;
  out.storage = StorageRef(storage);
  return out;
}

// ---- the buffer protocol, in ------------------------------------------------------------------

// The dtype of a struct-module format with items of `itemsize` bytes. The itemsize, not the letter,
// says how wide an integer is, since native and standard sizes differ.
DType dtype_of_format(const char* format, Py_ssize_t size) {
  const char* const given = format ? format : "B";
  const char* text = given;
  const unsigned probe = 1;
  const bool little = reinterpret_cast<const unsigned char&>(probe) == 1;
  bool native = true;
  if (*text && std::strchr("@=<>!", *text)) {
    if (*text == '<') native = little;
    if (*text == '>' || *text == '!') native = !little;
    ++text;
  }
  Kind wanted = Kind::bool_;
  bool known = *text != '\0';
  int letters = 1;
  switch (*text) {
    case '?':
      wanted = Kind::bool_;
      break;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      wanted = Kind::signed_;
      break;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      wanted = Kind::unsigned_;
      break;
    case 'e':
    case 'f':
    case 'd':
      wanted = Kind::real;
      break;
    case 'F':
    case 'D':
      wanted = Kind::complex;
      break;
    case 'Z':
      wanted = Kind::complex;
      known = text[1] == 'f' || text[1] == 'd';
      letters = 2;
      break;
    default:
      known = false;
  }
  if (known && text[letters] == '\0') {
    for (const DTypeInfo& row : dtype_table) {
      if (row.kind != wanted || row.itemsize != size) continue;
      if (!native && size > 1) {
        type_error("the buffer's elements (format '", given,
                   "') are of foreign byte order, which arrayx does not have");
      }
      return row.dtype;
    }
  }
  type_error("no dtype of arrayx matches the buffer's elements, format '", given, "' with ", size,
             " bytes each");
}

struct BufferHolder {
  Py_buffer view{};
  bool held = false;
  BufferHolder() = default;
  BufferHolder(const BufferHolder&) = delete;
  BufferHolder& operator=(const BufferHolder&) = delete;
  ~BufferHolder() {
    if (held) PyBuffer_Release(&view);
  }
};

void release_buffer(Storage* storage) {
  with_gil([&] { delete static_cast<BufferHolder*>(storage->context); });
  delete storage;
}

}  // namespace

Array from_buffer(PyObject* object, bool may_copy) {
  auto holder = std::make_unique<BufferHolder>();
  if (PyObject_GetBuffer(object, &holder->view, PyBUF_RECORDS_RO) < 0) throw PythonError{};
  holder->held = true;
  const Py_buffer& buffer = holder->view;
  ForeignView view;
  view.dtype = dtype_of_format(buffer.format, buffer.itemsize);
  view.data = static_cast<char*>(buffer.buf);
  if (buffer.shape) {
    view.shape.assign(buffer.shape, buffer.shape + buffer.ndim);
  } else if (buffer.ndim > 0) {
    view.shape.push_back(buffer.len / buffer.itemsize);
  }
  if (buffer.strides) {
    view.strides.assign(buffer.strides, buffer.strides + buffer.ndim);
  } else {  // ctypes leaves them out although they are asked for
    view.strides = Layout::contiguous(view.shape).strides;
    for (std::int64_t& stride : view.strides) stride *= buffer.itemsize;
  }
  // Zero-size views may point anywhere, so nothing is shared; NumPy's scalars export read-only
  // memory of rank 0, which is better copied than kept unwritable.
  const bool tiny = checked_size(view.shape) == 0 || (buffer.ndim == 0 && buffer.readonly);
  if (const char* reason = obstacle(view)) {
    if (!may_copy) value_error("the buffer cannot be used without a copy: ", reason);
    return copied(view);
  }
  if (tiny && may_copy) return copied(view);
  Array out = shared(view, !buffer.readonly, release_buffer, holder.get());
  holder.release();
  return out;
}

namespace {

// ---- the buffer protocol, out -----------------------------------------------------------------

// What asks for host memory is told that copies between devices are not made unasked.
[[noreturn]] void refuse_host_access(const Array& x) {
  type_error("an array on ", x.device(),
             " has no memory that the CPU can read; use to_device('cpu') first");
}

bool is_column_major(const Layout& layout) {
  std::int64_t step = 1;
  for (int i = 0; i < layout.ndim() && layout.size > 1; ++i) {
    if (layout.shape[i] != 1 && layout.strides[i] != step) return false;
    step *= layout.shape[i];
  }
  return true;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    view->obj = nullptr;
    const Array& x = array_of(self);
    const auto refuse = [](const auto&... parts) { raise(ErrorKind::buffer, parts...); };
    if (x.device().type != DeviceType::cpu) refuse_host_access(x);
    const bool readonly = !x.writable() || x.layout.has_repeats();
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && readonly) refuse("the array is read-only");
    const bool row_major = x.layout.is_contiguous();
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !row_major) {
      refuse("the array is not contiguous in row-major order");
    }
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !is_column_major(x.layout)) {
      refuse("the array is not contiguous in column-major order");
    }
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !row_major &&
        !is_column_major(x.layout)) {
      refuse("the array is not contiguous");
    }
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!wants_strides && !row_major) {
      refuse("the array is not contiguous, and a buffer without strides was asked for");
    }
    // The shape of an Array never changes, so the view points into the object it holds.
    auto* strides = new Py_ssize_t[x.ndim() + 1];
    for (int i = 0; i < x.ndim(); ++i) strides[i] = x.strides()[i] * x.itemsize();
    view->buf = x.data();
    view->len = x.nbytes();
    view->itemsize = x.itemsize();
    view->readonly = readonly;
    view->ndim = x.ndim();
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT
                       ? const_cast<char*>(info(x.dtype).buffer_format)
                       : nullptr;
    static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
    view->shape = (flags & PyBUF_ND) == PyBUF_ND
                      ? reinterpret_cast<Py_ssize_t*>(const_cast<std::int64_t*>(x.shape().data()))
                      : nullptr;
    view->strides = wants_strides ? strides : nullptr;
    view->suboffsets = nullptr;
    view->internal = strides;
    view->obj = Py_NewRef(self);
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

void release_exported(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

// ---- DLPack, out ------------------------------------------------------------------------------

// A managed tensor and the array whose memory and shape it shows.
template <class M>
struct Exported {
  M managed{};
  Array array;
};

// The capsule was never consumed: its tensor is ours to delete.
template <class M>
void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, M::name)) return;
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, M::name));
  if (managed->deleter) managed->deleter(managed);
}

template <class M>
PyObject* make_capsule(Array array, Device device, std::uint64_t flags) {
  auto exported = std::make_unique<Exported<M>>();
  exported->array = std::move(array);
  const Array& x = exported->array;
  M& managed = exported->managed;
  const DTypeInfo& row = info(x.dtype);
  managed.tensor.data = x.data();
  managed.tensor.device = {static_cast<std::int32_t>(device.type), device.index};
  managed.tensor.ndim = x.ndim();
  managed.tensor.dtype = {row.dlpack_code, static_cast<std::uint8_t>(8 * row.itemsize), 1};
  managed.tensor.shape = const_cast<std::int64_t*>(x.shape().data());
  managed.tensor.strides = const_cast<std::int64_t*>(x.strides().data());
  managed.tensor.byte_offset = 0;
  managed.context = exported.get();
  managed.deleter = [](M* self) { delete static_cast<Exported<M>*>(self->context); };
  if constexpr (std::is_same_v<M, dlpack::ManagedVersioned>) {
    managed.version = {dlpack::major_version, dlpack::minor_version};
    managed.flags = flags;
  }
  PyObject* capsule = PyCapsule_New(&managed, M::name, destroy_capsule<M>);
  if (!capsule) throw PythonError{};
  exported.release();
  return capsule;
}

// The handle of a CUDA stream: 1 and 2 are the default streams, 0 could be either.
std::uintptr_t stream_from(PyObject* object) {
  std::int64_t stream;
  if (!int64_from(object, stream)) {
    type_error("a CUDA stream is named by an int, not ", type_name(object));
  }
  if (stream <= 0) {
    value_error("stream must be 1, 2 or the handle of a CUDA stream, or -1, not ", stream);
  }
  return static_cast<std::uintptr_t>(stream);
}

// Has the consumer's stream wait for what has been done to x; -1 means that it takes care itself.
void let_wait(const Array& x, PyObject* stream) {
  if (x.device().type == DeviceType::cpu) {
    value_error("stream must be None: the CPU has no streams");
  }
  std::int64_t number;
  if (int64_from(stream, number) && number == -1) return;
  backend_of(x).let_wait(stream_from(stream));
}

// A pair of ints, or of what int() takes, such as members of an enum.
bool int_pair(PyObject* object, long& first, long& second) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  if (PySequence_Size(object) != 2) return false;
  long* const out[] = {&first, &second};
  for (int i = 0; i < 2; ++i) {
    const Ref item = checked(PySequence_GetItem(object, i));
    Ref number(PyNumber_Long(item.get()));
    if (!number) {
      PyErr_Clear();
      const Ref value = find_attribute(item.get(), "value");
      if (!value || !PyLong_Check(value.get())) return false;
      number = Ref(Py_NewRef(value.get()));
    }
    *out[i] = PyLong_AsLong(number.get());
    if (*out[i] == -1 && PyErr_Occurred()) throw PythonError{};
  }
  return true;
}

}  // namespace

PyObject* array_dlpack(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  try {
    PyObject* given[4];
    keyword_arguments("__dlpack__", args, count, names,
                      {"stream", "max_version", "dl_device", "copy"}, given);
    const auto [stream, max_version, dl_device, copy_argument] = given;
    Array x = array_of(self);
    const std::optional<bool> wants_copy = optional_bool(copy_argument);
    if (stream && stream != Py_None) let_wait(x, stream);
    long major = 0, minor = 0;
    if (max_version && max_version != Py_None && !int_pair(max_version, major, minor)) {
      type_error("max_version is a tuple (major, minor) or None, not ", type_name(max_version));
    }
    bool is_copy = false;
    Device device = x.device();
    if (dl_device && dl_device != Py_None) {
      long type, id;
      if (!int_pair(dl_device, type, id)) {
        type_error("dl_device is a tuple (device type, device id) or None, not ",
                   type_name(dl_device));
      }
      if (type != static_cast<long>(device.type) || id != device.index) {
        if (type != dlpack::cpu) {
          raise(ErrorKind::buffer, "cannot export an array on ", device, " to DLPack's device (",
                type, ", ", id, ")");
        }
        if (device.type != DeviceType::cpu) {
          if (wants_copy != false) {
            x = astype(x, x.dtype, false, Device{});
            is_copy = true;
          } else if (!backend(device).share_with_host(*x.storage.get())) {
            raise(ErrorKind::buffer, "the CPU cannot use the memory of an array on ", device,
                  x.storage->lent ? ", whose address others know," : "",
                  " without a copy, and copy is False");
          }
          device = Device{};
        }
      }
    }
    if (wants_copy == true && !is_copy) {
      x = copy(x);
      is_copy = true;
    }
    if (!is_copy) x.storage->lent = true;
    if (major >= 1) {
      const std::uint64_t flags =
          (x.writable() ? 0 : dlpack::read_only) | (is_copy ? dlpack::is_copied : 0);
      return make_capsule<dlpack::ManagedVersioned>(std::move(x), device, flags);
    }
    if (!x.writable()) {
      raise(ErrorKind::buffer,
            "a read-only array cannot be exported by DLPack before version 1.0, which has no "
            "read-only flag: pass max_version=(1, 0) or copy=True");
    }
    return make_capsule<dlpack::Managed>(std::move(x), device, 0);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyObject* array_dlpack_device(PyObject* self, PyObject*) {
  const Device device = array_of(self).device();
  return Py_BuildValue("(ii)", static_cast<int>(device.type), static_cast<int>(device.index));
}

namespace {

// ---- DLPack, in -------------------------------------------------------------------------------

DType dtype_of_dlpack(dlpack::DataType type) {
  if (type.lanes == 1) {
    for (const DTypeInfo& row : dtype_table) {
      if (row.dlpack_code == type.code && 8 * row.itemsize == type.bits) return row.dtype;
    }
  }
  constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  raise(ErrorKind::buffer, "DLPack's dtype ",
        type.code < std::size(names) ? std::string(names[type.code])
                                     : "with code " + std::to_string(type.code) + " and bits ",
        static_cast<int>(type.bits), type.lanes == 1 ? "" : " with several lanes",
        " has no counterpart in arrayx");
}

template <class M>
void release_managed(Storage* storage) {
  auto* managed = static_cast<M*>(storage->context);
  if (managed->deleter) {
    with_gil([&] { managed->deleter(managed); });
  }
  delete storage;
}

// Our name of one of DLPack's devices; false for those whose memory no engine can use.
bool usable_device(long type, long id, Device& out) {
  if (type == dlpack::cpu || type == dlpack::cuda_host) {
    out = {};
    return true;
  }
  out = {DeviceType::cuda, static_cast<std::int32_t>(id)};
  return type == dlpack::cuda || type == dlpack::cuda_managed;
}

// The array in a capsule, which is consumed even when the array cannot be used.
template <class M>
Array consume(PyObject* capsule, std::optional<bool> wants_copy) {
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule, M::name));
  if (!managed || PyCapsule_SetName(capsule, M::used_name) < 0) throw PythonError{};
  const auto release = [](M* m) {
    if (m->deleter) m->deleter(m);
  };
  std::unique_ptr<M, decltype(release)> owner(managed, release);
  bool writable = true, is_copy = false;
  if constexpr (std::is_same_v<M, dlpack::ManagedVersioned>) {
    if (managed->version.major != dlpack::major_version) {
      raise(ErrorKind::buffer, "the producer made a DLPack capsule of version ",
            managed->version.major, ".", managed->version.minor, "; versions 0 and 1 are known");
    }
    writable = !(managed->flags & dlpack::read_only);
    is_copy = managed->flags & dlpack::is_copied;
  }
  const dlpack::Tensor& tensor = managed->tensor;
  ForeignView view;
  if (!usable_device(tensor.device.type, tensor.device.id, view.device)) {
    raise(ErrorKind::buffer, "the producer's memory is on DLPack's device (", tensor.device.type,
          ", ", tensor.device.id, "), which arrayx cannot use");
  }
  view.dtype = dtype_of_dlpack(tensor.dtype);
  view.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  check_shape(view.shape);
  const Layout row_major = Layout::contiguous(view.shape);
  view.strides = row_major.strides;
  if (tensor.strides) view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  for (std::int64_t& stride : view.strides) stride *= itemsize(view.dtype);
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (row_major.size == 0) view.data = nullptr;
  const bool on_host = view.device == Device{};
  if (wants_copy == true && !is_copy && on_host) return copied(view);
  if (const char* reason = obstacle(view)) {
    if (wants_copy == false || !on_host) {
      raise(ErrorKind::buffer, "the producer's memory cannot be used without a copy: ", reason);
    }
    return copied(view);
  }
  Array out = shared(view, writable, release_managed<M>, managed);
  owner.release();
  return wants_copy == true && !is_copy ? copy(out) : out;
}

}  // namespace

Array from_dlpack(PyObject* object, std::optional<Device> device, std::optional<bool> wants_copy) {
  if (device) backend(*device);  // refuses devices that do not exist here
  static PyObject* const where = PyUnicode_InternFromString("__dlpack_device__");
  const Ref location = checked(PyObject_CallMethodNoArgs(object, where));
  long type, id;
  if (!int_pair(location.get(), type, id)) {
    type_error("__dlpack_device__() of ", type_name(object), " did not return a pair of ints");
  }
  // Where the memory stays; what no engine can use is brought to the CPU by its producer.
  Device source;
  std::string obstacle;
  if (!usable_device(type, id, source)) {
    obstacle = "which arrayx cannot use";
  } else {
    try {
      backend(source);
    } catch (const Error& error) {
      obstacle = error.what();
    }
  }
  if (!obstacle.empty() && !(device && *device == Device{})) {
    raise(ErrorKind::buffer, "the object is on DLPack's device (", type, ", ", id, "), ", obstacle,
          "; pass device='cpu' to have it copied");
  }
  // So is what may not be copied.
  const bool to_host = !obstacle.empty() || (source.type == DeviceType::cuda && device &&
                                             *device == Device{} && wants_copy == false);
  const bool on_gpu = !to_host && source.type == DeviceType::cuda;
  // Made once: what every call says by keyword, and the names for each choice of them.
  static PyObject* const method = PyUnicode_InternFromString("__dlpack__");
  static PyObject* const version =
      Py_BuildValue("(ii)", dlpack::major_version, dlpack::minor_version);
  static PyObject* const cpu = Py_BuildValue("(ii)", dlpack::cpu, 0);
  static PyObject* const default_stream = PyLong_FromLong(1);  // the one that the engine uses
  static PyObject* const names[3][2] = {
      {Py_BuildValue("(s)", "max_version"), Py_BuildValue("(ss)", "max_version", "copy")},
      {Py_BuildValue("(ss)", "max_version", "dl_device"),
       Py_BuildValue("(sss)", "max_version", "dl_device", "copy")},
      {Py_BuildValue("(ss)", "max_version", "stream"),
       Py_BuildValue("(sss)", "max_version", "stream", "copy")}};
  PyObject* arguments[4] = {object, version};
  int count = 2;
  if (to_host) arguments[count++] = cpu;
  if (on_gpu) arguments[count++] = default_stream;
  // On a GPU copies are made below: CuPy makes none there.
  const bool says_copy = wants_copy && !(on_gpu && *wants_copy);
  if (says_copy) arguments[count++] = *wants_copy ? Py_True : Py_False;
  const int case_ = to_host ? 1 : on_gpu ? 2 : 0;
  Ref capsule(PyObject_VectorcallMethod(method, arguments, 1, names[case_][says_copy]));
  if (!capsule) {
    // A producer older than these keywords.
    if (!PyErr_ExceptionMatches(PyExc_TypeError) || to_host) throw PythonError{};
    PyErr_Clear();
    static PyObject* const only_stream = Py_BuildValue("(s)", "stream");
    PyObject* older[] = {object, default_stream};
    capsule = checked(PyObject_VectorcallMethod(method, older, 1, on_gpu ? only_stream : nullptr));
  }
  Array out;
  if (PyCapsule_IsValid(capsule.get(), dlpack::ManagedVersioned::name)) {
    out = consume<dlpack::ManagedVersioned>(capsule.get(), wants_copy);
  } else if (PyCapsule_IsValid(capsule.get(), dlpack::Managed::name)) {
    out = consume<dlpack::Managed>(capsule.get(), wants_copy);
  } else {
    raise(ErrorKind::buffer, "__dlpack__() of ", type_name(object),
          " did not return an unused DLPack capsule");
  }
  if (device && !(*device == out.device())) {
    if (wants_copy == false) {
      raise(ErrorKind::buffer, "an array on ", out.device(), " can reach ", *device,
            " by a copy only, and copy is False");
    }
    out = astype(out, out.dtype, false, *device);
  }
  return out;
}

// ---- __cuda_array_interface__ -------------------------------------------------------------------

PyObject* array_cuda_interface(PyObject* self, void*) {
  try {
    const Array& x = array_of(self);
    if (x.device().type != DeviceType::cuda) {
      PyErr_SetString(PyExc_AttributeError,
                      "only arrays on a CUDA device have __cuda_array_interface__");
      return nullptr;
    }
    Dims bytes = x.strides();
    for (std::int64_t& stride : bytes) stride *= x.itemsize();
    const Ref shape(to_python(x.shape()));
    const Ref strides(x.layout.is_contiguous() ? Py_NewRef(Py_None) : to_python(bytes));
    const auto address = reinterpret_cast<std::uintptr_t>(x.size() > 0 ? x.data() : nullptr);
    x.storage->lent = true;
    return Py_BuildValue(
        "{s:O,s:s#,s:(KO),s:O,s:i,s:i}", "shape", shape.get(), "typestr",
        info(x.dtype).typestring.data(), static_cast<Py_ssize_t>(info(x.dtype).typestring.size()),
        "data", static_cast<unsigned long long>(address), x.writable() ? Py_False : Py_True,
        "strides", strides.get(), "version", 3, "stream", 1);
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

namespace {

void release_object(Storage* storage) {
  with_gil([&] { Py_DECREF(static_cast<PyObject*>(storage->context)); });
  delete storage;
}

// The device whose memory an address is.
Device device_of_memory(const void* address) {
  for (Device d : devices()) {
    if (backend(d).owns(address)) return d;
  }
  raise(ErrorKind::buffer,
        "the memory that __cuda_array_interface__ names is on no device that arrayx can use");
}

}  // namespace

bool from_cuda_interface(PyObject* object, Array& out) {
  const Ref interface = find_attribute(object, "__cuda_array_interface__");
  if (!interface) return false;
  if (!PyDict_Check(interface.get())) {
    type_error("__cuda_array_interface__ of ", type_name(object), " is not a dict");
  }
  // Borrowed; null for what is absent or None.
  const auto entry = [&](const char* name) -> PyObject* {
    PyObject* value = PyDict_GetItemString(interface.get(), name);
    return value == Py_None ? nullptr : value;
  };
  if (entry("mask")) type_error("arrays with a mask have no counterpart in arrayx");
  ForeignView view;
  PyObject *const shape = entry("shape"), *const type = entry("typestr"),
                  *const data = entry("data"), *const strides = entry("strides");
  if (!shape || !type || !data || !PyUnicode_Check(type) || !PyTuple_Check(data) ||
      PyTuple_GET_SIZE(data) != 2 || !dims_from(shape, view.shape)) {
    type_error("__cuda_array_interface__ of ", type_name(object), " lacks shape, typestr or data");
  }
  const auto row = std::find_if(dtype_table.begin(), dtype_table.end(), [&](const DTypeInfo& r) {
    return PyUnicode_CompareWithASCIIString(type, std::string(r.typestring).c_str()) == 0;
  });
  if (row == dtype_table.end()) {
    const char* text = PyUnicode_AsUTF8(type);
    if (!text) throw PythonError{};
    type_error("no dtype of arrayx matches the elements, typestr '", text, "'");
  }
  view.dtype = row->dtype;
  check_shape(view.shape);
  view.data = static_cast<char*>(PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0)));
  if (!view.data && PyErr_Occurred()) throw PythonError{};
  const int writable = PyObject_Not(PyTuple_GET_ITEM(data, 1));
  if (writable < 0) throw PythonError{};
  if (!strides) {
    view.strides = Layout::contiguous(view.shape).strides;
    for (std::int64_t& stride : view.strides) stride *= itemsize(view.dtype);
  } else if (!dims_from(strides, view.strides) || view.strides.size() != view.shape.size()) {
    type_error("strides of ", type_name(object), " do not fit its shape");
  }
  if (checked_size(view.shape) == 0) {  // of no memory, nothing says on which device
    out = empty(view.shape, view.dtype, {DeviceType::cuda, 0});
    return true;
  }
  if (const char* reason = obstacle(view)) {
    raise(ErrorKind::buffer, "the memory of ", type_name(object), " cannot be used: ", reason);
  }
  view.device = device_of_memory(view.data);
  if (PyObject* stream = entry("stream")) backend(view.device).wait_for(stream_from(stream));
  out = shared(view, writable != 0, release_object, object);
  Py_INCREF(object);
  return true;
}

// ---- NumPy --------------------------------------------------------------------------------------

PyObject* array_numpy(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  try {
    if (count > 2) type_error("__array__() takes at most 2 arguments, dtype and copy");
    PyObject* given[2];
    keyword_arguments("__array__", args + count, 0, names, {"dtype", "copy"}, given);
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (given[i]) type_error("__array__() got ", i == 0 ? "dtype" : "copy", " twice");
      given[i] = args[i];
    }
    if (array_of(self).device().type != DeviceType::cpu) refuse_host_access(array_of(self));
    const Ref numpy = checked(PyImport_ImportModule("numpy"));
    const Ref buffer = checked(PyMemoryView_FromObject(self));
    Ref array = checked(PyObject_CallMethod(numpy.get(), "asarray", "O", buffer.get()));
    const bool has_dtype = given[0] && given[0] != Py_None;
    if (!has_dtype && optional_bool(given[1]) != true) return array.release();
    const Ref convert = checked(PyObject_GetAttrString(numpy.get(), "array"));
    const Ref arguments = checked(PyTuple_Pack(1, array.get()));
    const Ref keywords = checked(PyDict_New());
    if (PyDict_SetItemString(keywords.get(), "copy", given[1] ? given[1] : Py_None) < 0 ||
        (has_dtype && PyDict_SetItemString(keywords.get(), "dtype", given[0]) < 0)) {
      throw PythonError{};
    }
    return PyObject_Call(convert.get(), arguments.get(), keywords.get());
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyBufferProcs array_as_buffer = {get_buffer, release_exported};

void bind_interchange(pybind11::module_& module) {
  define(
      module, "from_dlpack",
      [](PyObject* x, std::optional<Device> device, std::optional<bool> copy) {
        return from_dlpack(x, device, copy);
      },
      "x", "device", "copy");
}

}  // namespace arrayx::python
