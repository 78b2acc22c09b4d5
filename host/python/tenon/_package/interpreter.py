"""Rejects subinterpreters before the core is imported: importing it there would replace its types
in the main interpreter.
"""

from __future__ import annotations

import importlib


def require_main() -> None:
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        current = interpreters.get_current()
        number = current[0] if isinstance(current, tuple) else current
        if int(number) != 0:
            raise ImportError(
                "tenon cannot be imported in a subinterpreter; use processes, for example "
                "multiprocessing with the start method spawn"
            )
        return
