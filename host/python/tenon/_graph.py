"""Graphs: nodes and values, saved, loaded, drawn and called."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import UsageError, plain_type_errors, plainly
from ._host import path_text
from ._operators import OperatorInfo
from ._session import Results, Session, by_name

if TYPE_CHECKING:
    from ._calls import Arguments

Shape = Sequence[int | None] | int | None
Init = str | float | tuple[str, float] | tuple[str, float, float]


class Value:
    """A value of a graph: an input, a variable, or what a node makes of others. Python's operators on it add nodes."""

    __slots__ = ("graph", "_handle", "_name")
    __array_ufunc__ = None
    __array_priority__ = 1000
    _graph_value = True

    def __init__(self, graph: Graph, handle: _core.Value) -> None:
        self.graph = graph
        self._handle = handle
        self._name: str | None = None

    @property
    def name(self) -> str:
        """As `Graph.__getitem__` takes it: `image`, `fc1`, `fc1:1`."""
        if self._name is None:
            self._name = self.graph._core.info(self._handle)["name"]
        return self._name

    @property
    def dtype(self) -> str | None:
        """None where it is not known yet, as is shape."""
        return self.graph._core.info(self._handle)["dtype"]

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        return self.graph._core.info(self._handle)["shape"]

    @property
    def role(self) -> str:
        """input, variable, state, constant or output."""
        return self.graph._core.info(self._handle)["role"]

    @property
    def ndim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def tensor(self) -> _core.Tensor | None:
        """The elements of a variable, state or constant, shared with the graph; None where it has none yet."""
        return self.graph._core.tensor(self._handle)

    def numpy(self) -> Any:
        """A copy of the elements of a variable, state or constant."""
        tensor = self.tensor
        if tensor is None:
            raise UsageError(f"value '{self.name}' has no elements" if self.role != "variable" else f"variable '{self.name}' has no elements yet; Graph.initialize() gives it some")
        return tensor.clone().numpy()

    def stop_gradient(self, name: str = "") -> Value:
        """The same value, but no gradient passes through it."""
        return Value(self.graph, self.graph._core.stop_gradient(self._handle, name))

    def astype(self, dtype: Any) -> Value:
        return self._call("cast", dtype=_core.dtype_name(dtype))

    def reshape(self, *shape: Any) -> Value:
        return self._call("reshape", shape=list(shape[0]) if len(shape) == 1 and not hasattr(shape[0], "__index__") else list(shape))

    @property
    def T(self) -> Value:  # noqa: N802 - numpy's name
        return self._call("transpose")

    def _call(self, op: str, *others: Any, **params: Any) -> Value:
        return self.graph.ops["tenon." + op](self, *others, **params)

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Any:
        if not isinstance(other, Value) and not _is_array_like(other):
            return NotImplemented
        operands = (other, self) if swapped else (self, other)
        return self.graph.ops["tenon." + op](*operands)

    def _or_equal(self, op: str, other: Any) -> Any:
        first = self._binary(op, other)
        return first if first is NotImplemented else self.graph.ops["where"](first, first, self._binary("equal", other))

    def __add__(self, other: Any) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Value:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._binary("sub", other, True)

    def __mul__(self, other: Any) -> Value:
        return self._binary("mul", other)

    def __rmul__(self, other: Any) -> Value:
        return self._binary("mul", other, True)

    def __truediv__(self, other: Any) -> Value:
        return self._binary("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary("div", other, True)

    def __matmul__(self, other: Any) -> Value:
        return self._binary("matmul", other)

    def __rmatmul__(self, other: Any) -> Value:
        return self._binary("matmul", other, True)

    def __pow__(self, other: Any) -> Value:
        return self._binary("pow", other)

    def __rpow__(self, other: Any) -> Value:
        return self._binary("pow", other, True)

    def __neg__(self) -> Value:
        return self._call("neg")

    def __abs__(self) -> Value:
        return self._call("abs")

    def __lt__(self, other: Any) -> Value:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Value:
        return self._or_equal("less", other)

    def __gt__(self, other: Any) -> Value:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Value:
        return self._or_equal("greater", other)

    def __getitem__(self, key: Any) -> Value:
        return _sliced(self, key if isinstance(key, tuple) else (key,))

    def __iter__(self) -> Iterator[Value]:
        raise TypeError("a value of a graph cannot be iterated over: it has no elements before a run")

    def __len__(self) -> int:
        shape = self.shape
        if not shape or shape[0] is None:
            raise TypeError("the length of this value is not known before a run")
        return shape[0]

    def __bool__(self) -> bool:
        raise TypeError("a value of a graph is neither true nor false: it has no elements before a run; ops.where chooses between values")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a value of a graph is no array: it has no elements before a run; call the graph to compute it")

    def __repr__(self) -> str:
        info = self.graph._core.info(self._handle)
        shape = "[...]" if info["shape"] is None else "[" + ", ".join("?" if dim is None else str(dim) for dim in info["shape"]) + "]"
        return f"<tenon.Value '{info['name']}': {info['dtype'] or 'dtype not known'} {shape}, {info['role']}>"


def _is_array_like(value: Any) -> bool:
    return isinstance(value, int | float | complex | list | tuple | _core.Tensor) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


FAR = 2**62  # beyond every axis


def _near(bound: Any) -> int:
    """A slice's bound, which may be any whole number."""
    return max(-FAR, min(operator.index(bound), FAR))


def _sliced(value: Value, key: tuple[Any, ...]) -> Value:
    """numpy's basic indexing: whole numbers, slices, None and one ellipsis."""
    rank = value.ndim
    parts = [part for part in key if part is not None]
    ellipses = [place for place, part in enumerate(key) if part is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError(f"value '{value.name}' is indexed with '...' twice")
    if ellipses:
        if rank is None:
            raise UsageError(f"value '{value.name}' cannot be indexed with '...': its number of dimensions is not known")
        at = ellipses[0]
        key = key[:at] + (slice(None),) * (rank - len(parts) + 1) + key[at + 1 :]
        parts = [part for part in key if part is not None]
    if rank is not None and len(parts) > rank:
        raise IndexError(f"value '{value.name}' has {rank} dimensions, but is given {len(parts)} indices")
    axes: list[int] = []
    begin: list[int] = []
    end: list[int] = []
    step: list[int] = []
    dropped: list[int] = []
    far = FAR
    for axis, part in enumerate(parts):
        if isinstance(part, slice):
            if part == slice(None):
                continue
            stride = 1 if part.step is None else operator.index(part.step)
            if stride < 1:
                raise UsageError(f"value '{value.name}' is sliced with step {stride}, but steps must be at least 1")
            axes.append(axis)
            begin.append(0 if part.start is None else _near(part.start))
            end.append(far if part.stop is None else _near(part.stop))
            step.append(stride)
        elif hasattr(part, "__index__") and not isinstance(part, bool) and getattr(part, "ndim", 0) == 0:
            place = operator.index(part)
            size = None if value.shape is None else value.shape[axis]
            if not -far <= place < far or size is not None and not -size <= place < size:
                raise IndexError(f"value '{value.name}' is indexed with {place} on axis {axis}, which has the size {size}")
            axes.append(axis)
            begin.append(place)
            end.append(place + 1 if place != -1 else far)
            step.append(1)
            dropped.append(axis)
        else:
            raise TypeError(f"a value is indexed by whole numbers, slices, None and '...', not by {type(part).__name__}; ops.take_rows and ops.where take others")
    made = value
    if axes:
        made = made._call("slice", axes=axes, begin=begin, end=end, step=step)
    if dropped:
        made = made._call("squeeze", axis=dropped)
    new = [place for place, part in enumerate(part for part in key if part is None or isinstance(part, slice)) if part is None]
    return made._call("expand_dims", axis=new) if new else made


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

    def variable(self, name: str, value: Any = None, *, dtype: Any = None, shape: Shape = None, init: Init = "automatic") -> Value:
        """A weight: from an array, which is copied, or of a dtype (float32, where none is named) and a shape, with first values by `init`.

        init: "zeros", "ones", "xavier", "he", a number, ("uniform", low, high) or ("normal", mean, deviation).
        """
        if value is not None:
            return self._new(self._core.variable(name, _elements(name, value, dtype, shape, init)))
        kind, first, second = _init_of(name, init)
        return self._new(self._core.variable_of_type(name, "float32" if dtype is None else dtype, shape, kind, first, second))

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

        seed: the gradient of the loss itself, of its shape; where there is none, ones, so that the loss is summed.
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
            for output in self._core.outputs():
                if output["name"] == name:
                    return Value(self, self._core.find(output["value"]))
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
        return session.run(inputs, outputs=outputs)

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
        return {info["name"]: self[info["name"]] for info in infos}

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


class GraphOperators:
    """The operators, as functions that add nodes to one graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getattr__(self, name: str) -> Any:
        from . import ops

        if name.startswith("__"):
            raise AttributeError(name)
        found = ops.lookup(name, self._graph.host)
        return self._adding(found) if isinstance(found, _core.Operator) else found

    def __getitem__(self, name: str) -> Any:
        from . import ops

        return self._adding(ops.find(name, self._graph.host))

    def __dir__(self) -> list[str]:
        from . import ops

        return dir(ops)

    def _adding(self, op: _core.Operator) -> Any:
        from ._calls import info_of, sort

        def add(*inputs: Any, **named: Any) -> Any:
            info = info_of(op)
            return add_node(op, info, sort(op, info, inputs, named), self._graph)

        add.__name__ = op.__name__
        add.__doc__ = op.__doc__
        return add


def add_node(op: _core.Operator, info: OperatorInfo, arguments: Arguments, graph: Graph | None = None) -> Any:
    """Adds a node: the value of its output, or a named tuple of several. Arrays and numbers become constants."""
    for word in ("device", "out", "training"):
        if arguments.reserved.get(word) is not None and arguments.reserved[word] is not False:
            raise TypeError(f"{info.name}() is given values of a graph and {word}=, which is for arrays: sessions have devices and training")
    name = arguments.reserved.get("name")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{info.name}(): name= is a str, not {type(name).__name__}")
    values = [value for value in arguments.inputs if isinstance(value, Value)]
    graph = graph or values[0].graph
    if any(value.graph is not graph for value in values):
        raise UsageError(f"[{info.name}] its inputs are values of different graphs")
    dtype = next((value.dtype for place, value in enumerate(arguments.inputs) if isinstance(value, Value) and info.input_at(place).types is None), None)
    handles = [None if value is None else graph._own(value if isinstance(value, Value) else _constant(graph, info, place, value, dtype)) for place, value in enumerate(arguments.inputs)]
    while handles and handles[-1] is None:
        handles.pop()
    handle = graph._core.add(op._name, handles, arguments.params, name or "")
    graph._changed()
    places = _visible_places(info, arguments.params)
    results = [Value(graph, handle.output(place)) for place in places]
    from ._calls import pack

    return pack(info, results)


def _constant(graph: Graph, info: OperatorInfo, place: int, value: Any, dtype: str | None) -> Value:
    from ._arrays import NUMBERS, kind_of_one, to_tensor, weak_input

    if isinstance(value, NUMBERS) and kind_of_one(value) is None:
        return graph.constant(weak_input(value, dtype, info, place))
    return graph.constant(to_tensor(value))


def _visible_places(info: OperatorInfo, params: Mapping[str, Any]) -> list[int]:
    places: list[int] = []
    at = 0
    for output in info.outputs:
        count = 1
        if output.count:
            count = int(params.get(output.count, info.params[output.count].default))
        if not output.hidden:
            places += range(at, at + count)
        at += count
    return places


@plainly
def load(path: str | os.PathLike[str], *, verify: bool = True, host: _core.Host | None = None) -> Graph:
    """Reads a .tenon or graph.json file. A .tenon file opens without plugins; runs need them. Raises FileError with what is wrong."""
    of = host or _core.default_host()
    return Graph(of, _handle=_core.load_graph(of, path_text(path), verify))


@plainly
def from_json(text: str, *, folder: str | os.PathLike[str] = "", host: _core.Host | None = None) -> Graph:
    """A graph from the text of a graph.json; `folder` is where its .npy files are."""
    of = host or _core.default_host()
    return Graph(of, _handle=_core.graph_from_json(of, text, path_text(folder)))


def _from_bytes(data: bytes) -> Graph:
    of = _core.default_host()
    return Graph(of, _handle=_core.graph_from_bytes(of, data))
