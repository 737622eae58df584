"""Sorting, compared with an order computed by NumPy: stable in both directions, NaN last in both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, Draw, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)


def line_order(line, descending):
    """The positions that sort a one-dimensional array; ties in their order, NaN last."""
    if line.dtype.kind not in "fc":
        _, rank = np.unique(line, return_inverse=True)
        return np.argsort(-rank if descending else rank, kind="stable")
    sign = -1 if descending else 1
    parts = []
    for part in (line.real, line.imag):
        number = np.where(np.isnan(part), 0, sign * part) + 0.0  # one zero
        parts.append((number, np.isnan(part)))
    (real, no_real), (imaginary, no_imaginary) = parts
    return np.lexsort((imaginary, real, 2 * no_real + no_imaginary))


def order(a, axis, descending):
    lines = np.moveaxis(a, axis, -1)
    out = np.empty(lines.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        out[at] = line_order(lines[at], descending)
    return np.moveaxis(out, -1, axis)


def check(a, axis, descending):
    expected = order(a, axis, descending)
    x = ours(a)
    same(xp.argsort(x, axis=axis, descending=descending), expected)
    same(
        xp.sort(x, axis=axis, descending=descending),
        np.ascontiguousarray(np.take_along_axis(a, expected, axis)),
    )


@given(seeds)
def test_any_array_along_any_axis(seed):
    draw = Draw(seed)
    shapes = [draw.shape(min_dims=1), (draw.randint(1, 400),), (40, 50), (20, 300), (300, 20)]
    a = draw.array(draw.choice(shapes))
    check(a, draw.randrange(-a.ndim, a.ndim), draw.random() < 0.5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2000, 20_000, 150_000])
def test_long_lines(dtype, n):
    draw = Draw(n)
    for a in [draw.values((n,), dtype), draw.values((n,), dtype), draw.values((2, n), dtype).T]:
        check(a, 0, False)
        check(a[::-1], 0, True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float32", "float64", "complex128"])
def test_long_lines_with_a_pattern(dtype):
    n = 100_000
    ramp = np.arange(n)
    # Sorted, reversed, all equal, one low bit, a large bucket of equal high bits, a few runs.
    for values in [
        ramp,
        n - ramp,
        ramp * 0 + 3,
        ramp % 2,
        ramp // 1000 * (ramp % 7 > 5),
        ramp % 300,
    ]:
        check(values.astype(dtype), 0, False)
        check(values.astype(dtype), 0, True)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_keep_their_order_and_nan_their_bits(dtype, descending):
    bits = np.asarray([0.0, -0.0, 1.0, -0.0, 0.0, np.nan, -np.nan, -1.0], dtype)
    a = np.tile(bits, 20)
    check(a, 0, descending)
    check(a[::-1], 0, descending)
    tail = np.asarray(xp.sort(ours(a), descending=descending))[-40:]
    assert np.signbit(tail).tolist() == np.signbit(a[np.isnan(a)]).tolist()


@pytest.mark.parametrize("function", [xp.sort, xp.argsort])
def test_axis_is_checked(function):
    for axis in [2, -3]:
        with pytest.raises(IndexError, match=f"axis {axis}.*2 dimensions"):
            function(xp.ones((2, 2)), axis=axis)
    with pytest.raises(IndexError, match="0 dimensions"):
        function(xp.asarray(1.0))


def test_the_input_is_left_alone():
    a = np.asarray([3, 1, 2])
    xp.sort(ours(a))
    xp.argsort(ours(a))
    assert a.tolist() == [3, 1, 2]
