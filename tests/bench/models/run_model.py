"""Runs one program on one model, in a process of its own: run_model.py PROGRAM FOLDER THREADS
RESULTS

FOLDER has model.onnx and inputs0.npz, inputs1.npz ...; the results are written to RESULTS/0.npz ...
Then each line of stdin is `open`, answered by the seconds from opening the model to its first
result, or a number of runs with the first inputs, answered by their seconds.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
from program import timed

Run = Callable[[dict[str, Any]], list[Any]]  # outputs in the order of the model


def in_tenon(path: str, threads: int) -> tuple[Callable[[], Run], str]:
    import in_tenon
    import tenon

    warnings.simplefilter("ignore")  # renamed inputs
    host = tenon.Host(threads=threads)

    def opened() -> Run:
        session = tenon.load(path, host=host).session()
        return lambda inputs: list(session.run(inputs).values())

    return opened, in_tenon.version()


def in_onnxruntime(path: str, threads: int, optimize: bool = True) -> tuple[Callable[[], Run], str]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1

    def opened() -> Run:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return partial(session.run, None)

    return opened, f"onnxruntime {onnxruntime.__version__}"


def main() -> None:
    program, folder, threads, results = sys.argv[1:]
    path = f"{folder}/model.onnx"
    if program == "tenon":
        opened, version = in_tenon(path, int(threads))
    else:
        opened, version = in_onnxruntime(path, int(threads), program != "unoptimized")
    inputs = [dict(np.load(path)) for path in sorted(Path(folder).glob("inputs*.npz"))]
    try:
        run = opened()
        Path(results).mkdir(parents=True, exist_ok=True)
        for at, one in enumerate(inputs):
            np.savez(f"{results}/{at}.npz", *map(np.asarray, run(one)))
        pace = min(timed(lambda: run(inputs[0]), 3))
    except Exception as error:  # printed in the table
        hint = getattr(error, "hint", "")
        print(json.dumps({"error": f"{error}; hint: {hint}" if hint else str(error)}))
        return
    print(json.dumps({"version": version, "seconds": pace, "bytes": 0}), flush=True)
    for line in sys.stdin:
        if line == "open\n":
            begin = time.perf_counter()
            opened()(inputs[0])
            print(json.dumps(time.perf_counter() - begin), flush=True)
        else:
            print(json.dumps(timed(lambda: run(inputs[0]), int(line))), flush=True)


if __name__ == "__main__":
    main()
