"""A run as one HTML page: tiles, charts drawn as inline SVG, and every row in tables.

The page needs nothing from elsewhere, has no script, and follows the reader's light or dark theme.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape

from .cases import counted
from .report import (
    BANDWIDTH_GOAL,
    BEHIND,
    OURS,
    Row,
    Run,
    duration,
    geometric_mean,
    groups,
    percent,
    rows_behind,
    summary,
    times_faster,
)

STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --card: #ffffff; --ink: #1c1e21; --soft: #62676f;
  --line: #dfe1e5; --grid: #eceef1; --c0: #0068ad; --c1: #cc5a00; --c2: #00825e; --c3: #7a5195;
  --bad: #c3272b; }
@media (prefers-color-scheme: dark) { :root { --page: #15171a; --card: #1d2024; --ink: #e7e9ec;
  --soft: #9aa1ab; --line: #353a41; --grid: #292d33; --c0: #5ab0f2; --c1: #f0a24a; --c2: #45c79b;
  --c3: #c39be0; --bad: #ff7c74; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 66rem; background: var(--page);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.3rem; margin: 2.75rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .25rem; } p { margin: .25rem 0 .75rem; max-width: 46rem; }
.soft { color: var(--soft); } code { font-size: .92em; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(11.5rem, 1fr)); gap: .75rem;
  margin: 1rem 0; }
.tile, figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.tile { padding: .7rem .9rem; } .tile b { display: block; font-size: 1.6rem; line-height: 1.25; }
.tile span { color: var(--soft); font-size: .85rem; }
figure { margin: .5rem 0 1rem; padding: .6rem; overflow-x: auto; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(18.5rem, 1fr)); gap: .6rem; }
.panels figure { margin: 0; } figcaption { font-weight: 600; font-size: .85rem; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
svg.wide { min-width: 44rem; } svg text { fill: var(--soft); } svg text.name { fill: var(--ink); }
.grid { stroke: var(--grid); } .mark { stroke: var(--soft); stroke-dasharray: 3 3; }
.mean { stroke: var(--ink); stroke-width: 2; }
.good { fill: var(--c0); fill-opacity: .6; } .bad { fill: var(--bad); }
.good:hover, .bad:hover { stroke: var(--ink); stroke-width: 1.5; }
.curve { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.key { display: inline-block; margin-right: 1.1rem; }
.key i { display: inline-block; width: 1.1rem; height: 3px; margin-right: .35rem;
  vertical-align: middle; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid var(--grid);
  font-variant-numeric: tabular-nums; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left;
  white-space: normal; } td.bad { color: var(--bad); font-weight: 600; }
details { margin: .3rem 0; } summary { cursor: pointer; padding: .2rem 0; }
.scroll { overflow-x: auto; }
"""

WIDTH, LEFT, RIGHT, TOP = 960, 108, 62, 22
DOT = 3.2
LEVELS = 9
PANEL = (300, 170)
# Series of fewer sizes are no line.
FEWEST_SIZES = 4


@dataclass(frozen=True)
class Dot:
    """One row in a strip: where, what the reader is told, and whether it falls short."""

    value: float
    label: str
    bad: bool


@dataclass(frozen=True)
class LogScale:
    """A logarithmic axis from one value to another, drawn between two coordinates."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        span = math.log(self.high / self.low)
        place = math.log(min(max(value, self.low), self.high) / self.low)
        return self.start + (self.end - self.start) * place / span


def ratio_ticks(low: float, high: float) -> list[float]:
    """Return the powers of two from one value to another, or of four where they are many."""
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    step = 1 if last - first <= 10 else 2
    return [2.0**k for k in range(first, last + 1) if k % step == 0]


def spread_out(places: list[float]) -> list[int]:
    """Return for each place, ascending, a level above or below the line on which no dots touch."""
    last_at: dict[int, float] = {}
    levels = [0]
    for k in range(1, LEVELS + 1):
        levels += [k, -k]
    chosen = []
    for place in places:
        free = [level for level in levels if place - last_at.get(level, -1e9) >= 2 * DOT]
        level = free[0] if free else min(levels, key=lambda other: last_at[other])
        last_at[level] = place
        chosen.append(level)
    return chosen


def strips(
    lanes: dict[str, list[Dot]],
    marks: list[tuple[float, str]],
    low: float,
    high: float,
    ticks: Iterable[float],
    tell: Callable[[float], str],
) -> str:
    """Return a chart with a lane of dots for each name, on one logarithmic axis."""
    scale = LogScale(low, high, LEFT, WIDTH - RIGHT)
    body, y = [], float(TOP)
    for name, dots in lanes.items():
        dots = sorted(dots, key=lambda dot: dot.value)
        levels = spread_out([scale(dot.value) for dot in dots])
        half = 11 + 1.75 * DOT * max(map(abs, levels), default=0)
        middle = y + half
        body.append(
            f'<text class="name" x="{LEFT - 10}" y="{middle + 4:.1f}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
        for dot, level in zip(dots, levels, strict=True):
            kind, radius = ("bad", DOT + 0.4) if dot.bad else ("good", DOT)
            body.append(
                f'<circle class="{kind}" cx="{scale(dot.value):.1f}" '
                f'cy="{middle + 1.75 * DOT * level:.1f}" r="{radius}">'
                f"<title>{escape(dot.label)}</title></circle>"
            )
        mean = geometric_mean(dot.value for dot in dots)
        body.append(
            f'<line class="mean" x1="{scale(mean):.1f}" x2="{scale(mean):.1f}" '
            f'y1="{y + 3:.1f}" y2="{y + 2 * half - 3:.1f}"/>'
            f'<text class="name" x="{WIDTH - RIGHT + 10}" y="{middle + 4:.1f}">{tell(mean)}</text>'
        )
        y += 2 * half
        body.append(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
    lines = []
    for tick in ticks:
        if low <= tick <= high:
            x = scale(tick)
            lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y:.1f}"/>')
            lines.append(
                f'<text x="{x:.1f}" y="{y + 15:.1f}" text-anchor="middle">{tell(tick)}</text>'
            )
    for value, label in marks:
        x = scale(value)
        lines.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{y:.1f}"/>')
        lines.append(f'<text x="{x:.1f}" y="{TOP - 8}" text-anchor="middle">{escape(label)}</text>')
    lines.append(f'<text x="{WIDTH - RIGHT + 10}" y="{TOP - 8}">mean</text>')
    return (
        f'<figure><svg class="wide" viewBox="0 0 {WIDTH} {y + 22:.0f}" role="img">'
        f"{''.join(lines)}{''.join(body)}</svg></figure>"
    )


def ratio_chart(rows: list[Row]) -> str:
    """Return the strips of how many times as fast arrayx is, by family."""
    lanes = {
        family: [
            Dot(
                row.ratio or 1,
                f"{row.case}: {times_faster(row.ratio)}×, "
                + ", ".join(f"{name} {duration(value)}" for name, value in row.seconds.items()),
                row.behind,
            )
            for row in members
        ]
        for family, members in groups(rows).items()
    }
    values = [dot.value for dots in lanes.values() for dot in dots]
    ticks = ratio_ticks(min(0.5, *values), max(4, *values))
    return strips(
        lanes,
        [(1.0, "as fast as the best peer")],
        ticks[0] / 1.1,
        ticks[-1] * 1.1,
        ticks,
        lambda value: f"{value:.3g}×",
    )


def bandwidth_chart(rows: list[Row]) -> str:
    """Return the strips of the part of the bandwidth that memory-bound rows reach, or nothing."""
    lanes: dict[str, list[Dot]] = defaultdict(list)
    for row in rows:
        if row.bandwidth is not None:
            label = f"{row.case}: {percent(row.bandwidth)}, {duration(row.seconds[OURS])}"
            lanes[row.family].append(Dot(row.bandwidth, label, row.bandwidth < BANDWIDTH_GOAL))
    if not lanes:
        return ""
    low = min(0.2, *(dot.value for dots in lanes.values() for dot in dots))
    chart = strips(
        dict(lanes),
        [(BANDWIDTH_GOAL, f"{BANDWIDTH_GOAL:.0%}")],
        low / 1.1,
        1.5,
        (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0),
        percent,
    )
    return (
        "<h3>Memory bandwidth</h3><p class=soft>The part of the best streaming kernel's bandwidth "
        "that rows beyond the caches reach, counting what must be read and written at least. "
        f"Red: below {BANDWIDTH_GOAL:.0%}.</p>{chart}"
    )


def si(value: float) -> str:
    """Return a number with a decimal unit."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g}{unit}"
    return f"{value:.3g}"


def panel(title: str, lines: dict[str, list[tuple[float, float]]], colors: dict[str, str]) -> str:
    """Return a small chart of elements per second against size."""
    width, height = PANEL
    sizes = [x for points in lines.values() for x, _ in points]
    rates = [y for points in lines.values() for _, y in points]
    across = LogScale(min(sizes), max(sizes), 40, width - 10)
    first, last = math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))
    up = LogScale(10.0**first, 10.0 ** max(last, first + 1), height - 24, 8)
    parts = []
    for exponent in range(first, max(last, first + 1) + 1):
        y = up(10.0**exponent)
        parts.append(f'<line class="grid" x1="40" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="35" y="{y + 4:.1f}" text-anchor="end">{si(10.0**exponent)}</text>')
    ends = sorted(set(sizes))
    for size in (ends[0], ends[len(ends) // 2], ends[-1]):
        parts.append(
            f'<text x="{across(size):.1f}" y="{height - 8}" text-anchor="'
            f'{"end" if size == ends[-1] else "middle"}">{counted(int(size))}</text>'
        )
    for name, points in lines.items():
        color = colors[name]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
        parts.append(f'<polyline class="curve" style="stroke:{color}" points="{path}"/>')
        for x, y in points:
            parts.append(
                f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.4" style="fill:{color}">'
                f"<title>{escape(name)}, {counted(int(x))}: {si(y)} elements/s, "
                f"{duration(x / y)}</title></circle>"
            )
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {width} {height}" role="img">{"".join(parts)}</svg></figure>'
    )


def legend(colors: dict[str, str]) -> str:
    """Return the names of the libraries beside their colours."""
    return "".join(
        f'<span class="key"><i style="background:{color}"></i>{escape(name)}</span>'
        for name, color in colors.items()
    )


def throughput(rows: list[Row], colors: dict[str, str]) -> str:
    """Return panels for the operations that were timed at several sizes, or nothing."""
    series: dict[tuple[str, str, str], dict[int, Row]] = defaultdict(dict)
    for row in rows:
        if row.elements and len(set(row.shape)) <= 1 and OURS in row.seconds:
            key = (row.family, f"{row.operation}, {row.dtype}", str(len(row.shape)))
            series[key][row.elements] = row
    panels: dict[str, list[str]] = defaultdict(list)
    for (family, title, _), by_size in series.items():
        if len(by_size) < FEWEST_SIZES:
            continue
        lines: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for size, row in sorted(by_size.items()):
            for name, seconds in row.seconds.items():
                lines[name].append((size, size / seconds))
        panels[family].append(panel(title, lines, colors))
    if not panels:
        return ""
    text = "<h3>Throughput against size</h3><p class=soft>Elements per second; both axes are "
    text += f"logarithmic.</p><p>{legend(colors)}</p>"
    for family, figures in panels.items():
        text += f'<h3 class=soft>{family}</h3><div class="panels">{"".join(figures)}</div>'
    return text


def table(rows: list[Row], libraries: list[str]) -> str:
    """Return rows as a table."""
    head = "".join(f"<th>{escape(name)}</th>" for name in libraries)
    lines = []
    for row in rows:
        notes = "; ".join(f"{name}: {why}" for name, why in (row.wrong | row.lacking).items())
        times = "".join(f"<td>{duration(row.seconds.get(name))}</td>" for name in libraries)
        lines.append(
            f'<tr title="{escape(notes)}"><td>{escape(row.case)}</td>{times}'
            f"<td{' class=bad' if row.behind else ''}>{times_faster(row.ratio)}</td>"
            f"<td>{percent(row.bandwidth)}</td></tr>"
        )
    return (
        f'<div class="scroll"><table><tr><th>case</th>{head}<th>best ÷ {OURS}</th>'
        f"<th>bandwidth</th></tr>{''.join(lines)}</table></div>"
    )


def tile(value: str, text: str) -> str:
    """Return one number with what it says."""
    return f'<div class="tile"><b>{escape(value)}</b><span>{escape(text)}</span></div>'


def tiles(rows: list[Row]) -> str:
    """Return the numbers that judge a run."""
    numbers = summary(rows)
    parts = [
        tile(
            f"{times_faster(numbers['geometric_mean'])}×", "the best peer's speed, geometric mean"
        ),
        tile(
            f"{len(numbers['behind'])} of {numbers['rows']}",
            f"rows behind: more than {BEHIND} times the best peer's time",
        ),
    ]
    if worst := numbers["worst"]:
        parts.append(tile(f"{times_faster(worst['ratio'])}×", f"the worst row: {worst['case']}"))
    if numbers["memory_bound_rows"]:
        parts.append(
            tile(
                percent(numbers["bandwidth_median"]),
                "of the bandwidth in the median memory-bound row; "
                f"{numbers['memory_bound_rows_at_goal']} of {numbers['memory_bound_rows']} "
                f"at {BANDWIDTH_GOAL:.0%}",
            )
        )
    for group, ratio in numbers["calls_times_as_fast_as_numpy"].items():
        parts.append(tile(f"{times_faster(ratio)}×", f"NumPy's speed in calls: {group}"))
    return f'<div class="tiles">{"".join(parts)}</div>'


def section(run: Run) -> str:
    """Return everything about one number of threads."""
    facts, rows = run.conditions, run.rows
    threads = facts["threads"]
    libraries = list(facts["versions"])
    colors = {name: f"var(--c{i % 4})" for i, name in enumerate(libraries)}
    streams = "; ".join(
        f"{kind} {stream['bytes_per_second'] / 1e9:.1f} GB/s ({stream['kernel']})"
        for kind, stream in facts["bandwidth"].items()
    )
    text = f"<h2>{threads} {'thread' if threads == 1 else 'threads'}</h2>"
    load = facts.get("load")
    text += f'<p class="soft">{escape(facts["date"])}; streaming kernels: {escape(streams)}'
    text += f"; load average at the start {load:.1f}" if load is not None else ""
    text += "</p>"
    if not groups(rows):
        return text + table(rows, libraries)
    text += tiles(rows)
    text += "<h3>Times as fast as the best peer</h3><p class=soft>A dot is a row; red where "
    text += "arrayx is behind; the bar is the family's geometric mean.</p>"
    text += ratio_chart(rows) + bandwidth_chart(rows)
    if behind := rows_behind(rows):
        text += f"<h3>Rows behind</h3><details open><summary>{len(behind)} rows</summary>"
        text += f"{table(behind, libraries)}</details>"
    text += throughput(rows, colors)
    text += "<h3>All rows</h3>"
    for family in dict.fromkeys(row.family for row in rows):
        members = [row for row in rows if row.family == family]
        text += f"<details><summary>{family} ({len(members)})</summary>"
        text += f"{table(members, libraries)}</details>"
    for left_out in facts["left_out"]:
        text += f'<p class="soft">Left out: {escape(left_out)}</p>'
    return text


def scaling(runs: list[Run]) -> str:
    """Return the strips of how many times as fast all threads are as the fewest, or nothing."""
    ordered = sorted(runs, key=lambda run: run.conditions["threads"])
    few, many = ordered[0], ordered[-1]
    if few is many:
        return ""
    before = {(row.family, row.case): row.seconds.get(OURS) for row in few.rows}
    lanes: dict[str, list[Dot]] = defaultdict(list)
    for row in many.rows:
        alone, together = before.get((row.family, row.case)), row.seconds.get(OURS)
        if alone and together:
            ratio = alone / together
            label = f"{row.case}: {ratio:.2f}×, {duration(alone)} and {duration(together)}"
            lanes[row.family].append(Dot(ratio, label, ratio < 1 / BEHIND))
    if not lanes:
        return ""
    counts = [run.conditions["threads"] for run in (few, many)]
    chart = strips(
        dict(lanes),
        [(1.0, "no faster"), (counts[1] / counts[0], "proportional")],
        0.4,
        1.4 * counts[1] / counts[0],
        (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0),
        lambda value: f"{value:.3g}×",
    )
    return (
        f"<h2>What threads buy</h2><p class=soft>arrayx with {counts[1]} threads, times as fast as "
        f"with {counts[0]}. Red: slower.</p>{chart}"
    )


def page(runs: list[Run]) -> str:
    """Return the page of some runs, one section for each number of threads."""
    facts = runs[0].conditions
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        '<meta name=viewport content="width=device-width, initial-scale=1">'
        f"<title>{OURS} benchmarks</title><style>{STYLE}</style></head><body>"
        f"<h1>{OURS} beside its peers</h1>"
        f'<p class="soft">{escape(facts["processor"])}, {facts["cores"]} cores; '
        f"{escape(versions)}; Python {escape(facts['python'])}. Medians of libraries that take "
        "turns in one process, each result checked first.</p>"
        f"{''.join(map(section, runs))}{scaling(runs)}</body></html>\n"
    )
