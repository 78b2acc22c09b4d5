"""Nanoseconds of small calls, compared in one run with those of numpy, torch and onnxruntime, if
installed.

calls.py [ROUNDS]: each round makes every call 100 times; the table has the minimum, median and
maximum over the rounds. Other load on the machine hardly affects the minimum. README.md in this
folder lists the goals.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tenon
from tenon import ops

REPEAT = 100


def tenon_cases() -> dict[str, tuple[Callable[[], Any], int | None]]:
    x = np.ones(4, np.float32)
    graph = tenon.Graph()
    value = graph.input("x", "float32", (4,))
    graph.outputs(y=value + value)
    session = graph.session()
    inputs = {"x": x}
    cases: dict[str, tuple[Callable[[], Any], int | None]] = {
        "tenon ops.add(x, x)": (lambda: ops.add(x, x), 700),
        "tenon ops.quadratic(x, a=2.0)": (lambda: ops.quadratic(x, a=2.0), 700),
        "tenon session.run({'x': x})": (lambda: session.run(inputs), 600),
        "tenon session(x=x)": (lambda: session(x=x), 600),
    }
    if hasattr(tenon, "operator"):
        cases |= python_operator(x)
    return cases


def python_operator(x: Any) -> dict[str, tuple[Callable[[], Any], int | None]]:
    @tenon.operator
    class BenchCosine:
        """-cos(x)"""

        def describe(op: Any) -> None:
            op.doc("-cos(x), element by element")
            op.input("x", "angles")
            op.output("y", "same shape as x")

        def forward(self, call: Any) -> None:
            np.cos(call.x, call.y)
            np.negative(call.y, call.y)

    graph = tenon.Graph()
    graph.outputs(y=ops.bench_cosine(graph.input("x", "float32", (4,))))
    session = graph.session()
    inputs = {"x": x}
    out = np.empty_like(x)

    def body() -> None:
        np.cos(x, out)
        np.negative(out, out)

    return {
        "tenon operator in Python, in a session": (lambda: session.run(inputs), 1300),
        "only its body": (body, None),
    }


def numpy_cases() -> dict[str, tuple[Callable[[], Any], int | None]]:
    x = np.ones(4, np.float32)
    return {"an empty lambda": (lambda: None, None), "numpy x + x": (lambda: x + x, None)}


def torch_cases() -> dict[str, tuple[Callable[[], Any], int | None]]:
    try:
        import torch
    except ImportError:
        return {}
    x = torch.ones(4)

    @torch.library.custom_op("bench::cosine", mutates_args=(), schema="(Tensor value) -> Tensor")
    def cosine(value: Any) -> Any:
        array = np.cos(value.numpy())
        return torch.from_numpy(np.negative(array, array))

    cases: dict[str, tuple[Callable[[], Any], int | None]] = {
        "torch x + x": (lambda: x + x, None),
        "torch custom_op with that body": (lambda: cosine(x), None),
    }
    try:
        import tenon.torch

        tenon.torch.register("quadratic")
        registered = torch.ops.tenon.quadratic
        cases["tenon operator registered in torch"] = (lambda: registered(x), 2500)
    except (ImportError, AttributeError):
        pass
    return cases


def onnxruntime_cases() -> dict[str, tuple[Callable[[], Any], int | None]]:
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return {}
    make = onnx.helper
    types = [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]) for name in ("x", "y")]
    model = make.make_model(
        make.make_graph([make.make_node("Add", ["x", "x"], ["y"])], "g", types[:1], types[1:]),
        opset_imports=[make.make_opsetid("", 17)],
    )
    model.ir_version = 8
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    inputs = {"x": np.ones(4, np.float32)}
    return {"onnxruntime session.run": (lambda: session.run(None, inputs), None)}


def main() -> None:
    warnings.simplefilter("ignore")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    cases = {**numpy_cases(), **tenon_cases(), **torch_cases(), **onnxruntime_cases()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (function, _goal) in cases.items():
            begin = time.perf_counter_ns()
            for _ in range(REPEAT):
                function()
            times[name].append((time.perf_counter_ns() - begin) / REPEAT)
    print(f"{'ns a call':42} {'least':>7} {'median':>7} {'most':>8} {'goal':>6}")
    for name, (_function, goal) in cases.items():
        found = times[name]
        print(
            f"{name:42} {min(found):7.0f} {statistics.median(found):7.0f} {max(found):8.0f} "
            f"{goal or '':>6}"
        )


if __name__ == "__main__":
    main()
