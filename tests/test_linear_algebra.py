"""matmul, tensordot, vecdot and matrix_transpose, compared with NumPy."""

import itertools

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrayx as xp
from arrayx import _core

NUMERIC = [
    "int8",
    "uint8",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def close(x, expected):
    assert x.dtype == expected.dtype
    assert x.shape == expected.shape
    if expected.dtype.kind in "iu":
        np.testing.assert_array_equal(np.asarray(x), expected)
    else:
        tolerance = 2e-5 if expected.dtype.name in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(np.asarray(x), expected, rtol=tolerance, atol=tolerance)


@st.composite
def layout(draw, a):
    """NumPy's array and ours with the same elements, the strides of ours drawn at random."""
    order = draw(st.permutations(range(a.ndim)))
    flips = tuple(slice(None, None, draw(st.sampled_from([1, -1, 2]))) for _ in order)
    buffer = np.zeros([2 * a.shape[axis] for axis in order], a.dtype)
    x = xp.asarray(buffer)
    keys = [
        key if key.step == 2 else slice(n - 1, None, -1) if key.step == -1 and n else slice(0, n)
        for key, n in zip(flips, (a.shape[axis] for axis in order), strict=True)
    ]
    view = xp.permute_dims(x[tuple(keys)], tuple(np.argsort(order).tolist()))
    view[...] = xp.asarray(np.ascontiguousarray(a))
    return view


@given(st.sampled_from(NUMERIC), st.data())
def test_matmul(dtype, data):
    m, k, n = (data.draw(st.integers(0, 5)) for _ in range(3))
    batch = data.draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=2)
    )
    first, second = batch.input_shapes
    a = random((*first, m, k), dtype, 1)
    b = random((*second, k, n), dtype, 2)
    if data.draw(st.booleans()):
        a = a.reshape(-1)[:k] if a.size >= k else random((k,), dtype)
    if data.draw(st.booleans()):
        b = random((k,), dtype)
    x, y = data.draw(layout(a)), data.draw(layout(b))
    close(xp.matmul(x, y), np.asarray(a @ b))
    close(x @ y, np.asarray(a @ b))


@pytest.mark.parametrize("dtype", NUMERIC)
def test_matmul_of_every_small_size(dtype):
    # Vectors and halves of them, tiles of every number of rows; and sums in several parts.
    sizes = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33]
    for m in sizes:
        for n in sizes:
            a, b = random((m, 6), dtype, m), random((6, n), dtype, n)
            close(xp.asarray(a) @ xp.asarray(b), a @ b)
    for m, k, n in [(3, 70, 5), (40, 300, 70), (20, 600, 33)]:
        a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
        close(xp.asarray(a) @ xp.asarray(b), a @ b)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(8, 8192, 8), (2, 20001, 16), (5, 9000, 12), (8, 8300, 4), (3, 8193, 32)]
)
def test_products_of_long_rows_with_long_columns(m, k, n, dtype):
    a, b = random((2, m, k), dtype, 1), random((2, k, n), dtype, 2)
    found = np.asarray(xp.asarray(a) @ xp.asarray(b))
    if np.dtype(dtype).kind == "i":
        np.testing.assert_array_equal(found, a @ b)
    else:
        exact = a.astype("longdouble") @ b.astype("longdouble")
        bound = np.abs(a) @ np.abs(b) * np.finfo(dtype).eps * 40
        assert (np.abs(found - exact) <= bound).all()
    turned = xp.matrix_transpose(xp.asarray(np.ascontiguousarray(np.swapaxes(a, 1, 2))))
    if turned.device == "cpu" and n * found.itemsize % 32 == 0:
        assert np.asarray(turned @ xp.asarray(b)).tobytes() == found.tobytes()


@given(st.sampled_from(NUMERIC), st.data())
def test_small_products_have_the_same_bits_in_every_layout(dtype, data):
    m, k, n = (data.draw(st.integers(1, 20)) for _ in range(3))
    n = max(n, 2)
    if m * k <= 64 and _core.default_device() == "cpu":
        n = data.draw(st.sampled_from([1, n]))
    a, b = random((3, m, k), dtype, 1), random((3, k, n), dtype, 2)
    plain = np.asarray(xp.asarray(a) @ xp.asarray(b))
    moved = np.asarray(data.draw(layout(a)) @ data.draw(layout(b)))
    assert moved.tobytes() == plain.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(40, 70), (70, 40), (200, 33), (1, 50), (50, 1)])
def test_a_matrix_times_its_own_transpose(shape, dtype):
    a = random(shape, dtype)
    x = xp.asarray(a)
    for out, expected in [(x @ x.T, a @ a.T.copy()), (x.T @ x, a.T.copy() @ a)]:
        close(out, expected)
        values = np.asarray(out)
        if min(shape) > 1 and x.device == "cpu":  # a GPU's library computes both halves
            assert values.tobytes() == values.T.tobytes()
    # A part of it is another matrix.
    close(x @ x[: shape[0] // 2 + 1].T, a @ a[: shape[0] // 2 + 1].T)
    view = x[::-1]
    close(view @ view.T, a[::-1] @ a[::-1].T.copy())


@pytest.mark.parametrize("dtype", NUMERIC)
def test_larger_products(dtype):
    a, b = random((130, 67), dtype, 1), random((67, 141), dtype, 2)
    close(xp.asarray(a) @ xp.asarray(b), a @ b)
    close(xp.asarray(b).mT @ xp.asarray(a).mT, b.T @ a.T)
    stack = random((3, 40, 67), dtype, 3)
    close(xp.asarray(stack) @ xp.asarray(b), stack @ b)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(5, 80, 3), (24, 37, 18), (1, 26, 1), (1, 40, 33), (9, 60, 1)]
)
def test_operands_of_any_layout(dtype, m, k, n):
    """Exactly the same for integers; the floating ones are transposed by BLAS, which rounds anew."""
    a, b = xp.asarray(random((m, k), dtype, 1)), xp.asarray(random((k, n), dtype, 2))
    expected = a @ b
    for x in (a, a.mT.copy().mT, xp.repeat(a, 2, axis=1)[:, ::2], xp.flip(xp.flip(a).copy())):
        for y in (b, b.mT.copy().mT, xp.repeat(b, 2, axis=0)[::2, :]):
            close(x @ y, np.asarray(expected))
    stack = xp.stack([a, a + a])
    strided = xp.permute_dims(xp.permute_dims(stack, (2, 0, 1)).copy(), (1, 2, 0))
    close(strided @ b, np.asarray(stack @ b))
    close(xp.tensordot(a, b.mT.copy(), axes=((1,), (1,))), np.asarray(expected))


def test_promotion():
    a, b = xp.ones((2, 2), dtype=xp.int8), xp.ones((2, 2), dtype=xp.uint8)
    assert (a @ b).dtype == xp.int16
    assert (a @ xp.ones((2, 2), dtype=xp.float32)).dtype == xp.float32
    assert xp.vecdot(a, b).dtype == xp.tensordot(a, b).dtype == xp.int16


def test_integers_wrap():
    a = xp.full((1, 2), 100, dtype=xp.int8)
    assert (a @ a.mT).tolist() == [[20000 % 256 - 256 if 20000 % 256 > 127 else 20000 % 256]]


def test_nothing_to_sum_gives_zeros():
    x = xp.zeros((2, 0)) @ xp.zeros((0, 3))
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert xp.vecdot(xp.zeros(0), xp.zeros(0)).tolist() == 0
    assert xp.tensordot(xp.zeros((2, 0)), xp.zeros((0, 3)), axes=1).shape == (2, 3)
    assert (xp.zeros((0, 2, 3)) @ xp.zeros((3, 4))).shape == (0, 2, 4)


@given(st.sampled_from(NUMERIC), st.data())
def test_tensordot(dtype, data):
    a_shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    count = data.draw(st.integers(0, len(a_shape)))
    chosen = data.draw(st.permutations(range(len(a_shape))))[:count]
    extra = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    sizes = [a_shape[i] for i in chosen] + list(extra)
    order = data.draw(st.permutations(range(len(sizes))))
    b_shape = [sizes[i] for i in order]
    partners = [order.index(i) for i in range(count)]
    a, b = random(a_shape, dtype, 1), random(b_shape, dtype, 2)
    x, y = data.draw(layout(a)), data.draw(layout(b))
    axes = (tuple(chosen), tuple(partners))
    close(xp.tensordot(x, y, axes=axes), np.tensordot(a, b, axes))
    negative = (tuple(i - a.ndim for i in chosen), tuple(i - b.ndim for i in partners))
    close(xp.tensordot(x, y, axes=negative), np.tensordot(a, b, axes))
    close(xp.tensordot(x, y, axes=0), np.tensordot(a, b, 0))


def test_tensordot_over_a_number_of_axes():
    a, b = random((2, 3, 4), "float64"), random((3, 4, 5), "float64")
    close(xp.tensordot(xp.asarray(a), xp.asarray(b)), np.tensordot(a, b))
    close(xp.tensordot(xp.asarray(a), xp.asarray(b[0]), axes=1), np.tensordot(a, b[0], 1))


@given(st.sampled_from(NUMERIC), st.data())
def test_vecdot(dtype, data):
    n = data.draw(st.integers(0, 5))
    batch = data.draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=2)
    )
    axis = data.draw(st.integers(-1 - min(map(len, batch.input_shapes)), -1))
    arrays = [
        np.moveaxis(random((*shape, n), dtype, i), -1, axis)
        for i, shape in enumerate(batch.input_shapes)
    ]
    x, y = (data.draw(layout(a)) for a in arrays)
    a, b = (np.moveaxis(a, axis, -1) for a in arrays)
    close(xp.vecdot(x, y, axis=axis), np.asarray((a.conj() * b).sum(-1, dtype=dtype)))


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("n", [1, 3, 32, 33])
def test_many_vectors(dtype, n):
    a, b = random((50, 2, n), dtype, 1), random((2, n), dtype, 2)
    expected = (a.conj() * b).sum(-1, dtype=dtype)
    close(xp.vecdot(xp.asarray(a), xp.asarray(b)), expected)
    moved = xp.asarray(np.ascontiguousarray(np.moveaxis(a, -1, -2)))
    result = xp.vecdot(moved, xp.asarray(np.ascontiguousarray(b.T)), axis=-2)
    assert xp.all(result == xp.vecdot(xp.asarray(a), xp.asarray(b)))


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize(("m", "k", "n"), [(28, 30, 63), (40, 50, 60), (1, 40, 50)])
def test_stacks_in_reverse(dtype, m, k, n):
    a, b = random((3, m, k), dtype, 1), random((3, k, n), dtype, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    close(x[::-1, ...] @ y, a[::-1] @ b)
    close(x @ y[::-1, ...], a @ b[::-1])
    apart = xp.asarray(np.repeat(b, 2, axis=-2))[::-1, ::2, :]  # as far apart as rows are long
    close(x @ apart, a @ b[::-1])


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 2), (2, 2, 2), (3, 5, 4), (20, 7, 9)])
def test_long_stacks_of_small_products(m, k, n, dtype):
    a, b = random((7, 901, m, k), dtype, 1), random((901, k, n), dtype, 2)
    close(xp.asarray(a) @ xp.asarray(b), a @ b)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_one_number_as_a_matrix(dtype):
    """Its strides may be zero."""
    a = random((40, 1), dtype, 1)
    x, number = xp.asarray(a), xp.asarray(a[:1, 0])
    for one in (number[None, :], number[:, None], xp.broadcast_to(number, (1, 1))):
        for product in (x @ one, xp.matrix_transpose(one @ xp.matrix_transpose(x))):
            if a.dtype.kind == "c":  # whose parts may be rounded twice
                close(product, a * a[0])
            else:
                assert xp.all(product == x * number)


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("shape", [(100,), (3, 2000), (100_003,), (1500, 130)])
def test_products_of_vectors_do_not_depend_on_their_layout(dtype, shape):
    a, b = random(shape, dtype, 1), random(shape, dtype, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    result = xp.vecdot(x, y)
    wide = np.result_type(dtype, "float64") if np.dtype(dtype).kind in "fc" else dtype
    expected = (a.conj().astype(wide) * b).sum(-1, dtype=wide)
    np.testing.assert_allclose(
        np.asarray(result), expected.astype(dtype), rtol=1e-4, atol=1e-3 * shape[-1] ** 0.5
    )
    apart = xp.zeros((*shape, 2), dtype=x.dtype)[..., 0]
    apart[...] = x
    unaligned = xp.zeros((*shape[:-1], shape[-1] + 1), dtype=x.dtype)[..., 1:]
    unaligned[...] = y
    backwards = xp.flip(xp.asarray(np.ascontiguousarray(a[..., ::-1])), axis=-1)
    columns = xp.matrix_transpose(xp.asarray(np.ascontiguousarray(a.T))) if a.ndim > 1 else x
    for u, v in [(apart, y), (x, unaligned), (backwards, unaligned), (columns, y)]:
        assert xp.all(xp.vecdot(u, v) == result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [8191, 8192, 8193, 30_000, 100_003])
def test_products_of_long_vectors(n, dtype):
    a, b = random((3, n), dtype, 1), random((3, n), dtype, 2)
    expected = (a.astype("longdouble") * b).sum(-1)
    result = xp.vecdot(xp.asarray(a), xp.asarray(b))
    size = np.abs(a.astype("longdouble") * b).sum(-1)
    assert np.all(np.abs(np.asarray(result) - expected) <= 100 * np.finfo(dtype).eps * size)


@pytest.mark.cpu  # on a GPU they are cuBLAS's
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [8191, 8192, 8193, 30_000, 100_003])
def test_long_vectors_are_added_in_one_order(n, dtype):
    a, b = random((3, n), dtype, 1), random((3, n), dtype, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    result = xp.vecdot(x, y)
    by_columns = (xp.asarray(np.asfortranarray(a)), xp.asarray(np.asfortranarray(b)))
    assert xp.all(xp.vecdot(*by_columns) == result)
    assert xp.all(xp.vecdot(x[:, None, :], y[None, :, :])[0, 0] == result[0])
    assert x[0] @ y[0] == result[0]
    assert xp.asarray(np.repeat(a[0], 2))[::2] @ y[0] == result[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [*range(1, 26), 31, 32, 33, 39, 40, 41, 63])
def test_short_rows_times_a_vector(k, dtype):
    """Sums of whole numbers, which are exact; what lies beside the rows is NaN."""

    def equal(x, expected):
        assert x.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(x), expected)

    for m in (1, 2, 7, 8, 9, 15, 16, 17, 40, 3000):
        wide = np.full((5 if m < 100 else 1, m + 1, k + 3), np.nan, dtype)
        wide[:, :m, 1 : k + 1] = np.rint(10 * random((len(wide), m, k), dtype))
        vectors = np.full((len(wide), k, 2), np.nan, dtype)
        vectors[:, :, 0] = np.rint(10 * random((len(wide), k), dtype, 1))
        a, x = xp.asarray(wide)[:, :m, 1 : k + 1], xp.asarray(vectors)[:, :, :1]
        expected = wide[:, :m, 1 : k + 1] @ vectors[:, :, :1]
        equal(a @ x, expected)
        equal(a[0, ...] @ x[0, :, 0], expected[0, :, 0])
        equal(xp.matrix_transpose(x) @ xp.matrix_transpose(a), expected.transpose(0, 2, 1))
        equal(xp.asarray(a, copy=True) @ xp.asarray(x, copy=True), expected)
        columns = xp.matrix_transpose(xp.asarray(xp.matrix_transpose(a), copy=True))
        equal(columns @ x, expected)


@pytest.mark.cpu  # on a GPU they are cuBLAS's
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [4, 5, 8, 13, 16, 19, 20, 31, 40])
def test_short_rows_give_the_same_bits_in_any_number(k, dtype):
    a, x = xp.asarray(random((57, k), dtype)), xp.asarray(random((k,), dtype, 1))
    if _core.isa() == "baseline" or k * a.dtype.itemsize > 160:
        pytest.skip("OpenBLAS multiplies them")
    whole = np.asarray(a @ x)
    for rows in (1, 5, 8, 16, 31):
        assert np.asarray(a[:rows, :] @ x).tobytes() == whole[:rows].tobytes()
        assert np.asarray(a[-rows:, :] @ x).tobytes() == whole[-rows:].tobytes()
        if 16 < rows * k <= 64:
            columns = xp.asarray(a[:rows, :].T, copy=True).T
            assert np.asarray(columns @ x).tobytes() == whole[:rows].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(("k", "n"), [(8, 8), (16, 16), (24, 24), (64, 9), (5, 40), (3, 7)])
def test_tall_matrices(k, n, dtype):
    a, b = random((3, 401, k), dtype, 1), random((k, n), dtype, 2)
    close(xp.asarray(a) @ xp.asarray(b), a @ b)
    close(xp.asarray(a)[:, ::-1, ::2] @ xp.asarray(b)[::2], a[:, ::-1, ::2] @ b[::2])
    close(xp.asarray(np.asfortranarray(a[0])) @ xp.asarray(np.asfortranarray(b)), a[0] @ b)


FEW_LONG_ROWS = [
    (2, 512, 2),
    (7, 1030, 5),
    (16, 2049, 16),
    (15, 1100, 13),
    (4, 40_001, 3),
    (16, 1025, 8),
    (301, 703, 6),
    (1201, 2100, 4),
    (3, 900, 1201),
    (8, 517, 1031),
    (2, 4099, 70),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("m", "k", "n"), FEW_LONG_ROWS)
def test_products_of_few_rows_or_columns(m, k, n, dtype):
    a, b = random((2, m, k), dtype, 1), random((2, k, n), dtype, 2)
    exact = a.astype("longdouble") @ b

    def layouts(values):
        yield xp.asarray(values)
        yield xp.matrix_transpose(xp.asarray(np.ascontiguousarray(values.swapaxes(1, 2))))
        yield xp.asarray(np.pad(values, ((0, 0), (1, 0), (2, 1))))[:, 1:, 2:-1]
        yield xp.asarray(np.repeat(values[:, ::-1], 2, axis=2))[:, ::-1, ::2]

    bound = 100 * np.finfo(dtype).eps * np.abs(a).astype("longdouble") @ np.abs(b)
    for x in layouts(a):
        for y in layouts(b):
            assert np.all(np.abs(np.asarray(x @ y) - exact) <= bound)
            assert np.all(
                np.abs(np.asarray(x[1] @ y[0]) - a[1] @ b[0].astype("longdouble")) <= bound.max()
            )
    special = a.copy()
    special[0, 0, k - 1] = np.inf
    special[1, m - 1, k // 2] = np.nan
    with np.errstate(invalid="ignore"):
        expected = special @ b
    for x in layouts(special):
        result = np.asarray(x @ xp.asarray(b))
        assert np.array_equal(np.isfinite(result), np.isfinite(expected))


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_of_few_rows_or_columns_are_the_same_on_any_number_of_threads(dtype):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    for m, k, n in [*FEW_LONG_ROWS, (4, 300_001, 3), (3, 900, 9001), (9001, 900, 8)]:
        x, y = xp.asarray(random((m, k), dtype, 1)), xp.asarray(random((k, n), dtype, 2))
        results = []
        for threads in (1, 3, 4):
            with threadpoolctl.threadpool_limits(threads):
                results.append(x @ y)
        assert xp.all(results[0] == results[1])
        assert xp.all(results[0] == results[2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("rows", "depth"), [(16_001, 16), (9, 16_001), (601, 603), (2, 70_001), (5000, 301)]
)
def test_large_matrices_by_vectors(rows, depth, dtype):
    """They are cut into pieces along rows, or along the depth where columns are contiguous."""
    a, v = random((rows, depth), dtype, 1), random((depth,), dtype, 2)
    wide = np.result_type(dtype, "longdouble")
    exact, size = a.astype(wide) @ v, np.abs(a).astype("longdouble") @ np.abs(v)
    x, y, apart = xp.asarray(a), xp.asarray(v), xp.asarray(np.repeat(v, 3))[::3]
    columns = xp.matrix_transpose(xp.asarray(np.ascontiguousarray(a.T)))
    padded = xp.asarray(np.pad(a, ((0, 0), (1, 2))))[:, 1:-2]
    for matrix in (x, columns, padded):
        for result in (matrix @ y, y @ matrix.T, matrix @ apart, apart @ matrix.T):
            assert np.all(np.abs(np.asarray(result) - exact) <= 100 * np.finfo(dtype).eps * size)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "depth"), [(16_001, 16), (9, 16_001), (1100, 1101), (2, 700_001), (5000, 301)]
)
def test_matrices_by_vectors_are_the_same_on_any_number_of_threads(rows, depth, dtype):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    x, v = (xp.asarray(random(shape, dtype, 1)) for shape in ((rows, depth), (depth,)))
    columns = xp.matrix_transpose(xp.asarray(np.ascontiguousarray(np.asarray(x).T)))
    results = []
    for threads in (1, 3, 4):
        with threadpoolctl.threadpool_limits(threads):
            results.append((x @ v, columns @ v))
    for result in results[1:]:
        assert xp.all(result[0] == results[0][0])
        assert xp.all(result[1] == results[0][1])


@given(hnp.arrays("int64", hnp.array_shapes(min_dims=2, max_dims=4, min_side=0)))
def test_matrix_transpose(a):
    x = xp.matrix_transpose(xp.asarray(a))
    np.testing.assert_array_equal(np.asarray(x), np.swapaxes(a, -1, -2))


M = xp.zeros((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: xp.matmul(M, M), ValueError, r"\(2, 3\) and \(2, 3\)"),
        (lambda: M @ xp.zeros(2), ValueError, r"\(2, 3\) and \(2,\)"),
        (lambda: xp.zeros(3) @ M, ValueError, r"\(3,\) and \(2, 3\)"),
        (lambda: xp.matmul(xp.asarray(1.0), M), ValueError, "at least 1 dimension"),
        (lambda: xp.zeros((2, 4, 3)) @ xp.zeros((3, 3, 4)), ValueError, "broadcast"),
        (lambda: xp.matmul(M > 0, M), TypeError, "bool"),
        (lambda: xp.matmul(M, 2), TypeError, "x2 must be an arrayx array"),
        (lambda: xp.tensordot(M, M), None, ""),
        (lambda: xp.tensordot(M, M, axes=1), ValueError, r"\(2, 3\) and \(2, 3\)"),
        (lambda: xp.tensordot(M, M, axes=3), ValueError, "3 axes"),
        (lambda: xp.tensordot(M, M, axes=-1), ValueError, "at least 0"),
        (lambda: xp.tensordot(M, M, axes=((0,), (0, 1))), ValueError, "same length"),
        (lambda: xp.tensordot(M, M, axes=((0, 0), (0, 0))), ValueError, "twice"),
        (lambda: xp.tensordot(M, M, axes=((2,), (0,))), IndexError, "out of range"),
        (lambda: xp.tensordot(M, M, axes="ab"), TypeError, "axes must be"),
        (lambda: xp.tensordot(M, M > 0), TypeError, "bool"),
        (lambda: xp.vecdot(M, xp.zeros((2, 1))), ValueError, r"\(2, 3\) and \(2, 1\)"),
        (lambda: xp.vecdot(M, M, axis=0), IndexError, "axis 0"),
        (lambda: xp.vecdot(M, xp.zeros(3), axis=-2), IndexError, "axis -2"),
        (lambda: xp.vecdot(xp.asarray(1.0), M), IndexError, "axis -1"),
        (lambda: xp.vecdot(M > 0, M), TypeError, "bool"),
    ],
)
def test_errors_name_what_is_wrong(call, error, words):
    if error is None:
        assert call().shape == ()
        return
    with pytest.raises(error, match=words):
        call()


# Sides around those of tiles (2 to 8 rows, up to three vectors), of panels and of pieces of the depth.
TILED = [
    (7, 257, 9),
    (9, 65, 63),
    (16, 256, 48),
    (17, 31, 97),
    (33, 513, 25),
    (64, 64, 64),
    (255, 63, 34),
    (257, 300, 129),
    (300, 20, 1031),
    (1030, 33, 31),
]


@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "float32", "float64", "complex64", "complex128"]
)
@pytest.mark.parametrize(("m", "k", "n"), TILED)
def test_products_of_tiles(m, k, n, dtype):
    a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
    wide = dtype if dtype.startswith("int") else np.result_type(dtype, "longdouble")
    exact = a.astype(wide) @ b.astype(wide)

    def layouts(values):
        yield xp.asarray(values)
        yield xp.asarray(np.ascontiguousarray(values.T)).T
        yield xp.asarray(np.pad(values, ((1, 0), (2, 1))))[1:, 2:-1]
        yield xp.asarray(np.repeat(values[::-1], 2, axis=1))[::-1, ::2]
        yield xp.asarray(np.repeat(values.T[::-1], 2, axis=0))[::-2].T

    for x in layouts(a):
        for y in layouts(b):
            result = np.asarray(x @ y)
            if dtype.startswith("int"):
                assert np.array_equal(result, exact)
            else:
                size = np.abs(a).astype("longdouble") @ np.abs(b)
                assert np.all(np.abs(result - exact) <= k * np.finfo(dtype).eps * size)


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "complex64", "complex128"])
def test_products_of_tiles_have_the_same_bits_on_any_number_of_threads(dtype):
    """And where the left matrix is transposed; those of long rows are added up in pieces."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    if _core.report()["isa"] == "baseline" and dtype != "int16":
        pytest.skip("with narrow vectors they are OpenBLAS's")
    for m, k, n in [
        (300, 300, 300), (17, 700, 900), (1100, 270, 40), (333, 64, 2000), (70, 9001, 33),
        (12, 140_000, 5),
    ]:  # fmt: skip
        a = random((m, k), dtype, 1)
        x, y = xp.asarray(a), xp.asarray(random((k, n), dtype, 2))
        turned = xp.asarray(np.ascontiguousarray(a.T)).T
        gapped = xp.asarray(np.repeat(a.T, 2, axis=1)).T[::2]
        results = []
        for threads in (1, 2, 3, 4):
            with threadpoolctl.threadpool_limits(threads):
                results.append((x @ y, turned @ y, gapped @ y, x @ x.T))
        for *products, square in results:
            for product in products:
                assert xp.all(product == results[0][0])
            assert xp.all(square == results[0][-1])
        if m * n < 10_000 and dtype != "int16":
            wide = "clongdouble" if "complex" in dtype else "longdouble"
            exact = a.astype(wide) @ np.asarray(y).astype(wide)
            bound = 8 * np.sqrt(k) * np.finfo(dtype).eps
            assert np.max(np.abs(np.asarray(results[0][0]) - exact)) <= bound * np.abs(a).max() ** 2


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize(
    "shape", [(40, 7, 3), (3, 20_000), (70_000, 2), (129, 40, 20), (5, 300, 64)]
)
def test_vecdot_along_any_axis(dtype, shape):
    """The bits do not depend on which dimension lies along memory."""
    a, b = random(shape, dtype, 1), random(shape, dtype, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    for axis in range(-len(shape), 0):
        rows = [xp.asarray(np.ascontiguousarray(np.moveaxis(v, axis, -1))) for v in (a, b)]
        assert xp.all(xp.vecdot(x, y, axis=axis) == xp.vecdot(*rows))
        assert xp.all(xp.vecdot(x, x, axis=axis) == xp.vecdot(rows[0], rows[0]))
        assert xp.all(
            xp.vecdot(x, xp.flip(y, axis=0), axis=axis)
            == xp.vecdot(rows[0], xp.asarray(np.ascontiguousarray(np.moveaxis(b[::-1], axis, -1))))
        )


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize(
    "shape", [(300, 3, 3, 3), (40, 30, 20), (20, 20, 1), (50, 5, 15), (9, 2, 2)]
)
def test_vecdot_of_permuted_arrays(dtype, shape):
    """Where few vectors follow each other, or neither they nor their elements lie along memory."""
    a, b = random(shape, dtype, 1), random(shape, dtype, 2)
    for order in itertools.permutations(range(len(shape))):
        turned = [np.ascontiguousarray(v.transpose(order)) for v in (a, b)]
        u, v = (xp.permute_dims(xp.asarray(x), order) for x in (a, b))
        x, y = (xp.asarray(t) for t in turned)
        for left, right, one, other in ((u, v, x, y), (u, y, x, y), (x, v[::-1], x, y[::-1])):
            assert xp.all(xp.vecdot(left, right) == xp.vecdot(one, other))
        assert xp.all(xp.vecdot(u, u) == xp.vecdot(x, x))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(3, 3), (80, 90), (2, 20_000), (20_000, 2), (4, 70, 70)])
def test_integers_by_a_column(dtype, shape):
    a, b = random(shape, dtype, 1), random((*shape[:-2], shape[-1], 1), dtype, 2)
    x, y = xp.asarray(a), xp.asarray(b)
    assert np.array_equal(np.asarray(x @ y), a @ b)
    assert np.array_equal(
        np.asarray(x[..., ::-1] @ y[..., ::-1, :]), a[..., ::-1] @ b[..., ::-1, :]
    )
    assert np.array_equal(
        np.asarray(x @ y[0, :, 0] if x.ndim > 2 else x @ y[:, 0]),
        a @ (b[0, :, 0] if a.ndim > 2 else b[:, 0]),
    )
