"""An array library with DLPack's C functions, like torch's: a box around tenon.Tensor whose
conversions Python can observe.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tenon

VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
TO_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("of_older_version", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_of", ctypes.c_void_p),
        ("object_of", TO_OBJECT),
        ("view_of", VIEW),
        ("current_stream", ctypes.c_void_p),
    ]


class View(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


NAME = b"dlpack_exchange_api"  # the target of capsules
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = (
    ctypes.c_void_p,
    [ctypes.py_object, ctypes.c_char_p],
)
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = (
    ctypes.py_object,
    [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
)
_tenon = Table.from_address(_pointer(tenon.Tensor.__dlpack_c_exchange_api__, NAME))


class Box:
    """An array. `on_result` is called whenever a result is created. change: called with each view
    of the array, which it may change.
    """

    on_result: Any = None

    def __init__(self, value: Any, requires_grad: bool = False, change: Any = None) -> None:
        self.tensor = (
            value if isinstance(value, tenon.Tensor) else tenon.tensor(np.array(value, "float32"))
        )
        self.requires_grad = requires_grad
        self.change = change

    def tolist(self) -> Any:
        return self.tensor.numpy().tolist()


def _view_of(box: Box, view: int) -> int:
    try:
        _tenon.view_of(box.tensor, view)
    except BufferError:
        return -1
    if box.change is not None:
        box.change(View.from_address(view))
    return 0


def _object_of(managed: int, made: Any) -> int:
    own = ctypes.c_void_p()
    if _tenon.object_of(managed, ctypes.byref(own)) != 0:
        return -1
    box = Box(ctypes.cast(own, ctypes.py_object).value)
    ctypes.pythonapi.Py_DecRef(own)
    if Box.on_result is not None:
        Box.on_result()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(box))
    made[0] = id(box)
    return 0


_table = Table(1, 3, None, None, None, TO_OBJECT(_object_of), VIEW(_view_of), None)
Box.__dlpack_c_exchange_api__ = capsule(  # type: ignore[attr-defined]
    ctypes.addressof(_table), NAME, None
)


def refuse(*given: Any, **named: Any) -> Any:
    raise AssertionError("the call went the long way")


def functions_of(name: str, host: Any = None, **options: Any) -> Any:
    """The operator on boxes, on the fast path: one function for boxes without gradients, and one
    whose first argument is the set of dispatch keys. options: of exchange_calls().
    """
    return tenon._core.exchange_calls(
        host,
        name,
        Box,
        **{
            "other": refuse,
            "differentiable": refuse,
            "grad_enabled": lambda: False,
            "counted": False,
            "tensors": 1,
            "placed": [],
            "plain_keys": 0,
            **options,
        },
    )


def function_of(name: str, host: Any = None, tensors: int = 1, long_way: Any = refuse) -> Any:
    """The operator on boxes without gradients, on the fast path."""
    return functions_of(name, host, tensors=tensors, other=long_way, differentiable=long_way)[0]
