"""Finds arrays of a kernel call that are still referenced when the call ends, so that they get
memory of their own. Runs after an error.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np


def views_of(arrays: list[np.ndarray[Any, Any]]) -> list[list[np.ndarray[Any, Any]]]:
    """For each array, the arrays that share its memory, such as slices, as far as the garbage
    collector tracks their holders.
    """
    views: dict[int, dict[int, np.ndarray[Any, Any]]] = {id(array): {} for array in arrays}

    def look(holder: Any, depth: int) -> None:
        for one in gc.get_referents(holder):
            if isinstance(one, np.ndarray):
                if id(one.base) in views:
                    views[id(one.base)][id(one)] = one
            elif depth and isinstance(one, tuple | list | dict) and not gc.is_tracked(one):
                look(one, depth - 1)

    for holder in gc.get_objects():
        look(holder, 3)
    return [list(views[id(array)].values()) for array in arrays]
