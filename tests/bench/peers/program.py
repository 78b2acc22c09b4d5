"""Runs one program on one network in a process of its own: program.py PROGRAM NETWORK
inference|training THREADS float32|bfloat16 RESULT.npy

Writes the first result to RESULT.npy. Then each line of stdin is a number of runs, answered by a
line of JSON with their seconds.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import networks

STEPS = 2
# Seconds after which a turn ends early: runs take many times longer if threads wait for busy cores.
LONG = 1.0


def prepared(
    program: str, net: networks.Network, threads: int, training: bool, precision: str
) -> tuple[Callable[[], Any], str]:
    if program == "tenon":
        import in_tenon

        return (in_tenon.training if training else in_tenon.inference)(
            net, threads, precision
        ), in_tenon.version()
    if program in ("onnxruntime", "openvino"):
        import in_onnx

        made = (
            in_onnx.in_openvino(net, threads, precision)
            if program == "openvino"
            else in_onnx.in_onnxruntime(net, threads)
        )
        return made, in_onnx.versions()[program]
    import in_torch

    if training:
        return in_torch.training(
            net, threads, precision, program == "torch.compile"
        ), in_torch.version()
    return in_torch.inference(net, threads, precision), in_torch.version()


def timed(run: Callable[[], Any], times: int) -> list[float]:
    """The first run is not timed: it wakes threads and fills caches."""
    run()
    found: list[float] = []
    while len(found) < times and (len(found) < 3 or sum(found) < LONG):
        begin = time.perf_counter()
        run()
        found.append(time.perf_counter() - begin)
    return found


def main() -> None:
    program, name, mode, threads, precision, path = sys.argv[1:]
    training = mode == "training"
    net = (networks.TRAINING if training else networks.NETWORKS)[name]()
    run, version = prepared(program, net, int(threads), training, precision)
    result = [run() for _ in range(STEPS)] if training else run()
    np.save(path, np.array(result))
    pace = min(timed(run, 3))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps({"version": version, "seconds": pace, "bytes": memory}), flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(run, int(line))), flush=True)


if __name__ == "__main__":
    main()
