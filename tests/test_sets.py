"""Set functions, compared with NumPy by value equality: NaNs are distinct, the zeros are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, Draw, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)


def unique(a):
    """values, first occurrences, inverse and counts, from a stable order of NumPy's."""
    flat = np.ascontiguousarray(a).reshape(-1)
    order = np.argsort(flat, kind="stable")
    in_order = flat[order]
    starts_run = np.ones(flat.size, bool)
    starts_run[1:] = in_order[1:] != in_order[:-1]
    starts = np.flatnonzero(starts_run)
    inverse = np.empty(flat.size, np.int64)
    inverse[order] = np.cumsum(starts_run) - 1
    counts = np.diff(np.append(starts, flat.size))
    return in_order[starts], order[starts], inverse.reshape(a.shape), counts


def check_unique(a):
    values, indices, inverse, counts = unique(a)
    x = ours(a)
    everything = xp.unique_all(x)
    same(everything.values, values)
    same(everything.indices, indices)
    same(everything.inverse_indices, inverse)
    same(everything.counts, counts)
    with_counts, with_inverse = xp.unique_counts(x), xp.unique_inverse(x)
    same(with_counts.values, values)
    same(with_counts.counts, counts)
    same(with_inverse.values, values)
    same(with_inverse.inverse_indices, inverse)
    same(xp.unique_values(x), values)


@given(seeds)
def test_unique_of_any_array(seed):
    draw = Draw(seed)
    check_unique(draw.array(draw.choice([draw.shape(), (50,), (500,), (30, 40)])))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_of_large_arrays(dtype):
    draw = Draw(11)
    for _ in range(3):
        check_unique(draw.array((400, 300), dtype))


def test_unique_of_millions():
    """More parts of the array than the threads of a block, few of which begin a run."""
    n = 8500
    a = np.repeat(np.arange(250, dtype=np.uint16), n)
    with_counts, with_inverse = xp.unique_counts(ours(a)), xp.unique_inverse(ours(a))
    same(with_counts.values, a[::n])
    same(with_counts.counts, np.full(250, n))
    same(with_inverse.inverse_indices, a.astype(np.int64))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_bytes_that_begin_anywhere(dtype):
    whole = Draw(3).values((70_003,), dtype)
    for first, last in ((0, 70_003), (3, 70_000), (1, 9), (5, 6)):
        a = whole[first:last]
        values, indices, inverse, counts = unique(a)
        result = xp.unique_all(ours(whole)[first:last])
        same(result.values, values)
        same(result.indices, indices)
        same(result.inverse_indices, inverse)
        same(result.counts, counts)
        same(xp.unique_values(ours(whole)[first:last]), values)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_values(dtype, threads):
    """Of few values many elements, in any order, with NaN and both zeros among them."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    draw = Draw(23)
    for length, distinct in ((2048, 3), (5000, 40), (70_001, 900), (300_000, 1), (150_000, 9000)):
        pool = draw.array((distinct,), dtype)
        if pool.dtype.kind == "f":
            some = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan], dtype)
            pool = np.concatenate([pool, some[: draw.choice([2, 4, 5])]])
        a = pool[draw.numpy.integers(0, len(pool), length)]
        with threadpoolctl.threadpool_limits(threads, "openmp"):
            check_unique(a)
            check_unique(np.repeat(a[:3000], 30))


def test_values_whose_keys_fall_together():
    """All of them in one place of a table that multiplies by the golden ratio."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    keys = [(i * inverse) % 2**64 ^ 2**63 for i in range(400)]
    values = np.asarray(keys, np.uint64).view(np.int64)
    check_unique(np.tile(values, 200))


def test_many_values_that_seem_few():
    """Most are one, and the rest more than a table takes."""
    a = np.zeros(400_000, np.int64)
    a[1::2] = np.arange(200_000)
    check_unique(a)
    a = a.astype(np.float32)
    a[1::4] = np.nan
    check_unique(a)


def test_nans_are_distinct_and_zeros_are_one():
    nan = float("nan")
    result = xp.unique_all(xp.asarray([nan, 0.0, nan, -0.0, 1.0]))
    assert result.values.tolist()[:2] == [0.0, 1.0]
    assert result.counts.tolist() == [2, 1, 1, 1]
    assert result.indices.tolist() == [1, 4, 0, 2]
    assert result.inverse_indices.tolist() == [2, 0, 3, 0, 1]


@given(seeds)
def test_isin(seed):
    draw = Draw(seed)
    dtype = draw.choice(DTYPES)
    a = draw.array(draw.choice([draw.shape(), (500,)]), dtype)
    b = draw.array(draw.choice([draw.shape(), (draw.choice([0, 1, 4, 5, 100]),)]), dtype)
    expected = np.zeros(a.shape, bool)
    for value in b.reshape(-1):
        expected |= a == value
    same(xp.isin(ours(a), ours(b)), expected)
    same(xp.isin(ours(a), ours(b), invert=True), ~expected)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if np.dtype(d).kind in "iu"])
def test_isin_of_integers_up_to_the_ends_of_their_dtype(dtype):
    draw = Draw(2)
    ends = np.iinfo(dtype)
    any_value = draw.numpy.integers(ends.min, ends.max, 3000, dtype, endpoint=True)
    for first in [ends.min, ends.max - 90, ends.max // 3]:
        values = np.asarray(first, dtype) + draw.numpy.integers(0, 91, 40).astype(dtype)
        near = np.asarray(first, dtype) + draw.numpy.integers(0, 91, 3000).astype(dtype)
        a = np.concatenate([any_value, near, np.asarray([ends.min, ends.max], dtype)])
        for among in [values, np.append(values, any_value[:1])]:
            same(xp.isin(ours(a), ours(among)), np.isin(a, among))
            same(xp.isin(ours(a), ours(among), invert=True), ~np.isin(a, among))


@pytest.mark.parametrize("dtype", ["int16", "int64"])
def test_isin_of_more_than_a_million(dtype):
    """So many that a GPU's threads look for several."""
    draw = Draw(7)
    a = draw.numpy.integers(-9000, 9000, 1_300_000).astype(dtype)
    among = draw.numpy.integers(-9000, 9000, 3000).astype(dtype)
    same(xp.isin(ours(a), ours(among)), np.isin(a, among))


@pytest.mark.parametrize("count", [0, 1, 3, 200])
def test_isin_lies_as_what_is_looked_for(count):
    draw = Draw(count)
    a = draw.numpy.integers(0, 300, (40, 7, 11))
    among = draw.numpy.integers(0, 300, count)
    for order in [(0, 1, 2), (2, 1, 0), (1, 2, 0)]:
        x = xp.permute_dims(ours(a), order)
        found = xp.isin(x, ours(among))
        same(found, np.isin(a.transpose(order), among))
        assert found.strides == xp.astype(x, xp.bool).strides
        same(xp.isin(x, ours(among), invert=True), ~np.isin(a.transpose(order), among))


def test_isin_promotes_and_takes_scalars():
    x = xp.asarray([1, 2, 3, 2])
    assert xp.isin(x, 2).tolist() == [False, True, False, True]
    assert xp.isin(x, 2.5).tolist() == [False] * 4
    assert xp.isin(x, xp.asarray([2.0, 3.5])).tolist() == [False, True, False, True]
    for values in (x, xp.arange(10)):
        assert bool(xp.isin(2, values)) and xp.isin(2, values).shape == ()
        assert not bool(xp.isin(2, values, invert=True))
        assert not bool(xp.isin(-2, values))
    assert not bool(xp.isin(1, xp.asarray([], dtype=xp.int64)))
    nan = xp.asarray([float("nan")])
    assert xp.isin(nan, nan).tolist() == [False]
    assert xp.isin(nan, nan, invert=True).tolist() == [True]
    with pytest.raises(TypeError):
        xp.isin(1, 2)


@pytest.mark.parametrize("dtype", ["int16", "float32", "complex64"])
@pytest.mark.parametrize("count", [0, 1, 2, 4, 5, 16, 17])
def test_isin_of_some_values(dtype, count):
    a = (np.arange(3000) % 41).astype(dtype).reshape(50, 60)
    values = (np.arange(count) * 3).astype(dtype)
    for invert in (False, True):
        result = xp.isin(xp.asarray(a).T, xp.asarray(values), invert=invert)
        np.testing.assert_array_equal(np.asarray(result), np.isin(a.T, values, invert=invert))
