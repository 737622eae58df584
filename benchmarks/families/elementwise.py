"""Every elementwise operation on contiguous operands, in the caches and far beyond them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..cases import (
    COMPLEX,
    FLOATING,
    FULL,
    KIBI,
    MEBI,
    QUICK,
    SIGNED,
    UNSIGNED,
    USUAL,
    Case,
    Operand,
    Scale,
    itemsize,
)

KINDS = {
    "f": FLOATING,
    "c": COMPLEX,
    "i": SIGNED,
    "u": UNSIGNED,
    "b": ("bool",),
    # Complex functions without a vector form are slow enough to be left to --full runs.
    "z": COMPLEX,
}
# Other dtypes are left to --full runs.
USUAL_DTYPES = {"bool", "int8", "int16", "int32", "int64", "float32", "float64", "complex64"}


@dataclass(frozen=True)
class Row:
    """One operation: its operands, the kinds of dtype it takes, and where its values lie."""

    operands: int
    kinds: str
    low: float = 0.5
    high: float = 1.5
    returns: str = ""  # the result's dtype where it is not the operands'


OPERATIONS: dict[str, Row] = {
    "abs": Row(1, "fic", -2.0, 2.0),
    "acos": Row(1, "fz", -0.9, 0.9),
    "acosh": Row(1, "fz", 1.1, 9.0),
    "add": Row(2, "ficu"),
    "asin": Row(1, "fz", -0.9, 0.9),
    "asinh": Row(1, "fz", -9.0, 9.0),
    "atan": Row(1, "fz", -9.0, 9.0),
    "atan2": Row(2, "f", -2.0, 2.0),
    "atanh": Row(1, "fz", -0.9, 0.9),
    "bitwise_and": Row(2, "iub"),
    "bitwise_invert": Row(1, "iub"),
    "bitwise_left_shift": Row(2, "i", high=6),
    "bitwise_or": Row(2, "iub"),
    "bitwise_right_shift": Row(2, "i", high=6),
    "bitwise_xor": Row(2, "iub"),
    "ceil": Row(1, "f", -9.0, 9.0),
    "clip": Row(1, "fi", -2.0, 2.0),
    "conj": Row(1, "c"),
    "copysign": Row(2, "f", -2.0, 2.0),
    "cos": Row(1, "fz", -9.0, 9.0),
    "cosh": Row(1, "fz", -4.0, 4.0),
    "divide": Row(2, "fc"),
    "equal": Row(2, "ficub", returns="bool"),
    "exp": Row(1, "fz", -8.0, 8.0),
    "expm1": Row(1, "fz", -2.0, 2.0),
    "floor": Row(1, "f", -9.0, 9.0),
    "floor_divide": Row(2, "fi"),
    "greater": Row(2, "fi", returns="bool"),
    "greater_equal": Row(2, "fi", returns="bool"),
    "hypot": Row(2, "f", -2.0, 2.0),
    "imag": Row(1, "c"),
    "isfinite": Row(1, "fc", returns="bool"),
    "isinf": Row(1, "fc", returns="bool"),
    "isnan": Row(1, "fc", returns="bool"),
    "less": Row(2, "fiu", returns="bool"),
    "less_equal": Row(2, "fi", returns="bool"),
    "log": Row(1, "fz", 0.1, 8.0),
    "log10": Row(1, "fz", 0.1, 8.0),
    "log1p": Row(1, "fz", 0.1, 8.0),
    "log2": Row(1, "fz", 0.1, 8.0),
    "logaddexp": Row(2, "f", -4.0, 4.0),
    "logical_and": Row(2, "b"),
    "logical_not": Row(1, "b"),
    "logical_or": Row(2, "b"),
    "logical_xor": Row(2, "b"),
    "maximum": Row(2, "fiu"),
    "minimum": Row(2, "fi"),
    "multiply": Row(2, "ficu"),
    "negative": Row(1, "fic"),
    "nextafter": Row(2, "f"),
    "not_equal": Row(2, "fi", returns="bool"),
    "positive": Row(1, "f"),
    "pow": Row(2, "fiz", 0.1, 3.0),
    "real": Row(1, "c"),
    "reciprocal": Row(1, "f"),
    "remainder": Row(2, "fi", -9.0, 9.0),
    "round": Row(1, "f", -9.0, 9.0),
    "sign": Row(1, "fi", -2.0, 2.0),
    "signbit": Row(1, "f", -2.0, 2.0, returns="bool"),
    "sin": Row(1, "fz", -9.0, 9.0),
    "sinh": Row(1, "fz", -4.0, 4.0),
    "sqrt": Row(1, "fz", 0.1, 8.0),
    "square": Row(1, "fic"),
    "subtract": Row(2, "fic"),
    "tan": Row(1, "fz", -1.0, 1.0),
    "tanh": Row(1, "fz", -4.0, 4.0),
    "trunc": Row(1, "f", -9.0, 9.0),
    "where": Row(3, "fic"),
}
# PyTorch's positive returns its operand.
SPELLED = {"positive": {"PyTorch": "xp.clone(x)"}}
# The ones that stand for the others at every size: one add per dtype width, a slow function, a
# comparison, a function of every element's bits.
AT_EVERY_SIZE = {
    "add": ("float32", "float64", "int8", "int16", "int64"),
    "multiply": FLOATING,
    "exp": FLOATING,
    "log": FLOATING,
    "sin": FLOATING,
    "tanh": FLOATING,
    "pow": FLOATING,
    "sqrt": FLOATING,
    "less": FLOATING,
    "where": FLOATING,
}
SIZES = (1, 16, 256, 4 * KIBI, 16 * KIBI, 64 * KIBI, 256 * KIBI, MEBI, 4 * MEBI, 16 * MEBI)
# 64Mi elements of the memory-bound ones only, and one that computes.
HUGE = ("add", "exp", "less")
QUICK_ROWS = ("add", "exp", "sin", "pow", "less", "where", "sqrt", "maximum", "remainder")


def operation(name: str, dtype: str, n: int, tier: int) -> Case:
    """Return the case of one operation, dtype and size."""
    row = OPERATIONS[name]
    operands = {"x": Operand((n,), dtype, low=row.low, high=row.high)}
    size = itemsize(dtype)
    returned = itemsize(row.returns) if row.returns else size
    if name in ("abs", "real", "imag") and dtype in COMPLEX:
        returned = size // 2
    reads = n * size
    if row.operands > 1:
        # Other limits make other values of the same description.
        operands["y"] = Operand((n,), dtype, low=row.low, high=row.high * 1.01)
        reads *= 2
    if name == "where":
        operands["c"] = Operand((n,), "bool", "mask", high=0.5)
        reads += n
    names = ", ".join(operands)
    if name == "clip":
        low, high = (2, 50) if dtype in SIGNED else (-1.0, 1.0)
        names = f"x, {low}, {high}"
    if name == "where":
        names = "c, x, y"
    return Case(
        "elementwise",
        name,
        f"xp.{name}({names})",
        operands,
        reads=reads,
        writes=n * returned,
        spelled=SPELLED.get(name, {}),
        # Functions of large slope amplify the last bit of a peer's argument reduction.
        rounding=64 if dtype in COMPLEX else 16,
        tier=tier,
    )


def dtypes_of(row: Row) -> Iterator[tuple[str, int]]:
    """Yield the dtypes of an operation, and the first tier of runs that times them."""
    for kind in row.kinds:
        for dtype in KINDS[kind]:
            usual = dtype in USUAL_DTYPES and (kind != "z" or dtype == "complex64")
            yield dtype, USUAL if usual else FULL


def by_one_divisor(n: int, tier: int) -> Iterator[Case]:
    """Yield integers divided by a Python number, as places are found from positions."""
    for name, sign in {"floor_divide": "//", "remainder": "%"}.items():
        for dtype in ("uint8", *SIGNED):
            yield Case(
                "elementwise",
                f"{name} by 7",
                f"x {sign} 7",
                {"x": Operand((n,), dtype, high=100)},
                reads=n * itemsize(dtype),
                writes=n * itemsize(dtype),
                tier=tier,
            )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield every operation and dtype at two sizes, and some operations at all sizes."""
    yield from by_one_divisor(scale.cached, USUAL)
    yield from by_one_divisor(scale.large, FULL)
    sizes = scale.upto(*SIZES)
    for n, tier in ((scale.cached, QUICK), (4 * scale.medium, USUAL), (scale.large, FULL)):
        for kind in KINDS:
            for dtype in KINDS[kind]:
                for name, row in OPERATIONS.items():
                    if kind not in row.kinds:
                        continue
                    first = dict(dtypes_of(row))[dtype]
                    quick = tier == QUICK and name in QUICK_ROWS and dtype in FLOATING
                    every = dtype in AT_EVERY_SIZE.get(name, ()) and n in sizes
                    if not every:
                        yield operation(name, dtype, n, QUICK if quick else max(first, tier, USUAL))
    quick_sizes = (scale.cached, scale.large)
    for n in sizes:
        for name, dtypes in AT_EVERY_SIZE.items():
            for dtype in dtypes:
                quick = n in quick_sizes and dtype in FLOATING
                yield operation(name, dtype, n, QUICK if quick else USUAL)
    for name in HUGE:
        for dtype in FLOATING:
            tier = USUAL if name == "add" and dtype == "float32" else FULL
            yield operation(name, dtype, scale.huge, tier)
