"""Graphs saved with one version of an operator in Python, loaded with a newer one."""

import numpy as np
import pytest
import tenon
from tenon import ops


def test_graphs_of_an_older_version_run_on_a_newer_one(tmp_path):
    class Line:
        """a x + d"""

        a: float = 2.0
        d: float = 0.0

        def describe(op):
            op.input("x")
            op.output("y")
            op.param("a")
            op.param("d")

        def forward(self, call):
            call.y = self.a * call.x + self.d

    tenon.operator(Line)
    graph = tenon.Graph()
    x = graph.input("x", "float64", (2,))
    graph.outputs(y=ops["app.line"](x, a=3.0, d=7.0))
    graph.save(tmp_path / "old.tenon")
    older = Line

    def newer(was):
        class Line:
            """(b x + 7) c + count"""

            b: float = 2.0
            c: float = 1.0

            def describe(op):
                op.version(2)
                op.input("x")
                op.input("gain").optional()
                op.output("y")
                op.output("h").hidden()
                op.state("count").initial(100)
                op.param("b")
                op.param("c")
                op.renamed(2, "a", "b")
                op.removed(2, "d").was(was)
                op.added(2, "c").was(10.0)
                op.added_input(2, "gain")
                op.added_output(2, "h")
                op.added_state(2, "count")

            def infer(self, io):
                for i in range(2):
                    io.set_output(i, io.shape("x"))
                io.set_state("count", (1,))

            def forward(self, call):
                call.y = (self.b * call.x + 7) * self.c + call.count[0]
                call.h = call.x

        return tenon.operator(Line)

    newer(7)
    values = np.array([1.0, -2.0])
    old = tenon.load(tmp_path / "old.tenon")
    np.testing.assert_array_equal(old(x=values)["y"], (3 * values + 7) * 10 + 100)
    newer(6)
    with pytest.raises(
        tenon.Error,
        match="parameter 'd' is 7.*version 2 of the operator removed it.*as for 6",
    ):
        tenon.load(tmp_path / "old.tenon")(x=values)
    assert older is not None  # an operator's class must stay alive
