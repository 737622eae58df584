"""What xarray does with arrays of a namespace: which operations keep them, and which leave for NumPy.

    python conformance/run.py xarray-operations [--module NAME]

Each operation runs on a DataArray or a Dataset that holds arrays of the namespace, and on one that
holds NumPy's. Coordinates of an index are NumPy's and pandas' in any case and are not looked at,
but values, dtypes, dimensions and coordinates must be the same on both.
"""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from reports import one_line


@dataclass
class Data:
    """The operands, with arrays of one library."""

    xp: Any
    a: xr.DataArray  # time × place, float64
    b: xr.DataArray  # as a, other values
    gaps: xr.DataArray  # as a, with NaN
    counts: xr.DataArray  # as a, int64
    mask: xr.DataArray  # as a, bool
    row: xr.DataArray  # time, float64
    weights: xr.DataArray  # place, float64
    line: xr.DataArray  # coefficients by degree, float64
    ds: xr.Dataset  # a and gaps

    @classmethod
    def of(cls, xp: Any) -> Data:
        rng = np.random.default_rng(0)
        shape = (12, 4)
        coords = {
            "time": np.datetime64("2026-01-01", "ns") + np.arange(12) * np.timedelta64(1, "D"),
            "place": [10.0, 20.0, 30.0, 40.0],
            "degree": [0, 1],
            "season": ("time", np.repeat([0, 1, 2], 4)),
        }
        owner = {name: name for name in coords} | {"season": "time"}

        def labelled(values: np.ndarray, *dims: str) -> xr.DataArray:
            known = {k: v for k, v in coords.items() if owner[k] in dims}
            return xr.DataArray(xp.asarray(values), dims=dims, coords=known)

        a = rng.normal(5, 2, shape)
        gaps = np.where(rng.random(shape) < 0.2, np.nan, a)
        gaps[0, :] = 1.0
        both = ("time", "place")
        return cls(
            xp=xp,
            a=labelled(a, *both),
            b=labelled(rng.normal(3, 1, shape), *both),
            gaps=labelled(gaps, *both),
            counts=labelled(rng.integers(0, 9, shape), *both),
            mask=labelled(a > 5, *both),
            row=labelled(rng.normal(0, 1, 12), "time"),
            weights=labelled(np.asarray([1.0, 2.0, 3.0, 4.0]), "place"),
            line=labelled(np.asarray([1.0, 2.0]), "degree"),
            ds=xr.Dataset({"a": labelled(a, *both), "gaps": labelled(gaps, *both)}),
        )


def assigned(d: Data) -> xr.DataArray:
    x = d.a.copy()
    x[{"time": 0}] = 0.0
    x.loc[{"place": 20.0}] = 1.0
    return x


def in_place(d: Data) -> xr.DataArray:
    x = d.a.copy()
    x += d.b
    return x


OPERATIONS: dict[str, Callable[[Data], Any]] = {
    # arithmetic and comparison
    "a + b": lambda d: d.a + d.b,
    "a - 1.5": lambda d: d.a - 1.5,
    "2 * a": lambda d: 2 * d.a,
    "a / b": lambda d: d.a / d.b,
    "a ** 2": lambda d: d.a**2,
    "a // b": lambda d: d.a // d.b,
    "a % 3": lambda d: d.a % 3,
    "-a": lambda d: -d.a,
    "abs(a)": lambda d: abs(d.a),
    "a > b": lambda d: d.a > d.b,
    "a == b": lambda d: d.a == d.b,
    "mask & mask": lambda d: d.mask & d.mask,
    "~mask": lambda d: ~d.mask,
    "a += b": in_place,
    "a + row, broadcast": lambda d: d.a + d.row,
    "a + NumPy array": lambda d: d.a + np.ones((12, 4)),
    "a @ weights": lambda d: d.a @ d.weights,
    "xr.dot": lambda d: xr.dot(d.a, d.b, dim="time"),
    "np.sqrt(a)": lambda d: np.sqrt(abs(d.a)),
    "np.sqrt(counts)": lambda d: np.sqrt(d.counts),
    "np.maximum(a, b)": lambda d: np.maximum(d.a, d.b),
    "Dataset + Dataset": lambda d: d.ds + d.ds,
    "Dataset * 2": lambda d: d.ds * 2,
    # elementwise methods
    "round": lambda d: d.a.round(),
    "clip": lambda d: d.a.clip(2.0, 6.0),
    "astype": lambda d: d.a.astype(d.xp.float32),
    'astype("float32")': lambda d: d.a.astype("float32"),
    "isnull": lambda d: d.gaps.isnull(),
    "notnull": lambda d: d.gaps.notnull(),
    "isin": lambda d: d.counts.isin([1, 2, 3]),
    "fillna": lambda d: d.gaps.fillna(0.0),
    "where": lambda d: d.a.where(d.mask),
    "where, other": lambda d: d.a.where(d.mask, 0.0),
    "where, NaN given": lambda d: d.a.where(d.mask, np.nan),
    "where, drop": lambda d: d.a.where(d.a.place > 20.0, drop=True),
    "xr.where": lambda d: xr.where(d.mask, d.a, d.b),
    "xr.zeros_like": lambda d: xr.zeros_like(d.a),
    "xr.full_like": lambda d: xr.full_like(d.a, 7.0),
    "apply_ufunc": lambda d: xr.apply_ufunc(d.xp.exp, d.a),
    "apply_ufunc, core dimension": lambda d: xr.apply_ufunc(
        lambda x: d.xp.mean(x, axis=-1), d.a, input_core_dims=[["place"]]
    ),
    # reductions
    "sum": lambda d: d.a.sum("time", skipna=False),
    "sum, skipna": lambda d: d.gaps.sum("time"),
    "sum of counts": lambda d: d.counts.sum("time"),
    "sum of mask": lambda d: d.mask.sum("time"),
    "prod, skipna": lambda d: d.gaps.prod("time"),
    "mean": lambda d: d.a.mean("time", skipna=False),
    "mean, skipna": lambda d: d.gaps.mean("time"),
    "mean over all": lambda d: d.gaps.mean(),
    "max": lambda d: d.a.max("time", skipna=False),
    "max, skipna": lambda d: d.gaps.max("time"),
    "min, skipna": lambda d: d.gaps.min("time"),
    "std": lambda d: d.a.std("time", skipna=False),
    "std, skipna": lambda d: d.gaps.std("time"),
    "var, skipna, ddof": lambda d: d.gaps.var("time", ddof=1),
    "all": lambda d: d.mask.all("time"),
    "any": lambda d: d.mask.any("time"),
    "count": lambda d: d.gaps.count("time"),
    "median": lambda d: d.a.median("time", skipna=False),
    "median, skipna": lambda d: d.gaps.median("time"),
    "quantile": lambda d: d.a.quantile([0.25, 0.75], "time", skipna=False),
    "quantile, skipna": lambda d: d.gaps.quantile(0.5, "time"),
    "argmax": lambda d: d.a.argmax("time", skipna=False),
    "argmin, skipna": lambda d: d.gaps.argmin("time"),
    "idxmax": lambda d: d.a.idxmax("place", skipna=False),
    "cumsum": lambda d: d.a.cumsum("time", skipna=False),
    "cumsum, skipna": lambda d: d.gaps.cumsum("time"),
    "cumprod, skipna": lambda d: d.gaps.cumprod("time"),
    "Dataset.mean": lambda d: d.ds.mean("time"),
    "reduce": lambda d: d.a.reduce(d.xp.sum, "time"),
    "xr.cov": lambda d: xr.cov(d.a, d.b, "time"),
    "xr.corr": lambda d: xr.corr(d.a, d.b, "time"),
    "weighted.mean": lambda d: d.a.weighted(d.weights).mean("place"),
    "weighted.sum, gaps": lambda d: d.gaps.weighted(d.weights).sum("place"),
    # selection
    "isel": lambda d: d.a.isel(time=3),
    "isel, slice": lambda d: d.a.isel(time=slice(1, 9, 2)),
    "isel, list": lambda d: d.a.isel(time=[5, 0, 3], place=[1, 2]),
    "isel, pointwise": lambda d: d.a.isel(
        time=xr.DataArray([0, 4, 7], dims="point"), place=xr.DataArray([1, 2, 3], dims="point")
    ),
    "sel": lambda d: d.a.sel(place=20.0),
    "sel, nearest": lambda d: d.a.sel(place=23.0, method="nearest"),
    "a[mask row]": lambda d: d.a[d.row > 0],
    "head": lambda d: d.a.head(time=3),
    "thin": lambda d: d.a.thin(time=3),
    "assignment": assigned,
    "dropna": lambda d: d.gaps.dropna("time"),
    "ffill": lambda d: d.gaps.ffill("time"),
    "reindex": lambda d: d.a.reindex(place=[20.0, 25.0, 30.0]),
    "reindex, NaN given": lambda d: d.a.reindex(place=[20.0, 25.0], fill_value=np.nan),
    "sortby": lambda d: d.a.sortby("place", ascending=False),
    "sortby a variable": lambda d: d.a.sortby(d.row),
    "argsort": lambda d: d.row.argsort(),
    "rank": lambda d: d.row.rank("time"),
    # shape
    "transpose": lambda d: d.a.transpose("place", "time"),
    "T": lambda d: d.a.T,
    "expand_dims": lambda d: d.a.expand_dims(run=2),
    "squeeze": lambda d: d.a.isel(time=[0]).squeeze(),
    "stack": lambda d: d.a.stack(cell=("time", "place")),
    "stack and unstack": lambda d: d.a.stack(cell=("time", "place")).unstack("cell"),
    "broadcast_like": lambda d: d.row.broadcast_like(d.a),
    "xr.broadcast": lambda d: xr.broadcast(d.row, d.a)[0],
    "xr.align, outer": lambda d: xr.align(d.a, d.b.isel(time=slice(2, None)), join="outer"),
    "xr.align, NaN given": lambda d: xr.align(
        d.a, d.b.isel(time=slice(2, None)), join="outer", fill_value=np.nan
    ),
    "xr.concat": lambda d: xr.concat([d.a, d.b], "run"),
    "xr.concat, along": lambda d: xr.concat([d.a, d.b], "time"),
    "xr.merge": lambda d: xr.merge([d.a.rename("x"), d.b.rename("y")]),
    "Dataset.to_dataarray": lambda d: d.ds.to_dataarray(),
    "combine_first": lambda d: d.gaps.combine_first(d.b),
    "copy": lambda d: d.a.copy(),
    "shift": lambda d: d.a.shift(time=1),
    "shift, NaN given": lambda d: d.a.shift(time=1, fill_value=np.nan),
    "roll": lambda d: d.a.roll(time=2, roll_coords=True),
    "pad, constant": lambda d: d.a.pad(time=1, constant_values=0.0),
    "pad, edge": lambda d: d.a.pad(time=1, mode="edge"),
    # calculus and windows
    "diff": lambda d: d.a.diff("time"),
    "differentiate": lambda d: d.a.differentiate("place"),
    "integrate": lambda d: d.a.integrate("place"),
    "cumulative_integrate": lambda d: d.a.cumulative_integrate("place"),
    "interp": lambda d: d.a.interp(place=[15.0, 25.0]),
    "interpolate_na": lambda d: d.gaps.interpolate_na("time"),
    "rolling.mean": lambda d: d.a.rolling(time=3).mean(),
    "rolling.construct": lambda d: d.a.rolling(time=3).construct("window"),
    "rolling.construct, NaN given": lambda d: (
        d.a.rolling(time=3).construct("window", fill_value=np.nan).mean("window")
    ),
    "rolling.max": lambda d: d.a.rolling(time=3).max(),
    "coarsen.mean": lambda d: d.a.coarsen(time=3).mean(),
    "resample.mean": lambda d: d.a.resample(time="3D").mean(),
    "groupby.mean": lambda d: d.a.groupby("season").mean(),
    "groupby.sum, gaps": lambda d: d.gaps.groupby("season").sum(),
    "groupby - mean": lambda d: d.a.groupby("season") - d.a.groupby("season").mean(),
    "groupby.map": lambda d: d.a.groupby("season").map(lambda x: x - x.min()),
    "groupby_bins.max": lambda d: d.a.groupby_bins("place", [0, 25, 50]).max(),
    "polyfit": lambda d: d.a.polyfit("place", 1),
    "xr.polyval": lambda d: xr.polyval(d.a.place, d.line),
    # whole objects
    "equals": lambda d: d.a.equals(d.a.copy()),
    "identical": lambda d: d.ds.identical(d.ds.copy()),
    "item": lambda d: d.a[0, 0].item(),
    "float": lambda d: float(d.a.sum()),
    "repr": lambda d: len(repr(d.a)) > 0,
    "to_numpy": lambda d: d.a.to_numpy(),
    "values": lambda d: d.a.values,
    "as_numpy": lambda d: d.a.as_numpy(),
    "to_pandas": lambda d: d.a.to_pandas().to_numpy(),
}
# These are asked for NumPy's arrays.
NUMPY_BY_NAME = ("to_numpy", "values", "as_numpy", "to_pandas")


def arrays_of(result: Any) -> Iterator[Any]:
    """Yield the arrays that a result holds, those of indexes left out."""
    if isinstance(result, xr.Dataset):
        for variable in result.data_vars.values():
            yield variable.data
    elif isinstance(result, xr.DataArray):
        yield result.data
    elif isinstance(result, tuple):
        for part in result:
            yield from arrays_of(part)
    else:
        yield result


def difference(result: Any, expected: Any) -> str:
    """Return how a result differs from NumPy's, in one line; nothing if it does not."""
    if isinstance(result, tuple):
        return next(filter(None, map(difference, result, expected)), "")
    try:
        if isinstance(expected, xr.DataArray | xr.Dataset):
            xr.testing.assert_allclose(result.as_numpy(), expected.as_numpy())
        else:
            np.testing.assert_allclose(result, expected)
    except AssertionError as error:
        return one_line(str(error))
    for ours, theirs in zip(arrays_of(result), arrays_of(expected), strict=True):
        if np.asarray(ours).dtype != np.asarray(theirs).dtype:
            return f"dtype {ours.dtype}, of NumPy {theirs.dtype}"
    return ""


def outcome(operation: Callable[[Data], Any], ours: Data, theirs: Data) -> tuple[str, str]:
    """Return "stays", "NumPy", "raises" or "differs", and what there is to say about it."""
    expected = operation(theirs)
    try:
        result = operation(ours)
    except Exception as error:  # what consumers raise is their choice
        return "raises", one_line(f"{type(error).__name__}: {error}")
    if worst := difference(result, expected):
        return "differs", worst
    array = type(ours.xp.asarray([0.0]))
    kinds = [type(x) for x in arrays_of(result)]
    if all(kind is array or kind in (bool, int, float) for kind in kinds):
        return "stays", ""
    return "NumPy", ""


def report(module: str) -> int:
    """Print the table for a namespace; return how many operations raised or were wrong."""
    xp = importlib.import_module(module)
    ours, theirs = Data.of(xp), Data.of(np)
    counts: Counter[str] = Counter()
    print(f"\nOperations of xarray {xr.__version__} on arrays of {module}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, operation in OPERATIONS.items():
            how, words = outcome(operation, ours, theirs)
            if how == "NumPy" and name in NUMPY_BY_NAME:
                how = "as asked"
            counts[how] += 1
            print(f"  {name:<30} {how:<8} {words}".rstrip())
    print(
        f"\n{len(OPERATIONS)} operations: " + ", ".join(f"{n} {how}" for how, n in counts.items())
    )
    return counts["raises"] + counts["differs"]
