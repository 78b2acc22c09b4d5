"""The tutorial runs from its first cell to its last, as in a notebook: the value at the end of a
cell is displayed.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "host" / "python" / "examples"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


def shown(value: Any) -> dict[str, str]:
    """Returns what Jupyter would show, by MIME type."""
    if hasattr(value, "_repr_mimebundle_"):
        return dict(value._repr_mimebundle_())
    html = value._repr_html_() if hasattr(value, "_repr_html_") else ""
    return {"text/plain": repr(value), **({"text/html": html} if html else {})}


def test_the_tutorial_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = json.loads((EXAMPLES / "tutorial.ipynb").read_text())
    assert notebook["nbformat"] == 4 and all(not cell.get("outputs") for cell in notebook["cells"])
    monkeypatch.chdir(EXAMPLES)
    names: dict[str, Any] = {}
    results = [
        run_cell("".join(cell["source"]), names)
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    displays = [shown(result) for result in results if result is not None]

    x = names["x"]
    np.testing.assert_array_equal(results[0], np.maximum(x, 0))
    np.testing.assert_allclose(results[2], x * x / 2)
    assert results[3].ok
    np.testing.assert_allclose(results[4], x)
    assert names["run"].history[-1]["validation_accuracy"] > 0.94
    digits, labels = results[9]
    assert (digits == labels).mean() >= 0.8
    answer, sent = next(
        result for result in results if isinstance(result, tuple) and isinstance(result[0], list)
    )
    assert answer == digits.tolist() and sent == labels.tolist()
    np.testing.assert_allclose(results[-2], 2 * np.sin(x), rtol=1e-6)
    assert "struct Wave" in capsys.readouterr().out
    pictures = sum("<svg" in text for display in displays for text in display.values())
    assert pictures >= 3  # memory, curves, confusion; also the graph if graphviz is installed
