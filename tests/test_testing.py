"""arrayx.testing: what its assertions accept and refuse, beside numpy.testing and exact arithmetic,
and what their messages say."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strided import DTYPES, REAL, Draw

import arrayx as xp
from arrayx.testing import assert_allclose, assert_array_equal, assert_equal

nan, inf = float("nan"), float("inf")


def accepts(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except AssertionError:
        return False
    return True


def nearest(value, dtype):
    """Return the number of a dtype that is nearest to an int."""
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.asarray(min(max(value, info.min), info.max), dtype)
    limit = float(np.finfo(dtype).max)
    return np.asarray(min(max(float(value), -limit), limit), dtype)


def message(function, *arguments, **options):
    with pytest.raises(AssertionError) as caught:
        function(*arguments, **options)
    return str(caught.value)


@st.composite
def pairs(draw):
    """Two arrays that differ in few places or none."""
    seeded = Draw(draw(st.integers(0, 10**9)))
    dtype = draw(st.sampled_from(DTYPES))
    a = seeded.values(seeded.shape(), dtype)
    b = a.copy()
    if a.size and draw(st.booleans()):
        places = seeded.numpy.integers(0, a.size, 2)
        other = seeded.values(a.shape, dtype)
        with np.errstate(all="ignore"):
            scaled = a * (1 + 1e-6) if a.dtype.kind in "fc" else other
        b.flat[places] = draw(st.sampled_from([other, scaled])).astype(dtype).flat[places]
    return a, b


class TestWhatIsAccepted:
    @given(pairs())
    def test_equality_is_numpys(self, pair):
        a, b = pair
        wanted = accepts(np.testing.assert_array_equal, a, b)
        assert accepts(assert_array_equal, xp.asarray(a), b) == wanted
        assert accepts(assert_array_equal, b, xp.asarray(a), strict=True) == wanted
        assert accepts(assert_equal, [a], (xp.asarray(b),)) == wanted

    @given(pairs(), st.sampled_from([0, 1e-7, 2e-6, 1e-2, 1.5]), st.sampled_from([0, 1e-9, 1, 300]))
    def test_closeness_is_numpys(self, pair, rtol, atol):
        a, b = pair
        exact = np.longdouble if a.dtype.kind in "biuf" else np.clongdouble
        for equal_nan in (True, False):
            options = {"rtol": rtol, "atol": atol, "equal_nan": equal_nan}
            ours = accepts(assert_allclose, xp.asarray(a), xp.asarray(b), **options)
            # NumPy's own differences of integers wrap around.
            wide = a.astype(exact), b.astype(exact)
            with np.errstate(all="ignore"):
                assert ours == accepts(np.testing.assert_allclose, *wide, **options)

    @given(
        st.sampled_from(REAL),
        st.sampled_from(REAL),
        st.sampled_from([0, 1, 2**24, 2**31, 2**53, 2**63, 2**64 - 1, -1, -(2**31), -(2**63)]),
        st.sampled_from([0, 1, -1, 3]),
    )
    @example("int64", "float64", 2**53, 1)
    @example("uint64", "int64", 2**63, -1)
    @example("uint64", "float64", 2**64 - 1, 0)
    @example("int64", "float64", 2**63, 0)
    def test_numbers_of_different_dtypes_are_compared_exactly(self, one, other, value, step):
        a, b = nearest(value, one), nearest(value + step, other)
        x, y = xp.asarray(a), xp.asarray(b)
        apart = abs(Fraction(a.item()) - Fraction(b.item()))
        assert accepts(assert_array_equal, x, y) == (apart == 0)
        assert accepts(assert_allclose, x, y, rtol=0) == (apart == 0)
        assert_allclose(x, y, rtol=0, atol=float(apart) * 1.001)
        # The first float64 beyond int64 or uint64 is one away from the largest integer, which is
        # rounded to it.
        beyond = {2.0**63, 2.0**64} & {a.item(), b.item()}
        if apart > 0 and not beyond:
            assert not accepts(assert_allclose, x, y, rtol=0, atol=float(apart) * 0.999)

    def test_complex_and_real(self):
        assert_array_equal(xp.asarray([1 + 0j]), [1.0])
        assert_array_equal([2**40], xp.asarray([2**40 + 0j]))
        assert not accepts(assert_array_equal, xp.asarray([1 + 1e-300j]), [1.0])
        assert_allclose(xp.asarray([1 + 1e-9j]), [1.0])
        assert_array_equal([complex(nan, 1)], [complex(1, nan)])
        assert_array_equal([True, False], [1.0, 0.0])

    def test_nan_and_infinities(self):
        x = xp.asarray([1.0, nan, inf, -inf])
        assert_allclose(x, [1.0, nan, inf, -inf])
        assert_array_equal(x, [1.0, nan, inf, -inf])
        for other in ([1.0, 1.0, inf, -inf], [1.0, nan, -inf, -inf], [1.0, nan, 1e308, -inf]):
            for rtol in (1e-7, 1e300, inf):
                assert not accepts(assert_allclose, x, other, rtol=rtol)
                assert not accepts(assert_allclose, xp.asarray(other), x, rtol=rtol, atol=1)
        assert not accepts(assert_allclose, x, x, equal_nan=False)
        assert_array_equal(0.0, -0.0)

    def test_scalars_are_compared_with_each_element(self):
        assert_array_equal(xp.ones((2, 3)), 1)
        assert_array_equal(1, xp.ones((2, 3)))
        assert_allclose(xp.ones((2, 0)), 5.0)
        assert not accepts(assert_array_equal, xp.ones(3), [1.0])
        assert not accepts(assert_array_equal, xp.ones((3, 1)), xp.ones(3))
        assert not accepts(assert_array_equal, xp.zeros((0,)), xp.zeros((0, 2)))

    def test_strict(self):
        x = xp.ones(2, dtype=xp.float32)
        assert_array_equal(x, np.ones(2, np.float32), strict=True)
        assert_allclose(x, x, strict=True)
        for other in (1.0, [1.0, 1.0], np.ones(2), xp.ones((1, 2), dtype=xp.float32)):
            for function in (assert_array_equal, assert_allclose, assert_equal):
                assert not accepts(function, x, other, strict=True)

    def test_tolerances_must_make_sense(self):
        for options in ({"rtol": -1}, {"atol": -1e-9}, {"rtol": nan}):
            with pytest.raises(ValueError, match="at least 0"):
                assert_allclose(1.0, 1.0, **options)

    def test_arrays_are_neither_changed_nor_copied_to_numpy(self):
        program = (
            "import sys, arrayx as xp; from arrayx.testing import *;"
            "assert_allclose(xp.ones(3), [1.0] * 3); assert_equal({'a': 1}, {'a': xp.asarray(1)});"
            "sys.exit('numpy' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", program]).returncode == 0


class TestItems:
    def test_equal(self):
        assert_equal({"a": [1, (xp.ones(2), "b")], 2: None}, {2: None, "a": (1, [[1, 1], "b"])})
        assert_equal(nan, nan)
        assert_equal(2**70, 2**70)
        assert_equal("a", "a")
        assert_equal(xp.float32, xp.float32)
        assert_equal([], ())

    @pytest.mark.parametrize(
        ("actual", "desired", "text"),
        [
            ({"a": 1}, {"b": 1}, "the key 'b' is missing"),
            ({"a": 1, "b": 1}, {"a": 1}, "there is a key 'b' too much"),
            ({"a": 1}, [1], "a dict is not a list"),
            ([1, 2], [1], "the length is 2, not 1"),
            ([1, [2, "x"]], [1, [2, "y"]], "item [1][1]: 'x' is not equal to 'y'"),
            ({"a": (1, 2)}, {"a": (1, 3)}, "item ['a'][1]\narrays are not equal\n"),
            (xp.ones(1, device="cpu"), "text", "array([1.]) is not equal to 'text'"),
            (None, 0, "None is not equal to 0"),
            (2**70, 2**71, f"{2**70} is not equal to {2**71}"),
            (xp.float32, xp.float64, "arrayx.float32 is not equal to arrayx.float64"),
        ],
    )
    def test_different(self, actual, desired, text):
        assert message(assert_equal, actual, desired).startswith(text)
        assert message(assert_equal, actual, desired, "note").startswith("note\n" + text)


class TestMessages:
    @pytest.mark.cpu
    def test_of_numbers(self):
        x = xp.reshape(xp.arange(6.0), (2, 3))
        y = xp.asarray(x, copy=True)
        y[0, 2] = 2.5
        y[1, 1] = 8.0
        assert message(assert_allclose, x, y, 1e-3, err_msg="of x", atol=0.25).splitlines() == [
            "of x",
            "not equal to tolerance rtol=0.001, atol=0.25",
            "Mismatched elements: 2 / 6 (33.33%)",
            "Largest absolute difference: 4",
            "Largest relative difference: 0.5",
            "First differences:",
            "  [0, 2]: 2.0, not 2.5",
            "  [1, 1]: 4.0, not 8.0",
            "actual:  array([[0., 1., 2.],",
            "                [3., 4., 5.]])",
            "desired: array([[0. , 1. , 2.5],",
            "                [3. , 8. , 5. ]])",
        ]

    def test_only_the_mismatches_are_measured(self):
        text = message(assert_allclose, [1.0, 1e10], [2.0, 1e10 + 5])
        assert "Mismatched elements: 1 / 2 (50%)" in text
        assert "Largest absolute difference: 1\n" in text

    def test_many_differences_and_large_arrays(self):
        text = message(assert_array_equal, xp.arange(100_000), 0)
        assert "Mismatched elements: 99999 / 100000 (100%)" in text
        assert text.count(", not 0") == 5
        assert "  [5]: 5, not 0\n  and 99994 more\n" in text
        assert "..., " in text and len(text) < 1000
        assert "relative" not in text, "there is none to zero"

    def test_nan_and_infinities(self):
        text = message(assert_array_equal, [nan, 1.0, inf, 5.0], [1.0, nan, 2.0, 7.0])
        assert "NaN only in actual: 1, only in desired: 1\n" in text
        assert "Largest absolute difference: 2\n" in text, "what is not finite is left out"
        assert "  [2]: inf, not 2.0\n" in text
        assert "Largest" not in message(assert_allclose, [inf], [1.0])

    def test_integers_beyond_float64(self):
        text = message(assert_array_equal, xp.asarray([2**63 - 1]), xp.asarray([2**63 - 2]))
        assert "Largest absolute difference: 1\n" in text
        text = message(assert_array_equal, xp.asarray([-(2**63)]), xp.asarray([2**63 - 1]))
        assert "Largest absolute difference: 1.84467e+19\n" in text
        text = message(assert_array_equal, xp.asarray([2**64 - 1], dtype=xp.uint64), [-1])
        assert "  [0]: 18446744073709551615, not -1\n" in text

    def test_booleans_and_rank_0(self):
        text = message(assert_array_equal, xp.asarray(True), xp.asarray(False), "", False)
        assert text.splitlines() == [
            "arrays are not equal",
            "Mismatched elements: 1 / 1 (100%)",
            "First differences:",
            "  True, not False",
        ]

    def test_shape_dtype_and_both(self):
        assert "The shape is (2,), not (2, 1)\n" in message(assert_array_equal, [1, 2], [[1], [2]])
        text = message(assert_array_equal, xp.ones(2), xp.ones(3, dtype=xp.int8), strict=True)
        assert "The shape is (2,), not (3,)\nThe dtype is float64, not int8\n" in text
        assert "Mismatched" not in text
