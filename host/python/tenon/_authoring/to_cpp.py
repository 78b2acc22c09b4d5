"""tenon.to_cpp: a C++ class that an operator in Python can be ported to."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from .._arrays.dtypes import NAMES_IN_CPP
from .._define.decorator import Definition

MEMBERS = {
    "bool": "bool", "int32": "std::int32_t", "int64": "std::int64_t", "float32": "float",
    "float64": "double", "text": "tenon::Text", "ints": "tenon::Ints", "floats": "tenon::Floats",
    "texts": "tenon::Texts",
}  # fmt: skip
FLOATING_IN_CPP = ("float16", "bfloat16", "float32", "float64")
KEYWORDS = frozenset(
    "alignas alignof and asm auto bitand bitor bool break case catch char class compl concept "
    "const consteval constexpr constinit continue"
    " decltype default delete do double else enum explicit export extern false float for friend "
    "goto if inline int long mutable namespace new"
    " noexcept not nullptr operator or private protected public register requires return short "
    "signed sizeof static struct switch template"
    " this throw true try typedef typeid typename union unsigned using virtual void volatile while "
    "xor describe infer forward backward"
    " gradient configure infer_storage supports prepare workspace priority".split()
)
BOUNDS = {"min": "at_least", "max": "at_most", "above": "greater_than", "below": "less_than"}


def name_in_cpp(text: str) -> str:
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    if name in KEYWORDS or name[:1].isdigit() or not name:
        name += "_"
    return "_" + name if name[0].isdigit() else name


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
        return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'
    if isinstance(value, float):
        if math.isinf(value):
            return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
        return "std::numeric_limits<double>::quiet_NaN()" if math.isnan(value) else repr(value)
    if isinstance(value, list | tuple):
        return "{" + ", ".join(map(literal, value)) + "}"
    return str(value)


def _types(names: Iterable[str]) -> str:
    return "{" + ", ".join("tenon::" + NAMES_IN_CPP[name] for name in names) + "}"


def _call(function: str, *values: Any) -> str:
    return f"op.{function}({', '.join(map(literal, values))})"


def _members(params: list[dict[str, Any]]) -> list[str]:
    lines = []
    for param in params:
        name, default = name_in_cpp(param["name"]), param["default"]
        if param["kind"] == "enum":
            values = ", ".join(map(name_in_cpp, param["choices"]))
            kind = _enum(param["name"])
            lines.append(
                f"enum class {kind} {{ {values} }} {name} = {kind}::{name_in_cpp(default)};"
            )
        else:
            value = literal(default) if default != [] else ""
            lines.append(f"{MEMBERS[param['kind']]} {name}{' = ' + value if value else ''};")
    return lines


def _enum(param: str) -> str:
    """The name of the enum's type: `PadKind` for the parameter `pad`."""
    return "".join(word[:1].upper() + word[1:] for word in param.split("_")) + "Kind"


def _param(cls: str, param: dict[str, Any]) -> str:
    name, member = literal(param["name"]), f"&{cls}::{name_in_cpp(param['name'])}"
    text = f"op.param({name}, {member}, {literal(param['doc'])})"
    text += ".required()" if param["required"] else ""
    for key, word in BOUNDS.items():
        if param[key] is not None:
            text += f".{word}({literal(param[key])})"
    if param["kind"] == "enum":
        pairs = ", ".join(
            f"{{{literal(choice)}, {_enum(param['name'])}::{name_in_cpp(choice)}}}"
            for choice in param["choices"]
        )
        return f"{text}.one_of({{{pairs}}})"
    return text + (f".one_of({literal(param['choices'])})" if param["choices"] else "")


def _input(entry: dict[str, Any]) -> str:
    text = _call("input", entry["name"], entry["doc"])
    for word in ("optional", "variadic"):
        text += f".{word}()" if entry[word] else ""
    text += f".types({_types(entry['types'])})" if entry["types"] else ""
    if entry["initial"] is not None:
        return f"{text}.initial({literal(entry['initial'])})"
    return text + (".weight()" if entry["weight"] else "")


def _output(cls: str, entry: dict[str, Any], conditions: list[dict[str, Any]]) -> str:
    text = _call("output", entry["name"], entry["doc"]) + (".hidden()" if entry["hidden"] else "")
    text += f".count(&{cls}::{name_in_cpp(entry['count'])})" if entry["count"] else ""
    for condition in conditions:
        if condition["of"] == "hidden" and condition["names"] == [entry["name"]]:
            arguments = map(literal, [condition["param"], *condition["values"]])
            text += f".hidden_when({', '.join(arguments)})"
    return text


def _example(example: dict[str, Any]) -> str:
    inputs = []
    for name, tensor in example["inputs"].items():
        arguments = [literal(name), literal(tensor["shape"])]
        if tensor["dtype"]:
            arguments += ["tenon::" + NAMES_IN_CPP[tensor["dtype"]], literal(tensor["values"])]
        inputs.append("{" + ", ".join(arguments) + "}")
    params = ", ".join(
        f"{{{literal(name)}, {literal(value)}}}" for name, value in example["params"].items()
    )
    return f"op.example({{{', '.join(inputs)}}}" + (f", {{{params}}})" if params else ")")


def _calls_of_names(manifest: dict[str, Any]) -> list[str]:
    lines = []
    conditions = manifest.get("conditions", [])
    for key in ("inplace", "backward_inplace", "linear"):
        lines += [_call(key, *names) for names in manifest.get(key, [])]
    sometimes = {
        name
        for condition in conditions
        if condition["of"] == "backward_reads"
        for name in condition["names"]
    }
    reads = manifest["backward_reads"]
    if reads is not None:
        always = [name for name in reads if name not in sometimes]
        lines += [_call("backward_reads", *always)] if always or not sometimes else []
    for condition in conditions:
        if condition["of"] != "hidden":
            when = ", ".join(map(literal, [condition["param"], *condition["values"]]))
            lines.append(f"{_call(condition['of'], *condition['names'])}.when({when})")
    return lines


_NOTHING = object()


def _changed(word: str, entry: list[Any], was: Any = _NOTHING) -> str:
    return _call(word, *entry) + ("" if was is _NOTHING else f".was({literal(was)})")


def _describe(cls: str, manifest: dict[str, Any]) -> list[str]:
    lines = [_call("doc", manifest["doc"])]
    lines += [_call("space", manifest["space"])] if manifest.get("space") else []
    lines += [_call("version", manifest["version"])] if manifest["version"] != 1 else []
    lines += [_call("alias", alias) for alias in manifest["aliases"]]
    lines += (
        [f"op.types({_types(manifest['types'])})"]
        if tuple(manifest["types"]) != FLOATING_IN_CPP
        else []
    )
    lines += [_input(entry) for entry in manifest["inputs"]]
    lines += [_output(cls, entry, manifest.get("conditions", [])) for entry in manifest["outputs"]]
    for state in manifest["states"]:
        lines.append(
            _call("state", state["name"], state["doc"])
            + (f".initial({literal(state['initial'])})" if state["initial"] else "")
        )
    lines += [_param(cls, param) for param in manifest["params"]]
    lines += _calls_of_names(manifest)
    lines += ["op.uses_random()"] if manifest["random"] else []
    lines += ["op.surrogate_gradient()"] if manifest.get("surrogate_gradient") else []
    lines += [
        f"op.require({literal(left)}, tenon::{relation}, {literal(right)})"
        for left, relation, right in manifest.get("rules", [])
    ]
    was = dict(manifest.get("was", []))
    lines += [_call("renamed", *entry) for entry in manifest["renamed"]]
    lines += [_changed("added", entry, was.get(entry[1], _NOTHING)) for entry in manifest["added"]]
    lines += [_changed("removed", entry[:2], *entry[2:]) for entry in manifest.get("removed", [])]
    for kind in ("input", "output", "state"):
        lines += [_call(f"added_{kind}", *entry) for entry in manifest.get(f"added_{kind}s", [])]
    return [
        line + ";"
        for line in lines + [_example(example) for example in manifest.get("examples", [])]
    ]


def _function(cls: type, name: str, parameter: str) -> list[str]:
    """A function body to write, preceded by the Python source as a comment."""
    try:
        python = textwrap.dedent(inspect.getsource(getattr(cls, name))).splitlines()
    except (OSError, TypeError):
        python = []
    return [
        "",
        *(f"// {line}".rstrip().rstrip("\\") for line in python),
        f"void {name}([[maybe_unused]] {parameter}) const {{",
        f'  throw tenon::Error("write {name} here");',
        "}",
    ]


def to_cpp(operator: type) -> str:
    """The source of a C++ plugin with the same operator. describe() is complete; the other function
    bodies are yours to write.

    The source compiles as it is, with tenon.compile or a compiler. Until a kernel is written, it
    fails with "write forward here". operator: a class decorated with @tenon.operator.
    """
    found = operator.__dict__.get("_tenon_definition")
    if not isinstance(found, Definition):
        raise TypeError(f"expected a class decorated with @tenon.operator, not {operator!r}")
    manifest, cls = found.manifest, name_in_cpp(operator.__name__)
    body = _members(manifest["params"])
    body += ([""] if body else []) + [
        "static constexpr void describe(auto& op) {",
        *("  " + line for line in _describe(cls, manifest)),
        "}",
    ]
    functions = {
        "infer": "tenon::Infer& io",
        "forward": "const tenon::Call& call",
        "backward": "const tenon::Call& call",
        "gradient": "tenon::Gradient& g",
    }
    for name, parameter in functions.items():
        if hasattr(operator, name):
            body += _function(operator, name, parameter)
    text = "\n".join(("  " + line) if line else "" for line in body)
    includes = ["#include <tenon/operator.hpp>"]
    if "numeric_limits" in text:
        includes.insert(0, "#include <limits>")
    head = "\n".join(includes)
    return (
        f"{head}\n\nstruct {cls} : tenon::Operator {{\n{text}\n}};\n"
        f"TENON_OPERATOR({manifest['name']}, {cls})\n"
    )
