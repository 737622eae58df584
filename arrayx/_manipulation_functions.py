"""Manipulation functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


@function
def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays against each other, as views.

    Parameters
    ----------
    *arrays : Array
        Arrays of any dtype whose shapes broadcast.

    Returns
    -------
    tuple of Array
        Views of one shape, each of the dtype of its argument. They cannot be written where elements
        repeat.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> xp.broadcast_arrays(xp.asarray([1, 2]), xp.asarray([[10], [20]]))
    (array([[1, 2],
           [1, 2]]), array([[10, 10],
           [20, 20]]))
    """


@function
def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of int
        Shapes; without any the result is ().

    Returns
    -------
    tuple of int
        The broadcast shape.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> xp.broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """


@function
def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Broadcast an array to a shape, as a view.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    shape : tuple of int
        The shape wanted.

    Returns
    -------
    Array
        A view. It cannot be written where elements repeat.

    Raises
    ------
    ValueError
        If `x` does not broadcast to the shape.

    Examples
    --------
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]])
    """


@function
def concat(arrays: tuple[Array, ...] | list[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have.

    Parameters
    ----------
    arrays : tuple or list of Array
        At least one array; their shapes may differ only along the axis.
    axis : int or None
        The axis to join along; None flattens the arrays first.

    Returns
    -------
    Array
        A new array of the promoted dtype.

    Raises
    ------
    ValueError
        If there is no array or the shapes do not fit.
    TypeError
        If the dtypes do not promote.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> x = xp.asarray([[1, 2]])
    >>> xp.concat([x, x + 10])
    array([[ 1,  2],
           [11, 12]])
    >>> xp.concat([x, x + 10], axis=None)
    array([ 1,  2, 11, 12])
    """


@function
def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Insert dimensions of size one, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axis : int or tuple of int
        Where the new dimensions are in the result.

    Returns
    -------
    Array
        A view with more dimensions.

    Raises
    ------
    IndexError
        If a position is out of range for the result.
    ValueError
        If a position is named twice.

    Examples
    --------
    >>> xp.expand_dims(xp.asarray([1, 2]), 0).shape
    (1, 2)
    >>> xp.expand_dims(xp.asarray([1, 2]), (0, -1)).shape
    (1, 2, 1)
    """


@function
def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Reverse the order of elements along axes, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axis : int, tuple of int or None
        The axes to reverse; None reverses all.

    Returns
    -------
    Array
        A view of the same shape.

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If an axis is named twice.

    Examples
    --------
    >>> xp.flip(xp.asarray([[1, 2], [3, 4]]))
    array([[4, 3],
           [2, 1]])
    >>> xp.flip(xp.asarray([[1, 2], [3, 4]]), axis=1)
    array([[2, 1],
           [4, 3]])
    """


@function
def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Move axes to other places; the rest keep their order. The result is a view.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    source : int or tuple of int
        The axes to move.
    destination : int or tuple of int
        Where each of them goes.

    Returns
    -------
    Array
        A view with its dimensions in another order.

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If an axis is named twice, or `source` and `destination` differ in length.

    Examples
    --------
    >>> xp.moveaxis(xp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """


@function
def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Put the dimensions in another order, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axes : tuple of int
        For each dimension of the result, which dimension of `x` it is.

    Returns
    -------
    Array
        A view with its dimensions in another order.

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If not every axis is named once.

    Examples
    --------
    >>> xp.permute_dims(xp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """


@function
def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, or each subarray along an axis, in its place.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    repeats : int or Array
        How often; an array of an integer dtype gives a number for each element along the axis, or
        one for all. On an accelerator an array makes the call wait for its values.
    axis : int or None
        The axis to repeat along; None flattens `x` first.

    Returns
    -------
    Array
        A new array of the dtype of `x`.

    Raises
    ------
    ValueError
        If a number is negative, or `repeats` has another shape.
    TypeError
        If `repeats` is neither an int nor an array of an integer dtype.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.repeat(xp.asarray([1, 2]), 2)
    array([1, 1, 2, 2])
    >>> xp.repeat(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 2]), axis=0)
    array([[1, 2],
           [3, 4],
           [3, 4]])
    """


@function
def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Give an array another shape; a view where there is one, else a copy.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    shape : tuple of int
        The shape wanted; one size may be -1 and is then found from the others.
    copy : bool or None
        True always copies, False never does, None only where it cannot be avoided.

    Returns
    -------
    Array
        An array with the elements of `x` in row-major order.

    Raises
    ------
    ValueError
        If the shape does not have the number of elements of `x`, or `copy` is False and only a copy
        will do.

    Notes
    -----
    A view exists whenever the new dimensions can be given strides; contiguous arrays always have
    one.

    Examples
    --------
    >>> xp.reshape(xp.arange(6), (2, -1))
    array([[0, 1, 2],
           [3, 4, 5]])
    """


@function
def roll(
    x: Array,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> Array:
    """Shift elements along axes; those that leave one end come in at the other.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    shift : int or tuple of int
        By how many places, positive towards larger indices; a tuple has one number per axis.
    axis : int, tuple of int or None
        The axes to shift along; None shifts the flattened array and restores its shape.

    Returns
    -------
    Array
        A new array of the shape and dtype of `x`.

    Raises
    ------
    IndexError
        If an axis is out of range.
    ValueError
        If `shift` and `axis` differ in length.

    Examples
    --------
    >>> xp.roll(xp.asarray([1, 2, 3, 4]), 1)
    array([4, 1, 2, 3])
    >>> xp.roll(xp.asarray([[1, 2], [3, 4]]), 1, axis=0)
    array([[3, 4],
           [1, 2]])
    """


@function
def squeeze(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """Remove dimensions of size one, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    axis : int or tuple of int, optional
        The dimensions to remove. Default: all of size one, as in NumPy and PyTorch; the standard
        wants them named.

    Returns
    -------
    Array
        A view with less dimensions.

    Raises
    ------
    ValueError
        If a dimension named has another size, or is named twice.
    IndexError
        If an axis is out of range.

    Examples
    --------
    >>> xp.squeeze(xp.zeros((1, 3, 1)), (0, 2)).shape
    (3,)
    >>> xp.squeeze(xp.zeros((1, 3, 1))).shape
    (3,)
    """


@function
def stack(arrays: tuple[Array, ...] | list[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : tuple or list of Array
        At least one array; all of one shape.
    axis : int
        Where the new axis is in the result.

    Returns
    -------
    Array
        A new array of the promoted dtype.

    Raises
    ------
    ValueError
        If there is no array or the shapes differ.
    TypeError
        If the dtypes do not promote.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> x = xp.asarray([1, 2])
    >>> xp.stack([x, x + 10])
    array([[ 1,  2],
           [11, 12]])
    >>> xp.stack([x, x + 10], axis=1)
    array([[ 1, 11],
           [ 2, 12]])
    """


@function
def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Repeat a whole array along its axes.

    Parameters
    ----------
    x : Array
        Array of any shape and dtype.
    repetitions : tuple of int
        How often along each axis. Where it is shorter than the shape of `x`, or the other way
        round, ones are put before it.

    Returns
    -------
    Array
        A new array of the dtype of `x`.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> xp.tile(xp.asarray([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """


@function
def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis, as views.

    Parameters
    ----------
    x : Array
        Array of at least one dimension and any dtype.
    axis : int
        The axis to split along.

    Returns
    -------
    tuple of Array
        Views without the axis, one for each index along it.

    Raises
    ------
    IndexError
        If the axis is out of range.
    ValueError
        If `x` has rank 0.

    Examples
    --------
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (array([1, 2]), array([3, 4]))
    """
