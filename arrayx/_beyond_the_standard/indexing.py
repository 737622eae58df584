"""Indexing, searching, sorting and set functions beyond the standard."""

from __future__ import annotations

from math import prod

import arrayx as xp

from .._core import Array
from ._common import as_array, as_pair, axis_within, is_inexact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._common import ArrayLike


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """The results of a function of vectors, for each line along an axis.

    Parameters
    ----------
    func1d : callable
        Called once per line with a one-dimensional array; results must have one shape.
    axis : int
        The axis of the lines.
    arr : Array
        Array of one dimension at least.
    *args, **kwargs
        What else `func1d` is called with.

    Returns
    -------
    Array
        The results, whose dimensions stand in place of the axis.

    Examples
    --------
    >>> xp.apply_along_axis(xp.cumsum, 1, xp.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [3, 7]])
    """
    x = as_array(arr)
    axis = axis_within(axis, x.ndim)
    lines = xp.moveaxis(x, axis, -1)
    others = lines.shape[:-1]
    if prod(others) == 0:
        raise ValueError(f"apply_along_axis: arr has shape {x.shape}, so there is no line in it")
    flat = xp.reshape(lines, (prod(others), lines.shape[-1]))
    results = xp.stack([as_array(func1d(line, *args, **kwargs)) for line in xp.unstack(flat)])
    rank = results.ndim - 1
    result = xp.reshape(results, others + results.shape[1:])
    sources = tuple(range(len(others), len(others) + rank))
    return xp.moveaxis(result, sources, tuple(range(axis, axis + rank)))


def argwhere(a: ArrayLike) -> Array:
    """The indices of the elements that are not zero, a row for each.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.

    Returns
    -------
    Array
        An int64 array of shape (count, a.ndim).

    Examples
    --------
    >>> xp.argwhere(xp.asarray([[0, 1], [2, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    x = as_array(a)
    if x.ndim == 0:
        return xp.empty((int(bool(x)), 0), dtype=xp.int64, device=x.device)
    return xp.stack(xp.nonzero(x), axis=1)


def flatnonzero(a: ArrayLike) -> Array:
    """The positions in the flattened array of the elements that are not zero.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.

    Returns
    -------
    Array
        A one-dimensional int64 array.

    Examples
    --------
    >>> xp.flatnonzero(xp.asarray([[0, 1], [2, 0]]))
    array([1, 2])
    """
    return xp.nonzero(xp.ravel(a))[0]


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> Array:
    """For each element the bin it lies in.

    Parameters
    ----------
    x : Array
        Array of a real dtype.
    bins : Array
        The edges, a one-dimensional array that rises or falls throughout.
    right : bool
        Whether a bin holds its right edge rather than its left one.

    Returns
    -------
    Array
        The number of the edge to the right, 0 to len(bins).

    Examples
    --------
    >>> xp.digitize(xp.asarray([0.2, 6.4, 3.0]), xp.asarray([0.0, 1.0, 2.5, 4.0]))
    array([1, 4, 3])
    """
    x = as_array(x)
    edges = as_array(bins, x.device)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins has rank {edges.ndim}; it must be one-dimensional")
    if xp.all(edges[1:] >= edges[:-1]):
        return xp.searchsorted(edges, x, side="left" if right else "right")
    if not xp.all(edges[1:] <= edges[:-1]):
        raise ValueError("digitize: bins must rise or fall throughout")
    return edges.shape[0] - xp.searchsorted(xp.flip(edges), x, side="left" if right else "right")


def fill_diagonal(a: Array, val: ArrayLike) -> None:
    """Set the main diagonal of an array, in place.

    Parameters
    ----------
    a : Array
        A matrix, or an array of more dimensions all of one size.
    val : Array
        A scalar, or as many values as the diagonal has.

    Examples
    --------
    >>> x = xp.zeros((2, 2))
    >>> xp.fill_diagonal(x, 5)
    >>> x
    array([[5., 0.],
           [0., 5.]])
    """
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError(
            f"fill_diagonal: a has shape {a.shape}; it must be a matrix, or all of one size"
        )
    along = xp.arange(min(a.shape), device=a.device)
    a[(along,) * a.ndim] = val


def put_along_axis(arr: Array, indices: Array, values: ArrayLike, axis: int | None) -> None:
    """Set elements at positions that are given for each line along an axis, in place.

    Parameters
    ----------
    arr : Array
        The array to write.
    indices : Array
        Array of the same rank; dtype integer. It is broadcast along the other dimensions.
    values : Array
        What is written; it is broadcast to the indices.
    axis : int or None
        The axis the positions are along; None means those of the flattened array.

    Examples
    --------
    >>> x = xp.asarray([[10, 30, 20], [60, 40, 50]])
    >>> xp.put_along_axis(x, xp.asarray([[1], [0]]), 99, axis=1)
    >>> x
    array([[10, 99, 20],
           [99, 40, 50]])
    """
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("put_along_axis: indices must be one-dimensional if axis is None")
        arr[
            tuple(xp.unravel_index(xp.where(indices < 0, indices + arr.size, indices), arr.shape))
        ] = values
        return
    axis = axis_within(axis, arr.ndim)
    if indices.ndim != arr.ndim:
        raise ValueError(f"put_along_axis: indices has rank {indices.ndim}, arr {arr.ndim}")
    rank = arr.ndim
    grids = [
        xp.reshape(xp.arange(n, device=arr.device), (1,) * i + (n,) + (1,) * (rank - 1 - i))
        for i, n in enumerate(arr.shape)
    ]
    grids[axis] = indices
    arr[tuple(grids)] = values


def ravel_multi_index(multi_index: Sequence[ArrayLike], dims: Sequence[int]) -> Array:
    """Positions in the flattened array, from indices for each dimension.

    Parameters
    ----------
    multi_index : sequence of Array
        An array of indices for each dimension.
    dims : sequence of int
        The shape of the array.

    Returns
    -------
    Array
        An int64 array of the broadcast shape.

    Examples
    --------
    >>> xp.ravel_multi_index((xp.asarray([0, 1]), xp.asarray([2, 1])), (2, 3))
    array([2, 4])
    """
    if len(multi_index) != len(dims) or not len(dims):
        raise ValueError(
            f"ravel_multi_index: there are {len(multi_index)} arrays of indices for {len(dims)} "
            "dimensions"
        )
    position: Any = 0
    for index, size in zip(multi_index, dims, strict=True):
        index = xp.astype(as_array(index), xp.int64)
        if xp.any((index < 0) | (index >= size)):
            raise ValueError(f"ravel_multi_index: an index is outside of [0, {size})")
        position = position * size + index
    return as_array(position)


def unravel_index(indices: ArrayLike, shape: int | Sequence[int]) -> tuple[Array, ...]:
    """Indices for each dimension, from positions in the flattened array.

    Parameters
    ----------
    indices : Array
        Positions; dtype integer.
    shape : tuple of int
        The shape of the array.

    Returns
    -------
    tuple of Array
        An int64 array for each dimension.

    Examples
    --------
    >>> xp.unravel_index(xp.asarray([2, 4]), (2, 3))
    (array([0, 1]), array([2, 1]))
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    rest = xp.astype(as_array(indices), xp.int64)
    if xp.any((rest < 0) | (rest >= prod(sizes))):
        raise ValueError(f"unravel_index: a position is outside of [0, {prod(sizes)})")
    result: list[Array] = []
    for size in reversed(sizes):
        result.append(rest % size)
        rest = rest // size
    return tuple(reversed(result))


def lexsort(keys: Sequence[ArrayLike] | Array, axis: int = -1) -> Array:
    """The positions that sort by several keys, the last of which counts most.

    Parameters
    ----------
    keys : sequence of Array
        Arrays of one shape; real dtypes.
    axis : int
        The axis to sort along.

    Returns
    -------
    Array
        An int64 array of the shape of a key.

    Examples
    --------
    >>> xp.lexsort([xp.asarray([9, 4, 0]), xp.asarray([1, 0, 1])])
    array([1, 2, 0])
    """
    arrays = [as_array(key) for key in keys]
    if not arrays:
        raise ValueError("lexsort: keys is empty; there must be one key at least")
    if arrays[0].ndim == 0:
        return xp.zeros((), dtype=xp.int64, device=arrays[0].device)
    order = xp.argsort(arrays[0], axis=axis)
    for key in arrays[1:]:
        step = xp.argsort(xp.take_along_axis(key, order, axis=axis), axis=axis)
        order = xp.take_along_axis(order, step, axis=axis)
    return order


def partition(a: ArrayLike, kth: int | Sequence[int], axis: int | None = -1) -> Array:
    """An array in which the elements at given positions are those that sorting puts there.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    kth : int or sequence of int
        The positions.
    axis : int or None
        The axis to go along; None flattens `a`.

    Returns
    -------
    Array
        A copy, which is sorted altogether.

    Examples
    --------
    >>> xp.partition(xp.asarray([3, 4, 2, 1]), 1)[1]
    array(2)
    """
    x = as_array(a)
    if axis is None:
        x, axis = xp.ravel(x), 0
    check_positions(kth, x, axis)
    return xp.sort(x, axis=axis)


def argpartition(a: ArrayLike, kth: int | Sequence[int], axis: int | None = -1) -> Array:
    """The positions of the elements in a partition.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    kth : int or sequence of int
        The positions that sorting would fill so.
    axis : int or None
        The axis to go along; None flattens `a`.

    Returns
    -------
    Array
        An int64 array, which sorts altogether.

    Examples
    --------
    >>> xp.argpartition(xp.asarray([3, 4, 2, 1]), 1)[1]
    array(2)
    """
    x = as_array(a)
    if axis is None:
        x, axis = xp.ravel(x), 0
    check_positions(kth, x, axis)
    return xp.argsort(x, axis=axis)


def check_positions(kth: int | Sequence[int], x: Array, axis: int) -> None:
    n = x.shape[axis_within(axis, x.ndim)]
    for position in (kth,) if isinstance(kth, int) else kth:
        if not -n <= int(position) < n:
            raise ValueError(f"kth is {kth}; it must be in [{-n}, {n})")


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """The distinct elements, or subarrays along an axis, sorted.

    Parameters
    ----------
    ar : Array
        Array of any dtype.
    return_index : bool
        Whether to return where each comes first.
    return_inverse : bool
        Whether to return which of them each element is.
    return_counts : bool
        Whether to return how often each comes.
    axis : int, optional
        The axis of the subarrays; None means the elements.
    equal_nan : bool
        Whether NaN equals NaN; of elements only.

    Returns
    -------
    Array or tuple of Array
        The values, then what was asked for.

    Examples
    --------
    >>> xp.unique(xp.asarray([3, 1, 3]), return_counts=True)
    (array([1, 3]), array([1, 2]))
    """
    x = as_array(ar)
    if axis is None or (x.ndim == 1 and axis_within(axis, 1) == 0):
        values, first, inverse, counts = xp.unique_all(x)
        if equal_nan and is_inexact(x) and values.size:
            # NaNs are distinct to the standard, and come last.
            numbers = values.size - int(xp.count_nonzero(xp.isnan(values)))
            if numbers < values.size - 1:
                nans = xp.sum(counts[numbers:], keepdims=True)
                first = xp.concat((first[:numbers], xp.min(first[numbers:], keepdims=True)))
                counts = xp.concat((counts[:numbers], nans))
                inverse = xp.minimum(inverse, numbers)
                values = values[: numbers + 1]
    else:
        values, first, inverse, counts = unique_along(x, axis_within(axis, x.ndim))
    asked = [(first, return_index), (inverse, return_inverse), (counts, return_counts)]
    wanted = [result for result, is_asked in asked if is_asked]
    return (values, *wanted) if wanted else values


def unique_along(x: Array, axis: int) -> tuple[Array, Array, Array, Array]:
    lines = xp.moveaxis(x, axis, 0)
    n = lines.shape[0]
    rows = xp.reshape(lines, (n, prod(lines.shape[1:])))
    order = xp.arange(n, device=x.device)
    for key in reversed(xp.unstack(rows, axis=1)):
        order = order[xp.argsort(key[order])]
    rows = rows[order]
    starts = xp.ones((n,), dtype=xp.bool, device=x.device)
    if n > 1:
        starts[1:] = xp.any(rows[1:] != rows[:-1], axis=1)
    at = xp.nonzero(starts)[0]
    inverse = xp.empty((n,), dtype=xp.int64, device=x.device)
    inverse[order] = xp.cumulative_sum(xp.astype(starts, xp.int64)) - 1
    counts = xp.diff(xp.concat((at, xp.asarray([n], dtype=at.dtype, device=x.device))))
    first = order[at]
    return xp.take(x, first, axis=axis), first, inverse, counts


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The sorted distinct elements that two arrays have in common.

    Parameters
    ----------
    ar1, ar2 : Array
        Arrays of any shape, which are flattened.
    assume_unique : bool
        Whether each is known to have distinct elements.
    return_indices : bool
        Whether to return where in either array the elements come first.

    Returns
    -------
    Array or tuple of Array
        The elements, then the positions if asked for.

    Examples
    --------
    >>> xp.intersect1d(xp.asarray([1, 3, 4, 3]), xp.asarray([3, 1, 2]))
    array([1, 3])
    """
    first, second = xp.ravel(ar1), xp.ravel(ar2)
    values, where = unique(first, return_index=True)
    both = xp.isin(values, second)
    values = values[both]
    values = xp.astype(values, xp.result_type(first, second))
    if not return_indices:
        return values
    others, there = unique(second, return_index=True)
    return values, where[both], there[xp.isin(others, first)]


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The sorted distinct elements of an array that another one lacks.

    Parameters
    ----------
    ar1, ar2 : Array
        Arrays of any shape, which are flattened.
    assume_unique : bool
        Whether each has distinct elements; those of `ar1` then keep their order.

    Returns
    -------
    Array
        A one-dimensional array.

    Examples
    --------
    >>> xp.setdiff1d(xp.asarray([3, 2, 1, 2]), xp.asarray([3, 4]))
    array([1, 2])
    """
    first = xp.ravel(ar1) if assume_unique else unique(ar1)
    return first[xp.isin(first, xp.ravel(ar2), invert=True)]


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Array:
    """The sorted distinct elements that only one of two arrays has.

    Parameters
    ----------
    ar1, ar2 : Array
        Arrays of any shape, which are flattened.
    assume_unique : bool
        Whether each is known to have distinct elements.

    Returns
    -------
    Array
        A one-dimensional array of the promoted dtype.

    Examples
    --------
    >>> xp.setxor1d(xp.asarray([1, 2, 3]), xp.asarray([2, 4]))
    array([1, 3, 4])
    """
    first, second = setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)
    return xp.sort(xp.concat((first, second)))


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> Array:
    """The sorted distinct elements of two arrays.

    Parameters
    ----------
    ar1, ar2 : Array
        Arrays of any shape, which are flattened.

    Returns
    -------
    Array
        A one-dimensional array of the promoted dtype.

    Examples
    --------
    >>> xp.union1d(xp.asarray([3, 1]), xp.asarray([2, 3]))
    array([1, 2, 3])
    """
    result: Array = unique(xp.concat(as_pair(ar1, ar2), axis=None))
    return result
