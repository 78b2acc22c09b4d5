"""Graphs: building, gradients, files, copies, drawings, and rejected uses."""

import copy
import json
import pickle
import zipfile

import numpy as np
import pytest
import tenon
from small_graphs import X, graph_of
from tenon import ops

# ---- building ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, want",
    [
        ((3, 4), (3, 4)),
        ([None, 2], (None, 2)),
        (5, (5,)),
        ((), ()),
        (None, None),
        (np.array([3, 4]), (3, 4)),
        (iter([3]), (3,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "f4"], ids=str)
def test_inputs(dtype, shape, want):
    graph = tenon.Graph()
    value = graph.input("x", dtype, [*want] if hasattr(shape, "__next__") else shape)
    assert (value.name, value.dtype, value.shape, value.role) == (
        "x",
        "float32",
        want,
        "input",
    ) and list(graph.inputs) == ["x"]


@pytest.mark.parametrize("name", ["", "x", "a\0b", "a:b", "\ud800", 5, None, b"y"])
def test_names_that_are_none(name):
    graph, _ = graph_of()
    with pytest.raises((tenon.UsageError, TypeError)) as error:
        graph.input(name)
    # a readable message, whatever the name was
    assert b"incompatible" not in str(error.value).encode()


@pytest.mark.parametrize(
    "shape",
    [(-2,), (2**70,), (1,) * 9, "33", (1.5,), ("a",), 1.5, object(), (None, "a"), [[1]]],
    ids=str,
)
def test_shapes_that_are_none(shape):
    with pytest.raises((tenon.UsageError, TypeError), match="shape|dimension"):
        tenon.Graph().input("x", "float32", shape)


@pytest.mark.parametrize("dtype", ["nix", 5, "M8[s]", object, "U5"], ids=str)
def test_dtypes_that_are_none(dtype):
    with pytest.raises((tenon.UsageError, TypeError)):
        tenon.Graph().input("x", dtype, (2,))


def test_variables():
    graph = tenon.Graph()
    given = X.copy()
    weight = graph.variable("w", given)
    given[...] = -1
    assert np.array_equal(weight.numpy(), X) and weight.role == "variable"
    assert (
        graph.variable("list", [1, 2], dtype="float32").dtype == "float32"
        and graph.variable("ints", [1, 2]).dtype == "int64"
    )
    for init, want in (("zeros", 0), ("ones", 1), (2.5, 2.5), (3, 3)):
        graph.variable(f"v{want}", shape=(2,), init=init)
    graph.variable("spread", shape=(1000,), init=("normal", 5, 0.5))
    graph.variable("flat", shape=(1000,), init=("uniform", -1, 3))
    graph.initialize(4)
    assert all((graph[f"v{want}"].numpy() == want).all() for want in (0, 1, 2.5, 3))
    assert graph["spread"].numpy().mean() == pytest.approx(5, abs=0.1) and graph[
        "spread"
    ].numpy().std() == pytest.approx(0.5, abs=0.1)
    assert graph["flat"].numpy().min() > -1 and graph["flat"].numpy().max() < 3
    with pytest.raises(tenon.UsageError, match="no elements"):
        graph.input("x").numpy()


@pytest.mark.parametrize(
    "arguments",
    [dict(init="nix", shape=2), dict(init=("normal",), shape=2),
     dict(init=("normal", 0, 1, 5), shape=2), dict(init=("normal", 0, "a"), shape=2),
     dict(init=None, shape=2), dict(init=True, shape=2), dict(init=(), shape=2),
     dict(init=("uniform", 1, 0), shape=2), dict(value="a"),
     dict(value=X, shape=2), dict(value=X, dtype="float64"), dict(value=[1.5], dtype="int32"),
     dict(value=X, init="zeros"), dict(value=X.astype(object))],
    ids=str,
)  # fmt: skip
def test_variables_that_are_refused(arguments):
    graph = tenon.Graph()
    with pytest.raises((tenon.UsageError, TypeError)):
        graph.variable("w", **arguments)
    assert not graph.variables


def test_names_of_nodes_and_outputs():
    graph, x = graph_of()
    first = ops.relu(x, name="first")
    low, high = ops.split(first, sections=2, axis=1)
    graph.outputs(low=low, high=high, self=first)
    assert (
        graph["first"].name == "first"
        and graph["low"].name == low.name
        and graph["split:1"].name == high.name
    )
    assert (
        "first" in graph
        and "nix" not in graph
        and [node["op"] for node in graph.nodes] == ["relu", "split"]
    )
    out = graph(x=X)
    assert (
        np.array_equal(out["high"], X[:, 2:])
        and np.array_equal(out.self, X)
        and list(graph.outputs()) == ["low", "high", "self"]
    )
    with pytest.raises(KeyError, match="nix"):
        graph["nix"]
    for name in (5, None):
        with pytest.raises(TypeError):
            graph[name]
    with pytest.raises(tenon.UsageError, match="taken"):
        ops.relu(x, name="first")
    for name in ("a\0b", "\ud800", 5):
        with pytest.raises((tenon.UsageError, TypeError)) as error:
            ops.relu(x, name=name)
        assert "incompatible" not in str(error.value)


@pytest.mark.parametrize("word, value", [("device", "cpu"), ("out", X), ("training", True)])
def test_words_that_are_for_arrays(word, value):
    with pytest.raises(TypeError, match=f"{word}="):
        ops.relu(graph_of()[1], **{word: value})


def test_values_of_other_graphs():
    (graph, x), (other, y) = graph_of(), graph_of()
    for call in (
        lambda: x + y,
        lambda: graph.output("o", y),
        lambda: graph.gradient(y, [x]),
        lambda: graph.gradient(x, [y]),
        lambda: graph.update(x, y),
    ):
        with pytest.raises(tenon.UsageError):
            call()
    with pytest.raises(TypeError, match="a value of the graph"):
        graph.output("o", 5)
    del other


def test_operators_of_a_graph():
    graph, x = graph_of((None, 4))
    graph.output("y", graph.ops.normal(shape=[2]))
    graph.output("z", graph.ops.tenon.add(x, 1))
    graph.output("where", ops.where(x > 3, x, 0.0))
    graph.output("where_", graph.ops["where"](x > 3, 1.0, x))
    out = graph(x=X)
    assert out.y.shape == (2,) and np.array_equal(out.z, X + 1)
    assert np.array_equal(out["where"], np.where(X > 3, X, 0)) and np.array_equal(
        out["where_"], np.where(X > 3, 1, X)
    )
    assert "relu" in dir(graph.ops)
    with pytest.raises(AttributeError, match="there is no operator 'nix'"):
        graph.ops.nix


def test_a_number_of_outputs_that_a_parameter_sets():
    graph, x = graph_of()
    assert len(ops.split(x, sections=4, axis=1)) == 4
    for sections in ("a", -1, 10**9, 1.5):
        with pytest.raises((tenon.UsageError, TypeError), match="sections"):
            ops.split(x, sections=sections)


def test_gradient():
    graph, x = graph_of()
    w = graph.variable("w", X.T.copy())
    product = ops.sum(x @ w, name="loss")
    dx, dw = graph.gradient(product, [x, w])
    graph.outputs(dx=dx, dw=dw)
    out = graph(x=X)
    ones = np.ones((3, 3), "float32")
    np.testing.assert_allclose(out.dx, ones @ X)
    np.testing.assert_allclose(out.dw, X.T @ ones)
    assert graph.gradient(product, [graph.input("unused")]) == [None]


# ---- copies and files ----------------------------------------------------------------------------


def net():
    graph, x = graph_of((None, 4))
    w = graph.variable("w", X.T[:, :2].copy())
    graph.output("y", ops.relu(x @ w + 1, name="y"))
    return graph


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        lambda g: pickle.loads(pickle.dumps(g)),
        lambda g: g.clone(),
        lambda g: tenon.from_json(g.to_json()),
    ],
    ids=["copy", "deepcopy", "pickle", "clone", "json"],
)
def test_copies(copied, request):
    graph = net()
    made = copied(graph)
    if "json" in request.node.name:
        made.initialize(1)
        assert json.loads(graph.to_json())["tenon"]
    else:
        assert np.array_equal(made(x=X)["y"], graph(x=X)["y"])
    assert repr(made) == repr(graph) and [node["name"] for node in made.nodes] == [
        node["name"] for node in graph.nodes
    ]
    made.output("more", made["y"] * 2)
    assert "more" in made.outputs() and "more" not in graph.outputs()


def test_files(tmp_path):
    graph = net()
    for path in (
        tmp_path / "net.tenon",
        str(tmp_path / "übung.tenon"),
        bytes(tmp_path / "bytes.tenon"),
    ):
        graph.save(path)
        assert np.array_equal(tenon.load(path)(x=X)["y"], graph(x=X)["y"])
    assert graph.to_bytes(seed=1) == graph.to_bytes(seed=1)


@pytest.mark.parametrize(
    "path, error",
    [
        ("/nix/net.tenon", tenon.FileError),
        ("a\0b", tenon.UsageError),
        ("", tenon.FileError),
        (5, TypeError),
        (None, TypeError),
    ],
)
def test_paths_that_are_none(path, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (tenon.load, net().save):
        with pytest.raises(error) as found:
            call(path)
        assert "incompatible" not in str(found.value)
    assert not list(tmp_path.iterdir())


def test_files_that_are_broken(tmp_path):
    path = tmp_path / "net.tenon"
    net().save(path)
    whole = path.read_bytes()
    for size in (0, 1, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(tenon.FileError):
            tenon.load(path)
    for text in ("", "{}", "nix", "[1", '{"tenon": 99}'):
        with pytest.raises(tenon.FileError):
            tenon.from_json(text)
    with pytest.raises(TypeError, match="text: str"):
        tenon.from_json(5)


def test_a_graph_whose_plugin_is_not_there(tmp_path):
    """It can be opened, listed and saved; runs name the missing operator."""
    path = tmp_path / "net.tenon"
    net().save(path)
    with tenon.Host(search_defaults=False) as host:
        graph = tenon.load(path)
        assert (
            graph.host is host
            and len(graph.nodes) == 3
            and {each["name"] for each in graph.operators} >= {"tenon.matmul", "tenon.relu"}
        )
        for call in (
            lambda: graph(x=X),
            graph.bind,
            lambda: tenon.Session(graph),
            lambda: graph.plan(x=(2, 4)),
        ):
            with pytest.raises(tenon.PluginError, match="tenon.matmul|matmul") as error:
                call()
            assert "relu" in str(error.value)
        again = graph.to_bytes()
    assert again == tenon.load(path).to_bytes() or np.array_equal(
        pickle.loads(pickle.dumps(tenon.load(path)))(x=X)["y"], net()(x=X)["y"]
    )


def test_export_onnx(tmp_path):
    graph, x = graph_of()
    graph.output("y", ops.relu(x))
    path = tmp_path / "net.onnx"
    assert graph.export_onnx(path) == []
    assert tenon.load(path).to_bytes() == graph.to_bytes()
    with pytest.raises(tenon.UsageError, match="the opset is 5 but must be from 13 to 24"):
        graph.export_onnx(path, opset=5)


# ---- runs of a graph, plans, drawings ------------------------------------------------------------


def test_calls():
    graph = net()
    want = np.maximum(X @ X.T[:, :2] + 1, 0)
    for got in (
        graph(X),
        graph(x=X),
        graph(X, outputs="y"),
        graph(X, outputs=["y"]),
        graph(X.tolist()),
    ):
        np.testing.assert_allclose(got["y"], want)
    for call, error in (
        (lambda: graph(X, X), TypeError),
        (lambda: graph(X, x=X), TypeError),
        (lambda: graph(), tenon.UsageError),
        (lambda: graph(z=X), tenon.UsageError),
        (lambda: graph(X, outputs="nix"), tenon.UsageError),
    ):
        with pytest.raises(error):
            call()


def test_an_edit_drops_the_cached_session():
    graph, x = graph_of()
    graph.output("y", x + 1)
    assert list(graph(X)) == ["y"]
    edits = [
        lambda: graph.output("z", x * 2),
        lambda: graph.outputs(a=x),
        lambda: graph.output("b", graph.variable("w", X)),
        lambda: graph.output("c", graph.ops.sum(x)),
        lambda: graph.output("d", graph.gradient(graph["sum"], [x])[0]),
    ]
    for number, edit in enumerate(edits):
        edit()
        assert len(graph(X)) == number + 2


def test_plans():
    graph = net()
    plan = graph.plan(x=(256, 4))
    assert [step["op"] for step in plan.steps][-1] == "relu" and plan.bytes >= 256 * 2 * 4
    assert (
        "relu" in repr(plan)
        and plan.svg().startswith("<svg")
        and plan.memory()
        and "image/svg+xml" in plan._repr_mimebundle_()
    )
    algorithms = {step["op"]: step["algorithm"] for step in plan.steps}
    assert algorithms["relu"] == "" and any(
        f"  algorithm {told}" in repr(plan) for told in algorithms.values() if told
    )
    for shapes in ({"nix": 3}, {"x": (3, 5)}, {"x": "a"}):
        with pytest.raises((tenon.Error, TypeError)):
            graph.plan(**shapes)


def test_drawings(monkeypatch):
    graph = net()
    graph.input("<script>", "float32", (1,))
    assert graph.dot().startswith(
        "digraph"
    ) and "<tenon.Graph of 3 nodes: (x, <script>) -> (y)>" == repr(graph)
    monkeypatch.setenv("PATH", "/nix")
    bundle = graph._repr_mimebundle_()
    assert "<td>matmul</td>" in bundle["text/html"] and "<script>" not in bundle["text/html"]
    with pytest.raises(tenon.UsageError, match="not installed"):
        graph.svg()


def test_a_picture_by_graphviz():
    import shutil

    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    picture = net()._repr_mimebundle_()["image/svg+xml"]
    assert picture.startswith("<svg") and "relu" in picture


def test_a_graphviz_that_fails(tmp_path, monkeypatch):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho no fonts >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(tenon.UsageError, match="no fonts"):
        net().svg()
    assert "text/html" in net()._repr_mimebundle_()


def test_a_file_is_an_archive_that_others_read(tmp_path):
    net().save(tmp_path / "net.tenon")
    if zipfile.is_zipfile(tmp_path / "net.tenon"):
        assert zipfile.ZipFile(tmp_path / "net.tenon").testzip() is None
