"""Results of runs: their order, shapes known only at run time, and failed runs."""

import numpy as np
import pytest
import tenon
from tenon import ops

X = np.arange(12, dtype="float32").reshape(3, 4)


def test_results_are_in_the_order_of_the_graph():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 4))
    graph.outputs(z=ops.relu(x), b=-x, a=x * 2, B=x + 1)
    want = ["z", "b", "a", "B"]
    session = tenon.Session(graph)
    for _ in range(3):
        for x in (X, X[::-1], np.asfortranarray(X), X.tolist(), X.astype(">f4")):
            assert list(session.run({"x": x})) == list(session(x)) == list(graph(x)) == want
        assert list(session.run({"x": X}, outputs=["a", "z"])) == ["z", "a"]
        assert list(session.run({"x": X}, batch=2)) == want
        assert list(session.run({"x": X}, into={"a": np.empty_like(X)})) == want
        assert list(session.run({"x": tenon.tensor(X)})) == want


def test_outputs_whose_shapes_are_known_only_in_a_run():
    graph = tenon.Graph()
    x = graph.input("x", "float32", (None, 4))
    found = ops.nonzero(x)
    graph.outputs(
        values=ops.unique(x)[0], found=found, twice=ops.cast(found, dtype="float32") * 2, y=x + 1
    )
    session, rng = tenon.Session(graph), np.random.default_rng(0)
    for rows in (2, 2, 2, 3, 2, 3, 0, 1, 1):
        x = rng.integers(0, 3, (rows, 4)).astype("float32")
        for made in (session.run({"x": x}), session.run({"x": x}), session(x), graph(x)):
            assert np.array_equal(made["values"], np.unique(x)) and np.array_equal(made.y, x + 1)
            assert np.array_equal(np.sort(made.found, None), np.sort(np.nonzero(x), None))
            assert np.array_equal(made.twice, made.found * 2)


def test_a_run_that_fails_changes_no_state_and_is_no_run():
    @tenon.operator
    class Tallied:
        """x plus how often it ran."""

        def describe(op):
            op.input("x")
            op.output("y")
            op.state("runs", "so far")

        def infer(self, io):
            io.set_output("y", io.shape("x"))
            io.set_state("runs", (1,))

        def forward(self, call):
            call.runs += 1
            if call.x[0] == -1:
                raise ValueError("in the middle")
            call.y = call.x + call.runs[0]

    graph = tenon.Graph()
    x = graph.input("x", "float32", (None,))
    y = ops.tallied(x, name="tally")
    graph.outputs(y=y, even=ops.reshape(ops.unique(y)[0], shape=(-1, 2)))
    good, odd, middle = (
        np.array(each, np.float32) for each in ([1, 2, 3, 4], [1, 2, 3, 3], [-1, 2, 3, 4])
    )
    for options in ({}, {"optimize": "none"}, {"training": True}):
        session = tenon.Session(graph, **options)
        for run in (1, 2, 3):
            for bad in (odd, middle, odd):
                with pytest.raises(tenon.Error):
                    session.run({"x": bad})
                assert session.step == run - 1 and (
                    run == 1 or session.tensor("tally_runs").numpy()[0] == run - 1
                )
            assert session.run({"x": good}).y[0] == 1 + run
        with pytest.raises(tenon.Error):
            session.run({"x": np.concatenate([good, good, middle])}, outputs="y", batch=4)
        assert session.step == 3 and session.tensor("tally_runs").numpy()[0] == 3
