"""Nodes: operators as functions on values of graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arrays.kinds import NUMBERS, kind_of_one, to_tensor, weak_input
from .._errors import MixedGraphs
from .._operators.arguments import Arguments, pack, sort
from .._operators.manifest import OperatorInfo, info_of
from .._operators.namespaces import Operators, find, lookup
from .value import Value

if TYPE_CHECKING:
    from .graph import Graph


class GraphOperators:
    """The operators, as functions that add nodes to one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = lookup(name, self._graph.host)
        return self._adding(found) if isinstance(found, _core.Operator) else found

    def __getitem__(self, name: str) -> Any:
        return self._adding(find(name, self._graph.host))

    def __dir__(self) -> list[str]:
        return dir(Operators(self._graph.host))

    def _adding(self, op: _core.Operator) -> Any:
        def add(*inputs: Any, **named: Any) -> Any:
            info = info_of(op)
            return add_node(op, info, sort(op, info, inputs, named), self._graph)

        add.__name__ = op.__name__
        add.__doc__ = op.__doc__
        return add


def add_node(
    op: _core.Operator, info: OperatorInfo, arguments: Arguments, graph: Graph | None = None
) -> Any:
    """Adds a node and returns its output, or a named tuple of several. Arrays and numbers become
    constants.
    """
    for word in ("device", "out", "training"):
        if arguments.reserved.get(word) is not None and arguments.reserved[word] is not False:
            raise TypeError(
                f"{info.name}() got values of a graph and {word}=, which is for arrays only; "
                "sessions set the device and training"
            )
    name = arguments.reserved.get("name")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{info.name}(): name= must be a str, not {type(name).__name__}")
    values = [value for value in arguments.inputs if isinstance(value, Value)]
    graph = graph or values[0].graph
    if any(value.graph is not graph for value in values):
        error = MixedGraphs(f"[{info.name}] inputs are values of different graphs")
        error.graphs = (graph, *(value.graph for value in values))
        raise error
    dtype = next(
        (
            value.dtype
            for index, value in enumerate(arguments.inputs)
            if isinstance(value, Value) and info.input_at(index).types is None
        ),
        None,
    )
    handles = [
        None
        if value is None
        else graph._own(
            value if isinstance(value, Value) else _constant(graph, info, index, value, dtype)
        )
        for index, value in enumerate(arguments.inputs)
    ]
    while handles and handles[-1] is None:
        handles.pop()
    handle = graph._core.add(op._name, handles, arguments.params, name or "")
    graph._changed()
    indices = _visible_outputs(info, arguments.params)
    results = [Value(graph, handle.output(index)) for index in indices]
    return pack(info, results)


def _constant(graph: Graph, info: OperatorInfo, index: int, value: Any, dtype: str | None) -> Value:
    if isinstance(value, NUMBERS) and kind_of_one(value) is None:
        return graph.constant(weak_input(value, dtype, info, index))
    return graph.constant(to_tensor(value))


def is_hidden(info: OperatorInfo, output: str, params: Mapping[str, Any]) -> bool:
    return any(
        params.get(condition["param"], info.params[condition["param"]].default)
        in condition["values"]
        for condition in info.raw["conditions"]
        if condition["of"] == "hidden" and output in condition["names"]
    )


def _visible_outputs(info: OperatorInfo, params: Mapping[str, Any]) -> list[int]:
    indices: list[int] = []
    at = 0
    for output in info.outputs:
        count = 1
        if output.count:
            count = int(params.get(output.count, info.params[output.count].default))
        if not output.hidden and not is_hidden(info, output.name, params):
            indices += range(at, at + count)
        at += count
    return indices
