"""Scoring batches with a graph in the workers of data engines."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._call_cache import exact
from .._errors import FileError, UsageError, listed, plain_type_errors
from .._graph.graph import Graph, load
from .._graph.names import ByName, by_graph_names
from .._graph.session import Session
from .._host.host import Host, path_text
from .arrow import columns as arrow_columns
from .arrow import is_arrow


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            digest = hashlib.sha256()
            while chunk := file.read(1 << 20):
                digest.update(chunk)
            return digest.hexdigest()
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from None


def _threads() -> int:
    """OMP_NUM_THREADS, which engines with many workers set; otherwise 0: as many threads as the
    process may use.
    """
    value = os.environ.get("OMP_NUM_THREADS", "")
    return int(value) if value.isdigit() else 0


class _Loaded:
    """A graph loaded in this process, with a session for each thread. inputs: those that the
    outputs need, with their shapes.
    """

    def __init__(
        self, graph: Graph, outputs: Sequence[str], make: Callable[[Graph], Session]
    ) -> None:
        self._graph, self._make, self._of_thread = graph, make, threading.local()
        self.used = 0  # time stamp of the last use
        needed = graph._core.needed_inputs(list(outputs))
        self.inputs: ByName[Any] = ByName((each["name"], each["shape"]) for each in needed)
        self.inputs._changed = graph._core.changed_names()

    @property
    def session(self) -> Session:
        if not hasattr(self._of_thread, "session"):
            with _lock:  # a graph is used by one thread at a time
                self._of_thread.session = self._make(self._graph)
        return self._of_thread.session  # type: ignore[no-any-return]


_lock = threading.Lock()
# the key includes the process, since threads of a host do not survive a fork
_loaded: dict[Any, _Loaded] = {}
_MAX_LOADED = 8  # in a process
_uses = itertools.count()


def _evict() -> None:
    """Drops the least recently used graphs, but none of the process that this one was forked from:
    a host waits for its threads. To be called with the lock held.
    """
    own = [key for key in _loaded if key[0] == os.getpid()]
    own.sort(key=lambda key: _loaded[key].used)
    for key in own[:-_MAX_LOADED]:
        del _loaded[key]


@plain_type_errors
class Scorer:
    """A graph as a function of batches, `Scorer("net.tenon")(batch)["scores"]`, for the workers of
    Ray, Dask, Spark and DataFusion.

    graph: a .tenon, graph.json or .onnx file, or a pack.
    trust: the pack's hash, "sha256:...", as printed by `tenon pack`. Without it, the pack must be
        on the list (`tenon trust add`) of the user who creates the scorer.
    plugins: plugin files that the graph needs besides the installed ones.
    outputs: the outputs to compute; default: all.
    keep: columns of a batch to copy to the result; batches() keeps columns of any type.
    threads: default: OMP_NUM_THREADS, or as many as the process may use.

    Further options are those of Session.

    A scorer is pickled as its paths and the hashes of their files. Each process loads the graph
    once, at the first call, and raises FileError if a file there has other content. It keeps the 8
    graphs that were used last. Threads: any; each has its own session.
    """

    def __init__(
        self,
        graph: str | os.PathLike[str],
        *,
        trust: str | None = None,
        plugins: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        outputs: Sequence[str] | str | None = None,
        keep: Sequence[str] | str = (),
        threads: int | None = None,
        **options: Any,
    ) -> None:
        files = [plugins] if isinstance(plugins, str | os.PathLike) else list(plugins)
        paths = [os.path.abspath(path_text(path)) for path in (graph, *files)]
        self._packed = _core.is_pack(paths[0])
        if self._packed:
            _core.trusted_pack(paths[0], trust or "")
        elif trust is not None:
            raise UsageError(f"trust= is for packs only, and {paths[0]} is not a pack")
        self._files = tuple((path, _digest(path)) for path in paths)
        self._outputs = (
            (outputs,) if isinstance(outputs, str) else None if outputs is None else tuple(outputs)
        )
        self._keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self._threads = threads
        self._options = options

    def __repr__(self) -> str:
        return f"<tenon.Scorer of {self._files[0][0]}>"

    def __call__(self, batch: Any) -> dict[str, Any]:
        """Returns outputs by name for a dict of arrays or an Arrow record batch. Columns that are
        not inputs are ignored.

        Arrays are read in place, including read-only ones. Raises UsageError if the batch lacks an
        input.
        """
        arrow = is_arrow(batch)
        if not arrow and not isinstance(batch, Mapping):
            raise TypeError(
                "Scorer(): a batch must be a dict of arrays or an Arrow record batch, not "
                f"{type(batch).__name__}"
            )
        columns = arrow_columns(batch, set(self._keep)) if arrow else batch
        return {**{name: _column(columns, name) for name in self._keep}, **self._score(batch)}

    def _score(self, batch: Any) -> dict[str, Any]:
        loaded = self._loaded()
        if is_arrow(batch):
            batch = {
                name: _as_input(array, loaded.inputs[name])
                for name, array in arrow_columns(batch, loaded.inputs).items()
            }
        batch = by_graph_names(loaded.inputs, batch, loaded.inputs._changed)
        scored: dict[str, Any] = loaded.session.run(
            {name: _column(batch, name) for name in loaded.inputs}, outputs=self._outputs
        )
        return scored

    def columns(self, *columns: Any) -> Any:
        """The graph's only output for its inputs in order: for dask.array.map_blocks and, with
        Arrow arrays, for DataFusion's udf.
        """
        inputs = self._loaded().inputs
        if len(columns) != len(inputs):
            raise UsageError(
                f"the graph has the inputs {listed(inputs)}, but got {len(columns)} columns"
            )
        if not columns or not is_arrow(columns[0]):
            return self._only(dict(zip(inputs, columns)))
        import pyarrow as pa

        scored = self._only(pa.record_batch(list(columns), names=list(inputs)))
        return _to_arrow(scored)

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """A pyarrow record batch for each of these, as Spark's mapInArrow requires. Rows of several
        numbers become lists.
        """
        import pyarrow as pa

        for batch in batches:
            scored = self._score(batch)
            copied = [batch.column(name) for name in self._keep]
            yield pa.record_batch(
                [*copied, *map(_to_arrow, scored.values())], names=[*self._keep, *scored]
            )

    def _only(self, batch: Any) -> Any:
        scored = self._score(batch)
        if len(scored) != 1:
            raise UsageError(
                f"the graph has the outputs {listed(scored)}; select one with Scorer(..., outputs=)"
            )
        return next(iter(scored.values()))

    def _loaded(self) -> _Loaded:
        options = tuple((name, exact(value)) for name, value in sorted(self._options.items()))
        key = os.getpid(), self._files, self._outputs, exact(self._threads), options
        found = _loaded.get(key)
        if found is None:
            with _lock:
                found = _loaded.get(key) or self._load()
                found.used = next(_uses)
                _loaded[key] = found
                _evict()
        found.used = next(_uses)
        return found

    def _load(self) -> _Loaded:
        for path, digest in self._files:
            if _digest(path) != digest:
                raise FileError(
                    f"'{path}' is not the file that the scorer was created with: its content "
                    "differs here"
                )
        host = Host(threads=_threads() if self._threads is None else self._threads)
        host.add_installed()
        for path, _ in self._files[1:]:
            host.add_plugins(path)
        path, digest = self._files[0]
        graph = load(path, host=host, trust=digest) if self._packed else load(path, host=host)
        return _Loaded(graph, self._outputs or (), lambda graph: Session(graph, **self._options))


def _as_input(
    array: np.ndarray[Any, Any], shape: Sequence[int | None] | None
) -> np.ndarray[Any, Any]:
    """Restores the length of lists in a column without rows, which Arrow does not record."""
    if len(array) or not shape or array.ndim != len(shape) or None in shape[1:]:
        return array
    return array.reshape(0, *shape[1:])


def _column(batch: Mapping[str, Any], name: str) -> Any:
    if name not in batch:
        raise UsageError(f"the batch has no column '{name}'; it has {listed([*map(str, batch)])}")
    return batch[name]


def _to_arrow(array: Any) -> Any:
    import pyarrow as pa

    rows = np.ascontiguousarray(array)
    made = pa.array(rows.reshape(-1))
    for axis in reversed(range(1, rows.ndim)):  # nested lists, since Spark has no fixed-size ones
        starts = np.arange(math.prod(rows.shape[:axis]) + 1, dtype=np.int64) * rows.shape[axis]
        made = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), made)
    return made
