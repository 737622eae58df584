"""``python -m arrayx`` prints what a bug report needs: versions, and what the engine found here."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import arrayx

from . import _core, memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Variables that change what the engine does.
variables: tuple[str, ...] = (
    "ARRAYX_CUDA_LIBRARY",
    "ARRAYX_DEFAULT_DEVICE",
    "ARRAYX_ISA",
    "OMP_NUM_THREADS",
    "OMP_THREAD_LIMIT",
    "OMP_DYNAMIC",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "CUDA_VISIBLE_DEVICES",
)


def report() -> str:
    """Return the text, a line `name: value` for each thing."""
    core = _core.report()
    rows = {
        "arrayx": f"{arrayx.__version__}, Array API {arrayx.__array_api_version__}",
        "package": str(Path(__file__).resolve().parent),
        "compiler": f"{core['compiler']}, pybind11 {core['pybind11']}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "NumPy": numpy_version(),
        "platform": f"{platform.platform()}, {platform.machine()}",
        "processor": processor(),
        "instruction sets": (
            f"on this CPU: {', '.join(core['isa_on_cpu'])}; built: {', '.join(core['isa_built'])}; "
            f"used: {core['isa']}"
        ),
        "threads": threads(core),
        "OpenMP": openmp(core),
        **openblas(),
        "memory": cache(),
        "CUDA": cuda(),
        "environment": ", ".join(
            [f"{name}={os.environ[name]}" for name in variables if name in os.environ]
        )
        or "none of the variables that matter is set",
    }
    width = max([len(name) for name in rows]) + 2
    return "\n".join([f"{name + ':':{width}}{value}" for name, value in rows.items()])


def numpy_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("numpy")
    except PackageNotFoundError:
        return "not installed"


def processor() -> str:
    """Return the CPU's name, which platform.processor() does not know on Linux."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def threads(core: dict[str, Any]) -> str:
    """Return how many threads loops use, and what limits them."""
    limits = [f"{os.cpu_count()} processors"]
    if hasattr(os, "sched_getaffinity"):
        limits.append(f"{len(os.sched_getaffinity(0))} in the process's affinity mask")
    if "OMP_NUM_THREADS" in os.environ:
        limits.append(f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']}")
    return f"{core['threads']}, of {', '.join(limits)}"


def openmp(core: dict[str, Any]) -> str:
    if core["openmp"] is None:
        return "not built"
    return f"{core['openmp']}, {core['openmp_library']}"


def openblas() -> dict[str, str]:
    """Return the rows about OpenBLAS, which is opened for them."""
    try:
        blas = _core.openblas_report()
    except RuntimeError as error:
        return {"OpenBLAS": f"not usable: {error}"}
    return {
        "OpenBLAS": " ".join(blas["config"].split()),
        "OpenBLAS core": f"{blas['core']}, {blas['threads']} threads ({blas['threading']})",
        "OpenBLAS file": blas["library"],
    }


def cache() -> str:
    info = memory.info("cpu")
    return (
        f"{size(info.in_use)} in use, {size(info.cached)} cached, of at most {size(info.limit)} "
        "kept for reuse"
    )


def size(count: float) -> str:
    """Return a number of bytes in the largest unit of which there is at least one."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.4g} {unit}"


def cuda() -> str:
    """Return the GPUs that can be used, or why there are none."""
    cuda = _core.cuda_report()
    if cuda["error"] is not None:
        return str(cuda["error"])
    names = [f"cuda:{index}: {name}" for index, name in enumerate(cuda["devices"])]
    return f"{'; '.join(names)}; by {cuda['library']}"


if __name__ == "__main__":
    print(report())
