"""Manipulation functions beyond the standard: joining, splitting, padding, turning."""

from __future__ import annotations

from itertools import pairwise

import arrayx as xp

from .._core import Array
from ._common import as_array, as_pair, axes_within, axis_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._common import ArrayLike, Scalar


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Array:
    """An array with values added at its end.

    Parameters
    ----------
    arr : Array
        Array of any shape and dtype.
    values : Array
        What is added: of the shape of `arr` but along the axis.
    axis : int, optional
        The axis to go along; None flattens both.

    Returns
    -------
    Array
        A new array.

    Examples
    --------
    >>> xp.append(xp.asarray([1, 2]), 3)
    array([1, 2, 3])
    """
    x, added = as_pair(arr, values)
    return xp.concat((x, added), axis=axis)


def delete(arr: ArrayLike, obj: int | slice | ArrayLike, axis: int | None = None) -> Array:
    """An array without some of its elements or subarrays.

    Parameters
    ----------
    arr : Array
        Array of any shape and dtype.
    obj : int, slice or Array
        Which ones: positions, or a mask of dtype bool.
    axis : int, optional
        The axis to go along; None flattens `arr`.

    Returns
    -------
    Array
        A copy.

    Examples
    --------
    >>> xp.delete(xp.asarray([1, 2, 3, 4]), 1)
    array([1, 3, 4])
    """
    x = as_array(arr)
    if axis is None:
        x, axis = xp.ravel(x), 0
    axis = axis_within(axis, x.ndim)
    n = x.shape[axis]
    kept = xp.ones((n,), dtype=xp.bool, device=x.device)
    if isinstance(obj, (int, slice)) and not isinstance(obj, bool):
        kept[obj] = False
    else:
        where = xp.ravel(as_array(obj, x.device))
        if where.size:
            kept[where] = False
    return xp.take(x, xp.nonzero(kept)[0], axis=axis)


def insert(
    arr: ArrayLike, obj: int | ArrayLike, values: ArrayLike, axis: int | None = None
) -> Array:
    """An array with values put in before given positions.

    Parameters
    ----------
    arr : Array
        Array of any shape and dtype.
    obj : int or Array
        Positions in `arr`, an int or one-dimensional.
    values : Array
        What is put in, cast to the dtype of `arr`; it is broadcast to one subarray per position.
    axis : int, optional
        The axis to go along; None flattens `arr`.

    Returns
    -------
    Array
        A new array.

    Examples
    --------
    >>> xp.insert(xp.asarray([1, 2, 3]), 1, 9)
    array([1, 9, 2, 3])
    """
    x = as_array(arr)
    if axis is None:
        x, axis = xp.ravel(x), 0
    axis = axis_within(axis, x.ndim)
    n = x.shape[axis]
    where = as_array(obj, x.device)
    if where.ndim > 1 or (not xp.isdtype(where.dtype, "integral") and where.size):
        raise ValueError("insert: obj must be an int or a one-dimensional array of integers")
    new = xp.astype(as_array(values, x.device), x.dtype)
    if where.ndim == 0 and new.ndim > 0:
        # An int is not [an int]: the first dimension of the values then goes along the axis.
        if new.ndim < x.ndim:
            new = xp.reshape(new, (1,) * (x.ndim - new.ndim) + new.shape)
        new = xp.moveaxis(new, 0, axis)
        count = new.shape[axis]
        where = xp.broadcast_to(where, (count,))
    where = xp.astype(xp.reshape(where, (-1,)), xp.int64)
    if xp.any((where < -n) | (where > n)):
        raise IndexError(f"insert: obj must be in [{-n}, {n}], the size along axis {axis}")
    where = xp.where(where < 0, where + n, where)
    order = xp.argsort(where)
    count = where.shape[0]
    places = xp.empty((count,), dtype=xp.int64, device=x.device)
    places[order] = where[order] + xp.arange(count, device=x.device)
    old = xp.ones((n + count,), dtype=xp.bool, device=x.device)
    old[places] = False
    shape = (*x.shape[:axis], n + count, *x.shape[axis + 1 :])
    result = xp.empty(shape, dtype=x.dtype, device=x.device)
    front = (slice(None),) * axis
    result[(*front, xp.nonzero(old)[0])] = x
    part = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    result[(*front, places)] = xp.broadcast_to(new, part)
    return result


def atleast_1d(*arys: ArrayLike) -> Any:
    """Views of rank one at least.

    Parameters
    ----------
    *arys : Array
        Arrays of any shape and dtype.

    Returns
    -------
    Array or tuple of Array
        As many as were given.

    Examples
    --------
    >>> xp.atleast_1d(xp.asarray(3))
    array([3])
    """
    return each(arys, lambda x: x if x.ndim else x[None])


def atleast_2d(*arys: ArrayLike) -> Any:
    """Views of rank two at least; dimensions are put in front.

    Parameters
    ----------
    *arys : Array
        Arrays of any shape and dtype.

    Returns
    -------
    Array or tuple of Array
        As many as were given.

    Examples
    --------
    >>> xp.atleast_2d(xp.asarray([3, 4]))
    array([[3, 4]])
    """
    return each(arys, lambda x: x if x.ndim > 1 else xp.reshape(x, (1, x.size)))


def atleast_3d(*arys: ArrayLike) -> Any:
    """Views of rank three at least: a vector (N,) becomes (1, N, 1), a matrix (M, N, 1).

    Parameters
    ----------
    *arys : Array
        Arrays of any shape and dtype.

    Returns
    -------
    Array or tuple of Array
        As many as were given.

    Examples
    --------
    >>> xp.atleast_3d(xp.asarray([3, 4])).shape
    (1, 2, 1)
    """
    return each(arys, lambda x: x if x.ndim > 2 else xp.atleast_2d(x)[:, :, None])


def each(arys: tuple[ArrayLike, ...], view: Callable[[Array], Array]) -> Any:
    views = tuple([view(as_array(x)) for x in arys])
    return views[0] if len(views) == 1 else views


def concatenate(arrays: Sequence[ArrayLike], axis: int | None = 0) -> Array:
    """Arrays joined along an axis they have.

    Parameters
    ----------
    arrays : sequence of Array
        One array at least; their shapes may differ only along the axis.
    axis : int or None
        The axis to join along; None flattens the arrays first.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> xp.concatenate([xp.asarray([1, 2]), xp.asarray([3])])
    array([1, 2, 3])
    """
    return xp.concat([as_array(x) for x in arrays], axis=axis)


def column_stack(tup: Sequence[ArrayLike]) -> Array:
    """A matrix whose columns are the vectors, and the columns of the matrices, given.

    Parameters
    ----------
    tup : sequence of Array
        Arrays of one or two dimensions with the same number of rows.

    Returns
    -------
    Array
        An array of two dimensions.

    Examples
    --------
    >>> xp.column_stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    array([[1, 3],
           [2, 4]])
    """
    arrays = [as_array(x) for x in tup]
    return xp.concat([x if x.ndim > 1 else xp.reshape(x, (-1, 1)) for x in arrays], axis=1)


def hstack(tup: Sequence[ArrayLike]) -> Array:
    """Arrays joined along their second axis, vectors along their only one.

    Parameters
    ----------
    tup : sequence of Array
        Arrays of shapes that differ only along that axis.

    Returns
    -------
    Array
        The joined array.

    Examples
    --------
    >>> xp.hstack([xp.asarray([1, 2]), xp.asarray([3])])
    array([1, 2, 3])
    """
    arrays = [xp.atleast_1d(x) for x in tup]
    return xp.concat(arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def vstack(tup: Sequence[ArrayLike]) -> Array:
    """Arrays joined along their first axis; vectors are rows.

    Parameters
    ----------
    tup : sequence of Array
        Arrays of shapes that differ only along that axis.

    Returns
    -------
    Array
        An array of two dimensions at least.

    Examples
    --------
    >>> xp.vstack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return xp.concat([xp.atleast_2d(x) for x in tup], axis=0)


def dstack(tup: Sequence[ArrayLike]) -> Array:
    """Arrays joined along their third axis, after `atleast_3d`.

    Parameters
    ----------
    tup : sequence of Array
        Arrays of shapes that differ only along that axis.

    Returns
    -------
    Array
        An array of three dimensions at least.

    Examples
    --------
    >>> xp.dstack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    array([[[1, 3],
            [2, 4]]])
    """
    return xp.concat([xp.atleast_3d(x) for x in tup], axis=2)


def fliplr(m: ArrayLike) -> Array:
    """A view with the second axis reversed.

    Parameters
    ----------
    m : Array
        Array of two dimensions at least.

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.fliplr(xp.asarray([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]])
    """
    return xp.flip(as_array(m), axis=1)


def flipud(m: ArrayLike) -> Array:
    """A view with the first axis reversed.

    Parameters
    ----------
    m : Array
        Array of one dimension at least.

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.flipud(xp.asarray([[1, 2], [3, 4]]))
    array([[3, 4],
           [1, 2]])
    """
    return xp.flip(as_array(m), axis=0)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """A view turned by right angles, from the first of two axes towards the second.

    Parameters
    ----------
    m : Array
        Array of two dimensions at least.
    k : int
        How many right angles.
    axes : tuple of int
        The plane to turn in.

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.rot90(xp.asarray([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    x = as_array(m)
    first, second = axes_within(tuple(axes), x.ndim)
    if k % 4 == 0:
        return x[...]
    if k % 4 == 2:
        return xp.flip(x, axis=(first, second))
    if k % 4 == 1:
        return xp.swapaxes(xp.flip(x, axis=second), first, second)
    return xp.flip(xp.swapaxes(x, first, second), axis=second)


def ravel(a: ArrayLike) -> Array:
    """The elements in row-major order with one dimension.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.

    Returns
    -------
    Array
        A view where there is one, else a copy.

    Examples
    --------
    >>> xp.ravel(xp.asarray([[1, 2], [3, 4]]))
    array([1, 2, 3, 4])
    """
    return xp.reshape(as_array(a), (-1,))


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """A view with the dimensions in another order.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.
    axes : sequence of int, optional
        For each dimension of the result, which one of `a` it is. Default: all in reverse.

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.transpose(xp.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    x = as_array(a)
    return xp.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """A view with two dimensions exchanged.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.
    axis1, axis2 : int
        The two axes.

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.swapaxes(xp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return as_array(a).swapaxes(axis1, axis2)


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """A view with one axis moved in front of the one at a position.

    Parameters
    ----------
    a : Array
        Array of any shape and dtype.
    axis : int
        The axis to move.
    start : int
        The axis that comes after it then, in [-ndim, ndim].

    Returns
    -------
    Array
        The view.

    Examples
    --------
    >>> xp.rollaxis(xp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array(a)
    axis = axis_within(axis, x.ndim)
    if not -x.ndim <= start <= x.ndim:
        raise IndexError(f"rollaxis: start is {start}; it must be in [{-x.ndim}, {x.ndim}]")
    start = start + x.ndim if start < 0 else start
    return xp.moveaxis(x, axis, start - 1 if start > axis else start)


def array_split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | Array, axis: int = 0
) -> list[Array]:
    """Views of the parts of an array along an axis, of nearly the same size.

    Parameters
    ----------
    ary : Array
        Array of one dimension at least.
    indices_or_sections : int or sequence of int
        The number of parts, the first of which may be longer by one; or where to cut.
    axis : int
        The axis to cut.

    Returns
    -------
    list of Array
        The views.

    Examples
    --------
    >>> xp.array_split(xp.asarray([1, 2, 3]), 2)
    [array([1, 2]), array([3])]
    """
    x = as_array(ary)
    axis = axis_within(axis, x.ndim)
    n = x.shape[axis]
    if isinstance(indices_or_sections, int):
        parts = indices_or_sections
        if parts <= 0:
            raise ValueError(f"array_split: the number of parts is {parts}; it must be positive")
        cuts = [i * (n // parts) + min(i, n % parts) for i in range(parts + 1)]
    else:
        cuts = [0, *[int(i) for i in indices_or_sections], n]
    front = (slice(None),) * axis
    return [x[(*front, slice(a, b))] for a, b in pairwise(cuts)]


def split(
    ary: ArrayLike, indices_or_sections: int | Sequence[int] | Array, axis: int = 0
) -> list[Array]:
    """Views of the parts of an array along an axis.

    Parameters
    ----------
    ary : Array
        Array of one dimension at least.
    indices_or_sections : int or sequence of int
        The number of parts, all of one size; or where to cut.
    axis : int
        The axis to cut.

    Returns
    -------
    list of Array
        The views.

    Examples
    --------
    >>> xp.split(xp.asarray([1, 2, 3, 4]), 2)
    [array([1, 2]), array([3, 4])]
    """
    x = as_array(ary)
    n = x.shape[axis_within(axis, x.ndim)]
    if isinstance(indices_or_sections, int) and n % indices_or_sections:
        raise ValueError(f"split: size {n} cannot be cut into {indices_or_sections} equal parts")
    return array_split(x, indices_or_sections, axis)


def hsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Array) -> list[Array]:
    """Views of the parts of an array along the second axis; of a vector along its only one.

    Parameters
    ----------
    ary : Array
        Array of one dimension at least.
    indices_or_sections : int or sequence of int
        The number of parts, all of one size; or where to cut.

    Returns
    -------
    list of Array
        The views.

    Examples
    --------
    >>> xp.hsplit(xp.asarray([[1, 2], [3, 4]]), 2)[0]
    array([[1],
           [3]])
    """
    x = as_array(ary)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: ArrayLike, indices_or_sections: int | Sequence[int] | Array) -> list[Array]:
    """Views of the parts of an array along the first axis.

    Parameters
    ----------
    ary : Array
        Array of two dimensions at least.
    indices_or_sections : int or sequence of int
        The number of parts, all of one size; or where to cut.

    Returns
    -------
    list of Array
        The views.

    Examples
    --------
    >>> xp.vsplit(xp.asarray([[1, 2], [3, 4]]), 2)[0]
    array([[1, 2]])
    """
    x = as_array(ary)
    if x.ndim < 2:
        raise ValueError(f"vsplit: ary has rank {x.ndim}; it must have two dimensions at least")
    return split(x, indices_or_sections, 0)


def trim_zeros(filt: ArrayLike, trim: str = "fb") -> Array:
    """A vector without the zeros at its ends.

    Parameters
    ----------
    filt : Array
        A one-dimensional array.
    trim : str
        Which ends: "f" the front, "b" the back, "fb" both.

    Returns
    -------
    Array
        A view.

    Examples
    --------
    >>> xp.trim_zeros(xp.asarray([0, 0, 1, 0, 2, 0]))
    array([1, 0, 2])
    """
    x = as_array(filt)
    if x.ndim != 1:
        raise ValueError(f"trim_zeros: filt has rank {x.ndim}; it must be one-dimensional")
    found = xp.nonzero(x)[0]
    if not found.size:
        return x[:0]
    first = int(found[0]) if "f" in trim.lower() else 0
    last = int(found[-1]) if "b" in trim.lower() else x.size - 1
    return x[first : last + 1]


def pairs(values: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """Return a pair (before, after) for each dimension, from a scalar, a pair or pairs."""
    given = values.tolist() if isinstance(values, Array) else values
    if not isinstance(given, (tuple, list)):
        return [(given, given)] * ndim
    given = list(given)
    if given and not isinstance(given[0], (tuple, list)):
        if len(given) == 1:
            return [(given[0], given[0])] * ndim
        given = [given]
    result = [(pair[0], pair[-1]) for pair in given]
    result = result * ndim if len(result) == 1 else result
    if len(result) != ndim or any(len(pair) not in (1, 2) for pair in given):
        raise ValueError(f"pad: {what} is {values}, which is no pair for each of {ndim} dimensions")
    return result


def pad(
    array: ArrayLike,
    pad_width: int | Sequence[Any] | Mapping[int, int | tuple[int, int]],
    mode: str = "constant",
    *,
    constant_values: Scalar | Sequence[Any] = 0,
) -> Array:
    """An array with a border around it.

    Parameters
    ----------
    array : Array
        Array of any shape and dtype.
    pad_width : int, pair, pairs or dict
        How much before and after: for all axes, or a pair for each; or a dict from axis to width.
    mode : str
        What fills it: "constant" values, the "edge", the array mirrored at its edge with
        ("symmetric") or without ("reflect") the edge itself, the other end ("wrap"), or nothing
        in particular ("empty").
    constant_values : scalar, pair or pairs
        The values before and after, for the mode "constant".

    Returns
    -------
    Array
        A new array of the dtype of `array`.

    Examples
    --------
    >>> xp.pad(xp.asarray([1, 2, 3]), (2, 1), mode="reflect")
    array([3, 2, 1, 2, 3, 2])
    """
    x = as_array(array)
    if isinstance(pad_width, dict):
        listed: list[Any] = [(0, 0)] * x.ndim
        for axis, width in pad_width.items():
            listed[axis_within(axis, x.ndim)] = (width, width) if isinstance(width, int) else width
        pad_width = listed
    widths = pairs(pad_width, x.ndim, "pad_width")
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: pad_width is {pad_width}; no width can be negative")
    if mode in ("constant", "empty"):
        shape = tuple([a + n + b for n, (a, b) in zip(x.shape, widths, strict=True)])
        result = xp.empty(shape, dtype=x.dtype, device=x.device)
        inside = tuple([slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True)])
        result[inside] = x
        if mode == "empty":
            return result
        for i, pair in enumerate(pairs(constant_values, x.ndim, "constant_values")):
            front = (slice(None),) * i
            before, after = [xp.astype(as_array(value, x.device), x.dtype) for value in pair]
            result[(*front, slice(0, inside[i].start))] = before
            result[(*front, slice(inside[i].stop, None))] = after
        return result
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise ValueError(
            f"pad: mode is {mode!r}; it must be 'constant', 'edge', 'reflect', 'symmetric', "
            "'wrap' or 'empty'"
        )
    for axis, (before, after) in enumerate(widths):
        n = x.shape[axis]
        if before == after == 0:
            continue
        if n == 0:
            raise ValueError(f"pad: axis {axis} is empty, so mode {mode!r} has nothing to take")
        where = xp.arange(-before, n + after, device=x.device)
        if mode == "edge" or n == 1:
            where = xp.clip(where, 0, n - 1)
        elif mode == "wrap":
            where = where % n
        elif mode == "symmetric":
            where = where % (2 * n)
            where = xp.minimum(where, 2 * n - 1 - where)
        else:
            where = where % (2 * n - 2)
            where = xp.minimum(where, 2 * n - 2 - where)
        x = xp.take(x, where, axis=axis)
    return xp.asarray(x, copy=True) if x is array else x
