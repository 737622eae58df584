"""Manipulation functions, compared with NumPy: values, and whether memory is shared."""

import itertools

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from checks import same
from hypothesis import given
from hypothesis import strategies as st
from strided import shares_memory

import arrayx as xp

DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float32", "float64", "complex64"]


@st.composite
def layouts(draw, min_dims=0, max_dims=5, min_side=0):
    """An array of ours and NumPy's equal to it: strided, permuted, flipped or broadcast."""
    shape = draw(
        hnp.array_shapes(min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=4)
    )
    steps = [draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    dtype = draw(st.sampled_from(DTYPES))
    full = [n * abs(step) for n, step in zip(shape, steps, strict=True)]
    a = np.arange(int(np.prod(full, dtype=int))).reshape(full).astype(dtype)
    key = tuple(slice(None, None, step) for step in steps)
    x, a = xp.permute_dims(xp.asarray(a)[key], tuple(order)), np.asarray(a[key]).transpose(order)
    if a.size and draw(st.booleans()):
        x, a = xp.broadcast_to(x, (2, *a.shape)), np.broadcast_to(a, (2, *a.shape))
    return x, a


def an_axis(data, ndim):
    return data.draw(st.integers(-ndim, ndim - 1))


def some_axes(data, ndim):
    axes = data.draw(st.lists(st.integers(0, ndim - 1), unique=True)) if ndim else []
    return tuple(data.draw(st.sampled_from([axis, axis - ndim])) for axis in axes)


# ---- views --------------------------------------------------------------------------------------


@given(layouts(), st.data())
def test_permutations_and_flips(pair, data):
    x, a = pair
    order = tuple(data.draw(st.permutations(range(a.ndim))))
    negative = tuple(axis - a.ndim for axis in order)
    views = [(xp.permute_dims(x, order), a.transpose(order))]
    views.append((xp.permute_dims(x, negative), a.transpose(order)))
    axes = some_axes(data, a.ndim)
    views.append((xp.flip(x, axis=axes), np.flip(a, axes)))
    views.append((xp.flip(x), np.flip(a)))
    to = some_axes(data, a.ndim)
    n = min(len(axes), len(to))
    views.append((xp.moveaxis(x, axes[:n], to[:n]), np.moveaxis(a, axes[:n], to[:n])))
    if a.ndim >= 2:
        views.append((xp.matrix_transpose(x), np.swapaxes(a, -1, -2)))
        views.append((x.mT, np.swapaxes(a, -1, -2)))
    for y, expected in views:
        same(y, expected)
        assert not a.size or shares_memory(x, y)


@given(layouts(), st.data())
def test_new_and_removed_dimensions(pair, data):
    x, a = pair
    count = data.draw(st.integers(0, 3))
    ndim = a.ndim + count
    places = data.draw(st.permutations(range(ndim)))[:count] if ndim else []
    axes = tuple(data.draw(st.sampled_from([p, p - ndim])) for p in places)
    y = xp.expand_dims(x, axes)
    same(y, np.expand_dims(a, axes))
    same(xp.squeeze(y, axes), a)
    assert not a.size or shares_memory(x, y)
    if ndim:
        axis = an_axis(data, a.ndim + 1)
        same(xp.expand_dims(x, axis), np.expand_dims(a, axis))


@given(st.data())
def test_broadcasting(data):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_side=4))
    arrays = [np.arange(int(np.prod(s, dtype=int))).reshape(s) for s in shapes.input_shapes]
    ours = [xp.asarray(a) for a in arrays]
    assert xp.broadcast_shapes(*shapes.input_shapes) == shapes.result_shape
    result = xp.broadcast_arrays(*ours)
    assert isinstance(result, tuple)
    for x, y, expected in zip(ours, result, np.broadcast_arrays(*arrays), strict=True):
        same(y, expected)
        same(xp.broadcast_to(x, shapes.result_shape), expected)
        assert not expected.size or shares_memory(x, y)


def test_broadcasting_of_nothing():
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_arrays() == ()
    huge = xp.broadcast_to(xp.asarray(1), (2**31, 2**31))
    assert huge.size == 2**62
    assert not huge.writable


@given(layouts(min_dims=2), st.data())
def test_diagonals(pair, data):
    x, a = pair
    axis1, axis2 = data.draw(st.permutations(range(a.ndim)))[:2]
    offset = data.draw(st.integers(-5, 5))
    y = x.diagonal(offset, axis1, axis2)
    same(y, a.diagonal(offset, axis1, axis2))
    assert not y.size or shares_memory(x, y)


@given(layouts(min_dims=1), st.data())
def test_unstack(pair, data):
    x, a = pair
    axis = an_axis(data, a.ndim)
    result = xp.unstack(x, axis=axis)
    assert isinstance(result, tuple)
    assert len(result) == a.shape[axis]
    for i, y in enumerate(result):
        same(y, np.moveaxis(a, axis, 0)[i])
        assert not y.size or shares_memory(x, y)


def test_writing_to_a_view_changes_the_array():
    x = xp.zeros((2, 3))
    xp.flip(xp.permute_dims(x, (1, 0)), axis=0)[0, 1] = 5
    assert x.tolist() == [[0, 0, 0], [0, 0, 5]]


# ---- reshape ------------------------------------------------------------------------------------


@given(layouts(), st.data())
def test_reshape(pair, data):
    x, a = pair
    factors = [n for n in a.shape if n > 1]
    cut = data.draw(st.integers(0, len(factors)))
    shape = (int(np.prod(factors[:cut])), 1, *factors[cut:]) if a.size else (0, 3)
    expected = np.reshape(a, shape)
    same(xp.reshape(x, shape), expected)
    copied = xp.reshape(x, shape, copy=True)
    same(copied, expected)
    assert not a.size or not shares_memory(x, copied)
    try:
        np.reshape(a, shape, copy=False)
    except ValueError:
        with pytest.raises(ValueError, match="copy"):
            xp.reshape(x, shape, copy=False)
    else:
        same(xp.reshape(x, shape, copy=False), expected)
        assert not a.size or shares_memory(x, xp.reshape(x, shape))
    if a.size:
        same(xp.reshape(x, (-1,)), a.reshape(-1))
        unknown = data.draw(st.integers(0, len(shape) - 1))
        same(xp.reshape(x, (*shape[:unknown], -1, *shape[unknown + 1 :])), expected)


def test_bad_reshapes():
    x = xp.zeros((2, 3))
    for shape in ((4,), (-1, 4), (2**62, 2**62), ()):
        with pytest.raises(ValueError, match="shape"):
            xp.reshape(x, shape)
    with pytest.raises(ValueError, match="more than one"):
        xp.reshape(x, (-1, -1))
    with pytest.raises(ValueError, match="negative"):
        xp.reshape(x, (-2, -3))
    with pytest.raises(ValueError, match="-1"):
        xp.reshape(xp.zeros((0, 3)), (0, -1))
    with pytest.raises(TypeError, match="shape must be"):
        xp.reshape(x, (2.0, 3))


# ---- copies -------------------------------------------------------------------------------------


@given(layouts(min_dims=1), st.data())
def test_concat_and_stack(pair, data):
    x, a = pair
    axis = an_axis(data, a.ndim)
    # A second part of another length and dtype.
    length = data.draw(st.integers(0, 3))
    shape = list(a.shape)
    shape[axis] = length
    b = np.ones(shape, "float64")
    y = xp.asarray(b)
    expected = np.concatenate([a, b, a], axis=axis)
    result = xp.concat([x, y, x], axis=axis)
    np.testing.assert_array_equal(np.asarray(result), expected)
    assert result.dtype == xp.result_type(x, y)
    np.testing.assert_array_equal(
        np.asarray(xp.concat((x, y), axis=None)), np.concatenate([a, b], axis=None)
    )
    same(xp.concat([x]), a)
    place = an_axis(data, a.ndim + 1)
    same(xp.stack([x, x], axis=place), np.stack([a, a], axis=place))


def test_joined_dtypes():
    a, b = xp.asarray([1], dtype=xp.int8), xp.asarray([2], dtype=xp.uint8)
    assert xp.concat([a, b]).dtype == xp.stack([a, b]).dtype == xp.int16
    assert xp.stack([xp.asarray(1), xp.asarray(2)]).tolist() == [1, 2]
    with pytest.raises(TypeError, match="uint64"):
        xp.concat([xp.zeros(1, dtype=xp.uint64), xp.zeros(1, dtype=xp.int8)])


def test_repeat_by_many_counts_and_to_many_elements():
    draw = np.random.default_rng(1)
    a = draw.normal(size=(3000, 3)).astype("float32")
    few, many = np.array([9000, 0, 7001]), draw.integers(0, 4, 3000)
    for counts in (many, many.astype("uint8"), many * 0, np.repeat(many, 2)[::2]):
        same(xp.repeat(xp.asarray(a), xp.asarray(counts), axis=0), np.repeat(a, counts, axis=0))
    same(xp.repeat(xp.asarray(a), xp.asarray(few), axis=1), np.repeat(a, few, axis=1))
    for wrong, words in ((-1, "at least 0"), (2**62, r"2\*\*63")):
        counts = np.full(3000, max(wrong, 0))
        counts[7] = wrong
        with pytest.raises(ValueError, match=words):
            xp.repeat(xp.asarray(a), xp.asarray(counts), axis=0)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_stacks_of_permuted_arrays_lie_one_behind_the_other(order):
    a = np.arange(5 * 6 * 70.0).reshape(5, 6, 70)
    first, second = a.transpose(order), -a.transpose(order)
    other = np.ascontiguousarray(second)
    for axis in range(-4, 4):
        for parts in ([first, second], [first, other], [other, first], [first[::-1], second]):
            result = xp.stack([xp.asarray(part) for part in parts], axis=axis)
            same(result, np.stack(parts, axis=axis))
        result = xp.stack([xp.permute_dims(xp.asarray(a), order)] * 2, axis=axis)
        if order != (0, 1, 2):
            assert result.strides[axis] == a.nbytes


@pytest.mark.parametrize("dtype", ["int8", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_joins_of_large_parts(dtype, axis):
    a = np.arange(3_000 * 2_001, dtype=np.int64).astype(dtype).reshape(3_000, 2_001)
    b = a[::-1, ::-1].copy()
    same(xp.concat([xp.asarray(a), xp.asarray(b)], axis=axis), np.concatenate([a, b], axis=axis))
    same(xp.stack([xp.asarray(a), xp.asarray(b)], axis=axis), np.stack([a, b], axis=axis))


@pytest.mark.parametrize("most", [2, 5, 40])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
def test_repeat_single_elements_by_many_counts(dtype, most):
    draw = np.random.default_rng(2)
    a, counts = draw.normal(size=140_000).astype(dtype), draw.integers(0, most, 70_000)
    counts[:40_000:7] = 0
    counts[-3:] = 0, 11, 0
    x, times = xp.asarray(a), xp.asarray(counts)
    same(xp.repeat(x[:70_000], times), np.repeat(a[:70_000], counts))
    same(xp.repeat(x[::2], times), np.repeat(a[::2], counts))
    same(xp.repeat(x[::-2], xp.flip(times)), np.repeat(a[::-2], counts[::-1]))
    same(xp.repeat(x[:2000], times[5000:7000]), np.repeat(a[:2000], counts[5000:7000]))
    for wrong, words in ((-1, "at least 0, not -1"), (2**62, r"2\*\*63")):
        counts[[7, 9, 11]] = wrong
        with pytest.raises(ValueError, match=words):
            xp.repeat(x[::2], xp.asarray(counts))


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_many_parts_that_take_turns(dtype):
    n = 64_000_000 // (7 * np.dtype(dtype).itemsize) + 400_000
    parts = [np.arange(i, i + n).astype(dtype) for i in range(7)]
    x = [xp.asarray(part) for part in parts]
    result = xp.stack(x, axis=1)
    for i, part in enumerate(parts):
        same(result[:, i], part)
    pairs = xp.concat([xp.reshape(part[: n // 2 * 2], (-1, 2)) for part in x], axis=1)
    for i, part in enumerate(parts):
        same(pairs[:, 2 * i : 2 * i + 2], part[: n // 2 * 2].reshape(-1, 2))


@given(layouts(), st.data())
def test_repeat(pair, data):
    x, a = pair
    n = data.draw(st.integers(0, 3))
    same(xp.repeat(x, n), np.repeat(a, n))
    if a.ndim:
        axis = an_axis(data, a.ndim)
        same(xp.repeat(x, n, axis=axis), np.repeat(a, n, axis))
        size = a.shape[axis]
        counts = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
        dtype = data.draw(st.sampled_from(["int8", "uint64", "int64"]))
        counts = np.array(counts, dtype)
        expected = np.repeat(a, counts.astype("int64"), axis)
        same(xp.repeat(x, xp.asarray(counts), axis=axis), expected)
        backwards = xp.asarray(np.repeat(counts, 2)[::-1].copy())[::-2]
        same(xp.repeat(x, backwards, axis=axis), expected)
        same(xp.repeat(x, xp.asarray([n]), axis=axis), np.repeat(a, n, axis))


@given(layouts(), st.data())
def test_roll(pair, data):
    x, a = pair
    shift = data.draw(st.integers(-9, 9))
    same(xp.roll(x, shift), np.roll(a, shift))
    if a.ndim:
        axes = tuple(an_axis(data, a.ndim) for _ in range(data.draw(st.integers(1, 3))))
        shifts = tuple(data.draw(st.integers(-9, 9)) for _ in axes)
        same(xp.roll(x, shifts, axis=axes), np.roll(a, shifts, axes))
        same(xp.roll(x, shift, axis=axes), np.roll(a, shift, axes))
        same(xp.roll(x, shift, axis=axes[0]), np.roll(a, shift, axes[0]))


def test_roll_by_huge_shifts():
    x = xp.arange(5)
    for shift in (2**63 - 1, -(2**63)):
        assert xp.roll(x, shift).tolist() == np.roll(np.arange(5), shift % 5).tolist()
        twice = xp.roll(x, (shift, shift), axis=(0, 0))
        assert twice.tolist() == np.roll(np.arange(5), 2 * shift % 5).tolist()


@given(layouts(max_dims=3), st.lists(st.integers(0, 3), max_size=4))
def test_tile(pair, repetitions):
    x, a = pair
    same(xp.tile(x, tuple(repetitions)), np.tile(a, repetitions))


@pytest.mark.parametrize(
    ("shape", "repetitions", "dtype"),
    [
        ((1100, 1024), (2, 3), "float32"),
        ((2, 1100, 516), (2, 3, 1), "float32"),
        ((9, 1 << 19), (2, 2), "uint8"),
        ((3, 7, 1 << 17), (2, 2, 1, 2), "int16"),
        ((1 << 20,), (3,), "float64"),
        (((1 << 22) + 5,), (2,), "uint8"),
        ((300_001, 5), (2, 2), "float32"),
    ],
)
def test_tile_of_more_than_caches_keep(shape, repetitions, dtype):
    a = (np.arange(np.prod(shape)) * 7 % 251).astype(dtype).reshape(shape)
    same(xp.tile(xp.asarray(a), repetitions), np.tile(a, repetitions))


def test_what_copies_shares_nothing():
    x = xp.arange(6)
    copies = [
        xp.concat([x]),
        xp.concat([x], axis=None),
        xp.stack([x]),
        xp.repeat(x, 1),
        xp.repeat(x, xp.ones(6, dtype=xp.int64)),
        xp.roll(x, 0),
        xp.tile(x, (1,)),
        xp.reshape(x, (2, 3), copy=True),
        xp.astype(x, xp.int64),
    ]
    for y in copies:
        assert not shares_memory(x, y)
        assert y.writable
    assert xp.astype(x, xp.int64, copy=False) is x or shares_memory(
        x, xp.astype(x, xp.int64, copy=False)
    )


# ---- errors -------------------------------------------------------------------------------------

X = xp.zeros((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: xp.broadcast_to(X, (3, 2)), ValueError, r"\(2, 3\) does not broadcast"),
        (lambda: xp.broadcast_to(X, (3,)), ValueError, r"\(2, 3\) does not broadcast"),
        (lambda: xp.broadcast_to(X, (-1, 3)), ValueError, "negative"),
        (lambda: xp.broadcast_arrays(X, xp.zeros(2)), ValueError, "cannot be broadcast"),
        (lambda: xp.broadcast_shapes((2,), (3,)), ValueError, "cannot be broadcast"),
        (lambda: xp.broadcast_shapes((None,)), TypeError, "shapes must be"),
        (lambda: xp.concat([]), ValueError, "at least one array"),
        (lambda: xp.concat([X, xp.zeros((3, 2))]), ValueError, r"\(3, 2\)"),
        (lambda: xp.concat([X, xp.zeros(3)]), ValueError, r"\(3,\)"),
        (lambda: xp.concat([X], axis=2), IndexError, "axis 2"),
        (lambda: xp.concat([xp.asarray(1)]), IndexError, "0 dimensions"),
        (lambda: xp.concat(X), TypeError, "tuple or list"),
        (lambda: xp.stack([X, xp.zeros((3, 2))]), ValueError, r"\(3, 2\)"),
        (lambda: xp.stack([X], axis=3), IndexError, "axis 3"),
        (lambda: xp.stack([1, 2]), TypeError, "tuple or list"),
        (lambda: xp.expand_dims(X, 3), IndexError, "axis 3"),
        (lambda: xp.expand_dims(X, (0, -4)), ValueError, "twice"),
        (lambda: xp.expand_dims(X, 0.5), TypeError, "axis must be"),
        (lambda: xp.expand_dims(X, (0,) * 2000), ValueError, "1024"),
        (lambda: xp.squeeze(X, 0), ValueError, "size 2"),
        (lambda: xp.squeeze(X, 5), IndexError, "axis 5"),
        (lambda: xp.squeeze(xp.zeros((1, 1)), (0, 0)), ValueError, "twice"),
        (lambda: xp.flip(X, axis=2), IndexError, "axis 2"),
        (lambda: xp.flip(X, axis=(0, -2)), ValueError, "twice"),
        (lambda: xp.moveaxis(X, 2, 0), IndexError, "source 2"),
        (lambda: xp.moveaxis(X, (0, 1), 0), ValueError, "same number"),
        (lambda: xp.moveaxis(X, 0, -3), IndexError, "destination -3"),
        (lambda: xp.permute_dims(X, (0,)), ValueError, "each of the 2"),
        (lambda: xp.permute_dims(X, (0, 0)), ValueError, "twice"),
        (lambda: xp.permute_dims(X, (0, 2)), IndexError, "axes 2"),
        (lambda: xp.repeat(X, -1), ValueError, "at least 0"),
        (lambda: xp.repeat(X, 1.0), TypeError, "repeats must be"),
        (lambda: xp.repeat(X, 2**62), ValueError, r"2\*\*63"),
        (lambda: xp.repeat(X, xp.asarray([1, -1]), axis=0), ValueError, "at least 0"),
        (lambda: xp.repeat(X, xp.asarray([1, 1, 1]), axis=0), ValueError, "one count for each"),
        (lambda: xp.repeat(X, xp.asarray([1.0]), axis=0), TypeError, "integer"),
        (lambda: xp.repeat(X, xp.asarray([2**62] * 2), axis=0), ValueError, r"2\*\*63"),
        (lambda: xp.roll(X, (1, 2), axis=(0,)), ValueError, "same length"),
        (lambda: xp.roll(X, (1, 2)), ValueError, "axis"),
        (lambda: xp.roll(X, 1, axis=2), IndexError, "axis 2"),
        (lambda: xp.roll(X, 0.5), TypeError, "shift must be"),
        (lambda: xp.tile(X, (-1,)), ValueError, "at least 0"),
        (lambda: xp.tile(X, (2**62, 2**62)), ValueError, r"2\*\*63"),
        (lambda: xp.unstack(xp.asarray(1)), ValueError, "rank 0"),
        (lambda: xp.unstack(X, axis=2), IndexError, "axis 2"),
        (lambda: X.diagonal(0, 1, 1), ValueError, "differ"),
        (lambda: xp.zeros(3).diagonal(), ValueError, "2 dimensions"),
        (lambda: xp.matrix_transpose(xp.zeros(3)), ValueError, "2 dimensions"),
        (lambda: xp.flip([1, 2]), TypeError, "x must be an arrayx array"),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_too_large_results_are_memory_errors():
    for call in (
        lambda: xp.repeat(X, 2**50),
        lambda: xp.tile(X, (2**25, 2**25)),
        lambda: xp.repeat(X, xp.asarray([2**50, 0]), axis=0),
        lambda: xp.reshape(xp.broadcast_to(X, (2**45, 2, 3)), (-1,)),
    ):
        with pytest.raises(MemoryError):
            call()
    assert xp.sum(X) == 0


def test_many_dimensions():
    x = xp.reshape(xp.arange(2), (1,) * 63 + (2,))
    for y in (
        xp.tile(x, (1,) * 64),
        xp.roll(x, 0, axis=5),
        xp.flip(x, axis=0),
        xp.repeat(x, 1, axis=3),
    ):
        assert y.shape == x.shape
    assert xp.concat([x, x], axis=0).ndim == 64
    order = tuple(itertools.chain(range(1, 64), [0]))
    assert xp.permute_dims(x, order).shape == (1,) * 62 + (2, 1)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_results_lie_as_what_they_come_from(order):
    """What moves elements along an axis keeps the order of the dimensions in memory."""
    a = np.arange(8 * 9 * 10, dtype="float32").reshape(8, 9, 10).transpose(order)
    x = xp.permute_dims(xp.reshape(xp.arange(720, dtype=xp.float32), (8, 9, 10)), order)
    i = np.asarray([1, 0, -1, 1])
    for b, y in ((a, x), (a[1:-1, ::-1], x[1:-1, ::-1])):
        for axis in range(3):
            results = [
                (xp.concat([y, y], axis=axis), np.concatenate([b, b], axis=axis)),
                (xp.roll(y, 1, axis=axis), np.roll(b, 1, axis=axis)),
                (xp.repeat(y, 3, axis=axis), np.repeat(b, 3, axis=axis)),
                (xp.tile(y, (1, 2, 1)), np.tile(b, (1, 2, 1))),
                (xp.take(y, xp.asarray(i), axis=axis), np.take(b, i, axis=axis)),
                (xp.diff(y, axis=axis), np.diff(b, axis=axis)),
                (xp.sort(y, axis=axis), np.sort(b, axis=axis)),
                (xp.positive(y), b),
                (xp.tril(y), np.tril(b)),
                (y * 2, b * 2),
            ]
            for result, expected in results:
                same(result, expected)
                if 1 not in result.shape:
                    lies = sorted(range(3), key=lambda d, r=result: -r.strides[d])
                    assert lies == sorted(range(3), key=lambda d: order[d])
            same(xp.stack([y, y], axis=axis), np.stack([b, b], axis=axis))
    key = (slice(None), xp.asarray([[2, 0], [1, 1]]))
    same(x[key], a[:, [[2, 0], [1, 1]]])
    same(xp.tile(x[0], (2, 1, 3)), np.tile(a[0], (2, 1, 3)))
    same(
        xp.diff(x, axis=1, prepend=x[:, :1], append=x),
        np.diff(a, axis=1, prepend=a[:, :1], append=a),
    )
