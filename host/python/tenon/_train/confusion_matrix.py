"""Confusion matrices: how often examples of each class were predicted as each class."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from .. import _core
from .._arrays.kinds import to_tensor
from .._errors import UsageError


class Confusion:
    """A confusion matrix. Prints as a table; notebooks show a picture.

    counts: integers [classes, classes], a row for each true class, a column for each predicted
    class.
    names: of the classes.
    """

    def __init__(self, counts: Any, names: Sequence[str] = ()) -> None:
        self.counts = np.asarray(counts)
        self.names = tuple(names)

    @property
    def accuracy(self) -> float:
        """The share of correct predictions; nan if there are no examples."""
        total = int(self.counts.sum())
        return int(np.trace(self.counts)) / total if total else float("nan")

    def svg(self) -> str:
        return str(_core.draw_confusion(self.counts, list(self.names)))

    def _repr_html_(self) -> str:
        return f"<div>{self.svg()}<p>{escape(self._summary())}</p></div>"

    def _summary(self) -> str:
        correct, total = int(np.trace(self.counts)), int(self.counts.sum())
        return f"{correct} of {total} correct, {100 * self.accuracy:.2f} %"

    def __repr__(self) -> str:
        names = self.names or tuple(map(str, range(len(self.counts))))
        width = max(len(text) for text in (*names, str(self.counts.max(initial=0)))) + 2
        rows = [("", *names), *((name, *map(str, row)) for name, row in zip(names, self.counts))]
        return (
            "\n".join("".join(cell.rjust(width) for cell in row) for row in rows)
            + "\n"
            + self._summary()
        )


def confusion(labels: Any, scores: Any, *, names: Sequence[str] = ()) -> Confusion:
    """How often examples of each class got the highest score for each class. The first of equal
    scores counts.

    labels: integers [examples].
    scores: floating [examples, classes], or the predicted classes, integers [examples].

    Raises UsageError for other arrays, and for labels that are not a class.
    """
    labels, scores = to_tensor(labels), to_tensor(scores)
    if len(scores.shape) == 1:
        scores = _scores_of(scores, labels, len(names))
    return Confusion(_core.confusion(scores, labels).numpy(), names)


def _scores_of(predicted: Any, labels: Any, classes: int) -> Any:
    """Scores of 1 for the predicted class and 0 for the others."""
    predicted, labels = predicted.to("cpu").numpy(), labels.to("cpu").numpy()
    if predicted.dtype.kind not in "iu" or labels.dtype.kind not in "iu":
        raise UsageError(
            f"confusion needs integers as predicted classes and labels, not {predicted.dtype} and "
            f"{labels.dtype}"
        )
    if predicted.size and int(predicted.min()) < 0:
        raise UsageError(
            f"predicted class {int(predicted.min())} is not a class: classes start at 0"
        )
    classes = classes or 1 + max(int(predicted.max(initial=0)), int(labels.max(initial=0)))
    if predicted.size and int(predicted.max()) >= classes:
        raise UsageError(
            f"predicted class {int(predicted.max())} is not a class: there are {classes} names"
        )
    return to_tensor(np.eye(classes, dtype=np.float32)[predicted])
