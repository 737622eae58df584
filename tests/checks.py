"""What tests of several files ask for: equality with NumPy's results, a fresh interpreter."""

import os
import subprocess
import sys
import textwrap

import numpy as np

import arrayx as xp


def same(ours, theirs):
    """Equal in shape, dtype and every element."""
    theirs = np.asarray(theirs)
    assert isinstance(ours, xp.Array)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(np.asarray(ours), theirs)


def run_python(code, **environment):
    """What a fresh interpreter prints for `code`."""
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout
