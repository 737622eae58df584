"""The table of a run, its summary, and the same as JSON."""

from __future__ import annotations

import math
import os
import platform
from typing import Any

from .timing import Timing

OURS = "arrayx"
WORST_ROWS = 8


def duration(seconds: float | None) -> str:
    """Return a time with a unit, four characters of number at most."""
    if seconds is None:
        return "–"
    for unit, scale in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3), ("s", 1.0)):
        value = seconds * scale
        if value < 999.5 or unit == "s":
            return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f} {unit}"
    raise AssertionError


def times_faster(ratio: float | None) -> str:
    """Return a ratio, two decimals where they count."""
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:.1f}"


def ratio_to(timing: Timing, peer: str) -> float | None:
    """Return how many times as fast as a peer arrayx is."""
    if OURS not in timing.seconds or peer not in timing.seconds:
        return None
    return timing.seconds[peer] / timing.seconds[OURS]


def ratio_to_best(timing: Timing) -> float | None:
    """Return how many times as fast as the best peer arrayx is."""
    peers = [ratio for name in timing.seconds if name != OURS and (ratio := ratio_to(timing, name))]
    return min(peers, default=None)


def bandwidth_fraction(timing: Timing, bandwidth: float) -> float | None:
    """Return the part of the streaming bandwidth that arrayx reached, for large cases only."""
    case = timing.case
    if case.traffic is None or case.size != "large" or OURS not in timing.seconds:
        return None
    return case.traffic / timing.seconds[OURS] / bandwidth


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def header(libraries: list[str], name_width: int) -> str:
    """Return the table's first line."""
    times = "".join(f"{name:>11}" for name in libraries)
    return f"{'case':<{name_width}}{times}{'NumPy ÷':>10}{'best ÷':>9}{'bandwidth':>11}"


def row(timing: Timing, libraries: list[str], name_width: int, bandwidth: float) -> str:
    """Return one line of the table, and the reasons where a library could not be timed."""
    times = "".join(f"{duration(timing.seconds.get(name)):>11}" for name in libraries)
    fraction = bandwidth_fraction(timing, bandwidth)
    line = (
        f"{timing.case.name:<{name_width}}{times}"
        f"{times_faster(ratio_to(timing, 'NumPy')):>10}{times_faster(ratio_to_best(timing)):>9}"
        f"{'' if fraction is None else f'{fraction:.0%}':>11}"
    )
    for name, reason in timing.wrong.items():
        line += f"\n    {name}: {reason}"
    return line


def summary(timings: list[Timing]) -> str:
    """Return geometric means, all together and by family, and the rows that are worst."""
    rated = [(ratio, t) for t in timings if (ratio := ratio_to_best(t)) is not None]
    if not rated:
        return "Nothing to compare."
    lines = ["times as fast as the best peer, geometric mean:"]
    for family in dict.fromkeys(t.case.family for _, t in rated):
        ratios = [ratio for ratio, t in rated if t.case.family == family]
        lines.append(
            f"  {family:<14}{times_faster(geometric_mean(ratios)):>7}  ({len(ratios)} rows)"
        )
    everything = [ratio for ratio, _ in rated]
    lines.append(f"  {'all':<14}{times_faster(geometric_mean(everything)):>7}  ({len(rated)} rows)")
    slower = sum(ratio < 1 for ratio in everything)
    lines.append(f"slower than the best peer: {slower} of {len(rated)} rows; the worst:")
    for ratio, timing in sorted(rated, key=lambda pair: pair[0])[:WORST_ROWS]:
        lines.append(f"  {times_faster(ratio):>7}  {timing.case.name}")
    return "\n".join(lines)


def processor() -> str:
    """Return the processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def conditions(versions: dict[str, str], threads: int, bandwidth: float) -> dict[str, Any]:
    """Return what a reader must know to compare two runs."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "python": platform.python_version(),
        "versions": versions,
        "bandwidth_bytes_per_second": bandwidth,
    }


def as_json(timings: list[Timing], facts: dict[str, Any]) -> dict[str, Any]:
    """Return the run as plain data."""
    bandwidth = facts["bandwidth_bytes_per_second"]
    return {
        "conditions": facts,
        "rows": [
            {
                "case": t.case.name,
                "family": t.case.family,
                "size": t.case.size,
                "seconds": t.seconds,
                "wrong": t.wrong,
                "best_peer_ratio": ratio_to_best(t),
                "bandwidth_fraction": bandwidth_fraction(t, bandwidth),
            }
            for t in timings
        ],
    }
