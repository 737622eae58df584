"""Linear algebra functions of the standard's main namespace."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._core import Array

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


@function
def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product, as by the operator @.

    Parameters
    ----------
    x1 : Array
        Matrices of shape (..., M, K), or a vector of shape (K,); dtype numeric.
    x2 : Array
        Matrices of shape (..., K, N), or a vector of shape (K,); dtype numeric.

    Returns
    -------
    Array
        Products of shape (..., M, N), the leading dimensions broadcast, of the promoted dtype. A
        vector counts as a row (x1) or a column (x2) whose dimension the result lacks.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If an array has rank 0 or the shapes do not fit.

    Notes
    -----
    Complex numbers are not conjugated. Integers wrap around on overflow.

    Examples
    --------
    >>> x = xp.asarray([[1, 2], [3, 4]])
    >>> xp.matmul(x, x)
    array([[ 7, 10],
           [15, 22]])
    >>> xp.matmul(x, xp.asarray([1, 1]))
    array([3, 7])
    """


@function
def matrix_transpose(x: Array, /) -> Array:
    """Matrices with rows and columns exchanged, as a view.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N) and any dtype.

    Returns
    -------
    Array
        A view of shape (..., N, M).

    Raises
    ------
    ValueError
        If `x` has less than two dimensions.

    Examples
    --------
    >>> xp.matrix_transpose(xp.asarray([[1, 2, 3], [4, 5, 6]]))
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """


@function
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Sum of products over pairs of axes of two arrays.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of any shape; dtype numeric.
    axes : int or tuple of two sequences of int
        An int n pairs the last n axes of `x1` with the first n of `x2`, in order; 0 gives the outer
        product. Two sequences name the axes of `x1` and of `x2` that make pairs.

    Returns
    -------
    Array
        An array of the promoted dtype, whose shape is that of the other axes of `x1`, then of `x2`.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If paired axes differ in size, the sequences differ in length or name an axis twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Complex numbers are not conjugated.

    Examples
    --------
    >>> x = xp.reshape(xp.arange(6), (2, 3))
    >>> xp.tensordot(x, x, axes=2)
    array(55)
    >>> xp.tensordot(x, x, axes=((1,), (1,)))
    array([[ 5, 14],
           [14, 50]])
    """


@function
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Dot products of vectors along an axis; those of the first array are conjugated.

    Parameters
    ----------
    x1, x2 : Array
        Arrays that have the same size along `axis` and otherwise broadcast; dtype numeric.
    axis : int
        The axis of the vectors, counted from the back: in [-min(x1.ndim, x2.ndim), -1].

    Returns
    -------
    Array
        An array of the promoted dtype and of the broadcast shape without the axis.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If the sizes along the axis differ or the other dimensions do not broadcast.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.vecdot(xp.asarray([1, 2, 3]), xp.asarray([[1, 0, 0], [1, 1, 1]]))
    array([1, 6])
    >>> xp.vecdot(xp.asarray([1j]), xp.asarray([1j]))
    array(1.+0.j)
    """
