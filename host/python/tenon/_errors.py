"""Exceptions, and the conversion of the host's warnings to Python's."""

from __future__ import annotations

import functools
import inspect
import itertools
import os.path
import re
import reprlib
import sys
import traceback
import warnings
from collections.abc import Callable, Collection
from typing import Any

_PACKAGE = os.path.dirname(__file__) + os.sep

MAX_LISTED = 16


class Error(Exception):
    """The base class of Tenon's errors. `hint` suggests a next step; it may be empty."""

    kind = "failed"
    hint = ""

    def __init__(self, message: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if hint and hasattr(self, "add_note"):
            self.add_note("hint: " + hint)

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        if self.hint and sys.version_info < (3, 11):
            return f"{message}\nhint: {self.hint}"
        return message

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return type(self), (str(self.args[0]) if self.args else "", self.hint)


class UsageError(Error, ValueError):
    """Wrong use: unknown names, or parameters or inputs that do not fit."""

    kind = "usage"


class MissingAttribute(UsageError, AttributeError):
    """An attribute that this object lacks but others of its class have, such as row_ids of a tensor
    that is not row_sparse.
    """


class MixedGraphs(UsageError):
    """Values of several graphs where those of one are needed. `graphs`: all of them."""

    graphs: tuple[Any, ...] = ()


class ExecutionError(Error, RuntimeError):
    """The work failed: a kernel, a shape known only at run time, or memory."""

    kind = "failed"


class PluginError(Error, ImportError):
    """A plugin is missing, broken or refused."""

    kind = "plugin"


class FileError(Error, OSError):
    """A file is missing, broken or refused."""

    kind = "file"


class CompileError(PluginError):
    """The compiler rejected the source of tenon.compile. `output` is all that it printed."""

    output = ""


class Warning(UserWarning):  # noqa: A001 - tenon.Warning
    """A warning of the host: conversions, copies, changed files."""


def make_error(kind: type[Error], message: str, hint: str) -> Error:
    return kind(message, hint)


def say(category: str, text: str) -> None:
    """Emits a message of the host: a log line of a kernel, or a warning attributed to the line that
    called the package.
    """
    if category == "log":
        print(text, file=sys.stderr)
    else:
        warn(text, Warning)


def warn(text: str, kind: type[Warning] | type[DeprecationWarning]) -> None:
    """Emits a warning attributed to the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").partition(".")[0] == __package__
    ):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, kind, stacklevel=level)


def is_tenon_error(error: BaseException) -> bool:
    return isinstance(error, Error)


def listed(names: Collection[str], none: str = "none", separator: str = ", ") -> str:
    """`a, b, c`, or `none`. If there are more than 16 names: `a, ..., p and 84 more`."""
    text = separator.join(itertools.islice(names, MAX_LISTED))
    more = len(names) - MAX_LISTED
    return (f"{text} and {more} more" if more > 0 else text) if names else none


def plain_type_errors(kind: type[Any]) -> type[Any]:
    """Replaces pybind11's lists of overloads by readable errors in a class's public methods."""
    for name, found in list(vars(kind).items()):
        if name.startswith("_") and name not in ("__init__", "__getitem__", "__contains__"):
            continue
        if inspect.isfunction(found):
            setattr(kind, name, plainly(found))
        elif isinstance(found, property) and found.fset is not None:
            setattr(kind, name, found.setter(plainly(found.fset)))
    return kind


def plainly(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except TypeError as error:
            wrong = plain_error(error, function, arguments, named)
            if wrong is None:
                raise
        raise wrong

    return call


def plain_error(
    error: TypeError,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> Exception | None:
    """The error to raise instead of pybind11's list of overloads; None for other errors."""
    if "incompatible function arguments" not in str(error):
        return None
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "self":
        parameters, arguments = parameters[1:], arguments[1:]
    name = function.__qualname__.removesuffix(".__init__").replace("._", ".")
    for text in (*arguments, *named.values()):
        if isinstance(text, str) and text.encode(errors="replace").decode() != text:
            return UsageError(f"{name}() got {text!a}, which is not valid Unicode")
    expected = str(
        signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    )
    expected = re.sub(r": '([^']*)'", r": \1", expected)  # annotations are strings
    found = [_shown(value) for value in arguments] + [
        f"{key}={_shown(value)}" for key, value in named.items()
    ]
    return TypeError(f"{name}{expected} got arguments that do not fit: ({listed(found, '')})")


def _shown(value: Any) -> str:
    return reprlib.repr(value) if isinstance(value, int | float | str) else type(value).__name__


def sentence_of(error: BaseException) -> str:
    """The exception and the line of user code that raised it, as part of a sentence."""
    if isinstance(error, Error) and error.args:
        return str(error.args[0])
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_PACKAGE)
    ]
    text = " ".join(traceback.format_exception_only(type(error), error)[-1].split())
    # the call that a kernel receives
    if isinstance(error, AttributeError) and hasattr(error.obj, "_why_missing"):
        text = f"AttributeError: {error.obj._why_missing(error.name)}"
    if not frames:
        return text
    if frames[-1].name == "backward" and "'NoneType' object" in text:
        text += "; gradients that are not requested are None"
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name})"
