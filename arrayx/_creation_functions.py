"""Creation functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ._core import Array, Device, DType

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


@function
def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """Evenly spaced values in the half-open interval [start, stop).

    Parameters
    ----------
    start : int or float
        First value; the end of the interval, which then begins at 0, if `stop` is not given.
    stop : int, float or None
        End of the interval, which is not part of it.
    step : int or float
        Distance of neighbouring values; negative for falling ones, not 0.
    dtype : DType, optional
        Numeric. Default: int64 if all arguments are ints, else float64.
    device : Device or str, optional
        Where the array is made. Default: the default device.

    Returns
    -------
    Array
        One-dimensional, of length ceil((stop - start) / step), or empty if that is negative.

    Raises
    ------
    ValueError
        If `step` is 0, an argument is infinite or NaN, or the length exceeds 2**63 - 1.
    OverflowError
        If the first or the last value does not fit an integer `dtype`.
    TypeError
        If an argument is complex or `dtype` is bool.

    Notes
    -----
    Integers are exact. The i-th floating-point value is computed as start + i * step, so errors do
    not add up. With an integer `dtype` and float arguments the values are truncated.

    Examples
    --------
    >>> xp.arange(5)
    array([0, 1, 2, 3, 4])
    >>> xp.arange(10, 0, -3)
    array([10,  7,  4,  1])
    >>> xp.arange(0, 1, 0.25, dtype=xp.float32)
    array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """


@function
def asarray(
    obj: object,
    /,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
) -> Array:
    """Make an array of an object, sharing its memory where possible.

    Parameters
    ----------
    obj : Array, scalar, nested sequence, or object with DLPack or a buffer
        An array, a Python scalar, a sequence of such (nested evenly), or anything that supports
        DLPack, the buffer protocol or ``__cuda_array_interface__``, such as NumPy's arrays, bytes
        or array.array.
    dtype : DType, optional
        Default: that of `obj`; for Python scalars bool, int64, float64 or complex128, the first of
        these that holds all of them.
    device : Device or str, optional
        Default: the device of `obj` if it has one, else the default device.
    copy : bool, optional
        True always copies, False never does, None only where it cannot be avoided.

    Returns
    -------
    Array
        An array with the elements of `obj`.

    Raises
    ------
    ValueError
        If nested sequences differ in length, or `copy` is False and only a copy will do.
    OverflowError
        If an integer does not fit `dtype`.
    TypeError
        If `obj` cannot become an array.

    Examples
    --------
    >>> xp.asarray([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    >>> xp.asarray([1, 2.5], dtype=xp.float32)
    array([1. , 2.5], dtype=float32)
    >>> xp.asarray(True)
    array(True)
    """


@function
def empty(
    shape: int | tuple[int, ...],
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """An array whose elements are not set to anything.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of at least 0.
    dtype : DType, optional
        Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        A row-major array with arbitrary elements.

    Raises
    ------
    ValueError
        If a size is negative or the size of the whole exceeds 2**63 - 1 bytes.
    MemoryError
        If the device has not that much memory.

    Examples
    --------
    >>> xp.empty((2, 3)).shape
    (2, 3)
    """


@function
def empty_like(
    x: Array, /, *, dtype: DType | None = None, device: Device | str | None = None
) -> Array:
    """An array of the shape of another whose elements are not set to anything.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    dtype : DType, optional
        Default: that of `x`.
    device : Device or str, optional
        Default: that of `x`.

    Returns
    -------
    Array
        A row-major array of the shape of `x` with arbitrary elements.

    Examples
    --------
    >>> xp.empty_like(xp.zeros((2, 3))).shape
    (2, 3)
    """


@function
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """A matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns. Default: `n_rows`.
    k : int
        Which diagonal: 0 the main one, positive ones above it, negative ones below.
    dtype : DType, optional
        Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        An array of shape (n_rows, n_cols).

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> xp.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """


@function
def from_dlpack(
    x: object, /, *, device: Device | str | None = None, copy: bool | None = None
) -> Array:
    """Make an array of another library's by DLPack, sharing its memory where possible.

    Parameters
    ----------
    x : object
        An object with the methods ``__dlpack__`` and ``__dlpack_device__``.
    device : Device or str, optional
        Default: the device of `x`.
    copy : bool, optional
        True always copies, False never does, None only where it cannot be avoided.

    Returns
    -------
    Array
        An array with the elements of `x`; read-only if the memory shared is.

    Raises
    ------
    BufferError
        If `x` cannot be exported, or `copy` is False and only a copy will do.
    AttributeError
        If `x` does not support DLPack.

    Examples
    --------
    >>> x = xp.asarray([1, 2, 3])
    >>> y = xp.from_dlpack(x)
    >>> y[0] = 10
    >>> x
    array([10,  2,  3])
    """


@function
def full(
    shape: int | tuple[int, ...],
    fill_value: bool | int | float | complex | Array,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """An array whose elements are all one value.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of at least 0.
    fill_value : bool, int, float, complex or Array
        The value; an array must have rank 0.
    dtype : DType, optional
        Default: bool, int64, float64 or complex128, by the kind of `fill_value`.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        A row-major array.

    Raises
    ------
    ValueError
        If a size is negative or the size of the whole exceeds 2**63 - 1 bytes.
    MemoryError
        If the device has not that much memory.
    TypeError
        If `dtype` is of a lower kind than `fill_value`, as int64 is for 0.5.
    OverflowError
        If an integer does not fit `dtype`.

    Examples
    --------
    >>> xp.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    >>> xp.full(3, xp.inf, dtype=xp.float32)
    array([inf, inf, inf], dtype=float32)
    """


@function
def full_like(
    x: Array,
    /,
    fill_value: bool | int | float | complex | Array,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    shape: int | tuple[int, ...] | None = None,
) -> Array:
    """An array of the shape of another whose elements are all one value.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    fill_value : bool, int, float, complex or Array
        The value; an array must have rank 0.
    dtype : DType, optional
        Default: that of `x`.
    device : Device or str, optional
        Default: that of `x`.
    shape : int or tuple of int, optional
        Default: that of `x`; not in the standard, but in NumPy.

    Returns
    -------
    Array
        A row-major array.

    Raises
    ------
    TypeError
        If the dtype is of a lower kind than `fill_value`, as int64 is for 0.5.
    OverflowError
        If an integer does not fit the dtype.

    Examples
    --------
    >>> xp.full_like(xp.asarray([1.0, 2.0]), 7)
    array([7., 7.])
    """


@function
def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    endpoint: bool = True,
) -> Array:
    """A number of evenly spaced values over an interval.

    Parameters
    ----------
    start : int, float or complex
        First value.
    stop : int, float or complex
        End of the interval: the last value if `endpoint` is True.
    num : int
        How many values, at least 0.
    dtype : DType, optional
        Floating. Default: complex128 if `start` or `stop` is complex, else float64.
    device : Device or str, optional
        Default: the default device.
    endpoint : bool
        Whether `stop` is the last value; if not, the values are the first `num` of `num` + 1.

    Returns
    -------
    Array
        One-dimensional, of length `num`.

    Raises
    ------
    ValueError
        If `num` is negative.
    TypeError
        If `dtype` is not floating, or real though `start` or `stop` is complex.

    Examples
    --------
    >>> xp.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> xp.linspace(0, 1, 4, endpoint=False)
    array([0.  , 0.25, 0.5 , 0.75])
    """


@function
def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Coordinate arrays of the grid that one-dimensional arrays span.

    Parameters
    ----------
    *arrays : Array
        One-dimensional arrays of any dtype: the coordinates along each dimension.
    indexing : {'xy', 'ij'}
        With 'ij' the i-th array varies along dimension i; with 'xy' the first two are exchanged.

    Returns
    -------
    tuple of Array
        For each argument an array of its dtype; all have one shape. They are copies.

    Raises
    ------
    ValueError
        If an array is not one-dimensional or `indexing` is another word.

    Examples
    --------
    >>> x, y = xp.meshgrid(xp.asarray([1, 2, 3]), xp.asarray([10, 20]))
    >>> x
    array([[1, 2, 3],
           [1, 2, 3]])
    >>> y
    array([[10, 10, 10],
           [20, 20, 20]])
    """


@function
def ones(
    shape: int | tuple[int, ...],
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """An array of ones.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of at least 0.
    dtype : DType, optional
        Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        A row-major array.

    Raises
    ------
    ValueError
        If a size is negative or the size of the whole exceeds 2**63 - 1 bytes.
    MemoryError
        If the device has not that much memory.

    Examples
    --------
    >>> xp.ones((2, 3), dtype=xp.int32)
    array([[1, 1, 1],
           [1, 1, 1]], dtype=int32)
    """


@function
def ones_like(
    x: Array, /, *, dtype: DType | None = None, device: Device | str | None = None
) -> Array:
    """An array of ones of the shape of another.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    dtype : DType, optional
        Default: that of `x`.
    device : Device or str, optional
        Default: that of `x`.

    Returns
    -------
    Array
        A row-major array of the shape of `x`.

    Examples
    --------
    >>> xp.ones_like(xp.asarray([[1, 2], [3, 4]]))
    array([[1, 1],
           [1, 1]])
    """


@function
def tril(x: Array, /, *, k: int = 0) -> Array:
    """The lower triangles of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N) and any dtype.
    k : int
        The last diagonal that is kept: 0 the main one, positive ones above it, negative ones below.

    Returns
    -------
    Array
        A copy of `x` with zeros above the k-th diagonals.

    Raises
    ------
    ValueError
        If `x` has less than two dimensions.

    Examples
    --------
    >>> xp.tril(xp.ones((3, 3), dtype=xp.int64))
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """


@function
def triu(x: Array, /, *, k: int = 0) -> Array:
    """The upper triangles of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N) and any dtype.
    k : int
        The first diagonal that is kept: 0 the main one, positive ones above it, negative ones
        below.

    Returns
    -------
    Array
        A copy of `x` with zeros below the k-th diagonals.

    Raises
    ------
    ValueError
        If `x` has less than two dimensions.

    Examples
    --------
    >>> xp.triu(xp.ones((3, 3), dtype=xp.int64), k=1)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """


@function
def zeros(
    shape: int | tuple[int, ...],
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """An array of zeros.

    Parameters
    ----------
    shape : int or tuple of int
        Sizes of at least 0.
    dtype : DType, optional
        Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        A row-major array.

    Raises
    ------
    ValueError
        If a size is negative or the size of the whole exceeds 2**63 - 1 bytes.
    MemoryError
        If the device has not that much memory.

    Examples
    --------
    >>> xp.zeros(3)
    array([0., 0., 0.])
    >>> xp.zeros((2, 2), dtype=xp.bool)
    array([[False, False],
           [False, False]])
    """


@function
def zeros_like(
    x: Array, /, *, dtype: DType | None = None, device: Device | str | None = None
) -> Array:
    """An array of zeros of the shape of another.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    dtype : DType, optional
        Default: that of `x`.
    device : Device or str, optional
        Default: that of `x`.

    Returns
    -------
    Array
        A row-major array of the shape of `x`.

    Examples
    --------
    >>> xp.zeros_like(xp.asarray([[1, 2], [3, 4]]))
    array([[0, 0],
           [0, 0]])
    """
