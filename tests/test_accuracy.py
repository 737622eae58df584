"""Accuracy of the elementwise functions against mpmath: at most 1 ulp for real dtypes, 4 ulp of the
modulus for complex ones, over the whole domain."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import arrayx as xp

mpmath.mp.prec = 200
POINTS = 250

REAL = {
    "acos": mpmath.acos, "acosh": mpmath.acosh, "asin": mpmath.asin, "asinh": mpmath.asinh,
    "atan": mpmath.atan, "atanh": mpmath.atanh, "cos": mpmath.cos, "cosh": mpmath.cosh,
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log10": mpmath.log10,
    "log1p": mpmath.log1p, "log2": lambda x: mpmath.log(x, 2), "sin": mpmath.sin,
    "sinh": mpmath.sinh, "sqrt": mpmath.sqrt, "tan": mpmath.tan, "tanh": mpmath.tanh,
    "reciprocal": lambda x: 1 / x, "square": lambda x: x * x,
}  # fmt: skip
EXACTLY_ROUNDED = {"sqrt", "reciprocal", "square", "add", "subtract", "multiply", "divide"}
DOMAIN = {
    "acos": (-1, 1), "asin": (-1, 1), "atanh": (-1, 1), "acosh": (1, math.inf),
    "log": (0, math.inf), "log2": (0, math.inf), "log10": (0, math.inf),
    "log1p": (-1, math.inf), "sqrt": (0, math.inf),
}  # fmt: skip
# Where results leave the normal range, change branch, or nearly cancel.
LANDMARKS = [
    0.0, 0.25, 0.29, 0.5, 0.55, 0.6931471805599453, 1.0, 1.4142135623730951, 2.0, 3.0, 10.0, 22.0,
    37.0, 87.33654475055310, 88.72283905206835, 89.41598629223294, 103.27892990343184,
    103.97207708399179, 709.782712893384, 710.4758600739439, 708.3964185322641, 745.1332191019411,
    744.4400719213812, math.pi / 4, math.pi / 2, math.pi, 3 * math.pi / 2, 8192.0, 1e5, 1e9, 1e16,
    2e22,
]  # fmt: skip


def real_points(dtype, low=-math.inf, high=math.inf, seed=0):
    """Values of every magnitude, and the neighbours of the landmarks."""
    rng = np.random.default_rng(seed)
    info = np.finfo(dtype)
    tiny, huge = (-149, 127) if dtype == np.float32 else (-1074, 1023)
    exponents = rng.integers(tiny, huge + 1, POINTS)
    everywhere = np.ldexp(rng.uniform(1, 2, POINTS), exponents).astype(dtype)
    near = np.ldexp(rng.uniform(1, 2, POINTS), rng.integers(-12, 11, POINTS)).astype(dtype)
    marks = np.asarray(LANDMARKS, dtype)
    neighbours = [marks]
    for _ in range(3):
        neighbours += [np.nextafter(neighbours[-1], dtype(np.inf))]
    for down in [marks, np.nextafter(marks, dtype(-np.inf))]:
        neighbours.append(np.nextafter(down, dtype(-np.inf)))
    multiples = (np.arange(1, 60) * (math.pi / 2)).astype(dtype)
    # The seams of the tables of exponentials.
    steps = (np.arange(1, 60) * (math.log(2) / 64)).astype(dtype)
    # Those of logarithms, of tanh, of sines and tangents, and of arctangents.
    parts = [
        0.703125 + np.arange(1, 24) / 32,
        (np.arange(1, 16) - 0.5) * (19 / 32),
        (np.arange(1, 40) - 0.5) * (math.pi / 16),
        np.ldexp(np.repeat([1, 1.5], 9), [*range(-5, 4)] * 2),
    ]
    parts = np.concatenate(parts).astype(dtype)
    edge = np.asarray([info.tiny, info.smallest_subnormal, info.max, 1e300, 1e22], np.float64)
    with np.errstate(over="ignore"):
        positive = np.concatenate(
            [everywhere, near, *neighbours, multiples, steps, parts, edge.astype(dtype)]
        )
    x = np.concatenate([positive, -positive])
    x = x[np.isfinite(x)]
    return x[(x >= low) & (x <= high)]


def exact(value, dtype):
    return mpmath.mpf(float(value)) if np.isrealobj(value) else mpmath.mpc(complex(value))


def ulp(reference, dtype):
    """The distance between neighbouring numbers of the dtype at the reference."""
    mantissa, smallest = (23, -149) if dtype == np.float32 else (52, -1074)
    if reference == 0:
        return mpmath.ldexp(1, smallest)
    exponent = mpmath.frexp(reference)[1] - 1
    return mpmath.ldexp(1, max(int(exponent) - mantissa, smallest))


def error_in_ulp(got, reference, dtype):
    limit = mpmath.ldexp(1, 128 if dtype == np.float32 else 1024)
    if mpmath.isinf(reference) or abs(reference) >= limit:
        # The largest finite number is half an ulp from the threshold of overflow.
        return 0 if np.isinf(got) and (got > 0) == (reference > 0) else mpmath.inf
    if np.isinf(got):
        largest = mpmath.mpf(float(np.finfo(dtype).max))
        near = abs(reference) > largest - ulp(largest, dtype)
        return 0.5 if near and (got > 0) == (reference > 0) else mpmath.inf
    if np.isnan(got):
        return mpmath.inf
    return abs(mpmath.mpf(float(got)) - reference) / ulp(reference, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(REAL))
def test_real_function(name, dtype):
    x = real_points(dtype, *DOMAIN.get(name, (-math.inf, math.inf)))
    got = np.asarray(getattr(xp, name)(xp.asarray(x)))
    bound = 0.5 if name in EXACTLY_ROUNDED else 1.0
    worst, where = 0, None
    for xi, gi in zip(x, got, strict=True):
        value = exact(xi, dtype)
        if name in ("log", "log2", "log10", "reciprocal") and value == 0:
            assert np.isinf(gi)
            continue
        if (abs(value) == 1 and name == "atanh") or (value == -1 and name == "log1p"):
            assert np.isinf(gi) and (gi > 0) == (value > 0)
            continue
        if name in ("cosh", "sinh", "exp", "expm1") and abs(value) > 1000:
            reference = REAL[name](mpmath.sign(value) * 1000)
        else:
            if name in ("sin", "cos", "tan"):
                mpmath.mp.prec = 1300  # enough to reduce 1e308
            reference = REAL[name](value)
            mpmath.mp.prec = 200
        error = error_in_ulp(gi, mpmath.re(reference), dtype)
        if error > worst:
            worst, where = error, (xi, gi, reference)
    assert worst <= bound, f"{name}: {float(worst)} ulp at {where}"


BINARY = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "atan2": mpmath.atan2,
    "hypot": mpmath.hypot,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary_function(name, dtype):
    a, b = real_points(dtype, seed=1), real_points(dtype, seed=2)
    np.random.default_rng(3).shuffle(b)
    a, b = a[b != 0], b[b != 0]
    bound = 0.5 if name in EXACTLY_ROUNDED else 1.0
    got = np.asarray(getattr(xp, name)(xp.asarray(a), xp.asarray(b)))
    mpmath.mp.prec = 2300  # sums of numbers that far apart
    try:
        for ai, bi, gi in zip(a, b, got, strict=True):
            reference = BINARY[name](exact(ai, dtype), exact(bi, dtype))
            if name == "atan2" and ai == 0 and np.signbit(ai):  # mpmath has no negative zero
                reference = -reference
            error = error_in_ulp(gi, reference, dtype)
            assert error <= bound, f"{name}({ai!r}, {bi!r}) = {gi!r}: {float(error)} ulp"
    finally:
        mpmath.mp.prec = 200


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_atan2_where_its_parts_meet(dtype):
    # The error of the quotient counts most where what is left of it is largest beside the result.
    rng = np.random.default_rng(8)
    ends = np.ldexp(np.repeat([1, 1.5], 10), [*range(-5, 5)] * 2)
    ratios = np.repeat(ends, 60) * (1 + rng.uniform(-0.03, 0.03, 60 * ends.size))
    x = (rng.uniform(1, 2, ratios.size) * rng.choice([-1, 1], ratios.size)).astype(dtype)
    y = (ratios * np.abs(x)).astype(dtype)
    for yi, xi, got in zip(y, x, np.asarray(xp.atan2(xp.asarray(y), xp.asarray(x))), strict=True):
        error = error_in_ulp(got, mpmath.atan2(exact(yi, dtype), exact(xi, dtype)), dtype)
        assert error <= 1, f"atan2({yi!r}, {xi!r}) = {got!r}: {float(error)} ulp"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow(dtype):
    rng = np.random.default_rng(5)
    bits = 127 if dtype == np.float32 else 1023
    base = np.ldexp(rng.uniform(1, 2, 1500), rng.integers(-bits, bits, 1500)).astype(dtype)
    # Exponents that take the result anywhere between underflow and overflow, and integers.
    span = bits / np.maximum(np.abs(np.log2(base.astype(float))), 1e-3)
    power = (rng.uniform(-1.15, 1.05, 1500) * span).astype(dtype)
    near_one = (1 + rng.uniform(-1e-3, 1e-3, 500)).astype(dtype)
    steep = (rng.uniform(-1, 1, 500) * bits * math.log(2) / 1e-3).astype(dtype)
    # Where the logarithm's table leaves 1: its errors are largest there, and large powers show them.
    seam = (1 + 1 / 32 + rng.uniform(-1e-3, 1e-3, 500)).astype(dtype)
    high = (rng.uniform(-1, 1, 500) * bits * math.log(2) / math.log(1 + 1 / 32)).astype(dtype)
    whole = rng.integers(-9, 10, 500).astype(dtype)
    signed = rng.uniform(-50, 50, 500).astype(dtype)
    a = np.concatenate([base, near_one, seam, signed])
    b = np.concatenate([power, steep, high, whole])
    got = np.asarray(xp.pow(xp.asarray(a), xp.asarray(b)))
    for ai, bi, gi in zip(a, b, got, strict=True):
        value, exponent = exact(ai, dtype), exact(bi, dtype)
        reference = value ** int(exponent) if value < 0 else mpmath.power(value, exponent)
        error = error_in_ulp(gi, reference, dtype)
        assert error <= 1, f"pow({ai!r}, {bi!r}) = {gi!r}: {float(error)} ulp"


# Of 0.0, -0.0, infinity, -infinity and NaN.
SHORT_POWERS_OF_SPECIALS = {
    2: [0.0, 0.0, np.inf, np.inf, np.nan],
    3: [0.0, -0.0, np.inf, -np.inf, np.nan],
    -1: [np.inf, -np.inf, 0.0, -0.0, np.nan],
    0.5: [0.0, 0.0, np.inf, np.inf, np.nan],
}


@pytest.mark.parametrize("exponent", SHORT_POWERS_OF_SPECIALS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_powers(dtype, exponent):
    """Rounded all but correctly, and the same beside other exponents as alone."""
    rng = np.random.default_rng(9)
    info = np.finfo(dtype)
    a = np.ldexp(rng.uniform(1, 2, 1500), rng.integers(info.minexp, info.maxexp, 1500))
    # Where powers end at either side of the range.
    ends = [info.maxexp / exponent, info.minexp / exponent, (info.minexp - 20) / exponent]
    ends = [end for end in ends if info.minexp <= end <= info.maxexp]
    a = np.append(a, [2**end * rng.uniform(0.5, 2, 100) for end in ends]).astype(dtype)
    a[exponent != 0.5 and rng.choice([True, False], a.size)] *= -1
    a = np.append(a, np.asarray([0, -0.0, np.inf, -np.inf, np.nan], dtype))
    alone = np.asarray(xp.asarray(a) ** exponent)
    specials = np.asarray(SHORT_POWERS_OF_SPECIALS[exponent], dtype)
    np.testing.assert_array_equal(alone[-5:], specials)
    np.testing.assert_array_equal(np.signbit(alone[-5:-1]), np.signbit(specials[:-1]))
    for ai, got in zip(a[:-5], alone, strict=False):
        reference = mpmath.power(exact(ai, dtype), exponent)
        error = error_in_ulp(got, reference, dtype)
        # Subnormal powers are rounded twice.
        bound = 0.502 if abs(got) >= info.tiny else 0.752
        assert error <= bound, f"{ai!r} ** {exponent} = {got!r}: {float(error)} ulp"
    pairs = np.stack([np.full(a.shape, exponent, dtype), rng.uniform(-3, 3, a.size).astype(dtype)])
    bases = np.stack([a, np.abs(a)])
    got = xp.pow(xp.asarray(bases.T.copy()), xp.asarray(pairs.T.copy()))
    np.testing.assert_array_equal(np.asarray(got)[:, 0], alone)
    every = xp.pow(xp.asarray(a), xp.asarray(pairs[0]))
    np.testing.assert_array_equal(np.asarray(every), alone)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logaddexp(dtype):
    rng = np.random.default_rng(6)
    a = (rng.uniform(-1, 1, 800) * 10.0 ** rng.integers(-3, 4, 800)).astype(dtype)
    b = (a + rng.uniform(-60, 60, 800) * 10.0 ** rng.integers(-6, 1, 800)).astype(dtype)
    got = np.asarray(xp.logaddexp(xp.asarray(a), xp.asarray(b)))
    for ai, bi, gi in zip(a, b, got, strict=True):
        reference = mpmath.log(mpmath.exp(exact(ai, dtype)) + mpmath.exp(exact(bi, dtype)))
        unit = ulp(max(abs(reference), 1), dtype)
        error = abs(mpmath.mpf(float(gi)) - reference) / unit
        assert error <= 1, f"logaddexp({ai!r}, {bi!r}) = {gi!r}: {float(error)} ulp"
    # Beside zero, what a small term adds is all there is.
    lowest = -87.3 if dtype == np.float32 else -708.3
    small = np.append(rng.uniform(lowest, -40, 100), lowest + 0.01).astype(dtype)
    got = np.asarray(xp.logaddexp(xp.asarray(small), xp.zeros_like(xp.asarray(small))))
    for ai, gi in zip(small, got, strict=True):
        reference = mpmath.log1p(mpmath.exp(exact(ai, dtype)))
        error = abs(mpmath.mpf(float(gi)) - reference) / ulp(reference, dtype)
        assert error <= 1, f"logaddexp({ai!r}, 0) = {gi!r}: {float(error)} ulp"


COMPLEX = {
    "acos": mpmath.acos, "acosh": mpmath.acosh, "asin": mpmath.asin, "asinh": mpmath.asinh,
    "atan": mpmath.atan, "atanh": mpmath.atanh, "cos": mpmath.cos, "cosh": mpmath.cosh,
    "exp": mpmath.exp, "expm1": mpmath.expm1, "log": mpmath.log, "log10": mpmath.log10,
    "log1p": lambda z: mpmath.log(1 + z), "log2": lambda z: mpmath.log(z) / mpmath.log(2),
    "sin": mpmath.sin, "sinh": mpmath.sinh, "sqrt": mpmath.sqrt, "tan": mpmath.tan,
    "tanh": mpmath.tanh, "square": lambda z: z * z, "reciprocal": lambda z: 1 / z,
}  # fmt: skip


def complex_points(dtype):
    """Points of every magnitude, near the branch points, and near |z| = 1."""
    rng = np.random.default_rng(8)
    real = np.float32 if dtype == np.complex64 else np.float64
    reach = 30 if dtype == np.complex64 else 200
    n = POINTS
    size = 2.0 ** rng.uniform(-reach, reach, (2, n)) * rng.choice([-1, 1], (2, n))
    parts = [size[0] + 1j * size[1]]
    parts.append(rng.uniform(-4, 4, n) + 1j * rng.uniform(-4, 4, n))
    for center in (1, -1, 1j, -1j, 0):
        step = 2.0 ** rng.uniform(-40, 0, (2, n // 3)) * rng.choice([-1, 1], (2, n // 3))
        parts.append(center + step[0] + 1j * step[1])
    angle = rng.uniform(-math.pi, math.pi, n)
    parts.append(np.exp(1j * angle) * (1 + rng.uniform(-1, 1, n) * 2.0 ** rng.integers(-50, 0, n)))
    z = np.concatenate(parts).astype(dtype)
    assert z.real.dtype == real
    return z


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_complex_function(name, dtype):
    real = np.float32 if dtype == np.complex64 else np.float64
    z = complex_points(dtype)
    if name in ("exp", "expm1", "cos", "cosh", "sin", "sinh"):
        z = z[(np.abs(z.real) < 80) & (np.abs(z.imag) < 80)]
    got = np.asarray(getattr(xp, name)(xp.asarray(z)))
    mpmath.mp.prec = 900
    try:
        for zi, gi in zip(z, got, strict=True):
            reference = COMPLEX[name](exact(zi, dtype))
            modulus = abs(reference)
            if modulus > mpmath.mpf(float(np.finfo(real).max)) / 2:
                continue
            error = abs(exact(gi, dtype) - reference) / ulp(modulus, real)
            assert error <= 4, f"{name}({zi!r}) = {gi!r}, not {reference}: {float(error)} ulp"
    finally:
        mpmath.mp.prec = 200


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["multiply", "divide", "add"])
def test_complex_arithmetic(name, dtype):
    real = np.float32 if dtype == np.complex64 else np.float64
    a = complex_points(dtype)
    b = np.roll(a, 7)
    operation = {"multiply": lambda u, v: u * v, "divide": lambda u, v: u / v,
                 "add": lambda u, v: u + v}[name]  # fmt: skip
    got = np.asarray(getattr(xp, name)(xp.asarray(a), xp.asarray(b)))
    mpmath.mp.prec = 900
    try:
        for ai, bi, gi in zip(a, b, got, strict=True):
            reference = operation(exact(ai, dtype), exact(bi, dtype))
            if not 0 < abs(reference) < mpmath.mpf(float(np.finfo(real).max)) / 2:
                continue
            error = abs(exact(gi, dtype) - reference) / ulp(abs(reference), real)
            assert error <= 4, f"{name}({ai!r}, {bi!r}) = {gi!r}: {float(error)} ulp"
    finally:
        mpmath.mp.prec = 200


def squares_of_ties():
    """The float64 in [1, 4) whose square roots are nearest to the middle between two numbers."""
    values = []
    for c in range(-200, 201, 2):
        for digits in (52, 53):  # a = k * k + k + c is near (k + 1/2)^2, and a multiple of 2^digits
            for k in (0, 1):
                for _ in range(6):
                    k -= (k * k + k + c) * pow(2 * k + 1, -1, 2**digits)
                    k %= 2**digits
                k += 2**52 * (k < 2**52)
                a = k * k + k + c
                if a % 2**digits == 0 and 2**104 <= a < 2**106 and float(a) == a:
                    values.append(float(a) / 2**104)
    return np.asarray(values)


def test_square_roots_of_ties():
    a = squares_of_ties()
    assert a.size > 200
    for scale in (1.0, 2.0**-960, 2.0**-956, 2.0**1020):
        x = a * scale
        got = np.asarray(xp.sqrt(xp.asarray(x)))
        with mpmath.workprec(120):
            for xi, gi in zip(x, got, strict=True):
                assert gi == float(mpmath.sqrt(mpmath.mpf(float(xi)))), f"sqrt({xi!r}) = {gi!r}"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exponent", [-126, -96, -95, -94, 0, 1, 127])
def test_square_roots_of_every_digit(sign, exponent):
    """Every float32 of an exponent, with zeros, infinities and NaN here and there."""
    a = np.ldexp(np.arange(2**23, 2**24, dtype=np.float32), exponent - 23) * np.float32(sign)
    a[:: 2**20] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e-39]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.asarray(xp.sqrt(xp.asarray(a))), np.sqrt(a))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("exponent", [2, -1, 0.5])
def test_short_complex_powers(dtype, exponent):
    real = np.float32 if dtype == np.complex64 else np.float64
    rng = np.random.default_rng(8)
    reach = 50 if dtype == np.complex64 else 500
    z = 2.0 ** rng.uniform(-reach, reach, 300) * np.exp(1j * rng.uniform(-math.pi, math.pi, 300))
    z[:100] = z[:100].real * (1 + 1j * (1 + rng.uniform(-1e-3, 1e-3, 100)))  # squares cancel
    z = z.astype(dtype)
    for zi, gi in zip(z, np.asarray(xp.asarray(z) ** exponent), strict=True):
        reference = mpmath.power(exact(zi, dtype), exponent)
        error = abs(exact(gi, dtype) - reference) / ulp(abs(reference), real)
        assert error <= 4, f"{zi!r} ** {exponent} = {gi!r}, not {reference}: {float(error)} ulp"


def powers_of_phase(dtype, phase):
    """Bases everywhere and near 1, and exponents that give powers of about that phase."""
    rng = np.random.default_rng(9)
    n = 60
    turn = np.exp(1j * rng.uniform(-math.pi, math.pi, n))
    reach = 30 if dtype == np.complex64 else 900
    near = 2.0 ** rng.uniform(-23 if dtype == np.complex64 else -52, -1, (2, n))
    real = 2.0 ** rng.uniform(-reach, reach, n)
    bases = np.concatenate(
        [2.0 ** rng.uniform(-reach, reach, n) * turn, turn * (1 + near[0]),
         1 + near[0] - 1j * near[1], rng.choice([-1, 1j, -1j], n), real, 1 - near[0] / 2]
    ).astype(dtype)  # fmt: skip
    exponents = []
    for base in bases:
        wanted = mpmath.mpc(rng.uniform(-9, 9), phase * rng.uniform(0.5, 1) * rng.choice([-1, 1]))
        exponents.append(complex(wanted / mpmath.log(exact(base, dtype))))
    with np.errstate(over="ignore"):
        return bases, np.asarray(exponents).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("phase", [1, 100, 2e3, 1e4, 1e6, 1e9, 1e15, 1e22])
def test_complex_pow(dtype, phase):
    real = np.float32 if dtype == np.complex64 else np.float64
    mpmath.mp.prec = 400
    try:
        z, w = powers_of_phase(dtype, phase)
        got = np.asarray(xp.pow(xp.asarray(z), xp.asarray(w)))
        compared = 0
        for zi, wi, gi in zip(z, w, got, strict=True):
            # Rounding a large exponent may have taken its power out of the range.
            exponent = exact(wi, dtype) * mpmath.log(exact(zi, dtype))
            if not np.isfinite(wi) or abs(exponent.real) > 0.99 * math.log(np.finfo(real).max):
                continue
            compared += 1
            reference = mpmath.exp(exponent)
            error = abs(exact(gi, dtype) - reference) / ulp(abs(reference), real)
            assert error <= 4, f"pow({zi!r}, {wi!r}) = {gi!r}, not {reference}: {float(error)} ulp"
        assert compared > 100
    finally:
        mpmath.mp.prec = 200
