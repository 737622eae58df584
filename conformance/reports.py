"""Counts of a pytest run, read from its JUnit report and printed as a table.

Which row a test belongs to is the caller's business: a function of the parts of its module's name.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = {"passed": "passed", "failed": "failed", "skipped": "skipped", "xfailed": "expected"}
WIDEST_CAUSE = 120


@dataclass
class Row:
    """The outcomes of one group of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    xfailed: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Report:
    """A run's rows by name, and how often each reason for a skip was given."""

    rows: dict[str, Row] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> bool:
        return any(row.failed for row in self.rows.values())


def one_line(message: str) -> str:
    """Return the first lines of a message as one, cut to a readable length."""
    line = " ".join(message.split()) or "no message"
    return line if len(line) <= WIDEST_CAUSE else line[: WIDEST_CAUSE - 1] + "…"


def read(path: Path, row_of: Callable[[Sequence[str]], str]) -> Report:
    """Count a JUnit report's outcomes by row, and its skips by reason."""
    report = Report()
    for case in ElementTree.parse(path).iter("testcase"):
        # A file that could not be imported is reported under its own name, without a class.
        place = case.get("classname") or case.get("name") or ""
        row = report.rows.setdefault(row_of(place.split(".")), Row())
        problem = next((e for e in case if e.tag in ("failure", "error")), None)
        skip = case.find("skipped")
        if problem is not None:
            row.failed += 1
            name = f"{case.get('classname')}::{case.get('name')}".removeprefix("::")
            row.failures.append((name, one_line(problem.get("message", ""))))
        elif skip is None:
            row.passed += 1
        elif skip.get("type") == "pytest.xfail":
            row.xfailed += 1
        else:
            row.skipped += 1
            report.reasons[skip.get("message") or "no reason given"] += 1
    return report


def print_table(report: Report, title: str, order: Sequence[str] = ()) -> None:
    """Print outcomes per row, the reasons of skips, and the failures under their causes."""
    names = sorted(
        report.rows, key=lambda name: (order.index(name) if name in order else len(order), name)
    )
    width = max(len(name) for name in [*names, title])
    print(f"\n{title:<{width}}" + "".join(f"  {label:>8}" for label in COLUMNS.values()))
    for name in names:
        row = report.rows[name]
        print(f"{name:<{width}}" + "".join(f"  {getattr(row, c):>8}" for c in COLUMNS))
    total = [sum(getattr(row, c) for row in report.rows.values()) for c in COLUMNS]
    print(f"{'all':<{width}}" + "".join(f"  {count:>8}" for count in total))
    if report.reasons:
        print("\nskipped because:")
        for reason, count in report.reasons.most_common():
            print(f"{count:>6}  {one_line(reason)}")
    by_cause: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        for test, cause in report.rows[name].failures:
            by_cause[cause].append(test)
    if by_cause:
        print("\nfailed because:")
        for cause, tests in sorted(by_cause.items(), key=lambda item: -len(item[1])):
            print(f"{len(tests):>6}  {cause}")
            for test in tests:
                print(f"            {test}")
