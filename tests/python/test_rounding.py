"""Every conversion to float16 and bfloat16 rounds once, to nearest, ties to even: tested at each
midpoint between two of their numbers and at its neighbours.
"""

import json

import numpy as np
import pytest
import tenon
from tenon import ops

KINDS = {
    "float16": (0x7C00, 10, -14),
    "bfloat16": (0x7F80, 7, -126),
}  # infinity's bits, fraction bits, smallest exponent


def value_of(bits, dtype):
    """The float64 values of bit patterns by IEEE 754; infinity becomes the number that would
    follow.
    """
    _, fraction, lowest = KINDS[dtype]
    exponent = bits >> fraction
    significand = np.where(exponent > 0, 1 << fraction, 0) + (bits & (1 << fraction) - 1)
    return np.ldexp(significand.astype("float64"), np.maximum(exponent, 1) - 1 + lowest - fraction)


def midpoints(dtype):
    """Numbers and their expected bits: each midpoint, the float64 below and above it; then the same
    negated.
    """
    infinity = KINDS[dtype][0]
    below = np.arange(infinity, dtype="int64")
    middle = (value_of(below, dtype) + value_of(below + 1, dtype)) / 2
    numbers = np.r_[
        np.nextafter(middle, 0), middle, np.nextafter(middle, np.inf), value_of(below, dtype)
    ]
    bits = np.r_[below, below + (below & 1), below + 1, below]
    return np.r_[numbers, -numbers], np.r_[bits, bits | 0x8000]


def whole_midpoints(dtype, whole):
    """Returns integers to round: those next to midpoints, and all small ones."""
    infinity = KINDS[dtype][0]
    info = np.iinfo(whole)
    numbers = {
        *range(-2000, 2001),
        info.min,
        info.max,
        *(2**k + d for k in range(64) for d in (-1, 0, 1)),
    }
    if dtype == "float16":
        numbers.update(range(-65600, 65601, 1))
    for below in range(infinity):
        low, high = (float(value_of(np.int64(b), dtype)) for b in (below, below + 1))
        if low >= 256 and high <= 2.0**64:
            middle = (int(low) + int(high)) // 2
            numbers.update(sign * (middle + d) for sign in (1, -1) for d in (-1, 0, 1))
    numbers = sorted(n for n in numbers if info.min <= n <= info.max)
    return np.array(numbers, whole), np.array([bits_of(n, dtype) for n in numbers])


def bits_of(number, dtype):
    """Rounds an integer with integer arithmetic only."""
    infinity, fraction, lowest = KINDS[dtype]
    sign, size = (0x8000, -number) if number < 0 else (0, number)
    if size == 0:
        return 0
    rest = size.bit_length() - 1 - fraction
    if rest > 0:
        kept, lost, half = size >> rest, size & (1 << rest) - 1, 1 << rest - 1
        kept += lost > half or (lost == half and kept & 1)
    else:
        kept = size << -rest
    bits = kept + (rest + fraction - lowest << fraction)  # a carry into the exponent is correct
    return sign | min(bits, infinity)


def as_bits(tensor):
    return ops.bit_cast(tensor, dtype="uint16").numpy().astype("int64")


def check(what, numbers, got, want):
    wrong = np.flatnonzero(got != want)
    shown = [(repr(numbers[i]), hex(got[i]), hex(want[i])) for i in wrong[:5]]
    assert not wrong.size, f"{what}: {wrong.size} of {len(numbers)} wrong, such as {shown}"


@pytest.mark.parametrize("dtype", KINDS)
def test_from_float64(dtype):
    numbers, want = midpoints(dtype)
    check("cast", numbers, as_bits(ops.cast(tenon.tensor(numbers), dtype=dtype)), want)
    check("tensor()", numbers, as_bits(tenon.tensor(numbers, dtype=dtype)), want)
    for first in (0, 1, 17, len(numbers) - 7):  # too few for a vector
        few = slice(first, first + 5)
        check(
            "a few",
            numbers[few],
            as_bits(ops.cast(tenon.tensor(numbers[few]), dtype=dtype)),
            want[few],
        )
    for source in ("input", "constant"):
        graph = tenon.Graph()
        x = (
            graph.input("x", "float64", numbers.shape)
            if source == "input"
            else graph.constant(numbers)
        )
        graph.outputs(y=ops.bit_cast(ops.cast(x, dtype=dtype), dtype="uint16"))
        made = tenon.Session(graph).run({"x": numbers} if source == "input" else {})["y"]
        check(source, numbers, made.astype("int64"), want)
    specials = np.array([0.0, -0.0, np.inf, -np.inf, 1e300, -1e300, 5e-324, -5e-324])
    infinity = KINDS[dtype][0]
    signed = [0, 0x8000, infinity, infinity | 0x8000, infinity, infinity | 0x8000, 0, 0x8000]
    check("specials", specials, as_bits(ops.cast(tenon.tensor(specials), dtype=dtype)), signed)
    assert np.isnan(
        ops.cast(ops.cast(tenon.tensor([np.nan]), dtype=dtype), dtype="float32").numpy()
    ).all()


@pytest.mark.parametrize("whole", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("dtype", KINDS)
def test_from_integers(dtype, whole):
    numbers, want = whole_midpoints(dtype, whole)
    check("cast", numbers, as_bits(ops.cast(tenon.tensor(numbers), dtype=dtype)), want)
    check(
        "tensor()", numbers, as_bits(tenon.tensor(numbers, dtype="bfloat16")), want
    ) if dtype == "bfloat16" else None
    few = slice(0, 3)
    check(
        "a few", numbers[few], as_bits(ops.cast(tenon.tensor(numbers[few]), dtype=dtype)), want[few]
    )


@pytest.mark.parametrize("dtype", KINDS)
def test_numbers_of_python(dtype):
    numbers, want = midpoints(dtype)
    finite = np.flatnonzero(want & 0x7FFF != KINDS[dtype][0])
    lowest = ops.cast(tenon.tensor([-np.inf]), dtype=dtype)
    for i in np.random.default_rng(0).choice(finite, 400):
        made = as_bits(ops.maximum(lowest, float(numbers[i])))
        check("a number", numbers[i : i + 1], made, want[i : i + 1])
    if dtype == "bfloat16":
        for number in (2**60 + 2**52 + 1, -(2**60 + 2**52 + 1), 2**100 + 2**92 + 1, 16842753):
            check(
                "an integer",
                np.array([number], object),
                as_bits(ops.maximum(lowest, number)),
                [bits_of(number, dtype)],
            )
    beyond = 3.4e38 if dtype == "bfloat16" else 65520.0
    with pytest.raises(tenon.UsageError, match="does not fit"):
        ops.maximum(lowest, beyond)


@pytest.mark.parametrize("dtype", ["int16", "int32"])
def test_integers_of_python_beyond_the_dtype_are_refused(dtype):
    info = np.iinfo(dtype)
    for number in (info.min, info.max):
        assert ops.add(np.zeros(1, dtype), number)[0] == number
    for number in (info.min - 1, info.max + 1, 2**64):
        with pytest.raises(tenon.UsageError, match="does not fit"):
            ops.add(np.zeros(1, dtype), number)


def test_integers_of_python_in_float32():
    for number in (2**60 + 2**36 + 1, -(2**60 + 2**36 + 1), 2**100 + 2**76 + 1):
        lowest = np.array([-np.inf], "float32")
        right = np.float32(2.0 ** (number.bit_length() - 1)) * np.float32(1 + 2**-23)
        assert ops.maximum(lowest, number)[0] == np.copysign(right, number)


@pytest.mark.parametrize("dtype", KINDS)
def test_first_values(dtype):
    numbers, want = midpoints(dtype)
    finite = np.flatnonzero(want & 0x7FFF != KINDS[dtype][0])
    some = np.random.default_rng(1).choice(finite, 400)
    text = {
        "tenon": 1,
        "constants": {
            "k": {"dtype": dtype, "shape": [len(some)], "values": [float(n) for n in numbers[some]]}
        },
        "nodes": [
            {"name": "bits", "op": "bit_cast", "inputs": ["k"], "attrs": {"dtype": "uint16"}}
        ],
        "outputs": {"y": "bits"},
    }
    made = tenon.from_json(json.dumps(text)).session().run({})["y"]
    check("graph.json", numbers[some], made.astype("int64"), want[some])
    for i in some[:20]:
        graph = tenon.Graph()
        v = graph.variable("v", dtype=dtype, shape=(3,), init=float(numbers[i]))
        graph.outputs(y=ops.bit_cast(v, dtype="uint16"))
        check("init", numbers[[i] * 3], graph.session().run({})["y"].astype("int64"), want[[i] * 3])


@pytest.mark.parametrize("dtype", KINDS)
def test_sums_that_end_in_16_bits(dtype):
    """2048 + 1 + 2^-20 is just above a midpoint of float16, and is that midpoint in float32;
    bfloat16 likewise.
    """
    digits = KINDS[dtype][1] + 1
    terms = np.array([2.0**digits, 1, 2.0**-20 if dtype == "float16" else 2.0**-30])
    right = 2.0**digits + 2
    x = ops.cast(tenon.tensor(np.zeros((3, 4))), dtype=dtype)
    dy = ops.cast(tenon.tensor(np.repeat(terms[:, None], 4, axis=1)), dtype=dtype)
    graph = tenon.Graph()
    row, many, slope = (
        graph.input(n, dtype, s) for n, s in (("row", (4,)), ("many", (3, 4)), ("slope", (3, 4)))
    )
    (gradient,) = graph.gradient(ops.sum(ops.mul(ops.add(row, many), slope)), [row])
    graph.outputs(g=ops.cast(gradient, dtype="float64"))
    first = ops.cast(tenon.tensor(np.zeros(4)), dtype=dtype)
    made = tenon.Session(graph).run({"row": first, "many": x, "slope": dy})["g"]
    assert np.array_equal(made, np.full(4, right)), made
