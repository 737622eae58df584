"""What a call costs before it computes anything: arrays of no more than 16 elements."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FULL, QUICK, USUAL, Case, Operand, Scale

# Group: operation, its dtypes, and the spelling where PyTorch's differs.
FLOATS = ("float64", "float32")
NUMBERS = ("float64", "float32", "int64")
INTEGERS = ("int64",)
BOOLEANS = ("bool",)
STATEMENTS: dict[str, dict[str, tuple[str, ...]]] = {
    "operators": {
        "x + y": NUMBERS,
        "x - y": FLOATS,
        "x * y": NUMBERS,
        "x / y": FLOATS,
        "x // y": NUMBERS,
        "x % y": NUMBERS,
        "x ** 2": FLOATS,
        "x + 1": NUMBERS,
        "2 * x": NUMBERS,
        "-x": FLOATS,
        "abs(x)": FLOATS,
        "x < y": NUMBERS,
        "x == y": FLOATS,
        "x & y": INTEGERS + BOOLEANS,
        "x << 1": INTEGERS,
        "~x": INTEGERS + BOOLEANS,
        "x + y * x - y": FLOATS,
        "m @ m": FLOATS,
    },
    "functions": {
        "xp.add(x, y)": FLOATS,
        "xp.multiply(x, y)": FLOATS,
        "xp.maximum(x, y)": FLOATS,
        "xp.exp(x)": FLOATS,
        "xp.log(x)": FLOATS,
        "xp.sin(x)": FLOATS,
        "xp.sqrt(x)": FLOATS,
        "xp.isnan(x)": FLOATS,
        "xp.clip(x, 0.7, 1.2)": FLOATS,
        "xp.where(x < y, x, y)": FLOATS,
        "xp.atan2(x, y)": FLOATS,
        "xp.floor(x)": FLOATS,
        "xp.concat((x, y))": FLOATS,
        "xp.stack((x, y))": FLOATS,
        "xp.sort(x)": FLOATS,
        "xp.matmul(m, m)": FLOATS,
        "xp.cumulative_sum(x, axis=0)": FLOATS,
        "xp.zeros((4, 4))": ("float64",),
        "xp.full((4, 4), 2.5)": ("float64",),
        "xp.arange(16)": INTEGERS,
        "xp.linspace(0.0, 1.0, 16)": ("float64",),
        "xp.asarray(x)": ("float64",),
        "xp.astype(x, xp.float32)": ("float64",),
        "xp.zeros_like(x)": FLOATS,
    },
    "reductions": {
        "xp.sum(x)": NUMBERS,
        "xp.max(x)": NUMBERS,
        "xp.min(x)": FLOATS,
        "xp.prod(x)": FLOATS,
        "xp.mean(x)": FLOATS,
        "xp.std(x)": FLOATS,
        "xp.argmax(x)": FLOATS,
        "xp.any(x)": BOOLEANS,
        "xp.all(x)": BOOLEANS,
        "xp.sum(m, axis=0)": FLOATS,
        "xp.sum(m, axis=1)": FLOATS,
        "xp.max(m, axis=0)": FLOATS,
    },
    "indexing": {
        "x[3]": FLOATS,
        "x[-1]": FLOATS,
        "x[2:9]": FLOATS,
        "x[::2]": FLOATS,
        "x[None, :]": FLOATS,
        "x[...]": FLOATS,
        "m[1]": FLOATS,
        "m[1, 2]": FLOATS,
        "m[:, 1]": FLOATS,
        "m[1:3, ::2]": FLOATS,
        "float(x[3])": FLOATS,
        "x[i]": FLOATS,
        "x[x < y]": FLOATS,
        "x[3] = 1.0": FLOATS,
        "x[2:9] = 1.0": FLOATS,
        "m[:, 1] = 1.0": FLOATS,
        "x += y": FLOATS,
    },
    "views": {
        "xp.reshape(x, (4, 4))": FLOATS,
        "m.T": FLOATS,
        "m.mT": FLOATS,
        "xp.permute_dims(m, (1, 0))": FLOATS,
        "xp.expand_dims(x, axis=0)": FLOATS,
        "xp.squeeze(x[None], axis=0)": FLOATS,
        "xp.broadcast_to(x, (4, 16))": FLOATS,
        "xp.moveaxis(m, 0, 1)": FLOATS,
        "xp.flip(x)": FLOATS,
    },
}
SPELLED = {
    "xp.zeros((4, 4))": {"PyTorch": "xp.zeros((4, 4), dtype=xp.float64)"},
    "xp.full((4, 4), 2.5)": {"PyTorch": "xp.full((4, 4), 2.5, dtype=xp.float64)"},
    "xp.linspace(0.0, 1.0, 16)": {"PyTorch": "xp.linspace(0.0, 1.0, 16, dtype=xp.float64)"},
    "xp.astype(x, xp.float32)": {"PyTorch": "x.to(xp.float32)"},
    "xp.sort(x)": {"PyTorch": "xp.sort(x)[0]"},
    "xp.std(x)": {"PyTorch": "xp.std(x, correction=0)"},
    "xp.flip(x)": {"PyTorch": "xp.flip(x, (0,))"},
}
# Those of a --quick run, and the sizes they are timed at in a --full one.
FEW = {
    *("x + y", "x * y", "x + 1", "x < y", "xp.add(x, y)", "xp.exp(x)", "xp.where(x < y, x, y)"),
    *("xp.sum(x)", "xp.max(x)", "xp.mean(x)", "x[3]", "x[2:9]", "m[1, 2]", "x[3] = 1.0"),
    *("xp.reshape(x, (4, 4))", "m.T", "xp.permute_dims(m, (1, 0))", "xp.zeros((4, 4))"),
}
SIZES = (1, 4, 8)


def cases(scale: Scale) -> Iterator[Case]:
    """Yield the operators, functions, reductions, indexing and views of small arrays."""
    for group, statements in STATEMENTS.items():
        for statement, dtypes in statements.items():
            target, assigns, _ = statement.partition(" = " if " = " in statement else " += ")
            for dtype in dtypes:
                yield Case(
                    "calls",
                    statement.removeprefix("xp."),
                    statement,
                    {
                        "x": Operand((16,), dtype),
                        "y": Operand((16,), dtype, low=0.6),
                        "m": Operand((4, 4), dtype),
                        "i": Operand((5,), "int64", "below", high=16),
                    },
                    changes=target[0] if assigns else None,
                    spelled=SPELLED.get(statement, {}),
                    tier=QUICK if statement in FEW and dtype == "float64" else USUAL,
                    group=group,
                )
    for n in SIZES:
        for statement in ("x + y", "xp.exp(x)", "xp.sum(x)"):
            yield Case(
                "calls",
                statement.removeprefix("xp."),
                statement,
                {"x": Operand((n,), "float64"), "y": Operand((n,), "float64", low=0.6)},
                tier=FULL,
                group={"x + y": "operators", "xp.exp(x)": "functions"}.get(statement, "reductions"),
            )
