"""Elementwise functions beyond the standard, and questions about what an argument is."""

from __future__ import annotations

import arrayx as xp

from .._core import Array
from ._common import (
    as_array,
    as_pair,
    axes_within,
    complex_of,
    floating,
    is_complex,
    is_inexact,
    nans,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._common import ArrayLike, Axes


def around(a: ArrayLike, decimals: int = 0) -> Array:
    """Each element rounded to a number of decimals, ties to the even one.

    Parameters
    ----------
    a : Array
        Array of a numeric dtype.
    decimals : int
        How many digits stay after the point; negative ones are in front of it.

    Returns
    -------
    Array
        An array of the shape and dtype of `a`.

    Examples
    --------
    >>> xp.around(xp.asarray([0.125, 2.5]), 2)
    array([0.12, 2.5 ])
    """
    a = as_array(a)
    if decimals == 0 or (decimals > 0 and not is_inexact(a)):
        return xp.round(a)
    if not is_inexact(a):
        return xp.astype(xp.around(floating(a), decimals), a.dtype)
    if is_complex(a):
        return complex_of(xp.around(xp.real(a), decimals), xp.around(xp.imag(a), decimals))
    scale = 10.0 ** abs(decimals)
    return xp.round(a * scale) / scale if decimals > 0 else xp.round(a / scale) * scale


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """The angle of each complex number to the positive real axis.

    Parameters
    ----------
    z : Array
        Array of a numeric dtype.
    deg : bool
        Whether in degrees rather than radians.

    Returns
    -------
    Array
        Real floating angles in (-π, π].

    Examples
    --------
    >>> xp.angle(xp.asarray([1j, -1.0]), deg=True)
    array([ 90., 180.])
    """
    z = floating(as_array(z))
    if is_complex(z):
        angles = xp.atan2(xp.imag(z), xp.real(z))
    else:
        angles = xp.atan2(xp.zeros_like(z), z)
    return xp.rad2deg(angles) if deg else angles


def cbrt(x: ArrayLike) -> Array:
    """The real cube root of each element.

    Parameters
    ----------
    x : Array
        Array of a real dtype.

    Returns
    -------
    Array
        A real floating array.

    Examples
    --------
    >>> xp.cbrt(xp.asarray([-8.0, 27.0]))
    array([-2.,  3.])
    """
    x = floating(as_array(x))
    magnitude = xp.abs(x)
    guess = magnitude ** (1 / 3)
    # One step of Newton's method removes the error of the rounded exponent 1/3.
    root = guess - (guess - magnitude / (guess * guess)) / 3
    root = xp.where((magnitude == 0) | xp.isinf(magnitude), magnitude, root)
    return xp.copysign(root, x)


def deg2rad(x: ArrayLike) -> Array:
    """Angles in radians, from degrees.

    Parameters
    ----------
    x : Array
        Array of a real dtype.

    Returns
    -------
    Array
        A real floating array.

    Examples
    --------
    >>> xp.deg2rad(xp.asarray([0.0, 180.0]))
    array([0.       , 3.1415927])
    """
    return floating(as_array(x)) * (xp.pi / 180)


def rad2deg(x: ArrayLike) -> Array:
    """Angles in degrees, from radians.

    Parameters
    ----------
    x : Array
        Array of a real dtype.

    Returns
    -------
    Array
        A real floating array.

    Examples
    --------
    >>> xp.rad2deg(xp.asarray([0.0, xp.pi]))
    array([  0., 180.])
    """
    return floating(as_array(x)) * (180 / xp.pi)


def divmod(x1: ArrayLike, x2: ArrayLike) -> tuple[Array, Array]:
    """The quotient rounded down, and the remainder.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a real dtype whose shapes broadcast.

    Returns
    -------
    tuple of Array
        The results of `floor_divide` and `remainder`.

    Examples
    --------
    >>> xp.divmod(xp.asarray([7, -7]), 3)
    (array([ 2, -3]), array([1, 2]))
    """
    x1, x2 = as_pair(x1, x2)
    return xp.floor_divide(x1, x2), xp.remainder(x1, x2)


def exp2(x: ArrayLike) -> Array:
    """Two to the power of each element.

    Parameters
    ----------
    x : Array
        Array of a numeric dtype.

    Returns
    -------
    Array
        A floating array.

    Examples
    --------
    >>> xp.exp2(xp.asarray([-1, 3]))
    array([0.5, 8. ])
    """
    return 2.0 ** floating(as_array(x))


def float_power(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Powers of each element, in double precision at least.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a numeric dtype whose shapes broadcast.

    Returns
    -------
    Array
        A float64 or complex128 array.

    Examples
    --------
    >>> xp.float_power(xp.asarray([2, 4]), -1)
    array([0.5 , 0.25])
    """
    x1, x2 = as_pair(x1, x2)
    dtype = xp.complex128 if is_complex(x1) or is_complex(x2) else xp.float64
    return xp.pow(xp.astype(x1, dtype), xp.astype(x2, dtype))


def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The larger of two elements; a number if only one is NaN.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a real dtype whose shapes broadcast.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> xp.fmax(xp.asarray([1.0, xp.nan]), 0.5)
    array([1. , 0.5])
    """
    x1, x2 = as_pair(x1, x2)
    if x1.dtype == x2.dtype == xp.bool:
        return x1 | x2
    return xp.where(nans(x1), x2, xp.where(nans(x2), x1, xp.maximum(x1, x2)))


def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The smaller of two elements; a number if only one is NaN.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a real dtype whose shapes broadcast.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> xp.fmin(xp.asarray([1.0, xp.nan]), 0.5)
    array([0.5, 0.5])
    """
    x1, x2 = as_pair(x1, x2)
    if x1.dtype == x2.dtype == xp.bool:
        return x1 & x2
    return xp.where(nans(x1), x2, xp.where(nans(x2), x1, xp.minimum(x1, x2)))


def fmod(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The remainder of division, with the sign of the dividend as in C.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a real dtype whose shapes broadcast.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> xp.fmod(xp.asarray([-7, 7]), 3)
    array([-1,  1])
    """
    x1, x2 = as_pair(x1, x2)
    if is_inexact(x1) or is_inexact(x2):
        dtype = xp.result_type(x1, x2)
        x1, x2 = xp.astype(x1, dtype), xp.astype(x2, dtype)
        return xp.copysign(xp.remainder(xp.abs(x1), xp.abs(x2)), x1)
    rest = xp.remainder(x1, x2)
    return xp.where((rest != 0) & ((rest < 0) != (x1 < 0)), rest - x2, rest)


def heaviside(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The step function: 0 below zero, 1 above, a given value at zero.

    Parameters
    ----------
    x1 : Array
        Where to evaluate it; of a real dtype.
    x2 : Array
        The value at zero.

    Returns
    -------
    Array
        A real floating array of the broadcast shape.

    Examples
    --------
    >>> xp.heaviside(xp.asarray([-1.0, 0.0, 2.0]), 0.5)
    array([0. , 0.5, 1. ])
    """
    x1, x2 = as_pair(x1, x2)
    x1, x2 = floating(x1), floating(x2)
    step = xp.where(x1 < 0, 0.0, xp.where(x1 > 0, 1.0, x2))
    return xp.where(xp.isnan(x1), x1, step)


def isclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | Array = 1e-05,
    atol: float | Array = 1e-08,
    equal_nan: bool = False,
) -> Array:
    """Whether elements are equal within a tolerance.

    Parameters
    ----------
    a, b : Array
        Arrays of any dtype whose shapes broadcast.
    rtol, atol : float
        The tolerance is atol + rtol * abs(b).
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    Array
        A bool array of the broadcast shape.

    Examples
    --------
    >>> xp.isclose(xp.asarray([1.0, 2.0]), xp.asarray([1.0 + 1e-9, 2.1]))
    array([ True, False])
    """
    a, b = as_pair(a, b)
    a, b = floating(a), floating(b)
    close = (xp.abs(a - b) <= atol + rtol * xp.abs(b)) & xp.isfinite(b)
    close = close | (a == b)
    return close | (xp.isnan(a) & xp.isnan(b)) if equal_nan else close


def allclose(
    a: ArrayLike,
    b: ArrayLike,
    rtol: float | Array = 1e-05,
    atol: float | Array = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are equal within a tolerance.

    Parameters
    ----------
    a, b : Array
        Arrays of any dtype whose shapes broadcast.
    rtol, atol : float
        The tolerance is atol + rtol * abs(b).
    equal_nan : bool
        Whether NaN is close to NaN.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> xp.allclose(xp.asarray([1.0, 2.0]), xp.asarray([1.0 + 1e-9, 2.0]))
    True
    """
    return bool(xp.all(xp.isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and the same elements.

    Parameters
    ----------
    a1, a2 : Array
        Arrays of any shape and dtype.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> xp.array_equal(xp.asarray([1, 2]), xp.asarray([1.0, 2.0]))
    True
    """
    x1, x2 = as_array(a1), as_array(a2)
    if x1.shape != x2.shape:
        return False
    same = xp.equal(x1, x2)
    if equal_nan:
        same = same | (nans(x1) & nans(x2))
    return bool(xp.all(same))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Whether two arrays broadcast and then have the same elements.

    Parameters
    ----------
    a1, a2 : Array
        Arrays of any shape and dtype.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> xp.array_equiv(xp.asarray([1, 2]), xp.asarray([[1, 2], [1, 2]]))
    True
    """
    x1, x2 = as_array(a1), as_array(a2)
    try:
        xp.broadcast_shapes(x1.shape, x2.shape)
    except ValueError:
        return False
    return bool(xp.all(x1 == x2))


def iscomplex(x: ArrayLike) -> Array:
    """Whether elements have an imaginary part that is not zero.

    Parameters
    ----------
    x : Array
        Array of any dtype.

    Returns
    -------
    Array
        A bool array.

    Examples
    --------
    >>> xp.iscomplex(xp.asarray([1 + 0j, 1j]))
    array([False,  True])
    """
    x = as_array(x)
    return xp.imag(x) != 0 if is_complex(x) else xp.zeros_like(x, dtype=xp.bool)


def isreal(x: ArrayLike) -> Array:
    """Whether elements have no imaginary part, or one of zero.

    Parameters
    ----------
    x : Array
        Array of any dtype.

    Returns
    -------
    Array
        A bool array.

    Examples
    --------
    >>> xp.isreal(xp.asarray([1 + 0j, 1j]))
    array([ True, False])
    """
    return xp.logical_not(iscomplex(x))


def iscomplexobj(x: object) -> bool:
    """Whether the dtype is complex, whatever the values.

    Parameters
    ----------
    x : object
        An array or a Python scalar.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> xp.iscomplexobj(xp.asarray([1 + 0j]))
    True
    """
    return is_complex(x if isinstance(x, Array) else xp.asarray(x))


def isrealobj(x: object) -> bool:
    """Whether the dtype is not complex.

    Parameters
    ----------
    x : object
        An array or a Python scalar.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> xp.isrealobj(xp.asarray([1 + 0j]))
    False
    """
    return not iscomplexobj(x)


def isscalar(element: object) -> bool:
    """Whether an object is a Python scalar.

    Parameters
    ----------
    element : object
        Anything.

    Returns
    -------
    bool
        False for arrays, those of rank 0 too.

    Examples
    --------
    >>> xp.isscalar(3.1), xp.isscalar(xp.asarray(3.1))
    (True, False)
    """
    return isinstance(element, (bool, int, float, complex, str, bytes))


def isneginf(x: ArrayLike) -> Array:
    """Whether elements are negative infinity.

    Parameters
    ----------
    x : Array
        Array of a real dtype.

    Returns
    -------
    Array
        A bool array.

    Examples
    --------
    >>> xp.isneginf(xp.asarray([-xp.inf, 0.0, xp.inf]))
    array([ True, False, False])
    """
    x = as_array(x)
    return xp.isinf(x) & (x < 0)


def isposinf(x: ArrayLike) -> Array:
    """Whether elements are positive infinity.

    Parameters
    ----------
    x : Array
        Array of a real dtype.

    Returns
    -------
    Array
        A bool array.

    Examples
    --------
    >>> xp.isposinf(xp.asarray([-xp.inf, 0.0, xp.inf]))
    array([False, False,  True])
    """
    x = as_array(x)
    return xp.isinf(x) & (x > 0)


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Finite numbers in place of NaN and the infinities.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    copy : bool
        Whether to leave `x` as it is; else it is written.
    nan : float
        What stands for NaN.
    posinf, neginf : float, optional
        What stands for the infinities. Default: the largest and the smallest finite number.

    Returns
    -------
    Array
        An array of the shape and dtype of `x`.

    Examples
    --------
    >>> xp.nan_to_num(xp.asarray([xp.nan, xp.inf, 1.0]), posinf=9.0)
    array([0., 9., 1.])
    """
    x = as_array(x)

    def finite(part: Array) -> Array:
        info = xp.finfo(part.dtype)
        bounded = xp.clip(part, info.min, info.max)
        if posinf is not None:
            bounded = xp.where(part == xp.inf, posinf, bounded)
        if neginf is not None:
            bounded = xp.where(part == -xp.inf, neginf, bounded)
        return xp.astype(xp.where(xp.isnan(part), nan, bounded), part.dtype, copy=False)

    if is_complex(x):
        result = complex_of(finite(xp.real(x)), finite(xp.imag(x)))
    elif is_inexact(x):
        result = finite(x)
    else:
        result = x
    if not copy:
        x[...] = result
        return x
    return xp.asarray(result, copy=True) if result is x else result


def select(
    condlist: Sequence[Array], choicelist: Sequence[ArrayLike], default: ArrayLike = 0
) -> Array:
    """Elements of the first choice whose condition holds.

    Parameters
    ----------
    condlist : sequence of Array
        Conditions, of dtype bool.
    choicelist : sequence of Array
        As many choices.
    default : Array
        What to take where no condition holds.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Examples
    --------
    >>> x = xp.arange(4)
    >>> xp.select([x < 1, x > 2], [x - 10, x * 10], 5)
    array([-10,   5,   5,  30])
    """
    if not condlist or len(condlist) != len(choicelist):
        raise ValueError(
            f"select: there are {len(condlist)} conditions and {len(choicelist)} choices; there "
            "must be as many of either, and one at least"
        )
    result: Any = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = xp.where(condition, *as_pair(choice, result))
    return as_array(result)


def sinc(x: ArrayLike) -> Array:
    """The normalised sinc function, sin(πx) / (πx), which is 1 at zero.

    Parameters
    ----------
    x : Array
        Array of a numeric dtype.

    Returns
    -------
    Array
        A floating array.

    Examples
    --------
    >>> xp.sinc(xp.asarray([0.0, 0.5]))
    array([1.        , 0.63661977])
    """
    y = floating(as_array(x)) * xp.pi
    zero = y == 0
    y = xp.where(zero, 1.0, y)
    return xp.where(zero, 1.0, xp.sin(y) / y)


def true_divide(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The quotient, of integers too.

    Parameters
    ----------
    x1, x2 : Array
        Arrays of a numeric dtype whose shapes broadcast.

    Returns
    -------
    Array
        A floating array.

    Examples
    --------
    >>> xp.true_divide(xp.asarray([1, 2]), 4)
    array([0.25, 0.5 ])
    """
    x1, x2 = as_pair(x1, x2)
    if not is_inexact(x1) and not is_inexact(x2):
        x1, x2 = floating(x1), floating(x2)
    return xp.divide(x1, x2)


def ndim(a: ArrayLike) -> int:
    """The number of dimensions.

    Parameters
    ----------
    a : Array
        An array, or what can be made one.

    Returns
    -------
    int
        The rank.

    Examples
    --------
    >>> xp.ndim([[1, 2, 3]])
    2
    """
    return as_array(a).ndim


def shape(a: ArrayLike) -> tuple[int, ...]:
    """The sizes of the dimensions.

    Parameters
    ----------
    a : Array
        An array, or what can be made one.

    Returns
    -------
    tuple of int
        The shape.

    Examples
    --------
    >>> xp.shape([[1, 2, 3]])
    (1, 3)
    """
    return as_array(a).shape


def size(a: ArrayLike, axis: Axes = None) -> int:
    """The number of elements, of all or along axes.

    Parameters
    ----------
    a : Array
        An array, or what can be made one.
    axis : int or tuple of int, optional
        The axes to count along. Default: all of them.

    Returns
    -------
    int
        The product of the sizes.

    Examples
    --------
    >>> xp.size([[1, 2, 3]], axis=1)
    3
    """
    a = as_array(a)
    count = 1
    for i in axes_within(axis, a.ndim):
        count *= a.shape[i]
    return count
