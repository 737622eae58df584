"""Functions of the extension module take arguments, refuse them and describe themselves as the
Python functions do whose signatures they have.
"""

import copy
import inspect
import pickle
import threading

import pytest

import arrayx as xp
from arrayx import _core

COMPILED = [
    name
    for name in xp.__all__
    if isinstance(getattr(xp, name), _core.Function) and getattr(xp, name).__name__ == name
]
X = xp.asarray([[1.0, 2.0], [3.0, 4.0]])


def test_most_of_the_standard_is_compiled():
    assert {"add", "zeros", "asarray", "sum", "reshape", "take", "result_type"} <= set(COMPILED)


@pytest.mark.parametrize("name", COMPILED)
def test_functions_describe_themselves(name):
    function = getattr(xp, name)
    python = function.__wrapped__
    assert inspect.isfunction(python)
    assert inspect.signature(function) == inspect.signature(python)
    assert function.__doc__ == python.__doc__
    assert function.__annotations__ == python.__annotations__
    assert function.__name__ == function.__qualname__ == name
    assert repr(function) == f"<function arrayx.{name}>"
    assert pickle.loads(pickle.dumps(function)) is copy.deepcopy(function) is function


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("zeros", (), {}),
        ("zeros", (1, 2), {}),
        ("zeros", (1,), {"shape": 2}),
        ("zeros", (1,), {"dtypes": None}),
        ("full", (1,), {}),
        ("full", (), {"fill_value": 1}),
        ("sum", (), {}),
        ("sum", (), {"x": X}),
        ("sum", (X, 0), {}),
        ("sum", (X,), {"axis": 0, "axes": 1}),
        ("reshape", (X,), {}),
        ("reshape", (X, (4,), None), {}),
        ("matmul", (X,), {"x2": X}),
        ("eye", (), {"n_rows": 3}),
        ("moveaxis", (X, 0, 1), {"source": 1}),
        ("broadcast_arrays", (), {"arrays": X}),
        ("meshgrid", (X[0],), {"index": "xy"}),
    ],
)
def test_wrong_calls_are_refused_in_the_words_of_python(name, arguments, keywords):
    function = getattr(xp, name)
    with pytest.raises(TypeError) as expected:
        function.__wrapped__(*arguments, **keywords)
    with pytest.raises(TypeError) as given:
        function(*arguments, **keywords)
    assert str(given.value) == str(expected.value)


def test_keywords_come_in_any_order_and_from_anywhere():
    joined = "".join(["keep", "dims"])  # not interned
    assert xp.sum(X, **{joined: True, "axis": 0}).shape == (1, 2)
    assert xp.sum(X, axis=(1,), keepdims=True).shape == (2, 1)
    assert xp.full(fill_value=3, dtype=xp.int8, shape=(2,)).dtype == xp.int8
    assert xp.arange(1, step=2, stop=6).tolist() == [1, 3, 5]


def test_all_positional_arguments_become_a_tuple():
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)
    assert [a.shape for a in xp.broadcast_arrays(X, X[0])] == [(2, 2), (2, 2)]
    assert xp.result_type(xp.int8, X, 1) == xp.float64
    x, y = xp.meshgrid(X[0], X[0, :1], indexing="ij")
    assert x.shape == y.shape == (2, 1)
    assert X.reshape(4).tolist() == X.reshape((4,), copy=True).tolist() == [1, 2, 3, 4]
    assert X.transpose(1, 0).tolist() == X.transpose().tolist() == X.T.tolist()


def test_defaults_are_those_of_the_python_function():
    assert inspect.signature(xp.std).parameters["keepdims"].default is False
    assert float(xp.std(X)) == float(xp.std(X, correction=0))
    assert xp.take(X[0], 1).shape == ()


def test_functions_of_the_module_take_all_arguments_by_position():
    assert str(inspect.signature(_core.zeros)) == "(shape, dtype, device, /)"
    assert _core.zeros(2, None, None).tolist() == [0, 0]
    for bad in (lambda: _core.zeros(2), lambda: _core.zeros(2, dtype=None, device=None)):
        with pytest.raises(TypeError, match="positional argument"):
            bad()
    assert pickle.loads(pickle.dumps(_core.zeros)) is _core.zeros


def test_a_signature_must_be_that_of_the_definition():
    def zeros(shape, *, device=None, dtype=None): ...

    with pytest.raises(TypeError, match="parameters of zeros"):
        _core.function(zeros)

    def nothing_of_the_kind(): ...

    with pytest.raises(ValueError, match="no function named 'nothing_of_the_kind'"):
        _core.function(nothing_of_the_kind)


def test_functions_are_methods_where_a_class_has_them():
    class Holder(list):
        size = xp.broadcast_shapes

    assert Holder.size((1, 2), (3, 1)) == (3, 2)
    with pytest.raises(TypeError):
        Holder().size(1.5)


@pytest.mark.cpu
def test_memory_in_use_is_counted_across_threads():
    before = xp.memory.info().in_use
    made = []
    threads = [
        threading.Thread(target=lambda: made.extend(xp.zeros(1000) for _ in range(10)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert xp.memory.info().in_use - before == 4 * 10 * 8000
    freer = threading.Thread(target=made.clear)
    freer.start()
    freer.join()
    assert xp.memory.info().in_use == before
