"""Data and networks for the training tests."""

import numpy as np
import tenon
from tenon import nn, ops


def examples(count=200, seed=0):
    """Three classes of points: separable, but too close to be learned at once."""
    random = np.random.default_rng(seed)
    label = random.integers(0, 3, count).astype(np.uint8)
    return {
        "x": (random.standard_normal((count, 4)) + label[:, None]).astype(np.float32),
        "label": label,
    }


def network():
    graph = tenon.Graph()
    x, label = graph.input("x", "float32", (None, 4)), graph.input("label", "uint8", (None,))
    h = nn.dropout(nn.batch_norm(nn.dense(x, 16, name="fc"), activation="relu", name="norm"), 0.2)
    scores = nn.dense(h, 3, name="scores")
    graph.outputs(loss=ops.softmax_cross_entropy(scores, label), best=ops.argmax(scores, axis=[1]))
    return graph


def train(*given, **options):
    return tenon.train(*given, **{"progress": False, **options})


def values(graph):
    return {name: value.tensor for name, value in {**graph.variables, **graph.states}.items()}


def assert_same_bits(one, other):
    one, other = values(one), values(other)
    assert list(one) == list(other) and len(one) == 8
    assert [name for name in one if not one[name].same_bits(other[name])] == []
