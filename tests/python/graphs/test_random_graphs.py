"""Random graphs against numpy: repeated values, several outputs, and gradients against finite
differences.

TENON_RANDOM_GRAPHS=2000 tries more of them than CI does.
"""

import os

import numpy as np
import pytest
import tenon
from tenon import ops

COUNT = int(os.environ.get("TENON_RANDOM_GRAPHS", "60"))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# NAME -> (inputs, the call, numpy). Smooth functions, for finite differences; all of shape (2, 3).
CALLS = {
    "tanh": (1, ops.tanh, np.tanh),
    "sin": (1, ops.sin, np.sin),
    "sigmoid": (1, ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "neg": (1, ops.neg, np.negative),
    "square": (1, lambda x: ops.square(ops.tanh(x)), lambda x: np.tanh(x) ** 2),
    "softmax": (1, lambda x: ops.softmax(x, axis=1), softmax),
    "mean": (
        1,
        lambda x: ops.add(x, ops.mean(x, axis=[0], keepdims=True)),
        lambda x: x + x.mean(0, keepdims=True),
    ),
    "swap": (
        1,
        lambda x: ops.concat(*ops.split(x, sections=3, axis=1)[::-1], axis=1),
        lambda x: x[:, ::-1],
    ),
    "add": (2, ops.add, np.add),
    "sub": (2, ops.sub, np.subtract),
    "mul": (2, lambda x, y: ops.mul(ops.tanh(x), y), lambda x, y: np.tanh(x) * y),
    "product": (
        2,
        lambda x, y: ops.matmul(ops.matmul(x, y, transpose_b=True), y),
        lambda x, y: x @ y.T @ y,
    ),
}


def program(random):
    """Steps (call, indices of inputs) on five sources: inputs 0 and 1, variables 2 and 3, constant
    4. Some repeat.
    """
    steps = []
    for i in range(random.integers(2, 14)):
        if steps and random.random() < 0.35:
            steps.append(steps[random.integers(len(steps))])
            continue
        name = random.choice(list(CALLS))
        steps.append((name, tuple(int(random.integers(5 + i)) for _ in range(CALLS[name][0]))))
    return steps


def results(steps, sources, position):
    values = list(sources)
    for name, inputs in steps:
        values.append(CALLS[name][position](*(values[i] for i in inputs)))
    return values


def small(values):
    return max(np.abs(v).max() for v in values) < 1e3


@pytest.mark.parametrize("seed", range(COUNT))
def test_random_graph(seed):
    random = np.random.default_rng(seed)
    steps = program(random)
    arrays = [random.uniform(-1, 1, (2, 3)) for _ in range(5)]
    want = results(steps, arrays, 2)
    if not small(want):
        return
    graph = tenon.Graph()
    x0, x1 = (graph.input(name, "float64", (None, 3)) for name in ("x0", "x1"))
    w0, w1 = (graph.variable(f"w{i}", arrays[2 + i]) for i in range(2))
    values = results(steps, [x0, x1, w0, w1, graph.constant(arrays[4])], 1)
    chosen = sorted({len(values) - 1, *(int(random.integers(5, len(values))) for _ in range(3))})
    loss = ops.sum(ops.tanh(values[-1]))
    gradients = {
        name: gradient
        for name, gradient in zip(("dw", "dx"), graph.gradient(loss, [w0, x0]), strict=True)
        if gradient is not None
    }
    graph.outputs(**{f"y{i}": values[i] for i in chosen}, loss=loss, **gradients)

    def loss_at(index, array):
        moved = [*arrays]
        moved[index] = array
        return np.tanh(results(steps, moved, 2)[-1]).sum()

    differences = {}
    for name, index in (("dw", 2), ("dx", 0)):
        slope = np.zeros((2, 3))
        for place in np.ndindex(2, 3):
            step = np.zeros((2, 3))
            step[place] = 1e-6
            slope[place] = (
                loss_at(index, arrays[index] + step) - loss_at(index, arrays[index] - step)
            ) / 2e-6
        differences[name] = slope

    for options in (
        {},
        {"optimize": "exact"},
        {"optimize": "none"},
        {"training": True},
        {"debug": True},
    ):
        session = tenon.Session(graph, **options)
        for _ in range(3):
            out = session.run({"x0": arrays[0], "x1": arrays[1]})
            for i in chosen:
                assert np.allclose(out[f"y{i}"], want[i], rtol=1e-9, atol=1e-12), (
                    options,
                    steps,
                    i,
                )
            for name, slope in differences.items():
                found = out[name] if name in gradients else np.zeros((2, 3))
                assert np.allclose(found, slope, rtol=1e-4, atol=1e-6), (options, steps, name)
