"""Counts the instructions of the host's work under callgrind, and compares them with baseline.json.

check.py PROGRAM                   exit status 1: a count exceeds the baseline by over 5 %, or the
                                   baseline was raised without a new reason
check.py PROGRAM --update "why"    updates entries of the baseline that are off by over 0.5 %, with
                                   this reason
check.py --not-reference "why"     exit status 77: skipped. The counts are only valid for one
                                   compiler and build type.

callgrind emulates a processor with AVX2 and without AVX-512, so the counts are the same on every
machine with AVX2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

MOST = 1.05  # times the baseline
NOISE = 0.005
BASELINE = Path(__file__).resolve().parent / "baseline.json"
Baseline = dict[str, dict[str, int | str]]


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(77)


def counted(program: str, folder: Path) -> dict[str, int]:
    """Returns the instructions per call, by name; callgrind writes a file for each, with name and
    number of calls.
    """
    environment = {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
    }
    command = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--callgrind-out-file={folder}/out",
        program,
    ]
    done = subprocess.run(
        command, env=environment, cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    counts = {}
    for file in folder.glob("out.*"):
        text = file.read_text(errors="replace")
        trigger = re.search(r"Client Request: (.+)\*(\d+)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if trigger and total:
            counts[trigger[1]] = round(int(total[1]) / int(trigger[2]))
    if not counts:
        sys.exit(f"callgrind wrote no counts:\n{done.stderr}")
    return dict(sorted(counts.items()))


def compare(counts: dict[str, int], baseline: Baseline) -> list[str]:
    faults = []
    print(f"{'instructions':46} {'now':>12} {'baseline':>12} {'change':>8}")
    for name, now in counts.items():
        if name not in baseline:
            faults.append(f"{name}: {now} instructions, but the baseline has no such entry")
            continue
        was = int(baseline[name]["instructions"])
        print(
            f"{name:46} {now:12} {was:12} "
            f"{(now / was - 1) * 100:+7.1f}%"
            f"{'  baseline could be lowered' if now * MOST < was else ''}"
        )
        if now > was * MOST:
            faults.append(
                f"{name}: {now} instructions, "
                f"{(now / was - 1) * 100:.1f} % above the baseline's {was}"
            )
    return faults + [
        f"{name}: is in the baseline but was not counted" for name in baseline if name not in counts
    ]


def unfounded(baseline: Baseline, before: Baseline) -> list[str]:
    """Returns messages for entries that were raised without a new reason, or have no reason."""
    faults = []
    for name, entry in baseline.items():
        reason, old = str(entry.get("reason", "")).strip(), before.get(name)
        if not reason:
            faults.append(f"{name}: the baseline has no reason")
        elif (
            old
            and int(entry["instructions"]) > int(old["instructions"]) * MOST
            and reason == str(old.get("reason", "")).strip()
        ):
            faults.append(
                f"{name}: the baseline was raised from {old['instructions']} to "
                f"{entry['instructions']}, but its reason is unchanged"
            )
    return faults


def before(now: str) -> Baseline:
    """Returns the baseline before the latest change, which made it `now`: that of the last commit
    if the file has uncommitted changes, otherwise that before the last commit that changed it.
    Empty without git or without history.
    """

    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(BASELINE.parent), *arguments],
                check=False,
                capture_output=True,
                text=True,
            )
        except OSError:
            return ""
        return done.stdout if done.returncode == 0 else ""

    shown = git("show", f"HEAD:./{BASELINE.name}")
    if shown == now:
        latest = git("log", "-1", "--format=%H", "--", BASELINE.name).strip()
        shown = git("show", f"{latest}~1:./{BASELINE.name}") if latest else ""
    return dict(json.loads(shown)) if shown else {}


def update(counts: dict[str, int], baseline: Baseline, reason: str) -> None:
    made: Baseline = {}
    for name, now in counts.items():
        old = baseline.get(name)
        if old and abs(now / int(old["instructions"]) - 1) <= NOISE:
            made[name] = old
        else:
            print(f"{name}: {old['instructions'] if old else 'new'} -> {now}")
            made[name] = {"instructions": now, "reason": reason}
    BASELINE.write_text(json.dumps(made, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", nargs="?", type=os.path.abspath)
    parser.add_argument("--update", metavar="REASON")
    parser.add_argument("--not-reference", metavar="WHY")
    given = parser.parse_args()
    if given.not_reference:
        skip(given.not_reference)
    if given.update is not None and not given.update.strip():
        parser.error("--update needs a reason")
    if not shutil.which("valgrind"):
        skip("valgrind is missing (apt install valgrind)")
    if platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        skip("the baseline needs a machine with AVX2")
    with tempfile.TemporaryDirectory() as folder:
        counts = counted(given.program, Path(folder))
    text = BASELINE.read_text() if BASELINE.exists() else "{}"
    baseline: Baseline = json.loads(text)
    if given.update is not None:
        update(counts, baseline, given.update.strip())
        return 0
    faults = compare(counts, baseline) + unfounded(baseline, before(text))
    for fault in faults:
        print(fault)
    if faults:
        print(
            f'If this is meant: python3 {Path(__file__)} {given.program} --update "why", '
            "in the same commit"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
