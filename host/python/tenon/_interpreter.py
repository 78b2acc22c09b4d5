"""Refuses subinterpreters, which would take the core's types from the main interpreter as they are made: before the core is imported."""

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
                "tenon cannot be imported in a subinterpreter; processes of multiprocessing's method spawn can"
            )
        return
