"""Gathers, masks, nonzero, where and assignments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from ..cases import (
    FLOATING,
    FULL,
    QUICK,
    USUAL,
    WIDTHS,
    Case,
    Operand,
    Scale,
    itemsize,
    side,
)

DENSITIES = (0.01, 0.5, 0.99)


def gathers(scale: Scale) -> Iterator[Case]:
    """Yield take, take_along_axis and integer arrays as indices."""
    for n in (scale.cached, scale.medium, scale.large):
        for dtype in WIDTHS:
            tier = USUAL if dtype in FLOATING else FULL
            operands = {
                "x": Operand((n,), dtype),
                "i": Operand((n,), "int64", "below", high=n),
            }
            quick = QUICK if n == scale.medium and dtype == "float64" else tier
            yield Case(
                "indexing",
                "take",
                "xp.take(x, i, axis=0)",
                operands,
                spelled={"PyTorch": "xp.index_select(x, 0, i)"},
                tier=quick,
            )
            yield Case("indexing", "x[i]", "x[i]", operands, tier=quick)
    for dtype in FLOATING:
        yield Case(
            "indexing",
            "x[i] from either end",
            "x[i]",
            {
                "x": Operand((scale.medium,), dtype),
                "i": Operand((scale.medium,), "int64", "either", high=scale.medium),
            },
        )
        for shape, axes in (
            ((side(scale.large),) * 2, (0, 1)),
            ((scale.large // 16, 16), (0, 1)),
            ((scale.medium // 4, 3), (0,)),
            ((scale.medium // 16, 16), (0,)),
        ):
            for axis in axes:
                operands = {
                    "x": Operand(shape, dtype),
                    "i": Operand((shape[axis],), "int64", "below", high=shape[axis]),
                }
                size = 2 * itemsize(dtype) * shape[0] * shape[1]
                yield Case(
                    "indexing",
                    f"take, axis={axis}",
                    f"xp.take(x, i, axis={axis})",
                    operands,
                    reads=size // 2,
                    writes=size // 2,
                    spelled={"PyTorch": f"xp.index_select(x, {axis}, i)"},
                )
        middle = itertools.product((scale.medium, scale.large), (5, 12), (32,))
        for n, picks, run in (*middle, (scale.medium, 5, 100)):
            rows = max(1, n // (16 * run))
            size = 2 * itemsize(dtype) * rows * picks * run
            yield Case(
                "indexing",
                f"take of {picks}, axis=1",
                "xp.take(x, i, axis=1)",
                {
                    "x": Operand((rows, 16, run), dtype),
                    "i": Operand((picks,), "int64", "below", high=16),
                },
                reads=size // 2,
                writes=size // 2,
                spelled={"PyTorch": "xp.index_select(x, 1, i)"},
            )
        for axis in (0, 1):
            shape = (side(4 * scale.medium),) * 2
            yield Case(
                "indexing",
                f"take_along_axis, axis={axis}",
                f"xp.take_along_axis(x, i, axis={axis})",
                {
                    "x": Operand(shape, dtype),
                    "i": Operand(shape, "int64", "below", high=shape[axis]),
                },
                tier=QUICK if dtype == "float64" else USUAL,
            )


def masks(scale: Scale) -> Iterator[Case]:
    """Yield selections by masks, and the positions of what is true."""
    for n in (scale.cached, scale.medium, scale.large):
        for density in DENSITIES:
            chosen = Operand((n,), "bool", "mask", high=density)
            for dtype in WIDTHS:
                usual = dtype in FLOATING and (density == 0.5 or n != scale.medium)
                yield Case(
                    "indexing",
                    f"x[mask of {density:.0%}]",
                    "x[m]",
                    {"x": Operand((n,), dtype), "m": chosen},
                    reads=int(n * (1 + itemsize(dtype))),
                    writes=int(n * itemsize(dtype) * density),
                    tier=QUICK
                    if usual and density == 0.5 and n == scale.large
                    else USUAL
                    if usual
                    else FULL,
                )
            yield Case(
                "indexing",
                f"nonzero of {density:.0%}",
                "xp.nonzero(m)",
                {"m": chosen},
                reads=n,
                writes=int(8 * n * density),
                spelled={"PyTorch": "xp.nonzero(m, as_tuple=True)"},
            )
    square = (side(scale.large),) * 2
    for dtype in FLOATING:
        yield Case(
            "indexing",
            "x[rows by mask]",
            "x[m]",
            {
                "x": Operand(square, dtype),
                "m": Operand(square[:1], "bool", "mask", high=0.5),
            },
        )
        for shape in (square, (scale.medium // 4, 5)):
            yield Case(
                "indexing",
                "x[:, mask of 50%]",
                "x[:, m]",
                {"x": Operand(shape, dtype), "m": Operand(shape[1:], "bool", "mask", high=0.5)},
            )
        yield Case(
            "indexing",
            "x[mask of 50%]",
            "x[m]",
            {"x": Operand(square, dtype), "m": Operand(square, "bool", "mask", high=0.5)},
        )
    for shape, density in ((square, 0.1), (square, 0.5), ((scale.large // 16, 3), 0.5)):
        yield Case(
            "indexing",
            f"nonzero of {density:.0%}",
            "xp.nonzero(m)",
            {"m": Operand(shape, "bool", "mask", high=density)},
            spelled={"PyTorch": "xp.nonzero(m, as_tuple=True)"},
        )


def wheres(scale: Scale) -> Iterator[Case]:
    """Yield where with scalars, rows and mixed dtypes."""
    square = (side(scale.large),) * 2
    for dtype in FLOATING:
        operands = {
            "x": Operand(square, dtype),
            "y": Operand(square, dtype, high=1.6),
            "c": Operand(square, "bool", "mask", high=0.5),
        }
        size = operands["x"].nbytes
        for operation, statement, reads in (
            ("where(c, x, y)", "xp.where(c, x, y)", 2),
            ("where(c, x, 0)", "xp.where(c, x, 0.0)", 1),
            ("where(c, x, row)", "xp.where(c, x, y[:1, :])", 1),
            ("where(c.T, x, y)", "xp.where(c.T, x, y)", 2),
        ):
            yield Case(
                "indexing",
                operation,
                statement,
                operands,
                reads=reads * size + operands["c"].nbytes,
                writes=size,
            )


def assignments(scale: Scale) -> Iterator[Case]:
    """Yield x[...] = y in its forms."""
    square = (side(scale.large),) * 2
    n = square[0]
    for dtype in ("float32", "float64", "int8"):
        size = n * n * itemsize(dtype)
        operands = {"x": Operand(square, dtype), "y": Operand(square, dtype, high=1.6)}
        for statement, reads, writes in (
            ("x[...] = 2", 0.0, 1.0),
            ("x[...] = y", 1.0, 1.0),
            ("x[...] = y.T", 1.0, 1.0),
            ("x[...] = y[:1, :]", 0.0, 1.0),
            ("x[::2] = y[::2]", 0.5, 0.5),
            ("x[:, ::2] = 2", 0.5, 1.0),
            ("x[:, 1:-1] = y[:, 2:]", 1.0, 1.0),
        ):
            yield Case(
                "indexing",
                statement,
                statement,
                operands,
                reads=int(reads * size),
                writes=int(writes * size),
                changes="x",
                tier=USUAL if dtype != "int8" else FULL,
            )
    length = scale.medium
    for dtype in FLOATING:
        operands = {
            "x": Operand((length,), dtype),
            "y": Operand((length,), dtype, high=1.6),
            "m": Operand((length,), "bool", "mask", high=0.5),
            "i": Operand((length // 2,), "int64", "below", high=length),
        }
        for statement in ("x[m] = 2", "x[m] = y[m]", "x[i] = 2"):
            yield Case("indexing", statement, statement, operands, changes="x")
    for dtype in ("float32", "float64", "int8"):
        for count, n in ((scale.medium // 2, scale.medium), (scale.huge // 16, scale.huge)):
            yield Case(
                "indexing",
                "x[i] = v",
                "x[i] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((count,), "int64", "places", high=n),
                    "v": Operand((count,), dtype, high=1.6),
                },
                changes="x",
            )
    for dtype in ("float32", "float64"):
        for shape in (
            (scale.large // 256, 256),
            (scale.large // 3, 3),
            (scale.medium // 4, 2),
            (scale.medium // 4, 8),
        ):
            yield Case(
                "indexing",
                "x[i] = v, rows",
                "x[i] = v",
                {
                    "x": Operand(shape, dtype),
                    "i": Operand(shape[:1], "int64", "places", high=shape[0]),
                    "v": Operand(shape, dtype, high=1.6),
                },
                changes="x",
                tier=USUAL if shape[1] == 256 else FULL,
            )
        for shape, count in (
            ((scale.large, 2), scale.large // 16),
            ((scale.large // 4, 3), scale.large // 64),
            ((scale.huge,), scale.huge // 64),
        ):
            yield Case(
                "indexing",
                "x[i] = v, few rows",
                "x[i] = v",
                {
                    "x": Operand(shape, dtype),
                    "i": Operand((count,), "int64", "places", high=shape[0]),
                    "v": Operand((count, *shape[1:]), dtype, high=1.6),
                },
                changes="x",
                tier=FULL,
            )
        for n in (2 * scale.medium, 4 * scale.medium):
            yield Case(
                "indexing",
                "x[i] = v, some places",
                "x[i] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((scale.medium,), "int64", "places", high=n),
                    "v": Operand((scale.medium,), dtype, high=1.6),
                },
                changes="x",
                tier=FULL,
            )
        for count, n in ((scale.medium, 4 * scale.medium), (scale.large // 4, scale.large)):
            yield Case(
                "indexing",
                "x[i] = v, in order",
                "x[i] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((count,), "int64", "places_in_order", high=n),
                    "v": Operand((count,), dtype, high=1.6),
                },
                changes="x",
                tier=FULL,
            )
        for n in (4 * scale.medium, 16 * scale.medium):
            yield Case(
                "indexing",
                "x[i] = v, a cluster",
                "x[i] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((scale.medium,), "int64", "below", high=scale.medium // 256),
                    # One value, so that the result is the same whichever is written last.
                    "v": Operand((scale.medium,), dtype, low=1, high=1),
                },
                changes="x",
                tier=FULL,
            )
        for n in (256, 8192):
            yield Case(
                "indexing",
                "x[i] = v, into few",
                "x[i] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((scale.medium // 2,), "int64", "below", high=n),
                    # One value, so that the result is the same whichever is written last.
                    "v": Operand((scale.medium // 2,), dtype, low=1, high=1),
                },
                changes="x",
                tier=FULL,
            )
        for n in (scale.medium, scale.large // 4):
            yield Case(
                "indexing",
                "x[i] = v, few places",
                "x[j] = v",
                {
                    "x": Operand((n,), dtype),
                    "i": Operand((scale.medium,), "int64", "below", high=16),
                    # One value, so that the result is the same whichever is written last.
                    "v": Operand((scale.medium,), dtype, low=1, high=1),
                },
                views={"j": f"i * {n // 16}"},
                changes="x",
                tier=FULL,
            )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield all kinds of indexing."""
    yield from gathers(scale)
    yield from masks(scale)
    yield from wheres(scale)
    yield from assignments(scale)
