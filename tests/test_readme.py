"""The code that the README and the pages of docs/ show does what they say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples_of(page: Path) -> str:
    """Return a page's interactive examples, every other line left blank to keep line numbers."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in FENCED.finditer(text):
        first = text.count("\n", 0, block.start(1))
        body = block[1].splitlines()
        lines[first : first + len(body)] = body
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_says(page: Path) -> None:
    examples = doctest.DocTestParser().get_doctest(
        examples_of(page), {}, page.name, str(page), lineno=0
    )
    flags = doctest.ELLIPSIS | doctest.FAIL_FAST
    output: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=flags).run(examples, out=output.append)
    assert outcome.failed == 0, "".join(output)


def test_the_readme_has_examples_and_one_command_each_to_try_and_to_test() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert examples_of(ROOT / "README.md").count(">>>") >= 10
    commands = re.findall(r"^python3 -m venv .*$", text, re.MULTILINE)
    assert [command.split("/bin/")[-1] for command in commands] == [
        "python examples/quickstart.py",
        "pytest tests",
    ]
