#!/usr/bin/env python3
"""stage.py FOLDER TYPES: prepares FOLDER for mkdocs: the repository's pages in FOLDER/pages, at
their paths in the repository.

TYPES: the file _core.pyi, which a build with Python generates in python/tenon.

Files that a page links to, such as pictures and sources, are copied, too; a picture NAME.svg with a
source NAME.dot is drawn again from it. A link to a folder leads to its README.md, or, if there is
none, becomes plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\[(?:[^][]|\[[^][]*\])*\])\(([^)\s]+)\)|(<img src=\")([^\"]+)\"")
REFERENCE = """# Python reference

The public names of the package `tenon`. [Tenon for Python](../host/python/README.md) introduces
them.

::: tenon

::: tenon.Tensor
    options:
      show_if_no_docstring: true

::: tenon.nn

::: tenon.torch
"""
CPP_REFERENCE = """# C++ reference

[Classes, functions and files](cpp/index.html) of the headers that applications and plugins include,
with a search of their own. [The C++ library](../host/README.md) and
[Writing operators](../sdk/README.md) introduce them.

| class | contents |
| --- | --- |
| [`tenon::Graph`](cpp/classtenon_1_1Graph.html) | operators and their values |
| [`tenon::Session`](cpp/classtenon_1_1Session.html) | runs a graph |
| [`tenon::Trainer`](cpp/classtenon_1_1Trainer.html) | trains a graph |
| [`tenon::Host`](cpp/classtenon_1_1Host.html) | plugins, and eager calls of their operators |
| [`tenon::Tensor`](cpp/classtenon_1_1Tensor.html) | dense and sparse arrays |

[Describe reference](../sdk/docs/describe_reference.md) has the calls that `describe` may make.
"""
# Links to these headers lead to sections of the page that describe_reference.py writes.
DESCRIBE_REFERENCE = "sdk/docs/describe_reference.md"
CALLS_OF_DESCRIBE = {
    "sdk/include/tenon/declarations.hpp": "",
    "sdk/include/tenon/version_declarations.hpp": "versions",
    "sdk/include/tenon/onnx_declarations.hpp": "onnx",
    "sdk/include/tenon/detail/parameter_declarations.hpp": "parameters",
}


def site_path(path: str) -> str:
    return path.replace(".github/", "project/", 1) if path.startswith(".github/") else path


def staged(page: str, pages: Path, copied: set[str]) -> str:
    """The text of a page with links that are valid in the site; copies what it links to."""
    folder = os.path.dirname(page)

    def link(found: re.Match[str]) -> str:
        label, target = (found[1], found[2]) if found[1] else (found[3], found[4])
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        repository = os.path.normpath(os.path.join(folder, path))
        if (ROOT / repository).is_dir():
            if not (ROOT / repository / "README.md").exists():
                return label[1:-1]
            repository += "/README.md"
        if repository in CALLS_OF_DESCRIBE:
            anchor = anchor or CALLS_OF_DESCRIBE[repository]
            repository = DESCRIBE_REFERENCE
        elif not repository.endswith(".md"):
            copied.add(repository)
        own = os.path.relpath(site_path(repository), os.path.dirname(site_path(page)) or ".")
        own += f"#{anchor}" if anchor else ""
        return f"{label}({own})" if found[1] else f'{label}{own}"'

    lines, in_code = [], False
    for line in (ROOT / page).read_text(encoding="utf-8").split("\n"):
        if line.startswith("```"):
            in_code = not in_code
        lines.append(line if in_code or line.startswith("    ") else LINK.sub(link, line))
    return "\n".join(lines)


def copy_or_draw(path: str, target: Path) -> None:
    """Copies a file of the repository, or draws it from its source for graphviz."""
    source = (ROOT / path).with_suffix(".dot")
    if not path.endswith(".svg") or not source.exists():
        shutil.copy(ROOT / path, target)
        return
    try:
        subprocess.run(["dot", "-Tsvg", source, "-o", target], check=True)
    except FileNotFoundError:
        sys.exit(f"error: cannot draw {path}: graphviz's dot is missing (apt install graphviz)")
    except subprocess.CalledProcessError:
        sys.exit(f"error: cannot draw {path}: graphviz's dot failed")


def main() -> None:
    out = Path(sys.argv[1]).resolve()
    pages = out / "pages"
    names = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    copied: set[str] = set()
    for page in names:
        if page.startswith("sdk/template/"):
            continue
        target = pages / site_path(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(staged(page, pages, copied), encoding="utf-8")
    for path in sorted(copied):
        target = pages / site_path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_or_draw(path, target)
    reference = pages / "reference/python.md"
    reference.parent.mkdir()
    reference.write_text(REFERENCE, encoding="utf-8")
    reference.with_name("cpp.md").write_text(CPP_REFERENCE, encoding="utf-8")
    (pages / "assets").mkdir()
    shutil.copy(ROOT / "host/docs/iframe-worker.js", pages / "assets")
    shutil.copytree(ROOT / "host/python/tenon", out / "packages/tenon")
    shutil.copy(sys.argv[2], out / "packages/tenon/_core.pyi")
    shutil.copy(ROOT / "host/docs/mkdocs.yml", out)


main()
