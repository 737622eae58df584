"""``python -m benchmarks [cpu] [--family …] [--sizes …] [-k …] [--threads N] [--json FILE]``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    from .cases import FAMILIES, SIZES

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Times arrayx beside NumPy and PyTorch."
    )
    parser.add_argument("device", nargs="?", default="cpu", choices=["cpu"])
    parser.add_argument("--family", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("-k", metavar="WORDS", help="only cases whose names contain these words")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of every library")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the run there, too")
    return parser.parse_args()


def main() -> int:
    """Run the chosen cases and print the table."""
    options = arguments()
    from . import report, timing
    from .cases import all_cases
    from .libraries import arrayx_library, numpy_library, torch_library

    found = [arrayx_library(options.device), numpy_library(), torch_library()]
    libraries = [library for library in found if library is not None]
    names = [library.name for library in libraries]
    cases = [
        case
        for case in all_cases()
        if case.family in options.family
        and case.size in options.sizes
        and (options.k is None or options.k in case.name)
    ]
    if not cases:
        print("No case was selected.")
        return 2

    threads = timing.available_threads()
    bandwidth = timing.streaming_bandwidth(threads)
    versions = {library.name: library.xp.__version__ for library in libraries}
    facts = report.conditions(versions, threads, bandwidth)
    print(f"{facts['processor']}, {threads} threads, streaming {bandwidth / 1e9:.1f} GB/s")
    print(", ".join(f"{name} {version}" for name, version in versions.items()), end="\n\n")

    width = max(len(case.name) for case in cases) + 1
    print(report.header(names, width))
    timings = []
    for case in cases:
        timings.append(timing.time_case(case, libraries))
        print(report.row(timings[-1], names, width, bandwidth), flush=True)
    print()
    print(report.summary(timings))
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_json(timings, facts), indent=1) + "\n")
    return 1 if any(report.OURS in t.wrong for t in timings) else 0


def prepare_environment() -> None:
    """Set what must be set before any of the libraries is imported."""
    # -m puts the working directory first: arrayx's sources would hide the installed package.
    root = str(Path(__file__).resolve().parent.parent)
    for place in [p for p in sys.path if p == root or (p == "" and os.getcwd() == root)]:
        sys.path.remove(place)
        sys.path.append(place)
    for i, word in enumerate(sys.argv):
        name, _, value = word.partition("=")
        if name == "--threads" and (value or sys.argv[i + 1 :]):
            for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
                os.environ[variable] = value or sys.argv[i + 1]


if __name__ == "__main__":
    prepare_environment()
    sys.exit(main())
