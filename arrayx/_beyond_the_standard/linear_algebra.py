"""Linear algebra beyond the standard: products named and shaped as NumPy's, and einsum."""

from __future__ import annotations

import arrayx as xp

from .._core import diagonal as view_of_diagonal
from ._common import as_array, as_pair, is_complex, numeric

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import Array, DType
    from ._common import ArrayLike


def cross(a: ArrayLike, b: ArrayLike, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype, of size three along the axis.
    axis : int
        The axis of the vectors.

    Returns
    -------
    Array
        An array of the promoted dtype and the broadcast shape.

    Examples
    --------
    >>> xp.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    array([0, 0, 1])
    """
    x, y = as_pair(a, b)
    x, y = xp.moveaxis(x, axis, -1), xp.moveaxis(y, axis, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"cross: a has size {x.shape[-1]} along axis {axis}, b {y.shape[-1]}; both must be 3"
        )
    (x0, x1, x2), (y0, y1, y2) = xp.unstack(x, axis=-1), xp.unstack(y, axis=-1)
    product = xp.stack((x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0), axis=-1)
    return xp.moveaxis(product, -1, axis)


def diag(v: ArrayLike, k: int = 0) -> Array:
    """The diagonal of a matrix, or a matrix with a given diagonal.

    Parameters
    ----------
    v : Array
        A matrix, or a vector that becomes the diagonal of one.
    k : int
        The diagonal, counted upwards from the main one.

    Returns
    -------
    Array
        A new array.

    Examples
    --------
    >>> xp.diag(xp.asarray([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    x = as_array(v)
    if x.ndim == 2:
        return xp.asarray(view_of_diagonal(x, k, 0, 1), copy=True)
    if x.ndim != 1:
        raise ValueError(f"diag: v has rank {x.ndim}; it must have one or two dimensions")
    n = x.shape[0] + abs(k)
    matrix = xp.zeros((n, n), dtype=x.dtype, device=x.device)
    along = xp.arange(x.shape[0], device=x.device)
    matrix[along + max(-k, 0), along + max(k, 0)] = x
    return matrix


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals over two dimensions, which give way to a new last one.

    Parameters
    ----------
    a : Array
        Array of two dimensions at least.
    offset : int
        The diagonal, counted upwards from the main one.
    axis1, axis2 : int
        The dimensions of the rows and of the columns.

    Returns
    -------
    Array
        A view.

    Examples
    --------
    >>> xp.diagonal(xp.asarray([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return view_of_diagonal(as_array(a), offset, axis1, axis2)


def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType | None = None
) -> Array:
    """The sums of the diagonals over two dimensions.

    Parameters
    ----------
    a : Array
        Array of two dimensions at least.
    offset : int
        The diagonal, counted upwards from the main one.
    axis1, axis2 : int
        The dimensions of the rows and of the columns.
    dtype : DType, optional
        The dtype to compute in, as for `sum`.

    Returns
    -------
    Array
        An array without the two dimensions.

    Examples
    --------
    >>> xp.trace(xp.asarray([[1, 2], [3, 4]]))
    array(5)
    """
    return xp.sum(numeric(diagonal(a, offset, axis1, axis2)), axis=-1, dtype=dtype)


def dot(a: ArrayLike, b: ArrayLike) -> Array:
    """The product over the last dimension of one array and the last but one of the other.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype; a scalar multiplies, a vector has its only dimension.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> xp.dot(xp.asarray([1, 2]), xp.asarray([3, 4]))
    array(11)
    """
    x, y = as_pair(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return xp.tensordot(x, y, axes=((-1,), (-2 if y.ndim > 1 else -1,)))


def inner(a: ArrayLike, b: ArrayLike) -> Array:
    """The product over the last dimension of both arrays.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype; a scalar multiplies.

    Returns
    -------
    Array
        An array of shape a.shape[:-1] + b.shape[:-1].

    Examples
    --------
    >>> xp.inner(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 10]))
    array([21, 43])
    """
    x, y = as_pair(a, b)
    return x * y if x.ndim == 0 or y.ndim == 0 else xp.tensordot(x, y, axes=((-1,), (-1,)))


def outer(a: ArrayLike, b: ArrayLike) -> Array:
    """The products of each element of one array with each of another.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype, which are flattened.

    Returns
    -------
    Array
        A matrix of shape (a.size, b.size).

    Examples
    --------
    >>> xp.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    x, y = as_pair(a, b)
    return xp.ravel(x)[:, None] * xp.ravel(y)[None, :]


def vdot(a: ArrayLike, b: ArrayLike) -> Array:
    """The dot product of two arrays as vectors, the first one conjugated.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype and of one size, which are flattened.

    Returns
    -------
    Array
        An array of rank 0.

    Examples
    --------
    >>> xp.vdot(xp.asarray([1j, 2]), xp.asarray([1j, 3]))
    array(7.+0.j)
    """
    x, y = as_pair(a, b)
    return xp.vecdot(xp.ravel(x), xp.ravel(y))


def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """The Kronecker product: the second array, times each element of the first.

    Parameters
    ----------
    a, b : Array
        Arrays of a numeric dtype; ones are put before the shorter shape.

    Returns
    -------
    Array
        An array whose sizes are the products of theirs.

    Examples
    --------
    >>> xp.kron(xp.asarray([1, 10]), xp.asarray([1, 2]))
    array([ 1,  2, 10, 20])
    """
    x, y = as_pair(a, b)
    rank = max(x.ndim, y.ndim)
    outer_shape = (1,) * (rank - x.ndim) + x.shape
    inner_shape = (1,) * (rank - y.ndim) + y.shape
    x = xp.reshape(x, tuple([size for n in outer_shape for size in (n, 1)]))
    y = xp.reshape(y, tuple([size for n in inner_shape for size in (1, n)]))
    shape = tuple([m * n for m, n in zip(outer_shape, inner_shape, strict=True)])
    return xp.reshape(x * y, shape)


def einsum(subscripts: str, *operands: ArrayLike, optimize: object = None) -> Array:
    """Sums of products of elements, in Einstein's notation.

    Parameters
    ----------
    subscripts : str
        A letter for each dimension of each operand, with commas between operands; after "->" those
        of the result. Without it the result has the letters that come once, in alphabetical order.
        "..." stands for dimensions that are broadcast.
    *operands : Array
        As many arrays.
    optimize : object
        Has no effect: operands are contracted two by two from the left, by matrix products.

    Returns
    -------
    Array
        An array of the promoted dtype.

    Examples
    --------
    >>> x = xp.asarray([[1, 2], [3, 4]])
    >>> xp.einsum("ij,kj->ik", x, x)
    array([[ 5, 11],
           [11, 25]])
    """
    arrays = [as_array(x) for x in operands]
    inputs, output = labels_of(subscripts, arrays)
    dtype = xp.result_type(*arrays) if len(arrays) > 1 else arrays[0].dtype
    work = xp.int64 if dtype == xp.bool else dtype
    sizes: dict[str, int] = {}
    for labels, x in zip(inputs, arrays, strict=True):
        for label, n in zip(labels, x.shape, strict=True):
            if sizes.setdefault(label, n) == 1:
                sizes[label] = n
            elif n not in (1, sizes[label]):
                raise ValueError(
                    f"einsum: {label!r} has sizes {sizes[label]} and {n} in {subscripts!r}"
                )
    left, left_labels = single(xp.astype(arrays[0], work), inputs[0], sizes)
    for i in range(1, len(arrays)):
        needed = set(output).union(*inputs[i + 1 :])
        right, right_labels = single(xp.astype(arrays[i], work), inputs[i], sizes)
        left, left_labels = summed(left, left_labels, needed | set(right_labels))
        right, right_labels = summed(right, right_labels, needed | set(left_labels))
        left, left_labels = contract(left, left_labels, right, right_labels, needed)
    left, left_labels = summed(left, left_labels, set(output))
    result = xp.permute_dims(left, tuple([left_labels.index(label) for label in output]))
    if dtype == xp.bool:
        return result != 0
    return xp.asarray(result, copy=True) if len(arrays) == 1 else result


def labels_of(subscripts: str, arrays: list[Array]) -> tuple[list[list[str]], list[str]]:
    """Return the labels of each operand and of the result; those of "..." are "0", "1", …"""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {subscripts!r} is for {len(terms)} operands, not {len(arrays)}")
    inputs: list[list[str]] = []
    rank = 0
    for term, x in zip(terms, arrays, strict=True):
        front, dots, back = term.partition("...")
        rest = x.ndim - len(front) - len(back)
        if not all(label.isalpha() for label in front + back):
            raise ValueError(f"einsum: {subscripts!r} has a label that is no letter")
        if rest < 0 or (rest > 0 and not dots):
            raise ValueError(f"einsum: {term!r} is for another rank than {x.ndim}")
        rank = max(rank, rest)
        # Counted from the back, for broadcasting.
        inputs.append([*front, *[str(i) for i in reversed(range(rest))], *back])
    broadcast = [str(i) for i in reversed(range(rank))]
    if arrow:
        front, dots, back = right.partition("...")
        output = [*front, *(broadcast if dots else []), *back]
    else:
        letters = sorted(left.replace(",", "").replace(".", ""))
        output = broadcast + [label for label in letters if letters.count(label) == 1]
    known = set().union(*inputs)
    if len(set(output)) < len(output) or not set(output) <= known:
        raise ValueError(
            f"einsum: the labels of the result in {subscripts!r} must be distinct, and in an operand"
        )
    return inputs, output


def single(x: Array, labels: list[str], sizes: dict[str, int]) -> tuple[Array, list[str]]:
    """Return the diagonal over labels that repeat, without dimensions that are broadcast."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        wide = [i for i, name in enumerate(labels) if name == label and x.shape[i] == sizes[label]]
        narrow = [i for i, name in enumerate(labels) if name == label and i not in wide]
        if narrow:
            x = xp.squeeze(x, tuple(narrow))
            labels = [name for i, name in enumerate(labels) if i not in narrow]
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = view_of_diagonal(x, 0, first, second)
            labels = [name for i, name in enumerate(labels) if i not in (first, second)] + [label]
    return x, labels


def summed(x: Array, labels: list[str], needed: set[str]) -> tuple[Array, list[str]]:
    """Return the sums over the labels that are not needed any more."""
    axes = tuple([i for i, label in enumerate(labels) if label not in needed])
    if axes:
        x = xp.sum(x, axis=axes, dtype=x.dtype)
    return x, [label for label in labels if label in needed]


def contract(
    x: Array, x_labels: list[str], y: Array, y_labels: list[str], needed: set[str]
) -> tuple[Array, list[str]]:
    """Return the product of two operands, summed over the common labels that are not needed."""
    both = [label for label in x_labels if label in y_labels]
    batch = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    rows = [label for label in x_labels if label not in both]
    columns = [label for label in y_labels if label not in both]
    x_size = dict(zip(x_labels, x.shape, strict=True))
    y_size = dict(zip(y_labels, y.shape, strict=True))
    labels = batch + rows + columns
    x = xp.permute_dims(x, tuple([x_labels.index(label) for label in batch + rows + inner]))
    y = xp.permute_dims(y, tuple([y_labels.index(label) for label in batch + columns + inner]))
    if not inner or (batch and not rows and not columns):
        shape = [x_size[label] for label in batch + rows] + [1] * len(columns)
        x = xp.reshape(x, (*shape, *[x_size[label] for label in inner]))
        shape = [x_size[label] for label in batch] + [1] * len(rows)
        y = xp.reshape(y, (*shape, *[y_size[label] for label in columns + inner]))
        return summed(x * y, labels + inner, set(labels))
    stack = [x_size[label] for label in batch]
    depth = size_of(inner, x_size)
    x = xp.reshape(x, (*stack, size_of(rows, x_size), depth))
    y = xp.reshape(y, (*stack, size_of(columns, y_size), depth))
    product = xp.matmul(x, xp.matrix_transpose(y))
    shape = stack + [x_size[label] for label in rows] + [y_size[label] for label in columns]
    return xp.reshape(product, tuple(shape)), labels


def size_of(labels: list[str], sizes: dict[str, int]) -> int:
    size = 1
    for label in labels:
        size *= sizes[label]
    return size


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> Array:
    """The discrete convolution of two vectors.

    Parameters
    ----------
    a, v : Array
        One-dimensional arrays of one element at least.
    mode : str
        Which part: "full", "same" (the size of the longer one, centred), or "valid" (where they
        overlap altogether).

    Returns
    -------
    Array
        A one-dimensional array of the promoted dtype.

    Examples
    --------
    >>> xp.convolve(xp.asarray([1, 2, 3]), xp.asarray([0, 1, 2]))
    array([0, 1, 4, 7, 6])
    """
    x, y = vectors(a, v, "convolve")
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    return sliding_products(x, xp.flip(y), mode, "convolve")


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> Array:
    """The cross-correlation of two vectors, the second one conjugated.

    Parameters
    ----------
    a, v : Array
        One-dimensional arrays of one element at least.
    mode : str
        Which part: "full", "same" (the size of the longer one, centred), or "valid" (where they
        overlap altogether).

    Returns
    -------
    Array
        A one-dimensional array of the promoted dtype.

    Examples
    --------
    >>> xp.correlate(xp.asarray([1, 2, 3]), xp.asarray([0.0, 1.0, 0.5]), "same")
    array([2. , 3.5, 3. ])
    """
    x, y = vectors(a, v, "correlate")
    y = xp.conj(y) if is_complex(y) else y
    if x.shape[0] < y.shape[0]:
        return xp.flip(sliding_products(y, x, mode, "correlate"))
    return sliding_products(x, y, mode, "correlate")


def vectors(a: ArrayLike, v: ArrayLike, name: str) -> tuple[Array, Array]:
    x, y = as_pair(a, v)
    for which, vector in (("a", x), ("v", y)):
        if vector.ndim > 1 or vector.size == 0:
            raise ValueError(
                f"{name}: {which} has shape {vector.shape}; it must be one-dimensional, not empty"
            )
    dtype = xp.result_type(x, y)
    return xp.astype(xp.ravel(x), dtype), xp.astype(xp.ravel(y), dtype)


def sliding_products(x: Array, kernel: Array, mode: str, name: str) -> Array:
    """Return the products of the kernel with each window of x, which is the longer one."""
    n, m = x.shape[0], kernel.shape[0]
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode is {mode!r}; it must be 'full', 'same' or 'valid'")
    count = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    left = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    padded = xp.pad(x, (left, count + m - 1 - left - n))
    dtype = x.dtype
    if dtype == xp.bool:
        padded, kernel = xp.astype(padded, xp.int64), xp.astype(kernel, xp.int64)
    # A zero beyond the ends adds nothing, unless an infinity or NaN of the kernel meets it.
    finite = bool(xp.all(xp.isfinite(kernel)))
    # Windows are gathered in blocks of bounded size. Their products are added pairwise, which loses
    # less than a matrix product does.
    rows = max(1, (1 << 18) // m)
    offsets = xp.arange(m, device=x.device)[None, :]
    parts = []
    for start in range(0, count, rows):
        starts = xp.arange(start, min(start + rows, count), device=x.device)[:, None]
        where = starts + offsets
        products = padded[where] * kernel
        if not finite:
            products = xp.where((where >= left) & (where < left + n), products, 0)
        parts.append(xp.sum(products, axis=1, dtype=products.dtype))
    result = xp.concat(parts)
    return result != 0 if dtype == xp.bool else result
