"""Every public function has a numpydoc docstring, whose examples run and give what they show."""

import doctest
import inspect

import pytest

import arrayx
import arrayx.lib.stride_tricks
import arrayx.memory
import arrayx.testing

pytestmark = pytest.mark.cpu  # what is printed names other devices

FUNCTIONS = {
    name: getattr(arrayx, name)
    for name in arrayx.__all__
    if callable(getattr(arrayx, name)) and not inspect.isclass(getattr(arrayx, name))
}
FUNCTIONS.pop("set_default_device")  # of the extension module
FUNCTIONS |= {f"memory.{name}": getattr(arrayx.memory, name) for name in arrayx.memory.__all__}
FUNCTIONS |= {
    f"linalg.{name}": getattr(arrayx.linalg, name)
    for name in arrayx.linalg.__all__
    if name != "LinAlgError"
}
FUNCTIONS |= {
    f"lib.stride_tricks.{name}": getattr(arrayx.lib.stride_tricks, name)
    for name in arrayx.lib.stride_tricks.__all__
}
FUNCTIONS |= {f"testing.{name}": getattr(arrayx.testing, name) for name in arrayx.testing.__all__}
FUNCTIONS |= {f"fft.{name}": getattr(arrayx.fft, name) for name in arrayx.fft.__all__}
INFO = type(arrayx.__array_namespace_info__())
FUNCTIONS |= {
    f"info.{name}": function
    for name, function in vars(INFO).items()
    if inspect.isfunction(function)
}


def examples(name):
    globals_ = {"xp": arrayx, "arrayx": arrayx}
    doc = inspect.getdoc(FUNCTIONS[name])
    return doctest.DocTestParser().get_doctest(doc, globals_, name, None, None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_sections_are_there(name):
    function = FUNCTIONS[name]
    doc = inspect.getdoc(function)
    summary = doc.splitlines()[0]
    assert summary.endswith("."), "the first line is a sentence"
    parameters = inspect.signature(function).parameters
    wanted = ["Examples"]
    if [parameter for parameter in parameters if parameter != "self"]:
        wanted.append("Parameters")
    if inspect.signature(function).return_annotation not in (None, "None"):
        wanted.append("Returns")
    for section in wanted:
        assert f"\n{section}\n{'-' * len(section)}\n" in doc, f"no section {section}"
    for parameter in parameters:
        if parameter != "self":
            assert parameter in doc.split("Returns\n")[0], f"parameter {parameter} is not described"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_give_what_they_show(name):
    test = examples(name)
    assert test.examples, "there is no example"
    output = []
    doctest.DocTestRunner(verbose=False).run(test, out=output.append)
    assert not output, "".join(output)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lines_fit(name):
    assert max(len(line) for line in inspect.getdoc(FUNCTIONS[name]).splitlines()) <= 96


def test_a_wrong_example_is_found():
    test = doctest.DocTestParser().get_doctest(
        ">>> xp.asarray([1, 2])\narray([1, 3])\n", {"xp": arrayx}, "wrong", None, None
    )
    output = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=output.append).failed == 1
