"""Dtype and device objects: identity, equality with NumPy's, hashing, pickling, the promotion lattice,
and the data type functions of the standard."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from strided import Draw, alike, ours, shares_memory

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
    "float16",
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


@pytest.mark.parametrize(
    "bad", ["bfloat16", "Float32", "", str, 3, np.dtype("longdouble"), np.longdouble, np.str_]
)
def test_other_things_are_no_dtypes(bad):
    with pytest.raises(TypeError):
        xp.zeros(2, dtype=bad)


@pytest.mark.parametrize("name", NAMES)
def test_names_stand_for_the_dtypes(name):
    assert xp.zeros(2, dtype=name).dtype == getattr(xp, name)
    assert xp.can_cast(name, name)


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
    device = xp.asarray(1.0, device="cpu").device
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
    before = xp.zeros(1).device
    with xp.Device("cpu"):
        assert xp.zeros(1).device == "cpu"
    with pytest.raises(ValueError), xp.Device("cuda:9999"):
        pass
    assert xp.zeros(1).device == before


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


# ---- can_cast, isdtype, finfo, iinfo ------------------------------------------------------------

KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "integral": [n for n in NAMES if "int" in n],
    "real floating": ["float16", "float32", "float64"],
    "complex floating": ["complex64", "complex128"],
    "numeric": [n for n in NAMES if n != "bool"],
}


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_a_cast_is_safe_if_promotion_leads_there(a, b):
    x, y = getattr(xp, a), getattr(xp, b)
    try:
        expected = xp.result_type(x, y) == y
    except TypeError:
        expected = False
    assert xp.can_cast(x, y) is expected
    assert xp.can_cast(xp.ones((2, 0), dtype=x), y) is expected
    if x.kind == y.kind:
        assert expected == (x.itemsize <= y.itemsize)


def test_can_cast_takes_dtypes_and_arrays_only():
    assert xp.can_cast(np.dtype("int8"), xp.int16)
    for bad in ("byte", 1, None, [1]):
        with pytest.raises(TypeError, match="can_cast"):
            xp.can_cast(bad, xp.int8)
        with pytest.raises(TypeError, match=r"can_cast|dtype"):
            xp.can_cast(xp.int8, bad)


@pytest.mark.parametrize("name", NAMES)
def test_every_dtype_is_of_its_kinds_and_no_others(name):
    dtype = getattr(xp, name)
    of = {kind for kind, names in KINDS.items() if name in names}
    for kind in KINDS:
        assert xp.isdtype(dtype, kind) is (kind in of)
    for other in NAMES:
        assert xp.isdtype(dtype, getattr(xp, other)) is (name == other)
        assert xp.isdtype(dtype, np.dtype(other)) is (name == other)
    for first, second in itertools.combinations(KINDS, 2):
        assert xp.isdtype(dtype, (first, second)) is bool({first, second} & of)
    assert xp.isdtype(dtype, (xp.bool, ("complex floating", dtype)))
    assert not xp.isdtype(dtype, ())


def test_isdtype_refuses_what_is_neither_dtype_nor_kind():
    for bad in ("float32", "", "Bool", "floating"):
        with pytest.raises(ValueError, match="kind"):
            xp.isdtype(xp.float32, bad)
    for bad in (1, None, ["bool"], xp.ones(2)):
        with pytest.raises(TypeError, match="isdtype: kind"):
            xp.isdtype(xp.float32, bad)
    for bad in ("float32", 1, None, xp.ones(2)):
        with pytest.raises(TypeError, match="isdtype: dtype"):
            xp.isdtype(bad, "numeric")


@pytest.mark.parametrize("name", KINDS["real floating"] + KINDS["complex floating"])
def test_limits_of_floats_are_numpys(name):
    theirs = np.finfo(name)
    for argument in (getattr(xp, name), xp.ones(3, dtype=getattr(xp, name)), np.dtype(name)):
        ours = xp.finfo(argument)
        for field in ("bits", "eps", "max", "min", "smallest_normal"):
            value = getattr(ours, field)
            assert value == float(getattr(theirs, field))
            assert type(value) is (int if field == "bits" else float)
        assert ours.dtype == theirs.dtype and isinstance(ours.dtype, xp.DType)
        assert ours == xp.finfo(ours.dtype) and hash(ours) == hash(xp.finfo(ours.dtype))
        assert eval(repr(ours).replace("arrayx.", "xp."), {"xp": xp, "finfo_object": dict}) == {
            field: getattr(ours, field) for field in ours.__slots__
        }
    assert xp.finfo(xp.float32) != xp.finfo(xp.float64)


@pytest.mark.parametrize("name", KINDS["integral"])
def test_limits_of_integers_are_numpys(name):
    theirs = np.iinfo(name)
    for argument in (getattr(xp, name), xp.ones(3, dtype=getattr(xp, name)), np.dtype(name)):
        ours = xp.iinfo(argument)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
        assert type(ours.max) is type(ours.min) is int
        assert ours.dtype == theirs.dtype
        for value in (ours.max, ours.min):  # they are the limits of the arrays
            assert xp.full(1, value, dtype=ours.dtype).tolist() == [value]
            with pytest.raises(OverflowError):
                xp.full(1, value + (1 if value > 0 else -1), dtype=ours.dtype)


def test_limits_of_other_dtypes_are_type_errors():
    for name in KINDS["integral"] + KINDS["bool"]:
        with pytest.raises(TypeError, match=f"finfo: type must be a floating dtype, not {name}"):
            xp.finfo(getattr(xp, name))
    for name in [n for n in NAMES if "int" not in n]:
        with pytest.raises(TypeError, match=f"iinfo: type must be an integer dtype, not {name}"):
            xp.iinfo(getattr(xp, name))
    for function in (xp.finfo, xp.iinfo):
        for bad in ("float", 1.0, None, [1]):
            with pytest.raises(TypeError, match="type must be a dtype"):
                function(bad)


# ---- result_type ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_python_scalars_are_weak_in_result_type(name):
    dtype = getattr(xp, name)
    x = xp.ones(2, dtype=dtype)
    for scalar in (True, 2, 1.5, 1j):
        if isinstance(scalar, complex):
            single = name in ("float16", "float32", "complex64")
            expected = xp.complex64 if single else xp.complex128
        elif isinstance(scalar, float) and dtype.kind in "biu":
            expected = xp.float64
        elif not isinstance(scalar, bool) and isinstance(scalar, int) and name == "bool":
            expected = xp.int64
        else:
            expected = dtype
        assert xp.result_type(x, scalar) == xp.result_type(scalar, dtype) == expected
        if not isinstance(scalar, bool):
            assert xp.result_type(x, scalar) == xp.where(xp.asarray([True, False]), x, scalar).dtype


def test_result_type_of_many():
    assert xp.result_type(xp.int8) == xp.int8
    assert xp.result_type(xp.int8, xp.uint8, xp.ones(1, dtype=xp.float32), 3) == xp.float32
    assert xp.result_type(xp.int8, xp.uint32, 2.0) == xp.float64
    # The order does not matter.
    for some in itertools.permutations([xp.int16, xp.uint8, xp.bool, xp.float32, 1j]):
        assert xp.result_type(*some) == xp.complex64
    assert xp.result_type(xp.ones((0, 3)), xp.asarray(1)) == xp.float64  # values do not matter


def test_result_type_of_scalars_alone_is_the_default_dtype():
    for scalars, dtype in [
        ((True,), xp.bool),
        ((1, True), xp.int64),
        ((1, 2.0), xp.float64),
        ((1j, 1), xp.complex128),
    ]:
        assert xp.result_type(*scalars) == dtype


def test_bad_arguments_of_result_type():
    with pytest.raises(ValueError, match="result_type needs at least one"):
        xp.result_type()
    for bad in ("float", None, [1]):
        with pytest.raises(TypeError, match="result_type"):
            xp.result_type(xp.int8, bad)


# ---- astype ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NAMES, NAMES)))
def test_casts_agree_with_numpy(a, b):
    draw = Draw(NAMES.index(a) * len(NAMES) + NAMES.index(b))
    from_, to = np.dtype(a), np.dtype(b)
    for shape in [(), (7,), (3, 4, 5), (0, 2), (300, 41), (41, 3000)]:
        values = draw.values(shape, a)
        if from_.kind in "fc" and to.kind in "iu":  # what does not fit is undefined
            with np.errstate(all="ignore"):
                low = 0 if to.kind == "u" else -100
                fits = np.isfinite(values.real) & (values.real > low) & (values.real < 100)
            values = np.where(fits, values, 1.75).astype(from_)
        theirs = draw.layout(values)
        x = ours(theirs)
        if from_.kind == "c" and to.kind not in "cb":
            with pytest.raises(TypeError, match=f"cannot cast {a} to {b}"):
                xp.astype(x, getattr(xp, b))
            continue
        with np.errstate(all="ignore"):
            expected = theirs.astype(to)
        y = xp.astype(x, getattr(xp, b))
        alike(y, expected)
        assert not shares_memory(y, x)
        z = xp.astype(x, getattr(xp, b), copy=False)
        alike(z, expected)
        if theirs.size:
            assert shares_memory(z, x) == (a == b)


def rounded(v, digits):
    """The integer v to so many binary digits, ties to even."""
    cut = max(abs(v).bit_length() - digits, 0)
    kept, rest, half = abs(v) >> cut, abs(v) & ((1 << cut) - 1), (1 << cut) >> 1
    kept += rest > half or (rest == half > 0 and kept & 1)
    return (kept << cut) * (-1 if v < 0 else 1)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(("to", "digits"), [("float32", 24), ("float64", 53)])
def test_integers_are_rounded_once(dtype, to, digits):
    """Halfway between two results, and next to that: where two roundings differ from one."""
    info = np.iinfo(dtype)
    draw = Draw(info.bits + digits).numpy
    values = {0, info.min, info.max}
    for bits in range(digits, info.bits):
        for kept in draw.integers(2 ** (digits - 1), 2**digits, 20).tolist():
            half = (2 * kept + 1) << (bits - digits)  # of bits + 1 binary digits
            values |= {s * (half + e) for e in (-1, 0, 1, 2**bits >> 32) for s in (1, -1)}
    values = sorted(v for v in values if info.min <= v <= info.max)
    got = xp.astype(ours(np.asarray(values, dtype)), getattr(xp, to)).tolist()
    assert [int(v) for v in got] == [rounded(v, digits) for v in values]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("to", NAMES[1:9])
def test_floating_numbers_are_cut_off_to_integers(dtype, to):
    """Every power of two that fits and what stands next to it, many at once and a few."""
    info = np.iinfo(to)
    powers = np.ldexp(1.0, np.arange(-2, info.bits)).astype(dtype)
    values = np.concatenate([powers, np.nextafter(powers, 0), powers + powers / 4, [0.0, -0.0]])
    values = np.concatenate([values, -values, [0.99, -0.99]]).astype(dtype)
    fits = [v for v in values.tolist() if info.min <= int(v) <= info.max]
    for count in (3, len(fits)):
        x = ours(np.resize(np.asarray(fits[-count:], dtype), 5 * count))
        assert xp.astype(x, getattr(xp, to)).tolist() == [int(v) for v in fits[-count:]] * 5


def test_casts_at_the_limits():
    x = xp.asarray([2.0**63 - 1024, -(2.0**63), 2.0**53 + 2, 0.99, -0.99])
    assert xp.astype(x, xp.int64).tolist() == [2**63 - 1024, -(2**63), 2**53 + 2, 0, 0]
    x = xp.asarray([2.0**64 - 2048, 2.0**63, 255.9])
    assert xp.astype(x, xp.uint64).tolist() == [2**64 - 2048, 2**63, 255]
    x = xp.asarray([-1, 256, 300, -129, 2**40 + 7])
    assert xp.astype(x, xp.uint8).tolist() == [255, 0, 44, 127, 7]
    assert xp.astype(x, xp.int8).tolist() == [-1, 0, 44, 127, 7]
    x = xp.asarray([2**24 + 1, 2**24 + 3, 2**63 - 1, -(2**63)])  # ties go to even
    assert xp.astype(x, xp.float32).tolist() == [2.0**24, 2.0**24 + 4, 2.0**63, -(2.0**63)]
    x = xp.asarray([float("nan"), 0j, complex(0, float("nan")), 1e-320, -0.0])
    assert xp.astype(x, xp.bool).tolist() == [True, False, True, True, False]
