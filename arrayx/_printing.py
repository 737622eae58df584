"""Arrays as text: repr and str.

Only what is shown is looked at: of an array of more than `threshold` elements that is the first and
last `edge` along each dimension.
"""

from __future__ import annotations

from struct import pack, unpack

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._core import Array

threshold = 1000  # elements; larger arrays are summarised
edge = 3  # elements kept at each end
digits = 8  # most significant digits of a floating-point number
line_width = 75  # columns

# The dtypes whose numbers fewer digits may tell apart: the digits that every number keeps, a bound of
# what `struct` takes, and its format.
narrow = {"float16": (1, 65520.0, "e"), "float32": (6, 3.4e38, "f")}

# The dtypes that repr leaves out, since a literal of that kind has them.
unnamed = ("bool", "int64", "float64", "complex128")


def array_repr(x: Array) -> str:
    """Return x as an expression, such as ``array([1., 2.], dtype=float32)``."""
    details = ""
    if x.size == 0 and x.shape != (0,):
        details += f", shape={x.shape}"
    if x.dtype.name not in unnamed or (x.size == 0 and x.dtype.name != "float64"):
        details += f", dtype={x.dtype.name}"
    if x.device != "cpu":
        details += f", device='{x.device}'"
    body = body_text(x, ", ", len("array("))
    room = line_width - len(body.rpartition("\n")[2])
    if "\n" not in body:
        room -= len("array(")
    if details and len(details) + 1 > room:
        details = ",\n" + " " * len("array(") + details[2:]
    return f"array({body}{details})"


def array_str(x: Array) -> str:
    """Return the elements of x in brackets; the element alone if x has rank 0."""
    return body_text(x, " ", 0)


def body_text(x: Array, separator: str, indent: int) -> str:
    """Return the nested brackets, whose lines after the first are indented."""
    if x.size == 0:
        return "[]"
    cut = [x.size > threshold and n > 2 * edge for n in x.shape]
    values = edges_only(x, cut).tolist()
    texts = formatted(flat(values, x.ndim), x.dtype.name)
    if x.ndim == 0:
        return texts[0].strip()
    return brackets(values, iter(texts).__next__, cut, separator, indent + 1)


def edges_only(x: Array, cut: list[bool]) -> Array:
    """Return the elements to be shown: the ends of the dimensions that are cut."""
    for axis, is_cut in enumerate(cut):
        if is_cut:
            before = (slice(None),) * axis
            ends = (x[(*before, slice(None, edge))], x[(*before, slice(-edge, None))])
            x = _core.concat(ends, axis)
    return x


def flat(values: Any, ndim: int) -> list[Any]:
    """Return the elements of nested lists in order."""
    if ndim == 0:
        return [values]
    for _ in range(ndim - 1):
        values = [item for row in values for item in row]
    return list(values)


def brackets(
    values: list[Any], next_text: Callable[[], str], cut: list[bool], separator: str, indent: int
) -> str:
    """Return one level of brackets; `indent` is the column behind the opening one."""
    items: list[str] = []
    for i, value in enumerate(values):
        if cut[0] and i == edge:
            items.append("...")
        if len(cut) > 1:
            items.append(brackets(value, next_text, cut[1:], separator, indent + 1))
        else:
            items.append(next_text())
    if len(cut) == 1:
        return f"[{wrapped(items, separator, indent)}]"
    # Between matrices there is an empty line, between stacks of them one more.
    gap = separator.rstrip() + "\n" * (len(cut) - 1) + " " * indent
    return f"[{gap.join(items)}]"


def wrapped(items: list[str], separator: str, indent: int) -> str:
    """Return the items in lines that fit, as far as one item does."""
    lines, line = [], ""
    for item in items:
        if line and indent + len(line) + len(separator) + len(item) >= line_width:
            lines.append(line + separator.rstrip())
            line = item
        else:
            line = line + separator + item if line else item
    lines.append(line)
    return ("\n" + " " * indent).join(lines)


def formatted(values: list[Any], dtype: str) -> list[str]:
    """Return the elements as text of one width."""
    if dtype.startswith("complex"):
        half = "float32" if dtype == "complex64" else "float64"
        real = real_texts([value.real for value in values], half)
        imag = real_texts([value.imag for value in values], half, sign=True)
        return [
            a.rstrip()
            + b.strip()
            + "j"
            + " " * (len(a) - len(a.rstrip()) + len(b) - len(b.strip()))
            for a, b in zip(real, imag, strict=True)
        ]
    if dtype.startswith("float"):
        return real_texts(values, dtype)
    texts = [str(value) for value in values]
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def real_texts(values: list[float], dtype: str, sign: bool = False) -> list[str]:
    """Return floating-point numbers with their points in one column, in scientific notation where
    fixed-point would take too many digits. `sign` shows plus signs too.
    """
    finite = [shortest(value, dtype) for value in values if value - value == 0]
    # The decimal exponent and the number of significant digits of each.
    parts = [f"{abs(value):.{digits - 1}e}".split("e") for value in finite]
    exponents = [int(exponent) for _, exponent in parts]
    places = [len(mantissa.rstrip("0").rstrip(".").replace(".", "")) for mantissa, _ in parts]
    sizes = [abs(value) for value in finite if value]
    plus = "+" if sign else ""
    if sizes and (max(sizes) >= 1e8 or min(sizes) < 1e-4 or max(sizes) / min(sizes) > 10.0**digits):
        style = f"{plus}#.{max(places) - 1}e"
        pad = 0
    else:
        fraction = [max(0, n - 1 - e) for n, e in zip(places, exponents, strict=True)]
        pad = min(max(fraction, default=0), digits + 4)
        style = f"{plus}#.{pad}f"
    texts, rest = [], iter(finite)
    for value in values:
        if value - value != 0:  # infinite or NaN
            texts.append(f"{value:{plus}}")
        elif pad:
            text = f"{next(rest):{style}}"
            texts.append(text.rstrip("0").ljust(len(text)))
        else:
            texts.append(f"{next(rest):{style}}")
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def shortest(value: float, dtype: str) -> float:
    """Return the number of fewest digits, at most `digits`, that rounds to the value."""
    if dtype in narrow:
        least, most, code = narrow[dtype]
        for n in range(least, digits):
            short = float(f"{value:.{n}g}")
            if abs(short) < most and unpack(code, pack(code, short))[0] == value:
                return short
    return float(f"{value:.{digits}g}")
