"""The `op` of describe(op) for operators in Python: the SDK's declarations, collected into the
manifest that the host reads.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from .. import _core
from .._arrays.dtypes import FEATURES, NAMES
from .._errors import UsageError
from . import cbor
from .versions import Versions

FLOATING = (
    "float16",
    "float32",
    "float64",
)  # numpy's own: bfloat16 needs the package ml_dtypes, and is named where it is meant
INTEGRAL = ("uint8", "int8", "int32", "int64")
GROUPS = {
    "floating": FLOATING,
    "integral": INTEGRAL,
    "numeric": INTEGRAL + FLOATING,
    "any": ("bool", *INTEGRAL, *FLOATING),
}
RELATIONS = ("same_length", "less_than", "at_most", "greater_than", "at_least", "multiple_of")
ZEROS: dict[str, Any] = {
    "bool": False, "int32": 0, "int64": 0, "float32": 0.0, "float64": 0.0, "text": "", "ints": [],
    "floats": [], "texts": [], "enum": "",
}  # fmt: skip
MISSING: Any = object()


def dtypes_of(types: tuple[Any, ...]) -> list[str]:
    """Names of dtypes, in Tenon's order, from group names ("floating", "integral", "numeric",
    "any"), dtypes and their names.
    """
    names: set[str] = set()
    for one in types:
        if isinstance(one, str) and one in GROUPS:
            names.update(GROUPS[one])
        elif isinstance(one, list | tuple | set | frozenset):
            names.update(dtypes_of(tuple(one)))
        else:
            names.add(_core.dtype_name(one))
    if not names:
        raise UsageError(
            "types() names no dtype", 'give dtypes, or "floating", "integral", "numeric" or "any"'
        )
    return [name for name in NAMES if name in names]


class Input:
    """The result of op.input()."""

    def __init__(self, name: str, doc: str) -> None:
        self.entry: dict[str, Any] = {
            "name": name, "doc": doc, "optional": False, "variadic": False, "types": None,
            "initial": None, "weight": False,
        }  # fmt: skip

    def _set(self, key: str, value: Any) -> Input:
        self.entry[key] = value
        return self

    def optional(self) -> Input:
        """May be omitted; the call then has None."""
        return self._set("optional", True)

    def variadic(self) -> Input:
        """Stands for any number of tensors, a list in the call. Only for the last input."""
        return self._set("variadic", True)

    def types(self, *types: Any) -> Input:
        """Dtypes of its own. Inputs without types() share one dtype."""
        return self._set("types", dtypes_of(types))

    def weight(self) -> Input:
        """A trainable weight: a graph that omits the input creates a variable for it."""
        return self._set("weight", True)

    def initial(self, value: float) -> Input:
        """A weight whose elements start with this value."""
        return self.weight()._set("initial", float(value))


class Output:
    """The result of op.output()."""

    def __init__(self, name: str, doc: str, conditions: list[dict[str, Any]]) -> None:
        self.entry: dict[str, Any] = {"name": name, "doc": doc, "hidden": False, "count": None}
        self._conditions = conditions

    def hidden(self) -> Output:
        """Only backward reads the output."""
        self.entry["hidden"] = True
        return self

    def hidden_when(self, param: str, *values: Any) -> Output:
        """The output is hidden while the parameter has one of these values."""
        self._conditions.append(
            {"of": "hidden", "names": [self.entry["name"]], "param": param, "values": list(values)}
        )
        return self

    def count(self, param: str) -> Output:
        """The integer parameter `param` is the number of outputs of this name, which the call has
        as a list.
        """
        self.entry["count"] = param
        return self


class State:
    """The result of op.state()."""

    def __init__(self, name: str, doc: str) -> None:
        self.entry: dict[str, Any] = {"name": name, "doc": doc, "initial": 0.0}

    def initial(self, value: float) -> State:
        """The initial value of the elements."""
        self.entry["initial"] = float(value)
        return self


class Param:
    """The result of op.param()."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self.entry = entry

    def _bound(self, key: str, value: float) -> Param:
        kind = self.entry["kind"]
        if kind not in ("int32", "int64", "float32", "float64", "ints", "floats"):
            raise UsageError(
                f"parameter '{self.entry['name']}' is of kind {kind}, but only numbers and lists "
                "of numbers have bounds"
            )
        self.entry[key] = float(value) if kind in ("float32", "float64", "floats") else int(value)
        return self

    def at_least(self, limit: float) -> Param:
        """The lower bound of the number, or of each number in a list, included."""
        return self._bound("min", limit)

    def at_most(self, limit: float) -> Param:
        """The upper bound of the number, or of each number in a list, included."""
        return self._bound("max", limit)

    def greater_than(self, limit: float) -> Param:
        """The lower bound of the number, or of each number in a list, excluded."""
        return self._bound("above", limit)

    def less_than(self, limit: float) -> Param:
        """The upper bound of the number, or of each number in a list, excluded."""
        return self._bound("below", limit)

    def one_of(self, *choices: str) -> Param:
        """The texts that the parameter may be."""
        if self.entry["kind"] not in ("text", "texts"):
            raise UsageError(
                f"parameter '{self.entry['name']}' is of kind {self.entry['kind']}, but one_of() "
                "is for texts"
            )
        self.entry["choices"] = list(choices)
        return self

    def required(self) -> Param:
        """The parameter has no default; callers must pass it."""
        self.entry["required"] = True
        return self


class Conditional:
    """The result of op.inplace(), op.backward_inplace(), op.backward_reads() and op.linear()."""

    def __init__(self, op: Describer, declaration: str, names: list[Any]) -> None:
        self._op, self._declaration, self._names = op, declaration, names

    def when(self, param: str, *values: Any) -> None:
        """The declaration holds only while the parameter has one of these values."""
        for names in self._names:
            self._op._conditions.append(
                {
                    "of": self._declaration,
                    "names": [names] if isinstance(names, str) else list(names),
                    "param": param,
                    "values": list(values),
                }
            )
            if (
                self._declaration != "backward_reads"
            ):  # as in the SDK, conditional entries are not in the list
                self._op._pairs[self._declaration].remove(names)


class Describer(Versions):
    """The `op` of describe(op). Its methods are the declarations of the C++ SDK."""

    def __init__(
        self, types: Mapping[str, Any], default_of: Callable[[str], Any], fallback: str
    ) -> None:
        super().__init__()
        self._types_of_params, self._default_of, self._fallback = types, default_of, fallback
        self._doc = self._space = ""
        self._version = 1
        self._shared: list[str] = list(FLOATING)
        self._aliases: list[str] = []
        self._inputs: list[Input] = []
        self._outputs: list[Output] = []
        self._states: list[State] = []
        self._params: list[Param] = []
        self._pairs: dict[str, list[Any]] = {"inplace": [], "backward_inplace": [], "linear": []}
        self._reads: list[str] | None = None
        self._random = self._surrogate = False
        self._conditions: list[dict[str, Any]] = []
        self._rules: list[list[str]] = []
        self._examples: list[dict[str, Any]] = []
        self.conversions: dict[str, Callable[[str], Any]] = {}

    def doc(self, sentence: str) -> None:
        """The computation in a sentence. Default: the first line of the class's docstring."""
        self._doc = sentence

    def space(self, name: str) -> None:
        """The part of the full name before the dot; default: `app`."""
        self._space = name

    def version(self, version: int) -> None:
        """The operator's version; default: 1. Increase it when the meaning of its files changes."""
        self._version = version

    def alias(self, name: str) -> None:
        """An additional name."""
        self._aliases.append(name)

    def types(self, *types: Any) -> None:
        """The dtypes that inputs without types() share: dtypes, "floating" (the default),
        "integral", "numeric" or "any".
        """
        self._shared = dtypes_of(types)

    def input(self, name: str, doc: str = "") -> Input:
        """An input, in the order of its position."""
        self._inputs.append(Input(name, doc))
        return self._inputs[-1]

    def output(self, name: str, doc: str = "") -> Output:
        """An output, in the order of its position."""
        self._outputs.append(Output(name, doc, self._conditions))
        return self._outputs[-1]

    def state(self, name: str, doc: str = "") -> State:
        """A tensor that calls may change and that persists between them. infer() sets its shape
        with io.set_state().
        """
        self._states.append(State(name, doc))
        return self._states[-1]

    def param(self, name: str, doc: str = "") -> Param:
        """A parameter: the class's attribute of that name. Its annotation is the kind, its value
        the default.
        """
        kind, choices, convert = kind_of(
            name, self._types_of_params.get(name, MISSING), self._default_of(name)
        )
        default = self._default_of(name)
        if isinstance(default, enum.Enum):
            default = default.name
        entry: dict[str, Any] = {
            "name": name,
            "doc": doc,
            "kind": kind,
            "default": plain(name, kind, default, choices),
        }
        entry |= {
            "required": default is MISSING,
            "min": None,
            "max": None,
            "above": None,
            "below": None,
            "choices": choices,
        }
        if convert is not None:
            self.conversions[name] = convert
        self._params.append(Param(entry))
        return self._params[-1]

    def _pair(self, declaration: str, names: list[str]) -> Conditional:
        self._pairs[declaration].append(names)
        return Conditional(self, declaration, [names])

    def inplace(self, input: str, output: str) -> Conditional:
        """The output may use the input's memory."""
        return self._pair("inplace", [input, output])

    def backward_inplace(self, output: str, input: str) -> Conditional:
        """The gradient of the input may use the memory of the gradient of the output."""
        return self._pair("backward_inplace", [output, input])

    def linear(self, input: str, other: str = "") -> Conditional:
        """The output is linear in this input, or in each of the two; see the SDK's
        declarations.hpp.
        """
        return self._pair("linear", [input, other] if other else [input])

    def backward_reads(self, *names: str) -> Conditional:
        """The inputs and outputs whose elements backward reads; default: all. The memory of others
        is reused early.
        """
        self._reads = (self._reads or []) + list(names)
        return Conditional(self, "backward_reads", list(names))

    def uses_random(self) -> None:
        """Kernels draw from call.random."""
        self._random = True

    def surrogate_gradient(self) -> None:
        """The gradient intentionally differs from the derivative of forward."""
        self._surrogate = True

    def require(self, param: str, relation: str, other: str) -> None:
        """A rule between two parameters: same_length, less_than, at_most, greater_than, at_least or
        multiple_of.
        """
        if relation not in RELATIONS:
            raise UsageError(
                f"unknown relation '{relation}' in require()",
                "relations are " + ", ".join(RELATIONS),
            )
        self._rules.append([param, relation, other])

    def example(self, inputs: Mapping[str, Any], params: Mapping[str, Any] | None = None) -> None:
        """Accepted inputs, as shapes or arrays, and parameters: for documents and tenon.check."""
        tensors: dict[str, dict[str, Any]] = {}
        for name, value in inputs.items():
            if isinstance(value, np.ndarray):
                tensors[name] = {
                    "shape": list(value.shape),
                    "dtype": _core.dtype_name(value.dtype),
                    "values": [float(v) for v in value.flat],
                }
            else:
                tensors[name] = {
                    "shape": [int(dim) for dim in value],
                    "dtype": None,
                    "values": None,
                }
        self._examples.append({"inputs": tensors, "params": dict(params or {})})

    def manifest(self, name: str, functions: Sequence[str]) -> dict[str, Any]:
        """The manifest as a dict whose keys are in the order of the format."""
        inputs, outputs = [one.entry for one in self._inputs], [one.entry for one in self._outputs]
        needs = self._features_of_dtypes(inputs)
        needs += ["parameters"] if any(one.entry["kind"] == "texts" for one in self._params) else []
        needs += ["was"] if self._was else []
        manifest: dict[str, Any] = {
            "tenon": 2 if needs else 1, "name": name, "doc": self._doc or self._fallback,
            "version": self._version, "aliases": self._aliases, "types": self._shared,
            "inputs": inputs, "outputs": outputs, "states": [one.entry for one in self._states],
            "params": [one.entry for one in self._params], "inplace": self._pairs["inplace"],
            "backward_inplace": self._pairs["backward_inplace"], "backward_reads": self._reads,
            "accumulates": False, "strides": True, "random": self._random, "elementwise": False,
            "kernels_elsewhere": False, "functions": list(functions), "renamed": self._renamed,
            "added": self._added,
        }  # fmt: skip
        optional = {
            "space": self._space, "conditions": self._conditions, "rules": self._rules,
            "examples": self._examples, "linear": self._pairs["linear"],
            "surrogate_gradient": self._surrogate, **self._added_tensors, "removed": self._removed,
            "was": self._was, "needs": needs,
        }  # fmt: skip
        return manifest | {key: value for key, value in optional.items() if value}

    def _features_of_dtypes(self, inputs: list[dict[str, Any]]) -> list[str]:
        used = set(self._shared).union(*(entry["types"] or () for entry in inputs))
        return list(
            dict.fromkeys(FEATURES[name] for name in NAMES if name in used & FEATURES.keys())
        )


def manifest_bytes(manifest: dict[str, Any]) -> bytes:
    return cbor.dumps(manifest)


def kind_of(
    name: str, type_: Any, default: Any
) -> tuple[str, list[str], Callable[[str], Any] | None]:
    """The kind of a parameter, its choices, and the function that converts a choice to the
    attribute's value: from the annotation, or else from the default.
    """
    if type_ is MISSING:
        if default is MISSING:
            raise UsageError(
                f"parameter '{name}' is not an attribute of the class",
                f"write `{name}: float = 1.0` in the class",
            )
        type_ = type(default)
        if isinstance(default, list | tuple):
            type_ = list[type(default[0]) if default else float]  # type: ignore[misc]
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        return "enum", list(type_.__members__), type_.__getitem__
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin is Literal:
        if not all(isinstance(one, str) for one in arguments):
            raise UsageError(f"parameter '{name}' is {type_}, but choices must be texts")
        return "enum", list(arguments), None
    simple = {
        bool: "bool",
        int: "int64",
        float: "float64",
        str: "text",
        np.float32: "float32",
        np.int32: "int32",
        np.float64: "float64",
    }
    simple[np.int64] = "int64"
    if type_ in simple:
        return simple[type_], [], None
    lists = {int: "ints", float: "floats", str: "texts"}
    if origin in (list, tuple, Sequence) and arguments and arguments[0] in lists:
        return lists[arguments[0]], [], None
    shown = getattr(type_, "__name__", str(type_)) if not arguments else str(type_)
    raise UsageError(
        f"parameter '{name}' is annotated as {shown}, which is not a parameter type",
        "parameters are bool, int, float, str, list[int], list[float], list[str], Literal[...] of "
        "texts, or an Enum",
    )


def plain(name: str, kind: str, default: Any, choices: list[str]) -> Any:
    """The default as the manifest stores it; a placeholder if the parameter is required."""
    if default is MISSING:
        return choices[0] if choices else ZEROS[kind]
    try:
        if kind in ("ints", "floats", "texts"):
            made_of: dict[str, Callable[[Any], Any]] = {
                "ints": _whole,
                "floats": float,
                "texts": str,
            }
            return [made_of[kind](item) for item in default]
        if kind in ("int32", "int64"):
            return _whole(default)
        if kind in ("float32", "float64"):
            return float(default)
        if kind == "bool":
            return bool(default)
    except (TypeError, ValueError):
        raise UsageError(
            f"the default of parameter '{name}' is {default!r}, but its annotation makes it {kind}"
        ) from None
    if not isinstance(default, str):
        raise UsageError(
            f"the default of parameter '{name}' is {default!r}, but its annotation makes it {kind}"
        )
    return default


def _whole(value: Any) -> int:
    if isinstance(value, float):
        raise TypeError
    return int(value)
