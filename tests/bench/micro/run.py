"""Runs the benchmarks that rows.py names, and bench_primitives on the networks of peers/, and
prints one table.

run.py TESTS [--json FILE] [--only PROGRAM,...] [--repetitions N]: TESTS is the folder of the
programs. Each figure is the best of its repetitions, which alternate with the program's other
benchmarks: other load on the machine only makes it worse. Exit status 1: a program failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rows import ROWS, Row

sys.path.append(str(Path(__file__).parent.parent / "peers"))
from turns import Load

Line = dict[str, Any]
NETWORKS = ("mlp", "lenet", "resnet18", "encoder")


def benchmarks(
    program: Path, names: list[str], repetitions: int
) -> dict[str, list[dict[str, Any]]]:
    """Returns all repetitions of each benchmark, by name."""
    pattern = (
        "^(" + "|".join(re.sub(r"([.^$|()\[\]{}*+?\\])", r"\\\1", name) for name in names) + ")$"
    )
    command = [
        str(program),
        f"--benchmark_filter={pattern}",
        "--benchmark_format=json",
        f"--benchmark_repetitions={repetitions}",
    ]
    command += ["--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05"]
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{program.name} ended with {done.returncode}: {done.stderr.strip()[-400:]}"
        )
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(done.stdout)["benchmarks"]:
        if one["run_type"] == "iteration" and not one.get("error_occurred"):
            found.setdefault(one["run_name"], []).append(one)
    missing = set(names) - set(found)
    if missing:
        raise RuntimeError(f"{program.name} has no benchmark {', '.join(sorted(missing))}")
    return found


def line_of(row: Row, found: dict[str, list[dict[str, Any]]]) -> Line:
    best = max if row.unit in ("GB/s", "elements/ns") else min
    figure = best(row.value(one) for one in found[row.benchmark])
    line: Line = {"name": row.name, "figure": figure, "unit": row.unit}
    compared = figure
    if row.floor:
        line["floor"] = best((row.floor_value or row.value)(one) for one in found[row.floor])
        line["ratio"] = (
            line["floor"] / figure if row.least and best is min else figure / line["floor"]
        )
        compared = figure if row.of_figure else line["ratio"]
    if row.goal is not None:
        line["goal"] = f"{'>=' if row.least else '<='} {row.goal:g}"
        line["met"] = compared >= row.goal if row.least else compared <= row.goal
    return line


def primitives(program: Path, folder: Path) -> list[Line]:
    """Returns rows for each network: the time of its products and convolutions, and their speedup
    by bfloat16.
    """
    write = [
        sys.executable,
        str(Path(__file__).parent.parent / "peers" / "graph_json.py"),
        str(folder),
    ]
    subprocess.run(
        write,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    graphs = [str(folder / name / "graph.json") for name in NETWORKS]
    done = subprocess.run(
        [str(program), *graphs],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{program.name} ended with {done.returncode}: {done.stderr.strip()[-400:]}"
        )
    lines: list[Line] = []
    for name, text in zip(NETWORKS, done.stdout.splitlines()):
        nodes = json.loads(text)["nodes"]
        ours, bare, half, bare_half = (
            sum(node.get(key, 0) for node in nodes) / 1e3
            for key in ("tenon_us", "bare_us", "tenon_bf16_us", "bare_bf16_us")
        )
        ratio = bare / ours
        lines.append(
            {
                "name": f"{name}: products and convolutions",
                "figure": ours,
                "unit": "ms",
                "floor": bare,
                "ratio": ratio,
            }
        )
        lines[-1] |= {"goal": ">= 0.9", "met": ratio >= 0.9, "nodes": nodes}
        if half:  # speedup by bfloat16, relative to that of the bare primitives
            ratio = (ours / half) / (bare / bare_half)
            lines.append(
                {
                    "name": f"{name}: speedup by bfloat16",
                    "figure": ours / half,
                    "unit": "times",
                    "floor": bare / bare_half,
                }
            )
            lines[-1] |= {
                "ratio": ratio,
                "goal": ">= 0.8",
                "met": ratio >= 0.8,
                "times_ms": {"tenon": half, "bare": bare_half},
            }
    return lines


def shown(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def show(line: Line) -> None:
    met = {True: "met", False: "missed", None: ""}[line.get("met")]
    cells = [
        shown(line["figure"]),
        line["unit"],
        shown(line.get("floor")),
        shown(line.get("ratio")),
        line.get("goal", ""),
        met,
    ]
    print(
        f"{line['name']:52} {cells[0]:>8} {cells[1]:11} {cells[2]:>8} {cells[3]:>7} {cells[4]:>8} "
        f"{cells[5]}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tests", type=Path)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument(
        "--only", default="", help="programs, separated by commas, such as elementwise,primitives"
    )
    parser.add_argument("--repetitions", type=int, default=9)
    given = parser.parse_args()
    only = set(filter(None, given.only.split(",")))
    lines: list[Line] = []
    load, failed = Load(), False
    load.look()
    print(f"{'':52} {'figure':>8} {'':11} {'floor':>8} {'ratio':>7} {'goal':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for program in [*dict.fromkeys(row.program for row in ROWS), "primitives"]:
            if only and program not in only:
                continue
            file = given.tests / f"bench_{program}"
            rows = [row for row in ROWS if row.program == program]
            try:
                if not file.exists():
                    raise RuntimeError(f"{file.name} is not built; see CMake's messages")
                if program == "primitives":
                    made = primitives(file, Path(folder))
                else:
                    names = list(
                        dict.fromkeys(
                            name for row in rows for name in (row.benchmark, row.floor) if name
                        )
                    )
                    found = benchmarks(file, names, given.repetitions)
                    made = [line_of(row, found) for row in rows]
            except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                failed = True
                print(error)
                continue
            for line in made:
                show(line)
            lines += made
    load.look()
    print(f"load: {load}")
    if given.json:
        Path(given.json).write_text(
            json.dumps({"load": str(load), "lines": lines}, indent=1) + "\n"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
