"""Data type functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from . import _core
from ._core import Array, DType, function
from ._data_types import (
    all_dtypes,
    complex64,
    complex128,
    dtypes_named,
    float16,
    float32,
    float64,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import Device

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@function
def astype(
    x: Array, dtype: DType, /, *, copy: bool = True, device: Device | str | None = None
) -> Array:
    """A copy of an array in another dtype.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    dtype : DType
        The dtype wanted.
    copy : bool
        If False, `x` itself is returned when it already has this dtype and device.
    device : Device or str, optional
        Default: the device of `x`.

    Returns
    -------
    Array
        An array of the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is complex and `dtype` is neither complex nor bool: take `real` or `imag` first.

    Notes
    -----
    Floating-point numbers are truncated towards zero to become integers; what does not fit is
    undefined. Integers wrap around. What a floating-point dtype cannot hold becomes infinite: in
    float16 numbers from 65520 on. Everything but zero, NaN included, becomes True.

    Examples
    --------
    >>> xp.astype(xp.asarray([0.5, -1.5, 3.0]), xp.int32)
    array([ 0, -1,  3], dtype=int32)
    >>> xp.astype(xp.asarray([0, 1, 2]), xp.bool)
    array([False,  True,  True])
    """


@function
def can_cast(from_: DType | Array, to: DType, /) -> bool:
    """Whether promotion can lead from one dtype to another.

    Parameters
    ----------
    from_ : DType or Array
        The dtype to start from, or an array of it.
    to : DType
        The dtype wanted.

    Returns
    -------
    bool
        Whether `from_` and `to` promote to `to`.

    Examples
    --------
    >>> xp.can_cast(xp.int8, xp.int16)
    True
    >>> xp.can_cast(xp.float64, xp.float32)
    False
    """


class _Limits:
    """What `finfo` and `iinfo` return."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))


class finfo_object(_Limits):
    """Limits of a real floating dtype."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, dtype: DType, digits: int, exponent: int) -> None:
        """`digits` counts the significant bits; 2**exponent is the first power that overflows."""
        self.bits: int = 8 * dtype.itemsize
        self.eps: float = 2.0 ** (1 - digits)
        self.max: float = (2.0 - self.eps) * 2.0 ** (exponent - 1)
        self.min: float = -self.max
        self.smallest_normal: float = 2.0 ** (2 - exponent)
        self.dtype: DType = dtype


class iinfo_object(_Limits):
    """Limits of an integer dtype."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: DType) -> None:
        signed = dtype.kind == "i"
        self.bits: int = 8 * dtype.itemsize
        self.max: int = (1 << (self.bits - signed)) - 1
        self.min: int = -(1 << (self.bits - 1)) if signed else 0
        self.dtype: DType = dtype


def _dtype_of(function: str, type: Any) -> DType:
    dtype = type.dtype if isinstance(type, Array) else type
    if isinstance(dtype, DType):
        return dtype
    try:  # NumPy's dtypes and Python's types, wherever a dtype is an argument
        if dtype is None:  # where it would stand for the default dtype
            raise TypeError
        return _core.empty(0, dtype, None).dtype
    except TypeError:
        name = type.__class__.__name__
        message = f"{function}: type must be a dtype of arrayx or an array, not {name}"
        raise TypeError(message) from None


def finfo(type: DType | Array, /) -> finfo_object:
    """Limits of a floating dtype.

    Parameters
    ----------
    type : DType or Array
        A floating dtype, or an array of one. A complex dtype stands for that of its parts.

    Returns
    -------
    finfo_object
        Its attributes are `bits`, `eps`, `max`, `min`, `smallest_normal` and `dtype`.

    Raises
    ------
    TypeError
        If the dtype is not floating.

    Examples
    --------
    >>> xp.finfo(xp.float32).eps
    1.1920928955078125e-07
    >>> xp.finfo(xp.complex128).dtype
    arrayx.float64
    """
    dtype = _dtype_of("finfo", type)
    if dtype in (float64, complex128):
        return finfo_object(float64, 53, 1024)
    if dtype in (float32, complex64):
        return finfo_object(float32, 24, 128)
    if dtype == float16:
        return finfo_object(float16, 11, 16)
    raise TypeError(f"finfo: type must be a floating dtype, not {dtype.name}")


def iinfo(type: DType | Array, /) -> iinfo_object:
    """Limits of an integer dtype.

    Parameters
    ----------
    type : DType or Array
        An integer dtype, or an array of one.

    Returns
    -------
    iinfo_object
        Its attributes are `bits`, `max`, `min` and `dtype`.

    Raises
    ------
    TypeError
        If the dtype is not an integer one.

    Examples
    --------
    >>> xp.iinfo(xp.int8)
    iinfo_object(bits=8, dtype=arrayx.int8, max=127, min=-128)
    """
    dtype = _dtype_of("iinfo", type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: type must be an integer dtype, not {dtype.name}")
    return iinfo_object(dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : DType
        The dtype to be judged.
    kind : DType, str or tuple of these
        A dtype, or 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
        'complex floating' or 'numeric'; a tuple names several, of which one suffices.

    Returns
    -------
    bool
        Whether `dtype` equals the dtype or is of the kind.

    Raises
    ------
    ValueError
        If a string names no kind.
    TypeError
        If an argument is neither dtype nor string.

    Examples
    --------
    >>> xp.isdtype(xp.float32, "real floating")
    True
    >>> xp.isdtype(xp.int8, ("bool", xp.int16))
    False
    """
    if dtype not in all_dtypes:
        raise TypeError(f"isdtype: dtype must be a dtype of arrayx, not {dtype!r}")
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        return dtype in dtypes_named(kind)
    if kind not in all_dtypes:
        raise TypeError(f"isdtype: kind must be a dtype, a string or a tuple, not {kind!r}")
    return dtype == kind


@function
def result_type(*arrays_and_dtypes: Array | int | float | complex | bool | DType) -> DType:
    """The dtype of an operation on the arguments.

    Parameters
    ----------
    *arrays_and_dtypes : Array, DType, bool, int, float or complex
        Operands, or dtypes in place of arrays. Scalars alone have the default dtypes.

    Returns
    -------
    DType
        The promoted dtype.

    Raises
    ------
    TypeError
        If no dtype holds all, as for uint64 and a signed integer dtype.
    ValueError
        If there is no argument.

    Notes
    -----
    Python scalars are weak: they take the dtype of the arrays unless that is of a lower kind. Of
    mixed kinds, which the standard leaves open, a floating dtype wins over integers and bool and
    keeps its width.

    Examples
    --------
    >>> xp.result_type(xp.int8, xp.uint8)
    arrayx.int16
    >>> xp.result_type(xp.asarray([1.0], dtype=xp.float32), 1j)
    arrayx.complex64
    >>> xp.result_type(xp.int64, xp.float32)
    arrayx.float32
    """
