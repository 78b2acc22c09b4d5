"""Categorical inputs and outputs: runs take and return arrays of str."""

import numpy as np
import pytest
import tenon


def colors():
    graph = tenon.Graph()
    color = graph.input("color", shape=[None], categories=["red", "green", "ü"])
    moved = graph.ops.add(color, np.int64(0), name="moved")
    graph.output("same", moved)
    graph.output("number", graph.ops.mul(color, np.int64(10)))
    graph.set_categories(moved, ["rouge", "vert", "ü"])
    return graph


def test_texts_in_and_out():
    graph = colors()
    assert graph["color"].dtype == "int64"
    assert graph.inputs["color"].categories == ["red", "green", "ü"]
    assert graph.outputs()["same"].categories == ["rouge", "vert", "ü"]
    texts = np.array(["ü", "red", "green"])
    for given in (texts, texts.astype(object), texts.tolist(), tuple(texts), np.array([2, 0, 1])):
        out = graph(color=given)
        assert out["same"].dtype.kind == "U"
        assert out["same"].tolist() == ["ü", "rouge", "vert"]
        np.testing.assert_array_equal(out.number, [20, 0, 10])


def test_every_way_to_run():
    session = colors().session()
    texts = np.array(["green", "red"])
    for _ in range(3):
        assert session.run({"color": texts})["same"].tolist() == ["vert", "rouge"]
    assert session(texts).same.tolist() == ["vert", "rouge"]
    assert session.run({"color": texts}, outputs="same").same.tolist() == ["vert", "rouge"]
    assert session.run({"color": texts}, batch=1)["same"].tolist() == ["vert", "rouge"]
    into = np.zeros(2, np.int64)
    session.run({"color": texts}, outputs=["same"], into={"same": into})
    np.testing.assert_array_equal(into, [1, 0])
    assert session.run({"color": tenon.tensor(np.array([1, 0]))})["same"].tolist() == [
        "vert",
        "rouge",
    ]


def test_unknown_texts():
    graph = colors()
    given = np.array(["pink", None, float("nan"), "red"], dtype=object)
    np.testing.assert_array_equal(graph(color=given, outputs="number").number, [-10, -10, -10, 0])
    with pytest.raises(tenon.ExecutionError, match="output 'same' has the index -1"):
        graph(color=["pink"])
    with pytest.raises(TypeError, match="input 'color' has the element 3, which is not a str"):
        graph(color=np.array(["red", 3], dtype=object))
    np.testing.assert_array_equal(
        graph(color=["ü", float("nan"), None, "red\0"], outputs="number").number,
        [20, -10, -10, -10],
    )
    for other in (3, 2.5, True):
        with pytest.raises(TypeError, match="which is not a str"):
            graph(color=["red", other])


def test_long_names_take_their_own_memory():
    graph = tenon.Graph()
    names = ["a" * 1_000_000, *map(str, range(20_000))]  # 80 GB as an array of str
    color = graph.input("color", shape=[None], categories=names)
    graph.output("same", graph.ops.add(color, np.int64(0), name="moved"))
    graph.set_categories(graph["moved"], names)
    assert graph(color=["7", "19999"])["same"].tolist() == ["7", "19999"]


def test_files(tmp_path):
    graph = colors()
    graph.save(tmp_path / "colors.tenon")
    for other in (tenon.load(tmp_path / "colors.tenon"), graph.clone()):
        assert other(color=["ü"])["same"].tolist() == ["ü"]


def test_refusals():
    graph = tenon.Graph()
    x = graph.input("x", shape=[2])
    with pytest.raises(tenon.UsageError, match="'x' is float32"):
        graph.set_categories(x, ["a"])
    with pytest.raises(tenon.UsageError, match="the category 'a' twice"):
        graph.input("y", categories=["a", "a"])


def test_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series(["red", None, "ü"])
    for given in (series, series.astype("category")):
        out = colors()(color=given, outputs="number")
        np.testing.assert_array_equal(out.number, [0, -10, 20])
