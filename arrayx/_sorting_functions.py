"""Sorting functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array

__all__ = ["argsort", "sort"]


@function
def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The positions of elements in sorted order.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axis : int
        The axis to sort along.
    descending : bool
        Whether the largest element comes first.
    stable : bool
        Whether equal elements keep their order. They always do here, descending too.

    Returns
    -------
    Array
        Positions along the axis, int64, of the shape of `x`.

    Raises
    ------
    IndexError
        If the axis is out of range.

    Notes
    -----
    NaN comes last in either direction. Complex numbers are ordered by their real, then their
    imaginary parts.

    Examples
    --------
    >>> xp.argsort(xp.asarray([3.0, 1.0, 2.0]))
    array([1, 2, 0])
    >>> xp.argsort(xp.asarray([1, 2, 1]), descending=True)
    array([1, 0, 2])
    """


@function
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """A sorted copy of an array.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axis : int
        The axis to sort along.
    descending : bool
        Whether the largest element comes first.
    stable : bool
        Whether equal elements keep their order. They always do here, descending too.

    Returns
    -------
    Array
        An array of the shape and dtype of `x`.

    Raises
    ------
    IndexError
        If the axis is out of range.

    Notes
    -----
    NaN comes last in either direction. Complex numbers are ordered by their real, then their
    imaginary parts.

    Examples
    --------
    >>> xp.sort(xp.asarray([3.0, xp.nan, 2.0]))
    array([ 2.,  3., nan])
    >>> xp.sort(xp.asarray([[3, 1], [2, 4]]), axis=0, descending=True)
    array([[3, 4],
           [2, 1]])
    """
