"""The declarations of describe(op) for changes since older versions of an operator, so that their
graphs still load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Change:
    """The result of op.added() and op.removed()."""

    def __init__(self, record: Callable[[Any], None]) -> None:
        self._record = record

    def was(self, value: Any) -> None:
        """For an added parameter: its value in older files. For a removed one: the value whose
        behaviour the operator now has; older files with another value are rejected.
        """
        self._record(value)


class Versions:
    """The declarations of describe(op) about versions."""

    def __init__(self) -> None:
        self._renamed: list[list[Any]] = []
        self._added: list[list[Any]] = []
        self._removed: list[list[Any]] = []
        self._was: list[list[Any]] = []
        self._added_tensors: dict[str, list[list[Any]]] = {
            "added_inputs": [],
            "added_outputs": [],
            "added_states": [],
        }

    def renamed(self, version: int, before: str, now: str) -> None:
        """The parameter `before` is called `now` since this version."""
        self._renamed.append([version, before, now])

    def added(self, version: int, param: str) -> Change:
        """The parameter exists since this version. Older files get its default, or the value of
        .was().
        """
        self._added.append([version, param])
        return Change(lambda value: self._was.append([param, value]))

    def removed(self, version: int, param: str) -> Change:
        """The parameter no longer exists since this version. Older files load with any value of it,
        or only with that of .was().
        """
        self._removed.append([version, param])
        return Change(self._removed[-1].append)

    def added_input(self, version: int, input: str) -> None:
        """The optional input exists since this version, after the older inputs. Older files do not
        connect it.
        """
        self._added_tensors["added_inputs"].append([version, input])

    def added_output(self, version: int, output: str) -> None:
        """The output exists since this version, after the older outputs."""
        self._added_tensors["added_outputs"].append([version, output])

    def added_state(self, version: int, state: str) -> None:
        """The state exists since this version, after the older states. In older files it has its
        initial value.
        """
        self._added_tensors["added_states"].append([version, state])
