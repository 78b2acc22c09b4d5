"""Handwritten ONNX models and their results."""

import struct

import numpy as np
import tenon

ELEMENTS = {
    name: number
    for number, name in enumerate(
        "float32 uint8 int8 uint16 int16 int32 int64 - bool float16 float64 uint32 uint64".split(),
        1,
    )
}
BFLOAT16 = 16
OPEN, NONE = "open", "none"  # dimensions of unknown size; no shape at all


def varint(n):
    n &= 2**64 - 1
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    """A protobuf field: an int, a text, or a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, array):
    array = np.asarray(array)
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, ELEMENTS[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    if isinstance(value, bytes):  # a graph
        return field(1, name) + field(6, value) + field(20, 5)
    if isinstance(value, np.ndarray):
        return field(1, name) + field(5, tensor("", value)) + field(20, 4)
    return field(1, name) + b"".join(field(8, number) for number in value) + field(20, 7)


def node(kind, inputs, outputs, domain="", name="", **attributes):
    outputs = [outputs] if isinstance(outputs, str) else outputs
    parts = [field(1, one) for one in inputs] + [field(2, one) for one in outputs]
    parts += [field(3, name), field(4, kind), field(7, domain)]
    return b"".join(parts + [field(5, attribute(*one)) for one in attributes.items()])


def value(name, dims=(), element=1):
    """dims: sizes, names, or None for an unknown dimension; None: no shape."""

    def dim(size):
        return b"" if size is None else field(1, size) if isinstance(size, int) else field(2, size)

    shape = b"" if dims is None else field(2, b"".join(field(1, dim(size)) for size in dims))
    return field(1, name) + field(2, field(1, field(1, element) + shape))


def graph(nodes, inputs, outputs, initializers=None):
    """inputs, outputs: results of value(). initializers: arrays by name."""
    parts = [field(1, one) for one in nodes] + [
        field(5, tensor(*one)) for one in (initializers or {}).items()
    ]
    return b"".join(
        parts + [field(11, one) for one in inputs] + [field(12, one) for one in outputs]
    )


def model(nodes, inputs, outputs, initializers=None, opset=17):
    opsets = field(8, field(2, opset)) + b"".join(
        field(8, field(1, one) + field(2, 1)) for one in ("my.ops", "com.microsoft")
    )
    return field(1, 8) + field(7, graph(nodes, inputs, outputs, initializers)) + opsets


def model_for(nodes, arrays, outputs="y", initializers=None, dims=None, opset=17):
    """A model whose inputs have the types of these arrays, with the dimensions in `dims`, by name,
    if given.
    """
    inputs = [
        value(name, (dims or {}).get(name, array.shape), ELEMENTS[array.dtype.name])
        for name, array in arrays.items()
    ]
    outputs = [outputs] if isinstance(outputs, str) else outputs
    return model(nodes, inputs, [value(name, None) for name in outputs], initializers, opset)


def run(tmp_path, nodes, arrays, known="whole", initializers=None, opset=17, outputs="y"):
    """Returns the outputs. known: how the model declares its inputs' shapes, or their shapes by
    name.
    """
    dims = (
        known
        if isinstance(known, dict)
        else {
            OPEN: {name: [None] * array.ndim for name, array in arrays.items()},
            NONE: dict.fromkeys(arrays),
        }.get(known)
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(model_for(nodes, arrays, outputs, initializers, dims, opset))
    session = tenon.Session(tenon.load(path))
    made = [session.run(arrays) for _ in range(3)]
    for again in made[1:]:
        for name in made[0]:
            np.testing.assert_array_equal(made[0][name], again[name])
    return made[0][outputs] if isinstance(outputs, str) else [made[0][name] for name in outputs]


def equal(got, expected):
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
