"""Compares Tenon with ONNX Runtime on models that products ship: compare_models.py [--turns N]
[--threads 1,2] [--only magika,silero] [--folder FOLDER] [--json FILE]

The programs run a model in turns, each in a process of its own. A model that cannot be fetched or
run is listed with the error. Exit status 1: results differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
from compare import processor
from fetch import NotFetched, fetch
from turns import Case, Load, Process, Refused
from zoo import MODELS

PROGRAMS = ("onnxruntime", "tenon")
TOLERANCE = 1e-4


def difference(one: Path, other: Path) -> tuple[float, float]:
    """The largest difference over all outputs: absolute, and relative to its output's largest
    element.
    """
    worst = (0.0, 0.0)
    for path in sorted(one.glob("*.npz")):
        expected, found = np.load(path), np.load(other / path.name)
        for name in expected:
            a, b = expected[name].astype(np.float64), found[name].astype(np.float64)
            if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
                return (math.inf, math.inf)
            by = np.abs(np.where((a == b) | np.isnan(a), 0, a - b)).max(initial=0)
            scale = np.abs(a[np.isfinite(a)]).max(initial=0)
            worst = (
                max(worst[0], float(by)),
                max(worst[1], float(by / scale) if by else 0.0),
            )
    return worst


def process(program: str, folder: Path, threads: int, results: Path) -> Process:
    made = results / f"{folder.name}-{program}"
    script = str(Path(__file__).parent / "run_model.py")
    return Process(
        Case(program, folder.name, "inference", threads),
        made,
        [script, program, str(folder), str(threads), str(made)],
    )


def measure(
    folder: Path, threads: int, turns: int, results: Path, load: Load
) -> tuple[list[Case], list[list[float]]]:
    """Each program's case, with its times, and its times from opening to the first result."""
    processes: list[Process] = []
    opening: list[list[float]] = [[] for _ in PROGRAMS]
    try:
        for program in PROGRAMS:
            processes.append(process(program, folder, threads, results))
        for _ in range(turns):
            load.look()
            for one, seconds in zip(processes, opening):
                one.turn()
                if threads == 1:
                    seconds.append(one.ask("open"))
    finally:
        for one in processes:
            one.end()
    return [one.case for one in processes], opening


def differences(folder: Path, results: Path) -> dict[str, Any]:
    """Tenon's difference from ONNX Runtime and, if it is large, that of ONNX Runtime from itself
    without optimization: models of integers amplify rounding.
    """
    reference, tenon, unoptimized = (
        results / f"{folder.name}-{program}" for program in (*PROGRAMS, "unoptimized")
    )
    absolute, relative = difference(reference, tenon)
    if relative <= TOLERANCE:
        return {"difference": (absolute, relative), "same": True}
    process("unoptimized", folder, 1, results).end()
    own = difference(reference, unoptimized)
    nearest = min(relative, difference(unoptimized, tenon)[1])
    return {
        "difference": (absolute, relative),
        "own": own,
        "same": nearest <= max(TOLERANCE, 2 * own[1]),
    }


def compared(name: str, given: argparse.Namespace, results: Path, load: Load) -> dict[str, Any]:
    made: dict[str, Any] = {"model": name, "package": MODELS[name].package}
    try:
        folder = fetch(name, given.folder)
        for threads in given.threads:
            cases, opening = measure(folder, threads, given.turns, results, load)
            made[f"ratio {threads}T"] = cases[1].median / cases[0].median
            made.setdefault("versions", [case.version for case in cases])
            made.setdefault("ms", [case.median * 1e3 for case in cases])
            if opening[0]:
                ready = [statistics.median(seconds) for seconds in opening]
                made["open ms"], made["open ratio"] = (
                    [s * 1e3 for s in ready],
                    ready[1] / ready[0],
                )
            if "difference" not in made:
                made |= differences(folder, results)
    except (NotFetched, Refused) as error:
        made["error"] = str(error)
    return made


def line(made: dict[str, Any], threads: list[int]) -> str:
    def ratio(key: str) -> str:
        return f"{made[key]:.2f}" if key in made else ""

    cells = [made["model"], *[""] * (4 + len(threads))]
    if "difference" in made:
        absolute, relative = made["difference"]
        cells[1] = f"{absolute:.1e} ({relative:.0e})"
        if "own" in made:
            cells[1] += f", its own {made['own'][0]:.1e} ({made['own'][1]:.0e})"
        cells[1] += "" if made["same"] else " DIFFERS"
        cells[2] = " / ".join(f"{ms:.3g}" for ms in made["ms"])
    cells[3:-2] = [ratio(f"ratio {each}T") for each in threads]
    cells[-2:] = [ratio("open ratio"), made.get("error", "").replace("|", "\\|")]
    return f"| {' | '.join(cells)} |"


def mean(rows: list[dict[str, Any]], key: str) -> str:
    found = [made[key] for made in rows if key in made]
    if not found:
        return "-"
    return f"{statistics.geometric_mean(found):.2f} ({sum(x > 1 for x in found)} above 1)"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=7, help="turns of each program (default: 7)")
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument("--only", help="models, separated by commas (default: all)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("build-models"),
        help="where models are kept",
    )
    parser.add_argument("--json", metavar="FILE", help="also write all figures to this file")
    given = parser.parse_args()
    given.threads = [int(each) for each in given.threads.split(",")]
    given.only = given.only.split(",") if given.only else list(MODELS)
    if unknown := [name for name in given.only if name not in MODELS]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    return given


def main() -> int:
    given, load, rows = arguments(), Load(), []
    ratios = [f"ratio {each}T" for each in given.threads]
    names = [
        "model",
        "max diff (relative)",
        "ms: ORT / Tenon",
        *ratios,
        "open ratio",
        "error",
    ]
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; {given.turns} turns\n")
    print(f"| {' | '.join(names)} |\n{'| --- ' * len(names)}|", flush=True)
    with tempfile.TemporaryDirectory() as results:
        for name in given.only:
            rows.append(compared(name, given, Path(results), load))
            print(line(rows[-1], given.threads), flush=True)
    means = ", ".join(f"{key} {mean(rows, key)}" for key in [*ratios, "open ratio"])
    versions = sorted({each for made in rows for each in made.get("versions", [])})
    print(f"\ngeometric means: {means}\n{', '.join(versions)}\nload: {load}")
    if given.json:
        told = {"processor": processor(), "load": str(load), "models": rows}
        Path(given.json).write_text(json.dumps(told, indent=1) + "\n")
    return int(not all(made.get("same", True) for made in rows))


if __name__ == "__main__":
    sys.exit(main())
