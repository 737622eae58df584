"""Arrays larger than a core's caches, which the CPU engine copies, combines, gathers and reduces in
ways of their own; compared with NumPy, bit for bit."""

import itertools
import math

import numpy as np
import pytest
import threadpoolctl
from strided import INTEGERS, Draw, alike, finished, near, ours, same

import arrayx as xp

# One dtype of every item size.
SIZES = ["int8", "uint16", "float32", "int64", "complex128"]
WIDER = {"int8": "int16", "uint16": "int32", "float32": "float64", "int64": "int64"}
# A little more than all results have that go past the caches of one thread, which begin with fewer
# than those of several; and than those of copies and running sums, of two threads, too.
BYTES = (3 << 23) + (1 << 16)
COPIED = (5 << 22) + (1 << 16)


@pytest.fixture(params=[1, None], ids=["one thread", "all threads"], scope="class")
def threads(request):
    if request.param is None:
        yield
    else:
        with threadpoolctl.threadpool_limits(request.param, "openmp"):
            yield


def whole(shape, dtype, seed=0, least=BYTES):
    """Finite values whose sums of a few are exact; (n, -1) is of at least so many bytes."""
    if -1 in shape:
        others = -math.prod(shape) * np.dtype(dtype).itemsize
        shape = tuple(-(-least // others) if s == -1 else s for s in shape)
    rng = np.random.default_rng(seed)
    size = math.prod(shape)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size, dtype, endpoint=True).reshape(shape)
    values = rng.integers(-99, 100, size, np.int8).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values.imag = rng.integers(-99, 100, size, np.int8)
    return values.reshape(shape)


def square(dtype, seed=0):
    side = math.isqrt(BYTES // np.dtype(dtype).itemsize) | 1
    return whole((side, side), dtype, seed)


def same_by_any_threads(compute, expected):
    """What one thread computes, and all do, where the expected takes long to compute."""
    same(compute(), expected)
    with threadpoolctl.threadpool_limits(1, "openmp"):
        same(compute(), expected)


@pytest.mark.usefixtures("threads")
class TestCopies:
    @pytest.mark.parametrize("dtype", SIZES)
    @pytest.mark.parametrize(
        "shape",
        [
            (4099, -1),
            (1024, -1),
            (129, -1),
            (-1, 3),
            (2, -1),
            (63, 127, -1),
            (32, -1, 5),
            (7, 64, -1, 9),
        ],
    )
    def test_of_permuted_dimensions(self, shape, dtype):
        a = whole(shape, dtype, least=COPIED)
        permutations = list(itertools.permutations(range(a.ndim)))
        for order in permutations[1:] if a.ndim < 4 else permutations[5::9]:
            copy = xp.permute_dims(ours(a), order).copy()
            assert np.asarray(copy).flags.c_contiguous
            same(copy, a.transpose(order))

    @pytest.mark.parametrize("dtype", SIZES)
    @pytest.mark.parametrize("steps", [(1, -1), (-1, 1), (1, 2)])
    def test_of_steps(self, steps, dtype):
        side = len(square(dtype))
        a = whole([side * abs(step) for step in steps], dtype)[:: steps[0], :: steps[1]]
        same(ours(a).copy(), a)
        same(ours(a.T).copy(), a.T)

    @pytest.mark.parametrize("dtype", SIZES)
    @pytest.mark.parametrize(("start", "pad"), [(0, 0), (7, 1), (5, 64)])
    def test_into_a_part_of_an_array(self, start, pad, dtype):
        """Rows that begin anywhere in a cache line; nothing beside them is written."""
        a = whole((-1, 1031), dtype, least=COPIED)
        for source in (a, a.T):
            rows, columns = source.shape
            expected = np.full(start + rows * (columns + pad) + 64, 77, dtype)
            memory = ours(expected.copy())
            mine, theirs = (
                m[start : start + rows * (columns + pad)].reshape(rows, -1)[:, :columns]
                for m in (memory, expected)
            )
            mine[...] = ours(source)
            theirs[...] = source
            same(memory, expected)

    @pytest.mark.parametrize("dtype", SIZES)
    @pytest.mark.parametrize("start", [1, 6])
    def test_from_a_part_of_an_array(self, start, dtype):
        a = whole((-1, 2053), dtype, least=COPIED)
        b = a.reshape(-1)[start : start + a.size - 2053].reshape(-1, 2053)
        same(ours(b).copy(), b)
        same(ours(b.T).copy(), b.T)

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_one_element(self, dtype):
        a = whole((-1, 4099), dtype, least=COPIED)
        same(xp.full(a.shape, 77, dtype=getattr(xp, dtype)), np.full(a.shape, 77, dtype))
        for columns in (slice(3, None), slice(None, -2)):
            x, expected = ours(a.copy()), a.copy()
            x[:, columns] = 77
            expected[:, columns] = 77
            same(x, expected)

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_an_array_to_its_own_transpose(self, dtype):
        a = square(dtype)
        x = ours(a.copy())
        x[...] = x.T
        same(x, a.T)

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_parts_put_together(self, dtype):
        a = square(dtype)
        x = ours(a)
        same(xp.concat([x.T, x]), np.concatenate([a.T, a]))
        same(xp.reshape(x.T, (-1,)), a.T.reshape(-1))
        same(xp.roll(x.T, 5, axis=1), np.roll(a.T, 5, axis=1))
        same(xp.broadcast_to(x[:, :1], x.shape).copy(), np.broadcast_to(a[:, :1], a.shape))
        same(xp.tril(x.T), np.tril(a.T))


@pytest.mark.parametrize(
    "to", ["bool", "int8", "int32", "int64", "float32", "float64", "complex128"]
)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "float64"])
def test_copies_to_another_dtype(dtype, to):
    rows = BYTES // np.dtype(to).itemsize // 4099 + 1
    a = whole((rows, 4099), "int8") > 0 if dtype == "bool" else whole((rows, 4099), dtype)
    for b in (a, a.T, a[:, 3:], a[::-1, :-2]):
        same_by_any_threads(lambda b=b: xp.astype(ours(b), getattr(xp, to)), b.astype(to))


@pytest.mark.usefixtures("threads")
class TestLoops:
    """Operands of which some are transposed, broadcast, cast or the output itself."""

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_transposed_and_broadcast_operands(self, dtype):
        a, b = square(dtype, 1), square(dtype, 2)
        x, y = ours(a), ours(b)
        same(x + y, a + b)
        same(x + x.T, a + a.T)
        same(x[:-3, 1:] + y.T[3:, 1:], a[:-3, 1:] + b.T[3:, 1:])
        same(x + y[0], a + b[0])
        same(x.T + y[0], a.T + b[0])
        same(x.T + y[:, :1], a.T + b[:, :1])
        same(x + 1, a + a.dtype.type(1))

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_a_square_and_its_transpose(self, dtype):
        a = square(dtype)
        half = a.shape[0] // 2
        stack = a[: 2 * half, :half].reshape(2, half, half)
        for b in (a[1:, 1:], a[::-1], stack):
            x, turned = ours(b), b.swapaxes(-1, -2)
            same(x * x.mT, b * turned)
            same(xp.where(x == x.mT, x, x.mT), np.where(b == turned, b, turned))
        if dtype == "uint16":
            odd = a | 1
            same(ours(odd) / ours(odd).T, odd.astype("float64") / odd.T)

    @pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "int64"])
    def test_of_several_dtypes(self, dtype):
        a, b = square(dtype, 1), square(dtype, 2)
        x, y = ours(a), ours(b)
        same(x < y.T, a < b.T)
        same(xp.where(x < y.T, x, y.T), np.where(a < b.T, a, b.T))
        same(x.T + xp.astype(y, getattr(xp, WIDER[dtype])), a.T + b.astype(WIDER[dtype]))

    def test_of_narrow_operands_that_lie_across(self):
        a, b = square("float32", 1), square("float32", 2)
        bytes_, mask = whole(a.shape, "int8", 3), whole(a.shape, "int8", 4) > 0
        x, narrow, condition = ours(a), ours(bytes_), ours(mask)
        same(xp.where(condition.T, x, ours(b)), np.where(mask.T, a, b))
        same(xp.where(condition.T, x.T, 1), np.where(mask.T, a.T, a.dtype.type(1)))
        same(x + narrow.T, a + bytes_.T)
        same(x[1:, :-2] - narrow.T[:-1, 2:], a[1:, :-2] - bytes_.T[:-1, 2:])
        same(x + narrow.T[::-1, ::-1], a + bytes_.T[::-1, ::-1])
        x = ours(a.copy())
        x += narrow.T
        same(x, a + bytes_.T)
        stack = whole((3, *a.shape), "int16", 5)
        same(xp.astype(ours(stack), xp.float32) * narrow.T, stack.astype("float32") * bytes_.T)
        wide, shorts = whole((3001, 3003), "float64", 6), whole((3003, 3001), "int16", 7)  # slabs
        same(ours(wide) + ours(shorts).T, wide + shorts.T)

    def test_order_of_the_result(self):
        """That in which most bytes of the operands lie, or the first."""
        x, y = xp.zeros((5, 7)), xp.zeros((7, 5))
        condition = xp.zeros((7, 5), dtype=xp.bool)
        assert xp.where(condition.T, x, x).strides == x.strides
        assert xp.where(condition.T, x, y.T).strides == y.T.strides
        assert (x + y.T).strides == x.strides
        assert (y.T + x).strides == y.T.strides
        assert (xp.astype(y, xp.int8).T + x).strides == x.strides
        assert (y.T + 1).strides == y.T.strides

    @pytest.mark.parametrize("dtype", [*SIZES, "bool", "int16", "float64", "complex64"])
    def test_of_whole_arrays_and_rows(self, dtype):
        """What goes past the caches straight from the kernels, to places anywhere in a line."""
        if dtype == "bool":
            a, b = square("int8", 1) > 0, square("int8", 2) > 20
        else:
            a, b = square(dtype, 1), square(dtype, 2)
            b[b == 0] = 1
        mask = np.resize(whole((-1,), "int8", 3), a.shape) > 0
        kind = a.dtype.kind
        for p, q, m in [
            (a, b, mask),
            (a[:, 1:], b[:, :-1], mask[:, :-1]),
            (a[:-3, 5:], b[3:, :-5], mask[3:, 5:]),
        ]:
            x, y, condition = ours(p), ours(q), ours(m)
            same(xp.where(condition, x, y), np.where(m, p, q))
            same(x == y, p == q)
            same(xp.where(condition, x, y[0]), np.where(m, p, q[0]))
            if kind == "b":
                same(x & y, p & q)
                same(xp.logical_xor(x, y), p ^ q)
                same(xp.logical_not(x), ~p)
                continue
            same(x + y, p + q)
            same(x - y, p - q)
            same(x * y, p * q)
            same(-x, -p)
            if kind != "c":
                same(x < y, p < q)
                same(xp.abs(x), np.abs(p))
                same(xp.maximum(x, y), np.maximum(p, q))
                same(xp.minimum(x, y[0]), np.minimum(p, q[0]))
            if kind in "iu":
                same(x ^ y, p ^ q)
                same(~x, ~p)
            if kind == "f":
                same(x / y, p / q)
                same(xp.sqrt(xp.abs(x)), np.sqrt(np.abs(p)))
                same(xp.isfinite(x), np.isfinite(p))

    @pytest.mark.parametrize("dtype", SIZES)
    def test_in_place(self, dtype):
        a, b = square(dtype, 1), square(dtype, 2)
        for p, q in [(a, b), (a.T, b), (a[:, 1:], b.T[:, 1:])]:
            x = ours(p.copy())
            x += ours(q)
            same(x, p + q)
        x = ours(a.copy())
        x += x.T
        same(x, a + a.T)
        x = ours(a.copy())
        x[1:] += x[:-1]
        expected = a.copy()
        expected[1:] += a[:-1]
        same(x, expected)

    @pytest.mark.parametrize("dtype", SIZES)
    @pytest.mark.parametrize("start", [1, 7])
    def test_into_a_part_of_an_array(self, start, dtype):
        a = whole((-1,), dtype)
        memory = ours(np.zeros(start + a.size + 9, dtype))
        y = memory[start:-9]
        y[...] = ours(a)
        y += ours(a)
        same(y[: a.size - start] + ours(a[start:]), (a + a)[: a.size - start] + a[start:])
        expected = np.concatenate([np.zeros(start, dtype), a + a, np.zeros(9, dtype)])
        same(memory, expected)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_of_one_operand_are_as_those_of_its_rows(self, dtype):
        a = np.abs(whole((-1, 4097), dtype))
        for f in (xp.exp, xp.sqrt, xp.sin):
            rows = np.stack([np.asarray(f(ours(row))) for row in a])
            same(f(ours(a)), rows)
            same(f(ours(a.T)), rows.T)


def indices(rng, n, size, dtype):
    """Positions from 0 to n, or from its end, as far as the dtype reaches."""
    info = np.iinfo(dtype)
    return rng.integers(max(-n, info.min), min(n, info.max + 1), size, dtype)


class TestGathers:
    @pytest.mark.parametrize("index_dtype", INTEGERS)
    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_elements_and_rows(self, dtype, index_dtype):
        rng = np.random.default_rng(3)
        a = whole((700_000,), dtype)
        i = indices(rng, a.size, 100_003, index_dtype)
        same(ours(a)[ours(i)], a[i])
        same(xp.take(ours(a), ours(i[::-3])), a[i[::-3]])
        for shape in [(301, 1601), (20, 130, 90)]:
            a = whole(shape, dtype)
            x = ours(a)
            for axis, n in enumerate(shape):
                i = indices(rng, n, 1 + 150_000 * n // a.size, index_dtype)
                same(xp.take(x, ours(i), axis=axis), a.take(i, axis=axis))
                before = (slice(None),) * axis
                same(x[(*before, ours(i[::-1]))], a[(*before, i[::-1])])
                order = range(a.ndim)[::-1]
                got = xp.take(xp.permute_dims(x, order), ours(i), axis=-1 - axis)
                same(got, a.T.take(i, axis=-1 - axis))

    @pytest.mark.parametrize("dtype", SIZES)
    def test_of_places_along_an_axis(self, dtype):
        rng = np.random.default_rng(4)
        a = whole((100, 61, 80), dtype)
        for axis, n in enumerate(a.shape):
            for picked in (1, 17, 90):
                shape = list(a.shape)
                shape[axis] = picked
                k = rng.integers(-n, n, shape)
                got = xp.take_along_axis(ours(a), ours(k), axis=axis)
                same(got, np.take_along_axis(a, k, axis=axis))

    @pytest.mark.parametrize("dtype", SIZES)
    def test_with_several_indices(self, dtype):
        rng = np.random.default_rng(5)
        a = whole((700, 900), dtype)
        i, j = rng.integers(-700, 700, (400, 501)), rng.integers(-900, 900, (400, 501))
        same(ours(a)[ours(i), ours(j)], a[i, j])
        same(ours(a.T)[ours(j), ours(i)], a.T[j, i])
        same(ours(a)[ours(i[:, :1]), ours(j)], a[i[:, :1], j])

    @pytest.mark.parametrize("dtype", SIZES)
    def test_the_last_of_what_is_written_to_a_place_stays(self, dtype):
        rng = np.random.default_rng(6)
        a = whole((100_000,), dtype)
        i = rng.integers(-a.size, a.size, 250_000)
        values = whole(i.shape, dtype, 1)
        x = ours(a.copy())
        x[ours(i)] = ours(values)
        expected = a.copy()
        expected[i] = values
        same(x, expected)

    @pytest.mark.parametrize("at", [0, 1, 63, 250_000, 499_998, 499_999])
    @pytest.mark.parametrize("bad", [300_000, -300_001, 2**62, -(2**63)])
    def test_an_index_out_of_bounds_is_found_anywhere(self, bad, at):
        x = xp.arange(300_000)
        i = np.random.default_rng(7).integers(-300_000, 300_000, 500_000)
        i[at] = bad
        for call in (
            lambda: x[ours(i)],
            lambda: xp.take(x, ours(i), axis=0),
            lambda: xp.take_along_axis(x, ours(i), axis=0),
            lambda: x.__setitem__(ours(i), 1),
        ):
            with pytest.raises(IndexError, match=rf"index {bad} is out"):
                finished(call())
        assert bool(xp.all(x == xp.arange(300_000)))


class TestMasks:
    @pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99, 1])
    @pytest.mark.parametrize("shape", [(2_000_003,), (1301, 1007), (63, 127, 130)])
    def test_nonzero(self, shape, share):
        m = np.random.default_rng(8).random(shape) < share
        for mask in (m, m.T, m[::-2], m[..., 1:]):
            for got, expected in zip(xp.nonzero(ours(mask)), np.nonzero(mask), strict=True):
                same(got, expected)
            assert int(xp.count_nonzero(ours(mask))) == np.count_nonzero(mask)
            assert np.asarray(xp.count_nonzero(ours(mask), axis=0)).tolist() == (
                np.count_nonzero(mask, axis=0).tolist()
            )

    @pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99, 1])
    @pytest.mark.parametrize("dtype", SIZES)
    def test_select_and_assign(self, dtype, share):
        rng = np.random.default_rng(9)
        for shape in [(600_001,), (701, 1007), (63, 67, 130)]:
            a, mask = whole(shape, dtype), rng.random(shape) < share
            for b, m in [(a, mask), (a.T, mask.T), (a[::2, ...], mask[::2]), (a.T, mask.T.copy())]:
                same(ours(b)[ours(m)], b[m])
            rows = mask.reshape(shape[0], -1)[:, 0]
            same(ours(a)[ours(rows)], a[rows])
            x, expected = ours(a.copy()), a.copy()
            x[ours(mask)] = 7
            expected[mask] = 7
            same(x, expected)
            x[ours(mask)] = ours(a[mask][::-1])
            expected[mask] = a[mask][::-1]
            same(x, expected)

    @pytest.mark.parametrize("dtype", ["int16", "uint64", "float32", "float64", "complex64"])
    def test_nonzero_of_numbers(self, dtype):
        draw = Draw(10)
        for shape in [(300_001,), (401, 907)]:
            a = draw.values(shape, dtype)
            for b in (a, a.T, a[::-3]):
                for got, expected in zip(xp.nonzero(ours(b)), np.nonzero(b), strict=True):
                    same(got, expected)
                assert int(xp.count_nonzero(ours(b))) == np.count_nonzero(b)


ROWS = [1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 65]


class TestReductions:
    """Of few rows to many results, where a result's terms are far apart, and to few results."""

    @staticmethod
    def layouts(a):
        yield a
        yield np.asfortranarray(a)
        yield np.repeat(a, 2, axis=-1)[..., ::2]
        yield a[..., ::-1].copy()[..., ::-1]

    @pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64", "complex64"])
    @pytest.mark.parametrize("rows", ROWS)
    def test_sums_and_products_that_are_exact(self, rows, dtype):
        """Sums of small integers and products of powers of two depend on no order."""
        kind = np.dtype(dtype).kind
        a = whole((rows, 10_007), dtype)
        factors = np.random.default_rng(11).choice([1, -1, 2, 1], a.shape).astype(dtype)
        wide = "int64" if kind == "i" else dtype
        for b, f in zip(self.layouts(a), self.layouts(factors), strict=True):
            same(xp.sum(ours(b), axis=0), b.sum(axis=0, dtype=wide))
            if kind != "c":  # whose zeros have signs that depend on the order
                same(xp.prod(ours(f), axis=0), f.prod(axis=0, dtype=wide))
            same(xp.sum(ours(b.T), axis=1), b.sum(axis=0, dtype=wide))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("rows", ROWS)
    def test_means_and_variances(self, rows, dtype):
        a = whole((rows, 10_007), dtype)
        exact = a.astype(np.longdouble)
        for b in self.layouts(a):
            near(xp.mean(ours(b), axis=0), exact.mean(axis=0), np.dtype(dtype), 1)
            near(xp.var(ours(b), axis=0), exact.var(axis=0), np.dtype(dtype), 4)

    @pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
    @pytest.mark.parametrize("columns", [1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 64])
    def test_of_few_columns_are_as_those_of_rows(self, columns, dtype):
        """A sum's order is one of places along the axis, whatever the kernel."""
        rng = np.random.default_rng(columns)
        for n in (100_003 // columns, 255, 256, 4 * 1024):
            a = rng.standard_normal((n, columns, 2)).astype(np.float64)
            a = (a[..., 0] + 1j * a[..., 1]).astype(dtype) if dtype[0] == "c" else a[..., 0]
            a = np.ascontiguousarray(a, dtype)
            along = np.ascontiguousarray(a.T)
            for ours_of in (xp.sum, xp.mean) if dtype[0] == "c" else (xp.sum, xp.mean, xp.var):
                same(ours_of(ours(a), axis=0), np.asarray(ours_of(ours(along), axis=1)))

    @pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float32", "float64"])
    @pytest.mark.parametrize("rows", [*ROWS, 3000])
    def test_extremes(self, rows, dtype):
        draw = Draw(rows)
        a = draw.values((rows, 300_000 // rows // 40 * 40 + 7), dtype)
        for b in self.layouts(a):
            for ours_of, of in [(xp.max, np.max), (xp.min, np.min)]:
                for axis in (None, 0, 1):
                    got = np.asarray(ours_of(ours(b), axis=axis))
                    np.testing.assert_array_equal(got, of(b, axis=axis))
            for ours_of, of in [(xp.argmax, np.argmax), (xp.argmin, np.argmin)]:
                for axis in (None, 0, 1):
                    same(ours_of(ours(b), axis=axis), of(b, axis=axis))

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("n", [63, 1000, 70_001, 1_000_003])
    def test_one_special_value_anywhere_decides(self, n, dtype):
        base = np.random.default_rng(12).standard_normal(n).astype(dtype)
        for at in {0, 1, n // 3, n // 2 + 1, n - 2, n - 1}:
            for value in (np.inf, -np.inf, np.nan):
                a = base.copy()
                a[at] = value
                for b in self.layouts(a):
                    alike(xp.max(ours(b)), a.max())
                    alike(xp.min(ours(b)), a.min())
                    assert int(xp.argmax(ours(b))) == a.argmax()

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("shape", [(100_000,), (300, 701), (33, 5, 1001), (7, 40_000)])
    def test_extremes_among_both_zeros_do_not_depend_on_the_layout(self, shape, dtype):
        rng = np.random.default_rng(13)
        a = np.copysign(0, rng.random(shape) - 0.5).astype(dtype)
        for f, axis in itertools.product((xp.max, xp.min), (None, *range(a.ndim))):
            results = {np.asarray(f(ours(b), axis=axis)).tobytes() for b in self.layouts(a)}
            assert len(results) == 1


class TestScans:
    """Columns whose rows are long, follow each other, begin with lines or anywhere in them; rows
    that are short; axes that are one chunk and a few, or shorter."""

    SHAPES = (
        [((n, -1), 0) for n in (2, 7, 16, 33, 100, 4099)]
        + [((-1, m), 0) for m in (16, 255, 1000)]
        + [((-1, n), 1) for n in (2, 16, 33, 255, 1024, 1031, 4099, 40009)]
        + [((5, n, -1), 1) for n in (11, 40)]
        + [((-1, n, m), 1) for n, m in ((20, 256), (70, 255), (257, 16))]
    )

    @pytest.mark.parametrize("dtype", ["int16", "float32", "int64", "complex64"])
    @pytest.mark.parametrize(("shape", "axis"), SHAPES)
    def test_sums_and_products_that_are_exact(self, shape, axis, dtype):
        a = whole(shape, dtype, least=COPIED)
        after_first = (slice(None),) * axis + (slice(1, None),)
        # The part begins and ends within lines; its result goes past the caches only where enough
        # columns are left.
        for part in (np.s_[...], np.s_[..., 3:]):
            view = xp.asarray(a)[part]

            def sums(view=view, **more):
                return xp.cumulative_sum(view, axis=axis, dtype=view.dtype, **more)

            expected = np.cumulative_sum(a[part], axis=axis, dtype=a.dtype)
            same_by_any_threads(sums, expected)
            same_by_any_threads(lambda: sums(include_initial=True)[after_first], expected)
        signs = np.sign(a.real).astype(dtype) + (a.real == 0)
        expected = np.cumulative_prod(signs, axis=axis, dtype=a.dtype)
        # Zeros' signs depend on the order; adding a zero makes them one.
        same_by_any_threads(
            lambda: xp.cumulative_prod(xp.asarray(signs), axis=axis, dtype=view.dtype) + 0,
            expected + 0,
        )

    @pytest.mark.parametrize("shape", [(16, -1), (17, -1), (100, -1), (-1, 300), (-1, 16)])
    def test_of_several_dtypes_and_layouts(self, shape):
        a = whole(shape, "int16", least=COPIED).astype("int32")
        for axis in (0, 1):
            expected = np.cumulative_sum(a, axis=axis, dtype="int64")
            transposed = np.ascontiguousarray(a.T)
            for x in (xp.asarray(a), xp.asarray(transposed).T, xp.asarray(a[::-1])[::-1]):
                same_by_any_threads(lambda x=x: xp.cumulative_sum(x, axis=axis), expected)
