"""Inspection of the namespace, as the standard has it."""

from __future__ import annotations

from . import _core
from ._data_types import all_dtypes, complex128, dtypes_named, float16, float64, int64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._core import Device, DType

__all__ = ["__array_namespace_info__"]


class Devices(tuple["Device", ...]):
    """A tuple, as the standard has it from 2025.12 on; until then it was a list.

    A list may still be added to it, as SciPy does.
    """

    def __add__(self, other: Any) -> Any:
        return [*self, *other] if isinstance(other, list) else tuple.__add__(self, other)


class NamespaceInfo:
    """What `__array_namespace_info__` returns: the inspection functions as methods."""

    __slots__ = ()

    def capabilities(self) -> dict[str, bool | int]:
        """What the library can do.

        Returns
        -------
        dict
            'boolean indexing' and 'data-dependent shapes' are True, 'max dimensions' is an int.

        Examples
        --------
        >>> xp.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _core.max_ndim,
        }

    def default_device(self) -> Device:
        """The device on which arrays are made when none is named.

        Returns
        -------
        Device
            Changed by `set_default_device`, or for a block by `with Device(...)`.

        Examples
        --------
        >>> xp.__array_namespace_info__().default_device()
        arrayx.Device('cpu')
        """
        return _core.default_device()

    def default_dtypes(self, *, device: Device | str | None = None) -> dict[str, DType]:
        """The dtypes of arrays made without one.

        Parameters
        ----------
        device : Device or str, optional
            They are the same on every device.

        Returns
        -------
        dict
            For 'real floating', 'complex floating', 'integral' and 'indexing' the dtype.

        Examples
        --------
        >>> xp.__array_namespace_info__().default_dtypes()["integral"]
        arrayx.int64
        """
        check_device(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def devices(self) -> tuple[Device, ...]:
        """The devices there are.

        Returns
        -------
        tuple of Device
            The CPU first, then the GPUs, if arrayx was built for them.

        Examples
        --------
        >>> xp.__array_namespace_info__().devices()[0]
        arrayx.Device('cpu')
        """
        return Devices(_core.devices())

    def dtypes(
        self,
        *,
        device: Device | str | None = None,
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, DType]:
        """The dtypes of the standard, by name.

        Parameters
        ----------
        device : Device or str, optional
            They are the same on every device.
        kind : str, tuple of str or None
            Only those of this kind, or of one of these kinds; the words are those of `isdtype`.

        Returns
        -------
        dict
            Dtypes by name.

        Raises
        ------
        ValueError
            If a word names no kind.

        Notes
        -----
        float16 is not among them, as in NumPy: the standard lacks it.

        Examples
        --------
        >>> xp.__array_namespace_info__().dtypes(kind="real floating")
        {'float32': arrayx.float32, 'float64': arrayx.float64}
        """
        check_device(device)
        if kind is None:
            wanted = all_dtypes
        elif isinstance(kind, tuple):
            wanted = tuple([dtype for word in kind for dtype in dtypes_named(word)])
        else:
            wanted = dtypes_named(kind)
        return {dtype.name: dtype for dtype in all_dtypes if dtype in wanted and dtype != float16}


def check_device(device: Device | str | None) -> None:
    """Refuse what names no device."""
    if device is not None:
        _core.Device(device)


def __array_namespace_info__() -> NamespaceInfo:
    """The inspection functions of the namespace.

    Returns
    -------
    NamespaceInfo
        An object with the methods `capabilities`, `default_device`, `default_dtypes`, `devices` and
        `dtypes`.

    Examples
    --------
    >>> xp.__array_namespace_info__().default_device() == "cpu"
    True
    """
    return NamespaceInfo()
