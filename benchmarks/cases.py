"""What is compared: each case is a statement over named operands, the same for every library.

The statement is Python source, timed without a function call around it; ``xp`` is the library's
namespace. A library that spells it differently has an entry in ``spelled``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

Operands = dict[str, np.ndarray]

TINY = 16
CACHED = 16 * 1024
LARGE = 16 * 1024 * 1024
SIDE = 4096

FAMILIES = ("call", "elementwise", "strided", "reduction", "cast", "matmul")
SIZES = ("tiny", "cached", "large")


@dataclass
class Case:
    """One comparison."""

    name: str
    family: str
    size: str  # tiny: the call counts; cached: fits in cache; large: streams from memory
    statement: str
    operands: Callable[[np.random.Generator], Operands]
    # Bytes that must be read and written at least, for cases bound by memory.
    traffic: int | None = None
    # Largest difference from the reference, relative to its largest magnitude.
    tolerance: float = 0.0
    # The reference is computed in float64 where the operands are float32.
    widen: bool = True
    spelled: dict[str, str] = field(default_factory=dict)

    def statement_for(self, library: str) -> str:
        """Return the statement as a library spells it."""
        return self.spelled.get(library, self.statement)


def operand(
    shape: tuple[int, ...], dtype: str, low: float = 0.5, high: float = 1.5
) -> Callable[[np.random.Generator], np.ndarray]:
    """Return a maker of uniformly distributed values in [low, high), or of integers below 100."""

    def make(rng: np.random.Generator) -> np.ndarray:
        if np.dtype(dtype).kind in "iu":
            return rng.integers(0, 100, shape, dtype=dtype)
        values = rng.random(shape, dtype=np.float32 if dtype == "float32" else np.float64)
        values *= high - low
        values += low
        return values

    return make


def operands(**makers: Callable[[np.random.Generator], np.ndarray]) -> Callable[..., Operands]:
    """Return a maker of all the operands of a case."""
    return lambda rng: {name: make(rng) for name, make in makers.items()}


ROUNDING = {"float32": 1e-6, "float64": 1e-14, "int32": 0.0, "int64": 0.0}
# Sums in float32: NumPy's are not pairwise along the first axis.
SUMMING = {"float32": 1e-3, "float64": 1e-10}


def call_cases() -> Iterator[Case]:
    """Arrays of 16 elements: what a call costs before it computes anything."""
    for dtype in ("float64", "float32"):
        for name, statement in {
            "x + y": "x + y",
            "x * y": "x * y",
            "add(x, y)": "xp.add(x, y)",
            "x + 1.0": "x + 1.0",
            "exp(x)": "xp.exp(x)",
            "x < y": "x < y",
            "sum(x)": "xp.sum(x)",
        }.items():
            yield Case(
                f"{name}, {dtype}[{TINY}]",
                "call",
                "tiny",
                statement,
                operands(x=operand((TINY,), dtype), y=operand((TINY,), dtype)),
                tolerance=ROUNDING[dtype],
            )
    for name, statement in {
        "x[3]": "x[3]",
        "x[2:9]": "x[2:9]",
        "x[::-1]": "xp.flip(x)",
        "x[None, :]": "x[None, :]",
        "reshape": "xp.reshape(x, (4, 4))",
        "zeros": "xp.zeros((4, 4))",
        "asarray": "xp.asarray(x)",
    }.items():
        yield Case(
            f"{name}, float64[{TINY}]",
            "call",
            "tiny",
            statement,
            operands(x=operand((TINY,), "float64")),
            spelled={
                "PyTorch": {
                    "xp.flip(x)": "xp.flip(x, (0,))",
                    "xp.zeros((4, 4))": "xp.zeros((4, 4), dtype=xp.float64)",
                }.get(statement, statement)
            },
        )


def elementwise_cases() -> Iterator[Case]:
    """Contiguous operands, in cache and in memory."""
    for size, n in (("cached", CACHED), ("large", LARGE)):
        for dtype in ("float32", "float64", "int32"):
            yield Case(
                f"x + y, {dtype}[{n}]",
                "elementwise",
                size,
                "x + y",
                operands(x=operand((n,), dtype), y=operand((n,), dtype)),
                traffic=3 * n * np.dtype(dtype).itemsize,
                tolerance=ROUNDING[dtype],
            )
        for dtype in ("float32", "float64"):
            for function in ("sqrt", "exp", "log", "sin", "tanh"):
                yield Case(
                    f"{function}(x), {dtype}[{n}]",
                    "elementwise",
                    size,
                    f"xp.{function}(x)",
                    operands(x=operand((n,), dtype, 0.5, 8.0)),
                    traffic=2 * n * np.dtype(dtype).itemsize,
                    # The libraries' functions are within a few units in the last place.
                    tolerance=8 * ROUNDING[dtype],
                )
        yield Case(
            f"where(x < y, x, y), float32[{n}]",
            "elementwise",
            size,
            "xp.where(c, x, y)",
            lambda rng, n=n: {
                "c": rng.random(n) < 0.5,
                "x": rng.random(n, dtype=np.float32),
                "y": rng.random(n, dtype=np.float32),
            },
            traffic=13 * n,
            widen=False,
        )


def strided_cases() -> Iterator[Case]:
    """Transposes, broadcasts and steps."""
    square = operand((SIDE, SIDE), "float32")
    cells = SIDE * SIDE
    yield Case(
        f"x + x.T, float32[{SIDE}, {SIDE}]",
        "strided",
        "large",
        "x + x.T",
        operands(x=square),
        traffic=3 * 4 * cells,
        tolerance=ROUNDING["float32"],
    )
    yield Case(
        f"copy of x.T, float32[{SIDE}, {SIDE}]",
        "strided",
        "large",
        "xp.reshape(x.T, (-1,))",
        operands(x=square),
        traffic=2 * 4 * cells,
    )
    yield Case(
        f"x + row, float32[{SIDE}, {SIDE}]",
        "strided",
        "large",
        "x + row",
        operands(x=square, row=operand((1, SIDE), "float32")),
        traffic=2 * 4 * cells,
        tolerance=ROUNDING["float32"],
    )
    yield Case(
        f"x + column, float32[{SIDE}, {SIDE}]",
        "strided",
        "large",
        "x + column",
        operands(x=square, column=operand((SIDE, 1), "float32")),
        traffic=2 * 4 * cells,
        tolerance=ROUNDING["float32"],
    )
    yield Case(
        f"x[:, ::2] * y[:, ::2], float32[{SIDE}, {SIDE}]",
        "strided",
        "large",
        "x[:, ::2] * y[:, ::2]",
        operands(x=square, y=square),
        # Every cache line of the operands is read, half of the elements are written.
        traffic=10 * cells,
        tolerance=ROUNDING["float32"],
    )


def reduction_cases() -> Iterator[Case]:
    """Sums and their relatives, over each axis."""
    for dtype in ("float32", "float64"):
        for rows, columns in ((SIDE, SIDE), (1048576, 16), (16, 1048576)):
            for axis in (0, 1, None):
                yield Case(
                    f"sum, axis {axis}, {dtype}[{rows}, {columns}]",
                    "reduction",
                    "large",
                    f"xp.sum(x, axis={axis})",
                    operands(x=operand((rows, columns), dtype)),
                    traffic=rows * columns * np.dtype(dtype).itemsize,
                    tolerance=SUMMING[dtype],
                    spelled={"PyTorch": "xp.sum(x)"} if axis is None else {},
                )
    for name in ("max", "argmax", "mean"):
        for axis in (0, 1):
            yield Case(
                f"{name}, axis {axis}, float32[{SIDE}, {SIDE}]",
                "reduction",
                "large",
                f"xp.{name}(x, axis={axis})",
                operands(x=operand((SIDE, SIDE), "float32")),
                traffic=SIDE * SIDE * 4,
                tolerance=SUMMING["float32"] if name == "mean" else 0.0,
                spelled={"PyTorch": f"xp.amax(x, {axis})"} if name == "max" else {},
            )
    yield Case(
        f"sum, float64[{CACHED}]",
        "reduction",
        "cached",
        "xp.sum(x)",
        operands(x=operand((CACHED,), "float64")),
        tolerance=SUMMING["float64"],
    )
    yield Case(
        f"cumulative_sum, float64[{LARGE}]",
        "reduction",
        "large",
        "xp.cumulative_sum(x)",
        operands(x=operand((LARGE,), "float64")),
        traffic=16 * LARGE,
        tolerance=SUMMING["float64"],
        spelled={"PyTorch": "xp.cumsum(x, 0)"},
    )


def cast_cases() -> Iterator[Case]:
    """Conversions between dtypes, and arithmetic of mixed ones."""
    for source, target in (
        ("float32", "float64"),
        ("float64", "float32"),
        ("int32", "float32"),
        ("float32", "int32"),
        ("int64", "float64"),
    ):
        itemsizes = np.dtype(source).itemsize + np.dtype(target).itemsize
        yield Case(
            f"{source} to {target}[{LARGE}]",
            "cast",
            "large",
            f"xp.astype(x, xp.{target})",
            operands(x=operand((LARGE,), source)),
            traffic=itemsizes * LARGE,
            widen=False,
            spelled={"PyTorch": f"x.to(xp.{target})"},
        )
    yield Case(
        f"float32 + float64[{LARGE}]",
        "cast",
        "large",
        "x + y",
        operands(x=operand((LARGE,), "float32"), y=operand((LARGE,), "float64")),
        traffic=20 * LARGE,
        widen=False,
    )


def matmul_cases() -> Iterator[Case]:
    """Products of matrices."""
    for n, size in ((64, "cached"), (2048, "large")):
        for dtype in ("float32", "float64"):
            yield Case(
                f"x @ y, {dtype}[{n}, {n}]",
                "matmul",
                size,
                "x @ y",
                operands(x=operand((n, n), dtype), y=operand((n, n), dtype)),
                tolerance=n * ROUNDING[dtype],
            )
    yield Case(
        "x @ y.T, float32[1024, 1024]",
        "matmul",
        "large",
        "x @ y.T",
        operands(x=operand((1024, 1024), "float32"), y=operand((1024, 1024), "float32")),
        tolerance=1e-3,
    )
    yield Case(
        "x @ y, int64[512, 512]",
        "matmul",
        "large",
        "x @ y",
        operands(x=operand((512, 512), "int64"), y=operand((512, 512), "int64")),
    )
    yield Case(
        "x @ y, float64[1000, 8, 8]",
        "matmul",
        "cached",
        "x @ y",
        operands(x=operand((1000, 8, 8), "float64"), y=operand((1000, 8, 8), "float64")),
        tolerance=1e-12,
    )


def all_cases() -> list[Case]:
    """Return every case, in the order of the families."""
    makers = (
        call_cases,
        elementwise_cases,
        strided_cases,
        reduction_cases,
        cast_cases,
        matmul_cases,
    )
    return [case for make in makers for case in make()]
