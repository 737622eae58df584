"""Creation functions beyond the standard."""

from __future__ import annotations

from math import copysign, log10

import arrayx as xp

from ._common import as_array, is_complex, is_inexact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Array, Device, DType
    from ._common import ArrayLike


def array(
    obj: object,
    dtype: DType | None = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
    device: Device | str | None = None,
) -> Array:
    """A new array of what is given.

    Parameters
    ----------
    obj : object
        What `asarray` takes.
    dtype : DType, optional
        Default: as `asarray` finds it.
    copy : bool, optional
        Whether to copy an array: always, never (False) or only where needed (None).
    ndmin : int
        The least rank; dimensions of size one are put in front.
    device : Device or str, optional
        The device to create it on.

    Returns
    -------
    Array
        The array.

    Examples
    --------
    >>> xp.array([1, 2], ndmin=2)
    array([[1, 2]])
    """
    x = xp.asarray(obj, dtype=dtype, copy=copy, device=device)
    return x if x.ndim >= ndmin else xp.reshape(x, (1,) * (ndmin - x.ndim) + x.shape)


def copy(a: ArrayLike) -> Array:
    """A copy of an array.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.

    Returns
    -------
    Array
        The copy.

    Examples
    --------
    >>> xp.copy(xp.asarray([1, 2]))
    array([1, 2])
    """
    return xp.asarray(a, copy=True)


def ascontiguousarray(a: ArrayLike, dtype: DType | None = None) -> Array:
    """The array in row-major order, of rank one at least.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.
    dtype : DType, optional
        The dtype wanted. Default: that of `a`.

    Returns
    -------
    Array
        `a` itself if it is so already, else a copy.

    Examples
    --------
    >>> xp.ascontiguousarray(xp.asarray([[1, 2], [3, 4]]).T)
    array([[1, 3],
           [2, 4]])
    """
    x = xp.asarray(a, dtype=dtype)
    if x.ndim == 0:
        return xp.reshape(x, (1,))
    step = 1
    for size, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if size > 1 and stride not in (step, step * x.itemsize):
            return xp.asarray(x, copy=True)
        step *= size
    return x


def identity(n: int, dtype: DType | None = None) -> Array:
    """The identity matrix.

    Parameters
    ----------
    n : int
        The number of rows and columns.
    dtype : DType, optional
        Default: float64.

    Returns
    -------
    Array
        A matrix of shape (n, n).

    Examples
    --------
    >>> xp.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return xp.eye(n, dtype=dtype)


def logspace(
    start: int | float | complex,
    stop: int | float | complex,
    num: int = 50,
    endpoint: bool = True,
    base: int | float = 10.0,
    dtype: DType | None = None,
) -> Array:
    """Numbers whose logarithms are evenly spaced.

    Parameters
    ----------
    start, stop : scalar
        The exponents of the first and the last number.
    num : int
        How many numbers.
    endpoint : bool
        Whether `stop` is the last exponent; else it is the one that would follow.
    base : scalar
        The base of the logarithm.
    dtype : DType, optional
        Default: float64, or complex128.

    Returns
    -------
    Array
        A one-dimensional array of size `num`.

    Examples
    --------
    >>> xp.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    powers = float(base) ** xp.linspace(start, stop, num, endpoint=endpoint)
    return powers if dtype is None else xp.astype(powers, dtype)


def geomspace(
    start: int | float,
    stop: int | float,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType | None = None,
) -> Array:
    """Numbers each of which is the same multiple of the one before.

    Parameters
    ----------
    start, stop : scalar
        The first and the last number; real, of one sign, and not zero.
    num : int
        How many numbers.
    endpoint : bool
        Whether `stop` is the last number; else it is the one that would follow.
    dtype : DType, optional
        Default: float64.

    Returns
    -------
    Array
        A one-dimensional array of size `num`.

    Examples
    --------
    >>> xp.geomspace(1, 1000, 4)
    array([   1.,   10.,  100., 1000.])
    """
    first, last = float(start), float(stop)
    if first == 0 or last == 0 or (first < 0) != (last < 0):
        raise ValueError(
            f"geomspace: start and stop must be of one sign and not zero, not {start} and {stop}"
        )
    sign = copysign(1.0, first)
    powers = sign * xp.logspace(log10(abs(first)), log10(abs(last)), num, endpoint)
    if num > 0:
        powers[0] = first
    if num > 1 and endpoint:
        powers[-1] = last
    return powers if dtype is None else xp.astype(powers, dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DType | None = None) -> Array:
    """A matrix of ones on and below a diagonal, and zeros above.

    Parameters
    ----------
    N, M : int
        The numbers of rows and columns; `M` is `N` if left out.
    k : int
        The diagonal, counted upwards from the main one.
    dtype : DType, optional
        Default: float64.

    Returns
    -------
    Array
        A matrix of shape (N, M).

    Examples
    --------
    >>> xp.tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return xp.tril(xp.ones((N, N if M is None else M), dtype=dtype), k=k)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """The Vandermonde matrix, whose columns are the powers of a vector.

    Parameters
    ----------
    x : Array
        A one-dimensional array.
    N : int, optional
        The number of columns. Default: the size of `x`.
    increasing : bool
        Whether the powers increase from left to right.

    Returns
    -------
    Array
        A matrix of shape (len(x), N), of dtype int64, float64 or complex128.

    Examples
    --------
    >>> xp.vander(xp.asarray([2, 3]), 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError(f"vander: x has rank {x.ndim}; it must be one-dimensional")
    n = x.shape[0] if N is None else N
    if is_complex(x):
        dtype = xp.complex128
    else:
        dtype = xp.float64 if is_inexact(x) or x.dtype == xp.uint64 else xp.int64
    factors = xp.repeat(xp.astype(x, dtype)[:, None], n, axis=1)
    factors[:, :1] = 1
    powers = xp.cumulative_prod(factors, axis=1) if n else factors
    return powers if increasing else xp.flip(powers, axis=1)


def indices(
    dimensions: tuple[int, ...], dtype: DType | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """The indices of the elements of a grid.

    Parameters
    ----------
    dimensions : tuple of int
        The shape of the grid.
    dtype : DType, optional
        Default: int64.
    sparse : bool
        Whether to give one array per dimension, to be broadcast, instead of one for all.

    Returns
    -------
    Array or tuple of Array
        An array of shape ``(len(dimensions), *dimensions)``.

    Examples
    --------
    >>> xp.indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    dtype = xp.int64 if dtype is None else dtype
    shape = tuple(dimensions)
    rank = len(shape)
    grids = tuple(
        [
            xp.reshape(xp.arange(n, dtype=dtype), (1,) * i + (n,) + (1,) * (rank - 1 - i))
            for i, n in enumerate(shape)
        ]
    )
    if sparse:
        return grids
    if not grids:
        return xp.empty((0,), dtype=dtype)
    return xp.stack([xp.broadcast_to(grid, shape) for grid in grids])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the lower triangle of a matrix.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns; `m` is `n` if left out.
    k : int
        The diagonal that belongs to it still.

    Returns
    -------
    tuple of Array
        The rows and the columns.

    Examples
    --------
    >>> xp.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    rows, columns = xp.nonzero(xp.tri(n, m, k=k, dtype=xp.bool))
    return rows, columns


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """The indices of the upper triangle of a matrix.

    Parameters
    ----------
    n, m : int
        The numbers of rows and columns; `m` is `n` if left out.
    k : int
        The diagonal that belongs to it still.

    Returns
    -------
    tuple of Array
        The rows and the columns.

    Examples
    --------
    >>> xp.triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    rows, columns = xp.nonzero(xp.logical_not(xp.tri(n, m, k=k - 1, dtype=xp.bool)))
    return rows, columns
