"""Measures processes in turns, A B C A B C ..., so that other load on the machine affects all of
them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TURN = 0.15  # approximate seconds of runs in a turn
PAUSE = 0.03  # lets threads of the previous process stop busy-waiting


@dataclass
class Case:
    """seconds: the median of each turn's runs. least: the minimum of all runs."""

    program: str
    network: str
    mode: str
    threads: int
    precision: str = "float32"
    version: str = ""
    bytes: int = 0
    runs: int = 0
    seconds: list[float] = field(default_factory=list)
    least: float = float("inf")

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def to_json(self) -> dict[str, Any]:
        quarters = (
            statistics.quantiles(self.seconds, n=4) if len(self.seconds) > 1 else [self.median] * 3
        )
        figures = {
            "median_ms": self.median,
            "least_ms": self.least,
            "quarter_ms": quarters[0],
            "three_quarters_ms": quarters[2],
        }
        return {
            **{
                name: getattr(self, name)
                for name in (
                    "program",
                    "network",
                    "mode",
                    "threads",
                    "precision",
                    "version",
                    "bytes",
                )
            },
            **{name: round(value * 1e3, 4) for name, value in figures.items()},
            "turns": len(self.seconds),
            "runs_a_turn": self.runs,
        }


class Refused(Exception):
    """A program's error."""


class Process:
    """A program that runs a case; by default program.py."""

    def __init__(self, case: Case, result: Path, command: list[str] | None = None) -> None:
        self.case, self.result = case, result
        arguments = [
            case.program,
            case.network,
            case.mode,
            str(case.threads),
            case.precision,
            str(result),
        ]
        self._process = subprocess.Popen(
            [sys.executable, *(command or [str(Path(__file__).parent / "program.py"), *arguments])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        ready = self._answer()
        if "error" in ready:
            self.end()
            raise Refused(f"{case.program}: {ready['error']}")
        case.version, case.bytes = ready["version"], ready["bytes"]
        case.runs = max(3, min(50, round(TURN / ready["seconds"])))

    def ask(self, question: str) -> Any:
        assert self._process.stdin
        self._process.stdin.write(f"{question}\n")
        self._process.stdin.flush()
        return self._answer()

    def turn(self) -> None:
        found = self.ask(str(self.case.runs))
        self.case.seconds.append(statistics.median(found))
        self.case.least = min(self.case.least, *found)
        time.sleep(PAUSE)

    def end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> Any:
        assert self._process.stdout
        for line in self._process.stdout:  # libraries also print warnings
            try:
                return json.loads(line)
            except json.JSONDecodeError:
                print(line, end="", file=sys.stderr)
        raise SystemExit(
            f"{self.case.program}, {self.case.network}, {self.case.mode} ended with "
            f"{self._process.wait()}: see above"
        )


class Load:
    """Measures the slowdown of this process's own work: 1 on an idle machine, 2 if another process
    competes for the core.
    """

    def __init__(self) -> None:
        self.found: list[float] = []

    def look(self) -> None:
        begin, work = time.perf_counter(), time.process_time()
        while time.process_time() - work < 0.02:
            pass
        self.found.append((time.perf_counter() - begin) / (time.process_time() - work))

    def __str__(self) -> str:
        if not self.found:  # nothing was measured
            self.look()
        told = (
            f"this process took {statistics.median(self.found):.2f} times its CPU time "
            f"(most: {max(self.found):.2f}); 1.00 is an idle machine"
        )
        return f"{told}; load average {os.getloadavg()[0]:.1f}"


def measure(cases: list[Case], turns: int, folder: Path, load: Load) -> dict[str, Path]:
    """Fills in the cases and returns the file of each program's first result."""
    processes: list[Process] = []
    try:
        for case in cases:
            processes.append(
                Process(
                    case, folder / f"{case.network}-{case.mode}-{case.threads}-{case.program}.npy"
                )
            )
        for _ in range(turns):
            load.look()
            for process in processes:
                process.turn()
    finally:
        for process in processes:
            process.end()
    return {process.case.program: process.result for process in processes}
