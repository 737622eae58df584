"""How a case is timed: results are checked first, then the libraries take turns in one process.

A round times each library once, a sample being as many calls as last a few milliseconds; the
median over the rounds counts, so that a disturbance of the machine falls on all alike or on none.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
import timeit
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from .cases import Case, Operands
from .libraries import Library

SAMPLE_SECONDS = 4e-3
ROUNDS = 15
# The fewest rounds of a case whose single call is long, and what such a case may take in all.
FEWEST_ROUNDS = 5
CASE_SECONDS = 4.0


class Wrong(Exception):
    """A library's result is not the reference's."""


@dataclass
class Timing:
    """One case's outcome: seconds per call by library, and who gave a wrong result."""

    case: Case
    seconds: dict[str, float]
    wrong: dict[str, str]


def evaluate(statement: str, xp: Any, operands: dict[str, Any]) -> Any:
    """Return the value of a case's statement."""
    return eval(statement, {"xp": xp, **operands})


def reference(case: Case, operands: Operands) -> np.ndarray:
    """Return NumPy's result, computed in float64 where the operands are float32."""
    wide = {
        name: value.astype(np.float64) if case.widen and value.dtype == np.float32 else value
        for name, value in operands.items()
    }
    return np.asarray(evaluate(case.statement_for("NumPy"), np, wide))


def check(actual: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Raise Wrong where a result differs from the reference by more than the tolerance allows."""
    if actual.shape != expected.shape:
        raise Wrong(f"shape {actual.shape} instead of {expected.shape}")
    if actual.size == 0 or np.array_equal(actual, expected):
        return
    if expected.dtype.kind != "f":
        raise Wrong("values differ")
    worst = float(np.max(np.abs(actual.astype(np.float64) - expected)))
    allowed = tolerance * float(np.max(np.abs(expected)))
    if not worst <= allowed:
        raise Wrong(f"differs by {worst:.2g} where {allowed:.2g} is allowed")


def time_case(case: Case, libraries: list[Library], seed: int = 0) -> Timing:
    """Check a case's results, then time the libraries that gave the right ones."""
    plain = case.operands(np.random.default_rng(seed))
    expected = reference(case, plain)
    timers: dict[str, timeit.Timer] = {}
    wrong: dict[str, str] = {}
    for library in libraries:
        own = {name: library.from_numpy(value) for name, value in plain.items()}
        statement = case.statement_for(library.name)
        try:
            check(library.to_numpy(evaluate(statement, library.xp, own)), expected, case.tolerance)
        except (Wrong, AttributeError, TypeError, NotImplementedError, RuntimeError) as error:
            wrong[library.name] = f"{type(error).__name__}: {error}"
            continue
        timers[library.name] = timeit.Timer(statement, globals={"xp": library.xp, **own})
    del plain, expected

    calls: dict[str, int] = {}
    once: dict[str, float] = {}
    for name, timer in timers.items():
        count = 1
        while (elapsed := timer.timeit(count)) < SAMPLE_SECONDS / 4:
            count *= 4
        once[name] = elapsed / count
        calls[name] = max(1, round(SAMPLE_SECONDS / once[name]))
    round_seconds = sum(once[name] * (calls[name] + 1) for name in timers)
    rounds = ROUNDS
    if round_seconds > 0:
        rounds = min(ROUNDS, max(FEWEST_ROUNDS, int(CASE_SECONDS / round_seconds)))

    samples: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            # The first call after another library's finds its threads asleep and caches cold.
            timer.timeit(1)
            samples[name].append(timer.timeit(calls[name]) / calls[name])
    seconds = {name: statistics.median(values) for name, values in samples.items()}
    return Timing(case, seconds, wrong)


def available_threads() -> int:
    """Return the number of threads that the libraries were told to use."""
    if told := os.environ.get("OMP_NUM_THREADS"):
        return int(told.partition(",")[0])
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def streaming_bandwidth(threads: int) -> float:
    """Return bytes per second read and written by the faster of a copy and a triad.

    Measured over memory that was touched before, with the given number of threads and with one,
    whichever is faster: what a loop bound by memory can reach on this machine today.
    """
    n = 16 * 1024 * 1024
    a, b, c = (np.full(n, value) for value in (1.0, 2.0, 3.0))

    def copy(part: slice) -> None:
        np.copyto(a[part], b[part])

    def triad(part: slice) -> None:
        np.add(b[part], c[part], out=a[part])

    best = 0.0
    for count in {1, threads}:
        edges = [n * i // count for i in range(count + 1)]
        parts = [slice(*edge) for edge in itertools.pairwise(edges)]
        with ThreadPoolExecutor(count) as pool:
            for kernel, arrays in ((copy, 2), (triad, 3)):
                times = []
                for _ in range(7):
                    start = time.perf_counter()
                    list(pool.map(kernel, parts))
                    times.append(time.perf_counter() - start)
                best = max(best, arrays * a.nbytes / statistics.median(times))
    return best
