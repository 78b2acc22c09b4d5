"""Layers against closed forms in numpy, with created, shared and passed weights."""

import numpy as np
import pytest
import tenon
from tenon import nn, ops


def built(layer, shape, dtype="float32"):
    """A graph of one layer with fixed elements, and the result of a call."""
    graph = tenon.Graph()
    made = layer(graph.input("x", dtype, shape))
    graph.output("y", made)
    graph.initialize(3)
    return graph


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def weights(graph):
    return {name: value.numpy() for name, value in graph.variables.items()}


def test_dense_is_a_product_with_its_weight_and_a_bias():
    graph = built(
        lambda x: nn.dense(x, 5, name="fc", init=("normal", 0.0, 1.0), bias=numbers(5)), (None, 3)
    )
    own = weights(graph)
    assert own["fc_weight"].shape == (5, 3) and own["fc_weight"].std() > 0.3
    x = numbers(4, 3, seed=1)
    np.testing.assert_allclose(
        graph(x=x).y, x @ own["fc_weight"].T + numbers(5), rtol=1e-5, atol=1e-6
    )


def test_dense_works_on_the_last_axis_and_leaves_its_bias_out():
    graph = built(lambda x: nn.dense(x, 2, bias=False), (None, 4, 3))
    assert list(graph.variables) == ["dense_weight"]
    x = numbers(2, 4, 3)
    np.testing.assert_allclose(
        graph(x=x).y, x @ weights(graph)["dense_weight"].T, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "activation", ["relu", ops.relu, lambda value: value.graph.ops.maximum(value, 0.0)]
)
def test_an_activation_is_an_operator_its_name_or_any_function(activation):
    graph = built(lambda x: nn.dense(x, 6, activation=activation), (None, 3))
    own, x = weights(graph), numbers(5, 3)
    np.testing.assert_allclose(
        graph(x=x).y, np.maximum(x @ own["dense_weight"].T, 0), rtol=1e-5, atol=1e-6
    )


def test_weights_are_shared_by_passing_them():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 3))
    first = nn.dense(x, 3, name="one")
    second = nn.dense(first, 3, weight=graph["one_weight"], bias=graph["one_bias"])
    graph.outputs(y=second)
    graph.initialize(0)
    assert set(graph.variables) == {"one_weight", "one_bias"}
    w, data = graph["one_weight"].numpy(), numbers(2, 3)
    np.testing.assert_allclose(graph(x=data).y, data @ w.T @ w.T, rtol=1e-5, atol=1e-6)


def test_an_array_becomes_a_variable_which_training_changes():
    graph = tenon.Graph()
    x, y = graph.input("x", "float32", (None, 2)), graph.input("y", "float32", (None, 1))
    given = np.zeros((1, 2), np.float32)
    graph.outputs(
        loss=ops.mean_squared_error(nn.dense(x, 1, weight=given, bias=False, name="fc"), y)
    )
    data = numbers(8, 2)
    run = tenon.train(
        graph, (data, data @ np.float32([[2], [1]])), epochs=300, learning_rate=0.05, progress=False
    )
    np.testing.assert_allclose(run.graph["fc_weight"].numpy(), [[2, 1]], atol=1e-3)
    assert not given.any()


def test_names_are_free_ones():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 3))
    assert [nn.dense(x, 2).name for _ in range(3)] == ["dense", "dense_1", "dense_2"]
    with pytest.raises(tenon.UsageError, match="dense_1"):
        nn.dense(x, 2, name="dense_1")


def test_he_and_constant_first_values():
    graph = built(lambda x: nn.dense(x, 400, init="he", name="fc"), (None, 200))
    assert abs(weights(graph)["fc_weight"].std() - np.sqrt(2 / 200)) < 0.005
    assert (
        weights(built(lambda x: nn.dense(x, 4, init=0.5), (None, 2)))["dense_weight"] == 0.5
    ).all()


def correlated(x, w, pad=0, stride=1, dilate=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    reach = dilate * (w.shape[2] - 1) + 1
    windows = np.lib.stride_tricks.sliding_window_view(x, (reach, reach), axis=(2, 3))[
        :, :, ::stride, ::stride, ::dilate, ::dilate
    ]
    return np.einsum("bchwij,fcij->bfhw", windows, w)


@pytest.mark.parametrize(
    ("options", "plain"),
    [
        ({}, {}),
        ({"pad": "same"}, {"pad": 1}),
        ({"stride": 2, "pad": 1}, {"stride": 2, "pad": 1}),
        ({"dilate": 2, "pad": "same"}, {"dilate": 2, "pad": 2}),
    ],
)
def test_conv(options, plain):
    graph = built(
        lambda x: nn.conv(x, 4, 3, name="conv", init="xavier", bias=numbers(4), **options),
        (None, 2, 7, 7),
    )
    x = numbers(3, 2, 7, 7)
    expected = correlated(x, weights(graph)["conv_weight"], **plain) + numbers(4)[:, None, None]
    np.testing.assert_allclose(graph(x=x).y, expected, rtol=1e-4, atol=1e-5)


def test_same_padding_of_an_even_kernel_is_refused():
    graph = tenon.Graph()
    with pytest.raises(tenon.UsageError, match="equal padding on both sides"):
        nn.conv(graph.input("x", "float32", (None, 1, 8, 8)), 2, 4, pad="same")


def test_batch_norm_in_training_and_outside():
    graph = built(
        lambda x: nn.batch_norm(
            x, gamma=np.float32([2, 3]), epsilon=0.5, momentum=0.0, name="norm"
        ),
        (None, 2),
    )
    x = numbers(50, 2) * 3 + 1
    with graph.session(training=True) as session:
        made = session.run({"x": x})["y"]
        normal = (x - x.mean(0)) / np.sqrt(x.var(0) + 0.5) * np.float32([2, 3])
        np.testing.assert_allclose(made, normal, rtol=1e-3, atol=1e-4)
        kept = session.graph()
    np.testing.assert_allclose(
        kept(x=x).y, normal, rtol=1e-3, atol=1e-3
    )  # momentum 0: the moving means are those of that batch


def test_layer_norm():
    graph = built(lambda x: nn.layer_norm(x, beta=numbers(5)), (None, 5))
    x = numbers(3, 5)
    expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) + numbers(5)
    np.testing.assert_allclose(graph(x=x).y, expected, rtol=1e-4, atol=1e-5)


def test_dropout_keeps_the_mean_in_training_and_is_the_identity_outside():
    graph = built(lambda x: nn.dropout(x, 0.25), (None,))
    x = np.ones(40000, np.float32)
    made = graph.session(training=True).run({"x": x})["y"]
    assert set(np.unique(made)) == {0, np.float32(1 / 0.75)} and abs(made.mean() - 1) < 0.02
    assert (graph(x=x).y == x).all()


def test_embedding_takes_rows():
    graph = built(
        lambda x: nn.embedding(x, 6, 4, init=("uniform", 5.0, 6.0), name="words"),
        (None, None),
        "int32",
    )
    rows = np.int32([[0, 5], [2, 2]])
    assert (graph(x=rows).y == weights(graph)["words_weight"][rows]).all() and graph(
        x=rows
    ).y.min() >= 5
    shared = built(
        lambda x: ops.sub(
            nn.embedding(x, 6, 4, dtype="float64", name="one"),
            nn.embedding(x, 6, 4, weight=x.graph["one_weight"]),
        ),
        (None,),
        "int32",
    )
    made = shared(x=rows[0]).y
    assert made.dtype == np.float64 and not made.any() and list(shared.variables) == ["one_weight"]


def test_pools():
    x = numbers(2, 3, 6, 6)
    windows = x.reshape(2, 3, 3, 2, 3, 2)
    np.testing.assert_array_equal(
        built(lambda v: nn.max_pool(v, 2), (None, 3, 6, 6))(x=x).y, windows.max((3, 5))
    )
    np.testing.assert_allclose(
        built(lambda v: nn.avg_pool(v, 2), (None, 3, 6, 6))(x=x).y,
        windows.mean((3, 5)),
        rtol=1e-5,
        atol=1e-6,
    )
    overlapping = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3)).max((4, 5))
    np.testing.assert_array_equal(
        built(lambda v: nn.max_pool(v, 2, stride=1), (None, 3, 6, 6))(x=x).y, overlapping
    )


def test_flatten_with_an_unknown_batch_or_unknown_features():
    x = numbers(2, 3, 4)
    for shape in [(None, 3, 4), (2, None, 4)]:
        graph = built(nn.flatten, shape)
        np.testing.assert_array_equal(graph(x=x).y, x.reshape(2, 12))
    with pytest.raises(tenon.UsageError, match="not known"):
        built(nn.flatten, (None, None, 4))


def test_sequence_applies_one_after_the_other():
    graph = built(
        lambda x: nn.sequence(x, nn.flatten, lambda h: nn.dense(h, 4, bias=False), "tanh"),
        (None, 2, 3),
    )
    x = numbers(5, 2, 3)
    np.testing.assert_allclose(
        graph(x=x).y,
        np.tanh(x.reshape(5, 6) @ weights(graph)["dense_weight"].T),
        rtol=1e-5,
        atol=1e-6,
    )


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(row, again, h):
    return (np.tanh(row + h @ again),)


def gru_step(row, again, h):
    (r, z, n), (hr, hz, hn) = np.split(row, 3, 1), np.split(h @ again, 3, 1)
    r, z = sigmoid(r + hr), sigmoid(z + hz)
    return ((1 - z) * np.tanh(n + r * hn) + z * h,)


def lstm_step(row, again, h, c):
    i, f, g, o = np.split(row + h @ again, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


@pytest.mark.parametrize(
    ("layer", "step", "carries"),
    [(nn.rnn, rnn_step, 1), (nn.gru, gru_step, 1), (nn.lstm, lstm_step, 2)],
)
def test_recurrent_layers(layer, step, carries):
    graph = built(lambda x: layer(x, 4, sequences=True, name="cell"), (None, None, 3))
    own, x = weights(graph), numbers(2, 5, 3)
    state = [np.zeros((2, 4), np.float32)] * carries
    expected = []
    for t in range(5):
        state = step(
            x[:, t] @ own["cell_weight"].T + own["cell_bias"], own["cell_recurrent"], *state
        )
        expected.append(state[0])
    np.testing.assert_allclose(graph(x=x).y, np.stack(expected, 1), rtol=1e-4, atol=1e-5)
    last = built(lambda x: layer(x, 4, name="cell"), (None, None, 3))
    np.testing.assert_allclose(last(x=x).y, expected[-1], rtol=1e-4, atol=1e-5)


def test_a_recurrent_layer_learns_to_add():
    graph = tenon.Graph()
    x, y = graph.input("x", "float32", (None, None, 1)), graph.input("y", "float32", (None, 1))
    graph.outputs(loss=ops.mean_squared_error(nn.dense(nn.lstm(x, 8), 1), y))
    data = numbers(256, 6, 1) / 3
    run = tenon.train(graph, (data, data.sum(1)), epochs=40, learning_rate=0.02, progress=False)
    assert run.history[-1]["loss"] < 0.05 * data.sum(1).var()


def test_arrays_are_refused():
    with pytest.raises(TypeError, match="nn.dense.* takes a value of a graph, not ndarray"):
        nn.dense(numbers(2, 2), 3)
    graph = tenon.Graph()
    with pytest.raises(TypeError, match="must return a value"):
        nn.sequence(graph.input("x", "float32", (None, 3)), lambda value: 3)
