"""The benchmark compares equal results, and its report says what was measured; no time is judged."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import shlex
import sys
import threading
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arrayx
from arrayx import _elementwise_functions

# Behind everything else: the root holds arrayx's sources, which may not hide the installed package.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from benchmarks import __main__ as command
from benchmarks import bandwidth, libraries, page, report, timing
from benchmarks.cases import Case, Operand, Scale, counted, number
from benchmarks.families import FAMILIES, all_cases, elementwise

SMALL = Scale(cached=64, medium=256, large=1024, huge=1024)


def few_libraries() -> list[libraries.Library]:
    """Return arrayx and NumPy."""
    return [libraries.arrayx_library("cpu"), libraries.numpy_library()]


def rows_of(ratios: dict[str, float]) -> list[report.Row]:
    """Return rows with given ratios to the only peer, which always takes a second."""
    row = report.Row(
        *("", "calls", "operators", "x + y", "", "float64", (4,), 4), {}, {}, {}, {}, None, None
    )
    return [
        replace(row, case=case, ratio=ratio, seconds={"arrayx": 1 / ratio, "NumPy": 1.0})
        for case, ratio in ratios.items()
    ]


@pytest.fixture
def small_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the command line's cases and its bandwidth kernels small, and PyTorch missing."""
    monkeypatch.setitem(bandwidth.ELEMENTS, "cpu", 4096)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(Scale, "__init__", lambda self, **_: self.__dict__.update(vars(SMALL)))


@pytest.mark.parametrize("family", FAMILIES)
def test_arrayx_and_numpy_give_equal_results_in_every_case(family: str) -> None:
    store = timing.Store()
    for case in FAMILIES[family](SMALL):
        outcome = timing.Timing(case)
        timers = timing.checked_timers(case, few_libraries(), store, outcome)
        assert (outcome.wrong, outcome.lacking) == ({}, {}), case.name
        assert set(timers) == {"arrayx", "NumPy"}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_two_cases_of_a_family_have_the_same_name(family: str) -> None:
    names = [case.name for case in FAMILIES[family](Scale())]
    assert len(names) == len(set(names))


def test_every_elementwise_function_is_timed() -> None:
    assert set(_elementwise_functions.__all__) <= set(elementwise.OPERATIONS)


def test_every_permutation_of_every_width_is_timed() -> None:
    timed = {(case.operation, case.dtype) for case in FAMILIES["copies"](Scale())}
    for rank in (2, 3, 4):
        for axes in itertools.permutations(range(rank)):
            if axes != tuple(range(rank)):
                for dtype in ("int8", "int16", "float32", "float64", "complex128"):
                    assert (f"permuted {axes}", dtype) in timed


def test_operands_of_equal_descriptions_are_equal() -> None:
    for values in ("uniform", "spread", "few", "ascending"):
        operand = Operand((3, 5), "float32", values)
        assert np.array_equal(operand.make(), replace(operand).make())
        assert operand.make().dtype == np.float32


def test_a_wrong_result_is_told_and_not_timed() -> None:
    ours, peer = few_libraries()
    wrong = replace(ours, xp=SimpleNamespace(add=lambda x, y: arrayx.add(x, y) + 1e-3))
    case = Case("elementwise", "add", "xp.add(x, y)", {n: Operand((9,), "float64") for n in "xy"})
    outcome = timing.time_case(case, [wrong, peer], timing.Settings(3, 1e-5), timing.Store(), 1.0)
    assert "differs by 0.001" in outcome.wrong["arrayx"]
    assert set(outcome.seconds) == {"NumPy"}


def test_operands_that_a_library_has_changed_are_made_anew() -> None:
    def negative(x: np.ndarray) -> np.ndarray:
        result = np.negative(x)
        x[...] = 0
        return result

    changing = SimpleNamespace(negative=negative, abs=np.abs)
    other = replace(libraries.numpy_library(), name="other", xp=changing)
    store = timing.Store()
    for function in ("negative", "abs", "negative"):
        x = {"x": Operand((9,), "float64")}
        case = Case("elementwise", function, f"xp.{function}(x)", x)
        outcome = timing.Timing(case)
        timers = timing.checked_timers(case, [*few_libraries(), other], store, outcome)
        assert (outcome.wrong, outcome.lacking) == ({}, {})
        assert set(timers) == {"arrayx", "NumPy", "other"}


def test_a_reference_stands_for_an_inaccurate_answer_of_numpy() -> None:
    ours, peer = few_libraries()
    reference = "xp.cumulative_sum(x, axis=0, dtype=xp.float64)"
    x = {"x": Operand((100_000,), "float32")}
    statement = "xp.cumulative_sum(x, axis=0)"
    case = Case("scans", "sum", statement, x, rounding=2, reference=reference)
    timers = timing.checked_timers(
        case, [ours, peer], timing.Store(), outcome := timing.Timing(case)
    )
    assert set(timers) == {"arrayx"} and set(outcome.wrong) == {"NumPy"}
    case = replace(case, reference=None)
    timers = timing.checked_timers(
        case, [ours, peer], timing.Store(), outcome := timing.Timing(case)
    )
    assert set(timers) == {"NumPy"} and set(outcome.wrong) == {"arrayx"}


def test_a_function_that_a_library_lacks_leaves_the_others() -> None:
    ours, peer = few_libraries()
    lacking = replace(peer, xp=SimpleNamespace())
    case = Case("elementwise", "exp", "xp.exp(x)", {"x": Operand((9,), "float64")})
    outcome = timing.time_case(case, [ours, lacking], timing.Settings(1, 1e-5), timing.Store(), 1.0)
    assert outcome.lacking["NumPy"].startswith("AttributeError")
    assert set(outcome.seconds) == {"arrayx"}


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.1]),
        ([1.0, np.nan], [1.0, 2.0]),
        ([1.0, 2.0], [1.0, np.inf]),
        ([1, 2], [1, 3]),
        ([1.0], [1.0, 1.0]),
    ],
)
def test_results_that_differ_are_told(actual: list[float], expected: list[float]) -> None:
    with pytest.raises(timing.Wrong):
        timing.check(np.asarray(actual), np.asarray(expected), 16)


def test_results_may_differ_in_their_last_bits_and_agree_on_nan() -> None:
    timing.check(np.asarray([1 + 2e-16, np.nan, np.inf]), np.asarray([1, np.nan, np.inf]), 16)


def test_changing_an_operand_does_not_reach_another_library() -> None:
    case = Case("indexing", "x += 1", "x += 1", {"x": Operand((5,), "int64")}, changes="x")
    settings = timing.Settings(3, 1e-5)
    outcome = timing.time_case(case, few_libraries(), settings, timing.Store(), 1.0)
    assert not outcome.wrong and set(outcome.seconds) == {"arrayx", "NumPy"}


def test_a_sample_waits_for_the_threads_of_the_last_one() -> None:
    began, seconds = threading.Event(), []
    data = bytes(50_000_000)

    def compute() -> None:  # without Python's lock
        start = time.perf_counter()
        began.set()
        hashlib.sha256(data)
        seconds.append(time.perf_counter() - start)

    thread = threading.Thread(target=compute)
    thread.start()
    began.wait()
    start = time.perf_counter()
    timing.wait_for_quiet(longest=60)
    waited = time.perf_counter() - start
    thread.join()
    assert waited > 0.5 * seconds[0]


def test_what_is_compiled_makes_its_views_itself() -> None:
    ours, peer = few_libraries()
    calls: list[int] = []

    def compiled(function: Any) -> Any:
        def call(*operands: Any) -> Any:
            calls.append(len(operands))
            return function(*operands)

        return call

    store, compared = timing.Store(), [ours, replace(peer, compiled=compiled)]
    for case in FAMILIES["strided"](SMALL):
        if not case.views:
            continue
        outcome = timing.Timing(case)
        timing.checked_timers(case, compared, store, outcome)
        assert (outcome.wrong, outcome.lacking) == ({}, {}), case.name
        assert calls.pop() == len(case.operands) and not calls


@pytest.mark.parametrize("n", [0, 1, 16, 1000, 1024, 16384, 3 << 20])
def test_sizes_are_read_as_they_are_written(n: int) -> None:
    assert number(counted(n)) == n


def test_sizes_are_selected_by_ranges() -> None:
    chosen = [n for n in (1, 16, 17, 1 << 20) if command.within("1..16,1Mi", n)]
    assert chosen == [1, 16, 1 << 20]


def test_the_commands_of_the_documentation_select_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parent.parent / "docs" / "performance.md"
    prefix = "python -m benchmarks "
    commands = [
        line[line.index(prefix) + len(prefix) :]
        for line in page.read_text(encoding="utf-8").splitlines()
        if prefix in line and "`" not in line and not line.startswith("|")
    ]
    assert len(commands) > 100
    monkeypatch.setattr("benchmarks.families.all_cases", functools.cache(all_cases))
    for text in commands:
        options = command.parser().parse_args(shlex.split(text, comments=True))
        assert command.selected(options), text


def test_the_summary_counts_what_is_behind() -> None:
    rows = rows_of({"fast": 8.0, "equal": 0.96, "slow": 0.5, "slower": 0.25})
    numbers = report.summary(rows)
    assert numbers["behind"] == ["slower", "slow"]
    assert numbers["worst"]["case"] == "slower"
    assert numbers["geometric_mean"] == pytest.approx((8.0 * 0.96 * 0.5 * 0.25) ** 0.25)
    text = report.in_words(rows)
    assert "2 of 4 rows" in text and "worst row: 0.25  slower" in text


def test_an_earlier_run_is_compared_case_by_case() -> None:
    earlier = rows_of({"same": 1.0, "slower": 1.0, "other": 1.0})
    text = report.against(rows_of({"same": 1.0, "slower": 0.25}), earlier)
    assert "calls            0.50  (2 rows)" in text
    assert text.splitlines()[-2:] == ["     0.25  calls: slower", "     1.00  calls: same"]


def test_the_bandwidth_counts_only_beyond_the_caches() -> None:
    rates = {"read": 1e9, "write": 2e9, "copy": 4e9}
    stream = bandwidth.Bandwidth(rates, dict.fromkeys(rates, ""), cache=1000)
    case = Case("x", "x", "x", {"x": Operand((1,), "int8")})
    assert stream.ideal_seconds(replace(case, reads=1000)) is None
    assert stream.ideal_seconds(replace(case, reads=4000)) == 4000 / 1e9
    assert stream.ideal_seconds(replace(case, writes=4000)) == 4000 / 2e9
    assert stream.ideal_seconds(replace(case, reads=4000, writes=4000)) == 8000 / 4e9


class Elements(HTMLParser):
    """Checks that every element is closed, and keeps their names and attributes."""

    VOID = ("meta", "br", "hr", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.usefixtures("small_run")
def test_a_run_prints_a_table_and_writes_json_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, charts = tmp_path / "run.json", tmp_path / "run.html"
    arguments = ["cpu", "calls", "elementwise", "-k", "x + y", "--rounds", "3", "--quick"]
    assert command.main([*arguments, "--json", str(numbers), "--html", str(charts)]) == 0
    printed = capsys.readouterr()
    assert "x + y, float64[16]" in printed.out and "worst row" in printed.out
    assert "/1]" in printed.err

    (run,) = json.loads(numbers.read_text())["runs"]
    assert set(run["conditions"]["versions"]) == {"arrayx", "NumPy"}
    (row,) = run["rows"]
    assert row["ratio"] == row["seconds"]["NumPy"] / row["seconds"]["arrayx"] > 0
    assert run["summary"] == report.summary(report.Run.from_json(run).rows)

    text = charts.read_text(encoding="utf-8")
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    tags = [tag for tag, _ in elements.seen]
    assert "script" not in tags and "link" not in tags and "svg" in tags
    assert not any({"src", "href"} & set(attributes) for _, attributes in elements.seen)


@pytest.mark.usefixtures("small_run")
def test_an_interrupted_run_reports_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = timing.time_case

    def interrupted(case: Case, *rest: object) -> timing.Timing:
        if case.statement != "x + y":
            raise KeyboardInterrupt
        return whole(case, *rest)

    monkeypatch.setattr(timing, "time_case", interrupted)
    assert command.main(["cpu", "calls", "-k", ", float64", "--rounds", "3", "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "of 1 rows" in printed and "when the run was interrupted" in printed


def test_the_page_has_a_dot_for_each_row_and_lines_for_sizes() -> None:
    rows = [
        replace(row, elements=4**i, shape=(4**i,), bandwidth=0.5)
        for i, row in enumerate(rows_of({"a": 2.0, "b": 0.5, "c": 1.5, "d": 3.0}))
    ]
    run = report.Run(
        {
            "processor": "<any>",
            "cores": 1,
            "threads": 1,
            "date": "",
            "python": "",
            "versions": {"arrayx": "1", "NumPy": "2"},
            "bandwidth": {},
            "left_out": [],
        },
        rows,
    )
    both = replace(run, conditions={**run.conditions, "threads": 4})
    text = page.page([run, both])
    # Ratios and bandwidths of two runs, and the threads' gain.
    assert text.count('<circle class="good"') == 2 * 3 + 4
    assert text.count('<circle class="bad"') == 2 * (1 + 4)
    assert text.count("<polyline") == 2 * 2
    assert "&lt;any&gt;" in text and "<any>" not in text


@pytest.mark.usefixtures("small_run")
def test_cases_are_listed_by_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["cpu", "fft", "--list", "--quick"]) == 0
    *lines, count = capsys.readouterr().out.splitlines()
    assert lines and all(line.startswith("fft ") for line in lines)
    assert count == f"{len(lines)} cases"


def test_an_unknown_family_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(SystemExit, match="sorting"):
        command.main(["cpu", "nonsense"])
