"""The operators, as functions: `ops.relu(x)`. On arrays they compute, on values of a graph they add a node.

Each is made from its manifest when it is first asked for; its plugin is loaded by the first call. `dir(ops)` lists them,
`ops["lambda"]` and `ops.lambda_` take names that Python keeps for itself, `ops.acme.rope` those of a space.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import _core
from ._lookup import find, lookup


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
        return sorted(_core.python_name(name) for name in _core.default_host().names() if "." not in name)


sys.modules[__name__].__class__ = _Module
