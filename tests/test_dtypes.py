"""Dtype and device objects: identity, equality with NumPy's, hashing, pickling, and the promotion
lattice."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import arrayx as xp

NAMES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("name", NAMES)
def test_dtype_is_numpys_twin(name):
    ours, theirs = getattr(xp, name), np.dtype(name)
    assert ours == theirs and theirs == ours
    assert not ours != theirs and not theirs != ours
    assert hash(ours) == hash(theirs)
    assert {ours: 1}[theirs] == 1 and {theirs: 1}[ours] == 1
    assert np.dtype(ours) is theirs
    assert np.zeros(3, dtype=ours).dtype == theirs
    assert (ours.name, ours.itemsize, ours.kind) == (theirs.name, theirs.itemsize, theirs.kind)
    assert ours.type is theirs.type
    assert ours.dtype is theirs


@pytest.mark.parametrize("name", NAMES)
def test_dtype_prints_as_its_name(name):
    assert repr(getattr(xp, name)) == str(getattr(xp, name)) == f"arrayx.{name}"


@pytest.mark.parametrize("name", NAMES)
def test_there_is_one_object_per_dtype(name):
    dtype = getattr(xp, name)
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy(dtype) is dtype
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
    assert xp.zeros(2, dtype=dtype).dtype is dtype
    assert xp.zeros(2, dtype=np.dtype(name)).dtype is dtype
    assert xp.zeros(2, dtype=np.dtype(name).type).dtype is dtype


def test_dtypes_differ_from_each_other_and_from_anything_else():
    for a, b in itertools.product(NAMES, NAMES):
        assert (getattr(xp, a) == getattr(xp, b)) == (a == b)
        assert (getattr(xp, a) == np.dtype(b)) == (a == b)
        assert (np.dtype(b) == getattr(xp, a)) == (a == b)
    assert xp.float32 != "float32"
    assert xp.float32 != None  # noqa: E711
    assert xp.float32 != np.dtype(">f4")
    assert xp.float32 not in ("float32", 4, float)


@pytest.mark.parametrize("bad", ["float32", str, 3, np.dtype("float16"), np.float16, np.str_])
def test_other_things_are_no_dtypes(bad):
    with pytest.raises(TypeError):
        xp.zeros(2, dtype=bad)


@pytest.mark.parametrize(
    ("python", "ours"),
    [(bool, xp.bool), (int, xp.int64), (float, xp.float64), (complex, xp.complex128)],
)
def test_python_types_stand_for_the_default_dtypes(python, ours):
    assert xp.zeros(2, dtype=python).dtype == ours
    assert xp.astype(xp.ones(2, dtype=xp.int8), python).dtype == ours


def test_foreign_byte_order_is_refused_by_name():
    with pytest.raises(TypeError, match="foreign byte order"):
        xp.zeros(2, dtype=np.dtype(">f4"))


def test_dtypes_cannot_be_made():
    with pytest.raises(TypeError):
        xp.DType()


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_promotion_is_the_standards_and_keeps_the_width_of_floats(a, b):
    x, y = getattr(xp, a), getattr(xp, b)
    numpys = np.promote_types(a, b)
    integers = {"i", "u"}
    if {a, b} >= {"uint64"} and (x.kind == "i" or y.kind == "i"):
        with pytest.raises(TypeError, match="no dtype holds both"):
            xp.result_type(x, y)
    elif (x.kind in integers) != (y.kind in integers) and numpys.kind in "fc":
        floating = y if x.kind in integers else x
        assert xp.result_type(x, y) == floating
    else:
        assert xp.result_type(x, y) == numpys


def test_devices_are_equal_to_their_names():
    device = xp.asarray(1.0).device
    assert device == "cpu" and "cpu" == device and not device != "cpu"
    assert device != "cuda" and device != 1 and device is not None
    assert hash(device) == hash("cpu") and str(device) == "cpu"
    assert device == xp.Device("cpu") == xp.Device(device)
    assert repr(device) == "arrayx.Device('cpu')"
    assert pickle.loads(pickle.dumps(device)) == device
    assert xp.zeros(2, device="cpu").device == xp.zeros(2, device=device).device
    assert xp.Device("cuda:1") == "cuda:1" and xp.Device("cuda:1").index == 1
    assert xp.Device("cuda") == xp.Device("cuda:0")


@pytest.mark.parametrize("bad", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999", ""])
def test_unknown_devices_are_refused(bad):
    with pytest.raises(ValueError, match="unknown"):
        xp.Device(bad)
    with pytest.raises(ValueError, match="unknown"):
        xp.zeros(2, device=bad)


def test_a_device_that_is_not_here_is_a_value_error():
    with pytest.raises(ValueError):
        xp.zeros(2, device="cuda:9999")


def test_a_device_is_a_context_that_restores_the_default():
    with xp.Device("cpu"):
        assert xp.zeros(1).device == "cpu"
    with pytest.raises(ValueError), xp.Device("cuda:9999"):
        pass
    assert xp.zeros(1).device == "cpu"


def test_the_hash_is_numpys_under_every_seed_and_without_numpy():
    # The hash of bytes is salted per process, so it is compared in processes of their own; ours is
    # taken before NumPy is imported.
    program = (
        "import sys, arrayx as xp\n"
        f"names = {NAMES}\n"
        "ours = [hash(getattr(xp, n)) for n in names]\n"
        "assert 'numpy' not in sys.modules\n"
        "import numpy as np\n"
        "assert ours == [hash(np.dtype(n)) for n in names]\n"
    )
    for seed in ("0", "1", "random"):
        subprocess.run(
            [sys.executable, "-c", program], check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
