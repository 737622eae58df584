"""The CPU engine's threads: how many there are, and what becomes of their loops where Python's own
threads run, a process forks or an interpreter ends."""

import concurrent.futures
import os
import sys
import time

import numpy as np
import pytest
from checks import run_python
from strided import ours
from test_promises import bits

import arrayx as xp

pytestmark = pytest.mark.cpu
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

# Each is several loops that pay for threads.
LOOPS = {
    "add": lambda x: x + x.T,
    "exp": lambda x: xp.exp(x),
    "copy": lambda x: x.T.copy(),
    "sum": lambda x: xp.sum(x, axis=0),
    "sort": lambda x: xp.sort(x, axis=0),
    "mask": lambda x: x[x > 0],
    "gather": lambda x: x[:, ::-1][xp.astype(xp.abs(x[:, 0]), xp.int64)],
    "repeat": lambda x: xp.repeat(
        xp.reshape(x[:200], (-1,)), xp.reshape(xp.astype(xp.abs(x[:200]), xp.int64), (-1,))
    ),
}
# Loops within one matrix.
FACTORS = {
    "qr": lambda x: xp.linalg.qr(x).Q,
    "eigvalsh": lambda x: xp.linalg.eigvalsh(x),
    "svdvals": lambda x: xp.linalg.svdvals(x),
}


def matrix(side=700, seed=0):
    return np.random.default_rng(seed).uniform(-9, 9, (side, side))


class TestLimits:
    @on_linux
    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_omp_num_threads_counts_the_caller(self, threads):
        started = run_python(
            """
            import os
            import arrayx as xp
            before = len(os.listdir("/proc/self/task"))
            x = xp.ones((2000, 2000))
            for _ in range(5):
                xp.exp(x)
                xp.sort(x + x.T)
            print(len(os.listdir("/proc/self/task")) - before)
            """,
            OMP_NUM_THREADS=str(threads),
        )
        assert int(started) == threads - 1

    @on_linux
    def test_threadpoolctl_limits_what_is_started(self):
        pytest.importorskip("threadpoolctl")
        run_python(
            """
            import os
            import threadpoolctl
            import arrayx as xp
            before = len(os.listdir("/proc/self/task"))
            for limit, most in [(1, 1), (3, 3), (2, 3), (1, 3), (4, 4)]:
                with threadpoolctl.threadpool_limits(limit, "openmp"):
                    xp.exp(xp.ones((2000, 2000)))
                assert len(os.listdir("/proc/self/task")) - before == most - 1
            """,
            OMP_NUM_THREADS="6",
        )

    @on_linux
    def test_threads_may_run_where_they_might_before(self):
        """However often they fall asleep, and were kept off a processor while they woke up."""
        run_python(
            """
            import os
            import time
            import arrayx as xp
            def tasks():
                return {int(task) for task in os.listdir("/proc/self/task")}
            def settles():
                for _ in range(100):
                    if {t: os.sched_getaffinity(t) for t in places} == places:
                        return True
                    xp.exp(x)
                    time.sleep(0.01)
                return False
            others = tasks()
            x = xp.ones((2000, 2000))
            xp.exp(x)
            everywhere = os.sched_getaffinity(0)
            places = dict.fromkeys(tasks(), everywhere)
            helpers = sorted(tasks() - others)
            assert len(helpers) == 2
            for _ in range(20):
                xp.exp(x)
                time.sleep(0.002)
            assert settles()
            places[helpers[0]] = {max(everywhere)}
            os.sched_setaffinity(helpers[0], places[helpers[0]])
            for _ in range(20):
                xp.exp(x)
                time.sleep(0.002)
            assert settles()
            """,
            OMP_NUM_THREADS="3",
        )

    @pytest.mark.skipif(os.cpu_count() == 1, reason="one core is not shared")
    @pytest.mark.parametrize("name", LOOPS)
    def test_threadpoolctl_limits_who_works(self, name):
        """Where the pool has threads already, a limit of one leaves them asleep."""
        threadpoolctl = pytest.importorskip("threadpoolctl")
        x = ours(matrix(1000))

        def shared():
            """Which part of a loop's time others have spent."""
            time.sleep(0.01)  # those that have just worked go to sleep
            process, thread = time.process_time(), time.thread_time()
            # Linux charges what others run on other processors some milliseconds later.
            end = time.perf_counter() + 0.05
            while time.perf_counter() < end:
                LOOPS[name](x)
            mine = time.thread_time() - thread
            return 1 - mine / (time.process_time() - process)

        with threadpoolctl.threadpool_limits(4, "openmp"):
            assert max(shared() for _ in range(5)) > 0.1
        with threadpoolctl.threadpool_limits(1, "openmp"):
            assert min(shared() for _ in range(5)) < 0.01

    @pytest.mark.parametrize("name", [*LOOPS, *FACTORS])
    def test_results_do_not_depend_on_the_number(self, name):
        """Few threads, more than the sections that a loop is cut into, and more than chunks."""
        threadpoolctl = pytest.importorskip("threadpoolctl")
        x = ours(matrix())
        function = {**LOOPS, **FACTORS}[name]
        times = 5 if name in LOOPS else 2  # factors are many loops each
        results = []
        for limit in [1, 2, 3, 7, 16, 17, 40]:
            with threadpoolctl.threadpool_limits(limit, "openmp"):
                results += [bits(function(x)) for _ in range(times)]
        assert all(result == results[0] for result in results)


class TestPythonsThreads:
    def test_pools_within_pools_get_what_one_thread_gets(self):
        """Many loops at once, begun by threads that themselves come and go."""
        x = ours(matrix())
        expected = {name: bits(loop(x)) for name, loop in LOOPS.items()}

        def all_loops(depth):
            if depth == 0:
                return [name for name, loop in LOOPS.items() if bits(loop(x)) != expected[name]]
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                return [name for wrong in pool.map(all_loops, [depth - 1] * 3) for name in wrong]

        assert all_loops(3) == []

    def test_errors_reach_the_thread_whose_loop_failed(self):
        x = ours(matrix())
        good = xp.asarray(np.arange(700)[::-1].copy())
        bad = xp.asarray(np.where(np.arange(700) == 650, 700, np.arange(700)))
        expected = bits(x[good])

        def work(i):
            if i % 2:
                return bits(x[good]) == expected
            with pytest.raises(IndexError, match="index 700 is out"):
                x[bad]
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(100)))

    def test_an_interpreter_ends_while_its_threads_work(self):
        run_python(
            """
            import threading, time
            import arrayx as xp
            x = xp.ones((1000, 1000))
            def work():
                while True:
                    xp.sum(xp.exp(x) + x.T, axis=0)
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            """,
            OMP_NUM_THREADS="4",
        )

    def test_loops_stay_in_their_memory_while_another_thread_writes(self):
        """Masks, indices and counts that are read twice differ between the two times. Results may
        be anything; but there is no memory for what is more than was found at first."""
        run_python(
            """
            import threading, time
            import numpy as np
            import arrayx as xp

            n = 300_000
            bits, places, times = np.zeros(n, bool), np.zeros(n, np.int64), np.zeros(n, np.int64)
            small = np.zeros(n, np.int8)
            bits[0] = True
            mask, index, repeats, few = (
                xp.asarray(a, copy=False) for a in (bits, places, times, small)
            )
            plane = xp.reshape(mask, (500, 600), copy=False)
            x = xp.arange(n, dtype=xp.float64)

            def write():
                while not done:
                    bits[1:], places[:], times[:], small[:] = True, 1 << 50, 9, -128
                    bits[1:], places[:], times[:], small[:] = False, 3, 0, 127

            def put(key, value):
                x[key] = value

            done = False
            writer = threading.Thread(target=write)
            writer.start()
            for loop in (
                lambda: x[mask],
                lambda: x[::-1][mask],
                lambda: xp.nonzero(mask),
                lambda: xp.nonzero(plane),
                lambda: put(mask, x[: int(xp.count_nonzero(mask))]),
                lambda: put(index, x),
                lambda: put(index, 1.0),
                lambda: xp.repeat(x, repeats),
                lambda: xp.unique_all(mask),
                lambda: xp.unique_all(few),
            ):
                end = time.monotonic() + 0.3
                while time.monotonic() < end:
                    try:
                        loop()
                    except (IndexError, ValueError):
                        pass
            done = True
            writer.join()
            """,
            OMP_NUM_THREADS="2",
        )


BUSY = """
    import os, signal, threading, warnings
    warnings.simplefilter("ignore")  # Python warns of forking with threads: that is the test
    import arrayx as xp
    x = xp.ones((600, 600))
    expected = 720_000
    stop = threading.Event()
    def work():
        while not stop.is_set():
            xp.sum(x + x.T)
            xp.sort(xp.arange(20_000)[::-1])
            xp.fft.fft(x[0])
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    def child(then=lambda: True):
        process = os.fork()
        if process == 0:
            signal.alarm(20)  # ends a child that hangs
            good = False
            try:
                good = float(xp.sum(x + x.T)) == expected and then()
                good &= xp.sort(xp.arange(200_000)[::-1]).tolist() == list(range(200_000))
                good &= abs(complex(xp.fft.fft(x[0])[0]) - 600) < 1e-9
            finally:
                os._exit(0 if good else 1)
        return os.waitpid(process, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
class TestForks:
    def test_while_other_threads_compute(self):
        run_python(
            BUSY
            + """
    good = all(child() for _ in range(60))
    stop.set()
    for thread in threads:
        thread.join()
    assert good
    assert float(xp.sum(x + x.T)) == expected
""",
            OMP_NUM_THREADS="4",
        )

    def test_of_a_child_and_from_another_thread(self):
        run_python(
            BUSY
            + """
    stop.set()
    for thread in threads:
        thread.join()
    results = []
    other = threading.Thread(target=lambda: results.append(child(then=child)))
    other.start()
    other.join()
    assert results == [True] and child(then=child)
    assert float(xp.sum(x + x.T)) == expected
""",
            OMP_NUM_THREADS="4",
        )
