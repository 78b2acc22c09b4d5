"""Finds arrays of a kernel call that are still referenced when the call ends, so that they get
memory of their own. Runs after an error.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from types import CellType, TracebackType
from typing import Any

import numpy as np

from .._define.decorator import Call

Array = np.ndarray[Any, Any]


class _Search:
    """Counts the references to arrays that it comes across, and collects the arrays that share
    their memory.
    """

    def __init__(self, arrays: Sequence[Array], enters: Callable[[Any], bool]) -> None:
        """enters: whether to look into an object that is not an array."""
        self._enters = enters
        self._views: dict[int, dict[int, Array]] = {id(array): {} for array in arrays}
        self._counts = dict.fromkeys(self._views, 0)

    def look(self, holder: Any, depth: int) -> None:
        for one in gc.get_referents(holder):
            if isinstance(one, np.ndarray):
                self._note(one)
            elif depth and self._enters(one):
                self.look(one, depth - 1)

    def _note(self, array: Array) -> None:
        if id(array) in self._counts:
            self._counts[id(array)] += 1
        if id(array.base) in self._views and id(array) not in self._views[id(array.base)]:
            self._views[id(array.base)][id(array)] = array
            self._counts[id(array.base)] += 1

    @property
    def counts(self) -> list[int]:
        return list(self._counts.values())

    @property
    def views(self) -> list[list[Array]]:
        return [list(each.values()) for each in self._views.values()]


def _entered_once() -> Callable[[Any], bool]:
    """Containers, and calls; each one once, so that no reference counts twice."""
    entered: set[int] = set()

    def enters(one: Any) -> bool:
        if id(one) in entered or not (
            type(one) in (tuple, list, dict, CellType) or isinstance(one, Call)
        ):
            return False
        entered.add(id(one))
        return True

    return enters


def _is_untracked(one: Any) -> bool:
    return isinstance(one, tuple | list | dict) and not gc.is_tracked(one)


def views_of(
    arrays: list[Array], references: list[int], trace: TracebackType | None
) -> list[list[Array]]:
    """For each array, the arrays that share its memory, such as slices, as far as the garbage
    collector tracks their holders.

    references: the number of references to each array by others than the host.
    trace: of the error. If its frames have all of the references, nothing else is searched: a
        search of all objects takes a millisecond for each 500 of them.
    """
    search = _Search(arrays, _entered_once())
    while trace is not None:
        search.look(trace.tb_frame, 4)
        trace = trace.tb_next
    if search.counts != references:
        search = _Search(arrays, _is_untracked)
        for holder in gc.get_objects():
            search.look(holder, 3)
    return search.views
