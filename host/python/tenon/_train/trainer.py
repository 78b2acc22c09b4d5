"""Trainers: training step by step, and loss and accuracy on other examples."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

from .. import _core
from .._arrays.dtypes import FLOATING
from .._arrays.kinds import to_tensor
from .._errors import Error, FileError, UsageError, Warning, listed, warn
from .._graph.graph import Graph, Value
from .._graph.names import by_graph_names, name_in_graph

Examples = Mapping[str, Any] | Sequence[Any]
Accuracy = tuple[str | Value, str | Value]
Path = str | os.PathLike[str]


class Report(NamedTuple):
    """The result of one training step. loss and accuracy are of its examples, before the update."""

    step: int
    """The first is 1."""
    epoch: int
    """The first is 0."""
    loss: float
    accuracy: float | None
    """The share of correct predictions, if accuracy= names scores and labels."""
    examples: int
    learning_rate: float


class Metrics(NamedTuple):
    """Means over the examples."""

    loss: float | None
    accuracy: float | None


class Trainer:
    """Trains a copy of a graph: `for report in trainer` takes the remaining steps of `epochs`,
    step() takes one.

    data: an array for each input, by name or in the order of the inputs. Their first axis counts
        the examples. They are not copied and must not change.
    loss: a value or output that is one floating number, the mean over a batch; default: the output
        `loss`, or the only output that qualifies.
    accuracy: (scores, label), values or their names: floating [examples, classes], and an integer
        input [examples].
    optimizer: an operator. Further keywords are its parameters, such as weight_decay=0.1.
    learning_rate: the rate after a warm-up over `warm_up` steps.
    schedule: "constant"; "step": times `decay` every `decay_every` steps; "cosine": down to
        `end_rate` over `total_steps`, by default those of all epochs.
    batch: examples in a batch.
    accumulate: batches of a micro-batch, whose gradients are averaged.
    micro_batches: micro-batches of a step, which has micro_batches * accumulate batches. Each adds
        the gradients of its batches in order, and a balanced tree adds the micro-batches; every one
        begins with the same states, and floating states are averaged in the end.
    lanes: deprecated name of micro_batches, until 0.4.
    distributed: the processes started by mpirun or srun train as one: each computes some of the
        micro-batches, and all end with the bits that one process would have. All make the same
        calls; rank and processes identify them, so that only one saves.
    comm_timeout: seconds that a process waits for another one.
    check_replicas: steps after which the processes' variables are compared; 0: never.
    clip_norm: the maximum norm of all gradients together; 0: no limit.
    memory_budget: bytes for the values of a batch; what does not fit is recomputed; 0: no limit.
    seed: of initial values, of the order of examples and of random operators.
    device: "cpu", "cuda", "cuda:1".
    capture: use CUDA graphs.
    precision: as in tenon.Session; variables keep their dtype.
    checkpoint: a path written when a `with` block of the trainer ends by an exception, including
        Ctrl-C.

    The same graph, data, options and seed give the same bits as `tenon train`, on any number of
    threads, whether or not the training was stopped and resumed. Ctrl-C lets the current step
    finish. A step that fails raises ExecutionError and changes nothing; the next one may be taken.
    Threads: one at a time; a concurrent call gets a UsageError, as does any call after close().
    """

    def __init__(
        self,
        graph: Graph,
        data: Examples,
        *,
        loss: str | Value | None = None,
        accuracy: Accuracy | None = None,
        optimizer: str = "adam",
        learning_rate: float = 1e-3,
        schedule: str = "constant",
        warm_up: int = 0,
        decay_every: int = 1000,
        decay: float = 0.1,
        end_rate: float = 0.0,
        total_steps: int = 0,
        epochs: int = 10,
        batch: int = 64,
        accumulate: int = 1,
        micro_batches: int = 1,
        distributed: bool = False,
        comm_timeout: float = 300.0,
        check_replicas: int = 100,
        clip_norm: float = 0.0,
        memory_budget: int = 0,
        shuffle: bool = True,
        seed: int = 0,
        device: str = "",
        capture: bool = True,
        precision: str = "float32",
        checkpoint: Path | None = None,
        lanes: int | None = None,
        **parameters: Any,
    ) -> None:
        if lanes is not None:
            warn("lanes= is deprecated: use micro_batches=; until 0.4", DeprecationWarning)
            micro_batches = lanes
        self.epochs = whole("epochs", epochs)
        self.loss = loss_of(graph, loss)
        self.scores, self.label = accuracy_of(accuracy)
        self.checkpoint = checked_path(checkpoint)
        self._host = graph.host
        self._inputs, self._changed = tuple(graph.inputs), graph._core.changed_names()
        self.label = name_in_graph(self._inputs, self.label, self._changed) or self.label
        self._core = _core.Trainer(
            graph._core,
            named_tensors(self._inputs, data, self._changed),
            loss=self.loss,
            optimizer=optimizer,
            parameters=parameters,
            schedule=schedule,
            learning_rate=real("learning_rate", learning_rate),
            warm_up=whole("warm_up", warm_up),
            decay_every=whole("decay_every", decay_every),
            decay=real("decay", decay),
            end_rate=real("end_rate", end_rate),
            total_steps=whole("total_steps", total_steps),
            epochs=self.epochs,
            batch=whole("batch", batch),
            accumulate=whole("accumulate", accumulate),
            micro_batches=whole("micro_batches", micro_batches),
            distributed=bool(distributed),
            comm_timeout=real("comm_timeout", comm_timeout),
            check_replicas=whole("check_replicas", check_replicas),
            clip_norm=real("clip_norm", clip_norm),
            memory_budget=whole("memory_budget", memory_budget),
            shuffle=bool(shuffle),
            seed=whole("seed", seed),
            scores=self.scores,
            label=self.label,
            device=device,
            capture=bool(capture),
            precision=precision,
        )
        self._first_step = 0

    def step(self, batch: Examples | None = None) -> Report:
        """One update of the variables, from the trainer's next examples or from a batch of your own
        of any size.

        A batch of your own is one batch: batch=, accumulate=, micro_batches= and memory_budget= do
        not split it, and the position in the trainer's data does not change. If every step brings
        its own batch, one example is enough as the trainer's data.
        """
        if batch is None:
            return Report(*self._core.step())
        return Report(*self._core.step_with(named_tensors(self._inputs, batch, self._changed)))

    def __iter__(self) -> Iterator[Report]:
        while self.epoch < self.epochs:
            yield self.step()

    def evaluate(self, data: Examples) -> Metrics:
        """Loss and accuracy on other examples. The graph runs as outside of training."""
        return Metrics(*self._core.evaluate(named_tensors(self._inputs, data, self._changed)))

    def graph(self) -> Graph:
        """The trained graph, with copies of its current variables and states."""
        return Graph(self._host, _handle=self._core.graph())

    def save_checkpoint(self, path: Path | None = None) -> None:
        """Writes a .tenon file atomically, from which resume() continues. path: default: that of
        checkpoint=.
        """
        target = checked_path(path) or self.checkpoint
        if target is None:
            raise UsageError("save_checkpoint() needs a path, since the trainer has no checkpoint=")
        self._core.save_checkpoint(target)

    def resume(self, path: Path | None = None) -> None:
        """Continues from a checkpoint of the same graph, data, optimizer and seed. path: default:
        that of checkpoint=.

        Raises FileError for another graph's checkpoint, UsageError for another optimizer or seed.
        Other options that differ cause warnings.
        """
        source = self.checkpoint if path is None else os.fspath(path)
        if source is None:
            raise UsageError("resume() needs a path, since the trainer has no checkpoint=")
        self._core.resume(source)
        self._first_step = self.steps

    @property
    def rank(self) -> int:
        """The index of this process among those that train together; 0 if it trains by itself."""
        return int(self._core.rank)

    @property
    def processes(self) -> int:
        """The number of processes that train together."""
        return int(self._core.processes)

    @property
    def steps(self) -> int:
        """The number of steps taken so far."""
        return int(self._core.steps)

    @property
    def epoch(self) -> int:
        """The epoch of the next step; the first is 0."""
        return int(self._core.epoch)

    @property
    def position(self) -> int:
        """The number of examples of that epoch that were used."""
        return int(self._core.position)

    @property
    def examples(self) -> int:
        """The number of examples in an epoch."""
        return int(self._core.examples)

    @property
    def steps_per_epoch(self) -> int:
        return int(self._core.steps_per_epoch)

    @property
    def can_be_saved(self) -> bool:
        """Always true, since a step that fails changes nothing. For programs written for 0.1."""
        return bool(self._core.can_be_saved)

    def close(self) -> None:
        """Releases memory. The trainer cannot be used afterwards."""
        self._core.close()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is not None and self.checkpoint is not None and not self._core.closed:
                self._save_progress()
        finally:
            self.close()

    def _save_progress(self) -> None:
        if self.steps > self._first_step:
            self._try_to_save()

    def _try_to_save(self) -> None:
        """Saves the checkpoint. Only warns about a failure, since the training is worth more than
        its checkpoint.
        """
        try:
            self.save_checkpoint()
        except Error as error:
            warnings.warn(f"the checkpoint was not written: {error}", Warning, stacklevel=3)

    def __repr__(self) -> str:
        if self._core.closed:
            return "<tenon.Trainer, closed>"
        done = f"{self.steps} steps, in epoch {self.epoch} of {self.epochs}"
        return f"<tenon.Trainer of '{self.loss}': {done}>"


def evaluate(
    graph: Graph,
    data: Examples,
    *,
    loss: str | Value | None = None,
    accuracy: Accuracy | None = None,
    batch: int = 64,
    seed: int = 0,
    device: str = "",
) -> Metrics:
    """Loss and accuracy of a graph as it runs outside of training, batch by batch. Only what they
    need is computed.

    data, loss, accuracy: as in tenon.Trainer. With accuracy=, a graph without a loss has loss None.
    """
    scores, label = accuracy_of(accuracy)
    name = find_loss(graph) if loss is None and scores else loss_of(graph, loss)
    made = _core.Evaluator(
        graph._core,
        loss=name,
        scores=scores,
        label=label,
        batch=whole("batch", batch),
        seed=whole("seed", seed),
        device=device,
    )
    _, mean, share = made.evaluate(
        named_tensors(tuple(graph.inputs), data, graph._core.changed_names())
    )
    return Metrics(mean, share)


def named_tensors(
    inputs: Sequence[str], data: Examples, changed: Mapping[str, str]
) -> dict[str, _core.Tensor]:
    """The examples by name, from a mapping or in the order of the inputs."""
    if not isinstance(data, Mapping):
        if not isinstance(data, list | tuple):
            raise TypeError(
                "examples must be a dict or a tuple of arrays, one per input, not "
                f"{type(data).__name__}"
            )
        if len(data) != len(inputs):
            raise UsageError(
                f"the graph has {len(inputs)} inputs ({listed(inputs)}), but got {len(data)} arrays"
            )
        data = dict(zip(inputs, data))
    tensors = {}
    for name, array in by_graph_names(inputs, data, changed).items():
        try:
            tensors[name] = to_tensor(array)
        except TypeError as error:
            raise TypeError(f"input '{name}': {error}") from None
    return tensors


def find_loss(graph: Graph) -> str:
    """The output `loss`, or the only floating-point output; empty if the graph has neither."""
    outputs = graph.outputs()
    if "loss" in outputs:
        return "loss"
    found = [
        name for name, value in outputs.items() if value.shape == () and value.dtype in FLOATING
    ]
    return found[0] if len(found) == 1 else ""


def loss_of(graph: Graph, value: str | Value | None) -> str:
    name = find_loss(graph) if value is None else name_of("loss", value)
    if name:
        return name
    raise UsageError(
        "the graph has no output 'loss', and not exactly one that is a floating number; "
        f"its outputs are {listed(graph.outputs())}",
        "set loss= to the value to minimize",
    )


def accuracy_of(value: Accuracy | None) -> tuple[str, str]:
    if value is None:
        return "", ""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"accuracy must be (scores, label), not {value!r}")
    return name_of("scores", value[0]), name_of("label", value[1])


def name_of(what: str, value: str | Value) -> str:
    if isinstance(value, Value):
        return value.name
    if not isinstance(value, str):
        raise TypeError(
            f"{what} must be a value of the graph or its name, not {type(value).__name__}"
        )
    return value


def checked_path(value: Path | None) -> str | None:
    """Rejects an unwritable path at once, not after an hour of training."""
    if value is None:
        return None
    path = os.fspath(value)
    folder = os.path.dirname(path) or "."
    if not path.endswith(".tenon"):
        raise UsageError(f"the checkpoint is '{path}', but must end in .tenon")
    if not os.path.isdir(folder):
        raise FileError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{path} cannot be written: no permission to write to the folder {folder}")
    return path


def whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None


def real(name: str, value: Any) -> float:
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return float(value)
