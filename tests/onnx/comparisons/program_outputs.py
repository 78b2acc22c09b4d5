"""Runs ONNX models with the program, for comparisons with onnxruntime."""

import subprocess

import numpy as np


def found(program, path, model, inputs):
    """Tenon's outputs; raises with its message if it rejects the model."""
    command = [program, "run", str(path)]
    for name, value in inputs.items():
        np.save(path.with_name(f"{name}.npy"), value)
        command += ["--input", f"{name}={path.with_name(f'{name}.npy')}"]
    names = [output.name for output in model.graph.output]
    for name in names:
        command += ["--output", f"{name}={path.with_name(f'out_{name}.npy')}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[0])
    return [np.load(path.with_name(f"out_{name}.npy")) for name in names]
