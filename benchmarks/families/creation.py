"""Arrays made from nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FLOATING, QUICK, USUAL, Case, Operand, Scale, counted, itemsize, side, torch


def cases(scale: Scale) -> Iterator[Case]:
    """Yield fills, ranges, identities and triangles."""
    for n in (scale.cached, scale.medium, scale.large):
        for dtype in ("int8", *FLOATING):
            kind = f"dtype=xp.{dtype}"
            length = side(n)
            operations = {
                "full": f"xp.full(({n},), 3, {kind})",
                "zeros": f"xp.zeros(({n},), {kind})",
                "ones": f"xp.ones(({n},), {kind})",
                "eye": f"xp.eye({length}, {kind})",
            }
            if dtype != "int8":
                operations["arange"] = f"xp.arange({n}, {kind})"
                operations["linspace"] = f"xp.linspace(0.0, 1.0, {n}, {kind})"
            if n == scale.large:
                # The pages of large zeros are made when they are written to.
                yield Case(
                    "creation",
                    "zeros, written to",
                    f"xp.zeros(({n},), {kind}).__iadd__(1)",
                    {"_": Operand((0,), dtype)},
                    reads=n * itemsize(dtype),
                    writes=2 * n * itemsize(dtype),
                    detail=f"{dtype}[{counted(n)}]",
                    made=n,
                )
            for operation, statement in operations.items():
                yield Case(
                    "creation",
                    operation,
                    statement,
                    # Nothing is read; the operand names the case.
                    {"_": Operand((0,), dtype)},
                    writes=0 if operation == "zeros" and n == scale.large else n * itemsize(dtype),
                    detail=f"{dtype}[{counted(n)}]",
                    made=n,
                    tier=QUICK if operation == "full" and n == scale.large else USUAL,
                    # Ends of float32 ranges: n steps of rounded size.
                    rounding=64,
                )
    for dtype in FLOATING:
        length = side(scale.large)
        size = length * length * itemsize(dtype)
        for operation, statement in {"tril": "xp.tril(x)", "triu": "xp.triu(x, k=1)"}.items():
            yield Case(
                "creation",
                operation,
                statement,
                {"x": Operand((length, length), dtype)},
                reads=size // 2,
                writes=size,
                spelled=torch(statement.replace("k=", "diagonal=")),
            )
        # Grids that can be written to, as NumPy's; PyTorch's repeat one row or column.
        yield Case(
            "creation",
            "meshgrid",
            "xp.meshgrid(x, y, indexing='ij')",
            {"x": Operand((length,), dtype), "y": Operand((length,), dtype, high=2.0)},
            writes=2 * size,
            spelled=torch("[g.contiguous() for g in xp.meshgrid(x, y, indexing='ij')]"),
        )
