"""Runs the interactive examples of a page in Markdown: `python tests/pages.py PAGE`."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
import sys
from pathlib import Path

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


def parsed(page: Path) -> doctest.DocTest:
    """Return a page's examples as one test, whose examples share their names."""
    return doctest.DocTestParser().get_doctest(
        examples_of(page), {}, page.name, str(page), lineno=0
    )


def missing_modules(page: Path) -> list[str]:
    """Return the modules that a page's examples import and that are not installed."""
    names: set[str] = set()
    for example in parsed(page).examples:
        for node in ast.walk(ast.parse(example.source)):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return sorted(name for name in names if importlib.util.find_spec(name) is None)


def faults_of(page: Path) -> str:
    """Run a page's examples and return what is wrong with the first that fails."""
    output: list[str] = []
    flags = doctest.ELLIPSIS | doctest.FAIL_FAST
    doctest.DocTestRunner(optionflags=flags).run(parsed(page), out=output.append)
    return "".join(output)


if __name__ == "__main__":
    faults = faults_of(Path(sys.argv[1]))
    print(faults, end="")
    sys.exit(1 if faults else 0)
