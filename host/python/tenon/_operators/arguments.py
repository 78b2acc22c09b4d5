"""The arguments of a call, sorted by the operator's manifest, and the form of its results."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import _core
from .manifest import OperatorInfo, signature_of

RESERVED = ("name", "device", "training", "out")


class Arguments(NamedTuple):
    """The sorted arguments of a call. inputs: in the operator's order, None if omitted."""

    inputs: list[Any]
    params: dict[str, Any]
    reserved: dict[str, Any]


def sort(
    op: _core.Operator, info: OperatorInfo, positional: tuple[Any, ...], named: dict[str, Any]
) -> Arguments:
    declared = info.inputs
    variadic = bool(declared) and declared[-1].variadic
    if not variadic and len(positional) > len(declared):
        raise TypeError(
            f"{info.name}() takes {len(declared)} positional inputs but got {len(positional)}: "
            f"{info.name}{signature_of(op)}"
        )
    inputs: list[Any] = list(positional)
    if len(inputs) < len(declared):
        inputs += [None] * (len(declared) - len(inputs) - (1 if variadic else 0))
    indices = {
        _core.python_name(each.name): index
        for index, each in enumerate(declared)
        if not each.variadic
    }
    params: dict[str, Any] = {}
    reserved: dict[str, Any] = {}
    for keyword, value in named.items():
        if keyword in RESERVED:
            reserved[keyword] = value
        elif keyword in indices:
            index = indices[keyword]
            if inputs[index] is not None:
                raise TypeError(
                    f"{info.name}() got two values for the input '{keyword}': "
                    f"{info.name}{signature_of(op)}"
                )
            inputs[index] = value
        elif variadic and keyword == _core.python_name(declared[-1].name):
            inputs += list(value)
        else:
            params[keyword] = value
    return Arguments(inputs, params, reserved)


def pack(info: OperatorInfo, results: list[Any]) -> Any:
    """One result as it is; several as a named tuple; a number of results set by a parameter as a
    tuple, also of one if that parameter is required.
    """
    if len(results) == 1 and not any(
        output.count and info.params[output.count].required for output in info.visible
    ):
        return results[0]
    named = info.result_type
    return (
        tuple(results) if named is None or len(named._fields) != len(results) else named(*results)
    )
