"""Statistical functions beyond the standard: around NaN, running, averages, covariance."""

from __future__ import annotations

import arrayx as xp

from ._common import (
    as_array,
    axes_within,
    complex_of,
    floating,
    is_complex,
    is_inexact,
    numeric,
    real_dtype,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._core import Array, DType
    from ._common import ArrayLike, Axes


def without_nans(x: Array, value: float) -> Array:
    """Return the array with a value in place of NaN."""
    return xp.where(xp.isnan(x), value, x) if is_inexact(x) else x


def reduced_if_no_nans(function: Callable[..., Array], x: Array, **options: Any) -> Array | None:
    """Return the reduction of an array if it is seen to have no NaN, or nothing.

    A NaN would show in the results, which are looked at on the CPU alone: other devices would be
    waited for.
    """
    if not is_inexact(x):
        return function(numeric(x), **options)
    if x.device != "cpu":
        return None
    found = function(x, **options)
    return None if not is_inexact(found) or xp.any(xp.isnan(found)) else found


def count_of_numbers(x: Array, axis: Axes, keepdims: bool) -> Array:
    """Return how many elements are not NaN, in the real dtype of x."""
    count = xp.count_nonzero(xp.logical_not(xp.isnan(x)), axis=axis, keepdims=keepdims)
    return xp.astype(count, real_dtype(x.dtype))


def computed_in(a: ArrayLike, dtype: DType | None) -> Array:
    """Return the array in the dtype named, or else in a floating one."""
    x = as_array(a)
    return floating(x) if dtype is None else xp.astype(x, dtype, copy=False)


def nansum(
    a: ArrayLike, axis: Axes = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """The sum of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in, as for the function of the standard.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The results; those of nothing are 0.

    Examples
    --------
    >>> xp.nansum(xp.asarray([1.0, xp.nan, 2.0]))
    array(3.)
    """
    x = as_array(a)
    total = reduced_if_no_nans(xp.sum, x, axis=axis, dtype=dtype, keepdims=keepdims)
    if total is not None:
        return total
    return xp.sum(without_nans(x, 0), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(
    a: ArrayLike, axis: Axes = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """The product of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in, as for the function of the standard.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        The results; those of nothing are 1.

    Examples
    --------
    >>> xp.nanprod(xp.asarray([1.0, xp.nan, 2.0]))
    array(2.)
    """
    x = as_array(a)
    product = reduced_if_no_nans(xp.prod, x, axis=axis, dtype=dtype, keepdims=keepdims)
    if product is not None:
        return product
    return xp.prod(without_nans(x, 1), axis=axis, dtype=dtype, keepdims=keepdims)


def nanmin(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The smallest of the elements that are not NaN.

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
        The results; NaN where there is no other element.

    Examples
    --------
    >>> xp.nanmin(xp.asarray([1.0, xp.nan, 2.0]))
    array(1.)
    """
    x = as_array(a)
    if x.dtype == xp.bool:
        return xp.astype(xp.min(xp.astype(x, xp.uint8), axis=axis, keepdims=keepdims), xp.bool)
    found = reduced_if_no_nans(xp.min, x, axis=axis, keepdims=keepdims)
    if found is not None:
        return found
    found = xp.min(without_nans(x, xp.inf), axis=axis, keepdims=keepdims)
    return xp.where(xp.all(xp.isnan(x), axis=axis, keepdims=keepdims), xp.nan, found)


def nanmax(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The largest of the elements that are not NaN.

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
        The results; NaN where there is no other element.

    Examples
    --------
    >>> xp.nanmax(xp.asarray([1.0, xp.nan, 2.0]))
    array(2.)
    """
    x = as_array(a)
    if x.dtype == xp.bool:
        return xp.astype(xp.max(xp.astype(x, xp.uint8), axis=axis, keepdims=keepdims), xp.bool)
    found = reduced_if_no_nans(xp.max, x, axis=axis, keepdims=keepdims)
    if found is not None:
        return found
    found = xp.max(without_nans(x, -xp.inf), axis=axis, keepdims=keepdims)
    return xp.where(xp.all(xp.isnan(x), axis=axis, keepdims=keepdims), xp.nan, found)


def nanargmin(a: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The position of the smallest element that is not NaN.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    axis : int, optional
        The axis to go along. Default: the positions are those of the flattened array.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An int64 array.

    Examples
    --------
    >>> xp.nanargmin(xp.asarray([1.0, xp.nan, 2.0]))
    array(0)
    """
    x = as_array(a)
    if is_inexact(x) and xp.any(xp.all(xp.isnan(x), axis=axis)):
        raise ValueError("nanargmin: a has a line along the axis in which all elements are NaN")
    return xp.argmin(without_nans(x, xp.inf), axis=axis, keepdims=keepdims)


def nanargmax(a: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """The position of the largest element that is not NaN.

    Parameters
    ----------
    a : Array
        Array of a real dtype.
    axis : int, optional
        The axis to go along. Default: the positions are those of the flattened array.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An int64 array.

    Examples
    --------
    >>> xp.nanargmax(xp.asarray([1.0, xp.nan, 2.0]))
    array(2)
    """
    x = as_array(a)
    if is_inexact(x) and xp.any(xp.all(xp.isnan(x), axis=axis)):
        raise ValueError("nanargmax: a has a line along the axis in which all elements are NaN")
    return xp.argmax(without_nans(x, -xp.inf), axis=axis, keepdims=keepdims)


def nanmean(
    a: ArrayLike, axis: Axes = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """The mean of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in. Default: that of `a`, float64 for integers and booleans.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        A floating array; the mean of nothing is NaN.

    Examples
    --------
    >>> xp.nanmean(xp.asarray([1.0, xp.nan, 2.0]))
    array(1.5)
    """
    x = computed_in(a, dtype)
    total = reduced_if_no_nans(xp.sum, x, axis=axis, keepdims=keepdims)
    if total is not None:
        return total / (x.size // max(total.size, 1))
    total = xp.sum(without_nans(x, 0), axis=axis, keepdims=keepdims)
    return total / count_of_numbers(x, axis, keepdims)


def nanvar(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DType | None = None,
    *,
    ddof: int | float = 0,
    keepdims: bool = False,
) -> Array:
    """The variance of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in. Default: that of `a`, float64 for integers and booleans.
    ddof : int or float
        What is subtracted from the number of elements in the divisor.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        A real floating array; NaN where the divisor is not positive.

    Examples
    --------
    >>> xp.nanvar(xp.asarray([1.0, xp.nan, 3.0]))
    array(1.)
    """
    x = computed_in(a, dtype)
    deviation = xp.where(xp.isnan(x), 0, x - xp.nanmean(x, axis, keepdims=True))
    squares = xp.real(deviation * xp.conj(deviation)) if is_complex(x) else deviation * deviation
    divisor = count_of_numbers(x, axis, keepdims) - ddof
    variance = xp.sum(squares, axis=axis, keepdims=keepdims) / divisor
    return xp.where(divisor <= 0, xp.nan, variance)


def nanstd(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DType | None = None,
    *,
    ddof: int | float = 0,
    keepdims: bool = False,
) -> Array:
    """The standard deviation of the elements that are not NaN.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in. Default: that of `a`, float64 for integers and booleans.
    ddof : int or float
        What is subtracted from the number of elements in the divisor.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        A real floating array; NaN where the divisor is not positive.

    Examples
    --------
    >>> xp.nanstd(xp.asarray([1.0, xp.nan, 3.0]))
    array(1.)
    """
    return xp.sqrt(xp.nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DType | None = None) -> Array:
    """The running sum, in which NaN counts as 0.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int, optional
        The axis to go along. Default: that of the flattened array.
    dtype : DType, optional
        The dtype to compute in.

    Returns
    -------
    Array
        The running results.

    Examples
    --------
    >>> xp.nancumsum(xp.asarray([1.0, xp.nan, 2.0]))
    array([1., 1., 3.])
    """
    return xp.cumsum(without_nans(as_array(a), 0), axis, dtype)


def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DType | None = None) -> Array:
    """The running product, in which NaN counts as 1.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int, optional
        The axis to go along. Default: that of the flattened array.
    dtype : DType, optional
        The dtype to compute in.

    Returns
    -------
    Array
        The running results.

    Examples
    --------
    >>> xp.nancumprod(xp.asarray([1.0, xp.nan, 2.0]))
    array([1., 1., 2.])
    """
    return xp.cumprod(without_nans(as_array(a), 1), axis, dtype)


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DType | None = None) -> Array:
    """The running sum.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int, optional
        The axis to go along. Default: that of the flattened array.
    dtype : DType, optional
        The dtype to compute in.

    Returns
    -------
    Array
        The running results.

    Examples
    --------
    >>> xp.cumsum(xp.asarray([1, 2, 3]))
    array([1, 3, 6])
    """
    x = as_array(a)
    if axis is None:
        x, axis = xp.ravel(x), 0
    return xp.cumulative_sum(numeric(x), axis=axis, dtype=dtype)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DType | None = None) -> Array:
    """The running product.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int, optional
        The axis to go along. Default: that of the flattened array.
    dtype : DType, optional
        The dtype to compute in.

    Returns
    -------
    Array
        The running results.

    Examples
    --------
    >>> xp.cumprod(xp.asarray([1, 2, 3]))
    array([1, 2, 6])
    """
    x = as_array(a)
    if axis is None:
        x, axis = xp.ravel(x), 0
    return xp.cumulative_prod(numeric(x), axis=axis, dtype=dtype)


def ptp(a: ArrayLike, axis: Axes = None, *, keepdims: bool = False) -> Array:
    """The difference of the largest and the smallest element.

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
        An array of the dtype of `a`.

    Examples
    --------
    >>> xp.ptp(xp.asarray([4, 1, 8]))
    array(7)
    """
    x = as_array(a)
    return xp.max(x, axis=axis, keepdims=keepdims) - xp.min(x, axis=axis, keepdims=keepdims)


def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The weighted average.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    weights : Array, optional
        Weights of the shape of `a`, or of that of the axes reduced. Default: all are one.
    returned : bool
        Whether to return the sum of the weights too.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array or tuple of Array
        The averages, and the sums of weights if asked for.

    Examples
    --------
    >>> xp.average(xp.asarray([1.0, 2.0, 6.0]), weights=xp.asarray([1, 1, 2]))
    array(3.75)
    """
    x = as_array(a)
    if weights is None:
        mean = xp.mean(floating(x), axis=axis, keepdims=keepdims)
        scale = xp.asarray(x.size // max(mean.size, 1), dtype=mean.dtype, device=x.device)
    else:
        w = as_array(weights, x.device)
        if w.shape != x.shape:
            axes = axes_within(axis, x.ndim)
            if axis is None or w.shape != tuple([x.shape[i] for i in axes]):
                raise ValueError(
                    f"average: weights has shape {w.shape}; it must be that of a, {x.shape}, or of "
                    "its axes that are reduced"
                )
            order = sorted(range(len(axes)), key=axes.__getitem__)
            shape = tuple([n if i in axes else 1 for i, n in enumerate(x.shape)])
            w = xp.reshape(xp.permute_dims(w, tuple(order)), shape)
        x, w = floating(x), floating(w) if is_inexact(w) else xp.astype(w, floating(x).dtype)
        w = xp.broadcast_to(w, x.shape)
        scale = xp.sum(w, axis=axis, keepdims=keepdims)
        if xp.any(scale == 0):
            raise ZeroDivisionError("average: weights sum to zero")
        mean = xp.sum(x * w, axis=axis, keepdims=keepdims) / scale
    if not returned:
        return mean
    return mean, xp.asarray(xp.broadcast_to(scale, mean.shape), copy=True)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    *,
    dtype: DType | None = None,
) -> Array:
    """The covariance matrix of variables.

    Parameters
    ----------
    m : Array
        A matrix with a variable in each row, or one variable as a vector.
    y : Array, optional
        More variables, in the same form.
    rowvar : bool
        Whether variables are rows; else they are columns.
    bias : bool
        Whether to divide by the number of observations rather than by one less.
    ddof : int, optional
        What to subtract from that number instead.
    fweights, aweights : Array, optional
        How often each observation comes (integers), and how much it weighs.
    dtype : DType, optional
        Default: float64, or complex128.

    Returns
    -------
    Array
        A matrix, or an array of rank 0 for one variable.

    Examples
    --------
    >>> xp.cov(xp.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    def variables(values: ArrayLike) -> Array:
        table = xp.atleast_2d(values)
        if table.ndim > 2:
            raise ValueError(f"cov: m and y must have two dimensions at most, not {table.ndim}")
        x: Array = table.T if not rowvar and as_array(values).ndim != 1 else table
        if dtype is not None:
            return xp.astype(x, dtype)
        return xp.astype(x, xp.complex128 if is_complex(x) else xp.float64)

    x = variables(m)
    if y is not None:
        x = xp.concat((x, variables(y)), axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    n = x.shape[1]
    real = real_dtype(x.dtype)
    weights: Array | None = None
    for given in (fweights, aweights):
        if given is not None:
            factor = xp.astype(as_array(given, x.device), real)
            if factor.shape != (n,) or xp.any(factor < 0):
                raise ValueError(f"cov: weights must be {n} numbers, none of them negative")
            weights = factor if weights is None else weights * factor
    if weights is None:
        mean = xp.mean(x, axis=1, keepdims=True)
        divisor: Any = n - ddof
        scaled = x - mean
        centred = scaled
    else:
        total = xp.sum(weights)
        centred = x - xp.sum(x * weights, axis=1, keepdims=True) / total
        scaled = centred * weights
        if aweights is None or ddof == 0:
            divisor = total - ddof * (aweights is None)
        else:
            squares = xp.sum(weights * xp.astype(as_array(aweights, x.device), real))
            divisor = total - ddof * squares / total
    divisor = xp.maximum(xp.asarray(divisor, dtype=real, device=x.device), 0)
    product = xp.matmul(scaled, xp.matrix_transpose(xp.conj(centred) if is_complex(x) else centred))
    result = product / divisor
    return xp.squeeze(result, tuple([i for i in range(2) if result.shape[i] == 1]))


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, *, dtype: DType | None = None
) -> Array:
    """The matrix of correlation coefficients of variables.

    Parameters
    ----------
    x : Array
        A matrix with a variable in each row, or one variable as a vector.
    y : Array, optional
        More variables, in the same form.
    rowvar : bool
        Whether variables are rows; else they are columns.
    dtype : DType, optional
        Default: float64, or complex128.

    Returns
    -------
    Array
        A matrix, or an array of rank 0 for one variable.

    Examples
    --------
    >>> xp.corrcoef(xp.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    covariance = xp.cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        return covariance / covariance
    deviation = xp.sqrt(
        xp.real(xp.diagonal(covariance)) if is_complex(covariance) else xp.diagonal(covariance)
    )
    result = covariance / deviation[:, None] / deviation[None, :]
    if is_complex(result):
        return complex_of(xp.clip(xp.real(result), -1, 1), xp.clip(xp.imag(result), -1, 1))
    return xp.clip(result, -1, 1)
