"""tenon.ops: every operator is a function whose results match numpy's."""

import array
import copy
import inspect
import pickle
import pydoc
import warnings

import numpy as np
import pytest
import tenon
from tenon import ops

FLOATS = np.array([[-2.5, -0.0, 0.5], [1.0, 3.25, 700.0]])
REALS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")


def every_operator():
    return [name for name in tenon.default_host().names() if "." not in name]


# ---- what a function says of itself --------------------------------------------------------------


@pytest.mark.parametrize("name", every_operator())
def test_every_operator_documents_itself(name):
    op = ops[name]
    signature = inspect.signature(op)
    names = list(signature.parameters)
    for each in (*op.info.inputs, *op.info.params.values()):
        assert each.name in names or each.name + "_" in names
    assert all(
        parameter.kind is parameter.KEYWORD_ONLY
        for key, parameter in signature.parameters.items()
        if key in op.info.params
    )
    assert op.info.doc in op.__doc__ and op.info.full_name in op.__doc__
    assert all(param.doc in op.__doc__ for param in op.info.params.values())
    assert op.__name__ in pydoc.render_doc(op)
    assert pickle.loads(pickle.dumps(op))._name == op._name
    assert copy.deepcopy(op)._name == op._name
    assert name in repr(op) and "<pre>" in op._repr_html_()


def test_listing_and_finding():
    assert {"add", "relu", "if_", "cast"} <= set(dir(ops)) and "if" not in dir(ops)
    assert ops["if"]._name == ops.if_._name == "if"
    assert np.array_equal(ops.tenon.add([1, 2], 3), [4, 5]) and "add" in dir(ops.tenon)
    assert not hasattr(ops, "ad") and not hasattr(ops.tenon, "ad")


@pytest.mark.parametrize(
    "name", ["ad", "rel", "é", "\ud800", "add\0", "", "x" * 100_000, "tenon.ad"]
)
def test_a_name_that_is_none(name):
    with pytest.raises(AttributeError, match="there is no operator"):
        getattr(ops, name)
    with pytest.raises(tenon.PluginError, match="there is no operator"):
        ops[name]


def test_near_names():
    with pytest.raises(AttributeError, match="did you mean relu"):
        ops.rellu
    with pytest.raises(tenon.UsageError, match="unknown parameter 'num_hiden'") as error:
        ops.fully_connected(np.ones((1, 2)), np.ones((3, 2)), num_hiden=3)
    assert "num_hidden" in error.value.hint
    with pytest.raises(TypeError, match="operator names are str, not int"):
        ops[3]


# ---- results against numpy -----------------------------------------------------------------------

UNARY = {
    "abs": np.abs, "cos": np.cos, "exp": np.exp, "log": np.log, "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sin": np.sin,
    "sqrt": np.sqrt, "square": np.square,
    "tanh": np.tanh, "softplus": lambda x: np.logaddexp(0, x),
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum,
    "minimum": np.minimum,
    "pow": np.power,
}  # fmt: skip


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    x = np.abs(FLOATS).astype(dtype)[:, :2] + np.asarray(0.25, dtype)
    with np.errstate(over="ignore"):
        want = UNARY[name](x.astype("float64"))
    got = ops[name](x)
    assert got.dtype == dtype and got.shape == x.shape
    np.testing.assert_allclose(
        got.astype("float64"),
        want,
        rtol={"float16": 4e-3, "float32": 3e-6, "float64": 1e-12}[dtype],
    )


@pytest.mark.parametrize("dtype", REALS + INTEGERS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum"])
def test_binary_of_every_dtype(name, dtype):
    left, right = np.array([[1, 2, 100]], dtype), np.array([[3], [5]], dtype)
    got = ops[name](left, right)
    with np.errstate(over="ignore"):
        want = BINARY[name](left, right)
    assert got.dtype == want.dtype
    assert np.array_equal(got, want)  # integers wrap around, as in numpy


@pytest.mark.parametrize("name", BINARY)
def test_binary_against_numpy(name):
    left, right = np.abs(FLOATS[:, :2]) + 0.5, np.array([0.5, 2.0])
    np.testing.assert_allclose(ops[name](left, right), BINARY[name](left, right), rtol=1e-14)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_numbers(dtype):
    x = np.array([1 + 2j, -0.5j], dtype)
    assert (
        np.array_equal(ops.add(x, 1j), x + np.asarray(1j, dtype)) and ops.add(x, 2).dtype == dtype
    )
    assert np.array_equal(ops.conj(x), np.conj(x)) and np.array_equal(ops.imag(x), x.imag)


# ---- kinds of arrays -----------------------------------------------------------------------------

BASE = np.arange(24, dtype="float32").reshape(4, 6)


def unaligned():
    made = np.frombuffer(bytearray(BASE.nbytes + 1), np.uint8)[1:].view("float32").reshape(4, 6)
    made[...] = BASE
    return made


def read_only():
    made = BASE.copy()
    made.flags.writeable = False
    return made


LAYOUTS = {
    "contiguous": lambda: BASE, "fortran": lambda: np.asfortranarray(BASE),
    "strided": lambda: BASE[::2, 1::3],
    "negative": lambda: BASE[::-1, ::-2], "transposed": lambda: BASE.T,
    "broadcast": lambda: np.broadcast_to(BASE[0], (3, 6)),
    "swapped": lambda: BASE.astype(">f4"), "unaligned": unaligned, "read-only": read_only,
    "no rows": lambda: BASE[:0],
    "no columns": lambda: BASE[:, :0], "0-d": lambda: np.array(2.5, "float32"),
    "scalar": lambda: np.float32(2.5),
    "one": lambda: BASE[:1, :1], "eight axes": lambda: BASE.reshape(2, 1, 2, 1, 3, 1, 2, 1),
    "matrix": lambda: BASE.view(np.matrix),
    "half a struct": lambda: np.zeros(3, [("a", "float32"), ("b", "int8")])["a"],
    "memmap-like": lambda: np.ndarray((2, 3), "float32", bytearray(range(24))),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout]()
    before = np.array(x)
    for got in (ops.add(x, x), ops.add(x, 1.0), ops.add(1.0, x), ops.quadratic(x, a=0, b=1, c=1)):
        assert type(got) is np.ndarray and got.dtype == "float32" and got.shape == np.shape(x)
        assert got.flags.writeable and not np.shares_memory(got, x)
    assert np.array_equal(ops.add(x, x), np.asarray(x + x)) and np.array_equal(
        ops.add(x, 1.0), np.asarray(x) + 1
    )
    assert np.array_equal(x, before)


@pytest.mark.parametrize(
    "given",
    [
        array.array("f", [1, 2]),
        bytearray(b"\1\2"),
        b"\1\2",
        memoryview(b"\1\2"),
        np.float32(3),
        np.array(3, "int16"),
        [1, 2],
        (1.5, 2),
    ],
)
def test_buffers_scalars_and_lists(given):
    want = (
        np.asarray(memoryview(given))
        if isinstance(given, bytes | bytearray | memoryview | array.array)
        else np.asarray(given)
    )
    got = ops.add(given, 1)
    assert got.dtype == want.dtype and np.array_equal(got, want + 1)


class Wrapped:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


def test_what_has_the_protocol_of_an_array():
    assert np.array_equal(ops.add(Wrapped(np.float32([1, 2])), 1), [2, 3])
    assert ops.add(Wrapped(np.float32([1, 2])), 1).dtype == "float32"
    tensor = ops.add(tenon._core.tensor_from(BASE), 1)
    assert isinstance(tensor, tenon.Tensor) and np.array_equal(tensor.numpy(), BASE + 1)


class Odd(list):
    pass


@pytest.mark.parametrize(
    "given",
    [
        "a",
        None,
        object(),
        {},
        {1},
        range(3),
        iter([1.0]),
        lambda: 0,
        type("S", (str,), {})("1"),
        np.ma.masked_array([1.0], [True]),
    ],
)
def test_what_is_no_array(given):
    with pytest.raises((TypeError, tenon.UsageError)) as error:
        ops.add(given, 1.0)
    assert "input 'left'" in str(error.value) and "incompatible" not in str(error.value)


@pytest.mark.parametrize("dtype", ["U3", "S3", "M8[s]", "O", "longdouble", [("a", "f4")]])
def test_dtypes_that_there_are_not(dtype):
    with pytest.raises(tenon.UsageError, match="which Tenon does not support"):
        ops.relu(np.zeros(2, dtype))


@pytest.mark.parametrize("given", [["a"], [[1], [1, 2]], [None, 1.0], ["1.5"], [object()], [2**70]])
def test_lists_of_anything(given):
    with pytest.raises(tenon.UsageError, match="input 'right'"):
        ops.add(BASE[0, :1], given)


# ---- numbers without a dtype ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", REALS + INTEGERS)
@pytest.mark.parametrize("number", [1, 0, True, 100, 2.0])
def test_numbers_take_the_dtype_of_arrays(dtype, number):
    x = np.array([1, 2], dtype)
    for got, want in (
        (ops.add(x, number), x + np.asarray(number).astype(dtype)),
        (ops.sub(number, x), np.asarray(number).astype(dtype) - x),
    ):
        assert got.dtype == dtype and np.array_equal(got, want)


@pytest.mark.parametrize(
    "dtype, number",
    [("uint8", 256), ("uint8", -1), ("uint8", 1.5), ("int8", 128), ("int32", 2**31),
     ("int32", -(2**31) - 1), ("int64", 2**63),
     ("int64", 2**70), ("uint64", -1), ("uint64", 2**64), ("int32", float("nan")),
     ("int32", float("inf")), ("float32", 1e39),
     ("float16", 65536), ("float32", 2**200), ("float64", 10**400), ("float32", 1j), ("int32", 1j),
     ("uint8", [1, 256]), ("int16", 1e300)],
)  # fmt: skip
def test_numbers_that_would_be_others(dtype, number):
    with warnings.catch_warnings(), pytest.raises(tenon.UsageError, match="fit"):
        warnings.simplefilter("error")
        ops.add(np.ones(2, dtype), number)


def test_the_ends_of_dtypes_fit():
    for dtype in INTEGERS:
        for number in (np.iinfo(dtype).min, np.iinfo(dtype).max):
            assert ops.maximum(np.array([number], dtype), int(number))[0] == number
    assert ops.add(np.zeros(1, "float32"), 2**24 + 1)[0] == np.float32(2**24 + 1)
    assert ops.add(np.zeros(1, "float64"), 2**53 + 1)[0] == float(2**53 + 1)
    assert ops.add(np.zeros(1, "float64"), -(2**63))[0] == -(2.0**63)
    assert (
        np.isinf(ops.add(np.zeros(1, "float32"), float("inf")))[0]
        and np.isnan(ops.add(np.zeros(1, "float32"), float("nan")))[0]
    )


def test_only_numbers():
    for got, want in (
        (ops.add(1, 2), "int64"),
        (ops.add(1.5, 2), "float64"),
        (ops.add([1.5, 2], 1), "float64"),
        (ops.add([1, 2], [0.5, 1]), "float64"),
        (ops.sqrt(4), "float64"),
        (ops.exp([1, 2]), "float64"),
        (ops.relu([1.0]), "float64"),
    ):
        assert got.dtype == want
    assert ops.add([1.5, 2], 1).tolist() == [2.5, 3] and ops.sqrt(4) == 2


def test_numbers_for_inputs_with_dtypes_of_their_own():
    x = np.float32([1, 2, 3])
    assert np.array_equal(ops.scale_by(x, 0.5), x / 2)
    assert np.array_equal(ops.sgd(x, x, 0.5), x / 2)
    assert np.array_equal(ops.take_rows(x, [2, 0]), x[[2, 0]]) and ops.take_rows(x, []).shape == (
        0,
    )
    assert np.array_equal(ops.where([True, False, True], x, 0), [1, 0, 3])
    assert np.array_equal(ops.where(np.array([True, False, True]), 1, 2.5), [1, 2.5, 1])
    for numbers in ([0.5], [1.0]):
        with pytest.raises((tenon.UsageError, tenon.ExecutionError), match="numbers"):
            ops.take_rows(x, numbers)
    assert (
        ops.reshape([True], shape=[1]).dtype == "bool"
        and ops.reshape([2**63], shape=[1]).dtype == "uint64"
    )


def test_arrays_are_not_promoted():
    with pytest.raises(tenon.Error, match="must have the same dtype"):
        ops.add(np.float32([1]), np.float64([1]))
    assert ops.add(np.float32([1]), np.float32(2)).dtype == "float32"
    with pytest.raises(tenon.Error, match="must have the same dtype"):
        ops.add(np.float32([1]), np.float64(2))  # a numpy scalar has a dtype
