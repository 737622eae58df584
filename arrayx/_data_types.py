"""The dtypes of the standard and float16, one object each, and their kinds."""

from __future__ import annotations

from ._core import (
    DType,
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "bool",
    "complex64",
    "complex128",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_signed = (int8, int16, int32, int64)
_unsigned = (uint8, uint16, uint32, uint64)
_real = (float16, float32, float64)
_complex = (complex64, complex128)

all_dtypes: tuple[DType, ...] = (bool, *_signed, *_unsigned, *_real, *_complex)

# What `isdtype` and `__array_namespace_info__().dtypes` call a kind.
dtypes_of_kind: dict[str, tuple[DType, ...]] = {
    "bool": (bool,),
    "signed integer": _signed,
    "unsigned integer": _unsigned,
    "integral": _signed + _unsigned,
    "real floating": _real,
    "complex floating": _complex,
    "numeric": _signed + _unsigned + _real + _complex,
}


def dtypes_named(kind: str) -> tuple[DType, ...]:
    """Return the dtypes of a kind; ValueError for a word that names none."""
    try:
        return dtypes_of_kind[kind]
    except KeyError:
        words = ", ".join(repr(word) for word in dtypes_of_kind)
        raise ValueError(f"kind {kind!r} is unknown: it is one of {words}") from None
