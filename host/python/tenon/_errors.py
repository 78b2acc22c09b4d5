"""The exceptions, and how warnings of the host reach Python."""

from __future__ import annotations

import functools
import inspect
import os.path
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

_PACKAGE = os.path.dirname(__file__) + os.sep


class Error(Exception):
    """Every error of Tenon. `hint` says what to do next; it may be empty."""

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
    """Wrong use: unknown names, parameters or inputs that do not fit."""

    kind = "usage"


class ExecutionError(Error, RuntimeError):
    """The work failed: a kernel, a shape that only a run knows, memory."""

    kind = "failed"


class PluginError(Error, ImportError):
    """A plugin is missing, broken or refused."""

    kind = "plugin"


class FileError(Error, OSError):
    """A file is missing, broken or refused."""

    kind = "file"


class CompileError(PluginError):
    """The compiler refuses the source that tenon.compile was given. `output` is all that it said."""

    output = ""


class Warning(UserWarning):  # noqa: A001 - tenon.Warning
    """What the host warns of: conversions, copies, changed files."""


def make_error(kind: type[Error], message: str, hint: str) -> Error:
    return kind(message, hint)


def say(category: str, text: str) -> None:
    """What the host has to say: a line of a kernel's log, or a warning of the line that called the package."""
    if category == "log":
        print(text, file=sys.stderr)
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, Warning, stacklevel=level)


def is_own(error: BaseException) -> bool:
    return isinstance(error, Error)


def plain_type_errors(kind: type[Any]) -> type[Any]:
    """A class whose public methods say in plain words what is wrong with their arguments, where the core would list its own functions."""
    for name, method in list(vars(kind).items()):
        if inspect.isfunction(method) and (not name.startswith("_") or name in ("__init__", "__getitem__", "__contains__")):
            setattr(kind, name, _plainly(method))
    return kind


def _plainly(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        try:
            return method(*given, **named)
        except TypeError as error:
            wrong = plain_error(error, method, (*given[1:], *named.values()))
            if wrong is None:
                raise
        raise wrong

    return call


def plain_error(error: TypeError, method: Callable[..., Any], given: tuple[Any, ...]) -> Exception | None:
    """What to raise instead of the core's list of functions; None where the error is another one."""
    if "incompatible function arguments" not in str(error):
        return None
    for text in given:
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                return UsageError(f"{method.__qualname__}() is given {text!a}, which is no text")
    wanted = inspect.signature(method)
    kinds = ", ".join(type(each).__name__ for each in given)
    text = str(wanted.replace(parameters=list(wanted.parameters.values())[1:], return_annotation=inspect.Signature.empty))
    return TypeError(f"{method.__qualname__}{text} is given ({kinds}), which does not fit".replace("'", "").replace(".__init__", ""))


def sentence_of(error: BaseException) -> str:
    """The exception and the line of the author's code that raised it, as a part of a sentence."""
    if isinstance(error, Error) and error.args:
        return str(error.args[0])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_PACKAGE)]
    text = " ".join(traceback.format_exception_only(type(error), error)[-1].split())
    if not frames:
        return text
    if frames[-1].name == "backward" and "'NoneType' object" in text:
        text += "; a gradient that nobody asks for is None"
    return f"{text} ({frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name})"
