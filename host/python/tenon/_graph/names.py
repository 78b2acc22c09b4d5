"""Values and arrays by the names of a graph, or of the ONNX model that the graph came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .. import _core
from .._errors import listed

T = TypeVar("T")


def name_in_graph(names: Iterable[str], name: Any, changed: Mapping[str, str]) -> str:
    """The graph's name for the ONNX model's name `name`, such as "x:0"; empty for other names."""
    has_colon = isinstance(name, str) and ":" in name and name.isprintable()
    return _core.name_in_graph(list(names), name, dict(changed)) if has_colon else ""


def by_graph_names(
    names: Iterable[str], values: Mapping[str, T], changed: Mapping[str, str]
) -> dict[str, T]:
    """`values` by the graph's names. A value under both names is left unchanged."""
    known = set(names)
    renamed = {}
    for name, each in values.items():
        graph_name = "" if name in known else name_in_graph(known, name, changed)
        renamed[graph_name if graph_name and graph_name not in values else name] = each
    return renamed


class ByName(dict[str, T]):
    """Values by the graph's names, or by the names of the ONNX model that the graph came from, such
    as "x:0".
    """

    _changed: Mapping[str, str] = {}

    def __missing__(self, name: str) -> T:
        if graph_name := name_in_graph(self, name, self._changed):
            return self[graph_name]
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or bool(name_in_graph(self, name, self._changed))

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default


def by_name(
    names: Sequence[str], positional: Sequence[Any], named: dict[str, Any], what: str
) -> dict[str, Any]:
    """All inputs by name, including those passed by position."""
    if len(positional) > len(names):
        raise TypeError(
            f"the {what} has {len(names)} inputs ({listed(names)}) "
            f"but got {len(positional)} by position"
        )
    for name, array in zip(names, positional):
        if name in named:
            raise TypeError(f"the {what} got two arrays for the input '{name}'")
        named[name] = array
    return named
