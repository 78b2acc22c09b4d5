"""The default hosts of `with` blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .. import _core


class Block:
    """A `with` block of a host. An ended block has no effect, neither in a task that started inside
    it nor below another block that ends later. Such tasks refer to the block, so that an ended one
    has no host.
    """

    __slots__ = ("host",)

    def __init__(self, host: _core.Host) -> None:
        self.host: _core.Host | None = host


_blocks: ContextVar[tuple[Block, ...]] = ContextVar(
    "tenon_blocks", default=()
)  # the innermost one last


def host_of_block() -> _core.Host | None:
    """The host of the innermost open block of this thread or task. The core calls this while any
    block is open.
    """
    for block in reversed(_blocks.get()):
        host = block.host  # read once: another thread may end the block
        if host is not None:
            return host
    return None


def enter(host: _core.Host) -> Block:
    block = Block(host)
    _blocks.set((*_here(), block))
    _core.count_blocks(1)
    return block


def leave(block: Block) -> None:
    block.host = None
    _blocks.set(_here())
    _core.count_blocks(-1)


@contextmanager
def using(host: _core.Host) -> Iterator[None]:
    """A block in which an earlier call of a host continues, on any thread."""
    block = enter(host)
    try:
        yield
    finally:
        leave(block)


def is_here(block: Block) -> bool:
    return block in _blocks.get()


def _here() -> tuple[Block, ...]:
    return tuple(block for block in _blocks.get() if block.host is not None)


def replace_all(host: _core.Host) -> None:
    """Sets the default host of a forked process, whatever blocks its parent was in."""
    _blocks.set(())
    _core.set_default_host(host)
