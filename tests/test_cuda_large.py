"""Lines of more than 2^24 elements and masks of more than 2^26, which the kernels of a GPU cut in
more parts than others, and arrays that its caches have or have not. They are made so that what they
become is known; elsewhere it takes long."""

import os

import numpy as np
import pytest
from strided import ours, same

import arrayx as xp
from arrayx import _core

pytestmark = pytest.mark.skipif(
    _core.default_device() == "cpu" or "ARRAYX_CUDA_LIBRARY" in os.environ,
    reason="they are for a GPU",
)

LENGTHS = [20_000_012, 40_000_004]
# A prime: i times it, modulo a length, comes to each number below the length once.
FACTOR = 2**31 - 1


def ranks(n):
    """Numbers below n in another order, and where each of them stands."""
    numbers = np.arange(n)
    return numbers * FACTOR % n, numbers * pow(FACTOR, -1, n) % n


def values(ranks, dtype):
    """Different values of a dtype, which its bits are used for, in the order of some numbers."""
    if dtype == "float32":
        return (ranks + 0x3C000000).astype(np.uint32).view(np.float32)
    return (ranks - LENGTHS[-1] // 2) * (2**38 + 1)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_sort_and_argsort(dtype, n):
    order, places = ranks(n)
    x = ours(values(order, dtype))
    expected = values(np.arange(n), dtype)
    same(xp.sort(x), expected)
    same(xp.sort(x, descending=True), expected[::-1].copy())
    same(xp.argsort(x), places)
    same(xp.argsort(x, descending=True), places[::-1].copy())


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_of_four_equal_elements_each(dtype):
    n = LENGTHS[0]
    order, places = ranks(n)
    x = ours(values(order // 4, dtype))
    places = np.sort(places.reshape(-1, 4))
    expected = values(np.arange(n // 4), dtype)
    same(xp.argsort(x), places.reshape(-1))
    same(xp.unique_values(x), expected)
    unique = xp.unique_all(x)
    same(unique.values, expected)
    same(unique.indices, places[:, 0].copy())
    same(unique.inverse_indices, order // 4)
    same(unique.counts, np.full(n // 4, 4))


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
def test_cumulative_sum_and_product(dtype, n):
    """Of small integers, whose sums are exact in every order."""
    rng = np.random.default_rng(n)
    a = rng.integers(-1, 1, n, np.int8, endpoint=True)
    x = ours(a.astype(dtype))
    sums = np.cumsum(a, dtype=np.int64)
    for step in (1, -1):
        same(xp.astype(xp.cumulative_sum(x[::step]), xp.int64), sums)
        sums = np.cumsum(a[::-1], dtype=np.int64)
    signs = np.where(a == 0, np.int8(1), a)
    products = np.cumprod(signs, dtype=np.int8)
    same(xp.astype(xp.cumulative_prod(ours(signs.astype(dtype))), xp.int8), products)


@pytest.mark.parametrize("among_256", [1, 128, 255])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_masks(dtype, among_256):
    n = 70_000_001
    drawn = np.random.default_rng(n).integers(0, 255, n, np.uint8, endpoint=True)
    a = drawn.view(np.int8) if dtype == "int8" else values(np.arange(n), dtype)
    m = drawn < among_256
    x, mask = ours(a), ours(m)
    chosen = a[m]
    assert int(xp.count_nonzero(mask)) == len(chosen)
    same(xp.nonzero(mask)[0], np.flatnonzero(m))
    same(x[mask], chosen)
    x[mask] = ours(chosen[::-1].copy())
    a = a.copy()
    a[m] = chosen[::-1]
    same(x, a)


@pytest.mark.parametrize("n", [600_000, 3_000_000, 9_000_000, 20_000_000])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["log10", "sin", "sqrt", "divide", "pow"])
def test_a_function_has_the_bits_that_it_has_of_pieces(name, dtype, n):
    """Threads take several packs of some of these, and blocks ask for what later ones read."""
    rng = np.random.default_rng(n)
    function, piece, operands = getattr(xp, name), 250_000, []
    for _ in range(2 if name in ("divide", "pow") else 1):
        drawn = rng.random(n, np.float32) + np.float32(0.5)
        operands.append(
            ours((drawn + 1j * drawn[::-1] if dtype != "float32" else drawn).astype(dtype))
        )
    found = function(*operands)
    for start in range(0, n, piece):
        expected = function(*(x[start : start + piece] for x in operands))
        assert xp.all(found[start : start + piece] == expected), start


@pytest.mark.parametrize(("n", "times"), [(7_003, 4000), (20_011, 2900), (300_007, 60)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_row_has_the_bits_that_it_has_among_many(dtype, n, times):
    """One is cut into many parts, some into few, and very many into none."""
    rows = ours(np.random.default_rng(n).standard_normal((3, n)).astype(dtype))
    for function in (xp.sum, xp.std, xp.linalg.vector_norm):
        alone = np.stack([np.asarray(function(rows[i, :])) for i in range(3)])
        for count in (1, 30, times):
            found = np.asarray(function(xp.tile(rows, (count, 1)), axis=1))
            assert found.tobytes() == np.tile(alone, count).tobytes(), (function, count)
