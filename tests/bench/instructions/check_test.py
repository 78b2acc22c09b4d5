"""Tests of check.py with made-up counts and baselines, in a repository of its own."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import check


def entry(instructions: int, reason: str = "the first counts") -> dict[str, int | str]:
    return {"instructions": instructions, "reason": reason}


def faults_of(counts: dict[str, int], baseline: check.Baseline) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()):
        return check.compare(counts, baseline)


def counts_are_compared() -> None:
    assert faults_of({"a": 1050}, {"a": entry(1000)}) == []
    assert faults_of({"a": 10}, {"a": entry(1000)}) == []
    assert faults_of({"a": 1051}, {"a": entry(1000)}) == [
        "a: 1051 instructions, 5.1 % above the baseline's 1000"
    ]
    assert len(faults_of({"a": 1000, "new": 1}, {"a": entry(1000)})) == 1
    assert len(faults_of({}, {"a": entry(1000)})) == 1


def raising_takes_a_new_reason() -> None:
    old = {"a": entry(1000)}
    assert check.unfounded({"a": entry(1040)}, old) == []
    assert check.unfounded({"a": entry(500)}, old) == []
    assert check.unfounded({"a": entry(2000, "it checks more")}, old) == []
    assert len(check.unfounded({"a": entry(2000)}, old)) == 1
    assert len(check.unfounded({"a": entry(1000, " ")}, old)) == 1
    assert len(check.unfounded({"a": {"instructions": 1000}}, {})) == 1


def the_baseline_before_is_found() -> None:
    with tempfile.TemporaryDirectory() as folder:
        check.BASELINE = Path(folder) / "baseline.json"

        def git(*arguments: str) -> None:
            names = ["-c", "user.name=t", "-c", "user.email=t@t"]
            subprocess.run(
                ["git", "-C", folder, *names, *arguments], check=True, capture_output=True
            )

        def write(instructions: int) -> str:
            check.BASELINE.write_text(json.dumps({"a": entry(instructions)}))
            return check.BASELINE.read_text()

        first = write(1)
        assert check.before(first) == {}
        git("init")
        git("add", ".")
        git("commit", "-m", "one")
        assert check.before(first) == {}
        second = write(2)
        assert check.before(second) == {"a": entry(1)}
        git("commit", "-a", "-m", "two")
        git("commit", "--allow-empty", "-m", "three")
        assert check.before(second) == {"a": entry(1)}


def updates_keep_what_is_near() -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        check.BASELINE = Path(folder) / "baseline.json"
        check.update(
            {"a": 1004, "b": 1100},
            {"a": entry(1000), "b": entry(1000), "gone": entry(1)},
            "b checks more",
        )
        assert json.loads(check.BASELINE.read_text()) == {
            "a": entry(1000),
            "b": entry(1100, "b checks more"),
        }


for test in (
    counts_are_compared,
    raising_takes_a_new_reason,
    the_baseline_before_is_found,
    updates_keep_what_is_near,
):
    test()
print("4 tests passed")
