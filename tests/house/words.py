#!/usr/bin/env python3
"""words.py [--count]: fails if comments, docstrings, pages or the product's messages contain
phrases that readers of English or of the field stumble over.

Reads comments of C, C++, CUDA, Python, shell and CMake sources, and Markdown outside of code
blocks, except what is quoted; and string literals with at least two spaces in C++, CUDA and Python
sources of the product. --count prints the number of matches of each phrase by folder instead of
their positions. Exits with 77 if this is not a git checkout.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Words that a comment must not begin with, and what to write instead.
BEGINNINGS = {
    r"Of\b(?! course)": "a sentence with a subject",
    r"Whose\b": "a sentence with a subject",
    r"What\b(?!.*\?$)": "a noun, or a sentence with a subject",
    r"Who\b(?!.*\?$)": "a sentence with a subject",
    r"The same\b": 'what is the same, or "Like ..."',
    r"So many\b": '"The number of ..."',
    r"Null:": '"Null if ..."',
    r"Null stands\b": '"Null if ..."',
    r"Whether or not\b": '"Whether ..."',
}
# Phrases that must not occur anywhere, and what to write instead.
PHRASES = {
    r"\b(?:somebody|nobody|everybody|anybody)\b": "the caller, the user, a thread: say who",
    r"\bwhere (?:it|there|they|that|nothing|this) (?:is|are|has|have) no(?:ne|thing)?\b": (
        "if it has no ..."
    ),
    r"\bwhere left out\b": "default: ...",
    r"\bso many\b|(?<!so )\bthat many\b|\bas many as there are\b": "the number of ...",
    r"(?<=\w )(?<!here )(?:is|are|was|were) none\b": "has no, is not a",
    r"(?<=\w )(?<!here )(?<!nothing )(?:is|are|was|were) no "
    r"(?!longer|more|less|later|larger|smaller|fewer|earlier|better|worse)\w+": "is not a ...",
    r"\banew\b": "again",
    r"\bagain and again\b": "repeatedly",
    r"\bin vain\b": "without effect",
    r"\b[Oo]f before\b": "older than",
    r"(?<!xavier, )\b(?:he|his|him)\b": "it, they",
    r"\btold\b(?!\(| [A-Z]{2})|\btells of\b": "receives, is notified, reports",
    r"\bwants\b": "needs, requires",
    r"\bbeside\b": "next to, along with, compared with",
    r"\bone behind\b|\bgo(?:es)? on behind\b|\b(?:inputs|steps) behind\b": "after",
    r"(?<!left )(?<!leave )(?<!leaves )\balone\b(?! (?:would|does|allows|suffices)\b)": "only",
    r"\bby now\b": "now, already",
    r"\bin the place of\b": "in place of, instead of",
    r"\bcut (?:it )?(?:off|short)\b": "truncated, cropped",
    r"\bwho(?:ever)? (?:asks|wants|reads|calls|writes|waits)\b": "the caller, the reader",
    r"\ball else\b|\bnothing else but\b": "everything else, only",
    r"\bin whose\b|\bof whose\b": "name the owner",
    r"\bwhere none (?:is|are|has|have)\b": "if no ... is, if it has no ...",
    r"(?<!no )\b(?:another|other) \w+ than\b": "different from, a ... other than",
    r"\b(?:a|de)scends?\b": "is in ascending order, increases, does not decrease",
    r"(?<!the kernel )\basks\b": "requires, requests, calls",
    r"\bwanted\b(?!\[)": "requested",
    r"\bnull: none\b": "may be null, null if there is no ...",
    r"\b(?:leaves?|left) open\b|\bopen (?:first )?(?:dimension|axis)": "unknown dimension; not set",
    r"\brow numbers?\b": "row index, row id",
    r"\bwhole shapes?\b": "full shape, fully known shape",
    r"\b(?:is|are) of another\b": "has a different ...",
}
STARTS = [(re.compile(pattern), better) for pattern, better in BEGINNINGS.items()]
ANYWHERE = [(re.compile(pattern), better) for pattern, better in PHRASES.items()]
KINDS = [f"*.{kind}" for kind in "c cpp hpp h cu cuh py md sh cmake".split()] + ["*CMakeLists.txt"]
ANY = re.compile("|".join(PHRASES))
# Code with its strings, then //, ///, ///< or /* and the comment.
COMMENT = re.compile(
    r"""((?:[^"/']|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/(?![/*]))*)(//|/\*)[/!*]?<?\s?(.*)$"""
)
QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"")
# The tokens of C++ between which string literals are found. Adjacent literals are one text.
CPP_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<end>[^ ()\\\n]*)\((?P<raw>.*?)\)(?P=end)"|"""
    r""""(?P<text>(?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\\n])+'|\d[\w.]*(?:'\w+)*|\w+|\S""",
    re.DOTALL,
)
ESCAPED = re.compile(r"\\(?:n|([\"'\\]))")
PYTHON_STRING = re.compile(r"""[rbfuRBFU]*(\"{3}|'{3}|"|')(.*)\1""", re.DOTALL)
# Folders of the product, whose users read its strings.
PRODUCT = ("host", "sdk", "plugins")


def tracked(*patterns: str) -> list[Path]:
    try:
        names = subprocess.run(
            ["git", "ls-files", "-z", *patterns],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        print("skipped: git is missing, or this is not a checkout")
        sys.exit(77)
    return [
        ROOT / name for name in names.split("\0") if name and not name.startswith("tests/data/")
    ]


def cpp_comments(text: str) -> Iterator[tuple[int, str, bool]]:
    """(line, text, whether a comment begins there); consecutive lines of `//` are one comment."""
    inside = block = False
    for number, line in enumerate(text.split("\n"), 1):
        if block:
            yield number, line.strip().removeprefix("*").removesuffix("*/").strip(), False
            block = "*/" not in line
            continue
        found = COMMENT.match(line) if "//" in line or "/*" in line else None
        if not found:
            inside = False
            continue
        code, start, words = found.groups()
        if start == "/*":
            words, end, _ = words.partition("*/")
            block = not end
        whole_line = start == "//" and not code.strip()
        yield number, words, not (inside and whole_line)
        inside = whole_line


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


def script_comments(text: str) -> Iterator[tuple[int, str, bool]]:
    previous = -1
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.match(r"(.*\s)?#(?!!)\s?(.*)$", line):
            yield number, found[2], number != previous + 1
            previous = number


def page_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    in_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield number, line, False


def sentences(pieces: list[tuple[int, str]]) -> Iterator[tuple[int, str, bool]]:
    """The lines of adjacent literals, each with the line it begins at, if they are prose."""
    if sum(piece.count(" ") for _, piece in pieces) < 2:
        return
    begins = True
    for number, piece in pieces:
        for offset, each in enumerate(piece.split("\n")):
            yield number + offset, each, begins
            begins = False


def cpp_strings(text: str) -> Iterator[tuple[int, str, bool]]:
    pieces: list[tuple[int, str]] = []
    line, end = 1, 0
    for found in CPP_TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        if found["text"] is not None:
            pieces.append((line, ESCAPED.sub(lambda escape: escape[1] or " ", found["text"])))
        elif found["raw"] is not None:
            pieces.append((line, found["raw"]))
        elif not found[0].startswith(("//", "/*")):
            yield from sentences(pieces)
            pieces = []
    yield from sentences(pieces)


def python_strings(text: str) -> Iterator[tuple[int, str, bool]]:
    """The texts of literals other than docstrings, which python_comments() returns."""
    pieces: list[tuple[int, str]] = []
    between = (tokenize.NL, tokenize.COMMENT)
    previous = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        found = PYTHON_STRING.fullmatch(token.string) if token.type == tokenize.STRING else None
        statement = (tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, *between)
        if found and not (len(found[1]) == 3 and previous in statement):
            pieces.append((token.start[0], ESCAPED.sub(lambda each: each[1] or " ", found[2])))
        elif token.type not in between:
            yield from sentences(pieces)
            pieces = []
        previous = token.type


def faults(path: Path) -> Iterator[tuple[int, str, str]]:
    text = path.read_text(encoding="utf-8")
    if path.relative_to(ROOT).parts[0] in PRODUCT:
        if path.suffix == ".py":
            yield from faults_of(python_strings(text))
        elif path.suffix in (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"):
            yield from faults_of(cpp_strings(text))
    if path.suffix == ".py":
        lines = python_comments(text)
    elif path.suffix == ".md":
        lines = page_lines(text)
    elif path.suffix in (".sh", ".cmake", ".txt"):
        lines = script_comments(text)
    else:
        lines = cpp_comments(text)
    yield from faults_of(lines)


def faults_of(lines: Iterable[tuple[int, str, bool]]) -> Iterator[tuple[int, str, str]]:
    last = -1
    before = ""  # the end of the line before, as phrases may begin there
    for number, line, begins in lines:
        prose = QUOTED.sub("``", line).rstrip()
        for pattern, better in STARTS if begins else []:
            if found := pattern.match(prose):
                yield number, found[0], better
        if begins or number > last + 1:
            before = ""
        both = before + prose.lstrip()
        for pattern, better in ANYWHERE if ANY.search(both) else []:
            for found in pattern.finditer(both):
                if found.end() > len(before):
                    yield number, found[0], better
        last, before = number, " ".join([*prose.split()[-3:], ""])


def main() -> int:
    counts: Counter[tuple[str, str]] = Counter()
    total = 0
    for path in tracked(*KINDS):
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
