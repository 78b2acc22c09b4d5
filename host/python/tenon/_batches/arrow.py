"""Arrow record batches as arrays. Uses the C Data Interface
(arrow.apache.org/docs/format/CDataInterface.html), so no package is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Container
from typing import Any

import numpy as np

from .._errors import UsageError

_NUMBERS = dict(
    zip("cCsSiIlLefg", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
)


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.POINTER(_Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.POINTER(_Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_array__")


def columns(batch: Any, names: Container[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of a record batch with these names, or all, as read-only arrays that share its
    memory; booleans are copied.

    Lists become an additional dimension, so they must have one length. Raises UsageError with the
    column's name for nulls and for non-numeric types.
    """
    capsules = batch.__arrow_c_array__()
    schema = _Schema.from_address(_pointer_of(capsules[0], b"arrow_schema"))
    array = _Array.from_address(_pointer_of(capsules[1], b"arrow_array"))
    if schema.format != b"+s":
        raise UsageError(
            f"expected an Arrow record batch, not an array of the format '{schema.format.decode()}'"
        )
    _require_no_nulls("the record batch itself", array, array.offset, array.length, capsules)
    found = {}
    for i in range(schema.n_children):
        name = schema.children[i].contents.name.decode()
        if names is None or name in names:
            child = schema.children[i].contents, array.children[i].contents
            found[name] = _elements(name, *child, array.offset, array.length, capsules)
    return found


def _elements(
    name: str, schema: _Schema, array: _Array, first: int, count: int, owner: Any
) -> np.ndarray[Any, Any]:
    kind = schema.format.decode()
    first += array.offset
    _require_no_nulls(f"column '{name}'", array, first, count, owner)
    if kind.startswith("+w:"):
        width = int(kind[3:])
        inner = schema.children[0].contents, array.children[0].contents
        rows = _elements(name, *inner, first * width, count * width, owner)
        return rows.reshape(count, width, *rows.shape[1:])
    if kind in ("+l", "+L"):
        if count == 0:
            return np.empty((0, 0), np.float32)
        starts = _memory(
            array.buffers[1], 0, (first + count + 1) * (4 if kind == "+l" else 8), owner
        )
        starts = starts.view(np.int32 if kind == "+l" else np.int64)[first:]
        lengths = np.diff(starts)
        if (lengths != lengths[0]).any():
            raise UsageError(
                f"column '{name}' has lists of different lengths, from {lengths.min()} to "
                f"{lengths.max()}"
            )
        width = int(lengths[0])
        inner = schema.children[0].contents, array.children[0].contents
        rows = _elements(name, *inner, int(starts[0]), count * width, owner)
        return rows.reshape(count, width, *rows.shape[1:])
    if kind == "b":
        return _bits(array.buffers[1], first, count, owner)
    if kind not in _NUMBERS or schema.dictionary:
        raise UsageError(
            f"column '{name}' has the Arrow format '{kind}', but needs numbers, booleans or lists "
            "of these"
        )
    dtype = np.dtype(_NUMBERS[kind])
    return _memory(array.buffers[1], first * dtype.itemsize, count * dtype.itemsize, owner).view(
        dtype
    )


def _require_no_nulls(what: str, array: _Array, first: int, count: int, owner: Any) -> None:
    if array.null_count == 0 or array.n_buffers == 0 or not array.buffers[0]:
        return
    if not _bits(array.buffers[0], first, count, owner).all():
        raise UsageError(
            f"{what} has nulls: fill them in or drop their rows before running the graph"
        )


def _memory(address: int | None, offset: int, size: int, owner: Any) -> np.ndarray[Any, Any]:
    if size == 0 or address is None:
        return np.empty(0, np.uint8)
    buffer: Any = (ctypes.c_uint8 * size).from_address(address + offset)
    buffer.owner = owner  # Arrow frees its memory with the capsules
    made = np.frombuffer(buffer, np.uint8)
    made.flags.writeable = False
    return made


def _bits(address: int | None, first: int, count: int, owner: Any) -> np.ndarray[Any, Any]:
    begin = first // 8
    bits = np.unpackbits(
        _memory(address, begin, (first + count + 7) // 8 - begin, owner), bitorder="little"
    )
    return bits[first - 8 * begin :][:count].astype(bool)
