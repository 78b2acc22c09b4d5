"""Tenon: operators that people write in C++, CUDA or Python, called on arrays, built into graphs, trained, saved and loaded again."""

from __future__ import annotations

from . import _core, nn, ops
from ._check import CheckReport, CheckResult, check
from ._compile import Compiled, compile
from ._confusion import Confusion, confusion
from ._core import Tensor
from ._define import operator
from ._errors import CompileError, Error, ExecutionError, FileError, PluginError, UsageError, Warning
from ._gradients import grad, value_and_grad
from ._graph import Graph, Value, from_json, load
from ._host import Host
from ._places import cmake_dir, include_dir
from ._session import Results, Session
from ._tensors import csr, load_array, load_arrays, row_sparse, save_array, save_arrays, tensor
from ._to_cpp import to_cpp
from ._train import Run, train
from ._trainer import Metrics, Report, Trainer, evaluate

__all__ = [
    "CheckReport",
    "CheckResult",
    "CompileError",
    "Compiled",
    "Confusion",
    "Error",
    "ExecutionError",
    "FileError",
    "Graph",
    "Host",
    "Metrics",
    "PluginError",
    "Report",
    "Results",
    "Run",
    "Session",
    "Tensor",
    "Trainer",
    "UsageError",
    "Value",
    "Warning",
    "add_plugins",
    "check",
    "cmake_dir",
    "compile",
    "confusion",
    "csr",
    "default_host",
    "evaluate",
    "from_json",
    "grad",
    "include_dir",
    "load",
    "load_array",
    "load_arrays",
    "nn",
    "operator",
    "ops",
    "row_sparse",
    "save_array",
    "save_arrays",
    "tensor",
    "to_cpp",
    "train",
    "value_and_grad",
]


def default_host() -> _core.Host:
    """The host of functions that are given none."""
    return _core.default_host()


def add_plugins(path: str) -> None:
    """Adds a folder of plugins, or one plugin, to the default host."""
    _core.default_host().add_plugins(path)
