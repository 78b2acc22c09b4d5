"""Compiler output, with the errors in the author's source first."""

from __future__ import annotations

import re

LOCATION = re.compile(
    r"^(?P<file>[^\s:][^:]*)[:(](?P<line>\d+)(?:[:,](?P<column>\d+))?\)?:? *"
    r"(?P<kind>fatal error|error|note|warning)?:? ?(?P<text>.*)$"
)
LINKER = re.compile(
    r"(?:undefined reference|undefined symbol|multiple definition|cannot find -l).*"
)
MAX_FAULTS, MAX_REST = 5, 20


def _location(line: str) -> re.Match[str] | None:
    found = LOCATION.match(line.replace("error: static assertion failed: ", "error: "))
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
        if not line.startswith(" ") or _location(line) is not None:
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
        location = _location(line)
        if location is None:
            if (
                "In instantiation of" in line
                or "In substitution of" in line
                or line.startswith("In file included from")
            ):
                led = None
            continue
        own, is_error = location["file"] == source, location["kind"] in ("error", "fatal error")
        if is_error:
            waiting = None
        if is_error and own:
            found.append(
                [f"{name}:{location['line']}: {location['text']}", *_code_below(lines, at)]
            )
        elif is_error and led is not None:
            found.append([f"{name}:{led}: {location['text']}"])
        elif is_error:
            waiting = location["text"]
        elif own and location["kind"] is None:
            led = location["line"]
        elif own and waiting is not None:
            found.append([f"{name}:{location['line']}: {waiting}"])
            waiting = None
    unique: list[list[str]] = []
    for fault in found:
        if all(fault[0] != before[0] for before in unique):
            unique.append(fault)
    return unique


def summary(output: str, source: str) -> str:
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
    text = [line for fault in own[:MAX_FAULTS] for line in fault] or list(linked)[:MAX_FAULTS]
    if len(own) > MAX_FAULTS:
        text.append(f"and {len(own) - MAX_FAULTS} more errors")
    shown = set(text)
    printed = tuple("error: " + fault[0].split(": ", 1)[1] for fault in own)
    rest = [
        line
        for line in lines
        if line not in shown and not line.endswith(printed) and not LINKER.search(line)
    ]
    if rest:
        text += (["compiler output:"] if text else []) + ["  " + line for line in rest[:MAX_REST]]
    if len(rest) > MAX_REST:
        text.append(f"  ... {len(rest) - MAX_REST} more lines in .output")
    return "\n".join(text)
