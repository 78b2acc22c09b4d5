"""Gradients of registered operators in torch's autograd."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._errors import UsageError
from .._host.context import using
from .call import Call

if TYPE_CHECKING:
    from .operator import RegisteredOperator


class Differentiable(torch.autograd.Function):
    """The operator with its gradient. Tensors that backward does not read are not saved; tensors of
    their shape without memory replace them.
    """

    @staticmethod
    def forward(
        ctx: Any, op: RegisteredOperator, call: Call, *inputs: Tensor | None
    ) -> tuple[Tensor, ...]:
        with torch._C._AutoDispatchBelowAutograd():
            made = op.overload_with_hidden(*op.unsort(call), **op.named(call))
            everything = list(made) if isinstance(made, list | tuple) else [made]
            random_position = [everything.pop()] if op.draws_in_backward else []
            end = len(everything) - len(op.info.states)
            outputs, states = everything[:end], everything[end:]
            names, hidden = op.layout(end)
            every_input = not op.has_kernel_of_backward or op.may_see_elements(call)
            saved_inputs = [
                save(tensor, every_input or name in op.read_by_backward)
                for name, tensor in zip(op.input_names(len(inputs)), inputs)
            ]
            saved_outputs = [
                tensor if name in op.read_by_backward else None
                for name, tensor in zip(names, outputs)
            ]
        visible = [tensor for tensor, is_hidden in zip(outputs, hidden) if not is_hidden]
        ctx.save_for_backward(*saved_inputs, *states, *saved_outputs, *random_position)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *states,
            *(tensor for tensor in visible if not has_gradient(tensor)),
        )
        ctx.op, ctx.call, ctx.hidden, ctx.counts = (
            op,
            op.named(call),
            hidden,
            (len(inputs), len(states)),
        )
        ctx.host = op.host
        return (*visible, *states)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        op: RegisteredOperator = ctx.op
        inputs_count, states_count = ctx.counts
        saved = ctx.saved_tensors
        inputs, states, outputs = (
            saved[:inputs_count],
            saved[inputs_count : inputs_count + states_count],
            saved[inputs_count + states_count :],
        )
        visible = iter(grads)
        every_grad = [None if is_hidden else next(visible) for is_hidden in ctx.hidden]
        needs_grad = list(ctx.needs_input_grad[2:])
        if all(grad is None for grad in every_grad) or not any(needs_grad):
            return (None,) * (2 + inputs_count)
        # The host of the forward call: torch may run this on a thread of its own, outside every
        # block.
        same = ctx.host.closed or ctx.host is op.host
        with nullcontext() if same else using(ctx.host):
            made = iter(
                op.overload_of_backward(
                    every_grad, list(inputs), list(states), list(outputs), needs_grad, **ctx.call
                )
            )
        return (None, None, *(next(made) if each else None for each in needs_grad))


class Once(torch.autograd.Function):
    """A gradient that is not differentiable itself."""

    @staticmethod
    def forward(
        ctx: Any,
        op: RegisteredOperator,
        counts: list[int],
        needs_grad: list[bool],
        named: dict[str, Any],
        *tensors: Tensor | None,
    ) -> tuple[Tensor, ...]:
        ctx.op = op
        rest = iter(tensors)
        lists = [[next(rest) for _ in range(count)] for count in counts]
        with torch._C._AutoDispatchBelowAutograd():
            return tuple(op.overload_of_backward(*lists, needs_grad, **named))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        raise UsageError(
            f"[{ctx.op.info.name}] has a gradient, but no second derivative in torch",
            "Graph.gradient() computes second derivatives",
        )


def has_gradient(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


_placeholders: dict[Any, Tensor] = {}


def save(tensor: Tensor | None, read: bool) -> Tensor | None:
    """The tensor if it is read, otherwise a tensor of its type without memory."""
    if tensor is None or read:
        return tensor
    key = (
        (tensor.dtype, tensor.device, tensor.shape)
        if type(tensor) in (Tensor, torch.nn.Parameter)
        else None
    )
    found = None if key is None else _placeholders.get(key)
    if found is None:
        found = tensor.new_empty(()).expand(tensor.shape)
        if key is not None and type(found) is Tensor:  # not a tensor of a trace
            if len(_placeholders) >= 1024:
                _placeholders.clear()
            _placeholders[key] = found
    return found
