"""Elementwise work on operands that are transposed, broadcast, stepped, reversed or cut out."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FULL, QUICK, USUAL, Case, Operand, Scale, itemsize, side, torch

# Operation: views, what is read and written per element of x, and whether --quick runs it.
MATRIX: dict[str, tuple[dict[str, str], float, float, bool]] = {
    "x + y.T": ({"v": "y.T"}, 2, 1, True),
    "x + x.T": ({"v": "x.T"}, 2, 1, True),
    # Which begin within lines, as memory of other libraries does.
    "x[1:, 1:] + y.T[1:, 1:]": ({"u": "x[1:, 1:]", "v": "y.T[1:, 1:]"}, 2, 1, False),
    "x.T + y.T": ({"u": "x.T", "v": "y.T"}, 2, 1, False),
    "x + row": ({"v": "y[:1, :]"}, 1, 1, True),
    "x + column": ({"v": "y[:, :1]"}, 1, 1, True),
    "column + row": ({"u": "x[:, :1]", "v": "y[:1, :]"}, 0, 1, False),
    "x + scalar array": ({"v": "y[0, 0]"}, 1, 1, False),
    # Every cache line of the operands is read, half of the elements are written.
    "x[:, ::2] + y[:, ::2]": ({"u": "x[:, ::2]", "v": "y[:, ::2]"}, 2, 0.5, True),
    "x[::2] + y[::2]": ({"u": "x[::2]", "v": "y[::2]"}, 1, 0.5, False),
    "x[::2] + y[:, ::2] (both of half)": (
        {"u": "x[::2, ::2]", "v": "y[::2, 1::2]"},
        1,
        0.25,
        False,
    ),
    "x[::-1] + y": ({"u": "x[::-1]", "v": "y"}, 2, 1, False),
    "x[:, ::-1] + y": ({"u": "x[:, ::-1]", "v": "y"}, 2, 1, False),
    "x[1:-1, 1:-1] + y[2:, 2:]": ({"u": "x[1:-1, 1:-1]", "v": "y[2:, 2:]"}, 2, 1, False),
    "x[:, 1:] - x[:, :-1]": ({"u": "x[:, 1:]", "v": "x[:, :-1]"}, 1, 1, False),
}
DTYPES = ("float32", "float64", "int8", "complex128")


def matrices(n: int, dtype: str, tier: int) -> Iterator[Case]:
    """Yield the cases of square matrices with so many elements."""
    shape = (side(n), side(n))
    size = itemsize(dtype) * shape[0] ** 2
    operands = {"x": Operand(shape, dtype), "y": Operand(shape, dtype, high=1.6)}
    for operation, (views, reads, writes, quick) in MATRIX.items():
        yield Case(
            "strided",
            operation,
            f"{'u' if 'u' in views else 'x'} {'-' if '-' in operation[5:-5] else '+'} v",
            operands,
            views=views,
            reads=int(reads * size),
            writes=int(writes * size),
            tier=QUICK if quick and tier == USUAL and dtype == "float32" else tier,
        )
    for operation, statement, views, reads in (
        ("exp(x.T)", "xp.exp(u)", {"u": "x.T"}, 1),
        ("sqrt(x[:, ::2])", "xp.sqrt(u)", {"u": "x[:, ::2]"}, 1),
        ("-x[:, ::-1]", "-u", {"u": "x[:, ::-1]"}, 1),
        ("where(x < row, x, y.T)", "xp.where(x < r, x, v)", {"r": "y[:1, :]", "v": "y.T"}, 2),
    ):
        if dtype in ("float32", "float64"):
            yield Case(
                "strided",
                operation,
                statement,
                operands,
                views=views,
                reads=reads * size,
                writes=size // 2 if "::2" in operation else size,
                tier=tier,
            )
    yield Case(
        "strided",
        "x += y.T",
        "x += v",
        operands,
        views={"v": "y.T"},
        reads=2 * size,
        writes=size,
        changes="x",
        tier=tier,
    )
    yield Case(
        "strided",
        "u[...] = u[::-1] of u = x.T",
        "u[...] = w",
        operands,
        views={"u": "x.T", "w": "x.T[::-1]"},
        spelled=torch("u[...] = xp.flip(u, (0,))"),
        reads=size,
        writes=size,
        changes="x",
        tier=tier,
    )
    yield Case(
        "strided",
        "x[:, ::2] *= 1",
        "x[:, ::2] *= 1",
        operands,
        reads=size,
        writes=size,
        changes="x",
        tier=tier,
    )


def cubes(n: int, dtype: str, tier: int) -> Iterator[Case]:
    """Yield the cases of 3-d arrays."""
    length = side(n, 3)
    size = itemsize(dtype) * length**3
    operands = {"x": Operand((length,) * 3, dtype), "y": Operand((length,) * 3, dtype, high=1.6)}
    for operation, views, reads in (
        ("x + permuted y (2, 0, 1)", {"v": "xp.permute_dims(y, (2, 0, 1))"}, 2),
        ("x + permuted y (2, 1, 0)", {"v": "xp.permute_dims(y, (2, 1, 0))"}, 2),
        ("x + permuted y (0, 2, 1)", {"v": "xp.permute_dims(y, (0, 2, 1))"}, 2),
        ("x + y[:, :1, :]", {"v": "y[:, :1, :]"}, 1),
        ("x + y[:, :, :1]", {"v": "y[:, :, :1]"}, 1),
        ("x + y[:1]", {"v": "y[:1]"}, 1),
        ("x[..., 1:] - x[..., :-1]", {"u": "x[..., 1:]", "v": "x[..., :-1]"}, 1),
    ):
        yield Case(
            "strided",
            operation,
            "u - v" if "u" in views else "x + v",
            operands,
            views=views,
            reads=reads * size,
            writes=size,
            tier=tier,
        )


def cases(scale: Scale) -> Iterator[Case]:
    """Yield large and cached matrices and cubes."""
    for dtype in DTYPES:
        usual = USUAL if dtype in ("float32", "float64") else FULL
        yield from matrices(scale.large, dtype, usual)
        yield from cubes(scale.large, dtype, usual)
    for dtype in ("float32", "float64"):
        yield from matrices(4 * scale.cached, dtype, USUAL if dtype == "float64" else FULL)
        yield from matrices(scale.medium, dtype, FULL)
