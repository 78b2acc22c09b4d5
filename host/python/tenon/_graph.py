"""Graphs: nodes and values, saved, loaded, drawn and called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _core
from ._arrays import to_tensor
from ._errors import UsageError, plain_type_errors, plainly, say
from ._host import path_text
from ._nodes import GraphOperators
from ._session import ByName, Results, Session, by_name, own_name
from ._value import Value as Value

Shape = Sequence[int | None] | int | None
Init = str | float | tuple[str, float] | tuple[str, float, float]


@plain_type_errors
class Graph:
    """Nodes (operator, parameters, name) and the typed values between them.

    Threads: one at a time; a second one gets a UsageError. Calling a graph runs it: `g(image=x)["scores"]`.
    """

    def __init__(self, host: _core.Host | None = None, *, _handle: _core.Graph | None = None) -> None:
        self.host = host or _core.default_host()
        self._core = _handle or _core.Graph(self.host)
        self._sessions: dict[Any, Session] = {}
        self._names: dict[str, int] = {}

    # ---- building -------------------------------------------------------------------------------------------

    def input(self, name: str, dtype: Any = "float32", shape: Shape = None) -> Value:
        """A value that each run receives. None in the shape: each run chooses that dimension."""
        return self._new(self._core.input(name, dtype, shape))

    def variable(
        self, name: str, value: Any = None, *, dtype: Any = None, shape: Shape = None, init: Init = "automatic"
    ) -> Value:
        """A weight: from an array, which is copied, or of a dtype (float32, where none is named) and a shape, with first values by `init`.

        init: "zeros", "ones", "xavier", "he", a number, ("uniform", low, high) or ("normal", mean, deviation).
        """
        if value is not None:
            return self._new(self._core.variable(name, _elements(name, value, dtype, shape, init)))
        kind, first, second = _init_of(name, init)
        return self._new(
            self._core.variable_of_type(name, "float32" if dtype is None else dtype, shape, kind, first, second)
        )

    def constant(self, value: Any, name: str | None = None) -> Value:
        """An array that is part of the graph."""
        from ._arrays import to_tensor

        return self._new(self._core.constant(self._free_name("constant") if name is None else name, to_tensor(value)))

    def output(self, name: str, value: Value) -> Value:
        """Runs return the value by this name."""
        self._core.output(name, self._own(value))
        self._changed()
        return value

    def outputs(self, /, **values: Value) -> dict[str, Value]:
        """Without arguments the graph's outputs; with them, runs also return these values by these names."""
        for name, value in values.items():
            self.output(name, value)
        return {each["name"]: self[each["value"]] for each in self._core.outputs()}

    @property
    def ops(self) -> Any:
        """The operators, as functions that add nodes to this graph; those without inputs need it: `g.ops.normal(shape=[2])`."""
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
        """Adds the nodes that compute the gradient of the loss with respect to each of `wrt`; None where it is zero.

        seed: the gradient of the loss itself, of its shape. Default: ones, which sum the loss.
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
        """At the end of each run of a training session, the variable becomes the value."""
        self._core.update(self._own(variable), self._own(value))
        self._changed()

    # ---- looking at it ----------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Value:
        """A value by its name, `fc1`, `fc1:1`, `fc1:mask`, or by that of an output of the graph."""
        try:
            return Value(self, self._core.find(name))
        except UsageError as error:
            outputs = {output["name"]: output["value"] for output in self._core.outputs()}
            if own := name if name in outputs else own_name(outputs, name, self._core.changed_names()):
                return Value(self, self._core.find(outputs[own]))
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
        """Those that nodes use, with the plugin that they came from when the graph was made."""
        return self._core.operators()

    @property
    def training(self) -> dict[str, Any] | None:
        """Where the training stands whose checkpoint the graph is; None for other graphs."""
        return self._core.training()

    # ---- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], *, seed: int = 0) -> None:
        """Writes a .tenon file, completely or not at all. Variables without elements are initialized from the seed."""
        self._core.save(path_text(path), seed)

    def export_onnx(self, path: str | os.PathLike[str], *, opset: int = 17, seed: int = 0) -> list[str]:
        """Writes an ONNX model, completely or not at all; weights of more than 256 MiB go to PATH.data. Returns what was left out, and
        which nodes only Tenon knows, a sentence for each. tenon.load() makes the same graph of it again."""
        return self._core.export_onnx(path_text(path), opset, seed)

    def to_bytes(self, *, seed: int = 0) -> bytes:
        return self._core.to_bytes(seed)

    def to_json(self) -> str:
        return self._core.to_json()

    def _graph_text(self) -> str:
        return self.to_json()

    def clone(self) -> Graph:
        """An independent graph with the same nodes and values; tensors are shared until one is replaced."""
        return Graph(self.host, _handle=self._core.clone())

    def initialize(self, seed: int = 0) -> None:
        self._core.initialize(seed)
        self._changed()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return _from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, _: Any) -> Graph:
        return _from_bytes(self.to_bytes())

    # ---- running --------------------------------------------------------------------------------------------------

    def session(self, **options: Any) -> Session:
        """A session of this graph as it is now: see tenon.Session."""
        return Session(self, **options)

    def __call__(self, /, *positional: Any, outputs: Sequence[str] | str | None = None, **inputs: Any) -> Results:
        """Runs the graph with arrays, by name or in the order of the inputs, in a session that is kept until the graph changes."""
        if positional:
            inputs = by_name([each["name"] for each in self._core.inputs()], positional, inputs, "graph")
        session = self._sessions.get(None)
        if session is None:
            self.bind()
            session = self._sessions[None] = Session(self)
        results: Results = session.run(inputs, outputs=outputs)
        return results

    def bind(self) -> None:
        """Finds and loads every operator. The error names all missing ones at once."""
        self._core.bind()

    def plan(self, /, **shapes: Shape) -> Any:
        """What a run with inputs of these shapes does, and where its values lie. Nothing runs."""
        from ._drawing import Plan

        return Plan(_core.Session(self._core).plan({name: _known(shape) for name, shape in shapes.items()}))

    # ---- drawings ---------------------------------------------------------------------------------------------------

    def dot(self) -> str:
        """The graph in the DOT language."""
        return self._core.dot()

    def svg(self) -> str:
        """The graph as graphviz draws it. Raises UsageError where there is no program `dot`."""
        from ._drawing import svg_of_dot

        return svg_of_dot(self.dot())

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from ._drawing import graph_bundle

        return graph_bundle(self)

    def __repr__(self) -> str:
        inputs = ", ".join(each["name"] for each in self._core.inputs())
        outputs = ", ".join(each["name"] for each in self._core.outputs())
        return f"<tenon.Graph of {len(self._core.nodes())} nodes: ({inputs}) -> ({outputs})>"

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _new(self, handle: _core.Value) -> Value:
        self._changed()
        return Value(self, handle)

    def _changed(self) -> None:
        self._sessions.clear()

    def _own(self, value: Value) -> _core.Value:
        if not isinstance(value, Value):
            raise TypeError(f"a value of the graph is needed, not {type(value).__name__}")
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
            f"the init of '{name}' is {init!r}",
            'there are "zeros", "ones", "xavier", "he", a number, ("uniform", low, high) and ("normal", mean, deviation)',
        )
    first, second = [*map(float, numbers), 0.0, 0.0][:2]
    return kind, first, second


def _elements(name: str, value: Any, dtype: Any, shape: Shape, init: Any) -> _core.Tensor:
    from ._arrays import NUMBERS, to_tensor, weak

    if dtype is not None and isinstance(value, NUMBERS):
        tensor = weak(value, _core.dtype_name(dtype), f"the array for '{name}'")
    else:
        tensor = to_tensor(value)
    if dtype is not None and tensor.dtype_name != _core.dtype_name(dtype):
        raise UsageError(f"the array for '{name}' is {tensor.dtype_name}, but dtype= is {_core.dtype_name(dtype)}")
    wanted = tensor.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    if len(wanted) != tensor.ndim or any(dim not in (None, found) for dim, found in zip(wanted, tensor.shape)):
        raise UsageError(f"the array for '{name}' is {list(tensor.shape)}, but shape= is {list(wanted)}")
    if init != "automatic":
        raise UsageError(f"'{name}' is given an array and init=, which makes elements where there is no array")
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
    """Reads a .tenon or graph.json file, an ONNX model or a pack, whatever it is called. A .tenon file opens without plugins; runs need them.

    `trust`: the hash of a pack, "sha256:...", as `tenon pack` printed it. A pack is code: without it, only one is opened that
    `tenon trust add` put on the user's list. Its plugins are added to the host.

    The last six are for ONNX models, as in `tenon import`. `shape`: sizes of inputs that the model leaves open. `fix`: inputs that become
    constants. `map`: which operator computes nodes of a type, {"my.ops::Foo": "foo"}. `functions`: "body" takes the model's functions where
    a plugin computes the same, too. `keep_unknown`: nodes that nothing here computes stay in the graph, which then cannot run. `trust_links`:
    weights in other files are read behind links that lead out of the model's folder, too. Weights become variables, so that the graph can
    be trained. Inputs and outputs whose names no graph can have ("x:0") get others, with a warning; runs take either name.

    Raises FileError with what is wrong, PluginError with all operators that are missing, and UsageError for options that do not fit.
    """
    of = host or _core.default_host()
    text = path_text(path)
    packed = _core.is_pack(text)
    if trust is not None and not packed:
        raise UsageError(f"trust= is for packs, and {text} is none")
    if functions not in ("plugin", "body"):
        raise UsageError(f"functions is {functions!r} but must be 'plugin' or 'body'")
    if not _core.is_onnx_model(text):
        given = {
            "shape": shape,
            "fix": fix,
            "map": map,
            "keep_unknown": keep_unknown,
            "functions": functions != "plugin",
            "trust_links": trust_links,
        }
        if unfit := [name for name, value in given.items() if value]:
            raise UsageError(f"{unfit[0]}= is for ONNX models, and {text} is none")
        if packed:
            return Graph(of, _handle=_core.load_pack(of, text, trust or "", verify))
        return Graph(of, _handle=_core.load_graph(of, text, verify))
    constants = {name: to_tensor(value) for name, value in (fix or {}).items()}
    body = functions == "body"
    made, notes = _core.load_onnx(
        of, text, dict(shape or {}), constants, dict(map or {}), body, keep_unknown, trust_links
    )
    for note in notes:
        if " is called " in note or " found by its name" in note or " any more: " in note:  # the others were requested
            say("warning", note)
    return Graph(of, _handle=made)


@plainly
def from_json(text: str, *, folder: str | os.PathLike[str] = "", host: _core.Host | None = None) -> Graph:
    """A graph from the text of a graph.json; `folder` is where its .npy files are."""
    of = host or _core.default_host()
    return Graph(of, _handle=_core.graph_from_json(of, text, path_text(folder)))


def _from_bytes(data: bytes) -> Graph:
    of = _core.default_host()
    return Graph(of, _handle=_core.graph_from_bytes(of, data))
