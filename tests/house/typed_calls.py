"""Calls that a type checker accepts, except for the lines that end in `# refused`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tenon import ops
from tenon._graph.value import Value


class Tensor:
    """An array type of another library."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (2, 3)

    @property
    def dtype(self) -> str:
        return "float32"


x: NDArray[np.float32] = np.zeros((2, 3), np.float32)


def values(v: Value) -> list[Value]:
    """A graph value among the arguments gives a graph value."""
    first, second = ops.split(v, sections=2)
    return [
        ops.relu(v),
        ops.relu(v, name="act", device="cpu"),
        ops.add(v, 1.0),
        ops.add(1.0, v),
        ops.add(x, v),
        ops.add(left=[1, 2], right=v),
        ops.where(x, v, 0.0),
        ops.where(x, 0.0, v),
        ops.fully_connected(v, num_hidden=3),
        ops.fully_connected(v, weight=x, num_hidden=3),
        ops.fully_connected(x, weight=v, num_hidden=3),
        ops.fully_connected(x, bias=v, num_hidden=3),
        ops.concat(v, v),
        ops.concat(v, x, axis=1),
        ops.concat(x, v),
        first,
        second,
    ]


def arrays(t: Tensor) -> None:
    """Results have the type of the inputs."""
    same: list[Tensor] = [
        ops.relu(t),
        ops.add(t, 1.0),
        ops.add(t, x),
        ops.concat(t, x),
        ops.relu(t, out=t),
    ]
    numbers: list[NDArray[Any]] = [
        ops.relu(x),
        ops.relu([1.0, 2.0]),
        ops.add(1.0, [[2, 3]]),
        ops.concat(x, x),
        ops.relu(np.float32(1)),
    ]
    less: NDArray[np.bool_] = ops.less(x, 1.0)
    made: NDArray[Any] = ops.normal(shape=(2, 3), dtype="float16", sd=2)
    ops.add(1.0, t)
    ops.fully_connected(x, x, None, num_hidden=3, no_bias=True)
    ops.mean_squared_error(x, x, reduction="sum", training=True)
    ops.convolution(x, num_filter=3, kernel=[3, 3])
    ops.if_(x, x, then="a", else_="b")
    print(same, numbers, less, made)


ops.reluu(x)  # refused
ops.relu()  # refused
ops.relu(None)  # refused
ops.relu("text")  # refused
ops.add(x)  # refused
ops.leaky_relu(x, slop=0.1)  # refused
ops.leaky_relu(x, slope="0.1")  # refused
ops.leaky_relu(x, 0.1)  # refused
ops.fully_connected(x)  # refused
ops.mean_squared_error(x, x, reduction="max")  # refused
ops.convolution(x, num_filter=3.5, kernel=[3, 3])  # refused
ops.cast(x, dtype="int33")  # refused
ops.normal(shape="a")  # refused
