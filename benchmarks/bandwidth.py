"""What the memory can do today: streaming kernels of all the libraries, measured in the run itself.

The best kernel of each kind is the reference that memory-bound cases are held against: reading
alone for reductions, writing alone for fills, reading and writing for everything else.
"""

from __future__ import annotations

import itertools
import math
import statistics
import timeit
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from .cases import MEBI, Case
from .libraries import Library, installed, wall_clock

KINDS = ("read", "write", "copy")
ROUNDS = 9
# As many that the caches hold next to nothing of them, and time for a GPU's clock to rise.
ELEMENTS = {"cpu": 16 * MEBI, "cuda": 64 * MEBI}
SAMPLE_SECONDS = 4e-3
# A case that moves less than this many times the last cache is not bound by memory.
BEYOND_CACHE = 2


@dataclass(frozen=True)
class Kernel:
    """One streaming kernel: what it is called, what it moves, and how to run it."""

    name: str
    kind: str
    nbytes: int
    run: Callable[[], object]
    measure: Callable[[timeit.Timer, int], float] = wall_clock


@dataclass(frozen=True)
class Bandwidth:
    """The best kernel of each kind: bytes per second, and its name."""

    best: dict[str, float]
    names: dict[str, str]
    # Bytes of the last level of cache.
    cache: int

    def ideal_seconds(self, case: Case) -> float | None:
        """Return how long the traffic of a case takes at best, or None for work in caches."""
        traffic = case.reads + case.writes
        if traffic < BEYOND_CACHE * self.cache:
            return None
        kind = "copy"
        if case.writes * 10 < case.reads:
            kind = "read"
        elif case.reads * 10 < case.writes:
            kind = "write"
        return traffic / self.best[kind]

    def __str__(self) -> str:
        return "; ".join(
            f"{kind} {self.best[kind] / 1e9:.1f} GB/s ({self.names[kind]})" for kind in KINDS
        )


def last_cache_bytes(device: str) -> int:
    """Return the size of the last level of cache, or 32 MiB where the system does not tell."""
    if device != "cpu":
        torch = installed("torch")
        return 32 * MEBI if torch is None else torch.cuda.get_device_properties(0).L2_cache_size
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index3/size", encoding="ascii") as file:
            return int(file.read().strip().rstrip("K")) * 1024
    except (OSError, ValueError):
        return 32 * MEBI


def on_each(pool: ThreadPoolExecutor, run: Callable[[slice], object], parts: list[slice]) -> None:
    """Run a kernel's parts side by side."""
    for _ in pool.map(run, parts):
        pass


def numpy_kernels(n: int, pool: ThreadPoolExecutor, count: int) -> Iterator[Kernel]:
    """Yield NumPy's kernels over memory touched before, cut into parts for so many threads."""
    a, b, c = (np.full(n, value) for value in (1.0, 2.0, 3.0))
    edges = [n * i // count for i in range(count + 1)]
    parts = [slice(*edge) for edge in itertools.pairwise(edges)]
    kernels: dict[str, tuple[str, int, Callable[[slice], object]]] = {
        "copyto": ("copy", 2, lambda part: np.copyto(a[part], b[part])),
        "add": ("copy", 3, lambda part: np.add(b[part], c[part], out=a[part])),
        "fill": ("write", 1, lambda part: a[part].fill(4.0)),
        "max": ("read", 1, lambda part: np.max(b[part])),
    }
    for name, (kind, arrays, run) in kernels.items():
        yield Kernel(
            f"NumPy {name}, {count} threads",
            kind,
            arrays * a.nbytes,
            partial(on_each, pool, run, parts),
        )


# Of the libraries with threads of their own; results are fresh, from the library's allocator.
EXPRESSIONS = (
    ("x + y", "copy", 3, "x + y"),
    ("x.copy()", "copy", 2, "xp.asarray(x, copy=True)"),
    ("sum", "read", 1, "xp.sum(x)"),
    ("max", "read", 1, "xp.max(x)"),
    ("full", "write", 1, "xp.full((n,), 4.0, dtype=xp.float64)"),
    ("x[...] = 4", "write", 1, "x.__setitem__(Ellipsis, 4.0)"),
    ("y[...] = x", "copy", 2, "y.__setitem__(Ellipsis, x)"),
)


def library_kernels(n: int, library: Library) -> Iterator[Kernel]:
    """Yield a library's own kernels, those of them that it has."""
    x, y = (library.from_numpy(np.full(n, value)) for value in (1.0, 2.0))
    for name, kind, arrays, expression in EXPRESSIONS:
        code = compile(expression, "<kernel>", "eval")
        names = {"xp": library.xp, "x": x, "y": y, "n": n}
        run = partial(eval, code, names)
        kernel = Kernel(f"{library.name} {name}", kind, arrays * 8 * n, run, library.measure)
        try:
            kernel.run()
        except (TypeError, AttributeError, RuntimeError):
            continue
        yield kernel


def measure(libraries: list[Library], threads: int, device: str = "cpu") -> Bandwidth:
    """Return the bandwidth of the best kernels, each one's median over some rounds."""
    n = ELEMENTS[device]
    best = dict.fromkeys(KINDS, 0.0)
    names = dict.fromkeys(KINDS, "")
    with ThreadPoolExecutor(threads) as pool:
        kernels = []
        for library in libraries:
            if library.name != "NumPy":
                kernels += library_kernels(n, library)
            elif library.timed:
                for count in {1, threads}:
                    kernels += numpy_kernels(n, pool, count)
        times: list[list[float]] = [[] for _ in kernels]
        # The first run finds threads asleep and pages untouched.
        for kernel in kernels:
            kernel.run()
        firsts = [kernel.measure(timeit.Timer(kernel.run), 1) for kernel in kernels]
        calls = [max(1, math.ceil(SAMPLE_SECONDS / first)) for first in firsts]
        for _ in range(ROUNDS):
            for kernel, count, its_times in zip(kernels, calls, times, strict=True):
                its_times.append(kernel.measure(timeit.Timer(kernel.run), count) / count)
    for kernel, its_times in zip(kernels, times, strict=True):
        rate = kernel.nbytes / statistics.median(its_times)
        if rate > best[kernel.kind]:
            best[kernel.kind], names[kernel.kind] = rate, kernel.name
    return Bandwidth(best, names, last_cache_bytes(device))
