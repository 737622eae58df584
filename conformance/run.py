"""Run other projects' test suites on the installed arrayx and say what they found.

``official`` runs data-apis/array-api-tests; the others run the tests that a project's wheel ships,
given the namespace by a pytest plugin from plugins/, without changing an installed file. There is no
list of expected failures: what a suite reports is what is printed, and the exit status is non-zero
when anything failed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import reports

RowOf = Callable[[Sequence[str]], str]
PLUGINS = Path(__file__).resolve().parent / "plugins"
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


@dataclass(frozen=True)
class Consumer:
    """A project that runs on any array namespace, and how its own tests are run on one."""

    package: str
    help: str
    plugin: str | None = None
    # Where its tests of array namespaces are, below its package; all of it if nothing is named.
    paths: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    # The part of a test module's dotted name that makes a row.
    row: int = -1
    requires: tuple[str, ...] = ()
    # Programs that some of its tests start, and what brings them.
    programs: dict[str, str] = field(default_factory=dict)


CONSUMERS = {
    "scipy": Consumer(
        package="scipy",
        help="SciPy's tests that use its `xp` fixture",
        plugin="scipy_backend",
        paths=(
            "_lib",
            "cluster",
            "constants",
            "differentiate",
            "fft",
            "integrate",
            "interpolate",
            "linalg",
            "ndimage",
            "optimize",
            "signal",
            "spatial",
            "special",
            "stats",
        ),
        select=("-m", "conformance"),
        environment={"SCIPY_ARRAY_API": "1"},
        row=1,
        requires=("pooch",),
    ),
    "sklearn": Consumer(
        package="sklearn",
        help="scikit-learn's array API tests",
        plugin="sklearn_backend",
        environment={"SCIPY_ARRAY_API": "1"},
        row=1,
    ),
    "extra": Consumer(
        package="array_api_extra",
        help="array-api-extra's tests",
        plugin="extra_backend",
        paths=("tests/main",),
        # Its pyproject.toml, which the wheel lacks, makes errors of warnings.
        select=("-m", "conformance", "-W", "error::DeprecationWarning"),
    ),
    "cubed": Consumer(
        package="cubed",
        help="cubed's tests, with the namespace doing the work on its chunks",
        paths=("tests",),
        # Its conftest.py, which the wheel lacks, leaves these to options of its own.
        select=("-m", "not slow and not cloud"),
        environment={"CUBED_BACKEND_ARRAY_API_MODULE": "{module}"},
        requires=("anywidget", "matplotlib", "numpy_groupies"),
        programs={"dot": "graphviz"},
    ),
    "xarray": Consumer(
        package="xarray",
        help="xarray's tests of array API namespaces",
        plugin="xarray_backend",
        paths=(
            "tests/test_array_api.py",
            "tests/test_dtypes.py::test_maybe_promote",
            "tests/test_namedarray.py::TestNamedArray::test_duck_array_class_array_api",
        ),
    ),
}


def module_of(parts: Sequence[str]) -> str:
    """Return the test module's name, without the package before it or the class after it."""
    return next((p for p in parts if p.startswith("test_")), parts[-1])


def run_pytest(
    command: Sequence[str], folder: Path, environment: dict[str, str], row_of: RowOf
) -> tuple[int, reports.Report]:
    """Run pytest in a folder, its progress on the terminal; return its status and counts."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "report.xml"
        full = [sys.executable, "-m", "pytest", *command, "-q", "-rN", f"--junitxml={path}"]
        status = subprocess.run(full, cwd=folder, env=environment, check=False).returncode
        if not path.exists():
            print(f"\nThe suite did not run: pytest ended with exit status {status}.")
            return status or 1, reports.Report()
        return status, reports.read(path, row_of)


def verdict(status: int, report: reports.Report) -> int:
    """Return the exit status of a run whose report was printed."""
    if not report.rows:
        print("\nNo test was selected.")
    # A crash or an interruption leaves a status of its own even where the report shows no failure.
    return status or int(report.failed)


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
    # A slow machine is no failure, and files lying in the checkout excuse none.
    command = [
        "array_api_tests",
        "--tb=short",
        "--disable-warnings",
        "--disable-deadline",
        f"--max-examples={options.examples}",
        f"--skips-file={os.devnull}",
        f"--xfails-file={os.devnull}",
    ]
    # The suite skips the tests of an absent extension, but for those of its names.
    for extension in absent:
        command += [
            "--deselect",
            f"array_api_tests/test_has_names.py::test_has_names[{extension}-",
        ]
    command += selection(options)
    status, report = run_pytest(
        command, suite, environment, lambda parts: CHAPTERS.get(module_of(parts), module_of(parts))
    )
    if report.rows:
        reports.print_table(report, "chapter", list(CHAPTERS.values()))
    if absent:
        print(f"\n{options.module} lacks {' and '.join(absent)}; their names were not asked for.")
    return verdict(status, report)


def selection(options: argparse.Namespace) -> list[str]:
    """Return pytest's arguments for the options -k and -n."""
    return [*(("-k", options.k) if options.k else ()), *(("-n", options.n) if options.n else ())]


def consumer(options: argparse.Namespace) -> int:
    """Run the tests that a project's wheel ships, with the namespace in the place of NumPy."""
    project = CONSUMERS[options.what]
    missing = [
        name
        for name in ("pytest", project.package, options.module, *project.requires)
        if importlib.util.find_spec(name.partition(".")[0]) is None
    ]
    if missing:
        print(f"{', '.join(missing)} must be installed for {sys.executable}.")
        return 2
    spec = importlib.util.find_spec(project.package)
    assert spec is not None and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    paths = [f"{package.name}/{p}" for p in options.paths or project.paths or ("",)]
    for path in paths:
        if not (package.parent / path.partition("::")[0]).exists():
            print(f"{project.package} has no {path.partition('/')[2]} in {package}.")
            return 2

    for program, where in project.programs.items():
        if shutil.which(program) is None:
            print(f"{program} of {where} is not installed: the tests that start it will fail.")

    environment = os.environ | {
        name: value.format(module=options.module) for name, value in project.environment.items()
    }
    environment["CONFORMANCE_MODULE"] = options.module
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(PLUGINS), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    # Node names start at the package, whatever lies in the working directory.
    command = [*paths, f"--rootdir={package.parent}", "-c", os.devnull, "-p", "no:cacheprovider"]
    # Tracebacks in pytest's own style parse the source, which CPython 3.11 refuses after an exception
    # has passed through the event loop of cubed's executors; the whole run would end there.
    command += ["--tb=native", "--disable-warnings", *project.select, *selection(options)]
    if project.plugin is not None:
        command += ["-p", project.plugin]
    status, report = run_pytest(
        command,
        package.parent,
        environment,
        lambda parts: ".".join(parts[: project.row + 1]) if project.row > 0 else module_of(parts),
    )
    if report.rows:
        reports.print_table(report, project.package)
    return verdict(status, report)


def operations(options: argparse.Namespace) -> int:
    """Run operations of xarray on arrays of the namespace and on NumPy's, and print what results."""
    missing = [
        name
        for name in ("bottleneck", "scipy", "xarray", options.module)
        if importlib.util.find_spec(name.partition(".")[0]) is None
    ]
    if missing:
        print(f"{', '.join(missing)} must be installed for {sys.executable}.")
        return 2
    import xarray_operations

    return int(xarray_operations.report(options.module) > 0)


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

    for name, project in CONSUMERS.items():
        p = suites.add_parser(name, help=project.help)
        p.add_argument(
            "paths",
            nargs="*",
            metavar="PATH",
            help=f"only these folders or files of {project.package}, such as "
            + ("stats or stats/tests/test_morestats.py" if name == "scipy" else "tests"),
        )
        p.add_argument("-k", metavar="EXPR", help="run only the tests whose names match")
        p.add_argument("-n", metavar="WORKERS", help="processes (needs pytest-xdist)")
        p.add_argument("--module", default="arrayx", help="the namespace (default: arrayx)")
        p.set_defaults(run=consumer)

    p = suites.add_parser(
        "xarray-operations", help="which operations of xarray keep arrays of the namespace"
    )
    p.add_argument("--module", default="arrayx", help="the namespace (default: arrayx)")
    p.set_defaults(run=operations)

    options = parser.parse_args()
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
