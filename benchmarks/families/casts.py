"""Conversions between all dtypes, and arithmetic of mixed ones."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import (
    COMPLEX,
    FLOATING,
    FULL,
    QUICK,
    SIGNED,
    UNSIGNED,
    USUAL,
    Case,
    Operand,
    Scale,
    itemsize,
    torch,
)

DTYPES = ("bool", *SIGNED, *UNSIGNED, *FLOATING, *COMPLEX)
QUICK_PAIRS = {
    ("float32", "float64"),
    ("float64", "float32"),
    ("int32", "float32"),
    ("float32", "int32"),
    ("int64", "float64"),
    ("float64", "int64"),
}
LARGE_PAIRS = QUICK_PAIRS | {
    ("uint8", "float32"),
    ("float32", "uint8"),
    ("int8", "int64"),
    ("int64", "int8"),
    ("int16", "float32"),
    ("bool", "float32"),
    ("float32", "bool"),
    ("float64", "complex128"),
    ("int64", "int32"),
    ("int32", "int64"),
}


def cast(source: str, target: str, n: int, tier: int) -> Case:
    """Return the case of one conversion."""
    return Case(
        "casts",
        f"{source} to {target}",
        f"xp.astype(x, xp.{target})",
        {"x": Operand((n,), source)},
        reads=n * itemsize(source),
        writes=n * itemsize(target),
        spelled=torch(f"x.to(xp.{target})"),
        tier=tier,
    )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield every pair of dtypes in cache, the common ones beyond it, and mixed arithmetic."""
    for source in DTYPES:
        for target in DTYPES:
            # The standard has no conversion from complex to real.
            if source == target or (source in COMPLEX and target not in COMPLEX):
                continue
            common = (source, target) in LARGE_PAIRS
            yield cast(source, target, 16 * scale.cached, USUAL)
            quick = QUICK if (source, target) in QUICK_PAIRS else USUAL
            yield cast(source, target, scale.large, quick if common else FULL)
    for left, right in (("float32", "float64"), ("float64", "int32"), ("int8", "int64")):
        for n in (4 * scale.cached, scale.large):
            yield Case(
                "casts",
                f"{left} + {right}",
                "x + y",
                {"x": Operand((n,), left), "y": Operand((n,), right)},
                reads=n * (itemsize(left) + itemsize(right)),
                writes=n * 8,
                rounding=1,
            )
