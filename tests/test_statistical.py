"""The statistical and utility chapters: reductions, running sums and products, all, any and diff,
compared with NumPy (in a wider dtype where results are rounded) over any axes and layout, from no
element to millions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strided import DTYPES, INTEGERS, REAL, Draw, alike, near, ours, same

import arrayx as xp

seeds = st.integers(0, 2**32 - 1)
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMERIC = [*REAL, *COMPLEX]
WIDER = {
    "float16": "float32",
    "float32": "float64",
    "float64": "longdouble",
    "complex64": "complex128",
    "complex128": "clongdouble",
}
# Beyond chunks, blocks, and the half million from which threads are used; with tails.
LARGE_SHAPES = [
    ((1_300_021,), 0),
    ((600_011, 1), 0),
    ((2, 600_011), 1),
    ((400_009, 3), 0),
    ((400_009, 3), 1),
    ((1_237, 911), 0),
    ((1_237, 911), 1),
    ((1_237, 911), None),
    ((97, 101, 103), (0, 2)),
    ((97, 101, 103), (1,)),
    ((7, 40_009, 5), (0, 1)),
    ((7, 40_009, 5), (1, 2)),
]


def kind(dtype):
    return np.dtype(dtype).kind


def some_axes(draw, ndim):
    """None, an axis, or a tuple of axes, from the front or from the back."""
    form = draw.choice(["none", "one", "tuple"])
    if form == "none" or (ndim == 0 and form == "one"):
        return None
    sign = [draw.choice([0, ndim]) for _ in range(ndim)]
    axes = tuple(a - s for a, s in zip(range(ndim), sign, strict=True))
    if form == "one":
        return draw.choice(axes)
    return tuple(draw.sample(axes, draw.randint(0, ndim)))


def wide_dtype(dtype):
    return {"i": "int64", "u": "uint64"}.get(kind(dtype), dtype)


def eps(dtype):
    return float(np.finfo(dtype).eps)


def numpys(function, *args, **keywords):
    with np.errstate(all="ignore"):
        return np.asarray(function(*args, **keywords))


def count(shape, axis):
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[a] for a in axes)


# ---- sum and prod -----------------------------------------------------------------------------------


def sum_slack(a, axis, keepdims, dtype):
    """The error of a pairwise sum: runs of 16 additions in some lanes, then a tree."""
    n = max(count(a.shape, axis), 1)
    size = numpys(np.sum, np.abs(a).astype("float64"), axis=axis, keepdims=keepdims)
    return (16 + math.log2(n)) * eps(dtype) / 2 * size


def check_sum(x, a, axis=None, dtype=None, keepdims=False):
    result = np.dtype(dtype or wide_dtype(a.dtype))
    if result.kind not in "fc":
        with np.errstate(all="ignore"):
            same(x, numpys(np.sum, a.astype(result), axis=axis, keepdims=keepdims, dtype=result))
        return
    with np.errstate(all="ignore"):
        cast = a.astype(result)
    exact = numpys(np.sum, cast.astype(WIDER[result.name]), axis=axis, keepdims=keepdims)
    near(x, exact, result, 1, sum_slack(cast, axis, keepdims, result))


@given(seeds)
def test_sums_of_any_array(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(max_dims=6, max_side=4), draw.choice(NUMERIC))
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    check_sum(xp.sum(ours(a), axis=axis, keepdims=keepdims), a, axis, None, keepdims)


@given(seeds)
def test_sums_in_another_dtype(seed):
    draw = Draw(seed)
    dtype, result = draw.choice(NUMERIC), draw.choice(NUMERIC)
    a = draw.array(draw.shape(max_dims=4), dtype)
    if kind(dtype) in "fc" and kind(result) in "iu":  # casts of what does not fit are undefined
        a = np.where(np.isfinite(a) & (a.real >= 0) & (a.real < 100), a.real, 1).astype(dtype)
    axis = some_axes(draw, a.ndim)
    call = lambda: xp.sum(ours(a), axis=axis, dtype=getattr(xp, result))  # noqa: E731
    if kind(dtype) == "c" and kind(result) != "c":
        with pytest.raises(TypeError, match=r"sum: dtype .* must be complex"):
            call()
        return
    check_sum(call(), a, axis, result)


@given(seeds)
def test_sums_and_products_of_truth_are_those_of_ones_and_zeros(seed):
    draw = Draw(seed)
    name = draw.choice(["sum", "prod"])
    ours_of = getattr(xp, name)
    a = draw.array(draw.shape(max_dims=5, max_side=4), "bool")
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    expected = getattr(np, name)(a, axis=axis, keepdims=keepdims, dtype=np.int64)
    same(ours_of(ours(a), axis=axis, keepdims=keepdims), expected)
    for dtype in ("uint8", "float32", "complex128"):
        with np.errstate(all="ignore"):
            cast = np.asarray(expected).astype(dtype)
        x = ours_of(ours(a), axis=axis, keepdims=keepdims, dtype=getattr(xp, dtype))
        same(x, cast)


@pytest.mark.parametrize("name", ["mean", "var", "std", "cumulative_sum", "cumulative_prod"])
def test_other_statistics_of_truth_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: x has dtype bool"):
        getattr(xp, name)(xp.asarray([True, False]))


@given(seeds)
def test_integer_products_of_any_array(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(max_dims=6, max_side=4), draw.choice(INTEGERS))
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    result = draw.choice([None, *INTEGERS])
    dtype = result or wide_dtype(a.dtype)
    with np.errstate(all="ignore"):
        expected = numpys(np.prod, a.astype(dtype), axis=axis, keepdims=keepdims, dtype=dtype)
    dtype = getattr(xp, result) if result else None
    same(xp.prod(ours(a), axis=axis, keepdims=keepdims, dtype=dtype), expected)


@given(seeds)
def test_floating_products_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice([*FLOATS, *COMPLEX])
    shape = draw.shape(max_dims=6, max_side=4)
    # Near one, so that no order of multiplications overflows.
    a = 1 + 1e-3 * draw.numpy.standard_normal(shape)
    if kind(dtype) == "c":
        a = a + 1e-3j * draw.numpy.standard_normal(shape)
    a = draw.layout(a.astype(dtype))
    axis = some_axes(draw, a.ndim)
    exact = numpys(np.prod, a.astype(WIDER[dtype]), axis=axis)
    n = count(a.shape, axis)
    near(xp.prod(ours(a), axis=axis), exact, np.dtype(dtype), 1, n * 4 * eps(dtype) * np.abs(exact))
    for special in (0.0, math.inf, math.nan):
        if a.size:
            a[(0,) * a.ndim] = special
            expected = numpys(np.prod, a.astype(WIDER[dtype]), axis=axis)
            x = np.asarray(xp.prod(ours(a), axis=axis))
            if kind(dtype) == "f":
                assert (np.isnan(x) == np.isnan(expected)).all()
                assert (np.isinf(x) == np.isinf(expected)).all()
                assert ((x == 0) == (expected == 0)).all()


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "shape", [(900, 3, 3, 3), (300, 3, 10, 3), (6, 120, 40), (3, 2, 5, 4, 7, 6), (50, 7, 64, 2)]
)
def test_sums_of_permuted_arrays_keep_their_bits(dtype, shape):
    """Blocks of a group are packed by boxes, which begin and end anywhere."""
    draw = Draw(len(shape))
    a = (draw.numpy.standard_normal(shape) * 9).astype(dtype)
    x = xp.asarray(a)
    for _ in range(12):
        order = draw.numpy.permutation(a.ndim).tolist()
        view = xp.permute_dims(x, order)[..., :: draw.choice([1, -1])]
        copy = xp.asarray(view, copy=True)
        for axes in [None, *itertools.combinations(range(a.ndim), draw.randint(1, a.ndim))][:6]:
            for reduce in (xp.sum, xp.max, xp.std, xp.prod):
                if reduce in (xp.max, xp.std) and not xp.isdtype(x.dtype, "real floating"):
                    continue
                np.testing.assert_array_equal(
                    np.asarray(reduce(view, axis=axes)), np.asarray(reduce(copy, axis=axes))
                )


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 17, 35, 67])
def test_complex_products_of_columns_are_those_of_rows(dtype, columns):
    draw = Draw(columns)
    for rows in (1, 2, 5, 64, 1000):
        parts = draw.numpy.standard_normal((2, rows, columns)) * 2
        a = (parts[0] + 1j * parts[1]).astype(dtype)
        a[draw.numpy.integers(rows), :: max(1, columns // 3)] = 0
        a[-1, columns // 2] = complex(-0.0, math.inf)
        across = xp.prod(ours(a), axis=0)
        along = xp.prod(ours(np.ascontiguousarray(a.T)), axis=1)
        parts_of = [np.asarray(f(x)) for x in (across, along) for f in (xp.real, xp.imag)]
        for x, y in zip(parts_of[:2], parts_of[2:], strict=True):
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(np.signbit(x)[x == x], np.signbit(y)[y == y])
        if rows == 2:
            with np.errstate(all="ignore"):
                re = a[0].real * a[1].real - a[0].imag * a[1].imag
                im = a[0].real * a[1].imag + a[0].imag * a[1].real
            np.testing.assert_array_equal(parts_of[0], re)
            np.testing.assert_array_equal(parts_of[1], im)


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize(("shape", "axis"), LARGE_SHAPES)
def test_large_sums(shape, axis, dtype):
    draw = Draw(1)
    if kind(dtype) in "iu":
        info = np.iinfo(dtype)
        a = draw.numpy.integers(info.min, info.max, shape, dtype, endpoint=True)
    else:
        # All positive: additions one after the other would lose a digit for each power of ten.
        a = draw.numpy.random(shape).astype(dtype) + np.asarray(0.1, dtype)
    check_sum(xp.sum(ours(a), axis=axis), a, axis)
    strided = np.asfortranarray(a)
    check_sum(xp.sum(ours(strided), axis=axis), a, axis)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_constant_sums_exactly_enough_along_every_axis(dtype):
    """Naive sums of 0.1 in float32 are off by percents; NumPy's are along all axes but the last."""
    value = np.asarray(0.1, dtype)
    n = 3_000_000
    for shape, axis in [((n,), 0), ((n, 1), 0), ((n // 3, 3), 0), ((2, n // 2), 1)]:
        x = xp.sum(ours(np.full(shape, value)), axis=axis)
        expected = float(value) * count(shape, axis)
        np.testing.assert_allclose(np.asarray(x), expected, rtol=4 * eps(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_sums_and_products_wrap_at_64_bits(dtype):
    info = np.iinfo(dtype)
    wide = np.iinfo(wide_dtype(dtype))
    a = np.full(1000, info.max, dtype)
    modulus = 2**64
    for n in (1, 9, 1000):
        total, product = info.max * n, pow(info.max, n, modulus)
        wrapped = [v % modulus - (modulus if wide.min < 0 and v % modulus > wide.max else 0)
                   for v in (total, product)]  # fmt: skip
        assert [int(xp.sum(ours(a[:n]))), int(xp.prod(ours(a[:n])))] == wrapped
    x = xp.sum(ours(a), dtype=getattr(xp, dtype))
    assert x.dtype == np.dtype(dtype) and int(x) == int(np.sum(a, dtype=dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_and_nan_in_sums(dtype):
    for n in (2, 100, 100_000):
        for places, expected in [
            ({0: math.inf}, math.inf),
            ({n - 1: -math.inf}, -math.inf),
            ({0: math.inf, n // 2: -math.inf}, math.nan),
            ({n // 2: math.nan}, math.nan),
            ({0: math.inf, n - 1: math.inf}, math.inf),
        ]:
            a = np.ones(n, dtype)
            for place, value in places.items():
                a[place] = value
            expected_array = np.asarray(expected, dtype)
            alike(xp.sum(ours(a)), expected_array)
            alike(xp.mean(ours(a)), expected_array)
            alike(xp.sum(ours(np.stack([a, a], axis=1)), axis=0), np.asarray([expected] * 2, dtype))


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("shape", [(1,), (7,), (1000,), (3, 1), (1, 5), (40, 30), (2, 600, 3)])
def test_the_sum_of_zeros_is_a_positive_zero(shape, dtype):
    a = np.zeros(shape, dtype)
    np.negative(a, out=a)
    for axis in (None, *range(len(shape))):
        x = np.asarray(xp.sum(ours(a), axis=axis))
        assert not np.signbit(x.real).any() and not np.signbit(x.imag).any()
    same(xp.sum(xp.zeros(0)), np.asarray(0.0))
    assert math.copysign(1, float(xp.sum(xp.asarray([0.0, -0.0])))) == 1


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", FLOATS)
def test_running_sums_of_short_lines_are_those_of_a_loop(dtype):
    for n in (1, 2, 7, 31, 32):
        a = Draw(n).values((5, n, 6), dtype)
        a[~np.isfinite(a)] = 1
        with np.errstate(all="ignore"):
            for axis in range(3):
                same(xp.cumulative_sum(ours(a), axis=axis), np.cumsum(a, axis=axis))
            same(
                xp.cumulative_sum(ours(a[::-1, :, ::2]), axis=1), np.cumsum(a[::-1, :, ::2], axis=1)
            )


# ---- mean, var, std -----------------------------------------------------------------------------------


@given(seeds)
def test_means_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice([*FLOATS, *COMPLEX])
    a = draw.array(draw.shape(max_dims=6, max_side=4), dtype)
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    n = count(a.shape, axis)
    total = numpys(np.sum, a.astype(WIDER[dtype]), axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
        exact = np.empty_like(total)  # part by part, so that infinities stay
        if kind(dtype) == "c":
            exact.real, exact.imag = total.real / n, total.imag / n
        else:
            exact = np.asarray(total / np.asarray(n, total.dtype))
    slack = sum_slack(a, axis, keepdims, dtype) / max(n, 1)
    near(xp.mean(ours(a), axis=axis, keepdims=keepdims), exact, np.dtype(dtype), 1, slack)


def exact_variance(a, axis, correction, keepdims):
    wide = a.astype(WIDER[a.dtype.name])
    n = count(a.shape, axis)
    with np.errstate(all="ignore"):
        center = np.sum(wide, axis=axis, keepdims=True) / n
        squares = np.sum((wide - center) ** 2, axis=axis, keepdims=keepdims)
        divisor = n - correction
        return np.asarray(squares / divisor if divisor > 0 else squares * math.nan)


@given(seeds)
def test_variances_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(FLOATS)
    a = draw.array(draw.shape(max_dims=6, max_side=4), dtype)
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    n = count(a.shape, axis)
    correction = draw.choice([0, 1, 0.5, -1, -0.25, n - 1, n - 0.5, n, n + 1])
    exact = exact_variance(a, axis, correction, keepdims)
    keywords = {"axis": axis, "correction": correction, "keepdims": keepdims}
    with np.errstate(all="ignore"):
        error = 32 * eps("float64") * np.abs(exact) + 1e-300
        near(xp.var(ours(a), **keywords), exact, np.dtype(dtype), 1, error)
        root = np.sqrt(exact)
        near(xp.std(ours(a), **keywords), root, np.dtype(dtype), 1, 32 * eps("float64") * root)


@pytest.mark.parametrize("function", [xp.var, xp.std])
@pytest.mark.parametrize("dtype", FLOATS)
def test_variances_without_degrees_of_freedom_are_nan(function, dtype):
    for shape, axis, n in [((3, 4), None, 12), ((3, 4), 0, 3), ((3, 4), (), 1), ((0, 4), 0, 0)]:
        x = xp.ones(shape, dtype=getattr(xp, dtype))
        for correction in (n, n + 0.5, n + 100, math.inf):
            result = function(x, axis=axis, correction=correction)
            assert result.shape == np.ones(shape).sum(axis=axis).shape and result.dtype == x.dtype
            assert bool(xp.all(xp.isnan(result)))
        if n > 0:
            assert not bool(xp.any(xp.isnan(function(x, axis=axis, correction=n - 0.5))))


@pytest.mark.parametrize(("shape", "axis"), LARGE_SHAPES)
def test_variances_keep_their_digits_where_the_mean_is_large(shape, axis):
    draw = Draw(2)
    for dtype, mean, tolerance in (("float32", 1e4, 1), ("float64", 1e9, 100)):
        a = (mean + draw.numpy.standard_normal(shape)).astype(dtype)
        exact = exact_variance(a, axis, 1, False)
        # The mean itself is rounded, and so are the deviations from it.
        slack = 1e3 * eps("float64") * exact + 4 * (eps("float64") * mean) ** 2
        near(xp.var(ours(a), axis=axis, correction=1), exact, np.dtype(dtype), tolerance, slack)
        root = np.sqrt(exact)
        x = xp.std(ours(a), axis=axis, correction=1)
        near(x, root, np.dtype(dtype), tolerance, slack / np.maximum(root, 1e-9))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [*LARGE_SHAPES, ((17, 3), 0), ((9, 8, 7, 6, 5), (0, 2, 4)), ((9, 8, 7), None)],
)
def test_variances_where_the_first_element_lies_far_off(shape, axis):
    draw = Draw(3)
    for dtype, tolerance in (("float32", 1), ("float64", 100)):
        a = draw.numpy.standard_normal(shape).astype(dtype)
        a.flat[0] = 1e4
        exact = exact_variance(a, axis, 0, False)
        near(xp.var(ours(a), axis=axis), exact, np.dtype(dtype), tolerance, 0)


@pytest.mark.parametrize("n", [192, 193, 700, 4095, 4096, 50_001])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variances_where_what_they_are_summed_about_lies_far_off(n, dtype):
    """Deviations are taken from the mean of a few elements, and once more where that is far off."""
    draw = Draw(n)
    few, steps = np.s_[:16], np.s_[:: max(n // 16, 1)]
    for where in (few, steps, np.s_[:1]):
        a = draw.numpy.standard_normal((n, 5))
        a[where, 1:4] += [1e3, 1e6, np.inf]
        a[where, 4] *= 1e200
        with np.errstate(over="ignore"):  # 1e200 is infinite in float32
            a = (np.sort(a, axis=0) if where == few else a).astype(dtype)
        x = ours(a)
        result = np.asarray(xp.var(x, axis=0))
        exact = exact_variance(a[:, :3], 0, 0, False)
        near(xp.asarray(result[:3]), exact, np.dtype(dtype), 2, 40 * eps("float64") * exact)
        assert np.isnan(result[3])
        assert np.isinf(result[4]) if dtype == "float64" else np.isnan(result[4])
        for y in (ours(np.ascontiguousarray(a.T)).T, ours(np.repeat(a, 2, axis=1))[:, ::2]):
            assert np.asarray(xp.var(y, axis=0)).tobytes() == result.tobytes()
        for column in range(3):
            assert np.asarray(xp.var(x[:, column])).tobytes() == result[column].tobytes()
            assert np.asarray(xp.var(ours(a[:, column]))).tobytes() == result[column].tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_constant_has_no_variance(dtype):
    for shape, axis in [((100_001,), None), ((1001, 77), 0), ((1001, 77), 1), ((1, 1), None)]:
        x = xp.full(shape, 0.1, dtype=getattr(xp, dtype))
        assert np.max(np.asarray(xp.var(x, axis=axis))) <= (0.1 * eps("float64")) ** 2 * 4


def test_special_values_in_variances():
    for value in (math.inf, -math.inf, math.nan):
        x = xp.asarray([[1.0, value], [2.0, 3.0]])
        assert np.isnan(np.asarray(xp.var(x, axis=0))).tolist() == [False, True]
        assert np.isnan(np.asarray(xp.std(x)))


# ---- max and min ----------------------------------------------------------------------------------------


@given(seeds)
def test_extremes_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(REAL)
    a = draw.array(draw.shape(max_dims=6, max_side=4), dtype)
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    for f, theirs in ((xp.max, np.max), (xp.min, np.min)):
        nothing = a.size == 0 and numpys(np.sum, a, axis=axis).size > 0
        if nothing:
            with pytest.raises(ValueError, match="no element to choose from"):
                f(ours(a), axis=axis, keepdims=keepdims)
            continue
        if a.size == 0:
            expected = np.sum(a, axis=axis, keepdims=keepdims).astype(dtype)
        else:
            expected = numpys(theirs, a, axis=axis, keepdims=keepdims)
        x = f(ours(a), axis=axis, keepdims=keepdims)
        if kind(dtype) == "f":  # of equal zeros either may be taken
            x, expected = x + 0.0, expected + np.zeros((), dtype)
        alike(x, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32"])
@pytest.mark.parametrize(("shape", "axis"), LARGE_SHAPES[1::2])
def test_large_extremes(shape, axis, dtype):
    a = Draw(3).values(shape, dtype)
    for f, theirs in ((xp.max, np.max), (xp.min, np.min)):
        for operand in (a, a[::-1]):
            expected = numpys(theirs, operand, axis=axis)
            x = f(ours(operand), axis=axis)
            if kind(dtype) == "f":
                x, expected = x + 0.0, expected + np.zeros((), dtype)
            alike(x, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_nan_is_found_wherever_it_is(dtype):
    for n in (1, 7, 64, 1000, 70_001):
        for place in {0, n // 3, n // 2, n - 1}:
            a = np.linspace(-1, 1, n, dtype=dtype)
            a[place] = math.nan
            for f in (xp.max, xp.min, xp.sum, xp.mean, xp.prod):
                assert math.isnan(f(ours(a)))
                columns = np.asarray(f(ours(np.stack([a, np.ones_like(a)], axis=1)), axis=0))
                assert np.isnan(columns).tolist() == [True, False]


# ---- running sums and products ----------------------------------------------------------------------------


@given(seeds)
def test_running_sums_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(NUMERIC)
    a = draw.array(draw.shape(min_dims=1, max_dims=5, max_side=4), dtype)
    axis = draw.randrange(-a.ndim, a.ndim)
    keywords = {"axis": axis, "include_initial": draw.random() < 0.5}
    result = draw.choice([None, *(d for d in NUMERIC if kind(d) == kind(dtype))])
    out = np.dtype(result or wide_dtype(dtype))
    x = xp.cumulative_sum(ours(a), dtype=result and getattr(xp, result), **keywords)
    with np.errstate(all="ignore"):
        cast = a.astype(out)
    if out.kind in "iu":
        same(x, numpys(np.cumulative_sum, cast, dtype=out, **keywords))
        return
    exact = numpys(np.cumulative_sum, cast.astype(WIDER[out.name]), **keywords)
    size = numpys(np.cumulative_sum, np.abs(cast).astype("float64"), **keywords)
    near(x, exact, out, 1, a.shape[axis] * eps(out) * size)


@given(seeds)
def test_running_products_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(NUMERIC)
    a = draw.array(draw.shape(min_dims=1, max_dims=5, max_side=4), dtype)
    if kind(dtype) in "fc":  # at most five factors that neither overflow nor make NaN of infinities
        a = draw.layout(np.where(np.isfinite(a), a, 2).astype(dtype))
    axis = draw.randrange(-a.ndim, a.ndim)
    keywords = {"axis": axis, "include_initial": draw.random() < 0.5}
    x = xp.cumulative_prod(ours(a), **keywords)
    out = np.dtype(wide_dtype(dtype))
    if out.kind in "iu":
        same(x, numpys(np.cumulative_prod, a, dtype=out, **keywords))
        return
    exact = numpys(np.cumulative_prod, a.astype(WIDER[dtype]), **keywords)
    near(x, exact, out, 1, 5 * 4 * eps(out) * np.abs(exact))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
@pytest.mark.parametrize("lines", [2, 3, 4, 8, 12, 16, 20, 24, 31, 32, 64, 100])
def test_running_sums_of_a_few_lines_side_by_side(lines, dtype):
    """Zeros too: tiles on a GPU tell each other their totals in words that begin as zeros."""
    for n in (100, 129, 200, 256, 300, 500, 513, 2000):
        for fill in (0, 1):
            a = np.full((n, lines), fill, dtype)
            x = xp.cumulative_sum(ours(a), axis=0, dtype=getattr(xp, dtype))
            same(x, np.cumsum(a, axis=0, dtype=dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
def test_running_sums_of_a_few_long_lines_side_by_side(dtype):
    rng = np.random.default_rng(3)
    for lines in (4, 5, 6, 16, 36):
        a = rng.integers(0, 100, (70_001, lines), dtype)
        for layout in (a, a[::-1], a[3:], np.ascontiguousarray(a.T).T):
            expected = np.cumsum(layout, axis=0, dtype=wide_dtype(dtype))
            x = ours(layout)
            same(xp.cumulative_sum(x, axis=0), expected)
            same(xp.cumulative_sum(x, axis=0, include_initial=True)[1:, ...], expected)
        both = np.stack([a, a[::-1]])
        same(
            xp.cumulative_sum(ours(both), axis=1), np.cumsum(both, axis=1, dtype=wide_dtype(dtype))
        )


@pytest.mark.parametrize("function", [xp.cumulative_sum, xp.cumulative_prod])
@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
def test_scans_have_the_bits_of_rows(columns, dtype, function):
    """Whatever lies beside each other."""
    rng = np.random.default_rng(columns)
    for shape in ((1500, columns), (7, 130, columns), (7, columns, 130)):
        a = rng.uniform(-1.2, 1.2, shape).astype(dtype)
        for layout in (a, a.T, a[::-1], a[..., ::-1].T, a[1::2]):
            x = ours(layout)
            for axis in range(a.ndim):
                rows = xp.asarray(np.ascontiguousarray(np.moveaxis(layout, axis, -1)))
                expected = np.moveaxis(np.asarray(function(rows, axis=-1)), -1, axis)
                same(function(x, axis=axis), expected)
                some = tuple(slice(i == axis, None) for i in range(a.ndim))
                same(function(x, axis=axis, include_initial=True)[some], expected)


@pytest.mark.parametrize("function", [xp.cumulative_sum, xp.cumulative_prod])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 16, 31])
def test_scans_of_many_short_lines_beside_each_other(n, dtype, function):
    rng = np.random.default_rng(n)
    for lines in (150_000, 150_003, 163_840):
        if kind(dtype) in "iu":
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            a = rng.integers(low, high, (n, lines), dtype, endpoint=True) | 1
        else:
            a = rng.uniform(-1.2, 1.2, (n, lines)).astype(dtype)
        expected = np.asarray(function(ours(np.ascontiguousarray(a.T)), axis=1)).T
        same(function(ours(a), axis=0), expected)
        same(function(ours(a).T, axis=1), expected.T)


@pytest.mark.parametrize("n", [4, 40, 150])
def test_running_sums_of_many_lines_of_a_view(n):
    """Whose rows begin anywhere, and those of the results do not."""
    a = np.random.default_rng(n).uniform(-1.2, 1.2, (n + 1, 150_003)).astype("float32")
    rows = ours(np.ascontiguousarray(a[1:, 3:].T))
    same(xp.cumulative_sum(ours(a)[1:, 3:], axis=0), np.asarray(xp.cumulative_sum(rows, axis=1)).T)


@pytest.mark.cpu
@pytest.mark.parametrize("function", [xp.cumulative_sum, xp.cumulative_prod])
def test_scans_lie_as_their_operand(function):
    a = np.ones((2, 3, 4), "float32")
    for axis, initial in itertools.product(range(3), (False, True)):
        scanned = np.asarray(function(ours(a.T), axis=axis, include_initial=initial))
        assert scanned.flags.f_contiguous


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
@pytest.mark.parametrize(
    ("shape", "axis"), [(s, a if isinstance(a, int) else 1) for s, a in LARGE_SHAPES if len(s) < 3]
)
def test_large_running_sums(shape, axis, dtype):
    draw = Draw(4)
    if kind(dtype) in "iu":
        info = np.iinfo(dtype)
        a = draw.numpy.integers(info.min, info.max, shape, dtype, endpoint=True)
    else:
        a = draw.numpy.random(shape).astype(dtype)
    axis = min(axis, len(shape) - 1)
    x = xp.cumulative_sum(ours(a), axis=axis)
    if kind(dtype) in "iu":
        same(x, np.cumulative_sum(a, axis=axis, dtype=wide_dtype(dtype)))
        return
    exact = np.cumulative_sum(a.astype(WIDER[dtype]), axis=axis)
    # Additions one after the other would be off by up to n units.
    near(x, exact, np.dtype(dtype), 1, 1000 * eps(dtype) * np.abs(exact))


def test_running_sums_and_products_need_an_axis_unless_there_is_one_dimension():
    for f in (xp.cumulative_sum, xp.cumulative_prod):
        same(
            f(xp.asarray([1, 2, 3])), np.asarray([1, 3, 6] if f is xp.cumulative_sum else [1, 2, 6])
        )
        for x in (xp.ones((2, 2)), xp.asarray(1.0), xp.ones((1, 1, 1))):
            with pytest.raises(ValueError, match="axis is None"):
                f(x)
        for axis in (2, -3):
            with pytest.raises(IndexError, match=f"axis {axis}"):
                f(xp.ones((2, 2)), axis=axis)
        same(
            f(xp.ones((2, 0)), axis=1, include_initial=True),
            np.full((2, 1), f is not xp.cumulative_sum, float),
        )
        same(f(xp.ones((0, 2)), axis=1, include_initial=True), np.ones((0, 3)))


# ---- all and any ------------------------------------------------------------------------------------------


@given(seeds)
def test_all_and_any_of_any_array(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(max_dims=6, max_side=4), draw.choice(DTYPES))
    if draw.random() < 0.5 and a.size:
        a[...] = draw.choice([0, 1])
        a[tuple(draw.randrange(n) for n in a.shape)] = draw.choice([0, 1])
    axis, keepdims = some_axes(draw, a.ndim), draw.random() < 0.5
    for f, theirs in ((xp.all, np.all), (xp.any, np.any), (xp.count_nonzero, np.count_nonzero)):
        same(f(ours(a), axis=axis, keepdims=keepdims), theirs(a, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "complex128"])
def test_one_element_among_millions_decides(dtype):
    a = np.ones(1_200_007, dtype)
    x = ours(a)
    for place in (0, 1, 31, 700_000, 1_200_006):
        x[place] = 0
        assert not bool(xp.all(x)) and int(xp.count_nonzero(x)) == a.size - 1
        matrix = xp.reshape(x[:1_200_000], (1200, 1000)).T
        assert bool(xp.all(matrix)) == (place >= 1_200_000)
        x[place] = 1
        assert bool(xp.all(x))
    x[...] = 0
    for place in (0, 1, 31, 700_000, 1_200_006):
        x[place] = 1
        assert bool(xp.any(x)) and int(xp.count_nonzero(x)) == 1
        x[place] = 0
        assert not bool(xp.any(x))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32"])
@pytest.mark.parametrize("rows", [1, 5, 121])
def test_every_value_decides_its_column(rows, dtype):
    # Columns of short rows from near, and of long ones from afar.
    values = np.arange(2**16, dtype="u2")
    values = (values.astype("u4") << 16 if dtype == "float32" else values).view(dtype)
    for columns in (values, values[:1000], values[:300]):
        a = np.ones((rows, columns.size), dtype)
        a[rows // 2] = columns
        for b in (a, a[::-1], a[:, ::2]):
            for f, theirs in ((xp.all, np.all), (xp.any, np.any)):
                same(f(ours(b), axis=0), numpys(theirs, b, axis=0))
            same(xp.count_nonzero(ours(b), axis=0), numpys(np.count_nonzero, b, axis=0))


@pytest.mark.cpu
@pytest.mark.parametrize("width", [*range(1, 13), 16, 20, 32, 33, 270])
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_columns_have_the_bits_of_rows(width, dtype):
    """Whatever number of them is read side by side, and stays in registers or in memory."""
    rng = np.random.default_rng(width)
    for n in (31, 128, 257, 700, 2304, 9001):
        x = ours(rng.normal(size=(n, width)).astype(dtype))
        rows = xp.asarray(xp.permute_dims(x, (1, 0)), copy=True)
        names = ["sum", "mean"] if dtype in COMPLEX else ["sum", "mean", "var", "max", "min"]
        for name in names:
            function = getattr(xp, name)
            same(function(x, axis=0), np.asarray(function(rows, axis=1)))


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 16, 33])
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_columns_beside_others_have_the_bits_of_a_copy(width, dtype):
    rng = np.random.default_rng(width)
    cases = itertools.product((9, 130, 257, 1003, 4096, 20011), (1, width), (0, 1))
    for n, beside, before in cases:
        whole = np.full((n, width + beside), np.nan, dtype)
        a = whole[before:, before : before + width]
        a[...] = rng.normal(size=a.shape)
        x = ours(whole)[before:, before : before + width]
        copy = xp.asarray(x, copy=True)
        names = ["sum", "mean"] if dtype in COMPLEX else ["sum", "mean", "var", "std", "max", "min"]
        for name in names:
            same(getattr(xp, name)(x, axis=0), np.asarray(getattr(xp, name)(copy, axis=0)))
        near_sums = np.sum(a, axis=0, dtype=WIDER[dtype])
        np.testing.assert_allclose(xp.sum(x, axis=0), near_sums, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 8, 12, 16, 33, 100])
@pytest.mark.parametrize("dtype", ["bool", *REAL])
def test_a_few_columns(width, dtype):
    """Many of their rows are read as one, also where others stand between them."""
    rng = np.random.default_rng(width)
    for n, beside in itertools.product((2, 9, 130, 1003, 20011), (0, 1, width)):
        if np.dtype(dtype).kind == "f":
            whole = rng.integers(-9, 9, (n, width + beside)).astype(dtype)
            whole[rng.integers(n), rng.integers(width)] = rng.choice([np.nan, -0.0])
        elif dtype == "bool":
            whole = rng.random((n, width + beside)) < rng.choice([1 / n, 0.5, 1 - 1 / n])
        else:
            info = np.iinfo(dtype)
            whole = rng.integers(info.min, info.max, (n, width + beside), dtype, endpoint=True)
            whole[:, 0] %= 3
        a, x = whole[:, :width], ours(whole)[:, :width]
        for name in ("any", "all", "count_nonzero"):
            same(getattr(xp, name)(x, axis=0), getattr(np, name)(a, axis=0))
        if dtype == "bool":
            continue
        # By value: which bits a NaN has is left open.
        for name in ("max", "min"):
            expected = getattr(np, name)(a, axis=0)
            np.testing.assert_array_equal(getattr(xp, name)(x, axis=0), expected)
        if dtype != "float16":
            sums = xp.sum(x, axis=0, dtype=x.dtype)
            np.testing.assert_array_equal(sums, np.sum(a, axis=0, dtype=a.dtype))
        for name in ("argmax", "argmin"):
            same(getattr(xp, name)(x, axis=0), getattr(np, name)(a, axis=0))
        if np.dtype(dtype).kind != "f":
            same(xp.prod(x, axis=0, dtype=x.dtype), np.prod(a, axis=0, dtype=a.dtype))


@pytest.mark.parametrize("width", [3, 7, 31])
@pytest.mark.parametrize("dtype", ["bool", *REAL])
def test_a_few_columns_of_very_many_rows(width, dtype):
    """So many that several parts of them are reduced side by side; they begin anywhere in a pack."""
    rng = np.random.default_rng(width)
    for arrays, before, behind in ((1, 0, 0), (1, 1, 2), (2, 2, width - 2)):
        wide = before + width + behind
        rows = 2_200_000 // (arrays * wide * np.dtype(dtype).itemsize) + width
        if dtype == "bool":
            whole = rng.random((arrays, rows, wide)) < rng.choice([1 / rows, 1 - 1 / rows])
        elif np.dtype(dtype).kind == "f":
            whole = rng.integers(-99, 99, (arrays, rows, wide)).astype(dtype)
            whole[:, rng.integers(rows), before] = np.nan
        else:
            info = np.iinfo(dtype)
            whole = rng.integers(info.min, info.max, (arrays, rows, wide), dtype, endpoint=True)
            whole[..., before] %= 3
        for first in (0, 1):
            some = np.s_[:, first:, before : before + width]
            a, x = whole[some], ours(whole)[some]
            for name in ("any", "all", "count_nonzero"):
                same(getattr(xp, name)(x, axis=1), getattr(np, name)(a, axis=1))
            if dtype == "bool":
                continue
            for name in ("argmax", "argmin"):
                same(getattr(xp, name)(x, axis=1), getattr(np, name)(a, axis=1))
            for name in ("max", "min"):
                expected = getattr(np, name)(a, axis=1)
                np.testing.assert_array_equal(getattr(xp, name)(x, axis=1), expected)
            if np.dtype(dtype).kind != "f":
                same(xp.sum(x, axis=1, dtype=x.dtype), np.sum(a, axis=1, dtype=a.dtype))


def test_what_counts_as_true():
    values = [0.0, -0.0, math.nan, 5e-324, math.inf]
    assert [bool(xp.any(xp.asarray([v]))) for v in values] == [False, False, True, True, True]
    for z, expected in [
        (0j, False),
        (complex(-0.0, -0.0), False),
        (1j, True),
        (complex(0, math.nan), True),
    ]:
        assert bool(xp.all(xp.asarray([z]))) == bool(xp.any(xp.asarray(z))) == expected


# ---- diff -------------------------------------------------------------------------------------------------


def differences(a, axis, n, prepend, append):
    parts = [p for p in (prepend, a, append) if p is not None]
    out = np.concatenate(parts, axis=axis)
    for _ in range(n):
        length = out.shape[axis]
        later = np.take(out, range(1, length), axis=axis)
        out = later - np.take(out, range(max(length - 1, 0)), axis=axis)
    return out


@given(seeds)
def test_differences_of_any_array(seed):
    draw = Draw(seed)
    dtype = draw.choice(NUMERIC)
    shape = draw.shape(min_dims=1, max_dims=5, max_side=4)
    a = draw.array(shape, dtype)
    axis, n = draw.randrange(-a.ndim, a.ndim), draw.randint(0, 5)
    ends = []
    for _ in range(2):
        end = list(shape)
        end[axis] = draw.randint(0, 3)
        ends.append(draw.choice([None, draw.array(tuple(end), dtype)]))
    with np.errstate(all="ignore"):
        expected = differences(a, axis, n, *ends)
    prepend, append = (end if end is None else ours(end) for end in ends)
    alike(xp.diff(ours(a), axis=axis, n=n, prepend=prepend, append=append), expected)


def test_differences_of_rows_that_a_cache_does_not_hold():
    a = np.random.default_rng(0).integers(0, 256, (3, 9 << 19), dtype="uint8")
    same(xp.diff(ours(a), axis=0), a[1:] - a[:-1])


def test_differences_promote():
    a, b = np.asarray([1, 5, 2], "int8"), np.asarray([0.5], "float32")
    expected = np.asarray([0.5, 4, -3], "float32")
    same(xp.diff(ours(a), prepend=ours(b)), expected)
    x = xp.diff(ours(a), n=0, append=ours(b))
    same(x, np.asarray([1, 5, 2, 0.5], "float32"))
    with pytest.raises(TypeError, match="uint64"):
        xp.diff(ours(a), append=xp.asarray([1], dtype=xp.uint64))


def test_bad_differences():
    x = xp.ones((2, 3))
    for call, error, words in [
        (lambda: xp.diff(x, n=-1), ValueError, "n is -1"),
        (lambda: xp.diff(x, axis=2), IndexError, "axis 2"),
        (lambda: xp.diff(xp.asarray(1.0)), IndexError, "0 dimensions"),
        (lambda: xp.diff(x, prepend=xp.ones((3, 1))), ValueError, r"prepend has shape \(3, 1\)"),
        (lambda: xp.diff(x, append=xp.ones(3)), ValueError, r"append has shape \(3,\)"),
        (lambda: xp.diff(xp.asarray([True, False])), TypeError, "bool"),
    ]:
        with pytest.raises(error, match=words):
            call()


def test_large_differences():
    a = Draw(5).numpy.integers(0, 1000, (1001, 503))
    for axis, n in itertools.product((0, 1), (1, 3)):
        same(xp.diff(ours(a), axis=axis, n=n), np.diff(a, axis=axis, n=n))
        same(xp.diff(ours(a.T), axis=axis, n=n), np.diff(a.T, axis=axis, n=n))


# ---- arguments ----------------------------------------------------------------------------------------------

REDUCTIONS = [xp.sum, xp.prod, xp.mean, xp.var, xp.std, xp.max, xp.min, xp.all, xp.any]


@pytest.mark.parametrize("function", REDUCTIONS)
def test_axes_are_checked(function):
    x = xp.ones((2, 3))
    for axis in (2, -3, (0, 2)):
        with pytest.raises(IndexError, match=r"axis -?\d is out of range"):
            function(x, axis=axis)
    for axis in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match="twice"):
            function(x, axis=axis)
    for axis in (1.0, "0", (0, None)):
        with pytest.raises(TypeError, match="axis"):
            function(x, axis=axis)
    with pytest.raises(IndexError):
        function(xp.asarray(1.0), axis=0)
    with pytest.raises(TypeError):
        function(x, 0)


@pytest.mark.parametrize("function", REDUCTIONS)
def test_no_axes_reduce_nothing(function):
    a = Draw(6).numpy.random((3, 4)) + 0.5
    x = function(ours(a), axis=())
    if function in (xp.all, xp.any):
        same(x, np.ones((3, 4), bool))
    elif function in (xp.var, xp.std):
        same(x, np.zeros((3, 4)))
    else:
        same(x, a)
    x[...] = xp.zeros_like(x)
    assert a.all()


@pytest.mark.parametrize("function", REDUCTIONS)
def test_nothing_to_reduce(function):
    for shape, axis in [((0,), None), ((0, 3), 0), ((2, 0, 3), (1, 2)), ((0, 0), None)]:
        x = xp.ones(shape)
        if function in (xp.max, xp.min):
            with pytest.raises(ValueError, match=f"{function.__name__}: x has shape"):
                function(x, axis=axis)
            continue
        value = {xp.sum: 0.0, xp.prod: 1.0, xp.all: True, xp.any: False}.get(function, math.nan)
        alike(function(x, axis=axis), np.full(np.ones(shape).sum(axis=axis).shape, value))
    same(
        function(xp.ones((0, 3)), axis=1),
        np.zeros(0, bool if function in (xp.all, xp.any) else float),
    )


@pytest.mark.parametrize(
    ("function", "allowed"),
    [
        (xp.sum, "biufc"),
        (xp.prod, "biufc"),
        (xp.mean, "fc"),
        (xp.var, "f"),
        (xp.std, "f"),
        (xp.max, "iuf"),
        (xp.min, "iuf"),
        (xp.all, "biufc"),
        (xp.any, "biufc"),
        (xp.cumulative_sum, "iufc"),
        (xp.cumulative_prod, "iufc"),
        (xp.diff, "iufc"),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(function, allowed, dtype):
    x = xp.ones(3, dtype=getattr(xp, dtype))
    if kind(dtype) not in allowed:
        with pytest.raises(TypeError, match=f"{function.__name__}: x has dtype {dtype}"):
            function(x)
        return
    expected = dtype
    if function in (xp.all, xp.any):
        expected = "bool"
    elif function in (xp.sum, xp.prod, xp.cumulative_sum, xp.cumulative_prod):
        expected = "int64" if dtype == "bool" else wide_dtype(dtype)
    assert function(x).dtype == getattr(xp, expected)


# ---- lines of every length -------------------------------------------------------------------------------

# Around the lanes of a vector, the rows that are folded together, and the chunks of each width.
LENGTHS = [*range(1, 36), *range(60, 69), *range(126, 131), *range(254, 259), 300, 513, 1100]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 3, 41])
def test_short_lines_of_every_length(rows, dtype):
    draw = Draw(rows)
    for n in LENGTHS:
        a = draw.values((rows, n), dtype)
        if kind(dtype) in "fc":  # special values have tests of their own
            a = np.where(np.isfinite(a), a, 1).astype(dtype)
        columns = np.ascontiguousarray(a.T).T
        for x in (ours(a), ours(columns)):
            for name in ("any", "all", "count_nonzero"):
                alike(getattr(xp, name)(x, axis=1), getattr(np, name)(a, axis=1))
            if dtype != "bool":
                check_sum(xp.sum(x, axis=1), a, 1)
            if kind(dtype) in "iuf":
                for name in ("max", "min"):
                    np.testing.assert_array_equal(
                        np.asarray(getattr(xp, name)(x, axis=1)), getattr(np, name)(a, axis=1)
                    )
                for name in ("argmax", "argmin"):
                    same(getattr(xp, name)(x, axis=1), getattr(np, name)(a, axis=1))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("rows", [1, 41])
def test_nan_and_infinities_in_short_lines(rows, dtype):
    draw = Draw(rows + 1)
    for n in LENGTHS:
        a = draw.numpy.standard_normal((rows, n)).astype(dtype)
        for row in a:
            for value in (np.nan, np.inf, -np.inf):
                row[draw.randrange(n)] = value if draw.random() < 0.5 else row[0]
        for x in (ours(a), ours(np.ascontiguousarray(a.T).T)):
            for name in ("max", "min"):
                np.testing.assert_array_equal(
                    np.asarray(getattr(xp, name)(x, axis=1)), getattr(np, name)(a, axis=1)
                )
            for name in ("argmax", "argmin"):
                same(getattr(xp, name)(x, axis=1), getattr(np, name)(a, axis=1))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
@pytest.mark.parametrize("function", ["sum", "max", "var"])
@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), None])
@pytest.mark.parametrize("repeated", [0, 1])
def test_repeated_rows_give_the_bits_of_their_copies(function, axis, repeated, dtype):
    if function != "sum" and (dtype == "complex64" or (function, dtype) == ("var", "int32")):
        return
    a = np.random.default_rng(3).standard_normal((3, 1, 70) if repeated else (1, 3, 70)) * 100
    shape = (3, 1500, 70) if repeated else (1500, 3, 70)
    x = xp.broadcast_to(xp.asarray(a.astype(dtype)), shape)
    apply = getattr(xp, function)
    found, expected = apply(x, axis=axis), apply(xp.asarray(x, copy=True), axis=axis)
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("n", [1, 7, 16, 17, 63, 255, 257, 4100, 270_001])
def test_the_same_bits_in_rows_columns_and_views(n, dtype):
    """A line alone, which threads may share, as a column among others, and in views of those."""
    draw = Draw(n)
    line = draw.numpy.standard_normal(n).astype(dtype)
    if kind(dtype) == "c":
        line = line * (1 + 0.5j)
    line = line.astype(dtype)
    wide = np.repeat(line[:, None], 11, axis=1)
    gapped = np.zeros((n, 33), dtype)
    gapped[:, ::3] = wide
    views = [wide, np.asfortranarray(wide), gapped[:, ::3], gapped[:, 30::-3], wide[::-1][::-1]]
    names = ["sum", "cumulative_sum", "cumulative_prod", "prod"]
    if kind(dtype) == "f":
        names += ["mean", "var", "max"]
    for name in names:
        function = getattr(xp, name)
        with np.errstate(all="ignore"):
            alone = np.asarray(function(ours(line), axis=0))
        for view in views:
            result = np.asarray(function(ours(view), axis=0))
            for column in range(11):
                got = np.ascontiguousarray(result[..., column])
                assert got.tobytes() == alone.tobytes(), (name, column)


@pytest.mark.parametrize("n", [2049, 6200, 40_961])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
def test_columns_have_the_same_bits_whatever_stands_beside_them(n, dtype):
    """How columns are cut among threads depends on how many there are and on how long they are."""
    a = Draw(n).numpy.standard_normal((n, 700)).astype(dtype)
    x = ours(a)
    for name in ("sum", "prod") if kind(dtype) == "c" else ("sum", "mean", "var"):
        function = getattr(xp, name)
        bits = np.asarray(function(x, axis=0))
        for first, count in ((0, 1), (3, 2), (5, 40), (1, 333), (0, 700)):
            some = np.s_[first : first + count]
            for view in (x[:, some], ours(np.ascontiguousarray(a[:, some]))):
                result = np.asarray(function(view, axis=0))
                assert result.tobytes() == bits[some].tobytes(), (name, first, count)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 7, 8, 11, 16, 23])
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_few_columns_have_the_bits_of_lines(count, dtype):
    """Rows of few bytes may be read as one run, wherever it begins and whatever is before it."""
    draw = Draw(count)
    for n in (300, 900, 2049, 14_500):
        a = draw.numpy.standard_normal((3, n, count))
        if kind(dtype) == "c":
            a = a + 1j * draw.numpy.standard_normal(a.shape)
        a = a.astype(dtype)
        padded = np.zeros(a.size + 1, dtype)
        padded[1:] = a.reshape(-1)
        views = [ours(a), xp.reshape(ours(padded)[1:], a.shape)]
        for name in ("sum", "prod") if kind(dtype) == "c" else ("sum", "mean", "max", "var"):
            function = getattr(xp, name)
            lines = ours(np.ascontiguousarray(a.transpose(0, 2, 1)))
            bits = np.asarray(function(lines, axis=2)).tobytes()
            for view in views:
                assert np.asarray(function(view, axis=1)).tobytes() == bits, (name, n)
            first = np.asarray(function(views[0][0], axis=0)).tobytes()
            assert bits.startswith(first), (name, n)


@pytest.mark.parametrize(
    "shape", [(300, 130, 251), (700, 270, 97), (300, 20, 251), (2, 2100, 333), (3, 40, 1001)]
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_columns_that_begin_anywhere_have_the_bits_of_lines(shape, dtype):
    """Threads that have several side by side read the packs around them, and share those."""
    a = Draw(shape[1]).numpy.standard_normal(shape, np.float32).astype(dtype)
    padded = np.zeros((*shape[:2], shape[2] + 5), dtype)
    padded[:, :, 1:-4] = a
    views = [ours(a), ours(padded)[:, :, 1:-4], ours(a[:, ::-1])[:, ::-1]]
    lines = ours(np.ascontiguousarray(a.transpose(0, 2, 1)))
    for name in ("sum", "mean", "max", "min"):
        function = getattr(xp, name)
        bits = np.asarray(function(lines, axis=2)).tobytes()
        for view in views:
            assert np.asarray(function(view, axis=1)).tobytes() == bits, name


@pytest.mark.parametrize("n", [255, 256, 257, 2047, 2049, 6200, 40_961])
@pytest.mark.parametrize("dtype", ["float16", *FLOATS, "complex64"])
def test_rows_that_begin_anywhere_have_the_bits_of_rows_of_packs(n, dtype):
    a = Draw(n).numpy.standard_normal((5, n + 9)).astype(dtype)
    x = ours(a)
    for name in ("sum", "prod") if kind(dtype) == "c" else ("sum", "mean", "max", "var"):
        function = getattr(xp, name)
        for first in (1, 2, 3, 5, 8):
            rows = np.ascontiguousarray(a[:, first : first + n])
            expected = [np.asarray(function(ours(row), axis=0)).tobytes() for row in rows]
            result = np.asarray(function(x[:, first : first + n], axis=1))
            assert result.tobytes() == b"".join(expected), (name, first)


@pytest.mark.parametrize("shape", [(3, 70_400), (4, 70_401), (35_300, 2, 2), (18_000, 3, 4)])
@pytest.mark.parametrize("dtype", ["float16", *FLOATS, *COMPLEX])
def test_many_columns_of_few_elements_have_the_bits_of_rows(shape, dtype):
    x = ours(Draw(1).numpy.standard_normal(shape).astype(dtype))
    rows = xp.asarray(xp.matrix_transpose(x), copy=True)
    names = ("sum", "prod", "mean") if kind(dtype) == "c" else ("sum", "prod", "mean", "max", "var")
    for name in names:
        function = getattr(xp, name)
        expected = np.asarray(function(rows, axis=-1)).tobytes()
        assert np.asarray(function(x, axis=-2)).tobytes() == expected, name
    norm = np.asarray(xp.linalg.vector_norm(x, axis=-2)).tobytes()
    assert norm == np.asarray(xp.linalg.vector_norm(rows, axis=-1)).tobytes()


@pytest.mark.parametrize("name", ["sum", "var"])
def test_few_columns_of_many_arrays_have_the_bits_of_lines(name):
    """There are so many that no two blocks share one, which has more than a chunk of rows."""
    a = Draw(5).numpy.standard_normal((1000, 4100, 3), np.float32)
    function = getattr(xp, name)
    lines = function(ours(np.ascontiguousarray(a.transpose(0, 2, 1))), axis=2)
    assert np.asarray(function(ours(a), axis=1)).tobytes() == np.asarray(lines).tobytes()


@pytest.mark.parametrize("n", [2, 3, 7, 8, 31, 32, 33, 50, 63, 64, 65])
@pytest.mark.parametrize("dtype", FLOATS)
def test_variances_of_short_rows_do_not_depend_on_how_many_there_are(n, dtype):
    """Few of them, or those that are whole packs, may be found otherwise than the others."""
    a = (Draw(n).numpy.standard_normal((12_000, n)) + 100).astype(dtype)
    a[3, n // 2], a[4, 0], a[5] = np.nan, np.inf, -0.0
    x = ours(a)
    bits = np.asarray(xp.var(x, axis=1))
    exact = exact_variance(a[6:], 1, 0, False)
    near(xp.asarray(bits[6:]), exact, np.dtype(dtype), 1, 40 * eps("float64") * exact)
    columns, wide = ours(np.ascontiguousarray(a.T)), ours(np.pad(a, ((0, 0), (1, 2))))
    for first, count in ((0, 12_000), (0, 9), (5000, 100), (11_999, 1)):
        some = np.s_[first : first + count]
        alone = [x[some], columns[:, some].T, wide[some, 1:-2], ours(np.ascontiguousarray(a[some]))]
        for y in alone:
            assert np.asarray(xp.var(y, axis=1)).tobytes() == bits[some].tobytes(), (first, count)
        if count == 1:
            assert np.asarray(xp.var(x[first])).tobytes() == bits[some].tobytes()


def bits(x):
    """Of one kind of NaN: which of two a product keeps is not promised."""
    a = np.array(x)
    if kind(a.dtype) in "fc":
        parts = a.view(a.real.dtype)
        parts[np.isnan(parts)] = np.nan
    return a.tobytes()


@pytest.mark.parametrize("n", range(1, 18))
@pytest.mark.parametrize("dtype", [*FLOATS, "int16"])
def test_few_elements_add_in_one_order_however_rows_lie(n, dtype):
    """Rows without gaps stand side by side in vectors, others have one each; so do the last ones."""
    a = Draw(n).values((1003, n), dtype)
    wide, columns = ours(np.pad(a, ((0, 0), (1, 1))))[:, 1:-1], ours(np.ascontiguousarray(a.T)).T
    for name in ("sum", "prod", "max", "min") + (("var",) if kind(dtype) == "f" else ()):
        function = getattr(xp, name)
        results = function(ours(a), axis=1)
        for y in (wide, columns):
            assert bits(function(y, axis=1)) == bits(results), name
        for rows in (1, 5, 16, 17, 40):
            few = function(ours(a[-rows:].copy()), axis=1)
            assert bits(few) == bits(results[-rows:]), (name, rows)


@pytest.mark.parametrize("dtype", FLOATS)
def test_short_rows_from_beyond_the_caches(dtype):
    """Some of them at a time are read twice, and the next ones asked for meanwhile."""
    a = (Draw(5).numpy.standard_normal((3_300_000 // np.dtype(dtype).itemsize, 10)) + 9).astype(
        dtype
    )
    for n in (40, 75, 110):
        rows = a.ravel()[: a.size // n * n].reshape(-1, n)
        x = ours(rows)
        for name in ("sum", "var", "argmax"):
            function = getattr(xp, name)
            all_rows = np.asarray(function(x, axis=1))
            for first in (0, 12_345, rows.shape[0] - 50):
                some = np.asarray(function(x[first : first + 50], axis=1))
                assert some.tobytes() == all_rows[first : first + 50].tobytes(), (name, first)
        same(xp.argmax(x, axis=1), np.argmax(rows, axis=1))


# Around packs, what is joined in registers, and the longest rows that a thread of a GPU has alone.
ROW_LENGTHS = [*range(2, 18), *range(20, 41, 4), 25, 31, 33, 41, 48, 52, 63, 64, 65, 80, 96]
ROW_LENGTHS += [111, 112, 113, 126, 127, 128, 129]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int64", "float16", *FLOATS, "complex64"])
@pytest.mark.parametrize("n", ROW_LENGTHS)
def test_many_short_rows_have_the_bits_of_few(n, dtype):
    """Rows begin anywhere, little or much lies between them, and the last ones fill no block."""
    a = Draw(n).values((max(5_011, min(20_011, 400_000 // n)), n), dtype)
    shifted = np.zeros(a.size + 1, dtype)
    shifted[1:] = a.ravel()
    views = [xp.reshape(ours(shifted)[1:], a.shape)]
    for before, after in ((0, 1), (1, 1), (2, 5), (8, -n % 8), (0, n)):
        wide = np.pad(a, ((0, 0), (before, after)), constant_values=1)
        views.append(ours(wide)[:, before : before + n])
    names = ["sum", "any", "count_nonzero"]
    if kind(dtype) != "c":
        names += ["max", "argmax", "argmin"]
    if kind(dtype) == "f":
        names += ["mean", "var"]
    x, some = ours(a), [np.s_[:50], np.s_[4_000:4_070], np.s_[-11:]]
    few = [ours(a[rows].copy()) for rows in some]
    for name in names:
        function = getattr(xp, name)
        results = function(x, axis=1)
        for rows, y in zip(some, few, strict=True):
            assert bits(function(y, axis=1)) == bits(np.asarray(results)[rows]), name
        for y in views:
            assert bits(function(y, axis=1)) == bits(results), name
        if name in ("any", "count_nonzero", "max", "argmax", "argmin"):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(
                    np.asarray(results), getattr(np, name)(a, axis=1), err_msg=name
                )
        elif name == "sum" and dtype != "float16":
            check_sum(results, a, 1)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_sums_over_groups_of_dimensions_in_any_order(dtype):
    draw = Draw(12)
    a = draw.numpy.integers(-1000, 1000, (65, 70, 66)).astype(dtype)  # sums are exact
    for order in itertools.permutations(range(3)):
        x = ours(np.ascontiguousarray(a.transpose(order)).transpose(np.argsort(order)))
        for count_of_axes in (1, 2, 3):
            for axes in itertools.combinations(range(3), count_of_axes):
                same(xp.sum(x, axis=axes), np.sum(a, axis=axes, dtype=wide_dtype(dtype)))
                same(xp.max(x, axis=axes), np.max(a, axis=axes))
                same(xp.count_nonzero(x, axis=axes), np.count_nonzero(a, axis=axes))


@pytest.mark.parametrize("dtype", FLOATS)
def test_dimensions_that_do_not_merge_give_the_bits_of_contiguous_ones(dtype):
    cube = Draw(15).numpy.standard_normal((40, 33, 66)).astype(dtype)
    plane, block = cube.reshape(40 * 33, 66), cube.reshape(60, 44, 33)
    repeated = np.broadcast_to(plane[:, :40], (3, *plane[:, :40].shape))
    for view, axes in (
        (plane[:70, :66].T, (0, 1)),
        (plane[::-2, 1:-1], (0, 1)),
        (cube.transpose(1, 0, 2), (0, 1, 2)),
        (cube.transpose(0, 2, 1), (1, 2)),
        (cube.transpose(2, 0, 1)[::-1], (1, 2)),
        (cube[:, 1:, ::3], (1, 2)),
        (block.T, (1, 2)),
        (block.T, (0, 1, 2)),
        (block.transpose(2, 0, 1), (0, 1)),
        (repeated.transpose(1, 0, 2), (0, 1, 2)),
    ):
        x, packed = ours(view), ours(np.ascontiguousarray(view))
        for function in (xp.sum, xp.prod, xp.max, xp.var, xp.linalg.vector_norm):
            found, expected = (np.asarray(function(a, axis=axes)) for a in (x, packed))
            assert found.tobytes() == expected.tobytes(), (function.__name__, view.strides)
        near(xp.sum(x, axis=axes), np.sum(view, axis=axes, dtype="float64"), view.dtype, 64, 0.01)


def test_variances_of_few_and_of_many_elements_are_as_exact():
    """Few elements are read twice, more of them once; the mean is large in both."""
    draw = Draw(13)
    for shape in ((40, 3000), (2, 300_000), (3000, 40), (70_000, 3)):
        a = 1e8 + draw.numpy.standard_normal(shape)
        for axis in (0, 1):
            exact = exact_variance(a, axis, 0, False)
            slack = 1e-14 * exact + (eps("float64") * 1e8) ** 2  # the mean itself is rounded
            near(xp.var(ours(a), axis=axis), exact, np.dtype("float64"), 4, slack)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [2, 5, 8, 9, 13, 16, 17, 24, 31, 32])
def test_few_long_rows_add_in_the_order_of_short_ones(n, dtype):
    """Rows that do not fit a cache together are read by some at a time, without another result."""
    a = Draw(n).numpy.standard_normal((n, 20_011)).astype(dtype)
    a[n // 2, 7], a[:, 8] = np.nan, -0.0
    for name in ("sum", "prod", "max", "min", "var"):
        function = getattr(xp, name)
        long = np.asarray(function(ours(a), axis=0))
        for first in (0, 9_000, 20_000):
            short = np.asarray(function(ours(a[:, first : first + 11]), axis=0))
            assert long[first : first + 11].tobytes() == short.tobytes(), (name, first)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64"])
def test_what_no_order_changes_is_reduced_as_it_lies(dtype):
    """Also where some elements are repeated, and of many bytes."""
    draw = Draw(13)
    for shape in ((33, 70, 66), (70, 300, 420), (2, 130, 3, 40), (1, 1300, 1, 70)):
        a = draw.values(shape, dtype)
        x, ndim = ours(a), len(shape)
        for order in itertools.permutations(range(ndim)):
            b, y = a.transpose(order), xp.permute_dims(x, order)
            views = [
                (b, y),
                (b[::-1, :, ::-1], y[::-1, :, ::-1]),
                (b[:, ::2], y[:, ::2]),
                (np.broadcast_to(b[:, :1], b.shape), xp.broadcast_to(y[:, :1], b.shape)),
            ]
            for c, z in views[: 4 if a.size < 10**6 else 1]:
                for axes in itertools.combinations(range(ndim), 2):
                    same(xp.any(z, axis=axes), np.any(c, axis=axes))
                    same(xp.count_nonzero(z, axis=axes), np.count_nonzero(c, axis=axes))
                    if dtype != "bool":
                        same(xp.max(z, axis=axes), np.max(c, axis=axes))
                        same(xp.sum(z, axis=axes), np.sum(c, axis=axes, dtype=wide_dtype(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_do_not_depend_on_the_layout(dtype):
    """Nor do zeros of either sign and NaN, which are not the same in every order."""
    rng = np.random.default_rng(5)
    numbers = rng.standard_normal((40, 33, 7)).astype(dtype)
    zeros = np.where(rng.random(numbers.shape) < 0.5, -0.0, 0.0).astype(dtype)
    no_numbers = numbers.copy()
    no_numbers[7, 8, 2] = np.nan
    for a in (numbers, np.abs(numbers) + 1, zeros, np.maximum(numbers, zeros), no_numbers):
        for order in itertools.permutations(range(3)):
            b = a.transpose(order)
            for c in (b, b[::-1], b[1:-1, :, ::-1], b[:, ::2]):
                x, row_major = ours(c), xp.asarray(np.ascontiguousarray(c))
                for axes in (None, (0, 1), (1, 2), (0, 2), 1):
                    for function in (xp.max, xp.min):
                        same(function(x, axis=axes), np.asarray(function(row_major, axis=axes)))
                assert np.array_equal(np.asarray(xp.max(x)), c.max(), equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_much_that_is_permuted(dtype):
    """Zeros of either sign are told apart, however few of the elements they are."""
    rng = np.random.default_rng(8)
    shape = (40, 220, 300)
    below = -rng.uniform(1, 2, shape).astype(dtype)
    few = below.copy()
    few[rng.random(shape) < 1e-4] = -0.0
    few[rng.random(shape) < 1e-4] = 0.0
    zeros = np.where(rng.random(shape) < 0.5, -0.0, 0.0).astype(dtype)
    no_numbers = few.copy()
    no_numbers[7:9, 8, 2] = np.nan
    for a in (below, few, zeros, no_numbers):
        x = ours(a)
        for order in itertools.permutations(range(3)):
            b, y = a.transpose(order), xp.permute_dims(x, order)
            row_major = ours(np.ascontiguousarray(b))
            for axes in ((0, 1), (1, 2), (0, 2)):
                found = xp.max(y, axis=axes)
                same(found, np.asarray(xp.max(row_major, axis=axes)))
                assert np.array_equal(np.asarray(found), np.max(b, axis=axes), equal_nan=True)
                found = xp.min(-y, axis=axes)
                same(found, np.asarray(xp.min(-row_major, axis=axes)))


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize(
    ("n", "lines"),
    [(3, 4500), (3, 20_000), (30, 4500), (33, 9000), (128, 17_000), (129, 9000), (700, 9001)],
)
def test_reductions_of_some_thousand_columns_have_the_bits_of_rows(n, lines, dtype):
    """Which a GPU's threads go along alone, or some together, if there are so many of them."""
    rng = np.random.default_rng(n)
    a = rng.uniform(0.95, 1.05, (n, lines + 2))
    if dtype in COMPLEX:
        a = a * np.exp(1j * rng.uniform(-3, 3, a.shape))
    a = a.astype(dtype)
    functions = [xp.sum, xp.prod, xp.mean] + [xp.var, xp.max] * (dtype in FLOATS)
    for b in (a[:, :-2], a[:, 1:-1], a[::-1, ::2]):
        x, rows = ours(b), xp.asarray(np.ascontiguousarray(b.T))
        for function in functions:
            same(function(x, axis=0), np.asarray(function(rows, axis=1)))
        check_sum(xp.sum(x, axis=0), b, 0)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize(
    "shape", [(3, 70, 300), (5, 1300, 33), (2, 37, 40, 21), (1300, 11, 31), (40, 300, 410)]
)
def test_sums_over_dimensions_that_lie_across_have_the_bits_of_rows(shape, dtype):
    """Chunks of them, which are read as they lie, are added up in the order of the shape."""
    rng = np.random.default_rng(3)
    a = rng.uniform(0.95, 1.05, shape)
    if dtype in COMPLEX:
        a = a * np.exp(1j * rng.uniform(-3, 3, shape))
    a = a.astype(dtype)
    functions = [xp.sum, xp.prod, xp.mean] + [xp.var, xp.max] * (dtype in FLOATS)
    orders = [(0, 2, 1)] if a.size > 10**6 else itertools.permutations(range(a.ndim))
    for order in orders:
        b = a.transpose(order)
        for c in (b, b[::-1, 1:, ::-1]):
            x, row_major = ours(c), xp.asarray(np.ascontiguousarray(c))
            for axes in (None, *itertools.combinations(range(a.ndim), 2)):
                for function in functions:
                    same(function(x, axis=axes), np.asarray(function(row_major, axis=axes)))
                check_sum(xp.sum(x, axis=axes), c, axes)


@pytest.mark.parametrize("dtype", [*DTYPES, *COMPLEX])
def test_results_of_one_element(dtype):
    a = np.asarray([0, 1, 2, 0, -0.0, 3, 1, 0] * 40).astype(dtype).reshape(20, 1, 16)
    for b in (a, a[::-1], a.transpose(2, 1, 0), a.transpose(1, 0, 2)[:, ::2]):
        axis = b.shape.index(1)
        x, row_major = ours(b), xp.asarray(np.repeat(b, 2, axis=axis))
        for function in (xp.any, xp.all):
            same(function(x, axis=axis), np.asarray(function(row_major, axis=axis)))
        same(xp.count_nonzero(x, axis=axis), np.count_nonzero(b, axis=axis))
        if dtype == "bool":
            continue
        for name in ("sum", "prod", *(() if dtype in COMPLEX else ("max", "min"))):
            wide = np.squeeze(b, axis=axis)
            alone = getattr(xp, name)(x, axis=axis)
            assert np.array_equal(np.asarray(alone).astype(wide.dtype), wide)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 9000), (1001, 3000), (37, 20_011), (2050, 600)])
def test_conditions_along_columns_of_long_rows(shape, dtype):
    draw = Draw(11)
    for rare in (0, 1):  # which is where the others are not
        a = np.full(shape, 1 - rare, dtype)
        a[draw.numpy.integers(0, shape[0], 40), draw.numpy.integers(0, shape[1], 40)] = rare
        for view in (a, a[:, 5:-3], a[1::3]):
            for name in ("all", "any", "count_nonzero"):
                expected = getattr(np, name)(view, axis=0)
                same(getattr(xp, name)(ours(view), axis=0), expected)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_conditions_of_complex_numbers(dtype):
    rng = np.random.default_rng(6)
    a = (rng.integers(0, 2, (50, 60)) + 1j * rng.integers(0, 2, (50, 60))).astype(dtype)
    a[3] = 0
    a[:, 5] = np.nan
    a[:, 9] = 1j
    for b in (
        a,
        a.T,
        a[1:-1, ::2],
        a[:, ::-1],
        np.ones((70, 70), dtype),
        np.zeros((70, 70), dtype),
    ):
        x = ours(b)
        for axis in (None, 0, 1, (0, 1)):
            same(xp.any(x, axis=axis), np.asarray(np.any(b, axis=axis)))
            same(xp.all(x, axis=axis), np.asarray(np.all(b, axis=axis)))
            same(xp.count_nonzero(x, axis=axis), np.asarray(np.count_nonzero(b, axis=axis)))
        same(xp.astype(x, xp.bool), b.astype(bool))


def test_short_runs_are_brought_together():
    a = np.arange(52 * 3 * 52 * 4, dtype="float32").reshape(52, 3, 52, 4) % 1013
    b = a[1:-1, 1:, 1:-1, 1:-1]
    x = ours(b)
    for axis in (1, 3, (1, 3), (0, 2)):
        assert xp.all(xp.sum(x, axis=axis) == xp.sum(xp.asarray(b.copy()), axis=axis))
        whole = b.astype("int16") % 7
        for name in ("sum", "prod", "max", "min", "any", "all", "count_nonzero"):
            found = getattr(xp, name)(ours(whole), axis=axis)
            same(found, np.asarray(getattr(np, name)(whole, axis=axis)))
    for axis in range(4):
        same(xp.argmax(x, axis=axis), b.argmax(axis=axis))
    m = b % 3 == 0
    same(x[ours(m)], b[m])
    same(
        ours(b.transpose(3, 1, 0, 2))[ours(m.transpose(3, 1, 0, 2).copy())],
        b.transpose(3, 1, 0, 2)[m.transpose(3, 1, 0, 2)],
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_sums_of_rows_that_lie_backwards_have_the_bits_of_others(dtype):
    draw = np.random.default_rng(11)
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    for n in [63, 64, 127, 128, 129, 255, 256, 257, 300, 511, 513, 1024, 1031, 4099, 70_001]:
        a = (draw.normal(size=(3, n)) * (1 + 1j if "complex" in dtype else 1)).astype(dtype)
        for part in (a[:, ::-1], a[::-1, ::-1], a[1, ::-1], a.T[::-1, ::-1]):
            x, y = ours(part), ours(part.copy())
            for kind in {dtype, wide}:
                for axis in (None, 0, -1):
                    back = xp.sum(x, axis=axis, dtype=getattr(xp, kind))
                    same(back, np.asarray(xp.sum(y, axis=axis, dtype=getattr(xp, kind))))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
def test_sums_of_elements_that_lie_apart_have_the_bits_of_others(step, dtype):
    draw = np.random.default_rng(12)
    wide = {"float32": "float64", "complex64": "complex128"}.get(dtype, dtype)
    for n in [63, 127, 128, 129, 160, 255, 256, 257, 511, 512, 513, 1024, 1031, 4099, 70_001]:
        a = draw.normal(size=(3, n * step)) * (1 + 1j if "complex" in dtype else 1)
        a = a.astype(dtype)
        # Up to the last element of memory; from the first one on.
        for part in (a[:, step - 1 :: step], a[:, ::step], a[1, 1::step]):
            x, y = ours(part), ours(part.copy())
            for kind in {dtype, wide}:
                for axis in (None, -1):
                    apart = xp.sum(x, axis=axis, dtype=getattr(xp, kind))
                    same(apart, np.asarray(xp.sum(y, axis=axis, dtype=getattr(xp, kind))))


def test_sums_of_many_rows_that_lie_backwards():
    a = (np.arange(3000 * 700) % 1013).astype("float32").reshape(3000, 700)
    x = xp.asarray(a)
    for view in (np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[::-1], np.s_[::2, ::-1]):
        for axis in (0, 1, None):
            expected = np.asarray(a[view].sum(axis=axis, dtype="float64"))
            near(xp.sum(x[view], axis=axis), expected, a.dtype, ulps=2)
            same(xp.argmax(x[view], axis=axis), np.asarray(a[view].argmax(axis=axis)))
            same(xp.max(x[view], axis=axis), np.asarray(a[view].max(axis=axis)))
