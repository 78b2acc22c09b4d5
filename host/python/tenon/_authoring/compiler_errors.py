"""Compiler output, with the errors in the author's source first."""

from __future__ import annotations

import re

PLACE = re.compile(
    r"^(?P<file>[^\s:][^:]*)[:(](?P<line>\d+)(?:[:,](?P<column>\d+))?\)?:? *(?P<kind>fatal error|error|note|warning)?:? ?(?P<text>.*)$"
)
LINKER = re.compile(
    r"(?:undefined reference|undefined symbol|multiple definition|cannot find -l).*"
)
MOST_FAULTS, MOST_REST = 5, 20


def _place(line: str) -> re.Match[str] | None:
    found = PLACE.match(line.replace("error: static assertion failed: ", "error: "))
    return (
        found
        if found is not None
        and (found["kind"] or "required from" in line or "instantiated from" in line)
        else None
    )


def _code_below(lines: list[str], at: int) -> list[str]:
    """The line of code and the caret that the compiler prints below a message."""
    below = []
    for line in lines[at + 1 : at + 5]:
        if not line.startswith(" ") or _place(line) is not None:
            break
        below.append(line)
    return below


def faults(output: str, source: str) -> list[list[str]]:
    """Errors in the author's source, each with its code.

    An error in a header is attributed to the source line that led there, which g++ prints before it
    and clang after it.
    """
    lines = output.splitlines()
    found: list[list[str]] = []
    name = source.rsplit("/", 1)[-1]
    led: str | None = None  # the source line that led to the following messages
    waiting: str | None = None  # an error in a header whose source line is not known yet
    for at, line in enumerate(lines):
        place = _place(line)
        if place is None:
            if (
                "In instantiation of" in line
                or "In substitution of" in line
                or line.startswith("In file included from")
            ):
                led = None
            continue
        own, is_error = place["file"] == source, place["kind"] in ("error", "fatal error")
        if is_error:
            waiting = None
        if is_error and own:
            found.append([f"{name}:{place['line']}: {place['text']}", *_code_below(lines, at)])
        elif is_error and led is not None:
            found.append([f"{name}:{led}: {place['text']}"])
        elif is_error:
            waiting = place["text"]
        elif own and place["kind"] is None:
            led = place["line"]
        elif own and waiting is not None:
            found.append([f"{name}:{place['line']}: {waiting}"])
            waiting = None
    unique: list[list[str]] = []
    for fault in found:
        if all(fault[0] != before[0] for before in unique):
            unique.append(fault)
    return unique


def told(output: str, source: str) -> str:
    """The message of a CompileError: errors in the author's source, then the rest of the output,
    shortened.
    """
    own = faults(output, source)
    lines = [
        line.replace(source, source.rsplit("/", 1)[-1])
        for line in output.splitlines()
        if line.strip()
    ]
    linked = dict.fromkeys(found[0] for found in map(LINKER.search, lines) if found)
    text = [line for fault in own[:MOST_FAULTS] for line in fault] or list(linked)[:MOST_FAULTS]
    if len(own) > MOST_FAULTS:
        text.append(f"and {len(own) - MOST_FAULTS} more errors")
    shown = set(text)
    said = tuple("error: " + fault[0].split(": ", 1)[1] for fault in own)
    rest = [
        line
        for line in lines
        if line not in shown and not line.endswith(said) and not LINKER.search(line)
    ]
    if rest:
        text += (["compiler output:"] if text else []) + ["  " + line for line in rest[:MOST_REST]]
    if len(rest) > MOST_REST:
        text.append(f"  ... {len(rest) - MOST_REST} more lines in .output")
    return "\n".join(text)
