"""The fft extension, compared with NumPy's transforms, with the definition in long arithmetic, and
with itself: the same bits for every layout and number of threads."""

import itertools
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strided import Draw, ours

import arrayx as xp
from arrayx import _core

# The CPU engine computes in double precision whatever the dtype; the library of a GPU does not, and
# its error is bound only by what grows with the passes.
ON_CPU = _core.default_device() == "cpu"
# Of single precision: each axis is rounded once.
SINGLE = 3e-7 if ON_CPU else 6e-7
TOLERANCE = {"f": SINGLE, "F": SINGLE, "d": 8e-15, "D": 8e-15}
COMPLEX = ["fft", "ifft", "irfft", "hfft"]
REAL = ["rfft", "ihfft"]
NORMS = ["backward", "ortho", "forward"]
COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}
# Every butterfly, products of several, generic primes, Bluestein's, and long ones of each kind.
LENGTHS = [
    *range(1, 70),
    *[77, 91, 97, 100, 101, 120, 121, 127, 128, 131, 143, 169, 210, 243, 251, 256, 343, 360, 499],
    *[512, 625, 720, 1000, 1009, 1021, 1024, 1155, 1331, 2018, 2187, 3000, 4096, 4099, 5005],
    *[10007, 16384, 20014, 30030, 65536, 65537, 99991, 131072],
]


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return a.astype(dtype)


def close(x, expected, scale=1.0):
    """Equal but for a rounding error in proportion to the norm of the whole."""
    assert isinstance(x, xp.Array)
    assert x.dtype == expected.dtype
    assert x.shape == expected.shape
    norm = np.linalg.norm(expected.ravel())
    error = np.linalg.norm((np.asarray(x) - expected).ravel())
    assert error <= scale * TOLERANCE[expected.dtype.char] * norm


def numpy_of(name, a, **kwargs):
    """NumPy's transform, computed in double precision, in the precision of a."""
    if a.real.dtype == np.float64:
        return getattr(np.fft, name)(a, **kwargs)
    out = getattr(np.fft, name)(a.astype({"f": "d", "F": "D"}[a.dtype.char]), **kwargs)
    return out.astype({"d": "f", "D": "F"}[out.dtype.char])


def ours_of(name, a, **kwargs):
    return getattr(xp.fft, name)(ours(a), **kwargs)


# ---- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(n, dtype):
    for batch in [(), (3,), (19,)] if n < 2000 else [(), (2,)]:
        z = random((*batch, n), dtype, n)
        for name in COMPLEX:
            for length in {n, 2 * (n - 1)} - {0} if name in ("irfft", "hfft") else {n}:
                close(ours_of(name, z, n=length), numpy_of(name, z, n=length))
        for name in REAL:
            close(ours_of(name, z.real), numpy_of(name, z.real))


@pytest.mark.parametrize("n", [1000003, 1 << 20, 3 * 333337, 2 * 499979])
def test_large_lengths(n):
    z = random((n,), "complex128")
    close(ours_of("fft", z), numpy_of("fft", z))
    close(ours_of("rfft", z.real), numpy_of("rfft", z.real))
    close(ours_of("irfft", z[: n // 2 + 1], n=n), numpy_of("irfft", z[: n // 2 + 1], n=n))


def exact(z):
    """The transform by its definition, in 40 digits."""
    n = len(z)
    with mpmath.workdps(40):
        roots = [mpmath.expjpi(mpmath.mpf(-2 * k) / n) for k in range(n)]
        terms = [mpmath.mpc(x) for x in z]
        return [mpmath.fdot(terms, [roots[j * k % n] for j in range(n)]) for k in range(n)]


@pytest.mark.parametrize("n", [5, 8, 12, 13, 17, 32, 60, 61, 64, 101, 131, 144])
def test_error_against_the_definition(n):
    # In double precision of the size of one rounding per pass: at most 1.5 epsilon *
    # sqrt(log2 n + 1) in the mean over elements. In single precision that of one rounding.
    double = 1.5 * 2.0**-52 * np.sqrt(np.log2(n) + 1)
    if n in (61, 101, 131):  # generic radices and Bluestein's convolution
        double *= 2
    single = 2.0**-24 if ON_CPU else double * 2.0**29
    for dtype, bound in [("complex128", double), ("complex64", single)]:
        z = random((n,), dtype, n)
        expected = exact(z.astype("complex128"))
        out = np.asarray(ours_of("fft", z)).astype("complex128")
        error = sum(abs(mpmath.mpc(out[k]) - expected[k]) ** 2 for k in range(n))
        norm = sum(abs(e) ** 2 for e in expected)
        assert float(mpmath.sqrt(error / norm)) < bound


def errors(name, shape, dtype):
    """The errors of ours and of NumPy's transforms relative to the norm, in the mean over some
    arrays, by NumPy's transforms in a longer floating dtype; and their rounding unit. On a GPU the
    place of NumPy's is taken by 1.5 epsilon * sqrt(log2 n + 1)."""
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("there is no longer floating dtype here")
    long = np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble
    kwargs = {}
    if name == "irfft":
        kwargs["n"] = shape[-1]
        shape = (*shape[:-1], shape[-1] // 2 + 1)
    count = min(3000, max(1, 60000 // int(np.prod(shape))))
    a = random((count, *shape), dtype, 0)
    # Ours has other ways for many at once, so each array is transformed alone.
    actual = np.stack([np.asarray(ours_of(name, part, **kwargs)) for part in a])
    if name.endswith("n"):
        kwargs["axes"] = range(1, a.ndim)
    transform = getattr(np.fft, name)
    expected = transform(a.astype(long), **kwargs)
    norm = np.sum(np.abs(expected) ** 2)
    ours = np.sum(np.abs(actual - expected) ** 2)
    theirs = np.sum(np.abs(transform(a, **kwargs) - expected) ** 2)
    eps = np.finfo(dtype).eps
    if not ON_CPU:
        theirs = norm * (1.5 * eps) ** 2 * (np.log2(np.prod(shape)) + 1)
    return *np.sqrt(np.asarray([ours, theirs]) / norm), eps


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
@pytest.mark.parametrize(
    "n",
    [
        *[2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20],
        *[3, 6, 10, 12, 15, 20, 28, 30, 60, 77, 80, 100, 1000, 1155, 3000, 30030, 120000],
        *[7, 11, 13, 17, 61, 97, 113, 127, 131, 199, 997, 1009, 2018, 4106, 8186, 10007, 65537],
    ],
)
def test_error_is_no_larger_than_that_of_numpy(n, dtype):
    for name in ("fft", "ifft", "irfft") if dtype.startswith("c") else ("rfft", "ihfft"):
        ours, theirs, eps = errors(name, (n,), dtype)
        # A real transform by one of half the length has a rounding more, which shows at a few
        # lengths on processors without fused multiply-add.
        factor = 1.12 if name in ("irfft", "rfft", "ihfft") else 1.05
        assert ours <= factor * theirs + 0.02 * eps, name


# The passes of NumPy are of small error up to a prime factor that depends on the length and the kind
# of transform; in a batch other ways may be taken than for one.
@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("prime", [151, 197, 211, 251, 293, 331, 359, 389, 401, 421, 499])
def test_error_with_a_larger_prime_factor_is_no_larger_than_that_of_numpy(prime, batch):
    for n in (prime * factor for factor in (1, 3, 4, 16)):
        for name, dtype in [("fft", "complex128"), ("irfft", "complex128"), ("rfft", "float64")]:
            ours, theirs, eps = errors(name, (batch, n), dtype)
            # Sums over a few ten thousand elements: their own error is about a percent.
            assert ours <= 1.07 * theirs + 0.02 * eps, (name, n)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32", "float64"])
@pytest.mark.parametrize("shape", [(64, 64, 64), (100, 101), (1000, 30), (3, 4, 5, 6, 7)])
def test_error_over_several_axes_is_no_larger_than_that_of_numpy(shape, dtype):
    for name in ("fftn", "ifftn") if dtype.startswith("c") else ("rfftn",):
        ours, theirs, eps = errors(name, shape, dtype)
        assert ours <= 1.05 * theirs + 0.02 * eps, name


def test_error_at_a_large_prime():
    for name, dtype in [("fft", "complex128"), ("fft", "complex64"), ("rfft", "float64")]:
        ours, theirs, eps = errors(name, (200003,), dtype)
        assert ours <= 1.05 * theirs + 0.02 * eps


@pytest.mark.parametrize("n", [8, 12, 100, 1024, 1009, 1 << 16])
def test_the_transform_of_a_unit_is_the_roots(n):
    z = np.zeros(n, complex)
    z[1] = 1
    out = np.asarray(ours_of("fft", z))
    bound = 2.0**-52 * (16 if n == 1009 else 4)  # 1009 is a convolution
    with mpmath.workdps(30):
        for k in {*range(0, n, max(1, n // 97)), n // 8, n // 4, n // 3, n // 2}:
            assert abs(mpmath.mpc(out[k]) - mpmath.expjpi(mpmath.mpf(-2 * k) / n)) < bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["fft", "ifft", "fftn", "ifftn"])
def test_real_numbers_are_transformed_as_complex_ones(name, dtype):
    """They are transformed by halves where their number is even."""
    for n in [*range(1, 41), 64, 100, 250, 1000, 4096]:
        for shape, axis in (((n,), 0), ((3, n), 1), ((n, 5), 0), ((2, n, 3), 1), ((0, n), 1)):
            values = random(shape, dtype, n)
            for norm in NORMS:
                axes = tuple(i for i, size in enumerate(shape) if size)
                options = {"axes": axes} if name.endswith("n") else {"axis": axis}
                options["norm"] = norm
                expected = numpy_of(name, values.astype(COMPLEX_OF[dtype]), **options)
                for x in (values, np.asfortranarray(values), values[..., ::-1][..., ::-1]):
                    close(ours_of(name, x, **options), expected)
    values = random((40, 6), dtype, 1)
    for n in (16, 38, 50):
        options = {"s": (n, 6), "axes": (0, 1)} if name.endswith("n") else {"n": n, "axis": 0}
        expected = numpy_of(name, values.astype(COMPLEX_OF[dtype]), **options)
        close(ours_of(name, values, **options), expected)


@pytest.mark.parametrize(
    ("shape", "axis", "n"),
    [
        ((1 << 20,), 0, 1 << 20),
        ((1030, 1000), 1, 1024),
        ((1024, 1031), 0, 1024),
        ((700, 1501), 0, 700),
        ((70, 128, 130), 1, 128),
        ((70, 250, 63), 1, 260),
        ((3, 700, 505), 1, 700),
        ((1200, 1, 1000), 2, 990),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_real_numbers_are_transformed_as_complex_ones(shape, axis, n, dtype):
    """On a GPU they are transformed by halves where they are many, along any axis."""
    values = random(shape, dtype)
    for name in ("fft", "ifft"):
        expected = numpy_of(name, values.astype(COMPLEX_OF[dtype]), n=n, axis=axis)
        result = ours_of(name, values, n=n, axis=axis)
        close(result, expected)
        again = ours_of(name, np.asfortranarray(values), n=n, axis=axis)
        assert np.asarray(again).tobytes() == np.asarray(result).tobytes()


@given(st.integers(0, 10**9))
@settings(max_examples=300, deadline=None)
def test_any_layout_axis_and_length(seed):
    draw = Draw(seed)
    shape = draw.shape(min_dims=1, max_dims=4, max_side=12)
    axis = draw.randrange(-len(shape), len(shape))
    name = draw.choice(COMPLEX + REAL)
    double = draw.random() < 0.5
    if name in REAL:
        dtype = "float64" if double else "float32"
    else:
        dtype = draw.choice(["complex128", "float64"] if double else ["complex64", "float32"])
    values = random(shape, dtype, seed)
    size = shape[axis]
    n = draw.choice([None, draw.randint(1, 2 * size + 2)])
    if n is None and (2 * (size - 1) if name in ("irfft", "hfft") else size) < 1:
        n = 3
    norm = draw.choice(NORMS)
    expected = numpy_of(name, values, n=n, axis=axis, norm=norm)
    if size == 0:  # NumPy's irfft reads beyond an empty axis
        expected = np.zeros_like(expected)
    out = ours_of(name, draw.layout(values), n=n, axis=axis, norm=norm)
    close(out, expected)
    again = ours_of(name, draw.layout(values), n=n, axis=axis, norm=norm)
    assert np.asarray(again).tobytes() == np.asarray(out).tobytes()


@given(st.integers(0, 10**9))
@settings(max_examples=300, deadline=None)
def test_several_axes(seed):
    draw = Draw(seed)
    shape = tuple(draw.randint(1, 7) for _ in range(draw.randint(1, 4)))
    name = draw.choice(["fftn", "ifftn", "rfftn", "irfftn"])
    dtype = draw.choice(["float32", "float64"] if name == "rfftn" else ["complex64", "complex128"])
    axes = draw.sample(range(len(shape)), draw.randint(1, len(shape)))
    axes = [axis - draw.choice([0, len(shape)]) for axis in axes]
    s = [draw.randint(1, 9) for _ in axes]
    if draw.random() < 0.3:
        axes, s = None, None
    elif draw.random() < 0.3:
        s = None
    if name == "irfftn" and s is None and shape[-1 if axes is None else axes[-1]] == 1:
        shape = tuple(side + 1 for side in shape)
    norm = draw.choice(NORMS)
    values = random(shape, dtype, seed)
    expected = numpy_of(name, values, s=s, axes=axes, norm=norm)
    close(ours_of(name, draw.layout(values), s=s, axes=axes, norm=norm), expected)


@pytest.mark.parametrize(
    "shape",
    [
        (300, 70),
        (70, 300),
        (4, 5000),
        (5000, 4),
        (3, 1 << 16),
        (20, 21, 22),
        (480, 400),
        (700, 300),
    ],
)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_larger_arrays_over_every_axis(shape, dtype):
    z = random(shape, dtype)
    for axis in range(len(shape)):
        close(ours_of("fft", z, axis=axis), numpy_of("fft", z, axis=axis))
        close(ours_of("rfft", z.real, axis=axis), numpy_of("rfft", z.real, axis=axis))
        n = shape[axis]
        close(ours_of("irfft", z, axis=axis, n=n), numpy_of("irfft", z, axis=axis, n=n))
        view = np.asfortranarray(z)[::-1]
        out = np.asarray(ours_of("ifft", view, axis=axis))
        assert out.tobytes() == np.asarray(ours_of("ifft", np.array(view), axis=axis)).tobytes()
    close(ours_of("fftn", z), numpy_of("fftn", z))


def test_an_axis_named_twice_is_transformed_twice():
    z = random((4, 5), "complex128")
    close(ours_of("fftn", z, axes=(1, 1)), np.fft.fft(np.fft.fft(z)))


def test_lengths_of_minus_one_are_the_axis():
    z = random((4, 6), "complex128")
    close(ours_of("fftn", z, s=(-1, 3), axes=(0, 1)), np.fft.fftn(z, s=(4, 3), axes=(0, 1)))
    close(ours_of("irfftn", z, s=(3, -1), axes=(0, 1)), np.fft.irfftn(z, s=(3, 10), axes=(0, 1)))


def test_lengths_without_axes_are_of_the_last():
    z = random((3, 4, 5), "complex128")
    close(ours_of("fftn", z, s=(2, 6)), np.fft.fftn(z, s=(2, 6), axes=(1, 2)))


def test_no_axes():
    z = random((2, 3), "complex64")
    out = ours_of("fftn", z, axes=())
    assert np.asarray(out).tobytes() == z.tobytes()
    assert xp.fft.fftn(xp.asarray(2.0)).dtype == xp.complex128
    with pytest.raises(ValueError, match="axis"):
        xp.fft.rfftn(xp.asarray([1.0]), axes=())
    with pytest.raises(ValueError, match="axis"):
        xp.fft.irfftn(xp.asarray(1.0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_imaginary_parts_that_cannot_be_are_ignored(dtype):
    z = random((6,), "complex64" if dtype == "float32" else "complex128")
    changed = z.copy()
    changed[0] += 5j
    changed[5] -= 7j
    for n in (10, 11):
        a, b = ours_of("irfft", z, n=n), ours_of("irfft", changed, n=n)
        assert (np.asarray(a).tobytes() == np.asarray(b).tobytes()) == (n == 10)
        assert a.dtype == getattr(xp, dtype)


@pytest.mark.cpu  # cuFFT computes some rows together
def test_rows_do_not_touch_each_other():
    # One row of NaN or infinity leaves its neighbours, which share its registers, as they were.
    for n, name in itertools.product([15, 16, 101, 1009], [*COMPLEX, *REAL]):
        z = random((40, n), "complex128" if name in COMPLEX else "float64")
        clean = np.asarray(ours_of(name, z))
        z[7] = np.nan
        z[20] = np.inf
        out = np.asarray(ours_of(name, z))
        rest = [i for i in range(40) if i not in (7, 20)]
        assert out[rest].tobytes() == clean[rest].tobytes()
        assert np.isnan(out[7]).any()


def test_round_trips():
    for n in (1, 2, 7, 30, 101, 1000, 70000):
        z = random((n,), "complex128")
        close(xp.fft.ifft(ours_of("fft", z)), z)
        close(xp.fft.irfft(ours_of("rfft", z.real), n=n), z.real)
        close(xp.fft.hfft(ours_of("ihfft", z.real), n=n), z.real)
    z = random((5, 6, 7), "complex64")
    close(xp.fft.ifftn(ours_of("fftn", z, norm="ortho"), norm="ortho"), z)
    close(xp.fft.irfftn(ours_of("rfftn", z.real), s=(5, 6, 7), axes=(0, 1, 2)), z.real)


def test_inputs_are_left_alone_and_may_be_read_only():
    z = random((3, 300), "complex128")
    kept = z.copy()
    z.flags.writeable = False
    for name in ["fft", "ifftn", "irfft", "irfftn", "fftshift"]:
        ours_of(name, z)
    assert z.tobytes() == kept.tobytes()


# The engine of a GPU gives results in the memory order that their transforms left.
@pytest.mark.parametrize("shape", [(60, 24), (300, 24, 17), (3, 8, 5, 12)])
def test_transforms_of_a_result_have_the_bits_of_those_of_its_copy(shape):
    for axis in range(len(shape)):
        first = ours_of("fft", random(shape, "complex128"), axis=axis)
        copied = np.array(np.asarray(first), order="C")
        for again in range(len(shape)):
            for name in COMPLEX:
                out = getattr(xp.fft, name)(first, axis=again)
                expected = ours_of(name, copied, axis=again)
                assert np.asarray(out).tobytes() == np.asarray(expected).tobytes()
        axes = tuple(range(len(shape) - 1))
        out, expected = xp.fft.fftn(first, axes=axes), ours_of("fftn", copied, axes=axes)
        assert np.asarray(out).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.cpu  # cuFFT has different kernels for rows and for what stands side by side
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [7, 16, 60, 131, 200, 254, 1009, 1024, 5005])
def test_the_same_bits_at_every_place_of_a_batch(n, dtype):
    row = random((n,), dtype, n)
    for count in (2, 9, 37):
        rows = np.broadcast_to(row, (3, count, n))
        for name in (*COMPLEX, *REAL):
            values = rows if name in COMPLEX else rows.real
            out = np.asarray(ours_of(name, np.array(values)))
            assert out.tobytes() == np.broadcast_to(out[0, 0], out.shape).tobytes()
            # The same transforms side by side, and as the middle axis.
            for axis, order in ((0, (2, 0, 1)), (1, (0, 2, 1))):
                moved = np.ascontiguousarray(values.transpose(order))
                again = np.asarray(ours_of(name, moved, axis=axis))
                assert np.ascontiguousarray(np.moveaxis(again, axis, 2)).tobytes() == out.tobytes()


def test_a_forked_child_gives_the_same_bits():
    code = """
import os, numpy as np, arrayx as xp
z = xp.asarray(np.random.default_rng(0).standard_normal((4, 1 << 17)) + 1j)
before = np.asarray(xp.fft.fftn(z)).tobytes()
child = os.fork()
if child == 0:
    os._exit(0 if np.asarray(xp.fft.fftn(z)).tobytes() == before else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "4"}, check=True
    )


def test_the_same_bits_on_any_number_of_threads():
    code = """
import hashlib, numpy as np, arrayx as xp
rng = np.random.default_rng(0)
digest = hashlib.sha256()
for shape in [(1 << 17,), (100003,), (500, 500), (64, 64, 64)]:
    x = rng.standard_normal(shape)
    y = xp.fft.rfftn(xp.asarray(x))
    digest.update(np.asarray(y).tobytes())
    digest.update(np.asarray(xp.fft.irfftn(y)).tobytes())
    digest.update(np.asarray(xp.fft.fft(xp.asarray(x + 1j), axis=0)).tobytes())
print(digest.hexdigest())
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "3", "4")
    }
    assert len(digests) == 1


@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_every_instruction_set(isa):
    code = """
import numpy as np, arrayx as xp
rng = np.random.default_rng(0)
for n in [*range(1, 40), 101, 131, 256, 1000, 1009, 4099, 20000, 65537]:
    for d, eps in (("complex128", 1e-14), ("complex64", 1e-7)):
        z = (rng.standard_normal((3, n)) + 1j * rng.standard_normal((3, n))).astype(d)
        for a, axis in ((z, 1), (np.ascontiguousarray(z.T), 0)):
            for name in ("fft", "ifft", "irfft"):
                kwargs = {"axis": axis, "n": n}
                e = getattr(np.fft, name)(a.astype(complex), **kwargs)
                g = np.asarray(getattr(xp.fft, name)(xp.asarray(a), **kwargs))
                assert np.linalg.norm(g - e) <= eps * np.linalg.norm(e), (name, n, d)
            e = np.fft.rfft(a.real.astype(float), axis=axis)
            g = np.asarray(xp.fft.rfft(xp.asarray(a.real), axis=axis))
            assert np.linalg.norm(g - e) <= eps * np.linalg.norm(e), ("rfft", n, d)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "ARRAYX_ISA": isa, "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
    )
    if "does not have" in result.stderr or "only baseline" in result.stderr:
        pytest.skip("not on this machine")
    assert result.returncode == 0, result.stderr


# ---- shapes and dtypes ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_dtypes(name):
    takes = ["float32", "float64"] + (["complex64", "complex128"] if name in COMPLEX else [])
    for dtype in [
        "bool",
        "int8",
        "uint8",
        "int64",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]:
        x = xp.ones((4,), dtype=getattr(xp, dtype))
        if dtype in takes:
            real_result = name in ("irfft", "hfft")
            single = dtype in ("float32", "complex64")
            expected = (
                ("float32" if single else "float64")
                if real_result
                else ("complex64" if single else "complex128")
            )
            assert getattr(xp.fft, name)(x).dtype == getattr(xp, expected)
        else:
            with pytest.raises(TypeError, match=dtype):
                getattr(xp.fft, name)(x)


@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_empty_arrays(name):
    dtype = xp.float64 if name in REAL else xp.complex128
    function = getattr(xp.fft, name)
    x = xp.zeros((0, 6), dtype=dtype)
    expected = numpy_of(name, np.asarray(x))
    assert function(x).shape == expected.shape
    with pytest.raises(ValueError, match="n is "):
        function(x, axis=0)
    # Nothing but padding.
    assert np.all(np.asarray(function(x, axis=0, n=4)) == 0)


@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_errors(name):
    dtype = xp.float64 if name in REAL else xp.complex128
    function = getattr(xp.fft, name)
    x = xp.ones((3, 4), dtype=dtype)
    for n in (0, -1, -5):
        with pytest.raises(ValueError, match=f"n is {n}"):
            function(x, n=n)
    for axis in (2, -3):
        with pytest.raises(IndexError, match=f"axis {axis}"):
            function(x, axis=axis)
    with pytest.raises(IndexError, match="axis"):
        function(xp.asarray(1.0, dtype=dtype))
    with pytest.raises(
        ValueError, match="norm must be 'backward', 'ortho' or 'forward', not 'orto'"
    ):
        function(x, norm="orto")
    with pytest.raises(TypeError, match="norm"):
        function(x, norm=3)
    with pytest.raises(TypeError, match="n must be"):
        function(x, n=2.0)
    with pytest.raises(TypeError, match="x must be"):
        function([1.0, 2.0])


def test_one_element_has_no_default_inverse_of_rfft():
    for name in ("irfft", "hfft"):
        with pytest.raises(ValueError, match="n is 0"):
            ours_of(name, np.ones(1, complex))
        close(ours_of(name, np.ones(1, complex), n=1), np.ones(1))


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_errors_of_several_axes(name):
    x = xp.ones((3, 4), dtype=xp.float64 if name == "rfftn" else xp.complex128)
    function = getattr(xp.fft, name)
    with pytest.raises(ValueError, match="same length"):
        function(x, s=(3,), axes=(0, 1))
    with pytest.raises(ValueError, match="more lengths"):
        function(x, s=(3, 4, 5))
    with pytest.raises(ValueError, match="s is 0"):
        function(x, s=(3, 0), axes=(0, 1))
    with pytest.raises(IndexError, match="axes"):
        function(x, axes=(0, 2))
    with pytest.raises(ValueError, match="norm"):
        function(x, norm="")
    with pytest.raises(TypeError, match="int64"):
        function(xp.ones((3, 4), dtype=xp.int64))
    with pytest.raises(ValueError, match="s is 0"):
        function(xp.zeros((2, 0), dtype=x.dtype), s=(2, 0), axes=(0, 1))


def test_too_large_a_length_is_an_error_not_a_crash():
    for n in (1 << 50, (1 << 63) - 1):
        with pytest.raises((ValueError, MemoryError, OverflowError)):
            xp.fft.fft(xp.ones((4,), dtype=xp.complex128), n=n)
        with pytest.raises((ValueError, MemoryError, OverflowError)):
            xp.fft.irfft(xp.ones((4,), dtype=xp.complex128), n=n)


# ---- frequencies and shifts -------------------------------------------------------------------


@given(st.integers(1, 60), st.floats(0.01, 100))
def test_frequencies(n, d):
    np.testing.assert_allclose(np.asarray(xp.fft.fftfreq(n, d=d)), np.fft.fftfreq(n, d), rtol=1e-15)
    np.testing.assert_allclose(
        np.asarray(xp.fft.rfftfreq(n, d=d)), np.fft.rfftfreq(n, d), rtol=1e-15
    )


def test_frequencies_arguments():
    for function in (xp.fft.fftfreq, xp.fft.rfftfreq):
        assert function(4).dtype == xp.float64
        assert function(4, dtype=xp.float32, device="cpu").dtype == xp.float32
        assert function(1).tolist() == [0.0]
        with pytest.raises(ValueError, match="n must be at least 1, not 0"):
            function(0)
        with pytest.raises(ValueError, match="n must be at least 1, not -3"):
            function(-3)
        with pytest.raises(ValueError, match="d must not be 0"):
            function(3, d=0)
        for dtype in (xp.int32, xp.complex64):
            with pytest.raises(TypeError, match="dtype"):
                function(3, dtype=dtype)


@given(st.integers(0, 10**9))
def test_shifts(seed):
    draw = Draw(seed)
    a = draw.array(draw.shape(min_dims=1))
    axes = draw.choice([None, draw.sample(range(a.ndim), draw.randint(0, a.ndim))])
    if axes and draw.random() < 0.3:
        axes = axes[0]
    for name in ("fftshift", "ifftshift"):
        out = ours_of(name, a, axes=axes)
        expected = getattr(np.fft, name)(a, axes=axes)
        assert out.shape == expected.shape
        assert np.asarray(out).tobytes() == np.ascontiguousarray(expected).tobytes()
    with pytest.raises(IndexError, match="axes"):
        ours_of("fftshift", a, axes=a.ndim)


# ---- the cache of plans -----------------------------------------------------------------------


def test_threads_share_the_cache():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        n = [30, 64, 101, 1009, 3000, 5000, 1 << 15, 70001][seed % 8]
        z = random((n,), "complex128", seed)
        close(ours_of("fft", z), np.fft.fft(z))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))


def test_transforms_leave_no_arrays_behind():
    z = random((5, 3001), "complex128")
    ours_of("fftn", z)
    before = xp.memory.info("cpu").in_use
    for _ in range(3):
        ours_of("fftn", z)
        ours_of("irfft", z)
    assert xp.memory.info("cpu").in_use == before
