"""The libraries that are compared: adapters that make arrays, tell the time, and hold the few words
in which a library's namespace differs from the standard's.

A new device or library is another adapter here: an asynchronous one waits in `measure`.
"""

from __future__ import annotations

import importlib
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


def wall_clock(timer: timeit.Timer, calls: int) -> float:
    """Return the seconds that so many calls take, for libraries that return when they are done."""
    return timer.timeit(calls)


@dataclass(frozen=True)
class Library:
    """One library: its namespace, and how its arrays are made from NumPy's and turned back."""

    name: str
    version: str
    xp: ModuleType
    # A copy in memory of the library's own, so that each has the alignment and pages it prefers.
    from_numpy: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]
    measure: Callable[[timeit.Timer, int], float] = wall_clock


def arrayx_library(device: str) -> Library:
    """Return arrayx, with its arrays on a device."""
    xp = importlib.import_module("arrayx")
    for name in ("linalg", "fft", "memory"):
        importlib.import_module(f"arrayx.{name}")
    return Library(
        "arrayx",
        xp.__version__,
        xp,
        lambda a: xp.asarray(a, device=device, copy=True),
        lambda x: np.asarray(x.to_device("cpu") if hasattr(x, "to_device") else x),
    )


def numpy_library() -> Library:
    """Return NumPy."""
    return Library("NumPy", np.__version__, np, np.copy, np.asarray)


# The standard's names for what PyTorch calls otherwise. The functions are PyTorch's own, so that
# no call of ours is timed; they take axis= for dim=.
TORCH_NAMES = {
    "bitwise_invert": "bitwise_not",
    "conj": "conj_physical",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "equal": "eq",
    "expand_dims": "unsqueeze",
    "max": "amax",
    "min": "amin",
    "permute_dims": "permute",
    "take_along_axis": "take_along_dim",
}


def torch_library() -> Library | None:
    """Return PyTorch, or None where it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    # Gradients are off, as no other library here records them.
    torch.set_grad_enabled(False)
    xp = ModuleType("torch")
    xp.__dict__.update(vars(torch))
    xp.__dict__.update({name: getattr(torch, own) for name, own in TORCH_NAMES.items()})
    return Library(
        "PyTorch", torch.__version__, xp, lambda a: torch.from_numpy(a).clone(), np.asarray
    )


def libraries_for(device: str) -> list[Library]:
    """Return arrayx and those of its peers on a device that are installed."""
    found = [arrayx_library(device), numpy_library(), torch_library()]
    return [library for library in found if library is not None]
