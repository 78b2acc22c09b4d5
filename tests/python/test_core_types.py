"""_core.pyi declares exactly the core module's classes, functions and members, with their
parameters.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tenon
from tenon import _core

Function = ast.FunctionDef
DECLARED = ast.parse((Path(tenon.__file__).parent / "_core.pyi").read_text(encoding="utf-8")).body
CLASSES = {node.name: node for node in DECLARED if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in DECLARED if isinstance(node, Function)}
# Attributes of every class, and those that Python looks up itself.
TOO_PLAIN = re.compile(r"__(?!array__|dlpack|len__|call__).*__$")


def members(node: ast.ClassDef) -> dict[str, ast.stmt]:
    found: dict[str, ast.stmt] = {}
    for each in node.body:
        if isinstance(each, Function):
            found.setdefault(each.name, each)  # a property's getter precedes its setter
        elif isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            found[each.target.id] = each
    return found


def functions() -> Iterator[tuple[str, Function, Any]]:
    """nanobind's functions, which know their parameters: name, declaration, object."""
    for name, node in FUNCTIONS.items():
        yield name, node, getattr(_core, name)
    for name, declared in CLASSES.items():
        for member, method in members(declared).items():
            found = vars(getattr(_core, name)).get(member)
            if isinstance(method, Function) and hasattr(found, "__nb_signature__"):
                yield f"{name}.{member}", method, found


def test_the_module_has_what_is_declared_and_nothing_else() -> None:
    names = {name for name in dir(_core) if not name.startswith("_")}
    assert set(CLASSES) | set(FUNCTIONS) == names


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_what_is_declared_and_nothing_else(name: str) -> None:
    names = {member for member in vars(getattr(_core, name)) if not TOO_PLAIN.match(member)}
    assert {member for member in members(CLASSES[name]) if not TOO_PLAIN.match(member)} == names


@pytest.mark.parametrize("function", list(functions()), ids=lambda function: function[0])
def test_a_function_takes_what_is_declared(function: tuple[str, Function, Any]) -> None:
    _, declared, found = function
    text = re.sub(r"\\\d+", "...", found.__nb_signature__[0][0])  # \0 is the first default
    actual = ast.parse(f"{text}: ...").body[0]
    assert isinstance(actual, Function)
    if declared.args.vararg is not None:
        assert actual.args.vararg is not None
    elif actual.args.posonlyargs:  # positional-only names are not compared
        assert len(parameters(actual)[0]) == len(parameters(declared)[0])
    else:
        assert parameters(actual) == parameters(declared)


def parameters(node: Function) -> tuple[list[str], list[str], int, int]:
    """Positional and keyword-only parameters, and the number of each with defaults."""
    by_place, by_name = [*node.args.posonlyargs, *node.args.args], node.args.kwonlyargs
    optional = sum(default is not None for default in node.args.kw_defaults)
    return (
        [each.arg for each in by_place],
        [each.arg for each in by_name],
        len(node.args.defaults),
        optional,
    )
