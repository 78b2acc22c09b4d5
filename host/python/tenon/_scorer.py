"""Graphs in the workers of data engines."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _arrow, _core
from ._errors import FileError, UsageError, plain_type_errors
from ._graph import Graph, load
from ._host import Host, path_text
from ._session import ByName, Session, by_own_names


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            digest = hashlib.sha256()
            while part := file.read(1 << 20):
                digest.update(part)
            return digest.hexdigest()
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from None


def _threads() -> int:
    """As many as the process may use; engines that run many workers say so by OMP_NUM_THREADS."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdigit() else 0


class _Loaded:
    """A graph in this process, and a session of it for each thread. inputs: those that the outputs need, with their sizes by the row."""

    def __init__(self, graph: Graph, outputs: Sequence[str], make: Callable[[Graph], Session]) -> None:
        self._graph, self._make, self._own = graph, make, threading.local()
        needed = graph._core.needed_inputs(list(outputs))
        self.inputs: ByName[Any] = ByName((each["name"], each["shape"]) for each in needed)
        self.inputs._changed = graph._core.changed_names()

    @property
    def session(self) -> Session:
        if not hasattr(self._own, "session"):
            with _lock:  # a graph is for one thread at a time
                self._own.session = self._make(self._graph)
        return self._own.session  # type: ignore[no-any-return]


_lock = threading.Lock()
_loaded: dict[Any, _Loaded] = {}  # the key has the process: threads of a host do not survive a fork


@plain_type_errors
class Scorer:
    """A graph as a function of batches: `Scorer("net.tenon")(batch)["scores"]`. For the workers of Ray, Dask, Spark and DataFusion.

    graph: a .tenon, graph.json or .onnx file, or a pack. trust: the pack's hash, "sha256:...", as `tenon pack` printed it; without it, only
    a pack is opened that `tenon trust add` put on the list of who makes the scorer. plugins: files of plugins that it needs besides the installed ones. outputs: which are
    computed; default: all. keep: columns of a batch that the result has, too; in batches() of any type. threads: default: those that the
    process may use, or OMP_NUM_THREADS. More options are those of Session.

    A scorer is sent to other processes as its paths and the hashes of what they hold, and loads the graph once in each, at the first call;
    FileError if a file there holds something else. Threads: any; each has a session of its own.
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
            raise UsageError(f"trust= is for packs, and {paths[0]} is none")
        self._files = tuple((path, _digest(path)) for path in paths)
        self._outputs = (outputs,) if isinstance(outputs, str) else None if outputs is None else tuple(outputs)
        self._keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self._threads = threads
        self._options = options

    def __repr__(self) -> str:
        return f"<tenon.Scorer of {self._files[0][0]}>"

    def __call__(self, batch: Any) -> dict[str, Any]:
        """Outputs by name, for a dict of arrays or an Arrow record batch. Columns that are no input are left alone.

        Arrays are read where they lie, read-only ones too. Raises UsageError for an input that the batch lacks.
        """
        arrow = _arrow.is_arrow(batch)
        if not arrow and not isinstance(batch, Mapping):
            raise TypeError(
                f"Scorer(): a batch is a dict of arrays or an Arrow record batch, not {type(batch).__name__}"
            )
        kept = _arrow.columns(batch, set(self._keep)) if arrow else batch
        return {**{name: _column(kept, name) for name in self._keep}, **self._score(batch)}

    def _score(self, batch: Any) -> dict[str, Any]:
        loaded = self._loaded()
        if _arrow.is_arrow(batch):
            batch = {
                name: _as_input(array, loaded.inputs[name])
                for name, array in _arrow.columns(batch, loaded.inputs).items()
            }
        batch = by_own_names(loaded.inputs, batch, loaded.inputs._changed)
        scored: dict[str, Any] = loaded.session.run(
            {name: _column(batch, name) for name in loaded.inputs}, outputs=self._outputs
        )
        return scored

    def columns(self, *columns: Any) -> Any:
        """The graph's only output for its inputs in their order: for dask.array.map_blocks, and, of Arrow's arrays, for DataFusion's udf."""
        inputs = self._loaded().inputs
        if len(columns) != len(inputs):
            raise UsageError(f"the graph has the inputs {', '.join(inputs)}, but {len(columns)} columns are given")
        if not columns or not _arrow.is_arrow(columns[0]):
            return self._only(dict(zip(inputs, columns)))
        import pyarrow as pa

        scored = self._only(pa.record_batch(list(columns), names=list(inputs)))
        return _to_arrow(scored)

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """A record batch of pyarrow for each of these, as Spark's mapInArrow wants it: rows of several numbers are lists."""
        import pyarrow as pa

        for batch in batches:
            scored = self._score(batch)
            kept = [batch.column(name) for name in self._keep]
            yield pa.record_batch([*kept, *map(_to_arrow, scored.values())], names=[*self._keep, *scored])

    def _only(self, batch: Any) -> Any:
        scored = self._score(batch)
        if len(scored) != 1:
            raise UsageError(
                f"the graph has the outputs {', '.join(scored)}: Scorer(..., outputs=) says which one is meant"
            )
        return next(iter(scored.values()))

    def _loaded(self) -> _Loaded:
        key = os.getpid(), self._files, self._outputs, self._threads, tuple(sorted(self._options.items()))
        found = _loaded.get(key)
        if found is None:
            with _lock:
                found = _loaded.get(key) or _loaded.setdefault(key, self._load())
        return found

    def _load(self) -> _Loaded:
        for path, digest in self._files:
            if _digest(path) != digest:
                raise FileError(f"'{path}' is not the file that the scorer was made with: it has other bytes here")
        host = Host(threads=_threads() if self._threads is None else self._threads)
        host.add_installed()
        for path, _ in self._files[1:]:
            host.add_plugins(path)
        path, digest = self._files[0]
        graph = load(path, host=host, trust=digest) if self._packed else load(path, host=host)
        return _Loaded(graph, self._outputs or (), lambda graph: Session(graph, **self._options))


def _as_input(array: np.ndarray[Any, Any], shape: Sequence[int | None] | None) -> np.ndarray[Any, Any]:
    """Arrow does not tell how long the lists of no rows are."""
    if len(array) or not shape or array.ndim != len(shape) or None in shape[1:]:
        return array
    return array.reshape(0, *shape[1:])


def _column(batch: Mapping[str, Any], name: str) -> Any:
    if name not in batch:
        raise UsageError(f"the batch has no column '{name}'; it has {', '.join(map(str, batch)) or 'none'}")
    return batch[name]


def _to_arrow(array: Any) -> Any:
    import pyarrow as pa

    rows = np.ascontiguousarray(array)
    made = pa.array(rows.reshape(-1))
    for axis in reversed(range(1, rows.ndim)):  # lists, since Spark has none of a fixed size
        starts = np.arange(math.prod(rows.shape[:axis]) + 1, dtype=np.int64) * rows.shape[axis]
        made = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), made)
    return made
