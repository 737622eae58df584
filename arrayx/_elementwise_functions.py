"""Elementwise functions of the standard.

What they compute is in cpp/ops.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ._core import function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import Array

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
]


@function
def abs(x: Array, /) -> Array:
    """Absolute value of each element; of a complex number, its modulus.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`; real floating of the same precision where `x` is complex.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The smallest integer of a signed dtype has no counterpart and is returned as it is. A
    complex modulus neither overflows nor underflows where the result fits, and is infinite if
    either part is.

    Examples
    --------
    >>> xp.abs(xp.asarray([-1.5, 2.0, -0.0]))
    array([1.5, 2. , 0. ])
    >>> xp.abs(xp.asarray([3 + 4j]))
    array([5.])
    """


@function
def acos(x: Array, /) -> Array:
    """Inverse cosine of each element, in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real results lie in [0, pi]; outside [-1, 1] the result is NaN. Complex results have branch
    cuts along the real axis outside [-1, 1].

    Examples
    --------
    >>> xp.acos(xp.asarray([1.0, 0.0, 2.0]))
    array([0.       , 1.5707963,       nan])
    """


@function
def acosh(x: Array, /) -> Array:
    """Inverse hyperbolic cosine of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real arguments below 1 give NaN. Complex results have a branch cut along the real axis below
    1.

    Examples
    --------
    >>> xp.acosh(xp.asarray([1.0, 2.0, 0.5]))
    array([0.       , 1.3169579,       nan])
    """


@function
def add(x1: Array | int | float | complex, x2: Array | int | float | complex, /) -> Array:
    """Sum of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int, float or complex
        Operands, broadcast against each other; dtypes numeric or bool. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Integers wrap around on overflow. Of bool arrays, which the standard leaves open, this is
    `logical_or`, as in other libraries.

    Examples
    --------
    >>> xp.add(xp.asarray([1, 2]), xp.asarray([[10], [20]]))
    array([[11, 12],
           [21, 22]])
    """


@function
def asin(x: Array, /) -> Array:
    """Inverse sine of each element, in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real results lie in [-pi/2, pi/2]; outside [-1, 1] the result is NaN. Complex results have
    branch cuts along the real axis outside [-1, 1].

    Examples
    --------
    >>> xp.asin(xp.asarray([0.0, 1.0, 2.0]))
    array([0.       , 1.5707963,       nan])
    """


@function
def asinh(x: Array, /) -> Array:
    """Inverse hyperbolic sine of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Complex results have branch cuts along the imaginary axis outside [-1j, 1j].

    Examples
    --------
    >>> xp.asinh(xp.asarray([0.0, 1.0]))
    array([0.        , 0.88137359])
    """


@function
def atan(x: Array, /) -> Array:
    """Inverse tangent of each element, in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real results lie in [-pi/2, pi/2]. Complex results have branch cuts along the imaginary axis
    outside [-1j, 1j].

    Examples
    --------
    >>> xp.atan(xp.asarray([0.0, 1.0, xp.inf]))
    array([0.        , 0.78539816, 1.5707963 ])
    """


@function
def atan2(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Angle of the point (x2, x1) seen from the origin, in radians.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real floating, or integers, which
        are taken as float64. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Results lie in [-pi, pi]; signed zeros and infinities tell the quadrant as in C's atan2.

    Examples
    --------
    >>> xp.atan2(xp.asarray([1.0, -1.0]), xp.asarray([-1.0, 1.0]))
    array([ 2.3561945 , -0.78539816])
    """


@function
def atanh(x: Array, /) -> Array:
    """Inverse hyperbolic tangent of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real arguments outside [-1, 1] give NaN, and -1 and 1 infinities. Complex results have
    branch cuts along the real axis outside [-1, 1].

    Examples
    --------
    >>> xp.atanh(xp.asarray([0.0, 0.5, 1.0]))
    array([0.        , 0.54930614,        inf])
    """


@function
def bitwise_and(x1: Array | int | bool, x2: Array | int | bool, /) -> Array:
    """Bits set in both elements of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Operands, broadcast against each other; dtypes bool or integer. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool or integer, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.bitwise_and(xp.asarray([12, 7]), 10)
    array([8, 2])
    """


@function
def bitwise_invert(x: Array, /) -> Array:
    """Each element with every bit inverted; of a bool, its negation.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype bool or integer.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not bool or integer.

    Examples
    --------
    >>> xp.bitwise_invert(xp.asarray([0, 5]))
    array([-1, -6])
    >>> xp.bitwise_invert(xp.asarray([True, False]))
    array([False,  True])
    """


@function
def bitwise_left_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Bits of x1 shifted left by x2 places.

    Parameters
    ----------
    x1, x2 : Array or int
        Operands, broadcast against each other; dtypes integer. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not integer, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    A shift by the width of the dtype or more gives 0; so does a negative shift.

    Examples
    --------
    >>> xp.bitwise_left_shift(xp.asarray([1, 3]), xp.asarray([4, 64]))
    array([16,  0])
    """


@function
def bitwise_or(x1: Array | int | bool, x2: Array | int | bool, /) -> Array:
    """Bits set in either element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Operands, broadcast against each other; dtypes bool or integer. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool or integer, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.bitwise_or(xp.asarray([12, 7]), 10)
    array([14, 15])
    """


@function
def bitwise_right_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Bits of x1 shifted right by x2 places, the sign kept.

    Parameters
    ----------
    x1, x2 : Array or int
        Operands, broadcast against each other; dtypes integer. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not integer, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Equal to the floor division by 2**x2: a shift by the width of the dtype or more gives 0, or
    -1 for negative elements. So does a negative shift.

    Examples
    --------
    >>> xp.bitwise_right_shift(xp.asarray([16, -16, -1]), xp.asarray([2, 2, 64]))
    array([ 4, -4, -1])
    """


@function
def bitwise_xor(x1: Array | int | bool, x2: Array | int | bool, /) -> Array:
    """Bits set in exactly one element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Operands, broadcast against each other; dtypes bool or integer. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool or integer, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.bitwise_xor(xp.asarray([12, 7]), 10)
    array([ 6, 13])
    """


@function
def ceil(x: Array, /) -> Array:
    """Each element rounded to the nearest integer towards +infinity.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or real floating).

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not real-valued (integer or real floating).

    Notes
    -----
    Integer arrays are returned as they are.

    Examples
    --------
    >>> xp.ceil(xp.asarray([-1.5, 0.2, 2.0]))
    array([-1.,  1.,  2.])
    """


@function
def clip(
    x: Array,
    /,
    min: Array | int | float | None = None,
    max: Array | int | float | None = None,
) -> Array:
    """Each element, or the nearest bound if it lies outside [min, max].

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or real floating).
    min, max : Array, int, float or None
        Bounds, broadcast against `x`; None for no bound on that side.

    Returns
    -------
    Array
        The clipped elements, of the promoted dtype of `x` and the bounds.

    Raises
    ------
    TypeError
        If a dtype is not real-valued.
    ValueError
        If the shapes do not broadcast.

    Notes
    -----
    NaN in `x` or in a bound gives NaN. Where min exceeds max the result is max.

    Examples
    --------
    >>> xp.clip(xp.asarray([-1, 5, 12]), 0, 10)
    array([ 0,  5, 10])
    >>> xp.clip(xp.asarray([-1.0, 5.0, 12.0]), max=10)
    array([-1.,  5., 10.])
    """


@function
def conj(x: Array, /) -> Array:
    """Complex conjugate of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Real-valued elements are their own conjugates.

    Examples
    --------
    >>> xp.conj(xp.asarray([1 + 2j, 3 - 4j]))
    array([1.-2.j, 3.+4.j])
    """


@function
def copysign(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Magnitude of x1 with the sign of x2.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real floating, or integers, which
        are taken as float64. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    The signs of zeros and NaNs count.

    Examples
    --------
    >>> xp.copysign(xp.asarray([1.0, -2.0]), xp.asarray([-0.0, 5.0]))
    array([-1.,  2.])
    """


@function
def cos(x: Array, /) -> Array:
    """Cosine of each element, an angle in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The cosine of an infinity is NaN.

    Examples
    --------
    >>> xp.cos(xp.asarray([0.0, xp.pi]))
    array([ 1., -1.])
    """


@function
def cosh(x: Array, /) -> Array:
    """Hyperbolic cosine of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.cosh(xp.asarray([0.0, 1.0]))
    array([1.       , 1.5430806])
    """


@function
def divide(x1: Array | int | float | complex, x2: Array | int | float | complex, /) -> Array:
    """Quotient of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int, float or complex
        Operands, broadcast against each other; dtypes numeric. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype, or float64 if that is an integer dtype, and the broadcast
        shape.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Division by zero gives infinities, and NaN for 0/0, of integers too. For quotients that are
    integers see `floor_divide`.

    Examples
    --------
    >>> xp.divide(xp.asarray([1.0, 0.0, -1.0]), xp.asarray([4.0, 0.0, 0.0]))
    array([0.25,  nan, -inf])
    >>> xp.divide(xp.asarray([1, 2, 3]), 2)
    array([0.5, 1. , 1.5])
    """


@function
def equal(
    x1: Array | int | float | complex | bool, x2: Array | int | float | complex | bool, /
) -> Array:
    """Whether the elements of each pair are equal.

    Parameters
    ----------
    x1, x2 : Array, int, float, complex or bool
        Operands, broadcast against each other; dtypes any. At least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    NaN equals nothing, and -0.0 equals 0.0. Complex numbers are equal if both parts are.

    Examples
    --------
    >>> xp.equal(xp.asarray([1.0, xp.nan, -0.0]), xp.asarray([1.0, xp.nan, 0.0]))
    array([ True, False,  True])
    """


@function
def exp(x: Array, /) -> Array:
    """e raised to the power of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.exp(xp.asarray([0.0, 1.0, -xp.inf]))
    array([1.       , 2.7182818, 0.       ])
    """


@function
def expm1(x: Array, /) -> Array:
    """e raised to the power of each element, minus 1, without loss of digits near 0.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.expm1(xp.asarray([0.0, 1e-10]))
    array([0.e+00, 1.e-10])
    """


@function
def floor(x: Array, /) -> Array:
    """Each element rounded to the nearest integer towards -infinity.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or real floating).

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not real-valued (integer or real floating).

    Notes
    -----
    Integer arrays are returned as they are.

    Examples
    --------
    >>> xp.floor(xp.asarray([-1.5, 0.2, 2.0]))
    array([-2.,  0.,  2.])
    """


@function
def floor_divide(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Quotient of each pair of elements, rounded towards -infinity.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Integers divided by 0 give 0; floating-point numbers divided by 0 follow `divide`.

    Examples
    --------
    >>> xp.floor_divide(xp.asarray([7, -7]), 2)
    array([ 3, -4])
    >>> xp.floor_divide(xp.asarray([7.5, 1.0]), xp.asarray([2.0, 0.0]))
    array([ 3., inf])
    """


@function
def greater(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Whether the first element of each pair is greater than the second.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Comparisons with NaN are False. Complex numbers have no order: TypeError.

    Examples
    --------
    >>> xp.greater(xp.asarray([1, 2, 3]), 2)
    array([False, False,  True])
    """


@function
def greater_equal(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Whether the first element of each pair is greater than or equal to the second.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Comparisons with NaN are False. Complex numbers have no order: TypeError.

    Examples
    --------
    >>> xp.greater_equal(xp.asarray([1, 2, 3]), 2)
    array([False,  True,  True])
    """


@function
def hypot(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Square root of the sum of the squares of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real floating, or integers, which
        are taken as float64. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Nothing overflows or underflows on the way. The result is infinite if either element is,
    even beside a NaN.

    Examples
    --------
    >>> xp.hypot(xp.asarray([3.0, 1e200]), xp.asarray([4.0, 1e200]))
    array([ 5.0000000e+00, 1.4142136e+200])
    """


@function
def imag(x: Array, /) -> Array:
    """Imaginary part of each element, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype complex.

    Returns
    -------
    Array
        A view of the imaginary parts, real floating of the same precision.

    Raises
    ------
    TypeError
        If `x` is not complex.

    Examples
    --------
    >>> xp.imag(xp.asarray([1 + 2j, 3 - 4j]))
    array([ 2., -4.])
    """


@function
def isfinite(x: Array, /) -> Array:
    """Whether each element is neither infinite nor NaN.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of dtype bool.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Both parts of a complex number must be finite.

    Examples
    --------
    >>> xp.isfinite(xp.asarray([1.0, xp.inf, xp.nan]))
    array([ True, False, False])
    """


@function
def isinf(x: Array, /) -> Array:
    """Whether each element is an infinity.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of dtype bool.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    One infinite part makes a complex number infinite.

    Examples
    --------
    >>> xp.isinf(xp.asarray([1.0, -xp.inf, xp.nan]))
    array([False,  True, False])
    """


@function
def isnan(x: Array, /) -> Array:
    """Whether each element is NaN.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of dtype bool.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    One part that is NaN makes a complex number NaN.

    Examples
    --------
    >>> xp.isnan(xp.asarray([1.0, xp.inf, xp.nan]))
    array([False, False,  True])
    """


@function
def less(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Whether the first element of each pair is less than the second.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Comparisons with NaN are False. Complex numbers have no order: TypeError.

    Examples
    --------
    >>> xp.less(xp.asarray([1, 2, 3]), 2)
    array([ True, False, False])
    """


@function
def less_equal(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Whether the first element of each pair is less than or equal to the second.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Comparisons with NaN are False. Complex numbers have no order: TypeError.

    Examples
    --------
    >>> xp.less_equal(xp.asarray([1, 2, 3]), 2)
    array([ True,  True, False])
    """


@function
def log(x: Array, /) -> Array:
    """Natural logarithm of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The logarithm of 0 is -infinity, that of a negative real number NaN. Complex results have a
    branch cut along the negative real axis.

    Examples
    --------
    >>> xp.log(xp.asarray([1.0, xp.e, 0.0, -1.0]))
    array([  0.,   1., -inf,  nan])
    """


@function
def log10(x: Array, /) -> Array:
    """Logarithm to base 10 of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Special cases are those of `log`.

    Examples
    --------
    >>> xp.log10(xp.asarray([1.0, 1000.0]))
    array([0., 3.])
    """


@function
def log1p(x: Array, /) -> Array:
    """Natural logarithm of 1 plus each element, without loss of digits near 0.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The result at -1 is -infinity, below it NaN for real dtypes.

    Examples
    --------
    >>> xp.log1p(xp.asarray([0.0, 1e-10, -1.0]))
    array([0.e+00, 1.e-10,   -inf])
    """


@function
def log2(x: Array, /) -> Array:
    """Logarithm to base 2 of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Special cases are those of `log`.

    Examples
    --------
    >>> xp.log2(xp.asarray([1.0, 1024.0]))
    array([ 0., 10.])
    """


@function
def logaddexp(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Logarithm of the sum of the exponentials of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real floating, or integers, which
        are taken as float64. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Exponentials that do not fit the dtype do no harm.

    Examples
    --------
    >>> xp.logaddexp(xp.asarray([1000.0]), xp.asarray([1000.0]))
    array([1000.6931])
    """


@function
def logical_and(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Whether both elements of each pair are True.

    Parameters
    ----------
    x1, x2 : Array or bool
        Operands, broadcast against each other; dtypes bool. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.logical_and(xp.asarray([True, False]), True)
    array([ True, False])
    """


@function
def logical_not(x: Array, /) -> Array:
    """Whether each element is False.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype bool.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not bool.

    Examples
    --------
    >>> xp.logical_not(xp.asarray([True, False]))
    array([False,  True])
    """


@function
def logical_or(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Whether either element of each pair is True.

    Parameters
    ----------
    x1, x2 : Array or bool
        Operands, broadcast against each other; dtypes bool. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.logical_or(xp.asarray([True, False]), False)
    array([ True, False])
    """


@function
def logical_xor(x1: Array | bool, x2: Array | bool, /) -> Array:
    """Whether exactly one element of each pair is True.

    Parameters
    ----------
    x1, x2 : Array or bool
        Operands, broadcast against each other; dtypes bool. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not bool, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Examples
    --------
    >>> xp.logical_xor(xp.asarray([True, False]), True)
    array([False,  True])
    """


@function
def maximum(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """The larger element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    NaN in either element gives NaN.

    Examples
    --------
    >>> xp.maximum(xp.asarray([1.0, xp.nan]), xp.asarray([2.0, 0.0]))
    array([ 2., nan])
    """


@function
def minimum(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """The smaller element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    NaN in either element gives NaN.

    Examples
    --------
    >>> xp.minimum(xp.asarray([1.0, xp.nan]), xp.asarray([2.0, 0.0]))
    array([ 1., nan])
    """


@function
def multiply(x1: Array | int | float | complex, x2: Array | int | float | complex, /) -> Array:
    """Product of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int, float or complex
        Operands, broadcast against each other; dtypes numeric or bool. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Integers wrap around on overflow. Of bool arrays, which the standard leaves open, this is
    `logical_and`, as in other libraries.

    Examples
    --------
    >>> xp.multiply(xp.asarray([1, 2]), xp.asarray([[10], [20]]))
    array([[10, 20],
           [20, 40]])
    """


@function
def negative(x: Array, /) -> Array:
    """Each element with its sign changed.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Both parts of a complex number change sign, zeros too. Unsigned integers, and the smallest
    integer of a signed dtype, wrap around.

    Examples
    --------
    >>> xp.negative(xp.asarray([1.0, -2.0, 0.0]))
    array([-1.,  2., -0.])
    """


@function
def nextafter(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """The floating-point number next to x1 on the way to x2.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real floating, or integers, which
        are taken as float64. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Equal elements give x2.

    Examples
    --------
    >>> xp.nextafter(xp.asarray([1.0]), 2.0) - 1.0
    array([2.220446e-16])
    """


@function
def not_equal(
    x1: Array | int | float | complex | bool, x2: Array | int | float | complex | bool, /
) -> Array:
    """Whether the elements of each pair differ.

    Parameters
    ----------
    x1, x2 : Array, int, float, complex or bool
        Operands, broadcast against each other; dtypes any. At least one is an array.

    Returns
    -------
    Array
        An array of dtype bool and of the broadcast shape.

    Raises
    ------
    TypeError
        If the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    NaN differs from everything, itself included.

    Examples
    --------
    >>> xp.not_equal(xp.asarray([1.0, xp.nan, -0.0]), xp.asarray([1.0, xp.nan, 0.0]))
    array([False,  True, False])
    """


@function
def positive(x: Array, /) -> Array:
    """Each element as it is, in a new array.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        A copy of `x`.

    Raises
    ------
    TypeError
        If `x` is not numeric.

    Examples
    --------
    >>> xp.positive(xp.asarray([1, -2]))
    array([ 1, -2])
    """


@function
def pow(x1: Array | int | float | complex, x2: Array | int | float | complex, /) -> Array:
    """x1 raised to the power x2.

    Parameters
    ----------
    x1, x2 : Array, int, float or complex
        Operands, broadcast against each other; dtypes numeric. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    x1**0 is 1 for every x1, NaN included. A negative real number to a power that is no integer
    is NaN. Integers wrap around on overflow; to a negative power they give the quotient
    truncated to an integer, and 0 for 0.

    Examples
    --------
    >>> xp.pow(xp.asarray([2, 3]), 3)
    array([ 8, 27])
    >>> xp.pow(xp.asarray([2.0, -8.0]), xp.asarray([0.5, 1 / 3]))
    array([1.4142136,       nan])
    """


@function
def real(x: Array, /) -> Array:
    """Real part of each element, as a view.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        A view of the real parts, real floating of the same precision; `x` itself if it is
        real-valued.

    Raises
    ------
    TypeError
        If `x` is not numeric.

    Examples
    --------
    >>> xp.real(xp.asarray([1 + 2j, 3 - 4j]))
    array([1., 3.])
    """


@function
def reciprocal(x: Array, /) -> Array:
    """1 divided by each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.reciprocal(xp.asarray([2.0, 0.0, -xp.inf]))
    array([ 0.5,  inf, -0. ])
    """


@function
def remainder(x1: Array | int | float, x2: Array | int | float, /) -> Array:
    """Remainder of the division of each pair of elements, with the sign of the divisor.

    Parameters
    ----------
    x1, x2 : Array, int or float
        Operands, broadcast against each other; dtypes real-valued (integer or real floating). At
        least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not real-valued (integer or real floating), or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    ``floor_divide(x1, x2) * x2 + remainder(x1, x2)`` is x1 up to rounding. Integers divided by
    0 give 0, floating-point numbers NaN.

    Examples
    --------
    >>> xp.remainder(xp.asarray([7, -7]), 3)
    array([1, 2])
    >>> xp.remainder(xp.asarray([-7.5]), 2.0)
    array([0.5])
    """


@function
def round(x: Array, /) -> Array:
    """Each element rounded to the nearest integer, ties to the even one.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Both parts of a complex number are rounded. Integer arrays are returned as they are.

    Examples
    --------
    >>> xp.round(xp.asarray([0.5, 1.5, -2.7]))
    array([ 0.,  2., -3.])
    """


@function
def sign(x: Array, /) -> Array:
    """-1, 0 or 1 for negative, zero and positive elements.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Of a complex number z it is z / abs(z), and 0 for 0. NaN gives NaN.

    Examples
    --------
    >>> xp.sign(xp.asarray([-2.5, 0.0, 3.0]))
    array([-1.,  0.,  1.])
    >>> xp.sign(xp.asarray([3 + 4j]))
    array([0.6+0.8j])
    """


@function
def signbit(x: Array, /) -> Array:
    """Whether the sign bit of each element is set.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real floating; integers are taken as float64.

    Returns
    -------
    Array
        An array of dtype bool.

    Raises
    ------
    TypeError
        If the dtype is not real-valued.

    Notes
    -----
    Negative zeros and NaNs count as their bit says.

    Examples
    --------
    >>> xp.signbit(xp.asarray([-1.0, -0.0, 0.0]))
    array([ True,  True, False])
    """


@function
def sin(x: Array, /) -> Array:
    """Sine of each element, an angle in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The sine of an infinity is NaN.

    Examples
    --------
    >>> xp.sin(xp.asarray([0.0, xp.pi / 2]))
    array([0., 1.])
    """


@function
def sinh(x: Array, /) -> Array:
    """Hyperbolic sine of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.sinh(xp.asarray([0.0, 1.0]))
    array([0.       , 1.1752012])
    """


@function
def sqrt(x: Array, /) -> Array:
    """Square root of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Correctly rounded for real dtypes, where negative elements give NaN. Complex results have a
    branch cut along the negative real axis.

    Examples
    --------
    >>> xp.sqrt(xp.asarray([4.0, 2.0, -1.0]))
    array([2.       , 1.4142136,       nan])
    >>> xp.sqrt(xp.asarray([-1 + 0j]))
    array([0.+1.j])
    """


@function
def square(x: Array, /) -> Array:
    """Each element multiplied by itself.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype numeric.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.square(xp.asarray([3, -4]))
    array([ 9, 16])
    """


@function
def subtract(x1: Array | int | float | complex, x2: Array | int | float | complex, /) -> Array:
    """Difference of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array, int, float or complex
        Operands, broadcast against each other; dtypes numeric. At least one is an array.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If the shapes do not broadcast, or the arrays are on different devices.

    Notes
    -----
    Integers wrap around on overflow.

    Examples
    --------
    >>> xp.subtract(xp.asarray([1, 2]), xp.asarray([[10], [20]]))
    array([[ -9,  -8],
           [-19, -18]])
    """


@function
def tan(x: Array, /) -> Array:
    """Tangent of each element, an angle in radians.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Notes
    -----
    The tangent of an infinity is NaN.

    Examples
    --------
    >>> xp.tan(xp.asarray([0.0, xp.pi / 4]))
    array([0., 1.])
    """


@function
def tanh(x: Array, /) -> Array:
    """Hyperbolic tangent of each element.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype floating, real or complex; integers are
        taken as float64.

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not numeric.

    Examples
    --------
    >>> xp.tanh(xp.asarray([0.0, 1.0, xp.inf]))
    array([0.        , 0.76159416, 1.        ])
    """


@function
def trunc(x: Array, /) -> Array:
    """Each element rounded to the nearest integer towards zero.

    Parameters
    ----------
    x : Array
        Array of any shape; dtype real-valued (integer or real floating).

    Returns
    -------
    Array
        An array of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not real-valued (integer or real floating).

    Notes
    -----
    Integer arrays are returned as they are.

    Examples
    --------
    >>> xp.trunc(xp.asarray([-1.5, 0.2, 2.0]))
    array([-1.,  0.,  2.])
    """
