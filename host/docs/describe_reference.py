#!/usr/bin/env python3
"""describe_reference.py XML PAGE: writes the site's page of the calls that an operator's describe()
may make, from the comments of the SDK's headers.

XML: the folder of Doxygen's XML. A comment's sentences that begin with "Default:", "Example:" and
"Error:" become entries of their own. Fails if a call is in no group below, or has no comment.
"""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Classes of the SDK: the call whose result they are, and the class that Python has for it.
CLASSES = {
    "Declarations": ("op", "Describer"),
    "Collector": ("op", "Describer"),
    "VersionDeclarations": ("op", "Versions"),
    "Declarations::Argument": ("op.input(...)", "Input"),
    "Result": ("op.output(...)", "Output"),
    "Declarations::State": ("op.state(...)", "State"),
    "Parameter": ("op.param(...)", "Param"),
    "Declarations::Conditional": ("op.inplace(...)", "Conditional"),
    "VersionDeclarations::Change": ("op.added(...)", "Change"),
    "OnnxDeclarations": ("op.onnx(...)", ""),
}
NOT_FOR_AUTHORS = {"op.finish", "op.elementwise", "op.derivative"}
GROUPS = {
    "Names and documentation": "op.doc op.space op.alias op.example",
    "Inputs and outputs": """op.input op.input(...).optional op.input(...).variadic
        op.input(...).weight op.input(...).initial op.output op.output(...).hidden
        op.output(...).hidden_when op.output(...).count op.state op.state(...).initial""",
    "Parameters": """op.param op.param(...).required op.param(...).at_least
        op.param(...).at_most op.param(...).greater_than op.param(...).less_than
        op.param(...).one_of op.require op.derived""",
    "Types and shapes": """op.types op.input(...).types op.input(...).shape_only
        op.output(...).allocated""",
    "Gradients": "op.backward_reads op.linear op.gradient_of_duals op.surrogate_gradient",
    "Sparse tensors": "op.zero_where",
    "Memory and devices": """op.inplace op.backward_inplace op.inplace(...).when op.accumulates
        op.takes_strides op.takes_channels_last op.prefers_channels_last op.input(...).on_cpu
        op.kernels_elsewhere""",
    "Runs and rewriting": "op.uses_random op.communicates op.rule op.exact_rule",
    "ONNX": """op.onnx op.onnx(...).since op.onnx(...).until op.onnx(...).types
        op.onnx(...).attribute op.onnx(...).value op.onnx(...).inputs op.onnx(...).outputs
        op.onnx(...).input_as op.onnx(...).halves op.onnx(...).constant op.onnx(...).without
        op.onnx(...).only op.onnx(...).ignore op.traced""",
    "Versions": """op.version op.renamed op.added op.removed op.added(...).was op.added_input
        op.added_output op.added_state""",
}
INTRODUCTION = """# Describe reference

<style>.md-typeset td:first-child code { white-space: nowrap }</style>

Every call that `describe(auto& op)` may make, generated from the comments of the SDK's headers.
[Describing an operator](describe.md) introduces them.

Options follow a call after a dot: `op.input("x", "...").optional()`. What follows `op.inplace` as
`.when` also follows `op.backward_inplace`, `op.backward_reads` and `op.linear`, and `.was` follows
`op.added` and `op.removed`. An error is a sentence of the compiler, with the name of the input,
output or parameter that it is about, unless it says when else it occurs. The page says which calls
`op` of [Python](../../host/python/README.md#operators-of-your-own) lacks.
"""
LABEL = r"(?:Default|Example|Error)(?:, [^:.]+)?:"
# Code in the text of a comment: names with a scope or an object, and names of functions.
CODE = re.compile(
    r"(?<![\w.:])((?:std|tenon|Write|View)::[\w:]+|(?:op|io|call)\.\w+|\.?\w+(?=\(\)))(\([^()]*\))?"
)


def anchor(word: str) -> str:
    return word.replace("(...).", "-").replace(".", "-")


class Markdown:
    """The text of comments as Markdown."""

    def __init__(self, words: Iterable[str]) -> None:
        """`words`: the calls that have a section."""
        self.section_of: dict[str, str] = {}
        for word in words:
            for name in (word, word.split(".")[-1]):
                self.section_of.setdefault(name, word)

    def text(self, plain: str) -> str:
        def code(found: re.Match[str]) -> str:
            word = self.section_of.get(found[1].lstrip("."))
            return f"[`{found[0]}`](#{anchor(word)})" if word else f"`{found[0]}`"

        return CODE.sub(code, plain).replace("<", "&lt;").replace("*", "\\*")

    def inline(self, element: ET.Element) -> str:
        """A paragraph, with its code blocks as paragraphs."""
        out = self.text(element.text or "")
        for child in element:
            if child.tag == "verbatim":
                out += f"\n\n```cpp\n{(child.text or '').rstrip()}\n```\n\n"
            elif child.tag == "computeroutput":
                out += f"`{''.join(child.itertext())}`"
            else:
                out += self.inline(child)
            out += self.text(child.tail or "")
        return out

    def paragraphs(self, member: ET.Element) -> list[str]:
        """The brief sentence continues with the first paragraph of the details. Labels begin
        paragraphs of their own; a code block is an example.
        """
        paras = [
            self.inline(para).strip()
            for kind in ("briefdescription", "detaileddescription")
            for para in member.find(kind).findall("para")
        ]
        if len(paras) > 1 and not paras[1].startswith("```"):
            paras[:2] = [f"{paras[0]} {paras[1]}"]
        out: list[str] = []
        for part in "\n\n".join(paras).split("\n\n"):
            if part.startswith("```"):
                out += ["Example:", part]
            else:
                out += re.split(rf"(?<=[.;:`)]) (?={LABEL} )", " ".join(part.split()))
        return [part for part in out if part]


def signature(member: ET.Element) -> str:
    """The declaration without constexpr, spaced as in the headers."""
    kind = "".join(member.find("type").itertext()).replace("constexpr ", "")
    text = f"{re.sub('< .*?>', '', kind)} {member.findtext('name')}{member.findtext('argsstring')}"
    text = text.replace("< ", "<").replace(" >", ">").replace("=", " = ")
    return re.sub(r" ([*&])(?!\))", r"\1 ", text).replace("  ", " ")


def section(word: str, members: list[ET.Element], markdown: Markdown, only_cpp: bool) -> list[str]:
    out = [f"### `{word}` {{#{anchor(word)}}}"]
    for member in members:
        out.append(f"```cpp\n{signature(member)}\n```")
        parts = markdown.paragraphs(member)
        if not parts:
            sys.exit(f"error: {word} has no comment")
        out += [re.sub(rf"^({LABEL})", r"**\1**", part) for part in parts]
    return [*out, "C++ only."] if only_cpp else out


def summary(words: list[str], calls: dict[str, list[ET.Element]], markdown: Markdown) -> str:
    rows = ["| call | meaning | default |", "| --- | --- | --- |"]
    for word in words:
        parts = markdown.paragraphs(calls[word][0])
        brief = re.split(r"(?<=\.)\s(?=[A-Z\[`])", parts[0])[0].rstrip(".")
        default = [part[9:].rstrip(".") for part in parts if part.startswith("Default: ")]
        rows.append(f"| [`{word}`](#{anchor(word)}) | {brief} | {''.join(default)} |")
    return "\n".join(rows)


def python_methods() -> dict[str, set[str]]:
    """The public methods of the classes of `op` in Python."""
    found: dict[str, set[str]] = {}
    for name in ("describe.py", "versions.py"):
        tree = ast.parse((ROOT / "host/python/tenon/_define" / name).read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                found[node.name] = {
                    each.name for each in node.body if isinstance(each, ast.FunctionDef)
                }
    return found


def main() -> None:
    folder, page = Path(sys.argv[1]), Path(sys.argv[2])
    python = python_methods()
    calls: dict[str, list[ET.Element]] = {}
    seen: set[str] = set()  # Collector inherits calls
    only_cpp: set[str] = set()
    for name, (result_of, python_class) in CLASSES.items():
        file = "classtenon_1_1sdk_1_1detail_1_1" + name.replace("::", "_1_1") + ".xml"
        for member in ET.parse(folder / file).iterfind("compounddef/sectiondef/memberdef"):
            method, own = member.findtext("name"), name.split("::")[-1]
            if member.get("kind") != "function" or member.get("prot") != "public" or method == own:
                continue
            word = f"{result_of}.{method}"
            if word in NOT_FOR_AUTHORS or member.attrib["id"] in seen:
                continue
            calls.setdefault(word, []).append(member)
            seen.add(member.attrib["id"])
            if method not in python.get(python_class, set()):
                only_cpp.add(word)
    groups = {title: words.split() for title, words in GROUPS.items()}
    listed = [word for words in groups.values() for word in words]
    if difference := set(listed) ^ set(calls):
        sys.exit(f"error: GROUPS and the headers differ: {', '.join(sorted(difference))}")
    markdown = Markdown(listed)
    out = [INTRODUCTION]
    for title, words in groups.items():
        out += [f"## {title}", summary(words, calls, markdown)]
        for word in words:
            out += section(word, calls[word], markdown, word in only_cpp)
    page.write_text("\n\n".join(out) + "\n", encoding="utf-8")


main()
