"""Statistical functions of the standard."""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array, DType

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


@function
def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """The running product along an axis.

    Parameters
    ----------
    x : Array
        Array of at least one dimension; dtype numeric.
    axis : int, optional
        The axis to go along. It may be left out if `x` is one-dimensional.
    dtype : DType, optional
        The dtype to compute in and to return. Default: that of `x`; for integers int64 if signed,
        else uint64.
    include_initial : bool
        Whether the result begins with 1, and is longer by one.

    Returns
    -------
    Array
        An array of the shape of `x`, but for the initial value.

    Raises
    ------
    TypeError
        If `x` is not numeric.
    ValueError
        If `axis` is None and `x` is not one-dimensional.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]))
    array([1, 2, 6])
    >>> xp.cumulative_prod(xp.asarray([1, 2, 3]), include_initial=True)
    array([1, 1, 2, 6])
    """


@function
def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """The running sum along an axis.

    Parameters
    ----------
    x : Array
        Array of at least one dimension; dtype numeric.
    axis : int, optional
        The axis to go along. It may be left out if `x` is one-dimensional.
    dtype : DType, optional
        The dtype to compute in and to return. Default: that of `x`; for integers int64 if signed,
        else uint64.
    include_initial : bool
        Whether the result begins with 0, and is longer by one.

    Returns
    -------
    Array
        An array of the shape of `x`, but for the initial value.

    Raises
    ------
    TypeError
        If `x` is not numeric.
    ValueError
        If `axis` is None and `x` is not one-dimensional.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]))
    array([1, 3, 6])
    >>> xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True)
    array([0, 1, 3, 6])
    """


@function
def max(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The largest element, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or floating).
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is not real-valued.
    ValueError
        If there is no element to choose from, or an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    NaN, where there is one, is the result.

    Examples
    --------
    >>> xp.max(xp.asarray([[1, 5], [7, 3]]))
    array(7)
    >>> xp.max(xp.asarray([[1, 5], [7, 3]]), axis=1)
    array([5, 7])
    """


@function
def mean(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """The arithmetic mean of elements, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to cast `x` to first, as in NumPy and PyTorch; not in the standard.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of the dtype of `x`, or of the one named; the mean of nothing is NaN.

    Raises
    ------
    TypeError
        If `x` is not floating.
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Elements are added pairwise, in the dtype of `x` (float16 in float32): a sum that it cannot hold
    gives an infinity. `dtype` asks for another.

    Examples
    --------
    >>> xp.mean(xp.asarray([1.0, 2.0, 6.0]))
    array(3.)
    >>> xp.mean(xp.asarray([[1.0, 2.0], [3.0, 5.0]]), axis=0)
    array([2. , 3.5])
    """


@function
def min(x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """The smallest element, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or floating).
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If `x` is not real-valued.
    ValueError
        If there is no element to choose from, or an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    NaN, where there is one, is the result.

    Examples
    --------
    >>> xp.min(xp.asarray([[1, 5], [7, 3]]))
    array(1)
    >>> xp.min(xp.asarray([[1, 5], [7, 3]]), axis=1)
    array([1, 3])
    """


@function
def prod(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """The product of elements, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric, or bool, taken as ones and zeros: the standard leaves
        that open, and NumPy, PyTorch, CuPy and JAX agree on it.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in and to return. Default: that of `x`; int64 for bool and
        signed integers, uint64 for unsigned ones.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of products; the product of nothing is 1.

    Raises
    ------
    TypeError
        If `x` is no array, or `dtype` cannot hold the product of its elements.
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]))
    array(24)
    >>> xp.prod(xp.asarray([[1, 2], [3, 4]]), axis=0)
    array([3, 8])
    """


@function
def std(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    ddof: int | float | None = None,
    correction: int | float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The standard deviation of elements, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real floating.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to cast `x` to first, as in NumPy; not in the standard.
    ddof : int or float, optional
        NumPy's word for `correction`, which it replaces if given; not in the standard.
    correction : int or float
        What is taken from the number of elements to get the divisor: 0 for a population, 1 for a
        sample (Bessel's correction).
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of the dtype of `x`, or of the one named; NaN where the number of elements less
        the correction is not positive.

    Raises
    ------
    TypeError
        If `x` is not real floating.
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Deviations are taken from the mean, or from a number near it and then corrected, so no digits
    are lost where it is large.

    Examples
    --------
    >>> xp.std(xp.asarray([1.0, 2.0, 3.0, 4.0]))
    array(1.118034)
    >>> xp.std(xp.asarray([1.0, 2.0, 3.0, 4.0]), correction=1)
    array(1.2909944)
    """


@function
def sum(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    keepdims: bool = False,
) -> Array:
    """The sum of elements, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric, or bool, whose true elements are counted: the standard
        leaves that open, and NumPy, PyTorch, CuPy and JAX agree on it.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to compute in and to return. Default: that of `x`; int64 for bool and
        signed integers, uint64 for unsigned ones.
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of sums; the sum of nothing is 0.

    Raises
    ------
    TypeError
        If `x` is no array, or `dtype` cannot hold the sum of its elements.
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Floating-point numbers are added pairwise along every axis, so the error grows with the
    logarithm of their number. Integers wrap around on overflow.

    Examples
    --------
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]))
    array(10)
    >>> xp.sum(xp.asarray([True, False, True]))
    array(2)
    >>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
    array([4, 6])
    >>> xp.sum(xp.asarray([200, 100], dtype=xp.uint8))
    array(300, dtype=uint64)
    """


@function
def var(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    dtype: DType | None = None,
    ddof: int | float | None = None,
    correction: int | float = 0.0,
    keepdims: bool = False,
) -> Array:
    """The variance of elements, of all or along axes.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real floating.
    axis : int or tuple of int, optional
        The dimensions to reduce. Default: all of them.
    dtype : DType, optional
        The dtype to cast `x` to first, as in NumPy; not in the standard.
    ddof : int or float, optional
        NumPy's word for `correction`, which it replaces if given; not in the standard.
    correction : int or float
        What is taken from the number of elements to get the divisor: 0 for a population, 1 for a
        sample (Bessel's correction).
    keepdims : bool
        Whether the reduced dimensions stay, with size one.

    Returns
    -------
    Array
        An array of the dtype of `x`, or of the one named; NaN where the number of elements less
        the correction is not positive.

    Raises
    ------
    TypeError
        If `x` is not real floating.
    ValueError
        If an axis is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Deviations are taken from the mean, or from a number near it and then corrected, so no digits
    are lost where it is large.

    Examples
    --------
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0, 4.0]))
    array(1.25)
    >>> xp.var(xp.asarray([1.0, 2.0, 3.0, 4.0]), correction=1)
    array(1.6666667)
    """
