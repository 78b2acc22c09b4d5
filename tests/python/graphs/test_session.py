"""Sessions: inputs, destinations, options, and errors before anything runs."""

import json
import os
import pickle

import numpy as np
import pytest
import tenon
from tenon import ops
from tenon._errors import listed

X = np.arange(12, dtype="float32").reshape(3, 4)
K = np.float32(2)


def graph_xk():
    graph = tenon.Graph()
    x, k = graph.input("x", "float32", (None, 4)), graph.input("k", "float32", ())
    graph.outputs(y=x * k, z=ops.relu(x))
    return graph


@pytest.fixture
def session():
    return tenon.Session(graph_xk())


# ---- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [
        X,
        np.asfortranarray(X),
        X[::-1],
        np.repeat(X, 2, axis=1)[:, ::2],
        X.astype(">f4"),
        X.tolist(),
        X.view(np.matrix),
        X[:0],
        tuple(map(tuple, X.tolist())),
        memoryview(X),
    ],
    ids=[
        "contiguous",
        "fortran",
        "negative",
        "strided",
        "swapped",
        "list",
        "matrix",
        "empty",
        "tuple",
        "buffer",
    ],
)
def test_kinds_of_inputs(session, x):
    want = np.asarray(x, "float32").reshape(-1, 4)
    for _ in range(3):
        out = session.run({"x": x, "k": 2})
        assert (
            np.array_equal(out["y"], want * 2)
            and np.array_equal(out.z, np.maximum(want, 0))
            and type(out.y) is np.ndarray
        )


def test_kinds_of_calls(session):
    for out in (
        session(X, K),
        session(X, k=K),
        session(k=K, x=X),
        session.run({"k": K, "x": X}),
        session.run(inputs={"k": 2.0, "x": X}),
        session(X, 2),
    ):
        assert np.array_equal(out["y"], X * 2) and list(out) == ["y", "z"]
    assert (
        list(session.run({"x": X}, outputs="z"))
        == list(session.run({"x": X}, outputs=["z"]))
        == ["z"]
    )
    assert list(session.run({"x": X, "k": K}, outputs=[])) == ["y", "z"]


def test_results(session):
    out = session(X, K)
    assert out["y"] is out.y and {"y", "z"} <= set(dir(out)) and isinstance(out, dict)
    with pytest.raises(AttributeError, match="the outputs are y, z"):
        out.w
    again = pickle.loads(pickle.dumps(out))
    assert type(again) is type(out) and np.array_equal(again.y, out.y)
    first = session(X, K)["y"]
    session(X + 1, K)
    assert np.array_equal(first, X * 2)  # a result is not the session's memory


def test_shapes_that_change(session):
    for rows in (3, 1, 0, 5, 3, 3, 1000, 1):
        x = np.ones((rows, 4), "float32")
        assert np.array_equal(session(x, K)["y"], x * 2)


@pytest.mark.parametrize(
    "inputs, error, text",
    [
        ({"x": X}, tenon.UsageError, "input k"),
        ({}, tenon.UsageError, "input"),
        (None, tenon.UsageError, "input"),
        ({"x": X, "k": K, "q": X}, tenon.UsageError, "no input 'q'"),
        ({"x": X.astype("float64"), "k": K}, tenon.UsageError, "'x' is float64"),
        ({"x": X.astype("int32"), "k": K}, tenon.UsageError, "'x' is int32"),
        ({"x": X[:, :3].copy(), "k": K}, tenon.UsageError, r"'x' is float32 \[3, 3\]"),
        ({"x": X[:, :3].tolist(), "k": K}, tenon.UsageError, r"'x' is float32 \[3, 3\]"),
        ({"x": X[0], "k": K}, tenon.UsageError, "'x' is"),
        ({"x": X, "k": 1e39}, tenon.UsageError, "'k' is 1e\\+39"),
        ({"x": X, "k": [1, 2]}, tenon.UsageError, "'k' is"),
        ({1: X}, TypeError, "not int"),
        ({"x\0": X, "k": K}, tenon.UsageError, "NUL"),
        ({"\ud800": X, "k": K}, tenon.UsageError, "not valid Unicode"),
        ({"x": None, "k": K}, TypeError, "'x'"),
        ({"x": "a", "k": K}, TypeError, "'x'"),
        ({"x": X.astype(object), "k": K}, tenon.UsageError, "object"),
        ({"x": np.ma.masked_array(X), "k": K}, TypeError, "masked"),
        ([X], TypeError, "dicts"),
        (5, TypeError, "dicts"),
    ],
)
def test_inputs_that_do_not_fit(session, inputs, error, text):
    for _ in range(3):  # also after successful runs that are cached
        with pytest.raises(error, match=text):
            session.run(inputs)
        assert np.array_equal(session(X, K)["y"], X * 2)


def test_arguments_that_do_not_fit(session):
    given = {"x": X, "k": K}
    for call, error in (
        (lambda: session(X, K, X), TypeError), (lambda: session(X, x=X), TypeError),
        (lambda: session(X, K, k=K), TypeError),
        (lambda: session.run(given, outputs="nix"), tenon.UsageError),
        (lambda: session.run(given, outputs=[5]), TypeError),
        (lambda: session.run(given, outputs=5), TypeError),
        (lambda: session.run(given, batch=-1), tenon.UsageError),
        (lambda: session.run(given, batch="a"), TypeError),
        (lambda: session.run(given, batch=2**70), TypeError),
        (lambda: session.run(given, nix=1), TypeError),
        (lambda: session.run(given, given), TypeError), (lambda: session.tensor(5), TypeError),
        (lambda: session.tensor("nix"), tenon.UsageError),
        (lambda: session.plan(x="a"), TypeError), (lambda: session.plan(nix=1), tenon.UsageError),
        (lambda: setattr(session, "step", -1), TypeError),
        (lambda: setattr(session, "step", "a"), TypeError),
        (lambda: session.run(given, into=5), TypeError),
        (lambda: session.run(given, into={5: X}), TypeError),
    ):  # fmt: skip
        with pytest.raises(error) as found:
            call()
        assert "incompatible" not in str(found.value)


class Changing(dict):
    """Returns different arrays at each access."""

    def __getitem__(self, key):
        return np.zeros(3)


def test_dicts_of_others(session):
    import collections
    import types

    given = {"x": X, "k": K}
    for inputs in (
        Changing(given),
        collections.OrderedDict(given),
        types.MappingProxyType(given),
        collections.ChainMap(given),
    ):
        assert np.array_equal(session.run(inputs)["y"], X * 2)


# ---- what results are written to -----------------------------------------------------------------


def test_into(session):
    y = np.zeros_like(X)
    out = session.run({"x": X, "k": K}, into={"y": y})
    assert np.array_equal(y, X * 2) and np.array_equal(out["y"], y)
    session.run({"x": X, "k": K}, into={"y": y}, add=True)
    assert np.array_equal(y, X * 4)
    matrix = np.zeros_like(X).view(np.matrix)
    session.run({"x": X, "k": K}, into={"y": matrix})
    assert np.array_equal(matrix, X * 2)
    memory = bytearray(X.nbytes)
    session.run({"x": X, "k": K}, into={"y": memoryview(memory).cast("f", X.shape)})
    assert np.array_equal(np.frombuffer(memory, "float32").reshape(X.shape), X * 2)


def read_only(array):
    array.flags.writeable = False
    return array


INTO = {
    "small": np.zeros((2, 4), "float32"), "float64": np.zeros((3, 4)),
    "swapped": np.zeros((3, 4), ">f4"), "fortran": np.zeros((3, 4), "float32", "F"),
    "strided": np.zeros((3, 8), "float32")[:, ::2], "negative": np.zeros((3, 4), "float32")[::-1],
    "read-only": read_only(np.zeros((3, 4), "float32")),
    "read-only matrix": read_only(np.zeros((3, 4), "float32").view(np.matrix)),
    "bytes": memoryview(bytes(48)).cast("f", (3, 4)),
    "list": [[0.0] * 4] * 3, "number": 0.0, "masked": np.ma.zeros((3, 4), "float32"), "none": None,
    "text": "aaaa",
}  # fmt: skip


@pytest.mark.parametrize("kind", INTO)
def test_what_cannot_be_written_to(session, kind):
    reason = " is read-only" if kind.startswith("read-only") or kind == "bytes" else ""
    with pytest.raises((tenon.UsageError, TypeError), match=f"output 'y'.*{reason}"):
        session.run({"x": X, "k": K}, into={"y": INTO[kind]})
    assert kind in ("none", "text") or not np.any(np.asarray(INTO[kind]))


def test_destinations_that_share_memory(session):
    y = np.zeros_like(X)
    for into in ({"y": y, "z": y}, {"y": y[:2], "z": y[1:]}, {"nix": y}):
        with pytest.raises(tenon.UsageError):
            session.run({"x": X[: len(next(iter(into.values())))], "k": K}, into=into)
    x = X.copy()
    with pytest.raises(tenon.UsageError, match="shares memory with input 'x'"):
        session.run({"x": x, "k": K}, into={"y": x})
    with pytest.raises(tenon.UsageError, match="shares memory with input 'x'"):
        wide = np.zeros((3, 8), "float32")
        session.run({"x": wide[:, ::2], "k": K}, into={"y": wide.reshape(6, 4)[:3]})
    assert np.array_equal(x, X) and not y.any()
    both = np.zeros((6, 4), "float32")
    session.run({"x": X, "k": K}, into={"y": both[:3], "z": both[3:]})
    assert np.array_equal(both, np.concatenate([X * 2, X]))


def test_an_output_that_is_an_input():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 4))
    graph.outputs(same=x, rows=x[1:], w=graph.variable("w", X), c=graph.constant(X, "c"))
    session = tenon.Session(graph)
    given = read_only(X.copy())
    for run in (
        lambda: session(given),
        lambda: session.run({"x": given}, outputs=["same", "w", "c"]),
        lambda: session.run({"x": given}, batch=2, outputs="same"),
    ):
        for _ in range(3):
            out = run()
            for array in out.values():
                array[...] = -1
    assert (
        np.array_equal(given, X)
        and np.array_equal(graph["w"].numpy(), X)
        and np.array_equal(session(given)["c"], X)
    )


def test_batches(session):
    x = np.random.default_rng(0).normal(size=(10, 4)).astype("float32")
    for batch in (1, 3, 10, 100):
        assert np.array_equal(session.run({"x": x, "k": K}, batch=batch)["y"], x * 2)
    assert session.run({"x": x[:0], "k": K}, batch=3)["y"].shape == (0, 4)
    with pytest.raises(tenon.UsageError, match="batch="):
        session.run({"x": x, "k": K}, batch=3, into={"y": x.copy()})


# ---- options -------------------------------------------------------------------------------------


def test_training_and_seed():
    graph = tenon.Graph()
    graph.output("y", ops.dropout(graph.input("x", "float32", (None,)), p=0.5))
    x = np.ones(1000, "float32")
    assert np.array_equal(tenon.Session(graph)(x)["y"], x)
    first, same, other = (tenon.Session(graph, training=True, seed=seed) for seed in (3, 3, 4))
    a, b = first(x)["y"], first(x)["y"]
    assert (
        np.array_equal(same(x)["y"], a)
        and not np.array_equal(a, b)
        and not np.array_equal(other(x)["y"], a)
    )
    first.step = 0
    assert np.array_equal(first(x)["y"], a) and first.step == 1


def test_updates():
    graph = tenon.Graph()
    w = graph.variable("w", np.float32([1, 2]))
    graph.output("w", w)
    graph.update(w, w * 2)
    session = tenon.Session(graph, training=True)
    for _ in range(3):
        session()
    assert session.tensor("w").numpy().tolist() == [8, 16] and graph["w"].numpy().tolist() == [1, 2]
    assert session.graph()["w"].numpy().tolist() == [8, 16]
    again = pickle.loads(pickle.dumps(session))
    again()
    assert again.tensor("w").numpy().tolist() == [16, 32]


def test_options(tmp_path):
    trace = tmp_path / "trace.json"
    session = tenon.Session(graph_xk(), profile=True, trace=trace, plans=1, capture=False)
    for rows in (1, 2, 1):
        session(np.ones((rows, 4), "float32"), K)
    assert {time["op"] for time in session.times()} == {"mul", "relu"} and all(
        time["calls"] == 3 for time in session.times()
    )
    assert len(json.loads(trace.read_text())["traceEvents"]) >= 6
    assert np.array_equal(tenon.Session(graph_xk(), debug=True)(X, K)["y"], X * 2)
    assert "2 runs" not in repr(session) and "3 runs" in repr(session)

    assert "2 runs" not in repr(session) and "3 runs" in repr(session)


def test_optimize():
    results = [tenon.Session(graph_xk(), optimize=how)(X, K) for how in ("full", "exact", "none")]
    assert all(np.array_equal(result["y"], X * 2) for result in results)
    with pytest.raises(
        tenon.UsageError, match="precision is float64 but must be float32 or bfloat16"
    ):
        tenon.Session(graph_xk(), precision="float64")
    with pytest.raises(
        tenon.UsageError, match="optimize is 'all' but must be 'full', 'exact' or 'none'"
    ):
        tenon.Session(graph_xk(), optimize="all")


def test_profile():
    session = tenon.Session(graph_xk(), profile=True)
    session(X, K)
    session.clear_times()
    assert session.times() == []
    for _ in range(3):
        session(X, K)
    of = {time["op"]: time for time in session.times()}
    assert (
        of["mul"]["bytes"] == 3 * (2 * X.nbytes + K.nbytes)
        and of["relu"]["bytes"] == 3 * 2 * X.nbytes
    )
    assert all(
        0 < time["least"] <= time["seconds"] / 3 and time["last"] > 0 and time["flops"] == 0
        for time in of.values()
    )
    assert of["mul"]["begin"] + of["mul"]["last"] <= of["relu"]["begin"]
    profile = session.profile()
    assert profile.nodes == session.times() and "mul" in repr(profile)
    page = profile._repr_html_()
    assert (
        page.count("<rect") == 2
        and page.count("<table>") == 2
        and "GB/s" in page
        and "<script" not in page
    )


@pytest.mark.parametrize(
    "options",
    [dict(device="nix"), dict(device=5), dict(training="a"), dict(seed=-1), dict(seed=2**64),
     dict(seed=1.5), dict(plans=0), dict(plans=-1),
     dict(plans="a"), dict(trace="/nix/trace.json"), dict(trace=5), dict(nix=1),
     dict(debug=True, trace="t.json"), dict(profile=None)],
    ids=str,
)  # fmt: skip
def test_options_that_do_not_fit(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((tenon.Error, TypeError)) as error:
        tenon.Session(graph_xk(), **options)(X, K)
    assert "incompatible" not in str(error.value) and not os.listdir(tmp_path)


def test_what_is_no_graph():
    for graph in (5, None, "net.tenon"):
        with pytest.raises(TypeError, match="Session"):
            tenon.Session(graph)


def test_a_session_is_of_the_graph_as_it_was(session):
    graph = graph_xk()
    session = tenon.Session(graph)
    graph.output("w", graph["x"] * 3)
    assert list(session(X, K)) == ["y", "z"] and len(session.graph().nodes) == 2


def test_first_non_finite(session):
    assert session.first_non_finite({"x": X, "k": K}) == ""
    assert "'k'" in session.first_non_finite({"x": X, "k": np.float32(np.nan)})
    assert "'k'" in session.first_non_finite({"x": X.tolist(), "k": float("nan")})


def test_many_inputs_and_outputs():
    graph = tenon.Graph()
    values = [graph.input(f"x{i}", "float32", (None,)) for i in range(40)]
    for i, value in enumerate(values):
        graph.output(f"y{i}", value + i)
    out = graph(*[np.full(2, i, "float32") for i in range(40)])
    assert [out[f"y{i}"][0] for i in range(40)] == [2 * i for i in range(40)]


# ---- after close ---------------------------------------------------------------------------------


def test_after_close(session):
    with session as same:
        assert same is session
    for call in (lambda: session(X, K), lambda: session.run({"x": X, "k": 2}), lambda: session.step,
                 session.graph, session.times, lambda: session.tensor("x"),
                 lambda: session.plan(), lambda: pickle.dumps(session),
                 lambda: setattr(session, "step", 1)):  # fmt: skip
        with pytest.raises(tenon.UsageError, match="closed"):
            call()
    session.close()
    assert "closed" in repr(session)


def test_a_host_that_is_closed():
    host = tenon.Host()
    graph = tenon.Graph(host)
    graph.output("y", host.ops.relu(graph.input("x", "float32", (2,))))
    relu, session = host.ops.relu, tenon.Session(graph)
    assert relu(np.float32([-1]))[0] == 0
    host.close()
    host.close()
    for call in (
        lambda: relu(X),
        lambda: relu(X.tolist()),
        lambda: host.ops.relu,
        host.names,
        lambda: host.generation,
        lambda: tenon.Graph(host),
        lambda: host.add_plugins("/"),
        lambda: host.threads,
    ):
        with pytest.raises(tenon.UsageError, match="the host is closed"):
            call()
    assert repr(host) == "<tenon.Host, closed>"
    assert np.array_equal(session(np.float32([-1, 1]))["y"], [0, 1]) and np.array_equal(
        graph(np.float32([-1, 1]))["y"], [0, 1]
    )


def test_errors_of_wide_graphs_list_sixteen_names():
    graph, x = tenon.Graph(), np.zeros(2, np.float32)
    inputs = [graph.input(f"x{number}", "float32", (2,)) for number in range(20)]
    graph.outputs(**{f"y{number}": ops.neg(each) for number, each in enumerate(inputs)})
    session = tenon.Session(graph)
    for call, what in ((session, "session"), (graph, "graph")):
        with pytest.raises(
            TypeError, match=rf"the {what} has 20 inputs \(x0, .*, x15 and 4 more\) but got 21"
        ):
            call(*[x] * 21)
    results = session(*[x] * 20)
    with pytest.raises(
        AttributeError, match="there is no output 'z'; the outputs are y0, .*, y15 and 4 more$"
    ):
        results.z
    assert (
        not hasattr(results, "z")
        and "x15 and 4 more" in repr(session)
        and "y15 and 4 more" in repr(graph)
    )
    with pytest.raises(
        TypeError, match=r"got arguments that do not fit: \(x0=0, .*, x15=15 and 4 more\)$"
    ):
        tenon.Host(**{f"x{number}": number for number in range(20)})


@pytest.mark.parametrize(
    ("count", "text"), [(0, "none"), (1, "n0"), (16, None), (17, None), (100, None)]
)
def test_lists_of_names_end_after_sixteen(count, text):
    names = [f"n{number}" for number in range(count)]
    if text is None:
        text = ", ".join(names[:16]) + (f" and {count - 16} more" if count > 16 else "")
    assert listed(names) == listed(dict.fromkeys(names)) == text
