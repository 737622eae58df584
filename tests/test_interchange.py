"""Exchange with other libraries: DLPack, the buffer protocol, NumPy's __array__, and what asarray
makes of scalars, sequences and foreign objects."""

from __future__ import annotations

import array
import ctypes
import gc
import io
import math
import subprocess
import sys
import weakref
import zlib
from collections import UserList
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
from checks import same
from hypothesis import given
from hypothesis import strategies as st

import arrayx as xp

pytestmark = pytest.mark.cpu  # tests/test_devices.py is about the others

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@st.composite
def numpy_views(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = tuple(draw(st.integers(0, 4)) for _ in range(draw(st.integers(0, 5))))
    x = (np.arange(math.prod(shape)) % 7).reshape(shape).astype(dtype)
    key = tuple(slice(None, None, draw(st.sampled_from([1, 2, -1, -3]))) for _ in shape)
    x = x[(*key, ...)].transpose(draw(st.permutations(range(len(shape)))))
    if shape and draw(st.booleans()):
        x = np.broadcast_to(x, (2, *x.shape))
    return x


def shares_memory(ours, theirs):
    return ours.size == 0 or np.shares_memory(np.asarray(ours), theirs)


# ---- the buffer protocol --------------------------------------------------------------------------


@given(numpy_views())
def test_numpy_arrays_come_in_without_a_copy(theirs):
    ours = xp.asarray(theirs)
    same(ours, theirs)
    if theirs.ndim or theirs.flags.writeable:
        assert shares_memory(ours, theirs)
        if theirs.size:
            assert ours.writable == (theirs.flags.writeable and 0 not in theirs.strides)
    copied = xp.asarray(theirs, copy=True)
    same(copied, theirs)
    assert not shares_memory(copied, theirs) or not theirs.size
    assert copied.writable
    same(xp.asarray(theirs, copy=False), theirs)


@given(numpy_views())
def test_arrays_go_out_to_numpy_without_a_copy(source):
    ours = xp.asarray(source)
    theirs = np.asarray(ours)
    assert theirs.dtype == source.dtype and theirs.shape == source.shape
    np.testing.assert_array_equal(theirs, source)
    if source.size > 1:
        taken = [i for i, n in enumerate(source.shape) if n > 1]
        assert [theirs.strides[i] for i in taken] == [source.strides[i] for i in taken]
    assert shares_memory(ours, theirs)
    assert theirs.flags.writeable == ours.writable


def test_writes_are_seen_on_both_sides():
    theirs = np.zeros((2, 3))
    ours = xp.asarray(theirs)
    ours[0, :] = 1.0
    theirs[1] = 2.0
    same(ours, [[1.0] * 3, [2.0] * 3])
    np.asarray(ours)[0, 0] = 9.0
    assert theirs[0, 0] == 9.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_memoryviews(dtype):
    x = xp.asarray(np.arange(6).reshape(2, 3).astype(dtype))
    view = memoryview(x)
    assert view.shape == (2, 3) and view.itemsize == x.itemsize and view.nbytes == x.nbytes
    assert not view.readonly
    assert view.c_contiguous
    assert bytes(view) == np.asarray(x).tobytes()
    if "complex" not in dtype and dtype != "float16":  # for which memoryview has no tolist
        assert view.tolist() == x.tolist()
    strided = memoryview(x.T)
    assert strided.f_contiguous and not strided.c_contiguous
    assert memoryview(x[::-1, :]).strides[0] == -3 * x.itemsize
    assert memoryview(xp.broadcast_to(x, (4, 2, 3))).readonly


def test_buffer_requests_are_honoured():
    x = xp.reshape(xp.arange(6, dtype=xp.uint8), (2, 3))
    assert bytes(x) == bytes(range(6))
    assert zlib.crc32(x) == zlib.crc32(bytes(range(6)))
    with pytest.raises(BufferError, match="contiguous"):
        zlib.crc32(x.T)
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"abc").readinto(xp.asarray(b"abc"))
    assert io.BytesIO(b"abc").readinto(x) == 3
    assert x[0, 0] == ord("a")
    x[0, :3] = xp.asarray([0, 1, 2], dtype=xp.uint8)
    assert b"".join([x, b"!"]) == bytes(range(6)) + b"!"


def test_an_exported_buffer_keeps_the_array_alive():
    x = xp.asarray([1.0, 2.0])
    reference = weakref.ref(x)
    view = memoryview(x)
    del x
    assert reference() is not None and view.tolist() == [1.0, 2.0]
    view.release()
    assert reference() is None


def test_imported_memory_is_held_and_let_go():
    source = bytearray(16)
    x = xp.asarray(memoryview(source).cast("d"))
    view = x[1:]
    del x
    with pytest.raises(BufferError):
        source.append(0)
    del view
    gc.collect()
    source.append(0)
    theirs = np.ones(100)
    reference = weakref.ref(theirs)
    ours = xp.asarray(theirs)
    del theirs
    assert reference() is not None
    same(ours + ours, np.full(100, 2.0))
    del ours
    assert reference() is None


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_array_module(code):
    source = array.array(code, [1, 2, 3])
    ours = xp.asarray(source)
    same(ours, np.asarray(source))
    ours[0] = 5
    assert source[0] == 5


def test_bytes_like_objects():
    same(xp.asarray(b"\x01\x02"), np.asarray([1, 2], dtype="uint8"))
    assert not xp.asarray(b"\x01\x02").writable
    assert xp.asarray(b"\x01\x02", copy=True).writable
    assert xp.asarray(bytearray(3)).writable
    same(xp.asarray(b""), np.asarray([], dtype="uint8"))


def test_ctypes_arrays():
    source = ((ctypes.c_double * 3) * 2)()
    source[1][2] = 4.0
    ours = xp.asarray(source)
    assert ours.shape == (2, 3) and ours[1, 2] == 4.0
    ours[0, 0] = 7.0
    assert source[0][0] == 7.0
    same(xp.asarray((ctypes.c_long * 2)(1, 2)), np.asarray([1, 2]))


def test_memory_that_cannot_be_used_is_copied_or_refused():
    raw = np.zeros(33, dtype=np.uint8)
    unaligned = raw[1:].view("float64")
    unaligned[:] = [1, 2, 3, 4]
    fields = np.zeros(3, dtype=[("a", "i1"), ("b", "f8")])
    fields["b"] = [1, 2, 3]
    for source in (unaligned, fields["b"]):
        ours = xp.asarray(source)
        same(ours, source)
        assert not shares_memory(ours, source) and ours.writable
        with pytest.raises(ValueError, match="without a copy"):
            xp.asarray(source, copy=False)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (np.zeros(2, dtype=">f8"), "byte order"),
        (np.zeros(2, dtype=">i4"), "byte order"),
        (np.zeros(2, dtype=object), "format 'O'"),
        (np.asarray(["a", "b"]), "no dtype of arrayx matches"),
        (np.zeros(2, dtype=[("a", "i4")]), "no dtype of arrayx matches"),
        (np.zeros(2, dtype="longdouble"), "format 'g'"),
    ],
)
def test_elements_without_a_dtype_are_refused(source, words):
    with pytest.raises(TypeError, match=words):
        xp.asarray(source)


# ---- __array__ --------------------------------------------------------------------------------------


def test_array_protocol():
    x = xp.asarray([1.0, 2.0])
    assert x.__array__().dtype == np.float64
    assert np.shares_memory(x.__array__(), np.asarray(x))
    assert not np.shares_memory(x.__array__(copy=True), np.asarray(x))
    assert np.shares_memory(x.__array__(np.float64, copy=False), np.asarray(x))
    assert x.__array__("int32").dtype == np.int32
    with pytest.raises(ValueError):
        x.__array__(np.float32, copy=False)
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not np.shares_memory(np.array(x), np.asarray(x))
    assert not xp.asarray(b"abc").__array__().flags.writeable
    np.testing.assert_array_equal(np.asarray([x, x]), [[1.0, 2.0], [1.0, 2.0]])


def test_numpys_operators_leave_the_work_to_arrayx():
    x = xp.asarray([1.0, 2.0])
    for result in (np.ones(2) + x, np.add(np.ones(2), x), x + np.ones(2)):
        assert type(result) is xp.Array
        np.testing.assert_array_equal(np.asarray(result), [2.0, 3.0])


# ---- DLPack -----------------------------------------------------------------------------------------


@given(numpy_views())
def test_dlpack_from_numpy(theirs):
    if not theirs.flags.writeable and theirs.size == 0:
        return
    ours = xp.from_dlpack(theirs)
    same(ours, theirs)
    assert shares_memory(ours, theirs)
    if theirs.size:
        assert ours.writable == (theirs.flags.writeable and 0 not in theirs.strides)
    copied = xp.from_dlpack(theirs, copy=True)
    same(copied, theirs)
    assert copied.size == 0 or not shares_memory(copied, theirs)


@given(numpy_views())
def test_dlpack_to_numpy(source):
    ours = xp.asarray(source)
    theirs = np.from_dlpack(ours)
    assert theirs.dtype == source.dtype and theirs.shape == source.shape
    np.testing.assert_array_equal(theirs, source)
    assert shares_memory(ours, theirs)
    copied = np.from_dlpack(ours, copy=True)
    assert copied.size == 0 or not shares_memory(ours, copied)
    round_trip = xp.from_dlpack(ours)
    same(round_trip, source)
    assert shares_memory(round_trip, theirs)


def capsule_name(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule).decode()


def test_dlpack_capsules_have_the_version_that_was_asked_for():
    x = xp.asarray([1.0])
    assert x.__dlpack_device__() == (1, 0)
    assert capsule_name(x.__dlpack__()) == "dltensor"
    assert capsule_name(x.__dlpack__(max_version=None)) == "dltensor"
    assert capsule_name(x.__dlpack__(max_version=(0, 8))) == "dltensor"
    for version in ((1, 0), (1, 3), (2, 0)):
        assert capsule_name(x.__dlpack__(max_version=version)) == "dltensor_versioned"
    assert capsule_name(x.__dlpack__(dl_device=(1, 0), copy=True)) == "dltensor"


def test_dlpack_arguments_are_checked():
    x = xp.asarray([1.0])

    class Kind(Enum):
        CPU = 1
        CUDA = 2

    x.__dlpack__(dl_device=(Kind.CPU, 0))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(Kind.CUDA, 0))
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="max_version"):
        x.__dlpack__(max_version=1)
    with pytest.raises(TypeError, match="dl_device"):
        x.__dlpack__(dl_device="cpu")
    with pytest.raises(TypeError):
        x.__dlpack__(None)


def tensor_of(capsule):
    """The version, flags and layout in a versioned capsule, read as dlpack.h lays them out."""

    class Tensor(ctypes.Structure):
        _fields_ = [
            ("version", ctypes.c_uint32 * 2),
            ("context", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
            ("flags", ctypes.c_uint64),
            ("data", ctypes.c_void_p),
            ("device", ctypes.c_int32 * 2),
            ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8),
            ("bits", ctypes.c_uint8),
            ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)),
            ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("offset", ctypes.c_uint64),
        ]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Tensor.from_address(get(capsule, b"dltensor_versioned"))


READ_ONLY, IS_COPIED = 1, 2
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


@pytest.mark.parametrize("dtype", DTYPES)
def test_versioned_capsules_say_what_they_hold(dtype):
    theirs = np.zeros((3, 4, 5), dtype)
    x = xp.asarray(theirs)[1:, ::-2, :]
    capsule = x.__dlpack__(max_version=(1, 0))
    t = tensor_of(capsule)
    assert t.version[0] == 1 and tuple(t.device) == (1, 0) and t.lanes == 1
    assert (t.code, t.bits) == (CODES[np.dtype(dtype).kind], 8 * np.dtype(dtype).itemsize)
    assert t.ndim == 3 and t.shape[:3] == [2, 2, 5] and t.strides[:3] == [20, -10, 1]
    assert t.data + t.offset == np.asarray(x).ctypes.data
    assert t.flags == 0
    copied = x.__dlpack__(max_version=(1, 0), copy=True)
    assert tensor_of(copied).flags == IS_COPIED
    assert tensor_of(copied).data != t.data
    theirs.flags.writeable = False
    frozen = xp.broadcast_to(xp.asarray(theirs), (2, 3, 4, 5))
    capsule = frozen.__dlpack__(max_version=(1, 0))
    assert tensor_of(capsule).flags == READ_ONLY
    assert tensor_of(capsule).strides[:4] == [0, 20, 5, 1]
    capsule = frozen.__dlpack__(max_version=(1, 0), copy=True)
    assert tensor_of(capsule).flags == IS_COPIED


def test_many_dimensions_and_none():
    for shape in [(), (0,), (3, 0, 2), (1,) * 32, (2,) * 12]:
        x = xp.reshape(xp.arange(math.prod(shape)), shape)
        y = xp.from_dlpack(x)
        same(y, np.asarray(x))
        assert y.shape == shape
        assert np.from_dlpack(x).shape == memoryview(x).shape == shape
    x = xp.ones((1,) * 64)
    same(xp.from_dlpack(x), np.ones((1,) * 64))


def test_read_only_arrays_need_the_read_only_flag():
    x = xp.asarray(b"abc")
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    x.__dlpack__(copy=True)
    assert not np.from_dlpack(x).flags.writeable
    assert not xp.from_dlpack(x).writable
    assert xp.from_dlpack(x, copy=True).writable


def test_capsules_are_consumed_once_and_let_go():
    class Once:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return self.capsule

    for version, used in ((None, "used_dltensor"), ((1, 0), "used_dltensor_versioned")):
        theirs = np.arange(3.0)
        reference = weakref.ref(theirs)
        x = xp.asarray(theirs)
        del theirs
        producer = Once(x.__dlpack__(max_version=version))
        y = xp.from_dlpack(producer)
        assert capsule_name(producer.capsule) == used
        with pytest.raises(BufferError, match="unused"):
            xp.from_dlpack(producer)
        del x
        same(y, np.arange(3.0))
        assert reference() is not None
        del y
        assert reference() is None
        # A capsule that nobody consumed lets its memory go, too.
        theirs = np.arange(3.0)
        reference = weakref.ref(theirs)
        capsule = xp.asarray(theirs).__dlpack__(max_version=version)
        del theirs
        assert reference() is not None
        del capsule
        assert reference() is None


def test_old_producers_without_keywords():
    class Old:
        def __init__(self, x):
            self.x = x

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self):
            return self.x.__dlpack__()

    theirs = np.arange(4)
    ours = xp.from_dlpack(Old(theirs))
    same(ours, theirs)
    assert shares_memory(ours, theirs)
    copied = xp.from_dlpack(Old(theirs), copy=True)
    assert not shares_memory(copied, theirs)
    assert shares_memory(xp.from_dlpack(Old(theirs), copy=False), theirs)
    same(xp.asarray(Old(theirs)), theirs)


def test_from_dlpack_refuses():
    with pytest.raises(AttributeError):
        xp.from_dlpack([1, 2])

    class BrainFloats:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            capsule = xp.zeros(2, dtype=xp.float16).__dlpack__(max_version=(1, 0))
            tensor_of(capsule).code = 4
            return capsule

    with pytest.raises(BufferError, match="bfloat16 has no counterpart"):
        xp.from_dlpack(BrainFloats())
    with pytest.raises(ValueError):
        xp.from_dlpack(np.zeros(2), device="cuda:9999")

    class Elsewhere:
        def __dlpack_device__(self):
            return (10, 0)

        def __dlpack__(self, **keywords):
            raise BufferError("no way" if "dl_device" in keywords else "asked without a device")

    with pytest.raises(BufferError, match=r"\(10, 0\)"):
        xp.from_dlpack(Elsewhere())
    with pytest.raises(BufferError, match="no way"):
        xp.from_dlpack(Elsewhere(), device="cpu")
    unaligned = np.zeros(17, dtype=np.uint8)[1:].view("float64")
    same(xp.from_dlpack(unaligned), unaligned)
    with pytest.raises(BufferError, match="without a copy"):
        xp.from_dlpack(unaligned, copy=False)


def test_no_leaks_over_many_exchanges():
    theirs = np.ones(4)
    before = sys.getrefcount(theirs)
    for _ in range(300):
        x = xp.from_dlpack(theirs)
        y = xp.asarray(theirs)
        np.from_dlpack(x)
        memoryview(y)
        x.__dlpack__()
        with pytest.raises(ValueError):
            xp.asarray(theirs, dtype=xp.float32, copy=False)
    del x, y
    assert sys.getrefcount(theirs) == before


# ---- asarray ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (3.5, "float64"),
        (1 + 2j, "complex128"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([1, 2.5], "float64"),
        ([True, 1.5], "float64"),
        ([1, 1j], "complex128"),
        ([[1, 2], [3, 4]], "int64"),
        (((1.0,), (2.0,)), "float64"),
        ([], "float64"),
        ([[], []], "float64"),
        ([[[]]], "float64"),
        (range(4), "int64"),
        ([range(2), range(2, 4)], "int64"),
        (np.float32(1.5), "float32"),
        (np.int8(3), "int8"),
        (np.bool_(True), "bool"),
        ([np.float32(1.5), 2.5], "float32"),
        ([np.arange(3), [1, 2, 3]], "int64"),
        (UserList([1, 2]), "int64"),
    ],
)
def test_asarray_infers_dtype_and_shape(obj, dtype):
    ours = xp.asarray(obj)
    assert ours.dtype == np.dtype(dtype)
    expected = np.asarray([np.asarray(item) for item in obj] if isinstance(obj, list) else obj)
    assert ours.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(ours), expected.astype(dtype))
    assert ours.writable


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_casts_to_the_dtype_that_was_asked_for(dtype):
    d = getattr(xp, dtype)
    same(xp.asarray([[0, 1], [2, 3]], dtype=d), np.asarray([[0, 1], [2, 3]], dtype=dtype))
    same(xp.asarray(1, dtype=d), np.asarray(1, dtype=dtype))
    same(xp.asarray(np.asarray([0, 1, 2]), dtype=d), np.asarray([0, 1, 2], dtype=dtype))
    same(xp.asarray(xp.asarray([0, 1, 2]), dtype=d), np.asarray([0, 1, 2], dtype=dtype))
    same(xp.asarray([0.0, 1.5], dtype=d), np.asarray([0.0, 1.5], dtype=dtype))
    same(xp.asarray([], dtype=d), np.asarray([], dtype=dtype))


def test_arrays_inside_sequences_keep_their_dtype():
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    same(xp.asarray([x, x]), np.asarray([[1, 2], [1, 2]], dtype="float32"))
    same(xp.asarray([x[0], 3]), np.asarray([1, 3], dtype="float32"))
    same(xp.asarray([x, [3, 4.5]]), np.asarray([[1, 2], [3, 4.5]], dtype="float32"))
    same(xp.asarray([[x], [x]]).shape and xp.asarray([x[0], 1j]), np.asarray([1, 1j], "complex64"))
    same(xp.asarray([list(x), list(x)]), np.asarray([[1, 2], [1, 2]], dtype="float32"))


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        ([1, [2]], r"item \[1\] is a sequence"),
        ([[1], 2], r"item \[1\] has 0 dimensions where 1 were expected"),
        ([[1, 2], [3]], r"item \[1\] has length 1 where 2 was expected"),
        ([[[1], [2]], [[3], [4, 5]]], r"item \[1\]\[1\] has length 2 where 1 was expected"),
        ([[], [1]], r"item \[1\] has length 1 where 0 was expected"),
        ([np.ones(2), np.ones(3)], r"item \[1\] has length 3 where 2 was expected"),
        ([np.ones(2), 1.0], r"item \[1\] has 0 dimensions where 1 were expected"),
        ([[], 1], r"item \[1\]"),
    ],
)
def test_ragged_sequences_are_refused_and_named(obj, words):
    with pytest.raises(ValueError, match="ragged: " + words):
        xp.asarray(obj)


def test_sequences_without_end():
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        xp.asarray(endless)


@pytest.mark.parametrize(
    "obj",
    [
        "abc",
        None,
        {},
        {1},
        object(),
        ["a"],
        [None],
        [[1], ["b"]],
        [b"a"],
        Fraction(1, 2),
        int,
        np.ndarray,
    ],
)
def test_asarray_names_the_type_it_cannot_convert(obj):
    with pytest.raises(TypeError, match="cannot make a new array from an object of type"):
        xp.asarray(obj)


@pytest.mark.parametrize(
    ("obj", "dtype", "error"),
    [
        (300, "uint8", OverflowError),
        (-1, "uint64", OverflowError),
        ([1, 2**63], None, OverflowError),
        (2**63, None, OverflowError),
        ([128], "int8", OverflowError),
        (1j, "float64", TypeError),
        ([1j], "int32", TypeError),
        (math.nan, "int32", ValueError),
        (math.inf, "int32", OverflowError),
        ([1e30], "int64", OverflowError),
        (np.asarray([1j]), "float32", TypeError),
        (10**400, "float64", OverflowError),
    ],
)
def test_values_that_do_not_fit(obj, dtype, error):
    with pytest.raises(error):
        xp.asarray(obj, dtype=dtype and getattr(xp, dtype))


def test_large_integers():
    assert int(xp.asarray(2**64 - 1, dtype=xp.uint64)) == 2**64 - 1
    assert int(xp.asarray([2**64 - 1], dtype=xp.uint64)[0]) == 2**64 - 1
    assert float(xp.asarray(2**70, dtype=xp.float64)) == 2.0**70
    assert float(xp.asarray(-(2**100), dtype=xp.float64)) == -(2.0**100)


def test_copy_argument():
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    assert xp.asarray(x, dtype=xp.float64) is x
    assert xp.asarray(x, device="cpu") is x
    duplicate = xp.asarray(x, copy=True)
    duplicate[0] = 9.0
    assert x[0] == 1.0
    for bad in (1.0, [1.0], (1,), range(3)):
        with pytest.raises(ValueError, match="copy is False"):
            xp.asarray(bad, copy=False)
    for source in (x, np.ones(2)):
        with pytest.raises(ValueError, match="copy is False"):
            xp.asarray(source, dtype=xp.float32, copy=False)


def test_objects_with_only_array():
    class Wrapper:
        def __array__(self, dtype=None, copy=None):
            return np.asarray([1, 2])

    class Endless:
        def __array__(self, dtype=None, copy=None):
            return self

    same(xp.asarray(Wrapper()), np.asarray([1, 2]))
    same(xp.asarray([Wrapper(), Wrapper()]), np.asarray([[1, 2], [1, 2]]))
    with pytest.raises(TypeError):
        xp.asarray(Endless())


def test_errors_of_foreign_objects_come_through():
    class Angry:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("mine")

    class AngryAttribute:
        @property
        def __dlpack__(self):
            raise ZeroDivisionError("mine")

    for bad in (Angry(), AngryAttribute(), [Angry()]):
        with pytest.raises(ZeroDivisionError, match="mine"):
            xp.asarray(bad)


def test_sequences_that_change_while_they_are_read():
    class Shrinks:
        def __init__(self):
            self.items = None

        def __array__(self, dtype=None, copy=None):
            self.items.clear()
            return np.asarray(1)

    shrinks = Shrinks()
    shrinks.items = [shrinks, 2, 3]
    with pytest.raises(ValueError):
        xp.asarray(shrinks.items)


def test_everything_but_numpy_works_without_numpy():
    program = (
        "import sys\n"
        "sys.modules['numpy'] = None\n"
        "import arrayx as xp\n"
        "x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])\n"
        "assert memoryview(x).tolist() == [[1.0, 2.0], [3.0, 4.0]]\n"
        "assert xp.from_dlpack(x)[0, 1] == 2.0\n"
        "assert xp.asarray(b'ab').tolist() == [97, 98]\n"
        "assert xp.float32 == xp.float32 and hash(xp.float32)\n"
        "import pickle; assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()\n"
        "try:\n"
        "    x.__array__()\n"
        "except ImportError:\n"
        "    pass\n"
        "else:\n"
        "    raise SystemExit('NumPy was found')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
