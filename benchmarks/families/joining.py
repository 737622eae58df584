"""concat, stack, roll, repeat and tile."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FLOATING, FULL, QUICK, USUAL, Case, Operand, Scale, itemsize, side, torch

# Operation: the result's size in units of x, and the spelling where PyTorch's differs.
OPERATIONS: dict[str, tuple[int, dict[str, str]]] = {
    "concat((x, y), axis=0)": (2, {}),
    "concat((x, y), axis=1)": (2, {}),
    "concat((x, y.T), axis=1)": (2, {}),
    "stack((x, y), axis=0)": (2, {}),
    "stack((x, y), axis=1)": (2, {}),
    "stack((x, y), axis=-1)": (2, {}),
    "roll(x, 5, axis=0)": (1, torch("xp.roll(x, 5, 0)")),
    "roll(x, 5, axis=1)": (1, torch("xp.roll(x, 5, 1)")),
    "roll(x, (3, 5), axis=(0, 1))": (1, torch("xp.roll(x, (3, 5), (0, 1))")),
    "repeat(x, 2, axis=0)": (2, torch("xp.repeat_interleave(x, 2, 0)")),
    "repeat(x, 2, axis=1)": (2, torch("xp.repeat_interleave(x, 2, 1)")),
    "tile(x, (2, 2))": (4, {}),
}


def cases(scale: Scale) -> Iterator[Case]:
    """Yield operations on large and on cached matrices, and joins of many small pieces."""
    for axis in (0, 1):  # of what a last cache holds to what it does not
        yield Case(
            "joining",
            f"concat((x, y), axis={axis})",
            f"xp.concat((x, y), axis={axis})",
            {
                "x": Operand((side(scale.medium),) * 2, "float64"),
                "y": Operand((side(scale.medium),) * 2, "float64", high=1.6),
            },
        )
    for n, tier in ((scale.large // 4, QUICK), (4 * scale.cached, USUAL)):
        shape = (side(n),) * 2
        for dtype in (*FLOATING, "int8"):
            operands = {"x": Operand(shape, dtype), "y": Operand(shape, dtype, high=1.6)}
            size = shape[0] * shape[1] * itemsize(dtype)
            for operation, (times, spelled) in OPERATIONS.items():
                joins = operation.startswith(("concat", "stack"))
                yield Case(
                    "joining",
                    operation,
                    f"xp.{operation}",
                    operands,
                    reads=size * (2 if joins else 1),
                    writes=size * times,
                    spelled=spelled,
                    tier=FULL if dtype == "int8" else USUAL if dtype == "float64" else tier,
                )
    for dtype in FLOATING:
        yield Case(
            "joining",
            "roll(x, 5)",
            "xp.roll(x, 5)",
            {"x": Operand((scale.medium,), dtype)},
        )
        yield Case(
            "joining",
            "repeat(x, 3)",
            "xp.repeat(x, 3)",
            {"x": Operand((scale.medium,), dtype)},
            spelled=torch("xp.repeat_interleave(x, 3)"),
        )
        yield Case(
            "joining",
            "repeat(x, 2, axis=0)",
            "xp.repeat(x, 2, axis=0)",
            {"x": Operand((scale.medium // 4, 3), dtype)},
            spelled=torch("xp.repeat_interleave(x, 2, 0)"),
        )
        pieces = ", ".join(["x", "y"] * 64)
        yield Case(
            "joining",
            "concat of 128 pieces",
            f"xp.concat(({pieces}))",
            {"x": Operand((1000,), dtype), "y": Operand((1000,), dtype, high=1.6)},
        )
        yield Case(
            "joining",
            "stack of 128 pieces, axis=1",
            f"xp.stack(({pieces}), axis=1)",
            {"x": Operand((1000,), dtype), "y": Operand((1000,), dtype, high=1.6)},
        )
        part = scale.large // 16
        yield Case(
            "joining",
            "stack of 16, axis=-1",
            f"xp.stack(({', '.join(['x', 'y'] * 8)}), axis=-1)",
            {"x": Operand((part,), dtype), "y": Operand((part,), dtype, high=1.6)},
        )
        yield Case(
            "joining",
            "repeat(x, n), counts",
            "xp.repeat(x, n)",
            {
                "x": Operand((scale.medium,), dtype),
                "n": Operand((scale.medium,), "int64", "below", high=5),
            },
            spelled=torch("xp.repeat_interleave(x, n)"),
        )
        yield Case(
            "joining",
            "unstack",
            "xp.unstack(x)",
            {"x": Operand((128, 1000), dtype)},
            spelled=torch("xp.unbind(x)"),
        )
