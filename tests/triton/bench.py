"""Requests per second of a small graph in Triton, compared with an empty backend and with FastAPI
and onnxruntime.

Prints one line per number of connections, with the best of several rounds, in which all are
measured one after the other. With --check, fails if Tenon has less than 0.9 of the empty backend's
throughput, by the geometric mean of all lines.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from server import SOURCE, Server, compiled, free_ports, tenon, write_graph

SIZE = 64  # numbers in and out

FASTAPI = """
import numpy as np, onnxruntime, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession({model!r}, options)
app = FastAPI()

class Given(BaseModel):
    x: list[list[float]]

@app.post("/infer")
def infer(given: Given):
    return {{"y": session.run(None, {{"x": np.array(given.x, np.float32)}})[0].tolist()}}

uvicorn.run(app, host="127.0.0.1", port={port}, log_level="warning")
"""


def repository_of(folder: Path) -> tuple[Path, Path]:
    repository = folder / "repository"
    nodes = [
        {"name": "h", "op": "fully_connected", "inputs": ["x"], "attrs": {"num_hidden": SIZE}},
        {"name": "a", "op": "relu", "inputs": ["h"]},
    ]
    graph = write_graph(folder, "small", {"x": f"float32 -1 {SIZE}"}, nodes, {"y": "a"})
    tenon("triton", graph, "-o", repository, "--threads", 1)
    empty = repository / "empty/1"
    empty.mkdir(parents=True)
    compiled(
        "empty_backend.cpp",
        empty / "libtriton_empty.so",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        f"-I{SOURCE}/host",
    )
    text = (repository / "small/config.pbtxt").read_text()
    (repository / "empty/config.pbtxt").write_text(
        "\n".join(
            line
            for line in text.replace("small", "empty").replace('"tenon"', '"empty"').splitlines()
            if not line.startswith("parameters")
        )
    )
    return repository, graph


def binary_request() -> tuple[bytes, int]:
    head = {
        "inputs": [
            {
                "name": "x",
                "shape": [1, SIZE],
                "datatype": "FP32",
                "parameters": {"binary_data_size": 4 * SIZE},
            }
        ],
        "parameters": {"binary_data_output": True},
    }
    text = json.dumps(head).encode()
    return text + struct.pack(f"<{SIZE}f", *(i / SIZE for i in range(SIZE))), len(text)


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--check", action="store_true")
    options.add_argument("--turns", type=int, default=7)
    options.add_argument("--seconds", type=float, default=1.5)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp())
    ratios = []
    other = None
    load = compiled("load.cpp", folder / "load", "-pthread")
    repository, graph = repository_of(folder)
    server = Server(repository, folder / "log")
    try:
        body, head = binary_request()
        (folder / "binary").write_bytes(body)

        def rate(port: int, path: str, file: str, head: int, connections: int) -> float:
            words = [
                load,
                str(port),
                path,
                folder / file,
                str(head),
                str(connections),
                str(given.seconds),
            ]
            return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)

        def triton(model: str, connections: int) -> float:
            return rate(server.http, f"/v2/models/{model}/infer", "binary", head, connections)

        if importlib.util.find_spec("fastapi") and importlib.util.find_spec("onnxruntime"):
            tenon("export", graph, "-o", folder / "small.onnx")
            port = free_ports(1)[0]
            other = subprocess.Popen(
                [sys.executable, "-c", FASTAPI.format(model=str(folder / "small.onnx"), port=port)]
            )
            (folder / "json").write_text(json.dumps({"x": [[i / SIZE for i in range(SIZE)]]}))
            time.sleep(5)

        for connections in (1, 8, 32):
            turns = []
            for _ in range(given.turns):
                turns.append([triton("small", connections), triton("empty", connections)])
                if other:
                    turns[-1].append(rate(port, "/infer", "json", 0, connections))
            ours, theirs, *peer = (max(each) for each in zip(*turns))
            line = (
                f"{connections:>3} connections: {ours:.0f} requests/s, "
                f"empty backend {theirs:.0f}, ratio {ours / theirs:.3f}"
            )
            ratios.append(ours / theirs)
            for each in peer:
                line += f"; FastAPI with onnxruntime {each:.0f}, ratio {ours / each:.1f}"
            print(line, flush=True)
    finally:
        server.close()
        if other:
            other.terminate()
        shutil.rmtree(folder)
    mean = statistics.geometric_mean(ratios)
    print(f"the mean of the ratios to the empty backend is {mean:.3f}")
    return int(given.check and mean < 0.9)


if __name__ == "__main__":
    sys.exit(main())
