"""The rows of a run, the table and the summary in words, and the same as JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .bandwidth import Bandwidth
from .libraries import Library, installed
from .timing import Timing

OURS = "arrayx"
# A row is behind where arrayx takes more than this many times the best peer's time.
BEHIND = 1.05
# Memory-bound rows are held against this part of the bandwidth.
BANDWIDTH_GOAL = 0.85
FORMAT = 2
MOST_CHANGED = 5


@dataclass(frozen=True)
class Row:
    """One line of the table: a case, what each library took, and how arrayx stands."""

    case: str
    family: str
    group: str
    operation: str
    detail: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    seconds: dict[str, float]
    spread: dict[str, float]
    wrong: dict[str, str]
    lacking: dict[str, str]
    # How many times as fast as the best peer arrayx is, and the part of the bandwidth it reached.
    ratio: float | None
    bandwidth: float | None

    @property
    def ratio_to_numpy(self) -> float | None:
        """How many times as fast as NumPy arrayx is."""
        if OURS in self.seconds and "NumPy" in self.seconds:
            return self.seconds["NumPy"] / self.seconds[OURS]
        return None

    @property
    def behind(self) -> bool:
        """Whether arrayx is slower than the best peer by more than noise explains."""
        return self.ratio is not None and self.ratio < 1 / BEHIND

    @property
    def failed(self) -> bool:
        """Whether arrayx gave a wrong result or none."""
        return OURS in self.wrong or OURS in self.lacking


@dataclass(frozen=True)
class Run:
    """One table: all rows with one number of threads, and the conditions they were measured in."""

    conditions: dict[str, Any]
    rows: list[Row]

    def as_json(self) -> dict[str, Any]:
        """Return the run as plain data, with its summary."""
        return {
            "conditions": self.conditions,
            "summary": summary(self.rows),
            "rows": [asdict(row) for row in self.rows],
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> Run:
        """Return the run that `as_json` wrote."""
        rows = [Row(**{**row, "shape": tuple(row["shape"])}) for row in data["rows"]]
        return Run(data["conditions"], rows)


def row_of(timing: Timing, bandwidth: Bandwidth) -> Row:
    """Return a case's line."""
    case, seconds = timing.case, timing.seconds
    peers = [value for name, value in seconds.items() if name != OURS]
    ours = seconds.get(OURS)
    ideal = bandwidth.ideal_seconds(case)
    return Row(
        case=case.name,
        family=case.family,
        group=case.group,
        operation=case.operation,
        detail=case.name.removeprefix(case.operation + ", "),
        dtype=case.dtype,
        shape=case.first.shape,
        elements=case.elements,
        seconds=seconds,
        spread=timing.spread,
        wrong=timing.wrong,
        lacking=timing.lacking,
        ratio=min(peers) / ours if peers and ours else None,
        bandwidth=ideal / ours if ideal and ours else None,
    )


def duration(seconds: float | None) -> str:
    """Return a time with a unit, four characters of number at most."""
    if seconds is None:
        return "–"
    for unit, scale in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        value = seconds * scale
        if value < 999.5:
            return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {unit}"
    return f"{seconds:.2f} s"


def times_faster(ratio: float | None) -> str:
    """Return a ratio, with the decimals that count."""
    if ratio is None:
        return "–"
    return f"{ratio:.{3 if ratio < 0.0995 else 2 if ratio < 9.95 else 1}f}"


def percent(part: float | None) -> str:
    """Return a part of the bandwidth, or nothing."""
    return "" if part is None else f"{part:.0%}"


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def header(libraries: list[str], name_width: int) -> str:
    """Return the table's first line."""
    times = "".join(f"{name:>11}" for name in libraries)
    return f"{'case':<{name_width}}{times}{'best ÷':>9}{'bandwidth':>11}"


def line(row: Row, libraries: list[str], name_width: int) -> str:
    """Return one line of the table, and the reasons where a result was wrong or ours was missing."""
    times = "".join(f"{duration(row.seconds.get(name)):>11}" for name in libraries)
    text = (
        f"{row.case:<{name_width}}{times}{times_faster(row.ratio):>9}{percent(row.bandwidth):>11}"
    )
    for name, why in (
        row.wrong | ({OURS: row.lacking[OURS]} if OURS in row.lacking else {})
    ).items():
        text += f"\n    {name}: {why}"
    return text


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rated rows by family."""
    rated = [row for row in rows if row.ratio is not None]
    return {
        family: [row for row in rated if row.family == family]
        for family in dict.fromkeys(row.family for row in rated)
    }


def mean_ratio(rows: list[Row]) -> float | None:
    """Return the geometric mean of the ratios to the best peer."""
    ratios = [row.ratio for row in rows if row.ratio is not None]
    return geometric_mean(ratios) if ratios else None


def rows_behind(rows: list[Row]) -> list[Row]:
    """Return the rows in which arrayx is behind, the worst first."""
    return sorted((row for row in rows if row.behind), key=lambda row: row.ratio or 0)


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the numbers that judge a run."""
    rated = [row for row in rows if row.ratio is not None]
    worst = min(rated, key=lambda row: row.ratio or 0, default=None)
    calls = [row for row in rows if row.group and row.ratio_to_numpy]
    bound = sorted(row.bandwidth for row in rows if row.bandwidth is not None)
    return {
        "rows": len(rated),
        "geometric_mean": mean_ratio(rows),
        "families": {name: mean_ratio(members) for name, members in groups(rows).items()},
        "calls_times_as_fast_as_numpy": {
            group: geometric_mean(r.ratio_to_numpy or 1 for r in calls if r.group == group)
            for group in dict.fromkeys(row.group for row in calls)
        },
        "memory_bound_rows": len(bound),
        "memory_bound_rows_at_goal": sum(part >= BANDWIDTH_GOAL for part in bound),
        "bandwidth_median": bound[len(bound) // 2] if bound else None,
        "behind": [row.case for row in rows_behind(rows)],
        "worst": {"case": worst.case, "family": worst.family, "ratio": worst.ratio}
        if worst
        else None,
        "failed": [row.case for row in rows if row.failed],
    }


def in_words(rows: list[Row]) -> str:
    """Return the summary as the text that ends a table."""
    numbers = summary(rows)
    if not numbers["rows"]:
        return "Nothing to compare."
    lines = ["times as fast as the best peer, geometric mean:"]
    for family, members in groups(rows).items():
        behind = sum(row.behind for row in members)
        lines.append(
            f"  {family:<14}{times_faster(mean_ratio(members)):>7}  ({len(members)} rows"
            f"{f', {behind} behind' if behind else ''})"
        )
    lines.append(
        f"  {'all':<14}{times_faster(numbers['geometric_mean']):>7}  ({numbers['rows']} rows)"
    )
    if calls := numbers["calls_times_as_fast_as_numpy"]:
        lines.append(
            "calls, times as fast as NumPy: "
            + ", ".join(f"{group} {times_faster(ratio)}" for group, ratio in calls.items())
        )
    if numbers["memory_bound_rows"]:
        lines.append(
            f"memory-bound rows at {BANDWIDTH_GOAL:.0%} of the bandwidth or more: "
            f"{numbers['memory_bound_rows_at_goal']} of {numbers['memory_bound_rows']}, "
            f"median {numbers['bandwidth_median']:.0%}"
        )
    behind_rows = rows_behind(rows)
    lines.append(
        f"behind (arrayx takes more than {BEHIND} times the best peer's time): "
        f"{len(behind_rows)} of {numbers['rows']} rows"
    )
    for family, members in groups(behind_rows).items():
        lines.append(f"  {family}")
        lines += [f"  {times_faster(row.ratio):>7}  {row.case}" for row in members]
    worst = numbers["worst"]
    lines.append(f"worst row: {times_faster(worst['ratio'])}  {worst['case']} ({worst['family']})")
    if numbers["failed"]:
        lines.append("WRONG OR MISSING: " + "; ".join(numbers["failed"]))
    return "\n".join(lines)


def against(rows: list[Row], earlier: list[Row]) -> str:
    """Return how arrayx's times compare with those of an earlier run, case by case."""
    before = {(row.family, row.case): row.seconds[OURS] for row in earlier if OURS in row.seconds}
    gains = [
        (before[key] / row.seconds[OURS], row)
        for row in rows
        if OURS in row.seconds and (key := (row.family, row.case)) in before
    ]
    if not gains:
        return "The earlier run has none of these cases."
    lines = ["arrayx, times as fast as in the earlier run, geometric mean:"]
    for family in dict.fromkeys(row.family for _, row in gains):
        ratios = [gain for gain, row in gains if row.family == family]
        mean = times_faster(geometric_mean(ratios))
        lines.append(f"  {family:<14}{mean:>7}  ({len(ratios)} rows)")
    gains.sort(key=lambda pair: pair[0])
    lines += ["the most slowed down, and the most sped up:"]
    lines += [
        f"  {times_faster(gain):>7}  {row.family}: {row.case}"
        for gain, row in gains[:MOST_CHANGED]
        + gains[max(MOST_CHANGED, len(gains) - MOST_CHANGED) :]
    ]
    return "\n".join(lines)


def processor(device: str) -> str:
    """Return the processor's name, where the system tells it."""
    if device != "cpu":
        torch = installed("torch")
        return device if torch is None else str(torch.cuda.get_device_name(0))
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for text in file:
                if text.startswith("model name"):
                    return text.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def load() -> float | None:
    """Return how many processes were running in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def conditions(
    libraries: list[Library], device: str, threads: int, bandwidth: Bandwidth
) -> dict[str, Any]:
    """Return what a reader must know to compare two runs."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "device": device,
        "processor": processor(device),
        "cores": os.cpu_count(),
        "threads": threads,
        "load": load(),
        "python": platform.python_version(),
        "instruction_set": os.environ.get("ARRAYX_ISA", "the best"),
        "versions": {library.name: library.version for library in libraries},
        "last_cache_bytes": bandwidth.cache,
        "bandwidth": {
            kind: {"bytes_per_second": rate, "kernel": bandwidth.names[kind]}
            for kind, rate in bandwidth.best.items()
        },
        "left_out": [],
    }


def read(path: Path) -> list[Run]:
    """Return the runs of a file that --json wrote."""
    data = json.loads(path.read_text())
    if data.get("format") != FORMAT:
        raise ValueError(f"{path} was not written by this version's --json")
    return [Run.from_json(run) for run in data["runs"]]


def as_json(runs: list[Run]) -> dict[str, Any]:
    """Return all runs as plain data."""
    return {"format": FORMAT, "runs": [run.as_json() for run in runs]}
