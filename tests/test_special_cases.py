"""The special cases of the standard's elementwise chapter (2025.12), one row per line of its text,
for scalars and for the vectors, tails and strides of longer arrays."""

import itertools
import math

import numpy as np
import pytest
from strided import ours

import arrayx as xp

INF, NAN = math.inf, math.nan

# What the words of the rows below stand for. Each finite number fits float32 as well.
TINY, SMALL, LARGE = 2.0**-100, 0.375, 2.0**100
POSITIVE = [TINY, SMALL, 1.0, 2.0, 2.5, 3.0, LARGE]
NEGATIVE = [-v for v in POSITIVE]
ABOVE_ONE = [1.0000002, 2.0, 2.5, 3.0, LARGE]
WORDS = {
    "nan": [NAN],
    "+nan": [math.copysign(NAN, 1)],
    "-nan": [math.copysign(NAN, -1)],
    "inf": [INF],
    "-inf": [-INF],
    "±inf": [INF, -INF],
    "0": [0.0],
    "-0": [-0.0],
    "±0": [0.0, -0.0],
    "1": [1.0],
    "-1": [-1.0],
    "±1": [1.0, -1.0],
    "positive": POSITIVE,
    "negative": NEGATIVE,
    "nonzero": POSITIVE + NEGATIVE,
    "finite": [*POSITIVE, *NEGATIVE, 0.0, -0.0],
    ">0": [*POSITIVE, INF],
    "<0": [*NEGATIVE, -INF],
    ">1": [*ABOVE_ONE, INF],
    "<-1": [*[-v for v in ABOVE_ONE], -INF],
    "<1": [-INF, *NEGATIVE, -0.0, 0.0, TINY, SMALL, 0.9999998],
    "|x|>1": [*ABOVE_ONE, *[-v for v in ABOVE_ONE]],
    "|x|<1": [-0.9999998, -SMALL, -TINY, -0.0, 0.0, TINY, SMALL, 0.9999998],
    "odd": [1.0, 3.0, 5.0, 8388607.0],
    "-odd": [-1.0, -3.0, -5.0, -8388607.0],
    "not odd": [SMALL, 0.5, 2.0, 2.5, 4.0, LARGE, INF],
    "-not odd": [-SMALL, -0.5, -2.0, -2.5, -4.0, -LARGE, -INF],
    "fraction": [SMALL, -SMALL, 0.5, -2.5],
    "number": [*POSITIVE, *NEGATIVE, 0.0, -0.0, INF, -INF],
    "not 0": [*POSITIVE, *NEGATIVE, INF, -INF],
    "not 0 or nan": [*POSITIVE, *NEGATIVE, INF, -INF, NAN],
    "not 1": [NAN, -INF, *NEGATIVE, -0.0, 0.0, SMALL, 2.0, INF],
    "finite or nan": [*POSITIVE, *NEGATIVE, 0.0, -0.0, NAN],
    "any": [*POSITIVE, *NEGATIVE, 0.0, -0.0, INF, -INF, NAN],
}
RESULTS = {
    "π": lambda a, b: math.pi,
    "-π": lambda a, b: -math.pi,
    "π/2": lambda a, b: math.pi / 2,
    "-π/2": lambda a, b: -math.pi / 2,
    "π/4": lambda a, b: math.pi / 4,
    "-π/4": lambda a, b: -math.pi / 4,
    "3π/4": lambda a, b: 3 * math.pi / 4,
    "-3π/4": lambda a, b: -3 * math.pi / 4,
    "a": lambda a, b: a,
    "b": lambda a, b: b,
    "|a|": lambda a, b: abs(a),
    "|b|": lambda a, b: abs(b),
    "-|a|": lambda a, b: -abs(a),
    "inf·cos": lambda a, b: INF * math.cos(b),
    "inf·sin": lambda a, b: INF * math.sin(b),
    "0·cos": lambda a, b: 0.0 * math.cos(b),
    "0·sin": lambda a, b: 0.0 * math.sin(b),
    "true": lambda a, b: True,
    "false": lambda a, b: False,
}


def rows(text):
    """The rows of a table: operands : results, separated by semicolons."""
    for row in text.replace("\n", " ").split(";"):
        operands, results = row.split(":")
        yield [w.strip() for w in operands.split(",")], [w.strip() for w in results.split(",")]


def fits(got, word, a, b, dtype):
    """Whether a result is what the word says; π within an ulp, zeros and NaN with their signs."""
    free_sign = word.startswith("±")
    word = word.removeprefix("±")
    expected = RESULTS[word](a, b) if word in RESULTS else float(word)
    if isinstance(expected, bool):
        return got.dtype == bool and bool(got) == expected
    with np.errstate(all="ignore"):
        expected = np.asarray(expected).astype(dtype)
    if np.isnan(expected):
        signed = word in ("+nan", "-nan")
        return np.isnan(got) and (not signed or np.signbit(got) == (word == "-nan"))
    if free_sign:
        got, expected = abs(got), abs(expected)
    if np.signbit(got) != np.signbit(expected):
        return False
    if np.isinf(expected) or expected == 0 or word not in RESULTS:
        return got == expected
    return abs(got - expected) <= np.spacing(abs(expected))


def answers(function, *operands):
    """The results for scalars, checked to be the same bits in arrays of several lengths."""
    whole = np.asarray(function(*[ours(a) for a in operands]))
    padded = [np.repeat(a, 3) for a in operands]
    strided = np.asarray(function(*[ours(a)[1::3] for a in padded]))
    assert strided.tobytes() == whole.tobytes()
    for i in range(len(whole)):
        alone = np.asarray(function(*[ours(a[i, ...]) for a in operands]))
        assert alone.tobytes() == whole[i].tobytes()
    return whole


# ---- real numbers ---------------------------------------------------------------------------------

ROUNDING = "inf: inf; -inf: -inf; 0: 0; -0: -0; nan: nan; 1: 1; -1: -1"
REAL_UNARY = {
    "abs": "nan: nan; -0: 0; 0: 0; -inf: inf; inf: inf; negative: |a|; positive: a",
    "acos": "nan: nan; >1: nan; <-1: nan; 1: 0",
    "acosh": "nan: nan; <1: nan; 1: 0; inf: inf",
    "asin": "nan: nan; >1: nan; <-1: nan; 0: 0; -0: -0",
    "asinh": "nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf",
    "atan": "nan: nan; 0: 0; -0: -0; inf: π/2; -inf: -π/2",
    "atanh": "nan: nan; <-1: nan; >1: nan; -1: -inf; 1: inf; 0: 0; -0: -0",
    "ceil": ROUNDING + "; -0.375: -0; 0.375: 1; 2.5: 3; -2.5: -2",
    "cos": "nan: nan; 0: 1; -0: 1; inf: nan; -inf: nan",
    "cosh": "nan: nan; 0: 1; -0: 1; inf: inf; -inf: inf",
    "exp": "nan: nan; 0: 1; -0: 1; inf: inf; -inf: 0",
    "expm1": "nan: nan; 0: 0; -0: -0; inf: inf; -inf: -1",
    "floor": ROUNDING + "; -0.375: -1; 0.375: 0; 2.5: 2; -2.5: -3",
    "isfinite": "±inf: false; nan: false; finite: true",
    "isinf": "±inf: true; finite or nan: false",
    "isnan": "nan: true; number: false",
    "log": "nan: nan; <0: nan; ±0: -inf; 1: 0; inf: inf",
    "log10": "nan: nan; <0: nan; ±0: -inf; 1: 0; inf: inf",
    "log1p": "nan: nan; <-1: nan; -1: -inf; -0: -0; 0: 0; inf: inf",
    "log2": "nan: nan; <0: nan; ±0: -inf; 1: 0; inf: inf",
    "negative": "0: -0; -0: 0; inf: -inf; -inf: inf; +nan: -nan; -nan: +nan",
    "reciprocal": "nan: nan; 0: inf; -0: -inf; inf: 0; -inf: -0",
    "round": ROUNDING + "; 0.5: 0; -0.5: -0; 1.5: 2; 2.5: 2; -2.5: -2; 3.5: 4",
    "sign": "<0: -1; -0: ±0; 0: ±0; >0: 1; nan: nan",
    "signbit": "0: false; -0: true; inf: false; -inf: true; positive: false; negative: true; "
    "+nan: false; -nan: true",
    "sin": "nan: nan; 0: 0; -0: -0; ±inf: nan",
    "sinh": "nan: nan; 0: 0; -0: -0; inf: inf; -inf: -inf",
    "sqrt": "nan: nan; <0: nan; 0: 0; -0: -0; inf: inf",
    "square": "nan: nan; ±0: 0; ±inf: inf",
    "tan": "nan: nan; 0: 0; -0: -0; ±inf: nan",
    "tanh": "nan: nan; 0: 0; -0: -0; inf: 1; -inf: -1",
    "trunc": ROUNDING + "; -0.375: -0; 0.375: 0; 2.5: 2; -2.5: -2",
}
QUOTIENT = """any, nan: nan; nan, any: nan; ±inf, ±inf: nan; ±0, ±0: nan; 0, >0: 0; -0, >0: -0;
    0, <0: -0; -0, <0: 0; >0, 0: inf; >0, -0: -inf; <0, 0: -inf; <0, -0: inf;
    inf, positive: inf; inf, negative: -inf; -inf, positive: -inf; -inf, negative: inf;
    positive, inf: 0; positive, -inf: -0; negative, inf: -0; negative, -inf: 0"""
SUM = """any, nan: nan; nan, any: nan; inf, -inf: nan; -inf, inf: nan; inf, inf: inf;
    -inf, -inf: -inf; inf, finite: inf; -inf, finite: -inf; finite, inf: inf; finite, -inf: -inf;
    -0, -0: -0; -0, 0: 0; 0, -0: 0; 0, 0: 0; ±0, nonzero: b; nonzero, ±0: a; 2.5, -2.5: 0"""
DIFFERENCE = """any, nan: nan; nan, any: nan; inf, inf: nan; -inf, -inf: nan; inf, -inf: inf;
    -inf, inf: -inf; inf, finite: inf; finite, inf: -inf; finite, -inf: inf; -0, 0: -0; -0, -0: 0;
    0, 0: 0; 0, -0: 0; nonzero, ±0: a; 2.5, 2.5: 0"""
REAL_BINARY = {
    "add": SUM,
    "subtract": DIFFERENCE,
    "atan2": """any, nan: nan; nan, any: nan; >0, 0: π/2; >0, -0: π/2; 0, >0: 0; 0, 0: 0; 0, -0: π;
        0, <0: π; -0, >0: -0; -0, 0: -0; -0, -0: -π; -0, <0: -π; <0, 0: -π/2; <0, -0: -π/2;
        positive, inf: 0; positive, -inf: π; negative, inf: -0; negative, -inf: -π;
        inf, finite: π/2; -inf, finite: -π/2; inf, inf: π/4; inf, -inf: 3π/4; -inf, inf: -π/4;
        -inf, -inf: -3π/4""",
    "copysign": """number, <0: -|a|; number, -0: -|a|; number, 0: |a|; number, >0: |a|;
        number, -nan: -|a|; number, +nan: |a|; nan, <0: -nan; nan, -0: -nan; nan, 0: +nan;
        nan, >0: +nan; nan, -nan: -nan; nan, +nan: +nan; -nan, +nan: +nan""",
    "divide": QUOTIENT,
    "floor_divide": QUOTIENT + "; 2.5, 2: 1; -2.5, 2: -2; 3, -2: -2; 1e30, -1e-300: -inf",
    "remainder": """any, nan: nan; nan, any: nan; ±inf, ±inf: nan; ±0, ±0: nan; 0, >0: 0;
        -0, >0: 0; 0, <0: -0; -0, <0: -0; not 0, ±0: nan; ±inf, finite: nan;
        positive, inf: a; positive, -inf: -inf; negative, inf: inf; negative, -inf: a;
        3, 2: 1; -3, 2: 1; 3, -2: -1; -3, -2: -1; 2.5, 2.5: 0; -2.5, 2.5: 0; 2.5, -2.5: -0""",
    "equal": """any, nan: false; nan, any: false; inf, inf: true; -inf, -inf: true;
        inf, -inf: false; ±0, ±0: true; 2.5, 2.5: true; 2.5, 3: false; ±inf, finite: false""",
    "not_equal": """any, nan: true; nan, any: true; inf, inf: false; inf, -inf: true;
        -inf, inf: true; ±0, ±0: false; 2.5, 2.5: false; 2.5, 3: true; ±inf, finite: true""",
    "less": "any, nan: false; nan, any: false; ±0, ±0: false; finite, inf: true; -inf, finite: true",
    "less_equal": "any, nan: false; nan, any: false; ±0, ±0: true; inf, inf: true",
    "greater": "any, nan: false; nan, any: false; ±0, ±0: false; inf, finite: true",
    "greater_equal": "any, nan: false; nan, any: false; ±0, ±0: true; -inf, -inf: true",
    "hypot": """±inf, any: inf; any, ±inf: inf; ±0, finite: |b|; finite, ±0: |a|;
        finite or nan, nan: nan; nan, finite or nan: nan""",
    "logaddexp": "any, nan: nan; nan, any: nan; inf, number: inf; number, inf: inf; -inf, -inf: -inf",
    "maximum": "any, nan: nan; nan, any: nan; inf, number: inf; -inf, finite: b; 2.5, 3: 3",
    "minimum": "any, nan: nan; nan, any: nan; -inf, number: -inf; inf, finite: b; 2.5, 3: 2.5",
    "multiply": """any, nan: nan; nan, any: nan; ±inf, ±0: nan; ±0, ±inf: nan; >0, inf: inf;
        >0, -inf: -inf; <0, inf: -inf; <0, -inf: inf; inf, <0: -inf; -inf, <0: inf; 0, positive: 0;
        0, negative: -0; -0, positive: -0; -0, negative: 0; -0, -0: 0; 1e30, -1e300: -inf;
        1e-30, -1e-300: -0""",
    "nextafter": """any, nan: nan; nan, any: nan; -0, 0: 0; 0, -0: -0; inf, inf: inf;
        3, 3: 3""",
    "pow": """not 1, nan: nan; any, ±0: 1; nan, not 0 or nan: nan; |x|>1, inf: inf; |x|>1, -inf: 0;
        ±1, ±inf: 1; 1, number: 1; |x|<1, inf: 0; |x|<1, -inf: inf; inf, >0: inf; inf, <0: 0;
        -inf, odd: -inf; -inf, not odd: inf; -inf, -odd: -0; -inf, -not odd: 0; 0, >0: 0;
        0, <0: inf; -0, odd: -0; -0, not odd: 0; -0, -odd: -inf; -0, -not odd: inf;
        negative, fraction: nan; -3, 3: -27; -3, 2: 9; 2, -2: 0.25""",
}


def values(word):
    return WORDS[word] if word in WORDS else [float(word)]


def check_real(name, text, dtype):
    function = getattr(xp, name)
    for words, (result,) in rows(text):
        points = list(itertools.product(*[values(w) for w in words]))
        with np.errstate(all="ignore"):
            operands = [np.asarray(v).astype(dtype) for v in zip(*points, strict=True)]
        for point, got in zip(points, answers(function, *operands), strict=True):
            a, b = (*point, 0.0)[:2]
            assert fits(got, result, a, b, dtype), (name, words, point, got, result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REAL_UNARY)
def test_functions_of_a_real_number(name, dtype):
    check_real(name, REAL_UNARY[name], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REAL_BINARY)
def test_functions_of_two_real_numbers(name, dtype):
    check_real(name, REAL_BINARY[name], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_passes_through_clip(dtype):
    for point in itertools.product([1.0, NAN], repeat=3):
        x, low, high = (xp.asarray([v] * 9, dtype=getattr(xp, dtype)) for v in point)
        expected = [NAN in point] * 9
        assert xp.isnan(xp.clip(x, low, high)).tolist() == expected
        assert xp.isnan(xp.clip(x, low, high.item(0))).tolist() == expected
        assert xp.isnan(xp.clip(x, point[1], point[2])).tolist() == expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours(dtype):
    info = np.finfo(dtype)
    a = np.asarray([1, 1, 0, 0, info.max, -info.max, INF, -INF, info.tiny, 3, -0.0], dtype)
    b = np.asarray([2, 0, 1, -1, INF, -INF, 0, 0, 0, 3, -5], dtype)
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    assert answers(xp.nextafter, a, b).tobytes() == expected.tobytes()


# ---- complex numbers --------------------------------------------------------------------------------

# asin, atan, sin, cos and tan are defined by others; see below.
COMPLEX_UNARY = {
    "acos": """±0, 0: π/2, -0; ±0, nan: π/2, nan; finite, inf: π/2, -inf; nonzero, nan: nan, nan;
        -inf, positive: π, -inf; inf, positive: 0, -inf; -inf, inf: 3π/4, -inf;
        inf, inf: π/4, -inf; ±inf, nan: nan, ±inf; nan, finite: nan, nan; nan, inf: nan, -inf;
        nan, nan: nan, nan""",
    "acosh": """±0, 0: 0, π/2; finite, inf: inf, π/2; nonzero, nan: nan, nan; 0, nan: nan, ±π/2;
        -inf, positive: inf, π; inf, positive: inf, 0; -inf, inf: inf, 3π/4; inf, inf: inf, π/4;
        ±inf, nan: inf, nan; nan, finite: nan, nan; nan, inf: inf, nan; nan, nan: nan, nan""",
    "asinh": """0, 0: 0, 0; positive, inf: inf, π/2; finite, nan: nan, nan; inf, positive: inf, 0;
        inf, inf: inf, π/4; nan, 0: nan, 0; nan, nonzero: nan, nan; nan, inf: ±inf, nan;
        nan, nan: nan, nan""",
    "atanh": """0, 0: 0, 0; 0, nan: 0, nan; 1, 0: inf, 0; positive, inf: 0, π/2;
        nonzero, nan: nan, nan; inf, positive: 0, π/2; inf, inf: 0, π/2; inf, nan: 0, nan;
        nan, finite: nan, nan; nan, inf: ±0, π/2; nan, nan: nan, nan""",
    "cosh": """0, 0: 1, 0; 0, inf: nan, ±0; 0, nan: nan, ±0; nonzero, inf: nan, nan;
        nonzero, nan: nan, nan; inf, 0: inf, 0; inf, nonzero: inf·cos, inf·sin;
        inf, inf: ±inf, nan; inf, nan: inf, nan; nan, ±0: nan, ±0; nan, nonzero: nan, nan;
        nan, nan: nan, nan""",
    "exp": """±0, 0: 1, 0; finite, inf: nan, nan; finite, nan: nan, nan; inf, 0: inf, 0;
        -inf, finite: 0·cos, 0·sin; inf, nonzero: inf·cos, inf·sin; -inf, inf: ±0, ±0;
        inf, inf: ±inf, nan; -inf, nan: ±0, ±0; inf, nan: ±inf, nan; nan, 0: nan, 0;
        nan, not 0: nan, nan; nan, nan: nan, nan""",
    "expm1": """±0, 0: ±0, ±0; finite, inf: nan, nan; finite, nan: nan, nan; inf, 0: inf, 0;
        -inf, finite: -1, 0·sin; inf, nonzero: inf·cos, inf·sin; -inf, inf: -1, ±0;
        inf, inf: ±inf, nan; -inf, nan: -1, ±0; inf, nan: ±inf, nan; nan, 0: nan, 0;
        nan, not 0: nan, nan; nan, nan: nan, nan""",
    "log": """-0, 0: -inf, π; 0, 0: -inf, 0; finite, inf: inf, π/2; finite, nan: nan, nan;
        -inf, positive: inf, π; inf, positive: inf, 0; -inf, inf: inf, 3π/4; inf, inf: inf, π/4;
        ±inf, nan: inf, nan; nan, finite: nan, nan; nan, inf: inf, nan; nan, nan: nan, nan""",
    "log1p": """-1, 0: -inf, 0; finite, inf: inf, π/2; finite, nan: nan, nan;
        -inf, positive: inf, π; inf, positive: inf, 0; -inf, inf: inf, 3π/4; inf, inf: inf, π/4;
        ±inf, nan: inf, nan; nan, finite: nan, nan; nan, inf: inf, nan; nan, nan: nan, nan""",
    "sign": "±0, ±0: ±0, ±0; nan, any: nan, nan; any, nan: nan, nan; positive, 0: 1, 0; 0, -3: 0, -1",
    "sinh": """0, 0: 0, 0; 0, inf: ±0, nan; 0, nan: ±0, nan; positive, inf: nan, nan;
        positive, nan: nan, nan; inf, 0: inf, 0; inf, positive: inf·cos, inf·sin;
        inf, inf: ±inf, nan; inf, nan: ±inf, nan; nan, 0: nan, 0; nan, nonzero: nan, nan;
        nan, nan: nan, nan""",
    "sqrt": """±0, 0: 0, 0; any, inf: inf, inf; finite, nan: nan, nan; -inf, positive: 0, inf;
        inf, positive: inf, 0; -inf, nan: nan, ±inf; inf, nan: inf, nan; nan, finite: nan, nan;
        nan, nan: nan, nan""",
    "tanh": """0, 0: 0, 0; nonzero, inf: nan, nan; 0, inf: 0, nan; nonzero, nan: nan, nan;
        0, nan: 0, nan; inf, positive: 1, ±0; inf, inf: 1, ±0; inf, nan: 1, ±0; nan, 0: nan, 0;
        nan, nonzero: nan, nan; nan, nan: nan, nan""",
}
COMPLEX_TO_REAL = {
    "abs": """±inf, any: inf; any, ±inf: inf; ±0, finite: |b|; finite, ±0: |a|; nan, finite: nan;
        finite, nan: nan; nan, nan: nan""",
    "isfinite": "nan, any: false; any, nan: false; ±inf, any: false; any, ±inf: false; "
    "finite, finite: true",
    "isinf": "±inf, any: true; finite or nan, ±inf: true; finite or nan, finite or nan: false",
    "isnan": "nan, any: true; any, nan: true; number, number: false",
}


def complexes(points, dtype):
    """Complex numbers of parts, whose signs and NaN an addition would change."""
    z = np.empty(len(points), dtype)
    with np.errstate(all="ignore"):
        z.real, z.imag = np.asarray(points).T
    return z


def check_complex(name, text, dtype):
    function = getattr(xp, name)
    real = np.zeros(0, dtype).real.dtype
    for words, results in rows(text):
        points = list(itertools.product(*[values(w) for w in words]))
        for point, got in zip(points, answers(function, complexes(points, dtype)), strict=True):
            for part, result in zip((got.real, got.imag), results, strict=False):
                assert fits(part, result, *point, real), (name, words, point, got, results)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_functions_of_a_complex_number(name, dtype):
    check_complex(name, COMPLEX_UNARY[name], dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX_TO_REAL)
def test_complex_numbers_with_real_results(name, dtype):
    check_complex(name, COMPLEX_TO_REAL[name], dtype)


def grid(dtype):
    """All pairs of special and ordinary parts, the branch cuts among them."""
    parts = [0.0, -0.0, SMALL, -SMALL, 1.0, -1.0, 2.5, -2.5, INF, -INF, NAN]
    return complexes(list(itertools.product(parts, parts)), dtype)


def parts_alike(got, expected, free_signs=False):
    for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
        if free_signs:
            a, b = np.abs(a), np.abs(b)
        np.testing.assert_array_equal(a, b)
        number = ~np.isnan(b)
        np.testing.assert_array_equal(np.signbit(a[number]), np.signbit(b[number]))


def times_j(z):
    return complexes(list(zip((-z.imag).tolist(), z.real.tolist(), strict=True)), z.dtype)


def agree(got, expected, z):
    """The same parts; the standard leaves signs open beside a NaN, and of some results where both
    parts of z are infinite or NaN."""
    numbers = np.isfinite(z.real) | np.isfinite(z.imag)
    settled = numbers & ~np.isnan(expected.real) & ~np.isnan(expected.imag)
    parts_alike(got[settled], expected[settled])
    parts_alike(got[~settled], expected[~settled], free_signs=True)


CONJUGATE = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "exp", "expm1", "log", "log10",
    "log1p", "log2", "sinh", "sqrt", "tanh", "sin", "cos", "tan", "square",
]  # fmt: skip
ODD = ["asinh", "atanh", "sinh", "tanh", "asin", "atan", "sin", "tan"]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_the_function_of_the_conjugate_is_the_conjugate(name, dtype):
    z, f = grid(dtype), getattr(xp, name)
    got, expected = np.asarray(f(ours(z.conj()))), np.asarray(f(ours(z))).conj()
    agree(got, expected, z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ODD)
def test_odd_functions(name, dtype):
    z, f = grid(dtype), getattr(xp, name)
    got, expected = np.asarray(f(ours(-z))), -np.asarray(f(ours(z)))
    agree(got, expected, z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_cosh_is_even(dtype):
    z = grid(dtype)
    got, expected = np.asarray(xp.cosh(ours(-z))), np.asarray(xp.cosh(ours(z)))
    agree(got, expected, z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("name", "other"), [("asin", "asinh"), ("atan", "atanh"), ("sin", "sinh"), ("tan", "tanh")]
)
def test_functions_defined_by_a_quarter_turn(name, other, dtype):
    """f(z) = -j g(jz)."""
    z = grid(dtype)
    got = np.asarray(getattr(xp, name)(ours(z)))
    turned = np.asarray(getattr(xp, other)(ours(times_j(z))))
    agree(times_j(got), turned, z)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_cos_is_cosh_of_a_quarter_turn(dtype):
    z = grid(dtype)
    parts_alike(np.asarray(xp.cos(ours(z))), np.asarray(xp.cosh(ours(times_j(z)))))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "base"), [("log2", 2), ("log10", 10)])
def test_logarithms_to_other_bases_have_the_special_cases_of_log(name, base, dtype):
    z = grid(dtype)
    got, log = np.asarray(getattr(xp, name)(ours(z))), np.asarray(xp.log(ours(z)))
    for a, b in ((got.real, log.real), (got.imag, log.imag)):
        np.testing.assert_allclose(
            a, b / math.log(base), rtol=2e-7 if dtype == "complex64" else 4e-16
        )
        number = ~np.isnan(b)
        assert (np.signbit(a[number]) == np.signbit(b[number])).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_squares_and_reciprocals_have_the_special_cases_of_products_and_quotients(dtype):
    z = grid(dtype)
    x, one = ours(z), xp.asarray(1, dtype=getattr(xp, dtype))
    parts_alike(np.asarray(xp.square(x)), np.asarray(x * x))
    reciprocal, quotient = np.asarray(xp.reciprocal(x)), np.asarray(one / x)
    for part in ("real", "imag"):  # the signs of zeros differ with the zero imaginary part of one
        np.testing.assert_array_equal(getattr(reciprocal, part), getattr(quotient, part))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_sums_and_equality_are_part_by_part(dtype):
    z = grid(dtype)
    first, second = np.repeat(z, len(z)), np.tile(z, len(z))
    x, y = ours(first), ours(second)
    with np.errstate(invalid="ignore"):
        for got, f in ((np.asarray(x + y), np.add), (np.asarray(x - y), np.subtract)):
            for part in ("real", "imag"):
                expected = f(getattr(first, part), getattr(second, part))
                assert np.array_equal(getattr(got, part), expected, equal_nan=True)
                number = ~np.isnan(expected)
                signs = np.signbit(getattr(got, part)), np.signbit(expected)
                assert (signs[0][number] == signs[1][number]).all()
    equal = (first.real == second.real) & (first.imag == second.imag)
    assert (np.asarray(x == y) == equal).all()
    assert (np.asarray(x != y) == ~equal).all()
    everything_nan = complex(NAN, NAN)
    for f in (xp.multiply, xp.divide):
        got = np.asarray(f(xp.asarray([everything_nan]), everything_nan))
        assert np.isnan(got.real).all() and np.isnan(got.imag).all()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_rounding_is_part_by_part(dtype):
    parts = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e30, INF, -INF, NAN]
    z = complexes(list(itertools.product(parts, parts)), dtype)
    got = np.asarray(xp.round(ours(z)))
    parts_alike(got, complexes(list(zip(np.rint(z.real), np.rint(z.imag), strict=True)), dtype))
