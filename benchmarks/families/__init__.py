"""The families of cases, in the order of the table; each module's `cases` generates one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..cases import Case, Scale
from . import (
    calls,
    casts,
    copies,
    creation,
    elementwise,
    fourier,
    indexing,
    joining,
    layouts,
    linear_algebra,
    products,
    reductions,
    sorting,
    strided,
)

FAMILIES: dict[str, Callable[[Scale], Iterator[Case]]] = {
    "calls": calls.cases,
    "elementwise": elementwise.cases,
    "strided": strided.cases,
    "casts": casts.cases,
    "copies": copies.cases,
    "creation": creation.cases,
    "reductions": reductions.reductions,
    "argreductions": reductions.argreductions,
    "deviations": reductions.deviations,
    "scans": reductions.scans,
    "sorting": sorting.cases,
    "indexing": indexing.cases,
    "joining": joining.cases,
    "layouts": layouts.cases,
    "matmul": products.cases,
    "linalg": linear_algebra.cases,
    "fft": fourier.cases,
}


def all_cases(scale: Scale | None = None) -> list[Case]:
    """Return every case of every family."""
    return [case for cases in FAMILIES.values() for case in cases(scale or Scale())]
