"""What programs meet beside square matrices: few columns, crops, reversed and permuted arrays."""

from __future__ import annotations

from collections.abc import Iterator

from ..cases import FULL, USUAL, Case, Operand, Scale, Shape, torch

FEW = "few columns"
CUBE = "cube"
SHORT = "short dimensions"
MIDDLE = "short middle"
SWAPPED = "swapped"
PIXELS = "pixels"
SMALL = "small matrices"
AMONG = "short sides among others"
FAR = "few planes"
# Operation: its statement, the view that u is of x, what x is, and PyTorch's words.
ROWS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "copy of x.T": (
        "xp.asarray(u, copy=True)",
        "x.T",
        FEW,
        {"NumPy": "u.copy()"} | torch("u.contiguous()"),
    ),
    "x + z of the other order": ("x + v", "x", FEW, {}),
    "x < z of the other order": ("x < v", "x", FEW, {}),
    "max of x.T": ("xp.max(u)", "x.T", FEW, {}),
    "vecdot": ("xp.linalg.vecdot(x, x)", "x", FEW, {}),
    "vecdot, axis=0": (
        "xp.linalg.vecdot(x.T, x.T)",
        "x",
        FEW,
        torch("xp.linalg.vecdot(x, x, dim=0)"),
    ),
    "vecdot of permuted": ("xp.linalg.vecdot(u, u)", "PERMUTED", CUBE, {}),
    "vecdot of permuted (0, 2, 1, 3)": (
        "xp.linalg.vecdot(u, u)",
        "xp.permute_dims(x, (0, 2, 1, 3))",
        AMONG,
        {"NumPy u": "x.transpose((0, 2, 1, 3))", "PyTorch u": "x.permute((0, 2, 1, 3))"},
    ),
    "cumulative_sum of x.T": (
        "xp.cumulative_sum(u, axis=1)",
        "x.T",
        FEW,
        torch("xp.cumsum(u, 1)"),
    ),
    "cumulative_sum of permuted": (
        "xp.cumulative_sum(u, axis=1)",
        "PERMUTED",
        CUBE,
        torch("xp.cumsum(u, 1)"),
    ),
    "tril": ("xp.tril(x)", "x", FEW, {}),
    "tril of many": ("xp.tril(x)", "x", MIDDLE, {}),
    "x[mask] of x.T": ("u[m]", "x.T", FEW, {}),
    "x[:, i] of x.T": ("u[:, i]", "x.T", FEW, {}),
    "sum of a crop": ("xp.sum(u)", "x[1:-1, 1:-1]", FEW, {}),
    "sum of x[::-1]": ("xp.sum(u)", "x[::-1]", FEW, {}),
    "concat of permuted": ("xp.concat((u, u), axis=1)", "PERMUTED", CUBE, {}),
    "stack of x.T": ("xp.stack((u, u))", "x.T", FEW, {}),
    "sum of permuted (1, 0, 2)": (
        "xp.sum(u)",
        "xp.permute_dims(x, (1, 0, 2))",
        SWAPPED,
        {"NumPy u": "x.transpose((1, 0, 2))", "PyTorch u": "x.permute((1, 0, 2))"},
    ),
    "sum of permuted (0, 3, 2, 1)": (
        "xp.sum(u)",
        "xp.permute_dims(x, (0, 3, 2, 1))",
        AMONG,
        {"NumPy u": "x.transpose((0, 3, 2, 1))", "PyTorch u": "x.permute((0, 3, 2, 1))"},
    ),
    "copy of permuted (0, 3, 2, 1)": (
        "xp.asarray(u, copy=True)",
        "xp.permute_dims(x, (0, 3, 2, 1))",
        AMONG,
        {"NumPy": "u.copy(order='C')", "NumPy u": "x.transpose((0, 3, 2, 1))"}
        | {"PyTorch": "u.contiguous()", "PyTorch u": "x.permute((0, 3, 2, 1))"},
    ),
    "copy of permuted (2, 1, 0)": (
        "xp.asarray(u, copy=True)",
        "PERMUTED",
        FAR,
        {"NumPy": "u.copy(order='C')"} | torch("u.contiguous()"),
    ),
    "stack of permuted, axis=-1": ("xp.stack((u, u), axis=-1)", "PERMUTED", CUBE, {}),
    "roll of permuted": ("xp.roll(u, 1, axis=1)", "PERMUTED", CUBE, torch("xp.roll(u, 1, 1)")),
    "max of permuted": ("xp.max(u)", "PERMUTED", CUBE, {}),
    "sum of permuted, axes 0 and 1": ("xp.sum(u, axis=(0, 1))", "PERMUTED", CUBE, {}),
    "tril of permuted": ("xp.tril(u)", "PERMUTED", CUBE, {}),
    "crop * crop": ("u * u", "x[1:-1, 1:-1, 1:-1]", CUBE, {}),
    "copy of reversed": (
        "xp.asarray(u, copy=True)",
        "PERMUTED",
        SHORT,
        {"NumPy": "u.copy(order='C')"} | torch("u.contiguous()"),
    ),
    "x + reversed": ("x + u", "PERMUTED", SHORT, {}),
    "sum, axis=1": ("xp.sum(x, axis=1)", "x", MIDDLE, {}),
    "sort, axis=1": ("xp.sort(x, axis=1)", "x", MIDDLE, torch("xp.sort(x, dim=1)[0]")),
    "take of two, axis=1": (
        "xp.take(x, i, axis=1)",
        "x",
        MIDDLE,
        torch("xp.index_select(x, 1, i)"),
    ),
    "copy of x[..., ::-1]": (
        "xp.asarray(u, copy=True)",
        "x[..., ::-1]",
        PIXELS,
        {"NumPy": "u.copy()", "PyTorch u": "x"} | torch("xp.flip(x, (-1,))"),
    ),
    "copy of x[..., :2]": (
        "xp.asarray(u, copy=True)",
        "x[..., :2]",
        PIXELS,
        {"NumPy": "u.copy()"} | torch("u.contiguous()"),
    ),
    "take of channels": (
        "xp.take(x, i, axis=2)",
        "x",
        PIXELS,
        torch("xp.index_select(x, 2, i)"),
    ),
    "copy of x.mT": (
        "xp.asarray(u, copy=True)",
        "x.mT",
        SMALL,
        {"NumPy": "u.copy()"} | torch("u.contiguous()"),
    ),
    "sort of one": ("xp.sort(u, axis=1)", "x[:, :1, :]", CUBE, torch("xp.sort(u, dim=1)[0]")),
}


def cases(scale: Scale) -> Iterator[Case]:
    """Yield such views of arrays that the caches hold."""
    n = scale.medium // 4
    shapes: dict[str, list[Shape]] = {
        FEW: [(n, 3), (n // 2, 7)],
        CUBE: [(64, 63, 62)],
        SHORT: [(2,) * 16],
        MIDDLE: [(n // 16, 2, 2), (n // 64, 4, 30)],
        SWAPPED: [(5, n // 8, 2)],
        AMONG: [(n // 64, 3, 10, 3), (n // 32, 3, 3, 3), (n // 64, 7, 3, 9)],
        FAR: [(6, n // 1024, 300)],
        PIXELS: [(n // 512, 512, 3), (n // 512, 512, 4)],
        SMALL: [(n // 8, 2, 2), (n // 16, 3, 3), (n // 16, 4, 4), (n // 32, 5, 5)],
    }
    for dtype in ("float64", "float32", "uint8"):
        for operation, (statement, view, what, spelled) in ROWS.items():
            if dtype == "uint8" and ("tril" in operation or "vecdot" in operation):
                continue
            permuted = view == "PERMUTED"
            for shape in shapes[what]:
                operands = {"x": Operand(shape, dtype)}
                order = tuple(range(len(shape)))[::-1]
                views = {"u": f"xp.permute_dims(x, {order})" if permuted else view}
                turned = {"NumPy u": f"x.transpose({order})", "PyTorch u": f"x.permute({order})"}
                if "other order" in operation:
                    operands["z"] = Operand(shape[::-1], dtype, high=1.6)
                    views = {"v": "z.T"}
                if "mask" in operation:
                    operands["m"] = Operand(shape[::-1], "bool", "mask", high=0.5)
                if "[:, i]" in operation:
                    operands["i"] = Operand((shape[0],), "int64", "below", high=shape[0])
                if "take of" in operation:
                    picks = 3 if what == PIXELS else 2
                    operands["i"] = Operand((picks,), "int64", "below", high=picks)
                yield Case(
                    "layouts",
                    operation,
                    statement,
                    operands,
                    views=views,
                    spelled=spelled | turned if permuted else spelled,
                    rounding=4096 if "sum" in operation or "vecdot" in operation else 16,
                    tier=FULL if dtype == "uint8" and what != PIXELS else USUAL,
                )
