"""Values of graphs, with Python's operators and numpy's basic indexing."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from .. import _core
from .._errors import UsageError

if TYPE_CHECKING:
    from .graph import Graph


class Value:
    """A value of a graph: an input, a variable, or an output of a node. Python's operators on it
    add nodes.
    """

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
        """The name that `Graph.__getitem__` takes: `image`, `fc1`, `fc1:1`."""
        if self._name is None:
            self._name = self.graph._core.info(self._handle)["name"]
        return self._name

    @property
    def dtype(self) -> str | None:
        """The dtype; None if it is not known yet, as for shape."""
        dtype: str | None = self.graph._core.info(self._handle)["dtype"]
        return dtype

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        shape: tuple[int | None, ...] | None = self.graph._core.info(self._handle)["shape"]
        return shape

    @property
    def role(self) -> str:
        """input, variable, state, constant or output."""
        role: str = self.graph._core.info(self._handle)["role"]
        return role

    @property
    def categories(self) -> list[str]:
        """The names that the elements are indices of; empty for numbers."""
        names: list[str] = self.graph._core.info(self._handle)["categories"]
        return names

    @property
    def ndim(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def tensor(self) -> _core.Tensor | None:
        """The elements of a variable, state or constant, shared with the graph; None if it has none
        yet.
        """
        tensor: _core.Tensor | None = self.graph._core.tensor(self._handle)
        return tensor

    def numpy(self) -> Any:
        """A copy of the elements of a variable, state or constant."""
        tensor = self.tensor
        if tensor is None:
            raise UsageError(
                f"value '{self.name}' has no elements"
                if self.role != "variable"
                else f"variable '{self.name}' has no elements yet; call Graph.initialize() first"
            )
        return tensor.clone().numpy()

    def stop_gradient(self, name: str = "") -> Value:
        """This value, but no gradient passes through it."""
        return Value(self.graph, self.graph._core.stop_gradient(self._handle, name))

    def astype(self, dtype: Any) -> Value:
        return self._call("cast", dtype=_core.dtype_name(dtype))

    def reshape(self, *shape: Any) -> Value:
        return self._call(
            "reshape",
            shape=list(shape[0])
            if len(shape) == 1 and not hasattr(shape[0], "__index__")
            else list(shape),
        )

    @property
    def T(self) -> Value:  # noqa: N802 - numpy's name
        return self._call("transpose")

    def _call(self, op: str, *others: Any, **params: Any) -> Value:
        result: Value = self.graph.ops["tenon." + op](self, *others, **params)
        return result

    def _binary(self, op: str, other: Any, swapped: bool = False) -> Value:
        if not isinstance(other, Value) and not _is_array_like(other):
            return cast(Value, NotImplemented)
        operands = (other, self) if swapped else (self, other)
        result: Value = self.graph.ops["tenon." + op](*operands)
        return result

    def _with_equal(self, op: str, other: Any) -> Value:
        """The comparison `op`, or equality: `where(op, op, equal)` is their logical or."""
        first = self._binary(op, other)
        return (
            first
            if first is NotImplemented
            else first._call("where", first, self._binary("equal", other))
        )

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
        return self._with_equal("less", other)

    def __gt__(self, other: Any) -> Value:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Value:
        return self._with_equal("greater", other)

    def __getitem__(self, key: Any) -> Value:
        return _sliced(self, key if isinstance(key, tuple) else (key,))

    def __iter__(self) -> Iterator[Value]:
        raise TypeError(
            "a value of a graph cannot be iterated over: it has no elements before a run"
        )

    def __len__(self) -> int:
        shape = self.shape
        if not shape or shape[0] is None:
            raise TypeError("the length of this value is not known before a run")
        return shape[0]

    def __bool__(self) -> bool:
        raise TypeError(
            "a value of a graph has no truth value: it has no elements before a run; use ops.where "
            "to choose between values"
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "a value of a graph is not an array: it has no elements before a run; call the graph "
            "instead"
        )

    def __repr__(self) -> str:
        info = self.graph._core.info(self._handle)
        shape = (
            "[...]"
            if info["shape"] is None
            else "[" + ", ".join("?" if dim is None else str(dim) for dim in info["shape"]) + "]"
        )
        dtype = info["dtype"] or "dtype not known"
        return f"<tenon.Value '{info['name']}': {dtype} {shape}, {info['role']}>"


def _is_array_like(value: Any) -> bool:
    return (
        isinstance(value, int | float | complex | list | tuple | _core.Tensor)
        or hasattr(value, "__array__")
        or hasattr(value, "__dlpack__")
    )


MAX_BOUND = 2**62  # larger than any dimension


def _clamped(bound: Any) -> int:
    """Clamps a slice's bound, which may be any integer."""
    return max(-MAX_BOUND, min(operator.index(bound), MAX_BOUND))


def _sliced(value: Value, key: tuple[Any, ...]) -> Value:
    """numpy's basic indexing: integers, slices, None and one ellipsis."""
    rank = value.ndim
    entries = [entry for entry in key if entry is not None]
    ellipses = [index for index, entry in enumerate(key) if entry is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError(f"value '{value.name}' is indexed with '...' twice")
    if ellipses:
        if rank is None:
            raise UsageError(
                f"value '{value.name}' cannot be indexed with '...': its number of dimensions is "
                "not known"
            )
        at = ellipses[0]
        key = key[:at] + (slice(None),) * (rank - len(entries) + 1) + key[at + 1 :]
        entries = [entry for entry in key if entry is not None]
    if rank is not None and len(entries) > rank:
        raise IndexError(
            f"value '{value.name}' has {rank} dimensions, but got {len(entries)} indices"
        )
    axes: list[int] = []
    begin: list[int] = []
    end: list[int] = []
    step: list[int] = []
    squeezed: list[int] = []
    for axis, entry in enumerate(entries):
        if isinstance(entry, slice):
            if entry == slice(None):
                continue
            stride = 1 if entry.step is None else operator.index(entry.step)
            if stride < 1:
                raise UsageError(
                    f"value '{value.name}' is sliced with step {stride}, but steps must be at "
                    "least 1"
                )
            axes.append(axis)
            begin.append(0 if entry.start is None else _clamped(entry.start))
            end.append(MAX_BOUND if entry.stop is None else _clamped(entry.stop))
            step.append(stride)
        elif (
            hasattr(entry, "__index__")
            and not isinstance(entry, bool)
            and getattr(entry, "ndim", 0) == 0
        ):
            index = operator.index(entry)
            size = None if value.shape is None else value.shape[axis]
            if (
                not -MAX_BOUND <= index < MAX_BOUND
                or size is not None
                and not -size <= index < size
            ):
                raise IndexError(
                    f"value '{value.name}' is indexed with {index}, out of range for axis {axis} "
                    f"of size {size}"
                )
            axes.append(axis)
            begin.append(index)
            end.append(index + 1 if index != -1 else MAX_BOUND)
            step.append(1)
            squeezed.append(axis)
        else:
            raise TypeError(
                "a value is indexed by integers, slices, None and '...', not by "
                f"{type(entry).__name__}; use ops.take_rows or ops.where for others"
            )
    result = value
    if axes:
        result = result._call("slice", axes=axes, begin=begin, end=end, step=step)
    if squeezed:
        result = result._call("squeeze", axis=squeezed)
    new_axes = [
        index
        for index, entry in enumerate(
            entry for entry in key if entry is None or isinstance(entry, slice)
        )
        if entry is None
    ]
    return result._call("expand_dims", axis=new_axes) if new_axes else result
