"""Operations of xarray keep arrays of arrayx, with NumPy's values.

conformance/xarray_operations.py has the operations and prints the whole table.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arrayx as xp

pytest.importorskip("xarray")
sys.path.append(str(Path(__file__).resolve().parent.parent / "conformance"))
import xarray_operations as xo

pytestmark = pytest.mark.cpu  # some operations mix in NumPy's arrays

# xarray asks these for NumPy's dtype objects, or for a kind of indexing it has for NumPy alone.
REFUSED_BY_XARRAY = {
    "isel, pointwise",
    "reindex",
    "rolling.construct",
    "rolling.max",
    "rolling.mean",
    "shift",
    "weighted.mean",
    "where",
    "where, drop",
    "xr.align, outer",
    "xr.corr",
    "xr.cov",
}
# xarray hands these to Bottleneck, to SciPy or to numpy.linalg.
COMPUTED_BY_NUMPY = {"ffill", "interp", "interpolate_na", "polyfit", "rank"}


@pytest.fixture(scope="module")
def ours() -> Any:
    return xo.Data.of(xp)


@pytest.fixture(scope="module")
def theirs() -> Any:
    return xo.Data.of(np)


@pytest.mark.parametrize(
    "name",
    [n for n in xo.OPERATIONS if n not in REFUSED_BY_XARRAY | COMPUTED_BY_NUMPY],
)
def test_operations_keep_arrays_of_arrayx(name: str, ours: Any, theirs: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how, words = xo.outcome(xo.OPERATIONS[name], ours, theirs)
    assert (how, words) == ("NumPy" if name in xo.NUMPY_BY_NAME else "stays", "")


def test_operations_are_named_once() -> None:
    assert set(xo.OPERATIONS) >= REFUSED_BY_XARRAY | COMPUTED_BY_NUMPY | set(xo.NUMPY_BY_NAME)
