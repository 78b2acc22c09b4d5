"""The default host."""

from __future__ import annotations

from . import _core


def make_default_host() -> _core.Host:
    from ._host import Host

    host = Host()
    _core.set_default_host(host)
    host.add_installed()
    return host
