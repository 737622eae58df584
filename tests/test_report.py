"""`python -m arrayx` prints what a bug report needs, and the version is everywhere pyproject.toml's."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import arrayx
from arrayx import _core

LEVELS = ["baseline", "avx2", "avx512"]


def report(*options, **environment):
    known = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    result = subprocess.run(
        [sys.executable, *options, "-m", "arrayx"],
        env=known | environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    rows = [re.fullmatch(r"([^:]+): +(\S.*)", line) for line in result.stdout.splitlines()]
    assert all(rows), result.stdout
    return {row[1]: row[2] for row in rows}


@pytest.fixture(scope="module")
def rows():
    return report()


def test_versions(rows):
    with open(Path(__file__).parent.parent / "pyproject.toml", "rb") as file:
        wanted = tomllib.load(file)["project"]["version"]
    assert arrayx.__version__ == wanted
    assert rows["arrayx"] == f"{wanted}, Array API {arrayx.__array_api_version__}"
    assert rows["Python"] == f"{platform.python_version()} (CPython)"
    assert rows["NumPy"] == version("numpy")
    assert rows["platform"].endswith(platform.machine())
    assert re.search(r"\d+\.\d+.*, pybind11 \d+\.\d+", rows["compiler"])
    assert Path(rows["package"]).samefile(Path(arrayx.__file__).resolve().parent)


@pytest.mark.parametrize("level", LEVELS)
def test_instruction_sets(level):
    on_cpu, built = _core.report()["isa_on_cpu"], _core.report()["isa_built"]
    assert on_cpu[0] == built[0] == "baseline"
    if level not in on_cpu or level not in built:
        pytest.skip(f"{level} is not there")
    text = report(ARRAYX_ISA=level)
    assert text["instruction sets"] == (
        f"on this CPU: {', '.join(on_cpu)}; built: {', '.join(built)}; used: {level}"
    )
    assert f"ARRAYX_ISA={level}" in text["environment"]


def test_the_best_instruction_set_of_both_is_used():
    found = _core.report()
    both = [level for level in found["isa_built"] if level in found["isa_on_cpu"]]
    if "ARRAYX_ISA" not in os.environ:
        assert found["isa"] == both[-1] == _core.isa()
    cpuinfo = Path("/proc/cpuinfo")
    if platform.machine() == "x86_64" and cpuinfo.exists():
        flags = re.search(r"^flags\s*:(.*)$", cpuinfo.read_text(), re.MULTILINE)[1].split()
        assert ("avx2" in found["isa_on_cpu"]) == ({"avx2", "fma", "bmi2"} <= set(flags))
        wanted = {"avx512f", "avx512dq", "avx512bw", "avx512vl", "fma"}
        assert ("avx512" in found["isa_on_cpu"]) == (wanted <= set(flags))


def test_threads(rows):
    assert int(rows["threads"].split(",")[0]) >= 1
    assert f"of {os.cpu_count()} processors" in rows["threads"]
    if _core.report()["openmp"] is None:
        pytest.skip("built without OpenMP")
    limited = report(OMP_NUM_THREADS="1")
    assert limited["threads"].startswith("1, of ")
    assert limited["threads"].endswith("OMP_NUM_THREADS=1")
    assert "OMP_NUM_THREADS=1" in limited["environment"].split(", ")
    assert re.fullmatch(r"20\d{4}, .*omp.*", limited["OpenMP"])


def test_openblas(rows):
    assert re.match(r"OpenBLAS \d+\.\d+", rows["OpenBLAS"])
    core, threads, model = re.fullmatch(
        r"(\w+), (\d+) threads \((\w+)\)", rows["OpenBLAS core"]
    ).groups()
    assert (
        core in rows["OpenBLAS"] and int(threads) >= 1 and model in ("pthreads", "OpenMP", "none")
    )
    assert Path(rows["OpenBLAS file"]).exists()
    threadpoolctl = pytest.importorskip("threadpoolctl")
    opened = _core.openblas_report()  # opens it
    found = [
        library
        for library in threadpoolctl.threadpool_info()
        if library["internal_api"] == "openblas"
        and Path(library["filepath"]).samefile(opened["library"])
    ]
    assert [library["architecture"] for library in found] == [opened["core"]]
    assert [library["num_threads"] for library in found] == [opened["threads"]]


def test_a_missing_openblas_is_reported(tmp_path):
    folder = tmp_path / "arrayx"
    folder.mkdir()
    core = Path(_core.__file__).absolute()
    for file in {*Path(arrayx.__file__).absolute().parent.iterdir(), core}:
        if "openblas" not in file.name and not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)
    text = report(PYTHONPATH=str(tmp_path))
    assert text["OpenBLAS"].startswith("not usable: OpenBLAS could not be opened")
    assert "memory" in text


def test_memory(rows):
    unit = r"[\d.]+ (bytes|KiB|MiB|GiB)"
    assert re.fullmatch(
        rf"{unit} in use, {unit} cached, of at most {unit} kept for reuse", rows["memory"]
    )


def test_cuda(rows):
    found = _core.cuda_report()
    if found["error"] is None:
        assert found["devices"] and Path(found["library"]).exists()
        assert rows["CUDA"].startswith(f"cuda:0: {found['devices'][0]}")
        assert rows["CUDA"].endswith(f"by {found['library']}")
    else:
        assert rows["CUDA"] == found["error"]
    missing = report(ARRAYX_CUDA_LIBRARY="/nowhere/libarrayx_cuda.so")
    assert "no CUDA library (/nowhere/libarrayx_cuda.so does not exist)" in missing["CUDA"]


def test_numpy_is_not_imported_for_it():
    program = (
        "import json, runpy, sys; runpy.run_module('arrayx', run_name='__main__');"
        "print(json.dumps('numpy' in sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert json.loads(result.stdout.splitlines()[-1]) is False
