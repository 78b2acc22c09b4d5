"""Tenon: operators that people write in C++, CUDA or Python, called on arrays, built into graphs, trained, saved and loaded again."""

from __future__ import annotations

from . import _core, ops
from ._core import Tensor
from ._errors import CompileError, Error, ExecutionError, FileError, PluginError, UsageError, Warning
from ._graph import Graph, Value, from_json, load
from ._host import Host
from ._session import Results, Session

__all__ = [
    "CompileError",
    "Error",
    "ExecutionError",
    "FileError",
    "Graph",
    "Host",
    "PluginError",
    "Results",
    "Session",
    "Tensor",
    "UsageError",
    "Value",
    "Warning",
    "add_plugins",
    "default_host",
    "from_json",
    "load",
    "ops",
]


def default_host() -> _core.Host:
    """The host of functions that are given none."""
    return _core.default_host()


def add_plugins(path: str) -> None:
    """Adds a folder of plugins, or one plugin, to the default host."""
    _core.default_host().add_plugins(path)
