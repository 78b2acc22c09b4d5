"""ONNX models, written by hand: imported with the options that the command has."""

import numpy as np
import pytest
import tenon

X = np.array([[-1, 2], [3, -4]], np.float32)


def field(number, value):
    """One of protobuf's: an int, a text, or a message."""

    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def node(kind, inputs, output, domain=""):
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind) + field(7, domain)


def value(name, *dims):
    sizes = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, sizes)))


def model(nodes, inputs, output):
    graph = b"".join(field(1, one) for one in nodes) + b"".join(field(11, value(*one)) for one in inputs)
    opsets = field(8, field(2, 17)) + field(8, field(1, "my.ops") + field(2, 1))
    return field(1, 8) + field(7, graph + field(12, value(output))) + opsets


@pytest.fixture
def path(tmp_path):
    nodes = [node("Add", ("x", "k"), "s"), node("Odd", ("s",), "y", "my.ops")]
    (tmp_path / "odd.onnx").write_bytes(model(nodes, [("x", "rows", 2), ("k",)], "y"))
    return tmp_path / "odd.onnx"


def test_options(path):
    graph = tenon.load(path, map={"my.ops::Odd": "relu"}, fix={"k": 1}, shape={"x": (2, 2)})
    assert list(graph.inputs) == ["x"] and graph(x=X).y.tolist() == [[0, 3], [4, 0]]
    k = np.array(1, np.float32)
    graph = tenon.load(path, map={"my.ops::Odd": "relu"}, fix={"k": k})
    k[()] = 5
    assert graph(x=X).y.tolist() == [[0, 3], [4, 0]]


def test_unknown_operators(path, tmp_path):
    with pytest.raises(tenon.PluginError, match="my.ops::Odd \\(1 node without a name"):
        tenon.load(path)
    kept = tenon.load(path, keep_unknown=True)
    kept.save(tmp_path / "kept.tenon")
    for graph in (kept, tenon.load(tmp_path / "kept.tenon")):
        assert [one["op"] for one in graph.nodes] == ["add", "odd"]
        with pytest.raises(tenon.PluginError, match="my_ops.odd"):
            graph(x=X, k=np.float32(1))


@pytest.mark.parametrize(
    "options, error, words",
    [
        ({"map": {"my.ops::Odd": "nix"}}, tenon.FileError, "no operator 'nix'"),
        ({"shape": {"z": 1}}, tenon.UsageError, "no input 'z'"),
        ({"fix": {"z": 1}}, tenon.UsageError, "no input 'z'"),
        ({"functions": "both"}, tenon.UsageError, "functions is 'both'"),
        ({"map": 5}, TypeError, None),
    ],
)
def test_options_that_do_not_fit(path, options, error, words):
    with pytest.raises(error, match=words):
        tenon.load(path, **options)


def test_options_are_for_models(tmp_path):
    graph = tenon.Graph()
    graph.output("y", graph.input("x", "float32", 2))
    graph.save(tmp_path / "net.tenon")
    with pytest.raises(tenon.UsageError, match="fix= is for ONNX models"):
        tenon.load(tmp_path / "net.tenon", fix={"x": 1})
    (tmp_path / "page.onnx").write_text("<!DOCTYPE html>")
    with pytest.raises(tenon.FileError, match="web page"):
        tenon.load(tmp_path / "page.onnx")
