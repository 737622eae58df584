"""nonzero and searchsorted, compared with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, Draw, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)

# ---- nonzero ------------------------------------------------------------------------------------


@given(seeds)
def test_nonzero_in_any_layout(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(min_dims=1, max_dims=5))
    columns = xp.nonzero(ours(a))
    assert isinstance(columns, tuple) and len(columns) == a.ndim
    for x, expected in zip(columns, np.nonzero(a), strict=True):
        same(x, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_of_large_arrays(dtype):
    draw = Draw(3)
    for shape in [(300_000,), (700, 500), (100_000, 3), (3, 100_000), (40, 50, 60, 2)]:
        a = draw.values(shape, dtype)
        a[draw.numpy.random(shape) < draw.choice([0.1, 0.99])] = 0
        for theirs in (a, a.T, a[::-1]):
            for x, expected in zip(xp.nonzero(ours(theirs)), np.nonzero(theirs), strict=True):
                same(x, expected)


def test_what_counts_as_zero():
    x = xp.asarray([0.0, -0.0, float("nan"), 5e-324, float("inf")])
    assert xp.nonzero(x)[0].tolist() == [2, 3, 4]
    x = xp.asarray([0j, complex(-0.0, -0.0), 1j, 1, complex(0, float("nan"))])
    assert xp.nonzero(x)[0].tolist() == [2, 3, 4]


def test_nonzero_of_rank_0_is_refused():
    with pytest.raises(ValueError, match="at least one dimension"):
        xp.nonzero(xp.asarray(1))


# ---- searchsorted ---------------------------------------------------------------------------------


@given(seeds)
def test_searchsorted(seed):
    draw = Draw(seed)
    dtype = draw.choice(DTYPES)
    a = draw.values((draw.choice([0, 1, 2, 5, 40, 700]),), dtype)
    values = draw.array(dtype=dtype)
    order = np.argsort(a, kind="stable")
    side = draw.choice(["left", "right"])
    expected = np.asarray(np.searchsorted(a[order], values, side=side), np.int64)
    sorted_x = ours(draw.layout(a[order]))
    same(xp.searchsorted(sorted_x, ours(values), side=side), expected)
    sorter = ours(draw.layout(order.astype(draw.choice(["int32", "int64", "uint64"]))))
    x = ours(draw.layout(a))
    same(xp.searchsorted(x, ours(values), side=side, sorter=sorter), expected)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64"])
def test_searchsorted_with_many_values(dtype, side):
    draw = Draw(5)
    a = np.sort(draw.values((50_001,), dtype))
    values = draw.values((300, 400), dtype)
    expected = np.searchsorted(a, values, side=side)
    same(xp.searchsorted(ours(a), ours(values), side=side), expected)
    same(xp.searchsorted(ours(a), ours(values.T), side=side), expected.T)


def test_searchsorted_promotes_and_takes_scalars():
    x = xp.asarray([1, 2, 2, 3])
    assert int(xp.searchsorted(x, 2)) == 1
    assert int(xp.searchsorted(x, 2, side="right")) == 3
    assert int(xp.searchsorted(x, 2.5)) == 3
    assert xp.searchsorted(x, 2).shape == ()
    assert xp.searchsorted(x, xp.asarray([0.5, 2.5])).tolist() == [0, 3]
    assert int(xp.searchsorted(xp.asarray([1.0, float("nan")]), float("nan"))) == 1


def test_bad_arguments_of_searchsorted():
    x = xp.asarray([1, 2, 3])
    with pytest.raises(ValueError, match=r"one dimension.*\(1, 3\)"):
        xp.searchsorted(xp.reshape(x, (1, 3)), x)
    with pytest.raises(ValueError, match=r"shape of x1, \(3,\).*\(2,\)"):
        xp.searchsorted(x, x, sorter=xp.asarray([0, 1]))
    with pytest.raises(TypeError, match="sorter has dtype float64"):
        xp.searchsorted(x, x, sorter=xp.zeros(3))
    for bad in (-1, 3):
        with pytest.raises(IndexError, match="sorter"):
            xp.searchsorted(x, x, sorter=xp.asarray([0, bad, 1]))
    with pytest.raises(ValueError, match="side"):
        xp.searchsorted(x, x, side="middle")
    with pytest.raises(TypeError, match="uint64"):
        xp.searchsorted(x, xp.asarray([1], dtype=xp.uint64))
