"""Matrix products: square, skinny, of transposed views, batches of small ones, integers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..cases import (
    COMPLEX,
    FLOATING,
    FULL,
    QUICK,
    USUAL,
    Case,
    Operand,
    Scale,
    Shape,
    torch,
)

SIDES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
# (rows, inner, columns)
SKINNY = (
    (4096, 16, 4096),
    (16, 4096, 16),
    (4096, 4096, 4),
    (4, 4096, 4096),
    (100000, 8, 8),
    (8, 100000, 8),
)
# Observations and what is known of each: products of the transposed matrix.
TALL = ((20000, 100), (100000, 20), (4096, 500))
BATCHES = ((10000, 2), (10000, 3), (1000, 4), (1000, 8), (1000, 16), (256, 32), (100, 64))


def product(
    operation: str,
    left: Shape,
    right: Shape,
    dtype: str,
    statement: str = "x @ y",
    tier: int = USUAL,
    spelled: dict[str, str] | None = None,
) -> Case:
    """Return the case of one product."""
    return Case(
        "matmul",
        operation,
        statement,
        {"x": Operand(left, dtype), "y": Operand(right, dtype)},
        # The bound of a sum of so many products.
        rounding=64 + 4 * math.sqrt(math.prod(left)),
        spelled=spelled or {},
        tier=tier,
        detail=f"{dtype}[{'×'.join(map(str, left))}] @ [{'×'.join(map(str, right))}]",
    )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield products of matrices, vectors and batches."""
    limit = max(4, math.isqrt(scale.large))
    for n in SIDES:
        if n > limit:
            continue
        for dtype in (*FLOATING, *COMPLEX):
            usual = USUAL if dtype in FLOATING or n in (64, 512) else FULL
            quick = dtype in FLOATING and n in (64, 1024)
            yield product("square", (n, n), (n, n), dtype, tier=QUICK if quick else usual)
    for dtype in FLOATING:
        for shape in SKINNY:
            rows, inner, columns = (min(k, scale.large) for k in shape)
            if max(rows * inner, inner * columns, rows * columns) <= scale.large:
                yield product("skinny", (rows, inner), (inner, columns), dtype)
        for rows, columns in TALL:
            shape = (min(rows, scale.large // columns), columns)
            for statement in ("x.mT @ x", "x.mT @ y"):
                yield product(f"tall, {statement}", shape, shape, dtype, statement)
        n = min(1024, limit)
        for statement in ("x.T @ y", "x @ y.T", "x.T @ y.T", "x @ x.T", "x.mT @ x"):
            tier = QUICK if statement == "x @ y.T" else USUAL
            yield product(statement, (n, n), (n, n), dtype, statement, tier)
        yield product("x[::2] @ y[:, ::2]", (n, n), (n, n), dtype, "x[::2] @ y[:, ::2]")
        # Neither dimension is contiguous: BLAS cannot take it by flags.
        yield product(
            "x[:, ::2] @ y[::2]",
            (n, n),
            (n, n),
            dtype,
            "x[:, ::2] @ y[::2]",
        )
        for side in (256, 4096):
            if side <= limit:
                yield product("matrix @ vector", (side, side), (side,), dtype)
                yield product("vector @ matrix", (side,), (side, side), dtype)
                yield product("matrix.T @ vector", (side, side), (side,), dtype, "x.T @ y")
        for length in (1000, scale.medium):
            dot = torch("xp.linalg.vecdot(x, y)")
            yield product("vector @ vector", (length,), (length,), dtype)
            yield product("vecdot", (length,), (length,), dtype, "xp.vecdot(x, y)", spelled=dot)
        for batch, side in BATCHES:
            if batch * side * side <= scale.large:
                tier = QUICK if side in (4, 16) else USUAL
                shape = (batch, side, side)
                yield product("batch", shape, shape, dtype, tier=tier)
                if side in (4, 16):
                    yield product("batch by one", shape, (side, side), dtype)
                    yield product("batch by vectors", shape, (side, 1), dtype)
                    yield product("batch, x.mT @ y", shape, shape, dtype, "x.mT @ y")
        n = min(128, limit)
        yield product(
            "tensordot",
            (n, n, 16),
            (16, n, 8),
            dtype,
            "xp.tensordot(x, y, axes=((1, 2), (1, 0)))",
            spelled=torch("xp.tensordot(x, y, dims=((1, 2), (1, 0)))"),
        )
    for dtype in ("int8", "int16", "int32", "int64", "uint8"):
        for n in (16, 128, 512):
            if n <= limit:
                usual = USUAL if dtype in ("int32", "int64") else FULL
                quick = dtype == "int64" and n == 512
                yield product("square", (n, n), (n, n), dtype, tier=QUICK if quick else usual)
    for dtype in ("int64",):
        yield product("batch", (1000, 4, 4), (1000, 4, 4), dtype)
