"""Set functions of the standard. The order of unique elements, left open by it, is ascending."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections import namedtuple

from . import _core
from ._core import function
from ._creation_functions import asarray

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from ._core import Array

    class UniqueAllResult(NamedTuple):
        values: Array
        indices: Array
        inverse_indices: Array
        counts: Array

    class UniqueCountsResult(NamedTuple):
        values: Array
        counts: Array

    class UniqueInverseResult(NamedTuple):
        values: Array
        inverse_indices: Array

else:
    UniqueAllResult = namedtuple(
        "UniqueAllResult", ["values", "indices", "inverse_indices", "counts"]
    )
    UniqueCountsResult = namedtuple("UniqueCountsResult", ["values", "counts"])
    UniqueInverseResult = namedtuple("UniqueInverseResult", ["values", "inverse_indices"])

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def isin(
    x1: Array | int, x2: Array | int | list[int] | tuple[int, ...], /, *, invert: bool = False
) -> Array:
    """Whether each element of an array is among those of another.

    Parameters
    ----------
    x1, x2 : Array, bool, int, float or complex
        The elements asked for and those to look among; any shapes and dtypes that promote. At
        least one is an array. Those to look among may be a list or a tuple, as in NumPy.
    invert : bool
        Whether to ask for those that are not among them.

    Returns
    -------
    Array
        An array of dtype bool and of the shape of `x1`.

    Raises
    ------
    TypeError
        If the dtypes do not promote.

    Notes
    -----
    NaN is never among them; -0.0 and 0.0 are one.

    Examples
    --------
    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1]))
    array([ True, False,  True])
    >>> xp.isin(xp.asarray([1, 2, 3]), 2, invert=True)
    array([ True, False,  True])
    """
    if isinstance(x2, (list, tuple)):
        x2 = asarray(x2, device=getattr(x1, "device", None))
    return _core.isin(x1, x2, invert)


def unique_all(x: Array, /) -> UniqueAllResult:
    """The distinct elements, where each is first, where each goes, and how often it occurs.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.

    Returns
    -------
    UniqueAllResult
        A named tuple: `values`, the elements, one-dimensional, of the dtype of `x`; `indices`,
        where each stands first in the flattened `x`, int64; `inverse_indices`, for each element
        of `x` its place in `values`, int64, of the shape of `x`; `counts`, how often each stands
        in `x`, int64.

    Notes
    -----
    The elements are in ascending order. Each NaN is distinct; -0.0 and 0.0 are one.

    Examples
    --------
    >>> result = xp.unique_all(xp.asarray([3, 1, 3]))
    >>> result.values
    array([1, 3])
    >>> result.indices
    array([1, 0])
    >>> result.inverse_indices
    array([1, 0, 1])
    >>> result.counts
    array([1, 2])
    """
    return UniqueAllResult(*_core.unique_all(x))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The distinct elements and how often each occurs.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.

    Returns
    -------
    UniqueCountsResult
        A named tuple: `values`, the elements, one-dimensional, of the dtype of `x`; `counts`, how
        often each stands in `x`, int64.

    Notes
    -----
    The elements are in ascending order. Each NaN is distinct; -0.0 and 0.0 are one.

    Examples
    --------
    >>> result = xp.unique_counts(xp.asarray([3, 1, 3]))
    >>> result.values
    array([1, 3])
    >>> result.counts
    array([1, 2])
    """
    return UniqueCountsResult(*_core.unique_counts(x))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The distinct elements and where each goes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.

    Returns
    -------
    UniqueInverseResult
        A named tuple: `values`, the elements, one-dimensional, of the dtype of `x`;
        `inverse_indices`, for each element of `x` its place in `values`, int64, of the shape of
        `x`.

    Notes
    -----
    The elements are in ascending order. Each NaN is distinct; -0.0 and 0.0 are one.

    Examples
    --------
    >>> result = xp.unique_inverse(xp.asarray([3, 1, 3]))
    >>> result.values
    array([1, 3])
    >>> result.inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*_core.unique_inverse(x))


@function
def unique_values(x: Array, /) -> Array:
    """The distinct elements.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype any.

    Returns
    -------
    Array
        One-dimensional, of the dtype of `x`.

    Notes
    -----
    The elements are in ascending order. Each NaN is distinct; -0.0 and 0.0 are one.

    Examples
    --------
    >>> xp.unique_values(xp.asarray([[3, 1], [3, 2]]))
    array([1, 2, 3])
    """
