"""Rows that fill a pack of memory are assigned as single items are: of equal indices the last wins."""

import numpy as np
import pytest
from strided import finished, ours, same

import arrayx as xp
from arrayx import _core

# Of 2, 4, 8 and 16 bytes, and of three, which fill none.
ROWS = [
    ("int8", 2),
    ("int16", 2),
    ("int8", 8),
    ("float32", 2),
    ("float32", 4),
    ("float64", 2),
    ("complex64", 2),
    ("int8", 16),
    ("int8", 3),
]
# Places and indices: few and many of each, which are assigned in different ways.
SIZES = [
    (50, 300),
    (5_000, 300),
    (1_000, 100_000),
    (200_003, 100_000),
    (3_900_007, 280_000),
    (1_300_003, 600_000),
    (4_800_007, 600_000),
    (1_900_003, 1_200_000),
    (2_300_003, 2_400_000),
]


def rows(rng, count, columns, dtype):
    return rng.integers(-99, 99, (count, columns), np.int8).astype(dtype)


def for_device(places, count):
    """As many as make a GPU go its ways; on a CPU, which has none that begin there, a quarter."""
    if _core.default_device() != "cpu" or count < 100_000:
        return places, count
    return places // 4, count // 4


def expected_of(a, index, value):
    """a with its rows assigned one after the other."""
    last = np.full(len(a), -1)
    np.maximum.at(last, index, np.arange(len(index)))
    return np.where(last[:, None] >= 0, value[last], a)


def check_assignment(rng, index, places, columns, dtype, wrong):
    """Rows go where index says; with a wrong index in one position nothing is written."""
    a, value = rows(rng, places, columns, dtype), rows(rng, len(index), columns, dtype)
    expected = expected_of(a, index, value)
    x = ours(a)
    x[ours(index), ...] = ours(value)
    same(x, expected)
    position, place = wrong
    index[position] = place
    with pytest.raises(IndexError, match=f"index {place} is out of bounds"):
        finished(x.__setitem__((ours(index), ...), ours(value[::-1])))
    same(x, expected)


@pytest.mark.parametrize("places, count", SIZES)
@pytest.mark.parametrize("dtype, columns", ROWS)
def test_the_last_of_equal_indices_wins(dtype, columns, places, count):
    rng = np.random.default_rng(columns)
    a, value = rows(rng, places, columns, dtype), rows(rng, count, columns, dtype)
    index = rng.integers(-places, places, count)
    expected = expected_of(a, index, value)
    x = ours(a)
    x[ours(index)] = ours(value)
    same(x, expected)
    # Every second row, and rows backwards.
    x, twice = ours(np.repeat(a, 2, axis=0)), ours(np.repeat(value[::-1], 2, axis=0))
    x[::2, :][ours(index)] = twice[::-2, :]
    same(x[::2, :], expected)
    same(x[1::2, :], a)


@pytest.mark.parametrize("dtype, columns", ROWS)
def test_rows_that_begin_anywhere(dtype, columns):
    rng = np.random.default_rng(columns)
    places, count = 3_000, 400
    a, value = rows(rng, places, columns + 1, dtype), rows(rng, count, columns + 1, dtype)
    index = rng.integers(0, places, count)
    x, y = ours(a), ours(value)
    x[:, 1:][ours(index)] = y[:, :-1]
    same(x[:, 1:], expected_of(a[:, 1:], index, value[:, :-1]))
    # A column for whole rows.
    x = ours(a)
    x[:, 1:][ours(index)] = y[:, :1]
    same(x[:, 1:], expected_of(a[:, 1:], index, np.broadcast_to(value[:, :1], (count, columns))))
    same(x[:, 0], a[:, 0])


@pytest.mark.parametrize("places, count", SIZES)
def test_nothing_is_written_where_an_index_is_wrong(places, count):
    rng = np.random.default_rng(places)
    a, value = rows(rng, places, 2, "float64"), rows(rng, count, 2, "float64")
    index = rng.integers(0, places, count)
    index[count // 3] = places
    x = ours(a)
    with pytest.raises(IndexError, match=f"index {places} is out of bounds"):
        finished(x.__setitem__(ours(index), ours(value)))
    same(x, a)


# Views that have what is to be written.
VIEWS = {
    "side by side": ours,
    "every second": lambda v: ours(np.repeat(v, 2, axis=0))[::2, ...],
    "backwards": lambda v: ours(v[::-1].copy())[::-1, ...],
    "one for all": lambda v: xp.broadcast_to(ours(v[:1]), v.shape),
}


# On a GPU blocks wait for each other where indices are few, and a kernel of its own writes where
# there are more; places have slots of their own, or share them.
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "places, count",
    [
        (9, 2),
        (500, 200),
        (100_003, 20_000),
        (9_000_011, 20_000),
        (3_900_007, 50_000),
        (9_000_011, 70_000),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float64", "complex128"])
def test_few_single_items(dtype, places, count, view):
    rng = np.random.default_rng(count)
    a, value = rows(rng, places, 1, dtype), rows(rng, count, 1, dtype)
    if view == "one for all":
        value[...] = value[0]
    index = rng.integers(-places, places, count)
    index[::2] = rng.choice(index[1::2], len(index[::2]))  # half of them at least are meant again
    expected, given = expected_of(a, index, value), VIEWS[view](value)
    for i in (index, (index % places).astype(np.uint64), index.astype(np.int32)):
        x = ours(a)
        x[ours(i), ...] = given
        same(x, expected)
    i = ours(index.reshape(2, -1))
    x = ours(a)
    x[i, ...] = xp.reshape(given, (*i.shape, 1))
    same(x, expected)
    x[i, ...] = 7
    expected[index] = 7
    same(x, expected)
    index[count // 2] = places
    with pytest.raises(IndexError, match=f"index {places} is out of bounds"):
        finished(x.__setitem__((ours(index), ...), given))
    same(x, expected)


# On a GPU a block has some of the runs of 2^7 places, and what of them is meant, so much at a time.
RUNS = {
    "one run": [1_000],
    "runs far apart": range(0, 35_000, 1_024),
    "runs of one block": [i * 1_024 + (5 - 37 * i) % 1_024 for i in range(36)],
    "places far apart": None,
}


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("places", [4_800_007, 9_700_007])
@pytest.mark.parametrize("dtype, columns", [("float64", 1), ("int8", 1), ("float32", 3)])
def test_few_places_of_many(dtype, columns, places, runs):
    rng = np.random.default_rng(columns)
    count = 600_000
    if RUNS[runs] is None:
        index = rng.integers(0, 100, count) * 48_000
    else:
        index = rng.choice(RUNS[runs], count) * 128 + rng.integers(0, 128, count)
    a, value = rows(rng, places, columns, dtype), rows(rng, count, columns, dtype)
    x = ours(a)
    x[ours(index), ...] = ours(value)
    same(x, expected_of(a, index, value))


# On a GPU a block takes out what it means again later where few places are meant many times.
SHARES = {"few places": 1, "and others": 0.3, "in a row": 0}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    "dtype, columns", [("float64", 1), ("int8", 1), ("float32", 3), ("float64", 2)]
)
@pytest.mark.parametrize(
    "places, count",
    [
        (50, 1_000),
        (300, 150_000),
        (4_096, 150_000),
        (18_000, 600_000),
        (200_003, 150_000),
        (1_000_003, 300_000),
        (4_800_007, 600_000),
        (9_700_007, 600_000),
        (1_300_003, 600_000),
        (9_000_011, 1_100_000),
        (2_400_007, 2_200_000),
    ],
)
def test_places_that_are_meant_many_times(places, count, dtype, columns, share):
    places, count = for_device(places, count)
    rng = np.random.default_rng(columns)
    index = np.repeat(rng.integers(0, places, count // 10), 10)[:count]
    if SHARES[share] > 0:
        index = rng.integers(0, places, count)
        some = rng.random(count) < SHARES[share]
        index[some] = rng.integers(-16, 0, some.sum()) * (places // 16)
    check_assignment(rng, index, places, columns, dtype, (len(index) // 2, -places - 1))


@pytest.mark.parametrize("width", [300, 4_096, 70_000])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "places, count", [(4_194_304, 600_000), (9_700_007, 1_100_000), (2_400_007, 2_200_000)]
)
def test_places_of_a_cluster(places, count, dtype, width):
    places, count = for_device(places, count)
    rng = np.random.default_rng(width)
    index = rng.integers(0, width, count) + places // 3
    a, value = rows(rng, places, 1, dtype), rows(rng, count, 1, dtype)
    x = ours(a)
    x[ours(index), ...] = ours(value)
    same(x, expected_of(a, index, value))


# On a GPU blocks that have some of the places each find out whether all are in order: those of a
# warp first, then those that other warps have next.
ORDERS = {
    "in order": lambda i: i,
    "none twice": lambda i: i[np.diff(i, prepend=-1) > 0],
    "from the end": lambda i: i - i[-1] - 1,
    "two runs": lambda i: np.roll(i, len(i) // 2),
    "the last one elsewhere": lambda i: np.append(i[:-1], i[0]),
    "two neighbours exchanged": lambda i: exchanged(i, len(i) // 2 + 5),
    "again from a warp on": lambda i: np.tile(i[: len(i) // 64 * 32], 2),
    "again from a block on": lambda i: np.tile(i[: len(i) >> 15 << 14], 2),
}


def exchanged(index, k):
    """index with its item k and the last one below it exchanged."""
    below = np.flatnonzero(index[:k] < index[k])[-1]
    index[[below, k]] = index[[k, below]]
    return index


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "places, count, dtype, columns",
    [
        (4_800_007, 600_000, "float64", 1),
        (1_300_003, 600_000, "float32", 3),
        (9_000_011, 1_100_000, "int8", 1),
        (3_300_003, 1_200_000, "complex128", 1),
        (5_000_011, 2_400_000, "float32", 1),
    ],
)
def test_places_in_order(places, count, dtype, columns, order):
    places, count = for_device(places, count)
    rng = np.random.default_rng(count)
    index = ORDERS[order](np.sort(rng.integers(0, places, count)))
    check_assignment(rng, index, places, columns, dtype, (-1, places))


def test_indices_whose_last_dimension_is_one():
    rng = np.random.default_rng(4)
    a, value = rows(rng, 5, 4, "int16"), rows(rng, 4, 4, "int16")
    index = np.asarray([3, 1, 4, 2])
    x, expected = ours(a), expected_of(a, index, value)
    # That dimension of the value has a stride that is not a row's.
    x[ours(index[:, None])] = xp.permute_dims(ours(value[:, :, None]), (0, 2, 1))
    same(x, expected)


@pytest.mark.parametrize("width", [2_000, 3_000])
def test_single_items_by_two_indices(width):
    rng = np.random.default_rng(0)
    height, count = 2_400, 550_000
    a, value = rng.random((height, width)), rng.random(count)
    i, j = rng.integers(-height, height, count), rng.integers(0, width, count)
    expected = expected_of(a.reshape(-1, 1), i % height * width + j, value[:, None])
    x = ours(a)
    x[ours(i), ours(j)] = ours(value)
    same(x, expected.reshape(a.shape))
    i[count // 2] = height
    y = ours(a)
    with pytest.raises(IndexError, match=f"index {height} is out of bounds"):
        finished(y.__setitem__((ours(i), ours(j)), ours(value)))
    same(y, a)
