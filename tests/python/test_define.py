"""Operators that are written in Python: numpy is the judge of what they compute."""

from __future__ import annotations

import enum
import gc
import resource
import subprocess
import sys
import textwrap
import threading
import weakref
from typing import Literal

import numpy as np
import pytest

import tenon
from tenon import ops
from tenon._describe import kind_of


@pytest.fixture(autouse=True)
def host():
    with tenon.Host(threads=2, seed=5) as made:
        yield made


def cosine():
    @tenon.operator
    class Cosine:
        scale: float = 1.0

        def describe(op):
            op.doc("scale * cos(x), element by element")
            op.input("x", "angles in radians")
            op.output("y", "same shape as x")
            op.param("scale", "multiplier").greater_than(0)

        def forward(self, call):
            np.multiply(np.cos(call.x), self.scale, out=call.y)

        def backward(self, call):
            call.x_grad[...] = -self.scale * np.sin(call.x) * call.y_grad

    return Cosine


X = np.linspace(-2, 3, 12).reshape(3, 4)


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
            for name in ("flag", "count", "factor", "text", "axes", "weights", "names", "mode", "way", "inferred", "needed"):
                op.param(name, name)

        def forward(self, call):
            seen.update({name: getattr(self, name) for name in ops.many.info.params})
            call.y = call.x

    ops.many(X, needed=1)
    assert seen == dict(flag=True, count=3, factor=0.5, text="abc", axes=[1, 2], weights=[0.5], names=["a", "b"], mode="mean", way=Mode.exact, inferred=7, needed=1)
    given = dict(flag=False, count=-2, factor=2.0, text="", axes=[], weights=[1.0, 2.0], names=["z"], mode="sum", inferred=0, needed=4)
    ops.many(X, **given, way="fast")
    assert seen == given | {"way": Mode.fast}
    with pytest.raises(tenon.UsageError, match="needed"):
        ops.many(X)
    with pytest.raises(tenon.UsageError, match="mode"):
        ops.many(X, needed=1, mode="median")
    kinds = {name: param.kind for name, param in ops.many.info.params.items()}
    assert kinds["mode"] == kinds["way"] == "enum" and kinds["inferred"] == "int64" and kinds["weights"] == "floats"


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


def test_variadic_inputs_counted_outputs_and_other_dtypes():
    @tenon.operator
    class Stack:
        """The inputs, one behind the other."""

        def describe(op):
            op.input("parts").variadic()
            op.output("whole")
            op.linear("parts")

        def infer(self, io):
            sizes = [io.shape(i) for i in range(io.inputs)]
            io.set_output("whole", (sum(shape[0] for shape in sizes) if all(sizes) and all(s[0] for s in sizes) else None,))

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

    np.testing.assert_array_equal(ops.stack(X[0], X[1], X[2, :2]), np.concatenate([X[0], X[1], X[2, :2]]))
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


def test_states_change_in_training_and_are_kept():
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


def test_random_numbers_depend_on_seed_step_and_node_alone():
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
    assert not np.array_equal(run(8, 1)[0].y, first.y)

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


def failing(work):
    @tenon.operator
    class Failing:
        """Does what the test says."""

        def describe(op):
            op.input("x")
            op.output("y")

        def forward(self, call):
            call.y = 0
            return work(self, call)

    return Failing


def test_exceptions_arrive_as_the_cause_with_the_authors_line():
    def work(self, call):
        raise ValueError("too large\nby far")

    failing(work)
    with pytest.raises(tenon.ExecutionError, match=r"\[failing\].*ValueError: too large by far \(.*test_define.py:\d+ in work\)") as caught:
        ops.failing(X)
    assert isinstance(caught.value.__cause__, ValueError)
    graph = tenon.Graph()
    graph.outputs(y=ops.failing(graph.input("x", "float64", (None, 4)), name="the_node"))
    with pytest.raises(tenon.ExecutionError, match="the_node"):
        graph(x=X)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_interrupts_pass_as_themselves(kind):
    def work(self, call):
        raise kind("stop")

    failing(work)
    with pytest.raises(kind):
        ops.failing(X)


def test_errors_of_the_host_inside_of_a_kernel_arrive_as_its_words():
    failing(lambda self, call: ops.relu(call.x, nonsense=1) and None)
    with pytest.raises(tenon.ExecutionError, match="unknown parameter 'nonsense'") as caught:
        ops.failing(X)
    assert isinstance(caught.value.__cause__, tenon.UsageError)


@pytest.mark.parametrize(
    "work, sentence",
    [
        (lambda self, call: setattr(self, "kept", call.x), "keeps the array 'x' beyond the call"),
        (lambda self, call: setattr(self, "kept", call.x[1:]), "keeps the array 'x' beyond the call"),
        (lambda self, call: setattr(self, "kept", [call.y]), "keeps the array 'y' beyond the call"),
        (lambda self, call: setattr(self, "kept", call), "keeps its call"),
        (lambda self, call: call.x + 1, "forward returns ndarray, which nobody reads"),
        (lambda self, call: call.z, "the call has no 'z': describe.. of Failing names x, y"),
        (lambda self, call: call.x_grad, "call.x_grad exists only in backward"),
        (lambda self, call: call.x.__setitem__(0, 1), "read-only"),
        (lambda self, call: setattr(call, "x", 1), "call.x is read-only"),
        (lambda self, call: setattr(call, "y", call.x.astype(complex)), "call.y is float64, but the value is complex128"),
        (lambda self, call: setattr(call, "y", call.x[:2]), r"call.y has the shape \[3, 4\], but the value \[2, 4\]"),
        (lambda self, call: call.x.setflags(write=True), "writeable"),
    ],
)
def test_what_a_kernel_must_not_do_is_an_error_and_the_next_call_works(work, sentence):
    failing(work)
    with pytest.raises(tenon.ExecutionError, match=sentence):
        ops.failing(X)
    failing(lambda self, call: None)
    assert ops.failing(X).sum() == 0


def test_kept_arrays_have_memory_of_their_own_after_the_error():
    kept = []

    def work(self, call):
        local = call.x[1:]
        kept.extend([call.x, call.x[::2, 1:], {"inside": (call.x.T,)}])
        raise ValueError(f"with {local.shape}")

    failing(work)
    x = X.copy()
    with pytest.raises(tenon.ExecutionError) as caught:
        ops.failing(x)
    x[...] = -99  # what the kernel saw is the caller's memory
    np.testing.assert_array_equal(kept[0], X)
    np.testing.assert_array_equal(kept[1], X[::2, 1:])
    np.testing.assert_array_equal(kept[2]["inside"][0], X.T)
    trace = caught.value.__cause__.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    np.testing.assert_array_equal(trace.tb_frame.f_locals["local"], X[1:])
    np.testing.assert_array_equal(trace.tb_frame.f_locals["call"].x, X)


def test_an_array_that_only_a_circle_has_is_not_kept():
    def work(self, call):
        circle = [call.x]
        circle.append(circle)

    failing(work)
    assert ops.failing(X).shape == X.shape


@pytest.mark.parametrize(
    "body, sentence",
    [
        ({"describe": lambda op: None}, r"Broken has no forward\(\)"),
        ({"forward": lambda self, call: None}, r"Broken has no describe\(\)"),
        ({"describe": lambda op: (op.input("x"), op.output("y")), "forward": lambda self, call: None}, "says no doc"),
        ({"describe": lambda op: op.doc("d"), "forward": lambda self: None}, r"forward\(\) of Broken takes 1 arguments"),
        ({"describe": lambda op: op.doc("d"), "forward": lambda self, call: None}, "outputs"),
        ({"describe": lambda op: (op.doc("d"), op.param("a")), "forward": lambda self, call: None}, "parameter 'a' is not an attribute"),
        ({"describe": lambda op: (op.doc("d"), op.param("a")), "forward": lambda self, call: None, "a": object()}, "annotated as object"),
        (
            {"describe": lambda op: (op.doc("d"), op.output("y"), op.param("a").at_least(2)), "forward": lambda self, call: None, "a": 1},
            "does not meet the parameter's own bounds",
        ),
        (
            {"describe": lambda op: (op.doc("d"), op.output("y"), op.param("a").at_least(2)), "forward": lambda self, call: None, "a": "t"},
            "only numbers and lists of numbers have bounds",
        ),
        ({"describe": lambda op: (op.doc("d"), op.input("x"), op.output("x")), "forward": lambda self, call: None}, "names 'x'"),
        ({"describe": lambda op: (op.doc("d"), op.output("random")), "forward": lambda self, call: None}, "names 'random'"),
        ({"describe": lambda op: (op.doc("d"), op.output("y"), op.backward_reads("z")), "forward": lambda self, call: None}, "'z'"),
        ({"describe": lambda op: (op.doc("d"), op.output("y"), op.space("tenon")), "forward": lambda self, call: None}, "space 'tenon'"),
        ({"describe": lambda op: op.doc("d"), "forwards": lambda self, call: None}, r"nobody calls forwards\(\)"),
    ],
)
def test_faults_of_a_class_are_found_where_it_is_decorated(body, sentence):
    with pytest.raises(tenon.UsageError, match=sentence):
        tenon.operator(type("Broken", (), body))


def test_constructors_and_configure_that_fail_are_named():
    @tenon.operator
    class Picky:
        """Refuses in configure()."""

        a: int = 1

        def describe(op):
            op.input("x")
            op.output("y")
            op.param("a", "odd")

        def configure(self):
            if self.a % 2 == 0:
                raise ValueError(f"a is {self.a} but must be odd")

        def forward(self, call):
            call.y = self.a

    assert ops.picky(X)[0, 0] == 1
    with pytest.raises(tenon.Error, match="a is 2 but must be odd") as caught:
        ops.picky(X, a=2)
    assert isinstance(caught.value.__cause__, ValueError)


def test_manifests_have_the_bytes_that_the_sdk_writes():
    """The manifest of the operator cosine in sdk/include/tenon/manifest.hpp has 582 bytes, some of which only elementwise classes have."""
    from tenon import _cbor

    listed = {
        "tenon": 1, "name": "cosine", "doc": "scale * cos(x), element by element", "version": 1, "aliases": [],
        "types": ["float16", "bfloat16", "float32", "float64"],
        "inputs": [{"name": "x", "doc": "angles in radians", "optional": False, "variadic": False, "types": None, "initial": None, "weight": False}],
        "outputs": [{"name": "y", "doc": "same shape as x", "hidden": False, "count": None}], "states": [],
        "params": [{"name": "scale", "doc": "multiplier", "kind": "float32", "default": 1.0, "required": False,
                    "min": None, "max": None, "above": 0.0, "below": None, "choices": []}],
        "inplace": [["x", "y"]], "backward_inplace": [["y", "x"]], "backward_reads": ["x"], "accumulates": True, "strides": True,
        "random": False, "elementwise": True, "kernels_elsewhere": False,
        "functions": ["forward", "forward_sparse", "backward", "backward_sparse", "infer_storage"], "renamed": [], "added": [],
    }  # fmt: skip
    assert len(_cbor.dumps(listed)) == 582
    assert list(cosine()._tenon_definition.manifest)[: len(listed)] == list(listed)
    assert [_cbor.dumps(n).hex() for n in (23, 24, -1, -25, 256, 65536, 2**32)] == ["17", "1818", "20", "3818", "190100", "1a00010000", "1b0000000100000000"]
    assert kind_of("a", list[int], None)[0] == "ints"


def test_memory_does_not_grow():
    cosine()
    x = np.ones(4)
    graph = tenon.Graph()
    v = graph.input("x", "float64", (None,))
    (dx,) = graph.gradient(ops.sum(ops.cosine(v)), [v])
    graph.outputs(dx=dx)
    session = tenon.Session(graph)

    def work(count):
        for _ in range(count):
            ops.cosine(x)
        for _ in range(count // 10):
            session.run({"x": x})

    work(5000)
    gc.collect()
    objects, before = len(gc.get_objects()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(100_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000, "kilobytes"
    assert len(gc.get_objects()) - objects < 100


def test_objects_of_kernels_go_when_sessions_do():
    gone = []

    @tenon.operator
    class Mortal:
        """Is destroyed."""

        def describe(op):
            op.input("x")
            op.output("y")

        def configure(self):
            weakref.finalize(self, gone.append, 1)

        def forward(self, call):
            call.y = call.x

    graph = tenon.Graph()
    graph.outputs(y=ops.mortal(graph.input("x", "float64", (None, 4))))
    for _ in range(3):
        session = tenon.Session(graph)
        session.run({"x": X})
        session.close()
    del graph, session
    gc.collect()
    ops.relu(X)  # runs what other threads left over
    assert len(gone) >= 3


def test_a_function_of_a_closed_host_gives_an_error():
    with tenon.Host() as other:
        other.add(cosine())
        function = other.ops.cosine
        assert function(X).shape == X.shape
        other.close()
    with pytest.raises(tenon.UsageError, match="closed"):
        function(X)


def test_no_deadlock_between_python_threads_host_threads_and_callbacks():
    """In a process of its own, whose threads faulthandler shows if it hangs."""
    source = """
        import faulthandler, threading
        faulthandler.dump_traceback_later(60, exit=True)
        import numpy as np, tenon
        from tenon import ops

        host = tenon.Host(threads=8)
        tenon._core.set_default_host(host)

        @tenon.operator
        class Inner:
            '''Calls operators of the host.'''
            def describe(op): op.input("x"); op.output("y")
            def infer(self, io):
                ops.relu(np.zeros(2))
                io.set_output("y", io.shape("x"))
            def forward(self, call): call.y = ops.relu(call.x)
            def backward(self, call): call.x_grad = ops.mul(call.y_grad, np.ones_like(call.y_grad))

        @tenon.operator
        class Outer:
            '''Calls an operator in Python.'''
            def describe(op): op.input("x"); op.output("y")
            def forward(self, call): call.y = ops.inner(call.x)

        big, small, failed = np.ones(300_000, np.float32), np.ones(4, np.float32), []
        def work(kind):
            try:
                graph = tenon.Graph(); v = graph.input("x", "float32", (None,))
                y = ops.outer(v) if kind % 2 else ops.inner(v)
                if kind % 2 == 0:
                    (d,) = graph.gradient(ops.sum(y), [v]); graph.outputs(y=y, d=d)
                else:
                    graph.outputs(y=y)
                for i in range(40):
                    x = big if i % 5 == 0 else small
                    assert np.array_equal(ops.outer(x), x)
                    ops.add(x, x)
                    assert np.array_equal(graph(x=x)["y"], x)
                    if i % 10 == 0: tenon.operator(Inner)
            except BaseException as error:
                failed.append(repr(error))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        print(failed or "done")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "done", done.stdout + done.stderr


def test_the_interpreter_ends_clean_with_operators_alive():
    source = """
        import numpy as np, tenon, threading, time
        from tenon import ops

        @tenon.operator
        class Slow:
            '''Sleeps.'''
            def describe(op): op.input("x"); op.output("y")
            def forward(self, call): time.sleep(0.01); call.y = call.x
        graph = tenon.Graph(); graph.outputs(y=ops.slow(graph.input("x", "float64", (None,))))
        session = tenon.Session(graph); session.run({"x": np.ones(3)}); held = ops.slow
        print("end")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(source)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "end", "")


def test_two_threads_may_use_one_operator():
    cosine()
    results = []
    threads = [threading.Thread(target=lambda: results.append(all(np.allclose(ops.cosine(X), np.cos(X)) for _ in range(300)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
