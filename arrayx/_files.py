"""Arrays in files: NumPy's .npy format (versions 1 to 3) and .npz archives, without NumPy.

The format is described in numpy.lib.format. Elements go straight between the file and the array's
memory; what is read is checked before it is believed.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping

from . import _core
from ._creation_functions import asarray
from ._manipulation_functions import permute_dims, reshape
from ._statistical_functions import max

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Any, Literal, NamedTuple, Self
    from zipfile import ZipFile

    from ._core import Array, Device, DType

    class Header(NamedTuple):
        dtype: DType
        swapped: bool
        fortran_order: bool
        shape: tuple[int, ...]

else:
    from collections import namedtuple

    Header = namedtuple("Header", ["dtype", "swapped", "fortran_order", "shape"])

__all__ = ["NpzFile", "load", "save", "savez", "savez_compressed"]

magic = b"\x93NUMPY"
zip_starts = (b"PK\x03\x04", b"PK\x05\x06")  # of an archive and of an empty one
header_limit = 1 << 16  # bytes; an array of the highest rank needs less
alignment = 64  # the elements begin at a multiple of this
growth_digits = 21  # NumPy leaves room for the dimension that a file grows by
block_bytes = 1 << 24  # most bytes copied at a time
swap_items = 1 << 15  # items whose bytes are reversed at a time: they stay in the L2 cache

# dtypes as headers name them, without the byte order
codes = {dtype.kind + str(dtype.itemsize): dtype for dtype in _core.dtypes.values()}
foreign_codes = {
    "c24": "complex192",
    "c32": "complex256",
    "f12": "float96",
    "f16": "float128",
}
foreign_letters = {
    "M": "datetime64",
    "O": "object",
    "S": "bytes",
    "U": "str",
    "V": "void",
    "a": "bytes",
    "m": "timedelta64",
}
# formats that a memoryview of bytes can be cast to: complex numbers are pairs of real ones, and there
# is none for float16
formats = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "H",
    "float32": "f",
    "float64": "d",
    "complex64": "f",
    "complex128": "d",
}


# ---- saving --------------------------------------------------------------------------------------


def save(file: Any, x: Any) -> None:
    """Write an array to a file in NumPy's .npy format.

    Parameters
    ----------
    file : str, path-like or file object
        A path, to which ``.npy`` is appended unless it ends so, or an object that has `write` and
        takes bytes.
    x : Array
        The array, or what `asarray` makes one of.

    See Also
    --------
    load, savez, savez_compressed

    Notes
    -----
    Row-major and column-major arrays are written from where they are; of others 16 MiB at a time
    are copied.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> xp.save(file, xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    >>> _ = file.seek(0)
    >>> xp.load(file)
    array([[1., 2.],
           [3., 4.]])
    """
    array = asarray(x)
    if hasattr(file, "write"):
        write_array(file, array)
        return
    with open(with_ending(file, ".npy"), "wb") as stream:
        write_array(stream, array)


def savez(file: Any, /, *arrays: Any, **named: Any) -> None:
    """Write several arrays to one uncompressed .npz archive.

    Parameters
    ----------
    file : str, path-like or file object
        A path, to which ``.npz`` is appended unless it ends so, or a binary file object.
    *arrays : Array
        Arrays that are called ``arr_0``, ``arr_1`` and so on.
    **named : Array
        Arrays under their names.

    Raises
    ------
    ValueError
        If one of the names is that of a positional array.

    See Also
    --------
    load, save, savez_compressed

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> xp.savez(file, xp.ones(2), steps=xp.arange(3))
    >>> _ = file.seek(0)
    >>> with xp.load(file) as archive:
    ...     print(archive.files, archive["steps"])
    ['arr_0', 'steps'] [0 1 2]
    """
    write_archive(file, arrays, named, compressed=False)


def savez_compressed(file: Any, /, *arrays: Any, **named: Any) -> None:
    """Write several arrays to one .npz archive, compressed (deflate).

    Parameters
    ----------
    file : str, path-like or file object
        A path, to which ``.npz`` is appended unless it ends so, or a binary file object.
    *arrays : Array
        Arrays that are called ``arr_0``, ``arr_1`` and so on.
    **named : Array
        Arrays under their names.

    Raises
    ------
    ValueError
        If one of the names is that of a positional array.

    See Also
    --------
    load, savez

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> xp.savez_compressed(file, zeros=xp.zeros(100_000))
    >>> len(file.getvalue()) < 2000
    True
    """
    write_archive(file, arrays, named, compressed=True)


def with_ending(path: Any, ending: str) -> str:
    name = os.fsdecode(path)
    return name if name.endswith(ending) else name + ending


def write_archive(
    file: Any, arrays: tuple[Any, ...], named: dict[str, Any], compressed: bool
) -> None:
    import zipfile

    members = {f"arr_{i}": asarray(x) for i, x in enumerate(arrays)}
    for name, x in named.items():
        if name in members:
            raise ValueError(f"the name {name!r} is that of a positional array")
        members[name] = asarray(x)
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    target = file if hasattr(file, "write") else with_ending(file, ".npz")
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, x in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                write_array(stream, x)


def write_array(file: Any, x: Array) -> None:
    x = x.to_device("cpu")
    column_major = not is_row_major(x, x.shape, x.strides) and is_row_major(
        x, x.shape[::-1], x.strides[::-1]
    )
    write_all(file, header_of(x, column_major))
    if column_major:
        x = permute_dims(x, tuple(range(x.ndim))[::-1])
    for block in row_major_blocks(x):
        write_all(file, bytes_of(block))


def header_of(x: Array, column_major: bool) -> bytes:
    """Return magic, version, length and text of the header that stands before the elements."""
    order = "|" if x.itemsize == 1 else "<" if sys.byteorder == "little" else ">"
    fields = {
        "descr": order + x.dtype.kind + str(x.itemsize),
        "fortran_order": column_major,
        "shape": x.shape,
    }
    text = "{" + "".join([f"{key!r}: {value!r}, " for key, value in fields.items()]) + "}"
    if x.ndim > 0:
        text += " " * (growth_digits - len(str(x.shape[-1 if column_major else 0])))
    before = len(magic) + 4
    text += " " * (alignment - (before + len(text) + 1) % alignment) + "\n"
    return magic + b"\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def row_major_blocks(x: Array) -> Iterator[Array]:
    """Yield the elements in order: x itself if it is row-major, else contiguous copies of parts."""
    if x.size == 0:
        return
    if is_row_major(x, x.shape, x.strides):
        yield x
    elif x.nbytes <= block_bytes:
        yield x.copy()
    else:
        rows = block_bytes // (x.nbytes // x.shape[0])
        if rows == 0:
            for i in range(x.shape[0]):
                yield from row_major_blocks(x[i, ...])
        else:
            for i in range(0, x.shape[0], rows):
                yield x[i : i + rows, ...].copy()


def is_row_major(x: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements in this order follow each other. (A memoryview has 64 dimensions at most.)"""
    step = x.itemsize
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != step:
            return x.size == 0
        step *= n
    return True


def bytes_of(x: Array) -> memoryview:
    """Return the memory of a row-major array that is not empty."""
    return memoryview(_core.view(reshape(x, (-1,)), _core.uint8))


def write_all(file: Any, data: bytes | memoryview) -> None:
    """Write all of it, also to a file without a buffer, which may take less at a time."""
    while data:
        written = file.write(data)
        if written is None:
            return
        data = data[written:]


# ---- loading -------------------------------------------------------------------------------------


def load(
    file: Any,
    mmap_mode: Literal["c", "r", "r+"] | None = None,
    *,
    device: Device | str | None = None,
) -> Any:
    """Read an array from a .npy file, or open a .npz archive.

    Parameters
    ----------
    file : str, path-like or file object
        A path, or an object that has `read` and returns bytes. From an object the array at its
        position is read, and more arrays may follow it; for an archive it must be seekable.
    mmap_mode : {'r', 'r+', 'c'}, optional
        Map a .npy file into memory instead of reading it: read-only, writing through to the file,
        or with changes kept in memory only. The dtype must have this machine's byte order.
    device : Device or str, optional
        Where to put the array. Default: the default device.

    Returns
    -------
    Array or NpzFile
        The array; or for an archive a mapping from names to arrays, each read when it is asked
        for. An archive holds its file open until it is closed, by ``with`` or by its `close`.

    Raises
    ------
    ValueError
        If the file is damaged, ends early, is neither .npy nor .npz, or cannot be mapped.
    TypeError
        If the elements have a dtype without counterpart here: objects, records, text, dates
        and long double.

    Notes
    -----
    Nothing in a file is executed: objects, which NumPy stores as pickles, are refused. Arrays of
    the other byte order are converted; column-major ones get strides instead of being copied. The
    members of an archive carry checksums, which are checked; a .npy file has none, so that altered
    elements cannot be told from others.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> xp.save(file, xp.arange(4))
    >>> _ = file.seek(0)
    >>> xp.load(file)
    array([0, 1, 2, 3])
    """
    if mmap_mode not in (None, "r", "r+", "c"):
        raise ValueError(f"mmap_mode must be 'r', 'r+', 'c' or None, not {mmap_mode!r}")
    if device is not None:
        _core.Device(device)  # refuses what names no device
    if hasattr(file, "read"):
        if mmap_mode is not None:
            raise ValueError("mmap_mode needs a path; a file object was given")
        start = read_exactly(file, len(magic), "a .npy or .npz file")
        if start.startswith(zip_starts):
            return NpzFile(file, device)
        return read_array(file, start, bytes_left(file), device)
    stream = open(file, "r+b" if mmap_mode == "r+" else "rb")
    closes_later = False
    try:
        start = read_exactly(stream, len(magic), "a .npy or .npz file")
        if start.startswith(zip_starts):
            if mmap_mode is not None:
                raise ValueError("a .npz archive cannot be mapped; leave mmap_mode out")
            closes_later = True
            return NpzFile(stream, device, owns_file=True)
        if mmap_mode is not None:
            return map_array(stream, start, mmap_mode, device)
        return read_array(stream, start, bytes_left(stream), device, alone=True)
    finally:
        if not closes_later:
            stream.close()


class NpzFile(Mapping[str, "Array"]):
    """A .npz archive: a read-only mapping from names to arrays, read when they are asked for.

    Made by `load`. Members are found by their names with or without ``.npy``.

    Attributes
    ----------
    files : list of str
        The names, without ``.npy``.
    """

    def __init__(self, file: Any, device: Device | str | None, owns_file: bool = False) -> None:
        import zipfile

        self._file = file if owns_file else None
        self._zip: ZipFile | None = None
        self._device = device
        try:
            with Damage("the archive"):
                self._zip = zipfile.ZipFile(file)
            names = self._zip.namelist()
            self._members = {name.removesuffix(".npy"): name for name in names}
            if len(self._members) < len(names):
                raise ValueError(f"two members of the archive have one name: {', '.join(names)}")
        except BaseException:
            self.close()
            raise
        self.files: list[str] = list(self._members)

    def __getitem__(self, name: str) -> Array:
        member = name if name in self._members.values() else self._members.get(name)
        if member is None:
            raise KeyError(f"{name} is not in the archive, which has {', '.join(self.files)}")
        if self._zip is None:
            raise ValueError("the archive is closed")
        with Damage(f"{member} in the archive"), self._zip.open(member) as stream:
            start = read_exactly(stream, len(magic), f"{member} in the archive")
            size = self._zip.getinfo(member).file_size - len(start)
            return read_array(stream, start, size, self._device, alone=True)

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __contains__(self, name: object) -> bool:
        return name in self._members or name in self._members.values()

    def __repr__(self) -> str:
        state = "closed " if self._zip is None else ""
        return f"<{state}NpzFile with {', '.join(self.files) or 'nothing'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive, and its file if `load` opened it."""
        if self._zip is not None:
            self._zip.close()
            self._zip = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        self.close()


class Damage:
    """A context in which what zipfile and its decompressors raise for bad data is a ValueError."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not isinstance(value, Exception) or isinstance(value, (ValueError, TypeError)):
            return
        if isinstance(value, MemoryError) or (isinstance(value, OSError) and value.errno):
            return
        raise ValueError(f"{self.what} is damaged: {value}") from value


def bytes_left(file: Any) -> int | None:
    """Return how many bytes follow the position, where that is to be had without reading them."""
    cheap = io.BytesIO, io.FileIO, io.BufferedReader, io.BufferedRandom
    if not isinstance(file, cheap) or not file.seekable():
        return None
    position = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(position)
    return end - position


def read_exactly(file: Any, count: int, what: str) -> bytes:
    data = b""
    while len(data) < count:
        more = file.read(count - len(data))
        if not isinstance(more, bytes):
            raise TypeError(f"read() of the file returned {type(more).__name__}, not bytes")
        if not more:
            raise ValueError(f"{what} was expected, but the data end after {len(data)} bytes")
        data += more
    return data


def read_header(file: Any, start: bytes) -> tuple[Header, int]:
    """Return the header of a .npy file, whose first bytes were read, and its whole length."""
    if start != magic:
        raise ValueError(f"this is neither a .npy nor a .npz file: it begins with {start!r}")
    version = tuple(read_exactly(file, 2, "the version of a .npy file"))
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"version {version[0]}.{version[1]} of the .npy format is not known")
    width = 2 if version == (1, 0) else 4
    length = int.from_bytes(read_exactly(file, width, "the header of a .npy file"), "little")
    if length > header_limit:
        raise ValueError(f"the header of a .npy file is {length} bytes; at most {header_limit} are")
    text = read_exactly(file, length, "the header of a .npy file")
    encoding = "utf-8" if version == (3, 0) else "latin-1"
    return parse_header(text.decode(encoding)), len(start) + 2 + width + length


def parse_header(text: str) -> Header:
    import ast

    try:
        fields = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        # Python 2 wrote its long integers with an L.
        try:
            import re

            fields = ast.literal_eval(re.sub(r"(?<=[0-9])L(?=[,) ])", "", text.strip()))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise ValueError(f"the header of a .npy file is damaged: {text[:100]!r}") from None
    if not isinstance(fields, dict) or set(fields) != {"descr", "fortran_order", "shape"}:
        raise ValueError(
            f"the header of a .npy file has descr, fortran_order and shape; this is {text[:100]!r}"
        )
    shape, column_major = fields["shape"], fields["fortran_order"]
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"the shape in the header of a .npy file is {shape!r}")
    if not isinstance(column_major, bool):
        raise ValueError(f"fortran_order in the header of a .npy file is {column_major!r}")
    dtype, swapped = parse_dtype(fields["descr"])
    return Header(dtype, swapped, column_major, shape)


def parse_dtype(descr: Any) -> tuple[DType, bool]:
    """Return the dtype that NumPy describes so, and whether its bytes are in the other order."""
    if isinstance(descr, list | tuple):
        raise TypeError(f"arrayx has no structured dtypes; the file has {descr!r:.100}")
    if not isinstance(descr, str):
        raise ValueError(f"the dtype in the header of a .npy file is {descr!r:.100}")
    order, code = (descr[0], descr[1:]) if descr[:1] in ("<", ">", "|", "=") else ("=", descr)
    dtype = codes.get(code)
    if dtype is None:
        name = foreign_codes.get(code) or foreign_letters.get(code[:1])
        if name is None:
            raise ValueError(f"the dtype in the header of a .npy file is {descr!r:.100}")
        raise TypeError(f"arrayx has no dtype {name}, which the file has ({descr!r})")
    native = "<" if sys.byteorder == "little" else ">"
    return dtype, dtype.itemsize > 1 and order in "<>" and order != native


def size_of(header: Header, left: int | None, alone: bool) -> int:
    """Return how many bytes the elements take, which is checked against those that are left."""
    count = 1
    for n in header.shape:
        count *= n
    nbytes = count * header.dtype.itemsize
    if nbytes > sys.maxsize or len(header.shape) > _core.max_ndim:
        raise ValueError(f"the header of a .npy file has the shape {header.shape!r:.200}")
    if left is not None and nbytes > left:
        raise ValueError(
            f"the file is truncated: {nbytes} bytes of elements were expected, and {left} are there"
        )
    if alone and left is not None and nbytes < left:
        raise ValueError(
            f"{left - nbytes} bytes follow the elements; several arrays in one file are read by "
            "passing load the open file"
        )
    return nbytes


def read_array(
    file: Any, start: bytes, left: int | None, device: Device | str | None, alone: bool = False
) -> Array:
    """Return the array that the file has after the first bytes, of which `left` bytes are left.

    If it is alone, nothing may follow it.
    """
    header, length = read_header(file, start)
    left = None if left is None else left - (length - len(start))
    nbytes = size_of(header, left, alone)
    flat = _core.empty((nbytes // header.dtype.itemsize,), header.dtype, "cpu")
    if nbytes > 0:
        fill(file, bytes_of(flat))
    if header.swapped:
        swap_bytes(flat)
    return delivered(flat, header, device)


def fill(file: Any, target: memoryview) -> None:
    """Read as many bytes as the target has into it."""
    done = 0
    while done < len(target):
        part = target[done : done + block_bytes]
        if hasattr(file, "readinto"):
            count = file.readinto(part)
        else:
            data = file.read(len(part))
            count = len(data)
            part[:count] = data
        if not count:
            raise ValueError(
                f"the file is truncated: {len(target)} bytes of elements were expected, and {done} "
                "are there"
            )
        done += count


def swap_bytes(flat: Array) -> None:
    """Reverse the bytes of each number, in place."""
    width = 8 * (flat.itemsize // 2 if flat.dtype.kind == "c" else flat.itemsize)
    words = _core.view(flat, _core.dtypes[f"uint{width}"])
    for i in range(0, words.size, swap_items):
        part = words[i : i + swap_items]
        for bits, mask in ((32, 0xFFFFFFFF), (16, 0xFFFF0000FFFF), (8, 0xFF00FF00FF00FF)):
            if bits < width:
                mask &= (1 << width) - 1
                part = ((part & mask) << bits) | ((part >> bits) & mask)
        words[i : i + swap_items] = part


def delivered(flat: Array, header: Header, device: Device | str | None) -> Array:
    """Return the elements, which are in the file's order, as the array that the header says."""
    if header.dtype == _core.bool and flat.size > 0 and max(_core.view(flat, _core.uint8)) > 1:
        raise ValueError("the file is damaged: an element of dtype bool is neither 0 nor 1")
    if header.fortran_order:
        x = reshape(flat, header.shape[::-1])
        x = permute_dims(x, tuple(range(x.ndim))[::-1])
    else:
        x = reshape(flat, header.shape)
    return x.to_device(_core.default_device() if device is None else device)


def map_array(
    file: Any, start: bytes, mode: Literal["c", "r", "r+"], device: Device | str | None
) -> Array:
    """Return an array whose memory is the file's."""
    import mmap

    header, offset = read_header(file, start)
    left = bytes_left(file)
    nbytes = size_of(header, left, alone=True)
    if nbytes == 0:
        return delivered(_core.empty((0,), header.dtype, "cpu"), header, device)
    if header.swapped:
        raise ValueError(
            "a file whose elements are in the other byte order cannot be mapped; leave mmap_mode out"
        )
    access = {"r": mmap.ACCESS_READ, "r+": mmap.ACCESS_WRITE, "c": mmap.ACCESS_COPY}[mode]
    data: Any = memoryview(mmap.mmap(file.fileno(), 0, access=access))[offset:]
    numbers = asarray(data.cast(formats[header.dtype.name]), device="cpu", copy=False)
    return delivered(_core.view(numbers, header.dtype), header, device)
