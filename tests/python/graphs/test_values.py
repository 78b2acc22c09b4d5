"""Values of graphs: Python's operators and numpy's indexing, against numpy."""

import copy
import operator
import pickle

import numpy as np
import pytest
import tenon
from small_graphs import X, graph_of
from tenon import ops


def computed(make, x=X, shape=(3, 4)):
    graph, value = graph_of(shape, str(x.dtype))
    graph.output("y", make(value))
    return graph(x=x)["y"]


# ---- operators of the language -------------------------------------------------------------------

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]


@pytest.mark.parametrize(
    "other", [2, 2.5, np.float32(3), X[0] + 1, (X + 2).tolist(), X[:, :1] + 1], ids=repr
)
@pytest.mark.parametrize("function", BINARY, ids=lambda function: function.__name__)
def test_binary_operators(function, other):
    x = X + 1
    array = np.asarray(other, "float32")
    for got, want in (
        (computed(lambda v: function(v, other), x), function(x, array)),
        (computed(lambda v: function(other, v), x), function(array, x)),
    ):
        assert got.shape == want.shape
        np.testing.assert_allclose(got.astype("float64"), want.astype("float64"), rtol=1e-5)


@pytest.mark.parametrize("shape", [(3, 4), (None, None), None])
def test_operators_of_two_values(shape):
    def make(v):
        return (v + v) * v - v / (v + 1) + abs(-v) @ v.T @ v

    np.testing.assert_allclose(
        computed(make, X, shape), (X + X) * X - X / (X + 1) + X @ X.T @ X, rtol=1e-6
    )


def test_comparisons_with_nan():
    x = np.float32([np.nan, 1, 2])
    for function in (operator.lt, operator.le, operator.gt, operator.ge):
        assert np.array_equal(
            computed(lambda v: function(v, 1.0), x, (3,)).astype(bool), function(x, np.float32(1))
        )


def test_methods_of_values():
    assert np.array_equal(computed(lambda v: v.T), X.T)
    for shape in ((2, 6), ((2, -1),), (np.int64(12),), ([12],)):
        assert np.array_equal(computed(lambda v: v.reshape(*shape)), X.reshape(*shape))
    assert (
        computed(lambda v: v.astype("int32")).dtype == "int32"
        and computed(lambda v: v.astype(np.float64)).dtype == "float64"
    )
    assert np.array_equal(computed(lambda v: v.stop_gradient()), X)


@pytest.mark.parametrize(
    "make",
    [lambda v: bool(v), iter, lambda v: np.asarray(v), lambda v: v + "a", lambda v: None * v,
     lambda v: v // 2, lambda v: v[0] and v, float,
     lambda v: v.__setattr__("foo", 1) or 0, pickle.dumps, copy.deepcopy, lambda v: np.sin(v),
     lambda v: len(v[0, 0]), lambda v: v + [v, 1]],
)  # fmt: skip
def test_what_values_cannot_do(make):
    with pytest.raises((TypeError, AttributeError)):
        make(graph_of()[1])


@pytest.mark.parametrize("number", [1j, 10**400, 1e39, ["a"], [[1], [1, 2]]], ids=str)
def test_numbers_that_do_not_fit(number):
    graph, value = graph_of()
    with pytest.raises(tenon.UsageError, match="input 'right'"):
        value + number
    assert not graph.constants


def test_values_of_bfloat16_take_numbers():
    graph = tenon.Graph()
    value = graph.input("x", "bfloat16", (2,))
    graph.output("y", ops.cast(value * 2.5 + 1, dtype="float32"))
    graph2, wide = graph_of((2,))
    graph2.output("x", wide.astype("bfloat16"))
    given = tenon.Session(graph2).run({"x": tenon._core.tensor_from(np.float32([1, -3]))})["x"]
    assert np.array_equal(tenon.Session(graph).run({"x": given})["y"].numpy(), [3.5, -6.5])


# ---- indexing ------------------------------------------------------------------------------------

S = slice
KEYS = [
    0, 2, -1, -3, (0, 1), (-1, -1), S(1, 3), S(None, None, 2), S(1, None, 2), S(-2, None),
    S(None, -1), S(5, 9), S(2, 1), S(-9, 9), (S(None), 0),
    (None, 0), (0, None), (None, S(None), None, 1, None), ..., (..., 0), (0, ...), (None, ...),
    (..., None), (..., 0, None), (0, ..., 1),
    (S(1), S(2)), (), None, (None, None), S(np.int64(1), None), S(0, 0), (S(0, 0), 1),
    S(-1, None, 1), S(-1, -3), S(0, 2**70), S(-(2**70), 2),
    np.int64(1), (S(None), S(None, None, 3)), (S(None), -4),
]  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 4), (None, 4), (None, None)])
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing(key, shape):
    got, want = computed(lambda v: v[key], X, shape), X[key]
    assert got.shape == want.shape and np.array_equal(got, want)


@pytest.mark.parametrize(
    "key, error",
    [(3, IndexError), (-4, IndexError), ((0, 4), IndexError), ((0, 0, 0), IndexError),
     ((..., ...), IndexError), (2**70, IndexError),
     (1.5, TypeError), (S(1.5, None), TypeError), (S("a", None), TypeError), ([0, 1], TypeError),
     (np.array([0, 1]), TypeError), (True, TypeError),
     ("a", TypeError), (S(None, None, -1), tenon.UsageError), (S(None, None, 0), tenon.UsageError)],
    ids=str,
)  # fmt: skip
def test_indices_that_do_not_fit(key, error):
    with pytest.raises(error):
        graph_of()[1][key]


def test_an_index_that_only_the_run_can_refuse():
    graph, value = graph_of((None, 4))
    graph.output("y", value[3])
    with pytest.raises(tenon.ExecutionError):
        graph(x=X)
    assert graph(x=np.ones((4, 4), "float32"))["y"].tolist() == [1] * 4
