"""The examples run to their ends and find their results right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_work_larger_than_memory(tmp_path: Path) -> None:
    for module in ("cubed", "rich", "zarr"):
        pytest.importorskip(module)
    command = [sys.executable, str(EXAMPLES / "larger_than_memory.py")]
    # Five chunks, so that the reductions combine results of several rounds.
    command += ["--gigabytes", "0.05", "--memory", "300MB", "--processes", "1"]
    environment = os.environ | {"TMPDIR": str(tmp_path), "COLUMNS": "100"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    for result in ("mean", "deviation", "correlation"):
        assert any(line.split()[:2] == [result, "arrayx.Array"] for line in run.stdout.splitlines())
    found = re.search(r"Neighbouring columns correlate by (0\.\d+)", run.stdout)
    assert found and float(found[1]) == pytest.approx(0.4, abs=0.002)
    assert list(tmp_path.iterdir()) == []
