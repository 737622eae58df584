"""The fft extension of the standard: discrete Fourier transforms.

A transform of n elements is ``out[k] = sum(x[j] * exp(-2j * pi * j * k / n))``, an inverse one has
``+2j``. float32 and complex64 stay single precision, but each axis is computed in double precision
and rounded once, so that the error is that of the rounding, for every length. float16 is taken as
float32.
"""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from ._core import Array, Device, DType

    Norm: TypeAlias = Literal["backward", "ortho", "forward"]

__all__ = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
]


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Discrete Fourier transform along an axis.

    Parameters
    ----------
    x : Array
        Complex of any shape with at least one dimension; real floating counts as complex.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it. Default: the size of
        the axis.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1 for 'backward', 1/sqrt(n) for 'ortho',
        1/n for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x` and of its shape but for the axis, which has size `n`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.fft.fft(xp.asarray([1+0j, 2, 3, 4]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _core.fft_fft(x, n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse discrete Fourier transform along an axis.

    Parameters
    ----------
    x : Array
        Complex of any shape with at least one dimension; real floating counts as complex.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it. Default: the size of
        the axis.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1/n for 'backward', 1/sqrt(n) for 'ortho',
        1 for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x` and of its shape but for the axis, which has size `n`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.fft.ifft(xp.asarray([10+0j, -2+2j, -2, -2-2j]))
    array([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return _core.fft_ifft(x, n, axis, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Discrete Fourier transform of real numbers along an axis, without its redundant half.

    Parameters
    ----------
    x : Array
        Real floating of any shape with at least one dimension.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it. Default: the size of
        the axis.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1 for 'backward', 1/sqrt(n) for 'ortho',
        1/n for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x`: the first n//2 + 1 elements of the transform, whose others
        are their conjugates.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.fft.rfft(xp.asarray([1., 2., 3., 4.]))
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _core.fft_rfft(x, n, axis, norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of `rfft` along an axis.

    Parameters
    ----------
    x : Array
        Complex of any shape with at least one dimension; real floating counts as complex.
    n : int, optional
        Length of the result: `x` is cropped or padded with zeros to n//2 + 1 elements. Default:
        2*(m - 1) for m elements of `x`; an odd length must be given.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1/n for 'backward', 1/sqrt(n) for 'ortho',
        1 for 'forward'.

    Returns
    -------
    Array
        Real, of the precision of `x` and of its shape but for the axis, which has size `n`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Notes
    -----
    The imaginary parts of the first element and, for even `n`, of element n//2 are ignored.

    Examples
    --------
    >>> xp.fft.irfft(xp.asarray([10+0j, -2+2j, -2]))
    array([1., 2., 3., 4.])
    """
    return _core.fft_irfft(x, n, axis, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Discrete Fourier transform of a Hermitian sequence, of which one half is given.

    Parameters
    ----------
    x : Array
        Complex of any shape with at least one dimension; real floating counts as complex.
    n : int, optional
        Length of the result: `x` is cropped or padded with zeros to n//2 + 1 elements. Default:
        2*(m - 1) for m elements of `x`; an odd length must be given.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1 for 'backward', 1/sqrt(n) for 'ortho',
        1/n for 'forward'.

    Returns
    -------
    Array
        Real, of the precision of `x` and of its shape but for the axis, which has size `n`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Notes
    -----
    The imaginary parts of the first element and, for even `n`, of element n//2 are ignored.

    Examples
    --------
    >>> xp.fft.hfft(xp.asarray([1+0j, 2, 3]))
    array([ 8., -2.,  0., -2.])
    """
    return _core.fft_hfft(x, n, axis, norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Inverse of `hfft`: the inverse transform of real numbers, without its redundant half.

    Parameters
    ----------
    x : Array
        Real floating of any shape with at least one dimension.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it. Default: the size of
        the axis.
    axis : int
        The axis of the transform.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1/n for 'backward', 1/sqrt(n) for 'ortho',
        1 for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x`: the first n//2 + 1 elements of the inverse transform.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `n`, or the size of the axis when `n` is None, is less than 1, or `norm` is another.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.fft.ihfft(xp.asarray([8., -2., 0., -2.]))
    array([1.-0.j, 2.-0.j, 3.-0.j])
    """
    return _core.fft_ihfft(x, n, axis, norm)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Discrete Fourier transform over several axes.

    Parameters
    ----------
    x : Array
        Complex of any shape; real floating counts as complex.
    s : sequence of int, optional
        Length of the transform along each of `axes`: `x` is cropped or padded with zeros to it.
        -1 stands for the size of the axis. Default: the sizes of the axes.
    axes : sequence of int, optional
        The axes of the transform. Default: all, or the last len(s) if `s` is given. An axis named
        twice is transformed twice.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1 for 'backward', 1/sqrt(n) for 'ortho',
        1/n for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x` and of its shape but for the axes, which have sizes `s`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `s` and `axes` differ in length, a length is less than 1, or `norm` is
        another.
    IndexError
        If an axis is out of range.

    Notes
    -----
    n is the product of the lengths of the transform.

    Examples
    --------
    >>> xp.fft.fftn(xp.asarray([[1+0j, 2], [3, 4]]))
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _core.fft_fftn(x, s, axes, norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse discrete Fourier transform over several axes.

    Parameters
    ----------
    x : Array
        Complex of any shape; real floating counts as complex.
    s : sequence of int, optional
        Length of the transform along each of `axes`: `x` is cropped or padded with zeros to it.
        -1 stands for the size of the axis. Default: the sizes of the axes.
    axes : sequence of int, optional
        The axes of the transform. Default: all, or the last len(s) if `s` is given. An axis named
        twice is transformed twice.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1/n for 'backward', 1/sqrt(n) for 'ortho',
        1 for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x` and of its shape but for the axes, which have sizes `s`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `s` and `axes` differ in length, a length is less than 1, or `norm` is
        another.
    IndexError
        If an axis is out of range.

    Notes
    -----
    n is the product of the lengths of the transform.

    Examples
    --------
    >>> xp.fft.ifftn(xp.asarray([[10+0j, -2], [-4, 0]]))
    array([[1.+0.j, 2.+0.j],
           [3.+0.j, 4.+0.j]])
    """
    return _core.fft_ifftn(x, s, axes, norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Discrete Fourier transform of real numbers over several axes, without the redundant half.

    Parameters
    ----------
    x : Array
        Real floating of any shape with at least one dimension.
    s : sequence of int, optional
        Length of the transform along each of `axes`: `x` is cropped or padded with zeros to it.
        -1 stands for the size of the axis. Default: the sizes of the axes.
    axes : sequence of int, optional
        The axes of the transform. Default: all, or the last len(s) if `s` is given. An axis named
        twice is transformed twice.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1 for 'backward', 1/sqrt(n) for 'ortho',
        1/n for 'forward'.

    Returns
    -------
    Array
        Complex, of the precision of `x`. The last of `axes` has size s[-1]//2 + 1, the others have
        sizes `s`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `s` and `axes` differ in length, a length is less than 1, there are no axes, or `norm` is
        another.
    IndexError
        If an axis is out of range.

    Notes
    -----
    n is the product of the lengths of the transform.

    Examples
    --------
    >>> xp.fft.rfftn(xp.asarray([[1., 2.], [3., 4.]]))
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]])
    """
    return _core.fft_rfftn(x, s, axes, norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Inverse of `rfftn` over several axes.

    Parameters
    ----------
    x : Array
        Complex of any shape with at least one dimension; real floating counts as complex.
    s : sequence of int, optional
        Length of the result along each of `axes`: `x` is cropped or padded with zeros to it, along
        the last to s[-1]//2 + 1. -1 stands for the default: the sizes of the axes, along the last
        2*(m - 1) for m elements of `x`.
    axes : sequence of int, optional
        The axes of the transform. Default: all, or the last len(s) if `s` is given. An axis named
        twice is transformed twice.
    norm : {'backward', 'ortho', 'forward'}
        What the sum is multiplied by: 1/n for 'backward', 1/sqrt(n) for 'ortho',
        1 for 'forward'.

    Returns
    -------
    Array
        Real, of the precision of `x` and of its shape but for the axes, which have sizes `s`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not as above.
    ValueError
        If `s` and `axes` differ in length, a length is less than 1, there are no axes, or `norm` is
        another.
    IndexError
        If an axis is out of range.

    Notes
    -----
    n is the product of the lengths of the transform.

    Examples
    --------
    >>> xp.fft.irfftn(xp.asarray([[10+0j, -2], [-4, 0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    return _core.fft_irfftn(x, s, axes, norm)


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """Frequencies of the elements of `fft`, in cycles per unit of the distance.

    Parameters
    ----------
    n : int
        Length of the transform, at least 1.
    d : float
        Distance of the samples, not 0.
    dtype : DType, optional
        Real floating. Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        Of shape (n,): 0, 1, …, (n - 1)//2, -(n//2), …, -1, each divided by d*n.

    Raises
    ------
    ValueError
        If `n` is less than 1 or `d` is 0.
    TypeError
        If `dtype` is not real floating.

    Examples
    --------
    >>> xp.fft.fftfreq(5, d=0.5)
    array([ 0. ,  0.4,  0.8, -0.8, -0.4])
    """
    return _core.fft_fftfreq(n, d, dtype, device)


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DType | None = None,
    device: Device | str | None = None,
) -> Array:
    """Frequencies of the elements of `rfft`, in cycles per unit of the distance.

    Parameters
    ----------
    n : int
        Length of the transform, at least 1.
    d : float
        Distance of the samples, not 0.
    dtype : DType, optional
        Real floating. Default: float64.
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    Array
        Of shape (n//2 + 1,): 0, 1, …, n//2, each divided by d*n.

    Raises
    ------
    ValueError
        If `n` is less than 1 or `d` is 0.
    TypeError
        If `dtype` is not real floating.

    Examples
    --------
    >>> xp.fft.rfftfreq(5, d=0.5)
    array([0. , 0.4, 0.8])
    """
    return _core.fft_rfftfreq(n, d, dtype, device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Elements moved cyclically so that the zero frequency comes to the middle.

    Parameters
    ----------
    x : Array
        Of any shape and dtype.
    axes : int or sequence of int, optional
        The axes to shift. Default: all.

    Returns
    -------
    Array
        A copy of `x`, along each of the axes moved by half its size, rounded down.

    Raises
    ------
    IndexError
        If an axis is out of range.

    Examples
    --------
    >>> xp.fft.fftshift(xp.fft.fftfreq(5, d=0.2))
    array([-2., -1.,  0.,  1.,  2.])
    """
    return _core.fft_fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Inverse of `fftshift`: the middle element comes to the front.

    Parameters
    ----------
    x : Array
        Of any shape and dtype.
    axes : int or sequence of int, optional
        The axes to shift. Default: all.

    Returns
    -------
    Array
        A copy of `x`, along each of the axes moved back by half its size, rounded down.

    Raises
    ------
    IndexError
        If an axis is out of range.

    Examples
    --------
    >>> xp.fft.ifftshift(xp.asarray([-2., -1., 0., 1., 2.]))
    array([ 0.,  1.,  2., -2., -1.])
    """
    return _core.fft_ifftshift(x, axes)
