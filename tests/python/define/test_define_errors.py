"""Faults of operators in Python, and the resulting messages."""

from __future__ import annotations

import gc
from types import FrameType, FunctionType, ModuleType, SimpleNamespace

import numpy as np
import pytest
import tenon
from python_operators import X
from tenon import ops
from tenon._define.parameters import checked


def failing(work):
    @tenon.operator
    class Failing:
        """Does what the test passes."""

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
    with pytest.raises(
        tenon.ExecutionError,
        match=r"\[failing\].*ValueError: too large by far \(.*test_define_errors.py:\d+ in work\)",
    ) as caught:
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
        (
            lambda self, call: setattr(self, "kept", call.x),
            "keeps a reference to the array 'x' beyond the call",
        ),
        (
            lambda self, call: setattr(self, "kept", call.x[1:]),
            "keeps a reference to the array 'x' beyond the call",
        ),
        (
            lambda self, call: setattr(self, "kept", [call.y]),
            "keeps a reference to the array 'y' beyond the call",
        ),
        (lambda self, call: setattr(self, "kept", call), "keeps a reference to its call"),
        (lambda self, call: call.x + 1, "forward returns ndarray, which is ignored"),
        (lambda self, call: call.z, "the call has no 'z': describe.. of Failing names x, y"),
        (lambda self, call: call.x_grad, "call.x_grad exists only in backward"),
        (lambda self, call: call.x.__setitem__(0, 1), "read-only"),
        (lambda self, call: setattr(call, "x", 1), "call.x is read-only"),
        (
            lambda self, call: setattr(call, "y", call.x.astype(complex)),
            "call.y is float64, but the value is complex128",
        ),
        (
            lambda self, call: setattr(call, "y", call.x[:2]),
            r"call.y has the shape \[3, 4\], but the value \[2, 4\]",
        ),
        (lambda self, call: call.x.setflags(write=True), "(?i)writeable"),
    ],
)
def test_what_a_kernel_must_not_do_is_an_error_and_the_next_call_works(work, sentence):
    failing(work)
    with pytest.raises(tenon.ExecutionError, match=sentence):
        ops.failing(X)
    failing(lambda self, call: None)
    assert ops.failing(X).sum() == 0


@pytest.mark.parametrize("keep", [lambda parts: parts, lambda parts: parts[1]])
def test_arrays_of_a_variadic_input_must_not_outlive_the_call(keep):
    def define(work):
        @tenon.operator
        class Joined:
            """The sum of the inputs."""

            def describe(op):
                op.input("parts").variadic()
                op.output("y")

            def forward(self, call):
                work(self, call.parts)
                call.y[...] = sum(call.parts)

    define(lambda self, parts: setattr(self, "kept", keep(parts)))
    with pytest.raises(tenon.ExecutionError, match="keeps a reference to the array 'parts'"):
        ops.joined(X, X)
    define(lambda self, parts: None)
    np.testing.assert_array_equal(ops.joined(X, X), 2 * X)


def test_stored_arrays_have_memory_of_their_own_after_the_error():
    kept = []

    def work(self, call):
        local = call.x[1:]
        kept.extend([call.x, call.x[::2, 1:], {"inside": (call.x.T,)}])
        raise ValueError(f"with {local.shape}")

    failing(work)
    x = X.copy()
    with pytest.raises(tenon.ExecutionError) as caught:
        ops.failing(x)
    x[...] = -99  # the kernel saw the caller's memory
    np.testing.assert_array_equal(kept[0], X)
    np.testing.assert_array_equal(kept[1], X[::2, 1:])
    np.testing.assert_array_equal(kept[2]["inside"][0], X.T)
    trace = caught.value.__cause__.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    np.testing.assert_array_equal(trace.tb_frame.f_locals["local"], X[1:])
    np.testing.assert_array_equal(trace.tb_frame.f_locals["call"].x, X)


KEPT = []


def in_locals(call):
    whole, part, transposed = call.x, call.x[1:], call.x.T
    raise ValueError([part.shape, transposed.shape, whole.shape])


def in_containers(call):
    parts = [{"part": (call.x[1:],)}, call.x]
    raise ValueError(len(parts))


def in_a_closure(call):
    part = call.x[1:]

    def fails():
        raise ValueError(part.shape)

    fails()


def in_nothing(call):
    raise ValueError(call.x[1:].shape)


def in_a_list_elsewhere(call):
    part = call.x[1:]
    KEPT.append(call.x[1:])
    raise ValueError(part.shape)


def in_an_object(call):
    holder = SimpleNamespace(part=call.x[1:])
    raise ValueError(holder.part.shape)


def in_the_error(call):
    raise ValueError(call.x[1:])


def in_an_error_before(call):
    try:
        in_locals(call)
    except ValueError:
        raise TypeError from None


def arrays_of(error):
    """The arrays that an error and what is kept refer to, by any path."""
    found, holders, seen = [], [error, KEPT], set()
    while holders:
        holder = holders.pop()
        if id(holder) in seen or isinstance(holder, ModuleType | FunctionType | type):
            continue
        seen.add(id(holder))
        if isinstance(holder, np.ndarray):
            found.append(holder)
        elif isinstance(holder, FrameType):
            holders += holder.f_locals.values()
        else:
            holders += gc.get_referents(holder)
    return found


@pytest.mark.parametrize(
    ("work", "searched"),
    [
        (in_nothing, False),
        (in_locals, False),
        (in_containers, False),
        (in_a_closure, False),
        (in_a_list_elsewhere, True),
        (in_an_object, True),
        (in_the_error, True),
        (in_an_error_before, True),
    ],
)
def test_whatever_refers_to_the_arrays_of_a_failed_call(work, searched, monkeypatch):
    """Arrays have memory of their own. All objects are searched only if the frames of the error do
    not have every reference.
    """
    KEPT.clear()
    searches, objects = [], gc.get_objects

    def get_objects():
        searches.append(True)
        return objects()

    failing(lambda self, call: work(call))
    x = X.copy()
    with monkeypatch.context() as patch, pytest.raises(tenon.ExecutionError) as caught:
        patch.setattr(gc, "get_objects", get_objects)
        ops.failing(x)
    x[...] = -99
    found = arrays_of(caught.value.__cause__)
    assert len(found) >= 2
    for each in found:
        expected = {(3, 4): X, (2, 4): X[1:], (4, 3): X.T}[each.shape]
        assert (each == expected).all() or not each.any()  # call.y
    assert bool(searches) == searched


def test_an_array_that_only_a_reference_cycle_has_is_not_an_error():
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
        (
            {
                "describe": lambda op: (op.input("x"), op.output("y")),
                "forward": lambda self, call: None,
            },
            "has no doc",
        ),
        (
            {"describe": lambda op: op.doc("d"), "forward": lambda self: None},
            r"forward\(\) of Broken takes 1 arguments",
        ),
        ({"describe": lambda op: op.doc("d"), "forward": lambda self, call: None}, "outputs"),
        (
            {
                "describe": lambda op: (op.doc("d"), op.param("a")),
                "forward": lambda self, call: None,
            },
            "parameter 'a' is not an attribute",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.param("a")),
                "forward": lambda self, call: None,
                "a": object(),
            },
            "annotated as object",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.output("y"), op.param("a").at_least(2)),
                "forward": lambda self, call: None,
                "a": 1,
            },
            "does not satisfy the parameter's own bounds",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.output("y"), op.param("a").at_least(2)),
                "forward": lambda self, call: None,
                "a": "t",
            },
            "only numbers and lists of numbers have bounds",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.input("x"), op.output("x")),
                "forward": lambda self, call: None,
            },
            "names 'x'",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.output("random")),
                "forward": lambda self, call: None,
            },
            "names 'random'",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.output("y"), op.backward_reads("z")),
                "forward": lambda self, call: None,
            },
            "'z'",
        ),
        (
            {
                "describe": lambda op: (op.doc("d"), op.output("y"), op.space("tenon")),
                "forward": lambda self, call: None,
            },
            "space 'tenon'",
        ),
        (
            {"describe": lambda op: op.doc("d"), "forwards": lambda self, call: None},
            r"Broken defines forwards\(\), which is never called",
        ),
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


def test_backward_reads_what_it_named_and_not_every_gradient_is_requested():
    careless = False

    @tenon.operator
    class Product:
        """left * right"""

        def describe(op):
            op.input("left")
            op.input("right")
            op.output("y")
            op.backward_reads("right")

        def forward(self, call):
            np.multiply(call.left, call.right, out=call.y)

        def backward(self, call):
            if call.left_grad is not None or careless:
                call.left_grad[...] = call.y_grad * call.right
            if call.right_grad is not None:
                call.right_grad[...] = call.y_grad * call.left

    graph = tenon.Graph()
    left, right = graph.input("left", "float64", (3,)), graph.input("right", "float64", (3,))
    loss = ops.sum(ops.product(left, right))
    (good,) = graph.gradient(loss, [left])
    (unread,) = graph.gradient(loss, [right])
    graph.outputs(good=good, unread=unread)
    given = {"left": X[0, :3], "right": X[1, :3]}
    np.testing.assert_array_equal(graph(outputs="good", **given).good, X[1, :3])
    with pytest.raises(
        tenon.ExecutionError,
        match=r"call\.left is not available in backward.*op\.backward_reads\(\)",
    ):
        graph(outputs="unread", **given)
    careless = True
    with pytest.raises(
        tenon.ExecutionError, match="'NoneType'.*; gradients that are not requested are None"
    ):
        graph(outputs="unread", **given)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"pads": [7] * 999 + [-1]}, "'pads' is [7, " + "7, " * 14 + "7 and 984 more] but must be"),
        ({"pads": ["a"] * 17},
         "must be a list of integers, not ['a', " + "'a', " * 14 + "'a' and 1"),
        ({"pads": tuple(range(99))}, "must be a list of integers, not (0, 1, 2, 3, 4, 5, ...)"),
        ({"pads": [-1]}, "parameter 'pads' is [-1] but must be at least 0"),
        ({"pads": [], "mode": "z"},
         "but must be one of m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, "),
        ({"pads": [], "mode": "z"}, "m14, m15 and 84 more"),
        ({"nonsense": 1}, "the parameters are: pads, mode, p0, p1, "),
        ({"nonsense": 1}, "p12, p13 and 6 more"),
    ],
)  # fmt: skip
def test_messages_about_parameters_show_sixteen_elements(arguments, message):
    def param(name, kind="int64", **more):
        bounds = dict.fromkeys(("min", "max", "above", "below"))
        defaults = {"required": False, "default": 0, "choices": []}
        return {"name": name, "kind": kind, **bounds, **defaults, **more}

    params = [
        param("pads", "ints", default=[], min=0),
        param("mode", "enum", default="m0", choices=[f"m{number}" for number in range(100)]),
        *[param(f"p{number}") for number in range(20)],
    ]
    with pytest.raises(tenon.UsageError) as caught:
        checked({"params": params}, {}, arguments)
    assert message in str(caught.value)
