"""Indexing functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array

__all__ = ["take", "take_along_axis"]


@function
def take(x: Array, indices: Array | int, /, *, axis: int | None = None) -> Array:
    """Elements, or whole subarrays, at given positions along an axis.

    Parameters
    ----------
    x : Array
        Array of at least one dimension and any dtype.
    indices : Array or int
        One-dimensional; dtype integer. Negative indices count from the end. The standard has no int
        here; NumPy does, for an element or subarray without the axis.
    axis : int, optional
        The axis the positions are along. It may be left out if `x` is one-dimensional.

    Returns
    -------
    Array
        A copy, of the shape of `x` but for the axis, which has the size of `indices`.

    Raises
    ------
    IndexError
        If an index or the axis is out of range; on a GPU an index where the host waits next.
    ValueError
        If `axis` is None and `x` is not one-dimensional.
    TypeError
        If `indices` is not of an integer dtype.

    Examples
    --------
    >>> x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    >>> xp.take(x, xp.asarray([-1, 0]), axis=1)
    array([[3, 1],
           [6, 4]])
    """


@function
def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Elements at positions that are given for each line along an axis.

    Parameters
    ----------
    x : Array
        Array of at least one dimension and any dtype.
    indices : Array
        Array of the same rank; dtype integer. The other dimensions are broadcast with those of `x`.
        Negative indices count from the end.
    axis : int
        The axis the positions are along.

    Returns
    -------
    Array
        A copy, of the broadcast shape but for the axis, which has its size in `indices`.

    Raises
    ------
    IndexError
        If an index or the axis is out of range; on a GPU an index where the host waits next.
    ValueError
        If the shapes do not fit.
    TypeError
        If `indices` is not of an integer dtype.

    Examples
    --------
    >>> x = xp.asarray([[3, 1, 2], [6, 5, 4]])
    >>> xp.take_along_axis(x, xp.argsort(x), axis=-1)
    array([[1, 2, 3],
           [4, 5, 6]])
    """
