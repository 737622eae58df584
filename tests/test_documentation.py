"""The examples of the pages in docs/ print what the pages say.

Each page runs in an interpreter of its own, since some set what a library reads when it is first
imported.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pages
import pytest

import arrayx

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if ">>>" in pages.examples_of(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_examples_print_what_the_page_says(page: Path) -> None:
    missing = pages.missing_modules(page)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    run = subprocess.run(
        [sys.executable, pages.__file__, page],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_page_of_the_user_guide_has_examples() -> None:
    guide = {page for page in (DOCS / "user").glob("*.md") if page.name != "index.md"}
    assert guide
    assert guide <= set(PAGES)


def test_every_public_name_is_looked_for_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx.pycode")
    monkeypatch.syspath_prepend(DOCS)
    reference = importlib.import_module("api_reference")
    names = list(reference.public_names())
    assert {f"arrayx.{name}" for name in arrayx.__all__} <= set(names)
    for name in ("arrayx.fft.rfft", "arrayx.Array.sum", "arrayx.memory.info"):
        assert reference.names_without_pages(set(names) - {name}) == [name]


def test_a_wrong_example_is_found(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n", encoding="utf-8")
    assert "Expected:\n    3\nGot:\n    2" in pages.faults_of(page)


def test_a_module_that_is_not_installed_is_found(tmp_path: Path) -> None:
    page = tmp_path / "missing.md"
    page.write_text("```python\n>>> import os, no_such_module.part\n\n```\n", encoding="utf-8")
    assert pages.missing_modules(page) == ["no_such_module"]
