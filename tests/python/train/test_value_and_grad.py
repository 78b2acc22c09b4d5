"""Gradients of functions against closed forms and finite differences."""

import copy
import dataclasses
import decimal
import enum
import fractions
import resource
import shutil
import threading
from typing import NamedTuple

import numpy as np
import pytest
import tenon
from tenon import nn, ops


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def differences(function, x, step=1e-6):
    """The gradient in float64, by central differences."""
    made = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        made[place] = (function(up) - function(down)) / (2 * step)
    return made


def squared(w, x, y):
    return ops.mean_squared_error(ops.matmul(x, w), y)


def test_closed_form():
    w, x, y = numbers(3, 2), numbers(5, 3, seed=1), numbers(5, 2, seed=2)
    value, dw = tenon.value_and_grad(squared)(w, x, y)
    np.testing.assert_allclose(value, ((x @ w - y) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(dw, 2 * x.T @ (x @ w - y) / y.size, rtol=1e-12)
    assert type(dw) is np.ndarray and dw.dtype == np.float64


@pytest.mark.parametrize("place", [0, 1, 2])
def test_finite_differences(place):
    def loss(w, x, b):
        return ops.sum(ops.tanh(ops.matmul(x, w) + b) * ops.exp(ops.matmul(x, w) * 0.1))

    given = [numbers(3, 2), numbers(4, 3, seed=1), numbers(2, seed=2)]
    made = tenon.grad(loss, place)(*given)

    def of_one(changed):
        w, x, b = [changed if at == place else array for at, array in enumerate(given)]
        return (np.tanh(x @ w + b) * np.exp(x @ w * 0.1)).sum()

    np.testing.assert_allclose(made, differences(of_one, given[place]), rtol=1e-6, atol=1e-7)


def test_several_arguments_in_the_order_that_is_asked_for():
    w, x, y = numbers(3, 2), numbers(5, 3), numbers(5, 2)
    value, (dy, dw) = tenon.value_and_grad(squared, (2, 0))(w, x, y)
    np.testing.assert_allclose(dw, tenon.grad(squared)(w, x, y))
    np.testing.assert_allclose(dy, -2 * (x @ w - y) / y.size, rtol=1e-12)


class Layer(NamedTuple):
    weight: np.ndarray
    bias: np.ndarray


def test_trees_of_arrays_come_back_as_they_are():
    def loss(layers, data):
        h = data["x"]
        for layer in layers:
            h = ops.tanh(ops.matmul(h, layer.weight) + layer.bias)
        return ops.sum(h)

    layers = [
        Layer(numbers(3, 3), numbers(3)),
        Layer(numbers(3, 3, seed=1), numbers(3, seed=1)),
    ]
    made = tenon.grad(loss)(layers, data={"x": numbers(2, 3)})
    assert type(made) is list and type(made[0]) is Layer and made[1].bias.shape == (3,)

    def last_bias(bias):
        h = np.tanh(numbers(2, 3) @ layers[0].weight + layers[0].bias)
        return np.tanh(h @ layers[1].weight + bias).sum()

    np.testing.assert_allclose(made[1].bias, differences(last_bias, layers[1].bias), rtol=1e-6)


def test_more_than_the_value():
    (value, more), dx = tenon.value_and_grad(
        lambda x: (ops.sum(x * x), {"twice": x * 2.0, "text": "as it is"}), has_aux=True
    )(np.arange(3.0))
    assert value == 5 and more["text"] == "as it is"
    np.testing.assert_array_equal(more["twice"], [0, 2, 4])
    np.testing.assert_array_equal(dx, [0, 2, 4])
    assert tenon.grad(lambda x: (ops.sum(x), x), has_aux=True)(np.ones(2))[1].tolist() == [1, 1]


def test_gradients_of_gradients():
    cube = tenon.grad(lambda x: ops.sum(x * x * x))
    np.testing.assert_allclose(cube(np.array([1.0, 2.0])), [3, 12])
    np.testing.assert_allclose(
        tenon.grad(lambda x: ops.sum(cube(x)))(np.array([1.0, 2.0])), [6, 12]
    )
    assert tenon.grad(tenon.grad(tenon.grad(lambda x: x * x * x)))(5.0) == 6


# The inner gradient, of sum(a * b) by `a`, is b, whatever else `a` and `b` have in common.
@pytest.mark.parametrize(
    ("outer", "slope"),
    [
        (lambda inner, x: inner(x, x), 1),
        (lambda inner, x: inner(x, x * 2.0), 2),
        (lambda inner, x: inner(x * 2.0, x), 1),
        (lambda inner, x: tenon.grad(lambda a: ops.sum(a * x))(x), 1),
        (lambda inner, x: tenon.grad(lambda a, b: ops.sum(a * b), (0, 1))(x, x)[1], 1),
        (
            lambda inner, x: tenon.grad(lambda d: ops.sum(d["a"] * d["b"]))({"a": x, "b": x})["b"],
            1,
        ),
    ],
)
def test_inner_gradients_are_partial(outer, slope):
    inner = tenon.grad(lambda a, b: ops.sum(a * b))
    x = numbers(3)
    value, dx = tenon.value_and_grad(lambda x: ops.sum(outer(inner, x)))(x)
    np.testing.assert_allclose(value, slope * x.sum(), rtol=1e-12)
    np.testing.assert_allclose(dx, np.full(3, float(slope)), rtol=1e-12)


def test_inner_gradients_in_a_graph_are_partial():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None,))
    graph.output("y", tenon.grad(lambda a, b: ops.sum(a * b))(x, x))
    assert tenon.Session(graph).run({"x": np.float32([1, 2])}).y.tolist() == [1, 2]


# Called with arrays, a function that reads values of the trace around it belongs to that trace.
@pytest.mark.parametrize(
    "outer",
    [
        lambda a, x: ops.sum(tenon.grad(lambda w: ops.sum(w * x * x))(a)),
        lambda a, x: ops.sum(tenon.grad(lambda w: ops.sum(x * x) + 0.0 * ops.sum(w))(a) + x * x),
        lambda a, x: tenon.grad(lambda w: w * ops.sum(x * x))(2.0),
        lambda a, x: tenon.value_and_grad(lambda w: ops.sum(x * x))(a)[0],
        lambda a, x: tenon.grad(lambda w: (ops.sum(w), ops.sum(x * x)), has_aux=True)(a)[1],
        lambda a, x: tenon.grad(lambda w, b: ops.sum(w * b * x * x), 1)(np.ones(3), a * 0 + 1) @ a,
        lambda a, x: ops.sum(
            tenon.grad(lambda w: ops.sum(tenon.grad(lambda v: ops.sum(v * w * x * x))(a)))(a)
        ),
    ],
)
def test_an_inner_function_may_read_values_of_the_outer_one(outer):
    a, x = np.ones(3), numbers(3)
    value, dx = tenon.value_and_grad(lambda x: outer(a, x))(x)
    np.testing.assert_allclose(value, (x * x).sum(), rtol=1e-12)
    np.testing.assert_allclose(dx, 2 * x, rtol=1e-12)


def test_an_inner_function_may_read_values_of_a_graph():
    graph = tenon.Graph()
    x = graph.input("x", "float64", (None,))
    graph.output("y", tenon.grad(lambda w: ops.sum(w * w * x))(np.array([3.0, 4.0])))
    assert tenon.Session(graph).run({"x": np.array([1.0, 2.0])}).y.tolist() == [6, 16]
    other = tenon.Graph().input("x", "float64", (2,))
    with pytest.raises(tenon.UsageError, match="values of different graphs"):
        tenon.grad(lambda w: ops.sum(w * x * other))(np.ones(2))


def test_positions_are_whatever_counts_as_an_index():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for position in (np.int64(1), np.uint8(1), np.array(1), True):
        assert tenon.grad(lambda a, b: ops.sum(a * b), position)(a, b).tolist() == [
            1,
            2,
        ]
    for positions in ([np.int64(1)], (True,), np.array([1]), range(1, 2)):
        (made,) = tenon.grad(lambda a, b: ops.sum(a * b), positions)(a, b)
        assert made.tolist() == [1, 2]
    for wrong in (1.0, "b", None, [0.5], np.array([1.0])):
        with pytest.raises(TypeError, match="argnums is .*, but must be the position of an arg"):
            tenon.grad(lambda a, b: ops.sum(a * b), wrong)


def test_it_is_traced_once_for_dtypes_and_numbers_of_dimensions():
    traced = []

    def loss(x, power, scale=1.0):
        traced.append(x.shape)
        return ops.sum(x**power) * scale

    made = tenon.grad(loss)
    np.testing.assert_allclose(made(np.ones(3), 2.0), [2] * 3)
    np.testing.assert_allclose(made(np.ones(7), 2.0), [2] * 7)
    assert traced == [(None,)]
    np.testing.assert_allclose(made(np.ones((2, 2)), 2.0), 2 * np.ones((2, 2)))
    np.testing.assert_allclose(made(np.ones(2, np.float32), 2.0), [2, 2])
    np.testing.assert_allclose(made(np.ones(3), 3.0), [3] * 3)
    np.testing.assert_allclose(made(np.ones(3), 3.0, scale=2.0), [6] * 3)
    np.testing.assert_allclose(made(np.ones(3), 3), [3] * 3)
    assert traced == [(None,), (None, None), (None,), (None,), (None,), (None,)]


class Color(enum.Enum):
    RED = 0.0


@dataclasses.dataclass(frozen=True)
class Scales:
    low: float
    high: float = 1.0
    note: str = dataclasses.field(default="", compare=False)


@pytest.mark.parametrize(
    "arguments",
    [
        [
            0,
            0.0,
            -0.0,
            False,
            0j,
            complex(0.0, -0.0),
            complex(-0.0, 0.0),
            Color.RED,
            "0",
        ],
        [1, 1.0, True, 1 + 0j, fractions.Fraction(1)],
        [[1], [1.0], (1,), (True,), [0.0], [-0.0]],
        [{1: 2}, {True: 2}, {1.0: 2}, {1: 2.0}, {"1": 2}, {0.0: 2}, {-0.0: 2}],
        [
            frozenset([1]),
            frozenset([True]),
            frozenset([0.0]),
            frozenset([-0.0]),
            frozenset([np.float32(-0.0)]),
        ],
        [Scales(0.0), Scales(-0.0), Scales(0), Scales(0.0, 1), Scales(0.0, True)],
        [decimal.Decimal("0"), decimal.Decimal("-0"), decimal.Decimal("0.0")],
        [float("nan"), float("inf"), -float("inf"), 5e-324, None],
    ],
)
def test_arguments_that_are_not_arrays_are_distinguished_by_type_and_value(arguments):
    """Each is traced once, also if it equals another one."""
    traced = []

    def loss(x, other):
        traced.append(other)
        return ops.sum(x)

    made = tenon.grad(loss)
    for _ in range(2):
        for each in arguments:
            made(np.ones(2), copy.deepcopy(each))
            made(np.ones(2), other=copy.deepcopy(each))
    assert [repr(each) for each in traced] == [repr(each) for each in arguments for _ in range(2)]


def test_zeros_of_either_sign_have_graphs_of_their_own():
    for order in ([0.0, -0.0], [-0.0, 0.0]):
        made = tenon.value_and_grad(lambda x, scale: ops.sum(ops.reciprocal(x * scale)))
        for scale in order * 2:
            assert made(np.ones(3, np.float32), scale)[0] == np.copysign(np.inf, scale)


def test_data_classes_that_are_hashed_by_name_may_hold_lists():
    @dataclasses.dataclass
    class Named:
        name: str
        sizes: list

        def __hash__(self):
            return hash(self.name)

    made = tenon.grad(lambda x, named: ops.sum(x * named.sizes[0]))
    for size in (2.0, 3.0, 2.0):
        assert made(np.ones(1), Named("layer", [size])) == size


def test_a_function_that_needs_sizes_is_traced_with_them():
    traced = []

    def mean(x):
        traced.append(x.shape)
        return ops.sum(x) / float(x.shape[0])

    made = tenon.grad(mean)
    for size in (2, 5, 2):
        np.testing.assert_allclose(made(np.ones(size)), [1 / size] * size)
    assert traced == [(None,), (2,), (5,)]


def test_arrays_by_name():
    made = tenon.grad(lambda w, *, minus, plus: ops.sum(w * plus - w * w * minus))
    np.testing.assert_allclose(
        made(np.ones(2), plus=np.array([5.0, 6.0]), minus=np.array([1.0, 2.0])), [3, 2]
    )
    np.testing.assert_allclose(
        made(np.ones(2), minus=np.array([1.0, 2.0]), plus=np.array([5.0, 6.0])), [3, 2]
    )


def test_what_the_value_does_not_depend_on_has_gradient_zero():
    dx, dy = tenon.grad(lambda x, y: ops.sum(x), (0, 1))(np.ones(3), np.ones((2, 2), np.float32))
    assert (
        dx.tolist() == [1, 1, 1] and dy.dtype == np.float32 and not dy.any() and dy.shape == (2, 2)
    )


def test_layers_with_weights_of_the_user():
    def loss(weight, bias, x):
        return ops.sum(nn.dense(x, 2, weight=weight, bias=bias, activation="sigmoid"))

    weight, bias, x = numbers(2, 3), numbers(2), numbers(4, 3)
    made = tenon.grad(loss)(weight, bias, x)
    np.testing.assert_allclose(
        made,
        differences(lambda w: (1 / (1 + np.exp(-x @ w.T - bias))).sum(), weight),
        rtol=1e-6,
    )


def test_kinds_of_arrays_come_back():
    x = ops.relu(np.ones(3, np.float32))
    tensor = tenon.Tensor if isinstance(x, tenon.Tensor) else type(tenon._core.tensor_from(x))
    made = tenon.grad(lambda a, b: ops.sum(a * b), (0, 1))(
        tenon._core.tensor_from(x), np.float32([1, 2, 3])
    )
    assert type(made[0]) is tensor and type(made[1]) is np.ndarray
    assert made[0].numpy().tolist() == [1, 2, 3]


def test_a_csr_matrix_among_the_arguments():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_array(np.float32([[1, 0], [0, 2], [3, 0]]))
    made = tenon.grad(lambda w, x: ops.sum(ops.matmul(x, w)))(np.ones((2, 2), np.float32), x)
    np.testing.assert_array_equal(made, [[4, 4], [2, 2]])


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x * 2.0, "one floating number"),
        (lambda x: 3.0, "returned float, not a value"),
        (lambda x: ops.sum(nn.dense(x, 2)), "creates the variable 'dense_weight'"),
        (lambda x: ops.cast(ops.sum(x), dtype="int32"), "one floating number"),
    ],
)
def test_what_has_no_gradient_is_refused(function, text):
    with pytest.raises(tenon.UsageError, match=text):
        tenon.grad(function)(np.ones((3, 2), np.float32))


def test_arguments_without_a_gradient_are_refused():
    with pytest.raises(tenon.UsageError, match="one at argnums is int64"):
        tenon.grad(lambda x: ops.sum(x))(np.arange(3))
    with pytest.raises(TypeError, match="hold no arrays"):
        tenon.grad(lambda text: ops.sum(text))("text")
    with pytest.raises(TypeError, match="argnums has 1, but the call has 1 positional"):
        tenon.grad(lambda x: x, 1)(1.0)
    with pytest.raises(tenon.UsageError, match="argnums"):
        tenon.grad(lambda x: x, (0, 0))
    with pytest.raises(tenon.ExecutionError, match="4 columns but b has 3 rows"):
        tenon.grad(squared)(np.ones((3, 2)), np.ones((5, 4)), np.ones((5, 2)))


def test_each_call_draws_other_random_numbers():
    def dropped():
        return tenon.grad(lambda x: ops.sum(ops.dropout(x)), training=True, seed=5)

    x = np.ones(100, np.float32)
    one, two = dropped(), dropped()
    first, second = one(x), one(x)
    assert (first != second).any() and set(np.unique(first)) == {0, 2}
    assert (two(x) == first).all() and (two(x) == second).all()


def test_it_is_traced_for_each_host_and_again_after_plugins_were_added(tmp_path):
    traced = []

    def loss(x):
        traced.append(x)
        return ops.sum(ops.relu(x))

    made = tenon.grad(loss)
    with tenon.Host(seed=1) as host:
        plugin = host.describe("relu")["path"]
        for _ in range(2):
            np.testing.assert_array_equal(made(np.array([-1.0, 2.0])), [0, 1])
        assert len(traced) == 1
        host.add_plugins(shutil.copy(plugin, tmp_path))
        made(np.array([-1.0, 2.0]))
        assert len(traced) == 2
    made(np.array([-1.0, 2.0]))
    assert len(traced) == 3


def in_threads(count, work):
    """Runs all threads concurrently, and raises what any of them raises."""
    begin, failures = threading.Barrier(count), []

    def guarded(number):
        try:
            begin.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


def test_threads():
    for _ in range(20):
        made = tenon.value_and_grad(lambda x: ops.sum(x * x))

        def work(number):
            for size in range(1, 20):
                x = numbers(size, seed=number)
                value, dx = made(x)
                np.testing.assert_array_equal(dx, 2 * x)
                np.testing.assert_allclose(value, (x * x).sum())

        in_threads(4, work)


def test_threads_draw_different_random_numbers():
    made = tenon.grad(lambda x: ops.sum(ops.dropout(x)), training=True)
    x = np.ones(300_000, np.float32)
    drawn = []
    in_threads(3, lambda _: drawn.extend(made(x)[:64].tobytes() for _ in range(20)))
    assert len(set(drawn)) == 60


def test_one_session_serves_calls_one_after_the_other():
    made = tenon.grad(lambda x: ops.sum(x * x))
    for _ in range(5):
        made(np.ones(3))
    assert made._sessions.counts[:2] == (4, 1)


@pytest.mark.memory
def test_ten_thousand_calls_need_no_more_memory():
    made = tenon.value_and_grad(squared)
    w, x, y = numbers(30, 20), numbers(50, 30), numbers(50, 20)
    for _ in range(1000):
        made(w, x, y)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10000):
        made(w, x, y)
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000
    )  # KiB; one gradient takes 4.7
