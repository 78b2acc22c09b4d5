"""Calls with another library's arrays: which take the fast path, and with which arguments."""

import ctypes

import numpy as np
import pytest
import tenon
from exchange_stand_in import NAME, Box, Table, capsule, functions_of

PLAIN_KEYS = 2**63 + 7


class Line:
    """a x + d, plus w"""

    a: float = 2.0
    d: float = 0.0

    def describe(op):
        op.input("x")
        op.input("w").optional()
        op.output("y")
        op.param("a")
        op.param("d")

    def infer(self, io):
        io.set_output(0, io.shape("x"))

    def forward(self, call):
        call.y[...] = self.a * call.x + self.d + (0 if call.w is None else call.w)


class Joined:
    """The inputs, one after the other."""

    def describe(op):
        op.input("parts").variadic()
        op.output("whole")

    def infer(self, io):
        io.set_output(0, (sum(io.shape(i)[0] for i in range(io.inputs)),))

    def forward(self, call):
        np.concatenate(call.parts, out=call.whole)


class Noise:
    """x and noise"""

    def describe(op):
        op.input("x")
        op.output("y")
        op.uses_random()

    def forward(self, call):
        call.y[...] = call.x + call.random.standard_normal(call.x.shape)


class Way:
    """A slower function, which returns its own arguments."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **named):
        return self.name, args, named


LONG, DIFFERENTIABLE = Way("long"), Way("differentiable")


@pytest.fixture
def functions():
    """Makes the functions of one of the operators."""
    host = tenon.Host(threads=1)
    classes = [tenon.operator(host=host, name=each.__name__.lower())(each) for each in KINDS]
    yield lambda name, **options: functions_of(name, host, **options)
    assert classes  # must live as long as the host uses them


KINDS = [Line, Joined, Noise]


def lists(boxes):
    return boxes.tolist() if isinstance(boxes, Box) else boxes


def test_parameters_by_position_or_by_name_are_those_of_one_prepared_call(functions):
    line, _ = functions("line", tensors=2, placed=["a", "d"])
    x, w = Box([1, 2]), Box([10, 20])
    assert line(x, None, 3.0, 1.0).tolist() == [4, 7]
    assert line(x).tolist() == [2, 4]
    assert line(x, w).tolist() == [12, 24]
    assert line(x, None, 3.0, d=1.0).tolist() == [4, 7]
    assert line(x, a=3.0, d=1.0).tolist() == [4, 7]
    assert line(x, None, 3.0).tolist() == [3, 6]
    assert tenon._core.exchange_counts(line) == (2, 4, 0)


def test_parameters_of_the_same_type_and_value_use_one_prepared_call(functions):
    line, _ = functions("line")
    x = Box([1, 2])
    for text in ("0.5", "0.5", "2", "0.0", "-0.0", "-0.0"):
        assert line(x, a=float(text)).tolist() == [float(text), 2 * float(text)]
    assert line(x, a=10**3 - 998).tolist() == [2, 4]  # an integer, not a float
    assert tenon._core.exchange_counts(line) == (2, 5, 0)


def test_lists_of_the_same_type_and_elements_use_one_prepared_call():
    summed = functions_of("sum")[0]
    x = Box([[1, 2], [3, 4]])
    for axes, expected in (([0], [4, 6]), ([1], [3, 7]), ([0, 1], 10), ((0,), [4, 6])):
        for _ in range(2):
            assert summed(x, axis=type(axes)(axes)).tolist() == expected
    assert tenon._core.exchange_counts(summed) == (4, 4, 0)


@pytest.mark.parametrize(
    ("args", "named"),
    [
        ((None, 3.0, 1.0, 5.0), {}),
        ((None, np.float64(3)), {}),
        ((), {"a": np.float64(3)}),
        ((), {"d": [1.0, [2.0]]}),
        ((np.ones(2, "float32"),), {}),
    ],
)
def test_other_arguments_go_the_long_way_unchanged(functions, args, named):
    line, _ = functions("line", tensors=2, placed=["a", "d"], other=LONG)
    x = Box([1, 2])
    way, seen, seen_named = line(x, *args, **named)
    assert way == "long"
    assert len(seen) == 1 + len(args) and all(a is b for a, b in zip(seen, (x, *args)))
    assert seen_named == named


def _too_many_axes(view):
    view.ndim = 9
    view.shape = ctypes.cast(ONES, ctypes.POINTER(ctypes.c_int64))


ONES = (ctypes.c_int64 * 9)(*[1] * 9)


@pytest.mark.parametrize(
    "change",
    [
        lambda view: setattr(view, "device_type", 2),
        lambda view: setattr(view, "lanes", 2),
        lambda view: setattr(view, "code", 200),
        _too_many_axes,
    ],
)
def test_memory_and_types_of_others_go_the_long_way(functions, change):
    line, _ = functions("line", other=LONG)
    assert line(Box([1, 2], change=change))[0] == "long"


def test_an_array_that_has_no_view_goes_the_long_way(functions):
    line, _ = functions("line", other=LONG)
    fixed = np.ones(2, "float32")
    fixed.flags.writeable = False
    assert line(Box(tenon.tensor(fixed)))[0] == "long"


def test_as_many_axes_as_tensors_may_have(functions):
    line, _ = functions("line")
    assert line(Box(np.ones([1] * 7 + [2]))).tensor.shape == (1,) * 7 + (2,)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6)[::2],
        np.arange(12).reshape(3, 4)[:, :2],
        np.arange(12).reshape(3, 4)[::2],
        np.arange(12).reshape(3, 4).T,
        np.arange(12).reshape(3, 4)[1:2, ::3],
        np.arange(12).reshape(3, 4)[:, 2:3],
    ],
)
def test_strided_arrays(functions, array):
    wide = np.array(np.broadcast_to(0.0, (24,)), "float32")
    view = np.lib.stride_tricks.as_strided(
        wide,
        array.shape,
        [stride // array.itemsize * wide.itemsize for stride in array.strides],
    )
    view[...] = array
    line, _ = functions("line")
    assert line(Box(tenon.tensor(view))).tolist() == (2 * array).tolist()


def test_lists_of_tensors(functions):
    joined, _ = functions("joined", other=LONG)
    assert joined([Box([1]), Box([2, 3])]).tolist() == [1, 2, 3]
    assert joined([Box([each]) for each in range(16)]).tolist() == list(range(16))
    assert joined([Box([each]) for each in range(17)])[0] == "long"
    assert joined([Box([1]), 5])[0] == "long"


def test_operators_that_draw_random_numbers_go_the_long_way(functions):
    noise, _ = functions("noise", other=LONG)
    assert noise(Box([1, 2]))[0] == "long"


def test_the_result_is_a_list_if_a_parameter_sets_the_number_of_outputs(functions):
    (line,) = functions("line", counted=True)[0](Box([1, 2]))
    assert line.tolist() == [2, 4]


class Keys:
    def __init__(self, number):
        self.number = number

    def raw_repr(self):
        return self.number


X, W, TRAINED = Box([1, 2]), Box([10, 20]), Box([3, 4], requires_grad=True)


@pytest.mark.parametrize(
    ("keys", "enabled", "args", "named", "expected"),
    [
        (PLAIN_KEYS, True, (X,), {}, [2, 4]),
        (PLAIN_KEYS, True, (X, W), {}, [12, 24]),
        (PLAIN_KEYS, True, (X, None, 3.0), {}, [3, 6]),
        (PLAIN_KEYS, True, (X,), {"a": 3.0}, [3, 6]),
        (PLAIN_KEYS, True, (TRAINED,), {"a": 3.0}, "differentiable"),
        (PLAIN_KEYS, True, (X, TRAINED), {}, "differentiable"),
        (PLAIN_KEYS, False, (TRAINED,), {}, [6, 8]),
        (PLAIN_KEYS, False, (X, TRAINED), {"a": 3.0}, [6, 10]),
        (PLAIN_KEYS - 1, False, (X,), {"a": 3.0}, "differentiable"),
        (7, True, (X, None, 3.0), {"d": 1.0}, "differentiable"),
    ],
)
def test_dispatch_keys_and_gradients_decide_the_way(
    functions, keys, enabled, args, named, expected
):
    _, line = functions(
        "line",
        tensors=2,
        placed=["a", "d"],
        differentiable=DIFFERENTIABLE,
        grad_enabled=lambda: enabled,
        plain_keys=PLAIN_KEYS,
    )
    made = line(Keys(keys), *args, **named)
    assert lists(made) == (expected if isinstance(expected, list) else (expected, args, named))


def test_a_gradient_of_any_tensor_of_a_list_decides_the_way(functions):
    _, joined = functions("joined", differentiable=DIFFERENTIABLE, grad_enabled=lambda: True)
    assert joined(Keys(0), [X, W]).tolist() == [1, 2, 10, 20]
    assert joined(Keys(0), [X, TRAINED, W])[0] == "differentiable"


def test_errors_of_keys_and_of_arguments_are_raised(functions):
    _, line = functions("line", other=LONG, differentiable=DIFFERENTIABLE, grad_enabled=lambda: 1)

    class Failing:
        def raw_repr(self):
            raise ZeroDivisionError

    with pytest.raises(TypeError, match="the set of dispatch keys is missing"):
        line()
    with pytest.raises(ZeroDivisionError):
        line(Failing(), X)
    with pytest.raises(AttributeError, match="requires_grad"):
        line(Keys(0), 5)


def test_types_without_a_function_for_views_have_no_fast_path(functions):
    class NoView:
        table = Table(1, 3)
        __dlpack_c_exchange_api__ = capsule(ctypes.addressof(table), NAME, None)

    options = dict(  # noqa: C408
        other=LONG,
        differentiable=LONG,
        grad_enabled=lambda: False,
        counted=False,
        tensors=1,
        placed=[],
        plain_keys=0,
    )
    for kind in (int, NoView):
        assert tenon._core.exchange_calls(None, "line", kind, **options) == (None, None)
