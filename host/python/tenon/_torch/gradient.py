"""Gradients computed by graphs: of operators without a backward kernel, and of whole graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from .. import _core
from .._call_cache import CallCache, Lease
from .._errors import UsageError
from .._graph.graph import Graph, Value
from .._graph.session import Session
from .._operators.manifest import OperatorInfo
from .call import Call
from .tensors import dtype_name, to_tenon


def add_gradients(
    graph: Graph, outputs: Mapping[str, Value], wrt: Mapping[str, Value]
) -> dict[str, Value]:
    """Adds an input, named by the keys of `outputs`, for the gradient of each output, and returns
    the gradients of `wrt` that are not zero.
    """
    totals: dict[str, Value] = {}
    for name, output in outputs.items():
        seed = graph.input(name, output.dtype, output.shape)
        for target, made in zip(wrt, graph.gradient(output, list(wrt.values()), seed=seed)):
            if made is not None:
                totals[target] = (
                    made if target not in totals else graph.ops.add(totals[target], made)
                )
    return totals


class GraphGradients:
    """The gradient of one operator: sessions of a differentiated one-node graph. Threads: any; each
    call leases its own session.
    """

    def __init__(self, info: OperatorInfo) -> None:
        self._info = info
        self._sessions: CallCache[_core.Session] = CallCache(survive_errors=True)

    def run(
        self,
        host: _core.Host,
        call: Call,
        grads: Sequence[torch.Tensor | None],
        requested: Sequence[bool],
        constants: Sequence[int] = (),
    ) -> list[_core.Tensor | None]:
        """The gradient of each input; None if it is zero or not requested. constants: indices of
        inputs whose elements determine shapes.
        """
        if self._info.raw["random"] or self._info.states:
            raise UsageError(
                f"[{self._info.name}] draws random numbers or has states, which its gradient, a "
                "graph of its own, cannot reproduce",
                "add it to a graph and use tenon.torch.module(graph)",
            )
        types = tuple(
            None if tensor is None else (tensor.dtype, tuple(tensor.shape))
            for tensor in call.inputs
        )
        present = tuple(grad is not None for grad in grads)
        elements = {
            index: tensor
            for index, tensor in enumerate(call.inputs)
            if tensor is not None and index in constants
        }
        known = tuple((index, repr(tensor.tolist())) for index, tensor in elements.items())
        key = (
            types,
            repr(call.params),
            call.training,
            present,
            tuple(requested),
            call.device,
            known,
        )
        arguments = {
            f"x{index}": to_tenon(tensor)
            for index, tensor in enumerate(call.inputs)
            if tensor is not None and index not in elements
        }
        arguments |= {
            f"dy{index}": to_tenon(grad) for index, grad in enumerate(grads) if grad is not None
        }

        def make() -> _core.Session:  # a tenon.Session would keep the tenon.Host
            return self._make(host, call, present, requested, elements)._core

        # repr() abbreviates tensors, so that different ones would share a session.
        has_tensors = any(isinstance(value, torch.Tensor) for value in call.params.values())
        with Lease(make()) if has_tensors else self._sessions.lease(host, key, make) as session:
            made = session.run(arguments, arrays=False)
        return [made.get(f"dx{index}") for index in range(len(call.inputs))]

    def _make(
        self,
        host: _core.Host,
        call: Call,
        present: tuple[bool, ...],
        requested: Sequence[bool],
        elements: Mapping[int, torch.Tensor],
    ) -> Session:
        graph = Graph(host)
        inputs = [
            None
            if tensor is None
            else graph.constant(tensor.detach().clone(), f"x{index}")
            if index in elements
            else graph.input(f"x{index}", dtype_name(tensor), tuple(tensor.shape))
            for index, tensor in enumerate(call.inputs)
        ]
        made = graph.ops[self._info.full_name](*inputs, **call.attributes)
        outputs: list[Value] = list(made) if isinstance(made, tuple) else [made]
        wrt = {
            f"dx{index}": value
            for index, value in enumerate(inputs)
            if value is not None and requested[index]
        }
        graph.outputs(
            **add_gradients(
                graph,
                {f"dy{index}": output for index, output in enumerate(outputs) if present[index]},
                wrt,
            )
        )
        return Session(
            graph,
            training=call.training,
            device="" if call.device.type == "cpu" else str(call.device),
        )
