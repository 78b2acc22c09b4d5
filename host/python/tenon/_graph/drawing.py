"""Pictures for notebooks, drawn by the host or, if installed, by graphviz."""

from __future__ import annotations

import shutil
import subprocess
from html import escape
from typing import TYPE_CHECKING, Any

from .. import _core
from .._errors import UsageError

if TYPE_CHECKING:
    from .graph import Graph

MAX_NODES = 2000  # nodes, which graphviz draws in seconds


def svg_of_dot(dot: str) -> str:
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "drawing a graph needs graphviz's program 'dot', which is not installed",
            "install graphviz, or use Graph.dot()",
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot.encode(), capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"graphviz cannot draw the graph: {error}") from None
    if done.returncode != 0:
        raise UsageError(
            f"graphviz cannot draw the graph: {done.stderr.decode(errors='replace').strip()}"
        )
    text = done.stdout.decode()
    return text[text.index("<svg") :]


def graph_bundle(graph: Graph) -> dict[str, str]:
    bundle = {"text/plain": repr(graph)}
    if len(graph.nodes) <= MAX_NODES:
        try:
            return {**bundle, "image/svg+xml": graph.svg()}
        except UsageError:  # graphviz is missing or fails
            pass
    return {**bundle, "text/html": graph_table(graph)}


def graph_table(graph: Graph) -> str:
    rows = "".join(
        f"<tr><td>{escape(node['name'])}</td><td>{escape(node['op'])}</td>"
        f"<td>{escape(', '.join(node['inputs']))}</td></tr>"
        for node in graph.nodes[:MAX_NODES]
    )
    return f"<table><tr><th>node</th><th>operator</th><th>inputs</th></tr>{rows}</table>"


class Plan:
    """The steps of a run and the memory layout of its values. Prints a line per step; notebooks
    show the memory as a picture.
    """

    def __init__(self, plan: _core.Plan) -> None:
        self._core = plan

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps in execution order, as dicts: node, op, device, variant, workspace, nodes,
        outputs and algorithm.

        algorithm: what the kernel chose and why, such as `FMA by AVX-512: a processor with
        AVX-512`; empty if the kernel has no choice or does not report it.
        """
        return self._core.steps

    @property
    def bytes(self) -> int:
        """Bytes needed besides inputs, variables and outputs."""
        return self._core.bytes

    def memory(self) -> str:
        """A table of the memory layout."""
        return self._core.memory()

    def svg(self) -> str:
        """The memory over the steps, as SVG."""
        return self._core.svg()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.svg()}

    def __repr__(self) -> str:
        return repr(self._core)
