"""Searching functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from ._core import Array

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
]


@function
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the largest element, of all or along an axis.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype bool or real-valued.
    axis : int, optional
        The axis to search along. Default: the flattened array is searched.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        Positions, int64: of the first of equal elements, or of the first NaN if there is one.

    Raises
    ------
    TypeError
        If `x` is not bool or real-valued.
    ValueError
        If there is no element to choose from.
    IndexError
        If an axis is out of range.

    Examples
    --------
    >>> xp.argmax(xp.asarray([3, 1, 3]))
    array(0)
    >>> xp.argmax(xp.asarray([[3, 1], [2, 5]]), axis=1)
    array([0, 1])
    """


@function
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The position of the smallest element, of all or along an axis.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype bool or real-valued.
    axis : int, optional
        The axis to search along. Default: the flattened array is searched.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        Positions, int64: of the first of equal elements, or of the first NaN if there is one.

    Raises
    ------
    TypeError
        If `x` is not bool or real-valued.
    ValueError
        If there is no element to choose from.
    IndexError
        If an axis is out of range.

    Examples
    --------
    >>> xp.argmin(xp.asarray([3, 1, 3]))
    array(1)
    >>> xp.argmin(xp.asarray([[3, 1], [2, 5]]), axis=1)
    array([1, 0])
    """


@function
def count_nonzero(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """The number of elements that are not zero, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        Counts, int64.

    Raises
    ------
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    NaN is not zero. A complex number is not zero if either part is not.

    Examples
    --------
    >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]))
    array(3)
    >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0)
    array([1, 2])
    """


@function
def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The positions of elements that are not zero.

    Parameters
    ----------
    x : Array
        Array of at least one dimension and any dtype.

    Returns
    -------
    tuple of Array
        For each dimension the positions along it, int64, in row-major order.

    Raises
    ------
    ValueError
        If `x` has rank 0.

    Examples
    --------
    >>> xp.nonzero(xp.asarray([[0, 1], [2, 0]]))
    (array([0, 1]), array([1, 0]))
    """


@function
def searchsorted(
    x1: Array,
    x2: Array | int | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Where to insert values into a sorted array so that it stays sorted.

    Parameters
    ----------
    x1 : Array
        One-dimensional; dtype real-valued. Sorted, or brought into order by `sorter`.
    x2 : Array, int or float
        The values; any shape, dtype real-valued.
    side : {'left', 'right'}
        Whether an equal element comes after the value ('left') or before it.
    sorter : Array, optional
        The positions that sort `x1`, of its shape; dtype integer.

    Returns
    -------
    Array
        Positions in [0, len(x1)], int64, of the shape of `x2`.

    Raises
    ------
    ValueError
        If `x1` is not one-dimensional, `sorter` has another shape, or `side` is another word.
    IndexError
        If `sorter` holds an index that is out of range.
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.

    Notes
    -----
    NaN is ordered last, as `sort` does.

    Examples
    --------
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([0, 3, 6]))
    array([0, 1, 3])
    >>> xp.searchsorted(xp.asarray([1, 3, 5]), 3, side="right")
    array(2)
    """


@function
def where(
    condition: Array,
    x1: Array | int | float | complex | bool,
    x2: Array | int | float | complex | bool,
    /,
) -> Array:
    """Elements of one array where a condition holds, of another elsewhere.

    Parameters
    ----------
    condition : Array
        Array of any shape; dtype bool.
    x1, x2 : Array, bool, int, float or complex
        Values where the condition is True and where it is False; any dtype. At least one is an
        array.

    Returns
    -------
    Array
        An array of the broadcast shape and the promoted dtype of `x1` and `x2`.

    Raises
    ------
    TypeError
        If `condition` is not bool, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> x = xp.asarray([-1.0, 2.0, -3.0])
    >>> xp.where(x > 0, x, 0.0)
    array([0., 2., 0.])
    """
