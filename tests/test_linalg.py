"""The linalg extension: against NumPy on random stacks of every dtype, size and layout; factors that
multiply to what was factored; norms whose squares would overflow; matrices without a result."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arrayx as xp
from arrayx import _core

FLOATING = ["float32", "float64", "complex64", "complex128"]
LAYOUTS = ["plain", "transposed", "reversed", "strided", "broadcast"]
SIZES = [0, 1, 2, 3, 5, 8, 33, 70]


def eps(dtype):
    return float(np.finfo(dtype).eps)


def random(rng, shape, dtype):
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def laid_out(a, layout):
    """An arrayx array equal to `a` that lies in memory in another way; and `a` as it is there."""
    if layout == "transposed":
        return xp.matrix_transpose(xp.asarray(np.ascontiguousarray(a.swapaxes(-1, -2)))), a
    if layout == "reversed":
        return xp.asarray(np.ascontiguousarray(a[..., ::-1, ::-1]))[..., ::-1, ::-1], a
    if layout == "strided":
        wide = np.zeros((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]), a.dtype)
        wide[..., ::2, ::3] = a
        return xp.asarray(wide)[..., ::2, ::3], a
    if layout == "broadcast" and a.ndim > 2 and a.shape[0] > 0:
        return xp.broadcast_to(xp.asarray(a[0]), a.shape), np.broadcast_to(a[0], a.shape)
    return xp.asarray(a), a


def host(x):
    return np.asarray(x)


def close(x, expected, tolerance):
    """Whether the difference is within `tolerance` of the largest element."""
    x, expected = host(x), np.asarray(expected)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype
    if expected.size:
        scale = max(float(np.max(np.abs(expected))), 1e-30)
        assert float(np.max(np.abs(x - expected))) <= tolerance * scale


@st.composite
def stacks(draw, square=False):
    dtype = draw(st.sampled_from(FLOATING))
    m = draw(st.sampled_from(SIZES))
    n = m if square else draw(st.sampled_from(SIZES))
    stack = draw(st.sampled_from([(), (1,), (4,), (2, 3), (0,), (2, 0)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return laid_out(random(rng, (*stack, m, n), dtype), draw(st.sampled_from(LAYOUTS)))


def tolerance(a, factor=20):
    return factor * max(a.shape[-2:], default=1) * eps(a.dtype)


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def unit(a):
    return np.broadcast_to(np.eye(a.shape[-1]), (*a.shape[:-2], a.shape[-1], a.shape[-1]))


# ---- solutions ----------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(stacks(square=True), st.sampled_from([0, 1, 2, 7]), st.sampled_from(LAYOUTS))
def test_solve_gives_what_numpy_gives(stack, k, layout):
    x, a = stack
    rng = np.random.default_rng(1)
    right, b = laid_out(random(rng, (*a.shape[:-1], k), a.dtype), layout)
    result = xp.linalg.solve(x, right)
    assert host(result).shape == b.shape
    assert host(result).dtype == a.dtype
    if b.size:
        residual = np.max(np.abs(a @ host(result) - b))
        scale = np.max(np.abs(a)) * np.max(np.abs(host(result))) + np.max(np.abs(b))
        assert residual <= tolerance(a) * scale


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ((3, 3), (3,), (3,)),
        ((2, 3, 3), (3,), (2, 3)),
        ((2, 3, 3), (2, 3), None),  # two dimensions are a matrix, never a stack of vectors
        ((3, 3, 3), (3, 3), (3, 3, 3)),
        ((2, 1, 3, 3), (4, 3, 2), (2, 4, 3, 2)),
        ((3, 3), (4, 5, 3, 2), (4, 5, 3, 2)),
        ((3, 3), (0, 3, 2), (0, 3, 2)),
        ((0, 0), (0,), (0,)),
        ((0, 0), (0, 4), (0, 4)),
        ((5, 0, 0), (0, 4), (5, 0, 4)),
    ],
)
def test_solve_takes_only_one_dimension_for_a_vector(a, b, result):
    rng = np.random.default_rng(2)
    x1, x2 = random(rng, a, "float64"), random(rng, b, "float64")
    if result is None:
        with pytest.raises(ValueError, match="do not fit: x1 has 3 rows and x2 2"):
            xp.linalg.solve(xp.asarray(x1), xp.asarray(x2))
        return
    out = host(xp.linalg.solve(xp.asarray(x1), xp.asarray(x2)))
    assert out.shape == result
    column = x2[:, None] if x2.ndim == 1 else x2
    expected = np.linalg.solve(x1, column)
    np.testing.assert_allclose(out, expected[..., 0] if x2.ndim == 1 else expected, rtol=1e-10)


def test_solve_promotes():
    x = xp.asarray(np.eye(2, dtype="float32"))
    assert xp.linalg.solve(x, xp.asarray([1j, 2.0])).dtype == xp.complex128


@settings(max_examples=150, deadline=None)
@given(stacks(square=True))
def test_inverse_and_determinant_give_what_numpy_gives(stack):
    x, a = stack
    condition = float(np.max(np.linalg.cond(a.astype("complex128")))) if a.size else 1.0
    bound = tolerance(a) * condition
    if a.size:
        close(xp.linalg.inv(x), np.linalg.inv(a), bound)
    else:
        assert xp.linalg.inv(x).shape == a.shape
    sign, log = np.linalg.slogdet(a)
    result = xp.linalg.slogdet(x)
    assert result._fields == ("sign", "logabsdet")
    assert host(result.sign).dtype == sign.dtype
    assert host(result.logabsdet).dtype == log.dtype
    np.testing.assert_allclose(host(result.sign), sign, atol=max(bound, 1e-6))
    np.testing.assert_allclose(host(result.logabsdet), log, atol=bound, rtol=1e-5)
    determinant = host(xp.linalg.det(x))
    assert determinant.dtype == a.dtype
    assert determinant.shape == log.shape
    fits = log < 80  # in float32 too
    close(determinant[fits], (sign[fits] * np.exp(log[fits])).astype(a.dtype), 1000 * bound)


@pytest.mark.parametrize("dtype", FLOATING)
def test_many_of_the_smallest_matrices_have_the_bits_of_few(dtype):
    for n in (1, 2, 3, 4):
        a = random(np.random.default_rng(n), (5000, n, n), dtype)
        a[7] = 0
        x, parts = xp.asarray(a), (slice(0, 900), slice(900, 1800), slice(4300, None))
        for function in (xp.linalg.det, lambda m: xp.linalg.slogdet(m).logabsdet):
            whole = host(function(x))
            for part in parts:
                assert whole[part].tobytes() == host(function(x[part])).tobytes()
        assert complex(xp.linalg.det(x)[7]) == 0
        with pytest.raises(xp.linalg.LinAlgError):
            host(xp.linalg.inv(x))
        x[7, ...] = xp.eye(n, dtype=x.dtype)
        b = xp.asarray(random(np.random.default_rng(9), (5000, n, 2), dtype))
        inverse, solved = host(xp.linalg.inv(x)), host(xp.linalg.solve(x, b))
        for part in parts:
            assert inverse[part].tobytes() == host(xp.linalg.inv(x[part])).tobytes()
            assert solved[part].tobytes() == host(xp.linalg.solve(x[part], b[part])).tobytes()
        close(xp.matmul(x, xp.asarray(solved)), host(b), 1e6 * eps(dtype))


# On a GPU the fewer threads have a matrix the more there are, and the larger they are; on a CPU each
# matrix is as any other.
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("n", [17, 24, 33, 48, 64])
def test_few_and_many_matrices_are_solved_alike(n, dtype):
    rng = np.random.default_rng(n)
    a = random(rng, (1500, n, n), dtype)
    a += (4 * n**0.5 * np.eye(n)[rng.permutation(n)]).astype(dtype)
    b = random(rng, (1500, n, 3), dtype)
    sign, log = np.linalg.slogdet(a)
    bound = tolerance(a, 100)
    for count in (1, 200, 700, 1500) if _core.default_device() != "cpu" else (1, 200):
        x = xp.asarray(a[:count])
        products = host(xp.matmul(x, xp.linalg.inv(x)))
        close(products, np.broadcast_to(np.eye(n, dtype=dtype), products.shape), bound)
        close(xp.matmul(x, xp.linalg.solve(x, xp.asarray(b[:count]))), b[:count], bound)
        result = xp.linalg.slogdet(x)
        close(result.sign, sign[:count], bound)
        close(result.logabsdet, log[:count], bound)


@pytest.mark.parametrize("dtype", FLOATING)
def test_determinant_does_not_overflow_on_the_way(dtype):
    big = 1e30 if eps(dtype) > 1e-10 else 1e200
    x = xp.asarray(np.diag([big, big, 1 / big, 1 / big]).astype(dtype))
    assert complex(xp.linalg.det(x)) == pytest.approx(1, rel=1e-5)
    tiny = xp.asarray(np.diag([1 / big] * 3 + [-1]).astype(dtype))
    sign, log = xp.linalg.slogdet(tiny)
    assert complex(sign) == -1
    assert float(log) == pytest.approx(-3 * math.log(big), rel=1e-6)
    assert complex(xp.linalg.det(tiny)) == 0


@pytest.mark.parametrize("dtype", FLOATING)
def test_determinant_of_singular_and_of_empty_matrices(dtype):
    x = xp.asarray(np.array([[[0, 0], [0, -1]], [[1, 2], [2, 4]]], dtype=dtype))
    det = host(xp.linalg.det(x))
    assert det.tolist() == [0, 0]
    assert not np.signbit(det.real).any()
    sign, log = xp.linalg.slogdet(x)
    assert host(sign).tolist() == [0, 0]
    assert host(log).tolist() == [-math.inf] * 2
    nothing = xp.zeros((3, 0, 0), dtype=getattr(xp, dtype))
    assert host(xp.linalg.det(nothing)).tolist() == [1] * 3
    assert host(xp.linalg.slogdet(nothing).sign).tolist() == [1] * 3
    assert host(xp.linalg.slogdet(nothing).logabsdet).tolist() == [0] * 3


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 7, 10])
def test_matrix_power(dtype, n):
    rng = np.random.default_rng(3)
    a = random(rng, (4, 3, 3), dtype) / 2 + 2 * np.eye(3, dtype=dtype)
    expected = np.linalg.matrix_power(a.astype("complex128"), n)
    expected = expected if np.dtype(dtype).kind == "c" else expected.real
    close(xp.linalg.matrix_power(xp.asarray(a), n), expected.astype(dtype), 1000 * eps(dtype))


def test_matrix_power_of_one_is_a_copy():
    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    y = xp.linalg.matrix_power(x, 1)
    y[0, 0] = 9.0
    assert float(x[0, 0]) == 1


# ---- factorisations -------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(stacks(square=True), st.booleans())
def test_cholesky_factors(stack, upper):
    _, a = stack
    n = a.shape[-1]
    a = a @ adjoint(a) + n * np.eye(n, dtype=a.dtype)
    below = np.tri(n, k=-1).astype(bool)
    other = below if upper else below.T
    x = a.copy()
    x[..., other] = np.nan  # not read
    factor = host(xp.linalg.cholesky(xp.asarray(x), upper=upper))
    assert factor.shape == a.shape
    assert factor.dtype == a.dtype
    assert (factor[..., other] == 0).all()
    close(adjoint(factor) @ factor if upper else factor @ adjoint(factor), a, tolerance(a))


# Around the rows of a block that is factored at once, whole vectors, and tiles of products.
BLOCKS = [1, 9, 31, 32, 33, 63, 65, 96, 97, 129, 200, 321]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [*BLOCKS, 1100])
def test_cholesky_takes_a_matrix_in_blocks(n, dtype, upper):
    a = random(np.random.default_rng(n), (2 if n < 1000 else 1, n, n), "float64")
    a = (a @ adjoint(a) / n + np.eye(n)).astype(dtype)
    below = np.tri(n, k=-1).astype(bool)
    a[..., below if upper else below.T] = np.nan  # not read
    factor = host(xp.linalg.cholesky(xp.asarray(a), upper=upper))
    assert not factor[..., below if upper else below.T].any()
    expected = np.linalg.cholesky((a if upper else adjoint(a)).astype("float64"), upper=True)
    close(factor, (expected if upper else adjoint(expected)).astype(dtype), tolerance(a))
    for layout in LAYOUTS[:-1]:
        x = laid_out(a, layout)[0]
        assert host(xp.linalg.cholesky(x, upper=upper)).tobytes() == factor.tobytes()


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("n", BLOCKS)
def test_cholesky_names_the_matrix_that_a_late_pivot_shows(n, upper):
    rng = np.random.default_rng(n)
    factor = np.tril(random(rng, (n, n), "float64"), -1) / n + np.eye(n)
    good = factor @ factor.T
    words = r"matrix \(1,\) of x.* is not positive definite"
    for k in sorted({0, 30, 31, 32, 33, 64, n // 2, n - 1} & set(range(n))):
        values = [good[k, k] - 1.5, math.nan, math.inf, -math.inf]  # 0.5 less than has a root
        for at, value in [(k, v) for v in values] + [(n - 1, math.nan), (n - 1, math.inf)]:
            bad = good.copy()
            bad[(k, at) if upper else (at, k)] = value
            with pytest.raises(xp.linalg.LinAlgError, match=words):
                xp.linalg.cholesky(xp.asarray(np.stack([good, bad])), upper=upper)
    with pytest.raises(xp.linalg.LinAlgError, match="is not positive definite"):
        xp.linalg.cholesky(xp.zeros((n, n)), upper=upper)


@settings(max_examples=150, deadline=None)
@given(stacks(), st.sampled_from(["reduced", "complete"]))
def test_qr_factors(stack, mode):
    x, a = stack
    result = xp.linalg.qr(x, mode=mode)
    assert result._fields == ("Q", "R")
    q, r = host(result.Q), host(result.R)
    m, n = a.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    assert q.shape == (*a.shape[:-2], m, k)
    assert r.shape == (*a.shape[:-2], k, n)
    assert q.dtype == r.dtype == a.dtype
    close(q @ r, a, tolerance(a))
    np.testing.assert_allclose(adjoint(q) @ q, unit(adjoint(q) @ q), atol=tolerance(a))
    assert (np.tril(r, -1) == 0).all()
    assert (np.diagonal(r, axis1=-2, axis2=-1).imag == 0).all()
    expected = np.abs(np.diagonal(np.linalg.qr(a).R, axis1=-2, axis2=-1))
    close(np.abs(np.diagonal(r, axis1=-2, axis2=-1)), expected, 100 * tolerance(a))


@settings(max_examples=100, deadline=None)
@given(stacks(square=True))
def test_eigh_diagonalises(stack):
    _, a = stack
    a = a + adjoint(a)
    above = np.tri(a.shape[-1], k=-1).T.astype(bool)
    x = a.copy()
    x[..., above] = np.nan  # not read
    result = xp.linalg.eigh(xp.asarray(x))
    assert result._fields == ("eigenvalues", "eigenvectors")
    values, vectors = map(host, result)
    assert vectors.dtype == a.dtype
    close(values, np.linalg.eigvalsh(a), tolerance(a))
    close(a @ vectors, vectors * values[..., None, :], tolerance(a, 40))
    np.testing.assert_allclose(adjoint(vectors) @ vectors, unit(a), atol=tolerance(a))
    close(xp.linalg.eigvalsh(xp.asarray(x)), values, tolerance(a))


@settings(max_examples=100, deadline=None)
@given(stacks(square=True))
def test_eig_finds_eigenvectors(stack):
    x, a = stack
    result = xp.linalg.eig(x)
    assert result._fields == ("eigenvalues", "eigenvectors")
    values, vectors = map(host, result)
    dtype = "complex64" if eps(a.dtype) > 1e-10 else "complex128"
    assert values.dtype == vectors.dtype == dtype
    assert values.shape == a.shape[:-1]
    assert vectors.shape == a.shape
    if a.size:
        scale = float(np.max(np.linalg.norm(a, axis=(-2, -1))))
        residual = a @ vectors - vectors * values[..., None, :]
        assert float(np.max(np.abs(residual))) <= tolerance(a) * scale
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, rtol=tolerance(a))
    only = host(xp.linalg.eigvals(x))
    assert only.dtype == dtype
    assert only.shape == values.shape
    if a.size:  # every value has a near one among the others
        near = np.min(np.abs(only[..., :, None] - values[..., None, :]), axis=-1)
        assert float(np.max(near)) <= 1000 * tolerance(a) * max(float(np.max(np.abs(only))), 1)


# Alone they come from a part of the same Schur form: each matrix of a stack has its own blocks. (Where
# a vector's norm is out of range the vectors are LAPACK's, and the last bits may differ.)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 32])
def test_eigenvalues_alone_are_those_beside_eigenvectors(dtype, n):
    rng = np.random.default_rng(n)
    a = rng.standard_normal((40, n, n)).astype(dtype)
    a[::3] += np.tri(n, k=n // 2, dtype=dtype) * 5
    a[1::5] *= (np.arange(n) + 1.0).astype(dtype) ** 2
    values = host(xp.linalg.eigvals(xp.asarray(a)))
    np.testing.assert_array_equal(values, host(xp.linalg.eig(xp.asarray(a)).eigenvalues))
    order = rng.permutation(40)
    np.testing.assert_array_equal(host(xp.linalg.eigvals(xp.asarray(a[order]))), values[order])
    near = np.abs(values[..., :, None] - np.linalg.eigvals(a)[..., None, :])
    scale = np.linalg.norm(a, axis=(-2, -1))[:, None]
    assert float(np.max(near.min(axis=-1) / scale)) <= 1000 * tolerance(a)
    assert float(np.max(near.min(axis=-2) / scale)) <= 1000 * tolerance(a)


@settings(max_examples=150, deadline=None)
@given(stacks(), st.booleans())
def test_svd_factors(stack, full):
    x, a = stack
    result = xp.linalg.svd(x, full_matrices=full)
    assert result._fields == ("U", "S", "Vh")
    u, s, vh = map(host, result)
    m, n = a.shape[-2:]
    k = min(m, n)
    assert u.shape == (*a.shape[:-2], m, m if full else k)
    assert vh.shape == (*a.shape[:-2], n if full else k, n)
    assert u.dtype == vh.dtype == a.dtype
    close(s, np.linalg.svd(a, compute_uv=False), tolerance(a))
    close(xp.linalg.svdvals(x), s, tolerance(a))
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, tolerance(a))
    np.testing.assert_allclose(adjoint(u) @ u, unit(adjoint(u) @ u), atol=tolerance(a))
    np.testing.assert_allclose(vh @ adjoint(vh), unit(vh @ adjoint(vh)), atol=tolerance(a))


# What rotations in several lanes at once must not mistake: zeros, ranks below full, equal values,
# rows of very different sizes, numbers whose squares are lost.
def awkward_matrices(m, n, dtype):
    rng = np.random.default_rng(m + 100 * n)
    a = rng.standard_normal((m, n))
    tiny = np.finfo(dtype).smallest_normal
    large = np.finfo(dtype).max
    graded = a * 10.0 ** -np.arange(m)[:, None]
    repeated = np.eye(m, n) * 3 + 1e-12 * a
    return [
        a,
        np.zeros((m, n)),
        np.ones((m, n)),
        a[:, :1] * a[:1, :],
        np.eye(m, n),
        repeated,
        graded,
        a * (tiny * 1000),
        a * (large / 1000),
        -np.eye(m, n),
        1.0 + 1e-9 * a,
    ]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("m", "n"), [(130, 130), (150, 100), (100, 150)])
def test_svd_of_awkward_large_matrices(m, n, dtype):
    for a in awkward_matrices(m, n, np.empty(0, dtype).real.dtype):
        a = a.astype(dtype) * (1 + 1j if dtype.startswith("c") else 1)
        scale = float(np.max(np.abs(a))) or 1.0
        x = xp.asarray(a.astype(dtype))
        u, s, vh = map(host, xp.linalg.svd(x, full_matrices=False))
        expected = np.linalg.svd(a.astype("complex128") / scale, compute_uv=False)
        unit_error = 10 * max(m, n) * eps(dtype)
        near = {"rtol": 0, "atol": unit_error * max(expected[0], 1)}
        np.testing.assert_allclose(s / scale, expected, **near)
        np.testing.assert_allclose(host(xp.linalg.svdvals(x)) / scale, expected, **near)
        np.testing.assert_allclose((u * (s / scale)) @ vh, a / scale, **near)
        np.testing.assert_allclose(adjoint(u) @ u, np.eye(min(m, n)), atol=unit_error)
        np.testing.assert_allclose(vh @ adjoint(vh), np.eye(min(m, n)), atol=unit_error)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("is_tall", [True, False])
def test_svd_of_stacks_of_large_matrices(is_tall, dtype):
    """One is nearly singular, one is of half the rank."""
    k = 390 if dtype == "float32" else 140
    m, n = (k + 10, k) if is_tall else (k, k + 10)
    rng = np.random.default_rng(m)
    a = rng.standard_normal((3, m, n))
    least = np.log10(100 * eps(dtype))
    left, right = np.linalg.qr(a[1][:, :k])[0], np.linalg.qr(a[1].T[:, :k])[0]
    a[1] = left * np.logspace(0, least, k) @ right.T
    a[2, :, : n // 2] = a[2, :, n - n // 2 :]
    a = a.astype(dtype) * (1 + 1j if dtype.startswith("c") else 1)
    x = xp.asarray(a.astype(dtype))
    expected = np.linalg.svd(a, compute_uv=False)
    for full in (False, True):
        u, s, vh = map(host, xp.linalg.svd(x, full_matrices=full))
        assert np.all(s >= 0) and np.all(s[:, :-1] >= s[:, 1:])
        near = {"rtol": 0, "atol": 10 * m * eps(dtype) * np.max(expected)}
        np.testing.assert_allclose(s, expected, **near)
        np.testing.assert_allclose((u[..., :k] * s[:, None]) @ vh[:, :k], a, **near)
        for product in (adjoint(u) @ u, vh @ adjoint(vh)):
            identity = np.broadcast_to(np.eye(product.shape[-1]), product.shape)
            np.testing.assert_allclose(product, identity, atol=10 * m * eps(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (2, 2), (3, 3), (4, 4), (7, 3), (3, 7), (16, 16), (30, 9)]
)
def test_values_of_stacks_of_small_matrices(m, n, dtype):
    a = np.asarray(awkward_matrices(m, n, dtype)).astype(dtype)
    scale = np.max(np.abs(a), axis=(-2, -1), keepdims=True)
    unitary = a.astype("float64") / np.where(scale == 0, 1, scale)
    near = {"rtol": 0, "atol": 10 * max(m, n) * np.finfo(dtype).eps}
    values = host(xp.linalg.svdvals(xp.asarray(a))) / np.where(scale == 0, 1, scale)[..., 0]
    np.testing.assert_allclose(values, np.linalg.svd(unitary, compute_uv=False), **near)
    if max(m, n) <= 8:  # each by itself is the same to the last bit
        together = host(xp.linalg.svdvals(xp.asarray(a)))
        for x, expected in zip(a, together, strict=True):
            np.testing.assert_array_equal(host(xp.linalg.svdvals(xp.asarray(x))), expected)
    if m != n:
        return
    a, unitary = a + adjoint(a) / 2, unitary + adjoint(unitary) / 2
    a, unitary = (
        np.tril(a) + adjoint(np.tril(a, -1)),
        np.tril(unitary) + adjoint(np.tril(unitary, -1)),
    )
    values = host(xp.linalg.eigvalsh(xp.asarray(a))) / np.where(scale == 0, 1, scale)[..., 0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(unitary), **near)
    order = np.random.default_rng(0).permutation(len(a))
    shuffled = host(xp.linalg.eigvalsh(xp.asarray(a[order])))
    np.testing.assert_array_equal(shuffled, host(xp.linalg.eigvalsh(xp.asarray(a)))[order])


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(
    "shape", [(70, 1), (200, 3), (16, 2000), (3, 300, 60), (2, 129, 64), (1000, 5)]
)
def test_singular_values_of_tall_and_wide_matrices(dtype, shape):
    a = random(np.random.default_rng(1), shape, dtype)
    expected = np.linalg.svd(a, compute_uv=False)
    close(xp.linalg.svdvals(xp.asarray(a)), expected, tolerance(a))
    turned = xp.asarray(np.ascontiguousarray(np.swapaxes(a, -1, -2)))
    close(xp.linalg.svdvals(turned), expected, tolerance(a))
    a[-1, -1] = np.nan
    with pytest.raises(xp.linalg.LinAlgError, match="NaN"):
        xp.linalg.svdvals(xp.asarray(a))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("function", [xp.linalg.eigvals, xp.linalg.eigvalsh, xp.linalg.svdvals])
def test_small_matrices_that_are_not_finite_are_named(function, bad):
    a = np.tile(np.eye(4), (20, 1, 1))
    a[13, 2, 1] = bad
    with pytest.raises(xp.linalg.LinAlgError, match="13"):
        function(xp.asarray(a))


# ---- ranks and pseudo-inverses ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATING)
def test_rank_counts_per_matrix(dtype):
    a = np.zeros((2, 3, 4, 3), dtype)
    rtol = np.array([1e-1, 1e-3, 1e-5], dtype="float32" if eps(dtype) > 1e-10 else "float64")
    a[..., :3, :3] = np.diag([1, 1e-2, 1e-4])
    x = xp.asarray(a)
    assert host(xp.linalg.matrix_rank(x)).tolist() == [[3] * 3] * 2
    ranks = xp.linalg.matrix_rank(x, rtol=xp.asarray(rtol))
    assert ranks.dtype == xp.int64
    assert host(ranks).tolist() == [[1, 2, 3]] * 2
    assert host(xp.linalg.matrix_rank(x, rtol=xp.asarray(rtol[:2, None][:, :1]))).tolist() == [
        [1] * 3,
        [2] * 3,
    ]
    assert host(xp.linalg.matrix_rank(x, rtol=1e-3)).tolist() == [[2] * 3] * 2
    assert host(xp.linalg.matrix_rank(x, rtol=1)).tolist() == [[0] * 3] * 2
    assert host(xp.linalg.matrix_rank(xp.zeros((2, 3, 3)))).tolist() == [0, 0]
    assert host(xp.linalg.matrix_rank(xp.zeros((2, 0, 3)))).tolist() == [0, 0]
    pseudo = host(xp.linalg.pinv(x, rtol=xp.asarray(rtol)))
    assert pseudo.shape == (2, 3, 3, 4)
    assert pseudo.dtype == a.dtype
    np.testing.assert_allclose(
        np.diagonal(pseudo, axis1=-2, axis2=-1).real,
        np.broadcast_to([[1, 0, 0], [1, 1e2, 0], [1, 1e2, 1e4]], (2, 3, 3)),
        rtol=1e-5,
    )


@settings(max_examples=80, deadline=None)
@given(stacks())
def test_pinv_gives_what_numpy_gives(stack):
    x, a = stack
    if not a.size:
        assert xp.linalg.pinv(x).shape == (*a.shape[:-2], a.shape[-1], a.shape[-2])
        return
    condition = float(np.max(np.linalg.cond(a.astype("complex128"))))
    if condition * eps(a.dtype) < 1e-3:
        close(xp.linalg.pinv(x), np.linalg.pinv(a), tolerance(a) * condition)


def test_rank_of_ill_conditioned_matrices():
    n = 8
    hilbert = 1 / (np.arange(n)[:, None] + np.arange(n)[None, :] + 1)
    assert int(xp.linalg.matrix_rank(xp.asarray(hilbert))) == n
    assert int(xp.linalg.matrix_rank(xp.asarray(hilbert.astype("float32")))) == int(
        np.linalg.matrix_rank(hilbert.astype("float32"))
    )
    b = hilbert @ np.ones(n)
    x = host(xp.linalg.solve(xp.asarray(hilbert), xp.asarray(b)))
    assert np.max(np.abs(hilbert @ x - b)) < 1e-14 * n


# ---- norms --------------------------------------------------------------------------------------------

ORDERS = [0, 1, 2, 3, 4.5, 0.5, -0.5, -1, -2, -3, 100, math.inf, -math.inf]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 1), (0, 1, 2), ()])
def test_vector_norm_gives_the_definition(dtype, order, axis):
    rng = np.random.default_rng(4)
    a = random(rng, (3, 4, 5), dtype)
    size = np.abs(a.astype("complex256"))
    axes = tuple(range(3)) if axis is None else axis
    if order == 0:
        expected = np.sum(size != 0, axis=axes).astype(size.dtype)
    elif math.isinf(order):
        expected = (np.max if order > 0 else np.min)(size, axis=axes)
    else:
        expected = np.sum(size**order, axis=axes) ** (1 / np.longdouble(order))
    for view in (
        xp.asarray(a),
        xp.permute_dims(xp.asarray(a.transpose(2, 0, 1).copy()), (1, 2, 0)),
    ):
        result = host(xp.linalg.vector_norm(view, axis=axis, ord=order))
        assert result.dtype == np.finfo(dtype).dtype
        assert result.shape == np.shape(expected)
        np.testing.assert_allclose(result, expected, rtol=8 * eps(dtype))
        kept = xp.linalg.vector_norm(view, axis=axis, ord=order, keepdims=True)
        shape = tuple(
            1 if axis is None or i in np.atleast_1d(np.mod(axes, 3)) else n
            for i, n in enumerate(a.shape)
        )
        assert kept.shape == shape


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("order", [1.5, 2, 3, -1, -2, -2.5])
def test_vector_norm_of_huge_and_tiny_values(dtype, order):
    single = eps(dtype) > 1e-10
    huge, tiny = (1e38, 1e-40) if single else (1e307, 1e-310)
    a = np.array([[3, 4], [huge, huge / 2], [3 * tiny, 4 * tiny], [0, 0], [0, huge]], dtype=dtype)
    with np.errstate(all="ignore"):
        wide = np.abs(a.astype("complex256"))
        expected = np.sum(wide**order, axis=1) ** (1 / np.longdouble(order))
    result = host(xp.linalg.vector_norm(xp.asarray(a), axis=1, ord=order))
    smallest = float(np.finfo(dtype).smallest_subnormal)
    np.testing.assert_allclose(
        result, expected.astype(result.dtype), rtol=8 * eps(dtype), atol=smallest
    )
    assert result[3] == 0


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((40, 3), 0),
        ((5000, 60), 0),
        ((20, 30, 50, 2), (0, 1)),
        ((4000, 30, 3), (0, 2)),
        ((2, 900, 40, 4), (1, 3)),
    ],
)
def test_vector_norm_along_columns(shape, axis, order, dtype):
    """Of complex numbers, too, whose parts lie side by side; and in any layout the same bits."""
    rng = np.random.default_rng(5)
    a = random(rng, shape, dtype)
    some = (slice(None),) * (len(shape) - 2)
    power = 30 if eps(dtype) > 1e-10 else 200
    a[(*some, 0)] *= 10.0**power
    a[(*some, 1)] *= 10.0**-power
    expected = np.sum(np.abs(a.astype("complex256")) ** order, axis=axis) ** (
        1 / np.longdouble(order)
    )
    result = host(xp.linalg.vector_norm(xp.asarray(a), axis=axis, ord=order))
    assert result.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(result, expected, rtol=8 * eps(dtype))
    for view in (
        xp.asarray(np.ascontiguousarray(a.T)).T if a.ndim == 2 else xp.asarray(a)[...],
        xp.flip(xp.asarray(np.ascontiguousarray(a[..., ::-1])), axis=-1),
        xp.asarray(np.repeat(a, 2, axis=-2))[..., ::2, :],
    ):
        again = host(xp.linalg.vector_norm(view, axis=axis, ord=order))
        assert again.tobytes() == result.tobytes()


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 3, math.inf])
def test_vector_norm_of_nan_and_infinity(order):
    a = np.array([[1.0, math.nan], [1.0, -math.inf], [math.inf, math.nan]])
    result = host(xp.linalg.vector_norm(xp.asarray(a), axis=1, ord=order))
    if order == 0:
        assert result.tolist() == [2, 2, 2]
    else:
        assert math.isnan(result[0])
        assert result[1] == math.inf
        assert math.isnan(result[2])


def test_vector_norm_of_nothing():
    x = xp.zeros((2, 0))
    for order in ORDERS:
        expected = 0.0 if order >= 0 else math.inf
        assert host(xp.linalg.vector_norm(x, axis=1, ord=order)).tolist() == [expected] * 2
        assert xp.linalg.vector_norm(x, axis=0, ord=order).shape == (0,)
        assert float(xp.linalg.vector_norm(x, ord=order)) == expected


@pytest.mark.parametrize("order", ["fro", "nuc", None, 1, -1, 2, -2, math.inf, -math.inf])
@settings(max_examples=20, deadline=None)
@given(stacks())
def test_matrix_norm_gives_what_numpy_gives(order, stack):
    x, a = stack
    result = host(xp.linalg.matrix_norm(x, ord=order))
    kept = xp.linalg.matrix_norm(x, ord=order, keepdims=True)
    assert kept.shape == (*a.shape[:-2], 1, 1)
    assert result.dtype == np.finfo(a.dtype).dtype
    assert result.shape == a.shape[:-2]
    if 0 in a.shape[-2:]:
        nothing = (
            order in (-2,)
            or (order == -1 and a.shape[-1] == 0)
            or (order == -math.inf and a.shape[-2] == 0)
        )
        assert (result == (math.inf if nothing else 0)).all()
    else:
        expected = np.linalg.norm(a, ord=order, axis=(-2, -1))
        bound = tolerance(a) * np.linalg.norm(a, axis=(-2, -1))
        assert (np.abs(result - expected) <= bound).all()


# ---- products and diagonals ------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["int8", "uint8", "int64", *FLOATING]), st.integers(-3, -1), st.data())
def test_cross_gives_what_numpy_gives(dtype, axis, data):
    sizes = data.draw(
        st.lists(st.sampled_from([(2, 2), (1, 2), (2, 1), (0, 0), (0, 1)]), min_size=2, max_size=2)
    )
    rng = np.random.default_rng(5)
    shapes = [[pair[i] for pair in sizes] for i in range(2)]
    for shape in shapes:
        shape.insert(axis + 3, 3)
    if np.dtype(dtype).kind in "iu":
        arrays = [rng.integers(0, 50, shape).astype(dtype) for shape in shapes]
    else:
        arrays = [random(rng, shape, dtype) for shape in shapes]
    expected = np.cross(*(np.moveaxis(a, axis, -1) for a in arrays))
    expected = np.moveaxis(expected, -1, axis)
    result = xp.linalg.cross(*(xp.asarray(a) for a in arrays), axis=axis)
    close(result, expected, 4 * eps(dtype) if np.dtype(dtype).kind in "fc" else 0)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", *FLOATING])
def test_cross_rounds_each_product_and_difference(dtype):
    rng = np.random.default_rng(2)
    for shape, axis in [((20_000, 3), -1), ((3, 20_000), -2), ((70, 3, 90), -2)]:
        if np.dtype(dtype).kind in "iu":
            info = np.iinfo(dtype)
            a, b = (rng.integers(info.min, info.max, shape, dtype) for _ in range(2))
        else:
            a, b = (random(rng, shape, dtype) for _ in range(2))
        for c in (b, np.flip(b, -1)):
            x, y = (np.moveaxis(v, axis, 0) for v in (a, c))
            turns = [(1, 2), (2, 0), (0, 1)]
            expected = np.stack([x[j] * y[k] - x[k] * y[j] for j, k in turns], axis)
            result = host(xp.linalg.cross(xp.asarray(a), xp.asarray(c), axis=axis))
            assert result.dtype == a.dtype
            if np.dtype(dtype).kind == "c":
                close(result, expected, 8 * eps(dtype))
            else:
                assert (result == expected).all()


def test_outer_multiplies_all_pairs():
    assert host(xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3.0]))).tolist() == [[3], [6]]
    assert xp.linalg.outer(xp.zeros(0), xp.zeros(3)).shape == (0, 3)
    assert host(xp.linalg.outer(xp.asarray([1j]), xp.asarray([1j]))).tolist() == [[-1]]


@pytest.mark.parametrize("offset", [-9, -3, -1, 0, 1, 2, 4, 9])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3), (2, 0, 0)])
def test_diagonals_and_traces(shape, offset):
    a = np.arange(math.prod(shape), dtype="uint8").reshape(shape)
    x = xp.asarray(a)
    expected = np.diagonal(a, offset, -2, -1)
    view = xp.linalg.diagonal(x, offset=offset)
    np.testing.assert_array_equal(host(view), expected)
    trace = xp.linalg.trace(x, offset=offset)
    assert trace.dtype == xp.uint64
    np.testing.assert_array_equal(host(trace), expected.sum(-1))
    assert xp.linalg.trace(x, offset=offset, dtype=xp.float32).dtype == xp.float32
    if view.size:
        view[...] = 0
        assert int(xp.sum(xp.linalg.trace(x, offset=offset))) == 0


def test_traces_have_the_standards_dtypes():
    for given_dtype, dtype in [
        ("int8", "int64"),
        ("uint32", "uint64"),
        ("float32", "float32"),
        ("complex64", "complex64"),
    ]:
        x = xp.ones((2, 2), dtype=getattr(xp, given_dtype))
        assert xp.linalg.trace(x).dtype == getattr(xp, dtype)


def test_the_main_namespace_is_aliased():
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(xp.linalg, name) is getattr(xp, name)


# ---- layouts and threads -----------------------------------------------------------------------------------

FACTORISATIONS = [
    xp.linalg.inv,
    xp.linalg.det,
    xp.linalg.slogdet,
    xp.linalg.qr,
    xp.linalg.eigh,
    xp.linalg.eig,
    xp.linalg.svd,
    xp.linalg.svdvals,
    xp.linalg.pinv,
    xp.linalg.matrix_rank,
    lambda x: xp.linalg.solve(x, x[..., :2]),
    lambda x: xp.linalg.cholesky(x @ xp.conj(xp.matrix_transpose(x)) + 9 * xp.eye(x.shape[-1])),
]


def flat(result):
    return [host(r).tobytes() for r in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("n", [3, 65])
@pytest.mark.parametrize("function", FACTORISATIONS[:-1])
def test_layout_does_not_change_a_bit(function, n, dtype):
    a = random(np.random.default_rng(6), (2, n, n), dtype)
    expected = flat(function(xp.asarray(a)))
    for layout in LAYOUTS[:-1]:
        assert flat(function(laid_out(a, layout)[0])) == expected


THREADS = """
import hashlib, numpy as np, arrayx as xp
digest = hashlib.sha256()
for n, count in ((3, 5000), (40, 60), (150, 20)):
    a = np.random.default_rng(7).standard_normal((count, n, n))
    x = xp.asarray(a)
    for f in (xp.linalg.inv, xp.linalg.det, xp.linalg.svd, xp.linalg.eigh, xp.linalg.qr,
              lambda x: xp.linalg.solve(x, x[..., :2])):
        r = f(x)
        for part in r if isinstance(r, tuple) else (r,):
            digest.update(np.asarray(part).tobytes())
x = xp.asarray(np.random.default_rng(7).standard_normal((300, 300)))
square = xp.asarray(np.tri(600) @ np.tri(600).T + np.eye(600))
for r in (xp.linalg.inv(x), xp.linalg.slogdet(x).logabsdet, xp.linalg.solve(x, x[:, :2]),
          xp.linalg.cholesky(square), *xp.linalg.eigh(x), *xp.linalg.svd(x), *xp.linalg.eig(x),
          *xp.linalg.svd(x[:, :100]), *xp.linalg.qr(xp.reshape(x, (5000, 18))),
          xp.linalg.eigvals(x + 1j * xp.matrix_transpose(x))):
    digest.update(np.asarray(r).tobytes())
print(digest.hexdigest())
"""


def test_the_number_of_threads_does_not_change_a_bit():
    digests = {
        subprocess.run(
            [sys.executable, "-c", THREADS],
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        ).stdout
        for threads in ("1", "3", "4")
    }
    assert len(digests) == 1


# ---- small matrices, several of which are done at once --------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 3, 9, 37])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 9, 16, 32])
def test_stacks_of_any_length_give_what_each_matrix_gives(n, count, dtype):
    rng = np.random.default_rng(n)
    a = random(rng, (count, n, n), dtype) + n * np.eye(n, dtype=dtype)
    b = random(rng, (count, n, 3), dtype)
    exact = a.astype("float64")
    bound = tolerance(a) * float(np.max(np.linalg.cond(exact)))
    close(xp.linalg.inv(xp.asarray(a)), np.linalg.inv(exact).astype(dtype), bound)
    solution = np.linalg.solve(exact, b).astype(dtype)
    close(xp.linalg.solve(xp.asarray(a), xp.asarray(b)), solution, bound)
    sign, log = np.linalg.slogdet(exact)
    found = xp.linalg.slogdet(xp.asarray(a))
    assert host(found.sign).tolist() == sign.tolist()
    np.testing.assert_allclose(host(found.logabsdet), log, rtol=10 * eps(dtype), atol=bound)
    square = a @ adjoint(a)
    factor = host(xp.linalg.cholesky(xp.asarray(square)))
    close(factor @ adjoint(factor), square, tolerance(a))
    tall = random(rng, (count, n, 2), dtype)
    for x in (a, tall, np.ascontiguousarray(adjoint(tall))):
        for mode in ("reduced", "complete"):
            q, r = (host(part) for part in xp.linalg.qr(xp.asarray(x), mode=mode))
            close(q @ r, x, tolerance(a))
            np.testing.assert_allclose(adjoint(q) @ q, unit(adjoint(q) @ q), atol=tolerance(a))
            expected = np.linalg.qr(x, mode=mode).R  # with the signs of LAPACK
            close(r, expected, 100 * bound)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 16, 32])
def test_eigenvectors_of_matrices_of_every_kind_beside_each_other(n, dtype):
    plain = random(np.random.default_rng(n), (n, n), "float64")
    kinds = [
        plain,
        np.zeros((n, n)),
        np.eye(n),
        np.roll(np.eye(n), 1, axis=0),  # eigenvalues of one size, on which plain steps stand still
        plain - plain.T,
        np.triu(plain),
        np.eye(n) + np.eye(n, k=1),  # one eigenvector
        plain * np.logspace(-1, 1, n)[:, None],  # balanced first
        plain * 1e-15,
        np.outer(plain[0], plain[0]),
        np.kron(np.eye(2), plain)[:n, :n] + np.eye(n, k=-2),
    ]
    a = np.stack(kinds).astype(dtype)
    for function, x in ((xp.linalg.eig, a), (xp.linalg.eigh, a + adjoint(a))):
        result = [host(part) for part in function(xp.asarray(x))]
        values, vectors = result
        residual = np.max(np.abs(x @ vectors - vectors * values[:, None, :]), axis=(-2, -1))
        assert (residual <= tolerance(a) * np.linalg.norm(x, axis=(-2, -1))).all()
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-2), 1, rtol=tolerance(a))
        # Nor does one matrix see the others.
        order = [7, 3, 9, 1, 10, 8, 0, 2, 5, 4, 6]
        again = function(xp.asarray(x[order]))
        assert [part[order].tobytes() for part in result] == flat(again)


@pytest.mark.parametrize("count", [1, 5, 40])
@pytest.mark.parametrize("n", [1, 3, 8])
def test_the_first_matrix_without_a_result_is_named(n, count):
    for at in {0, count // 2, count - 1}:
        a = np.stack([np.eye(n)] * count)
        a[at:, -1, -1] = 0  # and all after it
        words = rf"matrix \({at},\) of x"
        with pytest.raises(xp.linalg.LinAlgError, match=words):
            xp.linalg.inv(xp.asarray(a))
        with pytest.raises(xp.linalg.LinAlgError, match=words):
            xp.linalg.solve(xp.asarray(a), xp.asarray(a[..., :1]))
        with pytest.raises(xp.linalg.LinAlgError, match=words):
            xp.linalg.cholesky(xp.asarray(a))
        assert host(xp.linalg.det(xp.asarray(a))).tolist() == [1.0] * at + [0.0] * (count - at)


def test_pivots_are_sought_in_every_matrix_of_its_own():
    # Without exchanges of rows these would divide by zero or lose everything.
    rng = np.random.default_rng(8)
    for n in (2, 3, 7):
        a = np.stack([np.eye(n)[rng.permutation(n)] for _ in range(50)])
        assert host(xp.linalg.inv(xp.asarray(a))).tolist() == adjoint(a).tolist()
        assert host(xp.linalg.det(xp.asarray(a))).tolist() == np.linalg.det(a).tolist()
    a = np.asarray([[[1e-20, 1.0], [1.0, 1.0]]] * 3)
    np.testing.assert_allclose(host(xp.linalg.inv(xp.asarray(a))), np.linalg.inv(a), rtol=1e-15)


def test_qr_of_huge_and_tiny_and_zero_columns():
    a = np.stack([np.ones((3, 3)), np.zeros((3, 3)), np.eye(3), np.diag([-1.0, 2.0, -3.0])])
    for scale in (1e-310, 1e-200, 1.0, 1e200, 1e307):
        q, r = (host(part) for part in xp.linalg.qr(xp.asarray(a * scale)))
        np.testing.assert_allclose(q @ r, a * scale, rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(adjoint(q) @ q, unit(q), atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("m", "n"),
    [
        *[(9, 9), (17, 17), (33, 40), (40, 33), (64, 64), (129, 127), (150, 3), (3, 150)],
        # no longer in the caches, and not of whole panels
        *[(170, 170), (257, 257), (200, 150), (150, 200), (600, 33), (33, 600), (700, 9)],
    ],
)
def test_factors_of_awkward_matrices(m, n, dtype):
    small = 100 * math.sqrt(m * n) * eps(dtype)
    for a in awkward_matrices(m, n, dtype):
        a = a.astype(dtype)
        exact = a.astype("float64")
        bound = small * float(np.max(np.abs(exact)))
        x = xp.asarray(a)
        q, r = (host(part).astype("float64") for part in xp.linalg.qr(x, mode="complete"))
        # Column for column: one may be much smaller than others.
        assert (np.abs(q @ r - exact).max(0) <= small * np.abs(exact).max(0)).all()
        assert (np.tril(r, -1) == 0).all()
        alone = host(xp.linalg.svdvals(x))
        for full in (True, False):
            u, s, vh = (host(part) for part in xp.linalg.svd(x, full_matrices=full))
            k = s.shape[0]
            assert float(np.abs(u[:, :k] * s.astype("float64") @ vh[:k] - exact).max()) <= bound
            for vectors in (u, vh.T) if full else (q.astype(dtype), u, vh.T):
                products = vectors.T @ vectors
                np.testing.assert_allclose(products, unit(products), atol=small)
            assert float(np.abs(alone - s).max()) <= bound
            assert (np.diff(s) <= 0).all()
        if m == n:
            symmetric = exact / 2 + exact.T / 2
            lower = np.where(np.tri(n, dtype=bool), symmetric, np.nan).astype(dtype)
            values, vectors = (host(part) for part in xp.linalg.eigh(xp.asarray(lower)))
            again = vectors * values.astype("float64") @ vectors.T
            assert float(np.abs(again - symmetric).max()) <= bound
            np.testing.assert_allclose(vectors.T @ vectors, unit(vectors), atol=small)
            assert (
                float(np.abs(host(xp.linalg.eigvalsh(xp.asarray(lower))) - values).max()) <= bound
            )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [7, 9, 16, 17, 33, 65, 100, 129, 257])
def test_matrices_factored_by_halves(n, dtype):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    for a in (
        random(rng, (n, n), dtype),
        np.tri(n, dtype=dtype).T[order],  # of zeros that must be exchanged, and whole numbers
        random(rng, (n, n), dtype) * np.logspace(-8, 8, n, dtype=dtype)[order, None],
    ):
        exact = a.astype("float64")
        x = xp.asarray(a)
        for k in (1, 2, 40):
            b = random(rng, (n, k), dtype)
            solution = host(xp.linalg.solve(x, xp.asarray(b))).astype("float64")
            # Row for row: one may be much larger than others.
            sizes = np.abs(exact) @ np.abs(solution) + np.abs(b)
            assert (np.abs(exact @ solution - b) <= 4 * n * eps(dtype) * sizes).all()
        inverse = host(xp.linalg.inv(x)).astype("float64")
        sizes = np.abs(exact) @ np.abs(inverse) + np.eye(n)
        assert (np.abs(exact @ inverse - np.eye(n)) <= 4 * n * eps(dtype) * sizes).all()
        sign, log = np.linalg.slogdet(exact)
        found = xp.linalg.slogdet(x)
        assert float(found.sign) == sign
        assert abs(float(found.logabsdet) - log) <= 1000 * n * eps(dtype) * max(abs(log), 1)
    assert float(xp.linalg.det(xp.asarray(np.tri(n, dtype=dtype).T[order]))) in (-1, 1)
    singular = random(rng, (n, n), dtype)
    singular[:, n // 2] = 0
    assert float(xp.linalg.det(xp.asarray(singular))) == 0
    for function in (xp.linalg.inv, lambda y: xp.linalg.solve(y, y)):
        with pytest.raises(xp.linalg.LinAlgError, match="singular"):
            function(xp.asarray(singular))


@pytest.mark.parametrize(
    ("m", "n"),
    [
        (12, 12),
        (33, 33),
        (64, 64),
        (40, 30),
        (30, 40),
        (60, 20),
        (200, 200),
        (150, 199),
        (199, 150),
    ],
)
def test_signs_of_factors(m, n):
    a = np.random.default_rng(1).standard_normal((m, n))
    x = xp.asarray(a, device="cpu")  # a GPU's may have others
    for part, other in zip(xp.linalg.qr(x), np.linalg.qr(a), strict=True):
        np.testing.assert_allclose(host(part), other, atol=1e-10)
    u, s, vh = (host(part) for part in xp.linalg.svd(x))
    left, values, right = np.linalg.svd(a)
    np.testing.assert_allclose(s, values, atol=1e-10)
    # LAPACK's versions choose different signs for a pair of vectors, but one for both
    k = min(m, n)
    signs = np.sign(np.sum(u[:, :k] * left[:, :k], axis=0))
    np.testing.assert_allclose(u[:, :k] * signs, left[:, :k], atol=1e-10)
    np.testing.assert_allclose(signs[:, None] * vh[:k], right[:k], atol=1e-10)


# ---- what has no result -----------------------------------------------------------------------------------

E = xp.linalg.LinAlgError
f2, f3 = xp.eye(2), xp.ones((2, 3))
i2 = xp.ones((2, 2), dtype=xp.int64)
v = xp.ones(3)
singular = xp.asarray(np.stack([np.eye(3), np.ones((3, 3)), np.eye(3)])[None])

BAD = [
    (lambda: xp.linalg.inv(singular), E, r"inv: matrix \(0, 1\) of x, whose shape is "
     r"\(1, 3, 3, 3\), is singular"),
    (lambda: xp.linalg.inv(xp.zeros((2, 2))), E, r"inv: x, of shape \(2, 2\), is singular"),
    (lambda: xp.linalg.solve(singular, v), E, r"solve: matrix \(0, 1\) of x1"),
    (lambda: xp.linalg.solve(singular, xp.ones((5, 1, 3, 2))), E, r"matrix \(0, 1\) of x1"),
    (lambda: xp.linalg.solve(xp.zeros((2, 2)), xp.ones((4, 2, 2))), E, r"x1, of shape \(2, 2\), is"),
    (lambda: xp.linalg.matrix_power(singular, -2), E, r"matrix_power: matrix \(0, 1\) of x"),
    (lambda: xp.linalg.cholesky(-singular), E, r"matrix \(0, 0\) of x.* is not positive definite"),
    (lambda: xp.linalg.inv(i2), TypeError, "inv: x has dtype int64; it must be a floating-point"),
    (lambda: xp.linalg.solve(f2, i2), TypeError, "solve: x2 has dtype int64"),
    (lambda: xp.linalg.svd(i2 > 0), TypeError, "svd: x has dtype bool"),
    (lambda: xp.linalg.vector_norm(i2), TypeError, "vector_norm: x has dtype int64"),
    (lambda: xp.linalg.matrix_norm(i2), TypeError, "matrix_norm: x has dtype int64"),
    (lambda: xp.linalg.matrix_power(i2, 2), TypeError, "matrix_power: x has dtype int64"),
    (lambda: xp.linalg.trace(i2 > 0), TypeError, "trace: x has dtype bool"),
    (lambda: xp.linalg.matrix_rank(f2, rtol=xp.ones((), dtype=xp.int64)), TypeError, "rtol has dtype"),
    (lambda: xp.linalg.matrix_rank(f2, rtol=1j), TypeError, "rtol is a Python complex"),
    (lambda: xp.linalg.pinv(f2, rtol=xp.ones(2)), ValueError, r"rtol has shape \(2,\); it must broad"),
    (lambda: xp.linalg.matrix_power(f2, 1.5), TypeError, "n must be an int, not float"),
    (lambda: xp.linalg.inv(f3), ValueError, r"inv: x has shape \(2, 3\); its matrices must be square"),
    (lambda: xp.linalg.svd(v), ValueError, r"svd: x has shape \(3,\); it must have at least 2 dim"),
    (lambda: xp.linalg.diagonal(v), ValueError, "at least 2 dim"),
    (lambda: xp.linalg.trace(v), ValueError, "at least 2 dim"),
    (lambda: xp.linalg.solve(f2, v), ValueError, r"\(2, 2\) and \(3,\) do not fit"),
    (lambda: xp.linalg.solve(f2, xp.ones(())), ValueError, r"x2 has shape \(\)"),
    (lambda: xp.linalg.solve(xp.ones((3, 2, 2)), xp.ones((4, 2, 1))), ValueError, "broadcast"),
    (lambda: xp.linalg.qr(f2, mode="full"), ValueError, "mode must be 'reduced' or 'complete', not "
     "'full'"),
    (lambda: xp.linalg.qr(f2, mode=1), TypeError, "mode must be 'reduced' or 'complete', not int"),
    (lambda: xp.linalg.matrix_norm(f2, ord=3), ValueError, "ord must be 'fro', 'nuc', .*not 3"),
    (lambda: xp.linalg.matrix_norm(f2, ord="f"), ValueError, "ord must be 'fro', .*not 'f'"),
    (lambda: xp.linalg.vector_norm(f2, ord="fro"), TypeError, "ord must be an int or a float"),
    (lambda: xp.linalg.vector_norm(f2, axis=2), IndexError, "axis 2 is out of range"),
    (lambda: xp.linalg.vector_norm(f2, axis=(0, -2)), ValueError, "twice"),
    (lambda: xp.linalg.cross(v, v, axis=0), IndexError, "axis 0 is out of range"),
    (lambda: xp.linalg.cross(v, xp.ones(1)), ValueError, "must have 3 elements"),
    (lambda: xp.linalg.outer(f2, v), ValueError, r"shapes \(2, 2\) and \(3,\)"),
    (lambda: xp.linalg.cross(v > 0, v), TypeError, "cross: x1 has dtype bool"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_input_is_named(number):
    call, exception, words = BAD[number]
    with pytest.raises(exception, match=words) as caught:
        call()
    assert caught.type is exception


def test_linalg_error_is_a_value_error():
    assert issubclass(xp.linalg.LinAlgError, ValueError)
    assert xp.linalg.LinAlgError.__module__ == "arrayx.linalg"
    assert "singular" in xp.linalg.LinAlgError.__doc__


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("n", [1, 2, 5, 40, 150])
def test_nan_and_infinity_never_hang(bad, n, dtype):
    linalg = xp.linalg
    rng = np.random.default_rng(8)
    a = random(rng, (3, n, n), dtype) / np.sqrt(n).astype(dtype)
    a[1, -1, 0] = bad
    x = xp.asarray(a)
    message = r"matrix \(1,\) of x.*contains a NaN or an infinity"
    for function in (
        linalg.svd,
        linalg.svdvals,
        linalg.eigh,
        linalg.eigvalsh,
        linalg.eig,
        linalg.eigvals,
        linalg.pinv,
        linalg.matrix_rank,
    ):
        with pytest.raises(linalg.LinAlgError, match=message):
            function(x)
    with pytest.raises(linalg.LinAlgError, match=r"matrix \(1,\) of x.*NaN or an infinity"):
        linalg.cholesky(x @ xp.conj(xp.matrix_transpose(x)) + n * xp.eye(n))
    results = [linalg.det(x), *linalg.slogdet(x), *linalg.qr(x)]
    for function in (linalg.inv, lambda y: linalg.solve(y, y)):
        try:
            results.append(function(x))
        except linalg.LinAlgError:
            assert not math.isnan(bad)
    for result in results:
        assert np.isfinite(host(result)[[0, 2]]).all()
    if math.isnan(bad):
        assert np.isnan(host(results[0])[1])
        assert np.isnan(host(results[-1])[1]).any()


@pytest.mark.parametrize("n", [4, 40, 200])
def test_a_matrix_without_a_result_is_not_remembered(n):
    """Neither by those that follow, nor by those of another thread."""
    good = random(np.random.default_rng(n), (5, n, n), "float64") / n + np.eye(n)
    good = good @ good.transpose(0, 2, 1)
    result = [host(xp.linalg.inv(xp.asarray(good))), host(xp.linalg.cholesky(xp.asarray(good)))]

    def run(k):
        bad = good.copy()
        bad[k:] = 0
        x, y = xp.asarray(good), xp.asarray(bad)
        words = rf"matrix \({k},\) of x"
        for _ in range(10):
            for i, function in enumerate((xp.linalg.inv, xp.linalg.cholesky)):
                with pytest.raises(xp.linalg.LinAlgError, match=words):
                    function(y)
                assert host(function(x)).tobytes() == result[i].tobytes()
        return k

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(5))) == list(range(5))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_can_factor():
    code = (
        "import os, arrayx as xp\n"
        "x = xp.linalg.svdvals(xp.ones((400, 20, 20)) + xp.eye(20))\n"
        "y = xp.linalg.inv(xp.eye(300) * 2)\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    z = xp.linalg.svdvals(xp.ones((400, 20, 20)) + xp.eye(20))\n"
        "    w = xp.linalg.inv(xp.eye(300) * 2)\n"
        "    os._exit(0 if bool(xp.all(x == z)) and bool(xp.all(w == y)) else 1)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
