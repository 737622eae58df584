"""The methods that forward to functions, compared with those of NumPy's arrays."""

import numpy as np
import pytest

import arrayx as xp
from arrayx._array_methods import methods

A = np.asarray([[3.0, -1.0, 2.0], [0.5, 7.0, -4.0]])


def same(x, expected):
    expected = np.asarray(expected)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(x), expected)


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("all", (), {}),
        ("any", (0,), {}),
        ("argmax", (), {}),
        ("argmin", (1,), {}),
        ("argsort", (), {}),
        ("argsort", (0,), {}),
        ("clip", (0, 3), {}),
        ("clip", (), {"max": 1.0}),
        ("conj", (), {}),
        ("conjugate", (), {}),
        ("cumprod", (), {}),
        ("cumsum", (), {}),
        ("cumsum", (0,), {}),
        ("cumsum", (), {"axis": 1}),
        ("diagonal", (), {}),
        ("diagonal", (1,), {}),
        ("dot", (A.T,), {}),
        ("dot", (A[0],), {}),
        ("dot", (2.0,), {}),
        ("flatten", (), {}),
        ("max", (), {"axis": 0}),
        ("max", (1,), {"keepdims": True}),
        ("mean", (0,), {}),
        ("min", (), {}),
        ("prod", (), {}),
        ("ravel", (), {}),
        ("repeat", (2,), {}),
        ("repeat", (2, 0), {}),
        ("reshape", (3, 2), {}),
        ("reshape", ((3, -1),), {}),
        ("reshape", (-1,), {}),
        ("round", (), {}),
        ("squeeze", (), {}),
        ("std", (), {"ddof": 1}),
        ("sum", (), {}),
        ("sum", (0,), {}),
        ("sum", ((0, 1),), {"keepdims": True}),
        ("swapaxes", (0, -1), {}),
        ("take", ([0, 5],), {}),
        ("take", (1,), {"axis": 1}),
        ("take", ([[0], [2]], 1), {}),
        ("trace", (), {}),
        ("trace", (1,), {}),
        ("transpose", (), {}),
        ("transpose", (1, 0), {}),
        ("transpose", ((-1, 0),), {}),
        ("var", (), {"axis": 1}),
    ],
)
def test_methods_are_numpys(name, arguments, keywords):
    ours = [xp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    x = getattr(xp.asarray(A), name)(*ours, **keywords)
    expected = getattr(A, name)(*arguments, **keywords)
    assert x.shape == expected.shape
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-14)


def test_all_methods_are_there_and_documented():
    for name, method in methods.items():
        assert getattr(xp.Array, name) is method
        assert method.__doc__.rstrip().endswith(".")


def test_correction_is_another_word_for_ddof():
    x = xp.asarray(A)
    assert x.var(ddof=1) == x.var(correction=1)
    assert x.std(axis=0, correction=1).shape == (3,)


def test_what_changes_the_array_itself():
    x = xp.asarray(A, copy=True)
    assert x.sort() is None
    same(x, np.sort(A))
    x.sort(axis=0, descending=True)
    same(x, np.sort(np.sort(A), axis=0)[::-1])
    assert x.fill(2) is None
    same(x, np.full((2, 3), 2.0))


def test_views_and_copies():
    x = xp.asarray(A, copy=True)
    for view in (
        x.T,
        x.transpose(),
        x.ravel(),
        x.reshape(6),
        x.diagonal(),
        x.squeeze(),
        x.swapaxes(0, 1),
    ):
        assert np.shares_memory(np.asarray(x), np.asarray(view))
    for copy in (x.flatten(), x.copy(), x.astype(xp.float64), x.round(), x.repeat(1)):
        assert not np.shares_memory(np.asarray(x), np.asarray(copy))
    assert x.astype(xp.float64, copy=False) is x or np.shares_memory(
        np.asarray(x), np.asarray(x.astype(xp.float64, copy=False))
    )


def test_searching_methods():
    x = xp.asarray([1, 3, 0, 5])
    assert x.nonzero()[0].tolist() == [0, 1, 3]
    assert xp.sort(x).searchsorted(xp.asarray([3, 4]), side="right").tolist() == [3, 3]


def test_zero_sizes():
    x = xp.zeros((0, 3))
    assert x.ravel().shape == x.flatten().shape == (0,)
    assert x.sum().tolist() == 0
    assert x.transpose().shape == (3, 0)
    assert xp.asarray(1).transpose().shape == ()


def test_bad_axes():
    x = xp.asarray(A)
    with pytest.raises(IndexError, match="swapaxes"):
        x.swapaxes(0, 2)
    with pytest.raises(ValueError, match="permute_dims"):
        x.transpose(0)
    with pytest.raises(IndexError):
        x.sum(axis=2)
