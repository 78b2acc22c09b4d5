"""The words of describe(op) that say what changed since older versions of an operator, so that graphs of those still load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Change:
    """What op.added() and op.removed() return."""

    def __init__(self, keep: Callable[[Any], None]) -> None:
        self._keep = keep

    def was(self, value: Any) -> None:
        """Of a parameter that was added: its value in older files. Of one that was removed: the value as if it had which the operator
        now behaves; older files with another one are refused."""
        self._keep(value)


class Versions:
    """A part of the `op` of describe(op)."""

    def __init__(self) -> None:
        self._renamed: list[list[Any]] = []
        self._added: list[list[Any]] = []
        self._removed: list[list[Any]] = []
        self._was: list[list[Any]] = []
        self._added_tensors: dict[str, list[list[Any]]] = {"added_inputs": [], "added_outputs": [], "added_states": []}

    def renamed(self, version: int, before: str, now: str) -> None:
        """Since this version the parameter `before` is called `now`."""
        self._renamed.append([version, before, now])

    def added(self, version: int, param: str) -> Change:
        """This parameter exists since this version; older files get its default, or what .was() says."""
        self._added.append([version, param])
        return Change(lambda value: self._was.append([param, value]))

    def removed(self, version: int, param: str) -> Change:
        """This parameter exists no more since this version. Older files load with any value of it, or with that of .was() alone."""
        self._removed.append([version, param])
        return Change(self._removed[-1].append)

    def added_input(self, version: int, input: str) -> None:
        """This optional input exists since this version, after those of older ones; older files do not connect it."""
        self._added_tensors["added_inputs"].append([version, input])

    def added_output(self, version: int, output: str) -> None:
        """This output exists since this version, after those of older ones."""
        self._added_tensors["added_outputs"].append([version, output])

    def added_state(self, version: int, state: str) -> None:
        """This state exists since this version, after those of older ones; in older files it has its first value."""
        self._added_tensors["added_states"].append([version, state])
