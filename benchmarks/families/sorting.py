"""sort and argsort, stable and not, unique, isin and searchsorted."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import (
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
    side,
    torch,
)

DTYPES = (
    *("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64"),
    *("bool", "complex64", "complex128"),
)
# Those timed at every size in usual runs.
COMMON = ("float32", "float64", "int32", "int64")
# Functions of distinct elements: what of a result is compared, and PyTorch's words.
UNIQUE: dict[str, tuple[str, dict[str, str]]] = {
    "unique_values": (
        # The standard leaves the order open, and NumPy uses that.
        "xp.sort(r)",
        {"PyTorch": "xp.unique(x, sorted=False)", "PyTorch compared": "xp.sort(r)[0]"},
    ),
    "unique_counts": ("r", torch("xp.unique(x, return_counts=True)")),
    "unique_inverse": ("r", torch("xp.unique(x, return_inverse=True)")),
    "unique_all": ("r", {}),
}
SIZES = (64, KIBI, 16 * KIBI, 128 * KIBI, MEBI, 4 * MEBI)


def order(
    function: str,
    operand: Operand,
    *,
    axis: int = -1,
    stable: bool = True,
    tier: int = USUAL,
) -> Case:
    """Return the case of one sort or argsort."""
    values = {"spread": "", "few": " of few values", "ascending": " of sorted values"}
    along = f", axis={axis}" if len(operand.shape) > 1 else ""
    call = f"xp.{function}(x, axis={axis}, stable={stable})"
    return Case(
        "sorting",
        f"{function}{along}{values[operand.values]}{'' if stable else ', stable=False'}",
        call,
        {"x": operand},
        # Equal elements may come in any order then: the values they point to are compared.
        compared="r" if stable or function == "sort" else f"xp.take_along_axis(x, r, axis={axis})",
        spelled={"PyTorch": f"{call}[0]" if function == "sort" else call},
        tier=tier,
    )


def sorts(scale: Scale) -> Iterator[Case]:
    """Yield sorts of all dtypes and sizes, of particular values, and along axes."""
    for function in ("sort", "argsort"):
        for n in scale.upto(*SIZES):
            for dtype in DTYPES:
                usual = USUAL if dtype in COMMON or n == MEBI else FULL
                quick = dtype in ("float64", "int64") and n in (16 * KIBI, MEBI)
                yield order(
                    function, Operand((n,), dtype, "spread"), tier=QUICK if quick else usual
                )
        for dtype in COMMON:
            for values in ("few", "ascending"):
                yield order(function, Operand((scale.medium,), dtype, values))
            yield order(function, Operand((scale.medium,), dtype, "spread"), stable=False)
        n = 4 * scale.medium
        shapes: tuple[Shape, ...] = ((n // 16, 16), (16, n // 16), (n // 1024, 1024))
        for dtype in COMMON:
            for shape in shapes:
                for axis in (0, 1):
                    tier = USUAL if dtype in ("float32", "int64") else FULL
                    yield order(function, Operand(shape, dtype, "spread"), axis=axis, tier=tier)
            for length in sorted({min(n, 3000), min(n, 16384)}):
                lines = Operand((n // length, length), dtype, "spread")
                yield order(function, lines, tier=USUAL if dtype == "float32" else FULL)
        for dtype in ("float32", "int64", "int8"):  # a few short lines
            for shape, axis in (((4, 55), 0), ((55, 4), 1), ((16, 30), 0)):
                yield order(function, Operand(shape, dtype, "spread"), axis=axis)
        for length in sorted({min(n, 128), min(n, 1024)}):
            yield order(function, Operand((n // length, length), "int8", "spread"), tier=FULL)
    yield order("sort", Operand((scale.large,), "float32", "spread"), tier=FULL)


def distinct(function: str, operand: Operand, tier: int) -> Case:
    """Return the case of one of the functions of distinct elements."""
    compared, spelled = UNIQUE[function]
    return Case(
        "sorting",
        f"{function}{' of few values' if operand.values == 'few' else ''}",
        f"xp.{function}(x)",
        {"x": operand},
        compared=compared,
        spelled=spelled,
        tier=tier,
    )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield sorts, sets and searches."""
    yield from sorts(scale)
    for dtype in (*FLOATING, "int32", "int64", "int8"):
        for n in (scale.cached, scale.medium):
            for values in ("spread", "few"):
                operand = Operand((n,), dtype, values)
                tier = QUICK if dtype == "int64" and n == scale.medium else USUAL
                yield distinct("unique_values", operand, tier)
                tier = USUAL if dtype in ("float64", "int64") else FULL
                yield distinct("unique_counts", operand, tier)
                yield distinct("unique_inverse", operand, tier)
                yield distinct("unique_all", operand, USUAL if dtype == "float64" else FULL)
        among = Operand((1000,), dtype, "spread")
        yield Case(
            "sorting",
            "isin of 1000 values",
            "xp.isin(x, y)",
            {"x": Operand((scale.medium,), dtype, "spread"), "y": among},
        )
    # Many, and bytes, which a GPU counts.
    for function, dtype, n in (
        ("unique_values", "float32", scale.large),
        ("unique_values", "uint8", scale.large // 4),
        ("unique_inverse", "uint8", scale.large // 4),
    ):
        yield distinct(function, Operand((n,), dtype, "spread"), FULL)
    few = {
        "x": Operand((scale.medium,), "int64", "few"),
        "y": Operand((1000,), "int64", "below", high=100),
    }
    yield Case("sorting", "isin of 1000 small values", "xp.isin(x, y)", few)
    for x in ("x", "x[:, ::3]"):
        yield Case(
            "sorting",
            f"isin of 10 values, {x}",
            "xp.isin(u, y)",
            {
                "x": Operand((side(scale.medium),) * 2, "float32", "few"),
                "y": Operand((10,), "float32", "ascending"),
            },
            views={"u": x},
        )
    for dtype in (*FLOATING, "int64", "complex64"):
        few = (100, scale.medium)
        for n, sought in (few, (scale.cached, scale.medium), (scale.medium, scale.medium)):
            for values in ("spread", "ascending"):
                yield Case(
                    "sorting",
                    f"searchsorted of {'sorted' if values == 'ascending' else 'any'} values",
                    "xp.searchsorted(x, y)",
                    {
                        "x": Operand((n,), dtype, "ascending"),
                        "y": Operand((sought,), dtype, values, high=1.25),
                    },
                    tier=QUICK if dtype == "float64" and n == scale.medium else USUAL,
                )
