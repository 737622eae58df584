"""Utility functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from . import _core
from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array

__all__ = [
    "all",
    "any",
    "diff",
]


@function
def all(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    out: Array | None = None,
) -> Array:
    """Whether all elements are non-zero, of the whole or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.
    out : Array, optional
        An array to write the result to, which is returned then. NumPy's function of this name
        hands it on to containers, and xarray's to this one; not in the standard.

    Returns
    -------
    Array
        An array of dtype bool; True of nothing.

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
    >>> xp.all(xp.asarray([[True, False], [True, True]]))
    array(False)
    >>> xp.all(xp.asarray([[1, 0], [2, 3]]), axis=1)
    array([False,  True])
    """


@function
def any(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    out: Array | None = None,
) -> Array:
    """Whether any element is non-zero, of the whole or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.
    out : Array, optional
        An array to write the result to, which is returned then. NumPy's function of this name
        hands it on to containers, and xarray's to this one; not in the standard.

    Returns
    -------
    Array
        An array of dtype bool; False of nothing.

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
    >>> xp.any(xp.asarray([[True, False], [True, True]]))
    array(True)
    >>> xp.any(xp.asarray([[1, 0], [2, 3]]), axis=1)
    array([True, True])
    """


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | int | float | complex | None = None,
    append: Array | int | float | complex | None = None,
) -> Array:
    """The n-th differences of neighbouring elements along an axis.

    Parameters
    ----------
    x : Array
        Array of at least one dimension; dtype numeric.
    axis : int
        The axis to go along.
    n : int
        How often differences are taken, at least 0.
    prepend, append : Array, int, float or complex, optional
        Put before and after `x` along the axis first, also for n = 0. Their shape is that of `x`
        but for the axis. The standard has no scalars here; NumPy does, for one element per line.

    Returns
    -------
    Array
        An array that is shorter along the axis by n, and at least 0 long.

    Raises
    ------
    TypeError
        If `x` is not numeric.
    ValueError
        If `n` is negative or the shapes do not fit.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.diff(xp.asarray([1, 4, 9, 16]))
    array([3, 5, 7])
    >>> xp.diff(xp.asarray([1, 4, 9, 16]), n=2)
    array([2, 2])
    >>> xp.diff(xp.asarray([1, 4, 9]), prepend=xp.asarray([0]))
    array([1, 3, 5])
    """
    return _core.diff(x, axis, n, edge(x, axis, prepend), edge(x, axis, append))


def edge(x: Array, axis: int, value: Array | int | float | complex | None) -> Array | None:
    """What is joined to `x` along the axis: a scalar is repeated along the other dimensions."""
    if value is None or isinstance(value, _core.Array):
        return value
    shape = list(x.shape)
    if -x.ndim <= axis < x.ndim:  # otherwise the function itself says what is wrong
        shape[axis] = 1
    return _core.full(tuple(shape), value, x.dtype, x.device)
