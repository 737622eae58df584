"""What type checkers, inspect and IDEs see: hints that mypy and pyright accept for users of the
namespace, a stub that fits the compiled module, and signatures everywhere."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import runpy
import shutil
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import arrayx
import arrayx.fft
import arrayx.linalg
import arrayx.memory
import arrayx.testing

PROGRAM = Path(__file__).parent / "typing" / "program.py"
MISTAKES = Path(__file__).parent / "typing" / "mistakes.py"
REFUSED = {
    number
    for number, line in enumerate(MISTAKES.read_text(encoding="utf-8").splitlines(), start=1)
    if line.endswith("# refused")
}
needs = {
    name: pytest.mark.skipif(
        importlib.util.find_spec(name) is None, reason=f"{name}, of the extra lint, is not there"
    )
    for name in ("mypy", "pyright")
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A folder with nothing but this arrayx in it: checkers look elsewhere than Python does."""
    folder = tmp_path_factory.mktemp("package")
    link_package(folder / "arrayx")
    return folder


def link_package(folder):
    """Make a folder of links to the package's files; in an editable installation they lie apart."""
    folder.mkdir()
    core = Path(arrayx._core.__file__).absolute()
    for file in {*Path(arrayx.__file__).absolute().parent.iterdir(), core}:
        if not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)


def run(arguments, folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )


def lines_that_mypy_refuses(file, package, tmp_path):
    result = run(
        [
            *("mypy", "--strict", "--config-file=", "--follow-imports=silent"),
            *("--no-error-summary", f"--cache-dir={tmp_path}", str(file)),
        ],
        tmp_path,
        MYPYPATH=str(package),
    )
    assert result.returncode in (0, 1), result.stdout + result.stderr
    errors = [line for line in result.stdout.splitlines() if ": error:" in line]
    assert bool(errors) == bool(result.returncode), result.stdout + result.stderr
    for error in errors:
        assert error.startswith(str(file)), error
    return {int(error[len(str(file)) :].split(":")[1]): error for error in errors}


def lines_that_pyright_refuses(file, package, tmp_path):
    # Includes are relative to the configuration.
    copy = tmp_path / file.name
    shutil.copyfile(file, copy)
    config = tmp_path / "pyrightconfig.json"
    config.write_text(
        json.dumps(
            {
                "include": [file.name],
                "extraPaths": [str(package)],
                "pythonVersion": "3.11",
                "typeCheckingMode": "strict",
                # A mistake is an expression that nobody uses, too.
                "reportUnusedExpression": False,
            }
        )
    )
    result = run(["pyright", "--outputjson", "--project", str(config)], tmp_path)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    report = json.loads(result.stdout[result.stdout.index("{") :])
    assert report["summary"]["filesAnalyzed"] > 0
    errors = {}
    for diagnostic in report["generalDiagnostics"]:
        if diagnostic["severity"] == "error":
            assert diagnostic.get("file") == str(copy), diagnostic
            errors[diagnostic["range"]["start"]["line"] + 1] = diagnostic["message"]
    return errors


class TestAUsersProgram:
    @needs["mypy"]
    def test_mypy_accepts_it(self, package, tmp_path):
        assert lines_that_mypy_refuses(PROGRAM, package, tmp_path) == {}

    @needs["pyright"]
    def test_pyright_accepts_it(self, package, tmp_path):
        assert lines_that_pyright_refuses(PROGRAM, package, tmp_path) == {}

    @needs["mypy"]
    def test_mypy_finds_mistakes(self, package, tmp_path):
        assert set(lines_that_mypy_refuses(MISTAKES, package, tmp_path)) == REFUSED

    @needs["pyright"]
    def test_pyright_finds_mistakes(self, package, tmp_path):
        assert set(lines_that_pyright_refuses(MISTAKES, package, tmp_path)) == REFUSED

    @pytest.mark.cpu  # the program names devices of its own
    def test_the_values_have_the_types_that_it_asserts(self, monkeypatch):
        checked = []

        def fits(value, wanted):
            origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
            if origin is None or origin is types.UnionType:
                return isinstance(value, wanted)
            if origin is tuple:
                assert arguments[1:] == (...,)
                items = value
            elif origin is dict:
                assert all(isinstance(key, arguments[0]) for key in value)
                items, arguments = value.values(), arguments[1:]
            else:
                assert origin is list
                items = value
            return isinstance(value, origin) and all(fits(item, arguments[0]) for item in items)

        def assert_type(value, wanted):
            assert fits(value, wanted), f"{value!r} is no {wanted}"
            checked.append(wanted)
            return value

        monkeypatch.setattr(typing, "assert_type", assert_type)
        runpy.run_path(str(PROGRAM))
        assert len(checked) >= PROGRAM.read_text(encoding="utf-8").count(" assert_type(")


@needs["mypy"]
def test_the_stub_fits_the_compiled_module(package, tmp_path):
    result = run(
        ["mypy.stubtest", "arrayx._core"], tmp_path, MYPYPATH=str(package), PYTHONPATH=str(package)
    )
    assert result.returncode == 0, result.stdout + result.stderr


@needs["mypy"]
def test_stubtest_checks_the_functions(package, tmp_path):
    """A stub with a wrong parameter is found: the functions have signatures to compare."""
    copy = tmp_path / "arrayx"
    link_package(copy)
    stub = (copy / "_core.pyi").read_text(encoding="utf-8")
    wrong = stub.replace("def tril(x: Array, k: int, /)", "def tril(x: Array, /)")
    assert wrong != stub
    (copy / "_core.pyi").unlink()
    (copy / "_core.pyi").write_text(wrong, encoding="utf-8")
    folder = str(tmp_path)
    result = run(["mypy.stubtest", "arrayx._core"], tmp_path, MYPYPATH=folder, PYTHONPATH=folder)
    assert result.returncode == 1
    assert "arrayx._core.tril is inconsistent" in result.stdout


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (arrayx, arrayx.fft, arrayx.linalg, arrayx.memory, arrayx.testing)
    for name in module.__all__
    if callable(getattr(module, name))
}
MEMBERS = {
    f"{owner.__name__}.{name}": getattr(owner, name)
    for owner in (arrayx.Array, arrayx.DType, arrayx.Device)
    for name in dir(owner)
    if callable(getattr(owner, name)) and name not in dir(type)
}


class TestSignatures:
    @pytest.mark.parametrize("name", [*PUBLIC, *MEMBERS])
    def test_inspect_has_one(self, name):
        function = PUBLIC.get(name) or MEMBERS[name]
        if name == "arrayx.linalg.LinAlgError":  # as for any exception
            assert issubclass(function, ValueError)
        else:
            assert isinstance(inspect.signature(function), inspect.Signature)

    @pytest.mark.parametrize("name", [name for name in dir(arrayx._core) if name[0] != "_"])
    def test_inspect_has_one_of_the_extension_modules_functions(self, name):
        function = getattr(arrayx._core, name)
        if callable(function) and not inspect.isclass(function):
            inspect.signature(function)

    def test_they_are_those_that_functions_have(self):
        assert str(inspect.signature(arrayx._core.tril)) == "(x, k, /)"
        assert str(inspect.signature(arrayx.set_default_device)) == "(device)"
        parameters = inspect.signature(arrayx.Array.to_device).parameters
        assert list(parameters) == ["self", "device", "stream"]

    def test_they_are_those_of_the_standard(self):
        """Names, kinds and defaults of the standard's stubs, where a checkout of them lies."""
        suite = os.environ.get("ARRAYX_ARRAY_API_TESTS", "~/.cache/arrayx/array-api-tests")
        source = Path(suite).expanduser() / "array-api" / "src"
        if not source.is_dir():
            pytest.skip("there is no checkout of the standard (see conformance/README.md)")
        script = """
import importlib, inspect, json, pathlib, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root))
found = {}
for file in sorted((root / "array_api_stubs" / "_2025_12").glob("*.py")):
    if file.stem in ("__init__", "_types", "data_types", "info"):
        continue
    module = importlib.import_module(f"array_api_stubs._2025_12.{file.stem}")
    for name in getattr(module, "__all__", []):
        function = getattr(module, name)
        owner = file.stem + "." if file.stem in ("fft", "linalg") else ""
        if file.stem == "array_object":
            for method, f in vars(function).items():
                if inspect.isfunction(f) and method != "__init__":
                    found["Array." + method] = [
                        (p.name, p.kind.name) for p in inspect.signature(f).parameters.values()]
        elif inspect.isfunction(function):
            found[owner + name] = [
                (p.name, p.kind.name) for p in inspect.signature(function).parameters.values()]
print(json.dumps(found))
"""
        result = subprocess.run(
            [sys.executable, "-c", script, str(source)], capture_output=True, text=True
        )
        assert result.returncode == 0, result.stderr
        standard = json.loads(result.stdout)
        assert len(standard) > 200
        different = {}
        for name, wanted in standard.items():
            function = arrayx
            for part in name.split("."):
                function = getattr(function, part)
            have = inspect.signature(function).parameters.values()
            positional = [p.name for p in have if p.kind.name == "POSITIONAL_ONLY"]
            by_name = {p.name: p.kind.name for p in have}
            problems = []
            for i, (parameter, kind) in enumerate(wanted):
                if kind == "POSITIONAL_ONLY":
                    # Its name is nobody's business.
                    if i >= len(positional) and not any(
                        p.kind.name == "VAR_POSITIONAL" or p.name == parameter for p in have
                    ):
                        problems.append(parameter)
                elif by_name.get(parameter) not in (kind, "POSITIONAL_OR_KEYWORD"):
                    problems.append(parameter)
            if problems:
                different[name] = problems
        assert different == {}
