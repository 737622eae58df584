"""sort and argsort, stable and not, unique, isin and searchsorted."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FLOATING, FULL, KIBI, MEBI, QUICK, USUAL, Case, Operand, Scale, Shape, side

DTYPES = (
    *("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64"),
    *("bool", "complex64", "complex128"),
)
# Those timed at every size in usual runs.
COMMON = ("float32", "float64", "int32", "int64")
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


def cases(scale: Scale) -> Iterator[Case]:
    """Yield sorts, sets and searches."""
    yield from sorts(scale)
    sorted_result = "xp.sort(r)"
    for dtype in (*FLOATING, "int32", "int64", "int8"):
        for n in (scale.cached, scale.medium):
            for values in ("spread", "few"):
                operand = Operand((n,), dtype, values)
                kind = " of few values" if values == "few" else ""
                tier = QUICK if dtype == "int64" and n == scale.medium else USUAL
                yield Case(
                    "sorting",
                    f"unique_values{kind}",
                    "xp.unique_values(x)",
                    {"x": operand},
                    # The standard leaves the order open, and NumPy uses that.
                    compared=sorted_result,
                    spelled={
                        "PyTorch": "xp.unique(x, sorted=False)",
                        "PyTorch compared": "xp.sort(r)[0]",
                    },
                    tier=tier,
                )
                yield Case(
                    "sorting",
                    f"unique_counts{kind}",
                    "xp.unique_counts(x)",
                    {"x": operand},
                    spelled={"PyTorch": "xp.unique(x, return_counts=True)"},
                    tier=USUAL if dtype in ("float64", "int64") else FULL,
                )
                yield Case(
                    "sorting",
                    f"unique_inverse{kind}",
                    "xp.unique_inverse(x)",
                    {"x": operand},
                    spelled={"PyTorch": "xp.unique(x, return_inverse=True)"},
                    tier=USUAL if dtype in ("float64", "int64") else FULL,
                )
                yield Case(
                    "sorting",
                    f"unique_all{kind}",
                    "xp.unique_all(x)",
                    {"x": operand},
                    tier=USUAL if dtype == "float64" else FULL,
                )
        among = Operand((1000,), dtype, "spread")
        yield Case(
            "sorting",
            "isin of 1000 values",
            "xp.isin(x, y)",
            {"x": Operand((scale.medium,), dtype, "spread"), "y": among},
        )
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
