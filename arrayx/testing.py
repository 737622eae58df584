"""Assertions about arrays for tests, named and behaving as NumPy's, with readable differences.

Integers are compared exactly with any other numbers, also where no dtype holds both.
"""

from __future__ import annotations

from . import _core
from ._creation_functions import asarray, zeros
from ._data_type_functions import astype
from ._data_types import bool as bool_
from ._data_types import complex128, float64, int64, uint64
from ._elementwise_functions import abs as absolute
from ._elementwise_functions import (
    bitwise_invert,
    equal,
    floor,
    imag,
    isfinite,
    isnan,
    less,
    less_equal,
    not_equal,
    real,
)
from ._manipulation_functions import broadcast_to
from ._searching_functions import count_nonzero, nonzero, where
from ._statistical_functions import max as largest
from ._utility_functions import all as every
from ._utility_functions import any as some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ._core import Array, DType

__all__ = ["assert_allclose", "assert_array_equal", "assert_equal"]

differences_shown = 5


def assert_allclose(
    actual: Any,
    desired: Any,
    rtol: float = 1e-7,
    atol: float = 0.0,
    equal_nan: bool = True,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise an AssertionError unless two arrays are equal up to a tolerance.

    Elements are close if ``|actual - desired| <= atol + rtol * |desired|``; infinities if they are
    equal.

    Parameters
    ----------
    actual : Array or anything that `asarray` takes
        What was computed.
    desired : Array or anything that `asarray` takes
        What was expected. Of the two, one of rank 0 is compared with each element of the other.
    rtol : float
        Relative tolerance.
    atol : float
        Absolute tolerance.
    equal_nan : bool
        Whether NaN is close to NaN.
    err_msg : str
        A text to begin the message with.
    verbose : bool
        Whether the message shows the arrays.
    strict : bool
        Whether shapes, dtypes and devices must be the same; ranks 0 are nothing special then.

    Raises
    ------
    AssertionError
        If they are not. The message says how many elements differ, by how much at most, and shows
        the first of them.
    ValueError
        If a tolerance is negative or NaN.

    See Also
    --------
    assert_array_equal

    Examples
    --------
    >>> from arrayx.testing import assert_allclose
    >>> assert_allclose(xp.asarray([1.0, 2.0]), [1.0, 2.0 + 1e-9])
    >>> assert_allclose(xp.asarray([1.0, 2.0]), [1.0, 2.5])
    Traceback (most recent call last):
    ...
    AssertionError: not equal to tolerance rtol=1e-07, atol=0
    Mismatched elements: 1 / 2 (50%)
    Largest absolute difference: 0.5
    Largest relative difference: 0.2
    First differences:
      [1]: 2.0, not 2.5
    actual:  array([1., 2.])
    desired: array([1. , 2.5])
    """
    __tracebackhide__ = True
    if not (rtol >= 0 and atol >= 0):
        raise ValueError(f"rtol and atol must be at least 0, not {rtol} and {atol}")
    heading = f"not equal to tolerance rtol={rtol:g}, atol={atol:g}"
    compare(actual, desired, rtol, atol, equal_nan, heading, err_msg, verbose, strict)


def assert_array_equal(
    actual: Any,
    desired: Any,
    err_msg: str = "",
    verbose: bool = True,
    *,
    strict: bool = False,
) -> None:
    """Raise an AssertionError unless two arrays have the same shape and equal elements.

    NaN is equal to NaN here, and -0.0 to 0.0.

    Parameters
    ----------
    actual : Array or anything that `asarray` takes
        What was computed.
    desired : Array or anything that `asarray` takes
        What was expected. Of the two, one of rank 0 is compared with each element of the other.
    err_msg : str
        A text to begin the message with.
    verbose : bool
        Whether the message shows the arrays.
    strict : bool
        Whether shapes, dtypes and devices must be the same; ranks 0 are nothing special then.

    Raises
    ------
    AssertionError
        If they have not. The message says how many elements differ, by how much at most, and shows
        the first of them.

    See Also
    --------
    assert_allclose, assert_equal

    Examples
    --------
    >>> from arrayx.testing import assert_array_equal
    >>> assert_array_equal(xp.asarray([1.0, xp.nan]), [1.0, xp.nan])
    >>> assert_array_equal(xp.asarray([1, 2]), [1, 3])
    Traceback (most recent call last):
    ...
    AssertionError: arrays are not equal
    Mismatched elements: 1 / 2 (50%)
    Largest absolute difference: 1
    Largest relative difference: 0.333333
    First differences:
      [1]: 2, not 3
    actual:  array([1, 2])
    desired: array([1, 3])
    """
    __tracebackhide__ = True
    compare(actual, desired, 0.0, 0.0, True, "arrays are not equal", err_msg, verbose, strict)


def assert_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False
) -> None:
    """Raise an AssertionError unless two objects are equal, down to the arrays in them.

    Dicts, lists and tuples are compared item by item; arrays and numbers as by
    `assert_array_equal`; what is none of these by ``==``.

    Parameters
    ----------
    actual : object
        What was computed.
    desired : object
        What was expected.
    err_msg : str
        A text to begin the message with.
    verbose : bool
        Whether the message shows the arrays.
    strict : bool
        Whether the shapes, dtypes and devices of arrays must be the same.

    Raises
    ------
    AssertionError
        If they are not. The message says at which item.

    See Also
    --------
    assert_array_equal

    Examples
    --------
    >>> from arrayx.testing import assert_equal
    >>> assert_equal({"x": xp.ones(2), "name": "a"}, {"x": [1.0, 1.0], "name": "a"})
    >>> assert_equal((1, "a"), (1, "b"))
    Traceback (most recent call last):
    ...
    AssertionError: item [1]: 'a' is not equal to 'b'
    """
    __tracebackhide__ = True
    compare_items(actual, desired, "", err_msg, verbose, strict)


def compare_items(
    actual: Any, desired: Any, path: str, err_msg: str, verbose: bool, strict: bool
) -> None:
    __tracebackhide__ = True
    place = f"item {path}: " if path else ""

    def refuse(text: str) -> NoReturn:
        __tracebackhide__ = True
        raise AssertionError(with_note(err_msg, place + text))

    if isinstance(actual, dict) or isinstance(desired, dict):
        if not (isinstance(actual, dict) and isinstance(desired, dict)):
            refuse(f"a {type(actual).__name__} is not a {type(desired).__name__}")
        for keys, other, text in (
            (desired, actual, "the key {!r} is missing"),
            (actual, desired, "there is a key {!r} too much"),
        ):
            for key in keys:
                if key not in other:
                    refuse(text.format(key))
        for key in desired:
            deeper = f"{path}[{key!r}]"
            compare_items(actual[key], desired[key], deeper, err_msg, verbose, strict)
    elif isinstance(actual, list | tuple) and isinstance(desired, list | tuple):
        if len(actual) != len(desired):
            refuse(f"the length is {len(actual)}, not {len(desired)}")
        for i, (one, other) in enumerate(zip(actual, desired, strict=True)):
            compare_items(one, other, f"{path}[{i}]", err_msg, verbose, strict)
    elif is_array(actual) or is_array(desired) or (is_number(actual) and is_number(desired)):
        note = with_note(err_msg, place.removesuffix(": "))
        try:
            arrays = asarray(actual), asarray(desired)
        except (OverflowError, TypeError, ValueError):  # no array, such as a text or 2**70
            if is_array(actual) or is_array(desired) or not actual == desired:
                refuse(f"{actual!r} is not equal to {desired!r}")
            return
        assert_array_equal(*arrays, note, verbose, strict=strict)
    elif not actual == desired:
        refuse(f"{actual!r} is not equal to {desired!r}")


def is_array(x: Any) -> bool:
    """Whether it is an array, of this library or another."""
    return isinstance(x, _core.Array) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def is_number(x: Any) -> bool:
    return isinstance(x, int | float | complex)


def with_note(note: str, text: str) -> str:
    return f"{note}\n{text}" if note and text else note or text


# ---- the comparison ------------------------------------------------------------------------------


def compare(
    actual: Any,
    desired: Any,
    rtol: float,
    atol: float,
    equal_nan: bool,
    heading: str,
    err_msg: str,
    verbose: bool,
    strict: bool,
) -> None:
    """Raise an AssertionError with a full description unless the arrays are close."""
    __tracebackhide__ = True
    one, other = asarray(actual), asarray(desired)
    problems = []
    if one.shape != other.shape and (strict or (one.ndim > 0 and other.ndim > 0)):
        problems.append(f"The shape is {one.shape}, not {other.shape}")
    if strict and one.dtype != other.dtype:
        problems.append(f"The dtype is {one.dtype.name}, not {other.dtype.name}")
    if strict and one.device != other.device:
        problems.append(f"The device is {one.device}, not {other.device}")
    if not problems:
        problems = differences(one, other, rtol, atol, equal_nan)
    if not problems:
        return
    if verbose:
        problems += [f"actual:  {indented(one)}", f"desired: {indented(other)}"]
    raise AssertionError(with_note(err_msg, "\n".join([heading, *problems])))


def differences(
    actual: Array, desired: Array, rtol: float, atol: float, equal_nan: bool
) -> list[str]:
    """Return lines that say where and how far apart two arrays are; none if they are close."""
    shape = actual.shape if desired.ndim == 0 else desired.shape
    one = broadcast_to(actual.to_device("cpu"), shape)
    other = broadcast_to(desired.to_device("cpu"), shape)
    close = are_equal(one, other)
    nan_one, nan_other = is_nan(one), is_nan(other)
    if equal_nan:
        close = close | (nan_one & nan_other)
    apart = distance(one, other)
    size = absolute(as_float(other))
    finite = is_finite(one) & is_finite(other)
    if rtol > 0 or atol > 0:
        close = close | (finite & less_equal(apart, atol + rtol * size))
    if every(close):
        return []
    wrong = bitwise_invert(close)
    count = int(count_nonzero(wrong))
    lines = [f"Mismatched elements: {count} / {wrong.size} ({100 * count / wrong.size:.4g}%)"]
    only_one = int(count_nonzero(nan_one & bitwise_invert(nan_other)))
    only_other = int(count_nonzero(nan_other & bitwise_invert(nan_one)))
    if only_one or only_other:
        lines.append(f"NaN only in actual: {only_one}, only in desired: {only_other}")
    measured = wrong & finite
    if some(measured) and not (one.dtype == bool_ and other.dtype == bool_):
        lines.append(f"Largest absolute difference: {float(largest(apart[measured])):g}")
        relative = measured & not_equal(size, 0.0)
        if some(relative):
            ratio = float(largest(apart[relative] / size[relative]))
            lines.append(f"Largest relative difference: {ratio:g}")
    lines.append("First differences:")
    if wrong.ndim == 0:
        lines.append(f"  {one.item()}, not {other.item()}")
        return lines
    places = [axis[:differences_shown].tolist() for axis in nonzero(wrong)]
    for index in zip(*places, strict=True):
        lines.append(f"  {list(index)}: {one[index].item()}, not {other[index].item()}")
    if count > differences_shown:
        lines.append(f"  and {count - differences_shown} more")
    return lines


def indented(x: Array) -> str:
    """Return an array's text with its further lines below the first, after 'desired: '."""
    return repr(x).replace("\n", "\n" + " " * len("desired: "))


def is_nan(x: Array) -> Array:
    return isnan(x) if x.dtype.kind in "fc" else zeros(x.shape, dtype=bool_, device="cpu")


def is_finite(x: Array) -> Array:
    return isfinite(x) if x.dtype.kind in "fc" else equal(0, zeros(x.shape, device="cpu"))


def as_float(x: Array) -> Array:
    return astype(x, complex128 if x.dtype.kind == "c" else float64, copy=False)


def as_widest(x: Array) -> Array:
    """Return the same values in the widest dtype of their kind; booleans as integers."""
    widest = {"b": uint64, "u": uint64, "i": int64, "f": float64, "c": complex128}
    return astype(x, widest[x.dtype.kind], copy=False)


def are_equal(x: Array, y: Array) -> Array:
    """Whether each pair of elements is the same number, without rounding either."""
    x, y = as_widest(x), as_widest(y)
    if x.dtype == y.dtype:
        return equal(x, y)
    if x.dtype == complex128 or y.dtype == complex128:
        if x.dtype != complex128:
            x, y = y, x
        return equal(imag(x), 0.0) & are_equal(real(x), y)
    if x.dtype == float64 or y.dtype == float64:
        if x.dtype != float64:
            x, y = y, x
        whole, integers = as_integers(x, y.dtype)
        return whole & equal(integers, y)
    if x.dtype != int64:
        x, y = y, x
    return less_equal(0, x) & equal(astype(x, uint64), y)


def as_integers(x: Array, dtype: DType) -> tuple[Array, Array]:
    """Which elements of a float64 array are in the range of int64 or uint64, and what they are."""
    least, limit = (0.0, 2.0**64) if dtype == uint64 else (-(2.0**63), 2.0**63)
    whole = less_equal(least, x) & less(x, limit) & equal(floor(x), x)
    return whole, astype(where(whole, x, 0.0), dtype)


def distance(x: Array, y: Array) -> Array:
    """The absolute difference of each pair as float64, without cancellation of rounded integers."""
    x, y = as_widest(x), as_widest(y)
    kinds = x.dtype.kind, y.dtype.kind
    if "c" in kinds or kinds == ("f", "f"):
        return absolute(as_float(x) - as_float(y))
    if "f" in kinds:
        if x.dtype != float64:
            x, y = y, x
        whole, integers = as_integers(x, y.dtype)
        return where(whole, distance(integers, y), absolute(x - as_float(y)))
    # Differences of integers modulo 2**64 are right whenever the larger one comes first.
    if x.dtype == y.dtype:
        first = less_equal(y, x)
        x, y = astype(x, uint64), astype(y, uint64)
        return astype(where(first, x - y, y - x), float64)
    if x.dtype != int64:
        x, y = y, x
    negative = less(x, 0)
    size = astype(x, uint64)
    apart = astype(where(less_equal(y, size), size - y, y - size), float64)
    return where(negative, absolute(astype(x, float64)) + astype(y, float64), apart)
