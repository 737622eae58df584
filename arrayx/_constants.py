"""Constants of the standard."""

__all__ = ["e", "inf", "nan", "newaxis", "pi"]

e = 2.718281828459045
"""Euler's number."""

inf = float("inf")
"""Positive infinity."""

nan = float("nan")
"""Not a number."""

newaxis = None
"""In an index, a new dimension of size one."""

pi = 3.141592653589793
"""The ratio of a circle's circumference to its diameter."""
