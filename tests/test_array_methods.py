"""The methods that forward to functions, compared with those of NumPy's arrays."""

import numpy as np
import pytest
from checks import same
from strided import shares_memory

import arrayx as xp
from arrayx._array_methods import methods

A = np.asarray([[3.0, -1.0, 2.0], [0.5, 7.0, -4.0]])


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


WITH_OUT = [
    ("all", {}),
    ("any", {}),
    ("argmax", {}),
    ("argmin", {}),
    ("clip", {"min": -1, "max": 2}),
    ("cumprod", {}),
    ("cumsum", {}),
    ("max", {}),
    ("mean", {}),
    ("min", {}),
    ("prod", {}),
    ("std", {}),
    ("sum", {}),
    ("var", {}),
]


@pytest.mark.parametrize(("name", "keywords"), WITH_OUT)
def test_results_are_written_to_out(name, keywords):
    along = {} if name == "clip" else {"axis": 1}
    expected = getattr(A, name)(**keywords, **along)
    memory = xp.zeros((*expected.shape[:-1], 2 * expected.shape[-1]), dtype=expected.dtype)
    out = memory[..., ::-2]
    x = xp.asarray(A)
    assert getattr(x, name)(out=out, **keywords, **along) is out
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-14)
    assert not np.asarray(memory[..., ::2]).any()
    plain = getattr(x, name)(**keywords, **along)
    assert getattr(x, name)(out=None, **keywords, **along).tolist() == plain.tolist()
    assert getattr(np, name)(x, *keywords.values(), **along).tolist() == plain.tolist()


def test_out_follows_the_rules_of_assignment():
    x = xp.asarray(A)
    out = xp.zeros(3, dtype=xp.float32)
    assert x.sum(axis=0, out=out) is out
    same(out, A.sum(axis=0).astype("float32"))
    for bad, error in [
        (xp.zeros(3, dtype=xp.int64), TypeError),
        (xp.zeros(4), ValueError),
        (xp.zeros(()), ValueError),
        (xp.zeros((2, 3)), ValueError),
        (xp.zeros((1, 3)), ValueError),
        (xp.broadcast_to(xp.asarray(0.0), (3,)), ValueError),
    ]:
        before = bad.tolist()
        with pytest.raises(error):
            x.sum(axis=0, out=bad)
        assert bad.tolist() == before
    y = xp.asarray(A, copy=True)
    assert y.cumsum(axis=1, out=y) is y  # onto itself
    same(y, A.cumsum(axis=1))
    z = xp.asarray([1, 2, 3])
    z.clip(2, out=z)
    same(z, np.asarray([2, 2, 3]))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_statistics_in_another_dtype(name, dtype):
    integers = np.asarray([[3, -1, 2], [0, 7, -4]])
    for a in (A, A.astype("float32"), integers):
        for axis in (None, 0):
            expected = getattr(a, name)(axis=axis, dtype=dtype)
            x = getattr(xp.asarray(a), name)(axis=axis, dtype=getattr(xp, dtype))
            assert x.dtype == np.dtype(dtype) and x.shape == expected.shape
            np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-6)
            positional = getattr(xp.asarray(a), name)(axis, getattr(xp, dtype))
            assert positional.tolist() == x.tolist()


def test_dtype_and_out_in_numpys_order():
    x, out = xp.asarray([[1, 2], [3, 5]]), xp.zeros(2)
    assert x.var(0, xp.float64, out, 1) is out
    same(out, np.asarray([2.0, 4.5]))
    assert x.sum(0, xp.float64, out, keepdims=False) is out
    same(out, np.asarray([4.0, 7.0]))
    assert x.max(0, out) is out
    same(out, np.asarray([3.0, 5.0]))
    with pytest.raises(TypeError):
        x.mean()
    assert x.mean(dtype=xp.float64).item() == 2.75
    with pytest.raises(TypeError):
        xp.asarray([1j]).var(dtype=xp.float64)


def test_squeeze_without_an_axis_drops_every_dimension_of_size_one():
    for shape in [(1,), (1, 1), (2, 1, 3, 1), (0, 1), (), (2, 3)]:
        a = np.zeros(shape)
        assert xp.asarray(a).squeeze().shape == a.squeeze().shape
        assert xp.squeeze(xp.asarray(a)).shape == a.squeeze().shape
    x = xp.ones((1, 2, 1))
    assert x.squeeze(0).shape == (2, 1) and x.squeeze((0, -1)).shape == (2,)
    with pytest.raises(ValueError, match="size"):
        x.squeeze(1)


def test_sums_of_truth_count():
    a = A > 0
    same(xp.asarray(a).sum(), a.sum())
    same(xp.asarray(a).sum(axis=1, keepdims=True), a.sum(axis=1, keepdims=True))
    same(xp.asarray(a).sum(axis=0, dtype=xp.uint8), a.sum(axis=0, dtype="uint8"))
    same(xp.asarray(a).prod(axis=1), a.prod(axis=1))
    with pytest.raises(TypeError, match="bool"):
        xp.asarray(a).cumsum()


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
        assert shares_memory(x, view)
    for copy in (x.flatten(), x.copy(), x.astype(xp.float64), x.round(), x.repeat(1)):
        assert not shares_memory(x, copy)
    assert shares_memory(x, x.astype(xp.float64, copy=False))


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
