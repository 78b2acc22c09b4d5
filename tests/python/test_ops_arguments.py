"""tenon.ops: inputs, parameters and outputs of a call."""

import copy

import numpy as np
import pytest
import tenon
from tenon import ops

BASE = np.arange(24, dtype="float32").reshape(4, 6)


def read_only():
    array = BASE.copy()
    array.flags.writeable = False
    return array


# ---- arguments -----------------------------------------------------------------------------------


def test_inputs_by_position_and_by_name():
    x, w, b = np.ones((2, 3)), np.full((4, 3), 2.0), np.arange(4.0)
    want = x @ w.T + b
    for got in (
        ops.fully_connected(x, w, b, num_hidden=4),
        ops.fully_connected(x, bias=b, weight=w, num_hidden=4),
        ops.fully_connected(data=x, weight=w, bias=b, num_hidden=4),
        ops.fully_connected(*(x,), **{"num_hidden": 4, "bias": b, "weight": w}),
    ):  # fmt: skip
        np.testing.assert_allclose(got, want)
    np.testing.assert_allclose(ops.fully_connected(x, w, num_hidden=4, no_bias=True), want - b)
    np.testing.assert_allclose(
        ops.fully_connected(x, w, None, num_hidden=4, no_bias=True), want - b
    )


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: ops.add(x), tenon.UsageError, "'right' is missing"),
        (lambda x: ops.add(), tenon.UsageError, "'left' is missing"),
        (
            lambda x: ops.add(x, x, x),
            TypeError,
            r"takes 2 positional inputs but got 3: add\(left, right",
        ),
        (lambda x: ops.add(x, x, left=x), TypeError, "two values for the input 'left'"),
        (lambda x: ops.add(x, x, axis=1), tenon.UsageError, "unknown parameter 'axis'"),
        (lambda x: ops.add(x, x, name="n"), TypeError, "only nodes of graphs have names"),
        (lambda x: ops.add(x, x, device=0), TypeError, "device="),
        (lambda x: ops.add(x, x, device="nix"), tenon.UsageError, "there is no device 'nix'"),
        (lambda x: ops.normal([2]), TypeError, r"takes 0 positional inputs but got 1: normal\("),
        (lambda x: ops.normal(), tenon.UsageError, "'shape' is required"),
        (lambda x: ops.concat(), tenon.Error, "needs at least one input"),
        (lambda x: ops.add(x, x, **{"a\0b": 1}), tenon.UsageError, "NUL"),
        (lambda x: ops.add(x, x, **{"\ud800": 1}), tenon.UsageError, r"\\ud800"),
        (lambda x: ops.quadratic(x, **{"d" * 10_000: 1}), tenon.UsageError, "unknown parameter"),
    ],
)
def test_arguments_that_do_not_fit(call, error, text):
    with pytest.raises(error, match=text):
        call(np.ones(2))


def test_a_number_does_not_take_the_dtype_of_an_input_with_dtypes_of_its_own():
    with tenon.Host(search_defaults=False):  # keeps the operator from other tests

        @tenon.operator
        class Repeated:
            """x, regardless of the weights."""

            def describe(op):
                op.input("weights").types("float32")
                op.input("x")
                op.output("y")

            def infer(self, io):
                io.set_output("y", io.shape(1))

            def forward(self, call):
                call.y[...] = call.x

        weights = np.ones(2, "float32")
        general = ops.repeated(weights, 7, device="cpu")  # device= takes the general path
        for _ in range(2):
            assert ops.repeated(weights, 7).dtype == general.dtype != np.float32


@pytest.mark.parametrize(
    "value",
    [True, "x", None, [1], 1j, object(), {}, 10**400, np.ones(2), np.array("a"), b"1", "\ud800"],
    ids=lambda value: type(value).__name__,
)
def test_a_number_as_a_parameter(value):
    with pytest.raises((TypeError, tenon.UsageError), match="parameter"):
        ops.quadratic(BASE, a=value)


@pytest.mark.parametrize(
    "value",
    [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), np.array(2), np.float64(2)],
    ids=lambda value: type(value).__name__,
)
def test_numbers_that_are_parameters(value):
    assert np.array_equal(ops.quadratic(BASE, b=value), BASE * 2)


@pytest.mark.parametrize("value", [[0], (0,), np.array([0]), [np.int8(0)], iter([0])])
def test_lists_that_are_parameters(value):
    assert np.array_equal(ops.sum(BASE, axis=value), BASE.sum(0))


@pytest.mark.parametrize(
    "value", [0, [0.5], ["a"], {0}, range(1), [[0]], [2**70], "0", None, [None]]
)
def test_lists_that_are_none(value):
    with pytest.raises((TypeError, tenon.UsageError), match="axis"):
        ops.sum(BASE, axis=value)


@pytest.mark.parametrize("value", ["int32", np.int32, np.dtype("int32")])
def test_dtypes_as_parameters(value):
    assert ops.cast(BASE, dtype=value).dtype == "int32"


def test_parameters_that_are_equal_and_not_the_same():
    """The cache of prepared calls distinguishes -0.0 from 0.0, and 1 from True and 1.0, in any
    order.
    """
    zero, one = np.zeros(1), np.ones(1)
    for _ in range(3):
        assert not np.signbit(ops.quadratic(zero, a=0.0, b=0.0, c=0.0))[0]
        assert (
            np.signbit(ops.clip(-one, low=-0.0, high=-0.0))[0]
            and not np.signbit(ops.clip(-one, low=0.0, high=0.0))[0]
        )
        assert ops.quadratic(one, a=1)[0] == ops.quadratic(one, a=1.0)[0] == 1
        with pytest.raises(tenon.UsageError, match="true but must be a number"):
            ops.quadratic(one, a=True)
        assert np.isnan(ops.quadratic(one, a=float("nan")))[0] and ops.quadratic(one, a=2.0)[0] == 2
        assert ops.softmax(one, axis=0)[0] == 1
        with pytest.raises(tenon.UsageError, match="must be an integer"):
            ops.softmax(one, axis=False)
        assert ops.sum(BASE, axis=(0,)).shape == (6,) and ops.sum(BASE, axis=(1,)).shape == (4,)
        for axis in ((0.5,), ["0"]):
            with pytest.raises(tenon.UsageError, match="list of integers"):
                ops.sum(BASE, axis=axis)


def test_lists_that_change_between_calls():
    axes = [0]
    for axis, size in ((0, 6), (1, 4), (0, 6), (True, 4)):
        axes[0] = axis
        if axis is True:
            assert ops.sum(BASE, axis=axes).shape == (4,)  # as a list of integers
        else:
            assert ops.sum(BASE, axis=axes).shape == ops.sum(BASE, axis=axes).shape == (size,)
    axes.append(0)
    assert ops.sum(BASE, axis=axes).shape == ()
    axes.clear()
    assert ops.sum(BASE, axis=axes).shape == ()


def test_more_parameters_than_the_cache_holds():
    for _ in range(2):
        for number in range(100):
            assert ops.quadratic(np.ones(1), c=number)[0] == number
            assert ops.add(np.ones(number), 1).sum() == 2 * number


def test_out():
    out = np.zeros((4, 6), "float32")
    assert ops.add(BASE, 1, out=out) is out and np.array_equal(out, BASE + 1)
    wide = np.zeros((4, 12), "float32")
    ops.add(BASE, 1, out=wide[:, ::2])
    assert np.array_equal(wide[:, ::2], BASE + 1) and not wide[:, 1::2].any()
    x = BASE.copy()
    assert np.array_equal(ops.add(x, x, out=x), BASE * 2)
    parts = np.zeros((2, 6), "float32"), np.zeros((2, 6), "float32")
    assert ops.split(BASE, sections=2, axis=0, out=parts) is parts and np.array_equal(
        np.concatenate(parts), BASE
    )


@pytest.mark.parametrize(
    "out", [np.zeros((4, 5), "float32"), np.zeros((4, 6)), np.zeros((4, 6), ">f4"), read_only(),
            [0.0], 5, (np.zeros((4, 6), "float32"),) * 2],
    ids=["shape", "dtype", "swapped", "read-only", "list", "number", "two"],
)  # fmt: skip
def test_out_that_does_not_fit(out):
    before = copy.deepcopy(out)
    with pytest.raises((TypeError, tenon.UsageError), match="out="):
        ops.relu(BASE, out=out)
    assert np.array_equal(np.asarray(out), np.asarray(before))


def test_several_outputs():
    parts = ops.split(BASE, sections=3, axis=1)
    assert isinstance(parts, tuple) and all(
        np.array_equal(part, BASE[:, 2 * i : 2 * i + 2]) for i, part in enumerate(parts)
    )
    (whole,) = ops.split(BASE, sections=1, axis=1)
    assert np.array_equal(whole, BASE)
    graph = tenon.Graph()
    assert len(ops.split(graph.input("x"), sections=1)) == 1


def test_variadic_inputs():
    assert np.array_equal(ops.concat(BASE, BASE, axis=0), np.concatenate([BASE, BASE]))
    assert np.array_equal(ops.concat(inputs=[BASE, BASE], axis=0), np.concatenate([BASE, BASE]))
    assert np.array_equal(ops.concat(*[BASE[:1]] * 40, axis=0), np.repeat(BASE[:1], 40, axis=0))


def test_training():
    x = np.ones(10_000, "float32")
    assert np.array_equal(ops.dropout(x, p=0.5), x)
    kept = ops.dropout(x, p=0.5, training=True)
    assert set(np.unique(kept)) == {0.0, 2.0} and 0.4 < (kept == 0).mean() < 0.6


def test_training_calls_accept_what_others_accept():
    two = np.float32([1, 2])
    for training in (False, True):
        made = ops.broadcast_to(two, np.array([3, 2]), training=training)
        assert np.array_equal(made, np.tile(two, (3, 1)))
        made = ops.tile(two, np.array([2]), training=training)
        assert np.array_equal(made, np.tile(two, 2))


def test_operators_with_states():
    x = np.random.default_rng(1).normal(size=(64, 3)).astype("float32")
    ones, zeros = np.ones(3, "float32"), np.zeros(3, "float32")
    np.testing.assert_allclose(
        ops.batch_norm(x, ones, zeros, axis=1, epsilon=1e-12), x, rtol=1e-5
    )  # new states: mean 0, variance 1
    normal = ops.batch_norm(x, ones, zeros, axis=1, epsilon=1e-12, training=True)
    np.testing.assert_allclose(normal, (x - x.mean(0)) / x.std(0), rtol=1e-4, atol=1e-5)


def test_random_operators():
    with tenon.Host(seed=7) as host:
        first, second = ops.normal(shape=[5]), ops.normal(shape=[5])
    assert not np.array_equal(first, second)
    with tenon.Host(seed=7):
        assert np.array_equal(ops.normal(shape=[5]), first) and np.array_equal(
            ops.normal(shape=[5]), second
        )
    with tenon.Host(seed=8):
        assert not np.array_equal(ops.normal(shape=[5]), first)
    host.close()
    assert ops.uniform(shape=[1000], low=2, high=3, dtype="float64").mean() == pytest.approx(
        2.5, abs=0.05
    )


@pytest.mark.parametrize("shape", [[-2], [2**62, 2**62], [2**70], [1] * 9, [2**60]])
def test_shapes_beyond_memory(shape):
    with pytest.raises(tenon.Error):
        ops.normal(shape=shape)


def test_the_shape_of_a_result_may_depend_on_elements():
    assert np.array_equal(ops.nonzero(np.array([0, 1, 0, 2]))[:, 0], [1, 3])
    assert np.array_equal(ops.nonzero(np.array([1, 1, 0, 2]))[:, 0], [0, 1, 3])


def test_an_operator_of_a_host_of_its_own():
    with pytest.raises(TypeError, match="must be a tenon.Host"):
        type(ops.add)("add", host=5)
    with pytest.raises(TypeError):
        type(ops.add)(5)
    with pytest.raises(tenon.PluginError, match="there is no operator 'zzz'"):
        type(ops.add)("zzz")(1)
    with tenon.Host(search_defaults=False):
        with pytest.raises(tenon.PluginError, match="there is no operator 'add'"):
            ops.add(1, 2)
    assert ops.add(1, 2) == 3


def test_hosts_with_other_plugins():
    """Cached operator information belongs to one host: another one has had as many additions."""
    paths = {name: ops[name].info.path for name in ("sum", "add")}
    assert paths["sum"] != paths["add"]
    for _ in range(2):
        for here, elsewhere in (("sum", "add"), ("add", "sum")):
            with tenon.Host(search_defaults=False) as host:
                host.add_plugins(paths[here])
                assert (
                    (ops.sum(BASE) == BASE.sum())
                    if here == "sum"
                    else (ops.add(BASE, BASE) == 2 * BASE).all()
                )
                for call in (
                    lambda: ops[elsewhere],
                    lambda: getattr(ops, elsewhere).info,
                    lambda: getattr(ops, elsewhere)(BASE, BASE),
                ):
                    with pytest.raises(tenon.PluginError, match=f"no operator '{elsewhere}'"):
                        call()
            host.close()
