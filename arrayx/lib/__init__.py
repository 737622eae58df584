"""Where NumPy keeps its stride_tricks, for consumers that look there on any namespace."""

from . import stride_tricks

__all__ = ["stride_tricks"]
