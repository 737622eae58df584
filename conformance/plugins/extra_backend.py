"""pytest plugin: run array-api-extra's tests on another namespace, and only those.

Its fixtures `library` and `xp` take a member of its Backend enumeration; a namespace that has none
is given a stand-in that answers what the fixtures ask of a member.
"""

from __future__ import annotations

from typing import Any

import backend
import pytest


class Library:
    """A backend that array-api-extra has no name for, and so no exceptions either."""

    modname = name = value = backend.NAME

    def like(self, *others: object) -> bool:
        return False

    def __str__(self) -> str:
        return backend.NAME


LIBRARY = Library()


def pytest_configure(config: pytest.Config) -> None:
    backend.declare_mark(config)


def choose(parameters: Any) -> list[Any]:
    members = [p.values[0] if hasattr(p, "values") else p for p in parameters]
    known = [m for m in members if m.value == backend.NAME]
    return [backend.selected(m) for m in known or [LIBRARY]]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    backend.offer(metafunc, "library", choose)
