"""Operator manifests in Python: signatures, docstrings, HTML pages."""

from __future__ import annotations

import functools
import inspect
from collections import namedtuple
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._call_cache import CallCache
from .._errors import warn
from .namespaces import find


@dataclass(frozen=True)
class InputInfo:
    name: str
    doc: str
    optional: bool
    variadic: bool
    weight: bool
    types: tuple[str, ...] | None
    """The input's own dtypes; None if it shares one dtype with other inputs."""


@dataclass(frozen=True)
class OutputInfo:
    name: str
    doc: str
    hidden: bool
    count: str


@dataclass(frozen=True)
class ParamInfo:
    name: str
    doc: str
    kind: str
    default: Any
    required: bool
    min: float | None
    max: float | None
    above: float | None
    below: float | None
    choices: tuple[str, ...]

    @property
    def range(self) -> str:
        bounds = [
            f"{sign} {bound:g}"
            for sign, bound in (
                ("at least", self.min),
                ("greater than", self.above),
                ("at most", self.max),
                ("less than", self.below),
            )
            if bound is not None
        ]
        if self.choices:
            bounds.append("one of " + ", ".join(self.choices))
        return ", ".join(bounds)


@dataclass(frozen=True)
class OperatorInfo:
    """An operator as its manifest describes it."""

    name: str
    full_name: str
    space: str
    doc: str
    version: int
    aliases: tuple[str, ...]
    types: tuple[str, ...]
    inputs: tuple[InputInfo, ...]
    outputs: tuple[OutputInfo, ...]
    states: tuple[dict[str, Any], ...]
    params: dict[str, ParamInfo]
    functions: tuple[str, ...]
    devices: tuple[str, ...]
    plugin: str | None
    plugin_version: str
    path: str | None
    raw: dict[str, Any] = field(repr=False)

    def input_at(self, index: int | None = None, *, place: int | None = None) -> InputInfo:
        """The declaration of the input at `index` of a call; a variadic input comes last.

        place: deprecated name of index, until 0.4.
        """
        if index is None:
            if place is None:
                raise TypeError("input_at() needs an index")
            warn("place= is deprecated: use index=; until 0.4", DeprecationWarning)
            index = place
        return self.inputs[min(index, len(self.inputs) - 1)]

    @functools.cached_property
    def visible(self) -> tuple[OutputInfo, ...]:
        return tuple(output for output in self.outputs if not output.hidden)

    @functools.cached_property
    def result_type(self) -> Any:
        """The named tuple for several outputs; None for one output, or for a number of outputs set
        by a parameter.
        """
        if len(self.visible) < 2 or any(output.count for output in self.visible):
            return None
        return namedtuple(
            f"{self.name}_results", [_core.python_name(output.name) for output in self.visible]
        )

    @property
    def gradient(self) -> str:
        if "gradient" in self.functions:
            return "a graph of other operators"
        if "backward" in self.functions or self.raw["elementwise"]:
            return "a kernel"
        return "a graph of other operators" if "compose" in self.functions else "none"


def _info_from(raw: dict[str, Any]) -> OperatorInfo:
    def picked(kind: Any, values: dict[str, Any]) -> Any:
        names = kind.__dataclass_fields__
        return kind(
            **{
                key: tuple(value)
                if isinstance(value, list) and key in ("types", "choices")
                else value
                for key, value in values.items()
                if key in names
            }
        )

    inputs = tuple(
        picked(InputInfo, {**value, "weight": bool(value["weight"])}) for value in raw["inputs"]
    )
    params = {value["name"]: picked(ParamInfo, value) for value in raw["params"]}
    return OperatorInfo(
        name=raw["name"],
        full_name=raw["full_name"],
        space=raw["space"],
        doc=raw["doc"],
        version=raw["version"],
        aliases=tuple(raw["aliases"]),
        types=tuple(raw["types"]),
        inputs=inputs,
        outputs=tuple(picked(OutputInfo, value) for value in raw["outputs"]),
        states=tuple(raw["states"]),
        params=params,
        functions=tuple(raw["functions"]),
        devices=tuple(raw["devices"]),
        plugin=raw["plugin"],
        plugin_version=raw["plugin_version"],
        path=raw["path"],
        raw=raw,
    )


_known: CallCache[OperatorInfo] = CallCache(4096)


def info_of(op: _core.Operator) -> OperatorInfo:
    host = op._host or _core.default_host()
    return _known.shared(host, op._name, lambda: _info_from(host.describe(op._name)))


def python_name_of(op: _core.Operator) -> str:
    return _core.python_name(op._name.rsplit(".", 1)[-1])


def module_of(op: _core.Operator) -> str:
    return "tenon.ops"


ANNOTATIONS = {
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "float32": "float",
    "float64": "float",
    "text": "str",
    "enum": "str",
    "ints": "Sequence[int]",
    "floats": "Sequence[float]",
    "texts": "Sequence[str]",
    "tensor": "ArrayLike",
}


def signature_of(op: _core.Operator) -> inspect.Signature:
    info = info_of(op)
    kinds = inspect.Parameter
    parameters: list[inspect.Parameter] = []
    for each in info.inputs:
        name = _core.python_name(each.name)
        if each.variadic:
            parameters.append(kinds(name, kinds.VAR_POSITIONAL))
        else:
            left_out = each.optional or each.weight
            parameters.append(
                kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=None if left_out else kinds.empty)
            )
    optional_seen = False
    for index, parameter in enumerate(parameters):  # a required input may follow an optional one
        optional_seen = optional_seen or parameter.default is None
        if (
            optional_seen
            and parameter.default is kinds.empty
            and parameter.kind is not kinds.VAR_POSITIONAL
        ):
            parameters[index] = parameter.replace(default=None)
    for param in info.params.values():
        default = kinds.empty if param.required else param.default
        parameters.append(
            kinds(
                _core.python_name(param.name),
                kinds.KEYWORD_ONLY,
                default=default,
                annotation=ANNOTATIONS[param.kind],
            )
        )
    for reserved, value in (("name", None), ("device", None), ("training", False), ("out", None)):
        parameters.append(kinds(reserved, kinds.KEYWORD_ONLY, default=value))
    return inspect.Signature(parameters)


def doc_of(op: _core.Operator) -> str | None:
    if not isinstance(op, _core.Operator):
        return None
    info = info_of(op)
    lines = [f"{python_name_of(op)}{signature_of(op)}", "", info.doc, ""]
    if info.inputs:
        lines.append("Inputs:")
        for each in info.inputs:
            dtypes = ", ".join(each.types if each.types is not None else info.types)
            extra = (
                "; any number"
                if each.variadic
                else "; optional"
                if each.optional or each.weight
                else ""
            )
            lines.append(f"    {_core.python_name(each.name)}: {each.doc} [{dtypes}{extra}]")
    if info.params:
        lines.append("Parameters:")
        for param in info.params.values():
            default = "required" if param.required else f"default {param.default!r}"
            bounds = f"; {param.range}" if param.range else ""
            lines.append(
                f"    {_core.python_name(param.name)}: {param.doc} [{ANNOTATIONS[param.kind]}; "
                f"{default}{bounds}]"
            )
    lines.append("Returns:")
    for output in info.visible:
        lines.append(f"    {output.name}: {output.doc}")
    if info.states:
        lines.append("States:")
        for state in info.states:
            lines.append(f"    {state['name']}: {state['doc']}")
    origin = f"{info.full_name}, version {info.version}"
    if info.plugin:
        origin += f", plugin {info.plugin} {info.plugin_version}".rstrip()
    lines += [
        "",
        f"Gradient: {info.gradient}. Devices: "
        f"{', '.join(info.devices) or 'those of its component operators'}. {origin}.",
    ]
    return "\n".join(lines)


def text_of(op: _core.Operator) -> str:
    return f"<operator '{op._name}'>"


def html_of(op: _core.Operator) -> str:
    from html import escape

    return f"<pre>{escape(doc_of(op) or '')}</pre>"


def reduce(op: _core.Operator) -> tuple[Any, tuple[str, None]]:
    return find, (op._name, None)
