"""Compares Tenon with ONNX Runtime, OpenVINO and PyTorch: compare.py [--turns N] [--threads 1,2]
[--only mlp,chain] [--precision bfloat16] [--json FILE]

A group is one network, in inference or training, on a number of threads: its programs run in turns,
each in a process of its own. Exit status 1: results differ. Missed goals are marked but are not
failures: they depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from networks import NETWORKS, TRAINING
from turns import Case, Load, measure

PROGRAMS = {
    "inference": ["tenon", "onnxruntime", "openvino", "torch"],
    "training": ["tenon", "torch", "torch.compile"],
}
TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-2}  # relative to the largest element


def goal_of(network: str, mode: str, threads: int) -> float:
    """The ratio of Tenon's time to its best peer's."""
    if mode == "training":
        return 0.8
    return 0.35 if network == "chain" and threads == 1 else 0.95


def differences(results: dict[str, Path]) -> dict[str, float]:
    """The difference of each program's first result (in training: of two steps' losses) from
    torch's, over the largest element.
    """
    arrays = {program: np.load(path).astype(np.float64) for program, path in results.items()}
    reference = arrays["torch"]
    largest = np.abs(reference).max()
    return {
        name: float(np.abs(array - reference).max() / largest) for name, array in arrays.items()
    }


def group(
    network: str, mode: str, threads: int, given: argparse.Namespace, folder: Path, load: Load
) -> dict[str, Any]:
    without = {*given.without.split(",")} - {"tenon", "torch"}
    if given.precision == "bfloat16":
        without.add("onnxruntime")
    programs = [program for program in PROGRAMS[mode] if program not in without]
    cases = [Case(program, network, mode, threads, given.precision) for program in programs]
    found = differences(measure(cases, given.turns, folder, load))
    peers = [case for case in cases if case.program not in ("tenon", "torch.compile")]
    best, best_least = min(case.median for case in peers), min(case.least for case in peers)
    return {
        "network": network,
        "mode": mode,
        "threads": threads,
        "goal": goal_of(network, mode, threads),
        "ratio": round(cases[0].median / best, 3),
        "ratio_of_least": round(cases[0].least / best_least, 3),
        "differences": found,
        "same": all(value <= TOLERANCE[given.precision] for value in found.values()),
        "programs": {case.program: case.to_json() for case in cases},
    }


def line(made: dict[str, Any]) -> str:
    cells = [f"{made['network']} {made['mode']}", str(made["threads"])]
    for program in dict.fromkeys(PROGRAMS["inference"] + PROGRAMS["training"]):
        one = made["programs"].get(program)
        cells.append(
            f"{one['median_ms']:.2f} [{one['least_ms']:.2f}, {one['three_quarters_ms']:.2f}]"
            if one
            else ""
        )
    told = "met" if made["ratio"] <= made["goal"] else "missed"
    cells += [f"{made['ratio']:.2f}", f"{made['ratio_of_least']:.2f}", f"{made['goal']:.2f} {told}"]
    return (
        "| "
        + " | ".join(
            cells
            + [f"{max(made['differences'].values()):.0e}" + ("" if made["same"] else " DIFFERS")]
        )
        + " |"
    )


def header() -> str:
    names = [
        "ms: median [least, 3rd quartile]",
        "threads",
        *dict.fromkeys(PROGRAMS["inference"] + PROGRAMS["training"]),
    ]
    names += ["Tenon / best", "of least", "goal", "difference"]
    return "| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|"


def processor() -> str:
    with open("/proc/cpuinfo") as file:
        names = [text.split(":", 1)[1].strip() for text in file if text.startswith("model name")]
    return names[0] if names else platform.machine()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--turns", type=int, default=15, help="turns of each program (default: 15)")
    parser.add_argument(
        "--threads", default=",".join(str(each) for each in sorted({1, min(2, cores), cores}))
    )
    parser.add_argument("--only", default="", help="networks, separated by commas (default: all)")
    parser.add_argument("--mode", choices=list(PROGRAMS), help="default: both")
    parser.add_argument(
        "--without",
        default="",
        help="programs to leave out, such as torch.compile; torch always runs",
    )
    parser.add_argument(
        "--precision",
        choices=list(TOLERANCE),
        default="float32",
        help="ONNX Runtime does not support bfloat16 here",
    )
    parser.add_argument("--json", metavar="FILE", help="also write all figures to this file")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    load, groups = Load(), []
    print(
        f"{processor()}, {len(os.sched_getaffinity(0))} cores; {given.turns} turns\n\n{header()}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        for mode, networks in {"inference": NETWORKS, "training": TRAINING}.items():
            for network in networks:
                if (
                    given.mode not in (None, mode)
                    or given.only
                    and network not in given.only.split(",")
                ):
                    continue
                if (
                    network == "chain" and given.precision == "bfloat16"
                ):  # it has no matrix products
                    continue
                for threads in (int(each) for each in given.threads.split(",")):
                    groups.append(group(network, mode, threads, given, Path(folder), load))
                    print(line(groups[-1]), flush=True)
    versions = sorted({one["version"] for made in groups for one in made["programs"].values()})
    print(f"\n{', '.join(versions)}\nload: {load}")
    print(
        "The best peer is the fastest of onnxruntime, openvino and torch; for training it is "
        "torch. torch.compile is only reported."
    )
    if given.json:
        told = {
            "processor": processor(),
            "precision": given.precision,
            "cores": os.cpu_count(),
            "load": str(load),
            "versions": versions,
            "groups": groups,
        }
        Path(given.json).write_text(json.dumps(told, indent=1) + "\n")
    return 0 if all(made["same"] for made in groups) else 1


if __name__ == "__main__":
    sys.exit(main())
