"""How a case is timed: results are checked first, then the libraries take turns in one process.

A round times each library once, a sample being as many calls as last a few milliseconds; the
median over the rounds counts, so that a disturbance of the machine falls on all alike or on none.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
import timeit
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Case, Operand
from .libraries import Library

# The fewest samples of a case whose calls are long, and of a library that is so many times behind;
# one that is both has one less.
FEWEST_ROUNDS = 3
FAR_BEHIND = 4.0
# A call this long needs no other before it to wake threads and warm caches.
LONG_SECONDS = 20e-3
# Rounds are added, up to so many times as many, while a library's samples spread more than this.
MORE_ROUNDS = 2
NOISY = 0.08
COMPARED_AT_ONCE = 1 << 18


class Wrong(Exception):
    """A library's result is not the reference's."""


@dataclass(frozen=True)
class Settings:
    """How long and how often to measure."""

    rounds: int = 15
    sample_seconds: float = 4e-3
    threads: int = 1


@dataclass
class Timing:
    """One case's outcome by library: seconds per call, or why there are none."""

    case: Case
    seconds: dict[str, float] = field(default_factory=dict)
    # See spread_of.
    spread: dict[str, float] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)
    # A library that has no such function or dtype.
    lacking: dict[str, str] = field(default_factory=dict)


class Store:
    """The operands of the last case, which the next one of its family often shares."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[str, Operand], Any] = {}
        # Those that an earlier case has used.
        self.used: set[tuple[str, Operand]] = set()

    def keep_only(self, case: Case) -> None:
        """Drop what a case does not use, and everything before a case that changes operands."""
        wanted = set() if case.changes else set(case.operands.values())
        self.arrays = {key: a for key, a in self.arrays.items() if key[1] in wanted}
        self.used = set(self.arrays)

    def drop_used(self, library: Library) -> bool:
        """Drop a library's arrays that an earlier case has used; return whether there are any."""
        mine = {key for key in self.used if key[0] == library.name}
        self.used -= mine
        for key in mine:
            del self.arrays[key]
        return bool(mine)

    def operands(self, case: Case, library: Library) -> dict[str, Any]:
        """Return a library's operands of a case by name."""
        return {name: self.array(operand, library) for name, operand in case.operands.items()}

    def array(self, operand: Operand, library: Library) -> Any:
        """Return a library's array for a description."""
        key = (library.name, operand)
        if key not in self.arrays:
            plain = ("", operand)
            if plain not in self.arrays:
                self.arrays[plain] = operand.make()
            self.arrays[key] = library.from_numpy(self.arrays[plain])
        return self.arrays[key]


def bound_names(case: Case, library: Library, store: Store) -> tuple[str, dict[str, Any]]:
    """Return a library's statement, and what the names in it stand for."""
    statement, views = case.spelling(library.name)
    names = {"xp": library.xp, **store.operands(case, library)}
    if library.compiled and views:
        lines = [f"{name} = {expression}" for name, expression in views.items()]
        if case.changes:
            lines += [statement, f"return {case.changes}"]
        else:
            lines += [f"return {statement}"]
        operands = ", ".join(case.operands)
        exec("\n    ".join([f"def function({operands}):", *lines]), names)
        names["function"] = library.compiled(names["function"])
        names.pop("__builtins__", None)
        call = f"function({operands})"
        return f"{case.changes} = {call}" if case.changes else call, names
    for name, expression in views.items():
        names[name] = eval(expression, names)
    names.pop("__builtins__", None)
    return statement, names


def result_of(case: Case, statement: str, names: dict[str, Any], library: Library) -> Any:
    """Run a statement once and return what is compared, as NumPy arrays."""
    scope = dict(names)
    if case.changes:
        exec(statement, scope)
        result = scope[case.changes]
    else:
        result = eval(statement, scope)
    compared = case.spelled.get(f"{library.name} compared", case.compared)
    result = eval(compared, {**names, "r": result})
    if isinstance(result, tuple | list):
        return [library.to_numpy(part) for part in result]
    return library.to_numpy(result)


def unit_of_rounding(*arrays: np.ndarray) -> float:
    """Return the relative distance of numbers in the coarsest of the arrays' dtypes."""
    return max((float(np.finfo(a.dtype).eps) for a in arrays if a.dtype.kind in "fc"), default=0.0)


def check(actual: Any, expected: Any, rounding: float) -> None:
    """Raise Wrong where a result differs from the reference by more than rounding explains."""
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            raise Wrong(f"{type(actual).__name__} instead of {len(expected)} arrays")
        for a, b in zip(actual, expected, strict=True):
            check(a, b, rounding)
        return
    if actual.shape != expected.shape:
        raise Wrong(f"shape {actual.shape} instead of {expected.shape}")
    flat, wanted = actual.reshape(-1), expected.reshape(-1)
    blocks = [
        slice(start, start + COMPARED_AT_ONCE) for start in range(0, flat.size, COMPARED_AT_ONCE)
    ]
    unequal = [block for block in blocks if not np.array_equal(flat[block], wanted[block])]
    if not unequal:
        return
    unit = unit_of_rounding(actual, expected)
    if unit == 0:
        raise Wrong("values differ")
    largest = worst = 0.0
    for block in blocks:
        sizes = np.abs(wanted[block])
        largest = max(largest, float(np.max(sizes, initial=0, where=np.isfinite(sizes))))
    for block in unequal:
        a, b = flat[block], wanted[block]
        differ = ~((a == b) | ((a != a) & (b != b)))
        difference = np.abs(a[differ].astype(np.complex128) - b[differ])
        # Python's max would lose a NaN.
        worst = float(np.maximum(worst, np.max(difference, initial=0)))
    allowed = rounding * unit * largest
    if not worst <= allowed:
        raise Wrong(f"differs by {worst:.2g} where {allowed:.2g} is allowed")


def reason(error: Exception) -> str:
    """Return an error's kind and the first line of what it says."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first[:120]}"


def right_result(
    case: Case, library: Library, store: Store, expected: Any
) -> tuple[str, dict[str, Any], Any]:
    """Return a library's statement, its names, and its result, which is as expected if that is known.

    A library may have changed what it was given for an earlier case (PyTorch's results were wrong
    after its eigenvalues of a matrix on a GPU), so a wrong result is found once more from new arrays.
    """
    statement, names = bound_names(case, library, store)
    actual = result_of(case, statement, names, library)
    try:
        if expected is not None:
            check(actual, expected, case.rounding)
    except Wrong:
        if not store.drop_used(library):
            raise
        return right_result(case, library, store, expected)
    return statement, names, actual


# Overflow and division by zero are part of some cases; only NumPy warns of them.
@np.errstate(all="ignore")
def checked_timers(
    case: Case, libraries: list[Library], store: Store, outcome: Timing
) -> dict[str, timeit.Timer]:
    """Return timers of the libraries that give the right result, NumPy's where it gives one."""
    store.keep_only(case)
    by_name = {library.name: library for library in libraries}
    order = ["NumPy", *(name for name in by_name if name != "NumPy")]
    expected: Any = None
    if case.reference is not None:
        accurate = replace(case, statement=case.reference, spelled={})
        statement, names = bound_names(accurate, by_name["NumPy"], store)
        expected = result_of(accurate, statement, names, by_name["NumPy"])
    timers = {}
    for library in [by_name[name] for name in order if name in by_name]:
        try:
            statement, names, actual = right_result(case, library, store, expected)
        except Wrong as error:
            outcome.wrong[library.name] = str(error)
            continue
        except Exception as error:
            # Whatever a library answers, the others can still be compared.
            outcome.lacking[library.name] = reason(error)
            continue
        if expected is None:
            expected = actual
        if not library.timed:
            continue
        # x += y would make x a local name of the timer's loop.
        setup = f"global {case.changes}" if case.changes else "pass"
        timers[library.name] = timeit.Timer(statement, setup, globals=names)
    # The descriptions' own arrays served for the copies; only those are timed.
    store.arrays = {key: a for key, a in store.arrays.items() if key[0]}
    return {name: timers[name] for name in by_name if name in timers}


def computing_threads() -> int:
    """Return how many threads of this process run now, this one among them."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        # CPU time is charged to other threads at the scheduler's ticks, which are milliseconds apart.
        wall, busy = time.perf_counter(), time.process_time()
        time.sleep(12e-3)
        busy = time.process_time() - busy
        return 1 + round(busy / (time.perf_counter() - wall))
    running = 0
    for task in tasks.iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            # The state stands behind the name, which may have spaces and parentheses of its own.
            running += (task / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    return running


def wait_for_quiet(longest: float = 0.25) -> None:
    """Wait until no other thread of this process computes.

    OpenMP's and OpenBLAS's threads spin after their work, some for a tenth of a second, on the
    cores that the next library's threads need.
    """
    deadline = time.perf_counter() + longest
    while computing_threads() > 1 and time.perf_counter() < deadline:
        time.sleep(3e-4)


def spread_of(values: list[float]) -> float:
    """Return half the distance between the quartiles, as a part of the median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2 / middle


@np.errstate(all="ignore")
def time_case(
    case: Case, libraries: list[Library], settings: Settings, store: Store, allowance: float
) -> Timing:
    """Check a case's results, then time the libraries that gave the right ones.

    The allowance, in seconds, bounds the rounds; there are at least FEWEST_ROUNDS.
    """
    outcome = Timing(case)
    timers = checked_timers(case, libraries, store, outcome)
    measure = {library.name: library.measure for library in libraries}

    calls: dict[str, int] = {}
    once: dict[str, float] = {}
    for name, timer in timers.items():
        count = 1
        while (elapsed := measure[name](timer, count)) < settings.sample_seconds / 4:
            count *= 4
        if elapsed < LONG_SECONDS:
            elapsed = min(elapsed, measure[name](timer, count))
        once[name] = elapsed / count
        calls[name] = max(1, round(settings.sample_seconds / once[name]))
    fastest = min(once.values(), default=0.0)
    near = [name for name in timers if once[name] <= FAR_BEHIND * fastest]
    # A long call's first time is a sample, too.
    samples = {name: [t] if t >= LONG_SECONDS else [] for name, t in once.items()}
    sample_seconds = {name: once[name] * calls[name] for name in timers}
    round_seconds = sum(sample_seconds[name] for name in near)
    possible = (allowance - sum(sample_seconds.values())) / round_seconds if near else 0
    rounds_of = {}
    for name in timers:
        fewest = FEWEST_ROUNDS - len(samples[name])
        if name in near:
            rounds_of[name] = min(settings.rounds, max(fewest, int(possible)))
        else:
            rounds_of[name] = fewest - len(samples[name])

    names = list(timers)
    begin = time.perf_counter()
    for turn in range(settings.rounds * MORE_ROUNDS):
        if turn >= settings.rounds and (
            time.perf_counter() - begin > allowance
            or all(spread_of(samples[name]) < NOISY for name in near)
        ):
            break
        # Another one begins each round, so that nobody always follows the same library.
        start = turn % max(1, len(names))
        for name in names[start:] + names[:start]:
            if turn >= rounds_of[name] and (turn < settings.rounds or name not in near):
                continue
            if settings.threads > 1:
                wait_for_quiet()
            if once[name] < LONG_SECONDS:
                measure[name](timers[name], max(1, calls[name] // 8))
            samples[name].append(measure[name](timers[name], calls[name]) / calls[name])
    for name, values in samples.items():
        outcome.seconds[name] = statistics.median(values)
        outcome.spread[name] = spread_of(values)
    if case.changes:
        store.arrays.clear()
    return outcome


def available_memory() -> int:
    """Return the bytes that can be had without swapping; very many where the system is silent."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 1 << 62


def memory_needed(case: Case, libraries: int) -> int:
    """Return about how many bytes a case uses at most: copies, results, and what comparing takes."""
    return case.nbytes * (libraries + 1) + max(case.writes, case.nbytes) * 3


def available_threads() -> int:
    """Return the number of threads that the libraries were told to use."""
    if told := os.environ.get("OMP_NUM_THREADS"):
        return int(told.partition(",")[0])
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
