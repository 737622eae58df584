"""Factorisations, solutions, norms: one matrix of several sizes, and batches of small ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

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
    itemsize,
    side,
)


@dataclass(frozen=True)
class Row:
    """One function: its statement, and what of the result is unique enough to be compared."""

    statement: str
    compared: str = "r"
    spelled: dict[str, str] = field(default_factory=dict)


MATRIX = {
    "cholesky": Row("xp.linalg.cholesky(x)"),
    "det": Row("xp.linalg.det(x)"),
    "eig": Row("xp.linalg.eigvals(x)", "xp.sum(r)"),
    "eigh": Row("xp.linalg.eigh(x)", "r[0]"),
    "eigvalsh": Row("xp.linalg.eigvalsh(x)"),
    "inv": Row("xp.linalg.inv(x)"),
    "qr": Row("xp.linalg.qr(x)", "r[0] @ r[1]"),
    "slogdet": Row("xp.linalg.slogdet(x)"),
    "solve": Row("xp.linalg.solve(x, y)"),
    "svd": Row("xp.linalg.svd(x)", "r[1]"),
    "svdvals": Row("xp.linalg.svdvals(x)", spelled={"CuPy": "xp.linalg.svd(x, compute_uv=False)"}),
    "pinv": Row("xp.linalg.pinv(x)"),
    "matrix_norm": Row(
        "xp.linalg.matrix_norm(x)", spelled={"CuPy": "xp.linalg.norm(x, axis=(-2, -1))"}
    ),
    "matrix_norm, ord=2": Row("xp.linalg.matrix_norm(x, ord=2)"),
    "matrix_power": Row("xp.linalg.matrix_power(x, 5)"),
    "matrix_rank": Row("xp.linalg.matrix_rank(x)"),
    "trace": Row(
        "xp.linalg.trace(x)",
        spelled={
            "PyTorch": "xp.diagonal(x, 0, -2, -1).sum(-1)",
            "CuPy": "xp.trace(x, axis1=-2, axis2=-1)",
        },
    ),
}
QUICK_ROWS = ("cholesky", "inv", "solve", "eigvalsh", "svdvals", "qr")
SIDES = (4, 64, 512, 2048)
# Those timed beyond a side of 512, which not all of the libraries do in seconds.
LARGE_ROWS = ("cholesky", "inv", "solve", "slogdet", "eigvalsh", "qr")
BATCHES = ((1000, 4), (100, 32))
# More of them, for what the smallest ones are used for.
MANY: tuple[Shape, ...] = ((100_000, 3, 3), (1000, 32, 32))
MANY_ROWS = ("det", "inv", "solve")


def cases(scale: Scale) -> Iterator[Case]:
    """Yield functions of matrices and of vectors."""
    # A matrix takes about n times as long as as many elements elsewhere.
    shapes: list[Shape] = [(n, n) for n in SIDES if 16 * n * n <= scale.large]
    shapes += [(batch, n, n) for batch, n in BATCHES if batch * n * n <= scale.large]
    many = [shape for shape in MANY if math.prod(shape) <= scale.large]
    for shape in shapes + many:
        for dtype in (*FLOATING, *COMPLEX):
            operands = {
                "x": Operand(shape, dtype, "dominant"),
                "y": Operand((*shape[:-1], 3), dtype),
            }
            for name, row in MATRIX.items():
                if name == "det" and shape[-1] > 4:
                    continue  # beyond float32's range
                if shape[-1] > 512 and name not in LARGE_ROWS:
                    continue
                if shape in many and name not in MANY_ROWS:
                    continue
                quick = name in QUICK_ROWS and dtype == "float64" and shape[-1] in (4, 64)
                yield Case(
                    "linalg",
                    name,
                    row.statement,
                    operands,
                    compared=row.compared,
                    # Well-conditioned matrices, but LAPACK's constants grow with the side.
                    rounding=64 * shape[-1],
                    spelled=row.spelled,
                    tier=QUICK if quick else USUAL if dtype == "float64" else FULL,
                )
    for dtype in (*FLOATING, *COMPLEX):
        rows = side(scale.large)
        yield Case(
            "linalg",
            "vector_norm, axis=0",
            "xp.linalg.vector_norm(x, axis=0)",
            {"x": Operand((rows, rows), dtype)},
            reads=rows * rows * itemsize(dtype),
            rounding=64 + rows**0.5,
            spelled={"CuPy": "xp.linalg.norm(x, axis=0)"},
            tier=FULL,
        )
    for dtype in FLOATING:
        n = scale.large
        for operation, statement in {
            "vector_norm": "xp.linalg.vector_norm(x)",
            "vector_norm, ord=1": "xp.linalg.vector_norm(x, ord=1)",
        }.items():
            yield Case(
                "linalg",
                operation,
                statement,
                {"x": Operand((n,), dtype)},
                reads=n * itemsize(dtype),
                rounding=64 + n**0.5,
                spelled={"CuPy": statement.replace("vector_norm", "norm")},
            )
        rows = scale.medium // 4
        yield Case(
            "linalg",
            "cross",
            "xp.linalg.cross(x, y)",
            {"x": Operand((rows, 3), dtype), "y": Operand((rows, 3), dtype, high=1.6)},
        )
        length = min(2048, scale.medium)
        yield Case(
            "linalg",
            "outer",
            "xp.linalg.outer(x, y)",
            {"x": Operand((length,), dtype), "y": Operand((length,), dtype, high=1.6)},
            spelled=dict.fromkeys(("PyTorch", "CuPy"), "xp.outer(x, y)"),
        )
