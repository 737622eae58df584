"""What consumers ask of the standard's functions beyond it: NumPy's keywords, lists, dtype names."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from numpy.lib import stride_tricks

import arrayx as xp
from arrayx.lib.stride_tricks import sliding_window_view

A = np.asarray([[3, 1, 4], [1, 5, 9]])


def same(ours: Any, theirs: Any) -> None:
    theirs = np.asarray(theirs)
    assert type(ours) is xp.Array
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-14)


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_means_compute_in_the_dtype_named(name: str, axis: Any) -> None:
    ours, theirs = getattr(xp, name), getattr(np, name)
    same(ours(xp.asarray(A), axis=axis, dtype=xp.float64), theirs(A, axis=axis, dtype=np.float64))
    single = A.astype(np.float32)
    same(ours(xp.asarray(single), dtype=xp.float64), theirs(A.astype(np.float64)))


def test_a_dtype_named_does_not_lift_the_rule_on_dtypes() -> None:
    for function in (xp.mean, xp.var, xp.std):
        with pytest.raises(TypeError, match="int64"):
            function(xp.asarray(A))
        with pytest.raises(TypeError, match="int32"):
            function(xp.asarray(A), dtype=xp.int32)


@pytest.mark.parametrize("name", ["var", "std"])
def test_ddof_is_numpys_word_for_correction(name: str) -> None:
    x = A.astype(np.float64)
    for ddof in (0, 1, 0.5):
        same(
            getattr(xp, name)(xp.asarray(x), axis=1, ddof=ddof), getattr(np, name)(x, 1, ddof=ddof)
        )


@pytest.mark.parametrize("name", ["any", "all"])
def test_any_and_all_write_to_out(name: str) -> None:
    function = getattr(xp, name)
    x = xp.asarray(A > 1)
    out = xp.zeros(3, dtype=xp.bool)
    assert function(x, axis=0, out=out) is out
    same(out, getattr(np, name)(A > 1, axis=0))
    same(function(x, out=None), getattr(np, name)(A > 1))


def test_full_like_in_another_shape() -> None:
    x = xp.asarray(A)
    same(xp.full_like(x, 7, shape=(4, 1)), np.full_like(A, 7, shape=(4, 1)))
    same(xp.full_like(x, 0.5, shape=2, dtype=xp.float32), np.full(2, 0.5, np.float32))
    with pytest.raises(TypeError, match="fill_value"):
        xp.full_like(x, 0.5, shape=(2,))


def test_isin_looks_among_the_elements_of_a_list() -> None:
    x = xp.asarray(A)
    same(xp.isin(x, [1, 9]), np.isin(A, [1, 9]))
    same(xp.isin(x, (1.0, 2.5), invert=True), np.isin(A, [1.0, 2.5], invert=True))
    same(xp.isin(x, []), np.isin(A, []))


@pytest.mark.parametrize("dtype", [d.name for d in xp.__array_namespace_info__().dtypes().values()])
def test_dtypes_are_known_by_their_names(dtype: str) -> None:
    wanted = getattr(xp, dtype)
    assert xp.zeros(2, dtype=dtype).dtype == wanted
    assert xp.asarray([1, 0], dtype=dtype).dtype == wanted
    assert xp.asarray([True]).astype(dtype).dtype == wanted
    assert xp.result_type(dtype, dtype) == wanted
    for wrong in (dtype.upper(), f" {dtype}", f"{dtype}\0", ""):
        with pytest.raises(TypeError):
            xp.zeros(2, dtype=wrong)


@pytest.mark.parametrize(
    "arguments", [(2, 0), (3, -1), ((1, 2),), ((2, 2), (1, 1)), ((2, 3), (-2, 1)), (0, 1)]
)
def test_sliding_windows(arguments: Any) -> None:
    same(
        sliding_window_view(xp.asarray(A), *arguments),
        stride_tricks.sliding_window_view(A, *arguments),
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [((3, 0), ValueError), ((-1, 0), ValueError), (((1, 1), 0), ValueError), ((1, 2), IndexError)],
)
def test_windows_that_do_not_fit(arguments: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        sliding_window_view(xp.asarray(A), *arguments)


def test_an_array_of_numpy_is_not_changed_in_place_by_one_of_ours() -> None:
    theirs = np.ones(2)
    with pytest.raises(TypeError):
        operator.iadd(theirs, xp.ones(2))
    np.testing.assert_array_equal(theirs, 1.0)
