"""What all tests share, and `--device`: where they make their arrays."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Interpreters that tests start leave the working directory off their path: in the repository's root
# it holds arrayx's sources, which would hide the installed package.
os.environ["PYTHONSAFEPATH"] = "1"

# How long an example takes says more about what else the machine does than about arrayx.
settings.register_profile("arrayx", settings.default, deadline=None)
settings.load_profile("arrayx")

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        default="cpu",
        help="where the tests make their arrays, such as cuda; 'guarded' stands in for a GPU",
    )


def interface():
    """What the build computes of the sources that the extension module and an engine share."""
    others = ROOT / "cpp/backend.hpp", ROOT / "cpp/ops/table.hpp"
    headers = [*sorted(ROOT.glob("cpp/array/*.hpp")), *others]
    digests = [hashlib.sha256(header.read_bytes()).hexdigest() for header in headers]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def build_guarded_engine(folder, interface):
    """Build tests/core/guarded_engine.cpp; the path of the library."""
    library = Path(folder, "libguarded_engine.so")
    sources = [ROOT / "tests/core/guarded_engine.cpp", ROOT / "cpp/host_fallback.cpp"]
    compiler = os.environ.get("CXX", "c++")
    options = ["-std=c++20", "-O1", "-fPIC", "-shared", f"-I{ROOT / 'cpp'}", "-o", library]
    options.append(f'-DARRAYX_INTERFACE="{interface}"')
    # As the engines are linked: what a compiler takes from static libraries stays inside.
    options.append("-fvisibility=hidden")
    if sys.platform == "linux":
        options.append("-Wl,--exclude-libs,ALL")
    # Without a sanitizer's run time, which may be loaded into this process.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run([compiler, *options, *sources], env=environment, check=True)
    return library


def use_guarded_engine(folder):
    """Have a build of the stand-in opened when a CUDA device is asked for."""
    os.environ["ARRAYX_CUDA_LIBRARY"] = str(build_guarded_engine(folder, interface()))


def pytest_configure(config):
    config.addinivalue_line("markers", "cpu: is about the CPU, whatever --device says")
    device = config.getoption("device")
    if device == "guarded":
        device = "cuda"
        if not hasattr(config, "workerinput"):  # the workers of pytest-xdist find it in place
            folder = tempfile.mkdtemp()
            config.add_cleanup(lambda: shutil.rmtree(folder))
            use_guarded_engine(folder)
    if device != "cpu":
        import arrayx
        from arrayx import _core

        arrayx.set_default_device(device)
        # Tests compare with NumPy, which arrays elsewhere do not become unasked.
        to_numpy = arrayx.Array.__array__
        _core.set_methods(
            {"__array__": lambda x, *args, **names: to_numpy(x.to_device("cpu"), *args, **names)}
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if item.get_closest_marker("cpu") is None:
        return (yield)
    import arrayx

    with arrayx.Device("cpu"):
        return (yield)
