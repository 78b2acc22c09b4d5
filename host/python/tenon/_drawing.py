"""Pictures for notebooks: the host's drawings, and graphviz's where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from html import escape
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import UsageError

if TYPE_CHECKING:
    from ._graph import Graph

LARGEST = 2000  # nodes: what graphviz draws in seconds


def svg_of_dot(dot: str) -> str:
    program = shutil.which("dot")
    if program is None:
        raise UsageError(
            "graphs are drawn by graphviz's program 'dot', which is not installed",
            "install graphviz, or use Graph.dot()",
        )
    try:
        done = subprocess.run([program, "-Tsvg"], input=dot.encode(), capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"graphviz cannot draw the graph: {error}") from None
    if done.returncode != 0:
        raise UsageError(f"graphviz cannot draw the graph: {done.stderr.decode(errors='replace').strip()}")
    text = done.stdout.decode()
    return text[text.index("<svg") :]


def graph_bundle(graph: Graph) -> dict[str, str]:
    bundle = {"text/plain": repr(graph)}
    if len(graph.nodes) <= LARGEST:
        try:
            return {**bundle, "image/svg+xml": graph.svg()}
        except UsageError:  # no graphviz, or one that fails
            pass
    return {**bundle, "text/html": graph_table(graph)}


def graph_table(graph: Graph) -> str:
    rows = "".join(
        f"<tr><td>{escape(node['name'])}</td><td>{escape(node['op'])}</td><td>{escape(', '.join(node['inputs']))}</td></tr>"
        for node in graph.nodes[:LARGEST]
    )
    return f"<table><tr><th>node</th><th>operator</th><th>inputs</th></tr>{rows}</table>"


class Plan:
    """What a run does, in order, and where its values lie. As text a line for each step; in notebooks the memory as a picture."""

    def __init__(self, plan: _core.Plan) -> None:
        self._core = plan

    @property
    def steps(self) -> list[dict[str, Any]]:
        """In order, each with its node, op, device, variant, workspace, nodes, outputs, and the algorithm that its kernel chose and why, such as
        `FMA by AVX-512: a processor with AVX-512`; empty if the kernel has no choice or does not tell it."""
        return self._core.steps

    @property
    def bytes(self) -> int:
        """What it needs besides inputs, variables and outputs."""
        return self._core.bytes

    def memory(self) -> str:
        """A table of what lies in memory."""
        return self._core.memory()

    def svg(self) -> str:
        """Memory over the steps."""
        return self._core.svg()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "image/svg+xml": self.svg()}

    def __repr__(self) -> str:
        return repr(self._core)
