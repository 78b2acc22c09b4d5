"""The general path of a call: computes on arrays, or adds a node to a graph."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._graph.nodes import add_node
from .._operators.arguments import sort
from .._operators.manifest import info_of
from .eager import eager


def call(op: _core.Operator, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    info = info_of(op)
    arguments = sort(op, info, positional, named)
    if any(hasattr(value, "_graph_value") for value in arguments.inputs):
        return add_node(op, info, arguments)
    if arguments.reserved.get("name") is not None:
        raise TypeError(f"{info.name}() got arrays and name=, but only nodes of graphs have names")
    return eager(op, info, arguments)
