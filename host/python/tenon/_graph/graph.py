"""Graphs: building, saving, loading, drawing and running them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .. import _core
from .._arrays.kinds import NUMBERS, to_tensor, weak
from .._errors import UsageError, listed, plain_type_errors, plainly, say
from .._host.host import path_text
from .names import ByName, by_name, name_in_graph
from .nodes import GraphOperators
from .session import Results, Session
from .value import Value as Value

Shape = Sequence[int | None] | int | None
Init = str | float | tuple[str, float] | tuple[str, float, float]


@plain_type_errors
class Graph:
    """Nodes (operator, parameters, name) and the typed values between them.

    Calling a graph runs it: `g(image=x)["scores"]`. Threads: one at a time; a concurrent call gets
    a UsageError.
    """

    def __init__(
        self, host: _core.Host | None = None, *, _handle: _core.Graph | None = None
    ) -> None:
        self.host = host or _core.default_host()
        self._core = _handle or _core.Graph(self.host)
        self._sessions: dict[Any, Session] = {}
        self._names: dict[str, int] = {}

    # ---- building --------------------------------------------------------------------------------

    def input(
        self,
        name: str,
        dtype: Any = None,
        shape: Shape = None,
        *,
        categories: Sequence[str] | None = None,
    ) -> Value:
        """An input, which each run receives. A dimension of None may differ between runs.

        dtype: default: float32, or int64 with categories; those: see set_categories().
        """
        default = "float32" if categories is None else "int64"
        value = self._new(self._core.input(name, default if dtype is None else dtype, shape))
        if categories is not None:
            self.set_categories(value, categories)
        return value

    def variable(
        self,
        name: str,
        value: Any = None,
        *,
        dtype: Any = None,
        shape: Shape = None,
        init: Init = "automatic",
    ) -> Value:
        """A trainable weight: from an array, which is copied, or with a dtype (default: float32)
        and a shape, initialized by `init`.

        init: "zeros", "ones", "xavier", "he", a number, ("uniform", low, high) or ("normal", mean,
        deviation).
        """
        if value is not None:
            return self._new(self._core.variable(name, _elements(name, value, dtype, shape, init)))
        kind, first, second = _init_of(name, init)
        return self._new(
            self._core.variable_of_type(
                name, "float32" if dtype is None else dtype, shape, kind, first, second
            )
        )

    def constant(self, value: Any, name: str | None = None) -> Value:
        """An array that is part of the graph."""
        return self._new(
            self._core.constant(
                self._free_name("constant") if name is None else name, to_tensor(value)
            )
        )

    def output(self, name: str, value: Value) -> Value:
        """Makes runs return the value under this name."""
        self._core.output(name, self._own(value))
        self._changed()
        return value

    def set_categories(self, value: Value, names: Sequence[str]) -> None:
        """Makes an int32 or int64 value categorical: its elements are indices of these names.

        Runs then take arrays of str for an input, and return them for an output; any other text
        becomes -1. Without names, the elements are numbers again.
        """
        self._core.set_categories(self._own(value), list(names))
        self._changed()

    def outputs(self, /, **values: Value) -> dict[str, Value]:
        """The graph's outputs by name. With arguments, first adds these values as outputs."""
        for name, value in values.items():
            self.output(name, value)
        return {each["name"]: self[each["value"]] for each in self._core.outputs()}

    @property
    def ops(self) -> Any:
        """The operators, as functions that add nodes to this graph. Operators without inputs need
        it: `g.ops.normal(shape=[2])`.
        """
        return GraphOperators(self)

    def gradient(
        self,
        loss: Value,
        wrt: Sequence[Value],
        *,
        recompute: Sequence[Value] = (),
        memory_budget: int = 0,
        shapes: Mapping[str, Shape] | None = None,
        seed: Value | None = None,
    ) -> list[Value | None]:
        """Adds the nodes that compute the gradient of the loss with respect to each of `wrt`; None
        for a gradient that is zero.

        seed: the gradient of the loss itself, with the loss's shape; default: ones, so that the
        elements of the loss are summed.
        """
        made = self._core.gradient(
            self._own(loss),
            [self._own(value) for value in wrt],
            [self._own(value) for value in recompute],
            memory_budget,
            dict(shapes or {}),
            None if seed is None else self._own(seed),
        )
        self._changed()
        return [None if handle is None else Value(self, handle) for handle in made]

    def update(self, variable: Value, value: Value) -> None:
        """Assigns the value to the variable at the end of each run of a training session."""
        self._core.update(self._own(variable), self._own(value))
        self._changed()

    # ---- inspection ------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Value:
        """A value by name (`fc1`, `fc1:1`, `fc1:mask`), or by the name of a graph output."""
        try:
            return Value(self, self._core.find(name))
        except UsageError as error:
            outputs = {output["name"]: output["value"] for output in self._core.outputs()}
            if (
                graph_name := name
                if name in outputs
                else name_in_graph(outputs, name, self._core.changed_names())
            ):
                return Value(self, self._core.find(outputs[graph_name]))
            raise KeyError(str(error)) from None

    def __contains__(self, name: str) -> bool:
        try:
            self._core.find(name)
        except UsageError:
            return False
        return True

    @property
    def inputs(self) -> dict[str, Value]:
        return self._all(self._core.inputs())

    @property
    def variables(self) -> dict[str, Value]:
        return self._all(self._core.variables())

    @property
    def states(self) -> dict[str, Value]:
        return self._all(self._core.states())

    @property
    def constants(self) -> dict[str, Value]:
        return self._all(self._core.constants())

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """Each as a dict: name, op, kind, inputs, outputs, params."""
        return self._core.nodes()

    @property
    def operators(self) -> list[dict[str, Any]]:
        """The operators of the nodes, with the plugin of each when the graph was made."""
        return self._core.operators()

    @property
    def training(self) -> dict[str, Any] | None:
        """The progress of the training that the graph is a checkpoint of; None for other graphs."""
        progress: dict[str, Any] | None = self._core.training()
        return progress

    # ---- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, seed: int = 0) -> None:
        """Writes a .tenon file atomically. Variables without elements are initialized from the
        seed.
        """
        self._core.save(path_text(path), seed)

    def export_onnx(
        self, path: str | os.PathLike[str], *, opset: int = 17, seed: int = 0
    ) -> list[str]:
        """Writes an ONNX model atomically; weights of more than 256 MiB go to PATH.data.

        Returns a sentence for each omission and for each node that is not a standard ONNX operator.
        tenon.load() restores the same graph.
        """
        return self._core.export_onnx(path_text(path), opset, seed)

    def to_bytes(self, *, seed: int = 0) -> bytes:
        return self._core.to_bytes(seed)

    def to_json(self) -> str:
        return self._core.to_json()

    def _graph_text(self) -> str:
        return self.to_json()

    def clone(self) -> Graph:
        """An independent graph with the same nodes and values. Tensors are shared until one is
        replaced.
        """
        return Graph(self.host, _handle=self._core.clone())

    def initialize(self, seed: int = 0) -> None:
        self._core.initialize(seed)
        self._changed()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, _: Any) -> Graph:
        return _from_bytes(self.to_bytes())

    # ---- running ---------------------------------------------------------------------------------

    def session(self, **options: Any) -> Session:
        """A session of the graph as it is now. Options: see tenon.Session."""
        return Session(self, **options)

    def __call__(
        self, /, *positional: Any, outputs: Sequence[str] | str | None = None, **inputs: Any
    ) -> Results:
        """Runs the graph on arrays, by name or in the order of the inputs. The session is cached
        until the graph changes.
        """
        if positional:
            inputs = by_name(
                [each["name"] for each in self._core.inputs()], positional, inputs, "graph"
            )
        session = self._sessions.get(None)
        if session is None:
            self.bind()
            session = self._sessions[None] = Session(self)
        results: Results = session.run(inputs, outputs=outputs)
        return results

    def bind(self) -> None:
        """Finds and loads every operator. The error names all missing operators."""
        self._core.bind()

    def plan(self, /, **shapes: Shape) -> Any:
        """The plan of a run with inputs of these shapes: steps and memory layout. Nothing runs."""
        from .drawing import Plan

        return Plan(
            _core.Session(self._core).plan({name: _known(shape) for name, shape in shapes.items()})
        )

    # ---- drawings --------------------------------------------------------------------------------

    def dot(self) -> str:
        """The graph in the DOT language."""
        return self._core.dot()

    def svg(self) -> str:
        """The graph as SVG, drawn by graphviz. Raises UsageError if `dot` is missing."""
        from .drawing import svg_of_dot

        return svg_of_dot(self.dot())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from .drawing import graph_bundle

        return graph_bundle(self)

    def __repr__(self) -> str:
        inputs = listed([each["name"] for each in self._core.inputs()], "")
        outputs = listed([each["name"] for each in self._core.outputs()], "")
        return f"<tenon.Graph of {len(self._core.nodes())} nodes: ({inputs}) -> ({outputs})>"

    # ---- inside ----------------------------------------------------------------------------------

    @staticmethod
    def _of_handle(host: _core.Host, handle: _core.Graph) -> Graph:
        return Graph(host, _handle=handle)

    def _new(self, handle: _core.Value) -> Value:
        self._changed()
        return Value(self, handle)

    def _changed(self) -> None:
        self._sessions.clear()

    def _own(self, value: Value) -> _core.Value:
        if not isinstance(value, Value):
            raise TypeError(f"expected a value of the graph, not {type(value).__name__}")
        return value._handle

    def _all(self, infos: list[dict[str, Any]]) -> dict[str, Value]:
        values = ByName((info["name"], self[info["name"]]) for info in infos)
        values._changed = self._core.changed_names()
        return values

    def _free_name(self, stem: str) -> str:
        count = self._names.get(stem, 0)
        while True:
            name = stem if count == 0 else f"{stem}_{count}"
            count += 1
            if name not in self:
                self._names[stem] = count
                return name


def _init_of(name: str, init: Any) -> tuple[str, float, float]:
    kind, *numbers = init if isinstance(init, tuple) and init else (init,)
    if isinstance(kind, int | float) and not isinstance(kind, bool) and not numbers:
        kind, numbers = "value", [kind]
    count = {"uniform": 2, "normal": 2, "value": 1}.get(kind, 0) if isinstance(kind, str) else -1
    if count != len(numbers) or not all(isinstance(number, int | float) for number in numbers):
        raise UsageError(
            f"the init of '{name}' is {init!r}, which is unknown",
            'init is "zeros", "ones", "xavier", "he", a number, ("uniform", low, high) and '
            '("normal", mean, deviation)',
        )
    first, second = [*map(float, numbers), 0.0, 0.0][:2]
    return kind, first, second


def _elements(name: str, value: Any, dtype: Any, shape: Shape, init: Any) -> _core.Tensor:
    if dtype is not None and isinstance(value, NUMBERS):
        tensor = weak(value, _core.dtype_name(dtype), f"the array for '{name}'")
    else:
        tensor = to_tensor(value)
    if dtype is not None and tensor.dtype_name != _core.dtype_name(dtype):
        raise UsageError(
            f"the array for '{name}' is {tensor.dtype_name}, but dtype= is "
            f"{_core.dtype_name(dtype)}"
        )
    expected = (
        tensor.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    )
    if len(expected) != tensor.ndim or any(
        dim not in (None, found) for dim, found in zip(expected, tensor.shape)
    ):
        raise UsageError(
            f"the array for '{name}' is {list(tensor.shape)}, but shape= is {list(expected)}"
        )
    if init != "automatic":
        raise UsageError(
            f"'{name}' has both an array and init=, but init= is for variables without an array"
        )
    return tensor


def _known(shape: Shape) -> Any:
    return [shape] if isinstance(shape, int) else shape


@plainly
def load(
    path: str | os.PathLike[str],
    *,
    verify: bool = True,
    host: _core.Host | None = None,
    trust: str | None = None,
    shape: Mapping[str, Shape] | None = None,
    fix: Mapping[str, Any] | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the command's word
    functions: Literal["plugin", "body"] = "plugin",
    keep_unknown: bool = False,
    trust_links: bool = False,
) -> Graph:
    """Reads a .tenon or graph.json file, an ONNX model or a pack; the file's name does not matter.

    A .tenon file opens without plugins; runs need them.

    trust: the hash of a pack, "sha256:...", as printed by `tenon pack`. A pack is code, so without
        `trust` it must be on the user's list (`tenon trust add`). Its plugins are added to the
        host.

    The other options are for ONNX models, as in `tenon import`:

    shape: shapes of inputs with dimensions that are unknown in the model.
    fix: inputs that become constants.
    map: the operator for nodes of a type, {"my.ops::Foo": "foo"}.
    functions: "body" uses the model's functions even if a plugin computes the same.
    keep_unknown: nodes without an operator stay in the graph, which then cannot run.
    trust_links: read weights in other files even through links that lead out of the model's folder.

    Weights become variables, so that the graph can be trained. Inputs and outputs whose names are
    not valid in a graph ("x:0") are renamed, with a warning; runs accept either name.

    Raises FileError for an invalid file, PluginError with all missing operators, and UsageError for
    options that do not fit.
    """
    resolved_host = host or _core.default_host()
    text = path_text(path)
    packed = _core.is_pack(text)
    if trust is not None and not packed:
        raise UsageError(f"trust= is for packs only, and {text} is not a pack")
    if functions not in ("plugin", "body"):
        raise UsageError(f"functions is {functions!r} but must be 'plugin' or 'body'")
    if not _core.is_onnx_model(text):
        onnx_options = {
            "shape": shape,
            "fix": fix,
            "map": map,
            "keep_unknown": keep_unknown,
            "functions": functions != "plugin",
            "trust_links": trust_links,
        }
        if unfit := [name for name, value in onnx_options.items() if value]:
            raise UsageError(f"{unfit[0]}= is for ONNX models only, and {text} is not one")
        if packed:
            return Graph(
                resolved_host, _handle=_core.load_pack(resolved_host, text, trust or "", verify)
            )
        return Graph(resolved_host, _handle=_core.load_graph(resolved_host, text, verify))
    constants = {name: to_tensor(value) for name, value in (fix or {}).items()}
    body = functions == "body"
    made, notes = _core.load_onnx(
        resolved_host,
        text,
        dict(shape or {}),
        constants,
        dict(map or {}),
        body,
        keep_unknown,
        trust_links,
    )
    for note in notes:
        if (
            " is named " in note or " has the same name" in note or " cannot be used: " in note
        ):  # the others were requested
            say("warning", note)
    return Graph(resolved_host, _handle=made)


@plainly
def from_json(
    text: str, *, folder: str | os.PathLike[str] = "", host: _core.Host | None = None
) -> Graph:
    """A graph from the text of a graph.json file. `folder` contains its .npy files."""
    resolved_host = host or _core.default_host()
    return Graph(
        resolved_host, _handle=_core.graph_from_json(resolved_host, text, path_text(folder))
    )


def _from_bytes(data: bytes) -> Graph:
    resolved_host = _core.default_host()
    return Graph(resolved_host, _handle=_core.graph_from_bytes(resolved_host, data))
