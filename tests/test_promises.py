"""The promises of docs/architecture.md, section 7, one test each (the official suite is run by
conformance/)."""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from checks import run_python
from strided import ours, shares_memory

import arrayx as xp

FLOATS = ["float32", "float64", "complex64", "complex128"]
ALL = ["bool", "int8", "int32", "uint64", *FLOATS]
UNARY = ["exp", "log", "sin", "tanh", "sqrt", "abs", "negative", "square", "sign"]
BINARY = ["add", "multiply", "divide", "pow", "subtract"]


def data(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, shape)
    if dtype.startswith("complex"):
        x = x + 1j * rng.uniform(-3, 3, shape)
    elif dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    elif "int" in dtype:
        return rng.integers(0, 100, shape).astype(dtype)
    return x.astype(dtype)


def bits(x):
    return np.asarray(x).tobytes()


def layouts(a):
    """Arrays equal to `a` that lie differently in memory."""
    yield "contiguous", xp.asarray(a, copy=True)
    yield "transposed", ours(np.asfortranarray(a))
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)
    wide[..., 1::2] = a
    yield "every second", ours(wide)[..., 1::2]
    yield "reversed", xp.flip(xp.asarray(a[..., ::-1].copy()), axis=-1)
    raw = np.zeros(a.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(a.dtype).reshape(a.shape)
    unaligned[...] = a
    yield "unaligned", xp.asarray(unaligned)


class TestResultsDoNotDependOnLayout:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("shape", [(37, 53), (3, 5, 7), (1, 1), (129, 257)])
    def test_elementwise(self, shape, dtype):
        a, b = data(shape, dtype, 1), data(shape, dtype, 2)
        for name in UNARY:
            expected = None
            for layout, x in layouts(a):
                got = bits(getattr(xp, name)(x))
                expected = expected or got
                assert got == expected, (name, layout)
        for name in BINARY:
            expected = bits(getattr(xp, name)(xp.asarray(a), xp.asarray(b)))
            for layout, x in layouts(a):
                for other, y in layouts(b):
                    assert bits(getattr(xp, name)(x, y)) == expected, (name, layout, other)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_position(self, dtype):
        """An element's result is the same wherever in the array it stands."""
        a = data(300, dtype, 3)
        for name in UNARY:
            f = getattr(xp, name)
            whole = np.asarray(f(xp.asarray(a)))
            for start in (1, 2, 3, 5, 7, 100):
                for count in (1, 2, 3, 9, 17, 60):
                    part = np.asarray(f(xp.asarray(a)[start : start + count]))
                    assert bits(part) == bits(whole[start : start + count]), (name, start, count)

    @pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "complex64"])
    @pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)])
    @pytest.mark.parametrize("shape", [(11, 13, 17), (3, 2000, 5), (2100, 3, 2), (5, 4, 3000)])
    def test_reductions(self, shape, axis, dtype):
        a = data(shape, dtype, 4)
        names = ["sum", "prod", "mean", "var"] if dtype.startswith("float") else ["sum", "prod"]
        for name in names:
            expected = None
            for layout, x in layouts(a):
                got = bits(getattr(xp, name)(x, axis=axis))
                expected = expected or got
                assert got == expected, (name, layout)

    @pytest.mark.parametrize("axis", [0, 1])
    def test_scans(self, axis):
        a = data((301, 203), "float32", 5)
        results = {bits(xp.cumulative_sum(x, axis=axis)) for _, x in layouts(a)}
        assert len(results) == 1

    # Results beyond the caches, whose parts are not: rows of whole lines and others, columns, lines
    # of several sections.
    @pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
    @pytest.mark.parametrize(
        ("shape", "axis"),
        [
            ((120, 16384), 1),
            ((123, 16381), 1),
            ((1023, 1701), 0),
            ((70_001, 16), 0),
            ((30_001, 28), 0),
            ((9_001, 105), 0),
            ((11, 300, 517), 1),
            ((3, 540_673), 1),
            ((2**21 + 77,), 0),
        ],
    )
    def test_scans_of_large_arrays(self, shape, axis, dtype):
        a = data(shape, dtype, 6)
        a[..., : min(1000, shape[-1] // 2)] = -0.0 if dtype != "int32" else 0
        whole = xp.cumulative_sum(xp.asarray(a), axis=axis)
        assert bits(whole) == bits(
            xp.cumulative_sum(xp.asarray(a[..., ::-1])[..., ::-1], axis=axis)
        )
        if len(shape) == 1:
            parts = [xp.cumulative_sum(xp.stack([xp.asarray(a)] * 5), axis=1)[3]]
        elif axis == 0:
            some = np.s_[:, :: min(100, shape[1] // 7)]
            parts = [xp.cumulative_sum(xp.asarray(column), axis=0) for column in a[some].T]
            whole = whole[some].T
        else:
            parts = [xp.cumulative_sum(xp.asarray(a[i]), axis=axis - 1) for i in range(shape[0])]
        assert bits(whole) == b"".join(bits(part) for part in parts)


REPORT = """
    import hashlib, json, sys
    import numpy as np
    import arrayx as xp
    rng = np.random.default_rng(7)
    digest = {}
    for dtype in ("float32", "float64", "complex64", "complex128"):
        a = rng.uniform(-2, 2, (700, 900)) + (1j * rng.uniform(-2, 2, (700, 900))
                                              if dtype.startswith("complex") else 0)
        x = xp.asarray(a.astype(dtype))
        results = {name: getattr(xp, name)(x) for name in ("exp", "log", "sin", "tanh", "sqrt")}
        results["x+x.T"] = x[:, :700] + x[:, :700].T
        for axis in (None, 0, 1):
            results[f"sum{axis}"] = xp.sum(x, axis=axis)
            results[f"prod{axis}"] = xp.prod(x, axis=axis)
            if axis is not None:
                results[f"cumsum{axis}"] = xp.cumulative_sum(x, axis=axis)
        if not dtype.startswith("complex"):
            results["sort"] = xp.sort(x, axis=0)
            results["argmax"] = xp.argmax(x)
            results["var"] = xp.var(x, axis=0)
            flat = xp.reshape(x, (-1,))
            results["vecdot"] = xp.vecdot(flat, flat[::-1])
        for name, r in results.items():
            digest[f"{name} {dtype}"] = hashlib.sha256(np.asarray(r).tobytes()).hexdigest()
    print(json.dumps(digest))
"""


def isa_levels():
    levels = []
    for level in ("baseline", "avx2", "avx512"):
        process = subprocess.run(
            [sys.executable, "-c", "import arrayx; print(arrayx.exp(arrayx.ones(1)))"],
            env={**os.environ, "ARRAYX_ISA": level},
            capture_output=True,
            text=True,
        )
        if process.returncode == 0:
            levels.append(level)
    return levels


def test_results_do_not_depend_on_the_number_of_threads():
    for level in isa_levels():
        digests = [
            json.loads(run_python(REPORT, ARRAYX_ISA=level, OMP_NUM_THREADS=threads))
            for threads in ("1", "3", "8")
        ]
        assert digests[0] == digests[1] == digests[2]


@pytest.mark.parametrize("level", ["baseline", "avx2", "avx512"])
def test_every_level_computes_the_same_from_any_layout(level):
    if level not in isa_levels():
        pytest.skip(f"this machine has no {level}")
    run_python(
        """
        import numpy as np
        from test_promises import ALL, BINARY, FLOATS, UNARY, bits, data, layouts
        import arrayx as xp
        for dtype in ALL:
            for shape in ((37, 53), (150, 301)):
                a, b = data(shape, dtype, 1), data(shape, dtype, 2)
                results = {}
                for layout, x in layouts(a):
                    y = xp.asarray(b)
                    calls = {"equal": lambda: x == y, "where": lambda: xp.where(x == y, x, y)}
                    if dtype != "bool":
                        calls |= {name: lambda n=name: getattr(xp, n)(x, y)
                                  for name in ("add", "multiply", "subtract", "pow")}
                        calls |= {("sum", i): lambda i=i: xp.sum(x, axis=i) for i in (None, 0, 1)}
                        calls["cumulative"] = lambda: xp.cumulative_sum(x, axis=0)
                        calls["cast"] = lambda: xp.astype(x, xp.complex64)
                    if dtype in FLOATS:
                        calls |= {name: lambda n=name: getattr(xp, n)(x) for name in UNARY}
                        calls["mean"] = lambda: xp.mean(x, axis=1)
                    if not dtype.startswith("complex"):
                        calls |= {"sort": lambda: xp.sort(x), "argmax": lambda: xp.argmax(x, axis=0)}
                    for name, call in calls.items():
                        got = bits(call())
                        assert results.setdefault(name, got) == got, (name, layout, dtype, shape)
        """,
        ARRAYX_ISA=level,
        PYTHONPATH=os.pathsep.join([os.path.dirname(__file__), *sys.path]),
    )


def test_what_moves_and_counts_does_not_depend_on_the_number_of_threads():
    code = """
        import hashlib
        import numpy as np
        import arrayx as xp
        rng = np.random.default_rng(9)
        digest = hashlib.sha256()
        for dtype in ("bool", "int8", "int64"):
            a = rng.integers(0, 2 if dtype == "bool" else 100, (760, 720)).astype(dtype)
            x = xp.asarray(a)
            mask = x > xp.asarray(50, dtype=x.dtype) if dtype != "bool" else x
            results = [
                xp.sort(x, axis=0), xp.argsort(x, axis=1, descending=True), xp.unique_values(x),
                *xp.unique_all(x), *xp.nonzero(x), x[mask], xp.roll(x, 7, axis=0), x.T.copy(),
                xp.take(x, xp.asarray(rng.integers(0, 760, 700)), axis=0), xp.flip(x),
                xp.count_nonzero(x, axis=0), xp.sum(x, axis=1), xp.concat([x, x[:, ::-1]]),
                xp.reshape(xp.permute_dims(x, (1, 0)), (-1,)), xp.astype(x.T, xp.float32),
                xp.argmax(x, axis=0), xp.repeat(x, 2, axis=1), xp.searchsorted(xp.arange(90), x),
            ]
            if dtype != "bool":
                results += [xp.cumulative_sum(x, axis=0), xp.prod(x, axis=0), x @ x.T, x % 7]
            for r in results:
                digest.update(np.asarray(r).tobytes())
        print(digest.hexdigest())
    """
    one, many = (run_python(code, OMP_NUM_THREADS=n) for n in ("1", "4"))
    assert one == many


def test_running_sums_of_a_long_line_do_not_depend_on_the_number_of_threads():
    # Blocks of 4096 elements, four together, in sections; the last block of three is not whole.
    code = """
        import hashlib
        import os
        import numpy as np
        import arrayx as xp
        rng = np.random.default_rng(11)
        digest = hashlib.sha256()
        for dtype in ("float32", "float64", "int32", "uint64"):
            for n in (2**21, 2**21 + 1, 2**21 + 5 * 4096, 2**21 + 7 * 4096 - 3, 2**23 + 11):
                a = rng.integers(-9, 9, n).astype(dtype)
                x = xp.asarray(a + a.dtype.type(0.25) if dtype.startswith("f") else a)
                sums = xp.cumulative_sum(x, dtype=x.dtype)
                if os.environ["OMP_NUM_THREADS"] == "1":  # the others have the same bits
                    exact = np.cumsum(np.asarray(x), dtype="float64" if dtype[0] == "f" else dtype)
                    assert np.allclose(sums, exact, rtol=1e-5, atol=0.01), (dtype, n)
                after = xp.cumulative_sum(x, dtype=x.dtype, include_initial=True)[1:]
                assert np.array_equal(after, sums), (dtype, n)
                digest.update(np.asarray(sums).tobytes())
        print(digest.hexdigest())
    """
    one, *more = (run_python(code, OMP_NUM_THREADS=n) for n in ("1", "2", "3", "6"))
    assert set(more) == {one}


def turns_beside(work):
    """How many turns a thread gets beside one that works for 0.2 s and is not asked to stop."""
    started, done = threading.Event(), threading.Event()

    def run():
        started.set()
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            work()
        done.set()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # who has the lock keeps it until it gives it up by itself
    try:
        worker = threading.Thread(target=run)
        worker.start()
        started.wait()
        turns = 0
        while not done.is_set():
            turns += 1
            time.sleep(0)
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    return turns


class TestPythonsThreads:
    @pytest.mark.parametrize("name", ["add", "sin", "sort", "matmul", "sum", "unique", "copy"])
    def test_long_work_lets_other_threads_run(self, name):
        """The interpreter's lock is given up."""
        x = xp.reshape(xp.linspace(-1, 1, 2_000_000), (2000, 1000))
        work = {
            "add": lambda: x + x,
            "sin": lambda: xp.sin(x),
            "sort": lambda: xp.sort(x.T),
            "matmul": lambda: x.T @ x,
            "sum": lambda: xp.sum(x, axis=0),
            "unique": lambda: xp.unique_values(x),
            "copy": lambda: xp.reshape(x.T, (-1,)),
        }[name]
        assert turns_beside(work) > 10

    def test_the_turns_tell_who_keeps_the_lock(self):
        assert turns_beside(lambda: sorted(range(300_000))) <= 2

    def test_many_threads_may_compute_with_the_same_arrays(self):
        a = data((400, 300), "float64", 3)
        x = xp.asarray(a)

        def results():
            return [
                bits(r)
                for r in (x + x, xp.exp(x), xp.sum(x, axis=0), xp.sort(x, axis=0), x @ x.T,
                          x[x > 0], xp.astype(x.T, xp.float32), xp.reshape(x.T, (-1,)))
            ]  # fmt: skip

        expected = results()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(results) for _ in range(24)]:
                assert future.result() == expected

    def test_threads_write_to_parts_of_an_array(self):
        x = xp.zeros((8, 100_000))

        def fill(i):
            for _ in range(10):
                row = x[i, :]
                row += i
                x[i, ::2] = x[i, ::2] + 1
            return i

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(fill, range(8)))
        expected = np.repeat(np.arange(8.0)[:, None] * 10, 100_000, axis=1)
        expected[:, ::2] += 10
        assert np.array_equal(np.asarray(x), expected)


class TestViews:
    """What is a view shares memory; what must copy does not."""

    def test_views_never_copy(self):
        x = xp.reshape(xp.arange(24), (2, 3, 4))
        for view in (
            x[0], x[:, 1], x[..., ::-2], x[None], x[1:, :2], x[()], x.mT, x.real,
            xp.permute_dims(x, (2, 0, 1)), xp.reshape(x, (6, 4)), xp.expand_dims(x, axis=1),
            xp.squeeze(x[:1], axis=0), xp.flip(x), xp.moveaxis(x, 0, 2), xp.unstack(x)[1],
            xp.broadcast_to(x, (5, 2, 3, 4)), xp.broadcast_arrays(x, x)[0],
            xp.matrix_transpose(x), xp.asarray(x), xp.astype(x, xp.int64, copy=False),
            xp.linalg.diagonal(x), xp.from_dlpack(x),
        ):  # fmt: skip
            assert shares_memory(view, x)

    def test_copies_share_nothing(self):
        x = xp.reshape(xp.arange(24), (2, 3, 4))
        for copy in (
            x[[0, 1]], x[x >= 0], xp.reshape(x.mT, (-1,)), xp.reshape(x, (24,), copy=True),
            xp.asarray(x, copy=True), xp.astype(x, xp.int64), xp.concat([x]), xp.roll(x, 0),
            xp.tile(x, (1,)), xp.repeat(x, 1), xp.take(x, xp.asarray([0, 1]), axis=0), x.copy(),
            xp.sort(x), xp.tril(x), xp.positive(x), +x, xp.from_dlpack(x, copy=True), x + 0,
        ):  # fmt: skip
            assert not shares_memory(copy, x)


def test_every_level_within_reach_is_tested_by_name():
    assert "baseline" in isa_levels()


def test_an_unknown_level_is_refused():
    process = subprocess.run(
        [sys.executable, "-c", "import arrayx; arrayx.ones(3) + 1"],
        env={**os.environ, "ARRAYX_ISA": "mmx"},
        capture_output=True,
        text=True,
    )
    assert process.returncode != 0
    assert "ARRAYX_ISA is 'mmx'; it must be baseline, avx2 or avx512" in process.stderr


class TestOverlap:
    """Operands may overlap the output in any way; the result is as if they did not."""

    def test_in_place_with_a_shifted_self(self):
        for n in (10, 1000, 300_000):
            x = xp.arange(n, dtype=xp.float64)
            expected = np.arange(n, dtype=np.float64)
            expected[1:] = expected[1:] + expected[:-1].copy()
            y = x[1:]
            y += x[:-1]
            assert np.array_equal(np.asarray(x), expected)

    def test_in_place_with_the_reversed_self(self):
        x = xp.arange(100_001)
        x += xp.flip(x)
        assert np.array_equal(np.asarray(x), np.full(100_001, 100_000))

    def test_in_place_with_the_transposed_self(self):
        a = np.arange(513 * 513, dtype=np.float32).reshape(513, 513)
        x = xp.asarray(a, copy=True)
        x *= x.T
        assert np.array_equal(np.asarray(x), a * a.T)

    @pytest.mark.parametrize("step", [1, -1])
    def test_assignment_to_a_shifted_self(self, step):
        for n in (5, 1000, 200_000):
            a = np.arange(n)
            x = xp.asarray(a, copy=True)
            x[1:] = x[:-1][::step]
            expected = a.copy()
            expected[1:] = a[:-1][::step].copy()
            assert np.array_equal(np.asarray(x), expected)

    def test_assignment_through_indices_of_itself(self):
        x = xp.asarray([2, 0, 1])
        x[x] = x
        a = np.asarray([2, 0, 1])
        a[a.copy()] = a.copy()
        assert np.array_equal(np.asarray(x), a)


def test_a_forked_child_works():
    run_python("""
        import os, warnings
        warnings.simplefilter("ignore")  # Python warns of forking with threads: that is the test
        import arrayx as xp
        x = xp.ones((3000, 3000))
        assert float(xp.sum(x + x)) == 18_000_000  # the pool is running
        y = xp.ones((200, 200)) @ xp.ones((200, 200))
        child = os.fork()
        if child == 0:
            ok = float(xp.sum(x + x.T)) == 18_000_000
            ok &= float(xp.sum(xp.ones((200, 200)) @ xp.ones((200, 200)))) == 8_000_000
            ok &= bool(xp.all(xp.sort(xp.arange(1_000_000) * 7919 % 1_000_003) >= 0))
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert float(xp.sum(x + x)) == 18_000_000
    """)


class TestOutOfMemory:
    def test_a_pebibyte_is_refused_and_life_goes_on(self):
        before = xp.arange(1000)
        for shape in [(1 << 50,), (1 << 25, 1 << 25), (1 << 47,)]:
            with pytest.raises(MemoryError, match="no room for an array of"):
                xp.empty(shape, dtype=xp.uint8 if len(shape) == 1 else xp.int8)
        with pytest.raises(MemoryError):
            xp.broadcast_to(before, (1 << 45, 1000)) + 1
        assert float(xp.sum(before)) == 499_500
        assert float(xp.sum(xp.ones(1_000_000))) == 1_000_000

    def test_the_cache_is_emptied_first(self):
        limit = xp.memory.limit()
        try:
            xp.memory.set_limit(1 << 28)
            for _ in range(3):
                xp.ones(1 << 22)
            assert 0 < xp.memory.info().cached <= 1 << 28
            with pytest.raises(MemoryError):
                xp.empty(1 << 50, dtype=xp.uint8)
            assert xp.memory.info().cached == 0
        finally:
            xp.memory.set_limit(limit)


def test_everything_but_numpy_interchange_works_without_numpy():
    run_python("""
        import sys
        class Refuse:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "numpy":
                    raise ImportError("NumPy is not here")
        sys.meta_path.insert(0, Refuse())
        import arrayx as xp
        x = xp.reshape(xp.arange(12, dtype=xp.float32), (3, 4))
        assert float(xp.sum(x @ x.T)) == 1134
        assert repr(x[0]) == "array([0., 1., 2., 3.], dtype=float32)", repr(x[0])
        assert str(xp.float32) == "arrayx.float32" and hash(xp.float32) is not None
        assert xp.float32 != "float16" and xp.float32 == xp.float32
        import array, pickle, copy
        assert xp.asarray(array.array("d", [1, 2])).tolist() == [1.0, 2.0]
        assert xp.asarray(b"abc").tolist() == [97, 98, 99]
        assert memoryview(x).shape == (3, 4)
        assert pickle.loads(pickle.dumps(x, 5)).tolist() == x.tolist()
        assert copy.deepcopy(x).tolist() == x.tolist()
        assert xp.from_dlpack(x).shape == (3, 4)
        assert xp.unique_values(xp.asarray([3, 1, 3])).tolist() == [1, 3]
        assert x[x > 5].tolist() == [6, 7, 8, 9, 10, 11]
        try:
            x.__array__()
        except ImportError:
            pass
        else:
            raise AssertionError("__array__ needs NumPy")
        assert "numpy" not in sys.modules
    """)


def test_numpy_is_not_imported_by_us():
    run_python("import arrayx, sys; assert 'numpy' not in sys.modules")


class TestWriteProtection:
    @pytest.mark.cpu  # where asarray need not copy
    def test_read_only_memory_is_not_written(self):
        x = xp.asarray(b"abc")
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        assert x.tolist() == [97, 98, 99]

    def test_broadcast_views_are_not_written(self):
        x = xp.broadcast_to(xp.asarray([1, 2]), (3, 2))
        with pytest.raises(ValueError, match="broadcast view"):
            x[...] = 0
        with pytest.raises(ValueError, match="broadcast view"):
            x += 1
