"""Run other projects' test suites on the installed arrayx and say what they found.

``official`` runs data-apis/array-api-tests. There is no list of expected failures: what the suite
reports is what is printed, and the exit status is non-zero when anything failed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

STANDARD = "2025.12"
DEFAULT_SUITE = Path("~/.cache/arrayx/array-api-tests")
HOW_TO_GET = (
    "Get it with: git clone --recurse-submodules https://github.com/data-apis/array-api-tests {}"
)
# The suite's own requirements that are modules of their own.
REQUIRED_MODULES = {
    "pytest": "pytest",
    "hypothesis": "hypothesis",
    "ndindex": "ndindex",
    "pytest_jsonreport": "pytest-json-report",
}
# In the standard's order; a file of the suite that is not here is named as it is.
CHAPTERS = {
    "test_array_object": "array object",
    "test_constants": "constants",
    "test_creation_functions": "creation functions",
    "test_data_type_functions": "data type functions",
    "test_dlpack": "DLPack",
    "test_operators_and_elementwise_functions": "operators and elementwise functions",
    "test_special_cases": "special cases",
    "test_indexing_functions": "indexing functions",
    "test_inspection_functions": "inspection",
    "test_manipulation_functions": "manipulation functions",
    "test_searching_functions": "searching functions",
    "test_set_functions": "set functions",
    "test_sorting_functions": "sorting functions",
    "test_statistical_functions": "statistical functions",
    "test_utility_functions": "utility functions",
    "test_has_names": "names",
    "test_signatures": "signatures",
    "test_linalg": "linear algebra, with the extension",
    "test_fft": "fft extension",
}

EXTENSIONS = ("linalg", "fft")
OUTCOMES = ("passed", "failed", "skipped")


@dataclass
class Chapter:
    """The outcomes of one file of a suite."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[str] = field(default_factory=list)


def read_report(path: Path) -> tuple[dict[str, Chapter], Counter[str]]:
    """Count a JUnit report's outcomes by test file, and its skips by reason."""
    chapters: dict[str, Chapter] = {}
    reasons: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):
        parts = case.get("classname", "").split(".")
        # A file that could not be imported is reported under its own name, without a class.
        module = next(
            (p for p in (*parts, case.get("name", "")) if p.startswith("test_")), parts[-1]
        )
        chapter = chapters.setdefault(module, Chapter())
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            chapter.failed += 1
            chapter.failures.append(f"{module}.py::{case.get('name')}")
        elif skip is not None:
            chapter.skipped += 1
            reasons[skip.get("message") or "no reason given"] += 1
        else:
            chapter.passed += 1
    return chapters, reasons


def print_table(chapters: dict[str, Chapter], reasons: Counter[str]) -> None:
    """Print outcomes per chapter, the reasons of skips, and the failures by name."""
    order = list(CHAPTERS)
    modules = sorted(chapters, key=lambda m: (order.index(m) if m in order else len(order), m))
    width = max(len(CHAPTERS.get(m, m)) for m in [*modules, "chapter"])
    print(f"\n{'chapter':<{width}}  {'passed':>7}  {'failed':>7}  {'skipped':>7}")
    for module in modules:
        c = chapters[module]
        print(
            f"{CHAPTERS.get(module, module):<{width}}  {c.passed:>7}  {c.failed:>7}  {c.skipped:>7}"
        )
    total = [sum(getattr(c, kind) for c in chapters.values()) for kind in OUTCOMES]
    print(f"{'all':<{width}}  {total[0]:>7}  {total[1]:>7}  {total[2]:>7}")
    if reasons:
        print("\nskipped because:")
        for reason, count in reasons.most_common():
            print(f"{count:>5}  {reason}")
    failures = [name for m in modules for name in chapters[m].failures]
    if failures:
        print("\nfailed:")
        for name in failures:
            print(f"       {name}")


def official(options: argparse.Namespace) -> int:
    """Run the Array API standard's official suite."""
    suite = options.suite.expanduser()
    if not (suite / "array_api_tests").is_dir():
        print(f"No checkout of array-api-tests at {suite}. {HOW_TO_GET.format(suite)}")
        return 2
    if not any((suite / "array-api").glob("*")):
        print(
            f"The checkout at {suite} lacks its submodule. Get it with: "
            f"git -C {suite} submodule update --init"
        )
        return 2
    missing = [p for m, p in REQUIRED_MODULES.items() if importlib.util.find_spec(m) is None]
    if missing:
        print(f"The suite needs {', '.join(missing)}: pip install '.[conformance]' brings them.")
        return 2
    if importlib.util.find_spec(options.module.partition(".")[0]) is None:
        print(f"{options.module} is not installed for {sys.executable}.")
        return 2

    namespace = importlib.import_module(options.module)
    absent = [name for name in EXTENSIONS if not hasattr(namespace, name)]
    environment = os.environ | {
        "ARRAY_API_TESTS_MODULE": options.module,
        "ARRAY_API_TESTS_VERSION": STANDARD,
    }
    if options.device is not None:
        environment["ARRAYX_DEFAULT_DEVICE"] = options.device
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "array_api_tests",
            "-q",
            "-rN",
            "--tb=short",
            "--disable-warnings",
        ]
        command += [f"--junitxml={report}", f"--max-examples={options.examples}"]
        # A slow machine is no failure, and files lying in the checkout excuse none.
        command += [
            "--disable-deadline",
            f"--skips-file={os.devnull}",
            f"--xfails-file={os.devnull}",
        ]
        # The suite skips the tests of an absent extension, but for those of its names.
        for extension in absent:
            command += [
                "--deselect",
                f"array_api_tests/test_has_names.py::test_has_names[{extension}-",
            ]
        if options.k:
            command += ["-k", options.k]
        if options.n:
            command += ["-n", options.n]
        status = subprocess.run(command, cwd=suite, env=environment, check=False).returncode
        if not report.exists():
            print(f"\nThe suite did not run: pytest ended with exit status {status}.")
            return status or 1
        chapters, reasons = read_report(report)
    if not chapters:
        print("\nNo test was selected.")
        return status or 1
    print_table(chapters, reasons)
    if absent:
        print(f"\n{options.module} lacks {' and '.join(absent)}; their names were not asked for.")
    # A crash or an interruption leaves a status of its own even where the report shows no failure.
    return status or int(any(c.failed for c in chapters.values()))


def main() -> int:
    """Parse the command line and run one suite."""
    parser = argparse.ArgumentParser(prog="conformance/run.py", description=__doc__)
    suites = parser.add_subparsers(dest="what", metavar="SUITE", required=True)

    p = suites.add_parser("official", help="the Array API standard's official suite")
    p.add_argument("--examples", type=int, default=200, help="examples per test (default: 200)")
    p.add_argument("--device", help="default device of the run, such as cpu or cuda:0")
    p.add_argument("-k", metavar="EXPR", help="run only the tests whose names match, as in pytest")
    p.add_argument("-n", metavar="WORKERS", help="processes (a number or auto; needs pytest-xdist)")
    p.add_argument("--module", default="arrayx", help="the namespace to test (default: arrayx)")
    p.add_argument(
        "--suite", type=Path, default=DEFAULT_SUITE, help=f"checkout (default: {DEFAULT_SUITE})"
    )
    p.set_defaults(run=official)

    options = parser.parse_args()
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
