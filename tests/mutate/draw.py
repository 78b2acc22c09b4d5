#!/usr/bin/env python3
"""draw.py SEED COUNT FILE...: draws small faults from C++ sources, all with equal probability.

Prints for each fault: the file, the line, the change, and a sed command that applies it, separated
by tabs. The rules rely on clang-format's spacing: binary operators are surrounded by spaces, the
angle brackets of templates are not."""

import random
import re
import sys

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
DECLARATION = re.compile(r"^(const\s+)?(auto|[\w:]+(<.*>)?)\b[\s*&]+[\w\[\], ]+ = ")
FAILING = re.compile(r"^(throw\b|refuse\(|fail\(|return fail|return refuse|return reject)")
CHECK_CALL = re.compile(r"^\s*((\w+(\.|->|::))*(check|require|verify|validate|refuse)\w*\(.*\);)$")


def code_places(line):
    """Returns whether each character is code, not part of a string or comment."""
    places, quote, i = [], None, 0
    while i < len(line):
        if quote:
            places.append(False)
            if line[i] == "\\":
                places.append(False)
                i += 1
            elif line[i] == quote:
                quote = None
        elif line.startswith("//", i):
            return places + [False] * (len(line) - i)
        elif line[i] == '"' or (line[i] == "'" and not (i and line[i - 1].isalnum())):
            quote = line[i]
            places.append(False)
        else:
            places.append(True)
        i += 1
    return places


def condition_of(line, begin):
    """Returns the range of an if's condition without an init statement, or None; ( is at
    `begin`.
    """
    depth, start = 0, begin + 1
    for i in range(begin, len(line)):
        depth += line[i] in "([{"
        depth -= line[i] in ")]}"
        if depth == 1 and line[i] == ";":
            start = i + 2
        if depth == 0:
            return None if DECLARATION.match(line[start:i]) else (start, i)
    return None


def faults_of(line, following):
    """Yields pairs: a description of the change, and the changed line."""
    places = code_places(line)
    found = lambda pattern: (m for m in re.finditer(pattern, line) if places[m.start()])
    for m in found(r"(?<= )(<=|>=|==|!=|<|>|&&|\|\|)(?= )"):
        yield f"{m[0]} is {SWAPS[m[0]]}", line[: m.start()] + SWAPS[m[0]] + line[m.end() :]
    for m in found(r" [+-] 1\b(?![.'])"):
        yield f"without{m[0]}", line[: m.start()] + line[m.end() :]
    for m in found(r"\bstd::(min|max)\b(?=[<(])"):
        other = {"min": "max", "max": "min"}[m[1]]
        yield f"{m[1]} is {other}", line[: m.start(1)] + other + line[m.end(1) :]
    for m in found(r"\bif \("):
        place = condition_of(line, m.end() - 1)
        if place is None:
            continue
        start, end = place
        condition = line[start:end]
        yield "condition negated", f"{line[:start]}!({condition}){line[end:]}"
        if FAILING.match(line[end + 1 :].strip(" {") or following.strip()):
            yield "check dropped", f"{line[:start]}false && ({condition}){line[end:]}"
    m = CHECK_CALL.match(line)
    if m and places[m.start(1)]:
        yield "check dropped", line[: m.start(1)] + "{}"


def candidates(path):
    lines = open(path, encoding="utf-8").read().split("\n")
    raw = False
    for i, line in enumerate(lines):
        opened = 'R"' in line
        skip = raw or opened or re.match(r"\s*(//|/?\*|#|static_assert|template\b|using\b)", line)
        if opened or raw:
            raw = not re.search(r'\)\w*"', line)
        if skip:
            continue
        following = lines[i + 1] if i + 1 < len(lines) else ""
        for what, changed in faults_of(line, following):
            yield path, i + 1, what, f"{i + 1}c\\" + changed.replace("\\", "\\\\")


def main():
    seed, count, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    every = [fault for path in sorted(files) for fault in candidates(path)]
    print(f"{len(every)} possible faults in {len(files)} files", file=sys.stderr)
    for fault in random.Random(seed).sample(every, min(count, len(every))):
        print(*fault, sep="\t")


main()
