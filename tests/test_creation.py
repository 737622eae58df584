"""Creation functions, compared with NumPy where it agrees with the standard."""

import math

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from checks import same
from hypothesis import given
from hypothesis import strategies as st

import arrayx as xp

DTYPES = [xp.bool, *xp.__array_namespace_info__().dtypes(kind="numeric").values()]
NUMERIC = DTYPES[1:]
INTEGERS = list(xp.__array_namespace_info__().dtypes(kind="integral").values())
SHAPES = [(), (0,), (3,), (2, 0, 4), (2, 3, 4), (1,) * 64]
small = st.integers(-50, 50)


def to_numpy(x):
    return np.asarray(x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_filled_arrays(shape, dtype):
    same(xp.zeros(shape, dtype=dtype), np.zeros(shape, dtype.name))
    same(xp.ones(shape, dtype=dtype), np.ones(shape, dtype.name))
    same(xp.full(shape, 1, dtype=dtype), np.full(shape, 1, dtype.name))
    assert xp.empty(shape, dtype=dtype).shape == shape
    like = xp.zeros(shape, dtype=dtype)
    same(xp.ones_like(like), np.ones(shape, dtype.name))
    same(xp.zeros_like(like, dtype=xp.int8), np.zeros(shape, "int8"))
    same(xp.full_like(like, True), np.full(shape, True, dtype.name))
    assert xp.empty_like(like).dtype == dtype


def test_a_shape_may_be_an_int():
    assert xp.zeros(3).shape == xp.ones(3).shape == xp.full(3, 1).shape == xp.empty(3).shape == (3,)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, xp.bool), (1, xp.int64), (1.0, xp.float64), (1j, xp.complex128)],
)
def test_full_takes_the_dtype_of_the_value(value, dtype):
    x = xp.full((2, 2), value)
    assert x.dtype == dtype
    assert x.tolist() == [[value] * 2] * 2
    rank0 = xp.asarray(value)
    assert xp.full((2,), rank0).dtype == dtype


def test_likes_copy_no_layout():
    x = xp.permute_dims(xp.zeros((2, 3)), (1, 0))
    assert xp.zeros_like(x).shape == (3, 2)
    assert xp.ones_like(xp.broadcast_to(xp.zeros(1), (4, 3))).writable


@pytest.mark.parametrize("make", [xp.zeros, xp.ones, xp.empty, lambda shape: xp.full(shape, 2)])
def test_impossible_sizes(make):
    with pytest.raises(ValueError, match="negative"):
        make((2, -1))
    with pytest.raises(ValueError, match=r"2\*\*63"):
        make((2**40, 2**40))
    with pytest.raises(ValueError, match=r"2\*\*63"):
        make(2**62)
    with pytest.raises(MemoryError):
        make(2**47)
    assert make((0, 2**62, 2**62)).size == 0
    assert xp.sum(xp.ones(10)) == 10
    with pytest.raises(TypeError, match="shape must be"):
        make("ab")
    with pytest.raises(TypeError, match="shape must be"):
        make(2.5)


def test_values_that_do_not_fit():
    with pytest.raises(OverflowError, match="int8"):
        xp.full(2, 200, dtype=xp.int8)
    with pytest.raises(OverflowError, match="uint8"):
        xp.full(2, -1, dtype=xp.uint8)
    with pytest.raises(TypeError, match="fill_value"):
        xp.full(2, 0.5, dtype=xp.int64)
    with pytest.raises(TypeError, match="fill_value"):
        xp.full(2, 1j, dtype=xp.float64)
    with pytest.raises(ValueError, match="rank 0"):
        xp.full(2, xp.zeros(2))
    with pytest.raises(TypeError, match="dtype"):
        xp.zeros(2, dtype="float23")
    with pytest.raises(ValueError, match="device"):
        xp.zeros(2, device="tpu")


# ---- arange -------------------------------------------------------------------------------------


@given(small, small, small.filter(bool))
def test_integer_ranges_are_pythons(start, stop, step):
    expected = list(range(start, stop, step))
    x = xp.arange(start, stop, step)
    assert x.dtype == xp.int64
    assert x.tolist() == expected
    assert xp.arange(start, stop, step, dtype=xp.float64).tolist() == expected


@given(st.sampled_from(INTEGERS), st.data())
def test_integer_ranges_reach_both_ends_of_a_dtype(dtype, data):
    low, high = xp.iinfo(dtype).min, xp.iinfo(dtype).max
    count = data.draw(st.integers(0, 100))
    start = data.draw(st.integers(low, high))
    end = data.draw(st.sampled_from([low, high]))
    step = (end - start) // max(count, 1) or (1 if end >= start else -1)
    stop = end + (1 if step > 0 else -1)
    expected = range(start, stop, step)
    if len(expected) < 1000:
        x = xp.arange(start, stop, step, dtype=dtype)
        assert x.dtype == dtype
        assert x.tolist() == list(expected)


def test_one_argument_is_the_stop():
    assert xp.arange(3).tolist() == [0, 1, 2]
    assert xp.arange(3.0).dtype == xp.float64
    assert xp.arange(-3).shape == (0,)


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0.1, 100), st.booleans())
def test_floating_ranges(start, stop, step, falling):
    step = -step if falling else step
    x = xp.arange(start, stop, step)
    n = max(0, math.ceil((stop - start) / step))
    assert x.shape == (n,)
    np.testing.assert_array_equal(to_numpy(x), start + np.arange(n) * step)
    single = to_numpy(xp.arange(start, stop, step, dtype=xp.float32))
    np.testing.assert_allclose(single, start + np.arange(n) * step, rtol=1e-6, atol=1e-3)


def test_floating_bounds_of_an_integer_range_are_truncated():
    assert xp.arange(0.0, 3.0, 0.75, dtype=xp.int32).tolist() == [0, 0, 1, 2]
    assert xp.arange(2, dtype=xp.complex64).tolist() == [0, 1]


def test_huge_ranges():
    assert xp.arange(2**63 - 3, 2**63).tolist() == [2**63 - 3, 2**63 - 2, 2**63 - 1]
    assert xp.arange(2**64 - 2, 2**64, dtype=xp.uint64).tolist() == [2**64 - 2, 2**64 - 1]
    assert xp.arange(0, 5, 10**40).tolist() == [0]
    assert xp.arange(-(2**63), 2**63 - 1, 2**63).tolist() == [-(2**63), 0]
    with pytest.raises(ValueError, match=r"2\*\*63"):
        xp.arange(0, 10**30)
    with pytest.raises(ValueError, match=r"2\*\*63"):
        xp.arange(-(10**60), 10**60)
    with pytest.raises((ValueError, MemoryError)):
        xp.arange(0.0, 1e300)
    with pytest.raises(MemoryError):
        xp.arange(2**50)


def test_bad_ranges():
    for zero in (0, 0.0, -0.0, False):
        with pytest.raises(ValueError, match="step must not be 0"):
            xp.arange(0, 5, zero)
    with pytest.raises(OverflowError, match="int8"):
        xp.arange(0, 200, dtype=xp.int8)
    with pytest.raises(OverflowError, match="uint8"):
        xp.arange(-1, 5, dtype=xp.uint8)
    for value in (math.inf, math.nan):
        with pytest.raises(ValueError, match="finite"):
            xp.arange(0, value)
    with pytest.raises(TypeError, match="complex"):
        xp.arange(1j)
    with pytest.raises(TypeError, match="bool"):
        xp.arange(2, dtype=xp.bool)
    with pytest.raises(TypeError, match="start"):
        xp.arange("a")


# ---- linspace -----------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 200), st.booleans())
def test_linspace(start, stop, num, endpoint):
    x = to_numpy(xp.linspace(start, stop, num, endpoint=endpoint))
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    assert x.shape == (num,)
    np.testing.assert_allclose(x, expected, rtol=1e-14, atol=1e-9)
    if num > 0:
        assert x[0] == start
    if num > 1 and endpoint:
        assert x[-1] == stop


def test_linspace_of_each_dtype():
    for dtype in (xp.float32, xp.float64, xp.complex64, xp.complex128):
        x = xp.linspace(0, 1, 5, dtype=dtype)
        assert x.dtype == dtype
        assert x.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert xp.linspace(0, 1 + 2j, 3).tolist() == [0, 0.5 + 1j, 1 + 2j]
    assert xp.linspace(0, 3, 7, dtype=xp.int8).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert xp.linspace(xp.asarray(0.0), xp.asarray(3), 2).tolist() == [0, 3]
    assert xp.linspace(0, 1j, 2, endpoint=False).tolist() == [0, 0.5j]


def test_bad_linspaces():
    with pytest.raises(ValueError, match="num"):
        xp.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="num"):
        xp.linspace(0, 1, 2.0)
    with pytest.raises(TypeError, match="bool"):
        xp.linspace(0, 1, 3, dtype=xp.bool)
    with pytest.raises(TypeError, match="complex"):
        xp.linspace(0, 1j, 3, dtype=xp.float64)
    with pytest.raises(MemoryError):
        xp.linspace(0, 1, 2**47)


# ---- matrices -----------------------------------------------------------------------------------


@given(
    st.integers(0, 6), st.none() | st.integers(0, 6), st.integers(-8, 8), st.sampled_from(DTYPES)
)
def test_eye(rows, columns, k, dtype):
    same(xp.eye(rows, columns, k=k, dtype=dtype), np.eye(rows, columns, k=k, dtype=dtype.name))


def test_diagonals_far_away():
    for k in (2**63 - 1, -(2**63), 10**30, -(10**30)):
        assert xp.count_nonzero(xp.eye(3, k=k)) == 0
        x = xp.ones((3, 3))
        assert xp.count_nonzero(xp.tril(x, k=k)) == (9 if k > 0 else 0)
        assert xp.count_nonzero(xp.triu(x, k=k)) == (0 if k > 0 else 9)
    with pytest.raises(ValueError, match="n_rows"):
        xp.eye(-1)


@given(
    hnp.arrays(
        st.sampled_from([dtype.name for dtype in DTYPES]),
        hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=5),
    ),
    st.integers(-6, 6),
    st.sampled_from([1, -1, 2]),
)
def test_triangles(a, k, step):
    for x, reference in ((xp.asarray(a), a), (xp.asarray(a).mT, np.swapaxes(a, -1, -2))):
        same(xp.tril(x[..., ::step], k=k), np.tril(reference[..., ::step], k))
        same(xp.triu(x[..., ::step], k=k), np.triu(reference[..., ::step], k))


def test_triangles_need_matrices():
    for function in (xp.tril, xp.triu):
        with pytest.raises(ValueError, match="2 dimensions"):
            function(xp.zeros(3))


@given(st.lists(st.integers(0, 4), max_size=4), st.sampled_from(["xy", "ij"]))
def test_meshgrid(sizes, indexing):
    arrays = [np.arange(n, dtype=np.float32) + 10 * i for i, n in enumerate(sizes)]
    result = xp.meshgrid(*map(xp.asarray, arrays), indexing=indexing)
    expected = np.meshgrid(*arrays, indexing=indexing)
    assert isinstance(result, tuple)
    assert len(result) == len(expected)
    for x, y in zip(result, expected, strict=True):
        same(x, y)
        assert x.writable


def test_bad_meshgrids():
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(xp.zeros(2), indexing="ab")
    with pytest.raises(ValueError, match="argument 1"):
        xp.meshgrid(xp.zeros(2), xp.zeros((2, 2)))
    with pytest.raises(TypeError, match="arrays"):
        xp.meshgrid([1, 2])


@pytest.mark.parametrize("dtype", NUMERIC)
def test_results_do_not_share_memory(dtype):
    x = xp.ones((3, 3), dtype=dtype)
    for y in (xp.tril(x, k=5), xp.meshgrid(x[0, :])[0], xp.full_like(x, 1), xp.ones_like(x)):
        y[...] = 0
    assert xp.all(x == 1)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize(
    "shape",
    [
        (2,) * 10,
        (300, 3),
        (3, 300),
        (40, 100, 3),
        (1, 50, 1, 7),
        (5, 70, 70),
        (1000, 1),
        (64, 3, 3),
    ],
)
def test_triangles_of_any_shape_and_layout(shape, dtype):
    """Many small matrices, tall and wide ones, whichever dimensions lie along memory."""
    a = (np.arange(1, math.prod(shape) + 1) % 113).reshape(shape).astype(dtype)
    n = a.ndim
    views = [tuple(range(n)), tuple(range(n))[::-1], (*range(1, n), 0)]
    for order in views:
        b, x = a.transpose(order), xp.permute_dims(xp.asarray(a), order)
        for k in (0, 1, -1, 2, -60, 60, -b.shape[-2], b.shape[-1]):
            same(xp.tril(x, k=k), np.tril(b, k=k))
            same(xp.triu(x, k=k), np.triu(b, k=k))
        same(xp.triu(x[..., ::-1]), np.triu(b[..., ::-1]))
