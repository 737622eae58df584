"""The searching chapter: argmax, argmin, nonzero, searchsorted and where, compared with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, REAL, Draw, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)

# ---- argmax, argmin -----------------------------------------------------------------------------


def check_extremes(a, axis, keepdims):
    for f, theirs in ((xp.argmax, np.argmax), (xp.argmin, np.argmin)):
        expected = np.asarray(theirs(a, axis=axis, keepdims=keepdims), np.int64)
        same(f(ours(a), axis=axis, keepdims=keepdims), expected)


@given(seeds)
def test_the_first_extreme_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(["bool", *REAL])
    a = draw.array(draw.shape(max_dims=6, max_side=4), dtype)
    axis = draw.choice([None, *range(-a.ndim, a.ndim)])
    keepdims = draw.random() < 0.5
    if a.size == 0 and np.sum(a, axis=axis).size > 0:
        for f in (xp.argmax, xp.argmin):
            with pytest.raises(ValueError, match=f"{f.__name__}.*no element to choose from"):
                f(ours(a), axis=axis, keepdims=keepdims)
        return
    if a.size == 0:
        shape = np.sum(a, axis=axis, keepdims=keepdims).shape
        same(xp.argmax(ours(a), axis=axis, keepdims=keepdims), np.zeros(shape, np.int64))
        return
    check_extremes(a, axis, keepdims)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1_200_007,), (1_201, 1_003), (3, 400_009), (400_009, 3)])
def test_extremes_of_large_arrays(dtype, shape):
    a = Draw(7).values(shape, dtype)
    for axis in [None, *range(len(shape))]:
        check_extremes(a, axis, False)
        check_extremes(a[::-1], axis, True)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_first_of_equal_bytes_in_rows_and_columns_that_begin_anywhere(dtype):
    info = np.iinfo(dtype)
    line = Draw(8).numpy.choice([info.min, info.max], 300_000, p=[0.99, 0.01]).astype(dtype)
    for n in (16, 17, 111, 405, 1677):
        rows = line[: line.size // n * n].reshape(-1, n)
        for a in (rows, rows[:, 1:], rows[:, 5:-3], np.full((700, n), info.min, dtype)[:, 3:]):
            check_extremes(a, 1, False)
            check_extremes(a, 0, False)


@pytest.mark.parametrize("dtype", REAL)
def test_the_first_extreme_of_rows_of_any_length(dtype):
    draw = Draw(9)
    lengths = [*range(1, 140), 191, 192, 193, 255, 256, 257, 300, 511, 512, 513, 1023, 1025]
    for n in lengths:
        a = draw.numpy.integers(0, 4, (9, n)).astype(dtype)  # many of which are equal
        a[np.arange(8), draw.numpy.integers(0, n, 8)] = 5
        a[8] = 1
        check_extremes(a, 1, False)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_nan_is_an_extreme(dtype):
    for n in (1, 9, 64, 1000, 700_001):
        for place in {0, n // 3, n - 1}:
            a = np.linspace(-1, 1, n, dtype=dtype)
            a[place:] = np.where(np.arange(n - place) % 2, a[place:], np.nan)
            assert int(xp.argmax(ours(a))) == int(xp.argmin(ours(a))) == place
            check_extremes(np.stack([a, a[::-1]], axis=1), 0, False)


def test_zeros_are_equal_whatever_their_sign():
    for values in ([0.0, -0.0], [-0.0, 0.0]):
        assert int(xp.argmax(xp.asarray(values))) == int(xp.argmin(xp.asarray(values))) == 0


def test_bad_arguments_of_argmax():
    x = xp.ones((2, 3))
    for f in (xp.argmax, xp.argmin):
        with pytest.raises(IndexError, match="axis 2"):
            f(x, axis=2)
        with pytest.raises(TypeError, match="axis"):
            f(x, axis=(0, 1))
        with pytest.raises(TypeError, match="complex64"):
            f(xp.ones(2, dtype=xp.complex64))


# ---- where --------------------------------------------------------------------------------------


@given(seeds)
def test_where_chooses(seed):
    draw = Draw(seed)
    shape = draw.shape(max_dims=6, max_side=3)
    condition = draw.array(draw.broadcastable(shape), "bool")
    dtypes = [draw.choice(DTYPES)] * 2
    if draw.random() < 0.4:
        dtypes[1] = draw.choice([d for d in DTYPES if np.dtype(d).kind == np.dtype(dtypes[0]).kind])
    a, b = (draw.array(draw.broadcastable(shape), d) for d in dtypes)
    same(xp.where(ours(condition), ours(a), ours(b)), np.where(condition, a, b))
    scalar = draw.choice([0, 1, 3])
    if dtypes[0] != "bool":
        cast = np.asarray(scalar).astype(dtypes[0])
        same(xp.where(ours(condition), ours(a), scalar), np.where(condition, a, cast))
        same(xp.where(ours(condition), scalar, ours(a)), np.where(condition, cast, a))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_of_large_arrays(dtype):
    draw = Draw(8)
    condition = draw.values((1_003, 707), "bool")
    a, b = draw.values((1_003, 707), dtype), draw.values((707, 1_003), dtype).T
    same(xp.where(ours(condition), ours(a), ours(b)), np.where(condition, a, b))
    same(xp.where(ours(condition[::-1]), ours(a[:1]), ours(b)), np.where(condition[::-1], a[:1], b))


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


@pytest.mark.parametrize(
    "shape",
    [
        (1100, 2, 1, 7, 3),
        (3, 1030, 5),
        (2, 1023, 31),
        (1024, 32),
        (2,) * 17,
        (1, 9001, 1, 1),
        (7, 0, 3),
    ],
)
def test_indices_of_short_and_of_long_dimensions(shape):
    """Of short rows several are looked through at a time, whose indices wrap."""
    draw = Draw(len(shape))
    for share in (0, 0.3, 1):
        a = (draw.numpy.random(shape) < share) * draw.numpy.integers(1, 9, shape)
        for theirs in (a, a != 0, a[::-1], a.astype(np.complex64)):
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


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64", "complex128"])
def test_searchsorted_of_values_in_order(dtype, side):
    """Those are sought from where the one before was found."""
    draw = Draw(6)
    for n in [1, 30, 5000]:
        a = np.sort(draw.values((n,), dtype))
        for count in [9, 64, 65, 1000, 5000]:
            values = np.sort(draw.values((count,), dtype))
            broken = values.copy()
            broken[count // 2 :] = values[: count - count // 2]
            for sought in [values, values[::-1].copy(), broken, np.repeat(values[:3], count)]:
                expected = np.searchsorted(a, sought, side=side)
                same(xp.searchsorted(ours(a), ours(sought), side=side), expected)


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
