"""One operator as a torch operator: kernels, shape inference for tracing, and gradient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DynamicOutputShapeException

from .. import _core
from .._call_cache import CallCache, Lease
from .._errors import ExecutionError, UsageError
from .._operators.manifest import OperatorInfo
from .autograd import Differentiable, Once
from .call import Call
from .gradient import GraphGradients
from .schema import (
    backward_schema_of,
    draws_in_backward,
    has_training,
    positional_params,
    schema_of,
    variants_of,
    with_fixed,
)
from .shapes import Dims, infer, types_in_graph
from .tensors import dtype_name, to_tenon, to_torch, torch_dtype


class RegisteredOperator:
    """The kernels of one operator. Threads: any; each call leases its own prepared call."""

    def __init__(
        self,
        host: _core.Host | None,
        declared: OperatorInfo,
        fixed: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """fixed: values of parameters that its schema omits."""
        info = self.info = with_fixed(declared, fixed)
        self.fixed = dict(fixed)
        self.name = info.full_name
        self._host = host
        self._calls: CallCache[_core.PreparedCall | None] = CallCache()
        self._gradients = GraphGradients(info)
        self.has_hidden = any(output.hidden for output in info.outputs)
        self.read_by_backward = frozenset(info.raw["read_by_backward"])
        self.conditional = [
            each["param"] for each in info.raw["conditions"] if each["of"] == "hidden"
        ]
        self._on_cpu = [bool(each["on_cpu"]) for each in info.raw["inputs"]]
        self._sees_elements = any(self._on_cpu) and not (self.has_hidden or has_training(info))
        self.has_kernel_of_backward = "backward" in info.functions
        self.draws_in_backward = draws_in_backward(info)
        self.positional = positional_params(info)
        self._layouts: dict[int, tuple[list[str], list[bool]]] = {}
        self.overload: Any = None
        self.overload_with_hidden: Any = None
        self.overload_of_backward: Any = None

    @property
    def host(self) -> _core.Host:
        return self._host or _core.default_host()

    # ---- arguments -------------------------------------------------------------------------------

    def sort(self, arguments: Sequence[Any], named: dict[str, Any]) -> Call:
        """Sorts the arguments of a call, from which torch omits those that equal their default."""
        count, states = len(self.info.inputs), len(self.info.states)
        tensors = [*arguments[: count + states], *[None] * (count + states - len(arguments))]
        inputs = tensors[:count]
        if count and self.info.inputs[-1].variadic:
            inputs[-1:] = list(inputs[-1] or ())
        params = {
            name: value
            for name, value in self.by_name(arguments[count + states :], named).items()
            if value is not None
        }
        training = bool(params.pop("training", False)) if has_training(self.info) else False
        return Call(tuple(inputs), tuple(tensors[count:]), {**params, **self.fixed}, training)

    def by_name(self, positional: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        return {**dict(zip(self.positional, positional)), **named}

    def unsort(self, call: Call) -> tuple[Any, ...]:
        inputs: list[Any] = list(call.inputs)
        if self.info.inputs and self.info.inputs[-1].variadic:
            index = len(self.info.inputs) - 1
            inputs[index:] = [list(inputs[index:])]
        return (*inputs, *call.states)

    def named(self, call: Call) -> dict[str, Any]:
        params = {name: value for name, value in call.params.items() if name not in self.fixed}
        return {**params, "training": call.training} if has_training(self.info) else params

    # ---- preparing -------------------------------------------------------------------------------

    def prepare(
        self, host: _core.Host, shapes: Sequence[Dims | None], call: Call, device: str
    ) -> _core.PreparedCall:
        types: list[tuple[Any, Dims | None] | None] = [
            None if tensor is None else (dtype_name(tensor), shape)
            for tensor, shape in zip(call.inputs, shapes)
        ]
        return _core.prepare(host, self.name, types, call.attributes, device, call.training)

    def prepared(self, host: _core.Host, call: Call) -> Lease[_core.PreparedCall | None]:
        """Leases a prepared call that no other thread or enclosing call uses; None if shapes may
        follow from elements of inputs.
        """
        shapes = [None if tensor is None else tuple(tensor.shape) for tensor in call.inputs]
        types = tuple(
            None if tensor is None else (tensor.dtype, shape)
            for tensor, shape in zip(call.inputs, shapes)
        )

        def make() -> _core.PreparedCall | None:
            try:
                return self.prepare(host, shapes, call, str(call.device))
            except ExecutionError:
                if not self.may_see_elements(call):
                    raise
                return None  # the actual call reports errors other than missing elements

        if any(isinstance(value, Tensor) for value in call.params.values()):
            return Lease(make())
        return self._calls.lease(host, (types, repr(call.params), call.training, call.device), make)

    def types(self, call: Call) -> list[tuple[str, Dims | None, bool]]:
        """The dtype, the shape and whether it is hidden, of each output and then of each state."""
        hidden: list[bool] = []
        host = self.host

        def numbers(shapes: Sequence[Dims | None]) -> list[tuple[str, Dims | None]]:
            if self.may_see_elements(call):
                found = types_in_graph(host, self.info, shapes, call)
                hidden[:] = [False] * len(found)
                return found
            prepared = self.prepare(host, shapes, call, "cpu")
            self.require_results(prepared)
            hidden[:] = [each[4] for each in prepared.outputs] + [False] * len(prepared.states)
            return [(each[1], each[2]) for each in (*prepared.outputs, *prepared.states)]

        found = infer(
            numbers, [None if tensor is None else tuple(tensor.shape) for tensor in call.inputs]
        )
        return [(dtype, shape, each) for (dtype, shape), each in zip(found, hidden)]

    def may_see_elements(self, call: Call) -> bool:
        """Whether the call has an input on the CPU from whose elements shapes may follow."""
        last = len(self._on_cpu) - 1
        return self._sees_elements and any(
            tensor is not None and self._on_cpu[min(index, last)]
            for index, tensor in enumerate(call.inputs)
        )

    def inputs_of_elements(self, call: Call, needs_grad: Sequence[bool]) -> tuple[int, ...]:
        """Indices of the inputs whose elements a graph of this call needs."""
        if not self.may_see_elements(call):
            return ()
        last = len(self._on_cpu) - 1
        return tuple(
            index
            for index, tensor in enumerate(call.inputs)
            if tensor is not None and not needs_grad[index] and self._on_cpu[min(index, last)]
        )

    def require_results(self, prepared: _core.PreparedCall) -> None:
        """Checks that the call has the outputs that its schema declares."""
        if not self.conditional:
            return
        hidden = [each[4] for each in prepared.outputs]
        if hidden != self.layout(len(hidden))[1]:
            params = ", ".join(sorted({f"'{each}'" for each in self.conditional}))
            others = (
                [self.info.name + suffix for suffix in variants_of(self.info)]
                if not self.fixed
                else []
            )
            raise UsageError(
                f"[{self.info.name}] has other outputs with this value of {params} than its torch "
                "schema declares",
                f"call {' or '.join(others)}"
                if others
                else "add it to a graph and use tenon.torch.module(graph)",
            )

    # ---- called by torch -------------------------------------------------------------------------

    def kernel(self, *arguments: Any, **named: Any) -> Any:
        return self.result(self.run(self.sort(arguments, named), hidden=False))

    def kernel_with_hidden(self, *arguments: Any, **named: Any) -> Any:
        return self.result(self.run(self.sort(arguments, named), hidden=True))

    def result(self, results: list[Tensor]) -> Any:
        several = any(output.count for output in self.info.outputs)
        return results if several else results[0] if len(results) == 1 else tuple(results)

    def run(self, call: Call, hidden: bool) -> list[Tensor]:
        devices = {tensor.device for tensor in call.inputs if tensor is not None}
        if len(devices) > 1:
            raise UsageError(
                f"[{self.info.name}] inputs are on {' and '.join(sorted(map(str, devices)))}, but "
                "must be on one device"
            )
        host = self.host
        inputs = [to_tenon(tensor) for tensor in call.inputs]
        with self.prepared(host, call) as prepared:
            if prepared is None or prepared.depends_on_values:
                if has_training(self.info) or hidden and self.has_hidden:
                    raise UsageError(
                        f"[{self.info.name}] infers shapes from elements of inputs, but has "
                        "states, random numbers or hidden outputs",
                        "add it to a graph and use tenon.torch.module(graph)",
                    )
                made = host.call_all(self.name, inputs, call.attributes)
                return [to_torch(tensor) for tensor in made]
            self.require_results(prepared)
            outputs = [self._empty(each, call.device) for each in prepared.outputs]
            states = self._states(call, prepared)
            made = prepared.forward(
                inputs, [to_tenon(each) for each in outputs], [to_tenon(each) for each in states]
            )
            results = [
                to_torch(tensor) if own is None else own
                for tensor, own, each in zip(made, outputs, prepared.outputs)
                if hidden or not each[4]
            ]
            results += states
            if hidden and self.draws_in_backward:
                results.append(torch.tensor(prepared.random_position, device="cpu"))
        return results

    @staticmethod
    def _empty(
        output: tuple[str, str, Dims | None, str, bool], device: torch.device
    ) -> Tensor | None:
        """An output in torch's memory, if its shape is known before the call."""
        _, dtype, shape, storage, _ = output
        if storage != "dense" or shape is None or None in shape:
            return None
        return torch.empty(shape, dtype=torch_dtype(dtype), device=device)

    @staticmethod
    def _states(call: Call, prepared: _core.PreparedCall) -> list[Tensor]:
        first = (
            prepared.make_states()
            if any(state is None for state in call.states)
            else [None] * len(call.states)
        )
        return [
            to_torch(made) if state is None else state.detach().clone()
            for state, made in zip(call.states, first)
        ]

    def fake(self, *arguments: Any, **named: Any) -> Any:
        return self._fake(self.sort(arguments, named), hidden=False)

    def fake_with_hidden(self, *arguments: Any, **named: Any) -> Any:
        return self._fake(self.sort(arguments, named), hidden=True)

    def _fake(self, call: Call, hidden: bool) -> Any:
        overload = self.overload_with_hidden if hidden else self.overload
        made = [
            self._fake_one(overload, dtype, shape, call.device)
            for dtype, shape, is_hidden in self.types(call)
            if hidden or not is_hidden
        ]
        if hidden and self.draws_in_backward:
            made.append(torch.empty(2, dtype=torch.int64, device="cpu"))
        return self.result(made)

    @staticmethod
    def _fake_one(overload: Any, dtype: str, shape: Dims | None, device: torch.device) -> Tensor:
        if shape is None:  # unknown rank: torch.compile leaves the call to eager execution
            raise DynamicOutputShapeException(overload)
        dims = [torch.library.get_ctx().new_dynamic_size() if dim is None else dim for dim in shape]
        return torch.empty(dims, dtype=torch_dtype(dtype), device=device)

    # ---- gradients -------------------------------------------------------------------------------

    def backward(
        self,
        grads: Sequence[Tensor | None],
        inputs: Sequence[Tensor | None],
        states: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None],
        needs_grad: Sequence[bool],
        *positional: Any,
        **named: Any,
    ) -> list[Tensor]:
        """The gradients of the inputs that `needs_grad` selects, in order."""
        sorted_ = self.sort((), self.by_name(positional, named))
        call = sorted_._replace(inputs=tuple(inputs), states=tuple(states))
        host = self.host
        with self.prepared(host, call) as prepared:
            if prepared is not None and prepared.has_backward:
                names = self.input_names(len(inputs))
                arguments = [
                    to_tenon(tensor) if name in self.read_by_backward else None
                    for name, tensor in zip(names, inputs)
                ]
                if self.draws_in_backward:  # other calls may have used the leased one meanwhile
                    *outputs, random_position = outputs
                    assert random_position is not None
                    seed, step = random_position.tolist()
                    prepared.random_position = seed, step
                tenon_outputs = [to_tenon(tensor) for tensor in outputs]
                made = prepared.backward(
                    [to_tenon(grad) for grad in grads],
                    arguments,
                    tenon_outputs,
                    [to_tenon(state) for state in states],
                    list(needs_grad),
                )
            else:
                made = self._gradients.run(
                    host, call, grads, needs_grad, self.inputs_of_elements(call, needs_grad)
                )
        return [
            torch.zeros_like(tensor) if grad is None else to_torch(grad)
            for grad, tensor, each in zip(made, inputs, needs_grad)
            if each and tensor is not None
        ]

    def fake_backward(
        self,
        grads: Any,
        inputs: Sequence[Tensor | None],
        states: Any,
        outputs: Any,
        needs_grad: Sequence[bool],
        *_: Any,
        **named: Any,
    ) -> list[Tensor]:
        return [
            torch.empty(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device)
            for tensor, each in zip(inputs, needs_grad)
            if each and tensor is not None
        ]

    def input_names(self, count: int) -> list[str]:
        return [self.info.input_at(index).name for index in range(count)]

    def differentiable(self, *arguments: Any, **named: Any) -> Any:
        """The kernel of torch's dispatch key Autograd."""
        call = self.sort(arguments, named)
        if not torch.is_grad_enabled() or not any(
            tensor is not None and tensor.requires_grad for tensor in (*call.inputs, *call.states)
        ):
            with torch._C._AutoDispatchBelowAutograd():
                return self.overload(*arguments, **named)
        return self.result(list(Differentiable.apply(self, call, *call.inputs)))

    def layout(self, count: int) -> tuple[list[str], list[bool]]:
        """Names of `count` outputs, and which are hidden. A parameter counts at most one kind of
        output.
        """
        found = self._layouts.get(count)
        if found is None:
            counted = count - sum(1 for output in self.info.outputs if not output.count)
            each = [
                output
                for output in self.info.outputs
                for _ in range(counted if output.count else 1)
            ]
            found = self._layouts[count] = (
                [output.name for output in each],
                [output.hidden for output in each],
            )
        return found

    def refuse_second_gradient(self, *arguments: Any, **named: Any) -> list[Tensor]:
        """The Autograd kernel of the backward operator. Raises for a second derivative, which would
        otherwise silently be zero.
        """
        lists = arguments[:4]
        tensors = [tensor for each in lists for tensor in each]
        if not torch.is_grad_enabled() or not any(
            tensor is not None and tensor.requires_grad for tensor in tensors
        ):
            with torch._C._AutoDispatchBelowAutograd():
                made: list[Tensor] = self.overload_of_backward(*arguments, **named)
            return made
        return list(
            Once.apply(
                self,
                [len(each) for each in lists],
                arguments[4],
                self.by_name(arguments[5:], named),
                *tensors,
            )
        )

    def schemas(self, name: str) -> dict[str, str]:
        """Schemas by names of torch operators: the operator, its variant for gradients, and its
        backward.
        """
        made = {name: schema_of(self.info, name)}
        if self.has_hidden or self.draws_in_backward:
            made[name + "_forward"] = schema_of(self.info, name + "_forward", hidden=True)
        made[name + "_backward"] = backward_schema_of(self.info, name + "_backward")
        return made
