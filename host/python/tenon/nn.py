"""Layers: functions on values of a graph, such as
`h = nn.dense(image, 128, activation="relu", name="fc1")`.

A layer's weights become variables of the graph: `fc1_weight`, `fc1_bias`. Their shapes follow from
the layer's input. A `weight=` or `bias=` that is a value of the graph is shared with whatever else
uses it; an array is copied and becomes the variable's first elements. `init=` is as in
Graph.variable(): "zeros", "ones", "xavier", "he", a number, ("uniform", low, high), ("normal",
mean, deviation); "automatic" is what the operator declares, xavier for most weights. `activation=`
is an operator (`ops.relu`), its name, or any function of a value. Without `name=` a layer is called
after its kind: dense, dense_1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ._errors import UsageError
from ._graph.graph import Graph, Init, Value

Activation = Callable[[Value], Value] | str | None
Sizes = int | Sequence[int]
Weight = Any  # a Value, or an array

__all__ = [
    "avg_pool",
    "batch_norm",
    "conv",
    "dense",
    "dropout",
    "embedding",
    "flatten",
    "gru",
    "layer_norm",
    "lstm",
    "max_pool",
    "rnn",
    "sequence",
]


def dense(
    x: Value,
    units: int,
    *,
    activation: Activation = None,
    init: Init = "automatic",
    weight: Weight | None = None,
    bias: Weight | bool = True,
    name: str | None = None,
) -> Value:
    """activation(x @ weight.T + bias), for the last axis of x.

    x: [..., features]. weight: [units, features]. bias: [units]; False leaves it out.
    Returns [..., units].
    """
    graph, name = _begin("dense", x, name)
    weights = _weight(graph, f"{name}_weight", weight, init, x.dtype), _bias(graph, name, bias)
    made = graph.ops["tenon.fully_connected"](
        x, *weights, num_hidden=units, no_bias=bias is False, flatten=False, name=name
    )
    return _activated(made, activation)


def conv(
    x: Value,
    filters: int,
    kernel: Sizes,
    *,
    stride: Sizes = 1,
    pad: Sizes | str = 0,
    dilate: Sizes = 1,
    groups: int = 1,
    activation: Activation = None,
    init: Init = "automatic",
    weight: Weight | None = None,
    bias: Weight | bool = True,
    name: str | None = None,
) -> Value:
    """Cross-correlation with filters, over 1 to 3 spatial axes.

    x: [batch, channels, spatial ...]. kernel: size for each spatial axis, or one for all. pad:
    zeros on both sides; "same": as many as keep the size with stride 1, for kernels of odd size.
    weight: [filters, channels / groups, kernel ...]. bias: [filters]; False leaves it out. Returns
    [batch, filters, (size + 2 pad - dilate (kernel - 1) - 1) / stride + 1, rounded down, for each
    spatial axis].
    """
    graph, name = _begin("conv", x, name)
    sizes = _sizes(kernel, x, "kernel")
    params = dict(
        kernel=sizes,
        stride=_list(stride),
        pad=_padding(pad, sizes, dilate),
        dilate=_list(dilate),
        groups=groups,
    )
    weights = _weight(graph, f"{name}_weight", weight, init, x.dtype), _bias(graph, name, bias)
    made = graph.ops["tenon.convolution"](
        x, *weights, num_filter=filters, no_bias=bias is False, name=name, **params
    )
    return _activated(made, activation)


def batch_norm(
    x: Value,
    *,
    axis: int = 1,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    activation: Activation = None,
    gamma: Weight | None = None,
    beta: Weight | None = None,
    name: str | None = None,
) -> Value:
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta for each channel: of the batch in
    training, of the moving means outside of it.

    x: [batch, channels, ...], or with the channels at axis. gamma, beta: [channels]. momentum: the
    share of the moving means that a step of training keeps. Returns the shape of x.
    """
    graph, name = _begin("batch_norm", x, name)
    weights = _weight(graph, f"{name}_gamma", gamma), _weight(graph, f"{name}_beta", beta)
    made = graph.ops["tenon.batch_norm"](
        x, *weights, axis=axis, momentum=momentum, epsilon=epsilon, name=name
    )
    return _activated(made, activation)


def layer_norm(
    x: Value,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    activation: Activation = None,
    gamma: Weight | None = None,
    beta: Weight | None = None,
    name: str | None = None,
) -> Value:
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and variance over the axes
    from `axis` to the last.

    gamma, beta: the shape of x from axis on. Returns the shape of x.
    """
    graph, name = _begin("layer_norm", x, name)
    weights = _weight(graph, f"{name}_gamma", gamma), _weight(graph, f"{name}_beta", beta)
    made = graph.ops["tenon.layer_norm"](x, *weights, axis=axis, epsilon=epsilon, name=name)
    return _activated(made, activation)


def dropout(x: Value, p: float = 0.5, *, name: str | None = None) -> Value:
    """In training, sets each element to 0 with probability p and scales the others by 1 / (1 - p);
    outside of it, x. Returns x's shape.
    """
    graph, name = _begin("dropout", x, name)
    made: Value = graph.ops["tenon.dropout"](x, p=p, name=name)
    return made


def embedding(
    indices: Value,
    rows: int,
    columns: int,
    *,
    dtype: Any = "float32",
    init: Init = "automatic",
    weight: Weight | None = None,
    sparse_grad: bool = False,
    name: str | None = None,
) -> Value:
    """weight[indices]: a row for each integer.

    indices: any shape, from 0 to rows - 1. weight: [rows, columns], of dtype. sparse_grad: the
    gradient holds only the rows of a batch, and the optimizer updates only these. Returns [shape of
    indices ..., columns].
    """
    graph, name = _begin("embedding", indices, name)
    if weight is None:
        weight = graph.variable(f"{name}_weight", dtype=dtype, shape=(rows, columns), init=init)
    table = _weight(graph, f"{name}_weight", weight)
    made: Value = graph.ops["tenon.embedding"](
        indices, table, input_dim=rows, output_dim=columns, sparse_grad=sparse_grad, name=name
    )
    return made


def max_pool(
    x: Value, kernel: Sizes, *, stride: Sizes | None = None, pad: Sizes = 0, name: str | None = None
) -> Value:
    """The largest element of each window, over 1 to 3 spatial axes.

    x: [batch, channels, spatial ...]. stride: by default the kernel. Returns
    [batch, channels, (size + 2 pad - kernel) / stride + 1, rounded down, for each spatial axis].
    """
    graph, name = _begin("max_pool", x, name)
    sizes = _sizes(kernel, x, "kernel")
    made: Value = graph.ops["tenon.max_pool"](
        x,
        kernel=sizes,
        stride=sizes if stride is None else _list(stride),
        pad=_list(pad),
        name=name,
    )
    return made


def avg_pool(
    x: Value,
    kernel: Sizes,
    *,
    stride: Sizes | None = None,
    pad: Sizes = 0,
    count_include_pad: bool = True,
    name: str | None = None,
) -> Value:
    """The average of each window, with shapes as for max_pool(). count_include_pad: zeros of the
    padding count.
    """
    graph, name = _begin("avg_pool", x, name)
    sizes = _sizes(kernel, x, "kernel")
    params = dict(
        kernel=sizes,
        stride=sizes if stride is None else _list(stride),
        pad=_list(pad),
        count_include_pad=count_include_pad,
    )
    made: Value = graph.ops["tenon.avg_pool"](x, name=name, **params)
    return made


def flatten(x: Value, *, name: str | None = None) -> Value:
    """All axes but the first as one: [batch, ...] becomes [batch, features]. Either the batch or
    all features must be known.
    """
    graph, name = _begin("flatten", x, name)
    shape = x.shape
    if shape is None or len(shape) == 0 or (shape[0] is None and None in shape[1:]):
        raise UsageError(
            f"nn.flatten: the size of '{x.name}' is not known: {x!r}",
            "declare the input's shape, with None only for the batch",
        )
    features = [dim for dim in shape[1:] if dim is not None]
    made: Value = graph.ops["tenon.reshape"](
        x, shape=[-1, prod(features)] if shape[0] is None else [shape[0], -1], name=name
    )
    return made


def sequence(x: Value, *layers: Callable[[Value], Value] | str) -> Value:
    """Each layer applied to what the one before it returns: functions of a value, operators, or
    names of operators.

    nn.sequence(image, lambda x: nn.dense(x, 128), "relu", lambda x: nn.dense(x, 10))
    """
    for layer in layers:
        x = _activated(x, layer)
    return x


def rnn(
    x: Value,
    units: int,
    *,
    activation: Activation = "tanh",
    sequences: bool = False,
    init: Init = "automatic",
    name: str | None = None,
) -> Value:
    """h = activation(x[:, t] @ weight.T + bias + h @ recurrent) from step to step, beginning with
    zeros (Elman, 1990).

    x: [batch, time, features]. weight: [units, features], bias: [units], recurrent: [units, units].
    Returns the last h, [batch, units]; with `sequences` every one, [batch, time, units].
    """

    def cell(row: Value, recurrent: Value, h: Value) -> tuple[Value]:
        return (_activated(row + h @ recurrent, activation),)

    return _recurrent("rnn", x, units, 1, 1, cell, sequences, init, name)


def gru(
    x: Value,
    units: int,
    *,
    sequences: bool = False,
    init: Init = "automatic",
    name: str | None = None,
) -> Value:
    """A gated recurrent unit (Cho et al., 2014; the reset gate acts after the product, as cuDNN has
    it, here without a second bias).

    x: [batch, time, features]. weight: [3 units, features], bias: [3 units], recurrent:
    [units, 3 units], for the reset gate, the update gate and the candidate. Returns as rnn().
    """

    def cell(row: Value, recurrent: Value, h: Value) -> tuple[Value]:
        graph = h.graph
        of_row, of_state = (
            graph.ops["tenon.split"](row, sections=3, axis=1),
            graph.ops["tenon.split"](h @ recurrent, sections=3, axis=1),
        )
        reset, update = (
            graph.ops["tenon.sigmoid"](of_row[gate] + of_state[gate]) for gate in (0, 1)
        )
        candidate = graph.ops["tenon.tanh"](of_row[2] + reset * of_state[2])
        return (candidate + update * (h - candidate),)

    return _recurrent("gru", x, units, 3, 1, cell, sequences, init, name)


def lstm(
    x: Value,
    units: int,
    *,
    sequences: bool = False,
    init: Init = "automatic",
    name: str | None = None,
) -> Value:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; with the forget gate of Gers,
    Schmidhuber and Cummins, 2000).

    x: [batch, time, features]. weight: [4 units, features], bias: [4 units], recurrent:
    [units, 4 units], for the input gate, the forget gate, the candidate and the output gate.
    Returns as rnn().
    """

    def cell(row: Value, recurrent: Value, h: Value, memory: Value) -> tuple[Value, Value]:
        graph = h.graph
        gates = graph.ops["tenon.split"](row + h @ recurrent, sections=4, axis=1)
        enter, keep, leave = (graph.ops["tenon.sigmoid"](gates[gate]) for gate in (0, 1, 3))
        memory = keep * memory + enter * graph.ops["tenon.tanh"](gates[2])
        return leave * graph.ops["tenon.tanh"](memory), memory

    return _recurrent("lstm", x, units, 4, 2, cell, sequences, init, name)


Cell = Callable[..., tuple[Value, ...]]


def _recurrent(
    kind: str,
    x: Value,
    units: int,
    gates: int,
    carries: int,
    cell: Cell,
    sequences: bool,
    init: Init,
    name: str | None,
) -> Value:
    """Computes what is independent of h for all steps at once; `scan` runs the cell for each."""
    graph, name = _begin(kind, x, name)
    rows = graph.ops["tenon.transpose"](
        dense(x, gates * units, init=init, name=name), axes=[1, 0, 2]
    )
    recurrent = graph.variable(
        f"{name}_recurrent", dtype=x.dtype, shape=(units, gates * units), init=init
    )
    body = Graph(graph.host)
    state = [body.input(f"state_{index}", x.dtype, (None, units)) for index in range(carries)]
    row = body.input("row", x.dtype, (None, gates * units))
    after = cell(row, body.input("recurrent", x.dtype, (units, gates * units)), *state)
    for index, value in enumerate((*after, after[0])):
        body.output(f"output_{index}", value)
    first = graph.ops["tenon.fill_like"](rows[0, :, :units])
    made = graph.ops["tenon.scan"](
        *[first] * carries, rows, recurrent, body=body, carries=carries, outputs=carries + 1
    )
    last: Value = (
        graph.ops["tenon.transpose"](made[carries], axes=[1, 0, 2]) if sequences else made[0]
    )
    return last


def _begin(kind: str, x: Any, name: str | None) -> tuple[Graph, str]:
    if not isinstance(x, Value):
        raise TypeError(
            f"nn.{kind}() takes a value of a graph, not {type(x).__name__}; tenon.ops computes on "
            "arrays"
        )
    return x.graph, name or x.graph._free_name(kind)


def _weight(
    graph: Graph, name: str, value: Weight | None, init: Init = "automatic", dtype: Any = None
) -> Value | None:
    """None if the operator's own inference creates the variable."""
    if value is None:
        return None if init == "automatic" else graph.variable(name, dtype=dtype, init=init)
    return value if isinstance(value, Value) else graph.variable(name, value)


def _bias(graph: Graph, name: str, value: Weight | bool) -> Value | None:
    return None if isinstance(value, bool) else _weight(graph, f"{name}_bias", value)


def _activated(x: Value, activation: Activation) -> Value:
    made: Any = x
    if isinstance(activation, str):
        made = x.graph.ops[activation](x)
    elif activation is not None:
        made = activation(x)
    if not isinstance(made, Value):
        raise TypeError(
            f"a layer must return a value of the graph, but {activation!r} returned "
            f"{type(made).__name__}"
        )
    return made


def _list(sizes: Sizes) -> list[int]:
    return list(sizes) if isinstance(sizes, Sequence) else [sizes]


def _sizes(sizes: Sizes, x: Value, what: str) -> list[int]:
    if isinstance(sizes, Sequence):
        return list(sizes)
    if x.ndim is None:
        raise UsageError(
            f"the number of dimensions of '{x.name}' is not known, so {what} needs a size for each "
            "spatial axis"
        )
    return [sizes] * max(x.ndim - 2, 1)


def _padding(pad: Sizes | str, kernel: list[int], dilate: Sizes) -> list[int]:
    if not isinstance(pad, str):
        return _list(pad)
    if pad != "same":
        raise UsageError(f"nn.conv: pad is '{pad}', but must be integers or \"same\"")
    apart = _list(dilate) * (len(kernel) if len(_list(dilate)) == 1 else 1)
    spans = [step * (size - 1) for step, size in zip(apart, kernel)]
    if any(span % 2 for span in spans):
        raise UsageError(
            f'nn.conv: pad="same" needs equal padding on both sides, which a kernel of {kernel} '
            "cannot have",
            "use odd sizes",
        )
    return [span // 2 for span in spans]
