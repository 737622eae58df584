"""Functions of sampled functions: differences, integrals, interpolation."""

from __future__ import annotations

import arrayx as xp

from ._common import as_array, axes_within, floating, is_complex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import Array
    from ._common import ArrayLike, Axes


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """The differences of neighbours in the flattened array.

    Parameters
    ----------
    ary : Array
        Array of a numeric dtype.
    to_end, to_begin : Array, optional
        What to put after and before them, in the dtype of `ary`.

    Returns
    -------
    Array
        A one-dimensional array.

    Examples
    --------
    >>> xp.ediff1d(xp.asarray([1, 2, 4, 7]), to_begin=0)
    array([0, 1, 2, 3])
    """
    x = xp.ravel(ary)
    parts = [x[1:] - x[:-1]]
    if to_begin is not None:
        parts.insert(0, xp.astype(xp.ravel(as_array(to_begin, x.device)), x.dtype))
    if to_end is not None:
        parts.append(xp.astype(xp.ravel(as_array(to_end, x.device)), x.dtype))
    return xp.concat(parts) if len(parts) > 1 else parts[0]


def gradient(f: ArrayLike, *varargs: ArrayLike, axis: Axes = None, edge_order: int = 1) -> Any:
    """The derivative along axes, from central differences; at the ends from one-sided ones.

    Parameters
    ----------
    f : Array
        Samples on a grid; dtype numeric.
    *varargs : float or Array
        The spacing for all axes, or for each of them; an array holds the coordinates. Default: 1.
    axis : int or tuple of int, optional
        The axes. Default: all of them.
    edge_order : int
        The order of accuracy at the ends, 1 or 2.

    Returns
    -------
    Array or tuple of Array
        The derivatives, in a tuple if there are several axes.

    Examples
    --------
    >>> xp.gradient(xp.asarray([1.0, 2.0, 4.0, 7.0]))
    array([1. , 1.5, 2.5, 3. ])
    """
    x = floating(as_array(f))
    axes = axes_within(axis, x.ndim)
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is {edge_order}; it must be 1 or 2")
    spacings = list(varargs) or [1.0]
    if len(spacings) == 1:
        if len(axes) > 1 and as_array(spacings[0]).ndim:
            raise ValueError("gradient: coordinates are needed for each axis, or a spacing for all")
        spacings = spacings * len(axes)
    if len(spacings) != len(axes):
        raise ValueError(f"gradient: there are {len(spacings)} spacings for {len(axes)} axes")
    results = tuple(
        [derivative(x, spacing, i, edge_order) for i, spacing in zip(axes, spacings, strict=True)]
    )
    return results[0] if len(results) == 1 else results


def derivative(x: Array, spacing: ArrayLike, axis: int, edge_order: int) -> Array:
    n = x.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient: f has size {n} along axis {axis}; it must be {edge_order + 1} at least"
        )

    def cut(start: int | None, stop: int | None) -> tuple[slice, ...]:
        return tuple([slice(start, stop) if i == axis else slice(None) for i in range(x.ndim)])

    def part(start: int | None, stop: int | None) -> Array:
        return x[cut(start, stop)]

    where = as_array(spacing, x.device)
    steps: Any
    if where.ndim == 0:
        steps = xp.full((n - 1,), where, dtype=floating(where).dtype, device=x.device)
        even = True
    else:
        if where.shape != (n,):
            raise ValueError(
                f"gradient: coordinates of shape {where.shape} are given for an axis of size {n}"
            )
        steps = floating(xp.diff(where))
        even = bool(xp.all(steps == steps[0]))
    result = xp.empty(x.shape, dtype=x.dtype, device=x.device)
    if even:
        inside = part(2, None) - part(None, -2)
        if xp.result_type(inside, steps) == inside.dtype:
            inside /= 2 * steps[0]
        else:
            inside = inside / (2 * steps[0])
    else:
        along = tuple([-1 if i == axis else 1 for i in range(x.ndim)])
        h1, h2 = xp.reshape(steps[:-1], along), xp.reshape(steps[1:], along)
        inside = (
            -h2 / (h1 * (h1 + h2)) * part(None, -2)
            + (h2 - h1) / (h1 * h2) * part(1, -1)
            + h1 / (h2 * (h1 + h2)) * part(2, None)
        )
    result[cut(1, -1)] = inside
    if edge_order == 1:
        result[cut(None, 1)] = (part(1, 2) - part(None, 1)) / steps[0]
        result[cut(-1, None)] = (part(-1, None) - part(-2, -1)) / steps[-1]
    else:
        first, second, third = part(None, 1), part(1, 2), part(2, 3)
        result[cut(None, 1)] = one_sided(first, second, third, steps[0], steps[1])
        first, second, third = part(-1, None), part(-2, -1), part(-3, -2)
        result[cut(-1, None)] = -one_sided(first, second, third, steps[-1], steps[-2])
    return result


def one_sided(x0: Array, x1: Array, x2: Array, h1: Array, h2: Array) -> Array:
    """Return the derivative at x0 of the parabola through samples at 0, h1 and h1 + h2."""
    return (
        -(2 * h1 + h2) / (h1 * (h1 + h2)) * x0
        + (h1 + h2) / (h1 * h2) * x1
        - h1 / (h2 * (h1 + h2)) * x2
    )


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: float | ArrayLike = 1.0, axis: int = -1
) -> Array:
    """The integral along an axis by the trapezoidal rule.

    Parameters
    ----------
    y : Array
        Samples; dtype numeric.
    x : Array, optional
        Where they were taken.
    dx : float
        The spacing, if `x` is not given.
    axis : int
        The axis to integrate along.

    Returns
    -------
    Array
        A floating array without the axis.

    Examples
    --------
    >>> xp.trapezoid(xp.asarray([1, 2, 3]), dx=2)
    array(8.)
    """
    samples = xp.moveaxis(as_array(y), axis, -1)
    steps: Any = dx
    if x is not None:
        where = as_array(x, samples.device)
        steps = xp.diff(where) if where.ndim == 1 else xp.diff(xp.moveaxis(where, axis, -1))
    samples = floating(samples)
    return xp.sum(steps * (samples[..., 1:] + samples[..., :-1]) / 2.0, axis=-1)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: complex | None = None,
    right: complex | None = None,
    period: float | None = None,
) -> Array:
    """The values of a function that is linear between given points.

    Parameters
    ----------
    x : Array
        Where to evaluate it.
    xp : Array
        Where it is known: a one-dimensional array that rises.
    fp : Array
        Its values there.
    left, right : float, optional
        What it is below and above these points. Default: as at the first and the last of them.
    period : float, optional
        The period of the function, whose points then need not rise; `left` and `right` have no
        effect.

    Returns
    -------
    Array
        An array of the shape of `x`, of dtype float64 or complex128.

    Examples
    --------
    >>> xp.interp(xp.asarray([0.5, 2.5]), xp.asarray([0.0, 1.0, 2.0]), xp.asarray([3.0, 2.0, 0.0]))
    array([2.5, 0. ])
    """
    return interpolated(as_array(x), as_array(xp), as_array(fp), left, right, period)


def interpolated(
    x: Array,
    points: Array,
    values: Array,
    left: complex | None,
    right: complex | None,
    period: float | None,
) -> Array:
    if points.ndim != 1 or values.shape != points.shape or points.size == 0:
        raise ValueError(
            f"interp: xp has shape {points.shape} and fp {values.shape}; they must be "
            "one-dimensional, of one size, and not empty"
        )
    x, points = xp.astype(x, xp.float64), xp.astype(points, xp.float64)
    values = xp.astype(values, xp.complex128 if is_complex(values) else xp.float64)
    if period is not None:
        if period == 0:
            raise ValueError("interp: period is 0; it must not be zero")
        period, left, right = abs(period), None, None
        x, points = x % period, points % period
        order = xp.argsort(points)
        points, values = points[order], values[order]
        points = xp.concat((points[-1:] - period, points, points[:1] + period))
        values = xp.concat((values[-1:], values, values[:1]))
    n = points.shape[0]
    after = xp.searchsorted(points, x, side="right")
    below = xp.maximum(xp.minimum(after - 1, n - 2), 0)
    above = xp.minimum(below + 1, n - 1)

    def at(samples: Array, where: Array) -> Array:
        return xp.reshape(xp.take(samples, xp.reshape(where, (-1,))), where.shape)

    x0, x1, y0, y1 = at(points, below), at(points, above), at(values, below), at(values, above)
    slope = (y1 - y0) / (x1 - x0)
    result = slope * (x - x0) + y0
    # Infinite slopes and values leave NaN where the point itself, or the other end, has a value.
    result = xp.where(xp.isnan(result), slope * (x - x1) + y1, result)
    result = xp.where((xp.isnan(result) & (y0 == y1)) | (x == x0), y0, result)
    result = xp.where(x == points[-1], values[-1], result)
    result = xp.where(x < points[0], values[0] if left is None else left, result)
    result = xp.where(x > points[-1], values[-1] if right is None else right, result)
    return xp.where(xp.isnan(x), x, result)
