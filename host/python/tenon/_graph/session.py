"""Sessions: a graph, bound once, planned for each combination of input shapes, and run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arrays import kinds
from .._errors import UsageError, listed, plain_error, plain_type_errors
from .categories import Categories
from .names import ByName, by_graph_names, by_name

if TYPE_CHECKING:
    from .graph import Graph


class Profile:
    """The times of a session's nodes. nodes: as returned by Session.times(); html: a fragment of a
    page.
    """

    def __init__(self, nodes: list[dict[str, Any]], html: str) -> None:
        self.nodes = nodes
        self.html = html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        lines = [f"{'node':<32} {'operator':<24} {'calls':>8} {'ms':>12} {'us per call':>12}"]
        for each in self.nodes:
            calls, seconds = each["calls"], each["seconds"]
            lines.append(
                f"{each['node']:<32} {each['op']:<24} {calls:>8} {1e3 * seconds:>12.3f} "
                f"{1e6 * seconds / calls:>12.2f}"
            )
        return "\n".join(lines)


class Results(ByName[Any]):
    """Outputs by name: `out["digit"]` or `out.digit`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(
                f"there is no output '{name}'; the outputs are {listed(self)}"
            ) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


@plain_type_errors
class Session(_core.SessionBase):
    """Runs a graph as it was when the session was created.

    device: of nodes without a device of their own: "cpu", "cuda", "cuda:1".
    training: run in training mode: dropout drops, states change, variables are updated.
    seed: of random operators.
    trace: path of a trace in Chrome's format.
    plans: the maximum number of cached plans.
    plan_memory: bytes that cached plans may take together, without the memory of their values.
    optimize: what may be done to the graph before it runs: "full", "exact" (nothing that changes a
        bit of the results) or "none".
    precision: "bfloat16" lets products and convolutions of float32 round their factors to bfloat16
        and accumulate in float32; UsageError if no node or the machine cannot.

    Threads: one at a time; a concurrent call gets a UsageError.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        device: str = "",
        training: bool = False,
        seed: int = 0,
        trace: str | os.PathLike[str] = "",
        profile: bool = False,
        plans: int = 64,
        plan_memory: int = 256 << 20,
        keep_on_device: bool = False,
        debug: bool = False,
        capture: bool = True,
        optimize: str = "full",
        precision: str = "float32",
    ) -> None:
        if not hasattr(graph, "_core"):
            raise TypeError(f"Session() needs a tenon.Graph, not {type(graph).__name__}")
        self._options: dict[str, Any] = dict(
            device=device,
            training=training,
            seed=seed,
            trace=os.fspath(trace),
            profile=profile,
            plans=plans,
            plan_memory=plan_memory,
            keep_on_device=keep_on_device,
            debug=debug,
            capture=capture,
            optimize=optimize,
            precision=precision,
        )
        self._host = graph.host
        self._graph_of = graph._of_handle
        self._changed = graph._core.changed_names()
        inputs = graph._core.inputs()
        self._inputs: dict[str, str | None] = {each["name"]: each["dtype"] for each in inputs}
        self._core = _core.Session(graph._core, **self._options)
        outputs = graph._core.outputs()
        self._outputs = tuple(output["name"] for output in outputs)
        self._texts_in = _categories(inputs, "input")
        self._texts_out = ByName(_categories(outputs, "output"))
        self._texts_out._changed = self._changed
        # such an output would be the caller's memory
        alias = any(output["value"] in self._inputs for output in outputs)
        is_quick = not (alias or self._texts_in or self._texts_out)
        self._attach(self._core, tuple(self._inputs), self._outputs, Results, is_quick)

    def _run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        outputs: Sequence[str] | str | None = None,
        into: Mapping[str, Any] | None = None,
        add: bool = False,
        batch: int = 0,
    ) -> Results:
        """The general path of run(), for anything but numpy arrays by name."""
        if not isinstance(inputs or {}, Mapping) or not isinstance(into or {}, Mapping):
            raise TypeError("Session.run(): inputs and into must be dicts of arrays by name")
        if batch < 0 or batch and into:
            raise UsageError(
                f"batch is {batch}"
                if batch < 0
                else "into= cannot be used with batch=, which allocates its outputs"
            )
        names = [outputs] if isinstance(outputs, str) else list(outputs or ())
        arguments = self._indices(by_graph_names(self._inputs, inputs or {}, self._changed))
        kind = kinds.NUMPY
        for name, value in arguments.items():
            if type(value) is not kinds.ndarray:
                arguments[name] = self._tensor(name, value)
                kind = kinds.kind_of_one(value) or kind
        try:
            if kind is kinds.NUMPY:
                made = self._core.run(arguments, names, dict(into or {}), add, batch)
                return Results(self._texts(self._in_order(made), into or {}))
            made = self._core.run(arguments, names, dict(into or {}), add, batch, False)
        except TypeError as error:
            wrong = plain_error(
                error,
                Session._run,
                (self, inputs),
                {"outputs": names, "into": into, "add": add, "batch": batch},
            )
            if wrong is None:
                raise
            raise wrong from None
        converted = {
            name: tensor.to("cpu").numpy() if name in self._texts_out else kind.from_tensor(tensor)
            for name, tensor in self._in_order(made).items()
        }
        return Results(self._texts(converted, into or {}))

    def _indices(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The inputs with texts as indices."""
        for name in self._texts_in.keys() & arguments.keys():
            arguments[name] = self._texts_in[name].indices(arguments[name])
        return arguments

    def _texts(self, results: dict[str, Any], into: Mapping[str, Any]) -> dict[str, Any]:
        """The results with indices as texts, except for those written to the caller's arrays."""
        for name in [each for each in results if each in self._texts_out and each not in into]:
            results[name] = self._texts_out[name].texts(results[name])
        return results

    def _in_order(self, made: dict[str, Any]) -> dict[str, Any]:
        """The results in the order of the graph's outputs, then those under other names that the
        caller passed.
        """
        return {name: made[name] for name in self._outputs if name in made} | made

    def _tensor(self, name: str, value: Any) -> _core.Tensor:
        """Converts an input. Numbers and lists take the input's dtype."""
        dtype = self._inputs.get(name)
        if (
            dtype is not None
            and isinstance(value, kinds.NUMBERS)
            and kinds.kind_of_one(value) is None
        ):
            return kinds.weak(value, dtype, f"input '{name}'")
        try:
            return kinds.to_tensor(value)
        except TypeError as error:
            raise TypeError(f"input '{name}': {error}") from None

    def _call(self, /, *positional: Any, **inputs: Any) -> Results:
        return self._run(by_name(list(self._inputs), positional, inputs, "session"))

    def plan(self, /, **shapes: Any) -> Any:
        """The plan of a run with inputs of these shapes. Nothing runs."""
        from .drawing import Plan

        return Plan(self._core.plan(shapes))

    def tensor(self, name: str) -> _core.Tensor | None:
        """The current elements of a variable, state or constant."""
        tensor: _core.Tensor | None = self._core.tensor(name)
        return tensor

    def graph(self) -> Graph:
        """An independent copy of the session's graph with its current elements."""
        return self._graph_of(self._host, self._core.graph())

    @property
    def step(self) -> int:
        """The number of runs so far, on which random numbers depend."""
        return self._core.step

    @step.setter
    def step(self, number: int) -> None:
        self._core.step = number

    def times(self) -> list[dict[str, Any]]:
        """With profile=True: the time of each node over all runs, the longest first.

        Each node is a dict: node, op, device, calls, seconds, least (seconds of the shortest call),
        bytes (read and written) and flops of all calls, 0 if the operator does not report them,
        begin (seconds from the start of the last run to the node's start) and last (the node's
        seconds in that run).
        """
        return self._core.times()

    def clear_times(self) -> None:
        """Resets times(), for example after the first runs, in which kernels prepare and take
        longer.
        """
        self._core.clear_times()

    def profile(self) -> Profile:
        """times() as a table and, in notebooks, as a page with a timeline, compared with this
        machine's copy and matrix product.

        Measuring the machine takes some tenths of a second.
        """
        return Profile(self.times(), self._core.profile_page(self._host))

    def first_non_finite(self, inputs: Mapping[str, Any]) -> str:
        """The first NaN or infinity of the last run, as a sentence; empty if there is none."""
        arguments = self._indices(by_graph_names(self._inputs, inputs, self._changed))
        return self._core.first_non_finite(
            {name: self._tensor(name, value) for name, value in arguments.items()}
        )

    def close(self) -> None:
        self._core.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, tuple[Graph, dict[str, Any]]]:
        return _restore, (self.graph(), self._options)

    def __repr__(self) -> str:
        return (
            "<tenon.Session, closed>"
            if self._core.closed
            else f"<tenon.Session of ({listed(self._inputs, '')}), {self.step} runs>"
        )


def _categories(values: list[dict[str, Any]], what: str) -> dict[str, Categories]:
    return {
        each["name"]: Categories(each["categories"], each["dtype"], f"{what} '{each['name']}'")
        for each in values
        if each["categories"]
    }


def _restore(graph: Graph, options: dict[str, Any]) -> Session:
    return Session(graph, **options)
