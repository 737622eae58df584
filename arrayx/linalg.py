"""The linalg extension of the standard.

A matrix is the last two dimensions of an array; the dimensions in front make a stack of matrices,
each of which is worked on by itself. Where a matrix has no result, `LinAlgError` says which one of
the stack it is. Matrices are copied into the order that LAPACK wants whatever their layout is, so
results do not depend on it; results are new, row-major arrays unless they are said to be views.
Norms and products take float16, which is computed in float32; what LAPACK does refuses it.
"""

from __future__ import annotations

from collections import namedtuple

from . import _core
from ._core import LinAlgError
from ._linear_algebra_functions import matmul, matrix_transpose, tensordot, vecdot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, NamedTuple

    from ._core import Array, DType

    class EigResult(NamedTuple):
        eigenvalues: Array
        eigenvectors: Array

    class EighResult(NamedTuple):
        eigenvalues: Array
        eigenvectors: Array

    class QRResult(NamedTuple):
        Q: Array
        R: Array

    class SlogdetResult(NamedTuple):
        sign: Array
        logabsdet: Array

    class SVDResult(NamedTuple):
        U: Array
        S: Array
        Vh: Array

else:
    EigResult = namedtuple("EigResult", ["eigenvalues", "eigenvectors"])
    EighResult = namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
    QRResult = namedtuple("QRResult", ["Q", "R"])
    SlogdetResult = namedtuple("SlogdetResult", ["sign", "logabsdet"])
    SVDResult = namedtuple("SVDResult", ["U", "S", "Vh"])

__all__ = [
    "LinAlgError",
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Cholesky factors of positive definite matrices.

    Parameters
    ----------
    x : Array
        Symmetric or Hermitian matrices of shape (..., M, M); dtype floating. Only the triangle that
        the factor has is read.
    upper : bool
        Whether to give the upper factor U of x = U^H U instead of the lower one of x = L L^H.

    Returns
    -------
    Array
        Triangular matrices of the shape and dtype of `x`, with zeros in the other triangle.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix is not positive definite, or has a NaN or an infinity in the triangle read.

    Examples
    --------
    >>> xp.linalg.cholesky(xp.asarray([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """
    return _core.linalg_cholesky(x, upper)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors with three elements.

    Parameters
    ----------
    x1, x2 : Array
        Arrays with size 3 along `axis` that otherwise broadcast; dtype numeric.
    axis : int
        The axis of the vectors, counted from the back: in [-min(x1.ndim, x2.ndim), -1].

    Returns
    -------
    Array
        An array of the promoted dtype and of the broadcast shape.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If the vectors do not have three elements or the other dimensions do not broadcast.
    IndexError
        If the axis is out of range.

    Examples
    --------
    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([[0, 1, 0], [0, 0, 1]]))
    array([[ 0,  0,  1],
           [ 0, -1,  0]])
    """
    return _core.linalg_cross(x1, x2, axis)


def det(x: Array, /) -> Array:
    """Determinants of square matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.

    Returns
    -------
    Array
        Determinants of shape (...) and of the dtype of `x`. That of a singular matrix is 0, or near
        it where rounding hides the singularity; that of a 0 by 0 matrix is 1.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.

    Notes
    -----
    Products on the way neither overflow nor vanish. NaN and infinity propagate as in elimination.

    Examples
    --------
    >>> xp.linalg.det(xp.asarray([[2.0, 1.0], [0.0, 3.0]]))
    array(6.)
    """
    return _core.linalg_det(x)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Diagonals of matrices, as a view.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N) and any dtype.
    offset : int
        Which diagonal: 0 is the main one, positive ones are above it, negative ones below.

    Returns
    -------
    Array
        A view of shape (..., K), where K is the length of the diagonal, 0 beyond the matrix.

    Raises
    ------
    ValueError
        If `x` has less than two dimensions.

    Examples
    --------
    >>> x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    >>> xp.linalg.diagonal(x)
    array([1, 5])
    >>> xp.linalg.diagonal(x, offset=1)
    array([2, 6])
    """
    return _core.linalg_diagonal(x, offset)


def eig(x: Array, /) -> EigResult:
    """Eigenvalues and right eigenvectors of square matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.

    Returns
    -------
    EigResult
        A named tuple (eigenvalues, eigenvectors) of complex arrays, also where `x` is real, with
        the precision of `x`: eigenvalues of shape (..., M) in no particular order, and matrices of
        shape (..., M, M) whose columns are the eigenvectors, of length 1.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> values, vectors = xp.linalg.eig(xp.asarray([[2.0, 0.0], [0.0, 3.0]]))
    >>> values
    array([2.+0.j, 3.+0.j])
    >>> vectors
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 1.+0.j]])
    """
    return EigResult(*_core.linalg_eig(x))


def eigh(x: Array, /) -> EighResult:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Parameters
    ----------
    x : Array
        Symmetric or Hermitian matrices of shape (..., M, M); dtype floating. Only the lower
        triangle is read.

    Returns
    -------
    EighResult
        A named tuple (eigenvalues, eigenvectors): real values of shape (..., M), ascending, with
        the precision of `x`, and matrices of shape (..., M, M) and of the dtype of `x` whose
        columns are the orthonormal eigenvectors.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix has a NaN or an infinity in the triangle read, or the iteration does not
        converge.

    Examples
    --------
    >>> values, vectors = xp.linalg.eigh(xp.asarray([[3.0, 0.0], [0.0, 2.0]]))
    >>> values
    array([2., 3.])
    """
    return EighResult(*_core.linalg_eigh(x))


def eigvals(x: Array, /) -> Array:
    """Eigenvalues of square matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.

    Returns
    -------
    Array
        Complex values of shape (..., M) in no particular order, with the precision of `x`.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> xp.linalg.eigvals(xp.asarray([[0.0, 1.0], [-1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    return _core.linalg_eigvals(x)


def eigvalsh(x: Array, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices.

    Parameters
    ----------
    x : Array
        Symmetric or Hermitian matrices of shape (..., M, M); dtype floating. Only the lower
        triangle is read.

    Returns
    -------
    Array
        Real values of shape (..., M), ascending, with the precision of `x`.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix has a NaN or an infinity in the triangle read, or the iteration does not
        converge.

    Examples
    --------
    >>> xp.linalg.eigvalsh(xp.asarray([[3.0, 0.0], [0.0, 2.0]]))
    array([2., 3.])
    """
    return _core.linalg_eigvalsh(x)


def inv(x: Array, /) -> Array:
    """Inverses of square matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.

    Returns
    -------
    Array
        Matrices of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If a matrix is exactly singular.

    Notes
    -----
    NaN and infinity propagate as in elimination. To solve equations use `solve`: it is faster than
    a product with the inverse, and more accurate.

    Examples
    --------
    >>> xp.linalg.inv(xp.asarray([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    return _core.linalg_inv(x)


def matrix_norm(
    x: Array,
    /,
    *,
    keepdims: bool = False,
    ord: int | float | Literal["fro", "nuc"] | None = "fro",
) -> Array:
    """Norms of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.
    keepdims : bool
        Whether the last two dimensions stay, with size one.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
        "fro" (or None): the root of the sum of the squares; "nuc": the sum of the singular values;
        2 and -2: the largest and the smallest of them; 1 and -1: the largest and the smallest of
        the columns' sums of absolute values; inf and -inf: of the rows' sums.

    Returns
    -------
    Array
        Norms of shape (...) and of the real dtype of the precision of `x`. Where there is nothing
        to choose from the largest is 0 and the smallest infinity.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions, or there is no norm of that order.
    LinAlgError
        For "nuc", 2 and -2: if a matrix contains a NaN or an infinity, or the iteration does not
        converge.

    Examples
    --------
    >>> x = xp.asarray([[3.0, 0.0], [0.0, -4.0]])
    >>> xp.linalg.matrix_norm(x)
    array(5.)
    >>> xp.linalg.matrix_norm(x, ord=2)
    array(4.)
    """
    return _core.linalg_matrix_norm(x, keepdims, ord)


def matrix_power(x: Array, n: int, /) -> Array:
    """Square matrices to an integer power.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.
    n : int
        The power: 0 gives identity matrices, a negative one the powers of the inverses.

    Returns
    -------
    Array
        Matrices of the shape and dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.
    LinAlgError
        If `n` is negative and a matrix is exactly singular.

    Examples
    --------
    >>> xp.linalg.matrix_power(xp.asarray([[1.0, 1.0], [0.0, 1.0]]), 5)
    array([[1., 5.],
           [0., 1.]])
    """
    return _core.linalg_matrix_power(x, n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Ranks of matrices: how many singular values differ from zero.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.
    rtol : float or Array, optional
        Singular values up to `rtol` times the largest one count as zero. An array, of a real
        floating dtype, broadcasts to the shape (...) of the stack. Default: max(M, N) times the
        machine epsilon of the dtype.

    Returns
    -------
    Array
        Ranks of shape (...) and dtype int64.

    Raises
    ------
    TypeError
        If the dtype of `x` is not floating or that of `rtol` not real floating.
    ValueError
        If `x` has less than two dimensions or `rtol` does not broadcast.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> x = xp.asarray([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 0.01]]])
    >>> xp.linalg.matrix_rank(x)
    array([1, 2])
    >>> xp.linalg.matrix_rank(x, rtol=0.1)
    array([1, 1])
    """
    return _core.linalg_matrix_rank(x, rtol)


def outer(x1: Array, x2: Array, /) -> Array:
    """Outer product of two vectors.

    Parameters
    ----------
    x1, x2 : Array
        Arrays with one dimension, of sizes N and M; dtype numeric.

    Returns
    -------
    Array
        The products of all pairs, of shape (N, M) and of the promoted dtype.

    Raises
    ------
    TypeError
        If a dtype is not numeric, or the dtypes do not promote.
    ValueError
        If an array does not have one dimension.

    Notes
    -----
    Complex numbers are not conjugated.

    Examples
    --------
    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4, 5]))
    array([[ 3,  4,  5],
           [ 6,  8, 10]])
    """
    return _core.linalg_outer(x1, x2)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Pseudo-inverses of matrices, after Moore and Penrose.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.
    rtol : float or Array, optional
        Singular values up to `rtol` times the largest one count as zero. An array, of a real
        floating dtype, broadcasts to the shape (...) of the stack. Default: max(M, N) times the
        machine epsilon of the dtype.

    Returns
    -------
    Array
        Matrices of shape (..., N, M) and of the dtype of `x`.

    Raises
    ------
    TypeError
        If the dtype of `x` is not floating or that of `rtol` not real floating.
    ValueError
        If `x` has less than two dimensions or `rtol` does not broadcast.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> xp.linalg.pinv(xp.asarray([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    return _core.linalg_pinv(x, rtol)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """QR factors of matrices: orthonormal columns times an upper triangle.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.
    mode : {"reduced", "complete"}
        Whether Q has K = min(M, N) columns or, as a square matrix, K = M.

    Returns
    -------
    QRResult
        A named tuple (Q, R) of matrices of shapes (..., M, K) and (..., K, N) and of the dtype of
        `x`. The diagonal of R is real, of either sign.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or there is no such mode.

    Notes
    -----
    NaN and infinity give NaN.

    Examples
    --------
    >>> q, r = xp.linalg.qr(xp.asarray([[3.0, 1.0], [4.0, 2.0], [0.0, 0.0]]))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    >>> xp.round(q @ r)
    array([[3., 1.],
           [4., 2.],
           [0., 0.]])
    """
    return QRResult(*_core.linalg_qr(x, mode))


def slogdet(x: Array, /) -> SlogdetResult:
    """Signs of determinants, and logarithms of their absolute values.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, M); dtype floating.

    Returns
    -------
    SlogdetResult
        A named tuple (sign, logabsdet) of arrays of shape (...): numbers of absolute value 1 of the
        dtype of `x`, and real numbers of its precision. A determinant of 0 has sign 0 and logarithm
        -inf.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions or its matrices are not square.

    Notes
    -----
    NaN and infinity propagate as in elimination.

    Examples
    --------
    >>> sign, logabsdet = xp.linalg.slogdet(1e-200 * xp.eye(4))
    >>> sign
    array(1.)
    >>> float(xp.round(logabsdet))
    -1842.0
    """
    return SlogdetResult(*_core.linalg_slogdet(x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Solutions of systems of linear equations.

    Parameters
    ----------
    x1 : Array
        The coefficients: matrices of shape (..., M, M); dtype floating.
    x2 : Array
        The right-hand sides; dtype floating. An array with one dimension, of size M, is one vector,
        for all of `x1`; others are matrices of shape (..., M, K), each column a vector, whose stack
        broadcasts with that of `x1`.

    Returns
    -------
    Array
        The solutions of x1 @ result = x2, of the promoted dtype: vectors of shape (..., M) where
        `x2` is a vector, else matrices of shape (..., M, K).

    Raises
    ------
    TypeError
        If a dtype is not floating.
    ValueError
        If `x1` has less than two dimensions or matrices that are not square, `x2` has none, or the
        shapes do not fit.
    LinAlgError
        If a matrix of `x1` is exactly singular.

    Notes
    -----
    NaN and infinity propagate as in elimination.

    Examples
    --------
    >>> x1 = xp.asarray([[2.0, 0.0], [0.0, 4.0]])
    >>> xp.linalg.solve(x1, xp.asarray([1.0, 2.0]))
    array([0.5, 0.5])
    >>> xp.linalg.solve(x1, xp.asarray([[2.0, 4.0], [4.0, 8.0]]))
    array([[1., 2.],
           [1., 2.]])
    """
    return _core.linalg_solve(x1, x2)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular value decompositions of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.
    full_matrices : bool
        Whether U and Vh are square, or have only the K = min(M, N) vectors that belong to singular
        values.

    Returns
    -------
    SVDResult
        A named tuple (U, S, Vh) with x = U @ diag(S) @ Vh: matrices of shape (..., M, M) or (...,
        M, K) with orthonormal columns, real values of shape (..., K) in descending order, and
        matrices of shape (..., N, N) or (..., K, N) with orthonormal rows. U and Vh have the dtype
        of `x`, S its precision.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> u, s, vh = xp.linalg.svd(xp.asarray([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    >>> s
    array([4., 3.])
    >>> u.shape, vh.shape
    ((3, 3), (2, 2))
    """
    return SVDResult(*_core.linalg_svd(x, full_matrices))


def svdvals(x: Array, /) -> Array:
    """Singular values of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype floating.

    Returns
    -------
    Array
        Real values of shape (..., min(M, N)), descending, with the precision of `x`.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If `x` has less than two dimensions.
    LinAlgError
        If a matrix contains a NaN or an infinity, or the iteration does not converge.

    Examples
    --------
    >>> xp.linalg.svdvals(xp.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.])
    """
    return _core.linalg_svdvals(x)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Sums along the diagonals of matrices.

    Parameters
    ----------
    x : Array
        Matrices of shape (..., M, N); dtype numeric.
    offset : int
        Which diagonal: 0 is the main one, positive ones are above it, negative ones below.
    dtype : DType, optional
        The dtype of the result, in which the sum is computed. Default: that of `x`, but int64 for
        smaller signed and uint64 for smaller unsigned integers.

    Returns
    -------
    Array
        Sums of shape (...).

    Raises
    ------
    TypeError
        If a dtype is not numeric, or `dtype` is real where `x` is complex.
    ValueError
        If `x` has less than two dimensions.

    Examples
    --------
    >>> x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    >>> xp.linalg.trace(x)
    array(6)
    >>> xp.linalg.trace(x, offset=1, dtype=xp.float64)
    array(8.)
    """
    return _core.linalg_trace(x, offset, dtype)


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Array:
    """Norms of vectors.

    Parameters
    ----------
    x : Array
        An array of any shape; dtype floating.
    axis : int or tuple of int, optional
        The dimensions whose elements make a vector. Default: all of them.
    keepdims : bool
        Whether those dimensions stay, with size one.
    ord : int or float
        The order: sum(abs(x)**ord)**(1/ord), with its limits for inf, the largest absolute value,
        and -inf, the smallest; 0 is the number of elements that differ from zero.

    Returns
    -------
    Array
        Norms of the real dtype of the precision of `x`. Those of vectors without elements are 0, or
        infinity for a negative order.

    Raises
    ------
    TypeError
        If the dtype is not floating.
    ValueError
        If a dimension is named twice.
    IndexError
        If an axis is out of range.

    Notes
    -----
    Powers neither overflow nor vanish on the way: only a norm that is itself too large for the
    dtype is infinite.

    Examples
    --------
    >>> xp.linalg.vector_norm(xp.asarray([3e200, -4e200]))
    array(5.e+200)
    >>> xp.linalg.vector_norm(xp.asarray([[1.0, 2.0], [0.0, -4.0]]), axis=1, ord=1)
    array([3., 4.])
    """
    return _core.linalg_vector_norm(x, axis, keepdims, ord)
