"""What is compiled once for several dtypes gives what NumPy gives for each, in any layout."""

import numpy as np
import pytest
from strided import DTYPES, INTEGERS, REAL, Draw, ours, same

import arrayx as xp

SHAPES = [(7,), (1031,), (70, 66), (5, 1003), (130, 9, 4)]


def pairs(draw, shape, *dtypes):
    """Arrays of these dtypes, in layouts of their own; of the first some elements are the second's."""
    first, *rest = (draw.array(shape, dtype) for dtype in dtypes)
    for other in rest[:1]:
        with np.errstate(all="ignore"):
            first[...] = np.where(draw.numpy.random(shape) < 0.3, other.astype(first.dtype), first)
    return [first, *rest]


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_integers_are_cast_to_any_dtype(dtype):
    draw = Draw(1)
    for shape in SHAPES:
        for to in DTYPES:
            a = draw.array(shape, dtype)
            with np.errstate(over="ignore"):
                expected = a.astype(to)
            same(xp.astype(ours(a), getattr(xp, to)), expected)
            # The same into memory that has a layout of its own.
            x = ours(draw.array(shape, to))
            x[...] = ours(a)
            same(x, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_whole_numbers_are_cast_to_integers(dtype):
    draw = Draw(2)
    for shape in SHAPES:
        for to in INTEGERS:
            info = np.iinfo(to)
            low, high = max(info.min, -2000), min(info.max, 2000)
            a = draw.layout(draw.numpy.integers(low, high, shape, endpoint=True).astype(dtype))
            same(xp.astype(ours(a), getattr(xp, to)), a.astype(to))


@pytest.mark.parametrize("dtype", REAL)
def test_comparisons_in_either_order(dtype):
    draw = Draw(3)
    for shape in SHAPES:
        a, b = pairs(draw, shape, dtype, dtype)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
            compare = getattr(np, name)
            same(getattr(xp, name)(ours(a), ours(b)), compare(a, b))
            same(getattr(xp, name)(ours(b), ours(a)), compare(b, a))
            same(getattr(xp, name)(ours(a), ours(b.reshape(-1)[:1])), compare(a, b.reshape(-1)[:1]))
            same(getattr(xp, name)(ours(a), 2), compare(a, np.asarray(2, dtype)))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_operations_that_ignore_signs(dtype):
    draw = Draw(4)
    wider = [d for d in INTEGERS if np.promote_types(d, dtype).kind in "iu"]
    for shape in SHAPES:
        a, b = pairs(draw, shape, dtype, draw.choice(wider))
        common = np.promote_types(a.dtype, b.dtype)
        for name in ("add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"):
            same(getattr(xp, name)(ours(a), ours(b)), getattr(np, name)(a, b))
            same(getattr(xp, name)(ours(b), ours(a)), getattr(np, name)(b, a))
        counts = draw.layout(draw.numpy.integers(0, 8, shape).astype(b.dtype))
        same(xp.bitwise_left_shift(ours(a), ours(counts)), np.left_shift(a, counts, dtype=common))
        for name in ("negative", "square", "bitwise_invert", "conj", "abs"):
            same(getattr(xp, name)(ours(a)), getattr(np, name)(a))
        for name in ("floor", "ceil", "trunc", "round"):
            same(getattr(xp, name)(ours(a)), a)
        for name in ("isfinite", "isinf", "isnan"):
            same(getattr(xp, name)(ours(a)), getattr(np, name)(a))


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "equal", "not_equal"])
def test_conditions_are_combined_as_bytes(name):
    draw = Draw(5)
    for shape in SHAPES:
        a, b = draw.array(shape, "bool"), draw.array(shape, "bool")
        same(getattr(xp, name)(ours(a), ours(b)), getattr(np, name)(a, b))
        same(xp.logical_not(ours(a)), ~a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_chooses_among_any_bits(dtype):
    draw = Draw(6)
    for shape in SHAPES:
        a, b = draw.array(shape, dtype), draw.array(shape, dtype)
        condition = draw.array(shape, "bool")
        same(xp.where(ours(condition), ours(a), ours(b)), np.where(condition, a, b))
        if dtype in REAL:  # converted on the way
            other = draw.array(shape, "uint8" if dtype in ("int8", "uint64") else "int8")
            common = xp.result_type(ours(a), ours(other))
            expected = np.where(condition, a.astype(common), other.astype(common))
            same(xp.where(ours(condition), ours(a), ours(other)), expected)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_finite(dtype):
    draw = Draw(7)
    for shape in (*SHAPES, (0, 3)):
        x = ours(draw.array(shape, dtype))
        same(xp.isfinite(x), np.ones(shape, bool))
        same(xp.isinf(x), np.zeros(shape, bool))
        same(xp.isnan(x), np.zeros(shape, bool))
