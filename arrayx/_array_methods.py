"""The methods that people chain out of habit, named and behaving as NumPy's: x.sum(axis=0).

`methods` is the one list of them. Those without a body are compiled: they are functions under
another signature, or stand in cpp/python/functions.cpp. What needs the C API, such as copy, item
and tolist, is in cpp/python/array.cpp.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from importlib import import_module

from . import _core
from . import _creation_functions as creation
from . import _elementwise_functions as elementwise
from . import _indexing_functions as indexing
from . import _linear_algebra_functions as linear_algebra
from . import _manipulation_functions as manipulation
from . import _searching_functions as searching
from . import _sorting_functions as sorting
from . import _statistical_functions as statistical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._core import Array, Device, DType

    Axes = int | tuple[int, ...] | None
    F = TypeVar("F", bound=Callable[..., Any])


def compiled(method: F) -> F:
    """Return the method of cpp/python/functions.cpp that has the Python method's name."""
    return _core.function(method, f"Array.{method.__name__}")


def named(method: F, name: str, function: str) -> F:
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"The function arrayx.{function} of this array."
    return compiled(method)


def reduction(name: str) -> Callable[..., Array]:
    """Return a method(axis, out, keepdims) for a function that reduces over axes.

    NumPy's own functions (np.max(x)) call the methods of foreign arrays with out=None.
    """

    def method(
        self: Array, axis: Axes = None, out: Array | None = None, *, keepdims: bool = False
    ) -> Array: ...

    return named(method, name, name)


def wide_reduction(name: str) -> Callable[..., Array]:
    """Return a method(axis, dtype, out, keepdims) for sum, prod and mean."""

    def method(
        self: Array,
        axis: Axes = None,
        dtype: DType | None = None,
        out: Array | None = None,
        *,
        keepdims: bool = False,
    ) -> Array: ...

    return named(method, name, name)


def deviation(name: str) -> Callable[..., Array]:
    """Return a method for var and std; `ddof` is NumPy's word for correction."""

    def method(
        self: Array,
        axis: Axes = None,
        dtype: DType | None = None,
        out: Array | None = None,
        ddof: int | float = 0,
        *,
        correction: int | float | None = None,
        keepdims: bool = False,
    ) -> Array: ...

    return named(method, name, name)


def running(name: str, function: str) -> Callable[..., Array]:
    """Return a method for cumsum and cumprod, which flatten when there is no axis."""

    def method(
        self: Array, axis: int | None = None, dtype: DType | None = None, out: Array | None = None
    ) -> Array: ...

    return named(method, name, function)


@compiled
def reshape(self: Array, *shape: int | tuple[int, ...], copy: bool | None = None) -> Array:
    """The elements in another shape, as by arrayx.reshape."""


@compiled
def transpose(self: Array, *axes: int | tuple[int, ...] | None) -> Array:
    """A view with the dimensions in another order; without axes in reverse."""


@compiled
def flatten(self: Array) -> Array:
    """A copy with one dimension."""


@compiled
def ravel(self: Array) -> Array:
    """The elements with one dimension: a view if there is one, else a copy."""


@_core.function
def squeeze(self: Array, axis: Axes = None) -> Array:
    """A view without dimensions of size one, as by arrayx.squeeze."""


def swapaxes(self: Array, axis1: int, axis2: int) -> Array:
    """A view with two dimensions exchanged."""
    axes = list(range(self.ndim))
    try:
        axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    except IndexError:
        raise IndexError(
            f"swapaxes: axis1 and axis2 must be in [{-self.ndim}, {self.ndim}), "
            f"not {axis1} and {axis2}"
        ) from None
    return manipulation.permute_dims(self, tuple(axes))


@_core.function
def repeat(self: Array, repeats: int | Array, axis: int | None = None) -> Array:
    """Each element repeated, as by arrayx.repeat."""


@_core.function
def diagonal(self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The diagonals over two dimensions, which give way to a new last one; a view."""


def view(self: Array, dtype: DType | None = None) -> Array:
    """A view of the same bytes, as elements of another dtype if one is named."""
    return _core.view(self, self.dtype if dtype is None else dtype)


def trace(
    self: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DType | None = None
) -> Array:
    """The sums of the diagonals over two dimensions."""
    return statistical.sum(diagonal(self, offset, axis1, axis2), axis=-1, dtype=dtype)


@_core.function
def astype(
    self: Array, dtype: DType, *, copy: bool = True, device: Device | str | None = None
) -> Array:
    """A copy in another dtype, as by arrayx.astype."""


def sort(self: Array, axis: int = -1, *, descending: bool = False, stable: bool = True) -> None:
    """Sort this array in place."""
    self[...] = sorting.sort(self, axis=axis, descending=descending, stable=stable)


@_core.function
def argsort(self: Array, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """The positions that sort, as by arrayx.argsort."""


def searchsorted(
    self: Array,
    v: Array | int | float,
    side: Any = "left",
    sorter: Array | None = None,
) -> Array:
    """Where to insert values, as by arrayx.searchsorted."""
    return searching.searchsorted(self, v, side=side, sorter=sorter)


@_core.function
def nonzero(self: Array) -> tuple[Array, ...]:
    """The positions of elements that are not zero, as by arrayx.nonzero."""


def take(self: Array, indices: Array | int | list[int], axis: int | None = None) -> Array:
    """Elements at positions along an axis; without one, of the flattened array."""
    if axis is None:
        self, axis = ravel(self), 0
    positions = creation.asarray(
        indices, device=None if isinstance(indices, _core.Array) else self.device
    )
    if positions.ndim == 1:
        return indexing.take(self, positions, axis=axis)
    axis = range(self.ndim)[axis]
    taken = indexing.take(self, ravel(positions), axis=axis)
    shape = self.shape[:axis] + positions.shape + self.shape[axis + 1 :]
    return manipulation.reshape(taken, shape)


@compiled
def clip(
    self: Array,
    min: Array | int | float | None = None,
    max: Array | int | float | None = None,
    out: Array | None = None,
) -> Array:
    """Each element, or the nearest bound, as by arrayx.clip."""


@_core.function
def round(self: Array) -> Array:
    """Each element rounded to the nearest integer, ties to the even one."""


@_core.function
def conj(self: Array) -> Array:
    """The complex conjugates."""


def dot(self: Array, other: Array | int | float | complex) -> Array:
    """The product with an array as NumPy's dot: scalars multiply, else the last dimension of this
    meets the last but one of the other.
    """
    if not isinstance(other, _core.Array) or self.ndim == 0 or other.ndim == 0:
        return self * other
    return linear_algebra.tensordot(self, other, axes=((-1,), (-2 if other.ndim > 1 else -1,)))


def fill(self: Array, value: Array | bool | int | float | complex) -> None:
    """Set every element to a value."""
    self[...] = value


# The standard's names of NumPy's ufuncs that have others.
standard_names = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
}


def array_ufunc(self: Array, ufunc: Any, how: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy calls when a ufunc, its own or one of SciPy's, is given this array.

    The function of that name computes it; what has none here, or takes other dtypes than the
    standard's, goes through NumPy. Either way the result is an array of arrayx. Operators between
    this array and one of NumPy arrive here too; they are answered on the CPU, where NumPy's needs
    no copy.
    """
    numpy = import_module("numpy")
    mixed = any(isinstance(value, numpy.ndarray) for value in inputs)
    if "out" in options or (mixed and self.device.type != "cpu"):
        return NotImplemented
    if mixed:
        inputs = tuple(creation.asarray(v) if isinstance(v, numpy.ndarray) else v for v in inputs)
    name = standard_names.get(ufunc.__name__, ufunc.__name__)
    function = getattr(elementwise, name, None) or getattr(linear_algebra, name, None)
    if function is not None and how == "__call__" and not options:
        try:
            return function(*inputs)
        except TypeError:
            # An operator follows our rules also where it arrives by way of NumPy.
            if mixed:
                raise
    arrays = [value.__array__() if isinstance(value, _core.Array) else value for value in inputs]
    results = getattr(ufunc, how)(*arrays, **options)
    if isinstance(results, tuple):
        return tuple([creation.asarray(result) for result in results])
    return creation.asarray(results)


methods: dict[str, Callable[..., Any]] = {
    "__array_ufunc__": array_ufunc,
    "all": reduction("all"),
    "any": reduction("any"),
    "argmax": reduction("argmax"),
    "argmin": reduction("argmin"),
    "argsort": argsort,
    "astype": astype,
    "clip": clip,
    "conj": conj,
    "conjugate": conj,
    "cumprod": running("cumprod", "cumulative_prod"),
    "cumsum": running("cumsum", "cumulative_sum"),
    "diagonal": diagonal,
    "dot": dot,
    "fill": fill,
    "flatten": flatten,
    "max": reduction("max"),
    "mean": wide_reduction("mean"),
    "min": reduction("min"),
    "nonzero": nonzero,
    "prod": wide_reduction("prod"),
    "ravel": ravel,
    "repeat": repeat,
    "reshape": reshape,
    "round": round,
    "searchsorted": searchsorted,
    "sort": sort,
    "squeeze": squeeze,
    "std": deviation("std"),
    "sum": wide_reduction("sum"),
    "swapaxes": swapaxes,
    "take": take,
    "trace": trace,
    "transpose": transpose,
    "view": view,
    "var": deviation("var"),
}

_core.set_methods(methods)
