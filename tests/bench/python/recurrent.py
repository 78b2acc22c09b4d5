"""Times lstm and gru against ONNX Runtime, and training steps against torch: recurrent.py
[--threads 1,2] [--rounds 9] [--training] [CASE ...].

The programs run in turns in one process. A time is that of the fastest run of all rounds; a ratio
below 1 means that Tenon is faster. CASE, for example: LSTM 24x1x1024,512,2.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tenon

CASES = """LSTM 1x1x128,128 · LSTM 60x1x128,128 · LSTM 24x1x1024,512,2 · LSTM 40x1x200,400
· LSTM 20x3x512,100 · LSTM 100x32x128,256 · GRU 40x1x96,48,2 · GRU 40x1x192,192,2"""
ROUND = 0.1  # seconds of each program in a round
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

Run = Callable[[], Any]


class Case:
    """<operator> <steps>x<batch>x<features>,<hidden>[,<directions>]; random arrays."""

    def __init__(self, text: str) -> None:
        self.kind, sizes = text.split()
        self.steps, self.batch, self.features = (int(n) for n in sizes.split(",")[0].split("x"))
        self.hidden, *directions = (int(n) for n in sizes.split(",")[1:])
        self.directions = directions[0] if directions else 1
        rows, random = GATES[self.kind] * self.hidden, np.random.default_rng(1)
        scale = self.hidden**-0.5
        shapes = {
            "W": (self.directions, rows, self.features),
            "R": (self.directions, rows, self.hidden),
            "B": (self.directions, 2 * rows),
        }
        self.weights = {
            name: random.uniform(-scale, scale, shape).astype(np.float32)
            for name, shape in shapes.items()
        }
        self.x = random.standard_normal((self.steps, self.batch, self.features)).astype(np.float32)

    @property
    def parameters(self) -> dict[str, Any]:
        way = "bidirectional" if self.directions == 2 else "forward"
        return {"direction": way} | ({"linear_before_reset": 1} if self.kind == "GRU" else {})


def onnx_model(case: Case) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node(
        case.kind, ["x", *case.weights], ["y"], hidden_size=case.hidden, **case.parameters
    )
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, case.x.shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)]
    constants = [numpy_helper.from_array(array, name) for name, array in case.weights.items()]
    graph = helper.make_graph([node], "net", inputs, outputs, constants)
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def graph_of(case: Case, host: tenon.Host, trained: bool) -> tenon.Graph:
    graph = tenon.Graph(host=host)
    x = graph.input("x", "float32", case.x.shape)
    weights = [graph.variable(name, array) for name, array in case.weights.items()]
    parameters = {**case.parameters}
    if case.kind == "GRU":
        parameters["linear_before_reset"] = True
    y = graph.ops[f"tenon.{case.kind.lower()}"](x, *weights, **parameters)[0]
    graph.outputs(**({"loss": graph.ops["tenon.mean"](y * y)} if trained else {"y": y}))
    return graph


def inference(case: Case, threads: int) -> dict[str, Run]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    peer = onnxruntime.InferenceSession(
        onnx_model(case), options, providers=["CPUExecutionProvider"]
    )
    session = graph_of(case, tenon.Host(threads=threads), False).session()
    inputs = {"x": case.x}
    ours, theirs = session.run(inputs)["y"], peer.run(None, inputs)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    return {"tenon": lambda: session.run(inputs), "onnxruntime": lambda: peer.run(None, inputs)}


def training(case: Case, threads: int) -> dict[str, Run]:
    import torch

    torch.set_num_threads(threads)
    made = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "RNN": torch.nn.RNN}[case.kind]
    net = made(case.features, case.hidden, bidirectional=case.directions == 2)
    optimizer, x = torch.optim.SGD(net.parameters(), 1e-3), torch.from_numpy(case.x)

    def step() -> None:
        optimizer.zero_grad()
        net(x)[0].square().mean().backward()
        optimizer.step()

    graph = graph_of(case, tenon.Host(threads=threads), True)
    trainer = tenon.Trainer(
        graph, {"x": case.x}, optimizer="sgd", learning_rate=1e-3, batch=case.steps, shuffle=False
    )
    tensors = {"x": tenon.tensor(case.x)}
    return {"tenon": lambda: trainer.step(tensors), "torch": step}


def fastest(run: Run) -> float:
    found, end = float("inf"), time.perf_counter() + ROUND
    while (start := time.perf_counter()) < end:
        run()
        found = min(found, time.perf_counter() - start)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[each.strip() for each in CASES.split("·")])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--training", action="store_true")
    given = parser.parse_args()
    for text in given.cases:
        for threads in (int(each) for each in given.threads.split(",")):
            runs = (training if given.training else inference)(Case(text), threads)
            times: dict[str, list[float]] = {name: [] for name in runs}
            for _ in range(given.rounds):
                for name, run in runs.items():
                    times[name].append(fastest(run))
            ours, theirs = (min(each) * 1e3 for each in times.values())
            print(f"{text:24} {threads} threads: {ours:9.4f} {theirs:9.4f} ms {ours / theirs:6.2f}")


if __name__ == "__main__":
    main()
