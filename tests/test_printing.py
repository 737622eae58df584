"""repr and str of arrays."""

import math

import pytest

import arrayx as xp

pytestmark = pytest.mark.cpu  # of others repr says the device


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (xp.asarray([1, 2]), "array([1, 2])"),
        (xp.asarray([1, -20]), "array([  1, -20])"),
        (xp.asarray([1, 2], dtype=xp.int8), "array([1, 2], dtype=int8)"),
        (xp.asarray([1.0, 2.5]), "array([1. , 2.5])"),
        (xp.asarray([0.1, 0.2], dtype=xp.float32), "array([0.1, 0.2], dtype=float32)"),
        (xp.asarray([0.1 + 0.2]), "array([0.3])"),
        (xp.asarray([1 / 3]), "array([0.33333333])"),
        (xp.asarray([1e10, 1.0]), "array([1.e+10, 1.e+00])"),
        (xp.asarray([1.5e-7, 0.0]), "array([1.5e-07, 0.0e+00])"),
        (xp.asarray([math.nan, 1.5, -math.inf]), "array([ nan,  1.5, -inf])"),
        (xp.asarray([0.0, -0.0]), "array([ 0., -0.])"),
        (xp.asarray([1 + 2j, 3 - 4.5j]), "array([1.+2.j , 3.-4.5j])"),
        (xp.asarray([complex(math.nan, -math.inf)]), "array([nan-infj])"),
        (xp.asarray([True, False]), "array([ True, False])"),
        (xp.asarray(5), "array(5)"),
        (xp.asarray(2.5, dtype=xp.float32), "array(2.5, dtype=float32)"),
        (xp.asarray(True), "array(True)"),
        (xp.asarray([[1, 2], [3, 4]]), "array([[1, 2],\n       [3, 4]])"),
        (xp.zeros(0), "array([])"),
        (xp.zeros(0, dtype=xp.int64), "array([], dtype=int64)"),
        (xp.zeros((2, 0), dtype=xp.bool), "array([], shape=(2, 0), dtype=bool)"),
        (xp.arange(1001), "array([   0,    1,    2, ...,  998,  999, 1000])"),
        (xp.asarray([2**64 - 1, 0], dtype=xp.uint64)[:1], f"array([{2**64 - 1}], dtype=uint64)"),
        (
            xp.asarray([3.4028234663852886e38], dtype=xp.float32),
            "array([3.4028235e+38], dtype=float32)",
        ),
        (xp.asarray([5e-324]), "array([4.9406565e-324])"),
    ],
)
def test_repr(array, text):
    assert repr(array.to_device("cpu")) == text


def test_str():
    assert str(xp.asarray(1.5)) == "1.5"
    assert str(xp.asarray([[1, 2], [3, 4]])) == "[[1 2]\n [3 4]]"
    assert str(xp.zeros((0,))) == "[]"
    assert f"{xp.asarray([1, 2])}" == "[1 2]"


def test_stacks_are_separated_by_empty_lines():
    assert repr(xp.zeros((2, 1, 1))) == "array([[[0.]],\n\n       [[0.]]])"


def test_long_lines_wrap():
    lines = repr(xp.arange(100)).splitlines()
    assert len(lines) > 3
    assert max(map(len, lines)) <= 76
    assert all(line.startswith("       ") for line in lines[1:])


def test_large_arrays_are_cut_in_every_long_dimension():
    lines = repr(xp.zeros((100, 2, 50))).splitlines()
    assert len(lines) == 6 * 2 + 5 + 2  # rows, empty lines between stacks, and the gap
    assert all(line.count("0.") == 6 for line in lines if "0." in line)


def test_huge_arrays_print_by_their_edges():
    # 2**40 elements: only a printer that looks at the edges alone ever finishes.
    for x in (xp.broadcast_to(xp.asarray(1.5), (2**20, 2**20)), xp.zeros((1000, 1000, 4))):
        assert "..." in repr(x)
        assert "..." in str(x)


@pytest.mark.parametrize(
    "value", [0.1, 1e-3, 123456.7, 3.0e38, 1e-45, 16777216.0, 0.30000001192092896]
)
def test_float32_reads_back(value):
    x = xp.asarray([value], dtype=xp.float32)
    text = repr(x).split("[")[1].split("]")[0]
    shown = xp.asarray([float(text)], dtype=xp.float32)
    assert xp.abs(shown - x)[0] <= 1e-7 * xp.abs(x)[0]


def test_strided_arrays_print_as_what_they_are():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert repr(xp.flip(x.mT)) == "array([[5, 2],\n       [4, 1],\n       [3, 0]])"
