#!/usr/bin/env python3
"""words.py [--count]: fails if comments, docstrings or pages contain phrases that readers of English or of the field stumble over.

Looks at comments of C++, CUDA and Python sources and at Markdown outside of code blocks. --count prints how often each pattern occurs
in which folder instead of each place.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# What a comment must not begin with, and what to write instead.
BEGINNINGS = {
    r"Of\b(?! course)": "a sentence with a subject",
    r"Whose\b": "a sentence with a subject",
    r"What\b(?!.*\?$)": "a noun, or a sentence with a subject",
    r"Who\b(?!.*\?$)": "a sentence with a subject",
    r"The same\b": 'what is the same, or "Like ..."',
    r"So many\b": '"The number of ..."',
    r"Null:": '"Null if ..."',
    r"Null stands\b": '"Null if ..."',
}
# What must not stand anywhere, and what to write instead.
PHRASES = {
    r"\b(?:somebody|nobody|everybody|anybody)\b": "the caller, the user, a thread: say who",
    r"\bwhere (?:it|there|they|that|nothing|this) (?:is|are|has|have) no(?:ne|t|thing)?\b": "if it has no ...",
    r"\b(?:so|that) many\b": "the number of ...",
    r"\banew\b": "again",
    r"\bagain and again\b": "repeatedly",
    r"\bin vain\b": "without effect",
    r"\b[Oo]f before \d": "older than",
    r"\b(?:he|his|him)\b": "it, they",
    r"\bis told\b|\bare told\b|\btells of\b|\btold of\b": "receives, is notified, reports",
    r"\bwho(?:ever)? (?:asks|wants|reads|calls|writes|waits)\b": "the caller, the reader",
    r"\ball else\b|\bnothing else but\b": "everything else, only",
    r"\bin whose\b|\bof whose\b": "name the owner",
}
STARTS = [(re.compile(pattern), better) for pattern, better in BEGINNINGS.items()]
ANYWHERE = [(re.compile(pattern), better) for pattern, better in PHRASES.items()]
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")


def tracked(*patterns: str) -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return [
        ROOT / name
        for name in names.split("\0")
        if name and not name.startswith(("tests/data/", "tests/house/words.py"))
    ]


def cpp_comments(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line, text, whether a comment begins there); lines of `//` that follow each other are one comment."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        found = re.match(
            r'^((?:[^"/\']|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|/(?![/*]))*)//[/!]?<?\s?(.*)$',
            line,
        )
        if not found:
            inside = False
            continue
        alone = not found[1].strip()
        yield number, found[2], not (inside and alone)
        inside = alone


def python_comments(text: str) -> Iterator[tuple[int, str, bool]]:
    previous = -1
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, IndentationError):
        return
    for i, token in enumerate(tokens):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            yield line, token.string.lstrip("#! "), line != previous + 1
            previous = line
        elif token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""')):
            if tokens[i - 1].type in (
                tokenize.INDENT,
                tokenize.NEWLINE,
                tokenize.NL,
                tokenize.ENCODING,
            ):
                for offset, each in enumerate(token.string.strip('r"').split("\n")):
                    yield line + offset, each.strip(), offset == 0


def page_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, line, False


def faults(path: Path) -> Iterator[tuple[int, str, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        lines = python_comments(text)
    elif path.suffix == ".md":
        lines = page_lines(text)
    else:
        lines = cpp_comments(text)
    for number, line, begins in lines:
        prose = QUOTED.sub("``", line)
        for pattern, better in STARTS if begins else []:
            if found := pattern.match(prose):
                yield number, found[0], better
        for pattern, better in ANYWHERE:
            if found := pattern.search(prose):
                yield number, found[0], better


def main() -> int:
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for path in tracked("*.cpp", "*.hpp", "*.h", "*.cu", "*.cuh", "*.py", "*.md"):
        for number, phrase, better in faults(path):
            name = path.relative_to(ROOT)
            total += 1
            counts["/".join(name.parts[:2]), phrase.lower()] += 1
            if "--count" not in sys.argv:
                print(f"{name}:{number}: '{phrase}': write {better}")
    if "--count" in sys.argv:
        for (folder, phrase), count in sorted(counts.items()):
            print(f"{count:6} {folder:24} {phrase}")
    print(f"{total} phrases to rewrite")
    return 1 if total else 0


sys.exit(main())
