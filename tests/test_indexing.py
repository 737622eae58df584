"""Indexing, compared with NumPy: any key, for reading and writing, in any layout."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, Draw, finished, ours, same, shares_memory

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)
INDEX_DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def draw_key(draw, shape):
    """A key of every kind of item, nearly always in bounds."""
    key = []
    dim, ellipsis = 0, False
    common = draw.choice([(), (1,), (3,), (2,), (2, 3), (0,), (4, 1)])
    while dim < len(shape) or draw.random() < 0.2:
        kind = draw.random()
        n = shape[dim] if dim < len(shape) else 3
        if kind < 0.08:
            key.append(None)
        elif kind < 0.13:
            if not ellipsis:
                key.append(...)
                dim += draw.randint(0, max(0, len(shape) - dim))
                ellipsis = True
        elif kind < 0.17:
            key.append(draw.random() < 0.7)
        elif dim >= len(shape) and draw.random() < 0.95:
            break
        elif kind < 0.35:
            key.append(draw.randint(-n, n - 1) if n and draw.random() < 0.97 else 9)
            dim += 1
        elif kind < 0.6:
            bounds = [None, *range(-n - 1, n + 2)]
            step = draw.choice([None, 1, 2, -1, -2, 3])
            key.append(slice(draw.choice(bounds), draw.choice(bounds), step))
            dim += 1
        elif kind < 0.82:
            dtype = draw.choice(INDEX_DTYPES)
            index_shape = common if draw.random() < 0.7 else draw.choice([(), (1,), common[-1:]])
            low = 0 if dtype.startswith("u") else -n
            index = draw.numpy.integers(low if n else 0, max(n, 1), index_shape).astype(dtype)
            if index.size and draw.random() < 0.03:
                index.reshape(-1)[0] = 100
            key.append(draw.layout(index))
            dim += 1
        else:
            rank = min(draw.randint(1, 3), len(shape) - dim)
            if rank > 0:
                share = draw.choice([0, 0.3, 0.7, 1])
                key.append(draw.layout(draw.numpy.random(shape[dim : dim + rank]) < share))
                dim += rank
        if draw.random() < 0.1:
            break
    return tuple(key)


def our_key(key):
    return tuple(ours(k) if isinstance(k, np.ndarray) else k for k in key)


def attempt(f):
    try:
        return f()
    except (IndexError, ValueError) as error:
        return type(error)


def holds_arrays(key):
    return any(isinstance(k, np.ndarray | bool) for k in key)


@given(seeds)
def test_any_key_reads_what_numpy_reads(seed):
    draw = Draw(seed)
    a = draw.array()
    if draw.random() < 0.1:
        a = np.broadcast_to(a, (2, *a.shape))
    key = draw_key(draw, a.shape)
    expected = attempt(lambda: np.asarray(a[key], dtype=a.dtype))
    whole = ours(a)
    x = attempt(lambda: finished(whole[our_key(key)]))
    if isinstance(expected, type):
        assert x is expected
        return
    same(x, expected)
    if expected.size and not holds_arrays(key):
        assert shares_memory(x, whole)


def assigned(a, key, value):
    """A copy of a with the elements under key replaced, one after the other in row-major order."""
    out = np.array(a).reshape(-1)
    places = np.arange(a.size).reshape(a.shape)[key]
    while value.ndim > places.ndim:
        value = value[0]
    values = np.broadcast_to(value, places.shape).astype(a.dtype)
    for place, v in zip(places.reshape(-1), values.reshape(-1), strict=True):
        out[place] = v
    return out.reshape(a.shape)


@given(seeds)
def test_any_key_writes_what_numpy_writes(seed):
    draw = Draw(seed)
    a = draw.array()
    key = draw_key(draw, a.shape)
    shape = attempt(lambda: a[key].shape)
    if isinstance(shape, type):
        x, before = ours(a), a.copy()
        with pytest.raises(IndexError):
            finished(x.__setitem__(our_key(key), a.dtype.type(1).item()))
        same(x, before)
        return
    value_shape = [1 if draw.random() < 0.2 else n for n in shape]
    value_shape = value_shape[draw.randint(0, len(shape)) if draw.random() < 0.3 else 0 :]
    value_shape = [1] * (draw.random() < 0.1) + value_shape
    dtypes = [d for d in DTYPES if np.promote_types(d, a.dtype) == a.dtype and d != "uint64"]
    value = draw.array(value_shape, draw.choice([a.dtype.name, draw.choice(dtypes)]))
    expected = assigned(a, key, value)
    x = ours(a)
    x[our_key(key)] = ours(value)
    same(x, expected)


@given(seeds)
def test_scalars_are_written_under_any_key(seed):
    draw = Draw(seed)
    a = draw.array()
    key = draw_key(draw, a.shape)
    if isinstance(attempt(lambda: a[key].shape), type):
        return
    scalar = draw.choice([0, 1]) if a.dtype.kind != "b" else draw.random() < 0.5
    expected = assigned(a, key, np.asarray(scalar))
    x = ours(a)
    x[our_key(key)] = scalar
    same(x, expected)


@given(seeds)
def test_source_and_destination_may_overlap(seed):
    draw = Draw(seed)
    n = draw.randint(1, 12)
    a = draw.array((n, n))
    index = draw.numpy.integers(-n, n, n)
    key = draw.choice([(...,), (index,), (slice(None), index), (index, slice(None, None, -1))])
    source = draw.choice(["[::-1]", ".T", "[:, ::-1]", "", "[::-1, ::-1].T"])
    expected = assigned(a, key, eval(f"a{source}", {"a": a.copy()}))
    x = ours(a)
    x[our_key(key)] = eval(f"x{source}", {"x": x})
    same(x, expected)


def test_shifting_in_place():
    x = xp.arange(10)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_the_index_array_may_be_the_array_itself():
    x = xp.asarray([2, 0, 1, 0])
    x[x] = x[::-1]
    assert x.tolist() == [2, 0, 0, 0]
    flags = xp.asarray([True, False, True])
    flags[flags] = False
    assert flags.tolist() == [False, False, False]
    assert xp.asarray([True, False])[xp.asarray([True, False])[::-1]].tolist() == [False]


def test_the_last_of_equal_indices_wins():
    x = xp.zeros((3, 2))
    x[xp.asarray([1, 1, 0, 1])] = xp.reshape(xp.arange(8.0), (4, 2))
    assert x.tolist() == [[4, 5], [6, 7], [0, 0]]


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_the_last_of_equal_indices_wins_on_any_number_of_threads(dtype, threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    draw = Draw(threads)
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        for shape, picks in [((300_000,), 1_200_000), ((3000, 40), 30_000), ((2, 3000), 4000)]:
            key = draw.numpy.integers(0, shape[0], picks)
            value = draw.values((picks, *shape[1:]), dtype)
            plain = draw.values(shape, dtype)
            last = np.full(shape[0], -1)
            np.maximum.at(last, key, np.arange(picks))
            expected = plain.copy()
            expected[last >= 0] = value[last[last >= 0]]
            x = ours(plain.copy())
            x[ours(key)] = ours(value)
            same(x, expected)
            x[ours(key)] = 1
            expected[last >= 0] = 1
            same(x, expected)


@pytest.mark.parametrize(
    ("n", "picks", "dtype"),
    [
        (8_400_001, 1_100_000, "int8"),
        (8_400_001, 1_100_000, "float32"),
        (8_400_001, 1_100_000, "complex128"),
        (8_400_001, 60_000, "int16"),
        (8_400_001, 60_000, "float64"),
        (1_000_003, 60_000, "float32"),
        (20_000_003, 2_200_000, "int8"),
    ],
)
def test_the_last_of_equal_indices_wins_among_very_many_places(n, picks, dtype):
    draw = Draw(5)
    key = draw.numpy.integers(-n, n, picks)
    key[::3] = draw.numpy.integers(n - 1000, n, key[::3].size)
    key[5000:9000] = n // 2
    key[9000:9900] = np.repeat(draw.numpy.integers(0, n, 300), 3)
    value = draw.values((picks,), dtype)
    plain = draw.values((n,), dtype)
    for step in (1, -1):
        last = np.full(n, -1)
        np.maximum.at(last, key[::step], np.arange(picks))
        expected = plain.copy()
        expected[last >= 0] = value[::step][last[last >= 0]]
        x = ours(plain.copy())
        x[ours(key)[::step]] = ours(value)[::step]
        same(x, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_picks_and_places_beyond_the_caches(dtype):
    draw = Draw(4)
    n = 2_100_000
    a = draw.values((n,), dtype)
    for index_dtype in ["int32", "int64", "uint32"]:
        key = draw.numpy.integers(0, n, 70_001).astype(index_dtype)
        if index_dtype != "uint32":
            key[::3] -= n
        same(ours(a)[ours(key)], a[key])
        value, x, expected = draw.values(key.shape, dtype), ours(a.copy()), a.copy()
        x[ours(key)] = ours(value)
        expected[key] = value
        same(x, expected)
        for place in [0, 69_990, 70_000]:
            bad = key.copy()
            bad[place] = n
            with pytest.raises(IndexError, match=out_of_bounds(n, 0, n)):
                finished(ours(a)[ours(bad)])
    rows = draw.numpy.integers(-70_000, 70_000, 5000)
    for width in [1, 3, 7, 16, 30]:
        table = a[: 70_000 * width].reshape(70_000, width)
        same(xp.take(ours(table), ours(rows), axis=0), table[rows])


@pytest.mark.parametrize("dtype", INDEX_DTYPES)
def test_an_index_out_of_bounds_is_found_anywhere_and_nothing_written(dtype):
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    for n in [1, 100, 127]:
        for bad in {low, n, n + 1, high // 2 + 1, high} | ({-n - 1} if low else set()):
            if not low <= bad <= high or -n <= bad < n:
                continue
            for place in range(19):
                key = np.zeros(19, dtype)
                key[place] = bad
                x = xp.ones(n)
                for value in [2.0, xp.zeros(19)]:
                    with pytest.raises(IndexError, match=out_of_bounds(bad, 0, n)):
                        finished(x.__setitem__(ours(key), value))
                    assert xp.all(x == 1)
                with pytest.raises(IndexError, match=out_of_bounds(bad, 0, n)):
                    finished(x[ours(key)])


@pytest.mark.parametrize("count", [1, 2000])
def test_nothing_is_written_to_an_array_of_no_elements(count):
    x, key = xp.zeros(0), xp.zeros(count, dtype=xp.int64)
    for value in [2.0, xp.ones(count)]:
        with pytest.raises(IndexError, match=out_of_bounds(0, 0, 0)):
            finished(x.__setitem__(key, value))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_read_of_no_values(dtype):
    # Of an array that ends where its memory does, which the sanitizers watch.
    a = np.arange(5).astype(dtype)
    for index in ("int8", "uint16", "int32", "int64"):
        x = ours(a.copy())
        x[ours(np.empty(0, index))] = ours(np.empty(0, dtype))
        same(x, a)


def test_one_element_is_written_by_any_kind_of_number():
    for dtype in DTYPES:
        x = xp.zeros((2, 3), dtype=getattr(xp, dtype))
        x[1, -1] = xp.ones((3,), dtype=x.dtype)[1]
        x[0, 0] = True
        x[0, 1] = np.int64(1)
        x[1, 0] = xp.asarray(1)
        x[0, 2] = 1
        same(x, np.asarray([[1, 1, 1], [1, 0, 1]]).astype(dtype))
    x = xp.zeros(2, dtype=xp.float32)
    x[0], x[1] = 2**24 + 1, 0.1
    same(x, np.asarray([2**24 + 1, 0.1], np.float32))
    x = xp.zeros(1, dtype=xp.uint64)
    x[0] = 2**64 - 1
    assert x.tolist() == [2**64 - 1]


@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.5, 0.95, 0.99, 1])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 1023, 1025, 5000, 100_003])
def test_masks_of_any_density(n, share):
    draw = Draw(n)
    mask = draw.numpy.random(n) < share
    for dtype in ["int8", "int16", "float32", "float64", "complex128"]:
        a = draw.values((n,), dtype)
        same(ours(a)[ours(mask)], a[mask])
    same(xp.nonzero(ours(mask))[0], np.flatnonzero(mask))
    bytes_of_any_value = mask * draw.numpy.integers(1, 256, n, np.uint8)
    same(xp.nonzero(ours(bytes_of_any_value))[0], np.flatnonzero(mask))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_large_gathers_scatters_and_masks(dtype):
    draw = Draw(1)
    a = draw.values((700, 600), dtype)
    rows, columns = draw.numpy.integers(-700, 700, 900), draw.numpy.integers(-600, 600, 900)
    pairs = (draw.numpy.integers(0, 700, (400, 500)), draw.numpy.integers(0, 600, (400, 500)))
    mask = draw.numpy.random(a.shape) < 0.4
    for theirs in (a, np.asfortranarray(a), a[::-1]):
        x = ours(theirs)
        for key in [(rows,), (slice(None), columns), pairs, (mask,), (mask.T.copy().T,)]:
            same(x[our_key(key)], theirs[key])
        distinct = draw.numpy.permutation(700)[:500]
        for key in [(distinct,), (mask,), (slice(None), distinct[distinct < 600])]:
            written = ours(theirs.copy(order="K"))
            expected = theirs.copy(order="K")
            value = draw.values(theirs[key].shape, dtype)
            expected[key] = value
            written[our_key(key)] = ours(value)
            same(written, expected)


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("float32", 16), ("int8", 80), ("complex128", 6), ("float64", 333), ("float32", 3)],
)
def test_many_rows_are_assigned_and_the_last_of_equal_ones_stays(dtype, width):
    draw = Draw(width)
    count = 300_000 // width + 20_000
    a, value = draw.values((count, width), dtype), draw.values((count, width), dtype)
    index = draw.numpy.integers(-count, count, count)
    wide = np.repeat(value, 2, axis=1)
    for first in (0, 1):
        for source in (ours(value), ours(wide)[:, ::2]):
            x, expected = ours(a.copy())[:, first:], a.copy()[:, first:]
            x[ours(index)] = source[:, first:]
            expected[index] = value[:, first:]
            same(x, expected)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_rows_of_any_layout_are_assigned_by_one_index_array(dtype):
    draw = Draw(len(dtype))
    for _ in range(60):
        shape = draw.choice([(40, 3), (9, 30, 4), (5, 70, 33), (300, 16), (50,), (2000, 2)])
        a = draw.array(shape, dtype)
        axis = draw.randrange(a.ndim)
        n = a.shape[axis]
        count = draw.choice([(), (1,), (7,), (n,), (3, 5), (n // 2, 2), (3 * n,)])
        index_dtype = draw.choice(INDEX_DTYPES)
        low = 0 if index_dtype.startswith("u") else -min(n, 128)
        index = draw.layout(draw.numpy.integers(low, min(n, 128), count).astype(index_dtype))
        key = (*(draw.choice([slice(None), 0, slice(None, None, -1)]) for _ in range(axis)), index)
        picked = a[key].shape
        value = draw.array(draw.choice([picked, draw.broadcastable(picked)]), dtype)
        for v in (value, draw.values((), dtype)):
            x = ours(draw.layout(a))
            x[our_key(key)] = ours(v)
            same(x, assigned(a, key, v))
        # Nothing is written where any index is wrong.
        if index.size == 0 or n > 100:
            continue
        wrong = index.copy()
        wrong[tuple(draw.randrange(s) for s in wrong.shape)] = 120
        for v in (value, draw.values((), dtype)):
            x = ours(draw.layout(a))
            with pytest.raises(IndexError, match="index 120 is out of bounds"):
                finished(x.__setitem__(our_key((*key[:-1], wrong)), ours(v)))
            same(x, a)


def test_rows_of_no_elements_need_indices_in_bounds():
    for shape in ((3, 0), (0, 3), (0, 0)):
        x, rows = xp.zeros(shape), xp.zeros((2, shape[1]))
        for value in (rows, 1.0):
            x[xp.zeros(0, dtype=xp.int64)] = 1.0
            with pytest.raises(IndexError):
                finished(x.__setitem__(xp.asarray([0, 3]), value))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rows_are_assigned_by_indices_and_values_of_the_array_itself(dtype):
    draw = Draw(7)
    for columns in (1, 3, 16, 64):
        a = draw.numpy.integers(-900, 900, (900, columns)).astype(dtype)
        for value in ("[::-1]", "[:, ::-1]", "[3:4]"):
            x, index = ours(a.copy()), a[:, 0].copy()
            x[x[:, 0]] = eval(f"x{value}", {"x": x})
            same(x, assigned(a, (index,), eval(f"a{value}", {"a": a})))


@pytest.mark.parametrize("dtype", ["uint8", "float64"])
def test_rows_are_assigned_by_pairs_of_indices_and_the_last_stays(dtype):
    draw = Draw(5)
    a, value = draw.values((30, 40, 2, 5), dtype), draw.values((3000, 5, 2), dtype)
    i, j = draw.numpy.integers(-30, 30, 3000), draw.numpy.integers(-40, 40, 3000)
    for step in (1, -1):
        x, expected = ours(a.copy()), a.copy()
        x[::step, :, :, ::-1][ours(i), ours(j)] = ours(value).mT
        expected[::step, :, :, ::-1][i, j] = value.mT
        same(x, expected)
        x, expected = ours(a.copy()), a.copy()
        x[3, :, 0][ours(j.reshape(60, 50))] = ours(value.reshape(60, 50, 10))[:, :, ::step][..., :5]
        expected[3, :, 0][j.reshape(60, 50)] = value.reshape(60, 50, 10)[:, :, ::step][..., :5]
        same(x, expected)


def test_one_value_is_assigned_to_more_than_a_cache_holds():
    x = xp.zeros((8 << 20) + 5, dtype=xp.float64)
    index = np.random.default_rng(1).integers(-x.size, x.size, (4 << 20) + 3)
    x[ours(index)] = 3.0
    expected = np.zeros(x.size)
    expected[index] = 3.0
    same(x, expected)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_masks_choose_goes_past_the_caches(threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    draw = Draw(threads)
    a = np.arange(6 << 20, dtype=np.float64).reshape(2048, 3072)
    mask = draw.numpy.random(a.shape) < 0.98
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        same(ours(a)[ours(mask)], a[mask])
        same(ours(a)[1:, 1:][ours(mask)[1:, 1:]], a[1:, 1:][mask[1:, 1:]])
        for flags in (mask, mask.reshape(-1, 3), mask[1:, 1:]):
            for found, expected in zip(xp.nonzero(ours(flags)), np.nonzero(flags), strict=True):
                same(found, expected)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "complex128"])
def test_masks_of_few_elements_of_large_arrays(dtype, threads):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    draw = Draw(threads)
    a = draw.values((1030, 1100), dtype)
    with threadpoolctl.threadpool_limits(threads, "openmp"):
        for share in (1e-5, 0.0005, 0.02, 0.3):
            mask = draw.numpy.random(a.shape) < share
            mask[500:502] = True
            for view, flags in ((a, mask), (a.T, mask.T), (a[:, ::-2], mask[:, ::-2])):
                same(ours(view)[ours(flags)], view[flags])
                for found, expected in zip(xp.nonzero(ours(flags)), np.nonzero(flags), strict=True):
                    same(found, expected)


def test_masks_of_size_zero_match_any_dimension():
    assert xp.ones((3, 4))[xp.zeros((0,), dtype=xp.bool)].shape == (0, 4)
    assert xp.ones((3, 4))[xp.zeros((3, 0), dtype=xp.bool)].shape == (0,)
    assert xp.asarray(5)[True].shape == (1,)
    assert xp.asarray(5)[xp.asarray(False)].shape == (0,)


def out_of_bounds(index, axis, size):
    """What an error says of an element of an index array; one from a GPU does not know the axis."""
    return rf"index {index} is out of bounds for (axis {axis}|an axis) with size {size}\b"


X = (3, 4)
BAD_READS = [
    ((1, 2, 3), IndexError, "too many indices: array has 2 dimensions but the key names 3"),
    ((..., ...), IndexError, "only one ellipsis"),
    ((0, 4), IndexError, "index 4 is out of bounds for axis 1 with size 4"),
    ((-4,), IndexError, "index -4 is out of bounds for axis 0 with size 3"),
    ((xp.asarray([0, 5, 9]),), IndexError, out_of_bounds(5, 0, 3)),
    ((0, xp.asarray([-5])), IndexError, out_of_bounds(-5, 1, 4)),
    ((xp.asarray([2**63 + 7], dtype=xp.uint64),), IndexError, out_of_bounds(2**63 + 7, 0, 3)),
    ((xp.ones((3, 5), dtype=xp.bool),), IndexError, r"mask of shape \(3, 5\).*axis 1"),
    ((xp.ones((3, 4, 1), dtype=xp.bool),), IndexError, "too many indices"),
    ((xp.asarray([0, 1]), xp.asarray([0, 1, 2])), IndexError, "do not broadcast together"),
    ((xp.asarray([0.5]),), IndexError, "integer dtype or bool"),
    ((slice(None, None, 0),), ValueError, "step"),
]


@pytest.mark.parametrize(("key", "error", "words"), BAD_READS)
def test_a_bad_key_is_refused_and_nothing_written(key, error, words):
    x = xp.ones(X)
    with pytest.raises(error, match=words):
        finished(x[key])
    with pytest.raises(error, match=words):
        finished(x.__setitem__(key, 5.0))
    assert xp.all(x == 1)


def F(shape):
    return xp.ones(shape, dtype=xp.float32)


@pytest.mark.parametrize(
    ("key", "value", "error", "words"),
    [
        (0, F(3), ValueError, r"shape \(3,\).*shape \(4,\)"),
        (slice(None), F((2, 3, 4)), ValueError, r"\(2, 3, 4\)"),
        (xp.ones(X, dtype=xp.bool), F(11), ValueError, r"\(11,\).*\(12,\)"),
        (xp.ones(X, dtype=xp.bool), F(13), ValueError, r"\(13,\).*\(12,\)"),
        (xp.asarray([0, 1]), F((3, 4)), ValueError, r"\(3, 4\).*\(2, 4\)"),
        (0, 1j, TypeError, "complex.*float32"),
        (xp.ones(X, dtype=xp.bool), 1j, TypeError, "complex.*float32"),
        (0, xp.ones(4, dtype=xp.complex64), TypeError, "complex64.*float32"),
        (xp.asarray([0]), xp.ones(4, dtype=xp.complex64), TypeError, "complex64.*float32"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_written(key, value, error, words):
    x = xp.zeros(X, dtype=xp.float32)
    with pytest.raises(error, match=words):
        x[key] = value
    assert not xp.any(x != 0)


def test_what_is_assigned_is_cast_but_keeps_its_imaginary_part():
    x = xp.zeros(4, dtype=xp.float32)
    x[0] = 1
    x[1:3] = xp.asarray([-2, 3], dtype=xp.int8)
    x[3] = True
    assert x.tolist() == [1, -2, 3, 1]
    with pytest.raises(TypeError, match=r"complex64.*float32"):
        x[...] = xp.ones(4, dtype=xp.complex64)
    with pytest.raises(TypeError, match=r"complex.*float32"):
        x[0] = 1j
    assert x.tolist() == [1, -2, 3, 1]
    x[...] = xp.asarray([1, 2, 3, 1e300])
    assert x.tolist() == [1, 2, 3, xp.inf]
    y = xp.zeros(4, dtype=xp.int64)
    y[::-1] = xp.asarray([-2.5, 2.5, 7, 0])
    y[xp.asarray([0])] = 9.75
    assert y.tolist() == [9, 7, 2, -2]


def test_scalars_must_fit_the_dtype():
    x = xp.zeros(3, dtype=xp.int8)
    with pytest.raises(ValueError, match=r"NaN.*int8"):
        x[0] = xp.nan
    with pytest.raises(OverflowError):
        x[0] = 128
    with pytest.raises(OverflowError):
        x[0] = 1e30
    with pytest.raises(OverflowError):
        x[xp.asarray([0])] = -129


def test_what_cannot_be_written():
    memory = np.zeros(3)
    memory.flags.writeable = False
    for key in [0, slice(None), xp.asarray([0]), xp.asarray([True, False, True])]:
        with pytest.raises(ValueError, match="read-only"):
            ours(memory)[key] = 1.0
        with pytest.raises(ValueError, match="broadcast"):
            xp.broadcast_to(xp.zeros(1), (3,))[key] = 1.0


# ---- take, take_along_axis ------------------------------------------------------------------------


@given(seeds)
def test_take(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(min_dims=1))
    axis = draw.randrange(-a.ndim, a.ndim)
    n = a.shape[axis]
    indices = draw.numpy.integers(-n, max(n, 1), draw.shape(0, 2, 4) if n else (0,))
    indices = draw.layout(indices.astype(draw.choice(["int8", "int32", "int64"])))
    same(xp.take(ours(a), ours(indices), axis=axis), np.take(a, indices, axis))
    if a.ndim == 1:
        same(xp.take(ours(a), ours(indices)), np.take(a, indices))


def test_rows_of_any_number_of_bytes_are_picked():
    draw = Draw(5)
    for width in [*range(1, 141), *range(141, 530, 9), 511, 512, 513]:
        table = draw.values((19, width), "int8")
        rows, chosen = draw.numpy.integers(-19, 19, 37), draw.numpy.random(19) < 0.5
        same(xp.take(ours(table), ours(rows), axis=0), table[rows])
        same(ours(table)[:, ::-1][ours(rows)], table[:, ::-1][rows])
        same(ours(table)[ours(chosen)], table[chosen])


# Where signs begin to change, and where they do no more.
@pytest.mark.parametrize("changes", [slice(0, 0), slice(None), slice(300, 1000), slice(990, 1010)])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64"])
def test_indices_of_both_signs(dtype, changes):
    draw = Draw(6)
    n = 2000
    a = draw.values((n,), "float32")
    key = draw.numpy.integers(0, n, 1501).astype(dtype)
    key[changes] -= (n * draw.numpy.integers(0, 2, key[changes].size)).astype(dtype)
    same(ours(a)[ours(key)], a[key])
    x, expected, value = ours(a.copy()), a.copy(), draw.values(key.shape, "float32")
    x[ours(key)] = ours(value)
    expected[key] = value
    same(x, expected)
    for place, bad in [(5, n), (700, -n - 1), (1500, n)]:
        wrong = key.copy()
        wrong[place] = bad
        with pytest.raises(IndexError, match=out_of_bounds(bad, 0, n)):
            finished(ours(a)[ours(wrong)])
        with pytest.raises(IndexError, match=out_of_bounds(bad, 0, n)):
            finished(x.__setitem__(ours(wrong), ours(value)))
        same(x, expected)


# Results past the caches, whichever they are: rows that are picked whole, and rows that are all
# picked from alike, which begin anywhere in a line or with one, and some of one line or less.
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [4096, 1031, 64, 16, 13])
def test_large_take(dtype, columns):
    rows = 41 * 2**20 // np.dtype(dtype).itemsize // columns
    a = np.arange(rows * columns).astype("int16").astype(dtype).reshape(rows, columns)
    x, random = xp.asarray(a), np.random.default_rng(columns)
    for axis, view in [(0, np.s_[:, :]), (1, np.s_[:, :]), (0, np.s_[:, 1:]), (1, np.s_[:, ::-1])]:
        n = a[view].shape[axis]
        indices = random.integers(-n, n, n - 1)
        taken = np.asarray(xp.take(x[view], xp.asarray(indices), axis=axis))
        assert np.array_equal(taken, np.take(a[view], indices, axis))


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_rows_of_items_apart_are_picked_and_assigned(dtype, step):
    random = np.random.default_rng(step % 7)
    for columns in (3, 15, 16, 40, 129):
        a = np.arange(20 * columns * abs(step)).astype("int8").astype(dtype).reshape(20, -1)
        rows = a[:, ::step]
        for index in ("int8", "uint32", "int64"):
            indices = random.integers(0 if index[0] == "u" else -20, 20, 37).astype(index)
            same(xp.take(ours(a)[:, ::step], ours(indices), axis=0), rows[indices])
            for value in (rows[7], np.asarray(5, dtype), rows[:1]):
                expected, x = a.copy(), ours(a.copy())
                expected[:, ::step][indices] = value
                x[:, ::step][ours(indices)] = ours(np.array(value))
                same(x, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_few_slabs_of_any_layout_are_picked_and_assigned(dtype):
    random = np.random.default_rng(3)
    for order in itertools.permutations(range(3)):
        a = np.arange(70 * 3 * 9).astype("int8").astype(dtype).reshape(70, 3, 9).transpose(order)
        for axis in range(3):
            n = a.shape[axis]
            for indices in ([1, -n], [n - 1, 0, n - 1], [2, 1, 0], [1, 1], [[2, 1], [-1, 2]]):
                i = np.array(indices)
                at = (slice(None),) * axis
                if i.ndim == 1:
                    same(xp.take(ours(a), ours(i), axis=axis), np.take(a, i, axis))
                same(ours(a)[(*at, ours(i))], a[(*at, i)])
                # Of equal indices the last one wins.
                values = random.integers(-9, 9, a[(*at, i)].shape).astype("int16")
                for value in (values.astype(dtype), values.astype(dtype)[..., :1], 7):
                    expected, x = a.copy(order="K"), ours(a.copy(order="K"))
                    expected[(*at, i)] = value
                    x[(*at, ours(i))] = ours(value) if isinstance(value, np.ndarray) else value
                    same(x, expected)
            with pytest.raises(IndexError):
                finished(xp.take(ours(a), ours(np.array([0, n])), axis=axis))
            with pytest.raises(IndexError):
                ours(a)[(*at, ours(np.array([0, -n - 1])))] = 1
                finished()


# Runs that the same few indices pick from each of many rows.
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("run", [1, 3, 16, 30, 65, 150])
def test_short_runs_are_picked_from_each_of_many_rows(dtype, run):
    draw = Draw(run)
    many = (1500 if run * np.dtype(dtype).itemsize < 1000 else 400, 17)
    for rows, n in [(8, 5), (9, 131), many if run < 150 else (40, 5)]:
        a = draw.values((2, rows, n, run), dtype)
        drawn = [draw.numpy.integers(-n, n, picks) for picks in (1, 3, 12, 64, 65)]
        even = [[2, 1, 0], [3, 3], [0, 2], [1, 2, 3], list(range(n))[::-1]]
        for indices in (*drawn, *map(np.array, even)):
            for view in (a, a[:, ::-1], a[:, :, ::-1], a[:, :, :, ::-1], a[1, ::2]):
                axis, x = view.ndim - 2, ours(view)
                same(xp.take(x, ours(indices), axis=axis), np.take(view, indices, axis))
            if rows > 100:
                continue
            backwards = indices[::-1]
            same(ours(a)[:, :, ours(backwards)], a[:, :, backwards])
            repeated = np.broadcast_to(a[:, :1], a.shape)
            same(xp.take(ours(repeated), ours(indices), axis=2), np.take(repeated, indices, 2))
        for wrong in (n, -n - 1):
            with pytest.raises(IndexError, match=out_of_bounds(wrong, 2, n)):
                finished(xp.take(ours(a), ours(np.array([0, 2, wrong, 1])), axis=2))


# As many as fit a register: channels of pixels, components of vectors, rows of small matrices.
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "shape", [(700, 3), (700, 4), (33, 8), (40, 5, 3), (500, 2, 2), (70, 3, 4)]
)
def test_few_are_picked_from_each_of_many_short_rows(shape, dtype):
    draw = Draw(len(shape))
    a = draw.values((*shape[:-1], shape[-1] + 3), dtype)
    for view in (a[..., :-3], a[..., :-3].copy(), a[..., 1:-2], a[::2, ..., 3:], a[::-1, ..., 2:]):
        for axis in range(1, view.ndim):
            n = view.shape[axis]
            at = (slice(None),) * axis
            for picks in ([n - 1, 0], [-1, 0, 0, 1], list(range(n))[::-1], [1] * 9, [0]):
                index, expected = ours(np.array(picks)), np.take(view, picks, axis)
                same(xp.take(ours(view), index, axis=axis), expected)
                same(ours(view)[(*at, index)], expected)
            for wrong in (n, -n - 1):
                with pytest.raises(IndexError):
                    finished(xp.take(ours(view), ours(np.array([0, wrong])), axis=axis))


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
@pytest.mark.parametrize(
    "shape", [(700, 4), (40, 31, 6), (9, 5, 40), (3, 1200), (70, 300), (12, 8, 100)]
)
def test_masks_of_an_axis(shape, dtype):
    draw = Draw(shape[0])
    a = draw.values(shape, dtype)
    for view in (a, a[::-1, ..., ::-1], a.T, a[1:, ..., 1:]):
        for axis in range(view.ndim):
            at = (slice(None),) * axis
            for part in (0, 0.1, 0.7, 1):
                mask = draw.numpy.random(view.shape[axis]) < part
                same(ours(view)[(*at, ours(mask))], view[(*at, mask)])


def test_a_tuple_of_one_is_its_entry():
    a = np.arange(40.0).reshape(10, 4)
    index, x = np.array([3, 1, 1]), ours(a)
    same(x[(ours(index),)], a[(index,)])
    same(x[([3, 1],)], a[([3, 1],)])
    same(x[((3, 1),)], a[((3, 1),)])
    same(x[((3, 1), (0, 2))], a[((3, 1), (0, 2))])
    x[(ours(index),)] = 7.0
    a[(index,)] = 7.0
    same(x, a)


def test_items_are_assigned_before_anything_else_is_or_not_at_all():
    x = xp.arange(10.0)
    index, values = xp.asarray([1, 9, 1]), xp.asarray([5.0, 6.0, 7.0])
    x[index] = values
    same(x, np.array([0, 7, 2, 3, 4, 5, 6, 7, 8, 6.0]))
    with pytest.raises(IndexError, match=out_of_bounds(10, 0, 10)):
        x[xp.asarray([0, 10, 2])] = values
        finished(x)
    frozen = xp.broadcast_to(xp.asarray(1.0), (10,))
    with pytest.raises(ValueError, match="is a broadcast view"):
        frozen[index] = values
    with pytest.raises(ValueError, match="does not broadcast"):
        x[index] = xp.arange(4.0)
    x = xp.arange(10.0)
    x[index] = x[2:5]
    same(x, np.array([0, 4, 2, 3, 4, 5, 6, 7, 8, 3.0]))
    places = xp.asarray([2, 0, 1])
    places[places] = places
    same(places, np.array([0, 1, 2]))


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize("picks", [3, 30, 200])
def test_an_index_that_a_view_repeats(dtype, picks):
    a = np.arange(91 * 11 * 17).reshape(91, 11, 17).astype(dtype)
    x, index = ours(a), xp.broadcast_to(xp.asarray(5), (picks,))
    for width in (16, 17):
        expected = np.repeat(a[5:6, :, :width], picks, axis=0)
        same(x[:, :, :width][index], expected)
        same(xp.take(x[:, :, :width], index, axis=0), expected)


@given(seeds)
def test_take_along_axis_broadcasts_the_other_dimensions(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(min_dims=1))
    axis = draw.randrange(a.ndim)
    n = a.shape[axis]
    shape = [draw.choice([1, side]) for side in a.shape]
    shape[axis] = draw.randint(0, 4) if n else 0
    if draw.random() < 0.3:  # x may be the one that repeats
        a = np.array(a[tuple(slice(None) if d == axis else slice(0, 1) for d in range(a.ndim))])
    indices = draw.layout(draw.numpy.integers(-n, max(n, 1), shape))
    x = xp.take_along_axis(ours(a), ours(indices), axis=axis)
    full = np.broadcast_shapes(
        (*a.shape[:axis], 1, *a.shape[axis + 1 :]),
        (*indices.shape[:axis], 1, *tuple(shape[axis + 1 :])),
    )
    wide = (*full[:axis], n, *full[axis + 1 :])
    rows = (*full[:axis], shape[axis], *full[axis + 1 :])
    expected = np.take_along_axis(np.broadcast_to(a, wide), np.broadcast_to(indices, rows), axis)
    same(x, expected)


def test_bad_arguments_of_take():
    x = xp.ones((2, 3))
    with pytest.raises(ValueError, match="axis must be given"):
        xp.take(x, xp.asarray([0]))
    with pytest.raises(IndexError, match=out_of_bounds(3, 1, 3)):
        finished(xp.take(x, xp.asarray([0, 3]), axis=1))
    with pytest.raises(IndexError, match=out_of_bounds(-3, 0, 2)):
        finished(xp.take_along_axis(x, xp.asarray([[-3]]), axis=0))
    for function in (xp.take, xp.take_along_axis):
        with pytest.raises(TypeError, match="float64"):
            function(x, xp.ones((1, 1)), axis=0)
        with pytest.raises(IndexError, match="axis 2"):
            function(x, xp.asarray([[0]]), axis=2)
    with pytest.raises(ValueError, match="dimensions"):
        xp.take_along_axis(x, xp.asarray([0]), axis=0)
    with pytest.raises(ValueError, match="broadcast"):
        xp.take_along_axis(x, xp.zeros((1, 2), dtype=xp.int64), axis=0)
