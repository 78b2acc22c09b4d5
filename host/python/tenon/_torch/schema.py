"""Schemas of torch operators, from manifests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from .._errors import UsageError
from .._graph.nodes import is_hidden
from .._operators.manifest import OperatorInfo, ParamInfo

TYPES = {
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "float32": "float",
    "float64": "float",
    "text": "str",
    "enum": "str",
    "ints": "int[]",
    "floats": "float[]",
    "texts": "str[]",
    "tensor": "Tensor?",
}


def with_fixed(info: OperatorInfo, fixed: Mapping[str, Any]) -> OperatorInfo:
    """The operator without the parameters that have fixed values.

    No other parameter determines which outputs a schema has: an output is hidden if the fixed
    values or the defaults hide it.
    """
    outputs = (
        replace(each, hidden=each.hidden or is_hidden(info, each.name, fixed))
        for each in info.outputs
    )
    params = {name: param for name, param in info.params.items() if name not in fixed}
    return replace(info, outputs=tuple(outputs), params=params)


def variants_of(info: OperatorInfo) -> dict[str, dict[str, Any]]:
    """Variants of operators that a flag gives an additional output: the suffix of the variant's
    name, and the flag.
    """
    return {
        f"_with_{condition['names'][0]}": {condition["param"]: True}
        for condition in info.raw["conditions"]
        if condition["of"] == "hidden"
        and condition["values"] == [False]
        and is_hidden(info, condition["names"][0], {})
    }


def has_training(info: OperatorInfo) -> bool:
    """Whether a call in training may differ from one outside of training."""
    return bool(info.states) or bool(info.raw["random"])


def draws_in_backward(info: OperatorInfo) -> bool:
    """Whether backward may draw the random numbers of forward again. `_forward` then also returns,
    as its last result, the int64 tensor [seed, step] on the CPU that determines them, and
    `_backward` takes it as the last of `outputs`. As a tensor it belongs to one call in all graphs:
    those of autograd, of torch.compile and of saved-tensor hooks.
    """
    return bool(info.raw["random"]) and "backward" in info.functions


def tensors_of(info: OperatorInfo) -> str:
    """Inputs and states as positional arguments. A call takes states and returns them as it leaves
    them.
    """
    words: list[str] = []
    required_later = [not (each.optional or each.weight) for each in info.inputs]
    for index, each in enumerate(info.inputs):
        name = _core.python_name(each.name)
        if each.variadic:
            words.append(f"Tensor[] {name}")
        elif required_later[index]:
            words.append(f"Tensor {name}")
        else:
            words.append(
                f"Tensor? {name}" if any(required_later[index:]) else f"Tensor? {name}=None"
            )
    taken = {*info.params, *(each.name for each in info.inputs)}
    for state in info.states:
        name = state["name"] + "_state" if state["name"] in taken else state["name"]
        words.append(f"Tensor? {_core.python_name(name)}=None")
    return ", ".join(words)


CLASHING = ("kernel", "fx_node")
"""Names that clash with arguments of torch inductor's functions, to which it passes keyword
arguments.
"""


def positional_params(info: OperatorInfo) -> list[str]:
    """Parameters that callers may pass by name, but that torch then passes by position, after the
    tensors.
    """
    return [name for name in info.params if name in CLASHING]


def params_of(info: OperatorInfo) -> str:
    """Keyword-only parameters; empty if there are none."""
    params = sorted(info.params.values(), key=lambda param: not param.required)
    positional = [_param(param, True) for param in params if param.name in CLASHING]
    words = [_param(param) for param in params if param.name not in CLASHING]
    if has_training(info):
        words.append("bool training=False")
    return ", ".join([*positional, "*", *words] if words else positional)


def _param(param: ParamInfo, with_default: bool = False) -> str:
    kind = TYPES[param.kind]
    word = f"{kind} {_core.python_name(param.name)}"
    if param.kind == "tensor":
        return word + "=None"
    if kind == "str[]" and not param.required:  # torch has no defaults for lists of texts
        return f"str[]? {_core.python_name(param.name)}=None"
    if not param.required:
        return f"{word}={_default(param)}"
    empty = {"bool": "False", "int": "0", "float": "0.0", "str": '""'}
    return (
        f"{word}={empty.get(kind, '[]')}" if with_default else word
    )  # the host rejects a call without it


def _default(param: ParamInfo) -> str:
    value: Any = param.default
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(
            f"the default of parameter '{param.name}' is {value}, which a torch schema cannot "
            "represent",
            "declare another default",
        )
    if isinstance(value, list | tuple):
        return (
            "["
            + ", ".join(json.dumps(item) if isinstance(item, str) else repr(item) for item in value)
            + "]"
        )
    return repr(value)


def results_of(info: OperatorInfo, hidden: bool) -> str:
    outputs = info.outputs if hidden else info.visible
    if any(output.count for output in outputs):
        return "Tensor[]"
    count = len(outputs) + len(info.states) + (hidden and draws_in_backward(info))
    return "Tensor" if count == 1 else "(" + ", ".join(["Tensor"] * count) + ")"


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)


def schema_of(info: OperatorInfo, name: str, hidden: bool = False) -> str:
    """`add(Tensor a, Tensor b) -> Tensor`"""
    return f"{name}({_joined(tensors_of(info), params_of(info))}) -> {results_of(info, hidden)}"


def backward_schema_of(info: OperatorInfo, name: str) -> str:
    """The schema of the operator that computes the gradients of the inputs that `needs_grad`,
    autograd's `needs_input_grad`, selects."""
    tensors = (
        "Tensor?[] grads, Tensor?[] inputs, Tensor?[] states, Tensor?[] outputs, bool[] needs_grad"
    )
    return f"{name}({_joined(tensors, params_of(info))}) -> Tensor[]"
