"""The memory of a device: how much arrays use, and how much is kept for the next ones.

Blocks that are freed are kept and used again, since fresh pages cost more than most arithmetic on
them. The functions here show, limit and empty that cache.
"""

from __future__ import annotations

from collections import namedtuple

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from ._core import Device

    class MemoryInfo(NamedTuple):
        in_use: int
        cached: int
        limit: int

else:
    MemoryInfo = namedtuple("MemoryInfo", ["in_use", "cached", "limit"])

__all__ = ["empty_cache", "info", "limit", "set_limit"]


def info(device: Device | str | None = None) -> MemoryInfo:
    """How much memory of a device is in use and in the cache.

    Parameters
    ----------
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    MemoryInfo
        A named tuple of bytes: `in_use` by arrays, `cached` for the next ones, and the `limit` of
        the cache.

    Examples
    --------
    >>> import arrayx.memory
    >>> before = arrayx.memory.info().in_use
    >>> x = xp.zeros(1_000_000)
    >>> arrayx.memory.info().in_use - before >= x.nbytes
    True
    """
    return MemoryInfo(**_core.memory_info(device))


def limit(device: Device | str | None = None) -> int:
    """The most bytes that the cache of a device keeps.

    Parameters
    ----------
    device : Device or str, optional
        Default: the default device.

    Returns
    -------
    int
        Bytes.

    Examples
    --------
    >>> import arrayx.memory
    >>> arrayx.memory.limit() == arrayx.memory.info().limit
    True
    """
    return info(device).limit


def set_limit(bytes: int, device: Device | str | None = None) -> None:
    """Set how much the cache of a device may keep; what is above that is freed.

    Parameters
    ----------
    bytes : int
        The limit, at least 0; 0 keeps nothing.
    device : Device or str, optional
        Default: the default device.

    Raises
    ------
    ValueError
        If `bytes` is negative.

    Examples
    --------
    >>> import arrayx.memory
    >>> before = arrayx.memory.limit()
    >>> arrayx.memory.set_limit(0)
    >>> arrayx.memory.info().cached
    0
    >>> arrayx.memory.set_limit(before)
    """
    _core.set_cache_limit(bytes, device)


def empty_cache(device: Device | str | None = None) -> None:
    """Free all memory that the cache of a device keeps.

    Parameters
    ----------
    device : Device or str, optional
        Default: the default device.

    Examples
    --------
    >>> import arrayx.memory
    >>> arrayx.memory.empty_cache()
    >>> arrayx.memory.info().cached
    0
    """
    _core.empty_cache(device)
