"""What the chapter shares: arguments made arrays, axes made non-negative, lines made of axes."""

from __future__ import annotations

from math import prod

import arrayx as xp

from .._core import Array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from .._core import Device, DType

    Scalar: TypeAlias = bool | int | float | complex
    ArrayLike: TypeAlias = Array | Scalar | Sequence[Any]
    Axes: TypeAlias = int | tuple[int, ...] | None


def as_array(x: ArrayLike, device: Device | None = None) -> Array:
    """Return an array as it is, and an array of what else is given."""
    return x if isinstance(x, Array) else xp.asarray(x, device=device)


def as_pair(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    """Return two arrays; a Python scalar takes the dtype that it promotes to beside the other."""
    if isinstance(a, Array) and not isinstance(b, Array):
        return a, beside(a, b)
    if isinstance(b, Array) and not isinstance(a, Array):
        return beside(b, a), b
    return as_array(a), as_array(b)


def beside(a: Array, value: Scalar | Sequence[Any]) -> Array:
    if isinstance(value, (bool, int, float, complex)):
        return xp.asarray(value, dtype=xp.result_type(a, value), device=a.device)
    return xp.asarray(value, device=a.device)


def is_inexact(x: Array) -> bool:
    return xp.isdtype(x.dtype, ("real floating", "complex floating"))


def is_complex(x: Array) -> bool:
    return xp.isdtype(x.dtype, "complex floating")


def floating(x: Array) -> Array:
    """Return x, integers and booleans as float64."""
    return x if is_inexact(x) else xp.astype(x, xp.float64)


def numeric(x: Array) -> Array:
    """Return x, booleans as int64."""
    return xp.astype(x, xp.int64) if x.dtype == xp.bool else x


def complex_of(real: Array, imag: Array) -> Array:
    """Return real + imag j; as arithmetic, that would make NaN of infinities."""
    dtype = xp.complex64 if real.dtype == xp.float32 else xp.complex128
    if real.size == 0:
        return xp.astype(real, dtype)
    return xp.stack((real, imag), axis=-1).view(dtype)[..., 0]


def nans(x: Array) -> Array:
    """Return where x is NaN, for every dtype."""
    return xp.isnan(x) if is_inexact(x) else xp.zeros_like(x, dtype=xp.bool)


def real_dtype(dtype: DType) -> DType:
    """Return the dtype of the real part."""
    return {xp.complex64: xp.float32, xp.complex128: xp.float64}.get(dtype, dtype)


def axis_within(axis: int, ndim: int) -> int:
    """Return an axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise IndexError(f"axis is {axis}; it must be in [{-ndim}, {ndim})")
    return axis % ndim


def axes_within(axis: Axes, ndim: int) -> tuple[int, ...]:
    """Return the axes that are meant, counted from the front; None means all of them."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple([axis_within(i, ndim) for i in ((axis,) if isinstance(axis, int) else axis)])
    if len(set(axes)) < len(axes):
        raise ValueError(f"axis is {axis}, which names an axis twice")
    return axes


def lines_along(a: Array, axis: Axes, keepdims: bool) -> tuple[Array, tuple[int, ...]]:
    """Return the array with the named axes as one last axis, and the shape it reduces to."""
    axes = axes_within(axis, a.ndim)
    others = [i for i in range(a.ndim) if i not in axes]
    size = prod([a.shape[i] for i in axes])
    lines = xp.reshape(xp.permute_dims(a, (*others, *axes)), (*[a.shape[i] for i in others], size))
    if keepdims:
        return lines, tuple([1 if i in axes else a.shape[i] for i in range(a.ndim)])
    return lines, tuple([a.shape[i] for i in others])
