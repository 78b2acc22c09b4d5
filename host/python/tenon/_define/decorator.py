"""@tenon.operator: operators written in Python."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .. import _core
from .._errors import MissingAttribute, UsageError, listed
from . import parameters
from .describe import MISSING, Describer, manifest_bytes

C = TypeVar("C", bound=type)
FUNCTIONS = ("forward", "backward", "gradient")
MISSPELT = {
    "forwards": "forward", "backwards": "backward", "infer_shape": "infer", "infer_shapes": "infer",
    "infer_type": "infer", "infer_types": "infer",
}  # fmt: skip


class Call:
    """The argument `call` of forward(self, call) and backward(self, call).

    Inputs, outputs and states are attributes by name: numpy arrays over the host's memory, valid
    until the call ends; inputs are read-only. A variadic input is a list. Omitted optional inputs,
    outputs that are not requested, gradients that are zero (y_grad) and gradients that are not
    requested (x_grad) are None. `call.y = value` writes into the array, like `call.y[...] = value`.
    """

    __slots__ = ("training", "_draws", "_generator")
    training: bool
    """Whether the call runs in training mode."""
    _of = ""
    _names: tuple[str, ...] = ()
    _gradients: tuple[str, ...] = ()

    @property
    def random(self) -> np.random.Generator:
        """Random numbers of this node in this run: the same in forward and backward, and on any
        number of threads.
        """
        draws = getattr(self, "_draws", None)
        if draws is None:
            raise MissingAttribute("call.random needs op.uses_random() in describe()")
        cached = getattr(self, "_generator", None)
        if cached is None or cached[0] is not draws:
            seed, step, node = draws
            # numpy converts lists with elements on both sides of 2^63 to float64.
            key = np.array([seed, node], np.uint64)
            counter = np.array([0, 0, step, 0], np.uint64)
            made = np.random.Generator(np.random.Philox(key=key, counter=counter))
            object.__setattr__(self, "_generator", cached := (draws, made))
        generator: np.random.Generator = cached[1]
        return generator

    # Called by _errors.sentence_of(). A __getattr__ would slow down every access: by a third of a
    # small kernel.
    def _why_missing(self, name: str) -> str:
        if name in self._gradients:
            return f"call.{name} exists only in backward"
        if name in self._names:
            return f"call.{name} is not available in backward: name it in op.backward_reads()"
        return f"the call has no '{name}': describe() of {self._of} names {listed(self._names)}"

    def __setattr__(self, name: str, value: Any) -> None:
        array = getattr(self, name)
        if not isinstance(array, np.ndarray):
            raise AttributeError(f"call.{name} cannot be set")
        if not array.flags.writeable:
            raise ValueError(f"call.{name} is read-only")
        made = np.asarray(value)
        if isinstance(value, np.ndarray | np.generic) and not np.can_cast(
            made.dtype, array.dtype, "same_kind"
        ):
            raise TypeError(f"call.{name} is {array.dtype}, but the value is {made.dtype}")
        if made.ndim and made.shape != array.shape:
            raise ValueError(
                f"call.{name} has the shape {list(array.shape)}, but the value {list(made.shape)}"
            )
        array[...] = made


class Definition(typing.NamedTuple):
    """A class with what its describe() declares."""

    manifest: dict[str, Any]
    data: bytes
    call_type: type[Call]
    declared: dict[str, Any]


def _check_functions(cls: type) -> None:
    for wrong, right in MISSPELT.items():
        if hasattr(cls, wrong) and not hasattr(cls, right):
            raise UsageError(
                f"{cls.__name__} defines {wrong}(), which is never called",
                f"rename it to {right}()",
            )
    for needed, form in (("describe", "def describe(op)"), ("forward", "def forward(self, call)")):
        if not callable(getattr(cls, needed, None)):
            raise UsageError(f"{cls.__name__} has no {needed}()", f"write `{form}:` in the class")
    for name, count in (
        ("describe", 1),
        ("forward", 2),
        ("backward", 2),
        ("infer", 2),
        ("gradient", 2),
    ):
        function = cls.__dict__.get(name)
        if inspect.isfunction(function):
            kinds = [each.kind for each in inspect.signature(function).parameters.values()]
            positional = sum(
                kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for kind in kinds
            )
            if positional != count and inspect.Parameter.VAR_POSITIONAL not in kinds:
                argument = {"infer": "io", "gradient": "graph"}.get(name, "call")
                form = "describe(op)" if name == "describe" else f"{name}(self, {argument})"
                raise UsageError(
                    f"{name}() of {cls.__name__} takes {positional} arguments",
                    f"write `def {form}:`",
                )


def _annotations(cls: type, local: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        space = {**vars(sys.modules.get(base.__module__, typing)), **local, **vars(base)}
        for name, type_ in base.__dict__.get("__annotations__", {}).items():
            if isinstance(type_, str):
                try:
                    type_ = eval(type_, space)  # noqa: S307 - the author's own annotation
                except Exception as error:
                    raise UsageError(
                        f"the annotation of {cls.__name__}.{name} is '{type_}', which cannot be "
                        f"evaluated: {error}"
                    ) from None
            found[name] = type_
    return found


def _make_call_type(cls: type, manifest: dict[str, Any]) -> type[Call]:
    names = [entry["name"] for key in ("inputs", "outputs", "states") for entry in manifest[key]]
    gradients = [
        entry["name"] + "_grad" for key in ("inputs", "outputs") for entry in manifest[key]
    ]
    for name in names + gradients:
        if (
            name in ("training", "random")
            or name.startswith("_")
            or (names + gradients).count(name) > 1
        ):
            raise UsageError(
                f"describe() of {cls.__name__} names '{name}', but the call already has an "
                "attribute of that name",
                "choose another name",
            )
    body = {
        "__slots__": tuple(names + gradients),
        "_of": cls.__name__,
        "_names": tuple(names),
        "_gradients": tuple(gradients),
    }
    return type("Call", (Call,), body)


def define(cls: type, name: str | None = None, local: dict[str, Any] | None = None) -> Definition:
    """Runs describe() of a class. Raises UsageError if the class or its description is invalid."""
    _check_functions(cls)
    fallback = (inspect.getdoc(cls) or "").partition("\n")[0] if "__doc__" in cls.__dict__ else ""
    op = Describer(
        _annotations(cls, local or {}), lambda param: getattr(cls, param, MISSING), fallback
    )
    try:
        cls.describe(op)  # type: ignore[attr-defined]
    except UsageError as error:
        raise UsageError(f"describe() of {cls.__name__}: {error.args[0]}", error.hint) from error
    manifest = op.manifest(
        name or _core.snake_case(cls.__name__), [each for each in FUNCTIONS if hasattr(cls, each)]
    )
    if not manifest["doc"]:
        raise UsageError(
            f"describe() of {cls.__name__} has no doc", "add op.doc() with one sentence"
        )
    inputs, outputs = manifest["inputs"], manifest["outputs"]
    declared = {
        "inputs": [entry["name"] for entry in inputs],
        "outputs": [entry["name"] for entry in outputs],
        "states": [entry["name"] for entry in manifest["states"]],
        "variadic": bool(inputs) and inputs[-1]["variadic"],
        "counted": next((index for index, entry in enumerate(outputs) if entry["count"]), -1),
        "shared": next((index for index, entry in enumerate(inputs) if entry["types"] is None), 0),
        "random": manifest["random"],
        "check": functools.partial(parameters.checked, manifest, op.conversions),
    }
    return Definition(manifest, manifest_bytes(manifest), _make_call_type(cls, manifest), declared)


_decorated: dict[str, weakref.ref[type]] = {}


@overload
def decorated() -> list[type]: ...
@overload
def decorated(full_name: str) -> type | None: ...
def decorated(full_name: str | None = None) -> list[type] | type | None:
    """The newest class of each full name, or of `full_name`."""
    alive = {
        name: found for name, reference in _decorated.items() if (found := reference()) is not None
    }
    return list(alive.values()) if full_name is None else alive.get(full_name)


def add_to(host: _core.Host, cls: type) -> str:
    """Adds a decorated class to a host and returns the operator's full name."""
    found = cls.__dict__.get("_tenon_definition")
    if not isinstance(found, Definition):
        raise TypeError(f"expected a class decorated with @tenon.operator, not {cls!r}")
    full_name: str = _core.add_operator(host, found.data, cls, found.call_type, found.declared)
    _decorated[full_name] = weakref.ref(cls)
    return full_name


@overload
def operator(cls: C, /) -> C: ...
@overload
def operator(*, name: str | None = None, host: _core.Host | None = None) -> Callable[[C], C]: ...
def operator(
    cls: C | None = None, /, *, name: str | None = None, host: _core.Host | None = None
) -> C | Callable[[C], C]:
    """Registers a class as an operator: `ops.cosine` for the class Cosine, in eager calls, graphs,
    gradients, training and files.

    The class has the functions of a C++ operator. `describe(op)` declares inputs, outputs and
    parameters. `infer(self, io)` sets the outputs' shapes; it may be omitted if every output has
    the first input's shape. `forward(self, call)` computes. `backward(self, call)`, or
    `gradient(self, graph)` with nodes of other operators, is the gradient. Parameters are
    attributes: the annotation is the kind (bool, int, float, str, list[int], list[float],
    list[str], Literal of texts, an Enum), the value the default; without a value the parameter is
    required.

    io: shape(name), dtype(name), has_input(name), values(name), inputs, outputs,
        set_output(name, shape, dtype), set_input(name, shape, dtype), set_state(name, shape,
        dtype), require(condition, reason), error(reason).
    call: the arrays of the inputs, outputs and states by name, such as call.x and call.y; in
        backward also call.y_grad and call.x_grad, None if not requested; training, random.
        `call.y = value` writes into the array.
    graph: input(name), output(name), output_grad(name), add(op, *inputs, **params),
        set_input_grad(name, value).

    The operator is added to the current default host, or to `host`; `other_host.add(Class)` adds it
    to others. Decorating a class of the same name again replaces the operator for everything
    created later. Raises UsageError if the class is invalid.

    Threads: kernels run on any thread and hold the GIL; calls of one object never overlap. They may
    call tenon.ops.
    """
    local = dict(sys._getframe(1).f_locals)

    def decorate(decorated_class: C) -> C:
        definition = define(decorated_class, name, local)
        decorated_class._tenon_definition = definition  # type: ignore[attr-defined]
        add_to(host if host is not None else _core.default_host(), decorated_class)
        return decorated_class

    return decorate if cls is None else decorate(cls)
