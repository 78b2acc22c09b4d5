"""Calls on any kind of array."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._arrays import kinds
from .._errors import UsageError
from .._operators.arguments import Arguments, pack
from .._operators.manifest import OperatorInfo


def eager(op: _core.Operator, info: OperatorInfo, arguments: Arguments) -> Any:
    host = op._host or _core.default_host()
    kind = kinds.kind_of(arguments.inputs)
    tensors = kinds.to_tensors(kind, info, arguments.inputs)
    device = arguments.reserved.get("device")
    if device is not None:
        if not isinstance(device, str):
            raise TypeError(
                f"{info.name}(): device= must be a str such as 'cpu', 'cuda' or 'cuda:1', not "
                f"{type(device).__name__}"
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
            raise UsageError(f"[{info.name}] the out= array is read-only")
        if array.shape != tensor.shape or array.dtype != tensor.dtype:
            raise UsageError(
                f"[{info.name}] the out= array is {array.dtype} {list(array.shape)}, "
                f"but the result is {tensor.dtype_name} {list(tensor.shape)}"
            )
    for array, result in zip(outs, [tensor.numpy() for tensor in made]):
        array[...] = result
    return out
