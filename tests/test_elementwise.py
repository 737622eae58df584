"""The elementwise chapter: each function in every dtype it takes, mixed dtypes, Python scalars and
any layout, compared with NumPy (in a wider dtype where results are rounded); operators; integers at
their limits. The special cases that the standard lists are in test_special_cases.py."""

import math
import operator
import threading
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strided import DTYPES, INTEGERS, REAL, Draw, alike, near, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)

# ---- references -----------------------------------------------------------------------------------

WIDER = {
    "float16": "float32",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}
# Where a long double is a double, the reference is no better than NumPy's functions of a double.
REFERENCE_ULPS = 0 if np.finfo(np.longdouble).eps < np.finfo(np.float64).eps / 1000 else 8


def integer_pow(a, b):
    """Modulo the width; of a negative exponent the part of the value before the point."""
    if a.dtype.kind not in "iu":  # rank 0 would be NumPy's square root for an exponent of 0.5
        return (np.ravel(a) ** np.ravel(b)).reshape(a.shape)
    modulus = 1 << 8 * a.itemsize
    inverse = {1: lambda n: 1, -1: lambda n: -1 if n % 2 else 1}
    values = [
        pow(x, n, modulus) if n >= 0 else inverse.get(x, lambda n: 0)(n)
        for x, n in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    ]
    wrapped = np.asarray([v % modulus for v in values], np.uint64)
    return wrapped.astype(a.dtype).reshape(a.shape)


def floor_divide(a, b):
    """NumPy's, but floor(a / b) where one is infinite or b is zero, as the standard prefers, and of
    large float32 quotients the exact one, rounded once, which NumPy's is one place beside."""
    if a.dtype.kind != "f":
        return np.floor_divide(a, b)
    proper = np.isfinite(a) & np.isfinite(b) & (b != 0)
    quotients = np.asarray(np.where(proper, a // b, np.floor(a / b)))
    if a.dtype == np.float32:
        large = proper & (np.abs(quotients) >= 2**22)
        for i in filter(large.__getitem__, np.ndindex(large.shape)):
            exact = math.floor(Fraction(float(a[i])) / Fraction(float(b[i])))
            quotients[i] = np.float64(exact)
    return quotients


def sign(a):
    return np.where(a == 0, 0, a / np.abs(a)) if a.dtype.kind == "c" else np.sign(a)


def log1p(a):
    """NumPy's, but the complex one by its parts: NumPy takes the logarithm of |1 + a|."""
    if a.dtype.kind == "f":
        return np.log1p(a)
    x, y = a.real, a.imag
    result = np.empty_like(a)
    result.real = np.log1p(x * (2 + x) + y * y) / 2
    cancelled = np.abs(1 + a) < 0.5  # where 1 + x is exact
    result.real[cancelled] = np.log(np.abs(1 + a[cancelled]))
    result.imag = np.arctan2(y, 1 + x)
    return result


def nextafter(a, b):
    """NumPy's, but b where both are zeros, as the standard says; in float16 NumPy's is a."""
    return np.where((a == 0) & (b == 0), b, np.nextafter(a, b))


BOOL, INTEGER, FLOAT, COMPLEX = "b", "iu", "f", "c"
REAL_NUMERIC, FLOATING = INTEGER + FLOAT, FLOAT + COMPLEX
NUMERIC, ANY = REAL_NUMERIC + COMPLEX, BOOL + REAL_NUMERIC + COMPLEX

# Which kinds a function takes, what it computes, and the kinds in which its results are rounded.
UNARY = {
    "abs": (NUMERIC, np.abs, COMPLEX),
    "bitwise_invert": (BOOL + INTEGER, np.invert, ""),
    "ceil": (REAL_NUMERIC, np.ceil, ""),
    "conj": (NUMERIC, np.conj, ""),
    "floor": (REAL_NUMERIC, np.floor, ""),
    "imag": (COMPLEX, np.imag, ""),
    "isfinite": (NUMERIC, np.isfinite, ""),
    "isinf": (NUMERIC, np.isinf, ""),
    "isnan": (NUMERIC, np.isnan, ""),
    "log1p": (FLOATING, log1p, FLOATING),
    "logical_not": (BOOL, np.logical_not, ""),
    "negative": (NUMERIC, np.negative, ""),
    "positive": (NUMERIC, np.positive, ""),
    "real": (NUMERIC, np.real, ""),
    "reciprocal": (FLOATING, np.reciprocal, COMPLEX),
    "round": (NUMERIC, np.round, ""),
    "sign": (NUMERIC, sign, COMPLEX),
    "signbit": (FLOAT, np.signbit, ""),
    "sqrt": (FLOATING, np.sqrt, COMPLEX),
    "square": (NUMERIC, np.square, COMPLEX),
    "trunc": (REAL_NUMERIC, np.trunc, ""),
} | {
    name: (FLOATING, getattr(np, name), FLOATING)
    for name in [
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
        "log10", "log2", "sin", "sinh", "tan", "tanh",
    ]
}  # fmt: skip
BINARY = {
    "add": (BOOL + NUMERIC, np.add, ""),
    "atan2": (FLOAT, np.atan2, FLOAT),
    "bitwise_and": (BOOL + INTEGER, np.bitwise_and, ""),
    "bitwise_left_shift": (INTEGER, np.left_shift, ""),
    "bitwise_or": (BOOL + INTEGER, np.bitwise_or, ""),
    "bitwise_right_shift": (INTEGER, np.right_shift, ""),
    "bitwise_xor": (BOOL + INTEGER, np.bitwise_xor, ""),
    "copysign": (FLOAT, np.copysign, ""),
    "divide": (NUMERIC, np.divide, COMPLEX),
    "equal": (ANY, np.equal, ""),
    "floor_divide": (REAL_NUMERIC, floor_divide, ""),
    "greater": (REAL_NUMERIC, np.greater, ""),
    "greater_equal": (REAL_NUMERIC, np.greater_equal, ""),
    "hypot": (FLOAT, np.hypot, FLOAT),
    "less": (REAL_NUMERIC, np.less, ""),
    "less_equal": (REAL_NUMERIC, np.less_equal, ""),
    "logaddexp": (FLOAT, np.logaddexp, FLOAT),
    "logical_and": (BOOL, np.logical_and, ""),
    "logical_or": (BOOL, np.logical_or, ""),
    "logical_xor": (BOOL, np.logical_xor, ""),
    "maximum": (REAL_NUMERIC, np.maximum, ""),
    "minimum": (REAL_NUMERIC, np.minimum, ""),
    "multiply": (BOOL + NUMERIC, np.multiply, COMPLEX),
    "nextafter": (FLOAT, nextafter, ""),
    "not_equal": (ANY, np.not_equal, ""),
    "pow": (NUMERIC, integer_pow, FLOATING),
    "remainder": (REAL_NUMERIC, np.remainder, ""),
    "subtract": (NUMERIC, np.subtract, ""),
}
FUNCTIONS = UNARY | BINARY


def cast(a, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(a).astype(dtype)


def kind(dtype):
    return np.dtype(dtype).kind


def computed_in(name, dtype):
    """The dtype in which a function computes for operands of `dtype`; None if it does not."""
    accepted = FUNCTIONS[name][0]
    if kind(dtype) in accepted:
        return dtype
    return "float64" if kind(dtype) in INTEGER and "f" in accepted else None


def reference(name, arrays):
    """What NumPy computes of arrays of one dtype, and whether it is a wider dtype's."""
    _, function, rounded = FUNCTIONS[name]
    dtype = arrays[0].dtype
    wide = dtype.kind in rounded
    with np.errstate(all="ignore"):
        values = function(*[a.astype(WIDER[dtype.name]) if wide else a for a in arrays])
    return np.asarray(values), wide


def check(name, x, arrays):
    """That x is the function of arrays of one dtype and shape."""
    dtype = arrays[0].dtype
    expected, wide = reference(name, arrays)
    if not wide:
        if name in ("maximum", "minimum") and dtype.kind == "f":  # either zero may be taken
            x, expected = x + 0.0, expected + dtype.type(0)
        alike(x, expected)
        return
    real = dtype.kind != "c"
    result = np.zeros(0, dtype).real.dtype if name == "abs" else dtype
    # logaddexp: 1 ulp of the larger of the result and 1
    slack = np.finfo(dtype).eps if name == "logaddexp" else 0.0
    if not real:  # infinities and NaN are the business of the special cases
        keep = np.logical_and.reduce([np.isfinite(a) for a in [*arrays, cast(expected, dtype)]])
        if name == "pow":  # the larger the exponent of e, the fewer digits a reference has left
            keep &= np.abs(arrays[1]) < 100
        x, expected = x[xp.asarray(keep)], expected[keep]
    near(x, expected, result, (1 if real else 4) + REFERENCE_ULPS, slack)
    if real:  # zeros have signs
        got, zero = np.asarray(x), np.asarray(expected == 0)
        assert (np.signbit(got[zero]) == np.signbit(expected[zero])).all()


def promoted(a, b):
    """The dtype of an operation on two arrays; None if there is none."""
    kinds = {kind(a): a, kind(b): b}
    if set(kinds) == {"i", "u"} and kinds["u"] == "uint64":
        return None
    floating = [d for k, d in kinds.items() if k in FLOATING]
    if len(floating) == 1 and len(kinds) == 2:  # it keeps its width
        return floating[0]
    return np.promote_types(a, b).name


def weak(scalar, dtype):
    """The dtype of an operation on an array and a Python scalar."""
    if isinstance(scalar, complex):
        single = dtype in ("float16", "float32", "complex64")
        return "complex64" if single else "complex128"
    if isinstance(scalar, float):
        return dtype if kind(dtype) in FLOATING else "float64"
    if isinstance(scalar, bool):
        return dtype
    return "int64" if dtype == "bool" else dtype


def test_the_tables_name_every_function():
    assert set(FUNCTIONS) | {"clip"} == set(xp._elementwise_functions.__all__)


# ---- any dtypes, shapes and layouts ---------------------------------------------------------------


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=30)
@given(seed=seeds)
def test_unary_function(name, seed):
    draw = Draw(seed)
    dtype = draw.choice(DTYPES)
    a = draw.array(draw.shape(max_dims=6, max_side=4), dtype)
    f = getattr(xp, name)
    if (common := computed_in(name, dtype)) is None:
        with pytest.raises(TypeError, match=rf"{name}\b.*{dtype}"):
            f(ours(a))
        return
    before = a.copy()
    check(name, f(ours(a)), [cast(a, common)])
    same(ours(a), before)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=60)
@given(seed=seeds)
def test_binary_function(name, seed):
    draw = Draw(seed)
    shape = draw.shape(max_dims=6, max_side=3)
    dtypes = [draw.choice(DTYPES)]
    dtypes.append(dtypes[0] if draw.random() < 0.5 else draw.choice(DTYPES))
    arrays = [draw.array(draw.broadcastable(shape), d) for d in dtypes]
    operands = [ours(a) for a in arrays]
    dtype = promoted(*dtypes)
    if draw.random() < 0.3:
        at = draw.randrange(2)
        scalar = draw.choice([True, 0, 1, 3, 0.0, -0.0, 0.5, -3.0, math.inf, math.nan, 1j, 2 - 1j])
        operands[at] = scalar
        dtype = weak(scalar, dtypes[1 - at])
        arrays[at] = np.asarray(scalar)
    f = getattr(xp, name)
    if dtype is None or (common := computed_in(name, dtype)) is None:
        with pytest.raises(TypeError, match=r"no dtype holds both|" + name):
            f(*operands)
        return
    check(name, f(*operands), np.broadcast_arrays(*[cast(a, common) for a in arrays]))


@given(seeds)
def test_clip(seed):
    draw = Draw(seed)
    dtype = draw.choice(REAL)
    shape = draw.shape(max_dims=5, max_side=3)
    a = draw.array(shape, dtype)
    bounds = []
    for _ in range(2):
        scalar = draw.choice([0, 1, 3] if kind(dtype) in "iu" else [0, -1.5, 2, math.inf, math.nan])
        array = draw.array(draw.broadcastable(shape), dtype)
        bounds.append(draw.choice([None, scalar, array]))
    low, high = bounds
    expected = a
    with np.errstate(invalid="ignore"):
        if low is not None:
            expected = np.maximum(expected, np.asarray(low, dtype))
        if high is not None:
            expected = np.minimum(expected, np.asarray(high, dtype))
    arguments = [ours(b) if isinstance(b, np.ndarray) else b for b in bounds]
    x = xp.clip(ours(a), *arguments)
    if kind(dtype) == "f":
        x, expected = x + 0.0, expected + expected.dtype.type(0)
    alike(x, expected)


def test_clip_refuses_bounds_of_another_kind():
    x = xp.asarray([1, 2, 3], dtype=xp.int8)
    for bound in (0.5, xp.asarray(1.0), xp.asarray(1, dtype=xp.int64)):
        with pytest.raises(TypeError, match=r"clip: m.. is .*int8"):
            xp.clip(x, bound)
        with pytest.raises(TypeError, match=r"clip: max is .*int8"):
            xp.clip(x, None, bound)
    for bad in (xp.asarray([True]), xp.asarray([1j])):
        with pytest.raises(TypeError, match="clip"):
            xp.clip(bad, 0, 1)
    with pytest.raises(ValueError, match="broadcast"):
        xp.clip(x, xp.asarray([1, 2], dtype=xp.int8))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, d) for name, (kinds, *_) in FUNCTIONS.items() for d in DTYPES if kind(d) in kinds],
)
def test_large_arrays_repeat_the_results_of_small_ones(name, dtype):
    """Threads, blocks, tiles and vector tails change no bit."""
    draw = Draw(DTYPES.index(dtype))
    arrays = [draw.values((97,), dtype) for _ in range(1 if name in UNARY else 2)]
    f = getattr(xp, name)
    row = np.concatenate([np.asarray(f(*[ours(a[i : i + 1]) for a in arrays])) for i in range(97)])
    same(f(*[ours(a) for a in arrays]), row)
    tiles = [np.ascontiguousarray(np.broadcast_to(a, (701, 97))) for a in arrays]
    expected = np.broadcast_to(row, (701, 97))
    same(f(*[ours(a) for a in tiles]), expected)
    same(f(*[ours(a.T[::-1]) for a in tiles]), expected.T[::-1])
    if name in BINARY:  # operands that are fastest in different dimensions, and broadcast ones
        first, second = tiles[0], np.asfortranarray(tiles[1])
        same(f(ours(first), ours(second)), expected)
        same(f(ours(first), ours(np.broadcast_to(arrays[1], (701, 97)))), expected)


@pytest.mark.parametrize("name", ["positive", "conj", "floor", "round", "trunc", "abs", "clip"])
def test_results_that_equal_the_operand_are_still_copies(name):
    for a in (np.arange(5), np.arange(5.0)):
        x = ours(a)
        y = getattr(xp, name)(x)
        same(y, a)
        y[...] = 7
        assert a.tolist() == [0, 1, 2, 3, 4]


def test_real_and_imag_of_any_layout():
    draw = Draw(11)
    for dtype in ("complex64", "complex128"):
        a = draw.array((3, 4, 5), dtype)
        same(xp.real(ours(a)), a.real)
        same(xp.imag(ours(a)), a.imag)


# ---- Python scalars ---------------------------------------------------------------------------------

COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_compare_with_any_python_integer(dtype):
    info = np.iinfo(dtype)
    a = np.asarray([info.min, 0, 1, info.max], dtype)
    for scalar in (
        -(2**70),
        -(2**63),
        info.min - 1,
        info.min,
        info.max,
        info.max + 1,
        2**64,
        2**70,
    ):
        for f in COMPARISONS:
            expected = np.asarray([f(v, scalar) for v in a.tolist()])
            same(f(ours(a), scalar), expected)
            same(f(scalar, ours(a)), np.asarray([f(scalar, v) for v in a.tolist()]))
            same(f(ours(np.tile(a, 30_000)), scalar), np.tile(expected, 30_000))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_python_integers_that_do_not_fit_are_refused(dtype):
    info = np.iinfo(dtype)
    for a in (np.zeros(3, dtype), np.zeros(50_000, dtype)):
        for scalar in (info.min - 1, info.max + 1, 2**64, -(2**64)):
            for f in (operator.add, operator.mul, operator.and_, operator.mod):
                for pair in ((ours(a), scalar), (scalar, ours(a))):
                    with pytest.raises(OverflowError, match=f"does not fit {dtype}"):
                        f(*pair)


def test_huge_python_integers_become_floats_or_are_refused():
    for dtype, digits in (("float32", 24), ("float64", 53)):
        x = xp.ones(3, dtype=getattr(xp, dtype))
        same(x * 2**100, np.full(3, 2.0**100, dtype))
        same(x * (2**digits + 1), np.full(3, 2.0**digits, dtype))  # a tie, to even
        same(x * -(2**digits + 3), np.full(3, -(2.0**digits) - 4, dtype))
    with pytest.raises(OverflowError):
        xp.ones(3) + 2**1100


def test_scalars_need_an_array_beside_them():
    for name in BINARY:
        with pytest.raises(TypeError, match=rf"{name}.*at least one argument must be an Array"):
            getattr(xp, name)(1, 2)


# ---- operators --------------------------------------------------------------------------------------

OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
IN_PLACE = {
    name: getattr(operator, "i" + f.__name__.rstrip("_"))
    for name, f in OPERATORS.items()
    if hasattr(operator, "i" + f.__name__.rstrip("_"))
}
assert len(IN_PLACE) == 12


def outcome(f, *operands):
    """The bits of a result, or the type of the error."""
    try:
        x = f(*operands)
    except (TypeError, OverflowError) as error:
        return type(error)
    return x.dtype.name, x.shape, np.asarray(x).tobytes()


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=40)
@given(seed=seeds)
def test_operators_are_the_functions(name, seed):
    draw = Draw(seed)
    shape = draw.choice([draw.shape(max_side=3), (draw.randint(0, 200),), (700, 90)])
    dtypes = [draw.choice(DTYPES), draw.choice(DTYPES)]
    if draw.random() < 0.6:
        dtypes[1] = dtypes[0]
    x, y = (ours(draw.array(draw.broadcastable(shape), d)) for d in dtypes)
    if draw.random() < 0.5:
        y = draw.choice([True, 0, 2, -1, 300, 1.5, -0.0, math.nan, 1j])
    f, function = OPERATORS[name], getattr(xp, name)
    assert outcome(f, x, y) == outcome(function, x, y)
    assert outcome(f, y, x) == outcome(function, y, x)


@pytest.mark.parametrize("name", ["abs", "negative", "positive", "bitwise_invert"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators_are_the_functions(name, dtype):
    f = {"negative": operator.neg, "positive": operator.pos, "bitwise_invert": operator.inv}
    x = ours(Draw(3).array((5, 7), dtype))
    assert outcome(f.get(name, abs), x) == outcome(getattr(xp, name), x)


def windows(draw, a):
    """A view into a matrix, and one that broadcasts to its shape and may overlap it in any way."""
    if draw.random() < 0.1:  # large ones go in blocks and threads
        sides, swap = [n - 30 for n in a.shape], False
    else:
        sides, swap = [draw.randint(0, 9), draw.randint(0, 9)], draw.random() < 0.3
    views = []
    for lengths in (sides, sides[::-1] if swap else sides):
        view = a
        for axis, (length, n) in enumerate(zip(lengths, a.shape, strict=True)):
            step = draw.choice([1, 1, 2]) if 2 * length <= n else 1
            start = draw.randint(0, n - length * step)
            part = slice(start, start + length * step, step)
            view = view[(slice(None),) * axis + (part,)]
            backwards = (slice(None),) * axis + (slice(None, None, -1),)
            view = view[backwards] if draw.random() < 0.4 else view
        views.append(view)
    target, other = views[0], views[1].T if swap else views[1]
    if draw.random() < 0.2 and target.shape[0]:
        other = other[draw.randrange(target.shape[0])]
    return target, other


@pytest.mark.parametrize("name", IN_PLACE)
@settings(max_examples=60)
@given(seed=seeds)
def test_in_place_operators_on_overlapping_views(name, seed):
    draw = Draw(seed)
    kinds = FLOATING if name == "divide" else BINARY[name][0]
    dtype = draw.choice([d for d in DTYPES if kind(d) in kinds])
    memory = draw.values((300, 250), dtype)
    expected = memory.copy()
    mine = ours(memory)
    target, other = windows(Draw(seed), mine)
    same_target, same_other = windows(Draw(seed), expected)
    operands = [ours(same_target.copy()), ours(same_other.copy())]
    same_target[...] = np.asarray(getattr(xp, name)(*operands))
    x = IN_PLACE[name](target, other)
    assert x is target
    same(mine, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [31, 64, 149])
def test_in_place_operators_write_every_second_element_alone(dtype, columns):
    numbers = np.random.default_rng(columns).uniform(1, 2, (3, 5, columns)).astype(dtype)
    others = [
        lambda matrix: 1.5,
        lambda matrix: numbers[1, :, :1],
        lambda matrix: numbers[1, :, : (columns + 1) // 2],
        lambda matrix: numbers[2, :, ::2],
        lambda matrix: matrix[:, ::2],
    ]
    if columns % 2 == 0:
        others.append(lambda matrix: matrix[:, 1::2])
    for name, other in product(("add", "subtract", "multiply", "divide"), others):
        expected, mine = numbers[0].copy(), ours(numbers[0].copy())
        expected[:, ::2] = getattr(np, name)(expected[:, ::2], other(expected), dtype=dtype)
        operand = other(mine)
        IN_PLACE[name](mine[:, ::2], ours(operand) if isinstance(operand, np.ndarray) else operand)
        same(mine, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "int64", "complex64"])
def test_rows_that_end_within_a_vector(dtype):
    """Results are written once, in place, too, and nothing behind a row is."""
    numbers = np.random.default_rng(5).integers(1, 4, (2, 3, 140)).astype(dtype)
    wider = "float64" if dtype == "float32" else dtype
    for columns in range(1, 139):
        a, b = numbers[0].copy(), numbers[1]
        x, y = ours(a), ours(b)
        rows, others = a[:, :columns], b[:, 1 : columns + 1]
        mine, their = x[:, :columns], y[:, 1 : columns + 1]
        same(mine + their, rows + others)
        same(xp.astype(mine, getattr(xp, wider)), rows.astype(wider))
        for name in ("add", "multiply", "subtract"):
            IN_PLACE[name](mine, their)
            IN_PLACE[name](rows, others)
            IN_PLACE[name](mine, mine)
            IN_PLACE[name](rows, rows)
            same(x, a)
            mine[...] = their
            rows[...] = others
        mine += their[:, :1]
        rows += others[:, :1]
        same(x, a)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_elements_between_are_not_written(dtype):
    """Each of two threads writes every second element in place: neither loses what it wrote."""
    x = xp.asarray(np.zeros(20_001, dtype), device="cpu")

    def work(view):
        for _ in range(300):
            view += 1.0

    threads = [threading.Thread(target=work, args=(x[i::2],)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert xp.all(x == 300)


def may_be_assigned(dtype, target):
    """By promotion, within a kind, and from real into complex dtypes."""
    return (
        kind(dtype) == kind(target)
        or kind(dtype) + kind(target) == "fc"
        or promoted(dtype, target) == target
    )


@pytest.mark.parametrize("name", IN_PLACE)
@settings(max_examples=50)
@given(seed=seeds)
def test_in_place_operators_keep_dtype_and_shape(name, seed):
    draw = Draw(seed)
    dtypes = [draw.choice(DTYPES), draw.choice(DTYPES)]
    shape = draw.shape(max_side=3)
    a, b = draw.array(shape, dtypes[0]), draw.array(draw.broadcastable(shape), dtypes[1])
    before = a.copy()
    x, dtype = ours(a), promoted(*dtypes)
    if name == "divide" and dtype and kind(dtype) in INTEGER:
        dtype = "float64"
    if dtype is None or kind(dtype) not in BINARY[name][0] or not may_be_assigned(dtype, dtypes[0]):
        with pytest.raises(TypeError):
            IN_PLACE[name](x, ours(b))
        same(x, before)
        return
    result = getattr(xp, name)(x, ours(b))
    alias, view = x, x[...]
    x = IN_PLACE[name](x, ours(b))
    assert x is alias
    for written in (x, view):
        same(written, np.asarray(xp.astype(result, x.dtype)))
    for wide in (np.zeros((2, *shape), dtypes[0]), np.zeros((*shape[:-1], 7), dtypes[0])):
        if wide.shape != shape and a.ndim:
            with pytest.raises(ValueError, match=r"shape|broadcast"):
                IN_PLACE[name](x, ours(wide))


# ---- integers at their limits -----------------------------------------------------------------------


def limits(dtype):
    info = np.iinfo(dtype)
    near_zero = [v for v in (-3, -2, -1, 0, 1, 2, 3, 7) if v >= info.min]
    half = info.max // 2
    return [info.min, info.min + 1, half, half + 1, info.max - 1, info.max, *near_zero]


def wrap(value, dtype):
    width = 8 * np.dtype(dtype).itemsize
    value %= 1 << width
    return value - (1 << width) if kind(dtype) == "i" and value >> (width - 1) else value


EXACT = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "floor_divide": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "maximum": max,
    "minimum": min,
    "less": operator.lt,
    "equal": operator.eq,
    "greater_equal": operator.ge,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", EXACT)
def test_integer_arithmetic_is_exact_modulo_the_width(name, dtype):
    pairs = [(a, b) for a in limits(dtype) for b in limits(dtype)]
    first, second = (np.asarray(v, dtype) for v in zip(*pairs, strict=True))
    got = getattr(xp, name)(ours(first), ours(second))
    for (a, b), result in zip(pairs, got.tolist(), strict=True):
        exact = EXACT[name](a, b)
        assert result == (exact if isinstance(exact, bool) else wrap(exact, dtype)), (a, b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_extremes_of_short_integers_beside_each_other(dtype):
    """All of them, whatever their neighbours are."""
    info, draw = np.iinfo(dtype), Draw(7)
    a = np.resize(np.arange(info.min, info.max + 1).astype(dtype), 65_536)
    b, c = np.sort(a), draw.numpy.permutation(a)
    x, y, z = ours(a), ours(b), ours(c)
    same(xp.maximum(x, y), np.maximum(a, b))
    same(xp.minimum(x, z), np.minimum(a, c))
    same(xp.clip(x, y, z), np.minimum(np.maximum(a, b), c))
    same(xp.clip(z, 3, 100), np.clip(c, 3, 100))
    same(xp.maximum(x[1:], z[:-1]), np.maximum(a[1:], c[:-1]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_by_one_divisor(dtype):
    """Every divisor of eight bits; of more the least, the greatest and the powers of two, and those
    next to them."""
    info = np.iinfo(dtype)
    draw = Draw(info.bits)
    edges = {v + e for v in limits(dtype) for e in (-1, 0, 1)}
    edges |= {s * 2**k + e for k in range(info.bits) for e in (-1, 0, 1) for s in (1, -1)}
    edges |= set(range(-20, 20)) | set(draw.numpy.integers(info.min, info.max, 60, dtype).tolist())
    divisors = range(info.min, info.max + 1) if info.bits == 8 else edges
    values = sorted(v for v in (divisors if info.bits == 8 else edges) if info.min <= v <= info.max)
    a = np.asarray(values * (400 // len(values) + 1), dtype)
    x = ours(a)
    for d in divisors:
        if not info.min <= d <= info.max:
            continue
        quotients, rests = (x // d).tolist(), (x % d).tolist()
        assert quotients == [wrap(v // d, dtype) if d else 0 for v in a.tolist()], d
        assert rests == [wrap(v % d, dtype) if d else 0 for v in a.tolist()], d
        if info.bits > 8 and d:  # what is next to multiples is the most that a factor must tell
            whole = [info.max // d - k for k in range(20)]
            near = [v for k in whole for v in (k * d - 1, k * d) if info.min <= v <= info.max]
            near = (near + [1] * 64)[:64]
            assert (xp.asarray(near, dtype=x.dtype) // d).tolist() == [v // d for v in near], d
        x_in_place = ours(a.copy())
        x_in_place[1:] //= d
        assert x_in_place[1:].tolist() == quotients[1:], d


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_functions_of_one_argument_are_exact_modulo_the_width(dtype):
    values = limits(dtype)
    x = xp.asarray(values, dtype=getattr(xp, dtype))
    for name, exact in {
        "abs": abs,
        "negative": operator.neg,
        "square": lambda v: v * v,
        "sign": lambda v: (v > 0) - (v < 0),
        "bitwise_invert": operator.inv,
        "floor": int,
        "ceil": int,
        "round": int,
        "trunc": int,
    }.items():
        assert getattr(xp, name)(x).tolist() == [wrap(exact(v), dtype) for v in values], name


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_any_count(dtype):
    width = 8 * np.dtype(dtype).itemsize
    counts = [0, 1, 2, width - 2, width - 1, width, width + 1, 2 * width, 4 * width, 127]
    counts = [c for c in counts if c <= np.iinfo(dtype).max]
    pairs = [(v, c) for v in limits(dtype) for c in counts]
    x, y = (xp.asarray(list(v), dtype=getattr(xp, dtype)) for v in zip(*pairs, strict=True))
    assert (x << y).tolist() == [wrap(v << c, dtype) for v, c in pairs]
    assert (x >> y).tolist() == [v >> c for v, c in pairs]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_shifts_of_short_integers_beside_each_other(dtype):
    info = np.iinfo(dtype)
    every = np.arange(info.min, info.max + 1).astype(dtype)
    every = every if every.size == 256 else np.random.default_rng(4).choice(every, 300)
    for counts in (np.arange(19), np.asarray([1, 15, 3, 0, 127, 8, 7, 16])):
        x, y = np.repeat(every, counts.size), np.resize(counts, every.size * counts.size)
        wide, places = x.astype(np.int64), np.minimum(y, 40)
        same(ours(x) << ours(y.astype(dtype)), (wide << places).astype(dtype))
        same(ours(x) >> ours(y.astype(dtype)), (wide >> places).astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap(dtype):
    exponents = [e for e in limits(dtype) if e >= 0] + [5, 31, 62, 63, 64, 100]
    pairs = [(b, e) for b in limits(dtype) for e in exponents]
    x, y = (xp.asarray(list(v), dtype=getattr(xp, dtype)) for v in zip(*pairs, strict=True))
    modulus = 1 << 8 * np.dtype(dtype).itemsize
    assert (x**y).tolist() == [wrap(pow(b, e, modulus), dtype) for b, e in pairs]


@pytest.mark.parametrize("dtype", [*INTEGERS, *REAL])
@pytest.mark.parametrize("n", [7, 300, 70_000])
def test_squares_are_products(dtype, n):
    a = Draw(n).values((n,), dtype)
    x = ours(a)
    for two in [2, 2.0] if np.dtype(dtype).kind == "f" else [2]:
        for square in (x**two, xp.pow(x, two), ours(a[::-1])[::-1] ** two):
            same(square, np.asarray(x * x))
        changed = ours(a.copy())
        changed **= two
        same(changed, np.asarray(x * x))


def numbers_at_the_limits(dtype, n):
    """Zeros, infinities, NaN, the smallest and largest numbers, and ordinary ones."""
    info = np.finfo(dtype)
    a = np.random.default_rng(3).uniform(-3, 3, n).astype(dtype)
    limits = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, info.max, info.smallest_subnormal]
    a[: len(limits)] = limits
    return a


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_a_half_and_minus_one_are_roots_and_quotients(dtype):
    a = numbers_at_the_limits(dtype, 70)
    x, one = ours(a), ours(np.ones(70, dtype))
    # Unlike the root, the power of -0.0 is 0.0 and that of -infinity infinity.
    root = xp.sqrt(xp.where(x == -xp.inf, xp.inf, x)) + 0.0
    check = alike if x.device == "cpu" else partial(near, dtype=np.dtype(dtype), ulps=1)
    for exponent, expected in [(0.5, root), (-1, 1 / x), (2, x * x)]:
        for power in (x**exponent, x ** (exponent * one), ours(a[::-1])[::-1] ** exponent):
            check(power, np.asarray(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_powers_do_not_depend_on_their_neighbours(dtype):
    exponents = [2, -1, 0.5, 1.5, 3, -0.5, 0, 1, 4]
    a = numbers_at_the_limits(dtype, 99)
    if dtype.startswith("complex"):
        a.imag = a.real[::-1]
    x = ours(a)
    alone = {e: np.asarray(x ** ours(np.full(99, e, dtype))) for e in exponents}
    for among in (np.resize(exponents, 99), np.repeat(exponents, 11)):
        expected = np.asarray([alone[e][i] for i, e in enumerate(among)])
        alike(x ** ours(among.astype(dtype)), expected)
    if x.device == "cpu":
        for e in exponents:
            for n in (99, 300):
                alike(ours(np.resize(a, n)) ** e, np.resize(alone[e], n))
                alike(ours(np.resize(a, 2 * n))[::2] ** e, np.resize(alone[e], 2 * n)[::2])


def test_unsigned_64_bit_integers_are_not_seen_as_signed():
    top = 2**64 - 1
    x = xp.asarray([0, 1, 2**63 - 1, 2**63, 2**63 + 1, top], dtype=xp.uint64)
    values = x.tolist()
    assert (x // 2).tolist() == [v // 2 for v in values]
    assert (x // (2**63)).tolist() == [v // 2**63 for v in values]
    assert (x % 1000).tolist() == [v % 1000 for v in values]
    assert (x > 2**63 - 1).tolist() == [v > 2**63 - 1 for v in values]
    assert (x < 2**63).tolist() == [v < 2**63 for v in values]
    assert (x >> 63).tolist() == [v >> 63 for v in values]
    assert xp.maximum(x, xp.flip(x)).tolist() == values[:2:-1] + values[3:]
    assert xp.sign(x).tolist() == [0, 1, 1, 1, 1, 1]
    assert xp.abs(x).tolist() == values
    same(xp.astype(x, xp.float64), np.asarray(values, "uint64").astype("float64"))
    same(x * 1.0, np.asarray(values, "uint64").astype("float64"))
    same(xp.astype(x, xp.float32), np.asarray(values, "uint64").astype("float32"))


# ---- floored division -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@given(seed=seeds)
def test_floating_floor_division_and_remainder_are_exact(dtype, seed):
    draw = Draw(seed)
    n = 40
    a, b = (draw.numpy.standard_normal((2, n)) * 2.0 ** draw.numpy.integers(-9, 10, (2, n))).astype(
        dtype
    )
    if draw.random() < 0.5:  # exact multiples and their neighbours
        a = (b * draw.numpy.integers(-50, 50, n)).astype(dtype)
        a = np.where(draw.numpy.random(n) < 0.5, a, np.nextafter(a, np.zeros((), dtype)))
    quotient, rest = np.asarray(ours(a) // ours(b)), np.asarray(ours(a) % ours(b))
    for u, v, q, r in zip(a.tolist(), b.tolist(), quotient.tolist(), rest.tolist(), strict=True):
        whole = math.floor(Fraction(u) / Fraction(v))
        assert q == np.dtype(dtype).type(whole), (u, v)
        exact = Fraction(u) - whole * Fraction(v)
        assert r == np.dtype(dtype).type(float(exact)), (u, v)
        assert r == 0 or (r < 0) == (v < 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainders_are_exact_whatever_the_quotient(dtype):
    # From quotients far below one to those beyond every integer of the mantissa, side by side.
    draw = Draw(31)
    n = 500
    bits = np.finfo(dtype).maxexp - 2
    exponents = draw.numpy.integers(-bits, bits, (2, n))
    a, b = np.ldexp(draw.numpy.uniform(1, 2, (2, n)), exponents).astype(dtype)
    a, b = a * draw.numpy.choice([-1, 1], n), b * draw.numpy.choice([-1, 1], n)
    a[::7], b[::7] = 8.5, draw.numpy.integers(1, 5, len(b[::7]))
    rest = np.asarray(ours(a) % ours(b))
    for u, v, r in zip(a.tolist(), b.tolist(), rest.tolist(), strict=True):
        exact = Fraction(u) - math.floor(Fraction(u) / Fraction(v)) * Fraction(v)
        assert r == np.dtype(dtype).type(float(exact)), (u, v)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name",
    ["remainder", "floor_divide", "log", "exp", "expm1", "pow", "tanh", "tan", "asin", "acos"],
)
def test_a_result_does_not_depend_on_its_neighbours(name, dtype):
    # Vectors with and without elements that need another branch.
    info = np.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny / 8, -3.0, 1e30]
    # Where 1 is about an ulp of e^x.
    large = [*np.linspace(16.6, 18, 10), *np.linspace(36, 38, 10)]
    values = np.asarray([*special, *large, *np.linspace(0.1, 3, 34)], dtype)
    function = getattr(xp, name)
    binary = name in ("remainder", "floor_divide", "pow")

    def result(x):
        return np.asarray(function(ours(x), ours(x[::-1].copy())) if binary else function(ours(x)))

    together = result(values)
    for i, j in zip(range(64), reversed(range(64)), strict=True):
        alone = result(np.asarray([values[i]] * 32 + [values[j]] * 32, dtype))
        alike(ours(alone[:1]), together[i : i + 1])


@pytest.mark.parametrize("dtype", INTEGERS)
@given(seed=seeds)
def test_integer_division_is_exact(dtype, seed):
    draw = Draw(seed)
    info = np.iinfo(dtype)
    a, b = draw.numpy.integers(info.min, info.max, (2, 100), dtype, endpoint=True)
    b >>= np.dtype(dtype).type(draw.randrange(info.bits))
    if draw.random() < 0.5:
        a >>= np.dtype(dtype).type(draw.randrange(info.bits))
    quotient, rest = (ours(a) // ours(b)).tolist(), (ours(a) % ours(b)).tolist()
    for u, v, q, r in zip(a.tolist(), b.tolist(), quotient, rest, strict=True):
        assert q == wrap(u // v if v else 0, dtype), (u, v)
        assert r == (u % v if v else 0), (u, v)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reciprocals_quotients_and_roots_are_correctly_rounded(dtype):
    draw = Draw(17)
    a = (draw.numpy.standard_normal(2000) * 10.0 ** draw.numpy.integers(-30, 30, 2000)).astype(
        dtype
    )
    b = np.roll(a, 1)
    with np.errstate(over="ignore", under="ignore"):
        same(xp.reciprocal(ours(a)), np.asarray(1, dtype) / a)
        same(ours(a) / ours(b), a / b)
        same(xp.sqrt(xp.abs(ours(a))), np.sqrt(np.abs(a)))
        same(ours(a) * ours(b), a * b)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_of_the_unit_circle_stay_on_it(dtype):
    for exponent in 10.0 ** np.arange(1, 20):
        x = xp.asarray([1j, -1, -1j], dtype=getattr(xp, dtype)) ** complex(exponent)
        np.testing.assert_allclose(np.abs(np.asarray(x)), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_powers_vanish_far_below_the_smallest_number(dtype):
    for exponent in 10.0 ** np.arange(5, 20):
        x = xp.asarray([-0.5, 0.25j, 0.1 - 0.3j], dtype=getattr(xp, dtype)) ** complex(exponent)
        assert not np.asarray(x).any(), exponent


# ---- symmetries that the standard asks for ------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hypot_is_symmetric(dtype):
    draw = Draw(23)
    a, b = (draw.values((3000,), dtype) for _ in range(2))
    expected = np.asarray(xp.hypot(ours(a), ours(b)))
    for x, y in ((b, a), (-a, b), (a, -b), (-b, -a)):
        alike(xp.hypot(ours(x), ours(y)), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_subtraction_adds_the_negative(dtype):
    draw = Draw(29)
    a, b = (draw.values((3000,), dtype) for _ in range(2))
    alike(ours(a) - ours(b), np.asarray(ours(a) + -ours(b)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_negation_and_conjugation_flip_every_sign(dtype):
    zeros = [complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)]
    a = np.asarray(zeros * 5, dtype)
    x = np.asarray(-ours(a))
    assert (np.signbit(x.real) != np.signbit(a.real)).all()
    assert (np.signbit(x.imag) != np.signbit(a.imag)).all()
    x = np.asarray(xp.conj(ours(a)))
    assert (np.signbit(x.real) == np.signbit(a.real)).all()
    assert (np.signbit(x.imag) != np.signbit(a.imag)).all()


# Rows of the operands: one element for all, each next to the last, every second.
SPACINGS = {
    "repeated": lambda x, columns: x[:, :1],
    "next": lambda x, columns: x[:, :columns],
    "second": lambda x, columns: x[:, 1 : 2 * columns : 2],
    "one": lambda x, columns: x[:1, :1],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum"])
def test_rows_that_repeat_an_element_or_skip_some(name, dtype):
    draw, f = Draw(5), getattr(xp, name)
    a, b = draw.values((13, 300), dtype), draw.values((13, 300), dtype)
    for columns in (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 100, 150):
        for first, second in product(SPACINGS.values(), SPACINGS.values()):
            u, v = first(ours(a), columns), second(ours(b), columns)
            plain = [
                ours(np.ascontiguousarray(np.broadcast_to(first(a, columns), (13, columns)))),
                ours(np.ascontiguousarray(np.broadcast_to(second(b, columns), (13, columns)))),
            ]
            expected = np.asarray(f(*plain))
            if f(u, v).shape == expected.shape:
                same(f(u, v), expected)
            if name == "subtract":
                plain[0] -= v
                same(plain[0], expected)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex64"])
def test_rows_that_begin_where_those_of_the_result_do(dtype):
    """… in a pack, which is anywhere, beside such that begin elsewhere, and one element for all."""
    draw = Draw(6)
    a, b = draw.values((9, 333), dtype), draw.values((9, 333), dtype)
    condition = draw.values((9, 333), "bool")
    with np.errstate(all="ignore"):
        alike(ours(a) + ours(b)[:, :1], a + b[:, :1])
        for first, second in product(range(4), range(4)):
            here, there = np.s_[:, first : first + 329], np.s_[:, second : second + 329]
            x, expected = ours(a.copy()), a.copy()
            x[here] += ours(b)[there]
            expected[here] += b[there]
            alike(x, expected)
            picked = xp.where(ours(condition)[here], ours(a)[there], ours(b)[here][:, :1])
            same(picked, np.where(condition[here], a[there], b[here][:, :1]))


@pytest.mark.parametrize("columns", [64, 3000])
def test_long_rows_that_repeat_an_element_or_skip_some(columns):
    """Results past the caches, and shared among threads."""
    a = np.arange(9 * 2**20 // columns * 2 * columns, dtype="float32").reshape(-1, 2 * columns)
    x = ours(a)
    same(x[:, ::2] + x[:, 1::2], a[:, ::2] + a[:, 1::2])
    same(x[:, :columns] * x[:, 7:8], a[:, :columns] * a[:, 7:8])
    same(x[:, 5:6] - x[:, ::2], a[:, 5:6] - a[:, ::2])


# Long enough to follow each other as they are read, not as the result is written.
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize("columns", [70, 513, 1031])
def test_long_rows_that_lie_backwards(dtype, columns):
    a = (np.arange(5 * 7 * columns) % 101).astype(dtype).reshape(5, 7, columns)
    x = xp.asarray(a)
    for steps in product((1, -1), repeat=3):
        view = tuple(slice(None, None, step) for step in steps)
        same(xp.square(x[view]), np.square(a[view]))
        same(xp.astype(x[view], xp.complex128), a[view].astype("complex128"))
        same(x[view] + x[view], a[view] + a[view])
        same(x[view] * x, a[view] * a)
        same(xp.add(x[view], x[::-1]) - x[:, ::-1], a[view] + a[::-1] - a[:, ::-1])
        same(x[view] + x[:, ::-1, :1], a[view] + a[:, ::-1, :1])
        y, b = xp.asarray(a, copy=True), a.copy()
        y[view] += x
        b[view] += a
        y[:, :, 1::2][view] = x[:, :, ::2][view][:, :, : columns // 2]
        b[:, :, 1::2][view] = a[:, :, ::2][view][:, :, : columns // 2]
        same(y, b)


@pytest.mark.parametrize("rows", [2, 5, 40])
@pytest.mark.parametrize("elements", [2**12, 5 * 2**18])
def test_transposed_rows_beside_a_constant(rows, elements):
    """Blocks of few long rows, whatever the constant's own block holds."""
    a = np.arange(elements // rows * rows, dtype="float64").reshape(-1, rows)
    condition = np.ascontiguousarray(a.T % 3 == 0)
    same(xp.where(ours(condition), ours(a).T, 7.5), np.where(condition, a.T, 7.5))


@pytest.mark.parametrize("dtype", ["float64", "int16", "complex64"])
def test_an_operand_that_stands_twice(dtype):
    a = (np.arange(40 * 90) % 91).astype(dtype).reshape(40, 90)
    for b in (a[:, ::2], a.T, a[::-1, ::-3], a[1:, 1:-1], a.T[::2]):
        x = ours(b)
        for result, expected in ((x + x, b + b), (x * x, b * b), (xp.where(x == x, x, x), b)):
            np.testing.assert_array_equal(np.asarray(result), expected)


def test_results_have_long_rows():
    """Of two operands that lie differently the order with rows of more than a few elements."""
    few, many = xp.ones((5000, 3)), xp.permute_dims(xp.ones((3, 5000)), (1, 0))
    for result in (few + many, many + few):
        assert result.strides[0] < result.strides[1]
    assert (few + xp.broadcast_to(xp.ones(3), (5000, 3))).strides[0] > 8
