"""The libraries that are compared, and the few words in which they differ."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass
class Library:
    """One library: its namespace, and how its arrays are made from NumPy's and turned back."""

    name: str
    xp: ModuleType
    # A copy in memory of the library's own, so that each has the alignment and pages it prefers.
    from_numpy: Callable[[np.ndarray], Any]
    to_numpy: Callable[[Any], np.ndarray]


def arrayx_library(device: str) -> Library:
    """Return arrayx, with its arrays on a device."""
    xp = importlib.import_module("arrayx")
    return Library(
        "arrayx",
        xp,
        lambda a: xp.asarray(a, device=device, copy=True),
        lambda x: np.asarray(xp.to_device(x, "cpu") if device != "cpu" else x),
    )


def numpy_library() -> Library:
    """Return NumPy."""
    return Library("NumPy", np, np.copy, np.asarray)


def torch_library() -> Library | None:
    """Return PyTorch, or None where it is not installed."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    # Gradients are off, as no other library here records them.
    torch.set_grad_enabled(False)
    return Library("PyTorch", torch, lambda a: torch.from_numpy(a).clone(), np.asarray)
