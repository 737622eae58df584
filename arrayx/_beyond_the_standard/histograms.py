"""Counts of values and of what lies in bins, beyond the standard."""

from __future__ import annotations

from math import isfinite

import arrayx as xp

from ._common import as_array, floating, is_inexact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Array
    from ._common import ArrayLike


def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> Array:
    """How often each of the integers from zero comes.

    Parameters
    ----------
    x : Array
        A one-dimensional array of integers, none of them negative.
    weights : Array, optional
        What each element counts; else all count one.
    minlength : int
        The least size of the result.

    Returns
    -------
    Array
        A one-dimensional array, of dtype int64, or float64 with weights.

    Examples
    --------
    >>> xp.bincount(xp.asarray([0, 1, 1, 3]))
    array([1, 2, 0, 1])
    """
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError(f"bincount: x has rank {x.ndim}; it must be one-dimensional")
    if not xp.isdtype(x.dtype, ("bool", "integral")) and x.size:
        raise TypeError(f"bincount: x has dtype {x.dtype}; it must be an integer dtype")
    if minlength < 0:
        raise ValueError(f"bincount: minlength is {minlength}; it must not be negative")
    x = xp.astype(x, xp.int64, copy=False)
    if x.size and xp.min(x) < 0:
        raise ValueError("bincount: x has a negative element")
    n = max(int(xp.max(x)) + 1 if x.size else 0, minlength)
    if weights is not None:
        w = xp.astype(as_array(weights, x.device), xp.float64)
        if w.shape != x.shape:
            raise ValueError(f"bincount: weights has shape {w.shape}, x {x.shape}")
        return sums_by_key(x, w, n)
    values, counts = xp.unique_counts(x)
    result = xp.zeros((n,), dtype=xp.int64, device=x.device)
    result[values] = counts
    return result


def sums_by_key(keys: Array, values: Array, n: int) -> Array:
    """Return for each of n keys the sum of its values.

    Neighbours of one key are added two by two until one is left for each: no value touches another
    key's sum, as in differences of a running sum, and errors grow as in a pairwise summation.
    """
    order = xp.argsort(keys)
    keys, values = keys[order], values[order]
    result = xp.zeros((n,), dtype=values.dtype, device=values.device)
    rank = xp.arange(keys.shape[0], device=keys.device) - xp.searchsorted(keys, keys)
    while keys.shape[0] > 1 and xp.any(rank > 0):
        added = xp.where(keys[1:] == keys[:-1], values[1:], 0)
        values = xp.concat((values[:-1] + added, values[-1:]))
        kept = xp.nonzero(rank % 2 == 0)[0]
        keys, values, rank = keys[kept], values[kept], rank[kept] // 2
    result[keys] = values
    return result


def histogram_bin_edges(
    a: ArrayLike, bins: int | ArrayLike = 10, range: tuple[float, float] | None = None
) -> Array:
    """The edges that `histogram` uses.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    bins : int or Array
        The number of bins, of one width; or their edges.
    range : tuple of float, optional
        The first and the last edge. Default: the smallest and the largest element.

    Returns
    -------
    Array
        A one-dimensional array, longer by one than there are bins.

    Examples
    --------
    >>> xp.histogram_bin_edges(xp.asarray([0.0, 1.0, 2.0]), bins=2)
    array([0., 1., 2.])
    """
    x = as_array(a)
    if isinstance(bins, str):
        raise TypeError(f"histogram: bins is {bins!r}; it must be a number of bins, or their edges")
    if not isinstance(bins, int):
        edges = as_array(bins, x.device)
        if edges.ndim == 1:
            if xp.any(edges[1:] < edges[:-1]):
                raise ValueError("histogram: bins must rise throughout")
            return edges
        bins = int(edges)
    if bins < 1:
        raise ValueError(f"histogram: bins is {bins}; it must be positive")
    if range is not None:
        low, high = float(range[0]), float(range[1])
    elif x.size == 0:
        low, high = 0.0, 1.0
    else:
        low, high = float(xp.min(x)), float(xp.max(x))
    if not (isfinite(low) and isfinite(high) and low <= high):
        raise ValueError(f"histogram: the range is ({low}, {high}); it must be finite, and rise")
    if low == high:
        low, high = low - 0.5, high + 0.5
    dtype = x.dtype if is_inexact(x) else xp.float64
    return xp.linspace(low, high, bins + 1, dtype=dtype, device=x.device)


def histogram(
    a: ArrayLike,
    bins: int | ArrayLike = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """How many elements lie in each bin.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    bins : int or Array
        The number of bins, of one width; or their edges. A bin holds its left edge, the last one
        both.
    range : tuple of float, optional
        The first and the last edge. Default: the smallest and the largest element.
    density : bool
        Whether to scale the result so that its integral is one.
    weights : Array, optional
        What each element counts; else all count one.

    Returns
    -------
    tuple of Array
        The counts, of dtype int64 or that of the weights, and the edges.

    Examples
    --------
    >>> xp.histogram(xp.asarray([1, 2, 1]), bins=xp.asarray([0, 1, 2, 3]))
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    """
    x = as_array(a)
    if x.dtype == xp.bool:
        x = xp.astype(x, xp.uint8)
    edges = xp.histogram_bin_edges(x, bins, range)
    if edges.dtype == xp.bool:
        edges = xp.astype(edges, xp.uint8)
    n = edges.shape[0] - 1
    x = xp.ravel(x)
    if weights is None:
        ordered = xp.sort(x)
        below = xp.searchsorted(ordered, edges[:-1], side="left")
        counts = xp.diff(xp.concat((below, xp.searchsorted(ordered, edges[-1:], side="right"))))
    else:
        w = as_array(weights, x.device)
        if w.size != x.size:
            raise ValueError(f"histogram: weights has size {w.size}, a {x.size}")
        w = xp.ravel(w)
        inside = xp.nonzero((x >= edges[0]) & (x <= edges[-1]))[0]
        x, w = x[inside], w[inside]
        which = xp.minimum(xp.searchsorted(edges, x, side="right") - 1, n - 1)
        counts = sums_by_key(which, w, n)
    if density:
        counts = floating(counts) / xp.astype(xp.diff(edges), xp.float64) / xp.sum(counts)
    return counts, edges
