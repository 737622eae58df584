"""pytest plugin: run the tests that use SciPy's `xp` fixture on another namespace, and only those.

A namespace that SciPy knows (numpy, array_api_strict, torch) is chosen from the fixture's own list.
"""

from __future__ import annotations

import importlib
from typing import Any

import backend
import pytest


def pytest_configure(config: pytest.Config) -> None:
    backend.declare_mark(config)


def pytest_plugin_registered(plugin: object) -> None:
    # SciPy's skips for everything but NumPy (np_only) reach the backends in this set.
    if getattr(plugin, "__name__", "") == "scipy.conftest":
        known = plugin.xp_known_backends  # type: ignore[attr-defined]
        known.add(backend.NAME)


def choose(parameters: Any) -> list[Any]:
    namespaces = [p.values[0] if hasattr(p, "values") else p for p in parameters]
    known = [n for n in namespaces if n.__name__ == backend.NAME]
    return [backend.selected(n) for n in known or [importlib.import_module(backend.NAME)]]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    backend.offer(metafunc, "xp", choose)
