"""Tritonserver from PyPI's nvidia-pytriton on local ports, and its repository for the tests and the
benchmark.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytriton

SOURCE = Path(__file__).resolve().parents[2]
TENON = Path(os.environ["TENON_BUILD"], "tenon")


def compiled(source: str, to: Path, *options: str) -> Path:
    """Compiles a source in this folder with g++."""
    subprocess.run(
        [
            "g++",
            "-std=c++20",
            "-O2",
            "-Wall",
            "-Wextra",
            *options,
            Path(__file__).with_name(source),
            "-o",
            to,
        ],
        check=True,
    )
    return to


def tenon(*words: object) -> str:
    return subprocess.run(
        [TENON, *map(str, words)], check=True, capture_output=True, text=True
    ).stdout


def write_graph(
    folder: Path, name: str, inputs: dict, nodes: list, outputs: dict, plugins: Path | None = None
) -> Path:
    """Writes a .tenon file from sections of a graph.json; inputs as "float32 -1 64"."""
    types = {
        key: {"dtype": text.split()[0], "shape": [int(dim) for dim in text.split()[1:]]}
        for key, text in inputs.items()
    }
    text = folder / f"{name}.json"
    text.write_text(json.dumps({"tenon": 1, "inputs": types, "nodes": nodes, "outputs": outputs}))
    tenon(
        *(["--plugins", plugins] if plugins else []),
        "build",
        text,
        "-o",
        folder / f"{name}.tenon",
        "--seed",
        7,
    )
    return folder / f"{name}.tenon"


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Server:
    def __init__(self, repository: Path, log: Path) -> None:
        self.http, self.grpc, self.metrics = free_ports(3)
        program = Path(pytriton.__file__).parent / "tritonserver/bin/tritonserver"
        words = [
            f"--model-repository={repository}",
            "--model-control-mode=none",
            "--exit-on-error=false",
            "--allow-gpu-metrics=false",
        ]
        for name, port in {"http": self.http, "grpc": self.grpc, "metrics": self.metrics}.items():
            words += [f"--{name}-address=127.0.0.1", f"--{name}-port={port}"]
        # Without TENON_PLUGIN_PATH: models use only what is in their folders.
        environment = {
            name: value for name, value in os.environ.items() if name != "TENON_PLUGIN_PATH"
        }
        self.log = log
        self.process = subprocess.Popen(
            [program, *words], stdout=log.open("wb"), stderr=subprocess.STDOUT, env=environment
        )
        end = time.monotonic() + 60
        while not self.is_alive():
            if self.process.poll() is not None or time.monotonic() > end:
                self.close()
                raise RuntimeError(f"the server does not start:\n{log.read_text()}")
            time.sleep(0.1)

    def is_alive(self) -> bool:
        try:
            return self.get(self.http, "/v2/health/live") == ""
        except OSError:
            return False

    @staticmethod
    def get(port: int, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.read().decode()

    def post(self, path: str, body: dict) -> tuple[int, dict]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def statistics(self, model: str) -> dict:
        return json.loads(self.get(self.http, f"/v2/models/{model}/stats"))["model_stats"][0]

    def metric(self, name: str, model: str) -> float:
        for line in self.get(self.metrics, "/metrics").splitlines():
            if line.startswith(name + "{") and f'model="{model}"' in line:
                return float(line.split()[-1])
        raise KeyError(name)

    def close(self) -> int:
        """Stops the server and returns its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def copy_backend(version: Path, to: Path) -> None:
    """Copies the backend's files to a folder, without those of a model."""
    shutil.copy(version / "libtriton_tenon.so", to)
    shutil.copytree(version / "tenon", to / "tenon")
