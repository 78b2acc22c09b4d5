"""tenon.train: a complete training in one call."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from .. import _core
from .._errors import FileError, UsageError, listed
from .._graph.graph import Graph
from .confusion_matrix import Confusion
from .progress import make_progress
from .trainer import Examples, Metrics, Path, Report, Trainer, named_tensors, whole

Callback = Callable[[Report], Any]


class Run:
    """The result of a training. Prints a summary; notebooks show the learning curves."""

    graph: Graph
    """The trained graph."""
    history: list[dict[str, Any]]
    """An entry for each epoch that ended here: epoch (the first is 0), step, loss, learning_rate,
    seconds and, if measured, accuracy, validation_loss and validation_accuracy. Loss and accuracy
    are means over the steps of the epoch.
    """
    stopped: str
    """Why the training ended: "epochs", "early stopping" or "callback"."""
    best: Graph | None
    """With early_stopping, the graph after the epoch with the lowest validation loss."""

    def __init__(self, validation: dict[str, Any] | None, trainer: Trainer) -> None:
        self.history = []
        self.stopped = "epochs"
        self.best = None
        self._curves = _core.LearningCurves()
        self._validation = validation
        self._scores, self._label = trainer.scores, trainer.label
        self._batch = 0

    @property
    def curves(self) -> str:
        """Loss over the epochs, with accuracy next to it, as SVG."""
        return str(self._curves.svg())

    def confusion(self, names: Sequence[str] = ()) -> Confusion:
        """The confusion matrix of the validation data. Needs validate= and accuracy=."""
        if self._validation is None or not self._scores:
            raise UsageError(
                "a confusion matrix needs validation data, scores and labels",
                "train with validate= and accuracy=",
            )
        graph = self.graph.clone()
        name = graph._free_name("scores of the table")
        graph.output(name, _value(graph, self._scores))
        needed = {each["name"] for each in graph._core.needed_inputs([name])}
        inputs = {each: tensor for each, tensor in self._validation.items() if each in needed}
        made = graph.session().run(inputs, outputs=name, batch=self._batch)[name]
        return Confusion(_core.confusion(made, self._validation[self._label]).numpy(), names)

    def _repr_html_(self) -> str:
        return f"<div>{self.curves if self.history else ''}<p>{escape(repr(self))}</p></div>"

    def __repr__(self) -> str:
        if not self.history:
            return f"<tenon.Run: no epoch ended; stopped: {self.stopped}>"
        last = self.history[-1]
        measured = ("loss", "accuracy", "validation_loss", "validation_accuracy")
        numbers = "".join(
            f", {name.replace('_', ' ')} {last[name]:.4g}" for name in measured if name in last
        )
        done = f"{last['epoch'] + 1} epochs, {last['step']} steps{numbers}"
        return f"<tenon.Run: {done}; stopped: {self.stopped}>"


def _value(graph: Graph, name: str) -> Any:
    outputs = graph.outputs()
    return outputs[name] if name in outputs else graph[name]


def train(
    graph: Graph,
    data: Examples,
    *,
    validate: Examples | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 0,
    resume: bool | Path = False,
    early_stopping: int | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    **options: Any,
) -> Run:
    """Trains a copy of a graph on examples for a number of epochs.

    options: those of tenon.Trainer, such as loss=, accuracy=, optimizer= and its parameters,
        learning_rate=, epochs=, batch=, seed=, device=. The same options give the same bits as the
        program `tenon train`.
    validate: examples that are not trained on; loss and accuracy on them are measured after each
        epoch.
    checkpoint: the path of a .tenon file, written at the end, every `checkpoint_every` steps, and
        when a step fails or Ctrl-C ends the training.
    resume: True continues from the checkpoint if there is one; a path continues from that file.
    early_stopping: ends the training after this many epochs without a new lowest validation loss; a
        resumed training starts counting again. Run.best is the graph with the lowest.
    callbacks: functions called with each step's Report. One that returns True ends the training.
    progress: show progress on stderr, as tqdm's bar if it is installed, else as a line; None: only
        in notebooks and on terminals.

    Ctrl-C lets the current step finish, saves the checkpoint if it has a path, and raises
    KeyboardInterrupt.
    """
    every = whole("checkpoint_every", checkpoint_every)
    patience = None if early_stopping is None else whole("early_stopping", early_stopping)
    _check(checkpoint, every, resume, patience, validate)
    with Trainer(graph, data, checkpoint=checkpoint, **options) as trainer:
        validation = None if validate is None else _validation(graph, validate)
        source = _resumed_from(checkpoint, resume)
        if source is not None:
            trainer.resume(source)
        run = Run(validation, trainer)
        run._batch = whole("batch", options.get("batch", 64))
        _take_steps(run, trainer, every, patience, tuple(callbacks), progress)
        if checkpoint is not None:
            trainer._try_to_save()
        run.graph = trainer.graph()
    return run


def _check(
    checkpoint: Path | None,
    every: int,
    resume: bool | Path,
    patience: int | None,
    validate: Examples | None,
) -> None:
    if every < 0:
        raise UsageError(f"checkpoint_every is {every} but must be 0 or more")
    if checkpoint is None and every > 0:
        raise UsageError(
            "checkpoint_every needs a path to write to",
            'for example checkpoint="net.checkpoint.tenon"',
        )
    if checkpoint is None and resume is True:
        raise UsageError(
            "resume=True needs the checkpoint to continue from",
            'for example checkpoint="net.checkpoint.tenon"',
        )
    if patience is not None and patience < 1:
        raise UsageError(
            f"early_stopping is {patience} but must be at least 1 epoch without a lower validation "
            "loss"
        )
    if patience is not None and validate is None:
        raise UsageError("early_stopping needs validate=: examples that are not trained on")


def _resumed_from(checkpoint: Path | None, resume: bool | Path) -> Path | None:
    if isinstance(resume, bool):
        return (
            checkpoint if resume and checkpoint is not None and os.path.exists(checkpoint) else None
        )
    if not os.path.exists(resume):
        raise FileError(f"{os.fspath(resume)}: there is no such checkpoint to resume from")
    return resume


def _validation(graph: Graph, validate: Examples) -> dict[str, Any]:
    """Checks the validation data before the first epoch, not after it."""
    inputs = graph.inputs
    tensors = named_tensors(tuple(inputs), validate, graph._core.changed_names())
    for name, tensor in tensors.items():
        if name not in inputs:
            raise UsageError(
                f"validate: the graph has no input '{name}'; its inputs are {listed(inputs)}"
            )
        if inputs[name].dtype not in (None, tensor.dtype_name):
            raise UsageError(
                f"validate: input '{name}' is {tensor.dtype_name} but the graph needs "
                f"{inputs[name].dtype}"
            )
    for name in inputs:
        if name not in tensors:
            raise UsageError(f"validate: there are no examples for input '{name}'")
    if len({tensor.shape[:1] for tensor in tensors.values()}) > 1:
        counts = listed([f"{len(tensor)} for '{name}'" for name, tensor in tensors.items()])
        raise UsageError(f"validate: the numbers of examples differ: {counts}")
    return tensors


def _take_steps(
    run: Run,
    trainer: Trainer,
    every: int,
    patience: int | None,
    callbacks: tuple[Callback, ...],
    progress: bool | None,
) -> None:
    bar = make_progress(progress, trainer.epochs * trainer.steps_per_epoch, trainer.steps)
    epoch = _Epoch()
    lowest, waited = float("inf"), 0
    try:
        for report in trainer:
            run._curves.add_step(report.epoch, report.loss, report.accuracy, report.examples)
            epoch.add(report)
            bar.step(
                f"epoch {report.epoch + 1}/{trainer.epochs}  {_text(report.loss, report.accuracy)}"
            )
            if trainer.epoch != report.epoch:
                entry = epoch.end(run, trainer, report)
                bar.epoch(_line(entry, trainer.epochs))
                epoch = _Epoch()
                if patience is not None and entry["validation_loss"] < lowest:
                    lowest, waited, run.best = entry["validation_loss"], 0, trainer.graph()
                else:
                    waited += 1
            if every > 0 and report.step % every == 0:
                trainer._try_to_save()
            if any([_is_true(callback(report)) for callback in callbacks]):
                run.stopped = "callback"
                return
            if patience is not None and waited >= patience:
                run.stopped = "early stopping"
                return
    finally:
        bar.end()


def _is_true(answer: Any) -> bool:
    return isinstance(answer, bool | np.bool_) and bool(answer)


class _Epoch:
    """The steps of one epoch that ran here."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._curves = _core.LearningCurves()

    def add(self, report: Report) -> None:
        self._curves.add_step(report.epoch, report.loss, report.accuracy, report.examples)

    def end(self, run: Run, trainer: Trainer, report: Report) -> dict[str, Any]:
        if run._validation is not None:
            measured = Metrics(*trainer._core.evaluate(run._validation))
            for curves in (self._curves, run._curves):
                assert measured.loss is not None, "a trainer has a loss"
                curves.add_validation(report.epoch, measured.loss, measured.accuracy)
        entry: dict[str, Any] = self._curves.epochs()[0]
        entry.update(
            step=report.step,
            learning_rate=report.learning_rate,
            seconds=time.perf_counter() - self._began,
        )
        run.history.append(entry)
        return entry


def _text(loss: float, accuracy: float | None) -> str:
    return f"loss {loss:.5g}" + ("" if accuracy is None else f"  accuracy {accuracy:.4f}")


def _line(entry: dict[str, Any], epochs: int) -> str:
    text = f"epoch {entry['epoch'] + 1}/{epochs}  {_text(entry['loss'], entry.get('accuracy'))}"
    if "validation_loss" in entry:
        text += "  validation " + _text(entry["validation_loss"], entry.get("validation_accuracy"))
    return text


def _signature() -> inspect.Signature:
    """The signature with Trainer's options, for completion in notebooks."""
    signature = inspect.signature(train)
    options = [
        each
        for each in list(inspect.signature(Trainer).parameters.values())[2:]
        if each.name not in signature.parameters
    ]
    named = [*list(signature.parameters.values())[:-1], *options]
    return signature.replace(parameters=named)


train.__signature__ = _signature()  # type: ignore[attr-defined]
