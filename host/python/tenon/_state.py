"""The default host."""

from __future__ import annotations

import threading

from . import _core

_making = threading.RLock()  # by the same thread again: a plugin package that is found may call operators itself


def make_default_host() -> _core.Host:
    """One for all threads, however many ask for the first one at once."""
    from ._host import Host

    with _making:
        if not _core.has_default_host():
            host = Host()
            _core.set_default_host(host)
            host.add_installed()
        return _core.default_host()
