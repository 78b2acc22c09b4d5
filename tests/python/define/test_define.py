"""Operators written in Python, compared with numpy."""

from __future__ import annotations

import enum
from typing import Literal

import numpy as np
import pytest
import tenon
from python_operators import X, cosine
from tenon import ops
from tenon._define.describe import kind_of


def test_an_eager_call_computes_and_has_a_signature():
    cosine()
    np.testing.assert_allclose(ops.cosine(X, scale=2.0), 2 * np.cos(X), rtol=1e-15)
    assert ops.app.cosine(X.astype(np.float32)).dtype == np.float32
    assert "scale" in str(ops.cosine.__signature__) and "greater than 0" in ops.cosine.__doc__
    info = ops.cosine.info
    assert (info.full_name, info.params["scale"].default, info.plugin) == ("app.cosine", 1.0, None)


def test_strided_and_empty_arrays_are_views_of_the_same_elements():
    cosine()
    np.testing.assert_allclose(ops.cosine(X.T), np.cos(X.T), rtol=1e-15)
    np.testing.assert_allclose(ops.cosine(X[:, ::2]), np.cos(X[:, ::2]), rtol=1e-15)
    assert ops.cosine(np.zeros((0, 3))).shape == (0, 3)
    assert float(ops.cosine(np.float64(0.0))) == 1.0


def test_the_host_checks_parameters_and_dtypes():
    cosine()
    with pytest.raises(tenon.UsageError, match="parameter 'scale' is -1 but must be above 0"):
        ops.cosine(X, scale=-1)
    with pytest.raises(tenon.Error, match="x is int64 but must be one of float16"):
        ops.cosine(np.arange(3))
    with pytest.raises(tenon.UsageError, match="unknown parameter 'scala'"):
        ops.cosine(X, scala=1)


def test_graphs_gradients_and_files(tmp_path, host):
    made = cosine()
    graph = tenon.Graph()
    x = graph.input("x", "float64", (None, 4))
    y = ops.cosine(x, scale=3.0)
    loss = ops.sum(y)
    (dx,) = graph.gradient(loss, [x])
    graph.outputs(y=y, dx=dx)
    out = graph(x=X)
    np.testing.assert_allclose(out.y, 3 * np.cos(X), rtol=1e-15)
    np.testing.assert_allclose(out.dx, -3 * np.sin(X), rtol=1e-15)
    path = tmp_path / "net.tenon"
    graph.save(path)
    np.testing.assert_allclose(tenon.load(path)(x=X).y, 3 * np.cos(X), rtol=1e-15)
    with tenon.Host() as elsewhere:
        opened = tenon.load(path)
        with pytest.raises(tenon.Error, match="app.cosine"):
            opened(x=X)
        assert elsewhere.add(made) == "app.cosine"
        np.testing.assert_allclose(tenon.load(path)(x=X).y, 3 * np.cos(X), rtol=1e-15)


def test_a_class_decorated_again_replaces_the_one_before():
    def cell(number):
        @tenon.operator
        class Constant:
            """Fills with a number."""

            def describe(op):
                op.input("x")
                op.output("y")

            def forward(self, call):
                call.y = number

    cell(1)

    def session():
        graph = tenon.Graph()
        graph.outputs(y=ops.constant(graph.input("x", "float64", (None,))))
        return tenon.Session(graph)

    before = session()
    assert before.run({"x": X[0]}).y[0] == 1 and ops.constant(X)[0, 0] == 1
    cell(2)
    assert ops.constant(X)[0, 0] == 2
    assert before.run({"x": X[0]}).y[0] == 1, "a session keeps the operators that it was made with"
    assert session().run({"x": X[0]}).y[0] == 2


class Mode(enum.Enum):
    fast = 1
    exact = 2


def test_kinds_of_parameters_follow_annotations_and_reach_the_object():
    seen = {}

    @tenon.operator
    class Many:
        """Parameters of every kind."""

        flag: bool = True
        count: int = 3
        factor: float = 0.5
        text: str = "abc"
        axes: list[int] = [1, 2]  # noqa: RUF012
        weights: list[float] = [0.5]  # noqa: RUF012
        names: list[str] = ["a", "b"]  # noqa: RUF012
        mode: Literal["sum", "mean"] = "mean"
        way: Mode = Mode.exact
        inferred = 7
        needed: int

        def describe(op):
            op.input("x")
            op.output("y")
            for name in (
                "flag",
                "count",
                "factor",
                "text",
                "axes",
                "weights",
                "names",
                "mode",
                "way",
                "inferred",
                "needed",
            ):
                op.param(name, name)

        def forward(self, call):
            seen.update({name: getattr(self, name) for name in ops.many.info.params})
            call.y = call.x

    ops.many(X, needed=1)
    assert seen == dict(
        flag=True,
        count=3,
        factor=0.5,
        text="abc",
        axes=[1, 2],
        weights=[0.5],
        names=["a", "b"],
        mode="mean",
        way=Mode.exact,
        inferred=7,
        needed=1,
    )
    given = dict(
        flag=False,
        count=-2,
        factor=2.0,
        text="",
        axes=[],
        weights=[1.0, 2.0],
        names=["z"],
        mode="sum",
        inferred=0,
        needed=4,
    )
    ops.many(X, **given, way="fast")
    assert seen == given | {"way": Mode.fast}
    with pytest.raises(tenon.UsageError, match="needed"):
        ops.many(X)
    with pytest.raises(tenon.UsageError, match="mode"):
        ops.many(X, needed=1, mode="median")
    kinds = {name: param.kind for name, param in ops.many.info.params.items()}
    assert (
        kinds["mode"] == kinds["way"] == "enum"
        and kinds["inferred"] == "int64"
        and kinds["weights"] == "floats"
    )


def linear():
    @tenon.operator
    class Affine:
        """x @ weight + bias"""

        units: int

        def describe(op):
            op.input("x", "[rows, features]")
            op.input("weight", "[features, units]").weight()
            op.input("bias", "[units]").weight().optional()
            op.output("y", "[rows, units]")
            op.param("units", "columns").at_least(1)
            op.backward_reads("x", "weight")

        def infer(self, io):
            shape = io.shape("x")
            if shape is None:
                return
            io.require(len(shape) == 2, f"x has {len(shape)} dimensions but needs 2")
            io.set_input("weight", (shape[1], self.units))
            if io.has_input("bias"):
                io.set_input("bias", (self.units,))
            io.set_output("y", (shape[0], self.units))

        def forward(self, call):
            np.matmul(call.x, call.weight, out=call.y)
            if call.bias is not None:
                call.y += call.bias

        def backward(self, call):
            if call.x_grad is not None:
                call.x_grad = call.y_grad @ call.weight.T
            if call.weight_grad is not None:
                call.weight_grad = call.x.T @ call.y_grad
            if call.bias_grad is not None:
                call.bias_grad = call.y_grad.sum(0)

    return Affine


def test_weights_are_inferred_and_trained_through():
    linear()
    w = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(ops.affine(X, w, units=2), X @ w)
    np.testing.assert_allclose(ops.affine(X, w, np.array([1.0, 2.0]), units=2), X @ w + [1, 2])
    graph = tenon.Graph()
    x = graph.input("x", "float64", (None, 4))
    y = ops.affine(x, units=2, name="layer")
    graph.outputs(y=y, loss=ops.sum(y * y))
    graph.initialize(seed=1)
    weight = graph["layer_weight"]
    assert weight.shape == (4, 2)
    (dw,) = graph.gradient(graph["loss"] if "loss" in graph else ops.sum(y * y), [weight])
    graph.output("dw", dw)
    elements = weight.numpy()
    out = graph(x=X)
    expected = X @ elements + (graph["layer_bias"].numpy() if "layer_bias" in graph else 0)
    np.testing.assert_allclose(out.y, expected)
    np.testing.assert_allclose(out.dw, X.T @ (2 * expected))


def test_what_infer_refuses_is_a_usage_error_of_the_call():
    linear()
    with pytest.raises(tenon.Error, match="x has 1 dimensions but needs 2") as caught:
        ops.affine(X[0], np.zeros((4, 2)), units=2)
    assert isinstance(caught.value.__cause__, tenon.Error)
    with pytest.raises(tenon.Error, match=r"weight.*\[5, 2\].*\[4, 2\]"):
        ops.affine(X, np.zeros((5, 2)), units=2)


def test_infer_reads_the_elements_of_strided_arrays():
    @tenon.operator
    class Filled:
        """Ones of a shape."""

        def describe(op):
            op.input("sizes").types("int64")
            op.output("y")

        def infer(self, io):
            sizes = io.values("sizes")
            if sizes is not None:
                io.set_output("y", tuple(map(int, sizes.flat)))

        def forward(self, call):
            call.y[...] = 1

    sizes = np.array([[2, 9, 3], [9, 9, 9], [4, 9, 5]])
    for view in (sizes[0, ::2], sizes[::2, 0], sizes[0, ::-2], sizes[::2, ::2], sizes[::2, ::2].T):
        assert ops.filled(view).shape == tuple(view.flat)
        assert ops.filled(view.copy()).shape == tuple(view.flat)


def test_variadic_inputs_counted_outputs_and_other_dtypes():
    @tenon.operator
    class Stack:
        """The inputs, one after the other."""

        def describe(op):
            op.input("parts").variadic()
            op.output("whole")
            op.linear("parts")

        def infer(self, io):
            sizes = [io.shape(i) for i in range(io.inputs)]
            io.set_output(
                "whole",
                (
                    sum(shape[0] for shape in sizes)
                    if all(sizes) and all(s[0] for s in sizes)
                    else None,
                ),
            )

        def forward(self, call):
            np.concatenate(call.parts, out=call.whole)

        def backward(self, call):
            at = 0
            for part, grad in zip(call.parts, call.parts_grad):
                if grad is not None:
                    grad[...] = call.whole_grad[at : at + len(part)]
                at += len(part)

    @tenon.operator
    class Halves:
        """Equal parts."""

        parts: int = 2

        def describe(op):
            op.input("x").types("any")
            op.output("sum").hidden()
            op.output("part").count("parts")
            op.output("places")
            op.param("parts", "how many").at_least(1)

        def infer(self, io):
            io.set_output("sum", (), "float64")
            io.set_output("places", (self.parts,), "int64")
            n = io.shape("x")[0]
            for i in range(self.parts):
                io.set_output(f"part{i}", (None if n is None else n // self.parts,), io.dtype("x"))

        def forward(self, call):
            for part, piece in zip(call.part, np.split(call.x, self.parts)):
                part[...] = piece
            if call.sum is not None:
                call.sum = call.x.sum()
            if call.places is not None:
                call.places = np.arange(self.parts) * len(call.part[0])

    np.testing.assert_array_equal(
        ops.stack(X[0], X[1], X[2, :2]), np.concatenate([X[0], X[1], X[2, :2]])
    )
    *parts, places = ops.halves(np.arange(6), parts=3)
    np.testing.assert_array_equal(np.stack(parts), np.arange(6).reshape(3, 2))
    assert places.tolist() == [0, 2, 4]
    graph = tenon.Graph()
    a, b = graph.input("a", "float64", (2,)), graph.input("b", "float64", (3,))
    whole = ops.stack(a, b)
    da, db = graph.gradient(ops.sum(whole * whole), [a, b])
    graph.outputs(da=da, db=db)
    out = graph(a=X[0, :2], b=X[1, :3])
    np.testing.assert_allclose(out.da, 2 * X[0, :2])
    np.testing.assert_allclose(out.db, 2 * X[1, :3])


def test_states_change_in_training_and_persist():
    @tenon.operator
    class Count:
        """How often it ran."""

        def describe(op):
            op.input("x")
            op.output("y")
            op.state("calls", "so far").initial(10)

        def infer(self, io):
            io.set_output("y", io.shape("x"))
            io.set_state("calls", (1,))

        def forward(self, call):
            if call.training:
                call.calls += 1
            call.y = call.calls[0]

    graph = tenon.Graph()
    graph.outputs(y=ops.count(graph.input("x", "float32", (2,))))
    session = tenon.Session(graph, training=True)
    x = np.zeros(2, np.float32)
    assert [session.run({"x": x}).y[0] for _ in range(3)] == [11, 12, 13]


def test_a_call_takes_no_array_of_a_variadic_input_as_a_state():
    @tenon.operator
    class CountedSum:
        """A sum, plus how often it ran."""

        def describe(op):
            op.input("xs").variadic()
            op.output("y")
            op.state("calls", "so far")

        def infer(self, io):
            io.set_output("y", io.shape(0))
            io.set_state("calls", (1,))

        def forward(self, call):
            if call.training:
                call.calls += 1
            call.y = sum(call.xs) + call.calls

    arrays = [np.float32([number]) for number in (1, 2, 4)]
    for training in (False, True, False, True):
        assert ops.counted_sum(*arrays, training=training) == 7 + training
    assert arrays == [1, 2, 4]


def test_the_arrays_of_a_call_have_the_shapes_of_its_run():
    seen = []

    @tenon.operator
    class Seen:
        """x"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            seen.append((call.x.shape, call.y.shape))
            call.y[...] = call.x

    graph = tenon.Graph()
    graph.output("y", ops.seen(graph.input("x", "float64")))
    session = graph.session()
    for shape in ((2, 3), (2,), (2, 4), (2, 3, 2), (2, 3)):
        assert session.run({"x": np.ones(shape)})["y"].shape == shape
        assert seen.pop() == (shape, shape)


def test_random_numbers_depend_only_on_seed_step_and_node():
    @tenon.operator
    class Noise:
        """x and noise"""

        def describe(op):
            op.input("x")
            op.output("y")
            op.uses_random()

        def forward(self, call):
            call.y = call.x + call.random.standard_normal(call.x.shape)

        def backward(self, call):
            call.x_grad = call.random.standard_normal(call.x.shape)

    def run(seed, threads):
        with tenon.Host(threads=threads) as host:
            host.add(Noise)
            graph = tenon.Graph()
            x = graph.input("x", "float64", (None, 4))
            y = ops.noise(x)
            (dx,) = graph.gradient(ops.sum(y), [x])
            graph.outputs(y=y, dx=dx)
            session = tenon.Session(graph, seed=seed)
            return [session.run({"x": X}) for _ in range(2)]

    first, second = run(7, 1)
    assert not np.array_equal(first.y, second.y)
    np.testing.assert_allclose(first.y - X, first.dx, rtol=1e-9, atol=1e-12)
    for again, before in zip(run(7, 4), (first, second)):
        np.testing.assert_array_equal(again.y, before.y)
    for seed in (7, 2**53, 2**64 - 2):  # all 64 bits matter: as doubles, the two would be equal
        assert not np.array_equal(run(seed, 1)[0].y, run(seed + 1, 1)[0].y)

    @tenon.operator
    class Undeclared:
        """Draws without saying so."""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = call.random.random()

    with pytest.raises(tenon.ExecutionError, match=r"op.uses_random\(\)"):
        ops.undeclared(X)


def test_a_gradient_of_other_operators():
    @tenon.operator
    class Cube:
        """x to the third"""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = call.x**3

        def gradient(self, graph):
            x, dy = graph.input("x"), graph.output_grad("y")
            square = graph.add("tenon.quadratic", x, a=3.0)
            graph.set_input_grad("x", graph.add("tenon.mul", dy, square))

    graph = tenon.Graph()
    x = graph.input("x", "float64", (None, 4))
    (dx,) = graph.gradient(ops.sum(ops.cube(x)), [x])
    (ddx,) = graph.gradient(ops.sum(dx), [x])
    graph.outputs(dx=dx, ddx=ddx)
    out = graph(x=X)
    np.testing.assert_allclose(out.dx, 3 * X**2)
    np.testing.assert_allclose(out.ddx, 6 * X)


def test_the_members_of_io_and_graph_have_docstrings_and_operator_names_them():
    doc = tenon.operator.__doc__
    for cls in (tenon._core.Infer, tenon._core.Gradient):
        assert cls.__doc__
        for name in (each for each in vars(cls) if not each.startswith("_")):
            assert len(getattr(cls, name).__doc__.strip().split("\n")[-1].split()) > 2, name
            assert name in doc, name


def test_manifests_have_the_bytes_that_the_sdk_writes():
    """The operator cosine in sdk/include/tenon/detail/manifest.hpp has 582 bytes, some only for
    elementwise classes.
    """
    from tenon._define import cbor

    listed = {
        "tenon": 1, "name": "cosine", "doc": "scale * cos(x), element by element", "version": 1,
        "aliases": [],
        "types": ["float16", "bfloat16", "float32", "float64"],
        "inputs": [{"name": "x", "doc": "angles in radians", "optional": False, "variadic": False,
                    "types": None, "initial": None, "weight": False}],
        "outputs": [{"name": "y", "doc": "same shape as x", "hidden": False, "count": None}],
        "states": [],
        "params": [{"name": "scale", "doc": "multiplier", "kind": "float32", "default": 1.0,
                    "required": False,
                    "min": None, "max": None, "above": 0.0, "below": None, "choices": []}],
        "inplace": [["x", "y"]], "backward_inplace": [["y", "x"]], "backward_reads": ["x"],
        "accumulates": True, "strides": True,
        "random": False, "elementwise": True, "kernels_elsewhere": False,
        "functions": ["forward", "forward_sparse", "backward", "backward_sparse", "infer_storage"],
        "renamed": [], "added": [],
    }  # fmt: skip
    assert len(cbor.dumps(listed)) == 582
    assert list(cosine()._tenon_definition.manifest)[: len(listed)] == list(listed)
    assert [cbor.dumps(n).hex() for n in (23, 24, -1, -25, 256, 65536, 2**32)] == [
        "17",
        "1818",
        "20",
        "3818",
        "190100",
        "1a00010000",
        "1b0000000100000000",
    ]
    assert kind_of("a", list[int], None)[0] == "ints"
