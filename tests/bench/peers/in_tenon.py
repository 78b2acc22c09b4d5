"""The networks in Tenon: inference by Session, training by Trainer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import tenon

import graph_json
from networks import Array, Network


def _graph(net: Network, threads: int, training: bool) -> Any:
    host = tenon.Host(threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        path = graph_json.write(net, Path(folder), training)
        return tenon.from_json(path.read_text(), folder=folder, host=host)


def inference(net: Network, threads: int, precision: str) -> Callable[[], Array]:
    session = _graph(net, threads, False).session(precision=precision)
    inputs = dict(net.inputs)
    return lambda: session.run(inputs)["output"]  # type: ignore[no-any-return]


def training(net: Network, threads: int, precision: str) -> Callable[[], float]:
    data = {**net.inputs, "target": net.target}
    graph = _graph(net, threads, True)
    batch = next(iter(net.inputs.values())).shape[0]
    trainer = tenon.Trainer(
        graph, data, optimizer="adam", learning_rate=1e-3, batch=batch, precision=precision
    )
    tensors = {name: tenon.tensor(value) for name, value in data.items()}
    return lambda: trainer.step(tensors).loss


def version() -> str:
    try:
        return f"tenon {metadata.version('tenon')}"
    except metadata.PackageNotFoundError:
        return f"tenon of {Path(tenon.__file__).parent.parent}"
