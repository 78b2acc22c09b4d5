"""Handwritten ONNX models, imported with the options of the command."""

import numpy as np
import pytest
import tenon
from onnx_models import field, model, node, value

X = np.array([[-1, 2], [3, -4]], np.float32)


@pytest.fixture
def path(tmp_path):
    nodes = [node("Add", ("x", "k"), "s"), node("Odd", ("s",), "y", "my.ops")]
    (tmp_path / "odd.onnx").write_bytes(
        model(nodes, [value("x", ("rows", 2)), value("k")], [value("y")])
    )
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


def test_names_that_no_graph_can_have(tmp_path):
    """Runs accept the model's names and the graph's, and the change is reported."""
    nodes = [
        node("Neg", ["x:0"], "y:0"),
        node("Relu", ["x:0"], "z"),
        node("Add", ["x:0", "b"], "s:1"),
    ]
    inputs, outputs = (
        [value("x:0", ("n", 2)), value("b", (2,))],
        [value("y:0"), value("z"), value("s:1")],
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model(nodes, inputs, outputs))
    with pytest.warns(tenon.Warning) as warnings:
        loaded = tenon.load(path)
    renamed = [("input", "x:0", "x_0"), ("output", "s:1", "s_1"), ("output", "y:0", "y_0")]
    said = [f"{kind} '{theirs}' is named '{ours}' in the graph" for kind, theirs, ours in renamed]
    assert sorted(str(one.message) for one in warnings) == sorted(said)
    loaded.save(tmp_path / "m.tenon")
    b = np.ones(2, np.float32)
    for graph in (loaded, tenon.load(tmp_path / "m.tenon")):
        session = tenon.Session(graph)
        for name in ("x:0", "x_0"):
            for made in (
                session.run({name: X, "b": b}),
                graph(**{name: X, "b": b}),
                session.run({name: X, "b": b}, batch=1),
            ):
                np.testing.assert_array_equal(made["y:0"], -X)
                np.testing.assert_array_equal(made["y_0"], -X)
                np.testing.assert_array_equal(made["s:1"], X + 1)
            made = session.run({name: X.tolist()}, outputs=["y:0", "z"])
            assert len(made) == 2 and made["y:0"].tolist() == (-X).tolist()
            into = np.empty_like(X)
            session.run({name: X, "b": b}, into={"y:0": into})
            np.testing.assert_array_equal(into, -X)
            session.plan(**{name: (3, 2)})
        with pytest.raises(tenon.UsageError, match="no input 'x:1'"):
            session.run({"x:1": X, "b": b})
        with pytest.raises(KeyError):
            made["y:1"]
    for name in ("x:0", "x_0"):
        assert tenon.load(path, shape={name: (3, 2)}).inputs["x_0"].shape == (3, 2)
        assert "x_0" not in tenon.load(path, fix={name: X}).inputs
    # x_0 is another input and keeps its name
    nodes, inputs = [node("Sub", ["x:0", "x_0"], "y")], [value("x_0", (2,)), value("x:0", (2,))]
    path.write_bytes(model(nodes, inputs, [value("y")]))
    with pytest.warns(tenon.Warning, match="'x:0' is named 'x_0_1'"):
        graph = tenon.load(path)
    assert graph(x_0=b, x_0_1=3 * b).y.tolist() == [2, 2]
    assert graph(**{"x_0": b, "x:0": [3, 3]}).y.tolist() == [2, 2]
    assert tenon.load(path, fix={"x:0": 5 * b})(x_0=b).y.tolist() == [4, 4]


def test_names_of_the_model_everywhere(tmp_path):
    nodes = [node("Mul", ["x:0", "w:0"], "y:0"), node("ReduceSum", ["y:0"], "loss:0", keepdims=0)]
    path = tmp_path / "m.onnx"
    weights = {"w:0": np.full(2, 2, np.float32)}
    path.write_bytes(
        model(nodes, [value("x:0", ("n", 2))], [value("y:0"), value("loss:0", ())], weights)
    )
    with pytest.warns(tenon.Warning):
        graph = tenon.load(path)
    session, data = tenon.Session(graph), {"x:0": X}
    assert session.tensor("w:0").numpy().tolist() == [2, 2]
    assert (
        graph.variables["w:0"].name == "w_0"
        and "w:0" in graph.variables
        and "v:0" not in graph.variables
    )
    assert graph.inputs["x:0"].name == "x_0" and graph["loss:0"].shape == ()
    made = session.run(data)
    assert "y:0" in made and "z:0" not in made and made.get("z:0") is None
    np.testing.assert_array_equal(made.get("y:0"), 2 * X)
    loss = float(2 * X.sum())
    assert tenon.evaluate(graph, data, loss="loss:0").loss == pytest.approx(loss)
    run = tenon.train(graph, data, loss="loss:0", epochs=1, validate=data, progress=False)
    assert run.history[0]["loss"] == pytest.approx(loss)
    trainer = tenon.Trainer(graph, data, loss="loss:0")
    assert trainer.step(data).loss == pytest.approx(loss)
    graph.save(tmp_path / "m.tenon")
    np.testing.assert_array_equal(tenon.Scorer(tmp_path / "m.tenon")(data)["y_0"], 2 * X)


def test_links(tmp_path):
    """Weights behind links inside and outside of the folder."""
    (tmp_path / "model").mkdir()
    external = field(13, field(1, "location") + field(2, "w.bin"))
    w = field(1, 2) + field(2, 1) + field(8, "w") + external + field(14, 1)
    graph = node("Mul", ["x", "w"], "y")
    path = tmp_path / "model" / "m.onnx"
    path.write_bytes(
        field(1, 8)
        + field(
            7, field(1, graph) + field(5, w) + field(11, value("x", (2, 2))) + field(12, value("y"))
        )
        + field(8, field(2, 17))
    )
    np.array([2, 3], np.float32).tofile(tmp_path / "model" / "real.bin")
    (tmp_path / "model" / "w.bin").symlink_to("real.bin")
    np.testing.assert_array_equal(tenon.load(path)(x=X).y, X * np.array([2, 3], np.float32))
    (tmp_path / "model" / "real.bin").rename(tmp_path / "real.bin")
    (tmp_path / "model" / "w.bin").unlink()
    (tmp_path / "model" / "w.bin").symlink_to("../real.bin")
    with pytest.raises(
        tenon.FileError, match="symbolic link to '.*/real.bin', outside the model's folder"
    ):
        tenon.load(path)
    np.testing.assert_array_equal(
        tenon.load(path, trust_links=True)(x=X).y, X * np.array([2, 3], np.float32)
    )
