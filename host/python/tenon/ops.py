"""The operators, as functions: `ops.relu(x)`. They compute on arrays and add nodes on values of a
graph.

Each function is created from its manifest at first use; the first call loads its plugin. `dir(ops)`
lists them. `ops["lambda"]` and `ops.lambda_` accept names reserved by Python, `ops.acme.rope` those
of a space.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import _core
from ._operators.namespaces import find, lookup


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = lookup(name, None)
        self.__dict__[name] = found
        return found

    def __getitem__(self, name: str) -> _core.Operator:
        return find(name, None)

    def __dir__(self) -> list[str]:
        return sorted(
            _core.python_name(name) for name in _core.default_host().names() if "." not in name
        )


sys.modules[__name__].__class__ = _Module
