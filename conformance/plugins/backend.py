"""What the pytest plugins share: which namespace is tested, and how a fixture is given it.

The namespace's name comes from the environment, so that workers of pytest-xdist see it too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = os.environ.get("CONFORMANCE_MODULE", "arrayx")
MARK = "conformance"


def declare_mark(config: pytest.Config) -> None:
    """Make the mark that selects the tests of this run known to pytest."""
    config.addinivalue_line("markers", f"{MARK}: the tests of conformance/run.py")


def offer(metafunc: pytest.Metafunc, fixture: str, choose: Callable[[Any], list[Any]]) -> None:
    """Replace a fixture's parameters by choose(those it has), before tests are made of them.

    The fixture's own body still runs: its skips, patches and settings are the project's.
    """
    for definition in metafunc._arg2fixturedefs.get(fixture, ()):
        if definition.params is not None:
            definition.params = choose(definition.params)


def selected(value: object, name: str = NAME) -> Any:
    """Return a parameter that carries this run's mark."""
    return pytest.param(value, id=name, marks=getattr(pytest.mark, MARK))
