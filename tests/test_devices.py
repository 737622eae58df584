"""Devices: what is said of those that are not there, arrays on a GPU and what becomes of them, mixed
devices, the default device, and interchange with other libraries on the GPU.

Where there is no GPU, tests/core/guarded_engine.cpp stands in for two of them, whose memory the CPU
cannot touch but by the engine's own copies. What the engine computes is tested by the other files,
with `--device cuda`.
"""

import copy
import os
import pickle
import shutil
import sys

import numpy as np
import pytest
from checks import run_python
from conftest import build_guarded_engine, use_guarded_engine
from strided import DTYPES, Draw, ours, same

import arrayx as xp
from arrayx import _core, memory

pytestmark = pytest.mark.cpu  # each test names its devices


@pytest.fixture(scope="module", autouse=True)
def cuda(tmp_path_factory):
    """The device, on a machine without a GPU that of the stand-in."""
    if _core.cuda_report()["error"] is not None:
        if shutil.which(os.environ.get("CXX", "c++")) is None:
            pytest.skip("there is no GPU, and no compiler for what stands in for one")
        use_guarded_engine(tmp_path_factory.mktemp("engine"))
    return xp.Device("cuda")


# ---- devices that are not there ---------------------------------------------------------------------


def test_without_the_library_everything_but_cuda_works():
    run_python(
        """
        import arrayx as xp
        for make in (
            lambda: xp.zeros(2, device="cuda"),
            lambda: xp.asarray([1, 2], device="cuda:0"),
            lambda: xp.ones(2).to_device("cuda"),
            lambda: xp.set_default_device("cuda"),
        ):
            try:
                make()
            except ValueError as error:
                assert "'cuda:0' is not available" in str(error), error
                assert "no CUDA library (/nowhere/lib.so does not exist)" in str(error), error
            else:
                raise AssertionError("no error")
        assert xp.__array_namespace_info__().devices() == ("cpu",)
        assert float(xp.sum(xp.ones(3))) == 3 and xp.ones(1).device == "cpu"
        """,
        ARRAYX_CUDA_LIBRARY="/nowhere/lib.so",
        ARRAYX_DEFAULT_DEVICE="cpu",
    )


def test_a_library_of_another_kind_is_refused(tmp_path):
    bad = tmp_path / "lib.so"
    bad.write_bytes(b"no library")
    for library, message in ((bad, "could not be opened"), (_core.__file__, "has no arrayx_cuda")):
        program = f"""
        import arrayx as xp
        try:
            xp.zeros(2, device="cuda")
        except ValueError as error:
            assert {message!r} in str(error), error
        else:
            raise AssertionError("no error")
        """
        run_python(program, ARRAYX_CUDA_LIBRARY=str(library), ARRAYX_DEFAULT_DEVICE="cpu")


def test_a_library_of_other_sources_is_refused(tmp_path):
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        pytest.skip("there is no compiler")
    library = build_guarded_engine(tmp_path, "of other sources")
    program = """
    import arrayx as xp
    for attempt in range(2):
        try:
            xp.zeros(2, device="cuda")
        except RuntimeError as error:
            assert "'cuda:0' is not available" in str(error), error
            assert "was built from other sources than the extension module" in str(error), error
        else:
            raise AssertionError("no error")
    assert xp.__array_namespace_info__().devices() == ("cpu",)
    """
    run_python(program, ARRAYX_CUDA_LIBRARY=str(library), ARRAYX_DEFAULT_DEVICE="cpu")


def test_the_library_is_opened_when_a_device_is_asked_for():
    run_python(
        f"""
        import arrayx as xp
        library = {_core.cuda_report()["library"]!r}
        opened = lambda: library in open("/proc/self/maps").read()
        xp.sum(xp.asarray([1.0, 2.0], device="cpu"))
        assert not opened()
        xp.zeros(2, device="cuda")
        assert opened()
        """,
        ARRAYX_DEFAULT_DEVICE="cpu",
    )


def test_devices_beyond_those_that_there_are():
    count = len(xp.__array_namespace_info__().devices()) - 1
    with pytest.raises(
        ValueError, match=rf"device 'cuda:{count}' is not available: there (is|are)"
    ):
        xp.zeros(2, device=f"cuda:{count}")
    with pytest.raises(ValueError, match="device 'cuda:9999' does not exist"):
        xp.zeros(2, device="cuda:9999")


def test_devices_are_listed(cuda):
    devices = xp.__array_namespace_info__().devices()
    assert devices[0] == "cpu" and devices[1] == "cuda:0" == cuda
    assert [device.index for device in devices[1:]] == list(range(len(devices) - 1))
    report = _core.cuda_report()
    assert len(report["devices"]) == len(devices) - 1 and report["error"] is None


# ---- making and moving --------------------------------------------------------------------------------

X = xp.reshape(xp.arange(6.0, device="cpu"), (2, 3))


@pytest.mark.parametrize(
    "make",
    [
        lambda d: xp.arange(5, device=d),
        lambda d: xp.asarray(X, device=d),
        lambda d: xp.asarray([[1, 2.5], [3, True]], device=d),
        lambda d: xp.asarray([1.0, 2.0], device=d),
        lambda d: xp.asarray(7, device=d),
        lambda d: xp.asarray(np.arange(6.0).reshape(2, 3)[:, ::-2], device=d),
        lambda d: xp.asarray(b"bytes", device=d),
        lambda d: xp.asarray([np.ones(2), [3, 4]], device=d),
        lambda d: xp.asarray([xp.asarray(1, device="cuda"), 2], device=d),
        lambda d: xp.astype(X, xp.int8, device=d),
        lambda d: xp.eye(3, k=1, device=d),
        lambda d: xp.from_dlpack(X, device=d),
        lambda d: xp.from_dlpack(np.arange(4), device=d),
        lambda d: xp.full((2, 2), 3, device=d),
        lambda d: xp.full_like(X, 3, device=d),
        lambda d: xp.linspace(0, 1, 7, device=d),
        lambda d: xp.linspace(0, 1j, 7, device=d),
        lambda d: xp.ones(3, device=d),
        lambda d: xp.ones_like(X, device=d),
        lambda d: xp.zeros((0, 3), device=d),
        lambda d: xp.zeros_like(X, device=d),
        lambda d: X.to_device(d),
        lambda d: X.T.to_device(d),
        lambda d: X[:, ::2].to_device(d),
        lambda d: xp.fft.fftfreq(7, device=d),
        lambda d: xp.fft.rfftfreq(7, device=d),
    ],
)
def test_arrays_are_made_where_they_are_wanted(cuda, make):
    there, here = make(cuda), make("cpu")
    assert there.device == cuda and here.device == "cpu"
    same(there.to_device("cpu"), here)
    with xp.Device("cuda"):
        if "device=d" in make.__code__.co_names:
            assert make(None).device == cuda
    assert xp.empty((2, 3), device=cuda).device == xp.empty_like(X, device="cuda:0").device == cuda


def test_arrays_like_another_are_where_it_is(cuda):
    x = X.to_device(cuda)
    for make in (xp.empty_like, xp.zeros_like, xp.ones_like, xp.tril, xp.positive, xp.asarray):
        assert make(x).device == cuda
    assert xp.asarray(x) is x and x.to_device("cuda") is x
    assert x.copy().device == copy.copy(x).device == copy.deepcopy(x).device == cuda


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout_travels(cuda, dtype):
    draw = Draw(1)
    for _ in range(20):
        a = draw.array(dtype=dtype)
        there = ours(a).to_device(cuda)
        assert there.device == cuda
        same(there.to_device("cpu"), a)
        for back in (
            there[..., ::-1] if a.ndim else there,
            xp.permute_dims(there, range(a.ndim)[::-1]),
        ):
            same(back.to_device("cpu"), np.asarray(back.to_device("cpu")))
        if a.ndim:
            same(there[..., ::-2].to_device("cpu"), a[..., ::-2])
            same(xp.permute_dims(there, tuple(range(a.ndim))[::-1]).to_device("cpu"), a.T)


def test_between_two_devices(cuda):
    if len(xp.__array_namespace_info__().devices()) < 3:
        pytest.skip("there is one GPU")
    x = X.to_device(cuda)
    y = x.to_device("cuda:1")
    assert y.device == "cuda:1" and y.device != cuda and y.device.type == "cuda"
    assert (y + y).device == "cuda:1"
    same((y + y).to_device("cpu"), np.asarray(X + X))
    same(xp.astype(y, xp.int32, device=cuda).to_device("cpu"), np.asarray(X).astype(np.int32))
    with pytest.raises(ValueError, match=r"cuda:0 and cuda:1"):
        x + y


def test_elements_are_read_and_written(cuda):
    x = X.to_device(cuda)
    assert float(x[1, 2]) == 5.0 and int(x[0, 1]) == 1 and bool(x[0, 1]) and complex(x[1, 0]) == 3
    assert (
        x.tolist() == X.tolist()
        and x.item(1, 2) == 5.0
        and list(range(9))[xp.asarray(3, device=cuda)] == 3
    )
    assert [row.tolist() for row in x] == X.tolist() and 4.0 in x and 9.0 not in x
    assert f"{x[1, 1]:.2f}" == "4.00" and str(x) == str(X)
    assert repr(x[0]) == "array([0., 1., 2.], device='cuda:0')"
    x[0, 0] = 9
    x[1] = [7, 8, 9]
    x[:, 2] = np.asarray([1, 2])
    x[x > 8] = -1
    assert x.tolist() == [[-1, 1, 1], [7, 8, 2]]
    x[xp.asarray([1], device=cuda)] = X[0].to_device(cuda)
    assert x.tolist() == [[-1, 1, 1], [0, 1, 2]]
    assert x[[1, 0], [2, 0]].tolist() == x[np.asarray([1, 0]), [2, 0]].tolist() == [2, -1]
    assert x[np.asarray([True, False])].tolist() == [[-1, 1, 1]]


# ---- errors from the device -----------------------------------------------------------------------------


def test_errors_keep_their_kinds(cuda):
    x = X.to_device(cuda)
    with pytest.raises(IndexError, match=r"index 5 is out of bounds for .* with size 2"):
        x[xp.asarray([0, 5], device=cuda)].tolist()
    with pytest.raises(xp.linalg.LinAlgError):
        xp.linalg.solve(xp.zeros((2, 2), device=cuda), xp.ones(2, device=cuda))
    with pytest.raises(TypeError, match="bitwise_invert"):
        xp.bitwise_invert(x)
    with pytest.raises(ValueError, match="broadcast"):
        xp.broadcast_to(x, (5, 2, 3))[0, 0, 0] = 1
    assert x.tolist() == X.tolist()


def test_running_out_of_memory_loses_nothing(cuda):
    x = X.to_device(cuda)
    for bytes_wanted in (1 << 46, 1 << 60):
        with pytest.raises(MemoryError, match=f"no room for an array of {bytes_wanted} bytes"):
            xp.empty(bytes_wanted, dtype=xp.uint8, device=cuda)
    assert (x + 1).tolist() == (X + 1).tolist()


# ---- mixed devices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: x.__iadd__(y),
        lambda x, y: x @ y.T,
        lambda x, y: x == y,
        lambda x, y: xp.atan2(x, y),
        lambda x, y: xp.where(x > 1, y, x),
        lambda x, y: xp.where(x > 1, 0.0, y),
        lambda x, y: xp.clip(x, y, None),
        lambda x, y: xp.clip(x, 0, y),
        lambda x, y: xp.concat([x, y]),
        lambda x, y: xp.stack([x, y]),
        lambda x, y: xp.meshgrid(x[0], y[0]),
        lambda x, y: xp.broadcast_arrays(x, y),
        lambda x, y: xp.tensordot(x, y.T, axes=1),
        lambda x, y: xp.vecdot(x, y),
        lambda x, y: xp.linalg.cross(x, y),
        lambda x, y: xp.linalg.outer(x[0], y[0]),
        lambda x, y: xp.linalg.solve(x[:, :2], y[:, :2]),
        lambda x, y: xp.searchsorted(x[0], y[0]),
        lambda x, y: xp.searchsorted(x[0], x[0], sorter=xp.argsort(y[0])),
        lambda x, y: xp.isin(x, y),
        lambda x, y: xp.take(x, xp.argsort(y[0]), axis=1),
        lambda x, y: xp.take_along_axis(x, xp.argsort(y), axis=1),
        lambda x, y: xp.repeat(x, xp.asarray([1, 2], device=y.device), axis=0),
        lambda x, y: xp.diff(x, prepend=y[:, :1]),
        lambda x, y: x[y > 1],
        lambda x, y: x[xp.argsort(y[:, 0])],
        lambda x, y: x.__setitem__(0, y[0]),
        lambda x, y: x.__setitem__((0, 0), y[0, 0]),
        lambda x, y: x.__setitem__(x > 1, y[0, 0]),
        lambda x, y: x.__setitem__(xp.argsort(y[:, 0]), 0),
        lambda x, y: x + y[0, 0],
    ],
)
def test_mixed_devices_are_refused(cuda, call):
    here, there = X.copy(), X.to_device(cuda)
    for x, y in ((here, there), (there, here)):
        with pytest.raises(ValueError, match="cuda:0") as raised:
            call(x, y)
        assert "cpu" in str(raised.value)
    assert here.tolist() == there.tolist() == X.tolist()


def test_scalars_go_with_every_device(cuda):
    x = X.to_device(cuda)
    for y in (x + 1, 2.0 * x, x > np.float64(1), xp.where(x > 1, 0, x), xp.clip(x, 1, 2), x**2):
        assert y.device == cuda
    x += 1
    x[0] = 3
    assert x.tolist() == [[3, 3, 3], [4, 5, 6]]


# ---- the default device -------------------------------------------------------------------------------------


def test_the_default_device_is_set(cuda):
    assert _core.default_device() == "cpu"
    xp.set_default_device("cuda")
    try:
        assert xp.__array_namespace_info__().default_device() == cuda
        assert xp.zeros(1).device == xp.asarray([1]).device == xp.asarray(np.ones(2)).device == cuda
        assert xp.asarray(X).device == (X + X).device == xp.from_dlpack(X).device == "cpu"
        with xp.Device("cpu"):
            assert xp.ones(1).device == "cpu"
        assert xp.ones(1).device == cuda
    finally:
        xp.set_default_device("cpu")
    with cuda:
        assert xp.arange(3).device == cuda
        with pytest.raises(ZeroDivisionError), xp.Device("cpu"):
            1 / 0
        assert xp.arange(3).device == cuda
    assert xp.arange(3).device == "cpu"


def test_the_environment_names_the_default_device(cuda):
    out = run_python(
        "import arrayx as xp; print(xp.ones(2).device, xp.ones(2))", ARRAYX_DEFAULT_DEVICE="cuda"
    )
    assert out == "cuda:0 [1. 1.]\n"


# ---- memory ---------------------------------------------------------------------------------------------------


def test_memory_is_counted_per_device(cuda):
    n = 1 << 20
    before, before_here = memory.info(cuda), memory.info("cpu")
    x = xp.zeros(n, dtype=xp.uint8, device=cuda)
    assert n <= memory.info(cuda).in_use - before.in_use < 1.2 * n
    assert memory.info("cpu").in_use - before_here.in_use < n
    del x
    assert memory.info(cuda).in_use == before.in_use


def test_freed_memory_is_kept_within_the_limit(cuda):
    limit = memory.limit(cuda)
    try:
        memory.empty_cache(cuda)
        assert memory.info(cuda).cached == 0
        memory.set_limit(1 << 21, cuda)
        assert memory.limit(cuda) == 1 << 21 and memory.limit("cpu") != 1 << 21
        xp.zeros(1 << 20, dtype=xp.uint8, device=cuda)
        assert memory.info(cuda).cached == 1 << 20
        xp.zeros(1 << 22, dtype=xp.uint8, device=cuda)
        assert memory.info(cuda).cached == 1 << 20
        memory.set_limit(0, cuda)
        assert memory.info(cuda).cached == 0
    finally:
        memory.set_limit(limit, cuda)


# ---- the host's protocols -----------------------------------------------------------------------------------------


def test_the_cpu_is_not_given_what_it_cannot_read(cuda):
    program = f"""
    import numpy as np, arrayx as xp
    x = xp.asarray([1.0, 2.0], device={str(cuda)!r})
    for look in (np.asarray, memoryview, np.from_dlpack, lambda x: np.ones(2) + x, bytes):
        try:
            look(x)
        except (TypeError, BufferError, RuntimeError) as error:
            print(type(error).__name__, error)
        else:
            raise AssertionError(look)
    """
    lines = run_python(program).splitlines()
    for line in lines[:2]:
        assert line == (
            "TypeError an array on cuda:0 has no memory that the CPU can read; "
            "use to_device('cpu') first"
        )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_come_back_where_they_were(cuda, protocol):
    x = X.to_device(cuda)[:, ::-1]
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.device == cuda and y.tolist() == x.tolist()
    empty = pickle.loads(pickle.dumps(xp.zeros((0, 2), device=cuda), protocol))
    assert empty.device == cuda and empty.shape == (0, 2)


def test_pickles_out_of_band(cuda):
    buffers = []
    data = pickle.dumps(X.to_device(cuda), 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    y = pickle.loads(data, buffers=buffers)
    assert y.device == cuda and y.tolist() == X.tolist()


def test_files(cuda, tmp_path):
    x = X.to_device(cuda)
    xp.save(tmp_path / "x.npy", x)
    assert xp.load(tmp_path / "x.npy").device == "cpu"
    y = xp.load(tmp_path / "x.npy", device=cuda)
    assert y.device == cuda and y.tolist() == X.tolist()
    with cuda:
        assert xp.load(tmp_path / "x.npy", mmap_mode="r").tolist() == X.tolist()


# ---- DLPack -----------------------------------------------------------------------------------------------------------


def address(x):
    return x.__cuda_array_interface__["data"][0]


def test_dlpack_shares_memory_on_the_device(cuda):
    x = X.to_device(cuda)
    assert x.__dlpack_device__() == (2, 0)
    for y in (
        xp.from_dlpack(x),
        xp.from_dlpack(x, device=cuda, copy=False),
        xp.from_dlpack(x[:, 1:]),
    ):
        assert y.device == cuda
        y += 1
    assert x.tolist() == [[2, 4, 5], [5, 7, 8]]
    z = xp.from_dlpack(x, copy=True)
    assert z.device == cuda and address(z) != address(x) and z.tolist() == x.tolist()


def test_dlpack_between_devices(cuda):
    x = X.to_device(cuda)
    host = xp.from_dlpack(x.T, device="cpu")
    assert host.device == "cpu" and host.tolist() == X.T.tolist()
    same(xp.from_dlpack(x, device="cpu"), np.from_dlpack(x, device="cpu"))
    with pytest.raises(BufferError, match="whose address others know, without a copy"):
        xp.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match="by a copy only"):
        xp.from_dlpack(X, device=cuda, copy=False)
    with pytest.raises(
        BufferError, match=r"cannot export an array on cuda:0 to DLPack's device \(4"
    ):
        x.__dlpack__(dl_device=(4, 0))


def test_dlpack_lends_memory_to_the_cpu(cuda):
    x = X.to_device(cuda)
    part = x[:, 1:]
    x += 1
    host = xp.from_dlpack(part, device="cpu", copy=False)
    assert host.device == "cpu"
    same(host, np.asarray([[2.0, 3.0], [5.0, 6.0]]))
    host[0, 0] = 9
    assert x.tolist() == [[1, 9, 3], [4, 5, 6]] and part.tolist() == [[9, 3], [5, 6]]
    x *= 2
    _core.synchronize(cuda)
    same(host, np.asarray([[18.0, 6.0], [10.0, 12.0]]))
    again = np.from_dlpack(x, device="cpu", copy=False)
    del x, part
    same(host, again[:, 1:])


def test_dlpack_streams(cuda):
    x = X.to_device(cuda)
    for stream in (None, -1, 1, 2):
        x.__dlpack__(stream=stream)
    for stream in (0, -2):
        with pytest.raises(ValueError, match=f"stream must be 1, 2 or the handle .*, not {stream}"):
            x.__dlpack__(stream=stream)
    with pytest.raises(TypeError, match="a CUDA stream is named by an int, not str"):
        x.__dlpack__(stream="1")

    class Producer:
        def __init__(self, is_old):
            self.is_old, self.asked = is_old, set()

        def __dlpack_device__(self):
            return x.__dlpack_device__()

        def __dlpack__(self, *, stream=None, **others):
            self.asked.add(stream)
            if self.is_old and others:
                raise TypeError("no such keyword")
            return x.__dlpack__(stream=stream)

    for producer in (Producer(False), Producer(True)):
        assert xp.from_dlpack(producer).tolist() == X.tolist()
        assert producer.asked == {1}  # the legacy default stream, which arrayx uses


# ---- __cuda_array_interface__ --------------------------------------------------------------------------------------------


class Foreign:
    """An array of another library's: an array of ours that shows nothing but the interface."""

    def __init__(self, x, **changes):
        self.x = x
        self.__cuda_array_interface__ = {**x.__cuda_array_interface__, **changes}


def test_the_interface_describes_the_array(cuda):
    x = xp.zeros((2, 3), dtype=xp.int16, device=cuda)
    shown = x.__cuda_array_interface__
    assert shown == {
        "shape": (2, 3),
        "typestr": "<i2",
        "data": (address(x), False),
        "strides": None,
        "version": 3,
        "stream": 1,
    }
    assert x.T[1:].__cuda_array_interface__["strides"] == (2, 6)
    assert address(x.T[1:]) == address(x) + 2
    assert address(x[:0]) == 0
    assert not hasattr(X, "__cuda_array_interface__")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_interface_shares_memory(cuda, dtype):
    x = xp.asarray(Draw(1).values((3, 4), dtype), device=cuda)
    for view in (x, x.T, x[::-1, 1::2], xp.broadcast_to(x, (2, 3, 4)), x[:0], x[1, 1]):
        y = xp.asarray(Foreign(view))
        assert y.device == cuda
        same(y.to_device("cpu"), np.asarray(view.to_device("cpu")))
        assert y.size == 0 or address(y) == address(view)
    y = xp.asarray(Foreign(x))
    y[0, 0] = 1
    assert x[0, 0].tolist() == 1
    copied = xp.asarray(Foreign(x), copy=True)
    assert address(copied) != address(x)
    assert xp.asarray(Foreign(x), device="cpu").device == "cpu"
    assert xp.asarray(Foreign(x), dtype=xp.complex128).dtype == xp.complex128
    with pytest.raises(ValueError, match="by a copy only"):
        xp.asarray(Foreign(x), device="cpu", copy=False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="buffers by __buffer__ are of Python 3.12")
def test_what_has_no_buffer_though_its_type_has_is_taken_by_the_interface(cuda):
    class WithoutBuffer:
        def __buffer__(self, flags):
            raise TypeError("this is on a GPU")

    x = X.to_device(cuda)
    other = WithoutBuffer()
    with pytest.raises(TypeError, match="this is on a GPU"):
        xp.asarray(other)
    other.__cuda_array_interface__ = x.__cuda_array_interface__
    assert address(xp.asarray(other)) == address(x)
    assert (
        xp.asarray(other, device="cpu").tolist() == xp.asarray([other, X])[0].tolist() == X.tolist()
    )


def test_the_interface_holds_its_owner(cuda):
    owner = Foreign(xp.ones(3, device=cuda))
    before = sys.getrefcount(owner)
    y = xp.asarray(owner)
    assert sys.getrefcount(owner) == before + 1
    view = y[1:]
    del y
    assert sys.getrefcount(owner) == before + 1 and view.tolist() == [1, 1]
    del view
    assert sys.getrefcount(owner) == before


def test_the_interface_is_checked(cuda):
    x = X.to_device(cuda)
    frozen = xp.asarray(Foreign(x, data=(address(x), True)))
    assert not frozen.writable
    with pytest.raises(ValueError, match="read-only"):
        frozen[0, 0] = 1
    for error, message, changes in (
        (TypeError, "typestr '<M8'", {"typestr": "<M8"}),
        (TypeError, "mask", {"mask": x}),
        (TypeError, "strides", {"strides": (8,)}),
        (TypeError, "lacks shape, typestr or data", {"data": None}),
        (ValueError, "negative", {"shape": (-1, 3)}),
        (BufferError, "not multiples of its itemsize", {"strides": (23, 8)}),
        (BufferError, "not aligned", {"data": (address(x) + 1, False)}),
        (BufferError, "on no device", {"data": (address_of_host, False)}),
        (ValueError, "stream must be", {"stream": 0}),
    ):
        with pytest.raises(error, match=message):
            xp.asarray(Foreign(x, **changes))
    for stream in (None, 1, 2):
        assert xp.asarray(Foreign(x, stream=stream)).tolist() == X.tolist()
    nested = xp.asarray([Foreign(x), X])
    assert nested.device == "cpu" and nested.tolist() == [X.tolist()] * 2


host_memory = np.ones(6)
address_of_host = host_memory.ctypes.data


# ---- other libraries on a real GPU -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_libraries_on_the_gpu_share_memory(cuda, library):
    other = pytest.importorskip(library)
    if not other.cuda.is_available() or "ARRAYX_CUDA_LIBRARY" in os.environ:
        pytest.skip("there is no GPU, or arrayx was built without it")
    module = other.from_dlpack
    x = xp.asarray(np.arange(12.0).reshape(3, 4), device=cuda)
    theirs = module(x.T)
    theirs += 1
    assert x.tolist() == (np.arange(12.0).reshape(3, 4) + 1).tolist()
    assert address(xp.asarray(theirs)) == address(x)
    copied = xp.asarray(theirs, copy=True)
    assert address(copied) != address(x) and copied.tolist() == theirs.tolist()
    assert xp.asarray(theirs, device="cpu", copy=True).tolist() == theirs.tolist()
    mine = xp.from_dlpack(theirs)
    mine *= 2
    assert theirs.tolist() == mine.tolist() == x.T.tolist()
    by_interface = xp.asarray(Foreign(theirs))
    assert address(by_interface) == address(x)
    same(xp.from_dlpack(theirs, device="cpu"), np.asarray(x.to_device("cpu")).T)
    stream = other.cuda.Stream() if library == "torch" else other.cuda.Stream(non_blocking=True)
    handle = stream.cuda_stream if library == "torch" else stream.ptr
    x.__dlpack__(stream=handle)
    shown = {**x.__cuda_array_interface__, "stream": handle}
    assert xp.asarray(Foreign(x, **shown)).tolist() == x.tolist()
