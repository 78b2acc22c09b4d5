"""Caches of what calls create once and reuse: prepared calls, sessions, traces, descriptions."""

from __future__ import annotations

import dataclasses
import decimal
import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from . import _core
from ._errors import UsageError

T = TypeVar("T")


def exact(value: Any) -> Any:
    """A key for a hashable value. Two are equal if the values have the same type and, for floating
    numbers, the same bits: 0, 0.0, -0.0 and False have four keys, and NaN equals itself."""
    kind: Any = type(value)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, float | complex):
        bits = struct.pack("dd", value.real, value.imag)
        return (kind, bits) if kind in (float, complex) else (kind, bits, value)
    if isinstance(value, decimal.Decimal):
        return kind, str(value)
    if isinstance(value, tuple):
        return kind, tuple(map(exact, value))
    if isinstance(value, frozenset):
        return kind, frozenset(map(exact, value))
    if dataclasses.is_dataclass(value) and kind.__hash__ is not object.__hash__:
        fields = [each.name for each in dataclasses.fields(value) if each.compare]
        keys = tuple(exact(getattr(value, name, None)) for name in fields)
        return (kind, value, keys) if _is_hashable(keys) else (kind, value)
    return kind, value


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


class Counts(NamedTuple):
    hits: int
    misses: int
    evictions: int


def _is_current(host: Any, version: tuple[int, int]) -> bool:
    try:
        return bool(host.version == version)
    except UsageError:  # closed
        return False


class Lease(Generic[T]):
    """A `with` block in which an entry belongs to one call.

    The entry is not reused if the block raises, unless the cache's entries survive errors, if it
    is None, or if there is no cache.
    """

    __slots__ = ("_cache", "_entry", "_host", "_key")

    def __init__(
        self, entry: T, cache: CallCache[T] | None = None, host: Any = None, key: Any = None
    ) -> None:
        self._entry, self._cache, self._host, self._key = entry, cache, host, key

    def __enter__(self) -> T:
        return self._entry

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._cache is None or self._entry is None:
            return
        if kind is not None and not self._cache._survive_errors:
            return
        self._cache._store(self._host, self._key, self._entry)


# Not a WeakSet, whose iterator runs Python code: other threads and the garbage collector may add
# caches meanwhile.
_caches: set[weakref.ref[CallCache[Any]]] = set()


MAX_IDLE = 64
"""The maximum number of idle entries of one key."""


class CallCache(Generic[T]):
    """A bounded cache whose keys include the host's version, so entries of other hosts or of
    replaced operators are never found.

    lease() gives an entry to one call at a time, so a key has as many entries as there were
    concurrent calls; shared() returns one entry to all. The least recently used key is evicted
    first. Thread-safe.

    survive_errors: a call that raises leaves its entry as it was, as sessions do, so the entry and
    its plans are reused.
    """

    def __init__(self, capacity: int = 64, survive_errors: bool = False) -> None:
        self._capacity = capacity
        self._survive_errors = survive_errors
        self._entries: OrderedDict[tuple[Any, Any], list[T]] = OrderedDict()
        self._hits = self._misses = self._evictions = 0
        # Guards insertions and evictions. Lookups take no lock, since each of their steps is
        # atomic. Reentrant, because the garbage collector may run here and call an operator on this
        # thread.
        self._lock = threading.RLock()
        _caches.add(weakref.ref(self, _caches.discard))

    @property
    def counts(self) -> Counts:
        """Hits, misses and evictions. Concurrent hits may count as one."""
        return Counts(self._hits, self._misses, self._evictions)

    def __len__(self) -> int:
        """The number of idle entries."""
        return sum(map(len, list(dict.values(self._entries))))

    def lease(
        self,
        host: _core.Host,
        key: Any,
        make: Callable[[], T],
        fits: Callable[[T], bool] | None = None,
    ) -> Lease[T]:
        """An idle entry that fits, or a new one."""
        whole = host.version, key
        entry = None
        entries = self._entries.get(whole)
        if entries:
            try:  # the fast path of every call
                entry = entries.pop()
                self._entries.move_to_end(whole)
                self._hits += 1
            except LookupError:  # another thread took the last entry, or dropped the key
                pass
        if entry is None or fits is not None and not fits(entry):
            self._miss(whole[0])
            entry = make()
        return Lease(entry, self, host, whole)

    def shared(self, host: _core.Host, key: Any, make: Callable[[], T]) -> T:
        """The entry that all callers share. If two threads miss it at once, both create one and one
        of these stays.
        """
        whole = host.version, key
        try:
            entry = self._entries[whole][0]
            self._entries.move_to_end(whole)
            self._hits += 1
        except LookupError:
            self._miss(whole[0])
            entry = make()
            self._store(host, whole, entry)
        return entry

    def _store(self, host: Any, key: tuple[Any, Any], entry: T) -> None:
        entries = self._entries.get(key)
        gone: list[Any] = []  # destroyed outside of the lock
        if entries is not None:
            if len(entries) >= MAX_IDLE:
                self._evictions += 1
                return
            entries.append(entry)
        else:
            with self._lock:
                self._entries.setdefault(key, []).append(entry)
                while len(self._entries) > self._capacity:
                    gone.append(self._entries.popitem(last=False))
                    self._evictions += 1
        # Checked afterwards: the host may close at any time, and forget() came too early for this
        # entry if it has closed since.
        if not _is_current(host, key[0]):
            with self._lock:
                gone.append(self._entries.pop(key, None))

    def _miss(self, version: tuple[int, int]) -> None:
        with self._lock:
            self._misses += 1
        self._drop(lambda key: key[0][0] == version[0] and key[0][1] < version[1])

    def _drop(self, over: Callable[[tuple[Any, Any]], bool]) -> None:
        with self._lock:
            # dict's own iterator: that of an OrderedDict hashes each key, and other threads may
            # move keys to the end meanwhile.
            keys = list(dict.keys(self._entries))
            gone = [self._entries.pop(key, None) for key in keys if over(key)]
        del gone  # outside of the lock


def forget(host: int) -> None:
    """Drops the entries of a closing host, given by its number, from all caches."""
    for reference in list(_caches):  # a copy that no other thread can interrupt
        cache = reference()
        if cache is not None:
            cache._drop(lambda key: key[0][0] == host)
