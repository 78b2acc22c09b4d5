#!/usr/bin/env python3
"""import_circles.py [FOLDER]: fails if modules of the Python package, or its sub-packages, import
each other in a circle.

Counts imports inside of functions, too, which only hide a circle, but not those for type checkers.
FOLDER: the package; default: host/python/tenon.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "host/python/tenon"


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for each in child.orelse:
                yield from statements(ast.Module([each], []))
        else:
            yield from statements(child)


def targets(module: str, path: Path, known: Set[str]) -> Iterator[str]:
    """The modules that a module names: `tenon.x.y` in `from .x import y` if y is one, or
    `tenon.x`.
    """
    for each in statements(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
            continue
        parts = module.split(".")
        above = parts[: len(parts) - each.level + path.match("__init__.*")] if each.level else []
        base = ".".join([*above, *filter(None, [each.module])])
        for name in (f"{base}.{alias.name}" for alias in each.names):
            yield name if name in known else base


def imports(root: Path) -> dict[str, set[str]]:
    """The modules that each module imports. Importing one runs the packages around it first."""
    files = {}
    for path in root.rglob("*.py"):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        files[".".join(parts).removesuffix(".__init__")] = path
    known = {*files, f"{root.name}._core"}  # the compiled module
    found = {}
    for module, path in files.items():
        named = set(targets(module, path, known))
        around = {name.rpartition(".")[0] for name in named}
        outside = {name for name in around if not f"{module}.".startswith(f"{name}.")}
        found[module] = (named | outside) & files.keys()
    return found


def circle(edges: dict[str, set[str]]) -> str:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return " imports ".join(reversed(error.args[1]))
    return ""


def main() -> None:
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    modules = imports(root)
    if not modules:
        sys.exit(f"{root} has no modules")
    packages: dict[str, set[str]] = {}
    for module, names in modules.items():
        part = ".".join(module.split(".")[:2])
        inside = {".".join(name.split(".")[:2]) for name in names} - {part, root.name}
        if part != root.name:
            packages.setdefault(part, set()).update(inside)
    for kind, edges in (("modules", modules), ("sub-packages", packages)):
        if found := circle(edges):
            sys.exit(f"these {kind} import each other in a circle: {found}")


if __name__ == "__main__":
    main()
