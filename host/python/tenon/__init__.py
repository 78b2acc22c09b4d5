"""Tenon: operators written in C++, CUDA or Python, called on arrays, built into graphs, trained,
saved and loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._interpreter import require_main

require_main()  # before the core is imported

from . import _core, ops
from ._core import Tensor
from ._errors import (
    CompileError,
    Error,
    ExecutionError,
    FileError,
    PluginError,
    UsageError,
    Warning,
)
from ._graph import Graph, Value, from_json, load
from ._host import Host
from ._session import Results, Session

if TYPE_CHECKING:
    from . import nn
    from ._check import CheckReport, CheckResult, check
    from ._compile import Compiled, compile
    from ._confusion import Confusion, confusion
    from ._define import operator
    from ._gradients import grad, value_and_grad
    from ._places import cmake_dir, include_dir
    from ._scorer import Scorer
    from ._tensors import csr, load_array, load_arrays, row_sparse, save_array, save_arrays, tensor
    from ._to_cpp import to_cpp
    from ._train import Run, train
    from ._trainer import Metrics, Report, Trainer, evaluate

# Imported at first use, so that programs that only call operators and run graphs start in
# milliseconds.
_LATER = {
    "_check": ("CheckReport", "CheckResult", "check"),
    "_compile": ("Compiled", "compile"),
    "_confusion": ("Confusion", "confusion"),
    "_define": ("operator",),
    "_gradients": ("grad", "value_and_grad"),
    "_places": ("cmake_dir", "include_dir"),
    "_scorer": ("Scorer",),
    "_tensors": (
        "csr",
        "load_array",
        "load_arrays",
        "row_sparse",
        "save_array",
        "save_arrays",
        "tensor",
    ),
    "_to_cpp": ("to_cpp",),
    "_train": ("Run", "train"),
    "_trainer": ("Metrics", "Report", "Trainer", "evaluate"),
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names}

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
    "Scorer",
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
    "seed",
    "tensor",
    "to_cpp",
    "train",
    "value_and_grad",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nn", "torch"):
        return import_module(f"{__name__}.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tenon' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def default_host() -> _core.Host:
    """The host that functions use unless they are passed one."""
    host: _core.Host = _core.default_host()
    return host


def add_plugins(path: str) -> None:
    """Adds a folder of plugins, or one plugin file, to the default host."""
    _core.default_host().add_plugins(path)


def seed(number: int) -> None:
    """Restarts the random numbers of calls as in a new host with that seed. Sessions have their own
    seeds.
    """
    _core.default_host().seed(number)
