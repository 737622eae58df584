"""Fourier transforms: powers of two, mixed and prime lengths, batches, several dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..cases import (
    COMPLEX,
    FLOATING,
    FULL,
    KIBI,
    MEBI,
    QUICK,
    USUAL,
    Case,
    Operand,
    Scale,
    Shape,
    torch,
)

LENGTHS = (
    16,
    64,
    256,
    KIBI,
    4 * KIBI,
    16 * KIBI,
    128 * KIBI,
    MEBI,
    1000,  # 2³ 5³
    1009,  # prime
    10**6,  # 2⁶ 5⁶
    3 * 256 * KIBI,
    1000003,  # prime
    4 * MEBI,
)


def transform(function: str, shape: Shape, dtype: str, along: str = "", tier: int = USUAL) -> Case:
    """Return the case of one transform; `along` is the axis or the axes, as arguments."""
    along = along and f", {along}"
    statement = f"xp.fft.{function}(x{along})"
    return Case(
        "fft",
        f"{function}{along}",
        statement,
        {"x": Operand(shape, dtype, "spread")},
        rounding=64 * max(1.0, math.log2(math.prod(shape))),
        spelled=torch(statement.replace("axis=", "dim=").replace("axes=", "dim=")),
        tier=tier,
    )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield transforms of lines, batches, squares and cubes."""
    for n in scale.upto(*LENGTHS):
        for dtype in COMPLEX:
            quick = n in (KIBI, MEBI) and dtype == "complex128"
            yield transform("fft", (n,), dtype, tier=QUICK if quick else USUAL)
            yield transform("ifft", (n,), dtype, tier=USUAL if n in (KIBI, MEBI) else FULL)
            yield transform("irfft", (n,), dtype, tier=USUAL if n in (KIBI, MEBI) else FULL)
        for dtype in FLOATING:
            yield transform("rfft", (n,), dtype)
    batch = (max(2, scale.large // 4096), 1024)
    for dtype in COMPLEX:
        for axis in (0, 1):
            quick = dtype == "complex64" and axis == 1
            yield transform("fft", batch, dtype, f"axis={axis}", QUICK if quick else USUAL)
    for dtype in FLOATING:
        for axis in (0, 1):
            yield transform("rfft", batch, dtype, f"axis={axis}", FULL if axis == 0 else USUAL)
    square, cube = round(scale.medium ** (1 / 2)), round(scale.medium ** (1 / 3))
    for dtype in COMPLEX:
        yield transform("fftn", (square,) * 2, dtype)
        yield transform("fftn", (cube,) * 3, dtype)
        yield transform("ifftn", (cube,) * 3, dtype, tier=FULL)
        yield transform("fft", (cube,) * 3, dtype, "axis=1")
        yield transform("fftn", (cube,) * 3, dtype, "axes=(1, 2)")
    # Real numbers, of which all frequencies are wanted.
    for dtype in FLOATING:
        yield transform("fft", (scale.medium,), dtype)
        yield transform("fft", batch, dtype, "axis=1")
        yield transform("fftn", (square,) * 2, dtype)
    for dtype in FLOATING:
        yield transform("rfftn", (cube,) * 3, dtype)
        yield transform("rfftn", (square,) * 2, dtype)
        yield transform("rfftn", (cube,) * 3, dtype, "axes=(1, 2)", FULL)
    yield transform("irfftn", (square,) * 2, "complex128")
