"""scikit-learn and SciPy on arrayx arrays, compared with the same calls on NumPy arrays.

    python examples/quickstart.py [--device cpu]

scikit-learn runs under ``config_context(array_api_dispatch=True)`` and SciPy under
``SCIPY_ARRAY_API=1`` on the digits and breast-cancer data that come with scikit-learn. Each line is
one call: its result is checked to be an arrayx array and to agree with NumPy's. The exit status is
non-zero when any does not.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# SciPy reads it once, when it is first imported.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.metrics import confusion_matrix, precision_recall_curve, r2_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import (
    KernelCenterer,
    LabelBinarizer,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

import arrayx

REPETITIONS = 3


@dataclass
class Data:
    """The data sets, held in arrays of one library."""

    digits: Any  # 1797 × 64 pixels, float64
    digit: Any  # which digit, int64
    tumours: Any  # 569 × 30 measurements, float64
    scaled: Any  # the same, mean 0 and variance 1
    benign: Any  # 0 or 1, int64
    signal: Any  # 8 noisy sine waves of 4096 samples
    taps: Any  # a low-pass filter of 31 taps
    sections: Any  # a Butterworth filter in second-order sections


def numpy_data() -> Data:
    """Load the data as NumPy arrays."""
    digits, digit = load_digits(return_X_y=True)
    tumours, benign = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    t = np.arange(4096) / 4096
    signal = np.sin(2 * np.pi * np.arange(1, 9)[:, None] * t) + rng.normal(0, 0.1, (8, 4096))
    return Data(
        digits=digits,
        digit=digit,
        tumours=tumours,
        scaled=(tumours - tumours.mean(axis=0)) / tumours.std(axis=0),
        benign=benign,
        signal=signal,
        taps=scipy.signal.firwin(31, 0.1),
        sections=scipy.signal.butter(4, 0.1, output="sos"),
    )


def as_float(x: Any) -> Any:
    """Convert labels to float64, in their own library."""
    xp = x.__array_namespace__()
    return xp.astype(x, xp.float64)


@dataclass
class Line:
    """One line of the table."""

    name: str
    compute: Callable[[Data], Any]
    # Largest difference from NumPy's result, relative to that result's largest magnitude.
    # Iterative solvers stop at their own tolerance, so theirs is wider.
    tolerance: float = 1e-9


SCIKIT_LEARN = [
    Line("StandardScaler", lambda d: StandardScaler().fit_transform(d.tumours)),
    Line("MinMaxScaler", lambda d: MinMaxScaler().fit_transform(d.digits)),
    Line("Normalizer", lambda d: Normalizer().fit_transform(d.tumours)),
    Line("PolynomialFeatures", lambda d: PolynomialFeatures(2).fit_transform(d.scaled)),
    Line("LabelBinarizer", lambda d: LabelBinarizer().fit_transform(d.digit)),
    Line(
        "train_test_split, stratified",
        lambda d: train_test_split(d.digits, d.digit, stratify=d.digit, random_state=0)[0],
    ),
    Line(
        "GaussianNB, probabilities",
        lambda d: GaussianNB(var_smoothing=0.01).fit(d.digits, d.digit).predict_proba(d.digits),
    ),
    Line(
        "LogisticRegression, two classes",
        lambda d: LogisticRegression(tol=1e-8).fit(d.scaled, d.benign).decision_function(d.scaled),
        tolerance=1e-5,
    ),
    Line(
        "LogisticRegression, ten classes",
        lambda d: (
            LogisticRegression(tol=1e-3, max_iter=200)
            .fit(d.digits / 16, d.digit)
            .predict_proba(d.digits / 16)
        ),
        tolerance=1e-3,
    ),
    Line(
        "PoissonRegressor",
        lambda d: PoissonRegressor().fit(d.scaled, as_float(d.benign)).predict(d.scaled),
        tolerance=1e-5,
    ),
    Line(
        "GaussianMixture, diagonal",
        lambda d: (
            GaussianMixture(
                2, covariance_type="diag", init_params="random_from_data", random_state=0
            )
            .fit(d.scaled)
            .means_
        ),
        tolerance=1e-6,
    ),
    Line("euclidean_distances", lambda d: euclidean_distances(d.digits, d.digits[:300, :])),
    Line("cosine_similarity", lambda d: cosine_similarity(d.digits)),
    Line("rbf_kernel", lambda d: rbf_kernel(d.scaled)),
    Line("KernelCenterer", lambda d: KernelCenterer().fit_transform(rbf_kernel(d.scaled))),
    Line(
        "confusion_matrix",
        lambda d: confusion_matrix(d.digit, GaussianNB().fit(d.digits, d.digit).predict(d.digits)),
    ),
    Line("precision_recall_curve", lambda d: precision_recall_curve(d.benign, -d.tumours[:, 0])[0]),
    Line(
        "r2_score, raw values",
        lambda d: r2_score(d.tumours, d.tumours * 1.01, multioutput="raw_values"),
    ),
    Line(
        "PCA",
        lambda d: PCA(8, svd_solver="full").fit_transform(d.digits),
        tolerance=1e-6,
    ),
    Line(
        "LinearDiscriminantAnalysis",
        lambda d: LinearDiscriminantAnalysis().fit(d.scaled, d.benign).decision_function(d.scaled),
        tolerance=1e-6,
    ),
    Line(
        "Ridge",
        lambda d: Ridge(solver="svd").fit(d.scaled, as_float(d.benign)).predict(d.scaled),
        tolerance=1e-6,
    ),
    Line(
        "GaussianMixture, full",
        lambda d: (
            GaussianMixture(2, init_params="random_from_data", random_state=0).fit(d.scaled).means_
        ),
        tolerance=1e-6,
    ),
]

SCIPY = [
    Line("stats.zscore", lambda d: scipy.stats.zscore(d.tumours, axis=0)),
    Line("stats.skew", lambda d: scipy.stats.skew(d.tumours, axis=0)),
    Line("stats.rankdata", lambda d: scipy.stats.rankdata(d.tumours, axis=0)),
    Line(
        "stats.pearsonr, p-values",
        lambda d: scipy.stats.pearsonr(d.tumours, as_float(d.benign)[:, None], axis=0).pvalue,
    ),
    Line(
        "stats.ttest_ind, statistics",
        lambda d: (
            scipy.stats.ttest_ind(
                d.tumours[d.benign == 0], d.tumours[d.benign == 1], equal_var=False
            ).statistic
        ),
    ),
    Line(
        "stats.mannwhitneyu",
        lambda d: (
            scipy.stats.mannwhitneyu(
                d.tumours[d.benign == 0], d.tumours[d.benign == 1], method="asymptotic"
            ).statistic
        ),
    ),
    Line("stats.entropy", lambda d: scipy.stats.entropy(d.digits + 1, axis=1)),
    Line("special.logsumexp", lambda d: scipy.special.logsumexp(d.digits, axis=1)),
    Line("special.softmax", lambda d: scipy.special.softmax(d.digits, axis=1)),
    Line("special.expit", lambda d: scipy.special.expit(d.scaled)),
    Line("special.xlogy", lambda d: scipy.special.xlogy(d.digits, d.digits + 1)),
    Line("signal.detrend", lambda d: scipy.signal.detrend(d.signal, type="constant")),
    Line("signal.convolve", lambda d: scipy.signal.convolve(d.signal[0, :], d.taps)),
    Line("signal.sosfilt", lambda d: scipy.signal.sosfilt(d.sections, d.signal)),
    Line("signal.resample_poly", lambda d: scipy.signal.resample_poly(d.signal, 3, 2, axis=1)),
    Line(
        "signal.savgol_filter",
        lambda d: scipy.signal.savgol_filter(d.signal, 31, 3),
    ),
]

# SciPy computes these through NumPy, which sees the memory of the CPU alone.
THROUGH_NUMPY = {
    "signal.convolve",
    "signal.detrend",
    "signal.resample_poly",
    "signal.savgol_filter",
    "signal.sosfilt",
    "special.expit",
    "stats.entropy",
    "stats.mannwhitneyu",
    "stats.pearsonr, p-values",
    "stats.ttest_ind, statistics",
}


def timed(compute: Callable[[Data], Any], data: Data) -> tuple[Any, float]:
    """Return the result of a call and the least of its times, in milliseconds."""
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        result = compute(data)
        best = min(best, time.perf_counter() - start)
    return result, best * 1e3


def difference(result: Any, expected: np.ndarray) -> float:
    """Return the largest difference, relative to the largest magnitude of what was expected."""
    actual = np.asarray(result.to_device("cpu"))
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return float("inf")
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = expected[np.isfinite(expected)]
    scale = max(np.max(np.abs(finite), initial=0.0), np.finfo(np.float64).tiny)
    worst = np.max(np.abs(actual[~same] - expected[~same])) / scale
    return float(worst) if np.isfinite(worst) else float("inf")


def run(line: Line, ours: Data, theirs: Data) -> bool:
    """Run one line on both libraries, print it, and say whether it is as it should be."""
    expected, numpy_time = timed(line.compute, theirs)
    result, arrayx_time = timed(line.compute, ours)
    row = f"{line.name:<32}{arrayx_time:>11.2f}{numpy_time:>11.2f}"
    if not isinstance(result, arrayx.Array):
        print(f"{row}  not an arrayx array: {type(result).__name__}")
        return False
    worst = difference(result, np.asarray(expected))
    good = worst <= line.tolerance
    print(f"{row}{worst:>13.1e}{'' if good else f'  WRONG: more than {line.tolerance:.0e}'}")
    return good


def main() -> int:
    """Run every line and say whether all of them agree."""
    parser = argparse.ArgumentParser(description="scikit-learn and SciPy on arrayx arrays")
    parser.add_argument("--device", default="cpu", help="where the arrays live (default: cpu)")
    device = parser.parse_args().device
    arrayx.set_default_device(device)  # where some functions of SciPy make arrays

    theirs = numpy_data()
    ours = Data(**{k: arrayx.asarray(v, device=device) for k, v in vars(theirs).items()})
    good = wrong = 0
    left_out = []

    print(f"arrayx {arrayx.__version__} on {device}; times in milliseconds, best of {REPETITIONS}")
    for title, lines in [
        (f"scikit-learn {sklearn.__version__}", SCIKIT_LEARN),
        (f"SciPy {scipy.__version__}", SCIPY),
    ]:
        print(f"\n{title:<32}{'arrayx':>11}{'NumPy':>11}{'difference':>13}")
        for line in lines:
            if line.name in THROUGH_NUMPY and device != "cpu":
                left_out.append(line.name)
            elif run(line, ours, theirs):
                good += 1
            else:
                wrong += 1

    print(f"\n{good} results are arrayx arrays and agree with NumPy's, {wrong} do not.")
    if left_out:
        print(f"Left out, since SciPy computes them through NumPy: {'; '.join(left_out)}.")
    return 1 if wrong else 0


if __name__ == "__main__":
    # Deprecations inside the two libraries are not ours to act on, and solvers that stop at their
    # limit of iterations do so alike on both sides.
    warnings.simplefilter("ignore")
    with sklearn.config_context(array_api_dispatch=True):
        status = main()
    sys.exit(status)
