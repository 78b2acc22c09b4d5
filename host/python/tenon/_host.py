"""Hosts: plugins, threads, seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from . import _core, _state
from ._call_cache import forget
from ._errors import PluginError, UsageError, plain_type_errors, say
from ._lookup import Operators


def path_text(path: str | os.PathLike[str]) -> str:
    """A path as the core takes it. Raises UsageError for one that no file can have."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise UsageError(f"a path has a NUL character: {text!a}")
    return text


def _texts(given: str | Sequence[str], name: str) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple | set | frozenset) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"Host(): {name}= is a list of names, not {given!r}")
    return list(texts)


@plain_type_errors
class Host(_core.Host):
    """Plugins, devices and threads. Functions use a default host; `with tenon.Host(seed=0):` uses another one inside of the block.

    The block is of this thread of control: another thread, or another asyncio task, goes on with its own default host. A task that is created
    inside of the block is in it too, until the block ends; a thread that is started there is not: it begins with the default host of the
    process, unless it is run in a copy of the context (contextvars.copy_context(), asyncio.to_thread()). Blocks may end in any order.

    prefer: plugins or spaces whose operator a short name means where several have one; default: the application's own, written in Python or
    by tenon.compile. Threads: any. After close() it gives errors.
    """

    def __init__(
        self,
        *,
        threads: int = 0,
        seed: int = 0,
        prefer: str | Sequence[str] = ("app", "compiled"),
        isolate: bool | str | Sequence[str] = False,
        **options: Any,
    ) -> None:
        super().__init__(
            threads=threads,
            seed=seed,
            prefer=_texts(prefer, "prefer"),
            isolate=isolate if isinstance(isolate, bool) else _texts(isolate, "isolate"),
            **options,
        )
        self._blocks: list[_state.Block] = []

    def add_installed(self) -> None:
        """Adds the plugins of installed packages: those that the entry points of the group `tenon.plugins` name. A package that fails
        is a warning, since it is not what the call was about."""
        from importlib.metadata import entry_points

        for point in entry_points(group="tenon.plugins"):
            try:
                found = point.load()
                self.add_plugins(found() if callable(found) else found)
            except Exception as error:  # noqa: BLE001 - anything that a package does
                say(
                    "warning", f"the plugins of the package {point.value} are left out: {type(error).__name__}: {error}"
                )

    def add_plugins(self, path: str | os.PathLike[str]) -> None:
        """Adds a folder of plugins, or one plugin. Its operators replace those of the same full name for what is made from then on."""
        text = path_text(path)
        super().add_plugins(text)
        if os.path.isfile(text):
            self._require_usable(os.path.realpath(text))

    def _require_usable(self, path: str) -> None:
        for file in self.files():
            if os.path.realpath(file["path"]) == path and not file["usable"]:
                raise PluginError(
                    f"plugin '{path}' is {file['status']}: {file['reason']}",
                    "tenon.default_host().files() says of each plugin what became of it",
                )

    def add(self, operator: type) -> str:
        """Adds an operator that is written in Python, a class with @tenon.operator, and returns its full name."""
        from ._define import add_to

        return add_to(self, operator)

    @property
    def ops(self) -> Operators:
        """The operators of this host, as `tenon.ops` has those of the default one."""
        return Operators(self)

    def close(self) -> None:
        """Ends the host: its threads, and what caches have of it. Calls that run meanwhile end first."""
        if not self.closed:
            number = self.number
            super().close()
            forget(number)

    def __enter__(self) -> Host:
        self._blocks.append(_state.enter(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # This thread's innermost block of this host; a generator that another thread closes has entered it elsewhere.
        here = [block for block in self._blocks if _state.is_here(block)]
        block = (here or self._blocks)[-1]
        self._blocks.remove(block)
        _state.leave(block)

    def __repr__(self) -> str:
        return (
            "<tenon.Host, closed>"
            if self.closed
            else f"<tenon.Host of {len(self.names())} operators, {self.threads} threads>"
        )
