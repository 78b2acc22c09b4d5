"""Texts at the boundary of a session: a graph holds them as indices into lists of names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import ExecutionError, listed


class Categories:
    """The names of a categorical input or output. where: "input 'color'"."""

    def __init__(self, names: Sequence[str], dtype: str | None, where: str) -> None:
        self.names = np.array(names, dtype=object)  # an array of str pads all to the longest
        self.dtype = dtype or "int64"
        self.where = where
        self._indices = {name: index for index, name in enumerate(names)}

    def indices(self, value: Any) -> Any:
        """The indices of texts, -1 for texts that are not names; other values unchanged.

        None and NaN count as unknown texts. Raises TypeError for texts mixed with other objects.
        """
        array = _text_array(value)
        if array is None:
            return value
        found = [self._index(text) for text in array.ravel().tolist()]
        return np.array(found, dtype=self.dtype).reshape(array.shape)

    def _index(self, text: Any) -> int:
        if isinstance(text, str):
            return self._indices.get(text, -1)
        if text is None or text != text:  # NaN, as pandas has it
            return -1
        raise TypeError(f"{self.where} has the element {text!r}, which is not a str")

    def texts(self, indices: Any) -> Any:
        """The names of indices, as an array of str. Raises ExecutionError for other indices."""
        found = np.asarray(indices)
        outside = (found < 0) | (found >= len(self.names))
        if outside.any():
            raise ExecutionError(
                f"{self.where} has the index {found[outside][0]}, but it has {len(self.names)} "
                f"categories: {listed(self.names[:8].tolist())}",
                "-1 stands for a text without a category",
            )
        return self.names[found].astype(str)


def _text_array(value: Any) -> Any:
    """The value as an array of str or objects; None if it holds no texts."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "O") not in "OUT":
        return None
    if dtype is None and not isinstance(value, str | list | tuple):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "OUT":
        return None
    # numpy makes str of everything in a list that contains one
    return array if dtype is not None else np.asarray(value, dtype=object)
