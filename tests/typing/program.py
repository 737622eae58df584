"""What a user of the namespace writes, with the types that checkers must see.

tests/test_typing.py has mypy and pyright check this file, and runs it with an assert_type that
compares the types of the values.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, assert_type

import arrayx as xp
from arrayx.testing import assert_allclose, assert_array_equal, assert_equal


def creation() -> xp.Array:
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float32, device="cpu")
    assert_type(x, xp.Array)
    assert_type(xp.zeros((2, 3), dtype=xp.int64), xp.Array)
    assert_type(xp.ones(3, device=xp.Device("cpu")), xp.Array)
    assert_type(xp.full((2,), 1j), xp.Array)
    assert_type(xp.arange(0, 10, 2), xp.Array)
    assert_type(xp.linspace(0.0, 1.0, num=5, endpoint=False), xp.Array)
    assert_type(xp.from_dlpack(x), xp.Array)
    assert_type(xp.meshgrid(xp.arange(2), xp.arange(3), indexing="ij"), tuple[xp.Array, ...])
    return x


def attributes(x: xp.Array) -> None:
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(x.size, int)
    assert_type(x.dtype, xp.DType)
    assert_type(x.dtype.name, str)
    assert_type(x.device, xp.Device)
    assert_type(x.device.index, int)
    assert_type(x.writable, bool)
    assert_type(x.T, xp.Array)
    assert_type(x.mT.real, xp.Array)
    assert_type(x.to_device("cpu", stream=None), xp.Array)
    assert_type(memoryview(x).nbytes, int)
    assert_type(len(x), int)


def operators(x: xp.Array) -> None:
    assert_type(x + 1, xp.Array)
    assert_type(2.5 * x, xp.Array)
    assert_type(x / x, xp.Array)
    assert_type(2**x, xp.Array)
    assert_type(x**2, xp.Array)
    assert_type(x @ x.mT, xp.Array)
    assert_type(-x, xp.Array)
    assert_type(abs(x), xp.Array)
    assert_type(x == 1.0, xp.Array)
    assert_type(x != x, xp.Array)
    assert_type(x < 2, xp.Array)
    assert_type((x > 1) & (x < 3), xp.Array)
    assert_type(~(x > 1), xp.Array)
    y = xp.asarray(x, copy=True)
    y += 1
    y[0, :] = 0
    y[y > 3] = 3.0
    y[..., 1] *= 2
    assert_type(y, xp.Array)
    assert_type(x[0], xp.Array)
    assert_type(x[::-1, None, ...], xp.Array)
    assert_type(x[xp.asarray([1, 0])], xp.Array)
    for row in x:
        assert_type(row, xp.Array)
    assert_type(float(x[0, 0]), float)
    assert_type(bool(xp.all(x > 0)), bool)
    assert_type([10, 20][xp.asarray(1)], int)


def functions(x: xp.Array) -> None:
    assert_type(xp.sin(x), xp.Array)
    assert_type(xp.add(x, 1.5), xp.Array)
    assert_type(xp.where(x > 1, x, 0.0), xp.Array)
    assert_type(xp.clip(x, 1, xp.max(x)), xp.Array)
    assert_type(xp.sum(x, axis=(0, 1), dtype=xp.float64, keepdims=True), xp.Array)
    assert_type(xp.mean(x, axis=-1), xp.Array)
    assert_type(xp.var(x, correction=1), xp.Array)
    assert_type(xp.concat([x, x], axis=None), xp.Array)
    assert_type(xp.stack((x, x)), xp.Array)
    assert_type(xp.unstack(x), tuple[xp.Array, ...])
    assert_type(xp.nonzero(x), tuple[xp.Array, ...])
    assert_type(xp.reshape(x, (-1,)), xp.Array)
    assert_type(xp.searchsorted(xp.arange(4), xp.asarray([1]), side="right"), xp.Array)
    assert_type(xp.tensordot(x, x, axes=((0,), (0,))), xp.Array)
    assert_type(xp.astype(x, xp.complex64), xp.Array)
    assert_type(xp.broadcast_shapes((2, 1), (3,)), tuple[int, ...])
    assert_type(xp.unique_all(xp.arange(3)).inverse_indices, xp.Array)
    assert_type(xp.unique_counts(xp.arange(3)).counts, xp.Array)
    function: Callable[..., xp.Array] = xp.exp
    assert_type(function(x), xp.Array)


def methods(x: xp.Array) -> None:
    assert_type(x.sum(axis=0), xp.Array)
    assert_type(x.mean(keepdims=True), xp.Array)
    assert_type(x.std(ddof=1), xp.Array)
    assert_type(x.reshape(4, 1).ravel(), xp.Array)
    assert_type(x.reshape((1, -1)).transpose(), xp.Array)
    assert_type(x.astype(xp.int32).max(), xp.Array)
    assert_type(x.copy(), xp.Array)
    assert_type(x.item(0, 0), bool | int | float | complex)


def dtypes(x: xp.Array) -> None:
    assert_type(xp.float64, xp.DType)
    assert_type(xp.result_type(x, xp.int8, 1.0), xp.DType)
    assert_type(xp.isdtype(x.dtype, ("real floating", xp.int8)), bool)
    assert_type(xp.can_cast(xp.int8, xp.int16), bool)
    assert_type(xp.finfo(xp.float32).eps, float)
    assert_type(xp.iinfo(xp.int8).max, int)
    assert_type(xp.pi, float)
    info = xp.__array_namespace_info__()
    assert_type(info.default_device(), xp.Device)
    assert_type(info.dtypes(kind="integral"), dict[str, xp.DType])


def extensions(x: xp.Array) -> None:
    assert_type(xp.linalg.inv(x), xp.Array)
    assert_type(xp.linalg.eigh(x @ x.mT).eigenvalues, xp.Array)
    assert_type(xp.linalg.slogdet(x).logabsdet, xp.Array)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    assert_type(u * s @ vh, xp.Array)
    assert_type(xp.linalg.vector_norm(x, axis=0, ord=float("inf")), xp.Array)
    assert_type(xp.fft.rfft(x, axis=0, norm="ortho"), xp.Array)
    assert_type(xp.fft.fftfreq(8, d=0.5), xp.Array)
    try:
        xp.linalg.inv(xp.zeros((2, 2)))
    except xp.linalg.LinAlgError as error:
        assert_type(str(error), str)


def devices_and_memory() -> None:
    with xp.Device("cpu") as device:
        assert_type(device, xp.Device)
        assert_type(xp.zeros(2).device == device, bool)
    assert_type(xp.memory.info().in_use, int)
    assert_type(xp.memory.limit("cpu"), int)
    xp.set_default_device("cpu")


def beyond_the_standard(x: xp.Array) -> None:
    assert_type(xp.median(x, axis=0), xp.Array)
    assert_type(xp.nansum(x), xp.Array)
    assert_type(xp.arctan2(x, 1.0), xp.Array)


def files_and_tests(x: xp.Array) -> None:
    file = io.BytesIO()
    xp.savez(file, x, name=xp.arange(3))
    file.seek(0)
    archive = xp.load(file)
    assert isinstance(archive, xp.NpzFile)
    with archive:
        assert_type(archive["name"], xp.Array)
        assert_type(archive.files, list[str])
    assert_allclose(x, x + 1e-9, rtol=1e-6)
    assert_array_equal(x, x.tolist(), strict=False)
    assert_equal({"x": x}, {"x": x})


def generic(x: xp.Array) -> xp.Array:
    namespace: Any = x.__array_namespace__(api_version="2025.12")
    result = namespace.sqrt(x)
    assert isinstance(result, xp.Array)
    return result


def main() -> None:
    x = creation()
    attributes(x)
    operators(x)
    functions(x)
    methods(x)
    dtypes(x)
    extensions(x)
    devices_and_memory()
    beyond_the_standard(x)
    files_and_tests(x)
    assert_type(generic(x), xp.Array)


main()
