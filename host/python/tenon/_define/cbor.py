"""CBOR (RFC 8949) as far as manifests need it. Produces the same bytes as the SDK's writer."""

from __future__ import annotations

import struct
from typing import Any


def _head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major << 5 | argument])
    for extra, (limit, form) in enumerate(
        ((1 << 8, ">B"), (1 << 16, ">H"), (1 << 32, ">I"), (1 << 64, ">Q"))
    ):
        if argument < limit:
            return bytes([major << 5 | 24 + extra]) + struct.pack(form, argument)
    raise OverflowError(f"{argument} has more than 64 bits")


def dumps(value: Any) -> bytes:
    """Encodes None, bools, 64-bit integers, floats, texts, lists, tuples and dicts."""
    if value is None:
        return b"\xf6"
    if isinstance(value, bool):
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, str):
        text = value.encode()
        return _head(3, len(text)) + text
    if isinstance(value, dict):
        return _head(5, len(value)) + b"".join(
            dumps(key) + dumps(item) for key, item in value.items()
        )
    return _head(4, len(value)) + b"".join(map(dumps, value))
