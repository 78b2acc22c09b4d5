"""ONNX's Slice with a negative step clamps a begin before the first element to it; Tenon's slices
are Python's.
"""

import itertools

import numpy as np
import pytest
import tenon
from onnx_models import field, node, value
from tenon import ops


def as_onnx_says(n, start, end, step):
    """The specification: negative bounds plus n; for negative steps, start clamped to [0, n - 1],
    end to [-1, n - 1].
    """
    start, end = (i + n if i < 0 else i for i in (start, end))
    if step > 0:
        start, end = min(max(start, 0), n), min(max(end, 0), n)
    else:
        start, end = min(max(start, 0), n - 1), min(max(end, -1), n - 1)
    return [i for i in range(start, end, step)] if n else []


BOUNDS = (-30, -12, -11, -10, -3, -1, 0, 1, 9, 10, 30, 2**63 - 1, -(2**63))
STEPS = (1, 3, -1, -2, -30, -(2**63))


@pytest.mark.parametrize("n", [0, 1, 10])
def test_every_bound(n):
    x = np.arange(n, dtype="float32")
    for begin, end, step in itertools.product(BOUNDS, BOUNDS, STEPS):
        options = {"begin": [begin], "end": [end], "step": [step]}
        made = ops.slice(x, **options, clamp_begin=True)
        assert made.tolist() == as_onnx_says(n, begin, end, step), (begin, end, step)
        given = dict(zip(("begins", "ends", "steps"), (np.array([i]) for i in (begin, end, step))))
        assert ops.slice(x, **given, clamp_begin=True).tolist() == made.tolist()
        if step != -(2**63):
            assert ops.slice(x, **options).tolist() == x[begin:end:step].tolist(), (
                begin,
                end,
                step,
            )


def test_of_unknown_sizes_and_gradients():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None,))
    y = ops.slice(x, begin=[-11], end=[-20], step=[-1], clamp_begin=True)
    (dx,) = graph.gradient(ops.sum(y), [x])
    graph.outputs(y=y, dx=dx)
    session = graph.session()
    for n, right in ((10, [0]), (11, [0]), (12, [1, 0]), (0, []), (10, [0])):
        made = session.run({"x": np.arange(n, dtype="float32")})
        assert made["y"].tolist() == right
        assert made["dx"].tolist() == [1.0 if i in right else 0.0 for i in range(n)]


def list_of(name, *numbers):
    data = np.array(numbers, "int64")
    return field(5, field(1, len(data)) + field(2, 7) + field(8, name) + field(9, data.tobytes()))


@pytest.mark.parametrize("size", [10, "n"])
@pytest.mark.parametrize("begin", [-11, -10, 9, 30])
def test_imported(tmp_path, size, begin):
    lists = [list_of("b", begin), list_of("e", -20), list_of("a", 0), list_of("s", -1)]
    nodes = field(1, node("Slice", ("x", "b", "e", "a", "s"), "y"))
    graph = nodes + b"".join(lists) + field(11, value("x", (size,))) + field(12, value("y"))
    (tmp_path / "slice.onnx").write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
    x = np.arange(10, dtype="float32")
    for _ in range(3):
        made = tenon.load(tmp_path / "slice.onnx")(x=x)["y"]
        assert made.tolist() == as_onnx_says(10, begin, -20, -1)


@pytest.mark.parametrize(
    ("size", "options", "known_to_onnx"),
    [
        (10, {"begin": [-11], "end": [-20], "step": [-1]}, False),
        (10, {"begin": [-11], "end": [-20], "step": [-1], "clamp_begin": True}, True),
        (10, {"begin": [-10], "end": [-20], "step": [-1]}, True),
        (10, {"begin": [-11], "end": [5], "step": [1]}, True),
        (10, {"begin": [-11], "end": [5]}, True),
        (None, {"begin": [-1], "end": [-20], "step": [-1]}, True),
        (None, {"begin": [-2], "end": [-20], "step": [-1]}, False),
        (None, {"begin": [-2], "end": [-20], "step": [-1], "clamp_begin": True}, True),
    ],
)
def test_exported(tmp_path, size, options, known_to_onnx):
    """A slice that ONNX would compute differently is exported as a Tenon operator, with a note."""
    graph = tenon.Graph()
    graph.outputs(y=ops.slice(graph.input("x", "float32", (size,)), **options))
    notes = graph.export_onnx(tmp_path / "slice.onnx")
    assert (not notes) == known_to_onnx, notes
