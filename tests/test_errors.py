"""Bad input: each kind raises the right exception, whose words name the argument, what it was and
what would have been right; and nothing has been changed."""

from __future__ import annotations

import pytest
from strided import finished

import arrayx as xp

f = xp.asarray([1.0, 2.0, 3.0])
i = xp.asarray([1, 2, 3])
b = xp.asarray([True, False, True])
c = xp.asarray([1 + 2j, 3j, 0j])
m = xp.reshape(xp.arange(6), (2, 3))
u = xp.asarray([1, 2, 3], dtype=xp.uint64)
scalar = xp.asarray(1.5)

BAD = [
    # dtypes an operation does not take
    (lambda: xp.cumulative_sum(b), TypeError, "bool"),
    (lambda: xp.mean(i), TypeError, "int64"),
    (lambda: xp.sin(b), TypeError, "sin takes a numeric dtype; it was given bool"),
    (
        lambda: xp.divide(b, b),
        TypeError,
        "divide takes a numeric dtype; it was given bool and bool",
    ),
    (lambda: b - b, TypeError, "subtract takes a numeric dtype; it was given bool and bool"),
    (lambda: xp.less(c, c), TypeError, "less takes a real-valued dtype"),
    (lambda: xp.bitwise_and(f, f), TypeError, "bitwise_and takes an integer dtype or bool"),
    (lambda: xp.logical_not(i), TypeError, "logical_not takes bool"),
    (lambda: f << f, TypeError, "bitwise_left_shift takes an integer dtype"),
    (lambda: xp.imag(f), TypeError, "imag: x has dtype float64; it must be a complex dtype"),
    (lambda: xp.max(xp.asarray([1j])), TypeError, "complex128"),
    (lambda: xp.mean(b), TypeError, "bool"),
    (lambda: xp.max(c), TypeError, "complex128"),
    (lambda: b @ b, TypeError, "bool"),
    # dtypes that do not go together
    (lambda: i + u, TypeError, "no dtype holds both int64 and uint64"),
    (lambda: xp.astype(c, xp.float64), TypeError, "cannot cast complex128 to float64"),
    (lambda: xp.where(i, f, f), TypeError, "condition must be an array of dtype bool"),
    (lambda: xp.clip(i, min=0.5), TypeError, "min is a Python float"),
    # shapes that do not go together
    (lambda: f + xp.ones(4), ValueError, r"shapes \(3,\) and \(4,\) cannot be broadcast"),
    (
        lambda: xp.broadcast_to(f, (2, 2)),
        ValueError,
        r"\(3,\) does not broadcast to shape \(2, 2\)",
    ),
    (lambda: xp.reshape(m, (4, 2)), ValueError, r"\(2, 3\)"),
    (lambda: m @ m, ValueError, r"\(2, 3\) and \(2, 3\)"),
    (lambda: xp.concat([m, f]), ValueError, r"shapes \(2, 3\) and \(3,\) may differ only along"),
    (lambda: xp.stack([m, f]), ValueError, "shape"),
    (lambda: xp.squeeze(m, 0), ValueError, "size"),
    (lambda: xp.vecdot(f, xp.ones(4)), ValueError, r"\(4,\)"),
    # axes
    (lambda: xp.sum(f, axis=1), IndexError, "axis 1 is out of range for an array with 1 dimension"),
    (lambda: xp.flip(f, axis=-2), IndexError, "axis -2 is out of range"),
    (lambda: xp.sum(m, axis=(0, 0)), ValueError, "twice"),
    (lambda: xp.permute_dims(m, (0, 0)), ValueError, r"axes \(0, 0\) names dimension 0 twice"),
    (lambda: xp.cumulative_sum(m), ValueError, "axis"),
    (lambda: xp.take(m, xp.asarray([0])), ValueError, "axis"),
    # indices
    (lambda: f[3], IndexError, "index 3 is out of bounds for axis 0 with size 3"),
    (lambda: f[-4], IndexError, "index -4 is out of bounds for axis 0 with size 3"),
    (lambda: f[0, 0], IndexError, "too many indices"),
    (lambda: f[..., ...], IndexError, "ellipsis"),
    (lambda: f[1.5], IndexError, "float"),
    (lambda: f["a"], IndexError, "str"),
    (lambda: f[::0], ValueError, "slice step cannot be zero"),
    (lambda: f[xp.asarray([0, 5])], IndexError, "index 5 is out of bounds for .* with size 3"),
    (lambda: f[xp.asarray([True, False])], IndexError, "mask"),
    (lambda: f[f], IndexError, "float64"),
    (lambda: xp.take(f, xp.asarray([7]), axis=0), IndexError, "index 7 is out of bounds"),
    (lambda: xp.take_along_axis(f, xp.asarray([9])), IndexError, "index 9 is out of bounds"),
    # Python scalars that do not fit
    (lambda: xp.asarray([1], dtype=xp.uint8) + 300, OverflowError, "does not fit uint8"),
    (lambda: xp.full(2, -1, dtype=xp.uint8), OverflowError, "does not fit uint8"),
    (lambda: xp.asarray(2**64), OverflowError, "does not fit int64"),
    (lambda: xp.asarray([1j], dtype=xp.float32), TypeError, "complex"),
    # creation
    (lambda: xp.zeros(-1), ValueError, "negative size"),
    (lambda: xp.zeros((1 << 40, 1 << 40)), ValueError, r"more than 2\*\*63 - 1 elements"),
    (lambda: xp.zeros((1 << 60,)), ValueError, "bytes"),
    (lambda: xp.arange(0, 5, 0), ValueError, "step"),
    (lambda: xp.linspace(0, 1, -1), ValueError, "num"),
    (lambda: xp.asarray([[1], [1, 2]]), ValueError, "ragged|inhomogeneous|length"),
    (lambda: xp.asarray("text"), TypeError, "str"),
    (lambda: xp.asarray(object()), TypeError, "object"),
    (lambda: xp.zeros(2, device="tpu"), ValueError, "tpu"),
    (lambda: xp.zeros(2, device="cuda:9999"), ValueError, "cuda:9999"),
    (
        lambda: xp.zeros(2, dtype="nonsense"),
        TypeError,
        "dtype must be a dtype of arrayx, or None, not str",
    ),
    (lambda: xp.tril(f), ValueError, "dimension"),
    # empty reductions without an identity
    (lambda: xp.max(xp.ones(0)), ValueError, "max"),
    (lambda: xp.argmin(xp.ones((0, 2)), axis=0), ValueError, "argmin"),
    # conversions
    (lambda: bool(f), TypeError, r"\(3,\)"),
    (lambda: float(c[0]), TypeError, "complex"),
    (lambda: [1][scalar], TypeError, "only an integer array of rank 0"),
    (lambda: len(scalar), TypeError, "rank 0 has no length"),
    (lambda: list(scalar), TypeError, "rank 0 cannot be iterated"),
    (lambda: hash(f), TypeError, "unhashable"),
    (lambda: f + None, TypeError, "unsupported operand"),
    (lambda: xp.add(f, [1, 2, 3]), TypeError, "list"),
    (lambda: xp.add(1, 2), TypeError, "at least one argument must be an Array"),
    (lambda: xp.sin(), TypeError, "sin"),
    # others
    (lambda: xp.repeat(f, -1), ValueError, "repeats"),
    (lambda: xp.repeat(f, xp.asarray([1, 2])), ValueError, r"repeats must have shape \(3,\)"),
    (lambda: xp.searchsorted(m, f), ValueError, "1|one"),
    (lambda: xp.searchsorted(f, f, sorter=xp.asarray([0, 1, 9])), IndexError, "sorter"),
    (lambda: f.T, ValueError, r"two dimensions; this one has shape \(3,\)"),
    (lambda: scalar.mT, ValueError, r"at least two dimensions; this one has shape \(\)"),
    (lambda: xp.isdtype(xp.float32, "nonsense"), ValueError, "nonsense"),
    (lambda: f.__array_namespace__(api_version="1999.01"), ValueError, "1999.01"),
    (lambda: xp.from_dlpack([1, 2]), AttributeError, "list"),
    (lambda: xp.meshgrid(f, f, indexing="zz"), ValueError, "zz"),
    (lambda: xp.diff(f, n=-1), ValueError, "n"),
    (lambda: xp.memory.set_limit(-1), ValueError, "-1"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_input(number):
    call, exception, words = BAD[number]
    with pytest.raises(exception, match=words):
        finished(call())


def test_there_are_fifty_kinds():
    assert len(BAD) >= 50


BAD_WRITES = [
    (lambda x: x.__setitem__(5, 1.0), IndexError),
    (lambda x: x.__setitem__(xp.asarray([0, 7]), 1.0), IndexError),
    (lambda x: x.__setitem__(slice(None), xp.ones(4)), ValueError),
    (lambda x: x.__setitem__(slice(None), 1j), TypeError),
    (lambda x: x.__setitem__(slice(None), xp.ones(3, dtype=xp.complex128)), TypeError),
    (lambda x: x.__setitem__(xp.asarray([True, False, True]), xp.ones(3)), ValueError),
    (lambda x: x.__iadd__(xp.ones((2, 3))), ValueError),
    (lambda x: x.__iadd__(1j), TypeError),
    (lambda x: x.__ifloordiv__("a"), TypeError),
]


@pytest.mark.parametrize("number", range(len(BAD_WRITES)))
def test_a_refused_write_changes_nothing(number):
    call, exception = BAD_WRITES[number]
    x = xp.asarray([1.0, 2.0, 3.0])
    with pytest.raises(exception):
        if finished(call(x)) is NotImplemented:  # what an operator turns into a TypeError
            raise TypeError
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert x.shape == (3,) and x.dtype == xp.float64
