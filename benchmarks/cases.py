"""What a comparison is: a statement over named operands, the same for every library.

The statement is Python source, timed without a function call around it; ``xp`` is the library's
namespace. The families in families/ generate the cases from sizes, dtypes and operations.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Shape = tuple[int, ...]

# Which runs a case belongs to: every run, all but --quick ones, or --full ones alone.
QUICK, USUAL, FULL = 0, 1, 2

KIBI, MEBI = 1 << 10, 1 << 20

# Real values are repeated after this many, a prime, so that columns differ: drawing them would take
# longer than timing them.
PERIOD = 4_194_301

FLOATING = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
# One dtype of each width.
WIDTHS = ("int8", "int16", "float32", "float64", "complex128")


@dataclass(frozen=True)
class Scale:
    """How large a family's arrays are, in elements; the tests shrink it."""

    cached: int = 16 * KIBI
    medium: int = MEBI
    large: int = 16 * MEBI
    huge: int = 64 * MEBI

    def upto(self, *sizes: int) -> list[int]:
        """Return the sizes that are not above the largest."""
        return [n for n in sizes if n <= self.huge]


def side(elements: int, rank: int = 2) -> int:
    """Return the length of a square's or a cube's side of about so many elements."""
    return max(2, round(math.pow(elements, 1 / rank)))


def itemsize(dtype: str) -> int:
    """Return the bytes of one element."""
    return int(np.dtype(dtype).itemsize)


@dataclass(frozen=True)
class Operand:
    """An array to be made: equal descriptions make equal arrays, in every process."""

    shape: Shape
    dtype: str
    values: str = "uniform"
    low: float = 0.5
    high: float = 1.5

    @property
    def elements(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.elements * itemsize(self.dtype)

    def make(self) -> np.ndarray:
        """Return the array."""
        rng = np.random.default_rng(zlib.crc32(repr(self).encode()))
        return np.asarray(VALUES[self.values](rng, self), dtype=self.dtype).reshape(self.shape)


def uniform(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Values in [low, high); integers from 1 below 100 and booleans unless that is narrower."""
    n = min(operand.elements, PERIOD)
    kind = np.dtype(operand.dtype).kind
    values: np.ndarray
    if kind == "b":
        values = rng.random(n, dtype=np.float32) < 0.5
    elif kind in "iu":
        values = rng.integers(
            1, max(2, min(100, int(operand.high) if operand.high > 2 else 100)), n
        )
    else:
        values = rng.uniform(operand.low, operand.high, n)
        if kind == "c":
            values = values + 1j * rng.uniform(operand.low, operand.high, n)
    return np.resize(values.astype(operand.dtype), operand.elements)


def spread(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Values of both signs over the dtype's whole range, as a sort meets them."""
    kind = np.dtype(operand.dtype).kind
    if kind in "iu":
        info = np.iinfo(operand.dtype)
        return rng.integers(info.min, info.max, operand.elements, operand.dtype, endpoint=True)
    if kind == "b":
        return rng.random(operand.elements) < 0.5
    values = rng.standard_normal(operand.elements)
    return values + 1j * rng.standard_normal(operand.elements) if kind == "c" else values


def few(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Values of which there are no more than 100 different ones."""
    return rng.integers(0, 100, operand.elements)


def ascending(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Values in order."""
    return np.sort(spread(rng, operand).astype(operand.dtype))


def below(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Integers in [0, high): positions in an axis of that length."""
    return rng.integers(0, int(operand.high), operand.elements)


def either(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Integers in [-high, high): such positions, half of them counted from the end."""
    return rng.integers(-int(operand.high), int(operand.high), operand.elements)


def places(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Different integers in [0, high), in no order."""
    return rng.choice(int(operand.high), operand.elements, replace=False)


def places_in_order(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """The same, the lowest first."""
    return np.sort(places(rng, operand))


def mask(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Booleans of which the part `high` is true."""
    return rng.random(operand.elements, dtype=np.float32) < operand.high


def dominant(rng: np.random.Generator, operand: Operand) -> np.ndarray:
    """Symmetric matrices with a heavy diagonal: positive definite and well conditioned."""
    n = operand.shape[-1]
    values = uniform(rng, operand).reshape(operand.shape)
    return values + np.conj(np.swapaxes(values, -1, -2)) + 4 * n * np.eye(n)


VALUES: dict[str, Callable[[np.random.Generator, Operand], np.ndarray]] = {
    make.__name__: make
    for make in (
        uniform,
        spread,
        few,
        ascending,
        below,
        either,
        places,
        places_in_order,
        mask,
        dominant,
    )
}


@dataclass(frozen=True)
class Case:
    """One comparison."""

    family: str
    operation: str
    statement: str
    operands: Mapping[str, Operand]
    # Views of the operands, made once before the statement is timed: name to expression.
    views: Mapping[str, str] = field(default_factory=dict)
    # Bytes that must be read and written at least, for operations that memory bounds.
    reads: int = 0
    writes: int = 0
    # Largest difference from the reference in units of rounding of its largest magnitude; the
    # libraries' functions differ in their last bits.
    rounding: float = 16
    # What NumPy computes as the right result, where its own answer to the statement is not accurate.
    reference: str | None = None
    # What of the result r is compared, where a result is not unique or not an array.
    compared: str = "r"
    # The operand that the statement writes to, which is then the result.
    changes: str | None = None
    # Where a library's words differ: its name to its statement, "its-name view" to its view, and
    # "its-name compared" to what is compared.
    spelled: Mapping[str, str] = field(default_factory=dict)
    tier: int = USUAL
    # What the summary tells apart within a family.
    group: str = ""
    # Replaces the dtype and shape of the first operand in the name.
    detail: str = ""
    # The elements of the result, where nothing is read.
    made: int = 0

    @property
    def first(self) -> Operand:
        """The operand that names the case."""
        return next(iter(self.operands.values()))

    @property
    def dtype(self) -> str:
        """The first operand's dtype."""
        return self.first.dtype

    @property
    def elements(self) -> int:
        """The elements of the largest operand, or of what is made from none."""
        return self.made or max(operand.elements for operand in self.operands.values())

    @property
    def nbytes(self) -> int:
        """The bytes of all operands."""
        return sum(operand.nbytes for operand in self.operands.values())

    @property
    def name(self) -> str:
        """What the table shows."""
        detail = self.detail or f"{self.dtype}[{', '.join(map(counted, self.first.shape))}]"
        return f"{self.operation}, {detail}"

    def spelling(self, library: str) -> tuple[str, Mapping[str, str]]:
        """Return the statement and the views as a library spells them."""
        views = {name: self.spelled.get(f"{library} {name}", v) for name, v in self.views.items()}
        return self.spelled.get(library, self.statement), views


def counted(n: int) -> str:
    """Return a number with a binary unit where that is shorter and exact."""
    for unit, name in ((MEBI, "Mi"), (KIBI, "Ki")):
        if n and n % unit == 0:
            return f"{n // unit}{name}"
    return str(n)


def number(text: str) -> int:
    """Return the number that `counted` would write so."""
    for name, unit in (("mi", MEBI), ("ki", KIBI)):
        if text.lower().endswith(name):
            return int(text[: -len(name)]) * unit
    return int(text)


def torch(statement: str) -> dict[str, str]:
    """Return the spelling for PyTorch alone."""
    return {"PyTorch": statement}
