"""Windows that slide over an array, named and behaving as in numpy.lib.stride_tricks."""

from __future__ import annotations

import arrayx as xp

from .._beyond_the_standard._common import axis_within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Array

__all__ = ["sliding_window_view"]


def sliding_window_view(
    x: Array, window_shape: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Array:
    """The windows of a shape at every position of an array.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    window_shape : int or tuple of int
        The sizes of a window, one for each axis that it slides along.
    axis : int or tuple of int, optional
        The axes that it slides along. Default: all of them.

    Returns
    -------
    Array
        A copy, unlike NumPy's. Along an axis of size n it holds the n - w + 1 positions of a window
        of size w; the windows' own axes come last.

    Raises
    ------
    ValueError
        If there are not as many sizes as axes, or a size is negative or exceeds that of its axis.

    Examples
    --------
    >>> from arrayx.lib.stride_tricks import sliding_window_view
    >>> sliding_window_view(xp.asarray([1, 2, 3, 4]), 3)
    array([[1, 2, 3],
           [2, 3, 4]])
    """
    sizes = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    named = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    # An axis may be named twice, as in NumPy: the second window slides over the first's positions.
    axes = [axis_within(along, x.ndim) for along in named]
    if len(sizes) != len(axes):
        raise ValueError(
            f"window_shape is {window_shape}; it must have one size for each of {len(axes)} axes"
        )
    for size, along in zip(sizes, axes, strict=True):
        places = x.shape[along] - size + 1
        if size < 0 or places < 1:
            raise ValueError(
                f"window_shape is {window_shape}; its sizes must be in [0, n] for axes of size n, "
                f"and x has shape {x.shape}"
            )
        before, after = x.shape[:along], x.shape[along + 1 :]
        if size == 0:
            x = xp.zeros((*before, places, *after, 0), dtype=x.dtype, device=x.device)
        else:
            whole = (slice(None),) * along
            x = xp.stack([x[(*whole, slice(k, k + places), ...)] for k in range(size)], axis=-1)
    return x
