"""The code that the README shows does what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pages
import pytest

pytestmark = pytest.mark.cpu  # what is printed names other devices

README = Path(__file__).resolve().parent.parent / "README.md"


def test_examples_print_what_the_readme_says() -> None:
    assert pages.faults_of(README) == ""


def test_the_readme_has_examples_and_one_command_each_to_try_and_to_test() -> None:
    text = README.read_text(encoding="utf-8")
    assert pages.examples_of(README).count(">>>") >= 10
    commands = re.findall(r"^python3 -m venv .*$", text, re.MULTILINE)
    assert [command.split("/bin/")[-1] for command in commands] == [
        "python examples/quickstart.py",
        "pytest tests -n auto",
    ]
