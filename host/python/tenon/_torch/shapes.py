"""Infers outputs for tensors without elements, whose dimensions may be torch's symbols.

An operator's inference works on numbers, so symbols are replaced by several sets of numbers. An
output dimension that follows an input dimension, or a sum or product of input dimensions, in all of
them stays a symbol. Otherwise the symbols are specialized to the numbers that torch traces with;
torch then retraces for other numbers, so that no wrong shape is cached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from .. import _core
from .._errors import Error
from .._graph.graph import Graph
from .._operators.manifest import OperatorInfo
from .call import Call
from .tensors import dtype_name

Dims = tuple[Any, ...]
Infer = Callable[[Sequence[Dims | None]], list[tuple[str, "Dims | None"]]]
"""From shapes of inputs (None if omitted) to dtypes and shapes of outputs; dimensions known only at
run time are None.
"""

PROBES: tuple[tuple[int, int], ...] = ((1, 1), (7, 3), (197, 14), (1009, 6))
"""Offsets to the numbers that torch traces with: (for all symbols, more for each further one).
"""


def infer(infer_numbers: Infer, shapes: Sequence[Dims | None]) -> list[tuple[str, Dims | None]]:
    symbols = _symbols(shapes)
    if not symbols:
        return infer_numbers(shapes)
    hints = [_hint(symbol, shapes) for symbol in symbols]
    small = [2 + index for index in range(len(hints))]
    inputs: list[list[Dims | None]] = []
    outputs: list[list[tuple[str, Dims | None]]] = []
    for numbers in (hints, *_larger(hints), small):
        assigned = [
            None if shape is None else _numbers(shape, symbols, numbers) for shape in shapes
        ]
        try:
            outputs.append(infer_numbers(assigned))
        except Error:
            if numbers is small and outputs:  # too small for a window, say
                break
            return infer_numbers(_fixed(shapes))
        inputs.append(assigned)
    found = _with_symbols(shapes, inputs, outputs)
    return infer_numbers(_fixed(shapes)) if found is None else found


def types_in_graph(
    host: _core.Host, info: OperatorInfo, shapes: Sequence[Dims | None], call: Call
) -> list[tuple[str, Dims | None]]:
    """Types of the outputs of an operator whose shapes may follow from elements. A trace never has
    these: inductor forgets even those of constants.
    """
    graph = Graph(host)
    inputs = [
        None
        if tensor is None or shape is None
        else graph.input(f"x{index}", dtype_name(tensor), shape)
        for index, (tensor, shape) in enumerate(zip(call.inputs, shapes))
    ]
    made = graph.ops[info.full_name](*inputs, **call.attributes)
    return [
        (str(each.dtype), each.shape) for each in (made if isinstance(made, tuple) else (made,))
    ]


def _symbols(shapes: Sequence[Dims | None]) -> list[Any]:
    found: list[Any] = []
    for dim in (dim for shape in shapes if shape is not None for dim in shape):
        if isinstance(dim, torch.SymInt):
            found += [
                symbol
                for symbol in sorted(dim.node.expr.free_symbols, key=str)
                if symbol not in found
            ]
    return found


def _hint(symbol: Any, shapes: Sequence[Dims | None]) -> int:
    for dim in (dim for shape in shapes if shape is not None for dim in shape):
        if isinstance(dim, torch.SymInt) and dim.node.expr == symbol and dim.node.has_hint():
            known: Any = dim.node.hint
            return int(known)
    return 8  # a symbol inside an expression, or one without a hint


def _larger(hints: list[int]) -> list[list[int]]:
    return [
        [hint + first + index * step for index, hint in enumerate(hints)] for first, step in PROBES
    ]


def _numbers(shape: Dims, symbols: list[Any], numbers: list[int]) -> Dims:
    values = dict(zip(symbols, numbers))
    return tuple(
        int(dim.node.expr.subs(values)) if isinstance(dim, torch.SymInt) else dim for dim in shape
    )


def _fixed(shapes: Sequence[Dims | None]) -> list[Dims | None]:
    return [None if shape is None else tuple(int(dim) for dim in shape) for shape in shapes]


def _with_symbols(
    shapes: Sequence[Dims | None],
    inputs: list[list[Dims | None]],
    outputs: list[list[tuple[str, Dims | None]]],
) -> list[tuple[str, Dims | None]] | None:
    candidates = _candidates(shapes, inputs)
    made: list[tuple[str, Dims | None]] = []
    for index, (dtype, dims) in enumerate(outputs[0]):
        others = [each[index][1] for each in outputs]
        if dims is None or any(other is None or len(other) != len(dims) for other in others):
            return None
        whole: list[Any] = []
        for axis in range(len(dims)):
            values = tuple(other[axis] for other in others if other is not None)
            if None in values:
                whole.append(None)
                continue
            dim = _dim(values, candidates)
            if dim is None:
                return None
            whole.append(dim)
        made.append((dtype, tuple(whole)))
    return made


def _candidates(
    shapes: Sequence[Dims | None], inputs: list[list[Dims | None]]
) -> list[tuple[tuple[int, ...], Any]]:
    """Values over all assignments, with the symbol: single dimensions, then the size of an input,
    then sums along an axis.
    """
    found: list[tuple[tuple[int, ...], Any]] = []
    present = [index for index, shape in enumerate(shapes) if shape is not None]

    def add(value: Callable[[Sequence[Dims | None]], Any]) -> None:
        found.append((tuple(value(assigned) for assigned in inputs), value(shapes)))

    for index in present:
        for axis in range(len(shapes[index] or ())):
            add(partial(_one, index, axis))
    for index in present:
        add(partial(_size, index))
    for axis in range(max((len(shapes[index] or ()) for index in present), default=0)):
        if all(len(shapes[index] or ()) > axis for index in present):
            add(partial(_sum, present, axis))
    return [(values, symbol) for values, symbol in found if isinstance(symbol, torch.SymInt)]


def _one(index: int, axis: int, assigned: Sequence[Dims | None]) -> Any:
    return (assigned[index] or ())[axis]


def _size(index: int, assigned: Sequence[Dims | None]) -> Any:
    return math.prod(assigned[index] or ())


def _sum(indices: list[int], axis: int, assigned: Sequence[Dims | None]) -> Any:
    return sum(_one(index, axis, assigned) for index in indices)


def _dim(values: tuple[int, ...], candidates: list[tuple[tuple[int, ...], Any]]) -> Any:
    if len(set(values)) == 1:
        return values[0]
    for known, symbol in candidates:
        if known == values:
            return symbol
    for known, symbol in candidates:  # a * symbol + b
        if len(set(known)) < 3:
            continue
        a, rest = (
            divmod(values[1] - values[0], known[1] - known[0]) if known[1] != known[0] else (0, 1)
        )
        b = values[0] - a * known[0]
        if (
            rest == 0
            and a != 0
            and all(value == a * each + b for value, each in zip(values, known))
        ):
            return a * symbol + b
    return None
