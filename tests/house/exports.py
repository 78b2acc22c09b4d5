#!/usr/bin/env python3
"""exports.py LIBRARY HEADERS: libtenon exports exactly what its public headers declare.

Reads declarations from the text of the headers, regardless of their attributes, and compares them
with the library's symbols."""

import pathlib
import re
import subprocess
import sys


def plain(text):
    """Returns the text without comments, preprocessor lines, strings and attributes."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", " ", text, flags=re.M)
    text = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', text)
    return re.sub(
        r"\bTENON_(?:API|HIDDEN)\b|\b(?:public|private|protected):|\[\[[^\]]*\]\]", " ", text
    )


def end_of_braces(text, at):
    """Index after the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    sys.exit("braces do not match")


def function_name(statement):
    """The name before the first parenthesis that is not in angle brackets.

    None if the statement does not declare a function.
    """
    angles = 0
    for i, letter in enumerate(statement):
        if letter == "<":
            angles += 1
        elif letter == ">" and statement[i - 1] != "-":
            angles -= 1
        elif letter == "=" and angles == 0 and "operator" not in statement[:i]:
            return None
        elif letter == "(" and angles == 0:
            found = re.search(r"(~?\w+|operator\s*\S+|operator bool)\s*$", statement[:i])
            return re.sub(r"\s+", " ", found[1]) if found else None
    return None


class Declared:
    def __init__(self):
        self.classes = set()
        self.functions = {}  # qualified name -> whether the library must export it

    def read(self, text, scope=()):
        start = at = parens = 0
        while at < len(text):
            letter = text[at]
            parens += {"(": 1, ")": -1}.get(letter, 0)
            if parens == 0 and letter == ";":
                self.statement(text[start:at], scope, body=False)
                start = at + 1
            elif parens == 0 and letter == "{":
                head, end = text[start:at].strip(), end_of_braces(text, at)
                space = re.search(r"^namespace ([\w:]+)$", head)
                kind = re.search(
                    r"^(?:template <[^{}]*> )?(?:class|struct) (\w+)(?: : [^()]*)?$",
                    re.sub(r"\s+", " ", head),
                )
                if space:
                    self.read(text[at + 1 : end - 1], scope + (space[1],))
                elif kind:
                    self.classes.add("::".join(scope + (kind[1],)))
                    self.read(text[at + 1 : end - 1], scope + (kind[1],))
                elif function_name(head):
                    self.statement(head, scope, body=True)
                else:  # an enumeration, or a member with an initializer
                    at = end
                    continue
                start = at = end
                continue
            at += 1

    def statement(self, text, scope, body):
        text = re.sub(r"\s+", " ", text).strip()
        if text.startswith(("using ", "friend class", "friend struct")) or "namespace" in text:
            return
        name = function_name(text)
        if name is None:
            return
        elsewhere = (
            body
            or text.startswith(("template", "friend"))
            or re.search(r"= (?:default|delete|0)$", text)
        )
        name = "::".join(scope + (name,))
        self.functions[name] = self.functions.get(name, False) or not elsewhere


def qualified_name(symbol):
    """The qualified name in a demangled symbol, without the arguments of templates and
    functions.
    """
    depth, kept = 0, ""
    for letter in re.sub(r"\[abi:\w+\]", "", symbol):
        if letter == "<" and not kept.endswith("operator"):
            depth += 1
        elif letter == ">" and depth > 0:
            depth -= 1
        elif depth == 0 and letter == "(":
            break
        elif depth == 0:
            kept += letter
    return kept.strip()


def symbols_of(library, *options):
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", *options, library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [line.split(" ", 2)[2] for line in symbols.splitlines()]


def foreign(mangled):
    """Symbols outside of tenon::.

    For example, an exported template of the standard library would replace plugins' own instances.
    """
    return sorted(name for name in mangled if not re.match(r"_Z(?:T[ISV]|GV)?N[KVRO]*5tenon", name))


def exported(symbols):
    """Qualified names of exported symbols in tenon::; for type information, the name of the
    class.
    """
    names = (qualified_name(symbol) for symbol in symbols)
    found = (re.search(r"(?:^| )(tenon::\S+(?: bool)?)$", name) for name in names)
    return {match[1] for match in found if match}


def main():
    library, headers = sys.argv[1], pathlib.Path(sys.argv[2])
    declared = Declared()
    for header in sorted(headers.glob("**/*.hpp")):
        declared.read(plain(header.read_text()))
    if not {"tenon::Graph", "tenon::Tensor"} <= declared.classes or len(declared.functions) < 100:
        sys.exit(f"only {len(declared.functions)} functions were found in {headers}")
    symbols = exported(symbols_of(library, "-C"))
    allowed = declared.classes | set(declared.functions)
    faults = [
        f"exported, but no public header declares it: {name}"
        for name in foreign(symbols_of(library)) + sorted(symbols - allowed)
    ]
    for function, needed in sorted(declared.functions.items()):
        if needed and function not in symbols:
            faults.append(f"declared, but not exported: {function} (is it marked with TENON_API?)")
    print(*faults, sep="\n")
    print(f"{len(symbols)} names of tenon:: are exported, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
