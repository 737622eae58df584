"""Reductions, arg-reductions, deviations and scans, over each axis and pairs of axes.

Arrays are long, wide, square and 3-d, and views of those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..cases import FLOATING, FULL, QUICK, USUAL, Case, Operand, Scale, Shape, itemsize, side

Axes = int | tuple[int, ...] | None


def layouts(n: int) -> dict[str, tuple[Shape, list[Axes]]]:
    """Return the shapes of about so many elements, and the axes that are reduced."""
    length = side(n, 3)
    return {
        "long": ((n // 16, 16), [0, 1]),
        "wide": ((16, n // 16), [0, 1]),
        "square": ((side(n), side(n)), [0, 1, None]),
        "cube": ((length,) * 3, [0, 1, 2, (0, 1), (1, 2), (0, 2)]),
        "odd cube": (
            (length - 3, length + 1, length - 1) if length > 4 else (3, 5, 7),
            [0, 1, 2, (0, 2)],
        ),
        "line": ((n,), [None]),
    }


# Name: view of a square x, the part of its elements that is read, what is reduced.
VIEWS: dict[str, tuple[str, float, list[Axes]]] = {
    "x.T": ("x.T", 1, [0, 1]),
    "x[::2]": ("x[::2]", 0.5, [0, 1]),
    "x[:, ::2]": ("x[:, ::2]", 1, [0, 1]),
    "x[:, 1:-1]": ("x[:, 1:-1]", 1, [0, 1]),
    "x[::-1]": ("x[::-1]", 1, [0, 1]),
    "x[:, ::-1]": ("x[:, ::-1]", 1, [0, 1]),
    "broadcast row": ("xp.broadcast_to(x[:1, :], x.shape)", 0, [0, 1]),
}
CUBE_VIEWS: dict[str, tuple[str, float, list[Axes]]] = {
    "permuted (2, 0, 1)": ("xp.permute_dims(x, (2, 0, 1))", 1, [0, 1, 2, (0, 2)]),
    "permuted (1, 0, 2)": ("xp.permute_dims(x, (1, 0, 2))", 1, [0, 1, 2, (0, 1)]),
}


def reduced(shape: Shape, axes: Axes) -> int:
    """Return how many elements go into each result."""
    if axes is None:
        return math.prod(shape)
    return math.prod(shape[axis] for axis in ((axes,) if isinstance(axes, int) else axes))


def values_for(function: str, shape: Shape, dtype: str) -> Operand:
    """Return an operand on which a function cannot end early, and stays finite."""
    if dtype == "bool":
        return Operand(shape, dtype, "mask", high=0.0 if function == "any" else 2.0)
    if function in ("argmax", "argmin"):
        return Operand(shape, dtype, "spread")
    if "prod" in function:
        # Closer to 1 they would be few different float32, whose products round to one side.
        return Operand(shape, dtype, low=1 - 1e-3, high=1 + 1e-3)
    return Operand(shape, dtype)


def case(
    family: str,
    function: str,
    shape: Shape,
    dtype: str,
    axes: Axes,
    *,
    tier: int,
    label: str = "",
    view: str = "x",
    part: float = 1,
    writes: bool = False,
    reference: str | None = None,
    spelled: dict[str, str] | None = None,
) -> Case:
    """Return one case: a function with axis= over an array or a view of it."""
    size = math.prod(shape) * itemsize(dtype)
    axis = "" if axes is None else f", axis={axes}"
    operands = {"x": values_for(function, shape, dtype)}
    return Case(
        family,
        f"{function}{axis}{' of ' + label if label else ''}",
        f"xp.{function}(v{axis})",
        operands,
        views={"v": view},
        reads=int(part * size),
        writes=size if writes else 0,
        # NumPy takes rows one after another, and its error grows with their number; the roundings
        # of products do not cancel as well as those of sums.
        rounding=64 + (64 if "prod" in function else 16) * math.sqrt(reduced(shape, axes)),
        reference=reference,
        spelled=spelled or {},
        tier=tier,
    )


def torch_deviation(function: str, axes: Axes) -> dict[str, str]:
    """Return PyTorch's spelling of var and std, which correct unless told."""
    axis = "" if axes is None else f", axis={axes}"
    return {"PyTorch": f"xp.{function}(v{axis}, correction=0)"}


def over_layouts(
    family: str,
    function: str,
    dtype: str,
    n: int,
    tier: int,
    quick: bool = False,
    pairs: bool = True,
    whole: bool = True,
) -> Iterator[Case]:
    """Yield a function over every layout and axis, one axis at a time without pairs."""
    for label, (shape, choices) in layouts(n).items():
        for axes in choices:
            if (isinstance(axes, tuple) and not pairs) or (axes is None and not whole):
                continue
            deviates = function in ("var", "std")
            yield case(
                family,
                function,
                shape,
                dtype,
                axes,
                tier=QUICK if quick and label in ("long", "square") else tier,
                spelled=torch_deviation(function, axes) if deviates else None,
            )


def over_views(family: str, function: str, dtype: str, n: int, tier: int) -> Iterator[Case]:
    """Yield a function over views of a square and of a cube."""
    for views, rank in ((VIEWS, 2), (CUBE_VIEWS, 3)):
        for label, (view, part, choices) in views.items():
            for axes in choices:
                if isinstance(axes, tuple) and family == "argreductions":
                    continue
                if part == 0 and family == "deviations" and axes == 0:
                    continue  # of equal values: nothing but rounding would be compared
                yield case(
                    family,
                    function,
                    (side(n, rank),) * rank,
                    dtype,
                    axes,
                    tier=tier,
                    label=label,
                    view=view,
                    part=part,
                    spelled=(
                        torch_deviation(function, axes) if function in ("var", "std") else None
                    ),
                )


def over_pairs(function: str, dtype: str, n: int) -> Iterator[Case]:
    """Yield a function over pairs of a cube's axes that lie in another order, or apart."""
    for order, axes in (((1, 0, 2), (1, 2)), ((0, 2, 1), (1, 2)), ((2, 0, 1), (0, 1))):
        yield case(
            "reductions",
            function,
            (side(n, 3),) * 3,
            dtype,
            axes,
            tier=FULL,
            label=f"permuted {order}",
            view=f"xp.permute_dims(x, {order})",
        )


def reductions(scale: Scale) -> Iterator[Case]:
    """Yield sum, prod, max, min, mean, any, all and count_nonzero."""
    n = scale.large
    for dtype in FLOATING:
        yield from over_layouts("reductions", "sum", dtype, n, USUAL, quick=dtype == "float32")
        yield from over_views("reductions", "sum", dtype, n, USUAL if dtype == "float32" else FULL)
    for function in ("max", "mean", "min"):
        for dtype in FLOATING:
            usual = USUAL if dtype == "float32" and function != "min" else FULL
            yield from over_layouts("reductions", function, dtype, n, usual)
            yield from over_views("reductions", function, dtype, n, FULL)
    for dtype in ("int8", "int32", "int64"):
        for function in ("sum", "max"):
            tier = USUAL if function == "sum" and dtype == "int32" else FULL
            yield from over_layouts("reductions", function, dtype, n, tier)
    for function, dtypes in (
        ("max", ("int8", "int32", "int64", *FLOATING)),
        ("sum", FLOATING),
    ):
        for dtype in dtypes:
            yield from over_pairs(function, dtype, n)
    # Of which a block's tiles leave a part.
    yield case(
        "reductions",
        "sum",
        (max(1, n // 130**2), 130, 130),
        "float32",
        (1, 2),
        tier=FULL,
        label="permuted (0, 2, 1)",
        view="xp.permute_dims(x, (0, 2, 1))",
    )
    for function, dtypes in {
        "prod": (*FLOATING, "complex64"),
        "any": ("bool",),
        "all": ("bool",),
        "count_nonzero": ("bool", "float32"),
    }.items():
        for dtype in dtypes:
            shape = (side(n), side(n))
            for axes in (0, 1, None):
                yield case("reductions", function, shape, dtype, axes, tier=USUAL)
    for shape, dtype in (((100, 4096), "complex128"), ((2000, 54), "complex64")):
        yield case("reductions", "prod", shape, dtype, 1, tier=USUAL)
    wide = (side(4 * n), side(4 * n))  # whose rows are more than a kernel's columns
    yield case("reductions", "all", wide, "bool", 0, tier=USUAL)
    for size in (256, scale.cached, 16 * scale.cached, scale.medium, scale.large // 4):
        for function in ("sum", "max", "mean"):
            for dtype in (*FLOATING, "int64"):
                if dtype != "int64" or function != "mean":
                    yield case("reductions", function, (size,), dtype, None, tier=USUAL)
    # Several rows of so few columns are in a vector or a pack, which begins anywhere among them; a
    # round of twelve is no power of two of vectors, and more than eight.
    for columns in (3, 5, 12):
        for dtype in FLOATING:
            for axes in (0, 1):
                yield case("reductions", "sum", (n // 16, columns), dtype, axes, tier=USUAL)
    yield case("reductions", "max", (n // 16, 3), "float32", 1, tier=USUAL)
    for dtype in FLOATING:
        for function in ("sum", "max"):
            yield case("reductions", function, (4, n // 4), dtype, 0, tier=USUAL)
    for rows, columns in ((100, 3 * scale.cached), (1000, scale.cached)):
        for dtype in FLOATING:
            yield case("reductions", "sum", (rows, columns), dtype, 0, tier=FULL)
    for dtype in ("float16", "complex128"):
        yield case("reductions", "sum", (400, 3 * scale.cached), dtype, 0, tier=FULL)
    yield case("reductions", "sum", (n // 16, 5), "int8", 1, tier=USUAL)
    pixels = (n // 4, 3)
    for function, dtype in (("sum", "int8"), ("max", "int8"), ("max", "float32"), ("all", "bool")):
        for axes in (0, 1):
            yield case("reductions", function, pixels, dtype, axes, tier=USUAL)
    for function in ("sum", "max"):
        yield case(
            "reductions",
            function,
            (n // 16, 4),
            "float32",
            0,
            tier=USUAL,
            label="x[:, :3]",
            view="x[:, :3]",
        )
    square = (side(scale.cached), side(scale.cached))
    for axes in (0, 1):
        for dtype in FLOATING:
            yield case("reductions", "sum", square, dtype, axes, tier=USUAL)


def argreductions(scale: Scale) -> Iterator[Case]:
    """Yield argmax and argmin."""
    for dtype in ("float32", "float64", "int32", "int64", "int8"):
        for function in ("argmax", "argmin"):
            usual = USUAL if function == "argmax" and dtype in ("float32", "int64") else FULL
            yield from over_layouts(
                "argreductions",
                function,
                dtype,
                scale.large,
                usual,
                quick=usual == USUAL and dtype == "float32",
                pairs=False,
            )
    yield from over_views("argreductions", "argmax", "float32", scale.large, USUAL)
    for columns in (3, 5):
        few = (scale.large // 16, columns)
        yield case("argreductions", "argmax", few, "float32", 1, tier=USUAL)
    yield case("argreductions", "argmax", (scale.large // 64, 256), "int8", 1, tier=USUAL)
    for size in (scale.cached, scale.medium):
        for dtype in (*FLOATING, "int32", "int64"):
            yield case("argreductions", "argmax", (size,), dtype, None, tier=USUAL)


def deviations(scale: Scale) -> Iterator[Case]:
    """Yield var and std."""
    for dtype in FLOATING:
        tier = USUAL if dtype == "float32" else FULL
        yield from over_layouts("deviations", "var", dtype, scale.large, tier, quick=tier == USUAL)
        yield from over_layouts("deviations", "std", dtype, scale.large, FULL)
        for size in (scale.cached, scale.medium, scale.large // 4):
            for function in ("var", "std"):
                yield case(
                    "deviations",
                    function,
                    (size,),
                    dtype,
                    None,
                    tier=USUAL,
                    spelled=torch_deviation(function, None),
                )
    for columns, dtype in ((3, "float32"), (5, "float64")):
        few = (scale.large // 16, columns)
        yield case(
            "deviations", "var", few, dtype, 1, tier=USUAL, spelled=torch_deviation("var", 1)
        )
    yield from over_views("deviations", "var", "float32", scale.large, FULL)


def scans(scale: Scale) -> Iterator[Case]:
    """Yield cumulative sums and products, and differences."""
    for function in ("cumulative_sum", "cumulative_prod", "diff"):
        for dtype in ("float32", "float64", "int64"):
            usual = function == "cumulative_sum" or dtype == "float32"
            for n in (scale.cached, scale.medium, scale.large):
                if function == "cumulative_prod" and dtype == "int64":
                    continue
                for label, (shape, choices) in layouts(n).items():
                    if label == "odd cube" or (n != scale.large and label != "line"):
                        continue
                    for axes in choices:
                        if isinstance(axes, tuple) or (axes is None and label != "line"):
                            continue
                        yield case(
                            "scans",
                            function,
                            shape,
                            dtype,
                            0 if axes is None else axes,
                            tier=(
                                QUICK
                                if usual and dtype == "float64" and label in ("line", "square")
                                else USUAL
                                if usual
                                else FULL
                            ),
                            writes=True,
                            # NumPy adds one element after the other: a float32 of 2^25 stays as it
                            # is whatever is added.
                            reference=(
                                f"xp.cumulative_sum(v, axis={axes or 0}, dtype=xp.float64)"
                                if (function, dtype) == ("cumulative_sum", "float32")
                                else None
                            ),
                        )
    for length in (3, 8):
        for lines in (scale.medium, scale.medium + 1):
            for function in ("cumulative_sum", "cumulative_prod"):
                yield case("scans", function, (length, lines), "float32", 0, tier=FULL, writes=True)
            shape = (length, lines)
            yield case("scans", "cumulative_sum", shape, "int32", 0, tier=FULL, writes=True)
