"""The functions of NumPy's beyond the standard: each beside NumPy's own, as a table of calls.

A call is written once, for any namespace m: with NumPy's arrays it gives what is expected.
"""

import math
import warnings

import mpmath
import numpy as np
import pytest
from strided import finished

import arrayx as xp
from arrayx import _beyond_the_standard as chapter

rng = np.random.default_rng(5)
nan, inf = np.nan, np.inf

INT = rng.integers(-9, 10, (4, 5))
INT3 = rng.integers(-9, 10, (3, 4, 5)).astype(np.int32)
SMALL = rng.integers(0, 4, (6, 3)).astype(np.uint8)
BOOL = rng.random((4, 5)) < 0.5
F64 = rng.standard_normal((4, 5))
F32 = rng.standard_normal((3, 4, 5)).astype(np.float32)
C128 = rng.standard_normal((4, 5)) + 1j * rng.standard_normal((4, 5))
NANS = np.where(rng.random((4, 5)) < 0.3, nan, F64)
NANS[2] = nan
NANS[0, 0] = 1.0
NANS32 = np.where(rng.random((3, 4, 5)) < 0.3, nan, F32).astype(np.float32)
CNANS = np.where(rng.random((4, 5)) < 0.3, nan, C128)
SPECIAL = np.asarray([0.0, -0.0, 1.5, -2.5, inf, -inf, nan, 1e300, 5e-324, -8.0])
VECTOR = rng.standard_normal(13)
WEIGHTS = rng.random(13)
KEYS = rng.integers(0, 6, 13)
ARRAYS = {
    "int64": INT,
    "int32": INT3,
    "uint8": SMALL,
    "bool": BOOL,
    "float64": F64,
    "float32": F32,
    "complex128": C128,
    "nans": NANS,
    "nans32": NANS32,
    "strided": F64.T[::-2],
    "vector": VECTOR,
    "special": SPECIAL,
}
REAL = ["int64", "int32", "uint8", "float64", "float32", "nans", "nans32", "strided", "vector"]
NUMERIC = [*REAL, "complex128"]
AXES = [None, 0, -1, (0, 1)]


def to_ours(a):
    if isinstance(a, np.ndarray):
        return xp.asarray(a)
    if isinstance(a, (tuple, list)):
        return type(a)(map(to_ours, a))
    return a


def compare(ours, expected, rtol=None, dtypes=True):
    if isinstance(expected, (tuple, list)):
        assert isinstance(ours, (tuple, list))
        assert len(ours) == len(expected)
        for one, other in zip(ours, expected, strict=True):
            compare(one, other, rtol, dtypes)
        return
    if isinstance(expected, (bool, int, float, str)) and not isinstance(expected, np.generic):
        assert type(ours) is type(expected)
        assert ours == expected
        return
    expected = np.asarray(expected)
    assert isinstance(ours, xp.Array)
    assert ours.shape == expected.shape
    if dtypes:
        assert str(ours.dtype).rsplit(".")[-1] == expected.dtype.name
    if rtol is None:
        rtol = 3e-6 if expected.dtype in (np.float32, np.complex64) else 1e-13
    np.testing.assert_allclose(np.asarray(ours), expected, rtol=rtol, atol=rtol)


def check(call, *arrays, rtol=None, dtypes=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = call(np, *arrays)
    compare(call(xp, *[to_ours(a) for a in arrays]), expected, rtol, dtypes)


def fails(call, *arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, IndexError, ZeroDivisionError)):
            call(np, *arrays)
    with pytest.raises((ValueError, TypeError, IndexError, ZeroDivisionError)):
        finished(call(xp, *[to_ours(a) for a in arrays]))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("function", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd"])
def test_nan_reductions(function, name, axis):
    a = ARRAYS[name]
    if isinstance(axis, tuple) and a.ndim < 2:
        axis = (0,)
    rtol = 1e-5 if a.dtype == np.float32 else 1e-12
    # Integers narrower than 64 bits are summed in int64 or uint64 by either.
    check(lambda m, x: getattr(m, function)(x, axis=axis), a, rtol=rtol)
    check(lambda m, x: getattr(m, function)(x, axis=axis, keepdims=True), a, rtol=rtol)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("function", ["nanmin", "nanmax", "median", "nanmedian", "ptp"])
def test_order_reductions(function, name, axis):
    a = ARRAYS[name]
    if isinstance(axis, tuple) and a.ndim < 2:
        axis = (0,)
    check(lambda m, x: getattr(m, function)(x, axis=axis), a)
    check(lambda m, x: getattr(m, function)(x, axis=axis, keepdims=True), a)


def test_reductions_of_little():
    check(lambda m, x: m.median(x), np.asarray([True, False, True]))
    check(lambda m, x: m.median(x), np.zeros((0,)))
    check(lambda m, x: m.median(x, axis=1), np.zeros((2, 0)))
    check(lambda m, x: m.median(x, axis=0), np.zeros((2, 0)))
    check(lambda m, x: m.median(x), np.asarray([inf, inf, 1.0]))
    check(lambda m, x: m.nanmean(x), np.zeros((0,)))
    check(lambda m, x: m.nanmean(x, axis=0), BOOL)
    check(lambda m, x: m.nansum(x, axis=0), BOOL)
    check(lambda m, x: m.nanmin(x, axis=0), BOOL)
    check(lambda m, x: m.nanmax(x, axis=0), BOOL)
    check(lambda m, x: m.nanvar(x), CNANS)
    check(lambda m, x: m.nanvar(x, ddof=1, axis=0), NANS)
    check(lambda m, x: m.nanstd(x, ddof=3, axis=1), NANS)
    check(lambda m, x: m.nanvar(x), np.asarray([1.0, inf, nan]))
    check(lambda m, x: m.nanvar(x), np.asarray([1j, complex(inf, nan), 3.0]))
    fails(lambda m, x: m.nanmin(x), np.zeros((0,)))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_nanarg(axis):
    a = NANS.copy()
    a[2, 3] = 0.25
    a[:, 1] = [nan, -inf, inf, 3]
    a[3, :] = [nan, nan, 7.0, nan, -7.0]
    check(lambda m, x: m.nanargmin(x, axis=axis), a)
    check(lambda m, x: m.nanargmax(x, axis=axis), a)
    check(lambda m, x: m.nanargmax(x, axis=axis), INT)
    fails(lambda m, x: m.nanargmin(x, axis=1), NANS)


METHODS = [
    "linear",
    "lower",
    "higher",
    "nearest",
    "midpoint",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", REAL)
def test_quantiles(name, method):
    a = ARRAYS[name]
    q = np.asarray([[0.0, 0.1, 0.25], [0.5, 0.75, 1.0]])
    for axis in (None, 0, -1):
        check(lambda m, x, q: m.quantile(x, q, axis=axis, method=method), a, q, rtol=1e-6)
        check(lambda m, x, q: m.nanquantile(x, q, axis=axis, method=method), a, q, rtol=1e-6)
    check(lambda m, x: m.quantile(x, 0.3, method=method, keepdims=True), a, rtol=1e-6)
    check(lambda m, x: m.percentile(x, 40, axis=0, method=method), a, rtol=1e-6)
    check(lambda m, x: m.nanpercentile(x, [5, 95], axis=0, method=method), a, rtol=1e-6)


def test_quantile_errors():
    fails(lambda m, x: m.quantile(x, 1.5), F64)
    fails(lambda m, x: m.percentile(x, -1), F64)
    fails(lambda m, x: m.quantile(x, 0.5), C128)
    fails(lambda m, x: m.quantile(x, 0.5, method="guess"), F64)


STATISTICS = [
    (lambda m, x: m.average(x), INT),
    (lambda m, x: m.average(x, axis=0), F32),
    (lambda m, x, w: m.average(x, weights=w), VECTOR, WEIGHTS),
    (lambda m, x, w: m.average(x, axis=1, weights=w), F64, np.arange(5)),
    (lambda m, x, w: m.average(x, axis=(1, 0), weights=w), F32.astype(float), rng.random((4, 3))),
    (
        lambda m, x, w: m.average(x, axis=0, weights=w, returned=True),
        F64,
        np.abs(F64),
    ),
    (lambda m, x: m.average(x, axis=0, returned=True, keepdims=True), C128),
    (lambda m, x: m.cumsum(x), INT),
    (lambda m, x: m.cumsum(x, axis=1), BOOL),
    (lambda m, x: m.cumprod(x, 0), F64),
    (lambda m, x: m.cumprod(x, 0), BOOL),
    (lambda m, x: m.nansum(x), BOOL),
    (lambda m, x: m.nanprod(x), BOOL),
    (lambda m, x: m.pad(x, 1, constant_values=True), BOOL),
    (lambda m, x: m.nancumsum(x, axis=0), NANS),
    (lambda m, x: m.nancumprod(x), NANS),
    (lambda m, x: m.cov(x), F64),
    (lambda m, x: m.cov(x), INT),
    (lambda m, x: m.cov(x), C128),
    (lambda m, x: m.cov(x), VECTOR),
    (lambda m, x: m.cov(x, rowvar=False), F64),
    (lambda m, x: m.cov(x, bias=True), F64),
    (lambda m, x: m.cov(x, ddof=2), F64),
    (lambda m, x, y: m.cov(x, y), VECTOR, WEIGHTS),
    (lambda m, x, w: m.cov(x, fweights=w), F64, np.asarray([1, 2, 0, 3, 1])),
    (lambda m, x, w: m.cov(x, aweights=w), F64, WEIGHTS[:5]),
    (lambda m, x, w, f: m.cov(x, fweights=f, aweights=w), F64, WEIGHTS[:5], KEYS[:5] + 1),
    (lambda m, x: m.corrcoef(x), F64),
    (lambda m, x: m.corrcoef(x), C128),
    (lambda m, x: m.corrcoef(x), VECTOR),
    (lambda m, x, y: m.corrcoef(x, y), VECTOR, WEIGHTS),
    (lambda m, x: m.corrcoef(x, rowvar=False), F64),
    (lambda m, x: m.bincount(x), KEYS),
    (lambda m, x: m.bincount(x, minlength=10), KEYS),
    (lambda m, x: m.bincount(x), np.zeros((0,), int)),
    (lambda m, x, w: m.bincount(x, weights=w), KEYS, WEIGHTS),
    (lambda m, x, w: m.bincount(x, weights=w, minlength=9), KEYS, KEYS),
    (lambda m, x, w: m.bincount(x, w), np.asarray([2, 0, 2, 1]), np.asarray([nan, 1, 2, inf])),
    (lambda m, x: m.histogram(x), VECTOR),
    (lambda m, x: m.histogram(x, bins=7), INT),
    (lambda m, x: m.histogram(x, bins=4), F32),
    (lambda m, x: m.histogram(x, bins=4, range=(-1, 1)), F64),
    (lambda m, x: m.histogram(x, bins=4, density=True), F64),
    (lambda m, x: m.histogram(x), np.zeros((0,))),
    (lambda m, x: m.histogram(x), np.full((3,), 2.0)),
    (lambda m, x, b: m.histogram(x, bins=b), VECTOR, np.asarray([-1, 0, 0.5, 2])),
    (lambda m, x, b: m.histogram(x, bins=b, density=True), VECTOR, np.asarray([-1, 0, 0.5, 2])),
    (lambda m, x, b: m.histogram(x, bins=b), INT, np.asarray([-5, 0, 1, 5])),
    (lambda m, x, w: m.histogram(x, weights=w), VECTOR, WEIGHTS),
    (lambda m, x, w: m.histogram(x, weights=w, density=True), VECTOR, WEIGHTS),
    (lambda m, x, w: m.histogram(x, 3, weights=w), VECTOR, KEYS),
    (lambda m, x, b: m.histogram(x, b), np.asarray([0, 1, nan, 5.0]), np.asarray([0.0, 1, 2])),
    (lambda m, x: m.histogram_bin_edges(x, 3), INT),
    (lambda m, x, b: m.digitize(x, b), F64, np.asarray([-1.0, 0.0, 0.5])),
    (lambda m, x, b: m.digitize(x, b), INT, np.asarray([5, 2, 0, -3])),
    (lambda m, x, b: m.digitize(x, b, right=True), INT, np.asarray([5, 2, 0, -3])),
    (lambda m, x, b: m.digitize(x, b, right=True), INT, np.asarray([-3, 0, 0, 2])),
    (lambda m, x: m.amax(x), F64),
    (lambda m, x: m.amin(x), F64),
]

ABSCISSAE = np.sort(VECTOR)
CALCULUS = [
    (lambda m, x: m.ediff1d(x), INT),
    (lambda m, x: m.ediff1d(x, to_begin=-99, to_end=[88, 99]), INT),
    (lambda m, x: m.gradient(x), VECTOR),
    (lambda m, x: m.gradient(x), F64),
    (lambda m, x: m.gradient(x, axis=0), INT),
    (lambda m, x: m.gradient(x, 2.0, edge_order=2), F32),
    (lambda m, x: m.gradient(x, 2, 0.5, axis=(0, 1)), C128),
    (lambda m, x, t: m.gradient(x, t), WEIGHTS, ABSCISSAE),
    (lambda m, x, t: m.gradient(x, t, edge_order=2), WEIGHTS, ABSCISSAE),
    (lambda m, x, t: m.gradient(x, 3.0, t), F64, np.asarray([0, 1, 4, 6, 7])),
    (lambda m, x: m.trapezoid(x), F64),
    (lambda m, x: m.trapezoid(x, dx=0.5, axis=0), INT),
    (lambda m, x, t: m.trapezoid(x, t), WEIGHTS, ABSCISSAE),
    (lambda m, x, t: m.trapezoid(x, x=t, axis=0), F64, np.asarray([0, 1, 4, 6])),
    (lambda m, x, t: m.trapezoid(x, x=t, axis=0), F64, np.cumsum(np.abs(F64), axis=0)),
    (lambda m, x, p, f: m.interp(x, p, f), F64, ABSCISSAE, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f, left=-5, right=7), INT, ABSCISSAE, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f, period=1.5), F64, VECTOR, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f), SPECIAL, ABSCISSAE, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f), ABSCISSAE, ABSCISSAE, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f), F64, np.asarray([0.1]), np.asarray([3])),
    (lambda m, x, p, f: m.interp(x, p, f), F64, ABSCISSAE, WEIGHTS * 1j),
    (lambda m, p, f: m.interp(0.25, p, f), ABSCISSAE, WEIGHTS),
    (lambda m, x, p, f: m.interp(x, p, f), F32, np.arange(3), np.asarray([1.0, inf, inf])),
]

CREATION = [
    (lambda m: m.logspace(0, 3, 7),),
    (lambda m: m.logspace(-2, 2, 5, base=2.0, endpoint=False),),
    (lambda m: m.geomspace(1, 1000, 4),),
    (lambda m: m.geomspace(-2, -3e5, 9),),
    (lambda m: m.geomspace(2, 0.1, 9, endpoint=False),),
    (lambda m: m.geomspace(1, 2, 1),),
    (lambda m: m.geomspace(1, 2, 0),),
    (lambda m: m.tri(3),),
    (lambda m: m.tri(3, 5, 1, dtype=m.int32),),
    (lambda m: m.tri(3, 2, -1),),
    (lambda m: m.identity(3),),
    (lambda m, x: m.vander(x), VECTOR[:4]),
    (lambda m, x: m.vander(x, 3, increasing=True), KEYS),
    (lambda m, x: m.vander(x, 0), VECTOR),
    *[(lambda m, x: m.vander(x, 3), a) for a in (SMALL[0], F32[0, 0], BOOL[0])],
    (lambda m, x: m.vander(x), C128[0]),
    (lambda m: m.indices((2, 3)),),
    (lambda m: m.indices((2, 3, 4), sparse=True),),
    (lambda m: m.indices((4,)),),
    (lambda m: m.indices((2, 3), dtype=m.float32),),
    (lambda m: m.tril_indices(4),),
    (lambda m: m.tril_indices(3, 1, 5),),
    (lambda m: m.triu_indices(4, -1),),
    (lambda m: m.triu_indices(3, 1, 5),),
    (lambda m: m.array([[1, 2], [3, 4]]),),
    (lambda m: m.array([1, 2], ndmin=3, dtype=m.float32),),
    (lambda m, x: m.copy(x), F32),
    (lambda m, x: m.ascontiguousarray(x), F64.T),
    (lambda m: m.ascontiguousarray(3.0),),
]

OTHER = np.roll(F64, 1) + 0.5
ELEMENTWISE = [
    (lambda m, x: m.around(x, 2), F64),
    (lambda m, x: m.around(x), F32),
    (lambda m, x: m.around(x, -1), INT),
    (lambda m, x: m.around(x, 1), np.stack([SPECIAL[:7], SPECIAL[6::-1]], axis=-1).view(complex)),
    (lambda m, x: m.around(x, 1), np.zeros((0, 2), complex)),
    (lambda m, x: m.angle(x), C128),
    (lambda m, x: m.angle(x, deg=True), F64),
    (lambda m, x: m.cbrt(x), SPECIAL),
    (lambda m, x: m.cbrt(x), F32),
    (lambda m, x: m.cbrt(x), INT),
    (lambda m, x: m.deg2rad(x), F64),
    (lambda m, x: m.rad2deg(x), F32),
    (lambda m, x: m.degrees(x), INT),
    (lambda m, x: m.radians(x), INT),
    (lambda m, x: m.exp2(x), F64),
    (lambda m, x: m.exp2(x), INT),
    (lambda m, x, y: m.float_power(x, y), np.abs(F32), F32),
    (lambda m, x: m.float_power(x, -1), KEYS + 1),
    (lambda m, x, y: m.fmax(x, y), NANS, OTHER),
    (lambda m, x, y: m.fmin(x, y), OTHER, NANS),
    (lambda m, x: m.fmin(x, 0), INT),
    (lambda m, x, y: m.fmin(x, y), BOOL, BOOL[::-1]),
    (lambda m, x, y: m.fmax(x, y), BOOL, BOOL[::-1]),
    (lambda m, x: m.array_equal(x, x, equal_nan=True), BOOL),
    (lambda m, x, y: m.fmod(x, y), F64 * 100, OTHER),
    (lambda m, x: m.fmod(x, 4), INT),
    (lambda m, x: m.fmod(x, -4), INT),
    (lambda m, x: m.fmod(x, inf), SPECIAL),
    (lambda m, x: m.divmod(x, 3), INT),
    (lambda m, x: m.heaviside(x, 0.5), SPECIAL),
    (lambda m, x: m.heaviside(x, 0.25), INT),
    (lambda m, x, y: m.isclose(x, y), F64, F64 + 1e-8),
    (lambda m, x, y: m.isclose(x, y, rtol=0.1, atol=0.5), F64, OTHER),
    (lambda m, x, y: m.isclose(x, y, equal_nan=True), SPECIAL, SPECIAL[::-1]),
    (lambda m, x: m.isclose(x, x), SPECIAL),
    (lambda m, x: m.isclose(x, x, equal_nan=True), SPECIAL),
    (lambda m, x: m.isclose(x, 1), INT),
    (lambda m, x: m.isclose(x, 1j, atol=1), C128),
    (lambda m, x, y: m.isclose(x, y), SMALL, SMALL[::-1]),
    (lambda m, x, y: m.isclose(x, y), BOOL, BOOL),
    (lambda m, x, y: m.allclose(x, y), F64, F64 + 1e-10),
    (lambda m, x, y: m.allclose(x, y), F64, OTHER),
    (lambda m, x: m.allclose(x, x), NANS),
    (lambda m, x: m.allclose(x, x, equal_nan=True), NANS),
    (lambda m, x, y: m.array_equal(x, y), INT, INT.astype(float)),
    (lambda m, x, y: m.array_equal(x, y), INT, INT[:2]),
    (lambda m, x: m.array_equal(x, x), NANS),
    (lambda m, x: m.array_equal(x, x, equal_nan=True), NANS),
    (lambda m, x, y: m.array_equiv(x, y), INT[0], np.stack([INT[0], INT[0]])),
    (lambda m, x, y: m.array_equiv(x, y), INT, INT[:2]),
    (lambda m, x: m.iscomplex(x), C128),
    (lambda m, x: m.iscomplex(x), INT),
    (lambda m, x: m.isreal(x), C128.real + 0j),
    (lambda m, x: m.iscomplexobj(x), C128),
    (lambda m, x: m.isrealobj(x), F64),
    (lambda m: m.isscalar(3),),
    (lambda m, x: m.isscalar(x), F64),
    (lambda m, x: m.isneginf(x), SPECIAL),
    (lambda m, x: m.isposinf(x), SPECIAL),
    (lambda m, x: m.nan_to_num(x), SPECIAL),
    (lambda m, x: m.nan_to_num(x, nan=3.0, posinf=7, neginf=-7), SPECIAL[:7].astype(np.float32)),
    (lambda m, x: m.nan_to_num(x), np.stack([SPECIAL, SPECIAL[::-1]], axis=-1).view(complex)),
    (lambda m, x: m.nan_to_num(x), INT),
    (lambda m, x: m.sinc(x), F64),
    (lambda m, x: m.sinc(x), INT / 2),
    (lambda m, x: m.select([x > 3, x < -3], [x, x * 10], 7), INT),
    (lambda m, x: m.select([x > 0, x > 1], [x, 5.0]), F64),
    (lambda m, x: m.ndim(x), INT3),
    (lambda m, x: m.shape(x), INT3),
    (lambda m, x: m.size(x), INT3),
    (lambda m, x: m.size(x, 1), INT3),
    (lambda m, x: m.absolute(x), C128),
    (lambda m, x: m.power(x, 2), INT),
    (lambda m, x: m.arccos(x), WEIGHTS),
    (lambda m, x: m.arcsin(x), WEIGHTS),
    (lambda m, x: m.arctan(x), WEIGHTS),
    (lambda m, x, y: m.arctan2(x, y), F64, OTHER),
    (lambda m, x: m.arccosh(x + 1), WEIGHTS),
    (lambda m, x: m.arcsinh(x), WEIGHTS),
    (lambda m, x: m.arctanh(x), WEIGHTS),
    (lambda m, x: m.bitwise_not(x), INT),
    (lambda m, x: m.invert(x), BOOL),
    (lambda m, x: m.left_shift(x, 2), KEYS),
    (lambda m, x: m.right_shift(x, 1), KEYS),
    (lambda m, x: m.conjugate(x), C128),
    (lambda m, x: m.mod(x, 3), INT),
    (lambda m, x: m.true_divide(x, 3), INT),
    (lambda m, x: m.rint(x), F64),
    (lambda m, x: m.fix(x), F64),
]

MANIPULATION = [
    (lambda m, x: m.append(x, 3), KEYS),
    (lambda m, x, y: m.append(x, y, axis=0), F64, OTHER),
    (lambda m, x, y: m.append(x, y), INT, F64),
    (lambda m, x: m.delete(x, 2), KEYS),
    (lambda m, x: m.delete(x, -1, axis=1), F32),
    (lambda m, x: m.delete(x, slice(None, None, 2), axis=0), INT),
    (lambda m, x: m.delete(x, [0, 2, 2], axis=1), INT),
    (lambda m, x: m.delete(x, []), KEYS),
    (lambda m, x, i: m.delete(x, i), KEYS, KEYS > 2),
    (lambda m, x: m.insert(x, 1, 9), KEYS),
    (lambda m, x: m.insert(x, 13, [8, 9]), KEYS),
    (lambda m, x: m.insert(x, -1, 2.7), KEYS),
    (lambda m, x: m.insert(x, [5, 0, 5], [7, 8, 9]), KEYS),
    (lambda m, x: m.insert(x, 1, [1, 2, 3, 4], axis=1), INT),
    (lambda m, x: m.insert(x, 0, 5, axis=0), INT),
    (lambda m, x: m.insert(x, [1, 2], 5, axis=1), INT),
    (lambda m, x: m.insert(x, [1], [[1], [2], [3], [4]], axis=1), INT),
    (lambda m, x: m.insert(x, 3, 5), INT),
    (lambda m: m.atleast_1d(m.asarray(3.0)),),
    (lambda m, x: m.atleast_1d(x, 2), INT),
    (lambda m, x: m.atleast_2d(x), KEYS),
    (lambda m: m.atleast_2d(3),),
    (lambda m, x: m.atleast_3d(x), INT),
    (lambda m, x: m.atleast_3d(x), KEYS),
    (lambda m: m.atleast_3d(1.5),),
    (lambda m, x, y: m.concatenate((x, y), 1), INT, F64),
    (lambda m, x, y: m.concatenate([x, y], axis=None), INT, F32.astype(float)),
    (lambda m, x, y: m.column_stack((x, y)), F64, F64[:, 0]),
    (lambda m, x, y: m.hstack((x, y)), F64, OTHER),
    (lambda m, x: m.hstack((x, 1)), KEYS),
    (lambda m, x, y: m.vstack((x, y)), F64, F64[0]),
    (lambda m, x, y: m.dstack((x, y)), F64, OTHER),
    (lambda m, x: m.dstack((x, x)), KEYS),
    (lambda m, x: m.fliplr(x), INT3),
    (lambda m, x: m.flipud(x), INT3),
    *[(lambda m, x, k=k: m.rot90(x, k), INT) for k in range(-3, 5)],
    *[(lambda m, x, k=k: m.rot90(x, k, axes=(2, 0)), INT3) for k in range(4)],
    (lambda m, x: m.ravel(x), F64.T),
    (lambda m, x: m.transpose(x), INT3),
    (lambda m, x: m.transpose(x, (1, 2, 0)), INT3),
    (lambda m, x: m.swapaxes(x, 0, -1), INT3),
    *[
        (lambda m, x, a=a, s=s: m.rollaxis(x, a, s), INT3)
        for a in (-1, 0, 1)
        for s in (-2, 0, 1, 2, 3)
    ],
    (lambda m, x: m.array_split(x, 3), KEYS),
    (lambda m, x: m.array_split(x, [1, 3], axis=1), INT),
    (lambda m, x: m.array_split(x, [3, 20, 5]), KEYS),
    (lambda m, x: m.split(x, 2, axis=1), INT3),
    (lambda m, x: m.split(x, [2], axis=-1), INT3),
    (lambda m, x: m.hsplit(x, 2), INT3),
    (lambda m, x: m.hsplit(x, [4]), KEYS),
    (lambda m, x: m.vsplit(x, 3), INT3),
    (lambda m: m.trim_zeros(m.asarray([0, 0, 1, 0, 2, 0])),),
    (lambda m: m.trim_zeros(m.asarray([0, 0, 1, 0, 2, 0]), "f"),),
    (lambda m: m.trim_zeros(m.asarray([0, 0, 1, 0, 2, 0]), "b"),),
    (lambda m: m.trim_zeros(m.asarray([0, 0])),),
    *[
        (lambda m, x, mode=mode, w=w: m.pad(x, w, mode=mode), a)
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        for w, a in (
            (2, INT),
            ((1, 3), F64),
            (((0, 2), (13, 11)), INT),
            (9, KEYS[:1]),
            (((1,), (2,)), INT),
            (0, BOOL),
        )
    ],
    (lambda m, x: m.pad(x, 2, constant_values=7), INT),
    (lambda m, x: m.pad(x, 2, constant_values=((1, 2), (3, 4))), INT),
    (lambda m, x: m.pad(x, {-1: (1, 2)}), INT),
    (lambda m, x: m.pad(x, 2), np.zeros((0,))),
]

ROWS = SMALL[np.asarray([0, 1, 0, 2, 3, 1, 4, 0])]
INDEXING = [
    (lambda m, x: m.apply_along_axis(m.cumsum, 0, x), INT3),
    (lambda m, x: m.apply_along_axis(m.sum, 1, x), F32),
    (lambda m, x: m.apply_along_axis(lambda line: m.outer(line, line), 1, x), F32),
    (lambda m, x: m.argwhere(x), INT),
    (lambda m, x: m.argwhere(x), BOOL),
    (lambda m, x: m.flatnonzero(x), BOOL),
    (lambda m, x, y: m.lexsort((x, y)), VECTOR, KEYS),
    (lambda m, x, y: m.lexsort((x, y), axis=0), F64, INT // 4),
    (lambda m, x: m.lexsort(x), INT),
    (lambda m, x: m.unravel_index(x, (4, 5)), KEYS),
    (lambda m, x: m.unravel_index(x, 9), KEYS),
    (lambda m: m.unravel_index(7, (2, 2, 3)),),
    (lambda m, x: m.ravel_multi_index((x, x // 2), (7, 5)), KEYS),
    (lambda m, x: m.unique(x), INT),
    (lambda m, x: m.unique(x, True, True, True), INT),
    (lambda m, x: m.unique(x, True, True, True), NANS),
    (lambda m, x: m.unique(x, return_counts=True, equal_nan=False), NANS),
    (lambda m, x: m.unique(x, return_inverse=True), BOOL),
    (lambda m, x: m.unique(x, return_index=True), F32),
    (lambda m, x: m.unique(x), np.zeros((0,))),
    (lambda m, x: m.unique(x, True, True, True, axis=0), np.asarray([nan, 1.0, nan])),
    (lambda m, x: m.unique(x, True, True, True, axis=0), ROWS),
    (lambda m, x: m.unique(x, True, True, True, axis=1), ROWS.T),
    (lambda m, x: m.unique(x, axis=0), np.concatenate([F32, F32])),
    (lambda m, x, y: m.intersect1d(x, y), INT, KEYS),
    (lambda m, x, y: m.intersect1d(x, y, return_indices=True), INT.ravel(), KEYS),
    (lambda m, x, y: m.intersect1d(x, y), INT, np.arange(3.0)),
    (lambda m, x, y: m.setdiff1d(x, y), INT, KEYS),
    (lambda m, x, y: m.setdiff1d(x, y, assume_unique=True), np.arange(9)[::-1], KEYS),
    (lambda m, x, y: m.setxor1d(x, y), INT, KEYS),
    (lambda m, x, y: m.union1d(x, y), INT, KEYS / 2),
]

LINEAR_ALGEBRA = [
    (lambda m, x, y: m.cross(x, y), F64[:, :3], OTHER[:, :3]),
    (lambda m, x, y: m.cross(x, y, axis=0), F32, F32[:, ::-1]),
    (lambda m, x, y: m.cross(x, y), INT[:, :3], INT[0, 2:]),
    *[(lambda m, x, k=k: m.diag(x, k), INT) for k in (-2, 0, 1)],
    *[(lambda m, x, k=k: m.diag(x, k), VECTOR) for k in (-2, 0, 1)],
    (lambda m, x: m.diagonal(x), INT3),
    (lambda m, x: m.diagonal(x, 1, 2, 0), INT3),
    (lambda m, x: m.trace(x), F32),
    (lambda m, x: m.trace(x), BOOL),
    (lambda m, x: m.trace(x, 1, 1, 2), INT3),
    (lambda m, x: m.trace(x, dtype=m.float32), INT),
    (lambda m, x, y: m.dot(x, y), F64, OTHER.T),
    (lambda m, x, y: m.dot(x, y), F32.astype(float), OTHER.T),
    (lambda m, x, y: m.dot(x, y), F32.astype(float), F32.astype(float).swapaxes(1, 2)),
    (lambda m, x: m.dot(x, 3), INT),
    (lambda m, x, y: m.dot(x, y), VECTOR, KEYS),
    (lambda m, x, y: m.inner(x, y), F64, OTHER),
    (lambda m, x, y: m.inner(x, y), F32, F32[0]),
    (lambda m, x: m.inner(x, 2.0), INT),
    (lambda m, x, y: m.outer(x, y), VECTOR, KEYS),
    (lambda m, x, y: m.outer(x, y), INT, SMALL.astype(int)),
    (lambda m, x, y: m.vdot(x, y), C128, C128[::-1]),
    (lambda m, x, y: m.vdot(x, y), INT, INT.T.copy().reshape(4, 5)),
    (lambda m, x, y: m.kron(x, y), INT, SMALL.astype(int)),
    (lambda m, x, y: m.kron(x, y), VECTOR, F64),
    (lambda m, x, y: m.kron(x, y), F32.astype(float), F64),
    *[
        (lambda m, x, y, mode=mode, name=name: getattr(m, name)(x, y, mode), a, b)
        for name in ("convolve", "correlate")
        for mode in ("full", "same", "valid")
        for a, b in (
            (VECTOR, WEIGHTS[:4]),
            (VECTOR, WEIGHTS[:5]),
            (WEIGHTS[:4], VECTOR),
            (WEIGHTS[:3], VECTOR[:8]),
            (KEYS, KEYS[:3] - 2),
            (C128[0], C128[1, :2] + 1),
            (C128[0, :2], C128[1]),
            (VECTOR, VECTOR),
            (VECTOR[:1], VECTOR[:1]),
            (BOOL[0], BOOL[1, :2]),
            (VECTOR, SPECIAL[3:8]),
            (SPECIAL, VECTOR[:4]),
        )
    ],
]

SQUARE = F64[:, :4]
EINSUM = [
    ("ij,jk->ik", F64, F64.T),
    ("ij,jk", F64, F64.T),
    ("ji,jk->ki", F64, OTHER),
    ("ii", SQUARE),
    ("ii->i", SQUARE),
    ("ij->ji", F64),
    ("ba", F64),
    ("ij->", INT),
    ("ij->j", F32[0]),
    ("i,i", VECTOR, WEIGHTS),
    ("i,j->ij", VECTOR, KEYS),
    ("i,j->j", VECTOR, KEYS),
    ("ij,ij->i", F64, OTHER),
    ("ij,ij->ij", F64, OTHER),
    ("bij,bjk->bik", F32, F32.swapaxes(1, 2)),
    ("bij,bkj->bk", F32, F32[:, :2]),
    ("...ij,...jk->...ik", F32, F32[0].T),
    ("...ij->...", F32),
    ("...,...", F32, F32[0]),
    ("i...,i...->...", F64, OTHER),
    ("ij,jk,kl->il", F64, F64.T, OTHER),
    ("i,ij,j", F64[:, 0], F64, OTHER[0]),
    ("iij,j->i", F32[:, :3], F32[0, 0]),
    ("ij,jk->ik", BOOL, BOOL.T),
    ("ij,jk->ik", C128, C128.T),
    ("ij,jk->ik", INT3[0], INT3[1].T),
    ("ij,kj->ik", F64[:, :1], OTHER),
    ("ij, ij -> j", F64[:1], OTHER),
    ("abc,abd,bc->acd", F32, F32, F32[0]),
    ("ij,jk->ik", np.zeros((2, 0)), np.zeros((0, 3))),
]

TABLES = {
    "statistics": STATISTICS,
    "calculus": CALCULUS,
    "creation": CREATION,
    "elementwise": ELEMENTWISE,
    "manipulation": MANIPULATION,
    "indexing": INDEXING,
    "linear algebra": LINEAR_ALGEBRA,
}


@pytest.mark.parametrize(
    ("table", "row"), [(name, i) for name, table in TABLES.items() for i in range(len(table))]
)
def test_calls(table, row):
    check(*TABLES[table][row])


@pytest.mark.parametrize("case", EINSUM, ids=lambda case: case[0])
def test_einsum(case):
    subscripts, *arrays = case
    check(lambda m, *operands: m.einsum(subscripts, *operands), *arrays, rtol=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_einsum_of_random_subscripts(seed):
    random = np.random.default_rng(seed)
    letters = "abcde"
    sizes = dict(zip(letters, random.integers(1, 5, 5), strict=True))
    terms = ["".join(random.choice(list(letters), random.integers(0, 4))) for _ in range(3)]
    seen = sorted(set("".join(terms)))
    output = "".join(random.permutation(seen)[: random.integers(0, len(seen) + 1)])
    arrays = [random.integers(-3, 4, [sizes[label] for label in term]) for term in terms]
    check(lambda m, *x: m.einsum(",".join(terms) + "->" + output, *x), *arrays)


def test_einsum_errors():
    fails(lambda m, x: m.einsum("ij,jk", x), F64)
    fails(lambda m, x: m.einsum("ijk", x), F64)
    fails(lambda m, x: m.einsum("ij->k", x), F64)
    fails(lambda m, x: m.einsum("ij->ii", x), F64)
    fails(lambda m, x: m.einsum("ii", x), F64)
    fails(lambda m, x: m.einsum("i1", x), F64)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["int64", "float32", "nans"])
def test_partitions(name, axis):
    a = ARRAYS[name]
    x = xp.asarray(a)
    for kth in (0, 2, -1, (1, 2)):
        expected = np.take(np.sort(a, axis=axis), kth, axis=axis or 0)
        part = np.asarray(xp.partition(x, kth, axis=axis))
        np.testing.assert_array_equal(np.take(part, kth, axis=axis or 0), expected)
        order = np.asarray(xp.argpartition(x, kth, axis=axis))
        flat = a.ravel() if axis is None else a
        taken = np.take_along_axis(flat, order, axis=axis or 0)
        np.testing.assert_array_equal(np.take(taken, kth, axis=axis or 0), expected)
    with pytest.raises(ValueError, match="kth"):
        xp.partition(x, 99)


def test_writing_in_place():
    for shape in [(3, 3), (2, 5), (5, 2), (3, 3, 3)]:
        expected, x = np.zeros(shape), xp.zeros(shape)
        np.fill_diagonal(expected, 7)
        xp.fill_diagonal(x, 7)
        compare(x, expected)
    for axis in (0, 1):
        expected, x = INT.copy(), xp.asarray(INT, copy=True)
        where = np.argmax(INT, axis=axis, keepdims=True)
        np.put_along_axis(expected, where, 99, axis=axis)
        xp.put_along_axis(x, xp.asarray(where), 99, axis=axis)
        compare(x, expected)
    expected, x = INT.copy(), xp.asarray(INT, copy=True)
    np.put_along_axis(expected, np.asarray([3, 7]), np.asarray([50, 60]), axis=None)
    xp.put_along_axis(x, xp.asarray([3, 7]), xp.asarray([50, 60]), axis=None)
    compare(x, expected)
    x = xp.asarray([1.0, nan])
    assert xp.nan_to_num(x, copy=False) is x
    assert x.tolist() == [1.0, 0.0]


def test_what_is_exact_or_nearly():
    a = rng.random(10_000) * 10.0 ** rng.integers(-300, 300, 10_000)
    for value, root in zip(a[:1000].tolist(), xp.cbrt(xp.asarray(a)).tolist(), strict=False):
        with mpmath.workprec(100):
            assert abs(mpmath.cbrt(value) - root) <= math.ulp(root), value
    for stop in (3.0, 7.0, 1e5 / 3):
        points = xp.geomspace(0.1, stop, 7)
        assert (float(points[0]), float(points[-1])) == (0.1, stop)


def test_copies_are_copies():
    x = xp.zeros((2, 2))
    for copied in (
        xp.copy(x),
        xp.array(x),
        xp.nan_to_num(xp.zeros((2,), dtype=xp.int64)),
        xp.pad(x, 0, mode="edge"),
        xp.einsum("ij->ij", x),
        xp.diag(x),
    ):
        copied[...] = 5
    assert not xp.any(x)
    assert xp.ascontiguousarray(x) is x


@pytest.mark.parametrize("seed", range(10))
def test_weighted_bincount_of_many(seed):
    random = np.random.default_rng(seed)
    keys = np.minimum(random.geometric(random.choice([0.5, 0.01]), 20_000), 900)
    check(lambda m, x, w: m.bincount(x, w), keys, random.standard_normal(keys.size), rtol=1e-11)
    check(lambda m, x: m.bincount(x), keys)


def test_long_convolutions_go_in_blocks():
    random = np.random.default_rng(0)
    a, v = random.integers(-9, 9, 5000), random.integers(-9, 9, 700)
    for mode in ("full", "same", "valid"):
        check(lambda m, x, y: m.convolve(x, y, mode), a, v)
        check(lambda m, x, y: m.correlate(x, y, mode), a, v)


@pytest.mark.parametrize(
    ("call", "arrays"),
    [
        (lambda m, x: m.bincount(x), (INT,)),
        (lambda m, x: m.bincount(x), (KEYS - 3,)),
        (lambda m, x: m.bincount(x), (VECTOR,)),
        (lambda m, x, w: m.bincount(x, w), (KEYS, WEIGHTS[1:])),
        (lambda m, x: m.histogram(x), (NANS,)),
        (lambda m, x: m.histogram(x, 0), (F64,)),
        (lambda m, x: m.histogram(x, [1, 0]), (F64,)),
        (lambda m, x: m.digitize(x, [1, 0, 2]), (F64,)),
        (lambda m, x: m.geomspace(0, 1), (F64,)),
        (lambda m, x: m.average(x, weights=m.zeros(13)), (VECTOR,)),
        (lambda m, x: m.cov(x), (F32,)),
        (lambda m, x: m.gradient(x[:1]), (VECTOR,)),
        (lambda m, x: m.gradient(x, 1, 2, 3), (F64,)),
        (lambda m, x: m.interp(x, m.zeros(3), m.zeros(2)), (F64,)),
        (lambda m, x: m.split(x, 2), (KEYS,)),
        (lambda m, x: m.vsplit(x, 1), (KEYS,)),
        (lambda m, x: m.pad(x, -1), (F64,)),
        (lambda m, x: m.pad(x, 1, mode="edge"), (np.zeros((0,)),)),
        (lambda m, x: m.pad(x, ((1, 1), (1, 1), (1, 1))), (F64,)),
        (lambda m, x: m.unravel_index(x, (2, 2)), (np.asarray([4]),)),
        (lambda m, x: m.ravel_multi_index((x, x), (2, 2)), (np.asarray([2]),)),
        (lambda m, x: m.swapaxes(x, 0, 2), (F64,)),
        (lambda m, x: m.rollaxis(x, 0, 4), (F64,)),
        (lambda m, x: m.insert(x, 99, 1), (KEYS,)),
        (lambda m, x: m.delete(x, 99), (KEYS,)),
        (lambda m, x: m.convolve(x, m.zeros(0)), (VECTOR,)),
        (lambda m, x: m.nansum(x, axis=2), (F64,)),
        (lambda m, x: m.median(x, axis=(0, 0)), (F64,)),
        (lambda m, x: m.cross(x, x), (F64,)),
        (lambda m, x: m.diag(x), (F32,)),
    ],
)
def test_errors(call, arrays):
    fails(call, *arrays)


def test_where_numpy_is_not_followed():
    """NumPy counts nothing in int64 whatever the weights, and adds booleans by "or"."""
    nothing = xp.bincount(xp.zeros((0,), dtype=xp.int64), xp.zeros((0,)), minlength=2)
    compare(nothing, np.zeros(2))
    compare(xp.trapezoid(xp.asarray([True, True])), np.float64(1.0))


def test_every_name_is_offered():
    assert set(chapter.__all__) <= set(xp.__all__)
    assert len(set(xp.__all__)) == len(xp.__all__)
    assert {name for name in chapter.__all__ if not hasattr(np, name)} == set()
