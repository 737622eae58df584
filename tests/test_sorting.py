"""Sorting, compared with an order computed by NumPy: stable in both directions, NaN last in both."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, Draw, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)


def order(a, axis, descending):
    """The positions that sort lines along an axis; ties in their order, NaN last."""
    lines = np.moveaxis(a, axis, -1)
    if a.dtype.kind not in "fc":
        _, rank = np.unique(lines, return_inverse=True)
        found = np.argsort(-rank if descending else rank, axis=-1, kind="stable")
    else:
        parts = []
        for part in (lines.real, lines.imag):
            number = np.where(np.isnan(part), 0, -part if descending else part) + 0.0  # one zero
            parts.append((number, np.isnan(part)))
        (real, no_real), (imaginary, no_imaginary) = parts
        found = np.lexsort((imaginary, real, 2 * no_real + no_imaginary), axis=-1)
    return np.moveaxis(found, -1, axis)


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


# Lengths around those at which another way of sorting takes over, and odd numbers of lines.
SHORT = [*range(1, 71), 95, 96, 97, 127, 128, 129, 255, 256, 257, 500, 600, 700, 1023, 1024, 1025]
SHORT += [2047, 2048, 2049, 3000, 4095, 4096, 4097]


def many_short(dtype):
    """Lines enough to be sorted side by side, and some more."""
    return 256 // np.dtype(dtype).itemsize + 5


# Lines of which few are neighbours in memory; others are further on.
@pytest.mark.parametrize("dtype", DTYPES)
def test_short_lines_with_few_neighbours(dtype):
    draw = Draw(11)
    for shape, axis in [((60, 3, 30), 1), ((3, 40, 2, 5), 2), ((90, 9, 3), 1), ((2,) * 9, 5)]:
        a = draw.values(shape, dtype)
        check(a, axis, False)
        check(a[::-1, ..., ::-1], axis, True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_lines_of_every_short_length(dtype):
    draw = Draw(5)
    for n in SHORT:
        # Of narrow keys, longer lines are sorted side by side, too.
        lines = many_short(dtype) if n <= 1024 // np.dtype(dtype).itemsize ** 2 or n <= 70 else 3
        check(draw.values((n, lines), dtype), 0, n % 2 == 0)
        check(draw.values((lines, n), dtype), 1, n % 2 == 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lines", [1, 2, 3, 4, 5, 9, 17, 33, 55, 64])
def test_few_lines_of_short_lengths(dtype, lines):
    draw = Draw(lines)
    for n in [2, 3, 4, 5, 9, 16, 33, 50, 64, 200]:
        check(draw.values((n, lines), dtype), 0, n % 2 == 0)
        check(draw.values((lines, n), dtype), 1, n % 2 == 1)
        check(draw.values((3, n, lines), dtype)[:, ::-1], 1, False)
        check(draw.values((lines, n, 2), dtype)[::-1], 1, True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 7, 31, 64, 65, 1000])
def test_short_lines_along_every_axis_of_any_layout(dtype, n):
    draw = Draw(n)
    for axis in range(3):
        shape = [5, 29]
        shape.insert(axis, n)
        a = draw.layout(draw.values(tuple(shape), dtype))
        for descending in [False, True]:
            check(a, axis - 3 * (n % 2), descending)


@pytest.mark.parametrize("n", [40, 96, 1000, 4096, 5000])
@pytest.mark.parametrize("dtype", ["int16", "uint32", "int64", "uint64", "float32", "float64"])
def test_keys_that_differ_in_some_bits_only(dtype, n):
    """Bits that all keys share are not sorted by; those that differ may be few, low or high."""
    draw = Draw(n)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    size = 8 * unsigned.itemsize
    shape = (many_short(dtype) if n < 64 else 5, n)
    values = draw.numpy.integers(0, np.iinfo(unsigned).max, shape, unsigned, endpoint=True)
    # Widths around the digits of a sort by 8 or 11 bits, and around half a key.
    for width in [1, 7, 8, 9, 11, 12, 16, 17, 22, 23, 32, 33, 34, size]:
        for low in {low for low in (0, 3, size - width) if 0 <= low <= size - width}:
            some = unsigned.type((1 << width) - 1 << low)
            keys = values & some | np.invert(some) & values[0, 0]
            check(keys.view(dtype), 1, width % 2 == 0)


@pytest.mark.parametrize("n", [500, 5000, 150_000])
@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex128"])
def test_keys_that_differ_in_their_highest_and_their_lowest_bits(dtype, n):
    """A position does not fit beside all of such a key: what is left out of it decides later."""
    draw = Draw(n)
    for clusters in [1, 2, n // 4]:
        high = draw.numpy.integers(0, 1 << 12, clusters)[draw.numpy.integers(0, clusters, n)]
        for low in [2, 5, n]:
            keys = np.asarray(high << 50 | draw.numpy.integers(0, low, n), np.int64)
            if dtype == "complex128":
                a = keys.view("float64") + 1j * draw.numpy.integers(0, low, n)
            else:
                a = (keys ^ keys[0] << 1).view(dtype)
            check(a, 0, low == 5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_that_are_nearly_in_order(dtype):
    draw = Draw(3)
    for descending in [False, True]:
        n = 9000
        line = np.take(a := draw.values((n,), dtype), order(a, 0, descending))
        check(line, 0, descending)
        for i in [1, 510, 511, 512, 1022, n - 1]:
            swapped = line.copy()
            swapped[[0, i]] = line[[i, 0]]
            check(swapped, 0, descending)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_long_lines_with_one_pair_out_of_order(dtype, threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    line = np.arange(70_000).astype(dtype)
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        check(line, 0, False)
        for i in [1, 512, 32_767, 32_768, 32_769, 65_536, line.size - 1]:
            swapped = line.copy()
            swapped[[i - 1, i]] = line[[i, i - 1]]
            check(swapped, 0, False)


def test_runs_beside_those_of_another_thread():
    """The first short run is in order, made anew, before the end of the long one is sought."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    n, first, run = 150_000, 65_530, 16
    rng = np.random.default_rng(3)
    real = np.append(np.zeros(first), 1 + np.arange(n - first) // run)
    values = (real + 1j * rng.permutation(n))[rng.permutation(n)]
    x, expected = xp.asarray(values), values[np.lexsort((values.imag, values.real))]
    with threadpoolctl.threadpool_limits(3, "openmp"):
        for _ in range(60):
            same(xp.sort(x), expected)


@pytest.mark.parametrize("dtype", ["uint32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [4100, 40_000])
def test_lines_whose_samples_mislead(dtype, n):
    info = np.iinfo(dtype) if "int" in dtype else np.finfo(dtype)
    rng = np.random.default_rng(n)
    period = (n - 1) // 31  # of samples at equal distances
    mostly_greatest = np.full(n, info.max, dtype)
    mostly_greatest[1::period] = 0
    for a in (
        (np.arange(n) % period).astype(dtype),
        (np.arange(n) % period * 8 + rng.integers(0, 8, n)).astype(dtype),
        mostly_greatest,
        np.full(n, info.max, dtype),
        rng.integers(0, 2, n).astype(dtype),
        np.sort(rng.integers(0, n, n)).astype(dtype),
    ):
        for descending in (False, True):
            check(a, 0, descending)


@pytest.mark.parametrize("n", [9000, 150_000])
def test_lines_that_lie_evenly_and_others(n):
    rng = np.random.default_rng(n)
    normal, even = rng.standard_normal(n), rng.uniform(-1, 1, n)
    for values in [normal, abs(normal), even, normal**9, np.exp(700 * even), 2.0 ** (60 * even)]:
        check(values, 0, False)
        check((2.0**62 / abs(values).max() * values).astype("int64"), 0, True)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float32", "float64", "complex128"])
@pytest.mark.parametrize("n", [48, 70, 1024, 4100, 100_000])
def test_lines_with_a_pattern(dtype, n):
    ramp = np.arange(n)
    # Sorted, reversed, all equal, one low bit, a large bucket of equal high bits, a few runs.
    for values in [
        ramp,
        n - ramp,
        ramp * 0 + 3,
        ramp % 2,
        ramp // (n // 40) * (ramp % 7 > 5),
        ramp % (n // 16),
    ]:
        lines = np.stack([values.astype(dtype)] * (1 if n > 70 else 37))
        check(lines, 1, False)
        check(lines, 1, True)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex64"])
def test_ties_keep_their_order(dtype):
    for n in [17, 64, 70, 1000, 5000, 70_000]:
        line = np.arange(n) // 3 % 2  # half of a line are ties, in threes
        x = ours(np.tile(line.astype(dtype), (max(1, 20_000 // n), 1)))
        zeros, ones = np.flatnonzero(line == 0), np.flatnonzero(line)
        assert (np.asarray(xp.argsort(x)) == [*zeros, *ones]).all()
        assert (np.asarray(xp.argsort(x, descending=True)) == [*ones, *zeros]).all()


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64", "complex64"])
def test_any_number_of_threads_gives_the_same_order(dtype, threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    draw = Draw(11)
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        for shape in [(9001, 33), (50, 6007), (300_007, 1)]:
            a = draw.values(shape, dtype)
            for axis in [0, 1]:
                check(a, axis, False)
                check(a, axis, True)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_lines_longer_than_the_caches(dtype, threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    n = 1_050_000
    rng = np.random.default_rng(n)
    spread = rng.standard_normal(n) * 1e6
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        check(spread.astype(dtype), 0, False)
        # Half of it equal; few values; samples at equal distances that are all alike.
        check(np.where(spread < 0, 7, spread).astype(dtype), 0, True)
        check(rng.integers(-50, 50, n).astype(dtype), 0, False)
        check((np.arange(n) % ((n - 1) // 1023) * 1000).astype(dtype), 0, True)


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_many_lines_of_several_runs(dtype):
    """More of them than are merged, where lines have so many elements together."""
    a = Draw(1).numpy.standard_normal((50, 21_000)) * 1000
    a = a.astype(dtype)
    if dtype != "int16":
        a[::3, ::1000] = np.nan
    for descending in (False, True):
        check(a, 1, descending)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int16", "uint32", "float32", "int64", "float64"]
)
def test_many_lines_that_a_block_holds(dtype):
    """Of as many elements as fill its threads, and some in between."""
    draw = Draw(7)
    longest = 12_288 if np.dtype(dtype).itemsize == 8 else 16_384
    for shape, descending in (((127, 2065), False), ((34, longest), True)):
        a = draw.array(shape, dtype)
        if a.dtype.kind == "f":
            a[:, ::9], a[1::2, ::14], a[:, 1::99] = np.nan, -np.nan, -0.0
        check(a, 1, descending)
        check(np.where(a > 0, a, a.dtype.type(1)), 1, not descending)


def test_many_lines_that_are_not_contiguous():
    """They are copied in parts."""
    a = np.random.default_rng(5).integers(-300, 300, (66, 3, 33_000)).astype(np.float32)
    for b in (a, a[:, ::-1, 1::2], np.moveaxis(a, 0, 1)):
        axis = b.shape.index(66)
        expected = np.argsort(b, axis=axis, kind="stable")
        same(xp.argsort(ours(b), axis=axis), expected)
        same(xp.sort(ours(b), axis=axis), np.take_along_axis(b, expected, axis).copy())


@pytest.mark.parametrize("times", [20, 40_000])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_keep_their_order_and_nan_their_bits(dtype, descending, times):
    bits = np.asarray([0.0, -0.0, 1.0, -0.0, 0.0, np.nan, -np.nan, -1.0], dtype)
    a = np.tile(bits, times)
    for line in [
        a,
        a[::-1],
        np.where(a == 0, a.dtype.type(-0.0), a),
        np.where(a < 0, a, a.dtype.type(np.nan)),
    ]:
        check(line, 0, descending)
        nan = line[np.isnan(line)]
        tail = np.asarray(xp.sort(ours(line), descending=descending))[-nan.size :]
        assert np.array_equal(np.signbit(tail), np.signbit(nan))


@pytest.mark.parametrize("function", [xp.sort, xp.argsort])
def test_axis_is_checked(function):
    for axis in [2, -3]:
        with pytest.raises(IndexError, match=f"axis {axis}.*2 dimensions"):
            function(xp.ones((2, 2)), axis=axis)
    with pytest.raises(IndexError, match="0 dimensions"):
        function(xp.asarray(1.0))


@pytest.mark.parametrize("n", [63, 1100, 1500])
def test_buckets_within_buckets_on_a_small_stack(n):
    """Keys of which each cut takes off a few only, sorted by a thread with little room."""
    size = threading.stack_size(512 * 1024)
    try:
        rng = np.random.default_rng(n)
        powers = np.uint64(1) << np.arange(63, 7, -1 if n > 64 else -3, dtype=np.uint64)
        keys = np.concatenate([powers, rng.integers(0, 200, n - powers.size, dtype=np.uint64)])
        rng.shuffle(keys)
        x, found = xp.asarray(keys), []
        thread = threading.Thread(target=lambda: found.append(xp.sort(x)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    same(found[0], np.sort(keys))


def test_the_input_is_left_alone():
    a = np.asarray([3, 1, 2])
    xp.sort(ours(a))
    xp.argsort(ours(a))
    assert a.tolist() == [3, 1, 2]
