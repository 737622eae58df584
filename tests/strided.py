"""Arrays for tests: equal contents in every dtype and layout, drawn from a seed."""

import ctypes
import random

import numpy as np
from numpy.lib.array_utils import byte_bounds

import arrayx as xp
from arrayx import _core

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = [*INTEGERS, "float16", "float32", "float64"]
DTYPES = ["bool", *REAL, "complex64", "complex128"]


class Draw(random.Random):
    """Random choices and arrays that a seed determines."""

    def __init__(self, seed):
        super().__init__(seed)
        self.numpy = np.random.default_rng(seed)

    def shape(self, min_dims=0, max_dims=4, max_side=5):
        sides = [0, *range(1, max_side + 1), *range(1, max_side + 1)]
        return tuple(self.choice(sides) for _ in range(self.randint(min_dims, max_dims)))

    def _reals(self, n):
        few = self.numpy.integers(-3, 4, n) * 0.5
        many = self.numpy.standard_normal(n) * 10.0 ** self.randint(-3, 3)
        values = few if self.random() < 0.5 else many
        if self.random() < 0.6:
            special = np.asarray([np.nan, -0.0, 0.0, np.inf, -np.inf])
            which = self.numpy.integers(0, 12, n)
            values = np.where(which < 5, special[np.minimum(which, 4)], values)
        return values

    def values(self, shape, dtype):
        """Many or few distinct values, with the dtype's extremes and special values."""
        n = int(np.prod(shape))
        kind = np.dtype(dtype).kind
        if kind == "b":
            out = self.numpy.random(n) < self.choice([0.1, 0.5, 0.9])
        elif kind in "iu":
            info = np.iinfo(dtype)
            low, high = (0, 4) if self.random() < 0.5 else (info.min, info.max)
            out = self.numpy.integers(low, high, n, dtype=dtype, endpoint=True)
        elif kind == "f":
            out = self._reals(n)
        else:
            out = np.empty(n, np.complex128)
            out.real, out.imag = self._reals(n), self._reals(n)
        with np.errstate(all="ignore"):
            return out.astype(dtype).reshape(shape)

    def layout(self, a):
        """An array of equal contents: permuted, with steps of either sign, or as it is."""
        a = np.asarray(a)
        if a.ndim == 0 or self.random() < 0.3:
            return np.array(a)
        order = self.sample(range(a.ndim), a.ndim)
        steps = [self.choice([1, 2, -1, -2]) for _ in order]
        memory = np.zeros([abs(s) * a.shape[p] for s, p in zip(steps, order, strict=True)], a.dtype)
        view = memory[tuple(slice(None, None, s) for s in steps)].transpose(np.argsort(order))
        view[...] = a
        return view

    def broadcastable(self, shape):
        """A shape that broadcasts to this one: sizes of one instead, leading ones left out."""
        sides = [1 if self.random() < 0.2 else n for n in shape]
        return tuple(sides[self.randint(0, len(sides)) :] if self.random() < 0.2 else sides)

    def array(self, shape=None, dtype=None):
        """NumPy's array in some layout; `ours` makes it an Array."""
        shape = self.shape() if shape is None else shape
        return self.layout(self.values(shape, dtype or self.choice(DTYPES)))


def finished(result=None):
    """A result, when the default device has done its work: an index array that was out of bounds on
    a GPU is an error here, and on the CPU before."""
    _core.synchronize()
    return result


class OnDevice:
    """Memory of a device in a layout of NumPy's, the way another library would hand it over."""

    def __init__(self, memory, a, offset):
        self.__cuda_array_interface__ = {
            "shape": a.shape,
            "strides": a.strides,
            "typestr": a.dtype.str,
            "data": (memory.__cuda_array_interface__["data"][0] + offset, not a.flags.writeable),
            "version": 3,
        }
        self.memory = memory


def ours(a):
    """An Array of the same elements and strides, and on the CPU of the same memory."""
    if _core.default_device() == "cpu" or a.size == 0:
        return xp.asarray(a, copy=False if _core.default_device() == "cpu" else None)
    low, high = byte_bounds(a)
    whole = np.frombuffer((ctypes.c_char * (high - low)).from_address(low), a.dtype)
    return xp.asarray(OnDevice(xp.asarray(whole), a, a.ctypes.data - low))


def shares_memory(x, y):
    """Whether two Arrays have memory in common; on other devices by where they begin and end."""
    if x.device == "cpu":
        return np.shares_memory(np.asarray(x), np.asarray(y))
    spans = []
    for a in (x, y):
        reach = [s * (n - 1) for s, n in zip(a.strides, a.shape, strict=True)]
        start = a.__cuda_array_interface__["data"][0]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        spans.append((start + low, start + high + a.itemsize))
    return x.size and y.size and spans[0][0] < spans[1][1] and spans[1][0] < spans[0][1]


def bits(a):
    """The bytes of an array in row-major order, as words if they are whole ones, without a copy of
    what lies so."""
    flat = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
    return flat if flat.size % 8 else flat.view(np.uint64)


def same(x, expected):
    """The same shape, dtype and bits."""
    expected = np.asarray(expected)
    assert isinstance(x, xp.Array)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    assert np.array_equal(bits(np.asarray(x)), bits(expected))


def alike(x, expected):
    """The same shape and dtype; the same bits, but for those of NaN."""
    expected = np.asarray(expected)
    assert isinstance(x, xp.Array)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    got = np.asarray(x)
    for a, b in [(got.real, expected.real), (got.imag, expected.imag)]:
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            number = ~np.isnan(b)
            np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


def near(x, exact, dtype, ulps, slack=0.0):
    """A shape and dtype; each element within so many ulps (of the modulus) of a value in a wider
    dtype, or within `slack` where that is more; infinities and NaN in the same parts."""
    assert isinstance(x, xp.Array)
    assert x.shape == exact.shape
    assert x.dtype == dtype
    got = np.asarray(x)
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        error = np.abs(got - exact)
        bound = np.maximum(ulps * np.spacing(np.abs(rounded)), slack)
        good = (error <= bound) | (got == rounded)
        special = [
            (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b))
            for a, b in [(got.real, rounded.real), (got.imag, rounded.imag)]
        ]
    good = np.where(np.isfinite(rounded), good, special[0] & special[1])
    assert good.all(), (got[~good][:3], exact[~good][:3], (error / bound)[~good][:3])
