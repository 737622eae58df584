"""Medians and quantiles, beyond the standard."""

from __future__ import annotations

import arrayx as xp

from ._common import as_array, floating, is_inexact, lines_along

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Array
    from ._common import ArrayLike, Axes


def median(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The middle of the sorted elements; the mean of two where their number is even.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        A floating array; NaN where there is a NaN, or nothing.

    Examples
    --------
    >>> xp.median(xp.asarray([1, 7, 2, 4]))
    array(3.)
    """
    return middle(floating(as_array(a)), axis, keepdims, skip_nans=False)


def nanmedian(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The median of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        A floating array; NaN where there is no other element.

    Examples
    --------
    >>> xp.nanmedian(xp.asarray([1.0, xp.nan, 7.0, 2.0]))
    array(2.)
    """
    return middle(floating(as_array(a)), axis, keepdims, skip_nans=True)


def middle(x: Array, axis: Axes, keepdims: bool, skip_nans: bool) -> Array:
    lines, shape = lines_along(x, axis, keepdims)
    if lines.shape[-1] == 0:
        return xp.full(shape, xp.nan, dtype=x.dtype, device=x.device)
    ordered, n = ordered_lines(lines, skip_nans)
    low = xp.take_along_axis(ordered, xp.maximum(n - 1, 0) // 2, axis=-1)
    high = xp.take_along_axis(ordered, xp.minimum(n // 2, lines.shape[-1] - 1), axis=-1)
    return xp.reshape(xp.where(low == high, low, (low + high) / 2), shape)


def ordered_lines(lines: Array, skip_nans: bool) -> tuple[Array, Array]:
    """Return sorted lines, NaNs last, and how many elements of each count.

    A line in which NaN counts is all NaN then.
    """
    ordered = xp.sort(lines, axis=-1)
    size = lines.shape[-1]
    if is_inexact(lines):
        nans = xp.count_nonzero(xp.isnan(lines), axis=-1, keepdims=True)
        if skip_nans:
            return ordered, size - nans
        if xp.any(nans):
            ordered = xp.where(nans > 0, xp.nan, ordered)
    return ordered, xp.full((*lines.shape[:-1], 1), size, dtype=xp.int64, device=lines.device)


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The quantiles of the elements.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    q : float or Array
        Which quantiles, in [0, 1].
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    method : str
        How to interpolate; each method of NumPy's by its name there.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The dimensions of `q` come first, then those that are not reduced.

    Examples
    --------
    >>> xp.quantile(xp.asarray([1.0, 2.0, 4.0, 8.0]), 0.5)
    array(3.)
    """
    return at_quantiles(a, q, 1, axis, method, keepdims, skip_nans=False)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The percentiles of the elements.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    q : float or Array
        Which percentiles, in [0, 100].
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    method : str
        How to interpolate; each method of NumPy's by its name there.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The dimensions of `q` come first, then those that are not reduced.

    Examples
    --------
    >>> xp.percentile(xp.asarray([1.0, 2.0, 4.0, 8.0]), 50)
    array(3.)
    """
    return at_quantiles(a, q, 100, axis, method, keepdims, skip_nans=False)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The quantiles of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    q : float or Array
        Which quantiles, in [0, 1].
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    method : str
        How to interpolate; each method of NumPy's by its name there.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The dimensions of `q` come first, then those that are not reduced.

    Examples
    --------
    >>> xp.nanquantile(xp.asarray([1.0, 2.0, 4.0, 8.0]), 0.5)
    array(3.)
    """
    return at_quantiles(a, q, 1, axis, method, keepdims, skip_nans=True)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """The percentiles of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    q : float or Array
        Which percentiles, in [0, 100].
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    method : str
        How to interpolate; each method of NumPy's by its name there.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The dimensions of `q` come first, then those that are not reduced.

    Examples
    --------
    >>> xp.nanpercentile(xp.asarray([1.0, 2.0, 4.0, 8.0]), 50)
    array(3.)
    """
    return at_quantiles(a, q, 100, axis, method, keepdims, skip_nans=True)


# Hyndman and Fan (1996): the virtual position of a quantile, from 0, is n q + α + q (1 − α − β) − 1.
plotting_positions = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def virtual_positions(n: Array, q: Array, method: str) -> Array:
    """Return where quantiles are among n sorted elements; between two of them, a fraction."""
    if method in plotting_positions:
        alpha, beta = plotting_positions[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method == "linear":
        return (n - 1) * q
    if method == "lower":
        return xp.floor((n - 1) * q)
    if method == "higher":
        return xp.ceil((n - 1) * q)
    if method == "nearest":
        return xp.round((n - 1) * q)
    if method == "midpoint":
        return (xp.floor((n - 1) * q) + xp.ceil((n - 1) * q)) / 2
    if method == "inverted_cdf":
        return xp.ceil(n * q) - 1
    if method == "averaged_inverted_cdf":
        return xp.floor(n * q) - xp.where(n * q == xp.floor(n * q), 0.5, 0.0)
    if method == "closest_observation":
        return xp.round(n * q) - 1
    names = ", ".join(repr(name) for name in (*discrete_methods, *continuous_methods))
    raise ValueError(f"method is {method!r}; it must be one of {names}")


discrete_methods = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")
continuous_methods = ("linear", "midpoint", "averaged_inverted_cdf", *plotting_positions)


def at_quantiles(
    a: ArrayLike,
    q: ArrayLike,
    whole: int,
    axis: Axes,
    method: str,
    keepdims: bool,
    skip_nans: bool,
) -> Array:
    x = as_array(a)
    if xp.isdtype(x.dtype, ("bool", "complex floating")):
        raise TypeError(f"a has dtype {x.dtype}; it must be real-valued")
    fractions = xp.astype(as_array(q, x.device), xp.float64) / whole
    if not xp.all((fractions >= 0) & (fractions <= 1)):
        raise ValueError(f"q must be in [0, {whole}]")
    lines, kept = lines_along(x, axis, keepdims)
    shape = fractions.shape + kept
    if method not in discrete_methods:
        lines = floating(lines)
    if lines.shape[-1] == 0:
        return xp.full(shape, xp.nan, dtype=floating(lines).dtype, device=x.device)
    ordered, n = ordered_lines(lines, skip_nans)
    count = xp.astype(n, xp.float64)
    position = virtual_positions(count, xp.ravel(fractions), method)
    before = xp.floor(position)
    last = xp.maximum(count - 1, 0.0)

    def element(where: Array) -> Array:
        index = xp.astype(xp.maximum(xp.minimum(where, last), 0.0), xp.int64)
        return xp.take_along_axis(ordered, index, axis=-1)

    result = element(before)
    if method not in discrete_methods:
        # As in NumPy, an array of float64 fractions makes float64 of float32, a scalar does not.
        narrow = isinstance(q, (int, float)) or as_array(q).dtype == lines.dtype
        dtype = lines.dtype if narrow else xp.float64
        low, high = xp.astype(result, dtype), xp.astype(element(before + 1), dtype)
        weight = xp.astype(position - before, dtype)
        step = high - low
        mixed = xp.where(weight < 0.5, low + step * weight, high - step * (1 - weight))
        result = xp.where((weight == 0) | (low == high), low, mixed)
    return xp.reshape(xp.moveaxis(result, -1, 0), shape)
