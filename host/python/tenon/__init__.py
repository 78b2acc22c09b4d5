"""Tenon: operators written in C++, CUDA or Python, called on arrays, built into graphs, trained,
saved and loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._package.interpreter import require_main

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
from ._graph.graph import Graph, Value, from_json, load
from ._graph.session import Results, Session
from ._host.host import Host

if TYPE_CHECKING:
    from . import nn
    from ._arrays.tensors import (
        csr,
        load_array,
        load_arrays,
        row_sparse,
        save_array,
        save_arrays,
        tensor,
    )
    from ._authoring.check import CheckReport, CheckResult, check
    from ._authoring.compile import Compiled, compile
    from ._authoring.to_cpp import to_cpp
    from ._batches.scorer import Scorer
    from ._define.decorator import operator
    from ._graph.gradients import grad, value_and_grad
    from ._package.paths import cmake_dir, include_dir
    from ._train.confusion_matrix import Confusion, confusion
    from ._train.train import Run, train
    from ._train.trainer import Metrics, Report, Trainer, evaluate

# Imported at first use, so that programs that only call operators and run graphs start in
# milliseconds.
_LATER = {
    "_arrays.tensors": (
        "csr",
        "load_array",
        "load_arrays",
        "row_sparse",
        "save_array",
        "save_arrays",
        "tensor",
    ),
    "_authoring.check": ("CheckReport", "CheckResult", "check"),
    "_authoring.compile": ("Compiled", "compile"),
    "_authoring.to_cpp": ("to_cpp",),
    "_batches.scorer": ("Scorer",),
    "_define.decorator": ("operator",),
    "_graph.gradients": ("grad", "value_and_grad"),
    "_package.paths": ("cmake_dir", "include_dir"),
    "_train.confusion_matrix": ("Confusion", "confusion"),
    "_train.train": ("Run", "train"),
    "_train.trainer": ("Metrics", "Report", "Trainer", "evaluate"),
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


def _made_public(found: Any) -> Any:
    """Gives a class or function the module that tracebacks and pickles name: this one, not the
    private one that defines it.
    """
    found.__module__ = __name__
    return found


for _each in (
    *(CompileError, Error, ExecutionError, FileError, PluginError, UsageError, Warning),
    *(Graph, Host, Results, Session, Value, from_json, load),
):
    _made_public(_each)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nn", "torch"):
        return import_module(f"{__name__}.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'tenon' has no attribute '{name}'")
    found = globals()[name] = _made_public(getattr(import_module(f"{__name__}.{module}"), name))
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
