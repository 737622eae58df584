"""The vocabulary (cpp/ops) compiles at run time, by NVRTC, for every operation and dtype."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "cpp" / "ops"
DTYPES = {
    "boolean": ["u8"],
    "integer": ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"],
    "real": ["f32", "f64"],
    "complex": ["ops::Complex<f32>", "ops::Complex<f64>"],
}
SETS = {
    "real_numeric": {"integer", "real"},
    "floating": {"real", "complex"},
    "numeric": {"integer", "real", "complex"},
    "any": {"boolean", "integer", "real", "complex"},
}


def nvrtc():
    """The library, or None where CUDA's toolkit is not installed."""
    places = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    names = [str(Path(place, "lib64", "libnvrtc.so")) for place in places if place]
    found = ctypes.util.find_library("nvrtc")
    names += [found] if found else []
    for root in map(Path, sys.path):  # the wheel nvidia-cuda-nvrtc
        names += map(str, root.glob("nvidia/*/lib/libnvrtc.so.*"))
    for name in names:
        try:
            # NVRTC looks for its builtins by name alone: open them from beside it first.
            for builtins in Path(name).parent.glob("libnvrtc-builtins.so*"):
                ctypes.CDLL(str(builtins))
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def rows():
    """(FunctionObject, kinds, arity) of each row of the table, read from the table itself."""
    text = (SOURCES / "table.hpp").read_text()
    for macro, arity in [("UNARY_SIMPLE", 1), ("UNARY_MATH", 1), ("BINARY_SIMPLE", 2),
                         ("BINARY_MATH", 2)]:  # fmt: skip
        body = re.search(rf"#define ARRAYX_OPS_{macro}\(row\)(.*?)\n\n", text, re.S).group(1)
        for function, accepts in re.findall(r"row\(\w+, (\w+), ([\w |]+), \w+\)", body):
            kinds = set()
            for word in accepts.split(" | "):
                kinds |= SETS.get(word, {word})
            yield function, kinds, arity


def kernel_source():
    lines = [
        '#include "elementwise.hpp"',
        '#include "half.hpp"',
        "using namespace arrayx;",
        'extern "C" __global__ void half(f32* a, f64* b, ops::f16* out)'
        " { out[0] = ops::f16(*a); out[1] = ops::f16(*b); *a = out[2]; }",
    ]
    count = 0
    for function, kinds, arity in rows():
        for kind in sorted(kinds):
            for dtype in DTYPES[kind]:
                arguments = ", ".join(["*a"] * arity)
                lines.append(
                    f'extern "C" __global__ void k{count}({dtype}* a, void* out) '
                    f"{{ auto r = ops::{function}{{}}({arguments}); *(decltype(r)*)out = r; }}"
                )
                count += 1
    return "\n".join(lines), count


def test_every_operation_compiles_under_nvrtc():
    library = nvrtc()
    if library is None:
        pytest.skip("NVRTC is not installed")
    source, count = kernel_source()
    assert count > 400
    program = ctypes.c_void_p()
    assert (
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"vocabulary.cu", 0, None, None
        )
        == 0
    )
    options = [
        b"--std=c++20",
        b"--gpu-architecture=compute_80",
        b"--device-as-default-execution-space",  # lambdas carry no annotation
        f"-I{SOURCES}".encode(),
    ]
    status = library.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()[:4000]
