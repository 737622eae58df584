"""Statistics of data several times larger than the memory that each process may use.

    pip install . cubed rich
    python examples/larger_than_memory.py [--gigabytes 1.2] [--memory 300MB] [--processes 2]

cubed cuts an array into chunks on disk, arrayx computes on the chunks. First measurements are
written; then come the mean and the standard deviation of each column, and the matrix of correlations
between columns, a matrix product. Each task stays within a bound on its memory, which cubed checks
before it starts and the table at the end compares with what was used. The results are checked
against a direct computation, which reads the data once more, slab by slab.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from typing import Any

# cubed reads it once, when it is first imported; its worker processes inherit it.
os.environ["CUBED_BACKEND_ARRAY_API_MODULE"] = "arrayx"

import cubed
import cubed.array_api as cxp
import cubed.random
import numpy as np
import zarr
from cubed.diagnostics.rich import RichProgressBar
from cubed.runtime.create import create_executor
from cubed.runtime.types import Callback, TaskEndEvent
from cubed.utils import convert_to_bytes

import arrayx as xp

COLUMNS = 256
CHUNK_BYTES = 10 * 10**6
TOLERANCE = 1e-10

# Blocks that are freed and kept for the next array count as used. A worker process imports this
# file, and so keeps none.
xp.memory.set_limit(0)


def measurements(noise: xp.Array) -> xp.Array:
    """Make neighbouring columns of a chunk correlate."""
    return noise + 0.5 * xp.roll(noise, 1, axis=1)


class Memory(Callback):
    """Remembers the most memory that a task of each step has used."""

    def __init__(self) -> None:
        self.peaks: defaultdict[str, int] = defaultdict(int)
        self.tasks: defaultdict[str, int] = defaultdict(int)
        self.step = ""

    def on_task_end(self, event: TaskEndEvent) -> None:
        self.tasks[self.step] += event.num_tasks
        self.peaks[self.step] = max(self.peaks[self.step], event.peak_measured_mem_end or 0)


def direct(path: str) -> tuple[Any, Any, Any]:
    """Compute the same with NumPy, from sums over slabs of rows: mean, deviation, correlation."""
    data = zarr.open_array(path, mode="r")
    rows, step = data.shape[0], data.chunks[0]
    total, products = np.zeros(COLUMNS), np.zeros((COLUMNS, COLUMNS))
    for i in range(0, rows, step):
        slab = data[i : i + step]
        total += np.sum(slab, axis=0)
        products += slab.T @ slab
    mean = total / rows
    covariance = products / rows - np.outer(mean, mean)
    deviation = np.sqrt(np.diagonal(covariance))
    return mean, deviation, covariance / np.outer(deviation, deviation)


def main() -> int:
    """Run the steps, print the table, and say whether the results are right."""
    parser = argparse.ArgumentParser(description="arrayx under cubed, on data larger than memory")
    parser.add_argument("--gigabytes", type=float, default=1.2, help="size of the data")
    parser.add_argument("--memory", default="300MB", help="what one task may use in all")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()

    chunk_rows = CHUNK_BYTES // (8 * COLUMNS)
    chunks = max(1, round(options.gigabytes * 1e9 / CHUNK_BYTES))
    rows = chunks * chunk_rows
    allowed = convert_to_bytes(options.memory)
    size = rows * COLUMNS * 8
    print(
        f"{rows} × {COLUMNS} float64: {size / 1e6:.0f} MB, {size / allowed:.1f} times "
        f"the {allowed / 1e6:.0f} MB that a task may use; {options.processes} processes"
    )

    random.seed(0)  # cubed.random takes its seeds from here
    executor = create_executor("processes", {"max_workers": options.processes})
    memory, seconds = Memory(), {}
    with tempfile.TemporaryDirectory(prefix="larger-than-memory-") as folder:
        path = f"{folder}/data.zarr"
        # What a process needs before it holds any data counts against its bound.
        reserved = cubed.measure_reserved_mem(executor, work_dir=folder)
        spec = cubed.Spec(
            work_dir=folder,
            allowed_mem=allowed,
            reserved_mem=reserved,
            executor=executor,
            zarr_compressor=None,
        )

        def run(step: str, compute: Any) -> Any:
            memory.step, start = step, time.perf_counter()
            print(step)
            result = compute([memory, RichProgressBar()])
            seconds[step] = time.perf_counter() - start
            return result

        noise = cubed.random.random((rows, COLUMNS), chunks=(chunk_rows, COLUMNS), spec=spec)
        made = cubed.map_blocks(measurements, noise, dtype=xp.float64)
        run("write the data", lambda c: cubed.to_zarr(made, path, callbacks=c))

        x = cubed.from_zarr(path, spec=spec)
        mean, deviation = run(
            "mean and deviation",
            lambda c: cubed.compute(
                cxp.mean(x, axis=0, keepdims=True), cxp.std(x, axis=0, keepdims=True), callbacks=c
            ),
        )
        standard = (x - cxp.asarray(mean, spec=spec)) / cxp.asarray(deviation, spec=spec)
        product = cxp.matmul(cxp.matrix_transpose(standard), standard) / rows
        correlation = run("correlation matrix", lambda c: product.compute(callbacks=c))

        start = time.perf_counter()
        expected = direct(path)
        seconds["check, with NumPy"] = time.perf_counter() - start

    print(f"\n{'step':<22}{'tasks':>7}{'seconds':>9}{'peak of a task':>17}")
    for step, duration in seconds.items():
        row = f"{step:<22}{memory.tasks.get(step, ''):>7}{duration:>9.1f}"
        print(row + (f"{memory.peaks[step] / 1e6:>14.0f} MB" if step in memory.peaks else ""))
    print(f"{'a process without data':<38}{reserved / 1e6:>14.0f} MB")
    print(f"{'allowed':<38}{allowed / 1e6:>14.0f} MB")

    good = True
    print(f"\n{'result':<22}{'type':>14}{'difference':>14}")
    results = {"mean": mean[0, :], "deviation": deviation[0, :], "correlation": correlation}
    for (name, result), wanted in zip(results.items(), expected, strict=True):
        worst = float(np.max(np.abs(np.asarray(result) - wanted)))
        ours = isinstance(result, xp.Array) and worst <= TOLERANCE
        good = good and ours
        print(
            f"{name:<22}{type(result).__module__ + '.' + type(result).__name__:>14}{worst:>14.1e}{'' if ours else '  WRONG'}"
        )
    neighbours = float(xp.mean(xp.linalg.diagonal(correlation, offset=1)))
    print(f"\nNeighbouring columns correlate by {neighbours:.4f}; 0.4 was put in.")
    if max(memory.peaks.values()) > allowed:
        print("A task used more than it was allowed to.")
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
