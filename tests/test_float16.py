"""float16, a dtype of storage: every cast of every number, arithmetic that is float32's rounded once,
and what the other chapters do with it. What holds for every dtype is in those chapters' tests, where
float16 is one of the dtypes."""

import json
import operator
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from strided import DTYPES, Draw, alike, ours, same
from test_elementwise import BINARY, FLOAT, UNARY

import arrayx as xp
from arrayx.testing import assert_allclose

half = xp.float16
BITS = np.arange(1 << 16, dtype=np.uint16)
EVERY = BITS.view(np.float16)
NUMBERS = EVERY[~np.isnan(EVERY)]
SPECIAL = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 65504, -65504, 2**-24, -(2**-24), 2**-14]
SPECIAL = np.float16([*SPECIAL, 2**-14 - 2**-24, 0.5, 1 + 2**-10, 3, -2.5, 1e4, 1e-4])
PAIRS = np.meshgrid(SPECIAL, SPECIAL)


def half_of(a):
    """float64 or float32 rounded once, by NumPy."""
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(np.float16)


def rounded(function, *arrays):
    """What a function of float32 gives, rounded once."""
    x = function(*[xp.asarray(a.astype(np.float32)) for a in arrays])
    return half_of(x) if x.dtype == xp.float32 else np.asarray(x)


def around(values):
    """Each of the numbers, those beside it, and those halfway to the next of float16 and beside."""
    v = np.asarray(values)
    between = (v[:-1] + v[1:]) / 2
    middle = np.concatenate((v, between))
    return np.concatenate(
        (middle, np.nextafter(middle, v.dtype.type(np.inf)), np.nextafter(middle, -v[-1]))
    )


# ---- casts ----------------------------------------------------------------------------------------


def test_widening_is_exact_for_every_number():
    x = ours(EVERY)
    for dtype in ("float32", "float64", "complex64", "complex128"):
        alike(xp.astype(x, getattr(xp, dtype)), EVERY.astype(dtype))
    same(xp.astype(x, half), EVERY)
    same(xp.astype(x, xp.bool), EVERY.astype(bool))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_narrowing_rounds_once_to_nearest_even(dtype):
    """At, between and halfway between all numbers, beyond the largest, and where rounding twice
    would be wrong."""
    v = np.sort(NUMBERS[np.isfinite(NUMBERS)].astype(dtype))
    largest = np.asarray([65504, 65519.99, 65520, 65536, 1e30, np.inf], dtype)
    twice = np.asarray([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 2**-25 * (1 + 2**-40)], dtype)
    tiny = np.asarray([2**-25, 2**-26, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal])
    values = np.concatenate((around(v), largest, twice, tiny.astype(dtype)))
    values = np.concatenate((values, -values)).astype(dtype)
    same(xp.astype(xp.asarray(values), half), half_of(values))
    for scalar in (1e300, -1e300, 65519.99, 65520.0, 1 + 2**-11 + 2**-40, 5e-324, -0.0):
        same(xp.asarray(scalar, dtype=half), half_of(scalar))
        same(xp.full((3,), scalar, dtype=half), half_of([scalar] * 3))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d or d == "bool"])
def test_integers_round_once(dtype):
    if dtype == "bool":
        values = np.asarray([False, True])
    else:
        info = np.iinfo(dtype)
        values = [*range(max(info.min, -70000), min(info.max, 70000)), info.min, info.max]
        values += [v for v in (2**24 + 1, 2**31 + 1, 2**53 + 1) if v <= info.max]
        values = np.asarray(values, dtype)
    same(xp.astype(xp.asarray(values), half), half_of(values))
    inside = NUMBERS[np.isfinite(NUMBERS)]
    if dtype != "bool":
        kept = inside.astype(np.float64)
        inside = inside[(kept > float(info.min) - 1) & (kept < float(info.max) + 1)]
    same(xp.astype(ours(inside), getattr(xp, dtype)), inside.astype(dtype))


def test_nans_keep_sign_and_payload_and_become_quiet():
    nans = BITS[np.isnan(EVERY)]
    wide = np.asarray(xp.astype(ours(nans.view(np.float16)), xp.float32)).view(np.uint32)
    nans = nans.astype(np.uint32)
    expected = (nans & 0x8000) << 16 | 0x7FC00000 | (nans & 0x3FF) << 13
    np.testing.assert_array_equal(wide, expected)
    for dtype, bits in (("float32", np.uint32), ("float64", np.uint64)):
        fraction = np.finfo(dtype).nmant
        values = np.asarray([1, 5 << fraction - 10, (1 << fraction) - 1], bits)
        values |= bits((1 << np.finfo(dtype).nexp) - 1) << bits(fraction)
        values = np.concatenate((values, values | bits(1 << np.finfo(dtype).bits - 1)))
        got = np.asarray(xp.astype(ours(values.view(dtype)), half)).view(np.uint16)
        assert got.tolist() == [0x7E00, 0x7E05, 0x7FFF, 0xFE00, 0xFE05, 0xFFFF]


def casts_digest():
    """The results of casts and of a few functions as one text, in this process."""
    import hashlib

    values = around(np.sort(NUMBERS[np.isfinite(NUMBERS)].astype(np.float64)))
    digest = hashlib.sha256()
    for a in (EVERY, values, values.astype(np.float32), np.arange(-70000, 70000)):
        x = xp.asarray(a)
        for dtype in (xp.float16, xp.float32, xp.float64, xp.complex64, xp.bool, xp.int64):
            if dtype == xp.int64 and a.dtype.kind == "f":
                x = xp.asarray(np.nan_to_num(a, posinf=0, neginf=0))
            for part in (x, x[1:], x[3:8], x[::-3]):
                digest.update(np.asarray(xp.astype(part, dtype)).tobytes())
    digest.update(np.asarray(xp.nextafter(ours(EVERY), 1.0)).tobytes())
    digest.update(np.asarray(xp.sort(ours(EVERY))).tobytes())
    return digest.hexdigest()


@pytest.mark.cpu
def test_every_instruction_set_gives_the_same_bits():
    program = "import test_float16 as t, arrayx, json; print(json.dumps(t.casts_digest()))"
    digests = set()
    for level in ("baseline", "avx2", "avx512"):
        environment = os.environ | {"ARRAYX_ISA": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-P", "-c", program], capture_output=True, text=True, env=environment
        )
        if run.returncode and "does not have" in run.stderr:
            continue  # not in this build, or not in this CPU
        assert run.returncode == 0, run.stderr
        digests.add(json.loads(run.stdout))
    assert len(digests) == 1


# ---- elementwise ----------------------------------------------------------------------------------

UNARY_HALF = sorted(name for name, row in UNARY.items() if FLOAT in row[0])
BINARY_HALF = sorted(
    name for name, row in BINARY.items() if FLOAT in row[0] and name != "nextafter"
)


@pytest.mark.parametrize("name", UNARY_HALF)
def test_unary_function_of_every_number(name):
    f = getattr(xp, name)
    x = f(ours(EVERY))
    assert x.dtype == (half if f(xp.ones(1)).dtype == xp.float64 else xp.bool)
    alike(x, rounded(f, EVERY))
    alike(f(ours(EVERY)[::-7]), rounded(f, EVERY[::-7]))


@pytest.mark.parametrize("name", BINARY_HALF)
def test_binary_function(name):
    f = getattr(xp, name)
    draw = np.random.default_rng(1)
    a, b = (draw.permutation(EVERY).reshape(256, 256) for _ in range(2))
    for x, y in (PAIRS, (a, b), (a, b.T), (a[:, :1], b), (a[:3, :5], b[:3, :5])):
        alike(f(ours(x), ours(y)), rounded(f, x, y))
    for scalar in (0.1, -3, 2, np.inf):
        near_one = np.float16(scalar)  # a Python scalar is rounded to the dtype first
        alike(f(ours(a), scalar), rounded(f, a, near_one))
        alike(f(scalar, ours(a)), rounded(f, near_one, a))


def test_nextafter_is_the_neighbour():
    def neighbour(x, y):
        with np.errstate(all="ignore"):  # of equal numbers C takes the second, NumPy the first
            return np.where(x == y, y, np.nextafter(x, y)).astype(np.float16)

    for y in SPECIAL:
        alike(xp.nextafter(ours(EVERY), ours(np.asarray(y))), neighbour(EVERY, y))
    alike(xp.nextafter(ours(EVERY), ours(EVERY[::-1])), neighbour(EVERY, EVERY[::-1]))
    alike(xp.nextafter(ours(EVERY), 1.0), neighbour(EVERY, np.float16(1)))
    alike(xp.nextafter(0.0, ours(SPECIAL)), neighbour(np.float16(0), SPECIAL))


def test_basic_arithmetic_is_numpys():
    draw = np.random.default_rng(2)
    a, b = draw.permutation(EVERY), draw.permutation(EVERY)
    for op in (operator.add, operator.sub, operator.mul, operator.truediv):
        with np.errstate(all="ignore"):
            alike(op(ours(a), ours(b)), op(a, b))
            alike(op(ours(a), 0.1), op(a, np.float16(0.1)))
    with np.errstate(all="ignore"):
        alike(xp.sqrt(ours(a)), np.sqrt(a))
        alike(xp.remainder(ours(a), ours(b)), np.remainder(a, b))


def test_where_and_clip():
    a, b = PAIRS
    same(xp.where(ours(a > b), ours(a), ours(b)), np.where(a > b, a, b))
    same(xp.where(ours(a > b), ours(a), 0.1), np.where(a > b, a, np.float16(0.1)))
    alike(xp.clip(ours(a), -1, 0.1), np.clip(a, np.float16(-1), np.float16(0.1)))
    x = xp.asarray(a)
    x[x != x] = 0.1
    same(x, np.where(np.isnan(a), np.float16(0.1), a))


def test_promotion():
    x = xp.ones(2, dtype=half)
    for name in DTYPES:
        other = getattr(xp, name)
        wider = {"f": max(half, other, key=lambda d: d.itemsize), "c": other}
        expected = wider.get(other.kind, half)
        assert name == "bool" or (x + xp.ones(2, dtype=other)).dtype == expected
        assert xp.result_type(half, other) == xp.result_type(other, half) == expected
        assert xp.can_cast(half, other) == (expected == other)
    assert (x + 1).dtype == (x + 1.5).dtype == half
    assert (x + 1j).dtype == xp.complex64
    assert x.dtype == half and (x > 0.5).dtype == xp.bool
    assert not xp.can_cast(xp.float32, half)


def test_other_dtypes_are_rounded_before_they_meet_it():
    x = ours(np.float16([1, -1, np.inf]))
    integers = xp.asarray([2049, 70000, -70000])
    alike(x + integers, np.float16([2048 + 1, np.inf, np.nan]))
    same(xp.asarray([2048.0], dtype=half) == xp.asarray([2049]), np.asarray([True]))
    same(xp.asarray([2048.0], dtype=half) == 2049, np.asarray([True]))


def test_in_place_operators():
    for other in (np.float16(0.1), SPECIAL, SPECIAL[::-1], SPECIAL[::-1].astype("f8") / 3):
        x = xp.asarray(SPECIAL.copy())
        before = x
        x *= ours(other) if other.ndim else 0.1
        assert x is before
        with np.errstate(all="ignore"):
            alike(x, half_of(SPECIAL * other))
    x = xp.ones(3, dtype=xp.float32)
    x += xp.asarray([0.1] * 3, dtype=half)
    same(x, np.float32(1) + np.float16([0.1] * 3).astype(np.float32))
    x = xp.ones(3, dtype=xp.int64)
    with pytest.raises(TypeError, match="float16"):
        x += xp.ones(3, dtype=half)
    a = np.arange(6, dtype=np.float16)
    x = xp.asarray(a.copy())
    x[1:] += x[:-1]
    a[1:] += a[:-1].copy()
    same(x, a)
    with pytest.raises(TypeError, match=r"bitwise_and.*float16"):
        xp.ones(2, dtype=half) & xp.ones(2, dtype=half)


# ---- reductions and scans -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_reductions_are_those_of_float32_rounded_once(seed):
    draw = Draw(seed)
    shape = draw.shape(1, 4, 6) if draw.random() < 0.7 else (draw.randint(1, 3000), 7)
    a = draw.layout(draw.values(shape, "float16"))
    wide = xp.asarray(a.astype(np.float32))
    axis = draw.choice([None, draw.randrange(a.ndim), (0, -1)[: a.ndim]])
    x = ours(a)
    for name in ("sum", "prod", "all", "any", "count_nonzero"):
        f = getattr(xp, name)
        expected = np.asarray(f(wide, axis=axis))
        if expected.dtype == np.float32:
            expected = half_of(expected)
        alike(f(x, axis=axis), expected)
    if a.size:
        alike(xp.max(x, axis=axis), half_of(xp.max(wide, axis=axis)))
        alike(xp.min(x, axis=axis, keepdims=True), half_of(xp.min(wide, axis=axis, keepdims=True)))
        one = axis if isinstance(axis, int) else None
        for name in ("argmax", "argmin"):
            alike(getattr(xp, name)(x, axis=one), np.asarray(getattr(xp, name)(wide, axis=one)))
    along = draw.randrange(a.ndim)
    for name in ("cumulative_sum", "cumulative_prod"):
        f = getattr(xp, name)
        for initial in (False, True):
            expected = half_of(f(wide, axis=along, include_initial=initial))
            alike(f(x, axis=along, include_initial=initial), expected)
    finite = np.where(np.isfinite(a), a, np.float16(1))
    for name in ("mean", "std", "var"):
        got = getattr(xp, name)(ours(finite), axis=axis)
        exact = np.asarray(getattr(xp, name)(xp.asarray(finite.astype("f8")), axis=axis))
        assert got.dtype == half and got.shape == exact.shape
        with np.errstate(all="ignore"):
            bound = 0.51 * np.spacing(np.abs(half_of(exact))).astype("f8")
            close = np.abs(np.asarray(got).astype("f8") - exact) <= bound
        assert np.all(close | (np.asarray(got) == half_of(exact)) | np.isnan(exact))


@pytest.mark.parametrize(
    "shape", [(3001, 7), (700, 64), (500, 129), (300, 1000), (37, 4097), (3, 70_001)]
)
@pytest.mark.parametrize("values", ["any", "few", "numbers"])
def test_positions_of_extremes_are_the_first_ones(shape, values):
    """Zeros of both signs are equal, and so are all NaN, which come before numbers."""
    draw = Draw(shape[1])
    pool = {"any": EVERY, "few": half_of([0.0, -0.0, 0.0, -0.0, 6e-8, -6e-8]), "numbers": EVERY}
    chosen = pool[values]
    if values == "numbers":
        chosen = chosen[~np.isnan(chosen)]
    a = chosen[draw.numpy.integers(0, len(chosen), shape)]
    for view in (a, a[:, 1:], a[1:, ::-1], np.asfortranarray(a), a[:, ::2]):
        x, wide = ours(view), view.astype(np.float32)
        for ours_of, theirs in ((xp.argmax, np.argmax), (xp.argmin, np.argmin)):
            for axis in (0, 1, None):
                same(ours_of(x, axis=axis), np.asarray(theirs(wide, axis=axis)))


def test_sums_do_not_overflow_on_the_way():
    x = xp.asarray([60000.0, 60000.0, -60000.0] * 400, dtype=half)
    assert float(xp.sum(x[:3])) == 60000.0 and float(xp.mean(x)) == 20000.0
    assert float(xp.sum(x[:2])) == np.inf
    assert float(xp.sum(x[:2], dtype=xp.float32)) == 120000.0
    assert float(xp.mean(xp.full(1 << 20, 0.1, dtype=half))) == np.float16(0.1)
    assert xp.cumulative_sum(x[:4]).tolist() == [60000.0, np.inf, 60000.0, np.inf]
    assert float(xp.sum(xp.asarray([2049.0, -2048]), dtype=half)) == 0.0  # of the rounded ones
    assert float(xp.sum(xp.asarray([2**16, 1]), dtype=half)) == np.inf
    assert float(xp.linalg.vector_norm(xp.asarray([300.0, 400.0], dtype=half))) == 500.0
    assert float(xp.linalg.vector_norm(xp.full(4, 2.0**-14, dtype=half))) == 2.0**-13
    assert xp.isnan(xp.var(x[:1], correction=1)) and xp.var(x[:1], correction=1).dtype == half


def test_diff_and_cumulative_dtype():
    a = np.float16([1, 3, 7, 1000, 1000.5])
    same(xp.diff(ours(a)), np.diff(a))
    same(xp.diff(ours(a), n=2), np.diff(a, n=2))
    assert xp.cumulative_sum(ours(a), dtype=xp.float64).dtype == xp.float64
    same(xp.cumulative_sum(xp.asarray([1, 2]), dtype=half), np.float16([1, 3]))


# ---- sorting, searching, sets -----------------------------------------------------------------------


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("n", [5, 64, 1000, 1 << 16, 300_000])
def test_sorts(n, descending):
    draw = np.random.default_rng(n)
    a = draw.choice(np.concatenate((EVERY, SPECIAL, np.float16([0, -0.0] * 9000))), n)
    wide = xp.asarray(a.astype(np.float32))
    order = np.asarray(xp.argsort(wide, descending=descending))
    same(xp.argsort(ours(a), descending=descending), order)
    same(xp.sort(ours(a), descending=descending), a[order])
    table = a[: n // 5 * 5].reshape(5, -1)
    for axis in (0, 1):
        for x in (ours(table), ours(table)[::-1, ::-2]):
            order = xp.argsort(xp.astype(x, xp.float32), axis=axis, descending=descending)
            same(xp.argsort(x, axis=axis, descending=descending), np.asarray(order))
            expected = np.take_along_axis(np.asarray(x), np.asarray(order), axis)
            same(xp.sort(x, axis=axis, descending=descending), expected)


def test_searches_and_sets():
    draw = np.random.default_rng(3)
    a = draw.choice(np.concatenate((NUMBERS[::50], SPECIAL)), 5000)
    x = ours(a)
    numbers = np.sort(a[~np.isnan(a)])
    for side in ("left", "right"):
        got = xp.searchsorted(ours(numbers), x[:100], side=side)
        same(got, np.searchsorted(numbers, a[:100], side=side))
    assert int(xp.searchsorted(ours(numbers), 0.0)) == np.searchsorted(numbers, np.float16(0))
    for got, expected in zip(xp.nonzero(x), np.nonzero(a), strict=True):
        same(got, expected)
    same(xp.count_nonzero(x), np.asarray(np.count_nonzero(a)))
    number = a[~np.isnan(a)] + np.float16(0)
    values, counts = np.unique(number, return_counts=True)
    same(xp.unique_values(ours(number)), values)
    same(xp.unique_counts(ours(number)).counts, counts)
    everything = xp.unique_all(ours(number))
    same(everything.values[everything.inverse_indices], number)
    same(ours(number)[everything.indices], values)
    same(xp.isin(x, ours(SPECIAL)), np.isin(a, SPECIAL))
    same(xp.isin(x, [0.5, 1]), np.isin(a, [0.5, 1]))
    assert ours(SPECIAL)[0] in x and 0.1 not in xp.zeros(3, dtype=half)


# ---- creation and manipulation ----------------------------------------------------------------------


def test_creation():
    same(xp.zeros(3, dtype=half), np.zeros(3, np.float16))
    same(xp.ones((2, 2), dtype="float16"), np.ones((2, 2), np.float16))
    same(xp.eye(3, dtype=half), np.eye(3, dtype=np.float16))
    same(xp.full_like(ours(SPECIAL), 0.1), np.full_like(SPECIAL, 0.1))
    same(xp.arange(0, 3000, 0.7, dtype=half), half_of(0.7 * np.arange(4286)))
    same(xp.arange(2050, dtype=half), half_of(np.arange(2050)))
    same(xp.linspace(0, 1, 1001, dtype=half), half_of(np.asarray(xp.linspace(0, 1, 1001))))
    same(xp.linspace(0, 1, 0, dtype=half), np.zeros(0, np.float16))
    same(xp.asarray([1, 0.1, True], dtype=half), np.float16([1, 0.1, 1]))
    same(xp.asarray([ours(SPECIAL), ours(SPECIAL)]), np.stack([SPECIAL, SPECIAL]))
    same(xp.asarray(np.float16(0.1)), np.asarray(np.float16(0.1)))
    same(xp.tril(ours(PAIRS[0])), np.tril(PAIRS[0]))
    with pytest.raises(TypeError, match="float16"):
        xp.asarray([1j], dtype=half)
    with pytest.raises(TypeError, match="float16"):
        xp.full(2, 1j, dtype=half)


def test_moving_keeps_every_bit():
    x = ours(EVERY)
    positions = np.random.default_rng(4).permutation(1 << 16)
    same(xp.take(x, xp.asarray(positions)), EVERY[positions])
    same(x[xp.asarray(positions)], EVERY[positions])
    same(x[xp.asarray(positions % 3 == 0)], EVERY[positions % 3 == 0])
    same(xp.concat([x, x[::-1]]), np.concatenate([EVERY, EVERY[::-1]]))
    same(xp.permute_dims(xp.reshape(x, (64, 1024)), (1, 0)).copy(), EVERY.reshape(64, 1024).T)
    same(xp.roll(x, 5), np.roll(EVERY, 5))
    same(xp.repeat(x, 2), np.repeat(EVERY, 2))
    y = xp.zeros_like(x)
    y[xp.asarray(positions)] = x
    expected = np.zeros_like(EVERY)
    expected[positions] = EVERY
    same(y, expected)
    same(x.view(xp.int16), EVERY.view(np.int16))


# ---- products, norms and transforms -----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(100, 300, 70), (1, 400, 600), (33, 4000, 2), (65, 35, 129)])
def test_larger_products_add_up_more_than_halves(shape):
    m, k, n = shape
    draw = np.random.default_rng(m)
    a, b = half_of(draw.standard_normal((3, m, k))), half_of(draw.standard_normal((k, n)))
    exact = a.astype("f8") @ b.astype("f8")
    bound = 0.51 * np.spacing(np.abs(half_of(exact))).astype("f8") + 2e-6 * k
    columns = xp.matrix_transpose(ours(np.ascontiguousarray(a.swapaxes(1, 2))))
    apart = ours(np.repeat(b, 2, axis=1))[:, ::2]
    for x, y in ((ours(a), ours(b)), (columns, ours(b)), (ours(a), apart)):
        got = xp.matmul(x, y)
        assert got.dtype == half
        assert np.all(np.abs(np.asarray(got).astype("f8") - exact) <= bound)


def test_products_are_rounded_once():
    draw = np.random.default_rng(5)
    a, b = half_of(draw.standard_normal((2, 5, 40))), half_of(draw.standard_normal((2, 40, 3)))
    exact = a.astype("f8") @ b.astype("f8")
    for got in (
        xp.matmul(ours(a), ours(b)),
        ours(a) @ ours(b),
        xp.stack([xp.tensordot(ours(x), ours(y), axes=1) for x, y in zip(a, b, strict=True)]),
        xp.vecdot(ours(a)[:, :, None, :], xp.matrix_transpose(ours(b))[:, None, :, :]),
    ):
        assert got.dtype == half
        error = np.abs(np.asarray(got).astype("f8") - exact)
        assert np.all(error <= 0.51 * np.spacing(np.abs(half_of(exact))) + 1e-5)
    big = xp.full((1, 2), 300.0, dtype=half)
    assert (big @ xp.asarray([[300.0], [-300.0]], dtype=half)).tolist() == [[0.0]]
    assert float(xp.vecdot(big, big)[0]) == np.inf
    short = xp.full((20, 2), 300.0, dtype=half)
    assert float(xp.vecdot(short, short * xp.asarray([1, -1]))[0]) == 0.0
    assert xp.matmul(ours(a[0]), xp.ones((40, 2), dtype=xp.int8)).dtype == half
    assert xp.matmul(ours(a[0]), xp.ones((40, 2), dtype=xp.float32)).dtype == xp.float32
    assert xp.linalg.matrix_power(xp.eye(2, dtype=half) * 2, 3).tolist() == [[8, 0], [0, 8]]
    for order in (1, 3.5, np.inf, 0):
        norm = xp.linalg.vector_norm(ours(a), ord=order, axis=-1)
        wide = xp.linalg.vector_norm(xp.asarray(a.astype("f8")), ord=order, axis=-1)
        np.testing.assert_allclose(np.asarray(norm), np.asarray(wide), rtol=6e-4)
        assert norm.dtype == half
    assert xp.linalg.matrix_norm(ours(a)).dtype == half
    assert xp.linalg.trace(ours(a)).dtype == half


@pytest.mark.parametrize(
    "name",
    "cholesky det eig eigh eigvals eigvalsh inv matrix_rank pinv qr slogdet svd svdvals".split(),
)
def test_matrices_are_not_factored(name):
    with pytest.raises(TypeError, match=f"{name}: x has dtype float16.*float32"):
        getattr(xp.linalg, name)(xp.eye(2, dtype=half))


def test_other_factorisations():
    x = xp.eye(2, dtype=half)
    with pytest.raises(TypeError, match="solve: x1 has dtype float16"):
        xp.linalg.solve(x, x)
    with pytest.raises(TypeError, match="matrix_norm: x has dtype float16"):
        xp.linalg.matrix_norm(x, ord=2)
    with pytest.raises(TypeError, match="matrix_power: x has dtype float16"):
        xp.linalg.matrix_power(x, -1)
    assert xp.linalg.solve(xp.eye(2, dtype=xp.float32), x).dtype == xp.float32


def test_transforms_are_those_of_float32():
    a = half_of(np.random.default_rng(6).standard_normal((3, 8)))
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfftn", "irfftn"):
        f = getattr(xp.fft, name)
        same(f(ours(a)), np.asarray(f(xp.asarray(a.astype(np.float32)))))
    same(xp.fft.fftshift(ours(a)), np.fft.fftshift(a))
    same(xp.fft.fftfreq(10, dtype=half), half_of(np.fft.fftfreq(10)))


# ---- interchange, files, text -----------------------------------------------------------------------


@pytest.mark.cpu
@pytest.mark.cpu
def test_interchange():
    x = xp.asarray(SPECIAL.copy())
    theirs = np.asarray(x)
    assert theirs.dtype == np.float16 and np.shares_memory(theirs, np.asarray(x))
    same(xp.from_dlpack(SPECIAL), SPECIAL)
    alike(x, np.from_dlpack(x))
    assert memoryview(x).format == "e" and memoryview(x).itemsize == 2
    same(pickle.loads(pickle.dumps(x)), SPECIAL)
    same(pickle.loads(pickle.dumps(x, 2)), SPECIAL)
    torch = pytest.importorskip("torch")
    tensor = torch.asarray(theirs)
    assert tensor.dtype == torch.float16
    same(xp.from_dlpack(tensor), SPECIAL)
    assert torch.from_dlpack(x).dtype == torch.float16


@pytest.mark.cpu
def test_files(tmp_path):
    path = tmp_path / "half.npy"
    xp.save(path, ours(SPECIAL))
    assert np.load(path).tobytes() == SPECIAL.tobytes()
    same(xp.load(path), SPECIAL)
    same(xp.load(path, mmap_mode="r"), SPECIAL)
    np.save(path, SPECIAL.astype(">f2"))
    same(xp.load(path), SPECIAL)


@pytest.mark.cpu
@pytest.mark.cpu
def test_text():
    for values in ([0.1, 0.25, 3], [2**-24, 1], [np.nan, -np.inf], [1 / 3], [100.5, 1], []):
        a = np.float16(values)
        assert repr(ours(a)) == repr(a)
    assert repr(xp.asarray(65504, dtype=half)) == "array(65500., dtype=float16)"
    assert str(xp.asarray([0.1, 2049], dtype=half)) == "[   0.1 2048. ]"
    assert (
        float(xp.asarray(0.1, dtype=half)) == xp.asarray(0.1, dtype=half).item() == 0.0999755859375
    )
    assert ours(NUMBERS).tolist() == NUMBERS.tolist()


def test_it_is_a_real_floating_dtype_beside_the_standards():
    assert xp.isdtype(half, "real floating") and xp.isdtype(half, ("bool", "numeric"))
    assert "float16" not in xp.__array_namespace_info__().dtypes()
    assert xp.finfo(half).max == 65504.0 and xp.finfo(xp.zeros(1, dtype=half)).bits == 16
    with pytest.raises(TypeError, match="float16"):
        xp.iinfo(half)


def test_functions_beyond_the_standard():
    a = half_of(np.random.default_rng(7).standard_normal((6, 7)))
    a[0, 0] = np.nan
    x, wide = ours(a), xp.asarray(a.astype(np.float32))
    for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanstd", "median", "nanmedian"):
        got = getattr(xp, name)(x, axis=0)
        assert got.dtype == half, name
        expected = np.asarray(getattr(xp, name)(wide, axis=0))
        np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-3)
    assert xp.allclose(x, x, equal_nan=True) and not xp.array_equal(x, x)
    assert_allclose(x, wide, rtol=0)
    same(xp.nan_to_num(x), np.nan_to_num(a))
    assert xp.cbrt(x).dtype == xp.deg2rad(x).dtype == xp.swapaxes(x, 0, 1).dtype == half
