"""Elementwise operators at special values (zeros, infinities, NaN, extremes of each dtype) against
numpy: eager, in a session, folded, in a fused group, in the vector body and in the tail of a loop.
"""

import math

import numpy as np
import pytest
import tenon
from tenon import ops

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")

# A bfloat16 is represented by the float32 of the same value, since numpy has none.
HELD = {"bfloat16": "float32"}
# The dtypes in which elements are computed, and numpy's wider types.
COMPUTED = {"float16": "float32", "bfloat16": "float32"}
WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "float64": "longdouble"}
DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
LARGEST = {
    "float16": 65504.0,
    "bfloat16": float.fromhex("0x1.fep127"),
    "float32": float(np.finfo("float32").max),
    "float64": float(np.finfo("float64").max),
}

compared = {}  # operator: numbers


def bfloat16(values):
    """Rounds to nearest even; returned as float32."""
    bits = np.asarray(values, "float32").view("uint32").astype("uint64")
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype("uint32").view("float32")
    return np.where(np.isnan(values), np.float32(np.nan), rounded)


def rounded(values, dtype):
    with np.errstate(all="ignore"):
        values = np.asarray(values)
        return bfloat16(values) if dtype == "bfloat16" else values.astype(HELD.get(dtype, dtype))


def special(dtype):
    if dtype == "bool":
        return np.array([False, True])
    if dtype in COMPLEX:
        parts = np.array([0.0, -0.0, 1, -2.5, np.inf, -np.inf, np.nan], "float32")
        real, imag = np.meshgrid(parts, parts)
        numbers = np.empty(real.size, dtype)
        numbers.real, numbers.imag = real.ravel(), imag.ravel()  # 1j * inf would make a NaN
        return numbers
    if dtype in FLOATS:
        positive = [
            0.0,
            np.inf,
            SMALLEST[dtype],
            3 * SMALLEST[dtype],
            LARGEST[dtype],
            0.5,
            1.0,
            1.5,
            2.5,
            3.0,
            100.0,
        ]
        return np.array([np.nan, *positive, *(-x for x in positive)], HELD.get(dtype, dtype))
    info = np.iinfo(dtype)
    near = [0, 1, 2, 3, 7, 31, 100, *([-1, -2, -3, -100] if info.min else [])]
    return np.array([info.min, info.min + 1, *near, info.max - 1, info.max], dtype)


# ---- what is right -------------------------------------------------------------------------------


def same(f):
    """Exact in the dtype in which elements are computed, then rounded once."""
    return lambda dtype, *x: f(*(v.astype(COMPUTED.get(dtype, v.dtype)) for v in x))


def near(f, units=4):
    """Within some units in the last place; f is computed in a wider type."""

    def right(dtype, *x):
        return f(*(v.astype(WIDER[dtype]) for v in x))

    right.units = units
    return right


def by_element(f):
    return lambda dtype, *x: np.array(
        [f(*(v.item() for v in each)) for each in zip(*x, strict=True)]
    )


def of_integers(f, g):
    """f on unbounded integers, modulo 2^bits; g on everything else."""

    def right(dtype, *x):
        if x[0].dtype.kind not in "iu":
            return g(dtype, *x)
        bits, lowest = 8 * x[0].itemsize, int(np.iinfo(dtype).min)
        return np.array(
            [(f(*map(int, each)) - lowest) % 2**bits + lowest for each in zip(*x, strict=True)],
            dtype,
        )

    right.units = getattr(g, "units", 0)
    return right


def product(x, y):
    """(a + bi)(c + di) as written; no standard says more about infinities."""
    if x.dtype.kind != "c":
        return x * y
    made = np.empty_like(x)
    made.real, made.imag = x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real
    return made


def truncated(left, right):
    size = abs(left) // abs(right) if right else 0
    return size if (left < 0) == (right < 0) else -size


def power(base, exponent):
    if exponent < 0:
        return 0 if abs(base) != 1 else base ** (exponent % 2)
    return pow(base, exponent, 2**64)


def larger(x, y):
    """IEEE 754's maximum: NaN if either is NaN, and +0 is above -0."""
    if x.dtype.kind in "iu":
        return np.maximum(x, y)
    return np.where(x == y, np.where(np.signbit(x), y, x), np.maximum(x, y))


def smaller(x, y):
    return -larger(-x, -y) if x.dtype.kind == "f" else np.minimum(x, y)


def erf(x):
    return np.array([math.erf(v) for v in x.astype("float64")])


def normal(x):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x.astype("float64")])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def minus_one(x):
    """expm1 keeps -0."""
    return np.expm1(np.minimum(x, 1))


def gelu(x):
    return np.where(x == -np.inf, -0.0, x * normal(x))  # the limit where the product has no value


def moved(x, low, high):
    return np.where(x < low, low, np.where(x > high, high, x))


def hard_sigmoid(x):
    return moved(x.dtype.type(0.2) * x + x.dtype.type(0.5), 0, 1)


def hard_swish(x):
    return x * moved(x * x.dtype.type(1 / 6) + x.dtype.type(0.5), 0, 1)


def smooth(x):
    return np.where(np.abs(x) < 1, x.dtype.type(0.5) * x * x, np.abs(x) - x.dtype.type(0.5))


def shifted(left):
    def right(dtype, x, places):
        bits = 8 * x.itemsize

        def one(value, by):
            by = min(by % 2**bits, bits)  # a negative count is a large one
            return value << by if left else value >> by

        return of_integers(one, None)(dtype, x, places)

    return right


def divided(x, y):
    return x.astype("float64") / y.astype("float64") if x.dtype.kind in "iu" else x / y


def remainder(x, y):
    """numpy's remainder: zeros have the divisor's sign; 0 for integers divided by 0."""
    return (
        np.where(y == 0, 0, np.mod(x, np.where(y == 0, 1, y)))
        if x.dtype.kind in "iu"
        else np.mod(x, y)
    )


def truncated_remainder(x, y):
    return (
        np.where(y == 0, 0, np.fmod(x, np.where(y == 0, 1, y)))
        if x.dtype.kind in "iu"
        else np.fmod(x, y)
    )


def identity(x, *_):
    return x


def positive_part(x, low=0):
    return np.where(x < 0, x.dtype.type(low), x)  # -0 stays, since it is not below 0


def shrunk(x, bias, threshold):
    """Integers are computed in float64, and results that do not fit saturate."""
    v = x.astype("float64") if x.dtype.kind in "iu" else x
    made = np.where(
        v < -threshold, v + v.dtype.type(bias), np.where(v > threshold, v - v.dtype.type(bias), 0)
    )
    if x.dtype.kind == "f":
        return made
    info = np.iinfo(x.dtype)
    return np.array([min(max(int(each), info.min), info.max) for each in made], x.dtype)


# Operator: the expected results. With a tuple, the parameters of calls and the results for each.
TABLE = {
    "abs": same(np.abs),
    "acos": near(np.arccos),
    "acosh": near(np.arccosh),
    "add": of_integers(lambda x, y: x + y, same(np.add)),
    "asin": near(np.arcsin),
    "asinh": near(np.arcsinh),
    "atan": near(np.arctan),
    "atanh": near(np.arctanh),
    "bit_shift": (({"direction": "left"}, shifted(True)), ({"direction": "right"}, shifted(False))),
    "bitwise_and": same(np.bitwise_and),
    "bitwise_not": same(np.bitwise_not),
    "bitwise_or": same(np.bitwise_or),
    "bitwise_xor": same(np.bitwise_xor),
    "broadcast_like": same(identity),
    "ceil": same(np.ceil),
    "celu": near(lambda x: np.where(x > 0, x, minus_one(x))),
    "clip": (
        (
            {"low": -1, "high": 2},
            same(
                lambda x: moved(x, x.dtype.type(-1 if x.dtype.kind != "u" else 0), x.dtype.type(2))
            ),
        ),
        ({"low": -math.inf, "high": math.inf}, same(identity)),
    ),
    "conj": same(np.conj),
    "cos": near(np.cos),
    "cosh": near(np.cosh),
    "cosine": near(np.cos),
    "div": same(divided),
    "elu": near(lambda x: np.where(x > 0, x, minus_one(x))),
    "equal": same(np.equal),
    "erf": near(erf),
    "exp": near(np.exp),
    "floor": same(np.floor),
    "gelu": near(gelu, 16),
    "gelu_tanh": near(
        lambda x: x * sigmoid(x * (1.5957691216057308 + 0.071354816272600248 * x * x)), 64
    ),
    "greater": same(np.greater),
    "greater_equal": same(np.greater_equal),
    "hard_sigmoid": same(hard_sigmoid),
    "hard_swish": same(hard_swish),
    "imag": same(np.imag),
    "int_divide": of_integers(truncated, None),
    "is_inf": (
        ({}, same(np.isinf)),
        ({"detect_negative": False}, same(np.isposinf)),
        ({"detect_positive": False}, same(np.isneginf)),
    ),
    "is_nan": same(np.isnan),
    "leaky_relu": same(lambda x: np.where(x < 0, x.dtype.type(0.01) * x, x)),
    "less": same(np.less),
    "less_equal": same(np.less_equal),
    "log": near(np.log),
    "logical_and": same(np.logical_and),
    "logical_not": same(np.logical_not),
    "logical_or": same(np.logical_or),
    "logical_xor": same(np.logical_xor),
    "maximum": same(larger),
    "minimum": same(smaller),
    "mish": near(lambda x: x * np.tanh(softplus(x)), 8),
    "mod": (({}, same(remainder)), ({"fmod": True}, same(truncated_remainder))),
    "mul": of_integers(lambda x, y: x * y, same(product)),
    "mul_gradients": same(np.multiply),
    "neg": of_integers(lambda x: -x, same(np.negative)),
    "not_equal": same(np.not_equal),
    "pow": of_integers(power, near(np.power)),
    "prelu": of_integers(
        lambda x, slope: x * slope if x < 0 else x,
        same(lambda x, slope: np.where(x < 0, slope * x, x)),
    ),
    "quadratic": (
        ({"a": 2, "b": -1, "c": 0.5}, same(lambda x: 2 * x * x + -1 * x + x.dtype.type(0.5))),
        ({"b": -1}, same(lambda x: 0 * x * x + -1 * x + 0)),
    ),
    "real": same(np.real),
    "reciprocal": same(lambda x: 1 / x),
    "relu": same(positive_part),
    "round": same(np.rint),
    "rsqrt": near(lambda x: 1 / np.sqrt(x)),
    "selu": near(
        lambda x: 1.0507010221481323 * np.where(x > 0, x, 1.6732631921768188 * minus_one(x))
    ),
    "shrink": (
        ({}, same(lambda x: shrunk(x, 0, 0.5))),
        ({"bias": 1, "threshold": 1.5}, same(lambda x: shrunk(x, 1, 1.5))),
    ),
    "sigmoid": near(sigmoid, 4),
    "sign": same(np.sign),
    "sin": near(np.sin),
    "sinh": near(np.sinh),
    "smooth_l1": same(smooth),
    "softplus": near(softplus),
    "softsign": same(lambda x: x / (1 + np.abs(x))),
    "sqrt": same(np.sqrt),
    "square": of_integers(lambda x: x * x, same(lambda x: product(x, x))),
    "stop_gradient": same(identity),
    "sub": of_integers(lambda x, y: x - y, same(np.subtract)),
    "swish": near(lambda x: x * sigmoid(x), 8),
    "tan": near(np.tan),
    "tanh": near(np.tanh),
    "thresholded_relu": same(lambda x: np.where(x > 1, x, 0)),
    "where": same(np.where),
}

# Not compared, with the reason.
LEFT_OUT = {
    ("div", "complex64"): "C, C++ and numpy divide by infinities and by 0 in three ways",
    ("div", "complex128"): "C, C++ and numpy divide by infinities and by 0 in three ways",
}


def elementwise():
    infos = (ops[name].info for name in tenon.default_host().names() if "." not in name)
    return {
        info.name: info
        for info in infos
        if info.raw["elementwise"] and info.plugin not in ("python", "")
    }


def test_every_elementwise_operator_is_in_the_table():
    assert set(elementwise()) == set(TABLE)


def crossed(info, dtype):
    """Every combination of special values, one array for each input."""
    values = [special(dtype if each.types is None else each.types[0]) for each in info.inputs]
    return [each.ravel() for each in np.meshgrid(*values, indexing="ij")]


def expected(name, right, dtype, x):
    with np.errstate(all="ignore"):
        made = np.asarray(right(dtype, *x))
    return made if made.dtype == bool or dtype not in FLOATS else rounded(made, dtype)


def check(name, way, dtype, x, got, want, units):
    """Expects NaN for NaN, equal infinities and signs of zeros, else some units in the last
    place.
    """
    got = np.asarray(got)
    assert got.shape == want.shape, (name, way, dtype)
    if want.dtype.kind == "c":
        parts = [(got.real, want.real), (got.imag, want.imag)]
    else:
        parts = [(got, want)]
    wrong = np.zeros(want.shape, bool)
    for g, w in parts:
        if w.dtype.kind != "f":
            wrong |= g != w
            continue
        wrong |= np.isnan(g) != np.isnan(w)
        with np.errstate(all="ignore"):
            other = (g != w) | (np.signbit(g) != np.signbit(w))
            if units:
                kind = dtype if dtype in FLOATS else g.dtype.name
                ends = SMALLEST[kind] * (
                    1 if kind in COMPUTED else 16
                )  # computed with denormal numbers, which are less exact
                unit = np.maximum(np.abs(w) * 2.0 ** (1 - DIGITS[kind]), ends)
                close = np.abs(g.astype("longdouble") - w.astype("longdouble")) <= units * unit
                either_zero = (g == 0) | (w == 0)
                alike = ~either_zero | (np.maximum(np.abs(g), np.abs(w)) <= units * SMALLEST[kind])
                other &= ~(
                    close
                    & alike
                    & (np.signbit(g) == np.signbit(w))
                    & np.isfinite(g)
                    & np.isfinite(w)
                )
        wrong |= other & ~np.isnan(w)
    at = np.flatnonzero(wrong)
    shown = [(*(v[i] for v in x), "gives", got[i], "not", want[i]) for i in at[:6]]
    assert not at.size, f"{name} {way} {dtype}: {at.size} of {want.size} differ, such as {shown}"
    compared[name] = compared.get(name, 0) + want.size


def in_dtype(value, dtype):
    return ops.cast(value, dtype=dtype) if dtype == "bfloat16" else value


def as_numbers(value):
    dtype = value.dtype if isinstance(value, tenon.Value) else value.dtype_name
    return ops.cast(value, dtype="float32") if str(dtype) == "bfloat16" else value


def at_once(op, x, dtype, params):
    inputs = [tenon.tensor(v) if v.dtype == bool else in_dtype(tenon.tensor(v), dtype) for v in x]
    return as_numbers(op(*inputs, **params)).numpy()


def twice_turned(value):
    """Leaves the value unchanged; a neighbour in a fused group."""
    dtype = str(value.dtype)
    if dtype == "bool":
        return ops.logical_not(ops.logical_not(value))
    return ops.neg(ops.neg(value))


def in_session(op, x, dtype, params, way):
    graph = tenon.Graph()
    inputs = []
    for i, v in enumerate(x):
        made = graph.constant(v) if way == "folded" else graph.input(f"x{i}", v.dtype.name, v.shape)
        made = made if v.dtype == bool else in_dtype(made, dtype)
        inputs.append(twice_turned(made) if way == "fused" else made)
    made = op(*inputs, **params)
    made = as_numbers(twice_turned(made) if way == "fused" else made)
    graph.outputs(y=ops.reshape(made, shape=list(made.shape)) if way == "folded" else made)
    session = tenon.Session(graph, optimize="none" if way == "unoptimized" else "full")
    return session.run({} if way == "folded" else {f"x{i}": v for i, v in enumerate(x)})["y"]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_special_values(name):
    op, info = ops[name], elementwise()[name]
    entry = TABLE[name]
    for params, right in entry if isinstance(entry, tuple) else (({}, entry),):
        units = getattr(right, "units", 0)
        for dtype in info.types:
            if (name, dtype) in LEFT_OUT:
                continue
            x = crossed(info, dtype)
            want = expected(name, right, dtype, x)
            n = want.size
            # Twice and a bit, the second time at other vector offsets, so that each number is in a
            # loop's body.
            long = np.r_[np.arange(n), np.roll(np.arange(n), 5), np.arange(min(n, 37))]
            many = [v[long] for v in x]
            check(name, "at once", dtype, many, at_once(op, many, dtype, params), want[long], units)
            for way in ("optimized", "unoptimized", "folded", "fused"):
                check(
                    name,
                    way,
                    dtype,
                    many,
                    in_session(op, many, dtype, params, way),
                    want[long],
                    units,
                )
            for first in range(0, n, 3):  # fewer than a vector: a loop's tail
                few = [v[first : first + 3] for v in x]
                check(
                    name,
                    "in a tail",
                    dtype,
                    few,
                    at_once(op, few, dtype, params),
                    want[first : first + 3],
                    units,
                )


def test_numbers_compared():
    if len(compared) == len(TABLE):  # all tests above ran in this process
        print(sum(compared.values()), "numbers")
        assert sum(compared.values()) > 1_000_000
