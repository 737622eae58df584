"""pytest plugin: run scikit-learn's array API tests on another namespace, and only those.

scikit-learn's tests take their namespaces from three generators in sklearn.utils._array_api. They
are replaced before any test module imports them; a test belongs to the run when its parameters name
the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import backend
import pytest
from sklearn.utils import _array_api

# A namespace that scikit-learn knows is tested with the devices and dtypes it lists for it.
LISTED = [c for c in _array_api.yield_namespace_device_dtype_combinations() if c[0] == backend.NAME]
COMBINATIONS = LISTED or [
    (backend.NAME, None, None),
    (backend.NAME, "cpu", "float64"),
    (backend.NAME, "cpu", "float32"),
]


# … and in the pairs it lists with it.
NUMPY = _array_api.NamespaceAndDevice("numpy", None)
OURS = _array_api.NamespaceAndDevice(*COMBINATIONS[0][:2])
PAIRS = [
    pair
    for pair in _array_api.yield_mixed_namespace_input_permutations()
    if backend.NAME in (pair[0].xp, pair[1].xp)
] or [
    (NUMPY, OURS, f"numpy to {backend.NAME}"),
    (OURS, NUMPY, f"{backend.NAME} to numpy"),
]


def yield_namespaces(include_numpy_namespaces: bool = True) -> Iterator[str]:
    yield backend.NAME


def yield_namespace_device_dtype_combinations(
    include_numpy_namespaces: bool = True,
) -> Iterator[tuple[str, str | None, str | None]]:
    yield from COMBINATIONS


def yield_mixed_namespace_input_permutations() -> Iterator[tuple[Any, Any, str]]:
    yield from PAIRS


for replacement in (
    yield_namespaces,
    yield_namespace_device_dtype_combinations,
    yield_mixed_namespace_input_permutations,
):
    setattr(_array_api, replacement.__name__, replacement)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    named = re.compile(rf"\[.*\b{re.escape(backend.NAME)}\b")
    ours = [item for item in items if named.search(item.name)]
    config.hook.pytest_deselected(items=[item for item in items if not named.search(item.name)])
    items[:] = ours
