"""``python -m benchmarks cpu|cuda [FAMILY …]``: the command line, and the loop over the cases."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cases import Case
    from .report import Run

# The longest that the timing of one case takes, however much time is left.
CASE_SECONDS = 3.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Times arrayx beside NumPy and PyTorch, or on a GPU beside PyTorch, CuPy and JAX.",
    )
    result.add_argument("device", nargs="?", default="cpu", choices=["cpu", "cuda"])
    result.add_argument("families", nargs="*", metavar="FAMILY", help="all unless some are named")
    result.add_argument("-k", metavar="TEXT", help="only cases whose names contain it")
    result.add_argument(
        "--sizes",
        metavar="SIZE|FROM..TO,…",
        help="only cases of so many elements, as 16Ki or 1..4Ki,16Mi",
    )
    result.add_argument(
        "--threads", metavar="N,…", help="threads of every library; a table for each number"
    )
    result.add_argument("--rounds", type=int, metavar="N", help="at most N samples of each case")
    which = result.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="few cases and few rounds")
    which.add_argument("--full", action="store_true", help="all cases, whatever time they take")
    result.add_argument(
        "--minutes",
        type=float,
        default=12.0,
        metavar="M",
        help="rounds are reduced so that a table takes about this long (12; not with --full)",
    )
    result.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there")
    result.add_argument("--html", type=Path, metavar="FILE", help="write a page with charts there")
    result.add_argument(
        "--against", type=Path, metavar="FILE", help="compare with an earlier run's --json"
    )
    result.add_argument(
        "--cache", metavar="BYTES", help="limit of arrayx's memory cache, as 0 or 256Mi"
    )
    result.add_argument("--list", action="store_true", help="name the cases and stop")
    # What a process for one number of threads hands back to the one that asked for several.
    result.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    return result


def within(sizes: str | None, elements: int) -> bool:
    """Return whether a number of elements is among the sizes asked for."""
    from .cases import number

    if sizes is None:
        return True
    for part in sizes.split(","):
        low, dots, high = part.partition("..")
        if number(low) <= elements <= number(high if dots else low):
            return True
    return False


def selected(options: argparse.Namespace) -> list[Case]:
    """Return the cases that the command line asks for."""
    from .cases import FULL, MEBI, QUICK, USUAL, Scale
    from .families import FAMILIES, all_cases

    for family in options.families:
        if family not in FAMILIES:
            sys.exit(f"No family {family!r}; there are {', '.join(FAMILIES)}.")
    # A GPU is filled, and its larger memory used.
    scale = Scale() if options.device == "cpu" else Scale(large=64 * MEBI)
    tier = QUICK if options.quick else FULL if options.full else USUAL
    return [
        case
        for case in all_cases(scale)
        if case.family in (options.families or FAMILIES)
        and case.tier <= tier
        and within(options.sizes, case.elements)
        and (options.k is None or options.k in case.name)
    ]


class Progress:
    """Tells on stderr which case is being timed and how long the rest will take."""

    def __init__(self, cases: int) -> None:
        self.cases = cases
        self.start = self.told = time.monotonic()
        self.live = sys.stderr.isatty()

    def elapsed(self) -> float:
        """Return the seconds since the start."""
        return time.monotonic() - self.start

    def show(self, done: int, case: Case) -> None:
        """Say that a case begins: in place on a terminal, every half minute elsewhere."""
        now = time.monotonic()
        if not self.live and done and now - self.told < 30:
            return
        self.told = now
        left = f", about {clock(self.elapsed() / done * (self.cases - done))} left" if done else ""
        text = f"[{done}/{self.cases}] {clock(self.elapsed())}{left}: {case.family}, {case.name}"
        print(f"\r\x1b[K{text[:110]}" if self.live else text, end="", file=sys.stderr)
        print("", end="" if self.live else "\n", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for a line of the table."""
        if self.live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def clock(seconds: float) -> str:
    """Return minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def measure(options: argparse.Namespace, cases: list[Case]) -> Run:
    """Time the cases with this process's threads, printing the table."""
    from . import bandwidth, report, timing
    from .cases import number
    from .libraries import libraries_for

    libraries = libraries_for(options.device)
    if options.cache is not None:
        libraries[0].xp.memory.set_limit(number(options.cache))
    names = [library.name for library in libraries if library.timed]
    # Work on another device is issued by one thread.
    threads = timing.available_threads() if options.device == "cpu" else 1
    print("measuring the memory's bandwidth", file=sys.stderr)
    stream = bandwidth.measure(libraries, threads, options.device)
    facts = report.conditions(libraries, options.device, threads, stream)
    counted = f", {threads} {'thread' if threads == 1 else 'threads'}"
    print(f"{facts['processor']}{counted if options.device == 'cpu' else ''}; ", end="")
    print(", ".join(f"{library.name} {library.version}" for library in libraries if library.timed))
    print(f"bandwidth is a part of the best streaming kernel's: {stream}\n")

    settings = timing.Settings(
        rounds=options.rounds or (5 if options.quick else 15),
        sample_seconds=1.5e-3 if options.quick else 4e-3,
        threads=threads,
    )
    budget = float("inf") if options.full else options.minutes * 60
    store = timing.Store()
    width = min(70, max(len(case.name) for case in cases)) + 1
    rows: list[report.Row] = []
    progress = Progress(len(cases))
    family = ""
    for i, case in enumerate(cases):
        progress.show(i, case)
        if timing.memory_needed(case, len(libraries)) > 0.7 * timing.available_memory():
            facts["left_out"].append(f"{case.family}: {case.name} (memory)")
            continue
        allowance = min(CASE_SECONDS, (budget - progress.elapsed()) / (len(cases) - i))
        try:
            timed = timing.time_case(case, libraries, settings, store, allowance)
        except KeyboardInterrupt:
            # What is there is reported all the same.
            facts["left_out"].append(f"{len(cases) - i} cases, when the run was interrupted")
            break
        row = report.row_of(timed, stream)
        rows.append(row)
        progress.clear()
        if case.family != family:
            family = case.family
            print(f"\n{family}\n{report.header(names, width)}")
        print(report.line(row, names, width), flush=True)
    facts["seconds"] = round(progress.elapsed())
    facts["load_at_the_end"] = report.load()
    print(f"\n{report.in_words(rows)}")
    for left_out in facts["left_out"]:
        print(f"left out: {left_out}")
    return report.Run(facts, rows)


def measure_each(counts: list[int], arguments: list[str]) -> list[Run]:
    """Return runs with several numbers of threads, each in a process that starts with them."""
    from .report import Run

    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for count in counts:
            part = Path(folder) / f"{count}.json"
            command = [sys.executable, "-m", "benchmarks", *arguments]
            # Of an option that is given twice, the last counts.
            command += ["--threads", str(count), "--part", str(part)]
            subprocess.run(command, check=False)
            if not part.exists():
                sys.exit(f"The run with {count} threads failed.")
            runs.append(Run.from_json(json.loads(part.read_text())))
            print()
    return runs


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen cases, print the tables, and write what was asked for."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_intermixed_args(arguments)
    counts = [int(text) for text in options.threads.split(",")] if options.threads else []
    if len(counts) == 1:
        # Read by the libraries when they are loaded.
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(counts[0])))
    cases = selected(options)
    if not cases:
        print("No case was selected.")
        return 2
    if options.list:
        for case in cases:
            print(f"{case.family:<14}{case.name}")
        print(f"{len(cases)} cases")
        return 0
    if len(counts) > 1:
        # What is written and compared is all of it, here.
        runs = measure_each(counts, arguments)
    else:
        runs = [measure(options, cases)]

    from . import page, report

    if options.against is not None and options.part is None:
        earlier = report.read(options.against)
        for run in runs:
            threads = run.conditions["threads"]
            for other in earlier:
                if other.conditions["threads"] == threads:
                    print(f"\n{threads} threads: {report.against(run.rows, other.rows)}")
    if options.part is not None:
        options.part.write_text(json.dumps(runs[0].as_json()))
    elif options.json is not None:
        options.json.write_text(json.dumps(report.as_json(runs), indent=1) + "\n")
    if options.html is not None and options.part is None:
        options.html.write_text(page.page(runs), encoding="utf-8")
    return 1 if any(row.failed for run in runs for row in run.rows) else 0


def prefer_the_installed_package() -> None:
    """Move the working directory behind the installed packages.

    -m puts it first, and arrayx's sources there would hide the installed package.
    """
    root = str(Path(__file__).resolve().parent.parent)
    for place in [p for p in sys.path if p == root or (p == "" and os.getcwd() == root)]:
        sys.path.remove(place)
        sys.path.append(place)


if __name__ == "__main__":
    prefer_the_installed_package()
    sys.exit(main())
