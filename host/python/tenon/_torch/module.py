"""A graph as a torch.nn.Module."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from .. import _core
from .._call_cache import CallCache, Lease
from .._errors import UsageError, listed
from .._graph.graph import Graph, _from_bytes, from_json
from .._graph.session import Results, Session
from .autograd import has_gradient
from .gradient import add_gradients
from .tensors import to_tenon, to_torch


def module(graph: Graph, *, seed: int = 0) -> GraphModule:
    """The graph as a module that torch's optimizers train: its variables are parameters, its states
    are buffers.

    Call it with the graph's inputs, by position or by name; it returns the output, or a dict of
    several. module.train() and eval() choose whether dropout drops and states change. seed: of
    random operators, and of uninitialized variables. The module has copies; module.graph() returns
    a graph with their current values. torch.compile does not compile its calls.
    """
    return GraphModule(graph, seed)


def elements_of(graph: Graph, name: str) -> Tensor:
    found = graph[name].tensor
    assert found is not None  # initialize() was called
    return to_torch(found.clone())


def json_elements(elements: Any) -> Any:
    """Elements as graph.json has them: JSON has no infinities, NaN, complex numbers, or integers
    above 2^63 - 1.
    """
    if isinstance(elements, list):
        return [json_elements(each) for each in elements]
    if isinstance(elements, complex):
        return [json_elements(elements.real), json_elements(elements.imag)]
    if isinstance(elements, float) and not math.isfinite(elements):
        return str(elements)
    return str(elements) if isinstance(elements, int) and elements >= 2**63 else elements


class GraphModule(torch.nn.Module):
    """See tenon.torch.module. Threads: one at a time."""

    def __init__(self, graph: Graph, seed: int = 0) -> None:
        super().__init__()
        if any(node["kind"] != "forward" for node in graph.nodes):
            raise UsageError(
                "the graph computes gradients, but torch differentiates modules itself",
                "pass the graph as it was before Graph.gradient()",
            )
        whole = graph.clone()
        whole.initialize(seed)
        self._host = graph.host
        self._seed = seed
        self._text: dict[str, Any] = json.loads(whole.to_json())
        self._text.pop("updates", None)
        self._inputs = list(self._text.get("inputs", {}))
        self._outputs = list(self._text.get("outputs", {}))
        self._step = 0
        self._runs: CallCache[StatefulSession] = CallCache(survive_errors=True)
        self._parameter_names = self._attributes(whole.variables)
        self._state_names = self._attributes(whole.states)
        for name, attribute in self._parameter_names.items():
            tensor = elements_of(whole, name)
            self.register_parameter(
                attribute, torch.nn.Parameter(tensor, requires_grad=has_gradient(tensor))
            )
            self._text["variables"][name].pop("values", None)
        for name, attribute in self._state_names.items():
            self.register_buffer(attribute, elements_of(whole, name))
            self._text["states"][name].pop("values", None)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the host and the sessions, which are created again when needed."""
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_host", "_runs")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("_host", _core.default_host())
        self._runs = CallCache(survive_errors=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo) | {"_host": self._host})
        return made

    def _attributes(self, names: Iterable[str]) -> dict[str, str]:
        """Attribute names: torch's have no dots, and must not collide with the module's own."""
        made: dict[str, str] = {}
        for name in names:
            attribute = name.replace(".", "_")
            while hasattr(self, attribute) or attribute in made.values():
                attribute += "_"
            made[name] = attribute
        return made

    def forward(self, *positional: Any, **named: Any) -> Any:
        return self._call(*positional, **named)

    @torch.compiler.disable
    def _call(self, *positional: Any, **named: Any) -> Any:
        arguments = dict(zip(self._inputs, positional)) | named
        missing = [name for name in self._inputs if name not in arguments]
        unknown = [name for name in arguments if name not in self._inputs]
        if (
            missing
            or unknown
            or len(positional) > len(self._inputs)
            or len(positional) + len(named) != len(arguments)
        ):
            raise TypeError(
                f"the graph's inputs are {listed(self._inputs)}, "
                f"but got {len(positional)} by position and {listed(named)} by name"
            )
        tensors = [torch.as_tensor(arguments[name]) for name in self._inputs]
        made = GraphCall.apply(
            self,
            self.training,
            *tensors,
            *(getattr(self, attribute) for attribute in self._parameter_names.values()),
        )
        return made[0] if len(made) == 1 else Results(zip(self._outputs, made))

    def graph(self) -> Graph:
        """An independent graph with the current parameters and buffers."""
        with TemporaryDirectory() as folder:
            text = self._with_states(self._states())
            for index, (name, attribute) in enumerate(self._parameter_names.items()):
                path = Path(folder) / f"{index}.npy"
                _core.save_array(
                    str(path), _core.tensor_from(getattr(self, attribute).detach().cpu())
                )
                text["variables"] = {
                    **text["variables"],
                    name: {**text["variables"][name], "npy": path.name},
                }
            made: Graph = _from_bytes(
                from_json(json.dumps(text), folder=folder, host=self._host).to_bytes()
            )
            return made

    # ---- sessions --------------------------------------------------------------------------------

    def _states(self) -> dict[str, Tensor]:
        return {name: getattr(self, attribute) for name, attribute in self._state_names.items()}

    def _with_states(self, states: dict[str, Tensor]) -> dict[str, Any]:
        text = dict(self._text)
        if states:
            text["states"] = {
                name: {**text["states"][name], "values": json_elements(states[name].tolist())}
                for name in states
            }
        return text

    def _graph_of_inputs(self, states: dict[str, Tensor]) -> Graph:
        """The graph with its variables as inputs: torch owns them and may replace their memory at
        any time.
        """
        text = self._with_states(states)
        text["inputs"] = text.get("inputs", {}) | text.get("variables", {})
        text["variables"] = {}
        return from_json(json.dumps(text), host=self._host)

    def _session(
        self,
        key: Any,
        make: Callable[[Graph], None],
        states: dict[str, Tensor],
        training: bool,
        device: torch.device,
    ) -> Lease[StatefulSession]:
        """Leases the session of a key with these states."""

        def new() -> StatefulSession:
            graph = self._graph_of_inputs(states)
            make(graph)
            return StatefulSession(graph, training, device, self._seed, states)

        return self._runs.lease(
            self._host, (key, training, device), new, lambda found: found.has(states)
        )


def have_same_bits(left: Tensor, right: Tensor) -> bool:
    """Unlike torch.equal(), to which -0.0 equals 0.0 and NaN differs from itself."""

    def bits(tensor: Tensor) -> Tensor:
        return tensor.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)

    return (left.dtype, left.shape) == (right.dtype, right.shape) and torch.equal(
        bits(left), bits(right)
    )


class StatefulSession:
    """A session with its states."""

    def __init__(
        self,
        graph: Graph,
        training: bool,
        device: torch.device,
        seed: int,
        states: dict[str, Tensor],
    ) -> None:
        where = "" if device.type == "cpu" else str(device)
        self._session = Session(
            graph, training=training, device=where, seed=seed, keep_on_device=bool(where)
        )
        self._names = list(states)
        self.outputs = set(graph.outputs())

    def has(self, states: dict[str, Tensor]) -> bool:
        return all(
            have_same_bits(to_torch(self.state(name)), states[name].cpu()) for name in self._names
        )

    def state(self, name: str) -> _core.Tensor:
        found = self._session.tensor(name)
        assert found is not None
        return found.clone()

    def run(
        self, inputs: dict[str, Tensor], outputs: Sequence[str], step: int
    ) -> dict[str, _core.Tensor]:
        self._session.step = step
        needed = self._session._inputs
        made: dict[str, _core.Tensor] = self._session._core.run(
            {name: to_tenon(inputs[name]) for name in needed}, list(outputs), arrays=False
        )
        return made


class GraphCall(torch.autograd.Function):
    """A run of the graph. Its gradient is a run of the differentiated graph, which recomputes what
    it needs.
    """

    @staticmethod
    def forward(
        ctx: Any, graph_module: GraphModule, training: bool, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        names = [*graph_module._inputs, *graph_module._parameter_names]
        ctx.graph_module, ctx.training, ctx.names, ctx.step = (
            graph_module,
            training,
            names,
            graph_module._step,
        )
        ctx.states = {
            name: state.detach().clone() for name, state in graph_module._states().items()
        }
        ctx.device = next((tensor.device for tensor in tensors), torch.device("cpu"))
        with graph_module._session(
            "forward", lambda graph: None, ctx.states, training, ctx.device
        ) as session:
            made = session.run(dict(zip(names, tensors)), graph_module._outputs, graph_module._step)
            if training:
                graph_module._step += 1
                for name, state in graph_module._states().items():
                    state.copy_(to_torch(session.state(name)))
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        outputs = tuple(to_torch(made[name]) for name in graph_module._outputs)
        ctx.mark_non_differentiable(*(tensor for tensor in outputs if not has_gradient(tensor)))
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        graph_module: GraphModule = ctx.graph_module
        requested = [name for name, each in zip(ctx.names, ctx.needs_input_grad[2:]) if each]
        present = {
            name: grad for name, grad in zip(graph_module._outputs, grads) if grad is not None
        }
        if not requested or not present:
            return (None,) * (2 + len(ctx.names))
        words = {name: f"__d_{name}" for name in requested}
        seeds = {name: f"__dy_{name}" for name in present}

        def differentiate(graph: Graph) -> None:
            outputs = graph.outputs()
            made = add_gradients(
                graph,
                {seeds[name]: outputs[name] for name in present},
                {words[name]: graph[name] for name in requested},
            )
            graph.outputs(**made)

        key = ("backward", tuple(requested), tuple(present))
        inputs = dict(zip(ctx.names, ctx.saved_tensors)) | {
            seeds[name]: grad for name, grad in present.items()
        }
        with graph_module._session(
            key, differentiate, ctx.states, ctx.training, ctx.device
        ) as session:
            reached = [words[name] for name in requested if words[name] in session.outputs]
            made = session.run(inputs, reached, ctx.step) if reached else {}
        grads_by_name = {
            name: to_torch(made[words[name]]) for name in requested if words[name] in made
        }
        return (None, None, *(grads_by_name.get(name) for name in ctx.names))
