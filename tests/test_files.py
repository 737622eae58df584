"""save and load: .npy and .npz files, against NumPy's in both directions, and damaged files."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from strided import DTYPES, Draw

import arrayx as xp
from arrayx import _files

pytestmark = pytest.mark.cpu  # through which all elements go; test_devices.py has the rest

SHAPES = [(), (1,), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 5, 1)]


def numpys_bytes(a, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, a, version=version, allow_pickle=True)
    return file.getvalue()


def our_bytes(x):
    file = io.BytesIO()
    xp.save(file, x)
    return file.getvalue()


def loaded(data, **options):
    return xp.load(io.BytesIO(data), **options)


def same(x, a):
    """Whether an array of arrayx has NumPy's dtype, shape and bits."""
    b = np.asarray(x)
    return b.dtype == a.dtype and b.shape == a.shape and b.tobytes() == a.tobytes()


def npy(descr="'<f8'", order="False", shape="(2,)", data=bytes(16), version=1, text=None):
    """Return the bytes of a .npy file whose header holds these texts."""
    if text is None:
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    text = text.encode("utf-8" if version == 3 else "latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


@st.composite
def arrays(draw):
    seeded = Draw(draw(st.integers(0, 10**9)))
    dtype = draw(st.sampled_from(DTYPES))
    return seeded.values(seeded.shape(), dtype)


class TestAgainstNumPy:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", SHAPES)
    def test_files_are_numpys_byte_for_byte(self, shape, dtype):
        a = Draw(1).values(shape, dtype)
        for b in (a, np.asfortranarray(a)):
            assert our_bytes(xp.asarray(b)) == numpys_bytes(b)

    @given(
        arrays(),
        st.sampled_from("CF"),
        st.sampled_from("<>"),
        st.sampled_from([(1, 0), (2, 0), (3, 0)]),
    )
    def test_numpys_files_are_read(self, a, order, byte_order, version):
        stored = np.array(a, dtype=a.dtype.newbyteorder(byte_order), order=order)
        x = loaded(numpys_bytes(stored, version))
        assert same(x, a)

    @given(arrays(), st.data())
    def test_numpy_reads_ours(self, a, data):
        axes = data.draw(st.permutations(range(a.ndim)))
        steps = [data.draw(st.sampled_from([1, -1, 2])) for _ in range(a.ndim)]
        index = tuple(slice(None, None, step) for step in steps)
        x = xp.permute_dims(xp.asarray(a)[index], tuple(axes))
        expected = a[index].transpose(axes)
        assert same(np.load(io.BytesIO(our_bytes(x)), allow_pickle=False), expected)
        assert same(loaded(our_bytes(x)), expected)

    @given(st_numpy.arrays(np.int16, st_numpy.array_shapes(min_dims=0, max_dims=12, max_side=2)))
    def test_high_ranks(self, a):
        assert same(loaded(numpys_bytes(a)), a)
        assert our_bytes(xp.asarray(a)) == numpys_bytes(a)

    @pytest.mark.parametrize("ndim", range(1, 65))
    def test_headers_of_any_length(self, ndim):
        a = np.zeros((11,) + (1,) * (ndim - 1))
        assert our_bytes(xp.asarray(a)) == numpys_bytes(a)

    def test_more_dimensions_than_numpy_has(self):
        x = xp.ones((1,) * 300)
        assert loaded(our_bytes(x)).shape == x.shape

    def test_strided_arrays_are_written_in_blocks(self, monkeypatch):
        a = np.arange(4 * 6 * 10, dtype=np.int32).reshape(4, 6, 10)
        x = xp.asarray(a)
        for limit in (1, 39, 40, 100, 240, 700, 10**6):
            monkeypatch.setattr(_files, "block_bytes", limit)
            for y, b in [
                (x[:, ::2, ::-1], a[:, ::2, ::-1]),
                (xp.permute_dims(x, (1, 0, 2)), a.transpose(1, 0, 2)),
                (xp.broadcast_to(x[:, :1, :], (4, 6, 10)), np.broadcast_to(a[:, :1], (4, 6, 10))),
            ]:
                assert same(np.load(io.BytesIO(our_bytes(y))), np.ascontiguousarray(b))

    @pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("bool", "int8", "uint8")])
    def test_the_other_byte_order_in_blocks(self, dtype, monkeypatch):
        a = Draw(3).values((1001,), dtype)
        for items in (1, 7, 1000, 1 << 16):
            monkeypatch.setattr(_files, "swap_items", items)
            assert same(loaded(numpys_bytes(a.astype(a.dtype.newbyteorder(">")))), a)

    def test_column_major_elements_are_not_copied(self):
        x = loaded(numpys_bytes(np.asfortranarray(np.ones((3, 4)))))
        assert x.strides == (8, 24)

    def test_what_is_no_array_becomes_one(self):
        assert same(loaded(our_bytes([[1, 2], [3, 4]])), np.asarray([[1, 2], [3, 4]]))
        assert same(loaded(our_bytes(2.5)), np.asarray(2.5))
        assert same(loaded(our_bytes(np.float32([1, 2]))), np.float32([1, 2]))

    def test_headers_of_python_2(self):
        x = loaded(npy(shape="(2L, 1L)"))
        assert x.shape == (2, 1)

    def test_other_spellings_of_dtypes(self):
        for descr in ("'f8'", "'=f8'", "'|f8'", '"<f8"'):
            assert loaded(npy(descr=descr)).dtype == xp.float64
        assert loaded(npy(descr="'>i1'", data=b"\x01\x02")).tolist() == [1, 2]


class TestFiles:
    @pytest.mark.parametrize("kind", [str, Path, os.fsencode])
    def test_paths(self, kind, tmp_path):
        for name in ("x", "x.npy", "x.dat"):
            xp.save(kind(str(tmp_path / name)), xp.arange(3))
        assert sorted(os.listdir(tmp_path)) == ["x.dat.npy", "x.npy"]
        assert xp.load(kind(str(tmp_path / "x.npy"))).tolist() == [0, 1, 2]
        with pytest.raises(FileNotFoundError):
            xp.load(kind(str(tmp_path / "absent.npy")))

    def test_arrays_one_after_another(self, tmp_path):
        path = tmp_path / "several.npy"
        arrays = [np.arange(5), np.ones((2, 2), np.float32), np.zeros((0, 3)), np.asarray(True)]
        with open(path, "wb") as file:
            for a in arrays:
                xp.save(file, xp.asarray(a))
        with open(path, "rb") as file:
            for a in arrays:
                assert same(np.load(file), a)
        with open(path, "rb") as file:
            for a in arrays:
                assert same(xp.load(file), a)
        with pytest.raises(ValueError, match="bytes follow the elements"):
            xp.load(path)

    def test_files_without_a_buffer(self, tmp_path):
        a = np.arange(100_000)
        with open(tmp_path / "x.npy", "wb", buffering=0) as file:
            xp.save(file, xp.asarray(a))
        with open(tmp_path / "x.npy", "rb", buffering=0) as file:
            assert same(xp.load(file), a)

    def test_objects_that_only_read_or_write_little(self):
        class Writer:
            def __init__(self):
                self.data = b""

            def write(self, data):
                part = bytes(data)[:1000]
                self.data += part
                return len(part)

        class Reader:
            def __init__(self, data):
                self.file = io.BytesIO(data)

            def read(self, n):
                return self.file.read(min(n, 1000))

        a = np.arange(5000)
        writer = Writer()
        xp.save(writer, xp.asarray(a))
        assert writer.data == numpys_bytes(a)
        assert same(xp.load(Reader(writer.data)), a)
        with pytest.raises(ValueError, match=r"truncated: 40000 bytes.*39999"):
            xp.load(Reader(writer.data[:-1]))

    def test_pipes(self):
        a = np.arange(100_000)
        read, write = os.pipe()

        def send():
            with open(write, "wb") as file:
                xp.save(file, xp.asarray(a))

        thread = threading.Thread(target=send)
        thread.start()
        with open(read, "rb") as file:
            assert same(xp.load(file), a)
        thread.join()

    def test_text_files_are_refused(self):
        with pytest.raises(TypeError, match="returned str, not bytes"):
            xp.load(io.StringIO("text"))
        with pytest.raises(TypeError):
            xp.save(io.StringIO(), xp.ones(2))

    def test_the_device(self, tmp_path):
        xp.save(tmp_path / "x.npy", xp.ones(2))
        xp.savez(tmp_path / "x.npz", a=xp.ones(2))
        assert xp.load(tmp_path / "x.npy", device="cpu").device == "cpu"
        assert xp.load(tmp_path / "x.npy", device=xp.Device("cpu")).device == "cpu"
        with xp.load(tmp_path / "x.npz", device="cpu") as archive:
            assert archive["a"].device == "cpu"
        for name in ("x.npy", "x.npz"):
            with pytest.raises(ValueError, match="device 'tpu' is unknown"):
                xp.load(tmp_path / name, device="tpu")


class TestMapping:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_reading(self, dtype, tmp_path):
        for i, shape in enumerate(SHAPES):
            for order in "CF":
                a = np.array(Draw(i).values(shape, dtype), order=order)
                np.save(tmp_path / "x.npy", a)
                x = xp.load(tmp_path / "x.npy", "r")
                assert same(x, a)
                assert not x.writable or a.size == 0

    def test_nothing_is_read_before_it_is_used(self, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, np.zeros(1 << 20))
        before = xp.memory.info().in_use
        x = xp.load(path, mmap_mode="r")
        assert xp.memory.info().in_use == before
        with open(path, "r+b") as file:
            file.seek(-8, os.SEEK_END)
            file.write(np.float64(5).tobytes())
        assert float(x[-1]) == 5.0

    def test_writing_through(self, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, np.zeros((2, 3), np.complex64))
        x = xp.load(path, "r+")
        x[1, :] = 2j
        del x
        assert np.load(path).tolist() == [[0, 0, 0], [2j, 2j, 2j]]

    def test_changes_kept_in_memory(self, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, np.zeros(3))
        x = xp.load(path, "c")
        x[...] = 7
        assert float(xp.sum(x)) == 21.0
        assert np.load(path).tolist() == [0, 0, 0]

    def test_what_cannot_be_mapped(self, tmp_path):
        path = tmp_path / "x.npy"
        np.save(path, np.zeros(3, ">f8"))
        with pytest.raises(ValueError, match="other byte order"):
            xp.load(path, "r")
        path.write_bytes(npy(text="{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} \n"))
        with pytest.raises(ValueError, match="not aligned"):
            xp.load(path, "r")
        path.write_bytes(npy(data=bytes(15)))
        with pytest.raises(ValueError, match="truncated"):
            xp.load(path, "r")
        path.write_bytes(npy(descr="'|b1'", data=b"\x01\x02"))
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            xp.load(path, "r")
        np.savez(path.with_suffix(".npz"), np.ones(2))
        with pytest.raises(ValueError, match="cannot be mapped"):
            xp.load(path.with_suffix(".npz"), "r")
        with pytest.raises(ValueError, match="needs a path"):
            xp.load(io.BytesIO(npy()), "r")
        with pytest.raises(ValueError, match="mmap_mode must be"):
            xp.load(path, "w+")


class TestArchives:
    @pytest.mark.parametrize("function", ["savez", "savez_compressed"])
    @given(st.lists(arrays(), max_size=3), st.dictionaries(st.text("abc_", max_size=3), arrays()))
    def test_both_directions(self, function, positional, named):
        ours, numpys = io.BytesIO(), io.BytesIO()
        getattr(xp, function)(
            ours,
            *[xp.asarray(a) for a in positional],
            **{name: xp.asarray(a) for name, a in named.items()},
        )
        getattr(np, function)(numpys, *positional, **named)
        expected = {f"arr_{i}": a for i, a in enumerate(positional)} | named
        ours.seek(0)
        numpys.seek(0)
        with np.load(ours) as theirs, xp.load(numpys) as archive:
            assert sorted(theirs.files) == sorted(expected) == sorted(archive.files)
            assert list(archive) == archive.files and len(archive) == len(expected)
            for name, a in expected.items():
                assert same(theirs[name], a)
                assert same(archive[name], a)
                assert same(archive[name + ".npy"], a)

    def test_paths_names_and_lookup(self, tmp_path):
        xp.savez(tmp_path / "x", xp.arange(2), file=xp.ones(3))
        assert os.listdir(tmp_path) == ["x.npz"]
        with xp.load(tmp_path / "x.npz") as archive:
            assert archive.files == ["arr_0", "file"]
            assert "file" in archive and "file.npy" in archive and "other" not in archive
            assert {name: x.shape for name, x in archive.items()} == {"arr_0": (2,), "file": (3,)}
            assert repr(archive) == "<NpzFile with arr_0, file>"
            with pytest.raises(
                KeyError, match="other is not in the archive, which has arr_0, file"
            ):
                archive["other"]
        assert repr(archive).startswith("<closed NpzFile")
        with pytest.raises(ValueError, match="closed"):
            archive["file"]
        with pytest.raises(ValueError, match="'arr_0' is that of a positional array"):
            xp.savez(tmp_path / "y.npz", xp.ones(2), arr_0=xp.ones(2))
        assert not (tmp_path / "y.npz").exists()

    def test_the_file_is_closed(self, tmp_path):
        xp.savez(tmp_path / "x.npz", a=xp.ones(3))
        archive = xp.load(tmp_path / "x.npz")
        file = archive._file
        archive.close()
        assert file.closed
        archive.close()
        archive = xp.load(tmp_path / "x.npz")
        file = archive._file
        del archive
        assert file.closed
        with open(tmp_path / "x.npz", "rb") as file:
            xp.load(file).close()
            assert not file.closed

    def test_members_are_read_when_asked_for(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("good.npy", numpys_bytes(np.arange(3)))
            archive.writestr("text.txt", b"some text")
            archive.writestr("objects.npy", numpys_bytes(np.asarray([None])))
            archive.writestr("short.npy", numpys_bytes(np.arange(3))[:-1])
            archive.writestr("long.npy", numpys_bytes(np.arange(3)) + b"x")
        file.seek(0)
        archive = xp.load(file)
        assert archive["good"].tolist() == [0, 1, 2]
        with pytest.raises(ValueError, match=r"neither a \.npy"):
            archive["text.txt"]
        with pytest.raises(TypeError, match="object"):
            archive["objects"]
        with pytest.raises(ValueError, match="truncated"):
            archive["short"]
        with pytest.raises(ValueError, match="follow the elements"):
            archive["long"]

    def test_two_members_of_one_name(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.npy", numpys_bytes(np.arange(3)))
            archive.writestr("a", numpys_bytes(np.arange(4)))
        file.seek(0)
        with pytest.raises(ValueError, match="one name"):
            xp.load(file)

    def test_an_empty_archive(self):
        file = io.BytesIO()
        xp.savez(file)
        file.seek(0)
        assert dict(xp.load(file)) == {}

    @pytest.mark.parametrize("function", [xp.savez, xp.savez_compressed])
    @pytest.mark.parametrize("size", [0, 10, 3000, 1 << 17])
    def test_the_checksum_is_compared(self, function, size):
        file = io.BytesIO()
        function(file, a=xp.asarray(np.random.default_rng(0).standard_normal(size)))
        data = bytearray(file.getvalue())
        data[data.rindex(b"PK\x01\x02") + 16] ^= 1
        with pytest.raises(ValueError, match="CRC"):
            loaded(bytes(data))["a"]

    def test_encrypted_members(self):
        file = io.BytesIO()
        xp.savez(file, a=xp.ones(2))
        data = bytearray(file.getvalue())
        for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            data[data.index(signature) + offset] |= 1
        with pytest.raises(ValueError, match="encrypted"):
            loaded(bytes(data))["a"]


class TestRefused:
    @pytest.mark.parametrize(
        ("array", "name"),
        [
            (np.asarray([None, {}], object), "object"),
            (np.longdouble([1, 2]), r"float(128|96)"),
            (np.clongdouble([1, 2]), r"complex(256|192)"),
            (np.asarray(["a", "bc"]), "str"),
            (np.asarray([b"a", b"bc"]), "bytes"),
            (np.asarray(["2020-01-01"], "datetime64[D]"), "datetime64"),
            (np.asarray([1], "timedelta64[s]"), "timedelta64"),
            (np.zeros(2, "V3"), "void"),
            (np.zeros(2, [("x", "f8"), ("y", "i4")]), r"structured.*'x'.*'y'"),
        ],
    )
    def test_dtypes_without_counterpart(self, array, name):
        with pytest.raises(TypeError, match=name):
            loaded(numpys_bytes(array))

    def test_pickles_and_other_files(self):
        for data in (b"\x80\x05]\x94h\x00.", b"some text that is long enough", bytes(100)):
            with pytest.raises(ValueError, match=r"neither a \.npy nor a \.npz"):
                loaded(data)

    def test_nothing_is_evaluated(self):
        touched = []
        text = "{'descr': touch(), 'fortran_order': False, 'shape': (2,)}"
        with pytest.raises(ValueError, match="damaged"):
            loaded(npy(text=text))
        assert not touched
        for text in ("__import__('os').abort()", "(" * 5000, "-" * 5000 + "1", "1**2**3", "", "[]"):
            with pytest.raises(ValueError, match="header"):
                loaded(npy(text=text))

    @pytest.mark.parametrize(
        "fields",
        [
            {"shape": "[2]"},
            {"shape": "2"},
            {"shape": "(2.0,)"},
            {"shape": "(True, 2)"},
            {"shape": "(-2,)"},
            {"shape": "('2',)"},
            {"shape": "(4294967296, 4294967296, 4294967296)"},
            {"shape": f"({'9' * 50},)"},
            {"shape": "(" + "1, " * 2000 + ")"},
            {"order": "0"},
            {"order": "None"},
            {"descr": "'x8'"},
            {"descr": "'<f7'"},
            {"descr": "''"},
            {"descr": "None"},
            {"descr": "3"},
            {"text": "{'descr': '<f8', 'shape': (2,)}"},
            {"text": "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}"},
            {"text": " " * 65530 + "{}"},
            {
                "version": 2,
                "text": "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}" + " " * 70_000,
            },
            {"version": 4},
            {"version": 0},
        ],
    )
    def test_headers_that_make_no_sense(self, fields):
        with pytest.raises(ValueError, match=r"\.npy"):
            loaded(npy(**fields))

    def test_a_shape_larger_than_the_file_takes_no_memory(self, tmp_path):
        data = npy(shape="(1000000000000,)")
        (tmp_path / "x.npy").write_bytes(data)
        tracemalloc.start()
        for source in (io.BytesIO(data), tmp_path / "x.npy"):
            with pytest.raises(ValueError, match="truncated: 8000000000000 bytes"):
                xp.load(source)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
        tracemalloc.stop()
        assert xp.memory.info().in_use < 1 << 30

    def test_booleans_of_other_values(self):
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            loaded(npy(descr="'|b1'", data=b"\x01\xff"))

    @pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
    def test_truncation_anywhere(self, version, tmp_path):
        whole = numpys_bytes(np.arange(10, dtype=np.int16).reshape(2, 5), version)
        for n in range(len(whole)):
            with pytest.raises(ValueError):
                loaded(whole[:n])
            (tmp_path / "x.npy").write_bytes(whole[:n])
            with pytest.raises(ValueError):
                xp.load(tmp_path / "x.npy")

    def test_truncated_archives(self):
        file = io.BytesIO()
        xp.savez_compressed(file, a=xp.arange(100))
        whole = file.getvalue()
        for n in range(len(whole)):
            with pytest.raises(ValueError):
                loaded(whole[:n])["a"]

    @pytest.mark.parametrize("seed", range(3))
    def test_changed_bytes_of_a_header(self, seed, tmp_path):
        """What is still read is what NumPy reads."""
        random_ = random.Random(seed)
        path = tmp_path / "x.npy"
        whole = numpys_bytes(np.arange(24, dtype=np.int32).reshape(2, 3, 4))
        read = 0
        for _ in range(1000):
            data = bytearray(whole)
            for _ in range(random_.randint(1, 3)):
                data[random_.randrange(128)] = random_.choice(
                    b"0123456789<>(),'|fiTrueFals \x00\xff"
                )
            path.write_bytes(data)
            try:
                x = xp.load(path)
            except (ValueError, TypeError):
                continue
            read += 1
            assert same(x, np.load(path))
        assert 0 < read < 1000

    @pytest.mark.parametrize("function", [xp.savez, xp.savez_compressed])
    @pytest.mark.parametrize("seed", range(10))
    def test_changed_bytes_of_an_archive(self, function, seed):
        """The checksum finds every change of the elements."""
        random_ = random.Random(seed)
        a = np.random.default_rng(seed).standard_normal(50)
        file = io.BytesIO()
        function(file, a=xp.asarray(a))
        whole = file.getvalue()
        failed = 0
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(random_.randint(1, 4)):
                data[random_.randrange(len(data))] = random_.randrange(256)
            try:
                x = loaded(bytes(data))["a"]
            except (ValueError, TypeError, KeyError):
                failed += 1
            else:
                assert same(x, a)
        assert failed > 100


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="it keeps freed memory")
@pytest.mark.parametrize("how", ["load", "load swapped", "save strided", "savez", "load member"])
def test_large_files_do_not_take_memory_twice(how, tmp_path):
    """The peak grows by the array and two blocks; an array is 200 MB here, a block 16 MiB."""
    program = """
        import os, sys
        import arrayx as xp

        how, folder = sys.argv[1:]
        n = 25_000_000

        def peak():
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) << 10 for line in file if line[:6] == "VmHWM:")

        if how.startswith("save"):
            x = xp.reshape(xp.ones(n), (5000, 5000))
            xp.save(os.path.join(folder, "warm.npy"), xp.ones((3, 4)).T[::2, :])
            before = peak()
            if how == "savez":
                xp.savez(os.path.join(folder, "x.npz"), a=x)
            else:
                xp.save(os.path.join(folder, "x.npy"), x[:, ::-1])
            print(peak() - before)
        else:
            xp.sum(xp.ones(10))
            before = peak()
            if how == "load member":
                with xp.load(os.path.join(folder, "x.npz")) as archive:
                    x = archive["a"]
            else:
                x = xp.load(os.path.join(folder, "x.npy"))
            print(peak() - before - x.nbytes)
    """
    n = 25_000_000
    if how == "load":
        np.save(tmp_path / "x.npy", np.ones(n))
    elif how == "load swapped":
        np.save(tmp_path / "x.npy", np.ones(n, ">f8"))
    elif how == "load member":
        np.savez(tmp_path / "x.npz", a=np.ones(n))
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), how, str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 64 << 20
