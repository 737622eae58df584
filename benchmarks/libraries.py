"""The libraries that are compared: adapters that make arrays, tell the time, and hold the few words
in which a library's namespace differs from the standard's.

A new device or library is another adapter here: an asynchronous one waits in `measure`.
"""

from __future__ import annotations

import importlib
import os
import time
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
    # Whether it takes part, and does not only say what is right.
    timed: bool = True
    # Compiles a function, where what is a view elsewhere is a copy: made before the statement, it
    # would not be timed, and the statement would read other memory than the others' do. Statements
    # of views become functions with the views inside.
    compiled: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None


def arrayx_library(device: str) -> Library:
    """Return arrayx, with its arrays on a device."""
    xp = importlib.import_module("arrayx")
    for name in ("linalg", "fft", "memory"):
        importlib.import_module(f"arrayx.{name}")
    measure = wall_clock
    if device != "cpu":
        xp.set_default_device(device)
        measure = device_clock(lambda: float(xp.zeros(())))
    return Library(
        "arrayx",
        xp.__version__,
        xp,
        lambda a: xp.asarray(a, device=device, copy=True),
        lambda x: np.asarray(x.to_device("cpu") if hasattr(x, "to_device") else x),
        measure,
    )


def numpy_library(timed: bool = True) -> Library:
    """Return NumPy."""
    return Library("NumPy", np.__version__, np, np.copy, np.asarray, timed=timed)


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


def installed(name: str) -> Any:
    """Return a module, or None where there is none."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def events() -> tuple[Callable[[], Any], Callable[[Any, Any], float]] | None:
    """Return how to mark a place in the default stream, and the seconds between two marks.

    By PyTorch's or CuPy's events; the stream is the one that arrayx, too, works in.
    """
    if (torch := installed("torch")) is not None and torch.cuda.is_available():

        def mark() -> Any:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            return event

        def between(first: Any, last: Any) -> float:
            last.synchronize()
            return float(first.elapsed_time(last)) * 1e-3

        return mark, between
    if (cupy := installed("cupy")) is not None:

        def mark() -> Any:
            event = cupy.cuda.Event()
            event.record()
            return event

        def between(first: Any, last: Any) -> float:
            last.synchronize()
            return float(cupy.cuda.get_elapsed_time(first, last)) * 1e-3

        return mark, between
    return None


def device_clock(wait: Callable[[], object]) -> Callable[[timeit.Timer, int], float]:
    """Return what tells the time of work in a device's default stream: events, or the wall clock.

    `wait` returns when all that was issued is done.
    """
    by_events = events()
    if by_events is None:
        return waited_clock(wait)
    mark, between = by_events

    def measure(timer: timeit.Timer, calls: int) -> float:
        first = mark()
        timer.timeit(calls)
        return between(first, mark())

    return measure


def waited_clock(wait: Callable[[], object]) -> Callable[[timeit.Timer, int], float]:
    """Return a wall clock for a library that returns before its work is done."""

    def measure(timer: timeit.Timer, calls: int) -> float:
        wait()
        start = time.perf_counter()
        timer.timeit(calls)
        wait()
        return time.perf_counter() - start

    return measure


def torch_library(device: str = "cpu") -> Library | None:
    """Return PyTorch, or None where it is not installed."""
    if (torch := installed("torch")) is None:
        return None
    # Gradients are off, as no other library here records them.
    torch.set_grad_enabled(False)
    xp = ModuleType("torch")
    xp.__dict__.update(vars(torch))
    xp.__dict__.update({name: getattr(torch, own) for name, own in TORCH_NAMES.items()})
    if device == "cpu":
        return Library(
            "PyTorch", torch.__version__, xp, lambda a: torch.from_numpy(a).clone(), np.asarray
        )
    torch.set_default_device(device)
    return Library(
        "PyTorch",
        torch.__version__,
        xp,
        lambda a: torch.from_numpy(a).to(device, copy=True),
        lambda x: x.cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x),
        device_clock(torch.cuda.synchronize),
    )


def with_standard_names(module: Any, name: str) -> ModuleType:
    """Return a namespace of NumPy's words with those names of the standard that it lacks."""
    xp = ModuleType(name)
    xp.__dict__.update({key: getattr(module, key) for key in dir(module)})
    for standard, own in NUMPY_NAMES.items():
        if not hasattr(xp, standard) and hasattr(module, own):
            setattr(xp, standard, getattr(module, own))
    return xp


# What libraries after NumPy 1 call otherwise.
NUMPY_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "concat": "concatenate",
    "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum",
    "permute_dims": "transpose",
    "pow": "power",
}


def cupy_library() -> Library | None:
    """Return CuPy, or None where it is not installed."""
    if (cupy := installed("cupy")) is None:
        return None
    return Library(
        "CuPy",
        cupy.__version__,
        with_standard_names(cupy, "cupy"),
        cupy.array,
        cupy.asnumpy,
        device_clock(cupy.cuda.Stream.null.synchronize),
    )


def jax_library() -> Library | None:
    """Return JAX, or None where it is not installed."""
    # It would take most of the device's memory when it is first used.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if (jax := installed("jax")) is None:
        return None
    jax.config.update("jax_enable_x64", True)
    # Else it multiplies float32 with 11 significant bits on a GPU, as no other library does unasked.
    jax.config.update("jax_default_matmul_precision", "float32")
    xp = importlib.import_module("jax.numpy")
    token = jax.device_put(0)
    return Library(
        "JAX",
        jax.__version__,
        with_standard_names(xp, "jax.numpy"),
        jax.device_put,
        np.asarray,
        # It has streams of its own, whose work is done in the order in which it was issued.
        waited_clock(lambda: (token + 1).block_until_ready()),
        compiled=jax.jit,
    )


def libraries_for(device: str) -> list[Library]:
    """Return arrayx and those of its peers on a device that are installed.

    NumPy says what is right on every device; elsewhere than on the CPU it is not timed.
    """
    if device == "cpu":
        found = [arrayx_library(device), numpy_library(), torch_library()]
    else:
        found = [
            arrayx_library(device),
            numpy_library(timed=False),
            torch_library(device),
            cupy_library(),
            jax_library(),
        ]
    return [library for library in found if library is not None]
