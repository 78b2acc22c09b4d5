"""Operators as attributes: those of a host and those of a space."""

from __future__ import annotations

from typing import Any

from .. import _core
from .._errors import PluginError


def _names(host: _core.Host) -> list[str]:
    return host.names()


class Space:
    """The operators of one space: `ops.acme`."""

    def __init__(self, name: str, host: _core.Host | None) -> None:
        self._name = name
        self._host = host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return find(f"{self._name}.{name}", self._host)
        except ImportError as error:
            raise AttributeError(_with_hint(error)) from None

    def __dir__(self) -> list[str]:
        host = self._host or _core.default_host()
        start = self._name + "."
        return sorted(
            _core.python_name(full[len(start) :])
            for full in (host.describe(name)["full_name"] for name in _names(host))
            if full.startswith(start)
        )

    def __repr__(self) -> str:
        return f"<the operators of {self._name}>"


def find(name: str, host: _core.Host | None) -> _core.Operator:
    """The operator with this full or short name. Raises PluginError with similar names."""
    if not isinstance(name, str):
        raise TypeError(f"operator names are str, not {type(name).__name__}")
    if "\0" in name or not name.isascii():
        raise PluginError(
            f"there is no operator {name!a}",
            "operator names consist of letters, digits, '_' and '.'",
        )
    resolved_host = host or _core.default_host()
    if "." not in name and name.endswith("_") and name not in _names(resolved_host):
        bare = name[:-1]
        if _core.python_name(bare) == name:
            name = bare
    resolved_host.describe(name)
    return _core.Operator(name, host)


def lookup(name: str, host: _core.Host | None) -> Any:
    resolved_host = host or _core.default_host()
    try:
        return find(name, host)
    except ImportError as error:
        start = name + "."
        if any(
            resolved_host.describe(each)["full_name"].startswith(start)
            for each in _names(resolved_host)
        ):
            return Space(name, host)
        text = _with_hint(error)
    raise AttributeError(text)


def _with_hint(error: ImportError) -> str:
    return "\nhint: ".join(filter(None, (str(error.args[0]), getattr(error, "hint", ""))))


class Operators:
    """The operators of one host."""

    def __init__(self, host: _core.Host) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = lookup(name, self._host)
        self.__dict__[name] = found
        return found

    def __getitem__(self, name: str) -> _core.Operator:
        return find(name, self._host)

    def __dir__(self) -> list[str]:
        return sorted(_core.python_name(name) for name in _names(self._host) if "." not in name)
