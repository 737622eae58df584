"""Copies that compact: permutations of every rank from 2 to 4, steps, reversals, broadcasts.

The statement reshapes a view to one dimension, which all libraries can only do by copying.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from ..cases import FULL, MEBI, QUICK, USUAL, WIDTHS, Case, Operand, Scale, itemsize, side

# Permutations that usual runs time for every width; all of them are timed for 4-byte elements.
COMMON = {
    (1, 0),
    (2, 1, 0),
    (1, 2, 0),
    (0, 2, 1),
    (0, 2, 3, 1),
    (0, 3, 1, 2),
    (3, 2, 1, 0),
    (0, 2, 1, 3),
}


def shapes(elements: int, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return an even shape, a power of two where the elements are one, and an odd one."""
    length = side(elements, rank)
    odd = tuple(length - 1 + 2 * (i - rank // 2) + (length % 2) for i in range(rank))
    return (length,) * rank, tuple(max(3, n) for n in odd)


def permutations(scale: Scale) -> Iterator[Case]:
    """Yield the copies of permuted arrays of about 64 MiB."""
    for dtype in WIDTHS:
        elements = min(scale.large, 64 * MEBI // itemsize(dtype))
        for rank in (2, 3, 4):
            for shape in shapes(elements, rank):
                for axes in itertools.permutations(range(rank)):
                    if axes == tuple(range(rank)):
                        continue
                    odd = len(set(shape)) > 1
                    tier = FULL
                    if dtype == "float32" or (axes in COMMON and not odd):
                        tier = USUAL
                    if dtype == "float32" and axes in COMMON and not odd:
                        tier = QUICK
                    size = math.prod(shape) * itemsize(dtype)
                    yield Case(
                        "copies",
                        f"permuted {axes}",
                        "xp.reshape(v, (-1,))",
                        {"x": Operand(shape, dtype)},
                        views={"v": f"xp.permute_dims(x, {axes})"},
                        reads=size,
                        writes=size,
                        tier=tier,
                    )


# Operation: view, and what is read and written per element of x.
VIEWS: dict[str, tuple[str, float, float]] = {
    "x": ("x", 1, 1),
    "x[::2]": ("x[::2]", 0.5, 0.5),
    "x[:, ::2]": ("x[:, ::2]", 1, 0.5),
    "x[:, ::3]": ("x[:, ::3]", 1, 1 / 3),
    "x[::-1]": ("x[::-1]", 1, 1),
    "x[:, ::-1]": ("x[:, ::-1]", 1, 1),
    "x[::-1, ::-1]": ("x[::-1, ::-1]", 1, 1),
    "x[:, 1:-1]": ("x[:, 1:-1]", 1, 1),
    "x.T[::-1]": ("x.T[::-1]", 1, 1),
    "x[::2, ::2].T": ("x[::2, ::2].T", 0.5, 0.25),
    "broadcast row": ("xp.broadcast_to(x[:1, :], x.shape)", 0, 1),
    "broadcast column": ("xp.broadcast_to(x[:, :1], x.shape)", 0, 1),
}
# Those whose elements are evenly spaced: reshape would only view them.
EVEN = {"x", "x[:, ::2]", "x[::-1, ::-1]"}


def cases(scale: Scale) -> Iterator[Case]:
    """Yield permutations and other views."""
    yield from permutations(scale)
    for dtype in WIDTHS:
        length = side(min(scale.large, 64 * MEBI // itemsize(dtype)))
        size = length * length * itemsize(dtype)
        for operation, (view, reads, writes) in VIEWS.items():
            yield Case(
                "copies",
                f"copy of {operation}",
                "xp.asarray(v, copy=True)" if operation in EVEN else "xp.reshape(v, (-1,))",
                {"x": Operand((length, length), dtype)},
                views={"v": view},
                reads=int(reads * size),
                writes=int(writes * size),
                tier=USUAL if dtype in ("float32", "complex128", "int8") else FULL,
            )
    yield Case(
        "copies",
        "copy of x[:, 1:-1, :3]",
        "xp.reshape(v, (-1,))",
        {"x": Operand((scale.medium // 64, 4, 16), "float32")},
        views={"v": "x[:, 1:-1, :3]"},
    )
    size = scale.large * 4
    for view in ("x[::-1]", "x[:, ::-1]"):
        yield Case(
            "copies",
            f"copy of {view}",
            "xp.reshape(v, (-1,))",
            {"x": Operand((scale.large // 256, 256), "float32")},
            views={"v": view},
            reads=size,
            writes=size,
        )
    for dtype in WIDTHS:
        for n in (8, 16):
            size = min(scale.large * itemsize(dtype), 64 * MEBI)
            count = size // (n * n * itemsize(dtype))
            yield Case(
                "copies",
                "copy of x.mT",
                "xp.reshape(v, (-1,))",
                {"x": Operand((max(count, 1), n, n), dtype)},
                views={"v": "x.mT"},
                reads=size,
                writes=size,
                tier=USUAL if dtype in ("float32", "int8") else FULL,
            )
    for n in (64, 256, 1024):
        if n * n <= scale.large:
            for dtype in WIDTHS:
                yield Case(
                    "copies",
                    "permuted (1, 0)",
                    "xp.reshape(v, (-1,))",
                    {"x": Operand((n, n), dtype)},
                    views={"v": "xp.permute_dims(x, (1, 0))"},
                )
