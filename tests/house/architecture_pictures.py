"""architecture_pictures.py: checks the pictures that are drawn from host/docs/pictures/*.dot.

A page shows each of them, each NAME.svg shows what dot draws from NAME.dot, and the folders have
what the boxes name: the first line of a box has types or functions, the last line their folders.
Positions differ between versions of graphviz, so only words and edges of the SVG are compared.
Exits with 77 (skipped) without graphviz.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "host/docs/pictures"
NAMES = {"architecture", "plugin_to_kernel", "file_to_result", "training_step", "eager_call"}
SOURCES = {".hpp", ".cpp", ".h", ".cu", ".py"}


def drawn(source: Path, kind: str) -> str:
    command = ["dot", f"-T{kind}", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{source.relative_to(ROOT)}: dot fails: {done.stderr}")
    return done.stdout


def words(svg: str) -> list[str]:
    found = re.findall(r"<(?:title|text)\b[^>]*>([^<]*)", svg)
    return sorted(html.unescape(text) for text in found)


def words_in(folder: Path) -> set[str]:
    """The identifiers in the sources of a folder and its subfolders, and the sources' names."""
    found: set[str] = set()
    for path in folder.rglob("*"):
        if path.suffix in SOURCES and path.is_file():
            found.add(path.stem)
            found.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return found


def faults_of_box(label: str) -> list[str]:
    lines = label.split("\\n")
    if len(lines) < 2:
        return [f"box '{label}' has no folder"]
    found: set[str] = set()
    for folder in lines[-1].split(", "):
        if not (ROOT / folder).is_dir():
            return [f"box '{lines[0]}': there is no folder {folder}"]
        found |= words_in(ROOT / folder)
    missing = [name for name in re.findall(r"\w+", lines[0]) if name not in found]
    return [f"box '{lines[0]}': {lines[-1]} has no {name}" for name in missing]


def faults_of(source: Path, pages: dict[Path, str]) -> list[str]:
    svg = source.with_suffix(".svg")
    if not svg.exists():
        return [f"{svg.name} is missing: run dot -Tsvg {source.name} -o {svg.name}"]
    faults = []
    if words(svg.read_text(encoding="utf-8")) != words(drawn(source, "svg")):
        faults.append(f"{svg.name} differs from what dot draws: regenerate it")
    shown = f"](pictures/{svg.name})"
    if shown not in pages[ROOT / "host/docs/architecture.md"]:
        faults.append("host/docs/architecture.md does not show it")
    objects = json.loads(drawn(source, "json0"))["objects"]
    nodes = [node for node in objects if "shape" in node]  # the others are groups of nodes
    if len(nodes) > 16:
        faults.append(f"it has {len(nodes)} nodes, more than 16")
    for node in nodes:
        if node["shape"] == "box":
            faults += faults_of_box(node["label"])
    return faults


def main() -> int:
    if shutil.which("dot") is None:
        print("skipped: dot is missing (apt install graphviz)")
        return 77
    shown_by = ("host/docs/architecture.md", ".github/CONTRIBUTING.md")
    pages = {ROOT / page: (ROOT / page).read_text(encoding="utf-8") for page in shown_by}
    faults = []
    sources = sorted(PICTURES.glob("*.dot"))
    for name in sorted(NAMES - {source.stem for source in sources}):
        faults.append(f"{name}.dot: it is missing")
    for source in sources:
        faults += [f"{source.name}: {fault}" for fault in faults_of(source, pages)]
    if "/pictures/architecture.svg)" not in pages[ROOT / ".github/CONTRIBUTING.md"]:
        faults.append("architecture.dot: .github/CONTRIBUTING.md does not show it")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
