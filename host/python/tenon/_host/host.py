"""Hosts: plugins, threads, seeds."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from .. import _core
from .._call_cache import forget
from .._errors import PluginError, UsageError, plain_type_errors, say
from .._operators.namespaces import Operators
from . import context


def path_text(path: str | os.PathLike[str]) -> str:
    """The path as text for the core. Raises UsageError for a path with a NUL character."""
    text = os.fsdecode(path)
    if "\0" in text:
        raise UsageError(f"a path contains a NUL character: {text!a}")
    return text


def _texts(value: str | Sequence[str], name: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple | set | frozenset) or not all(
        isinstance(text, str) for text in texts
    ):
        raise TypeError(f"Host(): {name}= must be a list of names, not {value!r}")
    return list(texts)


@plain_type_errors
class Host(_core.Host):
    """Plugins, devices and threads. Functions use a default host; `with tenon.Host(seed=0):` makes
    another one the default inside the block.

    The block belongs to the current thread or asyncio task; others keep their own default host. A
    task created inside the block is in it, too, until the block ends. A thread started inside is
    not: it begins with the process's default host, unless it runs in a copy of the context
    (contextvars.copy_context(), asyncio.to_thread()). Blocks may end in any order.

    prefer: plugins or spaces whose operator a short name means if several have one; default: the
    application's own operators, written in Python or built by tenon.compile.

    Threads: any. After close() every use raises an error.
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
        self._blocks: list[context.Block] = []
        weakref.finalize(self, forget, self.number).atexit = False

    def add_installed(self) -> None:
        """Adds the plugins of installed packages, found by the entry points of the group
        `tenon.plugins`.

        A package that fails causes a warning only, since the caller may not depend on it.
        """
        from importlib.metadata import entry_points

        for point in entry_points(group="tenon.plugins"):
            try:
                found = point.load()
                self.add_plugins(found() if callable(found) else found)
            except Exception as error:  # noqa: BLE001 - anything that a package may raise
                say(
                    "warning",
                    f"skipped the plugins of the package {point.value}: {type(error).__name__}: "
                    f"{error}",
                )

    def add_plugins(self, path: str | os.PathLike[str]) -> None:
        """Adds a folder of plugins, or one plugin file. Its operators replace those of the same
        full name for everything created later.
        """
        text = path_text(path)
        super().add_plugins(text)
        if os.path.isfile(text):
            self._require_usable(os.path.realpath(text))

    def _require_usable(self, path: str) -> None:
        for file in self.files():
            if os.path.realpath(file["path"]) == path and not file["usable"]:
                raise PluginError(
                    f"plugin '{path}' is {file['status']}: {file['reason']}",
                    "tenon.default_host().files() lists the status of each plugin",
                )

    def add(self, operator: type) -> str:
        """Adds an operator written in Python, a class decorated with @tenon.operator, and returns
        its full name.
        """
        from .._define.decorator import add_to

        return add_to(self, operator)

    @property
    def ops(self) -> Operators:
        """The operators of this host, like `tenon.ops` for the default host."""
        return Operators(self)

    def close(self) -> None:
        """Closes the host and frees its threads and cached entries. Waits for running calls."""
        if not self.closed:
            number = self.number
            super().close()
            forget(number)

    def __enter__(self) -> Host:
        self._blocks.append(context.enter(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The innermost block of this host on this thread. A generator closed by another thread has
        # entered its block elsewhere.
        blocks = self._blocks.copy()  # other threads may enter and leave blocks meanwhile
        if not blocks:
            raise UsageError("this host has no open `with` block", "enter one before leaving it")
        here = [block for block in blocks if context.is_here(block)]
        block = (here or blocks)[-1]
        self._blocks.remove(block)
        context.leave(block)

    def __repr__(self) -> str:
        return (
            "<tenon.Host, closed>"
            if self.closed
            else f"<tenon.Host of {len(self.names())} operators, {self.threads} threads>"
        )


_making = threading.RLock()  # reentrant: a plugin package found here may call operators


def make_default_host() -> _core.Host:
    """Creates the process's default host, once, however many threads need it first."""
    with _making:
        if not _core.has_default_host():
            host = Host()
            _core.set_default_host(host)
            host.add_installed()
        default: _core.Host = _core.default_host()
        return default
