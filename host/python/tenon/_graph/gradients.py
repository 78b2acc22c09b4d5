"""value_and_grad: functions of arrays that also return their gradient."""

from __future__ import annotations

import functools
import itertools
import operator
import reprlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np

from .. import _core
from .._arrays.dtypes import FLOATING
from .._arrays.kinds import Kind, kind_of, kind_of_one
from .._call_cache import CallCache, exact
from .._errors import MixedGraphs, UsageError
from .graph import Graph, Value


def value_and_grad(
    function: Callable[..., Any],
    argnums: SupportsIndex | Sequence[SupportsIndex] = 0,
    *,
    has_aux: bool = False,
    training: bool = False,
    seed: int = 0,
    device: str = "",
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns the value of `function` and its gradient with respect to the
    arguments at `argnums`.

    function: computes one floating number (0-d) from arrays with operators: tenon.ops, Python's
        operators on values, or tenon.nn with weights passed as arguments. Arguments are arrays or
        nested lists, tuples and dicts of them; a gradient has the structure, dtypes and array kinds
        of its argument. Numbers, texts and None are passed on unchanged, except that numbers at
        `argnums` count as arrays of float64 or int64.
    argnums: the position of an argument, or a sequence of positions, for which the gradients are a
        tuple.
    has_aux: `function` returns (value, more); the result's value is then (value, more).
    training, seed, device: as in tenon.Session. Each call draws different random numbers.

    `function` runs once for each combination of dtypes, ranks and other arguments: it is traced
    into a graph, which computes all further calls. While tracing, its arguments are tenon.Value
    objects whose sizes are None; if it needs sizes, it is traced for each combination of shapes.
    Arrays that it takes from elsewhere are constants from the first call. Gradients of gradients
    are supported: inside of another trace or a graph, a call with values of a graph, or of a
    function that reads some, adds to that graph and returns its values.

    Raises UsageError for functions that cannot be differentiated. Threads: any number concurrently.
    """
    return _Differentiated(
        function, argnums, has_aux, True, dict(training=training, seed=seed, device=device)
    )


def grad(
    function: Callable[..., Any],
    argnums: SupportsIndex | Sequence[SupportsIndex] = 0,
    *,
    has_aux: bool = False,
    training: bool = False,
    seed: int = 0,
    device: str = "",
) -> Callable[..., Any]:
    """As value_and_grad(), but returns only the gradient; with has_aux (gradient, more)."""
    return _Differentiated(
        function, argnums, has_aux, False, dict(training=training, seed=seed, device=device)
    )


def _positions(argnums: SupportsIndex | Sequence[SupportsIndex]) -> tuple[tuple[int, ...], bool]:
    """The positions, and whether there is one that is not in a sequence."""
    try:
        return (operator.index(argnums),), True  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return tuple(operator.index(each) for each in argnums), False  # type: ignore[union-attr]
    except TypeError:
        raise TypeError(
            f"argnums is {reprlib.repr(argnums)}, but must be the position of an argument or a "
            "sequence of positions"
        ) from None


class _Leaf:
    """The position of an array among the arguments."""


LEAF = _Leaf()


class _Other:
    """An argument that is not an array. Equal to those of the same type and exact value: 0.0 is
    not -0.0."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value, self._key = value, exact(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Other) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def flatten(tree: Any, leaves: list[Any], arrays: bool = False) -> Any:
    """Appends the arrays to `leaves` and returns the structure around them, hashable. `arrays`:
    numbers count as arrays.
    """
    if isinstance(tree, dict):
        keys = tuple(key if type(key) is str else _Other(key) for key in tree)
        return dict, keys, tuple(flatten(each, leaves, arrays) for each in tree.values())
    if isinstance(tree, list | tuple):
        return type(tree), None, tuple(flatten(each, leaves, arrays) for each in tree)
    if arrays and isinstance(tree, int | float):
        tree = np.asarray(tree)
    if isinstance(tree, Value) or kind_of_one(tree) is not None:
        leaves.append(tree)
        return LEAF
    try:
        hash(tree)
    except TypeError:
        raise TypeError(
            f"an argument is {type(tree).__name__}, which is neither an array nor hashable"
        ) from None
    return None, None, _Other(tree)


def unflatten(form: Any, leaves: Iterator[Any]) -> Any:
    if form is LEAF:
        return next(leaves)
    kind, keys, children = form
    if kind is None:
        return children.value
    made = [unflatten(child, leaves) for child in children]
    if kind is dict:
        return dict(zip((key.value if isinstance(key, _Other) else key for key in keys), made))
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


class _Call:
    """The arguments of a call as structures and leaves, with the leaves to differentiate by."""

    def __init__(
        self, name: str, argnums: tuple[int, ...], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        self.leaves: list[Any] = []
        self.wrt: list[int] = []
        forms = []
        self.wrt_forms: dict[int, Any] = {}
        for index, argument in enumerate(arguments):
            first = len(self.leaves)
            forms.append(flatten(argument, self.leaves, index in argnums))
            if index in argnums:
                self.wrt_forms[index] = forms[-1]
                self.wrt += range(first, len(self.leaves))
        for index in argnums:
            if index not in self.wrt_forms:
                raise TypeError(
                    f"{name}(): argnums has {index}, but the call has {len(arguments)} positional "
                    "arguments"
                )
        if not self.wrt:
            raise TypeError(f"{name}(): the arguments at argnums hold no arrays")
        names = tuple(sorted(named))
        self.form = tuple(forms), names, tuple(flatten(named[each], self.leaves) for each in names)

    def apply(self, function: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        forms, names, named = self.form
        rest = iter(leaves)
        positional = [unflatten(form, rest) for form in forms]
        return function(
            *positional, **{name: unflatten(form, rest) for name, form in zip(names, named)}
        )

    def gradients(self, argnums: tuple[int, ...], made: Sequence[Any]) -> list[Any]:
        """The gradients in the structure of their arguments, in the order of argnums."""
        at = dict(zip(self.wrt, made))
        whole: dict[int, Any] = {}
        rest = iter([at[leaf] for leaf in self.wrt])
        for index, form in self.wrt_forms.items():
            whole[index] = unflatten(form, rest)
        return [whole[index] for index in argnums]


class _Trace:
    """A graph of the function and its gradient for one version of a host. It does not refer to the
    tenon.Host, which drops its cached entries when it is collected.
    """

    def __init__(self, graph: Graph, more: Any, options: dict[str, Any]) -> None:
        self._graph = graph._core
        self.more = more
        self._options = options
        self._lock = threading.Lock()

    def session(self) -> _core.Session:
        with self._lock:  # a graph is used by one thread at a time
            return _core.Session(self._graph, **self._options)


class _ReadsGraph(Exception):
    """The function reads values of another graph, such as those of a trace around it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


def _as_dense(gradient: Any) -> Any:
    return gradient if gradient.storage == "dense" else gradient.to_storage("dense")


class _Differentiated:
    def __init__(
        self,
        function: Callable[..., Any],
        argnums: SupportsIndex | Sequence[SupportsIndex],
        has_aux: bool,
        value: bool,
        options: dict[str, Any],
    ) -> None:
        self._argnums, self._single = _positions(argnums)
        self._function, self._has_aux, self._value, self._options = (
            function,
            has_aux,
            value,
            options,
        )
        self._name = getattr(function, "__name__", "function")
        if (
            any(index < 0 for index in self._argnums)
            or len(set(self._argnums)) != len(self._argnums)
            or not self._argnums
        ):
            raise UsageError(
                f"argnums is {reprlib.repr(argnums)}, but must be distinct argument positions, "
                "counted from 0"
            )
        self._traces: CallCache[_Trace | Literal["needs sizes"]] = CallCache()
        self._sessions: CallCache[_core.Session] = CallCache(survive_errors=True)
        self._lock = threading.RLock()
        self._steps = itertools.count()
        functools.update_wrapper(self, function, updated=())

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        call = _Call(self._name, self._argnums, arguments, named)
        if any(isinstance(leaf, Value) for leaf in call.leaves):
            return self._on_values(
                call, next(leaf.graph for leaf in call.leaves if isinstance(leaf, Value))
            )
        kinds = [kind_of_one(leaf) for leaf in call.leaves]
        tensors = [
            kind.to_tensor(leaf) for kind, leaf in zip(kinds, call.leaves) if kind is not None
        ]
        host = _core.default_host()
        try:
            trace = self._trace(host, call, tensors)
        except _ReadsGraph as error:
            return self._on_values(call, error.graph)
        inputs = {f"argument_{index}": tensor for index, tensor in enumerate(tensors)}
        # Sessions belong to a trace: the host may have got other operators since.
        with self._sessions.lease(host, trace, trace.session) as session:
            session.step = next(self._steps)
            made = session.run(inputs, [], {}, False, 0, False)
        return self._pack(call, trace, made, [kind for kind in kinds if kind is not None])

    def _pack(self, call: _Call, trace: _Trace, made: dict[str, Any], kinds: list[Kind]) -> Any:
        gradients = [
            kinds[leaf].from_tensor(_as_dense(made[f"gradient_{leaf}"])) for leaf in call.wrt
        ]
        first = kind_of(call.leaves)
        value = first.from_tensor(made["value"]) if self._value else None
        more = None
        if self._has_aux:
            form, count = trace.more
            more = unflatten(
                form, iter([first.from_tensor(made[f"more_{index}"]) for index in range(count)])
            )
        return self._result(value, more, call.gradients(self._argnums, gradients))

    def _result(self, value: Any, more: Any, gradients: list[Any]) -> Any:
        all_of_them = gradients[0] if self._single else tuple(gradients)
        if not self._value:
            return (all_of_them, more) if self._has_aux else all_of_them
        return ((value, more) if self._has_aux else value), all_of_them

    def _trace(self, host: _core.Host, call: _Call, tensors: list[Any]) -> _Trace:
        """The graph for arguments of these types."""
        key: tuple[Any, ...] = (
            call.form,
            tuple((tensor.dtype_name, tensor.ndim, tensor.storage) for tensor in tensors),
        )
        with self._lock:
            trace = self._traces.shared(host, key, lambda: self._without_sizes(host, call, tensors))
            if not isinstance(trace, _Trace):
                shapes = tuple(tensor.shape for tensor in tensors)
                trace = self._traces.shared(
                    host, (*key, shapes), lambda: self._traced(host, call, tensors, shapes)
                )
            assert isinstance(trace, _Trace)
            return trace

    def _without_sizes(
        self, host: _core.Host, call: _Call, tensors: list[Any]
    ) -> _Trace | Literal["needs sizes"]:
        try:
            return self._traced(
                host, call, tensors, [(None,) * len(tensor.shape) for tensor in tensors]
            )
        except _ReadsGraph:
            raise
        except Exception:  # anything that the function raises for a size of None
            return "needs sizes"

    def _traced(
        self, host: _core.Host, call: _Call, tensors: list[Any], shapes: Sequence[Any]
    ) -> _Trace:
        graph = Graph(host)
        values = [
            graph.input(f"argument_{index}", tensor.dtype_name, shape)
            for index, (tensor, shape) in enumerate(zip(tensors, shapes))
        ]
        leaves: list[Any] = []
        try:
            value, more, gradients = self._differentiate(call, values)
            form = flatten(more, leaves)
            self._require_own(graph, leaves)
        except MixedGraphs as error:
            others = [each for each in error.graphs if each is not graph]
            if len(others) == len(error.graphs):
                raise
            raise _ReadsGraph(others[0]) from error
        for variable in graph.variables:
            raise UsageError(
                f"{self._name}() creates the variable '{variable}', which no call can train",
                "pass weights as arguments: weight=, bias=, gamma=, beta=",
            )
        if self._value:
            graph.output("value", value)
        for leaf, gradient in zip(call.wrt, gradients):
            graph.output(f"gradient_{leaf}", gradient)
        for index, leaf in enumerate(leaves):
            graph.output(f"more_{index}", leaf if isinstance(leaf, Value) else graph.constant(leaf))
        return _Trace(graph, (form, len(leaves)), self._options)

    def _differentiate(self, call: _Call, values: list[Any]) -> tuple[Value, Any, list[Value]]:
        """Applies the function to values of a graph and adds the nodes of its gradient."""
        for leaf in call.wrt:
            if values[leaf].dtype not in FLOATING:
                raise UsageError(
                    f"{self._name}(): gradients need floating arrays, but one at argnums is "
                    f"{values[leaf].dtype}"
                )
        returned = call.apply(self._function, values)
        value, more = self._split(returned)
        graph = values[call.wrt[0]].graph
        self._require_own(graph, [value])
        if value.shape != () or value.dtype not in FLOATING:
            raise UsageError(
                f"{self._name}() returned {value!r}, but only one floating number has a gradient",
                "ops.sum, ops.mean and losses return one",
            )
        wrt = [values[leaf] for leaf in call.wrt]
        found = graph.gradient(value, wrt)
        zero = graph.ops["tenon.fill_like"]
        return (
            value,
            more,
            [
                zero(variable) if gradient is None else gradient
                for gradient, variable in zip(found, wrt)
            ],
        )

    def _require_own(self, graph: Graph, returned: Sequence[Any]) -> None:
        for value in returned:
            if isinstance(value, Value) and value.graph is not graph:
                error = MixedGraphs(f"{self._name}() returned a value of another graph")
                error.graphs = graph, value.graph
                raise error

    def _split(self, returned: Any) -> tuple[Value, Any]:
        value, more = returned, None
        if self._has_aux:
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(
                    f"{self._name}() returned {type(returned).__name__}, but has_aux=True needs "
                    "(value, more)"
                )
            value, more = returned
        if not isinstance(value, Value):
            raise UsageError(
                f"{self._name}() returned {type(value).__name__}, not a value computed by "
                "operators from its arguments"
            )
        return value, more

    def _on_values(self, call: _Call, graph: Graph) -> Any:
        """Inside another trace or a graph: adds the nodes to that graph.

        Each argument to differentiate by becomes a value of its own. The same value may be another
        argument, too, or be what another one is computed from, and none of that counts.
        """
        cast = graph.ops["tenon.cast"]

        def separate(leaf: Any) -> Value:
            if not isinstance(leaf, Value):
                return graph.constant(leaf)
            return cast(leaf, dtype=leaf.dtype) if leaf.dtype in FLOATING else leaf

        values = [
            separate(leaf) if index in call.wrt else leaf for index, leaf in enumerate(call.leaves)
        ]
        value, more, gradients = self._differentiate(call, values)
        return self._result(value, more, call.gradients(self._argnums, gradients))
