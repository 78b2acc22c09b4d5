"""The general path of a call: any kind of array, values of graphs, and error messages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _core
from ._operators import OperatorInfo, info_of, signature_of

RESERVED = ("name", "device", "training", "out")


class Arguments(NamedTuple):
    """The sorted arguments of a call. inputs: in the operator's order, None if omitted."""

    inputs: list[Any]
    params: dict[str, Any]
    reserved: dict[str, Any]


def call(op: _core.Operator, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
    info = info_of(op)
    arguments = sort(op, info, positional, named)
    if any(hasattr(value, "_graph_value") for value in arguments.inputs):
        from ._nodes import add_node

        return add_node(op, info, arguments)
    if arguments.reserved.get("name") is not None:
        raise TypeError(f"{info.name}() got arrays and name=, but only nodes of graphs have names")
    return eager(op, info, arguments)


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
    places = {
        _core.python_name(each.name): place
        for place, each in enumerate(declared)
        if not each.variadic
    }
    params: dict[str, Any] = {}
    reserved: dict[str, Any] = {}
    for keyword, value in named.items():
        if keyword in RESERVED:
            reserved[keyword] = value
        elif keyword in places:
            place = places[keyword]
            if inputs[place] is not None:
                raise TypeError(
                    f"{info.name}() got two values for the input '{keyword}': {info.name}{signature_of(op)}"
                )
            inputs[place] = value
        elif variadic and keyword == _core.python_name(declared[-1].name):
            inputs += list(value)
        else:
            params[keyword] = value
    return Arguments(inputs, params, reserved)


def eager(op: _core.Operator, info: OperatorInfo, arguments: Arguments) -> Any:
    host = op._host or _core.default_host()
    kind = _arrays.kind_of(arguments.inputs)
    tensors = _arrays.to_tensors(kind, info, arguments.inputs)
    device = arguments.reserved.get("device")
    if device is not None:
        if not isinstance(device, str):
            raise TypeError(
                f"{info.name}(): device= must be a str such as 'cpu', 'cuda' or 'cuda:1', not {type(device).__name__}"
            )
        tensors = [tensor if tensor is None else tensor.to(device) for tensor in tensors]
    while tensors and tensors[-1] is None:
        tensors.pop()
    made = host.call_all(
        op._name, tensors, arguments.params, bool(arguments.reserved.get("training", False))
    )
    out = arguments.reserved.get("out")
    if out is not None:
        return _write(info, made, out)
    return pack(info, [kind.from_tensor(tensor) for tensor in made])


def _write(info: OperatorInfo, made: list[_core.Tensor], out: Any) -> Any:
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(made):
        raise TypeError(f"{info.name}() has {len(made)} outputs but out= has {len(outs)} arrays")
    for tensor, array in zip(made, outs):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{info.name}(): out= must be numpy arrays, not {type(array).__name__}")
        if not array.flags.writeable:
            raise _core_error(f"[{info.name}] the out= array is read-only")
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise _core_error(
                f"[{info.name}] the out= array is {array.dtype} {list(array.shape)}, "
                f"but the result is {tensor.dtype_name} {list(tensor.shape)}"
            )
    for array, result in zip(outs, [tensor.numpy() for tensor in made]):
        array[...] = result
    return out


def _core_error(text: str) -> Exception:
    from ._errors import UsageError

    return UsageError(text)


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
