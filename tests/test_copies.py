"""Copies by way of each kernel, compared with NumPy: steps, transposes, joins, ranges."""

import ctypes
import itertools
import math
import mmap

import numpy as np
import pytest

import arrayx as xp

WIDTHS = ["int8", "uint16", "float32", "int64", "complex128"]
# Around multiples of the vectors of every instruction set.
LENGTHS = [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300]


def counted(shape, dtype):
    return (np.arange(np.prod(shape)) % 127).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2, -3])
def test_steps(dtype, step):
    for n in LENGTHS:
        a = counted(abs(step) * n, dtype)[::step]
        assert a.shape == (n,)
        np.testing.assert_array_equal(np.asarray(xp.asarray(a, copy=True)), a)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2])
def test_writing_by_steps_leaves_what_lies_between(dtype, step):
    for n in LENGTHS:
        expected = np.full(abs(step) * n + 1, 77, dtype)
        x = xp.asarray(expected, copy=True)
        expected[1:][::step] = counted(n, dtype)
        x[1:][::step] = xp.asarray(counted(n, dtype))
        np.testing.assert_array_equal(np.asarray(x), expected)


@pytest.mark.parametrize("dtype", WIDTHS)
def test_transposes_of_every_size(dtype):
    a = counted((300, 301), dtype)
    x = xp.asarray(a)
    for rows in (1, 7, 8, 15, 17, 33, 64, 79, 300):
        for columns in (1, 5, 16, 63, 65, 80, 301):
            for step in (1, 2, -1):
                part = np.s_[:rows:step, :columns:step]
                expected = np.ascontiguousarray(a[part].T)
                np.testing.assert_array_equal(
                    np.asarray(xp.asarray(x[part].T, copy=True)), expected
                )


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32"])
def test_many_small_matrices_are_turned(dtype):
    for rows, columns in itertools.product((2, 7, 8, 9, 13, 15, 16), repeat=2):
        a = counted((5, rows, columns), dtype)
        x = xp.asarray(a)
        expected = np.ascontiguousarray(a.transpose(0, 2, 1))
        np.testing.assert_array_equal(np.asarray(xp.asarray(x.mT, copy=True)), expected)
        wider = np.full((5, columns, rows + 3), 77, dtype)  # what lies behind each row stays
        y = xp.asarray(wider, copy=True)
        y[:, :, :rows] = x.mT
        wider[:, :, :rows] = expected
        np.testing.assert_array_equal(np.asarray(y), wider)


# Lines of such rows have few places in a first cache.
@pytest.mark.parametrize("dtype", ["int8", "uint16"])
@pytest.mark.parametrize("pitch", [1024, 2048, 3072])
def test_transposes_into_rows_far_apart(dtype, pitch):
    for rows in (15, 31, 64, 79, 300):
        for columns in (16, 65, pitch - 17, pitch):
            a = counted((columns, rows), dtype)
            expected = np.full((rows, pitch), 77, dtype)
            x = xp.asarray(expected, copy=True)
            expected[:, :columns] = a.T
            x[:, :columns] = xp.asarray(a).T
            np.testing.assert_array_equal(np.asarray(x), expected)


# Results past the caches, whichever they are: those of copies of more than 32 MiB are written so.
# At pitches that are and are not multiples of a line.
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("columns", [4096, 1031, 300])
def test_large_copies(dtype, columns):
    rows = 41 * 2**20 // np.dtype(dtype).itemsize // columns + 1
    a = counted((rows, columns), dtype)
    x = xp.asarray(a)
    views = [
        np.s_[:, :],
        np.s_[:, ::2],
        np.s_[::2, 1:-1],
        np.s_[:, ::-1],
        np.s_[::-1, 3:],
    ]
    for view in views:
        expected = np.ascontiguousarray(a[view])
        copied = np.asarray(xp.asarray(x[view], copy=True))
        assert np.array_equal(copied.reshape(-1), expected.reshape(-1)), view
        copied = np.asarray(xp.asarray(x[view].T, copy=True))
        assert np.array_equal(copied, expected.T), view
    column = np.asarray(xp.asarray(xp.broadcast_to(x[:, :1], a.shape), copy=True))
    assert np.array_equal(column, np.broadcast_to(a[:, :1], a.shape))
    row = np.asarray(xp.asarray(xp.broadcast_to(x[:1], a.shape), copy=True))
    assert np.array_equal(row, np.broadcast_to(a[:1], a.shape))


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (0, 2, 1), (1, 0, 2), (2, 0, 1)])
def test_large_permutations(dtype, order):
    side = round((34 * 2**20 / np.dtype(dtype).itemsize) ** (1 / 3))
    a = counted((side + 1, side, side + 7), dtype)
    expected = np.ascontiguousarray(a.transpose(order))
    result = np.asarray(xp.asarray(xp.permute_dims(xp.asarray(a), order), copy=True))
    assert np.array_equal(result, expected)


# Rows of the result that end anywhere in a line, alone and joined, and rows of the operand that
# would share one set of a cache.
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("sides", [(33, 61, 67), (21, 70, 64), (16, 8, 4096)])
def test_large_permutations_of_short_sides(dtype, sides):
    itemsize = np.dtype(dtype).itemsize
    a = counted((9 * 2**20 // (math.prod(sides) * itemsize) + 1, *sides), dtype)
    x = xp.asarray(a)
    for order in list(itertools.permutations(range(4)))[1::2]:
        expected = np.ascontiguousarray(a.transpose(order))
        result = np.asarray(xp.asarray(xp.permute_dims(x, order), copy=True))
        assert np.array_equal(result, expected), order


# Many dimensions of a few each, of which no two are a row that is worth a call.
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize(
    "shape", [(2,) * 13, (3,) * 8, (2, 3, 1, 5, 2, 4, 3, 2, 7), (2,) * 6 + (300,)]
)
def test_many_short_dimensions(dtype, shape):
    a = counted(shape, dtype)
    x, rng = xp.asarray(a), np.random.default_rng(len(shape))
    orders = [tuple(rng.permutation(a.ndim).tolist()) for _ in range(4)]
    for order in [tuple(range(a.ndim))[::-1], *orders]:
        turned = a.transpose(order)
        view = xp.permute_dims(x, order)
        assert np.array_equal(np.asarray(xp.asarray(view, copy=True)), turned)
        assert np.array_equal(np.asarray(view[..., ::-1].copy()), turned[..., ::-1])
        into = xp.zeros((*turned.shape[:-1], turned.shape[-1] + 1), dtype=x.dtype)
        into[..., 1:] = view
        assert np.array_equal(np.asarray(into[..., 1:]), turned)
        if turned.shape == a.shape:
            assert np.array_equal(np.asarray(x + view), a + turned)
            assert np.array_equal(np.asarray(x == view[::-1]), a == turned[::-1])


@pytest.mark.parametrize("dtype", WIDTHS)
def test_small_fills_in_memorys_order(dtype):
    keys = [np.s_[...], np.s_[::2], np.s_[..., 1:], np.s_[::-1, ..., ::-3], np.s_[..., :1]]
    for shape in [(5, 7), (3, 4, 5), (2, 1, 6, 3), (2, 3, 2, 3, 2)]:
        for order in list(itertools.permutations(range(len(shape))))[::3]:
            for key in keys:
                a = counted(shape, dtype)
                x = xp.asarray(a, copy=True)
                a.transpose(order)[key] = 99
                xp.permute_dims(x, order)[key][...] = 99
                np.testing.assert_array_equal(np.asarray(x), a)


# A few items side by side in the input, in the result, or in both, beside longer dimensions.
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize(
    "shape",
    [(60, 3, 10, 3), (60, 3, 50, 3), (130, 5, 4), (6, 70, 50), (30, 7, 3, 9), (9, 2, 33, 5)],
)
def test_permutations_of_short_sides_beside_long_ones(dtype, shape):
    a = counted(shape, dtype)
    x = xp.asarray(a)
    for order in itertools.permutations(range(len(shape))):
        turned, view = a.transpose(order), xp.permute_dims(x, order)
        for u, v in ((view, turned), (view[..., ::-1], turned[..., ::-1])):
            np.testing.assert_array_equal(np.asarray(xp.asarray(u, copy=True)), v)
        into = xp.full((*turned.shape[:-1], turned.shape[-1] + 1), 99, dtype=x.dtype)
        into[..., :-1] = view[..., ::-1]
        np.testing.assert_array_equal(np.asarray(into[..., :-1]), turned[..., ::-1])
        assert xp.all(into[..., -1] == 99)


# Of small items, so many that they are moved by boxes which go on along several sides.
@pytest.mark.parametrize("dtype", ["int8", "uint16"])
@pytest.mark.parametrize("shape", [(5, 63, 1003, 28), (8, 512, 97, 24)])
def test_permutations_of_small_items(dtype, shape):
    a = counted(shape, dtype)
    x = xp.asarray(a)
    for i, order in enumerate(itertools.permutations(range(4))):
        view = np.s_[1:, ::-1, :, :-3] if i % 3 == 0 else np.s_[:]
        expected = np.ascontiguousarray(a[view].transpose(order))
        result = np.asarray(xp.asarray(xp.permute_dims(x[view], order), copy=True))
        assert np.array_equal(result, expected), (order, view)


# Of bytes and shorts, where rows of the operand alone begin at packs of 16 bytes.
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [("int8", (128, 1728)), ("int8", (206, 976)), ("uint16", (63, 129, 368)), ("int8", (512, 496))],
)
def test_permutations_of_rows_that_begin_at_packs(dtype, shape):
    a = counted(shape, dtype)
    expected = np.ascontiguousarray(a.transpose())
    reversed_ = xp.permute_dims(xp.asarray(a), tuple(range(a.ndim))[::-1])
    assert np.array_equal(np.asarray(xp.asarray(reversed_, copy=True)), expected)
    wide = xp.zeros((*expected.shape[:-1], shape[0] + 8), dtype=getattr(xp, dtype))
    wide[..., 3:-5] = reversed_
    assert np.array_equal(np.asarray(wide[..., 3:-5]), expected)
    assert not xp.any(wide[..., :3]) and not xp.any(wide[..., -5:])


# Short sides too, of which several make a row of a tile.
@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("shape", [(21, 19, 23, 25), (5, 160, 9, 33), (67, 8, 3, 129)])
def test_permutations_of_odd_sides(dtype, shape):
    a = counted(shape, dtype)
    x = xp.asarray(a)
    views = [np.s_[:], np.s_[1:, :, :-1, 1:], np.s_[:, ::-1, :, ::-1], np.s_[::2, :, :, ::2]]
    for order in itertools.permutations(range(4)):
        for view in views:
            expected = np.ascontiguousarray(a[view].transpose(order))
            permuted = xp.permute_dims(x[view], order)
            result = np.asarray(xp.reshape(permuted, (-1,)))
            assert np.array_equal(result, expected.ravel()), (order, view)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("rows", [50, 9001])
def test_parts_that_take_turns_in_short_rows(dtype, rows):
    a, b = counted((rows, 300), dtype), counted((rows, 3), dtype)
    x, y = xp.asarray(a), xp.asarray(b)
    pairs = [
        (xp.stack((x, x[:, ::-1]), axis=-1), np.stack((a, a[:, ::-1]), axis=-1)),
        (xp.concat((y, x, y), axis=1), np.concatenate((b, a, b), axis=1)),
        (xp.roll(x, 5, axis=1), np.roll(a, 5, axis=1)),
        (xp.roll(x, (3, -5), axis=(0, 1)), np.roll(a, (3, -5), axis=(0, 1))),
    ]
    for times in (1, 2, 3, 4, 5):
        pairs.append((xp.repeat(x, times, axis=1), np.repeat(a, times, axis=1)))
        pairs.append((xp.repeat(y, times, axis=0), np.repeat(b, times, axis=0)))
    for result, expected in pairs:
        assert result.dtype == expected.dtype
        assert np.array_equal(np.asarray(result), expected)


# Large enough together to go past the caches, each of them small enough to stay there.
@pytest.mark.parametrize("columns", [1024, 1031])
def test_large_parts_of_a_larger_result(columns):
    a = counted((1100, columns), "float64")
    x = xp.asarray(a)
    parts = [x, x[:3], x[::-1], x[:, ::-1], xp.asarray(a.T.copy()).T]
    theirs = [a, a[:3], a[::-1], a[:, ::-1], a]
    np.testing.assert_array_equal(np.asarray(xp.concat(parts)), np.concatenate(theirs))
    del parts[1], theirs[1]
    parts.append(x[:, 5:25])
    theirs.append(a[:, 5:25])
    for axis in (1, None):
        expected = np.concatenate(theirs, axis=axis)
        np.testing.assert_array_equal(np.asarray(xp.concat(parts, axis=axis)), expected)
    for axis in range(3):
        expected = np.stack(theirs[:4], axis=axis)
        np.testing.assert_array_equal(np.asarray(xp.stack(parts[:4], axis=axis)), expected)


def test_parts_of_several_dtypes_that_take_turns():
    a = counted((9001, 300), "int16")
    x = xp.asarray(a)
    result = xp.concat((x[:, :3], xp.astype(x, xp.float32)), axis=1)
    expected = np.concatenate((a[:, :3], a.astype("float32")), axis=1)
    assert np.array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 9, 1000, 100_003])
def test_floating_ranges_are_rounded_once_from_float64(n, dtype):
    i = np.arange(n, dtype="float64")
    step = 0.1
    expected = (-3.7 + i * step).astype(dtype)
    x = xp.arange(-3.7, -3.7 + (n - 0.5) * step, step, dtype=getattr(xp, dtype))
    np.testing.assert_array_equal(np.asarray(x), expected)
    # From the nearer end.
    a, b, parts = -3.7, 11.3, max(n - 1, 1)
    by = (b - a) / parts
    expected = np.where(2 * i <= parts, a + i * by, b - (parts - i) * by).astype(dtype)
    expected[0] = a
    x = xp.linspace(a, b, n, dtype=getattr(xp, dtype))
    np.testing.assert_array_equal(np.asarray(x), expected)


def test_ends_of_linspace_keep_the_sign_of_zero():
    x = np.asarray(xp.linspace(-1.0, -0.0, 5))
    assert np.signbit(x[-1])
    assert np.signbit(np.asarray(xp.linspace(-0.0, 1.0, 1))[0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_integer_ranges_of_every_width(dtype):
    for n in LENGTHS:
        for start, step in ((0, 1), (100, -3), (2, 2)):
            stop = start + step * n
            limits = np.iinfo(dtype)
            if not limits.min <= start + step * (n - 1) <= limits.max:
                continue
            x = xp.arange(start, stop, step, dtype=getattr(xp, dtype))
            expected = [start + i * step for i in range(n)]
            assert np.asarray(x).tolist() == expected


def test_operands_that_repeat_from_row_to_row():
    # Large and small, rows short and long, with a cast on the way.
    for rows, columns in ((5, 7), (200, 20), (3000, 40), (64, 3000), (3000, 3000)):
        a = counted((rows, columns), "float32")
        x = xp.asarray(a)
        row, column = counted(columns, "float64"), counted((rows, 1), "float32")
        result = xp.asarray(x) + xp.asarray(row)
        np.testing.assert_array_equal(np.asarray(result), a + row)
        np.testing.assert_array_equal(np.asarray(x + xp.asarray(column)), a + column)
        np.testing.assert_array_equal(np.asarray(x[:, ::-1] + x[:1]), a[:, ::-1] + a[:1])
        np.testing.assert_array_equal(np.asarray(x[:, ::2] - x[:1, ::2]), a[:, ::2] - a[:1, ::2])
        x[:, ::2] *= 2
        a[:, ::2] *= 2
        np.testing.assert_array_equal(np.asarray(x), a)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("row", [16, 100, 512, 3000])
def test_large_permutations_of_whole_rows(dtype, row):
    columns = max(1, row // np.dtype(dtype).itemsize)
    a = counted((7, 70, 34 * 2**20 // (490 * row) + 1, columns), dtype)
    x = xp.asarray(a)
    for order in ((0, 2, 1, 3), (2, 1, 0, 3), (1, 0, 2, 3)):
        expected = np.ascontiguousarray(a.transpose(order))
        result = np.asarray(xp.asarray(xp.permute_dims(x, order), copy=True))
        assert np.array_equal(result, expected), order
        # Into rows between which something stays.
        wide = xp.zeros((*expected.shape[:-1], columns + 2), dtype=x.dtype)
        wide[..., 1:-1] = xp.permute_dims(x, order)
        assert np.array_equal(np.asarray(wide[..., 1:-1]), expected), order
        assert not xp.any(wide[..., :: columns + 1]), order


@pytest.mark.parametrize("dtype", WIDTHS)
def test_short_rows_are_copied_and_repeated_alone(dtype):
    a = counted((21, 140), dtype)
    x = xp.asarray(a)
    for columns in range(1, 70):
        np.testing.assert_array_equal(xp.asarray(x[:, :columns], copy=True), a[:, :columns])
        repeated = np.repeat(a[:, 1:2], columns, axis=1)
        np.testing.assert_array_equal(xp.repeat(x[:, 1:2], columns, axis=1), repeated)
        for part in (np.s_[:, 1 : columns + 1], np.s_[:, 1 : 2 * columns : 2]):
            expected = np.full(a.shape, 77, dtype)
            y = xp.asarray(expected, copy=True)
            expected[part] = a[:, :columns]
            y[part] = x[:, :columns]
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("columns", [3, 40, 129, 700])
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_results_take_the_place_of_operands_that_lie_apart(dtype, columns):
    a = counted((9, 2 * columns), dtype)
    b = counted((9, 2 * columns), "float64" if dtype == "float32" else dtype)
    for other in (np.s_[:, ::2], np.s_[:, 1::2], np.s_[:1, ::2], np.s_[:, :1], np.s_[:1, :1]):
        expected = a.copy()
        expected[:, ::2] = expected[:, ::2] - b[other].astype(dtype)
        x = xp.asarray(a, copy=True)
        view = x[:, ::2]
        view -= xp.asarray(b)[other]
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("n", [65, 300, 1023, 1024, 5000, 40_000])
def test_long_rows_at_any_place_of_a_line(n):
    a = np.random.default_rng(n).integers(0, 256, 3 * (n + 64), dtype="uint8").reshape(3, -1)
    x = xp.asarray(a)
    for source in (0, 1, 28, 63):
        for target in (0, 1, 36, 63):
            y = np.zeros((3, n + 64), "uint8")
            expected = y.copy()
            expected[:, target : target + n] = a[:, source : source + n]
            z = xp.asarray(y, copy=True)
            z[:, target : target + n] = x[:, source : source + n]
            np.testing.assert_array_equal(np.asarray(z), expected)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", -93),
        ("uint16", 258),
        ("float32", 0.1),
        ("int64", 2**58 - 77),
        ("complex128", 1 - 3j),
    ],
)
def test_long_fills_begin_and_end_anywhere(dtype, value):
    size = np.dtype(dtype).itemsize
    for count in [(1 << 14) // size - 1, (1 << 14) // size, (1 << 14) // size + 3, 40_001]:
        for start in range(9):
            x = xp.ones(count + 20, dtype=getattr(xp, dtype))
            x[start : start + count] = value
            expected = np.ones(count + 20, dtype=dtype)
            expected[start : start + count] = value
            assert np.array_equal(np.asarray(x), expected)
    rows = xp.zeros((3, 20_001), dtype=getattr(xp, dtype))
    rows[:, 1:] = xp.asarray([[1], [2], [3]], dtype=getattr(xp, dtype))
    assert np.array_equal(np.asarray(rows[:, 1:]), np.broadcast_to([[1], [2], [3]], (3, 20_000)))
    assert not xp.any(rows[:, 0])


def test_long_fills_of_complex_numbers_aligned_as_their_parts():
    memory = np.zeros(40_001, np.float32)
    whole = memory[1:].view(np.complex64)
    x = xp.asarray(whole, copy=False, device="cpu")
    x[...] = 1 - 3j
    assert np.all(whole == 1 - 3j) and memory[0] == 0
    x[7:19_000] = 2 + 5j
    assert np.all(whole[7:19_000] == 2 + 5j)
    assert np.all(whole[:7] == 1 - 3j) and np.all(whole[19_000:] == 1 - 3j)


# Views of pixels, small matrices and fields of rows: what stands in a row is in another order, or
# some of it.
SHORT_ROWS = {
    "backwards": lambda a: a[..., ::-1],
    "both backwards": lambda a: a[:, ::-1, ::-1],
    "turned": lambda a: a.transpose(0, 2, 1),
    "turned backwards": lambda a: a.transpose(0, 2, 1)[..., ::-1],
    "some": lambda a: a[:, :, 1:],
    "some rows": lambda a: a[:, 1:],
    "every second": lambda a: a[:, :, ::2],
    "of every second": lambda a: a[::2, :, ::-1],
    "of rows that lie backwards": lambda a: a[::-1, :, ::-1],
}


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("view", SHORT_ROWS)
def test_short_rows_in_another_order(view, dtype):
    for rows, columns in itertools.product((1, 2, 3, 4, 5, 8), (2, 3, 4, 7)):
        for n in (31, 33, 300):
            part = SHORT_ROWS[view](counted((n, rows, columns), dtype))
            x = SHORT_ROWS[view](xp.asarray(counted((n, rows, columns), dtype)))
            np.testing.assert_array_equal(np.asarray(xp.asarray(x, copy=True)), part)
            within = SHORT_ROWS[view](xp.asarray(counted((n, 3, rows, columns), dtype))[:, 1])
            expected = SHORT_ROWS[view](counted((n, 3, rows, columns), dtype)[:, 1])
            np.testing.assert_array_equal(np.asarray(xp.asarray(within, copy=True)), expected)


def test_many_short_rows_in_another_order():
    a = counted((70, 1001, 3), "uint8")
    x = xp.asarray(a)
    for view in (np.s_[..., ::-1], np.s_[:, 1:-1, ::-1], np.s_[:, ::-1, ::-1], np.s_[..., :2]):
        np.testing.assert_array_equal(np.asarray(xp.asarray(x[view], copy=True)), a[view])


def walled(a, at_end):
    """`a` at the beginning or the end of pages between two that nothing may touch."""
    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None)
    pages = -(-a.nbytes // page)
    memory = mmap.mmap(-1, (pages + 2) * page)
    first = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for wall in (first, first + (pages + 1) * page):
        if libc.mprotect(ctypes.c_void_p(wall), page, 0) != 0:
            pytest.skip("pages cannot be protected")
    start = page + (pages * page - a.nbytes if at_end else 0)
    inside = np.frombuffer(memory, a.dtype, a.size, start).reshape(a.shape)
    inside[...] = a
    return inside


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", WIDTHS)
def test_short_rows_at_the_ends_of_memory(dtype):
    """Nothing is read or written before the first or behind the last row."""
    sides = [
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 2),
        (3, 3),
        (1, 15),
        (4, 4),
        (5, 3),
        (2, 16),
        (6, 7),
        (8, 8),
    ]
    for rows, columns in sides:
        for n in (32, 45, 200):
            a = counted((n, rows, columns), dtype)
            for at_end in (False, True):
                for name in ("backwards", "turned", "some", "every second"):
                    view = SHORT_ROWS[name]
                    to = walled(np.zeros_like(view(a)), at_end)
                    x, y = xp.asarray(walled(a, at_end)), xp.asarray(to, copy=False)
                    y[...] = view(x)
                    np.testing.assert_array_equal(to, view(a))


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", WIDTHS)
def test_few_columns_at_the_ends_of_memory(dtype):
    for columns in (2, 3, 4, 5, 7, 8, 11, 15):
        for n in (33, 45, 300):
            for whole in (columns, columns + 1):
                a = counted((n, whole), dtype)
                part = np.s_[:, whole - columns :]
                for at_end in (False, True):
                    for to in (np.zeros((columns, n), dtype), np.zeros((n, columns), dtype).T):
                        to = walled(to, at_end) if to.flags.c_contiguous else walled(to.T, at_end).T
                        x = xp.asarray(walled(a, at_end), copy=False)
                        xp.asarray(to, copy=False)[...] = x[part].T
                        np.testing.assert_array_equal(to, a[part].T)


def test_complex_numbers_that_lie_backwards_into_memory_aligned_as_their_parts():
    a = counted((300, 9001), "complex128")
    memory = np.zeros(2 * a.size + 1)
    whole = memory[1:].view(np.complex128).reshape(a.shape)
    x = xp.asarray(whole, copy=False, device="cpu")
    x[...] = xp.asarray(a, device="cpu")[:, ::-1]
    assert np.array_equal(whole, a[:, ::-1]) and memory[0] == 0


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17])
def test_few_columns_are_turned(dtype, columns):
    """Nothing is written behind the rows, or between rows that are apart."""
    for n in [*LENGTHS, 79, 80, 81, 2000]:
        a = counted((columns, n), dtype)
        x = xp.asarray(a)
        around = xp.full(n * columns + 40, 99, dtype=x.dtype)
        xp.reshape(around[20:-20], (n, columns))[...] = x.T
        result = np.asarray(around)
        np.testing.assert_array_equal(result[20:-20], a.T.ravel())
        assert np.all(result[:20] == 99)
        assert np.all(result[-20:] == 99)
        apart = xp.full((n, columns + 2), 99, dtype=x.dtype)
        apart[:, 1:-1] = x.T
        np.testing.assert_array_equal(np.asarray(apart)[:, 1:-1], a.T)
        assert xp.all(apart[:, :: columns + 1] == 99)


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 8, 9, 12, 15, 16])
def test_few_columns_become_rows(dtype, columns):
    """Of whole rows and of parts, to rows that follow each other, have gaps, or share few sets."""
    for n in [*LENGTHS, 79, 80, 81, 1000]:
        a = counted((n, columns + 2), dtype)
        for part in (np.s_[:, :-2], np.s_[:, 1:-1], np.s_[::-1, 2:], np.s_[:, -3::-1]):
            expected = np.ascontiguousarray(a[part].T)
            for x in (xp.asarray(a)[part].T, xp.asarray(np.ascontiguousarray(a[part])).T):
                for wide in (n, n + 3, 4096):
                    y = xp.full((columns, wide), 99, dtype=x.dtype)
                    y[:, wide - n :] = x
                    np.testing.assert_array_equal(np.asarray(y)[:, wide - n :], expected)
                    assert xp.all(y[:, : wide - n] == 99)


def test_parts_that_take_turns_before_short_dimensions():
    """Chunks are cut along the first dimension of which little is at one index."""
    for shape in [(3, 500, 7), (2, 2, 2, 3000), (70, 70, 70), (1, 40_000)]:
        a = np.arange(math.prod(shape), dtype="float32").reshape(shape)
        x = xp.asarray(a)
        for b, y in ((a, x), (a[::-1], x[::-1])):
            result = np.asarray(xp.stack([y, x, y], axis=-1))
            np.testing.assert_array_equal(result, np.stack([b, a, b], axis=-1))
